"""
Comparing reductions
====================

Two elements with reductions in them may be equal though their terms differ: where they reduce the same elements in
another order or in another arrangement, where a factor stands inside a reduction or outside, where what is neutral was
added. Which of this is so depends on what the reduction's op is at the dtype: a ring's sum, a commutative monoid's
product, a maximum, or on floats a reduction whose order matters.
"""

from __future__ import annotations

from collections.abc import Iterator

from soundline.spec.arrays.arrays import Invalid
from soundline.spec.dtypes import DType, bool_, index
from soundline.spec.evaluation.values import identity
from soundline.spec.ops.node import Op
from soundline.verify.smt.elements.denotation import Denotation
from soundline.verify.smt.elements.elements import (
    Apply,
    Choice,
    Element,
    Number,
    Reduction,
    Truth,
    Unsupported,
    choice,
    conditions,
    constant,
    known,
)
from soundline.verify.smt.elements.indexing import Path
from soundline.verify.smt.integers.formulas import Formula, at_most, conjunction
from soundline.verify.smt.integers.polynomials import Poly
from soundline.verify.smt.reductions.bijections import Proves
from soundline.verify.smt.reductions.covers import Covers
from soundline.verify.smt.reductions.homomorphisms import Homomorphisms
from soundline.verify.smt.reductions.inductions import Inductions
from soundline.verify.smt.reductions.orders import Orders, are_apart, is_filled
from soundline.verify.smt.reductions.pieces import opened
from soundline.verify.smt.reductions.sums import Products, Sums, Terms, is_ring, order_is_free
from soundline.verify.verdicts.layers import OF_SIDES


