"""
Steps
=====

Cut a function where something else than its own kernels must run: at Calls, which run what is compiled apart, and
where a value moves to another device. What lies between the cuts are functions of their own; each goes through the
lowering pipeline, and equal ones are one *unit*, lowered and compiled once.

Input: a Function over flat Buffers whose body may hold Calls and Loads to other devices (`callify`). Output: the steps
in the order in which they run, over *places*: the arguments from 0, then the results, then temporaries.

*Invariant*: every place but the arguments is written by one step, before any step reads it; the results hold the
values of the function. A value is computed at the level of the Calls and moves that it waits for, and is stored where a
later level needs it; movement of a stored value is computed again where it is read.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from soundline.impl.lower.callify import inlined
from soundline.impl.lower.graphs.views import MOVEMENT, shape_of
from soundline.spec.dtypes import DType, index
from soundline.spec.ops.bodies import own_nodes, own_sources
from soundline.spec.ops.bodies import slots as closed_slots
from soundline.spec.ops.node import Device, rebuilt_nodes
from soundline.spec.uop import Op, UOp, buffer, param, reshape, toposort


@dataclass(frozen=True, slots=True)
class Place:
    """What a step writes and others read: as many elements of a dtype, on a device."""

    size: int
    dtype: DType
    device: Device = None

    @property
    def nbytes(self) -> int:
        """The number of bytes that it takes."""
        return self.size * self.dtype.itemsize


@dataclass(frozen=True, slots=True)
class Run:
    """Run a unit, a Function over flat Buffers: which places are its arguments and results."""

    unit: UOp
    takes: tuple[int, ...]
    gives: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Copy:
    """Copy one place to another, which is on another device."""

    takes: tuple[int, ...]
    gives: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Foreign:
    """Run the CustomFunction of a Call."""

    function: UOp
    takes: tuple[int, ...]
    gives: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Embedded:
    """Run a program that is compiled already."""

    program: Compiled
    takes: tuple[int, ...]
    gives: tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Compiled:
    """The tag of the Call of a compiled program: whose kernels the Call runs."""

    program: Any


Step = Run | Copy | Foreign | Embedded


@dataclass(frozen=True, slots=True)
class Steps:
    """A function as steps over places: first its arguments, then its results, then temporaries."""

    arguments: int
    results: int
    places: tuple[Place, ...]
    steps: tuple[Step, ...]

    @property
    def units(self) -> tuple[UOp, ...]:
        """The units that the steps run, each once, in the order of their first use."""
        return tuple(dict.fromkeys(s.unit for s in self.steps if isinstance(s, Run)))


def steps_of(function: UOp, called: frozenset[UOp] = frozenset()) -> Steps:
    """The steps of a Function over Buffers; `called` are the bodies of the Functions in it that become Calls."""
    places = [Place(b.arg.size, b.dtype, b.device) for b in function.src[1:]]
    elsewhere = any(b.device != "CPU" for b in function.src[1:])
    if not elsewhere and not any(_is_cut(n) for n in own_nodes(*function.src[0].src)):
        results = [_place_of(o) for o in function.src[0].src]
        ids = tuple(range(len(places) + len(results)))
        run = Run(numbered(function), ids[: len(places)], ids[len(places) :])
        return Steps(len(places), len(results), (*places, *results), (run,))
    return _Cutter(list(function.src[0].src), places, called, {}).steps()


def numbered(function: UOp) -> UOp:
    """The function with its arguments numbered from 0, so that equal functions are one node."""
    fresh = (buffer(k, b.arg.size, b.dtype) for k, b in enumerate(function.src[1:]))
    return Op.Function(function.src[0], *fresh)


def _is_cut(node: UOp) -> bool:
    """Whether a value comes from a Call, or from another device."""
    if node.op is Op.GetTuple:
        return node.src[0].op is Op.Call
    return node.op is Op.Load


def _place_of(node: UOp) -> Place:
    return Place(math.prod(shape_of(node)), node.dtype, node.device)


def _base(node: UOp) -> UOp:
    """The value whose elements, in their order, are those of a node."""
    while node.op is Op.Reshape:
        node = node.src[0]
    return node


@dataclass
class _Cutter:
    """The cutting of one body over Params."""

    outputs: list[UOp]
    places: list[Place]
    called: frozenset[UOp]
    known: dict[UOp, Steps]
    """The steps of bodies that are called, by body."""
    level: dict[UOp, int] = field(default_factory=dict)
    fixed: dict[UOp, bool] = field(default_factory=dict)
    """Whether a node depends on no argument and no Call."""
    stored: dict[UOp, int] = field(default_factory=dict)
    """The places of values."""
    wanted: dict[int, dict[Device, dict[UOp, None]]] = field(default_factory=dict)
    """What each level computes and stores, by device."""
    cuts: dict[int, dict[UOp, None]] = field(default_factory=dict)
    """The Calls and moves that are needed, by the level of their results."""
    found: dict[int, list[list[Step]]] = field(default_factory=dict)

    def steps(self) -> Steps:
        """The steps."""
        arguments, results = len(self.places), len(self.outputs)
        for node in own_nodes(*self.outputs):
            self.learn(node)
        self.places += [_place_of(o) for o in self.outputs]
        for k, output in enumerate(self.outputs):
            node = _base(output)
            if node.op is Op.Param or node in self.stored:
                node = Op.Contiguous(output)
                while node in self.stored:
                    node = Op.Contiguous(node)
                self.learn(node)
            self.stored[node] = arguments + k
            self.want(node)
        made: list[Step] = []
        for level in range(max(self.level.values(), default=0), -1, -1):
            segments = [self.segment(nodes) for nodes in self.wanted.get(level, {}).values()]
            before = [step for cut in list(self.cuts.get(level, {})) for step in self.cut(cut)]
            made = [*before, *segments, *made]
        return Steps(arguments, results, tuple(self.places), tuple(made))

    def learn(self, node: UOp) -> None:
        """The level of a node whose sources are known."""
        below = own_sources(node)
        self.level[node] = max((self.level[s] for s in below), default=0) + _is_cut(node)
        self.fixed[node] = node.op is not Op.Param and not _is_cut(node) and all(self.fixed[s] for s in below)

    def want(self, node: UOp) -> UOp:
        """See to it that a value is stored; the node under which its place is known."""
        node = _base(node)
        if node.op is Op.Param:
            self.stored[node] = node.arg.slot
        elif _is_cut(node):
            self.cuts.setdefault(self.level[node], {})[self.cause(node)] = None
        else:
            self.wanted.setdefault(self.level[node], {}).setdefault(node.device, {})[node] = None
        self.place(node)
        return node

    def cause(self, node: UOp) -> UOp:
        """The Call or the Load that a cut value comes from."""
        return node.src[0] if node.op is Op.GetTuple else node

    def place(self, node: UOp) -> int:
        """The place of a value, a fresh temporary where it has none."""
        if node not in self.stored:
            self.stored[node] = len(self.places)
            self.places.append(_place_of(node))
        return self.stored[node]

    def segment(self, nodes: dict[UOp, None]) -> Run:
        """The function that computes values of one level on one device."""
        roots = list(nodes)
        inputs: dict[UOp, UOp] = {}
        level = self.level[roots[0]]

        def below(node: UOp) -> tuple[UOp, ...]:
            return () if self.is_input(node, level) else node.src

        def change(node: UOp, _: tuple[UOp, ...]) -> UOp | None:
            if not self.is_input(node, level):
                return None
            stored = self.want(node)
            own = inputs.setdefault(stored, self.argument(stored, len(inputs)))
            return own if node is stored else reshape(own, shape_of(node))

        new = rebuilt_nodes(toposort(*roots, below=below), change, below)
        storage = (buffer(k, math.prod(shape_of(n)), n.dtype) for k, n in enumerate(inputs))
        unit = Op.Function(Op.Tuple(*(new[r] for r in roots)), *storage)
        return Run(unit, tuple(self.place(n) for n in inputs), tuple(self.place(r) for r in roots))

    def argument(self, node: UOp, slot: int) -> UOp:
        """A stored value as an argument of a unit: flat storage in its shape."""
        shape = shape_of(node)
        own = param(slot, node.dtype, (math.prod(shape),))
        return own if own.shape == shape else reshape(own, shape)

    def is_input(self, node: UOp, level: int) -> bool:
        """Whether a value is read from where it is stored, rather than computed at this level."""
        if node.shape is None or node.dtype is index:
            return False
        if node.op is Op.Param or _is_cut(node):
            return True
        moved = node.op in MOVEMENT or node.op in (Op.Stack, Op.Const)
        return self.level[node] < level and not moved and not self.fixed[node]

    def cut(self, cause: UOp) -> list[Step]:
        """The steps of a Call or of a move, once all that is needed of it is known."""
        if cause.op is Op.Load:
            source = self.want(cause.src[0])
            return [Copy((self.place(source),), (self.place(cause),))]
        body = cause.src[0]
        ours = body.op is Op.Tuple and not isinstance(cause.tag, Compiled)
        used = closed_slots(body) if ours else range(len(cause.src) - 1)
        takes = tuple(self.place(self.want(a)) if k in used else 0 for k, a in enumerate(cause.src[1:]))
        gives = tuple(self.place(Op.GetTuple(cause, arg=k)) for k in range(len(body.src)))
        if body.op is Op.CustomFunction:
            return [Foreign(body, takes, gives)]
        if isinstance(cause.tag, Compiled):
            return [Embedded(cause.tag, takes, gives)]
        inner = self.called_steps(body)
        places = [*takes[: inner.arguments], *gives]
        for place in inner.places[len(places) :]:
            places.append(len(self.places))
            self.places.append(place)
        return [_moved(step, places) for step in inner.steps]

    def called_steps(self, body: UOp) -> Steps:
        """The steps of a body that is called."""
        if body not in self.known:
            params = {p.arg.slot: p for p in own_nodes(*body.src) if p.op is Op.Param}
            count = max(params, default=-1) + 1
            places = [_place_of(params[k]) if k in params else Place(0, index) for k in range(count)]
            outputs = inlined(body.src, called=self.called)
            self.known[body] = _Cutter(outputs, places, self.called, self.known).steps()
        return self.known[body]


def _moved(step: Step, places: Sequence[int]) -> Step:
    """A step of a callee over the places of its caller."""
    takes, gives = (tuple(places[k] for k in some) for some in (step.takes, step.gives))
    return replace(step, takes=takes, gives=gives)
