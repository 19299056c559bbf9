"""What each piece of CUDA does in the parallel reading: a program that needs it has one outcome, and its twin others.

The instructions are those of the court of the machine, of one element each, so that all runs can be tried.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import pytest

from soundline.spec.spork.interleavings.queues import QueueUses
from soundline.spec.spork.machine.events import Awaited, BarrierAllocated
from soundline.spec.spork.readings.parallel import Exploration, outcomes, replay, sample

from .parallel_programs import TINY, host, program

IO = "cuda_in_order"
BOTH = "cuda_generic_and_async_proxy"

HANDED = """
s: i32[2] @ CudaSmemLinear
bar: barrier @ CudaMbarrier
with CudaWarps(0, 1):
    for e in cuda_threads(0, 1, unit=cuda_thread):
        {fill}
        Arrive({first}, 1) >> bar
with CudaWarps(1, 2):
    for e in cuda_threads(0, 1, unit=cuda_thread):
        {wait}
        y[0] = s[0]
Fence(cuda_in_order, cuda_in_order)
{last}
Fence(cuda_in_order, cuda_in_order)
"""
STORE = "s[0] = x[0]"
COPY = "with CudaAsync(Sm80_cp_async): cp_async_1(s[0:1], x[0:1])"
AWAIT = "Await(bar, cuda_in_order, ~0)"

RING = """
s: i32[{depth}] @ CudaSmemLinear
bar: barrier @ CudaMbarrier
for k in seq(0, 3):
    with CudaWarps(0, 1):
        for e in cuda_threads(0, 1, unit=cuda_thread):
            {back}
            with CudaAsync(tma_to_smem_async):
                tma_load_1(s[k % {depth} : k % {depth} + 1], x[k : k + 1]) >> bar
                Arrive(tma_to_smem_async, 1) >> bar
    with CudaWarps(1, 2):
        for e in cuda_threads(0, 1, unit=cuda_thread):
            Await(bar, cuda_in_order, ~0)
            y[k] = s[k % {depth}]
            {release}
Fence(cuda_in_order, cuda_in_order)
"""

WGMMA = """
a: i32[1] @ CudaSmemLinear
d: i32[1] @ TinyRegisters
g: barrier @ CudaCommitGroup
for t in cuda_threads(0, 1, unit=cuda_thread):
    a[t] = x[0]
Fence(cuda_in_order, {second})
wg_fill(d[0:1], z[0:1])
with CudaAsync(wgmma_async):
    {fence}
    {again}
    wg_mma(d[0:1], a[0:1], a[0:1])
    Arrive(wgmma_async, 1) >> g
Await(g, cuda_in_order, {n})
wg_read(y[0:1], d[0:1])
Fence(cuda_in_order, cuda_in_order)
for t in cuda_threads(0, 1, unit=cuda_thread):
    a[t] = x[1]
Await(g, cuda_in_order, 0)
Fence(cuda_in_order, cuda_in_order)
"""
MMA = {"second": BOTH, "fence": "Fence(wgmma_fence_1, wgmma_fence_2)", "again": "pass", "n": 0}

CLUSTER = """
s: i32[2, 1] @ CudaSmemLinear
for c in cuda_threads(0, 2, unit=cuda_cta_in_cluster):
    for t in cuda_threads(0, 1, unit=cuda_thread):
        z[c] = x[c]
{}
for c in cuda_threads(0, 2, unit=cuda_cta_in_cluster):
    for t in cuda_threads(0, 1, unit=cuda_thread):
        y[c] = z[1 - c]
