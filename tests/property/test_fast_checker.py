"""The fast checker and the literal machine say the same of random programs, with what is skipped and without."""

from __future__ import annotations

import pytest
from trials.checker.campaign import DIFFERENT, NONE, explained, judged
from trials.ledger import Entry

FIRST = 5_000_000
"""Numbers that the campaign does not come to."""
BATCH, BATCHES, THOROUGH = 100, 8, 40


def _held(batch: int) -> list[Entry]:
    first = FIRST + batch * BATCH
    entries = [judged(number) for number in range(first, first + BATCH)]
    different = [e.seed for e in entries if e.outcome == DIFFERENT]
    assert not different, explained(different[0])
    return entries


@pytest.mark.parametrize("batch", range(BATCHES))
def test_random_programs_have_one_verdict(batch: int) -> None:
    """A batch of random programs, of which many have hazards and many have none."""
    compared = [e for e in _held(batch) if e.outcome != NONE]
    hazardous = sum(bool(e.ids) for e in compared)
    assert len(compared) > BATCH // 2
    assert len(compared) // 5 < hazardous < len(compared)


@pytest.mark.thorough
@pytest.mark.parametrize("batch", range(BATCHES, BATCHES + THOROUGH))
def test_more_random_programs_have_one_verdict(batch: int) -> None:
    """Further batches."""
    _held(batch)
