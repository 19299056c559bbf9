"""
Devices
=======

The second reading of a program: device by device. A node on an n-tuple of devices is n arrays: along its axis the n
parts of its value, or where the axis is null n replicas. Each array is computed from what its device holds, by a
program of that device alone, which is made here node by node (U-35): sizes along the shard axis are divided by n, a
replica is cut where a part is wanted, a Buffer is the storage on that device.

Two ops move data between devices, and every `Transfer` is recorded:

- a Load to a device sends each target what it does not hold;
- a Reduce over the shard axis sends each device the parts of the others, and reduces all of it there, so that a
  float sum keeps its order. (Under ``reassociate`` a lowering may send partial sums instead.)

Replicated over the shard axis moves nothing: each device keeps the first slice that it holds. That all slices agree is
an obligation, and where they do not, every copy is invalid, as the meaning says.

*Theorem*: the arrays joined along the axis are what `evaluate` gives, and replicas are equal. So the reading holds the
law of the axis to account: if a derived axis were wrong, some device would compute from what it does not have.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import count

from soundline.spec.arrays import movement
from soundline.spec.arrays.arrays import Array
from soundline.spec.devices.transfers import Held, Transfer, agreement, delivered, part
from soundline.spec.dtypes import index
from soundline.spec.errors import EvaluationError
from soundline.spec.evaluate import bound_value, open_frame
from soundline.spec.evaluation.frames import Frame, Functions
from soundline.spec.evaluation.functions import inlined
from soundline.spec.evaluation.values import Bindings, bind_sizes, param_value
from soundline.spec.ops import bodies
from soundline.spec.ops.node import Device, LoadArg, Op, SliceArg, UOp
from soundline.spec.ops.shards import parts
from soundline.spec.ops.table.entries import group_of
from soundline.spec.ops.walks import filled
from soundline.spec.uop import const, param, shrink

_ALIKE = (*group_of("elementwise", "decomposed"), Op.CDiv, Op.CMod, Op.Load)
"""The ops whose sources all have the shape and axis of the result; a scalar gate apart."""
_SIZED = (Op.Reshape, Op.Expand, Op.Pad, Op.Shrink)
"""The ops whose last source is the shape of the result."""
_JOINS = (Op.Group, Op.Sink, Op.Barrier)
"""The ops that hold effects of several devices together."""


@dataclass(frozen=True, slots=True)
class OnDevices(Held):
    """What `evaluate_on_devices` gives: the arrays, and what was sent for them, in order."""

    transfers: tuple[Transfer, ...] = ()


@dataclass(frozen=True, slots=True)
class Home:
    """One device of the device of a node: `at` is its position where that is a tuple."""

    device: Device
    at: int

    @property
    def name(self) -> str | None:
        """The device itself."""
        return self.device[self.at] if isinstance(self.device, tuple) else self.device

    def part(self, size: int) -> int:
        """The size of one part of an axis."""
        return size // parts(self.device)


def homes(device: Device) -> list[Home]:
    """The devices of a node, one by one."""
    return [Home(device, at) for at in range(parts(device))]


def needs_others(node: UOp) -> bool:
    """Whether a device cannot compute its array of this node from what it holds, and other devices must send or decide
    it.
    """
    if node.op is Op.Load:
        return node.arg is not None and node.arg.device is not None
    axis = node.src[0].axis if node.op in (Op.Reduce, Op.Replicated) else None
    return axis is not None and axis in (node.arg.axes if node.op is Op.Reduce else node.arg)


def evaluate_on_devices(
    u: UOp,
    params: Bindings | None = None,
    buffers: Bindings | None = None,
    functions: Functions | None = None,
) -> OnDevices:
    """The arrays that the devices of a node hold, and what was sent for them.

    Params and Buffers are bound to whole values, as for `evaluate`, and are divided as their axis says.
    """
    reading = _Reading.of(u, params or {}, buffers or {}, functions or {})
    held = reading.held(reading.root)
    if not held.joined().valid:
        raise EvaluationError("the result has an invalid element", rule="U-01", where=u.op.name)
    return OnDevices(held.device, held.axis, held.shards, tuple(reading.transfers))


def execute_on_devices(
    program: UOp,
    buffers: Bindings | None = None,
    params: Bindings | None = None,
    functions: Functions | None = None,
) -> dict[int, OnDevices]:
    """What the devices of every Buffer hold of it after the effects of a program, by slot."""
    found: dict[int, OnDevices] = {}
    for node in bodies.own_nodes(program):
        if node.op is Op.Buffer:
            reading = _Reading.of(Op.After(node, program), params or {}, buffers or {}, functions or {})
            held = reading.held(reading.root)
            found[node.arg.slot] = OnDevices(held.device, held.axis, held.shards, tuple(reading.transfers))
    return found


@dataclass(slots=True, eq=False)
class _Reading:
    """One reading: the programs of the devices so far, and what is bound in them."""

    root: UOp
    outside: Frame
    """The frame in which `evaluate` would compute the root: it knows the bindings, and the effects of every node."""
    buffers: Bindings
    slots: Iterator[int]
    """Slots that no Param of the program has, for what is received."""
    transfers: list[Transfer] = field(default_factory=list)
    local: dict[Home, dict[UOp, UOp]] = field(default_factory=dict)
    params: dict[Home, dict[int, Array]] = field(default_factory=dict)
    memory: dict[Home, dict[int, Array]] = field(default_factory=dict)
    known: dict[UOp, Held] = field(default_factory=dict)
    arrived: dict[UOp, list[Array]] = field(default_factory=dict)

    @staticmethod
    def of(u: UOp, params: Bindings, buffers: Bindings, functions: Functions) -> _Reading:
        """The reading of a program, its Functions substituted and its sizes bound."""
        root = inlined(bind_sizes(u, params))
        if root.shape is None:
            raise EvaluationError(
                "this node has no value", rule=f"uop-{root.op.name.lower()}-sem", where=root.op.name
            )
        outside = open_frame(root, params, buffers, functions)
        used = [p.arg.slot for p in bodies.params(root)]
        return _Reading(root, outside, buffers, count(max([-1, *used, *params]) + 1))

    def held(self, node: UOp) -> Held:
        """The arrays of a node, each computed by the program of its device."""
        if node not in self.known:
            self.outside.program.learn(node)
            arrays = tuple(self.computed(self.program(node, home), home) for home in homes(node.device))
            self.known[node] = Held(node.device, node.axis, arrays)
        return self.known[node]

    def computed(self, program: UOp, home: Home) -> Array:
        """The value of the program of one device, which may have invalid elements."""
        own, memory = self.params.get(home, {}), self.memory.get(home, {})
        return open_frame(program, own, memory, self.outside.program.functions).value(program)

    # The program of one device ------------------------------------------------------------------------------------

    def program(self, root: UOp, home: Home) -> UOp:
        """The node as this device computes it."""
        local = self.local.setdefault(home, {})

        def made(node: UOp) -> UOp:
            return self.made(node, [local[s] for s in self.below(node, home)], home)

        return filled(local, root, lambda node: self.below(node, home), made)

    def below(self, node: UOp, home: Home) -> list[UOp]:
        """What the program of a device has below a node: its sources, and for sources on other devices only their
        effects here.
        """
        if node.device not in (None, home.device):
            raise EvaluationError(
                f"a value on {node.device!r} is used on {home.device!r}", rule="U-29", where=node.op.name
            )
        if needs_others(node):
            return self.effects((node,), home)
        if node.op is Op.After:
            return [node.src[0], *self.effects(node.src[1:], home)]
        if node.op in _JOINS:
            return [s for s in node.src if s.device in (None, home.device)]
        return list(bodies.own_sources(node))

    def effects(self, roots: tuple[UOp, ...], home: Home) -> list[UOp]:
        """What must have happened on a device for the roots, in order."""
        found = {e: None for r in roots for e in self.outside.program.effects[r]}
        return [e for e in found if e.device in (None, home.device)]

    def made(self, node: UOp, below: list[UOp], home: Home) -> UOp:
        """The node over what the device has below it."""
        if needs_others(node):
            return self.received(node, below, home)
        divided = [s for s in node.src if s.axis is not None]
        match node.op:
            case Op.Buffer:
                return self.storage(node, home)
            case Op.Param:
                return self.bound(node, below, home)
            case Op.Call | Op.Wmma if divided:
                raise EvaluationError(
                    "what a kernel does with a part of a value is not known", rule="U-35", where=node.op.name
                )
            case Op.Call | Op.Function:
                return UOp(node.op, (node.src[0], *below), node.arg)
            case op if op in _ALIKE:
                below = self.parts_of(node.src, below, node.axis, home)
            case Op.Stack:
                below = self.parts_of(node.src, below, None if node.axis is None else node.axis - 1, home)
            case Op.Store | Op.AtomicAdd:
                below = self.parts_of(node.src, below, node.src[0].axis, home)
            case op if op in _SIZED and node.axis is not None:
                below[-1] = _divided(below[-1], node.axis, home)
            case Op.Slice if node.axis is not None:
                return UOp(Op.Slice, tuple(below), SliceArg(home.part(node.arg.size), node.dtype))
        return UOp(node.op, tuple(below), node.arg)

    def parts_of(self, sources: tuple[UOp, ...], local: list[UOp], axis: int | None, home: Home) -> list[UOp]:
        """What a device has of sources of one shape, where a node along `axis` needs them: a replica is cut."""
        return [
            x if axis is None or s.axis is not None or s.shape == () else _cut(x, axis, home)
            for s, x in zip(sources, local, strict=True)
        ]

    # What is bound in it ------------------------------------------------------------------------------------------

    def storage(self, node: UOp, home: Home) -> UOp:
        """The storage of a Buffer on one device."""
        if node.arg.slot in self.buffers:
            whole = bound_value(self.buffers[node.arg.slot], node.dtype)
            self.memory.setdefault(home, {})[node.arg.slot] = _own(whole, node.axis, home)
        return UOp(Op.Buffer, (), replace(node.arg, device=home.name))

    def bound(self, node: UOp, below: list[UOp], home: Home) -> UOp:
        """A Param, bound to what one device holds of its binding."""
        if node.axis is not None and node.device is None:
            raise EvaluationError(
                "the parts of a Param are on no device", rule="uop-param-c4", where=f"Param {node.arg.slot}"
            )
        if node.arg.slot in self.outside.program.params:
            whole = param_value(self.outside, node)
            self.params.setdefault(home, {})[node.arg.slot] = _own(whole, node.axis, home)
        if node.axis is not None:
            below = [_divided(below[0], node.axis, home)]
        return UOp(Op.Param, tuple(below), replace(node.arg, device=home.name, axis=None))

    def received(self, node: UOp, effects: list[UOp], home: Home) -> UOp:
        """What a device is sent, as a Param; the effects that have happened there for it are kept."""
        array = self.sent(node)[home.at]
        slot = next(self.slots)
        self.params.setdefault(home, {})[slot] = array
        made = param(slot, array.dtype, array.shape, device=home.name)
        made = Op.After(made, *effects) if effects else made
        return UOp(Op.Reduce, (made,), node.arg) if node.op is Op.Reduce else made

    def sent(self, node: UOp) -> list[Array]:
        """What each device of a node is sent, or holds after all devices have agreed."""
        if node not in self.arrived:
            if self.outside.program.free[node]:
                raise EvaluationError("data moves inside a loop", rule="U-35", where=node.op.name)
            source = node.src[0]
            if node.op is Op.Replicated:
                copies = [movement.replicated(a, node.arg) for a in self.held(source).shards]
                self.arrived[node] = [agreement(copies)] * len(copies)
            else:
                if node.op is Op.Load and len(node.src) > 1:
                    source = UOp(Op.Load, node.src, LoadArg())
                axis = 0 if node.op is Op.Load and isinstance(node.device, tuple) else None
                arrays, transfers = delivered(node.op, self.held(source), node.device, axis)
                self.arrived[node] = arrays
                self.transfers += transfers
        return self.arrived[node]


def _own(whole: Array, axis: int | None, home: Home) -> Array:
    """What a device holds of a value."""
    return whole if axis is None else part(whole, axis, parts(home.device), home.at)


def _divided(shape: UOp, axis: int, home: Home) -> UOp:
    """A shape source with the size of one part on the shard axis."""
    size = shape.src[axis]
    if size.op is not Op.Const:
        raise EvaluationError("the size of the shard axis is not known", rule="U-35", where="Stack")
    own = const(home.part(int(size.arg.value)), index)
    return UOp(Op.Stack, (*shape.src[:axis], own, *shape.src[axis + 1 :]))


def _cut(x: UOp, axis: int, home: Home) -> UOp:
    """The part of a replica that belongs to one device."""
    shape = x.shape or ()
    size = shape[axis]
    if not isinstance(size, int):
        raise EvaluationError("the size of the shard axis is not known", rule="U-35", where=x.op.name)
    own = home.part(size)
    offset = tuple(home.at * own if k == axis else 0 for k in range(len(shape)))
    return shrink(x, offset, (*shape[:axis], own, *shape[axis + 1 :]))
