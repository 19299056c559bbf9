"""
Padto
=====

An axis of n iterations is extended to the next multiple of m. The results of the added iterations must not be visible.
In a Reduce they contribute the identity, chosen by a Where around the whole operand: an identity that goes *into* the
elementwise operations of the body does not come out of them as one (2^0 is 1). The identity of a float Add is ``-0.0``:
a sum of nothing but ``-0.0`` stays what it is (U-10). Under an End they store nothing. In neither do they touch memory:
a Load that depends on the axis is gated, and an index into a value that is no memory stays inside of it.
"""

from __future__ import annotations

from collections.abc import Collection

from soundline.spec.dtypes import DType, zero_of
from soundline.spec.kernels.iteration_spaces import Kernel
from soundline.spec.kernels.opt import OptOp
from soundline.spec.kernels.schema import Refusal
from soundline.spec.ops import bodies
from soundline.spec.ops.building import const
from soundline.spec.ops.node import AxisType, Op, UOp, rebuilt, toposort
from soundline.spec.ops.places import base_of
from soundline.spec.ops.programs import reduction
from soundline.spec.ops.sizes import as_node


def neutral(op: Op, dtype: DType) -> UOp | None:
    """The exact identity of a reduction, as a constant; None where the dtype has none."""
    value = reduction.neutral(op, dtype)
    return None if value is None else const(value, dtype)


def zero(dtype: DType) -> UOp:
    """The alternative of a Load that does not happen."""
    return const(zero_of(dtype), dtype)


def padded(kernel: Kernel, opt: OptOp, refusal: Refusal, licences: Collection[str]) -> UOp:
    """The kernel with an axis padded to a multiple."""
    axis, multiple = refusal.axis(opt.axis), opt.arg
    if type(multiple) is not int or multiple < 1:
        raise refusal.of(1, f"the multiple {multiple!r}", axis)
    if axis.arg.type is AxisType.WARP:
        raise refusal.of(2, "WARP", axis)
    count = refusal.size(axis, 5)
    size = -(-count // multiple) * multiple
    if size == count:
        return kernel.sink
    for node in toposort(kernel.sink):
        if node.op is Op.End and node.src[1] is axis:
            for effect in _inside(node):
                if effect.op is not Op.Store:
                    raise refusal.of(3, f"a {effect.op.name}", axis)
        if node.op is Op.Reduce and axis in node.src[1:] and neutral(node.arg.op, node.dtype) is None:
            raise refusal.of(4, f"{node.arg.op.name} on {node.dtype}", axis)
    (longer,) = kernel.fresh_axes((size, axis.arg.type))
    return _Padded(kernel.sink, axis, longer).sink()


def _inside(end: UOp) -> set[UOp]:
    """The effects that an End repeats: those of its body, and those that depend on its axis."""
    free = bodies.free_by_node(end)
    found = {n for n in free if n.op in (Op.Store, Op.AtomicAdd) and end.src[1] in free[n]}
    chain = [end.src[0]]
    while chain:
        node = chain.pop()
        if node.op in (Op.End, Op.Group):
            chain.extend(node.src[:1] if node.op is Op.End else node.src)
        else:
            found.add(node)
    return found


class _Padded:
    """A kernel in which one axis is longer, and guarded."""

    def __init__(self, kernel: UOp, axis: UOp, longer: UOp) -> None:
        self.kernel, self.axis, self.longer = kernel, axis, longer
        self.valid = Op.CmpLt(longer, axis.src[0])
        self.free = bodies.free_by_node(kernel)
        ends = [n for n in self.free if n.op is Op.End and n.src[1] is axis]
        self.stores = {s for end in ends for s in _inside(end)}
        self.places = {n.src[0] for n in self.free if n.op in (Op.Load, Op.Store, Op.AtomicAdd)}

    def sink(self) -> UOp:
        """The padded kernel."""
        return rebuilt(self.kernel, self.change)

    def change(self, node: UOp, src: tuple[UOp, ...]) -> UOp | None:
        """The new node for a node whose sources are padded."""
        if node is self.axis:
            return self.longer
        depends = self.axis in self.free[node]
        if node.op is Op.Load and depends:
            return self.loaded(node, src)
        if node.op is Op.Store and node in self.stores:
            return UOp(Op.Store, (*src[:2], self.gated(src[2:])), node.arg)
        if node.op is Op.Reduce and self.axis in node.src[1:]:
            identity = neutral(node.arg.op, node.dtype)
            assert identity is not None
            return UOp(Op.Reduce, (Op.Where(self.valid, src[0], identity), *src[1:]), node.arg)
        if node.op is Op.Index and depends and node not in self.places and base_of(node).op is not Op.Buffer:
            return UOp(Op.Index, (src[0], *(self.inside(i) for i in src[1:])), node.arg)
        return None

    def gated(self, gates: tuple[UOp, ...]) -> UOp:
        """The gate of an access, and that the iteration is one of the old ones."""
        return Op.And(self.valid, gates[0]) if gates else self.valid

    def loaded(self, node: UOp, src: tuple[UOp, ...]) -> UOp:
        """A Load that happens in the old iterations only."""
        alternative = src[1] if len(src) > 1 else zero(node.dtype)
        return UOp(Op.Load, (src[0], alternative, self.gated(src[2:])), node.arg)

    def inside(self, at: UOp) -> UOp:
        """An index that is 0 in the added iterations."""
        return Op.Where(self.valid, at, as_node(0)) if at.shape == () else at
