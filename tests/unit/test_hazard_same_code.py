"""A hazard that other timelines remove while the CUDA stays the same is reported as that, first (S-16)."""

from __future__ import annotations

import pytest

from soundline.impl.spork import Proc
from soundline.spec.abstract_machine import check, judge

from .machine_programs import device
from .parallel_programs import TINY, program

ARGUMENTS = "x: f32[64] @ CudaGmemLinear, y: f32[64] @ CudaGmemLinear"


def refilled(second: str, *, first: str = "Sm80_generic") -> Proc:
    """A double buffer that is filled by cp.async, with one fence in each round."""
    return device(
        f"""
        s: f32[2, 8] @ CudaSmemLinear
        for k in seq(0, 4):
            if k < 3:
                for t in cuda_threads(0, 8, unit=cuda_thread):
                    with CudaAsync(Sm80_cp_async):
                        Sm80_cp_async_f32(s[k % 2, t : t + 1], x[8 * k + t : 8 * k + t + 1], size=1)
            if k > 0:
                for t in cuda_threads(0, 8, unit=cuda_thread):
                    y[8 * k - 8 + t] = s[(k - 1) % 2, 7 - t]
            Fence({first}, {second})
        """,
        arguments=ARGUMENTS,
    )


def grouped(second: str) -> Proc:
    """Copies in groups of each thread; all but the last group are waited for, and a fence hands the slot on."""
    return device(
        f"""
        s: f32[2, 8] @ CudaSmemLinear
        g: barrier[8] @ CudaCommitGroup
        for k in seq(0, 4):
            for t in cuda_threads(0, 8, unit=cuda_thread):
                with CudaAsync(Sm80_cp_async):
                    Sm80_cp_async_f32(s[k % 2, t : t + 1], x[8 * k + t : 8 * k + t + 1], size=1)
                Arrive(Sm80_cp_async, 1) >> g[t]
                Await(g[t], cuda_in_order, 1)
            if k > 0:
                Fence(cuda_in_order, cuda_in_order)
                for t in cuda_threads(0, 8, unit=cuda_thread):
                    y[8 * k - 8 + t] = s[(k - 1) % 2, 7 - t]
            Fence(cuda_in_order, {second})
        for t in cuda_threads(0, 8, unit=cuda_thread):
            Await(g[t], cuda_in_order, 0)
        Fence(cuda_in_order, cuda_in_order)
        """,
        arguments=ARGUMENTS,
    )


def handed(second: str) -> Proc:
    """A thread fills by cp.async what another one wrote and told it of by an mbarrier."""
    return device(
        f"""
        s: f32[8] @ CudaSmemLinear
        bar: barrier @ CudaMbarrier
        with CudaWarps(0, 1):
            for t in cuda_threads(0, 1, unit=cuda_thread):
                s[0] = 1.0
                Arrive(cuda_in_order, 1) >> bar
        with CudaWarps(1, 2):
            for t in cuda_threads(0, 1, unit=cuda_thread):
                Await(bar, {second}, ~0)
                with CudaAsync(Sm80_cp_async):
                    Sm80_cp_async_f32(s[0:1], x[0:1], size=1)
        Fence(Sm80_cp_async, cuda_in_order)
        """,
        arguments=ARGUMENTS,
    )


def alone(second: str) -> Proc:
    """One thread writes, and fills the same by cp.async; its fence becomes nothing at all."""
    return device(
        f"""
        s: f32[8] @ CudaSmemLinear
        for t in cuda_threads(0, 1, unit=cuda_thread):
            s[0] = 1.0
            Fence(cuda_in_order, {second})
            with CudaAsync(Sm80_cp_async):
                Sm80_cp_async_f32(s[0:1], x[0:1], size=1)
        Fence(Sm80_cp_async, cuda_in_order)
        """,
        arguments=ARGUMENTS,
    )


CODE = {
    refilled: "cp.async.wait_all, barrier.cta.sync",
    grouped: "barrier.cta.sync",
    handed: "mbarrier.try_wait",
    alone: "nothing",
}


@pytest.mark.parametrize("kernel", CODE, ids=lambda p: p.__name__)
def test_a_wider_timeline_with_the_same_code_is_what_is_said(kernel) -> None:
    findings = check(kernel("cuda_in_order"), {}).findings
    assert [f.id for f in findings] == ["mach-write-waw"]
    fix = findings[0].fix
    assert fix is not None
    assert fix.tried
    said = f"widen the second timeline from cuda_in_order to Sm80_generic; the CUDA stays the same: {CODE[kernel]}"
    assert fix.text.endswith(said)
    assert fix.text.startswith("in Await(" if kernel is handed else "in Fence(")
    assert check(kernel("Sm80_generic"), {}).ok


def test_a_first_timeline_that_waits_for_nothing_becomes_one_that_does() -> None:
    findings = check(refilled("Sm80_generic", first="cuda_temporal"), {}).findings
    copied = [f.fix for f in findings if f.id == "mach-read-raw"]
    assert copied
    assert all(fix is not None and "stays the same" not in fix.text for fix in copied), "a copy is waited for"
    (found,) = check(
        device(
            """
            s: f32[8] @ CudaSmemLinear
            for t in cuda_threads(0, 8, unit=cuda_thread):
                s[t] = 1.0
            Fence(cuda_temporal, cuda_in_order)
            for t in cuda_threads(0, 8, unit=cuda_thread):
                y[t] = s[7 - t]
            Fence(cuda_in_order, cuda_in_order)
            """,
            arguments=ARGUMENTS,
        ),
        {},
    ).findings
    assert found.fix is not None
    assert (
        "widen the first timeline from cuda_temporal to cuda_in_order; the CUDA stays the same"
        in found.fix.text
    )


STORED = """
s: i32[2] @ CudaSmemLinear
for t in cuda_threads(0, 2, unit=cuda_thread):
    s[t] = x[t]
Fence(cuda_in_order, {})
for t in cuda_threads(0, 1, unit=cuda_thread):
    g: barrier @ CudaCommitGroup
    with CudaAsync(tma_to_gmem_async):
        tma_store_2(y[0:2], s[0:2])
    Arrive(tma_to_gmem_async, 1) >> g
    Await(g, cuda_in_order, 0)
Fence(cuda_in_order, cuda_in_order)
"""


def test_what_costs_a_proxy_fence_is_not_said_to_cost_nothing() -> None:
    (found,) = judge(program(STORED.format("cuda_in_order"), arguments=TINY)).findings
    assert found.fix is not None
    assert found.fix.tried
    assert "widen the second timeline" in found.fix.text
    assert "stays the same" not in found.fix.text
    assert judge(program(STORED.format("cuda_generic_and_async_proxy"), arguments=TINY)).ok
