"""What real kernels do with barriers, and what was decided of it: each is accepted and right, its twin is not."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from textwrap import dedent, indent

import pytest

from soundline.impl.spork import Proc, proc_from_text
from soundline.spec.abstract_machine import check, judge
from soundline.spec.errors import CollectiveError, StaticError
from soundline.spec.spork.machine.events import Event, Fenced
from soundline.spec.spork.readings.parallel import outcomes
from soundline.spec.spork.threads.warps import NamedWarps

from .parallel_programs import TINY, program

FENCE = "Fence(cuda_in_order, cuda_in_order)"


def right(events: tuple[Event, ...]) -> bool:
    """Whether the machine accepts; every interleaving then has to be right, and some is wrong where it does not."""
    ok = judge(events).ok
    found = outcomes(events, stop=True)
    assert (not found.wrong) is ok
    return ok


# Who gives a slot back --------------------------------------------------------------------------------------------

RELEASED = """
s: i32[2] @ CudaSmemLinear
bar: barrier @ CudaMbarrier
for k in seq(0, 3):
    with CudaWarps(0, 1):
        for e in cuda_threads(0, 1, unit=cuda_thread):
            ReverseAwait(bar, Sm80_generic, ~2)
            with CudaAsync(Sm80_cp_async):
                cp_async_1(s[k % 2 : k % 2 + 1], x[k : k + 1])
            Arrive(Sm80_cp_async, 1) >> bar
    with CudaWarps(1, 2):
        Await(bar, cuda_in_order, ~0)
        for t in cuda_threads(0, 2, unit=cuda_thread):
            y[2 * k + t] = s[k % 2]
        {met}
        for e in cuda_threads(0, 1, unit=cuda_thread):
            ReverseArrive(cuda_in_order, 1) >> bar
Fence(cuda_in_order, cuda_in_order)
"""


def test_one_lane_gives_back_what_its_warp_awaited() -> None:
    assert right(program(RELEASED.format(met=FENCE), arguments=TINY, shape="blockDim=64"))


def test_a_lane_that_did_not_meet_its_warp_gives_back_too_early() -> None:
    events = program(RELEASED.format(met="pass"), arguments=TINY, shape="blockDim=64")
    assert not right(events)
    assert {f.id for f in judge(events).findings} == {"mach-write-war", "mach-arrive-overrun"}


PAIRS = """
s: i32[2] @ CudaSmemLinear
bar: barrier @ CudaMbarrier
for k in seq(0, 2):
    with CudaWarps(0, 1):
        for e in cuda_threads(0, 1, unit=cuda_thread):
            for j in seq(0, 2):
                ReverseAwait(bar, cuda_in_order, ~2)
                s[j] = x[2 * k + j]
                Arrive(cuda_in_order, 1) >> bar
    with CudaWarps(1, 2):
        for e in cuda_threads(0, 1, unit=cuda_thread):
            Await(bar, cuda_in_order, ~0)
            {between}
            Await(bar, cuda_in_order, ~0)
            {both}
Fence(cuda_in_order, cuda_in_order)
"""
BACK = "ReverseArrive(cuda_in_order, 1) >> bar"


@pytest.mark.parametrize(
    ("between", "both", "ok"),
    [
        ("pass", f"y[k] = s[0] * 3 + s[1]; {BACK}; {BACK}", True),
        (BACK, f"y[k] = s[0] * 3 + s[1]; {BACK}", False),
        ("y[k] = s[0]", f"{BACK}; y[4 + k] = s[1]; {BACK}", True),
        ("pass", f"{BACK}; {BACK}; y[k] = s[0] * 3 + s[1]", False),
    ],
)
def test_several_awaits_and_then_as_many_arrives(between: str, both: str, ok: bool) -> None:
    lines = both.replace("; ", "\n" + " " * 12)
    events = program(PAIRS.format(between=between, both=lines), arguments=TINY, shape="blockDim=64")
    assert right(events) is ok


# Multicast --------------------------------------------------------------------------------------------------------

CAST = """
s: i32[2, 1, 2] @ CudaSmemLinear
bar: barrier[2] @ CudaMbarrier
for k in seq(0, 2):
    for c in cuda_threads(0, 2, unit=cuda_cta_in_cluster):
        with CudaWarps(0, 1):
            ReverseAwait(bar[c], tma_to_smem_async, ~1)
            with CudaAsync(tma_to_smem_async):
                tma_load_everywhere(s[:, 0, c:c + 1], x[2 * k + c:2 * k + c + 1]) >> bar[c] >> bar[:]
                Arrive(tma_to_smem_async, 1) >> bar[c] >> bar[:]
    for c in cuda_threads(0, 2, unit=cuda_cta_in_cluster):
        with CudaWarps(1, 2):
            Await(bar[c], cuda_in_order, ~0)
            for e in cuda_threads(0, 1, unit=cuda_thread):
                y[2 * k + c] = s[c, 0, 0] * 3 + s[c, 0, 1]
            if {condition}:
                ReverseArrive(cuda_in_order, 1) >> bar[c] >> bar[:]
