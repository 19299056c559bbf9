"""
Decompositions
==============

The decomposed ops as programs over the primitive ones. The semantics column is the law, and a decomposition is a
rewrite (U-08): most are exact, and the op table names the licence of each that is not.

`Exp2` and `Log2` are different: their law is the real function within a stated error, and the exact profile needs one
result, bit for bit. It is the result of the program given here, whose steps are all correctly rounded (U-11). The
chapter `accuracy` states how far the programs are from the real functions.
"""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from soundline.spec.dtypes import (
    DType,
    Element,
    bfloat16,
    exponent_range,
    float16,
    float32,
    float64,
    ieee_floats,
    int32,
    int64,
    lossless,
    round_to,
    to_bits,
)
from soundline.spec.op_schema import Op
from soundline.spec.uop import UOp, broadcast_to, const, element_of, param

LN2 = Fraction("0.69314718055994530941723212145817656807550013436025525412068")


def like(x: UOp, value: Element, dtype: DType | None = None) -> UOp:
    """A constant of the shape of x, and of its dtype unless another is given."""
    assert x.shape is not None
    wanted = dtype or x.dtype
    return broadcast_to(const(element_of(value, wanted), wanted), x.shape)


def _add(a: UOp, b: UOp) -> UOp:
    return UOp(Op.Add, (a, b))


def _sub(a: UOp, b: UOp) -> UOp:
    return UOp(Op.Sub, (a, b))


def _mul(a: UOp, b: UOp) -> UOp:
    return UOp(Op.Mul, (a, b))


def _less(a: UOp, b: UOp) -> UOp:
    return UOp(Op.CmpLt, (a, b))


def _where(p: UOp, a: UOp, b: UOp) -> UOp:
    return UOp(Op.Where, (p, a, b))


def _cast(x: UOp, dtype: DType) -> UOp:
    return UOp(Op.Cast, (x,), dtype)


def _bits(x: UOp, dtype: DType) -> UOp:
    return UOp(Op.Bitcast, (x,), dtype)


def polynomial(x: UOp, coefficients: list[float]) -> UOp:
    """c₀ + x·(c₁ + x·(c₂ + …)), rounded at every step."""
    total = like(x, coefficients[-1])
    for c in reversed(coefficients[:-1]):
        total = _add(like(x, c), _mul(x, total))
    return total


@dataclass(frozen=True, slots=True)
class Format:
    """A float format to compute in: its integer twin, and the lengths of the two series in it."""

    float: DType
    int: DType
    exp2_terms: builtins.int
    log2_terms: builtins.int

    @property
    def exponent_one(self) -> builtins.int:
        """The exponent field of 1.0."""
        return to_bits(self.float, 1.0) >> self.float.mantissa_bits


_SINGLE = Format(float32, int32, exp2_terms=9, log2_terms=5)
_DOUBLE = Format(float64, int64, exp2_terms=15, log2_terms=11)
_WIDE_SINGLE = Format(float64, int64, exp2_terms=9, log2_terms=8)
"""binary64 for results that are rounded to binary32: half the terms are enough."""


# 2^x --------------------------------------------------------------------------------------------------------------


def exp2(x: UOp) -> UOp:
    """2^x = 2^n · 2^r, where n is the integer nearest to x and |r| ≤ 1/2; exact at integers, ±∞ and NaN."""
    home = _DOUBLE if x.dtype is float64 else _SINGLE
    wide = x if x.dtype is home.float else _cast(x, home.float)
    n, fraction = _split(_clamped(wide, home), home)
    power = _times_power_of_two(_exp2_of_fraction(fraction, home), n, home)
    return power if x.dtype is home.float else _cast(power, x.dtype)


def _clamped(x: UOp, home: Format) -> UOp:
    """x kept where 2^x is neither 0 nor ∞ by a wide margin; NaN passes."""
    e_min, e_max = exponent_range(home.float)
    low, high = like(x, e_min - home.float.mantissa_bits - 2), like(x, e_max + 2)
    x = _where(_less(x, low), low, x)
    return _where(_less(high, x), high, x)


