"""Parts of the prover for reductions, held by themselves: what each takes for granted, and what it leaves to others."""

from __future__ import annotations

import math
from typing import Any

import pytest

from soundline.spec.arrays.arrays import Array
from soundline.spec.dtypes import bool_, float32, index, int8, int32, same_value
from soundline.spec.ops.node import AxisType, Op, UOp
from soundline.spec.ops.textual_form import program_text
from soundline.spec.rules.instances import Goal, goals
from soundline.spec.rules.language import Rule, rule
from soundline.spec.rules.terms import Tensor, Value
from soundline.spec.uop import ReduceArg, const, loop, param
from soundline.verify.smt.counterexamples.closing import case_of
from soundline.verify.smt.counterexamples.gather_inputs import gathering
from soundline.verify.smt.counterexamples.reduction_inputs import _element
from soundline.verify.smt.counterexamples.tensors import _fills
from soundline.verify.smt.elements.denotation import Denotation
from soundline.verify.smt.elements.elements import (
    Apply,
    Choice,
    Element,
    Number,
    Read,
    Reduction,
    constant,
)
from soundline.verify.smt.elements.indexing import ALWAYS, Space
from soundline.verify.smt.goals.solving import Budget
from soundline.verify.smt.integers.arithmetic import Arithmetic
from soundline.verify.smt.integers.formulas import Formula, at_least_zero, at_most, less, negation
from soundline.verify.smt.integers.polynomials import ONE, ZERO, Poly
from soundline.verify.smt.proving.comparison import proved
from soundline.verify.smt.reductions.bijections import Bijections
from soundline.verify.smt.reductions.bounds import holds_of
from soundline.verify.smt.reductions.equality import Reductions
from soundline.verify.smt.reductions.pieces import Piece
from soundline.verify.smt.reductions.validity import reductions_are_valid
from soundline.verify.smt.reductions.zeros import is_never_below_zero

N, M = Poly.of("n"), Poly.of("m")
I, J = Poly.of("$1.0"), Poly.of("$1.1")  # noqa: E741


def a_reader(*facts: Formula) -> Denotation:
    space = Space(Arithmetic(Budget()))
    space.assume([at_least_zero(N), at_least_zero(M), *facts])
    return Denotation(space, {})


def read(*at: Poly, dtype: Any = float32) -> Element:
    return Read(dtype, "x", at, (N,) * len(at))


def reduction(body: Element, *sizes: Poly, op: Op = Op.Add) -> Reduction:
    return Reduction(body.dtype, op, tuple((f"$1.{k}", size) for k, size in enumerate(sizes)), body)


def same(a: Element, b: Element) -> bool:
    return proved(a_reader(), a, b, ALWAYS)


# What is always the same ------------------------------------------------------------------------------------------


def repeated(element: Element) -> Element:
    reader = a_reader()
    return Reductions(reader, lambda a, b, path: proved(reader, a, b, path)).simpler(element, ALWAYS)


def test_what_is_joined_with_itself_to_itself_is_there_as_often_as_not() -> None:
    for dtype, op, value in ((int32, Op.Max, 7), (bool_, Op.Max, True), (int8, Op.Mul, 0)):
        found = repeated(reduction(constant(dtype, value), N, M, op=op))
        assert isinstance(found, Choice), (dtype, op)
        assert found.then == constant(dtype, value)
    assert repeated(reduction(constant(int32, 0), N)) == constant(int32, 0)
    assert repeated(reduction(constant(int32, 1), N)) == reduction(constant(int32, 1), N)


def test_nothing_takes_the_place_of_a_maximum_of_no_indices() -> None:
    several = reduction(constant(index, 3), N, op=Op.Max)
    assert repeated(several) == several


def test_whether_there_are_iterations_is_not_said_where_an_end_depends_on_another() -> None:
    """Of `i < n` and `j < i` there are none where n is 1, though `0 < i` holds of no i that is meant."""
    staggered = reduction(constant(int32, 7), N, I, op=Op.Max)
    assert repeated(staggered) == staggered


