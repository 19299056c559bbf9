"""
Planning
========

The plan of a program at given sizes. It descends through the program as `spec.spork.machine.unfolding` does, once for
each statement instead of once for each time that it runs: loops stay loops, and what a run would compute in each
iteration becomes a term.

What a run would refuse, a plan refuses there: a `Check` stands before the statement, unless it is shown to hold. Where
a plan has to have a number and finds one that depends on an iterator, such as the extent of a window, the loop of that
iterator is planned anew with a branch for each of its values.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any

from soundline.impl.spork.checker.planning import plan as p
from soundline.impl.spork.checker.planning.arguments import Bound, Names, NeedsNumber, Ring
from soundline.impl.spork.checker.planning.collectives import Origin, Uneven, collective, native_owner
from soundline.impl.spork.checker.planning.instructions import instruction_nodes, statement_nodes
from soundline.impl.spork.checker.planning.plan import Term, Threads
from soundline.impl.spork.checker.planning.terms import Known, applied, variables
from soundline.impl.spork.checker.planning.windows import View, whole
from soundline.spec.ops.node import Op
from soundline.spec.spork.language.expressions import Name
from soundline.spec.spork.language.programs import Proc
from soundline.spec.spork.language.scopes import HOST, Scope, inside, is_task_nest
from soundline.spec.spork.language.statements import (
    CUDA_TASKS,
    PAR,
    Alloc,
    AllocBarrier,
    Arrive,
    Assign,
    Await,
    BarrierAt,
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
from soundline.spec.spork.machine.addresses import grain_of
from soundline.spec.spork.machine.arguments import (
    Sizes,
    allocation_of,
    check_assertions,
    control_arguments,
)
from soundline.spec.spork.machine.names import Names as RunNames
from soundline.spec.spork.static.law import Facts, static_law
from soundline.spec.spork.static.memory import memory_of
from soundline.spec.spork.synchronization.barriers import BarrierType
from soundline.spec.spork.synchronization.timelines import CPU, InstrTl, pair

_KINDS = {PAR: "par", CUDA_TASKS: "tasks"}


def plan_of(proc: Proc, sizes: Sizes, facts: Facts | None = None) -> p.Plan:
    """The plan of a program at given sizes.

    Raises `SoundlineError` where `unfold` does before its first event.
    """
    facts = static_law(proc) if facts is None else facts
    control = control_arguments(proc, sizes)
    check_assertions(proc, RunNames(control))
    planning = _Planning(facts)
    given: dict[str, Bound] = {name: int(v) for name, v in control.items() if isinstance(v, int)}
    root = planning.proc(proc, Names(given))
    barriers = tuple(planning.barriers.values())
    return p.Plan(proc, dict(sizes), root, tuple(planning.arrays), barriers, planning.vars)


@dataclass(frozen=True, slots=True)
class Here:
    """Where the planning is."""

    scope: Scope = HOST
    values: tuple[Term, ...] = ()
    """Those of the cuda_threads iterators around."""
    path: tuple[int, ...] = ()
    known: Known = field(default_factory=Known)

    def at(self, position: int) -> Here:
        """At the statement at a position of the block."""
        return replace(self, path=(*self.path, position))

    @property
    def threads(self) -> Threads | None:
        """Who executes the statement."""
        return None if self.scope.tiling is None else collective(self.scope.tiling, self.values)

    def place(self, statement: Statement) -> p.Placed:
        """Where a statement stands."""
        return p.Placed(self.path, statement, self.threads, self.scope.instr_tl)


@dataclass(slots=True)
class _Planning:
    """What has been numbered so far."""

    facts: Facts
    arrays: list[p.Array] = field(default_factory=list)
    barriers: dict[tuple[int, ...], p.Barriers] = field(default_factory=dict)
    """By the paths of their statements: what is allocated there again for the same threads goes on."""
    vars: int = 0

    def proc(self, proc: Proc, names: Names) -> p.Block:
        """All of a program."""
        here = Here()
        nodes: list[p.Node] = []
        for argument in proc.arguments:
            if isinstance(argument.type, Data):
                nodes += self._storage(allocation_of(argument), names, here)
        return p.Block((*nodes, *self._block(proc.body, names, here).nodes))

    def _block(self, body: Sequence[Statement], names: Names, here: Here, first: int = 0) -> p.Block:
        """A block, at the end of which its storage and barriers end."""
        nodes: list[p.Node] = []
        live: list[p.Node] = []
        for position, statement in enumerate(body, first):
            at = here.at(position)
            match statement:
                case Alloc():
                    made = self._storage(statement, names, at)
                    live += [p.Free(n.place, n.array) for n in made if isinstance(n, p.Alloc)]
                case AllocBarrier():
                    made = self._barriers(statement, names, at)
                    live += [
                        p.BarrierFree(n.place, n.barriers) for n in made if isinstance(n, p.BarrierAlloc)
                    ]
                case _:
                    made = list(self._statement(statement, names, at))
            nodes += made
        return p.Block((*nodes, *reversed(live)))

    def _statement(self, statement: Statement, names: Names, here: Here) -> Iterator[p.Node]:
        """Any statement but an allocation."""
        names.known = here.known
        match statement:
            case Assign() | Reduce():
                yield from statement_nodes(statement, names, here.place(statement))
            case Call(callee=callee) if isinstance(callee.value, Instruction):
                trailing = self._queues(statement.trailing, names, here) if statement.trailing else ()
                yield from instruction_nodes(statement, callee.value, names, here.place(statement), trailing)
            case Call(callee=callee) if isinstance(callee.value, Proc):
                inner = names.given_to(statement, callee.value)
                yield from names.checks(here.place(statement))
                yield self._block(callee.value.body, inner, here)
            case Fence() | Arrive() | Await():
                yield from self._synchronization(statement, names, here)
            case For():
                yield self._loop(statement, names, here)
            case If():
                yield from self._choice(statement, names, here)
            case CudaWarps(body=body) | CudaAsync(body=body):
                yield self._block(body, names, replace(here, scope=inside(here.scope, statement)))
            case CudaDeviceFunction(body=body):
                scope = inside(here.scope, statement)
                assert scope.shape is not None
                made = self._block(body, names, replace(here, scope=scope))
                sizes = scope.shape.block_dim, scope.shape.cluster_dim
                yield p.Launch(here.place(statement), *sizes, grain_of(statement), made)
            case WindowOf(name, window, memory):
                view = names.window(window)
                assert isinstance(view, View)
                names.bound[name] = (
                    view if memory is None else replace(view, memory=memory_of(memory, statement))
                )
                yield from names.checks(here.place(statement))

    # Storage ------------------------------------------------------------------------------------------------------

    def _storage(self, statement: Alloc, names: Names, here: Here) -> list[p.Node]:
        """Storage begins."""
        names.known = here.known
        memory = memory_of(statement.memory, statement)
        shape = tuple(names.whole_size(size) for size in statement.sizes)
        place = here.place(statement)
        outside = memory.space in {"host", "global"}
        in_registers = memory.space == "registers" and InstrTl.wgmma_async in memory.instructions
        array = p.Array(
            len(self.arrays),
            statement.name,
            statement.dtype,
            shape,
            memory,
            tuple(self._owners(memory, shape, here)),
            CPU if outside else pair(InstrTl.cuda_in_order, memory.usage),
            pair(InstrTl.cuda_in_order, memory.usage) if in_registers else None,
        )
        self.arrays.append(array)
        names.bound[statement.name] = whole(array)
        names.origins[array.number] = self._origin(memory, here)
        return [*names.checks(place), p.Alloc(place, array.number)]

    def _owners(self, memory: Memory, shape: Sequence[int], here: Here) -> Iterator[Threads | None]:
        """Who owns each shard (`spec.spork.machine.addresses.shards`)."""
        tiling = here.scope.tiling
        found = self.facts.shards.get(here.path)
        if tiling is None or found is None or memory.native is None:
            yield here.threads
            return
        for at in product(*(range(n) for n in shape[: len(found.distributed)])):
            thread = found.first + sum(i * pitch for i, pitch in zip(at, found.pitches, strict=True))
            try:
                yield native_owner(memory.native, tiling, thread, here.values)
            except Uneven as uneven:
                raise NeedsNumber(uneven.iterators) from None

    def _origin(self, memory: Memory, here: Here) -> Origin:
        """What says which collective owns an element."""
        tiling = here.scope.tiling
        found = self.facts.shards.get(here.path)
        if tiling is None or found is None or memory.native is None:
            return here.threads
        return memory.native, tiling, found, here.values

    def _barriers(self, statement: AllocBarrier, names: Names, here: Here) -> list[p.Node]:
        """Barriers begin."""
        names.known = here.known
        kind = BarrierType(statement.kind.value)
        sizes = None if statement.sizes is None else tuple(names.size(size) for size in statement.sizes)
        found = self.facts.barriers.get(here.path)
        depth = None if found is None else found.depth
        if here.path not in self.barriers:
            self.barriers[here.path] = p.Barriers(len(self.barriers), statement.name, kind, depth)
        number = self.barriers[here.path].number
        names.bound[statement.name] = Ring(number, kind, sizes)
        place = here.place(statement)
        return [*names.checks(place), p.BarrierAlloc(place, number)]

    # Synchronization ----------------------------------------------------------------------------------------------

    def _synchronization(
        self, statement: Fence | Arrive | Await, names: Names, here: Here
    ) -> Iterator[p.Node]:
        place = here.place(statement)
        match statement:
            case Fence(first, second):
                yield p.Fence(place, first.value, second.value)
            case Arrive(first, barriers, reverse=reverse):
                queues = self._queues(barriers, names, here, reverse=reverse)
                ring = names.bound[barriers[0].name]
                assert isinstance(ring, Ring)
                yield from names.checks(place)
                yield p.Arrive(place, first.value, queues, ring.type)
            case Await(barrier, second, n, reverse):
                ring, at = names.barrier(barrier)
                index = tuple(i for i in at if i is not None)
                yield from names.checks(place)
                yield p.Await(place, p.Queue(ring.number, index, reverse), second.value, n, ring.type)

    def _queues(
        self, barriers: Sequence[BarrierAt], names: Names, here: Here, *, reverse: bool = False
    ) -> tuple[p.Queue, ...]:
        """The queues that an arrive reaches, its home first (`spec.spork.machine.statements.queues`)."""
        home = self.facts.homes.get(here.path, ())
        tiling = here.scope.tiling
        assert tiling is not None
        counts = {i.name: i.count for i in tiling.iterators}
        found = [names.barrier(barrier) for barrier in barriers]
        number = found[0][0].number
        first = tuple(names.control(Name(name)) for name in home)
        every = dict.fromkeys(
            index
            for _, at in found
            for index in product(
                *(range(counts[n]) if i is None else (i,) for n, i in zip(home, at, strict=True))
            )
        )
        return tuple(p.Queue(number, index, reverse) for index in dict.fromkeys((first, *every)))

    # Loops and choices --------------------------------------------------------------------------------------------

    def _choice(self, statement: If, names: Names, here: Here) -> Iterator[p.Node]:
        condition = names.control(statement.condition)
        scope = inside(here.scope, statement)
        yield from names.checks(here.place(statement))

        def branch(holds: bool) -> p.Block:
            body, first = (statement.body, 0) if holds else (statement.orelse, len(statement.body))
            known = here.known.where(condition, holds)
            return self._block(body, names, replace(here, scope=scope, known=known), first)

        if isinstance(condition, int) or here.known.holds(condition):
            yield branch(bool(condition))
        elif here.known.holds(applied(Op.Not, condition)):
            yield branch(holds=False)
        else:
            yield p.If(condition, branch(holds=True), branch(holds=False))

    def _loop(self, loop: For, names: Names, here: Here) -> p.Node:
        lo, hi = names.control(loop.lo), names.control(loop.hi)
        kind: Any = _KINDS.get(loop.mode, "seq") if not isinstance(loop.mode, CudaThreads) else "threads"
        inner, is_task = self._inside(loop, here)
        place = (inner if is_task else here).place(loop)
        var = p.Var(self.vars, loop.iterator)
        self.vars += 1
        known = here.known.looped(var, lo, hi)
        if known is None:
            return p.For(place, kind, var, lo, hi, p.Block(), is_task)
        inner = replace(inner, known=known)
        kept = len(self.arrays), dict(self.barriers), self.vars
        try:
            body = self._body(loop, var, names, inner)
        except NeedsNumber as needed:
            if var.number not in needed.iterators:
                raise
            del self.arrays[kept[0] :]
            self.barriers, self.vars = kept[1:]
            names.pending.clear()  # of the statement that was given up half way
            body = self._unrolled(loop, var, lo, hi, names, inner)
        return p.For(place, kind, var, lo, hi, body, is_task)

    def _inside(self, loop: For, here: Here) -> tuple[Here, bool]:
        """Inside of a loop, and whether its iterations are tasks."""
        if loop.mode == PAR:
            return here, False
        if loop.mode == CUDA_TASKS:
            is_task = is_task_nest(loop)
            return (replace(here, scope=inside(here.scope, loop), values=()) if is_task else here), is_task
        return replace(here, scope=inside(here.scope, loop)), False

    def _body(self, loop: For, value: Term, names: Names, inner: Here) -> p.Block:
        """The body of a loop whose iterator stands for a term."""
        if isinstance(loop.mode, CudaThreads):
            inner = replace(inner, values=(*inner.values, value))
        return self._block(loop.body, names.looped(loop.iterator, value), inner)

    def _unrolled(self, loop: For, var: p.Var, lo: Term, hi: Term, names: Names, inner: Here) -> p.Block:
        """A body with a branch for each value of the iterator, in each of which it is a number."""
        bounds = inner.known.ranges.get(var.number)
        if bounds is None:
            raise NeedsNumber({v.number for v in (*variables(lo), *variables(hi))})
        chosen = p.Block()
        for value in reversed(range(bounds[0], bounds[1] + 1)):
            same = applied(Op.CmpEq, var, value)
            known = inner.known.where(same)
            body = self._body(loop, value, names, replace(inner, known=known))
            chosen = p.Block((p.If(same, body, chosen),))
        return chosen
