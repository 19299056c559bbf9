"""
Booleans
========

Masks and gates. Lowering makes many of them, and each that disappears is a branch or a select less in a kernel.
"""

from soundline.spec.dtypes import bool_
from soundline.spec.rules.language import Sides, maximum, rule
from soundline.spec.rules.terms import Bool, Value


@rule
def not_not(p: Bool) -> Sides:
    """Two negations."""
    return ~~p, p


@rule
def and_not_self(p: Bool) -> Sides:
    """A gate and its opposite never hold together."""
    return p & ~p, False


@rule
def or_not_self(p: Bool) -> Sides:
    """A gate or its opposite always holds."""
    return p | ~p, True


@rule
def xor_true(p: Bool) -> Sides:
    """A reversal of a bool."""
    return p ^ True, ~p


@rule
def not_and_not(p: Bool, q: Bool) -> Sides:
    """De Morgan, toward fewer negations."""
    return ~p & ~q, ~(p | q)


@rule
def not_or_not(p: Bool, q: Bool) -> Sides:
    """De Morgan, toward fewer negations."""
    return ~p | ~q, ~(p & q)


@rule
def and_or_not_absorb(p: Bool, q: Bool) -> Sides:
    """A part of a gate that the rest decides."""
    return p & (~p | q), p & q


@rule
def or_and_not_absorb(p: Bool, q: Bool) -> Sides:
    """A part of a gate that the rest decides."""
    return p | (~p & q), p | q


@rule
def or_of_both(p: Bool, q: Bool) -> Sides:
    """A case distinction that does not matter; before the rule below, which would hide it."""
    return (p & q) | (p & ~q), p


@rule
def or_of_and(p: Bool, q: Bool, r: Bool) -> Sides:
    """A gate that two alternatives share."""
    return (p & q) | (p & r), p & (q | r)


@rule
def eq_true(p: Bool) -> Sides:
    """A comparison with True."""
    return p == True, p  # noqa: E712  (a term, not a truth value)


@rule
def eq_false(p: Bool) -> Sides:
    """A comparison with False."""
    return p == False, ~p  # noqa: E712


@rule
def ne_true(p: Bool) -> Sides:
    """How Not is decomposed, put together again."""
    return p != True, ~p  # noqa: E712


@rule
def ne_false(p: Bool) -> Sides:
    """How a cast to bool is decomposed."""
    return p != False, p  # noqa: E712


@rule(dtypes=[bool_])
def bool_mul_to_and(x: Value, y: Value) -> Sides:
    """Mul of bools is And (U-14): one form for both."""
    return x * y, x & y


@rule(dtypes=[bool_])
def bool_max_to_or(x: Value, y: Value) -> Sides:
    """Max of bools is Or (U-14): one form for both."""
    return maximum(x, y), x | y


@rule(dtypes=[bool_])
def bool_ne_to_xor(x: Value, y: Value) -> Sides:
    """Different bools."""
    return x != y, x ^ y


@rule(dtypes=[bool_])
def bool_eq_to_not_xor(x: Value, y: Value) -> Sides:
    """Equal bools."""
    return x == y, ~(x ^ y)


@rule(dtypes=[bool_])
def bool_lt_to_and(x: Value, y: Value) -> Sides:
    """False is less than True."""
    return x < y, ~x & y


@rule(dtypes=[bool_])
def bool_le_to_or(x: Value, y: Value) -> Sides:
    """x implies y."""
    return x <= y, ~x | y
