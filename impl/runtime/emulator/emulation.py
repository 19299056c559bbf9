"""
Emulation
=========

A program is compiled against the emulator's headers, loaded, and run: the C part of a proc asks the emulator's table of
functions (``soundline_host.h``) for memory and launches, and gets numpy arrays as they are.

>>> text = '''
... #include <cuda_runtime.h>
... struct Args { int n; float *x; };
... extern "C" __global__ void twice(const Args args) {
...     if (threadIdx.x < args.n) args.x[threadIdx.x] *= 2;
... }
... extern "C" int run(int64_t n, float *x) {
...     cudaLaunchConfig_t config = {};
...     config.gridDim = 1;
...     config.blockDim = 32;
...     return cudaLaunchKernelEx(&config, twice, Args{int(n), x});
... }
... '''
>>> x = np.arange(4, dtype=np.float32)
>>> emulated({"twice.cu": text}).call("run", 4, x)
0
>>> x.tolist()
[0.0, 2.0, 4.0, 6.0]
"""

from __future__ import annotations

import ctypes
import sys
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache as remembered
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np

from soundline.impl.codegen.cuda.source import CudaSource
from soundline.impl.runtime import cache
from soundline.impl.runtime.cpu_part import REFUSALS, compiled, self_contained
from soundline.impl.runtime.emulator.reports import error_of, position_of
from soundline.impl.runtime.emulator.texts import Joined, emulator_text, joined, kernels
from soundline.impl.toolchain import Compiler, find_cpp_compiler, machine_flags
from soundline.spec.errors import EmulationError, GeneratedCodeError, ToolchainError, UsageError

Order = Literal["latest", "random", "earliest"]
_ORDERS: Final[tuple[Order, ...]] = ("latest", "random", "earliest")
_LOCK: Final = threading.RLock()
"""The emulator runs one program at a time."""
_RUNTIME: Final = "class cuda_runtime {"
"""Where this is in a text, soundline_cuda_runtime.cuh is."""


def _load(path: Path, mode: int) -> ctypes.CDLL:
    try:
        return ctypes.CDLL(str(path), mode=mode)
    except OSError as error:
        raise ToolchainError(f"the library {path} cannot be loaded: {error}", where="C++ compiler") from error


@remembered
def _emulator() -> ctypes.CDLL:
    """The emulator, whose functions programs find by their names."""
    compiler = find_cpp_compiler()
    compiler = replace(compiler, flags=(*compiler.flags, *machine_flags()))
    library = cache.loaded(emulator_text(), compiler, lambda path: _load(path, ctypes.RTLD_GLOBAL))
    library.soundline_emulated_report.restype = ctypes.c_char_p
    library.soundline_emulated_fault.restype = ctypes.c_char_p
    library.soundline_emulated_device.restype = ctypes.c_void_p
    library.soundline_emulated_memory.restype = ctypes.c_void_p
    library.soundline_emulated_memory.argtypes = (ctypes.c_size_t,)
    library.soundline_emulated_begin.argtypes = (ctypes.c_uint64, ctypes.c_int, ctypes.c_int)
    return library


def _flags(compiler: Compiler, libraries: Sequence[Path]) -> tuple[str, ...]:
    """How a program is compiled that uses libraries; the emulator's functions are there when it is loaded."""
    flags = (*compiler.flags, "-fstack-clash-protection")  # no frame reaches beyond the page below a stack
    flags = (*flags, "-g1")  # the lines of instructions, for faults
    if "clang" not in compiler.version:
        flags = (*flags, "-fstack-reuse=none")  # registers are variables; none takes the place of another
    if sys.platform == "darwin":
        flags = (*flags, "-Wl,-undefined,dynamic_lookup")
    elif libraries:
        flags = (*flags, "-Wl,--no-as-needed")
    if libraries:
        flags = (*flags, "-x", "none", *map(str, libraries), "-x", "c++")
    return flags


def _c_parts(given: Mapping[str, str], text: str) -> list[Path]:
    """The libraries of the C files.

    Where the program itself provides the table of functions, they hold the addresses of its kernels. A library is
    loaded once and would keep those of the first program that has it, so each program gets its own.
    """
    flags: tuple[str, ...] = ()
    if _RUNTIME in text:
        flags = ("-DSOUNDLINE_LINKED", f"-DSOUNDLINE_PROGRAM_{sha256(text.encode()).hexdigest()}")
    if sys.platform == "darwin":
        flags = (*flags, "-Wl,-undefined,dynamic_lookup")
    return [compiled(self_contained(n, given), *flags) for n in given if n.endswith(".c")]


def _refused(
    failure: ToolchainError, text: Joined, source: CudaSource | None
) -> ToolchainError | GeneratedCodeError:
    """What a compiler said of a program, with the lines of its files."""
    said = text.readable(failure.stderr)
    for line in said.splitlines():
        file, _, rest = line.partition(":")
        number, _, message = rest.partition(":")
        if file in text.names and number.isdecimal() and "error:" in message:
            place = text.place(text.names.index(file) * 100_000 + int(number))
            position = position_of(source, file, int(number))
            return GeneratedCodeError(
                message.partition("error:")[2].strip(),
                file=file,
                line=int(number),
                text=place[2] if place else "",
                statement=position.text.strip() if position else "",
                statement_file=position.file if position else None,
                statement_line=position.line if position else None,
                log=said,
            )
    return failure


