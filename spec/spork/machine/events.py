"""
Events
======

A run of a program at given sizes is one sequence of events, for what a program does next never depends on data: bounds,
indices and conditions are made of sizes. `unfolding` makes the sequence, in the sequential order of the program. Every
reading is a reduction over it:

- the sequential reading executes the steps of its actions one after another (`sequential`);
- the abstract machine records its accesses and synchronizations (`abstract_machine`);
- the parallel reading gives each thread the events that it takes part in, and interleaves them (`parallel`).

A *cell* is the smallest piece of storage that the program knows, a space and an address in it; an element covers one
cell, or several where arrays of other widths share its space. Cells are bytes, not names (S-06): shared memory is laid
out as a stack, so that what is allocated after a free may cover the same cells.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import NamedTuple

from soundline.spec.dtypes import DType
from soundline.spec.ops.node import Op
from soundline.spec.spork.language.statements import Statement
from soundline.spec.spork.library.memories import Memory, Space
from soundline.spec.spork.synchronization.barriers import BarrierType, QueueId
from soundline.spec.spork.synchronization.timelines import InstrTl, Pair, SyncTl
from soundline.spec.spork.synchronization.visibility import Kind, Thread


class Cell(NamedTuple):
    """A piece of storage that no access divides."""

    space: Hashable
    """Which memory: an array of its own, or the shared memory of a CTA in a task."""
    address: int


@dataclass(frozen=True, slots=True)
class Element:
    """An element of an array, or a scalar."""

    cells: tuple[Cell, ...]
    dtype: DType
    name: str
    """The name of the array where it was allocated, for messages."""
    index: tuple[int, ...]
    """Its index in that array."""
    owner: frozenset[Thread] | None = field(default=None, compare=False, repr=False)
    """Whose register it is, of a matrix of wgmma the warp that has its row; None where it is none."""

    held_by_warp: bool = field(default=False, compare=False, repr=False)
    """Whether it is a register of a matrix that the warps of a warpgroup have by rows."""

    def __str__(self) -> str:
        return f"{self.name}[{', '.join(map(str, self.index))}]" if self.index else self.name


@dataclass(frozen=True, slots=True)
class Place:
    """Where and when a statement ran."""

    statement: Statement
    path: tuple[int, ...]
    """Which statement of the program it is: the positions from the top of the proc down; one of a called proc follows
    the path of the call.
    """
    iteration: tuple[tuple[str, int], ...]
    """The iterators around it and their values, outermost first."""
    threads: frozenset[Thread]
    """Who executed it."""
    instr_tl: InstrTl


# Values -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Load:
    """The value of an element."""

    element: Element

    @property
    def dtype(self) -> DType:
        """The dtype of the element."""
        return self.element.dtype


@dataclass(frozen=True, slots=True)
class Number:
    """A number of a dtype: a literal, or a value of control that is used as data."""

    value: bool | int | float
    dtype: DType


@dataclass(frozen=True, slots=True)
class Computed:
    """An op on values; its operands have one dtype, but for the condition of Where."""

    op: Op
    operands: tuple[Value, ...]
    dtype: DType
    """The dtype of the result."""


@dataclass(frozen=True, slots=True)
class Converted:
    """A value in another dtype."""

    operand: Value
    dtype: DType


Value = Load | Number | Computed | Converted


def loaded(value: Value) -> list[Element]:
    """The elements that a value is computed of."""
    match value:
        case Load(element):
            return [element]
        case Computed(operands=operands):
            return [e for operand in operands for e in loaded(operand)]
        case Converted(operand=operand):
            return loaded(operand)
        case _:
            return []


@dataclass(frozen=True, slots=True)
class Step:
    """One assignment of an element, or one addition to it."""

    target: Element
    value: Value
    reduce: bool = False
    atomic: bool = False
    """Whether that addition is atomic (S-13)."""


# Events -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Touch:
    """A use of elements by an action: all accesses of one kind through one operand."""

    operand: str
    """The argument of the instruction, or the name in the program."""
    kind: Kind
    pair: Pair
    elements: tuple[Element, ...]
    out_of_order: bool = False
    convergent: bool = False
    extended: frozenset[Pair] = frozenset()
    seen_by: frozenset[Thread] | None = None
    """Who has to see what was before, where that is not everybody who executes the action: the threads whose registers
    these are, of which an instruction takes those of several collectives.
    """
    by: frozenset[Thread] | None = None
    """Who uses the elements, where that is not everybody who executes the action: of an operand of wgmma in shared
    memory, the warps whose rows of the accumulator are computed of it (S-15).
    """

    def threads(self, place: Place) -> frozenset[Thread]:
        """Who uses the elements, of those who execute the action."""
        return place.threads if self.by is None else self.by


@dataclass(frozen=True, slots=True)
class Action:
    """An assignment, a reduction, or an instruction."""

    place: Place
    touches: tuple[Touch, ...]
    """What it reads, then what it writes. An element that it only reduces is written."""
    steps: tuple[Step, ...]
    """Its sequential meaning."""
    trailing: tuple[QueueId, ...] = ()
    """The queues of its trailing barriers: the home first, where there are several."""


@dataclass(frozen=True, slots=True)
class Buffer:
    """Storage between its allocation and its end."""

    name: str
    memory: Memory
    dtype: DType
    shape: tuple[int, ...]
    elements: tuple[Element, ...]
    """In row-major order."""
    owner: frozenset[Thread]
    """Who allocates and frees it. Storage that is shared out is one buffer for each shard, and the collective that owns
    the shard is its owner.
    """

    @property
    def space(self) -> Space:
        """Where it lies."""
        return self.memory.space


@dataclass(frozen=True, slots=True)
class Allocated:
    """The life of some storage begins. An argument of the proc is allocated first of all, and never freed."""

    place: Place
    buffer: Buffer

    @property
    def is_argument(self) -> bool:
        """Whether it is an argument of the proc, which stands in no block."""
        return not self.place.path


@dataclass(frozen=True, slots=True)
class Freed:
    """The life of some storage ends, at the end of its block."""

    place: Place
    buffer: Buffer


@dataclass(frozen=True, slots=True)
class BarrierAllocated:
    """The life of the queues of a barrier begins."""

    place: Place
    barrier: Hashable
    """`QueueId.barrier` of its queues."""
    name: str
    type: BarrierType
    depth: int | None = None
    """How many physical mbarriers each queue has; None where it is no mbarrier, or never awaited."""


@dataclass(frozen=True, slots=True)
class BarrierFreed:
    """The life of the queues of a barrier ends: their counters have to be equal."""

    place: Place
    barrier: Hashable
    name: str
    type: BarrierType


@dataclass(frozen=True, slots=True)
class Fenced:
    """A Fence was executed."""

    place: Place
    first: SyncTl
    second: SyncTl


@dataclass(frozen=True, slots=True)
class Arrived:
    """An Arrive was executed, at one queue or as a multicast at several."""

    place: Place
    first: SyncTl
    queues: tuple[QueueId, ...]
    """The home first: its counter gives the stamp, and it alone counts the arrive."""
    type: BarrierType


@dataclass(frozen=True, slots=True)
class Awaited:
    """An Await was executed."""

    place: Place
    queue: QueueId
    second: SyncTl
    n: int
    type: BarrierType


@dataclass(frozen=True, slots=True)
class Launched:
    """A device function begins (S-12)."""

    place: Place
    launch: Hashable
    block_dim: int
    cluster_dim: int


@dataclass(frozen=True, slots=True)
class Ended:
    """A device function ends: all its tasks are done (S-12)."""

    place: Place
    launch: Hashable


@dataclass(frozen=True, slots=True)
class TaskBegan:
    """A task begins, with threads and shared memory of its own (S-07)."""

    place: Place
    task: Hashable
    """`Thread.task` of its threads."""


@dataclass(frozen=True, slots=True)
class TaskEnded:
    """A task ends."""

    place: Place
    task: Hashable


@dataclass(frozen=True, slots=True)
class Forked:
    """A thread of the CPU starts one thread for each iteration of a par loop."""

    place: Place
    children: tuple[Thread, ...]


@dataclass(frozen=True, slots=True)
class Joined:
    """The threads of a par loop have ended."""

    place: Place
    children: tuple[Thread, ...]


Event = (
    Allocated
    | Freed
    | BarrierAllocated
    | BarrierFreed
    | Action
    | Fenced
    | Arrived
    | Awaited
    | Launched
    | Ended
    | TaskBegan
    | TaskEnded
    | Forked
    | Joined
)
