"""Statements of CUDA that run on the CPU: the header of the generated code, with ``cuda_warps.h`` in place of a GPU."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from soundline.impl.codegen.cuda import memories as memories_in_cuda
from soundline.impl.codegen.cuda.dialects import CUDA
from soundline.impl.codegen.cuda.memories import swizzle_of
from soundline.impl.codegen.cuda.operands import Place
from soundline.spec.dtypes import DType
from soundline.spec.spork.library.memories import Memory

from .cuda_sites import place
from .instruction_runs import numpy_dtype

HERE = Path(__file__).parent
HEADERS = Path(memories_in_cuda.__file__).parent

BUFFER = 1 << 16


def physical(swizzle: int, offset: int) -> int:
    """Where a byte of a swizzled array lies: the piece of 16 bytes is permuted by the number of the line of 128."""
    line, within = divmod(offset, 128)
    piece, byte = divmod(within, 16)
    return 128 * line + 16 * (piece ^ line % max(swizzle // 16, 1)) + byte


@dataclass(frozen=True)
class Case:
    """Statements that some threads run, with bytes of memory before, and variables whose bytes are asked for."""

    lines: tuple[str, ...]
    memory: bytes = b""
    variables: str = ""
    outputs: tuple[str, ...] = ()
    threads: int = 32


Result = tuple[bytes, list[bytes]]
"""Memory after, and the bytes of the outputs."""


def ran(cases: list[Case], directory: Path, *, header: Callable[[str], str] = lambda s: s) -> list[Result]:
    """What cases leave; one program for all of them. `header` may change the header that they include."""
    (directory / "soundline_device.cuh").write_text(header((HEADERS / "soundline_device.cuh").read_text()))
    (directory / "soundline_ptx.cuh").write_text('#include "cuda_warps.h"\n')
    (directory / "cuda_runtime.h").write_text('#include "cuda_warps.h"\n')
    shutil.copy(HERE / "cuda_warps.h", directory)
    functions = "\n".join(
        f"static void case_{k}() {{\n{c.variables}\nwarps::run({c.threads}, [&] {{\n"
        + "\n".join(c.lines)
        + "\n});\n"
        + "".join(f"told({o}, sizeof({o}));\n" for o in c.outputs)
        + "told(memory, sizeof(memory));\n}"
        for k, c in enumerate(cases)
    )
    (directory / "cases.cpp").write_text(
        '#include "soundline_device.cuh"\n'
        f"alignas(1024) static unsigned char memory[{BUFFER}];\n"
        "template <typename T> static void told(T const &x, size_t n) {"
        " uint64_t size = n; fwrite(&size, 8, 1, stdout); fwrite(&x, 1, n, stdout); }\n"
        f"{functions}\nint main() {{\n"
        + "".join(
            f"fread(memory, 1, {BUFFER}, stdin) == {BUFFER} ? case_{k}() : void();\n"
            for k in range(len(cases))
        )
        + "}\n"
    )
    command = ["g++", "-I.", "-std=c++17", "-O1", "-w"]
    command += ["-fsanitize=alignment,signed-integer-overflow,float-cast-overflow"]
    command += ["-fno-sanitize-recover=all", "-ffp-contract=off", "cases.cpp", "-o", "cases"]
    compiled = subprocess.run(command, cwd=directory, check=False, capture_output=True, text=True)
    assert compiled.returncode == 0, compiled.stderr[:3000]
    images = b"".join(c.memory.ljust(BUFFER, b"\0") for c in cases)
    out = subprocess.run([directory / "cases"], input=images, check=True, capture_output=True).stdout
    return list(_parsed(out, cases))


def _parsed(out: bytes, cases: list[Case]) -> Iterator[Result]:
    at = 0
    for case in cases:
        found = []
        for _ in (*case.outputs, "memory"):
            size = int.from_bytes(out[at : at + 8], "little")
            found.append(out[at + 8 : at + 8 + size])
            at += 8 + size
        yield found[-1], found[:-1]


# Arrays in memory --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Layout:
    """A window of an array in memory."""

    memory: Memory
    shape: tuple[int, ...]
    """Of the array."""
    start: tuple[int, ...]
    alignment: int = 0
    turned: bool = False
    """Whether the window is the transpose of one of the array. Of an array with another dimension, which the window has
    not, the window lies at one index of that.
    """

    def image(self, array: np.ndarray) -> bytes:
        """The bytes of the array where they lie."""
        found = bytearray(BUFFER)
        for k, byte in enumerate(array.tobytes()):
            found[physical(swizzle_of(self.memory), k)] = byte
        return bytes(found)

    def array(self, image: bytes, dtype: DType) -> np.ndarray:
        """The array that lies in bytes."""
        size = int(np.prod(self.shape)) * dtype.itemsize
        found = bytes(image[physical(swizzle_of(self.memory), k)] for k in range(size))
        return np.frombuffer(found, numpy_dtype(dtype)).reshape(self.shape).copy()

    def window(self, array: np.ndarray, sizes: tuple[int, ...]) -> np.ndarray:
        given = sizes[::-1] if self.turned else sizes
        found = array[tuple(slice(s, s + n) for s, n in zip(self.start, given, strict=False))]
        found = found[..., self.start[-1]] if found.ndim > len(sizes) else found
        return found.T if self.turned else found

    def place(self, argument: str, dtype: DType, sizes: tuple[int, ...]) -> Place:
        strides = tuple(int(np.prod(self.shape[d + 1 :])) for d in range(len(self.shape)))
        first = sum(s * t for s, t in zip(self.start, strides, strict=True))
        address = f"(({CUDA.type_of(dtype)} *)memory + {first})"
        given = strides[: len(sizes)][::-1] if self.turned else strides[: len(sizes)]
        more = {"address": address, "alignment": self.alignment}
        return place(argument, dtype, self.memory, sizes, given, **more)


def numbers(shape: tuple[int, ...], dtype: DType) -> np.ndarray:
    """Different numbers, as far as a dtype has them."""
    return np.arange(int(np.prod(shape))).reshape(shape).astype(numpy_dtype(dtype))
