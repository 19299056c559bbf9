"""
Where storage lies
==================

Storage is laid out in spaces of cells. An array of the CPU, of global memory or of registers has a space of its own
each time that it is allocated. The arrays of shared memory lie in one stack for each CTA of a task: what is allocated
starts at the top of what is live, on the next boundary that its memory asks for, and the top falls back when the block
ends. So storage that is allocated later covers the same cells (S-06).

Storage of the device is divided into shards: each shard belongs to one collective of the native unit of its memory,
which allocates and frees it.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import reduce
from itertools import product
from math import gcd, prod

from soundline.spec.dtypes import DType
from soundline.spec.spork.language.scopes import Scope
from soundline.spec.spork.language.statements import Alloc, CudaDeviceFunction, statements
from soundline.spec.spork.library.memories import Memory
from soundline.spec.spork.machine.events import Cell, Element
from soundline.spec.spork.threads.distributed_memory import Deduction
from soundline.spec.spork.threads.units import CollUnit, substituted


@dataclass(slots=True)
class SharedStacks:
    """The shared memory of a task: the top of the stack of each CTA, in bytes."""

    task: Hashable
    grain: int
    """Bytes of a cell."""
    tops: dict[int, int] = field(default_factory=dict)

    def take(self, rank: int, size: int, alignment: int) -> int:
        """The first byte of an array of some bytes, which is then live; it is a multiple of the alignment."""
        first = -(-self.tops.get(rank, 0) // alignment) * alignment
        self.tops[rank] = first + size
        return first

    def cells(self, rank: int, first: int, dtype: DType, number: int) -> tuple[Cell, ...]:
        """The cells of an element of an array that begins at a byte."""
        begin, count = (first + number * dtype.itemsize) // self.grain, dtype.itemsize // self.grain
        return tuple(Cell(("shared", self.task, rank), begin + k) for k in range(count))


def grain_of(block: CudaDeviceFunction) -> int:
    """The bytes of a cell of shared memory: the greatest that divides every element of the device function."""
    sizes = [s.dtype.itemsize for s in statements(block.body) if isinstance(s, Alloc) and _is_shared(s)]
    return reduce(gcd, sizes, 0) or 1


def _is_shared(statement: Alloc) -> bool:
    memory = statement.memory.value if statement.memory is not None else None
    return isinstance(memory, Memory) and memory.space == "shared"


# Shards -----------------------------------------------------------------------------------------------------------


def native_collective(unit: CollUnit, thread: int, block_dim: int, cluster_dim: int) -> frozenset[int]:
    """The collective of a unit that a thread is in, by linear indices in the cluster.

    >>> from soundline.spec.spork.threads.units import cuda_warp
    >>> sorted(native_collective(cuda_warp, 70, 128, 1)) == list(range(64, 96))
    True
    """
    numbers = substituted(unit, block_dim=block_dim, cluster_dim=cluster_dim)
    outer, rest = divmod(thread, numbers.threads)
    spans: list[range] = []
    for extent, size in zip(reversed(numbers.domain), reversed(numbers.box), strict=True):
        rest, at = divmod(rest, extent)
        box = extent if size is None else size
        spans.insert(0, range(at - at % box, at - at % box + box))
    found = set()
    for place in product(*spans):
        linear = outer
        for at, extent in zip(place, numbers.domain, strict=True):
            linear = linear * extent + at
        found.add(linear)
    return frozenset(found)


@dataclass(frozen=True, slots=True)
class Shard:
    """A part of an array that one collective owns."""

    owner: frozenset[int]
    """Linear indices in the cluster."""
    first: int
    """The number of its first element in the array."""
    shape: tuple[int, ...]

    @property
    def span(self) -> slice:
        """Its elements, among those of the array."""
        return slice(self.first, self.first + prod(self.shape))


def shards(
    memory: Memory, shape: Sequence[int], found: Deduction | None, scope: Scope, values: Sequence[int]
) -> Iterator[Shard]:
    """The shards of an array that is allocated on the device, where its cuda_threads iterators have these values.

    Where nothing is known of its uses, or the memory has no native unit, all of it belongs to the collective that
    allocates it.
    """
    assert scope.tiling is not None
    if found is None or memory.native is None:
        yield Shard(scope.collective(values).threads, 0, tuple(shape))
        return
    own = len(found.distributed)
    first = found.first + sum(i.pitch * v for i, v in zip(scope.tiling.iterators, values, strict=True))
    rest = tuple(shape[own:])
    sizes = scope.tiling.block_dim, scope.tiling.cluster_dim
    for number, at in enumerate(product(*(range(n) for n in shape[:own]))):
        thread = first + sum(i * pitch for i, pitch in zip(at, found.pitches, strict=True))
        yield Shard(native_collective(memory.native, thread, *sizes), number * prod(rest), rest)


# Elements ---------------------------------------------------------------------------------------------------------


def own_elements(name: str, instance: int, dtype: DType, shape: Sequence[int]) -> tuple[Element, ...]:
    """The elements of an array with a space of its own."""
    space = (name, instance)
    places = product(*(range(n) for n in shape))
    return tuple(Element((Cell(space, k),), dtype, name, at) for k, at in enumerate(places))


def shared_elements(
    name: str,
    dtype: DType,
    shape: Sequence[int],
    parts: Sequence[Shard],
    stacks: SharedStacks,
    block_dim: int,
    alignment: int,
) -> tuple[Element, ...]:
    """The elements of an array of shared memory, each shard of which lies in the stack of its CTA.

    What nothing uses belongs to all CTAs that allocate it, and takes its bytes in each of them: the stacks of these
    stay alike.
    """
    places = tuple(product(*(range(n) for n in shape)))
    found: list[Element] = []
    for shard in parts:
        ranks = sorted({thread // block_dim for thread in shard.owner})
        size = prod(shard.shape) * dtype.itemsize
        firsts = [stacks.take(r, size, alignment) for r in ranks]
        rank, first = ranks[0], firsts[0]
        for k, at in enumerate(places[shard.span]):
            found.append(Element(stacks.cells(rank, first, dtype, k), dtype, name, at))
    return tuple(found)
