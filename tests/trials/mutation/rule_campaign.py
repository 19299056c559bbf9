"""
Every mutant of every shipped rule
==================================

``python -m trials.mutation.rule_campaign`` asks the prover about each mutant of each rule of the library (see
`mutation_rules`), one after another, in a process that may be ended when one takes too long. A mutant counts as noticed
where the prover refutes it, finds that it says nothing, or where it is no rule at all. One that is proved, and that the
evaluator finds no fault with, is as true as the rule and is listed. What is left, undecided or wrongly proved, counts
against the score. What was found is remembered for as long as law, prover and solver are the same, so that a run that
was ended goes on; mutants that take long come last; the result is written to ``benchmarks/results/rule_mutation.json``.
"""

from __future__ import annotations

import argparse
import pkgutil
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from functools import cache
from typing import Any

from rich.console import Console

from trials.child import Child, Ended
from trials.harness import FOUND, ROOT, Bar, Campaign, command, ledger_of, parser, run, write
from trials.ledger import Ledger
from trials.mutation import rules
from trials.mutation.outcomes import Outcome, Status, keep, kept
from trials.mutation.rules import WRONGLY_PROVED, RuleMutant

LEDGER = "mutants of rules"
RESULT = "benchmarks/results/rule_mutation.json"
PACKAGE = "soundline.impl.rules"
THRESHOLD = 0.99
"""The share of mutants that must be noticed, of those that are not as true as the rule."""
PATIENCE = 60.0
"""Seconds of processor time after which a mutant is given up."""
HASTE = 5.0
"""Seconds after which it is put off until all others have been asked about."""
NO_VERDICT = "unknown: no verdict in time"
ENDED = "unknown: the prover's process died"
SCHEMA = 1


def modules() -> list[str]:
    """The modules of the shipped rules that declare some."""
    import importlib

    package = importlib.import_module(PACKAGE)
    names = [m.name for m in pkgutil.walk_packages(package.__path__, f"{PACKAGE}.")]
    return sorted(n for n in names if rules.rules_of(n))


@cache
def _mutants(module: str, rule: str) -> list[RuleMutant]:
    stated = next(r for r in rules.rules_of(module) if r.id == rule)
    return rules.rule_mutants(stated)


# one of them ------------------------------------------------------------------------------------------------------


def judgement(mutant: dict[str, Any], child: Child, patience: float = PATIENCE) -> Outcome:
    """What becomes of a mutant, asked in a child."""
    began = time.monotonic()
    try:
        verdict = child.ask(mutant, patience)
    except Ended as ended:
        verdict = {"verdict": NO_VERDICT if ended.late else ENDED}
    return _outcome(mutant, verdict, time.monotonic() - began)


def judged(mutant: dict[str, Any]) -> dict[str, str]:
    try:
        return rules.judged(_mutants(mutant["module"], mutant["rule"])[mutant["number"]])
    except Exception as error:  # a mistake of ours decides nothing
        return {"verdict": f"unknown: the prover failed: {type(error).__name__}: {error}"[:300]}


def _outcome(mutant: dict[str, Any], found: dict[str, str], seconds: float) -> Outcome:
    verdict, why = found["verdict"], found.get("why", "")
    status: Status = "killed"
    if verdict == "proved":
        status = "true"
    elif verdict == WRONGLY_PROVED or verdict.startswith("unknown"):
        status = "survived"
    said = f"{verdict}: {why}" if why and status != "killed" else verdict
    before = f"{mutant['rule']}: {mutant['before']}"
    return Outcome(status, mutant["line"], before, mutant["after"], said, round(seconds, 2))


# the campaign -----------------------------------------------------------------------------------------------------


Mutant = tuple[str, int, float]
"""The module, the number of the mutant, and how long to be patient."""


