"""
Divisions
=========

Quotients and remainders of floats, powers of integers by integers, and the operators by name. ``//`` and ``%`` round
toward -∞ for every dtype: the remainder has the sign of the divisor, and is what numpy's is, bit for bit, as long as
`fmod` is exact. Integers keep the division of the specification: a quotient by 0 is 0, and a remainder by 0 is x.
Floats give the same as IEEE and numpy: x / 0, and NaN.
"""

from __future__ import annotations

import math
from typing import Self

from soundline.impl.arrays.promotion import accumulated
from soundline.impl.tensors.core.arithmetic import aligned
from soundline.impl.tensors.core.values import Operand
from soundline.impl.tensors.methods.elementwise import Elementwise
from soundline.impl.tensors.methods.movement import refuse
from soundline.impl.tensors.numerics import special
from soundline.spec.dtypes import bool_
from soundline.spec.uop import Op

_ROUNDINGS = (None, "floor", "trunc")


class Divisions(Elementwise):
    """Quotients, remainders and powers, and the operators by name."""

    __slots__ = ()

    # Quotients and remainders -------------------------------------------------------------------------------------

    def __floordiv__(self, other: Operand) -> Self:
        return self._divided(self, other)[0]

    def __rfloordiv__(self, other: Operand) -> Self:
        return self._divided(other, self)[0]

    def __mod__(self, other: Operand) -> Self:
        return self._divided(self, other)[1]

    def __rmod__(self, other: Operand) -> Self:
        return self._divided(other, self)[1]

    def __divmod__(self, other: Operand) -> tuple[Self, Self]:
        return self._divided(self, other)

    def __rdivmod__(self, other: Operand) -> tuple[Self, Self]:
        return self._divided(other, self)

    def _divided(self, a: Operand, b: Operand) -> tuple[Self, Self]:
        """The greatest integer that is at most a / b, and a less b times that."""
        x, y = (self.of(v) for v in aligned(a, b))
        if not x.dtype.is_float:
            return self.of(Op.Idiv(x.uop, y.uop)), self.of(Op.Mod(x.uop, y.uop))
        own, home = x.dtype, accumulated(x.dtype)
        quotient, remainder = x.cast(home)._floored(y.cast(home))
        return quotient.cast(own), remainder.cast(own)

    def _floored(self, y: Self) -> tuple[Self, Self]:
        """The same for floats of one dtype and shape, in the steps of numpy (and of Python).

        The truncated remainder is exact, and x less it is a multiple of y up to one rounding; the quotient is rounded
        down, or up where rounding has brought it below.
        """
        rest = special.remainder_truncated(self, y)
        opposed = rest.ne(0.0) & ((y < 0.0) ^ (rest < 0.0))
        quotient = (self - rest) / y
        quotient = opposed.where(quotient - 1.0, quotient)
        whole = quotient.floor()
        whole = ((quotient - whole) > 0.5).where(whole + 1.0, whole)
        plain: Self = self / y
        whole = quotient.eq(0.0).where(plain * 0.0, whole)  # a zero has the sign of x / y
        remainder = opposed.where(rest + y, rest.eq(0.0).where(_with_sign_of(rest, y), rest))
        none = y.eq(0.0)
        return none.where(plain, whole), none.where(self.constant(math.nan), remainder)

    def floor_divide(self, other: Operand) -> Self:
        """x // y: the quotient, rounded toward -∞."""
        return self._divided(self, other)[0]

    def remainder(self, other: Operand) -> Self:
        """x % y: x less y·(x // y), with the sign of y."""
        return self._divided(self, other)[1]

    def mod(self, other: Operand) -> Self:
        """x % y: x less y·(x // y), with the sign of y."""
        return self._divided(self, other)[1]

    # Powers -------------------------------------------------------------------------------------------------------

    def _power(self, a: Operand, b: Operand) -> Self:
        x, y = (self.of(v) for v in aligned(a, b))
        if x.dtype.is_float:
            return super()._power(a, b)
        if x.dtype is bool_:
            raise refuse("pow", "numbers", "bools")
        return x._integer_power(y)

    def _integer_power(self, y: Self) -> Self:
        """x^y of integers of one dtype, wrapping, by repeated squaring over the bits of y.

        A power below 0 is 1/x^-y, truncated: 0 but for 1 and -1, and 0 of 0 as torch has it.
        """
        one, zero = self.constant(1), self.constant(0)
        digits = self.dtype.bits - (1 if self.dtype.signed else 0)
        result, square = one, self
        for k in range(digits):
            bit = y & (1 << k)
            result = bit.ne(0).where(result * square, result)
            square = square * square
        if not self.dtype.signed:
            return result
        odd = (y & 1).ne(0)
        unit = self.eq(1).where(one, self.eq(-1).where(odd.where(self.constant(-1), one), zero))
        return (y < 0).where(unit, result)

    # Names --------------------------------------------------------------------------------------------------------

    def add(self, other: Operand, alpha: float = 1) -> Self:
        """x + alpha·y. Shapes broadcast, dtypes promote."""
        return self._binary(Op.Add, self, _scaled(self, other, alpha))

    def sub(self, other: Operand, alpha: float = 1) -> Self:
        """x - alpha·y. Shapes broadcast, dtypes promote."""
        return self._binary(Op.Sub, self, _scaled(self, other, alpha))

    def mul(self, other: Operand) -> Self:
        """x · y. Shapes broadcast, dtypes promote."""
        return self._binary(Op.Mul, self, other)

    def div(self, other: Operand, rounding_mode: str | None = None) -> Self:
        """x / y, integers as floats; with the rounding mode ``"floor"`` x // y, with ``"trunc"`` rounded toward 0."""
        if rounding_mode not in _ROUNDINGS:
            raise refuse("div", '"floor", "trunc" or None', repr(rounding_mode))
        if rounding_mode == "floor":
            return self._divided(self, other)[0]
        if rounding_mode is None:
            return self._quotient(self, other)
        x, y = (self.of(v) for v in aligned(self, other))
        return (x / y).trunc() if x.dtype.is_float else self.of(Op.CDiv(x.uop, y.uop))

    def neg(self) -> Self:
        """-x; the least integer stays as it is."""
        return -self

    def lt(self, other: Operand) -> Self:
        """Whether x < y; False for NaN."""
        return self._binary(Op.CmpLt, self, other)

    def le(self, other: Operand) -> Self:
        """Whether x ≤ y; False for NaN."""
        return self._binary(Op.CmpLe, self, other)

    def gt(self, other: Operand) -> Self:
        """Whether x > y; False for NaN."""
        return self._binary(Op.CmpGt, self, other)

    def ge(self, other: Operand) -> Self:
        """Whether x ≥ y; False for NaN."""
        return self._binary(Op.CmpGe, self, other)


def _with_sign_of(zero: Divisions, y: Divisions) -> Divisions:
    """A zero with the sign of y, and with the derivatives that it had."""
    constant = zero.of(Op.Detach(zero.uop))
    return (y < 0.0).where(-(constant - zero), zero - constant)


def _scaled(x: Divisions, other: Operand, alpha: float) -> Operand:
    return other if alpha == 1 else x.__class__(other) * alpha
