"""Wrong twins of ``impl/rules/casts.py``."""

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
