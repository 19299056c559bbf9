"""A matrix product split along K, with atomics: ``python examples/spork/split_k_atomics.py``.

Every tile of C is computed by SPLITS tasks, each of which multiplies a slice of K and adds what it has to C. Tasks are
not ordered, yet atomic additions to one element never race with each other; they would race with ordinary stores. So
C is set to zero by a kernel before.
"""

from __future__ import annotations

import numpy as np

import soundline as sl

TM, TN, SPLITS = 4, 8, 3
SIZES = {"M": 8, "N": 8, "K": 12}


@sl.spork.proc
def split_k(
    M: size,
    N: size,
    K: size,
    A: f32[M, K] @ CudaGmemLinear,
    B: f32[K, N] @ CudaGmemLinear,
    C: f32[M, N] @ CudaGmemLinear,
):
    """C = A @ B."""
    assert M % TM == 0
    assert N % TN == 0
    assert K % SPLITS == 0
    with CudaDeviceFunction(blockDim=TM * TN):
        for m in cuda_tasks(0, M // TM):
            for n in cuda_tasks(0, N // TN):
                for i in cuda_threads(0, TM, unit=TN * cuda_thread):
                    for j in cuda_threads(0, TN, unit=cuda_thread):
                        C[TM * m + i, TN * n + j] = 0.0
    with CudaDeviceFunction(blockDim=TM * TN):
        for s in cuda_tasks(0, SPLITS):
            for m in cuda_tasks(0, M // TM):
                for n in cuda_tasks(0, N // TN):
                    for i in cuda_threads(0, TM, unit=TN * cuda_thread):
                        for j in cuda_threads(0, TN, unit=cuda_thread):
                            acc: f32 @ CudaRmem
                            acc = 0.0
                            for k in seq(s * (K // SPLITS), (s + 1) * (K // SPLITS)):
                                acc += A[TM * m + i, k] * B[k, TN * n + j]
                            cuda_atomic_add_f32(C[TM * m + i, TN * n + j], acc)


def arguments() -> dict[str, np.ndarray]:
    """Small integers, whose sums are exact in every order."""
    random = np.random.default_rng(0)
    M, N, K = SIZES["M"], SIZES["N"], SIZES["K"]
    return {
        "A": random.integers(-4, 5, (M, K)).astype(np.float32),
        "B": random.integers(-4, 5, (K, N)).astype(np.float32),
        "C": np.full((M, N), np.nan, np.float32),
    }


def expected(A: np.ndarray, B: np.ndarray, C: np.ndarray) -> dict[str, np.ndarray]:
    """What the arrays that the program writes hold after it."""
    return {"C": A @ B}


def main() -> None:
    """Run the program sequentially, and check that its threads compute the same."""
    arrays = arguments()
    split_k.run(**arrays)
    print("C is A @ B:", np.array_equal(arrays["C"], expected(**arrays)["C"]))
    print(split_k.check(**SIZES).text())


if __name__ == "__main__":
    main()
