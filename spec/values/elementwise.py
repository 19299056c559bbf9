"""
Elementwise laws
================

What every elementwise, decomposed and truncating-division op computes on one element of each source. Every law is total
(U-01): it has a value for all operands. A law takes the dtype of its operands and then the operands.

A float law computes in binary64 and rounds once into the dtype. That is the correctly rounded result for every format
here: binary64 itself needs no second rounding, and for a significand of p ≤ 24 bits a second rounding after one to
53 ≥ 2p + 2 bits changes nothing in a sum, product, quotient or square root.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from soundline.spec.dtypes import DType, Element, bool_, from_bits, index, round_to, to_bits, wrap
from soundline.spec.errors import EvaluationError
from soundline.spec.ops.node import Op, UOp, toposort
from soundline.spec.values.decompositions import PROGRAMS

Law = Callable[..., Any]
"""A scalar law: (dtype of the operands, *operands) → element; Cast takes its target dtype last."""


# Arithmetic -------------------------------------------------------------------------------------------------------


def _held(dtype: DType, exact: Any) -> Element:
    """A result of Python arithmetic as an element: floats round (U-05), integers wrap (U-02)."""
    return round_to(dtype, exact) if dtype.is_float else wrap(dtype, exact)


def add(dtype: DType, a: Any, b: Any) -> Element:
    """a + b."""
    return _held(dtype, a + b)


def sub(dtype: DType, a: Any, b: Any) -> Element:
    """a - b."""
    return _held(dtype, a - b)


def mul(dtype: DType, a: Any, b: Any) -> Element:
    """a · b; of bools, and."""
    return (a and b) if dtype is bool_ else _held(dtype, a * b)


def mulacc(dtype: DType, a: Any, b: Any, c: Any) -> Element:
    """a · b + c in two roundings (U-09)."""
    return add(dtype, mul(dtype, a, b), c)


def neg(dtype: DType, x: Any) -> Element:
    """-x; the sign bit of a float is reversed."""
    return _held(dtype, -x)


def div(dtype: DType, a: float, b: float) -> float:
    """a / b, correctly rounded; a/±0 is an infinity, 0/0 is NaN."""
    if b != 0.0:
        return round_to(dtype, a / b)
    if a == 0.0 or math.isnan(a):
        return math.nan
    return round_to(dtype, math.copysign(math.inf, a) * math.copysign(1.0, b))


def recip(dtype: DType, x: float) -> float:
    """1 / x, correctly rounded."""
    return div(dtype, 1.0, x)


def sqrt(dtype: DType, x: float) -> float:
    """√x, correctly rounded; √-0 is -0."""
    return round_to(dtype, math.sqrt(x)) if x >= 0.0 else math.nan


def trunc(dtype: DType, x: float) -> float:
    """x rounded toward zero; the sign of zero is kept (U-13)."""
    if not math.isfinite(x):
        return x
    return math.copysign(float(math.trunc(x)), x)


def maximum(dtype: DType, a: Any, b: Any) -> Element:
    """IEEE 754-2019 maximum (U-06): NaN if either is NaN, and +0 > -0."""
    if a != a or b != b:
        return math.nan
    if a == b and dtype.is_float:
        return a if math.copysign(1.0, a) > 0 else b  # type: ignore[no-any-return]
    return max(a, b)  # type: ignore[no-any-return]


# Division of integers ---------------------------------------------------------------------------------------------


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


# Bits -------------------------------------------------------------------------------------------------------------


GREATEST_SHIFT = 1 << 20
"""How far an index may be shifted left."""


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


# Cast -------------------------------------------------------------------------------------------------------------


def cast(source: DType, x: Any, target: DType) -> Element:
    """Convert an element of `source` to `target` (U-13)."""
    if target is bool_:
        return bool(x != 0)
    if target.is_float:
        return round_to(target, x) if source.is_float else _nearest(target, int(x))
    return _saturated(x, target) if source.is_float else wrap(target, int(x))


def _nearest(target: DType, x: int) -> float:
    """The float nearest to an integer of any size, in one rounding."""
    from fractions import Fraction

    return round_to(target, Fraction(x))


def _saturated(x: float, target: DType) -> int:
    """A float truncated, then clamped into an integer dtype; NaN is 0."""
    if math.isnan(x):
        return 0
    low, high = int(target.min), int(target.max)
    if math.isinf(x):
        return high if x > 0 else low
    return max(low, min(high, math.trunc(x)))


def bitcast(source: DType, x: Element, target: DType) -> Element:
    """The element of `target` with the bit pattern of x, for formats of one width."""
    return from_bits(target, to_bits(source, x))


# Programs over elements -------------------------------------------------------------------------------------------


def run(program: UOp, *operands: Element) -> Element:
    """The value of a scalar program, whose Params stand for the operands by their slots (U-11)."""
    found: dict[UOp, Element] = {}
    for node in toposort(program):
        if node.op is Op.Const:
            found[node] = node.arg.value
        elif node.op is Op.Param:
            found[node] = operands[node.arg.slot]
        elif node.op is Op.Bitcast:
            found[node] = bitcast(node.src[0].dtype, found[node.src[0]], node.arg)
        elif node.shape is not None and node.op is not Op.Stack:
            found[node] = scalar(node.op, operand_dtype(node), *(found[s] for s in node.src), arg=node.arg)
    return found[program]


def by_program(op: Op) -> Law:
    """The law of an op whose value is that of its program."""
    return lambda dtype, *operands: run(PROGRAMS[op][dtype], *operands)


# The table --------------------------------------------------------------------------------------------------------

ELEMENTWISE: dict[Op, Law] = {
    Op.Recip: recip,
    Op.Trunc: trunc,
    Op.Cast: cast,
    Op.Add: add,
    Op.Mul: mul,
    Op.Max: maximum,
    Op.Mod: mod,
    Op.Idiv: idiv,
    Op.CmpLt: lambda dtype, a, b: a < b,
    Op.CmpNe: lambda dtype, a, b: a != b,
    Op.Xor: lambda dtype, a, b: a ^ b,
    Op.Or: lambda dtype, a, b: a | b,
    Op.And: lambda dtype, a, b: a & b,
    Op.Shr: shr,
    Op.Shl: shl,
    Op.Where: lambda dtype, p, a, b: a if p else b,
    Op.Neg: neg,
    Op.Sub: sub,
    Op.Div: div,
    Op.CmpGt: lambda dtype, a, b: a > b,
    Op.CmpGe: lambda dtype, a, b: a >= b,
    Op.CmpLe: lambda dtype, a, b: a <= b,
    Op.CmpEq: lambda dtype, a, b: a == b,
    Op.Not: lambda dtype, x: not x,
    Op.Sqrt: sqrt,
    Op.Mulacc: mulacc,
    Op.CDiv: cdiv,
    Op.CMod: cmod,
    **{op: by_program(op) for op in PROGRAMS},
}
"""The scalar law of every elementwise, decomposed and truncating-division op."""


def operand_dtype(node: UOp) -> DType:
    """The dtype that the law of a node works in: that of its operands, which Where has in second place."""
    return node.src[1].dtype if node.op is Op.Where else node.src[0].dtype


def law_of(op: Op) -> Law:
    """The scalar law of an op; raises `EvaluationError` for an op that is not elementwise."""
    if op not in ELEMENTWISE:
        raise EvaluationError("this op has no scalar law", rule=f"uop-{op.name.lower()}-sem", where=op.name)
    return ELEMENTWISE[op]


def scalar(op: Op, dtype: DType, *operands: Element, arg: DType | None = None) -> Element:
    """The value of an elementwise op on elements of `dtype`; a Cast takes its target as `arg`."""
    law = law_of(op)
    value: Element = law(dtype, *operands, arg) if op is Op.Cast else law(dtype, *operands)
    return value
