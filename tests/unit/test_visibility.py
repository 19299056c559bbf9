"""The records of the abstract machine: who sees what, twins for each hazard, and the guide's version where it is wrong.

A program is written as calls on `Locations`; each access tells the ids of its hazards, so that a twin reads as a list.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from soundline.spec.spork.machine.storage import Locations
from soundline.spec.spork.synchronization.barriers import (
    Queue,
    QueueId,
    Stamp,
    multicast_stamps,
    multicast_targets,
)
from soundline.spec.spork.synchronization.timelines import (
    CP_RAM,
    CPU,
    DEVICE,
    IO_RAM,
    IO_RMEM,
    LEGAL_PAIRS,
    SYNC_TLS,
    T2G_RAM,
    T2S_RAM,
    WG_A,
    WG_D,
    WG_RAM,
    Pair,
    sync_tl,
)
from soundline.spec.spork.synchronization.visibility import (
    CPU_THREAD,
    HAZARDS,
    Access,
    FirstSide,
    Hazard,
    History,
    Kind,
    Policy,
    Record,
    Thread,
    cpu_access,
    second_sets,
    signatures,
)

X, Y = ("smem", 0), ("smem", 1)
RAW, WAW, WAR = "mach-read-raw", "mach-write-waw", "mach-write-war"


def threads(*numbers: int | range, task: str = "task 0") -> frozenset[Thread]:
    flat = [n for part in numbers for n in (part if isinstance(part, range) else (part,))]
    return frozenset(Thread(task, n) for n in flat)


class Machine:
    """A Locations whose statements take names, and whose accesses tell ids."""

    def __init__(self, *, policy: Policy = Policy.temporal, owner: frozenset[Thread] = threads(range(8))):
        self.storage = Locations(policy)
        self.queues: dict[QueueId, Queue] = {}
        self.found: list[Hazard] = []
        self.storage.allocate([X, Y], owner)

    def access(self, kind: Kind, by, pair: Pair, at, **options) -> list[str]:
        hazards = self.storage.access([at], Access(kind, pair, by, **options))
        self.found += hazards
        return [h.id for h in hazards]

    def write(self, by, pair: Pair = IO_RAM, at=X, **options) -> list[str]:
        return self.access(Kind.write, by, pair, at, **options)

    def read(self, by, pair: Pair = IO_RAM, at=X, **options) -> list[str]:
        return self.access(Kind.read, by, pair, at, **options)

    def add(self, by, pair: Pair = IO_RAM, at=X, **options) -> list[str]:
        return self.access(Kind.atomic, by, pair, at, **options)

    def fence(self, by, first: str = "cuda_in_order", second: str = "cuda_in_order") -> None:
        self.storage.fence(sync_tl(first), sync_tl(second), by)

    def queue(self, name: str) -> Queue:
        return self.queues.get(QueueId(name), Queue(QueueId(name)))

    def arrive(self, by, first: str = "cuda_in_order", name: str = "bar") -> None:
        queue = self.queue(name)
        self.storage.arrive(sync_tl(first), by, frozenset({queue.stamp}))
        self.queues[queue.id] = queue.arrived()

    def wait(self, by, n: int = ~0, second: str = "cuda_in_order", name: str = "bar") -> None:
        bound, queue = self.queue(name).awaited(n)
        self.queues[queue.id] = queue
        self.storage.release(queue.id, bound, sync_tl(second), by)


P, C = threads(0), threads(1)
WARP = threads(range(4))
CTA = threads(range(8))

# Hazards ----------------------------------------------------------------------------------------------------------


def test_what_a_thread_does_in_order_it_sees() -> None:
    m = Machine()
    assert m.write(P) + m.read(P) + m.write(P) + m.read(P) == []


@pytest.mark.parametrize("fenced", [False, True])
def test_read_after_write(fenced: bool) -> None:
    m = Machine()
    assert m.write(P) == []
    if fenced:
        m.fence(P | C)
    assert m.read(C) == ([] if fenced else [RAW])


@pytest.mark.parametrize("fenced", [False, True])
def test_write_after_write(fenced: bool) -> None:
    m = Machine()
    m.write(P)
    if fenced:
        m.fence(P | C)
    assert m.write(C) == ([] if fenced else [WAW])


@pytest.mark.parametrize("fenced", [False, True])
def test_write_after_read(fenced: bool) -> None:
    """S-02: the second hazard of a write is WAR; the guide prints RAW, which a write cannot be."""
    m = Machine()
    assert m.read(P) == []
    if fenced:
        m.fence(P | C)
    assert m.write(C) == ([] if fenced else [WAR])
    assert RAW not in {h.id for h in m.found}


def test_a_write_tells_all_records_that_it_does_not_see() -> None:
    m = Machine()
    m.write(P, where=(1,))
    m.read(P, where=(2,))
    m.read(threads(2), where=(1, 0))
    m.found.clear()
    m.write(C, where=(4,))
    assert [(h.id, h.record.where) for h in m.found if h.record] == [
        (WAR, (1, 0)),
        (WAR, (2,)),
        (WAW, (1,)),
    ]
    assert all(h.where == (4,) and h.location == X and h.threads == C for h in m.found)
    assert m.found[0].text == HAZARDS[WAR]


def test_reads_do_not_race() -> None:
    m = Machine()
    assert m.read(P) + m.read(C) == []


def test_places_are_apart() -> None:
    m = Machine()
    assert m.write(P, at=X) + m.write(C, at=Y) + m.read(P, at=X) == []


def test_an_access_of_several_places_is_one_access_of_each() -> None:
    m = Machine()
    m.write(P, at=X)
    found = m.storage.access([Y, X, Y], Access(Kind.write, IO_RAM, C))
    assert [(h.id, h.location) for h in found] == [(WAW, X)]
    assert m.storage.access([X, Y], Access(Kind.read, IO_RAM, C)) == []
    assert m.read(P, at=Y) == [RAW]


def test_a_fence_orders_its_own_threads_only() -> None:
    m = Machine()
    m.write(P)
    m.fence(threads(1, 2))  # the writer is not in it
    assert m.read(C) == [RAW]
    m = Machine()
    m.write(P)
    m.fence(threads(0, 2))  # the reader is not in it
    assert m.read(C) == [RAW]


# S-01 -------------------------------------------------------------------------------------------------------------


def test_an_arrive_and_its_await_order_producer_before_consumer() -> None:
    m = Machine()
    m.write(P)
    m.arrive(P)
    assert m.read(C) == [RAW]
    m = Machine()
    m.write(P)
    m.arrive(P)
    m.wait(C)
    assert m.read(C) + m.write(C) == []


def test_the_guides_two_lists_have_their_sides_swapped() -> None:
    """Finding S-01: as printed, what follows the *arrive* by its collective comes after what precedes the *await* by
    its own. Read so, the consumer of every pipeline would read what it may not, and the producer would be given it."""
    producer_writes = History().after(Access(Kind.write, IO_RAM, P))
    consumer_reads = Access(Kind.read, IO_RAM, C)

    def read_as(arrives: frozenset[Thread], awaits: frozenset[Thread]) -> History:
        side = FirstSide.of(sync_tl("cuda_in_order"), arrives)
        gained, _ = second_sets(sync_tl("cuda_in_order"), awaits, Policy.temporal)
        return History(
            frozenset(r.gaining(gained) if r.synchronizes(side) else r for r in producer_writes.writes)
        )

    assert read_as(arrives=P, awaits=C).unseen(consumer_reads) == []
    swapped = read_as(arrives=C, awaits=P)
    assert [u.rule for u in swapped.unseen(consumer_reads)] == [RAW]


# S-03 -------------------------------------------------------------------------------------------------------------


def test_what_comes_after_the_arrive_is_not_released() -> None:
    m = Machine()
    m.write(P, at=X)
    m.arrive(P)
    m.write(P, at=Y)
    m.wait(C)
    assert m.read(C, at=X) == []
    assert m.read(C, at=Y) == [RAW]


def test_a_transitive_timeline_passes_on_what_it_was_told() -> None:
    m = Machine()
    m.write(P)
    m.fence(threads(0, 1))
    m.fence(threads(1, 2))
    assert m.read(threads(2)) == []


def test_a_timeline_that_is_not_transitive_passes_on_only_its_own() -> None:
    """Sm80_generic waits for copies and ordinary accesses, and tells nothing of what TMA wrote before."""
    for first, seen in [("Sm80_generic", False), ("cuda_in_order", True)]:
        m = Machine()
        m.write(P, T2S_RAM, out_of_order=True, stamps=frozenset({m.queue("bar").stamp}))
        m.arrive(P, "tma_to_smem_async")
        m.wait(C)
        assert m.read(C) == []
        m.fence(threads(1, 2), first)
        assert m.read(threads(2)) == ([] if seen else [RAW])


def test_such_a_timeline_does_concern_its_own_accesses_of_other_threads() -> None:
    m = Machine()
    m.write(P)
    m.fence(threads(0, 1))
    m.fence(threads(1, 2), "Sm80_generic")
    assert m.read(threads(2)) == []


def test_records_of_writes_gain_the_full_set_and_records_of_reads_the_temporal_one() -> None:
    m = Machine()
    m.write(P, at=X)
    m.read(P, at=Y)
    m.fence(P | C, second="cuda_temporal")
    assert m.read(C, at=X) == [RAW]
    assert m.write(C, at=Y) == []


def test_a_first_side_with_no_pairs_concerns_nothing() -> None:
    for first in ("cuda_temporal", "empty"):
        m = Machine()
        m.read(P)
        m.fence(P | C, first)
        assert m.write(C) == [WAR]


# The guide's examples ---------------------------------------------------------------------------------------------


def test_an_ordinary_fence_does_not_publish_a_copy() -> None:
    for first, hazards in [("cuda_in_order", [RAW]), ("Sm80_cp_async", []), ("Sm80_generic", [])]:
        m = Machine()
        assert m.write(P, CP_RAM, out_of_order=True) == []
        m.fence(CTA, first)
        assert m.read(C) == hazards


def test_a_fence_for_copies_does_not_publish_an_ordinary_store() -> None:
    for first, hazards in [("cuda_in_order", []), ("Sm80_cp_async", [RAW]), ("Sm80_generic", [])]:
        m = Machine()
        m.write(P, IO_RAM)
        m.fence(CTA, first)
        assert m.read(C) == hazards


def test_a_copy_is_not_even_seen_by_its_own_thread() -> None:
    m = Machine()
    m.write(P, CP_RAM, out_of_order=True)
    assert m.write(P, CP_RAM, out_of_order=True) == [WAW]
    assert m.read(P) == [RAW]


def test_a_second_copy_into_a_slot_needs_its_own_timeline_on_the_second_side() -> None:
    """The double-buffered GEMM needs Fence(Sm80_generic, Sm80_generic)."""
    for second, hazards in [("cuda_in_order", [WAW]), ("Sm80_generic", [])]:
        m = Machine()
        m.write(P, CP_RAM, out_of_order=True)
        m.fence(CTA, "Sm80_generic", second)
        assert m.read(C) == []
        m.fence(CTA, "Sm80_generic", second)
        assert m.write(P, CP_RAM, out_of_order=True) == hazards


def test_warp_and_cta_fences() -> None:
    """Lane 0 of each warp writes its own place: after a warp's fence its lanes read it, after the CTA's all do."""
    warps = [threads(range(4)), threads(range(4, 8))]
    for scope in ("none", "warp", "cta"):
        m = Machine()
        for at, warp in zip((X, Y), warps, strict=True):
            m.write(threads(min(warp).number), at=at)
            if scope == "warp":
                m.fence(warp)
        if scope == "cta":
            m.fence(CTA)
        assert m.read(threads(3), at=X) == ([] if scope != "none" else [RAW])
        assert m.read(threads(3), at=Y) == ([] if scope == "cta" else [RAW])
        assert m.read(threads(7), at=Y) == ([] if scope != "none" else [RAW])


# S-04 -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fenced", [False, True])
def test_a_lane_does_not_see_what_another_lane_wrote(fenced: bool) -> None:
    """An instruction of a warp makes a record for each lane; lane 0 has to see that of lane 3 as well."""
    m = Machine()
    assert m.write(WARP) == []
    if fenced:
        m.fence(WARP)
    assert m.read(threads(0)) == ([] if fenced else [RAW] * 3)


def test_one_joint_record_would_hide_the_missing_barrier() -> None:
    """Finding S-04: the companion's record {pair} × C, one for all lanes, accepts the program above unfenced."""
    joint, law = (
        History().after(Access(Kind.write, IO_RAM, WARP, convergent=convergent))
        for convergent in (True, False)
    )
    lane = Access(Kind.read, IO_RAM, threads(0))
    assert joint.unseen(lane) == []
    unseen = law.unseen(lane)
    assert [u.rule for u in unseen] == [RAW] * 3
    assert {t for u in unseen for t in u.record.threads} == threads(1, 2, 3)


