"""A matrix product for sm_80 with a ring of buffers: ``python examples/spork/gemm_sm80_ring.py``.

The same tiles as in ``gemm_sm80_fence.py``, but instead of a fence in each iteration there are two waits on an mbarrier
with two sides. *Forward*, whoever copied a tile arrives, and whoever multiplies awaits. *Reverse*, whoever has read a
tile arrives, and whoever copies over it awaits. The await ``~0`` waits for the arrive of the same tile; the await
``~RING`` waits for the arrive that is RING tiles back, and passes at once while there is none. An iteration copies a
tile and multiplies the one that was copied LAG iterations before. After the loop a fence of the CTA lets the shared
memory end.

The sizes here are small, so that the abstract machine is quick; for a real GPU they are M1, N1 = 192, 256,
Mw, Nw = 96, 64 and K0 = 16, and nothing else changes.
"""

from __future__ import annotations

import numpy as np

import soundline as sl

M1, N1, Mw, Nw, K0, MMA_K = 32, 32, 16, 32, 8, 8
RING, LAG = 3, 1
WARPS = (M1 // Mw) * (N1 // Nw)
A_ROWS = 32 * WARPS // (K0 // 4)  # rows of A that all threads copy at once, 4 elements each
B_ROWS = 32 * WARPS // (N1 // 4)
SIZES = {"M": M1, "N": N1, "K": 4 * K0}


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
    assert LAG < RING
    with CudaDeviceFunction(blockDim=32 * WARPS, blocks_per_sm=1):
        for m1 in cuda_tasks(0, M // M1):
            for n1 in cuda_tasks(0, N // N1):
                A_smem: f32[RING, M1, K0] @ CudaSmemLinear
                B_smem: f32[RING, K0, N1] @ CudaSmemLinear
                D_rmem: f32[M1 // Mw, N1 // Nw, Mw // 16, Nw // 8, 16, 8] @ Sm80_RmemMatrixD
                ring: barrier @ CudaMbarrier
                for mw in cuda_threads(0, M1 // Mw, unit=(N1 // Nw) * cuda_warp):
                    for nw in cuda_threads(0, N1 // Nw, unit=cuda_warp):
                        for i in seq(0, Mw // 16):
                            for j in seq(0, Nw // 8):
                                Sm80_mma_zero_d_tf32(D_rmem[mw, nw, i, j, :, :])
                for k1 in seq(0, K // K0 + LAG):
                    if k1 < K // K0:
                        ReverseAwait(ring, Sm80_cp_async, ~RING)
                        with CudaAsync(Sm80_cp_async):
                            for r in seq(0, M1 // A_ROWS):
                                for m in cuda_threads(0, A_ROWS, unit=(K0 // 4) * cuda_thread):
                                    for k in cuda_threads(0, K0 // 4, unit=cuda_thread):
                                        Sm80_cp_async_f32(
                                            A_smem[k1 % RING, A_ROWS * r + m, 4 * k : 4 * k + 4],
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
                                            B_smem[k1 % RING, B_ROWS * r + k, 4 * n : 4 * n + 4],
                                            B[
                                                K0 * k1 + B_ROWS * r + k,
                                                N1 * n1 + 4 * n : N1 * n1 + 4 * n + 4,
                                            ],
                                            size=4,
                                        )
                        Arrive(Sm80_cp_async, 1) >> ring
                    if k1 >= LAG:
                        Await(ring, cuda_in_order, ~0)
                        for mw in cuda_threads(0, M1 // Mw, unit=(N1 // Nw) * cuda_warp):
                            for nw in cuda_threads(0, N1 // Nw, unit=cuda_warp):
                                B_rmem: f32[K0 // MMA_K, Nw // 8, MMA_K, 8] @ Sm80_RmemMatrixB
                                for k in seq(0, K0 // MMA_K):
                                    for j in seq(0, Nw // 8):
                                        Sm80_mma_load_b_tf32(
                                            B_rmem[k, j, :, :],
                                            B_smem[
                                                (k1 - LAG) % RING,
                                                MMA_K * k : MMA_K * k + MMA_K,
                                                Nw * nw + 8 * j : Nw * nw + 8 * j + 8,
                                            ],
                                            K=MMA_K,
                                        )
                                for i in seq(0, Mw // 16):
                                    A_rmem: f32[K0 // MMA_K, 16, MMA_K] @ Sm80_RmemMatrixA
                                    for k in seq(0, K0 // MMA_K):
                                        Sm80_mma_load_a_tf32(
                                            A_rmem[k, :, :],
                                            A_smem[
                                                (k1 - LAG) % RING,
                                                Mw * mw + 16 * i : Mw * mw + 16 * i + 16,
                                                MMA_K * k : MMA_K * k + MMA_K,
                                            ],
                                            K=MMA_K,
                                        )
                                    for k in seq(0, K0 // MMA_K):
                                        for j in seq(0, Nw // 8):
                                            Sm80_mma_tf32(
                                                D_rmem[mw, nw, i, j, :, :],
                                                A_rmem[k, :, :],
                                                B_rmem[k, j, :, :],
                                                K=MMA_K,
                                            )
                        ReverseArrive(cuda_in_order, 1) >> ring
                Fence(cuda_in_order, cuda_in_order)
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
    """Run the program sequentially, and check that its threads compute the same."""
    arrays = arguments()
    gemm.run(**arrays)
    print("C is A @ B:", np.array_equal(arrays["C"], expected(**arrays)["C"]))
    print(gemm.check(**SIZES).text())


if __name__ == "__main__":
    main()
