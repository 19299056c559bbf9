"""
Timelines that cost nothing
===========================

A sync-tl says more than the code that it becomes: ``Fence(cuda_in_order, cuda_in_order)`` and ``Fence(cuda_in_order,
Sm80_generic)`` become the same barrier, and yet only the second lets ``cp.async`` write where others wrote before.
Where another timeline with the same CUDA removes a hazard, the code is complete, and only the program has to name
another timeline. So this fix is suggested first (S-16), before any fix that would make threads wait longer.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from soundline.spec.errors import SynchronizationError
from soundline.spec.spork.diagnosis.causes import Case, crossings
from soundline.spec.spork.machine.events import Arrived, Awaited, Event, Fenced, Launched
from soundline.spec.spork.synchronization.barriers import await_pieces
from soundline.spec.spork.synchronization.fences import Collective, fence_pieces
from soundline.spec.spork.synchronization.timelines import ASYNC_BLOCKS, SYNC_TLS, SyncTl, sync_tl
from soundline.spec.spork.synchronization.visibility import Thread

Sides = tuple[SyncTl | None, SyncTl]
"""The first and the second timeline of a statement; an await has no first one."""


def costless(case: Case) -> Iterator[tuple[Event, Event, tuple[str, ...]]]:
    """The synchronizations between two accesses with other timelines that become the same CUDA, and what that is: the
    statement, the same with wider sides, and its pieces. The last statement comes first.
    """
    said = set()
    for crossing in reversed(list(crossings(case))):
        event = crossing.first if crossing.second is crossing.first else crossing.second
        if not isinstance(event, Fenced | Awaited) or event.place.path in said:
            continue
        said.add(event.place.path)
        arrive = crossing.first if isinstance(crossing.first, Arrived) else None
        pieces = _pieces(case, event, arrive)
        for other in _wider(event):
            if pieces is not None and _pieces(case, other, arrive) == pieces:
                yield event, other, pieces


def _wider(event: Fenced | Awaited) -> Iterator[Event]:
    """A statement with wider timelines: a second one, the least first; then a first one, alone and with these."""
    seconds = [event.second, *_above(event.second)]
    if isinstance(event, Awaited):
        yield from (replace(event, second=second) for second in seconds[1:])
        return
    for first in (event.first, *_above(event.first, first=True)):
        for second in seconds:
            if (first, second) != (event.first, event.second):
                yield replace(event, first=first, second=second)


def _above(timeline: SyncTl, *, first: bool = False) -> list[SyncTl]:
    """The timelines that wait for more, or reach more; a timeline that does less is not among them."""
    wider = [
        t
        for t in SYNC_TLS.values()
        if t.full > timeline.full
        and t.temporal >= timeline.temporal
        and (not first or t.transitive >= timeline.transitive)
    ]
    return sorted(wider, key=lambda t: (len(t.full), len(t.temporal)))


def _pieces(case: Case, event: Event, arrive: Arrived | None) -> tuple[str, ...] | None:
    """What a statement becomes; None, where it may not stand there."""
    by = _collective(case, event.place.threads)
    try:
        if isinstance(event, Fenced):
            return fence_pieces(event.first, event.second, by, opens_wgmma_block=True)
        assert isinstance(event, Awaited)
        first = arrive.first if arrive is not None else _first_of(case)
        queue = event.queue
        return await_pieces(event.type, first, event.second, by, n=event.n, reverse=queue.reverse)
    except SynchronizationError:
        return None


def _first_of(case: Case) -> SyncTl:
    """The timeline of a trailing barrier: that of its instruction."""
    tl = case.earlier.place.instr_tl
    return sync_tl(next((name for name, instr in ASYNC_BLOCKS.items() if instr is tl), "cuda_in_order"))


def _collective(case: Case, threads: Iterable[Thread]) -> Collective:
    """Who executes a statement, in the device function that it stands in."""
    launches = [e for _, e in case.run if isinstance(e, Launched)]
    numbers = frozenset(t.number for t in threads)
    if not launches:
        return Collective(numbers, max(numbers) + 1)
    return Collective(numbers, launches[-1].block_dim, launches[-1].cluster_dim)
