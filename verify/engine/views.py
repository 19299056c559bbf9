"""
Views of a rewrite
==================

A rewrite replaces one node by another, and most of what stands below both plays no part in it. A *view* is the pair of
nodes down to some *leaves*, of which only dtype, shape and bounds are assumed. The less a view shows, the more rewrites
share it, and a proof of the view is a proof of all of them. Where a view gives no proof, a deeper one may.

Bounds come from the law's `min_max`, not from what the engine believes of a node.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from weakref import WeakKeyDictionary

from soundline.spec.derived_props import MIN_MAX
from soundline.spec.dtypes import DType, Element, bool_, index
from soundline.spec.errors import IllFormed
from soundline.spec.ops.bodies import free_ranges
from soundline.spec.ops.bounds import Known
from soundline.spec.ops.node import Op, UOp, rebuilt, sources, toposort
from soundline.spec.ops.sizes import sizes_of
from soundline.spec.ops.walks import filled
from soundline.spec.uop import param
from soundline.verify.engine.elements import COMPUTED, MOVES, SAME, repeated_constant

INNER = frozenset((*COMPUTED, *SAME, *MOVES, Op.Reduce, Op.Bitcast))
"""The ops that a view may look into."""


@dataclass(frozen=True, eq=False)
class View:
    """Two nodes over leaves, in the order in which they are met."""

    before: UOp
    after: UOp
    leaves: tuple[UOp, ...]
    whole: bool
    """Whether nothing was cut that could have been looked into."""


class Reader:
    """Makes views, and remembers the bounds of nodes."""

    def __init__(self) -> None:
        self._bounds: WeakKeyDictionary[UOp, Known] = WeakKeyDictionary()
        self._valid: WeakKeyDictionary[UOp, bool] = WeakKeyDictionary()

    def bounds(self, node: UOp) -> Known:
        """The law's bounds of a node."""

        def law(n: UOp) -> Known:
            return None if n.shape is None else MIN_MAX[n.op](n, self._bounds.__getitem__)

        return filled(self._bounds, node, sources, law)

    def always_valid(self, node: UOp) -> bool:
        """Whether no element of a node can be invalid, see `always_valid`."""
        if node not in self._valid:
            self._valid[node] = always_valid(node)
        return self._valid[node]


def views(before: UOp, after: UOp, depth: int) -> Iterator[View]:
    """Views that show more and more; the first cuts where both nodes share a part, or at `depth`."""
    shared = _shared(before, after)
    shown: set[tuple[UOp, ...]] = set()
    for cut, deep in ((shared, depth), (frozenset[UOp](), depth + 2), (frozenset[UOp](), None)):
        view = _view(before, after, cut, deep)
        if view.leaves not in shown:
            shown.add(view.leaves)
            yield view


def whole_view(before: UOp, after: UOp) -> View:
    """The view that cuts nothing."""
    return _view(before, after, frozenset(), None)


NEAR = 10
"""How deep both nodes are searched for what they share."""


def _shared(before: UOp, after: UOp) -> frozenset[UOp]:
    """The nodes near the roots that stand in both, without those that repeat a constant."""
    return frozenset(
        n for n in _near(before) & _near(after) if n.shape is not None and repeated_constant(n) is None
    )


def _near(root: UOp) -> set[UOp]:
    found, level = {root}, [root]
    for _ in range(NEAR):
        level = [s for s in dict.fromkeys(s for n in level for s in n.src) if s not in found]
        found.update(level)
    return found


def is_readable(node: UOp) -> bool:
    """Whether a node can be read element by element, given those of its sources."""
    if node.op is Op.Bitcast:
        return node.shape == node.src[0].shape
    if node.op is Op.Index:
        return all(repeated_constant(i) is not None or _is_numbers(i) for i in node.src[1:])
    return node.op in INNER


def _is_numbers(indices: UOp) -> bool:
    return indices.op is Op.Stack and all(s.op is Op.Const for s in indices.src)


def _view(before: UOp, after: UOp, cut: frozenset[UOp], depth: int | None) -> View:
    """The view that is cut at these nodes, and at this depth below the roots."""
    leaves: dict[UOp, None] = {}
    whole = True
    level: dict[UOp, int] = {}
    stack = [(after, 0), (before, 0)]
    while stack:
        node, at = stack.pop()
        if node in level and level[node] <= at:
            continue
        level[node] = at
        if repeated_constant(node) is not None:
            continue
        inner = is_readable(node)
        too_deep = depth is not None and at >= depth
        if not inner or too_deep or (node in cut and not (node is before and node is not after)):
            leaves[node] = None
            whole &= not inner
            continue
        leaves.pop(node, None)
        stack += [(s, at + 1) for s in reversed(_values(node))]
    return View(before, after, _still_met(before, after, leaves), whole)


