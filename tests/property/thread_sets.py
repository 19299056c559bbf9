"""The oracle beside the algebra of collectives: sets of threads, enumerated, and random nests of loops and warps.

A statement is described by its collectives, each a set of linear thread indices with the values of the iterators. A
loop takes every such set apart by the digits of its threads. Nothing here knows boxes, offsets or expressions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import prod

from hypothesis import strategies as st

from soundline.spec.spork.threads.units import (
    BLOCK_DIM,
    CLUSTER_DIM,
    CollUnit,
    coll_unit,
    cuda_agnostic_intact_cta,
    cuda_agnostic_sub_cta,
    cuda_cluster,
    cuda_cta_in_cluster,
    cuda_cta_in_cluster_strided,
    cuda_quadpair,
    cuda_thread,
    cuda_threads_strided,
    cuda_warp,
    cuda_warp_in_cluster,
    cuda_warpgroup,
    substituted,
)

Values = tuple[int, ...]
Groups = dict[Values, frozenset[int]]


class Refused(Exception):
    """The oracle refuses; carries the id of the condition."""

    def __init__(self, rule: str) -> None:
        self.rule = rule
        super().__init__(rule)


def places(domain: Sequence[int]) -> list[int]:
    """The pitches of the dimensions that have more than one coordinate."""
    return [prod(domain[k + 1 :]) for k, d in enumerate(domain) if d > 1]


def digits(thread: int, cuts: Sequence[int]) -> tuple[int, ...]:
    """A thread in the mixed radix whose places are the cuts, the greatest first and without bound."""
    found = []
    for cut in cuts:
        found.append(thread // cut)
        thread %= cut
    return tuple(found)


def is_box(points: Sequence[tuple[int, ...]]) -> bool:
    """Whether points are all those of some ranges of coordinates."""
    sides = [{p[k] for p in points} for k in range(len(points[0]))]
    return prod(map(len, sides)) == len(set(points)) and all(max(s) - min(s) + 1 == len(s) for s in sides)


@dataclass(frozen=True)
class Scope:
    """Where a statement stands: its collectives, the places in which threads were written so far, and the names."""

    block_dim: int
    cluster_dim: int
    groups: Groups
    cuts: frozenset[int]
    names: tuple[str, ...] = ()
    counts: tuple[int, ...] = ()
    room: int = 0
    """The threads for which there are places: more than there are, after a unit that arranges more."""

    @property
    def total(self) -> int:
        return max(self.room, self.block_dim * self.cluster_dim)


def task(block_dim: int, cluster_dim: int) -> Scope:
    domain = (cluster_dim, block_dim)
    every = frozenset(range(block_dim * cluster_dim))
    return Scope(block_dim, cluster_dim, {(): every}, frozenset(places(domain)))


def common(scope: Scope, unit: CollUnit) -> tuple[list[int], list[int | None], list[int]]:
    """The places that scope and unit share, the size of the unit's box at each, and how many digits each has."""
    numbers = substituted(unit, block_dim=scope.block_dim, cluster_dim=scope.cluster_dim)
    total = max(scope.total, numbers.threads)
    if total % scope.total or total % numbers.threads:
        raise Refused("coll-domain-c1")
    domain = (total // numbers.threads, *numbers.domain)
    cuts = set(scope.cuts) | set(places(domain)) | set(places((total // scope.total, scope.total)))
    if 1 not in cuts:
        cuts |= {1} if total > 1 else set()
    ordered = sorted(cuts, reverse=True)
    for high, low in pairwise(ordered):
        if high % low:
            raise Refused("coll-domain-c2")
    extents = [above // cut for above, cut in zip((total, *ordered), ordered, strict=False)]
    sizes: dict[int, int | None] = {}
    for k, (extent, box) in enumerate(zip(domain, (None, *numbers.box), strict=True)):
        pitch = prod(domain[k + 1 :])
        own = [c for c in ordered if pitch <= c < pitch * extent]
        if box is None:
            sizes |= dict.fromkeys(own)
            continue
        points = [digits(at * pitch, own) for at in range(box)]
        if not is_box(points):
            raise Refused("coll-domain-c3")
        sizes |= {c: len({p[n] for p in points}) for n, c in enumerate(own)}
    return ordered, [sizes[c] for c in ordered], extents


def shape(scope: Scope, cuts: Sequence[int]) -> list[int]:
    """How many digits the collectives have at each place; all are alike."""
    shapes = set()
    for group in scope.groups.values():
        points = [digits(t, cuts) for t in group]
        if not is_box(points):
            raise Refused("coll-domain-c4")
        shapes.add(tuple(len({p[k] for p in points}) for k in range(len(cuts))))
    (only,) = shapes
    return list(only)


def place_of(scope: Scope, unit: CollUnit) -> tuple[list[int], int | None, int, int]:
    """At which place a unit takes collectives apart: the places, the number of that one, its size, what there is."""
    cuts, sizes, extents = common(scope, unit)
    there = shape(scope, cuts)
    found = [k for k, size in enumerate(sizes) if size is not None and size not in (extents[k], there[k])]
    if len(found) > 1:
        raise Refused("coll-tile-c4")
    if not found:
        return cuts, None, 0, 0
    size = sizes[found[0]]
    assert size is not None
    return cuts, found[0], size, there[found[0]]


def arranged(scope: Scope, unit: CollUnit) -> int:
    return substituted(unit, block_dim=scope.block_dim, cluster_dim=scope.cluster_dim).threads


def oversized(scope: Scope, unit: CollUnit) -> bool:
    return substituted(unit, block_dim=scope.block_dim, cluster_dim=scope.cluster_dim).oversized


def part(group: frozenset[int], cuts: Sequence[int], place: int, first: int, end: int) -> frozenset[int]:
    """The threads of a collective whose digit at a place, counted from the least, lies in a range."""
    least = min(digits(t, cuts)[place] for t in group)
    return frozenset(t for t in group if first <= digits(t, cuts)[place] - least < end)


def loop(scope: Scope, name: str, count: int, unit: CollUnit) -> Scope:
    """Every collective is taken apart; the threads that get no iteration are left out."""
    if name in scope.names:
        raise Refused("coll-tile-c3")
    if oversized(scope, unit):
        raise Refused("coll-tile-c5")
    cuts, place, size, there = place_of(scope, unit)
    names, counts = (*scope.names, name), (*scope.counts, count)
    if place is None:
        if count != 1:
            raise Refused("coll-tile-c6")
        groups = {(*values, 0): group for values, group in scope.groups.items()}
        return replace(scope, groups=groups, names=names, counts=counts)
    if count * size > there:
        raise Refused("coll-tile-c5")
    groups = {
        (*values, at): part(group, cuts, place, at * size, (at + 1) * size)
        for values, group in scope.groups.items()
        for at in range(count)
    }
    room = max(scope.total, arranged(scope, unit))
    return Scope(scope.block_dim, scope.cluster_dim, groups, frozenset(cuts), names, counts, room)


def warps(scope: Scope, lo: int, hi: int) -> Scope:
    """Of every collective, some of its warps."""
    if oversized(scope, cuda_warp):
        raise Refused("coll-warps-c2")
    cuts, place, size, there = place_of(scope, cuda_warp)
    if hi > (1 if place is None else there // size):
        raise Refused("coll-warps-c2")
    if place is None:
        return scope
    groups = {v: part(group, cuts, place, lo * size, hi * size) for v, group in scope.groups.items()}
    return replace(scope, groups=groups, cuts=frozenset(cuts))


# Native collectives -----------------------------------------------------------------------------------------------

Cell = tuple[int, ...]


def cell(scope: Scope, unit: CollUnit, thread: int) -> tuple[Cell, Cell]:
    """Which collective of a unit a thread is in, and where in it; agnostic coordinates are no part of either."""
    numbers = substituted(unit, block_dim=scope.block_dim, cluster_dim=scope.cluster_dim)
    outer, inner = [thread // numbers.threads], []
    for k, (extent, box) in enumerate(zip(numbers.domain, numbers.box, strict=True)):
        at = thread // prod(numbers.domain[k + 1 :]) % extent
        if box is not None:
            outer.append(at // box)
            inner.append(at % box)
    return tuple(outer), tuple(inner)


def is_aligned(scope: Scope, unit: CollUnit) -> bool:
    numbers = substituted(unit, block_dim=scope.block_dim, cluster_dim=scope.cluster_dim)
    return all(b is None or d % b == 0 for d, b in zip(numbers.domain, numbers.box, strict=True))


def members(scope: Scope, unit: CollUnit) -> int:
    """How many places a collective of the unit has, agnostic coordinates aside."""
    numbers = substituted(unit, block_dim=scope.block_dim, cluster_dim=scope.cluster_dim)
    return prod(b for b in numbers.box if b is not None)


def is_whole(scope: Scope, unit: CollUnit, group: frozenset[int]) -> bool:
    """Whether a set of threads consists of all places of each native collective that it touches."""
    touched: dict[Cell, set[Cell]] = {}
    for thread in group:
        outer, inner = cell(scope, unit, thread)
        touched.setdefault(outer, set()).add(inner)
    return all(len(inner) == members(scope, unit) for inner in touched.values())


# Random nests -----------------------------------------------------------------------------------------------------

UNITS = [
    cuda_thread,
    cuda_warp,
    cuda_warpgroup,
    cuda_quadpair,
    cuda_cta_in_cluster,
    cuda_cluster,
    cuda_agnostic_sub_cta,
    cuda_agnostic_intact_cta,
    cuda_warp_in_cluster,
    cuda_cta_in_cluster_strided(2),
    cuda_threads_strided(1, 8),
    cuda_threads_strided(4, 16),
    cuda_threads_strided(8, 32),
    coll_unit((BLOCK_DIM / 8, 8), (BLOCK_DIM / 8, 1), scaled=1, name="column of 8"),
    coll_unit((BLOCK_DIM / 16, 16), (BLOCK_DIM / 16, 2), scaled=1, name="column of 16"),
    coll_unit((BLOCK_DIM / 64, 64), (1, 16), scaled=1, name="quarter of 64"),
    coll_unit((CLUSTER_DIM, BLOCK_DIM / 32, 32), (CLUSTER_DIM, 1, 1), scaled=2, name="lane of each CTA"),
    coll_unit((4, 8), (2, 4), name="of 32 threads"),
    coll_unit((8, 12), (1, 12), scaled=0, name="of 96 threads"),
    coll_unit((512,), (32,), scaled=0, name="of 512 threads"),
]
NATIVE = [u for u in UNITS if u.name not in ("of 32 threads", "of 96 threads", "of 512 threads")]

SHAPES = [(32, 1), (64, 1), (96, 1), (128, 1), (256, 1), (256, 1), (32, 2), (64, 4), (128, 2), (96, 2)]


@st.composite
def units(draw: st.DrawFn) -> CollUnit:
    unit = draw(st.sampled_from(UNITS))
    times = draw(st.sampled_from([1, 1, 1, 2, 3, 4, 8, 23]))
    return times * unit if unit.scaled is not None and times > 1 else unit


@dataclass(frozen=True)
class Step:
    """A loop, or a choice of warps where there is no unit."""

    unit: CollUnit | None
    count: int = 0
    lo: int = 0
    hi: int = 0


@st.composite
def steps(draw: st.DrawFn, there: int) -> Step:
    """Any step, or one that suits a scope of so many threads in a row."""
    kind = draw(st.integers(0, 9))
    if kind > 7 and there >= 64:
        lo = draw(st.integers(1, there // 32 - 1))
        return Step(None, lo=lo, hi=draw(st.integers(lo + 1, there // 32)))
    if kind == 0:
        lo = draw(st.integers(0, 3))
        return Step(None, lo=lo, hi=lo + draw(st.sampled_from([1, 1, 2, 4])))
    if kind < 4:
        size = draw(st.sampled_from([n for n in (1, 1, 1, 2, 4, 8, 16, 24, 32, 32, 48, 64) if n <= there]))
        most = there // size
        return Step(size * cuda_thread, draw(st.sampled_from([most, most, most // 2 or 1, max(most - 1, 1)])))
    count = draw(st.sampled_from([1, 2, 2, 3, 4, 4, 5, 8, 10, 16, 32]))
    return Step(draw(units()), count)
