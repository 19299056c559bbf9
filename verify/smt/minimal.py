"""
The smallest counterexample
===========================

A point at which two sides differ is replaced by smaller ones, in the order of `sampling.rank`: each variable in turn by
trying, then all constants together and all values together by asking the solver for a point below the one in hand.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import z3

from soundline.spec.dtypes import Element, index, same_value
from soundline.spec.node import UOp
from soundline.verify.smt.algebra import Algebra, Outside
from soundline.verify.smt.integers import Integers
from soundline.verify.smt.machine import Machine
from soundline.verify.smt.obligations import Obligation, is_whole
from soundline.verify.smt.order import simplicity
from soundline.verify.smt.points import FAILS, Point, Points
from soundline.verify.smt.sampling import directed, rank
from soundline.verify.smt.solving import Budget, check

ROUNDS = 80
"""So often the solver is asked for a smaller point."""

SHARE = 0.01
"""Its share of the work each time."""

BOXES = {1: 5, 2: 5, 3: 2, 4: 1}
"""By the number of variables: every whole point of at most this magnitude was tried before, smallest first."""


def smallest(obligation: Obligation, trial: Points, point: Point, budget: Budget) -> Point:
    """A point at which the sides differ, as small as trying and the solver can make it."""
    point = shrink(obligation, trial, point)
    for leading in (True, False):
        point = _lower(obligation, trial, point, budget.share(SHARE), leading=leading)
    return point


# By trying --------------------------------------------------------------------------------------------------------


def shrink(obligation: Obligation, trial: Points, point: Point) -> Point:
    """The point with each variable in turn made simpler, until none can be."""
    names = list(obligation.variables)
    order = sorted(range(len(names)), key=lambda k: (names[k] not in obligation.leading, k))
    improved, rounds = True, 0
    while improved and rounds < ROUNDS:  # where every other value fails, each round gains little
        improved, rounds = False, rounds + 1
        for k in order:
            smaller = _simpler(obligation, trial, point, k)
            if smaller is not None:
                point, improved = smaller, True
    return point


def _simpler(obligation: Obligation, trial: Points, point: Point, k: int) -> Point | None:
    """The point with variable k simpler, if the sides still differ."""
    dtype = list(obligation.variables.values())[k].dtype

    def fails(value: Element) -> bool:
        return trial.at((*point[:k], value, *point[k + 1 :])) == FAILS

    best = point[k]
    for value in directed(dtype, 60):
        if simplicity(dtype, value) >= simplicity(dtype, best):
            break
        if fails(value):
            best = value
            break
    if dtype.is_int or dtype.kind == "index":
        best = _toward_zero(int(best), fails)
    return None if same_value(dtype, best, point[k]) else (*point[:k], best, *point[k + 1 :])


def _toward_zero(value: int, fails: Callable[[Element], bool]) -> int:
    """A value of lesser magnitude that fails, by halving the interval between one that does not and one that does."""
    sign, high = (1 if value >= 0 else -1), abs(value)
    low = -1
    while high - low > 1:
        middle = (low + high) // 2
        if fails(sign * middle):
            high = middle
        else:
            low = middle
    return sign * high


# By the solver ----------------------------------------------------------------------------------------------------


def _lower(obligation: Obligation, trial: Points, point: Point, budget: Budget, *, leading: bool) -> Point:
    """The point with the largest constant, or with these constants the largest value, as small as the solver finds."""
    floor = -1 if leading else BOXES.get(len(obligation.variables), 0)
    bisecting = False
    for _ in range(ROUNDS):
        group = _whole(obligation, point, leading=leading)
        largest = max((abs(value) for value in group.values()), default=0)
        if largest <= max(0, floor + bisecting):
            break
        most = (largest + floor) // 2 if bisecting else largest - 1
        fixed = {} if leading else _whole(obligation, point, leading=True)
        found, decided = _ask(obligation, group, most, fixed, budget)
        if (
            found is not None
            and trial.at(found) == FAILS
            and rank(obligation, found) < rank(obligation, point)
        ):
            point, bisecting = shrink(obligation, trial, found), True
        elif bisecting and decided:
            floor = most
        else:
            break
    return point


def _whole(obligation: Obligation, point: Point, *, leading: bool) -> dict[UOp, int]:
    """The variables of one group that are whole numbers, and their values."""
    named = zip(obligation.variables.items(), point, strict=True)
    return {
        v: int(value)
        for (name, v), value in named
        if (name in obligation.leading) is leading and is_whole(v.dtype)
    }


def _ask(
    obligation: Obligation, group: dict[UOp, int], most: int, fixed: dict[UOp, int], budget: Budget
) -> tuple[Point | None, bool]:
    """A point at which the sides differ though no variable of the group is larger than `most`.

    Also whether the solver decided that question.
    """
    for kind in (Integers, Machine):
        try:
            algebra = kind(obligation)
            denial = algebra.denial()
        except Outside:
            continue
        if kind is Integers and algebra.spurious:
            continue
        known = algebra.known
        small = [c for v in group if v in known for c in _at_most(algebra, v, most)]
        equal = [algebra.value(v) == value for v, value in fixed.items() if v in known]
        answer = check([*denial, *small, *equal], algebra.ctx, budget)
        if answer.status != "sat":
            return None, answer.status == "unsat"
        found = tuple(
            algebra.element(answer.model, v) if v in known else directed(v.dtype, 1)[0]
            for v in obligation.variables.values()
        )
        return found, True
    return None, False


def _at_most(algebra: Algebra, variable: UOp, most: int) -> list[Any]:
    """|variable| ≤ most."""
    x, dtype = algebra.value(variable), variable.dtype
    if not isinstance(algebra, Machine) or dtype is index:
        return [x <= most, x >= -most]
    if not dtype.signed:
        return [z3.ULE(x, most)]
    return [x <= min(most, int(dtype.max)), x >= max(-most, int(dtype.min))]
