"""Programs after the figures of the guide, and where their golden CUDA lies.

``python tests/unit/cuda_figures.py`` writes the golden files anew: read the difference before it is committed.
"""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from soundline.impl.codegen.cuda.programs.device import device_functions, least_arch
from soundline.impl.spork import CudaWarpConfig, proc_from_text
from soundline.spec.spork.language.programs import Proc

HERE = Path(__file__).parent
GOLDEN = HERE / "cuda_golden"
EXAMPLES = HERE.parents[1] / "examples" / "spork"

ASYNC_BLOCK = """
@proc
def async_block(alpha: f32 @ CudaGridConstant, x: f32[64] @ CudaGmemLinear, y: f32[64] @ CudaGmemLinear):
    with CudaDeviceFunction(blockDim=256):
        for task in cuda_tasks(0, 1):
            first: f32[64] @ CudaSmemLinear
            second: f32[64] @ CudaSmemLinear
            for tid in cuda_threads(0, 16, unit=cuda_thread):
                for i in seq(0, 4):
                    first[4 * tid + i] = alpha
                with CudaAsync(Sm80_cp_async):
                    Sm80_cp_async_f32(second[4 * tid : 4 * tid + 4], x[4 * tid : 4 * tid + 4], size=4)
            Fence(Sm80_generic, cuda_in_order)
            for tid in cuda_threads(0, 64, unit=cuda_thread):
                y[tid] = first[63 - tid] * second[tid]
            Fence(cuda_in_order, cuda_in_order)
"""

INTRO_TASKS_THREADS = """
@proc
def intro_tasks_threads(n: size, X: f32[n] @ CudaGmemLinear, Y: f32[n] @ CudaGmemLinear):
    assert n % 128 == 0
    with CudaDeviceFunction(blockDim=128):
        for chunk in cuda_tasks(0, n // 128):
            for tid in cuda_threads(0, 128, unit=cuda_thread):
                X[128 * chunk + tid] += Y[128 * chunk + tid]
"""

CUDA_THREADS_CXX = """
@proc
def cuda_threads_cxx(x: f32[8, 16] @ CudaGmemLinear):
    with CudaDeviceFunction(blockDim=256):
        for task in cuda_tasks(0, 1):
            for m in cuda_threads(0, 8, unit=16 * cuda_thread):
                for n in cuda_threads(0, 16, unit=cuda_thread):
                    x[m, n] = 0.0
"""

MY_WARP_CONFIG = """
@proc
def my_warp_config(x: f32[256] @ CudaGmemLinear, y: f32[256] @ CudaGmemLinear, z: f32[60] @ CudaGmemLinear):
    with CudaDeviceFunction(warp_config=WARPS):
        for task in cuda_tasks(0, 1):
            data: f32[256] @ CudaSmemLinear
            with CudaWarps(name="producer"):
                for lane in cuda_threads(0, 32, unit=cuda_thread):
                    for i in seq(0, 8):
                        data[8 * lane + i] = x[8 * lane + i]
            Fence(cuda_in_order, cuda_in_order)
            with CudaWarps(name="consumer"):
                for tid in cuda_threads(0, 256, unit=cuda_thread):
                    y[tid] = data[255 - tid]
                with CudaWarps(2, 4):
                    for lane in cuda_threads(0, 20, unit=3 * cuda_thread):
                        for sub in cuda_threads(0, 3, unit=cuda_thread):
                            z[3 * lane + sub] = data[3 * sub + lane]
            Fence(cuda_in_order, cuda_in_order)
"""

SIMPLE_DIST = """
@proc
def simple_dist(x: f32[16, 32, 8, 4] @ CudaGmemLinear):
    with CudaDeviceFunction(blockDim=512):
        for task in cuda_tasks(0, 1):
            vals: f32[16, 32, 8, 4] @ CudaRmem
            for m in cuda_threads(0, 16, unit=32 * cuda_thread):
                for n in cuda_threads(0, 32, unit=cuda_thread):
                    for i in seq(0, 8):
                        for j in seq(0, 4):
                            vals[m, n, i, j] = x[m, n, i, j]
            for m in cuda_threads(0, 16, unit=32 * cuda_thread):
                for n in cuda_threads(0, 32, unit=cuda_thread):
                    for i in seq(0, 8):
                        for j in seq(0, 4):
                            x[m, n, i, j] = vals[m, n, 7 - i, j]
"""

