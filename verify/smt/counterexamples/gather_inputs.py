"""
Inputs for gathers
==================

A tensor that is indexed by another one has a value only where each index lies inside. So the search for a
counterexample fills tensors of indices with small ones: in turn ascending, descending and mixed, and all others with
elements that differ from one another.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Mapping

from soundline.spec.arrays.arrays import Array
from soundline.spec.dtypes import DType, index
from soundline.spec.ops.node import Op, toposort
from soundline.spec.rules.instances import Goal
from soundline.spec.uop import element_of
from soundline.verify.smt.goals.order import counted

MIXED = 8
"""The number of fills whose indices are in no order."""


def gathering(
    goal: Goal, shapes: Mapping[str, tuple[int, ...]], dtypes: Mapping[str, DType]
) -> Iterator[dict[str, Array]]:
    """Inputs with indices that lie inside; none where nothing is indexed by a tensor."""
    if not any(i.shape for node in toposort(goal.left) if node.op is Op.Index for i in node.src[1:]):
        return
    sizes = [n for shape in shapes.values() for n in shape if n]
    generator = random.Random(len(sizes))  # noqa: S311  (a search, not a secret)
    for most in sorted(set(sizes)):
        orders = [list(range(most)), list(reversed(range(most)))]
        orders += [[generator.randrange(most) for _ in range(most + 1)] for _ in range(MIXED)]
        for k in range(len(orders)):
            yield _filled(shapes, dtypes, orders[k:] + orders[:k])


def _filled(
    shapes: Mapping[str, tuple[int, ...]], dtypes: Mapping[str, DType], orders: list[list[int]]
) -> dict[str, Array]:
    """Indices in these orders, one order for each tensor of indices; other elements are counted."""
    made: dict[str, Array] = {}
    count = 0
    for number, (name, shape) in enumerate(shapes.items()):
        size, dtype = math.prod(shape), dtypes[name]
        if dtype is index and shape:
            order = orders[number % len(orders)]
            elements = [element_of(order[k % len(order)], index) for k in range(size)]
        else:
            elements = [counted(dtype, count + k + 1) for k in range(size)]
            count += size
        made[name] = Array(dtype, shape, tuple(elements))
    return made
