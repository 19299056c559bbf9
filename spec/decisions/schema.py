"""
What a decision is
==================

The form of the rows in `decisions`, kept apart so that the chapters of the table can be files of their own.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Decision:
    """One point of the language that the sources leave open or get wrong, and how it stands here."""

    id: str
    title: str
    law: str
    """What holds, in full sentences."""
    source: str | None = None
    """What the source as written says, where that is wrong: only findings have it."""

    @property
    def is_finding(self) -> bool:
        """Whether the source as written is wrong or unsound here."""
        return self.source is not None

    @property
    def anchor(self) -> str:
        """The anchor of the decision in the documentation: the id in small letters, ``u-07``."""
        return self.id.lower()
