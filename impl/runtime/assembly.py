"""
Assembly
========

From linked steps to the commands of a command buffer. The first slots are those of the program; a step whose places lie
elsewhere has a window of slots after them, which point to its places, so many commands may name one kernel.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from soundline.impl.linking import Linked, Site
from soundline.impl.lower.steps import Copy, Foreign
from soundline.impl.runtime.commands import Command, CommandBuffer, Shaped
from soundline.impl.runtime.host import ffi, host

MOST_COPIED: Final = 1 << 31
"""The bytes that one command copies at most."""


def assembled(
    program: Linked,
    kernels: Sequence[Command],
    takes: Sequence[Shaped],
    captured: Sequence[npt.NDArray[np.generic]],
    gives: Sequence[Shaped],
    foreign: Mapping[str, Any],
) -> CommandBuffer:
    """The command buffer of a program whose kernels are loaded; `foreign` has the functions that are not kernels."""
    arena = program.steps.arguments + program.steps.results
    first = arena + 1
    commands: list[Command] = []
    aliases: list[tuple[int, int, int]] = []
    for site in program.sites:
        window = [(arena if place < 0 else place, offset) for place, offset in site.window]
        if window == [(k, 0) for k in range(arena + 1)]:
            commands += _commands(program, site, 0, kernels, foreign)
            continue
        aliases += [(first + k, place, offset) for k, (place, offset) in enumerate(window)]
        if isinstance(site.step, Copy):
            for number, start in pieces(program.steps.places[site.step.takes[0]].nbytes):
                if start:
                    pair = ((place, offset + start) for place, offset in window)
                    first += 2
                    aliases += [(first + k, place, offset) for k, (place, offset) in enumerate(pair)]
                commands.append(Command(ffi().addressof(host().library, "soundline_copy"), number, first))
        else:
            commands += _commands(program, site, first, kernels, foreign)
        first += len(window)
    return CommandBuffer(commands, takes, captured, gives, program.arena, aliases)


def _commands(
    program: Linked, site: Site, first: int, kernels: Sequence[Command], foreign: Mapping[str, Any]
) -> Iterator[Command]:
    """The commands of a step over the slots from `first` on."""
    if isinstance(site.step, Foreign):
        yield Command(foreign[site.step.function.arg], 0, first)
    elif site.unit is not None:
        start = program.first_kernels[site.unit]
        for k in range(start, start + len(program.units[site.unit].stages["plan"].src)):
            yield Command(kernels[k].run, k, first, kernels[k].cores)


def pieces(nbytes: int) -> Iterator[tuple[int, int]]:
    """The sizes and starts of the pieces in which a place is copied."""
    for start in range(0, nbytes, MOST_COPIED):
        yield min(MOST_COPIED, nbytes - start), start
