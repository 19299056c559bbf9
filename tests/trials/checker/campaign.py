"""
The fast checker on trial
=========================

``python -m trials.checker.campaign`` (a stage of ``make verify-deep``) draws small random programs and programs that
repeat them, more than half of them hazardous, and holds the fast checker to the literal machine, under both policies,
with what it skips and without. A disagreement is made small and printed. The ledger keeps what was found, so that every
run goes on where the last one stopped; the totals go to ``benchmarks/results/checker_trials.json``.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from rich.console import Console

from soundline.spec.abstract_machine import Verdict
from soundline.spec.spork.language.programs import Proc
from soundline.spec.spork.synchronization.visibility import Policy
from soundline.verify.verdicts.sameness import digest
from trials.checker.longer import longer
from trials.checker.verdicts import compared
from trials.harness import FOUND, RESULTS, ROOT, command, ledger_of, parser, write
from trials.ledger import Entry, Ledger, entries, meaning
from trials.ledger import version as law_version
from trials.machine.generator import Drawn, drawn
from trials.machine.shrinking import shrunk
from trials.numbered import Numbered

SCHEMA = 1
RESULT = RESULTS / "checker_trials.json"
SAME, DIFFERENT, NONE = "same", "different", "none"
LONGER = 16
"""One of so many numbers is a program that repeats itself."""
RUN_OUT = 4
"""One of so many is checked without what is skipped as well, and so is every one that repeats itself."""


def version() -> str:
    """The digest of what entries rest on: the law, the fast checker and its programs."""
    folder = ROOT / "src/soundline/impl/spork/checker"
    python = [*sorted(folder.glob("*.py")), Path(__file__).with_name("longer.py")]
    texts = [meaning(f.read_text("utf-8")) for f in python]
    return digest(
        law_version() + "".join(texts + [f.read_text("utf-8") for f in sorted(folder.glob("core/*.c"))])
    )


def program(number: int) -> tuple[Drawn | None, Policy]:
    """The program of a number, and the policy under which it is checked."""
    policy = Policy.strict if number // LONGER % 3 == 0 else Policy.temporal
    return (longer(number) if number % LONGER == 0 else drawn(number)), policy


def judged(number: int) -> Entry:
    """What comes of a number."""
    found, policy = program(number)
    if found is None:
        return Entry(number, "longer", outcome=NONE)
    run_out = number % RUN_OUT == 0
    wanted, different = compared(found.proc, {}, policy, run_out=run_out)
    ids = tuple(sorted({f.id for f in wanted.findings})) if isinstance(wanted, Verdict) else ()
    return Entry(number, found.kind, found.changes, DIFFERENT if different else SAME, ids)


def explained(number: int) -> str:
    """A program about which there is a disagreement, as small as it goes."""
    found, policy = program(number)
    assert found is not None

    def differs(proc: Proc) -> bool:
        return bool(compared(proc, {}, policy)[1])

    smallest = shrunk(found.proc, differs)
    return "\n".join(
        [f"number {number} ({found.kind}), {policy}:", str(smallest), *compared(smallest, {}, policy)[1]]
    )


def totals(ledger: Ledger) -> dict[str, Any]:
    """What all runs together have found of this version."""
    every = list(entries(ledger, version()))
    compared = [e for e in every if e.outcome != NONE]
    hazardous = [e for e in compared if e.ids]
    return {
        "programs": {
            "compared": len(compared),
            "repeating": sum(e.kind.startswith("longer") for e in compared),
            "hazardous": len(hazardous),
            "left_out": len(every) - len(compared),
        },
        "disagreements": [e.seed for e in compared if e.outcome == DIFFERENT],
        "hazards": dict(sorted(Counter(i for e in hazardous for i in e.ids).items())),
        "kinds": dict(sorted(Counter(e.kind for e in compared).items())),
    }


def main(argv: Sequence[str] | None = None) -> int:
    """Run, and return the exit code."""
    options = parser(
        "trials.checker.campaign",
        "Hold the fast checker to the literal machine.",
        "exit codes: 0 no disagreement, 1 some, 2 wrong use, 130 interrupted",
        minutes=5,
        output=str(RESULT),
    )
    options.add_argument("--most", type=int, metavar="N", help="at most so many programs")
    options.add_argument(
        "--program", type=int, metavar="N", help="make the program of a number small, and show it"
    )
    return command("checker", lambda: _run(options.parse_args(argv)))


def _run(options: argparse.Namespace) -> int:
    console = Console(highlight=False)
    if options.program is not None:
        console.print(explained(options.program), markup=False, soft_wrap=True)
        return 0
    output = options.output or RESULT
    with closing(ledger_of(fresh=options.fresh)) as ledger:
        Numbered(
            ledger, version(), judged, lambda entry: entry.outcome == DIFFERENT, "programs", "disagreements"
        ).trial(options.minutes, console, options.most)
        found = totals(ledger)
    write(output, schema=SCHEMA, command="make verify-deep", version=version()[:16], **found)
    told = found["programs"]
    console.print(
        f"{told['compared']:,} programs compared, {told['hazardous'] / max(1, told['compared']):.0%} hazardous, "
        f"{told['repeating']:,} repeat themselves; {len(found['disagreements'])} disagreements\nwritten to {output}",
        soft_wrap=True,
    )
    for number in found["disagreements"][:3]:
        console.print(explained(number), markup=False, soft_wrap=True)
    return FOUND if found["disagreements"] else 0


if __name__ == "__main__":
    sys.exit(main())
