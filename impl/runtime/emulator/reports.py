"""
Reports
=======

What the emulator reports, led back: from the number of a line to the file, its text, and the statement of the Spork
program that it was generated for.
"""

from __future__ import annotations

from typing import Final

from soundline.impl.codegen.cuda.source import CudaSource
from soundline.impl.runtime.emulator.texts import Joined
from soundline.spec.errors import EmulationError
from soundline.spec.spork.language.nodes import Position

_HINTS: Final = {
    "deadlock": "a wait needs its arrive: compare counts, parities and numbers of bytes of what is waited for",
    "unfinished": "wait for the copies and products that a thread began before it ends",
    "exited": "let a thread end only after the barriers and exchanges that count it",
    "registers": "let each warpgroup ask for one number, and all threads of a block for at most 65536 registers",
    "wgmma": "wgmma.fence stands between the last write of a register and the wgmma that reads it; "
    "touch the accumulator only after the wait for its group",
    "memory": "compare sizes, strides and indices with the memory that was allocated",
    "fault": "compare sizes, strides and indices with the memory that was allocated",
}


def position_of(source: CudaSource | None, file: str, line: int) -> Position | None:
    """Where the statement stands that a line was generated for."""
    origin = source.origin(file, line) if source is not None else None
    return origin.position if origin is not None else None


def _named(place: tuple[str, int, str] | None, source: CudaSource | None) -> str:
    """A line as a part of a sentence: where it is, and which statement it was generated for."""
    if place is None:
        return ""
    position = position_of(source, place[0], place[1])
    from_ = f", from {position.file}:{position.line}: {position.text.strip()}" if position is not None else ""
    return f" ({place[0]}:{place[1]}{from_})"


def _waits(text: str, joined: Joined, source: CudaSource | None) -> tuple[str, ...]:
    """What each warp of a deadlock waits for."""
    told = []
    for record in filter(None, text.split("\x1e")):
        block, warp, first, last, lanes, line, what = record.split("\x1f")
        threads = f"thread {first}" if lanes == "1" else f"{lanes} lanes, threads {first} to {last},"
        where = _named(joined.place(int(line)), source)
        told.append(f"block {block}, warp {warp}: {threads} at {what}{where}")
    return tuple(told)


def error_of(report: str, joined: Joined, source: CudaSource | None) -> EmulationError:
    """The error that a report of the emulator is."""
    kind, kernel, x, y, z, thread, line, text, waits = report.split("\x1d")
    place = joined.place(int(line))
    position = position_of(source, place[0], place[1]) if place is not None else None
    who = int(thread)
    return EmulationError(
        text,
        kind=kind,
        kernel=kernel,
        block=(int(x), int(y), int(z)) if who >= 0 else None,
        thread=who if who >= 0 else None,
        file=place[0] if place else None,
        line=place[1] if place else None,
        text=place[2] if place else "",
        statement=position.text.strip() if position else "",
        statement_file=position.file if position else None,
        statement_line=position.line if position else None,
        waits=_waits(waits, joined, source),
        hint=_HINTS.get(kind),
    )
