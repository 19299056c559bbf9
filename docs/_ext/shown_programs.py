"""The programs from which pages cut calls, memories and synchronization: the examples, and a few for what they lack."""

from __future__ import annotations

import runpy
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path as File
from typing import Any

from citations import ROOT
from generated_cuda import Beside, has_code, of_one

from soundline.impl.spork import proc_from_text
from soundline.impl.spork.program import SporkProc
from soundline.spec.spork.language.expressions import walk
from soundline.spec.spork.language.nodes import Node
from soundline.spec.spork.language.statements import Call, If, Statement
from soundline.spec.spork.static.law import static_law
from soundline.spec.spork.static.windows import Path

EXAMPLES = ROOT / "examples" / "spork"

COPIES = """
def copied(n: size, x: f32[n], y: f32[n]):
    g: f32[n] @ CudaGmemLinear
    cudaMemcpyAsync_htod_1d_f32(g, x, n)
    back: f32[n] @ DRAM
    cudaMemcpyAsync_dtoh_1d_f32(back, g, n)
    for i in seq(0, n):
        y[i] = back[i]
"""

CONSTANT = """
def scaled(n: size, by: f32, x: f32[n] @ CudaGmemLinear):
    factor: f32 @ CudaGridConstant
    factor = 2.0 * by
    with CudaDeviceFunction(blockDim=32):
        for task in cuda_tasks(0, n):
            for i in cuda_threads(0, 1, unit=cuda_thread):
                x[task] = factor * x[task]
"""

LANES = """
def passed(x: f32[32] @ CudaGmemLinear, y: f32[32] @ CudaGmemLinear):
    with CudaDeviceFunction(blockDim=32):
        for task in cuda_tasks(0, 1):
            own: f32[32] @ CudaRmem
            got: f32[32] @ CudaRmem
            for lane in cuda_threads(0, 32, unit=cuda_thread):
                own[lane] = x[lane]
            cuda_shfl_xor_f32(got[:], own[:], mask=1)
            cuda_shfl_down_f32(own[:], got[:], delta=3)
            for lane in cuda_threads(0, 32, unit=cuda_thread):
                y[lane] = got[lane] + own[lane]
"""

FRAGMENTS = """
def loaded(x: bf16[16, 16] @ CudaGmemLinear, y: f32[16, 8] @ CudaGmemLinear, z: f32[16, 8] @ CudaGmemLinear):
    with CudaDeviceFunction(blockDim=32):
        for task in cuda_tasks(0, 1):
            s: bf16[16, 24] @ CudaSmemLinear
            for lane in cuda_threads(0, 32, unit=cuda_thread):
                cuda_copy_bf16(
                    s[lane // 2, 8 * (lane % 2):8 * (lane % 2) + 8],
                    x[lane // 2, 8 * (lane % 2):8 * (lane % 2) + 8],
                    size=8,
                )
            Fence(cuda_in_order, cuda_in_order)
            a: bf16[16, 16] @ Sm80_RmemMatrixA
            half: bf16[16, 8] @ Sm80_RmemMatrixA
            b: bf16[2, 16, 8] @ Sm80_RmemMatrixB
            low: bf16[8, 8] @ Sm80_RmemMatrixB
            d: f32[16, 8] @ Sm80_RmemMatrixD
            Sm80_ldmatrix_x2_a_bf16(half[:, :], s[:, 0:8])
            Sm80_ldmatrix_x2_trans_a_bf16(half[:, :], s[0:8, 0:16])
            Sm80_ldmatrix_x4_trans_a_bf16(a[:, :], s[:, 0:16])
            Sm80_ldmatrix_x1_b_bf16(low[:, :], s[0:8, 0:8])
            Sm80_ldmatrix_x1_trans_b_bf16(low[:, :], s[0:8, 0:8])
            Sm80_ldmatrix_x2_b_bf16(b[0, :, :], s[0:8, 0:16])
            Sm80_ldmatrix_x2_trans_b_bf16(b[0, :, :], s[:, 0:8])
            Sm80_ldmatrix_x4_b_bf16(b[:, :, :], s[:, 0:16])
            Sm80_mma_load_b_col_bf16(b[0, :, :], s[0:8, 0:16], K=16)
            Sm80_mma_load_d_bf16(d[:, :], y[:, :])
            Sm80_mma_bf16(d[:, :], a[:, :], b[0, :, :], K=16)
            Sm80_mma_bf16(d[:, :], half[:, :], low[:, :], K=8)
            Sm80_mma_store_d_bf16(z[:, :], d[:, :])
            Fence(cuda_in_order, cuda_in_order)
"""

