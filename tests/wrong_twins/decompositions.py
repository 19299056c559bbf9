"""Wrong twins of ``impl/rules/scalars/decompositions.py``."""

from soundline.verify import *


@rule(dtypes=[int8])
def sub_as_add_wrong(x: Value, y: Value):
    """The other operand negated."""
    return x - y, -x + y


@rule(dtypes=[float16])
def neg_as_mul_wrong(x: Value):
    """By one."""
    return -x, x * 1


@rule(dtypes=[float16])
def neg_as_sub_wrong(x: Value):
    """The opposite of +0.0 is -0.0."""
    return -x, 0 - x


@rule(dtypes=[bfloat16])
def neg_as_sign_bit_16_wrong(x: Value):
    """The bit beside it."""
    return -x, (x.bitcast(uint16) ^ 0x4000).bitcast(x.dtype)


@rule(dtypes=[float32])
def neg_as_sign_bit_32_wrong(x: Value):
    """The sign of a narrower word."""
    return -x, (x.bitcast(uint32) ^ 0x8000).bitcast(x.dtype)


@rule(dtypes=[float64])
def neg_as_sign_bit_64_wrong(x: Value):
    """The sign of a narrower word."""
    return -x, (x.bitcast(uint64) ^ 0x80000000).bitcast(x.dtype)


@rule(dtypes=[int8])
def mulacc_as_sum_wrong(x: Value, y: Value, z: Value):
    """Another order of the operands."""
    return mulacc(x, y, z), x + y * z


@rule(dtypes=[float32], licences="contract")
def sum_as_mulacc_wrong(x: Value, y: Value, z: Value):
    """A product with the sum."""
    return x * y + z, mulacc(x, z, y)


@rule(dtypes=[int8])
def max_as_choice_wrong(x: Value, y: Value):
    """The lesser of two."""
    return maximum(x, y), where(x < y, x, y)


@rule(dtypes=[float16])
def float_max_as_choice_wrong(x: Value, y: Value):
    """NaN on the left is lost."""
    return maximum(x, y), where(x < y, y, where((y < x) | (x == y), x, y))


@rule(dtypes=[bool_])
def bool_max_as_or_wrong(p: Bool, q: Bool):
    """The lesser of two."""
    return maximum(p, q), p & q


@rule(dtypes=[int8])
def mod_as_difference_wrong(x: Value, y: Value):
    """The quotient of the other division."""
    return x % y, x - cdiv(x, y) * y


@rule(dtypes=[int8])
def idiv_as_cdiv_wrong(x: Value, c: Const):
    """One less although nothing is left."""
    given(c != 0)
    return x // c, cdiv(x, c) - where((x < 0) != (c < 0), 1, 0)


@rule(dtypes=[int8])
def mod_as_cmod_wrong(x: Value, c: Const):
    """The divisor added although nothing is left."""
    return x % c, cmod(x, c) + where((x < 0) != (c < 0), c, 0)


@rule(dtypes=[int8])
def natural_idiv_as_cdiv_wrong(x: Value, y: Value):
    """A dividend that may be -1."""
    given(x >= -1, y >= 1)
    return x // y, cdiv(x, y)


@rule(dtypes=[int8])
def natural_mod_as_cmod_wrong(x: Value, y: Value):
    """A dividend that may be -1."""
    given(x >= -1, y >= 1)
    return x % y, cmod(x, y)


@rule(dtypes=[int8])
def unsigned_idiv_as_cdiv_wrong(x: Value, y: Value):
    """With signs they differ."""
    return x // y, cdiv(x, y)


@rule(dtypes=[int8])
def unsigned_mod_as_cmod_wrong(x: Value, y: Value):
    """With signs they differ."""
    return x % y, cmod(x, y)


@rule(dtypes=[uint8])
def mod_as_mask_wrong(x: Value, c: Const):
    """Any divisor."""
    given(c > 0)
    return x % c, x & (c - 1)


@rule(dtypes=[int8])
def xor_as_difference_wrong(x: Value, y: Value):
    """The bits of both counted in."""
    return x ^ y, (x | y) + (x & y)


@rule(dtypes=[int8])
def or_as_sum_wrong(x: Value, y: Value):
    """The bits of both left out."""
    return x | y, (x ^ y) - (x & y)


@rule(dtypes=[float16])
def recip_as_div_wrong(x: Value):
    """The sign of the numerator is the sign of what it makes of zero."""
    return x.recip(), -1 / x


@rule(dtypes=[float16])
def div_as_recip_wrong(x: Value, y: Value):
    """Without the licence."""
    return x / y, x * y.recip()


@rule(dtypes=[float16])
def ne_as_not_eq_wrong(x: Value, y: Value):
    """NaN is neither less nor greater, and differs."""
    return x != y, (x < y) | (y < x)


@rule(dtypes=[float16])
def le_as_not_lt_wrong(x: Value, y: Value):
    """NaN is in no order."""
    return x <= y, ~(y < x)


@rule(dtypes=[float16])
def float_le_as_lt_or_eq_wrong(x: Value, y: Value):
    """Without the equal ones."""
    return x <= y, (x < y) | (x != x)


@rule
def not_as_xor_wrong(p: Bool):
    """The bit left as it is."""
    return ~p, p ^ False


@rule
def where_of_bools_wrong(p: Bool, q: Bool, r: Bool):
    """Both branches behind one gate."""
    return where(p, q, r), (p & q) | (p & r)


@rule(dtypes=[uint32])
def unsigned_lt_as_signed_32_wrong(x: Value, y: Value):
    """Without the bit turned over."""
    return x < y, x.bitcast(int32) < y.bitcast(int32)


@rule(dtypes=[uint64])
def unsigned_lt_as_signed_64_wrong(x: Value, y: Value):
    """Without the bit turned over."""
    return x < y, x.bitcast(int64) < y.bitcast(int64)
