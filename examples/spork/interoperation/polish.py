"""Spork beside handwritten CUDA: ``python examples/spork/interoperation/polish.py FOLDER``.

Both directions of a call. *Spork calls CUDA*: the instruction `softsign` has a text of its own, a call of the function
of that name in ``handwritten.cuh``. Its body is what it means, so that the program still runs sequentially and is
checked. *CUDA calls Spork*: ``main.cu`` has a kernel of its own, and launches the generated one by the function
``polish_device0_launch`` of the generated ``polish.cuh``.

The script writes the generated files and the handwritten ones to a folder. There, with CUDA's compiler,
``nvcc -std=c++17 --fmad=false -arch=sm_80 main.cu polish.cu -o main`` makes a program that runs both kernels and checks
what they leave.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import numpy as np

import soundline as sl
from soundline.spec.spork.library.memories import CudaGmemLinear, CudaRmem
from soundline.spec.spork.synchronization.timelines import InstrTl
from soundline.spec.spork.threads.units import cuda_thread

HERE = Path(__file__).parent
THREADS = 64
SIZES = {"n": 150}


@sl.spork.instr(
    unit=cuda_thread,
    instr_tl=InstrTl.cuda_in_order,
    operands={
        "dst": sl.spork.Operand(memories=[CudaGmemLinear, CudaRmem]),
        "src": sl.spork.Operand(memories=[CudaGmemLinear, CudaRmem]),
    },
    cuda="{dst} = handwritten::softsign({src});",
    includes=["handwritten.cuh"],
)
def softsign(dst: f32, src: f32):
    """x / (1 + |x|)."""
    dst = src / (1.0 + max(src, -src))  # noqa: F841  # an argument of Spork is written


@sl.spork.proc
def polish(n: size, x: f32[n] @ CudaGmemLinear, y: f32[n] @ CudaGmemLinear):
    """y = softsign(2 * x)."""
    with CudaDeviceFunction(blockDim=THREADS):
        for task in cuda_tasks(0, (n + THREADS - 1) // THREADS):
            for tid in cuda_threads(0, THREADS, unit=cuda_thread):
                if THREADS * task + tid < n:
                    twice: f32 @ CudaRmem
                    twice = 2.0 * x[THREADS * task + tid]
                    softsign(y[THREADS * task + tid], twice)


def arguments() -> dict[str, np.ndarray]:
    """Some numbers of both signs."""
    return {
        "x": np.linspace(-3, 3, SIZES["n"], dtype=np.float32),
        "y": np.full(SIZES["n"], np.nan, np.float32),
    }


def expected(x: np.ndarray, y: np.ndarray) -> dict[str, np.ndarray]:
    """What the arrays that the program writes hold after it."""
    twice = np.float32(2) * x
    return {"y": twice / (np.float32(1) + np.abs(twice))}


def write(folder: Path) -> list[Path]:
    """Write the generated files, and the handwritten ones beside them."""
    written = polish.cuda(sizes=SIZES).write(folder)
    for name in ("handwritten.cuh", "main.cu"):
        written.append(Path(shutil.copy(HERE / name, folder)))
    return written


def main() -> None:
    """Run the program sequentially, check it, and write the files where a folder is named."""
    arrays = arguments()
    wanted = expected(**arrays)
    polish.run(**arrays)
    print("y is softsign(2 * x):", np.array_equal(arrays["y"], wanted["y"]))
    print(polish.check(**SIZES).text())
    for folder in sys.argv[1:2]:
        print("written:", *(path.name for path in write(Path(folder))))


if __name__ == "__main__":
    main()
