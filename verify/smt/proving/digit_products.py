"""
Products of digits
==================

A position that is spread, or taken apart, by a stride that is a size is a digit q times the stride w, and a rest. Where
several digits meet, as those of both sides of a rule do, a solver has to compare products such as q·w, of which it
knows little. The lemma O tells it, for a difference e of digits and a stride w:

    w ≥ 1  ⇒  (e ≥ 1 and e·w ≥ w) or (e = 0 and e·w = 0) or (e ≤ -1 and e·w ≤ -w)

It holds of all integers, so that nothing can be wrong but which differences are tried: those that are 0 where two
digits are of one position, by one stride, by strides of which one is a multiple of the other, or by two in both orders;
and how far a digit is from its ends.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import permutations
from typing import TYPE_CHECKING

from soundline.verify.smt.elements.elements import atoms, atoms_of_condition
from soundline.verify.smt.integers.formulas import (
    Formula,
    at_least_zero,
    at_most,
    conjunction,
    disjunction,
    implies,
    is_zero,
    less,
)
from soundline.verify.smt.integers.polynomials import ONE, ZERO, Poly, divide

if TYPE_CHECKING:
    from soundline.verify.smt.elements.denotation import Denotation
    from soundline.verify.smt.proving.comparison import Leaf

MOST_DIGITS = 4
"""The most digits of the same indices whose products are compared."""


@dataclass(frozen=True)
class _Digit:
    """A digit of a position that has two, and its stride: position = digit · stride + rest."""

    digit: Poly
    end: Poly
    stride: Poly
    position: Poly

    @property
    def rest(self) -> Poly:
        """What is left of the position."""
        return self.position - self.digit * self.stride


def learn_of_products(reader: Denotation, leaf: Leaf) -> bool:
    """Learn how the digits in a leaf compare, times their strides; whether there is anything to compare."""
    groups = [g for g in _met(reader, leaf) if 2 <= len(g) <= MOST_DIGITS]
    for e, w in dict.fromkeys(pair for group in groups for pair in _differences(group)):
        if e.constant is None and w.constant is None:
            reader.space.learn(leaf.path, compared(e, w))
    return bool(groups)


def compared(e: Poly, w: Poly) -> Formula:
    """O: a product with a stride that is positive is as far from 0 as its other factor is, in strides."""
    above = conjunction((less(ZERO, e), at_least_zero(e * w - w)))
    below = conjunction((less(e, ZERO), at_most(e * w + w, ZERO)))
    return implies(less(ZERO, w), disjunction((above, conjunction((is_zero(e), is_zero(e * w))), below)))


def _met(reader: Denotation, leaf: Leaf) -> list[list[_Digit]]:
    """The digits in a leaf whose positions have two, those together that come from the same indices."""
    behind = reader.bools.elements
    told: Iterable[frozenset[str]] = (
        *(atoms(side, behind) for side in (leaf.left, leaf.right)),
        *(atoms_of_condition(c, behind) for c in (leaf.required, *leaf.path)),
    )
    found: dict[frozenset[str], list[_Digit]] = {}
    for name in sorted(frozenset[str]().union(*told)):
        flat, sizes = reader.space.digits_of.get(name, (ZERO, ()))
        if len(sizes) == 2:
            indices = frozenset(a for a in reader.space.base(name) if a.startswith(_INDICES))
            found.setdefault(indices, []).append(_Digit(Poly.of(name), sizes[0], sizes[1], flat))
    return list(found.values())


_INDICES = ("@", "$")
"""How the names of indices begin: of a position of a side, and of what a reduction binds."""


def _differences(met: list[_Digit]) -> Iterator[tuple[Poly, Poly]]:
    """What is compared with 0, and the stride by which it is multiplied."""
    for x in met:
        yield from ((e, x.stride) for e in (x.digit, x.end - ONE - x.digit))
    for x, y in permutations(met, 2):
        yield from ((x.digit - y.digit, w) for w in (x.stride, y.stride))
        often, rest = divide(y.stride, x.stride)
        if not rest.terms:
            yield from _by_a_multiple(x, y, often)
            others = (z.stride for z in met if often == ONE and z.stride != x.stride)
            yield from ((x.digit - y.digit * w, x.stride) for w in others)
        else:
            yield x.rest, y.stride
            yield x.digit - y.digit * y.stride, x.stride
            yield x.digit * x.stride - y.digit, y.stride


def _by_a_multiple(x: _Digit, y: _Digit, often: Poly) -> Iterator[tuple[Poly, Poly]]:
    """Differences of a digit and of another one by a stride that is a multiple of its own."""
    apart, rest = divide(x.position - y.position, x.stride)
    if not rest.terms:
        other = often * y.digit + apart
        yield from ((e, x.stride) for e in (x.digit - other, other, x.end - ONE - other))
        if often == ONE:
            yield from ((e, x.stride) for e in (x.digit - apart, y.end - ONE - x.digit + apart))
    if often != ONE:
        yield x.rest, often
        yield from ((e, w) for e in (y.digit, y.end - ONE - y.digit) for w in (x.stride, often))
        yield from ((e, y.stride) for e in (x.digit, y.end - ONE - x.digit))
