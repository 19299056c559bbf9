"""The lemmas of division hold of all small numbers, and what conditions say of divisors is read as they say it."""

from __future__ import annotations

from itertools import product
from types import SimpleNamespace

import pytest
import z3

from soundline.spec.dtypes import index, int32, int64, uint8, wrap
from soundline.spec.ops.node import Op
from soundline.spec.rules.instances import goals
from soundline.verify import Const, Value, cmod, fits, given, int8, rule
from soundline.verify.judging.judge import prove
from soundline.verify.smt.goals.obligations import obligation_of
from soundline.verify.smt.integers import congruences, division
from soundline.verify.smt.integers.divisibility import (
    divisible,
    odd,
    polynomial,
    powers_of_two,
    without_common_bits,
    without_odd_factors,
)
from soundline.verify.smt.integers.polynomials import Poly
from soundline.verify.smt.integers.residue_classes import Integers
from soundline.verify.smt.integers.residues import cases
from soundline.verify.smt.integers.terms import Quotient

CTX = z3.Context()


def floor(a: int, b: int) -> Quotient:
    """The floor quotient of two numbers, as literals."""
    q, r = (0, a) if b == 0 else divmod(a, b)
    return Quotient(*(z3.IntVal(n, CTX) for n in (a, b, q, r)))


def true(formula) -> bool:
    return z3.is_true(z3.simplify(formula))


@pytest.mark.parametrize("f", [-2, -1, 0, 1, 3])
def test_common_factors_and_nested_divisors(f):
    for a, b in product(range(-7, 8), range(-3, 4)):
        factor = z3.IntVal(f, CTX)
        assert true(division.common(floor(f * a, f * b), factor, floor(a, b)))
        outer = floor(a, f)
        inner = floor(int(str(outer.q)), b)
        assert true(division.nested(floor(a, f * b), factor, outer, inner))


def test_order_of_multiples():
    for a, c, b in product(range(-5, 6), range(-5, 6), range(-2, 4)):
        assert true(division.ordered(floor(a, b), floor(c, b)))


def test_truncation_by_signs():
    for a, b in product(range(-7, 8), range(-3, 4)):
        if b:
            assert all(map(true, division.truncation([floor(a, b)], floor(abs(a), abs(b)))))


def test_division_by_the_opposite():
    for a, b in product(range(-7, 8), range(-3, 4)):
        assert true(division.opposite(floor(a, b), floor(a, -b)))
        assert b == 0 or not true(division.opposite(floor(a, b), floor(a + 1, -b)))


def test_a_lemma_without_its_premise_is_found_out():
    wrong = [
        (a, b)
        for a, b in product(range(-7, 8), (-2, -3))
        if not true(floor(a, 2 * b).q == floor(int(str(floor(a, 2).q)), b).q)
    ]
    assert wrong


def test_odd_factors_cancel_modulo_a_power_of_two():
    x, y, c = (Poly.of(name) for name in "xyc")
    gap = without_odd_factors((x - y) * c * 6, {"c"}.__contains__)
    assert gap == (x - y) * 2
    assert without_odd_factors((x - y) * c, set().__contains__) == (x - y) * c
    assert without_odd_factors((x - y) * c * c + x * c, {"c"}.__contains__) == (x - y) * c + x
    assert without_odd_factors(x - x, {"c"}.__contains__) == Poly({})
    for a, b, odd_number in product(range(16), range(16), range(1, 16, 2)):
        whole, rest = (6 * odd_number * (a - b)) % 16, (2 * (a - b)) % 16
        assert (whole == 0) == (rest == 0)


def test_terms_are_read_as_polynomials():
    x, y = z3.Ints("x y", CTX)
    atoms = {}
    found = polynomial(-(x - 2 * y) * x + 3, atoms)
    assert found == Poly({("x", "x"): -1, ("x", "y"): 2, (): 3})
    assert set(atoms) == {"x", "y"}
    assert polynomial(x * 2, {}, lambda name: Poly.of("y") * 3 if name == "x" else None) == Poly.of("y") * 6


# What conditions say ----------------------------------------------------------------------------------------------


def read(reader, condition, dtype=int32):
    """What a reader finds in a condition on x and c, by their names."""

    @rule(dtypes=[dtype])
    def stated(x: Value, c: Const):
        given(condition(x, c))
        return x + c, c + x

    ob = obligation_of(next(goals(stated, dtype)))
    names = {node: name for name, node in ob.variables.items()}
    return {names.get(n) or (n.op.name, *(names.get(s) for s in n.src)) for n in reader(ob.hypotheses)}


