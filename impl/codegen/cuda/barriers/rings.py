"""
Rings of mbarriers
==================

Which mbarriers a device function has, and how many arrivals complete a phase of each.

*Where.* A queue of a barrier is a ring of `depth` mbarriers for each side that is used. It lies in the CTA that its
index says, and that is the CTA of all who use it but for multicasts, which name the CTAs. So the indices over CTAs are
erased: every CTA has the same mbarriers at the same addresses, and those of another CTA are found by its rank alone.
What is left of the index, and of the loops around the allocation, tells the queues within a CTA apart.

A unit divides the threads along one dimension (``coll-tile-c4``): no iterator goes from one CTA into the next.

*How many arrivals.* The law says how many threads arrive at one queue each time, those of all CTAs that multicast to it
(`SideFacts.arriving`). An arrive that reaches n queues is one of n that reach each of them: a queue t is reached from a
home h where some pattern agrees with both in all indices but its colons, and that is the same from t to h. Of these
threads one lane of each warp arrives for all of its warp, but for copies of cp.async, where every thread arrives when
its own copies are complete. The count of an mbarrier is the number of these arrivals.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import prod

from soundline.impl.codegen.cuda.barriers.targets import Targets, over_ctas, own_cta
from soundline.impl.codegen.cuda.barriers.uses import Barrier, Use, Uses
from soundline.spec.spork.language.expressions import Span
from soundline.spec.spork.language.statements import AllocBarrier, Arrive, BarrierAt
from soundline.spec.spork.static.law import Facts
from soundline.spec.spork.static.windows import Path
from soundline.spec.spork.synchronization.barriers import BarrierType
from soundline.spec.spork.synchronization.fences import WARP

BYTES = 8
"""Of an mbarrier."""

NOINC = "cp.async.mbarrier.arrive.noinc"
"""The arrive that each thread does, when its copies are complete."""


@dataclass(frozen=True, slots=True)
class Side:
    """One side of a ring."""

    reverse: bool
    first: int
    """The number of its first mbarrier in the shared memory of a CTA."""
    arrivals: int
    """Of a phase."""
    each: str
    """Who arrives, for a reader."""
    lag: int
    """How many awaits wait for nothing."""
    is_remote: bool
    """Whether arrives come from other CTAs."""
    is_by_copies: bool
    """Whether each thread arrives when its copies are complete."""


@dataclass(frozen=True, slots=True)
class Ring:
    """The mbarriers under one name."""

    statement: AllocBarrier
    path: Path
    name: str
    """What it is called in C++, told from others of the same name."""
    depth: int
    around: tuple[tuple[str, int], ...]
    """The iterators around the allocation that tell the queues of a CTA apart, and their counts."""
    positions: tuple[tuple[int, int], ...]
    """The same of indices, by position."""
    sides: Mapping[bool, Side]

    @property
    def queues(self) -> int:
        """How many queues a CTA has."""
        return prod(count for _, count in (*self.around, *self.positions))

    @property
    def mbarriers(self) -> int:
        """How many mbarriers a side has in a CTA."""
        return self.queues * self.depth

    def queue(self, home: Sequence[str]) -> tuple[tuple[str, int], ...]:
        """Which queue of the CTA: the sum of iterators times factors."""
        parts = [*self.around, *((home[k], count) for k, count in self.positions)]
        return tuple((n, prod(c for _, c in parts[k + 1 :])) for k, (n, _) in enumerate(parts))


def rings_of(uses: Uses, facts: Facts) -> dict[Path, Ring]:
    """The rings of a device function, in the order of the program."""
    found: dict[Path, Ring] = {}
    first, taken = 0, set[str]()
    for path, barrier in uses.barriers.items():
        own = [use for use in uses.uses.values() if use.barrier == path]
        if barrier.statement.kind.value is not BarrierType.CudaMbarrier or not own:
            continue
        found[path] = _ring(barrier, own, facts, first, taken)
        first += found[path].mbarriers * len(found[path].sides)
    return found


def _ring(barrier: Barrier, uses: Sequence[Use], facts: Facts, first: int, taken: set[str]) -> Ring:
    known = facts.barriers[barrier.path]
    depth = known.depth or 1  # nobody awaits, so that no run arrives: its counters would not be equal
    tiling, allocation = uses[0].tiling, barrier.tiling
    inside = {i.name: i.count for i in tiling.iterators if i.count > 1 and i.name not in over_ctas(tiling)}
    around = tuple((i.name, inside[i.name]) for i in allocation.iterators if i.name in inside)
    positions = tuple((k, inside[name]) for k, name in enumerate(uses[0].home) if name in inside)
    queues = prod(count for _, count in (*around, *positions))
    sides: dict[bool, Side] = {}
    for reverse, side in ((False, known.forward), (True, known.reverse)):
        if side is None:
            continue
        arrive = next(u for u in uses if isinstance(u.statement, Arrive) and u.statement.reverse is reverse)
        count, each = _arrivals(arrive, side.arriving, facts.pieces[arrive.path])
        start = first + queues * depth * len(sides)
        lag = ~side.ns[0] if side.ns else 0
        remote = side.arriving > prod(arrive.tiling.box)
        by_copies = NOINC in facts.pieces[arrive.path]
        sides[reverse] = Side(reverse, start, count, each, lag, remote, by_copies)
    name = _unlike(barrier.statement.name, taken)
    return Ring(barrier.statement, barrier.path, name, depth, around, positions, sides)


def _unlike(name: str, taken: set[str]) -> str:
    """A name whose counters are called unlike those of all others: two blocks may have barriers of one name."""
    number, found = 1, name
    while any(_clash(found, other) or _clash(other, found) for other in taken):
        number += 1
        found = f"{name}{number}"
    taken.add(found)
    return found


def _clash(one: str, other: str) -> bool:
    return other in (one, f"{one}_reverse") or other.startswith(f"{one}_bytes")


def _arrivals(arrive: Use, threads: int, pieces: Sequence[str]) -> tuple[int, str]:
    """How many arrivals a phase has, of so many threads, and who they are for a reader."""
    ctas = threads // prod(arrive.tiling.box)
    suffix = f" of {ctas} CTAs" if ctas > 1 else ""
    if NOINC in pieces:
        return threads, f"{_many(threads, 'thread')} when the copies are complete"
    if prod(arrive.tiling.box) == 1:
        return threads, f"1 thread{suffix}"
    return threads // WARP, f"{_many(threads // WARP // ctas, 'warp')}{suffix}"


def _many(count: int, what: str) -> str:
    return f"{count} {what}{'s' if count > 1 else ''}"


# Which CTAs -------------------------------------------------------------------------------------------------------


def targets_of(use: Use, barriers: Iterable[BarrierAt]) -> tuple[Targets, ...]:
    """The CTAs at whose mbarriers the patterns arrive, each as it is written; the own one for an index alone."""
    counts = over_ctas(use.tiling)
    found = []
    for barrier in barriers:
        targets = own_cta(use.tiling)
        for iterator, index in zip(use.home, barrier.indices, strict=True):
            if isinstance(index, Span) and iterator in counts:
                targets = targets.without(iterator, counts[iterator].count)
        found.append(targets)
    return tuple(found)
