"""
Running the engine
==================

The corpus, batch by batch, on several processes. Equal obligations are solved once: each process remembers what it
decided, and all of them share the cache of verdicts. The order of the result does not depend on the processes.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

from soundline.impl.rules import SIMPLIFY
from soundline.impl.rules.procedural import PROCEDURES
from soundline.spec.errors import UsageError
from soundline.spec.rules.language import Rule
from soundline.spec.rules.procedures import Procedure
from soundline.verify.engine.applications import EFFORT, Validator
from soundline.verify.engine.corpus import COMPOSED, ONNX, RANDOM, SOURCES, Batch, batches, graphs_of
from soundline.verify.engine.watching import Seen, Watch
from soundline.verify.processes import shared_out
from soundline.verify.verdicts.cache import Cache
from soundline.verify.verdicts.effort import Effort

INPUTS = {RANDOM: 4, COMPOSED: 2, ONNX: 1}
"""On how many inputs a graph of a source is evaluated whole; one of ONNX also on those of its test."""

Steps = tuple[Rule | Procedure, ...]


@dataclass(frozen=True, slots=True)
class EngineSettings:
    """How the engine is run. `files` are rule files whose rules are applied in the place of the shipped ones,
    and whose procedures beside them.
    """

    jobs: int = 1
    graphs: int = 10_000
    seed: int = 0
    effort: Effort = EFFORT
    sources: tuple[str, ...] = SOURCES
    files: tuple[str, ...] = ()
    cached: bool = True
    folder: str | None = None
    """Where the cache lies, if not in the user's own place."""


@dataclass(frozen=True)
class Run:
    """What came of it, by source."""

    settings: EngineSettings
    steps: Steps
    seen: dict[str, Seen]
    seconds: float
    interrupted: bool = False

    @property
    def whole(self) -> Seen:
        """All sources together."""
        total = Seen()
        for source in SOURCES:
            if source in self.seen:
                total.add(self.seen[source])
        return total


Told = Callable[[Batch, int, int], None]
"""Hears of each batch that is done, how many are, and how many there are."""


def run_engine(
    settings: EngineSettings,
    told: Told = lambda _batch, _done, _all: None,
    *,
    steps: Sequence[Rule | Procedure] | None = None,
) -> Run:
    """Run the engine over its corpus and judge every rewrite; after Ctrl-C, report what is known by then.

    `steps` are applied in the place of the shipped ones, in this process.
    """
    began, interrupted = time.monotonic(), False
    used = tuple(steps) if steps is not None else steps_of(settings.files)
    wanted = batches(settings.graphs, settings.seed, settings.sources)
    if steps is not None and settings.jobs != 1:
        raise UsageError("steps that are given as objects run in one process")
    found: dict[Batch, Seen] = {}
    with _shared(settings) as shared:
        run = _here(wanted, shared, used) if settings.jobs == 1 else _on_processes(wanted, shared)
        try:
            for batch, seen in run:
                found[batch] = seen
                told(batch, len(found), len(wanted))
        except KeyboardInterrupt:
            interrupted = True
    by_source: dict[str, Seen] = {}
    for batch in wanted:
        if batch in found:
            by_source.setdefault(batch.source, Seen()).add(found[batch])
    return Run(settings, used, by_source, time.monotonic() - began, interrupted)


@contextmanager
def _shared(settings: EngineSettings) -> Iterator[EngineSettings]:
    """The settings with a cache that all processes share: that of the user, or one for this run."""
    if settings.cached:
        yield settings
        return
    with tempfile.TemporaryDirectory(prefix="soundline-") as folder:
        yield replace(settings, folder=folder, cached=True)


@lru_cache(maxsize=4)
def steps_of(files: tuple[str, ...]) -> Steps:
    """The rules and procedures of these files, or the rules that are shipped; and the procedures that are."""
    if not files:
        return (*SIMPLIFY, *PROCEDURES)
    from soundline.verify.files.loader import load

    found: list[Rule | Procedure] = []
    for file in files:
        loaded = load(file)
        if loaded.problems:
            problem = loaded.problems[0]
            raise UsageError(f"{problem.file}:{problem.line or 1}: {problem.message}", hint=problem.hint)
        found += (*loaded.rules, *loaded.procedures)
    steps = (*found, *PROCEDURES)
    twice = next((s.id for n, s in enumerate(steps) if s.id in {t.id for t in steps[:n]}), None)
    if twice:
        raise UsageError(
            f"--engine: the id {twice} is used twice", hint=f"give one another: id={twice + '_mine'!r}"
        )
    return steps


def judge(batch: Batch, settings: EngineSettings, watch: Watch) -> Seen:
    """What is seen of one batch."""
    rules = tuple(s for s in watch.steps if isinstance(s, Rule))
    validator = watch.validator
    known = len(validator.decided), len(validator.seen)
    total = Seen()
    for graph in graphs_of(batch, rules):
        total.add(watch.graph(graph, INPUTS[batch.source]))
    total.obligations = len(validator.decided) - known[0]
    total.views = len(validator.seen) - known[1]
    return total


def _watch(settings: EngineSettings, steps: Steps) -> Watch:
    folder = None if settings.folder is None else Path(settings.folder)
    return Watch(steps, Validator(Cache(folder), settings.effort))


def _here(wanted: Sequence[Batch], settings: EngineSettings, steps: Steps) -> Iterator[tuple[Batch, Seen]]:
    watch = _watch(settings, steps)
    for batch in wanted:
        yield batch, judge(batch, settings, watch)


@lru_cache(maxsize=1)
def _own_watch(settings: EngineSettings) -> Watch:
    return _watch(settings, steps_of(settings.files))


def _by_name(batch: Batch, settings: EngineSettings) -> Seen:
    """What a process is asked."""
    return judge(batch, settings, _own_watch(settings))


def _on_processes(wanted: Sequence[Batch], settings: EngineSettings) -> Iterator[tuple[Batch, Seen]]:
    with shared_out(_by_name, ((b, (b, settings)) for b in wanted), settings.jobs) as ended:
        for batch, future in ended:
            try:
                yield batch, future.result()
            except BrokenProcessPool as died:
                raise UsageError(
                    "a worker process was killed, or ran out of memory", hint="try fewer --jobs"
                ) from died
