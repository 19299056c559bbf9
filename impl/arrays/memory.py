"""
Memory of results
=================

Where programs put their results and temporaries. A fresh large block costs a page fault for every 4 KiB of it, often
more than computing what goes there; so blocks are used again. The array that a caller gets owns a *lease* of its
block: the block goes back to the pool when the array and all views of it are gone, and never before.

Memory that the system does not give is an `OutOfMemoryError`, which says how much was wanted and what for.
"""

from __future__ import annotations

import contextlib
import math
import mmap
from collections.abc import Iterator
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from soundline.spec.errors import OutOfMemoryError

Bytes = npt.NDArray[Any]

ALIGNMENT: Final = 64
SMALL: Final = 1 << 16
"""Blocks below this many bytes are not worth keeping."""
KEPT: Final = 1 << 28
"""Free blocks are kept up to this many bytes in all."""
HUGE: Final = 1 << 21
"""Blocks from this many bytes on lie on huge pages where the system has them, and are there before they are used."""
AT_ONCE: Final = 1 << 25
"""So many bytes are asked for in one step; they take some 10 ms."""
_POPULATE_WRITE: Final = 23  # Linux's MADV_POPULATE_WRITE, which Python does not name


@contextlib.contextmanager
def wanted(nbytes: int, what: str) -> Iterator[None]:
    """In this context memory is asked for; where the system does not give it, the error says how much and what for."""
    try:
        yield
    except (MemoryError, OSError, OverflowError, ValueError) as error:
        raise OutOfMemoryError(
            f"{in_words(nbytes)} of memory for {what} could not be allocated",
            hint="compute it in parts, or in a narrower dtype",
        ) from error


def in_words(nbytes: int) -> str:
    """A number of bytes for a reader: ``3.6 TiB``."""
    for unit, name in (
        (1 << 50, "PiB"),
        (1 << 40, "TiB"),
        (1 << 30, "GiB"),
        (1 << 20, "MiB"),
        (1 << 10, "KiB"),
    ):
        if nbytes >= unit:
            return f"{nbytes / unit:.1f} {name}" if nbytes < 10000 << 50 else f"{nbytes:.1e} bytes"
    return f"{nbytes} bytes"


class Block:
    """Memory from the system, and the first address in it that is a multiple of `ALIGNMENT`."""

    __slots__ = ("memory", "nbytes", "start")

    def __init__(self, size: int) -> None:
        self.memory = _fresh(size + ALIGNMENT)
        self.nbytes = size + ALIGNMENT
        address = self.memory.ctypes.data
        self.start = address + -address % ALIGNMENT


class Pool:
    """Free blocks by size, shared by all threads: taking one and giving one back are single steps of Python."""

    def __init__(self, kept: int = KEPT) -> None:
        self.kept = kept
        self.free: dict[int, list[Block]] = {}

    def take(self, size: int) -> Block:
        """A block of at least `size` bytes, its contents unspecified."""
        rounded = _rounded(size)
        try:
            return self.free[rounded].pop()
        except (KeyError, IndexError):
            return Block(rounded)

    def give(self, block: Block) -> None:
        """Keep a block for later, unless the pool is full."""
        size = block.nbytes - ALIGNMENT
        if sum(b * len(blocks) for b, blocks in list(self.free.items())) + size <= self.kept:
            self.free.setdefault(size, []).append(block)


def _fresh(size: int) -> Bytes:
    """Memory from the system: for a large block pages that begin at a multiple of `HUGE`, present from the start."""
    advice = getattr(mmap, "MADV_HUGEPAGE", None)
    if size < HUGE or advice is None:
        return np.empty(size, np.uint8)
    whole = mmap.mmap(-1, size + HUGE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    block = np.frombuffer(whole, np.uint8)
    start = -block.ctypes.data % HUGE
    with contextlib.suppress(OSError):  # a system without them has small pages, and gives them one by one
        whole.madvise(advice, start, size)
        for first in range(0, size, AT_ONCE):  # between the steps Ctrl-C is heard
            whole.madvise(_POPULATE_WRITE, start + first, min(AT_ONCE, size - first))
    return block[start : start + size]


def _rounded(size: int) -> int:
    """The next size that is 1, 1¼, 1½ or 1¾ times a power of two, so that similar programs share blocks."""
    step = 1 << max((size - 1).bit_length() - 3, 0)
    return -(-size // step) * step


POOL: Final = Pool()


class _Lease:
    """The right to a block: it ends, and the block goes back, when nothing refers to the lease any more."""

    __slots__ = ("__array_interface__", "block", "pool")

    def __init__(self, pool: Pool, block: Block, shape: tuple[int, ...], typestr: str) -> None:
        self.pool = pool
        self.block = block
        self.__array_interface__ = {
            "shape": shape,
            "typestr": typestr,
            "data": (block.start, False),
            "version": 3,
        }

    def __del__(self) -> None:
        self.pool.give(self.block)


def empty(count: int, dtype: np.dtype[Any], pool: Pool = POOL, what: str | None = None) -> Bytes:
    """An uninitialized flat array; a large one begins at a multiple of 64 bytes, in a block that is used again."""
    return shaped((count,), dtype, pool, what)


def shaped(shape: tuple[int, ...], dtype: np.dtype[Any], pool: Pool = POOL, what: str | None = None) -> Bytes:
    """The same as an array of several axes."""
    size = math.prod(shape) * dtype.itemsize
    if size < SMALL:
        return np.empty(shape, dtype)
    if size < HUGE:
        block = pool.take(size)
    else:
        with wanted(size, what or f"an array of shape {shape} and dtype {dtype}"):
            block = pool.take(size)
    if dtype.isbuiltin == 1:
        return np.asarray(_Lease(pool, block, shape, dtype.str))
    return np.asarray(_Lease(pool, block, (size,), "|u1")).view(dtype).reshape(shape)
