"""
Derivations
===========

The steps from a traced graph to a loaded program, in their order, and what stands behind each:

* *proved*: a rule of the library, which the court has proved for all inputs, or a procedure of which it has proved each
  application here;
* *checked*: a condition that was decided for this program before the step was made, and that would have stopped the
  step: an access stays inside its storage, or a step of a schedule meets the conditions of its law;
* *sampled*: a pass that is imperative code. Tests compare its results with the evaluator on random programs; this
  program was not compared;
* *trusted*: a step that is neither proved, checked nor sampled.

A rule that the court has not proved is marked with its verdict instead of one of these words.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from soundline.impl import evidence
from soundline.impl.lower.graphs.approximate import BOUND
from soundline.impl.lower.schedule.schedules import Scheduled, schedule_text

if TYPE_CHECKING:
    from soundline.impl.compilation.linking import Linked
    from soundline.impl.compilation.stages import Lowered
    from soundline.impl.lower.graphs.simplify import Applied

CERTAIN: Final = ("proved", "checked")
"""The kinds of evidence that leave no doubt about a step."""
SAMPLED: Final = "sampled"
TRUSTED: Final = "trusted"

_PASSES: Final[Mapping[str, str]] = {
    "callify": "the graph becomes a function of its arguments",
    "rangeify": "the function is split into kernels, and movement becomes index arithmetic",
    "expand": "the lanes of parallel axes become shape",
    "select": "ops become instructions of the target",
    "linearize": "the graph of each kernel becomes a sequence of instructions",
    "plan": "temporaries share storage",
    "render": "instructions become C text",
}
"""The work of each stage that is not done by rules."""


@dataclass(frozen=True, slots=True)
class AppliedRule:
    """A rule of the library that rewrote the program, how often, and what the court says of it."""

    id: str
    count: int
    ruling: evidence.Ruling
    procedural: bool = False
    """Whether it is a procedure, whose ruling is about its applications here and not about all that it may do."""

    def __str__(self) -> str:
        checked = ", procedural, checked at each application" if self.procedural else ""
        return f"{self.id} × {self.count}: {self.ruling.verdict}{checked}"


@dataclass(frozen=True, slots=True)
class Derived:
    """One step, the stage to which it belongs, and what stands behind it."""

    stage: str
    what: str
    status: str
    """``proved``, ``checked``, ``sampled``, ``trusted``, or the verdict of a rule that is none of these."""

    def __str__(self) -> str:
        return f"{self.stage}: {self.what}: {self.status}"


def rules_of(applied: Applied) -> tuple[AppliedRule, ...]:
    """The rules and procedures that were applied, with what the court says now, or of procedures said then."""
    return tuple(_ruled(name, count, applied) for name, count in sorted(applied.items()))


def _ruled(name: str, count: int, applied: Applied) -> AppliedRule:
    if name not in applied.rulings:
        return AppliedRule(name, count, evidence.ruling(name))
    proved = set(applied.rulings[name]) == {"proved"}
    ruling = evidence.Ruling("proved" if proved else evidence.NOT_CHECKED)
    return AppliedRule(name, count, ruling, procedural=True)


def derivation(linked: Linked) -> tuple[Derived, ...]:
    """The steps that made a program, those of each unit after the other."""
    return (
        Derived("trace", "the graph that the function built when it was called once", TRUSTED),
        *(step for unit in linked.units for step in _unit(unit)),
        Derived("compile", "the C compiler makes machine code of the text", TRUSTED),
        *(Derived("call", f"the custom function {name}", TRUSTED) for name in linked.foreign),
    )


def _unit(unit: Lowered) -> Iterator[Derived]:
    for stage in unit.stages:
        if stage in _PASSES:
            yield Derived(stage, _PASSES[stage], SAMPLED)
        yield from _rewritten(stage, unit.rewritten.get(stage))
        if stage == "rangeify" and unit.discharged:
            ways = Counter(o.how for o in unit.discharged)
            told = ", ".join(f"{count} {how}" for how, count in sorted(ways.items()))
            yield Derived("obligations", f"every access stays inside its storage ({told})", "checked")
        if stage == "optimize":
            yield from (step for schedule in unit.schedules for step in _scheduled(schedule))
    yield Derived("render", _PASSES["render"], SAMPLED)


def _rewritten(stage: str, applied: Applied | None) -> Iterator[Derived]:
    if applied is None:
        return
    for rule in rules_of(applied):
        times = "once" if rule.count == 1 else f"{rule.count} times"
        yield Derived(stage, f"{rule.id}, {times}", rule.ruling.verdict)
    for what, count in sorted(applied.passes.items()):
        yield Derived(stage, f"{what} ({count} ×)", SAMPLED)


def _scheduled(schedule: Scheduled) -> Iterator[Derived]:
    """The schedule of a kernel: each of its steps was held to the law before it was done."""
    steps = schedule.all_steps
    if steps:
        yield Derived(
            "optimize", f"kernel {schedule.kernel}, {schedule.origin}: {schedule_text(steps)}", "checked"
        )
    if schedule.refused:
        what = f"kernel {schedule.kernel} runs as it is: its schedule was not lawful, {schedule.refused}"
        yield Derived("optimize", what, "checked")


def measured(licences: tuple[str, ...]) -> tuple[Derived, ...]:
    """What licences add that is measured, not proved."""
    if "approx" not in licences:
        return ()
    return (Derived("approx", f"the error of e^x of float32 is at most {BOUND} ulp, measured", SAMPLED),)
