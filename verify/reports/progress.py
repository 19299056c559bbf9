"""
Progress
========

What a campaign shows while it runs: a line for each rule that is decided and, on a terminal, what is being worked on.
On anything else than a terminal there are only the lines.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType

from rich.console import Console
from rich.markup import escape
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
)
from rich.text import Text

from soundline.verify.files.problems import Problem, visible
from soundline.verify.reports.text import mark
from soundline.verify.verdicts.verdict import RuleReport

NAMES_LIMIT = 40
"""How wide the column of names may become."""


class Lines:
    """A listener that prints one line per decided rule. Use it as a context."""

    def __init__(self, console: Console, *, lines: bool = True) -> None:
        self.console = console
        self.lines = lines
        self.width = 0

    def __enter__(self) -> Lines:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Nothing is left to clear away."""

    def expects(self, rules: Sequence[str]) -> None:
        """Widen the column of names."""
        self.width = min(NAMES_LIMIT, max((len(r) for r in rules), default=0))

    def decided(self, report: RuleReport, seconds: float) -> None:
        """One line: the verdict, the rule, what it took. What the cache knew was not decided now."""
        if self.lines and not report.cached:
            name = f"{visible(report.id):<{self.width}}"
            line = Text.assemble(
                mark(report.verdict, self.console), " ", name, "  ", (f"{seconds:6.1f} s", "dim")
            )
            self.console.print(line, soft_wrap=True)

    def met(self, problem: Problem) -> None:
        """Mistakes are shown at the end, where they are not scrolled away."""

    def printed(self, file: str, text: str) -> None:
        """Pass on what a rule file printed, each line with its origin."""
        for line in text.splitlines():
            self.console.print(Text(visible(f"{file} says: {line}"), style="dim"), soft_wrap=True)

    def works_on(self, rules: Sequence[str]) -> None:
        """Nothing to show: lines tell of results only."""


class Live(Lines):
    """The same on a terminal, with a bar below the lines that shows how far things are."""

    def __init__(self, console: Console, *, lines: bool = True) -> None:
        super().__init__(console, lines=lines)
        self.bar = Progress(
            SpinnerColumn(style="cyan"),
            BarColumn(bar_width=30),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("[dim]{task.description}"),
            console=console,
            transient=True,
        )
        self.task = self.bar.add_task("reading rules", total=None)

    def __enter__(self) -> Live:
        self.bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Clear the bar away."""
        self.bar.stop()

    def expects(self, rules: Sequence[str]) -> None:
        """Lengthen the bar."""
        super().expects(rules)
        self.bar.update(self.task, total=len(rules))

    def decided(self, report: RuleReport, seconds: float) -> None:
        """One line, and the bar moves."""
        super().decided(report, seconds)
        self.bar.advance(self.task)

    def works_on(self, rules: Sequence[str]) -> None:
        """Name what is being solved."""
        names = list(dict.fromkeys(rules))
        shown = ", ".join(names[:3]) + (" …" if len(names) > 3 else "")
        self.bar.update(self.task, description=escape(visible(shown)) or "reading rules")
