"""
Deciding rules about shapes
===========================

A rule with tensors of symbolic shapes is proved for all sizes at once, at every rank from 0 to 4, for every
permutation and all flags; each such choice is an instance. Elements stay uninterpreted as long as that suffices, and
such a proof is a proof at every dtype: an instance that was proved so is not proved again at the next dtype.

A rule says nothing where it can be applied to nothing. It is vacuous where its sides are one term, where no instance
can meet its conditions, or where only tensors without elements do, or none beyond rank 0, where conditions on axes say
nothing.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from soundline.spec.dtypes import DType, bool_, index
from soundline.spec.instances import CHOSEN, Goal, goals
from soundline.spec.rules import Rule
from soundline.spec.terms import Term, Vector, show
from soundline.verify.smt.elements import Unsupported
from soundline.verify.smt.judging import PROVED, Court, Instance, Outcome
from soundline.verify.smt.solving import Budget
from soundline.verify.verdicts import LayerResult


@dataclass
class _Record:
    """What has been seen of a rule's instances."""

    rule: Rule
    layer: str
    instances: int = 0
    different: bool = False
    """Whether the sides of some instance are two terms."""
    applies: bool = False
    """Whether some instance beyond rank 0, or any where there are no others, can meet its conditions."""
    has_elements: bool = False
    """Whether such an instance can do so with elements."""
    ranked: bool = False
    """Whether an instance beyond rank 0 was seen."""
    at_rank_0: bool = False
    """Whether an instance of rank 0 can meet its conditions, in a rule that has others."""
    by_law: bool = False
    ranks: set[int] = field(default_factory=set)
    dtypes: dict[DType, None] = field(default_factory=dict)
    started: float = field(default_factory=time.monotonic)
    tried: int = 0
    """How many inputs were evaluated in vain."""
    unknown: list[str] = field(default_factory=list)
    proved: set[tuple[object, ...]] = field(default_factory=set)
    """The instances that are proved at every dtype, by all that was chosen but the dtype."""


def prove_rule(rule: Rule, dtypes: Iterable[DType], layer: str, budget: Budget) -> LayerResult:
    """The verdict of one layer: proved if the instances of the rule at all these dtypes are."""
    court, record = Court(budget), _Record(rule, layer)
    for dtype in dtypes:
        found = goals(rule, dtype, skip=lambda chosen: _choices(rule, chosen) in record.proved)
        result = _judge_all(record, found, court)
        if result is not None:
            return result
    return _result(record)


def prove_goals(rule: Rule, instances: Iterable[Goal], layer: str, budget: Budget) -> LayerResult:
    """The verdict of one layer: proved if each of these instances is."""
    court, record = Court(budget), _Record(rule, layer)
    return _judge_all(record, instances, court) or _result(record)


def _judge_all(record: _Record, instances: Iterable[Goal], court: Court) -> LayerResult | None:
    """Judge instances one after another, up to the first that is refuted; None where none is."""
    for goal in instances:
        _note(record, goal)
        choices = _choices(record.rule, goal.env.bound)
        if choices in record.proved:
            continue
        outcome = _judged(record, goal, court)
        if outcome.verdict == "refuted":
            count = f"a counterexample, evaluated; instance {record.instances}"
            return LayerResult(record.layer, "refuted", count, outcome.counterexample, outcome.detail)
        if outcome.verdict == "unknown":
            record.unknown.append(f"{outcome.detail}, at {goal.label}")
        record.by_law |= outcome.by_law
        record.tried = court.tries.in_vain
        if outcome == PROVED and choices is not None and _speaks_for_all(record, goal):
            record.proved.add(choices)
        if time.monotonic() - record.started > max(court.budget.seconds, 1.0) * 10:
            record.unknown.append(f"the time for all instances was spent after {record.instances}")
            return _result(record)
    return None


