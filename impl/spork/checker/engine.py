"""
Engine
======

Runs a plan on the abstract machine, in C (``core/engine.c``): the events in the order of the program, with records that
stand for many threads and slots that stand for many cells. What comes of it is the same, event for event, as what
`abstract_machine.judge` makes of the events of the program.

The C text is compiled once for a machine and kept in the compile cache. A program that has no place in memory is
refused before it runs, and a run can be ended: whatever `progress` raises ends it, and so does an interrupt.
"""

from __future__ import annotations

import os
import re
from array import array
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from itertools import islice
from pathlib import Path
from typing import Any, NoReturn

from soundline.impl.runtime import cache
from soundline.impl.runtime.host import once
from soundline.impl.spork.checker.encoding import Encoding
from soundline.impl.spork.checker.planning.plan import (
    Alloc,
    At,
    Outcome,
    Placed,
    Plan,
    Sighting,
    Trace,
    Traced,
    nodes,
)
from soundline.impl.toolchain import find_compiler
from soundline.spec.errors import CompileError, OutOfMemoryError, ToolchainError
from soundline.spec.spork.language.text import lines
from soundline.spec.spork.synchronization.visibility import Policy

Progress = Callable[[int, float], object]
"""Is told now and then how many events there were, and how far the run is, between 0 and 1."""

Side = tuple[int, tuple[int, ...], bool]
"""A side of a queue: barriers, index, and whether it is the reverse one."""

RULES = (
    *("mach-free-read", "mach-free-write", "mach-read-raw", "mach-write-war", "mach-write-waw"),
    *("mach-await-progress", "mach-arrive-overrun", "mach-barrier-unequal"),
)
"""The rules, by their numbers in the engine."""
DONE, STUCK, REFUSED, STOPPED, NO_MEMORY, OVERFLOW, FOUND, OUTSIDE = range(8)
"""How a run ends."""
_CELL = 4
"""Bytes of a cell."""


class TasksDiffer(Exception):
    """A run ended at an await that never returns, in a task after some that were left out as equal to others: how many
    events there were before is known only where all tasks are run.
    """


def text() -> str:
    """The C text of the engine, its chapters in place."""
    core = files(__package__) / "core"

    def chapter(found: re.Match[str]) -> str:
        return (core / found[1]).read_text(encoding="utf-8")

    return re.sub(r'^#include "(.*)"$', chapter, chapter_of("engine.c"), flags=re.MULTILINE)


def chapter_of(name: str) -> str:
    """The text of a file of the engine."""
    return (files(__package__) / "core" / name).read_text(encoding="utf-8")


@once
def ffi() -> Any:
    """The foreign functions of the engine."""
    import cffi  # only programs that are checked need it

    first, last = "to the line that says so. */", "/* Python reads no further. */"
    made = cffi.FFI()
    made.cdef(chapter_of("engine.c").partition(first)[2].partition(last)[0])
    return made


@once
def library() -> Any:
    """The engine, compiled and loaded."""

    def load(path: Path) -> Any:
        try:
            found = ffi().dlopen(str(path))
            _ = found.soundline_check
        except (OSError, AttributeError) as error:
            raise ToolchainError(f"the compiled engine cannot be loaded: {error}") from error
        return found

    return cache.loaded(text(), find_compiler(), load)


