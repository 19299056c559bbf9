"""
Sin
===

The program that defines sin x (U-11), over the whole range. It computes in binary64, also for the narrower formats.

The argument is reduced without any error that matters, however large it is: |x| is an integer M times 2^E, and of the
product with 1/(2π) only the bits around the point are computed, in integers of 32 bits (Payne and Hanek's method). The
integer part of four times that product, modulo 4, is the quadrant; the rest, times π/2, is the reduced argument, which
is held in two words. The bits of 1/(2π) are computed here from Machin's formula.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

from soundline.spec.dtypes import (
    DType,
    exponent_range,
    float32,
    float64,
    ieee_floats,
    int32,
    round_to,
    uint32,
    uint64,
)
from soundline.spec.uop import UOp, param
from soundline.spec.values.double_word import Double, constant, product, two_product, two_sum
from soundline.spec.values.steps import (
    DOUBLE,
    add,
    bits,
    both,
    cast,
    differ,
    either,
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

WORD = 32
_MASK = (1 << WORD) - 1
_SIGN = 1 << 63
_BIAS = DOUBLE.exponent_one
_STORED = float64.mantissa_bits


# The circle -------------------------------------------------------------------------------------------------------


def scaled_pi(scale: int) -> int:
    """π·2^scale to within a few units, by Machin's formula π/4 = 4·arctan 1/5 - arctan 1/239."""
    return 4 * (4 * _arctan_of_inverse(5, scale) - _arctan_of_inverse(239, scale))


