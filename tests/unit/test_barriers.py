"""Split barriers: what each mechanism asks, how queues count, and where the guide's counting goes wrong (S-05)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from soundline.spec.errors import SynchronizationError
from soundline.spec.spork.synchronization.barriers import (
    BARRIER_CONSTRAINTS,
    COUNTER_CONSTRAINTS,
    BarrierType,
    Queue,
    QueueId,
    Stamp,
    Use,
    arrive_pieces,
    await_pieces,
    check_alone,
    check_multicast,
    check_uses,
    multicast_stamps,
    multicast_targets,
    ring_depth,
)
from soundline.spec.spork.synchronization.fences import Collective
from soundline.spec.spork.synchronization.timelines import SYNC_TLS, sync_tl

GROUP, MBARRIER, EVENT = BarrierType.CudaCommitGroup, BarrierType.CudaMbarrier, BarrierType.CudaEvent


def of(threads: Iterable[int]) -> Collective:
    return Collective(frozenset(threads), 256)


THREAD, WARP, WARPGROUP, CTA, SKEWED = (
    of([5]),
    of(range(32)),
    of(range(128)),
    of(range(256)),
    of(range(16, 48)),
)


def arrive(kind: BarrierType, first: str, by: Collective, **options) -> tuple[str, ...]:
    return arrive_pieces(kind, sync_tl(first), by, **options)


def wait(
    kind: BarrierType, first: str, second: str, by: Collective, n: int, *, reverse: bool = False
) -> tuple[str, ...]:
    return await_pieces(kind, sync_tl(first), sync_tl(second), by, n=n, reverse=reverse)


def refused(rule: str, do: Callable[[], object]) -> SynchronizationError:
    with pytest.raises(SynchronizationError) as caught:
        do()
    assert caught.value.rule == rule
    assert caught.value.wants == {**BARRIER_CONSTRAINTS, **COUNTER_CONSTRAINTS}[rule]
    return caught.value


# Mechanisms -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("first", "by", "closes", "piece"),
    [
        ("Sm80_cp_async", THREAD, False, "cp.async.commit_group"),
        ("tma_to_gmem_async", THREAD, False, "cp.async.bulk.commit_group"),
        ("wgmma_async", WARPGROUP, True, "wgmma.commit_group"),
    ],
)
def test_the_arrive_of_a_commit_group(first: str, by: Collective, closes: bool, piece: str) -> None:
    assert arrive(GROUP, first, by, closes_block=closes) == (piece,)


@pytest.mark.parametrize(
    ("first", "second", "by", "piece"),
    [
        ("Sm80_cp_async", "Sm80_generic", THREAD, "cp.async.wait_group"),
        ("Sm80_cp_async", "cuda_in_order", THREAD, "cp.async.wait_group"),
        ("tma_to_gmem_async", "cuda_generic_and_async_proxy", THREAD, "cp.async.bulk.wait_group"),
        ("wgmma_async", "cuda_async_proxy", WARPGROUP, "wgmma.wait_group"),
    ],
)
@pytest.mark.parametrize("n", [0, 1, 7])
def test_the_await_of_a_commit_group(first: str, second: str, by: Collective, piece: str, n: int) -> None:
    assert wait(GROUP, first, second, by, n) == (piece,)


@pytest.mark.parametrize(
    ("first", "closes", "piece"),
    [
        ("cuda_in_order", False, "mbarrier.arrive"),
        ("cuda_temporal", False, "mbarrier.arrive"),
        ("empty", False, "mbarrier.arrive"),
        ("Sm80_cp_async", False, "cp.async.mbarrier.arrive.noinc"),
        ("tma_to_smem_async", True, "mbarrier.arrive.expect_tx"),
    ],
)
@pytest.mark.parametrize("by", [THREAD, WARP, WARPGROUP, CTA], ids=str)
@pytest.mark.parametrize("reverse", [False, True])
def test_the_arrive_of_an_mbarrier(
    first: str, closes: bool, piece: str, by: Collective, reverse: bool
) -> None:
    assert arrive(MBARRIER, first, by, closes_block=closes, reverse=reverse) == (piece,)


@pytest.mark.parametrize(
    ("first", "second", "pieces"),
    [
        ("cuda_in_order", "cuda_in_order", ("mbarrier.try_wait",)),
        ("Sm80_cp_async", "Sm80_generic", ("mbarrier.try_wait",)),
        ("tma_to_smem_async", "cuda_in_order", ("mbarrier.try_wait",)),
        ("tma_to_smem_async", "cuda_async_proxy", ("mbarrier.try_wait",)),
        ("tma_to_smem_async", "cuda_generic_and_async_proxy", ("mbarrier.try_wait",)),
        ("cuda_in_order", "cuda_async_proxy", ("mbarrier.try_wait", "fence.proxy.async")),
        ("cuda_temporal", "tma_to_smem_async", ("mbarrier.try_wait", "fence.proxy.async")),
    ],
)
@pytest.mark.parametrize("n", [~0, ~3])
def test_the_await_of_an_mbarrier(first: str, second: str, pieces: tuple[str, ...], n: int) -> None:
    assert wait(MBARRIER, first, second, WARP, n) == pieces
    assert wait(MBARRIER, first, second, CTA, n, reverse=True) == pieces


REFUSED: list[tuple[str, Callable[[], object]]] = [
    ("bar-event", lambda: arrive(EVENT, "cuda_in_order", CTA)),
    ("bar-event", lambda: wait(EVENT, "cuda_in_order", "cuda_in_order", CTA, 0)),
    ("bar-arrive-n", lambda: arrive(MBARRIER, "cuda_in_order", CTA, n=2)),
    ("bar-arrive-n", lambda: arrive(GROUP, "Sm80_cp_async", THREAD, n=0)),
    ("bar-reverse", lambda: arrive(GROUP, "Sm80_cp_async", THREAD, reverse=True)),
    ("bar-reverse", lambda: wait(GROUP, "Sm80_cp_async", "Sm80_generic", THREAD, 0, reverse=True)),
    ("bar-group-first", lambda: arrive(GROUP, "cuda_in_order", THREAD)),
    ("bar-group-first", lambda: arrive(GROUP, "tma_to_smem_async", THREAD)),
    ("bar-group-first", lambda: wait(GROUP, "Sm80_generic", "Sm80_generic", THREAD, 0)),
    ("bar-group-second", lambda: wait(GROUP, "Sm80_cp_async", "cuda_generic_and_async_proxy", THREAD, 0)),
    ("bar-group-second", lambda: wait(GROUP, "wgmma_async", "wgmma_async", WARPGROUP, 0)),
    ("bar-group-n", lambda: wait(GROUP, "Sm80_cp_async", "Sm80_generic", THREAD, -1)),
    ("bar-group-unit", lambda: arrive(GROUP, "Sm80_cp_async", WARP)),
    ("bar-group-unit", lambda: arrive(GROUP, "wgmma_async", CTA, closes_block=True)),
    ("bar-group-unit", lambda: arrive(GROUP, "wgmma_async", THREAD, closes_block=True)),
    ("bar-group-unit", lambda: wait(GROUP, "tma_to_gmem_async", "cuda_in_order", WARP, 0)),
    ("bar-group-last", lambda: arrive(GROUP, "wgmma_async", WARPGROUP)),
    ("bar-mbarrier-first", lambda: arrive(MBARRIER, "Sm80_generic", CTA)),
    ("bar-mbarrier-first", lambda: arrive(MBARRIER, "wgmma_async", WARPGROUP, closes_block=True)),
    ("bar-mbarrier-second", lambda: wait(MBARRIER, "cuda_in_order", "wgmma_async", CTA, ~0)),
    ("bar-mbarrier-second", lambda: wait(MBARRIER, "cuda_in_order", "cpu_in_order", CTA, ~0)),
    ("bar-mbarrier-n", lambda: wait(MBARRIER, "cuda_in_order", "cuda_in_order", CTA, 0)),
    ("bar-mbarrier-unit", lambda: arrive(MBARRIER, "cuda_in_order", SKEWED)),
    ("bar-mbarrier-unit", lambda: wait(MBARRIER, "cuda_in_order", "cuda_in_order", SKEWED, ~0)),
    ("bar-mbarrier-last", lambda: arrive(MBARRIER, "tma_to_smem_async", WARP)),
]


@pytest.mark.parametrize(("rule", "do"), REFUSED, ids=lambda x: x if isinstance(x, str) else "")
def test_refused(rule: str, do: Callable[[], object]) -> None:
    refused(rule, do)


def test_an_error_tells_statement_and_what_was_given() -> None:
    error = refused("bar-group-n", lambda: wait(GROUP, "Sm80_cp_async", "Sm80_generic", THREAD, -1))
    assert error.where == "Await(CudaCommitGroup, Sm80_generic, ~0)"
    assert error.given == "N = ~0"
    error = refused("bar-mbarrier-unit", lambda: arrive(MBARRIER, "cuda_in_order", SKEWED, reverse=True))
    assert error.where == "ReverseArrive(cuda_in_order, 1) >> CudaMbarrier"
    assert error.given == "32 threads"
    error = refused(
        "bar-mbarrier-n",
        lambda: wait(MBARRIER, "cuda_in_order", "cuda_in_order", CTA, 0, reverse=True),
    )
    assert error.where == "ReverseAwait(CudaMbarrier, cuda_in_order, 0)"


def test_every_first_timeline_has_at_most_one_mechanism_of_each_type() -> None:
    groups, mbarriers = set(), set()
    for name in SYNC_TLS:
        for by in (THREAD, WARPGROUP):
            for kind, found in ((GROUP, groups), (MBARRIER, mbarriers)):
                try:
                    arrive(kind, name, by, closes_block=True)
                except SynchronizationError:
                    continue
                found.add(name)
    assert groups == {"Sm80_cp_async", "tma_to_gmem_async", "wgmma_async"}
    assert mbarriers == {"cuda_in_order", "cuda_temporal", "empty", "Sm80_cp_async", "tma_to_smem_async"}


# All statements of a barrier --------------------------------------------------------------------------------------

IN_ORDER, COPY, GENERIC = map(sync_tl, ("cuda_in_order", "Sm80_cp_async", "Sm80_generic"))
RING = [
    Use(True, False, COPY, "producer"),
    Use(False, False, IN_ORDER, "consumer", ~0),
    Use(True, True, IN_ORDER, "consumer"),
    Use(False, True, COPY, "producer", ~2),
]


def test_a_ring_agrees_with_itself() -> None:
    check_uses("bar", MBARRIER, [*RING, *RING])


@pytest.mark.parametrize(
    ("rule", "odd"),
    [
        ("bar-same-first", Use(True, False, IN_ORDER, "producer")),
        ("bar-same-second", Use(False, True, GENERIC, "producer", ~2)),
        ("bar-same-n", Use(False, True, COPY, "producer", ~1)),
        ("bar-same-unit", Use(True, False, COPY, "consumer")),
        ("bar-same-unit", Use(False, False, IN_ORDER, "producer", ~0)),
        ("bar-multicast-same", Use(True, False, COPY, "producer", patterns=((None, "n"), ("m", "n")))),
        ("bar-multicast-await", Use(False, False, IN_ORDER, "consumer", ~0, ((None,),))),
    ],
)
def test_an_odd_statement_is_refused(rule: str, odd: Use) -> None:
    refused(rule, lambda: check_uses("bar", MBARRIER, [*RING, odd]))


def test_who_awaits_one_side_arrives_at_the_other() -> None:
    others = [RING[0], RING[1], RING[2]._replace(unit="another")]
    refused("bar-reverse-unit", lambda: check_uses("bar", MBARRIER, others))
    others = [RING[0], RING[1], RING[3]._replace(unit="another")]
    refused("bar-reverse-unit", lambda: check_uses("bar", MBARRIER, others))
    check_uses("bar", MBARRIER, RING[:2])


def test_the_awaits_of_a_commit_group_may_differ_in_n() -> None:
    uses = [Use(True, False, COPY, "thread"), *(Use(False, False, GENERIC, "thread", n) for n in (1, 0))]
    check_uses("group", GROUP, uses)
    refused("bar-same-n", lambda: check_uses("group", MBARRIER, uses))


def test_the_order_of_patterns_does_not_matter() -> None:
    one = Use(True, False, COPY, "producer", patterns=((None, "n"), ("m", None)))
    check_uses("bar", MBARRIER, [one, one._replace(patterns=one.patterns[::-1])])


def test_two_live_groups_of_one_kind_are_refused() -> None:
    check_alone([("a", COPY), ("b", sync_tl("tma_to_gmem_async"))])
    error = refused("bar-group-alone", lambda: check_alone([("a", COPY), ("b", COPY)]))
    assert error.where == "b"
    assert error.given == "b and a from Sm80_cp_async"


def test_the_depth_of_a_ring() -> None:
    assert ring_depth("bar", 1, 2) == 3
    assert ring_depth("bar", 0, 1) == 1
    assert ring_depth("bar", 2) == 3
    refused("bar-depth", lambda: ring_depth("bar", 0, 0))


# Queues -----------------------------------------------------------------------------------------------------------


def queue(arrives: int, awaits: int = 0) -> Queue:
    return Queue(QueueId("bar"), arrives, awaits)


def test_arrives_are_numbered_from_zero() -> None:
    start = queue(0)
    assert start.stamp == Stamp(QueueId("bar"), 0)
    assert start.arrived().stamp.arrive == 1
    assert start.arrives == 0


@pytest.mark.parametrize(("n", "bound"), [(0, 3), (1, 2), (2, 1), (3, 0), (9, 0)])
def test_an_await_with_n_from_zero_up_leaves_the_latest_n(n: int, bound: int) -> None:
    released, after = queue(3).awaited(n)
    assert released == bound
    assert after == queue(3, bound)


def test_such_an_await_never_counts_back() -> None:
    _, after = queue(3).awaited(0)
    assert after.awaited(2) == (1, queue(3, 3))
    assert queue(0).awaited(0) == (0, queue(0))


def test_a_lag_makes_the_first_awaits_trivial() -> None:
    """~(~2) = 2: awaits 0 and 1 release nothing, await 2 is paired with arrive 0."""
    state = queue(1)
    bounds = []
    for _ in range(3):
        bound, state = state.awaited(~2)
        bounds.append(bound)
    assert bounds == [0, 0, 1]
    assert state == queue(1, 3)
    refused("mach-await-progress", lambda: state.awaited(~2))


def test_an_await_before_its_arrive_makes_no_progress() -> None:
    error = refused("mach-await-progress", lambda: queue(0).awaited(~0))
    assert error.given == "an await of arrive 0, of 0"
    assert error.hint is not None
    assert queue(1).awaited(~0) == (1, queue(1, 1))
    refused("mach-await-progress", lambda: queue(1, 1).awaited(~0))
    assert queue(0).awaited(~1) == (0, queue(0, 1))


def test_a_barrier_ends_with_as_many_awaits_as_arrives() -> None:
    queue(2, 2).ended()
    error = refused("mach-barrier-unequal", lambda: Queue(QueueId("full", (1, 0), True), 2, 1).ended())
    assert error.where == "full[1, 0] (reverse)"
    assert error.given == "2 arrives, 1 awaits"
    refused("mach-barrier-unequal", lambda: queue(0, 1).ended())


def test_forward_and_reverse_are_two_queues() -> None:
    assert QueueId("bar") != QueueId("bar", reverse=True)
    assert Queue(QueueId("bar", reverse=True)).stamp != queue(0).stamp


def test_the_guides_count_contradicts_itself() -> None:
    """Finding S-05: with N ≥ 0 the guide's arrives count from 0, with N < 0 its awaits count from 1.

    "The await pairs with the (Q2 - lag)-th arrive, Q2 the number of awaits including this one": the first await of lag
    0 pairs with arrive 1. Counted from 0, as for N ≥ 0, that is the second arrive: a consumer would wait for a slot
    that nobody has filled. Only counted from 1 is it the law.
    """
    _, after = queue(1).awaited(~0)
    guides = after.awaits - 0
    assert guides == 1
    counted_from_zero, counted_from_one = guides, guides - 1
    bound, _ = queue(1).awaited(~0)
    assert bound - 1 == counted_from_one == 0
    assert counted_from_zero >= queue(1).arrives  # no such arrive: the machine would stand still
    assert queue(1).awaited(0)[0] == 1  # and N = 0 does pair with arrive 0, counted from 0


lags = st.integers(0, 3)


@given(st.lists(st.sampled_from(["arrive", "await"]), max_size=20), lags)
def test_awaits_with_a_lag_release_one_after_the_other(steps: list[str], lag: int) -> None:
    """A later await never releases less; the k-th releases up to arrive k - lag, and only if that has happened."""
    state, last, awaits, refusals = queue(0), 0, 0, []
    for step in steps:
        if step == "arrive":
            state = state.arrived()
            continue
        try:
            bound, state = state.awaited(~lag)
        except SynchronizationError as error:
            refusals.append((error.rule, awaits - lag >= state.arrives))
            continue
        assert last <= bound <= state.arrives
        assert bound == max(0, awaits - lag + 1)
        last, awaits = bound, awaits + 1
    assert state.awaits == awaits
    assert set(refusals) <= {("mach-await-progress", True)}


@given(st.lists(st.integers(-1, 4), max_size=20))
def test_awaits_of_groups_never_block_and_count_up(steps: list[int]) -> None:
    """-1 is an arrive. With the same N, a later await never releases less."""
    state = queue(0)
    for step in steps:
        before = state
        if step < 0:
            state = state.arrived()
            continue
        bound, state = state.awaited(step)
        assert bound == max(0, before.arrives - step)
        assert state.awaits >= before.awaits
        assert state.arrived().awaited(step)[0] >= bound
        assert before.awaited(step + 1)[0] <= bound
    state.awaited(0)[1].ended()


@given(st.integers(0, 5), lags)
def test_a_ring_in_step_ends_equal(count: int, lag: int) -> None:
    """As many awaits as arrives ends well; with a lag, that leaves `lag` arrives that no await released."""
    state, bound = queue(0), 0
    for _ in range(count):
        bound, state = state.arrived().awaited(~lag)
    state.ended()
    assert bound == max(0, count - lag)


# Multicast --------------------------------------------------------------------------------------------------------


def multicast(
    *patterns: tuple[str | None, ...], kind: BarrierType = MBARRIER, over: tuple[str, ...] = ("m", "n")
):
    return check_multicast("bar", kind, patterns, frozenset(over))


def test_the_home_of_an_arrive() -> None:
    assert multicast(("m", None), (None, "n")) == ("m", "n")
    assert multicast(("m", "n")) == ("m", "n")
    assert multicast(("k",), kind=GROUP) == ("k",)
    assert multicast(("k", None), ("k", "n")) == ("k", "n")


@pytest.mark.parametrize(
    ("rule", "do"),
    [
        ("bar-multicast-type", lambda: multicast((None,), ("m",), kind=GROUP)),
        ("bar-multicast-home", lambda: multicast((None, "n"))),
        ("bar-multicast-points", lambda: multicast(("m", "n"), ("n", "n"))),
        ("bar-multicast-points", lambda: multicast(("m", "n"), ("m",))),
        ("bar-multicast-cta", lambda: multicast(("k", None), (None, "n"))),
    ],
)
def test_multicast_refused(rule: str, do: Callable[[], object]) -> None:
    refused(rule, do)


def test_the_targets_of_an_arrive_always_have_its_home() -> None:
    values = {"m": 1, "n": 2}
    cross = multicast_targets([("m", None), (None, "n")], values, (2, 3))
    assert cross == {(1, 0), (1, 1), (1, 2), (0, 2)}
    assert multicast_targets([("m", "n")], values, (2, 3)) == {(1, 2)}
    assert multicast_targets([(None, "n")] * 2 + [("m", None)], values, (2, 3)) == cross


def test_a_multicast_arrive_stamps_all_targets_with_the_count_of_its_home() -> None:
    home = Queue(QueueId("bar", (1, 2)), 5, 5)
    stamps = multicast_stamps(home, frozenset({(1, 2), (0, 2)}))
    assert stamps == {Stamp(QueueId("bar", (1, 2)), 5), Stamp(QueueId("bar", (0, 2)), 5)}
    assert multicast_stamps(home, frozenset()) == {home.stamp}


def test_every_constraint_of_barriers_is_refused_somewhere_here() -> None:
    text = Path(__file__).read_text(encoding="utf-8")
    elsewhere = {"mach-arrive-overrun"}  # see test_rings
    rules = {*BARRIER_CONSTRAINTS, *COUNTER_CONSTRAINTS} - elsewhere
    assert [rule for rule in rules if f'"{rule}"' not in text] == []
