"""
What each thread does
=====================

The parallel reading gives every thread, in program order, its share of the events in which it takes part. A share is a
short list of *ops*. Actions become jobs (`spec.spork.interleavings.jobs`); synchronizations become the pieces of CUDA
that `fences` and `barriers` say, and those the ops of this table:

- ``syncwarp``, ``barrier.cta.sync``, ``barrier.cluster``: MEET, then PASS when all threads of the event have met;
- ``fence.proxy.async``: FLUSH, after which the asynchronous proxy sees what was written through the generic one;
- ``wgmma.fence``: no op; registers that are used around a wgmma without one in between are *doubtful*;
- ``cp.async.wait_all``: WAIT for all copies that the thread has issued;
- commit groups: WAIT for the jobs of all groups of the thread but the last N; what another warp of its warpgroup issued
  to wgmma is none of them (S-15). Control never depends on data, so which jobs these are is known beforehand;
- ``mbarrier.arrive``, ``mbarrier.arrive.expect_tx``: SIGNAL. What an instruction will write is expected at its issue;
- ``cp.async.mbarrier.arrive.noinc``: DEFER a signal until all earlier copies of the thread are complete;
- ``mbarrier.try_wait``: TEST the parity of a phase. The k-th arrive at a queue uses mbarrier k mod depth of its ring,
  in phase k div depth. The first awaits, as many as the lag, are no op.

A GATE holds the threads of a launch, or of a par loop, until it is OPENed, and its owner waits to CLOSE it until they
and what they have issued are done; that also flushes. Each task has storage of its own, and a launch ends its tasks in
any order. A CTA then executes another task on the same shared memory, by the same threads. So when a thread has ended,
it may write to all of that memory (`used_again`); a later effect of the earlier task then shows as a corruption (S-06).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Final

from soundline.spec.spork.interleavings.jobs import Job, by_warps, halve, taken_apart, used_again
from soundline.spec.spork.interleavings.queues import QueueUses
from soundline.spec.spork.interleavings.registers import RegisterOrder
from soundline.spec.spork.machine.events import (
    Action,
    Allocated,
    Arrived,
    Awaited,
    Cell,
    Element,
    Ended,
    Event,
    Fenced,
    Forked,
    Joined,
    Launched,
    TaskEnded,
)
from soundline.spec.spork.synchronization.barriers import QueueId, arrive_pieces, await_pieces
from soundline.spec.spork.synchronization.fences import Collective, fence_pieces
from soundline.spec.spork.synchronization.timelines import InstrTl, sync_tl
from soundline.spec.spork.synchronization.visibility import Thread

WORK, ENTER, LEAVE, ISSUE, MEET, PASS, WAIT, SIGNAL, DEFER, TEST, FLUSH, GATE, OPEN, CLOSE = range(14)
ThreadOp = tuple[int, int, tuple[int, ...], int]
"""What to do, to which job, barrier, deferred signal or gate, with what, and the number of the event behind it."""

GROUPS: Final = {
    "cp.async.commit_group": InstrTl.Sm80_cp_async,
    "cp.async.bulk.commit_group": InstrTl.tma_to_gmem_async,
    "wgmma.commit_group": InstrTl.wgmma_async,
    "cp.async.wait_group": InstrTl.Sm80_cp_async,
    "cp.async.bulk.wait_group": InstrTl.tma_to_gmem_async,
    "wgmma.wait_group": InstrTl.wgmma_async,
}
"""The timeline whose instructions a piece of a commit group concerns."""

BARRIERS: Final = frozenset({"syncwarp", "barrier.cta.sync", "barrier.cluster"})


@dataclass(frozen=True, slots=True)
class Agent:
    """Threads that do the same and go on together."""

    threads: tuple[Thread, ...]
    ops: tuple[ThreadOp, ...]

    @property
    def weight(self) -> int:
        """How many they are."""
        return len(self.threads)


@dataclass(slots=True)
class Script:
    """A program as the parallel reading runs it."""

    events: Sequence[Event]
    agents: list[Agent] = field(default_factory=list)
    jobs: list[Job] = field(default_factory=list)
    cells: dict[Cell, int] = field(default_factory=dict)
    arguments: list[Element] = field(default_factory=list)
    reused: list[Element] = field(default_factory=list)
    """What the tasks that come after those of the program write."""
    meetings: list[int] = field(default_factory=list)
    """For each barrier, how many threads meet."""
    counts: list[int] = field(default_factory=list)
    """For each mbarrier, the arrivals of a phase."""
    deferred: list[tuple[tuple[int, ...], tuple[int, ...]]] = field(default_factory=list)
    """For each deferred signal, its mbarriers and the jobs that it waits for."""
    gates: list[tuple[frozenset[int], frozenset[int]]] = field(default_factory=list)
    """For each gate, the agents that it holds and the jobs that they issue."""
    waiters: dict[tuple[int, int], tuple[int, ...]] = field(default_factory=dict)
    """The agents that have an op of a kind on a barrier, gate or job."""
    workers: dict[int, int] = field(default_factory=dict)
    """The agent of each job in order of one thread."""
    mixed: frozenset[int] = frozenset()
    """The cells that the asynchronous proxy uses and that are written through the generic one."""
    closers: tuple[int, ...] = ()
    """The agents that close gates."""

    def index(self) -> None:
        """Find who waits for what, when the agents are known."""
        found: dict[tuple[int, int], list[int]] = defaultdict(list)
        for number, agent in enumerate(self.agents):
            for kind, what, detail, _ in agent.ops:
                for at in detail if kind == WAIT else (what,):
                    if not found[kind, at] or found[kind, at][-1] != number:
                        found[kind, at].append(number)
                if kind == WORK:
                    self.workers[what] = number
        self.waiters = {key: tuple(agents) for key, agents in found.items()}
        self.closers = tuple({a for (kind, _), agents in found.items() if kind == CLOSE for a in agents})
        halve(self.jobs)
        through = {c for job in self.jobs for use in job.uses() if use.through_async_proxy for c in use.cells}
        targets = [part.target for job in self.jobs for part in job.parts]
        self.mixed = frozenset(
            c for use in targets if not use.through_async_proxy for c in use.cells if c in through
        )
        for gate, (_, jobs) in enumerate(self.gates):
            self.gates[gate] = frozenset(self.waiters.get((GATE, gate), ())), jobs


def elections(events: Sequence[Event]) -> list[Mapping[int, Thread]]:
    """Every choice of which thread issues each asynchronous copy by a collective, of threads that differ at all.

    Where an mbarrier counts the copy, the first thread that comes to it allows the most behaviours, so there is no
    choice.
    """
    part: dict[Thread, list[int]] = defaultdict(list)
    for number, event in enumerate(events):
        for thread in event.place.threads:
            part[thread].append(number)
    choices = []
    for number, event in enumerate(events):
        if isinstance(event, Action) and _elects(event):
            alike = {tuple(part[t]): t for t in sorted(event.place.threads, key=_by_number, reverse=True)}
            choices.append([(number, thread) for thread in sorted(alike.values(), key=_by_number)])
    return [dict(choice) for choice in product(*choices)]


def _by_number(thread: Thread) -> tuple[str, int]:
    return str(thread.task), thread.number


def _elects(action: Action) -> bool:
    grouped = {InstrTl.Sm80_cp_async, InstrTl.tma_to_gmem_async}
    return action.place.instr_tl in grouped and len(action.place.threads) > 1


class _Projection:
    """Gives the threads their ops, event by event."""

    def __init__(self, events: Sequence[Event], election: Mapping[int, Thread]) -> None:
        self.script = Script(events)
        self.election = election
        self.queues = QueueUses(events)
        self.ops: dict[Thread, list[ThreadOp]] = defaultdict(list)
        self.issued: dict[tuple[Thread, InstrTl], list[int]] = defaultdict(list)
        self.open: dict[tuple[Thread, InstrTl], list[int]] = defaultdict(list)
        self.groups: dict[tuple[Thread, InstrTl], list[list[int]]] = defaultdict(list)
        self.arrives: dict[tuple[Thread, QueueId], int] = defaultdict(int)
        self.awaits: dict[tuple[Thread, QueueId], int] = defaultdict(int)
        self.slots: dict[tuple[QueueId, int], int] = {}
        self.registers = RegisterOrder(self.script.jobs)
        self.gates: list[tuple[int, int, set[Thread]]] = []
        """Of each launch or par loop that is open: its gate, the number of jobs before it, its threads."""
        self.block_dim = self.cluster_dim = 1
        self.number = 0

    def run(self) -> Script:
        """The script of all events."""
        self._sizes()
        for number, event in enumerate(self.script.events):
            self.number = number
            self._event(event)
        self.script.agents = list(_agents(self.ops))
        self.script.index()
        return self.script

    def _sizes(self) -> None:
        threads = [t.number for e in self.script.events for t in e.place.threads]
        self.block_dim = -(-(max(threads, default=0) + 1) // 32) * 32

    def _event(self, event: Event) -> None:
        match event:
            case Allocated() if event.is_argument:
                self.script.arguments += event.buffer.elements
            case Allocated(_, buffer):
                if InstrTl.wgmma_async in buffer.memory.instructions and buffer.space == "registers":
                    cells = self.script.cells
                    used = [cells.setdefault(c, len(cells)) for e in buffer.elements for c in e.cells]
                    self.registers.allocated(used, buffer.owner)
            case Action():
                self._action(event)
            case Fenced():
                self._fence(event)
            case Arrived():
                self._arrive(event)
            case Awaited():
                self._await(event)
            case Launched():
                self.block_dim, self.cluster_dim = event.block_dim, event.cluster_dim
                self._open(event.place.threads, set())
            case Forked():
                self._open(event.place.threads, set(event.children))
            case TaskEnded():
                self._next_task(event)
            case Ended() | Joined():
                self._close(event.place.threads)
            case _:
                pass

    def _add(self, thread: Thread, kind: int, what: int = 0, detail: Iterable[int] = ()) -> None:
        if thread not in self.ops:
            for gate, _, held in self.gates:
                if thread.task is not None and (not held or thread in held):
                    self.ops[thread].append((GATE, gate, (), self.number))
        self.ops[thread].append((kind, what, tuple(detail), self.number))

    # Launches and par loops ---------------------------------------------------------------------------------------

    def _open(self, owners: frozenset[Thread], held: set[Thread]) -> None:
        gate = len(self.script.gates)
        self.script.gates.append((frozenset(), frozenset()))
        for owner in owners:
            self._add(owner, OPEN, gate)
        self.gates.append((gate, len(self.script.jobs), held or set()))

    def _close(self, owners: frozenset[Thread]) -> None:
        gate, jobs, _ = self.gates.pop()
        self.script.gates[gate] = frozenset(), frozenset(range(jobs, len(self.script.jobs)))
        for owner in owners:
            self._add(owner, CLOSE, gate)

    # Actions ------------------------------------------------------------------------------------------------------

    def _action(self, action: Action) -> None:
        for share in by_warps(action):
            self._job(share)

    def _job(self, action: Action) -> None:
        threads = action.place.threads
        if self.number in self.election:
            threads = frozenset({self.election[self.number]})
        job = taken_apart(len(self.script.jobs), action, threads, self.script.cells)
        self.script.jobs.append(job)
        self.registers.add(job)
        self._expect(job)
        for thread in threads:
            if not job.in_order:
                self._add(thread, ISSUE, job.number)
                self.issued[thread, job.instr_tl].append(job.number)
                self.open[thread, job.instr_tl].append(job.number)
            elif len(threads) == 1:
                for part in range(len(job.parts)):
                    self._add(thread, WORK, job.number, (part,))
            else:
                self._add(thread, ENTER, job.number)
                self._add(thread, LEAVE, job.number)

    def _expect(self, job: Job) -> None:
        """Which mbarriers count the writes of a job: those of the CTA whose memory is written, where one is known."""
        queues = [q for q in job.action.trailing if q.barrier in self.queues.mbarriers]
        if not queues:
            return
        index = max(self.arrives[thread, queues[0]] for thread in job.threads)
        for part in job.parts:
            rank = _rank(part.target.element)
            there = [
                q for q in queues if rank in {t.number // self.block_dim for t in self.queues.awaiting[q]}
            ]
            part.slots = tuple(self._slot(q, index) for q in there or queues)

    def _next_task(self, event: TaskEnded) -> None:
        """The shared memory of the task is used again: each of its threads, when it has ended, may write there."""
        ranks: dict[int, set[Thread]] = defaultdict(set)
        for thread in event.place.threads:
            ranks[thread.number // self.block_dim].add(thread)
        for rank, threads in sorted(ranks.items()):
            cells = [c for c in self.script.cells if c.space == ("shared", event.task, rank)]
            if cells:
                action = used_again(event.place, frozenset(threads), cells)
                self.script.reused += action.touches[0].elements
                self._action(action)

    # Synchronization ----------------------------------------------------------------------------------------------

    def _collective(self, threads: frozenset[Thread]) -> Collective:
        return Collective(frozenset(t.number for t in threads), self.block_dim, self.cluster_dim)

    def _fence(self, event: Fenced) -> None:
        threads = event.place.threads
        if event.place.instr_tl is InstrTl.cpu_in_order:
            return
        by = self._collective(threads)
        for piece in fence_pieces(event.first, event.second, by, opens_wgmma_block=True):
            if piece == "wgmma.fence":
                self.registers.fence(threads)
            elif piece in BARRIERS:
                self.script.meetings.append(len(threads))
            for thread in threads:
                self._piece(thread, piece)

    def _piece(self, thread: Thread, piece: str, n: int = 0) -> None:
        if piece in BARRIERS:
            self._add(thread, MEET, len(self.script.meetings) - 1)
            self._add(thread, PASS, len(self.script.meetings) - 1)
        elif piece == "fence.proxy.async":
            self._add(thread, FLUSH)
        elif piece == "cp.async.wait_all":
            self._wait(thread, self.issued[thread, InstrTl.Sm80_cp_async])
        elif piece.endswith("wait_group"):
            groups = self.groups[thread, GROUPS[piece]]
            self._wait(thread, [job for group in groups[: max(0, len(groups) - n)] for job in group])
        elif piece.endswith("commit_group"):
            self.groups[thread, GROUPS[piece]].append(self.open.pop((thread, GROUPS[piece]), []))

    def _wait(self, thread: Thread, jobs: Iterable[int]) -> None:
        wanted = tuple(jobs)
        if wanted:
            self._add(thread, WAIT, 0, wanted)

    def _slot(self, queue: QueueId, index: int) -> int:
        """The mbarrier of the arrive with this index."""
        key = queue, index % self.queues.depth(queue)
        if key not in self.slots:
            self.slots[key] = len(self.script.counts)
            self.script.counts.append(max(1, self.queues.count(queue)))
        return self.slots[key]

    def _arrive(self, event: Arrived) -> None:
        threads, home = event.place.threads, event.queues[0]
        by = self._collective(threads)
        pieces = arrive_pieces(event.type, event.first, by, reverse=home.reverse, closes_block=True)
        for thread in threads:
            for piece in pieces:
                self._piece(thread, piece)
                if "mbarrier" in piece:
                    index = self.arrives[thread, home]
                    self._signal(thread, tuple(self._slot(q, index) for q in event.queues), "noinc" in piece)
            self.arrives[thread, home] += 1

    def _signal(self, thread: Thread, slots: tuple[int, ...], deferred: bool) -> None:
        copies = tuple(self.issued[thread, InstrTl.Sm80_cp_async])
        if deferred and copies:
            self._add(thread, DEFER, len(self.script.deferred))
            self.script.deferred.append((slots, copies))
        else:
            self._add(thread, SIGNAL, 0, slots)

    def _await(self, event: Awaited) -> None:
        threads, queue = event.place.threads, event.queue
        first = self.queues.first.get((queue.barrier, queue.reverse), sync_tl("cuda_in_order"))
        by = self._collective(threads)
        pieces = await_pieces(event.type, first, event.second, by, n=event.n, reverse=queue.reverse)
        for thread in threads:
            index = self.awaits[thread, queue] - ~event.n
            self.awaits[thread, queue] += 1
            for piece in pieces:
                if piece == "mbarrier.try_wait" and index >= 0:
                    phase = index // self.queues.depth(queue)
                    self._add(thread, TEST, self._slot(queue, index), (phase,))
                elif event.n >= 0 or index >= 0:
                    self._piece(thread, piece, event.n)


def _rank(element: Element) -> Hashable:
    """The rank of the CTA in whose shared memory an element lies."""
    space = element.cells[0].space
    return space[2] if isinstance(space, tuple) and len(space) == 3 else None


def _agents(ops: Mapping[Thread, list[ThreadOp]]) -> Iterable[Agent]:
    """Threads that do the same are one agent, or two where it matters which of them comes first and which last."""
    alike: dict[tuple[ThreadOp, ...], list[Thread]] = defaultdict(list)
    for thread in sorted(ops, key=_by_number):
        alike[tuple(ops[thread])].append(thread)
    apart = {ENTER, ISSUE, SIGNAL, TEST, DEFER}
    for share, threads in alike.items():
        if len(threads) > 1 and any(op[0] in apart for op in share):
            yield Agent(tuple(threads[:-1]), share)
            yield Agent(tuple(threads[-1:]), share)
        else:
            yield Agent(tuple(threads), share)


def script(events: Sequence[Event], election: Mapping[int, Thread] | None = None) -> Script:
    """The script of a program, with the election of who issues copies: the first of `elections` where none is given."""
    return _Projection(events, elections(events)[0] if election is None else election).run()
