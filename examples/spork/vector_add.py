"""Vector addition: ``python examples/spork/vector_add.py``.

A device function is a nest of *tasks*, and each task is executed by the threads of a CTA of its own: here every task
adds CHUNK elements, one in each thread. Tasks are not ordered among themselves, so no two of them may touch the same
element unless both only read it.
"""

from __future__ import annotations

import numpy as np

import soundline as sl

CHUNK = 64
SIZES = {"n": 160}  # two and a half chunks


@sl.spork.proc
def vector_add(n: size, x: f32[n] @ CudaGmemLinear, y: f32[n] @ CudaGmemLinear):
    """x += y."""
    with CudaDeviceFunction(blockDim=CHUNK):
        for task in cuda_tasks(0, (n + CHUNK - 1) // CHUNK):
            for tid in cuda_threads(0, CHUNK, unit=cuda_thread):
                if CHUNK * task + tid < n:
                    x[CHUNK * task + tid] += y[CHUNK * task + tid]


def arguments() -> dict[str, np.ndarray]:
    """Small integers, whose sums are exact in every order."""
    random = np.random.default_rng(0)
    return {
        "x": random.integers(-9, 10, SIZES["n"]).astype(np.float32),
        "y": random.integers(-9, 10, SIZES["n"]).astype(np.float32),
    }


def expected(x: np.ndarray, y: np.ndarray) -> dict[str, np.ndarray]:
    """What the arrays that the program writes hold after it."""
    return {"x": x + y}


def main() -> None:
    """Run the program sequentially, and check that its threads compute the same."""
    arrays = arguments()
    wanted = expected(**arrays)
    vector_add.run(**arrays)
    print("x is x + y:", np.array_equal(arrays["x"], wanted["x"]))
    print(vector_add.check(**SIZES).text())


if __name__ == "__main__":
    main()
