"""Programs about which the fast checker and the literal machine once disagreed, as small as they go."""

from __future__ import annotations

import pytest
from trials.checker.verdicts import compared

from soundline.impl.spork.front_end import proc_from_text
from soundline.spec.spork.synchronization.visibility import Policy
from soundline.verify.findings.instructions import NAMES

TRAILING_AFTER_AN_ARRIVE = """
def f(x: i32[8] @ CudaGmemLinear):
    with CudaDeviceFunction(blockDim=64):
        for task in cuda_tasks(0, 1):
            s: i32[2] @ CudaSmemLinear
            bar0: barrier @ CudaMbarrier
            bar1: barrier @ CudaMbarrier
            with CudaWarps(0, 1):
                for e in cuda_threads(0, 1, unit=cuda_thread):
                    with CudaAsync(tma_to_smem_async):
                        Arrive(tma_to_smem_async, 1) >> bar1
            with CudaWarps(1, 2):
                for e in cuda_threads(0, 1, unit=cuda_thread):
                    Await(bar1, cuda_in_order, ~0)
            with CudaWarps(0, 1):
                for e in cuda_threads(0, 1, unit=cuda_thread):
                    with CudaAsync(tma_to_smem_async):
                        tma_load_1(s[1:2], x[3:4]) >> bar1
                        Arrive(tma_to_smem_async, 1) >> bar1
            with CudaWarps(1, 2):
                for e in cuda_threads(0, 1, unit=cuda_thread):
                    Await(bar1, cuda_in_order, ~0)
"""
"""The second await completes what came to the mbarrier before the cell's first access, too."""

ALLOCATED_AGAIN = """
def f(x: i32[8] @ CudaGmemLinear):
    with CudaDeviceFunction(blockDim=96):
        for task in cuda_tasks(0, 1):
            for again in seq(0, 2):
                s: i32[2] @ CudaSmemLinear
                a: barrier @ CudaMbarrier
                b: barrier @ CudaMbarrier
                with CudaWarps(1, 2):
                    for e in cuda_threads(0, 1, unit=cuda_thread):
                        s[1] = x[5]
                        Arrive(cuda_in_order, 1) >> b
                with CudaWarps(2, 3):
                    for e in cuda_threads(0, 1, unit=cuda_thread):
                        Await(b, cuda_in_order, ~0)
                if again + 2 < 3:
                    Fence(cuda_in_order, cuda_in_order)
"""
"""A queue goes on in another iteration, in which the hazard is."""


@pytest.mark.parametrize("text", [TRAILING_AFTER_AN_ARRIVE, ALLOCATED_AGAIN])
def test_both_machines_say_the_same(text: str) -> None:
    """The same findings, with what is skipped and without."""
    assert not compared(proc_from_text(text, NAMES), {}, Policy.temporal)[1]
