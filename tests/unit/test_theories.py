"""Licences as equational theories: what is derived holds at every point for some choice of what is permitted."""

from __future__ import annotations

import itertools
import math
import random
from fractions import Fraction

import pytest

from soundline.spec.dtypes import DType, float16, float32, float64, round_to
from soundline.spec.ops.node import Op, UOp
from soundline.spec.uop import const, param
from soundline.verify.smt.goals.obligations import Obligation
from soundline.verify.smt.goals.points import FAILS, HOLDS, Points
from soundline.verify.smt.values.licensed_values import LicensedPoints, fused
from soundline.verify.smt.values.theories import Theory, derived

X, Y, Z, W = (param(k, float32) for k in range(4))
VALUES = (0.0, -0.0, 1.0, -1.0, 3.0, 0.1, 1e8, -1e8, 1e30, math.inf, -math.inf, math.nan)


def number(value: float, dtype: DType = float32) -> UOp:
    return const(round_to(dtype, value), dtype)


def stated(left: UOp, right: UOp, *licences: str, dtype: DType = float32) -> Obligation:
    variables = {f"x{k}": param(k, dtype) for k in range(4)}
    return Obligation("", variables, frozenset(), (), (), left, right, frozenset(licences))


def never(obligation: Obligation) -> bool:
    """Nothing is shown bit for bit: what is derived then is derived by the theory alone."""
    return obligation.left is obligation.right


ADDED = Op.Add(Op.Add(X, Y), Z)
MULTIPLIED = Op.Mul(Op.Mul(X, Y), Z)


@pytest.mark.parametrize(
    ("left", "right", "licences", "wanted"),
    [
        (ADDED, Op.Add(X, Op.Add(Z, Y)), ["reassociate"], True),
        (ADDED, Op.Add(X, Op.Add(Z, Y)), ["contract"], False),
        (ADDED, Op.Add(X, Op.Add(Z, Y)), ["reciprocal", "approx", "tensor_core", "tf32"], False),
        (ADDED, Op.Add(Z, Op.Add(Y, X)), [], True),  # the same additions
        (MULTIPLIED, Op.Mul(X, Op.Mul(Z, Y)), ["reassociate"], True),
        (MULTIPLIED, Op.Mul(X, Op.Mul(Z, Y)), ["reciprocal"], False),
        (Op.Neg(Op.Mul(X, Y)), Op.Mul(Y, Op.Neg(X)), [], True),
        (Op.Neg(Op.Add(X, Y)), Op.Sub(Op.Neg(X), Y), ["reassociate"], False),  # the sign of a zero
        (Op.Neg(Op.Add(X, Y)), Op.Sub(Op.Neg(X), Y), ["reassociate", "no_signed_zero"], True),
        (
            Op.Exp2(Op.Neg(Op.Add(X, Y))),
            Op.Exp2(Op.Sub(Op.Neg(X), Y)),
            ["reassociate", "no_signed_zero"],
            False,
        ),
        (Op.Sub(X, Y), Op.Add(Op.Neg(Y), X), [], True),
        (Op.Mulacc(X, Y, Z), Op.Add(Z, Op.Mul(Y, X)), [], True),
        (Op.Div(X, Y), Op.Mul(Op.Recip(Y), X), ["reciprocal"], True),
        (Op.Div(X, Y), Op.Mul(Op.Recip(Y), X), ["reassociate"], False),
        (Op.Div(number(1.0), Y), Op.Recip(Y), [], True),
        (Op.Div(Op.Neg(X), Y), Op.Div(X, Op.Neg(Y)), [], True),
        (Op.Mul(Op.Div(X, Y), Z), Op.Div(Op.Mul(Z, X), Y), ["reciprocal", "reassociate"], True),
        (Op.Mul(Op.Div(X, Y), Z), Op.Div(Op.Mul(Z, X), Y), ["reciprocal"], False),
        (Op.Div(Op.Div(X, Y), Z), Op.Div(X, Op.Mul(Y, Z)), ["reciprocal", "reassociate"], False),
        (Op.Add(Op.Mul(X, Y), Op.Mul(X, Z)), Op.Mul(X, Op.Add(Y, Z)), ["reassociate"], False),
        (Op.Sub(Op.Add(X, Y), X), Y, ["reassociate"], False),
        (Op.Add(X, number(-0.0)), X, [], True),
        (Op.Add(X, number(0.0)), X, ["reassociate"], False),
        (Op.Add(Op.Add(X, number(1.0)), number(2.0)), Op.Add(number(3.0), X), ["reassociate"], True),
        (Op.Max(Op.Max(X, Y), X), Op.Max(Y, X), [], True),
        (Op.Mul(X, number(-1.0)), Op.Neg(X), [], True),
    ],
)
def test_each_licence_grants_its_own_equations_alone(
    left: UOp, right: UOp, licences: list[str], wanted: bool
) -> None:
    assert derived(stated(left, right, *licences), never) is wanted
    assert derived(stated(right, left, *licences), never) is wanted


