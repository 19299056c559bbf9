"""
Constant folding
================

Constants are gathered, so that the engine can evaluate operations on them: a right side such as ``x + (c + d)`` holds
an operation on constants, and an operation on constants is the constant that its scalar law computes. Float arithmetic
is not regrouped: it rounds.
"""

from soundline.spec.dtypes import all_dtypes, bool_, index, ints
from soundline.spec.rules.language import Sides, fits, given, maximum, rule
from soundline.spec.rules.terms import Const, Value

whole = (index, *ints)


@rule(dtypes=whole)
def sub_constant(x: Value, c: Const) -> Sides:
    """A difference from a constant is a sum with one, so that sums are all there is to gather."""
    return x - c, x + -c


@rule(dtypes=whole)
def add_add_constants(x: Value, c: Const, d: Const) -> Sides:
    """Offsets of nested views become one offset."""
    return (x + c) + d, x + (c + d)


@rule(dtypes=whole)
def add_constant_outward(x: Value, y: Value, c: Const) -> Sides:
    """An offset inside a sum moves out, where it meets the others. Second, for two offsets would change places."""
    return (x + c) + y, (x + y) + c


@rule(dtypes=whole)
def sub_constant_outward(x: Value, y: Value, c: Const) -> Sides:
    """An offset moves out of the left side of a difference."""
    return (x + c) - y, (x - y) + c


@rule(dtypes=whole)
def constant_sub_add(x: Value, c: Const, d: Const) -> Sides:
    """The offset of a flipped axis: the last index minus an index with an offset."""
    return c - (x + d), (c - d) - x


@rule(dtypes=whole)
def add_to_constant_sub(x: Value, c: Const, d: Const) -> Sides:
    """An offset beside a flipped axis."""
    return (c - x) + d, (c + d) - x


@rule(dtypes=whole)
def sub_add_constant(x: Value, y: Value, c: Const) -> Sides:
    """An offset moves out of the right side of a difference."""
    return x - (y + c), (x - y) + -c


@rule(dtypes=whole)
def mul_mul_constants(x: Value, c: Const, d: Const) -> Sides:
    """Strides of nested views become one stride."""
    return (x * c) * d, x * (c * d)


@rule(dtypes=whole)
def mul_of_add_constants(x: Value, c: Const, d: Const) -> Sides:
    """A stride over an index with an offset: index arithmetic becomes a sum of products."""
    return (x + c) * d, x * d + c * d


@rule(dtypes=whole)
def neg_mul_constant(x: Value, c: Const) -> Sides:
    """A sign goes into the stride."""
    return -x * c, x * -c


@rule(dtypes=whole)
def add_same(x: Value) -> Sides:
    """Like terms: twice the same."""
    return x + x, x * 2


@rule(dtypes=whole)
def add_multiple_and_self(x: Value, c: Const) -> Sides:
    """Like terms: a multiple and one more."""
    return x * c + x, x * (c + 1)


@rule(dtypes=whole)
def add_multiples(x: Value, c: Const, d: Const) -> Sides:
    """Like terms: two multiples of one index."""
    return x * c + x * d, x * (c + d)


@rule(dtypes=whole)
def sub_multiples(x: Value, c: Const, d: Const) -> Sides:
    """Like terms: the difference of two multiples."""
    return x * c - x * d, x * (c - d)


@rule(dtypes=[bool_, *ints])
def and_and_constants(x: Value, c: Const, d: Const) -> Sides:
    """Two masks become one."""
    return (x & c) & d, x & (c & d)


@rule(dtypes=[bool_, *ints])
def or_or_constants(x: Value, c: Const, d: Const) -> Sides:
    """Two sets of bits become one."""
    return (x | c) | d, x | (c | d)


@rule(dtypes=[bool_, *ints])
def xor_xor_constants(x: Value, c: Const, d: Const) -> Sides:
    """Two reversals become one."""
    return (x ^ c) ^ d, x ^ (c ^ d)


@rule(dtypes=all_dtypes)
def max_max_constants(x: Value, c: Const, d: Const) -> Sides:
    """Two lower bounds become one; exact for floats too."""
    return maximum(maximum(x, c), d), maximum(x, maximum(c, d))


@rule(dtypes=whole)
def lt_add_constants(x: Value, c: Const, d: Const) -> Sides:
    """The bound of a padded axis: the offset goes to the other side, where neither sum wraps."""
    given(fits(x + c), fits(d - c))
    return x + c < d, x < d - c


@rule(dtypes=whole)
def eq_add_constants(x: Value, c: Const, d: Const) -> Sides:
    """An equation with an offset; wrapping does not disturb it."""
    return x + c == d, x == d - c


@rule(dtypes=[index])
def lt_mul_constants(x: Value, c: Const, d: Const) -> Sides:
    """A bound on a multiple is a bound on the index, rounded up."""
    given(c > 0)
    return x * c < d, x < -(-d // c)


@rule(dtypes=[index])
def lt_idiv_constants(x: Value, c: Const, d: Const) -> Sides:
    """A bound on a quotient is a bound on the index."""
    given(c > 0)
    return x // c < d, x < c * d
