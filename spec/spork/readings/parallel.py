"""
The parallel reading
====================

What the hardware may do with a program. All threads of all tasks of a launch run at the same time, each does its share
of the events in program order, asynchronous actions do their reads and writes at any time until something waits for
them, barriers and mbarriers count threads and bytes as the hardware counts them (`spec.spork.interleavings.threads`,
`spec.spork.interleavings.state`, `spec.spork.interleavings.memory`). It uses no notion of visibility: the abstract
machine is tested against it (S-10).

A *run* chooses one move after another. Its outcome is what the arguments hold at the end, as terms
(`spec.spork.machine.algebras`), whether anything was read that nobody had written, and whether it came to the end at
all: where no move is left and threads still wait, it is a deadlock. A correct program has one outcome, that of the
sequential reading.

- `outcomes` tries every run that could differ (`spec.spork.interleavings.search`);
- `sample` tries some: with random priorities of the threads, and with asynchronous effects as late as they can be, or
  whenever they like;
- `replay` repeats one.

Of a copy by a collective any one thread is elected to issue it; every choice among threads that differ is tried.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import cycle, islice
from random import Random

from soundline.spec.spork.interleavings.memory import ParallelState, sequential
from soundline.spec.spork.interleavings.search import Search
from soundline.spec.spork.interleavings.state import TOUCHING, Control, Move
from soundline.spec.spork.interleavings.threads import elections, script
from soundline.spec.spork.interleavings.values import Content, joined, text
from soundline.spec.spork.machine.algebras import Tokens, ValueToken
from soundline.spec.spork.machine.events import Event
from soundline.spec.spork.synchronization.visibility import Thread

Schedule = tuple[Move, ...]
"""The moves of a run, one after another."""


@dataclass(frozen=True, slots=True)
class Witness:
    """A run that can be repeated."""

    election: tuple[tuple[int, Thread], ...]
    """Who issues the copies by collectives, by the number of the event."""
    schedule: Schedule
    steps: tuple[str, ...] = field(compare=False)
    """The same to read."""

    def __str__(self) -> str:
        return "\n".join(f"{n:4} {step}" for n, step in enumerate(self.steps, 1))


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a run can end."""

    result: tuple[tuple[str, str], ...]
    """What the elements of the arguments hold that the program uses, by their names; and the shared memory that was
    used again when a task had ended.
    """
    junk: bool
    """Whether anything was read that nobody had written."""
    deadlock: tuple[str, ...]
    """Threads whose await never returns."""
    wrong: bool
    """Whether the outcome is not that of the sequential reading: the values differ, although their text may be the
    same."""
    witness: Witness = field(compare=False)


@dataclass(frozen=True, slots=True)
class Exploration:
    """What was found of a program."""

    expected: tuple[tuple[str, str], ...]
    """The result of the sequential reading."""
    outcomes: tuple[Outcome, ...]
    """The outcomes that were found, each with the first run that had it."""
    schedules: int
    """The runs."""
    complete: bool
    """Whether there are no other outcomes."""

    @property
    def wrong(self) -> tuple[Outcome, ...]:
        """The outcomes that are not that of the sequential reading."""
        return tuple(outcome for outcome in self.outcomes if outcome.wrong)

    @property
    def deadlocks(self) -> tuple[Outcome, ...]:
        """The outcomes that never end."""
        return tuple(outcome for outcome in self.outcomes if outcome.deadlock)


Key = tuple[tuple[ValueToken, ...], bool, tuple[str, ...]]
"""How a run ends: the values, whether anything was junk, and who waits."""


