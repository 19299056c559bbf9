"""
Flip
====

Axes read backwards.
"""

from __future__ import annotations

from soundline.spec.ops.adjoints import routes
from soundline.spec.ops.algebra import Algebra, C, Given, Movement, N
from soundline.spec.ops.laws import INHERITED, SAME_BOUNDS
from soundline.spec.ops.movement.shared import T, own_shape
from soundline.spec.ops.node import Op
from soundline.spec.ops.schema import entry
from soundline.spec.ops.sizes import shape_of


def position(a: Algebra[N, C], given: Given[N], at: tuple[N, ...]) -> tuple[N, ...]:
    """Index i of a flagged axis reads size-1-i."""
    rows = zip(at, given.shape, given.arg, strict=True)
    return tuple(size - 1 - i if flagged else i for i, size, flagged in rows)


FLIP = entry(
    Op.Flip,
    "movement",
    "Reverse the axes whose flag is set: index i of such an axis reads s[k]-1-i.",
    sources=(T,),
    arg="f: one bool per axis",
    arg_types=(tuple,),
    constraints=(
        (
            "f has one bool per axis",
            lambda src, arg: len(arg) == len(shape_of(src[0])) and all(type(f) is bool for f in arg),
        ),
        (
            "the shard axis of a multi-device value is not flipped",
            lambda src, arg: src[0].axis is None or not arg[src[0].axis],
        ),
    ),
    typing=INHERITED,
    bounds=SAME_BOUNDS,
    movement=Movement(own_shape, position),
    adjoint=routes("to T: g with the same axes reversed", lambda node, g: (Op.Flip(g, arg=node.arg),)),
    example=">>> evaluate(Op.Flip(tensor([1, 2, 3]), arg=(True,))).elements\n(3, 2, 1)",
)
