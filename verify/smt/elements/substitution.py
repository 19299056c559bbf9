"""
Replacing indices
=================

To move an element of a reduction to another index, the index is replaced in all that was made of it: in positions, in
quotients and digits, which are made anew, in conditions, and in the elements behind them.

The bound indices of a reduction are named by its depth, and an element is only ever moved to indices that are free,
whose names are others; so nothing is captured.
"""

from __future__ import annotations

from collections.abc import Mapping

from soundline.spec.dtypes import index
from soundline.verify.smt.elements.denotation import Denotation
from soundline.verify.smt.elements.elements import (
    Apply,
    Choice,
    Element,
    Number,
    Read,
    Reduction,
    Truth,
    choice,
)
from soundline.verify.smt.elements.indexing import Path
from soundline.verify.smt.integers.formulas import (
    TRUE,
    Formula,
    at_least_zero,
    conjunction,
    disjunction,
    less,
    mapped,
    negation,
)
from soundline.verify.smt.integers.polynomials import ONE, ZERO, Poly


class Replacement:
    """Atoms replaced by polynomials, in whatever contains them."""

    def __init__(self, reader: Denotation, values: Mapping[str, Poly]) -> None:
        self.reader = reader
        self.values = dict(values)
        self._names = frozenset(values)
        self._atoms: dict[tuple[str, Path], Poly] = {}

    def poly(self, old: Poly, path: Path) -> Poly:
        """A polynomial with the atoms replaced."""
        changed = {a: self._atom(a, path) for a in sorted(old.atoms) if self._touches(a)}
        if not changed:
            return old
        return self.reader.space.equations.reduce(old.substituted(changed))

    def _touches(self, atom: str) -> bool:
        return not self._names.isdisjoint(self.reader.space.base(atom))

    def _atom(self, atom: str, path: Path) -> Poly:
        if atom in self.values:
            return self.values[atom]
        place = (atom, path)
        if place not in self._atoms:
            self._atoms[place] = self.reader.space.origins[atom].again(self, path)
        return self._atoms[place]

    def condition(self, old: Formula, path: Path) -> Formula:
        """A condition with the atoms replaced."""
        if old.name:
            behind = self.reader.bools.elements[old.name]
            moved = self.element(behind, path)
            if moved is behind:
                return old
            found = self.reader.bools.formula(moved)
            return found if old.kind == "opaque" else negation(found)
        if old.kind in ("and", "or"):
            parts = [self.condition(p, path) for p in old.parts]
            return conjunction(parts) if old.kind == "and" else disjunction(parts)
        return mapped(old, lambda poly: self.poly(poly, path))

    def element(self, old: Element, path: Path) -> Element:
        """An element with the atoms replaced."""
        match old:
            case Read():
                at = tuple(self.poly(p, path) for p in old.at)
                return old if at == old.at else Read(old.dtype, old.name, at, old.shape)
            case Number():
                poly = self.poly(old.poly, path)
                return old if poly is old.poly else Number(index, poly)
            case Truth():
                formula = self.condition(old.formula, path)
                return old if formula == old.formula else self.reader.bools.element(formula)
            case Apply():
                operands = tuple(self.element(o, path) for o in old.operands)
                same = all(a is b for a, b in zip(operands, old.operands, strict=True))
                return old if same else self.reader.operation(old.op, old.dtype, operands)
            case Choice():
                return self._choice(old, path)
            case Reduction():
                return self._reduction(old, path)
        return old

    def _choice(self, old: Choice, path: Path) -> Element:
        condition = self.condition(old.condition, path)
        left, within = self.reader.guarded(condition, path)
        then = self.element(old.then, within)
        if left == TRUE:
            return then
        otherwise = self.element(old.otherwise, path | {negation(left)})
        if then is old.then and otherwise is old.otherwise and left == old.condition:
            return old
        return choice(left, then, otherwise)

    def _reduction(self, old: Reduction, path: Path) -> Element:
        bound = tuple((atom, self.poly(size, path)) for atom, size in old.bound)
        body = self.element(old.body, path | within(bound))
        if body is old.body and bound == old.bound:
            return old
        if any(size in (ZERO, ONE) for _, size in bound):
            indices, sizes = tuple(Poly.of(atom) for atom, _ in bound), tuple(size for _, size in bound)
            single = {atom: ZERO for atom, size in bound if size == ONE}
            body = Replacement(self.reader, single).element(body, path) if single else body
            left = tuple(ZERO if size == ONE else i for i, size in zip(indices, sizes, strict=True))
            return self.reader.reduced(old.op, old.dtype, left, sizes, body, path)
        return Reduction(old.dtype, old.op, bound, body)


def within(bound: tuple[tuple[str, Poly], ...]) -> Path:
    """That each index lies in its range."""
    found = (f for atom, size in bound for f in (at_least_zero(Poly.of(atom)), less(Poly.of(atom), size)))
    return frozenset(f for f in found if f != TRUE)