Fence(cuda_in_order, cuda_in_order)
"""


def explored(body: str, shape: str = "blockDim=64", *, stop: bool = False, tasks: int = 1) -> Exploration:
    events = program(body, arguments=TINY, shape=shape, tasks=tasks)
    found = outcomes(events, stop=stop)
    assert all(replay(events, o.witness) == o for o in found.outcomes)
    drawn = sample(events, 3, 60)
    if found.complete:
        assert set(drawn.outcomes) <= set(found.outcomes)
    return found


def assert_right(body: str, shape: str = "blockDim=64", *, tasks: int = 1) -> None:
    found = explored(body, shape, tasks=tasks)
    assert found.complete
    assert [o.wrong for o in found.outcomes] == [False]


def assert_wrong(body: str, shape: str = "blockDim=64", *, tasks: int = 1) -> Exploration:
    found = explored(body, shape, stop=True, tasks=tasks)
    assert found.wrong
    assert not found.deadlocks
    return found


def assert_deadlock(body: str, shape: str = "blockDim=64") -> None:
    found = explored(body, shape)
    assert found.deadlocks
    assert any("waits" not in who and " at " in who for o in found.deadlocks for who in o.deadlock)


# Mbarriers --------------------------------------------------------------------------------------------------------


def test_an_mbarrier_orders_what_the_thread_that_arrives_did_before() -> None:
    assert_right(HANDED.format(fill=STORE, first=IO, wait=AWAIT, last="pass"))
    assert_wrong(HANDED.format(fill=STORE, first=IO, wait="pass", last=AWAIT_LATER))


AWAIT_LATER = """with CudaWarps(1, 2):
    for e in cuda_threads(0, 1, unit=cuda_thread):
        Await(bar, cuda_in_order, ~0)"""


def test_a_deferred_arrival_waits_for_copies_and_a_plain_one_does_not() -> None:
    assert_right(HANDED.format(fill=COPY, first="Sm80_cp_async", wait=AWAIT, last="pass"))
    assert_wrong(HANDED.format(fill=COPY, first=IO, wait=AWAIT, last="Fence(Sm80_cp_async, cuda_in_order)"))


def test_a_ring_gives_its_slots_back_by_the_reverse_side() -> None:
    for depth in (1, 2):
        back, release = f"ReverseAwait(bar, {BOTH}, ~{depth})", "ReverseArrive(cuda_in_order, 1) >> bar"
        assert_right(RING.format(depth=depth, back=back, release=release))
        assert explored(RING.format(depth=depth, back="pass", release="pass")).wrong


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_a_ring_has_the_depth_that_its_lags_ask_for(depth: int) -> None:
    release = "ReverseArrive(cuda_in_order, 1) >> bar"
    text = RING.format(depth=depth, back=f"ReverseAwait(bar, {BOTH}, ~{depth})", release=release)
    events = program(text, arguments=TINY, shape="blockDim=64")
    known = QueueUses(events)
    asked = QueueUses([replace(e, depth=None) if isinstance(e, BarrierAllocated) else e for e in events])
    assert set(asked.lags.values()) == {0, depth}
    (queue,) = {e.queue for e in events if isinstance(e, Awaited) and not e.queue.reverse}
    assert known.depth(queue) == asked.depth(queue) == depth


def test_a_thread_that_arrives_a_phase_too_early_leaves_the_other_waiting_for_ever() -> None:
    body = """
bar: barrier @ CudaMbarrier
for k in seq(0, 2):
    with CudaWarps(0, 1):
        for e in cuda_threads(0, 1, unit=cuda_thread):
            Arrive(cuda_in_order, 1) >> bar
    with CudaWarps(1, 2):
        for e in cuda_threads(0, 1, unit=cuda_thread):
            Await(bar, cuda_in_order, ~0)
    {}
"""
    assert_right(body.format("Fence(cuda_in_order, cuda_in_order)"))
    assert_deadlock(body.format("pass"))


def test_the_first_awaits_of_a_lag_are_none() -> None:
    body = """
s: i32[2] @ CudaSmemLinear
bar: barrier @ CudaMbarrier
for k in seq(0, 3):
    with CudaWarps(0, 1):
        if k < 2:
            for e in cuda_threads(0, 1, unit=cuda_thread):
                s[k] = x[k]
        Arrive(cuda_in_order, 1) >> bar
    with CudaWarps(0, 1):
        Await(bar, cuda_in_order, ~1)
        if k > 0:
            for e in cuda_threads(0, 2, unit=cuda_thread):
                y[2 * k + e] = s[k - {}]
Fence(cuda_in_order, cuda_in_order)
"""
    assert_right(body.format("1"), "blockDim=32")
    wrong = body.replace("if k > 0", "if k == 1")
    assert_wrong(wrong.format("0"), "blockDim=32")


def test_every_thread_of_a_collective_arrives() -> None:
    body = """
s: i32[2] @ CudaSmemLinear
bar: barrier @ CudaMbarrier
with CudaWarps(0, 1):
    for e in cuda_threads(0, 2, unit=cuda_thread):
        s[e] = x[e]
    Arrive(cuda_in_order, 1) >> bar
with CudaWarps(1, 2):
    Await(bar, {}, ~0)
    for e in cuda_threads(0, 2, unit=cuda_thread):
        y[e] = s[1 - e]
