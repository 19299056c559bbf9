"""
Storage of tensors
==================

What the buffers of lazy tensors hold. A buffer is a node; its contents are kept beside it for as long as the node is
alive, and are never changed.
"""

from __future__ import annotations

import itertools
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from soundline.spec.dtypes import DType, from_numpy, index
from soundline.spec.errors import UsageError
from soundline.spec.uop import UOp, buffer, reshape

_CONTENTS: WeakKeyDictionary[UOp, npt.NDArray[Any]] = WeakKeyDictionary()
_SLOTS = itertools.count()


def dtype_of(array: npt.NDArray[Any]) -> DType:
    """The dtype of an array's elements; raises `UsageError` where soundline has none."""
    try:
        found = from_numpy(array.dtype.newbyteorder("="))
    except KeyError:
        found = index
    if found is index:  # which numpy holds as objects
        raise UsageError(
            f"numpy's dtype {array.dtype} has no counterpart",
            hint="cast the array to bool, an integer, a float, or a dtype of ml_dtypes",
        )
    return found


def placeholder(dtype: DType, shape: tuple[int, ...]) -> tuple[UOp, UOp]:
    """A fresh buffer without contents, and the value of that shape that it stores."""
    storage = buffer(next(_SLOTS), int(np.prod(shape, dtype=np.int64)), dtype)
    return storage, storage if shape == storage.shape else reshape(storage, shape)


def keep(array: npt.NDArray[Any]) -> UOp:
    """A value that holds an array; the array must not change any more."""
    storage, value = placeholder(dtype_of(array), array.shape)
    _CONTENTS[storage] = array.reshape(-1)
    return value


def contents(storage: UOp) -> npt.NDArray[Any]:
    """What a buffer holds, flat."""
    return _CONTENTS[storage]


def holds(storage: UOp) -> bool:
    """Whether a buffer has contents."""
    return storage in _CONTENTS
