"""What the fast checker says of programs is what the literal machine says, word for word."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from trials.checker.verdicts import compare, differences, verdicts
from trials.checker.written_out import Writer
from trials.machine.generator import drawn
from trials.waterline.corpus import Work, program, sizes

from soundline.impl.spork.checker.checking import check
from soundline.impl.spork.checker.engine import Engine
from soundline.impl.spork.checker.findings import Findings
from soundline.impl.spork.checker.planning.programs import plan_of
from soundline.impl.spork.front_end import proc_from_text
from soundline.spec.abstract_machine import Verdict, judge
from soundline.spec.errors import OutOfMemoryError, SoundlineError
from soundline.spec.spork.machine.unfolding import unfold
from soundline.spec.spork.synchronization.visibility import Policy

IDS = {"mach-read-raw", "mach-write-waw", "mach-write-war", "mach-arrive-overrun", "mach-await-progress"}


@pytest.mark.parametrize("policy", list(Policy))
def test_random_programs_have_the_verdict_of_the_literal_machine(policy: Policy) -> None:
    refused, ids = 0, set()
    for seed in range(12):
        try:
            proc = drawn(seed).proc
        except SoundlineError:
            continue
        fast, literal = verdicts(proc, {}, policy)
        assert differences(fast, literal) == [], seed
        refused += not isinstance(literal, Verdict)
        ids |= {f.id for f in literal.findings} if isinstance(literal, Verdict) else set()
    assert refused > 1
    assert len(ids & IDS) >= 3


@pytest.mark.parametrize("policy", list(Policy))
def test_the_second_pass_says_what_the_law_says_of_the_events_alone(policy: Policy) -> None:
    count = 0
    for seed in range(100, 108):
        try:
            proc = drawn(seed).proc
            events = tuple(unfold(proc, {}))
        except SoundlineError:
            continue
        plan = Writer(events).plan(proc, {})
        engine = Engine(plan, policy)
        found = Findings(engine, plan).of(engine.run().sightings)
        expected = judge(events, policy).findings
        assert [f.text() for f in found] == [f.text() for f in expected], seed
        count += len(found)
    assert count > 10


@pytest.mark.parametrize("work", ["vector_add:vector_add", "fences:add_sums", "tma_round_trip:double"])
def test_examples_have_the_verdict_of_the_literal_machine(work: str) -> None:
    of = Work(*work.split(":"))
    proc = program(of)
    given = {a.name: sizes(of)[a.name] for a in proc.arguments if a.name in sizes(of)}
    assert compare(proc, given) == []


# Places -----------------------------------------------------------------------------------------------------------


two_launches = proc_from_text("""
@proc
def two_launches(x: f32[8] @ CudaGmemLinear):
    for i in seq(0, 3):
        if i > 0:
            with CudaDeviceFunction(blockDim=32):
                for row in cuda_tasks(0, 2):
                    for column in cuda_tasks(0, 2):
                        for t in cuda_threads(0, 2, unit=cuda_thread):
                            x[i + row] = 1.0
""")


def test_launches_and_tasks_have_their_numbers() -> None:
    assert compare(two_launches, {}) == []
    first = check(two_launches, {}).findings[0]
    assert {t.task for t in first.later.threads} == {(0, 0, 0)}
    assert first.later.place.iteration == (("i", 1), ("row", 0), ("column", 0), ("t", 1))


two_forks = proc_from_text("""
@proc
def two_forks(x: f32[8]):
    for i in seq(0, 2):
        for k in par(0, 2):
            x[i] = 1.0
        for k in par(0, 2):
            x[4 + i] = 1.0
""")


def test_par_loops_have_their_numbers() -> None:
    assert compare(two_forks, {}) == []
    tasks = [{t.task for t in f.later.threads} for f in check(two_forks, {}).findings]
    assert tasks == [{("par", 0, 1)}, {("par", 1, 1)}]


# Queues -----------------------------------------------------------------------------------------------------------


lagging = proc_from_text("""
@proc
def lagging(at: index, x: f32[1] @ CudaGmemLinear):
    with CudaDeviceFunction(blockDim=96):
        for task in cuda_tasks(0, 1):
            s: f32[1] @ CudaSmemLinear
            unused: barrier @ CudaMbarrier
            bar: barrier @ CudaMbarrier
            for k in seq(0, 40):
                with CudaWarps(1, 2):
                    for t in cuda_threads(0, 1, unit=cuda_thread):
                        if k == 0:
                            Await(bar, cuda_in_order, ~2)
                        Await(bar, cuda_in_order, ~2)
                with CudaWarps(0, 1):
                    for t in cuda_threads(0, 1, unit=cuda_thread):
                        if k == 30:
                            s[0] = 1.0
                        Arrive(cuda_in_order, 1) >> bar
                with CudaWarps(2, 3):
                    for t in cuda_threads(0, 1, unit=cuda_thread):
                        if k == at:
                            x[0] = s[0]
            with CudaWarps(0, 1):
                for t in cuda_threads(0, 1, unit=cuda_thread):
                    Arrive(cuda_in_order, 1) >> bar
            Fence(cuda_in_order, cuda_in_order)
