"""
Threefry
========

The program that defines Threefry-2x32-20 (U-12): a counter and a key of two words of 32 bits each, low word first, and
five groups of four rounds. A round adds, rotates and mixes; after each group a part of the key is added.

Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3" (SC 2011) define the function, and the
known answers of their library Random123 are the law.
"""

from __future__ import annotations

from soundline.spec.dtypes import DType, uint32, uint64
from soundline.spec.uop import UOp, param
from soundline.spec.values.steps import add, cast, differ, either, left, right

ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
"""The counts of a group's four rounds, for groups in turn."""

PARITY = 0x1BD11BDA
"""What the third part of the key is the exclusive or of, with the other two."""


def threefry(counter: UOp, key: UOp) -> UOp:
    """The 64 random bits of a counter under a key."""
    x, y = _words(counter)
    first, second = _words(key)
    parts = (first, second, differ(differ(first, second), PARITY))
    x, y = add(x, parts[0]), add(y, parts[1])
    for group in range(5):
        for count in ROTATIONS[group % 2]:
            x = add(x, y)
            y = differ(_rotated(y, count), x)
        x = add(x, parts[(group + 1) % 3])
        y = add(add(y, parts[(group + 2) % 3]), group + 1)
    return either(cast(x, uint64), left(cast(y, uint64), 32))


def _words(x: UOp) -> tuple[UOp, UOp]:
    """The low and the high half."""
    return cast(x, uint32), cast(right(x, 32), uint32)


def _rotated(x: UOp, count: int) -> UOp:
    """x rotated left."""
    return either(left(x, count), right(x, 32 - count))


THREEFRY: dict[DType, UOp] = {uint64: threefry(param(0, uint64), param(1, uint64))}
"""The scalar program that defines the function, by dtype."""
