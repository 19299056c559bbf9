"""
The deep checks, in turn
========================

``python -m trials.deep`` (``make verify-deep``) runs the checks that have no natural end: the interpreters of others
asked about random programs, the fast checker beside the literal machine, the abstract machine on trial, slips of the
machine, emulated CUDA against the sequential reading, mistakes of the generator of CUDA, random rules against the
prover, and changes of the law that tests should notice. Each is a *stage*, and stages take turns: the next turn goes
to the stage that has had the least time, so that every one gets its share however few the minutes are. A stage goes on
where its last turn ended, in this run or an earlier one; at the end the totals that all runs have reached are shown.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, field

from rich.console import Console

from trials.harness import FOUND, INTERRUPTED, RESULTS, command, ledger_of, positive, started
from trials.ledger import Ledger

LEAST_TURN, MOST_TURN = 0.25, 4.0
"""Minutes of a turn."""
HLO_SEED, HLO_TURN = 20, 400
"""The first seed for StableHLO, and the programs of a turn."""
MUTATION_TURN = 2.0
"""The least minutes for mutants of law and prover: their tests are first timed without a change."""
TURNS = "turns"
"""What the ledger calls the numbers of turns."""
TINYGRAD_SEED = 20
"""The first seed for tinygrad's graphs; a turn has all families once."""


@dataclass(frozen=True, slots=True)
class Stage:
    """A check that takes turns."""

    name: str
    command: Callable[[int, float], list[str]]
    """The module and its arguments, for the number of the turn, over all runs, and the minutes that it may take."""
    totals: Callable[[int], str]
    """What all turns together have reached, given how many ended well."""
    settled: bool = False
    """Whether the minutes have no say in how long a turn takes."""
    least: float = LEAST_TURN
    """The minutes without which a turn comes to nothing."""


@dataclass(slots=True)
class Course:
    """How a stage fares in this run."""

    stage: Stage
    seconds: float = 0.0
    turns: int = 0
    failed: list[int] = field(default_factory=list)
    """The exit codes of its turns that found something."""


def _hlo(turn: int, _minutes: float) -> list[str]:
    words = ["--words", "40"]
    return [
        "trials.differential.stablehlo",
        "--seed",
        str(HLO_SEED + turn),
        "--count",
        str(HLO_TURN),
        *words,
    ]


def _tinygrad(turn: int, _minutes: float) -> list[str]:
    return ["trials.differential.tinygrad", "--seed", str(TINYGRAD_SEED + turn)]


def _checker(_turn: int, minutes: float) -> list[str]:
    return ["trials.checker.campaign", "--minutes", f"{minutes:g}"]


def _machine(_turn: int, minutes: float) -> list[str]:
    return ["trials.machine.campaign", "--minutes", f"{minutes:g}"]


def _slips(_turn: int, minutes: float) -> list[str]:
    return ["trials.machine.campaign", "--slips", "--minutes", f"{minutes:g}"]


def _waterline(_turn: int, minutes: float) -> list[str]:
    return ["trials.waterline.campaign", "--minutes", f"{minutes:g}"]


def _mistakes(_turn: int, minutes: float) -> list[str]:
    return ["trials.waterline.campaign", "--faults", "--minutes", f"{minutes:g}"]


def _attack(_turn: int, minutes: float) -> list[str]:
    return ["trials.attack", "--minutes", f"{minutes:g}"]


def _mutation(_turn: int, minutes: float) -> list[str]:
    return ["trials.mutation.main", "--minutes", f"{minutes:g}"]


def _kept(file: str, *path: str) -> str:
    """A part of a result that is kept, in words."""
    try:
        found = json.loads((RESULTS / file).read_text())
        for key in path:
            found = found[key]
    except (OSError, ValueError, KeyError):
        return "nothing yet"
    return ", ".join(f"{key} {value}" for key, value in found.items() if not isinstance(value, dict | list))


