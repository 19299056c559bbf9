"""
Shifts
======

Bits moved to the left or right. The count is read as unsigned, and nothing is undefined (U-04); on index a shift is a
product or a floor quotient (U-02).
"""

from __future__ import annotations

from typing import Any

from soundline.spec.dtypes import DType, index, wrap
from soundline.spec.errors import EvaluationError
from soundline.spec.ops.adjoints import WHOLE
from soundline.spec.ops.elementwise.families import binary
from soundline.spec.ops.node import Op, UOp
from soundline.spec.ops.schema import Predicate, Sources
from soundline.spec.ops.sizes import Condition, at_most

STANDS_FOR_A_CONSTANT = "constant"
"""The tag of a Param in an instance of a rule for which, where the rule is applied, a constant stands."""

GREATEST_SHIFT = 1 << 20
"""How far an index may be shifted left."""

# Constraints ------------------------------------------------------------------------------------------------------

_MADE_WITH = frozenset(
    (*(Op.Add, Op.Sub, Op.Mul, Op.Neg, Op.Max, Op.Idiv, Op.Mod, Op.CDiv, Op.CMod), Op.Shl, Op.Shr)
)
"""What a count may be made with from what stands for constants."""


def _stands_for_a_constant(count: UOp) -> bool:
    if count.op in (Op.Const, Op.Param):
        return count.op is Op.Const or count.tag == STANDS_FOR_A_CONSTANT
    return count.op in _MADE_WITH and all(map(_stands_for_a_constant, count.src))


def shiftable(src: Sources, arg: Any) -> Condition:
    """A count of index is a constant; in an instance of a rule it may be made of what stands for constants."""
    if src[0].dtype is not index:
        return src[0].dtype.is_int
    if src[1].op is Op.Const:
        return bool(src[1].arg.value >= 0)
    return at_most(0, src[1]) if _stands_for_a_constant(src[1]) else False


_SHIFTABLE: tuple[str, Predicate] = (
    "the dtype is an integer, or index with a constant count ≥ 0",
    shiftable,
)


# Values -----------------------------------------------------------------------------------------------------------


def _count(dtype: DType, b: int) -> int:
    """A shift count read as unsigned; nothing is left to move at the width, so it stops there (U-04)."""
    if dtype is index:
        if b < 0:
            raise EvaluationError(f"an index is shifted by {b} places", rule="U-02", where="Shl or Shr")
        return b
    return min(b % (1 << dtype.bits), dtype.bits)


def shr(dtype: DType, a: int, b: int) -> int:
    """a ≫ b; the sign is filled in, and an unsigned a has none."""
    return a >> _count(dtype, b)


def shl(dtype: DType, a: int, b: int) -> int:
    """a ≪ b, wrapped; on index the integers end where a machine cannot write them down."""
    if dtype is index and b > GREATEST_SHIFT and a != 0:
        raise EvaluationError(f"2^{b} is too large to compute", rule="uop-shl-sem", where="Shl")
    return wrap(dtype, a << _count(dtype, b))


# Entries ----------------------------------------------------------------------------------------------------------

SHR = binary(
    Op.Shr,
    "a ≫ b: arithmetic for signed dtypes, logical for unsigned ones. The count is read as unsigned; a count ≥ "
    "width gives the sign fill. On index it is ⌊a/2^b⌋ for a constant b ≥ 0",
    _SHIFTABLE,
    scalar=shr,
    adjoint=WHOLE,
    example=">>> scalar(Op.Shr, int8, -128, 9)\n-1",
    decisions=("U-02", "U-04", "U-14"),
)

SHL = binary(
    Op.Shl,
    "a ≪ b, wrapped. The count is read as unsigned; a count ≥ width gives 0. On index it is a·2^b for a constant "
    "b ≥ 0",
    _SHIFTABLE,
    scalar=shl,
    adjoint=WHOLE,
    example=">>> scalar(Op.Shl, int8, 1, 8)\n0",
    decisions=("U-02", "U-04", "U-14"),
)
