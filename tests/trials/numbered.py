"""
What is judged by number
========================

Random cases have numbers, and whoever draws one draws the same case again. A trial goes through the numbers that the
ledger does not know until its time is up, and keeps what was found in the ledger as it goes.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from rich.console import Console

from trials.ledger import Entry, Ledger

TOLD = 30.0
"""Seconds between two lines of progress."""


def trial(
    ledger: Ledger,
    version: str,
    judged: Callable[[int], Entry],
    is_bad: Callable[[Entry], bool],
    *,
    minutes: float,
    most: int | None,
    batch: int,
    told: Callable[[int, int], str],
    console: Console,
) -> list[Entry]:
    """The bad ones among the cases that this run has judged; of `told`, the line that says how many there are."""
    known = {entry.seed for entry in ledger.entries(version)}
    deadline, last = time.monotonic() + 60 * minutes, time.monotonic()
    bad: list[Entry] = []
    fresh: list[Entry] = []
    number = count = 0
    try:
        while time.monotonic() < deadline and (most is None or count < most):
            if number not in known:
                fresh.append(judged(number))
                count += 1
                bad += [fresh[-1]] if is_bad(fresh[-1]) else []
            if len(fresh) == batch:
                ledger.put(version, fresh)
                fresh.clear()
            if time.monotonic() > last + TOLD:
                last = time.monotonic()
                console.print(told(count, len(bad)), highlight=False)
            number += 1
    finally:
        ledger.put(version, fresh)
    return bad