def _speaks_for_all(record: _Record, goal: Goal) -> bool:
    """Whether a proof that takes elements as they come is one for every dtype: of these elements nothing is known.

    Of the elements of ``index`` and bool more is. And a condition that nothing meets here may be met elsewhere.
    """
    return record.has_elements and goal.env.dtype not in (index, bool_)


def _note(record: _Record, goal: Goal) -> None:
    ranks = goal.env.bound["rank of"].values()
    record.instances += 1
    record.ranks |= set(ranks)
    record.dtypes[goal.env.dtype] = None
    record.different |= goal.left is not goal.right
    if any(ranks) and not record.ranked:
        record.at_rank_0 = record.applies
        record.ranked, record.applies, record.has_elements = True, False, False


def _judged(record: _Record, goal: Goal, court: Court) -> Outcome:
    try:
        instance = Instance(goal, court)
        if not record.has_elements and _counts(record, goal):
            applies = instance.applies()
            record.applies |= applies
            record.has_elements = applies and instance.applies_to_elements()
        return instance.judge()
    except Unsupported as missing:
        return Outcome("unknown", str(missing))


def _counts(record: _Record, goal: Goal) -> bool:
    """Whether an instance shows that the rule applies to something: one beyond rank 0, where there are such."""
    return not record.ranked or any(goal.env.bound["rank of"].values())


def _choices(rule: Rule, bound: dict[str, Any]) -> tuple[object, ...] | None:
    """What was chosen beside the dtype; None where numbers that are elements stand in the rule and show the dtype."""
    if _has_numbers(rule):
        return None
    chosen = [bound[n] for n, k in rule.kinds.items() if k.kind in CHOSEN]
    return (*bound["rank of"].values(), *chosen)


def _has_numbers(rule: Rule) -> bool:
    """Whether numbers that are elements stand in a rule: what they are as elements depends on the dtype."""
    return any(map(_is_number_inside, (rule.left, rule.right, *rule.given)))


def _is_number_inside(term: object) -> bool:
    if not isinstance(term, Term) or isinstance(term, Vector):
        return False
    return term.head == "literal" or any(map(_is_number_inside, term.args))


# results ----------------------------------------------------------------------------------------------------------


def _result(record: _Record) -> LayerResult:
    if record.unknown:
        return LayerResult(record.layer, "unknown", _partly_covered(record), None, record.unknown[0])
    why = _vacuous(record)
    if why:
        return LayerResult(record.layer, "vacuous", "", None, why)
    return LayerResult(record.layer, "proved", _covered(record))


def _vacuous(record: _Record) -> str:
    """Why the rule says nothing, or nothing."""
    if not record.instances:
        return (
            "the rule has no instance: its left side is ill-formed at every rank, or a condition excludes all"
        )
    if not record.different or show(record.rule.left) == show(record.rule.right):
        return "both sides are the same term"
    if not record.applies:
        return "the condition excludes every input" + (" beyond rank 0" if record.at_rank_0 else "")
    return "" if record.has_elements else "the rule matches only empty tensors"


def _partly_covered(record: _Record) -> str:
    """What is known of a rule of which some instances resist."""
    decided = f"{record.instances - len(record.unknown)} of {record.instances} instances"
    return f"{decided}, {_ranks(record)}; {record.tried} inputs showed no difference"


def _covered(record: _Record) -> str:
    """What the instances cover, in one line."""
    several = f", {record.instances} instances" if record.instances > 1 else ""
    return f"{_ranks(record)}, all sizes, {_dtypes(record)}{several}"


def _ranks(record: _Record) -> str:
    ranks = sorted(record.ranks)
    if len(ranks) < 2:
        return f"rank {ranks[0]}" if ranks else "no rank"
    return f"ranks {ranks[0]}–{ranks[-1]}"


def _dtypes(record: _Record) -> str:
    if record.layer != "symbolic shapes":
        return ", ".join(d.name for d in record.dtypes)
    return "every dtype, by its laws" if record.by_law else "all dtypes (elements uninterpreted)"
