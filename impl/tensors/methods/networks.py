"""
Networks
========

What neural networks are made of, as compositions of the other methods. Narrow floats are normalized and convolved in
float32 and rounded once; a convolution is one reduction over channels and window, ascending, as a matrix product is.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Self, TypeVar

from soundline.impl.analysis import sums
from soundline.impl.arrays.operands import Axes, axes_of, axis_of
from soundline.impl.arrays.promotion import accumulated
from soundline.impl.tensors.core.arithmetic import Arithmetic
from soundline.impl.tensors.core.values import Operand
from soundline.impl.tensors.methods.convolutions import convolved
from soundline.impl.tensors.methods.movement import refuse
from soundline.impl.tensors.methods.randomness import Key, Randomness
from soundline.impl.tensors.methods.windows import Window, bordered, unfolded
from soundline.spec.dtypes import bool_
from soundline.spec.uop import Op

T = TypeVar("T", bound=Arithmetic)
Sizes = int | Sequence[int]
"""One number for all axes of space, or one for each."""


def _each(where: str, given: Sizes, rank: int, least: int) -> tuple[int, ...]:
    found = (given,) * rank if isinstance(given, int) else tuple(given)
    if len(found) != rank or min(found, default=least) < least:
        raise refuse(where, f"a number ≥ {least}, or {rank} of them", given)
    return found


class Networks(Randomness):
    """What neural networks are made of."""

    __slots__ = ()

    # Attention ----------------------------------------------------------------------------------------------------

    def softmax(self, axis: int = -1) -> Self:
        """e^x over its sum along an axis, from the difference to the greatest element."""
        power = self._from_greatest(axis).exp()
        return power / power.sum(axis, keepdim=True)

    def log_softmax(self, axis: int = -1) -> Self:
        """The logarithm of the softmax."""
        shifted = self._from_greatest(axis)
        return shifted - shifted.exp().sum(axis, keepdim=True).log()

    def _from_greatest(self, axis: int) -> Self:
        """The difference to the greatest element, through which no derivative passes: what a softmax is does not depend
        on it, so all that would come back from it is rounding.
        """
        return self - self.of(Op.Detach(self.max(axis, keepdim=True).uop))

    def scaled_dot_product_attention(
        self,
        key: Operand,
        value: Operand,
        mask: Operand | None = None,
        is_causal: bool = False,
        scale: float | None = None,
    ) -> Self:
        """softmax(q·kᵀ·scale + mask)·v of q[…, L, E], k[…, S, E], v[…, S, V], as […, L, V]; scale is 1/√E.

        A mask of bools says which pairs count; one of numbers is added. `is_causal` lets position l see those up to l.
        A row that may see nothing is NaN, as in torch.
        """
        k, v = self.__class__(key), self.__class__(value)
        if min(self.ndim, k.ndim, v.ndim) < 2 or self.shape[-1] != k.shape[-1] or k.shape[-2] != v.shape[-2]:
            raise refuse("attention", "q[…, L, E], k[…, S, E] and v[…, S, V]", (self.shape, k.shape, v.shape))
        if mask is not None and is_causal:
            raise refuse("attention", "a mask or is_causal", "both")
        factor = 1.0 / math.sqrt(self.shape[-1]) if scale is None else scale
        scores = (self @ k.transpose()) * factor
        if is_causal:
            scores = (scores.place(-1) <= scores.place(-2)).where(scores, -math.inf)
        if mask is not None:
            m = self.__class__(mask)
            scores = m.where(scores, -math.inf) if m.dtype is bool_ else scores + m
        return scores.softmax(-1) @ v

    # Normalization ------------------------------------------------------------------------------------------------

    def layer_norm(
        self,
        axis: Axes = -1,
        weight: Operand | None = None,
        bias: Operand | None = None,
        eps: float = 1e-5,
    ) -> Self:
        """(x - mean)/√(var + eps) over axes, times `weight`, plus `bias`, which broadcast."""
        axes = axes_of(axis, self.ndim)
        if not self.dtype.is_float:
            raise refuse("layer_norm", "floats", self.dtype)
        apart = self.cast(accumulated(self.dtype)) - self._mean(axes)
        variance = self.of(sums.added((apart * apart).uop, axes)) / self._length(axes)
        return _scaled(apart * (variance + eps).rsqrt(), weight, bias).cast(self.dtype)

    def rms_norm(self, axis: Axes = -1, weight: Operand | None = None, eps: float = 1e-5) -> Self:
        """x/√(mean x² + eps) over axes, times `weight`, which broadcasts."""
        axes = axes_of(axis, self.ndim)
        if not self.dtype.is_float:
            raise refuse("rms_norm", "floats", self.dtype)
        real = self.cast(accumulated(self.dtype))
        return _scaled(real * ((real * real)._mean(axes) + eps).rsqrt(), weight, None).cast(self.dtype)

    def group_norm(
        self, groups: int, weight: Operand | None = None, bias: Operand | None = None, eps: float = 1e-5
    ) -> Self:
        """`layer_norm` over each group of channels of x[N, C, …]; `weight` and `bias` have one number per channel."""
        if self.ndim < 2 or groups < 1 or self.shape[1] % groups:
            raise refuse("group_norm", f"groups that divide the channels of x[N, C, …], {self.shape}", groups)
        parts = self.reshape(self.shape[0], groups, -1).layer_norm(-1, eps=eps).reshape(self.shape)
        return _scaled(parts, self._by_channel(weight), self._by_channel(bias)).cast(self.dtype)

    def batch_norm(
        self,
        mean: Operand | None = None,
        variance: Operand | None = None,
        weight: Operand | None = None,
        bias: Operand | None = None,
        eps: float = 1e-5,
    ) -> Self:
        """(x - mean)/√(variance + eps) for each channel of x[N, C, …], times `weight`, plus `bias`.

        Mean and variance are those of the batch where they are not given.
        """
        if self.ndim < 2 or (mean is None) != (variance is None):
            raise refuse("batch_norm", "x[N, C, …], and mean and variance both or neither", self.shape)
        if mean is None:
            axes = [0, *range(2, self.ndim)]
            return _scaled(
                self.layer_norm(axes, eps=eps), self._by_channel(weight), self._by_channel(bias)
            ).cast(self.dtype)
        apart = self - self._by_channel(mean)
        spread = self._by_channel(variance)
        assert spread is not None
        return _scaled(apart * (spread + eps).rsqrt(), self._by_channel(weight), self._by_channel(bias)).cast(
            self.dtype
        )

    def _by_channel(self, values: Operand | None) -> Self | None:
        if values is None:
            return None
        given = self.__class__(values)
        if given.shape != (self.shape[1],):
            raise refuse("normalization", f"one number for each of {self.shape[1]} channels", given.shape)
        return given.reshape(-1, *([1] * (self.ndim - 2)))

    def dropout(self, probability: float = 0.5, key: Key = None) -> Self:
        """Elements set to 0 with a probability below 1, the others divided by the rest of it."""
        if not 0.0 <= probability < 1.0:
            raise refuse("dropout", "a probability from 0 to below 1", probability)
        if probability == 0.0:
            return self
        kept = self.rand(self.shape, key=key) >= probability
        return kept.where(self * (1.0 / (1.0 - probability)), self.constant(0))

    # Convolution --------------------------------------------------------------------------------------------------

    def conv2d(
        self,
        weight: Operand,
        bias: Operand | None = None,
        stride: Sizes = 1,
        padding: Sizes = 0,
        dilation: Sizes = 1,
        groups: int = 1,
    ) -> Self:
        """The correlation of x[N, C, H, W] with weight[M, C/groups, K, L], plus bias[M], as torch's conv2d."""
        return self._convolved("conv2d", 2, weight, bias, stride, padding, dilation, groups)

    def conv1d(
        self,
        weight: Operand,
        bias: Operand | None = None,
        stride: Sizes = 1,
        padding: Sizes = 0,
        dilation: Sizes = 1,
        groups: int = 1,
    ) -> Self:
        """The correlation of x[N, C, W] with weight[M, C/groups, K], plus bias[M], as torch's conv1d."""
        return self._convolved("conv1d", 1, weight, bias, stride, padding, dilation, groups)

    def _convolved(
        self,
        where: str,
        rank: int,
        weight: Operand,
        bias: Operand | None,
        stride: Sizes,
        padding: Sizes,
        dilation: Sizes,
        groups: int,
    ) -> Self:
        w = self.__class__(weight)
        if self.ndim != rank + 2 or w.ndim != rank + 2 or self.dtype is bool_:
            raise refuse(where, f"x and weight of {rank + 2} axes", (self.shape, w.shape))
        c, (m, per_group) = self.shape[1], w.shape[:2]
        if groups < 1 or c != per_group * groups or m % groups:
            raise refuse(
                where, f"weight[M, C/{groups}, …] for x[N, C, …], {groups} dividing M", (self.shape, w.shape)
            )
        windows = self._windows(where, w.shape[2:], stride, padding, dilation)
        home = accumulated(self.dtype)
        total = convolved(self.cast(home), w.cast(home), windows, groups)
        if bias is not None:
            total = total + self.__class__(bias).cast(home).reshape(-1, *([1] * rank))
        return total.cast(self.dtype)

    def _windows(
        self,
        where: str,
        kernel: Sizes,
        stride: Sizes,
        padding: Sizes,
        dilation: Sizes,
        ceil_mode: bool = False,
    ) -> list[Window]:
        """The windows along the axes of space, which are all but the first two.

        With `ceil_mode` a last window may reach beyond the border, as long as it begins before the border's end.
        """
        space = self.shape[2:]
        rank = len(space)
        kernels, strides = _each(where, kernel, rank, 1), _each(where, stride, rank, 1)
        pads, steps = _each(where, padding, rank, 0), _each(where, dilation, rank, 1)
        found = []
        for size, k, s, p, d in zip(space, kernels, strides, pads, steps, strict=True):
            room = size + 2 * p - (k - 1) * d - 1
            if room < 0:
                raise refuse(
                    where, f"a window inside {size} elements and a border of {p}", f"{k} by steps of {d}"
                )
            count = room // s + 1
            if ceil_mode and room % s and count * s < size + p:
                count += 1
            found.append(Window(k, s, d, p, p, count))
        return found

    # Pooling ------------------------------------------------------------------------------------------------------

    def max_pool2d(
        self,
        kernel: Sizes,
        stride: Sizes | None = None,
        padding: Sizes = 0,
        dilation: Sizes = 1,
        ceil_mode: bool = False,
    ) -> Self:
        """The greatest element of each window of x[N, C, H, W]; the stride is the kernel unless given.

        With `ceil_mode` the last windows may reach beyond the border, where there is nothing, as in torch.
        """
        self._of_space("max_pool2d")
        step = kernel if stride is None else stride
        windows = self._windows("max_pool2d", kernel, step, padding, dilation, ceil_mode)
        least = -math.inf if self.dtype.is_float else self.dtype.min
        return unfolded(bordered(self, windows, least), windows).max((-2, -1))

    def avg_pool2d(
        self,
        kernel: Sizes,
        stride: Sizes | None = None,
        padding: Sizes = 0,
        count_include_pad: bool = True,
        ceil_mode: bool = False,
    ) -> Self:
        """The mean of each window of x[N, C, H, W]; the stride is the kernel unless given.

        The border counts as zeros, or not at all if `count_include_pad` is False. With `ceil_mode` the last windows may
        reach beyond the border, where nothing counts.
        """
        self._of_space("avg_pool2d")
        step = kernel if stride is None else stride
        windows = self._windows("avg_pool2d", kernel, step, padding, 1, ceil_mode)
        real = self.cast(accumulated(self.dtype))
        total, space = real._window_sums(windows), self.shape[2:]
        if count_include_pad and not any(w.overhang(s) for w, s in zip(windows, space, strict=True)):
            return (total / float(math.prod(w.kernel for w in windows))).cast(self.dtype)
        if count_include_pad:
            space = tuple(w.before + s + w.after for w, s in zip(windows, space, strict=True))
            windows = [replace(w, before=0, after=0) for w in windows]
        ones = self.ones((1, 1, *space), dtype=real.dtype)
        return (total / ones._window_sums(windows)).cast(self.dtype)

    def _window_sums(self, windows: Sequence[Window]) -> Self:
        views = unfolded(bordered(self, windows, 0), windows)
        total = sums.reduced(views.uop, Op.Add, [views.ndim - 2, views.ndim - 1])
        return self.of(total).reshape(views.shape[:-2])

    def _of_space(self, where: str) -> None:
        if self.ndim != 4:
            raise refuse(where, "x[N, C, H, W]", self.shape)

    # Losses -------------------------------------------------------------------------------------------------------

    def _loss(self, where: str, reduction: str) -> Self:
        """What becomes of the losses of all elements: their mean, their sum, or with ``"none"`` nothing."""
        if reduction == "mean":
            return self.mean()
        if reduction == "sum":
            return self.sum()
        if reduction == "none":
            return self
        raise refuse(where, '"mean", "sum" or "none" as reduction', repr(reduction))

    def mse_loss(self, target: Operand, reduction: str = "mean") -> Self:
        """The mean of (x - y)², or their sum, or with the reduction ``"none"`` each."""
        apart: Self = self - target
        return apart.square()._loss("mse_loss", reduction)

    def cross_entropy(self, target: Operand, axis: int = -1, reduction: str = "mean") -> Self:
        """The mean of -log_softmax(x) at the class that `target` names, or their sum, or each.

        `target` has the shape of x without the axis of classes and holds integers; or the shape of x, and holds the
        probability of each class.
        """
        at, y = axis_of(axis, self.ndim), self.__class__(target)
        logs = self.log_softmax(at)
        without = (*self.shape[:at], *self.shape[at + 1 :])
        if y.dtype.is_float and y.shape == self.shape:
            weighed = logs * y
            return -weighed.sum(at)._loss("cross_entropy", reduction)
        if y.dtype.is_float or y.dtype is bool_ or y.shape != without:
            raise refuse(
                "cross_entropy", f"integers of shape {without}, or floats of {self.shape}", (y.dtype, y.shape)
            )
        return logs.nll_loss(y, at, reduction)

    def nll_loss(self, target: Operand, axis: int = -1, reduction: str = "mean") -> Self:
        """The mean of -x at the class that `target`, integers of the shape of x without the axis, names.

        Or their sum, or with the reduction ``"none"`` each.
        """
        at, y = axis_of(axis, self.ndim), self.__class__(target)
        without = (*self.shape[:at], *self.shape[at + 1 :])
        if y.dtype.is_float or y.dtype is bool_ or y.shape != without:
            raise refuse("nll_loss", f"integers of shape {without}", (y.dtype, y.shape))
        return -self._chosen(self.place(at) == y.unsqueeze(at), at)._loss("nll_loss", reduction)

    def binary_cross_entropy_with_logits(self, target: Operand, reduction: str = "mean") -> Self:
        """The mean of -y·ln σ(x) - (1 - y)·ln(1 - σ(x)), as softplus(x) - x·y; or their sum, or each."""
        each: Self = self.softplus() - self * target
        return each._loss("binary_cross_entropy_with_logits", reduction)


def _scaled(x: T, weight: Operand | None, bias: Operand | None) -> T:
    """x · weight + bias, as far as they are given."""
    product = x if weight is None else x * weight
    return product if bias is None else product + bias
