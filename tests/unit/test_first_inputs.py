# ruff: noqa: F821
"""First inputs: what they refute was evaluated and is small, and of what they do not refute they say nothing."""

import pytest

from soundline.spec.dtypes import float8_e5m2, float32, index, int8
from soundline.spec.rules.instances import goals
from soundline.spec.rules.language import fresh, given, rule
from soundline.spec.rules.ranges import Body, Range, sum_over
from soundline.spec.rules.terms import Size, Tensor, Value
from soundline.verify.judging.judge import prove_layer
from soundline.verify.smt.counterexamples.first_inputs import differing_sizes, is_worth_trying
from soundline.verify.smt.counterexamples.replays import number, shapes_at


@rule(dtypes=[int8])
def fused(r: Range["m"], s: Range["n"], m: Size, n: Size, f: Body["r", "s"]):
    k = fresh(m * n)
    return sum_over(r, sum_over(s, f(r, s))), sum_over(k, f(k // n, k % n))


@rule(dtypes=[int8])
def fused_by_the_other_size(r: Range["m"], s: Range["n"], m: Size, n: Size, f: Body["r", "s"]):
    k = fresh(m * n)
    return sum_over(r, sum_over(s, f(r, s))), sum_over(k, f(k // m, k % m))


@rule(dtypes=[index])
def counted_from_four(r: Range["n"], n: Size):
    given(n >= 4)
    return sum_over(r, r), n


@rule(dtypes=[int8])
def without_a_reduction(x: Tensor["n"], y: Tensor["n"]):
    return x + y, x


@rule(dtypes=[int8])
def of_one_element(r: Range[3], x: Value):
    return sum_over(r, x), x


def the_goal(stated, dtype):
    return next(goals(stated, dtype))


@rule(dtypes=[int8])
def overlapping(x: Tensor["n"], y: Tensor["m"], n: Size, m: Size):
    return x.shrink((m,), (n - m,)) + y, y


def test_the_shapes_of_an_instance_at_sizes():
    goal = the_goal(overlapping, int8)

    def at(n, m, most=100):
        return shapes_at(goal, {"n": number(n), "m": number(m)}, most)

    assert at(4, 3) == {"x": (4,), "y": (3,)}
    assert at(4, 3, 7) == at(4, 3)
    assert at(4, 3, 6) is None
    assert at(0, 0, 0) == {"x": (0,), "y": (0,)}
    assert at(4, -1) is None


def test_a_wrong_rule_fails_at_the_first_inputs():
    assert differing_sizes(the_goal(fused_by_the_other_size, int8)) == {"m": 1, "n": 2}
    found = prove_layer(fused_by_the_other_size, int8, derive=False)
    assert found.verdict == "refuted"
    assert dict(found.counterexample.bindings)["f"] == "int8 (1, 2): [[1, 2]]"


def test_what_agrees_or_cannot_be_tried_says_nothing():
    assert differing_sizes(the_goal(fused, int8)) is None
    assert prove_layer(fused, int8, derive=False).verdict == "proved"
    assert differing_sizes(the_goal(counted_from_four, index)) is None
    assert prove_layer(counted_from_four, index).verdict == "refuted"


def test_only_reductions_with_sizes_are_tried():
    assert is_worth_trying(the_goal(fused, int8))
    assert not is_worth_trying(the_goal(without_a_reduction, int8))
    assert not is_worth_trying(the_goal(of_one_element, int8))


@pytest.mark.parametrize("dtype", [float8_e5m2, float32])
def test_where_rounding_is_licensed_no_difference_counts(dtype):
    """Short sums of small numbers differ by more than a tenth in two bits of mantissa."""

    @rule(dtypes=[dtype], licences=["reassociate"])
    def added_backward(x: Tensor["n"], y: Tensor["n"]):
        return x.sum(0) + y.sum(0), y.sum(0) + x.flip((True,)).sum(0)

    assert not is_worth_trying(the_goal(added_backward, dtype))
    assert prove_layer(added_backward, dtype).verdict == "proved"
