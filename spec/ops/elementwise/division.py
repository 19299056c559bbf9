"""
Division of whole numbers
=========================

Quotients and remainders, rounded down or toward zero. Nothing is undefined: by 0 a quotient is 0 and a remainder is the
dividend (U-03).
"""

from __future__ import annotations

from soundline.spec.dtypes import DType, Element, wrap
from soundline.spec.ops import bounds
from soundline.spec.ops.adjoints import WHOLE as NO_DERIVATIVE
from soundline.spec.ops.bounds import Bounds, dtype_range, infinite, is_infinite, of_sources
from soundline.spec.ops.elementwise.families import WHOLE, binary
from soundline.spec.ops.node import Op
from soundline.spec.ops.schema import Law, source

# Bounds -----------------------------------------------------------------------------------------------------------


def _floor_quotient(x: Element, y: Element) -> Element:
    """⌊x/y⌋ for y ≠ 0, where either may be infinite."""
    if is_infinite(y):
        return 0 if x == 0 or (x > 0) == (y > 0) else -1
    if is_infinite(x):
        return x if y > 0 else -x
    return x // y


def _bounds_of_quotient(a: Bounds, b: Bounds, dtype: DType) -> Bounds:
    if b.lo <= 0 <= b.hi:
        return dtype_range(dtype)
    if infinite(a) and infinite(b):
        return dtype_range(dtype)
    corners = [_floor_quotient(x, y) for x in (a.lo, a.hi) for y in (b.lo, b.hi)]
    return bounds.spans(corners, dtype, nan=False)


def _bounds_of_remainder(a: Bounds, b: Bounds, dtype: DType) -> Bounds:
    if b.lo >= 1:
        return a if a.lo >= 0 and a.hi < b.lo else Bounds(0, b.hi - 1)
    if b.hi <= -1:
        return a if b.hi < a.lo and a.hi <= 0 else Bounds(b.lo + 1, 0)
    return dtype_range(dtype)


# Values -----------------------------------------------------------------------------------------------------------


def idiv(dtype: DType, a: int, b: int) -> int:
    """⌊a/b⌋; a div 0 = 0 (U-03)."""
    return 0 if b == 0 else wrap(dtype, a // b)


def mod(dtype: DType, a: int, b: int) -> int:
    """a - b·⌊a/b⌋; a mod 0 = a (U-03)."""
    return wrap(dtype, a - b * idiv(dtype, a, b))


def cdiv(dtype: DType, a: int, b: int) -> int:
    """a / b rounded toward zero; a div 0 = 0."""
    if b == 0:
        return 0
    quotient = abs(a) // abs(b)
    return wrap(dtype, quotient if (a < 0) == (b < 0) else -quotient)


def cmod(dtype: DType, a: int, b: int) -> int:
    """a - b·CDiv(a, b), with the sign of a."""
    return wrap(dtype, a - b * cdiv(dtype, a, b))


# Entries ----------------------------------------------------------------------------------------------------------

MOD = binary(
    Op.Mod,
    "a mod b = a - b·⌊a/b⌋, with the sign of b; a mod 0 = a",
    WHOLE,
    bounds=Law(
        "[0, B-1] for b ≥ 1, [b+1, 0] for B ≤ -1, src[0] where it is already reduced, else dtype range",
        of_sources(_bounds_of_remainder),
    ),
    scalar=mod,
    adjoint=NO_DERIVATIVE,
    example=">>> scalar(Op.Mod, int32, -7, 2)\n1",
    decisions=("U-03",),
)

IDIV = binary(
    Op.Idiv,
    "⌊a/b⌋; a div 0 = 0; the least value div -1 wraps to itself",
    WHOLE,
    bounds=Law(
        "[min, max] of the floor quotients where b excludes 0 and they fit the dtype, else dtype range",
        of_sources(_bounds_of_quotient),
    ),
    scalar=idiv,
    adjoint=NO_DERIVATIVE,
    example=">>> scalar(Op.Idiv, int32, -7, 2)\n-4",
    decisions=("U-03",),
)

CDIV = binary(
    Op.CDiv,
    "a / b rounded toward zero; a div 0 = 0; the least value div -1 wraps to itself",
    WHOLE,
    group="codegen",
    sources=(source("a", "dividend"), source("b", "divisor")),
    scalar=cdiv,
    adjoint=NO_DERIVATIVE,
    example=">>> scalar(Op.CDiv, int32, -7, 2)\n-3",
    decisions=("U-03",),
)

CMOD = binary(
    Op.CMod,
    "a - b·CDiv(a, b), with the sign of a; a mod 0 = a",
    WHOLE,
    group="codegen",
    sources=(source("a", "dividend"), source("b", "divisor")),
    scalar=cmod,
    adjoint=NO_DERIVATIVE,
    example=">>> scalar(Op.CMod, int32, -7, 2)\n-1",
    decisions=("U-03",),
)
