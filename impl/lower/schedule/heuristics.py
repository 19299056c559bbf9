"""
Heuristics
==========

The schedule that a kernel gets where nobody gives one: a function of the kernel, the processor and the licences. What
it does, nest by nest:

* an axis of which only the last step fails a gate is cut there, so that the others go without the gate; what moves
  much, as a padded copy, loses all its borders so;
* two loops that every access walks as one become one;
* where a reduction reads along the innermost output axis, that axis is split into lanes; together with the axis around
  it into tiles, if some operand does not depend on that one, so that a loaded element is used many times (`tiles`).
  What does not fill a split is cut off first. The order in which each output's reduction runs does not change.
  A few rows go all at once, over long runs of memory, and so does a reduction that uses no element again;
* where another axis makes better lanes than the innermost one, or another tile leaves less over, that is taken: a
  convolution whose rows of pixels fill no vectors gets lanes of channels, which are packed; and so does a sum of sums,
  as a long sum of products is, one sum running inside the other (`tile_choice`);
* a product whose lanes are apart in memory, as those of A @ B.T, goes by tiles too, after what they read is packed;
* sums along memory whose order is kept go side by side, since each step waits for the one before; and so do windows
  that move by a few elements, as those of a pooling;
* a nest that only moves data, reads along one axis and writes along another, goes by square tiles;
* a short reduction of reductions, as in a blocked sum, is unrolled: lanes that are joined in their order;
* a reduction whose order is free (Max, integers, bools, or floats under ``reassociate``) along contiguous memory is
  split into a group of lanes that are reduced apart;
* a nest without reductions, of which all has vectors, is split into lanes of some vectors (`common_subexpressions`);
* what is worth it is dealt out to cores by its outermost loop (`threads`).

*Invariant*: the order in which the elements of one reduction are reduced does not change, where it is not free.
"""

from __future__ import annotations

import contextlib
import math

from soundline.impl.analysis import arithmetic
from soundline.impl.lower.graphs.loops import border, last_step, loaded_places, stride, walked_as_one
from soundline.impl.lower.graphs.rebuilding import under
from soundline.impl.lower.graphs.views import trip_count
from soundline.impl.lower.linear.linearize import nest_of
from soundline.impl.lower.schedule import tiles
from soundline.impl.lower.schedule.applying import Scheduling
from soundline.impl.lower.schedule.common_subexpressions import vector_lanes
from soundline.impl.lower.schedule.extensions import packable
from soundline.impl.lower.schedule.target import Target
from soundline.impl.lower.schedule.threads import dealt_out
from soundline.impl.lower.schedule.tile_choice import Choice, chosen, is_few
from soundline.impl.lower.schedule.tiles import for_each, is_far, lies_across, split, tile
from soundline.spec.errors import ScheduleError
from soundline.spec.uop import AxisType, Op, UOp

LONE_LANES = 64
"""Lanes of a split reduction."""
WIDE_LANES = 1024
"""Lanes of a split output axis where no element is used again: long runs of memory, sums that stay in the cache."""
FEW = 16
"""So few rows go all at once over long runs of memory, each of which is read once; of more, tiles are packed."""
ROW_LANES = {4: WIDE_LANES, FEW: 256}
"""Lanes beside so many rows."""
_LEAST = 4
"""An axis shorter than this is not worth splitting."""
WAITING = 32
"""So many sums whose steps wait for each other go side by side."""
TILE = 32
"""Lanes of both axes of a nest that reads along one and writes along the other."""
NEAR = 4
"""Lanes whose elements lie no further apart are gathered."""
_NARROW = 16
"""A shorter axis is not worth a tile."""
MUCH = 1 << 12
"""What moves so many elements is worth more nests: one without gates, and those for the borders."""
_BORDERS = 9
"""So many nests at most."""
_LANES = (AxisType.UPCAST, AxisType.UNROLL, AxisType.GROUP_REDUCE)


