"""
Bit vectors
===========

Integers of fixed width as Z3 bit vectors, exactly as the machine holds them. A signed quotient is corrected from
truncation to the floor; a div 0 = 0 and a mod 0 = a (U-03). Z3's shifts read the count as unsigned and fill as U-04
says.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import z3

from soundline.spec.dtypes import DType, bool_
from soundline.spec.ops.node import Op, UOp
from soundline.spec.values.elementwise import EQUALITY, RING, exactly, operand_dtype
from soundline.verify.smt.goals.algebra import Algebra, Law, Outside


def _simple(function: Callable[..., Any]) -> Law:
    return lambda algebra, node: function(*algebra.sources(node))


def _by_sign(signed: Callable[..., Any], unsigned: Callable[..., Any]) -> Law:
    """A law that differs between signed and unsigned operands."""

    def law(algebra: Algebra, node: UOp) -> Any:
        return (signed if operand_dtype(node).signed else unsigned)(*algebra.sources(node))

    return law


def _maximum(greater: Callable[..., Any]) -> Callable[..., Any]:
    return lambda a, b: z3.If(greater(a, b), a, b)


def _floor_quotient(a: Any, b: Any) -> Any:
    """⌊a/b⌋ of signed vectors: one less than the truncated quotient where the remainder has the other sign."""
    r = z3.SRem(a, b)
    below = z3.And(r != 0, (r < 0) != (b < 0))
    return z3.If(b == 0, b, z3.If(below, a / b - 1, a / b))


def _floor_remainder(a: Any, b: Any) -> Any:
    """a - b·⌊a/b⌋: bvsmod has the sign of the divisor."""
    return z3.If(b == 0, a, a % b)


def _truncated(a: Any, b: Any) -> Any:
    return z3.If(b == 0, b, a / b)


def _truncated_remainder(a: Any, b: Any) -> Any:
    return z3.If(b == 0, a, z3.SRem(a, b))


def _natural_quotient(a: Any, b: Any) -> Any:
    return z3.If(b == 0, b, z3.UDiv(a, b))


def _natural_remainder(a: Any, b: Any) -> Any:
    return z3.If(b == 0, a, z3.URem(a, b))


def _cast(algebra: Algebra, node: UOp) -> Any:
    source, target = node.src[0].dtype, node.arg
    x = algebra.value(node.src[0])
    if target is bool_:
        return x != 0
    if not target.is_int:
        raise Outside(f"casts to {target} among the bit vectors")
    return resized(x, source, target.bits)


def resized(x: Any, source: DType, bits: int) -> Any:
    """A vector cut, or extended by its sign or zeros, to this width."""
    if bits <= source.bits:
        return z3.Extract(bits - 1, 0, x)
    return (z3.SignExt if source.signed else z3.ZeroExt)(bits - source.bits, x)


# Division by a power of two ---------------------------------------------------------------------------------------

Divided = Callable[[Any, Any, Any], Any]
"""A quotient or remainder of a by d, from a, d and the number of places by which d is 1 shifted."""


def _division(general: Law, signed: Divided, unsigned: Divided) -> Law:
    """A law of division; by 1 shifted to the left, bits are shifted and masked, and nothing is divided."""

    def law(algebra: Algebra, node: UOp) -> Any:
        places = _places(algebra, node.src[1])
        if places is None:
            return general(algebra, node)
        a, d = algebra.sources(node)
        return (signed if operand_dtype(node).signed else unsigned)(a, d, places)

    return law


def _places(algebra: Algebra, divisor: UOp) -> Any:
    """By how many places a divisor is 1 shifted to the left; None where it is something else.

    What is shifted by the width or more is 0, as 1 shifted by the width is.
    """
    if divisor.op is Op.Const:
        k = _exponent(divisor)
        return None if k is None else z3.BitVecVal(k, divisor.dtype.bits, algebra.ctx)
    if divisor.op is not Op.Shl or (k := _exponent(divisor.src[0])) is None:
        return None
    count, width = algebra.value(divisor.src[1]), divisor.dtype.bits
    return z3.If(z3.ULT(count, width), count + k, width) if k else count


def _exponent(node: UOp) -> int | None:
    """The k of which a constant is 2^k, as a number without a sign."""
    if node.op is not Op.Const:
        return None
    pattern = int(node.arg.value) % (1 << node.dtype.bits)
    return pattern.bit_length() - 1 if pattern.bit_count() == 1 else None


def _least_quotient(a: Any, d: Any, negative: Any) -> Any:
    """a over the least value d: 1 if it is that too, else a proper fraction, of which `negative` is rounded to."""
    return z3.If(
        a == d, z3.BitVecVal(1, a.size(), a.ctx), z3.If(a > 0, negative, z3.BitVecVal(0, a.size(), a.ctx))
    )


def _floor_by_shift(a: Any, d: Any, k: Any) -> Any:
    below = _least_quotient(a, d, z3.BitVecVal(-1, a.size(), a.ctx))
    return z3.If(d == 0, d, z3.If(d < 0, below, a >> k))


def _floor_by_mask(a: Any, d: Any, k: Any) -> Any:
    below = z3.If(a == d, a ^ d, z3.If(a > 0, a + d, a))
    return z3.If(d < 0, below, a & (d - 1))


def _truncated_by_shift(a: Any, d: Any, k: Any) -> Any:
    zero = z3.BitVecVal(0, a.size(), a.ctx)
    toward_zero = z3.If(a < 0, a + (d - 1), a) >> k
    return z3.If(d == 0, d, z3.If(d < 0, _least_quotient(a, d, zero), toward_zero))


def _truncated_by_mask(a: Any, d: Any, k: Any) -> Any:
    below = z3.If(a == d, a ^ d, a)
    size = z3.If(a < 0, -a, a) & (d - 1)
    return z3.If(d == 0, a, z3.If(d < 0, below, z3.If(a < 0, -size, size)))


def _natural_by_shift(a: Any, d: Any, k: Any) -> Any:
    return z3.LShR(a, k)


def _natural_by_mask(a: Any, d: Any, k: Any) -> Any:
    return a & (d - 1)


_UNSIGNED = {Op.CmpLt: z3.ULT, Op.CmpGt: z3.UGT, Op.CmpLe: z3.ULE, Op.CmpGe: z3.UGE}
"""Z3's own comparisons are of signed vectors."""