class RuleCampaign(Campaign[Mutant, Outcome]):
    """The mutants of some modules: first what is soon said of all, then the rest."""

    def __init__(self, names: Sequence[str], ledger: Ledger, console: Console) -> None:
        self.ledger, self.console = ledger, console
        self.mutants = {name: rules.describe(name) for name in names}
        self.found: dict[str, dict[int, Outcome]] = {name: {} for name in names}
        self.late: dict[str, list[int]] = {name: [] for name in names}
        self.child = Child(judged)

    def run(self, minutes: float) -> None:
        """Ask about what is not known, until the time is up."""
        with self.child, Bar(self.console, minutes) as bar:
            run(self, minutes, bar)

    def cases(self) -> Iterator[Mutant]:
        """All of them in haste, and with patience those that had no verdict; each module has a new child."""
        for name, mutants in self.mutants.items():
            yield from ((name, n, HASTE) for n in range(len(mutants)))
            self._tell(name)
        for name, late in self.late.items():
            if late:
                yield from ((name, n, PATIENCE) for n in late)
                self._tell(name)

    def known(self, case: Mutant) -> Outcome | None:
        """What earlier runs found."""
        entry = kept(self.ledger, LEDGER, self._mutant(case)["identity"])
        return None if entry is None else entry[0]

    def judged(self, case: Mutant, worker: Any) -> Outcome | None:
        """Ask the prover; None where it is to be asked again."""
        name, n, patience = case
        mutant = self._mutant(case)
        outcome = judgement(mutant, self.child, patience)
        if outcome.killer == NO_VERDICT and patience < PATIENCE:
            self.found[name][n] = outcome
            self.late[name].append(n)
            return None
        keep(self.ledger, LEDGER, mutant["identity"], outcome)
        if outcome.status == "survived":
            text = f"{mutant['rule']}: {mutant['before']} => {mutant['after']}: {outcome.killer}"
            self.console.print(text, markup=False, soft_wrap=True)
        return outcome

    def heard(self, case: Mutant, found: Outcome | None) -> None:
        """Count it."""
        if found is not None:
            self.found[case[0]][case[1]] = found

    def progress(self) -> str:
        """How many."""
        return _in_words(_counts(o for found in self.found.values() for o in found.values()))

    def _mutant(self, case: Mutant) -> dict[str, Any]:
        return self.mutants[case[0]][case[1]]

    def _tell(self, name: str) -> None:
        self.child.close()
        self.console.print(f"{_short(name)}: {_in_words(_counts(self.found[name].values()))}", markup=False)

    def as_json(self) -> dict[str, Any]:
        """The result."""
        everything = [o for found in self.found.values() for o in found.values()]
        total = _counts(everything)
        possible = sum(map(len, self.mutants.values()))
        return {
            "schema": SCHEMA,
            "command": "python -m trials.mutation.rule_campaign",
            "threshold": THRESHOLD,
            "total": {"possible": possible, **total, "score": _score(total)},
            "files": {
                _short(name): {"possible": len(self.mutants[name]), **(counts := _counts(found.values()))}
                | {"score": _score(counts)}
                for name, found in self.found.items()
            },
            "survivors": [_listed(o) for o in everything if o.status == "survived"],
            "equivalent": [_listed(o) for o in everything if o.status == "true"],
        }


def _counts(outcomes: Any) -> dict[str, int]:
    """How many ended in each way."""
    kinds = Counter(_kind(o) for o in outcomes)
    names = ("refuted", "says nothing", "no rule", "as true", "undecided", "wrongly proved")
    return {"tried": sum(kinds.values())} | {n.replace(" ", "_"): kinds[n] for n in names}


def _kind(outcome: Outcome) -> str:
    first = outcome.killer.partition(":")[0].partition(" at ")[0]
    known = {"refuted": "refuted", "vacuous": "says nothing", "refused": "no rule", "proved": "as true"}
    return known.get(first, "wrongly proved" if first == WRONGLY_PROVED else "undecided")


def _score(counts: dict[str, int]) -> float | None:
    noticed = counts["refuted"] + counts["says_nothing"] + counts["no_rule"]
    all_of_them = noticed + counts["undecided"] + counts["wrongly_proved"]
    return round(noticed / all_of_them, 4) if all_of_them else None


def _listed(outcome: Outcome) -> dict[str, str]:
    rule, _, before = outcome.before.partition(": ")
    why = outcome.killer.removeprefix("proved: ")
    return {"rule": rule, "before": before, "after": outcome.after, "why": why}


def _short(module: str) -> str:
    return module.removeprefix("soundline.").replace(".", "/") + ".py"


def _in_words(counts: dict[str, int]) -> str:
    return ", ".join(f"{n} {name.replace('_', ' ')}" for name, n in counts.items() if n)


def main(argv: Sequence[str] | None = None) -> int:
    """The command line."""
    made = parser(
        "trials.mutation.rule_campaign",
        "Change every shipped rule on purpose, and see whether the prover still proves it.",
        f"exit codes: 0 at least {THRESHOLD:.0%} noticed, 1 less or not all tried, 2 wrong use, 130 interrupted",
        minutes=60,
        output=f"{RESULT}, unless --only is given",
    )
    made.add_argument(
        "--only", nargs="+", default=[], metavar="NAME", help="these files alone, such as div_mod"
    )
    return command("rules", lambda: _run(made.parse_args(argv)))


def _run(options: argparse.Namespace) -> int:
    console = Console(highlight=False, soft_wrap=True)
    names = [n for n in modules() if not options.only or n.rpartition(".")[2] in options.only]
    output = options.output or (None if options.only else ROOT / RESULT)
    with closing(ledger_of(fresh=options.fresh)) as ledger:
        campaign = RuleCampaign(names, ledger, console)
        try:
            campaign.run(options.minutes)
        finally:  # of an interrupted run as well
            found = campaign.as_json()
            if output is not None:
                write(output, **found)
                console.print(f"written to {output}", markup=False)
            console.print(f"{_in_words(found['total'])}", markup=False)
    total = found["total"]
    return 0 if total["tried"] == total["possible"] and (total["score"] or 0) >= THRESHOLD else FOUND


if __name__ == "__main__":
    sys.exit(main())
