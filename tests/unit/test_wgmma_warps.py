"""wgmma is waited for by each warp alone (S-15): the machine, the parallel reading, and what is said of a hazard."""

from __future__ import annotations

import pytest

from soundline.impl.spork import proc_from_text
from soundline.spec.abstract_machine import judge
from soundline.spec.spork.library.memories import Sm90_RmemMatrixA, Sm90_RmemMatrixD
from soundline.spec.spork.machine.events import Action, Event
from soundline.spec.spork.readings.parallel import outcomes
from soundline.spec.spork.synchronization.barriers import BarrierType, waits_apart
from soundline.verify.findings.spork import OVERWRITTEN

from .parallel_programs import TINY, program

FENCE = "Fence(cuda_in_order, cuda_in_order)"
PRODUCT = """
def f(A: f32[64, 8] @ CudaGmemLinear, B: f32[8, 8] @ CudaGmemLinear, C: f32[64, 8] @ CudaGmemLinear):
    with CudaDeviceFunction(blockDim=128):
        for task in cuda_tasks(0, 1):
            a: f32[64, 8] @ Sm90_SmemSwizzled(32)
            b: f32[8, 8] @ Sm90_SmemSwizzled(32)
            d: f32[1, 64, 8] @ Sm90_RmemMatrixD
            for t in cuda_threads(0, 64, unit=cuda_thread):
                for k in seq(0, 8):
                    a[t, k] = A[t, k]
            for t in cuda_threads(0, 8, unit=cuda_thread):
                for k in seq(0, 8):
                    b[t, k] = B[t, k]
            Fence(cuda_in_order, cuda_generic_and_async_proxy)
            for w in cuda_threads(0, 1, unit=cuda_warpgroup):
                group: barrier @ CudaCommitGroup
                with CudaAsync(wgmma_async):
                    Fence(wgmma_fence_1, wgmma_fence_2)
                    Sm90_zero_scale_d_f32(d[w, :, :], N=8)
                    Sm90_mma_async_tf32(d[w, :, :], a[:, :], b[:, :], N=8)
                    Arrive(wgmma_async, 1) >> group
                Await(group, cuda_in_order, 0)
            {met}
            with CudaWarps({warp}, {warp} + 1):
                for e in cuda_threads(0, 1, unit=cuda_thread):
                    {what}[{row}, 0] = 1.0
            for w in cuda_threads(0, 1, unit=cuda_warpgroup):
                Sm90_mma_write_d_row_major_f32(C[:, :], d[w, :, :], N=8)
            Fence(cuda_in_order, cuda_in_order)
"""


def product(*, met: str = "pass", warp: int, what: str, row: int) -> tuple[Event, ...]:
    text = PRODUCT.format(met=met, warp=warp, what=what, row=row).replace(
        f"{warp}, {warp} + 1", f"{warp}, {warp + 1}"
    )
    return tuple(proc_from_text(text).events())


@pytest.mark.parametrize("warp", [0, 3])
def test_what_all_warps_read_is_overwritten_only_when_they_have_met(warp: int) -> None:
    found = judge(product(warp=warp, what="b", row=2)).findings
    assert [f.id for f in found] == ["mach-write-war"]
    assert judge(product(met=FENCE, warp=warp, what="b", row=2)).ok


@pytest.mark.parametrize(
    ("warp", "row", "ok"), [(0, 15, True), (0, 16, False), (3, 63, True), (2, 31, False)]
)
def test_a_warp_waited_for_its_own_rows(warp: int, row: int, ok: bool) -> None:
    assert judge(product(warp=warp, what="a", row=row)).ok is ok
    assert judge(product(met=FENCE, warp=warp, what="a", row=row)).ok


def test_the_report_says_whose_wait_it_is_and_names_the_fence() -> None:
    finding = judge(product(warp=0, what="b", row=2)).findings[0]
    text = finding.text()
    assert "each warp waits for its own alone" in text
    assert finding.fix.tried
    assert "add Fence(cuda_in_order, cuda_in_order)" in finding.fix.text
    assert "after Await(group, cuda_in_order, 0)" in finding.fix.text


ROWS = """
s: i32[3] @ CudaSmemLinear
d: i32[2] @ TinyRegisters
g: barrier @ CudaCommitGroup
for t in cuda_threads(0, 3, unit=cuda_thread):
    s[t] = x[t]
Fence(cuda_in_order, cuda_generic_and_async_proxy)
{before}
with CudaAsync(wgmma_async):
    Fence(wgmma_fence_1, wgmma_fence_2)
    wg_zero_rows(d[0:2])
    wg_mma_rows(d[0:2], s[0:2], s[2:3])
    Arrive(wgmma_async, 1) >> g
Await(g, cuda_in_order, {n})
{met}
with CudaWarps({warp}, {warp1}):
    for e in cuda_threads(0, 1, unit=cuda_thread):
        s[{element}] = x[7]
Await(g, cuda_in_order, 0)
wg_read_rows(y[0:2], d[0:2])
Fence(cuda_in_order, cuda_in_order)
"""

