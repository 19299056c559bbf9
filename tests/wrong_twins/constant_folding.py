"""Wrong twins of ``impl/rules/scalars/constant_folding.py``."""

from soundline.verify import *


@rule(dtypes=[index])
def sub_constant_wrong(x: Value, c: Const):
    """The sign forgotten."""
    return x - c, x + c


@rule(dtypes=[float32])
def add_add_constants_wrong(x: Value, c: Const, d: Const):
    """Widened to a float: sums round."""
    return (x + c) + d, x + (c + d)


@rule(dtypes=[float32])
def add_constant_outward_wrong(x: Value, y: Value, c: Const):
    """Widened to a float: sums round."""
    return (x + c) + y, (x + y) + c


@rule(dtypes=[index])
def sub_constant_outward_wrong(x: Value, y: Value, c: Const):
    """The constant changes its sign."""
    return (x + c) - y, (x - y) - c


@rule(dtypes=[index])
def sub_add_constant_wrong(x: Value, y: Value, c: Const):
    """The constant keeps its sign."""
    return x - (y + c), (x - y) + c


@rule(dtypes=[index])
def constant_sub_add_wrong(x: Value, c: Const, d: Const):
    """The constants exchanged."""
    return c - (x + d), (d - c) - x


@rule(dtypes=[index])
def add_to_constant_sub_wrong(x: Value, c: Const, d: Const):
    """The offset with the other sign."""
    return (c - x) + d, (c - d) - x


@rule(dtypes=[float16])
def mul_mul_constants_wrong(x: Value, c: Const, d: Const):
    """Widened to a float: products round and overflow."""
    return (x * c) * d, x * (c * d)


@rule(dtypes=[index])
def mul_of_add_constants_wrong(x: Value, c: Const, d: Const):
    """The stride does not reach the offset."""
    return (x + c) * d, x * d + c


@rule(dtypes=[index])
def neg_mul_constant_wrong(x: Value, c: Const):
    """The sign is lost."""
    return -x * c, x * c


@rule(dtypes=[index])
def add_same_wrong(x: Value):
    """Another constant."""
    return x + x, x * 3


@rule(dtypes=[index])
def add_multiple_and_self_wrong(x: Value, c: Const):
    """One less in place of one more."""
    return x * c + x, x * (c - 1)


@rule(dtypes=[index])
def add_multiples_wrong(x: Value, c: Const, d: Const):
    """The constants multiplied."""
    return x * c + x * d, x * (c * d)


@rule(dtypes=[index])
def sub_multiples_wrong(x: Value, c: Const, d: Const):
    """The constants exchanged."""
    return x * c - x * d, x * (d - c)


@rule(dtypes=[int8])
def and_and_constants_wrong(x: Value, c: Const, d: Const):
    """The masks joined by the wrong op."""
    return (x & c) & d, x & (c | d)


@rule(dtypes=[int8])
def or_or_constants_wrong(x: Value, c: Const, d: Const):
    """The masks joined by the wrong op."""
    return (x | c) | d, x | (c & d)


@rule(dtypes=[int8])
def xor_xor_constants_wrong(x: Value, c: Const, d: Const):
    """The masks joined by the wrong op."""
    return (x ^ c) ^ d, x ^ (c | d)


@rule(dtypes=[float32])
def max_max_constants_wrong(x: Value, c: Const, d: Const):
    """A constant forgotten."""
    return maximum(maximum(x, c), d), maximum(x, c)


@rule(dtypes=[int8])
def lt_add_constants_wrong(x: Value, c: Const, d: Const):
    """Without the conditions: a sum that wraps changes the order."""
    return x + c < d, x < d - c


@rule(dtypes=[float32])
def eq_add_constants_wrong(x: Value, c: Const, d: Const):
    """Widened to a float: sums round."""
    return x + c == d, x == d - c


@rule(dtypes=[index])
def lt_mul_constants_wrong(x: Value, c: Const, d: Const):
    """Rounded down in place of up."""
    given(c > 0)
    return x * c < d, x < d // c


@rule(dtypes=[index])
def lt_idiv_constants_wrong(x: Value, c: Const, d: Const):
    """Without the condition: a negative divisor turns the order round."""
    return x // c < d, x < c * d
