"""
Random rules
============

Rules that nobody wrote, for an attack on the prover. Over one random base two chains of ops are built, link by link: at
each link a law of tensors or of loops is drawn, of which the one chain has the left side, and the other the right side
or something that is nearly it: a bound that is off by one, the other permutation, a set of axes too many, a guard
forgotten, a condition left out. Which of the rules are right, nobody says; `rule_inputs` looks for what shows that one
is wrong.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

from soundline.spec.dtypes import (
    DType,
    bool_,
    float16,
    float32,
    index,
    int8,
    int32,
    uint8,
)
from soundline.spec.errors import RuleError
from soundline.spec.notation import show
from soundline.spec.op_schema import Op
from soundline.spec.ranges import Body, Range, reduce_over
from soundline.spec.rules import (
    Rule,
    compose,
    disjoint,
    forall,
    fresh,
    given,
    identity,
    inverse,
    is_identity,
    maximum,
    no_axes,
    rule,
    stack,
    subset,
    where,
)
from soundline.spec.terms import Axes, Const, Flags, Monoid, Offset, Perm, Shape, Size, Tensor, Value, axes

Link = tuple[Any, Any]
"""What a law makes of both chains."""

DTYPES = (int8, int8, int32, uint8, index, float16, float32, bool_)

MOST = {"p": 1, "f": 2, "a": 2, "m": 1, "y": 1, "b": 1, "c": 1}
"""So many variables of a kind has a rule; where there are as many, one of them is taken again."""


class Draw:
    """What is drawn for one rule."""

    def __init__(self, source: Random, dtype: DType) -> None:
        self.source = source
        self.dtype = dtype
        self.had: dict[str, list[Any]] = {}

    def any_of(self, *them: Any) -> Any:
        """One of them."""
        return self.source.choice(them)

    def near(self, right: Any, *others: Any) -> Any:
        """The first of them as often as all others."""
        return right if not others or self.source.random() < 0.72 else self.source.choice(others)

    def often(self, part: float) -> bool:
        """Whether, in this part of all cases."""
        return self.source.random() < part

    def new(self, kind: Any, stem: str) -> Any:
        """A variable of a kind, perhaps one that there is."""
        had = self.had.setdefault(stem, [])
        if len(had) >= MOST.get(stem, 3) or (had and self.often(0.3)):
            return self.source.choice(had)
        had.append(forall(kind, f"{stem}{len(had)}"))
        return had[-1]

    def perm(self) -> Any:
        """A permutation."""
        p = self.new(Perm, "p")
        return self.any_of(p, p, inverse(p))

    def axes(self) -> Any:
        """A set of axes."""
        a = self.new(Axes, "a")
        return self.any_of(a, a, a, ~a) if len(self.had["a"]) == 1 else a

    def fold(self) -> Any:
        """What is folded with."""
        if self.dtype is bool_:
            return self.any_of(Op.Max, Op.Mul)
        return self.any_of(Op.Add, Op.Add, Op.Max, Op.Mul, self.new(Monoid, "m"))

    def beside(self, e: Any) -> Any:
        """Another tensor of the shape of e."""
        y = self.new(Tensor, "y")
        given(y.shape == e.shape)
        return y

    def given(self, *conditions: Any) -> None:
        """A condition, or perhaps none."""
        if self.often(0.7):
            given(self.source.choice(conditions))


# laws of tensors of any rank --------------------------------------------------------------------------------------


def fold_of_fold(d: Draw, e: Any, u: Any) -> Link:
    """Two folds along sets of axes."""
    m, a, b = d.fold(), d.axes(), d.axes()
    k = m if d.often(0.8) else d.fold()
    d.given(disjoint(a, b), disjoint(a, b), subset(a, b), no_axes(b))
    others = (u.reduce(k, b).reduce(m, a), u.reduce(m, a & b), u.reduce(m, a ^ b), u.reduce(m, a))
    return e.reduce(m, a).reduce(k, b), d.near(u.reduce(m, a | b), *others)


def fold_of_flip(d: Draw, e: Any, u: Any) -> Link:
    """A fold of what was reversed."""
    m, a, b = d.fold(), d.axes(), d.axes()
    d.given(disjoint(a, b), subset(b, a), no_axes(a))
    others = (u.reduce(m, a), u.reduce(m, a).flip(~b), u.reduce(m, b).flip(a), u.flip(b - a).reduce(m, a))
    return e.flip(b).reduce(m, a), d.near(u.reduce(m, a).flip(b), *others)


def fold_of_permute(d: Draw, e: Any, u: Any) -> Link:
    """A fold of what was permuted."""
    m, a, p = d.fold(), d.axes(), d.perm()
    d.given(p == inverse(p), a.permute(p) == a, no_axes(a))
    right = u.reduce(m, a.permute(inverse(p))).permute(p)
    return e.permute(p).reduce(m, a), d.near(
        right, u.reduce(m, a.permute(p)).permute(p), u.reduce(m, a).permute(p)
    )


def fold_of_pad(d: Draw, e: Any, u: Any) -> Link:
    """A fold of what was padded by one on each side, or by some on one."""
    m, a = d.fold(), d.axes()
    before, more = d.any_of((0, 1), (1, 1), (1, 2), (0, 2))
    kept = u.reduce(m, a)
    others = (
        kept.pad(before, where(a, 1, kept.shape + more)),
        kept,
        kept.pad(where(a, before, 0), kept.shape + more),
    )
    right = kept.pad(where(a, 0, before), where(a, 1, kept.shape + more))
    return e.pad(before, e.shape + more).reduce(m, a), d.near(right, *others)


def fold_of_shrink(d: Draw, e: Any, u: Any) -> Link:
    """A fold of which a part is wanted."""
    m, a = d.fold(), d.axes()
    o = d.any_of(0, 1)
    left = e.reduce(m, a)
    left = left.shrink(where(a, 0, o), where(a, 1, left.shape - 1))
    right = u.shrink(where(a, 0, o), where(a, u.shape, u.shape - 1)).reduce(m, a)
    others = (
        u.shrink(where(a, 0, 1 - o), where(a, u.shape, u.shape - 1)).reduce(m, a),
        u.shrink(where(a, o, o), where(a, u.shape - 1, u.shape - 1)).reduce(m, a),
    )
    return left, d.near(right, *others)


def fold_of_expand(d: Draw, e: Any, u: Any) -> Link:
    """A fold of copies."""
    m, a, s = d.fold(), d.axes(), d.new(Shape, "s")
    d.given(where(a, s, 1) >= 1, where(a, s, 1) == where(a, e.shape, 1), where(a, e.shape, 1) == 1)
    if d.often(0.5):
        d.given(where(a, e.shape, 1) == 1)
    kept = u.reduce(m, a)
    return e.expand(s).reduce(m, a), d.near(
        kept.expand(where(a, 1, s)), u.expand(where(a, 1, s)), kept.expand(s)
    )


def fold_of_op(d: Draw, e: Any, u: Any) -> Link:
    """A fold of an op of two tensors, which may be the fold's own."""
    m, k, a, y = d.fold(), d.fold(), d.axes(), d.beside(e)
    k = m if d.often(0.6) else k
    others = (
        applied(k, u.reduce(m, a), y.reduce(k, a)),
        applied(m, u.reduce(m, a), y.reduce(m, a)),
        applied(k, y.reduce(m, a), u.reduce(m, a)),
    )
    return applied(k, e, y).reduce(m, a), d.near(applied(k, u.reduce(m, a), y.reduce(m, a)), *others)