Fence(cuda_in_order, cuda_in_order)
"""
    assert_right(body.format(IO))


# Proxies ----------------------------------------------------------------------------------------------------------

PROXY = """
s: i32[1] @ CudaSmemLinear
g: barrier @ CudaCommitGroup
bar: barrier @ CudaMbarrier
with CudaWarps(0, 1):
    for e in cuda_threads(0, 1, unit=cuda_thread):
        s[0] = x[0]
        Arrive(cuda_in_order, 1) >> bar
with CudaWarps(1, 2):
    for e in cuda_threads(0, 1, unit=cuda_thread):
        Await(bar, {second}, ~0)
        with CudaAsync(tma_to_gmem_async):
            tma_store_1(y[0:1], s[0:1])
        Arrive(tma_to_gmem_async, 1) >> g
        Await(g, cuda_in_order, 0)
Fence(cuda_in_order, cuda_in_order)
"""


def test_a_proxy_fence_on_the_way_shows_generic_writes_to_the_asynchronous_proxy() -> None:
    assert_right(PROXY.format(second=BOTH))
    found = assert_wrong(PROXY.format(second=IO))
    assert any(o.junk for o in found.wrong), "what was there before the store"


def test_a_generic_write_can_overtake_a_later_asynchronous_one() -> None:
    body = """
s: i32[1] @ CudaSmemLinear
bar: barrier @ CudaMbarrier
with CudaWarps(0, 1):
    for e in cuda_threads(0, 1, unit=cuda_thread):
        s[0] = x[0]
        Fence(cuda_in_order, {second})
        with CudaAsync(tma_to_smem_async):
            tma_load_1(s[0:1], x[1:2]) >> bar
            Arrive(tma_to_smem_async, 1) >> bar
        Await(bar, cuda_in_order, ~0)
        y[0] = s[0]
Fence(cuda_in_order, cuda_in_order)
"""
    assert_right(body.format(second=BOTH))
    found = explored(body.format(second=IO))
    assert {dict(o.result)["y[0]"] for o in found.outcomes} == {"x[0]", "x[1]"}


# Registers and wgmma ----------------------------------------------------------------------------------------------


def test_wgmma_is_right_with_all_its_synchronization() -> None:
    assert_right(WGMMA.format(**MMA), "blockDim=128")


@pytest.mark.parametrize(
    "change",
    [{"second": IO}, {"fence": "pass"}, {"n": 1}],
    ids=["fence.proxy.async", "wgmma.fence", "wgmma.wait_group"],
)
def test_wgmma_is_wrong_without_a_piece(change: dict) -> None:
    assert_wrong(WGMMA.format(**{**MMA, **change}), "blockDim=128")


def test_wgmma_keeps_its_order_on_an_accumulator() -> None:
    assert_right(WGMMA.format(**{**MMA, "again": "wg_mma(d[0:1], a[0:1], a[0:1])"}), "blockDim=128")
    assert_right(WGMMA.format(**{**MMA, "again": "wg_zero(d[0:1])"}), "blockDim=128")


def test_a_register_that_is_read_without_a_fence_before_it_is_overwritten_is_doubtful() -> None:
    body = """
d: i32[1] @ TinyRegisters
g: barrier @ CudaCommitGroup
wg_fill(d[0:1], z[0:1])
{before}
with CudaAsync(wgmma_async):
    {fence}
    wg_zero(d[0:1])
    Arrive(wgmma_async, 1) >> g
Await(g, cuda_in_order, 0)
wg_read(y[1:2], d[0:1])
Fence(cuda_in_order, cuda_in_order)
"""
    read, fence = "wg_read(y[0:1], d[0:1])", "Fence(wgmma_fence_1, wgmma_fence_2)"
    assert_right(body.format(before=read, fence=fence), "blockDim=128")
    found = explored(body.format(before=read, fence="pass"), "blockDim=128")
    assert "doubtful" in {dict(o.result)["y[0]"] for o in found.outcomes}
    found = explored(body.format(before="pass", fence="pass"), "blockDim=128")
    assert "doubtful" in {dict(o.result)["y[1]"] for o in found.outcomes}


def test_the_first_wgmma_asks_for_a_fence_as_well() -> None:
    body = """
d: i32[1] @ TinyRegisters
g: barrier @ CudaCommitGroup
with CudaAsync(wgmma_async):
    {}
    wg_zero(d[0:1])
    Arrive(wgmma_async, 1) >> g
