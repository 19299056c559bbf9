"""
Effort
======

The limits of a proof, as users write them: a budget by name or in seconds, a number of processes, a seed.
"""

from __future__ import annotations

import math
import os
from dataclasses import dataclass

from soundline.spec.errors import UsageError


@dataclass(frozen=True, slots=True)
class Effort:
    """The limits of one goal: the solver's own count of work, seconds as a backstop, and the seed of its choices."""

    rlimit: int
    seconds: float
    seed: int = 0

    def covers(self, other: Effort) -> bool:
        """Whether this is at least as much as `other`."""
        return self.rlimit >= other.rlimit and self.seconds >= other.seconds


BUDGETS = {
    "quick": Effort(rlimit=5_000_000, seconds=5.0),
    "normal": Effort(rlimit=30_000_000, seconds=30.0),
    "deep": Effort(rlimit=300_000_000, seconds=300.0),
}
"""Budgets by name."""

WORK_PER_SECOND = 1_000_000
"""How much of the solver's work stands for a second, so that a budget in seconds is the same on every machine."""


GOALS_PER_RULE = 10
"""A rule may take as long as so many goals, unless it is told how long."""


def next_budget(effort: Effort) -> str:
    """The name, or the seconds, of a budget that offers more."""
    for name, other in BUDGETS.items():
        if not effort.covers(other):
            return name
    return f"{10 * effort.seconds:g}"


SLACK = 5
"""How many times the seconds of a budget may pass on the clock before a question is given up.

The count of work is what ends a question, so that a slow or busy machine finds the same verdicts; the clock is there
for a solver that does not count. A machine may be five times slower than the one that `WORK_PER_SECOND` stands for.
"""


def effort_of(text: str) -> Effort:
    """A budget by name or in seconds. Raises ``UsageError`` for anything else."""
    if text in BUDGETS:
        return BUDGETS[text]
    try:
        seconds = seconds_of(text)
    except UsageError:
        names = ", ".join(BUDGETS)
        raise UsageError(f"{text!r} is not a budget: it is a number of seconds, or one of {names}") from None
    return Effort(max(1, int(seconds * WORK_PER_SECOND)), seconds)


def seconds_of(text: str) -> float:
    """A positive number of seconds, ``s`` after it or not. Raises ``UsageError`` for anything else."""
    try:
        seconds = float(text.removesuffix("s"))
    except ValueError:
        seconds = math.nan
    if not 0 < seconds < 10**6:
        raise UsageError(f"{text!r} is not a number of seconds")
    return seconds


def processes_of(text: str) -> int:
    """A number of processes, at least one. Raises ``UsageError`` for anything else."""
    if not (text.isascii() and text.isdecimal() and 1 <= int(text) <= 1024):
        raise UsageError(f"{text!r} is not a number of processes")
    return int(text)


def seed_of(text: str) -> int:
    """A seed. Raises ``UsageError`` for anything else."""
    if not (text.isascii() and text.isdecimal() and int(text) < 2**32):
        raise UsageError(f"{text!r} is not a seed: it is a whole number below 2**32")
    return int(text)


def processors() -> int:
    """How many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return max(1, len(os.sched_getaffinity(0)))
    return os.cpu_count() or 1