def test_all_threads_of_an_access_have_to_see() -> None:
    m = Machine()
    m.write(P)
    m.fence(threads(0, 1))
    assert m.read(threads(0, 1)) == []
    assert m.read(threads(0, 1, 2, 3)) == [RAW]
    assert m.found[-1].threads == threads(2, 3)


def test_a_fence_of_some_lanes_advances_only_their_records() -> None:
    m = Machine()
    m.write(WARP)
    m.fence(threads(0, 1))
    assert m.read(threads(0)) == [RAW] * 2
    assert {t for h in m.found if h.record for t in h.record.threads} == threads(2, 3)


def test_registers_that_are_convergent_are_one_access() -> None:
    m = Machine()
    assert m.write(WARP, IO_RMEM, convergent=True) + m.read(WARP, IO_RMEM, convergent=True) == []
    assert m.write(WARP, IO_RMEM, convergent=True) == []
    assert len(m.storage.history(X).writes) == 1


def test_a_convergent_access_must_be_seen_by_all_too() -> None:
    m = Machine()
    m.write(threads(0), IO_RMEM)
    assert m.read(WARP, IO_RMEM, convergent=True) == [RAW]


def test_extended_timelines_see_for_an_access() -> None:
    m = Machine()
    m.write(P)
    assert m.read(P, CP_RAM) == [RAW]
    assert m.read(P, CP_RAM, extended=frozenset({IO_RAM})) == []
    assert m.read(P, IO_RAM, extended=frozenset({CP_RAM})) == []


