"""
Stack
=====

Values beside each other along a new axis. A Stack of index scalars is a shape (U-22).
"""

from __future__ import annotations

from typing import Any, cast

from soundline.spec.dtypes import index
from soundline.spec.ops.adjoints import Parts, routes
from soundline.spec.ops.algebra import Algebra, C, Given, Movement, N, S
from soundline.spec.ops.bounds import hull
from soundline.spec.ops.building import const
from soundline.spec.ops.laws import AGREED_DEVICE, agreed_shard, one_dtype, one_shape
from soundline.spec.ops.node import Op, UOp
from soundline.spec.ops.schema import Law, Sources, Typing, entry, source
from soundline.spec.ops.sizes import shape_of


def shard(src: Sources, arg: Any) -> int | None:
    """The shard axis of the sources, behind the new axis."""
    axis = agreed_shard(src, arg)
    return None if axis is None else axis + 1


def stacked_shape(given: Given[S]) -> tuple[S, ...]:
    """As many as there are sources, then their shape; the empty Stack has no elements (U-22)."""
    return (cast("S", len(given.shapes)), *(given.shape if given.shapes else ()))


def position(a: Algebra[N, C], given: Given[N], at: tuple[N, ...]) -> tuple[N, ...]:
    """The first index says which source is read, the rest where."""
    return at[1:]


def adjoint(node: UOp, g: UOp) -> Parts:
    """To each source its slice."""
    return [Op.Index(g, const(k, index)) for k in range(len(node.src))]


MOVEMENT = Movement(stacked_shape, position)

STACK = entry(
    Op.Stack,
    "movement",
    "Join the sources along a new leading axis. The empty Stack is the shape (): dtype index, shape (0,).",
    sources=(source("T", "values of one shape and dtype", variadic=True),),
    constraints=(
        ("all sources have one shape", lambda src, arg: not src or one_shape(src)),
        ("all sources have one dtype", one_dtype),
    ),
    typing=Typing(
        dtype=Law("src[0].dtype; index for the empty Stack", lambda src, arg: src[0].dtype if src else index),
        shape=Law(
            "(number of sources, *src[0].shape); (0,) for the empty Stack",
            lambda src, arg: MOVEMENT.shape(Given(tuple(shape_of(s) for s in src[:1]) * len(src))),
        ),
        device=AGREED_DEVICE,
        axis=Law("the one non-null axis of the sources, plus 1", shard),
    ),
    bounds=Law("hull of all sources", lambda node, at: hull([at(s) for s in node.src])),
    movement=MOVEMENT,
    adjoint=routes("to source k: slice k of g", adjoint),
    example=">>> evaluate(Op.Stack(const(1, int32), const(2, int32))).elements\n(1, 2)",
    decisions=("U-22", "U-41"),
)
