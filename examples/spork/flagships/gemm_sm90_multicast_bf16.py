"""A matrix product in bf16 on clusters of CTAs: ``python examples/spork/flagships/gemm_sm90_multicast_bf16.py``.

The program of ``gemm_sm90_bf16.py`` on clusters of CTAS. The CTAs of a cluster have the same columns of B and
neighbouring rows of A: each asks TMA for its share of a tile of B, and TMA writes it to the shared memory of all of
them. So B comes from the L2 cache once for each cluster.

What is new is the index ``cta`` of shared memory, registers and barriers. The copies of a step arrive at the barriers
of all CTAs, ``ring[:]``, and so does a consumer that has read a slot, since every producer of the cluster writes to it.
All else is between the threads of one CTA, as before: buffers and their storer belong to one consumer.
"""

from __future__ import annotations

from dataclasses import dataclass

import ml_dtypes
import numpy as np

import soundline as sl


@dataclass(frozen=True)
class Tiles:
    """The sizes that are constants of the program."""

    CTAS: int
    GROUPS: int  # consumers of a CTA, of 64 rows each
    N1: int
    K0: int
    RING: int
    PART: int
    BUFFERS: int


REAL = Tiles(CTAS=2, GROUPS=2, N1=256, K0=64, RING=4, PART=64, BUFFERS=2)
SMALL = Tiles(CTAS=2, GROUPS=1, N1=32, K0=16, RING=2, PART=16, BUFFERS=2)
SIZES = {"M": 128, "N": 64, "K": 32, "WM": 1, "WN": 1}


