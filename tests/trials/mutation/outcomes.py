"""
Outcomes of mutants
===================

What became of a mutant, and what that rests on: a killed mutant, on the module and the test that killed it; a
surviving one, on the module and all its tests. The ledger keeps both.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Literal

from trials.ledger import Ledger

Status = Literal["killed", "timeout", "survived", "true"]
"""`timeout`: it did not end in time, which is noticed too. `true`: a changed rule that is as true as the first."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one mutant, which line it changes and how, and the test that killed it."""

    status: Status
    line: int
    before: str
    after: str
    killer: str = ""
    """The test that failed; for a rule, the verdict; empty where the module could not be imported any more."""
    seconds: float = 0.0


def kept(ledger: Ledger, campaign: str, mutant: str) -> tuple[Outcome, str] | None:
    """The outcome of a mutant, and the digest of what it rests on."""
    found = ledger.get(campaign, mutant)
    return None if found is None else (Outcome(**found["outcome"]), found["rests_on"])


def keep(ledger: Ledger, campaign: str, mutant: str, outcome: Outcome, rests_on: str = "") -> None:
    """Keep an outcome."""
    ledger.put(campaign, mutant, {"outcome": asdict(outcome), "rests_on": rests_on})
