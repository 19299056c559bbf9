"""The sum of an array: ``python examples/spork/flagships/reduction.py``.

The first kernel adds up a chunk in each task: every thread adds groups of four elements, 16 bytes apart from those of
its neighbours, to four sums of its own, so that loads are wide and additions do not wait for each other; then these
four are added, the sums of a warp by shuffles, and the sums of the warps by one thread. A task leaves its sum in a
workspace.

The second kernel is one task that adds up the workspace in the same way. The order of all additions is fixed by the
program, so that the sum has the same bits in every run, which it would not have if tasks added to one element
atomically.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import soundline as sl


@dataclass(frozen=True)
class Tiles:
    """The sizes that are constants of the program; a chunk has 128 * WARPS * ROUNDS elements."""

    WARPS: int
    ROUNDS: int
    blocks_per_sm: int


REAL = Tiles(WARPS=8, ROUNDS=16, blocks_per_sm=4)
SMALL = Tiles(WARPS=2, ROUNDS=2, blocks_per_sm=1)
SIZES = {"n": 3 * 512}


def total_of(tiles: Tiles) -> sl.spork.SporkProc:
    """The program for chunks of this size."""
    WARPS, ROUNDS, BLOCKS = tiles.WARPS, tiles.ROUNDS, tiles.blocks_per_sm
    CHUNK, THREADS = 128 * tiles.WARPS * tiles.ROUNDS, 32 * tiles.WARPS

    @sl.spork.proc
    def total(n: size, x: f32[n] @ CudaGmemLinear, y: f32[1] @ CudaGmemLinear):
        """y = the sum of x."""
        assert n % CHUNK == 0
        partial: f32[n // CHUNK] @ CudaGmemLinear
        with CudaDeviceFunction(blockDim=THREADS, blocks_per_sm=BLOCKS):
            for chunk in cuda_tasks(0, n // CHUNK):
                values: f32[WARPS, 32, ROUNDS, 4] @ CudaRmem
                own: f32[WARPS, 32, 4] @ CudaRmem
                of_lane: f32[WARPS, 32] @ CudaRmem
                of_warp: f32[WARPS, 32] @ CudaRmem
                sums: f32[WARPS] @ CudaSmemLinear
                for w in cuda_threads(0, WARPS, unit=cuda_warp):
                    for lane in cuda_threads(0, 32, unit=cuda_thread):
                        for r in seq(0, ROUNDS):
                            cuda_copy_f32(
                                values[w, lane, r, :],
                                x[
                                    CHUNK * chunk + 128 * (WARPS * r + w) + 4 * lane : CHUNK * chunk
                                    + 128 * (WARPS * r + w)
                                    + 4 * lane
                                    + 4
                                ],
                                size=4,
                            )
                        for e in seq(0, 4):
                            own[w, lane, e] = 0.0
                        for r in seq(0, ROUNDS):
                            for e in seq(0, 4):
                                own[w, lane, e] += values[w, lane, r, e]
                        of_lane[w, lane] = (own[w, lane, 0] + own[w, lane, 1]) + (
                            own[w, lane, 2] + own[w, lane, 3]
                        )
                    cuda_warp_sum_f32(of_warp[w, :], of_lane[w, :])
                    for lane in cuda_threads(0, 32, unit=cuda_thread):
                        if lane == 0:
                            sums[w] = of_warp[w, lane]
                Fence(cuda_in_order, cuda_in_order)
                for tid in cuda_threads(0, 1, unit=cuda_thread):
                    whole: f32 @ CudaRmem
                    whole = sums[0]
                    for w in seq(1, WARPS):
                        whole += sums[w]
                    partial[chunk] = whole
                Fence(cuda_in_order, cuda_in_order)
        with CudaDeviceFunction(blockDim=THREADS):
            for task in cuda_tasks(0, 1):
                of_lane: f32[WARPS, 32] @ CudaRmem
                of_warp: f32[WARPS, 32] @ CudaRmem
                sums: f32[WARPS] @ CudaSmemLinear
                for w in cuda_threads(0, WARPS, unit=cuda_warp):
                    for lane in cuda_threads(0, 32, unit=cuda_thread):
                        of_lane[w, lane] = 0.0
                        for r in seq(0, (n // CHUNK + THREADS - 1) // THREADS):
                            if THREADS * r + 32 * w + lane < n // CHUNK:
                                of_lane[w, lane] += partial[THREADS * r + 32 * w + lane]
                    cuda_warp_sum_f32(of_warp[w, :], of_lane[w, :])
                    for lane in cuda_threads(0, 32, unit=cuda_thread):
                        if lane == 0:
                            sums[w] = of_warp[w, lane]
                Fence(cuda_in_order, cuda_in_order)
                for tid in cuda_threads(0, 1, unit=cuda_thread):
                    whole: f32 @ CudaRmem
                    whole = sums[0]
                    for w in seq(1, WARPS):
                        whole += sums[w]
                    y[0] = whole
                Fence(cuda_in_order, cuda_in_order)

    return total


total = total_of(REAL)
small = total_of(SMALL)


def arguments() -> dict[str, np.ndarray]:
    """Small integers, whose sums are exact in every order."""
    random = np.random.default_rng(0)
    return {
        "x": random.integers(-9, 10, SIZES["n"]).astype(np.float32),
        "y": np.full(1, np.nan, np.float32),
    }


def expected(x: np.ndarray, y: np.ndarray) -> dict[str, np.ndarray]:
    """What the arrays that the program writes hold after it."""
    return {"y": x.sum(keepdims=True)}


def main() -> None:
    """Run the program sequentially at small sizes, and check that its threads compute the same."""
    arrays = arguments()
    small.run(**SIZES, **arrays)
    print("y is the sum of x:", np.array_equal(arrays["y"], expected(**arrays)["y"]))
    print(small.check(**SIZES).text())


if __name__ == "__main__":
    main()
