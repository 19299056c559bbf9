"""
Storage of tensors
==================

What the buffers of lazy tensors hold. A buffer is a node; its contents are kept beside it for as long as the node is
alive, and are never changed.
"""

from __future__ import annotations

import itertools
import math
from typing import Any
from weakref import WeakKeyDictionary

import numpy.typing as npt

from soundline.spec.dtypes import DType, from_numpy, index
from soundline.spec.errors import UsageError
from soundline.spec.uop import Op, UOp, buffer, reshape

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
    storage = buffer(next(_SLOTS), math.prod(shape), dtype)
    value = Op.Load(storage)  # a value, and not a place that views could reinterpret
    return storage, value if shape == storage.shape else reshape(value, shape)


def keep(array: npt.NDArray[Any]) -> UOp:
    """A value that holds an array; the array must not change any more."""
    storage, value = placeholder(dtype_of(array), array.shape)
    _CONTENTS[storage] = array.reshape(-1)
    return value


def buffer_of(value: UOp) -> UOp | None:
    """The buffer with contents that a value is read from unchanged; None for any other value."""
    load = value.src[0] if value.op is Op.Reshape else value
    storage = load.src[0] if load.op is Op.Load else None
    return storage if storage in _CONTENTS else None


def contents(storage: UOp) -> npt.NDArray[Any]:
    """What a buffer holds, flat."""
    return _CONTENTS[storage]


def holds(storage: UOp) -> bool:
    """Whether a buffer has contents."""
    return storage in _CONTENTS
