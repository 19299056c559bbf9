"""
The CPU part of a CUDA program
==============================

A Spork program becomes a function in C that launches its kernels, beside the CUDA text of these. The function asks
everything of a device through the table of functions of ``soundline_host.h``. What is here is the same for every
device: how the function is compiled, and how it is called with arrays.

An argument in global memory is an array of the device. An array of the CPU that is given for it is copied there before
the call, and back after it; what lies on the device already (`DeviceArray`, or any array with
``__cuda_array_interface__``) is used where it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from importlib.resources import files
from math import prod
from pathlib import Path
from typing import Any, Final

import numpy as np

from soundline.impl.runtime.cache import library_for
from soundline.impl.runtime.drivers.interface import FROM_DEVICE, TO_DEVICE
from soundline.impl.toolchain import find_compiler
from soundline.spec.dtypes import DType, to_numpy
from soundline.spec.errors import ToolchainError, UsageError
from soundline.spec.spork.language.programs import Proc
from soundline.spec.spork.language.types import Argument, Control, Data
from soundline.spec.spork.library.memories import DRAM, Memory
from soundline.spec.spork.synchronization.timelines import InstrTl

HEADER: Final = "soundline_host.h"

REFUSALS: Final[dict[int, str]] = {
    1001: "a control value does not fit the 32 bits that the device computes with",
    1002: "an assertion of the program is false",
    1003: "the CPU has no memory for an array of the program",
    1004: "a size is negative",
    1005: "a window with gaps is given where a kernel or a tensor map takes none",
    1006: "an array in global memory does not begin at a multiple of 16 bytes",
}
"""What the codes mean that the function itself returns; all others are those of the device."""


class DeviceCode(Exception):
    """The function, or a copy for it, ended with a code that is not 0."""

    def __init__(self, code: int) -> None:
        self.code = code
        super().__init__(REFUSALS.get(code, f"code {code}"))


@dataclass(frozen=True, slots=True)
class DeviceArray:
    """An array in the memory of a device, in C order."""

    address: int
    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    @property
    def nbytes(self) -> int:
        """Its size in bytes."""
        return int(np.prod(self.shape, dtype=np.int64)) * self.dtype.itemsize

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """How libraries for GPUs see it."""
        data = (self.address, False)
        return {
            "shape": self.shape,
            "typestr": self.dtype.str,
            "data": data,
            "strides": None,
            "version": 3,
        }


def on_device(value: object, dtype: DType) -> DeviceArray | None:
    """A value as an array of the device, where it lies there."""
    if isinstance(value, DeviceArray):
        return value
    found = getattr(value, "__cuda_array_interface__", None)
    if found is None:
        return None
    if found.get("strides") is not None:
        raise UsageError("an array on the device has strides, where its elements have to lie in C order")
    return DeviceArray(found["data"][0], tuple(found["shape"]), np.dtype(to_numpy(dtype)))


# The function -----------------------------------------------------------------------------------------------------


def header() -> str:
    """The text of ``soundline_host.h``."""
    return files("soundline.impl.codegen.cuda").joinpath(HEADER).read_text(encoding="utf-8")


def self_contained(file: str, texts: Mapping[str, str]) -> str:
    """A C file of a program, with the files of the program that it includes, and our header, in their place."""
    places = {HEADER: header(), **texts}
    return _inlined(texts[file], places, set())


def _inlined(text: str, places: Mapping[str, str], seen: set[str]) -> str:
    found = []
    for line in text.splitlines():
        named = line.removeprefix('#include "').rstrip('"') if line.startswith('#include "') else None
        if named is None or named not in places:
            found.append(line)
        elif named not in seen:
            seen.add(named)
            found.append(_inlined(places[named], places, seen))
    return "\n".join(found) + "\n"


def compiled(text: str, *flags: str) -> Path:
    """The library of a self-contained CPU part. Without OpenMP, which not every compiler has, loops run in order."""
    compiler = find_compiler()
    compiler = replace(compiler, flags=(*compiler.flags, *flags))
    if "#pragma omp" in text:
        with suppress(ToolchainError):
            return library_for(text, replace(compiler, flags=(*compiler.flags, "-fopenmp")))
    return library_for(text, compiler)


class CpuPart:
    """The function of a program in a library that has been loaded."""

    def __init__(self, proc: Proc, function: str, library: Path) -> None:
        import cffi  # only programs that run need it

        self.proc = proc
        self.function = function
        self.ffi = cffi.FFI()
        self.ffi.cdef(declarations())
        self.ffi.cdef(f"int {function}({', '.join(_kinds(proc))});")
        self.library = self.ffi.dlopen(str(library))

    def run(self, device: Any, sizes: Mapping[str, Any], arrays: Mapping[str, Any]) -> None:
        """Call the function on a device, a ``struct soundline_device *``; raises `DeviceCode`."""
        with ExitStack() as stack:
            given: list[Any] = []
            for a in self.proc.arguments:
                if isinstance(a.type, Control):
                    given.append(sizes[a.name])
                else:
                    given.append(stack.enter_context(self._address(a, arrays[a.name], device)))
                    given += row_major(arrays[a.name].shape) if a.type.window else ()
            _check(getattr(self.library, self.function)(device, *given))

    @contextmanager
    def _address(self, argument: Argument, value: Any, device: Any) -> Iterator[Any]:
        """Where an argument of data lies, for as long as it is used."""
        assert isinstance(argument.type, Data)
        there = on_device(value, argument.type.dtype)
        if there is not None:
            if not is_global(argument):
                raise UsageError(f"{argument.name} is given on the device, where it is memory of the CPU")
            yield self.ffi.cast("void *", there.address)
            return
        host = np.ascontiguousarray(value)
        if is_global(argument):
            with self._copied(host, device) as address:
                yield address
        else:
            yield self.ffi.cast("void *", host.ctypes.data)
        if host is not value and isinstance(value, np.ndarray):
            value[...] = host

    @contextmanager
    def _copied(self, host: Any, device: Any) -> Iterator[Any]:
        """An array of the CPU in the memory of the device, copied back in the end."""
        place, at = self.ffi.new("void **"), self.ffi.cast("void *", host.ctypes.data)
        _check(device.allocate(device.state, place, host.nbytes))
        try:
            _check(device.copy(device.state, place[0], at, host.nbytes, TO_DEVICE))
            yield place[0]
            _check(device.copy(device.state, at, place[0], host.nbytes, FROM_DEVICE))
        finally:
            device.release(device.state, place[0])


def declarations() -> str:
    """The structs of the header, for Python."""
    found = []
    for name in ("soundline_launch", "soundline_device"):
        _, begin, rest = header().partition(f"struct {name} {{")
        found.append(f"{begin}{rest.partition('};')[0]}}};")
    return "\n".join(found)


def _kinds(proc: Proc) -> Iterator[str]:
    yield "struct soundline_device const *"
    for argument in proc.arguments:
        if isinstance(argument.type, Control):
            yield "_Bool" if argument.type.name == "bool" else "int64_t"
        else:
            yield "void *"
            # A window says how far its elements are apart; an array that is given whole lies in C order.
            yield from ["int64_t"] * len(argument.type.sizes) if argument.type.window else []


def row_major(shape: Sequence[int]) -> list[int]:
    """How many elements neighbours are apart along each dimension of an array in C order."""
    return [prod(shape[k + 1 :]) for k in range(len(shape))]


def is_global(argument: Argument) -> bool:
    """Whether an argument is memory of the device that the CPU does not read."""
    memory = DRAM if argument.memory is None else argument.memory.value
    assert isinstance(memory, Memory)
    return memory.space == "global" and InstrTl.cpu_in_order not in memory.reads


def _check(code: int) -> None:
    if code:
        raise DeviceCode(code)
