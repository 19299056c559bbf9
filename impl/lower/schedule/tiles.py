"""
Tiles
=====

How a reduction that uses every element many times, such as a matrix product, goes through memory. Rows and lanes make
a tile whose sums stay in registers while the reduction runs, in its order. The steps over lanes are the outer loops,
those over rows the inner ones, a block of rows at a time that stays in the cache; and what a tile would read from far
apart, or behind a gate, is packed first.

*Invariant*: the order in which the elements of one reduction are reduced does not change.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection

from soundline.impl.analysis import arithmetic
from soundline.impl.lower.graphs.loops import stride
from soundline.impl.lower.graphs.views import trip_count
from soundline.impl.lower.linear.linearize import nest_of
from soundline.impl.lower.schedule.applying import Scheduling
from soundline.impl.lower.schedule.extensions import packable, reductions_inside
from soundline.impl.lower.schedule.target import Target, this_machine
from soundline.impl.lower.schedule.tile_choice import evenly, is_few, span
from soundline.spec.uop import AxisType, Op, UOp, toposort

__all__ = ["BLOCK", "FAR", "ROOM", "for_each", "is_far", "pack", "pays", "split", "this_machine", "tile"]

BLOCK = 240
"""So many rows at a time meet all lanes."""
ROOM = 0.5
"""So much of the cache of a core may be taken by what all rows meet, the packed lanes of one step; where that is more,
the rows come in blocks.
"""
FAR = 1 << 17
"""From so many bytes between the first and the last element that one tile reads on, packing pays."""


def for_each(kernel: Scheduling, first: int, count: int, work: Callable[[int], None]) -> None:
    """Do something to some nests, one after the other, each of which may be cut into several on the way."""
    at = first
    for _ in range(count):
        before = len(kernel.sink.src)
        work(at)
        at += 1 + len(kernel.sink.src) - before


def split(kernel: Scheduling, at: int, position: int, lanes: int, then: Callable[[int], None]) -> None:
    """Split an axis of a nest into steps and lanes; what does not fill the last lanes is cut off, and is lanes whole.
    What follows is done to each of the nests.
    """
    axis = kernel.nest(at)[0][position]
    count = trip_count(axis)
    rest = count % lanes if count > lanes else 0
    if rest:
        kernel.cut(axis, count - rest)

    def work(at: int) -> None:
        own = kernel.nest(at)[0][position]
        kernel.split(own, min(lanes, trip_count(own)), AxisType.UPCAST)
        then(at)

    for_each(kernel, at, 2 if rest else 1, work)


def split_evenly(kernel: Scheduling, at: int, position: int, size: int, then: Callable[[int], None]) -> None:
    """Split an axis of a nest into steps, and lanes of a size or one less, so that none has few."""
    axis = kernel.nest(at)[0][position]
    pieces = evenly(trip_count(axis), size)
    if len(pieces) > 1:
        kernel.cut(axis, math.prod(pieces[0]))

    def work(at: int, lanes: int) -> None:
        kernel.split(kernel.nest(at)[0][position], lanes, AxisType.UPCAST)
        then(at)

    sizes = iter(pieces)
    for_each(kernel, at, len(pieces), lambda at: work(at, next(sizes)[0]))


def tile(
    kernel: Scheduling, target: Target, at: int, reduction: UOp, size: tuple[int, int] | None = None
) -> None:
    """Tiles of the last two axes of a nest around a reduction: so many rows, and vectors across."""
    height, across = size or (target.rows, target.across)
    last = len(kernel.nest(at)[0]) - 1
    width = across * target.vector // reduction.dtype.itemsize
    met = (
        width
        * reduction.dtype.itemsize
        * math.prod(map(trip_count, reductions_inside(kernel.nest(at)[1])[reduction]))
    )

    def rows(at: int) -> None:
        split_evenly(kernel, at, _row_axis(kernel, at), height, lambda at: _ordered(kernel, at))

    def blocks(at: int) -> None:
        pack(kernel, kernel.nest(at)[0][-1])
        parts = 1 if met <= ROOM * target.cache else _blocks(kernel, at, last - 1, height)
        for_each(kernel, at, parts, rows)

    split(kernel, at, last, width, blocks)


def _row_axis(kernel: Scheduling, at: int) -> int:
    """Where the axis of the rows stands: before the steps and lanes."""
    return len(kernel.nest(at)[0]) - 3


def _ordered(kernel: Scheduling, at: int) -> None:
    """The steps over rows inside of those over lanes, and what the rows read packed."""
    ranges, _ = kernel.nest(at)
    row_steps, rows, steps, _ = ranges[-4:]
    kernel.swap(row_steps, steps)
    pack(kernel, rows)
    _outside(kernel, at, steps)


def _outside(kernel: Scheduling, at: int, steps: UOp) -> None:
    """The steps over lanes around the loops on which nothing depends that is packed for them, where all that is packed
    is too large for the cache: each step then meets all iterations while what it needs is near.
    """
    ranges, body = kernel.nest(at)
    packed = [n for n in toposort(body) if n.op is Op.Load and n.src[0].src[0].op is Op.After]
    packed = [n for n in packed if steps in arithmetic.ranges_of(n)]
    size = sum(n.dtype.itemsize * math.prod(map(trip_count, arithmetic.ranges_of(n))) for n in packed)
    if size <= ROOM * this_machine().cache:
        return
    for k in reversed(range(ranges.index(steps))):
        before = kernel.nest(at)[0][k]
        if before.arg.type is not AxisType.LOOP or any(before in arithmetic.ranges_of(n) for n in packed):
            return
        kernel.swap(before, steps)


def _blocks(kernel: Scheduling, at: int, position: int, rows: int) -> int:
    """The rows in blocks, of which the last takes what is left as well; how many nests there are then."""
    axis = kernel.nest(at)[0][position]
    count, size = trip_count(axis), max(BLOCK // rows, 1) * rows
    if count <= 2 * size:
        return 1
    whole = kernel.cut(axis, (count // size - 1) * size)
    kernel.split(whole, size, AxisType.LOOP)
    return 2


def pack(kernel: Scheduling, lanes: UOp) -> None:
    """Pack what reductions in these lanes read, where that is worth it."""
    slots: dict[int, None] = {}
    for nest in kernel.sink.src if kernel.sized is None else ():
        ranges, body = nest_of(nest)
        if lanes in ranges and trip_count(lanes) > 1:
            for load, reduced in packable(body, lanes):
                apart = lanes is ranges[-1] and lies_across(load, lanes) and is_few(load)
                if apart or pays(load, {lanes, *reduced}):
                    slots[load.src[0].src[0].arg.slot] = None
    for slot in slots:
        kernel.pack(lanes, slot)


def pays(load: UOp, ranges: Collection[UOp]) -> bool:
    """Whether a load, of which one tile needs what these ranges reach, is better packed."""
    if len(load.src) > 1:
        return True
    return is_few(load) and span(load, ranges) > FAR


def lies_across(load: UOp, r: UOp) -> bool:
    """Whether a load reads elements apart from each other as a range runs."""
    return stride(load.src[0].src[1], r) not in (None, 0, 1)


def is_far(body: UOp, axis: UOp) -> bool:
    """Whether the reductions in a body read, along an axis and what they reduce, from far apart."""
    return any(span(load, {axis, *reduced}) > FAR for load, reduced in packable(body, axis))
