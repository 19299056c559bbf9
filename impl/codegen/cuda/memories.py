"""
Memories in CUDA
================

How data of a memory are held in C++. In memory with addresses they are an array in C order, whose rows a swizzled
memory permutes. In the registers of a thread they are an array as well; of a matrix that the threads of a warp or of a
warpgroup share, each thread holds the words of its fragment.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Final, NamedTuple

from soundline.impl.codegen.cuda.dialects import CUDA
from soundline.spec.dtypes import DType, float32
from soundline.spec.errors import CompileError
from soundline.spec.spork.library.memories import Memory
from soundline.spec.spork.threads.units import CollUnit, cuda_thread, cuda_warp, cuda_warpgroup

WORD: Final = 4
"""Bytes of a register."""

_THREADS: Final[tuple[tuple[CollUnit, int], ...]] = ((cuda_warp, 32), (cuda_warpgroup, 128))
"""The collectives that share a matrix in registers, with their numbers of threads."""


class Storage(NamedTuple):
    """How registers of a memory are declared."""

    type: str
    """The C++ type of an element, or of a word of a fragment."""
    words: int
    """How many of them a thread has for one tile; 1 where there are no tiles."""
    rank: int
    """How many of the last dimensions a tile has; 0 where there are no tiles."""


def register_storage(memory: Memory, dtype: DType, sizes: Sequence[int]) -> Storage:
    """How a thread holds data of some sizes in registers: the array itself, or the words of its fragment of a tile.

    A fragment of f32 accumulators is floats; of all other matrices it is words of 32 bits, which are the bits of a tf32
    or of two numbers of 16 bits.

    >>> from soundline.spec.dtypes import bfloat16
    >>> from soundline.spec.spork.library.memories import CudaRmem, Sm80_RmemMatrixA, Sm90_RmemMatrixD
    >>> register_storage(Sm80_RmemMatrixA, bfloat16, (4, 16, 16))
    Storage(type='uint32_t', words=4, rank=2)
    >>> register_storage(Sm90_RmemMatrixD, float32, (64, 256))
    Storage(type='float', words=128, rank=2)
    >>> register_storage(CudaRmem, bfloat16, (8,))
    Storage(type='soundline::bf16', words=1, rank=0)
    """
    if memory.space != "registers":
        raise CompileError(
            f"registers of a memory: expected: a memory of the space registers; got: {memory}",
            rule="cuda-memory",
        )
    if not memory.tiles and memory.native == cuda_thread:
        return Storage(CUDA.type_of(dtype), 1, 0)
    threads = next((count for unit, count in _THREADS if unit == memory.native), None)
    if not memory.tiles or threads is None:
        raise CompileError(
            f"registers of a memory: expected: elements of a thread, or tiles of a warp or warpgroup; got: {memory}",
            rule="cuda-memory",
        )
    rank = len(memory.tiles[0])
    share = prod(sizes[len(sizes) - rank :]) * dtype.itemsize
    if share % (threads * WORD):
        shape = " by ".join(map(str, sizes[len(sizes) - rank :]))
        raise CompileError(
            f"a tile in {memory}: expected: whole registers of each of {threads} threads; got: {shape} of {dtype}",
            rule="cuda-memory",
        )
    return Storage("float" if is_accumulator(memory, dtype) else "uint32_t", share // (threads * WORD), rank)


def is_accumulator(memory: Memory, dtype: DType) -> bool:
    """Whether fragments are numbers that are computed with, and not operands of tensor cores."""
    return memory.name in ("Sm80_RmemMatrixD", "Sm90_RmemMatrixD", "Sm90_RmemRows") and dtype is float32


def rows_of_a_thread(memory: Memory) -> int:
    """How many values a thread has of the rows of an accumulator; none in another memory."""
    return 2 if memory.name == "Sm90_RmemRows" else 0


def has_sum_flag(memory: Memory) -> bool:
    """Whether a tile has a flag beside it which says that it holds a sum already: the ``scale-d`` of wgmma."""
    return memory.name == "Sm90_RmemMatrixD"


def swizzle_of(memory: Memory) -> int:
    """The bytes of the rows that a shared memory permutes; 0 for C order.

    >>> from soundline.spec.spork.library.memories import CudaSmemLinear, Sm90_SmemSwizzled
    >>> swizzle_of(Sm90_SmemSwizzled(64)), swizzle_of(CudaSmemLinear)
    (64, 0)
    """
    return memory.row_bytes or 0 if memory.space == "shared" else 0
