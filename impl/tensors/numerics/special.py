"""
Special functions
=================

Functions of real numbers, and roundings, as compositions of Tensor operations. Each is computed by a definition that
can be checked by hand: a Taylor series where it converges fast, exact identities that bring the argument there, and
`Exp2`, `Log2` and `Sin` for the rest. float32 and float64 compute in themselves, narrower floats in float32, rounded
once at the end.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, TypeVar, cast

from soundline.impl.analysis import elementary
from soundline.impl.arrays.operands import broadcast
from soundline.impl.arrays.promotion import accumulated
from soundline.impl.tensors.core.arithmetic import Arithmetic
from soundline.impl.tensors.numerics import modulo
from soundline.spec.dtypes import DType, float64
from soundline.spec.uop import Op

T = TypeVar("T", bound=Arithmetic)
F = TypeVar("F", bound=Callable[..., Any])


def home_of(dtype: DType) -> DType:
    """The dtype in which a function on `dtype` is computed."""
    return accumulated(dtype)


def in_home_format(fn: F) -> F:
    """A function that computes in float32 or float64, on every float."""

    @functools.wraps(fn)
    def wrapped(x: Any) -> Any:
        return fn(x.cast(home_of(x.dtype))).cast(x.dtype)

    return cast(F, wrapped)


def polynomial(x: T, coefficients: Sequence[float]) -> T:
    """c₀ + x·(c₁ + x·(c₂ + …))."""
    total = constant(x, coefficients[-1])
    for c in reversed(coefficients[:-1]):
        total = total * x + c
    return total


def constant(x: T, value: bool | int | float) -> T:
    """A tensor like x with one value everywhere."""
    return x.constant(value)


def with_sign_of(magnitude: T, x: T) -> T:
    """The magnitude, negative where x is below 0; x itself where it is a zero."""
    return (x < 0.0).where(-magnitude, x.eq(0.0).where(x, magnitude))


def terms(x: T, single: int, double: int) -> int:
    """How many terms of a series are taken, in float32 or float64."""
    return double if x.dtype is float64 else single


# Rounding ---------------------------------------------------------------------------------------------------------


def floor(x: T) -> T:
    """The greatest integer that is at most x."""
    if not x.dtype.is_float:
        return x
    t = x.trunc()
    return (t > x).where(t - 1.0, t)


def ceil(x: T) -> T:
    """The least integer that is at least x."""
    if not x.dtype.is_float:
        return x
    t = x.trunc()
    return (t < x).where(t + 1.0, t)


def round_half_even(x: T) -> T:
    """The integer nearest to x; of two, the even one."""
    if not x.dtype.is_float:
        return x
    t = x.trunc()
    rest = (x - t).abs()
    odd = (t * 0.5).trunc() * 2.0 != t
    away = (rest > 0.5) | (rest.eq(0.5) & odd)
    return away.where((x < 0.0).where(t - 1.0, t + 1.0), t)


def sign(x: T) -> T:
    """-1, 0 or 1; a zero and NaN are kept. Its derivative is 0 everywhere, at 0 too."""
    if not x.dtype.signed:
        return (x > 0).cast(x.dtype)
    zero, one = constant(x, 0), constant(x, 1)
    return (x > zero).where(one, (x < zero).where(-one, x.of(Op.Detach(x.uop))))


def remainder_truncated(x: T, y: T) -> T:
    """x - y·trunc(x/y), exact, with the sign of x."""
    if not x.dtype.is_float:
        return x.of(Op.CMod(*broadcast(x.uop, y.uop)))
    return modulo.truncated(x.cast(float64), y.cast(float64)).cast(x.dtype)


def exponential(x: T) -> T:
    """e^x of float32 or float64."""
    return x.of(elementary.exp(x.uop))


def _log(x: T) -> T:
    return x.of(elementary.log(x.uop))


# Exponentials -----------------------------------------------------------------------------------------------------


@in_home_format
def log1p(x: T) -> T:
    """ln(1 + x): the logarithm of the rounded sum, corrected by what the rounding made of x."""
    total = x + 1.0
    seen = total - 1.0
    exact = seen.eq(0.0) | total.eq(math.inf)
    return exact.where(total.eq(math.inf).where(total, x), _log(total) * (x / exact.where(1.0, seen)))


@in_home_format
def expm1(x: T) -> T:
    """e^x - 1: the Taylor series where |x| ≤ ½."""
    count = terms(x, 9, 16)
    small = x * polynomial(x, [float(Fraction(1, math.factorial(k))) for k in range(1, count)])
    return (x.abs() <= 0.5).where(small, exponential(x) - 1.0)


@in_home_format
def sinh(x: T) -> T:
    """(e^x - e^-x) / 2: the Taylor series where |x| ≤ 1; e^(x/2)² / 2 where e^x may overflow."""
    count = terms(x, 6, 11)
    small = x * polynomial(x * x, [float(Fraction(1, math.factorial(2 * k + 1))) for k in range(count)])
    half = exponential(x.abs() * 0.5)
    large = half * (half * 0.5) - exponential(-x.abs()) * 0.5
    return (x.abs() <= 1.0).where(small, with_sign_of(large, x))


@in_home_format
def cosh(x: T) -> T:
    """(e^x + e^-x) / 2."""
    half = exponential(x.abs() * 0.5)
    return half * (half * 0.5) + exponential(-x.abs()) * 0.5


@in_home_format
def tanh(x: T) -> T:
    """sinh x / cosh x; beyond 20 it is ±1."""
    near = x.maximum(-20.0).minimum(20.0)
    return sinh(near) / cosh(near)


def tanh_slope(x: T) -> T:
    """1/cosh² x = 4p/(1 + p)² of p = e^-2|x|."""
    power = exponential(x.abs() * -2.0)
    whole = power + 1.0
    return power * 4.0 / (whole * whole)


@in_home_format
def asinh(x: T) -> T:
    """±ln(a + √(a² + 1)) of a = |x|, as ln(1 + (a + a²/(1 + √(a² + 1))))."""
    a = x.abs()
    square = a * a
    near = log1p(a + square / ((square + 1.0).sqrt() + 1.0))
    return with_sign_of((a < 2.0**28).where(near, _log(a) + math.log(2.0)), x)


def asinh_slope(x: T) -> T:
    """1/√(1 + x²); of r = 1/|x|, r/√(1 + r²)."""
    r = 1.0 / x.abs()
    return (x.abs() <= 1.0).where(1.0 / (x * x + 1.0).sqrt(), r / (r * r + 1.0).sqrt())


@in_home_format
def acosh(x: T) -> T:
    """ln(x + √(x² - 1)), as ln(1 + (t + √(2t + t²))) of t = x - 1; NaN below 1."""
    t = x - 1.0
    near = log1p(t + (t * 2.0 + t * t).sqrt())
    return (x < 1.0).where(math.nan, (x < 2.0**28).where(near, _log(x) + math.log(2.0)))


def acosh_slope(x: T) -> T:
    """1/√((x - 1)·(x + 1)), ∞ at 1, NaN below 1."""
    return 1.0 / ((x - 1.0).sqrt() * (x + 1.0).sqrt())


@in_home_format
def atanh(x: T) -> T:
    """±½·ln(1 + 2a/(1 - a)) of a = |x|."""
    a = x.abs()
    return with_sign_of(log1p(a * 2.0 / (1.0 - a)) * 0.5, x)


def atanh_slope(x: T) -> T:
    """1/((1 - x)·(1 + x)), ∞ at ±1, NaN beyond."""
    return (x.abs() <= 1.0).where(1.0 / ((1.0 - x) * (x + 1.0)), math.nan)


@in_home_format
def logistic(x: T) -> T:
    """1 / (1 + e^-x), without overflow on either side."""
    power = exponential((x < 0.0).where(x, -x))  # not by |x|, whose derivative at 0 would be shared
    return (x < 0.0).where(power, 1.0) / (power + 1.0)


def logistic_slope(x: T) -> T:
    """p/(1 + p)² of p = e^-|x|."""
    power = exponential((x < 0.0).where(x, -x))
    whole = power + 1.0
    return power / (whole * whole)


@in_home_format
def softplus(x: T) -> T:
    """ln(1 + e^x) = max(x, 0) + ln(1 + e^-|x|)."""
    return x.maximum(0.0) + log1p(exponential(-x.abs()))


# Angles -----------------------------------------------------------------------------------------------------------


@in_home_format
def sin(x: T) -> T:
    """sin x."""
    return x.of(Op.Sin(x.uop))


def cos(x: T) -> T:
    """1 - 2·sin²(x/2), in float64: of floats up to float32 no cosine is so small that the difference loses their bits.
    Of float64 small ones are sin 2x / (2·sin x), whose factors are precise however large x is.
    """
    if x.dtype is not float64:
        return _cos_by_half(x.cast(float64)).cast(x.dtype)
    found = _cos_by_half(x)
    small = (found.abs() < 0.7) & (x.abs() < 2.0**1023)
    near = small.where(x, 1.0)
    return small.where(_sin(near * 2.0) / (_sin(near) * 2.0), found)


def _cos_by_half(x: T) -> T:
    half = _sin(x * 0.5)
    return 1.0 - half * half * 2.0


def _sin(x: T) -> T:
    return x.of(Op.Sin(x.uop))


@in_home_format
def tan(x: T) -> T:
    """sin x / cos x."""
    return sin(x) / cos(x)


@in_home_format
def atan(x: T) -> T:
    """The angle of (1, x): π/2 minus that of 1/x beyond 1, halved twice, then the Taylor series."""
    a = x.abs()
    beyond = a > 1.0
    t = beyond.where(1.0 / a, a)
    for _ in range(2):
        t = t / ((t * t + 1.0).sqrt() + 1.0)
    count = terms(x, 7, 13)
    angle = t * 4.0 * polynomial(t * t, [(-1.0) ** k / (2 * k + 1) for k in range(count)])
    return with_sign_of(beyond.where(math.pi / 2 - angle, angle), x)


def atan_slope(x: T) -> T:
    """1/(1 + x²); of r = 1/x, r²/(1 + r²)."""
    square = x * x
    r = 1.0 / x
    return (x.abs() <= 1.0).where(1.0 / (square + 1.0), r * r / (r * r + 1.0))


@in_home_format
def asin(x: T) -> T:
    """The angle of (√(1 - x²), x)."""
    return atan(x / ((1.0 - x) * (x + 1.0)).sqrt())


def asin_slope(x: T) -> T:
    """1/√((1 - x)·(1 + x)), ∞ at ±1, NaN beyond."""
    return 1.0 / ((1.0 - x) * (x + 1.0)).sqrt()


@in_home_format
def acos(x: T) -> T:
    """Twice the angle of (√(1 + x), √(1 - x))."""
    return atan(((1.0 - x) / (x + 1.0)).sqrt()) * 2.0


def acos_slope(x: T) -> T:
    """-1/√((1 - x)·(1 + x)), -∞ at ±1, NaN beyond."""
    return -asin_slope(x)
