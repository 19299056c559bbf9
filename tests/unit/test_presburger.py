"""Presburger sets: they decide what they can, agree with evaluation, and refuse the rest; schedules as bijections."""

import random
from typing import Any

import pytest

from soundline.spec.dtypes import bool_, index, int8, int32, uint8, uint64, wrap
from soundline.spec.ops.node import Op, UOp
from soundline.spec.ops.sizes import add, as_node, multiply
from soundline.spec.uop import const, param
from soundline.spec.values.tensor_cores import CORES, fragment_map
from soundline.verify.second import batches, isl_planes
from soundline.verify.second.bijections import Bijection, Domain, below, bijection
from soundline.verify.second.isl_planes import Outside
from soundline.verify.second.presburger import decide
from soundline.verify.second.presburger_questions import is_unsatisfiable
from soundline.verify.smt.goals.points import FAILS, OUT
from soundline.verify.smt.proving.scalars import pair

N, M, R, Q = (param(k, index) for k in range(4))


def number(value: int) -> UOp:
    return const(value, index)


def div(a: Any, b: int) -> UOp:
    return UOp(Op.Idiv, (as_node(a), number(b)))


def mod(a: Any, b: int) -> UOp:
    return UOp(Op.Mod, (as_node(a), number(b)))


# translation ------------------------------------------------------------------------------------------------------

UNARY = (Op.Neg,)
BINARY = (Op.Add, Op.Sub, Op.Max)
BY_CONSTANT = (Op.Mul, Op.Idiv, Op.Mod, Op.CDiv, Op.CMod)
COMPARISONS = (Op.CmpLt, Op.CmpGt, Op.CmpLe, Op.CmpGe, Op.CmpEq, Op.CmpNe)
CONNECTIVES = (Op.And, Op.Or, Op.Xor, Op.CmpNe, Op.CmpEq, Op.CmpLt, Op.Max)


def program(source: random.Random, dtype: Any, leaves: list[UOp], depth: int) -> UOp:
    """A linear program of integers."""
    if depth == 0 or source.random() < 0.2:
        return source.choice([*leaves, const(source.choice((0, 1, 2, 3, 5)), dtype)])
    kind = source.random()
    inner = program(source, dtype, leaves, depth - 1)
    if kind < 0.4:
        return UOp(source.choice(BINARY), (inner, program(source, dtype, leaves, depth - 1)))
    if kind < 0.75:
        divisors = (0, 1, 2, 3, 4, 7) if dtype is uint8 else (0, 1, 2, 3, 4, -2, -3, 7)
        return UOp(source.choice(BY_CONSTANT), (inner, const(source.choice(divisors), dtype)))
    if kind < 0.85:
        return UOp(Op.Neg, (inner,))
    p = condition(source, dtype, leaves, depth - 1)
    return UOp(Op.Where, (p, inner, program(source, dtype, leaves, depth - 1)))


def condition(source: random.Random, dtype: Any, leaves: list[UOp], depth: int) -> UOp:
    """A condition on linear programs."""
    sides = tuple(program(source, dtype, leaves, max(0, depth)) for _ in range(2))
    found = UOp(source.choice(COMPARISONS), sides)
    if depth > 0 and source.random() < 0.3:
        found = UOp(source.choice(CONNECTIVES), (found, condition(source, dtype, leaves, depth - 1)))
    return UOp(Op.Not, (found,)) if source.random() < 0.2 else found


@pytest.mark.parametrize("seed", range(60))
@pytest.mark.parametrize("dtype", [index, int8, uint8], ids=str)
def test_what_sets_decide_evaluation_confirms(seed: int, dtype: Any) -> None:
    """Two programs that are related: sets say at once whether they agree everywhere, and points must not deny it."""
    source = random.Random(seed)
    leaves = [param(0, dtype), param(1, dtype)]
    left = program(source, dtype, leaves, 3)
    right = left if seed % 3 == 0 else program(source, dtype, leaves, 2)
    if seed % 3 == 0:
        right = UOp(Op.Add, (UOp(Op.Sub, (left, leaves[0])), leaves[0]))
    made = pair(left, right, (condition(source, dtype, leaves, 1),))
    decided = decide(made)
    count = len(made.variables)
    points = [
        tuple(
            wrap(dtype, source.randrange(-40, 40)) if dtype is not index else source.randrange(-40, 40)
            for _ in range(count)
        )
        for _ in range(150)
    ]
    found = dict(batches.outcomes(made, points))
    if decided.failing is None:
        assert FAILS not in found.values()
    else:
        assert next(batches.outcomes(made, [decided.failing]))[1] == FAILS
    if not decided.applies:
        assert set(found.values()) == {OUT}
    if seed % 3 == 0:
        assert decided.failing is None


