"""
Collectives of a plan
=====================

The threads that execute a statement and those that own an element: in each iteration the same set of threads, moved by
the pitches of the iterators (`spec.spork.threads.tilings.threads`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import product

from soundline.impl.spork.checker.planning.plan import Term, Threads
from soundline.impl.spork.checker.planning.terms import applied, total, variables
from soundline.spec.ops.node import Op
from soundline.spec.spork.machine.addresses import native_collective
from soundline.spec.spork.threads.distributed_memory import Deduction
from soundline.spec.spork.threads.tilings import Tiling, threads
from soundline.spec.spork.threads.units import CollUnit

Intervals = tuple[tuple[int, int], ...]
Origin = Threads | tuple[CollUnit, Tiling, Deduction, tuple[Term, ...]] | None
"""What says who owns an element: one collective for all, or the shard that the leading indices choose."""


def intervals(numbers: Iterable[int]) -> Intervals:
    """Numbers as disjoint intervals."""
    found: list[tuple[int, int]] = []
    for n in sorted(numbers):
        if found and found[-1][1] == n:
            found[-1] = found[-1][0], n + 1
        else:
            found.append((n, n + 1))
    return tuple(found)


def collective(tiling: Tiling, values: Sequence[Term]) -> Threads:
    """The threads that run where the iterators have these values."""
    shift = total(*(applied(Op.Mul, v, i.pitch) for i, v in zip(tiling.iterators, values, strict=True)))
    return _moved(_first(tiling), shift)


def _moved(found: Intervals, shift: Term) -> Threads:
    if isinstance(shift, int):
        return Threads(tuple((lo + shift, hi + shift) for lo, hi in found))
    return Threads(found, shift)


@lru_cache(maxsize=4096)
def _first(tiling: Tiling) -> Intervals:
    return intervals(threads(tiling, [0] * len(tiling.iterators)))


@lru_cache(maxsize=65536)
def _native(unit: CollUnit, thread: int, block_dim: int, cluster_dim: int) -> Intervals:
    return intervals(native_collective(unit, thread, block_dim, cluster_dim))


def native_owner(
    unit: CollUnit,
    tiling: Tiling,
    thread: int,
    values: Sequence[Term],
    more: Sequence[tuple[int, int, Term]] = (),
) -> Threads:
    """The native collective of a thread that moves with the iterators: by the pitches of the loops around, and by
    further ones, each with how many values there are and the term.

    Raises `Uneven` where it does not move as the thread does.
    """
    ways = [(i.pitch, i.count, v) for i, v in zip(tiling.iterators, values, strict=True)] + list(more)
    fixed = thread + sum(pitch * v for pitch, _, v in ways if isinstance(v, int))
    moving = [(pitch, count, v) for pitch, count, v in ways if not isinstance(v, int)]
    sizes = tiling.block_dim, tiling.cluster_dim
    first = _native(unit, fixed, *sizes)
    for steps in _sample([count for _, count, _ in moving]):
        by = sum(pitch * step for (pitch, _, _), step in zip(moving, steps, strict=True))
        if fixed + by < tiling.block_dim * tiling.cluster_dim and _native(unit, fixed + by, *sizes) != tuple(
            (lo + by, hi + by) for lo, hi in first
        ):
            raise Uneven({v.number for _, _, term in moving for v in variables(term)})
    return _moved(first, total(*(applied(Op.Mul, v, pitch) for pitch, _, v in moving)))


class Uneven(Exception):
    """A collective does not move as its first thread does."""

    def __init__(self, iterators: set[int]) -> None:
        super().__init__(iterators)
        self.iterators = iterators


def _sample(counts: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Values at which a collective shows whether it moves evenly: every one of each iterator alone, as its boxes are
    aligned in each dimension by itself, and all of the last.
    """
    for k, count in enumerate(counts):
        for value in range(1, count):
            yield tuple(value if j == k else 0 for j in range(len(counts)))
    yield from product(*((count - 1,) if count else (0,) for count in counts))


def part(owner: Threads, number: int, size: int) -> Threads:
    """Those of a collective that come at a place when it is divided into parts of one size."""
    numbers = [n for lo, hi in owner.intervals for n in range(lo, hi)]
    return Threads(intervals(numbers[number * size : (number + 1) * size]), owner.shift)


def owner_of(origin: Origin, shape: Sequence[int], at: Sequence[Term]) -> Threads | None:
    """Who owns an element: the collective of the shard that its leading indices choose."""
    if origin is None or isinstance(origin, Threads):
        return origin
    unit, tiling, found, values = origin
    own = len(found.distributed)
    more = [(pitch, n, i) for pitch, n, i in zip(found.pitches, shape[:own], at[:own], strict=True)]
    return native_owner(unit, tiling, found.first, values, more)
