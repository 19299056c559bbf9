"""Parts of the scalar prover against the law and each other, where a slip would make a proof or a replay lie."""

import math
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from itertools import product
from typing import Any

import pytest
import z3

from soundline.spec.dtypes import (
    DType,
    bool_,
    float8_e4m3fn,
    float8_e5m2,
    float16,
    float32,
    float64,
    index,
    int8,
    int16,
    int32,
    ints,
    round_to,
    same_value,
    uint8,
    uint16,
)
from soundline.spec.errors import IllFormed, RuleError
from soundline.spec.ops.node import Op, UOp
from soundline.spec.rules.instances import goals
from soundline.spec.rules.language import fits, rule, where
from soundline.spec.rules.terms import Const, Size, Value
from soundline.spec.uop import const, param
from soundline.spec.values.elementwise import scalar
from soundline.verify.smt.counterexamples import exhaustive, minimal, python_text, scalars
from soundline.verify.smt.counterexamples.scalars import replay
from soundline.verify.smt.goals.obligations import Obligation, obligation_of
from soundline.verify.smt.goals.order import simplicity
from soundline.verify.smt.goals.points import FAILS, HOLDS, OUT, Points
from soundline.verify.smt.goals.sampling import directed, random_points
from soundline.verify.smt.goals.solving import Budget, check
from soundline.verify.smt.integers.division import MOST_QUOTIENTS, Lemmas
from soundline.verify.smt.integers.residue_classes import Integers
from soundline.verify.smt.values.machine_numbers import Machine, Structure
from soundline.verify.smt.values.reals import RATIONAL, Reals

NAN, INF = math.nan, math.inf


def stated(left: UOp, right: UOp, *variables: UOp, **parts: Any) -> Obligation:
    """The obligation that two programs of these variables, named x, y, z, are equal."""
    named = dict(zip("xyz", variables, strict=False))
    parts = {"leading": frozenset(), "hypotheses": (), "fits": (), **parts}
    return Obligation(label="", variables=named, left=left, right=right, **parts)


# what an obligation is of -----------------------------------------------------------------------------------------


def test_the_leaves_are_what_has_no_scalar_law() -> None:
    x, y = param(0, int8), param(1, int8)
    unknown = Op.Load(Op.Index(param(3, int8, (2,)), const(0, index)))
    ob = stated(Op.Add(x, unknown), Op.Mul(y, const(2, int8)), x, y, hypotheses=(Op.CmpLt(x, y),))
    assert set(ob.leaves()) == {x, y, unknown}
    assert not Points(ob).evaluable
    assert Points(stated(Op.Add(x, y), x, x, y)).evaluable
    assert not Points(stated(Op.Add(x, y), x, x)).evaluable


@pytest.mark.parametrize(("dtype", "kept"), [(int8, {"no_nan"}), (float32, {"no_nan", "reassociate"})])
def test_what_admits_another_rounding_is_no_licence_for_integers(dtype: DType, kept: set[str]) -> None:
    @rule(dtypes=[int8, float32], licences=["reassociate", "no_nan"])
    def turned(x: Value, y: Value, c: Const, n: Size):
        return (x + y) + c, x + (y + c)

    (goal,) = goals(turned, dtype)
    ob = obligation_of(goal)
    assert ob.licences == kept
    assert ob.licensed is (dtype is float32)
    assert ob.leading == {"c", "n"}
    assert (ob.name, ob.left, ob.right) == ("turned", goal.left, goal.right)


# every point ------------------------------------------------------------------------------------------------------

X8, Y8 = param(0, float8_e5m2), param(1, float8_e5m2)
E8 = param(0, float8_e4m3fn)
I8, J8 = param(0, int8), param(1, int8)
U8 = param(0, uint8)
B = param(0, bool_)


def number(value: float, dtype: DType = float8_e5m2) -> UOp:
    return const(value, dtype)


