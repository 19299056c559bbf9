"""Programs read from decorated functions: the guide's figures, what their names stand for, and where errors are."""

# ruff: noqa: B007, F821, F842, N801, PLC2401, PT018, SIM117
# Programs bind and name what Python does not.

from __future__ import annotations

from pathlib import Path

import pytest

import soundline as sl
from soundline.impl.spork import CudaWarpConfig, Named, Proc, proc_from_text, references, text
from soundline.spec.errors import ProgramError, UsageError
from soundline.spec.spork.language.expressions import Const, Name
from soundline.spec.spork.language.nodes import Ref
from soundline.spec.spork.language.statements import (
    Arrive,
    Await,
    Call,
    CudaAsync,
    CudaDeviceFunction,
    CudaThreads,
    CudaWarps,
    Fence,
    For,
    WindowOf,
    statements,
)
from soundline.spec.spork.library.memories import Sm90_tensorMap
from soundline.spec.spork.library.table import STANDARD as INSTRUCTIONS
from soundline.spec.spork.threads.units import cuda_thread

proc = sl.spork.proc

use_warp = Named("use_warp", "instruction")
my_warp_config = [
    CudaWarpConfig("producer", 1, setmaxnreg_dec=40),
    CudaWarpConfig("unused", 3, setmaxnreg_dec=40),
    CudaWarpConfig("consumer", 8, setmaxnreg_inc=232),
]
Mw, Nw, M1, N1, K0, MMA_K = 96, 64, 192, 256, 16, 4


