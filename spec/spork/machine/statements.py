"""
Statements of a run
===================

The events of a single statement: an assignment, a reduction or an instruction is an `Action` by the threads that
execute it, and a statement that synchronizes names its queues.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product

from soundline.spec.spork.language.expressions import Name
from soundline.spec.spork.language.scopes import HOST, Scope
from soundline.spec.spork.language.statements import (
    Arrive,
    Assign,
    Await,
    BarrierAt,
    Call,
    Fence,
    Reduce,
    Statement,
)
from soundline.spec.spork.library.schema import Instruction
from soundline.spec.spork.machine.addresses import SharedStacks
from soundline.spec.spork.machine.arguments import instruction_arguments
from soundline.spec.spork.machine.conditions import run_failed
from soundline.spec.spork.machine.events import Action, Arrived, Awaited, Fenced, Place
from soundline.spec.spork.machine.names import BarrierArray, Names
from soundline.spec.spork.machine.values import Recorder, Use, direct_touches, instruction_touches
from soundline.spec.spork.synchronization.barriers import QueueId
from soundline.spec.spork.synchronization.visibility import CPU_THREAD, Kind, Thread


@dataclass(frozen=True, slots=True)
class Here:
    """Where a run is: the scope, the threads, and the statement."""

    scope: Scope = HOST
    threads: frozenset[Thread] = frozenset({CPU_THREAD})
    values: tuple[int, ...] = ()
    """Those of the cuda_threads iterators around."""
    task: tuple[int, ...] = ()
    """The number of the launch, and the values of the cuda_tasks iterators around."""
    shared: SharedStacks | None = None
    """The shared memory of the task."""
    path: tuple[int, ...] = ()

    def at(self, position: int) -> Here:
        """At the statement at a position of the block."""
        return Here(self.scope, self.threads, self.values, self.task, self.shared, (*self.path, position))

    def within(self, scope: Scope, values: tuple[int, ...]) -> Here:
        """Inside of a loop or block of the device, with the threads that execute it."""
        numbers = scope.collective(values).threads
        return replace(self, scope=scope, values=values, threads=self.own(numbers))

    def own(self, numbers: frozenset[int]) -> frozenset[Thread]:
        """The threads of the task with these linear indices."""
        return frozenset(Thread(self.task, n) for n in numbers)

    def place(self, statement: Statement, names: Names) -> Place:
        """Where and when a statement runs."""
        return Place(statement, self.path, names.iteration, self.threads, self.scope.instr_tl)


# Actions ----------------------------------------------------------------------------------------------------------


def direct_action(statement: Assign | Reduce, names: Names, here: Here) -> Action:
    """An assignment or a reduction of the program itself."""
    recorder = Recorder()
    recorder.write(statement, names)
    touches = tuple(direct_touches(recorder.uses(), here.scope.instr_tl))
    return Action(here.place(statement, names), touches, tuple(recorder.steps))


def instruction_action(
    call: Call, instruction: Instruction, names: Names, here: Here, home: Sequence[str]
) -> Action:
    """An instruction: its body is executed as one action. `home` is the queue that its trailing barriers count by."""
    inner = instruction_arguments(call, instruction, names)
    atomic = frozenset(name for name in instruction.data if instruction.operand(name).atomic)
    recorder = Recorder(atomic)
    recorder.run(instruction.body, inner)
    uses = recorder.uses()
    _check_apart(uses, call, names)
    touches = tuple(instruction_touches(uses, instruction, recorder.steps))
    trailing = queues(call.trailing, home, names, here)[1] if call.trailing else ()
    return Action(here.place(call, names), touches, tuple(recorder.steps), trailing)


def _check_apart(uses: Sequence[Use], call: Call, names: Names) -> None:
    """Refuse operands that overlap where one is written: an instruction reads and writes in an order of its own."""
    written = [use for use in uses if use.kind is not Kind.read]
    for use in written:
        cells = {cell for element in use.elements for cell in element.cells}
        for other in uses:
            if other.operand == use.operand:
                continue
            shared = next((e for e in other.elements if not cells.isdisjoint(e.cells)), None)
            if shared is not None:
                given = f"{shared} as {use.operand} and as {other.operand}"
                raise run_failed("seq-overlap", call, given, names.iteration)


# Synchronization --------------------------------------------------------------------------------------------------


def synchronization(
    statement: Fence | Arrive | Await, names: Names, here: Here, home: Sequence[str]
) -> Fenced | Arrived | Awaited:
    """A fence, an arrive or an await."""
    place = here.place(statement, names)
    match statement:
        case Fence(first, second):
            return Fenced(place, first.value, second.value)
        case Arrive(first, barriers, reverse=reverse):
            array, found = queues(barriers, home, names, here, reverse=reverse)
            return Arrived(place, first.value, found, array.type)
        case Await(barrier, second, n, reverse):
            array, at = names.barrier(barrier)
            index = tuple(i for i in at if i is not None)
            return Awaited(place, QueueId(array.id, index, reverse), second.value, n, array.type)


def queues(
    barriers: Sequence[BarrierAt], home: Sequence[str], names: Names, here: Here, *, reverse: bool = False
) -> tuple[BarrierArray, tuple[QueueId, ...]]:
    """The queues that an arrive reaches, its home first. A colon stands for every iteration of the cuda_threads loop
    whose iterator is the home there.
    """
    found = [names.barrier(barrier) for barrier in barriers]
    array, tiling = found[0][0], here.scope.tiling
    assert tiling is not None
    counts = {i.name: i.count for i in tiling.iterators}
    reached = {
        index
        for _, at in found
        for index in product(
            *(range(counts[name]) if i is None else (i,) for name, i in zip(home, at, strict=True))
        )
    }
    first = tuple(names.control(Name(name)) for name in home)
    others = sorted(reached - {first})
    return array, tuple(QueueId(array.id, index, reverse) for index in (first, *others))
