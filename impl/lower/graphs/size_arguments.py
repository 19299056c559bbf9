"""
Sizes that are arguments
========================

A function with symbolic sizes takes each size as an argument of its own, an int32 Buffer of one element. Here its
shapes become expressions that a kernel can compute, over what it loads from these arguments; so lowering needs nothing
else to know about a size. In storage of such a shape there is room for the greatest sizes, but a kernel may use no more
of it than the size says: of an argument, the elements that all that read it shrink it to.
"""

from __future__ import annotations

from collections.abc import Sequence

from soundline.impl.analysis import arithmetic
from soundline.spec.ops.node import rebuilt_nodes
from soundline.spec.ops.sizes import sizes_of
from soundline.spec.uop import Op, Size, UOp, toposort


def is_symbolic(function: UOp) -> bool:
    """Whether some shape of a Function is not made of numbers."""
    return any(not isinstance(s, int) for n in toposort(function.src[0]) for s in n.shape or ())


def is_symbolic_loop(node: UOp) -> bool:
    """Whether a node is a Range whose bound is a symbolic size."""
    bound = node.src[0] if node.op is Op.Range else None
    return bound is not None and bound.op not in (Op.Const, Op.Where) and not arithmetic.ranges_of(bound)


def with_sizes_read(function: UOp) -> Sequence[UOp]:
    """The outputs of a function, whose symbolic sizes are made of what kernels load from arguments of one element."""
    outputs = function.src[0].src
    nodes = list(toposort(*outputs))
    sizes = [s for n in nodes for s in n.shape or () if not isinstance(s, int)]
    holders = {n for n in toposort(*sizes) if n.op is Op.Param}
    if not holders:
        return outputs

    def loaded(node: UOp, src: tuple[UOp, ...]) -> UOp | None:
        if node.shape != () or node.op not in (Op.Reshape, Op.Index) or node.src[0] not in holders:
            return None
        return Op.Load(Op.Index(function.src[1 + node.src[0].arg.slot], arithmetic.number(0)))

    new = rebuilt_nodes(nodes, loaded)
    return [new[o] for o in outputs]


def elements_of(arguments: Sequence[UOp], order: Sequence[UOp]) -> dict[UOp, Size]:
    """How many elements each argument has: what all that read it shrink it to, or else what its Buffer says."""
    readers: dict[int, set[UOp | None]] = {}
    for node in order:
        for source in node.src:
            if source.op is Op.Param:
                whole = node.op is Op.Shrink and (sizes_of(node.src[1]) or (1,))[0] == 0
                readers.setdefault(source.arg.slot, set()).add(node.src[2] if whole else None)
    found: dict[UOp, Size] = {b: b.arg.size for b in arguments}
    for slot, counts in readers.items():
        count = counts.pop()
        if count is not None and not counts:
            found[arguments[slot]] = (sizes_of(count) or (0,))[0]
    return found
