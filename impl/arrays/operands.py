"""
Operands
========

What the Tensor layer is given, in the form that it works with: data as graphs, sizes and axes as checked tuples, graphs
of several shapes as graphs of one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from soundline.impl.arrays import memory, storage
from soundline.impl.arrays.promotion import default_dtype
from soundline.impl.arrays.sizes import Size, is_size, size_of
from soundline.spec.dtypes import DType, bool_, float64, index, int64, to_numpy
from soundline.spec.errors import SoundlineError, UsageError, WrongIndex, WrongType
from soundline.spec.ops.elementwise.conversion import cast
from soundline.spec.uop import Op, UOp, broadcast_to, const

Axes = int | Sequence[int] | None
"""One axis, several, or all."""


# Making tensors ---------------------------------------------------------------------------------------------------


def is_number(data: Any) -> bool:
    """Whether this is a Python number; numpy's scalars are arrays with a dtype, even those that are floats too."""
    return isinstance(data, bool | int | float) and not isinstance(data, np.generic)


def stored_or_constant(data: Any, dtype: DType | None) -> UOp:
    """Data as a graph: a constant for a number, the int64 that a symbolic size is when the program is called, a stored
    value for anything else; converted as by Cast.
    """
    if is_number(data):
        return _constant(data, dtype)
    if is_size(data):
        value = Op.Cast(data.as_uop, arg=int64)  # an index is cast to integers alone (U-02)
        return value if dtype in (None, int64) else Op.Cast(value, arg=dtype)
    array = array_of(data, exact=dtype is not None)
    own = storage.dtype_of(array)
    if array.shape == ():
        value = const(float(array) if own.is_float else array.item(), own)
    else:
        with memory.wanted(array.nbytes, f"a tensor of shape {array.shape}"):
            value = storage.keep(np.array(array, dtype=to_numpy(own), order="C", copy=True))
    return value if dtype in (None, own) else Op.Cast(value, arg=dtype)


def _constant(number: bool | int | float, dtype: DType | None) -> UOp:
    if dtype is None:
        dtype = default_dtype(number)
        if dtype is int64 and not int64.min <= number <= int64.max:
            raise UsageError(f"{number} needs more than 64 bits", hint="give a dtype, for example float64")
    source = bool_ if isinstance(number, bool) else float64 if isinstance(number, float) else index
    return const(cast(source, number, dtype), dtype)


def array_of(data: Any, *, exact: bool = False) -> npt.NDArray[Any]:
    """Data as an array. Python numbers get the default dtypes of the Tensor layer, or if `exact` 64 bits."""
    if isinstance(data, np.ndarray):
        return data
    try:
        if not hasattr(data, "__array__") and hasattr(data, "__dlpack__"):
            return np.from_dlpack(data)
        array = np.asarray(data)
    except SoundlineError:
        raise
    except (ValueError, TypeError, BufferError, RuntimeError) as error:
        raise UsageError(f"this is not a tensor in the memory of this machine: {error}") from None
    if exact or _holds_arrays(data):
        return array
    if array.dtype == np.float64:
        return array.astype(np.float32)
    if array.dtype == np.int64:
        narrow = array.astype(np.int32)
        return narrow if np.array_equal(narrow, array) else array
    return array


def _holds_arrays(data: Any) -> bool:
    """Whether anything here has a dtype of its own."""
    if isinstance(data, list | tuple):
        return any(_holds_arrays(d) for d in data)
    return hasattr(data, "__array__")


# Shapes and dtypes of operands ------------------------------------------------------------------------------------


def shape_of(uop: UOp) -> tuple[int, ...]:
    """The shape of a value of the Tensor layer: numbers, and where it is traced for several sizes, `sizes.Size`."""
    assert uop.shape is not None
    return tuple(s if isinstance(s, int) else size_of(s) for s in uop.shape)


def sizes_of(given: tuple[Any, ...]) -> tuple[int, ...]:
    """Sizes given one by one or as one sequence."""
    if len(given) == 1 and isinstance(given[0], Sequence) and not isinstance(given[0], str):
        given = tuple(given[0])
    if not all(isinstance(s, int | np.integer | Size) for s in given):
        raise WrongType(f"{given} are not all integers")
    return tuple(s if isinstance(s, Size) else int(s) for s in given)  # type: ignore[misc]


def axis_of(axis: int, rank: int) -> int:
    """An axis counted from the front; a negative one counts from the end."""
    if not isinstance(axis, int | np.integer):
        raise WrongType(f"expected an integer for axis; got {axis!r}")
    if not -rank <= axis < rank:
        raise WrongIndex(f"axis {axis} is outside a tensor of rank {rank}")
    return int(axis) % rank


def axes_of(axis: Axes, rank: int) -> tuple[int, ...]:
    """The axes that are named, each once, counted from the front."""
    if axis is None:
        return tuple(range(rank))
    found = tuple(axis_of(a, rank) for a in ((axis,) if isinstance(axis, int | np.integer) else axis))
    if len(set(found)) != len(found):
        raise UsageError(f"an axis occurs twice in {axis}")
    return found


def broadcast(*uops: UOp) -> tuple[UOp, ...]:
    """Operands in the shape to which they broadcast."""
    common = common_shape([shape_of(u) for u in uops])
    return tuple(broadcast_to(u, common) for u in uops)


def common_shape(shapes: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    """The shape to which shapes broadcast."""
    if any(is_size(s) for shape in shapes for s in shape):
        return _common_of_sizes(shapes)
    try:
        return tuple(np.broadcast_shapes(*shapes))
    except ValueError:
        raise UsageError(f"the shapes {shapes} do not broadcast") from None


def _common_of_sizes(shapes: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    """The common shape where some sizes are symbolic: each axis has one size, or 1."""
    rank = max(map(len, shapes))
    found: list[int] = []
    for axis in range(-rank, 0):
        sizes = [s[axis] for s in shapes if len(s) >= -axis and s[axis] != 1]
        if any(s != sizes[0] for s in sizes):
            raise UsageError(f"the shapes {shapes} do not broadcast at every size")
        found.append(sizes[0] if sizes else 1)
    return tuple(found)
