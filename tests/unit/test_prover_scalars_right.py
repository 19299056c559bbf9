"""Right rules over integers and bools: every layer is proved."""

from __future__ import annotations

import pytest

from soundline.verify import (
    BinaryOp,
    Bool,
    Const,
    DTypeVar,
    Interval,
    Size,
    UnaryOp,
    Value,
    bool_,
    cdiv,
    cmod,
    ediv,
    emod,
    fits,
    given,
    index,
    int8,
    int16,
    int32,
    ints,
    lossless,
    maximum,
    mulacc,
    rule,
    uint8,
    uint64,
    where,
)
from soundline.verify.judging.judge import prove

WIDTHS = (index, int8, int32, uint8, uint64)
FIXED = WIDTHS[1:]
SIGNED = (index, int8, int32)

RIGHT = []


def right(**options):
    """A rule that is right at every layer."""
    options.setdefault("dtypes", WIDTHS)
    return lambda f: RIGHT.append(rule(**options)(f))


@right()
def add_zero(x: Value):
    return x + 0, x


@right()
def mul_one(x: Value):
    return x * 1, x


@right()
def mul_zero(x: Value):
    return x * 0, x - x


@right()
def sub_self(x: Value, y: Value):
    return (x + y) - y, x


@right()
def neg_of_neg(x: Value):
    return 0 - (-x), x


@right()
def distribute(x: Value, y: Value, c: Const):
    return x * c + y * c, (x + y) * c


@right()
def mul_mul(x: Value, c: Const, d: Const):
    return (x * c) * d, x * (c * d)


@right()
def mulacc_is_mul_add(x: Value, y: Value, z: Value):
    return mulacc(x, y, z), x * y + z


@right()
def two_times(x: Value):
    return x * 2, x + x


@right()
def add_commutes(x: Value, y: Value):
    return x + y, y + x


@right()
def mul_div_cancel(x: Value, c: Const):
    given(c != 0, fits(x * c))
    return (x * c) // c, x


@right()
def mul_mod_cancel(x: Value, c: Const):
    given(fits(x * c))
    return (x * c) % c, x - x


