"""
What CUDA asked of the law
==========================

Decisions that the lowering to CUDA brought: which queue a thread uses and where a load arrives, what a task begins
with, where arguments begin, and how far hardware may be off.
"""

from __future__ import annotations

import math
import re
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from soundline.impl.codegen.cuda.source import CudaSource
from soundline.impl.runtime.emulator.emulation import emulated
from soundline.impl.spork.program import SporkProc
from soundline.spec.abstract_machine import check
from soundline.spec.errors import EmulationError, StaticError
from soundline.spec.spork.library.approximate import tolerance
from soundline.spec.spork.machine.events import Action, Allocated
from soundline.spec.spork.machine.unfolding import unfold
from soundline.spec.spork.readings.parallel import outcomes
from soundline.spec.spork.static.law import static_law

from .cuda_barrier_programs import ELSEWHERE, GRID, TRANSPOSED, program
from .fake_device import parsed

# Queues -----------------------------------------------------------------------------------------------------------


def test_a_thread_uses_one_queue_of_a_side() -> None:
    with pytest.raises(StaticError) as caught:
        static_law(TRANSPOSED)
    assert caught.value.rule == "dist-barrier-c3"
    assert "(64, 32) threads apart in one, (32, 64) in another" in str(caught.value)


def test_a_load_arrives_in_the_ctas_that_it_writes_to() -> None:
    with pytest.raises(StaticError) as caught:
        static_law(ELSEWHERE)
    assert caught.value.rule == "bar-trailing-ctas"
    assert "full[n] in CTA 0 for b[:, n, :, :] in CTAs 0, 1" in str(caught.value)


NESTED = """
bar: barrier[2, 2] @ CudaMbarrier
for m in cuda_threads(0, 2, unit=2 * cuda_cta_in_cluster):
    s: f32[2, 4] @ CudaSmemLinear
    for n in cuda_threads(0, 2, unit=cuda_cta_in_cluster):
        with CudaWarps(0, 1):
            with CudaAsync(tma_to_smem_async):
                Sm90_bulk_copy_to_smem_f32(s[n, 0:4], x[0:4], 4) >> bar{to}
                Arrive(tma_to_smem_async, 1) >> bar[m, :] >> bar[:, n]
        Await(bar[m, n], cuda_in_order, ~0)
Fence(cuda_in_order, cuda_in_order)
"""


@pytest.mark.parametrize(("to", "ok"), [("[m, n]", True), ("[m, :]", False), ("[:, n]", False)])
def test_storage_of_a_part_of_the_cluster_lies_in_its_cta(to: str, ok: bool) -> None:
    made = {"arguments": "x: f32[8] @ CudaGmemLinear", "device": "blockDim=32, clusterDim=4"}
    if ok:
        assert check(program(NESTED.format(to=to), **made), {}).ok
        return
    with pytest.raises(StaticError) as caught:
        static_law(program(NESTED.format(to=to), **made))
    assert caught.value.rule == "bar-trailing-ctas"


def test_the_home_of_trailing_barriers_is_that_of_the_arrive() -> None:
    """To a row alone, where the arrive is to a row and a column: the machine counts by the queue of the arrive."""
    found = [e for e in unfold(GRID, {}) if isinstance(e, Action) and e.trailing]
    rows = {tuple(q.at for q in e.trailing) for e in found if len(e.trailing) > 1}
    assert rows == {((m, n), (m, 1 - n)) for m in range(2) for n in range(2)}
    assert {e.trailing[0].at for e in found if len(e.trailing) == 1} == {
        (m, n) for m in range(2) for n in range(2)
    }
    assert check(GRID, {}).ok


# Tasks and loops --------------------------------------------------------------------------------------------------

HANDED_ON = """
s: f32[2] @ CudaSmemLinear
{outside}
for k in seq(0, 2):
    {inside}
    with CudaWarps(0, 1):
        for i in cuda_threads(0, 1, unit=cuda_thread):
            if k == 0:
                s[0] = x[t]
            Arrive(cuda_in_order, 1) >> bar
    with CudaWarps(1, 2):
        for i in cuda_threads(0, 1, unit=cuda_thread):
            Await(bar, cuda_in_order, ~1)
            if k == 1:
                y[t] = s[0]
Fence(cuda_in_order, cuda_in_order)
"""
BARRIER = "bar: barrier @ CudaMbarrier"
ARRAYS = "x: f32[{0}] @ CudaGmemLinear, y: f32[{0}] @ CudaGmemLinear"


def handed_on(tasks: int, *, outside: str = "pass", inside: str = "pass") -> SporkProc:
    """In each round one warp arrives, and another waits for the round before."""
    text = HANDED_ON.format(outside=outside, inside=inside)
    return program(text, arguments=ARRAYS.format(tasks), tasks=tasks)


