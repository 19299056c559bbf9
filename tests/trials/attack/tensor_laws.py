# mypy: disable-error-code="misc, name-defined, no-any-return, no-untyped-call"
"""
Laws of tensors
===============

What a random rule may do to tensors of any rank and to matrices: each law has a left side, and a right side that is
right or nearly so.
"""

from __future__ import annotations

from typing import Any

from soundline.spec.dtypes import (
    bool_,
    float16,
    float32,
    index,
    int8,
    int32,
    uint8,
)
from soundline.spec.ops.node import Op
from soundline.spec.rules.language import (
    compose,
    disjoint,
    given,
    identity,
    inverse,
    is_identity,
    maximum,
    no_axes,
    stack,
    subset,
    where,
)
from soundline.spec.rules.terms import Const, Flags, Offset, Shape, Tensor, Value, axes
from trials.attack.drawing import Draw, Link, applied


def reduction_of_reduction(d: Draw, e: Any, u: Any) -> Link:
    """Two reductions along sets of axes."""
    m, a, b = d.reduction(), d.axes(), d.axes()
    k = m if d.often(0.8) else d.reduction()
    d.given(disjoint(a, b), disjoint(a, b), subset(a, b), no_axes(b))
    others = (u.reduce(k, b).reduce(m, a), u.reduce(m, a & b), u.reduce(m, a ^ b), u.reduce(m, a))
    return e.reduce(m, a).reduce(k, b), d.near(u.reduce(m, a | b), *others)


def reduction_of_flip(d: Draw, e: Any, u: Any) -> Link:
    """A reduction of what was reversed."""
    m, a, b = d.reduction(), d.axes(), d.axes()
    d.given(disjoint(a, b), subset(b, a), no_axes(a))
    others = (u.reduce(m, a), u.reduce(m, a).flip(~b), u.reduce(m, b).flip(a), u.flip(b - a).reduce(m, a))
    return e.flip(b).reduce(m, a), d.near(u.reduce(m, a).flip(b), *others)


def reduction_of_permute(d: Draw, e: Any, u: Any) -> Link:
    """A reduction of what was permuted."""
    m, a, p = d.reduction(), d.axes(), d.perm()
    d.given(p == inverse(p), a.permute(p) == a, no_axes(a))
    right = u.reduce(m, a.permute(inverse(p))).permute(p)
    return e.permute(p).reduce(m, a), d.near(
        right, u.reduce(m, a.permute(p)).permute(p), u.reduce(m, a).permute(p)
    )


def reduction_of_pad(d: Draw, e: Any, u: Any) -> Link:
    """A reduction of what was padded by one on each side, or by some on one."""
    m, a = d.reduction(), d.axes()
    before, more = d.any_of((0, 1), (1, 1), (1, 2), (0, 2))
    kept = u.reduce(m, a)
    others = (
        kept.pad(before, where(a, 1, kept.shape + more)),
        kept,
        kept.pad(where(a, before, 0), kept.shape + more),
    )
    right = kept.pad(where(a, 0, before), where(a, 1, kept.shape + more))
    return e.pad(before, e.shape + more).reduce(m, a), d.near(right, *others)


def reduction_of_shrink(d: Draw, e: Any, u: Any) -> Link:
    """A reduction of which a part is wanted."""
    m, a = d.reduction(), d.axes()
    o = d.any_of(0, 1)
    left = e.reduce(m, a)
    left = left.shrink(where(a, 0, o), where(a, 1, left.shape - 1))
    right = u.shrink(where(a, 0, o), where(a, u.shape, u.shape - 1)).reduce(m, a)
    others = (
        u.shrink(where(a, 0, 1 - o), where(a, u.shape, u.shape - 1)).reduce(m, a),
        u.shrink(where(a, o, o), where(a, u.shape - 1, u.shape - 1)).reduce(m, a),
    )
    return left, d.near(right, *others)


def reduction_of_expand(d: Draw, e: Any, u: Any) -> Link:
    """A reduction of copies."""
    m, a, s = d.reduction(), d.axes(), d.new(Shape, "s")
    d.given(where(a, s, 1) >= 1, where(a, s, 1) == where(a, e.shape, 1), where(a, e.shape, 1) == 1)
    if d.often(0.5):
        d.given(where(a, e.shape, 1) == 1)
    kept = u.reduce(m, a)
    return e.expand(s).reduce(m, a), d.near(
        kept.expand(where(a, 1, s)), u.expand(where(a, 1, s)), kept.expand(s)
    )