# Validity ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("size", "valid"), [(4, True), (5, False)])
def test_a_reduction_that_nothing_shows_has_valid_elements(size: int, valid: bool) -> None:
    x, r = param(0, int32, (4,)), loop(size, 0, AxisType.REDUCE)
    summed = Op.Reduce(Op.Index(x, r), r, arg=ReduceArg(Op.Add))
    shown, hidden = const(0, int32), Op.Where(param(1, bool_), const(0, int32), summed)
    assert reductions_are_valid(reader_of(x), shown, hidden) is valid
    assert reductions_are_valid(reader_of(x), summed, hidden), (
        "what the left side reduces is valid where that is"
    )
    plain = Op.Reduce(Op.Mul(r, r), r, arg=ReduceArg(Op.Add))
    assert reductions_are_valid(
        reader_of(x), const(0, index), Op.Where(param(1, bool_), const(0, index), plain)
    )


def reader_of(x: UOp) -> Denotation:
    return Denotation(Space(Arithmetic(Budget())), {x: "x", param(1, bool_): "p"})


# Bounds -----------------------------------------------------------------------------------------------------------


def test_of_each_way_of_a_summand_its_case_is_known() -> None:
    reader = a_reader()
    either = Choice(index, less(I, N), Number(index, I), Number(index, N - 1))
    for inside in (ALWAYS, frozenset((at_least_zero(I),))):
        assert holds_of(reader, either, inside, lambda p: at_most(p, N - 1))
        assert not holds_of(reader, either, inside, lambda p: at_most(p, N - 2))
        assert not holds_of(reader, either, inside, lambda p: at_most(p, I - 1))


# Zeros ------------------------------------------------------------------------------------------------------------


def test_sums_and_products_of_what_is_not_negative_are_not() -> None:
    power, any_float = Apply(float32, Op.Exp2, (read(I),)), read(I)
    for op, kept in ((Op.Add, True), (Op.Mul, True), (Op.Max, False)):
        assert is_never_below_zero(reduction(power, N, op=op)) is kept
        assert not is_never_below_zero(reduction(any_float, N, op=op))


@pytest.mark.parametrize("at_the_end", [True, False])
@pytest.mark.parametrize("turned", [True, False])
def test_a_zero_that_a_gate_leaves_at_an_end_is_added_apart(at_the_end: bool, turned: bool) -> None:
    gate = less(I + 1, N) if at_the_end else less(ZERO, I)
    inner = negation(less(I, ONE)) if at_the_end else less(I + 1, N)

    def gated(condition: Formula, otherwise: float) -> Reduction:
        ways = read(I), constant(float32, otherwise)
        chosen = (
            Choice(float32, negation(condition), *ways[::-1]) if turned else Choice(float32, condition, *ways)
        )
        return reduction(chosen, N)

    def with_zero(summed: Element, zero: float) -> Element:
        return Apply(float32, Op.Add, (summed, constant(float32, zero)))

    reader = a_reader(less(ZERO, N))
    assert proved(reader, gated(gate, 0.0), with_zero(gated(gate, -0.0), 0.0), ALWAYS)
    assert not proved(reader, gated(gate, 0.0), gated(gate, -0.0), ALWAYS)
    assert not proved(reader, gated(gate, 0.0), with_zero(gated(gate, -0.0), -0.0), ALWAYS)
    assert not proved(reader, gated(gate, 0.0), with_zero(gated(inner, -0.0), 0.0), ALWAYS)


