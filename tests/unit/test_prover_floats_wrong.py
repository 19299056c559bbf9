"""Wrong rules over floats, with and without licences: refuted by values that run."""

from __future__ import annotations

import math

import pytest

from soundline.verify import (
    Const,
    Value,
    bfloat16,
    bool_,
    float8_e4m3fn,
    float16,
    float32,
    float64,
    floats,
    given,
    ieee_floats,
    int8,
    int32,
    int64,
    maximum,
    rule,
    where,
)
from soundline.verify.judging.judge import prove

from ..representative import of_each_family, words_of  # noqa: TID252

FEW = (float16, float32, float8_e4m3fn)
WITH_INFINITY = tuple(d for d in floats if d.has_infinity)
NAN, INF = math.nan, math.inf

WRONG = []


def wrong(example=None, **options):
    """A rule that every layer refutes, and what the first counterexample binds."""
    options.setdefault("dtypes", floats)
    return lambda f: WRONG.append((rule(**options)(f), example))


@wrong({"x": "-0.0"})
def add_zero(x: Value):
    return x + 0.0, x


@wrong({"x": "0.0"})
def zero_sub(x: Value):
    return 0.0 - x, -x


@wrong({"x": "-1.0"})
def mul_by_zero(x: Value):
    given(x == x)
    return x * 0.0, x * 0.0 + 0.0


@wrong({"x": "0.0", "y": "0.0"})
def sign_of_sum(x: Value, y: Value):
    return (-x) + y, -(x - y)


@wrong({"x": "inf"}, dtypes=WITH_INFINITY)
def div_self(x: Value):
    given(x != 0, x == x)
    return x / x, where(x == x, 1.0, x)


@wrong({"x": "0.0"})
def quotient_by_itself(x: Value):
    return x / x, where(x == x, 1.0, x)


@wrong({"x": "inf"}, dtypes=WITH_INFINITY)
def sub_self(x: Value):
    given(x == x)
    return x - x, where(x == x, 0.0, x)


@wrong()
def add_associates_without_licence(x: Value, y: Value, z: Value):
    return (x + y) + z, x + (y + z)


@wrong()
def mul_associates(x: Value, y: Value, z: Value):
    return (x * y) * z, x * (y * z)


@wrong()
def distributes_without_licence(x: Value, y: Value, z: Value):
    return x * (y + z), x * y + x * z


@wrong()
def reciprocal_without_licence(x: Value, y: Value):
    return x / y, x * y.recip()


@wrong(dtypes=(float16, float32, float64))
def div_three(x: Value):
    return x / 3, x * (1 / 3)


@wrong({"x": "nan", "y": "0.0"})
def ge_is_not_lt(x: Value, y: Value):
    given(y == 0)
    return x >= y, ~(x < y)


@wrong({"x": "nan"})
def equal_to_itself(x: Value):
    return x == x, ~(x < x)


@wrong({"x": "-0.0", "y": "0.0"})
def max_as_where(x: Value, y: Value):
    return maximum(x, y), where(x < y, y, x)


@wrong({"x": "0.0", "y": "nan"})
def max_as_where_meets_nan(x: Value, y: Value):
    given(x == 0, y != 0)
    return maximum(x, y), where(x < y, y, x)


@wrong({"x": "0.0", "y": "-0.0"})
def max_of_zeros(x: Value, y: Value):
    given(x == y)
    return maximum(x, y), y


@wrong()
def max_of_finite_least(x: Value):
    return maximum(x, -1.0), x


@wrong()
def trunc_is_identity(x: Value):
    return x.trunc(), x


@wrong({"x": "-0.5"})
def trunc_loses_the_sign(x: Value):
    given(x != 0)
    return x.trunc(), x.trunc() + 0.0


@wrong()
def square_root_of_square(x: Value):
    given(x >= 0)
    return (x * x).sqrt(), x


@wrong(dtypes=(float32, float64, bfloat16))
def cast_through_half(x: Value):
    return x.cast(float16).cast(x.dtype), x


@wrong(dtypes=(int32, int64))
def integer_through_float32(x: Value):
    return x.cast(float32).cast(x.dtype), x


@wrong(dtypes=(float32, float64))
def float_to_int_wraps(x: Value):
    given(x >= 0)
    return x.cast(int8), x.cast(int64).cast(int8)


@wrong({"x": "0.5"}, dtypes=(float16, float32))
def bool_of_truncation(x: Value):
    given(x >= 0)
    return x.cast(bool_), x.cast(int32).cast(bool_)


