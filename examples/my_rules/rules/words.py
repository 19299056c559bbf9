"""Rewrites of machine words, where sums and products wrap."""

from soundline.verify import Const, Value, fits, given, rule, sints, uints


@rule(dtypes=uints)
def remainder_by_mask(x: Value, c: Const):
    """c is a power of two."""
    given(c != 0, (c & (c - 1)) == 0)
    return x % c, x & (c - 1)


@rule(dtypes=sints)
def cancel_factor(x: Value, c: Const):
    given(c != 0, fits(x * c))
    return (x * c) // c, x
