"""
What a rule demands
===================

An element may be invalid, and every op but Where is strict in that (U-01). A rule is proved for valid elements; applied
to an element that may be invalid, it must not use what the left side left unused. `where(p, a, False)` needs `a` only
where p holds, `p & a` needs it always: that rewrite is right only for an `a` that is never invalid.

`extra_demands` names the variables that the right side may use where the left side does not. It compares the conditions
under which each occurrence is used: an occurrence on the right is covered by one on the left whose conditions are among
its own.
"""

from __future__ import annotations

from collections.abc import Iterator

from soundline.spec.op_schema import Op
from soundline.spec.rules import Rule
from soundline.spec.terms import Term, Value, show

Guards = frozenset[tuple[str, bool]]
"""The conditions, by their text, under which a term is used, each with the value that it must have."""


def extra_demands(stated: Rule) -> frozenset[str]:
    """The variables that the right side may use where the left side does not."""
    before = _uses_by_name(stated.left)
    return frozenset(
        name
        for name, uses in _uses_by_name(stated.right).items()
        if not all(any(covering <= use for covering in before.get(name, ())) for use in uses)
    )


def _uses_by_name(term: Term) -> dict[str, list[Guards]]:
    found: dict[str, list[Guards]] = {}
    for name, guards in _uses(term, frozenset()):
        found.setdefault(name, []).append(guards)
    return found


def _uses(term: object, guards: Guards) -> Iterator[tuple[str, Guards]]:
    """The value variables in a term, each with the conditions under which this occurrence is used."""
    if not isinstance(term, Value) or term.head in ("literal", "lo", "hi", "entry", "product"):
        return
    if term.head == "var":
        yield term.args[0], guards
    elif term.head is Op.Where:
        condition, kept, otherwise = term.args
        yield from _uses(condition, guards)
        yield from _uses(kept, guards | {_guard(condition, True)})
        yield from _uses(otherwise, guards | {_guard(condition, False)})
    else:
        for arg in term.args:
            yield from _uses(arg, guards)


def _guard(condition: Term, value: bool) -> tuple[str, bool]:
    """A condition and the value it must have, the same for p and for the opposite of ~p."""
    while condition.head is Op.Not:
        condition, value = condition.args[0], not value
    return show(condition), value