@dataclass(frozen=True, slots=True)
class OnDevice:
    """An array that is given in memory of the device: copied there before a call, and back after it if it is `written`.

    There an access beyond its end is found, and so is an asynchronous operation that reads what a thread has written
    and no proxy fence has made known. An array that is given as it is lies in the memory of Python.
    """

    array: np.ndarray[Any, Any]
    written: bool = True

    def placed(self, emulator: ctypes.CDLL) -> ctypes.c_void_p:
        """The array in C order, where the device has it."""
        near = np.ascontiguousarray(self.array)
        at = emulator.soundline_emulated_memory(near.nbytes)
        if at is None:
            raise EmulationError(f"the emulated device has no memory for {near.nbytes} bytes", kind="host")
        ctypes.memmove(at, near.ctypes.data, near.nbytes)
        return ctypes.c_void_p(at)

    def fetch(self, at: ctypes.c_void_p) -> None:
        """What the device has in its place."""
        if self.written and self.array.size:
            near = np.empty(self.array.shape, self.array.dtype)
            ctypes.memmove(near.ctypes.data, at.value or 0, near.nbytes)
            self.array[...] = near


def _argument(value: object) -> Any:
    """An argument as C takes it: arrays by the address of their first element."""
    if isinstance(value, np.ndarray):
        return ctypes.c_void_p(value.ctypes.data)
    if isinstance(value, bool | np.bool_):
        return ctypes.c_bool(bool(value))
    if isinstance(value, int | np.integer):
        return ctypes.c_int64(int(value))
    if value is None:
        return ctypes.c_void_p(None)
    if isinstance(value, float | np.floating):
        raise UsageError(
            f"a float is passed as the C type it has: {value!r}", hint="ctypes.c_float or ctypes.c_double"
        )
    return value


class Emulated:
    """A program that runs emulated."""

    def __init__(
        self, source: CudaSource | Mapping[str, str], *, seed: int, order: Order, multiprocessors: int
    ) -> None:
        self.source = source if isinstance(source, CudaSource) else None
        self.seed = seed
        self.order: Order = order
        self.multiprocessors = multiprocessors
        files = source.files if isinstance(source, CudaSource) else source
        self._emulator = _emulator()
        self._text = joined([name for name in files if name.endswith((".cu", ".cpp"))], files)
        tail = [f'soundline_emulator::registered("{name}", {name});' for name in kernels(files)]
        text = "\n".join(
            [
                self._text.text,
                '#line 1 "kernels"',
                'extern "C" void soundline_emulated_register() {',
                *tail,
                "}\n",
            ]
        )
        self._program = self._built(text, files)

    def _built(self, text: str, files: Mapping[str, str]) -> ctypes.CDLL:
        compiler = find_cpp_compiler()
        try:
            compiler = replace(compiler, flags=_flags(compiler, _c_parts(files, text)))
            return cache.loaded(text, compiler, lambda path: _load(path, ctypes.RTLD_LOCAL))
        except ToolchainError as failure:
            raise _refused(failure, self._text, self.source) from None

    @property
    def device(self) -> ctypes.c_void_p:
        """The table of functions that the C part of a proc is given, a ``struct soundline_device *``."""
        return ctypes.c_void_p(self._emulator.soundline_emulated_device())

    def run(self, entry: str, *arguments: object) -> None:
        """Run a proc on the emulated device: its C function, whose first argument is that device.

        Integers become ``int64_t``, arrays pointers to their first elements (`OnDevice` in memory of the device).
        Raises `EmulationError` where a kernel goes wrong or the function refuses its arguments.
        """
        code = self.call(entry, self.device, *arguments)
        if code:
            why = REFUSALS.get(code, "see the codes of soundline_host.h and of the CUDA runtime")
            raise EmulationError(f"{entry} returned {code}: {why}", kind="host")

    def call(self, entry: str, *arguments: object) -> int:
        """Call a function of C linkage, and return what it returns.

        Raises `EmulationError` where a kernel goes wrong.
        """
        try:
            function = self._program[entry]
        except AttributeError:
            raise UsageError(
                f"the program has no function {entry}", hint='declare it extern "C" in one of the files'
            ) from None
        with _LOCK:
            self._emulator.soundline_emulated_begin(
                self.seed & (1 << 64) - 1, _ORDERS.index(self.order), self.multiprocessors
            )
            self._emulator.soundline_emulated_forget_kernels()
            self._program.soundline_emulated_register()
            given = [a.placed(self._emulator) if isinstance(a, OnDevice) else _argument(a) for a in arguments]
            code = int(function(*given))
            for argument, at in zip(arguments, given, strict=True):
                if isinstance(argument, OnDevice):
                    argument.fetch(at)
            report = self._emulator.soundline_emulated_report().decode(errors="replace")
            fault = self._emulator.soundline_emulated_fault().decode(errors="replace")
        if report:
            raise error_of(report, self._text, self.source, fault)
        return code


def emulated(
    source_or_files: CudaSource | Mapping[str, str],
    *,
    seed: int = 0,
    order: Order = "latest",
    multiprocessors: int = 4,
) -> Emulated:
    """A program made ready to run without a GPU: generated, or files by their names.

    `seed` is the order in which threads have their turns: as they come (0), the last first, so that a warp runs as far
    as it can (1), any of them (even), or those of one warp after another, which changes now and then (odd). `order` is
    when asynchronous operations happen, what they read is read and what they write is written: as late as the wait for
    them allows, at some time between, or at once. Together the odd seeds with each order find most mistakes. There are
    so many `multiprocessors`, each of which holds the blocks that a launch says.

    Raises `ToolchainError` where there is no C++ compiler, and `GeneratedCodeError` where it refuses the program.
    """
    if order not in _ORDERS:
        raise UsageError(f"order is {order!r}", hint='"latest", "random" or "earliest"')
    if multiprocessors < 1:
        raise UsageError(f"{multiprocessors} multiprocessors", hint="at least 1")
    return Emulated(source_or_files, seed=seed, order=order, multiprocessors=multiprocessors)
