"""
Patterns of strides
===================

The steps for a Pad and a Shrink with a stride. There is no op for them, but five movement ops
(`spec.evaluation.strides`). A candidate is taken apart into the value, the offset, the shape and the stride, and put
together again. It matches if that gives the same node.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from soundline.impl.matching.types import Binding, Path, Step, every_step, node_at
from soundline.spec.errors import IllFormed
from soundline.spec.ops.node import Op, Shape, UOp
from soundline.spec.ops.sizes import sizes_of
from soundline.spec.rules.building import strided
from soundline.spec.rules.terms import Term

if TYPE_CHECKING:
    from soundline.impl.matching.types import Compiler

CHAINS: dict[Op, tuple[Op, ...]] = {
    Op.Pad: (Op.Pad, Op.Shrink, Op.Reshape, Op.Pad, Op.Reshape),
    Op.Shrink: (Op.Reshape, Op.Shrink, Op.Reshape, Op.Shrink, Op.Pad),
}
"""The ops that a Pad and a Shrink with a stride are, the outermost first."""

Parts = tuple[UOp, Shape, Shape, Shape]
"""A value, and the offset, the shape and the stride with which it is placed, or taken."""


def is_strided(term: Term) -> bool:
    """Whether a term is a Pad or a Shrink with a stride."""
    return term.head in CHAINS and len(term.args) == 4


def root_of(term: Term) -> Op:
    """The op of the node that such a term is."""
    return CHAINS[term.head][0]  # type: ignore[index]  # the head of a strided term is one of two ops


def step_of(compiler: Compiler, term: Term, path: Path) -> Step:
    """The step for such a term at a path below the root."""
    op = term.head
    assert isinstance(op, Op)
    inner = compiler.whole(term.args[0], (*path, *(0 for _ in CHAINS[op])))

    def found(root: UOp, k: int) -> Shape:
        """The offset, the shape or the stride at the place that is matched."""
        parts = parts_of(op, node_at(root, path))
        assert parts is not None
        return parts[k]  # type: ignore[return-value]  # the first part is no vector

    vectors = [compiler.vector(v, partial(found, k=k)) for k, v in enumerate(term.args[1:], 1)]

    def step(node: UOp, bound: Binding) -> bool:
        parts = parts_of(op, node)
        return parts is not None and inner(parts[0], bound) and every_step(vectors, parts[1:], bound)

    return step


def parts_of(op: Op, node: UOp) -> Parts | None:
    """The parts of a Pad or a Shrink with a stride; None where the node is not such a chain of ops."""
    nodes = [node]
    for expected in CHAINS[op]:
        if nodes[-1].op is not expected:
            return None
        nodes.append(nodes[-1].src[0])
    x = nodes[-1]
    placed = nodes[0] if op is Op.Pad else nodes[3]
    offset = sizes_of(placed.src[1])
    shape = sizes_of(node.src[2] if op is Op.Pad else node.src[1])
    pairs = sizes_of(nodes[3].src[2] if op is Op.Pad else nodes[2].src[1])
    if x.shape is None or offset is None or shape is None or pairs is None:
        return None
    stride = pairs[1::2]
    if not len(x.shape) == len(offset) == len(shape) == len(stride):
        return None
    try:
        again = strided(op, x, offset, shape, stride)
    except IllFormed:
        return None
    return (x, offset, shape, stride) if again is node else None
