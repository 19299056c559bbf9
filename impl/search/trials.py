"""
Trials of candidates
====================

A trial builds candidates for one kernel, many in one C file and several files at a time, and has them run by a worker
process over storage that is the same for all. A candidate is rejected if it does not compile, crashes, does not end in
time, or writes something other than the kernel without a schedule. The remaining candidates are timed in turns.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from soundline.impl.codegen.c.renderer import render
from soundline.impl.codegen.c.target import target_under
from soundline.impl.logs import logger
from soundline.impl.lower.graphs.simplify import Applied
from soundline.impl.lower.linear.expand import expand
from soundline.impl.lower.linear.linearize import is_global, linearize
from soundline.impl.lower.linear.plan import plan
from soundline.impl.lower.optimize import optimized
from soundline.impl.lower.schedule.schedules import Given, Schedule, schedule_text
from soundline.impl.lower.select import select
from soundline.impl.toolchain import Compiler, find_compiler
from soundline.spec.errors import CompileError, ScheduleError
from soundline.spec.ops.places import base_of
from soundline.spec.uop import Op, UOp, buffer, substitute, toposort

BATCH = 6
"""Candidates in one C file."""
LONGEST = 200_000
"""A candidate with more bytes of C is not compiled."""
COMPILING = 60.0
"""Seconds that a C file of candidates may take to compile; after that each candidate gets as many by itself."""
PATIENCE = 2.0
"""A candidate may take this many times the seconds of the slowest known one, but at least a second."""
REFERENCE = 60.0
"""Seconds that the kernel without a schedule may take."""
ROUNDS = 7
HOPELESS = 8.0
"""A candidate whose first run takes this many times the fastest is not run again."""
_LOG = logger("search")


class Clock(Protocol):
    """A clock for candidates: the seconds of each, or None for a rejected one."""

    def __call__(self, candidates: Sequence[Schedule]) -> list[float | None]:
        """The seconds of each candidate."""


@dataclass(frozen=True, slots=True)
class Built:
    """A candidate in a library: from which command on, and how many."""

    library: str
    first: int
    count: int
    arena: int

    @property
    def at(self) -> tuple[str, int, int]:
        """Where the worker finds it."""
        return self.library, self.first, self.count


def apart(sink: UOp) -> tuple[UOp, list[tuple[UOp, bool, int]]]:
    """A kernel whose Buffers are numbered from 0, and those Buffers: whether it writes them, and their slots before."""
    found = sorted({n for n in toposort(sink) if is_global(n)}, key=lambda b: int(b.arg.slot))
    written = {base_of(n.src[0]) for n in toposort(sink) if n.op is Op.Store}
    own = {b: buffer(k, b.arg.size, b.dtype) for k, b in enumerate(found)}
    return substitute(sink, own), [(own[b], b in written, int(b.arg.slot)) for b in found]


class Trial:
    """A clock over one kernel, whose candidates are really built, checked and timed."""

    def __init__(self, sink: UOp, licences: Collection[str], folder: Path, worker: Worker) -> None:
        self.sink, self.buffers = apart(sink)
        self.licences = licences
        self.folder = folder
        self.worker = worker
        self.compiler = find_compiler()
        self.files = itertools.count()
        self.opened = False
        self.slowest = 0.0
        self.out: list[tuple[Schedule, str]] = []
        """The candidates that were rejected, and why."""

    def __call__(self, candidates: Sequence[Schedule]) -> list[float | None]:
        """The seconds of each candidate; None for those that are rejected."""
        built = self.built(candidates)
        if not self.opened:
            self._open(built)
        found = [None if b is None else self._checked(c, b) for c, b in zip(candidates, built, strict=True)]
        best = min((s for s in found if s is not None), default=0.0)
        near = [k for k, s in enumerate(found) if s is not None and s <= HOPELESS * best]
        chosen = [b for k in near if (b := built[k]) is not None]
        for k, seconds in zip(near, self._timed(chosen), strict=True):
            found[k] = seconds
        return found

    # building -----------------------------------------------------------------------------------------------------

    def built(self, candidates: Sequence[Schedule]) -> list[Built | None]:
        """Each candidate in a library; None of one that does not lower or compile."""
        lowered = [self._lowered(c) for c in candidates]
        numbers = [k for k, program in enumerate(lowered) if program is not None]
        batches = [numbers[k : k + BATCH] for k in range(0, len(numbers), BATCH)]
        found: list[Built | None] = [None] * len(candidates)
        with ThreadPoolExecutor(max(1, len(_cores()))) as pool:
            for batch, made in zip(
                batches, pool.map(lambda b: self._together(lowered, b), batches), strict=True
            ):
                for k, one in zip(batch, made, strict=True):
                    found[k] = one
                    if one is None:
                        self._put_out(candidates[k], "it does not compile")
        return found

    def _lowered(self, steps: Schedule) -> UOp | None:
        """A candidate up to Linearize."""
        try:
            kernels, _ = optimized(Op.Linear(self.sink), self.licences, Applied(), {0: Given(steps)})
            made = linearize(
                select(expand(kernels), target_under(self.licences), self.licences), self.licences
            )
            if len(render(plan(made, len(self.buffers)))) <= LONGEST:
                return made
            self._put_out(steps, "its C is too long")
        except (ScheduleError, CompileError) as error:
            self._put_out(steps, error.message)
        except Exception as error:  # noqa: BLE001  # whatever a candidate meets, the search goes on without it
            _LOG.warning("a candidate does not lower (%r): %s", error, schedule_text(steps))
            self._put_out(steps, "it does not lower")
        return None

    def _together(self, lowered: Sequence[UOp | None], batch: Sequence[int]) -> list[Built | None]:
        """Candidates in one library, or where that fails each in its own."""
        programs = [p for k in batch if (p := lowered[k]) is not None]
        made = self._library(programs)
        if made is None and len(batch) > 1:
            return [one for k in batch for one in self._together(lowered, [k])]
        return [None] * len(batch) if made is None else list(made)

    def _library(self, programs: Sequence[UOp]) -> list[Built] | None:
        whole = plan(Op.Linear(*(k for p in programs for k in p.src)), len(self.buffers))
        source = self.folder / f"candidates-{next(self.files)}.c"
        source.write_text(render(whole), encoding="utf-8")
        library = source.with_suffix(".so")
        if not _compiled(self.compiler, source, library):
            return None
        arena = max((n.arg.size for n in toposort(whole) if _is_arena(n, len(self.buffers))), default=0)
        counts = [len(p.src) for p in programs]
        firsts = itertools.accumulate(counts, initial=0)
        return [Built(str(library), f, n, arena) for f, n in zip(firsts, counts, strict=False)]

    # running ------------------------------------------------------------------------------------------------------

    def _open(self, built: Sequence[Built | None]) -> None:
        """Compute the expected result with the kernel without a schedule; where that takes too long, with a candidate
        that ends.
        """
        (plain,) = self.built([()])
        for reference in (plain, *built):
            if reference is None:
                continue
            self._prepare(reference.arena)
            limit = REFERENCE if reference is plain else None
            answer = self.worker.ask(
                {"do": "reference", "kept": str(self.folder / "wanted.npz"), **_named(reference)}, limit
            )
            if answer is not None:
                self.opened = True
                self.slowest = float(answer["seconds"])
                return
            _LOG.warning("the kernel without a schedule did not end; another candidate says what is wanted")
        raise CompileError("no candidate of the kernel runs", where="search")

    def _prepare(self, arena: int) -> None:
        exact = "reassociate" not in self.licences and "contract" not in self.licences
        buffers = [(b.dtype.name, b.arg.size, written) for b, written, _ in self.buffers]
        tolerance = 0.0 if exact else 1e-3
        self.worker.ask({"do": "open", "buffers": buffers, "arena": arena, "tolerance": tolerance})
        self.arena = arena
        if self.opened:
            self.worker.ask({"do": "remember", "kept": str(self.folder / "wanted.npz")})

    def _ready(self, arena: int) -> None:
        """A worker with storage enough."""
        if not self.worker.alive or arena > self.arena:
            self._prepare(max(arena, self.arena))

    def _limit(self) -> float:
        return max(1.0, PATIENCE * self.slowest)

    def _checked(self, steps: Schedule, built: Built) -> float | None:
        """The seconds of the first run of a candidate; None where it does not end, or writes something else."""
        self._ready(built.arena)
        answer = self.worker.ask({"do": "check", **_named(built)}, self._limit())
        if answer is None:
            self._put_out(steps, "it crashed, or did not end in time")
            return None
        if not answer["same"]:
            _LOG.error("a candidate computes something else: %s", schedule_text(steps))
            self._put_out(steps, "it computes something else")
            return None
        return float(answer["seconds"])

    def _timed(self, built: Sequence[Built]) -> list[float | None]:
        if not built:
            return []
        self._ready(max(b.arena for b in built))
        request = {"do": "time", "candidates": [b.at for b in built], "rounds": ROUNDS}
        answer = self.worker.ask(request, self._limit() * (ROUNDS + 2) * len(built))
        return [None] * len(built) if answer is None else answer["seconds"]

    def _put_out(self, steps: Schedule, why: str) -> None:
        _LOG.debug("out, because %s: %s", why, schedule_text(steps))
        self.out.append((steps, why))


def _named(built: Built) -> dict[str, Any]:
    return {"library": built.library, "first": built.first, "count": built.count}


def _is_arena(node: UOp, slot: int) -> bool:
    return is_global(node) and node.arg.slot == slot


def _compiled(compiler: Compiler, source: Path, library: Path) -> bool:
    command = [*compiler.command, *compiler.flags, "-o", str(library), str(source), "-lm"]
    try:
        done = subprocess.run(command, capture_output=True, check=False, timeout=COMPILING)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0 and library.is_file()


def _cores() -> Collection[int]:
    return os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else range(os.cpu_count() or 1)


class Worker:
    """The process that runs candidates; started when it is needed, and started again when it has died."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None
        self._answers: queue.Queue[str] = queue.Queue()
        self.started = 0

    @property
    def alive(self) -> bool:
        """Whether it still has what it was told."""
        return self._process is not None and self._process.poll() is None

    def ask(self, request: dict[str, Any], seconds: float | None = None) -> dict[str, Any] | None:
        """Its answer; None where it died, or had none in time and was ended."""
        process = self._process if self.alive else self._start()
        assert process is not None
        assert process.stdin is not None
        with contextlib.suppress(OSError, queue.Empty):
            process.stdin.write(json.dumps(request) + "\n")
            process.stdin.flush()
            line = self._answers.get(timeout=seconds)
            if line:
                found: dict[str, Any] = json.loads(line)
                return found
        self.close()
        return None

    def _start(self) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "soundline.impl.search.worker"]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        self._answers = queue.Queue()
        self.started += 1
        threading.Thread(target=_read, args=(self._process, self._answers), daemon=True).start()
        return self._process

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            for stream in (self._process.stdin, self._process.stdout):
                if stream is not None:
                    with contextlib.suppress(OSError):
                        stream.close()
            self._process = None


def _read(process: subprocess.Popen[str], answers: queue.Queue[str]) -> None:
    with contextlib.suppress(ValueError, OSError):
        assert process.stdout is not None
        for line in process.stdout:
            answers.put(line)
    answers.put("")  # it has ended


@contextlib.contextmanager
def a_worker() -> Iterator[Worker]:
    """A worker that ends with what it is needed for."""
    worker = Worker()
    try:
        yield worker
    finally:
        worker.close()
