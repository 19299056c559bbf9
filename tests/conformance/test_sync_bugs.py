"""Synchronization bugs of public kernels are flagged at the statement that goes wrong, and their fixes accepted."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import soundline as sl
from soundline.impl.spork.program import SporkProc
from soundline.spec.dtypes import float16, float32, int32
from soundline.spec.errors import SoundlineError
from soundline.spec.spork.language.expressions import Name
from soundline.spec.spork.language.types import Data
from soundline.spec.spork.readings.parallel import sample
from soundline.spec.spork.static.sizes import value

from ..representative import of_each_family  # noqa: TID252
from .sync_bugs import BUGS, FAMILIES
from .sync_bugs.form import Bug

DTYPES = {float32: np.float32, float16: np.float16, int32: np.int32}


def counts() -> tuple[int, int]:
    """The bugs, and those that are not tried by random schedules."""
    return len(BUGS), sum(not bug.found for bug in BUGS)


@cache
def program(text: str) -> SporkProc:
    return sl.spork.proc_from_text(text)


def arrays(proc: SporkProc, bug: Bug) -> dict[str, np.ndarray]:
    """Arrays of small integers for the arguments."""
    random, found = np.random.default_rng(0), {}
    for argument in proc.arguments:
        if isinstance(argument.type, Data):
            shape = [bug.sizes[s.name] if isinstance(s, Name) else value(s) for s in argument.type.sizes]
            found[argument.name] = random.integers(1, 9, shape).astype(DTYPES[argument.type.dtype])
    return found


def found_in(bug: Bug) -> tuple[str, int | None]:
    """The id by which the program as it was is refused or flagged first, and the line."""
    try:
        proc = program(bug.wrong)
        if bug.flagged[0] == "seq-uninitialized":
            proc.run(**arrays(proc, bug), **bug.sizes)
        verdict = proc.check(policy=bug.policy, **bug.sizes)
    except SoundlineError as error:
        return error.rule or "", getattr(error, "line", None)
    if verdict.ok:
        return "accepted", None
    position = verdict.findings[0].later.place.statement.position
    return verdict.findings[0].id, position.line if position else None


SUBJECT_OF = {bug.where: family.__name__ for family in FAMILIES for bug in family.BUGS}


def of_each_kind(bugs: tuple[Bug, ...]) -> list[object]:
    """The bugs, the first of each subject and the first with each id for `make test`."""
    cases = [pytest.param(bug, id=bug.where) for bug in bugs]
    return of_each_family(cases, lambda bug: [SUBJECT_OF[bug.where], bug.flagged[0], bug.policy])


by_bug = pytest.mark.parametrize("bug", of_each_kind(BUGS))


def test_there_are_enough_and_each_is_cited_once() -> None:
    assert len(BUGS) >= 61
    assert len({bug.where for bug in BUGS}) == len(BUGS)
    assert all(bool(bug.found) != bool(bug.unseen) for bug in BUGS)


@by_bug
def test_the_bug_is_flagged_at_its_statement(bug: Bug) -> None:
    assert found_in(bug) == bug.flagged


@by_bug
def test_the_fix_is_accepted_and_has_values(bug: Bug) -> None:
    proc = program(bug.fixed)
    verdict = proc.check(policy=bug.policy, **bug.sizes)
    assert verdict.ok, verdict.text()
    given = arrays(proc, bug)
    before = {name: array.copy() for name, array in given.items()}
    proc.run(**given, **bug.sizes)
    assert any((given[name] != before[name]).any() for name in given), "it changes something"


@pytest.mark.parametrize("bug", of_each_kind(tuple(b for b in BUGS if b.found)))
def test_threads_show_the_bug_and_not_the_fix(bug: Bug) -> None:
    assert sample(program(bug.wrong).events(**bug.sizes), 0, bug.found, stop=True).wrong
    assert not sample(program(bug.fixed).events(**bug.sizes), 0, 2, stop=True).wrong
