"""
Arithmetic
==========

Operators and comparisons. Shapes broadcast and dtypes promote; both are written into the graph as movement ops and
casts, because UOps themselves do neither (U-14, U-20).
"""

from __future__ import annotations

from typing import Self

from soundline.impl.arrays.operands import broadcast, is_number
from soundline.impl.arrays.promotion import DTypeLike, check_dtype, floating, promoted, weak
from soundline.impl.arrays.sizes import capacity, is_size
from soundline.impl.tensors.core.values import Operand, Values, as_graph
from soundline.spec.dtypes import DType, bool_
from soundline.spec.errors import UsageError
from soundline.spec.uop import Op, UOp, broadcast_to, const, element_of


def cast(x: UOp, dtype: DType) -> UOp:
    """A graph in another dtype."""
    return x if x.dtype is dtype else Op.Cast(x, arg=dtype)


def typed(a: Operand, b: Operand) -> tuple[UOp, UOp]:
    """Two operands in the dtype that they promote to; a Python number and a symbolic size are weak."""
    x, y = as_graph(a, _weakly(a, b)), as_graph(b, _weakly(b, a))
    dtype = promoted(x.dtype, y.dtype)
    return cast(x, dtype), cast(y, dtype)


def _weakly(a: Operand, b: Operand) -> DType | None:
    """The dtype that an operand takes from the other one, if it does."""
    if not isinstance(b, Values) or not (is_number(a) or is_size(a)):
        return None
    greatest = capacity((a,)) if is_size(a) else a
    return check_dtype(weak(greatest, b.dtype))


def aligned(a: Operand, b: Operand) -> tuple[UOp, ...]:
    """Two operands in one dtype and one shape."""
    return broadcast(*typed(a, b))


def reversed_order(x: UOp) -> UOp:
    """An order-reversing bijection of a dtype that is its own inverse: -x, ~x, ¬x."""
    if x.dtype.is_float:
        return Op.Neg(x)
    if x.dtype is bool_:
        return Op.Not(x)
    ones = const(-1 if x.dtype.signed else int(x.dtype.max), x.dtype)
    return Op.Xor(x, broadcast_to(ones, x.shape or ()))


