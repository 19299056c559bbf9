"""A matrix product in bf16 for sm_80: ``python examples/spork/flagships/gemm_sm80_bf16.py``.

A task is a tile of M1 × N1 of C, and each warp has Mw × Nw of it in registers. Tiles of K0 along K go through a ring of
STAGES slots. Every thread commits what it copies for one step as one group, also where there is nothing left to copy,
so that it can wait for all groups but the last STAGES - 2: then its own copies for this step have arrived. The fence
says so to all threads, and it says that all of them have read the slot of the step before, which is the one that is
filled next. So there is one barrier in a step, and the copies of STAGES - 1 steps are under way.

Fragments are loaded by ``ldmatrix``, with ``.trans`` those of B, which stands row by row. Rows in shared memory are
padded by 16 bytes, so that the eight rows that ``ldmatrix`` reads at once touch all banks.
"""

from __future__ import annotations

from dataclasses import dataclass

import ml_dtypes
import numpy as np

import soundline as sl

PAD = 8  # elements of 2 bytes


@dataclass(frozen=True)
class Tiles:
    """The sizes that are constants of the program."""

    M1: int
    N1: int
    Mw: int  # rows of a warp
    Nw: int  # columns of a warp
    K0: int
    STAGES: int


REAL = Tiles(M1=128, N1=256, Mw=64, Nw=64, K0=32, STAGES=4)
SMALL = Tiles(M1=32, N1=16, Mw=16, Nw=16, K0=32, STAGES=3)
SIZES = {"M": 32, "N": 16, "K": 128}


