"""
Pad
===

The value at an offset, in zeros.
"""

from __future__ import annotations

from typing import Any

from soundline.spec.dtypes import zero_of
from soundline.spec.ops.adjoints import Parts, routes
from soundline.spec.ops.algebra import Algebra, C, Given, Movement, N
from soundline.spec.ops.bounds import Bounds, hull
from soundline.spec.ops.building import shape_source
from soundline.spec.ops.laws import AGREED_DEVICE, INHERITED
from soundline.spec.ops.movement.shared import (
    NEW_SHAPE,
    OFFSET,
    T,
    keeps_shard,
    new_shape,
    offset_and_shape,
    shape_by,
)
from soundline.spec.ops.node import Op, UOp
from soundline.spec.ops.schema import Law, Sources, entry
from soundline.spec.ops.sizes import Condition, add, at_most, every, shape_of, sizes_in


def fits(src: Sources, arg: Any) -> Condition:
    """The source lies inside of the result."""
    rows = zip(shape_of(src[0]), sizes_in(src[1]), sizes_in(src[2]), strict=True)
    return every(c for s, o, new in rows for c in (at_most(0, o), at_most(add(o, s), new)))


def position(a: Algebra[N, C], given: Given[N], at: tuple[N, ...]) -> tuple[N, ...]:
    """The source stands at the offset."""
    return tuple(i - o for i, o in zip(at, given.numbers[0], strict=True))


def inside(a: Algebra[N, C], given: Given[N], index: tuple[N, ...]) -> C:
    """Inside on every axis; an axis that keeps its size is not padded."""
    rows = zip(index, given.shape, new_shape(given), strict=True)
    return a.every(a.inside(i, size) for i, size, new in rows if not a.same(size, new))


def adjoint(node: UOp, g: UOp) -> Parts:
    """What stands where the source stood."""
    return Op.Shrink(g, node.src[1], shape_source(shape_of(node.src[0]))), None, None


MOVEMENT = Movement(new_shape, position, inside, zero_of)

PAD = entry(
    Op.Pad,
    "movement",
    "Place T at offset o in an output of shape s' that is otherwise zero (False, 0, +0.0).",
    sources=(T, OFFSET, NEW_SHAPE),
    constraints=(
        ("o and s' are Stacks of index scalars of the rank of T", offset_and_shape),
        ("0 ≤ o[k] and o[k] + s[k] ≤ s'[k]", fits),
        ("the shard axis of a multi-device value keeps its size", keeps_shard),
    ),
    typing=INHERITED.but(shape=Law("s'", shape_by(MOVEMENT)), device=AGREED_DEVICE),
    bounds=Law(
        "hull of src[0] with 0",
        lambda node, at: hull([at(node.src[0]), Bounds(zero_of(node.dtype), zero_of(node.dtype))]),
    ),
    movement=MOVEMENT,
    adjoint=routes("to T: the part of g at offset o, of the shape of T", adjoint),
    example=">>> evaluate(pad(tensor([1, 2]), (1,), (4,))).elements\n(0, 1, 2, 0)",
    decisions=("U-14", "U-20", "U-22", "U-41"),
)
