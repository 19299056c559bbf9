"""
Double-word arithmetic
======================

A double word is an unevaluated sum of two floats, of which the second is no more than the rounding error of the first:
it has about twice the digits. Sums and products of floats are double words without any error; those of double words
lose the last few of their digits. Nothing here needs a fused multiply-add.

The product of two numbers is exact unless a half of a factor overflows or the error of the product is subnormal: the
programs keep their operands away from both ends, or need no low word there.
"""

from __future__ import annotations

from fractions import Fraction

from soundline.spec.dtypes import DType, round_to
from soundline.spec.uop import UOp
from soundline.spec.values.steps import add, like, mul, sub

Double = tuple[UOp, UOp]
"""A high and a low word."""


def two_sum(a: UOp, b: UOp) -> Double:
    """The rounded sum of a and b, and its exact error."""
    total = add(a, b)
    from_b = sub(total, a)
    return total, add(sub(a, sub(total, from_b)), sub(b, from_b))


def ordered_sum(a: UOp, b: UOp) -> Double:
    """The same in fewer steps, where a is zero or its exponent at least that of b."""
    total = add(a, b)
    return total, sub(b, sub(total, a))


def two_product(a: UOp, b: UOp) -> Double:
    """The rounded product of a and b, and its exact error, from halves whose products are exact."""
    (a_high, a_low), (b_high, b_low) = _halves(a), _halves(b)
    product = mul(a, b)
    error = sub(mul(a_high, b_high), product)
    error = add(add(error, mul(a_high, b_low)), mul(a_low, b_high))
    return product, add(error, mul(a_low, b_low))


def _halves(x: UOp) -> Double:
    """x as the sum of two numbers with half its significant bits each."""
    scaled = mul(x, 2.0 ** ((x.dtype.mantissa_bits + 2) // 2) + 1.0)
    high = sub(scaled, sub(scaled, x))
    return high, sub(x, high)


def product(a: Double, b: Double) -> Double:
    """a · b."""
    high, low = two_product(a[0], b[0])
    return ordered_sum(high, add(low, add(mul(a[0], b[1]), mul(a[1], b[0]))))


def total(a: Double, b: Double) -> Double:
    """a + b, where a is zero or at least as great as b, so that nothing cancels."""
    high, low = ordered_sum(a[0], b[0])
    return ordered_sum(high, add(low, add(a[1], b[1])))


def two_parts(dtype: DType, value: Fraction) -> tuple[float, float]:
    """The double word nearest to a real number, rounded high word first."""
    high = round_to(dtype, value)
    return high, round_to(dtype, value - Fraction(high))


def constant(x: UOp, value: Fraction) -> Double:
    """A real number as a double word, of the shape and dtype of x."""
    high, low = two_parts(x.dtype, value)
    return like(x, high), like(x, low)
