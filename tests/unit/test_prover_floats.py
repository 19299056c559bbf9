"""What verdicts on floats cover, and what a licence changes."""

from __future__ import annotations

import math

from soundline.spec.dtypes import DType
from soundline.spec.ops.node import Op
from soundline.spec.uop import const, param
from soundline.verify import (
    Bool,
    DTypeVar,
    Value,
    bool_,
    float8_e4m3fn,
    float8_e5m2,
    float16,
    float32,
    float64,
    floats,
    given,
    int8,
    int16,
    int32,
    int64,
    rule,
    uint64,
    where,
)
from soundline.verify.judging.judge import equivalent, prove
from soundline.verify.smt.goals import points, sampling
from soundline.verify.smt.goals.solving import Budget
from soundline.verify.smt.proving.scalars import pair
from soundline.verify.verdicts.layers import layers_of

FEW = (float16, float32, float8_e4m3fn)
WITH_INFINITY = tuple(d for d in floats if d.has_infinity)
NAN, INF = math.nan, math.inf


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
    assert names(licences="reassociate") == [
        "bit-precise int8",
        "IEEE float32 + reassociate",
        "IEEE float64 + reassociate",
    ]
    assert names(licences=("no_nan", "contract"))[1:] == [
        "IEEE float32 + no_nan + contract",
        "IEEE float64 + no_nan + contract",
    ]


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


def test_a_verdict_under_licences_says_in_which_theory_and_what_it_excludes():
    @rule(licences="reassociate", dtypes=float32)
    def add_associates(x: Value, y: Value, z: Value):
        return (x + y) + z, x + (y + z)

    (layer,) = prove(add_associates).layers
    assert layer.layer == "IEEE float32 + reassociate"
    assert layer.covered == "all values, by the theory of reassociate"

    @rule(licences=("reassociate", "no_nan", "no_signed_zero"), dtypes=float16)
    def cancels(x: Value, y: Value):
        return (x + y) - x, y

    (layer,) = prove(cancels).layers
    assert layer.covered == (
        "all values where no float of the left side is NaN up to the sign of zero, by the theory of reassociate"
    )


def test_what_holds_over_the_real_numbers_alone_is_not_proved():
    @rule(licences="reassociate", dtypes=float32)
    def a_negated_sum(x: Value, y: Value, z: Value):
        return x - (y + z), (x - y) - z

    (layer,) = prove(a_negated_sum).layers
    assert layer.verdict == "unknown"
    assert "not derived in the theory of reassociate, though equal over the real numbers" in layer.detail


def test_a_bounded_replacement_is_no_equation():
    """No bound is stated for what this rule replaces, so the licence does not cover it."""

    @rule(licences="approx", dtypes=float32)
    def sqrt_by_logarithm(x: Value):
        given(x > 0)
        return x.sqrt(), (x.log2() * 0.5).exp2()

    assert prove(sqrt_by_logarithm).verdict == "unknown"


def test_fp8_is_decided_by_all_its_values():
    @rule(dtypes=(float8_e4m3fn, float8_e5m2))
    def mul_commutes(x: Value, y: Value):
        return x * y, y * x

    narrow, wide = prove(mul_commutes).layers
    assert (narrow.layer, narrow.covered) == ("IEEE float8_e4m3fn", "all 65,025 inputs")
    assert (wide.layer, wide.covered) == ("IEEE float8_e5m2", "all 63,001 inputs")


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

    assert prove(never_defined).verdict == "refuted"  # it is NaN or infinite, which no licence excludes


def test_unknown_functions_are_never_refuted_by_a_model_alone():
    """Of Exp2 the solver knows only that it is a function: a model with a negative power is none of the law."""
    x, y = param(0, float32), param(1, float32)
    assert equivalent(Op.Sin(Op.Add(x, y)), Op.Sin(Op.Add(y, x))).verdict == "proved"
    negative = Op.CmpLt(Op.Exp2(x), const(-1.0, float32))
    found = equivalent(negative, const(False, bool_), budget=Budget(rlimit=200_000, seconds=5.0))
    assert found.verdict == "unknown"
    assert found.counterexample is None


def test_the_sine_is_odd_and_the_power_of_two_is_not():
    """The program of Sin sets the sign of the argument aside and puts it back: bit for bit, NaN and zeros included."""
    x = param(0, float32)
    assert equivalent(Op.Sin(Op.Neg(x)), Op.Neg(Op.Sin(x))).verdict == "proved"
    assert equivalent(Op.Exp2(Op.Neg(x)), Op.Neg(Op.Exp2(x))).verdict == "refuted"


def test_functions_that_have_a_value_are_refuted_by_it():
    x = param(0, float32)
    for op in (Op.Exp2, Op.Sin):
        found = equivalent(op(x), op(Op.Neg(x)))
        assert found.verdict == "refuted"
        run(found.counterexample.test)
    a, b = param(0, uint64), param(1, uint64)
    found = equivalent(Op.Threefry(a, b), Op.Threefry(b, a))
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


def test_what_is_chosen_may_be_converted_after_the_choice():
    """Nothing need be known of a conversion that both sides make; of two different ones something must be."""

    @rule(dtypes=[int64], s=[float32])
    def converted_once(p: Bool, x: Value, y: Value, s: DTypeVar):
        return where(p, x.cast(s), y.cast(s)), where(p, x, y).cast(s)

    @rule(dtypes=[float32], s=[int64])
    def converted_back_once(p: Bool, x: Value, y: Value, s: DTypeVar):
        return where(p, x.cast(s), y.cast(s)), where(p, x, y).cast(s)

    @rule(dtypes=[int64], s=[float32])
    def converted_and_turned(p: Bool, x: Value, y: Value, s: DTypeVar):
        return where(p, x.cast(s), y.cast(s)), where(p, y, x).cast(s)

    @rule(dtypes=[int64])
    def without_a_sign(x: Value):
        return x.cast(float32), x.bitcast(uint64).cast(float32)

    assert prove(converted_once, budget=Budget(rlimit=1_000_000)).verdict == "proved"
    assert prove(converted_back_once, budget=Budget(rlimit=1_000_000)).verdict == "proved"
    assert prove(converted_and_turned).verdict == "refuted"
    assert prove(without_a_sign).verdict == "refuted"


def test_sums_that_converted_integers_make_exactly():
    """What is known of rounding needs the true conversion, not an unknown one."""

    @rule(dtypes=[int16])
    def sum_of_converted(x: Value, y: Value):
        return x.cast(float32) + y.cast(float32), (x.cast(int32) + y.cast(int32)).cast(float32)

    assert prove(sum_of_converted).verdict == "proved"


def test_programs_of_many_steps_are_run_once_for_each_operand():
    """Also where operands differ in the sign of a zero alone."""
    calls: list[tuple[float, ...]] = []

    def law(dtype: DType, *operands: float) -> float:
        calls.append(operands)
        return math.copysign(1.0, operands[0])

    once = points.remembered(law)
    found = [once(float32, x, 2.0) for x in (0.0, -0.0, 0.0, 1.0, -0.0, 1.0)]
    assert found == [1.0, -1.0, 1.0, 1.0, -1.0, 1.0]
    assert len(calls) == 3


def test_a_rule_over_powers_is_tried_at_few_points():
    x, y = param(0, float64), param(1, float64)
    p = pair(Op.Pow(x, y), Op.Pow(x, Op.Add(y, const(0.0, float64))), ())
    assert len(list(sampling.points(p, 0))) == sampling.FEW_POINTS
    assert len(list(sampling.points(pair(Op.Mul(x, y), Op.Mul(y, x), ()), 0))) > sampling.FEW_POINTS
