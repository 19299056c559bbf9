"""
CPU
===

Load a compiled library and run it: a table of pointers, and one foreign call, during which other Python threads run.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy.typing as npt

from soundline.impl.codegen.c import ENTRY
from soundline.impl.runtime.cache import library_for
from soundline.impl.runtime.toolchain import find_compiler
from soundline.spec.errors import ToolchainError

Bytes = npt.NDArray[Any]


@functools.cache
def _ffi() -> Any:
    import cffi  # only programs that run need it

    ffi = cffi.FFI()
    ffi.cdef(f"void {ENTRY}(void **slot);")
    return ffi


class Library:
    """A loaded program."""

    def __init__(self, path: Path) -> None:
        try:
            self._library = _ffi().dlopen(str(path))
        except OSError as error:
            raise ToolchainError(f"the compiled library cannot be loaded: {error}") from error
        self._entry = getattr(self._library, ENTRY)

    def run(self, slots: Sequence[Bytes]) -> None:
        """Run all kernels of the program on these arrays, which must be C-contiguous and aligned."""
        new, cast = _ffi().new, _ffi().cast
        self._entry(new("void *[]", [cast("void *", a.ctypes.data) for a in slots]))


def build(source: str) -> Library:
    """Compile and load a program, or load it from the cache."""
    return Library(library_for(source, find_compiler()))