def _arctan_of_inverse(n: int, scale: int) -> int:
    """arctan(1/n)·2^scale by its series Σ (-1)^k / ((2k + 1)·n^(2k+1)), each term rounded down."""
    power = (1 << scale) // n
    total, k = power, 0
    while power:
        power //= n * n
        k += 1
        total += -(power // (2 * k + 1)) if k % 2 else power // (2 * k + 1)
    return total


def scaled_turns(scale: int) -> int:
    """⌊2^scale / (2π)⌋: how many turns one radian is."""
    spare = 64
    return (1 << 2 * (scale + spare)) // (2 * scaled_pi(scale + spare)) >> spare


HALF_PI = Fraction(scaled_pi(256), 2**257)


# Reduction --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Reduction:
    """What the reduction of a format needs, in words of 32 bits."""

    significand: int
    """The bits of M."""
    lead: int
    """How many words of zeros stand before the bits of 1/(2π), so that no E asks for bits before them."""
    window: int
    """How many words of 1/(2π) are multiplied: 2 bits of quadrant, and a fraction that stays precise near 0."""
    words: int
    """How many words the greatest E can ask for."""


def _reduction_of(dtype: DType, window: int) -> Reduction:
    significand = dtype.mantissa_bits + 1
    lead = -(-significand // WORD)
    last = exponent_range(dtype)[1] - dtype.mantissa_bits + lead * WORD
    return Reduction(significand, lead, window, last // WORD + window + 1)


_NARROW, _WIDE = _reduction_of(float32, window=4), _reduction_of(float64, window=6)
"""A number of binary32 is at least 2^-31 of a quadrant off every multiple of it, one of binary64 at least 2^-62."""


def _turns(form: Reduction) -> list[int]:
    """The words of 1/(2π), highest first, after those of zeros."""
    count = form.words - form.lead
    digits = scaled_turns(WORD * count)
    return [0] * form.lead + [digits >> WORD * k & _MASK for k in reversed(range(count))]


def _reduced(x: UOp, form: Reduction) -> tuple[UOp, Double]:
    """(q, r) with x = (q + 4k)·π/2 + r and |r| ≤ π/4, for a finite x ≥ 1/2."""
    pattern = bits(x, uint64)
    exponent = right(pattern, _STORED)
    whole = either(both(pattern, (1 << _STORED) - 1), 1 << _STORED)
    whole = right(whole, _STORED + 1 - form.significand)
    position = sub(exponent, _BIAS + form.significand - 1 - WORD * form.lead)
    turns = _product(whole, _window(position, form), form)
    quadrant = both(right(add(turns[0], 1 << WORD - 3), WORD - 2), 3)
    return quadrant, product(_signed_fraction(turns), constant(x, HALF_PI))


def _window(position: UOp, form: Reduction) -> list[UOp]:
    """The words of 1/(2π) from a bit on, highest first: whole words are chosen by halving, then all are shifted.

    No position needs a word after the last, so its value does not matter.
    """
    index = right(position, WORD.bit_length() - 1)
    words = [like(index, word) for word in _turns(form)]
    step = 1 << (form.words - form.window - 1).bit_length() - 1
    while step:
        chosen = unequal(both(index, step), 0)
        kept = min(form.window + step, len(words))
        words = [
            where(chosen, words[k + step], words[k]) if k + step < len(words) else words[k]
            for k in range(kept)
        ]
        step //= 2
    count = both(position, WORD - 1)
    return [both(either(left(a, count), right(b, sub(WORD, count))), _MASK) for a, b in pairwise(words)]


def _product(whole: UOp, window: list[UOp], form: Reduction) -> list[UOp]:
    """whole · window modulo 2^(32·length), by long multiplication; words, highest first."""
    digits = [both(whole, _MASK), right(whole, WORD)][: -(-form.significand // WORD)]
    found: list[UOp | None] = [None] * form.window
    for i, digit in enumerate(digits):
        carry: UOp | None = None
        for k in range(i, form.window):
            partial = mul(digit, window[form.window - 1 - k + i])
            for other in (found[k], carry):
                partial = partial if other is None else add(partial, other)
            found[k], carry = both(partial, _MASK), right(partial, WORD)
    return [word for word in reversed(found) if word is not None]


def _signed_fraction(turns: list[UOp]) -> Double:
    """Four times the turns less the nearest integer, a fraction in [-1/2, 1/2], from words after the point."""
    shifted = [both(either(left(a, 2), right(b, WORD - 2)), _MASK) for a, b in pairwise(turns[:5])]
    top = cast(bits(cast(shifted[0], uint32), int32), float64)
    terms = [top, *(cast(word, float64) for word in shifted[1:])]
    scaled = [mul(term, 2.0 ** (-WORD * k)) for k, term in enumerate(terms, 1)]
    high, error = two_sum(scaled[0], scaled[1])
    if len(scaled) == 3:
        return two_sum(high, add(error, scaled[2]))
    low, low_error = two_sum(scaled[2], scaled[3])
    high, high_error = two_sum(high, low)
    return two_sum(high, add(high_error, add(error, low_error)))


# The two series ---------------------------------------------------------------------------------------------------


def _series(first: int, terms: int) -> list[float]:
    """(-1)^k / (first + 2k)! for k = 0, 1, …, with the sign of the sine's or the cosine's term."""
    sign = -1 if first in (2, 3) else 1
    return [
        round_to(float64, Fraction(sign * (-1) ** k, math.factorial(first + 2 * k))) for k in range(terms)
    ]


def _sine(r: Double) -> UOp:
    """sin(h + l) = h + h³·S(h²) + l·(1 - h²/2), where |h| ≤ π/4."""
    high, low = r
    squared = mul(high, high)
    cubic = mul(mul(high, squared), polynomial(squared, _series(3, 8)))
    return add(high, add(cubic, mul(low, sub(1.0, mul(0.5, squared)))))


def _cosine(r: Double) -> UOp:
    """cos(h + l) = 1 - h²/2 + h⁴·C(h²) - h·l, where the leading difference is carried in two words.

    What is added to 1 - h²/2 is less than a tenth of h²/2, so that no sum is greater than 1.
    """
    high, low = r
    squared, squared_low = two_product(high, high)
    half = mul(0.5, squared)
    lead = sub(1.0, half)
    lead_low = sub(sub(1.0, lead), half)
    quartic = mul(mul(squared, squared), polynomial(squared, _series(4, 8)))
    rest = sub(quartic, add(mul(high, low), mul(0.5, squared_low)))
    return add(lead, add(lead_low, rest))


# sin x ------------------------------------------------------------------------------------------------------------


def sin(x: UOp) -> UOp:
    """sin x; ±0 at ±0, NaN at ±∞ and NaN."""
    wide = cast(x, float64)
    pattern = bits(wide, uint64)
    sign = both(pattern, _SIGN)
    magnitude = bits(differ(pattern, sign), float64)
    quadrant, (high, low) = _reduced(magnitude, _WIDE if x.dtype is float64 else _NARROW)
    small = less(magnitude, round_to(float64, HALF_PI / 2))
    r = where(small, magnitude, high), where(small, 0.0, low)
    quadrant = where(small, 0, quadrant)
    value = where(unequal(both(quadrant, 1), 0), _cosine(r), _sine(r))
    turned = differ(sign, left(both(quadrant, 2), 62))
    signed = bits(differ(bits(value, uint64), turned), float64)
    return cast(where(less(magnitude, math.inf), signed, math.nan), x.dtype)


SIN: dict[DType, UOp] = {d: sin(param(0, d)) for d in ieee_floats}
"""The scalar programs that define the sine, by dtype."""
