"""Counterexamples are the smallest in the order: conjunctions, sizes that are no axes, wide integers."""

from itertools import product
from typing import Any

import pytest

from soundline.spec.arrays.arrays import Array
from soundline.spec.rules.instances import goals, is_about_shapes
from soundline.spec.rules.language import Rule
from soundline.verify import Const, Size, Tensor, Value, given, index, int32, rule, where
from soundline.verify.judging.judge import prove_layer
from soundline.verify.smt.counterexamples.replays import number, replay, sizes
from soundline.verify.smt.counterexamples.sizes import is_axis, place_of
from soundline.verify.smt.goals.obligations import obligation_of
from soundline.verify.smt.goals.points import FAILS, Points
from soundline.verify.smt.goals.sampling import rank
from soundline.verify.smt.goals.solving import Budget
from soundline.verify.smt.proving import scalars

# numbers ----------------------------------------------------------------------------------------------------------


@rule(dtypes=[index, int32])
def conjunction(x: Value, y: Value, c: Const):
    given(x > y, (c > 1) & (c < 9), x % c == 0)
    return x // c, y // c


@rule(dtypes=[index, int32])
def sum_of_three(x: Value, y: Value, z: Value):
    given((x + y + z == 10) & (x < y) & (y < z))
    return x, y


@rule(dtypes=[index, int32])
def disjunction(x: Value, y: Value):
    given((x < 0) | (y < 0), x + y != 0 - 1)
    return x // 2 + y // 2, (x + y) // 2


@rule(dtypes=[index, int32])
def constants_apart(n: Const, m: Const, x: Value):
    given((n != 1) & (m != n), n >= 0, m >= 0)
    return x + n + m, x + n * m


@rule(dtypes=[index])
def size_is_not_one(n: Size, x: Value):
    given(n != 1)
    return (x + n * 0) // 2 * 2, x


@rule(dtypes=[index])
def size_is_neither(n: Size, m: Size):
    given((n != 1) & (n != 0), m % 2 == 0)
    return n + m, n * m


@rule(dtypes=[index, int32])
def far_product(x: Value, y: Value):
    return where((x * y < 2500) | (x < 3), x, x + 1), x


@rule(dtypes=[index, int32])
def far_quotient(x: Value):
    given(x > 300)
    return x // 300, x // 301


@rule(dtypes=[index, int32])
def two_remainders(x: Value):
    given(x % 7 == 5, x % 5 == 3, x > 0)
    return x, x + 1


SCALARS = (
    conjunction,
    sum_of_three,
    disjunction,
    constants_apart,
    size_is_not_one,
    size_is_neither,
    far_product,
    far_quotient,
    two_remainders,
)
WIDTH = {1: 1000, 2: 60, 3: 10}
"""By the number of variables, of what magnitude all are tried."""


@pytest.mark.parametrize(
    ("stated", "dtype"), [pytest.param(r, d, id=f"{r.id} {d}") for r in SCALARS for d in r.dtypes or ()]
)
def test_no_smaller_point_fails(stated: Rule, dtype: Any) -> None:
    assert not is_about_shapes(stated)
    obligation = obligation_of(next(goals(stated, dtype)))
    found = scalars.decide(obligation, Budget())
    assert found.verdict == "refuted"
    assert found.point is not None
    trial, width = Points(obligation), WIDTH[len(obligation.variables)]
    assert max(map(abs, found.point)) <= width
    box = list(product(range(-width, width + 1), repeat=len(obligation.variables)))
    failing = [p for p in box if trial.at(p) == FAILS]
    assert found.point == min(failing, key=lambda p: rank(obligation, p))


# sizes ------------------------------------------------------------------------------------------------------------


@rule(dtypes=[int32])
def shifted(x: Tensor["n"], m: Size):  # noqa: F821
    given(m != 1)
    return x.pad((m,), (m + x.shape[0],)).shrink((m,), x.shape), x * 2


@rule(dtypes=[int32])
def shifted_far(x: Tensor["n"], m: Size):  # noqa: F821
    given((m != 1) & (m != 2))
    return x.pad((0,), (m + x.shape[0],)), x.pad((m,), (m + x.shape[0],))


@rule(dtypes=[int32])
def cut(x: Tensor["n"], n: Size, m: Size):  # noqa: F821
    given((n > m) & (m != 1))
    return x.shrink((0,), (n - m,)), x.shrink((m,), (n - m,))


@rule(dtypes=[int32])
def even_flip(x: Tensor["n"], n: Size):  # noqa: F821
    given((n != 1) & (n % 2 == 0))
    return x.flip((True,)), x


@rule(dtypes=[int32])
def cut_anywhere(x: Tensor["n"], n: Size, m: Size):  # noqa: F821
    given(m <= n)
    return x.shrink((0,), (m,)), x.shrink((n - m,), (m,)) + 1


@pytest.mark.parametrize("stated", [shifted, shifted_far, cut, even_flip, cut_anywhere], ids=lambda r: r.id)
def test_no_smaller_sizes_fail(stated: Rule) -> None:
    shown = prove_layer(stated, int32, derive=False).counterexample
    assert shown is not None
    goal = next(goals(stated, int32))
    names, place = sizes(goal), place_of(goal)
    assert [is_axis(goal, n) for n in names] == [n == "n" for n in names]
    failing = []
    for chosen in product(range(6), repeat=len(names)):
        given_sizes = dict(zip(names, chosen, strict=True))
        length = given_sizes["n"]
        inputs = {n: number(v) for n, v in given_sizes.items()}
        inputs["x"] = Array(int32, (length,), tuple(range(1, length + 1)))
        found = replay(goal, inputs)
        if found is not None and found.differs:
            failing.append(chosen)
    least = dict(zip(names, map(str, min(failing, key=place)), strict=True))
    assert {n: text for n, text in shown.bindings if n in least} == least
