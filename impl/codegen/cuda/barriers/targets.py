"""
CTAs of a cluster
=================

Which CTAs an arrive, or the data of a copy, reaches. The rank of a CTA is the sum of what the iterators over CTAs add
to it: an iterator whose neighbours are `step` CTAs apart adds `step` times its value. A colon takes an iterator out of
that sum, and puts all its values in.

>>> row = Targets((("m", 2),), frozenset({0, 1}))
>>> sorted(row.ranks({"m": 1, "n": 0})), bin(row.mask)
([2, 3], '0b11')
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import product

from soundline.spec.spork.threads.tilings import ThreadIterator, Tiling

OWN = frozenset({0})
"""The offsets of a single CTA."""


@dataclass(frozen=True, slots=True)
class Targets:
    """CTAs of a cluster."""

    fixed: tuple[tuple[str, int], ...]
    """Iterators, sorted, and how many CTAs two neighbours are apart."""
    offsets: frozenset[int] = OWN
    """What is added to their sum: one number for each CTA."""

    @property
    def mask(self) -> int:
        """The offsets as bits."""
        return sum(1 << offset for offset in self.offsets)

    @property
    def is_one(self) -> bool:
        """Whether it is one CTA."""
        return len(self.offsets) == 1

    def ranks(self, values: Mapping[str, int]) -> frozenset[int]:
        """The ranks of the CTAs, where the iterators have these values."""
        first = sum(step * values[name] for name, step in self.fixed)
        return frozenset(first + offset for offset in self.offsets)

    def without(self, iterator: str, count: int) -> Targets:
        """The same for every value of an iterator."""
        step = dict(self.fixed)[iterator]
        offsets = frozenset(o + step * k for o in self.offsets for k in range(count))
        return Targets(tuple(i for i in self.fixed if i[0] != iterator), offsets)


def over_ctas(tiling: Tiling) -> dict[str, ThreadIterator]:
    """The iterators that count CTAs; what has one iteration tells nothing apart."""
    return {i.name: i for i in tiling.iterators if i.count > 1 and i.pitch % tiling.block_dim == 0}


def own_cta(tiling: Tiling, iterators: Iterable[str] | None = None) -> Targets:
    """The CTA of those who execute a statement, by all iterators over CTAs or by some."""
    found = over_ctas(tiling)
    chosen = found if iterators is None else [name for name in iterators if name in found]
    return Targets(tuple(sorted((name, found[name].pitch // tiling.block_dim) for name in chosen)))


def covered(targets: Targets, by: Iterable[Targets], tiling: Tiling) -> bool:
    """Whether these CTAs are among others, whatever the values of the iterators are."""
    ctas = list(over_ctas(tiling).values())
    others = tuple(by)
    for values in product(*(range(i.count) for i in ctas)):
        at = dict(zip((i.name for i in ctas), values, strict=True))
        if not targets.ranks(at) <= frozenset[int]().union(*(other.ranks(at) for other in others)):
            return False
    return True


def largest(targets: Iterable[Targets]) -> tuple[Targets, ...]:
    """Of CTAs that were named several times, those that are not among others: ``bar[c]`` adds nothing to ``bar[:]``."""
    every = tuple(dict.fromkeys(targets))
    return tuple(t for t in every if not any(t != other and _within(t, other) for other in every))


def _within(one: Targets, other: Targets) -> bool:
    """Whether one has the iterators of the other and more, each of which only picks a value that a colon has too."""
    return set(other.fixed) < set(one.fixed) and one.offsets <= other.offsets
