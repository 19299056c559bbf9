"""
Floats
======

IEEE formats as Z3 floating-point terms, rounded to nearest even; NaN is one value, and -0 is not +0 (U-05). E4M3FN is
no such format: its elements stand as numbers of a wider format, and each result is rounded into it by `_to_e4m3fn`.

Ops without correctly rounded results (Exp2, Log2, Sin, Pow) and Threefry are uninterpreted functions: what is proved of
them holds of any function, and a model of them may be none of the real one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import z3

from soundline.spec.dtypes import DType, Element, bool_, float8_e4m3fn, float32, from_bits, to_bits
from soundline.spec.ops.node import Op, UOp
from soundline.verify.smt.goals.algebra import Algebra, Law, Outside

_FLOAT32_BIAS = (1 << (float32.exponent_bits - 1)) - 1


def carrier(dtype: DType) -> DType:
    """The IEEE format in whose numbers the elements of a float dtype stand."""
    return float32 if dtype is float8_e4m3fn else dtype


def sort(algebra: Algebra, dtype: DType) -> Any:
    """The Z3 sort of a float dtype."""
    held = carrier(dtype)
    return z3.FPSort(held.exponent_bits, held.mantissa_bits + 1, algebra.ctx)


def number(algebra: Algebra, dtype: DType, value: float) -> Any:
    """A float literal."""
    held = carrier(dtype)
    pattern = z3.BitVecVal(to_bits(held, value), held.bits, algebra.ctx)
    return z3.simplify(z3.fpBVToFP(pattern, sort(algebra, dtype), algebra.ctx))


def variable(algebra: Algebra, name: str, dtype: DType) -> Any:
    """A float variable; one of E4M3FN is read from a variable of eight bits."""
    if dtype is float8_e4m3fn:
        return _of_e4m3fn(algebra, z3.BitVec(name, dtype.bits, algebra.ctx))
    return z3.FP(name, sort(algebra, dtype), algebra.ctx)


def _of_e4m3fn(algebra: Algebra, code: Any) -> Any:
    """The float32 with the value of an E4M3FN bit pattern: its exponent rebiased, its eight subnormals looked up."""
    ctx = algebra.ctx
    sign, field, units = z3.Extract(7, 7, code), z3.Extract(6, 3, code), z3.Extract(2, 0, code)
    rebias = _FLOAT32_BIAS - (1 << (float8_e4m3fn.exponent_bits - 1)) + 1
    normal = z3.Concat(z3.ZeroExt(4, field) + rebias, units, z3.BitVecVal(0, 20, ctx))
    magnitude = normal
    for m in range(8):
        subnormal = z3.BitVecVal(to_bits(float32, m * 2.0**-9), 31, ctx)
        magnitude = z3.If(z3.And(field == 0, units == m), subnormal, magnitude)
    x = z3.fpBVToFP(z3.Concat(sign, magnitude), sort(algebra, float32), ctx)
    return z3.If(z3.Extract(6, 0, code) == 0x7F, nan(algebra, float32), x)


def element(algebra: Algebra, model: Any, dtype: DType, term: Any) -> Element:
    """The element that a float term has in a model."""
    if z3.is_true(model.eval(z3.fpIsNaN(term, algebra.ctx), model_completion=True)):
        return float("nan")
    pattern = model.eval(z3.fpToIEEEBV(term, algebra.ctx), model_completion=True)
    return from_bits(carrier(dtype), pattern.as_long())


def same(algebra: Algebra, a: Any, b: Any) -> Any:
    """The same observable value: Z3's equality of floats, in which NaN is NaN and -0 is not +0."""
    return z3.BoolRef(z3.Z3_mk_eq(algebra.ctx.ref(), a.as_ast(), b.as_ast()), algebra.ctx)


def _to_e4m3fn(algebra: Algebra, x: Any) -> Any:
    """A float rounded once into E4M3FN: four significant bits, quantum 2^-9, and NaN above 448."""
    ctx, nearest = algebra.ctx, z3.RNE(algebra.ctx)
    wide, own = sort(algebra, float32), float8_e4m3fn
    quantum = 2.0**-9
    scaled = z3.fpMul(nearest, x, number(algebra, float32, 1 / quantum), ctx)
    whole = z3.fpRoundToIntegral(nearest, scaled, ctx)
    subnormal = z3.fpMul(nearest, whole, number(algebra, float32, quantum), ctx)
    short = z3.fpFPToFP(nearest, x, z3.FPSort(8, own.mantissa_bits + 1, ctx), ctx)
    normal = z3.fpFPToFP(nearest, short, wide, ctx)
    small = z3.fpLT(z3.fpAbs(x, ctx), number(algebra, float32, 2.0**-6), ctx)
    rounded = z3.If(small, subnormal, normal)
    over = z3.fpGT(z3.fpAbs(normal, ctx), number(algebra, float32, 448.0), ctx)
    return z3.If(z3.Or(over, z3.fpIsNaN(x, ctx)), nan(algebra, float32), rounded)


