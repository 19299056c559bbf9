"""Wrong rules that no search refutes: that they are not proved is up to the conditions of the proof alone.

Each of them is wrong where y² = 61·z² + 1, which has no positive solution below y = 1766319049. Its twin says the same
of y < 0, which never holds: it is right, and proved, so that the wrong one fails for no other reason.
"""
# ruff: noqa: F821, UP037

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from soundline.verify import (
    Bool,
    Size,
    Tensor,
    Value,
    fill,
    float32,
    given,
    index,
    int8,
    int32,
    rule,
    where,
)
from soundline.verify.judging.judge import prove
from soundline.verify.smt.goals.solving import Budget

Condition = Callable[[Value, Value], Value]


def hardly_ever(y: Value, z: Value) -> Value:
    return y * y == 61 * z * z + 1


def never(y: Value, z: Value) -> Value:
    return y + z < 0


def one_where(condition: Condition, y: Value, z: Value) -> Value:
    given(y > 0, z > 0)
    return where(condition(y, z), 1, 0)


def another_number(condition: Condition) -> Any:
    @rule(dtypes=[index])
    def stated(x: Value, b: Value, y: Value, z: Value):
        given(b > 0)
        return (x // b) // 2, x // (2 * b) + one_where(condition, y, z)

    return stated


def a_quotient_of_nothing(condition: Condition) -> Any:
    @rule(dtypes=[index])
    def stated(x: Value, b: Value, c: Value, y: Value, z: Value):
        given(b > 0, c > 0, x >= 0, x < b)
        return (x // b) // c, one_where(condition, y, z)

    return stated


def another_element(condition: Condition) -> Any:
    @rule(dtypes=[int8])
    def stated(x: Tensor["n"], n: Size, y: Value[index], z: Value[index]):
        given(n > 1)
        return x.shrink((0,), (1,)), x.shrink((one_where(condition, y, z),), (1,))

    return stated


def an_invalid_element(condition: Condition) -> Any:
    @rule(dtypes=[int8])
    def stated(x: Tensor["n"], n: Size, y: Value[index], z: Value[index]):
        given(n > 0)
        return x.index(0), x.index(n * one_where(condition, y, z))

    return stated


def an_invalid_element_that_is_reduced(condition: Condition) -> Any:
    """It is an error of the program even where the reduction is not chosen."""

    @rule(dtypes=[int32])
    def stated(x: Tensor["n"], n: Size, c: Bool, y: Value[index], z: Value[index]):
        given(c, n > 0)
        summed = x.index(n * one_where(condition, y, z)).reshape((1,)).sum((0,))
        return x.sum((0,)), where(c, x.sum((0,)), summed)

    return stated


def a_missing_summand(condition: Condition) -> Any:
    @rule(dtypes=[int32])
    def stated(x: Tensor["n"], n: Size, y: Value[index], z: Value[index]):
        given(n > 1)
        kept = n - one_where(condition, y, z)
        return x.sum((0,)), x.shrink((0,), (kept,)).sum((0,))

    return stated


def a_missing_candidate(condition: Condition) -> Any:
    @rule(dtypes=[int32])
    def stated(x: Tensor["n"], n: Size, y: Value[index], z: Value[index]):
        given(n > 1)
        kept = n - one_where(condition, y, z)
        return x.max((0,)), x.shrink((0,), (kept,)).max((0,))

    return stated


def a_zero_among_the_summands(condition: Condition) -> Any:
    """+0.0 is noticed by a sum of -0.0 alone."""

    @rule(dtypes=[float32])
    def stated(x: Tensor["n"], n: Size, y: Value[index], z: Value[index]):
        last = x.shape[0] + one_where(condition, y, z)
        return x.sum((0,)), x.pad((0,), (last,)).sum((0,))

    return stated


def a_maximum_of_nothing(condition: Condition) -> Any:
    @rule(dtypes=[index])
    def stated(x: Value, y: Value, z: Value, n: Size):
        given(n == 1 - one_where(condition, y, z))
        return fill(x, (1,)), fill(x, (n,)).max((0,))

    return stated


RULES = [
    another_number,
    a_quotient_of_nothing,
    another_element,
    an_invalid_element,
    an_invalid_element_that_is_reduced,
    a_missing_summand,
    a_missing_candidate,
    a_zero_among_the_summands,
    a_maximum_of_nothing,
]


@pytest.mark.parametrize("made", RULES, ids=lambda f: f.__name__)
def test_what_no_search_refutes_is_not_proved_either(made: Callable[[Condition], Any]) -> None:
    assert prove(made(never)).verdict == "proved"
    for layer in prove(made(hardly_ever), budget=Budget().share(0.005)).layers:
        assert layer.verdict == "unknown", layer
