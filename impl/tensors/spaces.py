"""
Space
=====

Images and sequences x[N, C, …]: transposed convolutions, adaptive pooling, padding modes, interpolation, and losses.
Widths, strides and sizes are one number for all spatial axes, or one for each.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Self

import numpy as np
import numpy.typing as npt

from soundline.impl.arrays.operands import axis_of
from soundline.impl.arrays.promotion import accumulated
from soundline.impl.tensors.core.values import Operand
from soundline.impl.tensors.methods.movement import refuse
from soundline.impl.tensors.methods.networks import Networks, Sizes, _each
from soundline.impl.tensors.methods.numeric import Numeric
from soundline.impl.tensors.methods.windows import padded, spread
from soundline.spec.dtypes import bool_

BORDERS = ("reflect", "replicate", "circular")


class Spaces(Networks, Numeric):
    """Axes of space."""

    __slots__ = ()

    # Borders ------------------------------------------------------------------------------------------------------

    def pad_with(self, widths: Sequence[tuple[int, int]], mode: str) -> Self:
        """A border (before, after) along each axis, made of the tensor: torch's modes of padding.

        ``"reflect"`` mirrors at the outermost element, ``"replicate"`` repeats it, ``"circular"`` goes on at the other
        end. A reflection is shorter than the axis, a circular border at most as long.
        """
        if mode not in BORDERS or len(widths) != self.ndim:
            raise refuse(
                "pad_with", f"a pair for each of {self.ndim} axes, and one of {BORDERS}", (widths, mode)
            )
        result = self
        for axis, (before, after) in enumerate(widths):
            size = self.shape[axis]
            most = {"reflect": size - 1, "circular": size}.get(mode, max(before, after) if size else 0)
            if not 0 <= min(before, after) <= max(before, after) <= max(most, 0):
                raise refuse("pad_with", f"widths from 0 to {max(most, 0)} on axis {axis}", (before, after))
            result = result._bordered_by(axis, before, after, mode)
        return result

    def _bordered_by(self, axis: int, before: int, after: int, mode: str) -> Self:
        size = self.shape[axis]
        if mode == "replicate":
            left = self._part(axis, 0, 1).repeat_interleave(before, axis)
            right = self._part(axis, size - 1, size).repeat_interleave(after, axis)
        elif mode == "circular":
            left, right = self._part(axis, size - before, size), self._part(axis, 0, after)
        else:
            left = self._part(axis, 1, 1 + before).flip(axis)
            right = self._part(axis, size - 1 - after, size - 1).flip(axis)
        return self.cat(left, self, right, axis=axis)

    # Convolution --------------------------------------------------------------------------------------------------

    def conv_transpose2d(
        self,
        weight: Operand,
        bias: Operand | None = None,
        stride: Sizes = 1,
        padding: Sizes = 0,
        output_padding: Sizes = 0,
        groups: int = 1,
        dilation: Sizes = 1,
    ) -> Self:
        """The adjoint of `conv2d`: each element of x[N, C, H, W] spreads weight[C, M/groups, K, L], plus bias[M]."""
        return self._spread_over(
            "conv_transpose2d", 2, weight, bias, stride, padding, output_padding, groups, dilation
        )

    def conv_transpose1d(
        self,
        weight: Operand,
        bias: Operand | None = None,
        stride: Sizes = 1,
        padding: Sizes = 0,
        output_padding: Sizes = 0,
        groups: int = 1,
        dilation: Sizes = 1,
    ) -> Self:
        """The adjoint of `conv1d`: each element of x[N, C, W] spreads weight[C, M/groups, K], plus bias[M]."""
        return self._spread_over(
            "conv_transpose1d", 1, weight, bias, stride, padding, output_padding, groups, dilation
        )

    def _spread_over(
        self,
        where: str,
        rank: int,
        weight: Operand,
        bias: Operand | None,
        stride: Sizes,
        padding: Sizes,
        output_padding: Sizes,
        groups: int,
        dilation: Sizes,
    ) -> Self:
        w = self.__class__(weight)
        if self.ndim != rank + 2 or w.ndim != rank + 2 or self.dtype is bool_:
            raise refuse(where, f"x and weight of {rank + 2} axes", (self.shape, w.shape))
        if groups < 1 or w.shape[0] != self.shape[1] or w.shape[0] % groups:
            raise refuse(where, f"weight[C, M/{groups}, …] for x[N, C, …]", (self.shape, w.shape))
        strides, steps = _each(where, stride, rank, 1), _each(where, dilation, rank, 1)
        pads, more = _each(where, padding, rank, 0), _each(where, output_padding, rank, 0)
        if any(e >= max(s, d) for e, s, d in zip(more, strides, steps, strict=True)):
            raise refuse(where, "an output padding below the stride or the dilation", output_padding)
        (c, m), kernel = w.shape[:2], w.shape[2:]
        mirrored = w.reshape(groups, c // groups, m, *kernel).transpose(1, 2)
        mirrored = mirrored.reshape(groups * m, c // groups, *kernel).flip(tuple(range(2, 2 + rank)))
        wide = spread(self, strides)
        reach = [(k - 1) * d for k, d in zip(kernel, steps, strict=True)]
        widths = [(r - p, r - p + e) for r, p, e in zip(reach, pads, more, strict=True)]
        wide = padded(wide, [(0, 0), (0, 0), *widths], 0)
        return wide._convolved(where, rank, mirrored, bias, 1, 0, dilation, groups)

    # Pooling ------------------------------------------------------------------------------------------------------

    def max_pool1d(
        self,
        kernel: int,
        stride: int | None = None,
        padding: int = 0,
        dilation: int = 1,
        ceil_mode: bool = False,
    ) -> Self:
        """The greatest element of each window of x[N, C, W]; the stride is the kernel unless given."""
        self._of_sequence("max_pool1d")
        step = kernel if stride is None else stride
        wide = self.unsqueeze(2)
        return wide.max_pool2d((1, kernel), (1, step), (0, padding), (1, dilation), ceil_mode).squeeze(2)

    def avg_pool1d(
        self,
        kernel: int,
        stride: int | None = None,
        padding: int = 0,
        count_include_pad: bool = True,
        ceil_mode: bool = False,
    ) -> Self:
        """The mean of each window of x[N, C, W]; the stride is the kernel unless given."""
        self._of_sequence("avg_pool1d")
        step = kernel if stride is None else stride
        wide = self.unsqueeze(2)
        return wide.avg_pool2d((1, kernel), (1, step), (0, padding), count_include_pad, ceil_mode).squeeze(2)

    def _of_sequence(self, where: str) -> None:
        if self.ndim != 3:
            raise refuse(where, "x[N, C, W]", self.shape)

    def adaptive_avg_pool2d(self, size: Sizes) -> Self:
        """The mean of each of size[0]·size[1] parts of x[N, C, H, W], which overlap where sizes do not divide."""
        return self._parts_of_space("adaptive_avg_pool2d", size, lambda x, axis: x.mean(axis, keepdim=True))

    def adaptive_max_pool2d(self, size: Sizes) -> Self:
        """The greatest element of each of size[0]·size[1] parts of x[N, C, H, W]."""
        return self._parts_of_space("adaptive_max_pool2d", size, lambda x, axis: x.max(axis, keepdim=True))

    def _parts_of_space(self, where: str, size: Sizes, reduction: Callable[[Self, int], Self]) -> Self:
        self._of_space(where)
        result = self
        for axis, count in zip((2, 3), _each(where, size, 2, 1), strict=True):
            n = self.shape[axis]
            bounds = [(k * n // count, -(-(k + 1) * n // count)) for k in range(count)]
            result = self.cat([reduction(result._part(axis, a, b), axis) for a, b in bounds], axis=axis)
        return result

    # Sizes --------------------------------------------------------------------------------------------------------

    def interpolate(self, size: Sizes, mode: str = "nearest", align_corners: bool = False) -> Self:
        """x[N, C, …] with other sizes of space, as torch's interpolate with `size`.

        ``"nearest"`` takes the element whose place is that of the result, rounded down; ``"linear"`` weighs the two
        neighbours along each axis (torch's linear, bilinear and trilinear), whose corners are the corners of x with
        `align_corners`, and whose edges are its edges without.
        """
        rank = self.ndim - 2
        if mode not in ("nearest", "linear") or rank < 1 or (mode == "nearest" and align_corners):
            raise refuse("interpolate", '"nearest", or "linear" of x[N, C, …]', (mode, self.shape))
        if mode == "linear" and not self.dtype.is_float:
            raise refuse("interpolate", "floats for the mode linear", self.dtype)
        result = self
        for k, target in enumerate(_each("interpolate", size, rank, 1)):
            result = result._resized(2 + k, target, mode, align_corners)
        return result

    def _resized(self, axis: int, target: int, mode: str, corners: bool) -> Self:
        size = self.shape[axis]
        if size == target:
            return self
        if not size:
            raise refuse("interpolate", f"at least one element along axis {axis}", self.shape)
        if mode == "nearest":
            return self.take(np.arange(target) * size // target, axis)
        place = _places(size, target, corners)
        low = np.floor(place).astype(np.int64)
        part = self.__class__((place - low).astype(np.float64)).cast(accumulated(self.dtype))
        part = part.reshape(-1, *([1] * (self.ndim - 1 - axis)))
        wide = self.cast(accumulated(self.dtype))
        left, right = wide.take(low, axis), wide.take(np.minimum(low + 1, size - 1), axis)
        return (left * (1.0 - part) + right * part).cast(self.dtype)

    def pixel_shuffle(self, factor: int) -> Self:
        """x[N, C·f², H, W] as [N, C, H·f, W·f]: channels laid out in squares of f by f."""
        self._of_space("pixel_shuffle")
        n, c, h, w = self.shape
        if factor < 1 or c % (factor * factor):
            raise refuse("pixel_shuffle", f"channels that are a multiple of {factor}²", self.shape)
        apart = self.reshape(n, c // factor**2, factor, factor, h, w).permute(0, 1, 4, 2, 5, 3)
        return apart.reshape(n, c // factor**2, h * factor, w * factor)

    def instance_norm(
        self, weight: Operand | None = None, bias: Operand | None = None, eps: float = 1e-5
    ) -> Self:
        """`layer_norm` over space for each channel of x[N, C, …]; `weight` and `bias` have one number per channel."""
        if self.ndim < 3:
            raise refuse("instance_norm", "x[N, C, …]", self.shape)
        return self.group_norm(self.shape[1], weight, bias, eps)

    # Losses -------------------------------------------------------------------------------------------------------

    def l1_loss(self, target: Operand, reduction: str = "mean") -> Self:
        """The mean of abs(x - y), or their sum, or with the reduction ``"none"`` each."""
        apart: Self = self - target
        return apart.abs()._loss("l1_loss", reduction)

    def huber_loss(self, target: Operand, delta: float = 1.0, reduction: str = "mean") -> Self:
        """The mean of ½·(x - y)² where they are at most `delta` apart, elsewhere of delta·(abs(x - y) - ½·delta)."""
        if not delta > 0.0:
            raise refuse("huber_loss", "a delta above 0", delta)
        difference: Self = self - target
        apart = difference.abs()
        near = apart.minimum(delta)
        return (near * (apart - near * 0.5))._loss("huber_loss", reduction)

    def smooth_l1_loss(self, target: Operand, beta: float = 1.0, reduction: str = "mean") -> Self:
        """The Huber loss over `beta`."""
        return self.huber_loss(target, beta, reduction) / beta

    def kl_div(self, target: Operand, axis: int = -1, reduction: str = "mean") -> Self:
        """The mean of the divergences Σ p·(ln p - x) of distributions p from those of logarithms x along an axis.

        Where p is 0 nothing is added. The mean is over distributions, torch's ``"batchmean"``, which is a name of it;
        with the reduction ``"sum"`` it is their sum, with ``"none"`` the divergence of each.
        """
        at = axis_of(axis, self.ndim)
        p = self.__class__(target)
        if p.shape != self.shape:
            raise refuse("kl_div", f"probabilities of shape {self.shape}", p.shape)
        some = p > 0.0
        each = some.where(p * (some.where(p, 1.0).log() - self), 0.0)
        return each.sum(at)._loss("kl_div", "mean" if reduction == "batchmean" else reduction)

    def binary_cross_entropy(self, target: Operand, reduction: str = "mean") -> Self:
        """The mean, the sum or each of -y·ln x - (1 - y)·ln(1 - x); logarithms are at least -100, as in torch."""
        y = self.__class__(target)
        yes, no = self.log().maximum(-100.0), (1.0 - self).log().maximum(-100.0)
        each: Self = -(y * yes + (1.0 - y) * no)
        return each._loss("binary_cross_entropy", reduction)


def _places(size: int, target: int, corners: bool) -> npt.NDArray[np.float64]:
    """Where the elements of a resized axis lie in the axis."""
    number = np.arange(target, dtype=np.float64)
    if corners:
        return number * ((size - 1) / (target - 1) if target > 1 else 0.0)
    found: npt.NDArray[np.float64] = np.clip((number + 0.5) * (size / target) - 0.5, 0.0, size - 1.0)
    return found
