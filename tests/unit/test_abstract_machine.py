"""The abstract machine over programs: for each hazard a program that has it and its twin that has not.

A verdict is told as a list: the id, the later statement and the earlier one, as the program writes them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from soundline.impl.spork import Proc
from soundline.spec.abstract_machine import Verdict, check, judge
from soundline.spec.dtypes import float32
from soundline.spec.errors import SoundlineError
from soundline.spec.spork.diagnosis.reports import SHORT, queue_text, statement_text
from soundline.spec.spork.language.nodes import Position
from soundline.spec.spork.language.statements import Pass
from soundline.spec.spork.library.memories import (
    DRAM,
    CudaGmemLinear,
    CudaRmem,
    CudaSmemLinear,
    Memory,
    Sm90_RmemMatrixD,
)
from soundline.spec.spork.machine.events import (
    Action,
    Allocated,
    Arrived,
    Awaited,
    BarrierFreed,
    Buffer,
    Cell,
    Element,
    Ended,
    Event,
    Forked,
    Freed,
    Joined,
    Launched,
    Place,
    TaskBegan,
    TaskEnded,
    Touch,
)
from soundline.spec.spork.machine.transitions import Machine, freeing_pair
from soundline.spec.spork.machine.unfolding import unfold
from soundline.spec.spork.synchronization.barriers import BarrierType, QueueId, Stamp
from soundline.spec.spork.synchronization.timelines import (
    CP_RAM,
    CPU,
    IO_RAM,
    IO_RMEM,
    T2S_RAM,
    InstrTl,
    sync_tl,
)
from soundline.spec.spork.synchronization.visibility import MACHINE, Kind, Policy, Thread

from .machine_programs import (
    COPY,
    FENCE,
    LOAD,
    again,
    copied,
    device,
    exchange,
    freed,
    host,
    passed,
    reuse,
    ring,
    two_tasks,
)

RAW, WAW, WAR = "mach-read-raw", "mach-write-waw", "mach-write-war"
FREE_WRITE, FREE_READ = "mach-free-write", "mach-free-read"


def told(verdict: Verdict) -> list[tuple[str, str, str | None]]:
    """The findings: id, later statement, earlier statement."""
    return [
        (f.id, statement_text(f.later.place), f.earlier and statement_text(f.earlier.place))
        for f in verdict.findings
    ]


def hazards(proc: Proc, policy: Policy = Policy.temporal, **sizes: int) -> list[tuple[str, str, str | None]]:
    return told(check(proc, sizes, policy=policy))


# Hazards between accesses -----------------------------------------------------------------------------------------


def test_a_read_sees_every_write() -> None:
    assert hazards(exchange(FENCE)) == []
    assert hazards(exchange("pass")) == [(RAW, "y[t] = s[63 - t]", "s[t] = 1.0")]


def test_a_fence_of_a_warp_is_not_one_of_the_cta() -> None:
    by_warps = f"for w in cuda_threads(0, 2, unit=cuda_warp):\n            {FENCE}"
    assert hazards(exchange(by_warps)) == [(RAW, "y[t] = s[63 - t]", "s[t] = 1.0")]


def test_a_write_sees_every_write() -> None:
    assert hazards(again(FENCE)) == []
    assert hazards(again("pass")) == [(WAW, "s[63 - t] = 2.0", "s[t] = 1.0")]


def test_a_write_sees_every_read() -> None:
    assert hazards(reuse(FENCE)) == []
    assert hazards(reuse("pass")) == [(WAR, "s[0] = 1.0", "y[t] = s[0]")]


def test_all_hazards_of_two_statements_are_one_finding_with_a_count() -> None:
    verdict = check(reuse("pass"), {})
    (finding,) = verdict.findings
    assert finding.count == 1  # one location, the one time that the slot is written again
    assert (finding.later.place.iteration, finding.blind) == (
        (("task", 0), ("i", 1), ("t", 0)),
        frozenset({Thread((0, 0), 0)}),
    )
    (finding,) = check(exchange("pass"), {}).findings
    assert finding.count == 64


def test_hazards_of_one_id_between_other_statements_are_other_findings() -> None:
    proc = device(
        f"""
        s: f32[1] @ CudaSmemLinear
        for t in cuda_threads(0, 1, unit=cuda_thread):
            s[0] = 1.0
        for t in cuda_threads(0, 64, unit=cuda_thread):
            y[t] = s[0]
        for t in cuda_threads(0, 64, unit=cuda_thread):
            y[t] += s[0]
        {FENCE}
        """,
        arguments="y: f32[64] @ CudaGmemLinear",
    )
    assert hazards(proc) == [(RAW, "y[t] = s[0]", "s[0] = 1.0"), (RAW, "y[t] += s[0]", "s[0] = 1.0")]


def test_findings_stand_in_the_order_of_the_run() -> None:
    proc = device(
        """
        s: f32[2] @ CudaSmemLinear
        for t in cuda_threads(0, 2, unit=cuda_thread):
            s[t] = 1.0
            y[t] = s[0]
        """,
        arguments="y: f32[2] @ CudaGmemLinear",
    )
    assert [f[0] for f in hazards(proc)] == [RAW, FREE_READ, FREE_WRITE]


# What an action is ------------------------------------------------------------------------------------------------


def test_what_one_statement_reads_and_writes_is_no_hazard_to_itself() -> None:
    proc = device(
        """
        for t in cuda_threads(0, 64, unit=cuda_thread):
            y[t] = y[t] + 1.0
            y[t] += y[t] * y[t]
        """,
        arguments="y: f32[64] @ CudaGmemLinear",
    )
    assert hazards(proc) == []


def test_an_action_is_checked_before_it_is_recorded() -> None:
    """By all threads of a warp: recorded one by one, the write would see another thread's read of the same action."""
    one = element("x", 0)
    warp = frozenset(Thread((0, 0), n) for n in range(2))
    step = action(
        [Touch("x", Kind.read, IO_RAM, (one,)), Touch("x", Kind.write, IO_RAM, (one,))], by=warp, path=(1,)
    )
    begin = allocated("x", [one], warp)
    assert ids(judge([begin, step])) == []
    assert ids(judge([begin, step, step])) == [RAW, WAW]


