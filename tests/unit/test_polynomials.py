"""Polynomials: whatever is made of them has the value that the same arithmetic on numbers gives."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from soundline.spec.dtypes import index
from soundline.spec.ops.polynomials import Polynomial
from soundline.spec.ops.sizes import SizePolynomial
from soundline.spec.uop import Op, UOp, const, param
from soundline.verify.smt.integers.polynomials import Poly

KINDS = (Polynomial, Poly)
NAMES = "abc"
POINTS = [
    dict(zip(NAMES, numbers, strict=True)) for numbers in ((2, 3, 5), (-3, 7, 1), (0, -1, 4), (11, 0, -2))
]
TERMS = st.dictionaries(
    st.lists(st.sampled_from(NAMES), max_size=3).map(lambda atoms: tuple(sorted(atoms))),
    st.integers(-5, 5),
    max_size=5,
)


def value(of: Polynomial[str], at: dict[str, int]) -> int:
    total = 0
    for atoms, n in of.terms.items():
        for atom in atoms:
            n *= at[atom]
        total += n
    return total


@pytest.mark.parametrize("kind", KINDS)
@settings(deadline=None, max_examples=60, suppress_health_check=list(HealthCheck))
@given(TERMS, TERMS, st.integers(-4, 4))
def test_arithmetic_is_that_of_the_values(kind: type[Polynomial[str]], p: dict, q: dict, n: int) -> None:  # type: ignore[type-arg]
    a, b = kind(p), kind(q)
    for at in POINTS:
        x, y = value(a, at), value(b, at)
        assert value(a + b, at) == x + y
        assert value(a - b, at) == x - y
        assert value(a * b, at) == x * y
        assert value(-a, at) == -x
        assert (value(a + n, at), value(a - n, at), value(a * n, at)) == (x + n, x - n, x * n)
    assert {type(x) for x in (a + b, a - b, a * b, -a, a * n)} == {kind}


@pytest.mark.parametrize("kind", KINDS)
@settings(deadline=None, max_examples=60, suppress_health_check=list(HealthCheck))
@given(TERMS, TERMS)
def test_equal_polynomials_are_those_with_equal_values(kind: type[Polynomial[str]], p: dict, q: dict) -> None:  # type: ignore[type-arg]
    a, b = kind(p), kind(q)
    assert a * b == b * a
    assert hash(a * b) == hash(b * a)
    assert (a == b) is ((a - b).constant == 0)
    assert not (a - a).terms
    assert 0 not in (a * b + a).terms.values()
    assert all(list(atoms) == sorted(atoms) for atoms in (a * b).terms)


@pytest.mark.parametrize("kind", KINDS)
@settings(deadline=None, max_examples=60, suppress_health_check=list(HealthCheck))
@given(TERMS, st.sampled_from(NAMES))
def test_what_an_atom_is_multiplied_with(kind: type[Polynomial[str]], p: dict, atom: str) -> None:  # type: ignore[type-arg]
    whole = kind(p)
    factor, rest = whole.split(atom)
    assert factor * kind.of(atom) + rest == whole
    assert atom not in rest.atoms
    assert (atom in factor.atoms) is any(atoms.count(atom) > 1 for atoms in whole.terms)


@pytest.mark.parametrize("kind", KINDS)
@settings(deadline=None, max_examples=60, suppress_health_check=list(HealthCheck))
@given(TERMS, TERMS, TERMS)
def test_polynomials_for_atoms_are_their_values_for_the_atoms(
    kind: type[Polynomial[str]],
    p: dict,  # type: ignore[type-arg]
    q: dict,  # type: ignore[type-arg]
    r: dict,  # type: ignore[type-arg]
) -> None:
    whole, values = kind(p), {"a": kind(q), "b": kind(r)}
    for at in POINTS:
        moved = {**at, **{name: value(by, at) for name, by in values.items()}}
        assert value(whole.substituted(values), at) == value(whole, moved)


def test_what_is_one_number() -> None:
    a = Polynomial.of("a")
    assert Polynomial({}).constant == Polynomial.of(0).constant == (a - a).constant == 0
    assert Polynomial.of(-4).constant == -4
    assert a.constant is (a + 4).constant is (a * a).constant is None
    assert (a * 3 + 4).atoms == {"a"}
    assert Polynomial.of(4) != 4


def test_nodes_have_one_order_and_only_equal_ones_are_equal() -> None:
    nodes: list[UOp] = [param(k, index) for k in range(5)] + [Op.Idiv(param(0, index), const(2, index))]
    for n, m in product(nodes, repeat=2):
        one, other = SizePolynomial.of(n), SizePolynomial.of(m)
        assert one * other == other * one
        assert (one == other) is (n is m)
        assert len((one * other - one * one).terms) == (0 if n is m else 2)
