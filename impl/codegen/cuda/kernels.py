"""
Kernels
=======

What the part of the CPU knows of a kernel: what a launch says, and which arguments it fills.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


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
