"""Two kinds of fences: ``python examples/spork/fences.py``.

What a Fence is depends on who executes it. Here every warp adds up a row of its own, which one of its lanes does for
all: between that lane and the others lies a fence of the warp, which is no more than ``__syncwarp()``. Then all threads
read the sums of all rows: between the warps lies a fence of the CTA, which is ``__syncthreads()``. After the last fence
the shared memory ends: by then nobody may be reading it any more.
"""

from __future__ import annotations

import numpy as np

import soundline as sl

WARPS = 2
SIZES: dict[str, int] = {}


@sl.spork.proc
def add_sums(x: f32[WARPS, 32] @ CudaGmemLinear, y: f32[WARPS, 32] @ CudaGmemLinear):
    """y[w, :] = x[w, :] + (the sum of x[w, :]) + (the sum of x)."""
    with CudaDeviceFunction(blockDim=32 * WARPS):
        for task in cuda_tasks(0, 1):
            sums: f32[WARPS] @ CudaSmemLinear
            for w in cuda_threads(0, WARPS, unit=cuda_warp):
                for lane in cuda_threads(0, 1, unit=cuda_thread):
                    sums[w] = 0.0
                    for i in seq(0, 32):
                        sums[w] += x[w, i]
                Fence(cuda_in_order, cuda_in_order)
                for lane in cuda_threads(0, 32, unit=cuda_thread):
                    y[w, lane] = x[w, lane] + sums[w]
            Fence(cuda_in_order, cuda_in_order)
            for w in cuda_threads(0, WARPS, unit=cuda_warp):
                for lane in cuda_threads(0, 32, unit=cuda_thread):
                    for other in seq(0, WARPS):
                        y[w, lane] += sums[other]
            Fence(cuda_in_order, cuda_in_order)


def arguments() -> dict[str, np.ndarray]:
    """Small integers, whose sums are exact in every order."""
    random = np.random.default_rng(0)
    return {
        "x": random.integers(-4, 5, (WARPS, 32)).astype(np.float32),
        "y": np.full((WARPS, 32), np.nan, np.float32),
    }


def expected(x: np.ndarray, y: np.ndarray) -> dict[str, np.ndarray]:
    """What the arrays that the program writes hold after it."""
    return {"y": x + x.sum(1, keepdims=True) + x.sum()}


def main() -> None:
    """Run the program sequentially, and check that its threads compute the same."""
    arrays = arguments()
    wanted = expected(**arrays)
    add_sums.run(**arrays)
    print("y is x with its sums:", np.array_equal(arrays["y"], wanted["y"]))
    print(add_sums.check(**SIZES).text())


if __name__ == "__main__":
    main()
