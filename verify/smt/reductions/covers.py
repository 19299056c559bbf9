"""
Maxima and alternatives
=======================

Where a reduction joins elements by Max it does not matter how often one occurs. Two maxima are equal where every
element of the one is among those of the other, and the other way round: each piece has to be covered by pieces of the
other side, by maps that need no inverse. On bool, Max is *or*: that some element is true. Mul on bool is *and*, the
same of what is denied.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import product as combinations

from soundline.spec.dtypes import bool_, index
from soundline.spec.ops.node import Op
from soundline.verify.smt.elements.denotation import Denotation
from soundline.verify.smt.elements.elements import (
    Apply,
    Bottom,
    Choice,
    Constant,
    Element,
    Number,
    Reduction,
    Truth,
    Unsupported,
    may_be_invalid,
)
from soundline.verify.smt.elements.indexing import Path
from soundline.verify.smt.elements.numbers import quotient
from soundline.verify.smt.elements.substitution import Replacement
from soundline.verify.smt.integers.formulas import (
    FALSE,
    TRUE,
    Formula,
    at_least_zero,
    conjunction,
    conjuncts,
    disjunction,
    less,
    negation,
)
from soundline.verify.smt.integers.polynomials import ONE, ZERO, Poly
from soundline.verify.smt.reductions.bijections import Bijections, Proves
from soundline.verify.smt.reductions.counting import as_any_or_all
from soundline.verify.smt.reductions.pieces import MOST_PIECES, Piece, Pieces, opened
from soundline.verify.smt.reductions.sums import speaks_of_elements, without

MOST_STEPS = 200
"""How often a part of a piece is covered before a comparison is given up."""


class Covers:
    """Compares maxima."""

    def __init__(self, reader: Denotation, proves: Proves) -> None:
        self.reader = reader
        self.space = reader.space
        self.pieces = Pieces(reader, counting=False, signed=False)
        self.maps = Bijections(reader, proves)
        self.found_reductions = False
        """Whether reductions were met in a condition that is taken apart."""

    # taking apart -----------------------------------------------------------------------------------------------

    def of(self, element: Element, path: Path) -> list[Piece]:
        """The pieces of an element."""
        found = list(self._of(element, path))
        if len(found) > MOST_PIECES:
            raise Unsupported("a reduction falls into too many pieces")
        return found

    def _of(self, element: Element, path: Path) -> Iterator[Piece]:
        if element.dtype is bool_ and not isinstance(element, Bottom):
            yield from self._true(self.space.reduced(self.reader.bools.formula(element)), path)
        elif isinstance(element, Reduction) and element.op is Op.Max:
            bound, body, inside = opened(self.reader, element, path)
            yield from (replace(p, bound=bound + p.bound) for p in self.of(body, inside))
        elif isinstance(element, Choice) and not speaks_of_elements(element.condition):
            yield from self._choice(element, path)
        elif isinstance(element, Apply) and element.op is Op.Max:
            for operand in element.operands:
                yield from self.of(operand, path)
        elif isinstance(element, Number):
            yield from self._number(element.poly, path)
        elif not (isinstance(element, Constant) and element.value == element.dtype.min):
            yield Piece(factors=(element,))

    def _choice(self, element: Choice, path: Path) -> Iterator[Piece]:
        if isinstance(element.then, Bottom) or isinstance(element.otherwise, Bottom):
            yield Piece(factors=(element,))
            return
        condition = self.space.reduced(element.condition)
        for case, way in ((condition, element.then), (negation(condition), element.otherwise)):
            if case == FALSE or self.space.plainly(path, negation(case)):
                continue
            for piece in self.of(way, path | {case} if case != TRUE else path):
                yield piece.under((case,))

    def _number(self, poly: Poly, path: Path) -> Iterator[Piece]:
        """A polynomial grows with each of its atoms whose factor is not negative, if only weakly."""
        for atom in sorted(poly.atoms):
            factor, rest = poly.split(atom)
            if atom in factor.atoms or not (factor == ONE or self.space.shows(path, at_least_zero(factor))):
                continue
            made = self._made(atom, path)
            if made is None:
                continue
            pieces, divisor = made
            for piece in pieces:
                (inner,) = piece.factors
                inside = path | piece.region
                moved = self._moved(inner, rest, factor, divisor, inside)
                for found in (
                    self.of(moved, inside) if isinstance(moved, Number) else [Piece(factors=(moved,))]
                ):
                    yield replace(found, bound=piece.bound + found.bound, guard=piece.guard | found.guard)
            return
        yield Piece(factors=(Number(index, poly),))

    def _made(self, atom: str, path: Path) -> tuple[list[Piece], Poly] | None:
        """The pieces of which an atom is the maximum, and by what that is divided; None where it is no maximum.

        There is at least one piece with an element: the maximum of no indices is invalid. What is divided by a
        positive number and rounded down grows with it.
        """
        if atom in self.reader.quotients:
            dividend, divisor = self.reader.quotients[atom]
            parts = list(self._number(dividend, path))
            alone = len(parts) == 1 and not parts[0].bound and not parts[0].guard
            return None if alone or not self.space.shows(path, less(ZERO, divisor)) else (parts, divisor)
        if atom in self.reader.maxima:
            return [Piece(factors=(Number(index, p),)) for p in self.reader.maxima[atom]], ONE
        behind = self.reader.behind.get(atom)
        if isinstance(behind, Choice) or (isinstance(behind, Reduction) and behind.op is Op.Max):
            return self.of(behind, path), ONE
        return None

    def _moved(self, inner: Element, rest: Poly, factor: Poly, divisor: Poly, path: Path) -> Element:
        """rest + factor · ⌊inner / divisor⌋, in each way of a choice."""
        if isinstance(inner, Bottom):
            return inner
        if isinstance(inner, Choice):
            ways = (self._moved(e, rest, factor, divisor, path) for e in (inner.then, inner.otherwise))
            return Choice(index, inner.condition, *ways)
        number = self.reader.number(inner)
        part = number if divisor == ONE else quotient(self.reader, number, divisor, path)
        return Number(index, self.space.equations.reduce(rest + factor * part))

    def _true(self, condition: Formula, path: Path) -> Iterator[Piece]:
        """The ways in which a condition holds."""
        if condition.kind == "or":
            for part in condition.parts:
                yield from self._true(part, path)
        elif condition.kind == "and":
            found = [Piece()]
            for part in condition.parts:
                ways = [list(self._true(part, path)) for _ in found]
                found = [p.times(q) for p, own in zip(found, ways, strict=True) for q in own]
                if len(found) > MOST_PIECES:
                    raise Unsupported("a condition falls into too many cases")
            yield from found
        elif not condition.name:
            cases = self._cases(condition, path)
            if cases is not None:
                yield from self._true(cases, path)
            elif condition != FALSE:
                yield Piece(guard=frozenset(conjuncts(condition)))
        else:
            yield from self._true_of_element(condition, path)

    def _cases(self, condition: Formula, path: Path) -> Formula | None:
        """A condition on a number that is a choice by elements as one in each way of it; None where there is none."""
        for atom in sorted(condition.poly.atoms) if condition.poly is not None else ():
            behind = self.reader.behind.get(atom)
            if not isinstance(behind, Choice) or may_be_invalid(behind):
                continue
            if not speaks_of_elements(behind.condition):
                continue
            ways = []
            for case, way in (
                (behind.condition, behind.then),
                (negation(behind.condition), behind.otherwise),
            ):
                change = Replacement(self.reader, {atom: self.reader.number(way)})
                ways.append(conjunction((case, change.condition(condition, path))))
            return self.space.reduced(disjunction(ways))
        return None

    def _true_of_element(self, condition: Formula, path: Path) -> Iterator[Piece]:
        holds = condition.kind == "opaque"
        behind = self.reader.bools.elements[condition.name]
        if isinstance(behind, Reduction) and behind.op is (Op.Max if holds else Op.Mul):
            self.found_reductions = True
            bound, body, inside = opened(self.reader, behind, path)
            formula = self.space.reduced(self.reader.bools.formula(body))
            ways = self._true(formula if holds else negation(formula), inside)
            yield from (replace(p, bound=bound + p.bound) for p in ways)
        else:
            yield Piece(factors=(Truth(bool_, condition),))

    # comparing --------------------------------------------------------------------------------------------------

    def same(self, left: Element, right: Element, path: Path) -> bool:
        """Whether two elements are shown to be equal. Where the left one is invalid, nothing is to be shown."""
        if left.dtype is not bool_:
            return self._same(self.of(left, path), self.of(right, path), path)
        a, b = (
            as_any_or_all(self.reader, self.space.reduced(self.reader.bools.formula(e)), path)
            for e in (left, right)
        )
        for x, y in ((a, b), (negation(a), negation(b))):
            self.found_reductions = False
            ways = list(self._true(x, path)), list(self._true(y, path))
            if self.found_reductions and self._same(*ways, path):
                return True
        return False

    def _same(self, left: Sequence[Piece], right: Sequence[Piece], path: Path) -> bool:
        sides = [self._simple(left, path), self._simple(right, path)]
        if self._cover_each_other(sides, path):
            return True
        cases = [self.pieces.in_cases(side, path) for side in sides]
        return cases != sides and self._cover_each_other([self._simple(c, path) for c in cases], path)

    def _cover_each_other(self, sides: Sequence[Sequence[Piece]], path: Path) -> bool:
        left, right = sides
        return all(self._covered(p, right, path, of_right=False) for p in left) and all(
            self._covered(p, left, path, of_right=True) for p in right
        )

    def _simple(self, pieces: Iterable[Piece], path: Path) -> list[Piece]:
        found = [q for p in pieces for q in self.pieces.simplified(p, path)]
        return [r for q in found for r in self._greatest(q, path)]

    def _greatest(self, piece: Piece, path: Path) -> list[Piece]:
        """The piece without an index that its number grows or shrinks with: only the greatest element counts."""
        if not (len(piece.factors) == 1 and isinstance(piece.factors[0], Number)):
            return [piece]
        poly = piece.factors[0].poly
        for name, size in reversed(piece.bound):
            factor, rest = poly.split(name)
            if not factor.terms or self.pieces.depends((factor, rest), name):
                continue
            if any(self.pieces.depends((s,), name) for _, s in piece.bound):
                continue
            around = self.pieces.around(piece, name, path)
            grows = self.space.shows(around, at_least_zero(factor))
            if not grows and not self.space.shows(around, less(factor, ZERO)):
                continue
            ends = self.pieces.bounds(piece, name, size, path)
            if ends is None or len(ends[1 if grows else 0]) > 1:
                continue
            value = ends[1][0] - 1 if grows else ends[0][0]
            there = [less(low, high) for low, high in combinations(*ends)]
            bound = tuple(b for b in piece.bound if b[0] != name)
            guard = frozenset(g for g in piece.guard if not self.pieces.depends(g, name))
            number = Number(index, self.space.equations.reduce(rest + factor * value))
            return self._simple([Piece(bound, guard, (number,)).under(there)], path)
        return [piece]

    def _covered(self, piece: Piece, others: Sequence[Piece], path: Path, *, of_right: bool) -> bool:
        """Whether all elements of a piece are among those of the others."""
        pending = [piece]
        for _ in range(MOST_STEPS):
            if not pending:
                return True
            part = pending.pop()
            if FALSE in part.guard or (part.guard and self.space.shows(path | part.region, FALSE)):
                continue
            images = (self.maps.covering(part, other, path, of_right=of_right) for other in others)
            found = next((i for i in images if i is not None), None)
            if found is None:
                return False
            pending += without(part, found)
        return False
