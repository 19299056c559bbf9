"""
Comparisons
===========

Comparisons of a value with itself, turned round, negated and joined. NaN makes every comparison but ≠ false (U-07), so
a negation turns < into ≥ only where there is no NaN.
"""

from soundline.spec.dtypes import all_dtypes, bool_, floats, index, ints
from soundline.spec.rules.language import Sides, fits, given, rule
from soundline.spec.rules.terms import Value

whole = (index, *ints)
ordered = (bool_, *whole)
"""The dtypes without NaN."""


@rule(dtypes=all_dtypes)
def lt_self(x: Value) -> Sides:
    """Nothing is less than itself, NaN included."""
    return x < x, False


@rule(dtypes=all_dtypes)
def gt_to_lt(x: Value, y: Value) -> Sides:
    """One direction is enough for all other rules."""
    return x > y, y < x


@rule(dtypes=all_dtypes)
def ge_to_le(x: Value, y: Value) -> Sides:
    """One direction is enough for all other rules."""
    return x >= y, y <= x


@rule(dtypes=ordered)
def le_self(x: Value) -> Sides:
    """Everything but NaN is at most itself."""
    return x <= x, True


@rule(dtypes=ordered)
def eq_self(x: Value) -> Sides:
    """Everything but NaN equals itself."""
    return x == x, True


@rule(dtypes=ordered)
def ne_self(x: Value) -> Sides:
    """For floats this would be the test for NaN."""
    return x != x, False


@rule(dtypes=ordered)
def not_lt(x: Value, y: Value) -> Sides:
    """A negated bound, as loops and gates have it. With NaN both bounds are false."""
    return ~(x < y), y <= x


@rule(dtypes=ordered)
def not_le(x: Value, y: Value) -> Sides:
    """A negated bound."""
    return ~(x <= y), y < x


@rule(dtypes=all_dtypes)
def not_eq(x: Value, y: Value) -> Sides:
    """≠ is the opposite of =, with NaN too."""
    return ~(x == y), x != y


@rule(dtypes=all_dtypes)
def not_ne(x: Value, y: Value) -> Sides:
    """= is the opposite of ≠, with NaN too."""
    return ~(x != y), x == y


@rule(dtypes=[index, *floats])
def lt_neg_neg(x: Value, y: Value) -> Sides:
    """Two signs turn a comparison round, where no least value wraps."""
    return -x < -y, y < x


@rule(dtypes=whole)
def lt_add_same(x: Value, y: Value, z: Value) -> Sides:
    """An offset on both sides, where neither sum wraps."""
    given(fits(x + z), fits(y + z))
    return x + z < y + z, x < y


@rule(dtypes=whole)
def eq_add_same(x: Value, y: Value, z: Value) -> Sides:
    """An offset on both sides; wrapping does not disturb equality."""
    return (x + z) == (y + z), x == y


@rule(dtypes=whole)
def lt_sub_zero(x: Value, y: Value) -> Sides:
    """A sign test of a difference that does not wrap."""
    given(fits(x - y))
    return x - y < 0, x < y


@rule(dtypes=whole)
def eq_sub_zero(x: Value, y: Value) -> Sides:
    """A difference of nothing, wrapped or not."""
    return (x - y) == 0, x == y


@rule(dtypes=whole)
def eq_neg_zero(x: Value) -> Sides:
    """A negation is zero where the value is."""
    return -x == 0, x == 0


@rule(dtypes=[index])
def lt_one_below(x: Value, y: Value) -> Sides:
    """At most one less is less. By then `sub_constant` has made a sum of y - 1."""
    return x <= y + -1, x < y


@rule(dtypes=all_dtypes)
def lt_or_eq(x: Value, y: Value) -> Sides:
    """How ≤ is spelled where it must be right for NaN (U-07)."""
    return (x < y) | (x == y), x <= y


@rule(dtypes=all_dtypes)
def lt_and_gt(x: Value, y: Value) -> Sides:
    """Two bounds that exclude each other."""
    return (x < y) & (y < x), False


@rule(dtypes=all_dtypes)
def le_and_ge(x: Value, y: Value) -> Sides:
    """Two bounds that leave one value; -0.0 equals 0.0 on both sides."""
    return (x <= y) & (y <= x), x == y


@rule(dtypes=ordered)
def lt_or_gt(x: Value, y: Value) -> Sides:
    """Less or greater is different, where there is no NaN."""
    return (x < y) | (y < x), x != y


@rule(dtypes=all_dtypes)
def lt_and_le(x: Value, y: Value) -> Sides:
    """The stricter of two bounds."""
    return (x < y) & (x <= y), x < y
