"""
Machines of the command line
============================

Which machine checks a program, with how much memory, and what is shown meanwhile: on a terminal a line on stderr that
says how far a check is, once it takes longer than a second.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from time import monotonic
from types import TracebackType
from typing import Final

from soundline.impl.spork.checker.machines import MACHINES, judged
from soundline.spec.abstract_machine import Verdict
from soundline.spec.errors import UsageError
from soundline.spec.spork.language.programs import Proc
from soundline.spec.spork.synchronization.visibility import Policy

UNITS: Final = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "ki": 2**10, "mi": 2**20, "gi": 2**30}
QUIET: Final = 1.0
"""Seconds without a word."""


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "--machine",
        choices=MACHINES,
        default=MACHINES[0],
        help="fast, or literal, which is the law word by word and slow (default: fast)",
    )
    parser.add_argument(
        "--budget",
        metavar="SIZE",
        help="memory that a check may need, such as 2GB (default: as much as there is)",
    )
    parser.add_argument(
        "--redundant",
        action="store_true",
        help="note the synchronizations without which there is no hazard either, at these sizes",
    )


def verdict(
    proc: Proc, sizes: Mapping[str, int | bool], policy: Policy, options: argparse.Namespace
) -> Verdict:
    """The verdict on a program, as the options ask for it."""
    budget = None if options.budget is None else number_of_bytes(options.budget)
    with Shown() as shown:
        return judged(
            proc,
            sizes,
            machine=options.machine,
            policy=policy,
            redundant=options.redundant,
            budget=budget,
            progress=shown,
            told=note,
        )


def note(text: str) -> None:
    """Something that is other than was asked for, on stderr."""
    print(f"soundline: note: {text}", file=sys.stderr)


def number_of_bytes(text: str) -> int:
    """A size of memory.

    >>> [number_of_bytes(text) for text in ("2GB", "1.5 KiB", "300")]
    [2000000000, 1536, 300]
    """
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(|[kmg]i?)b?", text.strip().lower())
    if found is None:
        raise UsageError(f"--budget {text} is no size of memory", hint="such as 500MB or 2GiB")
    return int(float(found[1]) * UNITS[found[2]])


@dataclass(slots=True)
class Shown:
    """How far a check is, in one line of a terminal. Use it as a context: at its end the line is gone."""

    began: float = field(default_factory=monotonic)
    width: int = 0
    """Of the line as it is."""

    def __call__(self, events: int, fraction: float) -> None:
        """Show it."""
        seconds = monotonic() - self.began
        if seconds > QUIET and sys.stderr.isatty():
            self._line(progress_text(events, fraction, seconds))

    def __enter__(self) -> Shown:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Clear the line."""
        if self.width:
            self._line("")
            print(end="\r", file=sys.stderr, flush=True)

    def _line(self, text: str) -> None:
        print(f"\r{text:<{self.width}}", end="", file=sys.stderr, flush=True)
        self.width = len(text)


def progress_text(events: int, fraction: float, seconds: float) -> str:
    """How far a check is after some seconds.

    >>> progress_text(3_000_000, 0.25, 2)
    'checking: 3,000,000 events, 1,500,000 in a second, 25 %, about 6 s to go'
    """
    said = f"checking: {events:,} events, {events / seconds:,.0f} in a second"
    if fraction <= 0:
        return said
    return f"{said}, {fraction:.0%}, about {seconds * (1 - fraction) / fraction:,.0f} s to go".replace(
        "%", " %"
    )
