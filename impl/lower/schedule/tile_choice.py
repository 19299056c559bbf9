"""
Which tile
==========

Which axes of an output become the rows and the lanes of a tile, and how large the tile is: of all pairs of axes the one
whose steps are estimated to be the fewest cycles. What is counted is what a processor with vectors does: vectors that
are reduced and vectors that are loaded in every step of the reduction, those of a last tile that is not full as well;
and what is moved once: lanes that lie apart in what is read are packed, and those that lie apart in what is written are
written one by one.

A convolution so takes output channels as lanes where its rows of pixels do not fill vectors, and a product whose rows
or columns are few gets the tile that leaves the least over.

*Invariant*: none of its own; it only chooses.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from soundline.impl.analysis import arithmetic
from soundline.impl.lower.graphs.loops import stride
from soundline.impl.lower.graphs.rebuilding import under
from soundline.impl.lower.graphs.views import trip_count
from soundline.impl.lower.schedule.extensions import reductions_inside
from soundline.impl.lower.schedule.target import Target
from soundline.impl.lower.schedule.vector_types import COMPARISONS, VECTOR_DTYPES
from soundline.impl.lower.schedule.vectors import parts_of, width_of
from soundline.spec.uop import Op, UOp, substitute

GAIN: Final = 0.95
"""Another choice than the usual one must be estimated to take less than this share of its cycles."""
WORTH: Final = 1 << 15
"""Where there are fewer steps, the usual tile is taken."""
WAIT: Final = 4.0
"""The cycles after which a sum can be added to again."""
AT_ONCE: Final = 2.0
"""Vectors that are reduced, or loaded, in a cycle."""
MOVED: Final = 1.2
"""Cycles for an element that is packed or written one by one."""
IN_BLOCKS: Final = 0.6
"""Cycles for an element that is packed in blocks of vectors."""
FROM_FAR: Final = 16
"""Bytes that come in a cycle from beyond the second cache."""
FAR_APART: Final = 4.0
"""Cycles for an element that is written far from the one before."""
GATE: Final = 2.0
"""What a vector of a gate costs, in vectors that are reduced: it is compared, and becomes a mask."""
FROM_SECOND: Final = 3.0
"""Cycles in which a vector comes from the second cache."""
ROOM: Final = 1 << 15
"""So many bytes at least find room in the first cache."""
MOST_ACROSS: Final = 8
"""More vectors side by side leave too few rows."""
COPIES: Final = 2
"""What is read at places that overlap is not packed where that would store each element more often than this."""


@dataclass(frozen=True, slots=True)
class Choice:
    """Two axes of a nest, and the tile of them."""

    rows: UOp
    lanes: UOp
    height: int
    """Rows of a tile."""
    across: int
    """Vectors of a tile, side by side."""
    cycles: float
    """What all steps are estimated to take."""


@dataclass(frozen=True, slots=True)
class _Work:
    """What a nest reads and writes, as steps along its axes."""

    ranges: Sequence[UOp]
    reduction: UOp
    """The innermost reduction."""
    reduced: tuple[UOp, ...]
    """What it reduces, and what the reductions around it do."""
    loads: tuple[dict[UOp, int], ...]
    """For each load, how far apart the elements are that neighbours along an axis read."""
    packed: tuple[bool, ...]
    """Whether each load may be packed."""
    far: tuple[bool, ...]
    """Whether what one step over lanes needs of each load is packed because it lies far apart."""
    stored: dict[UOp, int]
    gates: tuple[frozenset[UOp], ...]
    """For each comparison in the reduction the axes on which it depends."""

    @property
    def steps(self) -> int:
        """The iterations of all axes and of the reduction."""
        return math.prod(map(trip_count, (*self.ranges, *self.reduced)))


def chosen(
    ranges: Sequence[UOp], body: UOp, usual: tuple[UOp, UOp] | None, target: Target, far: int
) -> Choice | None:
    """The tile of a nest around one reduction that is much better than the usual one, whose rows and lanes are given
    if there is one; None where there is none. What lies so many bytes apart as `far` is packed.
    """
    work = _work(ranges, body, far)
    if work is None:
        return None
    limit = math.inf
    if usual is not None and _suits(work, *usual):
        limit = GAIN * _cycles(work, *usual, target.rows, target.across, target)
    found: list[Choice] = []
    for rows, lanes in itertools.permutations(ranges, 2):
        if _suits(work, rows, lanes):
            found += _sizes(work, rows, lanes, target)
    best = min(found, key=lambda c: c.cycles, default=None)
    return best if best is not None and best.cycles < limit else None


def _work(ranges: Sequence[UOp], body: UOp, far: int) -> _Work | None:
    """What a nest does; None where it is no such reduction, or little, or some place is no sum of steps."""
    reductions = reductions_inside(body)
    if not reductions or body.op is not Op.Store or len(body.src) > 2 or body.src[0].op is not Op.Index:
        return None
    reduction, reduced = next(iter(reductions.items()))
    if len(reduced) < sum(len(f.src) - 1 for f in reductions) or any(f.arg.axes for f in reductions):
        return None  # they do not lie one inside the other
    if math.prod(map(trip_count, (*ranges, *reduced))) < WORTH:
        return None
    if reduction.dtype not in VECTOR_DTYPES or not arithmetic.ranges_of(reduction).issuperset(ranges):
        return None
    stored = _steps(body.src[0].src[1], ranges)
    loads = [n for n in under(list(reductions)[-1]) if n.op is Op.Load]
    if stored is None or any(len(n.src) > 1 or n.src[0].op is not Op.Index for n in loads):
        return None
    each = [_steps(n.src[0].src[1], ranges) for n in loads]
    ready = tuple(is_few(n) and arithmetic.ranges_of(n).issuperset(reduced) for n in loads)
    known = tuple(s for s in each if s is not None)
    if len(known) < len(each):
        return None
    gates = tuple(
        arithmetic.ranges_of(n) for n in under(reduction) if n.op in COMPARISONS and n.src[0].dtype.is_float
    )
    apart = tuple(span(n, reduced) > far for n in loads)
    return _Work(ranges, reduction, reduced, known, ready, apart, stored, gates)


def _steps(at: UOp, ranges: Sequence[UOp]) -> dict[UOp, int] | None:
    found = {r: stride(at, r) for r in ranges}
    known = {r: s for r, s in found.items() if s is not None}
    return known if len(known) == len(found) else None


def is_few(load: UOp) -> bool:
    """Whether not many more elements are loaded than the Buffer has; a window that slides would be copied again and
    again.
    """
    size = math.prod(trip_count(r) for r in arithmetic.ranges_of(load))
    return size <= COPIES * int(load.src[0].src[0].arg.size)


def span(load: UOp, ranges: Collection[UOp]) -> int:
    """The bytes between the first and the last element that a load reads as these ranges run; 0 if it is not known."""
    still = {r: arithmetic.number(0) for r in arithmetic.ranges_of(load) if r not in ranges}
    known = arithmetic.bounds(substitute(load.src[0].src[1], still))
    return 0 if known is None else int(known.hi - known.lo + 1) * load.dtype.itemsize


def _suits(work: _Work, rows: UOp, lanes: UOp) -> bool:
    """Whether elements are used again along the rows, and lanes lie side by side or can be packed; beside a gate there
    are others, of what is stored, for which lanes that lie apart would be no vectors.
    """
    if work.gates and work.stored[lanes] != 1:
        return False
    if all(s[lanes] == 0 for s in work.loads) or all(s[rows] for s in work.loads):
        return False
    return all(
        s[lanes] in (0, 1) or (may and s[rows] == 0) for s, may in zip(work.loads, work.packed, strict=True)
    )


def _sizes(work: _Work, rows: UOp, lanes: UOp, target: Target) -> Iterator[Choice]:
    """The tiles of two axes: for each number of vectors side by side as many rows as there are registers for, but no
    more than it takes to go through the axis evenly.
    """
    count = trip_count(rows)
    vectors = parts_of(trip_count(lanes), work.reduction.dtype)
    besides, least = (
        (3, min(2, vectors)) if work.gates else (1, 1)
    )  # a gate needs what is compared, and with what
    for across in range(least, min(MOST_ACROSS, vectors) + 1):
        most = (target.registers - across - besides) // across
        if most >= 1:
            height = evenly(count, most)[0][0]
            yield Choice(rows, lanes, height, across, _cycles(work, rows, lanes, height, across, target))


def evenly(count: int, most: int) -> list[tuple[int, int]]:
    """An axis as few pieces of at most a size that differ by one at most: how many of which size, the larger first."""
    pieces = -(-count // most)
    size, larger = divmod(count, pieces)
    return [(n, times) for n, times in ((size + 1, larger), (size, pieces - larger)) if times]


def _cycles(work: _Work, rows: UOp, lanes: UOp, height: int, across: int, target: Target) -> float:
    """What all steps of a choice are estimated to take."""
    count, vectors = trip_count(rows), parts_of(trip_count(lanes), work.reduction.dtype)
    in_steps = 0.0
    for high, times in evenly(count, height):
        for wide, often in _cut(vectors, across):
            in_steps += times * often * _step(work, rows, lanes, high, wide)
    others = work.steps // (count * trip_count(lanes))
    passes = len(evenly(count, height))
    return in_steps * others + _moved(work, rows, lanes, passes, target)


def _cut(count: int, size: int) -> list[tuple[int, int]]:
    """An axis as pieces of a size, and what is left."""
    return [(n, times) for n, times in ((size, count // size), (count % size, 1)) if n and times]


def _step(work: _Work, rows: UOp, lanes: UOp, high: int, wide: int) -> float:
    """The cycles of one step of the reduction of a tile."""
    loads = sum((high if s[rows] else 1) * (wide if s[lanes] else 1) for s in work.loads)
    if not work.gates:
        return max(high * wide / AT_ONCE, loads / AT_ONCE, WAIT)
    gated = GATE * sum((high if rows in g else 1) * (wide if lanes in g else 1) for g in work.gates)
    return max((high * wide + gated) / AT_ONCE, loads / AT_ONCE, _streamed(work, lanes, wide), WAIT)


def _streamed(work: _Work, lanes: UOp, wide: int) -> float:
    """The cycles in which the vectors of a step come from the second cache; 0 where those of all steps find room in the
    first one.
    """
    vectors = wide * sum(s[lanes] != 0 for s in work.loads)
    size = width_of(work.reduction.dtype) * work.reduction.dtype.itemsize
    held = vectors * size * math.prod(map(trip_count, work.reduced))
    return FROM_SECOND * vectors if held > ROOM else 0.0


def _moved(work: _Work, rows: UOp, lanes: UOp, passes: int, target: Target) -> float:
    """The cycles of packing, of reading what is packed anew for rows of another number, and of writing the output."""
    inside = (*work.ranges, *work.reduced)
    size, lane = work.reduction.dtype.itemsize, target.vector // work.reduction.dtype.itemsize
    total = 0.0
    for s, may, far in zip(work.loads, work.packed, work.far, strict=True):
        apart = s[lanes] not in (0, 1)
        if apart or (may and far):
            count = math.prod(trip_count(r) for r in inside if s.get(r, 1))
            total += count * (IN_BLOCKS if trip_count(lanes) % lane == 0 or not apart else MOVED)
            if s[lanes] and count * size > target.cache:
                total += (passes - 1) * count * size / FROM_FAR
    written = math.prod(map(trip_count, work.ranges))
    if work.stored[lanes] == 1:
        return total + written / lane
    return total + written * (MOVED if work.stored[rows] == 1 else FAR_APART)