ONE_BY_ONE = {
    "the sign of zero": stated(Op.Add(X8, number(0.0)), X8, X8),
    "the sign of zero, licensed": stated(
        Op.Add(X8, number(0.0)), X8, X8, licences=frozenset(["no_signed_zero"])
    ),
    "zero for one, licensed": stated(
        Op.Where(Op.CmpEq(X8, number(1.0)), number(0.0), X8), X8, X8, licences=frozenset(["no_signed_zero"])
    ),
    "one for zero, licensed": stated(
        Op.Where(Op.CmpEq(X8, number(0.0)), number(1.0), X8), X8, X8, licences=frozenset(["no_signed_zero"])
    ),
    "not a number": stated(Op.Mul(X8, number(0.0)), number(0.0), X8),
    "numbers, licensed": stated(
        Op.Sub(X8, X8), number(0.0), X8, licences=frozenset(["no_nan", "no_signed_zero"])
    ),
    "numbers, licensed, without zeros": stated(
        Op.Mul(E8, number(0.0, float8_e4m3fn)),
        number(0.0, float8_e4m3fn),
        E8,
        licences=frozenset(["no_nan"]),
    ),
    "a licence is for floats": stated(
        Op.Where(Op.CmpEq(I8, const(-128, int8)), const(0, int8), I8),
        I8,
        I8,
        licences=frozenset(["no_signed_zero"]),
    ),
    "two floats": stated(Op.Max(X8, Y8), Op.Where(Op.CmpLt(X8, Y8), Y8, X8), X8, Y8),
    "no wrapping": stated(
        Op.CmpLt(I8, Op.Add(I8, const(1, int8))), const(True, bool_), I8, fits=(Op.Add(I8, const(1, int8)),)
    ),
    "wrapping": stated(Op.CmpLt(I8, Op.Add(I8, const(1, int8))), const(True, bool_), I8),
    "a multiplication that may not wrap": stated(
        Op.Idiv(Op.Mul(I8, const(3, int8)), const(3, int8)), I8, I8, fits=(Op.Mul(I8, const(3, int8)),)
    ),
    "a product and sum that may not wrap": stated(
        Op.Mulacc(I8, I8, I8), const(6, int8), I8, fits=(Op.Mulacc(I8, I8, I8),)
    ),
    "a sum after a product that may not wrap": stated(
        Op.CmpLt(I8, Op.Mulacc(I8, const(1, int8), const(1, int8))),
        const(True, bool_),
        I8,
        fits=(Op.Mulacc(I8, const(1, int8), const(1, int8)),),
    ),
    "a conversion that may not wrap": stated(
        Op.Cast(Op.Cast(I8, arg=uint8), arg=int8), Op.Neg(I8), I8, fits=(Op.Cast(I8, arg=uint8),)
    ),
    "a condition": stated(
        Op.Shr(U8, const(1, uint8)),
        Op.Idiv(U8, const(2, uint8)),
        U8,
        hypotheses=(Op.CmpLt(U8, const(9, uint8)),),
    ),
    "a condition that nothing meets": stated(I8, const(0, int8), I8, hypotheses=(Op.CmpLt(I8, I8),)),
    "bools": stated(Op.And(B, B), Op.Not(B), B),
    "bits": stated(Op.Bitcast(Op.Bitcast(X8, arg=uint8), arg=float8_e5m2), Op.Neg(X8), X8),
    "constants first": stated(
        Op.CmpLt(Op.Add(I8, J8), const(100, int8)), const(True, bool_), I8, J8, leading=frozenset("y")
    ),
}


@pytest.mark.parametrize("name", ONE_BY_ONE)
def test_tables_say_what_the_law_says_point_by_point(name: str) -> None:
    ob = ONE_BY_ONE[name]
    assert exhaustive.is_tabular(ob)
    by_tables, plainly = exhaustive._by_tables(ob), exhaustive._one_by_one(ob, Points(ob))
    assert by_tables.applies is plainly.applies
    assert by_tables.points == plainly.points
    assert (by_tables.failing is None) == (plainly.failing is None)
    if plainly.failing is not None:
        pairs = zip(ob.variables.values(), by_tables.failing or (), plainly.failing, strict=True)
        assert all(same_value(v.dtype, a, b) for v, a, b in pairs), (by_tables, plainly)


