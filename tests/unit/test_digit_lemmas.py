"""
The lemmas of positions
=======================

What `soundline.verify.smt.elements.indexing` and `denotation` use without asking the solver each time, proved here by
the solver for the ranks at which rules are judged. Each lemma has twins that leave out one of its premises and must
fail.

A mixed-radix number is built digit by digit, f[k+1] = f[k]·s[k] + d[k]; facts of rank n follow from the fact for two
digits, which is proved first, taken at each k.
"""

from __future__ import annotations

from typing import Any

import pytest
import z3

RANKS = (1, 2, 3, 4)


def holds(premises: list[Any], conclusion: Any) -> bool:
    """Whether the conclusion follows; a lemma that the solver cannot decide fails the test."""
    solver = z3.SimpleSolver()
    solver.set("rlimit", 20_000_000)
    solver.add(*premises, z3.Not(conclusion))
    found = solver.check()
    assert found != z3.unknown, solver.reason_unknown()
    return bool(found == z3.unsat)


def ints(names: str) -> Any:
    return z3.Ints(names)


# two digits -------------------------------------------------------------------------------------------------------

Q, R, P, T, B, A, X = ints("q r p t b a x")


def is_digit(d: Any, size: Any) -> Any:
    return z3.And(d >= 0, d < size)


def test_two_digits_are_unique() -> None:
    premises = [is_digit(R, B), is_digit(T, B), Q * B + R == P * B + T]
    assert holds(premises, z3.And(Q == P, R == T))
    assert not holds(premises[1:], z3.And(Q == P, R == T))
    assert not holds([R < B, T < B, premises[2]], z3.And(Q == P, R == T))


def test_division_finds_the_digits() -> None:
    """Lemma U: a remainder that is a digit belongs to ⌊x/b⌋, which is the y with y·b ≤ x < y·b + b for b > 0."""
    y = z3.Int("y")
    floor = [y * B <= X, y * B + B > X]
    assert holds([is_digit(R, B), X == Q * B + R, *floor], z3.And(y == Q, X - y * B == R))
    assert not holds([R < B, B > 0, X == Q * B + R, *floor], y == Q)


def test_a_number_below_a_product_has_two_digits() -> None:
    """The quotient and remainder by b of a number below a·b are digits of a and b."""
    premises = [B > 0, X == Q * B + R, is_digit(R, B), X >= 0, X < A * B]
    assert holds(premises, is_digit(Q, A))
    assert not holds(premises[:4], is_digit(Q, A))


def test_two_digits_stay_below_the_product() -> None:
    """Lemma M."""
    premises = [is_digit(Q, A), is_digit(R, B)]
    assert holds(premises, z3.And(Q * B + R >= 0, Q * B + R < A * B))
    assert not holds([is_digit(Q, A), R < B], Q * B + R >= 0)


def test_a_common_factor_can_be_left_out() -> None:
    """What is left of equal products after a cut is equal, because the part that was cut is not zero."""
    assert holds([B > 0, A * B == X * B], A == X)
    assert not holds([A * B == X * B], A == X)


# more digits ------------------------------------------------------------------------------------------------------


def unknowns(stem: str, rank: int) -> list[Any]:
    return [z3.Int(f"{stem}{k}") for k in range(rank)]


def built(stem: str, digits: list[Any], sizes: list[Any]) -> tuple[list[Any], list[Any]]:
    """The partial numbers of mixed-radix digits, and the equations that define them."""
    partial = unknowns(stem, len(digits) + 1)
    steps = [partial[k + 1] == partial[k] * s + d for k, (s, d) in enumerate(zip(sizes, digits, strict=True))]
    return partial, [partial[0] == 0, *steps]


@pytest.mark.parametrize("rank", RANKS)
def test_digits_are_unique(rank: int) -> None:
    """Two positions of a shape with one row-major number are one position."""
    sizes, d, e = (unknowns(stem, rank) for stem in "sde")
    f, f_built = built("f", d, sizes)
    g, g_built = built("g", e, sizes)
    inside = [is_digit(x, s) for digits in (d, e) for x, s in zip(digits, sizes, strict=True)]
    two_digits = [
        z3.Implies(
            z3.And(is_digit(d[k], sizes[k]), is_digit(e[k], sizes[k]), f[k + 1] == g[k + 1]),
            z3.And(f[k] == g[k], d[k] == e[k]),
        )
        for k in range(rank)
    ]
    same = z3.And(*(x == y for x, y in zip(d, e, strict=True)))
    premises = [*f_built, *g_built, *two_digits, f[rank] == g[rank]]
    assert holds([*inside, *premises], same)


