"""
Shrink
======

The part of a value at an offset.
"""

from __future__ import annotations

from typing import Any

from soundline.spec.ops.adjoints import Parts, always, routes
from soundline.spec.ops.algebra import Algebra, C, Given, Movement, N
from soundline.spec.ops.building import shape_source
from soundline.spec.ops.laws import AGREED_DEVICE, INHERITED, SAME_BOUNDS
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
    """The result lies inside of the source."""
    rows = zip(shape_of(src[0]), sizes_in(src[1]), sizes_in(src[2]), strict=True)
    return every(c for s, o, new in rows for c in (at_most(0, o), at_most(0, new), at_most(add(o, new), s)))


def position(a: Algebra[N, C], given: Given[N], at: tuple[N, ...]) -> tuple[N, ...]:
    """The result is the part of the source at the offset."""
    return tuple(i + o for i, o in zip(at, given.numbers[0], strict=True))


def adjoint(node: UOp, g: UOp) -> Parts:
    """Zero for what was cut off."""
    return Op.Pad(g, node.src[1], shape_source(shape_of(node.src[0]))), None, None


MOVEMENT = Movement(new_shape, position)

SHRINK = entry(
    Op.Shrink,
    "movement",
    "Keep s'[k] elements of each axis from offset o[k] on. Shrink after the Pad with the same offset is T.",
    sources=(T, OFFSET, NEW_SHAPE),
    constraints=(
        ("o and s' are Stacks of index scalars of the rank of T", offset_and_shape),
        ("0 ≤ o[k], 0 ≤ s'[k] and o[k] + s'[k] ≤ s[k]", fits),
        ("the shard axis of a multi-device value keeps its size", keeps_shard),
    ),
    typing=INHERITED.but(shape=Law("s'", shape_by(MOVEMENT)), device=AGREED_DEVICE),
    bounds=SAME_BOUNDS,
    movement=MOVEMENT,
    adjoint=routes("to T: g at offset o in zeros of the shape of T", adjoint, narrows=always),
    example=">>> evaluate(shrink(tensor([1, 2, 3, 4]), (1,), (2,))).elements\n(2, 3)",
    decisions=("U-20", "U-22"),
)