def _rounded_to_multiple(x: UOp, exponent: int, home: Format) -> UOp:
    """x plus 1.5·2^m·2^exponent, m being the width of the significand.

    The sum has 2^exponent for its last place: x is now rounded to a multiple of that.
    """
    return _add(x, like(x, _shifter(exponent, home)))


def _shifter(exponent: int, home: Format) -> float:
    return 1.5 * 2.0 ** (home.float.mantissa_bits + exponent)


def _split(x: UOp, home: Format) -> tuple[UOp, UOp]:
    """The integer n nearest to x, which is read from the bits of a sum, and x - n, which is exact."""
    shifter = _shifter(0, home)
    shifted = _rounded_to_multiple(x, 0, home)
    n = _sub(_bits(shifted, home.int), like(x, to_bits(home.float, shifter), home.int))
    return n, _sub(x, _sub(shifted, like(x, shifter)))


def _exp2_of_fraction(r: UOp, home: Format) -> UOp:
    """2^r by the Taylor series Σ (r·ln 2)^k / k!.

    Of the term r·ln 2 the product of a short leading part of each factor is exact, and so is its sum with 1. All that
    is rounded before the last sum is small.
    """
    width = home.float.mantissa_bits
    bits = 2 * width // 5
    c_high = Fraction(round(LN2 * 2**bits), 2**bits)
    shifter = like(r, _shifter(bits - width, home))
    r_high = _sub(_rounded_to_multiple(r, bits - width, home), shifter)
    r_low = _sub(r, r_high)
    lead = _add(like(r, 1.0), _mul(r_high, like(r, float(c_high))))
    rest = _add(_mul(r_low, like(r, float(c_high))), _mul(r, like(r, round_to(home.float, LN2 - c_high))))
    series = [round_to(home.float, LN2**k / math.factorial(k)) for k in range(2, home.exp2_terms)]
    return _add(lead, _add(rest, _mul(_mul(r, r), polynomial(r, series))))


def _times_power_of_two(x: UOp, n: UOp, home: Format) -> UOp:
    """x · 2^n in two steps, of which only the last can overflow or round."""
    first = UOp(Op.Shr, (n, like(n, 1)))
    return _mul(_mul(x, _power_of_two(first, home)), _power_of_two(_sub(n, first), home))


def _power_of_two(n: UOp, home: Format) -> UOp:
    """2^n for an n in the range of normal exponents: n and the bias, in the exponent field."""
    field = UOp(Op.Shl, (_add(n, like(n, home.exponent_one)), like(n, home.float.mantissa_bits)))
    return _bits(field, home.float)


# log₂ x -----------------------------------------------------------------------------------------------------------


def log2(x: UOp) -> UOp:
    """log₂ x = e + log₂ m, where x = m·2^e and √½ ≤ m < √2; exact at powers of two."""
    home = {float64: _DOUBLE, float32: _WIDE_SINGLE}.get(x.dtype, _SINGLE)
    wide = x if x.dtype is home.float else _cast(x, home.float)
    e, m = _decomposed(wide, home, subnormals=not _normal_in(x.dtype, home.float))
    finite = (_log2_in_two_parts if x.dtype is float64 else _log2_in_one_part)(e, m, home)
    value = _log2_special(wide, finite)
    return value if x.dtype is home.float else _cast(value, x.dtype)


def _normal_in(dtype: DType, wide: DType) -> bool:
    """Whether every nonzero number of `dtype` is a normal number of `wide`."""
    least = exponent_range(dtype)[0] - dtype.mantissa_bits
    return lossless(dtype, wide) and exponent_range(wide)[0] <= least


