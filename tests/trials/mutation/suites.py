"""
Suites of mutants
=================

A suite is a target with its mutants in a seeded random order: the mutants of a module, tried against its tests, or
those of a file of rules, tried against the prover. A suite says how a mutant is tried and what its outcome rests on.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from random import Random
from typing import Any, Protocol

from soundline.verify.verdicts.sameness import digest
from trials.ledger import Ledger
from trials.mutation.copy import Copy
from trials.mutation.operators import Mutant, changed_lines, mutants_of, mutated
from trials.mutation.outcomes import Outcome, keep, kept
from trials.mutation.rules import ANOTHER, WRONGLY_PROVED

MUTANTS, BASELINES = "mutants", "baselines"
"""What the ledger calls them."""
RULE_SECONDS = 60.0
"""What the prover may take for one mutant of a rule."""


ENOUGH = 30.0
"""Seconds of tests for one mutant, likeliest killers and fast tests first. What they do not notice has survived."""


IDLE = 30.0
"""Seconds that a mutant may wait for a busy machine; what it may compute is limited apart from that."""


class Broken(Exception):
    """A suite whose tests fail on the unchanged module: nothing can be measured."""


class Suite(Protocol):
    """The mutants of one target."""

    path: str
    possible: int

    def order(self, seed: int) -> Iterator[Any]:
        """The mutants in a random order that the seed decides."""

    def known(self, mutant: Any, ledger: Ledger) -> Outcome | None:
        """The outcome that the ledger holds, if what it rests on is unchanged."""

    def tried(self, mutant: Any, copy: Copy, ledger: Ledger) -> Outcome | None:
        """The outcome of trying a mutant in a copy; None where it is no mutant. Raises ``Broken``."""


def _shuffled(items: list[Any], path: str, seed: int) -> Iterator[Any]:
    order = list(items)
    Random(f"{seed} {path}").shuffle(order)
    return iter(order)


# modules ----------------------------------------------------------------------------------------------------------


class Baselines:
    """How long each test takes on the unchanged project. Finding that out also shows that all of them pass."""

    def __init__(self, texts: dict[str, str], ledger: Ledger, patience: float = 10.0) -> None:
        self.patience = patience
        self.tree = digest("".join(f"{path}{digest(text)}" for path, text in sorted(texts.items())))
        self.digests = {path: digest(text) for path, text in texts.items()}
        self.ledger = ledger
        self.known: dict[str, dict[str, float]] = {}

    def of(self, file: str, copy: Copy) -> dict[str, float]:
        """Seconds by test, for the tests of one file. Raises ``Broken`` where one fails."""
        if file not in self.known:
            key = digest(f"{self.tree} {file}")
            seconds = self.ledger.get(BASELINES, key)
            self.known[file] = seconds if seconds is not None else self._measured(file, copy)
            self.ledger.put(BASELINES, key, self.known[file])
        return self.known[file]

    def _measured(self, file: str, copy: Copy) -> dict[str, float]:
        if file not in self.digests:
            raise Broken(f"{file} does not exist")
        answer = copy.ask({"tests": [file], "baseline": True, "wall": 600.0, "cpu": 600.0})
        if answer["code"] != 0:
            failed = answer.get("killer") or answer["code"]
            raise Broken(f"{file} fails on the unchanged project: {failed}\n{answer['log'].strip()[-1500:]}")
        durations: dict[str, float] = answer["durations"]
        return durations


@dataclass
class ModuleSuite:
    """A module of the law or of the prover, and its tests."""

    path: str
    source: str
    tests: tuple[str, ...]
    baselines: Baselines
    mutants: list[Mutant] = field(init=False)
    killers: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.mutants = mutants_of(self.source)
        self.possible = len(self.mutants)
        self.source_digest = digest(self.source)
        digests = self.baselines.digests
        self.tests_digest = digest(" ".join(f"{t} {digests.get(t)}" for t in self.tests))

    def order(self, seed: int) -> Iterator[Mutant]:
        """The mutants in random order."""
        return _shuffled(self.mutants, self.path, seed)

    def identity(self, mutant: Mutant) -> str:
        """The digest of the module and the change."""
        return digest(f"{self.path} {self.source_digest} {mutant.change} {mutant.occurrence}")

    def known(self, mutant: Mutant, ledger: Ledger) -> Outcome | None:
        """A kill holds while the killing test is as it was; a survival, while all tests are."""
        entry = kept(ledger, MUTANTS, self.identity(mutant))
        if entry is None or entry[1] != self._rests_on(entry[0]):
            return None
        self.killers[entry[0].killer] += 1
        return entry[0]

    def _rests_on(self, outcome: Outcome) -> str:
        if outcome.status == "killed":
            file = outcome.killer.split("::")[0]
            return self.baselines.digests.get(file, "") if file in self.tests else ""
        return self.tests_digest

    def tried(self, mutant: Mutant, copy: Copy, ledger: Ledger) -> Outcome | None:
        """Run the tests on the mutant, the likeliest killers first."""
        changed = mutated(self.source, mutant)
        if changed is None:
            return None
        durations = {t: s for file in self.tests for t, s in self.baselines.of(file, copy).items()}
        allowed = self.baselines.patience + 5 * min(ENOUGH, sum(durations.values()))
        answer = copy.ask(
            {
                "file": self.path,
                "source": changed,
                "tests": list(self.tests),
                "killers": [t for t, _ in self.killers.most_common(50) if t],
                "durations": durations,
                "enough": ENOUGH,
                "cpu": allowed,
                "wall": IDLE + 4 * allowed,
            }
        )
        outcome = self._outcome(answer, changed)
        self.killers[outcome.killer] += 1
        keep(ledger, MUTANTS, self.identity(mutant), outcome, self._rests_on(outcome))
        return outcome

    def _outcome(self, answer: dict[str, Any], changed: str) -> Outcome:
        line, before, after = changed_lines(self.source, changed)
        code, seconds = answer["code"], answer["seconds"]
        if code == "timeout":
            return Outcome("timeout", line, before, after, "", seconds)
        if code in (0, 5):  # 5: the tests are all gone, so none noticed
            return Outcome("survived", line, before, after, "", seconds)
        return Outcome("killed", line, before, after, answer.get("killer", ""), seconds)


# rules ------------------------------------------------------------------------------------------------------------


@dataclass
class RuleSuite:
    """The rules of one file, each mutant tried against the prover."""

    path: str
    mutants: list[dict[str, Any]]

    def __post_init__(self) -> None:
        self.possible = len(self.mutants)

    def order(self, seed: int) -> Iterator[dict[str, Any]]:
        """The mutants of all rules in random order."""
        return _shuffled(self.mutants, self.path, seed)

    def known(self, mutant: dict[str, Any], ledger: Ledger) -> Outcome | None:
        """A verdict holds as long as the mutant, the law and the prover are the same."""
        entry = kept(ledger, MUTANTS, mutant["identity"])
        return None if entry is None else entry[0]

    def tried(self, mutant: dict[str, Any], copy: Copy, ledger: Ledger) -> Outcome | None:
        """Ask the prover."""
        request = [
            "trials.mutation.rules:judge",
            *(mutant[k] for k in ("module", "rule", "number")),
        ]
        answer = copy.ask({"call": request, "cpu": RULE_SECONDS, "wall": 4 * RULE_SECONDS})
        outcome = self._outcome(answer, mutant)
        keep(ledger, MUTANTS, mutant["identity"], outcome)
        return outcome

    @staticmethod
    def _outcome(answer: dict[str, Any], mutant: dict[str, Any]) -> Outcome:
        line, seconds = mutant["line"], answer["seconds"]
        before, after = f"{mutant['rule']}: {mutant['before']}", mutant["after"]
        if answer["code"] == "timeout":
            return Outcome("timeout", line, before, after, "no verdict in time", seconds)
        if answer["code"] != 0:
            return Outcome(
                "survived", line, before, after, f"the prover failed: {answer['log'][-500:]}", seconds
            )
        verdict, why = answer["found"]["verdict"], answer["found"].get("why", "")
        if verdict in ("proved", WRONGLY_PROVED):
            status = "true" if why == ANOTHER else "survived"
            return Outcome(status, line, before, after, f"{verdict}: {why}", seconds)  # type: ignore[arg-type]
        return Outcome("killed", line, before, after, verdict, seconds)
