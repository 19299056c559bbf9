"""Wrong twins of ``impl/rules/scalars/intervals.py``."""

from soundline.verify import *


@rule(dtypes=[float32])
def single_value_wrong(x: Interval):
    """Widened to a float: the bounds -0.0 and 0.0 are equal, and leave two values."""
    given(x.lo == x.hi)
    return x, x.lo


@rule(dtypes=[index])
def mod_of_reduced_wrong(x: Interval, y: Interval):
    """At most in place of less."""
    given(x.lo >= 0, x.hi <= y.lo)
    return x % y, x


@rule(dtypes=[index])
def idiv_to_zero_wrong(x: Interval, y: Interval):
    """Without the condition on the sign."""
    given(x.hi < y.lo)
    return x // y, 0


@rule(dtypes=[index])
def idiv_in_one_row_wrong(x: Interval, c: Const):
    """Truncating quotients at the ends."""
    given(cdiv(x.lo, c) == cdiv(x.hi, c))
    return x // c, cdiv(x.lo, c)


@rule(dtypes=[index])
def mod_in_one_row_wrong(x: Interval, c: Const):
    """Only one end considered."""
    return x % c, x - c * (x.lo // c)


@rule(dtypes=[index])
def unflatten_idiv_wrong(x: Value, y: Interval, c: Const):
    """At most in place of less."""
    given(y.lo >= 0, y.hi <= c, fits(x * c + y))
    return (x * c + y) // c, x


@rule(dtypes=[int8])
def unflatten_mod_wrong(x: Value, y: Interval, c: Const):
    """Without the condition that nothing wraps."""
    given(y.lo >= 0, y.hi < c)
    return (x * c + y) % c, y


@rule(dtypes=[float32])
def lt_is_true_wrong(x: Interval, y: Interval):
    """At most in place of less."""
    given(x.hi <= y.lo)
    return x < y, True


@rule(dtypes=[float32])
def lt_is_false_wrong(x: Interval, y: Interval):
    """The wrong ends compared."""
    given(x.hi >= y.hi)
    return x < y, False


@rule(dtypes=[int8])
def le_is_true_wrong(x: Interval, y: Interval):
    """The wrong ends compared."""
    given(x.lo <= y.lo)
    return x <= y, True


@rule(dtypes=[int8])
def le_is_false_wrong(x: Interval, y: Interval):
    """At least in place of greater."""
    given(x.lo >= y.hi)
    return x <= y, False


@rule(dtypes=[float32])
def eq_is_false_wrong(x: Interval, y: Interval):
    """At most in place of less."""
    given(x.hi <= y.lo)
    return x == y, False


@rule(dtypes=[index])
def ne_is_true_wrong(x: Interval, y: Interval):
    """The wrong ends compared."""
    given(x.lo < y.lo)
    return x != y, True


@rule(dtypes=[float32])
def max_is_left_wrong(x: Interval, y: Interval):
    """Widened to a float: -0.0 is at least 0.0, and is not the maximum."""
    given(x.lo >= y.hi)
    return maximum(x, y), x


@rule(dtypes=[float32])
def float_max_is_left_wrong(x: Interval, y: Interval):
    """The wrong ends compared."""
    given(x.lo > y.lo)
    return maximum(x, y), x


@rule(dtypes=[index])
def lt_of_max_wrong(x: Value, c: Const, d: Const):
    """The condition turned round."""
    given(c <= d)
    return maximum(x, c) < d, False


@rule(dtypes=[index])
def cdiv_to_idiv_wrong(x: Interval, c: Const):
    """Without the condition on the sign of x."""
    given(c >= 0)
    return cdiv(x, c), x // c


@rule(dtypes=[index])
def cmod_to_mod_wrong(x: Interval, c: Const):
    """Without the condition on the sign of c."""
    given(x.lo >= 0)
    return cmod(x, c), x % c
