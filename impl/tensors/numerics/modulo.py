"""
Remainders of floats
====================

The exact remainder x - y·trunc(x/y) of float64, however large the quotient is. Both are integers times a power of two,
|x| = m·2^e and |y| = n·2^f. Where e ≥ f, the remainder is ``(m·2^(e-f) mod n)·2^f``, and the power is taken modulo n by
repeated squaring. A product of two numbers below 2^53 modulo a third is what is left after the float quotient has been
taken off, in integers of 64 bits that wrap.
"""

from __future__ import annotations

import math
from typing import TypeVar

from soundline.impl.arrays.operands import broadcast
from soundline.impl.tensors.core.arithmetic import Arithmetic
from soundline.spec.dtypes import float64, int64
from soundline.spec.uop import Op

T = TypeVar("T", bound=Arithmetic)

STORED = float64.mantissa_bits
"""The stored bits of a significand."""
LAST = 2046
"""The greatest field of an exponent of a number."""


def truncated(x: T, y: T) -> T:
    """x - y·trunc(x/y) with the sign of x; NaN where x is infinite or y is 0; x where y is infinite.

    Its derivatives are those of that expression with trunc taken as constant.
    """
    x, y = (x.of(u) for u in broadcast(x.uop, y.uop))
    slope = (x / y).trunc()
    linear = x - y * x.of(Op.Detach(slope.uop))
    constant = x.of(Op.Detach(linear.uop))
    found = x.of(Op.Detach(_exact(x, y).uop))
    rest = linear - constant  # 0, with the derivatives
    signed_zero = (x < 0.0).where(-(constant - linear), rest)
    with_slopes = found.eq(0.0).where(x.eq(0.0).where(x, signed_zero), found + rest)
    known = rest.eq(0.0).where(with_slopes, found)
    whole = y.abs().eq(math.inf) & (x.abs() < math.inf)
    return whole.where(x, known)


def _exact(x: T, y: T) -> T:
    a, b = x.abs(), y.abs()
    (m, e), (n, f) = _parts(a), _parts(b)
    distance = (e > f).where(e - f, 0)
    divisor = n.eq(0).where(1, n)
    rest = _product(m % divisor, _power_of_two(distance, divisor), divisor)
    half = (f - 1075) // 2
    size = rest.cast(float64) * _scale(x, half) * _scale(x, f - 1075 - half)
    size = (e < f).where(a, size)
    number = (a < math.inf) & (b > 0.0)
    found = number.where(size, math.nan)
    return y.eq(y).where((x < 0.0).where(-found, found), math.nan)


def _parts(magnitude: T) -> tuple[T, T]:
    """The integer and the biased exponent of a magnitude; a subnormal has the exponent of the least normal number."""
    bits = magnitude.of(Op.Bitcast(magnitude.uop, arg=int64))
    field = bits >> STORED
    fraction = bits & ((1 << STORED) - 1)
    return (field > 0).where(fraction | (1 << STORED), fraction), (field > 0).where(field, 1)


def _power_of_two(exponent: T, divisor: T) -> T:
    """2^exponent modulo a number."""
    found = exponent.constant(1) % divisor
    for k in reversed(range(LAST.bit_length())):
        found = _product(found, found, divisor)
        doubled = (found * 2) % divisor
        found = ((exponent >> k) & 1).eq(1).where(doubled, found)
    return found


def _product(a: T, b: T, divisor: T) -> T:
    """a·b modulo a number, of numbers below 2^53."""
    quotient = (a.cast(float64) * b.cast(float64) / divisor.cast(float64)).trunc().cast(int64)
    return (a * b - quotient * divisor) % divisor


def _scale(x: T, exponent: T) -> T:
    """2^exponent, of exponents of normal numbers."""
    return x.of(Op.Bitcast(((exponent + 1023) << STORED).uop, arg=float64))
