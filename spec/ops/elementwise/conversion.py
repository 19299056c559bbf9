"""
Conversion
==========

Elements of one dtype as elements of another, and the whole part of a float (U-13).
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from soundline.spec.dtypes import DType, Element, bool_, index, round_to, void, wrap
from soundline.spec.ops import bounds
from soundline.spec.ops.adjoints import Nothing, Parts, Passes
from soundline.spec.ops.bounds import At, Bounds, Known, greatest, least, of_sources
from soundline.spec.ops.elementwise.comparison import unequal
from soundline.spec.ops.elementwise.families import ELEMENTWISE, FLOAT, ROUNDED, X, unary
from soundline.spec.ops.node import Op, UOp
from soundline.spec.ops.schema import Law, entry

# Trunc ------------------------------------------------------------------------------------------------------------


def trunc(dtype: DType, x: float) -> float:
    """x rounded toward zero; the sign of zero is kept (U-13)."""
    if not math.isfinite(x):
        return x
    return math.copysign(float(math.trunc(x)), x)


TRUNC = unary(
    Op.Trunc,
    "x rounded toward zero to an integer; the sign of zero is kept",
    FLOAT,
    bounds=Law(
        "[trunc a, trunc A]",
        of_sources(
            lambda a, dtype: Bounds(trunc(dtype, float(a.lo)), trunc(dtype, float(a.hi)), a.maybe_nan)
        ),
    ),
    scalar=trunc,
    adjoint=Nothing("nothing: its derivative is 0 wherever it has one"),
    example=">>> scalar(Op.Trunc, float32, -2.5)\n-2.0",
    decisions=("U-13",),
)

# Cast -------------------------------------------------------------------------------------------------------------


def castable(source: DType, target: DType) -> bool:
    """Whether a dtype has a meaning in another: index and floats have none in each other."""
    if index in (source, target):
        return not source.is_float and not target.is_float
    return True


def _bounds_of_cast(node: UOp, at: At) -> Known:
    known = at(node.src[0])
    return None if known is None else bounds_of_cast(known, node.src[0].dtype, node.dtype)


def bounds_of_cast(a: Bounds, source: DType, target: DType) -> Bounds:
    """The ends, cast as values are."""
    if target is bool_:
        return unequal(a, Bounds(0, 0))
    if target.is_float:
        ends = (a.lo, a.hi) if source.is_float else (Fraction(a.lo), Fraction(a.hi))
        return bounds.rounded(ends, target, nan=a.maybe_nan)
    if source.is_float:
        found = [_saturated_end(float(e), target) for e in (a.lo, a.hi)] + ([0] if a.maybe_nan else [])
        return Bounds(least(found), greatest(found))
    return bounds.spans([int(e) if isinstance(e, bool) else e for e in (a.lo, a.hi)], target, nan=False)


def _saturated_end(x: float, target: DType) -> Element:
    if math.isinf(x):
        return target.max if x > 0 else target.min
    return least((greatest((math.trunc(x), target.min)), target.max))


def cast(source: DType, x: Any, target: DType) -> Element:
    """Convert an element of `source` to `target` (U-13)."""
    if target is bool_:
        return bool(x != 0)
    if target.is_float:  # of an integer of any size the nearest float, in one rounding
        return round_to(target, x if source.is_float else Fraction(int(x)))
    return _saturated(x, target) if source.is_float else wrap(target, int(x))


def _saturated(x: float, target: DType) -> int:
    """A float truncated, then clamped into an integer dtype; NaN is 0."""
    if math.isnan(x):
        return 0
    low, high = int(target.min), int(target.max)
    if math.isinf(x):
        return high if x > 0 else low
    return max(low, min(high, math.trunc(x)))


def _back(node: UOp, g: UOp) -> Parts:
    source = node.src[0].dtype
    return (Op.Cast(g, arg=source) if source.is_float and node.dtype.is_float else None,)


CAST = entry(
    Op.Cast,
    "elementwise",
    "Convert to the dtype of arg. Integer to integer wraps; integer to float and float to float round to nearest "
    "even, once; float to integer truncates and saturates, NaN to 0; anything to bool is x ≠ 0, NaN to True.",
    sources=(X,),
    arg="dtype",
    arg_types=(DType,),
    constraints=(
        ("the target is a value dtype", lambda src, arg: void not in (src[0].dtype, arg)),
        ("index converts only from and to integers and bool", lambda src, arg: castable(src[0].dtype, arg)),
    ),
    typing=ELEMENTWISE.but(dtype=Law("from arg", lambda src, arg: arg)),
    bounds=Law(
        "the ends, cast as values are, and 0 where a NaN becomes an integer; [x ≠ 0] for bool; dtype range "
        f"where an integer does not fit its target; {ROUNDED}",
        _bounds_of_cast,
    ),
    scalar=cast,
    adjoint=Passes("between floats, to x: g cast back, as if nothing were rounded", _back, scales=False),
    example=">>> scalar(Op.Cast, float32, 3e9, arg=int32)\n2147483647",
    decisions=("U-02", "U-13", "U-42"),
)