def test_an_element_is_all_of_its_cells() -> None:
    """Two elements of other widths that share a cell (S-06)."""
    wide = Element((Cell("s", 0), Cell("s", 1)), float32, "wide", (0,))
    narrow = Element((Cell("s", 1),), float32, "narrow", (5,))
    events = [
        allocated("wide", [wide], one_thread(0)),
        action([Touch("wide", Kind.write, IO_RAM, (wide,))], by=one_thread(0), path=(1,)),
        action([Touch("narrow", Kind.read, IO_RAM, (narrow,))], by=one_thread(1), path=(2,)),
    ]
    (finding,) = judge(events).findings
    assert (finding.id, finding.count) == (RAW, 1)
    assert finding.earlier is not None
    assert (finding.later.target, finding.earlier.target) == ("narrow[5]", "wide[0]")


def test_a_reduction_that_is_atomic_races_only_with_plain_accesses() -> None:
    """S-13: all threads of two tasks add to one element; a plain reduction instead is no atomic one."""
    atomic = """
    for t in cuda_threads(0, 64, unit=cuda_thread):
        x: f32 @ CudaRmem
        x = 1.0
        {add}
    """
    for add, expected in [
        ("cuda_atomic_add_f32(y[0], x)", []),
        ("y[0] += x", [(WAW, "y[0] += x", "y[0] += x")]),
    ]:
        proc = device(atomic.format(add=add), arguments="y: f32[1] @ CudaGmemLinear", tasks=2)
        assert hazards(proc) == expected


# Lifetimes (S-06) -------------------------------------------------------------------------------------------------


def test_who_frees_sees_what_was_done() -> None:
    assert hazards(freed(FENCE)) == []
    alloc = "s: f32[64] @ CudaSmemLinear"
    assert hazards(freed("pass")) == [(FREE_READ, alloc, "y[t] = s[t]"), (FREE_WRITE, alloc, "s[t] = 1.0")]


