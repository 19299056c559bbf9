"""
Activations
===========

More functions of each element that neural networks are made of, as torch names them. Parameters of pieces are those of
the papers that introduced them.
"""

from __future__ import annotations

from typing import Self

from soundline.impl.arrays.operands import axis_of
from soundline.impl.tensors.core.values import Operand
from soundline.impl.tensors.methods.elementwise import Elementwise
from soundline.impl.tensors.methods.movement import Movement, refuse
from soundline.impl.tensors.numerics import gates

SELU_ALPHA, SELU_SCALE = 1.6732632423543772, 1.0507009873554805


class Activations(Movement, Elementwise):
    """Functions of each element with a bend."""

    __slots__ = ()

    def relu6(self) -> Self:
        """x kept between 0 and 6."""
        return self.clip(0, 6)

    def hardtanh(self, least: float = -1.0, greatest: float = 1.0) -> Self:
        """x kept between `least` and `greatest`."""
        return self.clip(least, greatest)

    def hardsigmoid(self) -> Self:
        """x/6 + ½, kept between 0 and 1."""
        return (self._as_real / 6.0 + 0.5).clip(0.0, 1.0)

    def hardswish(self) -> Self:
        """x·hardsigmoid x."""
        return self.hardsigmoid() * self._as_real.maximum(-3.0)  # -∞·0 would be NaN

    def hardshrink(self, bound: float = 0.5) -> Self:
        """x where it is further than `bound` from 0, and 0 elsewhere; NaN stays."""
        return (self.abs() <= bound).where(self.constant(0), self)

    def softshrink(self, bound: float = 0.5) -> Self:
        """x nearer to 0 by `bound`, and 0 where it is no further than that; NaN stays."""
        x = self._as_real
        return x - x.clip(-bound, bound)

    def selu(self) -> Self:
        """`elu` with the scale and slope at which layers keep mean 0 and variance 1."""
        return self.elu(SELU_ALPHA) * SELU_SCALE

    def celu(self, alpha: float = 1.0) -> Self:
        """x, and `alpha`·(e^(x/alpha) - 1) where it is below 0."""
        x = self._as_real
        above = x > 0.0
        return above.where(x, (above.where(0.0, x) / alpha).expm1() * alpha)

    def mish(self) -> Self:
        """x·tanh(ln(1 + e^x))."""
        return gates.mish(self._as_real)

    def softsign(self) -> Self:
        """x / (1 + abs x)."""
        return gates.softsign(self._as_real)

    def tanhshrink(self) -> Self:
        """x - tanh x."""
        return gates.tanhshrink(self._as_real)

    def logsigmoid(self) -> Self:
        """The logarithm of the sigmoid, as -softplus(-x)."""
        return -((-self._as_real).softplus())

    def threshold(self, bound: float, value: float) -> Self:
        """x where it is above `bound`, and `value` elsewhere; NaN stays."""
        return (self <= bound).where(self.constant(value), self)

    def prelu(self, slope: Operand) -> Self:
        """x, multiplied by `slope` where it is below 0.

        A slope is one number, or one for each channel of x[N, C, …].
        """
        factor = self.__class__(slope)
        if factor.size != 1:
            if self.ndim < 2 or factor.shape != (self.shape[1],):
                raise refuse("prelu", f"one slope, or one for each channel of {self.shape}", factor.shape)
            factor = factor.reshape(-1, *([1] * (self.ndim - 2)))
        return (self < 0).where(self * factor.reshape(factor.shape if factor.size != 1 else ()), self)

    def glu(self, axis: int = -1) -> Self:
        """The first half of an axis, times the sigmoid of the second half."""
        at = axis_of(axis, self.ndim)
        if self.shape[at] % 2:
            raise refuse("glu", f"an even size of axis {axis}", self.shape)
        value, gate = self.chunk(2, at)
        return value * gate.sigmoid()
