"""A matrix product in bf16 with TMA and wgmma: ``python examples/spork/flagships/gemm_sm90_bf16.py``.

The structure is that of ``gemm_sm90_ring.py``, with what a large product on Hopper needs beside it.

*Persistent tasks*. There is a task for each CTA that the GPU runs at once, in a grid of WM × WN, for instance 16 × 8. A
task computes the tiles of C at its place in every block of WM × WN tiles, and the ring of shared memory goes on from
tile to tile: the producer is at the next tile while the consumers finish this one. The tiles that are computed at one
time are such a block, which is nearly a square, so that each tile of A and of B comes from DRAM once and from the L2
cache for the other tasks of its row or column.

*Roles*. The producer, a warp, asks TMA for tiles of A and B. Each consumer, a warpgroup, multiplies 64 rows. It keeps
one group of wgmma in flight: having issued the products of step k it awaits those of the step before, and gives back
their slot. The storer has a warp for each consumer, of which one thread copies to C by TMA what the consumer has left
in shared memory.

*The way out*. A consumer rounds its rows to bf16 in parts of PART columns, each to one of BUFFERS buffers, and hands it
to the storer by the mbarrier ``part``. The storer hands a buffer back when its copy is done, which it awaits when it
has started the next one. The last parts of a tile are stored while the consumer is at the next tile.
"""

from __future__ import annotations

from dataclasses import dataclass

import ml_dtypes
import numpy as np

import soundline as sl


@dataclass(frozen=True)
class Tiles:
    """The sizes that are constants of the program."""

    GROUPS: int  # consumers, of 64 rows each
    N1: int
    K0: int
    RING: int
    PART: int
    BUFFERS: int


REAL = Tiles(GROUPS=2, N1=256, K0=64, RING=4, PART=64, BUFFERS=2)
SMALL = Tiles(GROUPS=1, N1=32, K0=16, RING=2, PART=16, BUFFERS=2)
SIZES = {"M": 64, "N": 64, "K": 32, "WM": 1, "WN": 1}