Fence(cuda_in_order, cuda_in_order)
"""


def test_a_multicast_release_stands_under_an_if_that_all_ctas_decide_alike() -> None:
    shape = "blockDim=64, clusterDim=2"
    assert right(program(CAST.format(condition="k >= 0"), arguments=TINY, shape=shape))
    with pytest.raises(StaticError) as caught:
        program(CAST.format(condition="k + c >= 0"), arguments=TINY, shape=shape)
    assert caught.value.rule == "bar-multicast-between"


@pytest.mark.parametrize(("met", "ok"), [(FENCE, True), ("pass", False)])
def test_one_lane_gives_a_slot_back_to_every_cta(met: str, ok: bool) -> None:
    one = "for e in cuda_threads(0, 1, unit=cuda_thread):"
    text = CAST.format(condition="k >= 0").replace(
        "            if k >= 0:", f"            {met}\n            {one}"
    )
    read = f"{one}\n                y[2 * k + c]"
    assert read in text
    two = "for e in cuda_threads(0, 2, unit=cuda_thread):\n                y[4 * e + 2 * k + c]"
    assert right(program(text.replace(read, two), arguments=TINY, shape="blockDim=64, clusterDim=2")) is ok


def test_an_arrive_that_waits_for_copies_reaches_one_cta() -> None:
    text = """
    bar: barrier[2] @ CudaMbarrier
    for c in cuda_threads(0, 2, unit=cuda_cta_in_cluster):
        Arrive({}, 1) >> bar[c]{}
    for c in cuda_threads(0, 2, unit=cuda_cta_in_cluster):
        Await(bar[c], cuda_in_order, ~0)
    Fence(cuda_in_order, cuda_in_order)
    """
    for timeline, cast, ok in (
        ("Sm80_cp_async", "", True),
        ("cuda_in_order", " >> bar[:]", True),
        ("Sm80_cp_async", " >> bar[:]", False),
    ):
        body = dedent(text).format(timeline, cast)
        if ok:
            assert judge(program(body, shape="blockDim=32, clusterDim=2")).ok
        else:
            with pytest.raises(StaticError) as caught:
                program(body, shape="blockDim=32, clusterDim=2")
            assert caught.value.rule == "bar-multicast-copies"
            assert "its own CTA" in str(caught.value)


def test_the_fence_that_ends_the_multicast_example_is_one_of_the_cluster() -> None:
    path = Path(__file__).resolve().parents[2] / "examples" / "spork" / "gemm_sm90_multicast.py"
    spec = importlib.util.spec_from_file_location("multicast", path)
    assert spec is not None
    assert spec.loader is not None
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    fences = [e for e in example.gemm.events(**example.SIZES) if isinstance(e, Fenced)]
    assert len(fences[-1].place.threads) == 2 * 256


# Whose it is ------------------------------------------------------------------------------------------------------


def kernel(body: str, arguments: str = "x: f32[16, 8] @ CudaGmemLinear", shape: str = "blockDim=64") -> Proc:
    inner = indent(dedent(body).strip("\n"), " " * 12)
    head = (
        f"def f({arguments}):\n    with CudaDeviceFunction({shape}):\n        for task in cuda_tasks(0, 1):\n"
    )
    return proc_from_text(head + inner + "\n")


ACCUMULATOR = """
d: f32[16, 8] @ Sm80_RmemMatrixD
with CudaWarps(1, 2):
    Sm80_mma_zero_d_tf32(d[:, :])
with CudaWarps({0}):
    Sm80_mma_store_d_tf32(x[:, :], d[:, :])
