"""Through shared memory and back with TMA: ``python examples/spork/tma_round_trip.py``.

TMA reaches memory through a proxy of its own, so that it needs more than a barrier to see what threads have stored.

- A load tells of its completion by the barrier that follows it, ``>> loaded``; who awaits that may read the bytes.
- The threads then change the tile in order. The second side of the fence after that holds the asynchronous proxy: a
  ``fence.proxy.async``, without which TMA might store what was there before.
- A store is committed to a group by the thread that issued it, and awaited by that thread. The last fence says to all
  that the store has read the tile, and to the proxy that the next load may overwrite it.
"""

from __future__ import annotations

import numpy as np

import soundline as sl

ROWS, COLUMNS, THREADS = 8, 8, 64
SIZES = {"n": 2 * ROWS}


@sl.spork.proc
def double(n: size, x: f32[n, COLUMNS] @ CudaGmemLinear, y: f32[n, COLUMNS] @ CudaGmemLinear):
    """y = 2 * x."""
    assert n % ROWS == 0
    x_map = x[:, :] @ Sm90_tensorMap(0, ROWS, COLUMNS)
    y_map = y[:, :] @ Sm90_tensorMap(0, ROWS, COLUMNS)
    with CudaDeviceFunction(blockDim=THREADS):
        for task in cuda_tasks(0, 1):
            tile: f32[ROWS, COLUMNS] @ CudaSmemLinear
            loaded: barrier @ CudaMbarrier
            stored: barrier @ CudaCommitGroup
            for i in seq(0, n // ROWS):
                x_tile = x_map[ROWS * i : ROWS * i + ROWS, :]
                y_tile = y_map[ROWS * i : ROWS * i + ROWS, :]
                with CudaWarps(0, 1):
                    with CudaAsync(tma_to_smem_async):
                        Sm90_copy_tensor_to_smem_2d_f32(tile, x_tile, n0=ROWS, n1=COLUMNS) >> loaded
                        Arrive(tma_to_smem_async, 1) >> loaded
                Await(loaded, cuda_in_order, ~0)
                for tid in cuda_threads(0, THREADS, unit=cuda_thread):
                    tile[tid // COLUMNS, tid % COLUMNS] += tile[tid // COLUMNS, tid % COLUMNS]
                Fence(cuda_in_order, cuda_generic_and_async_proxy)
                for tid in cuda_threads(0, 1, unit=cuda_thread):
                    with CudaAsync(tma_to_gmem_async):
                        Sm90_copy_tensor_to_gmem_2d_f32(y_tile, tile, n0=ROWS, n1=COLUMNS)
                        Arrive(tma_to_gmem_async, 1) >> stored
                    Await(stored, cuda_in_order, 0)
                Fence(cuda_in_order, cuda_generic_and_async_proxy)


def arguments() -> dict[str, np.ndarray]:
    """Small integers, whose sums are exact in every order."""
    random = np.random.default_rng(0)
    return {
        "x": random.integers(-9, 10, (SIZES["n"], COLUMNS)).astype(np.float32),
        "y": np.full((SIZES["n"], COLUMNS), np.nan, np.float32),
    }


def expected(x: np.ndarray, y: np.ndarray) -> dict[str, np.ndarray]:
    """What the arrays that the program writes hold after it."""
    return {"y": 2 * x}


def main() -> None:
    """Run the program sequentially, and check that its threads compute the same."""
    arrays = arguments()
    wanted = expected(**arrays)
    double.run(**arrays)
    print("y is 2 * x:", np.array_equal(arrays["y"], wanted["y"]))
    print(double.check(**SIZES).text())


if __name__ == "__main__":
    main()
