"""
Target
======

What of the processor decides how loops are cut: how wide its vectors are and how many registers hold one.
"""

from __future__ import annotations

import contextlib
import functools
import platform
from dataclasses import dataclass, field
from pathlib import Path

from soundline.impl.toolchain import machine

_CACHE = Path("/sys/devices/system/cpu/cpu0/cache/index2/size")
_USUAL = 1 << 20


@dataclass(frozen=True, slots=True)
class Target:
    """A processor, as the stages see it."""

    vector: int
    """Bytes of the widest vector."""
    registers: int
    """How many vectors there are registers for."""
    tile: tuple[int, int] | None = None
    """Rows of a tile and vectors across, where they are not to be derived."""
    cache: int = field(default=_USUAL, compare=False)
    """Bytes of the second cache, which a core has for itself."""

    @property
    def across(self) -> int:
        """How many vectors lie side by side in a tile of a matrix product."""
        if self.tile is not None:
            return self.tile[1]
        return 4 if self.registers >= 32 else 2

    @property
    def rows(self) -> int:
        """How many rows such a tile has: with their sums, a row of the one operand and an element of the other the
        registers are full.
        """
        return 6 if self.tile is None else self.tile[0]


@functools.cache
def this_machine() -> Target:
    """The processor that programs are compiled for."""
    features, cache = machine().split(), _cache()
    if platform.machine() not in ("x86_64", "AMD64"):
        return Target(vector=16, registers=32, cache=cache)
    if "avx512f" in features:
        return Target(vector=64, registers=32, cache=cache)
    return Target(vector=32 if "avx2" in features else 16, registers=16, cache=cache)


def _cache() -> int:
    """The bytes of the second cache, where the system tells."""
    with contextlib.suppress(OSError, ValueError):
        size = _CACHE.read_text(encoding="ascii").strip()
        return int(size.removesuffix("K")) << 10 if size.endswith("K") else int(size)
    return _USUAL