"""


def test_an_accumulator_is_that_of_the_warp_that_uses_it() -> None:
    assert check(kernel(ACCUMULATOR.format("1, 2")), {}).ok
    with pytest.raises(StaticError) as caught:
        check(kernel(ACCUMULATOR.format("0, 1")), {})
    assert caught.value.rule == "dist-c14"


@pytest.mark.parametrize("kind", ["CudaMbarrier", "CudaCommitGroup", "CudaEvent"])
def test_a_barrier_that_nobody_uses_is_nothing(kind: str) -> None:
    assert check(kernel(f"bar: barrier @ {kind}\n{FENCE}"), {}).ok


def test_an_arrive_that_nobody_awaits_is_a_hazard_of_the_barrier() -> None:
    group = "    bar: barrier @ CudaCommitGroup\n    Arrive(Sm80_cp_async, 1) >> bar"
    for text in (
        "bar: barrier @ CudaMbarrier\nArrive(cuda_in_order, 1) >> bar",
        f"for t in cuda_threads(0, 1, unit=cuda_thread):\n{group}",
    ):
        assert [f.id for f in check(kernel(text), {}).findings] == ["mach-barrier-unequal"]
    with pytest.raises(StaticError) as caught:
        check(kernel("bar: barrier @ CudaMbarrier\nAwait(bar, cuda_in_order, ~0)"), {})
    assert caught.value.rule == "bar-awaited"


def test_an_event_has_nothing_to_order() -> None:
    for text in (
        "def f(x: f32[4]):\n    e: barrier @ CudaEvent\n    Arrive(cpu_in_order, 1) >> e\n",
        "def f(x: f32[4]):\n    e: barrier @ CudaEvent\n    Await(e, cpu_in_order, 0)\n",
    ):
        with pytest.raises(StaticError) as caught:
            check(proc_from_text(text), {})
        assert caught.value.rule == "bar-place"
        assert "S-22" in str(caught.value)
    with pytest.raises(StaticError) as caught:
        check(kernel("e: barrier @ CudaEvent\nArrive(cuda_in_order, 1) >> e"), {})
    assert caught.value.rule == "bar-event"
    assert "S-22" in str(caught.value)


COPIED = """
def f(x: f32[4] @ CudaGmemLinear, h: f32[4], z: f32[4]):
    with CudaDeviceFunction(blockDim=32):
        for task in cuda_tasks(0, 1):
            for t in cuda_threads(0, 4, unit=cuda_thread):
                x[t] = 1.0
    cudaMemcpyAsync_dtoh_1d_f32(h[:], x[:], n=4)
    for i in seq(0, 4):
        z[i] = h[i]
"""


def test_a_copy_by_the_cpu_is_done_when_the_cpu_goes_on() -> None:
    proc = proc_from_text(COPIED)
    assert check(proc, {}).ok
    found = outcomes(proc.events())
    assert found.complete
    assert not found.wrong


# wgmma alone awaits a load ----------------------------------------------------------------------------------------

LOADED = """
s: i32[2] @ CudaSmemLinear
d: i32[1] @ TinyRegisters
bar: barrier @ CudaMbarrier
g: barrier @ CudaCommitGroup
with CudaWarps(0, 1):
    for e in cuda_threads(0, 1, unit=cuda_thread):
        with CudaAsync(tma_to_smem_async):
            tma_load_2(s[0:2], x[0:2]) >> bar
            Arrive(tma_to_smem_async, 1) >> bar
Await(bar, {}, ~0)
with CudaAsync(wgmma_async):
    Fence(wgmma_fence_1, wgmma_fence_2)
    wg_zero(d[0:1])
    wg_mma(d[0:1], s[0:1], s[1:2])
    Arrive(wgmma_async, 1) >> g
