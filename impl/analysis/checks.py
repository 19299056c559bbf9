"""
Memoized checks
===============

The result of the op table for an elementwise tuple depends only on the op, its arg, and the dtypes, shapes, devices and
shard axes of the sources. So the law's result is memoized under these, and the law is evaluated once for each
combination: `remembering` computes the same as the law, but faster. Refusals are not memoized, nor are shapes with
sizes that are nodes.

The modules that make and rewrite graphs import this one; from then on every UOp is checked in this way.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from soundline.spec.errors import IllFormed
from soundline.spec.ops.node import (
    _INTERNED,
    Op,
    Properties,
    UOp,
    _entered,
    _Entry,
    _Fields,
    _forget,
    toposort,
)
from soundline.spec.ops.table import group_of
from soundline.spec.uop import laws

Laws = Callable[[Op, tuple[UOp, ...], Any], Properties]

ALIKE = frozenset((*group_of("elementwise", "decomposed"), Op.CDiv, Op.CMod)) - {Op.Shl, Op.Shr}
"""The ops that are so; a shift of index asks whether its second operand is a constant."""

RESIZING = (Op.Reshape, Op.Expand)
"""Ops of which it says the same by the properties of the first source and the sizes that the second one is."""

MOST = 1 << 14
"""The number of combinations after which the table is cleared."""


Combinations = dict[tuple[Any, ...], Properties]
"""The properties of nodes, by op, arg, and the properties of each source."""


def remembering(law: Laws, known: Combinations | None = None) -> Laws:
    """The same law, which memoizes its results for the ops in `ALIKE`."""
    known = {} if known is None else known
    shared: dict[tuple[Any, ...], Properties] = {}

    def one_of(found: Properties) -> Properties:
        """The one object of these properties."""
        if found.shape and not all(type(size) is int for size in found.shape):
            return found
        if len(shared) >= MOST:
            shared.clear()
            known.clear()
        return shared.setdefault((found.dtype, found.shape, found.device, found.axis), found)

    def answer(op: Op, src: tuple[UOp, ...], arg: Any) -> Properties:
        if op not in ALIKE and op not in _OTHERS:
            return one_of(law(op, src, arg))
        try:
            if op in _OTHERS:
                combination: tuple[Any, ...] | None = _OTHERS[op](op, src, arg)
            elif len(src) == 2:
                combination = (op, arg, src[0].properties, src[1].properties)
            else:
                combination = (op, arg, *[s.properties for s in src])
            found = None if combination is None else known.get(combination)
        except (AttributeError, TypeError):  # no UOps, or no arg
            return law(op, src, arg)
        if found is None:
            found = one_of(law(op, src, arg))
            if combination is not None and all(type(size) is int for s in src for size in s.shape or ()):
                known[combination] = found
        return found

    return answer


def _resizing(op: Op, src: tuple[UOp, ...], arg: Any) -> tuple[Any, ...] | None:
    """The key of the check of a view of other sizes, if these are numbers."""
    if len(src) != 2 or src[1].op is not Op.Stack or not all(s.op is Op.Const for s in src[1].src):
        return None
    return op, arg, src[0].properties, src[1]


def _sink(op: Op, src: tuple[UOp, ...], arg: Any) -> tuple[Any, ...] | None:
    """The key of the check of a Sink, if what it collects closes all of its Ranges."""
    return (op, arg, *[s.properties for s in src]) if closes_all(src) else None


_OTHERS: dict[Op, Callable[[Op, tuple[UOp, ...], Any], tuple[Any, ...] | None]] = {
    **dict.fromkeys(RESIZING, _resizing),
    Op.Sink: _sink,
}


def closes_all(roots: tuple[UOp, ...]) -> bool:
    """Whether every Range is closed below these nodes; False also where a Function or a Barrier may close one.

    The Ranges that are free in a node are the bits of a number.
    """
    free: dict[UOp, int] = {}
    bits: dict[UOp, int] = {}
    for node in toposort(*roots):
        open_here = 0
        for s in node.src:
            open_here |= free[s]
        if node.op is Op.Range:
            open_here |= bits.setdefault(node, 1 << len(bits))
        elif open_here and (node.op is Op.End or node.op is Op.Reduce):
            for r in node.src[1:]:
                open_here &= ~bits.get(r, 0)
        free[node] = open_here
    return not any(free[r] for r in roots)


UOp.laws = staticmethod(remembering(laws))


def on_sources(node: UOp, src: tuple[UOp, ...]) -> UOp:
    """`node` on other sources; faster than `UOp` where the law gives the same result for them as for its own. Where the
    laws refuse them, for example an argument with wider bounds, `node` itself.
    """
    op, own, properties = node.op, node.src, node.properties
    if (
        op not in ALIKE
        or node.arg is not None
        or not 0 < len(own) <= 2
        or own[0].properties is not src[0].properties
        or own[-1].properties is not src[-1].properties
    ):
        try:
            return UOp(op, src, node.arg, node.tag)
        except IllFormed:
            return node
    identity = (op, src, None, node.tag)
    made: Any = object.__new__(_Fields)
    made.op, made.src, made.arg, made.tag = identity
    made.dtype, made.shape = properties.dtype, properties.shape
    made.device, made.axis, made.properties = properties.device, properties.axis, properties
    made.__class__ = UOp
    entry = _Entry(made, _forget)
    entry.identity = identity
    present = _INTERNED.setdefault(identity, entry)
    return made if present is entry else _entered(entry, made)