def schedule_of(kernel: Scheduling, target: Target) -> Scheduling:
    """A kernel with the steps that these rules choose for it."""
    if any(n.op is Op.Buffer and n.arg.addrspace != "GLOBAL" for n in under(kernel.sink)):
        return kernel  # its own storage orders what it does
    nests_of(kernel, target)
    for at in range(len(kernel.packing())):
        _merge_packing(kernel, at)
        in_blocks(kernel, target, at)
    for at in range(len(kernel.packing())):
        deal(kernel, kernel.packing()[at])
    for at in range(len(kernel.sink.src)):
        deal(kernel, kernel.sink.src[at])  # as it is now: nests of a running reduction have loops in common
    return kernel


def nests_of(kernel: Scheduling, target: Target) -> Scheduling:
    """A kernel with the steps for each of its nests; none is dealt out yet."""
    for_each(kernel, 0, len(kernel.sink.src), lambda at: _nest(kernel, target, at))
    return kernel


def _nest(kernel: Scheduling, target: Target, at: int) -> None:
    if any(n.op is Op.Range and n.src[0].op is not Op.Const for n in under(kernel.sink.src[at])):
        return  # a reduction along a loop
    for_each(kernel, at, peel(kernel, at), lambda at: _peeled(kernel, target, at))


def _peeled(kernel: Scheduling, target: Target, at: int) -> None:
    merge(kernel, at)
    before = len(kernel.sink.src)
    tiled = lanes(kernel, target, at)
    for k in range(at, at + 1 + len(kernel.sink.src) - before):
        if not tiled:
            unroll(kernel, k)
        group(kernel, k)
    for_each(kernel, at, 1 + len(kernel.sink.src) - before, lambda at: vector_lanes(kernel, target, at))


# Loops ------------------------------------------------------------------------------------------------------------


def peel(kernel: Scheduling, at: int) -> int:
    """Cut off what frees the rest of gates; how many nests there are then. A nest that moves much loses its borders,
    any other the last step of one axis.
    """
    ranges, body = kernel.nest(at)
    moves = not any(n.op is Op.Reduce for n in under(body))
    if moves and math.prod(map(trip_count, ranges)) >= MUCH:
        return _without_borders(kernel, at, _BORDERS)
    axis = last_step(kernel.sink.src[at])
    if axis is None:
        return 1
    kernel.cut(axis, trip_count(axis) - 1)
    return 2


def _without_borders(kernel: Scheduling, at: int, most: int) -> int:
    found = border(kernel.sink.src[at]) if most > 1 else None
    if found is None:
        return 1
    kernel.cut(*found)
    first = _without_borders(kernel, at, most - 1)
    return first + _without_borders(kernel, at + first, most - first)


def merge(kernel: Scheduling, at: int) -> None:
    """Join neighbouring loops that every access walks as one."""
    inside = len(kernel.nest(at)[0]) - 1
    while inside > 0:
        ranges, body = kernel.nest(at)
        if walked_as_one(body, ranges[inside - 1], ranges[inside]):
            kernel.merge(ranges[inside - 1], ranges[inside])
        inside -= 1


# Output lanes -----------------------------------------------------------------------------------------------------


