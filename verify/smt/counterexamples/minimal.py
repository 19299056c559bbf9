"""
The smallest counterexample
===========================

A point at which two sides differ is replaced by smaller ones, in the order of `verify.smt.goals.sampling.rank`: each
variable in turn by trying, then all constants together and all values together by asking the solver for a point below
the one in hand; last each number by itself, in the order of declaration.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import z3

from soundline.spec.dtypes import Element, index, same_value
from soundline.spec.ops.node import UOp
from soundline.verify.smt.goals.algebra import Algebra, Outside
from soundline.verify.smt.goals.obligations import Obligation, is_whole
from soundline.verify.smt.goals.order import simplicity
from soundline.verify.smt.goals.points import FAILS, Point, Points
from soundline.verify.smt.goals.sampling import directed, is_slow, rank
from soundline.verify.smt.goals.solving import Budget, check
from soundline.verify.smt.integers.residue_classes import Integers
from soundline.verify.smt.values.machine_numbers import Machine

ROUNDS = 80
"""The number of times that the solver is asked for a smaller point."""

SHARE = 0.01
"""Its share of the work each time."""

WIDE = 1000
"""A number that cannot be made smaller than this together with the others is not made so by itself."""

BOXES = {1: 5, 2: 5, 3: 2, 4: 1}
"""By the number of variables: every whole point of at most this magnitude was tried before, smallest first."""


RADII = {1: 2000, 2: 50, 3: 10, 4: 4}
"""By the number of variables: so large whole points are all tried once the sides are known to differ."""


def smallest(obligation: Obligation, trial: Points, point: Point, budget: Budget) -> Point:
    """A point at which the sides differ, as small as trying and the solver can make it."""
    point = _least_of_box(obligation, trial, shrink(obligation, trial, point))
    for leading in (True, False):
        point = _lower(obligation, trial, point, budget.share(SHARE), leading=leading)
    values = _whole(obligation, point, leading=False).values()
    most = BOXES.get(len(obligation.variables), 0)
    if not _whole(obligation, point, leading=True) and max(map(abs, values), default=0) <= most:
        return point
    return _each(obligation, trial, point, budget.share(SHARE))


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


def _least_of_box(obligation: Obligation, trial: Points, point: Point) -> Point:
    """The smallest point of a box around zero at which the sides differ, if it is smaller than the one in hand."""
    dtypes = [v.dtype for v in obligation.variables.values()]
    if not all(map(is_whole, dtypes)) or is_slow(obligation):
        return point
    radius = RADII.get(len(dtypes), 0)
    if not any(
        _whole(obligation, point, leading=True).values()
    ):  # a smaller constant may ask for larger values
        radius = min(radius, max(map(abs, map(int, point)), default=0))
    lines = [
        range(-radius, radius + 1)
        if d is index
        else range(max(-radius, int(d.min)), min(radius, int(d.max)) + 1)
        for d in dtypes
    ]
    least, key = point, rank(obligation, point)
    for other in product(*lines):
        other_key = rank(obligation, other)
        if other_key < key and trial.at(other) == FAILS:
            least, key = other, other_key
    return least


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
        bounds = dict.fromkeys(group, (-most, most)) | {v: (x, x) for v, x in fixed.items()}
        found, decided = _ask(obligation, bounds, budget)
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


def _each(obligation: Obligation, trial: Points, point: Point, budget: Budget) -> Point:
    """The point with the sign of the largest number, then each number, as small as the solver finds; none larger."""
    settled: Bounds = {}
    for leading in (True, False):
        largest = max((abs(x) for x in _whole(obligation, point, leading=leading).values()), default=0)
        group: Bounds = dict.fromkeys(_whole(obligation, point, leading=leading), (-largest, largest))
        positive: Bounds = dict.fromkeys(group, (1 - largest, largest))
        point, found = _better(obligation, trial, point, {**settled, **positive}, budget)
        bounds = {**settled, **(positive if found else group)}
        for v in group:
            point = _least(obligation, trial, point, v, bounds, budget)
            value = _whole(obligation, point, leading=leading)[v]
            bounds[v] = settled[v] = (value, value)
    return point


def _least(
    obligation: Obligation, trial: Points, point: Point, variable: UOp, bounds: Bounds, budget: Budget
) -> Point:
    """The point with one number as near to zero as the solver finds, and rather above zero than below."""
    place = list(obligation.variables.values()).index(variable)
    floor = -1
    for _ in range(ROUNDS):
        high = abs(int(point[place]))
        if high - floor <= 1 or high > WIDE:
            break
        most = (high + floor) // 2
        point, found = _better(obligation, trial, point, {**bounds, variable: (-most, most)}, budget)
        if found is None:
            break
        if not found:
            floor = most
    size = abs(int(point[place]))
    if int(point[place]) < 0 and bounds[variable][1] >= size:
        point, _ = _better(obligation, trial, point, {**bounds, variable: (size, size)}, budget)
    return point


def _better(
    obligation: Obligation, trial: Points, point: Point, bounds: Bounds, budget: Budget
) -> tuple[Point, bool | None]:
    """A smaller point within these bounds, and whether there is one, None where that is not known; else the same."""
    inside = zip(obligation.variables.values(), point, strict=True)
    if all(bounds[v][0] <= int(x) <= bounds[v][1] for v, x in inside if v in bounds):
        return point, True
    found, decided = _ask(obligation, bounds, budget)
    if found is not None and trial.at(found) == FAILS and rank(obligation, found) < rank(obligation, point):
        return found, True
    return point, False if decided else None


Bounds = dict[UOp, tuple[int, int]]
"""The least and the greatest value of some whole numbers."""


def _ask(obligation: Obligation, bounds: Bounds, budget: Budget) -> tuple[Point | None, bool]:
    """A point within these bounds at which the sides differ, and whether the solver decided that question."""
    for kind in (Integers, Machine):
        try:
            algebra = kind(obligation)
            denial = algebra.denial()
        except Outside:
            continue
        if kind is Integers and algebra.spurious:
            continue
        known = algebra.known
        within = [c for v in bounds if v in known for c in _within(algebra, v, *bounds[v])]
        answer = check([*denial, *within], algebra.ctx, budget)
        if answer.status == "unknown":
            continue
        if answer.status == "unsat":
            return None, True
        found = tuple(
            algebra.element(answer.model, v) if v in known else directed(v.dtype, 1)[0]
            for v in obligation.variables.values()
        )
        return found, True
    return None, False


def _within(algebra: Algebra, variable: UOp, least: int, most: int) -> list[Any]:
    """least ≤ variable ≤ most."""
    x, dtype = algebra.value(variable), variable.dtype
    if not isinstance(algebra, Machine) or dtype is index:
        return [x <= most, x >= least]
    if not dtype.signed:
        return [z3.ULE(x, most), z3.UGE(x, max(0, least))]
    return [x <= min(most, int(dtype.max)), x >= max(least, int(dtype.min))]
