"""
Pow
===

The program that defines a^b (U-08, U-11): 2^(b·log₂ |a|), with the special cases of IEEE 754-2019. It computes in
binary64. That is enough for the narrower formats; for binary64 itself the logarithm and its product with b are double
words, since an error of the exponent is an error of the result that is larger by as many digits as the exponent has.
"""

from __future__ import annotations

import math
from fractions import Fraction

from soundline.spec.dtypes import DType, float64, ieee_floats, int64, round_to, uint64
from soundline.spec.ops.elementwise.functions import LN2
from soundline.spec.ops.node import Op
from soundline.spec.uop import UOp, param
from soundline.spec.values.double_word import Double, constant, ordered_sum, product, total, two_product
from soundline.spec.values.exponentials import (
    clamped,
    decomposed,
    exp2_of_fraction,
    log2_in_one_part,
    quotient_in_two_parts,
    split,
    times_power_of_two,
)
from soundline.spec.values.steps import (
    DOUBLE,
    Format,
    add,
    bits,
    both,
    cast,
    either,
    less,
    like,
    mul,
    polynomial,
    unequal,
    where,
)

_NARROW = Format(float64, int64, exp2_terms=12, log2_terms=9)
"""binary64 for results that are rounded to binary32 or less."""

_GREATEST_EXPONENT = 2.0**65
"""At this exponent every base but ±1 gives 0 or ∞; a greater one could overflow on the way."""

_BEYOND = 2048.0
"""Above this exponent of 2 the low word has no effect."""


def power(a: UOp, b: UOp) -> UOp:
    """a^b."""
    base, exponent = cast(a, float64), cast(b, float64)
    magnitude = bits(both(bits(base, uint64), (1 << 63) - 1), float64)
    by_logarithm = _wide if a.dtype is float64 else _narrow
    value = _at_limits(magnitude, exponent, by_logarithm(magnitude, exponent))
    value = _with_sign(base, exponent, value)
    return cast(value, a.dtype)


# The value for a positive base -----------------------------------------------------------------------------------


def _narrow(a: UOp, b: UOp) -> UOp:
    """a^b to some 40 bits, for a number of binary32, which is a normal number of binary64."""
    e, m = decomposed(a, _NARROW, subnormals=False)
    n, fraction = split(clamped(mul(b, log2_in_one_part(e, m, _NARROW)), _NARROW), _NARROW)
    return times_power_of_two(exp2_of_fraction(fraction, _NARROW), n, _NARROW)


def _wide(a: UOp, b: UOp) -> UOp:
    """a^b with a logarithm in two words."""
    e, m = decomposed(a, DOUBLE, subnormals=True)
    high, low = _log2_in_double_words(e, m)
    b = where(less(b, -_GREATEST_EXPONENT), -_GREATEST_EXPONENT, b)
    b = where(less(_GREATEST_EXPONENT, b), _GREATEST_EXPONENT, b)
    lead, lead_low = two_product(high, b)
    t, tail = ordered_sum(lead, add(lead_low, mul(low, b)))
    tail = where(both(less(-_BEYOND, t), less(t, _BEYOND)), tail, 0.0)
    n, fraction = split(clamped(t, DOUBLE), DOUBLE)
    return times_power_of_two(exp2_of_fraction(fraction, DOUBLE, tail), n, DOUBLE)


def _log2_in_double_words(e: UOp, m: UOp) -> Double:
    """e + (2/ln 2)·s·(1 + s²/3 + s⁴/5 + …), where s = (m-1)/(m+1), to some 70 bits of a small |s| ≤ 0.172."""
    s = quotient_in_two_parts(m)
    lead = product(s, constant(m, 2 / LN2))
    square = product(s, s)
    ends = [round_to(float64, Fraction(1, 2 * k + 1)) for k in range(3, 13)]
    tail = product(square, (polynomial(square[0], ends), like(m, 0.0)))
    for k in (2, 1):
        tail = product(square, total(constant(m, Fraction(1, 2 * k + 1)), tail))
    return total((cast(e, float64), like(m, 0.0)), total(lead, product(lead, tail)))


# Special cases ----------------------------------------------------------------------------------------------------


def _at_limits(a: UOp, b: UOp, value: UOp) -> UOp:
    """The value where |a| is 0 or ∞, or |b| is ∞: ∞ where a^b grows, 0 where it falls, and 1 at |a| = 1."""
    falls = unequal(less(1.0, a), less(0.0, b))
    limit = where(falls, 0.0, like(a, math.inf))
    limit = where(unequal(a, 1.0), limit, 1.0)
    finite_base = both(less(0.0, a), less(a, math.inf))
    finite_exponent = both(less(-math.inf, b), less(b, math.inf))
    return where(both(finite_base, finite_exponent), value, limit)


def _with_sign(a: UOp, b: UOp, value: UOp) -> UOp:
    """The value for a base of either sign: negative at an odd exponent, NaN at one that is no integer."""
    half = mul(0.5, b)
    fractional = unequal(UOp(Op.Trunc, (b,)), b)
    odd = both(unequal(UOp(Op.Trunc, (half,)), half), UOp(Op.Not, (fractional,)))
    negative = less(bits(a, int64), 0)
    value = where(both(odd, negative), mul(-1.0, value), value)
    undefined = both(fractional, both(less(a, 0.0), less(-math.inf, a)))
    undefined = either(undefined, either(unequal(a, a), unequal(b, b)))
    value = where(undefined, math.nan, value)
    return where(both(unequal(a, 1.0), unequal(b, 0.0)), value, 1.0)


POW: dict[DType, UOp] = {d: power(param(0, d), param(1, d)) for d in ieee_floats}
"""The scalar programs that define the power, by dtype."""
