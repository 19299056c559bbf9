"""The sums of all prefixes of an array: ``python examples/spork/flagships/prefix_sum.py``.

Three kernels. The first adds up each chunk. The second, one task, replaces the sums of chunks by the sums of those
before them. The third computes the prefixes inside of each chunk, and adds what was before it. So the array is read
twice and written once, and the order of all additions is fixed by the program.

In a chunk a thread has groups of four elements that follow each other, and the sums of threads are added up over a warp
in five rounds, for the divisors of 16: in that of `delta` each lane takes the sum of the lane `delta` below it by a
shuffle, and adds it where there is such a lane. What the warps before have is added from shared memory.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import soundline as sl


@dataclass(frozen=True)
class Tiles:
    """The sizes that are constants of the program; a chunk has 128 * WARPS * VECTORS elements."""

    WARPS: int
    VECTORS: int
    blocks_per_sm: int


REAL = Tiles(WARPS=8, VECTORS=4, blocks_per_sm=4)
SMALL = Tiles(WARPS=2, VECTORS=2, blocks_per_sm=1)
SIZES = {"n": 3 * 512}


def prefixes_of(tiles: Tiles) -> sl.spork.SporkProc:
    """The program for chunks of this size."""
    WARPS, VECTORS, BLOCKS = tiles.WARPS, tiles.VECTORS, tiles.blocks_per_sm
    OWN = 4 * VECTORS  # elements of a thread
    THREADS = 32 * WARPS
    CHUNK = OWN * THREADS

    @sl.spork.proc
    def prefixes(n: size, x: f32[n] @ CudaGmemLinear, y: f32[n] @ CudaGmemLinear):
        """y[i] = the sum of x[0] to x[i]."""
        assert n % CHUNK == 0
        before: f32[n // CHUNK] @ CudaGmemLinear
        with CudaDeviceFunction(blockDim=THREADS, blocks_per_sm=BLOCKS):
            for chunk in cuda_tasks(0, n // CHUNK):
                values: f32[WARPS, 32, OWN] @ CudaRmem
                own: f32[WARPS, 32] @ CudaRmem
                of_warp: f32[WARPS, 32] @ CudaRmem
                sums: f32[WARPS] @ CudaSmemLinear
                for w in cuda_threads(0, WARPS, unit=cuda_warp):
                    for lane in cuda_threads(0, 32, unit=cuda_thread):
                        own[w, lane] = 0.0
                        for v in seq(0, VECTORS):
                            cuda_copy_f32(
                                values[w, lane, 4 * v : 4 * v + 4],
                                x[
                                    CHUNK * chunk + 128 * (WARPS * v + w) + 4 * lane : CHUNK * chunk
                                    + 128 * (WARPS * v + w)
                                    + 4 * lane
                                    + 4
                                ],
                                size=4,
                            )
                        for i in seq(0, OWN):
                            own[w, lane] += values[w, lane, i]
                    cuda_warp_sum_f32(of_warp[w, :], own[w, :])
                    for lane in cuda_threads(0, 32, unit=cuda_thread):
                        if lane == 0:
                            sums[w] = of_warp[w, lane]
                Fence(cuda_in_order, cuda_in_order)
                for tid in cuda_threads(0, 1, unit=cuda_thread):
                    whole: f32 @ CudaRmem
                    whole = sums[0]
                    for w in seq(1, WARPS):
                        whole += sums[w]
                    before[chunk] = whole
                Fence(cuda_in_order, cuda_in_order)
        with CudaDeviceFunction(blockDim=32):
            for task in cuda_tasks(0, 1):
                carried: f32[32] @ CudaRmem
                prefix: f32[32] @ CudaRmem
                below: f32[32] @ CudaRmem
                for lane in cuda_threads(0, 32, unit=cuda_thread):
                    carried[lane] = 0.0
                for r in seq(0, (n // CHUNK + 31) // 32):
                    for lane in cuda_threads(0, 32, unit=cuda_thread):
                        prefix[lane] = 0.0
                        if 32 * r + lane < n // CHUNK:
                            prefix[lane] = before[32 * r + lane]
                    for delta in seq(1, 17):
                        if 16 % delta == 0:
                            cuda_shfl_up_f32(below[:], prefix[:], delta=delta)
                            for lane in cuda_threads(0, 32, unit=cuda_thread):
                                if lane >= delta:
                                    prefix[lane] += below[lane]
                    cuda_shfl_up_f32(below[:], prefix[:], delta=1)
                    for lane in cuda_threads(0, 32, unit=cuda_thread):
                        if 32 * r + lane < n // CHUNK:
                            before[32 * r + lane] = carried[lane]
                            if lane > 0:
                                before[32 * r + lane] = carried[lane] + below[lane]
                    cuda_shfl_broadcast_f32(below[:], prefix[:], source=31)
                    for lane in cuda_threads(0, 32, unit=cuda_thread):
                        carried[lane] += below[lane]
        with CudaDeviceFunction(blockDim=THREADS, blocks_per_sm=BLOCKS):
            for chunk in cuda_tasks(0, n // CHUNK):
                values: f32[WARPS, 32, VECTORS, 4] @ CudaRmem
                before_lane: f32[WARPS, 32, VECTORS] @ CudaRmem
                below: f32[WARPS, 32] @ CudaRmem
                step: f32[WARPS, 32] @ CudaRmem
                sums: f32[VECTORS, WARPS] @ CudaSmemLinear
                for w in cuda_threads(0, WARPS, unit=cuda_warp):
                    for lane in cuda_threads(0, 32, unit=cuda_thread):
                        for v in seq(0, VECTORS):
                            cuda_copy_f32(
                                values[w, lane, v, :],
                                x[
                                    CHUNK * chunk + 128 * (WARPS * v + w) + 4 * lane : CHUNK * chunk
                                    + 128 * (WARPS * v + w)
                                    + 4 * lane
                                    + 4
                                ],
                                size=4,
                            )
                        for v in seq(0, VECTORS):
                            for e in seq(1, 4):
                                values[w, lane, v, e] += values[w, lane, v, e - 1]
                    for v in seq(0, VECTORS):
                        for lane in cuda_threads(0, 32, unit=cuda_thread):
                            step[w, lane] = values[w, lane, v, 3]
                        for delta in seq(1, 17):
                            if 16 % delta == 0:
                                cuda_shfl_up_f32(below[w, :], step[w, :], delta=delta)
                                for lane in cuda_threads(0, 32, unit=cuda_thread):
                                    if lane >= delta:
                                        step[w, lane] += below[w, lane]
                        cuda_shfl_up_f32(below[w, :], step[w, :], delta=1)
                        for lane in cuda_threads(0, 32, unit=cuda_thread):
                            before_lane[w, lane, v] = 0.0
                            if lane > 0:
                                before_lane[w, lane, v] = below[w, lane]
                            if lane == 31:
                                sums[v, w] = step[w, lane]
                Fence(cuda_in_order, cuda_in_order)
                for w in cuda_threads(0, WARPS, unit=cuda_warp):
                    for lane in cuda_threads(0, 32, unit=cuda_thread):
                        step[w, lane] = before[chunk]
                        for v in seq(0, VECTORS):
                            for other in seq(0, WARPS):
                                if other == w:
                                    for e in seq(0, 4):
                                        values[w, lane, v, e] += before_lane[w, lane, v] + step[w, lane]
                                step[w, lane] += sums[v, other]
                            cuda_copy_f32(
                                y[
                                    CHUNK * chunk + 128 * (WARPS * v + w) + 4 * lane : CHUNK * chunk
                                    + 128 * (WARPS * v + w)
                                    + 4 * lane
                                    + 4
                                ],
                                values[w, lane, v, :],
                                size=4,
                            )
                Fence(cuda_in_order, cuda_in_order)

    return prefixes


prefixes = prefixes_of(REAL)
small = prefixes_of(SMALL)


def arguments() -> dict[str, np.ndarray]:
    """Small integers, whose sums are exact in every order."""
    random = np.random.default_rng(0)
    return {
        "x": random.integers(-9, 10, SIZES["n"]).astype(np.float32),
        "y": np.full(SIZES["n"], np.nan, np.float32),
    }


def expected(x: np.ndarray, y: np.ndarray) -> dict[str, np.ndarray]:
    """What the arrays that the program writes hold after it."""
    return {"y": np.cumsum(x, dtype=np.float32)}


def main() -> None:
    """Run the program sequentially at small sizes, and check that its threads compute the same."""
    arrays = arguments()
    small.run(**SIZES, **arrays)
    print("y has the sums of the prefixes of x:", np.array_equal(arrays["y"], expected(**arrays)["y"]))
    print(small.check(**SIZES).text())


if __name__ == "__main__":
    main()