def lanes(kernel: Scheduling, target: Target, at: int) -> bool:
    """Split axes of a nest into lanes, where that makes something cheaper; whether two were chosen as a tile."""
    ranges, body = kernel.nest(at)
    reductions = [n for n in under(body) if n.op is Op.Reduce]
    if not ranges or any(r.arg.type is not AxisType.LOOP for r in ranges):
        return False
    inner = ranges[-1]
    if not reductions:
        across = next((r for r in ranges[:-1] if _reads_across(body, r, inner)), None)
        if across is not None:
            _square(kernel, at, ranges.index(across))
        return False
    usual = _usual(ranges, body, reductions)
    few = usual is not None and trip_count(usual[0]) <= FEW and is_far(body, inner)
    packs = kernel.sized is None
    if (
        packs
        and len(ranges) > 1
        and not few
        and (choice := chosen(ranges, body, usual, target, tiles.FAR)) is not None
    ):
        _as_chosen(kernel, target, at, choice)
        return True
    along = [f for f in reductions if inner in arithmetic.ranges_of(f)]
    if trip_count(inner) < _LEAST or not along:
        return False
    if not all(reads_along(f, inner) for f in along):
        if packs and len(reductions) == 1 and _packs_to_tiles(body, reductions[0], ranges):
            tile(kernel, target, at, reductions[0])
            return False
        if len(reductions) == 1 and trip_count(inner) >= WAITING and _waits(kernel, reductions[0]):
            split(kernel, at, len(ranges) - 1, WAITING, lambda _: None)
        elif all(_reads_near(f, inner) for f in along):
            split(kernel, at, len(ranges) - 1, WIDE_LANES, lambda _: None)
        return False
    rows = _rows_of_tiles(ranges[:-1], along, inner)
    if rows is not None and rows is not ranges[-2]:
        kernel.swap(rows, ranges[-2])
        ranges, _ = kernel.nest(at)
    if len(ranges) > 1 and all(_reused(f, ranges[-2]) for f in along):
        if trip_count(ranges[-2]) <= FEW and is_far(body, inner):
            _few_rows(kernel, at)
        else:
            tile(kernel, target, at, along[0])
    else:
        split(kernel, at, len(ranges) - 1, WIDE_LANES, lambda _: None)
    return False


def _usual(ranges: list[UOp], body: UOp, reductions: list[UOp]) -> tuple[UOp, UOp] | None:
    """The rows and lanes of a tile if the lanes are the innermost axis; None where they make none."""
    inner = ranges[-1]
    if (
        len(ranges) < 2
        or trip_count(inner) < _LEAST
        or any(inner not in arithmetic.ranges_of(f) for f in reductions)
    ):
        return None
    if all(reads_along(f, inner) for f in reductions):
        return _rows_of_tiles(ranges[:-1], reductions, inner) or ranges[-2], inner
    return (
        (ranges[-2], inner) if len(reductions) == 1 and _packs_to_tiles(body, reductions[0], ranges) else None
    )


def _as_chosen(kernel: Scheduling, target: Target, at: int, choice: Choice) -> None:
    """A tile of two axes, wherever they stand."""
    for axis, last in ((choice.lanes, -1), (choice.rows, -2)):
        place = kernel.nest(at)[0].index(axis)
        for k in range(place, len(kernel.nest(at)[0]) + last):
            ranges, _ = kernel.nest(at)
            kernel.swap(ranges[k], ranges[k + 1])
    reduction = next(n for n in under(kernel.nest(at)[1]) if n.op is Op.Reduce)
    tile(kernel, target, at, reduction, target.tile or (choice.height, choice.across))


def _few_rows(kernel: Scheduling, at: int) -> None:
    """All rows at once, in lanes of the innermost axis."""
    ranges, _ = kernel.nest(at)
    count = trip_count(ranges[-2])
    beside = next(lanes for rows, lanes in ROW_LANES.items() if count <= rows)

    def rows(at: int) -> None:
        kernel.split(kernel.nest(at)[0][-3], count, AxisType.UPCAST)

    split(kernel, at, len(ranges) - 1, beside, rows)


def _rows_of_tiles(outer: list[UOp], reductions: list[UOp], inner: UOp) -> UOp | None:
    """The innermost loop on which nothing depends that is read along the lanes, so that all rows of a tile use it."""
    lanes = [
        p.src[1] for f in reductions for p in loaded_places(f) if inner in arithmetic.ranges_of(p.src[1])
    ]
    for r in reversed(outer):
        if all(_reused(f, r) for f in reductions) and not any(r in arithmetic.ranges_of(at) for at in lanes):
            return r
    return None


def _square(kernel: Scheduling, at: int, across: int) -> None:
    """Square tiles of the axis that is read along and the innermost one, which is written along."""

    def rows(at: int) -> None:
        split(kernel, at, len(kernel.nest(at)[0]) - 1, TILE, lambda at: order(kernel, at))

    split(kernel, at, across, TILE, rows)