@pytest.mark.parametrize(
    ("condition", "found"),
    [
        (lambda x, c: x % c == 0, {("Mod", "x", "c")}),
        (lambda x, c: (x % c == 0) & (x > 0), {("Mod", "x", "c")}),
        (lambda x, c: cmod(x, c) == 0, {("CMod", "x", "c")}),
        (lambda x, c: (x % c == 0) | (x > 0), set()),
        (lambda x, c: x % c != 0, set()),
        (lambda x, c: x % c == 1, set()),
    ],
)
def test_who_divides_whom(condition, found):
    assert read(divisible, condition) == found


@pytest.mark.parametrize(
    ("condition", "found"),
    [
        (lambda x, c: (c & 1) == 1, {"c"}),
        (lambda x, c: (c & 1) != 0, {"c"}),
        (lambda x, c: c % 2 == 1, {"c"}),
        (lambda x, c: cmod(c, 2) != 0, {"c"}),
        (lambda x, c: c % 2 == 0, set()),
        (lambda x, c: c % 2 != 1, set()),
        (lambda x, c: c % 3 == 1, set()),
        (lambda x, c: (c & 3) == 1, set()),
        (lambda x, c: ((c & 1) == 1) | (x > 0), set()),
    ],
)
def test_who_is_odd(condition, found):
    assert read(odd, condition) == found


@pytest.mark.parametrize(
    ("condition", "found"),
    [
        (lambda x, c: (c & (c - 1)) == 0, {"c"}),
        (lambda x, c: ((c - 1) & c) == 0, {"c"}),
        (lambda x, c: (c & (x - 1)) == 0, set()),
        (lambda x, c: (c & (c - 2)) == 0, {"c"}),
        (lambda x, c: (c & (c + (-16))) == 0, {"c"}),
        (lambda x, c: ((-4 + c) & c) == 0, {"c"}),
        (lambda x, c: (c & (c - 3)) == 0, set()),
        (lambda x, c: (c & (c - 0)) == 0, set()),
        (lambda x, c: (c & (c + 2)) == 0, set()),
        (lambda x, c: (c & (2 - c)) == 0, set()),
        (lambda x, c: (c & -c) == 0, set()),
        (lambda x, c: (c & (c - 1)) == 1, set()),
    ],
)
def test_who_is_a_power_of_two(condition, found):
    assert read(powers_of_two, condition) == found


@pytest.mark.parametrize("k", range(8))
def test_who_has_no_bit_in_common_with_the_number_below_by_a_power_of_two(k):
    """Such a number is 0, a power of two, or the least value, whatever the power."""
    for dtype in (int8, uint8):
        found = {p for p in range(int(dtype.min), int(dtype.max) + 1) if p & wrap(dtype, p - (1 << k)) == 0}
        assert found <= {0, int(dtype.min), *(1 << n for n in range(8))}


def test_masks_of_powers_of_two():
    """x under p - 1 and under -p, for every p that passes the test, as the algebra writes them."""
    for dtype in (int8, uint8):
        low, high, half = int(dtype.min), int(dtype.max), 128
        for p in (p for p in range(low, high + 1) if p & (wrap(dtype, p - 1)) == 0):
            for x in range(low, high + 1, 7):
                rest = (x if x >= 0 else x + half) if p == -half else x % p if p else x
                assert wrap(dtype, x & wrap(dtype, p - 1)) == rest
                assert wrap(dtype, x & wrap(dtype, -p)) == x - rest


@pytest.mark.parametrize(
    ("condition", "found"),
    [
        (lambda x, c: (c & x) == 0, True),
        (lambda x, c: ((c & x) == 0) & (c > 0), True),
        (lambda x, c: (c & x) != 0, False),
        (lambda x, c: (c & x) == 1, False),
        (lambda x, c: (c | x) == 0, False),
        (lambda x, c: ((c & x) == 0) | (c > 0), False),
    ],
)
def test_who_has_no_bits_in_common(condition, found):
    assert bool(read(without_common_bits, condition)) == found


# Rules, with their twins ------------------------------------------------------------------------------------------


@rule(dtypes=[index, int32])
def digit_of_a_digit(x: Value, c: Const, d: Const):
    given(c > 0, d > 0, c % d == 0)
    return (x % c) // d, (x // d) % (c // d)


@rule(dtypes=[index, int32])
def digit_of_an_uneven_digit(x: Value, c: Const, d: Const):
    given(c > 0, d > 0, c % d <= 1)
    return (x % c) // d, (x // d) % (c // d)


@rule(dtypes=[index, int32])
def rest_of_a_ramp(x: Value, y: Value, c: Const, d: Const):
    given(c > 0, d > 0, d % c == 0, y >= 0, y < c, fits(x * c + y))
    return (x * c + y) % d, (x * c) % d + y


