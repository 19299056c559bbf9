"""
Findings
========

What is said of a hazard, made of the events that concern its location. Whoever has these events, and knows that there
is a hazard, gets the same finding: `spec.abstract_machine` has the whole run, a faster machine only what it looked up.
"""

from __future__ import annotations

from dataclasses import dataclass

from soundline.spec.spork.diagnosis.around import around, around_cell, around_queue, deed
from soundline.spec.spork.diagnosis.causes import Case, Run, nearest, replayed, touching
from soundline.spec.spork.diagnosis.fixes import fix
from soundline.spec.spork.diagnosis.reports import Deed, Finding, Fix, queue_text
from soundline.spec.spork.machine.events import Action, Cell, Event, Freed
from soundline.spec.spork.machine.transitions import freeing_pair
from soundline.spec.spork.synchronization.barriers import QueueId
from soundline.spec.spork.synchronization.timelines import Pair
from soundline.spec.spork.synchronization.visibility import Kind, Policy, Where


@dataclass(frozen=True, slots=True)
class Found:
    """A hazard that a machine found first, and how many are like it."""

    id: str
    count: int
    earlier: Where | None = None
    """The path of the statement that is not seen; None where there is none."""


def of_cell(found: Found, run: Run, cell: Cell, policy: Policy) -> Finding:
    """The finding of a hazard at a cell, which is at the last event of a run that concerns the cell
    (`causes.concerning`).
    """
    later = run[-1][1]
    if found.earlier is None:
        near_by = around_cell(run, cell)
        return Finding(id=found.id, count=found.count, later=deed(later, cell), around=near_by)
    paths = {number: event.place.path for number, event in run}
    same = [
        (h, h.record)
        for h in replayed(run, cell, policy)
        if h.id == found.id and h.record and paths[h.record.where[0]] == found.earlier
    ]
    record, pairs = same[0][1], _pairs(later, cell, found.id)
    writes = found.id not in {"mach-write-war", "mach-free-read"}
    case = Case(tuple(h for h, _ in same), record, run, cell, pairs, writes, policy)
    near = nearest(case)
    return Finding(
        id=found.id,
        count=found.count,
        later=deed(later, cell),
        earlier=deed(case.earlier, cell),
        blind=case.blind,
        async_set=record.async_set,
        sync_set=record.sync_set,
        nearest=near.nearest() if near is not None else None,
        fix=fix(case, near),
        around=around(case),
    )


_REMEDIES = {
    "mach-await-progress": ("awaits", "move the arrive before it, or give the await a lag, N = ~lag"),
    "mach-arrive-overrun": (
        "arrives at",
        "let who awaits tell when it is done: ReverseArrive after the await, ReverseAwait before the arrive",
    ),
    "mach-barrier-unequal": (
        "ends",
        "await every arrive before the barrier ends, with N = 0 at a commit group",
    ),
}
"""What a statement does at a queue, and how to mend it."""


def of_queue(found: Found, run: Run, queue: QueueId, given: str) -> Finding:
    """The finding of the counters of a queue, at the last event of a run that has all events of the queue."""
    later = run[-1][1]
    verb, text = _REMEDIES[found.id]
    return Finding(
        id=found.id,
        count=found.count,
        later=Deed(later.place, verb, queue_text(queue), later.place.threads),
        given=given,
        fix=Fix(text),
        around=around_queue(run, queue),
    )


def _pairs(event: Event, cell: Cell, rule: str) -> frozenset[Pair]:
    """The pairs by which the access at fault sees."""
    if isinstance(event, Action):
        reads = rule == "mach-read-raw"
        touch = next(t for t in touching(event, cell) if (t.kind is Kind.read) == reads)
        return touch.extended | {touch.pair}
    assert isinstance(event, Freed)
    return frozenset({freeing_pair(event.buffer)})
