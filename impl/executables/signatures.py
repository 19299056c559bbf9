"""
Signatures
==========

The dtypes and shapes of what goes into a program and comes out of it, and where it lies.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from soundline.impl.arrays.operands import sizes_of
from soundline.impl.arrays.promotion import check_dtype
from soundline.spec.dtypes import DType, to_numpy


@dataclass(frozen=True, slots=True)
class Signature:
    """The dtype and shape of an argument or result."""

    dtype: DType
    shape: tuple[int, ...]
    device: str | tuple[str, ...] = "CPU"
    axis: int | None = None
    """The shard axis of a value on several devices; None for replicas."""
    size: int = field(init=False, repr=False)
    storage: np.dtype[Any] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "dtype", check_dtype(self.dtype))
        object.__setattr__(self, "shape", sizes_of((self.shape,)))
        object.__setattr__(self, "size", math.prod(self.shape))
        object.__setattr__(self, "storage", to_numpy(self.dtype))

    def __str__(self) -> str:
        text = f"{self.dtype}[{', '.join(map(str, self.shape))}]"
        if self.device == "CPU":
            return text
        where = self.device if isinstance(self.device, str) else "+".join(self.device)
        return f"{text} on {where}" + (f" along axis {self.axis}" if self.axis is not None else "")

    @property
    def own_shape(self) -> tuple[int, ...]:
        """The shape of what each device holds."""
        n = len(self.device) if isinstance(self.device, tuple) else 1
        return tuple(s // n if k == self.axis else s for k, s in enumerate(self.shape))

    @property
    def arrays(self) -> list[tuple[np.dtype[Any], tuple[int, ...]]]:
        """The dtypes and shapes of the arrays that make up the value: one for each device."""
        n = len(self.device) if isinstance(self.device, tuple) else 1
        return [(self.storage, self.own_shape)] * n
