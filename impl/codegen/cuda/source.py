"""
The generated files
===================

What becomes of a proc: a C header and a C file for its part on the CPU, and where it has device functions a header of
CUDA C++ and a file with the kernels. For each line of each file it is known which statement it came from.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files as resources
from pathlib import Path
from typing import Final

from soundline.impl.codegen.cuda.kernels import Kernel
from soundline.spec.errors import UsageError
from soundline.spec.spork.language.nodes import Node

HEADERS: Final = ("soundline_host.h", "soundline_device.cuh", "soundline_ptx.cuh")
"""The headers that generated files include; they are the same for all programs."""


@dataclass(frozen=True, slots=True)
class CudaSource:
    """The CUDA C++ and C of a proc."""

    name: str
    """The name of the proc, with which the names of the files begin."""
    arch: str
    files: Mapping[str, str]
    """The text of each file by its name: ``.h`` and ``.c``, and ``.cuh`` and ``.cu`` where there are kernels."""
    kernels: tuple[Kernel, ...]
    origins: Mapping[str, tuple[Node | None, ...]]
    """For each line of each file the statement that it came from."""
    function: str
    """The name of the C function: that of the proc, if C has no other meaning for it."""

    def __str__(self) -> str:
        """The device part; of a proc without one the part of the CPU."""
        return self.files[f"{self.name}.cuh" if self.kernels else f"{self.name}.c"]

    def origin(self, file: str, line: int) -> Node | None:
        """The statement from which a line of a file came; lines are counted from 1."""
        found = self.origins.get(file, ())
        return found[line - 1] if 1 <= line <= len(found) else None

    @property
    def headers(self) -> tuple[str, ...]:
        """The names of the headers of `header_text` that the files include."""
        return HEADERS if self.kernels else HEADERS[:1]

    def write(self, folder: str | Path) -> list[Path]:
        """Write the files, and the headers that they include, to a folder; return what was written.

        Raises `UsageError` where that is not possible.
        """
        texts = {**self.files, **{name: header_text(name) for name in self.headers}}
        there = Path(folder)
        if there.exists() and not there.is_dir():
            raise UsageError(f"{folder} is a file", hint="name a folder for the generated files")
        try:
            there.mkdir(parents=True, exist_ok=True)
            for name, text in texts.items():
                (there / name).write_text(text, encoding="utf-8")
        except OSError as error:
            raise UsageError(f"{folder} cannot be written: {error.strerror}") from None
        return [there / name for name in texts]


def header_text(name: str) -> str:
    """The text of a header that generated files include."""
    return resources("soundline.impl.codegen.cuda").joinpath(name).read_text(encoding="utf-8")
