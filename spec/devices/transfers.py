"""
Transfers
=========

What several devices hold of one value, and what is sent where one of them needs what it does not hold (U-35).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from soundline.spec.arrays import movement
from soundline.spec.arrays.arrays import INVALID, Array, Cell, Position, positions, same_cell
from soundline.spec.dtypes import DType
from soundline.spec.ops.node import Device, Op


@dataclass(frozen=True, slots=True)
class Transfer:
    """Elements that one device sends to another, and the op that needs them there."""

    op: Op
    source: str
    target: str
    count: int
    dtype: DType

    @property
    def bytes(self) -> int:
        """The number of bytes sent; an index is not stored, and counts none."""
        return self.count * self.dtype.itemsize


@dataclass(frozen=True, slots=True)
class Held:
    """A value as its devices hold it: the parts along `axis`, or where that is null a replica on each device.

    On one device, and where no device is named, there is one array, the value itself.
    """

    device: Device
    axis: int | None
    shards: tuple[Array, ...]

    @property
    def names(self) -> tuple[str | None, ...]:
        """The device of each array."""
        return self.device if isinstance(self.device, tuple) else (self.device,)

    def joined(self) -> Array:
        """The value: the parts along the axis, or what all replicas agree on, and ⊥ where they do not."""
        return agreement(self.shards) if self.axis is None else concatenated(self.shards, self.axis)

    def holders(self, position: Position) -> range:
        """Which of the arrays hold an element."""
        if self.axis is None:
            return range(len(self.shards))
        at = position[self.axis] // self.shards[0].shape[self.axis]
        return range(at, at + 1)


def part(whole: Array, axis: int, count: int, at: int) -> Array:
    """Part `at` of `count` equal parts along an axis."""
    size = whole.shape[axis] // count
    offset = tuple(at * size if k == axis else 0 for k in range(len(whole.shape)))
    return movement.moved(Op.Shrink, whole, offset, (*whole.shape[:axis], size, *whole.shape[axis + 1 :]))


def concatenated(shards: Sequence[Array], axis: int) -> Array:
    """The parts along an axis as one array."""
    first = shards[0]
    size = first.shape[axis]
    shape = (*first.shape[:axis], size * len(shards), *first.shape[axis + 1 :])

    def element(p: Position) -> Cell:
        return shards[p[axis] // size].at((*p[:axis], p[axis] % size, *p[axis + 1 :]))

    return Array(first.dtype, shape, tuple(element(p) for p in positions(shape)))


def agreement(copies: Sequence[Array]) -> Array:
    """The elements that all copies agree on; ⊥ where two differ."""
    first = copies[0]
    rows = zip(*(c.elements for c in copies), strict=True)
    cells = tuple(r[0] if all(same_cell(first.dtype, c, r[0]) for c in r) else INVALID for r in rows)
    return Array(first.dtype, first.shape, cells)


def delivered(op: Op, held: Held, target: Device, axis: int | None) -> tuple[list[Array], list[Transfer]]:
    """The value as the target devices are to hold it, parts or whole, and what is sent for that.

    An element that the target holds is not sent, and neither is an element of a value that is on no device. Of several
    holders the first one sends.
    """
    names = target if isinstance(target, tuple) else (target,)
    whole = held.joined() if held.axis is not None else held.shards[0]
    arrays: list[Array] = []
    sent: Counter[tuple[str, str]] = Counter()
    for at, name in enumerate(names):
        arrays.append(whole if axis is None else part(whole, axis, len(names), at))
        offset = 0 if axis is None else at * arrays[-1].shape[axis]
        for p in positions(arrays[-1].shape):
            position = tuple(i + offset if k == axis else i for k, i in enumerate(p))
            holders = [held.names[h] for h in held.holders(position)]
            first = holders[0]
            if first is not None and name is not None and name not in holders:
                sent[first, name] += 1
    found = [Transfer(op, source, name, count, whole.dtype) for (source, name), count in sent.items()]
    return arrays, found
