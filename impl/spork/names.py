"""
Standard names
==============

What a program may name without an import: the timelines, units, memories, barrier types and instructions of the law. A
name of the surrounding Python goes before them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from soundline.spec import collective_units, instructions, memories
from soundline.spec.barriers import BarrierType
from soundline.spec.program_types import CudaWarpConfig
from soundline.spec.timelines import SYNC_TLS

NAMES: Mapping[str, Any] = {
    **SYNC_TLS,
    **collective_units.STANDARD,
    "cuda_cta_in_cluster_strided": collective_units.cuda_cta_in_cluster_strided,
    "cuda_threads_strided": collective_units.cuda_threads_strided,
    **memories.STANDARD,
    **{kind.name: kind for kind in BarrierType},
    **instructions.STANDARD,
    "CudaWarpConfig": CudaWarpConfig,
}
"""The standard names."""
