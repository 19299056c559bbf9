"""
What lies behind a hazard
=========================

A hazard that the machine has found is looked at again, at its location alone: the run is repeated, this time with
records that say which event and which threads they are of. Then every synchronization between the two accesses is asked
why it does not order them. A fence has two sides, and so have an arrive and its await together; each side fails by its
timeline, by its threads, or because it comes too early or not at all. The synchronization with the fewest failures is
the *nearest*: the smallest change to it makes it order them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

from soundline.spec.spork.diagnosis.reports import Nearest, pair_text, threads_text
from soundline.spec.spork.machine.events import Action, Arrived, Awaited, Cell, Event, Fenced, Touch
from soundline.spec.spork.machine.transitions import Machine
from soundline.spec.spork.synchronization.barriers import Stamp, waits_apart
from soundline.spec.spork.synchronization.timelines import Pair, SyncTl
from soundline.spec.spork.synchronization.visibility import (
    FirstSide,
    Hazard,
    Kind,
    Policy,
    Record,
    Signatures,
    Thread,
    second_sets,
)

Run = Sequence[tuple[int, Event]]
"""Events with their numbers in the whole run."""

How = Literal["timeline", "threads", "time"]


@dataclass(frozen=True, slots=True)
class Failure:
    """Why one side of a synchronization does not order two accesses."""

    how: How
    text: str


@dataclass(frozen=True, slots=True)
class Crossing:
    """A synchronization between the two accesses, and what it fails by."""

    first: Event
    second: Event | None
    first_failures: tuple[Failure, ...]
    second_failures: tuple[Failure, ...]

    @property
    def cost(self) -> int:
        """How many failures there are."""
        return len(self.first_failures) + len(self.second_failures)

    def nearest(self) -> Nearest:
        """The failure as text."""
        second = None if self.second is None or self.second is self.first else self.second.place
        texts = [tuple(f.text for f in fs) for fs in (self.first_failures, self.second_failures)]
        return Nearest(self.first.place, second, *texts)


@dataclass(frozen=True, slots=True)
class Case:
    """A hazard at one location, with what the law asks of the earlier access."""

    hazards: tuple[Hazard, ...]
    """Those of the same two statements there: the first is looked at, the others have records of other threads."""
    record: Record
    """The record of the first."""
    run: Run
    """The events that concern the location, up to the later access."""
    cell: Cell
    pairs: frozenset[Pair]
    """The record has to be complete for one of these, with each of the threads."""
    writes: bool
    """Whether the earlier access is a write."""
    policy: Policy

    @property
    def blind(self) -> frozenset[Thread]:
        """The threads that do not see the record."""
        return self.hazards[0].threads

    @property
    def number(self) -> int:
        """The number of the event of the earlier access."""
        return self.record.where[0]

    @property
    def earlier(self) -> Event:
        """The event of the earlier access."""
        return next(event for number, event in self.run if number == self.number)

    @property
    def later(self) -> Event:
        """The event of the later access."""
        return self.run[-1][1]

    def gains(self, second: SyncTl, by: frozenset[Thread]) -> Signatures:
        """What a synchronization with this second side gives to the record."""
        return second_sets(second, by, self.policy)[0 if self.writes else 1]


def concerning(events: Sequence[Event], cell: Cell, last: int) -> Run:
    """The events up to one that concern a cell: those that touch it, and all that is not an action."""
    return [
        (n, e) for n, e in enumerate(events[: last + 1]) if not isinstance(e, Action) or touching(e, cell)
    ]


def touching(action: Action, cell: Cell) -> list[Touch]:
    """The touches of a cell by an action."""
    return [t for t in action.touches if any(cell in element.cells for element in t.elements)]


def replayed(run: Run, cell: Cell, policy: Policy) -> list[Hazard]:
    """The hazards of the last event of a run at one cell, or of the one at which it stops."""
    machine = Machine(policy, only=frozenset({cell}))
    found: list[Hazard] = []
    for number, event in run:
        found = machine.step(event, (number,))
        if machine.stuck:
            break
    return found


# Crossings --------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Walk:
    """The run again, for what synchronizations do to one record."""

    case: Case
    machine: Machine
    fences: list[Crossing] = field(default_factory=list)
    pending: dict[Stamp, tuple[Event, tuple[Failure, ...]]] = field(default_factory=dict)
    """Arrives since the earlier access, by stamp, with the failures of their first side."""
    arrives: dict[Stamp, Event] = field(default_factory=dict)
    """Arrives before it."""

    def record(self) -> Record | None:
        """The record as it is now; None before the access."""
        history = self.machine.storage.history(self.case.cell)
        same = (self.case.record.where, self.case.record.threads, self.case.record.origin)
        kept = history.writes if self.case.writes else history.reads
        return next((r for r in kept if (r.where, r.threads, r.origin) == same), None)

    def stamps(self, event: Arrived | Action) -> list[Stamp]:
        """The stamps that an event leaves."""
        queues = event.queues if isinstance(event, Arrived) else event.trailing
        return [Stamp(name, self.machine.queue(queues[0]).arrives) for name in queues]

    def before(self, number: int, event: Event) -> None:
        """Look at an event before it is executed."""
        record = self.record()
        match event:
            case Fenced(place, first, second) if record is not None:
                one = first_failures(record, first, place.threads)
                self.fences.append(Crossing(event, event, one, self._second(second, place.threads)))
            case Arrived():
                for stamp in self.stamps(event):
                    if record is None:
                        self.arrives[stamp] = event
                    else:
                        one = first_failures(record, event.first, event.place.threads)
                        self.pending.setdefault(stamp, (event, one))
            case Action() if number == self.case.number:
                self.pending |= dict.fromkeys(self.stamps(event), (event, ()))
            case Awaited() if record is not None:
                self._awaited(event)

    def _awaited(self, event: Awaited) -> None:
        """An await pairs with the pending arrives that it releases, else with the last one before the access."""
        bound, _ = self.machine.queue(event.queue).awaited(event.n)
        two = self._second(event.second, event.place.threads) + self._of_others(event)
        released = [s for s in self.pending if s.queue == event.queue and s.arrive < bound]
        for stamp in released:
            arrive, one = self.pending.pop(stamp)
            self.fences.append(Crossing(arrive, event, one, two))
        past = [s for s in self.arrives if s.queue == event.queue and s.arrive < bound]
        if past and not released:
            early = Failure("time", "it comes before the earlier access")
            self.fences.append(Crossing(self.arrives[max(past)], event, (early,), two))

    def _of_others(self, event: Awaited) -> tuple[Failure, ...]:
        """The threads that await, but wait for nothing from the threads that did the access (S-15)."""
        apart = waits_apart(event.type, (t.number for t in event.place.threads)).values()
        did = {t.number for t in self.case.record.threads}
        waited = frozenset[int]().union(*(share for share in apart if not share.isdisjoint(did)))
        idle = {t for t in self.case.blind & event.place.threads if t.number not in waited}
        if not idle or not waited:
            return ()
        text = f"each warp waits for its own alone, and {threads_text(idle)} did not issue the access"
        return (Failure("threads", text),)

    def _second(self, second: SyncTl, by: frozenset[Thread]) -> tuple[Failure, ...]:
        return second_failures(self.case, second, by)


def crossings(case: Case) -> Iterator[Crossing]:
    """Every synchronization between the two accesses."""
    walk = _Walk(case, Machine(case.policy, only=frozenset({case.cell})))
    for number, event in case.run[:-1]:
        walk.before(number, event)
        walk.machine.step(event, (number,))
    yield from walk.fences
    for arrive, one in walk.pending.values():
        late = Failure("time", "no await before the later access waits for it")
        yield Crossing(arrive, None, one, (late,))


def nearest(case: Case) -> Crossing | None:
    """The synchronization that almost orders the two accesses: the last statement of those with the fewest failures,
    and where that was executed several times, best once with its first side right. None where nothing is close.
    """
    close = [c for c in crossings(case) if 0 < c.cost <= 2]
    best = [c for c in close if c.cost == min(c.cost for c in close)]
    same = [c for c in best if c.first.place.path == best[-1].first.place.path]
    return min(reversed(same), key=lambda c: len(c.first_failures), default=None)


def first_failures(record: Record, first: SyncTl, by: frozenset[Thread]) -> tuple[Failure, ...]:
    """Why a first side does not concern a record."""
    if record.synchronizes(FirstSide.of(first, by)):
        return ()
    if not record.async_set:
        return (Failure("timeline", "only the trailing barrier of the earlier access waits for it"),)
    found = []
    known = [s for s in record.async_set if s.thread in by]
    if not known:
        who = threads_text({s.thread for s in record.async_set})
        found.append(Failure("threads", f"it is executed by none of {who}"))
    pairs = {Pair(s.instr, s.usage) for s in known or record.async_set}
    if pairs.isdisjoint(first.full):
        wanted = " ".join(map(pair_text, sorted(pairs)))
        found.append(Failure("timeline", f"{first} does not wait for {wanted}"))
    elif not first.transitive and record.origin not in first.full:
        found.append(
            Failure(
                "timeline",
                f"{first} is not transitive, and passes on nothing that was done on {pair_text(record.origin)}",
            )
        )
    return tuple(found)


def second_failures(case: Case, second: SyncTl, by: frozenset[Thread]) -> tuple[Failure, ...]:
    """Why a second side does not reach the later access."""
    found = []
    gained = {Pair(s.instr, s.usage) for s in case.gains(second, case.blind)}
    if gained.isdisjoint(case.pairs):
        wanted = " or ".join(map(pair_text, sorted(case.pairs)))
        found.append(Failure("timeline", f"{second} does not reach {wanted}{_only_after(case, second)}"))
    if not case.blind <= by:
        found.append(Failure("threads", f"it is not executed by {threads_text(case.blind - by)}"))
    return tuple(found)


def _only_after(case: Case, second: SyncTl) -> str:
    """A note where a timeline says that an access comes after reads, but not that it sees writes."""
    return " with what was written" if case.writes and case.pairs & second.temporal else ""


def accesses_of(kinds: Iterable[Kind]) -> str:
    """What touches do, as a verb."""
    found = set(kinds)
    if Kind.atomic in found:
        return "adds atomically to"
    if found == {Kind.read, Kind.write}:
        return "reads and writes"
    return "writes" if Kind.write in found else "reads"
