"""Wrong twins of ``impl/rules/scalars/commutativity.py``: ops that do not commute, or that are exchanged for
another."""

from soundline.verify import *


@rule(dtypes=[float32])
def add_commutative_wrong(x: Value, y: Value):
    """Subtraction does not commute."""
    return x - y, y - x


@rule(dtypes=[index])
def mul_commutative_wrong(x: Value, y: Value):
    """Floor division does not commute."""
    return x // y, y // x


@rule(dtypes=[float32])
def max_commutative_wrong(x: Value, y: Value):
    """A maximum by comparison: it depends on the order with NaN and with the two zeros."""
    return where(x < y, y, x), where(y < x, x, y)


@rule(dtypes=[int8])
def and_commutative_wrong(x: Value, y: Value):
    """One operand twice."""
    return x & y, y & y


@rule(dtypes=[int8])
def or_commutative_wrong(x: Value, y: Value):
    """One operand twice."""
    return x | y, y | y


@rule(dtypes=[int8])
def xor_commutative_wrong(x: Value, y: Value):
    """Shifts do not commute."""
    return x << y, y << x


@rule(dtypes=[int8])
def eq_commutative_wrong(x: Value, y: Value):
    """Order does not commute."""
    return x <= y, y <= x


@rule(dtypes=[float32])
def ne_commutative_wrong(x: Value, y: Value):
    """Order does not commute."""
    return x < y, y < x


@rule(dtypes=[int8])
def monoid_commutative_wrong(m: BinaryOp, x: Value, y: Value):
    """Any op of two operands: there are those that do not commute."""
    return m(x, y), m(y, x)