@rule(dtypes=[index, int32])
def rest_of_a_ramp_that_is_too_wide(x: Value, y: Value, c: Const, d: Const):
    given(c > 0, d > 0, d % c == 0, y >= 0, y <= c, fits(x * c + y))
    return (x * c + y) % d, (x * c) % d + y


@rule(dtypes=[int32, uint8])
def equal_odd_products(x: Value, y: Value, c: Const):
    given((c & 1) == 1)
    return x * c == y * c, x == y


@rule(dtypes=[int32, uint8])
def equal_products(x: Value, y: Value, c: Const):
    given((c & 1) == 0, c != 0)
    return x * c == y * c, x == y


@rule(dtypes=[int32])
def remainder_under_a_mask(x: Value, c: Const):
    given(c > 0, (c & (c - 1)) == 0)
    return (x + 5) % c, (x + 5) & (c - 1)


@rule(dtypes=[int32])
def remainder_under_a_mask_of_the_least(x: Value, c: Const):
    given((c & (c - 1)) == 0)
    return (x + 5) % c, (x + 5) & (c - 1)


@rule(dtypes=[int64])
def remainder_by_an_even_power(x: Value, c: Const):
    given(c > 0, (c & (c - 2)) == 0)
    return x % c, x & (c - 1)


@rule(dtypes=[int64])
def remainder_by_what_shares_a_bit_with_no_third_below(x: Value, c: Const):
    given(c > 0, (c & (c - 3)) == 0)
    return x % c, x & (c - 1)


@rule(dtypes=[index])
def products_of_three_neighbours(x: Value):
    return (x * (x + 1) * (x + 2)) % 6, 0


@rule(dtypes=[index])
def products_of_three_odd_neighbours(x: Value):
    return (x * (x + 2) * (x + 4)) % 6, 0


TWINS = [
    (digit_of_a_digit, digit_of_an_uneven_digit),
    (rest_of_a_ramp, rest_of_a_ramp_that_is_too_wide),
    (equal_odd_products, equal_products),
    (remainder_under_a_mask, remainder_under_a_mask_of_the_least),
    (remainder_by_an_even_power, remainder_by_what_shares_a_bit_with_no_third_below),
    (products_of_three_neighbours, products_of_three_odd_neighbours),
]


@pytest.mark.parametrize(("right", "wrong"), TWINS, ids=lambda r: r.id)
def test_twins(right, wrong):
    assert {layer.verdict for layer in prove(right).layers} == {"proved"}
    assert {layer.verdict for layer in prove(wrong).layers} == {"refuted"}


def test_cases_are_made_of_small_divisors_only():
    def count(rule_stated):
        found = cases(obligation_of(next(goals(rule_stated, index))))
        return None if found is None else len(list(found))

    @rule(dtypes=[index])
    def two_variables(x: Value, y: Value):
        return (x * y) % 4, (y * x) % 6

    @rule(dtypes=[index])
    def a_divisor_that_is_no_number(x: Value, y: Value):
        return (x * y) % 4, y % x

    assert count(products_of_three_neighbours) == 6
    assert count(two_variables) == 144
    assert count(a_divisor_that_is_no_number) is None


def test_a_condition_that_is_never_met_is_no_proof():
    @rule(dtypes=[index, int32])
    def remainder_is_its_divisor(x: Value, c: Value):
        given(c != 0, cmod(x, c) == c)
        return x // c, x

    @rule(dtypes=[index])
    def neighbours_without_an_even_product(x: Value):
        given((x * (x + 1)) % 2 == 1)
        return x // 2, x

    @rule(dtypes=[int32])
    def remainder_by_what_has_no_bits(x: Value, c: Value):
        given(c > 0, (c & c) == 0)
        return (x % c) % c, x % c

    for stated in (
        remainder_is_its_divisor,
        neighbours_without_an_even_product,
        remainder_by_what_has_no_bits,
    ):
        assert {layer.verdict for layer in prove(stated).layers} == {"vacuous"}


def test_a_model_under_masks_is_no_refutation_by_itself():
    ob = obligation_of(next(goals(remainder_under_a_mask, int32)))
    algebra = Integers(ob)
    assert algebra.denial()
    assert algebra.spurious
    assert [n.op for n in algebra.powers] == [Op.Param]


def test_marked_multiples_of_the_divisor_are_collected():
    b, x, y = map(Poly.of, "bxy")
    marked = Poly.of(congruences._DIVISOR)
    whole = x * x + marked * 2 + marked * marked * y - marked * marked * marked
    steps = SimpleNamespace(divisor=b)
    kept, multiples = congruences.Congruence._collected(steps, whole)  # it asks for the divisor alone
    assert (kept, multiples) == (x * x, b * y - b * b + 2)