BULK = """
def moved(x: f32[64] @ CudaGmemLinear, y: f32[64] @ CudaGmemLinear, z: f32[8, 8] @ CudaGmemLinear):
    z_map = z[:, :] @ Sm90_tensorMap(0, 8, 8)
    with CudaDeviceFunction(blockDim=64):
        for task in cuda_tasks(0, 1):
            line: f32[64] @ CudaSmemLinear
            tile: f32[8, 8] @ CudaSmemLinear
            loaded: barrier @ CudaMbarrier
            stored: barrier @ CudaCommitGroup
            for tid in cuda_threads(0, 64, unit=cuda_thread):
                tile[tid // 8, tid % 8] = 1.0
            with CudaWarps(0, 1):
                with CudaAsync(tma_to_smem_async):
                    Sm90_bulk_copy_to_smem_f32(line[:], x[:], size=64) >> loaded
                    Arrive(tma_to_smem_async, 1) >> loaded
            Await(loaded, cuda_in_order, ~0)
            for tid in cuda_threads(0, 64, unit=cuda_thread):
                line[tid] += line[tid]
            Fence(cuda_in_order, cuda_generic_and_async_proxy)
            z_tile = z_map[:, :]
            for tid in cuda_threads(0, 1, unit=cuda_thread):
                with CudaAsync(tma_to_gmem_async):
                    Sm90_bulk_copy_to_gmem_f32(y[:], line[:], size=64)
                    Sm90_reduce_tensor_to_gmem_2d_f32(z_tile, tile[:, :], n0=8, n1=8)
                    Arrive(tma_to_gmem_async, 1) >> stored
                Await(stored, cuda_in_order, 0)
            Fence(cuda_in_order, cuda_in_order)
"""

WARPGROUP = """
def product(A: bf16[64, 64] @ CudaGmemLinear, B: bf16[64, 64] @ CudaGmemLinear, C: f32[64, 64] @ CudaGmemLinear):
    with CudaDeviceFunction(blockDim=128):
        for task in cuda_tasks(0, 1):
            A_smem: bf16[64, 64] @ Sm90_SmemSwizzled(128)
            rows: bf16[64, 64] @ Sm90_SmemSwizzled(128)
            blocks: bf16[1, 64, 64] @ Sm90_SmemSwizzled(128)
            a: bf16[4, 64, 16] @ Sm90_RmemMatrixA
            D: f32[64, 64] @ Sm90_RmemMatrixD
            group: barrier @ CudaCommitGroup
            for tid in cuda_threads(0, 64, unit=cuda_thread):
                for j in seq(0, 8):
                    cuda_copy_bf16(A_smem[tid, 8 * j:8 * j + 8], A[tid, 8 * j:8 * j + 8], size=8)
                    cuda_copy_bf16(rows[tid, 8 * j:8 * j + 8], B[tid, 8 * j:8 * j + 8], size=8)
                    cuda_copy_bf16(blocks[0, tid, 8 * j:8 * j + 8], B[tid, 8 * j:8 * j + 8], size=8)
            Fence(cuda_in_order, cuda_generic_and_async_proxy)
            for i in seq(0, 4):
                Sm90_mma_load_a_bf16(a[i, :, :], A_smem[:, 16 * i:16 * i + 16])
            with CudaAsync(wgmma_async):
                Fence(wgmma_fence_1, wgmma_fence_2)
                Sm90_zero_scale_d_f32(D[:, :], N=64)
                for i in seq(0, 4):
                    Sm90_mma_async_ra_bf16(D[:, :], a[i, :, :], rows[:, 16 * i:16 * i + 16], N=64)
                    Sm90_mma_async_kn_bf16(
                        D[:, :], A_smem[:, 16 * i:16 * i + 16], blocks[:, 16 * i:16 * i + 16, :], N=64
                    )
                Arrive(wgmma_async, 1) >> group
            Await(group, cuda_in_order, 0)
            Sm90_mma_write_d_col_major_f32(C[:, :], D[:, :], N=64)
            Fence(cuda_in_order, cuda_in_order)
"""

