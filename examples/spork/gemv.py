"""A matrix times a vector, with reductions by warps: ``python examples/spork/gemv.py``.

Every warp has a row of the matrix; its lanes multiply every 32nd element each, and then what they have is added up, in
two ways.

*Through shared memory*: in five rounds half of the lanes add what the other half left there. A round reads what other
lanes wrote in the round before, so between two rounds lies a fence; and as the lanes are of one warp, it is a fence of
the warp, which costs next to nothing.

*By shuffles*: the sums are registers, of which every lane owns one. An instruction of the whole warp takes the
registers of all of its lanes, and gives the sum to each.
"""

from __future__ import annotations

import numpy as np

import soundline as sl

WARPS = 2
SIZES = {"M": 2 * WARPS, "K": 64}


@sl.spork.proc
def through_shared_memory(
    M: size,
    K: size,
    A: f32[M, K] @ CudaGmemLinear,
    x: f32[K] @ CudaGmemLinear,
    y: f32[M] @ CudaGmemLinear,
):
    """y = A @ x."""
    assert M % WARPS == 0
    assert K % 32 == 0
    with CudaDeviceFunction(blockDim=32 * WARPS):
        for m in cuda_tasks(0, M // WARPS):
            sums: f32[WARPS, 32] @ CudaSmemLinear
            for w in cuda_threads(0, WARPS, unit=cuda_warp):
                for lane in cuda_threads(0, 32, unit=cuda_thread):
                    sums[w, lane] = 0.0
                    for k in seq(0, K // 32):
                        sums[w, lane] += A[WARPS * m + w, 32 * k + lane] * x[32 * k + lane]
                Fence(cuda_in_order, cuda_in_order)
                for lane in cuda_threads(0, 16, unit=cuda_thread):
                    sums[w, lane] += sums[w, lane + 16]
                Fence(cuda_in_order, cuda_in_order)
                for lane in cuda_threads(0, 8, unit=cuda_thread):
                    sums[w, lane] += sums[w, lane + 8]
                Fence(cuda_in_order, cuda_in_order)
                for lane in cuda_threads(0, 4, unit=cuda_thread):
                    sums[w, lane] += sums[w, lane + 4]
                Fence(cuda_in_order, cuda_in_order)
                for lane in cuda_threads(0, 2, unit=cuda_thread):
                    sums[w, lane] += sums[w, lane + 2]
                Fence(cuda_in_order, cuda_in_order)
                for lane in cuda_threads(0, 1, unit=cuda_thread):
                    y[WARPS * m + w] = sums[w, 0] + sums[w, 1]
            Fence(cuda_in_order, cuda_in_order)


@sl.spork.proc
def by_shuffles(
    M: size,
    K: size,
    A: f32[M, K] @ CudaGmemLinear,
    x: f32[K] @ CudaGmemLinear,
    y: f32[M] @ CudaGmemLinear,
):
    """y = A @ x."""
    assert M % WARPS == 0
    assert K % 32 == 0
    with CudaDeviceFunction(blockDim=32 * WARPS):
        for m in cuda_tasks(0, M // WARPS):
            sums: f32[WARPS, 32] @ CudaRmem
            total: f32[WARPS, 32] @ CudaRmem
            for w in cuda_threads(0, WARPS, unit=cuda_warp):
                for lane in cuda_threads(0, 32, unit=cuda_thread):
                    sums[w, lane] = 0.0
                    for k in seq(0, K // 32):
                        sums[w, lane] += A[WARPS * m + w, 32 * k + lane] * x[32 * k + lane]
                cuda_warp_sum_f32(total[w, :], sums[w, :])
                for lane in cuda_threads(0, 32, unit=cuda_thread):
                    if lane == 0:
                        y[WARPS * m + w] = total[w, lane]


def arguments() -> dict[str, np.ndarray]:
    """Small integers, whose sums are exact in every order."""
    random = np.random.default_rng(0)
    return {
        "A": random.integers(-4, 5, (SIZES["M"], SIZES["K"])).astype(np.float32),
        "x": random.integers(-4, 5, SIZES["K"]).astype(np.float32),
        "y": np.full(SIZES["M"], np.nan, np.float32),
    }


def expected(A: np.ndarray, x: np.ndarray, y: np.ndarray) -> dict[str, np.ndarray]:
    """What the arrays that the program writes hold after it."""
    return {"y": A @ x}


def main() -> None:
    """Run the program sequentially, and check that its threads compute the same."""
    for program in (through_shared_memory, by_shuffles):
        arrays = arguments()
        program.run(**arrays)
        print(f"{program.name}: y is A @ x:", np.array_equal(arrays["y"], expected(**arrays)["y"]))
        print(program.check(**SIZES).text())


if __name__ == "__main__":
    main()
