"""
Loops
=====

What heuristics ask about the loops of a nest that stay loops: which neighbours every access walks as one, and of which
the last step alone fails a gate.
"""

from __future__ import annotations

from collections.abc import Iterator

from soundline.impl.lower import arith
from soundline.impl.lower.effects import closed, nest_of
from soundline.impl.lower.views import trip_count
from soundline.spec.dtypes import index
from soundline.spec.sizes import polynomial
from soundline.spec.uop import AxisType, Op, UOp, loop, substitute, toposort

__all__ = [
    "closed",
    "in_lanes",
    "last_step",
    "loaded_places",
    "stride",
    "walked_as_one",
    "with_value",
]


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


def in_lanes(
    body: UOp, r: UOp, lanes: int, numbers: Iterator[int]
) -> Iterator[tuple[UOp, list[UOp], list[UOp]]]:
    """A body with range r as steps and lanes, then one for the rest: (body, the steps' range, the lanes' range)."""
    count = trip_count(r)
    lanes = min(lanes, count)
    steps, rest = divmod(count, lanes)
    lane = loop(lanes, next(numbers), AxisType.UPCAST)
    step = arith.number(0) if steps == 1 else loop(steps, next(numbers), r.arg.type)
    whole = arith.add(arith.mul(step, arith.number(lanes)), lane)
    yield with_value(body, r, whole), [step] if step.op is Op.Range else [], [lane]
    if rest:
        last = arith.number(0) if rest == 1 else loop(rest, next(numbers), AxisType.UPCAST)
        at = arith.add(last, arith.number(steps * lanes))
        yield with_value(body, r, at), [], [last] if last.op is Op.Range else []


# Peel -------------------------------------------------------------------------------------------------------------


def last_step(nest: UOp) -> UOp | None:
    """The axis of a nest of which the last step alone fails a gate; None where there is none."""
    ranges, body = nest_of(nest)
    gates = [n for n in toposort(body) if n.op is Op.CmpLt and n.src[0].dtype is index and not _always(n)]
    for r in ranges:
        count = trip_count(r)
        if count < 2:
            continue
        most = loop(count - 1, 0, AxisType.LOOP)  # of which only the bounds count
        if any(r in arith.ranges_of(g) and _always(substitute(g, {r: most})) for g in gates):
            return r
    return None


def _always(gate: UOp) -> bool:
    known = arith.bounds(gate)
    return known is None or bool(known.lo)


# Merge ------------------------------------------------------------------------------------------------------------


def walked_as_one(body: UOp, p: UOp, q: UOp) -> bool:
    """Whether every index walks two neighbouring loops as one, and nothing else knows of them."""
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
