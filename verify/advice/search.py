"""
The search for conditions
=========================

Conjunctions of literals that exclude every bad point, the weakest first: those that keep the most good ones. A bad
point must be excluded by some literal, so the search takes one that is still there and branches on the literals that
exclude it; a branch that keeps no more than a known conjunction does is cut off.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import combinations

from soundline.spec.rules.terms import Term

LONGEST = 4
"""The most literals of a conjunction."""

MOST_STEPS = 20_000
"""The most branches that are examined."""

LOOKED_AT = 24
"""The number of bad points from which the one with the fewest excluding literals is taken."""


@dataclass(frozen=True, eq=False, slots=True)
class Choice:
    """A literal, the points at which it holds, and what it costs a reader."""

    literal: Term
    holds: int
    cost: tuple[int, int, int, str]


@dataclass(frozen=True, eq=False, slots=True)
class Conjunction:
    """Literals that together exclude every bad point, and the good points that they keep."""

    choices: tuple[Choice, ...]
    keeps: int
    sought: frozenset[Choice]
    """The literals as the search found them, before plainer ones took their place."""

    @property
    def literals(self) -> tuple[Term, ...]:
        """The literals."""
        return tuple(c.literal for c in self.choices)

    @property
    def order(self) -> tuple[int, int, int, int, str]:
        """A sort key: no equations, and what is known when a rule is applied, first; then weakest first; then plain."""
        costs = [c.cost for c in self.choices]
        equations, unknown, length = (sum(column) for column in list(zip(*costs, strict=True))[:3])
        more = len(self.choices) - 1
        weight = (
            self.keeps.bit_count() * 2**more * 3 ** (LONGEST - more)
        )  # each further literal must keep half more
        return equations, unknown, -weight, length, ", ".join(c.cost[3] for c in self.choices)


def useful(choices: Sequence[Choice], good: int, bad: int, *, any_exclusion: bool = False) -> list[Choice]:
    """The literals that exclude some bad point and keep some good one; of those that say the same, the plainest.

    With `any_exclusion` it is enough to exclude a good point: some bad ones are not known then.
    """
    found: dict[int, Choice] = {}
    for choice in sorted(choices, key=lambda c: c.cost):
        excluded = (good | bad) & ~choice.holds
        if choice.holds & good and excluded & (bad | (good if any_exclusion else 0)):
            found.setdefault(choice.holds & (good | bad), choice)
    return list(found.values())


def conjunctions(
    choices: Sequence[Choice], good: int, bad: int, wrong: Collection[frozenset[str]] = ()
) -> list[Conjunction]:
    """The weakest conjunctions without a bad point; of two of which one keeps all that the other does, the weaker.

    Those in `wrong`, which are literals by their texts, are known not to help, though no point shows it.
    """
    search = _Search(useful(choices, good, bad, any_exclusion=bool(wrong)), good, bad, frozenset(wrong))
    search.extend((), good | bad, bad)
    return sorted((search.plainer(c) for c in search.found), key=lambda c: c.order)


class _Search:
    def __init__(
        self, choices: Sequence[Choice], good: int, bad: int, wrong: frozenset[frozenset[str]]
    ) -> None:
        self.choices = sorted(choices, key=lambda c: (-(c.holds & good).bit_count(), c.cost))
        self.good, self.bad, self.wrong = good, bad, wrong
        self.found: list[Conjunction] = []
        self.steps = 0
        self._excluding: dict[int, list[Choice]] = {}

    def extend(self, chosen: tuple[Choice, ...], kept: int, bad: int) -> None:
        """Look at all ways to exclude the bad points that are still there."""
        self.steps += 1
        keeps = kept & self.good
        if any(keeps | c.keeps == c.keeps for c in self.found):
            return
        if not bad and not self._is_wrong(chosen):
            self._record(chosen, keeps)
            return
        if len(chosen) == LONGEST or self.steps > MOST_STEPS:
            return
        left = self._ways_out(bad) if bad else [c for c in self.choices if c not in chosen]
        ways = [c for c in left if c.holds & keeps]
        for choice in sorted(ways, key=lambda c: -(c.holds & keeps).bit_count()):
            self.extend((*chosen, choice), kept & choice.holds, bad & choice.holds)

    def _is_wrong(self, chosen: Sequence[Choice]) -> bool:
        return bool(self.wrong) and frozenset(c.cost[3] for c in chosen) in self.wrong

    def _record(self, chosen: tuple[Choice, ...], keeps: int) -> None:
        needed = list(chosen)
        for choice in chosen:  # what a later literal made superfluous
            rest = [c for c in needed if c is not choice]
            if rest and not self._all(rest) & self.bad and not self._is_wrong(rest):
                needed = rest
        keeps = self._all(needed) & self.good if needed else keeps
        self.found = [c for c in self.found if c.keeps | keeps != keeps]
        self.found.append(Conjunction(tuple(needed), keeps, frozenset(needed)))

    def plainer(self, found: Conjunction) -> Conjunction:
        """The same points, by plainer literals: one for two of them, or another in the place of one."""
        chosen = list(found.choices)
        for a, b in combinations(found.choices, 2):
            if a in chosen and b in chosen:
                rest = [c for c in chosen if c is not a and c is not b]
                chosen = self._replaced(rest, found.keeps) or chosen
        for choice in tuple(chosen):
            rest = [c for c in chosen if c is not choice]
            chosen = self._replaced(rest, found.keeps) or chosen
        if self._is_wrong(chosen):
            return found
        return Conjunction(tuple(sorted(chosen, key=lambda c: c.cost)), found.keeps, found.sought)

    def _replaced(self, rest: list[Choice], keeps: int) -> list[Choice] | None:
        """These literals and the plainest one with which they keep exactly these points."""
        same = [c for c in self.choices if self._all([*rest, c]) == keeps]
        return [*rest, min(same, key=lambda c: c.cost)] if same else None

    def _all(self, choices: Sequence[Choice]) -> int:
        held = self.good | self.bad
        for choice in choices:
            held &= choice.holds
        return held

    def _ways_out(self, bad: int) -> list[Choice]:
        """The literals that exclude one of the bad points, one for which they are few."""
        best: list[Choice] | None = None
        for place in _lowest(bad, LOOKED_AT):
            if place not in self._excluding:
                self._excluding[place] = [c for c in self.choices if not c.holds & place]
            ways = self._excluding[place]
            if best is None or len(ways) < len(best):
                best = ways
        return best or []


def _lowest(points: int, count: int) -> list[int]:
    """Some of the points, the first ones."""
    found: list[int] = []
    while points and len(found) < count:
        place = points & -points
        found.append(place)
        points ^= place
    return found
