"""
Storage of the machine
======================

The memory of the abstract machine: for each location its history (`visibility`), and whether it is allocated.

*Lifetimes* (S-06). Storage is used between its allocation and its end. It ends by being freed by the collective that
allocated it, which has to see all accesses, as if it wrote. Histories belong to bytes, not to names: they stay when
storage is freed, so whoever uses the bytes again has to see what was done with them before. A location is therefore
independent of names: a space and an address in it.

*Launch and end* (S-12). The launch of a device function and its end order all timelines of CPU and device, and complete
everything: each record would gain every signature. Such a record is seen by all from then on. So it is left out, and
all histories are empty.

A synchronization concerns the records of all locations.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field

from soundline.spec.spork.synchronization.barriers import QueueId, Stamp
from soundline.spec.spork.synchronization.timelines import IO_RAM, Pair, SyncTl, sync_tl
from soundline.spec.spork.synchronization.visibility import (
    Access,
    FirstSide,
    Hazard,
    History,
    Kind,
    Policy,
    Record,
    Signatures,
    Thread,
    Where,
    second_sets,
)

Location = Hashable
Threads = frozenset[Thread]
NOTHING = sync_tl("empty")
"""The second side of what gives nothing yet: an arrive."""


@dataclass(slots=True)
class Locations:
    """The locations of a program while it runs."""

    policy: Policy = Policy.temporal
    owners: dict[Location, Threads] = field(default_factory=dict)
    """What is allocated, and by whom."""
    freed: set[Location] = field(default_factory=set)
    """What was freed at least once; it may be allocated again."""
    histories: dict[Location, History] = field(default_factory=dict)

    def allocate(self, locations: Iterable[Location], by: Threads, where: Where = ()) -> list[Hazard]:
        """Begin the life of some locations; their histories are what they were."""
        found = []
        for location in locations:
            if location in self.owners:
                found.append(Hazard("mach-alloc-live", location, where, threads=by))
            self.owners[location] = by
        return found

    def check(self, locations: Iterable[Location], access: Access) -> list[Hazard]:
        """The hazards of an access. Equal histories are asked once."""
        found = []
        places = tuple(dict.fromkeys(locations))
        asked = {h: h.unseen(access) for h in {self.history(place) for place in places}}
        for location in places:
            if location not in self.owners:
                rule = "mach-use-after-free" if location in self.freed else "mach-use-before-alloc"
                found.append(Hazard(rule, location, access.where, threads=access.threads))
            unseen = asked[self.history(location)]
            found += [Hazard(u.rule, location, access.where, u.record, u.threads) for u in unseen]
        return found

    def record(self, locations: Iterable[Location], access: Access) -> None:
        """The access is done: the histories have it. Equal histories are changed once."""
        places = tuple(dict.fromkeys(locations))
        after = {h: h.after(access) for h in {self.history(place) for place in places}}
        for location in places:
            self.histories[location] = after[self.history(location)]

    def access(self, locations: Iterable[Location], access: Access) -> list[Hazard]:
        """An access that is all there is of its action: its hazards, and then it is done."""
        places = tuple(locations)
        found = self.check(places, access)
        self.record(places, access)
        return found

    def free(
        self, locations: Iterable[Location], by: Threads, where: Where = (), *, pair: Pair = IO_RAM
    ) -> list[Hazard]:
        """End the life of some locations: a write check, in order, by their owner. `pair` is how the owner writes."""
        found = []
        places = tuple(locations)
        check = Access(Kind.write, pair, by, where=where)
        asked = {h: h.unseen(check) for h in {self.history(place) for place in places}}
        rules = {"mach-write-waw": "mach-free-write", "mach-write-war": "mach-free-read"}
        for location in places:
            if location not in self.owners:
                found.append(Hazard("mach-free-dead", location, where, threads=by))
                continue
            if self.owners.pop(location) != by:
                found.append(Hazard("mach-free-owner", location, where, threads=by))
            self.freed.add(location)
            unseen = asked[self.history(location)]
            found += [Hazard(rules[u.rule], location, where, u.record, u.threads) for u in unseen]
        return found

    def history(self, location: Location) -> History:
        """The history of a location."""
        return self.histories.get(location, History())

    # Synchronization ----------------------------------------------------------------------------------------------

    def fence(self, first: SyncTl, second: SyncTl, by: Threads) -> None:
        """Execute a fence: the records that synchronize with it gain its second set."""
        side = FirstSide.of(first, by)
        self._change(lambda r, gain: r.gaining(gain) if r.synchronizes(side) else r, second, by)

    def arrive(self, first: SyncTl, by: Threads, stamps: frozenset[Stamp]) -> None:
        """Execute an arrive: the records that synchronize with it get these stamps."""
        side = FirstSide.of(first, by)
        self._change(lambda r, _: r.stamped(stamps) if r.synchronizes(side) else r)

    def release(
        self, queue: QueueId, bound: int, second: SyncTl, by: Threads, warp: int | None = None
    ) -> None:
        """Execute an await: the records with stamps of its queue below the bound gain its second set. `warp` is which
        one awaits, where warps wait apart.
        """
        self._change(lambda r, gain: r.gaining(gain) if r.released(queue, bound, warp) else r, second, by)

    def order_everything(self) -> None:
        """The launch of a device function, or its end."""
        self.histories.clear()

    def _change(
        self,
        change: Callable[[Record, Signatures], Record],
        second: SyncTl = NOTHING,
        by: Threads = frozenset(),
    ) -> None:
        """Change all records by a function of the record and of what it may gain; equal records are changed once."""
        to_writes, to_reads = second_sets(second, by, self.policy)
        distinct = set(self.histories.values())
        writes = {r: change(r, to_writes) for r in {r for h in distinct for r in h.writes}}
        reads = {r: change(r, to_reads) for r in {r for h in distinct for r in h.reads}}
        changed = {
            h: History(frozenset(writes[r] for r in h.writes), frozenset(reads[r] for r in h.reads))
            for h in distinct
        }
        self.histories = {location: changed[h] for location, h in self.histories.items()}
