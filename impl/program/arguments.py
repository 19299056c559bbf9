"""
Arguments and results
=====================

What a program is called with, held to the signatures that it was compiled for; and what a traced function returned.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from soundline.impl.arrays import storage
from soundline.impl.arrays.operands import array_of
from soundline.impl.executables.pytrees import Tree, flattened
from soundline.impl.executables.signatures import Signature
from soundline.impl.tensors.tensor import Tensor
from soundline.spec.errors import UsageError, WrongType

Arrays = npt.NDArray[Any]


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


def results_of(result: Any) -> tuple[list[Tensor], Tree]:
    """The Tensors that a function returned, and their structure; raises `UsageError` where there is anything else."""
    leaves, tree = flattened(result)
    if not leaves or not all(isinstance(leaf, Tensor) for leaf in leaves):
        wrong = next((leaf for leaf in leaves if not isinstance(leaf, Tensor)), result)
        inside = "" if wrong is result else f" of {type(wrong).__name__}"
        raise WrongType(f"the function must return Tensors, not {type(result).__name__}{inside}")
    return leaves, tree
