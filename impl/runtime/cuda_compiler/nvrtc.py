"""
NVRTC
=====

NVIDIA's compiler of CUDA C++ as a library: text becomes machine code and PTX, in memory, on a machine without a GPU.

It is the library that ``$SOUNDLINE_NVRTC`` names, or else the first that is found of: the wheels
``nvidia-cuda-nvrtc-cu12`` and ``nvidia-cuda-nvrtc``, the CUDA toolkit, and the libraries of the system. The wheel of
CUDA 12 comes first: drivers of CUDA 12 and 13 run what it makes.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import functools
import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Protocol

from soundline.spec.errors import ToolchainError

VARIABLE: Final = "SOUNDLINE_NVRTC"
"""The environment variable that names the file of the library."""
WHERE: Final = "CUDA compiler"
_INSTALL: Final = (
    "pip install 'soundline[nvrtc]', which brings the wheel nvidia-cuda-nvrtc-cu12 and needs no GPU, or name the file "
    f"of a libnvrtc in the environment variable {VARIABLE}"
)
TIMES: Final = re.compile(r"^ptxas info\s*: Compile time = .*\n", re.MULTILINE)
"""How long it took is no part of what came out."""
_WHEELS: Final = ("nvidia/cuda_nvrtc/lib", "nvidia/cu13/lib")
TOOLKITS: Final = ("CUDA_HOME", "CUDA_PATH")
"""The environment variables that name the folder of a CUDA toolkit."""
TOOLKIT: Final = Path("/usr/local/cuda")
"""Where it is otherwise."""


VIRTUAL: Final = "-arch=compute_"
"""How the option begins that asks for PTX alone."""


@dataclass(frozen=True, slots=True)
class Output:
    """What a compilation made."""

    cubin: bytes
    """Machine code; empty where it failed, and for a virtual architecture."""
    ptx: str
    log: str
    succeeded: bool


class KernelCompiler(Protocol):
    """What compiles kernels: NVRTC, or nvcc in its place."""

    @property
    def version(self) -> str:
        """Which one it is, where its output may differ."""

    def compile(self, name: str, text: str, headers: Mapping[str, str], options: Sequence[str]) -> Output:
        """Compile one file; headers are found by their names."""


class Nvrtc:
    """The loaded library."""

    version: str
    """Its numbers."""

    def __init__(self, path: str) -> None:
        self.path = path
        try:
            self._library = ctypes.CDLL(path)
            major, minor = ctypes.c_int(), ctypes.c_int()
            self._call("nvrtcVersion", ctypes.byref(major), ctypes.byref(minor))
        except (OSError, AttributeError) as error:
            raise ToolchainError(f"{path} cannot be loaded: {error}", where=WHERE, hint=_INSTALL) from error
        self.version = f"NVRTC {major.value}.{minor.value}"

    def compile(self, name: str, text: str, headers: Mapping[str, str], options: Sequence[str]) -> Output:
        """Compile one file; headers are found by their names, and no other file is read."""
        program = ctypes.c_void_p()
        texts = (ctypes.c_char_p * len(headers))(*(t.encode() for t in headers.values()))
        names = (ctypes.c_char_p * len(headers))(*(n.encode() for n in headers))
        self._call(
            "nvrtcCreateProgram",
            ctypes.byref(program),
            text.encode(),
            name.encode(),
            len(headers),
            texts,
            names,
        )
        try:
            given = (ctypes.c_char_p * len(options))(*(o.encode() for o in options))
            code = self._library.nvrtcCompileProgram(program, len(options), given)
            log = TIMES.sub("", self._bytes("ProgramLog", program).rstrip(b"\0").decode(errors="replace"))
            if code != 0:
                return Output(b"", "", log or self._reason(code), succeeded=False)
            ptx = self._bytes("PTX", program).rstrip(b"\0").decode()
            return Output(self._bytes("CUBIN", program), ptx, log, succeeded=True)
        finally:
            self._library.nvrtcDestroyProgram(ctypes.byref(program))

    def _bytes(self, what: str, program: ctypes.c_void_p) -> bytes:
        size = ctypes.c_size_t()
        self._call(f"nvrtcGet{what}Size", program, ctypes.byref(size))
        buffer = ctypes.create_string_buffer(max(size.value, 1))
        if size.value:
            self._call(f"nvrtcGet{what}", program, buffer)
        return buffer.raw[: size.value]

    def _call(self, name: str, *arguments: Any) -> None:
        code = getattr(self._library, name)(*arguments)
        if code != 0:
            raise ToolchainError(f"{name} failed: {self._reason(code)}", where=WHERE)

    def _reason(self, code: int) -> str:
        self._library.nvrtcGetErrorString.restype = ctypes.c_char_p
        return str(self._library.nvrtcGetErrorString(code).decode())


def candidates() -> Iterator[str]:
    """The files that may be the library, where none is named, in order of preference."""
    folders = [Path(entry, wheel) for wheel in _WHEELS for entry in sys.path]
    folders += [Path(os.environ[v], "lib64") for v in TOOLKITS if os.environ.get(v)]
    folders.append(TOOLKIT / "lib64")
    for folder in folders:
        yield from (str(f) for f in sorted(folder.glob("libnvrtc.so*")))
    if (found := ctypes.util.find_library("nvrtc")) is not None:
        yield found


def nvrtc() -> Nvrtc:
    """The library of this process; raises `ToolchainError` where there is none, and says what to install."""
    if named := os.environ.get(VARIABLE):
        if not Path(named).is_file():
            raise ToolchainError(f"{VARIABLE} names {named}, which is no file", where=WHERE, hint=_INSTALL)
        return _loaded(named)
    if (path := library_file()) is None:
        raise ToolchainError("NVRTC, which compiles CUDA, is not installed", where=WHERE, hint=_INSTALL)
    return _loaded(path)


def library_file() -> str | None:
    """The file of the library that is used: what the variable names, or the first candidate."""
    return os.environ.get(VARIABLE) or next(candidates(), None)


@functools.cache
def _loaded(path: str) -> Nvrtc:
    return Nvrtc(path)
