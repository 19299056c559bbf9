"""
Comparing elements
==================

Two elements are equal for all positions where, in every case that their choices distinguish, the same input is read at
the same position, or the same op is applied to equal operands. What that takes is collected as *leaves*: under a path,
a condition on sizes and positions that must follow.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from soundline.spec.dtypes import bool_
from soundline.verify.smt.denotation import Reader
from soundline.verify.smt.elements import (
    Apply,
    Bottom,
    Element,
    Number,
    Read,
    Unsupported,
    assuming,
    conditions,
)
from soundline.verify.smt.formulas import FALSE, TRUE, Formula, conjunction, equal, implies, negation
from soundline.verify.smt.indexing import Path

MOST_CASES = 4096
"""How many cases two elements may distinguish before the comparison is given up."""


@dataclass(frozen=True, slots=True)
class Leaf:
    """In one case, two elements without choices, and the condition that makes them equal."""

    path: Path
    left: Element
    right: Element
    required: Formula


def differences(reader: Reader, left: Element, right: Element, path: Path) -> list[Leaf]:
    """The leaves of a comparison that are not plainly equal. What an invalid left element is, nothing has to be."""
    leaves: list[Leaf] = []
    for cases, leaf in enumerate(_leaves(reader, left, right, path)):
        if cases >= MOST_CASES:
            raise Unsupported("the sides distinguish too many cases")
        leaves.append(leaf)
    return leaves


def _leaves(reader: Reader, left: Element, right: Element, path: Path) -> Iterator[Leaf]:
    left, right = (assuming(side, path, reader.operation) for side in (left, right))
    if left == right or isinstance(left, Bottom):
        return
    chosen = [*conditions(left), *conditions(right)]
    if isinstance(left, Apply) and isinstance(right, Apply) and _alike(left, right):
        pairs = zip(left.operands, right.operands, strict=True)
        nested = [leaf for a, b in pairs for leaf in _leaves(reader, a, b, path)]
        if not chosen and nested:
            yield Leaf(path, left, right, conjunction(leaf.required for leaf in nested))
        if not chosen or all(leaf.required != FALSE for leaf in nested):
            yield from nested if chosen else ()
            return
    if not chosen:
        required = _required(reader, left, right, path)
        if not reader.space.plainly(path, required):
            yield Leaf(path, left, right, required)
        return
    for case in _cases(reader, chosen[0], path):
        yield from _leaves(reader, left, right, path | {case})


def _cases(reader: Reader, condition: Formula, path: Path) -> list[Formula]:
    """The ways in which a condition can turn out that the path does not plainly exclude."""
    for case in (condition, negation(condition)):
        if reader.space.plainly(path, case):
            return [case]
    return [condition, negation(condition)]


def _alike(a: Apply, b: Apply) -> bool:
    return (a.op, a.dtype, [o.dtype for o in a.operands]) == (b.op, b.dtype, [o.dtype for o in b.operands])


def _required(reader: Reader, left: Element, right: Element, path: Path) -> Formula:
    """What makes two elements without choices equal, as far as sizes and positions can tell."""
    if isinstance(left, Read) and isinstance(right, Read) and left.name == right.name:
        return reader.space.same(left.at, right.at, left.shape, path)
    if isinstance(left, Number) and isinstance(right, Number):
        reduce = reader.space.equations.reduce
        return equal(reduce(left.poly), reduce(right.poly))
    if left.dtype is bool_ and right.dtype is bool_ and not isinstance(right, Bottom):
        a, b = (reader.space.reduced(reader.bools.formula(e)) for e in (left, right))
        return TRUE if a == b else conjunction((implies(a, b), implies(b, a)))
    return FALSE
