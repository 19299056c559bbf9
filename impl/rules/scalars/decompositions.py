"""
Decompositions
==============

What an op is in terms of others, for back ends that lack it. They go the other way than the rules that simplify, so
they are a set of their own, `DECOMPOSE`. Which of them serve a target, `lower.instructions` reads off the target's
table; where several do, the first wins of those that cost the same.
"""

from soundline.spec.dtypes import (
    bfloat16,
    bool_,
    float16,
    float32,
    float64,
    floats,
    index,
    int32,
    int64,
    ints,
    sints,
    uint16,
    uint32,
    uint64,
    uints,
)
from soundline.spec.rules.language import Sides, cdiv, cmod, given, maximum, mulacc, rule, where
from soundline.spec.rules.terms import Bool, Const, Value

whole = (index, *ints)
signed = (index, *sints)
numbers = (*whole, *floats)


@rule(dtypes=numbers)
def sub_as_add(x: Value, y: Value) -> Sides:
    """A difference is a sum with the opposite, for floats to the bit."""
    return x - y, x + -y


@rule(dtypes=numbers)
def neg_as_mul(x: Value) -> Sides:
    """The sign of zero changes as well."""
    return -x, x * -1


@rule(dtypes=whole)
def neg_as_sub(x: Value) -> Sides:
    """Not for floats: 0 - 0 is +0.0."""
    return -x, 0 - x


@rule(dtypes=[float16, bfloat16])
def neg_as_sign_bit_16(x: Value) -> Sides:
    """Negation of a float is its sign bit turned over."""
    return -x, (x.bitcast(uint16) ^ 0x8000).bitcast(x.dtype)


@rule(dtypes=[float32])
def neg_as_sign_bit_32(x: Value) -> Sides:
    """Negation of a float is its sign bit turned over."""
    return -x, (x.bitcast(uint32) ^ 0x80000000).bitcast(x.dtype)


@rule(dtypes=[float64])
def neg_as_sign_bit_64(x: Value) -> Sides:
    """Negation of a float is its sign bit turned over."""
    return -x, (x.bitcast(uint64) ^ 0x8000000000000000).bitcast(x.dtype)


@rule(dtypes=numbers)
def mulacc_as_sum(x: Value, y: Value, z: Value) -> Sides:
    """A product and a sum, each rounded."""
    return mulacc(x, y, z), x * y + z


@rule(dtypes=[float32, float64], licences="contract")
def sum_as_mulacc(x: Value, y: Value, z: Value) -> Sides:
    """The way back, for a target that rounds once, as the licence admits."""
    return x * y + z, mulacc(x, y, z)


@rule(dtypes=whole)
def max_as_choice(x: Value, y: Value) -> Sides:
    """The greater of two."""
    return maximum(x, y), where(x < y, y, x)


@rule(dtypes=floats)
def float_max_as_choice(x: Value, y: Value) -> Sides:
    """A sum makes NaN of NaN, and +0.0 of zeros that differ."""
    return maximum(x, y), where(x < y, y, where((y < x) | ((x == y) & (x != 0)), x, x + y))


@rule(dtypes=[bool_])
def bool_max_as_or(p: Bool, q: Bool) -> Sides:
    """The greater of two truth values."""
    return maximum(p, q), p | q


@rule(dtypes=whole)
def mod_as_difference(x: Value, y: Value) -> Sides:
    """What the quotient leaves, by zero too."""
    return x % y, x - (x // y) * y


@rule(dtypes=signed)
def idiv_as_cdiv(x: Value, c: Const) -> Sides:
    """Rounding down by rounding toward zero: one less where the signs differ and something is left."""
    given(c != 0)
    return x // c, cdiv(x, c) - where((cmod(x, c) != 0) & ((x < 0) != (c < 0)), 1, 0)


@rule(dtypes=signed)
def mod_as_cmod(x: Value, c: Const) -> Sides:
    """The remainder takes the sign of the divisor; by 0 both leave x."""
    return x % c, cmod(x, c) + where((cmod(x, c) != 0) & ((x < 0) != (c < 0)), c, 0)


@rule(dtypes=signed)
def natural_idiv_as_cdiv(x: Value, y: Value) -> Sides:
    """Rounding down is rounding toward zero where nothing is negative."""
    given(x >= 0, y >= 1)
    return x // y, cdiv(x, y)


@rule(dtypes=signed)
def natural_mod_as_cmod(x: Value, y: Value) -> Sides:
    """The remainders are one as well."""
    given(x >= 0, y >= 1)
    return x % y, cmod(x, y)


@rule(dtypes=uints)
def unsigned_idiv_as_cdiv(x: Value, y: Value) -> Sides:
    """Without signs the divisions are one."""
    return x // y, cdiv(x, y)


@rule(dtypes=uints)
def unsigned_mod_as_cmod(x: Value, y: Value) -> Sides:
    """Without signs the remainders are one."""
    return x % y, cmod(x, y)


@rule(dtypes=ints)
def mod_as_mask(x: Value, c: Const) -> Sides:
    """The remainder by a power of two is the low bits, of negative numbers too; by 0 it is all of them."""
    given(c >= 0, (c & (c - 1)) == 0)
    return x % c, x & (c - 1)


@rule(dtypes=ints)
def xor_as_difference(x: Value, y: Value) -> Sides:
    """The bits of either without those of both."""
    return x ^ y, (x | y) - (x & y)


@rule(dtypes=ints)
def or_as_sum(x: Value, y: Value) -> Sides:
    """Carries come from the bits of both alone."""
    return x | y, (x ^ y) + (x & y)


@rule(dtypes=floats)
def recip_as_div(x: Value) -> Sides:
    """A reciprocal is rounded once, as the quotient is."""
    return x.recip(), 1 / x


@rule(dtypes=floats, licences="reciprocal")
def div_as_recip(x: Value, y: Value) -> Sides:
    """Rounded twice, and by licence alone."""
    return x / y, x * y.recip()


@rule(dtypes=numbers)
def ne_as_not_eq(x: Value, y: Value) -> Sides:
    """NaN differs from itself on both sides."""
    return x != y, ~(x == y)


@rule(dtypes=whole)
def le_as_not_lt(x: Value, y: Value) -> Sides:
    """Not for floats, where NaN is in no order."""
    return x <= y, ~(y < x)


@rule(dtypes=floats)
def float_le_as_lt_or_eq(x: Value, y: Value) -> Sides:
    """The order of floats from its two halves."""
    return x <= y, (x < y) | (x == y)


@rule
def not_as_xor(p: Bool) -> Sides:
    """Negation turns the one bit over."""
    return ~p, p ^ True


@rule
def where_of_bools(p: Bool, q: Bool, r: Bool) -> Sides:
    """A choice between truth values."""
    return where(p, q, r), (p & q) | (~p & r)


@rule(dtypes=[uint32])
def unsigned_lt_as_signed_32(x: Value, y: Value) -> Sides:
    """The order of unsigned words is the signed one with the highest bit turned over."""
    return x < y, (x ^ 0x80000000).bitcast(int32) < (y ^ 0x80000000).bitcast(int32)


@rule(dtypes=[uint64])
def unsigned_lt_as_signed_64(x: Value, y: Value) -> Sides:
    """The order of unsigned words is the signed one with the highest bit turned over."""
    return x < y, (x ^ 0x8000000000000000).bitcast(int64) < (y ^ 0x8000000000000000).bitcast(int64)
