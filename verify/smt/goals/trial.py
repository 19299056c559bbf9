"""
Trying a rule out
=================

Most candidate conditions do not help, and a directed point shows this quickly. So every candidate is tried at points
first; only one that survives them is given to the prover. A point can refute a rule, but never prove it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from soundline.spec.dtypes import DType
from soundline.spec.rules.instances import Goal, goals, is_about_shapes
from soundline.spec.rules.language import Rule
from soundline.verify.smt.goals import sampling
from soundline.verify.smt.goals.obligations import Obligation, obligation_of
from soundline.verify.smt.goals.points import FAILS, Point, Points
from soundline.verify.verdicts.layers import ROUNDING


@dataclass(frozen=True, slots=True)
class Failure:
    """An instance and values at which the sides of a rule differ."""

    goal: Goal
    point: Point


def is_pointwise(stated: Rule) -> bool:
    """Whether a rule is about single elements whose values are compared exactly."""
    return not is_about_shapes(stated) and set(ROUNDING).isdisjoint(stated.licences)


def instances(stated: Rule, dtypes: Iterable[DType]) -> Iterator[tuple[Goal, Obligation]]:
    """The instances of a rule about single elements at these dtypes."""
    for dtype in dtypes:
        for goal in goals(stated, dtype):
            yield goal, obligation_of(goal)


def failure(stated: Rule, dtypes: Iterable[DType], seed: int = 0) -> Failure | None:
    """A directed point at which a rule about single elements is wrong."""
    for goal, obligation in instances(stated, dtypes):
        trial = Points(obligation)
        if not trial.evaluable:
            continue
        for point in sampling.points(obligation, seed):
            if trial.at(point) == FAILS:
                return Failure(goal, point)
    return None
