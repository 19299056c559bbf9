"""
What a statement stands in
==========================

The place of a statement, as the static law sees it: its `Scope`, the names that it may use, its path, and whether its
iterations run in parallel on the CPU.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from soundline.spec.expressions import Index, Name
from soundline.spec.programs import Statement
from soundline.spec.scopes import HOST, Scope
from soundline.spec.static_windows import Path, Window
from soundline.spec.tilings import Tiling


@dataclass(frozen=True, slots=True)
class DeclaredBarrier:
    """Barriers where they are allocated."""

    name: str
    path: Path
    allocation: Tiling | None


Meaning = Window | DeclaredBarrier | None
"""What a name stands for; None for control."""


@dataclass(frozen=True, slots=True)
class Standing:
    """Where a statement stands, and among which names."""

    statement: Statement
    scope: Scope = HOST
    names: Mapping[str, Meaning] = field(default_factory=dict)
    path: Path = ()
    par: bool = False
    """Whether a par loop is around."""
    tasks: tuple[str, ...] = ()
    """The iterators of the cuda_tasks loops around."""

    def window(self, place: Name | Index) -> Window:
        """The window that is named."""
        found = self.names[place.name]
        assert isinstance(found, Window)
        return found.at(place)

    def is_data(self, name: str) -> bool:
        """Whether a name stands for data."""
        return isinstance(self.names[name], Window)
