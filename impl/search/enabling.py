"""
Whether to search
=================

How wide a beam is asked for, by a call or by the environment. The search itself stands in `search`.
"""

from __future__ import annotations

import os
from typing import Final

from soundline.spec.errors import UsageError

VARIABLE: Final = "SOUNDLINE_BEAM"


def width_of(beam: int | None) -> int:
    """How many candidates are kept: as asked, or as the environment says; 0 is no search."""
    if beam is None:
        named = os.environ.get(VARIABLE, "").strip() or "0"
        if not named.isdecimal():
            raise UsageError(f"{VARIABLE} is {named!r}", hint="a number of candidates to keep, or 0")
        return int(named)
    if type(beam) is not int or beam < 0:
        raise UsageError(f"beam is {beam!r}", hint="a number of candidates to keep, or 0")
    return beam
