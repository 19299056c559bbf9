"""
Memories
========

What the memory types of CUDA are to a program: who allocates them, who may read and write them directly, by which
instructions they are touched, and which collective owns one shard of them (its *native unit*, see
`distributed_memory`). A program refers to a memory as to any object of the Python around it, so a reader's own memory
is one more `Memory`; the law knows none of them by name.

*In order* a thread reads and writes what its memory allows. In a ``CudaAsync`` block nothing is read or written
directly: only instructions touch memory there. `Memory.usage` says which usage-tl an access of the device in order has,
and that of an instruction which states no other (`timelines`).

Registers are *convergent*: an access by a collective makes one record for all of its threads (S-04).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Final, Literal

from soundline.spec.errors import StaticError
from soundline.spec.spork.synchronization.timelines import InstrTl, UsageTl
from soundline.spec.spork.threads.units import (
    CollUnit,
    cuda_cta_in_cluster,
    cuda_thread,
    cuda_warp,
    cuda_warpgroup,
)

Space = Literal["host", "global", "shared", "registers"]
"""Where bytes lie; storage of the space ``shared`` is used again after it is freed."""

SPACES: Final[dict[Space, str]] = {
    "host": "memory of the CPU",
    "global": "global memory of the device",
    "shared": "shared memory of a CTA",
    "registers": "registers",
}
"""The spaces in words."""

MEMORY_CONSTRAINTS: Final[dict[str, str]] = {
    "mem-alloc": "storage is allocated on the timeline that its memory requires",
    "mem-read": "an ordinary read is on a timeline that may read the memory",
    "mem-write": "an ordinary assignment or reduction is on a timeline that may write the memory",
    "mem-instruction": "an instruction is on a timeline that may access the memory",
    "mem-scalar": "an array in a memory without scalars has at least one dimension",
    "mem-constant": "a memory that requires constant sizes is allocated with constant sizes",
    "mem-tile": (
        "in a memory of tiles, the last sizes are those of a tile; rows of a swizzled memory have the "
        "size of the swizzle"
    ),
    "mem-parameter": (
        "a swizzle is 32, 64 or 128, or 0 for a view of memory that is not swizzled; a box has 1 to 5 "
        "sizes from 1 to 256"
    ),
    "mem-window": (
        "only a memory that makes windows makes a window, and storage is allocated in another memory"
    ),
}
"""What is asked of storage and its uses, by id."""

CPU_ONLY: Final = frozenset({InstrTl.cpu_in_order})
IN_ORDER: Final = frozenset({InstrTl.cuda_in_order})
ON_DEVICE: Final = frozenset(InstrTl) - CPU_ONLY


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """A memory type."""

    name: str
    space: Space
    native: CollUnit | None = None
    """Whose collectives own the shards; None where nobody shares it out."""
    usage: UsageTl = UsageTl.cuda_ram
    allocated: InstrTl = InstrTl.cpu_in_order
    reads: frozenset[InstrTl] = frozenset()
    """The timelines that may read an element directly."""
    writes: frozenset[InstrTl] = frozenset()
    """The timelines that may assign or reduce an element directly."""
    instructions: frozenset[InstrTl] = frozenset()
    """The timelines whose instructions may touch it."""
    scalars: bool = True
    """Whether it holds scalars, or only arrays."""
    constant: bool = False
    """Whether sizes have to be constant."""
    tiles: tuple[tuple[int | None, ...], ...] = ()
    """What the last sizes may be, None for any; nothing is asked where there is none."""
    warp_rows: int | None = None
    """For registers of a warpgroup: how many rows of a tile each of its warps has, one warp after the other."""
    row_bytes: int | None = None
    """How many bytes the last dimension has, where that is fixed."""
    alignment: int = 128
    """In shared memory, at which multiples of bytes an array begins: that of what TMA writes; a swizzle asks for more,
    because it permutes by the bits of addresses.
    """
    window: bool = False
    """Whether it is no storage but a view that is made of a window, such as a tensor map."""
    swizzle: int = 0
    """For a view: the row bytes of the shared memory that it copies to or from; 0 for linear."""
    box: tuple[int, ...] = ()
    """For a view: the sizes of what one instruction copies."""

    spork_sort: ClassVar[Literal["memory"]] = "memory"

    def warp_of(self, index: Sequence[int]) -> int | None:
        """Which warp of its collective has an element in its registers; None where that is not said.

        >>> [Sm90_RmemMatrixD.warp_of((0, row, 5)) for row in (0, 15, 16, 63)]
        [0, 0, 1, 3]
        """
        if self.warp_rows is None:
            return None
        rank = max((len(tile) for tile in self.tiles), default=1)
        return index[len(index) - rank] // self.warp_rows

    @property
    def convergent(self) -> bool:
        """Whether an access by a collective is one access of all its threads."""
        return self.space == "registers"

    def __str__(self) -> str:
        return self.name


DRAM: Final = Memory(
    name="DRAM",
    space="host",
    usage=UsageTl.cpu,
    reads=CPU_ONLY,
    writes=CPU_ONLY,
    instructions=CPU_ONLY,
)
"""Memory of the CPU. What names no memory lies there, on the CPU."""

CudaGridConstant: Final = Memory(
    name="CudaGridConstant",
    space="global",
    reads=CPU_ONLY | IN_ORDER,
    writes=CPU_ONLY,
    instructions=CPU_ONLY | IN_ORDER,
    constant=True,
)
"""An argument of a kernel: the CPU writes it, the device reads it."""

CudaGmemLinear: Final = Memory(
    name="CudaGmemLinear",
    space="global",
    reads=IN_ORDER,
    writes=IN_ORDER,
    instructions=frozenset(InstrTl),
    scalars=False,
)
"""Global memory in C order: allocated by the CPU, used by the device."""

CudaSmemLinear: Final = Memory(
    name="CudaSmemLinear",
    space="shared",
    native=cuda_cta_in_cluster,
    allocated=InstrTl.cuda_in_order,
    reads=IN_ORDER,
    writes=IN_ORDER,
    instructions=ON_DEVICE,
    constant=True,
)
"""Shared memory in C order: one shard for each CTA."""

CudaRmem: Final = Memory(
    name="CudaRmem",
    space="registers",
    native=cuda_thread,
    usage=UsageTl.cuda_sync_rmem,
    allocated=InstrTl.cuda_in_order,
    reads=IN_ORDER,
    writes=IN_ORDER,
    instructions=IN_ORDER,
    constant=True,
)
"""Registers of a thread."""


def _matrix(
    name: str,
    native: CollUnit,
    tiles: tuple[tuple[int | None, ...], ...],
    also: frozenset[InstrTl] = frozenset(),
    warp_rows: int | None = None,
) -> Memory:
    """Registers that hold the fragments of a matrix: only instructions touch them."""
    return Memory(
        name=name,
        space="registers",
        native=native,
        usage=UsageTl.cuda_sync_rmem,
        allocated=InstrTl.cuda_in_order,
        instructions=IN_ORDER | also,
        scalars=False,
        constant=True,
        tiles=tiles,
        warp_rows=warp_rows,
    )


Sm80_RmemMatrixA: Final = _matrix("Sm80_RmemMatrixA", cuda_warp, ((16, 4), (16, 8), (16, 16)))
"""The left operand of a tensor core, 16 rows by K, in the registers of a warp."""

Sm80_RmemMatrixB: Final = _matrix("Sm80_RmemMatrixB", cuda_warp, ((4, 8), (8, 8), (16, 8)))
"""The right operand of a tensor core, K rows by 8, in the registers of a warp."""

Sm80_RmemMatrixD: Final = _matrix("Sm80_RmemMatrixD", cuda_warp, ((16, 8),))
"""The accumulator of a tensor core, 16 rows by 8, in the registers of a warp."""

_WGMMA: Final = frozenset({InstrTl.wgmma_async})

Sm90_RmemMatrixA: Final = _matrix(
    "Sm90_RmemMatrixA", cuda_warpgroup, ((64, 8), (64, 16), (64, 32)), _WGMMA, 16
)
"""The left operand of wgmma, 64 rows by K, in the registers of a warpgroup."""

Sm90_RmemMatrixD: Final = _matrix("Sm90_RmemMatrixD", cuda_warpgroup, ((64, None),), _WGMMA, 16)
"""The accumulator of wgmma, 64 rows by N, in the registers of a warpgroup."""

Sm90_RmemRows: Final = _matrix("Sm90_RmemRows", cuda_warpgroup, ((64, 4),), warp_rows=16)
"""A value of each row of an accumulator of wgmma, held by each of the four lanes that have the row."""


def _refused(name: str, given: str) -> StaticError:
    return StaticError(name, "mem-parameter", given=given, wants=MEMORY_CONSTRAINTS["mem-parameter"])


def _check_swizzle(name: str, given: int, allowed: tuple[int, ...]) -> None:
    if given not in allowed:
        raise _refused(name, repr(given))


def Sm90_SmemSwizzled(swizzle: int) -> Memory:
    """Shared memory whose rows of 32, 64 or 128 bytes are permuted in pieces of 16, as TMA and wgmma want them. The
    permutations repeat after 8 rows, and arrays begin where one does.
    """
    _check_swizzle("Sm90_SmemSwizzled", swizzle, (32, 64, 128))
    return replace(
        CudaSmemLinear,
        name=f"Sm90_SmemSwizzled({swizzle})",
        scalars=False,
        row_bytes=swizzle,
        alignment=8 * swizzle,
    )


def Sm90_tensorMap(swizzle: int, *box: int) -> Memory:
    """A view of global memory that the CPU makes for TMA: boxes of this size, to shared memory of this swizzle (0 for
    linear). A window that it makes has as many dimensions as the box.
    """
    _check_swizzle("Sm90_tensorMap", swizzle, (0, 32, 64, 128))
    if not 1 <= len(box) <= 5 or any(not 1 <= size <= 256 for size in box):
        raise _refused("Sm90_tensorMap", f"the box {box}")
    return Memory(
        name=f"Sm90_tensorMap({', '.join(map(str, (swizzle, *box)))})",
        space="global",
        instructions=frozenset({InstrTl.tma_to_smem_async, InstrTl.tma_to_gmem_async}),
        scalars=False,
        window=True,
        swizzle=swizzle,
        box=box,
    )


_MADE: Final[Mapping[str, Memory]] = {
    "Sm90_SmemSwizzled": Sm90_SmemSwizzled(128),
    "Sm90_tensorMap": Sm90_tensorMap(128, 64),
}
"""A memory that each function of the table makes: they differ in what they hold, not in who uses them."""


def examples(memories: Iterable[Memory | Callable[..., Any]]) -> tuple[Memory, ...]:
    """The memories themselves, and one for each function of the table; nothing for a reader's own function."""
    found = (m if isinstance(m, Memory) else _MADE.get(m.__name__) for m in memories)
    return tuple(m for m in found if m is not None)


STANDARD: Final[Mapping[str, object]] = {
    **{
        memory.name: memory
        for memory in (
            DRAM,
            CudaGridConstant,
            CudaGmemLinear,
            CudaSmemLinear,
            CudaRmem,
            Sm80_RmemMatrixA,
            Sm80_RmemMatrixB,
            Sm80_RmemMatrixD,
            Sm90_RmemMatrixA,
            Sm90_RmemMatrixD,
            Sm90_RmemRows,
        )
    },
    "Sm90_SmemSwizzled": Sm90_SmemSwizzled,
    "Sm90_tensorMap": Sm90_tensorMap,
}
"""The memories that programs may name without an import; two of them take parameters."""
