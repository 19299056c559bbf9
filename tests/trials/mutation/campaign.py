"""
A campaign against the tests
============================

Mutants are taken one from each suite in turn, so that every module is judged however short the time is. What the ledger
knows is not tried again. The campaign ends when its time is up or no mutant is left.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock, Thread
from typing import Any, Protocol

from soundline.spec.errors import UsageError
from trials.mutation.copy import Copy
from trials.mutation.ledger import Ledger, Outcome
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


class Campaign:
    """One run over all suites."""

    def __init__(self, plan: Plan, ledger: Ledger, listener: Listener) -> None:
        self.plan = plan
        self.ledger = ledger
        self.listener = listener
        self.lock = Lock()
        self.errors: list[BaseException] = []
        self.stopped = False

    def run(self) -> list[Tally]:
        """Try mutants until the time is up; the tallies of all targets."""
        self.deadline = time.monotonic() + 60 * self.plan.minutes
        self.listener.says("copying the project")
        copies = [Copy(self.plan.root)]
        try:
            self.listener.says("looking for mutants")
            suites = self._suites(copies[0])
            self.tallies = {s.path: Tally(s.path, s.possible) for s in suites}
            self.listener.begins(list(self.tallies.values()))
            copies += [Copy(copies[0].tree) for _ in range(self.plan.workers - 1)]
            self._work(suites, copies)
        finally:
            self.stopped = True
            for copy in copies:
                copy.__exit__(None, None, None)
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

    def _work(self, suites: list[Suite], copies: list[Copy]) -> None:
        turns = self._turns(suites)
        threads = [Thread(target=self._worker, args=(n, c, turns)) for n, c in enumerate(copies)]
        try:
            for thread in threads:
                thread.start()
            while not self.errors and (alive := [t for t in threads if t.is_alive()]):
                alive[0].join(0.2)  # in small steps, so that an interruption is heard
        finally:
            self.stopped = True
            for copy in copies:
                copy.stop()  # what is being tried is given up, so that its worker ends
            for thread in threads:
                if thread.ident is not None:
                    thread.join()
        if self.errors:
            raise self.errors[0]

    def _turns(self, suites: list[Suite]) -> Iterator[tuple[Suite, Any]]:
        """One mutant of each suite in turn, until all are through or the sample is full."""
        orders = {s.path: s.order(self.plan.seed) for s in suites}
        waiting = list(suites)
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

    def _worker(self, number: int, copy: Copy, turns: Iterator[tuple[Suite, Any]]) -> None:
        try:
            while time.monotonic() < self.deadline and not self.stopped:
                with self.lock:
                    turn = next(turns, None)
                if turn is None:
                    return
                self._try(number, copy, *turn)
        except BaseException as error:
            if not self.stopped:
                self.errors.append(error)
                self.stopped = True

    def _try(self, number: int, copy: Copy, suite: Suite, mutant: Any) -> None:
        tally = self.tallies[suite.path]
        outcome = suite.known(mutant, self.ledger)
        if outcome is None:
            self.listener.works_on(number, suite.path)
            try:
                outcome = suite.tried(mutant, copy, self.ledger)
            except Broken as broken:
                with self.lock:
                    if not tally.broken:
                        tally.broken = str(broken)
                        self.listener.broke(tally)
                return
        with self.lock:
            if outcome is None:
                tally.begun -= 1
            else:
                tally.outcomes.append(outcome)
                self.listener.ended(tally, outcome)


def _rule_files(root: Path, folder: str | None) -> list[str]:
    if folder is None:
        return []
    files = sorted((root / folder).glob("*.py"))
    return [str(f.relative_to(root)) for f in files if f.name != "__init__.py"]