# S-05 -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("n", "hazards"), [(0, [0, 0, 0]), (1, [0, 0, 1]), (2, [0, 1, 1]), (3, [1, 1, 1])])
def test_wait_group_n_leaves_the_latest_n_groups(n: int, hazards: list[int]) -> None:
    places = [("smem", k) for k in range(3)]
    m = Machine()
    m.storage.allocate(places[2:], CTA)
    for place in places:
        m.write(P, CP_RAM, at=place, out_of_order=True)
        m.arrive(P, "Sm80_cp_async")
    m.wait(P, n, "Sm80_generic")
    assert [len(m.read(P, at=place)) for place in places] == hazards


def test_a_group_has_all_copies_since_and_before_the_last() -> None:
    """An arrive stamps every record that synchronizes, those of earlier groups again; the earliest stamp counts."""
    m = Machine()
    m.write(P, CP_RAM, at=X, out_of_order=True)
    m.arrive(P, "Sm80_cp_async")
    m.arrive(P, "Sm80_cp_async")
    (record,) = m.storage.history(X).writes
    assert {s.arrive for s in record.stamps} == {0, 1}
    m.wait(P, 1)
    assert m.read(P, at=X) == []


def test_a_stamp_is_of_one_queue() -> None:
    m = Machine()
    m.write(P)
    m.arrive(P, name="one")
    m.arrive(P, name="two")
    m.queues[QueueId("three")] = Queue(QueueId("three"), 1)
    m.wait(C, name="three")
    assert m.read(C) == [RAW]
    m.wait(C, name="two")
    assert m.read(C) == []


