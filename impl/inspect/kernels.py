"""
Descriptions of kernels
=======================

A description of each kernel of a program, derived from the stages: what it computes and stores and why, what was
computed with it, over which loops it runs, which steps Optimize took and what they mean, and how much work it is.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from soundline.impl.lower.graphs.size_arguments import is_symbolic_loop
from soundline.impl.lower.graphs.views import MOVEMENT, extents, most_iterations
from soundline.impl.lower.linear.counts import Work, work_of
from soundline.impl.lower.linear.linearize import is_global, nest_of
from soundline.impl.lower.rangeify import Realized, realized
from soundline.impl.lower.schedule.schedules import Scheduled, schedule_text
from soundline.spec.uop import AxisType, Op, UOp, toposort

if TYPE_CHECKING:
    from soundline.impl.compilation.linking import Linked
    from soundline.impl.compilation.stages import Lowered

_FOLDS = {Op.Add: "sum", Op.Max: "maximum", Op.Mul: "product"}
_AT_ONCE = frozenset(t.name for t in (AxisType.UPCAST, AxisType.UNROLL, AxisType.GROUP_REDUCE))
_ORIGINS = {
    "heuristics": "the heuristics",
    "heuristics, by rows": "the heuristics, by rows",
    "given": "whoever compiled it",
    "search": "search",
}
_QUIET = frozenset((*MOVEMENT, Op.Param, Op.Const, Op.Stack, Op.Contiguous, Op.Tuple))
"""What is no computation: values that are there already, and movement, which becomes index arithmetic."""


@dataclass(frozen=True, slots=True)
class Axis:
    """A loop of a kernel: its type, and how often it runs."""

    type: str
    trips: int

    def __str__(self) -> str:
        return f"{self.trips} {self.type}"


@dataclass(frozen=True, slots=True)
class Nest:
    """One nest of loops: those around what it stores, outermost first, and those of its reductions."""

    around: tuple[Axis, ...]
    reduced: tuple[tuple[Axis, ...], ...]

    def __str__(self) -> str:
        text = " × ".join(map(str, self.around)) or "once"
        reductions = ", ".join(" × ".join(map(str, reduction)) for reduction in dict.fromkeys(self.reduced))
        return f"{text}, reducing {reductions}" if reductions else text


@dataclass(frozen=True, slots=True)
class KernelStory:
    """One kernel: what it computes, why it is separate, what else it computes on the way, and how it runs."""

    number: int
    title: str
    stores: tuple[str, ...]
    reads: tuple[str, ...]
    why: tuple[str, ...]
    ops: tuple[tuple[str, int], ...]
    """The ops of the function that were computed in it, with how many there are; movement ops are not among them."""
    moved: int
    """How many movement ops have become index arithmetic in it."""
    nests: tuple[Nest, ...]
    notes: tuple[str, ...]
    work: Work
    schedule: str = ""
    """The steps that Optimize has taken with the kernel of Rangeify that this one is, or is a part of."""
    origin: str = "heuristics"
    """Who chose them."""
    sites: int = 1
    """At how many places of the program it runs."""

    def lines(self) -> Iterator[str]:
        """The kernel for a reader."""
        sites = f", at {self.sites} places" if self.sites > 1 else ""
        yield f"kernel {self.number}: {self.title} → {', '.join(self.stores)}{sites}"
        yield from (f"  stored because {why}" for why in self.why)
        ops = ", ".join(name if count == 1 else f"{name} ×{count}" for name, count in self.ops)
        moved = f"{self.moved} movement op{'s' * (self.moved != 1)} became index arithmetic"
        fused = "; ".join(part for part in (ops, moved if self.moved else "") if part)
        if fused:
            yield f"  fused: {fused}"
        yield f"  reads {', '.join(self.reads) or 'nothing'}"
        yield from (f"  loops: {nest}" for nest in dict.fromkeys(map(str, self.nests)))
        yield f"  schedule, by {_ORIGINS.get(self.origin, self.origin)}: {self.schedule or 'none, it runs as it is'}"
        yield from (f"  {note}" for note in self.notes)
        work = self.work
        yield f"  {work.operations} floating-point operations, {work.moved} bytes"


# Told from the stages ---------------------------------------------------------------------------------------------


def kernel_stories(linked: Linked) -> tuple[KernelStory, ...]:
    """The kernels of a program, those of one unit after those of another."""
    sites = Counter(site.unit for site in linked.sites if site.unit is not None)
    return tuple(
        replace(story, number=first + story.number, sites=sites[k])
        for k, (unit, first) in enumerate(zip(linked.units, linked.first_kernels, strict=True))
        for story in _stories(unit, first)
    )


def _stories(unit: Lowered, first: int) -> Iterator[KernelStory]:
    """The kernels of a lowered function, told from its stages; `first` is the number of the first in the program."""
    kernels = unit.stages["optimize"].src
    split = realized(unit.stages["callify"])
    names = _Names(len(unit.stages["callify"].src) - 1, len(unit.stages["callify"].src[0].src))
    stored = [frozenset(_storages(k, Op.Store)) for k in kernels]
    schedules = _by_launch(unit.schedules)
    rows = zip(kernels, unit.stages["plan"].src, schedules, strict=True)
    for number, (kernel, linear, steps) in enumerate(rows):
        made = dict.fromkeys(_storages(kernel, Op.Store))
        computed = [split[s.kernel] for s in steps]
        kept = [r for r in computed if r.storage in made]
        read = [s for s in dict.fromkeys(_storages(kernel, Op.Load)) if is_global(s) and s not in made]
        fused = dict.fromkeys(n for r in computed for n in r.fused) if kept else {}
        ops = Counter(n.op.name for n in fused if n.op not in _QUIET)
        nests = tuple(_nest(effect) for effect in kernel.src)
        yield KernelStory(
            number,
            " and ".join(map(title_of, kept)) or f"{_prepares(kernel)} {', '.join(map(names.of, read))}",
            tuple(names.of(s) for s in made if is_global(s)),
            tuple(map(names.of, read)),
            tuple(dict.fromkeys(r.why for r in kept)) or (_packed_for(number, stored, kernels, first),),
            tuple(ops.items()),
            sum(1 for n in fused if n.op in MOVEMENT),
            nests,
            (*_rows(computed, kept), *_part(number, stored), *_notes(kernel, nests)),
            work_of(linear),
            " | ".join(schedule_text(s.steps) or "as it is" for s in steps)
            if any(s.steps for s in steps)
            else "",
            steps[0].origin,
        )


def _by_launch(schedules: Sequence[Scheduled]) -> list[list[Scheduled]]:
    """For each kernel that runs what was done to the kernels of Rangeify that it is, or is a part of."""
    found: list[list[Scheduled]] = []
    for schedule in schedules:
        found += [[schedule] for _ in range(schedule.launches)]
        if not schedule.launches:  # it shares the rows of the one before
            found[-1].append(schedule)
    return found


def _packed_for(number: int, stored: Sequence[frozenset[UOp]], kernels: Sequence[UOp], first: int) -> str:
    """Why a kernel packs."""
    reading = (
        k for k in range(number + 1, len(kernels)) if stored[number] & {*_storages(kernels[k], Op.Load)}
    )
    reader = first + next(reading, number)
    if _prepares(kernels[number]) != "packing":
        return f"kernel {reader} adds it apart from its products"
    return f"kernel {reader} reads it again and again, from far apart or behind a gate"


def _prepares(kernel: UOp) -> str:
    """What a kernel does for another one: it packs, or it adds the zeros that closed gates leave of products."""
    return "zeros behind gates of" if any(n.op is Op.Reduce for n in toposort(kernel)) else "packing"


def _rows(computed: Sequence[Realized], kept: Sequence[Realized]) -> Iterator[str]:
    """What a kernel computes on the way that has no storage but a row of its own."""
    inside = [r for r in computed if r not in kept]
    if kept and inside:
        titles = ", ".join(map(title_of, inside))
        yield f"row by row, of which one at a time lies in storage of its own: {titles}"


@dataclass(frozen=True, slots=True)
class _Names:
    """How storage is called: arguments come first, then the results."""

    arguments: int
    outputs: int

    def of(self, storage: UOp) -> str:
        """The name of a Buffer."""
        slot = storage.arg.slot
        if slot < self.arguments:
            return f"argument {slot}"
        if slot < self.arguments + self.outputs:
            return f"output {slot - self.arguments}"
        return f"temporary {slot - self.arguments - self.outputs}"


def _storages(kernel: UOp, op: Op) -> Iterator[UOp]:
    """The Buffers that a kernel loads from or stores to."""
    for node in toposort(kernel):
        if node.op is op:
            place = node.src[0]
            while place.op in (Op.Index, Op.After, Op.Reshape):
                place = place.src[0]
            if place.op is Op.Buffer:
                yield place


def title_of(story: Realized) -> str:
    """What a kernel computes, in a few words: ``sum 64×32 over 128``."""
    shape = _times(extents(story.node)) or "scalar"
    value = story.node
    while value.op in MOVEMENT or value.op is Op.Contiguous:
        value = value.src[0]
    reductions = [n for n in story.fused if n.op is Op.Reduce]
    inner = " and ".join(dict.fromkeys(_reduction_text(n) for n in reductions if n is not value))
    if value in reductions:
        over = _reduction_text(value).replace(" over", f" {shape} over")
        return f"{over} of {inner}" if inner else over
    arithmetic = any(n.op not in _QUIET for n in story.fused)
    return f"{'elementwise' if arithmetic else 'copy'} {shape}" + (f" with {inner}" if inner else "")


def _reduction_text(reduction: UOp) -> str:
    return f"{_FOLDS[reduction.arg.op]} over {_times([extents(reduction.src[0])[a] for a in reduction.arg.axes])}"


def _times(shape: Sequence[int]) -> str:
    """Sizes, without those of 1."""
    return "×".join(str(s) for s in shape if s != 1)


def _nest(effect: UOp) -> Nest:
    ranges, body = nest_of(effect)
    reductions = [n for n in toposort(body) if n.op is Op.Reduce and len(n.src) > 1]
    return Nest(_axes(ranges), tuple(_axes(n.src[1:]) for n in reductions))


def _axes(ranges: Sequence[UOp]) -> tuple[Axis, ...]:
    return tuple(Axis(r.arg.type.name, most_iterations(r)) for r in ranges if r.op is Op.Range)


def _part(number: int, stored: Sequence[frozenset[UOp]]) -> Iterator[str]:
    """Which part of what it stores a kernel is, where several store it."""
    parts = [k for k, storages in enumerate(stored) if storages == stored[number]]
    if len(parts) > 1:
        yield f"part {parts.index(number) + 1} of {len(parts)}: the others store the rest"


def _notes(kernel: UOp, nests: Sequence[Nest]) -> Iterator[str]:
    """What the types of a kernel's axes mean."""
    shared = max((a.trips for n in nests for a in n.around if a.type == AxisType.THREAD.name), default=0)
    if shared:
        yield f"dealt out to as many cores as there are, {shared} at most"
    for lanes, folding in dict.fromkeys((_lanes(n.around), bool(n.reduced)) for n in nests):
        if len(lanes) == 1:
            yield f"{lanes[0]} neighbouring elements at once"
        elif lanes and folding:
            yield f"tiles of {_times(lanes)}: each operand that is loaded is used for a whole row or column of them"
        elif lanes:
            yield f"tiles of {_times(lanes)}: it reads along one axis and writes along another"
    for lanes in dict.fromkeys(_lanes(reduction) for n in nests for reduction in n.reduced):
        if lanes:
            yield f"a reduction in {math.prod(lanes)} lanes that are reduced at the end"
    if any(map(is_symbolic_loop, toposort(kernel))):
        yield "sizes are known when the program is called: these are the greatest"
    if len(nests) > 1:
        yield f"{len(nests)} nests: what does not fill the lanes, or stands behind a gate, runs apart"
    own = [n for n in toposort(kernel) if n.op is Op.Buffer and not is_global(n)]
    if own:
        size = sum(b.arg.size * b.dtype.itemsize for b in own)
        yield f"keeps {size} bytes in {len(own)} buffer{'s' * (len(own) != 1)} of its own"


def _lanes(axes: Sequence[Axis]) -> tuple[int, ...]:
    return tuple(a.trips for a in axes if a.type in _AT_ONCE)
