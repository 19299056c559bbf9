# mypy: disable-error-code="misc, name-defined, no-any-return, no-untyped-call"
"""
Laws of several dtypes
======================

What a random rule may do with dtypes beside its own: casts and bitcasts around reductions, comparisons and what is
reduced of them, tensors of another dtype, and ops that are any op.
"""

from __future__ import annotations

from typing import Any

from soundline.spec.dtypes import (
    DType,
    bool_,
    float16,
    float32,
    index,
    int8,
    int16,
    int32,
    uint8,
    uint16,
    uint32,
)
from soundline.spec.ops.node import Op
from soundline.spec.rules.language import forall, given, is_float, maximum, preserves_zero, where
from soundline.spec.rules.terms import BinaryOp, Flags, Tensor, UnaryOp
from trials.attack.drawing import Draw, Link, applied

ALIKE: dict[DType, tuple[DType, ...]] = {
    int8: (uint8,),
    uint8: (int8,),
    int32: (uint32, float32),
    float32: (uint32, int32),
    float16: (uint16, int16),
}
"""The dtypes of one item size."""

OTHERS = (int8, int16, int32, uint8, uint16, float16, float32, bool_, index)


def converted(d: Draw, e: Any, u: Any) -> Link:
    """Two casts as one, or a cast through movement."""
    t, s, f = d.any_of(*OTHERS), d.any_of(*OTHERS), d.new(Flags, "f")
    return d.any_of(
        lambda: (e.cast(t).cast(s), d.near(u.cast(s), u.cast(t).cast(s))),
        lambda: (e.flip(f).cast(t), d.near(u.cast(t).flip(f), u.cast(t))),
        lambda: (e.pad(1, e.shape + 2).cast(t), d.near(u.cast(t).pad(1, u.shape + 2), u.cast(t))),
        lambda: (maximum(e, u).cast(t), d.near(maximum(u.cast(t), u.cast(t)), u.cast(t))),
    )()


def reduction_of_bits(d: Draw, e: Any, u: Any) -> Link:
    """A reduction of bits that are read in another way."""
    if d.dtype not in ALIKE:
        return converted(d, e, u)
    t, m, a = d.any_of(*ALIKE[d.dtype]), d.reduction(), d.axes()
    others = (u.reduce(m, a), u.reduce(m, a).bitcast(t).bitcast(d.dtype))
    return e.bitcast(t).reduce(m, a).bitcast(d.dtype), d.near(*others)


def reduction_of_comparison(d: Draw, e: Any, u: Any) -> Link:
    """Whether any element, or each, is greater than a number; and the same of the greatest."""
    a, c = d.axes(), d.beside(e)
    k = d.any_of(Op.Max, Op.Mul)
    greatest = u.max(a)
    d.given(where(a, e.shape, 1) >= 1, where(a, e.shape, 1) == 1)
    zero = e - e if d.dtype is not bool_ else e & ~e
    plain = u - u if d.dtype is not bool_ else u & ~u
    return d.any_of(
        lambda: ((e > zero).reduce(k, a), (u > plain).reduce(Op.Max, a)),
        lambda: ((e < c).reduce(k, a), d.near((u >= c).reduce(Op.Mul, a), ~(u >= c).reduce(Op.Max, a))),
        lambda: ((e == c).reduce(k, a), d.near((c == u).reduce(k, a), ~((u != c).reduce(Op.Max, a)))),
        lambda: (e.cast(bool_).reduce(k, a), d.near(greatest.cast(bool_), (u != plain).reduce(k, a))),
        lambda: (~(e == c).reduce(Op.Max, a), d.near((u != c).reduce(Op.Mul, a), (u != c).reduce(Op.Max, a))),
    )()


def reduction_beside_another(d: Draw, e: Any, u: Any) -> Link:
    """A reduction of a sum or a product with a tensor of another dtype."""
    t = d.any_of(*OTHERS)
    y, m, a = forall(Tensor[t], "w"), d.reduction(), d.axes()
    given(y.shape == e.shape)
    op = d.any_of(m, m, Op.Max)
    return d.any_of(
        lambda: (
            applied(op, e, y.cast(d.dtype)).reduce(m, a),
            d.near(
                applied(op, u.reduce(m, a), y.cast(d.dtype).reduce(m, a)),
                applied(op, u.reduce(m, a), y.reduce(m, a).cast(d.dtype)),
            ),
        ),
        lambda: (
            y.reduce(m if t is not bool_ else Op.Max, a).cast(d.dtype),
            d.near(y.cast(d.dtype).reduce(m, a), y.cast(d.dtype)),
        ),
        lambda: (
            e.cast(t).max(a).cast(d.dtype),
            d.near(u.max(a).cast(t).cast(d.dtype), u.cast(t).cast(d.dtype).max(a)),
        ),
    )()


def any_op(d: Draw, e: Any, u: Any) -> Link:
    """An op of which nothing is known but how many operands it has."""
    one, two, f, m, a = (
        forall(UnaryOp, "o"),
        forall(BinaryOp, "q"),
        d.new(Flags, "f"),
        d.reduction(),
        d.axes(),
    )
    y = d.beside(e)
    d.given(preserves_zero(one), preserves_zero(two), is_float(e.dtype))
    return d.any_of(
        lambda: (one(e.flip(f)), d.near(one(u).flip(f), one(u))),
        lambda: (one(e).pad(1, e.shape + 2), d.near(one(u.pad(1, u.shape + 2)), one(u).pad(0, u.shape + 2))),
        lambda: (one(e.reduce(m, a)), d.near(one(u).reduce(m, a), one(u.reduce(m, a)))),
        lambda: (two(e.flip(f), y.flip(f)), d.near(two(u, y).flip(f), two(y, u).flip(f))),
        lambda: (two(e, y), d.near(two(u, y), two(y, u))),
        lambda: (one(maximum(e, y)), d.near(maximum(one(u), one(y)), one(maximum(y, u)))),
    )()


CAST_LAWS = (converted, reduction_of_bits, reduction_of_comparison, reduction_beside_another, any_op)
