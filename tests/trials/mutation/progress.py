"""
Progress of a campaign against the tests
========================================

On a terminal, a bar for the time with the counts beside it, and every survivor as it is found. Elsewhere a line per
survivor and one a minute.
"""

from __future__ import annotations

import time
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.text import Text

from trials.mutation.campaign import Tally
from trials.mutation.ledger import Outcome
from trials.mutation.report import excuse, score_of

EVERY = 60.0
"""Seconds between two lines where there is no terminal."""


class Shown:
    """A listener that tells a person what happens. Use it as a context."""

    def __init__(self, console: Console, minutes: float) -> None:
        self.console = console
        self.seconds = 60 * minutes
        self.began = self.spoke = time.monotonic()
        self.tallies: list[Tally] = []
        self.current: dict[int, str] = {}
        self.bar = Progress(
            BarColumn(bar_width=24),
            TimeRemainingColumn(),
            TextColumn("{task.description}"),
            console=console,
            transient=True,
            disable=not console.is_terminal,
        )
        self.task = self.bar.add_task("starting", total=self.seconds)

    def __enter__(self) -> Shown:
        self.bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Clear the bar away."""
        self.bar.stop()

    def says(self, text: str) -> None:
        """Show it in the place of the counts."""
        self.bar.update(self.task, description=f"[dim]{text}")

    def begins(self, tallies: list[Tally]) -> None:
        """Say how much there is."""
        self.tallies = tallies
        possible = sum(t.possible for t in tallies)
        self.console.print(Text(f"{possible} mutants of {len(tallies)} targets", style="dim"))

    def works_on(self, worker: int, path: str) -> None:
        """Show what is being tried."""
        self.current[worker] = path
        self._update()

    def ended(self, tally: Tally, outcome: Outcome) -> None:
        """Count it, and tell of a survivor at once; the difference comes at the end."""
        if outcome.status == "survived" and excuse(tally.path, outcome) is None:
            line = f"{tally.path}:{outcome.line}: not noticed: {outcome.after}"
            self.console.print(Text(line, style="yellow"), overflow="ellipsis", no_wrap=True)
        self._update()

    def broke(self, tally: Tally) -> None:
        """Show the first line of why; the rest comes at the end."""
        first = tally.broken.splitlines()[0]
        self.console.print(Text(f"{tally.path}: {first}", style="bold red"), soft_wrap=True)

    def _update(self) -> None:
        now = time.monotonic()
        score = score_of(*self.tallies)
        counts = f"{score.tried} tried, {score.survived} survived, {score.percent}"
        working = ", ".join(self.current.values())
        self.bar.update(self.task, completed=now - self.began, description=f"{counts}  [dim]{working}")
        if not self.console.is_terminal and now - self.spoke >= EVERY:
            self.spoke = now
            self.console.print(Text(f"{(now - self.began) / 60:.0f} min: {counts}"), soft_wrap=True)
