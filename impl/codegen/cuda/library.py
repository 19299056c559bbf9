"""
What the generator is made with
===============================

The parts that statements are lowered by: the texts of instructions, the storage of registers, and the synchronization
of a device function. The generator of statements knows them by these signatures alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from soundline.impl.codegen.cuda.expressions import Names
from soundline.impl.codegen.cuda.operands import CallSite, Trailing
from soundline.impl.codegen.cuda.writing import Writer
from soundline.spec.dtypes import DType
from soundline.spec.spork.language.scopes import Scope
from soundline.spec.spork.language.statements import (
    Arrive,
    Await,
    Call,
    CudaAsync,
    CudaDeviceFunction,
    Fence,
    Statement,
)
from soundline.spec.spork.library.memories import Memory
from soundline.spec.spork.library.schema import Instruction
from soundline.spec.spork.static.law import Facts
from soundline.spec.spork.static.windows import Path


class Synchronizing(Protocol):
    """What fences, arrives and awaits of a device function become."""

    @property
    def shared_bytes(self) -> int:
        """The bytes at the front of shared memory in which mbarriers lie."""

    def declare(self, out: Writer) -> None:
        """The struct of counters."""

    def setup(self, out: Writer) -> None:
        """What comes before the first task."""

    def shutdown(self, out: Writer) -> None:
        """What comes after the last one."""

    def fence(self, out: Writer, statement: Fence, path: Path, scope: Scope, names: Names) -> None:
        """A fence."""

    def arrive(self, out: Writer, statement: Arrive, path: Path, scope: Scope, names: Names) -> None:
        """An arrive."""

    def await_(self, out: Writer, statement: Await, path: Path, scope: Scope, names: Names) -> None:
        """An await."""

    def async_block(self, out: Writer, statement: CudaAsync, path: Path, scope: Scope) -> None:
        """What opens a block of an asynchronous timeline."""

    def trailing(
        self, call: Call, path: Path, scope: Scope, bytes_text: str, names: Names
    ) -> tuple[Trailing, list[str]]:
        """The barrier that follows a call, and what counts its bytes."""

    def task_boundary(self, out: Writer, last: Statement | None) -> None:
        """What comes between two tasks of one CTA."""


@dataclass(frozen=True, slots=True)
class Library:
    """The parts by which statements are lowered."""

    texts: Mapping[type[Instruction], Callable[[CallSite], Iterable[str]]]
    """The lines of an instruction, by its class."""
    bytes_of: Callable[[CallSite], int | str]
    """How many bytes an asynchronous copy reports to its barrier."""
    register_storage: Callable[[Memory, DType, Sequence[int]], tuple[str, int, int]]
    """Of fragments the type of a word, the words of a tile in a thread, and the rank of a tile."""
    synchronization: Callable[[Facts, CudaDeviceFunction, Path, int, bool], Synchronizing]
    """The synchronization of a device function, by its facts, its node, its path, the arch, and whether TMA and threads
    reach different arrays of global memory.
    """
