"""
Which moves have to be tried
============================

Runs that differ only in the order of moves which do not touch each other end alike, so not every order has to be run.
At each moment a *persistent set* of moves is enough: no move outside of the set that could ever come before one of them
conflicts with it. Control never depends on data, so what the others can do while one agent stands still is found by
letting them do all of it (`Reach`). Where nothing of that conflicts with the next move of the agent, that move alone is
tried; where every agent has conflicts, all moves are. So a program without races has one run.

Moves conflict when they use a cell that one of them writes, atomic adds apart; or an mbarrier, where one might complete
a phase that the other finds complete, or that the other arrives in. A proxy fence allows the most behaviours when it
comes before the generic writes, which it then does not affect, and after the accesses that may still see older
contents. So a fence conflicts only with such accesses, and a generic write conflicts with every fence.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator

from soundline.spec.spork.interleavings.jobs import ElementUse
from soundline.spec.spork.interleavings.memory import ParallelState, touched
from soundline.spec.spork.interleavings.state import Control, Move
from soundline.spec.spork.interleavings.threads import LEAVE, TEST, Script
from soundline.spec.spork.synchronization.visibility import Kind

IN_ORDER = frozenset({"load", "work"})
"""The moves of jobs in order."""

Accesses = tuple[frozenset[int], frozenset[int], frozenset[int]]
"""The cells that are read, written, and atomically added to."""


def moves(control: Control) -> Iterator[Move]:
    """All moves of a moment, without their choices: those of threads first, those of asynchronous actions last."""
    for agent in sorted(control.front):
        if (move := control.of_agent(agent)) is not None:
            yield move
    for job in sorted(control.opened, key=lambda j: not control.script.jobs[j].in_order):
        yield from control.ready(control.script.jobs[job])
    for number in sorted(control.due):
        if (move := control.of_due(number)) is not None:
            yield move


class Search:
    """What is known of a script before it runs."""

    def __init__(self, script: Script) -> None:
        self.script = script
        self.accesses: dict[Move, Accesses] = {}
        self.users: dict[int, list[Move]] = defaultdict(list)
        for job in script.jobs:
            kinds = [("work" if job.in_order else "write", len(job.parts))]
            kinds += [] if job.in_order else [("read", len(job.reads))]
            for kind, count in kinds:
                for number in range(count):
                    self._note(Move(kind, job.number, number))
            for number, part in enumerate(job.parts):
                if part.halved:
                    self._note(Move("load", job.number, number))

    def _note(self, move: Move) -> None:
        found: dict[Kind, set[int]] = defaultdict(set)
        for cell, kind in touched(self.script, move):
            found[kind].add(cell)
        for cell in set().union(*found.values()):
            self.users[cell].append(move)
        self.accesses[move] = (
            frozenset(found[Kind.read]),
            frozenset(found[Kind.write]),
            frozenset(found[Kind.atomic]),
        )

    def persistent(self, state: ParallelState) -> list[Move]:
        """A persistent set of moves, with their choices; empty where nothing can move."""
        possible = []
        for move in moves(state.control):
            if move.kind != "leave" and not self.conflicts(state, move):
                return list(state.choices(move))
            possible.append(move)
        return [choice for move in possible for choice in state.choices(move)]

    def conflicts(self, state: ParallelState, move: Move) -> bool:
        """Whether others could do what conflicts with a move before it is done."""
        control, slots = state.control, _slots(self.script, move)
        rivals = self._overtakers(state) if move.kind == "flush" else self._rivals(control, move)
        flush = move in self.accesses and not self.script.mixed.isdisjoint(self._generic(move))
        if not rivals and not slots and not flush:
            return False
        return any(
            Reach(self.script, control, move, holder).conflicts(rivals, slots, flush)
            for holder in self._holders(control, move)
        )

    def _overtakers(self, state: ParallelState) -> frozenset[Move]:
        """What could still see or overtake the contents that a proxy fence ends."""
        found = {m for cell in state.older for m in self.users[cell] if not _done(state.control, m)}
        return frozenset(m for m in found if _use(self.script, m).through_async_proxy)

    def _generic(self, move: Move) -> frozenset[int]:
        """The cells that a move writes through the generic proxy."""
        _, written, added = self.accesses[move]
        through = _use(self.script, move).through_async_proxy
        return frozenset() if through else written | added

    def _rivals(self, control: Control, move: Move) -> frozenset[Move]:
        """What uses the cells of a move so that the order matters, and is not done yet."""
        if move not in self.accesses:
            return frozenset()
        read, written, added = self.accesses[move]
        found = set()
        for cell in read | written | added:
            for other in self.users[cell]:
                if not _of_one(move, other) and not _done(control, other):
                    theirs = self.accesses[other]
                    # what adds to a cell atomically does not read it (instr-atomic, seq-overlap)
                    alike = cell in added and cell in theirs[2]
                    if not alike and (cell in written | added or cell in theirs[1] | theirs[2]):
                        found.add(other)
        return frozenset(found)

    def _holders(self, control: Control, move: Move) -> Iterable[int | None]:
        """The threads that may stay with a job of a collective until it is done: those that have not gone on."""
        if move.kind not in IN_ORDER or len(self.script.jobs[move.who].threads) == 1:
            return (None,)
        there = []
        for agent in self.script.waiters[LEAVE, move.who]:
            rest = self.script.agents[agent].ops[control.at[agent] :]
            if any(op[0] == LEAVE and op[1] == move.who for op in rest):
                there.append(agent)
        return there


def _of_one(move: Move, other: Move) -> bool:
    """Whether two moves that use memory belong to one job and do not concern each other."""
    return move.who == other.who and (move.kind == other.kind or move.kind in IN_ORDER)


def _done(control: Control, move: Move) -> bool:
    return control.happened((move.who, ~move.what if move.kind in ("read", "load") else move.what))


def _use(script: Script, move: Move) -> ElementUse:
    job = script.jobs[move.who]
    return job.reads[move.what] if move.kind == "read" else job.parts[move.what].target


def _slots(script: Script, move: Move) -> frozenset[int]:
    """The mbarriers that a move arrives at or tests."""
    if move.kind == "late":
        return frozenset(script.deferred[move.who][0])
    if move.kind == "issue":
        job = script.jobs[script.agents[move.who].ops[move.what][1]]
        return frozenset(slot for part in job.parts for slot in part.slots)
    if move.kind == "write":
        return frozenset(script.jobs[move.who].parts[move.what].slots)
    if move.kind in ("signal", "test"):
        kind, slot, detail, _ = script.agents[move.who].ops[move.what]
        return frozenset({slot} if kind == TEST else detail)
    return frozenset()


class Reach:
    """The moves of all other agents while the agent of one move waits."""

    def __init__(self, script: Script, control: Control, still: Move, holder: int | None) -> None:
        self.script, self.still, self.holder = script, still, holder
        self.before = control
        self.control = control.copy()
        self.tested: set[int] = set()
        """The mbarriers of which the phase that was complete at first is tested."""
        single = still.kind in IN_ORDER and len(script.jobs[still.who].threads) == 1
        self.agent = script.workers[still.who] if single else None
        if still.kind in ("signal", "test", "issue", "flush"):
            self.agent = still.who

    def conflicts(self, rivals: frozenset[Move], slots: frozenset[int], flush: bool) -> bool:
        """Whether they do one of these moves, or a proxy fence, or what conflicts at one of these mbarriers."""
        while True:
            step = list(self._step()) or list(self._leaves())
            if any(move in rivals or (flush and move.kind == "flush") for move in step):
                return True
            if not step:
                return self._at_barriers(slots)
            for move in step:
                self.control.advance(move)

    def _step(self) -> Iterator[Move]:
        """What can be done now."""
        for agent in sorted(self.control.front):
            if agent != self.agent and (move := self._of_agent(agent)) is not None:
                yield move
        for job in sorted(self.control.opened):
            for move in self.control.ready(self.script.jobs[job]):
                if move != self.still:
                    yield move
        for number in sorted(self.control.due):
            move = self.control.of_due(number)
            if move is not None and move != self.still:
                yield move

    def _leaves(self) -> Iterator[Move]:
        """Who can go on from a job that is not done, where nothing else can be done."""
        for agent in sorted(self.control.front):
            at = self.control.at[agent]
            kind, job, _, _ = self.script.agents[agent].ops[at]
            mine = self.still.kind in IN_ORDER and job == self.still.who
            if (
                kind == LEAVE
                and not self.script.jobs[job].waits_for_all
                and not (mine and agent == self.holder)
            ):
                yield Move("leave", agent, at)

    def _of_agent(self, agent: int) -> Move | None:
        at = self.control.at[agent]
        kind, slot, detail, _ = self.script.agents[agent].ops[at]
        if kind == LEAVE:
            return None
        if kind != TEST:
            return self.control.of_agent(agent)
        phases, complete = self.control.phases[slot], self.control.is_complete(slot, detail[0])
        if complete and phases == self.before.phases[slot]:
            self.tested.add(slot)
        return Move("test", agent, at) if complete or phases > detail[0] else None

    def _at_barriers(self, slots: frozenset[int]) -> bool:
        for slot in slots:
            if self.control.phases[slot] > self.before.phases[slot]:
                return True
            if self.still.kind not in ("test", "issue") and slot in self.tested and self._completes(slot):
                return True
        return False

    def _completes(self, slot: int) -> bool:
        """Whether the move that waits would complete the phase."""
        c = self.control
        if self.still.kind == "write":
            return c.pending[slot] <= 0 and c.tx[slot] == 1
        weight = self.script.agents[self.still.who].weight if self.still.kind == "signal" else 1
        return c.pending[slot] <= weight and c.tx[slot] == 0