@pytest.mark.parametrize("rank", RANKS)
def test_positions_are_below_the_number_of_elements(rank: int) -> None:
    sizes, d = unknowns("s", rank), unknowns("d", rank)
    f, f_built = built("f", d, sizes)
    count = unknowns("n", rank + 1)
    counted = [count[0] == 1, *(count[k + 1] == count[k] * sizes[k] for k in range(rank))]
    two_digits = [
        z3.Implies(
            z3.And(is_digit(f[k], count[k]), is_digit(d[k], sizes[k])), is_digit(f[k + 1], count[k + 1])
        )
        for k in range(rank)
    ]
    inside = [is_digit(x, s) for x, s in zip(d, sizes, strict=True)]
    assert holds([*inside, *f_built, *counted, *two_digits], is_digit(f[rank], count[rank]))


@pytest.mark.parametrize("rank", RANKS)
def test_every_number_of_elements_has_a_position(rank: int) -> None:
    """Dividing by the sizes from the right gives digits, so that a reshape is a function."""
    sizes, d = unknowns("s", rank), unknowns("d", rank)
    f, f_built = built("f", d, sizes)
    count = unknowns("n", rank + 1)
    counted = [count[0] == 1, *(count[k + 1] == count[k] * sizes[k] for k in range(rank))]
    divided = [
        z3.Implies(
            is_digit(f[k + 1], count[k + 1]), z3.And(is_digit(f[k], count[k]), is_digit(d[k], sizes[k]))
        )
        for k in range(rank)
    ]
    steps = f_built[1:]  # that the number starts with 0 is what is to be shown
    inside = [is_digit(x, s) for x, s in zip(d, sizes, strict=True)]
    premises = [*steps, *counted, *divided, is_digit(f[rank], count[rank])]
    assert holds(premises, z3.And(f[0] == 0, *inside))


@pytest.mark.parametrize("old", RANKS)
@pytest.mark.parametrize("new", RANKS)
def test_a_shape_with_elements_reshapes_to_one_without_empty_axes(old: int, new: int) -> None:
    s, t = unknowns("s", old), unknowns("t", new)
    as_many = z3.Product(*s) == z3.Product(*t)
    premises = [*(x >= 0 for x in s), *(x >= 1 for x in t), as_many]
    # A product of naturals is zero where a factor is; the product of numbers ≥ 1 is not.
    zero = [z3.Implies(x == 0, z3.Product(*s) == 0) for x in s]
    assert holds([*premises, *zero, z3.Product(*t) >= 1], z3.And(*(x >= 1 for x in s)))
    assert not holds([*(x >= 0 for x in (*s, *t)), as_many], z3.And(*(x >= 1 for x in s)))


@pytest.mark.parametrize("rank", RANKS)
def test_products_of_numbers_from_one_are_at_least_one(rank: int) -> None:
    """The step of the product, from which the premise used above follows for every rank."""
    count, size = z3.Ints("n s")
    assert holds([count >= 1, size >= 1], count * size >= 1)
    assert holds([size == 0], count * size == 0)
    partial = unknowns("n", rank + 1)
    sizes = unknowns("s", rank)
    steps = [z3.Implies(z3.And(partial[k] >= 1, sizes[k] >= 1), partial[k + 1] >= 1) for k in range(rank)]
    assert holds([partial[0] == 1, *steps, *(s >= 1 for s in sizes)], partial[rank] >= 1)


def test_factors_of_one_are_one() -> None:
    """The step by which a product of naturals that is 1 has only ones as factors."""
    assert holds([A >= 0, B >= 0, A * B == 1], z3.And(A == 1, B == 1))
    assert not holds([A * B == 1], z3.And(A == 1, B == 1))


# single axes ------------------------------------------------------------------------------------------------------


def test_moved_positions_lie_inside() -> None:
    """The maps of Flip, Shrink, Pad and Expand lead into the source, on one axis; axes do not see each other."""
    i, s, o, n = ints("i s o n")
    assert holds([is_digit(i, s)], is_digit(s - 1 - i, s))
    assert holds([is_digit(i, n), o >= 0, o + n <= s], is_digit(i + o, s))
    assert not holds([is_digit(i, n), o + n <= s], is_digit(i + o, s))
    assert not holds([is_digit(i, n), o >= 0, n <= s], is_digit(i + o, s))
    read = z3.If(s == 1, 0, i)
    assert holds([is_digit(i, n), z3.Or(s == 1, s == n)], is_digit(read, s))
    assert not holds([is_digit(i, n)], is_digit(read, s))


def test_nothing_is_proved_from_contradictory_premises() -> None:
    """The premises of the lemmas can be met."""
    assert not holds([is_digit(R, B), is_digit(T, B), Q * B + R == P * B + T], z3.BoolVal(False))
    assert not holds([B > 0, X == Q * B + R, is_digit(R, B), X >= 0, X < A * B], z3.BoolVal(False))