def gemm_of(tiles: Tiles) -> sl.spork.SporkProc:
    """The program with tiles of these sizes."""
    CTAS, GROUPS, N1, K0, RING, PART, BUFFERS = (
        *(tiles.CTAS, tiles.GROUPS, tiles.N1, tiles.K0),
        *(tiles.RING, tiles.PART, tiles.BUFFERS),
    )
    M1, PARTS = 64 * GROUPS, N1 // PART
    SHARE = N1 // CTAS  # what each CTA copies of a tile of B
    SWIZZLE, PART_SWIZZLE = 2 * K0, 2 * PART  # bytes of a row in shared memory
    WARPS = [
        sl.spork.CudaWarpConfig("producer", 1, setmaxnreg_dec=40),
        sl.spork.CudaWarpConfig("storer", GROUPS, setmaxnreg_dec=40),
        sl.spork.CudaWarpConfig("unused", 3 - GROUPS, setmaxnreg_dec=40),
        sl.spork.CudaWarpConfig("consumer", 4 * GROUPS, setmaxnreg_inc=232),
    ]

    @sl.spork.proc
    def gemm(
        M: size,
        N: size,
        K: size,
        WM: size,
        WN: size,
        A: bf16[M, K] @ CudaGmemLinear,
        B: bf16[N, K] @ CudaGmemLinear,
        C: bf16[M, N] @ CudaGmemLinear,
    ):
        """C = A @ B.T, by WM * WN clusters."""
        assert M % (WM * CTAS * M1) == 0
        assert N % (WN * N1) == 0
        assert K % (RING * K0) == 0
        A_map = A[:, :] @ Sm90_tensorMap(SWIZZLE, M1, K0)
        B_map = B[:, :] @ Sm90_tensorMap(SWIZZLE, SHARE, K0)
        C_map = C[:, :] @ Sm90_tensorMap(PART_SWIZZLE, 64, PART)
        with CudaDeviceFunction(warp_config=WARPS, clusterDim=CTAS):
            for wm in cuda_tasks(0, WM):
                for wn in cuda_tasks(0, WN):
                    A_smem: bf16[CTAS, RING, M1, K0] @ Sm90_SmemSwizzled(SWIZZLE)
                    B_smem: bf16[CTAS, RING, N1, K0] @ Sm90_SmemSwizzled(SWIZZLE)
                    C_smem: bf16[CTAS, GROUPS, BUFFERS, 64, PART] @ Sm90_SmemSwizzled(PART_SWIZZLE)
                    D: f32[CTAS, GROUPS, 64, N1] @ Sm90_RmemMatrixD
                    ring: barrier[CTAS] @ CudaMbarrier
                    group: barrier[CTAS, GROUPS] @ CudaCommitGroup
                    part: barrier[CTAS, GROUPS] @ CudaMbarrier
                    stored: barrier[CTAS, GROUPS] @ CudaCommitGroup
                    for m in seq(0, M // (WM * CTAS * M1)):
                        for n in seq(0, N // (WN * N1)):
                            for k in seq(0, K // K0):
                                for cta in cuda_threads(0, CTAS, unit=cuda_cta_in_cluster):
                                    with CudaWarps(name="producer"):
                                        a_tile = A_map[
                                            M1 * (CTAS * (WM * m + wm) + cta) : M1
                                            * (CTAS * (WM * m + wm) + cta)
                                            + M1,
                                            K0 * k : K0 * k + K0,
                                        ]
                                        b_share = B_map[
                                            N1 * (WN * n + wn) + SHARE * cta : N1 * (WN * n + wn)
                                            + SHARE * cta
                                            + SHARE,
                                            K0 * k : K0 * k + K0,
                                        ]
                                        ReverseAwait(ring[cta], tma_to_smem_async, ~RING)
                                        with CudaAsync(tma_to_smem_async):
                                            (
                                                Sm90_copy_tensor_to_smem_2d_bf16(
                                                    A_smem[cta, k % RING, :, :], a_tile, n0=M1, n1=K0
                                                )
                                                >> ring[cta]
                                            )
                                            Sm90_multicast_tensor_to_smem_2d_bf16(
                                                B_smem[:, k % RING, SHARE * cta : SHARE * cta + SHARE, :],
                                                b_share,
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
                                                for i in seq(0, K0 // 16):
                                                    Sm90_mma_async_bf16(
                                                        D[cta, wg, :, :],
                                                        A_smem[
                                                            cta,
                                                            k % RING,
                                                            64 * wg : 64 * wg + 64,
                                                            16 * i : 16 * i + 16,
                                                        ],
                                                        B_smem[cta, k % RING, :, 16 * i : 16 * i + 16],
                                                        N=N1,
                                                    )
                                                Arrive(wgmma_async, 1) >> group[cta, wg]
                                            Await(group[cta, wg], cuda_in_order, 1)
                                        if k > 0:
                                            ReverseArrive(cuda_in_order, 1) >> ring[cta] >> ring[:]
                            for cta in cuda_threads(0, CTAS, unit=cuda_cta_in_cluster):
                                with CudaWarps(name="consumer"):
                                    for wg in cuda_threads(0, GROUPS, unit=cuda_warpgroup):
                                        Await(group[cta, wg], cuda_in_order, 0)
                                    ReverseArrive(cuda_in_order, 1) >> ring[cta] >> ring[:]
                            for p in seq(0, PARTS):
                                for cta in cuda_threads(0, CTAS, unit=cuda_cta_in_cluster):
                                    with CudaWarps(name="consumer"):
                                        for wg in cuda_threads(0, GROUPS, unit=cuda_warpgroup):
                                            ReverseAwait(part[cta, wg], cuda_in_order, ~BUFFERS)
                                            Sm90_mma_write_d_columns_bf16(
                                                C_smem[cta, wg, p % BUFFERS, :, :],
                                                D[cta, wg, :, :],
                                                first=PART * p,
                                                columns=PART,
                                                N=N1,
                                            )
                                            Arrive(cuda_in_order, 1) >> part[cta, wg]
                                    with CudaWarps(name="storer"):
                                        for wg in cuda_threads(0, GROUPS, unit=cuda_warp):
                                            for lane in cuda_threads(0, 1, unit=cuda_thread):
                                                c_part = C_map[
                                                    M1 * (CTAS * (WM * m + wm) + cta) + 64 * wg : M1
                                                    * (CTAS * (WM * m + wm) + cta)
                                                    + 64 * wg
                                                    + 64,
                                                    N1 * (WN * n + wn) + PART * p : N1 * (WN * n + wn)
                                                    + PART * p
                                                    + PART,
                                                ]
                                                Await(part[cta, wg], cuda_generic_and_async_proxy, ~0)
                                                with CudaAsync(tma_to_gmem_async):
                                                    Sm90_copy_tensor_to_gmem_2d_bf16(
                                                        c_part,
                                                        C_smem[cta, wg, p % BUFFERS, :, :],
                                                        n0=64,
                                                        n1=PART,
                                                    )
                                                    Arrive(tma_to_gmem_async, 1) >> stored[cta, wg]
                                                Await(stored[cta, wg], cuda_in_order, 1)
                                                if m + n + p > 0:
                                                    ReverseArrive(cuda_in_order, 1) >> part[cta, wg]
                    for cta in cuda_threads(0, CTAS, unit=cuda_cta_in_cluster):
                        with CudaWarps(name="storer"):
                            for wg in cuda_threads(0, GROUPS, unit=cuda_warp):
                                for lane in cuda_threads(0, 1, unit=cuda_thread):
                                    Await(stored[cta, wg], cuda_in_order, 0)
                                    ReverseArrive(cuda_in_order, 1) >> part[cta, wg]
                    Fence(cuda_in_order, cuda_in_order)

    return gemm


gemm = gemm_of(REAL)
small = gemm_of(SMALL)


def arguments() -> dict[str, np.ndarray]:
    """Small integers, whose sums are exact in every order."""
    random = np.random.default_rng(0)
    M, N, K = SIZES["M"], SIZES["N"], SIZES["K"]
    return {
        "A": random.integers(-2, 3, (M, K)).astype(ml_dtypes.bfloat16),
        "B": random.integers(-2, 3, (N, K)).astype(ml_dtypes.bfloat16),
        "C": np.full((M, N), np.nan, ml_dtypes.bfloat16),
    }


def expected(A: np.ndarray, B: np.ndarray, C: np.ndarray) -> dict[str, np.ndarray]:
    """What the arrays that the program writes hold after it."""
    return {"C": (A.astype(np.float32) @ B.astype(np.float32).T).astype(ml_dtypes.bfloat16)}


def main() -> None:
    """Run the program sequentially at small sizes, and check that its threads compute the same."""
    arrays = arguments()
    small.run(**SIZES, **arrays)
    print("C is A @ B.T:", np.array_equal(arrays["C"], expected(**arrays)["C"]))
    print(small.check(**SIZES).text())


if __name__ == "__main__":
    main()