def reduction_of_op(d: Draw, e: Any, u: Any) -> Link:
    """A reduction of an op of two tensors, which may be the reduction's own."""
    m, k, a, y = d.reduction(), d.reduction(), d.axes(), d.beside(e)
    k = m if d.often(0.6) else k
    others = (
        applied(k, u.reduce(m, a), y.reduce(k, a)),
        applied(m, u.reduce(m, a), y.reduce(m, a)),
        applied(k, y.reduce(m, a), u.reduce(m, a)),
    )
    return applied(k, e, y).reduce(m, a), d.near(applied(k, u.reduce(m, a), y.reduce(m, a)), *others)


def reduction_of_scaled(d: Draw, e: Any, u: Any) -> Link:
    """A reduction of what was scaled, shifted or negated."""
    m, a, c = d.reduction(), d.axes(), d.new(Const, "c")
    by = d.any_of(Op.Mul, Op.Mul, Op.Add, Op.Max)
    if d.dtype is not bool_:
        d.given(c > 0, c >= 0, c != 0, c == 1)
    if d.often(0.3):
        d.given(where(a, e.shape, 1) >= 1, where(a, e.shape, 1) == 1)
    return applied(by, e, c).reduce(m, a), d.near(applied(by, u.reduce(m, a), c), u.reduce(m, a))


def reduction_of_masked(d: Draw, e: Any, u: Any) -> Link:
    """A reduction of what is masked, and of what the mask leaves out."""
    m, k, a, b = d.reduction(), d.reduction(), d.axes(), d.new(Tensor[bool_], "b")
    k = m if d.often(0.7) else k
    given(b.shape == e.shape)
    left = applied(m, where(b, e, identity(k)).reduce(m, a), where(b, identity(m), e).reduce(m, a))
    return left, d.near(u.reduce(m, a), u.reduce(k, a), where(b, u, identity(m)).reduce(m, a))


def reduction_of_cast(d: Draw, e: Any, u: Any) -> Link:
    """A reduction of what was cast there and back."""
    m, a, t = d.reduction(), d.axes(), d.any_of(int8, int32, uint8, float32, float16)
    d.given(where(a, e.shape, 1) >= 1)
    return e.cast(t).reduce(m, a).cast(e.dtype), d.near(u.reduce(m, a).cast(t).cast(u.dtype), u.reduce(m, a))


def two_moves(d: Draw, e: Any, u: Any) -> Link:
    """One move after another, in the other order or as one."""
    p, f, g = d.perm(), d.new(Flags, "f"), d.new(Flags, "f")
    o, more = d.any_of((0, 1), (1, 1), (1, 2))
    n, w = e.shape, u.shape
    return d.any_of(
        lambda: (e.flip(f).flip(g), d.near(u.flip(f ^ g), u.flip(f), u.flip(~f ^ g))),
        lambda: (e.permute(p).permute(p), d.near(u.permute(compose(p, p)), u, u.permute(p))),
        lambda: (
            e.flip(f).permute(p),
            d.near(u.permute(p).flip(f.permute(p)), u.permute(p).flip(f.permute(inverse(p)))),
        ),
        lambda: (
            e.pad(o, n + more).flip(f),
            d.near(
                u.flip(f).pad(where(f, more - o + 0 * w, o), w + more),
                u.flip(f).pad(o, w + more),
                u.flip(f).pad(where(f, o, more - o + 0 * w), w + more),
            ),
        ),
        lambda: (
            e.shrink(1, n - 1).flip(f),
            d.near(
                u.flip(f).shrink(where(f, 0, 1), w - 1),
                u.flip(f).shrink(1, w - 1),
                u.flip(f).shrink(where(f, 1, 0), w - 1),
            ),
        ),
        lambda: (e.pad(o, n + more).shrink(o, n), d.near(u, u.shrink(0, w), u.pad(0, w))),
        lambda: (
            e.pad(o, n + more).permute(p),
            d.near(u.permute(p).pad(o, w.permute(p) + more), u.permute(p)),
        ),
        lambda: (
            e.pad(1, n + 2).pad(o, n + 2 + more),
            d.near(u.pad(o + 1, w + 2 + more), u.pad(o, w + 2 + more), u.pad(1, w + 2).pad(1, w + 2 + more)),
        ),
    )()


