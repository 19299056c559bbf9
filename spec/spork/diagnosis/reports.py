"""
Hazard reports
==============

What the abstract machine says of a hazard: the access at which it was found and the one that it does not see, in which
iterations and by which threads, where in memory, what was known of the earlier access, which synchronization almost
ordered the two, and what would. `spec.spork.diagnosis.causes` finds all of this; this module writes it as text and as
JSON.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Final

from soundline.spec.spork.language.text import lines
from soundline.spec.spork.machine.events import Place
from soundline.spec.spork.synchronization.barriers import QueueId
from soundline.spec.spork.synchronization.timelines import LEGAL_PAIRS, Pair
from soundline.spec.spork.synchronization.visibility import MACHINE, Signatures, Thread

SHORT: Final[dict[str, str]] = {
    "mach-read-raw": "read after write",
    "mach-write-waw": "write after write",
    "mach-write-war": "write after read",
    "mach-use-before-alloc": "use before allocation",
    "mach-use-after-free": "use after free",
    "mach-alloc-live": "allocation of what is in use",
    "mach-free-dead": "free of what is not allocated",
    "mach-free-owner": "free by others than the owner",
    "mach-free-write": "free before a write is seen",
    "mach-free-read": "free before a read is seen",
    "mach-await-progress": "no forward progress",
    "mach-arrive-overrun": "overrun of a ring",
    "mach-barrier-unequal": "unequal counters",
}
"""The name of a hazard."""

Shown = Callable[[str], str]
"""How the name of a file is shown."""


@dataclass(frozen=True, slots=True)
class Deed:
    """What a statement does to a location."""

    place: Place
    verb: str
    """Such as ``reads``."""
    target: str
    """The element, or the queue."""
    threads: frozenset[Thread]
    """Who does it."""
    pair: Pair | None = None

    def text(self, shown: Shown = str) -> str:
        """Statement and what it does, in two lines."""
        on = f" on {pair_text(self.pair)}" if self.pair is not None else ""
        at = iteration_text(self.place)
        head = f"{position_text(self.place, shown)}: {statement_text(self.place)}"
        return f"{head}\n    {self.verb} {self.target}{on}{f', {at}' if at else ''}, by {threads_text(self.threads)}"

    def to_json(self) -> dict[str, Any]:
        """It as a JSON object."""
        return {
            **place_json(self.place),
            "does": self.verb,
            "target": self.target,
            "pair": None if self.pair is None else [str(self.pair.instr), str(self.pair.usage)],
            "threads": threads_json(self.threads),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Around:
    """An event of the run around a hazard."""

    number: int
    """Of the event, in the whole run."""
    deed: Deed
    role: str = ""
    """``earlier`` or ``later`` for the two accesses; of a hazard of a queue, the last event is ``later``."""
    waits_for: int | None = None
    """Of an await: the number of the event of the last arrive that it releases."""
    skipped: int = 0
    """How many events of this kind came between it and the one before it here, and are left out."""
    async_set: Signatures = frozenset()
    """V_A of the earlier access after this event; nothing before that access."""
    sync_set: Signatures = frozenset()
    """V_S of it."""

    def to_json(self) -> dict[str, Any]:
        """The event as a JSON object."""
        return {
            "event": self.number,
            **self.deed.to_json(),
            "role": self.role or None,
            "waits_for": self.waits_for,
            "skipped": self.skipped,
            "async_set": signatures_json(self.async_set),
            "sync_set": signatures_json(self.sync_set),
        }


@dataclass(frozen=True, slots=True)
class Nearest:
    """A synchronization between two accesses that does not order them, though it almost does."""

    first: Place
    """The fence, or the arrive, or the instruction with a trailing barrier."""
    second: Place | None
    """The await that is paired with it; None for a fence, and where there is none in time."""
    first_fails: tuple[str, ...] = ()
    """What is wrong with its first side."""
    second_fails: tuple[str, ...] = ()
    """What is wrong with its second side."""

    def text(self, shown: Shown = str) -> str:
        """What it is and which half fails."""
        who = f"{position_text(self.first, shown)}: {statement_text(self.first)}"
        said = [f"{who}, by {threads_text(self.first.threads)}"]
        if self.second is not None:
            who = f"{position_text(self.second, shown)}: {statement_text(self.second)}"
            said.append(f"{who}, by {threads_text(self.second.threads)}")
        for name, fails in (("first", self.first_fails), ("second", self.second_fails)):
            said.append(f"its {name} side {'fails: ' + '; '.join(fails) if fails else 'is right'}")
        return "\n    ".join(said)

    def to_json(self) -> dict[str, Any]:
        """The synchronization as a JSON object."""
        return {
            "first": {**place_json(self.first), "threads": threads_json(self.first.threads)},
            "second": None
            if self.second is None
            else {**place_json(self.second), "threads": threads_json(self.second.threads)},
            "first_fails": list(self.first_fails),
            "second_fails": list(self.second_fails),
        }


@dataclass(frozen=True, slots=True)
class Fix:
    """What would order the two accesses."""

    text: str
    tried: bool = False
    """Whether the machine was run with it, and does not find the hazard there any more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A hazard between two statements, as it was found first."""

    id: str
    count: int
    """How often it was found: at how many locations, each time that the later statement ran."""
    later: Deed
    earlier: Deed | None = None
    blind: frozenset[Thread] = frozenset()
    """Who does not see the earlier access."""
    async_set: Signatures = frozenset()
    """V_A of the earlier access."""
    sync_set: Signatures = frozenset()
    """V_S of the earlier access."""
    given: str = ""
    """What is there instead of what is asked, where no access says it."""
    nearest: Nearest | None = None
    fix: Fix | None = None
    around: tuple[Around, ...] = ()
    """The two accesses and the synchronizations between them, in the order of the run (`diagnosis.around`)."""

    def text(self, shown: Shown = str) -> str:
        """The report for a terminal; `shown` says how the name of a file is shown."""
        said = [f"{SHORT[self.id]} [{self.id}]: {MACHINE[self.id]}", f"  {self.later.text(shown)}"]
        if self.given:
            said.append(f"  given {self.given}")
        if self.earlier is not None:
            said += [f"  {self.earlier.text(shown)}", f"  {threads_text(self.blind)} may not see it"]
            said.append(f"  it is complete for {signatures_text(self.sync_set)}")
            if self.async_set != self.sync_set:
                known = signatures_text(self.async_set - self.sync_set)
                said.append(f"  it becomes complete by a synchronization of {known}")
        if self.nearest is not None:
            said.append(f"  nearest synchronization: {self.nearest.text(shown)}")
        if self.fix is not None:
            said.append(f"  fix: {self.fix.text}{self._tried() if self.fix.tried else ''}")
        if self.count > 1:
            said.append(f"  found {self.count} times; this is the first")
        return "\n".join(said)

    def _tried(self) -> str:
        """The result of trying the fix: other hazards of the same kind may need more threads."""
        return f" (tried: it removes {'this hazard' if self.count == 1 else 'the first of these hazards'})"

    def to_json(self) -> dict[str, Any]:
        """The report as a JSON object: of two accesses, the first is the earlier one."""
        return {
            "kind": SHORT[self.id],
            "id": self.id,
            "asks": MACHINE[self.id],
            "count": self.count,
            "location": self.later.target,
            "first": None if self.earlier is None else self.earlier.to_json(),
            "second": self.later.to_json(),
            "blind": threads_json(self.blind),
            "async_set": signatures_json(self.async_set),
            "sync_set": signatures_json(self.sync_set),
            "given": self.given,
            "nearest": None if self.nearest is None else self.nearest.to_json(),
            "fix": None if self.fix is None else {"text": self.fix.text, "tried": self.fix.tried},
            "around": [event.to_json() for event in self.around],
        }


@dataclass(frozen=True, slots=True)
class Redundant:
    """A synchronization without which the program has no hazard either, at the sizes of the run."""

    path: tuple[int, ...]
    """Of the statement; of one side of a barrier, of its first statement."""
    line: int | None
    """None for a statement without source."""
    text: str
    """The statement."""
    what: str
    """What can be removed, such as ``the fence`` or ``all arrives and awaits of full``."""
    file: str | None = None

    def report(self, shown: Shown = str) -> str:
        """The note for a terminal."""
        known = self.file is not None and self.line is not None
        at = (
            f"{shown(self.file or '')}:{self.line}" if known else f"statement {'.'.join(map(str, self.path))}"
        )
        return f"redundant at these sizes: {self.what}\n  {at}: {self.text}"

    def to_json(self) -> dict[str, Any]:
        """The note as a JSON object."""
        return {
            "what": self.what,
            "statement": self.text,
            "file": self.file,
            "line": self.line,
            "path": list(self.path),
        }


# Statements -------------------------------------------------------------------------------------------------------


def statement_text(place: Place) -> str:
    """The first line of a statement, as programs are written."""
    return lines(place.statement)[0]


def position_text(place: Place, shown: Shown = str) -> str:
    """Where a statement stands: file, line and column; its path where it has no source."""
    at = place.statement.position
    return f"{shown(at.file)}:{at.line}:{at.column}" if at else f"statement {'.'.join(map(str, place.path))}"


def iteration_text(place: Place) -> str:
    """The iterators around a statement and their values."""
    values = ", ".join(f"{name} = {value}" for name, value in place.iteration)
    return f"where {values}" if values else ""


def place_json(place: Place) -> dict[str, Any]:
    """A statement and its iteration as a JSON object."""
    at = place.statement.position
    return {
        "file": at.file if at else None,
        "line": at.line if at else None,
        "column": at.column if at else None,
        "statement": statement_text(place),
        "path": list(place.path),
        "iteration": [list(pair) for pair in place.iteration],
    }


def queue_text(queue: QueueId) -> str:
    """A queue as programs write it.

    >>> queue_text(QueueId(("full", 0), (2,), reverse=True))
    'full[2] (reverse)'
    """
    name = queue.barrier[0] if isinstance(queue.barrier, tuple) else queue.barrier
    index = f"[{', '.join(map(str, queue.at))}]" if queue.at else ""
    return f"{name}{index}{' (reverse)' if queue.reverse else ''}"


# Threads and signatures -------------------------------------------------------------------------------------------


def intervals(numbers: Iterable[int]) -> list[tuple[int, int]]:
    """Numbers as intervals, both ends included.

    >>> intervals([7, 0, 1, 2, 8])
    [(0, 2), (7, 8)]
    """
    runs = groupby(enumerate(sorted(numbers)), key=lambda pair: pair[1] - pair[0])
    found = [[number for _, number in run] for _, run in runs]
    return [(run[0], run[-1]) for run in found]


def _by_task(threads: Iterable[Thread]) -> Iterator[tuple[Any, list[tuple[int, int]]]]:
    ordered = sorted(threads, key=lambda t: (str(t.task), t.number))
    for task, group in groupby(ordered, key=lambda t: t.task):
        yield task, intervals(t.number for t in group)


def threads_text(threads: Iterable[Thread]) -> str:
    """Threads as intervals, task by task.

    >>> threads_text([Thread((0, 3), number) for number in range(32)])
    'threads 0-31 of task 3 of launch 0'
    """
    return "; ".join(_task_text(task, runs) for task, runs in _by_task(threads)) or "nobody"


def _task_text(task: Any, runs: list[tuple[int, int]]) -> str:
    if task is None:
        return "the CPU"
    if task[0] == "par":
        return f"iteration {task[2]} of a par loop"
    spans = ", ".join(str(lo) if lo == hi else f"{lo}-{hi}" for lo, hi in runs)
    plural = "" if len(runs) == 1 and runs[0][0] == runs[0][1] else "s"
    launch, *at = task
    return f"thread{plural} {spans} of task {', '.join(map(str, at))} of launch {launch}"


def threads_json(threads: Iterable[Thread]) -> list[dict[str, Any]]:
    """Threads as intervals, task by task, as JSON objects."""
    return [
        {
            "task": None if task is None else list(task),
            "threads": [list(run) for run in runs],
        }
        for task, runs in _by_task(threads)
    ]


def pair_text(pair: Pair) -> str:
    """A pair as it is said in prose."""
    return f"({pair.instr}, {pair.usage})"


def _by_threads(held: Signatures) -> list[tuple[list[Pair], frozenset[Thread]]]:
    """The signatures as pairs × threads: pairs with the same threads stand together."""
    rows: dict[frozenset[Thread], list[Pair]] = {}
    for pair in LEGAL_PAIRS:
        threads = frozenset(s.thread for s in held if (s.instr, s.usage) == pair)
        if threads:
            rows.setdefault(threads, []).append(pair)
    return [(pairs, threads) for threads, pairs in rows.items()]


def signatures_text(held: Signatures) -> str:
    """A set of signatures, as pairs with their threads."""
    rows = [
        f"{' '.join(map(pair_text, pairs))} × {threads_text(threads)}" for pairs, threads in _by_threads(held)
    ]
    return "; ".join(rows) or "nobody"


def signatures_json(held: Signatures) -> list[dict[str, Any]]:
    """A set of signatures as JSON objects."""
    return [
        {"pairs": [[str(p.instr), str(p.usage)] for p in pairs], "threads": threads_json(threads)}
        for pairs, threads in _by_threads(held)
    ]
