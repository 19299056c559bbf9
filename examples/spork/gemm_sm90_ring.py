"""A matrix product for sm_90 with TMA and wgmma: ``python examples/spork/gemm_sm90_ring.py``.

The warps of a CTA have names. One *producer* warp asks TMA for tiles, the warpgroups of the *consumer* multiply them
with wgmma, and ``setmaxnreg`` gives to the consumer the registers that the others do not need. They meet at a ring of
RING slots in shared memory, guarded by one mbarrier with two sides:

- forward, TMA itself arrives when its bytes are there: a copy is followed by ``>> ring``, and the producer closes the
  group of copies with an Arrive. The consumer awaits it on a timeline that holds the asynchronous proxy, because it is
  wgmma that will read.
- reverse, the consumer arrives when the commit group of its wgmma is done, and the producer awaits that before it lets
  TMA write to the slot again. Each warp of the consumer has waited for its own wgmma only; all of them arrive, so that
  the producer comes after every one.

A task computes the tiles of a row of C one after the other, and the ring goes on from tile to tile. Between two tiles
the registers of the accumulator are read in order, and then used by wgmma again: that is what ``wgmma.fence``, the
Fence in the CudaAsync block, is for.

The sizes here are small, so that the abstract machine is quick; for a real GPU they are GROUPS, N1, K0, RING =
2, 256, 32, 4, and nothing else changes.
"""

from __future__ import annotations

import numpy as np

import soundline as sl

GROUPS, N1, K0, RING = 1, 8, 8, 2
M1 = 64 * GROUPS
SWIZZLE = 4 * K0  # bytes of a row of a tile
WARPS = [
    sl.spork.CudaWarpConfig("producer", 1, setmaxnreg_dec=40),
    sl.spork.CudaWarpConfig("unused", 3, setmaxnreg_dec=40),
    sl.spork.CudaWarpConfig("consumer", 4 * GROUPS, setmaxnreg_inc=232),
]
SIZES = {"M": M1, "N": 2 * N1, "K": 3 * K0}


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
    assert M % M1 == 0
    assert N % N1 == 0
    assert K % K0 == 0
    A_map = A[:, :] @ Sm90_tensorMap(SWIZZLE, M1, K0)
    B_map = B[:, :] @ Sm90_tensorMap(SWIZZLE, N1, K0)
    with CudaDeviceFunction(warp_config=WARPS):
        for m in cuda_tasks(0, M // M1):
            A_smem: f32[RING, M1, K0] @ Sm90_SmemSwizzled(SWIZZLE)
            B_smem: f32[RING, N1, K0] @ Sm90_SmemSwizzled(SWIZZLE)
            D: f32[GROUPS, 64, N1] @ Sm90_RmemMatrixD
            ring: barrier @ CudaMbarrier
            group: barrier[GROUPS] @ CudaCommitGroup
            for n in seq(0, N // N1):
                for k in seq(0, K // K0):
                    a = A_smem[(n * (K // K0) + k) % RING, :, :]
                    b = B_smem[(n * (K // K0) + k) % RING, :, :]
                    with CudaWarps(name="producer"):
                        a_tile = A_map[M1 * m : M1 * m + M1, K0 * k : K0 * k + K0]
                        b_tile = B_map[N1 * n : N1 * n + N1, K0 * k : K0 * k + K0]
                        ReverseAwait(ring, tma_to_smem_async, ~RING)
                        with CudaAsync(tma_to_smem_async):
                            Sm90_copy_tensor_to_smem_2d_f32(a, a_tile, n0=M1, n1=K0) >> ring
                            Sm90_copy_tensor_to_smem_2d_f32(b, b_tile, n0=N1, n1=K0) >> ring
                            Arrive(tma_to_smem_async, 1) >> ring
                    with CudaWarps(name="consumer"):
                        Await(ring, cuda_generic_and_async_proxy, ~0)
                        for wg in cuda_threads(0, GROUPS, unit=cuda_warpgroup):
                            with CudaAsync(wgmma_async):
                                Fence(wgmma_fence_1, wgmma_fence_2)
                                if k == 0:
                                    Sm90_zero_scale_d_f32(D[wg, :, :], N=N1)
                                for i in seq(0, K0 // 8):
                                    Sm90_mma_async_tf32(
                                        D[wg, :, :],
                                        a[64 * wg : 64 * wg + 64, 8 * i : 8 * i + 8],
                                        b[:, 8 * i : 8 * i + 8],
                                        N=N1,
                                    )
                                Arrive(wgmma_async, 1) >> group[wg]
                            Await(group[wg], cuda_in_order, 0)
                        ReverseArrive(cuda_in_order, 1) >> ring
                with CudaWarps(name="consumer"):
                    for wg in cuda_threads(0, GROUPS, unit=cuda_warpgroup):
                        Sm90_mma_write_d_row_major_f32(
                            C[M1 * m + 64 * wg : M1 * m + 64 * wg + 64, N1 * n : N1 * n + N1],
                            D[wg, :, :],
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