def gemm_of(tiles: Tiles) -> sl.spork.SporkProc:
    """The program with tiles of these sizes."""
    M1, N1, Mw, Nw, K0, STAGES = tiles.M1, tiles.N1, tiles.Mw, tiles.Nw, tiles.K0, tiles.STAGES
    WARPS_M, WARPS_N = M1 // Mw, N1 // Nw
    THREADS = 32 * WARPS_M * WARPS_N
    A_PIECES, B_PIECES = K0 // 8, N1 // 8  # pieces of 16 bytes in a row
    A_COPIES, B_COPIES = M1 * A_PIECES // THREADS, K0 * B_PIECES // THREADS  # what each thread copies

    @sl.spork.proc
    def gemm(
        M: size,
        N: size,
        K: size,
        A: bf16[M, K] @ CudaGmemLinear,
        B: bf16[K, N] @ CudaGmemLinear,
        C: f32[M, N] @ CudaGmemLinear,
    ):
        """C = A @ B."""
        assert M % M1 == 0
        assert N % N1 == 0
        assert K % K0 == 0
        assert M1 * A_PIECES % THREADS == 0
        assert K0 * B_PIECES % THREADS == 0
        with CudaDeviceFunction(blockDim=THREADS, blocks_per_sm=1):
            for m1 in cuda_tasks(0, M // M1):
                for n1 in cuda_tasks(0, N // N1):
                    A_smem: bf16[STAGES, M1, K0 + PAD] @ CudaSmemLinear
                    B_smem: bf16[STAGES, K0, N1 + PAD] @ CudaSmemLinear
                    D: f32[WARPS_M, WARPS_N, Mw // 16, Nw // 8, 16, 8] @ Sm80_RmemMatrixD
                    copied: barrier[THREADS] @ CudaCommitGroup
                    for wm in cuda_threads(0, WARPS_M, unit=WARPS_N * cuda_warp):
                        for wn in cuda_threads(0, WARPS_N, unit=cuda_warp):
                            for i in seq(0, Mw // 16):
                                for j in seq(0, Nw // 8):
                                    Sm80_mma_zero_d_bf16(D[wm, wn, i, j, :, :])
                    for step in seq(0, K // K0 + STAGES - 1):
                        if step >= STAGES - 1:
                            for tid in cuda_threads(0, THREADS, unit=cuda_thread):
                                Await(copied[tid], cuda_in_order, STAGES - 2)
                            Fence(cuda_in_order, Sm80_generic)
                        for tid in cuda_threads(0, THREADS, unit=cuda_thread):
                            if step < K // K0:
                                with CudaAsync(Sm80_cp_async):
                                    for r in seq(0, A_COPIES):
                                        Sm80_cp_async_bf16(
                                            A_smem[
                                                step % STAGES,
                                                (tid + THREADS * r) // A_PIECES,
                                                8 * ((tid + THREADS * r) % A_PIECES) : 8
                                                * ((tid + THREADS * r) % A_PIECES)
                                                + 8,
                                            ],
                                            A[
                                                M1 * m1 + (tid + THREADS * r) // A_PIECES,
                                                K0 * step + 8 * ((tid + THREADS * r) % A_PIECES) : K0 * step
                                                + 8 * ((tid + THREADS * r) % A_PIECES)
                                                + 8,
                                            ],
                                            size=8,
                                        )
                                    for r in seq(0, B_COPIES):
                                        Sm80_cp_async_bf16(
                                            B_smem[
                                                step % STAGES,
                                                (tid + THREADS * r) // B_PIECES,
                                                8 * ((tid + THREADS * r) % B_PIECES) : 8
                                                * ((tid + THREADS * r) % B_PIECES)
                                                + 8,
                                            ],
                                            B[
                                                K0 * step + (tid + THREADS * r) // B_PIECES,
                                                N1 * n1 + 8 * ((tid + THREADS * r) % B_PIECES) : N1 * n1
                                                + 8 * ((tid + THREADS * r) % B_PIECES)
                                                + 8,
                                            ],
                                            size=8,
                                        )
                            Arrive(Sm80_cp_async, 1) >> copied[tid]
                        if step >= STAGES - 1:
                            for wm in cuda_threads(0, WARPS_M, unit=WARPS_N * cuda_warp):
                                for wn in cuda_threads(0, WARPS_N, unit=cuda_warp):
                                    for k in seq(0, K0 // 16):
                                        b: bf16[Nw // 8, 16, 8] @ Sm80_RmemMatrixB
                                        for j in seq(0, Nw // 16):
                                            Sm80_ldmatrix_x4_trans_b_bf16(
                                                b[2 * j : 2 * j + 2, :, :],
                                                B_smem[
                                                    (step + 1) % STAGES,
                                                    16 * k : 16 * k + 16,
                                                    Nw * wn + 16 * j : Nw * wn + 16 * j + 16,
                                                ],
                                            )
                                        for i in seq(0, Mw // 16):
                                            a: bf16[16, 16] @ Sm80_RmemMatrixA
                                            Sm80_ldmatrix_x4_a_bf16(
                                                a[:, :],
                                                A_smem[
                                                    (step + 1) % STAGES,
                                                    Mw * wm + 16 * i : Mw * wm + 16 * i + 16,
                                                    16 * k : 16 * k + 16,
                                                ],
                                            )
                                            for j in seq(0, Nw // 8):
                                                Sm80_mma_bf16(
                                                    D[wm, wn, i, j, :, :], a[:, :], b[j, :, :], K=16
                                                )
                    for tid in cuda_threads(0, THREADS, unit=cuda_thread):
                        Await(copied[tid], cuda_in_order, 0)
                    Fence(cuda_in_order, cuda_in_order)
                    for wm in cuda_threads(0, WARPS_M, unit=WARPS_N * cuda_warp):
                        for wn in cuda_threads(0, WARPS_N, unit=cuda_warp):
                            for i in seq(0, Mw // 16):
                                for j in seq(0, Nw // 8):
                                    Sm80_mma_store_d_bf16(
                                        C[
                                            M1 * m1 + Mw * wm + 16 * i : M1 * m1 + Mw * wm + 16 * i + 16,
                                            N1 * n1 + Nw * wn + 8 * j : N1 * n1 + Nw * wn + 8 * j + 8,
                                        ],
                                        D[wm, wn, i, j, :, :],
                                    )

    return gemm


gemm = gemm_of(REAL)
small = gemm_of(SMALL)


def arguments() -> dict[str, np.ndarray]:
    """Small integers, whose sums are exact in every order."""
    random = np.random.default_rng(0)
    M, N, K = SIZES["M"], SIZES["N"], SIZES["K"]
    return {
        "A": random.integers(-4, 5, (M, K)).astype(ml_dtypes.bfloat16),
        "B": random.integers(-4, 5, (K, N)).astype(ml_dtypes.bfloat16),
        "C": np.full((M, N), np.nan, np.float32),
    }


def expected(A: np.ndarray, B: np.ndarray, C: np.ndarray) -> dict[str, np.ndarray]:
    """What the arrays that the program writes hold after it."""
    return {"C": A.astype(np.float32) @ B.astype(np.float32)}


def main() -> None:
    """Run the program sequentially at small sizes, and check that its threads compute the same."""
    arrays = arguments()
    small.run(**SIZES, **arrays)
    print("C is A @ B:", np.array_equal(arrays["C"], expected(**arrays)["C"]))
    print(small.check(**SIZES).text())


if __name__ == "__main__":
    main()
