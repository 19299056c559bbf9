"""
How records grow
================

What the abstract machine knows of one location while a program runs: for each statement that concerns it the records
after the statement, what they gained by it, what an access asked of them, and the hazards. The law's own machine runs;
this module only records its steps, so that they can be drawn (`impl.inspect.machine`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from soundline.spec.spork.machine.events import (
    Action,
    Allocated,
    Arrived,
    Awaited,
    Cell,
    Event,
    Fenced,
    Freed,
    Place,
)
from soundline.spec.spork.machine.transitions import Machine, freeing_pair
from soundline.spec.spork.synchronization.barriers import Stamp
from soundline.spec.spork.synchronization.timelines import LEGAL_PAIRS, Pair
from soundline.spec.spork.synchronization.visibility import (
    Hazard,
    History,
    Policy,
    Record,
    Signature,
    Signatures,
    Thread,
)

Age = Literal["old", "new", "gone"]
Threads = frozenset[Thread]


@dataclass(frozen=True, slots=True)
class Line:
    """A record as it stands after a statement."""

    kind: Literal["read", "write"]
    age: Age
    """Whether it was there before, whether it is the statement's own, or whether the statement took its place."""
    origin: Pair
    threads: Threads
    async_set: Signatures
    sync_set: Signatures
    gained: Signatures
    """What V_S has now and had not before."""
    stamps: frozenset[Stamp]
    asked: frozenset[tuple[Signature, bool]]
    """The signatures that the access needed in V_S, and whether they were there."""


@dataclass(frozen=True, slots=True)
class Row:
    """A statement that concerns the location."""

    event: Event
    lines: tuple[Line, ...]
    hazards: tuple[Hazard, ...]

    @property
    def place(self) -> Place:
        """Where and when the statement ran."""
        return self.event.place


@dataclass(frozen=True, slots=True)
class Growth:
    """The records of a location, statement by statement."""

    rows: tuple[Row, ...]
    groups: tuple[Threads, ...]
    """The threads, as groups of which every row says the same."""
    pairs: tuple[Pair, ...]
    """The pairs that occur."""


def growth(events: Iterable[Event], element: str, policy: Policy = Policy.temporal) -> Growth:
    """What happens at an element, named as in messages: ``s[3]``. It has one cell, and is allocated once."""
    run = list(events)
    cell = _cell(run, element)
    users = {t for e in run if _touches(e, cell) for t in e.place.threads}
    machine = Machine(policy, only=frozenset({cell}))
    rows = []
    for number, event in enumerate(run):
        before = machine.storage.history(cell)
        hazards = machine.step(event, (number,))
        if _touches(event, cell) or (_synchronizes(event) and not users.isdisjoint(event.place.threads)):
            after = machine.storage.history(cell)
            rows.append(Row(event, _lines(event, cell, (before, after)), _at_cell(hazards)))
        if machine.stuck:
            break
    return Growth(tuple(rows), _groups(rows), _pairs(rows))


def _cell(events: Sequence[Event], element: str) -> Cell:
    for event in events:
        if isinstance(event, Allocated):
            for found in event.buffer.elements:
                if str(found) == element:
                    return found.cells[0]
    raise ValueError(f"no element is called {element}")


def _touches(event: Event, cell: Cell) -> bool:
    match event:
        case Action(_, touches):
            return any(cell in element.cells for touch in touches for element in touch.elements)
        case Allocated(_, buffer) | Freed(_, buffer):
            return any(cell in element.cells for element in buffer.elements)
    return False


def _synchronizes(event: Event) -> bool:
    return isinstance(event, Fenced | Arrived | Awaited)


def _at_cell(hazards: Iterable[Hazard]) -> tuple[Hazard, ...]:
    """One hazard for each id and record."""
    return tuple({(h.id, h.record): h for h in hazards}.values())


# Records ----------------------------------------------------------------------------------------------------------


def _lines(event: Event, cell: Cell, histories: tuple[History, History]) -> tuple[Line, ...]:
    before, after = (dict(_identified(h)) for h in histories)
    found = [_line(event, cell, key, record, after.get(key)) for key, record in before.items()]
    found += [_line(event, cell, key, None, record) for key, record in after.items() if key not in before]
    return _merged(found)


Key = tuple[str, tuple[int, ...], Pair, tuple[Thread, ...]]