def test_bytes_that_are_used_again_keep_their_records() -> None:
    """Both arrays lie in the same bytes; a fence that frees the first is not one that copies see."""

    def program(second: str) -> Proc:
        return device(
            f"""
            if True:
                a: f32[64] @ CudaSmemLinear
                for t in cuda_threads(0, 64, unit=cuda_thread):
                    a[t] = 1.0
                Fence(cuda_in_order, {second})
            if True:
                b: f32[64] @ CudaSmemLinear
                for t in cuda_threads(0, 64, unit=cuda_thread):
                    with CudaAsync(Sm80_cp_async):
                        Sm80_cp_async_f32(b[t : t + 1], y[t : t + 1], size=1)
                Fence(Sm80_cp_async, cuda_in_order)
            """,
            arguments="y: f32[64] @ CudaGmemLinear",
        )

    assert hazards(program("Sm80_generic")) == []
    copy = "Sm80_cp_async_f32(b[t:t + 1], y[t:t + 1], size=1)"
    assert hazards(program("cuda_in_order")) == [(WAW, copy, "a[t] = 1.0")]


def test_registers_are_freed_by_who_owns_the_shard() -> None:
    proc = device(
        """
        x: f32[64] @ CudaRmem
        for t in cuda_threads(0, 64, unit=cuda_thread):
            x[t] = 1.0
            y[t] = x[t]
        """,
        arguments="y: f32[64] @ CudaGmemLinear",
    )
    assert hazards(proc) == []


def test_the_cpu_frees_what_kernels_used() -> None:
    proc = host(
        """
        g: f32[64] @ CudaGmemLinear
        h: f32[4]
        h[0] = 1.0
        with CudaDeviceFunction(blockDim=64):
            for task in cuda_tasks(0, 1):
                for t in cuda_threads(0, 64, unit=cuda_thread):
                    g[t] = 1.0
        """
    )
    assert hazards(proc) == []


def test_how_storage_is_freed() -> None:
    made = {
        memory: replace(BUFFER, memory=memory) for memory in (DRAM, CudaGmemLinear, CudaSmemLinear, CudaRmem)
    }
    assert {m.name: freeing_pair(b) for m, b in made.items()} == {
        "DRAM": CPU,
        "CudaGmemLinear": CPU,
        "CudaSmemLinear": IO_RAM,
        "CudaRmem": IO_RMEM,
    }


# Tasks and launches (S-07, S-12) ----------------------------------------------------------------------------------


def test_tasks_are_unordered() -> None:
    assert hazards(two_tasks("task")) == []
    assert hazards(two_tasks("0")) == [(WAW, "y[0] = 1.0", "y[0] = 1.0")]


def test_tasks_have_shared_memory_of_their_own() -> None:
    proc = device(
        f"""
        s: f32[1] @ CudaSmemLinear
        for t in cuda_threads(0, 1, unit=cuda_thread):
            s[0] = 1.0
        {FENCE}
        """,
        tasks=2,
    )
    assert hazards(proc) == []


KERNEL = """\
with CudaDeviceFunction(blockDim=64):
    for task in cuda_tasks(0, 1):
        for t in cuda_threads(0, 1, unit=cuda_thread):
            {}
"""


def test_a_launch_and_its_end_order_everything() -> None:
    first, second = KERNEL.format("y[0] = 1.0"), KERNEL.format("y[0] += 1.0")
    assert hazards(host(first + second, "y: f32[1] @ CudaGmemLinear")) == []


def test_what_a_kernel_leaves_in_flight_is_complete_at_its_end() -> None:
    kernel = """
    with CudaDeviceFunction(blockDim=32):
        for task in cuda_tasks(0, 1):
            for t in cuda_threads(0, 1, unit=cuda_thread):
                y[0] = 1.0
    """
    events = list(unfold(host(kernel, "y: f32[1] @ CudaGmemLinear"), {}))
    late = [
        replace(e, touches=tuple(replace(t, pair=CP_RAM, out_of_order=True) for t in e.touches))
        if isinstance(e, Action)
        else e
        for e in events
    ]
    place = replace(events[-1].place, path=(9,))
    read = Action(place, (Touch("y", Kind.read, CPU, next(iter(_touched(events)))),), ())
    assert ids(judge([*late, read])) == []
    assert ids(judge([*(e for e in late if not isinstance(e, Ended)), read])) == [RAW]


