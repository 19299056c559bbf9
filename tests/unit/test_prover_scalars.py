"""Rules over integers and bools, right and wrong, and the verdict of every layer."""

from __future__ import annotations

import pytest

from soundline.spec.errors import RuleError, UsageError
from soundline.spec.evaluate import evaluate
from soundline.spec.op_schema import Op
from soundline.spec.uop import const, loop, param
from soundline.verify import (
    BinaryOp,
    Bool,
    Const,
    DTypeVar,
    Interval,
    Size,
    UnaryOp,
    Value,
    bits_at_most,
    bool_,
    cdiv,
    cmod,
    ediv,
    emod,
    fits,
    float32,
    given,
    index,
    int8,
    int16,
    int32,
    int64,
    ints,
    is_signed,
    lossless,
    maximum,
    mulacc,
    rule,
    sints,
    uint8,
    uint32,
    uint64,
    uints,
    where,
)
from soundline.verify.layers import layers_of
from soundline.verify.rules import equivalent, prove, prove_layer
from soundline.verify.smt import counterexamples, scalars
from soundline.verify.smt.solving import Budget

WIDTHS = (index, int8, int32, uint8, uint64)
FIXED = WIDTHS[1:]
SIGNED = (index, int8, int32)

# Right rules ------------------------------------------------------------------------------------------------------

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


# Wrong rules ------------------------------------------------------------------------------------------------------

WRONG = []


def wrong(verdicts, example=None, **options):
    """A rule with the verdicts of its layers, by one letter each in the order of the layers, and an example."""
    options.setdefault("dtypes", WIDTHS)
    return lambda f: WRONG.append((rule(**options)(f), verdicts, example))


@wrong("rrrrr", {"x": "0", "c": "0"})
def div_self(x: Value, c: Const):
    given(x == c)
    return x // c, x - x + 1


@wrong("prrrr", {"x": "64", "c": "2"})
def mul_div_that_wraps(x: Value, c: Const):
    given(c != 0)
    return (x * c) // c, x


@wrong("rrrrr", {"x": "1", "c": "0"})
def mul_div_by_zero(x: Value, c: Const):
    given(fits(x * c))
    return (x * c) // c, x


@wrong("rrrrr", {"x": "1"})
def square_is_double(x: Value):
    return x * x, x + x


@wrong("rrrrr", {"x": "0"})
def off_by_one(x: Value):
    return x + 1, x


@wrong("rrr", {"x": "-1", "c": "2"}, dtypes=SIGNED)
def truncation_for_floor(x: Value, c: Const):
    given(c > 0)
    return x // c, cdiv(x, c)


@wrong("rrr", {"x": "-1", "c": "2"}, dtypes=SIGNED)
def remainder_for_modulo(x: Value, c: Const):
    given(c > 0)
    return x % c, cmod(x, c)


@wrong("rrr", {"x": "-1", "c": "2"}, dtypes=SIGNED)
def modulo_has_the_sign_of_the_divisor(x: Value, c: Const):
    given(c != 0)
    return maximum(x % c, 0) * maximum(-x, 0), (x % c) * 0


@wrong("rrrrr", {"x": "1", "y": "0", "c": "0"})
def flat_div_by_zero(x: Value, y: Value, c: Const):
    given(fits(x * c + y))
    return (x * c + y) // c, x + y // c


@wrong("prrrr")
def flat_mod_that_wraps(x: Value, y: Value, c: Const):
    given(c > 0)
    return (x * c + y) % c, y % c


