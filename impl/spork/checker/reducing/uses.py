"""
Uses
====

Which arrays of a plan need no record, because no use of them can be a hazard, whatever synchronizes. What happens at a
cell does not depend on other cells (`spec.spork.machine.transitions`), so to leave out *all* that touches the cells of
an array, in a launch or outside of launches, changes nothing for the others; and nothing is lost where no touch of the
array can be a hazard. There are these cases, each shown for all touches of an array together.

*Memory of all tasks within a launch.* The launch and its end clear all histories. The argument of a launch is therefore
about that launch alone, and the array is allocated before and freed after it.

- Nothing writes: a read asks for writes only.
- All touches are atomic adds: they ask for no other atomic adds.
- Each cell is touched by one event at most (`ranges.met_once`, `ranges.never_meet`): the touches of an action are all
  checked before any is recorded, so its history is empty when it is asked.

*Memory outside of launches.* Its touches are those of one thread of the CPU, that which allocated it, in order: each
record is in V_S with the pair CPU and the thread, and all that asks is this pair and thread, the end of the array
included.

*Registers* in order. All touches of a shard, the record with which its life may begin, and the check at its end use the
same pair, and none is out of order or has trailing barriers. Each access is convergent by a collective that contains
the owner, or by the owner where that is one thread: its record has pair × owner in V_S from the beginning. Only threads
of the owner ask. So all is seen. Registers lie in a space of their own, and are alive in the block that they are
allocated in, where alone their name is known.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from soundline.impl.spork.checker.planning.plan import Action, Alloc, Array, Plan, Region, Threads, Touch, Var
from soundline.impl.spork.checker.planning.terms import Sum, as_sum
from soundline.impl.spork.checker.reducing.ranges import Around, Spread, met_once, never_meet, spread, walked
from soundline.spec.spork.synchronization.timelines import CPU
from soundline.spec.spork.synchronization.visibility import Kind

MOST_SITES = 200
"""Of more uses in a launch it is not asked whether they meet."""

Site = tuple[int, Action, Touch, Region, Around]
"""The first number tells events apart that are in different places of the plan."""


@dataclass(slots=True)
class Uses:
    """What needs no record."""

    everywhere: set[int] = field(default_factory=set)
    """Arrays of which nothing is kept, nor their life."""
    on_cpu: set[int] = field(default_factory=set)
    """Those whose touches outside of launches are left out."""
    in_launch: set[tuple[int, int]] = field(default_factory=set)
    """Launches (by `Around.launch`), and arrays whose touches are left out in them."""

    def needed(self, touch_array: int, launch: int | None) -> bool:
        """Whether a touch of an array is to be recorded."""
        if touch_array in self.everywhere:
            return False
        return (
            touch_array not in self.on_cpu if launch is None else (launch, touch_array) not in self.in_launch
        )


def uses(plan: Plan) -> Uses:
    """Which arrays need no record, and where."""
    sites: dict[tuple[int, int | None], list[Site]] = {}
    born: dict[int, Around] = {}
    for place, (node, around) in enumerate(walked(plan.root, Around())):
        match node:
            case Alloc(array=number):
                born[number] = around
            case Action(touches=touches):
                for touch in touches:
                    for region in touch.regions:
                        if region.elements:
                            key = region.array, around.launch
                            sites.setdefault(key, []).append((place, node, touch, region, around))
    found = Uses()
    kept: set[int] = set()
    for (number, launch), own in sites.items():
        array = plan.arrays[number]
        if launch is not None and array.memory.space == "registers":
            owners = _Owners.of(array)
            needed = owners is None or not all(_in_order(array, owners, site) for site in own)
        elif launch is None:
            needed = not all(_on_cpu(site, born[number]) for site in own)
        elif array.memory.space in {"host", "global"} and born[number].launch is None:
            needed = not _apart(own)
        else:
            needed = True
        if needed:
            kept.add(number)
        elif launch is None:
            found.on_cpu.add(number)
        else:
            found.in_launch.add((launch, number))
    spaces = {"host", "global", "registers"}
    found.everywhere = {
        number
        for number in born
        if number not in kept and plan.arrays[number].memory.space in spaces and _ends(plan.arrays[number])
    }
    return found


def _ends(array: Array) -> bool:
    """Whether the record with which its life begins is seen at its end."""
    return array.left is None or array.left == array.freeing


def _on_cpu(site: Site, born: Around) -> bool:
    _, action, touch, _, around = site
    own = touch.by is None and touch.seen_by is None and action.place.threads is None
    in_order = touch.pair == CPU and not touch.out_of_order and not action.trailing
    return own and in_order and around.par == born.par and born.launch is None


# Memory of all tasks ----------------------------------------------------------------------------------------------


def _apart(sites: list[Site]) -> bool:
    """Whether no touch of an array in a launch can be a hazard."""
    kinds = {touch.kind for _, _, touch, _, _ in sites}
    if kinds == {Kind.read} or kinds == {Kind.atomic}:
        return True
    if len(sites) > MOST_SITES:
        return False
    spreads: list[Spread] = []
    seen: set[tuple[int, Spread]] = set()
    for place, _, _, region, around in sites:
        found = spread(region, around)
        if found is None or not met_once(found):
            return False
        if (place, found) not in seen:  # else it is another touch of the same event
            seen.add((place, found))
            spreads.append(found)
    return all(never_meet(x, y) for k, x in enumerate(spreads) for y in spreads[:k])


# Registers --------------------------------------------------------------------------------------------------------


def _in_order(array: Array, owners: _Owners, site: Site) -> bool:
    """Whether a touch makes records that its owner sees, and asks for nothing but what its owner sees."""
    _, action, touch, region, around = site
    if touch.pair != array.freeing or not _ends(array) or touch.out_of_order or action.trailing:
        return False
    by = touch.by or action.place.threads
    seers = touch.seen_by or by
    if by is None or seers is None:
        return False
    owned = _Owned.of(array, owners, region, around)
    if owned is None:
        return False
    inner = owned.relative(seers)
    outer = owned.relative(by)
    if inner is None or outer is None or not _covers(owned.owners.pattern, inner):
        return False
    if touch.convergent:
        return _covers(outer, owned.owners.pattern)
    return outer == owned.owners.pattern and sum(b - a for a, b in outer) == 1


Intervals = tuple[tuple[int, int], ...]


def _covers(outer: Intervals, inner: Intervals) -> bool:
    """Whether intervals, not adjacent, contain others."""
    return all(any(a <= low and high <= b for a, b in outer) for low, high in inner)


@dataclass(frozen=True, slots=True)
class _Owners:
    """The owners of the shards of an array: the same threads, from another first one on."""

    pattern: Intervals
    """From 0 on."""
    around: Sum
    """Where the first one is, as far as no shard says it."""
    firsts: np.ndarray
    """For each shard where it is from there."""
    pitch: int | None
    """By how much that grows from shard to shard, where it does so evenly."""

    @staticmethod
    def of(array: Array) -> _Owners | None:
        """Those of an array; None where they differ by more than a shift by a number."""
        pattern: Intervals | None = None
        around: Sum | None = None
        firsts = []
        for owner in array.owners:
            if owner is None or not owner.intervals:
                return None
            shift, first = as_sum(owner.shift), owner.intervals[0][0]
            own = tuple((a - first, b - first) for a, b in owner.intervals)
            rest = Sum(0, shift.parts)
            if (pattern is not None and own != pattern) or (around is not None and rest != around):
                return None
            pattern, around = own, rest
            firsts.append(first + shift.number)
        if pattern is None or around is None:
            return None
        steps = {b - a for a, b in pairwise(firsts)} or {0}
        return _Owners(pattern, around, np.array(firsts), steps.pop() if len(steps) == 1 else None)


@dataclass(frozen=True, slots=True)
class _Owned:
    """The shard that a region is in: a number and multiples of iterators, with their intervals."""

    owners: _Owners
    number: int
    parts: tuple[tuple[Var, int, int, int], ...]

    @staticmethod
    def of(array: Array, owners: _Owners, region: Region, around: Around) -> _Owned | None:
        """That of a region, where it is shown to lie in one shard in each iteration."""
        parted = _parted(array, region, around)
        if parted is None:
            return None
        number, parts = parted
        low = number + sum(min(factor * a, factor * b) for _, factor, a, b in parts)
        high = number + sum(max(factor * a, factor * b) for _, factor, a, b in parts)
        if low < 0 or high >= len(owners.firsts):
            return None
        return _Owned(owners, number, tuple(parts))

    def relative(self, threads: Threads) -> Intervals | None:
        """Threads from the first one of the owner on, where that is the same in all iterations."""
        place = self._even(threads) if self.owners.pitch is not None else self._uneven(threads)
        return None if place is None else tuple((a + place, b + place) for a, b in threads.intervals)

    def _even(self, threads: Threads) -> int | None:
        pitch, first = self.owners.pitch, int(self.owners.firsts[0])
        assert pitch is not None
        owner = Sum(first + pitch * self.number, {var: pitch * factor for var, factor, _, _ in self.parts})
        rest = as_sum(threads.shift).plus(self.owners.around, -1).plus(owner, -1)
        return None if rest.parts else rest.number

    def _uneven(self, threads: Threads) -> int | None:
        """By all choices of the iterators."""
        shift = as_sum(threads.shift).plus(self.owners.around, -1)
        shard, place = np.array(self.number), np.array(shift.number)
        for k, (var, factor, low, high) in enumerate(self.parts):
            own = np.arange(low, high + 1).reshape([-1 if i == k else 1 for i in range(len(self.parts))])
            shard = shard + factor * own
            place = place + shift.parts.get(var, 0) * own
        if not {var for var, *_ in self.parts}.issuperset(shift.parts):
            return None
        places = place - self.owners.firsts[shard]
        return int(places.min()) if places.min() == places.max() else None


def _parted(
    array: Array, region: Region, around: Around
) -> tuple[int, list[tuple[Var, int, int, int]]] | None:
    """Which shard a region is in: a number and multiples of iterators. What is left of its place has to stay inside."""
    length = array.elements // len(array.owners)
    if not length:
        return None
    found = as_sum(region.first)
    number, low = divmod(found.number, length)
    high = low
    parts = []
    for part, factor in found.parts.items():
        times, rest = divmod(factor, length)
        bounds = around.known.interval(part)
        if bounds is None:
            return None
        if times:
            if not isinstance(part, Var):
                return None
            parts.append((part, times, *bounds))
        low, high = low + rest * bounds[0], high + rest * bounds[1]
    for size, stride in region.dims:
        low, high = low + min(0, stride * (size - 1)), high + max(0, stride * (size - 1))
    if low < 0 or high >= length or int(np.prod([b - a + 1 for *_, a, b in parts], initial=1)) > 1 << 16:
        return None
    return number, parts
