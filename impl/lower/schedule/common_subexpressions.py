"""
What is computed alike
======================

Two things that `optimize` does for vectors. Reductions of reductions whose order is free become one, that goes through
memory from the first place to the last; and two loops of a reduction that every access walks as one become one loop, so
that there are enough iterations for lanes. A nest without
reductions, of which all that is computed has vectors, is split into lanes of whole vectors.

*Invariant*: the values of all stores are unchanged, bit for bit without a licence.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator

from soundline.impl.analysis import arithmetic
from soundline.impl.lower.graphs.loops import loaded_places, stride
from soundline.impl.lower.graphs.rebuilding import rebuilt, under
from soundline.impl.lower.graphs.views import trip_count
from soundline.impl.lower.schedule.applying import Scheduling
from soundline.impl.lower.schedule.target import Target
from soundline.impl.lower.schedule.vector_types import VECTOR_DTYPES, computes, lane_size
from soundline.impl.lower.schedule.vectors import order_is_free
from soundline.spec.dtypes import index
from soundline.spec.uop import AxisType, Op, UOp, loop, over

VECTORS = 4
"""So many vectors at a time are computed where little is computed of each."""
MANY = 40
"""So many operations on vectors follow each other at most, before a loop goes round."""


# Reductions -------------------------------------------------------------------------------------------------------


def flattened_reductions(nest: UOp, licences: Collection[str]) -> UOp:
    """The nest with a reduction of reductions by the same op as one, as memory goes, where the order is free."""

    def change(node: UOp, src: tuple[UOp, ...]) -> UOp | None:
        if node.op is not Op.Reduce or not order_is_free(made := over(node, src), licences):
            return None
        inner, *outer = src
        if inner.op is Op.Reduce and inner.arg == made.arg and not inner.arg.axes:
            made = UOp(Op.Reduce, (inner.src[0], *outer, *inner.src[1:]), made.arg)
        return UOp(Op.Reduce, (made.src[0], *_by_stride(made)), made.arg)

    return rebuilt(nest, change)


def _by_stride(reduction: UOp) -> list[UOp]:
    """The loops of a reduction, those first that go furthest in memory; as they are where that is not known."""
    ranges = list(reduction.src[1:])
    far: dict[UOp, int] = {}
    for r in ranges:
        found = [stride(place.src[1], r) for place in loaded_places(reduction.src[0])]
        if any(s is None for s in found):
            return ranges
        far[r] = max((abs(s) for s in found if s is not None), default=0)
    return sorted(ranges, key=far.__getitem__, reverse=True)


def merged_reductions(nest: UOp, numbers: Iterator[int]) -> UOp:
    """Neighbouring loops of reductions joined where every access walks them as one; the order stays what it was."""
    while True:
        pair = next((p for p in _neighbours(nest) if _joins(nest, *p)), None)
        if pair is None:
            return nest
        nest = _as_one(
            nest, *pair, loop(trip_count(pair[0]) * trip_count(pair[1]), next(numbers), pair[0].arg.type)
        )


def _neighbours(nest: UOp) -> dict[tuple[UOp, UOp], None]:
    reductions = [n for n in under(nest) if n.op is Op.Reduce and len(n.src) > 2]
    return {pair: None for f in reductions for pair in itertools.pairwise(f.src[1:])}


def _joins(nest: UOp, p: UOp, q: UOp) -> bool:
    """Whether two loops are neighbours wherever they are reduced, and every index has p·n + q."""
    if p.arg.type is not q.arg.type or any(r.src[0].op is not Op.Const for r in (p, q)):
        return False
    both = {p, q}
    for reduction in (n for n in under(nest) if n.op is Op.Reduce and not both.isdisjoint(n.src[1:])):
        if (p, q) not in itertools.pairwise(reduction.src[1:]):
            return False
    indices = {n.src[1] for n in under(nest) if n.op is Op.Index}
    for node in under(nest):
        if node.dtype is index or node.shape is None or node.op is Op.Index:
            continue
        used = node.src[:1] if node.op is Op.Reduce else node.src
        if any(s.dtype is index and s not in indices and both & arithmetic.ranges_of(s) for s in used):
            return False  # the loop index is used as a value
    strides = [(stride(at, p), stride(at, q)) for at in indices]
    return all(a is not None and b is not None and a == b * trip_count(q) for a, b in strides)


def _as_one(nest: UOp, p: UOp, q: UOp, whole: UOp) -> UOp:
    """A nest in which one loop stands for two."""
    none = arithmetic.number(0)

    def change(node: UOp, src: tuple[UOp, ...]) -> UOp | None:
        if node is p or node is q:
            return none if node is p else whole
        if node.op is Op.Reduce and q in node.src[1:]:
            return UOp(Op.Reduce, (src[0], *(r for r in src[1:] if r is not none)), node.arg, node.tag)
        return None

    return rebuilt(nest, change)


# Lanes ------------------------------------------------------------------------------------------------------------


def vector_lanes(kernel: Scheduling, target: Target, at: int) -> None:
    """Split the innermost axis of a nest without reductions into lanes, where all that it computes has vectors.

    Some vectors at a time, then one at a time; what does not fill one stays in a loop.
    """
    ranges, body = kernel.nest(at)
    if not ranges or ranges[-1].arg.type is not AxisType.LOOP or not has_vectors(body, ranges[-1]):
        return
    width = target.vector // body.src[1].dtype.itemsize
    work = sum(ranges[-1] in arithmetic.ranges_of(n) and n.dtype is not index for n in under(body))
    some = width * max(1, min(VECTORS, MANY // max(work, 1)))
    for lanes in dict.fromkeys((some, width)):
        axis = kernel.nest(at)[0][-1]
        count = trip_count(axis)
        if count < lanes:
            continue
        rest = count % lanes
        whole = kernel.cut(axis, count - rest) if rest else axis
        kernel.split(whole, lanes, AxisType.UPCAST)
        if not rest:
            return
        at += 1


def has_vectors(body: UOp, r: UOp) -> bool:
    """Whether all that a store needs and that changes with a range has vectors, and lies side by side in memory."""
    if body.op is not Op.Store or len(body.src) > 2 or body.src[1].dtype not in VECTOR_DTYPES:
        return False
    if stride(body.src[0].src[1], r) != 1 or any(n.op is Op.Reduce for n in under(body)):
        return False
    changing = (n for n in under(body.src[1]) if n.dtype is not index and r in arithmetic.ranges_of(n))
    return all(
        lane_size(n) == body.src[1].dtype.itemsize and _has_vectors(n, r)
        for n in changing
        if n.op is not Op.Index
    )


def _has_vectors(node: UOp, r: UOp) -> bool:
    if node.op is Op.Load:
        plain = len(node.src) == 1 and node.src[0].op is Op.Index and node.dtype in VECTOR_DTYPES
        return plain and stride(node.src[0].src[1], r) in (0, 1)
    return computes(node) or (node.op is Op.Exp2 and node.dtype in VECTOR_DTYPES)
