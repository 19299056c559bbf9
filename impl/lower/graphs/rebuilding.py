"""
Nodes anew
==========

A pass goes through a graph, sources before users, and says what becomes of a node over what its sources have become.
What a node reaches is listed once, however many passes ask.
"""

from __future__ import annotations

from weakref import ref

from soundline.impl.analysis.cached import Remembered
from soundline.spec.ops.node import Change, rebuilt_nodes
from soundline.spec.uop import UOp, toposort

LONGEST = 1 << 12
"""So many nodes are listed once and for all; what reaches more is walked through again."""

_BELOW: Remembered[tuple[UOp, ...]] = Remembered()


def under(root: UOp) -> tuple[UOp, ...]:
    """What a node reaches, sources before users, and itself last: `toposort`, for what many passes ask of one node."""
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
