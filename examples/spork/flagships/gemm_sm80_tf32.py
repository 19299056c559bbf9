"""A matrix product in tf32 for sm_80: ``python examples/spork/flagships/gemm_sm80_tf32.py``.

The program of ``gemm_sm80_fence.py``, the appendix of the guide, at its real sizes: a task is a tile of 192 × 256, each
of 8 warps has 96 × 64 of it in registers, and tiles of 16 along K go through a double buffer that ``cp.async`` fills
and one fence guards.

Two things are different, and neither changes what is computed. Rows in shared memory are padded, those of A by 4
elements and those of B by 8, so that the loads of a fragment touch all banks. And a step along K loads its fragments of
B, and then those of A one after the other, so that besides the accumulators few registers are needed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import soundline as sl

A_PAD, B_PAD, MMA_K = 4, 8, 8


@dataclass(frozen=True)
class Tiles:
    """The sizes that are constants of the program."""

    M1: int
    N1: int
    Mw: int  # rows of a warp
    Nw: int  # columns of a warp
    K0: int


REAL = Tiles(M1=192, N1=256, Mw=96, Nw=64, K0=16)
EVEN = Tiles(M1=128, N1=256, Mw=64, Nw=64, K0=32)  # for sizes that are powers of two
SMALL = Tiles(M1=32, N1=32, Mw=16, Nw=32, K0=8)
SIZES = {"M": 32, "N": 32, "K": 24}


def gemm_of(tiles: Tiles) -> sl.spork.SporkProc:
    """The program with tiles of these sizes."""
    M1, N1, Mw, Nw, K0 = tiles.M1, tiles.N1, tiles.Mw, tiles.Nw, tiles.K0
    WARPS = (M1 // Mw) * (N1 // Nw)
    A_ROWS = 32 * WARPS // (K0 // 4)  # rows of A that all threads copy at once, 4 elements each
    B_ROWS = 32 * WARPS // (N1 // 4)

    @sl.spork.proc
    def gemm(
        M: size,
        N: size,
        K: size,
        A: f32[M, K] @ CudaGmemLinear,
        B: f32[K, N] @ CudaGmemLinear,
        C: f32[M, N] @ CudaGmemLinear,
    ):
        """C = A @ B."""
        assert M % M1 == 0
        assert N % N1 == 0
        assert K % K0 == 0
        assert M1 % A_ROWS == 0
        assert K0 % B_ROWS == 0
        with CudaDeviceFunction(blockDim=32 * WARPS, blocks_per_sm=1):
            for m1 in cuda_tasks(0, M // M1):
                for n1 in cuda_tasks(0, N // N1):
                    A_smem: f32[2, M1, K0 + A_PAD] @ CudaSmemLinear
                    B_smem: f32[2, K0, N1 + B_PAD] @ CudaSmemLinear
                    D_rmem: f32[M1 // Mw, N1 // Nw, Mw // 16, Nw // 8, 16, 8] @ Sm80_RmemMatrixD
                    for mw in cuda_threads(0, M1 // Mw, unit=(N1 // Nw) * cuda_warp):
                        for nw in cuda_threads(0, N1 // Nw, unit=cuda_warp):
                            for i in seq(0, Mw // 16):
                                for j in seq(0, Nw // 8):
                                    Sm80_mma_zero_d_tf32(D_rmem[mw, nw, i, j, :, :])
                    for k1 in seq(0, K // K0 + 1):
                        if k1 < K // K0:
                            with CudaAsync(Sm80_cp_async):
                                for r in seq(0, M1 // A_ROWS):
                                    for m in cuda_threads(0, A_ROWS, unit=(K0 // 4) * cuda_thread):
                                        for k in cuda_threads(0, K0 // 4, unit=cuda_thread):
                                            Sm80_cp_async_f32(
                                                A_smem[k1 % 2, A_ROWS * r + m, 4 * k : 4 * k + 4],
                                                A[
                                                    M1 * m1 + A_ROWS * r + m,
                                                    K0 * k1 + 4 * k : K0 * k1 + 4 * k + 4,
                                                ],
                                                size=4,
                                            )
                                for r in seq(0, K0 // B_ROWS):
                                    for k in cuda_threads(0, B_ROWS, unit=(N1 // 4) * cuda_thread):
                                        for n in cuda_threads(0, N1 // 4, unit=cuda_thread):
                                            Sm80_cp_async_f32(
                                                B_smem[k1 % 2, B_ROWS * r + k, 4 * n : 4 * n + 4],
                                                B[
                                                    K0 * k1 + B_ROWS * r + k,
                                                    N1 * n1 + 4 * n : N1 * n1 + 4 * n + 4,
                                                ],
                                                size=4,
                                            )
                        if k1 > 0:
                            for mw in cuda_threads(0, M1 // Mw, unit=(N1 // Nw) * cuda_warp):
                                for nw in cuda_threads(0, N1 // Nw, unit=cuda_warp):
                                    for k in seq(0, K0 // MMA_K):
                                        B_rmem: f32[Nw // 8, MMA_K, 8] @ Sm80_RmemMatrixB
                                        for j in seq(0, Nw // 8):
                                            Sm80_mma_load_b_tf32(
                                                B_rmem[j, :, :],
                                                B_smem[
                                                    1 - k1 % 2,
                                                    MMA_K * k : MMA_K * k + MMA_K,
                                                    Nw * nw + 8 * j : Nw * nw + 8 * j + 8,
                                                ],
                                                K=MMA_K,
                                            )
                                        for i in seq(0, Mw // 16):
                                            A_rmem: f32[16, MMA_K] @ Sm80_RmemMatrixA
                                            Sm80_mma_load_a_tf32(
                                                A_rmem[:, :],
                                                A_smem[
                                                    1 - k1 % 2,
                                                    Mw * mw + 16 * i : Mw * mw + 16 * i + 16,
                                                    MMA_K * k : MMA_K * k + MMA_K,
                                                ],
                                                K=MMA_K,
                                            )
                                            for j in seq(0, Nw // 8):
                                                Sm80_mma_tf32(
                                                    D_rmem[mw, nw, i, j, :, :],
                                                    A_rmem[:, :],
                                                    B_rmem[j, :, :],
                                                    K=MMA_K,
                                                )
                        Fence(Sm80_generic, Sm80_generic)
                    for mw in cuda_threads(0, M1 // Mw, unit=(N1 // Nw) * cuda_warp):
                        for nw in cuda_threads(0, N1 // Nw, unit=cuda_warp):
                            for i in seq(0, Mw // 16):
                                for j in seq(0, Nw // 8):
                                    Sm80_mma_store_d_tf32(
                                        C[
                                            M1 * m1 + Mw * mw + 16 * i : M1 * m1 + Mw * mw + 16 * i + 16,
                                            N1 * n1 + Nw * nw + 8 * j : N1 * n1 + Nw * nw + 8 * j + 8,
                                        ],
                                        D_rmem[mw, nw, i, j, :, :],
                                    )

    return gemm


gemm = gemm_of(REAL)
even = gemm_of(EVEN)
small = gemm_of(SMALL)


def arguments() -> dict[str, np.ndarray]:
    """Small integers, whose sums are exact in every order."""
    random = np.random.default_rng(0)
    M, N, K = SIZES["M"], SIZES["N"], SIZES["K"]
    return {
        "A": random.integers(-4, 5, (M, K)).astype(np.float32),
        "B": random.integers(-4, 5, (K, N)).astype(np.float32),
        "C": np.full((M, N), np.nan, np.float32),
    }


def expected(A: np.ndarray, B: np.ndarray, C: np.ndarray) -> dict[str, np.ndarray]:
    """What the arrays that the program writes hold after it."""
    return {"C": A @ B}


def main() -> None:
    """Run the program sequentially at small sizes, and check that its threads compute the same."""
    arrays = arguments()
    small.run(**SIZES, **arrays)
    print("C is A @ B:", np.array_equal(arrays["C"], expected(**arrays)["C"]))
    print(small.check(**SIZES).text())


if __name__ == "__main__":
    main()
