"""
Plans of runs
=============

What a program does at given sizes, with everything that does not depend on loops computed once: a tree of loops and
statements whose windows, threads and queues are terms in the iterators. A run goes through the tree in the order of the
program; `spec.spork.machine.unfolding` is the same sequence, written out.

Names are gone: an iterator is a variable with a number of its own for each loop, a window is a base and strides in the
elements of the array that was allocated, a collective is a set of threads and a shift. Procs that are called are in
place, with the paths that they have in a run.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from soundline.spec.dtypes import DType
from soundline.spec.ops.node import Op
from soundline.spec.spork.language.programs import Proc
from soundline.spec.spork.language.statements import Statement
from soundline.spec.spork.library.memories import Memory
from soundline.spec.spork.synchronization.barriers import BarrierType
from soundline.spec.spork.synchronization.timelines import InstrTl, Pair, SyncTl
from soundline.spec.spork.synchronization.visibility import Kind

Path = tuple[int, ...]


# Terms ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Var:
    """The iterator of one loop."""

    number: int
    name: str


@dataclass(frozen=True, slots=True)
class Applied:
    """An op of the law on numbers of the dtype ``index``; a condition is 0 or 1."""

    op: Op
    operands: tuple[Term, ...]


Term = int | Var | Applied
"""A number of control in an iteration. What has no iterator in it is an int."""


@dataclass(frozen=True, slots=True)
class Threads:
    """Threads of the cluster of the task: intervals of linear indices, from which a shift leads to those of an
    iteration.
    """

    intervals: tuple[tuple[int, int], ...]
    """Where all iterators are 0: disjoint, not adjacent, ascending, each without its end."""
    shift: Term = 0


# Storage ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Array:
    """What a statement allocates, or an argument of the proc: in one shard, or in several."""

    number: int
    name: str
    dtype: DType
    shape: tuple[int, ...]
    memory: Memory
    owners: tuple[Threads | None, ...]
    """Who allocates and frees each shard; None for the thread of the CPU that runs there. The shards are equally long
    parts of the elements, in order.
    """
    freeing: Pair
    """How an owner sees what was done with the storage that it frees (`transitions.freeing_pair`)."""
    left: Pair | None = None
    """How its registers were used before their life begins, by a convergent write of the owner (S-11); mostly None."""

    @property
    def elements(self) -> int:
        """How many elements it has."""
        count = 1
        for size in self.shape:
            count *= size
        return count


@dataclass(frozen=True, slots=True)
class Region:
    """Elements of an array: ``first + sum(i * stride)`` for all ``0 <= i < count``, the first dimension slowest."""

    array: int
    first: Term
    """A number of an element of the array, in row-major order."""
    dims: tuple[tuple[int, int], ...] = ()
    """Count and stride of each; counts may be 0, strides may be 0 or have gaps."""

    @property
    def elements(self) -> int:
        """How many elements it has, those that it has twice counted twice."""
        count = 1
        for size, _ in self.dims:
            count *= size
        return count


@dataclass(frozen=True, slots=True)
class Touch:
    """A use of elements (`events.Touch`): no element is twice in its regions."""

    operand: str
    kind: Kind
    pair: Pair
    regions: tuple[Region, ...]
    """In the order of `events.Touch.elements`."""
    out_of_order: bool = False
    convergent: bool = False
    extended: frozenset[Pair] = frozenset()
    seen_by: Threads | None = None
    by: Threads | None = None


@dataclass(frozen=True, slots=True)
class Barriers:
    """What a statement allocates as barriers."""

    number: int
    name: str
    type: BarrierType
    depth: int | None
    """How many physical mbarriers each queue has (`events.BarrierAllocated`)."""


@dataclass(frozen=True, slots=True)
class Queue:
    """A queue of a barrier."""

    barriers: int
    at: tuple[Term, ...]
    reverse: bool = False


# Statements -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Placed:
    """A statement of the program, where it stands."""

    path: Path
    statement: Statement
    threads: Threads | None
    """Who executes it; None for the thread of the CPU that runs there."""
    instr_tl: InstrTl
    iteration: tuple[tuple[str, Term], ...] | None = None
    """The iterators around it and their values, outermost first; None for those of the loops around in the plan. It is
    given where a loop around was unrolled.
    """


@dataclass(frozen=True, slots=True)
class Action:
    """An assignment, a reduction or an instruction: one event."""

    place: Placed
    touches: tuple[Touch, ...]
    trailing: tuple[Queue, ...] = ()
    """The home first; a queue may be there twice."""
    accesses: int = 0
    """The accesses to elements, those of touches that were left out included."""


@dataclass(frozen=True, slots=True)
class Check:
    """A condition of the run, which no event is: where it is 0, the run is refused there by `spec`."""

    place: Placed
    condition: Term


@dataclass(frozen=True, slots=True)
class Apart:
    """Regions of one array that have to be disjoint (``seq-overlap``), else the run is refused there."""

    place: Placed
    one: tuple[Region, ...]
    other: tuple[Region, ...]


@dataclass(frozen=True, slots=True)
class Alloc:
    """The life of an array begins: one event for each shard."""

    place: Placed
    array: int


@dataclass(frozen=True, slots=True)
class Free:
    """It ends: one event for each shard, in reverse order."""

    place: Placed
    array: int


@dataclass(frozen=True, slots=True)
class BarrierAlloc:
    """The queues of a barrier begin, or go on."""

    place: Placed
    barriers: int


@dataclass(frozen=True, slots=True)
class BarrierFree:
    """They end."""

    place: Placed
    barriers: int


@dataclass(frozen=True, slots=True)
class Fence:
    """A fence."""

    place: Placed
    first: SyncTl
    second: SyncTl


@dataclass(frozen=True, slots=True)
class Arrive:
    """An arrive; the home first, a queue may be there twice."""

    place: Placed
    first: SyncTl
    queues: tuple[Queue, ...]
    type: BarrierType


@dataclass(frozen=True, slots=True)
class Await:
    """An await."""

    place: Placed
    queue: Queue
    second: SyncTl
    n: int
    type: BarrierType


@dataclass(frozen=True, slots=True)
class Block:
    """Nodes one after another. Where an array of shared memory is allocated among them, the stacks of the CTAs fall
    back at the end of the block to what they were at its beginning.
    """

    nodes: tuple[Node, ...] = ()


@dataclass(frozen=True, slots=True)
class If:
    """A choice."""

    condition: Term
    body: Block
    orelse: Block


@dataclass(frozen=True, slots=True)
class For:
    """A loop, ascending. A loop over tasks whose `is_task` holds has tasks for iterations: each begins and ends with an
    event. A loop of `par` is preceded and followed by one.
    """

    place: Placed
    kind: Literal["seq", "threads", "tasks", "par"]
    var: Var
    lo: Term
    hi: Term
    body: Block
    is_task: bool = False
    period: int | None = None
    """Of a loop of `seq`: between two cuts, an iteration does to what is kept of the plan just what the iteration does
    that is so many later. None where nothing of the kind was shown.
    """
    cuts: tuple[Term, ...] = ()
    """Iterations at which another behaviour begins, in terms of the iterators around; those outside of the loop and
    those that are there twice say nothing.
    """


@dataclass(frozen=True, slots=True)
class Tasks:
    """The tasks of a nest of loops over tasks, of which equal ones are run once."""

    place: Placed
    vars: tuple[Var, ...]
    chosen: tuple[tuple[tuple[int, ...], int], ...]
    """Values of the iterators, in the order of the program: the first of some equal tasks, and how many they are."""
    body: Block


@dataclass(frozen=True, slots=True)
class Launch:
    """A device function: an event before and one after."""

    place: Placed
    block_dim: int
    cluster_dim: int
    grain: int
    """Bytes of a cell of shared memory (`addresses.grain_of`)."""
    body: Block


@dataclass(frozen=True, slots=True)
class Counted:
    """Events that do nothing to what is kept of the plan."""

    events: int
    accesses: int


Node = (
    Action
    | Check
    | Apart
    | Alloc
    | Free
    | BarrierAlloc
    | BarrierFree
    | Fence
    | Arrive
    | Await
    | Block
    | If
    | For
    | Tasks
    | Launch
    | Counted
)


@dataclass(frozen=True, slots=True)
class Plan:
    """A program at given sizes."""

    proc: Proc
    sizes: Mapping[str, int | bool]
    root: Block
    arrays: tuple[Array, ...]
    """By their numbers."""
    barriers: tuple[Barriers, ...]
    vars: int
    """How many variables there are."""


def nodes(node: Node) -> Iterator[Node]:
    """A node and all below it, in the order of the program, parents first."""
    yield node
    match node:
        case Block(inner):
            for part in inner:
                yield from nodes(part)
        case If(_, body, orelse):
            yield from nodes(body)
            yield from nodes(orelse)
        case For(body=body) | Tasks(body=body) | Launch(body=body):
            yield from nodes(body)


# Outcomes ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class At:
    """When a node ran: its number in `nodes(plan.root)`, the values of all variables, and the number of its event."""

    node: int
    values: tuple[int, ...]
    event: int


@dataclass(frozen=True, slots=True)
class Sighting:
    """The first hazard of a finding (`abstract_machine.Sighting`), and how many there are."""

    rule: str
    later: At
    earlier: Path | None
    """The statement of the record that is not seen; None where there is none."""
    count: int
    array: int | None = None
    """The array through which the cell was met; None for a hazard of a queue."""
    element: int = 0
    """The number of the element there."""
    cell: int = 0
    """Which cell of the element, and where it is: a number that `Engine.trace` understands."""
    queue: tuple[int, tuple[int, ...], bool] | None = None
    """Barriers, index and side."""
    given: str = ""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a run."""

    events: int
    accesses: int
    sightings: tuple[Sighting, ...]
    """In the order of the run."""
    refused: At | None = None
    """Where a `Check` or `Apart` ended it."""


@dataclass(frozen=True, slots=True)
class Traced:
    """An event of the second pass."""

    at: At
    part: int = 0
    """Which of the events of its node: the shard of an allocation or of its end; 0 where a loop or a launch begins, 1
    where it ends.
    """
    touches: tuple[tuple[int, int], ...] = ()
    """Of an action: the touches that meet the cell, and the number of the element in its array by which each does."""


@dataclass(frozen=True, slots=True)
class Trace:
    """The events that concern a cell, from the last one that cleared its history to the hazard, both included: those
    that touch the cell, and all synchronizations. The allocation of the cell is the first, even if it was before.
    Repetitions that were skipped are absent.
    """

    events: tuple[Traced, ...]
    before: Mapping[tuple[int, tuple[int, ...], bool], tuple[int, int]]
    """The arrives and awaits of each queue (barriers, index, side) before the first of them."""
    last: Mapping[tuple[int, tuple[int, ...], bool], tuple[Traced, ...]]
    """The last arrives and awaits at each queue before the first of them, in order: enough that a run which begins with
    them has the counters less some number, the same for both.
    """
