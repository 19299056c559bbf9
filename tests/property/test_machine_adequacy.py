"""The abstract machine on trial (S-10): what it accepts is right in every interleaving of the parallel reading.

`make verify-deep` judges many more programs; here are some hundreds, always the same ones.
"""

from __future__ import annotations

import pytest
from trials.machine.generator import SOUP, Drawn, drawn, skeleton
from trials.machine.judge import BAD, JUDGED, Outcome, communicates, judge
from trials.machine.page import SIZE
from trials.machine.report import BY_SCOPE
from trials.machine.skeletons import SKELETONS
from trials.machine.verdicts import NoRun, hazards, lawful
from trials.machine.witnesses import WITNESSES, witness

from soundline.spec.abstract_machine import judge as report
from soundline.spec.spork.machine.events import Action
from soundline.spec.spork.synchronization.barriers import COUNTER_CONSTRAINTS
from soundline.spec.spork.synchronization.visibility import HAZARDS, Policy

from ..representative import one_in  # noqa: TID252

BATCHES, BATCH = 10, 35
FIRST = 10_000_000
"""Seeds from here on are those of the tests."""


@pytest.mark.parametrize("batch", one_in(5, range(BATCHES)))
def test_what_the_machine_accepts_is_right_in_every_interleaving(batch: int) -> None:
    start = FIRST + batch * BATCH
    judged = [judge(drawn(seed)) for seed in range(start, start + BATCH)]
    bad = [
        (j.entry.seed, j.outcome, str(drawn(j.entry.seed).proc), j.schedule)
        for j in judged
        if j.outcome in BAD
    ]
    assert bad == []
    assert sum(j.outcome in JUDGED for j in judged) > BATCH // 2


@pytest.mark.parametrize("kind", SKELETONS)
def test_a_skeleton_is_accepted_and_right(kind: str) -> None:
    for seed in range(6):
        assert judge(skeleton(kind, seed)).outcome is Outcome.right, (
            f"{kind} {seed}\n{skeleton(kind, seed).proc}"
        )


@pytest.fixture(scope="module")
def sample() -> list[tuple[Drawn, tuple[str, ...], bool]]:
    """Programs with the ids of their hazards, and whether threads communicate asynchronously in them."""
    found = []
    for seed in range(FIRST, FIRST + 200):
        program = drawn(seed)
        events = lawful(program.proc)
        if not isinstance(events, NoRun):
            found.append((program, tuple(h.id for h in hazards(events)), communicates(events)))
    return found


def test_enough_programs_are_hazardous(sample: list[tuple[Drawn, tuple[str, ...], bool]]) -> None:
    share = sum(bool(ids) for _, ids, _ in sample) / len(sample)
    assert 0.3 <= share <= 0.75, "and enough are not"


def test_in_half_of_the_programs_threads_communicate_asynchronously(
    sample: list[tuple[Drawn, tuple[str, ...], bool]],
) -> None:
    assert sum(late for _, _, late in sample) >= len(sample) / 2
    accepted = [late for _, ids, late in sample if not ids]
    assert sum(accepted) >= len(accepted) / 3, "among those that are accepted as well"


def test_no_program_breaks_what_scopes_see_to(sample: list[tuple[Drawn, tuple[str, ...], bool]]) -> None:
    found = {name for _, ids, _ in sample for name in ids}
    assert not found & BY_SCOPE
    assert len(found) >= 5


def test_programs_are_small(sample: list[tuple[Drawn, tuple[str, ...], bool]]) -> None:
    for program, _, _ in sample[:100]:
        events = lawful(program.proc)
        assert not isinstance(events, NoRun)
        who = {t for e in events if isinstance(e, Action) for t in e.place.threads}
        assert len(who) <= 128 + 1
        assert sum(isinstance(e, Action) for e in events) <= 8 * SIZE


def test_every_kind_of_program_is_drawn() -> None:
    names = [kind for kind, (_, weight) in SKELETONS.items() if weight > 0]
    assert names == [*SKELETONS]
    kinds = {drawn(seed).kind for seed in range(120)}
    assert SOUP in kinds
    assert len(kinds) > len(SKELETONS) // 2


def test_the_short_verdict_is_that_of_the_report() -> None:
    for seed in range(FIRST, FIRST + 40):
        events = lawful(drawn(seed).proc)
        if not isinstance(events, NoRun):
            assert {h.id for h in hazards(events)} == {f.id for f in report(events).findings}, seed


def test_the_strict_policy_refuses_no_less() -> None:
    more = 0
    for program in [drawn(FIRST + n) for n in range(40)] + [skeleton("refilled", n) for n in range(4)]:
        seed, events = program.seed, lawful(program.proc)
        if not isinstance(events, NoRun):
            temporal, strict = hazards(events), hazards(events, Policy.strict)
            assert bool(strict) >= bool(temporal), seed
            more += bool(strict) > bool(temporal)
    assert more > 0


# Witnesses --------------------------------------------------------------------------------------------------------


def test_every_hazard_has_a_witness_or_a_reason_why_not() -> None:
    assert set(WITNESSES) | BY_SCOPE == {*HAZARDS, *COUNTER_CONSTRAINTS}
    assert not set(WITNESSES) & BY_SCOPE


@pytest.mark.parametrize("hazard", WITNESSES)
def test_a_hazard_is_refused_and_some_interleaving_is_wrong(hazard: str) -> None:
    found = judge(witness(hazard))
    assert found.outcome is Outcome.wrong, found.hazards
    assert hazard in found.entry.witnessed
    assert found.schedule


@pytest.mark.parametrize("hazard", WITNESSES)
def test_its_twin_is_accepted_and_right(hazard: str) -> None:
    assert judge(witness(hazard, mended=True)).outcome is Outcome.right
