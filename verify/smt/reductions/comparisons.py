"""
Comparisons with maxima
=======================

No element exceeds the maximum of which it is one: where the greater of two numbers is shown to be the second, the first
is at most the second. So what a comparison with a maximum says is asked of reductions: whether all that the one side
joins is among what the other does. The integers of a dtype and ``index`` are in a total order; floats, with NaN, are
not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from soundline.spec.dtypes import index
from soundline.spec.ops.node import Op
from soundline.verify.smt.elements.denotation import Denotation
from soundline.verify.smt.elements.elements import Apply, Element, Number, Reduction
from soundline.verify.smt.elements.indexing import Path
from soundline.verify.smt.elements.numbers import maximum
from soundline.verify.smt.integers.formulas import Formula, negation
from soundline.verify.smt.integers.polynomials import Poly
from soundline.verify.smt.reductions.validity import is_valid

Same = Callable[[Element, Element, Path], bool]
"""Whether two elements with reductions are shown to be equal along a path."""

_AT_MOST = {
    Op.CmpLe: (0, 1, True),
    Op.CmpGe: (1, 0, True),
    Op.CmpLt: (1, 0, False),
    Op.CmpGt: (0, 1, False),
}
"""Of which operands a comparison says that the one is at most the other; or, with False, that it is not."""


def learn_of_maxima(reader: Denotation, same: Same, conditions: Iterable[Formula], path: Path) -> None:
    """Learn that the comparisons with maxima hold, or do not hold, that stand in conditions."""
    for condition in {part.key: part for c in conditions for part in _parts(c)}.values():
        for small, great, fact in _comparisons(reader, condition):
            if _joins_to(reader, same, small, great, path):
                reader.space.learn(path, fact)
                break


def _parts(condition: Formula) -> Iterator[Formula]:
    if condition.parts:
        for part in condition.parts:
            yield from _parts(part)
    else:
        yield condition


def _comparisons(reader: Denotation, condition: Formula) -> Iterator[tuple[Element, Element, Formula]]:
    """Two elements, and what holds where the first is at most the second, a maximum."""
    if condition.kind in ("opaque", "not opaque"):
        found = reader.bools.elements[condition.name]
        if isinstance(found, Apply) and found.op in _AT_MOST and found.operands[0].dtype.is_int:
            first, second, holds = _AT_MOST[found.op]
            plain = condition if condition.kind == "opaque" else negation(condition)
            yield found.operands[first], found.operands[second], plain if holds else negation(plain)
    elif condition.kind == "ge" and condition.poly is not None:
        for fact in (condition, negation(condition)):
            yield from ((a, b, fact) for a, b in _of_numbers(reader, fact))


def _of_numbers(reader: Denotation, fact: Formula) -> Iterator[tuple[Element, Element]]:
    """The same of a number that is not negative: all but a maximum in it on one side, the maximum on the other."""
    assert fact.poly is not None
    for atom in sorted(fact.poly.atoms):
        if fact.poly.terms.get((atom,)) == 1 and _is_maximum(reader.behind.get(atom)):
            total = Poly.of(atom)
            yield Number(index, total - fact.poly), Number(index, total)


def _is_maximum(element: Element | None) -> bool:
    return isinstance(element, Reduction) and element.op is Op.Max


def _joins_to(reader: Denotation, same: Same, small: Element, great: Element, path: Path) -> bool:
    """Whether the greater of two valid elements is shown to be the second."""
    if isinstance(small, Number) and isinstance(great, Number):
        joined: Element = Number(index, maximum(reader, small.poly, great.poly))
    elif _is_maximum(great):
        joined = reader.operation(Op.Max, great.dtype, (small, great))
    else:
        return False
    parts = [part for element in (small, great) for part in (element, *_behind(reader, element))]
    return all(is_valid(reader, part, path) for part in parts) and same(joined, great, path)


def _behind(reader: Denotation, element: Element) -> Iterator[Element]:
    """The elements that stand behind a number."""
    if isinstance(element, Number):
        below = frozenset[str]().union(*(reader.space.base(a) for a in element.poly.atoms))
        yield from (reader.behind[a] for a in sorted(below) if a in reader.behind)
