"""
What the engine knows of a node
===============================

Answers that a rule's conditions need, each computed once per node and kept as long as the `Facts` live: bounds,
whether a node is one constant repeated, whether it can hold an invalid element, and whether it has an effect. Every
answer is on the safe side: *not known* is always allowed.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import TypeVar

from soundline.spec.derived_props import MIN_MAX
from soundline.spec.dtypes import DType, Element, index, to_bits
from soundline.spec.ops.bodies import free_by_node, own_nodes
from soundline.spec.ops.bounds import Bounds, Known
from soundline.spec.ops.node import Op, Size, UOp, toposort
from soundline.spec.ops.sizes import as_node, as_size, equal
from soundline.spec.ops.table import group_of
from soundline.spec.uop import const
from soundline.spec.values.elementwise import ELEMENTWISE, operand_dtype, scalar

T = TypeVar("T")

REPEATING = (Op.Reshape, Op.Expand, Op.Permute, Op.Flip, Op.Shrink)
"""Views whose every element is an element of their source, so that a view of a repeated scalar repeats it."""

EFFECTS = frozenset((Op.Store, Op.AtomicAdd, Op.Call, Op.Custom, Op.CustomFunction, Op.Ins))
"""Ops that do something besides having a value."""

_TOTAL = frozenset(
    {*group_of("elementwise", "decomposed", "marker"), Op.CDiv, Op.CMod}
    | {Op.Const, Op.Binary, Op.Range, Op.Special, Op.Stack, Op.Bitcast}
    | {Op.Permute, Op.Flip, Op.Reshape, Op.Expand, Op.Pad, Op.Shrink}
)
"""Ops whose elements are valid where those of all sources are (U-01)."""


def repeated_scalar(node: UOp) -> UOp | None:
    """The scalar that every element of a node repeats, seen through views; a scalar is its own."""
    while node.op in REPEATING and node.shape != ():
        node = node.src[0]
    return node if node.shape == () else None


def repeated_constant(node: UOp) -> UOp | None:
    """The Const that every element of a node repeats, if that is what it is."""
    while node.op in REPEATING:
        node = node.src[0]
    return node if node.op is Op.Const else None


class Facts:
    """Memory of what is known of nodes."""

    def __init__(self, told: list[UOp] | None = None) -> None:
        self._bounds: dict[UOp, Known] = {}
        self._ends: dict[UOp, tuple[UOp | None, UOp | None] | None] = {}
        self._valid: dict[UOp, bool] = {}
        self._effects: dict[UOp, bool] = {}
        self._free: dict[UOp, frozenset[UOp]] = {}
        self._last_loop = 0
        self.told = told
        """Nodes to be looked through for effects. Where it is a list, every node that is or hides an effect is told to
        `tell` before anything above it is asked about.
        """

    def bounds(self, node: UOp) -> Known:
        """An interval that holds every value; tighter than `min_max` where all operands are single values, and of a
        truncated division of natural numbers.
        """
        return _remembered(node, self._bounds, _bounds_of)

    def ends(self, node: UOp) -> tuple[UOp | None, UOp | None] | None:
        """The bounds as constants; an end of index that is infinite is None, and so is all where NaN is possible."""
        if node not in self._ends:
            known = self.bounds(node)
            found = known if known is not None and not known.maybe_nan else None
            self._ends[node] = None if found is None else (_end(node, found.lo), _end(node, found.hi))
        return self._ends[node]

    def always_valid(self, node: UOp) -> bool:
        """Whether no element can be invalid, whatever the program is run on."""
        return _remembered(node, self._valid, self._valid_of)

    def _valid_of(self, node: UOp, at: Callable[[UOp], bool]) -> bool:
        if not all(at(s) for s in node.src):
            return False
        if node.op is Op.Reduce:
            return not (
                node.arg.op is Op.Max and node.dtype is index
            )  # whose empty reduction has no value (U-10)
        if node.op is Op.Index:
            axes = zip(node.src[1:], node.src[0].shape or (), strict=False)
            return all(self._lies_within(i, size) for i, size in axes)
        return node.op in _TOTAL

    def _lies_within(self, i: UOp, size: Size) -> bool:
        """Whether an index is known to lie within an axis."""
        if i.op is Op.Range and equal(as_size(i.src[0]), size) is True:
            return True
        known = self.bounds(i)
        return known is not None and isinstance(size, int) and known.lo >= 0 and known.hi < size

    def free_loops(self, node: UOp) -> frozenset[UOp]:
        """The loop indices on which a node depends."""
        if node not in self._free:
            self._free.update(free_by_node(node))
        return self._free[node]

    def closes(self, node: UOp, loops: tuple[UOp, ...]) -> bool:
        """Whether some of these loops is closed inside a node."""
        return any(
            n.op in (Op.Reduce, Op.End) and any(r in loops for r in n.src[1:]) for n in own_nodes(node)
        )

    def reduces_something(self, node: UOp) -> bool:
        """Whether a Reduce is known to go over something."""
        ranges = [r.src[0] for r in node.src[1:]]
        axes = [as_node(size) for k, size in enumerate(node.src[0].shape or ()) if k in node.arg.axes]
        known = [self.bounds(size) for size in (*ranges, *axes)]
        return all(k is not None and k.lo > 0 for k in known)

    def new_loops(self, node: UOp, count: int) -> int:
        """The id after which `count` new Ranges can have theirs: no loop under the node has one of them, nor has any
        loop made before.
        """
        last = max((n.arg.id for n in toposort(node) if n.op is Op.Range), default=0)
        start = max(last, self._last_loop)
        self._last_loop = start + count
        return start

    def tell(self, node: UOp) -> None:
        """Be told of a node that is not known to be harmless."""
        if self.told is not None:
            self.told.append(node)

    def has_effect(self, node: UOp) -> bool:
        """Whether computing a node may store something, so that the node must not be dropped."""
        if self.told is not None and not self._any_told():
            return False
        known = self._effects.get(node)
        if known is None:
            known = self._effects[node] = self._reaches_effect(node)
        return known

    def _any_told(self) -> bool:
        """Whether any registered node reaches an effect; then every node is searched by itself."""
        while self.told:
            if self._reaches_effect(self.told.pop()):
                self.told = None
                return True
        return False

    def _reaches_effect(self, node: UOp) -> bool:
        """Whether an effect lies at or under a node; where none does, this is recorded for every node that was
        visited.
        """
        effects, met, stack = self._effects, set[UOp](), [node]
        while stack:
            top = stack.pop()
            known = effects.get(top)
            if known or top.op in EFFECTS:
                return True
            if known is None and top not in met:
                met.add(top)
                stack += top.src
        effects.update(dict.fromkeys(met, False))
        return False


def _remembered(node: UOp, memory: dict[UOp, T], law: Callable[[UOp, Callable[[UOp], T]], T]) -> T:
    """The law's result for a node, from its results for all sources; without recursion, for deep programs."""
    if node in memory:
        return memory[node]
    stack = [node]
    while stack:
        top = stack[-1]
        open_sources = [s for s in top.src if s not in memory]
        if open_sources:
            stack.extend(open_sources)
            continue
        stack.pop()
        if top not in memory:
            memory[top] = law(top, memory.__getitem__)
    return memory[node]