Await(g, cuda_in_order, 0)
wg_read(y[0:1], d[0:1])
Fence(cuda_in_order, cuda_in_order)
"""
    assert_right(body.format("Fence(wgmma_fence_1, wgmma_fence_2)"), "blockDim=128")
    assert_wrong(body.format("pass"), "blockDim=128")


def test_an_accumulator_in_flight_is_no_operand_of_another_wgmma() -> None:
    body = """
b: i32[1] @ CudaSmemLinear
a: i32[1] @ TinyRegisters
d: i32[1] @ TinyRegisters
g: barrier @ CudaCommitGroup
for t in cuda_threads(0, 1, unit=cuda_thread):
    b[t] = x[t]
Fence(cuda_in_order, cuda_generic_and_async_proxy)
with CudaAsync(wgmma_async):
    Fence(wgmma_fence_1, wgmma_fence_2)
    wg_zero(a[0:1])
    wg_mma(a[0:1], b[0:1], b[0:1])
    Arrive(wgmma_async, 1) >> g
{}
with CudaAsync(wgmma_async):
    Fence(wgmma_fence_1, wgmma_fence_2)
    wg_zero(d[0:1])
    wg_mma_registers(d[0:1], a[0:1], b[0:1])
    Arrive(wgmma_async, 1) >> g
Await(g, cuda_in_order, 0)
wg_read(y[0:1], d[0:1])
Fence(cuda_in_order, cuda_in_order)
"""
    assert_right(body.format("Await(g, cuda_in_order, 0)"), "blockDim=128")
    assert_wrong(body.format("pass"), "blockDim=128")


def test_registers_of_a_collective_keep_the_order_of_the_program() -> None:
    body = """
s: i32[2] @ CudaSmemLinear
r: i32[1] @ WarpRegisters
for t in cuda_threads(0, 2, unit=cuda_thread):
    s[t] = x[t]
Fence(cuda_in_order, cuda_in_order)
warp_load(r[0:1], s[0:1])
warp_store(y[0:1], r[0:1])
warp_load(r[0:1], s[1:2])
warp_store(y[1:2], r[0:1])
Fence(cuda_in_order, cuda_in_order)
"""
    assert_right(body, "blockDim=32")


def test_any_thread_of_a_collective_does_an_element_at_its_own_time() -> None:
    body = """
s: i32[2] @ CudaSmemLinear
r: i32[1] @ WarpRegisters
for t in cuda_threads(0, 2, unit=cuda_thread):
    s[t] = x[t]
{}
warp_load(r[0:1], s[0:1])
{}
for t in cuda_threads(0, 2, unit=cuda_thread):
    s[t] = x[2 + t]
Fence(cuda_in_order, cuda_in_order)
warp_store(y[0:1], r[0:1])
Fence(cuda_in_order, cuda_in_order)
"""
    fence = "Fence(cuda_in_order, cuda_in_order)"
    assert_right(body.format(fence, fence), "blockDim=32")
    early = assert_wrong(body.format("pass", fence), "blockDim=32")
    late = assert_wrong(body.format(fence, "pass"), "blockDim=32")
    assert any(o.junk for o in early.wrong)
    assert "Add(x[2], number 1)" in {dict(o.result)["y[0]"] for o in late.wrong}


def test_a_convergent_use_is_one_act_of_all_threads() -> None:
    body = """
s: i32[1] @ CudaSmemLinear
with CudaWarps(0, 1):
    {}(s[0:1], x[0:1])
    for t in cuda_threads(0, 2, unit=cuda_thread):
        y[t] = s[0]
Fence(cuda_in_order, cuda_in_order)
"""
    assert_right(body.format("warp_put_together"))
    assert_wrong(body.format("warp_put"))


# Barriers, clusters, atomics, storage -----------------------------------------------------------------------------


def test_a_barrier_of_the_cluster_orders_its_ctas() -> None:
    assert_right(CLUSTER.format("Fence(cuda_in_order, cuda_in_order)"), "blockDim=32, clusterDim=2")
    own = "for c in cuda_threads(0, 2, unit=cuda_cta_in_cluster):\n    Fence(cuda_in_order, cuda_in_order)"
    assert_wrong(CLUSTER.format(own), "blockDim=32, clusterDim=2")


def test_a_barrier_of_each_warp_does_not_order_two_warps() -> None:
    body = """
