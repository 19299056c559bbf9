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
import json
import os
import pkgutil
import select
import signal
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from rich.console import Console

from soundline.verify.verdicts.cache import default_folder
from trials.mutation import rules
from trials.mutation.ledger import Ledger, Outcome, Status
from trials.mutation.rules import WRONGLY_PROVED, RuleMutant

ROOT = Path(__file__).resolve().parents[3]
RESULT = "benchmarks/results/rule_mutation.json"
PACKAGE = "soundline.impl.rules"
THRESHOLD = 0.99
"""The share of mutants that must be noticed, of those that are not as true as the rule."""
PATIENCE = 60.0
"""Seconds of processor time after which a mutant is given up."""
HASTE = 5.0
"""Seconds after which it is put off until all others have been asked about."""
WAITING = 20
"""How many times longer the clock may take, on a busy machine."""
FOUND, INTERRUPTED = 1, 130
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


# one after another ------------------------------------------------------------------------------------------------


def judgements(
    described: Sequence[dict[str, Any]], patience: float = PATIENCE
) -> Iterator[tuple[int, Outcome]]:
    """What becomes of each mutant, by its place in the sequence."""
    begin = 0
    while begin < len(described):
        child, reading = _child(described, begin, patience)
        try:
            for place in range(begin, len(described)):
                began = time.monotonic()
                line = _line(reading, WAITING * patience)
                begin = place + 1
                verdict = json.loads(line) if line else {"verdict": _ended(child)}
                yield place, _outcome(described[place], verdict, time.monotonic() - began)
                if line is None:
                    break
        finally:
            os.close(reading)
            with suppress(ProcessLookupError, ChildProcessError):
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)


def _child(described: Sequence[dict[str, Any]], begin: int, patience: float) -> tuple[int, int]:
    """A process that writes a line of JSON for each mutant from here on, and the pipe to read them from."""
    reading, writing = os.pipe()
    child = os.fork()
    if child:
        os.close(writing)
        return child, reading
    try:
        os.close(reading)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGPROF, signal.SIG_DFL)  # which ends the process
        for mutant in described[begin:]:
            signal.setitimer(signal.ITIMER_PROF, patience)
            found = _judged(mutant)
            os.write(writing, json.dumps(found).encode() + b"\n")
    finally:
        os._exit(0)


def _judged(mutant: dict[str, Any]) -> dict[str, str]:
    try:
        return rules.judged(_mutants(mutant["module"], mutant["rule"])[mutant["number"]])
    except Exception as error:  # a mistake of ours decides nothing
        return {"verdict": f"unknown: the prover failed: {type(error).__name__}: {error}"[:300]}


def _line(reading: int, patience: float) -> bytes | None:
    """The next line, or None where none comes in time or the writer is gone."""
    line, until = b"", time.monotonic() + patience
    while not line.endswith(b"\n"):
        ready, _, _ = select.select([reading], [], [], max(0.0, until - time.monotonic()))
        data = os.read(reading, 1) if ready else b""
        if not data:
            return None
        line += data
    return line


def _ended(child: int) -> str:
    """The verdict on a mutant whose process says nothing more."""
    with suppress(ProcessLookupError):
        os.kill(child, signal.SIGKILL)  # if its clock ran out; one that is dead stays as it died
    _, status = os.waitpid(child, 0)
    late = os.waitstatus_to_exitcode(status) in (-signal.SIGPROF, -signal.SIGKILL)
    return NO_VERDICT if late else ENDED


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


class Campaign:
    """The mutants of some modules, and what is known of them."""

    def __init__(self, names: Sequence[str], ledger: Ledger, console: Console) -> None:
        self.ledger, self.console = ledger, console
        self.mutants = {name: rules.describe(name) for name in names}
        self.found: dict[str, dict[int, Outcome]] = {name: {} for name in names}

    def run(self, minutes: float) -> None:
        """Ask about what is not known, until the time is up: first about what is soon said, then about the rest."""
        deadline = time.monotonic() + 60 * minutes
        late: dict[str, list[int]] = {}
        for name, mutants in self.mutants.items():
            for n, mutant in enumerate(mutants):
                entry = self.ledger.get(mutant["identity"])
                if entry is not None:
                    self.found[name][n] = entry[0]
            left = [n for n in range(len(mutants)) if n not in self.found[name]]
            late[name] = self._asked(name, left, HASTE, deadline)
        for name, left in late.items():
            self._asked(name, left, PATIENCE, deadline)

    def _asked(self, name: str, left: list[int], patience: float, deadline: float) -> list[int]:
        """Ask about these mutants of a module; those that may have a verdict after a longer time."""
        mutants, found = self.mutants[name], self.found[name]
        late = []
        if not left or time.monotonic() > deadline:
            return []
        for place, outcome in judgements([mutants[n] for n in left], patience):
            n = left[place]
            found[n] = outcome
            if outcome.killer == NO_VERDICT and patience < PATIENCE:
                late.append(n)
            else:
                self._tell(mutants[n], outcome)
                self.ledger.put(mutants[n]["identity"], outcome, "")
            if time.monotonic() > deadline:
                break
        put_off = f", {len(late)} put off" if late else ""
        self.console.print(f"{_short(name)}: {_in_words(_counts(found.values()))}{put_off}", markup=False)
        return late

    def _tell(self, mutant: dict[str, Any], outcome: Outcome) -> None:
        if outcome.status == "survived":
            text = f"{mutant['rule']}: {mutant['before']} => {mutant['after']}: {outcome.killer}"
            self.console.print(text, markup=False, soft_wrap=True)

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
    parser = argparse.ArgumentParser(
        prog="python -m trials.mutation.rule_campaign",
        description="Change every shipped rule on purpose, and see whether the prover still proves it.",
        epilog=f"exit codes: 0 at least {THRESHOLD:.0%} noticed, 1 less or not all tried, 130 interrupted",
    )
    parser.add_argument("--minutes", type=float, default=60.0, metavar="N", help="how long (60)")
    parser.add_argument(
        "--only", nargs="+", default=[], metavar="NAME", help="these files alone, such as div_mod"
    )
    parser.add_argument("--fresh", action="store_true", help="forget what earlier runs found")
    parser.add_argument(
        "--output",
        type=Path,
        metavar="FILE",
        help=f"where the result goes ({RESULT}, unless --only is given)",
    )
    options = parser.parse_args(argv)
    console = Console(highlight=False, soft_wrap=True)
    names = [n for n in modules() if not options.only or n.rpartition(".")[2] in options.only]
    ledger = Ledger(None if options.fresh else default_folder() / "rule-mutants-1.sqlite")
    campaign = Campaign(names, ledger, console)
    interrupted = False
    try:
        campaign.run(options.minutes)
    except KeyboardInterrupt:
        interrupted = True
    finally:
        ledger.close()
    found = campaign.as_json()
    output = options.output or (None if options.only else ROOT / RESULT)
    if output is not None:
        output.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        console.print(f"written to {output}", markup=False)
    console.print(f"{_in_words(found['total'])}", markup=False)
    if interrupted:
        return INTERRUPTED
    total = found["total"]
    return 0 if total["tried"] == total["possible"] and (total["score"] or 0) >= THRESHOLD else FOUND


if __name__ == "__main__":
    sys.exit(main())
