"""
Showing tensors
===============

How a tensor is printed: its values as numpy prints them, its dtype, and other differences from a plain array. A lazy
tensor is computed first, unless it has more than `MOST` elements. Printing never fails: if there is no value, the shape
is shown with the reason.
"""

from __future__ import annotations

from typing import Any, Final, Protocol, Self

import numpy as np
import numpy.typing as npt

from soundline.impl.arrays.sizes import is_size
from soundline.impl.tensors.core import history, parts
from soundline.spec.dtypes import DType
from soundline.spec.uop import UOp

MOST: Final = 1 << 20
"""A tensor of more elements is not computed to be shown."""
_WIDTH: Final = 88


class Showable(Protocol):
    """A tensor, as far as it is shown."""

    _uop: UOp

    @classmethod
    def of(cls, uop: UOp) -> Self:
        """A tensor over a graph."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Its sizes."""

    @property
    def dtype(self) -> DType:
        """Its dtype."""

    @property
    def size(self) -> int:
        """How many elements it has."""

    @property
    def is_stored(self) -> bool:
        """Whether its value is in memory."""

    @property
    def is_computable(self) -> bool:
        """Whether it has a value, or can have one."""


def shown(tensor: Showable) -> str:
    """The text of a tensor.

    >>> from soundline.impl.tensors.tensor import Tensor
    >>> Tensor([[1.0, 2.5], [3.0, 4.0]]) + 1
    Tensor([[2. , 3.5],
            [4. , 5. ]], dtype=float32)
    >>> Tensor.zeros(4000, 1000)
    Tensor(shape=(4000, 1000), dtype=float32, not computed yet)
    """
    values, more = _values(tensor)
    parts = [values] if values else [f"shape={tensor.shape}"]
    if values and ("..." in values or not tensor.size):
        parts.append(f"shape={tensor.shape}")
    parts.append(f"dtype={tensor.dtype}")
    if tensor._uop.device not in (None, "CPU"):
        parts.append(f"device={tensor._uop.device!r}")
    if history.tracked(tensor._uop):
        parts.append("requires_grad=True")
    return f"Tensor({', '.join([*parts, *more])})"


def _held(tensor: Showable) -> npt.NDArray[Any]:
    """The value, of a tensor that stays what it was: gradients pass a graph, and would not pass its value."""
    twin = tensor.of(tensor._uop)
    found = np.asarray(twin)
    if not tensor.is_stored and not isinstance(twin._uop.device, tuple):
        parts.remember(tensor._uop, twin._uop)
    return found


def _values(tensor: Showable) -> tuple[str, list[str]]:
    """The values as text, or none and why."""
    try:
        if any(is_size(s) for s in tensor.shape) or not tensor.is_computable:
            return "", ["without a value while a function is traced"]
        if not tensor.is_stored and tensor.size > MOST:
            return "", ["not computed yet"]
        held = _held(tensor)
        plain = (
            held if held.dtype.isbuiltin == 1 else held.astype(np.float32)
        )  # numpy cannot print the narrow floats
        return np.array2string(plain, separator=", ", prefix="Tensor(", max_line_width=_WIDTH), []
    except Exception as error:  # noqa: BLE001  # whoever looks at a tensor wants to see it
        first = str(error).partition("\n")[0]
        return "", [f"not computed: {first}"]
