"""
Deciding rules about shapes
===========================

A rule with tensors of symbolic shapes is proved for all sizes at once. A choice of ranks, permutations and flags makes
an instance; there are infinitely many, of which a few stand for all (`every_rank`). Where that is not shown, or where
these few are not proved, the instances of the ranks from 0 to 4 are judged, every permutation and all flags: what is
wrong there is refuted, and what is right there is *unknown* beyond, unless the rule speaks of known ranks, or says up
to which rank it is meant.

Elements stay uninterpreted as long as that suffices, and such a proof is a proof at every dtype: an instance that was
proved so is not proved again at the next dtype.

A rule says nothing where it can be applied to nothing. It is vacuous where its sides are one term, where no instance
can meet its conditions, or where only tensors without elements do, or none beyond rank 0, where conditions on axes say
nothing.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from soundline.spec.dtypes import DType, bool_, index
from soundline.spec.ops.node import Op
from soundline.spec.rules.instances import CHOSEN, MAX_RANK, Goal, goals
from soundline.spec.rules.language import Rule
from soundline.spec.rules.terms import Term, Vector, show, subterms
from soundline.verify.smt.elements.elements import Unsupported
from soundline.verify.smt.goals.solving import Budget
from soundline.verify.smt.proving import scalars
from soundline.verify.smt.proving.instances import PROVED, Court, Instance, Outcome
from soundline.verify.smt.ranks.elements import about_elements
from soundline.verify.smt.ranks.every_rank import HIGHEST, NotShown, Plan, free_classes, named_in, plans
from soundline.verify.smt.ranks.instances import with_ranks
from soundline.verify.verdicts.metering import metered
from soundline.verify.verdicts.verdict import LayerResult

NO_INSTANCE = (
    "the rule has no instance: its left side is ill-formed at every rank, or a condition excludes all"
)

SAME_TERM = "both sides are the same term"


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
    reads_outside: bool = False
    """Whether the left side of such an instance has elements, but reads all of them outside of their tensors."""
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
    every_rank: bool = False
    """Whether these instances stand for those of every rank."""


def prove_rule(
    rule: Rule, dtypes: Sequence[DType], layer: str, budget: Budget, *, refutes: bool = True
) -> LayerResult:
    """The verdict of one layer: proved if the instances of the rule at all these dtypes are.

    Where it need not be refuted, nothing is evaluated, and the first instance that is not proved is the last.
    """
    if show(rule.left) == show(rule.right) and _has_instances(rule, dtypes):
        return LayerResult(layer, "vacuous", "", None, SAME_TERM)
    court, why = Court(budget, refutes=refutes), ""
    elements = about_elements(rule) if rule.dtypes is not None else None
    if elements is not None:
        found = _by_elements(rule, elements, dtypes, layer, court)
        if found is not None:
            return with_ranks(rule, dtypes, found)
    if free_classes(rule) and rule.max_rank is None:
        found, why = _at_every_rank(rule, dtypes, layer, court)
        if found is not None:
            return with_ranks(rule, dtypes, found)
    record = _Record(rule, layer)
    most = _highest(rule)
    for dtype in dtypes:
        choices = goals(rule, dtype, most, skip=_to_skip(record, rule, dtype))
        result = _judge_all(record, choices, court)
        if result is not None:
            return result
    return _only_so_far(_result(record), why) if why else _result(record)


def _by_elements(
    rule: Rule, elements: Rule, dtypes: Sequence[DType], layer: str, court: Court
) -> LayerResult | None:
    """The verdict of a layer by what is proved of single elements; None where that does not prove it."""
    if free_classes(rule) and rule.max_rank is None:
        found, _ = _at_every_rank(rule, dtypes, layer, court.without_refutations())
        if found is not None:
            return found
    several = [scalars.prove_goals(goals(elements, d), layer, court.budget) for d in dtypes]
    if all(found.verdict == "vacuous" for found in several):
        return LayerResult(layer, "vacuous", "", None, "the condition excludes every input")
    if any(found.verdict != "proved" for found in several):
        return None
    why = _vacuous(_applied(rule, dtypes, layer, court))
    if why:
        return LayerResult(layer, "vacuous", "", None, why)
    said = "; ".join(dict.fromkeys(found.covered for found in several))
    return LayerResult(layer, "proved", f"every rank, all sizes, each element alone: {said}")


def _has_instances(rule: Rule, dtypes: Sequence[DType]) -> bool:
    """Whether there is an instance at some dtype; a rule that is ill-typed at one is refused."""
    found = [next(goals(rule, dtype), None) for dtype in dtypes]
    return any(goal is not None for goal in found)


def _at_every_rank(
    rule: Rule, dtypes: Sequence[DType], layer: str, court: Court
) -> tuple[LayerResult | None, str]:
    """The verdict of a layer by few instances that stand for all; None, and why, where they do not decide it."""
    found, why = None, ""
    try:
        for planned in plans(rule, dtypes, court):
            found, missing = _as_planned(rule, planned, dtypes, layer, court)
            why = why or missing
            if found is not None:
                return found, ""
    except NotShown as none:
        why = why or str(none)
    return None, why


def _as_planned(
    rule: Rule, planned: Plan, dtypes: Sequence[DType], layer: str, court: Court
) -> tuple[LayerResult | None, str]:
    """The verdict of a layer by a rule of which this one is a consequence; None, and why, where it is not proved."""
    record = _Record(planned.rule, layer, every_rank=True)
    for dtype in dtypes:
        chosen = goals(planned.rule, dtype, planned.max_rank, skip=_to_skip(record, rule, dtype, planned))
        result = _judge_all(record, chosen, court)
        if result is not None and planned.is_exact and result.verdict == "refuted":
            return result, ""
        if result is not None or record.unknown:
            return None, _why_not(planned, record)
    if planned.is_exact and record.different:
        return _result(record), ""
    why = _vacuous(_applied(rule, dtypes, layer, court))
    if not why and not record.instances:
        return None, "the instances that stand for all are none"
    found = LayerResult(layer, "vacuous", "", None, why) if why else _result(record, judged=False)
    return found, ""


def _why_not(planned: Plan, record: _Record) -> str:
    """Why the instances that stand for all are not proved."""
    if planned.apart:
        return f"{planned.apart} is read with its axes in different orders"
    return (record.unknown or ["not shown with the identity for every permutation"])[0]


def _applied(rule: Rule, dtypes: Iterable[DType], layer: str, court: Court) -> _Record:
    """Whether the rule applies to anything, from as many of its instances as are needed."""
    record = _Record(rule, layer)
    for goal in (g for dtype in dtypes for g in goals(rule, dtype)):
        _note(record, goal)
        _apply(record, goal, Instance(goal, court))
        if record.different and record.has_elements and record.ranked:
            break
    return record


def applies(rule: Rule, dtypes: Sequence[DType], layer: str, budget: Budget) -> bool:
    """Whether some instance of a rule matches something."""
    return not _vacuous(_applied(rule, dtypes, layer, Court(budget)))


def _highest(rule: Rule) -> int:
    """The highest rank at which a rule is judged that is not shown for every rank."""
    if rule.max_rank is not None:
        return rule.max_rank
    return max(MAX_RANK, min(HIGHEST, named_in(rule)))


def _only_so_far(found: LayerResult, why: str) -> LayerResult:
    """A proof at the first ranks of a rule that is not shown at every rank."""
    if found.verdict != "proved" and found.detail != NO_INSTANCE:
        return found
    covered = f"{found.covered}; not shown for every rank" if found.covered else ""
    return replace(found, verdict="unknown", covered=covered, detail=f"not shown for every rank: {why}")


def prove_goals(rule: Rule, instances: Iterable[Goal], layer: str, budget: Budget) -> LayerResult:
    """The verdict of one layer: proved if each of these instances is."""
    court, record = Court(budget), _Record(rule, layer)
    return _judge_all(record, instances, court) or _result(record)


def _judge_all(record: _Record, instances: Iterable[Goal], court: Court) -> LayerResult | None:
    """Judge instances one after another, up to the first that is refuted; None where none is."""
    for goal in metered(instances):
        _note(record, goal)
        choices = _choices(record.rule, goal.env.bound)
        if choices in _known_at(record, record.rule, goal.env.dtype):
            continue
        outcome = _judged(record, goal, court)
        if outcome.verdict == "refuted":
            count = f"a counterexample, evaluated; instance {record.instances}"
            return LayerResult(record.layer, "refuted", count, outcome.counterexample, outcome.detail)
        if outcome.verdict == "unknown":
            record.unknown.append(f"{outcome.detail}, at {goal.label}")
            if not court.refutes:
                return _result(record)
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


def _to_skip(
    record: _Record, rule: Rule, dtype: DType, planned: Plan | None = None
) -> Callable[[dict[str, Any]], bool]:
    """Which instances need no proof of their own at a dtype."""
    known = _known_at(record, rule, dtype)
    return lambda chosen: (
        (planned is not None and planned.leaves_out(chosen)) or _choices(rule, chosen) in known
    )


def _known_at(record: _Record, rule: Rule, dtype: DType) -> Collection[tuple[object, ...] | None]:
    """The instances of which nothing is to be proved at a dtype any more.

    At ``index`` a maximum of nothing is invalid, which it is at no other dtype.
    """
    return () if dtype is index and _has_maximum(rule) else record.proved


def _has_maximum(rule: Rule) -> bool:
    """Whether a reduction in a rule is a maximum, or may be one."""
    tops = (rule.left, rule.right)
    reductions = (t for top in tops for t in subterms(top) if t.head is Op.Reduce or t.head == "over")
    return any(not {Op.Add, Op.Mul} & {a for a in t.args if isinstance(a, Op)} for t in reductions)


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
        _apply(record, goal, instance)
        return instance.judge()
    except Unsupported as missing:
        return Outcome("unknown", str(missing))


def _apply(record: _Record, goal: Goal, instance: Instance) -> None:
    """Note whether an instance can meet the conditions, and with elements."""
    if record.has_elements or not _counts(record, goal):
        return
    applies = instance.applies()
    record.applies |= applies
    if applies and instance.applies_to_elements():
        record.has_elements = Instance(goal, instance.court).is_valid_somewhere()
        record.reads_outside |= not record.has_elements


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
    return term.head in ("literal", "identity") or any(map(_is_number_inside, term.args))


# results ----------------------------------------------------------------------------------------------------------


def _result(record: _Record, *, judged: bool = True) -> LayerResult:
    """The verdict of a layer that is not refuted; whether it is vacuous may have been judged before."""
    if record.unknown:
        return LayerResult(record.layer, "unknown", _partly_covered(record), None, record.unknown[0])
    why = _vacuous(record) if judged else ""
    if why:
        return LayerResult(record.layer, "vacuous", "", None, why)
    return LayerResult(record.layer, "proved", _covered(record))


def _vacuous(record: _Record) -> str:
    """Why the rule says nothing, or nothing."""
    if not record.instances:
        return NO_INSTANCE
    if not record.different or show(record.rule.left) == show(record.rule.right):
        return SAME_TERM
    if not record.applies:
        return "the condition excludes every input" + (" beyond rank 0" if record.at_rank_0 else "")
    if record.has_elements:
        return ""
    outside = record.reads_outside
    return "the left side is never valid" if outside else "the rule matches only empty tensors"


def _partly_covered(record: _Record) -> str:
    """What is known of a rule of which some instances resist."""
    decided = f"{record.instances - len(record.unknown)} of {record.instances} instances"
    return f"{decided}, {_ranks(record)}; {record.tried} inputs showed no difference"


def _covered(record: _Record) -> str:
    """What the instances cover, in one line."""
    several = f", {record.instances} instances" if record.instances > 1 else ""
    if record.every_rank:
        return f"every rank, all sizes, {_dtypes(record)}{several}"
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
