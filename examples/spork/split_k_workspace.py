"""A matrix product split along K, with a workspace: ``python examples/spork/split_k_workspace.py``.

Where M and N are small and K is large, there are too few tiles of C to fill a GPU. So each tile is computed by SPLITS
tasks, each of which multiplies a slice of K. Tasks of one kernel know nothing of each other: each writes its partial
sums to a plane of its own in a workspace, and a second kernel adds the planes up. The end of the first kernel is what
orders the two.
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
    partial: f32[SPLITS, M, N] @ CudaGmemLinear
    with CudaDeviceFunction(blockDim=TM * TN):
        for s in cuda_tasks(0, SPLITS):
            for m in cuda_tasks(0, M // TM):
                for n in cuda_tasks(0, N // TN):
                    acc: f32[TM, TN] @ CudaRmem
                    for i in cuda_threads(0, TM, unit=TN * cuda_thread):
                        for j in cuda_threads(0, TN, unit=cuda_thread):
                            acc[i, j] = 0.0
                            for k in seq(s * (K // SPLITS), (s + 1) * (K // SPLITS)):
                                acc[i, j] += A[TM * m + i, k] * B[k, TN * n + j]
                            partial[s, TM * m + i, TN * n + j] = acc[i, j]
    with CudaDeviceFunction(blockDim=TM * TN):
        for m in cuda_tasks(0, M // TM):
            for n in cuda_tasks(0, N // TN):
                acc: f32[TM, TN] @ CudaRmem
                for i in cuda_threads(0, TM, unit=TN * cuda_thread):
                    for j in cuda_threads(0, TN, unit=cuda_thread):
                        acc[i, j] = 0.0
                        for s in seq(0, SPLITS):
                            acc[i, j] += partial[s, TM * m + i, TN * n + j]
                        C[TM * m + i, TN * n + j] = acc[i, j]


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
