"""
Reductions
==========

Reductions over axes. Each method takes `axis`: one axis, several, or None for all of them; and `keepdim`: whether the
axes remain, with size 1. Float sums have the fixed order of `sums` (U-10), everything else ascends.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Self

from soundline.impl.analysis import elementary, sums
from soundline.impl.arrays.operands import Axes, axes_of, axis_of
from soundline.impl.arrays.promotion import accumulated, floating, summed
from soundline.impl.arrays.sizes import is_size
from soundline.impl.lower.graphs.scalars import identity_of
from soundline.impl.tensors.core.arithmetic import cast, reversed_order
from soundline.impl.tensors.core.lines import positions
from soundline.impl.tensors.methods.movement import Movement, refuse
from soundline.spec.dtypes import bool_, int64
from soundline.spec.uop import Op, UOp, broadcast_to, const, expand, pad, reshape, shrink


class Reductions(Movement):
    """Reductions over axes."""

    __slots__ = ()

    def _dropped(self, axes: Sequence[int], keepdim: bool) -> Self:
        if keepdim or not axes:
            return self
        return self.reshape(tuple(s for k, s in enumerate(self.shape) if k not in axes))

    def _folded(self, op: Op, axis: Axes, keepdim: bool) -> Self:
        axes = axes_of(axis, self.ndim)
        return self.of(sums.reduced(self.uop, op, axes))._dropped(axes, keepdim)

    def _count(self, axes: Sequence[int]) -> int:
        return math.prod(self.shape[a] for a in axes)

    # Sums ---------------------------------------------------------------------------------------------------------

    def sum(self, axis: Axes = None, keepdim: bool = False) -> Self:
        """The sum over axes. Integers and bools are summed in 64 bits, the narrow floats in float32 and rounded once.

        A long float sum over the last axis has the fixed blocked order of `sums`; any other ascends.
        """
        axes = axes_of(axis, self.ndim)
        total = sums.added(cast(self.uop, accumulated(summed(self.dtype))), axes)
        return self.of(cast(total, summed(self.dtype)))._dropped(axes, keepdim)

    def mean(self, axis: Axes = None, keepdim: bool = False) -> Self:
        """The sum over axes, divided by the number of elements; of none, NaN. Integers are summed as floats."""
        axes = axes_of(axis, self.ndim)
        return self._mean(axes).cast(floating(self.dtype))._dropped(axes, keepdim)

    def _mean(self, axes: Sequence[int]) -> Self:
        """The mean in the dtype that it is accumulated in; the axes stay."""
        real = self.cast(accumulated(floating(self.dtype)))
        total = self.of(sums.added(real.uop, axes))
        return total._quotient(total, self._length(axes))

    def _length(self, axes: Sequence[int]) -> float | Self:
        """The number of elements along axes, as what a value is divided by."""
        count: Any = self._count(axes)
        if not is_size(count):
            return float(count)
        whole = Op.Cast(count.as_uop, arg=int64)  # an index is cast to integers alone (U-02)
        return self.of(Op.Cast(whole, arg=accumulated(floating(self.dtype))))

    def var(self, axis: Axes = None, keepdim: bool = False, correction: int | float = 0) -> Self:
        """The mean of (x - mean)², of which the divisor is less by `correction`: 0 as in numpy, 1 as torch has it."""
        axes = axes_of(axis, self.ndim)
        return self._variance(axes, correction).cast(floating(self.dtype))._dropped(axes, keepdim)

    def _variance(self, axes: Sequence[int], correction: int | float) -> Self:
        apart = self.cast(accumulated(floating(self.dtype))) - self._mean(axes)
        total = self.of(sums.added((apart * apart).uop, axes))
        length = self._length(axes)
        if isinstance(length, float):
            return total / max(0.0, length - correction)
        return total / (length - correction).maximum(0.0)

    def std(self, axis: Axes = None, keepdim: bool = False, correction: int | float = 0) -> Self:
        """The root of the variance; where all elements are equal, its derivatives are 0."""
        axes = axes_of(axis, self.ndim)
        return self._variance(axes, correction)._root().cast(floating(self.dtype))._dropped(axes, keepdim)

    def prod(self, axis: Axes = None, keepdim: bool = False) -> Self:
        """The product over axes, ascending. Integers and bools are multiplied in 64 bits."""
        wide = accumulated(summed(self.dtype))
        return self.cast(wide)._folded(Op.Mul, axis, keepdim).cast(summed(self.dtype))

    def logsumexp(self, axis: Axes = None, keepdim: bool = False) -> Self:
        """ln Σ e^x over axes, from the differences to the greatest element; of none, -∞.

        No derivative passes through the greatest element, on which the result does not depend.
        """
        axes = axes_of(axis, self.ndim)
        real = self.cast(accumulated(floating(self.dtype)))
        greatest = real.max(axes, keepdim=True)
        shift = self.of(Op.Detach((abs(greatest) < math.inf).where(greatest, 0.0).uop))
        powers = elementary.exp((real - shift).uop)
        found = self.of(elementary.log(sums.added(powers, axes))) + shift
        return found.cast(floating(self.dtype))._dropped(axes, keepdim)

    def norm(self, axis: Axes = None, keepdim: bool = False) -> Self:
        """The Euclidean norm √Σx² over axes; at 0 its derivatives are 0."""
        axes = axes_of(axis, self.ndim)
        real = self.cast(accumulated(floating(self.dtype)))
        total = self.of(sums.added((real * real).uop, axes))
        return total._root().cast(floating(self.dtype))._dropped(axes, keepdim)

    def _root(self, root: Callable[[Self], Self] = lambda x: x.sqrt()) -> Self:
        """The root of a total of magnitudes. At 0 its derivative is 0, where that of the root alone is infinite."""
        none = self.eq(0.0)
        found: Self = none.where(0.0, root(none.where(1.0, self)))
        return found

    # Extremes -----------------------------------------------------------------------------------------------------

    def max(self, axis: Axes = None, keepdim: bool = False) -> Self:
        """The greatest element over axes; NaN if one is. Of no elements: the least value of the dtype."""
        return self._folded(Op.Max, axis, keepdim)

    def min(self, axis: Axes = None, keepdim: bool = False) -> Self:
        """The least element over axes; NaN if one is. Of no elements: the greatest value of the dtype."""
        greatest = self.of(reversed_order(self.uop))._folded(Op.Max, axis, keepdim)
        return self.of(reversed_order(greatest.uop))

    def argmax(self, axis: int | None = None, keepdim: bool = False) -> Self:
        """The first position of the greatest element of an axis, or of the flat tensor, as int64; NaN is greatest.

        An axis of size 0 is a `UsageError`.
        """
        return self._position("argmax", axis, keepdim, self)

    def argmin(self, axis: int | None = None, keepdim: bool = False) -> Self:
        """The first position of the least element of an axis, or of the flat tensor, as int64; NaN is least.

        An axis of size 0 is a `UsageError`.
        """
        return self._position("argmin", axis, keepdim, self.of(reversed_order(self.uop)))

    def _position(self, where: str, axis: int | None, keepdim: bool, ordered: Self) -> Self:
        if axis is None:
            place = ordered.reshape(self.size)._position(where, 0, False, ordered.reshape(self.size))
            return place.reshape((1,) * self.ndim) if keepdim else place
        at = axis_of(axis, self.ndim)
        size = self.shape[at]
        if not size:
            raise refuse(where, "at least one element", f"an axis of size 0 in {self.shape}")
        hit = ordered == ordered.max(at, keepdim=True)
        if self.dtype.is_float:
            hit = hit | (ordered != ordered)
        places = self.of(positions(at, self.shape))
        return hit.where(places, size).min(at, keepdim)

    # Truth --------------------------------------------------------------------------------------------------------

    def any(self, axis: Axes = None, keepdim: bool = False) -> Self:
        """Whether some element is not 0."""
        return self.cast(bool_)._folded(Op.Max, axis, keepdim)

    def all(self, axis: Axes = None, keepdim: bool = False) -> Self:
        """Whether every element is not 0."""
        return self.cast(bool_)._folded(Op.Mul, axis, keepdim)

    def count_nonzero(self, axis: Axes = None, keepdim: bool = False) -> Self:
        """How many elements are not 0, as int64."""
        return self.cast(bool_).cast(int64).sum(axis, keepdim)

    # Scans --------------------------------------------------------------------------------------------------------

    def cumsum(self, axis: int) -> Self:
        """The running sum along an axis: the source's prefix sum, ascending in every element.

        Integers and bools are added in 64 bits, the narrow floats in float32, each element rounded once.
        """
        wide = self.cast(accumulated(summed(self.dtype)))
        return wide._scanned(Op.Add, axis).cast(summed(self.dtype))

    def cumprod(self, axis: int) -> Self:
        """The running product along an axis. Integers and bools are multiplied in 64 bits."""
        wide = self.cast(accumulated(summed(self.dtype)))
        return wide._scanned(Op.Mul, axis).cast(summed(self.dtype))

    def cummax(self, axis: int) -> Self:
        """The greatest element so far along an axis."""
        return self._scanned(Op.Max, axis)

    def _scanned(self, op: Op, axis: int) -> Self:
        at = axis_of(axis, self.ndim)
        last = self.movedim(at, -1)
        return self.of(scanned(last.uop, last.shape, op)).movedim(-1, at)


def scanned(x: UOp, shape: tuple[int, ...], op: Op) -> UOp:
    """The running reductions along the last axis.

    These are the windows of the law's `prefix_sum`, with the axes before in front: each row stands behind n-1 places
    that the reduction does not notice, and element i is the reduction of the window that ends with element i.
    """
    *outer, n = shape
    if 0 in shape:
        return x
    zeros, wide = (0,) * len(outer), (*outer, 2 * n - 1)
    real = pad(broadcast_to(const(True, bool_), shape), (*zeros, n - 1), wide)
    row = Op.Where(real, pad(x, (*zeros, n - 1), wide), broadcast_to(identity_of(op, x.dtype), wide))
    tiled = expand(reshape(row, (*outer, 1, 2 * n - 1)), (*outer, n + 1, 2 * n - 1))
    flat = reshape(tiled, (*outer, (n + 1) * (2 * n - 1)))
    rows = reshape(shrink(flat, (*zeros, 0), (*outer, 2 * n * n)), (*outer, n, 2 * n))
    windows = shrink(rows, (*zeros, 0, 0), (*outer, n, n))
    return reshape(sums.reduced(windows, op, [len(outer) + 1]), shape)