def _touched(events: list[Event]) -> list[tuple[Element, ...]]:
    return [t.elements for e in events if isinstance(e, Action) for t in e.touches]


def test_threads_of_a_par_loop_are_unordered_until_it_ends() -> None:
    def program(index: str) -> Proc:
        return host(
            f"""
            x[0] = 1.0
            for i in par(0, 4):
                y[{index}] = x[0]
            x[0] = y[0]
            """,
            "x: f32[1], y: f32[4]",
        )

    assert hazards(program("i")) == []
    assert hazards(program("0")) == [(WAW, "y[0] = x[0]", "y[0] = x[0]")]


@pytest.mark.parametrize("kind", [Forked, Joined])
def test_without_fork_and_join_the_iterations_are_not_ordered_with_the_rest(kind: type) -> None:
    proc = host("x[0] = 1.0\nfor i in par(0, 2):\n    y[i] = x[0]\nx[0] = 2.0\n", "x: f32[1], y: f32[2]")
    events = list(unfold(proc, {}))
    assert ids(judge(events)) == []
    assert ids(judge([e for e in events if not isinstance(e, kind)])) == ([RAW] if kind is Forked else [WAR])


# Asynchronous copies ----------------------------------------------------------------------------------------------


def test_a_copy_is_published_by_a_fence_that_waits_for_copies() -> None:
    assert hazards(copied("Fence(Sm80_cp_async, cuda_in_order)")) == []
    alloc = "s: f32[64] @ CudaSmemLinear"
    assert hazards(copied(FENCE)) == [(RAW, "z[t] = s[63 - t]", COPY), (FREE_WRITE, alloc, COPY)]


def test_two_slots_by_turns() -> None:
    """The double-buffered product: its fence has copies on both sides, or the next copy is a hazard."""

    def program(second: str) -> Proc:
        return device(
            f"""
            s: f32[2, 64] @ CudaSmemLinear
            for k in seq(0, 5):
                if k < 4:
                    for t in cuda_threads(0, 64, unit=cuda_thread):
                        with CudaAsync(Sm80_cp_async):
                            Sm80_cp_async_f32(s[k % 2, t : t + 1], y[t : t + 1], size=1)
                if k > 0:
                    for t in cuda_threads(0, 64, unit=cuda_thread):
                        z[t] += s[1 - k % 2, 63 - t]
                Fence(Sm80_generic, {second})
            """,
            arguments="y: f32[64] @ CudaGmemLinear, z: f32[64] @ CudaGmemLinear",
        )

    assert hazards(program("Sm80_generic")) == []
    copy = "Sm80_cp_async_f32(s[k % 2, t:t + 1], y[t:t + 1], size=1)"
    assert hazards(program("cuda_in_order")) == [(WAW, copy, copy)]


# Split barriers (S-01, S-05) --------------------------------------------------------------------------------------


def test_an_mbarrier_orders_both_ways() -> None:
    assert hazards(passed()) == []


def without(events: list[Event], drop: Callable[[Event], bool]) -> list[Event]:
    return [e for e in events if not drop(e)]


def test_each_half_of_an_mbarrier_is_needed() -> None:
    events = list(unfold(passed(), {}))
    assert ids(judge(events)) == []
    for reverse, rules in [(False, [RAW]), (True, [WAR])]:
        of = [
            e
            for e in events
            if (isinstance(e, Arrived) and e.queues[0].reverse == reverse)
            or (isinstance(e, Awaited) and e.queue.reverse == reverse)
        ]
        found = ids(judge(without(events, lambda e, of=of: e in of)))
        assert [rule for rule in found if rule != "mach-arrive-overrun"] == rules  # see test_rings


