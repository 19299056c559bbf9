"""Wrong twins of ``impl/rules/scalars/comparisons.py``."""

from soundline.verify import *


@rule(dtypes=[float32])
def lt_self_wrong(x: Value):
    """At most in place of less."""
    return x <= x, False


@rule(dtypes=[float32])
def gt_to_lt_wrong(x: Value, y: Value):
    """The operands kept in their order."""
    return x > y, x < y


@rule(dtypes=[float32])
def ge_to_le_wrong(x: Value, y: Value):
    """By negation, which is wrong for NaN (U-07)."""
    return x >= y, ~(x < y)


@rule(dtypes=[float32])
def le_self_wrong(x: Value):
    """Widened to a float: NaN is not at most itself."""
    return x <= x, True


@rule(dtypes=[float16])
def eq_self_wrong(x: Value):
    """Widened to a float: NaN does not equal itself."""
    return x == x, True


@rule(dtypes=[float16])
def ne_self_wrong(x: Value):
    """Widened to a float: this is the test for NaN."""
    return x != x, False


@rule(dtypes=[float32])
def not_lt_wrong(x: Value, y: Value):
    """Widened to a float: with NaN neither holds."""
    return ~(x < y), y <= x


@rule(dtypes=[float32])
def not_le_wrong(x: Value, y: Value):
    """Widened to a float: with NaN neither holds."""
    return ~(x <= y), y < x


@rule(dtypes=[float32])
def not_eq_wrong(x: Value, y: Value):
    """Less in place of different."""
    return ~(x == y), (x < y) | (y < x)


@rule(dtypes=[float32])
def not_ne_wrong(x: Value, y: Value):
    """Both bounds with a difference of zero in place of equality: ∞ - ∞ is NaN."""
    return ~(x != y), x - y == 0


@rule(dtypes=[int8])
def lt_neg_neg_wrong(x: Value, y: Value):
    """Narrowed to a width at which the least value wraps."""
    return -x < -y, y < x


@rule(dtypes=[int8])
def lt_add_same_wrong(x: Value, y: Value, z: Value):
    """Without the conditions: one sum wraps, the other does not."""
    return x + z < y + z, x < y


@rule(dtypes=[float32])
def eq_add_same_wrong(x: Value, y: Value, z: Value):
    """Widened to a float: sums round."""
    return (x + z) == (y + z), x == y


@rule(dtypes=[int8])
def lt_sub_zero_wrong(x: Value, y: Value):
    """Without the condition: the difference wraps."""
    return x - y < 0, x < y


@rule(dtypes=[float32])
def eq_sub_zero_wrong(x: Value, y: Value):
    """Widened to a float: ∞ - ∞ is not 0."""
    return (x - y) == 0, x == y


@rule(dtypes=[int8])
def eq_neg_zero_wrong(x: Value):
    """Another constant."""
    return -x == 1, x == 1


@rule(dtypes=[int8])
def lt_one_below_wrong(x: Value, y: Value):
    """Narrowed to a width at which one less wraps."""
    return x <= y + -1, x < y


@rule(dtypes=[float32])
def lt_or_eq_wrong(x: Value, y: Value):
    """Different in place of equal: NaN is different."""
    return (x < y) | (x != y), x <= y


@rule(dtypes=[int8])
def lt_and_gt_wrong(x: Value, y: Value):
    """At most in place of less."""
    return (x <= y) & (y <= x), False


@rule(dtypes=[int8])
def le_and_ge_wrong(x: Value, y: Value):
    """Or in place of and."""
    return (x <= y) | (y <= x), x == y


@rule(dtypes=[float32])
def lt_or_gt_wrong(x: Value, y: Value):
    """Widened to a float: NaN is different, and neither less nor greater."""
    return (x < y) | (y < x), x != y


@rule(dtypes=[int8])
def lt_and_le_wrong(x: Value, y: Value):
    """The weaker bound remains."""
    return (x < y) & (x <= y), x <= y
