"""
CPU
===

Compile and load the library of a program: its kernels, behind one entry that runs any of them over a table of pointers.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy.typing as npt

from soundline.impl.codegen.c.interruption import CHECK
from soundline.impl.codegen.c.renderer import COMMANDS, ENTRY
from soundline.impl.runtime import cache
from soundline.impl.runtime.commands import Command
from soundline.impl.runtime.host import ffi, host
from soundline.impl.toolchain import find_compiler
from soundline.spec.errors import SoundlineError, ToolchainError

Bytes = npt.NDArray[Any]


class Library:
    """The loaded kernels of a program; `commands` runs them in order."""

    def __init__(self, path: Path) -> None:
        try:
            self._library = ffi().dlopen(str(path))
            entry = ffi().addressof(self._library, ENTRY)
            cores = getattr(self._library, COMMANDS)
        except (OSError, AttributeError) as error:
            raise ToolchainError(f"the compiled library cannot be loaded: {error}") from error
        self.commands = [Command(entry, k, 0, int(cores[1 + k])) for k in range(int(cores[0]))]

    def watch(self) -> None:
        """Let its long kernels ask the host whether they are to end."""
        with contextlib.suppress(KeyError, AttributeError):  # a library without long kernels does not ask
            setattr(self._library, CHECK, ffi().addressof(host().library, "soundline_check"))

    def run(self, slots: Sequence[Bytes]) -> None:
        """Run all kernels of the program on these arrays, which must be C-contiguous and aligned."""
        rows = [(c.run, c.number, c.first, c.cores) for c in self.commands]
        table = ffi().new("void *[]", [ffi().cast("void *", a.ctypes.data) for a in slots])
        if host().execute(ffi().new("struct command[]", rows), len(rows), table):
            raise host().stopped()


def build(source: str) -> Library:
    """Compile and load a program, or load it from the cache."""
    compiler = find_compiler()
    hosted = threading.Thread(target=_host_beside, daemon=True)  # its first compilation runs beside this one
    hosted.start()
    try:
        library = cache.loaded(source, compiler, Library)
    finally:
        hosted.join()
    library.watch()
    return library


def _host_beside() -> None:
    with contextlib.suppress(SoundlineError):  # who runs the program asks for it again, and gets the error
        host()
