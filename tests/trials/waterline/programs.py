"""
Random programs below the waterline
===================================

The programs with which the abstract machine is tried, by their numbers, and among them examples from which something
was taken away. What the machine accepts has to compute as CUDA what its sequential reading does.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any, Final

from soundline.impl.spork.program import SporkProc
from soundline.spec.abstract_machine import check as machine_check
from soundline.spec.errors import SoundlineError
from soundline.spec.spork.language.well_formedness import check
from trials.machine.changes import changed
from trials.machine.generator import drawn
from trials.machine.verdicts import accepts
from trials.waterline.batches import SCHEDULES, Batch, Case, Schedule, small_case
from trials.waterline.corpus import Work, program, sequential, sizes, work_case
from trials.waterline.widening import Unwidened, widened

NUMBERS: Final = 80
"""How many numbers a batch has: about a quarter of them are programs that the machine accepts."""
CHANGED: Final = (
    "cp_async:stage",
    "cp_async_groups:double",
    "gemm_sm80_fence:gemm",
    "gemm_sm80_ring:gemm",
    "gemm_sm90_multicast:gemm",
    "gemm_sm90_ring:gemm",
    "gemm_sm90_tf32:small",
    "gemv:by_shuffles",
    "reduction:small",
    "softmax:small",
    "split_k_workspace:split_k",
    "tma_round_trip:double",
)
"""What is changed, once in each batch."""


@dataclass(slots=True)
class Found:
    """What came of a batch."""

    accepted: int = 0
    kinds: Counter[str] = field(default_factory=Counter)
    """Of the accepted programs that ran."""
    passed: Counter[str] = field(default_factory=Counter)
    """Why programs did not run."""
    wrong: list[str] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        """A form for the ledger."""
        return {
            "accepted": self.accepted,
            "kinds": dict(self.kinds),
            "passed": dict(self.passed),
            "wrong": self.wrong,
        }


def judged(batch: int, schedules: Sequence[Schedule] = SCHEDULES, count: int = NUMBERS) -> Found:
    """Draw the programs of a batch, and run those that the machine accepts."""
    found = Found()
    cases = []
    for number in range(NUMBERS * batch, NUMBERS * batch + count):
        case, why = small(number)
        if case is None:
            found.passed[why] += 1
        else:
            cases.append(case)
            found.kinds[why] += 1
    if count == NUMBERS:
        case, why = altered(batch)
        if case is None:
            found.passed[why] += 1
        else:
            cases.append(case)
            found.kinds[why] += 1
    found.accepted = len(cases)
    if cases:
        together = Batch(cases)
        for number, case in enumerate(cases):
            said = together.wrong(number, schedules)
            if said:
                found.wrong.append(f"{case.proc.name}: {said}")
    return found


def small(number: int) -> tuple[Case | None, str]:
    """The small program of a number and its kind; else why it is not run."""
    given = drawn(number)
    if not accepts(given.proc):
        return None, "refused by the machine, or without a meaning"
    try:
        proc = widened(given.proc, f"p{number}")
    except Unwidened as why:
        return None, str(why)
    if not accepts(proc):  # the same program with other sizes
        raise AssertionError(f"{number}: the machine refuses in pieces what it accepts")
    return small_case(proc), given.kind


def altered(batch: int) -> tuple[Case | None, str]:
    """An example with something taken away that the machine can spare."""
    random = Random(f"waterline {batch}")
    file, name = CHANGED[batch % len(CHANGED)].split(":")
    work = Work(file, name)
    found = changed(program(work), random)
    if found is None:
        return None, "an example that no change fits"
    proc = found[0]
    proc = SporkProc(f"e{batch}", proc.arguments, proc.preconditions, proc.body)
    try:
        check(proc)
        if not machine_check(proc, sizes(work)).ok:
            return None, "a changed example that the machine refuses"
    except SoundlineError:
        return None, "a changed example without a meaning"
    before, _ = sequential(work)
    after = {n: a.copy() for n, a in before.items()}
    try:
        proc.run(**sizes(work), **after)
    except SoundlineError:
        return None, "a changed example without a meaning"
    return replace(work_case(work, proc), after=after), f"changed {file}"