NOINC = """
def signalled(x: f32[32] @ CudaGmemLinear, y: f32[32] @ CudaGmemLinear):
    with CudaDeviceFunction(blockDim=64):
        for task in cuda_tasks(0, 1):
            s: f32[32] @ CudaSmemLinear
            full: barrier @ CudaMbarrier
            with CudaWarps(0, 1):
                for i in cuda_threads(0, 32, unit=cuda_thread):
                    with CudaAsync(Sm80_cp_async):
                        Sm80_cp_async_f32(s[i:i + 1], x[i:i + 1], size=1)
                Arrive(Sm80_cp_async, 1) >> full
            with CudaWarps(1, 2):
                Await(full, cuda_in_order, ~0)
                for i in cuda_threads(0, 32, unit=cuda_thread):
                    y[i] = s[31 - i]
            Fence(cuda_in_order, cuda_in_order)
"""

TEXTS = (COPIES, CONSTANT, LANES, FRAGMENTS, BULK, WARPGROUP, NOINC)


@cache
def module(path: File) -> dict[str, Any]:
    """What an example defines."""
    return runpy.run_path(str(path))


def program_of(path: str, name: str) -> SporkProc:
    """A program of an example, whose path begins in the folder of examples."""
    found: SporkProc = module(EXAMPLES / path)[name]
    return found


@cache
def own() -> tuple[SporkProc, ...]:
    """The programs of this file."""
    return tuple(proc_from_text(text.lstrip("\n"), file="program") for text in TEXTS)


@cache
def programs() -> tuple[SporkProc, ...]:
    """Those of the examples, the simple ones first, those of this file, and the flagships at small sizes."""
    found = [
        p for path in sorted(EXAMPLES.glob("*.py")) for p in module(path).values() if isinstance(p, SporkProc)
    ]
    large = [module(path)["small"] for path in sorted(EXAMPLES.glob("flagships/*.py"))]
    return (*found, *own(), *large)


def shown_piece(piece: str) -> Beside:
    """The first fence, arrive or await of the programs that becomes this piece of CUDA, beside what it becomes.

    Raises `LookupError` where there is none.
    """
    for program in programs():
        for path, pieces in _pieces(program).items():
            if piece in pieces and has_code(pair := of_one(program, _at(program, path))):
                return pair
    raise LookupError(f"no program has {piece}")


@cache
def _pieces(program: SporkProc) -> Mapping[Path, tuple[str, ...]]:
    return static_law(program).pieces


def _at(program: SporkProc, path: Path) -> Statement:
    """The statement at a path, as the static law counts."""
    body: tuple[Statement, ...] = program.body
    for step in path[:-1]:
        inner = body[step]
        if isinstance(inner, Call):
            body = inner.callee.value.body
        else:
            body = (*inner.body, *(inner.orelse if isinstance(inner, If) else ()))  # type: ignore[union-attr]
    return body[path[-1]]


def shown(wanted: Callable[[Node], bool]) -> Beside:
    """The first statement of the programs that is wanted and becomes something, beside what it becomes.

    Raises `LookupError` where there is none.
    """
    for program in programs():
        for node in walk(program):
            if wanted(node) and has_code(pair := of_one(program, node)):
                return pair
    raise LookupError("no program has what is to be shown")
