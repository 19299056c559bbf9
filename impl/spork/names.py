"""
Standard names
==============

What a program may name without an import: the timelines, units, memories and barrier types of the guide. A name of the
surrounding Python goes before them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from soundline.spec.barriers import BarrierType
from soundline.spec.collective_units import STANDARD
from soundline.spec.program_types import CudaWarpConfig, named
from soundline.spec.timelines import SYNC_TLS

NAMES: Mapping[str, Any] = {
    **SYNC_TLS,
    **STANDARD,
    **named(
        "memory",
        "DRAM CudaGridConstant CudaGmemLinear CudaSmemLinear CudaRmem Sm80_RmemMatrixA Sm80_RmemMatrixB "
        "Sm80_RmemMatrixD Sm90_SmemSwizzled Sm90_RmemMatrixA Sm90_RmemMatrixD Sm90_tensorMap",
    ),
    **{kind.name: kind for kind in BarrierType},
    "CudaWarpConfig": CudaWarpConfig,
}
"""The standard names."""
