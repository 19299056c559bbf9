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
from soundline.spec.elementwise import operand_dtype
from soundline.spec.node import UOp
from soundline.spec.op_schema import Op
from soundline.verify.smt.algebra import Algebra, Law, Outside


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


BIT_LAWS: dict[Op, Law] = {
    Op.Add: _simple(lambda a, b: a + b),
    Op.Sub: _simple(lambda a, b: a - b),
    Op.Mul: _simple(lambda a, b: a * b),
    Op.Neg: _simple(lambda x: -x),
    Op.Mulacc: _simple(lambda a, b, c: a * b + c),
    Op.Max: _by_sign(_maximum(lambda a, b: a > b), _maximum(z3.UGT)),
    Op.Idiv: _by_sign(_floor_quotient, lambda a, b: z3.If(b == 0, b, z3.UDiv(a, b))),
    Op.Mod: _by_sign(_floor_remainder, lambda a, b: z3.If(b == 0, a, z3.URem(a, b))),
    Op.CDiv: _by_sign(lambda a, b: z3.If(b == 0, b, a / b), lambda a, b: z3.If(b == 0, b, z3.UDiv(a, b))),
    Op.CMod: _by_sign(
        lambda a, b: z3.If(b == 0, a, z3.SRem(a, b)), lambda a, b: z3.If(b == 0, a, z3.URem(a, b))
    ),
    Op.Xor: _simple(lambda a, b: a ^ b),
    Op.Or: _simple(lambda a, b: a | b),
    Op.And: _simple(lambda a, b: a & b),
    Op.Shl: _simple(lambda a, b: a << b),
    Op.Shr: _by_sign(lambda a, b: a >> b, z3.LShR),
    Op.CmpLt: _by_sign(lambda a, b: a < b, z3.ULT),
    Op.CmpGt: _by_sign(lambda a, b: a > b, z3.UGT),
    Op.CmpLe: _by_sign(lambda a, b: a <= b, z3.ULE),
    Op.CmpGe: _by_sign(lambda a, b: a >= b, z3.UGE),
    Op.CmpEq: _simple(lambda a, b: a == b),
    Op.CmpNe: _simple(lambda a, b: a != b),
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
    Op.Add: lambda a, b: a + b,
    Op.Sub: lambda a, b: a - b,
    Op.Mul: lambda a, b: a * b,
    Op.Neg: lambda x: -x,
    Op.Mulacc: lambda a, b, c: a * b + c,
    Op.Idiv: _floor_quotient,
    Op.CDiv: lambda a, b: z3.If(b == 0, b, a / b),
    Op.Cast: lambda x: x,
}
"""Exact in twice the width, where every operand, also an unsigned one, is a signed vector."""