SYNC_WARP_CTA = """
@proc
def sync_warp_cta(y: f32[4] @ CudaGmemLinear):
    with CudaDeviceFunction(blockDim=128):
        for task in cuda_tasks(0, 1):
            smem: f32[4] @ CudaSmemLinear
            for w in cuda_threads(0, 4, unit=cuda_warp):
                for lane in cuda_threads(0, 1, unit=cuda_thread):
                    smem[w] = 1.0
                Fence(cuda_in_order, cuda_in_order)
            Fence(cuda_in_order, cuda_in_order)
            for t in cuda_threads(0, 4, unit=cuda_thread):
                y[t] = smem[3 - t]
            Fence(cuda_in_order, cuda_in_order)
"""

WARPS = [
    CudaWarpConfig("producer", 1, setmaxnreg_dec=40),
    CudaWarpConfig("unused", 3, setmaxnreg_dec=40),
    CudaWarpConfig("consumer", 8, setmaxnreg_inc=232),
]

FIGURES = {
    "async_block": ASYNC_BLOCK,
    "intro_tasks_threads": INTRO_TASKS_THREADS,
    "cuda_threads_cxx": CUDA_THREADS_CXX,
    "my_warp_config": MY_WARP_CONFIG,
    "simple_dist": SIMPLE_DIST,
    "sync_warp_cta": SYNC_WARP_CTA,
}


def figure(name: str) -> Proc:
    """The program of a figure."""
    return proc_from_text(FIGURES[name].lstrip(), {"WARPS": WARPS}, file=f"{name}.py")


def examples() -> Iterator[tuple[str, Proc]]:
    """The programs of the examples, by file and name."""
    for path in sorted(EXAMPLES.glob("*.py")):
        spec = importlib.util.spec_from_file_location(f"spork_example_{path.stem}", path)
        assert spec is not None
        assert spec.loader is not None
        module: Any = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        for name, value in vars(module).items():
            if isinstance(value, Proc):
                yield f"{path.stem}_{name}", value


WITH_GOLDEN = ("gemm_sm80_fence_gemm", "gemm_sm90_ring_gemm", "gemm_sm90_multicast_gemm")
"""The examples that have golden files: the guide's matrix products."""


def text_of(proc: Proc) -> str:
    """The device part of a program."""
    found = device_functions(proc, least_arch(proc))
    return "\n".join(part for f in found for part in (f.header.text, f.entry.text))


def programs() -> dict[str, Proc]:
    """All programs with golden files."""
    matrices = {name: proc for name, proc in examples() if name in WITH_GOLDEN}
    return {**{name: figure(name) for name in FIGURES}, **matrices}


def parsed(text: str, **names: Any) -> Proc:
    """A program; the first line of the text is empty."""
    return proc_from_text(text.lstrip("\n"), names, file="program.py")


def on_device(body: str, arguments: str = "x: f32[64] @ CudaGmemLinear", head: str = "blockDim=64") -> Proc:
    """A program of one task with some statements."""
    lines = "\n".join(f"            {line}" for line in body.strip("\n").splitlines())
    return parsed(
        f"@proc\ndef program({arguments}):\n    with CudaDeviceFunction({head}):\n"
        f"        for task in cuda_tasks(0, 1):\n{lines}\n"
    )


def code_of(proc: Proc, arch: int | None = None, **given: Any) -> str:
    """The code of the device part, without comments and indents."""
    found = device_functions(proc, least_arch(proc) if arch is None else arch, **given)
    text = "".join(f.header.text + f.entry.text for f in found)
    lines = (re.sub(r"//.*", "", line).strip() for line in text.splitlines())
    return "\n".join(line for line in lines if line)


if __name__ == "__main__":
    GOLDEN.mkdir(exist_ok=True)
    for name, proc in programs().items():
        (GOLDEN / f"{name}.cuh").write_text(text_of(proc))
