"""
Command buffers
===============

What a program is when it runs: a table of commands, and tables of pointers over which they run. A command names a
kernel of a loaded library, the slot from which the kernel counts, and how many cores may share it. One foreign call
executes the whole table; other Python threads run meanwhile.

A table of pointers is filled in part once, with the arrays that the program has captured and with memory for its
temporaries, and in part by each call, with its arguments and results. A call takes a table that no other call holds, so
several threads may run one program at once.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from soundline.impl.arrays import memory
from soundline.impl.runtime.host import ffi, host

Arrays = npt.NDArray[Any]
Shaped = tuple[np.dtype[Any], tuple[int, ...]]
"""The dtype and shape of an array."""

_TEMPORARIES: Final = "the temporaries of a program"
KEPT: Final = 1 << 26
"""Temporaries up to this many bytes stay with the table; more go back to the pool after each call."""


@dataclass(frozen=True, slots=True)
class Command:
    """One step of a program: a kernel of a library, its first slot, and over how many cores it may be spread."""

    run: Any
    number: int
    first: int = 0
    cores: int = 1


class CommandBuffer:
    """Commands over slots: first the arguments, then the captured arrays, the results, and the temporaries.

    Where `aliases` are given, slots follow that point where others do, so many bytes further, so that one kernel may
    run on several groups of slots.
    """

    def __init__(
        self,
        commands: Sequence[Command],
        takes: Sequence[Shaped],
        captured: Sequence[Arrays],
        gives: Sequence[Shaped],
        temporaries: int = 0,
        aliases: Sequence[tuple[int, int, int]] = (),
        after: Callable[[], None] | None = None,
    ) -> None:
        self._host = host()
        self._after = after
        self._captured = tuple(captured)
        self._gives = tuple(gives)
        self._makers = tuple(_maker(dtype, shape) for dtype, shape in gives)
        self._maker = self._makers[0] if len(gives) == 1 else None
        self._first_made = len(takes) + len(captured)
        self._temporaries = temporaries
        self._arena = self._first_made + len(gives)
        used = [self._arena + 1, *(to + 1 for to, _, _ in aliases)]
        self._slots = max(used)
        self.aliases = tuple(aliases)
        self._tables: list[Any] = []
        self._arenas: list[Arrays] = []
        rows = [(c.run, c.number, c.first, c.cores) for c in commands]
        self._commands = ffi().new("struct command[]", rows)
        self.count = len(rows)
        self._program = self._described(takes)
        self._call = self._host.call
        self._plain = self._host.layout is not None and temporaries <= KEPT

    def _described(self, takes: Sequence[Shaped]) -> Any:
        """The program as C reads it."""
        wanted = [self._host.argument(dtype, shape) for dtype, shape in takes]
        arguments = ffi().new("struct argument[]", [w[0][0] for w in wanted])
        aliases = ffi().new("struct alias[]", list(self.aliases))
        self._kept = (wanted, arguments, aliases)
        described = ffi().new("struct program *")
        described.layout = self._host.layout or ffi().NULL
        described.commands, described.count = self._commands, self.count
        described.aliases, described.aliased = aliases, len(self.aliases)
        described.arguments, described.taken = arguments, len(takes)
        described.made, described.first_made = len(self._makers), self._first_made
        return described

    def _table(self) -> Any:
        """A fresh table of pointers, with all that stays the same from call to call."""
        table = ffi().new("void *[]", self._slots)
        first = self._first_made - len(self._captured)
        for k, array in enumerate(self._captured):
            table[first + k] = _pointer(array)
        if 0 < self._temporaries <= KEPT:
            arena = memory.empty(self._temporaries, np.dtype(np.uint8), what=_TEMPORARIES)
            self._arenas.append(arena)
            table[self._arena] = _pointer(arena)
        return table

    def run(self, arguments: tuple[Any, ...]) -> tuple[Arrays, ...] | None:
        """Run on as many arguments as the program takes; None where one of them is no plain array of its dtype and
        shape, and nothing was run.
        """
        if not self._plain:
            return None
        maker = self._maker
        results = (maker(),) if maker else tuple([make() for make in self._makers])
        try:
            table = self._tables.pop()
        except IndexError:
            table = self._table()
        refused = self._call(self._program, table, id(arguments), id(results))
        self._tables.append(table)
        if self._after:
            self._after()
        if refused == -1:
            return results
        if refused < 0:
            raise self._host.stopped()
        return None

    def run_checked(self, arguments: Sequence[Arrays]) -> tuple[Arrays, ...]:
        """Run on arrays of the right dtypes and shapes, C-contiguous and aligned."""
        return self._with(arguments, self._host.execute)

    def run_into(self, arguments: Sequence[Arrays], shapes: Sequence[tuple[int, ...]]) -> tuple[Arrays, ...]:
        """The same where the results have other shapes than those of the greatest sizes."""
        dtypes = (dtype for dtype, _ in self._gives)
        results = tuple(_maker(d, s)() for d, s in zip(dtypes, shapes, strict=True))
        return self._with(arguments, self._host.execute, results)

    def measured(self, arguments: Sequence[Arrays]) -> tuple[tuple[Arrays, ...], list[int]]:
        """The same, and the nanoseconds that each command took."""
        taken = ffi().new("int64_t[]", self.count)
        measure = self._host.library.soundline_measure
        results = self._with(arguments, lambda c, n, table: measure(c, n, table, taken))
        return results, list(taken)

    @property
    def captured(self) -> tuple[Arrays, ...]:
        """The arrays that the program has captured."""
        return self._captured

    @property
    def cores(self) -> list[int]:
        """Over how many cores each command may be spread."""
        return [int(self._commands[k].cores) for k in range(self.count)]

    def _with(
        self,
        arguments: Sequence[Arrays],
        execute: Callable[..., object],
        given: tuple[Arrays, ...] | None = None,
    ) -> tuple[Arrays, ...]:
        results = tuple(make() for make in self._makers) if given is None else given
        try:
            table = self._tables.pop()
        except IndexError:
            table = self._table()
        for slot, array in (*enumerate(arguments), *enumerate(results, self._first_made)):
            table[slot] = _pointer(array)
        large = self._temporaries > KEPT
        arena = memory.empty(self._temporaries, np.dtype(np.uint8), what=_TEMPORARIES) if large else None
        if arena is not None:
            table[self._arena] = _pointer(arena)
        for to, origin, offset in self.aliases:
            table[to] = ffi().cast("char *", table[origin]) + offset
        stopped = execute(self._commands, self.count, table)
        self._tables.append(table)
        if self._after:
            self._after()
        if stopped:
            raise self._host.stopped()
        return results


def _pointer(array: Arrays) -> Any:
    return ffi().cast("void *", array.ctypes.data)


def _maker(dtype: np.dtype[Any], shape: tuple[int, ...]) -> Callable[[], Arrays]:
    """What makes a fresh array for a result."""
    if math.prod(shape) * dtype.itemsize < memory.SMALL:
        return functools.partial(np.empty, shape, dtype)
    return functools.partial(memory.shaped, shape, dtype)
