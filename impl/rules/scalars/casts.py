# ruff: noqa: F821  # the brackets of annotations name dtypes
# mypy: disable-error-code="name-defined,type-arg,valid-type"
"""
Casts
=====

Conversions that cancel or that can be taken at once. What matters is whether every value of the one dtype is a value of
the other, and for integers which bits survive.
"""

from soundline.spec.dtypes import (
    all_dtypes,
    bfloat16,
    bool_,
    float16,
    float32,
    float64,
    floats,
    ieee_floats,
    index,
    int8,
    int16,
    int32,
    int64,
    ints,
    uint8,
    uint16,
)
from soundline.spec.rules.language import Sides, bits_at_most, given, lossless, rule, where
from soundline.spec.rules.terms import Bool, Const, DTypeVar, Interval, Value


@rule(dtypes=all_dtypes)
def cast_to_same(x: Value, s: DTypeVar) -> Sides:
    """A conversion to the dtype that it has."""
    given(s == x.dtype)
    return x.cast(s), x


@rule(dtypes=[bool_, *ints], s=[*ints, index], t=[*ints, index])
def cast_through_wider(x: Value, s: DTypeVar, t: DTypeVar) -> Sides:
    """An integer that was widened on the way to another dtype."""
    given(lossless(x.dtype, s))
    return x.cast(s).cast(t), x.cast(t)


@rule(dtypes=[*ints, index], s=ints, t=ints)
def cast_narrower_twice(x: Value, s: DTypeVar, t: DTypeVar) -> Sides:
    """Of two integer conversions only the bits that the narrower keeps matter."""
    given(bits_at_most(t, s))
    return x.cast(s).cast(t), x.cast(t)


@rule(dtypes=floats, s=floats)
def cast_float_there_and_back(x: Value, s: DTypeVar) -> Sides:
    """float16 → float32 → float16, which mixed precision leaves between two kernels."""
    given(lossless(x.dtype, s))
    return x.cast(s).cast(x.dtype), x


@rule(dtypes=[float16, bfloat16, float32], s=[float32, float64], t=ieee_floats)
def cast_float_through_wider(x: Value, s: DTypeVar, t: DTypeVar) -> Sides:
    """A float that was widened on the way to another format: these widenings round nothing."""
    return x.cast(s).cast(t), x.cast(t)


@rule(dtypes=[int8, int16, uint8, uint16], s=ieee_floats)
def cast_int_through_float(x: Value, s: DTypeVar) -> Sides:
    """Integers that a float format holds exactly come back as they were."""
    given(lossless(x.dtype, s))
    return x.cast(s).cast(x.dtype), x


@rule(s=all_dtypes)
def cast_mask_there_and_back(p: Bool, s: DTypeVar) -> Sides:
    """A mask that was made a number to be carried about."""
    return p.cast(s).cast(bool_), p


@rule(dtypes=all_dtypes)
def cast_to_bool(x: Value) -> Sides:
    """A conversion to bool is a comparison, which the rules of comparisons understand; NaN is True."""
    return x.cast(bool_), x != 0


@rule(dtypes=[bool_, *ints], s=[*ints, index])
def lt_of_widened(x: Value, y: Value, s: DTypeVar) -> Sides:
    """A comparison needs no wider dtype than its operands have."""
    given(lossless(x.dtype, s))
    return x.cast(s) < y.cast(s), x < y


@rule(dtypes=floats, s=floats)
def lt_of_widened_floats(x: Value, y: Value, s: DTypeVar) -> Sides:
    """A comparison needs no wider format than its operands have."""
    given(lossless(x.dtype, s))
    return x.cast(s) < y.cast(s), x < y


@rule(dtypes=[bool_, *ints], s=[*ints, index])
def eq_of_widened(x: Value, y: Value, s: DTypeVar) -> Sides:
    """An equation needs no wider dtype than its operands have."""
    given(lossless(x.dtype, s))  # bits_at_most would do among fixed widths, but leave out index
    return x.cast(s) == y.cast(s), x == y