def waiting(lag: int, arrives: int = 2, awaits: int = 2) -> list[Event]:
    """Arrives and awaits by turns, the awaits first."""
    queue = QueueId(("bar", 0))
    p = place((0,), one_thread(0))
    arrive = Arrived(p, sync_tl("cuda_in_order"), (queue,), BarrierType.CudaMbarrier)
    wait = Awaited(replace(p, path=(1,)), queue, sync_tl("cuda_in_order"), ~lag, BarrierType.CudaMbarrier)
    end = BarrierFreed(replace(p, path=(2,)), ("bar", 0), "bar", BarrierType.CudaMbarrier)
    turns = [
        e for k in range(max(arrives, awaits)) for e in ((wait,) * (k < awaits) + (arrive,) * (k < arrives))
    ]
    return [*turns, end]


def test_an_await_waits_for_an_arrive_that_came_before() -> None:
    assert told(judge(waiting(1))) == []
    verdict = judge(waiting(0))
    (finding,) = verdict.findings
    assert (finding.id, finding.later.verb, finding.later.target) == ("mach-await-progress", "awaits", "bar")
    assert finding.given == "an await of arrive 0, of 0"
    assert verdict.events == 1  # there the run stops


def test_no_forward_progress_in_a_program() -> None:
    def program(lag: int) -> Proc:
        return device(
            f"""
            bar: barrier @ CudaMbarrier
            for i in seq(0, 2):
                with CudaWarps(1, 2):
                    Await(bar, cuda_in_order, ~{lag})
                    ReverseArrive(cuda_in_order, 1) >> bar
                with CudaWarps(0, 1):
                    ReverseAwait(bar, cuda_in_order, ~1)
                    Arrive(cuda_in_order, 1) >> bar
            """
        )

    assert hazards(program(1)) == []
    assert hazards(program(0)) == [("mach-await-progress", "Await(bar, cuda_in_order, ~0)", None)]


def test_arrives_and_awaits_are_equally_many_when_a_barrier_ends() -> None:
    assert ids(judge(waiting(1, arrives=2, awaits=2))) == []
    for awaits in (1, 3):
        (finding,) = judge(waiting(2, arrives=2, awaits=awaits)).findings
        assert (finding.id, finding.later.target) == ("mach-barrier-unequal", "bar")
        assert finding.given == f"2 arrives, {awaits} awaits"


def test_a_commit_group_ends_when_all_of_it_was_awaited() -> None:
    def program(n: int) -> Proc:
        return device(
            f"""
            s: f32[4, 1] @ CudaSmemLinear
            for t in cuda_threads(0, 1, unit=cuda_thread):
                cg: barrier @ CudaCommitGroup
                for i in seq(0, 4):
                    with CudaAsync(Sm80_cp_async):
                        Sm80_cp_async_f32(s[i, 0:1], y[0:1], size=1)
                    Arrive(Sm80_cp_async, 1) >> cg
                Await(cg, Sm80_generic, {n})
                y[1] = s[{3 - n}, 0]
            Fence(Sm80_generic, cuda_in_order)
            """,
            arguments="y: f32[2] @ CudaGmemLinear",
        )

    assert hazards(program(0)) == []
    assert hazards(program(1)) == [("mach-barrier-unequal", "cg: barrier @ CudaCommitGroup", None)]


@pytest.mark.parametrize(("fence", "found"), [(FENCE, []), ("pass", ["mach-arrive-overrun"])])
def test_a_barrier_that_is_allocated_again_is_the_same_mbarrier(fence: str, found: list[str]) -> None:
    proc = device(
        f"""
        for i in seq(0, 2):
            bar: barrier @ CudaMbarrier
            with CudaWarps(0, 1):
                Arrive(cuda_in_order, 1) >> bar
            with CudaWarps(1, 2):
                Await(bar, cuda_in_order, ~0)
            {fence}
        """
    )
    assert [h[0] for h in hazards(proc)] == found


