"""
Do the court and the tests notice?
==================================

Mistakes are made in a copy of the abstract machine, one at a time: those of `machine_mutants`, and the changes of
`mutation_operators` in its modules. A mistake is noticed by the court, which finds a program that the changed machine
accepts though an interleaving is wrong, or refuses though it is correct by construction; or else by a unit test, twins
of the laws. What nobody notices has survived.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import chain, zip_longest
from pathlib import Path
from random import Random
from typing import Any

from rich.console import Console

from soundline.verify.verdicts.sameness import digest
from trials.harness import ROOT, Bar, Campaign, run, write
from trials.ledger import Ledger, entries, version
from trials.machine.mutants import EQUIVALENT, MUTATED, SLIPS, UNIT_TESTS
from trials.machine.report import SCHEMA
from trials.machine.trial import Exhibit, exhibits
from trials.mutation.copy import Copy
from trials.mutation.operators import changed_lines, mutants_of, mutated

EXHIBITS = 1600
"""How many programs a changed machine is asked about."""
SECONDS, TEST_SECONDS = 120.0, 60.0
"""What the trial of one slip before the court may take, and before the unit tests."""
THRESHOLD = 0.95
"""The share of slips that must be noticed."""
NEEDED = 400
"""How many programs the campaign must have judged before slips are tried."""


@dataclass(frozen=True, slots=True)
class Case:
    """A slip to be tried."""

    path: str
    source: str
    """The changed module."""
    what: str
    by_hand: bool

    @property
    def identity(self) -> str:
        """The digest of the changed module, and of what it is tried before."""
        return digest(f"slip {version()} {self.path} {digest(self.source)}")


@dataclass(frozen=True, slots=True)
class Fate:
    """What became of a slip."""

    status: str
    """``court``, ``unit``, ``survived`` or ``excused``."""
    how: str = ""


def by_hand(root: Path = ROOT) -> list[Case]:
    """The slips that were thought of."""
    return [Case(s.path, s.applied((root / s.path).read_text("utf-8")), s.what, True) for s in SLIPS]


def by_operators(root: Path = ROOT, seed: int = 0) -> Iterator[Case]:
    """The changes of operators, bounds and conditions, of one module after the other in random order."""
    piles = []
    for path in MUTATED:
        source = (root / path).read_text("utf-8")
        mutants = mutants_of(source)
        Random(f"{seed} {path}").shuffle(mutants)
        piles.append([(path, source, mutant) for mutant in mutants])
    for row in zip_longest(*piles):
        for path, source, mutant in (entry for entry in row if entry is not None):
            changed = mutated(source, mutant)
            if changed is not None:
                line, before, after = changed_lines(source, changed)
                yield Case(path, changed, f"{path}:{line}: {before}  →  {after}", False)


def tried(case: Case, copy: Copy, programs: list[Exhibit], root: Path = ROOT) -> Fate:
    """Try a slip before the court, and if that does not notice it before the unit tests."""
    request: dict[str, Any] = {"file": case.path, "source": case.source}
    call = ["trials.machine.trial:noticed", programs]
    answer = copy.ask({**request, "call": call, "cpu": SECONDS, "wall": 10 * SECONDS})
    if answer["code"] == "timeout":
        return Fate("court", "the machine does not end")
    if answer["code"] != 0:
        return Fate("court", "the machine cannot be read")
    if answer["found"]:
        return Fate("court", answer["found"])
    tests = [f"tests/unit/{name}" for name in UNIT_TESTS if (root / "tests/unit" / name).exists()]
    limits = {"cpu": TEST_SECONDS, "wall": 10 * TEST_SECONDS}
    answer = copy.ask({**request, "tests": tests, "killers": [], "durations": {}, **limits})
    if answer["code"] not in (0, 5):
        return Fate("unit", str(answer.get("killer", "")))
    why = EQUIVALENT.get(case.what)
    return Fate("excused", why) if why else Fate("survived")


class Slips(Campaign[Case, Fate]):
    """The slips that were thought of, then those of the operators, shown to some programs."""

    def __init__(self, ledger: Ledger, programs: list[Exhibit], stack: ExitStack) -> None:
        self.ledger, self.programs, self.stack = ledger, programs, stack
        self.copy: Copy | None = None
        self.found: list[tuple[Case, Fate]] = []

    def cases(self) -> Iterator[Case]:
        """Every slip."""
        return chain(by_hand(), by_operators())

    def known(self, case: Case) -> Fate | None:
        """What became of it before the same machine."""
        fate = self.ledger.get("slips", case.identity)
        return None if fate is None else Fate(*fate)

    def judged(self, case: Case, worker: Any) -> Fate:
        """Try it; the program that noticed it is shown first to the next."""
        self.copy = self.copy or self.stack.enter_context(Copy(ROOT))
        fate = tried(case, self.copy, self.programs)
        self.ledger.put("slips", case.identity, [fate.status, fate.how])
        _lead(self.programs, fate)
        return fate

    def heard(self, case: Case, found: Fate | None) -> None:
        """Count it."""
        self.found += [] if found is None else [(case, found)]

    def goes_on(self, case: Case) -> bool:
        """Those of the operators are many."""
        return case.by_hand

    def progress(self) -> str:
        """How many."""
        return f"{len(self.found)} slips tried, {sum(f.status == 'survived' for _, f in self.found)} survived"


def slips(ledger: Ledger, minutes: float, console: Console, output: Path) -> int:
    """Try slips until the time is up, those that were thought of first; the exit code."""
    programs = exhibits(entries(ledger, version()), EXHIBITS)
    if len(programs) < NEEDED:
        console.print(f"only {len(programs)} programs to show: run the campaign first")
        return 0
    with ExitStack() as stack, Bar(console, minutes) as bar:
        campaign = Slips(ledger, programs, stack)
        run(campaign, minutes, bar)
    return _told(campaign.found, console, output)


def _lead(programs: list[Exhibit], fate: Fate) -> None:
    """Show the program that noticed one slip first to the next."""
    seed = fate.how.split(":")[0]
    for place, exhibit in enumerate(programs):
        if str(exhibit[0]) == seed:
            programs.insert(0, programs.pop(place))
            return


def summary(found: list[tuple[Case, Fate]]) -> dict[str, Any]:
    """Counts of slips: those thought of, and those of the operators."""
    rows = {}
    for name, wanted in (("thought_of", (True,)), ("by_operators", (False,)), ("total", (True, False))):
        statuses = [f.status for c, f in found if c.by_hand in wanted]
        counted = [s for s in statuses if s != "excused"]
        caught = sum(s in ("court", "unit") for s in counted)
        rows[name] = {
            "tried": len(statuses),
            "noticed_by_the_court": statuses.count("court"),
            "noticed_by_unit_tests": statuses.count("unit"),
            "survived": statuses.count("survived"),
            "judged_equivalent": statuses.count("excused"),
            "score": round(caught / len(counted), 4) if counted else None,
        }
    return rows


def _told(found: list[tuple[Case, Fate]], console: Console, output: Path) -> int:
    rows = summary(found)
    for name, row in rows.items():
        console.print(
            f"{name.replace('_', ' ')}: {', '.join(f'{k} {v}' for k, v in row.items())}", soft_wrap=True
        )
    survivors = [case.what for case, fate in found if fate.status == "survived"]
    for what in survivors:
        console.print(f"survived: {what}", markup=False, soft_wrap=True)
    excused = [f"{case.what}: {fate.how}" for case, fate in found if fate.status == "excused"]
    write(output, schema=SCHEMA, slips=rows, slips_that_survived=survivors, slips_judged_equivalent=excused)
    score = rows["total"]["score"]
    return 0 if score is None or score >= THRESHOLD else 1
