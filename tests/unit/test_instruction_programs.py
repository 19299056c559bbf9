"""Programs of the instructions: what they compute, that the machine accepts them, and what it says without a fence."""

# ruff: noqa: B007, F821, SIM117
# Programs bind and name what Python does not.

from __future__ import annotations

from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import soundline as sl
from soundline.spec.errors import ProgramError
from soundline.spec.spork.language.statements import Call, statements
from soundline.spec.spork.library.table import STANDARD
from soundline.spec.spork.static.law import static_law

EXAMPLES = Path(__file__).parents[2] / "examples" / "spork"

proc, proc_from_text = sl.spork.proc, sl.spork.proc_from_text


def whole(*shape: int, dtype: Any = np.float32, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(-3, 4, shape).astype(dtype)


@proc
def by_ldmatrix(
    A: f16[16, 16] @ CudaGmemLinear, B: f16[16, 16] @ CudaGmemLinear, C: f32[16, 16] @ CudaGmemLinear
):
    with CudaDeviceFunction(blockDim=32):
        for task in cuda_tasks(0, 1):
            a_smem: f16[16, 16] @ CudaSmemLinear
            b_smem: f16[16, 16] @ CudaSmemLinear
            for t in cuda_threads(0, 32, unit=cuda_thread):
                at = A[t // 2, 8 * (t % 2) : 8 * (t % 2) + 8]
                bt = B[t // 2, 8 * (t % 2) : 8 * (t % 2) + 8]
                cuda_copy_f16(a_smem[t // 2, 8 * (t % 2) : 8 * (t % 2) + 8], at, size=8)
                cuda_copy_f16(b_smem[t // 2, 8 * (t % 2) : 8 * (t % 2) + 8], bt, size=8)
            Fence(cuda_in_order, cuda_in_order)  # here
            a: f16[16, 16] @ Sm80_RmemMatrixA
            b: f16[2, 16, 8] @ Sm80_RmemMatrixB
            d: f32[2, 16, 8] @ Sm80_RmemMatrixD
            Sm80_ldmatrix_x4_a_f16(a[:, :], a_smem[:, :])
            Sm80_ldmatrix_x4_trans_b_f16(b[:, :, :], b_smem[:, :])
            for j in seq(0, 2):
                Sm80_mma_zero_d_f16(d[j, :, :])
                Sm80_mma_f16(d[j, :, :], a[:, :], b[j, :, :], K=16)
                Sm80_mma_store_d_f16(C[:, 8 * j : 8 * j + 8], d[j, :, :])
            Fence(cuda_in_order, cuda_in_order)


@proc
def by_bf16(A: bf16[16, 8] @ CudaGmemLinear, B: bf16[8, 8] @ CudaGmemLinear, C: f32[16, 8] @ CudaGmemLinear):
    with CudaDeviceFunction(blockDim=32):
        for task in cuda_tasks(0, 1):
            b_smem: bf16[8, 8] @ CudaSmemLinear
            for t in cuda_threads(0, 8, unit=cuda_thread):
                with CudaAsync(Sm80_cp_async):
                    Sm80_cp_async_bf16(b_smem[t, :], B[t, :], size=8)
            Fence(Sm80_cp_async, cuda_in_order)  # here
            a: bf16[16, 8] @ Sm80_RmemMatrixA
            b: bf16[8, 8] @ Sm80_RmemMatrixB
            d: f32[16, 8] @ Sm80_RmemMatrixD
            Sm80_mma_load_a_bf16(a[:, :], A[:, :], K=8)
            Sm80_ldmatrix_x1_b_bf16(b[:, :], b_smem[:, :])
            Sm80_mma_load_d_bf16(d[:, :], C[:, :])
            Fence(cuda_in_order, cuda_temporal)
            Sm80_mma_bf16(d[:, :], a[:, :], b[:, :], K=8)
            Sm80_mma_store_d_bf16(C[:, :], d[:, :])
            Fence(cuda_in_order, cuda_in_order)


@proc
def shuffled(x: f32[2, 32] @ CudaGmemLinear, y: f32[2, 5, 32] @ CudaGmemLinear):
    with CudaDeviceFunction(blockDim=64):
        for task in cuda_tasks(0, 1):
            mine: f32[2, 32] @ CudaRmem
            theirs: f32[2, 32, 5] @ CudaRmem
            for w in cuda_threads(0, 2, unit=cuda_warp):
                for t in cuda_threads(0, 32, unit=cuda_thread):
                    mine[w, t] = x[w, t]
                cuda_shfl_xor_f32(theirs[w, :, 0], mine[w, :], mask=4)
                cuda_shfl_up_f32(theirs[w, :, 1], mine[w, :], delta=3)
                cuda_shfl_down_f32(theirs[w, :, 2], mine[w, :], delta=30)
                cuda_shfl_broadcast_f32(theirs[w, :, 3], mine[w, :], source=7)
                cuda_warp_max_f32(theirs[w, :, 4], mine[w, :])
                for t in cuda_threads(0, 32, unit=cuda_thread):
                    for i in seq(0, 5):
                        y[w, i, t] = theirs[w, t, i]


@proc
def in_bulk(x: i32[64] @ CudaGmemLinear, y: i32[64] @ CudaGmemLinear):
    with CudaDeviceFunction(blockDim=32):
        for task in cuda_tasks(0, 1):
            tile: i32[64] @ CudaSmemLinear
            loaded: barrier @ CudaMbarrier
            stored: barrier @ CudaCommitGroup
            with CudaAsync(tma_to_smem_async):
                Sm90_bulk_copy_to_smem_i32(tile[:], x[:], size=64) >> loaded
                Arrive(tma_to_smem_async, 1) >> loaded
            Await(loaded, cuda_in_order, ~0)
            for t in cuda_threads(0, 32, unit=cuda_thread):
                tile[2 * t] += 1
            Fence(cuda_in_order, cuda_generic_and_async_proxy)  # here
            for t in cuda_threads(0, 1, unit=cuda_thread):
                with CudaAsync(tma_to_gmem_async):
                    Sm90_bulk_copy_to_gmem_i32(y[:], tile[:], size=64)
                    Arrive(tma_to_gmem_async, 1) >> stored
                Await(stored, cuda_in_order, 0)
            Fence(cuda_in_order, cuda_in_order)


@proc
def added_by_tma(x: f32[2, 3, 4, 8] @ CudaGmemLinear, y: f32[3, 4, 8] @ CudaGmemLinear):
    x_map = x[:, :, :, :] @ Sm90_tensorMap(32, 1, 3, 4, 8)
    y_map = y[:, :, :] @ Sm90_tensorMap(32, 3, 4, 8)
    with CudaDeviceFunction(blockDim=32):
        for task in cuda_tasks(0, 2):
            tile: f32[1, 3, 4, 8] @ Sm90_SmemSwizzled(32)
            loaded: barrier @ CudaMbarrier
            stored: barrier @ CudaCommitGroup
            x_tile = x_map[task : task + 1, :, :, :]
            with CudaAsync(tma_to_smem_async):
                Sm90_copy_tensor_to_smem_4d_f32(tile, x_tile, n0=1, n1=3, n2=4, n3=8) >> loaded
                Arrive(tma_to_smem_async, 1) >> loaded
            Await(loaded, cuda_generic_and_async_proxy, ~0)  # here
            for t in cuda_threads(0, 1, unit=cuda_thread):
                with CudaAsync(tma_to_gmem_async):
                    Sm90_reduce_tensor_to_gmem_3d_f32(y_map, tile[0, :, :, :], n0=3, n1=4, n2=8)
                    Arrive(tma_to_gmem_async, 1) >> stored
                Await(stored, cuda_in_order, 0)
            Fence(cuda_in_order, cuda_in_order)


@proc
def from_registers(
    A: f16[64, 16] @ CudaGmemLinear, B: f16[8, 16] @ CudaGmemLinear, C: f32[8, 64] @ CudaGmemLinear
):
    B_map = B[:, :] @ Sm90_tensorMap(32, 8, 16)
    with CudaDeviceFunction(blockDim=128):
        for task in cuda_tasks(0, 1):
            b_smem: f16[8, 16] @ Sm90_SmemSwizzled(32)
            a: f16[64, 16] @ Sm90_RmemMatrixA
            d: f32[64, 8] @ Sm90_RmemMatrixD
            loaded: barrier @ CudaMbarrier
            group: barrier @ CudaCommitGroup
            with CudaWarps(0, 1):
                with CudaAsync(tma_to_smem_async):
                    Sm90_copy_tensor_to_smem_2d_f16(b_smem, B_map, n0=8, n1=16) >> loaded
                    Arrive(tma_to_smem_async, 1) >> loaded
            Sm90_mma_load_a_f16(a, A)
            Await(loaded, cuda_generic_and_async_proxy, ~0)
            with CudaAsync(wgmma_async):
                Fence(wgmma_fence_1, wgmma_fence_2)  # here
                Sm90_zero_scale_d_f32(d, N=8)
                Sm90_mma_async_ra_f16(d, a, b_smem, N=8)
                Arrive(wgmma_async, 1) >> group
            Await(group, cuda_in_order, 0)
            Sm90_mma_write_d_col_major_f32(C, d, N=8)
            Fence(cuda_in_order, cuda_in_order)


@proc
def counted(n: size, seen: i32[n], count: i32[2, 2]):
    on_device: i32[2, 2] @ CudaGmemLinear
    numbers: i32[n] @ CudaGmemLinear
    cudaMemcpyAsync_htod_2d_i32(on_device[:, :], count[:, :], n0=2, n1=2)
    cudaMemcpyAsync_htod_1d_i32(numbers[:], seen[:], n=n)
    with CudaDeviceFunction(blockDim=32):
        for task in cuda_tasks(0, 2):
            for t in cuda_threads(0, 32, unit=cuda_thread):
                r: i32[2] @ CudaRmem
                if 2 * t < n:
                    cuda_copy_i32(r[0:1], numbers[2 * t : 2 * t + 1], size=1)
                    cuda_atomic_add_i32(on_device[task, t % 2], r[0])
    cudaMemcpyAsync_dtoh_2d_i32(count[:, :], on_device[:, :], n0=2, n1=2)


def test_ldmatrix_and_mma() -> None:
    a, b, c = whole(16, 16, dtype=np.float16), whole(16, 16, dtype=np.float16, seed=1), whole(16, 16)
    by_ldmatrix.run(A=a, B=b, C=c)
    assert np.array_equal(c, a.astype(np.float32) @ b.astype(np.float32))
    narrow = ml_dtypes.bfloat16
    a, b, c = whole(16, 8, dtype=narrow), whole(8, 8, dtype=narrow, seed=1), whole(16, 8)
    wanted = c + a.astype(np.float32) @ b.astype(np.float32).T
    by_bf16.run(A=a, B=b, C=c)
    assert np.array_equal(c, wanted)


def test_registers_of_a_warp() -> None:
    x, y = whole(2, 32), np.zeros((2, 5, 32), np.float32)
    shuffled.run(x=x, y=y)
    lane = np.arange(32)
    for w in (0, 1):
        assert np.array_equal(y[w, 0], x[w, lane ^ 4])
        assert np.array_equal(y[w, 1], x[w, np.where(lane >= 3, lane - 3, lane)])
        assert np.array_equal(y[w, 2], x[w, np.where(lane < 2, lane + 30, lane)])
        assert (y[w, 3] == x[w, 7]).all()
        assert (y[w, 4] == x[w].max()).all()


def test_tma() -> None:
    x, y = whole(64, dtype=np.int32), np.zeros(64, np.int32)
    in_bulk.run(x=x, y=y)
    assert np.array_equal(y, x + (np.arange(64) % 2 == 0))
    x, y = whole(2, 3, 4, 8), whole(3, 4, 8, seed=1)
    wanted = y + x.sum(0)
    added_by_tma.run(x=x, y=y)
    assert np.array_equal(y, wanted)


def test_wgmma_from_registers() -> None:
    a, b, c = whole(64, 16, dtype=np.float16), whole(8, 16, dtype=np.float16, seed=1), whole(8, 64)
    from_registers.run(A=a, B=b, C=c)
    assert np.array_equal(c, b.astype(np.float32) @ a.astype(np.float32).T)


def test_copies_and_atomic_additions() -> None:
    seen, count = whole(9, dtype=np.int32), np.zeros((2, 2), np.int32)
    counted.run(seen=seen, count=count)
    even = [seen[0::4].sum(), seen[2::4].sum()]
    assert count.tolist() == [even, even]


FENCED = [by_ldmatrix, by_bf16, shuffled, in_bulk, added_by_tma, from_registers]


@pytest.mark.parametrize("program", [*FENCED, counted], ids=lambda p: p.name)
def test_the_machine_lets_them_pass(program: Any) -> None:
    sizes = {"n": 9} if program is counted else {}
    verdict = program.check(**sizes)
    assert verdict.ok, verdict.text()


def changed(program: Any, line: str, other: str) -> Any:
    """The program with another line, which stands once in it."""
    text = sl.spork.text(program)
    assert text.count(line) == 1, text
    return proc_from_text(text.replace(line, other), sl.spork.references(program))


# program, a line of it, another one, and what the machine finds
BROKEN = [
    (
        by_ldmatrix,
        "Fence(cuda_in_order, cuda_in_order)\n            a:",
        "pass\n            a:",
        "mach-read-raw",
    ),
    (by_bf16, "Fence(Sm80_cp_async, cuda_in_order)", "Fence(cuda_in_order, cuda_in_order)", "mach-read-raw"),
    (
        in_bulk,
        "Fence(cuda_in_order, cuda_generic_and_async_proxy)",
        "Fence(cuda_in_order, cuda_in_order)",
        "mach-read-raw",
    ),
    (in_bulk, "Await(stored, cuda_in_order, 0)", "Await(stored, cuda_in_order, 1)", "mach-free-read"),
    (
        added_by_tma,
        "Await(loaded, cuda_generic_and_async_proxy, ~0)",
        "Await(loaded, cuda_in_order, ~0)",
        "mach-read-raw",
    ),
    (
        added_by_tma,
        "Sm90_reduce_tensor_to_gmem_3d_f32(",
        "Sm90_copy_tensor_to_gmem_3d_f32(",
        "mach-write-waw",
    ),
    (from_registers, "                Fence(wgmma_fence_1, wgmma_fence_2)\n", "", "mach-read-raw"),
    (from_registers, "Await(group, cuda_in_order, 0)", "Await(group, cuda_in_order, 1)", "mach-read-raw"),
    (
        counted,
        "cuda_atomic_add_i32(on_device[task, t % 2], r[0])",
        "on_device[task, t % 2] += r[0]",
        "mach-write-waw",
    ),
]


@pytest.mark.parametrize(
    ("program", "line", "other", "rule"), BROKEN, ids=[f"{n}-{b[0].name}" for n, b in enumerate(BROKEN)]
)
def test_the_machine_refuses_them_without(program: Any, line: str, other: str, rule: str) -> None:
    sizes = {"n": 9} if program is counted else {}
    verdict = changed(program, line, other).check(**sizes)
    assert rule in {finding.id for finding in verdict.findings}, verdict.text()


# program, a part of it, another one, and the law that it breaks
REFUSED = [
    (in_bulk, "(tile[:], x[:], size=64) >> loaded", "(tile[:], x[:], size=64)", "instr-trailing"),
    (in_bulk, "y[:], tile[:], size=64", "y[0:63], tile[0:63], size=63", "instr-size"),
    (in_bulk, "y[:], tile[:], size=64", "y[0:32], tile[:], size=64", "instr-size"),
    (added_by_tma, "n0=3, n1=4, n2=8", "n0=3, n1=8, n2=4", "instr-size"),
    (added_by_tma, "Sm90_tensorMap(32, 3, 4, 8)", "Sm90_tensorMap(64, 3, 4, 8)", "instr-memory"),
    (added_by_tma, "Sm90_tensorMap(32, 3, 4, 8)", "Sm90_tensorMap(32, 3, 2, 8)", "instr-memory"),
    (
        by_ldmatrix,
        "Sm80_mma_f16(d[j, :, :], a[:, :], b[j, :, :], K=16)",
        "Sm80_mma_f16(d[j, :, :], a[:, :], b[j, :, :], K=8)",
        "instr-size",
    ),
    (by_ldmatrix, "(a[:, :], a_smem[:, :])", "(a[:, :], A[:, :])", "instr-memory"),
    (
        from_registers,
        "Sm90_mma_async_ra_f16(d, a, b_smem, N=8)",
        "Sm90_mma_async_f16(d, a, b_smem, N=8)",
        "instr-memory",
    ),
    (
        from_registers,
        "Sm90_mma_load_a_f16(a, A)",
        "with CudaWarps(0, 1):\n                Sm90_mma_load_a_f16(a, A)",
        "instr-unit",
    ),
    (by_bf16, "with CudaAsync(Sm80_cp_async):", "if 0 < 1:", "instr-timeline"),
    (
        shuffled,
        "(theirs[w, :, 0], mine[w, :], mask=4)",
        "(theirs[w, :, 0], mine[w, :], mask=3)",
        "instr-size",
    ),
]


@pytest.mark.parametrize(
    ("program", "part", "other", "rule"), REFUSED, ids=[f"{n}-{r[3]}" for n, r in enumerate(REFUSED)]
)
def test_what_the_law_refuses(program: Any, part: str, other: str, rule: str) -> None:
    assert proc_from_text(sl.spork.text(program), sl.spork.references(program)) == program
    with pytest.raises(ProgramError) as caught:
        changed(program, part, other).check()
    assert caught.value.rule == rule


@proc
def with_b_as_it_is(A: f16[64, 16] @ CudaGmemLinear, B: f16[16, 128] @ CudaGmemLinear):
    A_map = A[:, :] @ Sm90_tensorMap(32, 64, 16)
    B_map = B[:, :] @ Sm90_tensorMap(128, 16, 64)
    with CudaDeviceFunction(blockDim=128):
        for task in cuda_tasks(0, 1):
            a_smem: f16[64, 16] @ Sm90_SmemSwizzled(32)
            b_smem: f16[2, 16, 64] @ Sm90_SmemSwizzled(128)
            d: f32[64, 128] @ Sm90_RmemMatrixD
            loaded: barrier @ CudaMbarrier
            group: barrier @ CudaCommitGroup
            with CudaWarps(0, 1):
                with CudaAsync(tma_to_smem_async):
                    Sm90_copy_tensor_to_smem_2d_f16(a_smem, A_map, n0=64, n1=16) >> loaded
                    for i in seq(0, 2):
                        b_tile = B_map[:, 64 * i : 64 * i + 64]
                        Sm90_copy_tensor_to_smem_2d_f16(b_smem[i, :, :], b_tile, n0=16, n1=64) >> loaded
                    Arrive(tma_to_smem_async, 1) >> loaded
            Await(loaded, cuda_generic_and_async_proxy, ~0)
            with CudaAsync(wgmma_async):
                Fence(wgmma_fence_1, wgmma_fence_2)
                Sm90_zero_scale_d_f32(d, N=128)
                Sm90_mma_async_kn_f16(d, a_smem, b_smem, N=128)
                Arrive(wgmma_async, 1) >> group
            Await(group, cuda_in_order, 0)


def test_blocks_of_b() -> None:
    static_law(with_b_as_it_is)
    for other in ("N=64", "N=256"):
        with pytest.raises(ProgramError) as caught:
            static_law(changed(with_b_as_it_is, "b_smem, N=128", f"b_smem, {other}"))
        assert caught.value.rule == "instr-size"


OVERLAP = """
def f(x: f32[8] @ CudaGmemLinear, at: index):
    with CudaDeviceFunction(blockDim=32):
        for task in cuda_tasks(0, 1):
            for t in cuda_threads(0, 1, unit=cuda_thread):
                CALL
"""


@pytest.mark.parametrize(
    ("call", "overlapping", "apart"),
    [
        ("cuda_copy_f32(x[at : at + 4], x[0:4], size=4)", 3, 4),
        ("cuda_copy_f32(x[4:8], x[at : at + 4], size=4)", 1, 0),
        ("cuda_atomic_add_f32(x[at], x[0])", 0, 1),
        ("moved(x[4:8], x[at : at + 4])", 1, 0),
        ("cuda_atomic_add_f32(x[at], x[0] + x[3])", 3, 2),
    ],
)
def test_what_an_instruction_writes_overlaps_nothing_else(call: str, overlapping: int, apart: int) -> None:
    program = proc_from_text(OVERLAP.replace("CALL", call), {"moved": MOVED})
    program.run(x=whole(8), at=apart)
    for refused in (
        lambda: program.run(x=whole(8), at=overlapping),
        lambda: list(program.events(at=overlapping)),
    ):
        with pytest.raises(ProgramError) as caught:
            refused()
        assert (caught.value.rule, caught.value.line) == ("seq-overlap", 6)


def test_a_read_may_overlap_a_read() -> None:
    program = proc_from_text(
        OVERLAP.replace("CALL", "product(x[0:4], x[at:8], x[4:8])"), {"product": PRODUCT}
    )
    x = np.arange(8, dtype=np.float32)
    program.run(x=x, at=4)
    assert x.tolist()[:4] == [16, 25, 36, 49]


MOVED = sl.spork.instr_from_text(
    """
@instr(unit=cuda_thread, instr_tl=cuda_in_order)
def moved(z: [f32][4], a: [f32][4]):
    for i in seq(0, 4):
        z[i] = a[i]
"""
)

PRODUCT = sl.spork.instr_from_text(
    """
@instr(unit=cuda_thread, instr_tl=cuda_in_order)
def product(dst: [f32][4], a: [f32][4], b: [f32][4]):
    for i in seq(0, 4):
        dst[i] = a[i] * b[i]
"""
)


def test_every_family_but_those_of_the_examples_is_called_here() -> None:
    programs = [*FENCED, counted]
    called = {
        type(s.callee.value).__name__ for p in programs for s in statements(p.body) if isinstance(s, Call)
    }
    every = {type(i).__name__ for i in STANDARD.values()}
    texts = "".join(file.read_text(encoding="utf-8") for file in EXAMPLES.rglob("*.py"))
    assert every - called <= {type(i).__name__ for name, i in STANDARD.items() if name in texts}