class _Runs:
    """Runs of a program with one election, and the outcomes that they had."""

    def __init__(self, events: Sequence[Event], election: Mapping[int, Thread], tokens: Tokens) -> None:
        self.election = election
        self.script = script(events, election)
        self.tokens = tokens
        self.start = ParallelState(self.script, tokens)
        used = [*self.script.arguments, *self.script.reused]
        self.elements = [e for e in used if all(c in self.script.cells for c in e.cells)]
        self.expected = self._key(sequential(self.script, tokens))
        self.found: dict[Key, Schedule] = {}

    def _key(self, cells: list[Content]) -> tuple[ValueToken, ...]:
        where = self.script.cells
        return tuple(joined([cells[where[c]] for c in e.cells], self.tokens) for e in self.elements)

    def end(self, state: ParallelState, schedule: Callable[[], Schedule]) -> bool:
        """Note how a run ends; whether that is wrong."""
        waiting = () if state.control.ended else _waiting(state.control)
        key = self._key(state.cells), state.junk, waiting
        if key not in self.found:
            self.found[key] = schedule()
        return self._is_wrong(key)

    def _is_wrong(self, key: Key) -> bool:
        """Whether a run that ends like this is not the sequential reading; values are compared whole."""
        return key != (self.expected, False, ())

    def result(self, values: tuple[ValueToken, ...]) -> tuple[tuple[str, str], ...]:
        """A result to read."""
        return tuple((str(e), text(v)) for e, v in zip(self.elements, values, strict=True))

    def outcomes(self) -> Iterable[Outcome]:
        """The outcomes."""
        for key, schedule in self.found.items():
            values, junk, waiting = key
            witness = Witness(tuple(self.election.items()), schedule, tuple(_told(self, schedule)))
            yield Outcome(self.result(values), junk, waiting, self._is_wrong(key), witness)


def outcomes(events: Iterable[Event], *, limit: int = 10_000, stop: bool = False) -> Exploration:
    """Every outcome of a program, or those of the first `limit` runs; with `stop`, no more after the first wrong."""
    program = tuple(events)
    tokens, found, count, complete = Tokens(), [], 0, True
    for election in elections(program):
        runs = _Runs(program, election, tokens)
        found.append(runs)
        done, wrong, full = _explore(runs, limit - count, stop)
        count, complete = count + done, complete and full
        if not full or (stop and wrong):
            complete = False
            break
    return _exploration(found, count, complete)


def sample(
    events: Iterable[Event], seed: int = 0, schedules: int = 100, *, stop: bool = False
) -> Exploration:
    """The outcomes of some random runs."""
    program, random, tokens = tuple(events), Random(seed), Tokens()  # noqa: S311 - nothing is secret
    choices = list(islice(elections(program), 64))
    random.shuffle(choices)
    found = [_Runs(program, election, tokens) for election in choices[: max(1, schedules)]]
    count = 0
    for runs in islice(cycle(found), schedules):
        count += 1
        if _random_run(runs, random) and stop:
            break
    return _exploration(found, count, complete=False)


def replay(events: Iterable[Event], witness: Witness) -> Outcome:
    """The outcome of a run."""
    runs = _Runs(tuple(events), dict(witness.election), Tokens())
    state = runs.start.copy()
    for move in witness.schedule:
        state.apply(move)
    runs.end(state, lambda: witness.schedule)
    return next(iter(runs.outcomes()))


def _exploration(found: Sequence[_Runs], count: int, complete: bool) -> Exploration:
    distinct = {o: None for runs in found for o in runs.outcomes()}
    expected = found[0].result(found[0].expected)
    return Exploration(expected, tuple(distinct), count, complete)


Trail = tuple["Trail | None", Move]


def _schedule(trail: Trail | None) -> Schedule:
    found = []
    while trail is not None:
        trail, move = trail
        found.append(move)
    return tuple(reversed(found))


def _explore(runs: _Runs, limit: int, stop: bool) -> tuple[int, bool, bool]:
    """Try runs. Returns how many there were, whether one was wrong, and whether these were all. A run ends when it
    comes to a state that another run has visited.
    """
    search, seen, count = Search(runs.script), set(), 0
    stack: list[tuple[ParallelState, Trail | None]] = [(runs.start.copy(), None)]
    wrong = False
    while stack:
        if count >= limit or (stop and wrong):
            return count, wrong, False
        state, trail = stack.pop()
        while True:
            possible = search.persistent(state)
            if not possible:
                count += 1
                wrong |= runs.end(state, partial(_schedule, trail))
                break
            if len(possible) > 1:
                key = state.key()
                if key in seen:
                    count += 1
                    break
                seen.add(key)
                for move in possible[1:]:
                    other = state.copy()
                    other.apply(move)
                    stack.append((other, (trail, move)))
            state.apply(possible[0])
            trail = (trail, possible[0])
    return count, wrong, True


# Random runs ------------------------------------------------------------------------------------------------------


