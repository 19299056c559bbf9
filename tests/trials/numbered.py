"""
What is judged by number
========================

Random cases have numbers, and whoever draws one draws the same case again. A trial goes through the numbers that the
ledger does not know.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from itertools import count
from typing import Any

from rich.console import Console

from trials.harness import Bar, Campaign, run
from trials.ledger import Entry, Ledger, entries


@dataclass(eq=False)
class Numbered(Campaign[int, Entry]):
    """Cases by number; `what` they are, and what is wrong with the bad ones, in words."""

    ledger: Ledger
    version: str
    judge: Callable[[int], Entry]
    is_bad: Callable[[Entry], bool]
    what: str
    wrong: str
    count: int = 0
    bad: list[Entry] = field(default_factory=list)

    def cases(self) -> Iterator[int]:
        """The numbers that the ledger does not know."""
        seen = {entry.seed for entry in entries(self.ledger, self.version)}
        return (number for number in count() if number not in seen)

    def judged(self, case: int, worker: Any) -> Entry:
        """What is found of a number."""
        entry = self.judge(case)
        self.ledger.put(self.version, case, asdict(entry))
        return entry

    def heard(self, case: int, found: Entry | None) -> None:
        """Count it."""
        if found is not None:
            self.count += 1
            self.bad += [found] if self.is_bad(found) else []

    def goes_on(self, case: int) -> bool:
        """There is no end to numbers."""
        return False

    def progress(self) -> str:
        """How many in this run."""
        return f"{self.count:,} {self.what} in this run, {len(self.bad)} {self.wrong}"

    def trial(self, minutes: float, console: Console, most: int | None = None) -> list[Entry]:
        """Judge until the time is up, at most so many; the bad ones."""
        with Bar(console, minutes) as bar:
            run(self, minutes, bar, most=most)
        return self.bad
