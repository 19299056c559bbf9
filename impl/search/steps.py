"""
What a search tries
===================

The schedules that may be better than one that is known. Some are made anew: what the heuristics would do for a
processor with other tiles. The others go one move further: lanes, blocks, another order of loops, packing, cores. A
move is a few steps that only make sense together, as a Cut before a Split that would not divide. Only schedules that
the law admits are kept, and only one of several that make the same program.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Collection, Iterator
from dataclasses import replace

from soundline.impl.lower.graphs.views import trip_count
from soundline.impl.lower.schedule.applying import Scheduling, scheduled
from soundline.impl.lower.schedule.extensions import packable
from soundline.impl.lower.schedule.heuristics import schedule_of
from soundline.impl.lower.schedule.schedules import Schedule
from soundline.impl.lower.schedule.target import Target
from soundline.spec.errors import ScheduleError
from soundline.spec.kernels.iteration_spaces import nests
from soundline.spec.kernels.opt import OptOp
from soundline.spec.uop import AxisType, Op, UOp, toposort

TILES = ((4, 4), (8, 2), (8, 3), (12, 2), (14, 1), (14, 2), (4, 2), (6, 2), (2, 4), (1, 4))
"""Rows, and vectors across, of tiles that suit common processors."""
LANES = (4, 8, 16, 32, 64, 128, 256)
BLOCKS = (16, 64, 240)
SHORT = 16
"""The longest reduction that is unrolled."""
AXES = 10
"""The number of axes of a kernel on which moves are tried: the first ones."""


def under(sink: UOp, steps: Schedule, licences: Collection[str]) -> Scheduling | None:
    """A kernel after a schedule; None where the law refuses one of its steps."""
    try:
        return scheduled(fresh(sink, licences), steps)
    except ScheduleError:
        return None


def fresh(sink: UOp, licences: Collection[str]) -> Scheduling:
    """A kernel before its first step."""
    ranges = itertools.count(1 + max((n.arg.id for n in toposort(sink) if n.op is Op.Range), default=-1))
    slots = itertools.count(1 + max((n.arg.slot for n in toposort(sink) if n.op is Op.Buffer), default=-1))
    return Scheduling(sink, ranges, slots, licences)


def seeds(sink: UOp, target: Target, licences: Collection[str]) -> list[Schedule]:
    """The schedules to begin with: the empty one, that of the heuristics, and those of the heuristics with other
    tiles.
    """
    found: dict[Schedule, None] = {(): None}
    for tile in (None, *TILES):
        with contextlib.suppress(ScheduleError):
            made = schedule_of(fresh(sink, licences), replace(target, tile=tile) if tile else target)
            found[made.steps] = None
    return list(found)


def neighbours(sink: UOp, steps: Schedule, licences: Collection[str]) -> Iterator[Schedule]:
    """The schedules that are one move longer, and that the law lets through."""
    kernel = under(sink, steps, licences)
    if kernel is None:
        return
    for move in dict.fromkeys(moves(kernel)):
        longer = kernel.copy()
        with contextlib.suppress(ScheduleError):
            scheduled(longer, move)
            yield longer.steps


def moves(kernel: Scheduling) -> Iterator[Schedule]:
    """The moves that a kernel offers."""
    axes = kernel.axes
    around = {r for ranges, _ in nests(kernel.sink) for r in ranges}
    for at, axis in enumerate(axes[:AXES]):
        if axis.src[0].op is not Op.Const or trip_count(axis) == 1:
            continue
        match axis.arg.type:
            case AxisType.LOOP if axis in around:
                yield from _of_a_loop(axes, at)
            case AxisType.REDUCE:
                yield from _of_a_reduction(kernel, axis, at)
            case AxisType.UPCAST:
                yield from ((OptOp("Pack", at, slot),) for slot in _slots(kernel, axis))


def _of_a_loop(axes: tuple[UOp, ...], at: int) -> Iterator[Schedule]:
    count = trip_count(axes[at])
    for lanes in LANES:
        if lanes <= count:
            yield _cut_to(at, count, lanes, OptOp("Split", at, (lanes, AxisType.UPCAST)))
    for block in BLOCKS:
        if block < count:
            yield _cut_to(at, count, block, OptOp("Split", at, (block, AxisType.LOOP)))
    yield (OptOp("Split", at, (count, AxisType.THREAD, True)),)
    for other in range(at + 1, min(len(axes), AXES)):
        if axes[other].arg.type is AxisType.LOOP:
            yield (OptOp("Swap", at, other),)
            if other == at + 1:
                yield (OptOp("Merge", at, other),)


def _of_a_reduction(kernel: Scheduling, axis: UOp, at: int) -> Iterator[Schedule]:
    count = trip_count(axis)
    if count <= SHORT:
        yield (OptOp("Split", at, (count, AxisType.UNROLL)),)
    for lanes in LANES:
        if 2 * lanes <= count and count % lanes == 0:
            yield (OptOp("Split", at, (lanes, AxisType.GROUP_REDUCE)),)
        elif 2 * lanes <= count:
            after = kernel.copy()
            with contextlib.suppress(ScheduleError):
                whole = after.cut(axis, count - count % lanes)
                split = OptOp("Split", after.axes.index(whole), (lanes, AxisType.GROUP_REDUCE))
                yield OptOp("Cut", at, count - count % lanes), split


def _cut_to(at: int, count: int, factor: int, split: OptOp) -> Schedule:
    """A Split, after a Cut where it would not divide."""
    rest = count % factor
    return (OptOp("Cut", at, count - rest), split) if rest else (split,)


def _slots(kernel: Scheduling, lanes: UOp) -> list[int]:
    """The Buffers whose loads by the reductions in some lanes could be packed."""
    found = {
        load.src[0].src[0].arg.slot: None
        for ranges, body in nests(kernel.sink)
        if lanes in ranges
        for load, _ in packable(body, lanes)
    }
    return list(found)
