"""Right rules over floats, with and without licences: every layer is proved."""

from __future__ import annotations

import math

import pytest

from soundline.spec.ops.node import Op
from soundline.spec.rules.terms import apply
from soundline.verify import (
    Bool,
    DTypeVar,
    Interval,
    UnaryOp,
    Value,
    bfloat16,
    bool_,
    float8_e4m3fn,
    float8_e5m2,
    float16,
    float32,
    float64,
    floats,
    given,
    ieee_floats,
    int8,
    int16,
    int32,
    lossless,
    maximum,
    mulacc,
    rule,
    uint8,
    uint16,
    where,
)
from soundline.verify.judging.judge import prove

from ..representative import of_each_word  # noqa: TID252

FEW = (float16, float32, float8_e4m3fn)
WITH_INFINITY = tuple(d for d in floats if d.has_infinity)
NAN, INF = math.nan, math.inf

RIGHT = []


def right(**options):
    """A rule that is right at every layer."""
    options.setdefault("dtypes", floats)
    return lambda f: RIGHT.append(rule(**options)(f))


@right()
def mul_one(x: Value):
    return x * 1, x


@right()
def add_negative_zero(x: Value):
    return x + -0.0, x


@right()
def sub_zero(x: Value):
    return x - 0.0, x


@right()
def sub_is_add_of_negated(x: Value, y: Value):
    return x - y, x + -y


@right()
def neg_of_neg(x: Value):
    return apply(Op.Neg, apply(Op.Neg, x)), x


@right()
def mul_minus_one(x: Value):
    return x * -1, -x


@right()
def div_one(x: Value):
    return x / 1, x


@right()
def two_times(x: Value):
    return x * 2, x + x


@right(dtypes=(float16, float32, bfloat16, float8_e5m2))
def halve(x: Value):
    return x / 2, x * 0.5


@right()
def recip_is_div(x: Value):
    return 1 / x, x.recip()


@right()
def add_commutes(x: Value, y: Value):
    return x + y, y + x


@right()
def mul_commutes(x: Value, y: Value):
    return x * y, y * x


@right()
def sign_moves_out(x: Value, y: Value):
    return (-x) * y, -(x * y)


@right()
def signs_cancel(x: Value, y: Value):
    return (-x) * (-y), x * y


@right()
def sign_of_quotient(x: Value, y: Value):
    return x / (-y), -(x / y)


@right()
def mulacc_rounds_twice(x: Value, y: Value, z: Value):
    return mulacc(x, y, z), x * y + z


@right()
def max_commutes(x: Value, y: Value):
    return maximum(x, y), maximum(y, x)


@right()
def max_associates(x: Value, y: Value, z: Value):
    return maximum(maximum(x, y), z), maximum(x, maximum(y, z))


@right()
def max_is_idempotent(x: Value):
    return maximum(x, x), x


@right(dtypes=ieee_floats)
def max_of_least(x: Value):
    return maximum(x, -INF), x


@right()
def gt_is_lt(x: Value, y: Value):
    return x > y, y < x


@right()
def ge_is_gt_or_eq(x: Value, y: Value):
    return x >= y, (y < x) | (x == y)


@right()
def ne_is_not_eq(x: Value, y: Value):
    return x != y, ~(x == y)


@right()
def nan_is_what_differs_from_itself(x: Value, y: Value):
    given(x == x, y == y)
    return x >= y, ~(x < y)


@right()
def trunc_trunc(x: Value):
    return x.trunc().trunc(), x.trunc()


@right()
def trunc_keeps_the_sign(x: Value):
    return (-x).trunc(), -(x.trunc())


@right()
def sqrt_of_one(x: Value):
    given(x == 1)
    return x.sqrt(), x


@right()
def where_of_op(p: Bool, x: Value, y: Value, z: Value):
    return where(p, x, y) * z, where(p, x * z, y * z)


@right()
def any_op_of_where(f: UnaryOp, p: Bool, x: Value, y: Value):
    return f(where(p, x, y)), where(p, f(x), f(y))


@right()
def decided_by_bounds(x: Interval, y: Interval):
    given(x.hi < y.lo)
    return x < y, where(x < y, x < y, x == x)


