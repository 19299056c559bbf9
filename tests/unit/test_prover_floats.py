"""Rules over floats, right and wrong, with and without licences, and the verdict of every layer."""

from __future__ import annotations

import math

import pytest

from soundline.spec.op_schema import Op
from soundline.spec.terms import apply
from soundline.spec.uop import const, param
from soundline.verify import (
    Bool,
    Const,
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
    int64,
    lossless,
    maximum,
    mulacc,
    rule,
    uint8,
    uint16,
    where,
)
from soundline.verify.layers import layers_of
from soundline.verify.rules import equivalent, prove
from soundline.verify.smt.solving import Budget

FEW = (float16, float32, float8_e4m3fn)
WITH_INFINITY = tuple(d for d in floats if d.has_infinity)
NAN, INF = math.nan, math.inf

# Right rules ------------------------------------------------------------------------------------------------------

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
def distributes(x: Value, y: Value, z: Value):
    return x * (y + z), x * y + x * z


@right(licences="reciprocal")
def div_by_reciprocal(x: Value, y: Value):
    return x / y, x * y.recip()


@right(licences="contract", dtypes=ieee_floats)
def contract_to_mulacc(x: Value, y: Value, z: Value):
    return x * y + z, mulacc(x, y, z)


@right(licences="approx", dtypes=ieee_floats)
def sqrt_by_logarithm(x: Value):
    given(x > 0)
    return x.sqrt(), (x.log2() * 0.5).exp2()


@right(licences="approx", dtypes=ieee_floats)
def exp2_of_sum(x: Value, y: Value):
    return (x + y).exp2(), x.exp2() * y.exp2()


@right(licences="approx", dtypes=ieee_floats)
def log2_of_product(x: Value, y: Value):
    given(x > 0, y > 0)
    return (x * y).log2(), x.log2() + y.log2()


@right(licences=("reassociate", "reciprocal"))
def common_divisor(x: Value, y: Value, c: Const):
    return x / c + y / c, (x + y) / c


@pytest.mark.parametrize("stated", RIGHT, ids=lambda r: r.id)
def test_right_rules_are_proved(stated):
    report = prove(stated)
    assert {
        layer.layer: (layer.verdict, layer.detail) for layer in report.layers if layer.verdict != "proved"
    } == {}
    assert report.verdict == "proved"


# Wrong rules ------------------------------------------------------------------------------------------------------

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


@pytest.mark.parametrize(("stated", "example"), WRONG, ids=lambda x: getattr(x, "id", ""))
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


# What a verdict covers --------------------------------------------------------------------------------------------


def test_layers_name_their_licences():
    def names(**options):
        return [name for name, _ in layers_of(rule(dtypes=(int8, float32, float64), **options)(_add_zero))]

    assert names() == ["bit-precise int8", "IEEE float32", "IEEE float64"]
    assert names(licences="no_nan") == ["bit-precise int8", "IEEE float32 + no_nan", "IEEE float64 + no_nan"]
    assert names(licences="reassociate") == ["bit-precise int8", "reals + reassociate"]
    assert names(licences=("no_nan", "contract")) == ["bit-precise int8", "reals + no_nan + contract"]


def _add_zero(x: Value):
    return x + 0, x


def test_licences_do_not_touch_integers():
    @rule(dtypes=(int8, float32), licences=("no_nan", "no_signed_zero"))
    def wrong_for_integers_too(x: Value):
        return x + 1, x

    assert [layer.verdict for layer in prove(wrong_for_integers_too).layers] == ["refuted", "refuted"]

    @rule(dtypes=(int8, float32), licences="no_signed_zero")
    def right_with_a_licence(x: Value):
        return 0 - x, -x

    assert prove(right_with_a_licence).verdict == "proved"


def test_the_real_layer_says_what_it_leaves_out():
    (layer,) = prove(next(r for r in RIGHT if r.id == "add_associates")).layers
    assert layer.layer == "reals + reassociate"
    for word in ("rounding", "NaN", "infinities", "zero"):
        assert word in layer.covered


def test_fp8_is_decided_by_all_its_values():
    layers = {layer.layer: layer for layer in prove(next(r for r in RIGHT if r.id == "mul_commutes")).layers}
    assert layers["IEEE float8_e4m3fn"].covered == "all 65,025 inputs"
    assert layers["IEEE float8_e5m2"].covered == "all 63,001 inputs"


def test_a_condition_that_only_nan_meets_is_no_vacuum():
    @rule(dtypes=(float32, float8_e4m3fn))
    def only_nan(x: Value, y: Value):
        given(x != x)
        return x + y, y + x * 2

    assert prove(only_nan).verdict == "proved"


def test_a_condition_that_no_float_meets_is_vacuous():
    @rule(dtypes=(float32, float64, float8_e4m3fn))
    def square_below_zero(x: Value, y: Value):
        given(x * x < 0)
        return x + y, y

    assert [layer.verdict for layer in prove(square_below_zero).layers] == ["vacuous"] * 3

    @rule(dtypes=(float16,), licences="no_nan")
    def always_nan(x: Value):
        given(x != x)
        return x * 2, x

    assert prove(always_nan).verdict == "vacuous"

    @rule(dtypes=(float32,), licences="reassociate")
    def never_defined(x: Value):
        return x / (x - x), x

    assert prove(never_defined).verdict == "vacuous"


def test_unknown_functions_are_never_refuted_by_a_model_alone():
    """Sin has no value yet: nothing can be evaluated, so what is not proved is unknown."""
    x, y = param(0, float32), param(1, float32)
    assert equivalent(Op.Sin(Op.Add(x, y)), Op.Sin(Op.Add(y, x))).verdict == "proved"
    found = equivalent(Op.Sin(x), Op.Sin(Op.Neg(x)))
    assert found.verdict == "unknown"
    assert found.counterexample is None
    assert "no value" in found.covered


def test_functions_that_have_a_value_are_refuted_by_it():
    x = param(0, float32)
    found = equivalent(Op.Exp2(x), Op.Exp2(Op.Neg(x)))
    assert found.verdict == "refuted"
    run(found.counterexample.test)


def test_a_sum_over_the_reals_is_no_sum_of_floats():
    """The licence is what makes it right: without it the same rule is refuted."""
    x, y, z = (param(k, float64) for k in range(3))
    found = equivalent(Op.Add(Op.Add(x, y), z), Op.Add(x, Op.Add(y, z)), budget=Budget(rlimit=1_000_000))
    assert found.verdict == "refuted"


def test_simple_counterexamples_come_first():
    @rule(dtypes=(float32,))
    def square_is_double(x: Value):
        return x * x, x + x

    (layer,) = prove(square_is_double).layers
    assert layer.counterexample.bindings == (("x", "1.0"),)
    assert (layer.counterexample.left, layer.counterexample.right) == ("1.0", "2.0")


def test_the_least_value_is_a_float_constant():
    assert equivalent(Op.Max(param(0, float32), const(-INF, float32)), param(0, float32)).verdict == "proved"
    assert equivalent(Op.Max(param(0, float32), const(NAN, float32)), const(NAN, float32)).verdict == "proved"