@dataclass(slots=True)
class Engine:
    """A plan that is to be run under a policy. `budget` is how many bytes of memory it may need; None for as many as
    the machine has.
    """

    plan: Plan
    policy: Policy = Policy.temporal
    budget: int | None = None
    progress: Progress | None = None
    statistics: dict[str, int] = field(default_factory=dict)
    """What the last run was like, for those who want to make it faster."""
    _encoding: Encoding | None = None

    @property
    def encoding(self) -> Encoding:
        """The plan as numbers."""
        if self._encoding is None:
            self._encoding = Encoding(self.plan, self.policy)
        return self._encoding

    @property
    def limit(self) -> int:
        """The bytes that it may need."""
        if self.budget is not None:
            return self.budget
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")

    def run(self) -> Outcome:
        """What comes of the run."""
        self._check_memory()
        run = _Run(self)
        out = run.execute()
        try:
            return run.outcome(out)
        finally:
            library().soundline_check_end(out)

    def trace(self, sighting: Sighting) -> Trace:
        """The events that concern the cell of a sighting, from the same run again."""
        return self.traces([sighting])[0]

    def traces(self, sightings: Sequence[Sighting]) -> list[Trace]:
        """The traces of several sightings, all from one run. That of a queue has its event alone, with the last ones
        before it.
        """
        run = _Run(self)
        out = run.execute([(s.later.event, s.cell if s.queue is None else -1) for s in sightings])
        try:
            run.check(out)
            assert out.status == FOUND, "the same run has the same hazards"
            return list(run.traces(out, len(sightings)))
        finally:
            library().soundline_check_end(out)

    # Memory -------------------------------------------------------------------------------------------------------

    def _check_memory(self) -> None:
        """Refuse a plan whose cells alone have no place, with the statement that asks for most of them."""
        kept = [a for a in self.plan.arrays if a.number in self.encoding.kept]
        needed = sum(_CELL * a.elements for a in kept)
        if needed <= self.limit:
            return
        largest = max(kept, key=lambda a: a.elements)
        places = [
            n.place for n in nodes(self.plan.root) if isinstance(n, Alloc) and n.array == largest.number
        ]
        self.no_memory(
            needed, f"{largest.name}, of {largest.elements} elements", places[0] if places else None
        )

    def no_memory(self, needed: int, what: str, place: Placed | None = None) -> NoReturn:
        """Refuse what has no place."""
        where = None if place is None else _located(place)
        raise OutOfMemoryError(
            f"the check needs {needed} bytes, most of them for {what}; there may be {self.limit}",
            where=where,
            hint="check smaller sizes, or give it a larger budget",
        )


def _located(place: Placed) -> str:
    return lines(place.statement)[0].strip()


