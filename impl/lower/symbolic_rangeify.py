"""
Rangeify at symbolic sizes
==========================

The kernels of a function whose shapes are expressions over sizes that are known when the program is called. The sizes
are arguments: int32 Buffers of one element. A kernel reads them before its loops, whose bounds are made of them, so
one program runs at every size.

As in `rangeify`, a value is computed where it is read, and what moves data is index arithmetic; here every Reduce,
every Contiguous and every costly expression has a kernel of its own. Temporaries have room for the greatest size; an
argument has the elements that it is shrunk to, and no more. *Invariant*: what `rangeify` promises, at every size.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from soundline.impl.analysis import arithmetic
from soundline.impl.analysis.arithmetic import Term
from soundline.impl.arrays.sizes import capacity
from soundline.impl.lower.graphs.costs import ELEMENTWISE
from soundline.impl.lower.graphs.scalars import identity_of, zero
from soundline.impl.lower.graphs.views import MOVEMENT, indexed, read, selected, stacked
from soundline.spec.arrays.movement import Given
from soundline.spec.dtypes import DType, bool_, index, uint8
from soundline.spec.errors import CompileError
from soundline.spec.ops.sizes import as_node, product, sizes_of
from soundline.spec.uop import AxisType, Op, ReduceArg, Shape, Size, UOp, buffer, loop, toposort

_COSTLY: Final = (Op.Exp2, Op.Log2, Op.Sin, Op.Pow, Op.Threefry)
Coordinates = tuple[UOp, ...]


def is_symbolic(function: UOp) -> bool:
    """Whether some shape of a Function is not made of numbers."""
    return any(not isinstance(s, int) for n in toposort(function.src[0]) for s in n.shape or ())


def rangeify_sizes(function: UOp) -> tuple[UOp, dict[UOp, UOp]]:
    """The kernels of a Function with symbolic shapes, and the number of elements that each storage holds."""
    state = _Symbolic(list(function.src[1:]))
    state.measure(function.src[0])
    outputs: list[UOp] = []
    for output in function.src[0].src:
        node = output
        while node in outputs or node.op in (Op.Param, Op.Const):
            node = Op.Contiguous(node)
        outputs.append(node)
    for node in outputs:
        state.store(node, node.dtype)
    for node in toposort(*outputs):
        if node.shape is not None and node.dtype is not index and state.is_stored(node):
            state.store(
                node, uint8 if node.dtype is bool_ else node.dtype
            )  # an arena of bytes holds no bools
            state.kernels.append(state.kernel(node))
    return Op.Linear(*state.kernels), state.held


@dataclass
class _Symbolic:
    """One run: what is stored where, and the kernels so far."""

    arguments: list[UOp]
    storage: dict[UOp, UOp] = field(default_factory=dict)
    held: dict[UOp, UOp] = field(default_factory=dict)
    kernels: list[UOp] = field(default_factory=list)
    values: dict[tuple[UOp, Coordinates, UOp | None], UOp] = field(default_factory=dict)
    sizes: dict[UOp, UOp] = field(default_factory=dict)
    loops: int = 0

    def __post_init__(self) -> None:
        self.held.update({b: arithmetic.number(b.arg.size) for b in self.arguments})

    def measure(self, body: UOp) -> None:
        """How many elements each argument has: what all that read it shrink it to, or else what its Buffer says."""
        readers: dict[int, set[UOp | None]] = {}
        for node in toposort(body):
            for source in node.src:
                if source.op is Op.Param:
                    whole = node.op is Op.Shrink and (sizes_of(node.src[1]) or (1,))[0] == 0
                    readers.setdefault(source.arg.slot, set()).add(node.src[2] if whole else None)
        for slot, found in readers.items():
            count = found.pop()
            if count is not None and not found:
                self.held[self.arguments[slot]] = self.size((sizes_of(count) or (0,))[0])

    def is_stored(self, node: UOp) -> bool:
        """Whether a value has a kernel of its own."""
        return node in self.storage or node.op in (Op.Reduce, Op.Contiguous) or node.op in _COSTLY

    def store(self, node: UOp, dtype: DType) -> None:
        """Give a value storage."""
        if node in self.storage:
            return
        if node.dtype is index:
            raise CompileError("a value of dtype index cannot be stored", where=node.op.name)
        slot = len(self.arguments) + len(self.storage)
        self.storage[node] = buffer(slot, capacity(node.shape), dtype)
        self.held[self.storage[node]] = self.size(product(node.shape or ()))

    def size(self, size: Size) -> UOp:
        """A size as the scalar that a kernel computes: what is an argument is loaded."""
        root = as_node(size)
        for node in toposort(root):
            if node in self.sizes:
                continue
            if node.op is Op.Param:
                own = Op.Load(Op.Index(self.arguments[node.arg.slot], arithmetic.number(0)))
            elif node.op in (Op.Reshape, Op.Index):
                own = self.sizes[node.src[0]]
            else:
                own = UOp(node.op, tuple(self.sizes[s] for s in node.src), node.arg) if node.src else node
            self.sizes[node] = own
        return self.sizes[root]

    def shape(self, node: UOp) -> tuple[UOp, ...]:
        """The sizes of a value as scalars of a kernel."""
        return tuple(self.size(s) for s in node.shape or ())

    def fresh(self, size: UOp, kind: AxisType) -> UOp:
        """A new loop, or 0 where it would run once."""
        if arithmetic.is_number(size, 1):
            return arithmetic.number(0)
        self.loops += 1
        return loop(size, self.loops - 1, kind)

    def kernel(self, node: UOp) -> UOp:
        """The loops that store a value."""
        coordinates = tuple(self.fresh(s, AxisType.LOOP) for s in self.shape(node))
        value = self.computed(node, coordinates, None)
        storage = self.storage[node]
        effect: UOp = Op.Store(Op.Index(storage, self.flat(coordinates, node)), _as(storage.dtype, value))
        for r in reversed(coordinates):
            effect = Op.End(effect, r) if r.op is Op.Range else effect
        return Op.Sink(effect)

    def flat(self, coordinates: Sequence[UOp], node: UOp) -> UOp:
        """The row-major number of a position."""
        return arithmetic.flatten(coordinates, self.terms(node.shape))

    def scalar(self, node: UOp, at: Coordinates, gate: UOp | None) -> UOp:
        """An element of a value: loaded where it is stored, and computed otherwise; needed where the gate is open."""
        key = node, at, gate
        if key not in self.values:
            if node in self.storage:
                self.values[key] = self.loaded(self.storage[node], node, at, gate)
            else:
                self.values[key] = self.computed(node, at, gate)
        return self.values[key]

    def loaded(self, storage: UOp, node: UOp, at: Coordinates, gate: UOp | None) -> UOp:
        place = Op.Index(storage, self.flat(at, node))
        found = Op.Load(place) if gate is None else Op.Load(place, zero(storage.dtype), gate)
        return _as(node.dtype, found)

    def computed(self, node: UOp, at: Coordinates, gate: UOp | None) -> UOp:
        """An element of a value from its sources."""
        if node.op is Op.Const:
            return node
        if node.op is Op.Param:
            return self.loaded(self.arguments[node.arg.slot], node, at, gate)
        if node.op in ELEMENTWISE or (
            node.op is Op.Bitcast and node.src[0].dtype.itemsize == node.dtype.itemsize
        ):
            if node.dtype is index and node.shape == ():
                return self.size(node)
            return UOp(node.op, tuple(self.scalar(s, at, gate) for s in node.src), node.arg)
        if node.op is Op.Contiguous:
            return self.scalar(node.src[0], at, gate)
        if node.op is Op.Reduce:
            return self.reduced(node, at)
        if node.op is Op.Stack and arithmetic.is_number(at[0]):
            return self.scalar(node.src[at[0].arg.value], stacked(at), gate)
        if node.op is Op.Stack:
            return selected(at[0], [self.scalar(s, stacked(at), gate) for s in node.src])
        if node.op is Op.Pad:
            return self.padded(node, at, gate)
        if node.op is Op.Index:
            place = indexed(node, at, lambda i, part: self.scalar(i, part, gate))
            return self.scalar(node.src[0], place, gate)
        return self.scalar(node.src[0], self.moved(node, at)[0], gate)

    def reduced(self, node: UOp, at: Coordinates) -> UOp:
        """A reduction; of an axis that may be empty, with the value of the reduction of nothing (U-10)."""
        if len(node.src) > 1:
            raise CompileError("a Reduce over Ranges is not part of a tensor program", where="Reduce")
        sizes = self.shape(node.src[0])
        inside = tuple(
            self.fresh(s, AxisType.REDUCE) if axis in node.arg.axes else c
            for axis, (s, c) in enumerate(zip(sizes, at, strict=True))
        )
        ranges = [inside[a] for a in sorted(node.arg.axes) if inside[a].op is Op.Range]
        value = self.scalar(node.src[0], inside, None)
        if not ranges:
            return value
        total = Op.Reduce(value, *ranges, arg=ReduceArg(node.arg.op))
        nothing = identity_of(node.arg.op, node.dtype, empty=True)
        for r in ranges:
            known = arithmetic.bounds(r.src[0])
            if known is None or known.lo <= 0:
                total = Op.Where(Op.CmpLe(r.src[0], arithmetic.number(0)), nothing, total)
        return total

    def padded(self, node: UOp, at: Coordinates, gate: UOp | None) -> UOp:
        index, own = self.moved(node, at)
        value = self.scalar(node.src[0], index, arithmetic.both(gate, own))
        return value if own is None else Op.Where(own, value, zero(node.dtype))

    def moved(self, node: UOp, at: Coordinates) -> tuple[Coordinates, UOp | None]:
        """Where a movement op reads its source, and the gate outside which it does not."""
        if node.op not in MOVEMENT:
            raise CompileError(f"{node.op.name} is not lowered at symbolic sizes", where=node.op.name)
        numbers = tuple(self.terms(sizes_of(s)) for s in node.src[1:])
        return read(node.op, Given((self.terms(node.src[0].shape),), node.arg, numbers), at)

    def terms(self, sizes: Shape | None) -> tuple[Term, ...]:
        """Sizes as terms of a kernel."""
        return tuple(s if isinstance(s, int) else arithmetic.term_of(self.size(s)) for s in sizes or ())


def _as(dtype: DType, value: UOp) -> UOp:
    return value if value.dtype is dtype else Op.Cast(value, arg=dtype)
