"""
Exp2 and Log2
=============

The programs that define 2^x and log₂ x (U-11). Formats of 16 bits compute in binary32; binary32 computes its logarithm
in binary64, which costs less than carrying two words.
"""

from __future__ import annotations

import math
from fractions import Fraction

from soundline.spec.dtypes import (
    DType,
    bfloat16,
    exponent_range,
    float16,
    float32,
    float64,
    ieee_floats,
    int64,
    lossless,
    round_to,
    to_bits,
)
from soundline.spec.ops.elementwise.functions import LN2
from soundline.spec.uop import UOp, param
from soundline.spec.values.double_word import two_product, two_sum
from soundline.spec.values.steps import (
    DOUBLE,
    SINGLE,
    Format,
    add,
    bits,
    cast,
    div,
    left,
    less,
    like,
    mul,
    polynomial,
    right,
    sub,
    unequal,
    where,
)

_WIDE_SINGLE = Format(float64, int64, exp2_terms=9, log2_terms=8)
"""binary64 for results that are rounded to binary32: half the terms are enough."""


# 2^x --------------------------------------------------------------------------------------------------------------


def exp2(x: UOp) -> UOp:
    """2^x = 2^n · 2^r, where n is the integer nearest to x and |r| ≤ 1/2; exact at integers, ±∞ and NaN."""
    home = DOUBLE if x.dtype is float64 else SINGLE
    n, fraction = split(clamped(cast(x, home.float), home), home)
    return cast(times_power_of_two(exp2_of_fraction(fraction, home), n, home), x.dtype)


def clamped(x: UOp, home: Format) -> UOp:
    """x kept where 2^x is neither 0 nor ∞ by a wide margin; NaN passes."""
    e_min, e_max = exponent_range(home.float)
    low, high = e_min - home.float.mantissa_bits - 2, e_max + 2
    x = where(less(x, low), low, x)
    return where(less(high, x), high, x)


def _rounded_to_multiple(x: UOp, exponent: int, home: Format) -> UOp:
    """x plus 1.5·2^m·2^exponent, m being the width of the significand.

    The sum has 2^exponent for its last place: x is now rounded to a multiple of that.
    """
    return add(x, _shifter(exponent, home))


def _shifter(exponent: int, home: Format) -> float:
    return 1.5 * 2.0 ** (home.float.mantissa_bits + exponent)


def split(x: UOp, home: Format) -> tuple[UOp, UOp]:
    """The integer n nearest to x, which is read from the bits of a sum, and x - n, which is exact."""
    shifter = _shifter(0, home)
    shifted = _rounded_to_multiple(x, 0, home)
    n = sub(bits(shifted, home.int), to_bits(home.float, shifter))
    return n, sub(x, sub(shifted, shifter))


def exp2_of_fraction(r: UOp, home: Format, tail: UOp | None = None) -> UOp:
    """2^(r + tail) by the Taylor series Σ (r·ln 2)^k / k!, where the tail is a low word of r.

    Of the term r·ln 2 the product of a short leading part of each factor is exact, and so is its sum with 1. All that
    is rounded before the last sum is small.
    """
    width = home.float.mantissa_bits
    short = 2 * width // 5
    c_high = Fraction(round(LN2 * 2**short), 2**short)
    r_high = sub(_rounded_to_multiple(r, short - width, home), _shifter(short - width, home))
    r_low = sub(r, r_high)
    if tail is not None:
        r, r_low = add(r, tail), add(r_low, tail)
    lead = add(1.0, mul(r_high, float(c_high)))
    rest = add(mul(r_low, float(c_high)), mul(r, round_to(home.float, LN2 - c_high)))
    series = [round_to(home.float, LN2**k / math.factorial(k)) for k in range(2, home.exp2_terms)]
    return add(lead, add(rest, mul(mul(r, r), polynomial(r, series))))


def times_power_of_two(x: UOp, n: UOp, home: Format) -> UOp:
    """x · 2^n in two steps, of which only the last can overflow or round."""
    first = right(n, 1)
    return mul(mul(x, _power_of_two(first, home)), _power_of_two(sub(n, first), home))


def _power_of_two(n: UOp, home: Format) -> UOp:
    """2^n for an n in the range of normal exponents: n and the bias, in the exponent field."""
    return bits(left(add(n, home.exponent_one), home.float.mantissa_bits), home.float)


