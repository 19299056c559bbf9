"""
Gates
=====

Functions that multiply x by something between 0 and 1 which depends on x, and others that are made of e^x. Each is a
quotient of polynomials in e^-|x|, which neither overflows nor cancels; where the result is about x·e^x, the power is
multiplied in as two equal factors, so that the product is precise where e^x is no longer a normal number.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TypeVar

from soundline.impl.tensors.core.arithmetic import Arithmetic
from soundline.impl.tensors.numerics.special import exponential, in_home_format, polynomial, tanh, terms
from soundline.spec.dtypes import float64
from soundline.spec.values.double_word import Double, constant, product, two_sum

T = TypeVar("T", bound=Arithmetic)


def _root_power(x: T) -> T:
    """e^(-|x|/2)."""
    return exponential((x < 0.0).where(x, -x) * 0.5)


@in_home_format
def silu(x: T) -> T:
    """x / (1 + e^-x)."""
    root = _root_power(x)
    power = root * root
    below = x.eq(-math.inf).where(-0.0, x) * root * root
    return (x < 0.0).where(below, x) / (power + 1.0)


def silu_slope(x: T) -> T:
    """s·(1 + x·(1 - s)), s being the sigmoid of x."""
    near, root = _limited(x), _root_power(x)
    whole = root * root + 1.0
    below = root * (1.0 + near / whole) * root
    above = 1.0 + near * (root * root) / whole
    return (x < 0.0).where(below, above) / whole


def _limited(x: T) -> T:
    """x, kept where e^x and e^-x are neither 0 nor infinite, and a little beyond."""
    end = 800.0 if x.dtype is float64 else 120.0
    return x.maximum(-end).minimum(end)


@in_home_format
def mish(x: T) -> T:
    """x·tanh(ln(1 + e^x)): of p = e^x it is x·p·(p + 2) / (p² + 2p + 2), and so of 1/p above 0."""
    root = _root_power(x)
    power = root * root
    below = (
        x.eq(-math.inf).where(-0.0, x) * root * ((power + 2.0) / polynomial(power, (2.0, 2.0, 1.0))) * root
    )
    above = x * ((power * 2.0 + 1.0) / polynomial(power, (1.0, 2.0, 2.0)))
    return (x < 0.0).where(below, above)


def mish_slope(x: T) -> T:
    """t + x·(1 - t²)·s, t being tanh(ln(1 + e^x)) and s the sigmoid, in the same terms."""
    near, root = _limited(x), _root_power(x)
    power = root * root
    low, high = polynomial(power, (2.0, 2.0, 1.0)), polynomial(power, (1.0, 2.0, 2.0))
    below = root * ((power + 2.0) / low + near * (power + 1.0) * 4.0 / (low * low)) * root
    above = (power * 2.0 + 1.0) / high + near * (power + 1.0) * 4.0 * (power / high) * (power / high)
    return (x < 0.0).where(below, above)


_SCALE = Fraction("1.5957691216057307117597842397375")
"""2·√(2/π)."""
_CUBIC = _SCALE * Fraction("0.044715")


def _inner(x: T) -> tuple[T, T]:
    """2·√(2/π)·(x + 0.044715·x³) in two words."""
    one: Double = x.uop, x.constant(0.0).uop
    part = product(product(one, one), constant(x.uop, _CUBIC))
    whole = constant(x.uop, _SCALE)
    high, low = two_sum(whole[0], part[0])
    rest = x.of(low) + (x.of(whole[1]) + x.of(part[1]))
    found = product(one, two_sum(high, rest.uop))
    return x.of(found[0]), x.of(found[1])


def _kept(x: T) -> T:
    """x, kept where the sigmoid of `_inner` is neither 0 nor 1, and a little beyond."""
    end = 30.0 if x.dtype is float64 else 15.0
    return x.maximum(-end).minimum(end)


def _root_of_inner(x: T) -> T:
    """e^(-|y|/2) of y = `_inner`."""
    high, low = _inner(_kept(x))
    root = exponential((high < 0.0).where(high, -high) * 0.5)
    return root + root * ((high < 0.0).where(low, -low) * 0.5)


@in_home_format
def gelu_by_tanh(x: T) -> T:
    """x/2·(1 + tanh y), which is x·sigmoid 2y, with y = √(2/π)·(x + 0.044715·x³)."""
    root = _root_of_inner(x)
    power = root * root
    below = x.eq(-math.inf).where(-0.0, x) * root * root
    return (x < 0.0).where(below, x) / (power + 1.0)


def gelu_by_tanh_slope(x: T) -> T:
    """s·(1 + x·2y'·(1 - s)), s being the sigmoid of 2y."""
    near, root = _kept(x), _root_of_inner(x)
    rise = near * (near * near * float(_CUBIC * 3) + float(_SCALE))
    whole = root * root + 1.0
    below = root * (1.0 + rise / whole) * root
    above = 1.0 + rise * (root * root) / whole
    return (x < 0.0).where(below, above) / whole


# Slow ones --------------------------------------------------------------------------------------------------------


@in_home_format
def softsign(x: T) -> T:
    """x / (1 + abs x)."""
    found = x / (x.abs() + 1.0)
    return x.abs().eq(math.inf).where((x > 0.0).where(1.0, -1.0), found)


def softsign_slope(x: T) -> T:
    """1 / (1 + abs x)²."""
    part = 1.0 / (x.abs() + 1.0)
    return part * part


@in_home_format
def tanhshrink(x: T) -> T:
    """x - tanh x, as (x·cosh x - sinh x) / cosh x by Taylor series where abs x ≤ 2."""
    near = x.maximum(-2.0).minimum(2.0)
    square = near * near
    count = terms(x, 9, 15)
    numerator = [float(Fraction(2 * k, math.factorial(2 * k + 1))) for k in range(1, count + 1)]
    denominator = [float(Fraction(1, math.factorial(2 * k))) for k in range(count + 1)]
    series = near * (square * polynomial(square, numerator)) / polynomial(square, denominator)
    return (x.abs() <= 2.0).where(x.eq(0.0).where(x, series), x - tanh(x))


def tanhshrink_slope(x: T) -> T:
    """tanh² x."""
    slope = tanh(x)
    return slope * slope
