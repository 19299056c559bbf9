"""
Costs of reductions
===================

Whether a reduction is computed where it is read or stored, by counting what either takes, in simple operations.

Where it is read, it runs as often as the loops around it: in loops that its reader needs and it does not, it runs anew.
It also has no lanes of its own there. Lanes are made of the axes of a whole nest; a reduction that is over before the
inner loops of its reader begin has none, and inside of another reduction it has those of that one. Stored, it runs once
for each element and has the lanes that its own axes make; each element is then written, and loaded wherever it is read.

How many lanes there are is estimated from how far the places lie apart that neighbours along an axis read: lanes read
neighbours or all the same, or the elements are used again along another axis, as those of a product are, so that
packing them pays.

*Invariant*: none of its own; it only counts.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from soundline.impl.analysis import arithmetic
from soundline.impl.lower.graphs.costs import CHEAP, ELEMENTWISE, line_of
from soundline.impl.lower.graphs.views import (
    MOVEMENT,
    View,
    extents,
    greatest,
    is_size,
    most_iterations,
    source_view,
    terms,
)
from soundline.spec.dtypes import index
from soundline.spec.uop import AxisType, Op, Shape, UOp, loop, toposort
from soundline.spec.values.elementwise import scalar

LANES = 8
"""So many operations are done at once where there are lanes, as far as an estimate needs to know."""
WRITTEN, LOADED = 2, 1
"""What it takes to write an element, and to load it again."""
_LOOKED_AT = 64
"""So many of the values that a reduction is made of are looked at, no more."""
_OF_INDICES = (Op.Add, Op.Mul, Op.Idiv, Op.Mod)
_APART = 1 << 30
"""The first number of the loops that stand for the axes of a reduction; no program has as many."""


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of the values that reductions are made of."""

    costs: Mapping[UOp, int]
    """The operations that one scalar of each takes (`costs`)."""
    repeated: Mapping[UOp, frozenset[int]]
    """The axes along which each repeats (`repeated`)."""

    def is_likely_stored(self, value: UOp) -> bool:
        """Whether a value has storage, or is dear enough to get it, and is no product of such a one, spread out."""
        if value.op in (Op.Param, Op.Reduce, Op.Contiguous):
            return value.dtype is not index
        if self.costs[value] <= CHEAP or value.dtype is index or value.op not in ELEMENTWISE:
            return False
        own = self.repeated.get(value, frozenset())
        return not any(
            self.costs[s] > CHEAP and self.repeated.get(s, own) - own for s in value.src if s.shape
        )


@dataclass(frozen=True, slots=True)
class Read:
    """One way in which a reduction is read."""

    runs: int
    """How often it runs if it is computed there."""
    lanes: int
    """How many of these runs, or of the steps of one, go side by side."""


@dataclass(frozen=True, slots=True)
class ReductionCost:
    """What a reduction takes in either place."""

    elements: int
    """How many it has."""
    work: int
    """The operations for one of them."""
    lanes: int
    """How many it makes at once where it is stored."""
    reads: tuple[Read, ...]

    @property
    def where_read(self) -> float:
        """The operations if it is computed wherever it is read."""
        return sum(r.runs * self.work / r.lanes for r in self.reads)

    @property
    def stored(self) -> float:
        """The operations if it is computed once, written, and loaded wherever it is read."""
        loaded = sum(r.runs for r in self.reads)
        return self.elements * (self.work / self.lanes + WRITTEN) + loaded * LOADED

    def why_stored(self) -> str | None:
        """Why it is stored; None where that takes no less than computing it wherever it is read."""
        if self.stored >= self.where_read:
            return None
        return (
            f"it is a reduction that would take {self.where_read:.3g} operations where it is read, "
            f"and stored takes {self.stored:.3g}"
        )


def work_of_reduction(node: UOp, of_source: int) -> int:
    """The operations for one element of a Reduce, of whose source one scalar takes so many."""
    sizes = extents(node.src[0])
    return math.prod(sizes[int(a)] for a in node.arg.axes) * (of_source + 1)


