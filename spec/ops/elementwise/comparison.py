"""
Comparison
==========

What is less, equal or unequal. NaN is unequal to everything, and -0 equals +0 (U-07).
"""

from __future__ import annotations

from collections.abc import Callable

from soundline.spec.dtypes import bool_
from soundline.spec.ops.adjoints import WHOLE
from soundline.spec.ops.bounds import Bounds, Row, of_sources
from soundline.spec.ops.elementwise.families import ELEMENTWISE, NUMBER_OR_BOOL, binary
from soundline.spec.ops.node import Op
from soundline.spec.ops.schema import Law

COMPARISON = ELEMENTWISE.but(dtype=Law("bool", lambda src, arg: bool_))

# Bounds -----------------------------------------------------------------------------------------------------------


def _less(a: Bounds, b: Bounds) -> Bounds:
    """[x < y]."""
    return Bounds(a.hi < b.lo, a.lo < b.hi)


def unequal(a: Bounds, b: Bounds) -> Bounds:
    """[x ≠ y]."""
    if a.maybe_nan or b.maybe_nan:
        return Bounds(False, True)
    apart = a.hi < b.lo or b.hi < a.lo
    return Bounds(apart, apart or not a.lo == a.hi == b.lo == b.hi)


def opposite(a: Bounds) -> Bounds:
    """[not x]."""
    return Bounds(not a.hi, not a.lo)


def _decided(law: Callable[[Bounds, Bounds], Bounds]) -> Law[Row]:
    return Law(
        "from the intervals, where they decide it and NaN is excluded, else [False, True]",
        of_sources(lambda a, b, dtype: Bounds(False, True) if a.maybe_nan or b.maybe_nan else law(a, b)),
    )


# Entries ----------------------------------------------------------------------------------------------------------

LESS = binary(
    Op.CmpLt,
    "[a < b]; False if either is NaN; False < True",
    NUMBER_OR_BOOL,
    typing=COMPARISON,
    bounds=_decided(_less),
    scalar=lambda dtype, a, b: a < b,
    adjoint=WHOLE,
    example=">>> scalar(Op.CmpLt, float32, float('nan'), 1.0)\nFalse",
    decisions=("U-07", "U-43"),
)

UNEQUAL = binary(
    Op.CmpNe,
    "[a ≠ b]; True if either is NaN; -0 = +0",
    NUMBER_OR_BOOL,
    typing=COMPARISON,
    bounds=_decided(unequal),
    scalar=lambda dtype, a, b: a != b,
    adjoint=WHOLE,
    example=">>> scalar(Op.CmpNe, float32, float('nan'), float('nan'))\nTrue",
    decisions=("U-07", "U-43"),
)

GREATER = binary(
    Op.CmpGt,
    "[a > b]; False if either is NaN",
    NUMBER_OR_BOOL,
    typing=COMPARISON,
    bounds=_decided(lambda a, b: _less(b, a)),
    scalar=lambda dtype, a, b: a > b,
    decomposition="CmpLt(b, a)",
    adjoint=WHOLE,
    example=">>> scalar(Op.CmpGt, int32, 2, 1)\nTrue",
    decisions=("U-07",),
)

AT_LEAST = binary(
    Op.CmpGe,
    "[a ≥ b]; False if either is NaN",
    NUMBER_OR_BOOL,
    typing=COMPARISON,
    bounds=_decided(lambda a, b: opposite(_less(a, b))),
    scalar=lambda dtype, a, b: a >= b,
    decomposition="CmpNe(CmpLt(a, b), True) where NaN is excluded; Or(CmpLt(b, a), CmpEq(a, b)) always",
    licences=("no_nan",),
    adjoint=WHOLE,
    example=">>> scalar(Op.CmpGe, float32, float('nan'), 0.0)\nFalse",
    decisions=("U-07",),
)

AT_MOST = binary(
    Op.CmpLe,
    "[a ≤ b]; False if either is NaN",
    NUMBER_OR_BOOL,
    typing=COMPARISON,
    bounds=_decided(lambda a, b: opposite(_less(b, a))),
    scalar=lambda dtype, a, b: a <= b,
    decomposition="CmpNe(CmpLt(b, a), True) where NaN is excluded; Or(CmpLt(a, b), CmpEq(a, b)) always",
    licences=("no_nan",),
    adjoint=WHOLE,
    example=">>> scalar(Op.CmpLe, float32, 0.0, float('nan'))\nFalse",
    decisions=("U-07",),
)

EQUAL = binary(
    Op.CmpEq,
    "[a = b]; False if either is NaN",
    NUMBER_OR_BOOL,
    typing=COMPARISON,
    bounds=_decided(lambda a, b: opposite(unequal(a, b))),
    scalar=lambda dtype, a, b: a == b,
    decomposition="CmpNe(CmpNe(a, b), True)",
    adjoint=WHOLE,
    example=">>> scalar(Op.CmpEq, float32, -0.0, 0.0)\nTrue",
    decisions=("U-07",),
)