VERDICTS = {
    "the sign of zero": False,
    "the sign of zero, licensed": True,
    "zero for one, licensed": False,
    "one for zero, licensed": False,
    "not a number": False,
    "numbers, licensed": True,
    "numbers, licensed, without zeros": False,
    "a licence is for floats": False,
    "no wrapping": True,
    "wrapping": False,
    "a multiplication that may not wrap": True,
    "a sum after a product that may not wrap": True,
    "a condition": True,
}


@pytest.mark.parametrize(("name", "holds"), VERDICTS.items())
def test_what_trying_every_point_must_find(name: str, holds: bool) -> None:
    found = exhaustive.exhaust(ONE_BY_ONE[name], exhaustive.MANY)
    assert found is not None
    assert found.applies
    assert (found.failing is None) is holds


# one point --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parts", "at", "shown"),
    [
        ({}, 127, FAILS),
        ({}, 3, HOLDS),
        ({"fits": (Op.Add(I8, const(1, int8)),)}, 127, OUT),
        ({"fits": (Op.Add(I8, const(1, int8)),)}, 126, HOLDS),
        ({"hypotheses": (Op.CmpLt(I8, const(5, int8)),)}, 127, OUT),
        ({"hypotheses": (Op.CmpGt(I8, const(5, int8)),)}, 127, FAILS),
    ],
)
def test_the_evaluator_confirms_what_a_point_shows(parts: dict[str, Any], at: int, shown: int) -> None:
    """A counterexample is one for the evaluator too: the premises hold and the sides differ."""
    ob = stated(Op.CmpLt(I8, Op.Add(I8, const(1, int8))), const(True, bool_), I8, **parts)
    assert Points(ob).at((at,)) == shown
    assert (replay(ob, (at,)) is not None) is (shown == FAILS)


@pytest.mark.parametrize(
    ("left", "right", "licences", "at", "shown"),
    [
        (Op.Add(X8, number(0.0)), X8, [], -0.0, FAILS),
        (Op.Add(X8, number(0.0)), X8, ["no_signed_zero"], -0.0, HOLDS),
        (Op.Sub(X8, X8), number(0.0), [], INF, FAILS),
        (Op.Sub(X8, X8), number(0.0), ["no_nan"], INF, OUT),
        (Op.Sub(X8, X8), number(0.0), ["no_nan"], 2.0, HOLDS),
        (Op.Mul(X8, number(2.0)), X8, ["no_nan"], 2.0, FAILS),
        (Op.Mul(X8, number(2.0)), X8, ["no_signed_zero"], 2.0, FAILS),
        (X8, Op.Sub(X8, X8), ["no_nan"], INF, FAILS),
    ],
)
def test_licences_say_which_differences_count(
    left: UOp, right: UOp, licences: list[str], at: float, shown: int
) -> None:
    ob = stated(left, right, X8, licences=frozenset(licences))
    assert Points(ob).at((at,)) == shown
    assert (replay(ob, (at,)) is not None) is (shown == FAILS)


@pytest.mark.parametrize(
    ("left", "right", "at", "refuted"),
    [
        (Op.Mul(X8, number(2.0)), X8, 2.0, True),
        (Op.Mul(X8, number(2.0)), Op.Add(X8, X8), 2.0, False),
        (Op.Add(X8, number(0.0)), X8, -0.0, True),
    ],
)
def test_no_order_of_a_chain_may_make_the_sides_equal(
    left: UOp, right: UOp, at: float, refuted: bool
) -> None:
    ob = stated(left, right, X8, licences=frozenset(["reassociate"]))
    assert (replay(ob, (at,)) is not None) is refuted


@pytest.mark.parametrize("value", [0.0, -0.0, 1.5, -2.0, INF, -INF, NAN, 1e300, True, False, 7, -7])
def test_an_element_as_python_is_read_back(value: Any) -> None:
    for write in (scalars.literal, python_text.literal):
        found = eval(write(value))
        assert type(found) is type(value)
        assert same_value(float64, found, value) if isinstance(value, float) else found == value


