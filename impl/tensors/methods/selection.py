"""
Selection
=========

Elements chosen by indices, masks and order. A gather is an Index of the law, with the index kept inside its axis first;
where an index must itself be computed by a reduction, and for scatters and sorting, elements are chosen by comparison,
as in the law's `gather` (U-30): what is not chosen does no harm, infinities and NaN included.

Negative indices count from the end. An index that is still out of range gives zero, and is ignored in a scatter.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from soundline.impl.analysis import sums
from soundline.impl.arrays import indexing
from soundline.impl.arrays.operands import axis_of, common_shape, shape_of
from soundline.impl.arrays.promotion import DTypeLike
from soundline.impl.tensors.core import lines
from soundline.impl.tensors.core.arithmetic import cast
from soundline.impl.tensors.core.values import Operand, Values, as_graph
from soundline.impl.tensors.methods.movement import refuse
from soundline.impl.tensors.methods.reductions import Reductions
from soundline.spec.dtypes import DType, bool_, index, int64, uint64
from soundline.spec.errors import TracingError, UsageError, WrongIndex
from soundline.spec.ops.building import nothing
from soundline.spec.uop import Op, UOp, broadcast_to, const, element_of, reshape, toposort


class Selection(Reductions):
    """Elements chosen by indices, masks and order."""

    __slots__ = ()

    def place(self, axis: int) -> Self:
        """For every element its position along an axis, as int64."""
        return self.of(lines.positions(axis_of(axis, self.ndim), self.shape))

    # Indexing -----------------------------------------------------------------------------------------------------

    def __getitem__(self, where: Any) -> Self:
        """Integers, slices, None and ``...`` as in numpy; arrays of integers, and masks whose values are known.

        Several arrays broadcast and choose together; their axes stand where the first array stands if they are
        neighbours, and in front otherwise. A mask is an array, list or Tensor of bools. Because the shape of the result
        depends on it, a Tensor is computed at once; one that has no value while a function is traced is for `where`.
        """
        items = [
            int(i) if isinstance(i, np.integer) else i
            for i in (where if isinstance(where, tuple) else (where,))
        ]
        if not any(_is_array(i) for i in items):
            return self.of(indexing.indexed(self.uop, tuple(items)))
        return self._taken_together(_spelled_out(items, self.shape))

    def _taken_together(self, items: Sequence[Any]) -> Self:
        basic = tuple(slice(None) if _is_array(i) else i for i in items)
        x = self.of(indexing.indexed(self.uop, basic))
        axes, arrays, axis = [], [], 0
        for item in items:
            if _is_array(item):
                axes.append(axis)
                arrays.append(as_graph(item))
            axis += 0 if isinstance(item, int) and not _is_array(item) else 1
        for a, graph in zip(axes, arrays, strict=True):
            _check_index("[]", graph)
            _check_known(item=graph, size=x.shape[a])
        together = [k for k, i in enumerate(items) if _is_array(i) or isinstance(i, int)]
        neighbours = together == list(range(together[0], together[-1] + 1))
        return x._gathered(axes, arrays, axes[0] if neighbours else 0)

    def _gathered(self, axes: Sequence[int], arrays: Sequence[UOp], front: int) -> Self:
        """Elements by several indices that broadcast; their axes stand at `front` of the result."""
        try:
            shape = common_shape([shape_of(a) for a in arrays])
        except UsageError:
            raise refuse("[]", "indices that broadcast", [a.shape for a in arrays]) from None
        first = self.movedim(tuple(axes), tuple(range(len(axes))))
        sizes, rest = first.shape[: len(axes)], first.shape[len(axes) :]
        table = first.reshape(math.prod(sizes), *rest)
        flat: UOp | None = None
        inside: UOp | None = None
        for graph, size in zip(arrays, sizes, strict=True):
            place, here = _from_front(broadcast_to(graph, shape), size)
            flat = place if flat is None else Op.Add(Op.Mul(flat, _filled(size, place)), place)
            inside = here if inside is None else Op.And(inside, here)
        assert flat is not None
        assert inside is not None
        count = math.prod(shape)
        found = table._rows(reshape(flat, (count,)), reshape(inside, (count,)), 0)
        found = found.reshape(*shape, *rest)
        return found.movedim(tuple(range(len(shape))), tuple(range(front, front + len(shape))))

    def _rows(self, places: UOp, inside: UOp, axis: int) -> Self:
        """The slices of an axis at places inside it, zero where `inside` is False."""
        count = shape_of(places)[0]
        shape = (*self.shape[:axis], count, *self.shape[axis + 1 :])
        here = broadcast_to(lines.along(inside, axis, self.ndim), shape)
        if not self.shape[axis]:
            return self.of(_zeros(self.dtype, shape))
        if any(n.op is Op.Reduce for n in toposort(places)):
            rows = self.unsqueeze(axis)
            wanted = lines.along(places, axis, self.ndim + 1)
            mask = rows.place(axis + 1) == self.of(wanted)
            return self.of(Op.Where(here, rows._chosen(mask, axis + 1).uop, _zeros(self.dtype, shape)))
        first = self.movedim(axis, 0)
        found = self.of(Op.Index(first.uop, Op.Cast(places, arg=index))).movedim(0, axis)
        return self.of(Op.Where(here, found.uop, _zeros(self.dtype, shape)))

    def _chosen(self, mask: Self, axis: int) -> Self:
        """The value at the one place along an axis where the mask holds, and zero where it holds nowhere."""
        shape = common_shape([mask.shape, self.shape])
        at = axis % len(shape)
        picked = Op.Where(
            broadcast_to(mask.uop, shape), broadcast_to(self.uop, shape), nothing(self.dtype, shape)
        )
        total = sums.reduced(picked, Op.Max if self.dtype is bool_ else Op.Add, [at])
        return self.of(total)._dropped([at], keepdim=False)

    def take(self, indices: Operand, axis: int | None = None) -> Self:
        """The slices of an axis at indices, whose axes take the place of that axis; of the flat tensor if None.

        Indices are integers, and negative ones count from the end; what is outside gives zeros.
        """
        if axis is None:
            return self.reshape(self.size).take(indices, 0)
        at, graph = axis_of(axis, self.ndim), as_graph(indices)
        _check_index("take", graph)
        return self._gathered([at], [graph], at)

    def gather(self, axis: int, indices: Operand) -> Self:
        """The element at an index along one axis, and at the index's own place along the others, as torch's gather.

        Indices have as many axes as the tensor, and on the others at most its sizes. What is outside gives zero.
        """
        at, graph = axis_of(axis, self.ndim), as_graph(indices)
        _check_index("gather", graph)
        near = self._beside("gather", at, shape_of(graph)).unsqueeze(at)
        place, inside = _from_front(graph, self.shape[at])
        mask = near.place(at + 1) == self.of(place).unsqueeze(at + 1)
        found = near._chosen(mask, at + 1)
        return self.of(Op.Where(inside, found.uop, _zeros(self.dtype, found.shape)))

    def _beside(self, where: str, axis: int, shape: tuple[int, ...]) -> Self:
        """The part of the tensor that an index of this shape can reach."""
        if len(shape) != self.ndim or any(
            n > s for k, (n, s) in enumerate(zip(shape, self.shape, strict=False)) if k != axis
        ):
            raise refuse(where, f"indices inside {self.shape} but on axis {axis}", shape)
        bounds = [(0, self.shape[axis] if k == axis else n) for k, n in enumerate(shape)]
        return self.shrink(bounds)

    # Scatters -----------------------------------------------------------------------------------------------------

    def scatter(self, axis: int, indices: Operand, source: Operand) -> Self:
        """The tensor with elements of `source` put at an index along one axis, and at their own place along the others.

        The part of `source` that has the shape of the indices is used; a number stands for all of it.
        Of several elements for one place the last one wins. Indices outside are ignored.
        """
        mask, values, at = self._spread_out("scatter", axis, indices, source)
        number = values.place(at + 1)
        count = mask.where((number + 1).cast(uint64), 0).max(at + 1, keepdim=True)  # 0: the greatest of none
        chosen = values._chosen(number == count.cast(int64) - 1, at + 1)
        return (count > 0).squeeze(at + 1).where(chosen, self)

    def scatter_add(self, axis: int, indices: Operand, source: Operand) -> Self:
        """The tensor plus, at every place, the sum of the elements of `source` whose index along `axis` it is.

        The sum ascends apart from the tensor and is added once; where nothing is added the tensor stays (U-30).
        """
        if self.dtype is bool_:
            raise refuse("scatter_add", "numbers", "bools")
        mask, values, at = self._spread_out("scatter_add", axis, indices, source)
        if not values.shape[at + 1]:
            return self
        chosen = Op.Where(mask.uop, values.uop, nothing(self.dtype, values.shape))
        total = self.of(sums.reduced(chosen, Op.Add, [at + 1]))
        return self + total._dropped([at + 1], keepdim=False)

    def _spread_out(self, where: str, axis: int, indices: Operand, source: Operand) -> tuple[Self, Self, int]:
        """Which element of a source goes where: the mask and the elements, along one more axis."""
        at, graph = axis_of(axis, self.ndim), as_graph(indices)
        _check_index(where, graph)
        shape = shape_of(graph)
        self._beside(where, at, shape)
        given = self.of(as_graph(source, self.dtype))
        if given.ndim == self.ndim and all(s >= n for s, n in zip(given.shape, shape, strict=True)):
            given = given.shrink([(0, n) for n in shape])
        given = given.expand(shape)
        widths = [
            (0, 0 if k == at else s - n) for k, (s, n) in enumerate(zip(self.shape, shape, strict=True))
        ]
        place, inside = _from_front(graph, self.shape[at])
        places, here = self.of(place).pad(widths).unsqueeze(at), self.of(inside).pad(widths).unsqueeze(at)
        wide = tuple(v for k, s in enumerate(self.shape) for v in ((s, shape[at]) if k == at else (s,)))
        slots = self.of(lines.positions(at, wide))
        return (slots == places) & here, given.pad(widths).unsqueeze(at).expand(wide), at

    def one_hot(self, count: int, dtype: DTypeLike = int64) -> Self:
        """One more axis, the last, of size `count`: 1 at the position that the integer names, 0 elsewhere."""
        _check_index("one_hot", self.uop)
        if count < 0:
            raise refuse("one_hot", "a count ≥ 0", count)
        slots = self.of(lines.positions(self.ndim, (*self.shape, count)))
        return (slots == self.cast(int64).unsqueeze(-1)).cast(dtype)

    def masked_fill(self, mask: Operand, value: Operand) -> Self:
        """The tensor with `value` where the mask is True. Shapes broadcast."""
        chosen = self.of(as_graph(mask))
        if chosen.dtype is not bool_:
            raise refuse("masked_fill", "a mask of bools", chosen.dtype)
        return chosen.where(self.of(as_graph(value, self.dtype)), self)

    # Order --------------------------------------------------------------------------------------------------------

    def argsort(self, axis: int = -1, descending: bool = False) -> Self:
        """The positions of the elements of an axis in their order, as int64; equal ones keep theirs, NaN comes last.

        An element's rank is the number of elements that come before it, so n elements are compared n² times.
        """
        at = axis_of(axis, self.ndim)
        ranks = self._ranks(at, descending)
        return self.place(at).unsqueeze(at)._ordered(ranks, at)

    def sort(self, axis: int = -1, descending: bool = False) -> tuple[Self, Self]:
        """The elements of an axis in order, and their positions; see `argsort`."""
        at = axis_of(axis, self.ndim)
        ranks = self._ranks(at, descending)
        return self.unsqueeze(at)._ordered(ranks, at), self.place(at).unsqueeze(at)._ordered(ranks, at)

    def topk(self, count: int, axis: int = -1, largest: bool = True) -> tuple[Self, Self]:
        """The `count` first elements of an axis in order, the greatest first unless told otherwise; and positions.

        NaN come last, as in `argsort`.
        """
        at = axis_of(axis, self.ndim)
        if not 0 <= count <= self.shape[at]:
            raise refuse("topk", f"a count up to the size {self.shape[at]}", count)
        ranks = self._ranks(at, largest)
        values = self.unsqueeze(at)._ordered(ranks, at, count)
        return values, self.place(at).unsqueeze(at)._ordered(ranks, at, count)

    def _ranks(self, at: int, descending: bool) -> Self:
        """How many elements of the axis come before each."""
        mine, other = self.unsqueeze(at + 1), self.unsqueeze(at)
        ahead = other > mine if descending else other < mine
        same = other == mine
        if self.dtype.is_float:
            ahead = ahead | ((other == other) & (mine != mine))
            same = same | ((other != other) & (mine != mine))
        wide = self.unsqueeze(at + 1).expand(*self.shape[: at + 1], self.shape[at], *self.shape[at + 1 :])
        before = wide.place(at + 1) < wide.place(at)
        return (ahead | (same & before)).cast(int64).sum(at + 1)

    def _ordered(self, ranks: Self, at: int, count: int | None = None) -> Self:
        """Elements (…, 1, n, …) put at their ranks: (…, count, …)."""
        n = ranks.shape[at]
        wide = (*ranks.shape[:at], n if count is None else count, *ranks.shape[at:])
        slots = self.of(lines.positions(at, wide))
        return self._chosen(slots == ranks.unsqueeze(at), at + 1)


# Indices ----------------------------------------------------------------------------------------------------------


def indices_of(where: Any) -> Any:
    """An index expression as numpy takes it: Tensors as arrays."""
    if isinstance(where, tuple):
        return tuple(indices_of(item) for item in where)
    return np.asarray(where) if isinstance(where, Values) else where


def _is_array(item: Any) -> bool:
    """Whether an index is more than an integer, a slice, None or dots."""
    return isinstance(item, Values | np.ndarray | list) or (
        hasattr(item, "__array__") and not isinstance(item, np.generic)
    )


def _check_index(where: str, graph: UOp) -> None:
    if not graph.dtype.is_int or graph.dtype is index:
        raise refuse(where, "indices of an integer dtype", graph.dtype)


def _check_known(item: UOp, size: int) -> None:
    """Refuse an index whose value is known and outside, as numpy does."""
    from soundline.impl.arrays import storage

    held = storage.buffer_of(item)
    values = None if held is None else storage.contents(held)
    if values is not None and values.size and not (-size <= values.min() and values.max() < size):
        wants = f"expected indices inside an axis of size {size}"
        raise WrongIndex(f"{wants}; got {values.min()} … {values.max()}", where="[]")


def _spelled_out(items: Sequence[Any], shape: tuple[int, ...]) -> list[Any]:
    """An index with dots spelled out, lists as arrays, and masks as the positions of their True elements."""
    given = [_as_array(item) for item in items]
    used = sum(_axes_used(i) for i in given)
    if used > len(shape) or sum(1 for i in given if i is Ellipsis) > 1:
        raise WrongIndex(f"expected indices for {len(shape)} axes; got indices for {used}", where="[]")
    at = next((k for k, i in enumerate(given) if i is Ellipsis), len(given))
    rest = [slice(None)] * (len(shape) - used)
    found: list[Any] = []
    axis = 0
    for item in [*given[:at], *rest, *given[at + 1 :]]:
        if _is_mask(item):
            if item.shape != shape[axis : axis + item.ndim]:
                wants = f"expected a mask of the shape {shape[axis : axis + item.ndim]}"
                raise WrongIndex(f"{wants}; got {item.shape}", where="[]")
            found.extend(np.nonzero(item))
        else:
            found.append(item)
        axis += _axes_used(item)
    return found


def _as_array(item: Any) -> Any:
    """A list as an array; the positions in an empty one are integers."""
    if isinstance(item, Values) and item.dtype is bool_:
        if not item.is_computable:
            raise TracingError(
                "the mask has no value, because it belongs to a function that is being traced",
                where="[]",
                hint="use mask.where(x, other), which keeps the shape",
            )
        return np.asarray(item)
    if not _is_array(item) or isinstance(item, Values):
        return item
    array = np.asarray(item)
    return array.astype(np.int64) if array.size == 0 and isinstance(item, list) else array


def _is_mask(item: Any) -> bool:
    return isinstance(item, np.ndarray) and item.dtype == np.bool_


def _axes_used(item: Any) -> int:
    if item is None or item is Ellipsis:
        return 0
    return int(item.ndim) if _is_mask(item) else 1


def _filled(value: int, like: UOp) -> UOp:
    return broadcast_to(as_graph(value, like.dtype), shape_of(like))


def _zeros(dtype: DType, shape: tuple[int, ...]) -> UOp:
    return broadcast_to(const(element_of(0, dtype), dtype), shape)


def _from_front(graph: UOp, size: int) -> tuple[UOp, UOp]:
    """An index as a position inside an axis, counted from the front in 64 bits; and whether it was inside."""
    wide = cast(graph, int64)
    negative = Op.CmpLt(wide, _filled(0, wide))
    front = Op.Where(negative, Op.Add(wide, _filled(size, wide)), wide)
    inside = Op.And(Op.CmpLe(_filled(0, front), front), Op.CmpLt(front, _filled(size, front)))
    last = max(size - 1, 0)
    below = Op.Max(Op.Neg(Op.Max(front, _filled(0, front))), _filled(-last, front))
    return Op.Neg(below), inside
