"""
Replaying
=========

The events of a trace as those of a run: what a node of a plan is in one iteration, as `spec.spork.machine.unfolding`
has it, but with no other element than that which was looked for. So the law on hazards (`spec.spork.diagnosis`) can be
asked about them, and says what it says of the whole run.

All that is looked for is one cell. It has no address here: there is no other one.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from soundline.impl.spork.checker.planning.plan import (
    Action,
    Alloc,
    Applied,
    Array,
    Arrive,
    Await,
    BarrierAlloc,
    BarrierFree,
    Block,
    Counted,
    Fence,
    For,
    Free,
    If,
    Launch,
    Node,
    Path,
    Placed,
    Plan,
    Queue,
    Region,
    Tasks,
    Term,
    Threads,
    Touch,
    Trace,
    Traced,
    Var,
)
from soundline.spec.dtypes import index
from soundline.spec.spork.diagnosis.causes import Run
from soundline.spec.spork.machine import events
from soundline.spec.spork.machine.events import Cell, Element, Event, Place
from soundline.spec.spork.synchronization.barriers import QueueId
from soundline.spec.spork.synchronization.visibility import CPU_THREAD, Thread
from soundline.spec.values.elementwise import ELEMENTWISE

CELL: Final = Cell("looked for", 0)
"""The cell that is looked for."""

Values = Sequence[int]
"""Those of all variables."""

Iteration = tuple[tuple[str, int], ...]

Side = tuple[int, tuple[int, ...], bool]
"""A side of a queue: barriers, index, and whether it is the reverse one."""


def value(term: Term, values: Values) -> int:
    """The number that a term is in an iteration."""
    match term:
        case Var(number):
            return values[number]
        case Applied(op, operands):
            return int(ELEMENTWISE[op](index, *(value(operand, values) for operand in operands)))
        case _:
            return int(term)


@dataclass(slots=True)
class Replayer:
    """What the nodes of a plan are in a run."""

    plan: Plan
    whole: Plan | None = None
    """The plan before it was reduced, by which launches and par loops are counted; None where it is the same."""
    nodes: list[Node] = field(default_factory=list)
    parents: list[int] = field(default_factory=list)
    """By the number of a node that of the node around, -1 for the root."""
    numbered: dict[tuple[Path, Iteration], int] = field(default_factory=dict)
    """How many launches, or par loops, there were before one."""
    barriers: dict[int, tuple[int, BarrierAlloc]] = field(default_factory=dict)
    """By barriers the node that allocates them, and its number."""

    def __post_init__(self) -> None:
        self._list(self.plan.root, -1)
        for number, node in enumerate(self.nodes):
            if isinstance(node, BarrierAlloc):
                self.barriers[node.barriers] = number, node

    def _list(self, node: Node, parent: int) -> None:
        number = len(self.nodes)
        self.nodes.append(node)
        self.parents.append(parent)
        for inner in parts(node):
            self._list(inner, number)

    def around(self, number: int) -> list[Node]:
        """The nodes around a node, outermost first."""
        found = []
        while (number := self.parents[number]) >= 0:
            found.append(self.nodes[number])
        return found[::-1]

    # Places -------------------------------------------------------------------------------------------------------

    def placed(self, number: int) -> Placed:
        """Where a node stands."""
        node = self.nodes[number]
        assert not isinstance(node, Block | If | Counted)
        return node.place

    def iteration(self, number: int, values: Values) -> Iteration:
        """The iterators around a node and their values."""
        return iteration_of(self.placed(number), self.around(number), values)

    def task(self, number: int, values: Values) -> Hashable:
        """The task in which a node runs, `Thread.task`; None on the CPU."""
        around = [*self.around(number), self.nodes[number]]
        launch = next((node for node in around if isinstance(node, Launch)), None)
        if launch is None:
            return None
        at = around.index(launch)
        key = launch.place.path, iteration_of(launch.place, around[:at], values)
        return self._number(*key), *(values[v.number] for node in around[at:] for v in task_vars(node))

    def cpu_thread(self, around: Sequence[Node], values: Values) -> Thread:
        """The thread of the CPU that runs inside of some nodes."""
        for k in range(len(around) - 1, -1, -1):
            node = around[k]
            if isinstance(node, For) and node.kind == "par":
                number = self._number(node.place.path, iteration_of(node.place, around[:k], values))
                return Thread(("par", number, values[node.var.number]))
        return CPU_THREAD

    def threads(self, who: Threads | None, number: int, values: Values) -> frozenset[Thread]:
        """Threads at a node."""
        if who is None:
            return frozenset({self.cpu_thread(self.around(number), values)})
        task, shift = self.task(number, values), value(who.shift, values)
        return frozenset(Thread(task, n + shift) for lo, hi in who.intervals for n in range(lo, hi))

    def place(self, number: int, values: Values) -> Place:
        """Where and when a node ran."""
        placed = self.placed(number)
        who = self.threads(placed.threads, number, values)
        return Place(placed.statement, placed.path, self.iteration(number, values), who, placed.instr_tl)

    def _number(self, path: Path, iteration: Iteration) -> int:
        """How many launches there were before one, or par loops."""
        key = path, iteration
        if key not in self.numbered:
            whole = self.whole or self.plan
            counter = _Counter(self.numbered, [0] * whole.vars)
            counter.count(whole.root, ())
        return self.numbered[key]

    # Events -------------------------------------------------------------------------------------------------------

    def event(self, traced: Traced, met: tuple[int, int] = (0, 0)) -> Event:
        """An event of the run; `met` is an array and the number of its element that has the cell, for where the trace
        does not say it.
        """
        number, values = traced.at.node, traced.at.values
        node, place = self.nodes[number], self.place(number, values)

        def queue(q: Queue) -> QueueId:
            return self.queue(q, values)

        match node:
            case Action(_, touches, trailing):
                uses = [(touches[k], at) for k, at in traced.touches]
                used = tuple(self._touches(uses, met[0], number, values))
                return events.Action(place, used, (), tuple(map(queue, trailing)))
            case Alloc(_, array) | Free(_, array):
                buffer = self._buffer(self.plan.arrays[array], traced, met)
                made = events.Allocated if isinstance(node, Alloc) else events.Freed
                return made(replace(place, threads=buffer.owner), buffer)
            case BarrierFree(_, barriers):
                declared = self.plan.barriers[barriers]
                return events.BarrierFreed(
                    place, self._barrier(barriers, values), declared.name, declared.type
                )
            case Fence(_, first, second):
                return events.Fenced(place, first, second)
            case Arrive(_, first, queues, kind):
                return events.Arrived(place, first, tuple(map(queue, queues)), kind)
            case Await(_, awaited, second, n, kind):
                return events.Awaited(place, queue(awaited), second, n, kind)
            case Launch(_, block_dim, cluster_dim):
                launch = self._number(place.path, place.iteration)
                if traced.part:
                    return events.Ended(place, launch)
                return events.Launched(place, launch, block_dim, cluster_dim)
            case For(kind="par"):
                return self._par(node, place, traced)
        task = self.task(number, values)
        return events.TaskEnded(place, task) if traced.part else events.TaskBegan(place, task)

    def _par(self, loop: For, place: Place, traced: Traced) -> events.Forked | events.Joined:
        values, number = traced.at.values, self._number(place.path, place.iteration)
        iterations = range(value(loop.lo, values), value(loop.hi, values))
        children = tuple(Thread(("par", number, k)) for k in iterations)
        return events.Joined(place, children) if traced.part else events.Forked(place, children)

    def _touches(
        self, uses: Sequence[tuple[Touch, int]], array: int, number: int, values: Values
    ) -> Iterator[events.Touch]:
        """The touches that meet the cell."""

        def who(some: Threads | None) -> frozenset[Thread] | None:
            return None if some is None else self.threads(some, number, values)

        for touch, at in uses:
            through = {r.array for r in touch.regions}
            if len(through) > 1:
                through = {r.array for r in touch.regions if at in _numbers(r, values)}
            element = self.element(self.plan.arrays[array if array in through else min(through)], at)
            yield events.Touch(
                touch.operand,
                touch.kind,
                touch.pair,
                (element,),
                touch.out_of_order,
                touch.convergent,
                touch.extended,
                who(touch.seen_by),
                who(touch.by),
            )

    def element(self, array: Array, at: int) -> Element:
        """The element of a number in an array, which has the cell."""
        place = []
        for size in reversed(array.shape):
            at, k = divmod(at, size)
            place.append(k)
        return Element((CELL,), array.dtype, array.name, tuple(reversed(place)))

    def _buffer(self, array: Array, traced: Traced, met: tuple[int, int]) -> events.Buffer:
        owner = self.threads(array.owners[traced.part], traced.at.node, traced.at.values)
        found = self.element(array, met[1] if met[0] == array.number else 0)
        return events.Buffer(array.name, array.memory, array.dtype, array.shape, (found,), owner)

    # Queues -------------------------------------------------------------------------------------------------------

    def queue(self, queue: Queue, values: Values) -> QueueId:
        """A queue in an iteration."""
        at = tuple(value(term, values) for term in queue.at)
        return QueueId(self._barrier(queue.barriers, values), at, queue.reverse)

    def _barrier(self, barriers: int, values: Values) -> Hashable:
        """The barriers that a name stands for: those of a statement and the threads that executed it."""
        number, node = self.barriers[barriers]
        threads = self.threads(node.place.threads, number, values)
        return self.plan.barriers[barriers].name, barriers, tuple(sorted(threads, key=str))

    def queue_of(self, side: Side, values: Values) -> QueueId:
        """A queue by its barriers, index and side, in an iteration that is in their life."""
        barriers, at, reverse = side
        return QueueId(self._barrier(barriers, values), at, reverse)

    # Runs ---------------------------------------------------------------------------------------------------------

    def run(self, trace: Trace, met: tuple[int, int] = (0, 0)) -> Run:
        """The events of a trace, with arrives and awaits before them by which the counters are as they were."""
        last = {t.at.event: replace(t, touches=()) for told in trace.last.values() for t in told}
        every = last | {t.at.event: t for t in trace.events}
        run = [(n, self.event(every[n], met)) for n in sorted(every)]
        launch = self.launch(trace.events[-1].at.node)
        if launch is None or any(t.at.node == launch for t in every.values()):
            return run
        # What follows is of a device function whose launch was too long ago to be traced, and says its sizes.
        first = next(k for k, n in enumerate(sorted(every)) if self.launch(every[n].at.node) == launch)
        begun = Traced(replace(trace.events[-1].at, node=launch))
        return [*run[:first], (run[first][0] - 1, self.event(begun)), *run[first:]]

    def launch(self, number: int) -> int | None:
        """The number of the launch around a node, or of itself; None on the CPU."""
        while number >= 0 and not isinstance(self.nodes[number], Launch):
            number = self.parents[number]
        return number if number >= 0 else None


def _numbers(region: Region, values: Values) -> set[int]:
    """The numbers of the elements of a region."""
    found = {value(region.first, values)}
    for count, stride in region.dims:
        found = {n + k * stride for n in found for k in range(count)}
    return found


def iteration_of(placed: Placed, around: Sequence[Node], values: Values) -> Iteration:
    """The iterators around a place and their values."""
    if placed.iteration is not None:
        return tuple((name, value(term, values)) for name, term in placed.iteration)
    return tuple((v.name, values[v.number]) for node in around for v in loop_vars(node))


def loop_vars(node: Node) -> tuple[Var, ...]:
    """The iterators of a node, for what is in it."""
    return node.vars if isinstance(node, Tasks) else (node.var,) if isinstance(node, For) else ()


def task_vars(node: Node) -> tuple[Var, ...]:
    """Those of loops over tasks."""
    return () if isinstance(node, For) and node.kind != "tasks" else loop_vars(node)


def parts(node: Node) -> tuple[Node, ...]:
    """The nodes in a node."""
    match node:
        case Block(inner):
            return inner
        case If(_, body, orelse):
            return body, orelse
        case For(body=body) | Tasks(body=body) | Launch(body=body):
            return (body,)
        case _:
            return ()


@dataclass(slots=True)
class _Counter:
    """Counts the launches and par loops of a run."""

    numbered: dict[tuple[Path, Iteration], int]
    values: list[int]
    launches: int = 0
    forks: int = 0
    has: dict[int, bool] = field(default_factory=dict)

    def count(self, node: Node, around: tuple[Node, ...]) -> None:
        """Count those in a node, in the order of the run."""
        if not self.counts(node):
            return
        inner = (*around, node)
        match node:
            case Block(nodes):
                for part in nodes:
                    self.count(part, inner)
            case If(condition, body, orelse):
                self.count(body if value(condition, self.values) else orelse, inner)
            case Launch(place):
                self.numbered[place.path, iteration_of(place, around, self.values)] = self.launches
                self.launches += 1
            case For(place, kind, var, lo, hi, body):
                if kind == "par":
                    self.numbered[place.path, iteration_of(place, around, self.values)] = self.forks
                    self.forks += 1
                for k in range(value(lo, self.values), value(hi, self.values)):
                    self.values[var.number] = k
                    self.count(body, inner)

    def counts(self, node: Node) -> bool:
        """Whether there is one in a node."""
        if isinstance(node, Launch) or (isinstance(node, For) and node.kind == "par"):
            return True
        if id(node) not in self.has:
            self.has[id(node)] = any(self.counts(part) for part in parts(node))
        return self.has[id(node)]
