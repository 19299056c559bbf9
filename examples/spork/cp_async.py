"""Staging through shared memory: ``python examples/spork/cp_async.py``.

Two rows go to shared memory, one by ordinary stores and one by ``cp.async``. A fence names the timelines that it
orders: the first one publishes the ordinary stores and knows nothing of copies in flight, the second one waits for the
copies. Between the two, the copies go on while the stored row is in use.
"""

from __future__ import annotations

import numpy as np

import soundline as sl

THREADS = 64
SIZES: dict[str, int] = {}


@sl.spork.proc
def stage(g: f32[2, 4 * THREADS] @ CudaGmemLinear, y: f32[2, 4 * THREADS] @ CudaGmemLinear):
    """y = g with both rows reversed."""
    with CudaDeviceFunction(blockDim=THREADS):
        for task in cuda_tasks(0, 1):
            stored: f32[4 * THREADS] @ CudaSmemLinear
            copied: f32[4 * THREADS] @ CudaSmemLinear
            for tid in cuda_threads(0, THREADS, unit=cuda_thread):
                for i in seq(0, 4):
                    stored[4 * tid + i] = g[0, 4 * tid + i]
                with CudaAsync(Sm80_cp_async):
                    Sm80_cp_async_f32(copied[4 * tid : 4 * tid + 4], g[1, 4 * tid : 4 * tid + 4], size=4)
            Fence(cuda_in_order, cuda_in_order)
            for tid in cuda_threads(0, THREADS, unit=cuda_thread):
                for i in seq(0, 4):
                    y[0, 4 * tid + i] = stored[4 * THREADS - 1 - (4 * tid + i)]
            Fence(Sm80_cp_async, cuda_in_order)
            for tid in cuda_threads(0, THREADS, unit=cuda_thread):
                for i in seq(0, 4):
                    y[1, 4 * tid + i] = copied[4 * THREADS - 1 - (4 * tid + i)]
            Fence(cuda_in_order, cuda_in_order)


def arguments() -> dict[str, np.ndarray]:
    """Small integers, whose sums are exact in every order."""
    random = np.random.default_rng(0)
    return {
        "g": random.integers(-9, 10, (2, 4 * THREADS)).astype(np.float32),
        "y": np.full((2, 4 * THREADS), np.nan, np.float32),
    }


def expected(g: np.ndarray, y: np.ndarray) -> dict[str, np.ndarray]:
    """What the arrays that the program writes hold after it."""
    return {"y": g[:, ::-1]}


def main() -> None:
    """Run the program sequentially, and check that its threads compute the same."""
    arrays = arguments()
    wanted = expected(**arrays)
    stage.run(**arrays)
    print("y is g reversed:", np.array_equal(arrays["y"], wanted["y"]))
    print(stage.check(**SIZES).text())


if __name__ == "__main__":
    main()
