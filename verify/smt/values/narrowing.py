"""
Narrowing
=========

An operation of a narrow float format that is done in a much finer one, and rounded again: where both roundings are one.
"""

from __future__ import annotations

from soundline.spec.dtypes import DType, exponent_range, round_to
from soundline.spec.ops.node import Op, UOp
from soundline.spec.uop import const

ONCE = (Op.Add, Op.Sub, Op.Mul, Op.Div, Op.Recip, Op.Sqrt)
"""Operations whose second rounding is innocuous from 2p + 2 bits on."""


def narrowed(node: UOp) -> UOp | None:
    """The operation of the narrow format that a cast of a wide one is, where both give the same result.

    The wide format must hold every number of the narrow one and be much finer (Figueroa, When is double rounding
    innocuous?), and the operands must be numbers of the narrow one.
    """
    (wide,), target = node.src, node.arg
    if wide.op not in ONCE or not wide.dtype.is_float or not target.is_float:
        return None
    if not _holds(wide.dtype, target) or not _much_finer(wide.dtype, target):
        return None
    operands = [_as_narrow(s, target) for s in wide.src]
    return None if None in operands else UOp(wide.op, tuple(s for s in operands if s is not None))


def _much_finer(wide: DType, narrow: DType) -> bool:
    """Whether a rounding into the wide format before one into the narrow one is innocuous.

    From 2p + 2 bits on it is among normal numbers; a product of p bits each that is subnormal in both must be exact.
    """
    p = narrow.mantissa_bits + 1
    (low, _), (least, _) = exponent_range(wide), exponent_range(narrow)
    return (
        wide.mantissa_bits + 1 >= 2 * p + 2
        and low - wide.mantissa_bits <= least - narrow.mantissa_bits - 2 * p
    )


def _as_narrow(node: UOp, target: DType) -> UOp | None:
    """The node of the target dtype that has the same value; None where there may be none."""
    if node.op is Op.Const:
        value = node.arg.value
        return const(value, target) if value == value and round_to(target, value) == value else None
    if node.op is Op.Neg:
        inner = _as_narrow(node.src[0], target)
        return None if inner is None else UOp(Op.Neg, (inner,))
    if node.op is not Op.Cast or not node.src[0].dtype.is_float:
        return None
    source = node.src[0]
    if source.dtype is target:
        return source
    return UOp(Op.Cast, (source,), target) if _holds(target, source.dtype) else None


def _holds(wide: DType, narrow: DType) -> bool:
    """Whether every number of the narrow format is one of the wide one, infinities included."""
    (low, high), (least, most) = exponent_range(wide), exponent_range(narrow)
    fine = low - wide.mantissa_bits <= least - narrow.mantissa_bits and most <= high
    return (
        fine and wide.mantissa_bits >= narrow.mantissa_bits and (wide.has_infinity or not narrow.has_infinity)
    )
