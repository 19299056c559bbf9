"""
Obligations of the law
======================

The obligations of the law: one statement each, with the function that proves it or shows where it fails. An outcome
says how it was met, because a proof for every width and a check of chosen points are not the same thing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from soundline.verify.smt.goals.solving import Budget
from soundline.verify.verdicts.verdict import Counterexample

Kind = Literal["proved", "exhaustive", "inclusion", "sampled", "shown", "refuted", "unknown"]
"""How an obligation stands: proved for everything it speaks of; tried on everything it speaks of; met because values
are only moved, which was tried; tried at chosen points; a difference that it promises was shown; wrong; undecided."""

KINDS: tuple[Kind, ...] = ("proved", "exhaustive", "inclusion", "sampled", "shown", "refuted", "unknown")
MET: tuple[Kind, ...] = ("proved", "exhaustive", "inclusion", "sampled", "shown")

Tightness = Literal["optimal", "sound only", ""]
"""Whether an interval is the hull of the values that occur, wherever that was tried; empty where it was not."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How an obligation stands, and what was covered."""

    kind: Kind
    covered: str
    tightness: Tightness = ""
    witness: str = ""
    """Where an interval is wider than the hull of its values: the smallest such place that was met."""
    counterexample: Counterexample | None = None
    detail: str = ""
    """Of an unknown outcome: what resisted. Of one that shows something: what it shows."""


@dataclass(frozen=True, slots=True)
class Obligation:
    """One thing that the law owes."""

    subject: str
    """What it is about, for example ``min_max Add``: obligations with one subject are reported together."""
    name: str
    """What is claimed where, for example ``int, any width``."""
    statement: str
    check: Callable[[Budget], Outcome]

    @property
    def id(self) -> str:
        """The name by which it is filtered."""
        return f"{self.subject}: {self.name}"