def fold_of_scaled(d: Draw, e: Any, u: Any) -> Link:
    """A fold of what was scaled, shifted or negated."""
    m, a, c = d.fold(), d.axes(), d.new(Const, "c")
    by = d.any_of(Op.Mul, Op.Mul, Op.Add, Op.Max)
    if d.dtype is not bool_:
        d.given(c > 0, c >= 0, c != 0, c == 1)
    if d.often(0.3):
        d.given(where(a, e.shape, 1) >= 1, where(a, e.shape, 1) == 1)
    return applied(by, e, c).reduce(m, a), d.near(applied(by, u.reduce(m, a), c), u.reduce(m, a))


def fold_of_masked(d: Draw, e: Any, u: Any) -> Link:
    """A fold of what is masked, and of what the mask leaves out."""
    m, k, a, b = d.fold(), d.fold(), d.axes(), d.new(Tensor[bool_], "b")
    k = m if d.often(0.7) else k
    given(b.shape == e.shape)
    left = applied(m, where(b, e, identity(k)).reduce(m, a), where(b, identity(m), e).reduce(m, a))
    return left, d.near(u.reduce(m, a), u.reduce(k, a), where(b, u, identity(m)).reduce(m, a))


def fold_of_cast(d: Draw, e: Any, u: Any) -> Link:
    """A fold of what was cast there and back."""
    m, a, t = d.fold(), d.axes(), d.any_of(int8, int32, uint8, float32, float16)
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
    m, a, p, f = d.fold(), d.axes(), d.perm(), d.new(Flags, "f")
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
    """Folds along axes that are numbered, from the left or from the right."""
    m, a, p, f = d.fold(), d.axes(), d.perm(), d.new(Flags, "f")
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
    m, y, f = d.fold(), d.beside(e), d.new(Flags, "f")
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
    """One permutation again and again, alone or under a fold."""
    p, m, a = d.perm(), d.fold(), d.axes()
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
    fold_of_fold,
    fold_of_fold,
    fold_of_flip,
    fold_of_permute,
    fold_of_pad,
    fold_of_shrink,
    fold_of_expand,
    fold_of_op,
    fold_of_scaled,
    fold_of_masked,
    fold_of_cast,
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
    """A law of a matrix of m rows and n columns: its reshapes, and folds of them."""
    k, at = d.fold(), d.any_of(0, 1)
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


