"""
Selection
=========

The greater of two values, and one of two by a condition.
"""

from __future__ import annotations

import math
from typing import Any

from soundline.spec.dtypes import DType, Element, bool_
from soundline.spec.ops.adjoints import Parts, Passes, always, dropped, filled, guarded, kept, zeros
from soundline.spec.ops.bounds import Bounds, greatest, hull, of_sources
from soundline.spec.ops.elementwise.families import ELEMENTWISE, NUMBER_OR_BOOL, SAME_SHAPE, A, B, binary
from soundline.spec.ops.node import Op, UOp
from soundline.spec.ops.schema import Law, entry, source

# Max --------------------------------------------------------------------------------------------------------------


def bounds_of_max(a: Bounds, b: Bounds, dtype: DType) -> Bounds:
    """[max(a, b), max(A, B)]."""
    return Bounds(greatest((a.lo, b.lo)), greatest((a.hi, b.hi)), a.maybe_nan or b.maybe_nan)


def maximum(dtype: DType, a: Any, b: Any) -> Element:
    """IEEE 754-2019 maximum (U-06): NaN if either is NaN, and +0 > -0."""
    if a != a or b != b:
        return math.nan
    if a == b and dtype.is_float:
        return a if math.copysign(1.0, a) > 0 else b  # type: ignore[no-any-return]
    return max(a, b)  # type: ignore[no-any-return]


def _to_greater(node: UOp, g: UOp) -> Parts:
    a, b = node.src
    below, above = Op.CmpLt(a, b), Op.CmpLt(b, a)
    half = g if g.dtype is bool_ else Op.Mul(g, filled(g, 0.5))
    return Op.Where(below, zeros(g), Op.Where(above, g, half)), Op.Where(
        above, zeros(g), Op.Where(below, g, half)
    )


MAX = binary(
    Op.Max,
    "the greater of a and b: IEEE 754-2019 maximum, so NaN if either is NaN, and +0 > -0; or of bools",
    NUMBER_OR_BOOL,
    bounds=Law("[max(a, b), max(A, B)]", of_sources(bounds_of_max)),
    scalar=maximum,
    adjoint=Passes(
        "to the greater operand: g. To the other: 0. To equal operands, and if either is NaN: ½·g each",
        _to_greater,
        guarded(_to_greater),
        always,
    ),
    example=">>> scalar(Op.Max, float32, -0.0, 0.0)\n0.0",
    decisions=("U-06", "U-14"),
)

# Where ------------------------------------------------------------------------------------------------------------


def _to_selected(node: UOp, g: UOp) -> Parts:
    return None, kept(node.src[0], g), dropped(node.src[0], g)


WHERE = entry(
    Op.Where,
    "elementwise",
    "a where p is True, else b; only the selected element is needed.",
    sources=(source("p", "the condition, bool"), A, B),
    constraints=(
        SAME_SHAPE,
        ("p is bool", lambda src, arg: src[0].dtype is bool_),
        ("a and b have one dtype", lambda src, arg: src[1].dtype is src[2].dtype),
    ),
    typing=ELEMENTWISE.but(dtype=Law("src[1].dtype", lambda src, arg: src[1].dtype)),
    bounds=Law("hull of src[1] and src[2]", lambda node, at: hull([at(node.src[1]), at(node.src[2])])),
    scalar=lambda dtype, p, a, b: a if p else b,
    adjoint=Passes(
        "to a: g where p, else 0. To b: 0 where p, else g. To p: nothing",
        _to_selected,
        guarded(_to_selected),
        always,
    ),
    example=">>> evaluate(Op.Where(const(True, bool_), const(1, int8), const(2, int8))).elements\n(1,)",
    decisions=("U-01", "U-14"),
)
