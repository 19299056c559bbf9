"""
A moment of a parallel run
==========================

The state of a run is *control* (how far each thread is, what of each job is done, the barriers and mbarriers), which
stands here, and memory (`spec.spork.interleavings.memory`). Control never looks at memory.

A step of a thread that no other thread can observe is done at once: to come to a barrier, to go on after one, to issue,
and to wait for what is complete. What is left are *moves*, of which the run chooses one after another:

- ``work``: a part of a job in order, or what is left of it after ``load``: its reads, where others can come between;
- ``read`` and ``write``: those of an asynchronous job;
- ``leave``: a thread goes on from a job of its collective that is not done, which the others will do;
- ``signal`` and ``late``: an arrival at mbarriers, and a deferred one; ``test``: a thread finds its phase complete;
- ``issue``: of what mbarriers will count. Any other issue is done at once;
- ``flush``: a proxy fence.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from soundline.spec.spork.interleavings.jobs import Job
from soundline.spec.spork.interleavings.registers import Before
from soundline.spec.spork.interleavings.threads import (
    CLOSE,
    DEFER,
    ENTER,
    FLUSH,
    GATE,
    ISSUE,
    LEAVE,
    MEET,
    OPEN,
    PASS,
    SIGNAL,
    TEST,
    WAIT,
    WORK,
    Script,
    ThreadOp,
)
from soundline.spec.spork.synchronization.timelines import InstrTl

STOPS: Final = frozenset({WORK, LEAVE, SIGNAL, TEST, ISSUE, FLUSH})
NAMES: Final = {SIGNAL: "signal", ISSUE: "issue", FLUSH: "flush"}
"""The ops that are moves."""
TOUCHING: Final = frozenset({"load", "work", "read", "write"})
"""The moves that use memory."""


class Move(NamedTuple):
    """One step of a run."""

    kind: str
    """load, work, read, write, leave, signal, late, test, issue or flush."""
    who: int
    """The job of what uses memory; the agent that does anything else; the number of a deferred signal."""
    what: int = 0
    """The number of the part or read; of the op of a thread."""
    choice: int = 0
    """How many contents before the last one are seen, or overtake what is written; 1 for what is doubtful."""


class Control:
    """Who is where."""

    __slots__ = (
        "at", "due", "entered", "flushed", "front", "got", "left", "made", "met", "opened", "pending", "phases",
        "script", "tx", "unlocked", "woken",
    )  # fmt: skip

    def __init__(self, script: Script) -> None:
        self.script = script
        self.at = [0] * len(script.agents)
        self.entered = [0] * len(script.jobs)
        self.left = [0] * len(script.jobs)
        self.got = [0] * len(script.jobs)
        """The reads that asynchronous jobs have done, and the parts that jobs in order have loaded, as bits."""
        self.made = [0] * len(script.jobs)
        """The parts that are done, as bits."""
        self.met = [0] * len(script.meetings)
        self.phases = [0] * len(script.counts)
        self.pending = list(script.counts)
        self.tx = [0] * len(script.counts)
        self.unlocked = [False] * len(script.gates)
        self.front: set[int] = set()
        """The agents whose next op is a move."""
        self.opened: set[int] = set()
        """The jobs that have begun and are not done."""
        self.due: set[int] = set()
        """The deferred signals that wait."""
        self.flushed = False
        """Whether a launch or a par loop began or ended since this was last made false."""
        self.woken: list[int] = []
        """The agents that may go on."""

    def copy(self) -> Control:
        """The same, to go on from."""
        other = Control.__new__(Control)
        other.script = self.script
        for name in ("at", "entered", "left", "got", "made", "met", "phases", "pending", "tx", "unlocked"):
            setattr(other, name, getattr(self, name)[:])
        other.front, other.opened, other.due = set(self.front), set(self.opened), set(self.due)
        other.flushed, other.woken = False, []
        return other

    # What has happened --------------------------------------------------------------------------------------------

    def next_op(self, agent: int) -> ThreadOp | None:
        """The op at which an agent stands."""
        ops = self.script.agents[agent].ops
        return ops[self.at[agent]] if self.at[agent] < len(ops) else None

    def is_done(self, job: int) -> bool:
        """Whether a job is complete."""
        whole = self.script.jobs[job]
        begun = self.entered[job] > 0 or bool(self.made[job])
        read = whole.in_order or self.got[job] == (1 << len(whole.reads)) - 1
        return begun and self.made[job] == (1 << len(whole.parts)) - 1 and read

    def happened(self, before: Before) -> bool:
        """Whether a part or a read is done; ~the number of a part in order asks whether it is loaded."""
        job, number = before
        return bool(self.made[job] >> number & 1 if number >= 0 else self.got[job] >> ~number & 1)

    def is_complete(self, slot: int, phase: int) -> bool:
        """Whether a test of the parity of a phase finds it complete."""
        return self.phases[slot] & 1 != phase & 1

    def has_all(self, job: Job) -> bool:
        """Whether all threads of a job have come."""
        return self.entered[job.number] == len(job.threads)

    @property
    def ended(self) -> bool:
        """Whether all threads have ended, and all that they issued is done."""
        return not self.opened and not self.due and all(self.next_op(a) is None for a in range(len(self.at)))

    # What threads do unnoticed ------------------------------------------------------------------------------------

    def begin(self) -> None:
        """Bring every agent to its first move."""
        self._settle(range(len(self.at)))

    def _settle(self, agents: Iterable[int]) -> None:
        """Let agents go on, and those that they wake."""
        self.woken += agents
        while self.woken:
            self._go_on(self.woken.pop())

    def _go_on(self, agent: int) -> None:
        """Do what an agent does until its next move or until it has to wait."""
        self.front.discard(agent)
        while (op := self.next_op(agent)) is not None:
            if op[0] in STOPS and not self._unnoticed(op):
                self.front.add(agent)
                return
            if not self._passes(op):
                return
            self.at[agent] += 1
            self._did(agent, op)
        self._wake_closers()

    def _unnoticed(self, op: ThreadOp) -> bool:
        """Whether an op that can be a move is none now."""
        if op[0] == FLUSH:
            return not self.script.mixed
        if op[0] == ISSUE:
            return self.entered[op[1]] > 0 or not any(p.slots for p in self.script.jobs[op[1]].parts)
        return op[0] == LEAVE and self.is_done(op[1])

    def _passes(self, op: ThreadOp) -> bool:
        kind, what, detail, _ = op
        if kind == PASS:
            return self.met[what] == self.script.meetings[what]
        if kind == WAIT:
            return all(self.is_done(job) for job in detail)
        if kind == GATE:
            return self.unlocked[what]
        if kind == CLOSE:
            agents, jobs = self.script.gates[what]
            return all(self.next_op(a) is None for a in agents) and not (self.opened & jobs or self.due)
        return True

    def _did(self, agent: int, op: ThreadOp) -> None:
        kind, what, _, _ = op
        if kind == MEET:
            self.met[what] += self.script.agents[agent].weight
            if self.met[what] == self.script.meetings[what]:
                self._wake(PASS, what)
        elif kind in (ENTER, ISSUE):
            self._come(agent, self.script.jobs[what])
        elif kind == LEAVE:
            self.left[what] += self.script.agents[agent].weight
        elif kind == OPEN:
            self.unlocked[what] = True
            self._wake(GATE, what)
        elif kind == DEFER:
            self.due.add(what)
        self.flushed |= kind in (OPEN, CLOSE)

    def _come(self, agent: int, job: Job) -> None:
        first = self.entered[job.number] == 0
        self.entered[job.number] += self.script.agents[agent].weight
        if first:
            for part in job.parts:
                for slot in part.slots:
                    self.tx[slot] += 1
        if self.is_done(job.number):
            return
        if self.has_all(job) if job.waits_for_all else first:
            self.opened.add(job.number)

    def _wake(self, kind: int, what: int) -> None:
        for agent in self.script.waiters.get((kind, what), ()):
            op = self.next_op(agent)
            if op is not None and op[0] == kind:
                self.woken.append(agent)

    def _wake_closers(self) -> None:
        for agent in self.script.closers:
            op = self.next_op(agent)
            if op is not None and op[0] == CLOSE:
                self.woken.append(agent)

    # Moves --------------------------------------------------------------------------------------------------------

    def ready(self, job: Job) -> Iterator[Move]:
        """What of a job that has begun can be done now, without the choices."""
        made, got = self.made[job.number], self.got[job.number]
        if job.in_order:
            for n, part in enumerate(job.parts):
                if not made >> n & 1 and all(map(self.happened, part.after)):
                    yield self._next_half(job, n)
                    if job.together:
                        return
            return
        for n, read in enumerate(job.reads):
            if not got >> n & 1 and (not read.convergent or self._allowed(job, job.after[n])):
                yield Move("read", job.number, n)
        for n, part in enumerate(job.parts):
            if not made >> n & 1 and all(got >> r & 1 for r in part.reads) and self._allowed(job, part.after):
                yield Move("write", job.number, n)

    def _next_half(self, job: Job, number: int) -> Move:
        loads = job.parts[number].halved and not self.got[job.number] >> number & 1
        return Move("load" if loads else "work", job.number, number)

    def _allowed(self, job: Job, after: list[Before]) -> bool:
        come = job.instr_tl is not InstrTl.wgmma_async or self.has_all(job)
        return come and all(map(self.happened, after))

    def of_agent(self, agent: int) -> Move | None:
        """The move of an agent, where it has one now."""
        kind, what, detail, _ = self.script.agents[agent].ops[self.at[agent]]
        if kind == WORK:
            job = self.script.jobs[what]
            free = all(map(self.happened, job.parts[detail[0]].after))
            return self._next_half(job, detail[0]) if free else None
        if kind == LEAVE:
            last = self.left[what] + self.script.agents[agent].weight == len(self.script.jobs[what].threads)
            held = last or self.script.jobs[what].waits_for_all
            return None if held else Move("leave", agent, self.at[agent])
        if kind == TEST:
            return Move("test", agent, self.at[agent]) if self.is_complete(what, detail[0]) else None
        return Move(NAMES[kind], agent, self.at[agent])

    def of_due(self, number: int) -> Move | None:
        """The move of a deferred signal, where it is due."""
        done = all(map(self.is_done, self.script.deferred[number][1]))
        return Move("late", number) if done else None

    def advance(self, move: Move) -> None:
        """Do a move, but for what it does to memory."""
        kind, who, what, _ = move
        if kind in ("read", "load"):
            self.got[who] |= 1 << what
            self._finished(who)
        elif kind in ("work", "write"):
            self._made(self.script.jobs[who], what)
        elif kind == "late":
            self.due.discard(who)
            for slot in self.script.deferred[who][0]:
                self._arrived(slot, 1)
            self._wake_closers()
        else:
            agent = self.script.agents[who]
            op = agent.ops[what]
            if kind == "signal":
                for slot in op[2]:
                    self._arrived(slot, agent.weight)
            elif kind == "leave":
                self.left[op[1]] += agent.weight
            elif kind == "issue":
                self._come(who, self.script.jobs[op[1]])
            self.at[who] += 1
            self.woken.append(who)
        self._settle(())

    def _made(self, job: Job, number: int) -> None:
        for part in range(len(job.parts)) if job.together else (number,):
            self.made[job.number] |= 1 << part
            for slot in job.parts[part].slots:
                self.tx[slot] -= 1
                self._arrived(slot, 0)
        if job.in_order and len(job.threads) == 1:
            worker = self.script.workers[job.number]
            self.at[worker] += 1
            self.woken.append(worker)
        self._finished(job.number)

    def _arrived(self, slot: int, weight: int) -> None:
        self.pending[slot] -= weight
        while self.pending[slot] <= 0 and self.tx[slot] == 0:
            self.phases[slot] += 1
            self.pending[slot] += self.script.counts[slot]

    def _finished(self, job: int) -> None:
        if self.is_done(job) and job in self.opened:
            self.opened.discard(job)
            self._wake(LEAVE, job)
            self._wake(WAIT, job)
            self._wake_closers()
