"""
Pieces of reductions
====================

A reduction, or several that are joined, as a collection of *pieces*: an element for every value of some indices under
some conditions. Two collections with the same elements, each as often, have the same value in every commutative monoid.
How an element is taken apart depends on the monoid, and is defined elsewhere. This module has the transformations of
every piece: an index that an equation fixes is eliminated, and an index on which nothing depends becomes a count.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product as combinations

from soundline.spec.dtypes import bool_
from soundline.verify.smt.elements.denotation import Denotation
from soundline.verify.smt.elements.elements import (
    Choice,
    Element,
    Reduction,
    Unsupported,
    atoms,
    may_be_invalid,
)
from soundline.verify.smt.elements.indexing import Index, Path
from soundline.verify.smt.elements.numbers import quotient
from soundline.verify.smt.elements.substitution import Replacement, within
from soundline.verify.smt.integers.formulas import (
    FALSE,
    TRUE,
    Formula,
    at_least_zero,
    at_most,
    conjuncts,
    disjunction,
    equal,
    less,
    negation,
)
from soundline.verify.smt.integers.polynomials import ONE, ZERO, Poly, product

MOST_PIECES = 64
"""How many pieces a reduction may fall into before it is given up."""

Bound = tuple[tuple[str, Poly], ...]
"""Indices with their sizes; a size may depend on the indices before it."""


@dataclass(frozen=True)
class Piece:
    """For each value of the indices that meets the guard: the product of the factors, `number` · `scale` times."""

    bound: Bound = ()
    guard: Path = frozenset()
    factors: tuple[Element, ...] = ()
    number: Poly = ONE
    scale: Fraction = Fraction(1)
    of_right: bool = False
    """Whether it is known to be valid only where the piece is that it is compared with."""

    @property
    def region(self) -> Path:
        """Where the piece has elements."""
        return within(self.bound) | self.guard

    def times(self, other: Piece) -> Piece:
        """The product of all pairs; the indices of the two are different ones."""
        return Piece(
            self.bound + other.bound,
            self.guard | other.guard,
            self.factors + tuple(f for f in other.factors if not (f in self.factors and _is_indicator(f))),
            self.number * other.number,
            self.scale * other.scale,
            self.of_right or other.of_right,
        )

    def under(self, conditions: Iterable[Formula]) -> Piece:
        """The piece where more conditions hold."""
        return replace(self, guard=self.guard.union(*map(conjuncts, conditions)))


def _is_indicator(factor: Element) -> bool:
    """Whether a factor is a condition: 1 where it holds, else 0."""
    return factor.dtype is bool_


def opened(reader: Denotation, reduction: Reduction, path: Path) -> tuple[Bound, Element, Path]:
    """The indices of a reduction under names of their own, its body, and the path inside."""
    bound: list[tuple[str, Poly]] = []
    values: dict[str, Poly] = {}
    for atom, size in reduction.bound:
        reader.opened += 1
        name = f"~{reader.opened}"
        bound.append((name, Replacement(reader, values).poly(size, path)))
        values[atom] = Poly.of(name)
    inside = path | within(tuple(bound))
    for _, size in bound:
        reader.space.learn(inside, less(ZERO, size))
    return tuple(bound), Replacement(reader, values).element(reduction.body, inside), inside


class Pieces:
    """Makes pieces simpler.

    Where it counts how often an element occurs, an index on which nothing depends leaves that number; else it leaves
    the condition that it has a value. Signed pieces can be subtracted from others.
    """

    def __init__(self, reader: Denotation, *, counting: bool, signed: bool) -> None:
        self.reader = reader
        self.space = reader.space
        self.counting = counting
        self.signed = signed

    def depends(self, polys: Iterable[Poly] | Element | Formula, name: str) -> bool:
        """Whether polynomials, an element or a condition depend on an atom."""
        return name in self._base(polys)

    def _base(self, of: Iterable[Poly] | Element | Formula) -> frozenset[str]:
        if isinstance(of, Element):
            direct = atoms(of, self.reader.bools.elements)
        elif isinstance(of, Formula):
            direct = frozenset(a for p in of.polys for a in p.atoms)
        else:
            direct = frozenset(a for p in of for a in p.atoms)
        return frozenset().union(*(self.space.base(a) for a in direct))

    def replaced(self, piece: Piece, values: dict[str, Poly], path: Path, more: Iterable[Formula]) -> Piece:
        """The piece without some indices, which have these values, under more conditions."""
        change = Replacement(self.reader, values)
        bound: list[tuple[str, Poly]] = []
        inside = path.union(*map(conjuncts, more))
        for name, size in piece.bound:
            if name not in values:
                bound.append((name, change.poly(size, inside)))
        inside |= within(tuple(bound))
        guard = set(inside - path - within(tuple(bound)))
        for condition in sorted(piece.guard, key=lambda f: f.key):
            moved = change.condition(condition, inside | guard)
            guard |= set(conjuncts(moved)) if moved != FALSE else {FALSE}
        inside |= guard
        return Piece(
            tuple(bound),
            frozenset(guard),
            tuple(change.element(f, inside) for f in piece.factors),
            change.poly(piece.number, inside),
            piece.scale,
            piece.of_right,
        )

    def apart(self, piece: Piece, other: Piece, path: Path) -> Piece:
        """The piece with names of its own for the indices that both have: they were opened in one reduction."""
        taken = {name for name, _ in other.bound}
        bound: list[tuple[str, Poly]] = []
        values: dict[str, Poly] = {}
        for name, size in piece.bound:
            if name in taken:
                self.reader.opened += 1
                values[name] = Poly.of(f"~{self.reader.opened}")
                bound.append((f"~{self.reader.opened}", size))
            bound.append((name, size))
        if not values:
            return piece
        return self.replaced(replace(piece, bound=tuple(bound)), values, path, ())

    # simplification ---------------------------------------------------------------------------------------------

    def simplified(self, piece: Piece, path: Path) -> list[Piece]:
        """The piece in as few indices as can be."""
        done: list[Piece] = []
        pending = [piece]
        while pending:
            if len(pending) + len(done) > MOST_PIECES:
                raise Unsupported("a reduction falls into too many pieces")
            step = self._step(self._trimmed(pending.pop(0), path), path)
            pending = [*step[1], *pending]
            done += step[0]
        return done

    def _trimmed(self, piece: Piece, path: Path) -> Piece:
        """The piece without conditions that plainly hold where it has elements."""
        guard = {self.space.reduced(g) for g in piece.guard}
        if FALSE in guard:
            return replace(piece, guard=frozenset((FALSE,)))
        box = path | within(piece.bound)
        return replace(
            piece, guard=frozenset(g for g in guard if g != TRUE and not self.space.plainly(box, g))
        )

    def _step(self, piece: Piece, path: Path) -> tuple[list[Piece], list[Piece]]:
        """One step: what is done, and what is to be simplified again."""
        if FALSE in piece.guard or not piece.number.terms or any(size == ZERO for _, size in piece.bound):
            return [], []
        single = {name: ZERO for name, size in piece.bound if size == ONE}
        if single:
            return [], [self.replaced(piece, single, path, ())]
        for condition in sorted(piece.guard, key=lambda f: f.key):
            if condition.kind == "or":
                return [], self._either(piece, condition)
            solved = self._fixed(piece, condition, path) if condition.kind in ("eq", "ne") else None
            plain = self.signed and not any(map(may_be_invalid, piece.factors))
            if solved is not None and condition.kind == "ne" and not plain:
                return [], self._below_and_above(piece, condition, *solved[:2])
            if solved is not None:
                return [], self._without(piece, condition, *solved, path)
        split = self._split(piece, path)
        if split is not None:
            return [], [split]
        for name, size in reversed(piece.bound):
            if self._is_free(piece, name):
                counted = self._counted(piece, name, size, path)
                if counted is not None:
                    return [], counted
        return [piece], []

    def _either(self, piece: Piece, condition: Formula) -> list[Piece]:
        """Cases of an alternative that exclude one another."""
        rest = replace(piece, guard=piece.guard - {condition})
        first, *others = condition.parts
        return [rest.under((first,)), rest.under((negation(first), disjunction(others)))]

    def _split(self, piece: Piece, path: Path) -> Piece | None:
        """The piece with its digits in the place of an index of which only the digits are looked at.

        That digits are unique makes this a bijection, and their order is that of the index.
        """
        parts: list[Iterable[Poly] | Element | Formula] = [*piece.factors, *piece.guard, (piece.number,)]
        seen = frozenset[str]().union(*(self._base(part) for part in parts))
        for place, (name, size) in enumerate(piece.bound):
            for atom in sorted(seen & self.space.digits_of.keys()):
                flat, sizes = self.space.digits_of[atom]
                if flat != Poly.of(name) or any(n in self._base(sizes) for n, _ in piece.bound):
                    continue
                if self.space.equations.reduce(product(sizes)) == self.space.equations.reduce(size):
                    return self._in_digits(piece, place, sizes, path)
        return None

    def _in_digits(self, piece: Piece, place: int, sizes: Index, path: Path) -> Piece:
        names = []
        for _ in sizes:
            self.reader.opened += 1
            names.append(f"~{self.reader.opened}")
        digits = tuple(zip(names, sizes, strict=True))
        name, _ = piece.bound[place]
        wider = replace(piece, bound=(*piece.bound[:place], *digits, *piece.bound[place:]))
        for size in sizes:
            self.space.learn(path | within(digits), less(ZERO, size))
        flat = self.space.flat(tuple(Poly.of(n) for n in names), sizes)
        return self.replaced(wider, {name: flat}, path, ())

    def _below_and_above(self, piece: Piece, condition: Formula, name: str, value: Poly) -> list[Piece]:
        """The cases of an index that is not a value."""
        rest = replace(piece, guard=piece.guard - {condition})
        return [rest.under((less(Poly.of(name), value),)), rest.under((less(value, Poly.of(name)),))]

    def _fixed(self, piece: Piece, condition: Formula, path: Path) -> tuple[str, Poly, Formula] | None:
        """An index that an equation fixes, its value, and what must hold for it to have one.

        Where a number of times the index is fixed, that has to be a multiple; the index is the quotient then.
        """
        poly = condition.poly
        assert poly is not None
        sizes = dict(piece.bound)
        for name, _ in reversed(piece.bound):
            times = poly.terms.get((name,), 0)
            number = Poly.of(name) * abs(times) - poly * (1 if times > 0 else -1)
            if not times or self.depends((number,), name) or (abs(times) > 1 and condition.kind == "ne"):
                continue
            if any(self.depends((size,), name) and self.depends((number,), n) for n, size in sizes.items()):
                continue
            if abs(times) == 1:
                return name, number, TRUE
            value = quotient(self.reader, number, Poly.of(abs(times)), path)
            return name, value, self.space.reduced(equal(value * abs(times), number))
        return None

    def _without(
        self, piece: Piece, condition: Formula, name: str, value: Poly, needed: Formula, path: Path
    ) -> list[Piece]:
        """The piece where an index has its value; where it must not have it, all but that."""
        rest = replace(piece, guard=piece.guard - {condition})
        size = dict(piece.bound)[name]
        only = self.replaced(rest, {name: value}, path, (at_least_zero(value), less(value, size), needed))
        if condition.kind == "eq":
            return [only]
        return [rest, replace(only, scale=-only.scale)]

    def without_equation(self, piece: Piece, path: Path) -> Piece | None:
        """The piece without one index that an equation fixes; None where there is none."""
        for condition in sorted(piece.guard, key=lambda f: f.key):
            solved = self._fixed(piece, condition, path) if condition.kind == "eq" else None
            if solved is not None:
                return self._without(piece, condition, *solved, path)[0]
        return None

    # cases ------------------------------------------------------------------------------------------------------

    def in_cases(self, pieces: Sequence[Piece], path: Path) -> list[Piece]:
        """The pieces, each in the cases of the choices between indices in it; the same pieces where there are none."""
        done: list[Piece] = []
        pending = list(pieces)
        while pending:
            piece = pending.pop(0)
            atom = self._chosen(piece)
            if atom is None:
                done.append(piece)
            else:
                pending = [*self._cases(piece, atom, path), *pending]
            if len(pending) + len(done) > MOST_PIECES:
                raise Unsupported("a reduction falls into too many pieces")
        return done

    def _chosen(self, piece: Piece) -> str | None:
        """An atom of a piece that stands for a choice by what one of its indices is, or for the greater of two."""
        parts: list[Iterable[Poly] | Element | Formula] = [*piece.factors, *piece.guard, (piece.number,)]
        seen = frozenset[str]().union(*(self._base(part) for part in parts))
        names = {name for name, _ in piece.bound}
        for atom in sorted(seen):
            if not names.isdisjoint(self.space.base(atom)) and self._ways(atom) is not None:
                return atom
        return None

    def _ways(self, atom: str) -> tuple[Formula, Poly, Poly] | None:
        """What decides which of two numbers an atom is, and these."""
        if atom in self.reader.maxima:
            a, b = self.reader.maxima[atom]
            return at_most(a, b), b, a
        behind = self.reader.behind.get(atom)
        if not isinstance(behind, Choice) or may_be_invalid(behind):
            return None
        return behind.condition, self.reader.number(behind.then), self.reader.number(behind.otherwise)

    def _cases(self, piece: Piece, atom: str, path: Path) -> Iterator[Piece]:
        ways = self._ways(atom)
        assert ways is not None
        condition, then, otherwise = ways
        for case, value in ((condition, then), (negation(condition), otherwise)):
            yield self.replaced(piece, {atom: value}, path, (case,))

    # counting ---------------------------------------------------------------------------------------------------

    def _is_free(self, piece: Piece, name: str) -> bool:
        """Whether nothing but bounds and the number depends on an index."""
        if any(self.depends(f, name) for f in piece.factors):
            return False
        if any(self.depends((size,), name) for _, size in piece.bound):
            return False
        hidden = (a for a in piece.number.atoms if a != name)
        return not any(name in self.space.base(a) for a in hidden)

    def bounds(self, piece: Piece, name: str, size: Poly, path: Path) -> tuple[list[Poly], list[Poly]] | None:
        """Least values, and values that are too great, of an index; None where a condition says something else."""
        lows, highs = [ZERO], [size]
        for condition in sorted(piece.guard, key=lambda f: f.key):
            if not self.depends(condition, name):
                continue
            found = self._bound_of(condition, name, path) if condition.kind == "ge" else None
            if found is None:
                return None
            (lows if found[1] else highs).append(found[0])
        around = self.around(piece, name, path)
        return self._greatest(lows, around), [-h for h in self._greatest([-h for h in highs], around)]

    def around(self, piece: Piece, name: str, path: Path) -> Path:
        """What is known of a piece apart from one of its indices."""
        others = tuple(b for b in piece.bound if b[0] != name)
        return path | within(others) | {g for g in piece.guard if not self.depends(g, name)}

    def _bound_of(self, condition: Formula, name: str, path: Path) -> tuple[Poly, bool] | None:
        """A bound of an index by a linear condition on it, and whether it is the least value."""
        assert condition.poly is not None
        factor, rest = condition.poly.split(name)
        if self.depends((factor, rest), name):
            return None
        if factor == ONE:
            return -rest, True
        if factor == -ONE:
            return rest + 1, False
        if self.space.shows(path, less(ZERO, factor)):
            return -quotient(self.reader, rest, factor, path), True
        if self.space.shows(path, less(factor, ZERO)):
            return quotient(self.reader, rest, -factor, path) + 1, False
        return None

    def _greatest(self, values: list[Poly], path: Path) -> list[Poly]:
        """The values of which none is shown to be at most another."""
        kept: list[Poly] = []
        for k, value in enumerate(values):
            others = [*kept, *values[k + 1 :]]
            if not any(self.space.shows(path, at_most(value, other)) for other in others):
                kept.append(value)
        return kept

    def _counted(self, piece: Piece, name: str, size: Poly, path: Path) -> list[Piece] | None:
        """The piece without an index on which nothing but the number depends, in cases of what bounds it."""
        powers = _powers(piece.number, name)
        ends = self.bounds(piece, name, size, path)
        if ends is None or len(powers) > len(_SUMS):
            return None
        bound = tuple(b for b in piece.bound if b[0] != name)
        guard = frozenset(g for g in piece.guard if not self.depends(g, name))
        if not self.counting:
            there = (less(low, high) for low, high in combinations(*ends))
            return [replace(piece, bound=bound, guard=guard, number=ONE, scale=Fraction(1)).under(there)]
        found: list[Piece] = []
        for low, high in combinations(*ends):
            conditions = [*_greatest_first(ends[0], low), *_least_first(ends[1], high)]
            number = ZERO
            for power, factor in enumerate(powers):
                number = number + factor * (_sum_below(power, high) - _sum_below(power, low))
            divisor = _DIVISOR if len(powers) > 1 else 1
            if divisor == 1:
                number = powers[0] * (high - low)
            scale = piece.scale / divisor
            case = replace(piece, bound=bound, guard=guard, number=number, scale=scale)
            found.append(case.under((*conditions, at_most(low, high))))
        return found


def _greatest_first(ends: list[Poly], end: Poly) -> list[Formula]:
    """That an end is the greatest; the first of those that are."""
    place = ends.index(end)
    return [(less if k < place else at_most)(other, end) for k, other in enumerate(ends) if k != place]


def _least_first(ends: list[Poly], end: Poly) -> list[Formula]:
    """That an end is the least; the first of those that are."""
    place = ends.index(end)
    return [(less if k < place else at_most)(end, other) for k, other in enumerate(ends) if k != place]


_DIVISOR = 60
_SUMS = (
    {1: 60},
    {2: 30, 1: -30},
    {3: 20, 2: -30, 1: 10},
    {4: 15, 3: -30, 2: 15},
    {5: 12, 4: -30, 3: 20, 1: -2},
    {6: 10, 5: -30, 4: 25, 2: -5},
)
"""60 · Σ r^d for 0 ≤ r < x, as a polynomial in x, for d from 0 to 5."""


def _sum_below(power: int, end: Poly) -> Poly:
    """60 times the sum of the powers of all numbers from 0 to `end`, exclusive."""
    powers = Poly({("end",) * exponent: n for exponent, n in _SUMS[power].items()})
    return powers.substituted({"end": end})


def _powers(number: Poly, name: str) -> list[Poly]:
    """A polynomial as the factors of the powers of an atom, from power 0 up."""
    factor, rest = number.split(name)
    return [rest, *(_powers(factor, name) if factor.terms else [])]
