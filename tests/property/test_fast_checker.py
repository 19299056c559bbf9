"""The fast checker gives the verdict of the literal machine."""

from __future__ import annotations

import pytest
from trials.checker.campaign import DIFFERENT, LONGER, explained, judged, program

from soundline.impl.spork.checker.checking import check
from soundline.spec.errors import SoundlineError

SHARES = 10
"""Programs are told apart by their numbers, in so many shares: the first ones in `make test`."""
PROGRAMS = 1000
REST = [pytest.param(n, marks=pytest.mark.thorough) for n in range(SHARES, 3 * SHARES)]


@pytest.mark.parametrize("share", [*range(SHARES), *REST])
def test_random_programs_get_the_verdict_of_the_literal_machine(share: int) -> None:
    numbers = range(share, 3 * PROGRAMS, 3 * SHARES)
    different = [n for n in numbers if judged(n).outcome == DIFFERENT]
    assert not different, explained(different[0])


def test_half_of_the_programs_are_hazardous_and_some_repeat_themselves() -> None:
    hazardous = longer = count = 0
    for number in range(100):
        found, policy = program(number)
        if found is None:
            continue
        count += 1
        longer += number % LONGER == 0
        try:
            hazardous += bool(check(found.proc, {}, policy=policy).findings)
        except SoundlineError:
            continue
    assert hazardous >= count // 2
    assert longer >= 3
