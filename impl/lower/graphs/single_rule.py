"""
One rule at one node
====================

Lowering sometimes knows which rule of the library is needed, and where. It then applies that rule once, instead of
rewriting with all rules. What is matched, and under which conditions, is as in `impl.rewriting.engine`.
"""

from __future__ import annotations

from collections.abc import Iterable

from soundline.impl.analysis.facts import Facts
from soundline.impl.lower.graphs.simplify import Applied, LoweredFacts, simplified
from soundline.impl.matching.matcher import patterns_of
from soundline.impl.rewriting.applications import attempt
from soundline.impl.rules import premises
from soundline.impl.rules.procedural import isolate_folded_range
from soundline.spec.rules.language import Rule
from soundline.spec.uop import Op, UOp


def applied_to(stated: Rule, node: UOp, facts: Facts | None = None) -> UOp | None:
    """The result of applying a rule to a node of a lowered program, unless other facts are given; None if it
    does not apply.
    """
    known = LoweredFacts() if facts is None else facts
    made = (pattern.apply(node, known) for pattern in patterns_of(stated))
    return next((m for m in made if m is not None), None)


def first_applied(rules: Iterable[Rule], node: UOp) -> tuple[Rule, UOp] | None:
    """The first of some rules that applies to a node of a lowered program, and what it makes of it; None for no rule.

    The caller counts it if it keeps what was made.
    """
    facts = LoweredFacts()
    found = ((stated, applied_to(stated, node, facts)) for stated in rules)
    return next(((stated, made) for stated, made in found if made is not None), None)


def isolated(reduction: UOp, applied: Applied) -> UOp:
    """A reduction whose gate, if it has one, is a bound of the range that is reduced, where it can
    be written as one.
    """
    value = _converted_first(reduction.src[0], applied)
    if value.op is Op.Load and len(value.src) == 3:  # a closed gate gives the alternative
        value = Op.Where(value.src[2], value, value.src[1])
    if value.op is Op.Where and value.src[0].op in isolate_folded_range.ops:
        done = attempt(isolate_folded_range, value.src[0], LoweredFacts())
        if done is not None and done.kept:
            applied.update((done.procedure,))
            applied.rulings.setdefault(done.procedure, set()).add(done.ruling.verdict)
            value = Op.Where(done.after, *value.src[1:])
    return Op.Reduce(value, *reduction.src[1:], arg=reduction.arg)


def _converted_first(value: UOp, applied: Applied) -> UOp:
    """A choice that is made wider, as a sum of small integers has it, as one of wider values; any other as it is."""
    if value.op is not Op.Cast:
        return value
    chosen = value.src[0]
    if chosen.op is Op.Load and len(chosen.src) == 3:
        chosen = Op.Where(chosen.src[2], chosen, chosen.src[1])
    made = applied_to(premises.cast_of_choice, Op.Cast(chosen, arg=value.arg))
    if made is None:
        return value
    applied.update((premises.cast_of_choice.id,))
    return simplified(made, (), applied)