def gemm_of(tiles: Tiles) -> sl.spork.SporkProc:
    """The program with tiles of these sizes."""
    GROUPS, N1, K0, RING, PART, BUFFERS = (
        *(tiles.GROUPS, tiles.N1, tiles.K0, tiles.RING),
        *(tiles.PART, tiles.BUFFERS),
    )
    M1, PARTS = 64 * GROUPS, N1 // PART
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
        """C = A @ B.T, by WM * WN tasks."""
        assert M % (WM * M1) == 0
        assert N % (WN * N1) == 0
        assert K % (RING * K0) == 0
        A_map = A[:, :] @ Sm90_tensorMap(SWIZZLE, M1, K0)
        B_map = B[:, :] @ Sm90_tensorMap(SWIZZLE, N1, K0)
        C_map = C[:, :] @ Sm90_tensorMap(PART_SWIZZLE, 64, PART)
        with CudaDeviceFunction(warp_config=WARPS):
            for wm in cuda_tasks(0, WM):
                for wn in cuda_tasks(0, WN):
                    A_smem: bf16[RING, M1, K0] @ Sm90_SmemSwizzled(SWIZZLE)
                    B_smem: bf16[RING, N1, K0] @ Sm90_SmemSwizzled(SWIZZLE)
                    C_smem: bf16[GROUPS, BUFFERS, 64, PART] @ Sm90_SmemSwizzled(PART_SWIZZLE)
                    D: f32[GROUPS, 64, N1] @ Sm90_RmemMatrixD
                    ring: barrier @ CudaMbarrier
                    group: barrier[GROUPS] @ CudaCommitGroup
                    part: barrier[GROUPS] @ CudaMbarrier
                    stored: barrier[GROUPS] @ CudaCommitGroup
                    for m in seq(0, M // (WM * M1)):
                        for n in seq(0, N // (WN * N1)):
                            a_rows = A_map[M1 * (WM * m + wm) : M1 * (WM * m + wm) + M1, :]
                            b_rows = B_map[N1 * (WN * n + wn) : N1 * (WN * n + wn) + N1, :]
                            for k in seq(0, K // K0):
                                a = A_smem[k % RING, :, :]
                                b = B_smem[k % RING, :, :]
                                with CudaWarps(name="producer"):
                                    a_tile = a_rows[:, K0 * k : K0 * k + K0]
                                    b_tile = b_rows[:, K0 * k : K0 * k + K0]
                                    ReverseAwait(ring, tma_to_smem_async, ~RING)
                                    with CudaAsync(tma_to_smem_async):
                                        Sm90_copy_tensor_to_smem_2d_bf16(a, a_tile, n0=M1, n1=K0) >> ring
                                        Sm90_copy_tensor_to_smem_2d_bf16(b, b_tile, n0=N1, n1=K0) >> ring
                                        Arrive(tma_to_smem_async, 1) >> ring
                                with CudaWarps(name="consumer"):
                                    Await(ring, cuda_generic_and_async_proxy, ~0)
                                    for wg in cuda_threads(0, GROUPS, unit=cuda_warpgroup):
                                        with CudaAsync(wgmma_async):
                                            Fence(wgmma_fence_1, wgmma_fence_2)
                                            if k == 0:
                                                Sm90_zero_scale_d_f32(D[wg, :, :], N=N1)
                                            for i in seq(0, K0 // 16):
                                                Sm90_mma_async_bf16(
                                                    D[wg, :, :],
                                                    a[64 * wg : 64 * wg + 64, 16 * i : 16 * i + 16],
                                                    b[:, 16 * i : 16 * i + 16],
                                                    N=N1,
                                                )
                                            Arrive(wgmma_async, 1) >> group[wg]
                                        Await(group[wg], cuda_in_order, 1)
                                    if k > 0:
                                        ReverseArrive(cuda_in_order, 1) >> ring
                            with CudaWarps(name="consumer"):
                                for wg in cuda_threads(0, GROUPS, unit=cuda_warpgroup):
                                    Await(group[wg], cuda_in_order, 0)
                                ReverseArrive(cuda_in_order, 1) >> ring
                            for p in seq(0, PARTS):
                                with CudaWarps(name="consumer"):
                                    for wg in cuda_threads(0, GROUPS, unit=cuda_warpgroup):
                                        ReverseAwait(part[wg], cuda_in_order, ~BUFFERS)
                                        Sm90_mma_write_d_columns_bf16(
                                            C_smem[wg, p % BUFFERS, :, :],
                                            D[wg, :, :],
                                            first=PART * p,
                                            columns=PART,
                                            N=N1,
                                        )
                                        Arrive(cuda_in_order, 1) >> part[wg]
                                with CudaWarps(name="storer"):
                                    for wg in cuda_threads(0, GROUPS, unit=cuda_warp):
                                        for lane in cuda_threads(0, 1, unit=cuda_thread):
                                            c_part = C_map[
                                                M1 * (WM * m + wm) + 64 * wg : M1 * (WM * m + wm)
                                                + 64 * wg
                                                + 64,
                                                N1 * (WN * n + wn) + PART * p : N1 * (WN * n + wn)
                                                + PART * p
                                                + PART,
                                            ]
                                            Await(part[wg], cuda_generic_and_async_proxy, ~0)
                                            with CudaAsync(tma_to_gmem_async):
                                                Sm90_copy_tensor_to_gmem_2d_bf16(
                                                    c_part, C_smem[wg, p % BUFFERS, :, :], n0=64, n1=PART
                                                )
                                                Arrive(tma_to_gmem_async, 1) >> stored[wg]
                                            Await(stored[wg], cuda_in_order, 1)
                                            if m + n + p > 0:
                                                ReverseArrive(cuda_in_order, 1) >> part[wg]
                    with CudaWarps(name="storer"):
                        for wg in cuda_threads(0, GROUPS, unit=cuda_warp):
                            for lane in cuda_threads(0, 1, unit=cuda_thread):
                                Await(stored[wg], cuda_in_order, 0)
                                ReverseArrive(cuda_in_order, 1) >> part[wg]
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