def _decomposed(x: UOp, home: Format, *, subnormals: bool) -> tuple[UOp, UOp]:
    """(e, m) with x = m·2^e and √½ ≤ m < √2, for a positive finite x; e as an integer of the format's width."""
    width = home.float.mantissa_bits
    lift = like(x, 0, home.int)
    if subnormals:
        small = _less(x, like(x, 2.0 ** exponent_range(home.float)[0]))
        x = _where(small, _mul(x, like(x, 2.0 ** (width + 1))), x)
        lift = _where(small, like(x, width + 1, home.int), lift)
    bits = _bits(x, home.int)
    root_half = to_bits(home.float, round_to(home.float, math.sqrt(0.5)))
    e = UOp(Op.Shr, (_sub(bits, like(bits, root_half)), like(bits, width)))
    m = _bits(_sub(bits, UOp(Op.Shl, (e, like(bits, width)))), home.float)
    return _sub(e, lift), m


def _atanh_tail(home: Format) -> list[float]:
    """The series of (2/ln 2)·(atanh s - s)/s³ in s²: 2 / (ln 2 · (2k + 1)) for k = 1, 2, …"""
    return [round_to(home.float, 2 / (LN2 * (2 * k + 1))) for k in range(1, home.log2_terms + 1)]


def _log2_in_one_part(e: UOp, m: UOp, home: Format) -> UOp:
    """e + (2/ln 2)·atanh((m-1)/(m+1)), for a result that is rounded to a narrower format."""
    s = UOp(Op.Div, (_sub(m, like(m, 1.0)), _add(m, like(m, 1.0))))
    series = [round_to(home.float, 2 / LN2), *_atanh_tail(home)]
    return _add(_cast(e, home.float), _mul(s, polynomial(_mul(s, s), series)))


def _log2_in_two_parts(e: UOp, m: UOp, home: Format) -> UOp:
    """The same with the quotient, the leading product and the sum carried in two parts."""
    numerator = _sub(m, like(m, 1.0))  # exact, since m is near 1
    denominator, denominator_low = _two_sum(m, like(m, 1.0))
    s = UOp(Op.Div, (numerator, denominator))
    product, product_low = _two_product(s, denominator, home)
    remainder = _sub(_sub(_sub(numerator, product), product_low), _mul(s, denominator_low))
    s_low = UOp(Op.Div, (remainder, denominator))
    c = round_to(home.float, 2 / LN2)
    c_low = round_to(home.float, 2 / LN2 - Fraction(c))
    lead, lead_low = _two_product(s, like(s, c), home)
    squared = _mul(s, s)
    tail = _mul(_mul(s, squared), polynomial(squared, _atanh_tail(home)))
    small = _add(_add(lead_low, _add(_mul(s, like(s, c_low)), _mul(s_low, like(s, c)))), tail)
    total, total_low = _two_sum(_cast(e, home.float), lead)
    return _add(total, _add(total_low, small))


def _two_sum(a: UOp, b: UOp) -> tuple[UOp, UOp]:
    """The rounded sum of a and b, and its exact error."""
    total = _add(a, b)
    from_b = _sub(total, a)
    return total, _add(_sub(a, _sub(total, from_b)), _sub(b, from_b))


def _two_product(a: UOp, b: UOp, home: Format) -> tuple[UOp, UOp]:
    """The rounded product of a and b, and its exact error, from halves whose products are exact."""
    (a_high, a_low), (b_high, b_low) = _halves(a, home), _halves(b, home)
    product = _mul(a, b)
    error = _sub(_mul(a_high, b_high), product)
    error = _add(_add(error, _mul(a_high, b_low)), _mul(a_low, b_high))
    return product, _add(error, _mul(a_low, b_low))


