"""
Permute
=======

The axes in another order.
"""

from __future__ import annotations

from collections.abc import Sequence

from soundline.spec.ops.adjoints import Parts, routes
from soundline.spec.ops.algebra import Algebra, C, Given, Movement, N, S
from soundline.spec.ops.laws import INHERITED, SAME_BOUNDS, distinct_axes
from soundline.spec.ops.movement.shared import T, shape_by
from soundline.spec.ops.node import Op, UOp
from soundline.spec.ops.schema import Law, entry
from soundline.spec.ops.sizes import shape_of


def permuted_shape(given: Given[S]) -> tuple[S, ...]:
    """Axis k of the result is axis π[k] of the source."""
    return tuple(given.shape[axis] for axis in given.arg)


def position(a: Algebra[N, C], given: Given[N], at: tuple[N, ...]) -> tuple[N, ...]:
    """Axis π[k] of the source is axis k of the result."""
    return tuple(at[given.arg.index(axis)] for axis in range(len(at)))


def inverse(order: Sequence[int]) -> tuple[int, ...]:
    """The permutation that undoes another."""
    return tuple(order.index(k) for k in range(len(order)))


def adjoint(node: UOp, g: UOp) -> Parts:
    """g with its axes back in their order."""
    return (Op.Permute(g, arg=inverse(node.arg)),)


MOVEMENT = Movement(permuted_shape, position)

PERMUTE = entry(
    Op.Permute,
    "movement",
    "Reorder the axes: axis k of the result is axis π[k] of T.",
    sources=(T,),
    arg="π: a permutation of the axes",
    arg_types=(tuple,),
    constraints=(
        (
            "π is a permutation of 0 … rank-1",
            lambda src, arg: distinct_axes(arg, len(shape_of(src[0]))) and len(arg) == len(shape_of(src[0])),
        ),
    ),
    typing=INHERITED.but(
        shape=Law("s'[k] = s[π[k]]", shape_by(MOVEMENT)),
        axis=Law(
            "the k with π[k] = src[0].axis",
            lambda src, arg: None if src[0].axis is None else arg.index(src[0].axis),
        ),
    ),
    bounds=SAME_BOUNDS,
    movement=MOVEMENT,
    adjoint=routes("to T: g permuted by the inverse of π", adjoint),
    example=">>> evaluate(Op.Permute(tensor([[1, 2, 3]]), arg=(1, 0))).shape\n(3, 1)",
)
