"""
Optimize
========

Swap and split ranges, and determine which axes are parallel and which are serial.

Input and output: a Linear of Sinks of scalars; the output has Ranges of type UPCAST, the lanes that one processor
core works on at once. What is done, for a CPU, to each nest:

* the rules of the library are applied, before and after the rest;
* `peeled`: an axis of which only the last step fails a gate does that step apart, and the others without the gate;
* `merged`: two loops that every access walks as one become one.
* `laned`: where a reduction reads along the innermost output axis, that axis is split by LANES, and the axis around
  it, if some operand does not depend on it, by ROWS, so that a loaded element is used many times. What does not fill
  a split becomes a nest of its own. The order in which each output's reduction runs does not change.
* `nested_lanes`: a short reduction of reductions, as in a blocked sum, becomes lanes that are folded in their order.
* `split_reductions`: a reduction whose order is free (Max, integers, bools, or floats under ``reassociate``) along
  contiguous memory is split into lanes that are folded at the end.

*Invariant*: the values of all stores are unchanged; bit for bit without a licence.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator, Sequence

from soundline.impl.lower import arith
from soundline.impl.lower.linearize import nest_of
from soundline.impl.lower.simplify import Applied, simplified
from soundline.impl.lower.views import trip_count
from soundline.spec.dtypes import index
from soundline.spec.sizes import polynomial
from soundline.spec.uop import AxisType, Op, UOp, loop, substitute, toposort

LANES = 32
"""Lanes of a split output axis: two vectors of a wide machine, four of a narrower one."""
ROWS = 8
"""Lanes of the axis around it."""
LONE_LANES = 64
"""Lanes of a split reduction."""
WIDE_LANES = 256
"""Lanes of a split output axis where no element is used again: long runs of memory, registers of the first cache."""
_LEAST = 4
"""An axis shorter than this is not worth splitting."""


def optimize(kernels: UOp, licences: Collection[str], applied: Applied) -> UOp:
    """Simplify every kernel and choose its parallel axes; `applied` counts the rules that did it."""
    numbers = itertools.count(1 + max((n.arg.id for n in toposort(kernels) if n.op is Op.Range), default=-1))
    found: list[UOp] = []
    for kernel in kernels.src:
        kernel = simplified(kernel, licences, applied)
        nests = [
            n
            for nest in kernel.src
            for p in peeled(nest, numbers)
            for n in laned(merged(p, numbers), numbers)
        ]
        nests = [nests[0], *(renumbered(n, numbers) for n in nests[1:])]
        split = (split_reductions(nested_lanes(n, numbers), numbers, licences) for n in nests)
        found.append(simplified(Op.Sink(*split), licences, applied))
    return Op.Linear(*found)


# Shared -----------------------------------------------------------------------------------------------------------


def closed(body: UOp, ranges: Sequence[UOp]) -> UOp:
    """A nest of loops, outermost first, around an effect."""
    for r in reversed(ranges):
        body = Op.End(body, r)
    return body


def renumbered(nest: UOp, numbers: Iterator[int]) -> UOp:
    """The same nest with loops of its own."""
    ranges = [n for n in toposort(nest) if n.op is Op.Range]
    return substitute(nest, {r: loop(trip_count(r), next(numbers), r.arg.type) for r in ranges})


def stride(at: UOp, r: UOp) -> int | None:
    """The number that a range is multiplied with in an index; None where the index is no such sum."""
    found = 0
    for term, factor in polynomial(at).items():
        if term == (r,):
            found = factor
        elif any(r in arith.ranges_of(atom) for atom in term):
            return None
    return found


def _loads(root: UOp) -> Iterator[UOp]:
    """The places that the loads under a node read."""
    return (n.src[0] for n in toposort(root) if n.op is Op.Load and n.src[0].op is Op.Index)


def _replaced(body: UOp, r: UOp, value: UOp) -> UOp:
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
            first = closed(_replaced(body, r, most), rest)
            return [first, closed(_replaced(body, r, arith.number(count - 1)), last)]
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


# Output lanes -----------------------------------------------------------------------------------------------------


def laned(nest: UOp, numbers: Iterator[int]) -> list[UOp]:
    """The nest with its innermost axes split into lanes; several nests where they do not fill the last lanes."""
    ranges, body = nest_of(nest)
    folds = [n for n in toposort(body) if n.op is Op.Reduce]
    if not ranges or any(r.arg.type is not AxisType.LOOP for r in ranges):
        return [nest]
    inner = ranges[-1]
    along = [f for f in folds if inner in arith.ranges_of(f)]
    if trip_count(inner) < _LEAST or not along or not all(_reads_along(f, inner) for f in along):
        return [nest]
    outer = ranges[-2] if len(ranges) > 1 and all(_reused(f, ranges[-2]) for f in along) else None
    if outer is None:
        parts = _split(body, inner, WIDE_LANES, numbers)
        return [closed(b, [*ranges[:-1], *steps, *lanes]) for b, steps, lanes in parts]
    found: list[UOp] = []
    for rows, row_steps, row_lanes in _split(body, outer, ROWS, numbers):
        for whole, steps, lanes in _split(rows, inner, LANES, numbers):
            found.append(closed(whole, [*ranges[:-2], *row_steps, *steps, *row_lanes, *lanes]))
    return found


def _reads_along(fold: UOp, r: UOp) -> bool:
    """Whether a reduction reads neighbours, or one element, for neighbouring values of a range, at least once each."""
    strides = [stride(place.src[1], r) for place in _loads(fold)]
    return all(s in (0, 1) for s in strides) and 1 in strides


def _reused(fold: UOp, r: UOp) -> bool:
    """Whether a reduction depends on a range, and some element that it reads does not."""
    return r in arith.ranges_of(fold) and any(stride(p.src[1], r) == 0 for p in _loads(fold))


_Part = tuple[UOp, list[UOp], list[UOp]]


def _split(body: UOp, r: UOp, lanes: int, numbers: Iterator[int]) -> Iterator[_Part]:
    """A body with range r as steps and lanes, then one for the rest: (body, the steps' range, the lanes' range)."""
    count = trip_count(r)
    lanes = min(lanes, count)
    steps, rest = divmod(count, lanes)
    lane = loop(lanes, next(numbers), AxisType.UPCAST)
    step = arith.number(0) if steps == 1 else loop(steps, next(numbers), AxisType.LOOP)
    whole = arith.add(arith.mul(step, arith.number(lanes)), lane)
    yield _replaced(body, r, whole), [step] if step.op is Op.Range else [], [lane]
    if rest:
        last = arith.number(0) if rest == 1 else loop(rest, next(numbers), AxisType.UPCAST)
        at = arith.add(last, arith.number(steps * lanes))
        yield _replaced(body, r, at), [], [last] if last.op is Op.Range else []


# Reductions of reductions -----------------------------------------------------------------------------------------


def nested_lanes(nest: UOp, numbers: Iterator[int]) -> UOp:
    """The nest with the ranges of short reductions that contain reductions made lanes."""
    replacements: dict[UOp, UOp] = {}
    width: dict[UOp, int] = {}  # lanes of the reductions in a node that lie inside each other
    for node in toposort(nest):
        width[node] = max((width[s] for s in node.src), default=0)
        if node.op is Op.Reduce and len(node.src) == 2 and not width[node]:
            width[node] = 1
        elif node.op is Op.Reduce and len(node.src) == 2 and node.src[1].arg.type is AxisType.REDUCE:
            width[node] *= trip_count(node.src[1])
            if width[node] <= LONE_LANES:
                replacements[node.src[1]] = loop(trip_count(node.src[1]), next(numbers), AxisType.UPCAST)
    return substitute(nest, replacements) if replacements else nest


# Reduction lanes --------------------------------------------------------------------------------------------------


def split_reductions(nest: UOp, numbers: Iterator[int], licences: Collection[str]) -> UOp:
    """The nest with each reduction that may be split, and reads along its last range, split into lanes."""
    ranges, body = nest_of(nest)
    if any(n.op is Op.Range and n.arg.type is AxisType.UPCAST for n in toposort(nest)):
        return nest
    replacements = {
        fold: split_reduction(fold, numbers)
        for fold in toposort(body)
        if fold.op is Op.Reduce and _order_is_free(fold, licences) and _worth_splitting(fold)
    }
    return closed(substitute(body, replacements), ranges)


def _order_is_free(fold: UOp, licences: Collection[str]) -> bool:
    """Whether any order of a fold gives the same bits, or the licence to change it is granted (U-10, U-50)."""
    return fold.arg.op is Op.Max or not fold.dtype.is_float or "reassociate" in licences


def _worth_splitting(fold: UOp) -> bool:
    last = fold.src[-1]
    nested = any(n.op is Op.Reduce for n in toposort(fold.src[0]))
    return not nested and trip_count(last) >= 2 * LONE_LANES and _reads_along(fold, last)


def split_reduction(fold: UOp, numbers: Iterator[int]) -> UOp:
    """Lanes that each take every LONE_LANES-th element, folded at the end, and with what does not fill them."""
    body, *outer, last = fold.src
    parts = [
        UOp(Op.Reduce, (part, *outer, *steps, *lanes), fold.arg) if (*outer, *steps, *lanes) else part
        for part, steps, lanes in _split(body, last, LONE_LANES, numbers)
    ]
    return parts[0] if len(parts) == 1 else UOp(fold.arg.op, tuple(parts))
