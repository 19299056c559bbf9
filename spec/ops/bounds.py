"""
min_max: sound intervals
========================

`min_max` gives an interval that holds every value of a node, and for floats says whether NaN is possible (U-40 to
U-45). The ends of a float interval are ordered with ``-0.0`` below ``+0.0``. ``None`` is the empty interval: the node
has no value, as in a loop that never runs. The law is soundness. The row of each op stands in its entry of the op
table, and these rows are the reference: a tighter sound one is allowed elsewhere.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction

from soundline.spec.dtypes import DType, Element, index, order, round_to, to_bits
from soundline.spec.ops.node import UOp, toposort


@dataclass(frozen=True, slots=True)
class Bounds:
    """Every value lies in [lo, hi], or is NaN where `maybe_nan`."""

    lo: Element
    hi: Element
    maybe_nan: bool = False


Known = Bounds | None
At = Callable[[UOp], Known]
"""The bounds of each source."""
Row = Callable[[UOp, At], Known]
"""The law of an op: the bounds of a node from those of its sources."""


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


def spans(ends: list[Element], dtype: DType, *, nan: bool) -> Bounds:
    """The interval of `ends` where it fits the dtype, else the dtype range (U-40).

    The ends of a float interval are rounded as the values are, which keeps the order.
    """
    if dtype.is_float:
        return rounded([float(e) for e in ends], dtype, nan=nan)
    lo, hi = least(ends), greatest(ends)
    return Bounds(lo, hi) if dtype.min <= lo and hi <= dtype.max else dtype_range(dtype)


def rounded(ends: Iterable[float | Fraction], dtype: DType, *, nan: bool) -> Bounds:
    """The interval of exact ends rounded into a float dtype; an end that becomes NaN leaves the value unbounded."""
    found = [round_to(dtype, e) for e in ends]
    if any(math.isnan(e) for e in found):
        return dtype_range(dtype)
    return Bounds(least(found), greatest(found), nan)


def is_infinite(end: Element) -> bool:
    """Whether an end of index or of a float dtype is infinite."""
    return end in (-math.inf, math.inf)


def infinite(bounds: Bounds) -> bool:
    """Whether an end is infinite."""
    return is_infinite(bounds.lo) or is_infinite(bounds.hi)


def of_sources(law: Callable[..., Bounds]) -> Row:
    """A law on the bounds of the sources and the node's dtype; an empty source gives the empty interval."""

    def apply(node: UOp, at: At) -> Known:
        known = [at(s) for s in node.src]
        return None if any(k is None for k in known) else law(*known, node.dtype)

    return apply


def min_max(node: UOp) -> Known:
    """Bounds of the values of a node; None where it can have none."""
    found: dict[UOp, Known] = {}
    for n in toposort(node):
        if n.shape is not None:
            found[n] = UOp.bounds(n, found.__getitem__)
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