def moved_offsets(d: Draw, e: Any, u: Any) -> Link:
    """Windows whose offsets are variables."""
    o, s, f = d.new(Offset, "o"), d.new(Shape, "s"), d.new(Flags, "f")
    n = u.shape
    return d.any_of(
        lambda: (
            e.shrink(o, s).flip(f),
            d.near(u.flip(f).shrink(where(f, n - o - s, o), s), u.flip(f).shrink(where(f, n - s, o), s)),
        ),
        lambda: (e.pad(o, s).shrink(o, e.shape), d.near(u, u.shrink(o, s))),
        lambda: (e.shrink(o, s).shrink(0, s), d.near(u.shrink(o, s), u.shrink(0, s))),
        lambda: (e.shrink(o, s).pad(o, e.shape), d.near(u, u.flip(f))),
    )()


def op_of_moved(d: Draw, e: Any, u: Any) -> Link:
    """An op through a move."""
    y, p, f = d.beside(e), d.perm(), d.new(Flags, "f")
    op = d.any_of(Op.Max, Op.Mul, Op.Add)
    return d.any_of(
        lambda: (
            applied(op, e.flip(f), y.flip(f)),
            d.near(applied(op, u, y).flip(f), applied(op, u, y), applied(op, y, u).flip(f)),
        ),
        lambda: (applied(op, e, y.flip(f)), d.near(applied(op, u.flip(f), y).flip(f), applied(op, u, y))),
        lambda: (
            applied(op, e.permute(p), y.permute(p)),
            d.near(applied(op, u, y).permute(p), applied(op, u, y).permute(inverse(p))),
        ),
        lambda: (
            applied(op, e.pad(1, e.shape + 1), y.pad(1, y.shape + 1)),
            d.near(applied(op, u, y).pad(1, u.shape + 1), applied(op, u, y).pad(0, u.shape + 1)),
        ),
    )()


def same_link(d: Draw, e: Any, u: Any) -> Link:
    """One op on both chains."""
    m, a, p, f = d.reduction(), d.axes(), d.perm(), d.new(Flags, "f")
    of = d.any_of(
        lambda x: x.reduce(m, a),
        lambda x: x.permute(p),
        lambda x: x.flip(f),
        lambda x: x.flip(a),
        lambda x: x.pad(1, x.shape + 2),
        lambda x: maximum(x, x.flip(f)),
    )
    return of(e), of(u)


def numbered_axes(d: Draw, e: Any, u: Any) -> Link:
    """Reductions along axes that are numbered, from the left or from the right."""
    m, a, p, f = d.reduction(), d.axes(), d.perm(), d.new(Flags, "f")
    j, k = d.any_of(0, 0, -1, 1, -2), d.any_of(0, -1, 1)
    return d.any_of(
        lambda: (
            e.reduce(m, j).reduce(m, a),
            d.near(u.reduce(m, a | axes(j)), u.reduce(m, a).reduce(m, j), u.reduce(m, a ^ axes(j))),
        ),
        lambda: (
            e.reduce(m, j).reduce(m, k),
            d.near(u.reduce(m, axes(j) | axes(k)), u.reduce(m, k).reduce(m, j), u.reduce(m, j)),
        ),
        lambda: (
            e.flip(f).reduce(m, j),
            d.near(u.reduce(m, j).flip(f), u.reduce(m, j), u.reduce(m, j).flip(axes(j)), u.flip(axes(j))),
        ),
        lambda: (
            e.permute(p).reduce(m, j),
            d.near(u.reduce(m, axes(j).permute(inverse(p))).permute(p), u.reduce(m, j).permute(p)),
        ),
        lambda: (
            e.flip(axes(j)).flip(axes(k)),
            d.near(u.flip(axes(j) ^ axes(k)), u.flip(axes(j) | axes(k)), u.flip(axes(k))),
        ),
    )()


def leading_axes(d: Draw, e: Any, u: Any) -> Link:
    """An element or some elements along the first axis, and stacks."""
    m, y, f = d.reduction(), d.beside(e), d.new(Flags, "f")
    i = d.new(d.any_of(Value[index], Tensor[index, "l"]), "i")
    j, k = d.any_of(0, 1), d.any_of(0, 1)
    return d.any_of(
        lambda: (
            e.index(i).reduce(m, j),
            d.near(u.reduce(m, j + k).index(i), u.reduce(m, j).index(i), u.reduce(m, 1).index(i)),
        ),
        lambda: (
            applied(Op.Max, e.index(i), y.index(i)),
            d.near(maximum(u, y).index(i), maximum(y, u).index(i), u.index(i)),
        ),
        lambda: (
            e.flip(axes(j)).index(i),
            d.near(u.index(i).flip(axes(j)), u.index(u.shape[0] - 1 - i), u.index(u.shape[j] - 1 - i)),
        ),
        lambda: (stack(e, y).index(j), d.near(y if j else u, u, y)),
        lambda: (
            stack(e.flip(f), y.flip(f)).index(i),
            d.near(stack(u, y).index(i).flip(f), where(i == 0, u, y).flip(f)),
        ),
        lambda: (
            stack(e, y).reduce(m, k).index(j),
            d.near(u.reduce(m, 0) if k else applied(m, u, y), y.reduce(m, 0), applied(m, u, y)),
        ),
        lambda: (stack(e, y).flip(axes(k)).index(j), d.near(u if j else y, y, u.flip(axes(0)))),
        lambda: (
            stack(e.index(0), e.index(1)).index(i),
            d.near(u.index(i), u.index(1 - i)),
        ),
    )()


