"""
Storage of tensors
==================

What the buffers of lazy tensors hold. A buffer is a node; its contents are kept beside it for as long as the node is
alive, and are never changed.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any
from weakref import WeakKeyDictionary, WeakSet

import numpy as np
import numpy.typing as npt

from soundline.impl.analysis import checks as _construction  # noqa: F401  # what it checks is remembered
from soundline.spec.dtypes import DType, from_numpy, index
from soundline.spec.errors import WrongType
from soundline.spec.ops.node import Device
from soundline.spec.uop import Op, UOp, buffer, reshape

_PARTS: WeakKeyDictionary[UOp, tuple[UOp, ...]] = WeakKeyDictionary()
"""The storage of a buffer on several devices: a buffer on each."""
_SHARED: WeakKeyDictionary[UOp, UOp] = WeakKeyDictionary()
"""The values that buffers on several devices store, and those buffers."""
_REPLICATED: WeakSet[UOp] = WeakSet()
"""The buffers on several devices whose parts are equal."""
_CONTENTS: WeakKeyDictionary[UOp, npt.NDArray[Any]] = WeakKeyDictionary()
_SLOTS = itertools.count()


def dtype_of(array: npt.NDArray[Any]) -> DType:
    """The dtype of an array's elements; raises `UsageError` where soundline has none."""
    try:
        found = from_numpy(array.dtype.newbyteorder("="))
    except KeyError:
        found = index
    if found is index:  # which numpy holds as objects
        raise WrongType(
            f"numpy's dtype {array.dtype} is not supported",
            hint="cast the array to bool, an integer, a float, or a dtype of ml_dtypes",
        )
    return found


def placeholder(dtype: DType, shape: tuple[int, ...]) -> tuple[UOp, UOp]:
    """A fresh buffer without contents, and the value of that shape that it stores."""
    storage = buffer(next(_SLOTS), math.prod(shape), dtype)
    value = Op.Load(storage)  # a value, and not a place that views could reinterpret
    return storage, value if shape == storage.shape else reshape(value, shape)


def placeholder_on(device: Device, axis: int | None, dtype: DType, shape: tuple[int, ...]) -> tuple[UOp, UOp]:
    """Fresh storage on one device, or on each of several, and the value that it stores: along `axis` in parts, or where
    that is None as replicas.
    """
    if not isinstance(device, tuple):
        storage = buffer(next(_SLOTS), math.prod(shape), dtype, device or "CPU")
        value = Op.Load(storage)
        return storage, value if shape == storage.shape else reshape(value, shape)
    n = len(device)
    own = tuple(s // n if k == axis else s for k, s in enumerate(shape))
    storage = buffer(next(_SLOTS), math.prod(own), dtype, device)
    _PARTS[storage] = tuple(buffer(next(_SLOTS), math.prod(own), dtype, name) for name in device)
    rows = reshape(Op.Load(storage), (n, *own))
    if axis is None:
        _REPLICATED.add(storage)
        value = reshape(Op.Replicated(rows, arg=(0,)), shape)
    else:
        order = (*range(1, axis + 1), 0, *range(axis + 1, len(shape) + 1))
        value = reshape(Op.Permute(rows, arg=order), shape)
    _SHARED[value] = storage
    return storage, value


def fresh_buffer(size: int, dtype: DType, device: Device, contents: npt.NDArray[Any] | None) -> UOp:
    """A fresh buffer of one device, which holds these elements if they are given."""
    storage = buffer(next(_SLOTS), size, dtype, device)
    if contents is not None:
        _CONTENTS[storage] = contents.reshape(-1)
    return storage


def keep_on(
    device: Device, axis: int | None, shape: tuple[int, ...], arrays: Sequence[npt.NDArray[Any]]
) -> UOp:
    """A value that holds one array on each device; they must not change any more."""
    storage, value = placeholder_on(device, axis, dtype_of(arrays[0]), shape)
    for part, array in zip(parts_of(storage), arrays, strict=True):
        _CONTENTS[part] = array.reshape(-1)
    return value


def parts_of(storage: UOp) -> tuple[UOp, ...]:
    """The buffers of one device each that a buffer consists of."""
    return _PARTS.get(storage, (storage,))


def is_replicated(node: UOp) -> bool:
    """Whether a value has for each device the same row: what a buffer stores whose replicas are equal."""
    base = node.src[0] if node.op is Op.Reshape else node
    return (base.src[0] if base.op is Op.Load else base) in _REPLICATED


def keep(array: npt.NDArray[Any]) -> UOp:
    """A value that holds an array; the array must not change any more."""
    storage, value = placeholder(dtype_of(array), array.shape)
    _CONTENTS[storage] = array.reshape(-1)
    return value


def buffer_of(value: UOp) -> UOp | None:
    """The buffer with contents that a value is read from unchanged; None for any other value."""
    if value in _SHARED:
        return _SHARED[value] if holds(_SHARED[value]) else None
    load = value.src[0] if value.op is Op.Reshape else value
    storage = load.src[0] if load.op is Op.Load else None
    return storage if storage in _CONTENTS else None


def contents(storage: UOp) -> npt.NDArray[Any]:
    """What a buffer holds, flat; of a buffer on several devices the contents of all, one after the other."""
    if storage in _PARTS:
        return np.concatenate([_CONTENTS[p] for p in _PARTS[storage]])
    return _CONTENTS[storage]


def whole(value: UOp, storage: UOp) -> npt.NDArray[Any]:
    """The array that a stored value is, its parts joined."""
    assert value.shape is not None
    shape = tuple(s for s in value.shape if isinstance(s, int))
    if value.axis is None or len(parts_of(storage)) == 1:
        return contents(parts_of(storage)[0]).reshape(shape)
    own = tuple(s // len(parts_of(storage)) if k == value.axis else s for k, s in enumerate(shape))
    return np.concatenate([contents(p).reshape(own) for p in parts_of(storage)], axis=value.axis)


def holds(storage: UOp) -> bool:
    """Whether a buffer has contents."""
    return all(p in _CONTENTS for p in parts_of(storage))