def test_a_ring_of_one_slot_is_safe_in_both_directions() -> None:
    """Producer and consumer pass a slot; without the reverse arrive the second fill is WAR and WAW."""
    for reverse in (True, False):
        m = Machine()
        hazards = []
        for _ in range(3):
            if reverse:
                m.wait(P, ~1, name="empty")
            hazards.append(m.write(P))
            m.arrive(P, name="full")
            m.wait(C, name="full")
            assert m.read(C) == []
            m.arrive(C, name="empty")
        assert hazards == ([[], [], []] if reverse else [[], [WAR], [WAR]])


def test_a_trailing_barrier_alone_releases() -> None:
    """The write of a TMA load has a stamp instead of a V_A: no fence of its own thread publishes it."""
    for awaited in (True, False):
        m = Machine()
        m.write(P, T2S_RAM, out_of_order=True, stamps=frozenset({m.queue("bar").stamp}))
        (record,) = m.storage.history(X).writes
        assert record.async_set == record.sync_set == frozenset()
        m.arrive(P, "tma_to_smem_async")
        m.fence(CTA, "tma_to_smem_async")
        if awaited:
            m.wait(C)
        assert m.read(C) == ([] if awaited else [RAW])


def test_a_multicast_arrive_releases_at_every_target() -> None:
    """Two CTAs that read each other's slot: each arrives at both barriers with the count of its own."""
    m = Machine()
    m.read(P, at=X)
    queues = {(k,): Queue(QueueId("empty", (k,))) for k in (0, 1)}
    targets = multicast_targets([(None,), ("k",)], {"k": 0}, (2,))
    m.storage.arrive(sync_tl("cuda_in_order"), P, multicast_stamps(queues[(0,)], targets))
    other, _ = queues[(1,)].arrived().awaited(~0)
    m.storage.release(QueueId("empty", (1,)), other, sync_tl("cuda_in_order"), C)
    assert m.write(C, at=X) == []


# S-06 -------------------------------------------------------------------------------------------------------------

Z = ("smem", 9)


def ids(hazards: list[Hazard]) -> list[str]:
    return [h.id for h in hazards]


def test_use_before_allocation_and_after_its_end() -> None:
    m = Machine()
    assert m.write(P, at=Z) == ["mach-use-before-alloc"]
    m = Machine()
    assert m.storage.allocate([Z], P) == []
    assert m.write(P, at=Z) == []
    assert m.storage.free([Z], P) == []
    assert m.read(P, at=Z) == ["mach-use-after-free"]
    assert m.storage.allocate([Z], P) == []
    assert m.read(P, at=Z) == []


def test_what_is_in_use_is_not_allocated_and_what_is_not_is_not_freed() -> None:
    m = Machine()
    assert ids(m.storage.allocate([X, Z], CTA)) == ["mach-alloc-live"]
    assert ids(m.storage.free([("smem", 77)], CTA, (9,))) == ["mach-free-dead"]
    assert ids(m.storage.free([Z], CTA)) == []
    assert ids(m.storage.free([Z], CTA)) == ["mach-free-dead"]


def test_storage_is_freed_by_who_allocated_it() -> None:
    m = Machine()
    (hazard,) = m.storage.free([X], P, (9,))
    assert (hazard.id, hazard.where, hazard.threads) == ("mach-free-owner", (9,), P)
    assert m.storage.free([Y], CTA) == []


