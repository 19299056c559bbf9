"""
What a statement stands in
==========================

The place of a statement, as the static law sees it: its `Scope`, the names that it may use, its path, and what of the
loops and blocks around it a `Scope` does not keep.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from soundline.spec.spork.language.expressions import Index, Name
from soundline.spec.spork.language.scopes import HOST, Scope
from soundline.spec.spork.language.statements import AllocBarrier, CudaAsync, Statement
from soundline.spec.spork.static.windows import Path, Window
from soundline.spec.spork.threads.tilings import Tiling


@dataclass(frozen=True, slots=True)
class DeclaredBarrier:
    """Barriers where they are allocated."""

    statement: AllocBarrier
    path: Path
    allocation: Tiling | None
    """The threads that allocate them; None outside of tasks."""

    @property
    def name(self) -> str:
        """Their name."""
        return self.statement.name


Meaning = Window | DeclaredBarrier | None
"""What a name stands for; None for control."""


@dataclass(frozen=True, slots=True)
class Standing:
    """The position of a statement, and the names in scope."""

    statement: Statement
    scope: Scope = HOST
    names: Mapping[str, Meaning] = field(default_factory=dict)
    path: Path = ()
    par: bool = False
    """Whether a par loop is around."""
    tasks: tuple[str, ...] = ()
    """The iterators of the cuda_tasks loops around."""
    around: tuple[str | None, ...] = ()
    """The iterators of the cuda_threads loops around, outermost first, and None for each seq loop and if."""
    asynchronous: CudaAsync | None = None
    """The CudaAsync block around."""

    def window(self, place: Name | Index) -> Window:
        """The window that is named."""
        found = self.names[place.name]
        assert isinstance(found, Window)
        return found.at(place)

    def is_data(self, name: str) -> bool:
        """Whether a name stands for data."""
        return isinstance(self.names[name], Window)

    def barrier(self, name: str) -> DeclaredBarrier:
        """The barriers that are named."""
        found = self.names[name]
        assert isinstance(found, DeclaredBarrier)
        return found
