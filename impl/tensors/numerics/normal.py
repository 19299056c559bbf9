"""
The normal distribution
=======================

The error function, and x times the normal distribution below x (`gelu`). Near 0 they are a series whose terms are all
positive. Far from 0 the rest to 1 is what the trapezoidal rule gives for ``∫ e^-t² / (t² + u²) dt``, which is
``π/u · e^u² · erfc u``; its error is known, so a few terms are enough, and nothing cancels. e^-u² is the square of its
root, in two words, so that products with it stay precise where it is no longer a normal number.
"""

from __future__ import annotations

import math
from typing import TypeVar

from soundline.impl.tensors.core.arithmetic import Arithmetic
from soundline.impl.tensors.numerics.special import constant, exponential, in_home_format, terms, with_sign_of
from soundline.spec.dtypes import float64
from soundline.spec.values.double_word import two_product

T = TypeVar("T", bound=Arithmetic)

NEAR = 0.7
"""Up to here the series is used."""


def _series(x: T) -> T:
    """erf x = (2x/√π)·e^-x²·Σ (2x²)^k / (1·3·…·(2k+1)), for |x| up to `NEAR`."""
    near = x.maximum(-NEAR).minimum(NEAR)
    square = near * near
    doubled = square * 2.0
    total = constant(x, 1.0)
    for k in reversed(range(1, terms(x, 10, 17))):
        total = total * doubled * (1.0 / (2 * k + 1)) + 1.0
    found = near * (2.0 / math.sqrt(math.pi)) * exponential(-square) * total
    return x.eq(0.0).where(x, found)


def root_bell(x: T, factor: float) -> T:
    """The square root of e^(-factor·x²), the square in two words; `factor` is a power of two."""
    high, low = (x.of(v) * (factor * 0.5) for v in two_product(x.uop, x.uop))
    root = exponential(-high)
    return root - root * low


def _tail(u: T, before: T, root: T) -> T:
    """before · erfc u for u > `NEAR`, where the square of `root` is e^-u²."""
    step, count = (0.48, 12) if u.dtype is float64 else (0.65, 6)
    square = u * u
    total = 0.5 / square
    for n in range(1, count + 1):
        total = total + math.exp(-((n * step) ** 2)) / (square + (n * step) ** 2)
    smooth = before * root * (u * (2.0 * step / math.pi)) * total * root
    beside = exponential(u * (-2.0 * math.pi / step))
    error = (u < math.pi / step).where(beside * 2.0 / (1.0 - beside), 0.0)
    return smooth - before * error


def _end(x: T) -> float:
    """Beyond this from 0 the distribution is 0 or 1, with a wide margin."""
    return 40.0 if x.dtype is float64 else 16.0


def _clamped(x: T, end: float) -> T:
    return x.maximum(-end).minimum(end)


@in_home_format
def erf(x: T) -> T:
    """(2/√π)·∫₀ˣ e^-t² dt."""
    u = _clamped(x.abs(), 6.5).maximum(NEAR)
    far = 1.0 - _tail(u, constant(x, 1.0), root_bell(u, 1.0))
    return (x.abs() <= NEAR).where(_series(x), with_sign_of(far, x))


def _times_below(x: T, factor: T) -> T:
    """factor · Φ(x), Φ being the normal distribution below x: ½·erfc(-x/√2)."""
    a = _clamped(x, _end(x)).abs().maximum(NEAR * math.sqrt(2.0))
    u = a * math.sqrt(0.5)
    above = x > 0.0
    tail = _tail(u, above.where(0.5, factor * 0.5), root_bell(a, 0.5))
    far = above.where(factor * (1.0 - tail), tail)
    near = factor * (_series(x * math.sqrt(0.5)) * 0.5 + 0.5)
    return (x.abs() <= NEAR * math.sqrt(2.0)).where(near, far)


@in_home_format
def gelu(x: T) -> T:
    """x·Φ(x)."""
    return _times_below(x, x.maximum(-_end(x)))


def gelu_slope(x: T) -> T:
    """Φ(x) + x·e^(-x²/2)/√(2π)."""
    near = _clamped(x, _end(x))
    root = root_bell(near, 0.5)
    return _times_below(x, constant(x, 1.0)) + near * root * (1.0 / math.sqrt(2.0 * math.pi)) * root


def erf_slope(x: T) -> T:
    """(2/√π)·e^-x²."""
    root = root_bell(_clamped(x, 30.0 if x.dtype is float64 else 12.0), 1.0)
    return root * (2.0 / math.sqrt(math.pi)) * root