# random and directed points ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [int8, int16, int32, index, uint8, uint16])
def test_random_points_are_of_both_signs_and_of_every_length(dtype: DType) -> None:
    ob = stated(param(0, dtype), const(0, dtype), param(0, dtype))
    found = [point[0] for point in random_points(ob, 400, seed=0)]
    known = set(directed(dtype, 60))
    new = [n for n in found if n not in known]
    if dtype is not uint8:
        assert any(n > 40 for n in new)
    assert any(n < -40 for n in new) is (dtype is index or dtype.signed)
    assert all(dtype is index or dtype.min <= n <= dtype.max for n in found)
    assert [p[0] for p in random_points(ob, 400, seed=0)] == found
    assert [p[0] for p in random_points(ob, 400, seed=1)] != found


@pytest.mark.parametrize("dtype", [int8, uint8, int32, index, float16, float32, float8_e4m3fn])
@pytest.mark.parametrize("count", [1, 2, 5, 24, 60])
def test_directed_values_are_distinct_simplest_first_and_so_many(dtype: DType, count: int) -> None:
    found = directed(dtype, count)
    keys = [simplicity(dtype, v) for v in found]
    assert keys == sorted(keys)
    assert len(found) <= count
    assert all(not same_value(dtype, a, b) for k, a in enumerate(found) for b in found[k + 1 :])
    assert same_value(dtype, found[0], 0.0 if dtype.is_float else 0)
    if count == 60 and dtype is not index:
        assert any(same_value(dtype, v, dtype.max) for v in found)
        assert any(same_value(dtype, v, dtype.min) for v in found)
    if count == 60 and dtype.is_int:
        assert {int(dtype.min) + 1, int(dtype.max) - 1, int(dtype.max) // 2} <= set(found)


# the solver -------------------------------------------------------------------------------------------------------


def factors(ctx: Any) -> list[Any]:
    """That a prime number is a product, which takes the solver some work to deny."""
    a, b = (z3.ZeroExt(12, z3.BitVec(n, 12, ctx)) for n in "ab")
    return [a * b == 8388617, z3.UGT(a, 1), z3.UGT(b, 1)]


@pytest.mark.parametrize("budget", [Budget(rlimit=1000), Budget(seconds=0.0)])
def test_a_spent_budget_is_no_answer_and_no_seconds_are_a_limit(budget: Budget) -> None:
    ctx = z3.Context()
    found = check(factors(ctx), ctx, budget)
    assert (found.status, found.reason) == ("unknown", "the budget was spent")
    assert check(factors(ctx), ctx, Budget()).status == "unsat"


def test_an_answer_is_what_the_solver_says() -> None:
    ctx = z3.Context()
    x = z3.Int("x", ctx)
    found = check([x > 1, x < 3], ctx, Budget())
    assert (found.status, found.model.eval(x).as_long()) == ("sat", 2)
    assert check([x > 1, x < 2], ctx, Budget()).status == "unsat"


def test_a_share_of_a_budget_is_a_share_of_its_work() -> None:
    half = Budget(rlimit=1000, seconds=7.0, seed=3).share(0.5)
    assert (half.rlimit, half.seconds, half.seed) == (500, 7.0, 3)
    assert Budget(rlimit=1).share(0.001).rlimit == 1


def test_bools_are_constants_among_the_reals_too() -> None:
    p = param(0, bool_)
    reals = Reals(stated(p, p, p))
    assert z3.is_true(reals.constant(bool_, True))
    assert z3.is_false(reals.constant(bool_, False))
    assert str(reals.constant(float32, 0.75)) == "3/4"


EXACT_FLOATS = (-2.5, -1.0, 0.0, 0.5, 1.0, 4.0)
"""Sums, products, quotients by powers of two and comparisons of these are exact."""


@pytest.mark.parametrize("op", [op for op in RATIONAL if op is not Op.Cast])
@pytest.mark.parametrize("dtype", [float64, bool_], ids=str)
def test_a_law_over_fractions_is_that_of_floats_where_these_are_exact(op: Op, dtype: DType) -> None:
    elements: tuple[Any, ...] = (False, True) if dtype is bool_ else EXACT_FLOATS
    count = 1 if op in exhaustive.UNARY else 3 if op in (Op.Where, Op.Mulacc) else 2
    leaves = [param(k, dtype) for k in range(count)]
    try:
        UOp(op, (param(9, bool_), *leaves[1:]) if op is Op.Where else tuple(leaves))
    except IllFormed:
        return
    for operands in product(elements, repeat=count):
        if op is Op.Where:
            operands = (operands[0] == elements[0], *operands[1:])
        if op is Op.Div and operands[1] in (0.0, -2.5):
            continue
        if op is Op.Recip and operands[0] in (0.0, -2.5):
            assert operands[0] or RATIONAL[op](dtype, Fraction(0)) is None
            continue
        exact = [x if isinstance(x, bool) else Fraction(x) for x in operands]
        assert RATIONAL[op](dtype, *exact) == scalar(op, dtype, *operands), operands


def test_what_is_no_number_stays_none_over_fractions() -> None:
    assert RATIONAL[Op.Div](float64, Fraction(1), Fraction(0)) is None
    assert RATIONAL[Op.Add](float64, None, Fraction(0)) is None
    assert RATIONAL[Op.Where](float64, True, Fraction(1), None) == 1
    assert RATIONAL[Op.Where](float64, False, Fraction(1), None) is None
    assert RATIONAL[Op.Cast](float64, Fraction(1, 3), float32) == Fraction(1, 3)
    assert RATIONAL[Op.Cast](float64, Fraction(1, 3), int8) is None


def test_what_a_model_gives_a_variable_is_an_element_of_its_dtype() -> None:
    x, p = param(0, float32), param(1, bool_)
    reals = Reals(stated(Op.Where(p, x, x), x, x, p))
    solver = z3.Solver(ctx=reals.ctx)
    reals.term(reals.obligation.left)
    solver.add(reals.value(x) == z3.RealVal("-3/4", reals.ctx), reals.value(p))
    assert solver.check() == z3.sat
    found = [reals.element(solver.model(), node) for node in (x, p)]
    assert found == [-0.75, True]
    assert [type(f) for f in found] == [float, bool]


# quotients --------------------------------------------------------------------------------------------------------


def lemmas(divisors: int, *, many: bool = False) -> tuple[Integers, list[Any]]:
    """The instances for x // 1, x // 2, … with the algebra in which they stand."""
    x = param(0, index)
    left: Any = const(0, index)
    for k in range(divisors):
        left = Op.Add(left, Op.Idiv(x, param(k + 1, index)))
    algebra = Integers(stated(left, x, x))
    algebra.term(left)
    return algebra, list(Lemmas(algebra).instances(many=many))


def says(instances: Sequence[Any], wanted: Any) -> bool:
    """Whether the instances, and nothing else, imply what is wanted."""
    solver = z3.SimpleSolver(ctx=wanted.ctx)
    solver.set("rlimit", 5_000_000)
    solver.add(*instances, z3.Not(wanted))
    return bool(solver.check() == z3.unsat)


def test_each_quotient_is_tried_at_zero() -> None:
    algebra, found = lemmas(1)
    (quotient,) = algebra.quotients
    small = z3.And(quotient.a >= 0, quotient.a < quotient.b)
    assert says(found, z3.Implies(small, quotient.q == 0))
    assert not says(found, quotient.q == 0)


def test_each_quotient_is_tried_at_every_other_as_long_as_they_are_few() -> None:
    algebra, found = lemmas(2)
    one, other = algebra.quotients[:2]
    bounded = z3.And(one.b > 0, other.q * one.b <= one.a, one.a < other.q * one.b + one.b)
    assert any(z3.eq(z3.simplify(f), z3.simplify(_unique(one, other.q))) for f in found)
    assert says([f for f in found if z3.eq(f, _unique(one, other.q))], z3.Implies(bounded, one.q == other.q))
    few, many = lemmas(MOST_QUOTIENTS)[1], lemmas(MOST_QUOTIENTS + 1)[1]
    assert len(few) > len(many), "pairs of many quotients would outweigh what they decide"
    assert len(many) == MOST_QUOTIENTS + 1


def _unique(quotient: Any, k: Any) -> Any:
    from soundline.verify.smt.integers.division import unique

    return unique(quotient, k)


def test_a_term_as_a_polynomial_has_the_value_of_the_term() -> None:
    algebra, _ = lemmas(1)
    a, b, c = (z3.Int(n, algebra.ctx) for n in "abc")
    reader = Lemmas(algebra)
    for term in (a + b * c - 3, -(a - b) * c, a - b - c, a * b * c + 2 * a, a * (b + c) * (b - c), -a + (-b)):
        poly = reader.poly(term)
        for values in product((-2, 1, 3), repeat=3):
            at = [(v, algebra.int(n)) for v, n in zip((a, b, c), values, strict=True)]
            expected = z3.simplify(z3.substitute(term, *at)).as_long()
            assert poly.value(dict(zip("abc", values, strict=True))) == expected
            assert z3.simplify(z3.substitute(reader.term(poly), *at)).as_long() == expected
    opaque = reader.poly(a + z3.If(a < b, a, b))
    assert len(opaque.atoms) == 2


@pytest.mark.parametrize("divisors", [1, 2, 3])
@pytest.mark.parametrize("many", [False, True])
def test_no_lemma_says_more_than_division(divisors: int, many: bool) -> None:
    """Every instance is true of numbers: it holds at every choice of dividends and divisors."""
    algebra, found = lemmas(divisors, many=many)
    for values in product((-3, 0, 2) if divisors > 2 else (-3, -1, 0, 2, 5), repeat=divisors + 1):
        at = _quotients(algebra, values)
        for lemma in found:
            assert z3.is_true(z3.simplify(z3.substitute(lemma, *at))), (lemma, values)


NESTED: list[Callable[[UOp, UOp, UOp], UOp]] = [
    lambda x, b, c: Op.Idiv(Op.Idiv(x, b), c),
    lambda x, b, c: Op.Mod(Op.Idiv(x, b), c),
    lambda x, b, c: Op.Idiv(Op.Mod(x, b), c),
    lambda x, b, c: Op.Idiv(x, Op.Idiv(b, c)),
    lambda x, b, c: Op.Idiv(Op.Mul(x, b), Op.Mul(c, b)),
    lambda x, b, c: Op.Idiv(Op.Add(Op.Mul(x, b), c), b),
    lambda x, b, c: Op.Add(Op.Idiv(x, Op.Mul(b, c)), Op.Idiv(Op.Idiv(x, b), c)),
    lambda x, b, c: Op.Idiv(Op.Idiv(x, const(3, index)), Op.Add(b, Op.Mul(c, const(2, index)))),
]


@pytest.mark.parametrize("made", NESTED)
@pytest.mark.parametrize("many", [False, True])
def test_no_lemma_of_quotients_of_quotients_says_more(made: Callable[..., UOp], many: bool) -> None:
    x, b, c = (param(k, index) for k in range(3))
    algebra = Integers(stated(made(x, b, c), x, x, b, c))
    algebra.term(algebra.obligation.left)
    found = list(Lemmas(algebra).instances(many=many))
    assert found
    for values in product((-7, -1, 0, 2, 11), (-2, 0, 3), (-1, 2, 5)):
        at = _quotients(algebra, values)
        for lemma in found:
            assert z3.is_true(z3.simplify(z3.substitute(lemma, *at))), (lemma, values)


def _quotients(algebra: Integers, values: Sequence[int]) -> list[tuple[Any, Any]]:
    """The variables, and each quotient and remainder, with their values; a quotient by 0 is 0."""
    pairs = [(v, algebra.int(n)) for v, n in zip(algebra.variables, values, strict=True)]
    for q in algebra.quotients:
        a, b = (z3.simplify(z3.substitute(t, *pairs)).as_long() for t in (q.a, q.b))
        quotient = a // b if b else 0
        pairs += [(q.q, algebra.int(quotient)), (q.r, algebra.int(a - quotient * b))]
    return pairs


@pytest.mark.parametrize("op", [Op.Idiv, Op.CDiv])
def test_a_quotient_is_known_to_fit_unless_the_divisor_may_be_minus_one(op: Op) -> None:
    def is_exact(dtype: DType, divisor: Any = None, *hypotheses: UOp) -> bool:
        x, d = param(0, dtype), param(1, dtype)
        made = UOp(op, (x, d if divisor is None else const(divisor, dtype)))
        algebra = Integers(stated(made, x, x, d, hypotheses=hypotheses))
        algebra.term(made)
        return bool(algebra.found(made).exact)

    for divisor in (2, 1, -2, -128):
        assert is_exact(int8, divisor), divisor
    assert not is_exact(int8, -1)
    assert not is_exact(int8)
    assert is_exact(uint8)
    assert is_exact(index)
    assert is_exact(index, -1)
    d = param(1, int8)
    assert is_exact(int8, None, Op.CmpLe(const(0, int8), d))
    assert is_exact(int8, None, Op.CmpLt(const(0, int8), d))
    assert not is_exact(int8, None, Op.CmpLe(const(-1, int8), d))


# casts ------------------------------------------------------------------------------------------------------------


def near_the_ends(source: DType, target: DType) -> Iterator[float]:
    for end in (int(target.min), int(target.max), 0):
        for step in (-2, -1.5, -1, -0.5, 0, 0.5, 1, 1.5, 2):
            yield round_to(source, end + step)


@pytest.mark.parametrize("target", [d for d in ints if d.bits <= 32], ids=str)
@pytest.mark.parametrize("source", [float16, float32, float64], ids=str)
def test_a_cast_to_an_integer_is_exact_up_to_both_ends(source: DType, target: DType) -> None:
    x = param(0, source)
    node = Op.Cast(x, arg=target)
    machine = Machine(stated(node, node, x))
    term = machine.term(node)
    for value in {*near_the_ends(source, target)}:
        literal = machine.constant(source, value)
        found = z3.simplify(z3.substitute(term, (machine.value(x), literal)))
        bits = scalar(Op.Cast, source, value, arg=target) & ((1 << target.bits) - 1)
        assert found.as_long() == bits, (value, found)


@pytest.mark.parametrize("source", [int8, uint8, int16])
def test_an_integer_as_an_index_is_itself(source: DType) -> None:
    """A residue that is exact is the element: it need not be reduced, and no fact may deny it."""
    x = param(0, source)
    node = Op.Cast(x, arg=index)
    machine = Machine(stated(node, node, x))
    machine.term(node)
    assert machine.found(node).exact
    for value in (int(source.min), -1 if source.signed else 1, int(source.max)):
        literal = machine.constant(source, value)
        assert z3.simplify(z3.substitute(machine.value(node), (machine.value(x), literal))).as_long() == value


# arithmetic of which only signs are known -------------------------------------------------------------------------

F, G = param(0, float32), param(1, float32)


@pytest.mark.parametrize(
    ("left", "right", "follows"),
    [
        (Op.Div(Op.Neg(F), G), Op.Neg(Op.Div(F, G)), True),
        (Op.Div(Op.Neg(F), G), Op.Div(F, Op.Neg(G)), True),
        (Op.Mul(Op.Neg(F), Op.Neg(G)), Op.Mul(F, G), True),
        (Op.Mul(F, G), Op.Mul(G, F), True),
        (Op.Mul(Op.Neg(F), G), Op.Mul(F, G), False),
        (Op.Div(Op.Neg(F), G), Op.Div(F, G), False),
        (Op.Recip(Op.Neg(F)), Op.Recip(F), False),
        (Op.Recip(Op.Neg(F)), Op.Neg(Op.Recip(F)), True),
        (Op.Add(F, G), Op.Add(G, F), True),
        (Op.Add(Op.Neg(F), G), Op.Add(F, G), False),
        (Op.Div(F, G), Op.Div(G, F), False),
        (Op.Mul(F, G), Op.Add(F, G), False),
        (Op.Sqrt(Op.Neg(F)), Op.Neg(Op.Sqrt(F)), False),
    ],
    ids=str,
)
def test_of_forgotten_arithmetic_the_signs_and_the_order_are_kept(
    left: UOp, right: UOp, follows: bool
) -> None:
    structure = Structure(stated(left, right, F, G))
    found = check(structure.denial(), structure.ctx, Budget())
    assert found.status == ("unsat" if follows else "sat")
    assert structure.spurious


# small counterexamples --------------------------------------------------------------------------------------------


def test_constants_are_made_small_first_even_where_a_value_must_move_with_them() -> None:
    """Only c = x + 100 refutes: no variable can be changed by itself, the solver moves both."""
    x, c = param(0, int32), param(1, int32)
    ob = stated(Op.CmpNe(Op.Sub(c, x), const(100, int32)), const(True, bool_), x, c, leading=frozenset("y"))
    assert minimal.smallest(ob, Points(ob), (81, 181), Budget()) == (-100, 0)


def test_values_are_made_small_where_the_constants_are_small_already() -> None:
    x, y = param(0, int32), param(1, int32)
    apart = Op.CmpNe(Op.Sub(x, y), const(1000, int32))
    ob = stated(apart, const(True, bool_), x, y)
    found = minimal.smallest(ob, Points(ob), (70_000, 69_000), Budget())
    assert max(abs(n) for n in found) == 500


# widths that were tried -------------------------------------------------------------------------------------------


def test_a_layer_that_is_open_says_what_holds_at_eight_bits() -> None:
    from soundline.verify.judging.judge import prove_layer

    @rule(dtypes=[int8, uint8, int32])
    def hard(x: Value, y: Value):
        return (x // (y | 1)) * (y | 1) + x % (y | 1) + (x * y) // 7, (y * x) // 7 + x

    layer = prove_layer(hard, int32, Budget(rlimit=1_000))
    assert layer.verdict == "unknown"
    assert "all 65,536 inputs at int8" in layer.covered
    assert "all 65,536 inputs at uint8" in layer.covered


def test_a_layer_that_is_decided_says_nothing_of_other_widths() -> None:
    from soundline.verify.judging.judge import prove_layer

    @rule(dtypes=[int8, uint8, int32])
    def plain(x: Value, y: Value):
        return x + y, y + x

    layer = prove_layer(plain, int32)
    assert layer.verdict == "proved"
    assert "int8" not in layer.covered


def test_two_programs_are_compared_within_the_budget_that_is_given() -> None:
    from soundline.verify.judging.judge import equivalent

    x, y = param(0, int32), param(1, int32)
    left, right = Op.Mul(Op.Add(x, y), Op.Sub(x, y)), Op.Sub(Op.Mul(x, x), Op.Mul(y, y))
    assert equivalent(left, right).verdict == "proved"
    assert equivalent(left, right, budget=Budget(rlimit=1)).verdict == "unknown"


def test_what_has_no_right_side_is_no_obligation() -> None:
    @rule(dtypes=[int8])
    def odd(x: Value, c: Const):
        return where(x < c, x, c), where(x < c, x, c)

    @rule(dtypes=[int8])
    def bounded(x: Value, c: Const):
        from soundline.spec.rules.language import given

        given(fits(x + c))
        return x + c, c + x

    (goal,) = goals(bounded, int8)
    assert obligation_of(goal).fits == goal.fits != ()
    (goal,) = goals(odd, int8)
    object.__setattr__(goal, "right", _refusal())
    with pytest.raises(RuleError):
        obligation_of(goal)


def _refusal() -> Any:
    return IllFormed("Add", "uop-add-c1", given="this", wants="that")
