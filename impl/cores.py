"""
Cores
=====

How many cores of the machine programs may use.
"""

from __future__ import annotations

import os
from typing import Final

from soundline.spec.errors import UsageError

VARIABLE: Final = "SOUNDLINE_THREADS"
MOST: Final = 256


def cores() -> int:
    """How many cores programs may use: ``$SOUNDLINE_THREADS``, or else as many as this process may run on."""
    named = os.environ.get(VARIABLE, "").strip()
    if not named:
        affinity = getattr(os, "sched_getaffinity", None)
        return min(len(affinity(0)) if affinity else os.cpu_count() or 1, MOST)
    if not named.isdecimal() or not 1 <= int(named) <= MOST:
        raise UsageError(f"{VARIABLE} is {named!r}, which is not a number of threads from 1 to {MOST}")
    return int(named)
