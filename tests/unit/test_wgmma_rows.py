"""Accumulators of wgmma whose rows are worked on between two products, on the abstract machine."""

from __future__ import annotations

import pytest

from soundline.spec.abstract_machine import check

from .cuda_barrier_programs import program

TWO_PRODUCTS = """
a: bf16[64, 16] @ Sm90_SmemSwizzled(32)
b: bf16[{n}, 16] @ Sm90_SmemSwizzled(32)
D: f32[64, {n}] @ Sm90_RmemMatrixD
A: bf16[1, 64, 16] @ Sm90_RmemMatrixA
m: f32[64, 4] @ Sm90_RmemRows
group: barrier @ CudaCommitGroup
for i in cuda_threads(0, 64, unit=cuda_thread):
    for k in seq(0, 16):
        a[i, k] = x[i, k]
        if i < {n}:
            b[i, k] = x[i, k]
Fence(cuda_in_order, cuda_generic_and_async_proxy)
Sm90_rows_fill_f32(m[:, :], 2.0)
with CudaAsync(wgmma_async):
    Fence(wgmma_fence_1, wgmma_fence_2)
    Sm90_zero_scale_d_f32(D[:, :], N={n})
    Sm90_mma_async_bf16(D[:, :], a[:, :], b[:, :], N={n})
    Arrive(wgmma_async, 1) >> group
{wait}
{rows}
with CudaAsync(wgmma_async):
    {fence}
    {product}
    Arrive(wgmma_async, 1) >> group
Await(group, cuda_in_order, 0)
Sm90_mma_write_d_row_major_f32(y[:, :], D[:, :], N={n})
Fence(cuda_in_order, cuda_in_order)
"""
WAIT, FENCE = "Await(group, cuda_in_order, 0)", "Fence(wgmma_fence_1, wgmma_fence_2)"
FROM_SHARED = "Sm90_mma_async_bf16(D[:, :], a[:, :], b[:, :], N={n})"
FROM_REGISTERS = "Sm90_mma_async_ra_bf16(D[:, :], A[0, :, :], b[:, :], N={n})"
BETWEEN = {
    "written": (8, "Sm90_d_multiply_rows_f32(D[:, :], m[:, :], N={n})", FROM_SHARED),
    "read": (8, "Sm90_rows_max_d_f32(m[:, :], D[:, :], N={n})", FROM_SHARED),
    "rounded": (16, "Sm90_mma_a_from_d_bf16(A[:, :, :], D[:, :], N={n})", FROM_REGISTERS),
}
HAZARDS = {
    "written": {"mach-write-waw"},
    "read": {"mach-write-war"},
    "rounded": {"mach-write-war", "mach-read-raw"},
}


def hazards(name: str, *, wait: str = WAIT, fence: str = FENCE) -> set[str]:
    """What the machine finds in two products with work on rows between them."""
    n, rows, product = BETWEEN[name]
    text = TWO_PRODUCTS.format(rows=rows, product=product, fence=fence, wait=wait, n=n).replace("{n}", str(n))
    proc = program(
        text,
        arguments=f"x: bf16[64, 16] @ CudaGmemLinear, y: f32[64, {n}] @ CudaGmemLinear",
        device="blockDim=128",
    )
    return {finding.id for finding in check(proc, {}).findings}


@pytest.mark.parametrize("name", BETWEEN)
def test_work_on_rows_between_two_products_asks_for_the_wgmma_fence(name: str) -> None:
    assert hazards(name) == set()
    assert hazards(name, fence="pass") == HAZARDS[name]


def test_rows_are_those_of_a_product_that_has_been_awaited() -> None:
    assert "mach-read-raw" in hazards("read", wait=WAIT.replace(", 0)", ", 1)"))
