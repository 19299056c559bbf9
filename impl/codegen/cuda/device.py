"""
Device functions
================

What a ``CudaDeviceFunction`` becomes: a struct of its arguments, a struct of device functions, and a kernel.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from soundline.impl.codegen.cuda.writing import Writer
from soundline.spec.spork.language.statements import CudaDeviceFunction
from soundline.spec.spork.static.windows import Path


@dataclass(frozen=True, slots=True)
class Kernel:
    """What a launch has to know of a kernel."""

    name: str
    block_dim: int
    cluster_dim: int
    blocks_per_sm: int
    shared_bytes: int
    """Dynamic shared memory."""
    args: str
    """The name of the struct of its arguments."""


@dataclass(frozen=True, slots=True)
class ArgumentOfKernel:
    """A member of the struct of arguments."""

    name: str
    """Its name in C."""
    type: str
    """Its type in C; that of an element where it is a pointer or an array."""
    spork: str
    """The name in the program that it stands for."""
    kind: Literal["size", "bool", "pointer", "stride", "constant", "map"]
    """A size or index; a condition; a pointer to global memory; a stride of a window in elements; a grid constant by
    value, an array where `count` is more than 1; a tensor map.
    """
    count: int = 1
    """Of a grid constant, how many elements it has."""
    dimension: int = 0
    """Of a stride, the dimension that it is of."""


@dataclass(frozen=True, slots=True)
class DeviceFunction:
    """The text of a device function."""

    node: CudaDeviceFunction
    path: Path
    kernel: Kernel
    arguments: tuple[ArgumentOfKernel, ...]
    header: Writer
    """The structs, for the ``.cuh``."""
    entry: Writer
    """The kernel itself, for the ``.cu``."""
