"""
The prover on trial
===================

``python -m trials.attack`` (a stage of ``make verify-deep``) draws random rules, asks the prover about each,
and looks for inputs on which the sides of those differ that it calls proved. One is enough to show a mistake of ours;
it is printed, and the exit code is 1. Rules that take the prover long are put down as late.

The ledger keeps what was found for as long as law, prover, solver and laws are the same, so that every run goes on
where the last one stopped; the totals go to ``benchmarks/results/attack.json``.
"""

from __future__ import annotations

import argparse
import json
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any

from rich.console import Console

from soundline.spec.dtypes import DType
from soundline.spec.errors import RuleError
from soundline.spec.rules.language import Rule
from soundline.verify.judging.judge import prove_layer
from soundline.verify.verdicts.cache import default_folder
from soundline.verify.verdicts.layers import layers_of
from soundline.verify.verdicts.sameness import digest, fingerprint
from soundline.verify.verdicts.verdict import LayerResult
from trials.attack.inputs import difference
from trials.attack.random_rules import random_rule
from trials.ledger import Entry, Ledger, meaning
from trials.numbered import trial

RESULT = Path(__file__).resolve().parents[3] / "benchmarks/results/attack.json"
FOUND, INTERRUPTED = 1, 130
PATIENCE = 10.0
"""Seconds of processor time after which a rule is given up."""
BATCH = 20
NO_RULE, LATE, WRONGLY_PROVED = "no rule", "late", "wrongly proved"
MISSED = "unknown, though wrong"


class Late(BaseException):
    """The prover takes too long. Whoever catches every mistake of a prover lets this one through."""


Prover = Callable[[Rule, Any], LayerResult]


def _asked(stated: Rule, dtype: Any) -> LayerResult:
    return prove_layer(stated, dtype, derive=False)


def tried(number: int, prover: Prover = _asked, patience: float = PATIENCE) -> Entry:
    """What becomes of the rule of a number."""
    began = time.process_time()
    stated, outcome, shown = random_rule(number), NO_RULE, ""
    for dtype in _dtypes(stated, patience):
        assert stated is not None
        try:
            with _at_most(patience):
                outcome = prover(stated, dtype).verdict
        except Late:
            outcome = LATE
        except RuleError:  # some later instance is ill-typed
            outcome = NO_RULE
        if outcome in ("proved", "unknown"):
            shown = difference(stated, dtype, Random(number))  # repeatable, and no secret
            if shown:
                outcome = WRONGLY_PROVED if outcome == "proved" else MISSED
                shown = f"{stated} at {dtype.name}: {shown}"
    spent = round(1000 * (time.process_time() - began))
    return Entry(number, "rule", outcome=outcome, reason=shown, milliseconds=spent)


def _dtypes(stated: Rule | None, patience: float) -> Sequence[DType]:
    """The dtypes at which a rule is tried: none where no instance of it is found in time."""
    try:
        with _at_most(patience):
            return [dtype for _, dtype in layers_of(stated)] if stated else ()
    except (RuleError, Late):
        return ()


@contextmanager
def _at_most(seconds: float) -> Iterator[None]:
    """Raise `Late` after so many seconds of processor time, and again: where an object dies, an error is ignored."""

    def over(*_: object) -> None:
        raise Late

    before = signal.signal(signal.SIGPROF, over)
    signal.setitimer(signal.ITIMER_PROF, seconds, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def version() -> str:
    """The digest of what an entry rests on: the law, the prover, the solver, and what draws rules and inputs."""
    here = sorted(Path(__file__).resolve().parent.glob("*.py"))
    return digest(fingerprint() + "".join(meaning(f.read_text("utf-8")) for f in here))


def campaign(ledger: Ledger, minutes: float, console: Console, most: int | None = None) -> list[Entry]:
    """Try rules that the ledger does not know, until the time is up; those that are wrongly proved."""

    def judged(number: int) -> Entry:
        entry = tried(number)
        if entry.outcome == WRONGLY_PROVED:
            console.print(f"WRONGLY PROVED, rule {number}: {entry.reason}", markup=False)
        return entry

    return trial(
        ledger,
        version(),
        judged,
        lambda entry: entry.outcome == WRONGLY_PROVED,
        minutes=minutes,
        most=most,
        batch=BATCH,
        told=lambda count, wrong: f"{count:,} rules in this run, {wrong} wrongly proved",
        console=console,
    )


def totals(ledger: Ledger) -> dict[str, Any]:
    """What was found of all rules so far."""
    entries = list(ledger.entries(version()))
    outcomes = Counter(e.outcome for e in entries)
    return {
        "schema": 1,
        "rules": {"total": len(entries) - outcomes[NO_RULE], **{k: outcomes[k] for k in sorted(outcomes)}},
        "processor_seconds": round(sum(e.milliseconds for e in entries) / 1000),
        "wrongly_proved": [
            {"number": e.seed, "shown": e.reason} for e in entries if e.outcome == WRONGLY_PROVED
        ],
        "missed": [{"number": e.seed, "shown": e.reason} for e in entries if e.outcome == MISSED],
        "late": [e.seed for e in entries if e.outcome == LATE],
        "repeat": "python -m trials.attack",
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the campaign as the command line says; the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m trials.attack",
        description="Draw random rules, and look for inputs against those that the prover calls proved.",
        epilog="exit codes: 0 no rule is wrongly proved, 1 some rule is, 130 interrupted",
    )
    parser.add_argument("--minutes", type=float, default=10, metavar="N", help="how long (10)")
    parser.add_argument("--number", type=int, metavar="K", help="this rule alone; nothing is kept")
    parser.add_argument("--output", type=Path, default=RESULT, metavar="FILE", help="where the totals go")
    options = parser.parse_args(arguments)
    console = Console(highlight=False, soft_wrap=True)
    if options.number is not None:
        return _one(options.number, console)
    ledger = Ledger(default_folder() / "attack.sqlite")
    interrupted = False
    try:
        campaign(ledger, options.minutes, console)
    except KeyboardInterrupt:
        interrupted = True
    found = totals(ledger)
    ledger.close()
    options.output.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n")
    console.print("attack: " + ", ".join(f"{name} {count}" for name, count in found["rules"].items()))
    return INTERRUPTED if interrupted else FOUND if found["wrongly_proved"] else 0


def _one(number: int, console: Console) -> int:
    console.print(str(random_rule(number)), markup=False)
    entry = tried(number)
    console.print(f"{entry.outcome} in {entry.milliseconds / 1000:.1f} s {entry.reason}", markup=False)
    return FOUND if entry.outcome == WRONGLY_PROVED else 0
