"""
Many programs at once
=====================

A compiler of C++ takes seconds for headers and little for a small program. So the CUDA of many programs, each of which
has names of its own, is compiled as one text, and emulated program by program.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from soundline.impl.codegen.cuda.source import CudaSource
from soundline.impl.runtime.emulator.emulation import Emulated, Order, emulated
from soundline.impl.spork.program import SporkProc
from soundline.spec.dtypes import to_numpy
from soundline.spec.errors import EmulationError
from soundline.spec.spork.language.expressions import Const
from soundline.spec.spork.language.types import Data

Schedule = tuple[Order, int]
"""When asynchronous operations happen, and in which order threads have their turns."""
SCHEDULES: tuple[Schedule, ...] = (
    ("latest", 0),
    ("latest", 1),
    ("latest", 2),
    ("latest", 3),
    ("earliest", 1),
    ("earliest", 4),
    ("random", 0),
    *(("random", seed) for seed in range(5, 13)),
)
"""How each program is run: odd seeds above 1 let one warp run ahead, even ones take any thread."""

Arrays = Mapping[str, np.ndarray[Any, Any]]


@dataclass(frozen=True, slots=True)
class Case:
    """A program, its CUDA, and arrays before and after."""

    proc: SporkProc
    source: CudaSource
    before: Arrays
    after: Arrays


def case(proc: SporkProc) -> Case:
    """A program without sizes, with arrays of its own numbers, and what its sequential reading makes of them."""
    source = proc.cuda()
    before = arrays(proc)
    after = {name: array.copy() for name, array in before.items()}
    proc.run(**after)
    return Case(proc, source, before, after)


def arrays(proc: SporkProc, seed: int = 0) -> dict[str, np.ndarray[Any, Any]]:
    """Different numbers, of up to three digits, for each argument."""
    random = np.random.default_rng(seed)
    found = {}
    for argument in proc.arguments:
        assert isinstance(argument.type, Data)
        shape = tuple(int(s.value) for s in argument.type.sizes if isinstance(s, Const))
        numbers = random.permutation(997)[: int(np.prod(shape))] if np.prod(shape) <= 997 else random.integers(0, 997, int(np.prod(shape)))
        found[argument.name] = numbers.reshape(shape).astype(to_numpy(argument.type.dtype))
    return found


def together(sources: Sequence[CudaSource]) -> dict[str, str]:
    """The files of programs of different names, as files of one program."""
    files: dict[str, str] = {}
    for source in sources:
        files |= {name if not name.endswith(".c") else f"{name}.inc": text for name, text in source.files.items()}
    parts = "".join(f'#include "{name}"\n' for name in files if name.endswith(".c.inc"))
    return files | {"programs.c": parts}


class Batch:
    """Cases that were compiled together."""

    def __init__(self, cases: Sequence[Case]) -> None:
        self.cases = cases
        self.program: Emulated = emulated(together([c.source for c in cases]), multiprocessors=2)

    def wrong(self, number: int, schedules: Sequence[Schedule] = SCHEDULES) -> str:
        """What the first schedule that shows something wrong shows of a case; nothing where all are right."""
        given = self.cases[number]
        for order, seed in schedules:
            self.program.order, self.program.seed = order, seed
            found = {name: array.copy() for name, array in given.before.items()}
            try:
                self.program.run(given.source.function, *found.values())
            except EmulationError as error:
                return f"{order} {seed}: {error}"
            said = difference(given.after, found)
            if said:
                return f"{order} {seed}: {said}"
        return ""


def difference(expected: Arrays, found: Arrays) -> str:
    """The first elements that differ: those that the program has; the rest of a piece is nobody's."""
    for name, array in expected.items():
        differs = np.argwhere(array[..., 0] != found[name][..., 0])
        if len(differs):
            at = (*(int(i) for i in differs[0]), 0)
            place = f"{name}[{', '.join(map(str, at))}]"
            return f"{place} is {found[name][at]}, and {array[at]} sequentially"
    return ""
