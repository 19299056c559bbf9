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
import sys
from collections.abc import Sequence
from contextlib import closing

from rich.console import Console

from soundline.spec.spork.language.programs import Proc
from trials.harness import FOUND, RESULTS, command, ledger_of, parser, write
from trials.ledger import Ledger, entries, version
from trials.machine.generator import Drawn, drawn
from trials.machine.judge import BAD, Judgement, Outcome, judge
from trials.machine.report import SCHEMA, show, totals
from trials.machine.shrinking import shrunk
from trials.numbered import Numbered

RESULT = RESULTS / "adequacy.json"
SHOWN = 3
"""How many disagreements are made small in one run."""


def campaign(ledger: Ledger, minutes: float, console: Console, most: int | None = None) -> list[int]:
    """Judge programs that the ledger does not know, until the time is up; the seeds of the bad ones."""
    numbered = Numbered(
        ledger,
        version(),
        lambda seed: judge(drawn(seed)).entry,
        lambda entry: Outcome[entry.outcome] in BAD,
        "programs",
        "disagreements",
    )
    return [entry.seed for entry in numbered.trial(minutes, console, most)]


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


def main(argv: Sequence[str] | None = None) -> int:
    """Run, and return the exit code."""
    options = parser(
        "trials.machine.campaign",
        "Hold the abstract machine to every interleaving of small programs.",
        "exit codes: 0 no disagreement, 1 some, or too many slips unnoticed, 2 wrong use, 130 interrupted",
        minutes=5,
        output=str(RESULT),
    )
    options.add_argument("--most", type=int, metavar="N", help="at most so many programs")
    options.add_argument(
        "--program", type=int, metavar="SEED", help="judge the program of one seed, and show it"
    )
    options.add_argument("--slips", action="store_true", help="make mistakes in the machine instead")
    return command("machine", lambda: _run(options.parse_args(argv)))


def _run(options: argparse.Namespace) -> int:
    console = Console(highlight=False)
    if options.program is not None:
        found = drawn(options.program)
        console.print(described(judge(found), found.proc), markup=False, soft_wrap=True)
        return 0
    output = options.output or RESULT
    with closing(ledger_of(fresh=options.fresh)) as ledger:
        if options.slips:
            from trials.machine.slips import slips

            return slips(ledger, options.minutes, console, output)
        campaign(ledger, options.minutes, console, options.most)
        total = totals(entries(ledger, version()))
    show(total, console)
    for seed in total.bad[:SHOWN]:
        console.print(explained(seed), markup=False, soft_wrap=True)
    write(output, schema=SCHEMA, command="make verify-deep", version=version()[:16], **total.as_json())
    console.print(f"written to {output}", soft_wrap=True)
    return FOUND if total.bad else 0


if __name__ == "__main__":
    sys.exit(main())
