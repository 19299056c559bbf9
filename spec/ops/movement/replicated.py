"""
Replicated
==========

One of several slices that are said to be equal (U-28).
"""

from __future__ import annotations

from soundline.spec.dtypes import bool_, int64
from soundline.spec.errors import GradientError
from soundline.spec.ops.adjoints import Parts, Passes, filled, shared
from soundline.spec.ops.building import expand
from soundline.spec.ops.laws import INHERITED, SAME_BOUNDS, distinct_axes, reduced_shape, without
from soundline.spec.ops.movement.shared import T
from soundline.spec.ops.node import Op, UOp
from soundline.spec.ops.schema import Law, entry
from soundline.spec.ops.sizes import product, shape_of


def adjoint(node: UOp, g: UOp) -> Parts:
    """Slices that are equal must stay equal when each moves along its adjoint: so each receives the same."""
    x = node.src[0]
    if g.dtype is bool_:
        return (expand(g, shape_of(x)),)
    count = product(shape_of(x)[k] for k in node.arg)
    if not isinstance(count, int):
        raise GradientError(
            f"the number of slices, {count!r}, is not known",
            rule="uop-replicated-adjoint",
            where="Replicated",
        )
    return (expand(shared(g, filled(g, count, int64)), shape_of(x)),)


REPLICATED = entry(
    Op.Replicated,
    "movement",
    "Assert that all slices along the axes are equal, and keep slice 0 of each; unequal slices are invalid.",
    sources=(T,),
    arg="axes: distinct axes",
    arg_types=(tuple,),
    constraints=(
        ("axes are distinct axes of T", lambda src, arg: distinct_axes(arg, len(shape_of(src[0])))),
        ("no axis has the constant size 0", lambda src, arg: all(shape_of(src[0])[a] != 0 for a in arg)),
    ),
    typing=INHERITED.but(
        shape=Law("s with 1 on axes", lambda src, arg: reduced_shape(shape_of(src[0]), arg)),
        axis=Law("null if the shard axis is in axes", lambda src, arg: without(src[0].axis, arg)),
    ),
    bounds=SAME_BOUNDS,
    adjoint=Passes(
        "to T: g divided by the number of slices, for every slice. On equal slices any weights of sum 1 are true; "
        "equal weights alone keep the adjoint, and T moved along it, equal too",
        adjoint,
        live=adjoint,
        scales=False,
    ),
    example=">>> evaluate(Op.Replicated(tensor([[1, 2], [1, 2]]), arg=(0,))).elements\n(1, 2)",
    decisions=("U-28",),
)
