"""
Explanations
============

How a program was compiled: which values are stored and why, what is computed together with them, over which axes each
kernel runs, how much memory is used, how large each stage is, and the certificate. The reasons are those that the
stages used.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from soundline.impl.compilation.certificate import Certificate
from soundline.impl.compilation.linking import Linked
from soundline.impl.executables.signatures import Signature
from soundline.impl.inspect.kernels import KernelStory, kernel_stories
from soundline.spec.uop import Op, UOp, toposort


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
    """How a program was compiled. ``print`` shows it; `as_json` gives the same as data."""

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
        "rules_proved": certificate.rules_proved,
        "steps": [{"stage": s.stage, "what": s.what, "status": s.status} for s in certificate.steps],
        "counts": certificate.counts,
        "sampled": list(certificate.sampled),
        "promised": list(certificate.promised),
        "trusted": list(certificate.trusted),
        "called": [name for name, _ in certificate.called],
    }


# Told from the program -------------------------------------------------------------------------------------------


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
