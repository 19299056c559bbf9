"""
A changed machine before the court
==================================

What runs in a throw-away copy of the project in which someone made a mistake: the machine there is asked about programs
whose truth is known. `exhibits` chooses them from what the unchanged machine was tried with.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import islice, zip_longest

from trials.ledger import Entry
from trials.machine.generator import LEANER, SOUP, drawn
from trials.machine.judge import Outcome
from trials.machine.verdicts import NoRun, hazards, lawful

WRONG, CORRECT = "wrong", "correct"
"""What is known of a program: an interleaving is wrong, or it is correct by construction."""

Exhibit = tuple[int, str]
"""The seed of a program, and what is known of it."""


def noticed(exhibits: Sequence[Sequence[object]]) -> str:
    """How the court notices that this machine is not the right one; nothing where it does not."""
    for seed, truth in exhibits:
        assert isinstance(seed, int)
        try:
            events = lawful(drawn(seed).proc)
            refuses = isinstance(events, NoRun) or bool(hazards(events))
        except Exception as error:
            return f"{seed}: the machine fails with {type(error).__name__}"
        if truth == WRONG and not refuses:
            return f"{seed}: accepts what an interleaving gets wrong"
        if truth == CORRECT and refuses:
            return f"{seed}: refuses what is correct by construction"
    return ""


def exhibits(entries: Iterable[Entry], most: int) -> list[Exhibit]:
    """Programs of every kind, with every set of hazards and of changes, one of each before a second one of any; up to a
    fifth of them are correct by construction.
    """
    wrong: dict[tuple[str, ...], list[Exhibit]] = defaultdict(list)
    correct: dict[tuple[str, ...], list[Exhibit]] = defaultdict(list)
    for entry in entries:
        outcome = Outcome[entry.outcome]
        if outcome is Outcome.wrong and LEANER not in entry.changes:
            wrong[entry.kind, *entry.ids, *sorted({*entry.changes})].append((entry.seed, WRONG))
        elif outcome is Outcome.right and not entry.changes and entry.kind != SOUP:
            correct[entry.kind,].append((entry.seed, CORRECT))
    found = _in_turn(correct.values(), most // 5)
    return found + _in_turn(wrong.values(), most - len(found))


def _in_turn(piles: Iterable[Sequence[Exhibit]], most: int) -> list[Exhibit]:
    """One of each pile after the other."""
    rows = zip_longest(*piles)
    return list(islice((exhibit for row in rows for exhibit in row if exhibit is not None), most))
