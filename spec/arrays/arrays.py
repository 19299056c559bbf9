"""
Arrays
======

The values of the language: a dtype, a shape, and the elements in row-major order. An element that was read outside its
buffer, or was never written, is *invalid*, ⊥ (U-01); it may be carried about, but not used.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from soundline.spec.dtypes import DType, Element, bool_, from_numpy, index, round_to, same_value, to_numpy
from soundline.spec.errors import EvaluationError

Position = tuple[int, ...]
"""One index per axis."""


class Invalid(Enum):
    """The type of ⊥, which has one value."""

    BOTTOM = "⊥"

    def __repr__(self) -> str:
        return self.value


INVALID: Final = Invalid.BOTTOM
"""The invalid element, ⊥."""

Cell = Element | Invalid
"""What an array holds: an element, or ⊥."""


@dataclass(frozen=True, slots=True, eq=False)
class Array:
    """A value. Two arrays are equal when dtype and shape are, and their elements are observably equal (U-05)."""

    dtype: DType
    shape: tuple[int, ...]
    elements: tuple[Cell, ...]

    def __post_init__(self) -> None:
        if len(self.elements) != math.prod(self.shape):
            raise ValueError(f"{len(self.elements)} elements do not fill the shape {self.shape}")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Array):
            return NotImplemented
        if (self.dtype, self.shape) != (other.dtype, other.shape):
            return False
        pairs = zip(self.elements, other.elements, strict=True)
        return all(same_cell(self.dtype, a, b) for a, b in pairs)

    def __hash__(self) -> int:
        return hash((self.dtype, self.shape))

    def __repr__(self) -> str:
        return f"Array({self.dtype}, {self.shape}, {self.elements})"

    @property
    def valid(self) -> bool:
        """Whether no element is ⊥."""
        return INVALID not in self.elements

    def at(self, position: Position) -> Cell:
        """The element at one index per axis."""
        return self.elements[offset_of(position, self.shape)]

    def item(self) -> Element:
        """The only element of an array of one element."""
        (only,) = self.elements
        if only is INVALID:
            raise EvaluationError("the element is invalid", rule="U-01")
        return only

    def to_numpy(self) -> npt.NDArray[Any]:
        """The array as numpy sees it; raises `EvaluationError` where an element is ⊥."""
        if not self.valid:
            raise EvaluationError("an invalid element has no numpy value", rule="U-01")
        return np.array(list(self.elements), dtype=to_numpy(self.dtype)).reshape(self.shape)

    @staticmethod
    def from_numpy(array: npt.NDArray[Any], dtype: DType | None = None) -> Array:
        """A numpy array as an array of the same dtype; integers may also be read as ``index``."""
        if dtype is index:
            if array.dtype.kind not in "iuO":
                raise EvaluationError(f"numpy's {array.dtype} holds no index", rule="uop-param-dtype")
            return Array.of(array.tolist(), index)
        own = numpy_dtype(array.dtype)
        with np.errstate(invalid="ignore"):  # of a signalling NaN, which is a NaN like any other (U-05)
            wide = array.astype(np.float64) if own.is_float else array
        return Array(own, array.shape, tuple(wide.ravel().tolist()))

    @staticmethod
    def of(values: Any, dtype: DType) -> Array:
        """Nested sequences of Python numbers, or one number, as an array; floats are rounded into the dtype."""
        shape = _nested_shape(values)
        return Array(dtype, shape, tuple(_element(v, dtype) for v in _flat(values, len(shape))))


def numpy_dtype(dtype: np.dtype[Any]) -> DType:
    """The dtype of a numpy array; raises `EvaluationError` where soundline has no such dtype."""
    try:
        return from_numpy(dtype)
    except KeyError:
        raise EvaluationError(f"numpy's {dtype} is not a dtype here", rule="uop-param-dtype") from None


def same_cell(dtype: DType, a: Cell, b: Cell) -> bool:
    """Whether two elements of a dtype are observably equal; ⊥ equals itself."""
    if isinstance(a, Invalid) or isinstance(b, Invalid):
        return a is b
    return same_value(dtype, a, b)


def _nested_shape(values: Any) -> tuple[int, ...]:
    if not isinstance(values, list | tuple):
        return ()
    inner = {_nested_shape(v) for v in values}
    if len(inner) > 1:
        raise EvaluationError("the nested sequences are ragged", rule="uop-stack-c1")
    return (len(values), *(inner.pop() if inner else ()))


def _flat(values: Any, rank: int) -> Iterator[Any]:
    if not rank:
        yield values
    else:
        for v in values:
            yield from _flat(v, rank - 1)


def _element(value: Any, dtype: DType) -> Element:
    """A Python number as an element, refused where the dtype cannot hold it."""
    if isinstance(value, np.generic):
        value = value.item()
    if dtype.is_float and isinstance(value, int | float) and not isinstance(value, bool):
        return round_to(dtype, float(value))
    if dtype is bool_ and isinstance(value, bool):
        return value
    if type(value) is int and (dtype is index or (dtype.is_int and dtype.min <= value <= dtype.max)):
        return value
    raise EvaluationError(f"{value!r} is not a value of dtype {dtype}", rule="uop-const-c1")


def positions(shape: Sequence[int]) -> Iterator[Position]:
    """Every position of a shape, in row-major order."""
    return itertools.product(*(range(size) for size in shape))


def offset_of(position: Position, shape: Sequence[int]) -> int:
    """The row-major number of a position."""
    offset = 0
    for i, size in zip(position, shape, strict=True):
        offset = offset * size + i
    return offset
