"""
Sums
====

The order in which a float sum is added is part of the program, not of the schedule. A long sum over the last axis is
a fixed blocked association, written as UOps (U-10): its error grows with the logarithm of the length rather than with
the length, and its lanes are independent, so that a processor adds many at once without changing one bit.

A row of n elements is cut into blocks of LANES · DEPTH. In a block, lane k adds every LANES-th element from the k-th
on, ascending; then the lanes are added in the same way, in GROUPS groups; then what is left, ascending; and the sums
of the blocks are a row that is summed like the first. The last block is filled up with ``-0.0``, the exact identity
of addition. A row of at most SHORT elements is added ascending.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from soundline.spec.dtypes import bool_
from soundline.spec.uop import Op, ReduceArg, UOp, broadcast_to, const, pad, reshape

LANES: Final = 64
DEPTH: Final = 32
GROUPS: Final = 4
SHORT: Final = 256


def fold(x: UOp, op: Op, axes: Sequence[int]) -> UOp:
    """One Reduce over axes; they stay, with size 1."""
    return Op.Reduce(x, arg=ReduceArg(op, tuple(sorted(axes))))


def added(x: UOp, axes: Sequence[int]) -> UOp:
    """The sum over axes, which stay with size 1: blocked where it is a long float sum that includes the last axis."""
    shape = _numbers(x)
    length = math.prod(shape[a] for a in axes)
    if not x.dtype.is_float or len(shape) - 1 not in axes or length <= SHORT or math.prod(shape) == 0:
        return fold(x, Op.Add, axes)
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
        return fold(rows, Op.Add, [len(outer)])
    depth = min(DEPTH, -(-length // LANES))
    blocks = -(-length // (LANES * depth))
    rows = _filled(rows, blocks * LANES * depth)
    rows = reshape(rows, (*outer, blocks, depth, LANES))
    lanes = fold(rows, Op.Add, [len(outer) + 1])
    groups = fold(reshape(lanes, (*outer, blocks, GROUPS, LANES // GROUPS)), Op.Add, [len(outer) + 1])
    sums = fold(groups, Op.Add, [len(outer) + 2])
    return _blocked(reshape(sums, (*outer, blocks)))


def _filled(rows: UOp, length: int) -> UOp:
    """The rows with their last axis filled up to `length` with -0.0."""
    *outer, old = _numbers(rows)
    if old == length:
        return rows
    zeros, shape = (0,) * (len(outer) + 1), (*outer, length)
    inside = pad(broadcast_to(const(True, bool_), (*outer, old)), zeros, shape)
    return Op.Where(inside, pad(rows, zeros, shape), broadcast_to(const(-0.0, rows.dtype), shape))
