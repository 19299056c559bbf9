"""
Memory of a parallel run
========================

Each cell has a content, which plain accesses see and replace: generic accesses of several threads interleave, as
weaker orders of plain accesses are races anyway.

The asynchronous proxy need not see what was written through the generic one before a proxy fence. So a cell that both
use keeps the contents that generic writes replaced since the last fence: a read through the asynchronous proxy may see
any of them, whatever others have seen, and a write through it may fall before any of those writes. The other way there
is no such delay: when an asynchronous write is known to be complete, it is seen.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from soundline.spec.spork.interleavings.jobs import ElementUse, Job, JobPart
from soundline.spec.spork.interleavings.state import TOUCHING, Control, Move
from soundline.spec.spork.interleavings.threads import Script
from soundline.spec.spork.interleavings.values import DOUBTFUL, Content, Junk, divided, is_junk, joined
from soundline.spec.spork.machine.algebras import Atomics, Tokens, ValueToken, evaluated
from soundline.spec.spork.synchronization.visibility import Kind


class ParallelState:
    """A moment of a run: control and memory."""

    __slots__ = ("cells", "control", "junk", "loaded", "older", "tokens", "values")

    def __init__(self, script: Script, tokens: Tokens) -> None:
        self.control = Control(script)
        self.tokens = tokens
        self.cells = initial(script, tokens)
        self.older: dict[int, tuple[Content, ...]] = {}
        """The contents that the asynchronous proxy may still see, oldest first, but for the last one."""
        self.values: dict[int, dict[int, ValueToken]] = {}
        """What the asynchronous jobs that are not done have read."""
        self.loaded: dict[tuple[int, int], tuple[ValueToken, ...]] = {}
        """What parts of jobs in order have read that are not done, by the numbers of the job and the part."""
        self.junk = False
        """Whether anything was read that nobody had written."""
        self.control.begin()

    def copy(self) -> ParallelState:
        """The same, to go on from."""
        other = ParallelState.__new__(ParallelState)
        other.control, other.tokens = self.control.copy(), self.tokens
        other.cells, other.older, other.junk = self.cells[:], dict(self.older), self.junk
        other.values = {job: dict(values) for job, values in self.values.items()}
        other.loaded = dict(self.loaded)
        return other

    def key(self) -> tuple[object, ...]:
        """The key that distinguishes states from which runs continue differently."""
        c = self.control
        return (
            tuple(c.at), tuple(c.made), tuple(c.got), tuple(c.phases), tuple(c.pending), tuple(c.tx),
            tuple(self.cells), tuple(sorted(self.older.items())), self.junk, frozenset(c.due),
            tuple(sorted((job, *sorted(values.items())) for job, values in self.values.items())),
            tuple(sorted(self.loaded.items())),
        )  # fmt: skip

    # Moves --------------------------------------------------------------------------------------------------------

    def choices(self, move: Move) -> Iterator[Move]:
        """The move, and the ways in which it can go wrong."""
        yield move
        if move.kind not in TOUCHING:
            return
        job = self.control.script.jobs[move.who]
        if move.kind == "load":
            if any(job.reads[n].doubtful for n in job.parts[move.what].reads):
                yield move._replace(choice=1)
            return
        use = job.reads[move.what] if move.kind == "read" else job.parts[move.what].target
        uses = [use]
        if move.kind == "work" and not job.parts[move.what].halved:
            uses += [job.reads[n] for n in job.parts[move.what].reads]
        if any(u.doubtful for u in uses):
            yield move._replace(choice=1)
        elif use.through_async_proxy:
            for back in range(max(len(self.older.get(cell, ())) for cell in use.cells)):
                yield move._replace(choice=back + 1)

    def apply(self, move: Move) -> None:
        """Do a move."""
        if move.kind in TOUCHING:
            self._touch(self.control.script.jobs[move.who], move)
        self.control.flushed = False
        self.control.advance(move)
        if self.control.flushed or move.kind == "flush":
            self.older.clear()

    def _touch(self, job: Job, move: Move) -> None:
        if move.kind == "read":
            values = self.values.setdefault(job.number, {})
            values[move.what] = self._read(job.reads[move.what], move.choice)
            return
        if move.kind == "load":
            self.loaded[job.number, move.what] = self._operands(job, job.parts[move.what], move.choice)
            return
        for part in job.parts if job.together else [job.parts[move.what]]:
            if not job.in_order:
                held = self.values.get(job.number, {})
                self._write(job, part, tuple(held[n] for n in part.reads), move.choice)
            elif part.halved:
                self._write(job, part, self.loaded.pop((job.number, move.what)), move.choice)
            else:
                doubt = 0 if part.target.doubtful else move.choice
                self._write(job, part, self._operands(job, part, doubt), move.choice)
        if move.kind == "write" and self._is_last(job, move):
            self.values.pop(job.number, None)

    def _is_last(self, job: Job, move: Move) -> bool:
        return self.control.made[job.number] | 1 << move.what == (1 << len(job.parts)) - 1

    def _operands(self, job: Job, part: JobPart, doubt: int) -> tuple[ValueToken, ...]:
        return tuple(self._read(job.reads[n], doubt) for n in part.reads)

    def _read(self, use: ElementUse, back: int) -> ValueToken:
        if back and use.doubtful:
            return self.tokens.unknown(DOUBTFUL)
        held = tuple(self._before(cell, back if use.through_async_proxy else 0) for cell in use.cells)
        value = joined(held, self.tokens)
        self.junk |= is_junk(value)
        return value

    def _before(self, cell: int, back: int) -> Content:
        """The content before the last ones of a cell."""
        if not back:
            return self.cells[cell]
        contents = (*self.older.get(cell, ()), self.cells[cell])
        return contents[max(0, len(contents) - 1 - back)]

    def _write(self, job: Job, part: JobPart, values: tuple[ValueToken, ...], back: int) -> None:
        if values not in part.results:
            part.results[values] = computed(job, part, values, self.tokens)
        value, use = part.results[values], part.target
        if part.atomic and use.through_async_proxy and back:
            self._add_before(use, value, back)
            return
        if part.atomic:
            old = joined([self.cells[cell] for cell in use.cells], self.tokens)
            self.junk |= is_junk(old)
            value = self.tokens.add(use.element.dtype, old, value, atomic=True)
        if use.doubtful and back:
            value = self.tokens.unknown(DOUBTFUL)
        for cell, content in zip(use.cells, divided(value, len(use.cells)), strict=True):
            self._put(use, cell, content, back)

    def _add_before(self, use: ElementUse, value: ValueToken, back: int) -> None:
        """An atomic add through the asynchronous proxy that takes effect before generic writes: an atomic add among
        these keeps what it added, and a plain write loses it.
        """
        dtype = use.element.dtype
        cells = [(*self.older.get(cell, ()), self.cells[cell]) for cell in use.cells]
        cells = [held[-min(map(len, cells)) :] for held in cells]
        contents = [joined(held, self.tokens) for held in zip(*cells, strict=True)]
        at = max(1, len(contents) - back)
        found = [self.tokens.add(dtype, contents[at - 1], value, atomic=True)]
        kept = True
        for content in contents[at:]:
            kept = kept and content.head == Atomics(dtype)
            found.append(self.tokens.add(dtype, content, value, atomic=True) if kept else content)
        for number, cell in enumerate(use.cells):
            held = [divided(content, len(use.cells))[number] for content in found]
            self.older[cell], self.cells[cell] = tuple(held[:-1]), held[-1]

    def _put(self, use: ElementUse, cell: int, content: Content, back: int) -> None:
        if cell in self.control.script.mixed:
            contents = (*self.older.get(cell, ()), self.cells[cell])
            if not use.through_async_proxy:
                self.older[cell] = contents
            elif back:
                at = max(1, len(contents) - back)
                self.older[cell], self.cells[cell] = (content, *contents[at:-1]), contents[-1]
                return
            else:
                self.older.pop(cell, None)
        self.cells[cell] = content


def computed(job: Job, part: JobPart, values: Sequence[ValueToken], tokens: Tokens) -> ValueToken:
    """The value of a part of a job, given the values that it reads."""
    found = {job.reads[n].element: value for n, value in zip(part.reads, values, strict=True)}
    return evaluated(part.value, tokens, found.__getitem__)


def initial(script: Script, tokens: Tokens) -> list[Content]:
    """What cells hold before a run: arguments their contents, all else junk."""
    cells: list[Content] = [tokens.unknown(Junk(cell)) for cell in script.cells.values()]
    for element in script.arguments:
        contents = divided(tokens.unknown(str(element)), len(element.cells))
        for cell, content in zip(element.cells, contents, strict=True):
            if cell in script.cells:
                cells[script.cells[cell]] = content
    return cells


def sequential(script: Script, tokens: Tokens) -> list[Content]:
    """What cells hold after all jobs in the order of the program, each at once."""
    cells = initial(script, tokens)
    for job in script.jobs:
        values = [joined([cells[c] for c in use.cells], tokens) for use in job.reads]
        for part in job.parts:
            value, use = computed(job, part, [values[n] for n in part.reads], tokens), part.target
            if part.atomic:
                old = joined([cells[c] for c in use.cells], tokens)
                value = tokens.add(use.element.dtype, old, value, atomic=True)
            for cell, content in zip(use.cells, divided(value, len(use.cells)), strict=True):
                cells[cell] = content
    return cells


def touched(script: Script, move: Move) -> Iterator[tuple[int, Kind]]:
    """The cells that a move reads and writes."""
    if move.kind not in TOUCHING:
        return
    job = script.jobs[move.who]
    if move.kind in ("read", "load"):
        reads = [move.what] if move.kind == "read" else job.parts[move.what].reads
        yield from ((cell, Kind.read) for n in reads for cell in job.reads[n].cells)
        return
    for part in job.parts if job.together else [job.parts[move.what]]:
        kind = Kind.atomic if part.atomic else Kind.write
        yield from ((cell, kind) for cell in part.target.cells)
        if job.in_order and not part.halved:
            yield from ((cell, Kind.read) for n in part.reads for cell in job.reads[n].cells)
