"""Wrong twins of ``impl/rules/scalars/booleans.py``."""

from soundline.verify import *


@rule
def not_not_wrong(p: Bool):
    """A negation forgotten."""
    return ~p, p


@rule
def and_not_self_wrong(p: Bool, q: Bool):
    """The negation of another."""
    return p & ~q, False


@rule
def or_not_self_wrong(p: Bool, q: Bool):
    """The negation of another."""
    return p | ~q, True


@rule
def xor_true_wrong(p: Bool):
    """Another constant."""
    return p ^ False, ~p


@rule
def not_and_not_wrong(p: Bool, q: Bool):
    """And in place of or."""
    return ~p & ~q, ~(p & q)


@rule
def not_or_not_wrong(p: Bool, q: Bool):
    """Or in place of and."""
    return ~p | ~q, ~(p | q)


@rule
def and_or_not_absorb_wrong(p: Bool, q: Bool):
    """Or in place of and."""
    return p & (~p | q), p | q


@rule
def or_and_not_absorb_wrong(p: Bool, q: Bool):
    """And in place of or."""
    return p | (~p & q), p & q


@rule
def or_of_and_wrong(p: Bool, q: Bool, r: Bool):
    """And in place of or."""
    return (p & q) | (p & r), p & (q & r)


@rule
def or_of_both_wrong(p: Bool, q: Bool):
    """The other operand remains."""
    return (p & q) | (p & ~q), q


@rule
def eq_true_wrong(p: Bool):
    """Another constant."""
    return p == False, p


@rule
def eq_false_wrong(p: Bool):
    """Another constant."""
    return p == True, ~p


@rule
def ne_true_wrong(p: Bool):
    """A negation forgotten."""
    return p != True, p


@rule
def ne_false_wrong(p: Bool):
    """A negation too many."""
    return p != False, ~p


@rule(dtypes=[bool_])
def bool_mul_to_and_wrong(x: Value, y: Value):
    """Or in place of and."""
    return x * y, x | y


@rule(dtypes=[bool_])
def bool_max_to_or_wrong(x: Value, y: Value):
    """Exclusive or in place of or."""
    return maximum(x, y), x ^ y


@rule(dtypes=[bool_])
def bool_ne_to_xor_wrong(x: Value, y: Value):
    """Or in place of exclusive or."""
    return x != y, x | y


@rule(dtypes=[bool_])
def bool_eq_to_not_xor_wrong(x: Value, y: Value):
    """And in place of equality: False equals False."""
    return x == y, x & y


@rule(dtypes=[bool_])
def bool_lt_to_and_wrong(x: Value, y: Value):
    """The operands exchanged."""
    return x < y, x & ~y


@rule(dtypes=[bool_])
def bool_le_to_or_wrong(x: Value, y: Value):
    """The implication turned round."""
    return x <= y, x | ~y
