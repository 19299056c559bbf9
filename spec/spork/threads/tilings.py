"""
Tilings
=======

Which threads run a statement. A tiling describes it along the dimensions of a *domain*, an arrangement of the threads
of the top-level collective (a CTA, or a cluster): how many threads the loops around leave (`tile`), how many of those
run after warps were chosen (`box`), and where the boxes of all iterations start. It says too, for each thread, which
iteration it runs: the value of every iterator as an expression in threadIdx, and the guards that leave threads idle.

* `top_level` is the tiling of a task: all threads.
* `tile` is that of the body of ``for i in cuda_threads(0, count, unit=unit)``.
* `choose_warps` is that of the body of ``with CudaWarps(lo, hi)``.
* `match` decides whether a statement that asks for a unit may run here.

A unit has a domain of its own; before the two are compared, both are brought to a common one, see
`spec.spork.threads.domains`.

>>> from soundline.spec.spork.threads.units import cuda_thread, cuda_warp
>>> lanes = tile(tile(top_level(128), "w", 4, cuda_warp), "t", 10, 3 * cuda_thread)
>>> [f"{i.name} = {i.value}" for i in lanes.iterators], [str(g) for g in lanes.guards]
(['w = threadIdx.x / 32', 't = threadIdx.x % 32 / 3'], ['threadIdx.x % 32 / 3 < 10'])
>>> sorted(threads(lanes, (1, 2)))
[38, 39, 40]
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from math import prod
from typing import Final

from soundline.spec.errors import CollectiveError
from soundline.spec.spork.synchronization.fences import WARP
from soundline.spec.spork.threads.domains import RANK, THREAD, ZERO, Coordinate, Dim, complete, pitches
from soundline.spec.spork.threads.units import CollUnit, Concrete, cuda_warp, is_count, substituted

CONSTRAINTS: Final = {
    "coll-tile-c1": "a cuda_threads loop starts at 0",
    "coll-tile-c2": "the count of a cuda_threads loop is an integer ≥ 1",
    "coll-tile-c3": "the iterator has another name than those of the enclosing cuda_threads loops",
    "coll-tile-c4": "the unit divides the threads along one dimension only",
    "coll-tile-c5": "count times the size of the unit is at most the number of threads",
    "coll-tile-c6": "a loop whose unit divides no dimension has one iteration",
    "coll-warps-c1": "the warps of CudaWarps(lo, hi) are integers with 0 ≤ lo < hi",
    "coll-warps-c2": "hi is at most the number of warps",
    "coll-match-c1": "the box of the required unit divides its domain, or consists of whole warps of it",
    "coll-match-c2": "along each dimension, the number of threads is that of the required unit",
}
"""What tilings must satisfy, by id."""


def refused(
    subject: str, rule: str, given: str, *, most: int | None = None, hint: str | None = None
) -> CollectiveError:
    """The error of a tiling that breaks a rule."""
    return CollectiveError(subject, rule, given=given, wants=CONSTRAINTS[rule], most=most, hint=hint)


@dataclass(frozen=True, slots=True)
class Guard:
    """A thread runs on only where its coordinate is at least `lo` and less than `hi`."""

    coordinate: Coordinate
    lo: int
    hi: int

    def __str__(self) -> str:
        lower = f"{self.lo} <= " if self.lo else ""
        return f"{lower}{self.coordinate} < {self.hi}"


@dataclass(frozen=True, slots=True)
class ThreadIterator:
    """The iterator of a cuda_threads loop."""

    name: str
    count: int
    pitch: int
    """By how many threads two iterations that follow each other are apart; 0 where there is only one."""
    value: Coordinate


@dataclass(frozen=True, slots=True)
class Tiling:
    """The threads of a statement, and what of them each iteration gets."""

    block_dim: int
    cluster_dim: int
    dims: tuple[Dim, ...]
    iterators: tuple[ThreadIterator, ...] = ()
    guards: tuple[Guard, ...] = ()
    warps: str | None = None
    """The name of the warps that run, where warps have names and some were chosen."""
    tile_count: int = 1
    """The iterations of the loop of which this is the body."""
    parent: Tiling | None = field(default=None, compare=False, repr=False)

    @property
    def domain(self) -> tuple[int, ...]:
        """The extents."""
        return tuple(d.extent for d in self.dims)

    @property
    def tile(self) -> tuple[int, ...]:
        """How many of each coordinate the loops leave."""
        return tuple(d.tile for d in self.dims)

    @property
    def box(self) -> tuple[int, ...]:
        """How many of each coordinate run."""
        return tuple(d.box for d in self.dims)

    @property
    def offset(self) -> tuple[int, ...]:
        """Where the first iteration's box starts."""
        return tuple(d.offset for d in self.dims)

    @property
    def pitches(self) -> tuple[int, ...]:
        """For each dimension, by how many threads two neighbours are apart."""
        return pitches(self.domain)