@pytest.mark.parametrize(("kind", "rule"), [(Kind.write, "mach-free-write"), (Kind.read, "mach-free-read")])
def test_a_free_sees_everything(kind: Kind, rule: str) -> None:
    for fenced in (True, False):
        m = Machine()
        m.access(kind, P, IO_RAM, X, where=(3,))
        if fenced:
            m.fence(CTA)
        found = m.storage.free([X], CTA, (9,))
        assert ids(found) == ([] if fenced else [rule])
        assert [(h.where, h.record.where, h.threads) for h in found if h.record] == (
            [] if fenced else [((9,), (3,), CTA - P)]
        )


def test_a_copy_in_flight_is_not_freed() -> None:
    for n, hazards in [(0, []), (1, ["mach-free-write"])]:
        m = Machine(owner=P)
        m.write(P, CP_RAM, out_of_order=True)
        m.arrive(P, "Sm80_cp_async")
        m.wait(P, n, "Sm80_generic")
        assert ids(m.storage.free([X], P)) == hazards


def test_registers_are_freed_as_registers() -> None:
    m = Machine(owner=P)
    m.write(P, IO_RMEM)
    assert ids(m.storage.free([X], P, pair=IO_RMEM)) == []
    m = Machine(owner=P)
    m.write(P, IO_RMEM)
    assert ids(m.storage.free([X], P)) == ["mach-free-write"]


def test_records_follow_bytes() -> None:
    """Freed after a CTA's barrier, the bytes may be written in order by all of it; a TMA load needs the proxy fence."""
    for second, hazards in [("cuda_in_order", [WAW]), ("cuda_generic_and_async_proxy", [])]:
        m = Machine()
        m.write(P)
        m.fence(CTA, second=second)
        assert m.storage.free([X], CTA) == []
        m.storage.allocate([X], CTA)
        assert m.write(C, T2S_RAM, out_of_order=True) == hazards


# S-07, S-12 -------------------------------------------------------------------------------------------------------


def test_tasks_are_unordered_until_the_kernel_ends() -> None:
    other = threads(0, task="task 1")
    for ended in (True, False):
        m = Machine()
        m.write(P)
        m.fence(CTA)
        if ended:
            m.storage.order_everything()
        assert m.read(other) == ([] if ended else [RAW])


def test_launch_and_end_complete_everything() -> None:
    m = Machine()
    m.storage.access([X], cpu_access(Kind.write, (0,)))
    assert m.read(P) == [RAW]
    m = Machine()
    m.storage.access([X], cpu_access(Kind.write, (0,)))
    m.storage.order_everything()
    assert m.write(P, CP_RAM, out_of_order=True) == []
    assert ids(m.storage.access([X], cpu_access(Kind.read))) == [RAW]
    m.storage.order_everything()
    assert ids(m.storage.access([X], cpu_access(Kind.read))) == []


def test_the_cpu_is_in_order_with_itself() -> None:
    m = Machine()
    assert ids(m.storage.access([X], cpu_access(Kind.write))) == []
    assert ids(m.storage.access([X], cpu_access(Kind.read))) == []
    (record,) = m.storage.history(X).writes
    assert record.origin == CPU
    assert record.threads == {CPU_THREAD}


def test_launch_does_not_revive_storage() -> None:
    m = Machine()
    m.storage.free([X], CTA)
    m.storage.order_everything()
    assert m.read(P) == ["mach-use-after-free"]


# S-08 -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("policy", "second", "hazards"),
    [
        (Policy.temporal, "cuda_in_order", []),
        (Policy.strict, "cuda_in_order", [WAR]),
        (Policy.strict, "cuda_generic_and_async_proxy", []),
        (Policy.strict, "cuda_async_proxy", []),
    ],
)
def test_a_write_through_the_async_proxy_after_a_read(
    policy: Policy, second: str, hazards: list[str]
) -> None:
    """A slot is read in order, passed back by a barrier, and filled again by TMA."""
    m = Machine(policy=policy)
    m.read(C)
    m.arrive(C)
    m.wait(P, second=second)
    assert m.write(P, T2S_RAM, out_of_order=True) == hazards


def test_on_the_generic_proxy_the_policies_agree() -> None:
    for policy in Policy:
        m = Machine(policy=policy)
        m.read(C)
        m.fence(CTA)
        assert m.write(P, CP_RAM, out_of_order=True) == []


def test_what_each_policy_gives() -> None:
    for name, row in SYNC_TLS.items():
        writes, reads = second_sets(row, P, Policy.temporal)
        strict_writes, strict_reads = second_sets(row, P, Policy.strict)
        assert writes == strict_writes == signatures(row.full, P), name
        assert reads == signatures(row.full | row.temporal - {WG_A, WG_D}, P)
        assert strict_writes <= strict_reads <= reads
    _, strict = second_sets(sync_tl("cuda_temporal"), P, Policy.strict)
    assert strict == signatures({IO_RAM, IO_RMEM, CP_RAM}, P)


