"""
Unfolding
=========

A program at given sizes, as the sequence of its `events`: every loop has its iterations, every name stands for numbers
or elements, every statement for the threads that execute it. The order is that in which the program is written, with
iterations in ascending order: the sequential reading is this order, and the others start from it.

Storage and barriers live to the end of the block that allocates them, and end in reverse order. An argument of the proc
is there before it runs, and is not freed. Where a statement allocates barriers again for the same threads, in a loop,
they are the same barriers as before and their counters go on. The threads of another task are others: each task begins
with new barriers, as with new shared memory (S-07, S-27).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import count

from soundline.spec.spork.language.programs import Proc
from soundline.spec.spork.language.scopes import inside, is_task_nest
from soundline.spec.spork.language.statements import (
    CUDA_TASKS,
    PAR,
    Alloc,
    AllocBarrier,
    Arrive,
    Assign,
    Await,
    Call,
    CudaAsync,
    CudaDeviceFunction,
    CudaThreads,
    CudaWarps,
    Fence,
    For,
    If,
    Reduce,
    Statement,
    WindowOf,
)
from soundline.spec.spork.language.types import Data
from soundline.spec.spork.library.memories import Memory
from soundline.spec.spork.library.schema import Instruction
from soundline.spec.spork.machine.addresses import (
    Shard,
    SharedStacks,
    grain_of,
    own_elements,
    shards,
    shared_elements,
)
from soundline.spec.spork.machine.arguments import (
    Sizes,
    allocation_of,
    check_assertions,
    control_arguments,
    proc_arguments,
)
from soundline.spec.spork.machine.events import (
    Allocated,
    BarrierAllocated,
    BarrierFreed,
    Buffer,
    Element,
    Ended,
    Event,
    Forked,
    Freed,
    Joined,
    Launched,
    TaskBegan,
    TaskEnded,
)
from soundline.spec.spork.machine.names import BarrierArray, Names, whole
from soundline.spec.spork.machine.statements import Here, direct_action, instruction_action, synchronization
from soundline.spec.spork.static.law import Facts, static_law
from soundline.spec.spork.static.memory import memory_of
from soundline.spec.spork.synchronization.barriers import BarrierType
from soundline.spec.spork.synchronization.fences import WARP
from soundline.spec.spork.synchronization.visibility import Thread


def unfold(proc: Proc, sizes: Sizes) -> Iterator[Event]:
    """The events of a program at given sizes, in sequential order.

    Raises `SoundlineError` where the program breaks its law, or the sizes do not fit it; the other conditions of
    `RUN_CONSTRAINTS` are asked when the sequence comes to them.
    """
    facts = static_law(proc)
    names = Names(control_arguments(proc, sizes))
    check_assertions(proc, names)
    return _Run(facts).proc(proc, names)


@dataclass(slots=True)
class _Run:
    """A run: what has been counted so far."""

    facts: Facts
    launches: Iterator[int] = field(default_factory=count)
    forks: Iterator[int] = field(default_factory=count)
    instances: dict[str, int] = field(default_factory=dict)
    barriers: dict[tuple[tuple[int, ...], frozenset[Thread]], int] = field(default_factory=dict)
    """The number of the barriers that a statement allocates for its threads, each time the same ones."""

    def _instance(self, name: str) -> int:
        """How many times a name was allocated before."""
        number = self.instances.get(name, 0)
        self.instances[name] = number + 1
        return number

    # Procs --------------------------------------------------------------------------------------------------------

    def proc(self, proc: Proc, names: Names) -> Iterator[Event]:
        """All of a program."""
        here = Here()
        for argument in proc.arguments:
            if isinstance(argument.type, Data):
                yield from self._storage(allocation_of(argument), names, here)
        yield from self._block(proc.body, names, here)

    def _block(self, body: Sequence[Statement], names: Names, here: Here, first: int = 0) -> Iterator[Event]:
        """A block, at the end of which its storage and barriers end."""
        tops = {} if here.shared is None else dict(here.shared.tops)
        live: list[Freed | BarrierFreed] = []
        for position, statement in enumerate(body, first):
            at = here.at(position)
            match statement:
                case Alloc():
                    for storage in self._storage(statement, names, at):
                        live.append(Freed(storage.place, storage.buffer))
                        yield storage
                case AllocBarrier():
                    barrier = self._barriers(statement, names, at)
                    live.append(BarrierFreed(barrier.place, barrier.barrier, barrier.name, barrier.type))
                    yield barrier
                case _:
                    yield from self._statement(statement, names, at)
        yield from reversed(live)
        if here.shared is not None:
            here.shared.tops = tops

    def _statement(self, statement: Statement, names: Names, here: Here) -> Iterator[Event]:
        """Any statement but an allocation."""
        match statement:
            case Assign() | Reduce():
                yield direct_action(statement, names, here)
            case Call():
                yield from self._call(statement, names, here)
            case Fence() | Arrive() | Await():
                yield synchronization(statement, names, here, self.facts.homes.get(here.path, ()))
            case For():
                yield from self._loop(statement, names, here)
            case If(condition, body, orelse):
                inner = replace(here, scope=inside(here.scope, statement))
                chosen, first = (body, 0) if names.control(condition) else (orelse, len(body))
                yield from self._block(chosen, names, inner, first)
            case CudaWarps(body=body):
                scope = inside(here.scope, statement)
                yield from self._block(body, names, here.within(scope, here.values))
            case CudaAsync(body=body):
                yield from self._block(body, names, replace(here, scope=inside(here.scope, statement)))
            case CudaDeviceFunction():
                yield from self._launch(statement, names, here)
            case WindowOf(name, window, memory):
                view = names.window(window)
                names.bound[name] = view if memory is None else view.lying_in(memory_of(memory, statement))

    def _call(self, call: Call, names: Names, here: Here) -> Iterator[Event]:
        callee = call.callee.value
        if isinstance(callee, Instruction):
            yield instruction_action(call, callee, names, here, self.facts.homes.get(here.path, ()))
        elif isinstance(callee, Proc):
            yield from self._block(callee.body, proc_arguments(call, callee, names), here)

    # Storage ------------------------------------------------------------------------------------------------------

    def _storage(self, statement: Alloc, names: Names, here: Here) -> Iterator[Allocated]:
        """Storage begins, shard by shard; its name then stands for all of it."""
        name, dtype, memory = statement.name, statement.dtype, memory_of(statement.memory, statement)
        shape = tuple(names.size(size) for size in statement.sizes)
        place = here.place(statement, names)
        if here.scope.tiling is None:
            elements = own_elements(name, self._instance(name), dtype, shape)
            yield Allocated(place, Buffer(name, memory, dtype, shape, elements, here.threads))
        else:
            found = self.facts.shards.get(here.path)
            parts = tuple(shards(memory, shape, found, here.scope, here.values))
            elements = self._elements(statement, memory, shape, parts, here)
            for part in parts:
                owner = here.own(part.owner)
                buffer = Buffer(name, memory, dtype, part.shape, elements[part.span], owner)
                yield Allocated(replace(place, threads=owner), buffer)
        names.bound[name] = whole(elements, shape, dtype, memory)

    def _elements(
        self, statement: Alloc, memory: Memory, shape: tuple[int, ...], parts: Sequence[Shard], here: Here
    ) -> tuple[Element, ...]:
        """The elements of an array of the device."""
        name, dtype = statement.name, statement.dtype
        if memory.space != "shared":
            elements = own_elements(name, self._instance(name), dtype, shape)
            if memory.space != "registers":
                return elements
            return tuple(_held(e, memory, p.owner, here) for p in parts for e in elements[p.span])
        assert here.shared is not None
        assert here.scope.tiling is not None
        block_dim = here.scope.tiling.block_dim
        return shared_elements(name, dtype, shape, parts, here.shared, block_dim, memory.alignment)

    def _barriers(self, statement: AllocBarrier, names: Names, here: Here) -> BarrierAllocated:
        """Barriers begin."""
        name, kind = statement.name, BarrierType(statement.kind.value)
        sizes = None if statement.sizes is None else tuple(names.size(size) for size in statement.sizes)
        key = here.path, here.threads
        if key not in self.barriers:
            self.barriers[key] = self._instance(name)
        array = BarrierArray((name, self.barriers[key]), name, kind, sizes)
        names.bound[name] = array
        found = self.facts.barriers.get(here.path)
        depth = None if found is None else found.depth
        return BarrierAllocated(here.place(statement, names), array.id, name, kind, depth)

    # Loops --------------------------------------------------------------------------------------------------------

    def _loop(self, loop: For, names: Names, here: Here) -> Iterator[Event]:
        iterations = range(names.control(loop.lo), names.control(loop.hi))
        if loop.mode == PAR:
            yield from self._par(loop, iterations, names, here)
        elif loop.mode == CUDA_TASKS:
            for value in iterations:
                task = replace(here, task=(*here.task, value))
                yield from self._task(loop, names.looped(loop.iterator, value), task)
        else:
            inner = replace(here, scope=inside(here.scope, loop))
            for value in iterations:
                if isinstance(loop.mode, CudaThreads):
                    inner = here.within(inner.scope, (*here.values, value))
                yield from self._block(loop.body, names.looped(loop.iterator, value), inner)

    def _par(self, loop: For, iterations: range, names: Names, here: Here) -> Iterator[Event]:
        """Each iteration on a thread of its own."""
        number = next(self.forks)
        place = here.place(loop, names)
        children = tuple(Thread(("par", number, value)) for value in iterations)
        yield Forked(place, children)
        for value, child in zip(iterations, children, strict=True):
            inner = replace(here, threads=frozenset({child}))
            yield from self._block(loop.body, names.looped(loop.iterator, value), inner)
        yield Joined(place, children)

    def _launch(self, block: CudaDeviceFunction, names: Names, here: Here) -> Iterator[Event]:
        """A device function: its tasks, one after another."""
        scope = inside(here.scope, block)
        assert scope.shape is not None
        number = next(self.launches)
        place = here.place(block, names)
        yield Launched(place, number, scope.shape.block_dim, scope.shape.cluster_dim)
        inner = replace(here, scope=scope, task=(number,), shared=SharedStacks((number,), grain_of(block)))
        yield from self._block(block.body, names, inner)
        yield Ended(place, number)

    def _task(self, loop: For, names: Names, here: Here) -> Iterator[Event]:
        """One iteration of a cuda_tasks loop: a task, where no further one is in it."""
        assert here.shared is not None
        if not is_task_nest(loop):
            yield from self._block(loop.body, names, here)
            return
        stacks = SharedStacks(here.task, here.shared.grain)
        inner = replace(here, shared=stacks).within(inside(here.scope, loop), ())
        place = inner.place(loop, names)
        yield TaskBegan(place, here.task)
        yield from self._block(loop.body, names, inner)
        yield TaskEnded(place, here.task)


def _held(element: Element, memory: Memory, owner: frozenset[int], here: Here) -> Element:
    """A register with who has it: of a matrix of wgmma one warp of the owner."""
    warp = memory.warp_of(element.index)
    numbers = sorted(owner)
    if warp is None:
        return replace(element, owner=here.own(owner))
    own = frozenset(numbers[WARP * warp : WARP * (warp + 1)])
    return replace(element, owner=here.own(own), held_by_warp=True)
