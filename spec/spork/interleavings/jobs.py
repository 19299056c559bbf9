"""
What an action does to memory
=============================

The parallel reading takes an action apart. Its steps become *parts*: a part computes one element that the action
writes, from elements that the action *reads*. What the action reads of its own writes stays inside the value, and
an element that is written several times is written once: all that others may see of an action is when each element is
read and when each is written.

An action is a *job* of the threads that execute it. How its parts may run depends on what it is:

- *in order*, by one thread: part after part, each reads, then writes;
- *in order*, by a collective: the parts in any order, at any time after the first of its threads has come and before
  the last has gone on, for which thread does which element is the affair of the instruction; a part that reads what
  another writes makes them one, so does an action all of whose uses are convergent, as those of registers are, which
  all threads do together;
- *asynchronous*: every read and every write by itself, at any time after the issue (tearing), and only those that are
  not out of order in the order of issue.

The registers of a matrix of wgmma are those of four warps, each with its rows. An instruction on them is four actions,
of each warp the one on its rows (`by_warps`): warps issue wgmma, wait for it and use the results each by itself, for
each has a queue of its own (S-15).

Between what a part in order reads and what it writes others may come (`halve`), but for atomic parts and those that all
threads do together.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from soundline.spec.dtypes import int32
from soundline.spec.ops.node import Op
from soundline.spec.spork.machine.algebras import ValueToken
from soundline.spec.spork.machine.events import (
    Action,
    Cell,
    Computed,
    Converted,
    Element,
    Load,
    Number,
    Place,
    Step,
    Touch,
    Value,
    loaded,
)
from soundline.spec.spork.synchronization.timelines import ASYNC_PROXY, IO_RAM, InstrTl, Pair, UsageTl
from soundline.spec.spork.synchronization.visibility import Kind, Thread

REGISTERS: Final = frozenset({UsageTl.cuda_sync_rmem, UsageTl.cuda_async_a_rmem, UsageTl.cuda_async_d_rmem})
"""How registers are used."""

IN_ORDER: Final = frozenset({InstrTl.cpu_in_order, InstrTl.cuda_in_order})
"""The timelines of what a thread does in its order."""


@dataclass(slots=True)
class ElementUse:
    """A use of an element by a job."""

    element: Element
    cells: tuple[int, ...]
    """The numbers of its cells."""
    pair: Pair
    free: bool = True
    """Whether an asynchronous use has no order at all."""
    convergent: bool = False
    """Whether all threads of the job do it together."""
    doubtful: bool = False
    """Whether a register is used so that only a missing ``wgmma.fence`` would give it a value."""

    @property
    def through_async_proxy(self) -> bool:
        """Whether memory is reached through the asynchronous proxy."""
        return self.pair in ASYNC_PROXY

    @property
    def in_registers(self) -> bool:
        """Whether the element lies in registers."""
        return self.pair.usage in REGISTERS


@dataclass(slots=True)
class JobPart:
    """One element that a job writes."""

    target: ElementUse
    value: Value
    """What is written, or added where the part is atomic; its elements are reads of the job."""
    reads: tuple[int, ...]
    """The numbers of these reads."""
    atomic: bool = False
    """Whether the value is added to the element, at once (S-13)."""
    after: list[tuple[int, int]] = field(default_factory=list)
    """What comes before it in the order of registers: a job, with the number of a part or ~that of a read."""
    results: dict[tuple[ValueToken, ...], ValueToken] = field(default_factory=dict)
    """What was computed already, by what was read."""
    slots: tuple[int, ...] = ()
    """The mbarriers that count its write."""
    halved: bool = False
    """Whether others can come between its reads and its write."""


@dataclass(slots=True)
class Job:
    """An action, taken apart."""

    number: int
    action: Action
    threads: frozenset[Thread]
    """Who executes it; of a copy by a collective that is waited for in groups, the one thread that is elected."""
    reads: list[ElementUse] = field(default_factory=list)
    parts: list[JobPart] = field(default_factory=list)
    together: bool = False
    """Whether all parts are done at once."""
    crosses_warps: bool = False
    """Whether a step needs registers of wgmma of several warps: then these have to meet."""
    after: list[list[tuple[int, int]]] = field(default_factory=list)
    """For each read, what comes before it."""

    @property
    def instr_tl(self) -> InstrTl:
        """Its timeline."""
        return self.action.place.instr_tl

    @property
    def in_order(self) -> bool:
        """Whether its threads do it themselves."""
        return self.instr_tl in IN_ORDER

    @property
    def waits_for_all(self) -> bool:
        """Whether it begins only when all of its threads have come."""
        convergent = all(use.convergent for use in self.uses())
        return self.in_order and (convergent or self.crosses_warps)

    def uses(self) -> Iterable[ElementUse]:
        """All that it reads and writes."""
        return [*self.reads, *(part.target for part in self.parts)]


class _Builder:
    """Takes one action apart."""

    def __init__(self, job: Job, cells: dict[Cell, int]) -> None:
        self.job, self.cells = job, cells
        self.reading = _touches(job.action, reads=True)
        self.writing = _touches(job.action, reads=False)
        self.read: dict[Element, int] = {}
        self.written: dict[Element, Value] = {}

    def use(self, element: Element, *touches: Mapping[Element, Touch]) -> ElementUse:
        """The use of an element by the first of these touches that has it."""
        touch = next(found[element] for found in touches if element in found)
        cells = tuple(self.cells.setdefault(cell, len(self.cells)) for cell in element.cells)
        together = touch.convergent or touch.pair.usage in REGISTERS
        return ElementUse(element, cells, touch.pair, touch.out_of_order, together)

    def value(self, value: Value) -> Value:
        """A value, with what the job wrote itself in the place of its elements."""
        match value:
            case Load(element):
                if element in self.written:
                    return self.written[element]
                if element not in self.read:
                    self.read[element] = len(self.job.reads)
                    self.job.reads.append(self.use(element, self.reading, self.writing))
                return value
            case Computed(op, operands, dtype):
                return Computed(op, tuple(map(self.value, operands)), dtype)
            case Converted(operand, dtype):
                return Converted(self.value(operand), dtype)
            case _:
                return value

    def build(self) -> None:
        """Make the parts of all steps."""
        atomic = set()
        for step in self.job.action.steps:
            value, target = self.value(step.value), step.target
            if step.atomic:
                atomic.add(target)
                if target in self.written:
                    value = Computed(Op.Add, (self.written[target], value), target.dtype)
            elif step.reduce:
                value = Computed(Op.Add, (self.value(Load(target)), value), target.dtype)
            self.written[target] = value
        for target, value in self.written.items():
            use = self.use(target, self.writing)
            reads = tuple(dict.fromkeys(self.read[e] for e in loaded(value)))
            self.job.parts.append(JobPart(use, value, reads, target in atomic))


def by_warps(action: Action) -> list[Action]:
    """An action, of each warp what it does with the rows of a matrix of wgmma that it has; or the action itself."""
    shares: dict[frozenset[Thread], list[Step]] = defaultdict(list)
    for step in action.steps:
        having = _having(step)
        if len(having) != 1:
            return [action]
        shares[next(iter(having))].append(step)
    return [
        replace(action, place=replace(action.place, threads=threads), steps=tuple(steps))
        for threads, steps in sorted(shares.items(), key=lambda share: min(t.number for t in share[0]))
    ]


def _having(step: Step) -> set[frozenset[Thread]]:
    """The warps whose registers of a matrix of wgmma a step uses."""
    used = (step.target, *loaded(step.value))
    return {e.owner for e in used if e.held_by_warp and e.owner is not None}


def taken_apart(number: int, action: Action, threads: frozenset[Thread], cells: dict[Cell, int]) -> Job:
    """The job of an action; `cells` numbers the cells, and gains those that are new."""
    job = Job(number, action, threads)
    job.crosses_warps = any(len(_having(step)) > 1 for step in action.steps)
    _Builder(job, cells).build()
    job.after = [[] for _ in job.reads]
    written = {cell for part in job.parts for cell in part.target.cells}
    own = any(cell in written for read in job.reads for cell in read.cells)
    several = len(job.parts) > 1
    job.together = job.in_order and len(threads) > 1 and several and (job.waits_for_all or own)
    return job


def halve(jobs: Sequence[Job]) -> None:
    """Find the parts in order whose reads and write must be two moves: others write what such a part reads, and use
    what it writes. Every other part reads and writes as if at once.
    """
    writers: dict[int, set[Hashable]] = defaultdict(set)
    users: dict[int, set[Hashable]] = defaultdict(set)
    for job in jobs:
        for cell in _interfering(job, job.reads):
            users[cell].add(_who(job))
        for cell in _interfering(job, (part.target for part in job.parts)):
            users[cell].add(_who(job))
            writers[cell].add(_who(job))
    for job in jobs:
        own = {_who(job)}
        for part in job.parts if job.in_order and not (job.together or job.waits_for_all) else ():
            read = {cell for n in part.reads for cell in job.reads[n].cells}
            part.halved = (
                not part.atomic
                and any(writers[cell] - own for cell in read)
                and any(users[cell] - own for cell in part.target.cells)
            )


def _interfering(job: Job, uses: Iterable[ElementUse]) -> Iterator[int]:
    """The cells of these uses, but for what is used in the order of registers."""
    return (cell for use in uses if not (job.in_order and use.in_registers) for cell in use.cells)


def _who(job: Job) -> Hashable:
    """The agent whose own actions are ordered with this one: a thread, else the job alone."""
    return next(iter(job.threads)) if job.in_order and len(job.threads) == 1 else job.number


def used_again(place: Place, threads: frozenset[Thread], cells: Sequence[Cell]) -> Action:
    """Writes by the next task to the shared memory of one that has ended."""
    elements = tuple(Element((cell,), int32, "next task", (k,)) for k, cell in enumerate(cells))
    steps = tuple(Step(element, Number(k, int32)) for k, element in enumerate(elements))
    touch = Touch("next task", Kind.write, IO_RAM, elements)
    return Action(replace(place, threads=threads, instr_tl=InstrTl.cuda_in_order), (touch,), steps)


def _touches(action: Action, *, reads: bool) -> dict[Element, Touch]:
    return {e: t for t in action.touches if (t.kind is Kind.read) == reads for e in t.elements}
