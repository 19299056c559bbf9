"""
Standard names
==============

What a program may name without an import: the timelines, units, memories, barrier types and instructions of the law. A
name of the surrounding Python goes before them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from soundline.spec.spork.language.types import CudaWarpConfig
from soundline.spec.spork.library import memories, table
from soundline.spec.spork.synchronization.barriers import BarrierType
from soundline.spec.spork.synchronization.timelines import SYNC_TLS
from soundline.spec.spork.threads import units

NAMES: Mapping[str, Any] = {
    **SYNC_TLS,
    **units.STANDARD,
    "cuda_cta_in_cluster_strided": units.cuda_cta_in_cluster_strided,
    "cuda_threads_strided": units.cuda_threads_strided,
    **memories.STANDARD,
    **{kind.name: kind for kind in BarrierType},
    **table.STANDARD,
    "CudaWarpConfig": CudaWarpConfig,
}
"""The standard names."""
