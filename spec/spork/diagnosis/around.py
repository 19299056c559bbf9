"""
Events around a hazard
======================

What a picture of a hazard is made of: the two accesses, and every synchronization between them that has to do with
them, in the order of the run. It is one that changes what is known of the earlier access, or one that a thread of the
two accesses takes part in. Each event says what is known of the earlier access after it, and each await for which
arrive it waits: that arrive is there even if it came before the earlier access.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from soundline.spec.errors import SynchronizationError
from soundline.spec.spork.diagnosis.causes import Case, Run, accesses_of, touching
from soundline.spec.spork.diagnosis.reports import Around, Deed, queue_text
from soundline.spec.spork.machine.events import (
    Action,
    Allocated,
    Arrived,
    Awaited,
    BarrierAllocated,
    BarrierFreed,
    Cell,
    Ended,
    Event,
    Fenced,
    Forked,
    Freed,
    Joined,
    Launched,
)
from soundline.spec.spork.machine.transitions import Machine, freeing_pair
from soundline.spec.spork.synchronization.barriers import QueueId, Stamp
from soundline.spec.spork.synchronization.visibility import Record, Thread

MOST: Final = 48
"""How many events are kept at most: as many of the first as of the last."""

Synchronization = Fenced | Arrived | Awaited | Forked | Joined | Launched | Ended


# What events do ---------------------------------------------------------------------------------------------------


def deed(event: Event, cell: Cell) -> Deed:
    """What an event does to a cell."""
    if isinstance(event, Action):
        touches = touching(event, cell)
        element = next(e for e in touches[-1].elements if cell in e.cells)
        verb = accesses_of(t.kind for t in touches)
        return Deed(event.place, verb, str(element), touches[-1].threads(event.place), touches[-1].pair)
    assert isinstance(event, Allocated | Freed)
    element = next(e for e in event.buffer.elements if cell in e.cells)
    pair = freeing_pair(event.buffer) if isinstance(event, Freed) else None
    verb = "allocates" if isinstance(event, Allocated) else "frees"
    return Deed(event.place, verb, str(element), event.buffer.owner, pair)


def synchronizes(event: Event) -> Deed:
    """What an event does that is no access to a cell."""
    match event:
        case Fenced(_, first, second):
            verb, target = "fences", f"{first} before {second}"
        case Arrived(_, _, queues):
            verb, target = "arrives at", ", ".join(map(queue_text, dict.fromkeys(queues)))
        case Awaited(_, queue):
            verb, target = "awaits", queue_text(queue)
        case Action():
            verb, target = "arrives at", ", ".join(map(queue_text, dict.fromkeys(event.trailing)))
        case Forked(_, children):
            verb, target = "starts", f"{len(children)} threads"
        case Joined(_, children):
            verb, target = "joins", f"{len(children)} threads"
        case BarrierAllocated(name=name):
            verb, target = "allocates", name
        case BarrierFreed(name=name):
            verb, target = "ends", name
        case Launched():
            verb, target = "begins", "a launch"
        case _:
            verb, target = "ends", "a launch"
    return Deed(event.place, verb, target, event.place.threads)


def _touches(event: Event, cell: Cell) -> bool:
    match event:
        case Action():
            return bool(touching(event, cell))
        case Allocated(_, buffer) | Freed(_, buffer):
            return any(cell in element.cells for element in buffer.elements)
    return False


def _arrived_at(event: Event) -> tuple[QueueId, ...]:
    """The queues at which records get a stamp, the home first."""
    return event.queues if isinstance(event, Arrived) else event.trailing if isinstance(event, Action) else ()


# Around hazards ---------------------------------------------------------------------------------------------------


def around(case: Case) -> tuple[Around, ...]:
    """The events around a hazard of two accesses."""
    concerned = case.earlier.place.threads | case.later.place.threads | case.blind
    walk = _Walk(Machine(case.policy, only=frozenset({case.cell})))
    before: Record | None = None
    for number, event in case.run:
        walk.look(number, event)
        if event is not case.later:
            walk.machine.step(event, (number,))
        record = _record(case, walk.machine)
        own = event is case.later or number == case.number
        if own or (record is not None and (record != before or _takes_part(event, concerned))):
            walk.kept[number] = record
        before = record
    roles = {case.number: "earlier", case.run[-1][0]: "later"}
    return walk.around(case.cell, roles)


def around_cell(run: Run, cell: Cell) -> tuple[Around, ...]:
    """The events that use a cell, up to one for which no earlier access is to blame."""
    walk = _Walk(Machine(only=frozenset()))
    for number, event in run:
        if _touches(event, cell):
            walk.look(number, event)
            walk.kept[number] = None
    return walk.around(cell, {run[-1][0]: "later"})


def around_queue(run: Run, queue: QueueId) -> tuple[Around, ...]:
    """The events at a queue, up to one at which its counters are wrong."""
    walk = _Walk(Machine(only=frozenset()))
    for number, event in run:
        walk.look(number, event)
        if queue in _arrived_at(event) or (isinstance(event, Awaited) and event.queue == queue):
            walk.kept[number] = None
        if event is not run[-1][1] and isinstance(event, Arrived | Awaited):
            walk.machine.step(event, (number,))
    walk.kept[run[-1][0]] = None
    return walk.around(None, {run[-1][0]: "later"})


def _record(case: Case, machine: Machine) -> Record | None:
    """The record of the earlier access as it is now; None before it."""
    history = machine.storage.history(case.cell)
    same = (case.record.where, case.record.threads, case.record.origin)
    kept = history.writes if case.writes else history.reads
    return next((r for r in kept if (r.where, r.threads, r.origin) == same), None)


def _takes_part(event: Event, concerned: frozenset[Thread]) -> bool:
    """Whether an event might order accesses of these threads; other accesses order nothing."""
    return isinstance(event, Synchronization) and not concerned.isdisjoint(event.place.threads)


@dataclass(slots=True)
class _Walk:
    """The run again: which events are kept, and which await waits for which arrive."""

    machine: Machine
    events: dict[int, Event] = field(default_factory=dict)
    """Those that are kept or may have to be."""
    kept: dict[int, Record | None] = field(default_factory=dict)
    """What is known of the earlier access after an event, by the number of the event."""
    arrives: dict[Stamp, int] = field(default_factory=dict)
    """The last event that left a stamp: the arrive that counts, after the instructions with trailing barriers."""
    waits: dict[int, int] = field(default_factory=dict)
    """For an await, the last arrive that it releases."""

    def look(self, number: int, event: Event) -> None:
        """Note an event, before the machine executes it."""
        self.events[number] = event
        queues = _arrived_at(event)
        for name in queues:
            self.arrives[Stamp(name, self.machine.queue(queues[0]).arrives)] = number
        if isinstance(event, Awaited):
            try:
                bound, _ = self.machine.queue(event.queue).awaited(event.n)
            except SynchronizationError:
                return
            arrive = self.arrives.get(Stamp(event.queue, bound - 1))
            if arrive is not None:
                self.waits[number] = arrive

    def around(self, cell: Cell | None, roles: Mapping[int, str]) -> tuple[Around, ...]:
        """What is kept, with the arrives that are waited for."""
        chosen = _shortened(sorted(self.kept))
        waits = {n: self.waits[n] for n in chosen if n in self.waits}
        found, last = [], 0
        position = {n: at for at, n in enumerate(sorted({*self.kept, *waits.values()}))}
        for number in sorted({*chosen, *waits.values()}):
            event, record = self.events[number], self.kept.get(number)
            did = deed(event, cell) if cell is not None and _touches(event, cell) else synchronizes(event)
            found.append(
                Around(
                    number=number,
                    deed=did,
                    role=roles.get(number, ""),
                    waits_for=waits.get(number),
                    skipped=position[number] - last,
                    async_set=record.async_set if record is not None else frozenset(),
                    sync_set=record.sync_set if record is not None else frozenset(),
                )
            )
            last = position[number] + 1
        return tuple(found)


def _shortened(numbers: list[int]) -> list[int]:
    """The first and the last of many."""
    half = MOST // 2
    return numbers if len(numbers) <= MOST else [*numbers[:half], *numbers[-half:]]
