"""
Placement
=========

From values on several devices to values on one. A node on a tuple of n devices becomes n nodes, each over what its
device holds: along the shard axis its part of the value, or where the axis is null a replica. Where a device needs what
it does not hold, the piece is computed on the device that holds it. A Load moves it (`steps` cuts there, and a command
of the program copies it), and the receiving device joins the pieces. This implements the law's chapter `spec.devices`.

* A Load to a device moves what the target does not hold, as the law counts it.
* A Reduce over the shard axis reduces the whole on each device, so that a float sum keeps its order. What is sent
  for it is not its operand but the cheapest values from which the device can compute that: of a product of two
  expanded factors, the factors.
* Replicated keeps the first slice. That all slices agree is an obligation (U-28), discharged by how they were made.

*Invariant*: the parts joined along the axis are the value of the node, and replicas are equal.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from soundline.impl.arrays import storage
from soundline.impl.lower.graphs.views import MOVEMENT, shape_of
from soundline.spec.devices.evaluation import needs_others
from soundline.spec.dtypes import bool_
from soundline.spec.errors import CompileError
from soundline.spec.ops.node import Device
from soundline.spec.ops.shards import parts
from soundline.spec.ops.table import group_of
from soundline.spec.ops.walks import filled
from soundline.spec.uop import (
    LoadArg,
    Op,
    UOp,
    broadcast_to,
    const,
    expand,
    pad,
    reshape,
    shape_source,
    shrink,
    toposort,
)

_ALU = frozenset((*group_of("elementwise", "decomposed"), Op.CDiv, Op.CMod))
_SIZED = (Op.Reshape, Op.Expand, Op.Pad, Op.Shrink)
_PLAIN = re.compile(r"CPU(:\d+)?")


def is_placed(roots: Sequence[UOp]) -> bool:
    """Whether some value of a graph is on another device than the one that is not named."""
    return any(n.device not in (None, "CPU") for n in toposort(*roots))


def placed(roots: Sequence[UOp]) -> list[list[UOp]]:
    """For each value of a flat graph (`callify.inlined`), what each of its devices holds of it."""
    state = _Placement()
    return [[state.local(r, at) for at in range(parts(r.device))] for r in roots]


@dataclass
class _Placement:
    """The values placed so far, by node and the position of a device in the node's device."""

    made: dict[tuple[UOp, int], UOp] = field(default_factory=dict)
    costs: dict[UOp, int] = field(default_factory=dict)
    gathered: dict[tuple[UOp, str], UOp] = field(default_factory=dict)

    def local(self, root: UOp, at: int) -> UOp:
        """What one device of a node holds of it."""

        def below(key: tuple[UOp, int]) -> list[tuple[UOp, int]]:
            node, place = key
            sources = () if needs_others(node) else node.src
            return [(s, place if isinstance(s.device, tuple) else 0) for s in sources]

        return filled(self.made, (root, at), below, lambda key: self.computed(*key))

    def here(self, node: UOp, at: int) -> UOp:
        """The same, where a value on one device or none is asked for as well."""
        return self.local(node, at if isinstance(node.device, tuple) else 0)

    def computed(self, node: UOp, at: int) -> UOp:
        """The node over what the device has below it."""
        check_device(node.device)
        if node.op is Op.Load and needs_others(node):
            return self.received(node, at)
        if node.op is Op.Replicated:
            return self.first_slice(node, at)
        if node.op is Op.Reduce and needs_others(node):
            assert isinstance(node.device, tuple)
            return UOp(Op.Reduce, (self.entire(node.src[0], node.device[at]),), node.arg)
        if node.op is Op.Buffer:
            return storage.parts_of(node)[at] if isinstance(node.device, tuple) else node
        below = [self.here(s, at) for s in node.src]
        if not isinstance(node.device, tuple):
            return UOp(node.op, tuple(below), node.arg, node.tag) if below else node
        if node.op in (Op.Call, Op.GetTuple) and any(s.axis is not None for s in node.src):
            raise CompileError(
                "what a Call does with a part of a value is not known", rule="U-35", where=node.op.name
            )
        if node.op in _ALU:
            below = self.cut(node.src, below, node.axis, node.device, at)
        elif node.op is Op.Stack:
            below = self.cut(node.src, below, None if node.axis is None else node.axis - 1, node.device, at)
        elif node.op in _SIZED and node.axis is not None:
            below[-1] = shape_source(local_shape(node))
        return UOp(node.op, tuple(below), node.arg, node.tag)

    def cut(
        self, sources: Sequence[UOp], below: list[UOp], axis: int | None, device: Device, at: int
    ) -> list[UOp]:
        """Operands where a node along `axis` needs them: of a replica the part of this device."""
        return [
            x if axis is None or s.axis is not None or s.shape == () else part_of(x, axis, parts(device), at)
            for s, x in zip(sources, below, strict=True)
        ]

    # Moves --------------------------------------------------------------------------------------------------------

    def received(self, node: UOp, at: int) -> UOp:
        """What a device holds after a Load to it: what it had, and what it is sent."""
        target = node.device[at] if isinstance(node.device, tuple) else node.device
        assert target is not None
        rows = None
        if isinstance(node.device, tuple):
            size = shape_of(node)[0] // len(node.device)
            rows = (at * size, size)
        return self.brought(node.src[0], target, rows)

    def brought(self, source: UOp, target: str, rows: tuple[int, int] | None) -> UOp:
        """A value, or some of its rows, on one device."""
        whole = shape_of(source)
        start, size = rows if rows is not None else (0, whole[0] if whole else 1)
        if source.axis is None:
            names = source.device if isinstance(source.device, tuple) else (source.device,)
            at = names.index(target) if target in names else 0
            piece = sliced(self.here(source, at), start, size) if rows is not None else self.here(source, at)
            return moved(piece, target)
        assert isinstance(source.device, tuple)
        own = whole[source.axis] // len(source.device)
        pieces: list[UOp] = []
        for at in range(len(source.device)):
            piece = self.here(source, at)
            if rows is not None and source.axis == 0:
                low, high = max(start, at * own), min(start + size, (at + 1) * own)
                if low >= high and size:
                    continue
                piece = sliced(piece, low - at * own, max(high - low, 0)) if size else sliced(piece, 0, 0)
            elif rows is not None:
                piece = sliced(piece, start, size)
            pieces.append(moved(piece, target))
        return joined(pieces, source.axis)

    def entire(self, node: UOp, target: str) -> UOp:
        """The whole of a value on one device that holds a part of it, from the cheapest values that must be sent."""
        if (node, target) not in self.gathered:
            if node.axis is None:
                at = node.device.index(target) if isinstance(node.device, tuple) else 0
                found = self.here(node, at)
            elif self.cost(node) < math.prod(shape_of(node)):
                sources = tuple(self.entire(s, target) if s.shape is not None else s for s in node.src)
                found = UOp(node.op, sources, node.arg, node.tag)
            else:
                found = self.brought(node, target, None)
            self.gathered[node, target] = found
        return self.gathered[node, target]

    def cost(self, node: UOp) -> int:
        """How many elements must be gathered for the whole of a value."""
        if node not in self.costs:
            size = math.prod(shape_of(node))
            if node.axis is None:
                found = 0
            elif node.op in _ALU or node.op in MOVEMENT:
                found = min(size, sum(self.cost(s) for s in dict.fromkeys(node.src) if s.axis is not None))
            else:
                found = size
            self.costs[node] = found
        return self.costs[node]

    def first_slice(self, node: UOp, at: int) -> UOp:
        """Replicated: the first slice that the device holds, where all are known to agree."""
        source = node.src[0]
        for axis in node.arg:
            if not agrees(source, axis):
                raise CompileError(
                    f"it is not known that the slices along axis {axis} agree",
                    rule="U-28",
                    where="Replicated",
                    hint="copy one value to all devices (Tensor.shard with axis None)",
                )
        own = self.here(source, at)
        return shrink(own, (0,) * len(shape_of(own)), local_shape(node))


