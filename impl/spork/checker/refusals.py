"""
Refusals
========

The error of the law where a run is refused. A plan knows at which statement and in which iteration that is; the
statement is then executed there by the law itself (`spec.spork.machine`), with the names as they are in that iteration.
Arrays have their elements only where they are asked for.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from typing import Any, NoReturn, overload

from soundline.impl.spork.checker.planning.plan import At, Plan
from soundline.impl.spork.checker.replaying import Replayer
from soundline.spec.dtypes import DType
from soundline.spec.spork.language.programs import Proc
from soundline.spec.spork.language.statements import (
    Alloc,
    AllocBarrier,
    Arrive,
    Assign,
    Await,
    Call,
    CudaAsync,
    CudaDeviceFunction,
    CudaWarps,
    For,
    If,
    Reduce,
    Statement,
    WindowOf,
)
from soundline.spec.spork.language.types import Data
from soundline.spec.spork.library.schema import Instruction
from soundline.spec.spork.machine.arguments import allocation_of, control_arguments, proc_arguments
from soundline.spec.spork.machine.events import Cell, Element
from soundline.spec.spork.machine.names import BarrierArray, Names, whole
from soundline.spec.spork.machine.statements import Here, direct_action, instruction_action
from soundline.spec.spork.static.memory import memory_of
from soundline.spec.spork.synchronization.barriers import BarrierType

Path = tuple[int, ...]


def refuse(plan: Plan, at: At) -> NoReturn:
    """Raise the error with which the law refuses a run at a node of a plan."""
    replayer = Replayer(plan)
    iteration = replayer.iteration(at.node, at.values)
    names = Names(control_arguments(plan.proc, plan.sizes))
    where = _Where(replayer.placed(at.node).path, iter(iteration))
    where.proc(plan.proc, names)
    raise AssertionError("the law refuses what a plan refuses")


@dataclass(slots=True)
class Elements(Sequence[Element]):
    """The elements of an array, each made when it is asked for first."""

    space: Hashable
    name: str
    dtype: DType
    shape: tuple[int, ...]
    made: dict[int, Element] = field(default_factory=dict)

    def __len__(self) -> int:
        return prod(self.shape)

    @overload
    def __getitem__(self, at: int) -> Element: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[Element]: ...
    def __getitem__(self, at: int | slice) -> Element | Sequence[Element]:
        if isinstance(at, slice):
            return [self[k] for k in range(*at.indices(len(self)))]
        if at not in self.made:
            rest, index = at, []
            for size in reversed(self.shape):
                rest, k = divmod(rest, size)
                index.append(k)
            cells = (Cell(self.space, at),)
            self.made[at] = Element(cells, self.dtype, self.name, tuple(reversed(index)))
        return self.made[at]


@dataclass(slots=True)
class _Where:
    """A statement in an iteration, and the way to it."""

    path: Path
    iteration: Iterator[tuple[str, int]]

    def proc(self, proc: Proc, names: Names) -> None:
        """Go through a program."""
        for argument in proc.arguments:
            if isinstance(argument.type, Data):
                self.allocate(allocation_of(argument), names, (argument.name,))
        self.block(proc.body, names, 0)

    def block(self, body: Sequence[Statement], names: Names, depth: int, first: int = 0) -> None:
        """Execute what a block declares before the statement, then the statement or what is in it."""
        position = self.path[depth] - first
        for k, statement in enumerate(body[:position], first):
            if isinstance(statement, Alloc | AllocBarrier | WindowOf):
                self.execute(statement, names, (*self.path[:depth], k))
        statement = body[position]
        if depth + 1 < len(self.path):
            self.inside(statement, names, depth + 1)
        else:
            self.execute(statement, names, self.path)

    def inside(self, statement: Statement, names: Names, depth: int) -> None:
        """Go into a statement."""
        match statement:
            case For(iterator=iterator, body=body):
                name, number = next(self.iteration)
                assert name == iterator, "a plan has the iterators of the program"
                self.block(body, names.looped(iterator, number), depth)
            case If(_, body, orelse):
                taken = self.path[depth] < len(body)
                self.block(body if taken else orelse, names, depth, 0 if taken else len(body))
            case CudaWarps(body=body) | CudaAsync(body=body) | CudaDeviceFunction(body=body):
                self.block(body, names, depth)
            case Call(callee=callee) if isinstance(callee.value, Proc):
                self.block(callee.value.body, proc_arguments(statement, callee.value, names), depth)

    # Statements ---------------------------------------------------------------------------------------------------

    def execute(self, statement: Statement, names: Names, path: Path) -> None:
        """Execute one statement, as far as it may be refused."""
        match statement:
            case Alloc():
                self.allocate(statement, names, path)
            case AllocBarrier(name=name, kind=kind):
                declared = statement.sizes
                sizes = None if declared is None else tuple(names.size(size) for size in declared)
                names.bound[name] = BarrierArray((name, path), name, BarrierType(kind.value), sizes)
            case WindowOf(name, window, memory):
                view = names.window(window)
                names.bound[name] = view if memory is None else view.lying_in(memory_of(memory, statement))
            case Assign() | Reduce():
                direct_action(statement, names, Here())
            case Arrive(barriers=barriers):
                for barrier in barriers:
                    names.barrier(barrier)
            case Await(barrier=barrier):
                names.barrier(barrier)
            case For(lo=lo, hi=hi):
                names.control(lo), names.control(hi)
            case If(condition=condition):
                names.control(condition)
            case Call():
                self.call(statement, names)

    def allocate(self, statement: Alloc, names: Names, where: Hashable) -> None:
        """An array, without its elements."""
        shape = tuple(names.size(size) for size in statement.sizes)
        elements: Any = Elements((statement.name, where), statement.name, statement.dtype, shape)
        memory = memory_of(statement.memory, statement)
        names.bound[statement.name] = whole(elements, shape, statement.dtype, memory)

    def call(self, call: Call, names: Names) -> None:
        """A call of a proc, or an instruction with its trailing barriers."""
        callee = call.callee.value
        if isinstance(callee, Proc):
            proc_arguments(call, callee, names)
        elif isinstance(callee, Instruction):
            instruction_action(replace(call, trailing=()), callee, names, Here(), ())
            for barrier in call.trailing:
                names.barrier(barrier)
