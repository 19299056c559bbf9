"""
Movement
========

Methods that move elements without computing: shapes, axes, slices, concatenation. Wrong shapes and axes raise a
`UsageError` that names the method, what was expected, and what was given.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Self

from soundline.impl.arrays.operands import Axes, axes_of, axis_of, shape_of, sizes_of
from soundline.impl.arrays.promotion import promoted
from soundline.impl.arrays.sizes import Size
from soundline.impl.tensors.core.arithmetic import Arithmetic, cast
from soundline.impl.tensors.core.values import Operand, as_graph
from soundline.spec.dtypes import bool_
from soundline.spec.errors import UsageError
from soundline.spec.uop import Op, UOp, broadcast_to, const, pad, reshape, shrink


def refuse(where: str, wants: str, given: object) -> UsageError:
    """The error of a method with an invalid argument."""
    return UsageError(f"expected {wants}; got {given}", where=where)


class Movement(Arithmetic):
    """Shapes, axes and parts."""

    __slots__ = ()

    # Shapes -------------------------------------------------------------------------------------------------------

    def reshape(self, *shape: int | Sequence[int]) -> Self:
        """The elements in row-major order under another shape of as many elements; one size may be -1."""
        wanted = sizes_of(shape)
        if wanted.count(-1) == 1:
            rest = -math.prod(wanted)
            wanted = tuple((self.size // rest if rest else 0) if s == -1 else s for s in wanted)
        if math.prod(wanted) != self.size or any(s < 0 for s in wanted):
            raise refuse(
                "reshape", f"a shape of {self.size} elements, as {self.shape} has", tuple(sizes_of(shape))
            )
        return self.of(reshape(self.uop, wanted))

    def view(self, *shape: int | Sequence[int]) -> Self:
        """`reshape`, as torch calls it."""
        return self.reshape(*shape)

    def expand(self, *shape: int | Sequence[int]) -> Self:
        """Axes of size 1 repeated, and leading axes added, up to a shape; -1 keeps a size."""
        wanted = sizes_of(shape)
        offset = len(wanted) - self.ndim
        if offset < 0:
            raise refuse("expand", f"at least {self.ndim} sizes for the shape {self.shape}", wanted)
        kept = tuple(self.shape[k - offset] if s == -1 and k >= offset else s for k, s in enumerate(wanted))
        if any(s not in (1, w) for s, w in zip(self.shape, kept[offset:], strict=True)) or any(
            s < 0 for s in kept
        ):
            raise refuse("expand", f"a shape to which {self.shape} broadcasts", wanted)
        return self.of(broadcast_to(self.uop, kept))

    def flatten(self, start: int = 0, end: int = -1) -> Self:
        """The axes from `start` to `end`, inclusive, as one axis; of no axes, one of size 1."""
        if not self.ndim:
            return self.reshape(1)
        first, last = axis_of(start, self.ndim), axis_of(end, self.ndim)
        if first > last:
            raise refuse("flatten", "a first axis that is not after the last", (start, end))
        whole = math.prod(self.shape[first : last + 1])
        return self.reshape(*self.shape[:first], whole, *self.shape[last + 1 :])

    def unflatten(self, axis: int, sizes: Sequence[int]) -> Self:
        """One axis as several, whose sizes have its size as their product; one of them may be -1."""
        at = axis_of(axis, self.ndim)
        wanted = sizes_of((tuple(sizes),))
        if wanted.count(-1) == 1:
            rest = -math.prod(wanted)
            wanted = tuple((self.shape[at] // rest if rest else 0) if s == -1 else s for s in wanted)
        if math.prod(wanted) != self.shape[at]:
            raise refuse("unflatten", f"sizes of product {self.shape[at]}", tuple(sizes))
        return self.reshape(*self.shape[:at], *wanted, *self.shape[at + 1 :])

    def unsqueeze(self, axis: int) -> Self:
        """An axis of size 1 added before position `axis` of the result."""
        at = axis_of(axis, self.ndim + 1)
        return self.reshape(*self.shape[:at], 1, *self.shape[at:])

    def squeeze(self, axis: Axes = None) -> Self:
        """Axes of size 1 removed: those named, or all of them."""
        axes = axes_of(axis, self.ndim)
        if axis is None:
            axes = tuple(a for a in axes if self.shape[a] == 1)
        for a in axes:
            if self.shape[a] != 1:
                raise refuse("squeeze", f"an axis of size 1, and axis {a} has size {self.shape[a]}", axis)
        return self.reshape(tuple(s for k, s in enumerate(self.shape) if k not in axes))

    # Axes ---------------------------------------------------------------------------------------------------------

    def permute(self, *order: int | Sequence[int]) -> Self:
        """The axes in another order: axis k of the result is axis ``order[k]``."""
        wanted = tuple(axis_of(k, self.ndim) for k in sizes_of(order))
        if sorted(wanted) != list(range(self.ndim)):
            raise refuse("permute", f"each of {self.ndim} axes once", sizes_of(order))
        return self.of(Op.Permute(self.uop, arg=wanted))

    def transpose(self, a: int = -2, b: int = -1) -> Self:
        """Two axes exchanged."""
        order = list(range(self.ndim))
        a, b = axis_of(a, self.ndim), axis_of(b, self.ndim)
        order[a], order[b] = order[b], order[a]
        return self.permute(order)

    @property
    def T(self) -> Self:
        """All axes reversed."""
        return self.permute(tuple(reversed(range(self.ndim))))

    @property
    def mT(self) -> Self:
        """The last two axes exchanged."""
        return self.transpose()

    def movedim(self, source: int | Sequence[int], destination: int | Sequence[int]) -> Self:
        """Axes moved to other places; the others keep their order."""
        old, new = axes_of(source, self.ndim), axes_of(destination, self.ndim)
        if len(old) != len(new):
            raise refuse("movedim", "as many destinations as sources", (source, destination))
        places = dict(zip(new, old, strict=True))
        rest = iter(k for k in range(self.ndim) if k not in old)
        return self.permute(tuple(places[k] if k in places else next(rest) for k in range(self.ndim)))

    def flip(self, axis: Axes = None) -> Self:
        """Axes reversed; all of them where none is named."""
        axes = axes_of(axis, self.ndim)
        return self.of(Op.Flip(self.uop, arg=tuple(k in axes for k in range(self.ndim))))

    # Parts --------------------------------------------------------------------------------------------------------

    def pad(self, widths: Sequence[tuple[int, int]] | tuple[int, int], value: bool | int | float = 0) -> Self:
        """A border (before, after) of `value` along each axis; one pair alone is for a tensor of one axis."""
        pairs = [widths] if len(widths) == 2 and isinstance(widths[0], int | Size) else list(widths)
        rows = [tuple(p) for p in pairs if isinstance(p, Sequence)]
        wrong = any(len(r) != 2 or not all(isinstance(w, int | Size) and w >= 0 for w in r) for r in rows)
        if len(rows) != len(pairs) or len(rows) != self.ndim or wrong:
            raise refuse("pad", f"one pair of widths ≥ 0 for each of {self.ndim} axes", widths)
        before = tuple(r[0] for r in rows)
        shape = tuple(a + s + b for (a, b), s in zip(rows, self.shape, strict=True))
        placed = pad(self.uop, before, shape)
        if value == 0 and math.copysign(1.0, value) > 0:
            return self.of(placed)
        inside = pad(broadcast_to(const(True, bool_), self.shape), before, shape)
        return self.of(Op.Where(inside, placed, broadcast_to(as_graph(value, self.dtype), shape)))

    def shrink(self, bounds: Sequence[tuple[int, int]]) -> Self:
        """The part from start to stop, exclusive, of each axis."""
        rows = list(zip(bounds, self.shape, strict=False))
        if len(bounds) != self.ndim or any(not 0 <= a <= b <= s for (a, b), s in rows):
            raise refuse("shrink", f"one pair inside each axis of {self.shape}", tuple(bounds))
        offset = tuple(start for start, _ in bounds)
        return self.of(shrink(self.uop, offset, tuple(stop - start for start, stop in bounds)))

    def narrow(self, axis: int, start: int, length: int) -> Self:
        """`length` elements of an axis from `start` on."""
        at = axis_of(axis, self.ndim)
        begin = start + self.shape[at] if start < 0 else start
        if not 0 <= begin <= begin + length <= self.shape[at]:
            raise refuse(
                "narrow", f"a range inside axis {axis}, whose size is {self.shape[at]}", (start, length)
            )
        return self._part(at, begin, begin + length)

    def _part(self, axis: int, start: int, stop: int) -> Self:
        if (start, stop) == (0, self.shape[axis]):
            return self
        return self.shrink([(start, stop) if k == axis else (0, s) for k, s in enumerate(self.shape)])

    def split(self, sizes: int | Sequence[int], axis: int = 0) -> tuple[Self, ...]:
        """Parts of an axis: all of one size, the last one what is left; or of sizes whose sum is that of the axis."""
        at = axis_of(axis, self.ndim)
        whole = self.shape[at]
        if isinstance(sizes, int):
            if sizes < 1:
                raise refuse("split", "a size ≥ 1, or sizes", sizes)
            lengths = [min(sizes, whole - k) for k in range(0, whole, sizes)] or [0]
        else:
            lengths = list(sizes)
        if sum(lengths) != whole or min(lengths, default=0) < 0:
            raise refuse("split", f"sizes ≥ 0 of sum {whole}", sizes)
        ends = [sum(lengths[: k + 1]) for k in range(len(lengths))]
        return tuple(self._part(at, end - n, end) for n, end in zip(lengths, ends, strict=True))

    def chunk(self, count: int, axis: int = 0) -> tuple[Self, ...]:
        """At most `count` parts of an axis, of equal size but the last, as torch makes them."""
        if count < 1:
            raise refuse("chunk", "a count ≥ 1", count)
        return self.split(max(1, -(-self.shape[axis_of(axis, self.ndim)] // count)), axis)

    def unbind(self, axis: int = 0) -> tuple[Self, ...]:
        """The slices of an axis, without it."""
        at = axis_of(axis, self.ndim)
        return tuple(self._part(at, k, k + 1).squeeze(at) for k in range(self.shape[at]))

    def roll(self, shift: int | Sequence[int], axis: Axes = None) -> Self:
        """Elements moved by `shift` along an axis, those beyond the end coming back; without axes, the flat tensor."""
        if axis is None:
            if not isinstance(shift, int):
                raise refuse("roll", "one shift if no axis is given", shift)
            return self.reshape(self.size).roll(shift, 0).reshape(self.shape)
        axes = [axis] if isinstance(axis, int) else list(axis)
        shifts = [shift] * len(axes) if isinstance(shift, int) else list(shift)
        if len(shifts) != len(axes):
            raise refuse("roll", f"{len(axes)} shifts", shift)
        result = self
        for a, s in zip((axis_of(a, self.ndim) for a in axes), shifts, strict=True):
            size = result.shape[a]
            if size and s % size:
                cut = size - s % size
                result = result.cat(result._part(a, cut, size), result._part(a, 0, cut), axis=a)
        return result

    # Together -----------------------------------------------------------------------------------------------------

    @classmethod
    def cat(cls, *tensors: Operand, axis: int = 0) -> Self:
        """Tensors one after another along an axis that all have; they promote to one dtype.

        The other sizes must be equal. ``Tensor.cat(a, b)`` or ``Tensor.cat([a, b])``.
        """
        graphs = _in_one_dtype("cat", tensors)
        shapes = [shape_of(g) for g in graphs]
        if not shapes[0]:
            raise refuse("cat", "tensors of at least one axis", shapes)
        at = axis_of(axis, len(shapes[0]))
        rest = [(*s[:at], *s[at + 1 :]) for s in shapes]
        if any(len(s) != len(shapes[0]) for s in shapes) or any(r != rest[0] for r in rest):
            raise refuse("cat", f"shapes that agree on all axes but {axis}", shapes)
        kept = [(g, s) for g, s in zip(graphs, shapes, strict=True) if s[at]] or [(graphs[0], shapes[0])]
        return cls.of(_joined([g for g, _ in kept], [s for _, s in kept], at))

    @classmethod
    def stack(cls, *tensors: Operand, axis: int = 0) -> Self:
        """Tensors of one shape along a new axis; they promote to one dtype."""
        graphs = _in_one_dtype("stack", tensors)
        shapes = [g.shape for g in graphs]
        if any(s != shapes[0] for s in shapes):
            raise refuse("stack", "tensors of the same shape", shapes)
        whole = cls.of(Op.Stack(*graphs))
        return whole.movedim(0, axis_of(axis, whole.ndim))

    def repeat(self, *counts: int | Sequence[int]) -> Self:
        """The tensor laid end to end along each axis, as torch's repeat and numpy's tile do; leading axes are added."""
        wanted = sizes_of(counts)
        if len(wanted) < self.ndim or min(wanted, default=0) < 0:
            raise refuse("repeat", f"at least {self.ndim} counts ≥ 0", wanted)
        shape = (1,) * (len(wanted) - self.ndim) + self.shape
        apart = tuple(v for s in shape for v in (1, s))
        wide = tuple(v for c, s in zip(wanted, shape, strict=True) for v in (c, s))
        return (
            self.reshape(apart).expand(wide).reshape(tuple(c * s for c, s in zip(wanted, shape, strict=True)))
        )

    def tile(self, *counts: int | Sequence[int]) -> Self:
        """`repeat`, which may be given fewer counts than there are axes: those are for the last ones."""
        wanted = sizes_of(counts)
        return self.repeat((1,) * (self.ndim - len(wanted)) + wanted)

    def repeat_interleave(self, count: int, axis: int) -> Self:
        """Each slice of an axis `count` times in a row, as numpy's repeat does."""
        at = axis_of(axis, self.ndim)
        if count < 0:
            raise refuse("repeat_interleave", "a count ≥ 0", count)
        before, size, after = self.shape[:at], self.shape[at], self.shape[at + 1 :]
        wide = self.reshape(*before, size, 1, *after).expand(*before, size, count, *after)
        return wide.reshape(*before, size * count, *after)

    def contiguous(self) -> Self:
        """The same value, stored in memory of its own when it is computed."""
        return self.of(Op.Contiguous(self.uop))


