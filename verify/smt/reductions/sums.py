"""
Sums of pieces
==============

Whether two elements are equal because they have the same elements reduced, each as often. The pieces of the one side
count positively, those of the other negatively; where two have elements in common, they are joined, and when nothing
is left the sides are equal.

For Add on a ring (the integers, or the integers of a dtype, which wrap) an element is a sum of products, a constant
factor goes into a reduction, the product of two reductions is a reduction of products, and a condition counts as 1 or
0. For Mul, an element is a product, and what is counted is how often each factor occurs. For Add on floats whose order
is free by the licence ``reassociate``, what is counted is how often each term occurs: nothing is distributed, and
nothing cancels.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import ClassVar

from soundline.spec.dtypes import DType, bool_, index
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
    choice,
    may_be_invalid,
    operation,
)
from soundline.verify.smt.elements.indexing import Path
from soundline.verify.smt.integers.formulas import (
    FALSE,
    TRUE,
    Formula,
    conjunction,
    conjuncts,
    disjunction,
    is_zero,
    less,
    negation,
)
from soundline.verify.smt.integers.polynomials import ZERO, Poly
from soundline.verify.smt.reductions.bijections import Bijections, Image, Proves
from soundline.verify.smt.reductions.pieces import MOST_PIECES, Piece, Pieces, opened

MOST_STEPS = 200
"""How often pieces are joined before a comparison is given up."""


def order_is_free(reader: Denotation, dtype: DType) -> bool:
    """Whether floats may be reduced in any order here (U-53)."""
    return dtype.is_float and "reassociate" in reader.licences


def is_ring(dtype: DType) -> bool:
    """Whether Add and Mul on a dtype are those of a ring."""
    return dtype is index or dtype.is_int


class Sums:
    """Compares elements of a ring."""

    OP = Op.Add

    def __init__(self, reader: Denotation, proves: Proves) -> None:
        self.reader = reader
        self.space = reader.space
        self.pieces = Pieces(reader, counting=True, signed=self.OP is Op.Add)
        self.maps = Bijections(reader, proves)

    # taking apart -----------------------------------------------------------------------------------------------

    def of(self, element: Element, path: Path) -> list[Piece]:
        """The pieces of an element."""
        if isinstance(element, Reduction) and element.op is self.OP and element.dtype is not bool_:
            bound, body, inside = opened(self.reader, element, path)
            return self._limited(replace(p, bound=bound + p.bound) for p in self.of(body, inside))
        if isinstance(element, Choice):
            return self._limited(self._choice(element, path))
        if isinstance(element, Number):
            return self._limited(self._number(element.poly, path))
        if isinstance(element, Constant) and (value := self._constant(element)) is not None:
            return [Piece(scale=value)] if value else []
        if isinstance(element, Apply):
            law = self.LAWS.get(element.op)
            found = law(self, element, path) if law is not None else None
            if found is not None:
                return self._limited(found)
        return [Piece(factors=(element,))]

    def _limited(self, pieces: object) -> list[Piece]:
        found: list[Piece] = []
        for piece in pieces:  # type: ignore[attr-defined]
            found.append(piece)
            if len(found) > MOST_PIECES:
                raise Unsupported("a reduction falls into too many pieces")
        return found

    def _constant(self, element: Constant) -> Fraction | None:
        if element.dtype is bool_ or not math.isfinite(element.value):
            return None
        return Fraction(element.value)

    def _choice(self, element: Choice, path: Path) -> Iterator[Piece]:
        if isinstance(element.then, Bottom) or isinstance(element.otherwise, Bottom):
            yield Piece(factors=(element,))
            return
        condition = self.space.reduced(element.condition)
        for case, way in ((condition, element.then), (negation(condition), element.otherwise)):
            if case == FALSE or self.space.plainly(path, negation(case)):
                continue
            inside = path | {case} if case != TRUE else path
            for piece in self.of(way, inside):
                yield from (piece.times(i) for i in self.indicator(case, path))

    def indicator(self, condition: Formula, path: Path) -> list[Piece]:
        """A condition as 1 where it holds, else 0."""
        if condition == FALSE:
            return []
        if condition == TRUE:
            return [Piece()]
        if not speaks_of_elements(condition):
            return [Piece(guard=frozenset(conjuncts(condition)))]
        if condition.kind == "and":
            found = [Piece()]
            for part in condition.parts:
                found = [p.times(q) for p in found for q in self.indicator(part, path)]
            return found
        if condition.kind == "or":
            first, *rest = condition.parts
            others = self.indicator(disjunction(rest), path)
            neither = self.indicator(negation(first), path)
            return [*self.indicator(first, path), *(p.times(q) for p in neither for q in others)]
        plain = negation(condition) if condition.kind == "not opaque" else condition
        held = Piece(factors=(Truth(bool_, plain),))
        return [held] if plain == condition else [Piece(), replace(held, scale=Fraction(-1))]

    def _number(self, poly: Poly, path: Path) -> Iterator[Piece]:
        """The pieces of a polynomial: its atoms may stand for reductions and choices."""
        for monomial, n in poly.terms.items():
            found = [Piece(number=Poly({tuple(a for a in monomial if a not in self.reader.behind): n}))]
            for atom in monomial:
                if atom in self.reader.behind:
                    ways = [self._behind(atom, path) for _ in found]
                    found = [p.times(q) for p, own in zip(found, ways, strict=True) for q in own]
            yield from found

    def _behind(self, atom: str, path: Path) -> list[Piece]:
        """The pieces of the element that an atom stands for."""
        behind = self.reader.behind[atom]
        if isinstance(behind, Reduction | Choice):
            return self.of(behind, path)
        return [Piece(factors=(Number(index, Poly.of(atom)),))]

    def operands(self, element: Apply, path: Path) -> Iterator[Piece]:
        """The pieces of all operands."""
        for operand in element.operands:
            yield from self.of(operand, path)

    def _difference(self, element: Apply, path: Path) -> Iterator[Piece]:
        yield from self.of(element.operands[0], path)
        yield from self._negated(element.operands[1], path)

    def _negated(self, element: Element, path: Path) -> Iterator[Piece]:
        yield from (replace(p, scale=-p.scale) for p in self.of(element, path))

    def _product(self, element: Apply, path: Path) -> Iterator[Piece]:
        a, b = element.operands
        own = self.of(a, path)
        if any(may_be_invalid(other) and not self.of(one, path) for one, other in ((a, b), (b, a))):
            raise Unsupported("zero times an element that may be invalid")
        for piece in own:
            yield from (piece.times(other) for other in self.of(b, path))

    def _product_and_sum(self, element: Apply, path: Path) -> Iterator[Piece]:
        a, b, c = element.operands
        yield from self._product(Apply(element.dtype, Op.Mul, (a, b)), path)
        yield from self.of(c, path)

    def _division(self, element: Apply, path: Path) -> Iterator[Piece]:
        """By a number, or by an element, over the reals."""
        a, b = element.operands
        divisor = self._constant(b) if isinstance(b, Constant) else None
        if divisor == 0:
            yield Piece(factors=(element,))
            return
        own = self.of(a, path)
        if not own and may_be_invalid(b):
            raise Unsupported("zero divided by an element that may be invalid")
        for piece in own:
            if divisor is not None:
                yield replace(piece, scale=piece.scale / divisor)
            else:
                yield piece.times(Piece(factors=(operation(Op.Recip, b.dtype, (b,)),)))

    def _cast(self, element: Apply, path: Path) -> Iterator[Piece] | None:
        """A cast that keeps sums and products: from more bits to fewer, from ``index``, or from bool."""
        (source,) = element.operands
        if source.dtype is bool_:
            condition = self.space.reduced(self.reader.bools.formula(source))
            return iter(self.indicator(condition, path))
        if not self._keeps(source.dtype, element.dtype):
            return None
        found = self.of(source, path)
        return (replace(p, factors=tuple(self._moved(f, element) for f in p.factors)) for p in found)

    def _moved(self, factor: Element, cast: Apply) -> Element:
        if factor.dtype is bool_ and cast.operands[0].dtype is not bool_:
            return factor  # an indicator
        return self.reader.operation(Op.Cast, cast.dtype, (factor,))

    def _keeps(self, source: DType, target: DType) -> bool:
        if target.is_int:
            return source is index or (source.is_int and source.bits >= target.bits)
        return False

    LAWS: ClassVar[dict[Op, Callable[..., Iterator[Piece] | None]]] = {
        Op.Add: operands,
        Op.Sub: _difference,
        Op.Neg: lambda self, e, path: self._negated(e.operands[0], path),
        Op.Mul: _product,
        Op.Mulacc: _product_and_sum,
        Op.Div: _division,
        Op.Cast: _cast,
    }

    # comparing --------------------------------------------------------------------------------------------------

    def same(self, left: Element, right: Element, path: Path) -> bool:
        """Whether two elements are shown to be equal. Where the left one is invalid, nothing is to be shown."""
        dtype = left.dtype
        pending: list[Piece] = []
        for sign, side in ((1, left), (-1, right)):
            for piece in self.of(side, path):
                signed = replace(piece, scale=piece.scale * sign, of_right=sign < 0)
                pending += self.pieces.simplified(signed, path)
        if self._vanish(pending, dtype, path):
            return True
        cases = self.pieces.in_cases(pending, path)
        simple = [q for p in cases for q in self.pieces.simplified(p, path)]
        return cases != pending and self._vanish(simple, dtype, path)

    def _vanish(self, pending: list[Piece], dtype: DType, path: Path) -> bool:
        """Whether the pieces, counted with their signs, come to nothing."""
        for _ in range(MOST_STEPS):
            pending = [p for p in pending if not self._is_nothing(p, dtype, path)]
            if not pending:
                return True
            joined = self._some_joined(pending, dtype, path)
            if joined is None:
                return False
            pending = joined
            if len(pending) > MOST_PIECES:
                return False
        return False

    def _is_nothing(self, piece: Piece, dtype: DType, path: Path) -> bool:
        if self._vanishes(piece.number, piece.scale, dtype) and not self._may_be_invalid(piece):
            return True
        if not piece.guard:
            return any(size == ZERO for _, size in piece.bound)
        inside = path | piece.region
        if self.space.shows(inside, FALSE):
            return True
        varies = piece.number.constant is None and not self._may_be_invalid(piece)
        return varies and self.space.shows(inside, is_zero(piece.number))

    def _vanishes(self, number: Poly, scale: Fraction, dtype: DType) -> bool:
        """Whether a number of times is none; in a dtype that wraps, 2 to its bits is none."""
        if not number.terms:
            return True
        if not dtype.is_int or self.OP is not Op.Add:
            return False
        times = [n * scale for n in number.terms.values()]
        return all(t.denominator == 1 and t.numerator % (1 << dtype.bits) == 0 for t in times)

    def _some_joined(self, pending: Sequence[Piece], dtype: DType, path: Path) -> list[Piece] | None:
        """The pieces with two joined: first two of different signs.

        What may be invalid on the right is joined with what the left side has alone, for the left side is valid.
        """
        pairs = [(a, b) for a in range(len(pending)) for b in range(a + 1, len(pending))]
        apart = [p for p in pairs if (pending[p[0]].scale > 0) != (pending[p[1]].scale > 0)]
        valid = [not self._may_be_invalid(p) for p in pending]
        alike = [(a, b) for a, b in pairs if (a, b) not in apart and valid[a] and valid[b]]
        for partly in (False, True):
            for x, y in (*apart, *alike):
                a, b = (y, x) if pending[x].scale < 0 < pending[y].scale else (x, y)
                if not (valid[a] and valid[b]):
                    if pending[a].of_right and pending[b].of_right:
                        continue
                    a, b = (b, a) if pending[a].of_right else (a, b)
                found = self._joined(pending[a], pending[b], dtype, path, partly=partly)
                if found is not None:
                    return [*found, *(p for k, p in enumerate(pending) if k not in (a, b))]
        return None

    def _joined(self, a: Piece, b: Piece, dtype: DType, path: Path, *, partly: bool) -> list[Piece] | None:
        b = self.pieces.apart(b, a, path)
        images = self.maps.common(a, b, path, partly=partly)
        if images is None:
            return None
        first, second = images
        number = first.change.poly(b.number, first.path)
        both = self._both(a, number, b.scale)
        inside = a.under(first.conditions)
        found = [*without(a, first), *without(b, second)]
        if not self._vanishes(*both, dtype) and not self.space.shows(first.path, is_zero(both[0])):
            either = a.of_right and b.of_right
            found.insert(0, replace(inside, number=both[0], scale=both[1], of_right=either))
        return [q for p in found for q in self.pieces.simplified(p, path)]

    def _may_be_invalid(self, piece: Piece) -> bool:
        """Whether a piece may be ⊥, so that it does not vanish by itself, but only with one of the other side."""
        return any(map(may_be_invalid, piece.factors))

    def _both(self, a: Piece, number: Poly, scale: Fraction) -> tuple[Poly, Fraction]:
        divisor = math.lcm(a.scale.denominator, scale.denominator)
        total = a.number * int(a.scale * divisor) + number * int(scale * divisor)
        return self.space.equations.reduce(total), Fraction(1, divisor)


def without(piece: Piece, image: Image) -> Iterator[Piece]:
    """What is left of a piece: the cases in which one of the conditions fails, the earlier ones holding."""
    for k, condition in enumerate(image.conditions):
        yield piece.under((*image.conditions[:k], negation(condition)))


def speaks_of_elements(condition: Formula) -> bool:
    """Whether a condition is one on elements that are no indices, at least in part."""
    return bool(condition.name) or any(map(speaks_of_elements, condition.parts))


class Products(Sums):
    """Compares elements of a commutative monoid with Mul: how often each factor occurs."""

    OP = Op.Mul

    def _constant(self, element: Constant) -> Fraction | None:
        """The number 1 is no factor; any other number is one like an element."""
        return Fraction(0) if element.dtype is not bool_ and element.value == 1 else None

    def _number(self, poly: Poly, path: Path) -> Iterator[Piece]:
        if len(poly.terms) > 1 or not poly.terms:
            yield Piece(factors=(Number(index, poly),))
            return
        ((monomial, n),) = poly.terms.items()
        if n != 1:
            yield Piece(factors=(Number(index, Poly.of(n)),))
        for atom in monomial:
            known = atom in self.reader.behind
            yield from self._behind(atom, path) if known else [Piece(factors=(Number(index, Poly.of(atom)),))]

    def _choice(self, element: Choice, path: Path) -> Iterator[Piece]:
        if speaks_of_elements(element.condition):
            yield Piece(factors=(element,))
            return
        yield from super()._choice(element, path)

    LAWS: ClassVar = {Op.Mul: Sums.operands}


_JOINING = (Op.Add, Op.Sub, Op.Mulacc)


def _nested(reduction: Reduction) -> list[Poly]:
    """The sizes of a sum of sums of anything but sums; none if the reduction is no such sum."""
    sizes: list[Poly] = []
    element: Element = reduction
    while isinstance(element, Reduction) and element.op is Op.Add:
        sizes += [size for _, size in element.bound]
        element = element.body
    is_ragged = any(atom.startswith("$") for size in sizes for atom in size.atoms)
    return [] if is_ragged or any(True for _ in _sums_in(element)) else sizes


def _sums_in(element: Element) -> Iterator[Reduction]:
    """The sums of floats that are terms of an element, not those inside of them."""
    match element:
        case Reduction() if element.op is Op.Add:
            yield element
        case Apply() if element.op in _JOINING:
            for operand in element.operands:
                yield from _sums_in(operand)
        case Choice():
            yield from _sums_in(element.then)
            yield from _sums_in(element.otherwise)


class Terms(Products):
    """Compares sums of floats in any order: how often each term occurs."""

    OP = Op.Add

    def __init__(self, reader: Denotation, proves: Proves, *, signed: bool = True) -> None:
        super().__init__(reader, proves)
        self.proves = proves
        self.pieces = Pieces(reader, counting=True, signed=False)
        self.signed = signed
        """Whether the sign of a zero matters."""

    def _constant(self, element: Constant) -> Fraction | None:
        """To add -0.0 changes nothing; to add 0.0 changes the sign of a zero. Any other number is a term."""
        if element.value != 0 or (self.signed and math.copysign(1.0, element.value) > 0):
            return None
        return Fraction(0)

    def same(self, left: Element, right: Element, path: Path) -> bool:
        """Whether two sums are shown to be equal. The sum of nothing is 0.0, which is not what adds nothing."""
        inside = self._filled(left, right, path) if self.signed else path
        return inside is not None and super().same(left, right, inside)

    def _filled(self, left: Element, right: Element, path: Path) -> Path | None:
        """Where all that is reduced has elements, if the sides are equal where nothing has; None if that is open."""
        nested = [_nested(reduction) for side in (left, right) for reduction in _sums_in(side)]
        if not all(nested):
            return None
        filled = list(dict.fromkeys(conjunction(less(ZERO, size) for size in sizes) for sizes in nested))
        if all(self.space.shows(path, f) for f in filled):
            return path
        first = filled[0]
        if not all(
            self.space.shows(path | {first}, f) and self.space.shows(path | {f}, first) for f in filled[1:]
        ):
            return None
        a, b = self._without_sums(left), self._without_sums(right)
        return path | {first} if self.proves(a, b, path | {negation(first)}) else None

    def _without_sums(self, element: Element) -> Element:
        """An element with 0.0 in the place of its sums."""
        match element:
            case Reduction() if element.op is Op.Add:
                return Constant(element.dtype, 0.0)
            case Apply() if element.op in _JOINING:
                own = tuple(map(self._without_sums, element.operands))
                return self.reader.operation(element.op, element.dtype, own)
            case Choice():
                ways = map(self._without_sums, (element.then, element.otherwise))
                return choice(element.condition, *ways)
        return element

    def _less(self, element: Apply, path: Path) -> Iterator[Piece]:
        yield from self.of(element.operands[0], path)
        yield from self.of(self.reader.operation(Op.Neg, element.dtype, element.operands[1:]), path)

    def _and_product(self, element: Apply, path: Path) -> Iterator[Piece]:
        a, b, c = element.operands
        yield from self.of(self.reader.operation(Op.Mul, element.dtype, (a, b)), path)
        yield from self.of(c, path)

    LAWS: ClassVar = {Op.Add: Sums.operands, Op.Sub: _less, Op.Mulacc: _and_product}
