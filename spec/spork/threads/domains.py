"""
Domains of threads
==================

A domain arranges the threads of a collective as an array. Along each dimension, `Dim` says which threads run: how many
of them, and where their box starts in each iteration of the loops around. The pitch of a dimension is the product of
the extents to its right: by how many threads two neighbours are apart.

A tiling and a unit may arrange the same threads in different ways. `complete` brings both to a common domain: the
domain of fewer threads is prefixed by what it lacks, extents of 1 are dropped, and extents are split until both have
the same pitches.

>>> from soundline.spec.spork.threads.units import Concrete
>>> all_of = [Dim(n, n, n, 0, frozenset({0}), Coordinate(THREAD)) for n in (2, 1, 64, 16)]
>>> dims, box = complete(all_of, Concrete((16, 128), (16, 1)), None, "an example")
>>> [d.extent for d in dims], box
([2, 8, 8, 16], (2, 8, 1, 1))
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import prod
from typing import Final

from soundline.spec.errors import CollectiveError
from soundline.spec.spork.threads.units import Concrete

CONSTRAINTS: Final = {
    "coll-domain-c1": "for any two domains, the number of threads of one divides that of the other",
    "coll-domain-c2": "for any two pitches of the two domains, one divides the other",
    "coll-domain-c3": "a box of the unit that reaches over a split consists of whole pieces",
    "coll-domain-c4": "at a split, every collective lies within one piece or consists of whole pieces",
}
"""What two domains must satisfy to be compared, by id."""


def refused(subject: str, rule: str, given: str, *, hint: str | None = None) -> CollectiveError:
    """The error of domains that have no common one."""
    return CollectiveError(subject, rule, given=given, wants=CONSTRAINTS[rule], hint=hint)


THREAD: Final = "threadIdx.x"
RANK: Final = "blockIdx.x % clusterDim"
ZERO: Final = "0"


@dataclass(frozen=True, slots=True)
class Coordinate:
    """A number that each thread computes of its own index: a base, then steps ``- n``, ``/ n`` and ``% n``."""

    base: str
    steps: tuple[tuple[str, int], ...] = ()

    def then(self, sign: str, by: int) -> Coordinate:
        """One more step, left out where it changes nothing."""
        if self.base == ZERO or (sign, by) == ("%", 1):
            return Coordinate(ZERO)
        if (sign, by) in (("/", 1), ("-", 0)):
            return self
        return Coordinate(self.base, (*self.steps, (sign, by)))

    def of(self, thread: int, block_dim: int) -> int:
        """Its value for the thread with this linear index in the cluster."""
        value = {THREAD: thread % block_dim, RANK: thread // block_dim, ZERO: 0}[self.base]
        for sign, by in self.steps:
            value = value - by if sign == "-" else value // by if sign == "/" else value % by
        return value

    def __str__(self) -> str:
        text = f"({self.base})" if self.base == RANK and self.steps else self.base
        for at, (sign, by) in enumerate(self.steps):
            text = f"{text} {sign} {by}"
            if sign == "-" and at + 1 < len(self.steps):
                text = f"({text})"
        return text


@dataclass(frozen=True, slots=True)
class Dim:
    """One dimension of a tiling."""

    extent: int
    tile: int
    """How many the loops leave, before warps are chosen."""
    box: int
    """How many run."""
    offset: int
    """Where the box of the first iteration starts: the one in which all iterators are 0."""
    starts: frozenset[int]
    """Where the boxes of all iterations start."""
    coordinate: Coordinate
    """Where a thread stands in its box."""


def pitches(domain: Sequence[int]) -> tuple[int, ...]:
    """The products of the extents to the right of each."""
    return tuple(prod(domain[k + 1 :]) for k in range(len(domain)))


def complete(
    dims: Sequence[Dim], unit: Concrete, outside: int | None, subject: str
) -> tuple[tuple[Dim, ...], tuple[int | None, ...]]:
    """The dimensions of a tiling and the box of a unit, in a domain that both share.

    `outside` is the box of the unit along a dimension that had to be prefixed to its domain.
    """
    here = prod(d.extent for d in dims)
    total = max(here, unit.threads)
    if total % here or total % unit.threads:
        raise refused(subject, "coll-domain-c1", f"{here} and {unit.threads} threads")
    prefix = Dim(total // here, 1, 1, 0, frozenset({0}), Coordinate(ZERO))
    dims = [d for d in (prefix, *dims) if d.extent > 1]
    arranged = zip((total // unit.threads, *unit.domain), (outside, *unit.box), strict=True)
    boxes = [(d, b) for d, b in arranged if d > 1]
    cuts = sorted({*pitches([d.extent for d in dims]), *pitches([d for d, _ in boxes])})
    for low, high in pairwise(cuts):
        if high % low:
            raise refused(subject, "coll-domain-c2", f"pitches {high} and {low}")
    box = tuple(b for d in _with_pitches(boxes) for b in _split_box(*d, cuts, subject))
    return tuple(_split_dims(dims, cuts, subject)), box


def _with_pitches(boxes: list[tuple[int, int | None]]) -> list[tuple[int, int, int | None]]:
    apart = pitches([d for d, _ in boxes])
    return [(d, pitch, b) for (d, b), pitch in zip(boxes, apart, strict=True)]


def _factors(extent: int, pitch: int, cuts: list[int]) -> list[int]:
    """The extents of the pieces into which the cuts split one dimension, from right to left."""
    bounds = [pitch, *(c for c in cuts if pitch < c < pitch * extent), pitch * extent]
    return [high // low for low, high in pairwise(bounds)]


def _split_box(
    extent: int, pitch: int, box: int | None, cuts: list[int], subject: str
) -> tuple[int | None, ...]:
    pieces: list[int | None] = []
    *inner, _ = _factors(extent, pitch, cuts)
    for factor in inner:
        if box is not None and box >= factor and box % factor:
            raise refused(subject, "coll-domain-c3", f"a box of {box} split by {factor}")
        pieces.append(None if box is None else min(box, factor))
        box = None if box is None else max(box // factor, 1)
    return (box, *reversed(pieces))


def _split_dims(dims: list[Dim], cuts: list[int], subject: str) -> list[Dim]:
    found = []
    for dim, pitch in zip(dims, pitches([d.extent for d in dims]), strict=True):
        pieces = []
        *inner, _ = _factors(dim.extent, pitch, cuts)
        for factor in inner:
            dim, piece = split(dim, factor, subject)
            pieces.append(piece)
        found += [dim, *reversed(pieces)]
    return found


def split(dim: Dim, factor: int, subject: str) -> tuple[Dim, Dim]:
    """A dimension as two, of which the right one has the extent `factor`."""
    for start in sorted(dim.starts):
        within = start % factor + dim.box <= factor
        whole = start % factor == 0 and dim.box % factor == 0
        if not (within or whole):
            given = f"a collective of {dim.box} that starts at {start}, split by {factor}"
            below = start // factor * factor
            begins = f"{below} or {below + factor}" if start % factor else str(start)
            many = f"of {factor}" if dim.box < factor else f"of a multiple of {factor}"
            hint = f"aligned are collectives {many} threads that begin at a multiple of {factor}: at {begins}"
            raise refused(subject, "coll-domain-c4", given, hint=hint)
    small = dim.box < factor
    left = Dim(
        dim.extent // factor,
        -(-dim.tile // factor),
        1 if small else dim.box // factor,
        dim.offset // factor,
        frozenset(s // factor for s in dim.starts),
        Coordinate(ZERO) if small else dim.coordinate.then("/", factor),
    )
    right = Dim(
        factor,
        min(dim.tile, factor),
        min(dim.box, factor),
        dim.offset % factor,
        frozenset(s % factor for s in dim.starts),
        dim.coordinate if small else dim.coordinate.then("%", factor),
    )
    return left, right