def test_what_is_left_over_is_asked_bit_for_bit() -> None:
    asked: list[Obligation] = []

    def yes(obligation: Obligation) -> bool:
        asked.append(obligation)
        return True

    left, right = Op.Add(Op.Add(X, Op.Exp2(Y)), Z), Op.Add(Z, Op.Add(Op.Sqrt(W), X))
    assert derived(stated(left, right, "reassociate", "no_signed_zero"), yes)
    (rest,) = asked
    assert {rest.left, rest.right} == {Op.Exp2(Y), Op.Sqrt(W)}
    assert rest.licences == frozenset()  # inside of a chain the sign of a zero matters


def test_no_nan_is_a_premise_of_what_is_left_over() -> None:
    asked: list[Obligation] = []
    left = Op.Add(X, Op.Sub(Y, Y))
    assert not derived(stated(left, X, "reassociate", "no_nan"), lambda o: bool(asked.append(o)))
    assert all(Op.CmpEq(n, n) in asked[0].hypotheses for n in (X, Y, left, Op.Sub(Y, Y)))


# Values at points -------------------------------------------------------------------------------------------------


def test_one_rounding_is_that_of_exact_arithmetic() -> None:
    source = random.Random(0)
    for dtype in (float16, float32, float64):
        for _ in range(300):
            a, b, c = (round_to(dtype, source.uniform(-4, 4)) for _ in range(3))
            assert fused(dtype, a, b, c) == round_to(dtype, Fraction(a) * Fraction(b) + Fraction(c))
    assert math.copysign(1, fused(float32, -0.0, 1.0, -0.0)) == -1
    assert math.copysign(1, fused(float32, 1.0, -1.0, 1.0)) == 1
    assert math.isnan(fused(float32, 0.0, math.inf, 1.0))


@pytest.mark.parametrize(
    ("left", "right", "licences", "at", "shown"),
    [
        (ADDED, Op.Add(X, Op.Add(Y, Z)), ["reassociate"], (1e8, -1e8, 1.0), HOLDS),
        (ADDED, Op.Add(X, Op.Add(Y, Z)), ["contract"], (1.0, 1e8, -1e8), FAILS),
        (ADDED, number(0.0), ["reassociate"], (1e8, -1e8, 1.0), HOLDS),  # in one order it is 0, in another 1
        (ADDED, number(2.0), ["reassociate"], (1e8, -1e8, 1.0), FAILS),
        (Op.Add(Op.Mul(X, Y), Z), number(2.0**-26), ["contract"], (1 + 2.0**-13, 1 - 2.0**-13, -1.0), FAILS),
        (
            Op.Add(Op.Mul(X, Y), Z),
            number(-(2.0**-26)),
            ["contract"],
            (1 + 2.0**-13, 1 - 2.0**-13, -1.0),
            HOLDS,
        ),
        (Op.Add(Op.Mul(X, Y), Z), number(-(2.0**-26)), [], (1 + 2.0**-13, 1 - 2.0**-13, -1.0), FAILS),
        (Op.Div(X, Y), Op.Mul(X, Op.Recip(Y)), ["reciprocal"], (5.0, 3.0, 0.0), HOLDS),
        (Op.Div(X, Y), Op.Mul(X, Op.Recip(Y)), ["contract"], (5.0, 3.0, 0.0), FAILS),
        (Op.Sub(X, X), number(0.0), ["reassociate"], (math.inf, 0.0, 0.0), FAILS),
        (Op.Exp2(X), Op.Mul(Op.Exp2(X), number(1.0001)), ["approx"], (1.0, 0.0, 0.0), HOLDS),
        (Op.Exp2(X), Op.Mul(Op.Exp2(X), number(1.5)), ["approx"], (1.0, 0.0, 0.0), FAILS),
        (Op.Sqrt(X), X, ["approx"], (-1.0, 0.0, 0.0), FAILS),
        (Op.Exp2(X), number(1.0), ["approx"], (200.0, 0.0, 0.0), FAILS),
        (Op.Sub(X, Op.Sub(Y, Z)), number(1.0), ["reassociate"], (1e8, 1e8, 1.0), HOLDS),
        (Op.Sub(X, Op.Sub(Y, Z)), number(-1.0), ["reassociate"], (1e8, 1e8, 1.0), FAILS),
    ],
)
def test_a_point_refutes_where_no_choice_makes_the_sides_equal(
    left: UOp, right: UOp, licences: list[str], at: tuple[float, ...], shown: int
) -> None:
    point = tuple(round_to(float32, v) for v in (*at, 0.0))
    assert LicensedPoints(stated(left, right, *licences)).at(point) == shown


