"""
Rangeify
========

Determine the kernel split of the function, and break everything down to shape ``()``.

Input: a Function over flat buffers (`callify`). Output: a Linear of Sinks, one per kernel, in execution order. In it
every value is a scalar: what had a shape is a nest of Ranges, and what moved data is index arithmetic. Buffers 0 …
are the function's arguments, then its outputs, then temporaries.

*Invariant*: executing the Sinks in order leaves in the output buffers the values of the function; every element of
every output and temporary is stored exactly once before it is read; every Load is inside its buffer wherever its gate
is open.

A value is stored in a buffer of its own, *realized*, where it is an output, where a Reduce takes more operations in the
loops of its readers than it takes to store it (`reductions.costs`), where a costly expression would be computed more
often than it has elements, and where a product uses what is computed from floats again and again. All else is computed
where it is read. A value that repeats along axes is read at one position of them, and stored without them (`repeated`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from soundline.impl.analysis import arithmetic
from soundline.impl.lower.graphs.costs import (
    CHEAP,
    COSTS,
    ELEMENTWISE,
    cost_of_form,
    costs_of,
    is_of_floats,
)
from soundline.impl.lower.graphs.outputs import distinct, is_empty, without_empty_parts
from soundline.impl.lower.graphs.readings import (
    Reading,
    bitcast_views,
    in_dtype,
    loaded,
    on_a_line,
    part_of_bitcast,
    stack_sources,
)
from soundline.impl.lower.graphs.repeated import repeated_axes
from soundline.impl.lower.graphs.scalars import identity_of, joined_bitcast, split_bitcast, zero
from soundline.impl.lower.graphs.simplify import Applied
from soundline.impl.lower.graphs.size_arguments import elements_of, with_sizes_read
from soundline.impl.lower.graphs.views import (
    MOVEMENT,
    View,
    indexed,
    most_elements,
    most_iterations,
    pad_gate,
    selected,
    source_view,
    terms,
)
from soundline.impl.lower.reductions.closed_forms import closed_form, may_have_one, names_a_place
from soundline.impl.lower.reductions.costs import (
    Known,
    Read,
    ReductionCost,
    lanes_alone,
    lanes_inside,
    lanes_of_nest,
    work_of_reduction,
)
from soundline.spec.dtypes import bool_, index, uint8
from soundline.spec.errors import CompileError
from soundline.spec.ops.sizes import as_node, product
from soundline.spec.uop import AxisType, Op, ReduceArg, Shape, Size, UOp, buffer, loop, toposort

_OFTEN_AGAIN = 8
"""From so many uses in reductions on, a value as costly as a division is stored."""
_LARGE, _OFTEN = 1 << 12, 4
"""A value of so many elements that is padded, and read so often, is stored with its padding."""
_LANES = 64
"""A reduction of at most so many elements may have reductions inside: `optimize` makes lanes of its loop."""

_DEAR = 64
"""An expression above this cost is not looked into where a closed form of a reduction is wanted."""
_SOMEWHERE = 1 << 20
"""The slots of buffers that stand for values of which nothing is decided yet."""

_LEAVES = (Op.Const, Op.Param, Op.Load)
"""What a scalar is computed from and nothing else is: a Load is of an argument that holds a size."""


@dataclass(slots=True)
class _Kernel:
    """A realized value: its storage, its loops, and how it reads itself."""

    node: UOp
    storage: UOp
    shape: Shape
    """That of the storage: 1 along the axes along which the value repeats."""
    view: View
    ranges: tuple[UOp, ...]


@dataclass(slots=True)
class _Rangeifier:
    """The state of one run: what is read where, and what is realized."""

    arguments: dict[int, UOp]
    outputs: dict[UOp, UOp]
    next_slot: int
    costs: dict[UOp, int]
    repeated: dict[UOp, frozenset[int]]
    """The axes along which values repeat."""
    held: dict[UOp, Size]
    """The number of elements of each storage."""
    kernels: list[_Kernel] = field(default_factory=list)
    views: dict[UOp, dict[View, None]] = field(default_factory=dict)
    reads: dict[Reading, list[Reading]] = field(default_factory=dict)
    reductions: dict[Reading, tuple[UOp, ...]] = field(default_factory=dict)
    around: dict[UOp, frozenset[UOp]] = field(default_factory=dict)
    """For each loop of a reduction, the loops on which the reduction depends."""
    tiled: dict[int, list[Reading]] = field(default_factory=dict)
    """The reductions inside all loops of a kernel, by its number."""
    together: dict[UOp, tuple[UOp, ...]] = field(default_factory=dict)
    """For each loop of a reduction, all loops of that reduction."""
    applied: Applied = field(default_factory=Applied)
    closed: dict[UOp, UOp | None] = field(default_factory=dict)
    """Of each Reduce that was asked for it its closed form, or None."""
    choosing: set[UOp] = field(default_factory=set)
    """What says in a reduction without a loop which element is chosen: nothing that could be stored."""
    times: dict[Reading, int] = field(default_factory=dict)
    """How often a value is read at least where it is chosen by position, and no loop runs through it."""
    loops: int = 0

    def fresh(self, size: Size, kind: AxisType) -> UOp:
        """A new Range, or the constant 0 where it would run once."""
        if size == 1:
            return arithmetic.number(0)
        self.loops += 1
        return loop(as_node(size), self.loops - 1, kind)

    def realize(self, node: UOp) -> _Kernel:
        """Give a value a kernel and storage of its own."""
        if node.dtype is index:
            raise CompileError(
                "a value of dtype index cannot be stored", where=node.op.name, hint="cast it to int64"
            )
        storage = self.outputs.get(node)
        shape = self.stored_shape(node)
        if storage is None:
            dtype = uint8 if node.dtype is bool_ else node.dtype  # bytes of the arena cannot be read as bool
            storage = buffer(self.next_slot, most_elements(shape), dtype)
            self.next_slot += 1
        self.held[storage] = product(shape)
        coordinates = tuple(self.fresh(s, AxisType.LOOP) for s in shape)
        ranges = tuple(c for c in coordinates if c.op is Op.Range)
        kernel = _Kernel(node, storage, shape, View(len(self.kernels), coordinates), ranges)
        self.kernels.append(kernel)
        return kernel

    def stored_shape(self, node: UOp) -> Shape:
        """The shape in which a value is stored: 1 along axes along which it repeats; that of an output is whole."""
        repeated = frozenset() if node in self.outputs else self.repeated.get(node, frozenset())
        return tuple(1 if k in repeated else size for k, size in enumerate(node.shape or ()))

    def is_used_again(self, view: View) -> bool:
        """Whether reductions read a value in many iterations that do not change it, as a matrix product does."""
        around = [self.around[r] - view.ranges for r in view.ranges if r in self.around]
        return any(math.prod(map(most_iterations, loops)) >= _OFTEN_AGAIN for loops in around)

    def is_padded_again(self, node: UOp) -> bool:
        """Whether a large value is padded where a reduction reads each element often, as a convolution does."""
        elements, source = (most_elements(self.stored_shape(n)) for n in (node, node.src[0]))
        read = sum(v.evaluations for v in self.views[node])
        if elements < _LARGE or node.dtype is index:
            return False
        if any(map(self.is_used_again, self.views[node])):
            return elements <= _OFTEN * source
        little = 2 * elements <= 3 * source  # a prefix sum pads more: its windows are none in the end
        return little and read >= _OFTEN * elements

    def is_an_operand(self, node: UOp) -> bool:
        """Whether a value is a float that is computed, by whatever little, from other floats, and of which reductions
        use each element again and again: in a tile of a product what is left of a stored one is a load. What knows
        positions stays, since rules may find that a choice by position needs no loop.
        """
        if not node.dtype.is_float or node.op not in ELEMENTWISE or node.op is Op.Cast:
            return False
        return any(map(self.is_used_again, self.views[node])) and is_of_floats(node)

    def must_realize(self, node: UOp) -> bool:
        """Whether a value is stored rather than computed where it is read."""
        return self.why_realized(node) is not None

    def why_realized(self, node: UOp) -> str | None:
        """Why a value is stored rather than computed where it is read; None where it is not stored."""
        if node in self.outputs:
            return "it is an output"
        if node.op is Op.Pad and self.is_padded_again(node):
            return "it is padded, and read so often that its gates would cost more"
        if node.op in _LEAVES or node.op in MOVEMENT or node.op is Op.Stack:
            return None
        if node.op is Op.Contiguous:
            return "the program asks for it: Contiguous"
        views = self.views[node]
        elements = most_elements(self.stored_shape(node))
        again = sum(max(v.evaluations, self.times.get((node, v), 0)) for v in views) - elements
        form = self.loopless(node)
        if node in self.choosing:
            return None
        if form is not None:
            dear = again > 0 and node.dtype is not index and cost_of_form(form) > CHEAP
            return (
                f"it is a choice by position, of which {again} elements would be read again" if dear else None
            )
        if node.op is Op.Reduce:
            if len(views) > 1:
                return f"it is a reduction that is read in {len(views)} ways"
            if any(self.times.get((node, v)) for v in views):
                return "it is a reduction on which a choice by position depends"
            return self.why_stored_reduction(node, next(iter(views)), elements)
        if node.dtype is index or names_a_place(node):
            return None  # no storage holds the one, and the other is a comparison; what they are made of may be stored
        cost = self.costs[node]
        if cost >= COSTS[Op.Div] and any(map(self.is_used_again, views)):
            return f"it costs {cost} operations an element, and reductions use each element again and again"
        if cost > CHEAP and again * cost > elements * CHEAP:
            return f"it costs {cost} operations an element, and {again} elements would be computed again"
        if self.is_an_operand(node):
            return "it is computed, and reductions use each element again and again"
        return None

    def why_stored_reduction(self, node: UOp, view: View, elements: int) -> str | None:
        """Why a Reduce that is read in one way is stored; None where it is computed there."""
        kernel = self.kernels[view.kernel].ranges
        reductions = self.reductions_around(view)
        if math.prod(map(most_iterations, reductions)) > _LANES:
            return "it is a reduction in the loop of another one that is too long to become lanes"
        loops = view.ranges.union(*(self.around[r] for r in reductions))  # it depends on them, or is in them
        depth = max((k for k, r in enumerate(kernel, 1) if r in loops), default=0)
        runs = math.prod(map(most_iterations, (*kernel[:depth], *reductions)))
        all_own = depth == len(kernel) and not reductions
        if (
            runs == elements
            and all_own
            and all(map(_is_plain, view.coordinates))
            and self.shares_lanes(node, view)
        ):
            return None  # it runs once, in lanes of the nest
        lanes = 1  # a gate, loops inside that are not its own, or the tile of another reduction leave none
        if all_own and view.kernel in self.tiled:
            pass
        elif reductions and view.gate is None:
            lanes = lanes_inside(node, view, reductions[-1], self.known)
        elif depth == len(kernel) and view.gate is None:
            lanes = lanes_of_nest(node, view, kernel, self.known)
        work = work_of_reduction(node, self.costs[node.src[0]])
        alone = lanes_alone(node, self.stored_shape(node), self.known)
        return ReductionCost(elements, work, alone, (Read(runs, lanes),)).why_stored()

    @property
    def known(self) -> Known:
        """What the costs of reductions are estimated from."""
        return Known(self.costs, self.repeated)

    def shares_lanes(self, node: UOp, view: View) -> bool:
        """Whether a Reduce inside all loops of a nest has lanes there: it is the only one, for which tiles are made, or
        neighbours along the innermost loop make lanes of all.
        """
        inner = self.kernels[view.kernel].ranges[-1:]
        others = self.tiled.setdefault(view.kernel, [])
        if (node, view) in others:
            return True
        shares = not others or all(
            lanes_inside(n, v, r, self.known) > 1 for n, v in (*others, (node, view)) for r in inner
        )
        if shares:
            others.append((node, view))
        return shares

    def reductions_around(self, view: View) -> tuple[UOp, ...]:
        """The loops of reductions inside of which a reading is, the innermost last."""
        found: dict[UOp, None] = {}
        stack = [r for r in view.ranges if r in self.together]
        while stack:
            r = stack.pop()
            if r not in found:
                found |= dict.fromkeys(self.together[r])
                stack += [s for t in self.together[r] for s in self.around[t] if s in self.together]
        return tuple(sorted(found, key=lambda r: int(r.arg.id)))

    def loopless(self, node: UOp) -> UOp | None:
        """What a Reduce is at any position, if it needs no loop; None for every other value."""
        if node.op is not Op.Reduce:
            return None
        if node not in self.closed:
            self.closed[node] = None
            if may_have_one(node.src[0]):
                view = View(-1, tuple(self.fresh(size, AxisType.LOOP) for size in node.shape or ()))
                with suppress(CompileError):  # what has no scalar form is told when it is lowered
                    value = self.guessed(*self.sources(node, view)[0], {})
                    self.closed[node] = closed_form(self.folded(node, view, value), Applied())
        return self.closed[node]

    def folded(self, node: UOp, view: View, value: UOp) -> UOp:
        """A Reduce over the ranges that its axes have become."""
        ranges = self.reductions[node, view]
        return Op.Reduce(value, *ranges, arg=ReduceArg(node.arg.op)) if ranges else value

    def unless_empty(self, node: UOp, view: View, reduction: UOp) -> UOp:
        """A Reduce over ranges, or what the reduction of nothing is (U-10) where one of them may have no iterations."""
        nothing = identity_of(node.arg.op, node.dtype, empty=True)
        for size in (r.src[0] for r in self.reductions[node, view]):
            known = arithmetic.bounds(size)
            if known is None or known.lo <= 0:
                reduction = Op.Where(Op.CmpLe(size, arithmetic.number(0)), nothing, reduction)
        return reduction

    def is_reduction(self, node: UOp) -> bool:
        """Whether a value is a Reduce that needs its loop."""
        return node.op is Op.Reduce and self.loopless(node) is None

    def guessed(self, node: UOp, view: View, known: dict[Reading, UOp]) -> UOp:
        """One scalar of a value for which nothing is decided yet; what is likely stored is read from somewhere."""
        if (node, view) not in known:
            dear = self.costs[node] > _DEAR and not may_have_one(node)
            stored = self.is_reduction(node) or dear or node.op is Op.Param
            if stored and node.dtype is not index:
                size = most_elements(node.shape)
                place = buffer(_SOMEWHERE + len(known), size, uint8 if node.dtype is bool_ else node.dtype)
                known[node, view] = in_dtype(node.dtype, loaded(place, view, node.shape))
            else:
                values = [self.guessed(s, at, known) for s, at in self.sources(node, view)]
                known[node, view] = self.scalar(node, view, values)
        return known[node, view]

    def visit(self, node: UOp) -> None:
        """Decide about a value whose readers are all known, and note what it reads in turn."""
        views: Iterable[View] = self.views.get(node, {})
        if self.must_realize(node):
            views = [self.realize(node).view]
        for view in views:
            reads = self.sources(node, view)
            self.reads[node, view] = reads
            form = self.loopless(node)
            times = max(0 if form is None else view.evaluations, self.times.get((node, view), 0))
            for source, at in reads:
                if (form is not None or node in self.choosing) and may_have_one(source):
                    self.choosing.add(source)
                self.views.setdefault(source, {})[at] = None
                self.times[source, at] = max(times, self.times.get((source, at), 0))

    def sources(self, node: UOp, view: View) -> list[Reading]:
        """What one scalar of a value is computed from: sources at one position of axes along which they repeat."""
        return [(s, self.at_once(s, at)) for s, at in self.read_by(node, view)]

    def at_once(self, node: UOp, view: View) -> View:
        """A view of a value at the first position of the axes along which it repeats."""
        repeated = self.repeated.get(node)
        if not repeated:
            return view
        return view.at([arithmetic.number(0) if k in repeated else c for k, c in enumerate(view.coordinates)])

    def read_by(self, node: UOp, view: View) -> list[Reading]:
        """Where the sources of one scalar of a value are."""
        if node.op in _LEAVES:
            return []
        if node.op in MOVEMENT:
            return [(node.src[0], source_view(node, view))]
        if node.op is Op.Reduce:
            return [(node.src[0], self.reduced_view(node, view))]
        if node.op is Op.Stack:
            return stack_sources(node, view)
        if node.op is Op.Index:
            return [(node.src[0], self.indexed_view(node, view))]
        if node.op is Op.Bitcast:
            return [(node.src[0], v) for v in bitcast_views(node, view)]
        if node.op in ELEMENTWISE or node.op is Op.Contiguous:
            return [(s, view) for s in node.src]
        raise CompileError(f"rangeify has no scalar form of {node.op.name}", where=node.op.name)

    def reduced_view(self, node: UOp, view: View) -> View:
        """The source of a Reduce, with a loop for each reduced axis."""
        if len(node.src) > 1:
            raise CompileError("a Reduce over Ranges is not part of a tensor program", where="Reduce")
        shape = node.src[0].shape or ()
        found = [
            self.fresh(size, AxisType.REDUCE) if axis in node.arg.axes else c
            for axis, (size, c) in enumerate(zip(shape, view.coordinates, strict=True))
        ]
        self.around |= {found[a]: view.ranges for a in node.arg.axes if found[a].op is Op.Range}
        loops = tuple(found[a] for a in sorted(node.arg.axes) if found[a].op is Op.Range)
        self.reductions[node, view] = loops
        self.together |= dict.fromkeys(loops, loops)
        return view.at(found)

    def indexed_view(self, node: UOp, view: View) -> View:
        """The source of an Index: each index is computed on the spot."""
        return view.at(indexed(node, view.coordinates, lambda i, part: self.inline(i, view.at(part))))

    def inline(self, node: UOp, view: View) -> UOp:
        """The scalar of a value that is not realized at all, such as an index."""
        if node.op is Op.Reduce:
            raise CompileError("an index that needs a reduction is not lowered", where="Index")
        values = [self.inline(s, at) for s, at in self.sources(node, view)]
        return self.scalar(node, view, values)

    def scalar(self, node: UOp, view: View, values: Sequence[UOp]) -> UOp:
        """One scalar of a value, from the scalars that `sources` names."""
        if node.op in (Op.Const, Op.Load):
            return node
        if node.op is Op.Param:
            return loaded(self.arguments[node.arg.slot], view, node.shape)
        if node.op is Op.Pad:
            gate = pad_gate(node, view)
            return values[0] if gate is None else Op.Where(gate, values[0], zero(node.dtype))
        if node.op is Op.Reduce:
            reduction = self.folded(node, view, values[0])
            form = None if self.closed.get(node) is None else closed_form(reduction, self.applied)
            return self.unless_empty(node, view, reduction) if form is None else form
        if node.op is Op.Stack:
            return on_a_line(node, view.coordinates[0]) or selected(view.coordinates[0], values)
        if node.op is Op.Bitcast and node.src[0].dtype.itemsize != node.dtype.itemsize:
            if len(values) > 1:
                return joined_bitcast(values, node.dtype)
            return split_bitcast(values[0], part_of_bitcast(node, view), node.dtype)
        if node.op in ELEMENTWISE or node.op is Op.Bitcast:
            return UOp(node.op, tuple(values), node.arg)
        return values[0]  # movement and Contiguous: the scalar is the source's

    def nests(self, order: Sequence[UOp]) -> list[UOp]:
        """The kernels as store nests, in execution order; `order` has sources before users."""
        scalars: dict[Reading, UOp] = {}
        kernel_of = {k.node: k for k in self.kernels}
        found: list[UOp] = []
        for node in order:
            kernel = kernel_of.get(node)
            for view in [kernel.view] if kernel else self.views.get(node, {}):
                values = [scalars[r] for r in self.reads[node, view]]
                scalars[node, view] = self.scalar(node, view, values)
            if kernel:
                found.append(_stored(kernel, scalars[node, kernel.view]))
                for view in self.views.get(node, {}):
                    scalars[node, view] = in_dtype(node.dtype, loaded(kernel.storage, view, kernel.shape))
        return found


def _is_plain(coordinate: UOp) -> bool:
    return coordinate.op in (Op.Range, Op.Const)


def _stored(kernel: _Kernel, value: UOp) -> UOp:
    place = Op.Index(kernel.storage, arithmetic.flatten(kernel.view.coordinates, terms(kernel.shape)))
    effect: UOp = Op.Store(place, in_dtype(kernel.storage.dtype, value))
    for r in reversed(kernel.ranges):
        effect = Op.End(effect, r)
    return Op.Sink(effect)


@dataclass(frozen=True, slots=True)
class Realized:
    """A value that has storage of its own: which value, which slot, why, and what is computed with it in one kernel."""

    node: UOp
    storage: UOp
    why: str
    fused: tuple[UOp, ...]


@dataclass(frozen=True, slots=True)
class Split:
    """The kernels of a function, and how many elements each storage holds where that is less than there is room for."""

    kernels: UOp
    held: Mapping[UOp, Size]


def rangeify(function: UOp, applied: Applied | None = None) -> UOp:
    """The kernels of a function (`split`)."""
    return split(function, applied).kernels


def split(function: UOp, applied: Applied | None = None) -> Split:
    """Split a Function into kernels of scalars; raises `CompileError` for what has no scalar form.

    `applied` counts the rules by which reduces became expressions.
    """
    state, order = _decided(function)
    if applied is not None:
        state.applied = applied
    return Split(Op.Linear(*state.nests(order)), state.held)


def realized(function: UOp) -> list[Realized]:
    """What the kernel split of a function is, and why: its values with storage of their own, in execution order."""
    state, order = _decided(function)
    kernels = {k.node: k for k in state.kernels}
    members: dict[int, list[UOp]] = {}
    for node in order:
        if node in kernels:
            members.setdefault(kernels[node].view.kernel, []).append(node)
            continue
        for number in dict.fromkeys(v.kernel for v in state.views.get(node, ())):
            members.setdefault(number, []).append(node)
    found = []
    for node in (n for n in order if n in kernels):
        kernel = kernels[node]
        why = state.why_realized(node) or ""
        found.append(Realized(node, kernel.storage, why, tuple(members[kernel.view.kernel])))
    return found


def _decided(function: UOp) -> tuple[_Rangeifier, list[UOp]]:
    """What is decided about every value of a function, and the values in order."""
    arguments = function.src[1:]
    outputs = distinct(without_empty_parts(with_sizes_read(function)))
    storage = {
        node: buffer(len(arguments) + k, most_elements(node.shape), node.dtype)
        for k, node in enumerate(outputs)
        if node.dtype is not index
    }
    live = [node for node in outputs if not is_empty(node)]
    order = [n for n in toposort(*live) if n.shape is not None and n.op is not Op.Tuple]
    state = _Rangeifier(
        arguments=dict(enumerate(arguments)),
        outputs={n: storage[n] for n in live if n in storage},
        next_slot=len(arguments) + len(outputs),
        costs=costs_of(order),
        repeated=repeated_axes(order),
        held=elements_of(arguments, order),
    )
    roots = set(live)
    for node in reversed(order):
        if node in roots or node in state.views:
            state.visit(node)
    return state, order