def test_a_barrier_that_is_allocated_again_may_be_used_as_before() -> None:
    proc = device(
        """
        for i in seq(0, 3):
            bar: barrier @ CudaMbarrier
            Arrive(cuda_in_order, 1) >> bar
            Await(bar, cuda_in_order, ~0)
        """
    )
    assert hazards(proc) == []


def test_queues_that_end_leave_others_alone() -> None:
    machine = Machine()
    one, two = QueueId(("one", 0), (1,)), QueueId(("two", 0))
    p = place((0,), one_thread(0))
    for queue in (one, two):
        machine.step(Arrived(p, sync_tl("cuda_in_order"), (queue,), BarrierType.CudaMbarrier), ())
    found = machine.step(BarrierFreed(p, ("one", 0), "one", BarrierType.CudaMbarrier), ())
    assert [(h.id, h.location) for h in found] == [("mach-barrier-unequal", one)]
    assert {name: queue.arrives for name, queue in machine.queues.items()} == {one: 1, two: 1}


def test_a_multicast_arrive_leaves_the_count_of_its_home_everywhere() -> None:
    home, other = QueueId(("bar", 0), (0,)), QueueId(("bar", 0), (1,))
    x = element("x", 0)
    machine = Machine()
    machine.step(allocated("x", [x], one_thread(0)), ())
    p = place((0,), one_thread(0))
    machine.step(Arrived(p, sync_tl("cuda_in_order"), (home,), BarrierType.CudaMbarrier), ())
    machine.step(action([Touch("x", Kind.write, IO_RAM, (x,))], by=one_thread(0)), ())
    machine.step(Arrived(p, sync_tl("cuda_in_order"), (home, other), BarrierType.CudaMbarrier), ())
    (record,) = machine.storage.history(x.cells[0]).writes
    assert record.stamps == {Stamp(home, 1), Stamp(other, 1)}
    assert (machine.queue(home).arrives, machine.queue(other).arrives) == (2, 0)


def test_a_trailing_barrier_stamps_the_records_of_its_action() -> None:
    home, other = QueueId(("bar", 0), (0,)), QueueId(("bar", 0), (1,))
    x = element("x", 0)
    machine = Machine()
    machine.step(allocated("x", [x], one_thread(0)), ())
    touch = Touch("x", Kind.write, T2S_RAM, (x,), out_of_order=True)
    machine.step(replace(action([touch], by=one_thread(0)), trailing=(home, other)), ())
    (record,) = machine.storage.history(x.cells[0]).writes
    assert record.stamps == {Stamp(home, 0), Stamp(other, 0)}
    assert record.async_set == frozenset()
    assert machine.queues == {}  # the instruction itself counts nothing


# Tensor copies, and proxies (S-08) --------------------------------------------------------------------------------


def test_a_slot_that_tma_fills() -> None:
    assert hazards(ring()) == []


def test_a_write_after_a_read_across_proxies() -> None:
    """S-08: the slot was read on the generic proxy and is written on the other: by policy with a proxy fence or not.
    The write of TMA before the read is seen by the next one only on its own timeline, by either policy."""
    read, write = (WAR, LOAD, "y[t] = s[0, t]"), (WAW, LOAD, LOAD)
    for policy, back, expected in [
        (Policy.temporal, "cuda_in_order", [write]),
        (Policy.temporal, "tma_to_smem_async", []),
        (Policy.strict, "cuda_in_order", [read, write]),
        (Policy.strict, "tma_to_smem_async", []),
    ]:
        assert hazards(ring(back=back), policy) == expected


def test_a_write_after_a_write_across_proxies() -> None:
    """What was written on the generic proxy TMA overwrites only behind a proxy fence, by either policy."""
    store = "s[0, t] += s[0, t]"
    for policy in Policy:
        assert hazards(ring(store=store), policy) == []
        assert (WAW, LOAD, store) in hazards(ring(back="cuda_in_order", store=store), policy)


