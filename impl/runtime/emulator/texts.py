"""
Texts to compile
================

A program is several files that include each other and headers of ours. The compile cache takes one text: each include
of a known file is replaced by the file. The lines of file k are counted from 100000 k on, so that one number, which is
what a function of the emulator is given, says which line of which file called it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Final

from soundline.impl.codegen.cuda.source import header_text

LINES: Final = 100_000
"""More lines than a file has."""
_INCLUDE: Final = re.compile(r'^[ \t]*#[ \t]*include[ \t]*["<]([^">]+)[">]')
_ONCE: Final = re.compile(r"^[ \t]*#[ \t]*pragma[ \t]+once\b")
_KERNEL: Final = re.compile(
    r"(?P<template>>\s*)?__global__"
    r"(?:\s+void|\s+(?:__launch_bounds__|__cluster_dims__|SOUNDLINE_CLUSTER)\s*\([^()]*(?:\([^()]*\)[^()]*)*\))+"
    r"\s+(?P<name>\w+)\s*\("
)
OURS: Final = (
    "soundline_ptx.cuh",
    "cuda_runtime.h",
    "cuda.h",
    "interface.h",
    "fibers.h",
    "machine.h",
    "reports.h",
    "blocks.h",
    "global_memory.h",
    "mbarriers.h",
    "copies.h",
    "tensor_maps.h",
    "warps.h",
    "products.h",
    "faults.h",
)
"""The headers of the emulator; those of the same name that a program brings stand back."""
_GENERATOR: Final = ("soundline_device.cuh", "soundline_host.h", "soundline_cuda_runtime.cuh")


def _library(name: str) -> str | None:
    """The text of a header that programs may include."""
    if name in OURS:
        return files("soundline.impl.runtime.emulator").joinpath(name).read_text(encoding="utf-8")
    return header_text(name) if name in _GENERATOR else None


@dataclass(slots=True)
class Joined:
    """Files put together as one text to compile."""

    given: Mapping[str, str]
    names: list[str] = field(default_factory=list)
    """The files in the order of their numbers."""
    lines: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """What is compiled."""
        return "\n".join(self.lines) + "\n"

    def add(self, name: str) -> None:
        """Put a file at the end, with all that it includes."""
        self._insert(name, self._text(name) or "", ())

    def place(self, line: int) -> tuple[str, int, str] | None:
        """The file, the line within it and its text that a number stands for."""
        number, within = divmod(line, LINES)
        if line <= 0 or number >= len(self.names):
            return None
        name = self.names[number]
        texts = (self._text(name) or "").splitlines()
        return name, within, texts[within - 1] if 1 <= within <= len(texts) else ""

    def readable(self, message: str) -> str:
        """What a compiler says, with lines as they are counted in the files."""

        def counted(found: re.Match[str]) -> str:
            return f"{found[1]}:{int(found[2]) % LINES}"

        names = "|".join(re.escape(name) for name in self.names)
        return re.sub(rf"\b({names}):(\d+)", counted, message)

    def _text(self, name: str) -> str | None:
        found = _library(name)
        return found if found is not None else self.given.get(name)

    def _insert(self, name: str, text: str, within: tuple[str, ...]) -> None:
        if name not in self.names:
            self.names.append(name)
        number = self.names.index(name)
        guard = f"SOUNDLINE_FILE_{number}"
        lines = text.splitlines()
        once = any(_ONCE.match(line) for line in lines)
        if once:
            self.lines += [f"#ifndef {guard}", f"#define {guard}"]
        self.lines.append(f'#line {number * LINES + 1} "{name}"')
        for k, line in enumerate(lines, 1):
            found = _INCLUDE.match(line)
            inner = self._text(found[1]) if found and found[1] not in within else None
            if found and found[1] == name:
                inner = None
            if found and inner is not None:
                self._insert(found[1], inner, (*within, name))
                self.lines.append(f'#line {number * LINES + k + 1} "{name}"')
            else:
                self.lines.append("" if _ONCE.match(line) else line)
        if once:
            self.lines.append("#endif")


def joined(names: Iterable[str], given: Mapping[str, str]) -> Joined:
    """Files with all that they include."""
    result = Joined(given)
    for name in names:
        result.add(name)
    return result


def kernels(given: Mapping[str, str]) -> Iterator[str]:
    """The names of the kernels of a program; templates have none."""
    for name, text in given.items():
        if name.endswith((".cu", ".cuh")):
            yield from (found["name"] for found in _KERNEL.finditer(text) if not found["template"])


def emulator_text() -> str:
    """The emulator itself, which is compiled once."""
    name = "emulator.cpp"
    text = files("soundline.impl.runtime.emulator").joinpath(name).read_text(encoding="utf-8")
    return joined([name], {name: text}).text
