"""
Outputs
=======

The outputs of a function before it is split into kernels: what has no elements is gone, and each output is a node that
can have storage of its own.
"""

from __future__ import annotations

from collections.abc import Sequence

from soundline.impl.lower.graphs.scalars import filled, identity_of, zero
from soundline.spec.ops.node import rebuilt_nodes
from soundline.spec.uop import Op, UOp, toposort


def without_empty_parts(outputs: Sequence[UOp]) -> list[UOp]:
    """The outputs with every value that is known to be constant because a source of it has no elements (U-10). Tags are
    left out: what differs by its tag alone is computed once.
    """

    def change(node: UOp, src: tuple[UOp, ...]) -> UOp | None:
        if not src:
            return node
        made = UOp(node.op, src, node.arg)
        emptied = made.op in (Op.Reduce, Op.Pad) and made.shape is not None and is_empty(src[0])
        if not emptied or is_empty(made):
            return made
        reduces = made.op is Op.Reduce
        value = identity_of(made.arg.op, made.dtype, empty=True) if reduces else zero(made.dtype)
        return filled(value, made.shape or ())

    new = rebuilt_nodes(toposort(*outputs), change)
    return [new[o] for o in outputs]


def is_empty(node: UOp) -> bool:
    """Whether a value has no elements, whatever its sizes are."""
    return 0 in (node.shape or ())


def distinct(outputs: Sequence[UOp]) -> list[UOp]:
    """Outputs that are pairwise different nodes and no leaves, so that each can have storage of its own."""
    found: list[UOp] = []
    for node in outputs:
        while node in found or node.op in (Op.Param, Op.Const):
            node = Op.Contiguous(node)
        found.append(node)
    return found
