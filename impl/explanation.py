"""
Explanations
============

What became of a program, told from the program itself: which values have storage of their own and why, what was
computed together with each of them, over which axes each kernel runs and what that means, how much memory there is, how
large each stage is, and the certificate. Nothing is told that was not decided: the reasons are those of the stages.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from typing import TYPE_CHECKING, Any

from soundline.impl.certificate import Certificate
from soundline.impl.counts import Work, trips, work_of
from soundline.impl.lower.linearize import is_global, nest_of
from soundline.impl.lower.rangeify import Realized, realized
from soundline.impl.lower.schedule import schedule_text
from soundline.impl.lower.symbolic import is_symbolic
from soundline.impl.lower.views import MOVEMENT
from soundline.impl.operands import shape_of
from soundline.spec.uop import AxisType, Op, UOp, toposort

if TYPE_CHECKING:
    from soundline.impl.linking import Linked
    from soundline.impl.signatures import Signature
    from soundline.impl.stages import Lowered

_FOLDS = {Op.Add: "sum", Op.Max: "maximum", Op.Mul: "product"}
_AT_ONCE = frozenset(t.name for t in (AxisType.UPCAST, AxisType.UNROLL, AxisType.GROUP_REDUCE))
_ORIGINS = {"heuristics": "the heuristics", "given": "whoever compiled it", "search": "search"}
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
    folded: tuple[tuple[Axis, ...], ...]

    def __str__(self) -> str:
        text = " × ".join(map(str, self.around)) or "once"
        folds = ", ".join(" × ".join(map(str, fold)) for fold in dict.fromkeys(self.folded))
        return f"{text}, folding {folds}" if folds else text


@dataclass(frozen=True, slots=True)
class KernelStory:
    """One kernel: what it makes, why it stands alone, what it computes on the way, and how it runs."""

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


@dataclass(frozen=True, slots=True)
class StageSize:
    """A stage: its name, how many nodes it left, and how long it took when the program was lowered."""

    name: str
    nodes: int
    seconds: float | None = None

    def __str__(self) -> str:
        size = f"{self.nodes} bytes of C" if self.name == "render" else f"{self.nodes} nodes"
        return f"{self.name}: {size}" + ("" if self.seconds is None else f", {self.seconds * 1e3:.1f} ms")


@dataclass(frozen=True, slots=True)
class Memory:
    """Bytes: of arguments, captured tensors and results, and of temporaries, alone and in the arena that they share."""

    arguments: int
    captured: int
    results: int
    temporaries: int
    arena: int

    @property
    def peak(self) -> int:
        """The most that is in use at once."""
        return self.arguments + self.captured + self.results + self.arena

    def __str__(self) -> str:
        parts = [f"{self.arguments} bytes of arguments", f"{self.results} of results"]
        parts += [f"{self.captured} captured"] * bool(self.captured)
        shared = f" (alone they take {self.temporaries})" if self.temporaries != self.arena else ""
        return f"{', '.join([*parts, f'{self.arena} bytes of temporaries'])}{shared}; at most {self.peak} at once"


@dataclass(frozen=True, slots=True)
class Explanation:
    """What became of a program. ``print`` shows it; `as_json` is the same for machines."""

    program: str
    profile: str
    kernels: tuple[KernelStory, ...]
    memory: Memory
    stages: tuple[StageSize, ...]
    certificate: Certificate
    units: int
    """How many functions were lowered apart: the bodies that are called, and what lies between the calls."""
    commands: int

    def __str__(self) -> str:
        units = f", {self.commands} commands over {self.units} units" if self.units > 1 else ""
        count = len(self.kernels)
        source = next((s.nodes for s in self.stages if s.name == "render"), 0)
        size = f"{count} kernel{'s' * (count != 1)}, {self.memory.arena} bytes of temporaries, {source} bytes of C"
        return "\n".join(
            [
                self.program,
                f"{size}{units}",
                *(line for kernel in self.kernels for line in kernel.lines()),
                f"memory: {self.memory}",
                "stages:",
                *(f"  {stage}" for stage in self.stages),
                str(self.certificate),
            ]
        )

    __repr__ = __str__

    def __contains__(self, text: str) -> bool:
        """Whether the explanation says this."""
        return text in str(self)

    def _repr_html_(self) -> str:
        """A table of the kernels, and the text; a notebook shows it."""
        rows = "".join(
            f"<tr><td>{k.number}</td><td>{escape(k.title)}</td><td>{escape(', '.join(k.stores))}</td>"
            f"<td>{escape('; '.join(k.why))}</td><td>{escape(' | '.join(dict.fromkeys(map(str, k.nests))))}</td></tr>"
            for k in self.kernels
        )
        head = "".join(f"<th>{t}</th>" for t in ("kernel", "computes", "stores", "because", "loops"))
        return (
            f"<p><code>{escape(self.program)}</code></p><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody>"
            f"</table><details><summary>all of it</summary><pre>{escape(str(self))}</pre></details>"
        )

    def as_json(self) -> dict[str, Any]:
        """The same in lists, strings and numbers."""
        return {
            "program": self.program,
            "profile": self.profile,
            "units": self.units,
            "commands": self.commands,
            "kernels": [_kernel_json(k) for k in self.kernels],
            "memory": {
                **{name: getattr(self.memory, name) for name in Memory.__slots__},
                "peak": self.memory.peak,
            },
            "stages": [{"name": s.name, "nodes": s.nodes, "seconds": s.seconds} for s in self.stages],
            "certificate": _certificate_json(self.certificate),
        }


def _kernel_json(kernel: KernelStory) -> dict[str, Any]:
    return {
        "number": kernel.number,
        "title": kernel.title,
        "stores": list(kernel.stores),
        "reads": list(kernel.reads),
        "why": list(kernel.why),
        "ops": dict(kernel.ops),
        "movement_ops": kernel.moved,
        "loops": [str(n) for n in kernel.nests],
        "schedule": kernel.schedule,
        "schedule_by": kernel.origin,
        "notes": list(kernel.notes),
        "flops": {dtype.name: count for dtype, count in kernel.work.flops.items()},
        "bytes_read": kernel.work.read,
        "bytes_written": kernel.work.written,
        "sites": kernel.sites,
    }


def _certificate_json(certificate: Certificate) -> dict[str, Any]:
    return {
        "profile": certificate.profile,
        "licences": list(certificate.licences),
        "proved": certificate.proved,
        "rules": [
            {"id": r.id, "count": r.count, "verdict": r.ruling.verdict, "procedural": r.procedural}
            for r in certificate.rules
        ],
        "obligations": [str(o) for o in certificate.obligations],
        "sampled": list(certificate.sampled),
    }


# Told from the stages ---------------------------------------------------------------------------------------------


def kernel_stories(linked: Linked) -> tuple[KernelStory, ...]:
    """The kernels of a program, those of one unit after those of another."""
    sites = Counter(site.unit for site in linked.sites if site.unit is not None)
    return tuple(
        replace(story, number=first + story.number, sites=sites[k])
        for k, (unit, first) in enumerate(zip(linked.units, linked.first_kernels, strict=True))
        for story in _stories(unit, first)
    )


def _stories(unit: Lowered, first: int) -> tuple[KernelStory, ...]:
    """The kernels of a lowered function, told from its stages; `first` is the number of the first in the program."""
    stages = unit.stages
    if is_symbolic(stages["callify"]):
        return _stories_at_sizes(stages["optimize"])
    schedules = [s for s in unit.schedules for _ in range(s.launches)]
    split = {r.storage: r for r in realized(stages["callify"])}
    names = _Names(len(stages["callify"].src) - 1, len(stages["callify"].src[0].src))
    works = [work_of(k) for k in stages["plan"].src]
    stored = [frozenset(_storages(k, Op.Store)) for k in stages["optimize"].src]
    kernels = stages["optimize"].src
    found = []
    for number, (kernel, work) in enumerate(zip(kernels, works, strict=True)):
        made = dict.fromkeys(_storages(kernel, Op.Store))
        stories = [split[s] for s in made if s in split]
        read = [s for s in dict.fromkeys(_storages(kernel, Op.Load)) if is_global(s) and s not in made]
        fused = dict.fromkeys(n for story in stories for n in story.fused)
        ops = Counter(n.op.name for n in fused if n.op not in _QUIET)
        reader = next(
            (n for n, k in enumerate(kernels) if n > number and made.keys() & {*_storages(k, Op.Load)}), 0
        )
        nests = tuple(_nest(effect) for effect in kernel.src)
        found.append(
            KernelStory(
                number,
                " and ".join(map(title_of, stories))
                if stories
                else f"packing {', '.join(map(names.of, read))}",
                tuple(names.of(s) for s in made if is_global(s)),
                tuple(map(names.of, read)),
                tuple(dict.fromkeys(s.why for s in stories))
                or (f"kernel {first + reader} reads it again and again, from far apart or behind a gate",),
                tuple(ops.items()),
                sum(1 for n in fused if n.op in MOVEMENT),
                nests,
                (*_part(number, stored), *_notes(kernel, nests)),
                work,
                schedule_text(schedules[number].steps),
                schedules[number].origin,
            )
        )
    return tuple(found)


def _stories_at_sizes(kernels: UOp) -> tuple[KernelStory, ...]:
    """The kernels of a function of symbolic sizes, of which little is known before it is called."""
    found = []
    for number, kernel in enumerate(kernels.src):
        stored, read = (list(dict.fromkeys(_storages(kernel, op))) for op in (Op.Store, Op.Load))
        made, used = (tuple(f"buffer {s.arg.slot}" for s in some) for some in (stored, read))
        why = "the sizes are known when the program is called: reductions and costly values have kernels of their own"
        notes = ("the bounds of its loops are arguments",)
        found.append(
            KernelStory(number, "a value of symbolic size", made, used, (why,), (), 0, (), notes, Work())
        )
    return tuple(found)


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
    shape = _times(shape_of(story.node)) or "scalar"
    value = story.node
    while value.op in MOVEMENT or value.op is Op.Contiguous:
        value = value.src[0]
    folds = [n for n in story.fused if n.op is Op.Reduce]
    inner = " and ".join(dict.fromkeys(_fold_text(n) for n in folds if n is not value))
    if value in folds:
        over = _fold_text(value).replace(" over", f" {shape} over")
        return f"{over} of {inner}" if inner else over
    arithmetic = any(n.op not in _QUIET for n in story.fused)
    return f"{'elementwise' if arithmetic else 'copy'} {shape}" + (f" with {inner}" if inner else "")


def _fold_text(fold: UOp) -> str:
    return f"{_FOLDS[fold.arg.op]} over {_times([shape_of(fold.src[0])[a] for a in fold.arg.axes])}"


def _times(shape: Sequence[int]) -> str:
    """Sizes, without those of 1."""
    return "×".join(str(s) for s in shape if s != 1)


def _nest(effect: UOp) -> Nest:
    ranges, body = nest_of(effect)
    folds = [n for n in toposort(body) if n.op is Op.Reduce and len(n.src) > 1]
    return Nest(_axes(ranges), tuple(_axes(n.src[1:]) for n in folds))


def _axes(ranges: Sequence[UOp]) -> tuple[Axis, ...]:
    return tuple(Axis(r.arg.type.name, trips(r)) for r in ranges if r.op is Op.Range)


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
    for lanes, folding in dict.fromkeys((_lanes(n.around), bool(n.folded)) for n in nests):
        if len(lanes) == 1:
            yield f"{lanes[0]} neighbouring elements at once"
        elif lanes and folding:
            yield f"tiles of {_times(lanes)}: each operand that is loaded is used for a whole row or column of them"
        elif lanes:
            yield f"tiles of {_times(lanes)}: it reads along one axis and writes along another"
    for lanes in dict.fromkeys(_lanes(fold) for n in nests for fold in n.folded):
        if lanes:
            yield f"a reduction in {math.prod(lanes)} lanes that are folded at the end"
    if len(nests) > 1:
        yield f"{len(nests)} nests: what does not fill the lanes, or stands behind a gate, runs apart"
    own = [n for n in toposort(kernel) if n.op is Op.Buffer and not is_global(n)]
    if own:
        size = sum(b.arg.size * b.dtype.itemsize for b in own)
        yield f"keeps {size} bytes in {len(own)} buffer{'s' * (len(own) != 1)} of its own"


def _lanes(axes: Sequence[Axis]) -> tuple[int, ...]:
    return tuple(a.trips for a in axes if a.type in _AT_ONCE)


def temporaries_of(plan: UOp) -> int:
    """The bytes that the temporaries of a planned program would take side by side."""
    views = dict.fromkeys(n for n in toposort(plan) if n.op is Op.Slice)
    return sum(-(-v.arg.size * v.dtype.itemsize // 64) * 64 for v in views)


def stage_sizes(
    stages: Mapping[str, UOp], source: str, seconds: Mapping[str, float]
) -> tuple[StageSize, ...]:
    """How large each stage is."""
    sizes = {name: sum(1 for _ in toposort(program)) for name, program in stages.items()}
    sizes["render"] = len(source)
    return tuple(StageSize(name, size, seconds.get(name)) for name, size in sizes.items())


def explained(
    program: str,
    linked: Linked,
    certificate: Certificate,
    inputs: Sequence[Signature],
    outputs: Sequence[Signature],
    captured: int,
    commands: int,
) -> Explanation:
    """The explanation of a program that takes and gives this."""
    memory = Memory(
        sum(s.size * s.storage.itemsize for s in inputs),
        captured,
        sum(s.size * s.storage.itemsize for s in outputs),
        _temporaries(linked),
        linked.arena,
    )
    stages = stage_sizes(linked.stages, linked.source, linked.seconds)
    kernels = kernel_stories(linked)
    return Explanation(
        program, certificate.profile, kernels, memory, stages, certificate, len(linked.units), commands
    )


def _temporaries(linked: Linked) -> int:
    """The bytes that all temporaries would take side by side: those between steps, and those of each step."""
    steps = linked.steps
    between = sum(-(-place.nbytes // 64) * 64 for place in steps.places[steps.arguments + steps.results :])
    inside = [temporaries_of(unit.stages["plan"]) for unit in linked.units]
    return between + sum(inside[site.unit] for site in linked.sites if site.unit is not None)
