"""
Bijections of index sets
========================

Two pieces have elements in common where a map φ takes the indices of the one to indices of the other, ψ takes them
back, and the elements are equal. A candidate for φ and ψ is only a guess; five things are proved of it, without
quantifiers, for every index j of the one piece and k of the other: φ(j) lies in the other piece, ψ(k) in the first,
ψ(φ(j)) = j, φ(ψ(k)) = k, and the elements at j and φ(j) are equal. What φ does not map into the other piece is left
over, and accounted for elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from soundline.verify.smt.elements.denotation import Denotation
from soundline.verify.smt.elements.elements import Element
from soundline.verify.smt.elements.indexing import Path
from soundline.verify.smt.elements.substitution import Replacement
from soundline.verify.smt.integers.formulas import (
    FALSE,
    TRUE,
    Formula,
    at_least_zero,
    at_most,
    conjunction,
    conjuncts,
    equal,
    less,
)
from soundline.verify.smt.integers.polynomials import ZERO, Poly
from soundline.verify.smt.reductions.guesses import Map, Pairing, Solver, pairings
from soundline.verify.smt.reductions.pieces import Piece

Proves = Callable[[Element, Element, Path], bool]
"""Whether two elements are shown to be equal along a path."""


@dataclass(frozen=True)
class Image:
    """Where a map takes a piece into another with equal elements."""

    map: Map
    conditions: tuple[Formula, ...]
    """What must hold of the indices beside the piece's own guard."""
    path: Path
    """All that holds there."""
    change: Replacement


class Bijections:
    """Finds and proves maps between pieces."""

    def __init__(self, reader: Denotation, proves: Proves) -> None:
        self.reader = reader
        self.space = reader.space
        self.proves = proves

    def common(self, a: Piece, b: Piece, path: Path, *, partly: bool = False) -> tuple[Image, Image] | None:
        """Where two pieces have elements in common, as seen from each; None where nothing is found.

        With `partly`, what the one map does not take back to where the other came from is left over as well.
        """
        for pairs, equations in pairings(self.reader, a, b):
            there = self.solved(equations, a, b, path)
            back = self.solved(equations, b, a, path)
            if there is None or back is None:
                continue
            first = self.image(a, b, there, pairs, path, back, partly=partly)
            if first is None:
                continue
            second = self.image(b, a, back, (), path, there, partly=partly)
            if second is not None:
                return first, second
        return None

    def covering(self, a: Piece, b: Piece, path: Path, *, of_right: bool) -> Image | None:
        """Where the elements of one piece are among those of another; None where nothing is found.

        Only an element of the left side may be invalid; `of_right` says that `a` is one of the right side.
        """
        for pairs, equations in pairings(self.reader, a, b, some=True):
            there = self.solved(equations, a, b, path, least=True)
            found = self.image(a, b, there, pairs, path, of_right=of_right) if there is not None else None
            if found is not None:
                return found
        return None

    def solved(
        self, equations: list[Poly], a: Piece, b: Piece, path: Path, *, least: bool = False
    ) -> Map | None:
        """A candidate map from the indices of `a` to those of `b`; with `least`, a free index is as small as can be."""
        solver = Solver(self.reader, b.bound, path | a.region)
        found = solver.solve(equations)
        values = dict(found.values)
        taken = {a for v in values.values() for a in v.atoms}
        free = [(n, s) for n, s in a.bound if n not in taken]
        for name, size in b.bound:
            if name in values:
                continue
            twin = next((t for t in free if self._as_large(t[1], size)), None)
            if twin is not None:
                free.remove(twin)
                values[name] = Poly.of(twin[0])
            elif least:
                values[name] = ZERO
            else:
                return None
        return Map(values, found.needs)

    def _as_large(self, a: Poly, b: Poly) -> bool:
        return self.space.equations.reduce(a) == self.space.equations.reduce(b)

    def image(
        self,
        a: Piece,
        b: Piece,
        there: Map,
        pairing: Pairing,
        path: Path,
        back: Map | None = None,
        *,
        of_right: bool = False,
        partly: bool = False,
    ) -> Image | None:
        """Where the map takes `a` into `b`, with equal elements; and, where a map back is given, back to itself."""
        start = path | a.region
        change = Replacement(self.reader, there.values)
        members = self._members(b, there, change, start)
        if members is None:
            return None
        conditions = self._open(members, start)
        inside = start.union(members)
        if back is not None:
            returns = self._returning(a, back, change, inside)
            if returns and not partly:
                return None
            conditions, inside = (*conditions, *returns), inside.union(returns)
        if FALSE in conditions or (conditions and self.space.shows(inside, FALSE)):
            return None
        found = Image(there, conditions, inside, change)
        pairs = ((a.factors[k], change.element(b.factors[n], inside)) for k, n in pairing)
        if of_right:
            pairs = ((y, x) for x, y in pairs)
        return found if all(self.proves(x, y, inside) for x, y in pairs) else None

    def _members(self, b: Piece, there: Map, change: Replacement, path: Path) -> list[Formula] | None:
        """That the image of an index lies in a piece; None where it never does."""
        found: list[Formula] = []
        inside = path

        def add(condition: Formula) -> None:
            nonlocal inside
            for part in conjuncts(self.space.reduced(condition)):
                if part != TRUE:
                    found.append(part)
                    inside |= {part}

        for need in there.needs:
            add(need)
        for name, size in b.bound:
            value = change.poly(Poly.of(name), inside)
            add(at_least_zero(value))
            add(less(value, change.poly(size, inside)))
        for condition in sorted(b.guard, key=lambda f: f.key):
            add(change.condition(condition, inside))
        return None if FALSE in found else found

    def _open(self, members: list[Formula], path: Path) -> tuple[Formula, ...]:
        """Which conditions do not follow from the path."""
        left = [m for m in dict.fromkeys(members) if not self.space.plainly(path, m)]
        found: list[Formula] = []
        inside = path | (set(members) - set(left))
        while left and not self.space.shows(inside, conjunction(left)):
            first = left.pop(0)
            if not self.space.shows_with_equations(inside, first):
                found.append(first)
            inside |= {first}
        return tuple(found)

    def _returning(self, a: Piece, back: Map, change: Replacement, path: Path) -> list[Formula]:
        """What has to hold for an index to be mapped back to itself, beside what is known.

        An equation is two comparisons here, so that what is left over lies below and above, where it can be counted.
        """
        wanted = [change.condition(need, path) for need in back.needs]
        for name, _ in a.bound:
            value, own = change.poly(back.values[name], path), Poly.of(name)
            if not self.space.plainly(path, equal(value, own)):
                wanted += [at_most(value, own), at_most(own, value)]
        found: list[Formula] = []
        for condition in map(self.space.reduced, wanted):
            inside = path.union(found)
            if not self.space.plainly(inside, condition) and not self.space.shows_with_equations(
                inside, condition
            ):
                found.append(condition)
        return found