for w in cuda_threads(0, 2, unit=cuda_warp):
    for t in cuda_threads(0, 2, unit=cuda_thread):
        z[2 * w + t] = x[2 * w + t]
{}
for w in cuda_threads(0, 2, unit=cuda_warp):
    for t in cuda_threads(0, 2, unit=cuda_thread):
        y[2 * w + t] = z[{}]
Fence(cuda_in_order, cuda_in_order)
"""
    warp = "for w in cuda_threads(0, 2, unit=cuda_warp):\n    Fence(cuda_in_order, cuda_in_order)"
    assert_right(body.format("Fence(cuda_in_order, cuda_in_order)", "3 - 2 * w - t"))
    assert_right(body.format(warp, "2 * w + 1 - t"))
    assert_wrong(body.format(warp, "3 - 2 * w - t"))


def test_a_multicast_arrive_counts_at_the_mbarrier_of_every_cta() -> None:
    body = """
bar: barrier[2] @ CudaMbarrier
for c in cuda_threads(0, 2, unit=cuda_cta_in_cluster):
    for t in cuda_threads(0, 1, unit=cuda_thread):
        z[c] = x[c]
    Arrive(cuda_in_order, 1) >> bar[c]{}
for c in cuda_threads(0, 2, unit=cuda_cta_in_cluster):
    Await(bar[c], cuda_in_order, ~0)
    for t in cuda_threads(0, 1, unit=cuda_thread):
        y[c] = z[1 - c]
Fence(cuda_in_order, cuda_in_order)
"""
    assert_right(body.format(" >> bar[:]"), "blockDim=32, clusterDim=2")
    assert_wrong(body.format(""), "blockDim=32, clusterDim=2")


def test_atomic_adds_have_no_order_and_plain_ones_have() -> None:
    body = """
for w in cuda_threads(0, 2, unit=cuda_warp):
    for t in cuda_threads(0, 1, unit=cuda_thread):
        {}
Fence(cuda_in_order, cuda_in_order)
"""
    assert_right(body.format("atomic_add(y[0:1], x[w : w + 1])"))
    assert_wrong(body.format("y[0] += x[w]"))
    assert_wrong(body.format("if w == 0: y[0] = x[w]\n        else: atomic_add(y[0:1], x[w : w + 1])"))


def test_atomic_adds_of_both_proxies_keep_each_other() -> None:
    body = """
s: i32[1] @ CudaSmemLinear
g: barrier @ CudaCommitGroup
with CudaWarps(0, 1):
    for t in cuda_threads(0, 1, unit=cuda_thread):
        s[0] = x[0]
        Fence(cuda_in_order, cuda_generic_and_async_proxy)
        {}
        with CudaAsync(tma_to_gmem_async):
            tma_add(y[0:1], s[0:1])
        Arrive(tma_to_gmem_async, 1) >> g
        Await(g, cuda_in_order, 0)
Fence(cuda_in_order, cuda_in_order)
"""
    assert_right(body.format("atomic_add(y[0:1], x[1:2])"))
    assert_wrong(body.format("y[0] = x[1]"))


def test_an_asynchronous_add_comes_before_generic_writes_that_it_overtakes() -> None:
    body = """
s: i32[1] @ CudaSmemLinear
u: i32[1] @ CudaSmemLinear
g: barrier @ CudaCommitGroup
bar: barrier @ CudaMbarrier
with CudaWarps(0, 1):
    for t in cuda_threads(0, 1, unit=cuda_thread):
        s[0] = x[0]
        Fence(cuda_in_order, cuda_generic_and_async_proxy)
        {}
        with CudaAsync(tma_to_gmem_async):
            tma_add(y[0:1], s[0:1])
        Arrive(tma_to_gmem_async, 1) >> g
        Await(g, cuda_in_order, 0)
        with CudaAsync(tma_to_smem_async):
            tma_load_1(u[0:1], y[0:1]) >> bar
            Arrive(tma_to_smem_async, 1) >> bar
        Await(bar, cuda_in_order, ~0)
        z[0] = u[0]