class Reductions:
    """Compares elements that contain reductions."""

    def __init__(self, reader: Denotation, proves: Proves) -> None:
        self.reader = reader
        self.proves = proves

    def same(self, left: Element, right: Element, path: Path, outer: Proves | None = None) -> bool:
        """Whether two elements are shown to be equal by what their reductions are.

        `outer` shows that what the sides themselves reduce is equal, where the elements are those of the sides.
        """
        found = [reduction for side in (left, right) for reduction in reductions_of(self.reader, side)]
        size = sum(1 + _reductions_inside(self.reader, reduction) for reduction in found)
        before = self.reader.reductions_compared
        if not found or (
            before is not None and size >= before
        ):  # nothing was gained by the comparison around
            return False
        question = (left.key, right.key, path, outer is not None)
        if question not in self.reader.compared:
            self.reader.reductions_compared = size
            try:
                ops = {reduction.op for reduction in found}
                self.reader.compared[question] = self._same(left, right, path, ops) or (
                    outer is not None and self._same_outside(left, right, path, ops, outer)
                )
            finally:
                self.reader.reductions_compared = before
        return self.reader.compared[question]

    def _same(self, left: Element, right: Element, path: Path, ops: set[Op]) -> bool:
        if any(self._by(way, left, right, path) for way in self._ways(left.dtype, ops)):
            return True
        return self._inside(left, right, ops, path) or self._by_induction(left, right, path)

    def _by_induction(self, left: Element, right: Element, path: Path) -> bool:
        """Whether the elements are equal after any number of places, where a choice is made by what was reduced."""
        chosen = [c for side in (left, right) for c in conditions(side)]
        chosen += [side.formula for side in (left, right) if isinstance(side, Truth)]
        if not any(any(_reductions_of_condition(self.reader, c)) for c in chosen):
            return False
        try:
            return Inductions(self.reader, self.proves).same(left, right, path)
        except Unsupported:
            return False

    def _same_outside(self, left: Element, right: Element, path: Path, ops: set[Op], proves: Proves) -> bool:
        """The same up to what a licence ignores of the sides, which a reduction of floats passes on."""
        if not left.dtype.is_float or self.reader.licences.isdisjoint(OF_SIDES):
            return False
        ways: list[Sums | Covers | Orders] = [Covers(self.reader, proves)] if Op.Max in ops else []
        signed = "no_signed_zero" not in self.reader.licences
        if order_is_free(self.reader, left.dtype):
            ways += [Terms(self.reader, proves, signed=signed)] if Op.Add in ops else []
            ways += [Products(self.reader, proves)] if Op.Mul in ops else []
        ways += [Orders(self.reader, op, proves, signed=signed) for op in (Op.Add, Op.Mul) if op in ops]
        return any(self._by(way, left, right, path) for way in ways)

    def _inside(self, left: Element, right: Element, ops: set[Op], path: Path) -> bool:
        """Whether the elements are equal once what is done to reductions is done to their elements."""
        into = Homomorphisms(self.reader, self.proves)
        lefts, rights = ([*into.moved(side, ops, path), side] for side in (left, right))
        pairs = ((a, b) for a in lefts for b in rights if a is not left or b is not right)
        return any(
            self._by(way, a, b, path)
            for a, b in pairs
            for way in self._ways(left.dtype, {f.op for s in (a, b) for f in reductions_of(self.reader, s)})
        )

    def _ways(self, dtype: DType, ops: set[Op]) -> Iterator[Sums | Covers | Orders]:
        if dtype is bool_:
            yield Covers(self.reader, self.proves)
            return
        free = order_is_free(self.reader, dtype)
        if Op.Add in ops and is_ring(dtype):
            yield Sums(self.reader, self.proves)
        if Op.Add in ops and free:
            yield Terms(self.reader, self.proves)
        if Op.Mul in ops and (free or not dtype.is_float):
            yield Products(self.reader, self.proves)
        if Op.Max in ops:
            yield Covers(self.reader, self.proves)
        for op in (Op.Add, Op.Mul):
            if op in ops and dtype.is_float:
                yield Orders(self.reader, op, self.proves)

    def _by(self, way: Sums | Covers | Orders, left: Element, right: Element, path: Path) -> bool:
        try:
            found = way.same(left, right, path)
        except Unsupported:
            return False
        self.reader.by_law |= found and not isinstance(way, Orders)
        return found

    def simpler(self, element: Element, path: Path) -> Element:
        """A reduction of what is always the same, or of at most one float, as a choice; any other element as it is."""
        again = self._repeated(element) or self._as_number(element, path)
        if again is not None:
            return again
        if not isinstance(element, Reduction) or element.op is Op.Max or not element.dtype.is_float:
            return element
        orders = Orders(self.reader, element.op, self.proves)
        return (
            orders.single(element, path)
            or orders.single_among_zeros(element, path)
            or orders.unrolled(element, path)
            or element
        )

    def _as_number(self, element: Element, path: Path) -> Element | None:
        """The maximum of some indices cast to a dtype in which all of them fit: their maximum, cast; else None."""
        if not isinstance(element, Reduction) or element.op is not Op.Max or not element.dtype.is_int:
            return None
        body, space = element.body, self.reader.space
        if not isinstance(body, Apply) or body.op is not Op.Cast or body.operands[0].dtype is not index:
            return None
        if not are_apart(space, element.bound) or not space.shows(path, is_filled(element.bound)):
            return None
        _, each, inside = opened(self.reader, element, path)
        if not isinstance(each, Apply):
            return None
        number, (least, most) = self.reader.number(each.operands[0]), (element.dtype.min, element.dtype.max)
        ends = at_most(Poly.of(int(least)), number), at_most(number, Poly.of(int(most)))
        if not space.shows(inside, conjunction(ends)):
            return None
        self.reader.by_law = True
        greatest = self.reader.number(Reduction(index, Op.Max, element.bound, body.operands[0]))
        return self.reader.operation(Op.Cast, element.dtype, (Number(index, greatest),))

    def _repeated(self, element: Element) -> Element | None:
        """A reduction of one known element over and over that joins with itself to itself; None for any other.

        The product of any zeros is zero, if there are any; the sum of any number of +0.0, none included, is +0.0.
        """
        if not isinstance(element, Reduction) or known(element.body) is None:
            return None
        nothing = identity(element.op, element.dtype)
        if isinstance(nothing, Invalid) or not are_apart(self.reader.space, element.bound):
            return None
        if self.reader.operation(element.op, element.dtype, (element.body,) * 2) != element.body:
            return None
        self.reader.by_law = True
        return choice(is_filled(element.bound), element.body, constant(element.dtype, nothing))


def reductions_of(reader: Denotation, element: Element) -> Iterator[Reduction]:
    """The reductions in an element, not those inside reductions."""
    match element:
        case Reduction():
            yield element
        case Apply():
            for operand in element.operands:
                yield from reductions_of(reader, operand)
        case Choice():
            yield from _reductions_of_condition(reader, element.condition)
            yield from reductions_of(reader, element.then)
            yield from reductions_of(reader, element.otherwise)
        case Truth():
            yield from _reductions_of_condition(reader, element.formula)
        case Number():
            for atom in sorted(element.poly.atoms):
                if atom in reader.behind:
                    yield from reductions_of(reader, reader.behind[atom])


def _reductions_inside(reader: Denotation, reduction: Reduction) -> int:
    """How many reductions the body of a reduction contains."""
    return sum(1 + _reductions_inside(reader, inner) for inner in reductions_of(reader, reduction.body))


def _reductions_of_condition(reader: Denotation, condition: Formula) -> Iterator[Reduction]:
    if condition.name in reader.bools.elements:
        yield from reductions_of(reader, reader.bools.elements[condition.name])
    for part in condition.parts:
        yield from _reductions_of_condition(reader, part)
