"""Small programs that a reader of the reference writes: accepted as they stand, refused with one thing changed."""

from __future__ import annotations

import pytest

import soundline as sl
from soundline.spec.errors import SoundlineError

from ..representative import of_each_family  # noqa: TID252
from . import spork_cases, spork_cases_machine, spork_cases_sync
from .sync_bugs.form import Bug
from .test_sync_bugs import arrays

CASES = (
    *spork_cases.LOOPS,
    *spork_cases.DEVICES,
    *spork_cases.STRUCTURE,
    *spork_cases.DISTRIBUTED,
    *spork_cases.MEMORIES,
    *spork_cases.INSTRUCTIONS,
    *spork_cases.NAMES,
    *spork_cases_sync.FENCES,
    *spork_cases_sync.BARRIERS,
    *spork_cases_sync.LIFETIMES,
    *spork_cases_machine.MACHINE,
)
PARAMETERS = of_each_family(
    [pytest.param(case, id=case.where) for case in CASES], lambda case: [case.flagged[0], case.policy]
)
"""The first with each id is in `make test`."""


def verdict(text: str, case: Bug) -> tuple[str, int | None]:
    """The id by which a program is refused, or flagged first, and the line; "accepted" where it is not."""
    try:
        program = sl.spork.proc_from_text(text)
        if case.flagged[0] == "seq-uninitialized":
            program.run(**arrays(program, case), **case.sizes)
        found = program.check(policy=case.policy, **case.sizes)
    except SoundlineError as error:
        return error.rule or "", getattr(error, "line", None)
    if found.ok:
        return "accepted", None
    position = found.findings[0].later.place.statement.position
    return found.findings[0].id, position.line if position else None


@pytest.mark.parametrize("case", PARAMETERS)
def test_a_case_is_accepted_and_its_twin_is_not(case: Bug) -> None:
    assert verdict(case.fixed, case) == ("accepted", None)
    assert verdict(case.wrong, case) == case.flagged


def test_there_are_enough_and_each_has_a_name() -> None:
    assert len(CASES) >= 190
    assert len({case.where for case in CASES}) == len(CASES)
