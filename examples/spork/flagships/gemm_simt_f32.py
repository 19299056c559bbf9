"""A matrix product in f32 without tensor cores: ``python examples/spork/flagships/gemm_simt_f32.py``.

A task is a tile of M1 × N1 of C. A thread has Mt × Nt of it in registers, in rows and columns that are apart: its rows
are every fourth of those of its warp, and its columns stand in groups of four, every 32nd. So when the threads of a
warp load from shared memory, 4 of them in one row and 8 in one column, they touch all banks.

The K dimension goes by in tiles of K0: while one half of a double buffer is consumed, ``cp.async`` brings the next tile
to the other half, and one fence at the end of each iteration publishes the copies and lets the buffer be used again.
Loads from shared memory to registers are of 16 bytes: four elements along K of a row of A, four along N of a row of B.
A row of A in shared memory has PAD elements more, so that rows begin in different banks.

The sum is written with ``fma``, which in the law rounds the product and then the sum; a compiler that has the licence
to contract makes one instruction of it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import soundline as sl


@dataclass(frozen=True)
class Tiles:
    """The sizes that are constants of the program."""

    WARPS_M: int
    WARPS_N: int
    Mt: int  # rows of a thread
    Nt: int  # columns of a thread
    K0: int
    blocks_per_sm: int


REAL = Tiles(WARPS_M=4, WARPS_N=2, Mt=8, Nt=8, K0=16, blocks_per_sm=2)
WIDE = Tiles(WARPS_M=4, WARPS_N=2, Mt=8, Nt=16, K0=16, blocks_per_sm=1)
SMALL = Tiles(WARPS_M=1, WARPS_N=2, Mt=2, Nt=4, K0=4, blocks_per_sm=1)
SIZES = {"M": 8, "N": 64, "K": 12}


def gemm_of(tiles: Tiles) -> sl.spork.SporkProc:
    """The program with tiles of these sizes."""
    WARPS_M, WARPS_N, Mt, Nt, K0, PAD = tiles.WARPS_M, tiles.WARPS_N, tiles.Mt, tiles.Nt, tiles.K0, 4
    Mw, Nw = 4 * Mt, 8 * Nt  # the tile of a warp, which is 4 by 8 threads
    M1, N1, THREADS = WARPS_M * Mw, WARPS_N * Nw, 32 * WARPS_M * WARPS_N
    A_ROWS = min(M1, THREADS // (K0 // 4))  # rows of A that all threads copy at once, 4 elements each
    B_ROWS = min(K0, THREADS // (N1 // 4))
    BLOCKS = tiles.blocks_per_sm

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
        with CudaDeviceFunction(blockDim=THREADS, blocks_per_sm=BLOCKS):
            for m1 in cuda_tasks(0, M // M1):
                for n1 in cuda_tasks(0, N // N1):
                    A_smem: f32[2, M1, K0 + PAD] @ CudaSmemLinear
                    B_smem: f32[2, K0, N1] @ CudaSmemLinear
                    acc: f32[WARPS_M, WARPS_N, 4, 8, Mt, Nt] @ CudaRmem
                    for wm in cuda_threads(0, WARPS_M, unit=WARPS_N * cuda_warp):
                        for wn in cuda_threads(0, WARPS_N, unit=cuda_warp):
                            for tm in cuda_threads(0, 4, unit=8 * cuda_thread):
                                for tn in cuda_threads(0, 8, unit=cuda_thread):
                                    for i in seq(0, Mt):
                                        for j in seq(0, Nt):
                                            acc[wm, wn, tm, tn, i, j] = 0.0
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
                            for wm in cuda_threads(0, WARPS_M, unit=WARPS_N * cuda_warp):
                                for wn in cuda_threads(0, WARPS_N, unit=cuda_warp):
                                    for tm in cuda_threads(0, 4, unit=8 * cuda_thread):
                                        for tn in cuda_threads(0, 8, unit=cuda_thread):
                                            for k in seq(0, K0 // 4):
                                                a: f32[Mt, 4] @ CudaRmem
                                                for i in seq(0, Mt):
                                                    cuda_copy_f32(
                                                        a[i, :],
                                                        A_smem[
                                                            1 - k1 % 2,
                                                            Mw * wm + 4 * i + tm,
                                                            4 * k : 4 * k + 4,
                                                        ],
                                                        size=4,
                                                    )
                                                for kk in seq(0, 4):
                                                    b: f32[Nt] @ CudaRmem
                                                    for j in seq(0, Nt // 4):
                                                        cuda_copy_f32(
                                                            b[4 * j : 4 * j + 4],
                                                            B_smem[
                                                                1 - k1 % 2,
                                                                4 * k + kk,
                                                                Nw * wn + 32 * j + 4 * tn : Nw * wn
                                                                + 32 * j
                                                                + 4 * tn
                                                                + 4,
                                                            ],
                                                            size=4,
                                                        )
                                                    for i in seq(0, Mt):
                                                        for j in seq(0, Nt):
                                                            acc[wm, wn, tm, tn, i, j] = fma(
                                                                a[i, kk], b[j], acc[wm, wn, tm, tn, i, j]
                                                            )
                        Fence(Sm80_generic, Sm80_generic)
                    for wm in cuda_threads(0, WARPS_M, unit=WARPS_N * cuda_warp):
                        for wn in cuda_threads(0, WARPS_N, unit=cuda_warp):
                            for tm in cuda_threads(0, 4, unit=8 * cuda_thread):
                                for tn in cuda_threads(0, 8, unit=cuda_thread):
                                    for i in seq(0, Mt):
                                        for j in seq(0, Nt // 4):
                                            cuda_copy_f32(
                                                C[
                                                    M1 * m1 + Mw * wm + 4 * i + tm,
                                                    N1 * n1 + Nw * wn + 32 * j + 4 * tn : N1 * n1
                                                    + Nw * wn
                                                    + 32 * j
                                                    + 4 * tn
                                                    + 4,
                                                ],
                                                acc[wm, wn, tm, tn, i, 4 * j : 4 * j + 4],
                                                size=4,
                                            )

    return gemm


gemm = gemm_of(REAL)
wide = gemm_of(WIDE)
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