def _halves(x: UOp, home: Format) -> tuple[UOp, UOp]:
    """x as the sum of two numbers with half its significant bits each."""
    scaled = _mul(x, like(x, 2.0 ** ((home.float.mantissa_bits + 2) // 2) + 1.0))
    high = _sub(scaled, _sub(scaled, x))
    return high, _sub(x, high)


def _log2_special(x: UOp, finite: UOp) -> UOp:
    """-∞ at ±0, NaN below 0, x at +∞ and NaN."""
    zero, infinity = like(x, 0.0), like(x, math.inf)
    value = _where(_less(x, infinity), finite, x)
    value = _where(_less(x, zero), like(x, math.nan), value)
    return _where(UOp(Op.CmpNe, (x, zero)), value, like(x, -math.inf))


# Exact and licensed -----------------------------------------------------------------------------------------------


def negation(x: UOp) -> UOp:
    """-x as x · (-1); on an unsigned dtype -1 is the greatest value."""
    return _mul(x, like(x, -1))


def not_true(p: UOp) -> UOp:
    """¬p as p ≠ True."""
    return UOp(Op.CmpNe, (p, like(p, True)))


def equality(a: UOp, b: UOp) -> UOp:
    """[a = b] as ¬[a ≠ b]."""
    return not_true(UOp(Op.CmpNe, (a, b)))


def at_least(a: UOp, b: UOp) -> UOp:
    """[a ≥ b] as [b < a] or [a = b], which is false on NaN (U-07)."""
    return UOp(Op.Or, (_less(b, a), UOp(Op.CmpEq, (a, b))))


def at_least_without_nan(a: UOp, b: UOp) -> UOp:
    """[a ≥ b] as ¬[a < b]: the source's form, true on NaN."""
    return not_true(_less(a, b))


def quotient_by_reciprocal(a: UOp, b: UOp) -> UOp:
    """a/b as a · (1/b), two roundings."""
    return _mul(a, UOp(Op.Recip, (b,)))


def root_by_logarithm(x: UOp) -> UOp:
    """√x as 2^(½·log₂ x), over the reals only (U-08)."""
    return UOp(Op.Exp2, (_mul(like(x, 0.5), UOp(Op.Log2, (x,))),))


def power_by_logarithm(a: UOp, b: UOp) -> UOp:
    """a^b as 2^(log₂ a · b), over the positive reals only (U-08)."""
    return UOp(Op.Exp2, (_mul(UOp(Op.Log2, (a,)), b),))


DECOMPOSITIONS: dict[Op, Callable[..., UOp]] = {
    Op.Neg: negation,
    Op.Sub: lambda a, b: _add(a, UOp(Op.Neg, (b,))),
    Op.Div: quotient_by_reciprocal,
    Op.CmpGt: lambda a, b: _less(b, a),
    Op.CmpGe: at_least,
    Op.CmpLe: lambda a, b: at_least(b, a),
    Op.CmpEq: equality,
    Op.Not: not_true,
    Op.Exp2: exp2,
    Op.Log2: log2,
    Op.Sqrt: root_by_logarithm,
    Op.Mulacc: lambda a, b, c: _add(_mul(a, b), c),
}
"""The decomposition of every decomposed op that has a value; Div and Sqrt hold under their licences only."""

EXACT = tuple(op for op in DECOMPOSITIONS if op not in (Op.Div, Op.Sqrt))
"""The ops whose decomposition gives the same bits and needs no licence."""

OF_THE_SOURCE: dict[Op, Callable[..., UOp]] = {
    Op.CmpGe: at_least_without_nan,
    Op.CmpLe: lambda a, b: at_least_without_nan(b, a),
    Op.Div: quotient_by_reciprocal,
    Op.Sqrt: root_by_logarithm,
    Op.Pow: power_by_logarithm,
}
"""The source's decompositions that differ from the meaning of their op (U-07, U-08)."""

EXP2: dict[DType, UOp] = {d: exp2(param(0, d)) for d in (float16, bfloat16, float32, float64)}
LOG2: dict[DType, UOp] = {d: log2(param(0, d)) for d in ieee_floats}
"""The scalar programs that define the two functions, by dtype."""
