"""
Choosing lanes
==============

Which axes of a nest a processor core works on at once. A split axis is steps and lanes; what does not fill the last
lanes becomes a nest of its own. The order in which the elements of one reduction are folded does not change, but where
that order is free.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from soundline.impl.lower import arith
from soundline.impl.lower.linearize import nest_of
from soundline.impl.lower.loops import closed, loaded_places, stride
from soundline.impl.lower.packing import Packing
from soundline.impl.lower.tiles import split, tiled_folds
from soundline.impl.lower.views import trip_count
from soundline.spec.uop import AxisType, Op, UOp, loop, substitute, toposort

LONE_LANES = 64
"""Lanes of a split reduction."""
WIDE_LANES = 256
"""Lanes of a split output axis where no element is used again: long runs of memory, registers of the first cache."""
_LEAST = 4
"""An axis shorter than this is not worth splitting."""
TILE = 16
"""Lanes of both axes of a nest that reads along one and writes along the other."""


# Output lanes -----------------------------------------------------------------------------------------------------


def laned(nest: UOp, numbers: Iterator[int], packing: Packing) -> list[UOp]:
    """The nest with its innermost axes split into lanes; several nests where they do not fill the last lanes."""
    ranges, body = nest_of(nest)
    folds = [n for n in toposort(body) if n.op is Op.Reduce]
    if not ranges or any(r.arg.type is not AxisType.LOOP for r in ranges):
        return [nest]
    if not folds:
        return tiled(ranges, body, numbers)
    inner = ranges[-1]
    along = [f for f in folds if inner in arith.ranges_of(f)]
    if trip_count(inner) < _LEAST or not along or not all(_reads_along(f, inner) for f in along):
        return [nest]
    outer = ranges[-2] if len(ranges) > 1 and all(_reused(f, ranges[-2]) for f in along) else None
    if outer is None:
        parts = split(body, inner, WIDE_LANES, numbers)
        return [closed(b, [*ranges[:-1], *steps, *lanes]) for b, steps, lanes in parts]
    return tiled_folds(ranges, body, along[0], packing, numbers)


def tiled(ranges: list[UOp], body: UOp, numbers: Iterator[int]) -> list[UOp]:
    """A nest without reductions in tiles, where it writes along its innermost axis and reads along another one."""
    across = next((r for r in ranges[:-1] if _reads_across(body, r, ranges[-1])), None)
    if across is None:
        return [closed(body, ranges)]
    rest = [r for r in ranges[:-1] if r is not across]
    return [
        closed(whole, [*rest, *row_steps, *steps, *row_lanes, *lanes])
        for rows, row_steps, row_lanes in split(body, across, TILE, numbers)
        for whole, steps, lanes in split(rows, ranges[-1], TILE, numbers)
    ]


def _reads_across(body: UOp, r: UOp, inner: UOp) -> bool:
    """Whether neighbouring values of a range read neighbours, but those of the innermost range do not."""
    if min(trip_count(r), trip_count(inner)) < TILE:
        return False
    return any(
        stride(place.src[1], r) == 1 and stride(place.src[1], inner) not in (0, 1)
        for place in loaded_places(body)
    )


def _reads_along(fold: UOp, r: UOp) -> bool:
    """Whether a reduction reads neighbours, or one element, for neighbouring values of a range, at least once each."""
    strides = [stride(place.src[1], r) for place in loaded_places(fold)]
    return all(s in (0, 1) for s in strides) and 1 in strides


def _reused(fold: UOp, r: UOp) -> bool:
    """Whether a reduction depends on a range, and some element that it reads does not."""
    return r in arith.ranges_of(fold) and any(stride(p.src[1], r) == 0 for p in loaded_places(fold))


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
        for part, steps, lanes in split(body, last, LONE_LANES, numbers)
    ]
    return parts[0] if len(parts) == 1 else UOp(fold.arg.op, tuple(parts))
