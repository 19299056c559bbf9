"""Tests of planning: a plan that is written out is the run of the program, event for event."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from trials.checker.expanding import Expander, Refused, Words, words
from trials.machine.generator import drawn
from trials.waterline.corpus import Work, program, sizes, works

from soundline.impl.spork.checker.planning.programs import plan_of
from soundline.impl.spork.front_end import proc_from_text
from soundline.spec.errors import SoundlineError
from soundline.spec.spork.language.programs import Proc
from soundline.spec.spork.machine.unfolding import unfold

LONG = {
    "attention",
    "gemm_simt_f32",
    "gemm_sm80_bf16",
    "gemm_sm90_bf16",
    "gemm_sm90_multicast_bf16",
    "prefix_sum",
    "reduction",
}
"""Flagships whose runs take seconds to be unfolded."""


def of_run(proc: Proc, given: Mapping[str, int | bool]) -> tuple[list[Words], bool]:
    """The events of a run, and whether it was refused after them."""
    found: list[Words] = []
    try:
        found.extend(words(event) for event in unfold(proc, given))
    except SoundlineError:
        return found, True
    return found, False


def of_plan(proc: Proc, given: Mapping[str, int | bool]) -> tuple[list[Words], bool]:
    """The same of its plan."""
    found: list[Words] = []
    try:
        found.extend(Expander(plan_of(proc, given)).events())
    except (Refused, SoundlineError):
        return found, True
    return found, False


def is_long(work: Work) -> bool:
    return str(work).split(":")[0] in LONG


def compared(work: Work) -> None:
    run = of_run(program(work), sizes(work))
    assert run[0]
    assert of_plan(program(work), sizes(work)) == run


@pytest.mark.parametrize("work", [w for w in works() if not is_long(w)], ids=str)
def test_plans_of_examples_are_their_runs(work: Work) -> None:
    compared(work)


@pytest.mark.thorough
@pytest.mark.parametrize("work", [w for w in works() if is_long(w)], ids=str)
def test_plans_of_long_flagships_are_their_runs(work: Work) -> None:
    compared(work)


def test_plans_of_random_programs_are_their_runs() -> None:
    events = 0
    for seed in range(40):
        proc = drawn(seed).proc
        run = of_run(proc, {})
        assert of_plan(proc, {}) == run, f"seed {seed}"
        events += len(run[0])
    assert events > 500


ALIKE = """
def f(x: i32[8] @ CudaGmemLinear, y: i32[8] @ CudaGmemLinear):
    with CudaDeviceFunction(blockDim=32):
        for task in cuda_tasks(0, 1):
            for t in cuda_threads(0, 2, unit=cuda_thread):
                for i in seq(0, 3):
                    for j in seq(0, 3):
                        y[t] = x[i] + x[j] * x[2 * i] + x[i + j]
            Fence(cuda_in_order, cuda_in_order)
"""
"""Four elements of one name, of which any two may be the same."""

WRITTEN_OUT = """
def f(x: i32[8] @ CudaGmemLinear, y: i32[8] @ CudaGmemLinear):
    with CudaDeviceFunction(blockDim=32):
        for task in cuda_tasks(0, 1):
            for t in cuda_threads(0, 4, unit=cuda_thread):
                w = x[0 : t + 1]
                y[t] = w[t] + x[7 - t]
            Fence(cuda_in_order, cuda_in_order)
"""
"""A window whose extent depends on the thread: each iteration has numbers of its own."""


@pytest.mark.parametrize("text", [ALIKE, WRITTEN_OUT], ids=["alike", "written out"])
def test_plans_of_what_depends_on_iterators_are_their_runs(text: str) -> None:
    proc = proc_from_text(text, {})
    run = of_run(proc, {})
    assert not run[1]
    assert of_plan(proc, {}) == run