@dataclass(slots=True)
class _Run:
    """One run of an engine, with what C reads."""

    engine: Engine
    raised: list[BaseException] = field(default_factory=list)
    moved: list[tuple[int, ...]] = field(default_factory=list)
    """The events that came again and were counted before the hazard at hand: from one to before another, the variable,
    and by how much.
    """

    def execute(self, targets: Sequence[tuple[int, int]] = ()) -> Any:
        """Run it; gives the outcome in C, which the caller ends."""
        encoding, plan = self.engine.encoding, self.engine.plan
        arrays, barriers = encoding.arrays(), encoding.barriers()
        order = ffi().new("struct order *")
        held = [
            self._list(order, name, values)
            for name, values in (
                *(
                    ("code", encoding.code),
                    ("sets", encoding.sets),
                    ("arrays", arrays),
                    ("barriers", barriers),
                ),
                ("targets", array("q", [x for target in targets for x in target])),
            )
        ]
        order.root, order.set_count = encoding.root, len(encoding.set_numbers)
        order.array_count, order.barrier_count = len(plan.arrays), len(plan.barriers)
        order.var_count, order.budget = plan.vars, self.engine.limit
        order.target_count = len(targets)
        order.ask = ask = ffi().callback("int(int64_t, double)", self._ask, error=1, onerror=self._failed)
        out = library().soundline_check(order)
        if out == ffi().NULL:
            self.engine.no_memory(0, "the answer")
        del held, ask
        if self.raised:
            library().soundline_check_end(out)
            raise self.raised[0]
        return out

    def _list(self, order: Any, name: str, values: array[int]) -> Any:
        held = ffi().from_buffer("int64_t[]", values) if values else ffi().new("int64_t[1]")
        setattr(order, name, held)
        return held

    def _ask(self, events: int, fraction: float) -> int:
        if self.engine.progress is not None:
            self.engine.progress(events, fraction)
        return 0

    def _failed(self, _kind: Any, error: BaseException, _trace: Any) -> None:
        self.raised.append(error)

    def check(self, out: Any) -> None:
        """Refuse what kept a run from its end."""
        if out.status == NO_MEMORY:
            self.engine.no_memory(int(out.wanted), "the records of accesses")
        if out.status == OVERFLOW:
            raise CompileError("a number of control has no place in 64 bits", where="check")
        assert out.status != OUTSIDE, "a plan leaves no array"

    # What came of it ----------------------------------------------------------------------------------------------

    def outcome(self, out: Any) -> Outcome:
        """The outcome for Python."""
        self.check(out)
        status = out.status
        self.engine.statistics = {
            name: int(getattr(out, name)) for name in ("ran", "sets", "snapshots", "skipped")
        }
        if status == STUCK and out.repeated:
            raise TasksDiffer
        sightings = tuple(self.sighting(out, out.sightings[k]) for k in range(out.sighting_count))
        refused = self.at(out, out.node, out.values, out.ran) if status == REFUSED else None
        return Outcome(out.events, out.accesses, sightings, refused)

    def at(self, out: Any, node: int, values: int, event: int) -> At:
        """When a node ran."""
        count = self.engine.plan.vars
        return At(node, tuple(out.value[values : values + count]) if count else (), event)

    def sighting(self, out: Any, found: Any) -> Sighting:
        """A sighting for Python."""
        queue = None
        if found.barrier >= 0:
            at = tuple(out.value[found.at : found.at + found.at_count]) if found.at_count else ()
            queue = int(found.barrier), at, bool(found.reverse)
        return Sighting(
            RULES[found.rule],
            self.at(out, found.node, found.values, found.event),
            None if found.earlier < 0 else self.engine.encoding.paths[found.earlier],
            found.count,
            None if found.array < 0 else found.array,
            found.element,
            found.cell,
            queue,
            ffi().string(found.given).decode(),
        )

    # The second pass ----------------------------------------------------------------------------------------------

    def traces(self, out: Any, count: int) -> Iterator[Trace]:
        """The traces of all targets."""
        at = 0
        moved = [tuple(out.moved[4 * k : 4 * k + 4]) for k in range(out.moved_count)]
        for target in range(count):
            length, start, end, life = out.before[at : at + 4]
            at += 4
            hazard = out.logged[end - 1].event if end > start else 0
            self.moved = [skip for skip in moved if skip[1] <= hazard]
            entries = [self.traced(out, k) for k in range(start, end) if out.logged[k].target in {-1, target}]
            if life:
                node, part, number, *values = out.before[at : at + life]
                begun = Traced(self.told(node, values, number), part)
                entries[:0] = [begun] if not entries or number < entries[0].at.event else []
            at += life
            yield Trace(tuple(entries), *self.counters(out.before[at : at + length] if length else ()))
            at += length

    def traced(self, out: Any, number: int) -> Traced:
        """An event of the list."""
        entry, count = out.logged[number], self.engine.plan.vars
        values = tuple(out.logged_values[number * count : (number + 1) * count]) if count else ()
        pairs = (
            out.touched[entry.touches : entry.touches + 2 * entry.touch_count] if entry.touch_count else []
        )
        touches = tuple((pairs[2 * k], pairs[2 * k + 1]) for k in range(entry.touch_count))
        return Traced(self.told(entry.node, values, entry.event), entry.part, touches)

    def told(self, node: int, values: Sequence[int], event: int) -> At:
        """When an event was: one of a repetition that was counted, in the last of those."""
        found = list(values)
        for first, end, var, by in self.moved:
            if first <= event < end:
                found[var] += by
        return At(node, tuple(found), event)

    def counters(
        self, words: Sequence[int]
    ) -> tuple[dict[Side, tuple[int, int]], dict[Side, tuple[Traced, ...]]]:
        """The counters of queues, and the last events there, of their list."""
        before: dict[Side, tuple[int, int]] = {}
        last: dict[Side, tuple[Traced, ...]] = {}
        read = iter(words)

        def some(count: int) -> tuple[int, ...]:
            return tuple(islice(read, count))

        for _ in range(next(read, 0)):
            barriers, reverse, arrives, awaits, indices, lasts = some(6)
            side = barriers, some(indices), bool(reverse)
            before.setdefault(side, (arrives, awaits))
            events = []
            for _ in range(lasts):
                node, number = some(2)
                events.append(Traced(self.told(node, some(self.engine.plan.vars), number)))
            events.sort(key=lambda traced: traced.at.event)
            last[side] = last.get(side, ()) + tuple(events)
        return before, last
