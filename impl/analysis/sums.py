"""
Sums
====

The order in which a float sum is added is part of the program, not of the schedule. A long sum over the last axis is
a fixed blocked association, written as UOps (U-10): its error grows with the logarithm of the length rather than with
the length, and its lanes are independent, so that a processor adds many at once without changing one bit.

A row of n elements is cut into blocks of LANES · DEPTH. In a block, lane k adds every LANES-th element from the k-th
on, ascending; then the lanes are added, ascending. The sums of the blocks are a row that is summed like the first.
What does not fill a block is one smaller block, whose sum is added last; in it, what does not fill the last row of
lanes is filled up with ``-0.0``, the exact identity of addition. A row of at most SHORT elements is added
ascending, and so is one whose length is known when the program is called.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from soundline.spec.dtypes import bool_
from soundline.spec.uop import Op, ReduceArg, UOp, broadcast_to, const, pad, reshape, shrink

LANES: Final = 32
DEPTH: Final = 64
SHORT: Final = 256


def reduced(x: UOp, op: Op, axes: Sequence[int]) -> UOp:
    """One Reduce over axes; they stay, with size 1."""
    return Op.Reduce(x, arg=ReduceArg(op, tuple(sorted(axes))))


def added(x: UOp, axes: Sequence[int]) -> UOp:
    """The sum over axes, which stay with size 1: blocked where it is a long float sum that includes the last axis."""
    if not all(isinstance(s, int) for s in x.shape or ()):
        return reduced(x, Op.Add, axes)  # one order for all sizes
    shape = _numbers(x)
    length = math.prod(shape[a] for a in axes)
    if not x.dtype.is_float or len(shape) - 1 not in axes or length <= SHORT or math.prod(shape) == 0:
        return reduced(x, Op.Add, axes)
    kept = [k for k in range(len(shape)) if k not in axes]
    rows = Op.Permute(x, arg=(*kept, *sorted(axes)))
    rows = reshape(rows, (*(shape[k] for k in kept), length))
    total = _blocked(rows)
    return reshape(total, tuple(1 if k in axes else size for k, size in enumerate(shape)))


def _numbers(x: UOp) -> tuple[int, ...]:
    assert x.shape is not None
    return tuple(s for s in x.shape if isinstance(s, int))


def _blocked(rows: UOp) -> UOp:
    """The sums over the last axis, which stays with size 1."""
    *outer, length = _numbers(rows)
    if length <= SHORT:
        return reduced(rows, Op.Add, [len(outer)])
    size = LANES * DEPTH
    count = length // size
    parts: list[UOp] = []
    if count:
        blocks = reshape(_part(rows, 0, count * size), (*outer, count, DEPTH, LANES))
        sums = reduced(reduced(blocks, Op.Add, [len(outer) + 1]), Op.Add, [len(outer) + 2])
        parts.append(_blocked(reshape(sums, (*outer, count))))
    if length > count * size:
        parts.append(_smaller_block(_part(rows, count * size, length)))
    return parts[0] if len(parts) == 1 else Op.Add(*parts)


def _part(rows: UOp, start: int, stop: int) -> UOp:
    """The elements from start to stop, exclusive, of each row."""
    *outer, length = _numbers(rows)
    if (start, stop) == (0, length):
        return rows
    return shrink(rows, (*(0 for _ in outer), start), (*outer, stop - start))


def _smaller_block(rows: UOp) -> UOp:
    """The sums over a last axis that is shorter than a block; the axis stays with size 1."""
    *outer, length = _numbers(rows)
    depth, rest = divmod(length, LANES)
    if not depth:
        return reduced(rows, Op.Add, [len(outer)])
    whole = reshape(_part(rows, 0, depth * LANES), (*outer, depth, LANES))
    lanes = reshape(reduced(whole, Op.Add, [len(outer)]), (*outer, LANES))
    if rest:
        lanes = Op.Add(lanes, _filled(_part(rows, depth * LANES, length)))
    return reduced(lanes, Op.Add, [len(outer)])


def _filled(rows: UOp) -> UOp:
    """The rows with their last axis filled up to LANES elements with -0.0."""
    *outer, length = _numbers(rows)
    zeros, shape = (0,) * (len(outer) + 1), (*outer, LANES)
    inside = pad(broadcast_to(const(True, bool_), (*outer, length)), zeros, shape)
    return Op.Where(inside, pad(rows, zeros, shape), broadcast_to(const(-0.0, rows.dtype), shape))