def _values(node: UOp) -> tuple[UOp, ...]:
    """The sources of a node that are values, not sizes or loops."""
    if node.op is Op.Reduce:
        return (node.src[0], *(r.src[0] for r in node.src[1:]))
    if node.op in (Op.Reshape, Op.Expand, Op.Pad, Op.Shrink):
        return node.src[:1]
    if node.op is Op.Stack and sizes_of(node) is not None and all(s.op is Op.Const for s in node.src):
        return ()
    return node.src


def _still_met(before: UOp, after: UOp, leaves: dict[UOp, None]) -> tuple[UOp, ...]:
    """The leaves that are met when one goes down to leaves only, in that order."""

    def below(node: UOp) -> tuple[UOp, ...]:
        return _values(node) if node not in leaves and is_readable(node) else ()

    return tuple(n for n in toposort(before, after, below=below) if n in leaves)


VALID = frozenset((*COMPUTED, *SAME, *MOVES, Op.Const, Op.Range, Op.Special, Op.Bitcast)) - {Op.Index}
"""The ops whose elements are valid where those of all sources are."""


def always_valid(node: UOp) -> bool:
    """Whether no element of a node can be invalid, whatever the program is run on; not known is no."""
    seen, stack = set[UOp](), [node]
    while stack:
        n = stack.pop()
        if n in seen:
            continue
        seen.add(n)
        if n.op not in VALID:
            return False
        stack += n.src
    return True


Structure = tuple[object, ...]
"""What two views have in common where the same can be shown of them."""


def structure(view: View, reader: Reader) -> Structure:
    """A view with its leaves and loops numbered in the order in which they are met."""
    numbers: dict[UOp, int] = {}
    parts: list[object] = []
    leaves = frozenset(view.leaves)
    region = [*toposort(view.before, view.after, below=lambda n: () if n in leaves else n.src)]
    loops = any(n.op is Op.Reduce and len(n.src) > 1 for n in region)
    for node in region:
        numbers[node] = len(numbers)
        parts.append(_part(node, leaves, numbers, reader, loops=loops))
    return (*parts, numbers[view.before], numbers[view.after])


def _part(
    node: UOp, leaves: frozenset[UOp], numbers: dict[UOp, int], reader: Reader, *, loops: bool
) -> tuple[object, ...]:
    if node in leaves:
        known = reader.bounds(node)
        ends = None if known is None else (repr(known.lo), repr(known.hi), known.maybe_nan)
        around = sorted(repr(r.arg) for r in free_ranges(node)) if loops else None
        kind = "loop" if node.op is Op.Range and loops else "leaf"
        name = repr(node.arg) if kind == "loop" else None
        return kind, name, node.dtype, node.shape, ends, reader.always_valid(node), str(around)
    return node.op, node.arg, *(numbers[s] for s in node.src)


def abstracted(view: View, reader: Reader) -> tuple[UOp, UOp] | None:
    """Both nodes of a view with Params for its leaves; None where a loop inside runs over a leaf."""
    run = {r for n in toposort(view.before, view.after) if n.op is Op.Reduce for r in n.src[1:]}
    replaced: dict[UOp, UOp] = {}
    for slot, leaf in enumerate(view.leaves):
        if leaf.op is not Op.Range and not run.isdisjoint(free_ranges(leaf)):
            return None
        if leaf in run:
            continue
        shape = tuple(int(s) for s in leaf.shape or () if isinstance(s, int))
        replaced[leaf] = param(slot, leaf.dtype, shape, bounds=promised(leaf.dtype, reader.bounds(leaf)))
    try:
        before, after = (
            rebuilt(root, lambda n, _: replaced.get(n), lambda n: () if n in replaced else n.src)
            for root in (view.before, view.after)  # below what is replaced nothing is made anew
        )
    except IllFormed:
        return None
    return before, after


def promised(dtype: DType, known: Known) -> tuple[Element, Element] | None:
    """Bounds as a Param can promise them; None where they say nothing, or more than it can."""
    if known is None or known.maybe_nan or (known.lo, known.hi) == (dtype.min, dtype.max):
        return None
    if dtype is index and math.inf in (abs(known.lo), abs(known.hi)):
        return None
    kind = float if dtype.is_float else bool if dtype is bool_ else int
    return kind(known.lo), kind(known.hi)
