"""Words that stand for other ops at other dtypes: the lesser, the magnitude, powers, sines, and bits."""

from soundline.verify import (
    Bool,
    Const,
    Size,
    Tensor,
    Value,
    bool_,
    claim,
    float16,
    float32,
    given,
    index,
    int8,
    int32,
    ints,
    invalid,
    is_power_of_two,
    maximum,
    minimum,
    uint8,
    where,
)

from .form import Histories

HISTORIES = Histories()
right, wrong, vacuous = HISTORIES.right, HISTORIES.wrong, HISTORIES.vacuous

FEW = [bool_, index, int8, uint8, float16]


# The lesser -------------------------------------------------------------------------------------------------------


@right(dtypes=FEW)
def minimum_commutes(x: Value, y: Value):
    """LLVM, minimum: whatever the operands, NaN and zeros included."""
    return minimum(x, y), minimum(y, x)


@right(dtypes=FEW)
def minimum_of_itself(x: Value):
    """LLVM, minimum(x, x)."""
    return minimum(x, x), x


@right(dtypes=[bool_, index, int8, uint8])
def minimum_absorbs_maximum(x: Value, y: Value):
    """LLVM, InstCombine: min(x, max(x, y))."""
    return minimum(x, maximum(x, y)), x


@right(dtypes=FEW)
def minimum_of_minimum(x: Value, y: Value):
    """LLVM, InstCombine: min(min(x, y), x)."""
    return minimum(minimum(x, y), x), minimum(x, y)


@right(dtypes=[int8, index, float16])
def minimum_as_a_negated_maximum(x: Value, y: Value):
    """The lesser of negatives is the negative of the greater, but of the least integer."""
    given(x > -100, y > -100)
    return minimum(-x, -y), -maximum(x, y)


@wrong(dtypes=[float16])
def minimum_as_a_choice(x: Value, y: Value):
    """LLVM, fminimum: a choice drops a NaN, and takes either zero."""
    return minimum(x, y), where(x < y, x, y)


@wrong(dtypes=[float16])
def minimum_absorbs_maximum_of_floats(x: Value, y: Value):
    """y may be NaN."""
    return minimum(x, maximum(x, y)), x


@wrong(dtypes=[int8])
def minimum_of_negated_integers(x: Value, y: Value):
    """The least integer is its own negative."""
    return minimum(-x, -y), -maximum(x, y)


# The magnitude ----------------------------------------------------------------------------------------------------


@right(dtypes=[index, int8, float16])
def magnitude_twice(x: Value):
    """LLVM, abs(abs(x)), also of the least integer and of zeros."""
    return abs(abs(x)), abs(x)


@vacuous(dtypes=[uint8])
def magnitude_of_unsigned(x: Value):
    """LLVM, abs of what has no sign: there is nothing to rewrite, both sides are one term."""
    return abs(x), x


@right(dtypes=[index, int8, float16])
def magnitude_of_the_negated(x: Value):
    """LLVM, abs(-x)."""
    return abs(-x), abs(x)


@right(dtypes=[index, float16])
def square_of_the_magnitude(x: Value):
    """LLVM, abs(x) * abs(x)."""
    return abs(x) * abs(x), x * x


@wrong(but=[index], dtypes=[index, int8, int32])
def magnitude_is_natural(x: Value):
    """The magnitude of the least integer is negative."""
    return claim(abs(x) >= 0)


@wrong(dtypes=[float16])
def magnitude_as_a_choice(x: Value):
    """The magnitude of -0.0 is +0.0."""
    return abs(x), where(x < 0, -x, x)


# Powers and sines -------------------------------------------------------------------------------------------------


@right(dtypes=[index, int8])
def powers_multiplied(x: Value):
    """Exponents are added."""
    return x**3 * x**2, x**5


@right(dtypes=[index, int8])
def power_zero(x: Value):
    """The empty product."""
    return x**0 * x, x


@wrong(dtypes=[float16])
def float_power_zero_of_nan(x: Value):
    """x / x is NaN where x is 0 or NaN."""
    return x**0.0, x / x


@wrong(dtypes=[index, int8])
def powers_added(x: Value):
    """Exponents are not multiplied."""
    return x**3 * x**2, x**6


@right(dtypes=[float32])
def sine_is_odd(x: Value):
    """The sine of the negated."""
    return (-x).sin(), -(x.sin())


@wrong(dtypes=[float16])
def sine_is_even(x: Value):
    """The sine is not the cosine."""
    return (-x).sin(), x.sin()


# Bits -------------------------------------------------------------------------------------------------------------


@right(dtypes=ints)
def not_of_not(x: Value):
    """LLVM, InstCombine: ~~x."""
    return ~~x, x


@right(dtypes=ints)
def not_as_arithmetic(x: Value):
    """LLVM, InstCombine: ~x is -1 - x."""
    return ~x, -1 - x


@right(dtypes=ints)
def not_of_and(x: Value, y: Value):
    """De Morgan, of bits."""
    return ~(x & y), ~x | ~y


@wrong(dtypes=ints)
def not_as_negation(x: Value):
    """One too many."""
    return ~x, -x


@right(dtypes=ints)
def remainder_by_a_power_of_two(x: Value, c: Const):
    """LLVM, InstCombine: a mask, of negative numbers too where the remainder rounds down."""
    given(is_power_of_two(c))
    return x % c, x & (c - 1)


@right(dtypes=[index])
def powers_of_two_are_positive(c: Const):
    """Of the mathematical integers as well."""
    given(is_power_of_two(c))
    return claim(c >= 1)


@wrong(dtypes=ints)
def remainder_by_a_positive_number(x: Value, c: Const):
    """Without the condition."""
    given(c > 0)
    return x % c, x & (c - 1)


@wrong(dtypes=[int8, index])
def powers_of_two_are_even(c: Const):
    """1 is a power of two."""
    given(is_power_of_two(c))
    return claim(c % 2 == 0)


# What is not valid ------------------------------------------------------------------------------------------------


@right(dtypes=[int8])
def choice_of_what_is_invalid(c: Bool, x: Value):
    """tinygrad: a choice beside Invalid may be dropped."""
    return where(c, x, invalid), x


@wrong(dtypes=[int8])
def choice_beside_what_is_invalid_added(c: Bool, x: Value):
    """And never made."""
    return x, where(c, x, invalid)


@right(dtypes=[int8])
def gate_moves_into_the_index(x: Tensor["n"], n: Size, i: Value[index], y: Value, c: Bool):  # noqa: F821
    """tinygrad: the index of a gated load means nothing where the gate is false."""
    return x.load(i, gate=c, alt=y), x.load(where(c, i, invalid), gate=c, alt=y)


@right(dtypes=[int8])
def gate_that_is_always_true(x: Tensor["n"], n: Size, i: Value[index], y: Value):  # noqa: F821
    """A load inside needs no gate."""
    return x.load(i, gate=i == i, alt=y), x.index(i)


@wrong(dtypes=[int8])
def gate_dropped(x: Tensor["n"], n: Size, i: Value[index], y: Value, c: Bool):  # noqa: F821
    """A load without its gate reads outside."""
    return x.load(i, gate=c, alt=y), where(c, x.index(i), x.index(0) * 0 + y)