def order(kernel: Scheduling, at: int) -> None:
    """Bring the steps of the tile's rows to the steps of its lanes."""
    ranges, _ = kernel.nest(at)
    loops = [k for k, r in enumerate(ranges) if r.arg.type is AxisType.LOOP]
    row = next(k for k, r in enumerate(ranges) if r.arg.type is AxisType.UPCAST) - 1
    for k in loops[loops.index(row) + 1 : -1]:
        kernel.swap(kernel.nest(at)[0][row], kernel.nest(at)[0][k])
        row = k


def _merge_packing(kernel: Scheduling, at: int) -> None:
    """Join neighbouring loops of a nest that packs, where both what it reads and what it writes lie in one line."""
    inside = len(nest_of(kernel.packing()[at])[0]) - 1
    while inside > 0:
        ranges, body = nest_of(kernel.packing()[at])
        p, q = ranges[inside - 1], ranges[inside]
        if p.arg.type is q.arg.type is AxisType.LOOP and walked_as_one(body, p, q):
            kernel.merge(p, q)
        inside -= 1


def in_blocks(kernel: Scheduling, target: Target, at: int) -> None:
    """Lanes of a loop of a nest that packs, where its neighbours are read side by side, and those of its lanes are not:
    what has two axes of lanes is moved in square blocks.
    """
    ranges, body = nest_of(kernel.packing()[at])
    places = list(loaded_places(body))
    if len(ranges) < 2 or len(places) != 1 or body.op is not Op.Store or len(body.src[1].src) > 1:
        return
    block = target.vector // body.src[1].dtype.itemsize
    lanes, steps = ranges[-1], ranges[-2]
    apart = stride(places[0].src[1], lanes)
    if apart is None or apart < 2 or stride(places[0].src[1], steps) != 1 or trip_count(lanes) % block:
        return
    if lanes.arg.type is AxisType.UPCAST and steps.arg.type is AxisType.LOOP:
        rows = next((n for n in (TILE, block) if n % block == 0 and trip_count(steps) % n == 0), None)
        if rows is not None:
            kernel.split(steps, rows, AxisType.UPCAST)


def _waits(kernel: Scheduling, reduction: UOp) -> bool:
    """Whether each step of a reduction waits for the one before, and reads its neighbour."""
    return not _order_is_free(kernel, reduction) and reads_along(reduction, reduction.src[-1])


def _packs_to_tiles(body: UOp, reduction: UOp, ranges: list[UOp]) -> bool:
    """Whether the lanes of a product read from places apart, as those of A @ B.T, and packing pays: the steps of its
    rows use again what has been packed once.
    """
    if (
        len(ranges) < 2
        or min(trip_count(r) for r in ranges[-2:]) < _NARROW
        or not _reused(reduction, ranges[-2])
    ):
        return False
    inner = ranges[-1]
    ready = {load for load, _ in packable(body, inner)}
    apart = {n for n in under(reduction) if n.op is Op.Load and lies_across(n, inner)}
    if any(stride(p.src[1], inner) is None for p in loaded_places(reduction)):
        return False
    return apart <= ready and all(is_few(n) and ranges[-2] not in arithmetic.ranges_of(n) for n in apart)


def _reads_across(body: UOp, r: UOp, inner: UOp) -> bool:
    """Whether neighbouring values of a range read neighbours, but those of the innermost range do not."""
    if min(trip_count(r), trip_count(inner)) < _NARROW:
        return False
    return any(
        stride(place.src[1], r) == 1 and stride(place.src[1], inner) not in (0, 1)
        for place in loaded_places(body)
    )


def reads_along(reduction: UOp, r: UOp) -> bool:
    """Whether a reduction reads neighbours, or one element, for neighbouring values of a range, at least once each."""
    strides = [stride(place.src[1], r) for place in loaded_places(reduction)]
    return all(s in (0, 1) for s in strides) and 1 in strides


