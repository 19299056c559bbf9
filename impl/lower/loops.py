"""
Loops
=====

What `optimize` does to the loops of a nest that stay loops: neighbours that every access walks as one are merged, and a
last step that alone fails a gate is done apart.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from soundline.impl.lower import arith
from soundline.impl.lower.linearize import nest_of
from soundline.impl.lower.views import trip_count
from soundline.spec.dtypes import index
from soundline.spec.sizes import polynomial
from soundline.spec.uop import AxisType, Op, UOp, loop, substitute, toposort


def closed(body: UOp, ranges: Sequence[UOp]) -> UOp:
    """A nest of loops, outermost first, around an effect."""
    for r in reversed(ranges):
        body = Op.End(body, r)
    return body


def stride(at: UOp, r: UOp) -> int | None:
    """The number that a range is multiplied with in an index; None where the index is no such sum."""
    found = 0
    for term, factor in polynomial(at).items():
        if term == (r,):
            found = factor
        elif any(r in arith.ranges_of(atom) for atom in term):
            return None
    return found


def loaded_places(root: UOp) -> Iterator[UOp]:
    """The places that the loads under a node read."""
    return (n.src[0] for n in toposort(root) if n.op is Op.Load and n.src[0].op is Op.Index)


def with_value(body: UOp, r: UOp, value: UOp) -> UOp:
    """A body with a value in the place of a range."""
    return substitute(body, {r: value})


# Peel -------------------------------------------------------------------------------------------------------------


def peeled(nest: UOp, numbers: Iterator[int]) -> list[UOp]:
    """The nest, with the last step of one axis in a nest of its own where that frees the others of a gate."""
    ranges, body = nest_of(nest)
    gates = [n for n in toposort(body) if n.op is Op.CmpLt and n.src[0].dtype is index and not _always(n)]
    for r in ranges:
        count = trip_count(r)
        most = arith.number(0) if count == 2 else loop(count - 1, next(numbers), AxisType.LOOP)
        if any(r in arith.ranges_of(g) and _always(substitute(g, {r: most})) for g in gates):
            rest = [most if q is r else q for q in ranges if q is not r or most.op is Op.Range]
            last = [q for q in ranges if q is not r]
            first = closed(with_value(body, r, most), rest)
            return [first, closed(with_value(body, r, arith.number(count - 1)), last)]
    return [nest]


def _always(gate: UOp) -> bool:
    known = arith.bounds(gate)
    return known is None or bool(known.lo)


# Merge ------------------------------------------------------------------------------------------------------------


def merged(nest: UOp, numbers: Iterator[int]) -> UOp:
    """Neighbouring loops joined where every access walks them as one: p·n + q in every index, and nowhere else."""
    ranges, body = nest_of(nest)
    at = len(ranges) - 1
    while at > 0:
        p, q = ranges[at - 1], ranges[at]
        if _walked_as_one(body, p, q):
            whole = loop(trip_count(p) * trip_count(q), next(numbers), AxisType.LOOP)
            body = substitute(body, {p: arith.number(0), q: whole})
            ranges[at - 1 : at + 1] = [whole]
        at -= 1
    return closed(body, ranges)


def _walked_as_one(body: UOp, p: UOp, q: UOp) -> bool:
    both = {p, q}
    indices = {n.src[1] for n in toposort(body) if n.op is Op.Index}
    for node in toposort(body):
        if node.dtype is index or node.shape is None or node.op is Op.Index:
            continue
        if any(s.dtype is index and s not in indices and both & arith.ranges_of(s) for s in node.src):
            return False  # the loop index is used as a value
    for at in indices:
        outer, inner = stride(at, p), stride(at, q)
        if outer is None or inner is None or outer != inner * trip_count(q):
            return False
    return all(not (both & set(n.src[1:])) for n in toposort(body) if n.op is Op.Reduce)
