"""Processors that programs are lowered for, whatever runs the tests."""

from __future__ import annotations

import pytest

from soundline.impl.lower.schedule import tiles, vector_types, vectors
from soundline.impl.lower.schedule.target import Target
from soundline.impl.program.compile import lower

WIDE = Target(vector=64, registers=32)
MIDDLE = Target(vector=32, registers=16)
NARROW = Target(vector=16, registers=16)
PROCESSORS = {"wide": WIDE, "middle": MIDDLE, "narrow": NARROW}


def lower_for(target: Target, monkeypatch: pytest.MonkeyPatch) -> None:
    """From here on programs are lowered for this processor; none that was lowered for another is taken."""
    for module in (tiles, vector_types, vectors):
        monkeypatch.setattr(module, "this_machine", lambda: target)
    lower.cache_clear()
