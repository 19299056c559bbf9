"""
A device that only remembers
============================

What the CPU part of a CUDA program asks for, without a GPU: memory is that of the process, copies are done, and every
call is remembered. A launch may be given to a Python function, which stands for the kernel.
"""

from __future__ import annotations

import ctypes
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from textwrap import dedent
from typing import Any, NamedTuple

import cffi
import numpy as np

from soundline.impl.codegen.cuda.host.function import function
from soundline.impl.codegen.cuda.host.launches import Launch
from soundline.impl.codegen.cuda.source import header_text
from soundline.impl.spork.front_end import proc_from_text
from soundline.impl.spork.program import SporkProc
from soundline.impl.toolchain import find_compiler
from soundline.spec.spork.language.types import Control, Data

BROKEN = 77
"""The code of a call that is made to fail."""


class Launched(NamedTuple):
    """A launch."""

    kernel: str
    args: bytes
    block_dim: int
    cluster_dim: int
    blocks_per_sm: int
    shared_bytes: int
    tasks: int


class Mapped(NamedTuple):
    """A tensor map."""

    type: int
    address: int
    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    box: tuple[int, ...]
    swizzle: int


class Copied(NamedTuple):
    """A copy; of rows where it has pitches."""

    to: int
    origin: int
    width: int
    rows: int
    pitches: tuple[int, int]
    kind: int


def declarations() -> str:
    """The structs of the header for Python."""
    text = header_text("soundline_host.h")
    found = []
    for name in ("soundline_launch", "soundline_device"):
        _, begin, rest = text.partition(f"struct {name} {{")
        found.append(f"{begin}{rest.partition('};')[0]}}};")
    return "\n".join(found)


class FakeDevice:
    """The table of functions; `fails_at` is the number of the call that fails."""

    def __init__(self, fails_at: int = 0, kernel: Callable[[Launched], None] | None = None) -> None:
        self.ffi = cffi.FFI()
        self.ffi.cdef(declarations())
        self.calls: list[str] = []
        self.launches: list[Launched] = []
        self.maps: list[Mapped] = []
        self.copies: list[Copied] = []
        self.live: dict[int, Any] = {}
        self.fails_at = fails_at
        self.kernel = kernel
        self.table = self.ffi.new("struct soundline_device *")
        self._kept = []
        kinds = dict(self.ffi.typeof("struct soundline_device").fields)
        for name in ("allocate", "release", "copy", "copy_rows", "tensor_map", "launch"):
            callback = self.ffi.callback(kinds[name].type, self._counted(name))
            self._kept.append(callback)
            setattr(self.table, name, callback)

    def _counted(self, name: str) -> Callable[..., int]:
        def called(_state: Any, *arguments: Any) -> int:
            self.calls.append(name)
            if len(self.calls) == self.fails_at:
                return BROKEN
            getattr(self, f"_{name}")(*arguments)
            return 0

        return called

    def _address(self, pointer: Any) -> int:
        return int(self.ffi.cast("uintptr_t", pointer))

    def _allocate(self, to: Any, size: int) -> None:
        memory = self.ffi.new("char[]", max(size, 1))
        self.live[self._address(memory)] = memory
        to[0] = self.ffi.cast("void *", memory)

    def _release(self, at: Any) -> None:
        del self.live[self._address(at)]

    def _copy(self, to: Any, origin: Any, size: int, kind: int) -> None:
        self.copies.append(Copied(self._address(to), self._address(origin), size, 1, (size, size), kind))
        ctypes.memmove(self._address(to), self._address(origin), size)

    def _copy_rows(
        self, to: Any, to_pitch: int, origin: Any, from_pitch: int, width: int, rows: int, kind: int
    ) -> None:
        places = self._address(to), self._address(origin)
        self.copies.append(Copied(*places, width, rows, (to_pitch, from_pitch), kind))
        for row in range(rows):
            ctypes.memmove(places[0] + row * to_pitch, places[1] + row * from_pitch, width)

    def _tensor_map(
        self, at: Any, type_: int, rank: int, address: Any, sizes: Any, strides: Any, box: Any, swizzle: int
    ) -> None:
        assert self._address(at) % 64 == 0
        number = len(self.maps)
        self.maps.append(
            Mapped(
                type_,
                self._address(address),
                tuple(sizes[0:rank]),
                tuple(strides[0 : rank - 1]) if rank > 1 else (),
                tuple(box[0:rank]),
                swizzle,
            )
        )
        ctypes.memmove(self._address(at), bytes([number + 1] * 128), 128)

    def _launch(self, launch: Any) -> None:
        found = Launched(
            self.ffi.string(launch.kernel).decode(),
            bytes(self.ffi.buffer(self.ffi.cast("char *", launch.args), launch.args_bytes)),
            launch.block_dim,
            launch.cluster_dim,
            launch.blocks_per_sm,
            launch.shared_bytes,
            launch.tasks,
        )
        assert launch.function == self.ffi.NULL
        self.launches.append(found)
        if self.kernel is not None:
            self.kernel(found)