# laws of loops ----------------------------------------------------------------------------------------------------


def loop_law(d: Draw) -> Link:
    """A law of one loop."""
    n, r = forall(Size, "n"), forall(Range["n"], "r")  # type: ignore[misc, name-defined]
    f, g = forall(Body["r"], "f"), forall(Body["r"], "g")  # type: ignore[misc, name-defined]
    m, c = d.fold(), d.new(Const, "c")
    k = forall(d.any_of(Size, Value[index]), "k")
    none = d.near(identity(m), 0, identity(d.fold()))
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
    folded = reduce_over(m, (i, j), guarded)
    return left, d.near(
        folded, reduce_over(m, i, reduce_over(m, j, guarded)), reduce_over(m, (j, i), guarded)
    )


def nest_law(d: Draw) -> Link:
    """A law of one loop in another."""
    m, n = forall(Size, "m"), forall(Size, "n")
    r, s = forall(Range["m"], "r"), forall(Range["n"], "s")  # type: ignore[misc, name-defined]
    f = forall(Body["r", "s"], "f")  # type: ignore[misc, name-defined]
    op = d.fold()
    outer = op if d.often(0.85) else d.fold()
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


# rules ------------------------------------------------------------------------------------------------------------


def applied(op: Any, x: Any, y: Any) -> Any:
    """An op of two operands, or a Monoid, on terms."""
    if not isinstance(op, Op):
        return op(x, y)
    return {Op.Add: lambda: x + y, Op.Mul: lambda: x * y, Op.Max: lambda: maximum(x, y)}[op]()


def _base(d: Draw) -> Any:
    x = forall(Tensor, "x")
    f, c = d.new(Flags, "f"), d.new(Const, "c")
    return d.any_of(
        lambda: x,
        lambda: x,
        lambda: x.flip(f),
        lambda: maximum(x, c),
        lambda: where(d.new(Tensor[bool_], "b"), x, 0) if d.dtype is not bool_ else ~x,
    )()


def _sides(d: Draw) -> Link:
    kind = d.source.random()
    if kind < 0.2:
        return loop_law(d)
    if kind < 0.28:
        return nest_law(d)
    if kind < 0.4:
        m, n = forall(Size, "m"), forall(Size, "n")
        x = forall(Tensor["m", "n"], "x")  # type: ignore[misc, name-defined]
        return matrix_law(d, d.any_of(x, x, maximum(x, x.flip((True, False)))), m, n)
    left = right = _base(d)
    for _ in range(d.any_of(1, 1, 1, 2, 2, 3)):
        left, right = d.any_of(*TENSOR_LAWS)(d, left, right)
    return left, right


def random_rule(seed: int) -> Rule | None:
    """The rule of a number; None where what was drawn is no rule."""
    source = Random(seed)  # repeatable, and no secret
    dtype = source.choice(DTYPES)

    def drawn() -> Link:
        return _sides(Draw(source, dtype))

    try:
        stated = rule(dtypes=[dtype], id=f"drawn_{seed}")(drawn)
    except RuleError:
        return None
    return None if show(stated.left) == show(stated.right) else stated
