"""
Reductions by induction
=======================

Reductions over the same indices run through the same places, one after the other. So what is said of their values may
be shown of every beginning of the run: of the first place alone; and of one place more, where it holds of what was
reduced before, whatever that was. That is how rules are proved whose condition is itself a reduction: *if the sum of
these is zero, the sum of those is …*, where the condition tells something of every element that is reduced.

What was reduced before stands for itself: an unknown of the dtype. That it met what is to be shown is made use of in
the simplest way: where one side is a reduction, its unknown is what the other side says that it was.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from soundline.spec.arrays.arrays import Invalid
from soundline.spec.dtypes import bool_, index
from soundline.spec.evaluation.values import identity
from soundline.verify.smt.elements.denotation import Denotation
from soundline.verify.smt.elements.elements import (
    Apply,
    Choice,
    Constant,
    Element,
    Number,
    Read,
    Reduction,
    Truth,
    Unsupported,
    choice,
    constant,
    may_be_invalid,
)
from soundline.verify.smt.elements.indexing import Path
from soundline.verify.smt.elements.substitution import Replacement
from soundline.verify.smt.integers.formulas import Formula, conjunction, conjuncts, disjunction, negation
from soundline.verify.smt.integers.polynomials import ZERO, Poly
from soundline.verify.smt.reductions.bijections import Proves
from soundline.verify.smt.reductions.orders import are_apart, is_filled
from soundline.verify.smt.reductions.pieces import Bound, opened


@dataclass(frozen=True)
class SideBySide:
    """Reductions that run side by side: what each takes at one place, and where these places are."""

    bound: Bound
    bodies: Mapping[Reduction, Element]
    inside: Path


class Inductions:
    """Compares elements whose reductions run side by side."""

    def __init__(self, reader: Denotation, proves: Proves) -> None:
        self.reader = reader
        self.proves = proves

    def same(self, left: Element, right: Element, path: Path) -> bool:
        """Whether two elements are shown to be equal after any number of elements."""
        reductions = [*dict.fromkeys((*self._reductions(left), *self._reductions(right)))]
        run = self._run(reductions, path)
        if run is None:
            return False
        shown = self._of_none(left, right, run, path) and self._of_one(left, right, run, path)
        return shown and self._of_one_more(left, right, run)

    # taking apart -----------------------------------------------------------------------------------------------

    def _reductions(self, element: Element) -> list[Reduction]:
        """The reductions in an element and in its conditions; not those inside reductions."""
        match element:
            case Reduction():
                return [element]
            case Apply():
                return [f for o in element.operands for f in self._reductions(o)]
            case Choice():
                found = self._reductions_of_condition(element.condition)
                return [*found, *self._reductions(element.then), *self._reductions(element.otherwise)]
            case Truth():
                return self._reductions_of_condition(element.formula)
            case Number():
                behind = (self.reader.behind[a] for a in element.poly.atoms if a in self.reader.behind)
                if any(self._reductions(b) for b in behind):
                    raise Unsupported("an index that is reduced has no value of its own here")
        return []

    def _reductions_of_condition(self, condition: Formula) -> list[Reduction]:
        own = self._reductions(self.reader.bools.elements[condition.name]) if condition.name else []
        for poly in condition.polys:
            own += self._reductions(Number(index, poly))
        return [*own, *(f for part in condition.parts for f in self._reductions_of_condition(part))]

    def _run(self, reductions: list[Reduction], path: Path) -> SideBySide | None:
        """The reductions side by side; None where they run over different indices, or meet what may be invalid."""
        if len(reductions) < 2 or any(f.dtype is index or may_be_invalid(f) for f in reductions):
            return None
        first, *others = reductions
        bound, body, inside = opened(self.reader, first, path)
        if not are_apart(self.reader.space, first.bound):
            return None
        bodies = {first: body}
        for reduction in others:
            if [size for _, size in reduction.bound] != [size for _, size in first.bound]:
                return None
            names = {old: Poly.of(new) for (old, _), (new, _) in zip(reduction.bound, bound, strict=True)}
            bodies[reduction] = Replacement(self.reader, names).element(reduction.body, inside)
        return SideBySide(bound, bodies, inside)

    # showing ----------------------------------------------------------------------------------------------------

    def _of_none(self, left: Element, right: Element, run: SideBySide, path: Path) -> bool:
        """Of no element, where there may be none."""
        filled = is_filled(run.bound)
        if self.reader.space.shows(path, filled):
            return True
        empty: dict[Reduction, Element] = {}
        for reduction in run.bodies:
            nothing = identity(reduction.op, reduction.dtype)
            if isinstance(nothing, Invalid):
                return False
            empty[reduction] = constant(reduction.dtype, nothing)
        self.reader.by_law = True
        empty_path = path.union(conjuncts(negation(filled)))
        return self._equal(left, right, empty, empty_path)

    def _of_one(self, left: Element, right: Element, run: SideBySide, path: Path) -> bool:
        """Of the first place alone, at which every index is 0."""
        first = Replacement(self.reader, {name: ZERO for name, _ in run.bound})
        values = {reduction: first.element(body, run.inside) for reduction, body in run.bodies.items()}
        return self._equal(left, right, values, path | {is_filled(run.bound)})

    def _of_one_more(self, left: Element, right: Element, run: SideBySide) -> bool:
        """Of one element more than it holds of."""
        before: dict[Reduction, Element] = {reduction: self._unknown(reduction) for reduction in run.bodies}
        for side, other in ((left, right), (right, left)):
            if isinstance(side, Reduction):
                told = self._with(other, before, run.inside)
                return self._follows(left, right, run, before, side, told, run.inside)
        return self._step(left, right, run, before, run.inside)

    def _unknown(self, reduction: Reduction) -> Element:
        """A value that nothing else has a name for: a proof inside a proof has unknowns of its own."""
        self.reader.opened += 1
        return Read(reduction.dtype, f"~so far {self.reader.opened}", (), ())

    def _follows(
        self,
        left: Element,
        right: Element,
        run: SideBySide,
        before: Mapping[Reduction, Element],
        side: Reduction,
        told: Element,
        path: Path,
    ) -> bool:
        """The same where a reduction was what the other side says of it, in each case of that."""
        if isinstance(told, Truth):
            told = Choice(bool_, told.formula, Constant(bool_, True), Constant(bool_, False))
        if isinstance(told, Choice):
            ways = ((told.condition, told.then), (negation(told.condition), told.otherwise))
            return all(
                self._follows(left, right, run, before, side, way, path.union(conjuncts(case)))
                for case, way in ways
            )
        known = self._mentions(told, before[side])
        return self._step(left, right, run, before if known else {**before, side: told}, path)

    def _mentions(self, element: Element, unknown: Element) -> bool:
        """Whether an element is made of an unknown, or may be."""
        match element:
            case Apply():
                return any(self._mentions(o, unknown) for o in element.operands)
            case Choice() | Truth():
                return True
        return element == unknown

    def _step(
        self, left: Element, right: Element, run: SideBySide, before: Mapping[Reduction, Element], path: Path
    ) -> bool:
        after = {
            reduction: self._joined(reduction, before[reduction], body)
            for reduction, body in run.bodies.items()
        }
        return self._equal(left, right, after, path)

    def _joined(self, reduction: Reduction, before: Element, body: Element) -> Element:
        if reduction.dtype is bool_:
            return self.reader.bools.element(
                self.reader.bools.formula(Apply(bool_, reduction.op, (before, body)))
            )
        return self.reader.operation(reduction.op, reduction.dtype, (before, body))

    def _equal(self, left: Element, right: Element, values: Mapping[Reduction, Element], path: Path) -> bool:
        return self.proves(self._with(left, values, path), self._with(right, values, path), path)

    # replacing --------------------------------------------------------------------------------------------------

    def _with(self, element: Element, values: Mapping[Reduction, Element], path: Path) -> Element:
        """An element with values for its reductions."""
        match element:
            case Reduction():
                return values[element]
            case Apply():
                operands = tuple(self._with(o, values, path) for o in element.operands)
                return self.reader.operation(element.op, element.dtype, operands)
            case Choice():
                condition = self._condition(element.condition, values, path)
                ways = (self._with(way, values, path) for way in (element.then, element.otherwise))
                return choice(condition, *ways)
            case Truth():
                return self.reader.bools.element(self._condition(element.formula, values, path))
        return element

    def _condition(self, condition: Formula, values: Mapping[Reduction, Element], path: Path) -> Formula:
        if condition.name:
            element = self._with(self.reader.bools.elements[condition.name], values, path)
            found = self.reader.bools.formula(self._apart(element))
            return found if condition.kind == "opaque" else negation(found)
        if condition.kind in ("and", "or"):
            parts = [self._condition(p, values, path) for p in condition.parts]
            return conjunction(parts) if condition.kind == "and" else disjunction(parts)
        return condition

    def _apart(self, element: Element) -> Element:
        """An element with its choices outside of its ops, so that each way of it is a scalar."""
        if not isinstance(element, Apply):
            return element
        operands = tuple(map(self._apart, element.operands))
        chosen = next((k for k, o in enumerate(operands) if isinstance(o, Choice)), None)
        if chosen is None:
            return self.reader.operation(element.op, element.dtype, operands)
        way = operands[chosen]
        assert isinstance(way, Choice)
        then, otherwise = (
            self._apart(replace(element, operands=(*operands[:chosen], one, *operands[chosen + 1 :])))
            for one in (way.then, way.otherwise)
        )
        return choice(way.condition, then, otherwise)
