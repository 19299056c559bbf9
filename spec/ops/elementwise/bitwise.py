"""
Bits
====

Exclusive or, or, and: of the bits of integers in two's complement, and of bools. Not is of bools alone (U-14).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from soundline.spec.dtypes import DType, bool_
from soundline.spec.ops.adjoints import WHOLE
from soundline.spec.ops.bounds import Bounds, Row, dtype_range, least, of_sources
from soundline.spec.ops.elementwise.comparison import opposite
from soundline.spec.ops.elementwise.families import BITS, binary, dtype_is, unary
from soundline.spec.ops.node import Op
from soundline.spec.ops.schema import Entry, Law

# Bounds -----------------------------------------------------------------------------------------------------------

Otherwise = Callable[[Bounds, Bounds, DType], Bounds]


def _of_constants(scalar: Callable[[DType, Any, Any], Any], otherwise: Otherwise) -> Row:
    """The value of two constants; of other intervals what is said."""

    def law(a: Bounds, b: Bounds, dtype: DType) -> Bounds:
        if a.lo == a.hi and b.lo == b.hi:
            value = scalar(dtype, a.lo, b.lo)
            return Bounds(value, value)
        return otherwise(a, b, dtype)

    return of_sources(law)


def _anything(a: Bounds, b: Bounds, dtype: DType) -> Bounds:
    return dtype_range(dtype)


def _no_greater(a: Bounds, b: Bounds, dtype: DType) -> Bounds:
    """An and of what is not negative is at most each of them."""
    if a.lo >= 0 and b.lo >= 0:
        return Bounds(False if dtype is bool_ else 0, least((a.hi, b.hi)))
    return dtype_range(dtype)


# Entries ----------------------------------------------------------------------------------------------------------


def _bitwise(
    op: Op, semantics: str, scalar: Callable[[DType, Any, Any], Any], otherwise: Otherwise, six_and_three: int
) -> Entry:
    return binary(
        op,
        semantics,
        BITS,
        bounds=Law(
            "[0, min(A, B)] of And on non-negative intervals, exact on constants, else dtype range",
            _of_constants(scalar, otherwise),
        ),
        scalar=scalar,
        adjoint=WHOLE,
        example=f">>> scalar(Op.{op.name}, int32, 6, 3)\n{six_and_three}",
        decisions=("U-14",),
    )


XOR = _bitwise(
    Op.Xor,
    "a ⊕ b: bitwise exclusive or of integers in two's complement, logical exclusive or of bools",
    lambda dtype, a, b: a ^ b,
    _anything,
    5,
)

OR = _bitwise(
    Op.Or,
    "a | b: bitwise or of integers in two's complement, logical or of bools",
    lambda dtype, a, b: a | b,
    _anything,
    7,
)

AND = _bitwise(
    Op.And,
    "a & b: bitwise and of integers in two's complement, logical and of bools",
    lambda dtype, a, b: a & b,
    _no_greater,
    2,
)

NOT = unary(
    Op.Not,
    "¬x",
    dtype_is("the dtype is bool", lambda d: d is bool_),
    bounds=Law("[¬A, ¬a]", of_sources(lambda a, dtype: opposite(a))),
    scalar=lambda dtype, x: not x,
    decomposition="CmpNe(x, True)",
    adjoint=WHOLE,
    example=">>> scalar(Op.Not, bool_, True)\nFalse",
    decisions=("U-14",),
)
