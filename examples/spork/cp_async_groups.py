"""Copies ahead of their use, in groups: ``python examples/spork/cp_async_groups.py``.

Every thread copies the elements that it will use itself, two rows ahead, so that no thread waits for another one. It
commits its copies to groups, one for each row, and waits until all but the last AHEAD groups are done: that is
``cp.async.wait_group``. A group is committed in every iteration, though at the end there is nothing left to copy, so
that the count is the same throughout.

The fence costs nothing, for it is one of a single thread. It says that a copy, which is asynchronous, comes after the
reads of the same thread that stand before it.
"""

from __future__ import annotations

import numpy as np

import soundline as sl

THREADS, AHEAD = 32, 2
SIZES = {"n": 5}


@sl.spork.proc
def double(n: size, g: f32[n, 4 * THREADS] @ CudaGmemLinear, y: f32[n, 4 * THREADS] @ CudaGmemLinear):
    """y = 2 * g."""
    with CudaDeviceFunction(blockDim=THREADS):
        for task in cuda_tasks(0, 1):
            rows: f32[AHEAD + 1, 4 * THREADS] @ CudaSmemLinear
            groups: barrier[THREADS] @ CudaCommitGroup
            for tid in cuda_threads(0, THREADS, unit=cuda_thread):
                for i in seq(0, n + AHEAD):
                    if i < n:
                        row = rows[i % (AHEAD + 1), 4 * tid : 4 * tid + 4]
                        with CudaAsync(Sm80_cp_async):
                            Sm80_cp_async_f32(row, g[i, 4 * tid : 4 * tid + 4], size=4)
                    Arrive(Sm80_cp_async, 1) >> groups[tid]
                    if i >= AHEAD:
                        Await(groups[tid], cuda_in_order, AHEAD)
                        for j in seq(0, 4):
                            y[i - AHEAD, 4 * tid + j] = 2.0 * rows[(i - AHEAD) % (AHEAD + 1), 4 * tid + j]
                        Fence(cuda_in_order, Sm80_generic)
                Await(groups[tid], cuda_in_order, 0)
            Fence(cuda_in_order, cuda_in_order)


def arguments() -> dict[str, np.ndarray]:
    """Small integers, whose sums are exact in every order."""
    random = np.random.default_rng(0)
    return {
        "g": random.integers(-9, 10, (SIZES["n"], 4 * THREADS)).astype(np.float32),
        "y": np.full((SIZES["n"], 4 * THREADS), np.nan, np.float32),
    }


def expected(g: np.ndarray, y: np.ndarray) -> dict[str, np.ndarray]:
    """What the arrays that the program writes hold after it."""
    return {"y": 2 * g}


def main() -> None:
    """Run the program sequentially, and check that its threads compute the same."""
    arrays = arguments()
    wanted = expected(**arrays)
    double.run(**arrays)
    print("y is 2 * g:", np.array_equal(arrays["y"], wanted["y"]))
    print(double.check(**SIZES).text())


if __name__ == "__main__":
    main()