def permuted_often(d: Draw, e: Any, u: Any) -> Link:
    """One permutation again and again, alone or under a reduction."""
    p, m, a = d.perm(), d.reduction(), d.axes()
    d.given(p == inverse(p), is_identity(compose(compose(p, p), p)), a.permute(p) == a)
    left, right = e, u
    for _ in range(d.any_of(2, 3, 4, 6, 12)):
        left = left.permute(p)
    for _ in range(d.any_of(0, 0, 1, 2)):
        right = right.permute(p)
    return d.any_of(
        lambda: (left, right),
        lambda: (left.reduce(m, a), right.reduce(m, a)),
        lambda: (left.reduce(m, a).reduce(m, ~a), right.reduce(m, a).reduce(m, ~a)),
        lambda: (left.flip(a), right.flip(a)),
    )()


TENSOR_LAWS = (
    reduction_of_reduction,
    reduction_of_reduction,
    reduction_of_flip,
    reduction_of_permute,
    reduction_of_pad,
    reduction_of_shrink,
    reduction_of_expand,
    reduction_of_op,
    reduction_of_scaled,
    reduction_of_masked,
    reduction_of_cast,
    two_moves,
    two_moves,
    moved_offsets,
    op_of_moved,
    same_link,
    numbered_axes,
    numbered_axes,
    leading_axes,
    leading_axes,
    permuted_often,
)


# laws of matrices -------------------------------------------------------------------------------------------------


def matrix_law(d: Draw, x: Any, m: Any, n: Any) -> Link:
    """A law of a matrix of m rows and n columns: its reshapes, and reductions of them."""
    k, at = d.reduction(), d.any_of(0, 1)
    flat = x.reshape((m * n,))
    return d.any_of(
        lambda: (
            x.permute((1, 0)).reshape((m * n,)),
            d.near(flat, x.reshape((n, m)).reshape((m * n,)), x.permute((1, 0)).reshape((n * m,))),
        ),
        lambda: (
            x.flip((True, at == 1)).reshape((m * n,)),
            d.near(flat.flip((True,)), flat),
        ),
        lambda: (
            x.reduce(k, (0, 1)).reshape((1,)),
            d.near(
                flat.reduce(k, 0),
                x.reduce(k, 1).reduce(k, 0).reshape((1,)),
                x.permute((1, 0)).reshape((m * n,)).reduce(k, 0),
            ),
        ),
        lambda: (
            x.reduce(k, at).reduce(k, 1 - at),
            d.near(x.reduce(k, (0, 1)), x.reduce(k, 1 - at).reduce(k, at), x.reduce(k, at)),
        ),
        lambda: (
            flat.reshape((n, m)).reduce(k, at).reshape((m if at == 0 else n,)),
            d.near(
                x.permute((1, 0)).reduce(k, at).reshape((m if at == 0 else n,)),
                x.reduce(k, 1 - at).reshape((m if at == 0 else n,)),
            ),
        ),
        lambda: (
            x.reshape((m, n, 1)).reduce(k, d.any_of(0, 1)),
            d.near(x.reduce(k, 0).reshape((1, n, 1)), x.reduce(k, 1).reshape((m, 1, 1))),
        ),
        lambda: (
            x.pad((at, 0), (m + 1, n)).reshape(((m + 1) * n,)),
            d.near(flat.pad((n * at,), ((m + 1) * n,)), flat.pad((at,), ((m + 1) * n,))),
        ),
        lambda: (
            flat.shrink((n * at,), (n,)),
            d.near(x.shrink((at, 0), (1, n)).reshape((n,)), x.shrink((1 - at, 0), (1, n)).reshape((n,))),
        ),
    )()
