"""
Questions for second opinions
=============================

A layer of a rule with its verdict, in the form in which second opinions get it, and how an opinion is formed from
points.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice

from soundline.spec.dtypes import DType
from soundline.spec.rules.instances import Goal, goals, is_about_shapes
from soundline.spec.rules.language import Rule
from soundline.verify.second.batches import outcomes, told
from soundline.verify.smt.counterexamples.scalars import replay
from soundline.verify.smt.goals.obligations import Obligation, obligation_of
from soundline.verify.smt.goals.points import FAILS, OUT, Point
from soundline.verify.smt.goals.solving import Budget, Status
from soundline.verify.verdicts.layers import dtypes_in_layer
from soundline.verify.verdicts.verdict import Answer, Counterexample, LayerResult, Opinion

__all__ = ["Asked", "Opinion", "Tried", "instances", "judged_by_points"]

MOST_INSTANCES = 48
"""The most instances of a layer that are examined: the first ones."""

EXCLUDED = "the condition excludes every input"


@dataclass
class Asked:
    """A layer and its verdict. Where it is unknown, `settled` is what an opinion makes of it."""

    rule: Rule
    dtype: DType
    found: LayerResult
    budget: Budget
    questions: Sequence[tuple[str, Status]] = ()
    """What was asked of Z3 on the way to the verdict, as SMT-LIB 2 text, and what it said."""
    settled: LayerResult | None = field(default=None)

    @cached_property
    def why_not(self) -> str:
        """Why there are no scalar obligations; nothing where there are some."""
        return "it is about shapes" if is_about_shapes(self.rule) else ""

    @cached_property
    def goals(self) -> list[Goal]:
        """The first instances of the layer, where it is about scalars."""
        if self.why_not:
            return []
        found = (g for d in dtypes_in_layer(self.rule, self.dtype) for g in goals(self.rule, d))
        return list(islice(found, MOST_INSTANCES))

    @cached_property
    def obligations(self) -> list[Obligation]:
        """What these instances state; sides that are one term state nothing."""
        return [o for o in map(obligation_of, self.goals) if not o.is_trivial]

    def settle(self, counterexample: Counterexample, by: str) -> None:
        """Note a counterexample to a layer that the prover could not decide."""
        self.settled = LayerResult(
            self.found.layer, "refuted", f"a counterexample, evaluated; found by {by}", counterexample
        )


def instances(count: int) -> str:
    """``1 instance``, ``2 instances``."""
    return "1 instance" if count == 1 else f"{count} instances"


@dataclass
class Tried:
    """What points showed of a layer."""

    count: int = 0
    applies: bool = False
    whole: bool = True
    failing: tuple[Obligation, Point] | None = None
    what: dict[str, None] = field(default_factory=dict)


def judged_by_points(
    by: str, asked: Asked, tries: Sequence[tuple[Obligation, str, bool, Iterable[Point]]]
) -> Opinion:
    """An opinion from points at which the evaluator has values: (obligation, what they are, no others, points)."""
    tried = Tried()
    for obligation, what, whole, points in tries:
        tried.what[what] = None
        tried.whole &= whole
        for point, outcome in outcomes(obligation, points):
            tried.count += 1
            tried.applies |= outcome != OUT
            if outcome == FAILS:
                tried.failing = obligation, point
                break
        if tried.failing:
            break
    return _opinion(by, asked, tried)


def _opinion(by: str, asked: Asked, tried: Tried) -> Opinion:
    covered = f"{', '.join(tried.what)}: {tried.count:,} points"
    verdict = asked.found.verdict
    if tried.failing is not None:
        place = f"the sides differ at {told(*tried.failing)} ({tried.failing[0].label})"
        if verdict == "unknown":
            shown = replay(*tried.failing)
            if shown is not None:
                asked.settle(shown, by)
        return Opinion(by, _AT_A_DIFFERENCE[verdict], place)
    if verdict == "proved":
        return Opinion(by, "agrees", covered)
    if verdict == "refuted":
        answer: Answer = "contradicts" if tried.whole else "open"
        return Opinion(by, answer, f"no difference among {covered}")
    if verdict == "vacuous" and EXCLUDED in asked.found.detail:
        if tried.applies:
            return Opinion(by, "contradicts", f"the condition holds at some of {covered}")
        return Opinion(by, "agrees", covered)
    return Opinion(by, "open", covered)


_AT_A_DIFFERENCE: dict[str, Answer] = {
    "proved": "contradicts",
    "refuted": "agrees",
    "unknown": "open",
    "vacuous": "contradicts",
}
