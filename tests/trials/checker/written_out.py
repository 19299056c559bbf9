"""
Plans written out
=================

A plan that is nothing but the events of a run, one node for each: every loop is written out, every window is a list of
elements. It is made from the events alone, so that the engine can be compared with the literal machine on any program
without asking how plans are made of programs.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from typing import Any

from soundline.impl.spork.checker.planning import plan as p
from soundline.spec.ops.node import Op
from soundline.spec.spork.machine import events as e
from soundline.spec.spork.machine.transitions import freeing_pair
from soundline.spec.spork.synchronization.barriers import QueueId
from soundline.spec.spork.synchronization.timelines import InstrTl, pair
from soundline.spec.spork.synchronization.visibility import Thread


def written_out(proc: Any, sizes: Any, events: Sequence[e.Event]) -> p.Plan:
    """The plan with just these events."""
    return Writer(events).plan(proc, sizes)


def intervals(numbers: Iterable[int]) -> tuple[tuple[int, int], ...]:
    """Numbers as disjoint intervals."""
    found: list[tuple[int, int]] = []
    for n in sorted(numbers):
        if found and found[-1][1] == n:
            found[-1] = found[-1][0], n + 1
        else:
            found.append((n, n + 1))
    return tuple(found)


def threads(who: Iterable[Thread]) -> p.Threads | None:
    """Threads of a task; None for one of the CPU."""
    every = list(who)
    if any(not isinstance(t.task, tuple) or t.task[0] == "par" for t in every):
        return None
    return p.Threads(intervals(t.number for t in every))


def shape_of(elements: Sequence[e.Element]) -> tuple[int, ...]:
    """The shape of an array with these elements; flat where they are no whole array."""
    shape = tuple(1 + max(at) for at in zip(*(x.index for x in elements), strict=True))
    return shape if elements and prod(shape) == len(elements) else (len(elements),)


@dataclass(slots=True)
class Writer:
    """Makes the plan of some events, and knows which elements its arrays have."""

    events: Sequence[e.Event]
    at: int = 0
    arrays: list[p.Array] = field(default_factory=list)
    barriers: dict[Any, p.Barriers] = field(default_factory=dict)
    where: dict[e.Cell, tuple[int, int]] = field(default_factory=dict)
    vars: int = 0
    grain: int = 1
    elements: list[list[e.Element]] = field(default_factory=list)
    """Those of each array."""

    def plan(self, proc: Any, sizes: Any) -> p.Plan:
        nodes: list[p.Node] = []
        while self.at < len(self.events):
            nodes += self.nodes(lambda event: False)
        return p.Plan(
            proc, sizes, p.Block(tuple(nodes)), tuple(self.arrays), tuple(self.barriers.values()), self.vars
        )

    def nodes(self, ends: Any) -> list[p.Node]:
        """Nodes up to an event that ends them, which is left."""
        found: list[p.Node] = []
        while self.at < len(self.events) and not ends(self.events[self.at]):
            found.append(self.node())
        return found

    def var(self) -> p.Var:
        self.vars += 1
        return p.Var(self.vars - 1, f"v{self.vars - 1}")

    def placed(self, place: e.Place) -> p.Placed:
        who = threads(place.threads)
        return p.Placed(place.path, place.statement, who, place.instr_tl, place.iteration)

    def node(self) -> p.Node:
        event = self.events[self.at]
        self.at += 1
        place = self.placed(event.place)
        match event:
            case e.Action():
                touches = tuple(self.touch(t) for t in event.touches)
                accesses = sum(len(t.elements) for t in event.touches)
                return p.Action(place, touches, tuple(map(self.queue, event.trailing)), accesses)
            case e.Allocated():
                return self.allocated(event, place)
            case e.BarrierAllocated(_, barrier, name, kind, depth):
                number = len(self.barriers)
                self.barriers.setdefault(barrier, p.Barriers(number, name, kind, depth))
                return p.BarrierAlloc(place, self.barriers[barrier].number)
            case e.BarrierFreed(_, barrier):
                return p.BarrierFree(place, self.barriers[barrier].number)
            case e.Fenced(_, first, second):
                return p.Fence(place, first, second)
            case e.Arrived(_, first, queues, kind):
                return p.Arrive(place, first, tuple(map(self.queue, queues)), kind)
            case e.Awaited(_, queue, second, n, kind):
                return p.Await(place, self.queue(queue), second, n, kind)
            case e.Launched(_, launch, block_dim, cluster_dim):
                self.grain = self.grain_of()
                body = self.nodes(lambda x: isinstance(x, e.Ended) and x.launch == launch)
                self.at += 1
                return p.Launch(place, block_dim, cluster_dim, self.grain, p.Block(tuple(body)))
            case e.TaskBegan(_, task):
                body = self.nodes(lambda x: isinstance(x, e.TaskEnded) and x.task == task)
                self.at += 1
                at = tuple(task[1:]) if isinstance(task, tuple) else ()
                return p.Tasks(place, tuple(self.var() for _ in at), ((at, 1),), p.Block(tuple(body)))
            case e.Forked(_, children):
                return self.forked(place, children)
        raise AssertionError(event)

    def grain_of(self) -> int:
        """The grain of the launch that begins: how the cells of its first element of shared memory are counted."""
        for event in self.events[self.at :]:
            if isinstance(event, e.Ended):
                break
            if isinstance(event, e.Allocated) and event.buffer.space == "shared" and event.buffer.elements:
                return event.buffer.dtype.itemsize // len(event.buffer.elements[0].cells)
        return 1

    def forked(self, place: p.Placed, children: tuple[Thread, ...]) -> p.Node:
        """A par loop: what each child does is under a condition on the iterator."""
        var, parts = self.var(), []
        for number, child in enumerate(children):
            own: list[p.Node] = []
            others = {frozenset({c}) for c in children if c != child}
            while not self.ends(children) and self.events[self.at].place.threads not in others:
                own.append(self.node())
            parts.append(p.If(p.Applied(Op.CmpEq, (var, number)), p.Block(tuple(own)), p.Block()))
        assert self.ends(children)
        self.at += 1
        return p.For(place, "par", var, 0, len(children), p.Block(tuple(parts)))

    def ends(self, children: tuple[Thread, ...]) -> bool:
        event = self.events[self.at]
        return isinstance(event, e.Joined) and event.children == children

    def allocated(self, event: e.Allocated, place: p.Placed) -> p.Node:
        """An allocation, up to its end: the block that it is in falls back there."""
        shards = [event]
        while self.at < len(self.events):
            following = self.events[self.at]
            if not isinstance(following, e.Allocated) or following.is_argument:
                break
            if (following.place.path, following.buffer.name) != (event.place.path, event.buffer.name):
                break
            if (
                following.buffer.elements
                and following.buffer.elements[0].index == event.buffer.elements[0].index
            ):
                break
            shards.append(following)
            self.at += 1
        buffer = event.buffer
        number = len(self.arrays)
        left = None
        if buffer.space == "registers" and InstrTl.wgmma_async in buffer.memory.instructions:
            left = pair(InstrTl.cuda_in_order, buffer.memory.usage)
        elements = [x for shard in shards for x in shard.buffer.elements]
        self.elements.append(elements)
        owners = tuple(threads(shard.buffer.owner) for shard in shards)
        self.arrays.append(
            p.Array(
                *(number, buffer.name, buffer.dtype, shape_of(elements), buffer.memory, owners),
                *(freeing_pair(buffer), left),
            )
        )
        for k, element in enumerate(elements):
            self.where.update(dict.fromkeys(element.cells, (number, k)))
        alloc = p.Alloc(place, number)
        if event.is_argument:
            return alloc
        body = self.nodes(lambda x: isinstance(x, e.Freed) and x.buffer is shards[-1].buffer)
        if self.at == len(self.events):  # the run ends before
            return p.Block((alloc, *body))
        self.at += len(shards)
        return p.Block((alloc, *body, p.Free(place, number)))

    def queue(self, queue: QueueId) -> p.Queue:
        return p.Queue(self.barriers[queue.barrier].number, queue.at, queue.reverse)

    def touch(self, touch: e.Touch) -> p.Touch:
        return p.Touch(
            touch.operand,
            touch.kind,
            touch.pair,
            tuple(self.regions(touch.elements)),
            touch.out_of_order,
            touch.convergent,
            touch.extended,
            None if touch.seen_by is None else threads(touch.seen_by),
            None if touch.by is None else threads(touch.by),
        )

    def regions(self, elements: Sequence[e.Element]) -> list[p.Region]:
        """Elements as regions of one dimension."""
        found: list[p.Region] = []
        for element in elements:
            array, number = self.where[element.cells[0]]
            if found and found[-1].array == array:
                last, (count, stride) = found[-1], found[-1].dims[0]
                assert isinstance(last.first, int)
                if count == 1 or last.first + count * stride == number:
                    stride = number - last.first if count == 1 else stride
                    found[-1] = replace(last, dims=((count + 1, stride),))
                    continue
            found.append(p.Region(array, number, ((1, 1),)))
        return found
