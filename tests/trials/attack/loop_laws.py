# mypy: disable-error-code="misc, name-defined, no-any-return, no-untyped-call"
"""
Laws of loops
=============

What a random rule may do to one loop or to nested loops.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from soundline.spec.dtypes import (
    index,
)
from soundline.spec.ops.node import Op
from soundline.spec.rules.language import (
    forall,
    fresh,
    identity,
    maximum,
    where,
)
from soundline.spec.rules.ranges import Body, Range, reduce_over
from soundline.spec.rules.terms import Const, Size, Value
from trials.attack.drawing import Draw, Link, applied


def loop_law(d: Draw) -> Link:
    """A law of one loop."""
    n, r = forall(Size, "n"), forall(Range["n"], "r")
    f, g = forall(Body["r"], "f"), forall(Body["r"], "g")
    m, c = d.reduction(), d.new(Const, "c")
    k = forall(d.any_of(Size, Value[index]), "k")
    none = d.near(identity(m), 0, identity(d.reduction()))
    h = d.any_of(
        f,
        f,
        lambda i: applied(Op.Max, f(i), g(i)),
        lambda i: where(i < k, f(i), g(i)),
        lambda i: where(i % 2 == 0, f(i), none),
        lambda i: applied(Op.Mul, f(i), c),
    )

    def over(size: Any, e: Callable[[Any], Any]) -> Any:
        i = fresh(size)
        return reduce_over(m, i, e(i))

    left = reduce_over(m, r, h(r))
    two = d.any_of(2, 3)
    less = d.any_of(1, 1, 2)
    if d.often(0.3):
        d.given(n >= 1, n % two == 0, n > 1)
    return d.any_of(
        lambda: (left, d.near(over(n, lambda i: h(n - 1 - i)), over(n, lambda i: h(n - i)))),
        lambda: _split(d, m, h, left, n, two, none),
        lambda: (
            left,
            d.near(
                applied(m, over(maximum(n - 1, 0), h), h(n - less)),
                applied(m, h(0), over(maximum(n - 1, 0), lambda i: h(i + less))),
                over(maximum(n - 1, 0), h),
            ),
        ),
        lambda: (
            reduce_over(m, r, where(r < k, h(r), none)),
            d.near(
                over(where(k < n, maximum(k, 0), n), h), over(where(k < n, k, n), h), where(k < n, left, left)
            ),
        ),
        lambda: (
            reduce_over(m, r, where(d.any_of(r == k, r == n - 1 - k), h(r), none)),
            d.near(where((k >= 0) & (k < n), h(k), none), h(k), where(k < n, h(k), none)),
        ),
        lambda: (left, over(n, lambda i: h((i + d.any_of(1, k)) % n))),
        lambda: (
            applied(m, left, reduce_over(m, r, g(r))),
            d.near(reduce_over(m, r, applied(m, h(r), g(r))), reduce_over(m, r, applied(m, g(r), f(r)))),
        ),
        lambda: (
            reduce_over(m, r, applied(Op.Mul, h(r), c)),
            d.near(applied(Op.Mul, left, c), left),
        ),
        lambda: (
            reduce_over(m, r, where(r < k, f(r), g(r))),
            applied(
                m,
                over(where(k < n, maximum(k, 0), n), f),
                over(maximum(n - k, 0), lambda i: g(i + d.near(k, k - 1, maximum(k, 0)))),
            ),
        ),
    )()


def _split(d: Draw, m: Any, h: Any, left: Any, n: Any, by: int, none: Any) -> Link:
    up = d.near((n + by - 1) // by, n // by, n // by + 1)
    i, j = fresh(up), fresh(by)
    at = d.near(i * by + j, j * up + i, i * (by - 1) + j)
    guarded = d.near(where(at < n, h(at), none), h(at), where(at <= n - 1, h(at), none))
    reduced = reduce_over(m, (i, j), guarded)
    return left, d.near(
        reduced, reduce_over(m, i, reduce_over(m, j, guarded)), reduce_over(m, (j, i), guarded)
    )


def nest_law(d: Draw) -> Link:
    """A law of one loop in another."""
    m, n = forall(Size, "m"), forall(Size, "n")
    r, s = forall(Range["m"], "r"), forall(Range["n"], "s")
    f = forall(Body["r", "s"], "f")
    op = d.reduction()
    outer = op if d.often(0.85) else d.reduction()
    guard = d.any_of(None, lambda i, j: i < j, lambda i, j: j <= i, lambda i, j: i == j)
    none = d.near(identity(op), 0)

    def body(i: Any, j: Any) -> Any:
        return f(i, j) if guard is None else where(guard(i, j), f(i, j), none)

    left = reduce_over(outer, r, reduce_over(op, s, body(r, s)))
    t = fresh(m * n)
    return left, d.near(
        reduce_over(op, s, reduce_over(outer, r, body(r, s))),
        reduce_over(op, (r, s), body(r, s)),
        reduce_over(op, (s, r), body(r, s)),
        reduce_over(op, t, body(t // n, t % n)),
        reduce_over(op, t, body(t % m, t // m)),
        reduce_over(op, t, body(t // m, t % m)),
        reduce_over(op, r, reduce_over(op, s, body(s, r))),
    )
