"""
Distributed memory
==================

A variable is declared with the size that all threads see, and stored in shards: one for each collective of the *native
unit* of its memory, a thread for registers, a CTA for shared memory. Its leading indices say which shard is meant, and
each of them is the iterator of a cuda_threads loop; the rest are ordinary. Four rules decide how many of them lead:

1. At the allocation, all threads of each native collective are there.
2. At a use, no more than one native collective is there: along the dimensions that the native unit divides, one of
   each coordinate runs.
3. The iterators that tell those collectives apart, which are the ones that came after the allocation and count along
   such a dimension, are the leading indices, in any order; the extent of each is the count of its loop.
4. All uses agree: the same shard is always that of the same threads.

`deduce` decides the first three for one use, `agree` the fourth for two; `deduce_barrier` does it for barriers, which
have no native unit: all their indices are distributed.

>>> from soundline.spec.spork.threads.units import cuda_thread, cuda_warp
>>> from soundline.spec.spork.threads.tilings import tile, top_level
>>> cta = top_level(512)
>>> use = tile(tile(cta, "m", 16, cuda_warp), "n", 32, cuda_thread)
>>> found = deduce(cta, cuda_thread, use, ("m", "n", "j + 1", "0"), (16, 32, 8, 4))
>>> found.distributed, found.pitches, found.ordinary
(('m', 'n'), (32, 1), ('j + 1', '0'))
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from soundline.spec.errors import CollectiveError
from soundline.spec.spork.threads.domains import Dim
from soundline.spec.spork.threads.tilings import ThreadIterator, Tiling, expected
from soundline.spec.spork.threads.units import CollUnit

CONSTRAINTS: Final = {
    "dist-c1": "an array is used only in the scope of its allocation",
    "dist-c2": "all threads of each native collective of the memory execute the allocation",
    "dist-c3": "at most one native collective of the memory executes a use",
    "dist-c4": "no iterator counts both within a native collective and from one collective to the next",
    "dist-c5": "there is an index for each iterator that selects the shard",
    "dist-c6": "an index that selects the shard is the name of a variable alone",
    "dist-c7": "an index that selects the shard is the iterator of a cuda_threads loop",
    "dist-c8": (
        "an index among those that select the shard is an iterator that does so, or one that is always 0"
    ),
    "dist-c9": "no iterator occurs twice among the indices that select the shard",
    "dist-c10": "the extent of a distributed dimension is a constant",
    "dist-c11": "the extent of a distributed dimension is the count of its loop",
    "dist-c12": "all uses have the same number of distributed dimensions",
    "dist-c13": "all uses divide the shards among the threads with the same pitches",
    "dist-c14": "all uses assign the first shard to the same threads",
    "dist-barrier-c1": "every index of a barrier is distributed",
    "dist-barrier-c2": "all statements of one side of a barrier run on the same tile, box and offset",
    "dist-barrier-c3": "each thread uses the same one of the barriers in all statements of one side",
}
"""What a use of distributed memory must satisfy, by id."""


def refused(subject: str, rule: str, given: str, *, hint: str | None = None) -> CollectiveError:
    """The error of a use that breaks a rule."""
    return CollectiveError(subject, rule, given=given, wants=CONSTRAINTS[rule], hint=hint)


@dataclass(frozen=True, slots=True)
class Deduction:
    """What one use says of the shards."""

    distributed: tuple[str, ...]
    """The iterators that lead, in the order of the indices."""
    extents: tuple[int, ...]
    pitches: tuple[int, ...]
    """For each of them, by how many threads neighbouring shards are apart; 0 where there is only one."""
    first: int
    """The first thread that the first shard belongs to."""
    ordinary: tuple[str, ...]
    """The other indices, which lowering keeps."""


def deduce(
    allocation: Tiling,
    native: CollUnit,
    use: Tiling,
    indices: Sequence[str],
    extents: Sequence[int | None],
    *,
    name: str = "variable",
) -> Deduction:
    """Which indices of a use are distributed. Indices are texts; an extent that is no constant is None."""
    counting = telling_apart(allocation, native, use, name=name)
    taken = _consume(use, counting, indices, name)
    _check_extents(taken, extents, name)
    return _deduction(taken, first_thread(native, use), indices)


def telling_apart(
    allocation: Tiling, native: CollUnit, use: Tiling, *, name: str = "variable"
) -> list[ThreadIterator]:
    """The iterators between allocation and use that tell the collectives of a unit apart; one of these runs the use."""
    added = _added(allocation, use, name)
    check_allocation(allocation, native, name=name)
    dims, box = expected(use, native)
    found = {i.name for i in _counting(dims, box, name)}
    return [i for i in added if i.name in found]


def first_thread(native: CollUnit, use: Tiling) -> int:
    """The first thread of the collective of a unit that runs the first iteration."""
    dims, box = expected(use, native)
    first = sum(
        dim.offset * pitch
        for dim, pitch, size in zip(dims.dims, dims.pitches, box, strict=True)
        if size == 1  # along which the native unit divides the threads
    )
    rank, at = divmod(first, dims.block_dim)  # which may count threads that only fill the CTA
    return rank * use.block_dim + at


def _deduction(taken: Sequence[ThreadIterator], first: int, indices: Sequence[str]) -> Deduction:
    return Deduction(
        tuple(i.name for i in taken),
        tuple(i.count for i in taken),
        tuple(i.pitch for i in taken),
        first,
        tuple(indices[len(taken) :]),
    )


def _added(allocation: Tiling, use: Tiling, name: str) -> tuple[ThreadIterator, ...]:
    """The iterators of the loops between allocation and use."""
    scope: Tiling | None = use
    while scope is not None and scope != allocation:
        scope = scope.parent
    if scope is None:
        raise refused(name, "dist-c1", "a use outside of it")
    return use.iterators[len(allocation.iterators) :]


def check_allocation(allocation: Tiling, native: CollUnit, *, name: str = "variable") -> None:
    """Refuse an allocation by parts of native collectives."""
    state, box = expected(allocation, native)
    for dim, size in zip(state.dims, box, strict=True):
        if size not in (None, 1) and dim.box != size:
            raise refused(name, "dist-c2", f"{dim.box} of {size} threads of a {native}")


@dataclass(frozen=True, slots=True)
class _Run:
    """Dimensions that stand together, of which all or none are divided by the native unit."""

    divided: bool
    pitch: int
    extent: int
    last: int
    """The coordinate of the last thread that runs in the first iteration."""


def _runs(dims: Sequence[Dim], box: Sequence[int | None]) -> list[_Run]:
    found: list[_Run] = []
    pitch = 1
    for dim, size in reversed(list(zip(dims, box, strict=True))):
        last, divided = dim.offset + dim.box - 1, size == 1
        if found and found[-1].divided == divided:
            run = found.pop()
            inner = run.extent
            found.append(_Run(divided, run.pitch, inner * dim.extent, run.last + inner * last))
        else:
            found.append(_Run(divided, pitch, dim.extent, last))
        pitch *= dim.extent
    return found


def _counting(use: Tiling, box: Sequence[int | None], name: str) -> list[ThreadIterator]:
    """The iterators that tell native collectives apart, in a domain that use and native unit share."""
    for dim, size in zip(use.dims, box, strict=True):
        if size == 1 and dim.box != 1:
            given = f"{dim.box} of {dim.extent} collectives"
            raise refused(name, "dist-c3", given, hint="use it in a cuda_threads loop over them")
    found: list[ThreadIterator] = []
    for run in _runs(use.dims, box):
        end = run.pitch * run.extent
        inside = [i for i in use.iterators if i.count > 1 and run.pitch <= i.pitch < end]
        reach = run.last + sum((i.count - 1) * i.pitch for i in inside) // run.pitch
        for i in inside:
            if i.pitch % run.pitch or reach >= run.extent:
                raise refused(name, "dist-c4", f"{i.name}, of {i.count} iterations {i.pitch} threads apart")
        found += inside if run.divided else []
    return found


def _consume(
    use: Tiling, counting: Sequence[ThreadIterator], indices: Sequence[str], name: str
) -> list[ThreadIterator]:
    """The leading indices, up to the last of the iterators that must be among them."""
    iterators = {i.name: i for i in use.iterators}
    taken: list[ThreadIterator] = []
    while not {i.name for i in counting} <= {i.name for i in taken}:
        at = len(taken)
        if at == len(indices):
            missing = ", ".join(i.name for i in counting if i not in taken)
            raise refused(name, "dist-c5", f"no index for {missing}")
        index = indices[at]
        if not index.isidentifier():
            raise refused(name, "dist-c6", f"index {at} is {index}")
        if index not in iterators:
            raise refused(name, "dist-c7", f"index {at} is {index}")
        iterator = iterators[index]
        if iterator in taken:
            raise refused(name, "dist-c9", f"{index} once more at {at}")
        if iterator not in counting and iterator.pitch:
            raise refused(name, "dist-c8", f"index {at} is {index}")
        taken.append(iterator)
    return taken


def _check_extents(taken: Sequence[ThreadIterator], extents: Sequence[int | None], name: str) -> None:
    for at, iterator in enumerate(taken):
        extent = extents[at] if at < len(extents) else None
        if extent is None:
            raise refused(name, "dist-c10", f"dimension {at} has none")
        if extent != iterator.count:
            given = f"dimension {at} of {extent} for {iterator.name} of {iterator.count} iterations"
            raise refused(name, "dist-c11", given)


def agree(first: Deduction, other: Deduction, *, name: str = "variable") -> None:
    """Refuse two uses of one variable that give a shard to different threads."""
    counts = len(first.distributed), len(other.distributed)
    if counts[0] != counts[1]:
        raise refused(name, "dist-c12", f"{counts[0]} in one, {counts[1]} in another")
    if first.pitches != other.pitches:
        raise refused(name, "dist-c13", f"{first.pitches} in one, {other.pitches} in another")
    if first.first != other.first:
        raise refused(name, "dist-c14", f"thread {first.first} in one, {other.first} in another")


def deduce_barrier(
    allocation: Tiling,
    use: Tiling,
    indices: Sequence[str],
    extents: Sequence[int | None],
    *,
    name: str = "barrier",
) -> Deduction:
    """The same for a statement on a barrier: each collective that runs it has a barrier of its own."""
    counting = [i for i in _added(allocation, use, name) if i.count > 1]
    taken = _consume(use, counting, indices, name)
    iterators = {i.name: i for i in use.iterators}
    for index in indices[len(taken) :]:
        iterator = iterators.get(index)
        if iterator is None or iterator.pitch or iterator in taken:
            raise refused(name, "dist-barrier-c1", f"index {len(taken)} is {index}")
        taken.append(iterator)
    _check_extents(taken, extents, name)
    first = sum(offset * pitch for offset, pitch in zip(use.offset, use.pitches, strict=True))
    return _deduction(taken, first, indices)


def agree_on_side(first: Tiling, other: Tiling, *, name: str = "barrier") -> None:
    """Refuse two statements of one side of a barrier (all its Arrives, or all its Awaits) that run on other threads."""
    one = (first.domain, first.tile, first.box, first.offset)
    two = (other.domain, other.tile, other.box, other.offset)
    if one != two:
        given = f"{_who(first)} in one, {_who(other)} in another"
        raise refused(name, "dist-barrier-c2", given)


def agree_on_queue(first: Deduction, other: Deduction, *, name: str = "barrier") -> None:
    """Refuse two statements on a barrier that give a thread different ones, as ``bar[m, n]`` and ``bar[n, m]`` do.

    A thread keeps one count for each side of a barrier, of arrives or of awaits (and hardware one queue of commit
    groups for each thread), where the law counts for each index: these are the same where its index is.
    """
    if first.pitches != other.pitches:
        given = f"indices {first.pitches} threads apart in one, {other.pitches} in another"
        raise refused(name, "dist-barrier-c3", given)


def _who(tiling: Tiling) -> str:
    """The threads that run a statement, for a reader: ``threads 32 to 63 of 96, 32 at a time``."""
    ranges = [
        f"{'threads' if k == 0 else 'and'} {offset} to {offset + box - 1} of {extent}"
        for k, (extent, box, offset) in enumerate(zip(tiling.domain, tiling.box, tiling.offset, strict=True))
    ]
    each = (
        ""
        if tiling.tile in (tiling.box, tiling.domain)
        else f", in tiles of {' by '.join(map(str, tiling.tile))}"
    )
    return " ".join(ranges) + each
