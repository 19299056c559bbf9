"""The events around a hazard: both accesses, what synchronizes between them, and what is known after each."""

from __future__ import annotations

import pytest

from soundline.spec.abstract_machine import check
from soundline.spec.spork.diagnosis import around
from soundline.spec.spork.diagnosis.reports import Finding
from soundline.spec.spork.synchronization.visibility import Policy

from .machine_programs import device, exchange
from .test_hazard_reports import BROKEN, WARPS, finding


@pytest.mark.parametrize("name", BROKEN)
@pytest.mark.parametrize("policy", Policy)
def test_they_tell_the_whole_story(name: str, policy: Policy) -> None:
    """The two accesses are there once, in order; what is known only grows, and ends as the finding says it."""
    for found in check(BROKEN[name], {}, policy=policy).findings:
        (first,) = [e for e in found.around if e.role == "earlier"]
        last = found.around[-1]
        assert (first.deed, last.deed, last.role) == (found.earlier, found.later, "later")
        assert (last.async_set, last.sync_set) == (found.async_set, found.sync_set)
        numbers = [e.number for e in found.around]
        assert numbers == sorted(set(numbers))
        for one, two in zip(found.around, found.around[1:], strict=False):
            assert one.async_set <= two.async_set
            assert one.sync_set <= two.sync_set
        assert all(e.waits_for in numbers for e in found.around if e.waits_for is not None)


def lines(found: Finding) -> list[tuple[str, str, int | None]]:
    """What each does, and the position of the arrive that it waits for."""
    at = {e.number: i for i, e in enumerate(found.around)}
    return [
        (e.deed.verb, e.deed.target, None if e.waits_for is None else at[e.waits_for]) for e in found.around
    ]


def test_fences_by_the_threads_of_the_accesses() -> None:
    found = finding(exchange(WARPS), "mach-read-raw")
    fence = ("fences", "cuda_in_order before cuda_in_order", None)
    assert lines(found) == [("writes", "s[63]", None), fence, fence, ("reads", "s[63]", None)]
    assert [len(e.sync_set) for e in found.around] == [1, 1, 64, 64]


def test_an_await_and_its_arrive() -> None:
    found = finding(BROKEN["ring, stored"], "mach-write-waw")
    assert lines(found) == [
        ("reads and writes", "s[0, 0]", None),
        ("arrives at", "bar (reverse)", None),
        ("awaits", "bar (reverse)", 1),
        ("writes", "s[0, 0]", None),
    ]


def test_an_await_waits_for_the_arrive_after_the_instructions_of_its_group() -> None:
    """TMA arrives by itself, and the Arrive of the same number closes the group."""
    found = finding(BROKEN["ring"], "mach-write-waw")
    assert lines(found)[:3] == [
        ("writes", "s[0, 0]", None),
        ("arrives at", "bar", None),
        ("awaits", "bar", 1),
    ]


def test_an_await_of_an_arrive_before_the_earlier_access() -> None:
    """It explains why the await does not help, so it is there, with nothing known yet."""
    found = finding(BROKEN["group"], "mach-read-raw")
    assert [e.role for e in found.around] == ["", "earlier", "", "", "later"]
    assert lines(found)[3] == ("awaits", "cg", 0)
    assert not found.around[0].async_set


def test_the_middle_of_many_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(around, "MOST", 4)
    fences = "\n".join(
        ["for w in cuda_threads(0, 2, unit=cuda_warp):", *["    Fence(cuda_in_order, cuda_in_order)"] * 3]
    )
    found = finding(exchange(fences.replace("\n", "\n        ")), "mach-read-raw")
    assert [e.skipped for e in found.around] == [0, 0, 4, 0]
    assert [e.role for e in found.around] == ["earlier", "", "", "later"]


def test_the_queue_of_a_barrier_without_an_arrive() -> None:
    proc = device(
        """
        bar: barrier @ CudaMbarrier
        Arrive(cuda_in_order, 1) >> bar
        Await(bar, cuda_in_order, ~0)
        Await(bar, cuda_in_order, ~0)
        """
    )
    found = finding(proc, "mach-await-progress")
    assert lines(found) == [("arrives at", "bar", None), ("awaits", "bar", 0), ("awaits", "bar", None)]
    assert found.around[-1].role == "later"