# Registers of wgmma (S-11) ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("policy", Policy)
def test_the_first_use_of_an_accumulator_asks_for_the_fence_too(policy: Policy) -> None:
    """The register was something else before; PTX asks for wgmma.fence before the first wgmma."""

    def program(fence: str) -> Proc:
        return device(
            f"""
            D: f32[64, 8] @ Sm90_RmemMatrixD
            cg: barrier @ CudaCommitGroup
            with CudaAsync(wgmma_async):
                {fence}
                Sm90_zero_scale_d_f32(D[:, :], N=8)
                Arrive(wgmma_async, 1) >> cg
            Await(cg, cuda_in_order, 0)
            Sm90_mma_write_d_row_major_f32(y[:, :], D[:, :], N=8)
            """,
            arguments="y: f32[64, 8] @ CudaGmemLinear",
            threads=128,
        )

    assert hazards(program("Fence(wgmma_fence_1, wgmma_fence_2)"), policy) == []
    alloc = "D: f32[64, 8] @ Sm90_RmemMatrixD"
    zero = "Sm90_zero_scale_d_f32(D[:, :], N=8)"
    assert hazards(program("pass"), policy) == [(WAW, zero, alloc)]


def test_other_storage_begins_without_records() -> None:
    for memory, expected in [(CudaRmem, 0), (CudaSmemLinear, 0), (DRAM, 0), (Sm90_RmemMatrixD, 1)]:
        machine = Machine()
        machine.step(Allocated(place((0,), one_thread(0)), replace(BUFFER, memory=memory)), (5,))
        writes = machine.storage.history(X.cells[0]).writes
        assert [(r.origin, r.where) for r in writes] == [(IO_RMEM, (5,))] * expected


# Hand-made events -------------------------------------------------------------------------------------------------


def one_thread(number: int) -> frozenset[Thread]:
    return frozenset({Thread((0, 0), number)})


def place(path: tuple[int, ...], by: frozenset[Thread]) -> Place:
    at = Position("program.py", 1 + (path[0] if path else 0), 5, "pass")
    return Place(Pass(position=at), path, (), by, InstrTl.cuda_in_order)


def element(name: str, index: int) -> Element:
    return Element((Cell(name, index),), float32, name, (index,))


def action(touches: list[Touch], by: frozenset[Thread], path: tuple[int, ...] = (1,)) -> Action:
    return Action(place(path, by), tuple(touches), ())


BUFFER = Buffer("x", CudaSmemLinear, float32, (1,), (element("x", 0),), one_thread(0))


def buffer(
    name: str, elements: list[Element], owner: frozenset[Thread], memory: Memory = CudaSmemLinear
) -> Buffer:
    return Buffer(name, memory, float32, (len(elements),), tuple(elements), owner)


def allocated(name: str, elements: list[Element], owner: frozenset[Thread]) -> Allocated:
    return Allocated(place((0,), owner), buffer(name, elements, owner))


def freed_event(
    name: str, elements: list[Element], owner: frozenset[Thread], path: tuple[int, ...] = (8,)
) -> Freed:
    return Freed(place(path, owner), buffer(name, elements, owner))


def ids(verdict: Verdict) -> list[str]:
    return [finding.id for finding in verdict.findings]


X = element("x", 0)
WRITE = Touch("x", Kind.write, IO_RAM, (X,))


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        ("aw", []),
        ("w", ["mach-use-before-alloc"]),
        ("awf", []),
        ("awfw", ["mach-use-after-free"]),
        ("awfaw", []),
        ("aa", ["mach-alloc-live"]),
        ("afaf", []),
        ("f", ["mach-free-dead"]),
        ("aff", ["mach-free-dead"]),
        ("ao", ["mach-free-owner"]),
    ],
)
def test_the_life_of_storage(events: str, expected: list[str]) -> None:
    by = one_thread(0)
    meaning: dict[str, Event] = {
        "a": allocated("x", [X], by),
        "w": action([WRITE], by),
        "f": freed_event("x", [X], by),
        "o": freed_event("x", [X], one_thread(1)),
    }
    verdict = judge([meaning[letter] for letter in events])
    assert ids(verdict) == expected
    for finding in verdict.findings:
        assert finding.earlier is None
        assert finding.later.target == "x[0]"
        assert finding.later.verb == {"w": "writes", "a": "allocates"}.get(events[-1], "frees")


