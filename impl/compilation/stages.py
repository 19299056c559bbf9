"""
Stages
======

The lowering pipeline from end to end: a Function goes through every stage, and what each made is kept.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from soundline.impl.codegen.c.renderer import render
from soundline.impl.codegen.c.target import target_under
from soundline.impl.collecting import collection_paused
from soundline.impl.logs import Stopwatch, logger
from soundline.impl.lower.graphs.obligations import Obligation, obligations
from soundline.impl.lower.graphs.simplify import Applied, simplified
from soundline.impl.lower.linear.expand import expand
from soundline.impl.lower.linear.linearize import linearize
from soundline.impl.lower.linear.plan import plan
from soundline.impl.lower.optimize import optimized
from soundline.impl.lower.premises import with_premises
from soundline.impl.lower.rangeify import Split, split
from soundline.impl.lower.schedule.schedules import Numbered, Scheduled
from soundline.impl.lower.select import select
from soundline.spec.errors import UsageError
from soundline.spec.pipeline.stages import STAGES as LAW
from soundline.spec.uop import Op, UOp, toposort

PROFILES: Final[Mapping[str, tuple[str, ...]]] = {
    "exact": (),
    "fast": ("approx", "contract", "reassociate", "tensor_core"),
}
"""The licences that each profile grants (U-09)."""

STAGES: Final = ("callify", "rangeify", "optimize", "expand", "select", "linearize", "plan", "render")
"""The names of the stages, in order."""


@dataclass(frozen=True)
class Lowered:
    """A function after every stage: the UOps of each, and the C text of the last."""

    stages: Mapping[str, UOp]
    profile: str
    applied: Applied
    discharged: tuple[Obligation, ...]
    schedules: tuple[Scheduled, ...] = ()
    """What Optimize has done to each kernel of Rangeify."""
    timed: Stopwatch = field(default_factory=lambda: Stopwatch("compile"))
    """How long each stage took."""
    rewritten: Mapping[str, Applied] = field(default_factory=dict)
    """The rules and passes that were applied in each stage; `applied` is their sum."""

    @functools.cached_property
    def source(self) -> str:
        """The C text, rendered when it is asked for."""
        return rendered(self.stages["plan"], self.timed)


def rendered(program: UOp, timed: Stopwatch) -> str:
    """The C text of planned kernels."""
    return timed("render", lambda: render(program), lambda text: f"{len(text)} bytes of C")


@functools.lru_cache(maxsize=512)
@collection_paused()
def lower(function: UOp, profile: str, given: Numbered = ()) -> Lowered:
    """Take a Function (`callify`) through the pipeline; schedules may be given for kernels of Rangeify, by number."""
    licences = PROFILES[profile]
    by = {name: Applied() for name in ("callify", "rangeify", "optimize", "select")}
    timed = Stopwatch("compile")
    temporaries = len(function.src) - 1 + len(function.src[0].src)
    body = timed("callify", lambda: simplified(function.src[0], licences, by["callify"]), _size)
    stages = {"callify": Op.Function(body, *function.src[1:])}
    made = timed(
        "rangeify",
        lambda: _split(stages["callify"], temporaries, by["rangeify"]),
        lambda made: _size(made.kernels),
    )
    stages["rangeify"] = made.kernels
    discharged = timed("obligations", lambda: obligations(made.kernels, made.held), _count)
    stages["optimize"], schedules = timed(
        "optimize",
        lambda: optimized(stages["rangeify"], licences, by["optimize"], dict(given), temporaries, made.held),
        lambda made: _size(made[0]),
    )
    stages["expand"] = timed("expand", lambda: expand(stages["optimize"]), _size)
    stages["select"] = timed(
        "select",
        lambda: select(stages["expand"], target_under(licences), licences, by["select"]),
        _size,
    )
    stages["linearize"] = timed("linearize", lambda: linearize(stages["select"], licences), _size)
    stages["plan"] = timed("plan", lambda: plan(stages["linearize"], temporaries), _size)
    logger("compile").info(
        "lowered to %d kernels in %.1f ms", len(stages["plan"].src), sum(timed.seconds.values()) * 1e3
    )
    return Lowered(stages, profile, _all_of(by), tuple(discharged), schedules, timed, by)


def _all_of(by: Mapping[str, Applied]) -> Applied:
    total = Applied()
    for applied in by.values():
        total.take(applied)
    return total


def _split(function: UOp, temporaries: int, applied: Applied) -> Split:
    """The kernels of a function, and those that decide a premise of another."""
    made = split(function, applied)
    return replace(made, kernels=with_premises(made.kernels, temporaries, applied))


def _size(program: UOp) -> str:
    return f"{sum(1 for _ in toposort(program))} nodes"


def _count(discharged: list[Obligation]) -> str:
    return f"{len(discharged)} accesses proved to stay inside their storage"


def stage_named(text: str) -> str:
    """The stage of a name: its own, or that of the source; raises `UsageError` for a name that is no stage.

    >>> stage_named("Instruction Selection")
    'select'
    """
    wanted = text.strip().lower()
    found = next((n for n in STAGES if wanted in (n, LAW[n].title.lower())), None)
    if found is None:
        names = ", ".join(
            n if n == t.lower() else f"{n} ({t})" for n, t in ((n, LAW[n].title) for n in STAGES)
        )
        raise UsageError(f"there is no stage {text!r}", hint=f"one of {names}")
    return found