STAGES: tuple[Stage, ...] = (
    Stage("stablehlo", _hlo, lambda turns: f"{HLO_TURN * turns} programs, 0 differ", settled=True),
    Stage("tinygrad", _tinygrad, lambda turns: f"all families, {turns} times", settled=True),
    Stage("checker", _checker, lambda _: _kept("checker_trials.json", "programs")),
    Stage("machine", _machine, lambda _: _kept("adequacy.json", "programs")),
    Stage("slips", _slips, lambda _: _kept("adequacy.json", "slips", "total")),
    Stage("waterline", _waterline, lambda _: _kept("waterline.json", "random")),
    Stage("mistakes", _mistakes, lambda _: _kept("waterline.json", "faults")),
    Stage("attack", _attack, lambda _: _kept("attack.json", "rules")),
    Stage("mutation", _mutation, lambda _: _kept("mutation.json", "total"), least=MUTATION_TURN),
)
"""Every stage, in the order of their first turns."""


def run(stages: Sequence[Stage], minutes: float, ledger: Ledger, console: Console) -> int:
    """Give the stages their turns until the time is up; the exit code."""
    courses = [Course(stage) for stage in stages]
    deadline = time.monotonic() + 60 * minutes
    turn = min(MOST_TURN, max(LEAST_TURN, minutes / (2 * len(stages))))
    while any(c.turns == 0 for c in courses) or time.monotonic() < deadline:
        course = min(courses, key=lambda c: (c.turns > 0, c.seconds))
        left = (deadline - time.monotonic()) / 60
        if course.turns and course.stage.settled and 60 * left < course.seconds / course.turns:
            course.seconds = math.inf  # what cannot be made shorter does not fit any more
            if all(c.seconds == math.inf for c in courses):
                break
            continue
        _take(course, max(course.stage.least, min(turn, left)), ledger, console)
    return _told(courses, ledger, console)


def _take(course: Course, minutes: float, ledger: Ledger, console: Console) -> None:
    name = course.stage.name
    number = _count(ledger, name)
    console.rule(f"{name}, turn {number + 1}")
    began = time.monotonic()
    code = started(*course.stage.command(number, minutes))
    course.seconds += time.monotonic() - began
    course.turns += 1
    if code == INTERRUPTED:
        raise KeyboardInterrupt
    if code:
        course.failed.append(code)
    else:
        ledger.put(TURNS, name, number + 1)


def _count(ledger: Ledger, name: str) -> int:
    found = ledger.get(TURNS, name)
    return found if isinstance(found, int) else 0


def _told(courses: Sequence[Course], ledger: Ledger, console: Console) -> int:
    console.rule("totals")
    for course in courses:
        turns = _count(ledger, course.stage.name)
        said = course.stage.totals(turns)
        problem = f"; FOUND SOMETHING (exit codes {course.failed})" if course.failed else ""
        console.print(
            f"{course.stage.name:<10} {turns} turns in all: {said}{problem}", markup=False, soft_wrap=True
        )
    return FOUND if any(c.failed for c in courses) else 0


def main(argv: Sequence[str] | None = None) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="python -m trials.deep",
        description="Run the checks that have no natural end, in turn. Other options are those of the last stage, the "
        "mutation of law and prover, which then runs alone.",
        epilog="exit codes: 0 nothing found, 1 a stage found something, 130 interrupted",
    )
    parser.add_argument("--minutes", type=positive, default=10.0, metavar="N", help="how long (10)")
    names = [s.name for s in STAGES]
    parser.add_argument("--stages", nargs="+", choices=names, default=names, help="these stages alone")
    options, others = parser.parse_known_args(argv)
    stages = [s for s in STAGES if s.name in options.stages]
    if others:  # the stage of mutation alone, with options of its own
        return started(*_mutation(0, options.minutes), *others)
    with closing(ledger_of(fresh=False)) as ledger:
        return command("deep", lambda: run(stages, options.minutes, ledger, Console(highlight=False)))


if __name__ == "__main__":
    sys.exit(main())
