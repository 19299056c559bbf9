"""
Checks of stages
================

Whether each stage of a program that was just lowered keeps its law (`spec.pipeline.stages`): its conditions on
structure, and, where the program is small and no licence lets bits change, that the outputs hold what they held before
the stage. The contents of the arguments are random, those of captured tensors are what they hold.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from soundline.impl.codegen.c.target import target_under
from soundline.impl.compilation.stages import Lowered
from soundline.impl.lower.graphs.size_arguments import is_symbolic
from soundline.impl.program.program import Program
from soundline.spec.pipeline.stages import STAGES, Lowering, Violation, structure, value
from soundline.spec.uop import UOp, toposort
from soundline.verify.programs.inputs import random_array

SMALL: Final = 4000
"""Values of programs with at most so many elements are compared, stage by stage: the evaluator runs every kernel."""


@dataclass(frozen=True, slots=True)
class StageCheck:
    """One stage: how many conditions hold, whether values were compared, and what it broke; None where that is open."""

    stage: str
    conditions: int
    compared: bool
    broken: tuple[Violation, ...] | None

    def __str__(self) -> str:
        title = STAGES[self.stage].title
        if self.broken is None:
            return f"{title}: not decided at symbolic sizes"
        if self.broken:
            return "\n".join(f"{title}: {v.what} [{v.rule}]" for v in self.broken)
        values = ", and the outputs are the same, bit for bit" if self.compared else ""
        return f"{title}: {self.conditions} conditions hold{values}"


def checked(program: Program) -> list[StageCheck]:
    """Each stage of each unit of a program, held to its law."""
    return [check for unit in program.units for check in _unit(unit, program)]


def _unit(unit: Lowered, program: Program) -> Iterator[StageCheck]:
    licences = program.certificate.licences
    function = unit.stages["callify"]
    symbolic = is_symbolic(function)
    target = target_under(licences)
    contents = None if licences or symbolic or _elements(function) > SMALL else _contents(function)
    before: UOp | None = None
    for name, stage in STAGES.items():
        after = unit.stages["plan" if name == "render" else name]
        given = Lowering(before, after, target, len(function.src) - 1, len(function.src[0].src), unit.source)
        compared = contents is not None and stage.value is not None and before is not None
        broken = None if symbolic else _broken(name, given, contents if compared else None)
        yield StageCheck(name, len(stage.invariants), compared, broken)
        before = after


def _broken(name: str, given: Lowering, contents: Mapping[int, Any] | None) -> tuple[Violation, ...]:
    found = structure(name, given)
    if not found and contents is not None:
        found = value(name, given, contents)
    return tuple(found)


def _elements(function: UOp) -> int:
    return sum(math.prod(s for s in n.shape or () if isinstance(s, int)) for n in toposort(function))


def _contents(function: UOp) -> dict[int, Any]:
    generator = np.random.default_rng(0)
    return {b.arg.slot: random_array(b.dtype, (b.arg.size,), generator) for b in function.src[1:]}
