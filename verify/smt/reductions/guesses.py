"""
Guesses of bijections
=====================

Two pieces of reductions may have elements in common where their bodies read one input at one position: that makes
equations between the indices of the one and those of the other. Solved for the indices of either side they give a
candidate for a map. Whether the candidate is a map, and whether the elements are equal, is proved elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, product

from soundline.spec.ops.node import Op
from soundline.verify.smt.elements.denotation import Denotation
from soundline.verify.smt.elements.elements import (
    Apply,
    Bottom,
    Choice,
    Element,
    Number,
    Read,
    Reduction,
    Truth,
    reads,
)
from soundline.verify.smt.elements.indexing import Path
from soundline.verify.smt.elements.numbers import quotient
from soundline.verify.smt.integers.formulas import FALSE, TRUE, Formula, at_least_zero, equal, is_zero, less
from soundline.verify.smt.integers.polynomials import ONE, ZERO, Poly, divide
from soundline.verify.smt.integers.polynomials import product as total
from soundline.verify.smt.reductions.pieces import Bound, Piece, opened

MOST_CANDIDATES = 12
"""How many ways to pair the positions of two pieces are tried."""


@dataclass(frozen=True)
class Map:
    """Values of indices in terms of others, and what they need in order to mean anything."""

    values: dict[str, Poly]
    needs: tuple[Formula, ...] = ()


# equations --------------------------------------------------------------------------------------------------------


_COMMUTATIVE = (Op.Add, Op.Mul, Op.Max, Op.And, Op.Or, Op.Xor, Op.CmpEq, Op.CmpNe)


def _equations(reader: Denotation, a: Element, b: Element) -> Iterator[list[Poly]]:
    """Ways in which two elements may be equal: polynomials that would have to be zero."""
    a, b = _valid(a), _valid(b)
    match a, b:
        case Read(), Read():
            if a.name == b.name:
                yield [x - y for x, y in zip(a.at, b.at, strict=True)]
        case Number(), Number():
            yield _below(reader, a.poly, b.poly) or [a.poly - b.poly]
        case Truth(), Truth():
            yield _of_conditions(reader, a.formula, b.formula)
        case Apply(), Apply():
            if (a.op, a.dtype, len(a.operands)) == (b.op, b.dtype, len(b.operands)):
                yield from _of_operands(reader, a.operands, b.operands)
                if a.op in _COMMUTATIVE:
                    yield from _of_operands(reader, a.operands, b.operands[::-1])
            yield _of_reads(a, b)
        case Choice(), Choice():
            own = _of_conditions(reader, a.condition, b.condition)
            for found in _of_operands(reader, (a.then, a.otherwise), (b.then, b.otherwise)):
                yield own + found
        case Reduction(), Reduction():
            if (a.op, len(a.bound)) == (b.op, len(b.bound)):
                yield from _of_reductions(reader, a, b)
        case _:
            if a == b:
                yield []
            elif a.dtype is b.dtype:
                yield _of_reads(a, b)


def _of_reads(a: Element, b: Element) -> list[Poly]:
    """What makes the first reads of each input be at one position, in elements that are made in different ways."""
    found: list[Poly] = []
    there: dict[str, Read] = {}
    for read in reads(b):
        there.setdefault(read.name, read)
    for read in reads(a):
        other = there.pop(read.name, None)
        if other is not None:
            found += [x - y for x, y in zip(read.at, other.at, strict=True)]
    return found


def _valid(element: Element) -> Element:
    """What an element is where it is not invalid."""
    while isinstance(element, Choice) and Bottom in (type(element.then), type(element.otherwise)):
        element = element.otherwise if isinstance(element.then, Bottom) else element.then
    return element


def _of_operands(reader: Denotation, a: Sequence[Element], b: Sequence[Element]) -> Iterator[list[Poly]]:
    ways = [list(islice(_equations(reader, x, y), 3)) for x, y in zip(a, b, strict=True)]
    for chosen in islice(product(*ways), MOST_CANDIDATES):
        yield [poly for way in chosen for poly in way]


def _of_reductions(reader: Denotation, a: Reduction, b: Reduction) -> Iterator[list[Poly]]:
    """Of the bodies; what speaks of the indices inside says nothing of those outside."""
    (first, x, _), (second, y, _) = opened(reader, a, frozenset()), opened(reader, b, frozenset())
    inner = {name for name, _ in (*first, *second)}
    for found in _equations(reader, x, y):
        yield [p for p in found if not any(inner & reader.space.base(atom) for atom in p.atoms)]


def _of_conditions(reader: Denotation, a: Formula, b: Formula) -> list[Poly]:
    if a.kind != b.kind or len(a.parts) != len(b.parts):
        return []
    if a.name:
        elements = reader.bools.elements
        return next(_equations(reader, elements[a.name], elements[b.name]), [])
    if a.poly is not None and b.poly is not None:
        return [a.poly - b.poly] if a.kind in ("eq", "ne") else []
    return [p for x, y in zip(a.parts, b.parts, strict=True) for p in _of_conditions(reader, x, y)]


def _below(reader: Denotation, a: Poly, b: Poly) -> list[Poly]:
    """The same of the elements behind the atoms of two numbers: of the first of each input, or of the only one."""
    first, second = ([reader.behind[x] for x in sorted(p.atoms) if x in reader.behind] for p in (a, b))
    if len(first) == len(second) == 1:
        return next(_equations(reader, first[0], second[0]), [])
    found: list[Poly] = []
    for x in first:
        twin = next(
            (y for y in second if isinstance(x, Read) and isinstance(y, Read) and x.name == y.name), None
        )
        if isinstance(x, Read) and isinstance(twin, Read):
            found += [p - q for p, q in zip(x.at, twin.at, strict=True)]
            second = [y for y in second if y is not twin]
    return found


Pairing = tuple[tuple[int, int], ...]
"""Which factor of the one piece goes with which of the other."""


def pairings(
    reader: Denotation, a: Piece, b: Piece, *, some: bool = False
) -> Iterator[tuple[Pairing, list[Poly]]]:
    """Ways to pair the factors of two pieces, each with what would make them equal.

    All factors are paired; with `some`, those of `b` are, each with any of `a`.
    """
    if not some and len(a.factors) != len(b.factors):
        return
    alike = [[k for k, e in enumerate(a.factors) if _alike(reader, e, f)] for f in b.factors]
    orders = (o for o in product(*alike) if some or len(set(o)) == len(o))
    for order in islice(orders, MOST_CANDIDATES):
        chosen = [a.factors[k] for k in order]
        for found in islice(_of_operands(reader, chosen, b.factors), MOST_CANDIDATES):
            yield tuple(zip(order, range(len(b.factors)), strict=True)), found


def _alike(reader: Denotation, a: Element, b: Element) -> bool:
    """Whether two factors may be equal at all, at a glance."""
    a, b = _valid(a), _valid(b)
    if isinstance(a, Read) and isinstance(b, Read):
        return a.name == b.name
    if isinstance(a, Number) and isinstance(b, Number):
        return _inputs(reader, a.poly) == _inputs(reader, b.poly)
    return a.dtype is b.dtype


def _inputs(reader: Denotation, poly: Poly) -> set[str]:
    """The inputs of dtype ``index`` whose elements are in a polynomial."""
    below = (x for atom in poly.atoms for x in reader.space.base(atom))
    return {reader.numbers[x].name for x in below if x in reader.numbers}


# solving ----------------------------------------------------------------------------------------------------------


class Solver:
    """Solves equations for indices: one after another where an equation has one unknown, or their digits in one."""

    def __init__(self, reader: Denotation, bound: Bound, path: Path) -> None:
        self.reader = reader
        self.space = reader.space
        self.sizes = dict(bound)
        self.path = path
        self.values: dict[str, Poly] = {}
        self.needs: list[Formula] = []

    def solve(self, equations: Sequence[Poly]) -> Map:
        """Values of as many indices as the equations fix."""
        pending = list(equations)
        while pending:
            found = (
                self._one(pending)
                or self._digits(pending)
                or self._rotated(pending)
                or self._eliminated(pending)
            )
            if not found:
                break
        for name, value in list(self.values.items()):
            self.values[name] = self._inserted(value)
        solved = {n: v for n, v in self.values.items() if n in self.sizes and not self._unknowns(v)}
        return Map(solved, tuple(self.needs))

    def _unknowns(self, poly: Poly) -> list[str]:
        names = self.sizes.keys() - self.values.keys()
        return [
            a for a in sorted(poly.atoms) if a not in self.values and not names.isdisjoint(self.space.base(a))
        ]

    def _inserted(self, poly: Poly) -> Poly:
        """A polynomial with the values known so far; an atom that depends on unknowns is an unknown itself."""
        for _ in range(len(self.values) + 1):
            if self.values.keys().isdisjoint(poly.atoms):
                break
            poly = self.space.equations.reduce(poly.substituted(self.values))
        return poly

    def _one(self, pending: list[Poly]) -> bool:
        """Solve one equation that has one unknown."""
        for k, equation in enumerate(pending):
            poly = self._inserted(equation)
            unknowns = self._unknowns(poly)
            if not unknowns:
                del pending[k]
                return True
            if len(unknowns) == 1 and (
                self._take(poly, unknowns[0]) or self._take_quotient(poly, unknowns[0])
            ):
                del pending[k]
                return True
        return False

    def _take(self, poly: Poly, atom: str) -> bool:
        sign = poly.terms.get((atom,), 0)
        rest = Poly.of(atom) - poly * sign
        if abs(sign) != 1 or atom in rest.atoms:
            return False
        self.values[atom] = rest
        return True

    def _take_quotient(self, poly: Poly, atom: str) -> bool:
        """The same where some times the unknown is known, a number of times or a size, if that is a multiple."""
        times, rest = poly.split(atom)
        if not times.terms or atom in times.atoms or self._unknowns(times):
            return False
        if times.lead()[1] < 0:
            times, rest = -times, -rest
        self.values[atom] = quotient(self.reader, -rest, times, self.path)
        self._need(equal(self.values[atom] * times, -rest))
        return True

    def _need(self, condition: Formula) -> None:
        condition = self.space.reduced(condition)
        if condition != TRUE:
            self.needs.append(condition)

    def _rotated(self, pending: list[Poly]) -> bool:
        """Solve an equation for an index up to multiples of its size, where all else unknown is such a multiple."""
        for k, equation in enumerate(pending):
            poly = self._inserted(equation)
            for atom in self._unknowns(poly):
                sign, size = poly.terms.get((atom,), 0), self.sizes.get(atom)
                if abs(sign) != 1 or size is None:
                    continue
                often, rest = divide(poly - Poly.of(atom) * sign, size)
                if not often.terms or self._unknowns(size) or self._unknowns(rest):
                    continue
                number = -rest * sign
                turns = quotient(self.reader, number, size, self.path)
                self.values[atom] = self.space.equations.reduce(number - size * turns)
                del pending[k]
                return True
        return False

    def _eliminated(self, pending: list[Poly]) -> bool:
        """Solve one equation for one of several unknowns."""
        for k, equation in enumerate(pending):
            poly = self._inserted(equation)
            for atom in self._unknowns(poly):
                if self._take(poly, atom):
                    for name in list(self.values):
                        self.values[name] = (
                            self._inserted(self.values[name]) if name != atom else self.values[name]
                        )
                    del pending[k]
                    return True
        return False

    def _digits(self, pending: list[Poly]) -> bool:
        """Solve an equation in which several indices are the digits of a number."""
        for k, equation in enumerate(pending):
            poly = self._inserted(equation)
            unknowns = self._unknowns(poly)
            if len(unknowns) < 2 or not all(a in self.sizes for a in unknowns):
                continue
            for signed, signs in product((poly, -poly), ((1,), (1, -1))):
                if self._as_digits(signed, unknowns, signs):
                    del pending[k]
                    return True
            if self._greedily(poly, unknowns):
                del pending[k]
                return True
        return False

    def _greedily(self, poly: Poly, unknowns: list[str]) -> bool:
        """The same where the weights are numbers: as often as the greatest goes into what is left, then the next."""
        weights = {atom: poly.terms.get((atom,), 0) for atom in unknowns}
        rest = poly - sum((Poly.of(a) * n for a, n in weights.items()), ZERO)
        if not weights.keys().isdisjoint(rest.atoms) or len({n > 0 for n in weights.values()}) > 1:
            return False
        if 0 in weights.values():
            return False
        number = -rest if min(weights.values()) > 0 else rest
        for atom in sorted(unknowns, key=lambda a: -abs(weights[a])):
            times = abs(weights[atom])
            self.values[atom] = quotient(self.reader, number, Poly.of(times), self.path)
            number = self.space.equations.reduce(number - self.values[atom] * times)
        self._need(is_zero(number))
        return True

    def _as_digits(self, poly: Poly, unknowns: list[str], signs: tuple[int, ...]) -> bool:
        """Whether the indices are digits of a number, each counted up, or down where the signs have -1."""
        weights: dict[str, Poly] = {}
        rest = poly
        for atom in unknowns:
            weights[atom], _ = poly.split(atom)
            rest = rest - weights[atom] * Poly.of(atom)
        if any(not weights.keys().isdisjoint(p.atoms) for p in (rest, *weights.values())):
            return False
        chain: list[tuple[str, int]] = []
        expected = ONE
        while len(chain) < len(unknowns):
            left = [a for a in unknowns if a not in [c for c, _ in chain]]
            found = [(a, s) for a in left for s in signs if weights[a] * s == expected]
            if not found:
                return False
            chain.insert(0, found[0])
            expected = self.space.equations.reduce(expected * self.sizes[found[0][0]])
        number = -rest
        for atom, sign in chain:
            if sign < 0:
                number = number - weights[atom] * (self.sizes[atom] - 1)
        number = self.space.equations.reduce(number)
        sizes = tuple(self.sizes[a] for a, _ in chain)
        if any(not self.sizes.keys().isdisjoint(s.atoms) for s in sizes):
            return False
        ends = (at_least_zero(number), less(number, total(sizes)))
        needs = [f for f in map(self.space.reduced, ends) if f != TRUE]
        if FALSE in needs:
            return False
        self.needs += needs
        digits = self.space.digits(number, sizes, self.path.union(needs))
        for (atom, sign), digit in zip(chain, digits, strict=True):
            self.values[atom] = digit if sign > 0 else self.sizes[atom] - 1 - digit
        return True
