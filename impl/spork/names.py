"""
Standard names
==============

What a program may name without an import: the timelines, units, memories and barrier types of the guide. A name of the
surrounding Python goes before them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from soundline.spec.program_types import CudaWarpConfig, named

NAMES: Mapping[str, Any] = {
    **named(
        "timeline",
        "cpu_in_order cuda_in_order cuda_temporal Sm80_cp_async Sm80_generic tma_to_smem_async tma_to_gmem_async "
        "wgmma_async_smem wgmma_fence_1 wgmma_fence_2 wgmma_async cuda_async_proxy cuda_async_proxy_wgmma "
        "cuda_generic_and_async_proxy empty",
    ),
    **named("unit", "cuda_thread cuda_quadpair cuda_warp cuda_warpgroup cuda_cta_in_cluster cuda_cluster"),
    **named(
        "memory",
        "DRAM CudaGridConstant CudaGmemLinear CudaSmemLinear CudaRmem Sm80_RmemMatrixA Sm80_RmemMatrixB "
        "Sm80_RmemMatrixD Sm90_SmemSwizzled Sm90_RmemMatrixA Sm90_RmemMatrixD Sm90_tensorMap",
    ),
    **named("barrier", "CudaCommitGroup CudaMbarrier CudaEvent"),
    "CudaWarpConfig": CudaWarpConfig,
}
"""The standard names."""