def drawn(source: random.Random, depth: int) -> UOp:
    if not depth or source.random() < 0.2:
        return source.choice((X, Y, Z, W, number(2.0), number(-0.5)))
    op = source.choice((Op.Add, Op.Add, Op.Mul, Op.Mul, Op.Sub, Op.Div, Op.Neg, Op.Max, Op.Recip))
    if op in (Op.Neg, Op.Recip):
        return op(drawn(source, depth - 1))
    return op(drawn(source, depth - 1), drawn(source, depth - 1))


def turned(source: random.Random, node: UOp, licences: frozenset[str]) -> UOp:
    """A side after equations of the licences, at random places; sometimes one that is none."""
    if not node.src:
        return node
    src = [turned(source, s, licences) for s in node.src]
    node = UOp(node.op, tuple(src), node.arg)
    chance = source.random()
    if node.op in (Op.Add, Op.Mul) and chance < 0.5:
        return node.op(src[1], src[0])
    if node.op in (Op.Add, Op.Mul) and src[0].op is node.op and "reassociate" in licences:
        return node.op(src[0].src[0], node.op(src[0].src[1], src[1]))
    if node.op is Op.Div and "reciprocal" in licences:
        return Op.Mul(src[0], Op.Recip(src[1]))
    if node.op is Op.Sub:
        return Op.Add(src[0], Op.Neg(src[1]))
    return node


@pytest.mark.parametrize(
    "licences", [["reassociate"], ["reciprocal"], ["reassociate", "reciprocal"], ["contract"]]
)
def test_what_is_derived_holds_at_every_point_for_some_choice(licences: list[str]) -> None:
    source = random.Random(len(licences[0]))
    granted, count = frozenset(licences), 0
    for _ in range(120):
        left = drawn(source, 3)
        right = turned(source, left, granted)
        assert derived(stated(left, right, *licences), never)
        other = turned(source, left, frozenset(("reassociate", "reciprocal")))
        if other is left or not derived(stated(left, other, *licences), never):
            continue
        count += 1
        points = LicensedPoints(stated(left, other, *licences))
        for _ in range(12):
            assert points.at(tuple(round_to(float32, source.choice(VALUES)) for _ in range(4))) == HOLDS
    assert count > 20


def test_normal_forms_have_the_value_of_what_they_are_forms_of_without_licences() -> None:
    """What holds bit for bit is all that an empty theory uses."""
    source = random.Random(5)
    for _ in range(150):
        left = drawn(source, 3)
        points = Points(stated(left, Theory(frozenset()).normal(left)))
        for chosen in itertools.islice(itertools.product(VALUES, repeat=4), source.randrange(50), 6000, 577):
            assert points.at(tuple(round_to(float32, v) for v in chosen)) == HOLDS, left
