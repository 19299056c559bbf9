"""
Collective units
================

A collective is a group of threads that run a statement together. A collective unit says what the groups look like: its
`domain` arranges the threads of some enclosing group as an array, in row-major order of their linear index (which is
``rank of the CTA · blockDim + threadIdx.x``), and its `box` says how many of each coordinate belong to one collective.
A coordinate of the box may be agnostic (None): anything goes. Both are written with the symbols `BLOCK_DIM` and
`CLUSTER_DIM`; `substituted` replaces them by the sizes of a device function.

>>> warps = substituted(cuda_warp, block_dim=128, cluster_dim=1)
>>> warps.domain, warps.box
((128,), (32,))
>>> 32 * cuda_thread == cuda_warp
True
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import prod
from typing import ClassVar, Final, Literal

from soundline.spec.errors import CollectiveError

CONSTRAINTS: Final = {
    "coll-unit-c1": "a unit has at least one dimension, and as many coordinates of the box as of the domain",
    "coll-unit-c2": "every extent of the domain and of the box is positive",
    "coll-unit-c3": "N in N * unit is a positive integer",
    "coll-unit-c4": "a unit that is scaled has a coordinate that N multiplies",
    "coll-unit-c5": "with blockDim and clusterDim in their places, every extent is an integer",
    "coll-unit-c6": "blockDim and clusterDim are positive integers",
}
"""What a collective unit must satisfy, by id."""


def refused(subject: str, rule: str, given: str, *, hint: str | None = None) -> CollectiveError:
    """The error of a unit that breaks a rule."""
    return CollectiveError(subject, rule, given=given, wants=CONSTRAINTS[rule], hint=hint)


def is_count(value: object) -> bool:
    """Whether a value is an integer ≥ 1, where True is no number."""
    return type(value) is int and value >= 1


@dataclass(frozen=True, slots=True)
class Extent:
    """A rational times powers of blockDim and clusterDim.

    >>> str(BLOCK_DIM / 16), str(CLUSTER_DIM * BLOCK_DIM)
    ('blockDim/16', 'clusterDim*blockDim')
    """

    factor: Fraction
    blocks: int = 0
    """The power of blockDim."""
    clusters: int = 0
    """The power of clusterDim."""

    def __mul__(self, other: Extent | int) -> Extent:
        by = extent(other)
        return Extent(self.factor * by.factor, self.blocks + by.blocks, self.clusters + by.clusters)

    __rmul__ = __mul__

    def __truediv__(self, other: Extent | int) -> Extent:
        by = extent(other)
        return Extent(self.factor / by.factor, self.blocks - by.blocks, self.clusters - by.clusters)

    def at(self, block_dim: int, cluster_dim: int) -> Fraction:
        """The value, with numbers for the symbols."""
        return self.factor * Fraction(block_dim) ** self.blocks * Fraction(cluster_dim) ** self.clusters

    def __str__(self) -> str:
        powers = (("clusterDim", self.clusters), ("blockDim", self.blocks))
        above = [name for name, power in powers for _ in range(power)]
        below = [name for name, power in powers for _ in range(-power)]
        if self.factor.numerator != 1 or not above:
            above.insert(0, str(self.factor.numerator))
        if self.factor.denominator != 1:
            below.insert(0, str(self.factor.denominator))
        return "/".join(["*".join(above), *below])


def extent(value: Extent | int) -> Extent:
    """An extent, of a number or of itself."""
    return value if isinstance(value, Extent) else Extent(Fraction(value))


BLOCK_DIM: Final = Extent(Fraction(1), blocks=1)
"""The symbol blockDim: the threads of a CTA."""

CLUSTER_DIM: Final = Extent(Fraction(1), clusters=1)
"""The symbol clusterDim: the CTAs of a cluster."""


@dataclass(frozen=True, slots=True)
class CollUnit:
    """A collective unit. Units are equal when domain, box and scaled coordinate are, under whatever name."""

    name: str = field(compare=False)
    domain: tuple[Extent, ...]
    box: tuple[Extent | None, ...]
    """One coordinate per dimension; None is agnostic."""
    scaled: int | None = None
    """The dimension whose box coordinate N multiplies in ``N * unit``; None where there is none."""

    spork_sort: ClassVar[Literal["unit"]] = "unit"

    def __post_init__(self) -> None:
        if not self.domain or len(self.domain) != len(self.box):
            given = f"{len(self.domain)} of the domain, {len(self.box)} of the box"
            raise refused(self.name, "coll-unit-c1", given)
        for size in (*self.domain, *self.box):
            if size is not None and size.factor <= 0:
                raise refused(self.name, "coll-unit-c2", str(size))

    def __rmul__(self, count: object) -> CollUnit:
        """N * unit: the unit whose collectives are N times as large along one coordinate."""
        if type(count) is not int or count < 1:
            raise refused(self.name, "coll-unit-c3", repr(count))
        size = None if self.scaled is None else self.box[self.scaled]
        if self.scaled is None or size is None:
            raise refused(self.name, "coll-unit-c4", f"{count} * {self.name}")
        box = (*self.box[: self.scaled], size * count, *self.box[self.scaled + 1 :])
        return CollUnit(f"{count} * {self.name}", self.domain, box, self.scaled)

    def __str__(self) -> str:
        return self.name


def coll_unit(
    domain: Sequence[Extent | int],
    box: Sequence[Extent | int | None],
    *,
    scaled: int | None = None,
    name: str = "CollUnit",
) -> CollUnit:
    """A unit of a reader's own; extents are numbers or expressions in `BLOCK_DIM` and `CLUSTER_DIM`."""
    return CollUnit(
        name,
        tuple(extent(d) for d in domain),
        tuple(None if b is None else extent(b) for b in box),
        scaled,
    )


