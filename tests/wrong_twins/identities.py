"""Wrong twins of ``impl/rules/scalars/identities.py``: each differs from its rule in one place and must be refuted."""

from soundline.verify import *


@rule(dtypes=[float32])
def add_zero_wrong(x: Value):
    """Widened to a float: -0.0 + 0.0 is 0.0."""
    return x + 0, x


@rule(dtypes=[float16])
def sub_zero_wrong(x: Value):
    """The other zero: -0.0 - -0.0 is 0.0."""
    return x - -0.0, x


@rule(dtypes=[float32])
def zero_sub_wrong(x: Value):
    """Widened to a float: 0.0 - 0.0 is not -0.0."""
    return 0 - x, -x


@rule(dtypes=[int32])
def mul_one_wrong(x: Value):
    """Another constant."""
    return x * 2, x


@rule(dtypes=[int8])
def mul_minus_one_wrong(x: Value):
    """Another sign."""
    return x * -1, x


@rule(dtypes=[index])
def idiv_one_wrong(x: Value):
    """Another constant."""
    return x // -1, x


@rule(dtypes=[index])
def mod_one_wrong(x: Value):
    """Another constant."""
    return x % 2, 0


@rule(dtypes=[float32])
def div_one_wrong(x: Value):
    """The operands exchanged."""
    return 1 / x, x


@rule(dtypes=[int16])
def or_zero_wrong(x: Value):
    """Another constant."""
    return x | 1, x


@rule(dtypes=[bool_])
def or_false_wrong(x: Value):
    """Another constant."""
    return x | True, x


@rule(dtypes=[uint8])
def and_ones_wrong(x: Value):
    """One bit less."""
    return x & -2, x


@rule(dtypes=[bool_])
def and_true_wrong(x: Value):
    """Another constant."""
    return x & False, x


@rule(dtypes=[int32])
def xor_zero_wrong(x: Value):
    """Another constant."""
    return x ^ 1, x


@rule(dtypes=[float32])
def neg_neg_wrong(x: Value):
    """A negation forgotten."""
    return -x, x


@rule(dtypes=[index])
def add_neg_wrong(x: Value, y: Value):
    """The operands of the difference exchanged."""
    return x + -y, y - x


@rule(dtypes=[index])
def sub_neg_wrong(x: Value, y: Value):
    """The difference kept."""
    return x - -y, x - y


@rule(dtypes=[float32])
def neg_sub_wrong(x: Value, y: Value):
    """Widened to a float: -(1 - 1) is -0.0, 1 - 1 is not."""
    return -(x - y), y - x


@rule(dtypes=[int8])
def mul_neg_neg_wrong(x: Value, y: Value):
    """A sign forgotten."""
    return -x * y, x * y


@rule(dtypes=[int8])
def and_self_wrong(x: Value, y: Value):
    """The second operand is another."""
    return x & y, x


@rule(dtypes=[int8])
def or_self_wrong(x: Value, y: Value):
    """The second operand is another."""
    return x | y, x


@rule(dtypes=[float32])
def max_self_wrong(x: Value):
    """The second operand has the other sign."""
    return maximum(x, -x), x


@rule(dtypes=[float32])
def add_sub_cancel_wrong(x: Value, y: Value):
    """Widened to a float, where the sum rounds."""
    return (x + y) - y, x


@rule(dtypes=[float32])
def sub_add_cancel_wrong(x: Value, y: Value):
    """Widened to a float, where the difference rounds."""
    return (x - y) + y, x
