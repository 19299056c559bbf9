"""
``soundline verify --engine``
=============================

Reads the options that concern the engine, runs it over its corpus with progress on the terminal, and writes the report.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
)

from soundline.spec.errors import UsageError
from soundline.verify.engine import report
from soundline.verify.engine.applications import EFFORT
from soundline.verify.engine.campaign import EngineSettings, Run, run_engine
from soundline.verify.engine.corpus import SHORT, SOURCES, Batch
from soundline.verify.verdicts.effort import effort_of, processes_of, processors, seed_of

GRAPHS = 10_000
"""How many random graphs there are if nothing else is asked for."""

MOST = 10_000_000


def settings_of(options: argparse.Namespace) -> EngineSettings:
    """How the engine is run, as the options say."""
    if options.offline:
        raise UsageError("--offline cannot be combined with --engine, which validates every rewrite")
    if options.law or getattr(options, "executor", None) or options.filter:
        raise UsageError("--engine cannot be combined with --law, --executor or --filter")
    effort = EFFORT if options.budget == "normal" else effort_of(options.budget)
    return EngineSettings(
        jobs=processes_of(options.jobs) if options.jobs else processors(),
        graphs=graphs_of(options.graphs),
        seed=seed_of(options.seed),
        effort=replace(effort, seed=0),
        sources=tuple(SHORT[name] for name in options.corpus) or SOURCES,
        files=tuple(_file(path) for path in options.paths),
        cached=not options.no_cache,
    )


def graphs_of(text: str | None) -> int:
    """A number of random graphs. Raises ``UsageError`` for anything else."""
    if text is None:
        return GRAPHS
    if not (text.isascii() and text.isdecimal() and int(text) <= MOST):
        raise UsageError(f"--graphs: {text!r} is not a number of graphs")
    return int(text)


def _file(path: str) -> str:
    if not Path(path).is_file():
        raise UsageError(f"{path}: --engine takes rule files, whose rules replace the shipped ones")
    return str(Path(path).resolve())


def run_with_progress(settings: EngineSettings, console: Console, *, quiet: bool) -> Run:
    """Run the engine; on a terminal, with a bar."""
    if quiet or not console.is_terminal:
        return run_engine(settings, _lines(console) if not quiet else lambda _batch, _done, _all: None)
    columns = (
        SpinnerColumn(style="cyan"),
        BarColumn(bar_width=30),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    bar = Progress(*columns, TextColumn("[dim]{task.description}"), console=console, transient=True)
    task = bar.add_task("making the corpus", total=None)

    def told(batch: Batch, done: int, count: int) -> None:
        bar.update(task, completed=done, total=count, description=batch.source)

    with bar:
        return run_engine(settings, told)


def _lines(console: Console) -> Callable[[Batch, int, int], None]:
    """A line whenever another tenth is done."""
    shown = 0

    def told(batch: Batch, done: int, count: int) -> None:
        nonlocal shown
        if done * 10 // count > shown:
            shown = done * 10 // count
            console.print(f"{shown * 10:3} %  {batch.source}", style="dim", highlight=False)

    return told


def rendered(run: Run, form: str) -> str:
    """The report in a format."""
    if form == "text":
        return report.render(run)
    if form == "json":
        return json.dumps(report.as_json(run), indent=1, ensure_ascii=False) + "\n"
    if form == "sarif":
        from soundline.verify.reports.sarif import render
    else:
        from soundline.verify.reports.junit import render
    return render(report.as_report(run))


def run_command(
    options: argparse.Namespace,
    console: Console,
    write: Callable[[str], None] | None,
) -> int:
    """Run the engine and report; `write` takes the report where it does not go to the console."""
    settings = settings_of(options)
    run = run_with_progress(settings, console, quiet=options.quiet)
    if write is None:
        report.show(run, console, table=not options.quiet)
    else:
        write(rendered(run, options.format))
        console.print(report.last_line(run), style="bold", soft_wrap=True, highlight=False)
    return report.exit_code(run)