def top_level(block_dim: int, cluster_dim: int = 1) -> Tiling:
    """All threads of a CTA, or of a cluster of several."""
    bases = [(cluster_dim, RANK)] if cluster_dim > 1 else []
    dims = (Dim(n, n, n, 0, frozenset({0}), Coordinate(base)) for n, base in (*bases, (block_dim, THREAD)))
    return Tiling(block_dim, cluster_dim, tuple(dims))


# Loops and warps --------------------------------------------------------------------------------------------------


def divided(tiling: Tiling, box: tuple[int | None, ...], subject: str) -> int | None:
    """The dimension along which a unit divides the threads: where its box is not agnostic, not all of the extent, and
    not what runs anyway. None where there is none.
    """
    dims = zip(tiling.dims, box, strict=True)
    found = [k for k, (dim, size) in enumerate(dims) if size not in (None, dim.extent, dim.box)]
    if len(found) > 1:
        given = f"a unit of {_shown(box)} where {_shown(tiling.box)} of {_shown(tiling.domain)} threads run"
        raise refused(subject, "coll-tile-c4", given)
    return found[0] if found else None


def _shown(sizes: Sequence[int | None]) -> str:
    return "(" + ", ".join("any" if s is None else str(s) for s in sizes) + ")"


def tile(tiling: Tiling, iterator: str, count: int, unit: CollUnit, *, lo: int = 0) -> Tiling:
    """The body of ``for iterator in cuda_threads(lo, count, unit=unit)``: each iteration gets one collective.

    Along the divided dimension an iteration has as many threads as the unit; along all others it has what the loop has.
    """
    subject = f"cuda_threads({lo}, {count}, unit={unit})"
    if lo != 0:
        raise refused(subject, "coll-tile-c1", str(lo))
    if not is_count(count):
        raise refused(subject, "coll-tile-c2", repr(count))
    if any(i.name == iterator for i in tiling.iterators):
        raise refused(subject, "coll-tile-c3", iterator)
    numbers = substituted(unit, block_dim=tiling.block_dim, cluster_dim=tiling.cluster_dim)
    if numbers.oversized:
        given = f"{_shown(numbers.box)} of {_shown(numbers.domain)} threads"
        raise refused(subject, "coll-tile-c5", given, most=0)
    dims, box = complete(tiling.dims, numbers, None, subject)
    state = replace(tiling, dims=dims)
    k = divided(state, box, subject)
    size = None if k is None else box[k]
    if k is None or size is None:
        if count != 1:
            raise refused(subject, "coll-tile-c6", f"{count} iterations", most=1)
        only = ThreadIterator(iterator, 1, 0, Coordinate(ZERO))
        return replace(tiling, iterators=(*tiling.iterators, only), tile_count=1, parent=tiling)
    return _body(replace(state, parent=tiling), k, size, iterator, count, subject)


def _body(state: Tiling, k: int, size: int, iterator: str, count: int, subject: str) -> Tiling:
    dim = state.dims[k]
    if count * size > dim.box:
        most = dim.box // size
        given = f"{count} * {size} > {dim.box}"
        raise refused(subject, "coll-tile-c5", given, most=most, hint=f"the count may be at most {most}")
    value = dim.coordinate.then("/", size)
    pitch = size * state.pitches[k] if count > 1 else 0
    guards = state.guards if count * size == dim.box else (*state.guards, Guard(value, 0, count))
    starts = {start + i * size for start in dim.starts for i in range(count)}
    body = Dim(dim.extent, size, size, dim.offset, frozenset(starts), dim.coordinate.then("%", size))
    return replace(
        state,
        dims=(*state.dims[:k], body, *state.dims[k + 1 :]),
        iterators=(*state.iterators, ThreadIterator(iterator, count, pitch, value)),
        guards=guards,
        tile_count=count,
    )


def choose_warps(tiling: Tiling, lo: int, hi: int) -> Tiling:
    """The body of ``with CudaWarps(lo, hi)``: of the warps that run here, those from lo up to hi."""
    subject = f"CudaWarps({lo}, {hi})"
    if not (type(lo) is int and type(hi) is int and 0 <= lo < hi):
        raise refused(subject, "coll-warps-c1", f"lo {lo!r}, hi {hi!r}")
    numbers = substituted(cuda_warp, block_dim=tiling.block_dim, cluster_dim=tiling.cluster_dim)
    dims, box = complete(tiling.dims, numbers, None, subject)
    state = replace(tiling, dims=dims)
    k = None if numbers.oversized else divided(state, box, subject)
    size = None if k is None else box[k]
    there = 0 if numbers.oversized else 1 if k is None or size is None else state.dims[k].box // size
    if hi > there:
        raise refused(subject, "coll-warps-c2", f"hi {hi} of {there} warps", most=there)
    if k is None or size is None:
        return replace(tiling, tile_count=1, parent=tiling)
    dim = state.dims[k]
    first, end = size * lo, size * hi
    chosen = replace(
        dim,
        box=end - first,
        offset=dim.offset + first,
        starts=frozenset(start + first for start in dim.starts),
        coordinate=dim.coordinate.then("-", first),
    )
    guard = () if (first, end) == (0, dim.box) else (Guard(dim.coordinate, first, end),)
    dims = (*dims[:k], chosen, *dims[k + 1 :])
    return replace(state, dims=dims, guards=(*state.guards, *guard), tile_count=1, parent=tiling)


