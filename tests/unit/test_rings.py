"""Nobody is a round ahead in a ring of mbarriers: each program with the twin that is."""

from __future__ import annotations

import pytest

from soundline.impl.spork import proc_from_text
from soundline.spec.abstract_machine import check
from soundline.spec.spork.language.text import lines
from soundline.spec.spork.synchronization.barriers import QueueId, Stamp
from soundline.spec.spork.synchronization.rings import Rings
from soundline.spec.spork.synchronization.visibility import Thread

HEAD = """
def f(rounds: size):
    with CudaDeviceFunction(blockDim=96):
        for t in cuda_tasks(0, 1):
            bar: barrier @ CudaMbarrier
            for k in seq(0, rounds):
"""
ARRIVE = """
                with CudaWarps(0, 1):
                    Arrive(cuda_in_order, 1) >> bar
"""
AWAIT = """
                with CudaWarps(1, 2):
                    Await(bar, cuda_in_order, ~0)
"""
FREE = """
                with CudaWarps(0, 1):
                    ReverseAwait(bar, cuda_in_order, ~{lag})
                    Arrive(cuda_in_order, 1) >> bar
                with CudaWarps(1, 2):
                    Await(bar, cuda_in_order, ~0)
                    ReverseArrive(cuda_in_order, 1) >> bar
"""
FENCE = "                Fence({first}, {first})\n"


def overruns(body: str, rounds: int) -> list[str]:
    verdict = check(proc_from_text(HEAD + body), {"rounds": rounds})
    assert {finding.id for finding in verdict.findings} <= {"mach-arrive-overrun"}
    return [line for finding in verdict.findings for line in lines(finding.later.place.statement)]


def test_one_round_is_always_free() -> None:
    assert overruns(ARRIVE + AWAIT, 1) == []


def test_a_second_round_that_nothing_holds_back_overruns() -> None:
    assert overruns(ARRIVE + AWAIT, 2) == ["Arrive(cuda_in_order, 1) >> bar"]


@pytest.mark.parametrize("first", ["cuda_in_order", "cuda_temporal", "empty"])
def test_a_fence_of_the_cta_holds_back_whatever_its_timelines(first: str) -> None:
    assert overruns(ARRIVE + AWAIT + FENCE.format(first=first), 4) == []


def test_a_fence_of_those_who_arrive_alone_does_not() -> None:
    fence = "                with CudaWarps(0, 1):\n    " + FENCE.format(first="cuda_in_order")
    assert overruns(ARRIVE + AWAIT + fence, 2) != []


@pytest.mark.parametrize("lag", [1, 2, 5])
def test_the_reverse_side_holds_back(lag: int) -> None:
    assert overruns(FREE.format(lag=lag), 13) == []


# The rings by themselves ------------------------------------------------------------------------------------------

A, B, C, D = (Thread("task", n) for n in range(4))
BAR, BACK = QueueId("bar"), QueueId("bar", (), True)


def waited(*threads: Thread) -> Rings:
    rings = Rings()
    rings.awaited(BAR, 0, frozenset(threads), 1)
    return rings


def test_what_was_not_awaited_is_not_free() -> None:
    assert Rings().overrun([BAR], 0, frozenset({A})) == "arrive 0 was not awaited"
    assert waited(A).overrun([BAR], 0, frozenset({A})) is None
    assert waited(A).overrun([BAR], 1, frozenset({A})) is not None
    assert waited(A).overrun([BACK], 0, frozenset({A})) is not None


def test_every_thread_that_awaits_is_waited_for_by_one_that_arrives() -> None:
    rings = waited(A, B)
    assert rings.overrun([BAR], 0, frozenset({A})) == "the await of arrive 0 may still go on"
    assert rings.overrun([BAR], 0, frozenset({A, B})) is None


def test_every_thread_that_arrives_knows_that_the_phase_is_over() -> None:
    rings = waited(A)
    assert rings.overrun([BAR], 0, frozenset({A, C})) == "arrive 0 may not be complete"
    rings.fenced(frozenset({C, D}))
    assert rings.overrun([BAR], 0, frozenset({A, C})) is not None
    rings.fenced(frozenset({A, C}))
    assert rings.overrun([BAR], 0, frozenset({A, C})) is None


def test_order_goes_through_another_barrier_from_those_who_arrive_to_those_who_await() -> None:
    rings, stamp = waited(A), Stamp(BACK, 3)
    rings.arrived(frozenset({stamp}), frozenset({B}))  # who knows nothing passes nothing on
    rings.released(BACK, 4, frozenset({C}))
    assert rings.overrun([BAR], 0, frozenset({C})) is not None
    rings.arrived(frozenset({stamp}), frozenset({A, B}))
    rings.released(BACK, 3, frozenset({C}))  # which releases the stamps below 3
    assert rings.overrun([BAR], 0, frozenset({C})) is not None
    rings.released(BAR, 4, frozenset({C}))
    assert rings.overrun([BAR], 0, frozenset({C})) is not None
    rings.released(BACK, 4, frozenset({C}))
    assert rings.overrun([BAR], 0, frozenset({C})) is None


def test_a_multicast_asks_each_target_for_its_phase_and_its_home_for_its_awaits() -> None:
    there = QueueId("bar", (1,))
    rings = waited(A)
    assert rings.overrun([BAR, there], 0, frozenset({A})) == "arrive 0 was not awaited"
    rings.awaited(there, 0, frozenset({B, C}), 1)
    assert rings.overrun([BAR, there], 0, frozenset({A})) == "arrive 0 may not be complete"
    rings.fenced(frozenset({A, B}))
    assert rings.overrun([BAR, there], 0, frozenset({A})) is None


def test_what_is_long_past_is_forgotten() -> None:
    rings = waited(A)
    rings.awaited(BACK, 0, frozenset({A}), 1)
    assert len(rings.waited) == 2
    for number in (1, 2):
        rings.awaited(BAR, number, frozenset({A}), 1)
    assert [w.number for w in rings.waited if w.queue == BAR] == [0, 1, 2]
    rings.awaited(BAR, 3, frozenset({A}), 1)
    assert [w.number for w in rings.waited if w.queue == BAR] == [1, 2, 3]
    assert len(rings.waited) == 4
