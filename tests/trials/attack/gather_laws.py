# mypy: disable-error-code="misc, name-defined, no-any-return, no-untyped-call"
"""
Laws of gathers
===============

What a random rule may do with elements whose places are read from another tensor, and which may lie outside: an index
of what was moved, of an op, of another gather, and sides that compute an element which nobody needs.
"""

from __future__ import annotations

from typing import Any

from soundline.spec.dtypes import bool_, index
from soundline.spec.ops.node import Op
from soundline.spec.rules.language import forall, maximum, stack, where
from soundline.spec.rules.terms import Size, Tensor
from trials.attack.drawing import Draw, Link, applied


class _Gather:
    """Tensors of m elements, and of k indices and masks."""

    def __init__(self, d: Draw) -> None:
        self.m, self.k = forall(Size, "m"), forall(Size, "k")
        self.x, self.z = forall(Tensor["m"], "x"), forall(Tensor["m"], "z")
        self.y = forall(Tensor["k"], "y")
        self.i, self.j = forall(Tensor[index, "k"], "i"), forall(Tensor[index, "k"], "j")
        self.b = forall(Tensor[bool_, "k"], "b")
        self.op = d.any_of(Op.Add, Op.Mul, Op.Max) if d.dtype is not bool_ else d.any_of(Op.Max, Op.Mul)


def gather_law(d: Draw) -> Link:
    """A law of gathers, and perhaps a reduction of both sides."""
    g = _Gather(d)
    law = d.any_of(_of_moved, _of_op, _of_choice, _lost, _lost, _lost_reduction)
    left, right = law(d, g)
    if law is not _lost_reduction and d.often(0.4):
        m = d.reduction()
        left, right = left.reduce(m, 0), right.reduce(m, 0)
        if d.often(0.3):
            left, right = _lost_beside(d, g, left, right)
    return left, right


def _of_moved(d: Draw, g: _Gather) -> Link:
    x, i, j, m = g.x, g.i, g.j, g.m
    o, s = forall(Size, "o"), forall(Size, "s")
    inside, none = (i >= o) & (i < o + m), d.dtype is not bool_ and 0
    return d.any_of(
        lambda: (x.flip((True,)).index(i), d.near(x.index(m - 1 - i), x.index(m - i), x.index(i))),
        lambda: (x.index(i).flip((True,)), d.near(x.index(i.flip((True,))), x.flip((True,)).index(i))),
        lambda: (x.index(i).index(j), d.near(x.index(i.index(j)), x.index(j).index(i), x.index(j.index(i)))),
        lambda: (
            x.pad((o,), (s,)).index(i),
            d.near(where(inside, x.index(i - o), none), where(i >= o, x.index(i - o), none), x.index(i - o)),
        ),
        lambda: (
            x.shrink((o,), (s,)).index(i),
            d.near(x.index(i + o), x.index(i), x.shrink((0,), (s,)).index(i)),
        ),
        lambda: (x.index(i), d.near(x.index(maximum(i, 0)), x.index(i % m), x.index(where(i < m, i, 0)))),
    )()


def _of_op(d: Draw, g: _Gather) -> Link:
    x, z, y, i, j = g.x, g.z, g.y, g.i, g.j
    right = applied(g.op, x.index(i), z.index(i))
    others = (applied(g.op, z.index(i), x.index(i)), applied(g.op, x.index(i), z.index(j)), x.index(i))
    return d.any_of(
        lambda: (applied(g.op, x, z).index(i), d.near(right, *others)),
        lambda: (right, d.near(applied(g.op, x, z).index(i), *others)),
        lambda: (
            stack(x.index(i), y).index(d.any_of(0, 1)),
            d.near(x.index(i), y, stack(y, x.index(i)).index(1)),
        ),
    )()


def _of_choice(d: Draw, g: _Gather) -> Link:
    x, z, y, i, b = g.x, g.z, g.y, g.i, g.b
    here = (i >= 0) & (i < g.m)
    masked = where(b, x.index(i), y)
    both = where(b, x.index(i), z.index(i))
    return d.any_of(
        lambda: (both, d.near(where(~b, z.index(i), x.index(i)), where(b, z.index(i), x.index(i)))),
        lambda: (masked, d.near(where(~b, y, x.index(i)), where(b, x.index(i), x.index(i)))),
        lambda: (masked, d.near(where(b, masked, y), where(b, y, masked), maximum(masked, masked))),
        lambda: (
            d.near(where(here, x.index(i), y), where(i >= 0, x.index(i), y)),
            d.near(where(here, x.index(i), y), x.index(i), where(i < g.m, x.index(i), y)),
        ),
        lambda: (where(b, masked, masked), d.near(masked, where(b, x.index(i), x.index(i)))),
    )()


def _lost(d: Draw, g: _Gather) -> Link:
    """A right side that computes what it does not need."""
    e = d.any_of(g.y, g.y, where(g.b, g.x.index(g.i), g.y), maximum(g.y, g.x.index(g.i)))
    a = d.any_of(g.x.index(g.i), where(g.b, g.x.index(g.i), g.y), where(g.b, g.z.index(g.i), g.y))
    return e, _with(d, e, a)


def _lost_reduction(d: Draw, g: _Gather) -> Link:
    """The same of reductions."""
    m = d.reduction()
    e = d.any_of(g.y.reduce(m, 0), g.x.reduce(m, 0), g.x.index(g.i).reduce(m, 0))
    return _lost_beside(d, g, e, e)


def _lost_beside(d: Draw, g: _Gather, left: Any, right: Any) -> Link:
    m = d.reduction()
    a = d.any_of(g.x.index(g.i), g.z.index(g.i), where(g.b, g.x.index(g.i), g.y), g.y, g.y).reduce(m, 0)
    return left, _with(d, right, a)


def _with(d: Draw, e: Any, a: Any) -> Any:
    """e, and an a that makes no difference where it is valid."""
    if d.dtype is bool_:
        return d.any_of(e | (a & ~a), where(a, e, e), where(a == a, e, ~e), e & (a | ~a))
    some = [where(a == a, e, a), where(a > e, e, e), stack(a, e).index(1), maximum(e, maximum(e, e))]
    if not d.dtype.is_float:
        some += [e + a - a, e + a * 0, where(a < a, a, e), a + e - a]
    return d.any_of(*some)
