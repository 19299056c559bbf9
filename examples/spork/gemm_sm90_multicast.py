"""A matrix product for sm_90 on clusters of CTAs: ``python examples/spork/gemm_sm90_multicast.py``.

The ring of ``gemm_sm90_ring.py``, on a cluster of CTAS. Each CTA has other rows of A and of C, and all have the same
columns of B: so each asks TMA for its share of the tile of B, and TMA writes it to the shared memory of all of them.
Shared memory and barriers are distributed over the CTAs of the cluster by their leading index. A colon there stands
for all CTAs:

- forward, a copy to all is followed by ``>> ring[:]``; each CTA awaits its own barrier, which waits for what every CTA
  has copied there;
- reverse, the consumer of a CTA arrives at the barriers of all, since every producer writes to its memory.

At the end of a task all threads of the cluster meet in one more fence, and the shared memory may be used again. That no
CTA exits while another one may still arrive at its barriers is the affair of the kernel's end, not of the program.
"""

from __future__ import annotations

import numpy as np

import soundline as sl

CTAS, GROUPS, N1, K0, RING = 2, 1, 8, 8, 2
M1 = 64 * GROUPS  # rows of a CTA
SHARE = N1 // CTAS  # what each CTA copies of a tile of B
SWIZZLE = 4 * K0  # bytes of a row of a tile
WARPS = [
    sl.spork.CudaWarpConfig("producer", 1, setmaxnreg_dec=40),
    sl.spork.CudaWarpConfig("unused", 3, setmaxnreg_dec=40),
    sl.spork.CudaWarpConfig("consumer", 4 * GROUPS, setmaxnreg_inc=232),
]
SIZES = {"M": CTAS * M1, "N": N1, "K": 3 * K0}


@sl.spork.proc
def gemm(
    M: size,
    N: size,
    K: size,
    A: f32[M, K] @ CudaGmemLinear,
    B: f32[N, K] @ CudaGmemLinear,
    C: f32[M, N] @ CudaGmemLinear,
):
    """C = A @ B.T."""
    assert M % (CTAS * M1) == 0
    assert N % N1 == 0
    assert K % K0 == 0
    A_map = A[:, :] @ Sm90_tensorMap(SWIZZLE, M1, K0)
    B_map = B[:, :] @ Sm90_tensorMap(SWIZZLE, SHARE, K0)
    with CudaDeviceFunction(warp_config=WARPS, clusterDim=CTAS):
        for m in cuda_tasks(0, M // (CTAS * M1)):
            for n in cuda_tasks(0, N // N1):
                A_smem: f32[CTAS, RING, M1, K0] @ Sm90_SmemSwizzled(SWIZZLE)
                B_smem: f32[CTAS, RING, N1, K0] @ Sm90_SmemSwizzled(SWIZZLE)
                D: f32[CTAS, GROUPS, 64, N1] @ Sm90_RmemMatrixD
                ring: barrier[CTAS] @ CudaMbarrier
                group: barrier[CTAS, GROUPS] @ CudaCommitGroup
                for k in seq(0, K // K0):
                    for cta in cuda_threads(0, CTAS, unit=cuda_cta_in_cluster):
                        with CudaWarps(name="producer"):
                            a = A_smem[cta, k % RING, :, :]
                            a_tile = A_map[
                                M1 * (CTAS * m + cta) : M1 * (CTAS * m + cta) + M1, K0 * k : K0 * k + K0
                            ]
                            b_tile = B_map[
                                N1 * n + SHARE * cta : N1 * n + SHARE * cta + SHARE, K0 * k : K0 * k + K0
                            ]
                            ReverseAwait(ring[cta], tma_to_smem_async, ~RING)
                            with CudaAsync(tma_to_smem_async):
                                Sm90_copy_tensor_to_smem_2d_f32(a, a_tile, n0=M1, n1=K0) >> ring[cta]
                                Sm90_multicast_tensor_to_smem_2d_f32(
                                    B_smem[:, k % RING, SHARE * cta : SHARE * cta + SHARE, :],
                                    b_tile,
                                    ctas=CTAS,
                                    n0=SHARE,
                                    n1=K0,
                                ) >> ring[cta] >> ring[:]  # fmt: skip
                                Arrive(tma_to_smem_async, 1) >> ring[cta] >> ring[:]
                    for cta in cuda_threads(0, CTAS, unit=cuda_cta_in_cluster):
                        with CudaWarps(name="consumer"):
                            Await(ring[cta], cuda_generic_and_async_proxy, ~0)
                            for wg in cuda_threads(0, GROUPS, unit=cuda_warpgroup):
                                with CudaAsync(wgmma_async):
                                    Fence(wgmma_fence_1, wgmma_fence_2)
                                    if k == 0:
                                        Sm90_zero_scale_d_f32(D[cta, wg, :, :], N=N1)
                                    for i in seq(0, K0 // 8):
                                        Sm90_mma_async_tf32(
                                            D[cta, wg, :, :],
                                            A_smem[cta, k % RING, 64 * wg : 64 * wg + 64, 8 * i : 8 * i + 8],
                                            B_smem[cta, k % RING, :, 8 * i : 8 * i + 8],
                                            N=N1,
                                        )
                                    Arrive(wgmma_async, 1) >> group[cta, wg]
                                Await(group[cta, wg], cuda_in_order, 0)
                            ReverseArrive(cuda_in_order, 1) >> ring[cta] >> ring[:]
                for cta in cuda_threads(0, CTAS, unit=cuda_cta_in_cluster):
                    with CudaWarps(name="consumer"):
                        for wg in cuda_threads(0, GROUPS, unit=cuda_warpgroup):
                            Sm90_mma_write_d_row_major_f32(
                                C[
                                    M1 * (CTAS * m + cta) + 64 * wg : M1 * (CTAS * m + cta) + 64 * wg + 64,
                                    N1 * n : N1 * n + N1,
                                ],
                                D[cta, wg, :, :],
                                N=N1,
                            )
                Fence(cuda_in_order, cuda_in_order)


def arguments() -> dict[str, np.ndarray]:
    """Small integers, whose sums are exact in every order."""
    random = np.random.default_rng(0)
    M, N, K = SIZES["M"], SIZES["N"], SIZES["K"]
    return {
        "A": random.integers(-4, 5, (M, K)).astype(np.float32),
        "B": random.integers(-4, 5, (N, K)).astype(np.float32),
        "C": np.full((M, N), np.nan, np.float32),
    }


def expected(A: np.ndarray, B: np.ndarray, C: np.ndarray) -> dict[str, np.ndarray]:
    """What the arrays that the program writes hold after it."""
    return {"C": A @ B.T}


def main() -> None:
    """Run the program sequentially, and check that its threads compute the same."""
    arrays = arguments()
    gemm.run(**arrays)
    print("C is A @ B.T:", np.array_equal(arrays["C"], expected(**arrays)["C"]))
    print(gemm.check(**SIZES).text())


if __name__ == "__main__":
    main()
