"""
Plans as events
===============

A plan written out in the order of the program, and the events of `unfolding` in the same words, so that the two can be
compared one for one. Everything that the machine decides by is in these words: paths, threads, elements of touches in
their order, queues, lives of storage.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import product
from typing import Any

from soundline.impl.spork.checker.planning import plan as p
from soundline.spec.dtypes import index
from soundline.spec.spork.machine import events as e
from soundline.spec.spork.synchronization.visibility import Thread
from soundline.spec.values.elementwise import ELEMENTWISE

Values = dict[int, int]
Words = tuple[Any, ...]


class Refused(Exception):
    """A condition of the run does not hold."""


def value(term: p.Term, values: Values) -> int:
    """A term in an iteration."""
    match term:
        case p.Var(number):
            return values[number]
        case p.Applied(op, operands):
            found: int = ELEMENTWISE[op](index, *(value(o, values) for o in operands))
            return int(found)
    return int(term)


def unraveled(number: int, shape: tuple[int, ...]) -> tuple[int, ...]:
    """The index of an element in an array."""
    at: list[int] = []
    for size in reversed(shape):
        number, rest = divmod(number, size)
        at.insert(0, rest)
    assert number == 0
    return tuple(at)


def numbers(threads: p.Threads | None, values: Values) -> frozenset[int] | None:
    """Threads of the device; None for one of the CPU."""
    if threads is None:
        return None
    shift = value(threads.shift, values)
    return frozenset(n + shift for lo, hi in threads.intervals for n in range(lo, hi))


class Expander:
    """Writes a plan out."""

    def __init__(self, plan: p.Plan) -> None:
        self.plan = plan

    def events(self) -> Iterator[Words]:
        """The events of the plan."""
        yield from self.node(self.plan.root, {})

    def node(self, node: p.Node, values: Values) -> Iterator[Words]:
        """The events of a node."""
        match node:
            case p.Block(inner):
                for part in inner:
                    yield from self.node(part, values)
            case p.If(condition, body, orelse):
                yield from self.node(body if value(condition, values) else orelse, values)
            case p.Check(_, condition):
                if not value(condition, values):
                    raise Refused
            case p.Apart(_, one, other):
                if set(self.elements(one, values)) & set(self.elements(other, values)):
                    raise Refused
            case p.For():
                yield from self.loop(node, values)
            case p.Launch(place, block_dim, cluster_dim, _, body):
                yield ("Launched", self.place(place, values), block_dim, cluster_dim)
                yield from self.node(body, values)
                yield ("Ended", self.place(place, values))
            case p.Alloc(place, number) | p.Free(place, number):
                yield from self.lives(node, place, self.plan.arrays[number], values)
            case _:
                yield self.event(node, values)

    def loop(self, node: p.For, values: Values) -> Iterator[Words]:
        """The events of a loop."""
        iterations = range(value(node.lo, values), value(node.hi, values))
        if node.kind == "par":
            yield ("Forked", self.place(node.place, values), len(iterations))
        for number in iterations:
            inner = {**values, node.var.number: number}
            if node.is_task:
                yield ("TaskBegan", self.place(node.place, inner))
            yield from self.node(node.body, inner)
            if node.is_task:
                yield ("TaskEnded", self.place(node.place, inner))
        if node.kind == "par":
            yield ("Joined", self.place(node.place, values), len(iterations))

    def lives(self, node: p.Node, place: p.Placed, array: p.Array, values: Values) -> Iterator[Words]:
        """The events at which storage begins or ends."""
        size, rest = divmod(array.elements, len(array.owners))
        assert rest == 0
        shards = list(enumerate(array.owners))
        for number, owner in shards if isinstance(node, p.Alloc) else reversed(shards):
            own = tuple(unraveled(k, array.shape) for k in range(number * size, (number + 1) * size))
            yield (
                "Allocated" if isinstance(node, p.Alloc) else "Freed",
                (place.path, numbers(owner, values), place.instr_tl),
                (array.name, array.memory.name, array.dtype, own, numbers(owner, values)),
            )

    def event(self, node: p.Node, values: Values) -> Words:
        """The event of a node that has one."""
        match node:
            case p.Action(place, touches, trailing, accesses):
                made = tuple(self.touch(t, values) for t in touches)
                assert accesses == sum(len(t[3]) for t in made)
                return ("Action", self.place(place, values), made, self.queues(trailing, values))
            case p.BarrierAlloc(place, number):
                own = self.plan.barriers[number]
                return ("BarrierAllocated", self.place(place, values), own.name, own.type, own.depth)
            case p.BarrierFree(place, number):
                own = self.plan.barriers[number]
                return ("BarrierFreed", self.place(place, values), own.name, own.type)
            case p.Fence(place, first, second):
                return ("Fenced", self.place(place, values), first, second)
            case p.Arrive(place, first, queues, kind):
                return ("Arrived", self.place(place, values), first, self.queues(queues, values), kind)
            case p.Await(place, queue, second, n, kind):
                return ("Awaited", self.place(place, values), self.queues((queue,), values), second, n, kind)
        raise AssertionError(node)

    def place(self, place: p.Placed, values: Values) -> Words:
        """Where a node stands, and who executes it."""
        return (place.path, numbers(place.threads, values), place.instr_tl)

    def queues(self, queues: Iterable[p.Queue], values: Values) -> Words:
        """Queues of barriers, each once: a plan may name one twice."""
        found = ((q.barriers, tuple(value(t, values) for t in q.at), q.reverse) for q in queues)
        return tuple((self.plan.barriers[b].name, at, reverse) for b, at, reverse in dict.fromkeys(found))

    def elements(self, regions: Iterable[p.Region], values: Values) -> Iterator[tuple[str, tuple[int, ...]]]:
        """The elements of regions, in their order."""
        for region in regions:
            array, first = self.plan.arrays[region.array], value(region.first, values)
            for at in product(*(range(count) for count, _ in region.dims)):
                number = first + sum(i * stride for i, (_, stride) in zip(at, region.dims, strict=True))
                yield array.name, unraveled(number, array.shape)

    def touch(self, touch: p.Touch, values: Values) -> Words:
        """A use of elements."""
        own = (touch.operand, touch.kind, touch.pair, tuple(self.elements(touch.regions, values)))
        flags = touch.out_of_order, touch.convergent, touch.extended
        return (*own, *flags, numbers(touch.seen_by, values), numbers(touch.by, values))


# The same of a run ------------------------------------------------------------------------------------------------


def _who(threads: Iterable[Thread] | None) -> frozenset[int] | None:
    if threads is None:
        return None
    every = frozenset(threads)
    on_cpu = any(not isinstance(t.task, tuple) or t.task[:1] in {(), ("par",)} for t in every)
    return None if on_cpu else frozenset(t.number for t in every)


def _place(place: e.Place) -> Words:
    return (place.path, _who(place.threads), place.instr_tl)


def _queues(queues: Iterable[Any]) -> Words:
    return tuple((q.barrier[0], tuple(q.at), q.reverse) for q in queues)


def _touch(touch: e.Touch) -> Words:
    own = (touch.operand, touch.kind, touch.pair, tuple((x.name, x.index) for x in touch.elements))
    return (*own, touch.out_of_order, touch.convergent, touch.extended, _who(touch.seen_by), _who(touch.by))


def words(event: e.Event) -> Words:
    """An event of a run in the words of an expanded plan."""
    name, place = type(event).__name__, _place(event.place)
    match event:
        case e.Action(_, touches, _, trailing):
            return (name, place, tuple(map(_touch, touches)), _queues(trailing))
        case e.Allocated(_, b) | e.Freed(_, b):
            own = tuple(x.index for x in b.elements)
            return (name, place, (b.name, b.memory.name, b.dtype, own, _who(b.owner)))
        case e.BarrierAllocated(_, _, barrier, kind, depth):
            return (name, place, barrier, kind, depth)
        case e.BarrierFreed(_, _, barrier, kind):
            return (name, place, barrier, kind)
        case e.Fenced(_, first, second):
            return (name, place, first, second)
        case e.Arrived(_, first, queues, kind):
            return (name, place, first, _queues(queues), kind)
        case e.Awaited(_, queue, second, n, kind):
            return (name, place, _queues((queue,)), second, n, kind)
        case e.Launched(_, _, block_dim, cluster_dim):
            return (name, place, block_dim, cluster_dim)
        case e.Forked(_, children) | e.Joined(_, children):
            return (name, place, len(children))
    return (name, place)
