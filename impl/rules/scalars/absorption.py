"""
Absorption
==========

An operand that decides the result alone. The other operand disappears, and with it whatever it cost to compute.
"""

from soundline.spec.dtypes import all_dtypes, bool_, index, ints
from soundline.spec.rules.language import Sides, given, maximum, rule
from soundline.spec.rules.terms import Value

whole = (index, *ints)


@rule(dtypes=[bool_, *whole])
def mul_zero(x: Value) -> Sides:
    """An axis of stride 0. Not for floats: 0 · ∞ and 0 · NaN are NaN."""
    return x * 0, 0


@rule(dtypes=[bool_, *ints])
def and_zero(x: Value) -> Sides:
    """A mask that keeps nothing."""
    return x & 0, 0


@rule(dtypes=ints)
def or_ones(x: Value) -> Sides:
    """All bits are set already."""
    return x | -1, -1


@rule(dtypes=[bool_])
def or_true(x: Value) -> Sides:
    """A condition that holds whatever else does."""
    return x | True, True


@rule(dtypes=[bool_, *ints])
def xor_self(x: Value) -> Sides:
    """A value against itself."""
    return x ^ x, 0


@rule(dtypes=whole)
def sub_self(x: Value) -> Sides:
    """A distance of nothing. Not for floats: ∞ - ∞ is NaN."""
    return x - x, 0


@rule(dtypes=whole)
def mod_self(x: Value) -> Sides:
    """Also at 0, because 0 mod 0 is 0."""
    return x % x, 0


@rule(dtypes=whole)
def idiv_self(x: Value) -> Sides:
    """How many times a size goes into itself; 0 div 0 is 0, so the size must be known not to be 0."""
    given(x != 0)
    return x // x, 1


@rule(dtypes=whole)
def zero_idiv(x: Value) -> Sides:
    """The first element is in the first row, however long a row is."""
    return 0 // x, 0


@rule(dtypes=whole)
def zero_mod(x: Value) -> Sides:
    """The first element is the first of its row."""
    return 0 % x, 0


@rule(dtypes=whole)
def idiv_zero(x: Value) -> Sides:
    """Division by zero has a value, so it reduces like everything else."""
    return x // 0, 0


@rule(dtypes=whole)
def mod_zero(x: Value) -> Sides:
    """The remainder that goes with it."""
    return x % 0, x


@rule(dtypes=[bool_, *ints])
def and_or_absorb(x: Value, y: Value) -> Sides:
    """A condition beside one that it implies."""
    return x & (x | y), x


@rule(dtypes=[bool_, *ints])
def or_and_absorb(x: Value, y: Value) -> Sides:
    """A condition beside one that implies it."""
    return x | (x & y), x


@rule(dtypes=all_dtypes)
def max_max_absorb(x: Value, y: Value) -> Sides:
    """A bound that was applied already."""
    return maximum(x, maximum(x, y)), maximum(x, y)
