"""
Loops
=====

Queries of the heuristics about the loops of a nest: which neighbouring loops every access traverses as one, and in
which loop only the last step fails a gate.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from soundline.impl.analysis import arithmetic
from soundline.impl.lower.graphs.effects import closed, nest_of
from soundline.impl.lower.graphs.rebuilding import under
from soundline.impl.lower.graphs.views import trip_count
from soundline.spec.dtypes import index
from soundline.spec.ops.sizes import polynomial
from soundline.spec.uop import AxisType, Op, UOp, loop, substitute

__all__ = [
    "border",
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
    for term, factor in polynomial(at).terms.items():
        if term == (r,):
            found = factor
        elif any(r in arithmetic.ranges_of(atom) for atom in term):
            return None
    return found


def loaded_places(root: UOp) -> Iterator[UOp]:
    """The places that the loads under a node read."""
    return (n.src[0] for n in under(root) if n.op is Op.Load and n.src[0].op is Op.Index)


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
    step = arithmetic.number(0) if steps == 1 else loop(steps, next(numbers), r.arg.type)
    whole = arithmetic.add(arithmetic.mul(step, arithmetic.number(lanes)), lane)
    yield with_value(body, r, whole), [step] if step.op is Op.Range else [], [lane]
    if rest:
        last = arithmetic.number(0) if rest == 1 else loop(rest, next(numbers), AxisType.UPCAST)
        at = arithmetic.add(last, arithmetic.number(steps * lanes))
        yield with_value(body, r, at), [], [last] if last.op is Op.Range else []


# Peel -------------------------------------------------------------------------------------------------------------


FEW_OF = 4
"""A border is at most this part of an axis."""


def last_step(nest: UOp) -> UOp | None:
    """The axis of a nest whose last step alone fails a gate; None where there is none."""
    ranges, body = nest_of(nest)
    gates = [n for n in under(body) if _is_gate(n) and not _always(n)]
    for r in ranges:
        count = trip_count(r)
        if count < 2:
            continue
        most = loop(count - 1, 0, AxisType.LOOP)  # of which only the bounds count
        if any(r in arithmetic.ranges_of(g) and _always(substitute(g, {r: most})) for g in gates):
            return r
    return None


def border(nest: UOp) -> tuple[UOp, int] | None:
    """The outermost axis of a nest that has a border, and the iteration at which the border ends or begins. There a
    gate of a load changes its value, and few iterations lie on one side. None where there is none.
    """
    ranges, body = nest_of(nest)
    found: dict[UOp, int] = {}
    for gate in _undecided(body):
        of = arithmetic.ranges_of(gate)
        r = next(iter(of)) if len(of) == 1 else None
        at = _changes(gate, r) if r is not None and r in ranges else None
        if r is not None and at is not None and 0 < FEW_OF * min(at, trip_count(r) - at) <= trip_count(r):
            found.setdefault(r, at)
    return next(((r, found[r]) for r in ranges if r in found), None)


def _undecided(body: UOp) -> Iterator[UOp]:
    """The comparisons that decide whether something is loaded."""
    stack = [n.src[2] for n in under(body) if n.op is Op.Load and len(n.src) > 2]
    while stack:
        gate = stack.pop()
        known = arithmetic.bounds(gate)
        if known is not None and known.lo == known.hi:
            continue
        if gate.op is Op.And:
            stack.extend(gate.src)
        elif gate.op in (Op.CmpLt, Op.CmpLe) and gate.src[0].dtype is index:
            yield gate


def _changes(gate: UOp, r: UOp) -> int | None:
    """The first iteration of an axis in which a comparison of it with a number changes its value; None for other
    nodes.
    """
    low, high = (polynomial(s).terms for s in gate.src)
    if {*low, *high} - {(), (r,)}:
        return None
    step, start = (low.get(term, 0) - high.get(term, 0) for term in ((r,), ()))
    if step == 0:
        return None
    start -= gate.op is Op.CmpLe  # a <= b is a - 1 < b
    return -(start // step) if step > 0 else start // -step + 1  # start + step·r is 0 or more, or less than 0


def _is_gate(node: UOp) -> bool:
    return node.op is Op.CmpLt and node.src[0].dtype is index


def _always(gate: UOp) -> bool:
    known = arithmetic.bounds(gate)
    return known is None or bool(known.lo)


# Merge ------------------------------------------------------------------------------------------------------------


def walked_as_one(body: UOp, p: UOp, q: UOp) -> bool:
    """Whether every index traverses two neighbouring loops as one, and nothing else depends on them."""
    both = {p, q}
    indices = {n.src[1] for n in under(body) if n.op is Op.Index}
    for node in under(body):
        if node.dtype is index or node.shape is None or node.op is Op.Index:
            continue
        if any(s.dtype is index and s not in indices and both & arithmetic.ranges_of(s) for s in node.src):
            return False  # the loop index is used as a value
    zero, one = arithmetic.number(0), arithmetic.number(1)
    for at in indices:
        if not _is_linear(at, both):
            return False
        next_row, past_row = (substitute(at, {p: a, q: b}) for a, b in ((one, zero), (zero, q.src[0])))
        if polynomial(next_row) != polynomial(past_row):
            return False
    return all(not (both & set(n.src[1:])) for n in under(body) if n.op is Op.Reduce)


def _is_linear(at: UOp, loops: Collection[UOp]) -> bool:
    """Whether an index is a sum, each term of which has at most one of some loops, once, and knows no more of them."""
    for term in polynomial(at).terms:
        known = [atom for atom in term if not arithmetic.ranges_of(atom).isdisjoint(loops)]
        if len(known) > 1 or any(atom not in loops for atom in known):
            return False
    return True