def test_wrapping_is_part_of_an_integer() -> None:
    for dtype, holds in ((index, True), (int32, False), (int8, False), (uint64, False)):
        x = param(0, dtype)
        doubled = UOp(Op.Idiv, (UOp(Op.Mul, (x, const(2, dtype))), const(2, dtype)))
        assert (decide(pair(doubled, x, ())).failing is None) is holds


@pytest.mark.parametrize(
    ("left", "why"),
    [
        (multiply(R, Q), "a product or a quotient of variables"),
        (UOp(Op.Idiv, (R, Q)), "a divisor is a variable"),
        (UOp(Op.Mod, (R, Q)), "a divisor is a variable"),
        (
            UOp(Op.Cast, (UOp(Op.And, (UOp(Op.Cast, (R,), int8), const(5, int8))),), index),
            "And is not linear",
        ),
    ],
    ids=str,
)
def test_what_is_no_presburger_set_is_refused(left: UOp, why: str) -> None:
    with pytest.raises(Outside, match=why):
        decide(pair(left, R, ()))


def test_a_question_that_is_too_hard_is_left_open(monkeypatch: pytest.MonkeyPatch) -> None:
    hard = pair(mod(mod(add(R, multiply(Q, 3)), 97), 89), mod(mod(add(Q, multiply(R, 5)), 83), 79), ())
    monkeypatch.setattr(isl_planes, "MOST_OPERATIONS", 50)
    with pytest.raises(Outside, match="isl gave up"):
        decide(hard)


def test_bools_are_sets() -> None:
    p, q = param(0, bool_), param(1, bool_)
    assert decide(pair(UOp(Op.Xor, (p, q)), UOp(Op.CmpNe, (p, q)), ())).failing is None
    assert decide(pair(UOp(Op.And, (p, q)), UOp(Op.Or, (p, q)), ())).failing in ((True, False), (False, True))


# Z3's questions ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "unsat"),
    [
        ("(declare-fun x () Int)(assert (and (< 2 x) (< x 3)))", True),
        ("(declare-fun x () Int)(assert (and (< 2 x) (< x 4)))", False),
        ("(declare-fun x () Int)(assert (not (= (+ (* 4 (div x 4)) (mod x 4)) x)))", True),
        ("(declare-fun x () Int)(assert (= (mod x 4) 4))", True),
        (
            "(declare-fun x () Int)(declare-fun p () Bool)(assert (= p (> x 3)))(assert p)(assert (< x 4))",
            True,
        ),
        ("(declare-fun x () Int)(assert (distinct (ite (> x 0) x (- x)) x))", False),
        ("(declare-fun x () Int)(assert (xor (> x 0) (> x 0)))", True),
        ("(declare-fun p () Bool)(declare-fun q () Bool)(assert (and (=> p q) p (not q)))", True),
        ("(assert false)", True),
        ("(assert true)", False),
    ],
)
def test_linear_questions_are_decided(text: str, unsat: bool) -> None:
    assert is_unsatisfiable(text) is unsat


@pytest.mark.parametrize(
    "text",
    [
        "(declare-fun x () Int)(declare-fun y () Int)(assert (= (* x y) 6))",
        "(declare-fun x () Int)(declare-fun y () Int)(assert (= (div x y) 6))",
        "(declare-fun f (Int) Int)(assert (= (f 1) 6))",
        "(declare-fun x () Real)(assert (= x 6.0))",
        "(declare-fun x () (_ BitVec 8))(assert (= x #x06))",
    ],
)
def test_other_questions_are_left_open(text: str) -> None:
    with pytest.raises(Outside):
        is_unsatisfiable(text)


# schedules --------------------------------------------------------------------------------------------------------


