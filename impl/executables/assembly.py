"""
Assembly
========

From linked steps to the commands of a command buffer. The first slots are those of the program; a step whose places lie
elsewhere has a window of slots after them, which point to its places, so many commands may name one kernel.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy.typing as npt

from soundline.impl.compilation.linking import Linked
from soundline.impl.lower.steps import Copy, Embedded, Foreign
from soundline.impl.runtime.callbacks import raise_failures
from soundline.impl.runtime.commands import Command, CommandBuffer, Shaped
from soundline.impl.runtime.host import ffi, host

MOST_COPIED: Final = 1 << 31
"""The bytes that one command copies at most."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """A linked program whose kernels are loaded, in the order of its text; `foreign` has its functions in Python."""

    program: Linked
    kernels: Sequence[Command]
    foreign: Mapping[str, Any]
    profile: str


def assembled(
    loaded: Loaded,
    takes: Sequence[Shaped],
    captured: Sequence[npt.NDArray[Any]],
    gives: Sequence[Shaped],
) -> CommandBuffer:
    """The command buffer of a loaded program."""
    made = _Assembly()
    base = list(range(loaded.program.slots))
    made.first = len(base)
    made.add(loaded, base)
    after = raise_failures if made.calls_back else None
    return CommandBuffer(made.commands, takes, captured, gives, loaded.program.arena, made.aliases, after)


class _Assembly:
    """The commands and aliases so far, and the first slot that is free."""

    def __init__(self) -> None:
        self.commands: list[Command] = []
        self.aliases: list[tuple[int, int, int]] = []
        self.first = 0
        self.calls_back = False

    def add(self, loaded: Loaded, base: Sequence[int]) -> None:
        """The commands of a program whose slots are `base`: its places without temporaries, then its arena."""
        program = loaded.program
        for site in program.sites:
            pointed = [(base[place], offset) for place, offset in site.window]
            if isinstance(site.step, Copy):
                for number, start in pieces(program.steps.places[site.step.takes[0]].nbytes):
                    first = self.window([(slot, offset + start) for slot, offset in pointed])[0]
                    copy = ffi().addressof(host().library, "soundline_copy")
                    self.commands.append(Command(copy, number, first))
                continue
            slots = self.window(pointed)
            if isinstance(site.step, Embedded):
                self.add(site.step.program.program.loaded, slots)
            elif isinstance(site.step, Foreign):
                self.commands.append(self.foreign(loaded, site.step.function.arg, slots[0]))
            elif site.unit is not None:
                start = program.first_kernels[site.unit]
                for k in range(start, start + len(program.units[site.unit].stages["plan"].src)):
                    kernel = loaded.kernels[k]
                    self.commands.append(Command(kernel.run, kernel.number, slots[0], kernel.cores))

    def window(self, pointed: Sequence[tuple[int, int]]) -> list[int]:
        """Slots in a row that point there: those of the program itself where they are so, otherwise fresh ones."""
        slots = [slot for slot, _ in pointed]
        if slots == list(range(slots[0], slots[0] + len(slots))) and not any(offset for _, offset in pointed):
            return slots
        fresh = list(range(self.first, self.first + len(pointed)))
        self.aliases += [(to, slot, offset) for to, (slot, offset) in zip(fresh, pointed, strict=True)]
        self.first += len(fresh)
        return fresh

    def foreign(self, loaded: Loaded, name: str, first: int) -> Command:
        """The command of a custom function."""
        if name in loaded.program.foreign_numbers:
            kernel = loaded.kernels[loaded.program.foreign_numbers[name]]
            return Command(kernel.run, kernel.number, first)
        self.calls_back = True
        return Command(loaded.foreign[name], 0, first)


def pieces(nbytes: int) -> Iterator[tuple[int, int]]:
    """The sizes and starts of the pieces in which a place is copied."""
    for start in range(0, nbytes, MOST_COPIED):
        yield min(MOST_COPIED, nbytes - start), start
