"""Rewrites of index expressions."""

from soundline.verify import Const, Interval, Value, given, index, rule


@rule(dtypes=[index])
def drop_remainder(x: Interval, c: Const):
    """A loop index that is already below the modulus."""
    given(x.lo >= 0, x.hi < c)
    return x % c, x


@rule(dtypes=[index])
def split_quotient(x: Value, y: Interval, c: Const):
    """(c·x + y) / c, where y is one row of c."""
    given(y.lo >= 0, y.hi < c)
    return (x * c + y) // c, x


@rule(dtypes=[index])
def quotient_of_quotient(x: Value, a: Const, b: Const):
    given(a > 0, b > 0)
    return (x // a) // b, x // (a * b)