def _identified(history: History) -> Iterable[tuple[Key, Record]]:
    """The records by what stays the same while they grow, in the order of their accesses."""
    named = [("write", r) for r in history.writes] + [("read", r) for r in history.reads]
    keyed = [((kind, r.where, r.origin, tuple(sorted(r.threads))), r) for kind, r in named]
    return sorted(keyed, key=lambda pair: (pair[0][1], pair[0][0], pair[0][3]))


def _line(event: Event, cell: Cell, key: Key, before: Record | None, after: Record | None) -> Line:
    record = after or before
    assert record is not None
    age: Age = "new" if before is None else "gone" if after is None else "old"
    return Line(
        "write" if key[0] == "write" else "read",
        age,
        record.origin,
        record.threads,
        record.async_set,
        record.sync_set,
        record.sync_set - (before.sync_set if before else frozenset()),
        record.stamps - (before.stamps if before and age != "new" else frozenset()),
        frozenset() if before is None else _asked(event, cell, key[0], before),
    )


def _asked(event: Event, cell: Cell, kind: str, record: Record) -> frozenset[tuple[Signature, bool]]:
    """What an access, or the end of the storage, has to find in V_S of a record."""
    found = set()
    for pairs, writes, threads in _accesses(event, cell):
        if kind == "read" and not writes:
            continue
        for thread in threads:
            seen = [p for p in pairs if Signature(*p, thread) in record.sync_set]
            found.add((Signature(*(seen or pairs)[0], thread), bool(seen)))
    return frozenset(found)


def _accesses(event: Event, cell: Cell) -> Iterable[tuple[list[Pair], bool, Threads]]:
    """The pairs by which each use of the cell sees, its own first; whether it writes; and who has to see."""
    match event:
        case Action(place, touches):
            for touch in touches:
                if any(cell in element.cells for element in touch.elements):
                    who = place.threads if touch.seen_by is None else touch.seen_by
                    yield [touch.pair, *sorted(touch.extended)], touch.kind != "read", who
        case Freed(_, buffer):
            yield [freeing_pair(buffer)], True, buffer.owner


def _merged(lines: Sequence[Line]) -> tuple[Line, ...]:
    """Lines that differ in nothing but who did the access are one."""
    found: dict[object, Line] = {}
    for each in lines:
        line = each
        key = (line.kind, line.age, line.origin, line.async_set, line.sync_set, line.stamps, line.gained)
        old = found.get(key)
        if old is not None:
            line = replace(line, threads=old.threads | line.threads, asked=old.asked | line.asked)
        found[key] = line
    return tuple(found.values())


# Columns ----------------------------------------------------------------------------------------------------------


def _groups(rows: Sequence[Row]) -> tuple[Threads, ...]:
    """The threads that occur, as groups of which every row says the same, in the order of their first."""
    told: dict[Thread, list[object]] = {}
    marks: list[tuple[object, Mapping[Thread, object]]] = []
    for number, row in enumerate(rows):
        marks.append(((number, "runs"), dict.fromkeys(row.place.threads, True)))
        for place, line in enumerate(row.lines):
            for name, held in (("V_A", line.async_set), ("V_S", line.sync_set)):
                marks.append(((number, place, name), _by_thread(held)))
            marks.append(((number, place, "asked"), _by_thread({s for s, _ in line.asked})))
    for where, members in marks:
        for thread, what in members.items():
            told.setdefault(thread, []).append((where, what))
    found: dict[tuple[object, ...], set[Thread]] = {}
    for thread, said in told.items():
        found.setdefault(tuple(said), set()).add(thread)
    return tuple(sorted((frozenset(g) for g in found.values()), key=lambda g: _order(min(g, key=_order))))


def _order(thread: Thread) -> tuple[bool, str, int]:
    return thread.task is not None, str(thread.task), thread.number


def _by_thread(held: Iterable[Signature]) -> dict[Thread, object]:
    found: dict[Thread, set[Pair]] = {}
    for instr, usage, thread in held:
        found.setdefault(thread, set()).add(Pair(instr, usage))
    return {thread: frozenset(pairs) for thread, pairs in found.items()}


def _pairs(rows: Sequence[Row]) -> tuple[Pair, ...]:
    lines = [line for row in rows for line in row.lines]
    held = {s for line in lines for s in line.async_set} | {s for line in lines for s, _ in line.asked}
    return tuple(p for p in LEGAL_PAIRS if any((s.instr, s.usage) == p for s in held))