# Matching ---------------------------------------------------------------------------------------------------------


def aligned(unit: Concrete, subject: str) -> Concrete:
    """The unit in aligned form: a box of b in an extent of d becomes one of d/b groups, and all b threads of it."""
    domain: list[int] = []
    box: list[int | None] = []
    for extent, size in zip(unit.domain, unit.box, strict=True):
        if size is not None and extent % size:
            raise refused(subject, "coll-match-c1", f"{size} of {extent}")
        domain += [extent] if size is None else [extent // size, size]
        box += [None] if size is None else [1, size]
    return Concrete(tuple(domain), tuple(box))


def expected(tiling: Tiling, unit: CollUnit) -> tuple[Tiling, tuple[int | None, ...]]:
    """The tiling in a domain that it shares with the aligned form of a unit, and what the unit expects there along each
    dimension: 1 thread, all, or anything (None).
    """
    numbers = substituted(unit, block_dim=tiling.block_dim, cluster_dim=tiling.cluster_dim)
    tiling, numbers = _filled(tiling, numbers)
    dims, box = complete(tiling.dims, aligned(numbers, str(unit)), 1, str(unit))
    return replace(tiling, dims=dims), box


def _filled(tiling: Tiling, unit: Concrete) -> tuple[Tiling, Concrete]:
    """Both as if the CTA had so many more threads that whole collectives of warps fill it (S-17).

    A unit of whole warps counts its collectives from the first warp of the CTA: where their size does not divide
    blockDim, the last warps are in none. Nothing runs on threads that are not there, for every box is one of the CTA.
    """
    size, there = unit.box[0], tiling.block_dim
    if unit.domain != (there,) or size is None or size % WARP or size > there or there % size == 0:
        return tiling, unit
    full = -(-there // size) * size
    at = next((k for k in range(len(tiling.dims)) if prod(tiling.domain[k:]) == there), None)
    if at is None or full * tiling.domain[at] % there:
        return tiling, unit
    dim, more = tiling.dims[at], full * tiling.domain[at] // there
    wide = replace(
        dim,
        extent=more,
        tile=more if dim.tile == dim.extent else dim.tile,
        box=more if dim.box == dim.extent else dim.box,
    )
    apart = tuple(
        replace(i, pitch=i.pitch // there * full) if i.pitch % there == 0 else i for i in tiling.iterators
    )
    dims = (*tiling.dims[:at], wide, *tiling.dims[at + 1 :])
    return replace(tiling, dims=dims, iterators=apart, block_dim=full), Concrete((full,), unit.box)


def match(tiling: Tiling, unit: CollUnit) -> None:
    """Refuse a statement that asks for a unit, unless each collective that runs here is one of that unit."""
    state, box = expected(tiling, unit)
    if any(size not in (None, dim.box) for dim, size in zip(state.dims, box, strict=True)):
        given = f"{_shown(state.box)} of {_shown(state.domain)} threads, where the unit is {_shown(box)}"
        raise refused(str(unit), "coll-match-c2", given)


def matches(tiling: Tiling, unit: CollUnit) -> bool:
    """Whether a statement that asks for a unit may run here."""
    try:
        match(tiling, unit)
    except CollectiveError:
        return False
    return True


# Threads ----------------------------------------------------------------------------------------------------------


def threads(tiling: Tiling, values: Sequence[int]) -> frozenset[int]:
    """The linear indices of the threads that run the iteration in which the iterators have these values."""
    apart = tiling.pitches
    first = sum(offset * pitch for offset, pitch in zip(tiling.offset, apart, strict=True))
    first += sum(i.pitch * value for i, value in zip(tiling.iterators, values, strict=True))
    steps = (range(0, size * pitch, pitch) for size, pitch in zip(tiling.box, apart, strict=True))
    return frozenset(first + sum(place) for place in product(*steps))


def iteration(tiling: Tiling, thread: int) -> tuple[int, ...] | None:
    """The values that the iterators have in the thread with this linear index; None where it stays idle."""
    for guard in tiling.guards:
        if not guard.lo <= guard.coordinate.of(thread, tiling.block_dim) < guard.hi:
            return None
    return tuple(i.value.of(thread, tiling.block_dim) for i in tiling.iterators)