# S-11 -------------------------------------------------------------------------------------------------------------


def test_zeroing_an_accumulator_asks_for_the_wgmma_fence() -> None:
    for fenced, hazards in [(True, []), (False, [WAW])]:
        m = Machine()
        m.write(WARP, IO_RMEM, convergent=True)
        if fenced:
            m.fence(WARP, "wgmma_fence_1", "wgmma_fence_2")
        assert m.write(WARP, WG_D, convergent=True) == hazards
        assert m.write(WARP, WG_D, convergent=True) == []


def test_an_in_order_zero_would_hide_the_missing_fence() -> None:
    """S-11: where the zero also sees what is in order, it takes the place of the write that wgmma must not
    overtake, and nothing is left that asks for the fence."""
    m = Machine()
    in_order = frozenset({IO_RMEM})
    assert m.write(WARP, IO_RMEM, convergent=True) == []
    assert m.write(WARP, WG_D, convergent=True, extended=in_order) == []
    assert m.write(WARP, WG_D, convergent=True) == []


@pytest.mark.parametrize("policy", Policy)
@pytest.mark.parametrize("pair", [WG_A, WG_D])
def test_no_barrier_replaces_the_wgmma_fence(policy: Policy, pair: Pair) -> None:
    """S-11: a register that was read in order is written by wgmma only behind wgmma.fence. The temporal set of an
    ordinary timeline has every pair of the device, but an ordinary barrier is no wgmma.fence."""
    for fences, hazards in [
        ([], [WAR]),
        ([("cuda_in_order", "cuda_in_order")], [WAR]),
        ([("Sm80_generic", "cuda_generic_and_async_proxy")], [WAR]),
        ([("cuda_in_order", "cuda_temporal")], [WAR]),
        ([("wgmma_fence_1", "wgmma_fence_2")], []),
        ([("cuda_in_order", "cuda_in_order"), ("wgmma_fence_1", "wgmma_fence_2")], []),
    ]:
        m = Machine(policy=policy)
        assert m.read(WARP, IO_RMEM, convergent=True) == []
        for first, second in fences:
            m.fence(WARP, first, second)
        assert m.write(WARP, pair, convergent=True) == hazards


@pytest.mark.parametrize(("first", "then", "rule"), [(WG_D, WG_A, RAW), (WG_A, WG_D, WAR)])
def test_a_register_that_wgmma_uses_has_one_role_until_it_is_waited_for(
    first: Pair, then: Pair, rule: str
) -> None:
    """S-11: wgmma.fence orders accumulators with accumulators; it does not wait for what is under way."""
    for waited, hazards in [(True, []), (False, [rule])]:
        m = Machine()
        m.write(WARP, IO_RMEM, convergent=True)
        m.fence(WARP, "wgmma_fence_1", "wgmma_fence_2")
        use, again = (m.write, m.read) if first == WG_D else (m.read, m.write)
        assert use(WARP, first, convergent=True, out_of_order=first == WG_A) == []
        m.arrive(WARP, "wgmma_async")
        if waited:
            m.wait(WARP, 0, "cuda_in_order")
        m.fence(WARP, "wgmma_fence_1", "wgmma_fence_2")
        assert again(WARP, then, convergent=True) == hazards


def test_operands_of_wgmma() -> None:
    """Accumulators are in order among wgmmas; what they read from memory is not released before the group is."""
    m = Machine()
    group = WARP
    assert m.read(group, WG_RAM, at=Y, out_of_order=True) + m.write(group, WG_D, convergent=True) == []
    assert m.write(group, WG_D, convergent=True) == []
    m.arrive(group, "wgmma_async")
    assert m.read(group, IO_RMEM, convergent=True) == [RAW]
    m.wait(group, 0, "cuda_in_order")
    assert m.read(group, IO_RMEM, convergent=True) == []
    assert m.write(P, at=Y) == []


def test_only_those_who_own_a_register_have_to_see_what_was_done_with_it() -> None:
    """An instruction that takes the registers of a warp: each lane sees to its own, and the record is of all."""
    own, other = frozenset({Thread("task", 0)}), frozenset({Thread("task", 1)})
    written = History().after(Access(Kind.write, IO_RMEM, own))
    for seen_by, blind in ((own, frozenset()), (other, other), (None, other)):
        taken = Access(Kind.read, IO_RMEM, own | other, convergent=True, seen_by=seen_by)
        assert taken.blind_to(next(iter(written.writes))) == blind
        assert [r.threads for r in written.after(taken).reads] == [own | other]


# S-13 -------------------------------------------------------------------------------------------------------------


def test_atomic_adds_do_not_race_with_each_other() -> None:
    m = Machine()
    assert m.add(P) + m.add(C) + m.add(threads(2, 3)) == []


