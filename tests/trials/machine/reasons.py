"""
Why a refusal shows nothing
===========================

A program that the machine refuses, and that every interleaving gets right, is no defect: the machine asks for what is
said, and the hardware may do more, or luck may have it that nobody looks. `reason` says which, as far as that can be
told from the program.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from soundline.spec.spork.machine.events import Arrived, Awaited, Event, Fenced
from soundline.spec.spork.machine.transitions import Machine
from soundline.spec.spork.synchronization.barriers import BarrierType
from soundline.spec.spork.synchronization.timelines import (
    GENERIC,
    InstrTl,
    SyncTl,
    sync_tl,
    within_first,
    within_second,
)
from soundline.spec.spork.synchronization.visibility import Hazard
from trials.machine.verdicts import hazards

SAMPLED = "only some interleavings were tried"
FREED = "storage ends too early, and nothing uses its bytes again"
UNEQUAL = "counts are unequal, and the barrier is not used again"
LATE = "an await stands before its arrive in the sequential order, and other threads arrive in time"
MORE = "its synchronization becomes more in CUDA than its timelines ask for"
ISSUED = "a thread issues an asynchronous access after one in order to the same place, which is over by then"
READ = "what is read too early is what would be read in time, or has no effect"
WRITTEN = "two writes come in any order, of the same value or with no effect"
OVERWRITTEN = "what is overwritten too early has been read in every interleaving, or has no effect"

IN_ORDER = frozenset({InstrTl.cpu_in_order, InstrTl.cuda_in_order})


def reason(events: Sequence[Event], found: Sequence[Hazard], *, complete: bool) -> str:
    """Why no interleaving is wrong, though the machine found hazards."""
    ids = {h.id for h in found}
    if not complete:
        return SAMPLED
    if ids <= {"mach-free-write", "mach-free-read"}:
        return FREED
    if ids == {"mach-barrier-unequal"}:
        return UNEQUAL
    if "mach-await-progress" in ids:
        return LATE
    if not hazards(strengthened(events)):
        return MORE
    if all(map(_is_issued, _with_threads(events))):
        return ISSUED
    if "mach-read-raw" in ids:
        return READ
    return WRITTEN if ids & {"mach-write-waw", "mach-free-write"} else OVERWRITTEN


def strengthened(events: Iterable[Event]) -> Iterator[Event]:
    """The events in which every synchronization says all that its pieces of CUDA do."""
    for event in events:
        match event:
            case Fenced(first=first, second=second) if first.name != "wgmma_fence_1":
                yield replace(event, first=_first(first), second=_second(second))
            case Arrived(type=BarrierType.CudaMbarrier, first=first) if within_first(first, ORDERED):
                yield replace(event, first=ORDERED)
            case Awaited(second=second):
                yield replace(event, second=_second(second))
            case _:
                yield event


ORDERED = sync_tl("cuda_in_order")


def _first(timeline: SyncTl) -> SyncTl:
    """A barrier orders what its threads did in order; with ``cp.async.wait_all`` their copies as well."""
    if within_first(timeline, ORDERED):
        return ORDERED
    return replace(sync_tl("Sm80_generic"), transitive=True)


def _second(timeline: SyncTl) -> SyncTl:
    """All of the generic proxy sees what came before a barrier; with a proxy fence the other one as well."""
    weaker = sync_tl("Sm80_generic")
    return weaker if within_second(timeline, weaker) else sync_tl("cuda_generic_and_async_proxy")


def _with_threads(events: Iterable[Event]) -> Iterator[tuple[Hazard, Event]]:
    """The hazards, with records that know who did the access, and the event of each."""
    machine = Machine()
    for event in events:
        for hazard in machine.step(event, event.place.path):
            yield hazard, event
        if machine.stuck:
            return


def _is_issued(met: tuple[Hazard, Event]) -> bool:
    """Whether a hazard is between an access in order and a later one that the same thread issues."""
    hazard, event = met
    record = hazard.record
    return (
        record is not None
        and record.origin in GENERIC
        and record.origin.instr in IN_ORDER
        and len(record.threads) == 1
        and hazard.threads == record.threads
        and event.place.instr_tl not in IN_ORDER
    )