class Compiled:
    """A C function in a library."""

    def __init__(
        self,
        texts: Mapping[str, str],
        function: str,
        parameters: str,
        folder: Path,
        options: Sequence[str] = (),
    ) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in {**texts, "soundline_host.h": header_text("soundline_host.h")}.items():
            (folder / name).write_text(text)
        source = next(folder.glob("*.c"))
        library = folder / "program.so"
        command = [*find_compiler().command, "-std=c11", "-O1", "-Wall", "-Wextra", "-Werror", "-fPIC"]
        command += [
            *options,
            "-Wno-unknown-pragmas",
            "-Wno-type-limits",
            "-shared",
            "-o",
            str(library),
            str(source),
            "-lm",
        ]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        self.ffi = cffi.FFI()
        self.ffi.cdef(declarations())
        self.ffi.cdef(f"int {function}(struct soundline_device const *device{parameters});")
        self.library = self.ffi.dlopen(str(library))
        self.function = getattr(self.library, function)

    def __call__(self, device: FakeDevice, *arguments: Any) -> int:
        """The code that the function returns; arrays are given by their addresses."""
        given = [
            self.ffi.cast("void *", a.ctypes.data) if isinstance(a, np.ndarray) else a for a in arguments
        ]
        code: int = self.function(self.ffi.cast("struct soundline_device *", device.table), *given)
        return code


def c_text(proc: SporkProc, launches: dict[tuple[int, ...], Launch] | None = None) -> str:
    """The C file of a proc."""
    found = function(proc, launches or {})
    structures = "\n".join("\n".join(one.declaration()) for one in (launches or {}).values())
    head = '#include "soundline_host.h"\n#include <stdlib.h>\n#include <string.h>\n'
    lines = "\n".join(line.text for line in found.lines)
    return f"{head}{found.declarations}\n{structures}\n{found.signature};\n{lines}\n"


def compiled(
    proc: SporkProc,
    folder: Path,
    launches: dict[tuple[int, ...], Launch] | None = None,
    options: Sequence[str] = (),
) -> Compiled:
    """The function of a proc in a library."""
    parameters = ""
    for argument in proc.arguments:
        if isinstance(argument.type, Control):
            parameters += ", _Bool x" if argument.type.name == "bool" else ", int64_t x"
        else:
            window = isinstance(argument.type, Data) and argument.type.window
            parameters += ", void *x" + ", int64_t s" * (len(argument.type.sizes) if window else 0)
    # Names of parameters are nothing to the caller.
    name = function(proc, launches or {}).name
    return Compiled({"p.c": c_text(proc, launches)}, name, parameters, folder, options)


def parsed(text: str, **names: Any) -> SporkProc:
    """A program, whose lines may be indented."""
    return proc_from_text(dedent(text), names)