""")
"""The awaits are ahead of the arrives, after more of both than the second pass looks back at."""


@pytest.mark.parametrize("skips", [True, False])
def test_awaits_before_a_trace_keep_their_lead(skips: bool) -> None:
    known = set()
    for at in (30, 31, 32, 33):
        literal = judge(tuple(unfold(lagging, {"at": at})))
        assert differences(check(lagging, {"at": at}, skips=skips), literal) == []
        known |= {finding.sync_set for finding in literal.findings if finding.earlier is not None}
    assert len(known) == 2  # before the await that waits for the write, and after it


# Refusals ---------------------------------------------------------------------------------------------------------


shifted = proc_from_text("""
@proc
def shifted(n: size, x: f32[n]):
    for i in seq(0, n):
        part = x[1:n]
        if i > 1:
            for k in seq(0, 2):
                part[i + k] = 1.0
""")


halves = proc_from_text("""
@proc
def halves(n: size, x: f32[n]):
    assert n % 2 == 0
    x[n - 1] = 1.0
""")


calling = proc_from_text(
    """
@proc
def calling(n: size, x: f32[n]):
    for i in seq(1, n):
        halves(i + i % 3, x[0 : i + i % 3])
""",
    {"halves": halves},
)


smaller = proc_from_text("""
@proc
def smaller(n: size):
    for i in seq(0, n):
        s: f32[2 - i]
        s[0] = 1.0
""")


window = proc_from_text("""
@proc
def window(n: size, x: f32[n]):
    for i in seq(0, n):
        part = x[i : i + 3]
        part[0] = 1.0
""")


@pytest.mark.parametrize(
    ("proc", "number"), [(shifted, 5), (calling, 6), (smaller, 4), (window, 7), (shifted, 1), (halves, 3)]
)
def test_refusals_are_those_of_the_law(proc: Any, number: int) -> None:
    fast, literal = verdicts(proc, {"n": number})
    assert differences(fast, literal) == []
    assert isinstance(literal, SoundlineError) == (number != 1)


guarded = proc_from_text("""
@proc
def guarded(n: size, x: f32[n]):
    for i in seq(0, 3):
        s: f32[4]
        s[0] = 1.0
        if i % 3 == 0:
            part = x[2 * i : 3 * i + 1]
            part[0] = 1.0
            s[i] = 1.0
""")


@pytest.mark.parametrize("number", [0, 1, 2])
def test_a_loop_that_is_written_out_asks_nothing_that_its_iterations_do_not(number: int) -> None:
    fast, literal = verdicts(guarded, {"n": number})
    assert differences(fast, literal) == []
    assert isinstance(literal, Verdict) == (number > 0)


stuck = proc_from_text("""
@proc
def stuck(n: size, x: f32[n] @ CudaGmemLinear):
    with CudaDeviceFunction(blockDim=32):
        for task in cuda_tasks(0, 1):
            bar: barrier @ CudaMbarrier
            Await(bar, cuda_in_order, ~0)
            Arrive(cuda_in_order, 1) >> bar
    for i in seq(0, 4):
        with CudaDeviceFunction(blockDim=32):
            for task in cuda_tasks(0, 1):
                for t in cuda_threads(0, 1, unit=cuda_thread):
                    x[i] = 1.0
""")


def test_a_refusal_behind_an_await_that_never_returns_counts() -> None:
    assert compare(stuck, {"n": 4}) == []
    assert [f.id for f in check(stuck, {"n": 4}).findings] == ["mach-await-progress"]
    fast, literal = verdicts(stuck, {"n": 3})
    assert differences(fast, literal) == []
    assert isinstance(fast, SoundlineError)
    assert fast.rule == "seq-bounds"


# Limits -----------------------------------------------------------------------------------------------------------


def test_what_has_no_place_is_refused_before_it_runs() -> None:
    with pytest.raises(OutOfMemoryError, match=r"x, of 8 elements"):
        check(two_forks, {}, budget=8)


long = proc_from_text("""
@proc
def long(n: size, x: f32[n]):
    for i in seq(0, 10000 * n):
        x[i // 10000] = 1.0
        x[n - 1 - i // 10000] = 1.0
""")


def test_what_progress_raises_ends_the_check() -> None:
    class Enough(Exception):
        pass

    def progress(events: int, fraction: float) -> None:
        assert 0 <= fraction <= 1
        raise Enough(events)

    with pytest.raises(Enough):
        Engine(plan_of(long, {"n": 1_000_000}), progress=progress).run()


def test_differences_are_seen() -> None:
    verdict = check(two_forks, {})
    first = verdict.findings[0]
    changed = [
        replace(verdict, events=1),
        replace(verdict, findings=verdict.findings[1:]),
        replace(verdict, findings=(replace(first, count=9), *verdict.findings[1:])),
        replace(verdict, findings=verdict.findings[::-1]),
    ]
    assert all(differences(other, verdict) for other in changed)


CLUSTER = """
def f(y: i32[8] @ CudaGmemLinear):
    with CudaDeviceFunction(blockDim=32, clusterDim=2):
        for task in cuda_tasks(0, 1):
            s: i32[2, 2] @ CudaSmemLinear
            for c in cuda_threads(0, 1, unit=cuda_cta_in_cluster):
                for t in cuda_threads(0, 1, unit=cuda_thread):
                    y[2 * c + t] = s[c, 1 - t]
            Fence(cuda_in_order, wgmma_async_smem)
"""
"""What mends it becomes ``barrier.cluster``: the second pass knows of the launch, which was before it begins."""


def test_the_second_pass_knows_the_sizes_of_the_device_function() -> None:
    proc = proc_from_text(CLUSTER, {})
    assert compare(proc, {}) == []
    assert any("barrier.cluster" in f.fix.text for f in verdicts(proc, {})[0].findings if f.fix is not None)
