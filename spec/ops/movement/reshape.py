"""
Reshape
=======

The elements in row-major order, under another shape.
"""

from __future__ import annotations

from typing import Any

from soundline.spec.ops.adjoints import routes
from soundline.spec.ops.algebra import Algebra, C, Given, Movement, N, flat
from soundline.spec.ops.building import reshape
from soundline.spec.ops.laws import AGREED_DEVICE, INHERITED, SAME_BOUNDS, no_negative
from soundline.spec.ops.movement.shared import NEW_SHAPE, T, new_shape, shape_by
from soundline.spec.ops.node import Op
from soundline.spec.ops.schema import Law, Sources, entry
from soundline.spec.ops.shards import reshaped_axis
from soundline.spec.ops.sizes import equal, product, shape_of, sizes_in


def shard(src: Sources, arg: Any) -> int | None:
    """The new axis at the boundary where the shard axis began."""
    return None if src[0].axis is None else reshaped_axis(src[0], sizes_in(src[1]))


def position(a: Algebra[N, C], given: Given[N], at: tuple[N, ...]) -> tuple[N, ...]:
    """The element with the same row-major number."""
    old, new = given.shape, new_shape(given)
    found: dict[int, N] = {}
    for theirs, ours in a.groups(old, new):
        number = flat(a.number, [at[k] for k in ours], [new[k] for k in ours])
        found.update(zip(theirs, a.digits(number, tuple(old[k] for k in theirs)), strict=True))
    return tuple(found[k] for k in range(len(old)))


MOVEMENT = Movement(new_shape, position)

RESHAPE = entry(
    Op.Reshape,
    "movement",
    "Reinterpret the elements in row-major order under another shape.",
    sources=(T, NEW_SHAPE),
    constraints=(
        ("s' is a Stack of index scalars, each ≥ 0", lambda src, arg: no_negative(src[1])),
        (
            "∏ s'[k] = ∏ s[k]",
            lambda src, arg: equal(product(shape_of(src[0])), product(sizes_in(src[1]))),
        ),
        (
            "a shard boundary survives: some new axis starts at the same place and n divides it",
            lambda src, arg: src[0].axis is None or shard(src, arg) is not None,
        ),
    ),
    typing=INHERITED.but(
        shape=Law("s'", shape_by(MOVEMENT)),
        device=AGREED_DEVICE,
        axis=Law(
            "the new axis with the same product of sizes before it, and a size that n divides; of several (one "
            "device, or no elements) the first of the same size, else the last",
            shard,
        ),
    ),
    bounds=SAME_BOUNDS,
    movement=MOVEMENT,
    adjoint=routes("to T: g in the shape of T", lambda node, g: (reshape(g, shape_of(node.src[0])), None)),
    example=">>> evaluate(reshape(tensor([[1, 2], [3, 4]]), (4,))).elements\n(1, 2, 3, 4)",
    decisions=("U-20", "U-22", "U-29"),
)
