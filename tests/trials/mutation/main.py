"""
Do the tests hold the law?
==========================

``python -m trials.mutation.main`` (``make verify-deep``) changes operators, bounds and conditions of the law, the
prover and the rules, one at a time, in a throw-away copy, and sees whether a test goes red. It shows what went
unnoticed, writes the score to ``benchmarks/results/mutation.json``, and succeeds if enough was noticed.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

from rich.console import Console

from soundline.spec.errors import SoundlineError, UsageError
from soundline.verify.verdicts.cache import default_folder
from trials.mutation.campaign import Campaign, Plan
from trials.mutation.ledger import Ledger
from trials.mutation.operators import changes
from trials.mutation.progress import Shown
from trials.mutation.report import as_json, show, succeeds
from trials.mutation.targets import RULES, TARGETS, THRESHOLD

ROOT = Path(__file__).resolve().parents[3]
RESULT = "benchmarks/results/mutation.json"
MOST_WORKERS = 2
WIDTH = 110
"""The width of a report that goes to a file."""
FOUND, USAGE, INTERRUPTED = 1, 2, 130


class Parser(argparse.ArgumentParser):
    """A parser that raises instead of ending the process."""

    def error(self, message: str) -> NoReturn:
        """Raise ``UsageError``."""
        raise UsageError(message, hint="python -m trials.mutation.main --help")


def arguments() -> Parser:
    """The options."""
    parser = Parser(
        prog="python -m trials.mutation.main",
        description="Change the law, the prover and the rules on purpose, and see whether the tests notice.",
        epilog=f"exit codes: 0 at least {100 * THRESHOLD:.0f} % noticed, 1 less, 2 wrong use, 130 interrupted",
    )
    parser.add_argument("--minutes", type=_minutes, default=10.0, metavar="N", help="how long to try (10)")
    parser.add_argument(
        "--only",
        nargs="+",
        default=[],
        metavar="MODULE",
        help="these targets alone, such as bounds or verify/smt",
    )
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="another order of the mutants (0)")
    parser.add_argument("--sample", type=int, metavar="N", help="at most N mutants of each target")
    parser.add_argument(
        "--workers", type=int, choices=range(1, MOST_WORKERS + 1), help="mutants tried at a time"
    )
    parser.add_argument("--fresh", action="store_true", help="forget what earlier runs found")
    parser.add_argument(
        "--output",
        type=Path,
        metavar="FILE",
        help=f"where the result goes ({RESULT}, unless --only is given)",
    )
    return parser


def _minutes(text: str) -> float:
    minutes = float(text)
    if not 0 < minutes < math.inf:
        raise ValueError
    return minutes


def main(argv: Sequence[str] | None = None) -> int:
    """Run, and return the exit code."""
    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = WIDTH
    try:
        return _run(arguments().parse_args(argv), console)
    except SoundlineError as error:
        print(f"mutation: {error}", file=sys.stderr)
        return USAGE
    except KeyboardInterrupt:
        print("interrupted; the next run goes on from here", file=sys.stderr)
        return INTERRUPTED


def _run(options: argparse.Namespace, console: Console) -> int:
    if not (ROOT / "pyproject.toml").exists() or not (ROOT / "tests").is_dir():
        raise UsageError(
            "there are no tests here", hint="run this in a checkout of soundline, after `make test`"
        )
    changes()
    workers = options.workers or min(MOST_WORKERS, os.cpu_count() or 1)
    plan = Plan(
        ROOT, TARGETS, RULES, options.minutes, tuple(options.only), options.seed, workers, options.sample
    )
    ledger = Ledger(None if options.fresh else default_folder() / "mutants-1.sqlite")
    try:
        with Shown(console, plan.minutes) as shown:
            tallies = Campaign(plan, ledger, shown).run()
    finally:
        ledger.close()
    show(tallies, console, threshold=THRESHOLD)
    output = options.output or (None if plan.only else ROOT / RESULT)
    if output is not None:
        _write(output, as_json(tallies, threshold=THRESHOLD, command=_command(plan), seed=plan.seed))
        console.print(f"written to {output}", soft_wrap=True)
    return 0 if succeeds(tallies, THRESHOLD) else FOUND


def _command(plan: Plan) -> str:
    """What to type to repeat the run."""
    words = [f"--seed {plan.seed}"] if plan.seed else []
    words += [f"--only {' '.join(plan.only)}"] if plan.only else []
    words += [f"--sample {plan.sample}"] if plan.sample is not None else []
    arguments = f' ARGS="{" ".join(words)}"' if words else ""
    return f"make verify-deep MINUTES={plan.minutes:g}{arguments}"


def _write(file: Path, result: dict[str, Any]) -> None:
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{file} cannot be written: {error.strerror}") from None


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # so that the copies are removed on the way out
    sys.exit(main())
