"""
Loops over symbolic sizes
=========================

The schedule of a nest some of whose loops run up to symbolic sizes. Steps of a schedule are for axes of known size. So
such a loop is cut: into steps of so many iterations each, which become an axis of known size, and what is left over,
which is cut again or stays as it is. The loops whose counts are still sizes go outside; what is inside of them is a
kernel of known sizes, in which each of these loops, and each size, is a Param. Heuristics do with it what they do with
any other kernel, and the law judges each step. A Param may be any number; so what the law says holds at every size.

A reduction up to a size stays a loop inside of the kernel: as long as it can be, for whoever asks, and no step may name
it. Where its order is free it is cut as well, so that it has lanes.

*Invariant*: the values of all stores are unchanged; bit for bit without a licence.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass

from soundline.impl.analysis import arithmetic
from soundline.impl.lower.graphs.loops import closed, loaded_places, stride, walked_as_one
from soundline.impl.lower.graphs.rebuilding import rebuilt, under
from soundline.impl.lower.graphs.size_arguments import is_symbolic_loop
from soundline.impl.lower.graphs.views import most_iterations
from soundline.impl.lower.linear.linearize import nest_of
from soundline.impl.lower.linear.loop_nests import assembled
from soundline.impl.lower.schedule.rows import with_scalars_apart
from soundline.impl.lower.schedule.schedules import Schedule
from soundline.impl.lower.schedule.threads import may_be_dealt_out
from soundline.impl.lower.schedule.vectors import order_is_free
from soundline.spec.kernels.dependences import carried, directions
from soundline.spec.kernels.iteration_spaces import nests
from soundline.spec.kernels.opt import OptOp
from soundline.spec.ops.node import RangeArg
from soundline.spec.ops.sizes import polynomial
from soundline.spec.uop import AxisType, Op, UOp, loop, param, substitute

LANES = (64, 8)
"""So many iterations of an innermost loop are one step; what is left over is cut again."""
ROWS = (24, 6)
"""The same for a loop around others, whose iterations use again what a reduction reads."""
_SLOTS = 1 << 24
"""The slots of Params for what is one number inside of a nest begin here."""


@dataclass(frozen=True, slots=True)
class _Piece:
    """Iterations of a nest: loops that run up to sizes, and inside of them a nest of known sizes."""

    outside: tuple[UOp, ...]
    inside: tuple[UOp, ...]
    body: UOp


def scheduled_at_sizes(
    nest: UOp,
    numbers: Iterator[int],
    slots: Iterator[int],
    licences: Collection[str],
    schedule: Callable[[UOp, frozenset[UOp]], tuple[Sequence[UOp], Schedule]],
) -> tuple[list[UOp], list[OptOp]]:
    """A nest after what heuristics do with it, as several, and the steps that they took.

    `schedule` schedules a kernel of known sizes, some of whose axes no step may name. Reductions that the inner loops
    do not change are parts of their own in the loops around them, so that what the inner loops compute has lanes.
    """
    nest = _merged(_with_reductions_in_lanes(nest, numbers, licences), numbers)
    if not _stores_apart(nest):
        return [nest], []
    ranges, store = nest_of(nest)
    depth = _depth_of_reductions(ranges, store)
    rows = tuple(ranges[:depth])
    found: list[UOp] = []
    steps: list[OptOp] = []
    for part in with_scalars_apart(store, rows, ranges[depth:], slots) if depth else (nest,):
        for piece in _pieces(part, numbers):
            known = _as_numbers(piece, rows)
            sink = Op.Sink(substitute(closed(piece.body, piece.inside), known))
            made, taken = schedule(sink, frozenset(r for r in known.values() if r.op is Op.Range))
            steps += taken
            back = {new: old for old, new in known.items()}
            for done in made:
                own = {r: UOp(Op.Range, r.src, RangeArg(next(numbers), r.arg.type)) for r in piece.outside}
                found.append(substitute(closed(substitute(done, back), piece.outside), own))
    return [_dealt_out(n) for n in ([assembled(rows, found)] if depth else found)], steps


def _depth_of_reductions(ranges: Sequence[UOp], store: UOp) -> int:
    """How many loops the reductions need that the loops inside of these do not change; 0 where there are none."""
    deepest = 0
    for reduction in (n for n in under(store) if n.op is Op.Reduce):
        of = arithmetic.ranges_of(reduction)
        depth = max((k for k, r in enumerate(ranges, 1) if r in of), default=0)
        deepest = max(deepest, depth if of <= set(ranges) and depth < len(ranges) else 0)
    return deepest


def _stores_apart(nest: UOp) -> bool:
    """Whether each iteration of a nest stores to a place of its own, and no other reads it: the loops may run in any
    order.
    """
    ranges, body = nest_of(nest)
    if body.op is not Op.Store or len(body.src) > 2 or body.src[0].op is not Op.Index:
        return False
    storage, at = body.src[0].src
    position = arithmetic.flatten(ranges, [arithmetic.term_of(r.src[0]) for r in ranges])
    reads = any(n.op is Op.Load and storage in under(n.src[0]) for n in under(body.src[1]))
    return polynomial(at) == polynomial(position) and not reads


def _as_numbers(piece: _Piece, rows: Sequence[UOp]) -> dict[UOp, UOp]:
    """What a piece knows as numbers: loops outside and sizes as Params, reductions up to sizes at their longest."""
    slots = itertools.count(_SLOTS)
    around = (*rows, *piece.outside)
    sized = [r for r in under(piece.body) if is_symbolic_loop(r) and r not in around]
    known = {r: param(next(slots), r.dtype, bounds=(0, max(most_iterations(r) - 1, 0))) for r in around}
    known |= {r: loop(most_iterations(r), r.arg.id, r.arg.type) for r in sized}
    bounds = Op.Group(*around, *sized, piece.body)
    sizes = [n for r in under(bounds) if is_symbolic_loop(r) for n in under(r) if n.op is Op.Load]
    return known | {n: param(next(slots), n.dtype) for n in dict.fromkeys(sizes)}


def _dealt_out(nest: UOp) -> UOp:
    """A nest whose outermost loop is dealt out to cores, where that is worth it and no two iterations meet."""
    around, _ = nest_of(nest)
    if not around or around[0] not in may_be_dealt_out(nest):
        return nest
    apart = functools.partial(directions, private=("REG",))
    for ranges, body in nests(Op.Sink(nest)):
        if around[0] in ranges and carried(body, ranges, ranges.index(around[0]), apart) is not False:
            return nest
    shared = UOp(Op.Range, around[0].src, RangeArg(around[0].arg.id, AxisType.THREAD))
    return substitute(nest, {around[0]: shared})


# Loops ------------------------------------------------------------------------------------------------------------


def _cut(r: UOp, lanes: Sequence[int], numbers: Iterator[int]) -> Iterator[tuple[list[UOp], list[UOp], UOp]]:
    """The iterations of a loop as steps of so many, then of fewer, and then what is left: loops up to sizes, loops of
    known sizes, and the iteration.
    """
    size, done, left = r.src[0], arithmetic.number(0), r.src[0]
    for count in lanes:
        if most_iterations(r) < 2 * count:
            continue  # one step is no loop: what does not depend on it might be computed where there is none
        step = loop(arithmetic.div(left, count), next(numbers), r.arg.type)
        lane = loop(count, next(numbers), r.arg.type)
        first = arithmetic.mul(step, arithmetic.number(count))
        yield [step], [lane], arithmetic.add(done, arithmetic.add(first, lane))
        done = arithmetic.mul(arithmetic.div(size, count), arithmetic.number(count))
        left = arithmetic.mod(size, count)
    last = loop(left, next(numbers), r.arg.type)
    yield [last], [], arithmetic.add(done, last)


def _pieces(nest: UOp, numbers: Iterator[int]) -> Iterator[_Piece]:
    """A nest in pieces: its last loop up to a size is cut, where lanes or a tile can be made of it."""
    ranges, body = nest_of(nest)
    sized = [k for k, r in enumerate(ranges) if is_symbolic_loop(r)]
    if not sized:
        yield _Piece((), tuple(ranges), body)
        return
    at = sized[-1]
    r, before, after = ranges[at], ranges[:at], ranges[at + 1 :]
    if after and not any(n.op is Op.Reduce for n in under(body)):
        yield _Piece((*before, r), tuple(after), body)
        return
    for steps, lanes, iteration in _cut(r, ROWS if after else LANES, numbers):
        yield _Piece((*before, *steps), (*lanes, *after), substitute(body, {r: iteration}))


def _merged(nest: UOp, numbers: Iterator[int]) -> UOp:
    """A nest in which two loops that every access walks as one are one, where one of them runs up to a size."""
    inside = len(nest_of(nest)[0]) - 1
    while inside > 0:
        ranges, body = nest_of(nest)
        p, q = ranges[inside - 1], ranges[inside]
        if (is_symbolic_loop(p) or is_symbolic_loop(q)) and walked_as_one(body, p, q):
            whole = loop(arithmetic.mul(p.src[0], q.src[0]), next(numbers), p.arg.type)
            body = substitute(body, {p: arithmetic.number(0), q: whole})
            nest = closed(body, [*ranges[: inside - 1], whole, *ranges[inside + 1 :]])
        inside -= 1
    return nest


# Reductions -------------------------------------------------------------------------------------------------------


def _with_reductions_in_lanes(nest: UOp, numbers: Iterator[int], licences: Collection[str]) -> UOp:
    """A nest whose reductions up to sizes, where their order is free and they read along memory, are in lanes."""

    def change(node: UOp, src: tuple[UOp, ...]) -> UOp | None:
        if node.op is not Op.Reduce or not _has_lanes(node, licences):
            return None
        body, *others, r = src
        parts = [
            UOp(Op.Reduce, (substitute(body, {r: iteration}), *others, *steps, *lanes), node.arg)
            for steps, lanes, iteration in _cut(r, LANES[:1], numbers)
        ]
        return UOp(node.arg.op, tuple(parts))

    return rebuilt(nest, change)


def _has_lanes(reduction: UOp, licences: Collection[str]) -> bool:
    if (
        len(reduction.src) < 2
        or not is_symbolic_loop(reduction.src[-1])
        or not order_is_free(reduction, licences)
    ):
        return False
    r = reduction.src[-1]
    strides = [stride(place.src[1], r) for place in loaded_places(reduction)]
    nested = any(n.op is Op.Reduce for n in under(reduction.src[0]))
    return most_iterations(r) >= 2 * LANES[0] and not nested and set(strides) <= {0, 1} and 1 in strides