@right()
def recombine(x: Value, c: Const):
    return (x // c) * c + x % c, x


@right()
def div_of_zero_divisor(x: Value):
    return x // 0, x * 0


@right()
def mod_of_zero_divisor(x: Value):
    return x % 0, x


@right()
def div_one(x: Value):
    return x // 1, x


@right(dtypes=SIGNED)
def div_minus_one(x: Value):
    return x // -1, -x


@right()
def mod_mod(x: Value, c: Const):
    return (x % c) % c, x % c


@right()
def div_div(x: Value, c: Const, d: Const):
    given(c > 0, d > 0, fits(c * d))
    return (x // c) // d, x // (c * d)


@right()
def mod_of_multiple(x: Value, c: Const, d: Const):
    given(c > 0, d > 0, c % d == 0)
    return (x % c) % d, x % d


@right()
def div_of_mod(x: Value, c: Const, d: Const):
    given(c > 0, d > 0, fits(c * d))
    return (x % (c * d)) // d, (x // d) % c


@right()
def flat_div(x: Value, y: Value, c: Const):
    given(c > 0, fits(x * c + y))
    return (x * c + y) // c, x + y // c


@right()
def flat_mod(x: Value, y: Value, c: Const):
    given(c > 0, fits(x * c + y))
    return (x * c + y) % c, y % c


@right()
def div_by_common_factor(x: Value, c: Const, d: Const):
    given(c > 0, d > 0, fits(x * d), fits(c * d))
    return (x * d) // (c * d), x // c


@right()
def lt_div(x: Value, c: Const, d: Const):
    given(d > 0, fits(c * d))
    return x // d < c, x < c * d


@right(dtypes=SIGNED)
def negative_divisor(x: Value, c: Const):
    given(c < 0, fits(-c), fits(-x))
    return x // c, (-x) // (-c)


@right()
def ceiling(x: Value, c: Const):
    given(c > 0, fits(-x), fits(x + c))
    return (x + (c - 1)) // c, -((-x) // c)


@right()
def truncated_recombine(x: Value, c: Const):
    return cdiv(x, c) * c + cmod(x, c), x


@right()
def truncation_of_naturals(x: Value, c: Const):
    given(x >= 0, c > 0)
    return cdiv(x, c), x // c


@right()
def euclidean_recombine(x: Value, c: Const):
    given(c > 0)
    return ediv(x, c) * c + emod(x, c), x


@right()
def euclidean_remainder_is_natural(x: Value, c: Const):
    given(c > 0)
    return emod(x, c) >= 0, x == x


@right()
def mod_of_reduced(x: Interval, c: Const):
    given(x.lo >= 0, x.hi < c)
    return x % c, x


@right()
def div_to_zero(x: Interval, c: Const):
    given(x.lo >= 0, x.hi < c)
    return x // c, x - x


@right()
def decided_by_bounds(x: Interval, y: Interval):
    given(x.hi < y.lo)
    return x < y, x == x


@right(dtypes=(index,))
def size_is_natural(n: Size):
    return n < 0, n != n


@right()
def lt_add(x: Value, y: Value, c: Const):
    given(fits(x + c), fits(y + c))
    return x + c < y + c, x < y


@right()
def eq_add(x: Value, y: Value, c: Const):
    return x + c == y + c, x == y


@right()
def not_lt(x: Value, y: Value):
    return ~(x < y), y <= x


@right()
def lt_or_eq(x: Value, y: Value):
    return (x < y) | (x == y), x <= y


@right()
def ge_is_not_lt(x: Value, y: Value):
    return x >= y, ~(x < y)


@right()
def max_assoc(x: Value, y: Value, z: Value):
    return maximum(maximum(x, y), z), maximum(x, maximum(y, z))


@right()
def max_add(x: Value, y: Value, c: Const):
    given(fits(x + c), fits(y + c))
    return maximum(x + c, y + c), maximum(x, y) + c


@right()
def max_as_where(x: Value, y: Value):
    return where(x < y, y, x), maximum(x, y)


@right()
def where_same(p: Bool, x: Value):
    return where(p, x, x), x


@right()
def where_nested(p: Bool, x: Value, y: Value, z: Value):
    return where(p, where(p, x, y), z), where(p, x, z)


@right()
def where_of_op(p: Bool, x: Value, y: Value, z: Value):
    return where(p, x, y) * z, where(p, x * z, y * z)


@right()
def where_negated(p: Bool, x: Value, y: Value):
    return where(~p, x, y), where(p, y, x)


@right(dtypes=FIXED)
def shl_is_mul(x: Value):
    return x << 3, x * 8


@right(dtypes=WIDTHS)
def shr_is_div(x: Value):
    return x >> 3, x // 8


@right(dtypes=FIXED)
def shift_past_the_width(x: Value):
    return x << 64, x ^ x


@right(dtypes=FIXED)
def shift_by_variable(x: Value, c: Const):
    given(c < 8, c >= 0)
    return (x << c) << 1, x << (c + 1)


@right(dtypes=FIXED)
def mask_is_mod(x: Value):
    return x & 15, x % 16


@right(dtypes=FIXED)
def and_or_absorb(x: Value, y: Value):
    return x & (x | y), x


@right(dtypes=FIXED)
def xor_self(x: Value, y: Value):
    return (x ^ y) ^ y, x


@right(dtypes=FIXED)
def add_by_bits(x: Value, y: Value):
    return (x ^ y) + (x & y) * 2, x + y


@right(dtypes=None)
def de_morgan(a: Bool, b: Bool):
    return ~(a & b), ~a | ~b


@right(dtypes=None)
def distribute_or(a: Bool, b: Bool, c: Bool):
    return (a & b) | (a & c), a & (b | c)


@right(dtypes=None)
def where_on_bools(p: Bool, a: Bool, b: Bool):
    return where(p, a, b), (p & a) | (~p & b)


@right(dtypes=None)
def lt_on_bools(a: Bool, b: Bool):
    return a < b, ~a & b


@right(dtypes=FIXED, s=ints)
def cast_there_and_back(x: Value, s: DTypeVar):
    given(lossless(x.dtype, s))
    return x.cast(s).cast(x.dtype), x


@right(dtypes=FIXED, s=ints, t=(int16, uint8, uint64))
def cast_through_wider(x: Value, s: DTypeVar, t: DTypeVar):
    given(lossless(x.dtype, s))
    return x.cast(s).cast(t), x.cast(t)


@right(dtypes=FIXED)
def narrow_sum(x: Value, y: Value):
    return (x + y).cast(int8), x.cast(int8) + y.cast(int8)


@right()
def bool_cast(x: Value):
    return x.cast(bool_), x != 0


@right()
def cast_of_bool(p: Bool, x: Value):
    return p.cast(x.dtype) * x, where(p, x, 0)


@right(dtypes=(index, int32, uint8))
def any_op_of_where(f: UnaryOp, p: Bool, x: Value, y: Value):
    return f(where(p, x, y)), where(p, f(x), f(y))


@right(dtypes=(int8, int32, uint8))
def any_op_of_where_both(f: BinaryOp, p: Bool, x: Value, y: Value, z: Value):
    given(where(p, x, y) == x)
    return where(p, f(x, z), f(y, z)), f(where(p, x, y), z)


@pytest.mark.parametrize("stated", RIGHT, ids=lambda r: r.id)
def test_right_rules_are_proved(stated):
    report = prove(stated)
    assert {layer.layer: layer.verdict for layer in report.layers if layer.verdict != "proved"} == {}
    assert report.verdict == "proved"
    assert all(layer.covered for layer in report.layers)
