"""
What flagship kernels take of a GPU, as the compiler says
=========================================================

``python benchmarks/cuda_compiled.py`` generates every flagship of ``examples/spork/flagships`` at its real tiles, and
compiles it by NVRTC for Hopper. What each kernel takes (registers, spills, stack and shared memory) is written to
``benchmarks/results/cuda-compiled.json``, of which the tables of the documentation are made. No GPU is needed.
"""

from __future__ import annotations

import json
import runpy
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from soundline.impl.codegen.cuda.programs.files import generate
from soundline.impl.codegen.cuda.source import CudaSource
from soundline.impl.runtime.cuda_compiler.compilation import compiled, kernel_compiler
from soundline.impl.spork.program import SporkProc

ROOT = Path(__file__).resolve().parents[1]
FLAGSHIPS = ROOT / "examples" / "spork" / "flagships"
ARCH = "sm_90a"
RESULT = ROOT / "benchmarks" / "results" / "cuda-compiled.json"


def programs() -> Iterator[tuple[str, str, SporkProc]]:
    """The programs of real tiles: the flagship, the name in its file, and the program."""
    for path in sorted(FLAGSHIPS.glob("*.py")):
        for name, value in runpy.run_path(str(path)).items():
            if isinstance(value, SporkProc) and name != "small":
                yield path.stem, name, value


def rows(flagship: str, name: str, program: SporkProc) -> Iterator[dict[str, Any]]:
    """What each kernel of a program takes; once more with the licence to contract, where that changes the text."""
    least = generate(program).arch
    plain, contracted = (generate(program, ARCH, contract) for contract in (False, True))
    sources = [plain] if code(plain) == code(contracted) else [plain, contracted]
    for source in sources:
        made = compiled(source)
        for kernel in source.kernels:
            use = made.kernels[kernel.name]
            yield {
                "flagship": flagship,
                "program": name,
                "contract": source is contracted,
                "least_arch": least,
                "arch": source.arch,
                "kernel": kernel.name,
                "block_dim": kernel.block_dim,
                "cluster_dim": kernel.cluster_dim,
                "blocks_per_sm": kernel.blocks_per_sm,
                "registers": use.registers,
                "spill_stores": use.spill_stores,
                "spill_loads": use.spill_loads,
                "stack": use.stack,
                "shared_bytes": kernel.shared_bytes + use.shared,
                "warnings": [warning.text for warning in made.warnings],
            }


def code(source: CudaSource) -> list[str]:
    """The lines of the device part, without comments: one of them says what licences there are."""
    lines = source.files[f"{source.name}.cuh"].splitlines()
    return [line for line in lines if not line.startswith("//")]


def main() -> int:
    """Compile, show, and write the result."""
    found = [row for program in programs() for row in rows(*program)]
    for row in found:
        print(f"{row['flagship']:26} {row['kernel']:22} {row['registers']:4} registers")
    result = {"schema": 1, "compiler": kernel_compiler().version, "kernels": found}
    RESULT.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    print(f"written: {RESULT.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