def rounded(algebra: Algebra, dtype: DType, x: Any) -> Any:
    """A result that Z3 rounded into the carrier, as an element of the dtype."""
    return _to_e4m3fn(algebra, x) if dtype is float8_e4m3fn else x


def nan(algebra: Algebra, dtype: DType) -> Any:
    """NaN."""
    return z3.fpNaN(sort(algebra, dtype))


def _rounding(function: Callable[..., Any]) -> Law:
    """An op that is rounded once, to nearest even."""

    def law(algebra: Algebra, node: UOp) -> Any:
        exact = function(z3.RNE(algebra.ctx), *algebra.sources(node), algebra.ctx)
        return rounded(algebra, node.dtype, exact)

    return law


def _plain(function: Callable[..., Any]) -> Law:
    return lambda algebra, node: function(*algebra.sources(node), algebra.ctx)


def _sum_with_negated(mode: Any, a: Any, b: Any, ctx: Any) -> Any:
    return z3.fpAdd(mode, a, z3.fpNeg(b, ctx), ctx)


def _recip(algebra: Algebra, node: UOp) -> Any:
    (x,) = algebra.sources(node)
    one = number(algebra, node.dtype, 1.0)
    return rounded(algebra, node.dtype, z3.fpDiv(z3.RNE(algebra.ctx), one, x, algebra.ctx))


def _mulacc(algebra: Algebra, node: UOp) -> Any:
    a, b, c = algebra.sources(node)
    nearest = z3.RNE(algebra.ctx)
    whole = rounded(algebra, node.dtype, z3.fpMul(nearest, a, b, algebra.ctx))
    return rounded(algebra, node.dtype, z3.fpAdd(nearest, whole, c, algebra.ctx))


def _maximum(algebra: Algebra, node: UOp) -> Any:
    a, b = algebra.sources(node)
    ctx = algebra.ctx
    either_nan = z3.Or(z3.fpIsNaN(a, ctx), z3.fpIsNaN(b, ctx))
    of_equals = z3.If(z3.fpIsNegative(a, ctx), b, a)
    greater = z3.If(z3.fpEQ(a, b, ctx), of_equals, z3.If(z3.fpGT(a, b, ctx), a, b))
    return z3.If(either_nan, nan(algebra, node.dtype), greater)


def _trunc(algebra: Algebra, node: UOp) -> Any:
    (x,) = algebra.sources(node)
    return z3.fpRoundToIntegral(z3.RTZ(algebra.ctx), x, algebra.ctx)


# Casts ------------------------------------------------------------------------------------------------------------


def _cast(algebra: Algebra, node: UOp) -> Any:
    source, target = node.src[0].dtype, node.arg
    x = algebra.value(node.src[0])
    if target is bool_:
        return z3.Not(z3.fpEQ(x, number(algebra, source, 0.0), algebra.ctx))
    if target.is_int:
        return _saturated(algebra, x, source, target)
    if not target.is_float:
        raise Outside("index among the floats")
    if target is float8_e4m3fn:
        return _to_e4m3fn(algebra, _through_float32(algebra, x, source))
    if sort(algebra, source) == sort(algebra, target):
        return x
    return z3.fpFPToFP(z3.RNE(algebra.ctx), x, sort(algebra, target), algebra.ctx)


def _through_float32(algebra: Algebra, x: Any, source: DType) -> Any:
    """A float as float32, without a rounding that could differ; float64 would be rounded twice."""
    if source.mantissa_bits > float32.mantissa_bits:
        raise Outside("casts of float64 to float8_e4m3fn")
    wide = sort(algebra, float32)
    return x if sort(algebra, source) == wide else z3.fpFPToFP(z3.RNE(algebra.ctx), x, wide, algebra.ctx)


def _saturated(algebra: Algebra, x: Any, source: DType, target: DType) -> Any:
    """Truncated, then clamped; NaN is 0 (U-13)."""
    ctx, toward_zero = algebra.ctx, z3.RTZ(algebra.ctx)
    low, high = int(target.min), int(target.max)
    to_vector: Any = z3.fpToSBV if target.signed else z3.fpToUBV
    inside = to_vector(toward_zero, x, z3.BitVecSort(target.bits, ctx), ctx)

    def literal(n: int) -> Any:
        return z3.BitVecVal(n, target.bits, ctx)

    above = z3.fpGEQ(x, power(algebra, source, high + 1), ctx)
    least = power(algebra, source, low) if low else number(algebra, source, 0.0)
    clamped = z3.If(above, literal(high), z3.If(z3.fpLEQ(x, least, ctx), literal(low), inside))
    return z3.If(z3.fpIsNaN(x, ctx), literal(0), clamped)


