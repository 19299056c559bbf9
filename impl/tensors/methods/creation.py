"""
Creation
========

Tensors from sizes. Python numbers have the default dtypes of the Tensor layer (float32, int32 or int64, bool), unless
`dtype` says otherwise. Sizes are separate arguments or one sequence.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Self

import numpy as np

from soundline.impl.arrays.operands import is_number, sizes_of
from soundline.impl.arrays.promotion import DTypeLike, check_dtype
from soundline.impl.tensors.core import lines
from soundline.impl.tensors.core.arithmetic import cast
from soundline.impl.tensors.core.values import Number, as_graph
from soundline.impl.tensors.methods.linear_algebra import LinearAlgebra
from soundline.impl.tensors.methods.movement import refuse
from soundline.spec.dtypes import float32, float64, from_numpy, int32, int64
from soundline.spec.uop import Op, UOp, broadcast_to, const


def checked_sizes(where: str, shape: Sequence[int | Sequence[int]]) -> tuple[int, ...]:
    """Sizes that are given one by one or as one sequence, each an int ≥ 0."""
    found = sizes_of(tuple(shape))
    if any(s < 0 for s in found):
        raise refuse(where, "sizes ≥ 0", found)
    return found


class Creation(LinearAlgebra):
    """Tensors from sizes."""

    __slots__ = ()

    @classmethod
    def full(cls, shape: int | Sequence[int], value: Number, dtype: DTypeLike | None = None) -> Self:
        """A tensor of a shape with one value everywhere."""
        if isinstance(value, np.generic):
            dtype, value = dtype or from_numpy(value.dtype), value.item()
        if not is_number(value):
            raise refuse("full", "a number", repr(value))
        return cls.of(
            broadcast_to(
                as_graph(value, None if dtype is None else check_dtype(dtype)),
                checked_sizes("full", (shape,)),
            )
        )

    @classmethod
    def zeros(cls, *shape: int | Sequence[int], dtype: DTypeLike = float32) -> Self:
        """Zeros (False, for bools)."""
        return cls.of(broadcast_to(as_graph(0, check_dtype(dtype)), checked_sizes("zeros", shape)))

    @classmethod
    def ones(cls, *shape: int | Sequence[int], dtype: DTypeLike = float32) -> Self:
        """Ones (True, for bools)."""
        return cls.of(broadcast_to(as_graph(1, check_dtype(dtype)), checked_sizes("ones", shape)))

    @classmethod
    def empty(cls, *shape: int | Sequence[int], dtype: DTypeLike = float32) -> Self:
        """Zeros, because a tensor always has a value."""
        return cls.zeros(*shape, dtype=dtype)

    def full_like(self, value: Number, dtype: DTypeLike | None = None) -> Self:
        """One value everywhere, in the shape of this tensor, and in its dtype unless another is given."""
        return self.full(self.shape, value, dtype or self.dtype)

    def zeros_like(self, dtype: DTypeLike | None = None) -> Self:
        """Zeros in the shape of this tensor, and in its dtype unless another is given."""
        return self.zeros(self.shape, dtype=dtype or self.dtype)

    def ones_like(self, dtype: DTypeLike | None = None) -> Self:
        """Ones in the shape of this tensor, and in its dtype unless another is given."""
        return self.ones(self.shape, dtype=dtype or self.dtype)

    @classmethod
    def arange(
        cls,
        start: int | float,
        stop: int | float | None = None,
        step: int | float = 1,
        dtype: DTypeLike | None = None,
    ) -> Self:
        """start, start + step, … up to stop, exclusive; with one argument, 0 … stop - 1.

        Integers are exact. If one of the three is a float, element k is start + k·step, each rounded in float64, and
        then rounded to the dtype, float32 unless another is given. A step of 0 is a `UsageError`.
        """
        first, last = (0, start) if stop is None else (start, stop)
        if not all(is_number(v) and math.isfinite(v) for v in (first, last, step)) or step == 0:
            raise refuse("arange", "numbers, and a step that is not 0", (first, last, step))
        count = max(0, math.ceil((last - first) / step))
        if all(isinstance(v, int) for v in (first, last, step)):
            count = len(range(int(first), int(last), int(step)))
            ends = (first, first + (max(count, 1) - 1) * step)
            own = int32 if all(int32.min <= e <= int32.max for e in ends) else int64
            found = _affine(count, int(step), int(first))
        else:
            own = float32
            found = _affine(count, float(step), float(first))
        return cls.of(cast(found, own if dtype is None else check_dtype(dtype)))

    @classmethod
    def linspace(
        cls, start: float, stop: float, count: int, endpoint: bool = True, dtype: DTypeLike = float32
    ) -> Self:
        """`count` numbers at equal distances from start to stop, which is the last unless `endpoint` is False.

        Element k is start + k·distance, each rounded in float64, and rounded to the dtype: as numpy has it.
        """
        dtype = check_dtype(dtype)
        if count < 0 or not all(math.isfinite(v) for v in (start, stop)):
            raise refuse("linspace", "finite ends and a count ≥ 0", (start, stop, count))
        parts = count - 1 if endpoint else count
        found = _affine(count, (float(stop) - float(start)) / parts if parts > 0 else 0.0, float(start))
        if endpoint and count > 1:
            last = Op.CmpEq(lines.line(count), broadcast_to(const(count - 1, int64), (count,)))
            found = Op.Where(last, broadcast_to(const(float(stop), float64), (count,)), found)
        return cls.of(cast(found, dtype))

    @classmethod
    def eye(cls, rows: int, columns: int | None = None, dtype: DTypeLike = float32) -> Self:
        """Ones on the diagonal of a matrix, zeros elsewhere."""
        shape = checked_sizes("eye", ((rows, rows if columns is None else columns),))
        dtype = check_dtype(dtype)
        hit = Op.CmpEq(lines.positions(0, shape), lines.positions(1, shape))
        return cls.of(cast(hit, dtype))

    @classmethod
    def meshgrid(cls, *vectors: Self, indexing: str = "ij") -> tuple[Self, ...]:
        """For each of several vectors its elements laid along its own axis of a common shape.

        With ``"xy"`` the first two axes are exchanged, as numpy has it by default.
        """
        if indexing not in ("ij", "xy") or any(v.ndim > 1 for v in vectors):
            raise refuse("meshgrid", 'vectors, and "ij" or "xy"', ([v.shape for v in vectors], indexing))
        rank = len(vectors)
        shape = tuple(v.size for v in vectors)
        found = tuple(
            v.reshape(tuple(v.size if k == axis else 1 for k in range(rank))).expand(shape)
            for axis, v in enumerate(vectors)
        )
        return tuple(f.transpose(0, 1) for f in found) if indexing == "xy" and rank > 1 else found


def _affine(count: int, step: int | float, start: int | float) -> UOp:
    """start + k·step for k from 0 on, in int64 or float64."""
    dtype = float64 if isinstance(step, float) else int64
    line = lines.line(count, dtype)
    if step != 1:
        line = Op.Mul(line, broadcast_to(const(step, dtype), (count,)))
    return Op.Add(line, broadcast_to(const(start, dtype), (count,))) if start != 0 else line
