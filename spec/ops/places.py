"""
Places
======

Which nodes name storage: a Buffer, or a Param that promises no bounds, under views and After.
"""

from __future__ import annotations

from soundline.spec.ops.node import Op, UOp

VIEWS = (
    Op.After,
    Op.Reshape,
    Op.Permute,
    Op.Flip,
    Op.Shrink,
    Op.Expand,
    Op.Index,
    Op.Slice,
    Op.Bitcast,
)
"""The ops through which a place may be named: reading one of them over storage reads only what is asked for."""


def base_of(node: UOp) -> UOp:
    """What lies under the views of a place."""
    while node.op in VIEWS:
        node = node.src[0]
    return node


def is_place(node: UOp) -> bool:
    """Whether a node names storage."""
    base = base_of(node)
    return base.op is Op.Buffer or (base.op is Op.Param and base.arg.bounds is None)
