"""Which synchronizations a program does not need: those without which the literal machine finds nothing either."""

from __future__ import annotations

import pytest
from trials.waterline.corpus import Work, program, sizes

from soundline.impl.spork.checker.planning.plan import Action, nodes
from soundline.impl.spork.checker.planning.programs import plan_of
from soundline.impl.spork.checker.redundancy import _Parts, redundant
from soundline.impl.spork.front_end import proc_from_text
from soundline.impl.spork.program import SporkProc
from soundline.spec.abstract_machine import check
from soundline.spec.errors import UsageError
from soundline.spec.spork.synchronization.visibility import Policy

FENCE = "Fence(cuda_in_order, cuda_in_order)"


def exchange(first: str, second: str = "pass") -> SporkProc:
    """Threads that write, some synchronizations, and threads that read."""
    lines = [line for line in (*first.split(";"), *second.split(";")) if line != "pass"]
    between = "\n            ".join(lines)
    return proc_from_text(f"""
@proc
def exchange(y: f32[64] @ CudaGmemLinear):
    with CudaDeviceFunction(blockDim=64):
        for task in cuda_tasks(0, 1):
            bar: barrier @ CudaMbarrier
            s: f32[64] @ CudaSmemLinear
            for t in cuda_threads(0, 64, unit=cuda_thread):
                s[t] = 1.0
            {between}
            for t in cuda_threads(0, 64, unit=cuda_thread):
                y[t] = s[63 - t]
            Fence(cuda_in_order, cuda_in_order)
""")


BARRIER = "Arrive(cuda_in_order, 1) >> bar;Await(bar, cuda_in_order, ~0)"


def told(proc: SporkProc, policy: Policy = Policy.temporal) -> list[tuple[int | None, str]]:
    return [(note.line, note.what) for note in redundant(proc, {}, policy)]


def test_what_is_needed_is_not_redundant() -> None:
    assert told(exchange(FENCE)) == []
    assert told(exchange(BARRIER)) == []


def test_of_two_that_do_the_same_each_is_redundant() -> None:
    assert told(exchange(FENCE, FENCE)) == [(10, "the fence"), (11, "the fence")]
    assert told(exchange(FENCE, BARRIER)) == [(10, "the fence"), (11, "all arrives and awaits of bar")]


def test_a_program_with_hazards_needs_all_that_it_has() -> None:
    assert told(exchange("Fence(cuda_in_order, empty)")) == []
    assert told(exchange("pass")) == []


def test_a_side_with_a_trailing_barrier_stays() -> None:
    """Its arrives are how an instruction completes."""
    plan = plan_of(program(Work("tma_round_trip", "double")), sizes(Work("tma_round_trip", "double")))
    queues = [q for n in nodes(plan.root) if isinstance(n, Action) for q in n.trailing]
    names = {plan.barriers[q.barriers].name for q in queues}
    said = [_Parts.of(plan).told(part, place).what for part, place in _Parts.of(plan).candidates()]
    assert names
    assert said
    assert not any(what.endswith(f" of {name}") for what in said for name in names)


def test_notes_are_written_and_only_of_the_fast_machine() -> None:
    verdict = exchange(FENCE, FENCE).check(redundant=True)
    assert verdict.ok
    assert "note: redundant at these sizes: the fence\n  <text>:10: Fence" in verdict.text()
    assert not exchange(FENCE, FENCE).check().redundant
    with pytest.raises(UsageError, match="only the fast machine"):
        exchange(FENCE).check(redundant=True, machine="literal")
    with pytest.raises(UsageError, match="no machine 'slow'"):
        exchange(FENCE).check(machine="slow")


def test_without_a_fence_that_is_redundant_the_literal_machine_finds_nothing() -> None:
    lines = [FENCE, "Fence(cuda_temporal, cuda_temporal)", "Fence(cuda_in_order, Sm80_generic)"]
    for k in range(8):
        chosen = [line for n, line in enumerate(lines) if k >> n & 1]
        proc = exchange(";".join(chosen) or "pass")
        notes = told(proc)
        if not check(proc, {}).ok:
            assert notes == []
            continue
        for n in range(len(chosen)):
            rest = exchange(";".join(chosen[:n] + chosen[n + 1 :]) or "pass")
            assert ((10 + n, "the fence") in notes) == check(rest, {}).ok, chosen
