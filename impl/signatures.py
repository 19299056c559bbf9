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

from soundline.impl import storage
from soundline.impl.operands import array_of
from soundline.impl.tensor import Tensor
from soundline.spec.dtypes import DType, to_numpy
from soundline.spec.errors import UsageError

Arrays = npt.NDArray[Any]


@dataclass(frozen=True, slots=True)
class Signature:
    """The dtype and shape of a value that goes in or comes out."""

    dtype: DType
    shape: tuple[int, ...]
    size: int = field(init=False, repr=False)
    storage: np.dtype[Any] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "size", math.prod(self.shape))
        object.__setattr__(self, "storage", to_numpy(self.dtype))

    def __str__(self) -> str:
        return f"{self.dtype}[{', '.join(map(str, self.shape))}]"


def signature_of(example: Any, position: int) -> Signature:
    """The signature of an example: a Tensor, a Signature, or what can be made an array."""
    if isinstance(example, Tensor):
        return Signature(example.dtype, example.shape)
    if isinstance(example, Signature):
        return example
    try:
        array = array_of(example)
        return Signature(storage.dtype_of(array), array.shape)
    except UsageError as error:
        raise UsageError(f"example {position}: {error.message}", hint=error.hint) from None


def checked(argument: Any, wanted: Signature, position: int) -> Arrays:
    """An argument as an aligned C-contiguous array, if it has the dtype and shape that are wanted."""
    try:
        array = np.asarray(argument) if isinstance(argument, Tensor) else array_of(argument)
    except UsageError as error:
        raise UsageError(f"argument {position}: {error.message}", hint=error.hint) from None
    if array.dtype != wanted.storage and array.dtype.newbyteorder("=") != wanted.storage:
        raise UsageError(
            f"argument {position} has dtype {array.dtype}; the program was compiled for {wanted}",
            hint="cast it, or compile for this dtype",
        )
    if array.shape != wanted.shape:
        raise UsageError(
            f"argument {position} has shape {array.shape}; the program was compiled for {wanted}",
            hint="compile for this shape",
        )
    flags = array.flags
    if flags.c_contiguous and flags.aligned and array.dtype.isnative:
        return array
    return np.require(array, wanted.storage, ("C", "A"))
