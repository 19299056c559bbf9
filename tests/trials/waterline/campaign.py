"""
Values below the waterline
==========================

``python -m trials.waterline.campaign`` (a stage of ``make verify-deep``) holds emulated CUDA to the sequential reading:
on every example and flagship, and on random programs that the abstract machine accepts, each under several orders of
threads and of asynchronous operations. Equality is exact, but for flagships that use approximate functions.

With ``--faults`` it makes mistakes instead, and sees that each is noticed: `drops` leaves out each synchronization that
the machine calls necessary, `faults` makes mistakes in generated text and in headers.

The ledger keeps what was found; the totals go to ``benchmarks/results/waterline.json``.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import cache
from itertools import count
from typing import Any

from rich.console import Console

from soundline.spec.spork.language.programs import Proc
from soundline.verify.verdicts.sameness import digest
from trials.child import Child, Ended
from trials.harness import FOUND, RESULTS, ROOT, Bar, Campaign, command, ledger_of, parser, run, write
from trials.ledger import PARTS, Ledger, meaning
from trials.machine.shrinking import shrunk
from trials.machine.verdicts import accepts
from trials.waterline import corpus
from trials.waterline.batches import SCHEDULES, Batch, small_case
from trials.waterline.programs import judged
from trials.waterline.widening import widened

RESULT = RESULTS / "waterline.json"
SCHEMA = 1
SECONDS = 600.0
"""Processor time that a batch may take."""
SHOWN = 3
"""How many disagreements are made small in one run."""

BELOW = (
    "impl/codegen/cuda/**/*.py",
    "impl/codegen/cuda/*.cuh",
    "impl/codegen/cuda/*.h",
    "impl/runtime/emulator/*.h",
    "impl/runtime/emulator/*.cpp",
    "impl/runtime/emulator/*.cuh",
    "tests/trials/waterline/batches.py",
    "tests/trials/waterline/programs.py",
    "tests/trials/waterline/widening.py",
)
"""What findings rest on, beside the machine and its random programs."""


@cache
def version() -> str:
    """The digest of what findings rest on."""
    files = sorted({f for part in (*PARTS, *BELOW) for f in ROOT.glob(part)})
    texts = ((f, f.read_text("utf-8")) for f in files)
    return digest("".join(f"{f.name} {meaning(t) if f.suffix == '.py' else t}" for f, t in texts))


@cache
def mistakes_version() -> str:
    """The digest of what findings of mistakes rest on."""
    own = sorted(ROOT.glob("tests/trials/waterline/*.py"))
    return "mistakes " + digest(version() + "".join(meaning(f.read_text("utf-8")) for f in own))


@dataclass(eq=False)
class Random(Campaign[int, dict[str, Any]]):
    """Batches of random programs, by number."""

    ledger: Ledger
    child: Child
    programs: int = 0
    wrong: list[str] = field(default_factory=list)

    def cases(self) -> Iterator[int]:
        """The batches that the ledger does not know."""
        known = {found["batch"] for found in self.ledger.all(version())}
        return (number for number in count() if number not in known)

    def judged(self, case: int, worker: Any) -> dict[str, Any]:
        """What a child finds of a batch; one that ends the process is wrong."""
        try:
            found = self.child.ask(case, SECONDS)
        except Ended as ended:
            found = {"accepted": 0, "kinds": {}, "passed": {}, "wrong": [f"batch {case}: {ended}"]}
        found = {"batch": case, **found}
        self.ledger.put(version(), case, found)
        return dict(found)

    def heard(self, case: int, found: dict[str, Any] | None) -> None:
        """Count it."""
        if found is not None:
            self.programs += found["accepted"]
            self.wrong += found["wrong"]

    def goes_on(self, case: int) -> bool:
        """There is no end to numbers."""
        return False

    def progress(self) -> str:
        """How many in this run."""
        return f"{self.programs:,} programs in this run, {len(self.wrong)} wrong"


def totals(ledger: Ledger) -> dict[str, Any]:
    """What all runs have found of random programs."""
    kinds: Counter[str] = Counter()
    passed: Counter[str] = Counter()
    wrong: list[str] = []
    for found in ledger.all(version()):
        kinds += Counter(found["kinds"])
        passed += Counter(found["passed"])
        wrong += found["wrong"]
    return {
        "programs": kinds.total(),
        "runs": kinds.total() * len(SCHEDULES),
        "wrong": wrong,
        "by kind": dict(sorted(kinds.items())),
        "not run": dict(sorted(passed.items())),
    }


def works(console: Console) -> dict[str, Any]:
    """Every example and flagship under every order."""
    wrong, names = [], []
    for work in corpus.works():
        names.append(str(work))
        said = Batch([corpus.work_case(work)]).wrong(0)
        console.print(f"{work}: {said or 'right'}", markup=False, soft_wrap=True)
        wrong += [f"{work}: {said}"] if said else []
    return {"programs": names, "runs": len(names) * len(SCHEDULES), "wrong": wrong}


def explained(number: int) -> str:
    """The program of a number, for which CUDA and law differ, as small as it goes, with its CUDA."""
    from trials.machine.generator import drawn

    def differs(proc: Proc) -> bool:
        return accepts(proc) and bool(_said(proc))

    smallest = shrunk(drawn(number).proc, differs)
    made = widened(smallest, "smallest")
    return f"{made}\n{_said(smallest)}\n{made.cuda()}"


def _said(proc: Proc) -> str:
    return Batch([small_case(widened(proc, "smallest"))]).wrong(0)


def main(argv: Sequence[str] | None = None) -> int:
    """Run, and return the exit code."""
    options = parser(
        "trials.waterline.campaign",
        "Hold emulated CUDA to the sequential reading, or see that mistakes are noticed.",
        "exit codes: 0 nothing found, 1 wrong values or too many mistakes unnoticed, 2 wrong use, 130 interrupted",
        minutes=5,
        output=str(RESULT),
    )
    options.add_argument("--most", type=int, metavar="N", help="at most so many batches of random programs")
    options.add_argument(
        "--program", type=int, metavar="N", help="make the program of a number small, and show it"
    )
    options.add_argument("--works", action="store_true", help="examples and flagships instead")
    options.add_argument("--faults", action="store_true", help="make mistakes instead")
    kinds = ("text", "header", "drop")
    options.add_argument(
        "--kinds", nargs="+", choices=kinds, default=kinds, help="mistakes of these kinds alone"
    )
    return command("waterline", lambda: _run(options.parse_args(argv)))


def _run(options: argparse.Namespace) -> int:
    console = Console(highlight=False)
    output = options.output or RESULT
    if options.program is not None:
        console.print(explained(options.program), markup=False, soft_wrap=True)
        return 0
    if options.faults:
        from trials.waterline.noticing import noticing

        return noticing(options, console, output)
    head = {"schema": SCHEMA, "command": "make verify-deep"}
    if options.works:
        found = works(console)
        write(output, **head, works=found)
    else:
        found = _random(options, console)
        write(output, **head, version=version()[:16], random=found)
    console.print(f"written to {output}", soft_wrap=True)
    return FOUND if found["wrong"] else 0


def _random(options: argparse.Namespace, console: Console) -> dict[str, Any]:
    with (
        closing(ledger_of(fresh=options.fresh)) as ledger,
        Child(lambda b: judged(b).as_json(), None) as child,
    ):
        with Bar(console, options.minutes) as bar:
            run(Random(ledger, child), options.minutes, bar, most=options.most)
        found = totals(ledger)
    said = f"{found['programs']:,} programs, each in {len(SCHEDULES)} orders, {len(found['wrong'])} wrong"
    console.print(said, soft_wrap=True)
    for line in found["wrong"][:SHOWN]:
        console.print(line, markup=False, soft_wrap=True)
        name = line.partition(":")[0]
        if name[:1] == "p" and name[1:].isdecimal():
            console.print(explained(int(name[1:])), markup=False, soft_wrap=True)
    return found


if __name__ == "__main__":
    sys.exit(main())
