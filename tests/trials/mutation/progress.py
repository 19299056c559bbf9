"""
Progress of a campaign against the tests
========================================

On a terminal, a bar for the time with the counts beside it, and every survivor as it is found. Elsewhere a line per
survivor and one a minute.
"""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from trials.harness import Bar
from trials.mutation.campaign import Tally
from trials.mutation.outcomes import Outcome
from trials.mutation.report import excuse, score_of


class Shown(Bar):
    """A listener that tells a person what happens. Use it as a context."""

    def __init__(self, console: Console, minutes: float) -> None:
        super().__init__(console, minutes)
        self.tallies: list[Tally] = []
        self.current: dict[int, str] = {}

    def says(self, text: str) -> None:
        """Show it in the place of the counts."""
        self.tell("", text)

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
        score = score_of(*self.tallies)
        counts = f"{score.tried} tried, {score.survived} survived, {score.percent}"
        self.tell(counts, ", ".join(self.current.values()))