def agrees(node: UOp, axis: int) -> bool:
    """Whether all slices of a value along an axis are known to be equal: it was expanded there, or stored as copies."""
    while True:
        size = shape_of(node)[axis]
        if size <= 1 or node.op is Op.Const:
            return True
        if node.op is Op.Load and node.arg is not None and node.arg.device is not None:
            node = node.src[0]
        elif node.op is Op.Expand and shape_of(node.src[0])[axis] == 1:
            return True
        elif node.op is Op.Expand:
            node = node.src[0]
        elif node.op is Op.Permute:
            node, axis = node.src[0], node.arg[axis]
        elif node.op in _ALU:
            return all(s.shape == () or agrees(s, axis) for s in node.src)
        else:
            return axis == 0 and storage.is_replicated(node)


def check_device(device: Device) -> None:
    """Refuse a device that is none of this machine."""
    for name in device if isinstance(device, tuple) else (device,):
        if name is not None and not _PLAIN.fullmatch(name):
            raise CompileError(f"there is no device {name!r}", hint='devices are "CPU", "CPU:0", "CPU:1", …')


def local_shape(node: UOp) -> tuple[int, ...]:
    """The shape of what each device holds of a node."""
    n = parts(node.device)
    return tuple(s // n if k == node.axis else s for k, s in enumerate(shape_of(node)))


def moved(piece: UOp, target: str) -> UOp:
    """A value on a device; where it is there, or on none, it stays as it is."""
    return piece if piece.device in (None, target) else Op.Load(piece, arg=LoadArg(target))


def part_of(x: UOp, axis: int, count: int, at: int) -> UOp:
    """Part `at` of `count` equal parts along an axis; of what was expanded there, all parts are one program."""
    shape = shape_of(x)
    size = shape[axis] // count
    if x.op is Op.Expand and shape_of(x.src[0])[axis] == 1:
        return expand(x.src[0], tuple(size if k == axis else s for k, s in enumerate(shape)))
    offset = tuple(at * size if k == axis else 0 for k in range(len(shape)))
    return shrink(x, offset, tuple(size if k == axis else s for k, s in enumerate(shape)))


def sliced(x: UOp, start: int, size: int) -> UOp:
    """Rows of a value."""
    shape = shape_of(x)
    if (start, size) == (0, shape[0]):
        return x
    return shrink(x, (start, *(0 for _ in shape[1:])), (size, *shape[1:]))


def joined(pieces: Sequence[UOp], axis: int) -> UOp:
    """Pieces one after another along an axis."""
    if len(pieces) == 1:
        return pieces[0]
    shapes = [shape_of(p) for p in pieces]
    whole = tuple(sum(s[axis] for s in shapes) if k == axis else n for k, n in enumerate(shapes[0]))
    if len(set(shapes)) == 1 and 0 not in shapes[0]:
        rank = len(whole)
        order = (*range(1, axis + 1), 0, *range(axis + 1, rank + 1))
        return reshape(Op.Permute(Op.Stack(*pieces), arg=order), whole)
    result: UOp | None = None
    start = 0
    for piece, shape in zip(pieces, shapes, strict=True):
        offset = tuple(start if k == axis else 0 for k in range(len(shape)))
        spread = pad(piece, offset, whole)
        if result is None:
            result = spread
        elif shape[axis]:
            line = tuple(s if k == axis else 1 for k, s in enumerate(shape))
            long = tuple(s if k == axis else 1 for k, s in enumerate(whole))
            here = expand(pad(broadcast_to(const(True, bool_), line), offset, long), whole)
            result = Op.Where(here, spread, result)
        start += shape[axis]
    assert result is not None
    return result