def test_events_that_only_mark_something_change_nothing() -> None:
    by = one_thread(0)
    p = place((3,), by)
    marks = [TaskBegan(p, (0, 0)), TaskEnded(p, (0, 0))]
    events = [allocated("x", [X], by), action([WRITE], by), *marks, action([WRITE], one_thread(1), (2,))]
    assert ids(judge(events)) == [WAW]


@pytest.mark.parametrize("kind", [Launched, Ended])
def test_launch_and_end_are_no_mere_marks(kind: type) -> None:
    by = one_thread(0)
    p = place((3,), by)
    mark = Launched(p, 0, 32, 1) if kind is Launched else Ended(p, 0)
    events = [allocated("x", [X], by), action([WRITE], by), mark, action([WRITE], one_thread(1), (2,))]
    assert ids(judge(events)) == []


def test_the_machine_can_look_at_some_cells_alone() -> None:
    by = one_thread(0)
    y = element("y", 0)
    events = [allocated("x", [X], by), allocated("y", [y], by), action([WRITE], by)]
    machine = Machine(only=frozenset({X.cells[0]}))
    assert [h for e in events for h in machine.step(e, ())] == []
    assert set(machine.storage.owners) == {X.cells[0]}
    assert machine.step(action([replace(WRITE, elements=(y,))], one_thread(1)), ()) == []
    assert [h.id for h in machine.step(action([WRITE], one_thread(1)), ())] == [WAW]


# Verdicts ---------------------------------------------------------------------------------------------------------


def test_what_a_verdict_counts() -> None:
    verdict = check(exchange(FENCE), {})
    assert verdict.ok
    assert (verdict.policy, verdict.findings) == (Policy.temporal, ())
    assert verdict.accesses == 3 * 64
    assert verdict.events == len(list(unfold(exchange(FENCE), {})))
    assert not check(exchange("pass"), {}).ok


def test_no_events() -> None:
    verdict = judge([])
    assert (verdict.ok, verdict.events, verdict.accesses) == (True, 0, 0)


def test_sizes_are_asked() -> None:
    proc = host("for i in seq(0, n):\n    y[i] = 1.0\n", "n: size, y: f32[n]")
    assert check(proc, {"n": 3}).accesses == 3
    with pytest.raises(SoundlineError):
        check(proc, {})


def test_forgetting_changes_no_verdict() -> None:
    for proc in (exchange("pass"), again("pass"), reuse("pass"), freed("pass"), copied(FENCE), passed()):
        events = list(unfold(proc, {}))
        found = []
        for forgets in (True, False):
            machine = Machine(forgets=forgets)
            hazards_of = [h for e in events for h in machine.step(e, e.place.path)]
            found.append(
                {(h.id, h.location, h.where, h.record and h.record.where, h.threads) for h in hazards_of}
            )
        assert found[0] == found[1]


def test_the_same_run_has_the_same_verdict() -> None:
    assert check(exchange("pass"), {}) == check(exchange("pass"), {})


def test_every_hazard_has_a_name_and_a_test() -> None:
    assert set(MACHINE) <= set(SHORT)
    text = Path(__file__).read_text(encoding="utf-8")
    assert [rule for rule in MACHINE if f'"{rule}"' not in text] == []


def test_queues_are_told_as_programs_write_them() -> None:
    assert queue_text(QueueId(("bar", 3), (0, 2))) == "bar[0, 2]"
    assert queue_text(QueueId("bar", reverse=True)) == "bar (reverse)"


@pytest.mark.parametrize(("times", "last"), [(1, "1 hazard ("), (2, "2 hazards (")])
def test_the_verdict_counts_its_hazards(times: int, last: str) -> None:
    found = check(exchange("pass"), {})
    *told, count = replace(found, findings=found.findings * times).text().split("\n\n")
    assert count.startswith(last)
    assert told
