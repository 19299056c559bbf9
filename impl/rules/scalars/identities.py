"""
Identities
==========

An operand that changes nothing, and pairs of operations that undo each other. They are stated for every dtype at which
they are exact; where a float is left out, a zero has a sign or a NaN is in the way.
"""

from soundline.spec.dtypes import all_dtypes, bool_, floats, index, ints
from soundline.spec.rules.language import Sides, maximum, rule
from soundline.spec.rules.terms import Value

whole = (index, *ints)
numbers = (*whole, *floats)


@rule(dtypes=whole)
def add_zero(x: Value) -> Sides:
    """Index arithmetic is full of offsets that turn out to be 0. A float has -0.0 for this, not 0.0."""
    return x + 0, x


@rule(dtypes=numbers)
def sub_zero(x: Value) -> Sides:
    """Subtracting zero; for floats too, because x - 0.0 keeps the sign of a zero."""
    return x - 0, x


@rule(dtypes=whole)
def zero_sub(x: Value) -> Sides:
    """A difference from zero is a negation. For a float 0.0 - 0.0 would lose its sign."""
    return 0 - x, -x


@rule(dtypes=all_dtypes)
def mul_one(x: Value) -> Sides:
    """Strides of 1, scales of 1; and with True."""
    return x * 1, x


@rule(dtypes=numbers)
def mul_minus_one(x: Value) -> Sides:
    """A product by -1 is a negation, which costs less."""
    return x * -1, -x


@rule(dtypes=whole)
def idiv_one(x: Value) -> Sides:
    """Index arithmetic of an axis whose inner size is 1."""
    return x // 1, x


@rule(dtypes=whole)
def mod_one(x: Value) -> Sides:
    """The index into an axis of size 1."""
    return x % 1, 0


@rule(dtypes=floats)
def div_one(x: Value) -> Sides:
    """A mean over one element."""
    return x / 1, x


@rule(dtypes=ints)
def or_zero(x: Value) -> Sides:
    """Packing bits into an empty word."""
    return x | 0, x


@rule(dtypes=[bool_])
def or_false(x: Value) -> Sides:
    """A mask joined with the empty mask."""
    return x | False, x


@rule(dtypes=ints)
def and_ones(x: Value) -> Sides:
    """A mask that keeps every bit."""
    return x & -1, x


@rule(dtypes=[bool_])
def and_true(x: Value) -> Sides:
    """A gate that is known to be open."""
    return x & True, x


@rule(dtypes=[bool_, *ints])
def xor_zero(x: Value) -> Sides:
    """An exclusive or that reverses nothing."""
    return x ^ 0, x


@rule(dtypes=numbers)
def neg_neg(x: Value) -> Sides:
    """Two negations, which gradients of differences leave behind."""
    return -(-x), x  # noqa: B002  (two negations are the point)


@rule(dtypes=numbers)
def add_neg(x: Value, y: Value) -> Sides:
    """A sum with a negation is a difference: one operation less, and for floats the same rounding."""
    return x + -y, x - y


@rule(dtypes=numbers)
def sub_neg(x: Value, y: Value) -> Sides:
    """A difference from a negation is a sum."""
    return x - -y, x + y


@rule(dtypes=whole)
def neg_sub(x: Value, y: Value) -> Sides:
    """A negated difference. Not for floats: -(1 - 1) is -0.0."""
    return -(x - y), y - x


@rule(dtypes=numbers)
def mul_neg_neg(x: Value, y: Value) -> Sides:
    """Two signs that cancel."""
    return -x * -y, x * y


@rule(dtypes=[bool_, *ints])
def and_self(x: Value) -> Sides:
    """The same mask twice."""
    return x & x, x


@rule(dtypes=[bool_, *ints])
def or_self(x: Value) -> Sides:
    """The same mask twice."""
    return x | x, x


@rule(dtypes=all_dtypes)
def max_self(x: Value) -> Sides:
    """The maximum of a value with itself, NaN and both zeros included."""
    return maximum(x, x), x


@rule(dtypes=whole)
def add_sub_cancel(x: Value, y: Value) -> Sides:
    """An offset that is added and taken away again; wrapping does not disturb it."""
    return (x + y) - y, x


@rule(dtypes=whole)
def sub_add_cancel(x: Value, y: Value) -> Sides:
    """An offset that is taken away and added again."""
    return (x - y) + y, x
