"""
Commutativity
=============

The matcher tries the operands of these ops in both orders; these rules are why it may. They are proved like all others,
and an application that used one counts it. They are not rewritten with: left and right could be exchanged for ever.
"""

from soundline.spec.dtypes import all_dtypes, bool_, floats, index, ints
from soundline.spec.rules.language import Sides, maximum, rule
from soundline.spec.rules.terms import Monoid, Value


@rule(dtypes=[index, *ints, *floats])
def add_commutative(x: Value, y: Value) -> Sides:
    """Addition, at every dtype that has it."""
    return x + y, y + x


@rule(dtypes=all_dtypes)
def mul_commutative(x: Value, y: Value) -> Sides:
    """Multiplication; of bools, and."""
    return x * y, y * x


@rule(dtypes=all_dtypes)
def max_commutative(x: Value, y: Value) -> Sides:
    """The maximum of U-06, for which NaN wins and +0 > -0, whatever the order."""
    return maximum(x, y), maximum(y, x)


@rule(dtypes=[bool_, *ints])
def and_commutative(x: Value, y: Value) -> Sides:
    """And, of bits and of bools."""
    return x & y, y & x


@rule(dtypes=[bool_, *ints])
def or_commutative(x: Value, y: Value) -> Sides:
    """Or, of bits and of bools."""
    return x | y, y | x


@rule(dtypes=[bool_, *ints])
def xor_commutative(x: Value, y: Value) -> Sides:
    """Exclusive or, of bits and of bools."""
    return x ^ y, y ^ x


@rule(dtypes=all_dtypes)
def eq_commutative(x: Value, y: Value) -> Sides:
    """Equality; NaN equals nothing from either side."""
    return x == y, y == x


@rule(dtypes=all_dtypes)
def ne_commutative(x: Value, y: Value) -> Sides:
    """Inequality."""
    return x != y, y != x


@rule
def monoid_commutative(m: Monoid, x: Value, y: Value) -> Sides:
    """Whatever reductions; where a rule leaves open which op that is, all of the above are wanted at once."""
    return m(x, y), m(y, x)