@wrong("prrrr")
def div_div_that_wraps(x: Value, c: Const, d: Const):
    given(c > 0, d > 0)
    return (x // c) // d, x // (c * d)


@wrong("rrr", dtypes=SIGNED)
def div_div_of_negatives(x: Value, c: Const, d: Const):
    given(c != 0, d != 0, fits(c * d))
    return (x // c) // d, x // (c * d)


@wrong("rrrrr")
def mod_of_no_multiple(x: Value, c: Const, d: Const):
    given(c > 0, d > 0)
    return (x % c) % d, x % d


@wrong("prrrr")
def lt_add_that_wraps(x: Value, y: Value, c: Const):
    return x + c < y + c, x < y


@wrong("prr", {"x": "127"}, dtypes=SIGNED)
def successor_is_greater(x: Value):
    return x < x + 1, x == x


@wrong("rrr", {"x": "-128"}, dtypes=(int8, int32, int64))
def negation_is_natural(x: Value):
    return maximum(x, -x) < 0, x != x


@wrong("rr", {"x": "0"}, dtypes=(uint8, uint64))
def predecessor_is_less(x: Value):
    return x - 1 < x, x == x


@wrong("rrrrr", {"x": "0", "y": "0"})
def lt_for_le(x: Value, y: Value):
    return x <= y, x < y


@wrong("rrrrr", {"x": "0", "y": "1"})
def le_reversed(x: Value, y: Value):
    return x <= y, y <= x


@wrong("rrrrr", {"x": "0", "y": "0"})
def not_lt_is_gt(x: Value, y: Value):
    return ~(x < y), x > y


@wrong("rrrrr", {"p": "False", "x": "0", "y": "1"})
def where_swapped(p: Bool, x: Value, y: Value):
    return where(p, x, y), where(p, y, x)


@wrong("rrrrr", {"p": "False", "x": "0", "y": "0", "z": "1"})
def where_nested_wrongly(p: Bool, x: Value, y: Value, z: Value):
    return where(p, where(p, x, y), z), where(p, x, y)


@wrong("rrrrr", {"x": "0", "y": "1"})
def max_is_left(x: Value, y: Value):
    return maximum(x, y), x


@wrong("rrr", {"x": "0", "y": "1", "c": "-1"}, dtypes=SIGNED)
def max_of_negative_scale(x: Value, y: Value, c: Const):
    given(fits(x * c), fits(y * c))
    return maximum(x * c, y * c), maximum(x, y) * c


@wrong("prrrr")
def max_add_that_wraps(x: Value, y: Value, c: Const):
    return maximum(x + c, y + c), maximum(x, y) + c


@wrong("rrrrr", {"x": "0", "x.lo": "0", "x.hi": "0", "c": "0"})
def interval_at_its_end(x: Interval, c: Const):
    given(x.lo >= 0, x.hi <= c)
    return x < c, x == x


@wrong("rrrrr")
def interval_without_lower_end(x: Interval, c: Const):
    given(c > 0, x.lo < c)
    return x < c, x == x


@wrong("rrr", {"x": "-1", "x.lo": "-1", "x.hi": "0", "c": "1"}, dtypes=SIGNED)
def mod_of_negative(x: Interval, c: Const):
    given(x.hi < c, c > 0)
    return x % c, x


@wrong("r", {"n": "0"}, dtypes=(index,))
def size_is_positive(n: Size):
    return n > 0, n == n


@wrong("r", {"n": "0", "x": "0"}, dtypes=(index,))
def mod_by_empty_size(n: Size, x: Value):
    given(x >= 0)
    return x % n < n, n == n


@wrong("rrrr", {"x": "1"}, dtypes=FIXED)
def shl_off_by_one(x: Value):
    return x << 3, x * 4


@wrong("rr", {"x": "-1"}, dtypes=(int8, int32))
def shr_is_truncation(x: Value):
    return x >> 1, cdiv(x, 2)


@wrong("rrrr", {"x": "64"}, dtypes=FIXED)
def shift_there_and_back(x: Value):
    return (x << 1) >> 1, x


@wrong("rrrr", {"x": "1", "c": "8"}, dtypes=FIXED)
def shift_count_wraps(x: Value, c: Const):
    given(c >= 0)
    return x << c, x << (c % 8)


@wrong("rrrr", {"x": "1"}, dtypes=FIXED)
def mask_is_shorter(x: Value):
    return x & 1, x & 0


@wrong("rr", {"x": "-1"}, dtypes=(int8, int32))
def mask_is_remainder(x: Value):
    return x & 15, cmod(x, 16)


@wrong("rrrr", {"x": "1", "y": "1"}, dtypes=FIXED)
def or_is_add(x: Value, y: Value):
    return x | y, x + y


@wrong("rrrr", {"x": "1", "y": "1"}, dtypes=FIXED)
def xor_is_or(x: Value, y: Value):
    return x ^ y, x | y


@wrong("r", {"a": "False", "b": "True"}, dtypes=None)
def de_morgan_wrongly(a: Bool, b: Bool):
    return ~(a & b), ~a & ~b


@wrong("r", {"a": "False", "b": "True"}, dtypes=None)
def xor_is_and(a: Bool, b: Bool):
    return a ^ b, a & b


@wrong("r", {"a": "False", "b": "False"}, dtypes=None)
def implication(a: Bool, b: Bool):
    return a <= b, a & b


@wrong("prpr", dtypes=FIXED, s=ints)
def cast_there_and_back_lossy(x: Value, s: DTypeVar):
    return x.cast(s).cast(x.dtype), x


@wrong("rr", {"x": "128"}, dtypes=(int32, uint64), s=ints)
def cast_to_narrower_and_back(x: Value, s: DTypeVar):
    given(bits_at_most(s, x.dtype), ~lossless(x.dtype, s), is_signed(s))
    return x.cast(s).cast(x.dtype), x


@wrong("rr", {"x": "-1"}, dtypes=(int8, int32))
def widening_keeps_the_sign(x: Value):
    return x.cast(uint64), x.cast(uint32).cast(uint64)


@wrong("r", {"x": "128"}, dtypes=(int16,))
def narrow_compares(x: Value):
    return x.cast(int8) < 0, x < 0


@wrong("rrrrr", {"x": "-1"})
def bool_cast_is_value(x: Value):
    return x.cast(bool_).cast(x.dtype), x


@wrong("rrrrr", {"x": "0"})
def bool_cast_of_zero(x: Value):
    return x.cast(bool_), x == x


@wrong("rr", dtypes=(int8, uint8))
def any_op_commutes(f: BinaryOp, x: Value, y: Value):
    return f(x, y), f(y, x)


@wrong("rr", dtypes=(int8, uint8))
def any_op_is_idempotent(f: UnaryOp, x: Value):
    return f(f(f(x))) + 0, x


@wrong("rrrrr", {"x": "0", "y": "1"})
def sub_commutes(x: Value, y: Value):
    return x - y, y - x


@wrong("rrrrr", {"x": "0", "c": "-1"})
def distribute_add(x: Value, c: Const):
    return (x + c) * c, x * c + c


@wrong("rrrrr", {"x": "1", "c": "0"})
def div_mul(x: Value, c: Const):
    return (x // c) * c, x


@wrong("r", {"x": "1000000007"}, dtypes=(index,))
def one_bad_number(x: Value):
    return x == 1000000007, x != x


@wrong("r", {"x": "825983827"}, dtypes=(int32,))
def one_bad_int32(x: Value):
    return (x ^ 123456789) == 912281158, x != x


@wrong("r", {"x": "536870912", "y": "536870912", "c": "3"}, dtypes=(int32,))
def least_of_the_greatest(x: Value, y: Value, c: Const):
    given(c == 3, x >= 0, y >= 0)
    return (x * c + y) % c, y % c


@wrong("r", {"x": "1073741824"}, dtypes=(int32,))
def doubling_fits(x: Value):
    return (x * 2) // 2, x


LETTERS = {"r": "refuted", "p": "proved", "v": "vacuous", "u": "unknown"}


@pytest.mark.parametrize(("stated", "verdicts", "example"), WRONG, ids=lambda x: getattr(x, "id", ""))
def test_wrong_rules_are_refuted(stated, verdicts, example):
    report = prove(stated)
    found = {layer.layer: layer.verdict for layer in report.layers}
    assert list(found.values()) == [LETTERS[v] for v in verdicts], found
    for layer in report.layers:
        if layer.verdict == "refuted":
            assert layer.counterexample is not None
            run(layer.counterexample.test)
        else:
            assert layer.counterexample is None
    assert report.verdict == "refuted"
    if example is not None:
        assert dict(report.counterexample.bindings) == example


def run(text):
    """Execute a paste-ready test."""
    scope = {}
    exec(compile(text, "counterexample", "exec"), scope)
    (test,) = (f for name, f in scope.items() if name.startswith("test_"))
    test()


# What is neither --------------------------------------------------------------------------------------------------


def verdicts(report):
    return [layer.verdict for layer in report.layers]


def test_the_same_term_on_both_sides_is_vacuous():
    @rule(dtypes=WIDTHS)
    def same(x: Value):
        return x + 1, x + 1

    report = prove(same)
    assert verdicts(report) == ["vacuous"] * 5
    assert report.verdict == "vacuous"
    assert all("same term" in layer.detail for layer in report.layers)


def test_one_trivial_instance_of_many_is_no_harm():
    @rule(dtypes=(int8,), s=(int8, int16))
    def same_at_one_dtype(x: Value, s: DTypeVar):
        return x.cast(s).cast(s), x.cast(s)

    (layer,) = prove(same_at_one_dtype).layers
    assert layer.verdict == "proved"
    assert layer.covered.startswith("2 instances")


def test_a_condition_that_excludes_every_input_is_vacuous():
    @rule(dtypes=WIDTHS)
    def contradiction(x: Value, c: Const):
        given(c < x, x < c)
        return x + c, x * c

    report = prove(contradiction)
    assert verdicts(report) == ["vacuous"] * 5
    assert all("excludes every input" in layer.detail for layer in report.layers)


def test_a_condition_may_exclude_every_input_of_one_dtype():
    @rule(dtypes=(int8, uint8, uint32))
    def negative(x: Value, c: Const):
        given(c < 0, fits(x * c))
        return (x * c) // c, x

    assert verdicts(prove(negative)) == ["proved", "vacuous", "vacuous"]


def test_fits_that_no_input_meets_is_vacuous():
    @rule(dtypes=(uint8, uint32, index))
    def never(x: Value, y: Value, z: Value):
        given(x < y, y >= 2, fits(x - y))
        return (x - y) + z, z

    assert verdicts(prove(never)) == ["refuted", "vacuous", "vacuous"]


def test_a_rare_witness_is_found_by_the_solver():
    @rule(dtypes=(index, int32))
    def rare(x: Value, y: Value, z: Value):
        given(x == 987654321, y == x + 5, z == 1)
        return y - x, z * 5

    assert verdicts(prove(rare)) == ["proved", "proved"]


def test_no_instance_is_vacuous():
    @rule(dtypes=ints)
    def unsigned_and_signed(x: Value):
        given(is_signed(x.dtype), ~is_signed(x.dtype))
        return x + 0, x

    report = prove(unsigned_and_signed)
    assert report.verdict == "vacuous"
    assert verdicts(report) == ["vacuous"]


def test_a_spent_budget_is_unknown_and_says_what_was_done():
    @rule(dtypes=(int8, int32))
    def right_but_hard(x: Value, y: Value):
        return (x // (y | 1)) * (y | 1) + x % (y | 1) + (x * y) // 7, (y * x) // 7 + x

    report = prove(right_but_hard, budget=Budget(rlimit=1_000))
    assert verdicts(report) == ["proved", "unknown"]
    assert report.verdict == "unknown"
    small, wide = report.layers
    assert small.covered == "all 65,536 inputs"
    assert "samples" in wide.covered
    assert "all 65,536 inputs at int8" in wide.covered
    assert "budget" in wide.detail
    assert wide.counterexample is None


def test_a_larger_budget_decides_what_a_small_one_left_open():
    @rule(dtypes=(index,))
    def nested(x: Value, c: Const, d: Const):
        given(c > 0, d > 0)
        return (x // c) // d, x // (c * d)

    assert verdicts(prove(nested, budget=Budget(rlimit=1_000))) == ["unknown"]
    assert verdicts(prove(nested)) == ["proved"]


def test_what_replay_does_not_confirm_is_no_refutation(monkeypatch):
    @rule(dtypes=(int8, int32, index))
    def wrong_rule(x: Value):
        return x + 1, x

    assert verdicts(prove(wrong_rule)) == ["refuted"] * 3
    monkeypatch.setattr(counterexamples, "value_of", lambda node: 0)
    report = prove(wrong_rule)
    assert verdicts(report) == ["unknown"] * 3
    assert all(layer.detail.startswith("internal: replay disagrees") for layer in report.layers)


def test_a_model_that_evaluation_does_not_confirm_is_no_refutation(monkeypatch):
    """As if the translation had a mistake: the sides always agree when they are evaluated."""

    @rule(dtypes=(int32,))
    def far_away(x: Value):
        return (x ^ 123456789) == 912281158, x != x

    monkeypatch.setattr(scalars.Points, "at", lambda self, point: scalars.FAILS - 1)
    (layer,) = prove(far_away).layers
    assert layer.verdict == "unknown"
    assert "replay disagrees" in layer.detail


def test_verdicts_do_not_depend_on_what_was_asked_before():
    @rule(dtypes=(index, int32))
    def flat(x: Value, y: Value, c: Const):
        given(c > 0, fits(x * c + y))
        return (x * c + y) // c, x + y // c

    first = prove(flat)
    prove(WRONG[3][0])
    assert prove(flat) == first


def test_an_ill_typed_rule_is_an_error():
    @rule(dtypes=(int32, float32))
    def bitwise(x: Value):
        return x & x, x

    with pytest.raises(RuleError, match="ill-typed at dtype float32"):
        prove(bitwise)


def test_layers_are_named_and_simplest_first():
    @rule
    def anything(p: Bool, x: Value):
        return where(p, x, x), x

    names = [name for name, _ in layers_of(anything)]
    assert names[:3] == ["boolean", "unbounded", "bit-precise int8"]
    assert "bit-precise uint64" in names
    assert names[-1] == "IEEE float8_e5m2"
    assert len(names) == 16

    @rule
    def whole(x: Value, y: Value):
        return x % y, x % y + 0

    assert [name for name, _ in layers_of(whole)] == [
        "unbounded",
        *(f"bit-precise {d}" for d in (*sints, *uints)),
    ]
    assert prove_layer(whole, int8).verdict == "proved"


def test_a_rule_has_all_its_instances():
    @rule(dtypes=(int8,), s=ints)
    def one_bad_instance(x: Value, s: DTypeVar):
        return x.cast(s).cast(uint8).cast(int8), where(x == 5, x.cast(s).cast(int8), x)

    assert verdicts(prove(one_bad_instance)) == ["proved"]

    @rule(dtypes=(int16,), s=ints)
    def bad_only_at_int8(x: Value, s: DTypeVar):
        given(~lossless(s, uint8))
        return x.cast(s).cast(int16), x

    (layer,) = prove(bad_only_at_int8).layers
    assert layer.verdict == "refuted"
    assert layer.counterexample.instance == "dtype int16, s = int8"
    assert layer.counterexample.bindings == (("x", "128"),)


# Two programs -----------------------------------------------------------------------------------------------------


def test_equivalent_programs():
    x, y = param(0, int32), param(1, int32)
    assert equivalent(Op.Add(x, y), Op.Add(y, x)).verdict == "proved"
    assert equivalent(Op.Add(x, y), Op.Add(x, y)).verdict == "vacuous"
    wrong_pair = equivalent(Op.Idiv(x, const(2, int32)), Op.Shr(x, const(2, int32)))
    assert wrong_pair.verdict == "refuted"
    run(wrong_pair.counterexample.test)


def test_equivalence_under_hypotheses():
    x, y = param(0, int32), param(1, int32)
    natural = [Op.CmpGe(v, const(0, int32)) for v in (x, y)]
    assert equivalent(Op.Idiv(x, y), Op.CDiv(x, y)).verdict == "refuted"
    assert equivalent(Op.Idiv(x, y), Op.CDiv(x, y), natural).verdict == "proved"
    assert equivalent(x, y, [Op.CmpLt(x, x)]).verdict == "vacuous"


def test_equivalence_knows_the_bounds_of_leaves():
    i = loop(16, 0)
    assert equivalent(Op.Mod(i, const(16, index)), i).verdict == "proved"
    assert equivalent(Op.Mod(i, const(15, index)), i).verdict == "refuted"
    bounded = param(0, int32, bounds=(3, 9))
    assert (
        equivalent(Op.Idiv(bounded, const(10, int32)), Op.Mul(bounded, const(0, int32))).verdict == "proved"
    )
    assert (
        equivalent(Op.Idiv(bounded, const(9, int32)), Op.Mul(bounded, const(0, int32))).verdict == "refuted"
    )


def test_programs_of_different_dtypes_are_not_compared():
    with pytest.raises(UsageError):
        equivalent(param(0, int32), param(0, int64))


def test_the_test_of_a_counterexample_uses_the_evaluator_only():
    (layer,) = prove(rule(dtypes=(int8,))(_successor)).layers
    text = layer.counterexample.test
    assert "def test__successor_is_wrong():" in text
    assert "x = const(127, int8)" in text
    assert layer.counterexample.left == "False"
    assert evaluate(Op.CmpLt(const(127, int8), Op.Add(const(127, int8), const(1, int8)))).elements == (False,)
    run(text)
    with pytest.raises(AssertionError):
        run(text.replace("const(127, int8)", "const(126, int8)"))


def _successor(x: Value):
    return x < x + 1, x == x
