"""The parallel reading: what each piece of synchronization does, by programs that need it and twins without it."""

from __future__ import annotations

import pytest

from soundline.spec.spork.readings.parallel import outcomes, replay, sample

from .parallel_programs import host, program

STAGED = """
s: f32[32] @ CudaSmemLinear
for t in cuda_threads(0, 2, unit=cuda_thread):
    s[t] = x[t]
{}
for t in cuda_threads(0, 2, unit=cuda_thread):
    y[t] = s[1 - t]
Fence(cuda_in_order, cuda_in_order)
"""

COPIED = """
s: f32[32] @ CudaSmemLinear
for t in cuda_threads(0, 2, unit=cuda_thread):
    with CudaAsync(Sm80_cp_async):
        Sm80_cp_async_f32(s[t : t + 1], x[t : t + 1], 1)
{}
for t in cuda_threads(0, 2, unit=cuda_thread):
    y[t] = s[1 - t]
Fence(cuda_in_order, cuda_in_order)
"""

GROUPED = """
s: f32[32] @ CudaSmemLinear
cg: barrier[1] @ CudaCommitGroup
for t in cuda_threads(0, 1, unit=cuda_thread):
    with CudaAsync(Sm80_cp_async):
        Sm80_cp_async_f32(s[0:1], x[0:1], 1)
    Arrive(Sm80_cp_async, 1) >> cg[t]
    with CudaAsync(Sm80_cp_async):
        Sm80_cp_async_f32(s[1:2], x[1:2], 1)
    Arrive(Sm80_cp_async, 1) >> cg[t]
    Await(cg[t], cuda_in_order, {n})
    y[0] = s[{at}]
    Await(cg[t], cuda_in_order, 0)
Fence(cuda_in_order, cuda_in_order)
"""

LOADED = """
s: f32[32] @ CudaSmemLinear
bar: barrier @ CudaMbarrier
with CudaAsync(tma_to_smem_async):
    Sm90_bulk_copy_to_smem_f32(s[0:4], x[0:4], 4) >> bar
    Arrive(tma_to_smem_async, 1) >> bar
{}
for t in cuda_threads(0, 2, unit=cuda_thread):
    y[t] = s[t]
{}
Fence(cuda_in_order, cuda_in_order)
"""

STORED = """
s: f32[32] @ CudaSmemLinear
cg: barrier[1] @ CudaCommitGroup
for t in cuda_threads(0, 4, unit=cuda_thread):
    s[t] = x[t]
Fence(cuda_in_order, {second})
for t in cuda_threads(0, 1, unit=cuda_thread):
    with CudaAsync(tma_to_gmem_async):
        Sm90_bulk_copy_to_gmem_f32(y[0:4], s[0:4], 4)
    Arrive(tma_to_gmem_async, 1) >> cg[t]
    {wait}
    s[0] = 0.0
Fence(cuda_in_order, cuda_in_order)
"""


def assert_right(events) -> None:
    found = outcomes(events)
    assert found.complete
    assert not found.wrong
    assert len(found.outcomes) == 1
    assert not sample(events, 1, 50).wrong


def assert_wrong(events, *, deadlock: bool = False) -> None:
    found = outcomes(events, stop=True)
    assert found.wrong
    assert bool(found.deadlocks) == deadlock
    for outcome in found.outcomes:
        assert replay(events, outcome.witness) == outcome
    assert sample(events, 1, 200, stop=True).wrong


@pytest.mark.parametrize(
    ("good", "bad"),
    [
        (
            STAGED.format("Fence(cuda_in_order, cuda_in_order)"),
            STAGED.format("pass"),
        ),
        (
            COPIED.format("Fence(Sm80_cp_async, cuda_in_order)"),
            COPIED.format("Fence(cuda_in_order, cuda_in_order)"),
        ),
        (GROUPED.format(n=1, at=0), GROUPED.format(n=1, at=1)),
        (GROUPED.format(n=0, at=1), GROUPED.format(n=2, at=0)),
        (
            LOADED.format("Await(bar, cuda_in_order, ~0)", "pass"),
            LOADED.format("pass", "Await(bar, cuda_in_order, ~0)"),
        ),
        (
            STORED.format(second="cuda_generic_and_async_proxy", wait="Await(cg[t], cuda_in_order, 0)"),
            STORED.format(second="cuda_in_order", wait="Await(cg[t], cuda_in_order, 0)"),
        ),
        (
            STORED.format(second="cuda_generic_and_async_proxy", wait="Await(cg[t], cuda_in_order, 0)"),
            STORED.format(second="cuda_generic_and_async_proxy", wait="Await(cg[t], cuda_in_order, 1)"),
        ),
    ],
    ids=["syncwarp", "wait_all", "wait_group", "wait_group_n", "try_wait", "proxy", "bulk_wait_group"],
)
def test_a_piece_does_what_the_program_needs(good: str, bad: str) -> None:
    assert_right(program(good))
    assert_wrong(program(bad))


def test_threads_of_the_cpu_interleave_in_a_par_loop_and_are_joined() -> None:
    good = """
for i in par(0, 2):
    y[i] = x[i]
y[3] = y[0] + y[1]
"""
    assert_right(host(good))
    assert_wrong(host(good.replace("y[i] = x[i]", "y[0] = x[i]")))


def test_tasks_of_a_launch_are_not_ordered() -> None:
    body = """
for t in cuda_threads(0, 1, unit=cuda_thread):
    y[{}] = x[task]
"""
    assert_right(program(body.format("task"), tasks=2))
    assert_wrong(program(body.format("0"), tasks=2))


def test_values_are_compared_deeper_than_they_are_told() -> None:
    text = STAGED.replace("s[1 - t]", "x[2] + (x[3] + (x[4] + (x[5] + (x[6] + (x[7] + s[1 - t])))))")
    assert not sample(program(text.format("Fence(cuda_in_order, cuda_in_order)")), 0, 20).wrong
    (wrong, *_) = sample(program(text.format("pass")), 0, 100, stop=True).wrong
    (told, *_) = {name: value for name, value in wrong.result if name.startswith("y")}.values()
    assert "..." in told
