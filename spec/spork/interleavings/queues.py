"""
Queues of the hardware
======================

What the code of a barrier has to know about all of its statements: the timeline of its arrives; the depth of its ring
of mbarriers, which are its lags; the arrivals of a phase, which are the threads of every collective whose arrives reach
it; and the CTA that it belongs to, which is that of the threads who await it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Sequence

from soundline.spec.spork.machine.events import Arrived, Awaited, BarrierAllocated, Event
from soundline.spec.spork.synchronization.barriers import BarrierType, QueueId, ring_depth
from soundline.spec.spork.synchronization.timelines import SyncTl
from soundline.spec.spork.synchronization.visibility import Thread


class QueueUses:
    """How the queues of a program are used, in all of its events."""

    def __init__(self, events: Sequence[Event]) -> None:
        self.first: dict[tuple[Hashable, bool], SyncTl] = {}
        self.lags: dict[tuple[Hashable, bool], int] = {}
        self.counts: dict[QueueId, dict[QueueId, int]] = defaultdict(dict)
        self.awaiting: dict[QueueId, set[Thread]] = defaultdict(set)
        self.mbarriers: set[Hashable] = set()
        self.depths: dict[Hashable, int] = {}
        for event in events:
            if isinstance(event, BarrierAllocated) and event.depth is not None:
                self.depths[event.barrier] = event.depth
            if isinstance(event, Arrived | Awaited) and event.type is BarrierType.CudaMbarrier:
                self.mbarriers.add((event.queues[0] if isinstance(event, Arrived) else event.queue).barrier)
            if isinstance(event, Arrived):
                home = event.queues[0]
                self.first[home.barrier, home.reverse] = event.first
                for queue in event.queues:
                    self.counts[queue][home] = len(event.place.threads)
            elif isinstance(event, Awaited):
                queue = event.queue
                self.lags[queue.barrier, queue.reverse] = max(0, ~event.n)
                self.awaiting[queue] |= event.place.threads

    def depth(self, queue: QueueId) -> int:
        """How many mbarriers a queue has: what the static law says, else what its lags ask for."""
        if queue.barrier in self.depths:
            return self.depths[queue.barrier]
        lag = self.lags.get((queue.barrier, False), 0)
        back = (queue.barrier, True)
        reverse = self.lags.get(back, 1) if back in self.first or back in self.lags else None
        return ring_depth(str(queue.barrier), lag, reverse)

    def count(self, queue: QueueId) -> int:
        """The arrivals of a phase: of every collective whose arrives reach the queue."""
        return sum(self.counts[queue].values())