def lanes_alone(node: UOp, shape: Shape, known: Known) -> int:
    """The lanes of a Reduce in a nest of its own over a shape."""
    kept = tuple(_axis(k, greatest(size), AxisType.LOOP) for k, size in enumerate(shape))
    return lanes_of_nest(node, View(-1, kept), [c for c in kept if c.op is Op.Range], known)


def lanes_of_nest(node: UOp, view: View, loops: Sequence[UOp], known: Known) -> int:
    """The lanes of a Reduce that is computed inside all loops of a nest, the last of them being the innermost."""
    places = _places(node, view, known)
    if not loops or places is None:
        return 1
    return LANES if _is_used_along_two(places, loops) else _lanes_along(places, loops[-1])


def lanes_inside(node: UOp, view: View, reduction: UOp, known: Known) -> int:
    """The lanes that the innermost loop of another reduction makes for a Reduce inside of it."""
    places = _places(node, view, known)
    return 1 if places is None else _lanes_along(places, reduction)


def _lanes_along(places: Iterable[UOp], r: UOp) -> int:
    steps = {_step(at, r) for at in places}
    return min(LANES, most_iterations(r)) if steps in ({1}, {0, 1}) else 1


def _axis(number: int, size: int, kind: AxisType) -> UOp:
    return arithmetic.number(0) if size == 1 else loop(size, _APART + number, kind)


def _is_used_along_two(places: Iterable[UOp], loops: Sequence[UOp]) -> bool:
    """Whether elements are used again along one loop, and others along another, as in a product."""
    again = [{r for r in loops if _step(at, r) == 0} for at in places]
    return any(a - b and b - a for k, a in enumerate(again) for b in again[:k])


def _step(at: UOp, r: UOp) -> int | None:
    """How far the places lie apart that neighbouring iterations of a loop read; None where that is not one number."""
    last = most_iterations(r) - 1
    first, second, end = (_value(at, r, k) for k in (0, 1, last))
    if first is None or second is None or end is None or end - first != last * (second - first):
        return None
    return second - first


def _value(at: UOp, r: UOp, iteration: int) -> int | None:
    """An index in one iteration of a loop, and the first of all others; None where it hangs on a value."""
    found: dict[UOp, int] = {}
    for node in toposort(at):
        if node.op is Op.Range:
            found[node] = iteration if node is r else 0
        elif node.op is Op.Const:
            found[node] = node.arg.value
        elif node.op in _OF_INDICES and is_size(node):
            found[node] = greatest(node)
        elif node.op in _OF_INDICES and all(s in found for s in node.src):
            found[node] = int(scalar(node.op, index, *(found[s] for s in node.src)))
    return found.get(at)


def _places(node: UOp, view: View, known: Known) -> list[UOp] | None:
    """The places from which one step of a Reduce reads, as indices; None where they are too many, or not to be told."""
    shape = extents(node.src[0])
    reduced = {a: _axis(len(shape) + a, shape[a], AxisType.REDUCE) for a in node.arg.axes}
    at = view.at([reduced.get(k, c) for k, c in enumerate(view.coordinates)])
    stack, seen, found = [(node.src[0], at)], {(node.src[0], at)}, list[UOp]()
    while stack:
        value, here = stack.pop()
        if known.is_likely_stored(value):
            found.append(arithmetic.flatten(here.coordinates, terms(value.shape)))
            continue
        if value.op in MOVEMENT:
            inside = [(value.src[0], source_view(value, here))]
        elif value.op in ELEMENTWISE:
            inside = [(s, here) for s in value.src]
        elif value.op is Op.Const or line_of(value) is not None:
            continue
        else:
            return None
        new = [reading for reading in inside if reading not in seen]
        seen.update(new)
        stack += new
        if len(seen) > _LOOKED_AT:
            return None
    return found
