"""
Elementwise functions
=====================

Functions of each element. Functions of real numbers take integers too, as the float that they promote to with float32;
narrow floats are computed in float32 and rounded once. `special` and `elementary` define the functions and state their
accuracy.
"""

from __future__ import annotations

import math
from typing import Self

from soundline.impl.analysis import elementary
from soundline.impl.arrays.promotion import floating
from soundline.impl.tensors.core.arithmetic import Arithmetic, aligned, cast
from soundline.impl.tensors.core.values import Operand
from soundline.impl.tensors.methods.movement import refuse
from soundline.impl.tensors.numerics import gates, normal, special
from soundline.spec.dtypes import bool_
from soundline.spec.uop import Op


class Elementwise(Arithmetic):
    """Functions of each element."""

    __slots__ = ()

    @property
    def _as_real(self) -> Self:
        return self.cast(floating(self.dtype))

    # Exponentials and powers --------------------------------------------------------------------------------------

    def exp(self) -> Self:
        """e^x, within 2 ulp."""
        return self.of(elementary.exp(self._as_real.uop))

    def log(self) -> Self:
        """ln x, within 2 ulp; -∞ at ±0, NaN below."""
        return self.of(elementary.log(self._as_real.uop))

    def log10(self) -> Self:
        """The logarithm to the base 10, as ln x / ln 10."""
        return self.log() / math.log(10.0)

    def log1p(self) -> Self:
        """ln(1 + x), also where x is small."""
        return special.log1p(self._as_real)

    def expm1(self) -> Self:
        """e^x - 1, also where x is small."""
        return special.expm1(self._as_real)

    def square(self) -> Self:
        """x·x."""
        return self * self

    def rsqrt(self) -> Self:
        """1/√x, rounded twice."""
        return self.sqrt().reciprocal()

    def pow(self, exponent: Operand) -> Self:
        """x to the power of `exponent`; shapes broadcast and dtypes promote.

        The exponents 1, 2 and 3 as Python numbers are multiplied out. Integers have only powers ≥ 0 that are given as a
        Python int, by repeated squaring, wrapping. Everything else is Pow on floats.
        """
        if isinstance(exponent, int | float) and not isinstance(exponent, bool):
            if exponent in (1, 2, 3):
                x = self.of(aligned(self, exponent)[0])  # integers to the power of a float are floats
                return (x, x * x, x * x * x)[int(exponent) - 1]
            if isinstance(exponent, int) and not self.dtype.is_float:
                return self._whole_power(exponent)
        return self._power(self, exponent)

    def _whole_power(self, exponent: int) -> Self:
        if exponent < 0 or self.dtype is bool_:
            raise refuse("pow", "an exponent ≥ 0 for numbers of an integer dtype, or floats", exponent)
        result, square = self.constant(1), self
        while exponent:
            result = result * square if exponent & 1 else result
            exponent >>= 1
            square = square * square if exponent else square
        return result

    def _power(self, a: Operand, b: Operand) -> Self:
        x, y = aligned(a, b)
        if not x.dtype.is_float:
            raise refuse("pow", "floats, or integers with a Python int", f"{x.dtype} and {y.dtype}")
        home = special.home_of(x.dtype)
        return self.of(cast(Op.Pow(cast(x, home), cast(y, home)), x.dtype))

    def __pow__(self, exponent: Operand) -> Self:
        return self.pow(exponent)

    def __rpow__(self, base: Operand) -> Self:
        return self._power(base, self)

    # Angles -------------------------------------------------------------------------------------------------------

    def sin(self) -> Self:
        """sin x; NaN at ±∞."""
        return special.sin(self._as_real)

    def cos(self) -> Self:
        """cos x; NaN at ±∞."""
        return special.cos(self._as_real)

    def tan(self) -> Self:
        """sin x / cos x."""
        return special.tan(self._as_real)

    def asin(self) -> Self:
        """The angle in [-π/2, π/2] whose sine is x; NaN outside [-1, 1]."""
        return special.asin(self._as_real)

    def acos(self) -> Self:
        """The angle in [0, π] whose cosine is x; NaN outside [-1, 1]."""
        return special.acos(self._as_real)

    def atan(self) -> Self:
        """The angle in [-π/2, π/2] whose tangent is x."""
        return special.atan(self._as_real)

    def sinh(self) -> Self:
        """(e^x - e^-x) / 2."""
        return special.sinh(self._as_real)

    def cosh(self) -> Self:
        """(e^x + e^-x) / 2."""
        return special.cosh(self._as_real)

    def tanh(self) -> Self:
        """sinh x / cosh x."""
        return special.tanh(self._as_real)

    def asinh(self) -> Self:
        """The inverse of sinh."""
        return special.asinh(self._as_real)

    def acosh(self) -> Self:
        """The inverse of cosh; NaN below 1."""
        return special.acosh(self._as_real)

    def atanh(self) -> Self:
        """The inverse of tanh; NaN outside [-1, 1]."""
        return special.atanh(self._as_real)

    # Activations --------------------------------------------------------------------------------------------------

    def erf(self) -> Self:
        """The error function (2/√π)·∫₀ˣ e^-t² dt."""
        return normal.erf(self._as_real)

    def sigmoid(self) -> Self:
        """1 / (1 + e^-x)."""
        return special.logistic(self._as_real)

    def softplus(self) -> Self:
        """ln(1 + e^x)."""
        return special.softplus(self._as_real)

    def silu(self) -> Self:
        """x·sigmoid x."""
        return gates.silu(self._as_real)

    def gelu(self, approximate: str = "none") -> Self:
        """x·Φ(x), by erf; or with ``"tanh"`` x/2·(1 + tanh(√(2/π)·(x + 0.044715·x³)))."""
        if approximate not in ("none", "tanh"):
            raise refuse("gelu", '"none" or "tanh"', repr(approximate))
        x = self._as_real
        return normal.gelu(x) if approximate == "none" else gates.gelu_by_tanh(x)

    def leaky_relu(self, slope: float = 0.01) -> Self:
        """x, multiplied by `slope` where it is below 0."""
        return (self < 0).where(self * slope, self)

    def elu(self, alpha: float = 1.0) -> Self:
        """x, and `alpha`·(e^x - 1) where it is below 0."""
        x = self._as_real
        above = x > 0.0
        return above.where(x, above.where(0.0, x).expm1() * alpha)

    # Rounding and parts -------------------------------------------------------------------------------------------

    def floor(self) -> Self:
        """The greatest integer that is at most x; integers are left alone."""
        return special.floor(self)

    def ceil(self) -> Self:
        """The least integer that is at least x; integers are left alone."""
        return special.ceil(self)

    def round(self) -> Self:
        """The integer nearest to x, of two the even one; integers are left alone."""
        return special.round_half_even(self)

    def sign(self) -> Self:
        """-1, 0 or 1; a zero and NaN are kept."""
        return special.sign(self)

    def clip(self, least: Operand | None = None, greatest: Operand | None = None) -> Self:
        """x kept between `least` and `greatest`, either of which may be left out; NaN passes. Shapes broadcast."""
        if least is None and greatest is None:
            raise refuse("clip", "a minimum or a maximum", "neither")
        raised = self if least is None else self.maximum(least)
        return raised if greatest is None else raised.minimum(greatest)

    def clamp(self, min: Operand | None = None, max: Operand | None = None) -> Self:  # noqa: A002  # torch's names
        """`clip`, as torch calls it."""
        return self.clip(min, max)

    def fmod(self, other: Operand) -> Self:
        """x - y·trunc(x/y), exact, with the sign of x."""
        x, y = aligned(self, other)
        left, right = self.of(x), self.of(y)
        return special.remainder_truncated(left, right)

    def lerp(self, end: Operand, weight: Operand) -> Self:
        """x + (end - x)·weight."""
        rise: Self = self._binary(Op.Sub, end, self) * weight
        return self + rise

    # Truth --------------------------------------------------------------------------------------------------------

    def isnan(self) -> Self:
        """Whether x is NaN; an integer never is."""
        return self != self if self.dtype.is_float else self._nowhere()

    def isinf(self) -> Self:
        """Whether x is ∞ or -∞; an integer never is."""
        rest = self - self if self.dtype.is_float else self
        return (self == self) & (rest != rest) if self.dtype.is_float else self._nowhere()

    def isfinite(self) -> Self:
        """Whether x is neither NaN nor infinite; an integer always is."""
        return (self - self).eq(0.0) if self.dtype.is_float else ~self._nowhere()

    def _nowhere(self) -> Self:
        return self.constant(0).cast(bool_)

    def logical_not(self) -> Self:
        """Whether x is 0."""
        return ~self.cast(bool_)

    def logical_and(self, other: Operand) -> Self:
        """Whether neither is 0. Shapes broadcast."""
        return self._logical(Op.And, other)

    def logical_or(self, other: Operand) -> Self:
        """Whether one of them is not 0. Shapes broadcast."""
        return self._logical(Op.Or, other)

    def logical_xor(self, other: Operand) -> Self:
        """Whether just one of them is 0. Shapes broadcast."""
        return self._logical(Op.Xor, other)

    def _logical(self, op: Op, other: Operand) -> Self:
        return self._binary(op, self.cast(bool_), self.__class__(other).cast(bool_))

    def isclose(
        self, other: Operand, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False
    ) -> Self:
        """Whether x and y are at most atol + rtol·abs(y) apart, or equal infinities; NaN is close to NaN if asked."""
        y = self.__class__(other)
        a, b = self._as_real, y._as_real
        near = (abs(a - b) <= abs(b) * rtol + atol) & b.isfinite() | (a == b)
        return near | (a.isnan() & b.isnan()) if equal_nan else near
