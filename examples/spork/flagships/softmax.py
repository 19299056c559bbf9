"""The softmax of every row of a matrix: ``python examples/spork/flagships/softmax.py``.

A task is a row. Its elements are loaded once, 16 bytes at a time, and stay in registers: a thread has VECTORS groups of
four. The maximum is found by each thread over its own elements, then by each warp with shuffles, then by all warps with
one element each in shared memory, and so is the sum of the exponentials after that. Every thread adds up the sums of
the warps by itself, in their order, so that no second round of shuffles is needed and the order is the same everywhere.

The powers are of two, exp(x) = exp2(x * log2(e)), by the instruction that GPUs have for them: the function of the law,
whose bits are the same everywhere, takes some forty operations, for which there is no time beside the memory.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import soundline as sl

LOG2E = 1.4426950408889634
LOWEST = -3.4028234663852886e38  # of f32


@dataclass(frozen=True)
class Tiles:
    """The sizes that are constants of the program; a row has 128 * WARPS * VECTORS elements."""

    WARPS: int
    VECTORS: int
    blocks_per_sm: int


REAL = Tiles(WARPS=8, VECTORS=8, blocks_per_sm=4)
SMALL = Tiles(WARPS=2, VECTORS=2, blocks_per_sm=1)
SIZES = {"ROWS": 2}


def softmax_of(tiles: Tiles) -> sl.spork.SporkProc:
    """The program for rows of this size."""
    WARPS, VECTORS, BLOCKS = tiles.WARPS, tiles.VECTORS, tiles.blocks_per_sm
    COLUMNS = 128 * WARPS * VECTORS

    @sl.spork.proc
    def softmax(ROWS: size, x: f32[ROWS, COLUMNS] @ CudaGmemLinear, y: f32[ROWS, COLUMNS] @ CudaGmemLinear):
        """y = exp(x) / the sum of exp(x) over each row."""
        with CudaDeviceFunction(blockDim=32 * WARPS, blocks_per_sm=BLOCKS):
            for row in cuda_tasks(0, ROWS):
                values: f32[WARPS, 32, VECTORS, 4] @ CudaRmem
                own: f32[WARPS, 32] @ CudaRmem
                of_warp: f32[WARPS, 32] @ CudaRmem
                of_row: f32[WARPS, 32] @ CudaRmem
                maxima: f32[WARPS] @ CudaSmemLinear
                sums: f32[WARPS] @ CudaSmemLinear
                for w in cuda_threads(0, WARPS, unit=cuda_warp):
                    for lane in cuda_threads(0, 32, unit=cuda_thread):
                        for v in seq(0, VECTORS):
                            cuda_copy_f32(
                                values[w, lane, v, :],
                                x[
                                    row,
                                    128 * (WARPS * v + w) + 4 * lane : 128 * (WARPS * v + w) + 4 * lane + 4,
                                ],
                                size=4,
                            )
                        own[w, lane] = LOWEST
                        for v in seq(0, VECTORS):
                            for e in seq(0, 4):
                                own[w, lane] = max(own[w, lane], values[w, lane, v, e])
                    cuda_warp_max_f32(of_warp[w, :], own[w, :])
                    for lane in cuda_threads(0, 32, unit=cuda_thread):
                        if lane == 0:
                            maxima[w] = of_warp[w, lane]
                Fence(cuda_in_order, cuda_in_order)
                for w in cuda_threads(0, WARPS, unit=cuda_warp):
                    for lane in cuda_threads(0, 32, unit=cuda_thread):
                        of_row[w, lane] = maxima[0]
                        for other in seq(1, WARPS):
                            of_row[w, lane] = max(of_row[w, lane], maxima[other])
                        own[w, lane] = 0.0
                        for v in seq(0, VECTORS):
                            for e in seq(0, 4):
                                power: f32 @ CudaRmem
                                cuda_ex2_approx_f32(power, (values[w, lane, v, e] - of_row[w, lane]) * LOG2E)
                                values[w, lane, v, e] = power
                                own[w, lane] += values[w, lane, v, e]
                    cuda_warp_sum_f32(of_warp[w, :], own[w, :])
                    for lane in cuda_threads(0, 32, unit=cuda_thread):
                        if lane == 0:
                            sums[w] = of_warp[w, lane]
                Fence(cuda_in_order, cuda_in_order)
                for w in cuda_threads(0, WARPS, unit=cuda_warp):
                    for lane in cuda_threads(0, 32, unit=cuda_thread):
                        of_row[w, lane] = sums[0]
                        for other in seq(1, WARPS):
                            of_row[w, lane] += sums[other]
                        of_row[w, lane] = recip(of_row[w, lane])
                        for v in seq(0, VECTORS):
                            for e in seq(0, 4):
                                values[w, lane, v, e] = values[w, lane, v, e] * of_row[w, lane]
                            cuda_copy_f32(
                                y[
                                    row,
                                    128 * (WARPS * v + w) + 4 * lane : 128 * (WARPS * v + w) + 4 * lane + 4,
                                ],
                                values[w, lane, v, :],
                                size=4,
                            )
                Fence(cuda_in_order, cuda_in_order)

    return softmax


softmax = softmax_of(REAL)
small = softmax_of(SMALL)


def arguments() -> dict[str, np.ndarray]:
    """Random numbers."""
    random = np.random.default_rng(0)
    shape = SIZES["ROWS"], 128 * SMALL.WARPS * SMALL.VECTORS
    return {"x": random.standard_normal(shape).astype(np.float32), "y": np.full(shape, np.nan, np.float32)}


def expected(x: np.ndarray, y: np.ndarray) -> dict[str, np.ndarray]:
    """What the arrays that the program writes hold after it, but for rounding."""
    powers = np.exp(x.astype(np.float64) - x.max(axis=1, keepdims=True))
    return {"y": powers / powers.sum(axis=1, keepdims=True)}


def main() -> None:
    """Run the program sequentially at small sizes, and check that its threads compute the same."""
    arrays = arguments()
    small.run(**SIZES, **arrays)
    print("y is the softmax of x:", np.allclose(arrays["y"], expected(**arrays)["y"], rtol=1e-5, atol=0))
    print(small.check(**SIZES).text())


if __name__ == "__main__":
    main()
