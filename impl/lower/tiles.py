"""
Tiles
=====

How a reduction that uses every element many times, such as a matrix product, goes through memory. Rows and lanes make
a tile whose sums stay in registers while the reduction runs, in its order. The steps over lanes are the outer loops,
those over rows the inner ones, a block of rows at a time that stays in the cache; and what a tile would read from far
apart, or behind a gate, is packed first.

*Invariant*: the order in which the elements of one reduction are folded does not change.
"""

from __future__ import annotations

from collections.abc import Iterator

from soundline.impl.lower import arith
from soundline.impl.lower.loops import closed, with_value
from soundline.impl.lower.packing import Packing
from soundline.impl.lower.target import this_machine
from soundline.impl.lower.views import trip_count
from soundline.spec.uop import AxisType, Op, UOp, loop, substitute, toposort

BLOCK = 240
"""So many rows at a time meet all lanes."""

Part = tuple[UOp, list[UOp], list[UOp]]


def split(body: UOp, r: UOp, lanes: int, numbers: Iterator[int]) -> Iterator[Part]:
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


def tiled_folds(
    ranges: list[UOp], body: UOp, fold: UOp, packing: Packing, numbers: Iterator[int]
) -> list[UOp]:
    """A nest around a reduction in tiles of its last two axes."""
    *around, outer, inner = ranges
    target = this_machine()
    lanes_of_tile = target.across * target.vector // fold.dtype.itemsize
    found: list[UOp] = []
    for across, steps, lanes in split(body, inner, lanes_of_tile, numbers):
        packed = _packed(across, steps, lanes, packing)
        for block, blocks, within in _blocks(packed, outer, target.rows, numbers):
            for rows, row_steps, row_lanes in split(block, within, target.rows, numbers):
                tile = _packed(rows, [*blocks, *row_steps], row_lanes, packing)
                found.append(closed(tile, [*around, *blocks, *steps, *row_steps, *row_lanes, *lanes]))
    return found


def _packed(body: UOp, steps: list[UOp], lanes: list[UOp], packing: Packing) -> UOp:
    """A body of which the loads in these lanes read what is packed, where that is worth it."""
    new: dict[UOp, UOp] = {}
    for fold in toposort(body):
        if fold.op is not Op.Reduce or len(fold.src) == 1 or not lanes:
            continue
        order = [*steps, *fold.src[1:], *lanes]
        needed = {*fold.src[1:], *lanes}
        for load in toposort(fold.src[0]):
            if (
                load.op is Op.Load
                and needed <= arith.ranges_of(load) <= set(order)
                and packing.pays(load, needed)
            ):
                new[load] = packing.packed(load, order)
    return substitute(body, new) if new else body


def _blocks(body: UOp, r: UOp, rows: int, numbers: Iterator[int]) -> Iterator[tuple[UOp, list[UOp], UOp]]:
    """A body with range r in blocks: (body, the blocks' range, the range within one)."""
    count, size = trip_count(r), BLOCK // rows * rows
    if count <= 2 * size:
        yield body, [], r
        return
    blocks, rest = divmod(count, size)
    last = size + rest  # the last block takes the rest as well
    outer = arith.number(0) if blocks == 2 else loop(blocks - 1, next(numbers), r.arg.type)
    for first, start, length in ((outer, 0, size), (arith.number(0), (blocks - 1) * size, last)):
        within = loop(length, next(numbers), r.arg.type)
        at = arith.add(arith.add(arith.mul(first, arith.number(size)), within), arith.number(start))
        yield with_value(body, r, at), [first] if first.op is Op.Range else [], within
