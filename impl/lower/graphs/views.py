"""
Views
=====

A view says where in a value one scalar of a kernel is read: one coordinate per axis, index expressions over the
kernel's ranges, and the gate outside which the scalar is not wanted. Every movement op maps a view of its result to a
view of its source; that is all that lowering does with movement ops.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from soundline.impl.analysis import arithmetic
from soundline.spec.errors import CompileError
from soundline.spec.ops.sizes import sizes_of
from soundline.spec.uop import Op, UOp


@dataclass(frozen=True, slots=True)
class View:
    """One way in which kernel number `kernel` reads a value."""

    kernel: int
    coordinates: tuple[UOp, ...]
    gate: UOp | None = None

    @property
    def ranges(self) -> frozenset[UOp]:
        """The loops on which this reading depends."""
        nodes = self.coordinates if self.gate is None else (*self.coordinates, self.gate)
        return frozenset().union(*map(arithmetic.ranges_of, nodes))

    @property
    def evaluations(self) -> int:
        """How often the value is computed if it is computed where it is read."""
        return math.prod(trip_count(r) for r in self.ranges)

    def at(self, coordinates: Sequence[UOp]) -> View:
        """The same reading at other coordinates."""
        return replace(self, coordinates=tuple(coordinates))


def trip_count(loop: UOp) -> int:
    """The number of iterations of a Range of known bound."""
    return int(loop.src[0].arg.value)


def concrete(shape: Sequence[object] | None, what: UOp) -> tuple[int, ...]:
    """A shape of numbers; raises `CompileError` for a symbolic one."""
    if shape is None or not all(isinstance(s, int) for s in shape):
        raise CompileError(
            f"the shape {shape} is not made of numbers",
            where=what.op.name,
            hint="compile with examples of concrete shapes",
        )
    return tuple(s for s in shape if isinstance(s, int))


def shape_of(node: UOp) -> tuple[int, ...]:
    """The concrete shape of a value."""
    return concrete(node.shape, node)


def _numbers(source: UOp) -> tuple[int, ...]:
    return concrete(sizes_of(source), source)


def _permute(node: UOp, view: View) -> View:
    found = dict(zip(node.arg, view.coordinates, strict=True))
    return view.at([found[axis] for axis in range(len(node.arg))])


def _flip(node: UOp, view: View) -> View:
    rows = zip(view.coordinates, shape_of(node), node.arg, strict=True)
    return view.at([_mirrored(c, size) if flagged else c for c, size, flagged in rows])


def _mirrored(coordinate: UOp, size: int) -> UOp:
    return arithmetic.add(arithmetic.mul(coordinate, arithmetic.number(-1)), arithmetic.number(size - 1))


def _reshape(node: UOp, view: View) -> View:
    """Axes are matched in groups of equal size, so that a group of one axis on both sides keeps its coordinate."""
    old, new = shape_of(node.src[0]), shape_of(node)
    found: list[UOp] = []
    for before, after in groups(old, new):
        flat = arithmetic.flatten([view.coordinates[k] for k in after], [new[k] for k in after])
        found.extend(arithmetic.unflatten(flat, [old[i] for i in before]))
    return view.at(found)


def groups(old: tuple[int, ...], new: tuple[int, ...]) -> Iterator[tuple[range, range]]:
    """The shortest runs of axes of two shapes that hold equally many elements."""
    i = k = 0
    while i < len(old) or k < len(new):
        i_end, k_end = _next_group(old, new, i, k)
        yield range(i, i_end), range(k, k_end)
        i, k = i_end, k_end


def _next_group(old: tuple[int, ...], new: tuple[int, ...], i: int, k: int) -> tuple[int, int]:
    """The ends of the shortest runs of old and new axes, from i and k on, that hold equally many elements."""
    if i == len(old) or k == len(new):
        return len(old), len(new)
    a, b, i, k = old[i], new[k], i + 1, k + 1
    while a != b:
        if a < b and i < len(old):
            a, i = a * old[i], i + 1
        elif b < a and k < len(new):
            b, k = b * new[k], k + 1
        else:
            return len(old), len(new)
    return i, k


def _expand(node: UOp, view: View) -> View:
    rows = zip(view.coordinates, shape_of(node.src[0]), strict=True)
    return view.at([arithmetic.number(0) if size == 1 else c for c, size in rows])


def _pad(node: UOp, view: View) -> View:
    coordinates: list[UOp] = []
    gate = view.gate
    for c, o, size, new in zip(
        view.coordinates, _numbers(node.src[1]), shape_of(node.src[0]), shape_of(node), strict=True
    ):
        coordinates.append(arithmetic.sub(c, o))
        if size != new:
            gate = arithmetic.both(gate, arithmetic.inside(coordinates[-1], size))
    return replace(view, coordinates=tuple(coordinates), gate=gate)


def _shrink(node: UOp, view: View) -> View:
    return view.at(
        [
            arithmetic.add(c, arithmetic.number(o))
            for c, o in zip(view.coordinates, _numbers(node.src[1]), strict=True)
        ]
    )


_SOURCE_VIEW = {
    Op.Permute: _permute,
    Op.Flip: _flip,
    Op.Reshape: _reshape,
    Op.Expand: _expand,
    Op.Pad: _pad,
    Op.Shrink: _shrink,
}
MOVEMENT = frozenset(_SOURCE_VIEW)
"""The movement ops that only move: one source, one element of it per element of the result."""


def source_view(node: UOp, view: View) -> View:
    """Where a movement op reads its source for a reading of its result."""
    return _SOURCE_VIEW[node.op](node, view)


def pad_gate(node: UOp, view: View) -> UOp | None:
    """The gate that a Pad adds to a view: where its source is read rather than the zero."""
    return _pad(node, replace(view, gate=None)).gate
