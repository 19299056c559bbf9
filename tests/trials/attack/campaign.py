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
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from random import Random
from typing import Any

from rich.console import Console

from soundline.spec.dtypes import DType
from soundline.spec.errors import RuleError
from soundline.spec.rules.language import Rule
from soundline.verify.judging.judge import prove_layer
from soundline.verify.verdicts.layers import layers_of
from soundline.verify.verdicts.sameness import digest, fingerprint
from soundline.verify.verdicts.verdict import LayerResult
from trials.attack.inputs import difference
from trials.attack.random_rules import random_rule
from trials.harness import FOUND, RESULTS, command, ledger_of, parser, write
from trials.ledger import Entry, Ledger, entries, meaning
from trials.numbered import Numbered

RESULT = RESULTS / "attack.json"
PATIENCE = 10.0
"""Seconds of processor time after which a rule is given up."""
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

    numbered = Numbered(
        ledger, version(), judged, lambda e: e.outcome == WRONGLY_PROVED, "rules", "wrongly proved"
    )
    return numbered.trial(minutes, console, most)


def totals(ledger: Ledger) -> dict[str, Any]:
    """What was found of all rules so far."""
    found = list(entries(ledger, version()))
    outcomes = Counter(e.outcome for e in found)
    return {
        "schema": 1,
        "rules": {"total": len(found) - outcomes[NO_RULE], **{k: outcomes[k] for k in sorted(outcomes)}},
        "processor_seconds": round(sum(e.milliseconds for e in found) / 1000),
        "wrongly_proved": [
            {"number": e.seed, "shown": e.reason} for e in found if e.outcome == WRONGLY_PROVED
        ],
        "missed": [{"number": e.seed, "shown": e.reason} for e in found if e.outcome == MISSED],
        "late": [e.seed for e in found if e.outcome == LATE],
        "repeat": "python -m trials.attack",
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the campaign as the command line says; the exit code."""
    options = parser(
        "trials.attack",
        "Draw random rules, and look for inputs against those that the prover calls proved.",
        "exit codes: 0 no rule is wrongly proved, 1 some rule is, 2 wrong use, 130 interrupted",
        minutes=10,
        output=str(RESULT),
    )
    options.add_argument("--number", type=int, metavar="K", help="this rule alone; nothing is kept")
    return command("attack", lambda: _run(options.parse_args(arguments)))


def _run(options: argparse.Namespace) -> int:
    console = Console(highlight=False, soft_wrap=True)
    if options.number is not None:
        return _one(options.number, console)
    with closing(ledger_of(fresh=options.fresh)) as ledger:
        try:
            campaign(ledger, options.minutes, console)
        finally:  # of an interrupted run as well
            found = totals(ledger)
            write(options.output or RESULT, **found)
            console.print("attack: " + ", ".join(f"{name} {n}" for name, n in found["rules"].items()))
    return FOUND if found["wrongly_proved"] else 0


def _one(number: int, console: Console) -> int:
    console.print(str(random_rule(number)), markup=False)
    entry = tried(number)
    console.print(f"{entry.outcome} in {entry.milliseconds / 1000:.1f} s {entry.reason}", markup=False)
    return FOUND if entry.outcome == WRONGLY_PROVED else 0