@wrong(dtypes=(float32,))
def nan_has_one_bit_pattern(x: Value):
    return x.bitcast(int32) == x.bitcast(int32), x == x


@wrong(dtypes=(int32,))
def bits_there_and_back(x: Value):
    return x.bitcast(float32).bitcast(int32), x


@wrong({"x": "inf"}, licences="no_nan", dtypes=WITH_INFINITY)
def no_nan_makes_no_nan(x: Value):
    return x, x * 0 + x


@wrong({"x": "-0.0"}, licences="no_nan")
def no_nan_keeps_the_sign(x: Value):
    return x + 0.0, x


@wrong({"x": "nan"}, licences="no_signed_zero")
def no_signed_zero_keeps_nan(x: Value):
    return x * x, where(x == x, x * x, 0.0)


@wrong(licences="contract")
def contract_does_not_reassociate(x: Value, y: Value, z: Value):
    return (x + y) + z, x + (y + z)


@wrong(licences="contract")
def contract_knows_no_real_numbers(x: Value):
    return x * 0.0, x - x


@wrong(licences="reciprocal")
def reciprocal_knows_no_real_numbers(x: Value):
    return x / x, x * 0.0 + 1.0


@wrong(licences="reciprocal")
def reciprocal_does_not_reassociate(x: Value, y: Value, z: Value):
    return (x * y) * z, x * (y * z)


@wrong(licences="reassociate")
def reassociate_knows_no_reciprocal(x: Value, y: Value):
    return x / y, x * y.recip()


@wrong(licences="no_signed_zero")
def no_signed_zero_does_not_reassociate(x: Value, y: Value, z: Value):
    return (x + y) + z, x + (y + z)


@wrong(licences=("contract", "reciprocal", "approx", "tensor_core", "tf32"))
def all_the_others_do_not_reassociate(x: Value, y: Value):
    return (x + 1.0) + y, x + (1.0 + y)


@wrong(licences=("reassociate", "reciprocal"))
def divisors_do_not_merge(x: Value, y: Value, z: Value):
    return (x / y) / z, x / (y * z)


@wrong(licences="reassociate")
def cancels(x: Value, y: Value):
    return (x + y) - x, y


@wrong(licences="reassociate")
def distributes(x: Value, y: Value, z: Value):
    return x * (y + z), x * y + x * z


@wrong(licences="approx", dtypes=ieee_floats)
def exp2_of_sum(x: Value, y: Value):
    return (x + y).exp2(), x.exp2() * y.exp2()


@wrong(licences="approx", dtypes=ieee_floats)
def log2_of_product(x: Value, y: Value):
    given(x > 0, y > 0)
    return (x * y).log2(), x.log2() + y.log2()


@wrong(licences=("reassociate", "reciprocal"))
def common_divisor(x: Value, y: Value, c: Const):
    return x / c + y / c, (x + y) / c


@wrong(licences="reassociate")
def add_is_no_max(x: Value, y: Value):
    return x + y, maximum(x, y)


@wrong(licences="reassociate")
def distributes_wrongly(x: Value, y: Value, z: Value):
    return x * (y + z), x * y + z


@wrong(licences="reciprocal")
def reciprocal_of_the_other(x: Value, y: Value):
    return x / y, y * x.recip()


@wrong(licences=("reassociate", "reciprocal"))
def defined_where_the_left_side_is(x: Value, y: Value):
    return x, (x / y) * y


@wrong(licences="approx", dtypes=(float32, float64))
def sqrt_by_wrong_logarithm(x: Value):
    given(x > 0)
    return x.sqrt(), (x.log2() * 0.25).exp2()


CASES = of_each_family(
    [pytest.param(stated, example, id=stated.id) for stated, example in WRONG],
    lambda stated, example: words_of(stated),
)


@pytest.mark.parametrize(("stated", "example"), CASES)
def test_wrong_rules_are_refuted(stated, example):
    report = prove(stated)
    assert {
        layer.layer: (layer.verdict, layer.detail) for layer in report.layers if layer.verdict != "refuted"
    } == {}
    for layer in report.layers:
        run(layer.counterexample.test)
    if example is not None:
        assert dict(report.counterexample.bindings) == example


def run(text):
    """Execute a paste-ready test."""
    scope = {}
    exec(compile(text, "counterexample", "exec"), scope)
    (test,) = (f for name, f in scope.items() if name.startswith("test_"))
    test()
