"""
Lanes
=====

A picture of a run has no room for a row for each thread, and need not have it: threads that take part in the same
events, and see the same, have one row together, a *lane*.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from soundline.spec.spork.diagnosis.reports import Around, Finding, threads_text
from soundline.spec.spork.synchronization.visibility import Signatures, Thread, pair_of

MOST: Final = 20
"""How many lanes are shown; threads of further ones do not have a part in the accesses."""


class Sight(StrEnum):
    """What a thread knows of the earlier access."""

    none = "none"
    """Nothing, as yet."""
    asynchronous = "asynchronous"
    """It is in V_A alone: a synchronization of this thread can make the access complete."""
    otherwise = "otherwise"
    """The access is complete for it, on a timeline that is not that of the later access."""
    complete = "complete"
    """The access is complete for it on that timeline."""


@dataclass(frozen=True, slots=True)
class Lane:
    """Threads that do and see the same."""

    threads: frozenset[Thread]
    acts: tuple[bool, ...]
    """Whether they take part in each event."""
    sights: tuple[Sight, ...]
    """What they know of the earlier access after each event."""

    @property
    def label(self) -> str:
        """Who they are."""
        return threads_text(self.threads)


def lanes(found: Finding) -> list[Lane]:
    """The threads of the events around a hazard, by what they do and see. The first is that of the least thread."""
    events = found.around
    sights = [_sights(found, event) for event in events]
    everybody = found.blind.union(*(e.deed.threads for e in events))
    rows: dict[tuple[tuple[bool, ...], tuple[Sight, ...]], set[Thread]] = {}
    for thread in everybody:
        acts = tuple(thread in e.deed.threads for e in events)
        knows = tuple(seen.get(thread, Sight.none) for seen in sights)
        rows.setdefault((acts, knows), set()).add(thread)
    every = [Lane(frozenset(threads), *row) for row, threads in rows.items()]
    return _chosen(sorted(every, key=_first), events)


def _sights(found: Finding, event: Around) -> dict[Thread, Sight]:
    """What the threads know after an event; those that know nothing are not there."""
    known = dict.fromkeys((s.thread for s in event.async_set), Sight.asynchronous)
    known |= dict.fromkeys((s.thread for s in event.sync_set), Sight.otherwise)
    return known | dict.fromkeys(_on_timeline(found, event.sync_set), Sight.complete)


def _on_timeline(found: Finding, held: Signatures) -> list[Thread]:
    return [s.thread for s in held if pair_of(s) == found.later.pair]


def _first(lane: Lane) -> tuple[str, int]:
    thread = min(lane.threads, key=lambda t: (str(t.task), t.number))
    return str(thread.task), thread.number


def _chosen(every: Sequence[Lane], events: Sequence[Around]) -> list[Lane]:
    """Those of the accesses first, if there are too many; in the order of the threads."""
    own = [i for i, event in enumerate(events) if event.role]
    ranked = sorted(range(len(every)), key=lambda n: (not any(every[n].acts[i] for i in own), n))
    return [every[n] for n in sorted(ranked[:MOST])]


def hidden(found: Finding, shown: Sequence[Lane]) -> frozenset[Thread]:
    """The threads that have no lane."""
    everybody = found.blind.union(*(e.deed.threads for e in found.around))
    return everybody.difference(*(lane.threads for lane in shown))
