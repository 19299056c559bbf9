"""
Many programs at once
=====================

A compiler of C++ takes seconds for headers and little for a small program. So the CUDA of many programs, each of which
has names of its own, is compiled as one text, and emulated program by program.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np

from soundline.impl.codegen.cuda.source import CudaSource
from soundline.impl.runtime.emulator import emulation
from soundline.impl.runtime.emulator.emulation import Emulated, Order, emulated
from soundline.impl.spork.program import SporkProc
from soundline.impl.toolchain import Compiler
from soundline.spec.dtypes import to_numpy
from soundline.spec.errors import EmulationError
from soundline.spec.spork.language.expressions import Const
from soundline.spec.spork.language.types import Control, Data

Schedule = tuple[Order, int]
"""When asynchronous operations happen, and in which order threads have their turns."""
SCHEDULES: Final[tuple[Schedule, ...]] = (
    ("latest", 0),
    ("latest", 1),
    ("latest", 2),
    ("latest", 3),
    ("earliest", 1),
    ("earliest", 4),
    ("random", 0),
    ("random", 1),
    *(("random", seed) for seed in range(5, 12)),
)
"""How each program is run: odd seeds above 1 let one warp run ahead, even ones take any thread."""
MULTIPROCESSORS: Final = 2

Arrays = Mapping[str, np.ndarray[Any, Any]]


@dataclass(frozen=True, slots=True)
class Case:
    """A program, its CUDA, and arrays before and after."""

    proc: SporkProc
    source: CudaSource
    before: Arrays
    after: Arrays
    sizes: Mapping[str, int] = field(default_factory=dict)
    pieces: bool = False
    """Whether elements are pieces, of which only the first element means anything."""
    tolerance: float = 0.0
    """How far a value may be off, where the program has instructions that are approximate."""

    def given(self, arrays: Arrays) -> Iterator[Any]:
        """The arguments of the C function."""
        for argument in self.proc.arguments:
            control = isinstance(argument.type, Control)
            yield self.sizes[argument.name] if control else arrays[argument.name]


def small_case(proc: SporkProc) -> Case:
    """A program of pieces, with arrays of its own numbers, and what its sequential reading makes of them."""
    source = proc.cuda()
    before = numbers(proc)
    after = {name: array.copy() for name, array in before.items()}
    proc.run(**after)
    return Case(proc, source, before, after, pieces=True)


def numbers(proc: SporkProc, seed: int = 0) -> dict[str, np.ndarray[Any, Any]]:
    """Different numbers, of up to three digits, for each argument of a program without sizes."""
    random = np.random.default_rng(seed)
    found = {}
    for argument in proc.arguments:
        assert isinstance(argument.type, Data)
        shape = tuple(int(s.value) for s in argument.type.sizes if isinstance(s, Const))
        given = random.permutation(997)[: int(np.prod(shape))]
        found[argument.name] = given.reshape(shape).astype(to_numpy(argument.type.dtype))
    return found


def together(sources: Sequence[CudaSource]) -> dict[str, str]:
    """The files of programs of different names, as files of one program."""
    files: dict[str, str] = {}
    for source in sources:
        files |= {f"{n}.inc" if n.endswith(".c") else n: text for n, text in source.files.items()}
    parts = "".join(f'#include "{name}"\n' for name in files if name.endswith(".c.inc"))
    return files | {"programs.c": parts}


class Batch:
    """Cases that were compiled together; in a hurry without optimization, where they run but a few times."""

    def __init__(self, cases: Sequence[Case], *, hurried: bool = False) -> None:
        self.cases = cases
        given = together([c.source for c in cases])
        flags = emulation._flags

        def fast(compiler: Compiler, libraries: Sequence[Path]) -> tuple[str, ...]:
            return tuple("-O0" if flag == "-O2" else flag for flag in flags(compiler, libraries))

        if hurried:
            emulation._flags = fast
        try:
            self.program: Emulated = emulated(given, multiprocessors=MULTIPROCESSORS)
        finally:
            emulation._flags = flags

    def wrong(self, number: int, schedules: Sequence[Schedule] = SCHEDULES) -> str:
        """What the first schedule that shows something wrong shows of a case; nothing where all are right."""
        given = self.cases[number]
        for order, seed in schedules:
            self.program.order, self.program.seed = order, seed
            around = {name: Surrounded(array) for name, array in given.before.items()}
            found = {name: surrounded.array for name, surrounded in around.items()}
            try:
                self.program.run(given.source.function, *given.given(found))
            except EmulationError as error:
                return f"{order} {seed}: {error}"
            outside = [name for name, surrounded in around.items() if not surrounded.is_intact()]
            said = f"writes outside of {', '.join(outside)}" if outside else difference(given, found)
            if said:
                return f"{order} {seed}: {said}"
        return ""


MARGIN: Final = 1 << 16
"""Bytes before and after an array."""
ALIGNMENT: Final = 256
UNTOUCHED: Final = 0xA5


class Surrounded:
    """A copy of an array between bytes that nobody may write."""

    def __init__(self, array: np.ndarray[Any, Any]) -> None:
        self.bytes = np.full(2 * MARGIN + array.nbytes + ALIGNMENT, UNTOUCHED, np.uint8)
        self.start = MARGIN + -(self.bytes.ctypes.data + MARGIN) % ALIGNMENT
        self.end = self.start + array.nbytes
        self.array = self.bytes[self.start : self.end].view(array.dtype).reshape(array.shape)
        self.array[...] = array

    def is_intact(self) -> bool:
        """Whether the bytes around are as they were."""
        around = (self.bytes[: self.start], self.bytes[self.end :])
        return all(bool((part == UNTOUCHED).all()) for part in around)


def difference(case: Case, found: Arrays) -> str:
    """The first element that differs; nothing where none does."""
    for name, expected in case.after.items():
        ours = found[name]
        if case.pieces:
            expected, ours = expected[..., 0], ours[..., 0]
        if case.tolerance:
            a, b = ours.astype(np.float64), expected.astype(np.float64)
            same = np.isclose(a, b, rtol=case.tolerance, atol=case.tolerance, equal_nan=True)
        else:
            same = (ours == expected) | ((ours != ours) & (expected != expected))
        differs = np.argwhere(~same)
        if len(differs):
            at = tuple(int(i) for i in differs[0])
            return f"{name}[{', '.join(map(str, at))}] is {ours[at]}, and {expected[at]} sequentially"
    return ""