def power(algebra: Algebra, dtype: DType, value: int) -> Any:
    """±2^n as a float, an infinity where it is too large: no finite number reaches it then."""
    held = carrier(dtype)
    largest = 2 ** (2 ** (held.exponent_bits - 1) - 1)
    return number(
        algebra, dtype, float(value) if abs(value) <= largest else float("inf") * (1 if value > 0 else -1)
    )


def cast_from_bits(algebra: Algebra, node: UOp) -> Any:
    """The float nearest to an integer."""
    ctx, nearest, target = algebra.ctx, z3.RNE(algebra.ctx), node.arg
    x = algebra.value(node.src[0])
    convert: Any = z3.fpSignedToFP if node.src[0].dtype.signed else z3.fpUnsignedToFP
    if target is float8_e4m3fn:
        # Every integer up to 480 is exact in float32, and what is above is NaN however it is rounded.
        return _to_e4m3fn(algebra, convert(nearest, x, sort(algebra, float32), ctx))
    return convert(nearest, x, sort(algebra, target), ctx)


def bitcast(algebra: Algebra, node: UOp) -> Any:
    """The canonical quiet NaN is what a NaN's bits read as (U-05)."""
    source, target = node.src[0].dtype, node.arg
    x, ctx = algebra.value(node.src[0]), algebra.ctx
    if float8_e4m3fn in (source, target):
        raise Outside("bitcasts of float8_e4m3fn")
    if source.is_float:
        canonical = z3.BitVecVal(to_bits(source, float("nan")), source.bits, ctx)
        x = z3.If(z3.fpIsNaN(x, ctx), canonical, z3.fpToIEEEBV(x, ctx))
    return z3.fpBVToFP(x, sort(algebra, target), ctx) if target.is_float else x


# Functions of which nothing is known ------------------------------------------------------------------------------


COMMUTATIVE = (Op.Add, Op.Mul)
"""Ops whose rounded result does not depend on the order of the operands, since the exact one does not."""

ODD = (Op.Mul, Op.Div, Op.Recip, Op.Sin)
"""Ops that only change the sign of their rounded result where an operand changes its sign."""


def uninterpreted(algebra: Algebra, node: UOp) -> Any:
    """An unknown function of the operands, one for each op and dtype."""
    algebra.spurious = True
    return unknown(algebra, node.op, node.dtype, algebra.sources(node))


def unknown(algebra: Algebra, op: Op, dtype: DType, terms: list[Any]) -> Any:
    """An unknown function of these operands, with the symmetries that the op has."""
    negated = False
    if op in ODD:
        stripped = [_without_sign(term) for term in terms]
        terms = [term for term, _ in stripped]
        negated = sum(sign for _, sign in stripped) % 2 == 1
    if op in COMMUTATIVE:
        terms = sorted(terms, key=lambda term: term.get_id())
    result = z3.BitVecSort(dtype.bits, algebra.ctx) if dtype.is_int else sort(algebra, dtype)
    function = z3.Function(f"{op.name}:{dtype}", *(t.sort() for t in terms), result)
    return z3.fpNeg(function(*terms), algebra.ctx) if negated else function(*terms)


def _without_sign(term: Any) -> tuple[Any, bool]:
    """A float term without the negations around it, and whether their number is odd."""
    negated = False
    while term.decl().kind() == z3.Z3_OP_FPA_NEG:
        term, negated = term.arg(0), not negated
    return term, negated


FLOAT_LAWS: dict[Op, Law] = {
    Op.Add: _rounding(z3.fpAdd),
    Op.Sub: _rounding(_sum_with_negated),
    Op.Mul: _rounding(z3.fpMul),
    Op.Div: _rounding(z3.fpDiv),
    Op.Sqrt: _rounding(z3.fpSqrt),
    Op.Recip: _recip,
    Op.Mulacc: _mulacc,
    Op.Neg: _plain(z3.fpNeg),
    Op.Max: _maximum,
    Op.Trunc: _trunc,
    Op.CmpLt: _plain(z3.fpLT),
    Op.CmpGt: _plain(z3.fpGT),
    Op.CmpLe: _plain(z3.fpLEQ),
    Op.CmpGe: _plain(z3.fpGEQ),
    Op.CmpEq: _plain(z3.fpEQ),
    Op.CmpNe: lambda algebra, node: z3.Not(z3.fpEQ(*algebra.sources(node), algebra.ctx)),
    Op.Where: lambda algebra, node: z3.If(*algebra.sources(node)),
    Op.Cast: _cast,
    Op.Exp2: uninterpreted,
    Op.Log2: uninterpreted,
    Op.Sin: uninterpreted,
    Op.Pow: uninterpreted,
}
"""The laws of ops on floats."""
