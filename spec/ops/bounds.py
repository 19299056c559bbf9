"""
min_max: sound intervals
========================

`min_max` gives an interval that holds every value of a node, and for floats says whether NaN is possible (U-40 to
U-45). The ends of a float interval are ordered with ``-0.0`` below ``+0.0``. ``None`` is the empty interval: the node
has no value, as in a loop that never runs. The law is soundness; these functions are the reference, and a tighter sound
one is allowed elsewhere.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from soundline.spec.dtypes import DType, Element, bool_, index, order, round_to, to_bits, zero_of
from soundline.spec.ops.node import Op, UOp, toposort


@dataclass(frozen=True, slots=True)
class Bounds:
    """Every value lies in [lo, hi], or is NaN where `maybe_nan`."""

    lo: Element
    hi: Element
    maybe_nan: bool = False


Known = Bounds | None
Sources = tuple[UOp, ...]


def dtype_range(dtype: DType) -> Bounds:
    """The widest bounds of a dtype."""
    return Bounds(dtype.min, dtype.max, dtype.is_float)


def least(values: Iterable[Element]) -> Element:
    """The least of some values that are not NaN."""
    return min(values, key=order)


def greatest(values: Iterable[Element]) -> Element:
    """The greatest of some values that are not NaN."""
    return max(values, key=order)


def hull(parts: Iterable[Known]) -> Known:
    """The least interval that contains all parts; empty parts add nothing."""
    known = [p for p in parts if p is not None]
    if not known:
        return None
    nan = any(p.maybe_nan for p in known)
    return Bounds(least(p.lo for p in known), greatest(p.hi for p in known), nan)


def _spans(ends: list[Element], dtype: DType, *, nan: bool) -> Bounds:
    """The interval of `ends` where it fits the dtype, else the dtype range (U-40).

    The ends of a float interval are rounded as the values are, which keeps the order.
    """
    if dtype.is_float:
        return _rounded([float(e) for e in ends], dtype, nan=nan)
    lo, hi = least(ends), greatest(ends)
    return Bounds(lo, hi) if dtype.min <= lo and hi <= dtype.max else dtype_range(dtype)


def _rounded(ends: Iterable[float | Fraction], dtype: DType, *, nan: bool) -> Bounds:
    """The interval of exact ends rounded into a float dtype; an end that becomes NaN leaves the value unbounded."""
    rounded = [round_to(dtype, e) for e in ends]
    if any(math.isnan(e) for e in rounded):
        return dtype_range(dtype)
    return Bounds(least(rounded), greatest(rounded), nan)


def _is_infinite(end: Element) -> bool:
    return end in (-math.inf, math.inf)


def _infinite(bounds: Bounds) -> bool:
    return _is_infinite(bounds.lo) or _is_infinite(bounds.hi)


def _plus(x: Element, y: Element) -> Element:
    """x + y; of an infinite end of index and an integer, which may be beyond any float, the infinite end."""
    if isinstance(x, float) == isinstance(y, float):
        return x + y
    return x if isinstance(x, float) else y


def _add(a: Bounds, b: Bounds, dtype: DType) -> Bounds:
    clash = dtype.is_float and (
        (a.hi == math.inf and b.lo == -math.inf) or (a.lo == -math.inf and b.hi == math.inf)
    )
    return _spans([_plus(a.lo, b.lo), _plus(a.hi, b.hi)], dtype, nan=a.maybe_nan or b.maybe_nan or clash)


def _negated(a: Bounds) -> Bounds:
    return Bounds(-a.hi, -a.lo, a.maybe_nan)


def _times(x: Element, y: Element, dtype: DType) -> Element:
    """x·y; on index an infinite end times zero is zero, and times any other number infinite."""
    if isinstance(x, float) == isinstance(y, float):
        return x * y
    if x == 0 or y == 0:
        return 0
    return math.inf if (x > 0) == (y > 0) else -math.inf


def _mul(a: Bounds, b: Bounds, dtype: DType) -> Bounds:
    if dtype is bool_:
        return Bounds(bool(a.lo and b.lo), bool(a.hi and b.hi))
    zero_times_infinity = dtype.is_float and (
        (_infinite(a) and b.lo <= 0 <= b.hi) or (_infinite(b) and a.lo <= 0 <= a.hi)
    )
    corners = [_times(x, y, dtype) for x in (a.lo, a.hi) for y in (b.lo, b.hi)]
    return _spans(corners, dtype, nan=a.maybe_nan or b.maybe_nan or zero_times_infinity)


def _max(a: Bounds, b: Bounds, dtype: DType) -> Bounds:
    return Bounds(greatest((a.lo, b.lo)), greatest((a.hi, b.hi)), a.maybe_nan or b.maybe_nan)


def _floor_quotient(x: Element, y: Element) -> Element:
    """⌊x/y⌋ for y ≠ 0, where either may be infinite."""
    if _is_infinite(y):
        return 0 if x == 0 or (x > 0) == (y > 0) else -1
    if _is_infinite(x):
        return x if y > 0 else -x
    return x // y


def _idiv(a: Bounds, b: Bounds, dtype: DType) -> Bounds:
    if b.lo <= 0 <= b.hi:
        return dtype_range(dtype)
    if _infinite(a) and _infinite(b):
        return dtype_range(dtype)
    corners = [_floor_quotient(x, y) for x in (a.lo, a.hi) for y in (b.lo, b.hi)]
    return _spans(corners, dtype, nan=False)


def _mod(a: Bounds, b: Bounds, dtype: DType) -> Bounds:
    if b.lo >= 1:
        return a if a.lo >= 0 and a.hi < b.lo else Bounds(0, b.hi - 1)
    if b.hi <= -1:
        return a if b.hi < a.lo and a.hi <= 0 else Bounds(b.lo + 1, 0)
    return dtype_range(dtype)


def _less(a: Bounds, b: Bounds) -> Bounds:
    """[x < y]."""
    if a.maybe_nan or b.maybe_nan:
        return Bounds(False, True)
    return Bounds(a.hi < b.lo, a.lo < b.hi)


def _unequal(a: Bounds, b: Bounds) -> Bounds:
    """[x ≠ y]."""
    if a.maybe_nan or b.maybe_nan:
        return Bounds(False, True)
    apart = a.hi < b.lo or b.hi < a.lo
    return Bounds(apart, apart or not a.lo == a.hi == b.lo == b.hi)


def _opposite(a: Bounds) -> Bounds:
    return Bounds(not a.hi, not a.lo)


def _bitwise(op: Op, a: Bounds, b: Bounds, dtype: DType) -> Bounds:
    if a.lo == a.hi and b.lo == b.hi:
        x: Any = a.lo
        value: Element = {Op.Xor: x ^ b.lo, Op.Or: x | b.lo, Op.And: x & b.lo}[op]
        return Bounds(value, value)
    if op is Op.And and a.lo >= 0 and b.lo >= 0:
        return Bounds(False if dtype is bool_ else 0, least((a.hi, b.hi)))
    return dtype_range(dtype)


def _trunc(a: Bounds, dtype: DType) -> Bounds:
    return Bounds(_toward_zero(float(a.lo)), _toward_zero(float(a.hi)), a.maybe_nan)


def _toward_zero(x: float) -> float:
    return x if math.isinf(x) else math.copysign(float(math.trunc(x)), x)


def _sqrt(a: Bounds, dtype: DType) -> Bounds:
    if a.lo < 0:
        return Bounds(-0.0, dtype.max, True)
    return Bounds(round_to(dtype, math.sqrt(a.lo)), round_to(dtype, math.sqrt(a.hi)), a.maybe_nan)


def _cast(a: Bounds, source: DType, target: DType) -> Bounds:
    if target is bool_:
        return _unequal(a, Bounds(0, 0))
    if target.is_float:
        ends = (a.lo, a.hi) if source.is_float else (Fraction(a.lo), Fraction(a.hi))
        return _rounded(ends, target, nan=a.maybe_nan)
    if source.is_float:
        found = [_saturated(float(e), target) for e in (a.lo, a.hi)] + ([0] if a.maybe_nan else [])
        return Bounds(least(found), greatest(found))
    return _spans([int(e) if isinstance(e, bool) else e for e in (a.lo, a.hi)], target, nan=False)


def _saturated(x: float, target: DType) -> Element:
    if math.isinf(x):
        return target.max if x > 0 else target.min
    return least((greatest((math.trunc(x), target.min)), target.max))


def _loop(node: UOp, at: Callable[[UOp], Known]) -> Known:
    bound = at(node.src[0])
    return None if bound is None or bound.hi < 1 else Bounds(0, bound.hi - 1)


def _reduce(node: UOp, at: Callable[[UOp], Known]) -> Known:
    assert node.src[0].shape is not None
    sizes = [node.src[0].shape[k] for k in node.arg.axes]
    bounds = [at(r.src[0]) for r in node.src[1:]]
    runs = all(isinstance(s, int) and s >= 1 for s in sizes) and all(
        b is not None and b.lo >= 1 for b in bounds
    )
    return at(node.src[0]) if node.arg.op is Op.Max and runs else dtype_range(node.dtype)


def _param(node: UOp, at: Callable[[UOp], Known]) -> Known:
    if node.arg.bounds is None:
        return dtype_range(node.dtype)
    return Bounds(node.arg.bounds[0].value, node.arg.bounds[1].value)


def _const(node: UOp, at: Callable[[UOp], Known]) -> Known:
    value = node.arg.value
    return dtype_range(node.dtype) if value != value else Bounds(value, value)


def _of_sources(law: Callable[..., Bounds]) -> Callable[[UOp, Callable[[UOp], Known]], Known]:
    """A law on the bounds of the sources and the node's dtype; nothing comes of an empty source."""

    def apply(node: UOp, at: Callable[[UOp], Known]) -> Known:
        known = [at(s) for s in node.src]
        return None if any(k is None for k in known) else law(*known, node.dtype)

    return apply


