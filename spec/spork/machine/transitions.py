"""
Transitions
===========

What each event of a run does to the abstract machine: to the histories of its locations (`storage`) and to the counters
of its barriers (`barriers`). The machine is literal: an element is its cells, an access goes to each of them, and a
synchronization concerns all records.

An action is one instruction. Its reads and writes are no hazards to each other: all of them are checked against what
was before, then all are recorded (S-04).

The collective that frees storage has to see what was done with it, in order on the timeline of its memory: the device
its shared memory and its registers, the CPU the rest (S-06).

A register may have been used for something else shortly before its life began: PTX asks for a ``wgmma.fence`` before
the first wgmma. So registers that wgmma may use begin with the record of a write by their owner (S-11).

The tasks of a launch need no clause. Each has threads and shared memory of its own, so nothing that one of them
executes concerns what another did to a cell that both use (S-07). The launch orders everything, and so does the end
(S-12). Threads of the CPU that a par loop starts, or that end with it, are ordered as by a fence.

An Await that no Arrive matches never returns; the run stops there.

The warps of a warpgroup issue wgmma each for itself, and each waits for its own (S-15): one instruction is an access by
every warp to the rows of the accumulator that it holds, and to what these are computed of; the arrive and await of a
commit group are one of each warp.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass, field

from soundline.spec.errors import SynchronizationError
from soundline.spec.spork.machine.events import (
    Action,
    Allocated,
    Arrived,
    Awaited,
    BarrierAllocated,
    BarrierFreed,
    Buffer,
    Cell,
    Element,
    Ended,
    Event,
    Fenced,
    Forked,
    Freed,
    Joined,
    Launched,
    Touch,
)
from soundline.spec.spork.machine.storage import Locations
from soundline.spec.spork.synchronization.barriers import Queue, QueueId, Stamp, waits_apart
from soundline.spec.spork.synchronization.rings import Rings
from soundline.spec.spork.synchronization.timelines import CPU, InstrTl, Pair, pair, sync_tl
from soundline.spec.spork.synchronization.visibility import Access, Hazard, Kind, Policy, Thread, Where

ON_CPU = sync_tl("cpu_in_order")


@dataclass(slots=True)
class Machine:
    """The abstract machine in the middle of a run."""

    policy: Policy = Policy.temporal
    forgets: bool = False
    """Whether records forget who did an access, which only messages want to know."""
    only: frozenset[Cell] | None = None
    """The cells to look at; None for all. What happens at one cell does not depend on others."""
    storage: Locations = field(init=False)
    queues: dict[QueueId, Queue] = field(default_factory=dict)
    rings: Rings = field(default_factory=Rings)
    depths: dict[Hashable, int] = field(default_factory=dict)
    """How many mbarriers the queues of a barrier have."""
    stuck: bool = False
    """Whether an await never returned."""

    def __post_init__(self) -> None:
        self.storage = Locations(self.policy)

    def step(self, event: Event, where: Where) -> list[Hazard]:
        """Execute an event, told from others by `where`; gives its hazards."""
        match event:
            case Action():
                return self._act(event, where)
            case Allocated(_, buffer):
                return self._allocate(buffer, where)
            case Freed(_, buffer):
                cells = self.cells(buffer.elements)
                return self.storage.free(cells, buffer.owner, where, pair=freeing_pair(buffer))
            case Fenced(place, first, second):
                self.storage.fence(first, second, place.threads)
                if first.name != "wgmma_fence_1":  # which makes no thread wait for another
                    self.rings.fenced(place.threads)
            case BarrierAllocated(depth=int(depth)):
                self.depths[event.barrier] = depth
            case Arrived():
                return self._arrive(event, where)
            case Awaited():
                return self._await(event, where)
            case BarrierFreed():
                return self._barrier_freed(event, where)
            case Forked(place, children) | Joined(place, children):
                self.storage.fence(ON_CPU, ON_CPU, place.threads | frozenset(children))
            case Launched() | Ended():
                self.storage.order_everything()
        return []

    def _allocate(self, buffer: Buffer, where: Where) -> list[Hazard]:
        """Begin the life of storage. Registers of wgmma begin as they were left by what used them before."""
        cells = self.cells(buffer.elements)
        found = self.storage.allocate(cells, buffer.owner, where)
        if buffer.space == "registers" and InstrTl.wgmma_async in buffer.memory.instructions:
            before = pair(InstrTl.cuda_in_order, buffer.memory.usage)
            left = Access(
                Kind.write, before, buffer.owner, convergent=True, where=where, forgets=self.forgets
            )
            self.storage.record(cells, left)
        return found

    def cells(self, elements: Iterable[Element]) -> list[Cell]:
        """The cells of elements, each once, restricted to those that are recorded."""
        every = dict.fromkeys(cell for element in elements for cell in element.cells)
        return [cell for cell in every if self.only is None or cell in self.only]

    def queue(self, name: QueueId) -> Queue:
        """A queue as it is now; before its first use its counters are 0."""
        return self.queues.get(name, Queue(name))

    # Actions ------------------------------------------------------------------------------------------------------

    def _act(self, action: Action, where: Where) -> list[Hazard]:
        """Check all touches against what was before, then record them: what is read, then what is written."""
        stamps = self._stamps(action.trailing)
        touches = [(self.cells(t.elements), self._access(action, t, stamps, where)) for t in action.touches]
        found = [hazard for cells, access in touches for hazard in self.storage.check(cells, access)]
        for cells, access in touches:
            self.storage.record(cells, access)
        self.rings.arrived(stamps, action.place.threads)
        return found

    def _access(self, action: Action, touch: Touch, stamps: frozenset[Stamp], where: Where) -> Access:
        return Access(
            touch.kind,
            touch.pair,
            touch.threads(action.place),
            touch.extended,
            touch.out_of_order,
            touch.convergent,
            stamps,
            where,
            self.forgets,
            touch.seen_by,
        )

    # Barriers -----------------------------------------------------------------------------------------------------

    def _stamps(self, queues: tuple[QueueId, ...]) -> frozenset[Stamp]:
        """What an arrive leaves at each of its queues: the count of the home, which is the first."""
        return frozenset(Stamp(name, self.queue(queues[0]).arrives) for name in queues)

    def _arrive(self, event: Arrived, where: Where) -> list[Hazard]:
        """Stamp the records; only the home counts the arrive. The slot of an mbarrier has to be free (`rings`)."""
        home, by, stamps = event.queues[0], event.place.threads, self._stamps(event.queues)
        found = []
        depth = self.depths.get(home.barrier)
        if depth is not None:
            before = self.queue(home).arrives - depth
            if before >= 0:
                given = self.rings.overrun(event.queues, before, by)
                if given is not None:
                    found.append(Hazard("mach-arrive-overrun", home, where, threads=by, given=given))
            self.rings.arrived(stamps, by)
        for warp, share in _shares(event):
            own = frozenset(stamp._replace(warp=warp) for stamp in stamps)
            self.storage.arrive(event.first, share, own)
        self.queues[home] = self.queue(home).arrived()
        return found

    def _await(self, event: Awaited, where: Where) -> list[Hazard]:
        """Release the records, or stop where no arrive is there to wait for."""
        try:
            bound, self.queues[event.queue] = self.queue(event.queue).awaited(event.n)
        except SynchronizationError as error:
            self.stuck = True
            return [_of_queue("mach-await-progress", event.queue, where, event.place.threads, error)]
        for warp, share in _shares(event):
            self.storage.release(event.queue, bound, event.second, share, warp)
        depth = self.depths.get(event.queue.barrier)
        if depth is not None and bound:
            self.rings.released(event.queue, bound, event.place.threads)
            self.rings.awaited(event.queue, bound - 1, event.place.threads, depth)
        return []

    def _barrier_freed(self, event: BarrierFreed, where: Where) -> list[Hazard]:
        """The counters of each queue of the barrier have to be equal. They go on when it is allocated again, for it is
        the same mbarriers then.
        """
        found = []
        for name in sorted(q for q in self.queues if q.barrier == event.barrier):
            try:
                self.queue(name).ended()
            except SynchronizationError as error:
                found.append(_of_queue("mach-barrier-unequal", name, where, event.place.threads, error))
        return found


def freeing_pair(buffer: Buffer) -> Pair:
    """How an owner sees what was done with storage that it frees: the CPU frees what lies outside of the device."""
    if buffer.space in {"host", "global"}:
        return CPU
    return pair(InstrTl.cuda_in_order, buffer.memory.usage)


def _shares(event: Arrived | Awaited) -> Iterator[tuple[int | None, frozenset[Thread]]]:
    """The threads of an arrive or await, as they wait for themselves."""
    threads = {t.number: t for t in event.place.threads}
    for warp, numbers in waits_apart(event.type, threads).items():
        yield warp, frozenset(threads[n] for n in numbers)


def _of_queue(
    rule: str, queue: QueueId, where: Where, threads: frozenset[Thread], error: SynchronizationError
) -> Hazard:
    return Hazard(rule, queue, where, threads=threads, given=error.given)
