"""
Rebuilding nodes
================

A pass traverses a graph, sources before users, and computes a new node from the new sources. The list of nodes below a
root is computed once and shared by all passes.
"""

from __future__ import annotations

from weakref import ref

from soundline.impl.analysis.cached import Remembered
from soundline.spec.ops.node import Change, rebuilt_nodes
from soundline.spec.uop import UOp, toposort

LONGEST = 1 << 12
"""The most nodes for which a list is memoized; a larger graph is traversed again."""

_BELOW: Remembered[tuple[UOp, ...]] = Remembered()


def under(root: UOp) -> tuple[UOp, ...]:
    """The nodes that a node reaches, sources before users, and itself last: a memoized `toposort`."""
    below = _BELOW.data.get(ref(root))
    if below is None:
        order = tuple(toposort(root))
        if len(order) <= LONGEST:
            _BELOW[root] = order[:-1]
        return order
    return (*below, root)


def rebuilt(root: UOp, change: Change) -> UOp:
    """The graph of `root`, every node changed over its changed sources, as the law's `rebuilt` has it."""
    return rebuilt_nodes(under(root), change)[root]
