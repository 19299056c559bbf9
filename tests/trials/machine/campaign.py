"""
The machine on trial
====================

``python -m trials.machine.campaign`` (a stage of ``make verify-deep``) draws small programs and holds the abstract
machine to the parallel reading (S-10): what it accepts is right in every interleaving. Programs that it refuses are
looked at too, see `machine_judge`. A disagreement is made small and printed, with the interleaving. With ``--slips`` it
makes the mistakes of `machine_mutants` in the machine, and sees that each is noticed.

The ledger keeps what was found, so that every run goes on where the last one stopped; the totals go to
``benchmarks/results/adequacy.json``.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console

from soundline.spec.errors import SoundlineError
from soundline.spec.spork.language.programs import Proc
from soundline.verify.verdicts.cache import default_folder
from trials.ledger import Ledger, version
from trials.machine.generator import Drawn, drawn
from trials.machine.judge import BAD, Judgement, Outcome, judge
from trials.machine.report import SCHEMA, show, totals
from trials.machine.shrinking import shrunk
from trials.numbered import trial

RESULT = Path(__file__).resolve().parents[3] / "benchmarks/results/adequacy.json"
FOUND, USAGE, INTERRUPTED = 1, 2, 130
BATCH = 50
"""How many programs are judged between two writings of the ledger."""
SHOWN = 3
"""How many disagreements are made small in one run."""


def campaign(ledger: Ledger, minutes: float, console: Console, most: int | None = None) -> list[int]:
    """Judge programs that the ledger does not know, until the time is up; the seeds of the bad ones."""
    bad = trial(
        ledger,
        version(),
        lambda seed: judge(drawn(seed)).entry,
        lambda entry: Outcome[entry.outcome] in BAD,
        minutes=minutes,
        most=most,
        batch=BATCH,
        told=lambda count, bad: f"{count:,} programs in this run, {bad} disagreements",
        console=console,
    )
    return [entry.seed for entry in bad]


def explained(seed: int) -> str:
    """A program about which there is a disagreement, as small as it goes, with the interleaving."""
    found = drawn(seed)
    outcome = judge(found).outcome

    def same(proc: Proc) -> bool:
        return judge(Drawn(seed, found.kind, found.changes, proc)).outcome is outcome

    smallest = shrunk(found.proc, same)
    last = judge(Drawn(seed, found.kind, found.changes, smallest))
    said = last.schedule or "\n".join(f"{h.id}: {h.text}" for h in dict.fromkeys(last.hazards))
    return f"seed {seed} ({found.kind} {', '.join(found.changes)}): {outcome}\n{smallest}\n{said}"


def described(judgement: Judgement, proc: Proc) -> str:
    """Everything about one program."""
    hazards = sorted({f"{h.id} at {'.'.join(map(str, h.where))}" for h in judgement.hazards})
    parts = [str(proc), str(judgement.outcome), *hazards, judgement.entry.reason, judgement.schedule]
    return "\n".join(part for part in parts if part)


def write(file: Path, **parts: Any) -> None:
    """Bring parts of the result up to date, and leave the others."""
    try:
        kept = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        kept = {}
    found = {"schema": SCHEMA, **{k: v for k, v in kept.items() if k != "schema"}, **parts}
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def _minutes(text: str) -> float:
    minutes = float(text)
    if not 0 < minutes < math.inf:
        raise ValueError
    return minutes


def arguments() -> argparse.ArgumentParser:
    """The options."""
    parser = argparse.ArgumentParser(
        prog="python -m trials.machine.campaign",
        description="Hold the abstract machine to every interleaving of small programs.",
        epilog="exit codes: 0 no disagreement, 1 some, or too many slips unnoticed, 130 interrupted",
    )
    parser.add_argument("--minutes", type=_minutes, default=5.0, metavar="N", help="how long (5)")
    parser.add_argument("--most", type=int, metavar="N", help="at most so many programs")
    parser.add_argument(
        "--program", type=int, metavar="SEED", help="judge the program of one seed, and show it"
    )
    parser.add_argument("--slips", action="store_true", help="make mistakes in the machine instead")
    parser.add_argument("--fresh", action="store_true", help="forget what earlier runs found")
    parser.add_argument("--output", type=Path, default=RESULT, metavar="FILE", help="where the totals go")
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run, and return the exit code."""
    options = arguments().parse_args(argv)
    console = Console(highlight=False)
    if options.program is not None:
        found = drawn(options.program)
        console.print(described(judge(found), found.proc), markup=False, soft_wrap=True)
        return 0
    ledger = Ledger(None if options.fresh else default_folder() / "adequacy-1.sqlite")
    try:
        if options.slips:
            from trials.machine.slips import slips

            return slips(ledger, options.minutes, console, options.output)
        return _campaign(options, ledger, console)
    except SoundlineError as error:
        print(f"machine: {error}", file=sys.stderr)
        return USAGE
    except KeyboardInterrupt:
        print("interrupted; the next run goes on from here", file=sys.stderr)
        return INTERRUPTED
    finally:
        ledger.close()


def _campaign(options: argparse.Namespace, ledger: Ledger, console: Console) -> int:
    campaign(ledger, options.minutes, console, options.most)
    found = totals(ledger.entries(version()))
    show(found, console)
    for seed in found.bad[:SHOWN]:
        console.print(explained(seed), markup=False, soft_wrap=True)
    write(options.output, command="make verify-deep", version=version()[:16], **found.as_json())
    console.print(f"written to {options.output}", soft_wrap=True)
    return FOUND if found.bad else 0


if __name__ == "__main__":
    sys.exit(main())
