"""
Numeric functions
=================

More functions of numpy: functions of two numbers, differences, products of tensors, order statistics and counts.
Searching and counting compare every element with every position, as sorting does.
"""

from __future__ import annotations

import math
from typing import Self

from soundline.impl.arrays.operands import axis_of
from soundline.impl.arrays.promotion import DTypeLike
from soundline.impl.arrays.sizes import is_size
from soundline.impl.tensors.core.arithmetic import aligned
from soundline.impl.tensors.core.values import Operand
from soundline.impl.tensors.methods.activations import Activations
from soundline.impl.tensors.methods.movement import refuse
from soundline.impl.tensors.methods.randomness import Randomness
from soundline.impl.tensors.numerics import pairs
from soundline.spec.dtypes import bool_, int64, largest_finite


class Numeric(Randomness, Activations):
    """Functions that numpy has."""

    __slots__ = ()

    # Numpy's names ------------------------------------------------------------------------------------------------

    def astype(self, dtype: DTypeLike) -> Self:
        """`cast`, as numpy calls it."""
        return self.cast(dtype)

    def swapaxes(self, a: int, b: int) -> Self:
        """`transpose`, as numpy calls it."""
        return self.transpose(a, b)

    def broadcast_to(self, *shape: int) -> Self:
        """`expand`, as numpy calls it."""
        return self.expand(*shape)

    # Functions of two numbers -------------------------------------------------------------------------------------

    def _real_pair(self, other: Operand) -> tuple[Self, Self]:
        x, y = aligned(self, other)
        return self.of(x)._as_real, self.of(y)._as_real

    def atan2(self, other: Operand) -> Self:
        """The angle of the point (other, x) in [-π, π]; zeros and infinities as in C. Shapes broadcast."""
        return pairs.atan2(*self._real_pair(other))

    def hypot(self, other: Operand) -> Self:
        """√(x² + y²), without overflow on the way; ∞ where one is infinite. Shapes broadcast."""
        return pairs.hypot(*self._real_pair(other))

    def logaddexp(self, other: Operand) -> Self:
        """ln(e^x + e^y), from the greater. Shapes broadcast."""
        return pairs.logaddexp(*self._real_pair(other))

    def copysign(self, other: Operand) -> Self:
        """The magnitude of x with the sign of `other`, of a zero too. Shapes broadcast."""
        x, y = self._real_pair(other)
        magnitude = abs(x)
        return pairs.is_below(y).where(-magnitude, magnitude)

    def nan_to_num(self, nan: float = 0.0, posinf: float | None = None, neginf: float | None = None) -> Self:
        """NaN replaced, and infinities: by the greatest and the least float unless told otherwise."""
        if not self.dtype.is_float:
            return self
        greatest = largest_finite(self.dtype) if posinf is None else posinf
        least = -largest_finite(self.dtype) if neginf is None else neginf
        found = self.eq(math.inf).where(self.constant(greatest), self)
        found = self.eq(-math.inf).where(self.constant(least), found)
        return self.isnan().where(self.constant(nan), found)

    # Differences and products -------------------------------------------------------------------------------------

    def diff(self, count: int = 1, axis: int = -1) -> Self:
        """The differences of neighbours along an axis, `count` times over."""
        at = axis_of(axis, self.ndim)
        if count < 0 or self.dtype is bool_:
            raise refuse("diff", "a count ≥ 0, of numbers", (count, self.dtype))
        result = self
        for _ in range(min(count, self.shape[at])):
            size = result.shape[at]
            result = result._part(at, 1, size) - result._part(at, 0, size - 1)
        return result

    def kron(self, other: Operand) -> Self:
        """The Kronecker product: every element of x times all of `other`, in blocks."""
        y = self.__class__(other)
        rank = max(self.ndim, y.ndim)
        left = self.reshape((1,) * (rank - self.ndim) + self.shape)
        right = y.reshape((1,) * (rank - y.ndim) + y.shape)
        rows = left.reshape(tuple(v for s in left.shape for v in (s, 1)))
        blocks = right.reshape(tuple(v for s in right.shape for v in (1, s)))
        whole = tuple(a * b for a, b in zip(left.shape, right.shape, strict=True))
        return (rows * blocks).reshape(whole)

    def cross(self, other: Operand, axis: int = -1) -> Self:
        """The vector product along an axis of size 3. Shapes broadcast."""
        x, y = (self.of(v) for v in aligned(self, other))
        at = axis_of(axis, x.ndim)
        if x.shape[at] != 3:
            raise refuse("cross", f"a size of 3 along axis {axis}", x.shape)
        return x.roll(-1, at) * y.roll(-2, at) - x.roll(-2, at) * y.roll(-1, at)

    def cosine_similarity(self, other: Operand, axis: int = -1, eps: float = 1e-8) -> Self:
        """The cosine of the angle between vectors along an axis; the product of their norms is at least `eps`."""
        x, y = self._real_pair(other)
        at = axis_of(axis, x.ndim)
        lengths = x.norm(at) * y.norm(at)
        return (x * y).sum(at) / lengths.maximum(eps)

    def normalize(self, axis: int = -1, eps: float = 1e-12) -> Self:
        """The vectors along an axis, divided by their norm, which is at least `eps`."""
        return self._as_real / self.norm(axis, keepdim=True).maximum(eps)

    # Order --------------------------------------------------------------------------------------------------------

    def quantile(self, q: float, axis: int | None = None, keepdim: bool = False) -> Self:
        """The value below which a part `q` of an axis lies, between neighbours in proportion; NaN where one is NaN.

        Of the flat tensor if `axis` is None.
        """
        if axis is None:
            found = self.reshape(self.size).quantile(q, 0)
            return found.reshape((1,) * self.ndim) if keepdim else found
        at = axis_of(axis, self.ndim)
        size = self.shape[at]
        if is_size(size):
            raise refuse("quantile", "a known size", f"the size {size}")
        if not 0.0 <= q <= 1.0 or not size:
            raise refuse("quantile", "a part from 0 to 1 of at least one element", (q, self.shape))
        low = math.floor(q * (size - 1))
        part = q * (size - 1) - low
        ordered = self._as_real.sort(at)[0]
        found = ordered._part(at, low, low + 1)
        if part:
            above = ordered._part(at, low + 1, low + 2)
            weighted = found * (1.0 - part) + above * part  # a difference of infinities says nothing
            found = (found.isinf() | above.isinf()).where(weighted, found.lerp(above, part))
        found = self.isnan().any(at, keepdim=True).where(math.nan, found)
        return found if keepdim else found.squeeze(at)

    def median(self, axis: int | None = None, keepdim: bool = False) -> Self:
        """The element in the middle of an axis, of an even number the mean of two, as in numpy; NaN where one is."""
        return self.quantile(0.5, axis, keepdim)

    def searchsorted(self, values: Operand, right: bool = False) -> Self:
        """For each value how many elements of this ascending vector are below it, or not above it; as int64.

        NaN stands above everything, as where `sort` puts it.
        """
        if self.ndim != 1:
            raise refuse("searchsorted", "a vector in ascending order", self.shape)
        each = self.__class__(values).unsqueeze(-1)
        before = self <= each if right else self < each
        if self.dtype.is_float or each.dtype.is_float:
            before = before | (each.isnan() if right else each.isnan() & ~self.isnan())
        return before.cast(int64).sum(-1)

    def isin(self, values: Operand) -> Self:
        """Whether each element is one of some values; NaN is none."""
        wanted = self.__class__(values)
        return self.unsqueeze(-1).eq(wanted.reshape(wanted.size)).any(-1)

    def bincount(self, size: int, weights: Operand | None = None) -> Self:
        """How often each of the numbers 0 … size-1 is in a vector of integers, or the sum of their weights.

        Other numbers count nowhere.
        """
        if self.ndim != 1 or not self.dtype.is_int or size < 0:
            raise refuse("bincount", "a vector of integers and a size ≥ 0", (self.shape, self.dtype, size))
        each = self.full(self.shape, 1, dtype=int64) if weights is None else self.__class__(weights)
        outside = self.full(self.shape, size, dtype=int64)
        place = (self < 0).where(outside, self.cast(int64))
        return self.zeros((size,), dtype=each.dtype).scatter_add(0, place, each)