@pytest.mark.parametrize("where", ["outside", "inside"])
def test_a_barrier_that_a_loop_allocates_again_is_the_same_and_counts_on(where: str) -> None:
    """The await of the second round waits for the arrive of the first, in the law, for the threads, and in CUDA."""
    assert check(handed_on(3, **{where: BARRIER}), {}).ok
    found = outcomes(unfold(handed_on(1, **{where: BARRIER}), {}))
    assert not found.wrong
    assert not found.deadlocks
    source = handed_on(3, **{where: BARRIER}).cuda()
    for seed in range(4):
        x, y = np.arange(1, 4, dtype=np.float32), np.zeros(3, np.float32)
        emulated(source, seed=seed, multiprocessors=1).run(source.function, x, y)
        assert np.array_equal(x, y)


def test_each_task_begins_with_new_queues() -> None:
    """The same rounds as tasks: the await of the second waits for nothing, and so does not order what it reads."""
    text = """
    bar: barrier @ CudaMbarrier
    with CudaWarps(0, 1):
        for i in cuda_threads(0, 1, unit=cuda_thread):
            if t == 0:
                y[0] = x[0]
            Arrive(cuda_in_order, 1) >> bar
    with CudaWarps(1, 2):
        for i in cuda_threads(0, 1, unit=cuda_thread):
            Await(bar, cuda_in_order, ~1)
            if t == 1:
                y[1] = y[0]
    Fence(cuda_in_order, cuda_in_order)
    """
    proc = program(text, arguments=ARRAYS.format(2), tasks=2)
    assert [finding.id for finding in check(proc, {}).findings] == ["mach-read-raw"]
    assert proc.cuda().files["f.cuh"].count("sync.bar_awaits.restart();") == 1


COUNTED_UP = program(
    """
    x_map = x[:, :] @ Sm90_tensorMap(0, 1, 64)
    ---
    s: f32[1, 64] @ CudaSmemLinear
    full: barrier @ CudaMbarrier
    with CudaWarps(0, 1):
        with CudaAsync(tma_to_smem_async):
            Sm90_copy_tensor_to_smem_2d_f32(s[:, :], x_map[t : t + 1, 0:64], n0=1, n1=64) >> full
            Arrive(tma_to_smem_async, 1) >> full
    Await(full, cuda_in_order, ~0)
    for i in cuda_threads(0, 64, unit=cuda_thread):
        s[0, i] = s[0, i] + 1.0
        y[t, i] = s[0, i]
    Fence(cuda_in_order, cuda_in_order)
    """,
    arguments="x: f32[6, 64] @ CudaGmemLinear, y: f32[6, 64] @ CudaGmemLinear",
    tasks=6,
)
"""Each task writes in order where the TMA of the next one writes, and nothing of the program is between."""


def counted_up(source: CudaSource, seed: int) -> bool:
    x, y = np.arange(384, dtype=np.float32).reshape(6, 64), np.zeros((6, 64), np.float32)
    emulated(source, seed=seed, multiprocessors=1).run(source.function, x, y)
    return np.array_equal(y, x + 1)


def test_between_tasks_the_lowering_puts_a_proxy_fence() -> None:
    assert check(COUNTED_UP, {}).ok
    source = COUNTED_UP.cuda()
    found = re.split(
        r"(?<=uses the same shared memory)(.*\n\s*)ptx::fence_proxy_async\w*\(\);", source.files["f.cuh"]
    )
    assert len(found) == 3, "there is one fence between tasks"
    head, tail = found[0] + found[1], found[2]
    without = replace(source, files={**source.files, "f.cuh": head + tail})
    for seed in range(2):
        assert counted_up(source, seed)
        assert not counted_up(without, seed)


# Shared memory of a cluster ---------------------------------------------------------------------------------------


def test_what_nothing_uses_takes_its_bytes_in_every_cta_in_law_and_code() -> None:
    proc = program(
        """
        unused: f32[64] @ CudaSmemLinear
        s: f32[2, 32] @ CudaSmemLinear
        for c in cuda_threads(0, 2, unit=cuda_cta_in_cluster):
            for i in cuda_threads(0, 32, unit=cuda_thread):
                s[c, i] = x[i]
                y[i] = s[c, i]
        Fence(cuda_in_order, cuda_in_order)
        """.replace("y[i]", "y[32 * c + i]"),
        arguments="x: f32[32] @ CudaGmemLinear, y: f32[64] @ CudaGmemLinear",
        device="blockDim=32, clusterDim=2",
    )
    parts = [e.buffer for e in unfold(proc, {}) if isinstance(e, Allocated) and e.buffer.name == "s"]
    cells = [buffer.elements[0].cells[0] for buffer in parts]
    assert [(cell.space[2], 4 * cell.address) for cell in cells] == [(0, 256), (1, 256)]
    assert "soundline_dynamic_shared() + 256" in proc.cuda(arch="sm_90a").files["f.cuh"]


# Arguments --------------------------------------------------------------------------------------------------------

