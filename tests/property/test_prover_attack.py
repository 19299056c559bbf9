"""
The prover against random rules
===============================

Nothing that the prover calls proved has inputs on which the sides differ. The rules are drawn (`attack.random_rules`):
many are right, many are nearly right, and some are of forms that nobody had in mind. What is proved of them is
evaluated by the law on inputs that are drawn as well (`attack.inputs`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from random import Random
from typing import Any

import pytest
from trials.attack.inputs import difference
from trials.attack.random_rules import random_rule

from soundline.spec.dtypes import DType, float16, float32, index, int8, int32
from soundline.spec.rules.language import Rule, Sides, disjoint, forall, fresh, given, inverse, rule, where
from soundline.spec.rules.ranges import Body, Range, max_over, sum_over
from soundline.spec.rules.terms import Axes, Flags, Perm, Size, Tensor, Value
from soundline.verify.judging.judge import prove_layer
from soundline.verify.verdicts.layers import layers_of

RULES = (*range(2019, 2038), *range(2039, 2048))
"""The numbers of the rules that are drawn: a row of them, but for one that costs much."""

SHARE = 0.25
"""So large a part of the rules is proved, and as large a part refuted; else little would be shown."""


@pytest.mark.thorough
def test_nothing_that_is_proved_has_a_counterexample():
    verdicts: Counter[str] = Counter()
    for number in RULES:
        stated = random_rule(number)
        for _, dtype in layers_of(stated) if stated else ():
            verdict = prove_layer(stated, dtype, derive=False).verdict
            verdicts[verdict] += 1
            if verdict == "proved":
                assert not difference(stated, dtype, Random(number), 4), (number, str(stated))
    assert min(verdicts["proved"], verdicts["refuted"]) >= SHARE * verdicts.total(), verdicts


def _stated(dtype: DType) -> Callable[[Callable[[], Sides]], Rule]:
    return rule(dtypes=[dtype])


def _loop() -> tuple[Any, Any, Any]:
    """A size, a range up to it, and a body over that."""
    return forall(Size, "n"), forall(Range["n"], "r"), forall(Body["r"], "f")  # type: ignore[misc, name-defined]


@_stated(float32)
def two_sums_of_floats_as_one() -> Sides:
    x, a, b = forall(Tensor, "x"), forall(Axes, "a"), forall(Axes, "b")
    given(disjoint(a, b))
    return x.sum(a).sum(b), x.sum(a | b)


@_stated(int8)
def max_of_padded() -> Sides:
    x, a = forall(Tensor, "x"), forall(Axes, "a")
    return x.pad(0, x.shape + 1).max(a), x.max(a).pad(0, where(a, 1, x.shape + 1))


@_stated(int32)
def reduced_axes_permuted_the_wrong_way() -> Sides:
    x, a, p = forall(Tensor, "x"), forall(Axes, "a"), forall(Perm, "p")
    return x.permute(p).sum(a), x.sum(a.permute(p)).permute(p)


@_stated(int32)
def one_of_two_flips() -> Sides:
    x, f, g, a = (forall(k, n) for k, n in ((Tensor, "x"), (Flags, "f"), (Flags, "g"), (Axes, "a")))
    return x.flip(f).flip(g).max(a), x.flip(g).max(a)


@_stated(float16)
def zeros_of_both_signs() -> Sides:
    x, a = forall(Tensor, "x"), forall(Axes, "a")
    return x.sum(a) + 0.0, x.sum(a)


@_stated(int8)
def tail_of_a_split_left_out() -> Sides:
    n, r, f = _loop()
    i, j = fresh(n // 2), fresh(2)
    return sum_over(r, f(r)), sum_over((i, j), f(i * 2 + j))


@_stated(index)
def guard_of_a_max() -> Sides:
    n, r, f = _loop()
    k = forall(Value[index], "k")
    return max_over(r, where(r == k, f(r), 0)), where((k >= 0) & (k < n), f(k), 0)


@_stated(int32)
def permuted_five_axes() -> Sides:
    """Wrong from five axes on: the orders of all permutations of fewer divide twelve."""
    x, p = forall(Tensor, "x"), forall(Perm, "p")
    once = x
    for _ in range(12):
        once = once.permute(p)
    return once, x


WRONG = (
    two_sums_of_floats_as_one,
    max_of_padded,
    reduced_axes_permuted_the_wrong_way,
    one_of_two_flips,
    zeros_of_both_signs,
    tail_of_a_split_left_out,
    guard_of_a_max,
    permuted_five_axes,
)


@_stated(int32)
def sum_of_permuted() -> Sides:
    x, a, p = forall(Tensor, "x"), forall(Axes, "a"), forall(Perm, "p")
    return x.permute(p).sum(a), x.sum(a.permute(inverse(p))).permute(p)


@_stated(float32)
def max_of_flipped() -> Sides:
    x, a, f = forall(Tensor, "x"), forall(Axes, "a"), forall(Flags, "f")
    return x.flip(f).max(a), x.max(a).flip(f)


@_stated(int8)
def split_with_a_guard() -> Sides:
    n, r, f = _loop()
    i, j = fresh((n + 1) // 2), fresh(2)
    return sum_over(r, f(r)), sum_over((i, j), where(i * 2 + j < n, f(i * 2 + j), 0))


RIGHT = (sum_of_permuted, max_of_flipped, split_with_a_guard)


@pytest.mark.parametrize("stated", WRONG, ids=lambda r: r.id)
def test_a_counterexample_is_found(stated: Rule):
    """Of each wrong rule inputs are found that show it, and the prover does not call it proved."""
    ((_, dtype),) = layers_of(stated)
    assert difference(stated, dtype, Random(1))  # repeatable, and no secret
    assert prove_layer(stated, dtype, derive=False).verdict in ("refuted", "unknown")


@pytest.mark.parametrize("stated", RIGHT, ids=lambda r: r.id)
def test_nothing_is_found_of_a_right_rule(stated: Rule):
    ((_, dtype),) = layers_of(stated)
    assert not difference(stated, dtype, Random(1))  # repeatable, and no secret
    assert prove_layer(stated, dtype, derive=False).verdict == "proved"