@pytest.mark.parametrize("fenced", [False, True])
def test_atomic_adds_race_with_plain_accesses(fenced: bool) -> None:
    for first, last, rule in [
        ("write", "add", WAW),
        ("read", "add", WAR),
        ("add", "write", WAW),
        ("add", "read", RAW),
    ]:
        m = Machine()
        getattr(m, first)(P)
        if fenced:
            m.fence(P | C)
        assert getattr(m, last)(C) == ([] if fenced else [rule])


def test_an_atomic_add_takes_the_place_of_nothing() -> None:
    """A second adder has to see the plain write itself, though the first one did."""
    m = Machine()
    m.write(P)
    m.fence(threads(0, 1))
    assert m.add(threads(1)) == []
    assert m.add(threads(2)) == [WAW]
    m = Machine()
    m.read(P)
    m.fence(threads(0, 1))
    assert m.add(threads(1)) == []
    assert m.add(threads(2)) == [WAR]


def test_a_plain_write_takes_the_place_of_everything() -> None:
    m = Machine()
    m.add(P)
    m.add(C)
    m.read(P)
    m.fence(CTA)
    assert m.write(C) == []
    history = m.storage.history(X)
    assert [r.threads for r in history.writes] == [C]
    assert history.reads == frozenset()


# Records ----------------------------------------------------------------------------------------------------------


def test_checking_records_nothing_and_recording_checks_nothing() -> None:
    m = Machine()
    write = Access(Kind.write, IO_RAM, P)
    assert m.storage.check([X], write) == []
    assert m.storage.history(X) == History()
    m.storage.record([X, Y], write)
    assert ids(m.storage.check([X, Y], Access(Kind.write, IO_RAM, C))) == [WAW, WAW]
    assert [r.threads for r in m.storage.history(X).writes] == [P]


def test_records_that_forget_are_equal() -> None:
    """Who did an access is for messages: records without it become equal where the same is known of them."""
    for forgets, count in [(True, 1), (False, 4)]:
        m = Machine()
        m.write(WARP, forgets=forgets)
        assert len(m.storage.history(X).writes) == 4
        m.fence(CTA, second="cuda_generic_and_async_proxy")
        assert len(m.storage.history(X).writes) == count
        assert m.read(CTA) == []


def test_how_a_record_begins() -> None:
    own = signatures((CP_RAM,), P)
    (record,) = Access(Kind.write, CP_RAM, P, where=(1, 2)).records()
    assert record == Record(CP_RAM, P, own, own, where=(1, 2))
    (record,) = Access(Kind.write, CP_RAM, P, out_of_order=True).records()
    assert (record.async_set, record.sync_set) == (own, frozenset())
    stamps = frozenset({Stamp(QueueId("bar"), 3)})
    (record,) = Access(Kind.atomic, CP_RAM, P, stamps=stamps).records()
    assert (record.async_set, record.sync_set, record.stamps, record.atomic) == (set(), set(), stamps, True)


def test_a_record_is_released_by_its_queue_alone() -> None:
    stamp = Stamp(QueueId("bar", (0,)), 2)
    record = Record(CP_RAM, P, frozenset(), frozenset(), frozenset({stamp}))
    assert record.released(stamp.queue, 3)
    assert not record.released(stamp.queue, 2)
    for other in (QueueId("rab", (0,)), QueueId("bar", (1,)), QueueId("bar", (0,), True)):
        assert not record.released(other, 3)


def test_signatures_are_a_product() -> None:
    made = signatures(LEGAL_PAIRS, threads(0, 1, 2))
    assert len(made) == 27
    assert {(s.instr, s.usage) for s in made} == {(p.instr, p.usage) for p in LEGAL_PAIRS}
    assert {s.thread for s in made} == threads(0, 1, 2)


def test_every_hazard_is_found_somewhere_here() -> None:
    text = Path(__file__).read_text(encoding="utf-8")
    assert [rule for rule in HAZARDS if f'"{rule}"' not in text] == []


# Laws -------------------------------------------------------------------------------------------------------------

THREADS = st.frozensets(st.integers(0, 3), min_size=1).map(lambda numbers: threads(*numbers))
TLS = st.sampled_from(list(SYNC_TLS.values()))
PAIRS = st.sampled_from(sorted(DEVICE))
QUEUES = st.sampled_from([QueueId("one"), QueueId("two")])

ACCESSES = st.builds(
    Access,
    st.sampled_from(Kind),
    PAIRS,
    THREADS,
    out_of_order=st.booleans(),
    convergent=st.booleans(),
    stamps=st.frozensets(st.builds(Stamp, QUEUES, st.integers(0, 2)), max_size=1),
)
FENCES = st.tuples(st.just("fence"), TLS, TLS, THREADS)
ARRIVES = st.tuples(
    st.just("arrive"), TLS, THREADS, st.frozensets(st.builds(Stamp, QUEUES, st.integers(0, 2)))
)
AWAITS = st.tuples(st.just("release"), QUEUES, st.integers(0, 3), TLS, THREADS)
SYNCS = st.one_of(FENCES, ARRIVES, AWAITS)
STEPS = st.one_of(ACCESSES, SYNCS)
POLICIES = st.sampled_from(Policy)


