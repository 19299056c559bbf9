"""
The texts that the emulator compiles: its header of PTX is the twin of the one that GPUs are given, and the files of a
program are put together without those of the emulator coming between.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from soundline.impl.codegen.cuda.source import header_text
from soundline.impl.runtime.emulator.emulation import emulated
from soundline.impl.runtime.emulator.texts import joined, kernels
from soundline.impl.toolchain import find_cpp_compiler

HEADERS = Path(__file__).resolve().parents[2] / "impl" / "runtime" / "emulator"


def _declared(text: str, folder: Path) -> dict[str, set[str]]:
    """The functions of a header, and of each its parameters, without the line of the caller."""
    stubs = "#define __device__\n#define __forceinline__\n#define __shared__\n#define __align__(n)\n"
    command = [*find_cpp_compiler().command, "-x", "c++", "-std=c++17", "-E", "-P", f"-I{folder}", "-"]
    done = subprocess.run(command, input=stubs + text, capture_output=True, text=True, check=True)
    body = done.stdout[done.stdout.index("namespace ptx") :]
    found: dict[str, set[str]] = {}
    for name, parameters in re.findall(r"\b([a-z]\w+)\(((?:[^(){};]|\([^()]*\))*)\)\s*\{", body):
        if name in ("asm", "if", "for", "while", "switch"):
            continue
        plain = re.sub(r",?\s*int line = __builtin_LINE\(\)", "", parameters)
        types = [re.sub(r"\b\w+(?=(\)|$|\s*=))", "", p, count=1) for p in plain.split(",") if p.strip()]
        found.setdefault(name, set()).add(",".join("".join(t.split("=")[0].split()) for t in types))
    return found


def test_the_twin_has_every_function_of_the_header_with_its_parameters() -> None:
    real = _declared(header_text("soundline_ptx.cuh"), HEADERS)
    twin = _declared((HEADERS / "soundline_ptx.cuh").read_text(), HEADERS)
    twin["barrier_cta_sync"] |= {"int"}  # the number of threads has a default there
    assert len(real) > 50
    generic = {name for name in real if "_add_f16" in name or "_add_bf16" in name}  # of any type of 16 bits
    for name in real:
        assert name in twin, f"{name} has no twin"
        if name not in generic:
            assert real[name] == twin[name], name


def test_files_of_a_program_are_found_before_any_of_the_same_name() -> None:
    files = {
        "a.cu": '#include <cuda_runtime.h>\n#include "machine.h"\n#include "machine.h"\n'
        'extern "C" int run() { return three() + __LINE__; }\n',
        "machine.h": "#pragma once\ninline int three() { return 3; }\n",
    }
    assert emulated(files).call("run") == 3 + joined(["a.cu"], files).names.index("a.cu") * 100_000 + 4


def test_lines_are_those_of_the_files() -> None:
    files = {"a.cu": '#include "b.h"\nsecond\n', "b.h": "first\n"}
    text = joined(["a.cu"], files)
    assert text.place(2) == ("a.cu", 2, "second")
    assert text.place(100_001) == ("b.h", 1, "first")
    assert text.place(0) is None
    assert text.place(200_001) is None
    assert text.readable("b.h:100001:3: error: no") == "b.h:1:3: error: no"


def test_kernels_are_found_by_their_heads() -> None:
    text = """
    extern "C" __global__ void __launch_bounds__(256, 1) one(const Args args) {
    __global__ void two(int *x, int n);
    __global__ void __launch_bounds__(size(3)) three(Args a) {}
    template <int N> __global__ void four(Args a) {}
    """
    assert list(kernels({"k.cu": text, "k.h": "__global__ void five(Args a) {}"})) == ["one", "two", "three"]