@right()
def bounded_is_no_nan(x: Interval):
    return x == x, x <= x


@right(dtypes=FEW, s=(float32, float64))
def cast_through_wider(x: Value, s: DTypeVar):
    given(lossless(x.dtype, s))
    return x.cast(s).cast(x.dtype), x


@right(dtypes=(int8, uint8, int16), s=(float32, float64))
def integer_through_float(x: Value, s: DTypeVar):
    given(lossless(x.dtype, s))
    return x.cast(s).cast(x.dtype), x


@right(dtypes=(float16, bfloat16, float8_e5m2))
def widening_keeps_order(x: Value, y: Value):
    return x.cast(float32) < y.cast(float32), x < y


@right(dtypes=(float16, float8_e4m3fn))
def widening_keeps_max(x: Value, y: Value):
    return maximum(x.cast(float32), y.cast(float32)), maximum(x, y).cast(float32)


@right()
def cast_to_bool(x: Value):
    return x.cast(bool_), x != 0


@right(dtypes=(float16, bfloat16))
def sign_of_the_bits(x: Value):
    given(x == x)
    return x.bitcast(int16) < 0, (x < 0) | (x.bitcast(uint16) == 32768)


@right(dtypes=(float32,))
def float_bits_there_and_back(x: Value):
    return x.bitcast(int32).bitcast(float32), where(x == x, x, x.bitcast(int32).bitcast(float32))


@right(dtypes=(int32,))
def bits_of_numbers(x: Value):
    given(x.bitcast(float32) == x.bitcast(float32))
    return x.bitcast(float32).bitcast(int32), x


@right(dtypes=(float16, float32))
def same_bits_same_exp2(x: Value, y: Value):
    return (x + y).exp2(), (y + x).exp2()


@right(licences="no_nan")
def max_without_nan(x: Value, y: Value):
    given((x != 0) | (y != 0))
    return maximum(x, y), where(x < y, y, x)


@right(licences="no_signed_zero")
def add_zero_without_signs(x: Value):
    return x + 0.0, x


@right(licences=("no_nan", "no_signed_zero"))
def mul_zero(x: Value):
    return x * 0.0, where(x == x, 0.0, x)


@right(licences="no_nan")
def sub_self_without_nan(x: Value):
    return x - x, where(x == x, 0.0, x)


@right(licences="reassociate")
def add_associates(x: Value, y: Value, z: Value):
    return (x + y) + z, x + (y + z)


@right(licences="reassociate")
def constants_of_a_chain(x: Value, y: Value):
    return (x + 1.0) + (y + 2.0), (y + x) + 3.0


@right(licences="reassociate")
def products_of_a_chain(x: Value, y: Value, z: Value):
    return (-x * y) * (z * 2.0), (2.0 * z) * (y * -x)


@right(licences=("reassociate", "no_signed_zero"))
def a_negated_sum(x: Value, y: Value, z: Value):
    return x - (y + z), (x - y) - z


@right(licences=("reassociate", "no_nan", "no_signed_zero"), dtypes=(float16, float8_e5m2))
def cancels_without_nan(x: Value, y: Value):
    return (x + y) - x, y


@right(licences=("reassociate", "reciprocal"))
def quotient_of_a_product(x: Value, y: Value, z: Value):
    return (x / y) * z, (x * z) / y


@right(licences="reciprocal")
def quotient_in_place(x: Value, y: Value, z: Value):
    return (x / y + z).sqrt(), (z + x * y.recip()).sqrt()


@right(licences="reciprocal")
def div_by_reciprocal(x: Value, y: Value):
    return x / y, x * y.recip()


@right(licences="contract", dtypes=ieee_floats)
def contract_to_mulacc(x: Value, y: Value, z: Value):
    return x * y + z, mulacc(x, y, z)


@pytest.mark.parametrize("stated", of_each_word(RIGHT))
def test_right_rules_are_proved(stated):
    report = prove(stated)
    assert {
        layer.layer: (layer.verdict, layer.detail) for layer in report.layers if layer.verdict != "proved"
    } == {}
    assert report.verdict == "proved"