def fresh(policy: Policy) -> Locations:
    storage = Locations(policy)
    storage.allocate([X], CTA)
    return storage


def run(storage: Locations, steps: Iterable) -> list[tuple]:
    """Run steps; each access is named by its place, so that hazards of two runs can be compared."""
    found = []
    for k, step in steps:
        if isinstance(step, Access):
            hazards = storage.access([X], dataclasses.replace(step, where=(k,)))
            found += [
                (h.id, h.where, h.record.where, h.record.threads, t) for h in hazards for t in h.threads
            ]
        else:
            getattr(storage, step[0])(*step[1:])
    return found


@settings(deadline=None)
@given(st.lists(STEPS, max_size=8), SYNCS, POLICIES)
def test_sets_only_grow_and_complete_is_within_known(steps: list, sync: tuple, policy: Policy) -> None:
    storage = fresh(policy)
    run(storage, enumerate(steps))
    before = storage.history(X)
    run(storage, [(99, sync)])
    after = storage.history(X)
    for old, new in ((before.writes, after.writes), (before.reads, after.reads)):
        assert all(r.sync_set <= r.async_set for r in new)
        for r in old:
            assert any(
                r.async_set <= n.async_set
                and r.sync_set <= n.sync_set
                and r.stamps <= n.stamps
                and (r.origin, r.threads, r.where, r.atomic) == (n.origin, n.threads, n.where, n.atomic)
                and n.async_set - r.async_set <= n.sync_set
                for n in new
            )


@settings(deadline=None)
@given(st.lists(STEPS, max_size=8), st.integers(0, 8), SYNCS, POLICIES)
def test_one_more_synchronization_never_makes_a_hazard(
    steps: list, at: int, sync: tuple, policy: Policy
) -> None:
    numbered = list(enumerate(steps))
    without = run(fresh(policy), numbered)
    within = run(fresh(policy), [*numbered[:at], (99, sync), *numbered[at:]])
    assert set(within) <= set(without)


@settings(deadline=None)
@given(st.lists(STEPS, max_size=8))
def test_what_is_safe_under_strict_is_safe_under_temporal(steps: list) -> None:
    found = {policy: set(run(fresh(policy), enumerate(steps))) for policy in Policy}
    assert found[Policy.temporal] <= found[Policy.strict]


@settings(deadline=None)
@given(st.lists(STEPS, max_size=6), QUEUES, st.integers(0, 3), st.integers(0, 3), TLS, THREADS, POLICIES)
def test_a_later_await_never_releases_less(steps, queue, bound, more, second, by, policy) -> None:
    outcomes = []
    for b in (bound, bound + more):
        storage = fresh(policy)
        run(storage, enumerate(steps))
        storage.release(queue, b, second, by)
        outcomes.append({(r.where, r.threads, r.origin, r.atomic): r for r in storage.history(X).writes})
    less, later = outcomes
    assert less.keys() == later.keys()
    assert all(less[key].sync_set <= later[key].sync_set for key in less)


@settings(deadline=None)
@given(st.lists(THREADS, min_size=1, max_size=4))
def test_fences_in_order_reach_who_is_linked(groups: list[frozenset[Thread]]) -> None:
    """What thread 0 wrote is seen by exactly the threads that a chain of fences links to it."""
    m = Machine()
    m.write(P)
    linked = set(P)
    for group in groups:
        m.fence(group)
        if linked & group:
            linked |= group
    for t in threads(range(4)):
        assert m.read(frozenset({t})) == ([] if t in linked else [RAW])


@settings(deadline=None)
@given(st.lists(ACCESSES, max_size=4), THREADS, THREADS, TLS)
def test_a_fence_tells_its_second_side_everything_that_its_first_side_knows(
    accesses, by, more, second
) -> None:
    """Every record that a transitive first side meets is then visible to the whole second side."""
    storage = fresh(Policy.temporal)
    run(storage, enumerate(accesses))
    side = FirstSide.of(sync_tl("cuda_in_order"), by | more)
    known = [r for r in storage.history(X).writes if not r.async_set.isdisjoint(side.signatures)]
    storage.fence(sync_tl("cuda_in_order"), second, by | more)
    after = storage.history(X).writes
    for old in known:
        assert any(
            (n.where, n.threads) == (old.where, old.threads)
            and all(by | more <= n.visible_to({p}) for p in second.full)
            for n in after
        )


def test_pairs_that_no_other_test_uses_are_timelines_as_well() -> None:
    for pair in (T2G_RAM, WG_A):
        m = Machine()
        m.read(P, pair, out_of_order=True)
        assert m.write(P) == [WAR]
