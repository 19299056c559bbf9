"""
A campaign against the tests
============================

Mutants are taken one from each suite in turn, so that every module is judged however short the time is. What the ledger
knows is not tried again. The campaign ends when its time is up or no mutant is left.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from soundline.spec.errors import UsageError
from trials.harness import Bar, Campaign, run
from trials.ledger import Ledger
from trials.mutation.copy import Copy
from trials.mutation.outcomes import Outcome
from trials.mutation.suites import Baselines, Broken, ModuleSuite, RuleSuite, Suite
from trials.mutation.targets import Target, chosen


@dataclass(frozen=True, slots=True)
class Plan:
    """What to mutate and for how long."""

    root: Path
    targets: tuple[Target, ...]
    rules: str | None
    """The folder of rule files, from the root."""
    minutes: float
    only: tuple[str, ...] = ()
    seed: int = 0
    workers: int = 2
    sample: int | None = None
    """At most so many mutants of each target."""
    patience: float = 10.0
    """Seconds that a mutant may take beyond five times what its tests take."""


@dataclass
class Tally:
    """What became of the mutants of one target."""

    path: str
    possible: int
    outcomes: list[Outcome] = field(default_factory=list)
    broken: str = ""
    """Why nothing could be measured."""
    begun: int = 0
    """How many mutants were taken up, with those that are being tried."""

    def count(self, *statuses: str) -> int:
        """How many mutants ended so."""
        return sum(o.status in statuses for o in self.outcomes)


class Listener(Protocol):
    """Hears what happens while it happens."""

    def says(self, text: str) -> None:
        """Something that takes a while has begun."""

    def begins(self, tallies: list[Tally]) -> None:
        """The targets are known."""

    def works_on(self, worker: int, path: str) -> None:
        """A worker tries a mutant of this target."""

    def ended(self, tally: Tally, outcome: Outcome) -> None:
        """What became of a mutant."""

    def broke(self, tally: Tally) -> None:
        """Nothing of this target can be measured."""


Turn = tuple[Suite, Any]
"""A suite and one of its mutants."""


class MutantCampaign(Campaign[Turn, Outcome | Broken]):
    """One run over all suites."""

    def __init__(self, plan: Plan, ledger: Ledger, listener: Listener) -> None:
        self.plan = plan
        self.ledger = ledger
        self.listener = listener
        self.suites: list[Suite] = []
        self.copies: list[Copy] = []
        self.tallies: dict[str, Tally] = {}

    def run(self, bar: Bar) -> list[Tally]:
        """Try mutants until the time is up; the tallies of all targets."""
        began = time.monotonic()
        with ExitStack() as stack:
            self.listener.says("copying the project")
            self.copies = [stack.enter_context(Copy(self.plan.root))]
            self.listener.says("looking for mutants")
            self.suites = self._suites(self.copies[0])
            self.tallies = {s.path: Tally(s.path, s.possible) for s in self.suites}
            self.listener.begins(list(self.tallies.values()))
            others = range(self.plan.workers - 1)
            self.copies += [stack.enter_context(Copy(self.copies[0].tree)) for _ in others]
            left = self.plan.minutes - (time.monotonic() - began) / 60
            run(self, left, bar, workers=list(enumerate(self.copies)))
        return list(self.tallies.values())

    def _suites(self, copy: Copy) -> list[Suite]:
        """The suites of the chosen targets, from the copy: the checkout may change meanwhile."""
        rule_files = _rule_files(copy.tree, self.plan.rules)
        paths = chosen(list(self.plan.only), (*(t.path for t in self.plan.targets), *rule_files))
        texts = {str(f.relative_to(copy.tree)): f.read_text("utf-8") for f in copy.tree.rglob("*.py")}
        baselines = Baselines(texts, self.ledger, self.plan.patience)
        suites: list[Suite] = []
        for target in self.plan.targets:
            if target.path in paths:
                if target.path not in texts:
                    raise UsageError(f"{target.path}: a target of mutation that does not exist")
                suites.append(ModuleSuite(target.path, texts[target.path], target.tests, baselines))
        for file in rule_files:
            if file in paths:
                module = f"soundline.{file.removesuffix('.py').replace('/', '.')}"
                found = copy.call("trials.mutation.rules:describe", module)
                suites.append(RuleSuite(file, found))
        return suites

    def cases(self) -> Iterator[Turn]:
        """One mutant of each suite in turn, until all are through or the sample is full."""
        orders = {s.path: s.order(self.plan.seed) for s in self.suites}
        waiting = list(self.suites)
        while waiting:
            for suite in list(waiting):
                tally = self.tallies[suite.path]
                full = self.plan.sample is not None and tally.begun >= self.plan.sample
                mutant = None if full or tally.broken else next(orders[suite.path], None)
                if mutant is None:
                    waiting.remove(suite)
                else:
                    tally.begun += 1
                    yield suite, mutant

    def known(self, case: Turn) -> Outcome | None:
        """What the ledger holds, if what it rests on is unchanged."""
        suite, mutant = case
        return suite.known(mutant, self.ledger)

    def judged(self, case: Turn, worker: tuple[int, Copy]) -> Outcome | Broken | None:
        """The outcome of trying a mutant in the copy of a worker."""
        suite, mutant = case
        number, copy = worker
        self.listener.works_on(number, suite.path)
        try:
            return suite.tried(mutant, copy, self.ledger)
        except Broken as broken:
            return broken

    def heard(self, case: Turn, found: Outcome | Broken | None) -> None:
        """Count it."""
        tally = self.tallies[case[0].path]
        if found is None:
            tally.begun -= 1
        elif isinstance(found, Outcome):
            tally.outcomes.append(found)
            self.listener.ended(tally, found)
        elif not tally.broken:
            tally.broken = str(found)
            self.listener.broke(tally)

    def stop(self) -> None:
        """Give up what is being tried, so that the workers end."""
        for copy in self.copies:
            copy.stop()


def _rule_files(root: Path, folder: str | None) -> list[str]:
    if folder is None:
        return []
    files = sorted((root / folder).rglob("*.py"))
    return [str(f.relative_to(root)) for f in files if f.name != "__init__.py"]
