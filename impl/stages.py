"""
Stages
======

The lowering pipeline from end to end: a Function goes through every stage, and what each made is kept.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from soundline.impl.codegen.c import render
from soundline.impl.lower.expand import expand
from soundline.impl.lower.linearize import linearize
from soundline.impl.lower.obligations import Obligation, obligations
from soundline.impl.lower.optimize import optimize
from soundline.impl.lower.plan import plan
from soundline.impl.lower.rangeify import rangeify
from soundline.impl.lower.select import select
from soundline.impl.lower.simplify import Applied, simplified
from soundline.spec.uop import Op, UOp

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

    @functools.cached_property
    def source(self) -> str:
        """The C text, rendered when it is asked for."""
        return render(self.stages["plan"])


@functools.lru_cache(maxsize=512)
def lower(function: UOp, profile: str) -> Lowered:
    """Take a Function (`callify`) through the pipeline."""
    licences = PROFILES[profile]
    applied = Applied()
    body = simplified(function.src[0], licences, applied)
    stages = {"callify": Op.Function(body, *function.src[1:])}
    stages["rangeify"] = rangeify(stages["callify"])
    discharged = obligations(stages["rangeify"])
    stages["optimize"] = optimize(stages["rangeify"], licences, applied)
    stages["expand"] = expand(stages["optimize"])
    stages["select"] = select(stages["expand"], licences)
    stages["linearize"] = linearize(stages["select"], licences)
    temporaries = len(function.src) - 1 + len(function.src[0].src)
    stages["plan"] = plan(stages["linearize"], temporaries)
    return Lowered(stages, profile, applied, tuple(discharged))
