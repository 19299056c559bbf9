"""Wrong twins of ``impl/rules/scalars/casts.py``."""

from soundline.verify import *


@rule(dtypes=[int16], s=[int8])
def cast_to_same_wrong(x: Value, s: DTypeVar):
    """A dtype that is not the same, and back."""
    return x.cast(s).cast(x.dtype), x


@rule(dtypes=[int8], s=[uint8], t=[int16])
def cast_through_wider_wrong(x: Value, s: DTypeVar, t: DTypeVar):
    """Without the condition: a negative value wraps on the way."""
    return x.cast(s).cast(t), x.cast(t)


@rule(dtypes=[int16], s=[int8], t=[int16])
def cast_narrower_twice_wrong(x: Value, s: DTypeVar, t: DTypeVar):
    """The condition turned round."""
    given(bits_at_most(s, t))
    return x.cast(s).cast(t), x.cast(t)


@rule(dtypes=[float16], s=[bfloat16])
def cast_float_there_and_back_wrong(x: Value, s: DTypeVar):
    """Without the condition: as many bits, but another format."""
    return x.cast(s).cast(x.dtype), x


@rule(dtypes=[float32], s=[float16], t=[float64])
def cast_float_through_wider_wrong(x: Value, s: DTypeVar, t: DTypeVar):
    """The way leads through a narrower format."""
    return x.cast(s).cast(t), x.cast(t)


@rule(dtypes=[int16], s=[float16])
def cast_int_through_float_wrong(x: Value, s: DTypeVar):
    """Without the condition: 2049 is no float16."""
    return x.cast(s).cast(x.dtype), x


@rule(s=[int8])
def cast_mask_there_and_back_wrong(p: Bool, s: DTypeVar):
    """A negation on the way."""
    return (~p).cast(s).cast(bool_), p


@rule(dtypes=[float32])
def cast_to_bool_wrong(x: Value):
    """A comparison that is false for NaN."""
    return x.cast(bool_), (x < 0) | (0 < x)


@rule(dtypes=[int8], s=[uint16])
def lt_of_widened_wrong(x: Value, y: Value, s: DTypeVar):
    """Without the condition: a negative value becomes a great one."""
    return x.cast(s) < y.cast(s), x < y


@rule(dtypes=[float32, float8_e4m3fn], s=[float8_e5m2])
def lt_of_widened_floats_wrong(x: Value, y: Value, s: DTypeVar):
    """Without the condition: different values round to one."""
    return x.cast(s) < y.cast(s), x < y


@rule(dtypes=[int16], s=[int8])
def eq_of_widened_wrong(x: Value, y: Value, s: DTypeVar):
    """Without the condition: different values have the same low bits."""
    return x.cast(s) == y.cast(s), x == y


@rule(dtypes=[int16], s=[int8])
def narrow_sum_of_widened_wrong(x: Value, y: Value, s: DTypeVar):
    """Without the condition: the high bits are lost."""
    return (x.cast(s) + y.cast(s)).cast(x.dtype), x + y


@rule(dtypes=[int16], s=[int8])
def narrow_product_of_widened_wrong(x: Value, y: Value, s: DTypeVar):
    """Without the condition: the high bits are lost."""
    return (x.cast(s) * y.cast(s)).cast(x.dtype), x * y


@rule(dtypes=[int8], s=[int16])
def cast_of_where_wrong(p: Bool, x: Value, y: Value, s: DTypeVar):
    """The branches exchanged."""
    return where(p, x.cast(s), y.cast(s)), where(p, y, x).cast(s)


@rule(dtypes=[float16])
def product_with_mask_wrong(p: Bool, x: Value):
    """For floats 0 · ∞ is not 0."""
    return p.cast(x.dtype) * x, where(p, x, 0)


@rule(dtypes=[index], s=[int8])
def sum_of_cast_indices_wrong(x: Interval, y: Interval, s: DTypeVar):
    """A sum that wraps is not the sum of what wraps, once it is an index again."""
    return x.cast(s).cast(index) + y.cast(s).cast(index), (x + y).cast(s).cast(index)


@rule(dtypes=[index], s=[int8])
def scaled_cast_index_wrong(x: Interval, c: Const["s"], s: DTypeVar):
    """A scaled position is no shifted one."""
    given(x.lo >= -(2**31), x.hi <= 2**31, c >= -(2**30), c <= 2**30)
    return x.cast(s) * c, (x + c.cast(index)).cast(s)


@rule(dtypes=[index], s=[int8])
def shifted_cast_index_wrong(x: Interval, c: Const["s"], s: DTypeVar):
    """A position that wraps is not shifted as one."""
    return x.cast(s).cast(index) + c.cast(index), (x + c.cast(index)).cast(s).cast(index)


@rule(dtypes=[index], s=[int8])
def cast_index_equals_wrong(x: Interval, y: Value["s"], s: DTypeVar):
    """A position that wraps is equal to what it is not."""
    given(x.lo >= -(2**31), x.hi < 2**31)
    return x.cast(s) == y, x == y.cast(index)


@rule(dtypes=[index], s=[int8])
def cast_indices_less_wrong(x: Interval, y: Interval, s: DTypeVar):
    """What wraps is less than what it was not."""
    given(x.lo >= -(2**31), x.hi < 2**31, y.lo >= -(2**31), y.hi < 2**31)
    return x.cast(s) < y.cast(s), x < y


@rule(dtypes=[index], s=[int8])
def cast_indices_at_most_wrong(x: Interval, y: Interval, s: DTypeVar):
    """What wraps is less than what it was not."""
    given(x.lo >= -(2**31), x.hi < 2**31, y.lo >= -(2**31), y.hi < 2**31)
    return x.cast(s) <= y.cast(s), x <= y


@rule(dtypes=[index], s=[int8])
def index_there_and_back_wrong(x: Interval, s: DTypeVar):
    """Without room for it."""
    given(x.lo >= -(2**31), x.hi < 2**31)
    return x.cast(s).cast(index), x


@rule(dtypes=[index], s=[int8], t=[int16])
def index_through_wide_wrong(x: Interval, s: DTypeVar, t: DTypeVar):
    """Without room on the way."""
    given(x.lo >= -(2**31), x.hi < 2**31)
    return x.cast(s).cast(t), x.cast(t)
