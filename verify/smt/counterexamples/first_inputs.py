"""
First inputs
============

Before a proof about sides with reductions is attempted, a few small inputs are tried: a wrong rule often fails at the
first of them, while an attempt to prove it may go through many ways to take reductions apart. Agreement proves nothing.
A difference is evaluated again and minimized, as every counterexample is.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from soundline.spec.arrays.arrays import Array
from soundline.spec.errors import IllFormed
from soundline.spec.ops.node import Op, toposort
from soundline.spec.rules.instances import Goal
from soundline.verify.smt.counterexamples.replays import Inputs, licences_of, number, replay, shapes_at, sizes
from soundline.verify.smt.goals.order import counted
from soundline.verify.verdicts.layers import ROUNDING

MOST_ELEMENTS = 60
"""Inputs with more elements than this are left for later."""

MOST_SIZES = 4
"""Up to this number of sizes each is varied alone; more are varied together."""


def is_worth_trying(goal: Goal) -> bool:
    """Whether there are sizes to choose, and a side reduces, exactly: licensed rounding may be all that differs."""
    if not sizes(goal) or not licences_of(goal).isdisjoint(ROUNDING):
        return False
    sides = [goal.left] if isinstance(goal.right, IllFormed) else [goal.left, goal.right]
    return any(node.op is Op.Reduce for side in sides for node in toposort(side))


def differing_sizes(goal: Goal) -> dict[str, int] | None:
    """Small sizes at which inputs that count 1, 2, 3 … show a difference; None where these show none."""
    names = sizes(goal)
    for chosen in _choices(len(names)):
        found = dict(zip(names, chosen, strict=True))
        inputs = counted_inputs(goal, found)
        shown = replay(goal, inputs) if inputs is not None else None
        if shown is not None and shown.differs:
            return found
    return None


def _choices(count: int) -> Iterator[tuple[int, ...]]:
    """Numbers for so many sizes, the smallest first: one of them 2, then 2 and 3 in turn."""
    if count <= MOST_SIZES:
        for k in range(count - 1, -1, -1):
            yield tuple(2 if n == k else 1 for n in range(count))
    if count > 1:
        yield tuple(2 + n % 2 for n in range(count))
        yield tuple(3 - n % 2 for n in range(count))


def counted_inputs(goal: Goal, chosen: dict[str, int]) -> Inputs | None:
    """Inputs of these sizes that count 1, 2, 3 …; None where there are none, or too many elements."""
    given = {name: number(n) for name, n in chosen.items()}
    shapes = shapes_at(goal, given, MOST_ELEMENTS)
    if shapes is None:
        return None
    count, inputs = iter(range(1, MOST_ELEMENTS + 1)), dict(given)
    for name, shape in shapes.items():
        dtype = goal.variables[name].dtype
        elements = tuple(counted(dtype, next(count)) for _ in range(math.prod(shape)))
        inputs[name] = Array(dtype, shape, elements)
    return inputs