# log₂ x -----------------------------------------------------------------------------------------------------------


def log2(x: UOp) -> UOp:
    """log₂ x = e + log₂ m, where x = m·2^e and √½ ≤ m < √2; exact at powers of two."""
    home = {float64: DOUBLE, float32: _WIDE_SINGLE}.get(x.dtype, SINGLE)
    wide = cast(x, home.float)
    e, m = decomposed(wide, home, subnormals=not _normal_in(x.dtype, home.float))
    finite = (_log2_in_two_parts if x.dtype is float64 else log2_in_one_part)(e, m, home)
    return cast(_log2_special(wide, finite), x.dtype)


def _normal_in(dtype: DType, wide: DType) -> bool:
    """Whether every nonzero number of `dtype` is a normal number of `wide`."""
    least = exponent_range(dtype)[0] - dtype.mantissa_bits
    return lossless(dtype, wide) and exponent_range(wide)[0] <= least


def decomposed(x: UOp, home: Format, *, subnormals: bool) -> tuple[UOp, UOp]:
    """(e, m) with x = m·2^e and √½ ≤ m < √2, for a positive finite x; e as an integer of the format's width."""
    width = home.float.mantissa_bits
    lift = like(x, 0, home.int)
    if subnormals:
        small = less(x, home.least_normal)
        x = where(small, mul(x, 2.0 ** (width + 1)), x)
        lift = where(small, width + 1, lift)
    pattern = bits(x, home.int)
    root_half = to_bits(home.float, round_to(home.float, math.sqrt(0.5)))
    e = right(sub(pattern, root_half), width)
    m = bits(sub(pattern, left(e, width)), home.float)
    return sub(e, lift), m


def _atanh_tail(home: Format) -> list[float]:
    """The series of (2/ln 2)·(atanh s - s)/s³ in s²: 2 / (ln 2 · (2k + 1)) for k = 1, 2, …"""
    return [round_to(home.float, 2 / (LN2 * (2 * k + 1))) for k in range(1, home.log2_terms + 1)]


def log2_in_one_part(e: UOp, m: UOp, home: Format) -> UOp:
    """e + (2/ln 2)·atanh((m-1)/(m+1)), for a result that is rounded to a narrower format."""
    s = div(sub(m, 1.0), add(m, 1.0))
    series = [round_to(home.float, 2 / LN2), *_atanh_tail(home)]
    return add(cast(e, home.float), mul(s, polynomial(mul(s, s), series)))


def quotient_in_two_parts(m: UOp) -> tuple[UOp, UOp]:
    """(m-1)/(m+1) in two words, for an m near 1."""
    numerator = sub(m, 1.0)  # exact, since m is near 1
    denominator, denominator_low = two_sum(m, like(m, 1.0))
    s = div(numerator, denominator)
    product, product_low = two_product(s, denominator)
    remainder = sub(sub(sub(numerator, product), product_low), mul(s, denominator_low))
    return s, div(remainder, denominator)


def _log2_in_two_parts(e: UOp, m: UOp, home: Format) -> UOp:
    """The same with the quotient, the leading product and the sum carried in two parts."""
    s, s_low = quotient_in_two_parts(m)
    c = round_to(home.float, 2 / LN2)
    c_low = round_to(home.float, 2 / LN2 - Fraction(c))
    lead, lead_low = two_product(s, like(s, c))
    squared = mul(s, s)
    tail = mul(mul(s, squared), polynomial(squared, _atanh_tail(home)))
    small = add(add(lead_low, add(mul(s, c_low), mul(s_low, c))), tail)
    total, total_low = two_sum(cast(e, home.float), lead)
    return add(total, add(total_low, small))


def _log2_special(x: UOp, finite: UOp) -> UOp:
    """-∞ at ±0, NaN below 0, x at +∞ and NaN."""
    value = where(less(x, math.inf), finite, x)
    value = where(less(x, 0.0), math.nan, value)
    return where(unequal(x, 0.0), value, -math.inf)


EXP2: dict[DType, UOp] = {d: exp2(param(0, d)) for d in (float16, bfloat16, float32, float64)}
LOG2: dict[DType, UOp] = {d: log2(param(0, d)) for d in ieee_floats}
"""The scalar programs that define the two functions, by dtype."""
