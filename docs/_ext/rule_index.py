"""The index of the shipped rewrite rules: by id, and by the ops that stand in them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from rst import escape, table

from soundline.impl.rules import LIBRARY
from soundline.spec.ops.table import TABLE, Op
from soundline.spec.rules.language import Rule
from soundline.spec.rules.notation import Term, show


def anchor(rule_id: str) -> str:
    """The label of a rule on the page of the library."""
    return f"rule-{rule_id.replace('_', '-').lower()}"


def ops_in(rule: Rule) -> set[Op]:
    """The ops that stand on either side of a rule."""
    return set(_heads(rule.left)) | set(_heads(rule.right))


def _heads(term: object) -> Iterator[Op]:
    if isinstance(term, Op):
        yield term
    elif isinstance(term, Term):
        yield from _heads(term.head)
        for argument in term.args:
            yield from _heads(argument)
    elif isinstance(term, tuple):
        for part in term:
            yield from _heads(part)


def by_id() -> str:
    """Every rule with what it says."""
    rows = []
    for rule in sorted(LIBRARY, key=lambda r: r.id):
        conditions = ", ".join(show(c) for c in rule.given)
        said = f"``{show(rule.left)} → {show(rule.right)}``"
        rows.append((link(rule), said + (f"\n\ngiven ``{conditions}``" if conditions else "")))
    return table(("rule", "says"), rows, widths=(35, 65))


def link(rule: Rule) -> str:
    """A link to the rule in the library."""
    return f":ref:`{escape(rule.id)} <{anchor(rule.id)}>`"


def by_op() -> str:
    """For every op that a rule has on a side: those rules."""
    found: dict[Op, list[Rule]] = defaultdict(list)
    for rule in sorted(LIBRARY, key=lambda r: r.id):
        for op in ops_in(rule):
            found[op].append(rule)
    rows = [
        (f":ref:`{e.title} <op-{e.slug}>`", str(len(found[e.op])), ", ".join(map(link, found[e.op])))
        for e in TABLE.values()
        if e.op in found
    ]
    return table(("op", "rules", "which"), rows, widths=(16, 9, 75))
