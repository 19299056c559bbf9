"""
Steps of programs
=================

The operations with which the programs of `Exp2`, `Log2`, `Sin`, `Pow` and `Threefry` are written. A step is one op on
scalars or on arrays of one shape; a Python number among its operands stands for the constant of the other operand's
dtype and shape.
"""

from __future__ import annotations

import builtins
from dataclasses import dataclass

from soundline.spec.dtypes import DType, Element, exponent_range, float32, float64, int32, int64, to_bits
from soundline.spec.ops.node import Op
from soundline.spec.uop import UOp, broadcast_to, const, element_of

Operand = UOp | bool | int | float
"""A node, or a number that becomes a constant."""


def like(x: UOp, value: Element, dtype: DType | None = None) -> UOp:
    """A constant of the shape of x, and of its dtype unless another is given."""
    assert x.shape is not None
    wanted = dtype or x.dtype
    return broadcast_to(const(element_of(value, wanted), wanted), x.shape)


def _step(op: Op, a: Operand, b: Operand) -> UOp:
    model = a if isinstance(a, UOp) else b
    assert isinstance(model, UOp)
    return UOp(op, tuple(x if isinstance(x, UOp) else like(model, x) for x in (a, b)))


def add(a: Operand, b: Operand) -> UOp:
    """a + b."""
    return _step(Op.Add, a, b)


def sub(a: Operand, b: Operand) -> UOp:
    """a - b."""
    return _step(Op.Sub, a, b)


def mul(a: Operand, b: Operand) -> UOp:
    """a · b."""
    return _step(Op.Mul, a, b)


def div(a: Operand, b: Operand) -> UOp:
    """a / b."""
    return _step(Op.Div, a, b)


def less(a: Operand, b: Operand) -> UOp:
    """[a < b]."""
    return _step(Op.CmpLt, a, b)


def unequal(a: Operand, b: Operand) -> UOp:
    """[a ≠ b], which holds of NaN and itself."""
    return _step(Op.CmpNe, a, b)


def both(a: Operand, b: Operand) -> UOp:
    """And: of bits, or of conditions."""
    return _step(Op.And, a, b)


def either(a: Operand, b: Operand) -> UOp:
    """Or: of bits, or of conditions."""
    return _step(Op.Or, a, b)


def differ(a: Operand, b: Operand) -> UOp:
    """Exclusive or: of bits, or of conditions."""
    return _step(Op.Xor, a, b)


def left(a: Operand, b: Operand) -> UOp:
    """a ≪ b."""
    return _step(Op.Shl, a, b)


def right(a: Operand, b: Operand) -> UOp:
    """a ≫ b."""
    return _step(Op.Shr, a, b)


def where(p: UOp, a: Operand, b: Operand) -> UOp:
    """a where p, else b."""
    model = a if isinstance(a, UOp) else b
    assert isinstance(model, UOp)
    return UOp(Op.Where, (p, *(x if isinstance(x, UOp) else like(model, x) for x in (a, b))))


def cast(x: UOp, dtype: DType) -> UOp:
    """x converted; x itself where it has the dtype."""
    return x if x.dtype is dtype else UOp(Op.Cast, (x,), dtype)


def bits(x: UOp, dtype: DType) -> UOp:
    """The bit pattern of x read as another dtype."""
    return UOp(Op.Bitcast, (x,), dtype)


def polynomial(x: UOp, coefficients: list[float]) -> UOp:
    """c₀ + x·(c₁ + x·(c₂ + …)), rounded at every step."""
    total = like(x, coefficients[-1])
    for c in reversed(coefficients[:-1]):
        total = add(c, mul(x, total))
    return total


@dataclass(frozen=True, slots=True)
class Format:
    """A float format to compute in: its integer twin, and the lengths of the two series in it."""

    float: DType
    int: DType
    exp2_terms: builtins.int
    log2_terms: builtins.int

    @property
    def exponent_one(self) -> builtins.int:
        """The exponent field of 1.0."""
        return to_bits(self.float, 1.0) >> self.float.mantissa_bits

    @property
    def least_normal(self) -> builtins.float:
        """The least positive normal number."""
        return 2.0 ** exponent_range(self.float)[0]


SINGLE = Format(float32, int32, exp2_terms=9, log2_terms=5)
DOUBLE = Format(float64, int64, exp2_terms=15, log2_terms=11)
