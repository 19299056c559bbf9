"""
What would order two accesses
=============================

A suggestion for each hazard, by rule: a synchronization that is there with other timelines and the same CUDA
(`spec.spork.diagnosis.same_code`); else the nearest one with one side widened, or executed by more threads; where there
is none, a new one. A suggestion that changes or adds a fence or await is *tried*: the machine runs with it and looks
whether the hazard is still there. It is a hint at what is missing, no proof that the program is right with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import TypeVar

from soundline.spec.spork.diagnosis.causes import Case, Crossing, Run, replayed
from soundline.spec.spork.diagnosis.reports import Fix, position_text, statement_text, threads_text
from soundline.spec.spork.diagnosis.same_code import costless
from soundline.spec.spork.machine.events import Action, Arrived, Awaited, Event, Fenced
from soundline.spec.spork.synchronization.barriers import BarrierType, QueueId, n_text
from soundline.spec.spork.synchronization.fences import WARP
from soundline.spec.spork.synchronization.timelines import (
    ASYNC_BLOCKS,
    SYNC_TLS,
    SyncTl,
    sync_tl,
    within_first,
    within_second,
)
from soundline.spec.spork.synchronization.visibility import WGMMA_REGISTERS, FirstSide, Thread

FIRST = (sync_tl("cuda_in_order"), sync_tl("Sm80_generic"))
"""What the first side of a fence lies within."""
LONG = 72
"""How long a statement is before it is cut."""
SECOND = (sync_tl("Sm80_generic"), sync_tl("cuda_generic_and_async_proxy"))
"""What the second side of a fence or an await lies within."""


def fix(case: Case, near: Crossing | None) -> Fix:
    """The first suggestion that removes the hazard where it is tried, or the first that cannot be tried."""
    costless = next((f for f in _same_code(case) if f.tried), None)
    if costless is not None:
        return costless
    said: list[Fix] = [*(_changed(case, near) if near is not None else ()), *_added(case, near)]
    return next((f for f in said if f.tried), said[0])


def _same_code(case: Case) -> Iterator[Fix]:
    """Other timelines at a synchronization that is there, which becomes the same CUDA (S-16)."""
    for event, other, pieces in costless(case):
        assert isinstance(event, Fenced | Awaited)
        assert isinstance(other, Fenced | Awaited)
        said = []
        if isinstance(event, Fenced) and isinstance(other, Fenced) and event.first != other.first:
            said.append(f"the first timeline from {event.first} to {other.first}")
        if event.second != other.second:
            said.append(f"the second timeline from {event.second} to {other.second}")
        run = [(n, _like(e, event, other)) for n, e in case.run]
        text = f"in {_at(event)}, widen {' and '.join(said)}; the CUDA stays the same: {', '.join(pieces) or 'nothing'}"
        yield Fix(text, removes(case, run))


def _like(event: Event, old: Fenced | Awaited, new: Fenced | Awaited) -> Event:
    """An event with the new timelines, where it is of the same statement; awaits of one queue agree."""
    if isinstance(event, Fenced) and isinstance(new, Fenced) and event.place.path == old.place.path:
        return replace(event, first=new.first, second=new.second)
    if isinstance(event, Awaited) and isinstance(old, Awaited) and isinstance(new, Awaited):
        queue, mine = event.queue, old.queue
        if (queue.barrier, queue.reverse) == (mine.barrier, mine.reverse):
            return replace(event, second=new.second)
    return event


def _changed(case: Case, near: Crossing) -> Iterator[Fix]:
    """The nearest synchronization, changed."""
    one = {f.how for f in near.first_failures}
    two = {f.how for f in near.second_failures}
    if one | two == {"timeline"}:
        yield from _widened(case, near, "timeline" in one, "timeline" in two)
    elif one | two == {"threads"}:
        yield from _by_more(case, near)
    elif near.second is None and not one:
        yield from _awaited(case, near)


def _widened(case: Case, near: Crossing, one: bool, two: bool) -> Iterator[Fix]:
    """Other timelines on the sides that fail."""
    event, after = near.first, near.second
    said, changes = [], {}
    if one and isinstance(event, Fenced):
        wider = least(
            lambda t: event.first.full <= t.full and case.record.origin in t.full, FIRST, first=True
        )
        if wider is None:
            return
        said.append(f"the first timeline from {event.first} to {wider}")
        changes["first"] = wider
    elif one:
        return
    if two and isinstance(after, Fenced | Awaited):
        old = after.second
        wider = least(lambda t: old.full <= t.full and _reaches(case, t), _seconds(near), first=False)
        if wider is None:
            return
        said.append(f"the second timeline from {old} to {wider}")
        changes["second"] = wider
    where = after if two else event
    assert where is not None

    def change(e: Event) -> Event:
        same = type(e) is type(where) and e.place.path == where.place.path
        return replace(e, **changes) if same else e  # type: ignore[arg-type]

    yield Fix(
        f"in {_at(where)}, widen {' and '.join(said)}", removes(case, [(n, change(e)) for n, e in case.run])
    )


def _by_more(case: Case, near: Crossing) -> Iterator[Fix]:
    """More threads execute it, where it is a fence."""
    event = near.first
    if not isinstance(event, Fenced):
        return
    wanted = event.place.threads | _concerned(case)
    wider = replace(event, place=replace(event.place, threads=wanted))
    run = [(n, wider if e is event else e) for n, e in case.run]
    text = (
        f"execute {_at(event)} by {collective_text(wanted)}, not only by {threads_text(event.place.threads)}"
    )
    yield Fix(text, removes(case, run))


def _awaited(case: Case, near: Crossing) -> Iterator[Fix]:
    """The await that comes too early for an arrive waits for it: by another place of one of them, or by another N."""
    yield from (f for f in _moved(case) if f.tried)
    queues = near.first.queues if isinstance(near.first, Arrived) else _trailing(near.first)
    waits = [e for _, e in case.run if isinstance(e, Awaited) and e.queue in queues]
    for wait in reversed(waits):
        for n in _stronger(wait.n):
            run = [(k, _with_n(e, n) if e.place.path == wait.place.path else e) for k, e in case.run]
            if removes(case, run):
                yield Fix(f"in {_at(wait)}, N is {n_text(n)} instead of {n_text(wait.n)}", tried=True)
                return
    what = "" if isinstance(near.first, Arrived) else "the trailing barrier of "
    yield Fix(f"await {what}{_at(near.first)} before the later access")


def _moved(case: Case) -> Iterator[Fix]:
    """An arrive behind the earlier access, or an await before the later one, where the text has them the other way
    round: a pipeline keeps its depth.
    """
    earlier, later = case.earlier.place, case.later.place
    for arrive in _statements(e for _, e in case.run if isinstance(e, Arrived)):
        if arrive.place.threads >= earlier.threads and arrive.place.path < earlier.path:
            run = _behind(case.run, arrive.place.path, earlier.path)
            yield Fix(f"move {_at(arrive)} behind {_at(case.earlier)}", removes(case, run))
    for wait in _statements(e for _, e in case.run if isinstance(e, Awaited)):
        if wait.place.threads >= later.threads and wait.place.path > later.path:
            run = _before(case.run, wait, later.path)
            yield Fix(f"move {_at(wait)} before {_at(case.later)}", removes(case, run))


E = TypeVar("E", Arrived, Awaited)


def _statements(events: Iterable[E]) -> Iterable[E]:
    """One event of each statement."""
    return {e.place.path: e for e in events}.values()


def _behind(run: Run, arrive: tuple[int, ...], access: tuple[int, ...]) -> list[tuple[int, Event]]:
    """A run in which each arrive of a statement comes behind the access that follows it."""
    moved = list(run)
    for item in run:
        if item[1].place.path != arrive:
            continue
        at = moved.index(item)
        for k in range(at + 1, len(moved) - 1):
            if moved[k][1].place.path == arrive:
                break
            if moved[k][1].place.path == access:
                moved.insert(k, moved.pop(at))
                break
    return moved


def _before(run: Run, wait: Awaited, access: tuple[int, ...]) -> list[tuple[int, Event]]:
    """A run in which each await of a statement comes before the access that it follows, the last one as well."""
    moved: list[tuple[int, Event]] = []
    waiting = [item for item in run if item[1].place.path == wait.place.path]
    taken: set[int] = set()
    for k, item in enumerate(run):
        if item[1].place.path == access:
            after = next((w for w in run[k + 1 :] if w in waiting and w[0] not in taken), (-1, wait))
            taken.add(after[0])
            moved.append(after)
        if item not in waiting or item[0] not in taken:
            moved.append(item)
    return moved


def _trailing(event: Event) -> tuple[QueueId, ...]:
    return event.trailing if isinstance(event, Action) else ()


def _stronger(n: int) -> list[int]:
    """The numbers of an await that wait for more, the nearest first."""
    return [~lag for lag in reversed(range(~n))] if n < 0 else list(reversed(range(n)))


def _with_n(event: Event, n: int) -> Event:
    return replace(event, n=n) if isinstance(event, Awaited) else event


# A new synchronization --------------------------------------------------------------------------------------------


def _added(case: Case, near: Crossing | None) -> Iterator[Fix]:
    """Something new between the two accesses."""
    tasks = {t.task for t in _concerned(case)}
    if len(tasks) > 1:
        yield _of_tasks(tasks)
        return
    if case.pairs <= WGMMA_REGISTERS:
        yield from _fence(
            case, None, sync_tl("wgmma_fence_1"), sync_tl("wgmma_fence_2"), "begin the block of wgmma with"
        )
        return
    first = least(lambda t: case.record.synchronizes(FirstSide.of(t, _concerned(case))), FIRST, first=True)
    second = least(lambda t: _reaches(case, t), SECOND, first=False)
    if second is None:
        yield Fix("order the two accesses otherwise: no timeline leads to the later one")
    elif first is None:
        yield _split(case, second)
    else:
        yield from _fence(case, near, first, second, "add")


def _of_tasks(tasks: Iterable[object]) -> Fix:
    if any(isinstance(task, tuple) and task[0] == "par" for task in tasks):
        return Fix("give each iteration of the par loop locations of its own: nothing orders the iterations")
    return Fix(
        "give each task locations of its own, add atomically, or use two device functions: nothing orders the tasks "
        "of one"
    )


def _fence(case: Case, near: Crossing | None, first: SyncTl, second: SyncTl, verb: str) -> Iterator[Fix]:
    wanted = _concerned(case)
    place = replace(case.later.place, threads=wanted)
    run = [*case.run[:-1], (-1, Fenced(place, first, second)), case.run[-1]]
    text = f"{verb} Fence({first}, {second}), executed by {collective_text(wanted)}, {_between(case, near)}"
    yield Fix(text, removes(case, run))


def _split(case: Case, second: SyncTl) -> Fix:
    """What is asynchronous is waited for by a barrier."""
    name = next((n for n, tl in ASYNC_BLOCKS.items() if tl is case.record.origin.instr), None)
    if not case.record.async_set:
        text = f"Await the trailing barrier of {_at(case.earlier)}, with second timeline {second},"
    else:
        text = f"Arrive({name}, 1) at a barrier after {_at(case.earlier)}, and Await it with second timeline {second},"
    return Fix(f"{text} by {collective_text(case.blind)} before the later access")


def _between(case: Case, near: Crossing | None) -> str:
    """The position of the new synchronization: after the earlier access, or after an await of it that only some threads
    lack.
    """
    awaited = near is not None and isinstance(near.second, Awaited) and not near.first_failures
    by_threads = near is not None and all(failure.how == "threads" for failure in near.second_failures)
    event = near.second if near is not None and awaited and by_threads else None
    return f"after {_at(event or case.earlier)} and before the later access"


# Choices ----------------------------------------------------------------------------------------------------------


def least(wanted: Callable[[SyncTl], bool], within: Iterable[SyncTl], *, first: bool) -> SyncTl | None:
    """The smallest sync-tl that is wanted and allowed on a side; the transitive one of two that wait for as much."""
    inside = within_first if first else within_second
    allowed = [t for t in SYNC_TLS.values() if wanted(t) and any(inside(t, w) for w in within)]
    return min(allowed, key=lambda t: (len(t.full), len(t.temporal)), default=None)


def _seconds(near: Crossing) -> tuple[SyncTl, ...]:
    """What the second side of a synchronization lies within."""
    match near.first:
        case Arrived(first=first, type=BarrierType.CudaCommitGroup) if first.name == "Sm80_cp_async":
            return SECOND[:1]
        case _:
            return SECOND


def _reaches(case: Case, second: SyncTl) -> bool:
    """Whether a second side makes the record complete for the later access. A side with an empty full set is not
    suggested.
    """
    gained = {(s.instr, s.usage) for s in case.gains(second, case.blind)}
    return bool(second.full) and not gained.isdisjoint(case.pairs)


def _concerned(case: Case) -> frozenset[Thread]:
    """The threads that have to take part: for each record those that did the access or know of it, and those that do
    not see it.
    """
    found = frozenset[Thread]()
    for hazard in case.hazards:
        assert hazard.record is not None
        told = frozenset(s.thread for s in hazard.record.async_set)
        found |= (hazard.record.threads & told or told) | hazard.threads
    return found


def removes(case: Case, run: Run) -> bool:
    """Whether the later access sees the earlier ones in another run, which does not stop before."""
    before = {h.record.where for h in case.hazards if h.record is not None}
    return not any(
        h.id == "mach-await-progress"
        or (h.id == case.hazards[0].id and h.record is not None and h.record.where in before)
        for h in replayed(run, case.cell, case.policy)
    )


def _at(event: Event) -> str:
    """A statement and its line; of a long one the beginning."""
    said, at = statement_text(event.place), event.place.statement.position
    short = said if len(said) <= LONG else f"{said[: LONG - 3]}..."
    return f"{short} ({f'line {at.line}' if at else position_text(event.place)})"


def collective_text(threads: frozenset[Thread]) -> str:
    """Who has to execute a synchronization of these threads: one, a warp, or a whole CTA or cluster."""
    warps = {t.number // WARP for t in threads}
    if len(threads) == 1:
        return threads_text(threads)
    return f"the warp of {threads_text(threads)}" if len(warps) == 1 else "the whole CTA or cluster"
