"""
Signatures
==========

The dtypes and shapes of what goes into a program and comes out of it, and arguments that are held to them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from soundline.impl.arrays import storage
from soundline.impl.arrays.operands import array_of, sizes_of
from soundline.impl.arrays.promotion import check_dtype
from soundline.impl.tensors.tensor import Tensor
from soundline.spec.dtypes import DType, to_numpy
from soundline.spec.errors import UsageError

Arrays = npt.NDArray[Any]


@dataclass(frozen=True, slots=True)
class Signature:
    """The dtype and shape of a value that goes in or comes out."""

    dtype: DType
    shape: tuple[int, ...]
    device: str | tuple[str, ...] = "CPU"
    axis: int | None = None
    """The shard axis, where there are several devices; None for replicas."""
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


def signature_of(example: Any, label: str) -> Signature:
    """The signature of an example: a Tensor, a Signature, or what can be made an array."""
    if isinstance(example, Tensor):
        return Signature(example.dtype, example.shape, example.device, example.axis)
    if isinstance(example, Signature):
        return example
    try:
        array = array_of(example)
        return Signature(storage.dtype_of(array), array.shape)
    except UsageError as error:
        raise UsageError(f"{label}: {error.message}", hint=error.hint) from None


def parts_of(argument: Any, wanted: Signature, label: str) -> list[Arrays]:
    """An argument as the arrays of its devices, if it is what is wanted, and where it is wanted."""
    given = argument.device if isinstance(argument, Tensor) else "CPU"
    axis = argument.axis if isinstance(argument, Tensor) else None
    if given != wanted.device or axis != wanted.axis:
        where = given if isinstance(given, str) else f"{'+'.join(given)} along axis {axis}"
        raise UsageError(
            f"{label} is on {where}; the program was compiled for {wanted}",
            hint="move it (Tensor.to, Tensor.shard), or compile for where it is",
        )
    if not isinstance(wanted.device, tuple):
        return [checked(argument, wanted, label)]
    if (argument.dtype, argument.shape) != (wanted.dtype, wanted.shape):
        given_here = Signature(argument.dtype, argument.shape, given, axis)
        raise UsageError(f"{label} is {given_here}; the program was compiled for {wanted}")
    return list(argument.shards)


def checked(argument: Any, wanted: Signature, label: str) -> Arrays:
    """An argument as an aligned C-contiguous array, if it has the dtype and shape that are wanted."""
    try:
        array = np.asarray(argument) if isinstance(argument, Tensor) else array_of(argument)
    except UsageError as error:
        raise UsageError(f"{label}: {error.message}", hint=error.hint) from None
    if array.dtype != wanted.storage and array.dtype.newbyteorder("=") != wanted.storage:
        raise UsageError(
            f"{label} has dtype {array.dtype}; the program was compiled for {wanted}",
            hint="cast it, or compile for this dtype",
        )
    if array.shape != wanted.shape:
        raise UsageError(
            f"{label} has shape {array.shape}; the program was compiled for {wanted}",
            hint="compile for this shape",
        )
    flags = array.flags
    if flags.c_contiguous and flags.aligned and array.dtype.isnative:
        return array
    return np.require(array, wanted.storage, ("C", "A"))