class Arithmetic(Values):
    """Operators, comparisons, casts and the choice between two."""

    __slots__ = ()

    def _binary(self, op: Op, a: Operand, b: Operand) -> Self:
        return self.of(UOp(op, aligned(a, b)))

    def _quotient(self, a: Operand, b: Operand) -> Self:
        """a / b; integers are divided as floats."""
        x, y = aligned(a, b)
        real = floating(x.dtype)
        return self.of(Op.Div(cast(x, real), cast(y, real)))

    def constant(self, value: bool | int | float) -> Self:
        """A tensor like this one, of its shape and dtype, with one value everywhere; integers wrap, floats round."""
        return self.of(broadcast_to(const(element_of(value, self.dtype), self.dtype), self.shape))

    def cast(self, dtype: DTypeLike) -> Self:
        """Convert each element: integers wrap, floats round, and a float to an integer truncates and saturates."""
        dtype = check_dtype(dtype)
        if dtype is self.dtype:
            return self
        return self.of(Op.Cast(self.uop, arg=dtype))

    def bitcast(self, dtype: DTypeLike) -> Self:
        """The bytes of the elements read as another dtype of the same size; a `UsageError` for another size."""
        dtype = check_dtype(dtype)
        if dtype.bits != self.dtype.bits or bool_ in (dtype, self.dtype):
            raise UsageError(f"expected a dtype of {self.dtype.bits} bits; got {dtype}", where="bitcast")
        return self if dtype is self.dtype else self.of(Op.Bitcast(self.uop, arg=dtype))

    # Operators ----------------------------------------------------------------------------------------------------

    def __add__(self, other: Operand) -> Self:
        return self._binary(Op.Add, self, other)

    def __radd__(self, other: Operand) -> Self:
        return self._binary(Op.Add, other, self)

    def __sub__(self, other: Operand) -> Self:
        return self._binary(Op.Sub, self, other)

    def __rsub__(self, other: Operand) -> Self:
        return self._binary(Op.Sub, other, self)

    def __mul__(self, other: Operand) -> Self:
        return self._binary(Op.Mul, self, other)

    def __rmul__(self, other: Operand) -> Self:
        return self._binary(Op.Mul, other, self)

    def __truediv__(self, other: Operand) -> Self:
        return self._quotient(self, other)

    def __rtruediv__(self, other: Operand) -> Self:
        return self._quotient(other, self)

    def __floordiv__(self, other: Operand) -> Self:
        return self._binary(Op.Idiv, self, other)

    def __rfloordiv__(self, other: Operand) -> Self:
        return self._binary(Op.Idiv, other, self)

    def __mod__(self, other: Operand) -> Self:
        return self._binary(Op.Mod, self, other)

    def __rmod__(self, other: Operand) -> Self:
        return self._binary(Op.Mod, other, self)

    def __and__(self, other: Operand) -> Self:
        return self._binary(Op.And, self, other)

    def __rand__(self, other: Operand) -> Self:
        return self._binary(Op.And, other, self)

    def __or__(self, other: Operand) -> Self:
        return self._binary(Op.Or, self, other)

    def __ror__(self, other: Operand) -> Self:
        return self._binary(Op.Or, other, self)

    def __xor__(self, other: Operand) -> Self:
        return self._binary(Op.Xor, self, other)

    def __rxor__(self, other: Operand) -> Self:
        return self._binary(Op.Xor, other, self)

    def __lshift__(self, other: Operand) -> Self:
        return self._binary(Op.Shl, self, other)

    def __rlshift__(self, other: Operand) -> Self:
        return self._binary(Op.Shl, other, self)

    def __rshift__(self, other: Operand) -> Self:
        return self._binary(Op.Shr, self, other)

    def __rrshift__(self, other: Operand) -> Self:
        return self._binary(Op.Shr, other, self)

    def __lt__(self, other: Operand) -> Self:
        return self._binary(Op.CmpLt, self, other)

    def __le__(self, other: Operand) -> Self:
        return self._binary(Op.CmpLe, self, other)

    def __gt__(self, other: Operand) -> Self:
        return self._binary(Op.CmpGt, self, other)

    def __ge__(self, other: Operand) -> Self:
        return self._binary(Op.CmpGe, self, other)

    def __eq__(self, other: Operand) -> Self:  # type: ignore[override]  # elementwise, as in numpy
        return self._binary(Op.CmpEq, self, other)

    def __ne__(self, other: Operand) -> Self:  # type: ignore[override]  # elementwise, as in numpy
        return self._binary(Op.CmpNe, self, other)

    __hash__ = Values.__hash__

    def __neg__(self) -> Self:
        return self.of(Op.Neg(self.uop))

    def __pos__(self) -> Self:
        return self

    def __invert__(self) -> Self:
        if self.dtype.is_float:
            raise UsageError(f"expected bools or integers; got {self.dtype}", where="~")
        return self.of(reversed_order(self.uop))

    def __abs__(self) -> Self:
        return self.maximum(-self) if self.dtype.signed else self

    def abs(self) -> Self:
        """The magnitude; the least integer stays as it is, because it is not supported."""
        return self.__abs__()

    def eq(self, other: Operand) -> Self:
        """Whether x = y, as ``==``; False for NaN, and -0 = 0."""
        return self._binary(Op.CmpEq, self, other)

    def ne(self, other: Operand) -> Self:
        """Whether x ≠ y, as ``!=``; True for NaN."""
        return self._binary(Op.CmpNe, self, other)

    def maximum(self, other: Operand) -> Self:
        """The greater of each pair; NaN if either is NaN, and +0 is above -0. Shapes broadcast, dtypes promote."""
        return self._binary(Op.Max, self, other)

    def minimum(self, other: Operand) -> Self:
        """The lesser of each pair; NaN if either is NaN, and -0 is less than +0. Shapes broadcast, dtypes promote."""
        a, b = aligned(self, other)
        return self.of(reversed_order(Op.Max(reversed_order(a), reversed_order(b))))

    def where(self, a: Operand, b: Operand) -> Self:
        """`a` where this tensor of bools is True, else `b`. The three shapes broadcast, `a` and `b` promote."""
        x, y = typed(a, b)
        p, x, y = broadcast(self.uop, x, y)
        return self.of(Op.Where(p, x, y))

    # What the law has of itself -----------------------------------------------------------------------------------

    def reciprocal(self) -> Self:
        """1/x, correctly rounded."""
        return self._real(Op.Recip)

    def sqrt(self) -> Self:
        """√x, correctly rounded; NaN below 0, and √-0 = -0."""
        return self._real(Op.Sqrt)

    def exp2(self) -> Self:
        """2^x."""
        return self._real(Op.Exp2)

    def log2(self) -> Self:
        """log₂ x; -∞ at ±0, NaN below."""
        return self._real(Op.Log2)

    def trunc(self) -> Self:
        """x rounded toward zero; integers are unchanged."""
        return self.of(Op.Trunc(self.uop)) if self.dtype.is_float else self

    def relu(self) -> Self:
        """The greater of x and 0."""
        return self.maximum(0)

    def _real(self, op: Op) -> Self:
        return self.of(UOp(op, (cast(self.uop, floating(self.dtype)),)))