BIT_LAWS: dict[Op, Law] = {
    **{op: _simple(exactly(op)) for op in (*RING, *EQUALITY, Op.Xor, Op.Or, Op.And)},
    **{op: _by_sign(exactly(op), unsigned) for op, unsigned in _UNSIGNED.items()},
    Op.Max: _by_sign(_maximum(lambda a, b: a > b), _maximum(z3.UGT)),
    Op.Idiv: _division(_by_sign(_floor_quotient, _natural_quotient), _floor_by_shift, _natural_by_shift),
    Op.Mod: _division(_by_sign(_floor_remainder, _natural_remainder), _floor_by_mask, _natural_by_mask),
    Op.CDiv: _division(_by_sign(_truncated, _natural_quotient), _truncated_by_shift, _natural_by_shift),
    Op.CMod: _division(
        _by_sign(_truncated_remainder, _natural_remainder), _truncated_by_mask, _natural_by_mask
    ),
    Op.Shl: _simple(lambda a, b: a << b),
    Op.Shr: _by_sign(lambda a, b: a >> b, z3.LShR),
    Op.Where: _simple(z3.If),
    Op.Cast: _cast,
}
"""The laws of ops on integers of fixed width."""


# No operation wraps -----------------------------------------------------------------------------------------------


def no_wrap(algebra: Algebra, node: UOp) -> Any:
    """That this operation does not wrap: the exact result, in twice the width, is the extended result."""
    source = node.src[0].dtype
    if not source.is_int:
        raise Outside("fits of a cast from index")
    wide = 2 * max(source.bits, node.dtype.bits)
    result = resized(algebra.value(node), node.dtype, wide)
    if node.op is Op.Shl:
        return _shift_fits(algebra, node)
    operands = [resized(algebra.value(s), s.dtype, wide) for s in node.src]
    exact = _WIDE[node.op](*operands)
    if node.op is Op.Mulacc:
        whole = resized(algebra.value(node.src[0]) * algebra.value(node.src[1]), source, wide)
        return z3.And(operands[0] * operands[1] == whole, result == exact)
    return result == exact


def _shift_fits(algebra: Algebra, node: UOp) -> Any:
    """The shift moved no significant bit out: shifting back gives the operand."""
    a, count = algebra.sources(node)
    back = algebra.value(node) >> count if node.dtype.signed else z3.LShR(algebra.value(node), count)
    within = z3.ULT(count, node.dtype.bits)
    return z3.Or(a == 0, z3.And(within, back == a))


_WIDE: dict[Op, Callable[..., Any]] = {
    **{op: exactly(op) for op in RING},
    Op.Idiv: _floor_quotient,
    Op.CDiv: _truncated,
    Op.Cast: lambda x: x,
}
"""Exact in twice the width, where every operand, also an unsigned one, is a signed vector."""
