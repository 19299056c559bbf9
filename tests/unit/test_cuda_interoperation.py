"""
Spork beside handwritten CUDA
=============================

The example with which both directions of a call are shown runs without a GPU: the handwritten program that launches a
generated kernel, and the generated program that calls a handwritten device function.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from soundline.impl.runtime.emulator.emulation import emulated

from .spork_twins import EXAMPLES, load

FOLDER = EXAMPLES / "interoperation"


@pytest.fixture(scope="module")
def example() -> ModuleType:
    """The module of the example."""
    return load(FOLDER / "polish.py")


def texts(folder: Path) -> dict[str, str]:
    """The files of a folder."""
    return {path.name: path.read_text() for path in sorted(folder.iterdir())}


def test_the_handwritten_program_launches_the_generated_kernel(example: ModuleType, tmp_path: Path) -> None:
    example.write(tmp_path)
    files = {name: text for name, text in texts(tmp_path).items() if not name.endswith(".c")}
    assert emulated(files).call("main") == 0


def test_the_handwritten_program_sees_a_kernel_that_is_wrong(example: ModuleType, tmp_path: Path) -> None:
    example.write(tmp_path)
    files = {name: text for name, text in texts(tmp_path).items() if not name.endswith(".c")}
    assert "1.0f + (x < 0.0f" in files["handwritten.cuh"]
    files["handwritten.cuh"] = files["handwritten.cuh"].replace("1.0f + (x < 0.0f", "1.0f + (x > 0.0f")
    assert emulated(files).call("main") == 1


def test_the_generated_program_calls_the_handwritten_function(example: ModuleType) -> None:
    source = example.polish.cuda()
    files = {**source.files, "handwritten.cuh": (FOLDER / "handwritten.cuh").read_text()}
    assert '#include "handwritten.cuh"' in source.files["polish.cuh"]
    arrays = example.arguments()
    emulated(files).run(source.function, example.SIZES["n"], arrays["x"], arrays["y"])
    assert np.array_equal(arrays["y"], example.expected(**arrays)["y"])


def test_a_program_runs_with_the_header_beside_its_instruction(example: ModuleType, tmp_path: Path) -> None:
    arrays = example.arguments()
    example.polish.run(device="CUDA-EMULATED", **arrays)
    assert np.array_equal(arrays["y"], example.expected(**arrays)["y"])
    source = example.polish.cuda()
    assert source.files["handwritten.cuh"] == (FOLDER / "handwritten.cuh").read_text()
    assert tmp_path / "handwritten.cuh" in source.write(tmp_path)


def test_a_header_brings_those_that_it_includes(tmp_path: Path) -> None:
    (tmp_path / "parts").mkdir()
    (tmp_path / "mine.cuh").write_text(
        '#include "parts/more.cuh"\n#include "nowhere.cuh"\n#include <vector>\n'
    )
    (tmp_path / "parts" / "more.cuh").write_text('#pragma once\n#include "mine.cuh"\n')
    (tmp_path / "kernel.py").write_text(
        (FOLDER / "polish.py")
        .read_text()
        .replace("handwritten.cuh", "mine.cuh")
        .replace("    main()", "    pass")
    )
    example = load(tmp_path / "kernel.py")
    source = example.polish.cuda()
    assert set(source.files) - {f"polish.{end}" for end in ("h", "c", "cuh", "cu")} == {
        "mine.cuh",
        "parts/more.cuh",
    }
    assert tmp_path / "out" / "parts" / "more.cuh" in source.write(tmp_path / "out")


def test_the_example_says_what_it_does(
    example: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.argv", ["polish.py", str(tmp_path)])
    example.main()
    said = capsys.readouterr().out
    assert "softsign(2 * x): True" in said
    assert "no hazards" in said
    assert {"main.cu", "polish.cu", "soundline_ptx.cuh"} <= set(texts(tmp_path))


@pytest.mark.skipif(shutil.which("nvcc") is None, reason="needs nvcc, CUDA's compiler")
def test_the_handwritten_program_is_compiled_by_cuda_s_compiler(example: ModuleType, tmp_path: Path) -> None:
    example.write(tmp_path)
    command = ["nvcc", "-std=c++17", "--fmad=false", "-arch=sm_80", "main.cu", "polish.cu", "-o", "main"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