COPIED = """
    def copied(x: f32[32] @ CudaGmemLinear, y: f32[32] @ CudaGmemLinear):
        with CudaDeviceFunction(blockDim=32):
            for t in cuda_tasks(0, 1):
                s: f32[32] @ CudaSmemLinear
                group: barrier[8] @ CudaCommitGroup
                for i in cuda_threads(0, 8, unit=cuda_thread):
                    with CudaAsync(Sm80_cp_async):
                        Sm80_cp_async_f32(s[4 * i : 4 * i + 4], x[4 * i : 4 * i + 4], size=4)
                    Arrive(Sm80_cp_async, 1) >> group[i]
                    Await(group[i], cuda_in_order, 0)
                    for k in seq(0, 4):
                        y[4 * i + k] = s[4 * i + k]
                Fence(cuda_in_order, cuda_in_order)
    """
WINDOW = COPIED.replace("x: f32[32]", "x: [f32][32]").replace("def copied", "def windowed")
CALLER = """
    def caller(x: f32[40] @ CudaGmemLinear, y: f32[32] @ CudaGmemLinear):
        copied(x[{0}:{0} + 32], y)
    """


def at_byte(offset: int, size: int) -> np.ndarray:
    """Numbers that begin as many bytes behind a multiple of 16."""
    held = np.zeros(4 * size + 64, np.uint8)
    first = -held.ctypes.data % 16 + offset
    found = held[first : first + 4 * size].view(np.float32)
    found[:] = np.arange(size)
    return found


def test_an_array_begins_at_a_multiple_of_16_bytes_and_a_window_anywhere() -> None:
    array, window = parsed(COPIED), parsed(WINDOW)
    assert "cp_async_cg_shared_global(s + 4 * i, x + 4 * i)" in array.cuda().files["copied.cuh"]
    for offset in (0, 4, 8):
        y = np.zeros(32, np.float32)
        window.run(device="CUDA-EMULATED", x=at_byte(offset, 32), y=y)
        assert np.array_equal(y, np.arange(32))
    y = np.zeros(32, np.float32)
    array.run(device="CUDA-EMULATED", x=at_byte(0, 32), y=y)
    assert np.array_equal(y, np.arange(32))
    for given in ({"x": at_byte(4, 32), "y": y}, {"x": at_byte(0, 32), "y": at_byte(8, 32)}):
        with pytest.raises(EmulationError, match=r"1006: .* does not begin at a multiple of 16 bytes"):
            emulated(array.cuda()).run("copied", given["x"], given["y"])
        array.run(device="CUDA-EMULATED", **given)  # which copies to memory of the device
        assert np.array_equal(given["y"], np.arange(32))


@pytest.mark.parametrize(("first", "directly"), [(0, True), (4, True), (1, False), (2, False)])
def test_a_proc_that_is_called_knows_what_is_known_where_it_is_called(first: int, directly: bool) -> None:
    proc = parsed(CALLER.format(first), copied=parsed(COPIED))
    assert ("cp_async_cg_shared_global" in proc.cuda().files["caller.cuh"]) is directly
    y = np.zeros(32, np.float32)
    proc.run(device="CUDA-EMULATED", x=at_byte(0, 40), y=y)
    assert np.array_equal(y, np.arange(first, first + 32))


# Approximate functions --------------------------------------------------------------------------------------------


def test_hardware_may_differ_from_exp2_by_two_units_in_the_last_place() -> None:
    for value, unit in (
        (1.0, 2.0**-23),
        (1.5, 2.0**-23),
        (2.0**-126, 2.0**-149),
        (2.0**-140, 2.0**-149),
        (0.0, 2.0**-149),
    ):
        assert tolerance(value) == 2 * Fraction(unit)
    assert tolerance(math.inf) == tolerance(math.nan) == 0


def test_special_values_of_exp2_are_those_of_the_law() -> None:
    proc = program(
        """
        for i in cuda_threads(0, 8, unit=cuda_thread):
            r: f32 @ CudaRmem
            cuda_ex2_approx_f32(r, x[i])
            y[i] = r
            z[i] = exp2(x[i])
        """,
        arguments="x: f32[8] @ CudaGmemLinear, y: f32[8] @ CudaGmemLinear, z: f32[8] @ CudaGmemLinear",
    )
    x = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, 3.5, -140.0], np.float32)
    law, found = ({"x": x, "y": np.zeros(8, np.float32), "z": np.zeros(8, np.float32)} for _ in range(2))
    proc.run(**law)
    proc.run(device="CUDA-EMULATED", **found)
    assert np.array_equal(law["y"], law["z"], equal_nan=True)
    assert np.array_equal(found["y"][:5], law["z"][:5], equal_nan=True)
    for ours, exact in zip(found["y"][5:], law["z"][5:], strict=True):
        assert abs(Fraction(float(ours)) - Fraction(float(exact))) <= tolerance(float(exact))
