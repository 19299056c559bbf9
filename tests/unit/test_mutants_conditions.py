"""Polynomials and conditions on sizes against plain arithmetic: what is made of them has the right value."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product as combinations
from random import Random
from typing import Any

import pytest
import z3

from soundline.verify.smt.integers import formulas
from soundline.verify.smt.integers.formulas import (
    FALSE,
    TRUE,
    Formula,
    at_least_zero,
    at_most,
    conjunction,
    conjuncts,
    disjunction,
    equal,
    holds,
    implies,
    is_zero,
    less,
    mapped,
    negation,
    opaque,
)
from soundline.verify.smt.integers.polynomials import ONE, ZERO, Equations, Poly, divide, product

ATOMS = ("a", "b", "c")
GRID = [dict(zip(ATOMS, values, strict=True)) for values in combinations((-2, -1, 0, 1, 3), repeat=3)]

Plain = Callable[[dict[str, int]], Any]
"""What a polynomial or a condition should be, as a function of its atoms."""


def some_poly(random: Random, degree: int = 2) -> tuple[Poly, Plain]:
    """A polynomial made by the operations, and by plain arithmetic."""
    if degree == 0 or random.random() < 0.3:
        if random.random() < 0.5:
            number = random.randint(-3, 3)
            return Poly.of(number), lambda at: number
        atom = random.choice(ATOMS)
        return Poly.of(atom), lambda at: at[atom]
    (a, f), (b, g) = some_poly(random, degree - 1), some_poly(random, degree - 1)
    match random.randrange(5):
        case 0:
            return a + b, lambda at: f(at) + g(at)
        case 1:
            return a - b, lambda at: f(at) - g(at)
        case 2:
            return -a, lambda at: -f(at)
        case 3:
            return a * 6 + 2, lambda at: f(at) * 6 + 2
        case _:
            return a * b, lambda at: f(at) * g(at)


def some_formula(random: Random, depth: int = 2) -> tuple[Formula, Plain]:
    """A condition made by the operations, and by plain logic; p and q are opaque."""
    if depth == 0 or random.random() < 0.2:
        (a, f), (b, g) = some_poly(random), some_poly(random)
        name = random.choice("pq")
        leaves: list[tuple[Formula, Plain]] = [
            (at_least_zero(a), lambda at: f(at) >= 0),
            (is_zero(a), lambda at: f(at) == 0),
            (at_most(a, b), lambda at: f(at) <= g(at)),
            (less(a, b), lambda at: f(at) < g(at)),
            (equal(a, b), lambda at: f(at) == g(at)),
            (opaque(name), lambda at: at[name]),
        ]
        return random.choice(leaves)
    (x, s), (y, t) = some_formula(random, depth - 1), some_formula(random, depth - 1)
    ways: list[tuple[Formula, Plain]] = [
        (negation(x), lambda at: not s(at)),
        (conjunction((x, y)), lambda at: s(at) and t(at)),
        (disjunction((x, y)), lambda at: s(at) or t(at)),
        (implies(x, y), lambda at: t(at) if s(at) else True),
    ]
    return random.choice(ways)


def places(random: Random) -> Iterator[dict[str, Any]]:
    for at in random.sample(GRID, 25):
        yield {**at, "p": random.random() < 0.5, "q": random.random() < 0.5}


def value_of(f: Formula, at: dict[str, Any]) -> bool:
    """The value by `holds`, or of a Z3 term."""
    return holds(f, {k: at[k] for k in ATOMS}, {k: at[k] for k in "pq"})


# polynomials ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(40))
def test_a_polynomial_has_the_value_of_its_arithmetic(seed: int) -> None:
    random = Random(seed)
    poly, plain = some_poly(random, 3)
    for at in random.sample(GRID, 25):
        assert poly.value(at) == plain(at), (poly, at)
        term = poly.z3(lambda name, at=at: z3.IntVal(at[name]), z3.IntVal)
        assert z3.simplify(term).as_long() == plain(at), (poly, at)
        assert eval(poly.key.replace("·", "*"), {**at}) == plain(at), poly.key
    if poly.constant is not None:
        assert poly == Poly.of(poly.constant)
        assert poly.atoms == set()
    assert poly.linear is all(len(m) <= 1 for m in poly.terms)
    assert (poly - poly, poly + 0, poly * 1) == (ZERO, poly, poly)


def test_what_a_polynomial_says_of_itself() -> None:
    a, b = Poly.of("a"), Poly.of("b")
    poly = a * b * 3 - a + 7
    assert (poly.constant, poly.atoms, poly.linear, poly.lead()) == (None, {"a", "b"}, False, (("a", "b"), 3))
    assert (a + b).linear
    assert (ZERO.constant, ONE.constant, Poly.of(-4).constant, a.constant) == (0, 1, -4, None)
    assert str(poly) == "3·a·b - a + 7"
    assert str(-poly) == "-3·a·b + a - 7"
    assert (str(ZERO), str(-ONE), str(a - 1)) == ("0", "-1", "a - 1")
    assert hash(a + b) == hash(b + a)
    assert product([a, b, Poly.of(2)]) == a * b * 2
    assert product([]) == ONE


@pytest.mark.parametrize("seed", range(40))
def test_division_gives_back_what_was_divided(seed: int) -> None:
    random = Random(seed)
    (a, _), (b, _) = some_poly(random, 3), some_poly(random)
    quotient, rest = divide(a, b)
    assert quotient * b + rest == a
    if b.terms:
        assert divide(a * b, b) == (a, ZERO)
        lead, n = b.lead()
        left = [(m, k) for m, k in rest.terms.items() if all(m.count(x) >= lead.count(x) for x in lead)]
        assert all(0 <= k < abs(n) or -abs(n) < k <= 0 for _, k in left), "more could have been divided out"


def test_nothing_is_divided_by_nothing() -> None:
    assert divide(Poly.of("a"), ZERO) == (ZERO, Poly.of("a"))
    assert divide(ZERO, Poly.of("a")) == (ZERO, ZERO)


@pytest.mark.parametrize("seed", range(40))
def test_what_equations_reduce_is_equal_where_they_hold(seed: int) -> None:
    """And two polynomials that differ by an equation have one normal form."""
    random = Random(seed)
    zeros = [some_poly(random)[0] for _ in range(2)]
    equations = Equations()
    for zero in zeros:
        equations.add(zero)
    poly, plain = some_poly(random, 3)
    reduced = equations.reduce(poly)
    assert equations.reduce(reduced) == reduced
    for at in GRID:
        if all(z.value(at) == 0 for z in zeros):
            assert reduced.value(at) == plain(at)
    for zero in zeros:
        if zero.terms and zero.constant is None and abs(zero.lead()[1]) == 1 and len(zeros) == 1:
            assert equations.reduce(poly + zero) == reduced


def test_equations_are_used_and_replaced_by_stronger_ones() -> None:
    a, b, c = map(Poly.of, ATOMS)
    equations = Equations()
    assert equations.reduce(a * b) == a * b
    equations.add(a * b - c)
    assert equations.reduce(a * b * 2 + 1) == c * 2 + 1
    assert equations.reduce(a * a * b) == a * c
    equations.add(b - 3)
    assert equations.reduce(a * b) == a * 3 == equations.reduce(c)
    equations.add(a - a)
    equations.add(ONE)
    equations.add(a * 2 - b * 4)
    assert equations.reduce(a) == a, "a coefficient other than ±1 and a contradiction rewrite nothing"
    equations.add(-a + 5)
    assert equations.reduce(a) == Poly.of(5)


# conditions -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(120))
def test_a_condition_has_the_value_of_its_logic(seed: int) -> None:
    random = Random(seed)
    formula, plain = some_formula(random, 3)
    doubled = mapped(formula, lambda p: p * 2 + Poly.of("a") - Poly.of("a"))
    for at in places(random):
        expected = bool(plain(at))
        assert value_of(formula, at) is expected, (formula, at)
        assert value_of(negation(formula), at) is not expected
        assert all(value_of(c, at) for c in conjuncts(formula)) is expected
        assert value_of(doubled, at) is expected, "twice a number has the sign of the number"
        term = formulas.to_z3(
            formula,
            z3,
            lambda name, at=at: z3.IntVal(at[name]),
            z3.IntVal,
            lambda name, at=at: z3.BoolVal(at[name]),
            None,
        )
        assert z3.is_true(z3.simplify(term)) is expected
    if formula in (TRUE, FALSE):
        assert all(bool(plain(at)) is (formula == TRUE) for at in places(random))
    assert negation(negation(formula)) == formula or formula.kind in ("and", "or")


@pytest.mark.parametrize("seed", range(40))
def test_a_changed_condition_is_the_condition_of_the_changed_polynomials(seed: int) -> None:
    random = Random(seed)
    formula, plain = some_formula(random, 3)
    moved = mapped(formula, shifted)
    for at in places(random):
        assert value_of(moved, at) is bool(plain({**at, "a": at["a"] + 1}))


def shifted(poly: Poly) -> Poly:
    """The polynomial with a + 1 in the place of a."""
    total = ZERO
    for monomial, n in poly.terms.items():
        factors = [Poly.of(x) + 1 if x == "a" else Poly.of(x) for x in monomial]
        total = total + product(factors) * n
    return total


def test_what_holds_for_all_values_is_decided_at_once() -> None:
    a, p = Poly.of("a"), opaque("p")
    assert at_least_zero(Poly.of(0)) == at_least_zero(Poly.of(5)) == TRUE
    assert at_least_zero(Poly.of(-1)) == FALSE
    assert is_zero(ZERO) == TRUE
    assert is_zero(ONE) == is_zero(a * 2 + 1) == FALSE
    assert less(a, a) == FALSE
    assert at_most(a, a) == equal(a, a) == TRUE
    assert conjunction(()) == TRUE
    assert disjunction(()) == FALSE
    assert conjunction((TRUE, p)) == disjunction((FALSE, p)) == conjunction((p, p)) == p
    assert conjunction((FALSE, p)) == FALSE
    assert disjunction((TRUE, p)) == TRUE
    assert (conjuncts(TRUE), conjuncts(p)) == ((), (p,))


def test_equal_conditions_are_one_condition() -> None:
    a, b, p = Poly.of("a"), Poly.of("b"), opaque("p")
    assert is_zero(a * 2 - b * 2) == is_zero(b - a) == equal(a, b)
    assert at_least_zero(a * 3 - 1) == at_least_zero(a - 1)
    assert at_least_zero(a * 3 + 5) == at_least_zero(a + 1)
    assert str(is_zero(b - a)) == "b - a = 0"
    assert str(at_least_zero(a)) == "a ≥ 0"
    assert str(negation(is_zero(a))) == "a ≠ 0"
    assert (str(p), str(negation(p)), str(TRUE)) == ("p", "not p", "true ")
    joined = conjunction((p, conjunction((is_zero(a), at_least_zero(b)))))
    assert joined == conjunction((at_least_zero(b), p, is_zero(a)))
    assert len(joined.parts) == len(conjuncts(joined)) == 3
    assert hash(joined) == hash(conjunction((at_least_zero(b), p, is_zero(a))))
    assert {str(q) for q in joined.polys} == {"a", "b"}
    assert joined != disjunction(joined.parts)
    assert negation(joined) == disjunction(map(negation, joined.parts))
