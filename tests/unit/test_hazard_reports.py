"""What is said of a hazard: both accesses, what was known, the synchronization that almost ordered them, and a fix.

A fix that was tried is tried once more here: the program as the fix would have it has no such hazard.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from types import SimpleNamespace

import pytest

from soundline.impl.spork import Proc, proc_from_text
from soundline.spec.abstract_machine import check
from soundline.spec.dtypes import float32
from soundline.spec.spork.diagnosis.causes import Case, accesses_of, first_failures
from soundline.spec.spork.diagnosis.fixes import FIRST, SECOND, _before, collective_text, least
from soundline.spec.spork.diagnosis.reports import (
    SHORT,
    Finding,
    intervals,
    signatures_json,
    signatures_text,
    statement_text,
    threads_json,
    threads_text,
)
from soundline.spec.spork.language.expressions import Const, Index
from soundline.spec.spork.language.statements import PAR, Assign, For
from soundline.spec.spork.language.types import Argument, Data
from soundline.spec.spork.synchronization.barriers import QueueId, Stamp
from soundline.spec.spork.synchronization.timelines import (
    CP_RAM,
    DEVICE,
    IO_RAM,
    IO_RMEM,
    LEGAL_PAIRS,
    T2S_RAM,
    WG_D,
    SyncTl,
    sync_tl,
)
from soundline.spec.spork.synchronization.visibility import (
    CPU_THREAD,
    Access,
    Kind,
    Policy,
    Thread,
    second_sets,
    signatures,
)

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

ALL = "threads 0-63 of task 0 of launch 0"


def threads(numbers: Iterable[int], *at: int) -> frozenset[Thread]:
    return frozenset(Thread((0, *(at or (0,))), n) for n in numbers)


def finding(proc: Proc, rule: str, policy: Policy = Policy.temporal) -> Finding:
    """The first finding of an id."""
    return next(f for f in check(proc, {}, policy=policy).findings if f.id == rule)


def fixed(proc: Proc, rule: str, policy: Policy = Policy.temporal) -> tuple[str, bool]:
    fix = finding(proc, rule, policy).fix
    assert fix is not None
    return fix.text, fix.tried


# The two accesses -------------------------------------------------------------------------------------------------


def test_both_statements_with_their_places_iterations_and_threads() -> None:
    found = finding(exchange("pass"), "mach-read-raw")
    later, earlier = found.later, found.earlier
    assert earlier is not None
    assert (later.verb, later.target, later.pair) == ("reads", "s[63]", IO_RAM)
    assert (earlier.verb, earlier.target, earlier.pair) == ("writes", "s[63]", IO_RAM)
    assert later.place.iteration == (("task", 0), ("t", 0))
    assert earlier.place.iteration == (("task", 0), ("t", 63))
    assert (later.threads, earlier.threads) == (threads([0]), threads([63]))
    assert found.blind == threads([0])
    assert later.place.statement.position is not None
    assert later.place.statement.position.line == 9
    assert found.sync_set == found.async_set == signatures([IO_RAM], threads([63]))


def test_what_was_known_of_a_copy() -> None:
    found = finding(copied(FENCE), "mach-read-raw")
    assert found.sync_set == frozenset()
    assert found.async_set == signatures([CP_RAM], threads([63]))
    assert "it is complete for nobody" in found.text()
    assert "it becomes complete by a synchronization of (Sm80_cp_async, cuda_ram) × thread 63" in found.text()


def test_bytes_under_two_names() -> None:
    """Storage that is used again: each access has the name that it uses."""
    proc = device(
        f"""
        if True:
            a: f32[4, 16] @ CudaSmemLinear
            for t in cuda_threads(0, 64, unit=cuda_thread):
                a[t // 16, t % 16] = 1.0
            {FENCE}
        if True:
            b: f32[64] @ CudaSmemLinear
            for t in cuda_threads(0, 64, unit=cuda_thread):
                with CudaAsync(Sm80_cp_async):
                    Sm80_cp_async_f32(b[t : t + 1], y[t : t + 1], size=1)
            Fence(Sm80_cp_async, cuda_in_order)
        """,
        arguments="y: f32[64] @ CudaGmemLinear",
    )
    found = finding(proc, "mach-write-waw")
    assert found.earlier is not None
    assert (found.later.target, found.earlier.target) == ("b[0]", "a[0, 0]")


def test_what_an_action_does_in_words() -> None:
    assert accesses_of([Kind.read]) == "reads"
    assert accesses_of([Kind.write, Kind.write]) == "writes"
    assert accesses_of([Kind.read, Kind.write]) == "reads and writes"
    assert accesses_of([Kind.atomic, Kind.read]) == "adds atomically to"


# The nearest synchronization --------------------------------------------------------------------------------------


def test_no_synchronization_is_near_where_there_is_none() -> None:
    found = finding(exchange("pass"), "mach-read-raw")
    assert found.nearest is None
    text, tried = fixed(exchange("pass"), "mach-read-raw")
    assert tried
    where = "after s[t] = 1.0 (line 6) and before the later access"
    assert text == f"add {FENCE}, executed by the whole CTA or cluster, {where}"


def test_a_fence_before_the_earlier_access_is_not_near() -> None:
    proc = device(
        f"""
        s: f32[64] @ CudaSmemLinear
        {FENCE}
        for t in cuda_threads(0, 64, unit=cuda_thread):
            s[t] = 1.0
        for t in cuda_threads(0, 64, unit=cuda_thread):
            y[t] = s[63 - t]
        {FENCE}
        """,
        arguments="y: f32[64] @ CudaGmemLinear",
    )
    assert finding(proc, "mach-read-raw").nearest is None


WARPS = f"for w in cuda_threads(0, 2, unit=cuda_warp):\n            {FENCE}"


def test_a_fence_by_too_few_threads() -> None:
    """Of two fences that fail by threads, the one that has the earlier access is nearest."""
    found = finding(exchange(WARPS), "mach-read-raw")
    near = found.nearest
    assert near is not None
    assert near.first.threads == threads(range(32, 64))
    assert near.first_fails == ()
    assert near.second_fails == ("it is not executed by thread 0 of task 0 of launch 0",)
    text, tried = fixed(exchange(WARPS), "mach-read-raw")
    assert tried
    assert text.startswith(f"execute {FENCE} (line 8) by the whole CTA or cluster, not only by threads 32-63")


def test_a_fence_that_the_earlier_access_does_not_take_part_in() -> None:
    half = f"with CudaWarps(0, 1):\n            {FENCE}"
    found = finding(exchange(half), "mach-read-raw")
    assert found.nearest is not None
    assert found.nearest.first_fails == ("it is executed by none of thread 63 of task 0 of launch 0",)
    assert found.nearest.second_fails == ()
    assert found.fix is not None
    assert found.fix.tried


def test_a_first_timeline_that_does_not_wait() -> None:
    found = finding(copied(FENCE), "mach-read-raw")
    assert found.nearest is not None
    assert found.nearest.second is None
    assert found.nearest.first_fails == ("cuda_in_order does not wait for (Sm80_cp_async, cuda_ram)",)
    assert found.nearest.second_fails == ()
    assert fixed(copied(FENCE), "mach-read-raw") == (
        f"in {FENCE} (line 8), widen the first timeline from cuda_in_order to Sm80_generic",
        True,
    )
    assert check(copied("Fence(Sm80_generic, cuda_in_order)"), {}).ok


def test_a_second_timeline_that_does_not_reach() -> None:
    proc = ring(back="cuda_in_order")
    found = finding(proc, "mach-write-waw")
    near = found.nearest
    assert near is not None
    assert near.second is not None
    assert statement_text(near.first) == "ReverseArrive(cuda_in_order, 1) >> bar"
    assert statement_text(near.second) == "ReverseAwait(bar, cuda_in_order, ~1)"
    assert near.first_fails == ()
    assert near.second_fails == (
        "cuda_in_order does not reach (tma_to_smem_async, cuda_ram) with what was written",
    )
    text, tried = fixed(proc, "mach-write-waw")
    assert tried
    wider = "from cuda_in_order to cuda_generic_and_async_proxy"
    assert text == f"in ReverseAwait(bar, cuda_in_order, ~1) (line 10), widen the second timeline {wider}"
    assert check(ring(back="cuda_generic_and_async_proxy"), {}).ok


def test_under_the_strict_policy_a_read_asks_for_the_timeline_too() -> None:
    near = finding(ring(back="cuda_in_order"), "mach-write-war", Policy.strict).nearest
    assert near is not None
    assert near.second_fails == ("cuda_in_order does not reach (tma_to_smem_async, cuda_ram)",)


def test_both_timelines_of_a_fence() -> None:
    """A copy into a slot that was copied into: waits for nothing, and reaches nothing."""

    def program(fence: str) -> Proc:
        return device(
            f"""
            s: f32[64] @ CudaSmemLinear
            for i in seq(0, 2):
                for t in cuda_threads(0, 64, unit=cuda_thread):
                    with CudaAsync(Sm80_cp_async):
                        {COPY}
                {fence}
            Fence(Sm80_generic, cuda_in_order)
            """,
            arguments="y: f32[64] @ CudaGmemLinear",
        )

    found = finding(program(FENCE), "mach-write-waw")
    assert found.nearest is not None
    assert len(found.nearest.first_fails) == len(found.nearest.second_fails) == 1
    text, tried = fixed(program(FENCE), "mach-write-waw")
    assert tried
    both = [f"the {side} timeline from cuda_in_order to Sm80_generic" for side in ("first", "second")]
    assert text == f"in {FENCE} (line 9), widen {' and '.join(both)}"
    assert check(program("Fence(Sm80_generic, Sm80_generic)"), {}).ok


def test_a_first_timeline_that_is_not_transitive() -> None:
    """Sm80_generic passes on nothing of TMA, though its threads know of it."""

    def program(first: str) -> Proc:
        return proc_from_text(
            f"""\
def program(x: f32[1, 8] @ CudaGmemLinear, y: f32[8] @ CudaGmemLinear):
    x_map = x[:, :] @ Sm90_tensorMap(0, 1, 8)
    with CudaDeviceFunction(blockDim=64):
        for task in cuda_tasks(0, 1):
            s: f32[1, 8] @ CudaSmemLinear
            bar: barrier @ CudaMbarrier
            tile = x_map[0:1, 0:8]
            with CudaWarps(0, 1):
                with CudaAsync(tma_to_smem_async):
                    {LOAD}
                    Arrive(tma_to_smem_async, 1) >> bar
                Await(bar, cuda_in_order, ~0)
            Fence({first}, cuda_in_order)
            with CudaWarps(1, 2):
                for t in cuda_threads(0, 8, unit=cuda_thread):
                    y[t] = s[0, t]
            {FENCE}
"""
        )

    assert check(program("cuda_in_order"), {}).ok
    near = finding(program("Sm80_generic"), "mach-read-raw").nearest
    assert near is not None
    assert near.first_fails == (
        "Sm80_generic is not transitive, and passes on nothing that was done on (tma_to_smem_async, cuda_ram)",
    )


def grouped(n: int, extra: str = "pass") -> Proc:
    """One thread copies two elements in a group each, and awaits all but N groups."""
    return device(
        f"""
        s: f32[2, 1] @ CudaSmemLinear
        for t in cuda_threads(0, 1, unit=cuda_thread):
            cg: barrier @ CudaCommitGroup
            for i in seq(0, 2):
                with CudaAsync(Sm80_cp_async):
                    Sm80_cp_async_f32(s[i, 0:1], y[i : i + 1], size=1)
                Arrive(Sm80_cp_async, 1) >> cg
            Await(cg, Sm80_generic, {n})
            z[0] = s[1, 0]
            Await(cg, Sm80_generic, 0)
        {FENCE}
        """,
        arguments="y: f32[2] @ CudaGmemLinear, z: f32[1] @ CudaGmemLinear",
    )


def test_an_arrive_that_is_not_awaited_in_time() -> None:
    assert check(grouped(0), {}).ok
    found = finding(grouped(1), "mach-read-raw")
    near = found.nearest
    assert near is not None
    assert (statement_text(near.first), near.second) == ("Arrive(Sm80_cp_async, 1) >> cg", None)
    assert near.first.iteration[-1] == ("i", 1)
    assert near.first_fails == ()
    assert near.second_fails == ("no await before the later access waits for it",)
    wait = "in Await(cg, Sm80_generic, 1) (line 11), N is 0 instead of 1"
    assert fixed(grouped(1), "mach-read-raw") == (wait, True)


def test_a_lag_that_is_too_long() -> None:
    """The consumer of a ring awaits the arrive before the one that it needs."""

    def program(lag: int) -> Proc:
        return device(
            f"""
            s: f32[4] @ CudaSmemLinear
            bar: barrier @ CudaMbarrier
            for i in seq(0, 4):
                with CudaWarps(0, 1):
                    ReverseAwait(bar, cuda_in_order, ~2)
                    for t in cuda_threads(0, 1, unit=cuda_thread):
                        s[i] = 1.0
                    {FENCE}
                    Arrive(cuda_in_order, 1) >> bar
                with CudaWarps(1, 2):
                    Await(bar, cuda_in_order, ~{lag})
                    for t in cuda_threads(0, 1, unit=cuda_thread):
                        y[i] = s[i]
                    ReverseArrive(cuda_in_order, 1) >> bar
            {FENCE}
            """,
            arguments="y: f32[4] @ CudaGmemLinear",
        )

    assert [f.id for f in check(program(0), {}).findings] == []
    wait = "in Await(bar, cuda_in_order, ~1) (line 14), N is ~0 instead of ~1"
    assert fixed(program(1), "mach-read-raw") == (wait, True)


def test_an_arrive_that_nobody_awaits() -> None:
    proc = device(
        f"""
        s: f32[1] @ CudaSmemLinear
        bar: barrier @ CudaMbarrier
        with CudaWarps(0, 1):
            for t in cuda_threads(0, 1, unit=cuda_thread):
                s[0] = 1.0
            {FENCE}
            Arrive(cuda_in_order, 1) >> bar
        with CudaWarps(1, 2):
            for t in cuda_threads(0, 1, unit=cuda_thread):
                y[0] = s[0]
            Await(bar, cuda_in_order, ~0)
        {FENCE}
        """,
        arguments="y: f32[1] @ CudaGmemLinear",
    )
    near = finding(proc, "mach-read-raw").nearest
    assert near is not None
    assert statement_text(near.first) == "Arrive(cuda_in_order, 1) >> bar"
    assert near.second_fails == ("no await before the later access waits for it",)


def test_an_arrive_that_comes_too_early() -> None:
    proc = device(
        f"""
        s: f32[1] @ CudaSmemLinear
        bar: barrier @ CudaMbarrier
        with CudaWarps(0, 1):
            Arrive(cuda_in_order, 1) >> bar
            for t in cuda_threads(0, 1, unit=cuda_thread):
                s[0] = 1.0
        with CudaWarps(1, 2):
            Await(bar, cuda_in_order, ~0)
            for t in cuda_threads(0, 1, unit=cuda_thread):
                y[0] = s[0]
        {FENCE}
        """,
        arguments="y: f32[1] @ CudaGmemLinear",
    )
    found = finding(proc, "mach-read-raw")
    near = found.nearest
    assert near is not None
    assert near.second is not None
    assert statement_text(near.second) == "Await(bar, cuda_in_order, ~0)"
    assert near.first_fails == ("it comes before the earlier access",)
    assert near.second_fails == ()


def loaded(wait: str) -> Proc:
    return proc_from_text(
        f"""\
def program(x: f32[1, 8] @ CudaGmemLinear, y: f32[8] @ CudaGmemLinear):
    x_map = x[:, :] @ Sm90_tensorMap(0, 1, 8)
    with CudaDeviceFunction(blockDim=64):
        for task in cuda_tasks(0, 1):
            s: f32[1, 8] @ CudaSmemLinear
            bar: barrier @ CudaMbarrier
            tile = x_map[0:1, 0:8]
            with CudaWarps(0, 1):
                with CudaAsync(tma_to_smem_async):
                    {LOAD}
                    Arrive(tma_to_smem_async, 1) >> bar
            {wait}
            for t in cuda_threads(0, 8, unit=cuda_thread):
                y[t] = s[0, t]
            Await(bar, cuda_in_order, ~0)
            {FENCE}
"""
    )


def test_only_the_trailing_barrier_releases() -> None:
    found = finding(loaded(FENCE), "mach-read-raw")
    assert found.async_set == frozenset()
    near = found.nearest
    assert near is not None
    assert (statement_text(near.first), near.first_fails) == (LOAD, ())
    assert near.second_fails == ("no await before the later access waits for it",)
    wait = f"await the trailing barrier of {LOAD} (line 10) before the later access"
    assert fixed(loaded("pass"), "mach-read-raw") == (wait, False)
    assert fixed(loaded(FENCE), "mach-read-raw") == (wait, False)


def test_why_a_first_side_does_not_concern_a_record() -> None:
    one, two = threads([1]), threads([2])
    in_order, copies = sync_tl("cuda_in_order"), sync_tl("Sm80_cp_async")
    stamps = frozenset({Stamp(QueueId("bar"), 0)})

    def texts(access: Access, first: SyncTl, by: frozenset[Thread]) -> list[tuple[str, str]]:
        (record,) = access.records()
        return [(f.how, f.text) for f in first_failures(record, first, by)]

    write, copy = Access(Kind.write, IO_RAM, one), Access(Kind.write, CP_RAM, one, out_of_order=True)
    assert texts(write, in_order, one | two) == texts(copy, copies, one) == []
    who = ("threads", "it is executed by none of thread 1 of task 0 of launch 0")
    tl = ("timeline", "Sm80_cp_async does not wait for (cuda_in_order, cuda_ram)")
    assert texts(write, in_order, two) == [who]
    assert texts(write, copies, one) == [tl]
    assert texts(write, copies, two) == [who, tl]
    trailing = ("timeline", "only the trailing barrier of the earlier access waits for it")
    assert texts(replace(copy, stamps=stamps), copies, one) == [trailing]


# Fixes ------------------------------------------------------------------------------------------------------------


def test_a_fence_for_all_threads_of_the_earlier_statement() -> None:
    """The slot was read by all threads: a fence of those that are looked at would not do."""
    text, tried = fixed(reuse("pass"), "mach-write-war")
    assert tried
    assert text.startswith(f"add {FENCE}, executed by the whole CTA or cluster, after y[t] = s[0]")


def test_nothing_orders_tasks() -> None:
    text, tried = fixed(two_tasks("0"), "mach-write-waw")
    assert not tried
    assert "nothing orders the tasks of one" in text


def test_nothing_orders_iterations_of_a_par_loop() -> None:
    proc = host("for i in par(0, 2):\n    x[0] = 1.0\n", "x: f32[1]")
    found = finding(proc, "mach-write-waw")
    assert found.fix is not None
    assert "nothing orders the iterations" in found.fix.text
    assert "by iteration 1 of a par loop" in found.text()


def wgmma(fence: str) -> Proc:
    """An accumulator that was read in order is used by wgmma again."""
    return device(
        f"""
        D: f32[64, 8] @ Sm90_RmemMatrixD
        cg: barrier @ CudaCommitGroup
        for i in seq(0, 2):
            {FENCE}
            with CudaAsync(wgmma_async):
                {fence}
                Sm90_zero_scale_d_f32(D[:, :], N=8)
                Arrive(wgmma_async, 1) >> cg
            Await(cg, cuda_in_order, 0)
            Sm90_mma_write_d_row_major_f32(y[i, :, :], D[:, :], N=8)
        """,
        arguments="y: f32[2, 64, 8] @ CudaGmemLinear",
        threads=128,
    )


@pytest.mark.parametrize("policy", Policy)
def test_a_wgmma_fence(policy: Policy) -> None:
    """S-11: between a read of the accumulator and wgmma an ordinary barrier is not enough, by either policy."""
    fence = "Fence(wgmma_fence_1, wgmma_fence_2)"
    assert check(wgmma(fence), {}, policy=policy).ok
    text, tried = fixed(wgmma("pass"), "mach-write-war", policy)
    assert tried
    assert text.startswith(f"begin the block of wgmma with {fence}")


def test_a_split_barrier_where_no_fence_waits() -> None:
    """What TMA stores is waited for by a commit group."""

    def program(wait: str) -> Proc:
        return proc_from_text(
            f"""\
def program(x: f32[1, 8] @ CudaGmemLinear):
    x_map = x[:, :] @ Sm90_tensorMap(0, 1, 8)
    with CudaDeviceFunction(blockDim=64):
        for task in cuda_tasks(0, 1):
            s: f32[1, 8] @ CudaSmemLinear
            cg: barrier @ CudaCommitGroup
            tile = x_map[0:1, 0:8]
            for t in cuda_threads(0, 1, unit=cuda_thread):
                with CudaAsync(tma_to_gmem_async):
                    Sm90_copy_tensor_to_gmem_2d_f32(tile, s[:, :], n0=1, n1=8)
                {wait}
                s[0, 0] = 1.0
            {FENCE}
"""
        )

    done = "Arrive(tma_to_gmem_async, 1) >> cg\n                Await(cg, cuda_in_order, 0)"
    assert [f.id for f in check(program(done), {}).findings] == []
    text, tried = fixed(program("pass"), "mach-write-war")
    assert not tried
    assert text.startswith("Arrive(tma_to_gmem_async, 1) at a barrier after Sm90_copy_tensor_to_gmem_2d_f32")
    assert "and Await it with second timeline cuda_in_order, by thread 0" in text


def test_the_smallest_timeline_is_suggested() -> None:
    for pairs, first in [
        ({IO_RAM}, "cuda_in_order"),
        ({CP_RAM}, "Sm80_cp_async"),
        ({IO_RAM, CP_RAM}, "Sm80_generic"),
    ]:
        found = least(lambda t, pairs=pairs: pairs <= t.full, FIRST, first=True)
        assert found is sync_tl(first)
    for pairs, second in [
        ({IO_RMEM}, "cuda_in_order"),
        ({T2S_RAM}, "tma_to_smem_async"),
        ({CP_RAM, T2S_RAM}, "cuda_generic_and_async_proxy"),
    ]:
        found = least(lambda t, pairs=pairs: pairs <= t.full, SECOND, first=False)
        assert found is sync_tl(second)
    assert least(lambda t: T2S_RAM in t.full, FIRST, first=True) is None
    assert least(lambda t: WG_D in t.full, SECOND, first=False) is None


def test_who_has_to_execute() -> None:
    assert collective_text(threads([7])) == "thread 7 of task 0 of launch 0"
    assert collective_text(threads([0, 31])) == "the warp of threads 0, 31 of task 0 of launch 0"
    assert collective_text(threads([31, 32])) == "the whole CTA or cluster"


BROKEN = {
    "exchange": exchange("pass"),
    "warps": exchange(WARPS),
    "again": again("pass"),
    "reuse": reuse("pass"),
    "freed": freed("pass"),
    "copied": copied(FENCE),
    "copied, nothing": copied("pass"),
    "ring": ring(back="cuda_in_order"),
    "ring, stored": ring(back="cuda_in_order", store="s[0, t] += s[0, t]"),
    "group": grouped(1),
    "load": loaded(FENCE),
    "wgmma": wgmma("pass"),
    "tasks": two_tasks("0"),
}


@pytest.mark.parametrize("name", BROKEN)
@pytest.mark.parametrize("policy", Policy)
def test_every_report_is_whole(name: str, policy: Policy) -> None:
    """It has a fix, its text is lines that say every part, and its JSON is JSON."""
    verdict = check(BROKEN[name], {}, policy=policy)
    assert not verdict.ok
    for found in verdict.findings:
        text = found.text()
        assert found.fix is not None
        assert found.fix.text in text
        assert text.startswith(f"{SHORT[found.id]} [{found.id}]: ")
        assert found.earlier is not None
        for use in (found.later, found.earlier):
            assert statement_text(use.place) in text
            assert f"{use.verb} {use.target}" in text
            assert threads_text(use.threads) in text
        assert ("(tried" in text) == found.fix.tried
        if found.nearest is not None:
            assert statement_text(found.nearest.first) in text
            assert found.nearest.first_fails or found.nearest.second_fails
        assert (f"found {found.count} times" in text) == (found.count > 1)
    assert json.loads(json.dumps(verdict.to_json()))["hazards"][0]["id"] == verdict.findings[0].id


def test_what_a_correct_program_is_told() -> None:
    assert check(passed(), {}).text().startswith("no hazards (")


# JSON -------------------------------------------------------------------------------------------------------------


def test_json() -> None:
    told = check(exchange(WARPS), {}).to_json()
    assert {k: told[k] for k in ("verdict", "policy", "accesses")} == {
        "verdict": "hazards",
        "policy": "temporal",
        "accesses": 192,
    }
    (found,) = told["hazards"]
    assert found["second"] == {
        "file": "<text>",
        "line": 10,
        "column": 17,
        "statement": "y[t] = s[63 - t]",
        "path": [0, 0, 3, 0],
        "iteration": [["task", 0], ["t", 0]],
        "does": "reads",
        "target": "s[63]",
        "pair": ["cuda_in_order", "cuda_ram"],
        "threads": [{"task": [0, 0], "threads": [[0, 0]]}],
    }
    assert found["first"]["statement"] == "s[t] = 1.0"
    assert found["blind"] == [{"task": [0, 0], "threads": [[0, 0]]}]
    in_order = [["cuda_in_order", "cuda_sync_rmem"], ["cuda_in_order", "cuda_ram"]]
    assert found["sync_set"] == [{"pairs": in_order, "threads": [{"task": [0, 0], "threads": [[32, 63]]}]}]
    assert found["nearest"]["first"]["statement"] == FENCE
    assert found["nearest"]["second"] is None
    assert (found["nearest"]["first_fails"], len(found["nearest"]["second_fails"])) == ([], 1)
    assert (found["count"], found["fix"]["tried"]) == (64, True)
    assert (found["kind"], found["location"]) == ("read after write", "s[63]")
    assert [e["role"] for e in found["around"]] == ["earlier", None, None, "later"]
    assert found["around"][2]["sync_set"] == found["sync_set"]


def test_a_program_without_source_is_told_by_paths() -> None:
    write = Assign(Index("x", (Const(0),)), Const(1.0))
    loop = For("i", PAR, Const(0), Const(2), (write,))
    proc = Proc("built", (Argument("x", Data(float32, (Const(1),))),), (), (loop,))
    (found,) = check(proc, {}).findings
    assert "statement 0.0: x[0] = 1.0" in found.text()
    assert (found.to_json()["second"]["file"], found.to_json()["second"]["path"]) == (None, [0, 0])


def test_file_names_are_shown_as_asked() -> None:
    text = check(exchange("pass"), {}).text(lambda file: f"here/{file}")
    assert "here/<text>:9:17: y[t]" in text
    near = check(exchange(WARPS), {}).text(lambda file: f"here/{file}")
    assert f"nearest synchronization: here/<text>:8:17: {FENCE}" in near


# Words ------------------------------------------------------------------------------------------------------------


def test_intervals() -> None:
    assert intervals([]) == []
    assert intervals([3]) == [(3, 3)]
    assert intervals([5, 1, 2, 3, 9, 8]) == [(1, 3), (5, 5), (8, 9)]


def test_threads_in_words() -> None:
    assert threads_text([]) == "nobody"
    assert threads_text([CPU_THREAD]) == "the CPU"
    assert threads_text(threads(range(4), 2, 1)) == "threads 0-3 of task 2, 1 of launch 0"
    assert threads_text(threads([0, 2])) == "threads 0, 2 of task 0 of launch 0"
    assert threads_text(threads([5])) == "thread 5 of task 0 of launch 0"
    assert threads_text([Thread(("par", 0, 3))]) == "iteration 3 of a par loop"
    both = threads([0]) | threads([1], 1)
    assert threads_text(both) == "thread 0 of task 0 of launch 0; thread 1 of task 1 of launch 0"


def test_threads_as_json() -> None:
    assert threads_json([CPU_THREAD]) == [{"task": None, "threads": [[0, 0]]}]
    assert threads_json(threads([0, 1, 5], 7)) == [{"task": [0, 7], "threads": [[0, 1], [5, 5]]}]


def test_signatures_in_words() -> None:
    assert signatures_text(frozenset()) == "nobody"
    held = signatures([IO_RMEM, IO_RAM], threads(range(2))) | signatures([CP_RAM], threads([1]))
    assert signatures_text(held) == (
        "(cuda_in_order, cuda_sync_rmem) (cuda_in_order, cuda_ram) × threads 0-1 of task 0 of launch 0; "
        "(Sm80_cp_async, cuda_ram) × thread 1 of task 0 of launch 0"
    )
    assert [len(row["pairs"]) for row in signatures_json(held)] == [2, 1]
    everything = signatures(LEGAL_PAIRS, threads([0]))
    assert [len(row["pairs"]) for row in signatures_json(everything)] == [len(DEVICE) + 1]


@pytest.mark.parametrize("policy", Policy)
def test_a_record_gains_what_records_of_its_kind_gain(policy: Policy) -> None:
    some, by = sync_tl("cuda_in_order"), threads(range(2))
    of_writes, of_reads = second_sets(some, by, policy)
    assert of_writes != of_reads
    for writes, gained in ((True, of_writes), (False, of_reads)):
        case = Case((), None, [], None, frozenset(), writes, policy)  # type: ignore[arg-type]
        assert case.gains(some, by) == gained


def test_an_await_that_is_moved_is_done_once() -> None:
    access, wait, other = (SimpleNamespace(place=SimpleNamespace(path=(k,))) for k in (1, 2, 3))
    run = [(0, access), (1, access), (2, other), (3, wait), (4, wait)]
    moved = _before(run, wait, (1,))  # type: ignore[arg-type]
    assert moved == [(3, wait), (0, access), (4, wait), (1, access), (2, other)]
    late = _before(run[:4], wait, (1,))  # type: ignore[arg-type]
    assert late == [(3, wait), (0, access), (-1, wait), (1, access), (2, other)]