STORED = """with CudaWarps({0}, {1}):
    for e in cuda_threads(0, 1, unit=cuda_thread):
        s[{2}] = x[5]
    Fence(cuda_in_order, cuda_generic_and_async_proxy)"""
"""A warp stores, and only it meets and makes a proxy fence."""


def rows(
    *, warp: int, element: int, met: str = "pass", n: int = 0, before: str = "pass"
) -> tuple[Event, ...]:
    body = ROWS.format(warp=warp, warp1=warp + 1, element=element, met=met, n=n, before=before)
    return program(body, arguments=TINY, shape="blockDim=128")


@pytest.mark.parametrize(
    ("warp", "element", "met", "n", "right"),
    [
        (0, 0, "pass", 0, True),
        (1, 1, "pass", 0, True),
        (0, 1, "pass", 0, False),
        (1, 0, "pass", 0, False),
        (0, 2, "pass", 0, False),
        (1, 2, "pass", 0, False),
        (2, 2, "pass", 0, False),
        (0, 2, FENCE, 0, True),
        (3, 1, FENCE, 0, True),
        (0, 0, FENCE, 1, False),
    ],
)
def test_machine_and_threads_agree_on_what_an_await_of_wgmma_completes(
    warp: int, element: int, met: str, n: int, right: bool
) -> None:
    events = rows(warp=warp, element=element, met=met, n=n)
    assert judge(events).ok is right
    found = outcomes(events, stop=True)
    assert found.complete or found.wrong
    assert (not found.wrong) is right


@pytest.mark.parametrize(
    ("warp", "element", "right"), [(0, 0, True), (1, 1, True), (0, 1, False), (0, 2, False)]
)
def test_a_warp_prepares_its_own_rows_alone(warp: int, element: int, right: bool) -> None:
    """A warp begins a wgmma when its own threads have come: what another one stored it has to have waited for."""
    events = rows(warp=0, element=0, met=FENCE, before=STORED.format(warp, warp + 1, element))
    assert judge(events).ok is right
    assert (not outcomes(events, stop=True).wrong) is right


def test_the_end_of_a_task_of_one_warpgroup_asks_that_its_warps_met() -> None:
    """The next task writes to the shared memory that another warp's wgmma still reads."""
    text = ROWS.replace("{met}", "").format(before="pass", n=0, warp=0, warp1=1, element=0)
    ended = "\n".join(text.rstrip().splitlines()[:-1])
    events = program(ended, arguments=TINY, shape="blockDim=128")
    assert "mach-free-read" in {f.id for f in judge(events).findings}
    assert outcomes(events, stop=True).wrong


def test_the_counterexample_of_the_decision_is_wrong_in_some_interleaving() -> None:
    found = outcomes(OVERWRITTEN, stop=True)
    assert found.wrong
    assert not found.deadlocks


# Whose wait it is -------------------------------------------------------------------------------------------------


def test_each_warp_waits_apart_at_a_commit_group_and_nobody_at_an_mbarrier() -> None:
    apart = waits_apart(BarrierType.CudaCommitGroup, range(160, 288))
    assert {warp: min(who) for warp, who in apart.items()} == {5: 160, 6: 192, 7: 224, 8: 256}
    assert waits_apart(BarrierType.CudaCommitGroup, [7]) == {0: {7}}
    assert waits_apart(BarrierType.CudaMbarrier, range(64)) == {None: frozenset(range(64))}


def test_the_rows_of_a_matrix_of_wgmma_are_those_of_its_warps() -> None:
    for memory in (Sm90_RmemMatrixA, Sm90_RmemMatrixD):
        assert [memory.warp_of((2, row, 3)) for row in range(64)] == [row // 16 for row in range(64)]


def test_an_operand_is_used_by_the_warps_whose_rows_need_it() -> None:
    (mma,) = (e for e in product(warp=0, what="b", row=0) if isinstance(e, Action) and len(e.touches) > 2)
    for touch in mma.touches:
        for element in touch.elements if touch.operand in "AB" else ():
            warps = {t.number // 32 for t in touch.threads(mma.place)}
            assert warps == ({element.index[0] // 16} if touch.operand == "A" else {0, 1, 2, 3})