def _reads_near(reduction: UOp, r: UOp) -> bool:
    """Whether a reduction reads, for neighbouring values of a range, what lies a few elements apart, as a window does
    that moves by its stride: lanes are gathered from the same lines of a cache. That pays where it compares floats, for
    which a processor without lanes would have to guess what comes.
    """
    strides = [stride(place.src[1], r) for place in loaded_places(reduction)]
    compares = any(_is_maximum(n) for n in under(reduction))
    return compares and all(s is not None and 0 <= s <= NEAR for s in strides)


def _is_maximum(node: UOp) -> bool:
    return node.dtype.is_float and Op.Max in (node.op, node.arg.op if node.op is Op.Reduce else None)


def _reused(reduction: UOp, r: UOp) -> bool:
    """Whether a reduction depends on a range, and some element that it reads does not."""
    return r in arithmetic.ranges_of(reduction) and any(
        stride(p.src[1], r) == 0 for p in loaded_places(reduction)
    )


# Reductions -------------------------------------------------------------------------------------------------------


def unroll(kernel: Scheduling, at: int) -> None:
    """Unroll the ranges of short reductions that contain reductions."""
    chosen: list[UOp] = []
    width: dict[UOp, int] = {}  # lanes of the reductions in a node that lie inside each other
    for node in under(kernel.sink.src[at]):
        width[node] = max((width[s] for s in node.src), default=0)
        if node.op is Op.Reduce and len(node.src) == 2 and not width[node]:
            width[node] = 1
        elif node.op is Op.Reduce and len(node.src) == 2 and node.src[1].arg.type is AxisType.REDUCE:
            width[node] *= trip_count(node.src[1])
            if width[node] <= LONE_LANES:
                chosen.append(node.src[1])
    for r in dict.fromkeys(chosen):
        with contextlib.suppress(ScheduleError):  # more lanes than a nest may have stay a loop
            kernel.split(r, trip_count(r), AxisType.UNROLL)


def group(kernel: Scheduling, at: int) -> None:
    """Split each reduction that may be, and reads along its last range, into lanes that are reduced apart."""
    nest = kernel.sink.src[at]
    if any(n.op is Op.Range and n.arg.type in _LANES for n in under(nest)):
        return
    reductions = [n for n in under(nest_of(nest)[1]) if n.op is Op.Reduce]
    for r in dict.fromkeys(f.src[-1] for f in reductions):
        with_it = [f for f in reductions if r in f.src[1:]]
        if all(f.src[-1] is r and _order_is_free(kernel, f) and _worth_splitting(f) for f in with_it):
            lanes = min(LONE_LANES, trip_count(r))
            rest = trip_count(r) % lanes
            whole = kernel.cut(r, trip_count(r) - rest) if rest else r
            kernel.split(whole, lanes, AxisType.GROUP_REDUCE)


def _order_is_free(kernel: Scheduling, reduction: UOp) -> bool:
    """Whether any order of a reduction gives the same bits, or the licence to change it is granted (U-10, U-50)."""
    return reduction.arg.op is Op.Max or not reduction.dtype.is_float or "reassociate" in kernel.licences


def _worth_splitting(reduction: UOp) -> bool:
    last = reduction.src[-1]
    nested = any(n.op is Op.Reduce for n in under(reduction.src[0]))
    steps = math.prod(map(trip_count, reduction.src[1:]))
    long = steps >= 2 * LONE_LANES and trip_count(last) >= min(LONE_LANES, _NARROW)
    return not nested and long and reads_along(reduction, last)


# Cores ------------------------------------------------------------------------------------------------------------


def deal(kernel: Scheduling, nest: UOp) -> None:
    """Bring the loop of a nest that is worth it to the outside, and deal it out to cores, unless that was done."""
    ranges, _ = nest_of(nest)
    chosen = dealt_out(nest)
    if chosen is None or any(r.arg.type is AxisType.THREAD for r in ranges):
        return
    before = [r for r in ranges[: ranges.index(chosen)] if r.arg.type is AxisType.LOOP]
    for other in reversed(before):
        kernel.swap(other, chosen)
    kernel.split(chosen, trip_count(chosen), AxisType.THREAD, top=True)
