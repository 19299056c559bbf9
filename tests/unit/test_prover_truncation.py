"""Division toward zero, divided again; divisors of the other sign; leaves that their bounds say to be one number."""

from __future__ import annotations

import pytest

from soundline.spec.dtypes import index, int8, int32, uint8
from soundline.spec.ops.node import Op
from soundline.spec.uop import const, param
from soundline.verify import Const, Value, cdiv, cmod, ediv, emod, given, rule, where
from soundline.verify.judging.judge import equivalent, prove
from soundline.verify.smt.proving.scalars import within_bounds
from soundline.verify.verdicts.metering import measuring

DIRECT = 1_000_000
"""So much work a goal takes at most for which there is a lemma."""


@rule(dtypes=[index, int32])
def remainder_of_a_remainder(x: Value, c: Const, d: Const):
    given(c % d == 0)
    return cmod(cmod(x, c), d), cmod(x, d)


@rule(dtypes=[index, int32])
def remainder_by_what_is_no_divisor(x: Value, c: Const, d: Const):
    given(d % c == 0)
    return cmod(cmod(x, c), d), cmod(x, d)


@rule(dtypes=[index, int8])
def floor_of_a_floor(x: Value, c: Value, d: Value):
    given(cmod(c, d) == 0)
    return (x % c) % d, x % d


@rule(dtypes=[index, int8])
def floor_of_a_floor_with_one_left(x: Value, c: Value, d: Value):
    given(cmod(c, d) <= 0)
    return (x % c) % d, x % d


@rule(dtypes=[index])
def multiple_added(x: Value, y: Value, c: Const, d: Const):
    given(cmod(c, d) == 0)
    return (x * c + y) % d, y % d


@rule(dtypes=[index])
def multiple_added_toward_zero(x: Value, y: Value, c: Const, d: Const):
    given(cmod(c, d) == 0)
    return cmod(x * c + y, d), cmod(y, d)


@rule(dtypes=[index])
def quotient_of_a_remainder(x: Value, c: Value, d: Value):
    given(c % d == 0)
    return (x % c) // d, x // d - (x // c) * (c // d)


@rule(dtypes=[index])
def quotient_of_a_remainder_alone(x: Value, c: Value, d: Value):
    given(c % d == 0)
    return (x % c) // d, x // d


@rule(dtypes=[index])
def truncated_quotient_of_a_remainder(x: Value, c: Value, d: Value):
    given(c % d == 0)
    return cdiv(cmod(x, c), d), cdiv(x, d) - cdiv(x, c) * cdiv(c, d)


@rule(dtypes=[index])
def truncated_quotient_of_a_floor_remainder(x: Value, c: Value, d: Value):
    given(c % d == 0)
    return cdiv(x % c, d), cdiv(x, d) - cdiv(x, c) * cdiv(c, d)


@rule(dtypes=[index])
def digit_toward_zero(x: Value, c: Value, d: Value):
    return cdiv(cmod(x, c * d), c), cmod(cdiv(x, c), d)


@rule(dtypes=[index])
def digit_toward_zero_by_the_floor(x: Value, c: Value, d: Value):
    return cdiv(cmod(x, c * d), c), cdiv(x, c) % d


@rule(dtypes=[index])
def product_with_a_multiple(x: Value, c: Value, d: Value):
    given(cmod(c, d) == 0)
    return cmod(x * c, d), 0 * x


@rule(dtypes=[index])
def product_with_a_divisor(x: Value, c: Value, d: Value):
    given(cmod(d, c) == 0)
    return cmod(x * c, d), 0 * x


@rule(dtypes=[index])
def euclidean_remainder(x: Value, c: Value):
    return emod(x, c), x % where(c < 0, -c, c)


@rule(dtypes=[index])
def euclidean_remainder_by_the_divisor(x: Value, c: Value):
    return emod(x, c), x % c


@rule(dtypes=[index])
def euclidean_quotient(x: Value, c: Value):
    return ediv(x, c), where(c < 0, -(x // -c), x // c)


@rule(dtypes=[index])
def euclidean_quotient_negated(x: Value, c: Value):
    return ediv(x, c), where(c < 0, x // -c, x // c)


@rule(dtypes=[index])
def opposite_of_an_exact_quotient(x: Value, c: Value):
    given(x % c == 0)
    return x // -c, -(x // c)


@rule(dtypes=[index])
def opposite_of_any_quotient(x: Value, c: Value):
    return x // -c, -(x // c)


@rule(dtypes=[index])
def exact_either_way(x: Value, c: Value):
    given(cmod(x, c) == 0)
    return cdiv(x, c), x // c


@rule(dtypes=[index])
def inexact_either_way(x: Value, c: Value):
    given(cmod(x, c) >= -1)
    return cdiv(x, c), x // c


TWINS = [
    (remainder_of_a_remainder, remainder_by_what_is_no_divisor),
    (floor_of_a_floor, floor_of_a_floor_with_one_left),
    (multiple_added, multiple_added_toward_zero),
    (quotient_of_a_remainder, quotient_of_a_remainder_alone),
    (truncated_quotient_of_a_remainder, truncated_quotient_of_a_floor_remainder),
    (digit_toward_zero, digit_toward_zero_by_the_floor),
    (product_with_a_multiple, product_with_a_divisor),
    (euclidean_remainder, euclidean_remainder_by_the_divisor),
    (euclidean_quotient, euclidean_quotient_negated),
    (opposite_of_an_exact_quotient, opposite_of_any_quotient),
    (exact_either_way, inexact_either_way),
]


@pytest.mark.parametrize(("right", "wrong"), TWINS, ids=lambda r: r.id)
def test_twins(right, wrong):
    with measuring() as meter:
        assert {layer.verdict for layer in prove(right).layers} == {"proved"}
    assert max(goal.work for goal in meter.goals) < DIRECT
    assert {layer.verdict for layer in prove(wrong).layers} == {"refuted"}


def test_a_condition_that_its_own_lemma_denies_is_never_met():
    @rule(dtypes=[index])
    def remainder_too_great(x: Value, c: Value):
        given(c > 0, cmod(x, c) >= c)
        return x, x + 1

    @rule(dtypes=[index])
    def multiple_that_leaves_something(x: Value, c: Value):
        given(cmod(x, c) == 0, x % c > 0)
        return x, x + 1

    for stated in (remainder_too_great, multiple_that_leaves_something):
        assert prove(stated).verdict == "vacuous"


# Bounds of leaves -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("dtype", "bounds", "count"),
    [
        (uint8, (255, 255), 1),
        (uint8, (0, 0), 1),
        (uint8, (0, 255), 0),
        (uint8, (3, 200), 2),
        (int8, (-128, -128), 1),
        (int8, (127, 127), 1),
        (int8, (-128, 5), 1),
    ],
)
def test_both_ends_of_a_leaf_are_said_where_they_say_anything(dtype, bounds, count):
    leaf = param(0, dtype, bounds=bounds)
    assert len(within_bounds(leaf)) == count
    for end in bounds:
        one = bounds[0] == bounds[1]
        assert equivalent(leaf, const(end, dtype)).verdict == ("proved" if one else "refuted")
    assert equivalent(Op.Max(leaf, const(bounds[1], dtype)), const(bounds[1], dtype)).verdict == "proved"