# Maps -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("refused", [0, 1, 2])
def test_factors_are_paired_in_every_order_until_one_is_shown(refused: int) -> None:
    """Whatever way to pair them is refused first: elements that differ, or equations without a solution."""
    asked: list[tuple[Element, Element]] = []

    def proves(a: Element, b: Element, path: Any) -> bool:
        asked.append((a, b))
        return len(asked) > refused

    reader = a_reader()
    a, b = (
        Piece(((f"~{k}", N), (f"~{k + 1}", N)), factors=(read(Poly.of(f"~{k}")), read(Poly.of(f"~{k + 1}"))))
        for k in (1, 3)
    )
    found = Bijections(reader, proves).common(a, b, ALWAYS)
    assert (found is not None) is (refused < 2)
    wide = Piece((("~5", N),), factors=(read(ONE), read(Poly.of("~5"))))
    turned = Piece((("~7", N),), factors=(read(Poly.of("~7")), read(ONE)))
    asked.clear()
    assert (Bijections(reader, proves).common(wide, turned, ALWAYS) is not None) is (refused < 1)


# Inputs that are tried --------------------------------------------------------------------------------------------


def test_the_letters_of_inputs() -> None:
    great, most = float(1 << 25), math.ldexp(1.0, 127)
    of_floats = {
        "G": great,
        "g": -great,
        "M": most,
        "W": -most,
        "m": 1 / most,
        "n": -1.0,
        "o": 1.0,
        "z": -0.0,
        "Z": 0.0,
        "i": math.inf,
        "I": -math.inf,
        "q": math.nan,
    }
    of_numbers = {"M": 127, "W": -128, "n": -1, "Z": 0, "o": 1, "s": 16, "K": 127, "k": -128}
    of_indices = {"M": 1000, "W": -1000, "n": -1, "Z": 0, "o": 1, "s": 1000, "K": 1000, "k": -1000}
    for dtype, letters in ((float32, of_floats), (int8, of_numbers), (index, of_indices)):
        found = {letter: _element(letter, dtype) for letter in letters}
        assert all(same_value(dtype, found[k], value) for k, value in letters.items()), (dtype, found)
    assert [_element(x, bool_) for x in "oZ"] == [True, False]


def the_goal(stated: Rule, dtype: Any) -> Goal:
    return next(goals(stated, dtype))


def test_indices_are_tried_where_a_tensor_is_indexed_by_one() -> None:
    @rule(dtypes=[int8])
    def by_a_number(x: Tensor[3], k: Value[index]):
        return x.index(k), x.index(k)

    @rule(dtypes=[int8])
    def by_numbers(x: Tensor[3], k: Tensor[2, index]):
        return x.index(k), x.index(k)

    shapes, dtypes = {"x": (3,), "k": (2,)}, {"x": int8, "k": index}
    assert not list(gathering(the_goal(by_a_number, int8), {"x": (3,)}, {"x": int8}))
    found = [a["k"].elements for a in gathering(the_goal(by_numbers, int8), shapes, dtypes)]
    assert {(0, 1), (1, 0), (2, 1)} <= set(found)
    assert all(0 <= k < 3 for elements in found for k in elements)


def test_what_a_solver_hints_at_is_tried_among_zeros_and_among_ones() -> None:
    shapes, dtypes = {"x": (3,), "y": (2,)}, {"x": int8, "y": bool_}
    hints = [("x", (1,), 77), ("y", (0,), True)]
    found = [
        (fill["x"].elements, fill["y"].elements) for fill in list(_fills(shapes, dtypes, hints, Budget()))[:4]
    ]
    assert found[1][0] == (1, 77, 3)
    assert found[2:] == [((0, 77, 0), (True, False)), ((1, 77, 1), (True, True))]


def test_a_counterexample_as_a_program_has_its_sides_in_order() -> None:
    x = param(0, int8)
    left, right = Op.Add(x, x), Op.Mul(x, const(3, int8))
    case = case_of(left, right, {x: Array(int8, (), (5,))})
    assert case is not None
    assert (case.left, case.right) == (program_text(left), program_text(right))
    assert case.inputs == ((0, "int8", (), (5,)),)
    alone = case_of(left, None, {x: Array(int8, (), (5,))})
    assert alone is not None
    assert (alone.left, alone.right) == (program_text(left), "")