def _bounds_of(node: UOp, at: Callable[[UOp], Known]) -> Known:
    if node.shape is None:
        return None
    exact = _single_value(node, at)
    return exact if exact is not None else MIN_MAX[_floor_of(node, at)](node, at)


_FLOOR = {Op.CDiv: Op.Idiv, Op.CMod: Op.Mod}


def _floor_of(node: UOp, at: Callable[[UOp], Known]) -> Op:
    """The op whose bounds a node has: a truncated division of a ≥ 0 by b ≥ 1 is the floor division."""
    if node.op not in _FLOOR:
        return node.op
    a, b = map(at, node.src)
    return _FLOOR[node.op] if a is not None and b is not None and a.lo >= 0 and b.lo >= 1 else node.op


def _single_value(node: UOp, at: Callable[[UOp], Known]) -> Known:
    """The bounds of an elementwise node whose operands have one value each: computed by its scalar law."""
    if node.op not in ELEMENTWISE:
        return None
    values = []
    for source in node.src:
        known = at(source)
        if known is None or not is_single(source, known):
            return None
        values.append(known.lo)
    value = scalar(node.op, operand_dtype(node), *values, arg=node.arg)
    return None if value != value else Bounds(value, value)


def is_single(node: UOp, known: Bounds) -> bool:
    """Whether bounds leave one value: the same bits at both ends, and no NaN (U-43)."""
    if known.maybe_nan or known.lo != known.hi:
        return False
    return node.dtype is index or to_bits(node.dtype, known.lo) == to_bits(node.dtype, known.hi)


def _end(node: UOp, value: Element) -> UOp | None:
    """A bound as a constant of the node's dtype: bounds are compared as numbers, an element has one Python type."""
    if node.dtype is index:
        return None if math.isinf(value) else _whole(int(value), index)
    if node.dtype.is_int:
        return _whole(int(value), node.dtype)
    return const(float(value) if node.dtype.is_float else bool(value), node.dtype)


@lru_cache(maxsize=1 << 12)
def _whole(value: int, dtype: DType) -> UOp:
    return const(value, dtype)