Source = tuple[str, int]
"""Where a move can come from: a thread, a job, or a deferred signal, by number."""

FEW = 16
"""Of how many moves of a job one is chosen."""


def _random_run(runs: _Runs, random: Random) -> bool:
    """One run; whether its outcome is wrong."""
    state, schedule = runs.start.copy(), list[Move]()
    control, rank = state.control, dict[Source, float]()
    late, change = random.random() < 0.5, random.choice((0.0, 0.02, 0.1, 1.0))

    def priority(source: Source) -> float:
        if source not in rank or random.random() < change:
            rank[source] = random.random()
        kind, number = source
        waits = kind == "late" or (kind == "job" and not runs.script.jobs[number].in_order)
        return rank[source] - (late and waits)

    while True:
        sources = [("thread", a) for a in sorted(control.front)]
        sources += [("job", j) for j in sorted(control.opened)] + [("late", d) for d in sorted(control.due)]
        ordered = sorted(sources, key=priority, reverse=True)
        possible = next((found for source in ordered if (found := _moves_of(control, source))), [])
        if not possible:
            return runs.end(state, lambda: tuple(schedule))
        move = random.choice([*state.choices(random.choice(possible))])
        schedule.append(move)
        state.apply(move)


def _moves_of(control: Control, source: Source) -> list[Move]:
    """The moves that come from somewhere now; of a job a few."""
    kind, number = source
    if kind == "job":
        return list(islice(control.ready(control.script.jobs[number]), FEW))
    move = control.of_agent(number) if kind == "thread" else control.of_due(number)
    return [] if move is None else [move]


# Words ------------------------------------------------------------------------------------------------------------


def _waiting(control: Control) -> tuple[str, ...]:
    """Who waits, and where."""
    found = []
    for number, agent in enumerate(control.script.agents):
        op = control.next_op(number)
        if op is not None:
            found.append(f"{_named(agent.threads)} at {_place(control.script.events[op[3]])}")
    return tuple(found) or ("an asynchronous action",)


def _told(runs: _Runs, schedule: Schedule) -> Iterable[str]:
    """The moves of a run in words."""
    state = runs.start.copy()
    for move in schedule:
        yield _words(runs, state, move)
        state.apply(move)


SAID = {
    "leave": "go on from",
    "signal": "arrive at",
    "test": "find complete",
    "issue": "issue",
    "flush": "proxy fence of",
}


def _words(runs: _Runs, state: ParallelState, move: Move) -> str:
    if move.kind == "late":
        return "a deferred arrival"
    if move.kind not in TOUCHING:
        agent = runs.script.agents[move.who]
        event = runs.script.events[agent.ops[move.what][3]]
        return f"{_named(agent.threads)}: {SAID[move.kind]} {_place(event)}"
    job = runs.script.jobs[move.who]
    after = state.copy()
    after.apply(move)
    doubt = f" (choice {move.choice})" if move.choice else ""
    if move.kind == "load":
        reads = [job.reads[n].element for n in job.parts[move.what].reads]
        values = after.loaded[job.number, move.what]
        seen = ", ".join(f"{e} = {text(v)}" for e, v in zip(reads, values, strict=True))
        return f"{_named(sorted(job.threads))}: read {seen}{doubt}, {_place(job.action)}"
    use = job.reads[move.what] if move.kind == "read" else job.parts[move.what].target
    if move.kind == "read":
        value = after.values.get(job.number, {}).get(move.what)
    else:
        value = joined([after.cells[c] for c in use.cells], runs.tokens)
    what = {"work": "", "read": "read ", "write": "write "}[move.kind]
    held = "" if value is None else f" = {text(value)}"
    return f"{_named(sorted(job.threads))}: {what}{use.element}{held}{doubt}, {_place(job.action)}"


def _named(threads: Sequence[Thread]) -> str:
    first = threads[0]
    who = "CPU" if first.task is None else f"thread {first.number} of task {first.task}"
    return who if len(threads) == 1 else f"{who} and {len(threads) - 1} more"


def _place(event: Event) -> str:
    at = ", ".join(f"{name} = {value}" for name, value in event.place.iteration)
    path = ".".join(map(str, event.place.path))
    kind = type(event).__name__.lower()
    return f"{kind} at {path}" + (f" ({at})" if at else "")