@rule(dtypes=ints, s=ints)
def narrow_sum_of_widened(x: Value, y: Value, s: DTypeVar) -> Sides:
    """A sum that was computed wider than it is kept, or with another sign; wrapping gives the same bits."""
    given(bits_at_most(x.dtype, s))
    return (x.cast(s) + y.cast(s)).cast(x.dtype), x + y


@rule(dtypes=[int8, int16, uint8, uint16], s=[int8, int16, uint8, uint16])
def narrow_product_of_widened(x: Value, y: Value, s: DTypeVar) -> Sides:
    """A product that was computed wider than it is kept, or with another sign."""
    given(bits_at_most(x.dtype, s))
    return (x.cast(s) * y.cast(s)).cast(x.dtype), x * y


@rule(dtypes=[bool_, *ints], s=[*ints, index])
def cast_of_where(p: Bool, x: Value, y: Value, s: DTypeVar) -> Sides:
    """A choice between widened values is widened once."""
    return where(p, x.cast(s), y.cast(s)), where(p, x, y).cast(s)


@rule(dtypes=ints)
def product_with_mask(p: Bool, x: Value) -> Sides:
    """A mask that multiplies is a gate; for floats 0 · ∞ is not 0."""
    return p.cast(x.dtype) * x, where(p, x, 0)


# Positions ----------------------------------------------------------------------------------------------------------

# Wrapping lets an index be computed before it is cast; the bounds keep it within 64 bits, in which C holds it.


@rule(dtypes=[index], s=ints)
def sum_of_cast_indices(x: Interval, y: Interval, s: DTypeVar) -> Sides:
    """A sum of positions is a position."""
    given(x.lo >= -(2**61), x.hi <= 2**61, y.lo >= -(2**61), y.hi <= 2**61)
    return x.cast(s) + y.cast(s), (x + y).cast(s)


@rule(dtypes=[index], s=ints)
def scaled_cast_index(x: Interval, c: Const["s"], s: DTypeVar) -> Sides:
    """A scaled position is a position."""
    given(x.lo >= -(2**31), x.hi <= 2**31, c.cast(index) >= -(2**30), c.cast(index) <= 2**30)
    return x.cast(s) * c, (x * c.cast(index)).cast(s)


@rule(dtypes=[index], s=ints)
def shifted_cast_index(x: Interval, c: Const["s"], s: DTypeVar) -> Sides:
    """A shifted position is a position."""
    given(x.lo >= -(2**61), x.hi <= 2**61, c.cast(index) >= -(2**61), c.cast(index) <= 2**61)
    return x.cast(s) + c, (x + c.cast(index)).cast(s)


@rule(dtypes=[index], s=[int32, int64])
def cast_index_equals(x: Interval, y: Value["s"], s: DTypeVar) -> Sides:
    """A position is compared as the index that it is."""
    given(x.lo >= -(2**31), x.hi < 2**31)
    return x.cast(s) == y, x == y.cast(index)


@rule(dtypes=[index], s=[int32, int64])
def cast_indices_less(x: Interval, y: Interval, s: DTypeVar) -> Sides:
    """Positions are compared as the indices that they are."""
    given(x.lo >= -(2**31), x.hi < 2**31, y.lo >= -(2**31), y.hi < 2**31)
    return x.cast(s) < y.cast(s), x < y


@rule(dtypes=[index], s=[int32, int64])
def cast_indices_at_most(x: Interval, y: Interval, s: DTypeVar) -> Sides:
    """The same for what may be equal."""
    given(x.lo >= -(2**31), x.hi < 2**31, y.lo >= -(2**31), y.hi < 2**31)
    return x.cast(s) <= y.cast(s), x <= y


@rule(dtypes=[index], s=[int32, int64])
def index_there_and_back(x: Interval, s: DTypeVar) -> Sides:
    """A position that is an index again."""
    given(x.lo >= -(2**31), x.hi < 2**31)
    return x.cast(s).cast(index), x


@rule(dtypes=[index], s=[int32, int64], t=ints)
def index_through_wide(x: Interval, s: DTypeVar, t: DTypeVar) -> Sides:
    """A position that had room on the way."""
    given(x.lo >= -(2**31), x.hi < 2**31)
    return x.cast(s).cast(t), x.cast(t)
