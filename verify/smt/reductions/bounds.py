"""
Bounds of sums
==============

Where every summand of a sum of indices lies between two numbers that are the same for all of them, the sum lies between
these numbers times the number of summands. Which numbers these may be is guessed from the summand: the constants in it,
zero, and for a remainder its divisor less one. That they bound it is asked of the solver.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial

from soundline.spec.dtypes import index
from soundline.spec.ops.node import Op
from soundline.verify.smt.elements.denotation import Denotation
from soundline.verify.smt.elements.elements import Bottom, Choice, Element, Number, Reduction
from soundline.verify.smt.elements.indexing import Path
from soundline.verify.smt.integers.formulas import (
    Formula,
    at_least_zero,
    at_most,
    conjunction,
    implies,
    negation,
)
from soundline.verify.smt.integers.polynomials import ONE, ZERO, Poly, product
from soundline.verify.smt.reductions.orders import are_apart
from soundline.verify.smt.reductions.pieces import opened

MOST_GUESSES = 6
"""How many numbers are tried as bounds of a summand."""


def learn_of_sums(reader: Denotation, conditions: Iterable[Formula], path: Path) -> None:
    """Learn the bounds of the sums that stand in conditions."""
    atoms = {a for c in conditions for p in c.polys for atom in p.atoms for a in reader.space.base(atom)}
    for atom in sorted(atoms):
        reduction = reader.behind.get(atom)
        if isinstance(reduction, Reduction) and reduction.op is Op.Add and reduction.dtype is index:
            _learn(reader, Poly.of(atom), reduction, path)


def _learn(reader: Denotation, total: Poly, reduction: Reduction, path: Path) -> None:
    if not are_apart(reader.space, reduction.bound):
        return
    bound, body, inside = opened(reader, reduction, path)
    sizes = [size for _, size in bound]
    count = product(sizes)
    found: list[Formula] = []
    for guess in list(_guesses(reader, body))[:MOST_GUESSES]:
        below = frozenset[str]().union(*(reader.space.base(a) for a in guess.atoms))
        if not below.isdisjoint(name for name, _ in bound):
            continue
        if holds_of(reader, body, inside, partial(at_most, guess)):
            found.append(at_most(guess * count, total))
        if holds_of(reader, body, inside, partial(_at_least, guess)):
            found.append(at_most(total, guess * count))
    if found:
        reader.space.learn(path, implies(conjunction(map(at_least_zero, sizes)), conjunction(found)))


def _at_least(a: Poly, b: Poly) -> Formula:
    return at_most(b, a)


def _guesses(reader: Denotation, body: Element) -> Iterator[Poly]:
    """Numbers that may bound a summand, each once."""
    found: dict[str, Poly] = {ZERO.key: ZERO}
    for poly in _numbers(body):
        if poly.constant is not None:
            found[poly.key] = poly
        for atom in sorted(poly.atoms & reader.quotients.keys()):
            last = reader.quotients[atom][1] - ONE
            found[last.key] = last
    yield from found.values()


def _numbers(body: Element) -> Iterator[Poly]:
    if isinstance(body, Number):
        yield body.poly
    elif isinstance(body, Choice):
        yield from _numbers(body.then)
        yield from _numbers(body.otherwise)


def holds_of(reader: Denotation, body: Element, path: Path, wanted: Callable[[Poly], Formula]) -> bool:
    """Whether a condition holds of a summand, whichever way its choices go."""
    if isinstance(body, Number):
        return reader.space.shows(path, wanted(body.poly))
    if isinstance(body, Choice):
        ways = ((body.condition, body.then), (negation(body.condition), body.otherwise))
        return all(holds_of(reader, way, path | {case}, wanted) for case, way in ways)
    return isinstance(body, Bottom)