Fence(cuda_in_order, cuda_in_order)
"""

    def ends(statement: str) -> set[tuple[str, str]]:
        found = explored(body.format(statement))
        return {(dict(o.result)["y[0]"], dict(o.result)["z[0]"]) for o in found.outcomes}

    added = "atomics(y[0], x[0], x[1])"
    assert ends("atomic_add(y[0:1], x[1:2])") == {(added, added), (added, "atomics(y[0], x[0])")}
    assert ends("y[0] = x[1]") == {
        ("atomics(x[1], x[0])", "atomics(x[1], x[0])"),
        ("x[1]", "x[1]"),
        ("x[1]", "atomics(y[0], x[0])"),
    }


REUSED = """
for k in seq(0, 1):
    s: i32[1] @ CudaSmemLinear
    for t in cuda_threads(0, 1, unit=cuda_thread):
        with CudaAsync(Sm80_cp_async):
            cp_async_1(s[0:1], x[0:1])
{}
for k in seq(0, 1):
    u: i32[1] @ CudaSmemLinear
    for t in cuda_threads(0, 1, unit=cuda_thread):
        u[0] = x[1]
    Fence(Sm80_cp_async, cuda_in_order)
    for t in cuda_threads(0, 1, unit=cuda_thread):
        y[0] = u[0]
    Fence(cuda_in_order, cuda_in_order)
"""


def test_a_late_write_spoils_storage_that_was_freed_and_used_again() -> None:
    assert_right(REUSED.format("Fence(Sm80_cp_async, cuda_in_order)"), "blockDim=32")
    found = assert_wrong(REUSED.format("Fence(cuda_in_order, cuda_in_order)"), "blockDim=32")
    assert "x[0]" in {dict(o.result)["y[0]"] for o in found.wrong}


def test_a_late_write_spoils_the_shared_memory_of_the_next_task() -> None:
    body = """
s: i32[1] @ CudaSmemLinear
for t in cuda_threads(0, 1, unit=cuda_thread):
    with CudaAsync(Sm80_cp_async):
        cp_async_1(s[0:1], x[0:1])
{}
"""
    assert_right(body.format("Fence(Sm80_cp_async, cuda_in_order)"), "blockDim=32")
    found = assert_wrong(body.format("Fence(cuda_in_order, cuda_in_order)"), "blockDim=32")
    assert any("next task" in name for o in found.wrong for name, _ in set(o.result) - set(found.expected))


def test_launches_order_all() -> None:
    launch = """
with CudaDeviceFunction(blockDim=32):
    for task in cuda_tasks(0, 2):
        for t in cuda_threads(0, 2, unit=cuda_thread):
            {}
"""
    good = launch.format("z[2 * task + t] = x[t]") + launch.format("y[2 * task + t] = z[3 - 2 * task - t]")
    found = outcomes(host(good, arguments=TINY))
    assert found.complete
    assert not found.wrong
    both = launch.format("z[2 * task + t] = x[t]\n            y[2 * task + t] = z[3 - 2 * task - t]")
    assert outcomes(host(both, arguments=TINY), stop=True).wrong


# Asynchronous effects ---------------------------------------------------------------------------------------------


def test_the_elements_of_a_copy_are_read_and_written_one_by_one() -> None:
    body = """
s: i32[2] @ CudaSmemLinear
for t in cuda_threads(0, 1, unit=cuda_thread):
    s[0] = x[6]
    s[1] = x[7]
    with CudaAsync(Sm80_cp_async):
        cp_async_2(s[0:2], x[0:2])
    y[0] = s[0]
    y[1] = s[1]
Fence(Sm80_cp_async, cuda_in_order)
"""
    found = explored(body, "blockDim=32")
    seen = {(dict(o.result)["y[0]"], dict(o.result)["y[1]"]) for o in found.outcomes}
    assert found.complete
    assert seen == set(product(("x[0]", "x[6]"), ("x[1]", "x[7]")))


def test_a_copy_reads_its_source_as_late_as_it_is_waited_for() -> None:
    body = """
s: i32[1] @ CudaSmemLinear
for t in cuda_threads(0, 1, unit=cuda_thread):
    with CudaAsync(Sm80_cp_async):
        cp_async_1(s[0:1], y[0:1])
    {}
    y[0] = x[1]
Fence(Sm80_cp_async, cuda_in_order)
for t in cuda_threads(0, 1, unit=cuda_thread):
    y[1] = s[0]
Fence(cuda_in_order, cuda_in_order)
"""
    assert_right(body.format("Fence(Sm80_cp_async, cuda_in_order)"), "blockDim=32")
    found = explored(body.format("pass"), "blockDim=32")
    assert {dict(o.result)["y[1]"] for o in found.outcomes} == {"y[0]", "x[1]"}
