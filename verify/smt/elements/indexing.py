"""
Positions in tensors
====================

A movement op maps each position of its result to a position of its source; `spec.arrays.movement` says how. Here is
what its laws need on symbolic positions, one polynomial per axis, and the knowledge they rest on: the conditions of a
rule, and that a position lies inside its shape.

A reshape keeps the *flat position*, the row-major number. Its digits in the new shape are found, in this order: groups
of axes that hold equally many elements are matched; digits that were made earlier from the same flat position are taken
again; a flat position is divided by the sizes as a polynomial, where the remainder is proved to be a digit; digits in
other sizes that are known of it are joined or taken apart; and otherwise the digits are fresh unknowns whose weighted
sum is the flat position. That these steps lead to *the* digits is the uniqueness of mixed-radix digits, which the tests
prove for every rank.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

from soundline.spec.arrays.movement import Axes, flat, groups
from soundline.verify.smt.elements.atoms import Origin, Path, made_of
from soundline.verify.smt.integers.arithmetic import Arithmetic
from soundline.verify.smt.integers.formulas import (
    TRUE,
    Formula,
    at_least_zero,
    conjunction,
    conjuncts,
    equal,
    implies,
    is_zero,
    less,
    mapped,
    negation,
)
from soundline.verify.smt.integers.polynomials import ONE, ZERO, Equations, Poly, divide, product

__all__ = ["ALWAYS", "Index", "Path", "Positions", "Space"]

Index = tuple[Poly, ...]
"""One polynomial per axis: a position, or a shape."""

ALWAYS: Path = frozenset()


@lru_cache(maxsize=4096)
def _taken_apart(path: Path) -> Path:
    """The conditions of a path, those that are joined by *and* one by one."""
    return frozenset(part for condition in path for part in conjuncts(condition))


def leads(path: Path, guard: Path) -> bool:
    """Whether all conditions of a guard are conditions of a path, joined to others or not."""
    return guard <= path or _taken_apart(guard) <= _taken_apart(path)


class Space:
    """What is known of sizes and positions in one instance of a rule."""

    def __init__(self, arithmetic: Arithmetic) -> None:
        self.arithmetic = arithmetic
        self.equations = Equations()
        self.assumptions: list[Formula] = []
        self.origins: dict[str, Origin] = {}
        """How atoms were made that depend on others."""
        self.digits_of: dict[str, tuple[Poly, Index]] = {}
        """Of which flat position an atom is a digit, and in which shape."""
        self._bases: dict[str, frozenset[str]] = {}
        self._indices: dict[str, frozenset[str]] = {}
        self._facts: dict[Path, dict[str, Formula]] = {ALWAYS: {}}
        self._views: dict[Path, _View] = {}
        self._systems: dict[tuple[str, ...], Index] = {}
        self._blocks: dict[tuple[str, ...], list[tuple[Path, Index]]] = {}
        self._read: dict[str, list[tuple[Path, Index, Index]]] = {}
        """By flat position: the sizes in which its digits are known along a path, and these."""
        self._regrouping: set[str] = set()
        """The flat positions whose digits are being made of others."""

    # knowledge --------------------------------------------------------------------------------------------------

    def assume(self, conditions: Iterable[Formula]) -> None:
        """Take conditions as given; their equations rewrite every later polynomial."""
        self.assumptions += [part for c in conditions for part in conjuncts(c)]
        facts = [*self._facts[ALWAYS].values(), *self.assumptions]
        for part in facts:
            if part.kind == "eq":
                assert part.poly is not None
                self.equations.add(part.poly)
                self._factors_of_one(part.poly)
        self._facts = {ALWAYS: {}}
        for part in facts:
            self.learn(ALWAYS, part)

    def _factors_of_one(self, zero: Poly) -> None:
        """Where a product of atoms that are not negative is 1, each of them is."""
        for one in (zero, self.equations.reduce(zero)):
            factors = [m for m in one.terms if m]
            if len(factors) != 1 or one.terms != {factors[0]: 1, (): -1}:
                continue
            if all(at_least_zero(Poly.of(a)) in self.assumptions for a in factors[0]):
                for atom in factors[0]:
                    self.equations.add(Poly.of(atom) - 1)

    def learn(self, path: Path, fact: Formula) -> None:
        """Remember what holds along a path."""
        facts = self._facts.setdefault(path, {})
        for part in conjuncts(self.reduced(fact)):
            if part.key not in facts:
                facts[part.key] = part
                self._views.clear()

    def known(self, path: Path) -> Iterable[Formula]:
        """Everything that may be used along a path."""
        return self._view(path).facts.values()

    def _view(self, path: Path) -> _View:
        if path not in self._views:
            facts = {
                k: f for guard, found in self._facts.items() if leads(path, guard) for k, f in found.items()
            }
            for condition in sorted(path, key=lambda c: c.key):
                facts |= {f.key: f for f in conjuncts(self.reduced(condition))}
            self._views[path] = _View(facts)
        return self._views[path]

    def reduced(self, condition: Formula) -> Formula:
        """A condition in normal form."""
        return mapped(condition, self.equations.reduce)

    def plainly(self, path: Path, goal: Formula) -> bool:
        """Whether a goal is one of the things known, up to a constant, without asking a solver."""
        goal = self.reduced(goal)
        if goal.kind in ("and", "or") and goal.key not in self._view(path).facts:
            return (all if goal.kind == "and" else any)(self.plainly(path, p) for p in goal.parts)
        return goal == TRUE or self._view(path).gives(goal)

    def shows(self, path: Path, goal: Formula) -> bool:
        """Whether a goal follows from what is known along a path."""
        goal = self.reduced(goal)
        if self.plainly(path, goal):
            return True
        return self.arithmetic.entails(self._in_scope(self.known(path), path, goal), goal) == "unsat"

    def shows_with_equations(self, path: Path, goal: Formula) -> bool:
        """The same, with the equations that rewrite polynomials given to the solver as well.

        An equation between products says more than its rewriting: a product of sizes that are not zero is not zero.
        """
        if self.shows(path, goal):
            return True
        goal = self.reduced(goal)
        facts = self._in_scope([*self.known(path), *self.assumptions], path, goal)
        return self.arithmetic.entails(facts, goal) == "unsat"

    def _in_scope(self, facts: Iterable[Formula], path: Path, goal: Formula) -> list[Formula]:
        """The facts but those on indices of reductions of which neither the path nor the goal speaks."""
        scope = self._opened(goal).union(*map(self._opened, path))
        return [f for f in facts if self._opened(f) <= scope]

    def _opened(self, condition: Formula) -> frozenset[str]:
        """The indices of opened reductions on which a condition depends."""
        if condition.key not in self._indices:
            below = (self.base(a) for p in condition.polys for a in p.atoms)
            self._indices[condition.key] = frozenset(a for base in below for a in base if a.startswith("~"))
        return self._indices[condition.key]

    def inside(self, path: Path, index: Index, shape: Index) -> None:
        """Learn that a position lies in a shape, so that no axis of the shape is empty, nor the whole."""
        self.learn(path, less(ZERO, product(shape)))
        for i, size in zip(index, shape, strict=True):
            for fact in (at_least_zero(i), less(i, size), less(ZERO, size)):
                self.learn(path, fact)

    def base(self, atom: str) -> frozenset[str]:
        """An atom, and all on which it depends."""
        if atom not in self._bases:
            origin = self.origins.get(atom)
            below = [self.base(a) for a in sorted(origin.atoms)] if origin is not None else []
            self._bases[atom] = frozenset((atom,)).union(*below)
        return self._bases[atom]

    # positions --------------------------------------------------------------------------------------------------

    def flat(self, index: Index, shape: Index) -> Poly:
        """The row-major number of a position."""
        return self.equations.reduce(flat(Poly.of, index, shape))

    def chosen(self, zero: Poly, then: Poly, otherwise: Poly, path: Path) -> Poly:
        """The first number where `zero` is 0, else the second one."""
        name = f"({then} if {zero} = 0 else {otherwise})"
        read = Poly.of(name)
        self.origins.setdefault(name, made_of((zero, then, otherwise), self.chosen))
        self.learn(path, implies(is_zero(zero), equal(read, then)))
        self.learn(path, implies(negation(is_zero(zero)), equal(read, otherwise)))
        return read

    def split(self, flat: Poly, sizes: Index, path: Path) -> Index:
        """The digits of a flat position by some sizes; that there is such a position must be known along the path."""
        if len(sizes) < 2:
            return (flat,) * len(sizes)
        for guard, digits in self._blocks.get(_block(sizes, flat), ()):
            if leads(path, guard):
                return digits
        for size in sizes:
            self.learn(path, less(ZERO, size))
        found = (
            self._divided(flat, sizes, path) or self._regrouped(flat, sizes, path) or self._fresh(flat, sizes)
        )
        self._remember(found, sizes, path)
        return found

    def _regrouped(self, flat: Poly, sizes: Index, path: Path) -> Index | None:
        """The digits of a flat position from its digits in other sizes: several joined, or one taken apart."""
        if flat.key in self._regrouping:
            return None
        self._regrouping.add(flat.key)
        try:
            for guard, old, digits in list(self._read.get(flat.key, ())):
                if self.equations.reduce(product(old)) != self.equations.reduce(product(sizes)):
                    continue
                if not leads(
                    path, guard
                ):  # these are no digits here unless all these sizes are positive here
                    if not all(self.shows(path, less(ZERO, size)) for size in old):
                        continue
                    digits = self.digits(flat, old, path)
                found = self._joined_or_apart(old, digits, sizes, path)
                if found is not None:
                    return found
            return None
        finally:
            self._regrouping.discard(flat.key)

    def _joined_or_apart(self, old: Index, digits: Index, sizes: Index, path: Path) -> Index | None:
        """Digits in `sizes` from those in `old`, walked from the right; None where a size divides none of the other's.

        That is right because digits are unique: the digits of a digit, and those to its left, are digits in sizes of
        which one is the product of some neighbours.
        """
        left = list(zip(old, digits, strict=True))
        found: list[Poly] = []
        for size in reversed(sizes):
            digit, weight, rest = ZERO, ONE, self.equations.reduce(size)
            while rest != ONE:
                if not left:
                    return None
                whole, one = left.pop()
                if whole != rest and (more := self._factor(whole, rest)) is not None:
                    high, one = self.digits(one, (more, rest), path)
                    left.append((more, high))
                    whole = rest
                smaller = ONE if whole == rest else self._factor(rest, whole)
                if smaller is None:
                    return None
                if weight != ONE:
                    self._learn_of_weighted(one, whole, weight, path)
                digit, weight, rest = digit + weight * one, weight * whole, smaller
            found.insert(0, self.equations.reduce(digit))
        return None if left else tuple(found)

    def _learn_of_weighted(self, digit: Poly, size: Poly, weight: Poly, path: Path) -> None:
        """Learn what a solver does not see of a digit times its weight: zero with the digit, and else no less."""
        often = digit * weight
        self.learn(path, less(ZERO, weight))
        self.learn(path, implies(is_zero(digit), is_zero(often)))
        self.learn(path, implies(less(ZERO, digit), at_least_zero(often - weight)))
        self.learn(path, at_least_zero((size - 1 - digit) * weight))

    def _factor(self, product_: Poly, size: Poly) -> Poly | None:
        """How often a size goes into a product of sizes; None where it does not."""
        often, rest = divide(product_, size)
        return often if often.terms and not rest.terms else None

    def _divided(self, flat: Poly, sizes: Index, path: Path) -> Index | None:
        """The digits of a flat position, by dividing it by the sizes from the right; None where that is not shown."""
        for start in self._forms(flat, sizes):
            digits: list[Poly] = []
            rest: Poly | None = start
            for size in reversed(sizes[1:]):
                rest, digit = self.division(rest, size, path) if rest is not None else (None, ZERO)
                digits.insert(0, digit)
            if rest is not None:
                return tuple(map(self.equations.reduce, (rest, *digits)))
        return None

    def _forms(self, flat: Poly, sizes: Index) -> Iterator[Poly]:
        """The flat position, and once more with the number of elements written by these sizes."""
        yield flat
        written = product(sizes)
        normal = self.equations.reduce(written)
        if normal != written and normal.terms:
            monomial, n = normal.lead()
            often, _ = divide(flat, Poly({monomial: n}))
            if often.terms:
                yield flat + (written - normal) * often

    def division(self, flat: Poly, size: Poly, path: Path) -> tuple[Poly | None, Poly]:
        """The quotient and remainder by a size, where some candidate is shown to be a digit (lemma U)."""
        quotient, remainder = divide(flat, size)
        candidates = [(quotient - k, remainder + size * k) for k in (0, 1, -1)]
        digits = [Poly.of(a) for a in sorted(flat.atoms) if a.startswith("#")]
        shifted = [(quotient - k, remainder + size * k) for d in digits for k in (d, -d)]
        for q, r in (*candidates, *shifted):
            if self.plainly(path, _is_digit(r, size)):
                return q, r
        if quotient.terms or flat.linear:  # otherwise there is nothing that a solver could see
            for q, r in candidates[:2]:
                if self.shows(path, _is_digit(r, size)):
                    return q, r
        return None, ZERO

    def _fresh(self, flat: Poly, sizes: Index) -> Index:
        """Unknown digits; the last one is what is left of the flat position, so that their sum is that position."""
        block = _block(sizes, flat)
        if block not in self._systems:
            number = len(self._systems) + 1
            unknown = [Poly.of(f"#{number}.{k}") for k in range(len(sizes) - 1)]
            above = self.flat((*unknown, ZERO), sizes)
            self._systems[block] = (*unknown, self.equations.reduce(flat - above))
            for k in range(len(unknown)):
                self.digits_of[f"#{number}.{k}"] = flat, sizes
                self.origins[f"#{number}.{k}"] = made_of((flat, *sizes), partial(self._digit, k))
        return self._systems[block]

    def _digit(self, k: int, flat: Poly, *rest: Any) -> Poly:
        """Digit k of a flat position by some sizes, along a path, which is the last argument."""
        *sizes, path = rest
        shape = tuple(map(self.equations.reduce, sizes))
        found = self.split(self.equations.reduce(flat), shape, path)
        there = conjunction((at_least_zero(flat), less(flat, product(shape))))
        rows = zip(found, shape, strict=True)
        self.learn(
            path, implies(there, conjunction(c for i, n in rows for c in (at_least_zero(i), less(i, n))))
        )
        if self.plainly(path, there):
            self.inside(path, found, shape)
        return found[k]

    def digits(self, flat: Poly, sizes: Index, path: Path) -> Index:
        """The position in a shape whose row-major number is given; that it is there must be known along the path."""
        found = self.split(self.equations.reduce(flat), sizes, path)
        self.inside(path, found, sizes)
        return found

    def _remember(self, digits: Index, sizes: Index, path: Path) -> None:
        """Every run of neighbouring digits is the digits of its own flat position (the digits are unique)."""
        for start in range(len(sizes)):
            for end in range(start + 2, len(sizes) + 1):
                part = digits[start:end]
                flat = self.flat(part, sizes[start:end])
                self._blocks.setdefault(_block(sizes[start:end], flat), []).append((path, part))
                self._read.setdefault(flat.key, []).append((path, sizes[start:end], part))

    def same(self, a: Index, b: Index, shape: Index, path: Path) -> Formula:
        """The condition that two positions of a shape are one: true where their row-major numbers are."""
        reduce = self.equations.reduce
        each = conjunction(equal(reduce(x), reduce(y)) for x, y in zip(a, b, strict=True))
        numbers = equal(self.flat(a, shape), self.flat(b, shape))
        if TRUE in (each, numbers):
            return TRUE
        if any(atom.startswith("#") for poly in each.polys for atom in poly.atoms):
            self.learn(path, implies(numbers, each))
        return each


def _is_digit(remainder: Poly, size: Poly) -> Formula:
    return conjunction((at_least_zero(remainder), less(remainder, size)))


@dataclass(frozen=True, slots=True)
class Positions:
    """The algebra in which the prover reads the laws of movement: polynomials and formulas, along a path."""

    space: Space
    path: Path

    def number(self, value: int) -> Poly:
        """A number that is known."""
        return Poly.of(value)

    def same(self, a: Poly, b: Poly) -> bool:
        """Whether two numbers have one normal form."""
        return self.space.equations.reduce(a - b) == ZERO

    def equal(self, a: Poly, b: Poly) -> Formula:
        """The condition a = b."""
        return self.space.reduced(equal(a, b))

    def inside(self, i: Poly, size: Poly) -> Formula:
        """The condition 0 ≤ i < size."""
        return conjunction((at_least_zero(i), less(i, size)))

    def every(self, conditions: Iterable[Formula]) -> Formula:
        """All of the conditions."""
        return conjunction(conditions)

    def one_of(self, *cases: tuple[Formula, Poly]) -> Poly:
        """The first number whose condition holds; an atom that the space knows about where that is not known."""
        for condition, found in cases:
            if condition == TRUE:
                return found
        (_, chosen), *others = reversed(cases)
        for condition, found in others:
            if condition.poly is not None:  # otherwise it never holds
                chosen = self.space.chosen(condition.poly, found, chosen, self.path)
        return chosen

    def groups(self, old: Index, new: Index) -> Iterator[tuple[Axes, Axes]]:
        """The smallest groups that equations between sizes show."""
        reduce = self.space.equations.reduce
        shapes = [tuple(map(reduce, sizes)) for sizes in (old, new)]
        return groups(shapes[0], shapes[1], ONE, lambda a, b: reduce(a * b), lambda size: size.key)

    def digits(self, number: Poly, sizes: Index) -> Index:
        """The position with a flat position; a position of the result exists, so that no size is 0."""
        reduce = self.space.equations.reduce
        return self.space.split(reduce(number), tuple(map(reduce, sizes)), self.path)


class _View:
    """The facts along one path, arranged for looking up."""

    def __init__(self, facts: dict[str, Formula]) -> None:
        self.facts = facts
        self._bounds: dict[Poly, int] = {}
        for fact in facts.values():
            if fact.kind == "ge":
                varying, constant = _parts(fact)
                self._bounds[varying] = min(constant, self._bounds.get(varying, constant))

    def gives(self, goal: Formula) -> bool:
        """Whether the goal is a fact, or a fact says more by a constant."""
        if goal.key in self.facts:
            return True
        if goal.kind != "ge":
            return False
        varying, constant = _parts(goal)
        return self._bounds.get(varying, constant + 1) <= constant


def _parts(comparison: Formula) -> tuple[Poly, int]:
    """The varying part and the constant of what is compared with zero."""
    assert comparison.poly is not None
    constant = comparison.poly.terms.get((), 0)
    return comparison.poly - constant, constant


def _block(sizes: Index, flat: Poly) -> tuple[str, ...]:
    return (*(s.key for s in sizes), flat.key)
