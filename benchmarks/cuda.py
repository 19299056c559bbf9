"""
What CUDA costs without a GPU, measured
=======================================

For every flagship kernel at its real tiles: how long it takes to generate its CUDA, to compile that by NVRTC with
nothing in the cache, and what the machine code takes of a multiprocessor. Beside that, how long a product of 256³ takes
in the emulator, in blocks of 256 threads. Times are medians of repeats; the result is
``benchmarks/results/cuda.json``::

    python benchmarks/cuda.py --repeats 5
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from run import RESULTS, machine, shown

from soundline.impl.codegen.cuda.source import CudaSource
from soundline.impl.runtime.cuda_compiler.compilation import compiled, kernel_compiler
from soundline.impl.runtime.emulator.emulation import emulated

SPORK = Path(__file__).resolve().parents[1] / "examples" / "spork"
PROGRAMS = (
    ("gemm_sm90_ring", "gemm"),
    ("gemm_simt_f32", "gemm"),
    ("gemm_sm80_tf32", "even"),
    ("gemm_sm80_bf16", "gemm"),
    ("gemm_sm90_tf32", "gemm"),
    ("gemm_sm90_bf16", "gemm"),
    ("gemm_sm90_multicast_bf16", "gemm"),
    ("softmax", "softmax"),
    ("reduction", "total"),
    ("prefix_sum", "prefixes"),
    ("attention", "attention"),
)
SIZE = 256


def main() -> int:
    """Measure, show, and write the result."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    sys.path += [str(SPORK), str(SPORK / "flagships")]
    with tempfile.TemporaryDirectory() as cache:
        os.environ["SOUNDLINE_CACHE_DIR"] = cache
        result = {
            "schema": 1,
            "machine": machine(),
            "repeats": options.repeats,
            "compiler": kernel_compiler().version,
            "programs": [
                shown(file, {"program": file, **program(file, name, options.repeats)})
                for file, name in PROGRAMS
            ],
            "emulator": shown("emulator", emulator(options.repeats)),
        }
    target = RESULTS / "cuda.json"
    target.write_text(json.dumps(result, indent=2) + "\n")
    print(f"written: {target}")
    return 0


def program(file: str, name: str, repeats: int) -> dict[str, Any]:
    """Generating and compiling one program for sm_90a."""
    proc: Any = getattr(importlib.import_module(file), name)
    source: CudaSource = proc.cuda("sm_90a")
    began = time.perf_counter()
    made = compiled(source)
    took = time.perf_counter() - began
    again = seconds(lambda: compiled(source), repeats)
    return {
        "generate_seconds": round(seconds(lambda: proc.cuda("sm_90a"), repeats), 4),
        "compile_seconds": round(took, 3),
        "compile_cached_seconds": round(again, 4),
        "registers": {kernel: use.registers for kernel, use in made.kernels.items()},
        "spills": len(made.spills),
    }


def emulator(repeats: int) -> dict[str, Any]:
    """A product in float32 in the emulator, beside numpy."""
    source: CudaSource = importlib.import_module("gemm_simt_f32").gemm.cuda()
    began = time.perf_counter()
    program = emulated(source)
    built = time.perf_counter() - began
    random = np.random.default_rng(0)
    a, b = (random.integers(-4, 5, (SIZE, SIZE)).astype(np.float32) for _ in range(2))
    c = np.full((SIZE, SIZE), np.nan, np.float32)
    took = seconds(lambda: program.run(source.function, SIZE, SIZE, SIZE, a, b, c), repeats)
    assert np.array_equal(c, a @ b)
    return {
        "size": SIZE,
        "threads": source.kernels[0].block_dim,
        "build_seconds": round(built, 2),
        "seconds": round(took, 4),
        "times_numpy": round(took / seconds(lambda: a @ b, repeats), 1),
    }


def seconds(work: Callable[[], object], repeats: int) -> float:
    """The median time of some repeats."""
    found = []
    for _ in range(repeats):
        began = time.perf_counter()
        work()
        found.append(time.perf_counter() - began)
    return statistics.median(found)


if __name__ == "__main__":
    sys.exit(main())
