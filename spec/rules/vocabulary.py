"""
Vocabulary of rules
===================

The functions with which sides and conditions are written, beside the operators and methods of `terms`, and beside the
reductions over ranges, which are the chapter `ranges`.
"""

from __future__ import annotations

from typing import Any

from soundline.spec.dtypes import DType
from soundline.spec.errors import RuleError
from soundline.spec.ops.node import Op
from soundline.spec.rules.choices import (
    Axes,
    DTypeTerm,
    Flags,
    Perm,
    Static,
    axes,
    dtype_of,
    flagged,
    permutation,
)
from soundline.spec.rules.notation import Term, show
from soundline.spec.rules.terms import (
    BinaryOp,
    Monoid,
    UnaryOp,
    Value,
    Vector,
    apply,
    reduction_op,
    value,
    vector,
)


def where(condition: Any, a: Any, b: Any) -> Any:
    """`a` where the condition holds, else `b`; per axis where the condition is Flags."""
    if isinstance(condition, Flags):
        return Vector("where", (condition, vector(a), vector(b)))
    return apply(Op.Where, condition, a, b)


def maximum(a: Any, b: Any) -> Any:
    """The greater of two values (U-06); per axis of shapes and offsets."""
    if isinstance(a, Vector) or isinstance(b, Vector):
        return Vector(Op.Max, (vector(a), vector(b)))
    return apply(Op.Max, a, b)


def minimum(a: Any, b: Any) -> Any:
    """The lesser of two values: NaN if either is, and -0.0 before +0.0; per axis of shapes and offsets."""
    if isinstance(a, Vector) or isinstance(b, Vector):
        return 0 - Vector(Op.Max, (0 - vector(a), 0 - vector(b)))
    return Value("minimum", (value(a), value(b)))


def mulacc(a: Any, b: Any, c: Any) -> Value:
    """a · b + c in two roundings."""
    return apply(Op.Mulacc, a, b, c)


def cdiv(a: Any, b: Any) -> Value:
    """The quotient rounded toward zero."""
    return apply(Op.CDiv, a, b)


def cmod(a: Any, b: Any) -> Value:
    """The remainder of `cdiv`, with the sign of `a`."""
    return apply(Op.CMod, a, b)


def ediv(a: Any, b: Any) -> Value:
    """The Euclidean quotient: its remainder is never negative."""
    dividend, divisor = value(a), value(b)
    below = (divisor < 0) & (dividend % divisor < 0)
    return apply(Op.Where, below, dividend // divisor + 1, dividend // divisor)


def emod(a: Any, b: Any) -> Value:
    """The Euclidean remainder, 0 ≤ emod(a, b) < |b|."""
    dividend, divisor = value(a), value(b)
    remainder = dividend % divisor
    return apply(Op.Where, (divisor < 0) & (remainder < 0), remainder - divisor, remainder)


def fits(expression: Any) -> Value:
    """No operation of this integer expression wraps. Always true for ``index``."""
    return Value("fits", (value(expression),))


def compose(p: Perm, q: Perm) -> Perm:
    """The permutation that permutes by p, then by q: compose(p, q)[i] = p[q[i]]."""
    return Perm("compose", (permutation(p), permutation(q)))


def inverse(p: Perm) -> Perm:
    """The permutation that undoes p."""
    return Perm("inverse", (permutation(p),))


def is_identity(p: Perm) -> Static:
    """Whether p keeps every axis."""
    return Static("is_identity", (permutation(p),))


def no_flags(f: Flags) -> Static:
    """Whether no axis is flagged."""
    return Static("no_flags", (flagged(f),))


def no_axes(a: Axes) -> Static:
    """Whether the set is empty."""
    return Static("no_flags", (axes(a),))


def all_axes(a: Axes) -> Static:
    """Whether every axis is in the set."""
    return Static("no_flags", (~axes(a),))


def one_axis(a: Axes) -> Static:
    """Whether exactly one axis is in the set."""
    return Static("one_axis", (axes(a),))


def disjoint(a: Axes, b: Axes) -> Static:
    """Whether no axis is in both sets."""
    return Static("no_flags", (axes(a) & axes(b),))


def subset(a: Axes, b: Axes) -> Static:
    """Whether every axis of `a` is in `b`."""
    return Static("no_flags", (axes(a) - axes(b),))


def identity(op: Monoid | Op) -> Value:
    """The value of reducing nothing with `op` (U-10). Its dtype is that of the operand beside it, as of a number."""
    return Value("identity", (reduction_op(op),))


def lossless(source: DTypeTerm | DType, target: DTypeTerm | DType) -> Static:
    """Whether every value of `source` is a value of `target`."""
    return Static("lossless", (dtype_of(source), dtype_of(target)))


def is_float(dtype: DTypeTerm) -> Static:
    """Whether the dtype is a float."""
    return Static("is_float", (dtype_of(dtype),))


def is_signed(dtype: DTypeTerm) -> Static:
    """Whether the dtype has negative values."""
    return Static("is_signed", (dtype_of(dtype),))


def bits_at_most(source: DTypeTerm | DType, target: DTypeTerm | DType) -> Static:
    """Whether `source` is stored in at most as many bits as `target`."""
    return Static("bits_at_most", (dtype_of(source), dtype_of(target)))


def preserves_zero(op: Term) -> Static:
    """Whether the elementwise op gives the zero of its dtype (+0.0 for a float) when every operand is that zero."""
    if not isinstance(op, UnaryOp | BinaryOp):
        raise RuleError(
            f"{show(op)} is not a variable of ops", hint="annotate the variable UnaryOp or BinaryOp"
        )
    return Static("preserves_zero", (op,))


def is_power_of_two(c: Any) -> Value:
    """Whether an integer is 1, 2, 4, 8 …; of ``index``, one of those below 2^63."""
    return Value("is_power_of_two", (value(c),))


invalid = Value("invalid")
"""No value at all (U-01), of the dtype of the operand beside it: what an index outside reads."""


def fill(x: Any, shape: Any) -> Value:
    """A tensor of this shape that has the scalar x everywhere."""
    return Value("fill", (value(x), vector(shape)))


def concat(x: Value, y: Value, over: Axes | tuple[int, ...] | int) -> Value:
    """x, and y behind it along an axis; on the others their sizes are equal. Along several, they lie diagonally."""
    x, y, a = value(x), value(y), axes(over)
    own, other = x.shape, y.shape
    behind = y.pad(where(a, own, 0), where(a, own + other, own))
    first, shape = 0, where(a, own + other, other)
    return apply(Op.Where, apply(Op.Or, x == x, x != x).pad(first, shape), x.pad(first, shape), behind)


def product(shape: Any) -> Value:
    """The number of elements of a shape."""
    return Value("product", (vector(shape),))


def stack(*parts: Any) -> Value:
    """The parts, of one shape and dtype, along a new leading axis."""
    if not parts:
        raise RuleError("stack(…) joins at least one value", hint="stack(x, y)")
    return apply(Op.Stack, *parts)
