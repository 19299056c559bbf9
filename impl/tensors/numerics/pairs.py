"""
Functions of two numbers
========================

The angle and the distance of a point, and the logarithm of a sum of powers. Both numbers have one shape and dtype;
float32 and float64 compute in themselves, narrower floats in float32, rounded once. Derivatives are of numbers scaled
by the greater, so that neither squares nor quotients leave the range.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any, TypeVar, cast

from soundline.impl.tensors.core.arithmetic import Arithmetic
from soundline.impl.tensors.numerics import special
from soundline.impl.tensors.numerics.special import exponential, home_of
from soundline.spec.values.double_word import two_sum

T = TypeVar("T", bound=Arithmetic)
F = TypeVar("F", bound=Callable[..., Any])


def _in_home_format(fn: F) -> F:
    """A function that computes in float32 or float64, on every float."""

    @functools.wraps(fn)
    def wrapped(x: Any, y: Any) -> Any:
        home = home_of(x.dtype)
        return fn(x.cast(home), y.cast(home)).cast(x.dtype)

    return cast(F, wrapped)


def is_below(x: T) -> T:
    """Whether the sign of a float is set, that of a zero too."""
    return (x < 0.0) | (x.eq(0.0) & (x.reciprocal() < 0.0))


def _is_infinite(x: T) -> T:
    return x.abs().eq(math.inf)


# Angles and distances ---------------------------------------------------------------------------------------------


@_in_home_format
def atan2(y: T, x: T) -> T:
    """The angle of the point (x, y) in [-π, π]; zeros and infinities as in C."""
    left, below = is_below(x), is_below(y)
    rise, run = below.where(-y, y), left.where(-x, x)
    steep = rise > run
    unclear = rise.eq(run) & (y.eq(0.0) | _is_infinite(y))  # 0/0 and ∞/∞
    ratio = unclear.where(y.eq(0.0).where(0.0, x.constant(1.0)), steep.where(run / rise, rise / run))
    angle = special.atan(ratio)
    angle = steep.where(math.pi / 2 - angle, angle)
    angle = left.where(math.pi - angle, angle)
    return below.where(-angle, angle)


def atan2_slopes(y: T, x: T) -> tuple[T, T]:
    """x/(x² + y²) and -y/(x² + y²); 0 at (0, 0), and at an infinity."""
    long, a, b = _scaled(y, x)
    square = a * a + b * b
    unclear = long.eq(0.0) | long.eq(math.inf)
    return unclear.where(0.0, b / square / long), unclear.where(0.0, -a / square / long)


@_in_home_format
def hypot(x: T, y: T) -> T:
    """√(x² + y²), without overflow on the way; ∞ where one is infinite."""
    a, b = x.abs(), y.abs()
    long, short = a.maximum(b), a.minimum(b)
    ratio = (long > 0.0).where(short / long, 0.0)
    found = long * (ratio * ratio + 1.0).sqrt()
    return (_is_infinite(x) | _is_infinite(y)).where(math.inf, found)


def hypot_slopes(x: T, y: T) -> tuple[T, T]:
    """x/√(x² + y²) and y/√(x² + y²); 0 at (0, 0)."""
    long, a, b = _scaled(x, y)
    root = (a * a + b * b).sqrt()
    none = long.eq(0.0)
    return none.where(0.0, a / root), none.where(0.0, b / root)


def _scaled(x: T, y: T) -> tuple[T, T, T]:
    """The greater magnitude, and both numbers over it; of infinities their signs, and finite ones 0 beside them."""
    long = x.abs().maximum(y.abs())
    infinite = long.eq(math.inf)
    a, b = (
        infinite.where(_is_infinite(v).where((v > 0.0).where(v.constant(1.0), -1.0), 0.0), v / long)
        for v in (x, y)
    )
    return long, a, b


# The logarithm of a sum -------------------------------------------------------------------------------------------


@_in_home_format
def logaddexp(x: T, y: T) -> T:
    """ln(e^x + e^y), from the greater."""
    found = x.maximum(y) + special.log1p(exponential(-(x - y).abs()))
    return x.eq(y).where(x.maximum(y) + math.log(2.0), found)


def logaddexp_slopes(x: T, y: T) -> tuple[T, T]:
    """The sigmoids of x - y and y - x, of differences in two words; ½ and ½ at a tie."""
    high, low = (x.of(v) for v in two_sum(x.uop, (-y).uop))
    low = (high.abs() < math.inf).where(low, 0.0)
    high = x.eq(y).where(0.0, high)
    to_x, to_y = special.logistic(high), special.logistic(-high)
    shift = low * to_x * to_y
    return to_x + shift, to_y - shift
