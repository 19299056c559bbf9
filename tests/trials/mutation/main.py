"""
Do the tests hold the law?
==========================

``python -m trials.mutation.main`` (``make verify-deep``) changes operators, bounds and conditions of the law, the
prover and the rules, one at a time, in a throw-away copy, and sees whether a test goes red. It shows what went
unnoticed, writes the score to ``benchmarks/results/mutation.json``, and succeeds if enough was noticed.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Sequence
from contextlib import closing

from rich.console import Console

from soundline.spec.errors import UsageError
from trials.harness import FOUND, ROOT, Parser, command, ledger_of, parser, write
from trials.mutation.campaign import MutantCampaign, Plan
from trials.mutation.operators import changes
from trials.mutation.progress import Shown
from trials.mutation.report import as_json, show, succeeds
from trials.mutation.targets import RULES, TARGETS, THRESHOLD

RESULT = "benchmarks/results/mutation.json"
MOST_WORKERS = 2
WIDTH = 110
"""The width of a report that goes to a file."""


def arguments() -> Parser:
    """The options."""
    made = parser(
        "trials.mutation.main",
        "Change the law, the prover and the rules on purpose, and see whether the tests notice.",
        f"exit codes: 0 at least {100 * THRESHOLD:.0f} % noticed, 1 less, 2 wrong use, 130 interrupted",
        minutes=10,
        output=f"{RESULT}, unless --only is given",
    )
    made.add_argument(
        "--only",
        nargs="+",
        default=[],
        metavar="MODULE",
        help="these targets alone, such as bounds or verify/smt",
    )
    made.add_argument("--seed", type=int, default=0, metavar="S", help="another order of the mutants (0)")
    made.add_argument("--sample", type=int, metavar="N", help="at most N mutants of each target")
    made.add_argument(
        "--workers", type=int, choices=range(1, MOST_WORKERS + 1), help="mutants tried at a time"
    )
    return made


def main(argv: Sequence[str] | None = None) -> int:
    """Run, and return the exit code."""
    return command("mutation", lambda: _run(arguments().parse_args(argv)))


def _run(options: argparse.Namespace) -> int:
    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = WIDTH
    if not (ROOT / "pyproject.toml").exists() or not (ROOT / "tests").is_dir():
        raise UsageError(
            "there are no tests here", hint="run this in a checkout of soundline, after `make test`"
        )
    changes()
    workers = options.workers or min(MOST_WORKERS, os.cpu_count() or 1)
    plan = Plan(
        ROOT, TARGETS, RULES, options.minutes, tuple(options.only), options.seed, workers, options.sample
    )
    with closing(ledger_of(fresh=options.fresh)) as ledger, Shown(console, plan.minutes) as shown:
        tallies = MutantCampaign(plan, ledger, shown).run(shown)
    show(tallies, console, threshold=THRESHOLD)
    output = options.output or (None if plan.only else ROOT / RESULT)
    if output is not None:
        write(output, **as_json(tallies, threshold=THRESHOLD, command=_command(plan), seed=plan.seed))
        console.print(f"written to {output}", soft_wrap=True)
    return 0 if succeeds(tallies, THRESHOLD) else FOUND


def _command(plan: Plan) -> str:
    """What to type to repeat the run."""
    words = [f"--seed {plan.seed}"] if plan.seed else []
    words += [f"--only {' '.join(plan.only)}"] if plan.only else []
    words += [f"--sample {plan.sample}"] if plan.sample is not None else []
    arguments = f' ARGS="{" ".join(words)}"' if words else ""
    return f"make verify-deep MINUTES={plan.minutes:g}{arguments}"


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # so that the copies are removed on the way out
    sys.exit(main())
