"""
Intervals
=========

What bounds decide. The engine takes the bounds of an Interval from min_max, so a loop's range, a remainder or a
promised bound of a Param makes these rules fire. An Interval is never NaN.
"""

from soundline.spec.dtypes import all_dtypes, bool_, floats, index, ints, sints
from soundline.spec.rules.language import Sides, cdiv, cmod, fits, given, maximum, rule
from soundline.spec.rules.terms import Const, Interval, Value

whole = (index, *ints)
ordered = (bool_, *whole)


@rule(dtypes=whole)
def mod_of_reduced(x: Interval, y: Interval) -> Sides:
    """A remainder of what is reduced already: a loop index taken modulo its own extent."""
    given(x.lo >= 0, x.hi < y.lo)
    return x % y, x


@rule(dtypes=whole)
def idiv_to_zero(x: Interval, y: Interval) -> Sides:
    """A quotient of what is less than one row."""
    given(x.lo >= 0, x.hi < y.lo)
    return x // y, 0


@rule(dtypes=whole)
def idiv_in_one_row(x: Interval, c: Const) -> Sides:
    """A quotient that is the same at both ends of the interval."""
    given(x.lo // c == x.hi // c)
    return x // c, x.lo // c


@rule(dtypes=[index])
def mod_in_one_row(x: Interval, c: Const) -> Sides:
    """A remainder within one row is a difference."""
    given(x.lo // c == x.hi // c)
    return x % c, x - c * (x.lo // c)


@rule(dtypes=whole)
def unflatten_idiv(x: Value, y: Interval, c: Const) -> Sides:
    """The row of a flattened index."""
    given(y.lo >= 0, y.hi < c, fits(x * c + y))
    return (x * c + y) // c, x


@rule(dtypes=whole)
def unflatten_mod(x: Value, y: Interval, c: Const) -> Sides:
    """The column of a flattened index."""
    given(y.lo >= 0, y.hi < c, fits(x * c + y))
    return (x * c + y) % c, y


@rule(dtypes=all_dtypes)
def lt_is_true(x: Interval, y: Interval) -> Sides:
    """A gate that never closes."""
    given(x.hi < y.lo)
    return x < y, True


@rule(dtypes=all_dtypes)
def lt_is_false(x: Interval, y: Interval) -> Sides:
    """A gate that never opens."""
    given(x.lo >= y.hi)
    return x < y, False


@rule(dtypes=all_dtypes)
def le_is_true(x: Interval, y: Interval) -> Sides:
    """A gate that never closes."""
    given(x.hi <= y.lo)
    return x <= y, True


@rule(dtypes=all_dtypes)
def le_is_false(x: Interval, y: Interval) -> Sides:
    """A gate that never opens."""
    given(x.lo > y.hi)
    return x <= y, False


@rule(dtypes=all_dtypes)
def eq_is_false(x: Interval, y: Interval) -> Sides:
    """Values that never meet."""
    given(x.hi < y.lo)
    return x == y, False


@rule(dtypes=all_dtypes)
def ne_is_true(x: Interval, y: Interval) -> Sides:
    """Values that never meet."""
    given(x.hi < y.lo)
    return x != y, True


@rule(dtypes=ordered)
def max_is_left(x: Interval, y: Interval) -> Sides:
    """A lower bound that is never below."""
    given(x.lo >= y.hi)
    return maximum(x, y), x


@rule(dtypes=floats)
def float_max_is_left(x: Interval, y: Interval) -> Sides:
    """A lower bound that is strictly below: at equal ends a float could be a zero of the other sign."""
    given(x.lo > y.hi)
    return maximum(x, y), x


@rule(dtypes=all_dtypes)
def lt_of_max(x: Value, c: Const, d: Const) -> Sides:
    """A value that was bounded from below is not less than that; NaN is less than nothing."""
    given(c >= d)
    return maximum(x, c) < d, False


@rule(dtypes=[index, *sints])
def cdiv_to_idiv(x: Interval, c: Const) -> Sides:
    """Truncating and floor division agree where nothing is negative, so C's may be emitted or read."""
    given(x.lo >= 0, c >= 0)
    return cdiv(x, c), x // c


@rule(dtypes=[index, *sints])
def cmod_to_mod(x: Interval, c: Const) -> Sides:
    """The remainders agree as well."""
    given(x.lo >= 0, c >= 0)
    return cmod(x, c), x % c


@rule(dtypes=ordered)
def single_value(x: Interval) -> Sides:
    """A value whose bounds leave one number is that number: a loop of one iteration, an index of an axis of size 1.

    The last of these rules: it matches every term, and those before it say why a term has one value.
    """
    given(x.lo == x.hi)
    return x, x.lo