cuda_thread: Final = coll_unit((BLOCK_DIM,), (1,), scaled=0, name="cuda_thread")
"""One thread."""

cuda_warp: Final = coll_unit((BLOCK_DIM,), (32,), scaled=0, name="cuda_warp")
"""32 threads that follow each other."""

cuda_warpgroup: Final = coll_unit((BLOCK_DIM,), (128,), scaled=0, name="cuda_warpgroup")
"""Four warps that follow each other."""

cuda_quadpair: Final = coll_unit((BLOCK_DIM / 16, 16), (2, 4), name="cuda_quadpair")
"""Four lanes that follow each other in one half of a warp, with the matching four of the other half."""

cuda_cta_in_cluster: Final = coll_unit(
    (CLUSTER_DIM * BLOCK_DIM,), (BLOCK_DIM,), scaled=0, name="cuda_cta_in_cluster"
)
"""All threads of one CTA."""

cuda_cluster: Final = coll_unit((CLUSTER_DIM * BLOCK_DIM,), (CLUSTER_DIM * BLOCK_DIM,), name="cuda_cluster")
"""All threads of all CTAs of a cluster."""

cuda_agnostic_sub_cta: Final = coll_unit((CLUSTER_DIM, BLOCK_DIM), (1, None), name="cuda_agnostic_sub_cta")
"""Any threads of one CTA."""

cuda_agnostic_intact_cta: Final = coll_unit(
    (CLUSTER_DIM, BLOCK_DIM), (None, BLOCK_DIM), name="cuda_agnostic_intact_cta"
)
"""All threads of any CTAs."""

cuda_warp_in_cluster: Final = coll_unit(
    (CLUSTER_DIM, BLOCK_DIM), (1, 32), scaled=1, name="cuda_warp_in_cluster"
)
"""A warp of one CTA, where a plain warp would mean one of each."""


def cuda_cta_in_cluster_strided(stride: int) -> CollUnit:
    """One CTA, of a cluster whose CTAs are arranged in rows of `stride`; N of it are a column."""
    return coll_unit(
        (CLUSTER_DIM / stride, stride, BLOCK_DIM),
        (1, 1, BLOCK_DIM),
        scaled=0,
        name=f"cuda_cta_in_cluster_strided({stride})",
    )


def cuda_threads_strided(count: int, stride: int) -> CollUnit:
    """`count` threads that follow each other, of threads arranged in rows of `stride`; N of it are N rows."""
    return coll_unit(
        (BLOCK_DIM / stride, stride), (1, count), scaled=0, name=f"cuda_threads_strided({count}, {stride})"
    )


STANDARD: Final[dict[str, CollUnit]] = {
    unit.name: unit
    for unit in (
        cuda_thread,
        cuda_warp,
        cuda_warpgroup,
        cuda_quadpair,
        cuda_cta_in_cluster,
        cuda_cluster,
        cuda_agnostic_sub_cta,
        cuda_agnostic_intact_cta,
        cuda_warp_in_cluster,
    )
}
"""The units that have names of their own."""

MEANINGS: Final[dict[str, str]] = {
    "cuda_thread": "one thread",
    "cuda_warp": "32 threads that follow each other",
    "cuda_warpgroup": "four warps that follow each other",
    "cuda_quadpair": "four lanes that follow each other in one half of a warp, and the matching four of the other",
    "cuda_cta_in_cluster": "all threads of one CTA",
    "cuda_cluster": "all threads of all CTAs of a cluster",
    "cuda_agnostic_sub_cta": "any threads of one CTA",
    "cuda_agnostic_intact_cta": "all threads of any CTAs",
    "cuda_warp_in_cluster": "a warp of one CTA, where a plain warp at the top of a cluster is one of each",
    "cuda_threads_strided": "cuda_threads_strided(4, 16): the first 4 threads of 16, and so on; N of it are N rows",
    "cuda_cta_in_cluster_strided": "cuda_cta_in_cluster_strided(2): one CTA of a cluster in rows of two; N of it are a "
    "column",
}
"""Which threads a collective of each unit has, and of each function that makes units."""


@dataclass(frozen=True, slots=True)
class Concrete:
    """A unit with numbers: those of one device function."""

    domain: tuple[int, ...]
    box: tuple[int | None, ...]

    @property
    def threads(self) -> int:
        """The threads that the domain arranges."""
        return prod(self.domain)

    @property
    def oversized(self) -> bool:
        """Whether the box sticks out of the domain, so that there is no collective of this unit at all."""
        return any(b is not None and b > d for d, b in zip(self.domain, self.box, strict=True))


def substituted(unit: CollUnit, *, block_dim: int, cluster_dim: int) -> Concrete:
    """A unit in a device function of these sizes."""
    if not is_count(block_dim) or not is_count(cluster_dim):
        raise refused(str(unit), "coll-unit-c6", f"blockDim {block_dim!r}, clusterDim {cluster_dim!r}")

    def number(size: Extent) -> int:
        value = size.at(block_dim, cluster_dim)
        if value.denominator != 1:
            given = f"{size} = {value} for blockDim {block_dim}, clusterDim {cluster_dim}"
            raise refused(str(unit), "coll-unit-c5", given)
        return value.numerator

    return Concrete(
        tuple(number(d) for d in unit.domain),
        tuple(None if b is None else number(b) for b in unit.box),
    )