def _compare(law: Callable[[Bounds, Bounds], Bounds]) -> Callable[[UOp, Callable[[UOp], Known]], Known]:
    return _of_sources(lambda a, b, dtype: law(a, b))


MIN_MAX: dict[Op, Callable[[UOp, Callable[[UOp], Known]], Known]] = {
    Op.Param: _param,
    Op.Const: _const,
    Op.Pad: lambda n, at: hull([at(n.src[0]), Bounds(zero_of(n.dtype), zero_of(n.dtype))]),
    Op.Stack: lambda n, at: hull([at(s) for s in n.src]),
    Op.Reduce: _reduce,
    Op.GetTuple: lambda n, at: at(n.src[0].src[n.arg]) if n.src[0].op is Op.Tuple else dtype_range(n.dtype),
    Op.Load: lambda n, at: hull([at(n.src[0]), *(at(s) for s in n.src[1:2])]),
    Op.Range: _loop,
    Op.Special: _loop,
    Op.Trunc: _of_sources(_trunc),
    Op.Cast: lambda n, at: None if (a := at(n.src[0])) is None else _cast(a, n.src[0].dtype, n.dtype),
    Op.Add: _of_sources(_add),
    Op.Sub: _of_sources(lambda a, b, dtype: _add(a, _negated(b), dtype)),
    Op.Neg: _of_sources(lambda a, dtype: _spans([-a.lo, -a.hi], dtype, nan=a.maybe_nan)),
    Op.Mul: _of_sources(_mul),
    Op.Mulacc: _of_sources(lambda a, b, c, dtype: _add(_mul(a, b, dtype), c, dtype)),
    Op.Max: _of_sources(_max),
    Op.Idiv: _of_sources(_idiv),
    Op.Mod: _of_sources(_mod),
    Op.CmpLt: _compare(_less),
    Op.CmpGt: _compare(lambda a, b: _less(b, a)),
    Op.CmpGe: _compare(
        lambda a, b: Bounds(False, True) if a.maybe_nan or b.maybe_nan else _opposite(_less(a, b))
    ),
    Op.CmpLe: _compare(
        lambda a, b: Bounds(False, True) if a.maybe_nan or b.maybe_nan else _opposite(_less(b, a))
    ),
    Op.CmpNe: _compare(_unequal),
    Op.CmpEq: _compare(lambda a, b: _opposite(_unequal(a, b))),
    Op.Not: _of_sources(lambda a, dtype: _opposite(a)),
    Op.Xor: _of_sources(lambda a, b, dtype: _bitwise(Op.Xor, a, b, dtype)),
    Op.Or: _of_sources(lambda a, b, dtype: _bitwise(Op.Or, a, b, dtype)),
    Op.And: _of_sources(lambda a, b, dtype: _bitwise(Op.And, a, b, dtype)),
    Op.Where: lambda n, at: hull([at(n.src[1]), at(n.src[2])]),
    Op.Exp2: _of_sources(lambda a, dtype: Bounds(0.0, dtype.max, a.maybe_nan)),
    Op.Sin: _of_sources(lambda a, dtype: Bounds(-1.0, 1.0, a.maybe_nan or _infinite(a))),
    Op.Sqrt: _of_sources(_sqrt),
    **dict.fromkeys(
        (
            Op.Permute,
            Op.Flip,
            Op.Reshape,
            Op.Expand,
            Op.Shrink,
            Op.Index,
            Op.Replicated,
            Op.Contiguous,
            Op.ContiguousBackward,
            Op.Detach,
            Op.After,
        ),
        lambda n, at: at(n.src[0]),
    ),
    **dict.fromkeys(
        (
            Op.Buffer,
            Op.Binary,
            Op.BinaryCode,
            Op.Slice,
            Op.Bitcast,
            Op.Recip,
            Op.Div,
            Op.Shr,
            Op.Shl,
            Op.Log2,
            Op.Pow,
            Op.Threefry,
            Op.Wmma,
            Op.CDiv,
            Op.CMod,
        ),
        lambda n, at: dtype_range(n.dtype),
    ),
}
"""The law of every op that has a value."""


def min_max(node: UOp) -> Known:
    """Bounds of the values of a node; None where it can have none."""
    found: dict[UOp, Known] = {}
    for n in toposort(node):
        if n.shape is not None:
            found[n] = MIN_MAX[n.op](n, found.__getitem__)
    return found[node]


def is_constant(node: UOp) -> bool:
    """Whether the bounds leave one value: both ends the same bits, NaN excluded (U-43), at least one value (U-44)."""
    known = min_max(node)
    return (
        known is not None and not known.maybe_nan and to_bits_of(node, known.lo) == to_bits_of(node, known.hi)
    )


def to_bits_of(node: UOp, value: Element) -> Element:
    """The bit pattern of a bound; an unbounded end of index stands for itself."""
    return value if node.dtype is index else to_bits(node.dtype, value)
