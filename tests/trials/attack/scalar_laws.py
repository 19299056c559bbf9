# mypy: disable-error-code="misc, name-defined, no-any-return, no-untyped-call"
"""
Laws of scalars
===============

What a random rule may do to numbers of one dtype: division in its three conventions, order, bits, sums and products,
each with conditions of which some are forgotten.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from soundline.spec.dtypes import bool_, index
from soundline.spec.rules.language import (
    cdiv,
    cmod,
    ediv,
    emod,
    fits,
    forall,
    given,
    maximum,
    where,
)
from soundline.spec.rules.terms import Const, Value
from trials.attack.drawing import Draw, Link

Division = tuple[Callable[[Any, Any], Any], Callable[[Any, Any], Any]]

DIVISIONS: tuple[Division, ...] = (
    (lambda a, b: a // b, lambda a, b: a % b),
    (lambda a, b: a // b, lambda a, b: a % b),
    (cdiv, cmod),
    (ediv, emod),
)
"""Quotients and remainders, rounded down, toward zero, and so that no remainder is negative."""


def scalar_law(d: Draw) -> Link:
    """A law of numbers, perhaps with the same op on both sides."""
    x, y, z = (forall(Value, name) for name in "xyz")
    c, e = forall(Const, "c"), forall(Const, "e")
    if d.dtype is bool_:
        left, right = _of_bools(d, x, y, z)
    elif d.dtype.is_float:
        left, right = _of_floats(d, x, y, c)
    else:
        left, right = d.any_of(_of_quotients, _of_quotients, _of_order, _of_sums, _of_bits)(d, x, y, c, e)
    if d.often(0.2) and d.dtype is not bool_:
        left, right = d.any_of(
            lambda: (maximum(left, y), maximum(right, y)),
            lambda: (where(x < y, left, y), where(y > x, right, y)),
            lambda: (-left, -right),
        )()
    return left, right


def _some(d: Draw, *conditions: Any) -> None:
    """Most of the conditions that a law asks for; one of them is forgotten now and then."""
    gone = d.any_of(*range(4 * len(conditions)))
    for k, condition in enumerate(conditions):
        if k != gone:
            given(condition)


def _of_quotients(d: Draw, x: Any, y: Any, c: Any, e: Any) -> Link:
    div, mod = d.any_of(*DIVISIONS)
    other, rest = d.any_of(*DIVISIONS)
    sign = d.any_of(c > 0, c > 0, c != 0)
    _some(d, sign, d.any_of(x >= 0, fits(x * c)), d.any_of(fits(x + c * y), fits(c * e), x < 100), e > 0)
    return d.any_of(
        lambda: (div(x * c, c), d.near(x, x * div(c, c))),
        lambda: (mod(x * c, c), d.near(x * 0, mod(x, c))),
        lambda: (div(x + c * y, c), d.near(div(x, c) + y, div(x + y, c))),
        lambda: (mod(x + c * y, c), d.near(mod(x, c), mod(x + y, c))),
        lambda: (div(div(x, c), e), d.near(div(x, c * e), div(div(x, e), c), div(x, c + e))),
        lambda: (mod(mod(x, c), c), d.near(mod(x, c), mod(x, -c))),
        lambda: (div(x, c) * c + mod(x, c), d.near(x, x + c - c, div(x, c) * c)),
        lambda: (div(x, c), d.near(other(x, c), div(x - mod(x, c), c))),
        lambda: (mod(x, c), d.near(rest(x, c), x - c * div(x, c), x - c * other(x, c))),
        lambda: (div(-x, c), d.near(-div(x, c), -div(x + c - 1, c), div(x, -c))),
        lambda: (mod(mod(x, c * e), c), d.near(mod(x, c), mod(x, e))),
        lambda: (div(mod(x, c * e), c), d.near(mod(div(x, c), e), mod(div(x, e), c))),
    )()


def _of_order(d: Draw, x: Any, y: Any, c: Any, e: Any) -> Link:
    strict = d.any_of(lambda a, b: a < b, lambda a, b: a <= b)
    _some(d, fits(x + c), fits(y + c), fits(x * c), d.any_of(c > 0, c >= 0))
    return d.any_of(
        lambda: (strict(x + c, y + c), d.near(strict(x, y), strict(y, x))),
        lambda: (strict(x * c, e * c), d.near(strict(x, e), x < e)),
        lambda: (x * c < e, d.near(x < (e + c - 1) // c, x < e // c, x <= e // c)),
        lambda: (e <= x * c, d.near((e + c - 1) // c <= x, e // c <= x)),
        lambda: (maximum(x + c, y + c), d.near(maximum(x, y) + c, maximum(x, y + c))),
        lambda: (maximum(maximum(x, c), e), d.near(maximum(x, where(c < e, e, c)), maximum(x, c))),
        lambda: (where(x < y, x, y) + maximum(x, y), d.near(x + y, x * 2)),
        lambda: (strict(x, c) & strict(x, e), d.near(strict(x, where(c < e, c, e)), strict(x, c))),
        lambda: (~strict(x, y), d.near(y <= x if strict(1, 1) is False else y < x, y < x, y <= x)),
    )()


def _of_sums(d: Draw, x: Any, y: Any, c: Any, e: Any) -> Link:
    return d.any_of(
        lambda: (x * c + x * e, d.near(x * (c + e), x * c * e)),
        lambda: ((x + c) * (x - c), d.near(x * x - c * c, x * x + c * c)),
        lambda: (x - (y - c), d.near(x - y + c, x - y - c)),
        lambda: (where(x < y, x + c, x + e), d.near(x + where(x < y, c, e), x + where(y < x, e, c))),
        lambda: (-(x * c), d.near(x * -c, -x * -c)),
        lambda: (x * c - x, d.near(x * (c - 1), x * (c + 1))),
    )()


def _of_bits(d: Draw, x: Any, y: Any, c: Any, e: Any) -> Link:
    if d.dtype is index:
        return _of_sums(d, x, y, c, e)
    n = d.any_of(1, 2, 3, 7)
    _some(d, x >= 0, c > 0, fits(x * (1 << min(n, 6))))
    return d.any_of(
        lambda: ((x & c) | (x & ~c), d.near(x, x & c)),
        lambda: ((x & c) + (x | c), d.near(x + c, x * 2)),
        lambda: ((x ^ c) ^ c, d.near(x, c)),
        lambda: ((x << n) >> n, d.near(x, x & (127 >> n))),
        lambda: ((x >> n) << n, d.near(x & -(1 << n), x) if d.dtype.signed else (x - x % (1 << n))),
        lambda: (x >> n, d.near(x // (1 << n), cdiv(x, 1 << n)) if n < 7 else x >> n >> 0),
        lambda: (x & ((1 << n) - 1), d.near(x % (1 << n), cmod(x, 1 << n)) if n < 7 else x & 127),
        lambda: (~x, d.near(-x - 1, -x)),
        lambda: ((x | c) - (x & c), d.near(x ^ c, x)),
    )()


def _of_floats(d: Draw, x: Any, y: Any, c: Any) -> Link:
    _some(d, d.any_of(x < 100, x > -100, x == x), d.any_of(c > 0, c != 0, c < 8))
    return d.any_of(
        lambda: (x + d.any_of(0.0, -0.0), x),
        lambda: (x - d.any_of(0.0, -0.0), x),
        lambda: (x * d.any_of(1.0, 0.0, -1.0), d.any_of(x, -x, x * 0.0, 0.0)),
        lambda: (x - x, d.any_of(0.0 * x, 0.0)),
        lambda: (-(x - y), d.near(y - x, -x + y)),
        lambda: (x * 2.0, d.near(x + x, x)),
        lambda: (x / 4.0, d.near(x * 0.25, x * 4.0)),
        lambda: (x / c, x * (1.0 / c)),
        lambda: ((x + y) - y, d.near(x + (y - y), x)),
        lambda: (x + y + c, d.near(y + x + c, x + (y + c))),
        lambda: (maximum(x, y), d.near(maximum(y, x), where(x < y, y, x), where(x > y, x, y))),
        lambda: (maximum(x, c) + y, d.near(maximum(x + y, c + y), maximum(y + x, y + c))),
        lambda: (x < y, d.near(y > x, ~(y <= x), x - y < 0)),
        lambda: (where(x < y, x, x), d.near(x, y)),
        lambda: (x / x, d.any_of(1.0, x * (1.0 / x))),
        lambda: (-x * -y, d.near(x * y, -(x * y))),
        lambda: (maximum(x, x), d.near(x, x + 0.0)),
    )()


def _of_bools(d: Draw, x: Any, y: Any, z: Any) -> Link:
    return d.any_of(
        lambda: ((x & y) | (x & z), d.near(x & (y | z), x | (y & z))),
        lambda: (~(x & y), d.near(~x | ~y, ~x & ~y)),
        lambda: (where(x, y, z), d.near((x & y) | (~x & z), (x | y) & z)),
        lambda: (x ^ y, d.near((x | y) & ~(x & y), x | y)),
        lambda: (x < y, d.near(~x & y, x & ~y)),
    )()