def _in_one_dtype(where: str, tensors: Sequence[Any]) -> list[UOp]:
    """Operands given one by one or in one list, in the dtype that they promote to."""
    given = tensors[0] if len(tensors) == 1 and isinstance(tensors[0], list | tuple) else tensors
    if not given:
        raise refuse(where, "at least one tensor", "none")
    graphs = [as_graph(t) for t in given]
    dtype = graphs[0].dtype
    for g in graphs[1:]:
        dtype = promoted(dtype, g.dtype)
    return [cast(g, dtype) for g in graphs]


def _joined(graphs: Sequence[UOp], shapes: Sequence[tuple[int, ...]], axis: int) -> UOp:
    """Graphs one after another: each chosen where a mask of padded bools says that it stands."""
    total = sum(s[axis] for s in shapes)
    whole = tuple(total if k == axis else s for k, s in enumerate(shapes[0]))
    result: UOp | None = None
    start = 0
    for graph, shape in zip(graphs, shapes, strict=True):
        offset = tuple(start if k == axis else 0 for k in range(len(shape)))
        moved = graph if shape == whole else pad(graph, offset, whole)
        if result is None:
            result = moved
        else:
            line = tuple(s if k == axis else 1 for k, s in enumerate(shape))
            long = tuple(s if k == axis else 1 for k, s in enumerate(whole))
            here = pad(broadcast_to(const(True, bool_), line), offset, long)
            result = Op.Where(broadcast_to(here, whole), moved, result)
        start += shape[axis]
    assert result is not None
    return result
