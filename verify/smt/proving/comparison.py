"""
Comparing elements
==================

Two elements are equal for all positions where, in every case that their choices distinguish, the same input is read at
the same position, or the same op is applied to equal operands. What that takes is collected as *leaves*: under a path,
a condition on sizes and positions that must follow.

What a licence says of the values of a rule it says of the sides: that the sign of a zero does not matter there, and
that no NaN is met on the left one. It says nothing of what is inside an op: 1/0 and 1/-0 differ, and what stands on the
right side alone may be NaN. So inside of ops elements are compared without these licences; the elements of a reduction
at which the sides arrive are the outer ones still, since Add, Mul and Max pass on no more than the sign of a zero.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial

from soundline.spec.dtypes import bool_
from soundline.verify.smt.elements.denotation import Denotation
from soundline.verify.smt.elements.elements import (
    Apply,
    Bottom,
    Choice,
    Element,
    Number,
    Read,
    Reduction,
    Unsupported,
    assuming,
    atoms,
    atoms_of_condition,
    conditions,
)
from soundline.verify.smt.elements.indexing import Path
from soundline.verify.smt.integers.formulas import FALSE, TRUE, Formula, conjunction, equal, implies, negation
from soundline.verify.smt.integers.polynomials import Poly
from soundline.verify.smt.reductions.bounds import learn_of_sums
from soundline.verify.smt.reductions.comparisons import learn_of_maxima
from soundline.verify.smt.reductions.equality import Reductions, reductions_of

MOST_CASES = 4096
"""How many cases two elements may distinguish before the comparison is given up."""

MOST_PAIRS = 16
"""How many pairs of elements of dtype ``index`` are asked whether they are read at one position."""


@dataclass(frozen=True, slots=True)
class Leaf:
    """In one case, two elements without choices, and the condition that makes them equal."""

    path: Path
    left: Element
    right: Element
    required: Formula
    outer: bool = False
    """Whether these are the elements of the sides themselves, so that all that a licence says holds of them."""


def differences(reader: Denotation, left: Element, right: Element, path: Path) -> list[Leaf]:
    """The leaves of a comparison that are not plainly equal. What an invalid left element is, nothing has to be."""
    leaves: list[Leaf] = []
    for cases, leaf in enumerate(_leaves(reader, left, right, path, outer=True)):
        if cases >= MOST_CASES:
            raise Unsupported("the two sides distinguish too many cases")
        leaves.append(leaf)
    return leaves


def proved(reader: Denotation, left: Element, right: Element, path: Path, *, outer: bool = False) -> bool:
    """Whether two elements are shown to be equal wherever the left one is valid."""
    for cases, leaf in enumerate(_leaves(reader, left, right, path, outer=outer)):
        if cases >= MOST_CASES:
            return False
        if isinstance(leaf.left, Reduction) or isinstance(
            leaf.right, Reduction
        ):  # all that is known of reductions was tried
            if not reader.space.shows_with_equations(leaf.path, leaf.required):
                return False
        elif not reader.settled(leaf):
            return False
    return True


def _leaves(reader: Denotation, left: Element, right: Element, path: Path, *, outer: bool) -> Iterator[Leaf]:
    left, right = (assuming(side, path, reader.operation) for side in (left, right))
    if left == right or isinstance(left, Bottom):
        return
    if any(reductions_of(reader, left)) or any(reductions_of(reader, right)):
        reductions = Reductions(reader, partial(proved, reader))
        if reductions.same(left, right, path, partial(proved, reader, outer=True) if outer else None):
            return
        simpler = reductions.simpler(left, path), reductions.simpler(right, path)
        if simpler != (left, right):
            yield from _leaves(reader, *simpler, path, outer=outer)
            return
    chosen = [*_conditions(reader, left), *_conditions(reader, right)]
    if isinstance(left, Apply) and isinstance(right, Apply) and _alike(left, right):
        pairs = zip(left.operands, right.operands, strict=True)
        nested = [leaf for a, b in pairs for leaf in _leaves(reader, a, b, path, outer=False)]
        if not chosen and nested:
            yield Leaf(path, left, right, conjunction(leaf.required for leaf in nested), outer)
        if not chosen or all(leaf.required != FALSE for leaf in nested):
            yield from nested if chosen else ()
            return
    if not chosen:
        required = _required(reader, left, right, path)
        if not reader.space.plainly(path, required):
            yield Leaf(path, left, right, required, outer)
        return
    for case in _cases(reader, chosen[0], path):
        yield from _leaves(reader, left, right, path | {case}, outer=outer)


def _conditions(reader: Denotation, element: Element) -> list[Formula]:
    """The conditions of the choices in an element, and of those inside reductions that are the same for every index."""
    match element:
        case Apply():
            return [c for o in element.operands for c in _conditions(reader, o)]
        case Choice():
            ways = [c for way in (element.then, element.otherwise) for c in _conditions(reader, way)]
            return [element.condition, *ways]
        case Reduction():
            found = _conditions(reader, element.body)
            return [c for c in found if not _is_inside(reader, c)]
    return conditions(element)


def _is_inside(reader: Denotation, condition: Formula) -> bool:
    """Whether a condition speaks of an index that a reduction binds."""
    free = atoms_of_condition(condition, reader.bools.elements)
    return any(name.startswith("$") for atom in free for name in reader.space.base(atom))


def _cases(reader: Denotation, condition: Formula, path: Path) -> list[Formula]:
    """The ways in which a condition can turn out that the path does not plainly exclude."""
    for case in (condition, negation(condition)):
        if reader.space.plainly(path, case):
            return [case]
    return [condition, negation(condition)]


def _alike(a: Apply, b: Apply) -> bool:
    return (a.op, a.dtype, [o.dtype for o in a.operands]) == (b.op, b.dtype, [o.dtype for o in b.operands])


def _required(reader: Denotation, left: Element, right: Element, path: Path) -> Formula:
    """What makes two elements without choices equal, as far as sizes and positions can tell."""
    if isinstance(left, Read) and isinstance(right, Read) and left.name == right.name:
        return reader.space.same(left.at, right.at, left.shape, path)
    if isinstance(left, Number) and isinstance(right, Number):
        _learn_of_reads(reader, _base(reader, left.poly.atoms), _base(reader, right.poly.atoms), path)
        reduce = reader.space.equations.reduce
        return equal(reduce(left.poly), reduce(right.poly))
    if left.dtype is bool_ and right.dtype is bool_ and not isinstance(right, Bottom):
        a, b = (reader.space.reduced(reader.bools.formula(e)) for e in (left, right))
        learn_of_sums(reader, (a, b), path)
        learn_of_maxima(reader, Reductions(reader, partial(proved, reader)).same, (a, b), path)
        return TRUE if a == b else conjunction((implies(a, b), implies(b, a)))
    return FALSE


def learn_of_indices(reader: Denotation, leaf: Leaf) -> bool:
    """Learn which indices in a leaf are one number, as far as they are elements of one input; whether there are any."""
    behind = reader.bools.elements
    own = [atoms(side, behind) for side in (leaf.left, leaf.right)]
    told = (atoms_of_condition(c, behind) for c in (leaf.required, *leaf.path))
    met = _base(reader, frozenset().union(*own, *told))
    return _learn_of_reads(reader, met, met, leaf.path)


def _learn_of_reads(reader: Denotation, left: Iterable[str], right: Iterable[str], path: Path) -> bool:
    """Learn that elements of dtype ``index`` that are read at one position of one input are one number."""
    here, there = ([reader.numbers[a] for a in sorted(side) if a in reader.numbers] for side in (left, right))
    pairs = {
        tuple(sorted((a.key, b.key))): (a, b) for a in here for b in there if a.name == b.name and a != b
    }
    for a, b in list(pairs.values())[:MOST_PAIRS]:
        same = reader.space.same(a.at, b.at, a.shape, path)
        reader.space.learn(path, implies(same, equal(Poly.of(a.key), Poly.of(b.key))))
    return bool(pairs)


def _base(reader: Denotation, met: Iterable[str]) -> frozenset[str]:
    return frozenset[str]().union(*(reader.space.base(a) for a in met))
