"""
Rings of mbarriers
==================

A queue of a ``CudaMbarrier`` is a ring of `depth` physical mbarriers: arrive i is at slot i mod depth, in phase i div
depth of that slot. A slot tells only whether its phase is odd or even. So nobody may be a round ahead:

- an arrive in the next round of a slot that was made before the phase was complete would be counted in this phase, so
  each thread that arrives has to know that the phase is over;
- a phase that completed before everybody who waits for the one before has seen that one would be taken for it, and
  their await would never return; so it must not complete before, and it does not as long as one of those who arrive
  waits.

Both follow from one question: who is known to come after an await? `Rings` keeps that for each thread that awaited. A
fence of several threads passes it on to all of them, an mbarrier from those who arrive to those who await. This is
order of execution, not visibility: neither timelines nor proxies matter.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from soundline.spec.spork.synchronization.barriers import QueueId, Stamp
from soundline.spec.spork.synchronization.visibility import Thread

Threads = frozenset[Thread]


@dataclass(frozen=True, slots=True)
class Waited:
    """A thread that awaited arrive `number` of a queue, and who is known to come after that."""

    queue: QueueId
    number: int
    thread: Thread
    after: Threads
    stamps: frozenset[Stamp] = frozenset()


@dataclass(slots=True)
class Rings:
    """Who comes after which await."""

    waited: list[Waited] = field(default_factory=list)

    def awaited(self, queue: QueueId, number: int, by: Threads, depth: int) -> None:
        """Threads have awaited an arrive. The entries of two rounds before are no longer needed."""
        self.waited = [w for w in self.waited if w.queue != queue or w.number >= number - 2 * depth]
        self.waited += [Waited(queue, number, thread, frozenset({thread})) for thread in sorted(by)]

    def fenced(self, by: Threads) -> None:
        """Threads waited for each other."""
        self.waited = [
            replace(w, after=w.after | by) if not w.after.isdisjoint(by) else w for w in self.waited
        ]

    def arrived(self, stamps: frozenset[Stamp], by: Threads) -> None:
        """Threads have arrived at queues. Where one lane arrives for a warp, `elect.sync` made it wait for all."""
        self.waited = [replace(w, stamps=w.stamps | stamps) if _knows(w, by) else w for w in self.waited]

    def released(self, queue: QueueId, bound: int, by: Threads) -> None:
        """Threads have awaited the arrives below a bound: they come after all that arrived there."""
        self.waited = [
            replace(w, after=w.after | by)
            if any(s.queue == queue and s.arrive < bound for s in w.stamps)
            else w
            for w in self.waited
        ]

    def overrun(self, queues: Iterable[QueueId], number: int, by: Threads) -> str | None:
        """What is wrong with an arrive by threads whose slot was used by arrive `number`; the home comes first."""
        for position, queue in enumerate(queues):
            waited = [w for w in self.waited if (w.queue, w.number) == (queue, number)]
            if not waited:
                return f"arrive {number} was not awaited"
            if position == 0 and not all(_knows(w, by) for w in waited):
                return f"the await of arrive {number} may still go on"
            if not by <= frozenset().union(*(w.after for w in waited)):
                return f"arrive {number} may not be complete"
        return None


def _knows(waited: Waited, by: Threads) -> bool:
    """Whether an arrive by threads comes after an await: a phase is complete when all have arrived, so one suffices."""
    return not by.isdisjoint(waited.after)