@proc
def vector_add(n: size, X: f32[n] @ CudaGmemLinear, Y: f32[n] @ CudaGmemLinear):
    """X += Y, in chunks of 128."""
    assert n % 128 == 0
    with CudaDeviceFunction(blockDim=128):
        for task in cuda_tasks(0, n // 128):
            for tid in cuda_threads(0, 128, unit=cuda_thread):
                X[task * 128 + tid] += Y[task * 128 + tid]


@proc
def async_block():
    gmem: f32[64] @ CudaGmemLinear
    constant: f32[4] @ CudaGridConstant
    with CudaDeviceFunction(blockDim=256):
        for task in cuda_tasks(0, 1):
            smem: f32[64] @ CudaSmemLinear
            for tid in cuda_threads(0, 16, unit=cuda_thread):
                smem[tid] = constant[tid % 4]
                with CudaAsync(Sm80_cp_async):
                    Sm80_cp_async_f32(smem[4 * tid : 4 * tid + 4], gmem[4 * tid : 4 * tid + 4], size=4)


@proc
def cuda_threads_cxx(x: f32[8, 16] @ CudaGmemLinear):
    with CudaDeviceFunction(blockDim=256):
        for task in cuda_tasks(0, 1):
            for m in cuda_threads(0, 8, unit=16 * cuda_thread):
                for n in cuda_threads(0, 16, unit=cuda_thread):
                    x[m, n] = 0.0


@proc
def warp_config(x: f32[64] @ CudaGmemLinear):
    with CudaDeviceFunction(warp_config=my_warp_config, blocks_per_sm=1):
        for task in cuda_tasks(0, 1):
            smem: f32[64] @ CudaSmemLinear
            with CudaWarps(name="producer"):
                use_warp(smem[0:32])
            with CudaWarps(name="consumer"):
                for wg in cuda_threads(0, 2, unit=cuda_warpgroup):
                    with CudaWarps(3, 4):
                        use_warp(smem[32 * wg : 32 * wg + 32])


@proc
def simple_dist():
    with CudaDeviceFunction(blockDim=512):
        for task in cuda_tasks(0, 1):
            vals: f32[16, 32, 8, 4] @ CudaRmem
            for m in cuda_threads(0, 16, unit=32 * cuda_thread):
                for n in cuda_threads(0, 32, unit=cuda_thread):
                    for i in seq(0, 8):
                        for j in seq(0, 4):
                            vals[m, n, i, j] = 0


@proc
def why_dist(a: f32[2] @ CudaGmemLinear, b: f32[2] @ CudaGmemLinear):
    with CudaDeviceFunction(blockDim=32):
        for task in cuda_tasks(0, 1):
            x: f32 @ CudaRmem
            for tid in cuda_threads(0, 2, unit=cuda_thread):
                x = a[tid]
            for tid in cuda_threads(0, 2, unit=cuda_thread):
                b[tid] = x


@proc
def sync_warp_cta():
    with CudaDeviceFunction(blockDim=128):
        for task in cuda_tasks(0, 1):
            smem: f32[4] @ CudaSmemLinear
            for w in cuda_threads(0, 4, unit=cuda_warp):
                for lane in cuda_threads(0, 1, unit=cuda_thread):
                    smem[w] = 1.0
                Fence(cuda_in_order, cuda_in_order)
            Fence(cuda_in_order, cuda_in_order)


@proc
def Sm80_cp_async_simple(g: f32[128] @ CudaGmemLinear):
    with CudaDeviceFunction(blockDim=128):
        for task in cuda_tasks(0, 1):
            a: f32[128] @ CudaSmemLinear
            b: f32[128] @ CudaSmemLinear
            for tid in cuda_threads(0, 128, unit=cuda_thread):
                a[tid] = g[tid]
                with CudaAsync(Sm80_cp_async):
                    Sm80_cp_async_f32(b[tid : tid + 1], g[tid : tid + 1], size=1)
            Fence(cuda_in_order, cuda_in_order)
            Fence(Sm80_cp_async, cuda_in_order)


@proc
def xgemm_fence(
    M: size,
    N: size,
    K: size,
    A: f32[M, K] @ CudaGmemLinear,
    B: f32[K, N] @ CudaGmemLinear,
    C: f32[M, N] @ CudaGmemLinear,
):
    assert M % M1 == 0 and N % N1 == 0
    assert K % K0 == 0
    with CudaDeviceFunction(blockDim=256, blocks_per_sm=1):
        for m1 in cuda_tasks(0, M // M1):
            for n1 in cuda_tasks(0, N // N1):
                A_smem: f32[2, M1, K0] @ CudaSmemLinear
                B_smem: f32[2, K0, N1] @ CudaSmemLinear
                D_rmem: f32[M1 // Mw, N1 // Nw, Mw // 16, Nw // 8, 16, 8] @ Sm80_RmemMatrixD
                for mw in cuda_threads(0, M1 // Mw, unit=(N1 // Nw) * cuda_warp):
                    for nw in cuda_threads(0, N1 // Nw, unit=cuda_warp):
                        for i in seq(0, Mw // 16):
                            for j in seq(0, Nw // 8):
                                Sm80_mma_zero_d_tf32(D_rmem[mw, nw, i, j, :, :])
                for k1 in seq(0, K // K0 + 1):
                    if k1 < K // K0:
                        with CudaAsync(Sm80_cp_async):
                            for m in seq(0, 3):
                                for m0 in cuda_threads(0, 64, unit=4 * cuda_thread):
                                    for k in cuda_threads(0, 4, unit=cuda_thread):
                                        Sm80_cp_async_f32(
                                            A_smem[k1 % 2, 64 * m + m0, 4 * k : 4 * k + 4],
                                            A[m1 * M1 + 64 * m + m0, k1 * K0 + 4 * k : k1 * K0 + 4 * k + 4],
                                            size=4,
                                        )
                            for k in seq(0, 4):
                                for k0 in cuda_threads(0, 4, unit=64 * cuda_thread):
                                    for n in cuda_threads(0, 64, unit=cuda_thread):
                                        Sm80_cp_async_f32(
                                            B_smem[k1 % 2, 4 * k + k0, 4 * n : 4 * n + 4],
                                            B[k1 * K0 + 4 * k + k0, n1 * N1 + 4 * n : n1 * N1 + 4 * n + 4],
                                            size=4,
                                        )
                    if k1 > 0:
                        for mw in cuda_threads(0, 2, unit=4 * cuda_warp):
                            for nw in cuda_threads(0, 4, unit=cuda_warp):
                                B_rmem: f32[K0 // MMA_K, Nw // 8, MMA_K, 8] @ Sm80_RmemMatrixB
                                for k in seq(0, K0 // MMA_K):
                                    for j in seq(0, Nw // 8):
                                        Sm80_mma_load_b_tf32(
                                            B_rmem[k, j, :, :],
                                            B_smem[
                                                1 - k1 % 2,
                                                k * MMA_K : (k + 1) * MMA_K,
                                                nw * Nw + 8 * j : nw * Nw + 8 * j + 8,
                                            ],
                                            K=MMA_K,
                                        )
                                for i in seq(0, Mw // 16):
                                    A_rmem: f32[K0 // MMA_K, 16, MMA_K] @ Sm80_RmemMatrixA
                                    for k in seq(0, K0 // MMA_K):
                                        Sm80_mma_load_a_tf32(
                                            A_rmem[k, :, :],
                                            A_smem[
                                                1 - k1 % 2,
                                                mw * Mw + 16 * i : mw * Mw + 16 * i + 16,
                                                k * MMA_K : (k + 1) * MMA_K,
                                            ],
                                            K=MMA_K,
                                        )
                                    for j in seq(0, Nw // 8):
                                        for k in seq(0, K0 // MMA_K):
                                            Sm80_mma_tf32(
                                                D_rmem[mw, nw, i, j, :, :],
                                                A_rmem[k, :, :],
                                                B_rmem[k, j, :, :],
                                                K=MMA_K,
                                            )
                    Fence(Sm80_generic, Sm80_generic)
                for mw in cuda_threads(0, 2, unit=4 * cuda_warp):
                    for nw in cuda_threads(0, 4, unit=cuda_warp):
                        for i in seq(0, Mw // 16):
                            for j in seq(0, Nw // 8):
                                Sm80_mma_store_d_tf32(
                                    C[
                                        m1 * M1 + mw * Mw + 16 * i : m1 * M1 + mw * Mw + 16 * i + 16,
                                        n1 * N1 + nw * Nw + 8 * j : n1 * N1 + nw * Nw + 8 * j + 8,
                                    ],
                                    D_rmem[mw, nw, i, j, :, :],
                                )


@proc
def xgemm_mbarrier(K: size):
    with CudaDeviceFunction(blockDim=256):
        for task in cuda_tasks(0, 1):
            ring: barrier @ CudaMbarrier
            group: barrier[8] @ CudaCommitGroup
            for k1 in seq(0, K + 1):
                if k1 < K:
                    ReverseAwait(ring, cuda_in_order, ~3)
                    Arrive(Sm80_cp_async, 1) >> ring
                else:
                    pass
                if k1 >= 1:
                    Await(ring, Sm80_generic, ~0)
                    ReverseArrive(cuda_in_order, ring, 1)
            for w in cuda_threads(0, 8, unit=cuda_warp):
                Arrive(wgmma_async, 1) >> group[w]
                Await(group[w], cuda_in_order, 1)


@proc
def multicast(A: f32[256, 32] @ CudaGmemLinear):
    A_map = A[:, :] @ Sm90_tensorMap(128, 64, 32)
    with CudaDeviceFunction(blockDim=128, clusterDim=4):
        for task in cuda_tasks(0, 1):
            raw: barrier[2, 2] @ CudaMbarrier
            smem: f32[2, 2, 64, 32] @ Sm90_SmemSwizzled(128)
            for m in cuda_threads(0, 2, unit=2 * cuda_cta_in_cluster):
                for n in cuda_threads(0, 2, unit=cuda_cta_in_cluster):
                    with CudaWarps(0, 1):
                        with CudaAsync(tma_to_smem_async):
                            (
                                Sm90_copy_tensor_to_smem_2d_f32(
                                    smem[m, n, :, :],
                                    A_map[128 * m + 64 * n : 128 * m + 64 * n + 64, :],
                                    n0=64,
                                    n1=32,
                                )
                                >> raw[m, n]
                            )
                    Arrive(cuda_in_order, 1) >> raw[m, :] >> raw[:, n]
                    Await(raw[m, n], cuda_in_order, ~0)


@proc
def calls(n: size, flag: bool, x: [f32][n] @ DRAM):
    if flag and not n < 2:
        for i in par(0, n):
            x[i] = max(x[i], 0.0)
    vector_add(n, x, x[:])


FIGURES = [value for value in globals().values() if isinstance(value, Proc)]


@pytest.mark.parametrize("figure", FIGURES, ids=lambda p: p.name)
def test_every_figure_is_written_and_read_back(figure: Proc) -> None:
    assert len(FIGURES) == 12
    assert proc_from_text(text(figure), references(figure)) == figure
    lines = Path(__file__).read_text().splitlines()
    for statement in statements(figure.body):
        at = statement.position
        assert at is not None
        assert Path(at.file) == Path(__file__)
        assert lines[at.line - 1] == at.text
        assert at.text[: at.column - 1].strip() == ""


def found(figure: Proc, kind: type) -> list:
    return [s for s in statements(figure.body) if isinstance(s, kind)]


def test_what_stands_in_the_figures() -> None:
    (kernel,) = found(warp_config, CudaDeviceFunction)
    assert kernel.warp_config == tuple(my_warp_config)
    assert kernel.block_dim is None
    assert [(w.name, w.lo, w.hi) for w in found(warp_config, CudaWarps)] == [
        ("producer", None, None),
        ("consumer", None, None),
        (None, 3, 4),
    ]
    loops = found(cuda_threads_cxx, For)
    assert [loop.iterator for loop in loops] == ["task", "m", "n"]
    wide = [s.mode.unit.name for s in found(xgemm_fence, For) if isinstance(s.mode, CudaThreads)]
    assert wide[:2] == ["4 * cuda_warp", "cuda_warp"]
    assert loops[1].mode == CudaThreads(Ref("16 * cuda_thread", 16 * cuda_thread))
    (block,) = found(async_block, CudaAsync)
    assert block.timeline.name == "Sm80_cp_async"
    (copy,) = found(async_block, Call)
    assert copy.keywords == (("size", Const(4)),)
    assert [(f.first.name, f.second.name) for f in found(Sm80_cp_async_simple, Fence)] == [
        ("cuda_in_order", "cuda_in_order"),
        ("Sm80_cp_async", "cuda_in_order"),
    ]
    assert [(a.n, a.reverse) for a in found(xgemm_mbarrier, Await)] == [(-4, True), (-1, False), (1, False)]
    assert [(a.reverse, len(a.barriers)) for a in found(xgemm_mbarrier, Arrive)] == [
        (False, 1),
        (True, 1),
        (False, 1),
    ]
    (arrive,) = found(multicast, Arrive)
    assert [b.is_multicast for b in arrive.barriers] == [True, True]
    (load,) = found(multicast, Call)
    assert [b.is_multicast for b in load.trailing] == [False]
    (window,) = found(multicast, WindowOf)
    assert window.memory == Ref("Sm90_tensorMap(128, 64, 32)", Sm90_tensorMap(128, 64, 32))
    assert [c.callee.name for c in found(xgemm_fence, Call)] == [
        "Sm80_mma_zero_d_tf32",
        "Sm80_cp_async_f32",
        "Sm80_cp_async_f32",
        "Sm80_mma_load_b_tf32",
        "Sm80_mma_load_a_tf32",
        "Sm80_mma_tf32",
        "Sm80_mma_store_d_tf32",
    ]
    assert all(c.callee.value is INSTRUCTIONS[c.callee.name] for c in found(xgemm_fence, Call))
    (call,) = found(calls, Call)
    assert call.callee.value is vector_add
    assert call.arguments[1] == Name("x")
    assert len(xgemm_fence.preconditions) == 2


def test_names_are_those_around_the_function() -> None:
    class Swizzled:
        spork_sort = "memory"

        def __init__(self, bytes_: int) -> None:
            self.bytes = bytes_

        def __eq__(self, other: object) -> bool:
            return isinstance(other, Swizzled) and other.bytes == self.bytes

        __hash__ = None

    class sizes:
        tile = 8
        low = -1.5

    memory, width = Named("mine", "memory"), 4

    @proc
    def program(n: size):
        a: f32[sizes.tile] @ memory
        b: f32[n] @ Swizzled(2 * width)
        a[n % width] = sizes.low

    first, second, _ = program.body
    assert first.sizes == (Const(8),)
    assert first.memory.value is memory
    assert second.memory == Ref("Swizzled(8)", Swizzled(8))
    assert text(program).splitlines()[-1] == "    a[n % 4] = -1.5"
    assert proc_from_text(text(program), references(program)) == program


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("Broken(1)", "Broken(1), which raises ZeroDivisionError"),
        ("places.nothing", "places, which has no nothing"),
        ("absent", "absent, which is not defined in the surrounding Python"),
        ("places + 1", "places + 1, which is not a name"),
        ("[1][0]", "[1][0], which is not a name"),
    ],
)
def test_names_that_stand_for_nothing(written: str, message: str) -> None:
    names = {"Broken": lambda n: n / 0, "places": Named}
    with pytest.raises(ProgramError) as caught:
        proc_from_text(f"def f():\n    x: f32 @ ({written})", names)
    assert caught.value.rule == "prog-reference"
    assert message in str(caught.value)
    assert caught.value.line == 2


def test_an_error_points_into_the_file_of_the_function() -> None:
    with pytest.raises(ProgramError) as caught:

        @proc
        def wrong(n: size):
            é: f32[n]
            é[0] = 1.0 + wanting

    error = caught.value
    line = Path(__file__).read_text().splitlines()[error.line - 1]
    assert error.file is not None
    assert Path(error.file) == Path(__file__)
    assert line[error.column - 1 :] == "wanting"
    assert str(error).splitlines()[-2:] == [f"  {line}", f"  {' ' * (error.column - 1)}^"]


def test_what_is_no_python_and_what_has_no_source() -> None:
    with pytest.raises(ProgramError) as caught:
        proc_from_text("def f():\n    x = (1")
    assert (caught.value.rule, caught.value.line) == ("prog-syntax", 2)
    with pytest.raises(ProgramError) as caught:
        proc_from_text("")
    assert caught.value.rule == "prog-syntax"
    with pytest.raises(ProgramError) as caught:
        proc_from_text("def f():\n    x: f32\n    x = " + "-" * 3000 + "1")
    assert caught.value.rule == "prog-syntax"
    with pytest.raises(UsageError):
        proc(len)


def test_a_law_that_an_object_breaks_keeps_its_id() -> None:
    def odd(size: int) -> Named:
        raise UsageError(f"no memory of {size}", rule="odd-c1")

    with pytest.raises(UsageError) as caught:
        proc_from_text("def f():\n    x: f32 @ odd(3)", {"odd": odd})
    assert caught.value.rule == "odd-c1"


def test_a_memory_that_cannot_be_made_is_refused_at_its_place() -> None:
    with pytest.raises(ProgramError) as caught:
        proc_from_text("def f():\n    x: f32[8] @ Sm90_SmemSwizzled(48)")
    assert (caught.value.rule, caught.value.line) == ("mem-parameter", 2)
