"""Reports on drawn programs: each is whole, and what is left out of the first run changes nothing."""

from __future__ import annotations

import json
from collections.abc import Hashable

import pytest
from trials.machine.generator import drawn
from trials.machine.verdicts import NoRun, lawful

from soundline.spec.abstract_machine import judge
from soundline.spec.spork.diagnosis.reports import SHORT
from soundline.spec.spork.machine.events import Event
from soundline.spec.spork.machine.transitions import Machine
from soundline.spec.spork.synchronization.visibility import Policy

FIRST = 30_000_000


@pytest.fixture(scope="module")
def runs() -> list[list[Event]]:
    """The events of drawn programs, most of which have hazards."""
    found = (lawful(drawn(seed).proc) for seed in range(FIRST, FIRST + 50))
    return [list(events) for events in found if not isinstance(events, NoRun)]


def hazards(events: list[Event], policy: Policy, *, forgets: bool) -> set[tuple[Hashable, ...]]:
    machine = Machine(policy, forgets=forgets)
    found = set()
    for event in events:
        for h in machine.step(event, event.place.path):
            found.add((h.id, h.location, h.where, h.record and h.record.where, h.threads))
        if machine.stuck:
            break
    return found


def test_enough_of_them_run(runs: list[list[Event]]) -> None:
    assert len(runs) > 30
    assert 5 < sum(judge(events).ok for events in runs) < len(runs) - 5


@pytest.mark.parametrize("policy", Policy)
def test_who_did_an_access_is_for_messages_alone(policy: Policy, runs: list[list[Event]]) -> None:
    for events in runs:
        assert hazards(events, policy, forgets=True) == hazards(events, policy, forgets=False)


@pytest.mark.parametrize("policy", Policy)
def test_a_verdict_has_a_finding_for_every_two_statements(policy: Policy, runs: list[list[Event]]) -> None:
    for events in runs:
        verdict = judge(events, policy)
        told = {
            (f.id, f.later.place.path, f.earlier.place.path if f.earlier else None) for f in verdict.findings
        }
        wanted = {(h[0], h[2], h[3]) for h in hazards(events, policy, forgets=False)}
        assert told == wanted
        assert len(verdict.findings) == len(wanted)


@pytest.mark.parametrize("policy", Policy)
def test_every_report_is_whole(policy: Policy, runs: list[list[Event]]) -> None:
    for events in runs:
        verdict = judge(events, policy)
        json.dumps(verdict.to_json())
        for finding in verdict.findings:
            assert finding.text().startswith(f"{SHORT[finding.id]} [{finding.id}]: ")
            assert finding.fix is not None
            assert finding.count > 0
            if finding.nearest is not None:
                assert 0 < len(finding.nearest.first_fails) + len(finding.nearest.second_fails) <= 2
            if finding.earlier is not None:
                assert finding.blind
                assert finding.sync_set <= finding.async_set


def test_the_strict_policy_accepts_no_more(runs: list[list[Event]]) -> None:
    accepted = {policy: [judge(events, policy).ok for events in runs] for policy in Policy}
    assert all(
        temporal or not strict
        for temporal, strict in zip(accepted[Policy.temporal], accepted[Policy.strict], strict=True)
    )