def test_a_split_is_a_bijection_for_all_sizes() -> None:
    split = Domain({"n": N}, {"o": R, "i": Q}, below({R: N, Q: 16}))
    assert bijection(split, [add(multiply(R, 16), Q)], [multiply(N, 16)]).holds
    overlap = bijection(split, [add(multiply(R, 15), Q)], [multiply(N, 16)])
    assert overlap == Bijection(True, False, False, "n = 2, o = 0, i = 15 and o = 1, i = 0 meet at [15]")
    gaps = bijection(split, [add(multiply(R, 17), Q)], [multiply(N, 17)])
    assert (gaps.stays, gaps.injective, gaps.onto) == (True, True, False)
    assert "nothing meets [16]" in gaps.witness


def test_a_padded_split_needs_its_guard() -> None:
    rows = UOp(Op.Idiv, (add(N, 15), number(16)))
    place = add(multiply(R, 16), Q)
    bare = Domain({"n": N}, {"o": R, "i": Q}, below({R: rows, Q: 16}))
    guarded = Domain({"n": N}, {"o": R, "i": Q}, (*below({R: rows, Q: 16}), UOp(Op.CmpLt, (place, N))))
    assert bijection(guarded, [place], [N]).holds
    found = bijection(bare, [place], [N])
    assert not found.stays
    assert "leaves the box" in found.witness


def test_a_swap_and_a_tiling_are_bijections() -> None:
    nest = Domain({"n": N, "m": M}, {"i": R, "j": Q}, below({R: N, Q: M}))
    assert bijection(nest, [Q, R], [M, N]).holds
    assert not bijection(nest, [R, R], [N, N]).injective
    back = Domain({"n": N}, {"i": R}, below({R: multiply(N, 8)}))
    assert bijection(back, [div(R, 8), mod(R, 8)], [N, 8]).holds
    found = bijection(back, [div(R, 8), mod(R, 4)], [N, 8])
    assert (found.injective, found.onto) == (False, False)


def spelled(digits: tuple[str, ...]) -> UOp:
    """The number that binary digits of the lane and the element spell, the lowest first."""
    total: Any = 0
    for digit in reversed(digits):
        bit = mod(div(R if digit[0] == "l" else Q, 1 << int(digit[1:])), 2)
        total = add(multiply(total, 2), bit)
    return as_node(total)


MAPS = {core.digits(operand): f"{operand} of {core.name}" for core in CORES for operand in ("A", "B", "C")}


@pytest.mark.parametrize("digits", MAPS, ids=MAPS.get)
def test_the_lanes_of_a_tensor_core_hold_each_element_once(digits: Any) -> None:
    held = Domain({}, {"lane": R, "e": Q}, below({R: 32, Q: digits.elements}))
    assert bijection(held, [spelled(digits.row), spelled(digits.column)], list(digits.shape)).holds


def test_a_lane_map_that_spells_with_one_digit_twice_is_seen() -> None:
    digits = CORES[0].c
    held = Domain({}, {"lane": R, "e": Q}, below({R: 32, Q: digits.elements}))
    column = spelled((*digits.column[:-1], digits.row[0]))
    found = bijection(held, [spelled(digits.row), column], list(digits.shape))
    assert not found.injective
    assert " meet at [" in found.witness


def test_the_accumulator_of_an_m16n8_product_is_as_ptx_gives_it() -> None:
    """Eight rows of lanes in fours, two columns and two halves each."""
    core = next(c for c in CORES if c.name == "m16n8k16.f16.f32")
    listed = {(n, k): (n // 4 + k // 2 * 8, n % 4 * 2 + k % 2) for n in range(32) for k in range(4)}
    assert fragment_map(core, "C") == listed
    held = Domain({}, {"lane": R, "e": Q}, below({R: 32, Q: 4}))
    row, column = add(div(R, 4), multiply(div(Q, 2), 8)), add(multiply(mod(R, 4), 2), mod(Q, 2))
    assert bijection(held, [row, column], [16, 8]).holds
    wrong = bijection(held, [row, add(multiply(mod(R, 4), 2), div(Q, 2))], [16, 8])
    assert (wrong.stays, wrong.injective, wrong.onto) == (True, False, False)


def test_sizes_that_multiply_are_outside() -> None:
    nest = Domain({"n": N, "m": M}, {"i": R, "j": Q}, below({R: N, Q: M}))
    with pytest.raises(Outside):
        bijection(nest, [add(multiply(R, M), Q)], [multiply(N, M)])