Await(g, cuda_in_order, 0)
wg_read(y[0:1], d[0:1])
Fence(cuda_in_order, cuda_in_order)
"""


def test_memory_that_only_wgmma_sees_is_freed_by_a_wider_word_at_the_await() -> None:
    (found,) = judge(
        program(LOADED.format("wgmma_async_smem"), arguments=TINY, shape="blockDim=128")
    ).findings
    assert found.id == "mach-free-write"
    assert found.fix is not None
    assert found.fix.text.startswith("in Await(bar, wgmma_async_smem, ~0)")
    wider = (
        "from wgmma_async_smem to cuda_generic_and_async_proxy; the CUDA stays the same: mbarrier.try_wait"
    )
    assert found.fix.text.endswith(wider)
    mended = program(LOADED.format("cuda_generic_and_async_proxy"), arguments=TINY, shape="blockDim=128")
    assert right(mended)


# Names of warps ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["b c", "", "1st", "a-b", "größe", "a.b", 5])
def test_a_name_of_warps_is_an_identifier(name: str) -> None:
    assert NamedWarps("b_c1", 1).name == "b_c1"
    with pytest.raises(CollectiveError) as caught:
        NamedWarps(name, 1)
    assert caught.value.rule == "coll-device-c8"


# Where an arrive and an await stand -------------------------------------------------------------------------------

RING = """
s: i32[2] @ CudaSmemLinear
bar: barrier @ CudaMbarrier
for k in seq(0, 4):
    with CudaWarps(0, 1):
        for e in cuda_threads(0, 1, unit=cuda_thread):
            {writes}
            Arrive(cuda_in_order, 1) >> bar
    with CudaWarps(1, 2):
        for e in cuda_threads(0, 1, unit=cuda_thread):
            Await(bar, cuda_in_order, ~0)
            {reads}
Fence(cuda_in_order, cuda_in_order)
"""
WAIT, FILL = "ReverseAwait(bar, cuda_in_order, ~2)", "s[k % 2] = x[k]"
BACK_EARLY, TAKE = "ReverseArrive(cuda_in_order, 1) >> bar", "y[k] = s[k % 2]"


def ring(writes: tuple[str, ...], reads: tuple[str, ...]) -> tuple[Event, ...]:
    gap = "\n" + " " * 12
    return program(
        RING.format(writes=gap.join(writes), reads=gap.join(reads)), arguments=TINY, shape="blockDim=64"
    )


def test_a_hint_moves_an_arrive_or_an_await_before_it_makes_a_pipeline_shorter() -> None:
    assert right(ring((WAIT, FILL), (TAKE, BACK_EARLY)))
    for writes, reads, said in (
        ((WAIT, FILL), (BACK_EARLY, TAKE), f"move {BACK_EARLY} (line 15) behind {TAKE} (line 16)"),
        ((FILL, WAIT), (TAKE, BACK_EARLY), f"move {WAIT} (line 10) before {FILL} (line 9)"),
    ):
        (finding,) = judge(ring(writes, reads)).findings
        assert finding.id == "mach-write-war"
        assert finding.fix is not None
        assert finding.fix.tried
        assert finding.fix.text == said
    three = ring((WAIT.replace("~2", "~3"), FILL), (TAKE, BACK_EARLY))
    found = judge(three).findings[0].fix
    assert found is not None
    assert "N is ~2 instead of ~3" in found.text


# What errors name -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("around", "said"),
    [
        (
            "with CudaWarps(1, 5):",
            "CudaWarps makes these collectives; aligned are collectives of a multiple of 128",
        ),
        (
            "for w in cuda_threads(0, 2, unit=3 * cuda_warp):",
            "the loop over w makes these collectives; aligned are",
        ),
    ],
)
def test_a_unit_that_is_missed_names_who_makes_the_collectives(around: str, said: str) -> None:
    body = f"""
    d: f32[64, 8] @ Sm90_RmemMatrixD
    {around}
        with CudaAsync(wgmma_async):
            Sm90_zero_scale_d_f32(d[:, :], N=8)
    """
    with pytest.raises(StaticError) as caught:
        check(kernel(body, shape="blockDim=256"), {})
    assert caught.value.rule == "instr-unit"
    assert said in (caught.value.hint or "")
    assert "begin at a multiple of 128: at 0 or 128" in (caught.value.hint or "")


def test_an_await_is_shown_with_its_barrier_and_its_n() -> None:
    for body, said in (
        (
            "bar: barrier @ CudaMbarrier\nArrive(cuda_in_order, 1) >> bar\nAwait(bar, cuda_in_order, 0)",
            "Await(bar, cuda",
        ),
        (
            """
for t in cuda_threads(0, 1, unit=cuda_thread):
    g: barrier @ CudaCommitGroup
    Arrive(Sm80_cp_async, 1) >> g
    Await(g, cuda_in_order, ~1)""",
            "Await(g, cuda_in_order, ~1): expected: the await of a commit group has N ≥ 0; got: N = ~1",
        ),
    ):
        with pytest.raises(StaticError) as caught:
            check(kernel(body), {})
        assert said in str(caught.value)
