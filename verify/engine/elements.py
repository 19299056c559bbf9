"""
Elements of concrete shapes
===========================

A node whose sizes are numbers, read element by element: at each position stands the scalar expression that is computed
there, over the elements of the *leaves*, of which nothing is known. Movement ops are executed on arrays of such
expressions. A reduction is the list of the elements that it reduces, in order. Expressions are interned: equal numbers
are equal expressions, so two nodes with the same numbers have the same values, for all values of the leaves.

This is a second opinion of the law's movement and reductions: it states them independently, with numpy, and uses
nothing of `spec.arrays.movement`. Tests hold it to the law and to the evaluator.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from soundline.spec.arrays.arrays import Invalid
from soundline.spec.dtypes import DType, zero_of
from soundline.spec.evaluation.values import identity
from soundline.spec.ops.bodies import free_ranges
from soundline.spec.ops.node import ConstArg, Op, UOp
from soundline.spec.ops.sizes import sizes_of
from soundline.spec.ops.table import group_of

Numbers = npt.NDArray[np.int64]
"""The numbers of expressions, one for each position."""

Around = tuple[tuple[UOp, int], ...]
"""The values of loops that a Reduce runs."""

COMPUTED = frozenset((*group_of("elementwise", "decomposed"), Op.CDiv, Op.CMod))
"""The ops that compute one element from one element of each source."""

MOST_TURNS = 4096
"""How often a loop of a Reduce may run."""

SAME = frozenset(group_of("marker"))
"""The ops whose value is that of their source."""


REPEATING = (Op.Reshape, Op.Expand, Op.Permute, Op.Flip, Op.Shrink)
"""Views whose every element is one of their source."""


def repeated_constant(node: UOp) -> UOp | None:
    """The Const that a node is, or that it repeats as a view."""
    while node.op in REPEATING:
        node = node.src[0]
    return node if node.op is Op.Const else None


class TooLarge(Exception):  # an answer, not an error
    """More elements than were allowed."""


class Outside(Exception):  # an answer, not an error
    """A size that is no number, or another part of a node that cannot be read element by element."""


@dataclass(frozen=True, slots=True)
class Row:
    """One expression: what it is, and the numbers of its operands."""

    head: Any
    """An Op, ``"leaf"``, ``"reduction"`` or ``"invalid"``."""
    dtype: DType
    operands: tuple[int, ...]
    arg: Any = None


@dataclass(slots=True)
class _Block:
    """Expressions that are made at once: the same head, one row of operands each."""

    start: int
    head: Any
    dtype: DType
    arg: Any
    operands: Numbers

    def row(self, k: int) -> Row:
        """Expression k of the block."""
        if self.head == "leaf":
            place, where = self.arg
            return Row("leaf", self.dtype, (), (place, k, where))
        return Row(self.head, self.dtype, tuple(self.operands[k].tolist()), self.arg)


@dataclass(slots=True)
class _Table:
    """The expressions of one head: what they were made of, and their numbers."""

    operands: Numbers
    numbers: Numbers


class Elements:
    """Reads nodes over given leaves; `most` bounds how many elements are made in all."""

    def __init__(self, leaves: Collection[UOp], most: int, *, uniform: bool = False) -> None:
        self.leaves = {leaf: k for k, leaf in enumerate(leaves)}
        self.uniform = uniform
        """Whether all positions are alike, so that one stands for all."""
        self._blocks: list[_Block] = []
        self._tables: dict[tuple[Any, DType, Any, int], _Table] = {}
        self._count = 0
        self._most = most
        self._arrays: dict[tuple[UOp, Around], Numbers] = {}
        self._free: dict[UOp, frozenset[UOp]] = {}

    def of(self, node: UOp, around: Around = ()) -> Numbers:
        """The expressions of a node."""
        inside = tuple(row for row in around if row[0] in self._free_of(node)) if around else ()
        found = self._arrays.get((node, inside))
        if found is None:
            found = self._arrays[node, inside] = self._read(node, inside)
        return found

    def row(self, number: int) -> Row:
        """The expression of a number."""
        block = self._blocks[bisect_right(self._blocks, number, key=lambda b: b.start) - 1]
        return block.row(number - block.start)

    def _block(self, head: Any, dtype: DType, arg: Any, operands: Numbers) -> Numbers:
        """New expressions, and their numbers."""
        start, self._count = self._count, self._count + len(operands)
        if self._count > self._most:
            raise TooLarge
        self._blocks.append(_Block(start, head, dtype, arg, operands))
        return np.arange(start, self._count)

    def _made(self, head: Any, dtype: DType, arg: Any, operands: Numbers) -> Numbers:
        """The numbers of expressions with these rows of operands; what was made before is not made again."""
        count, width = operands.shape
        if count == 0:
            return np.zeros(0, np.int64)
        key = (head, dtype, arg, width)
        table = self._tables.get(key)
        known = table.operands if table is not None else np.zeros((0, width), np.int64)
        both = np.concatenate([known, operands])
        _, first, back = np.unique(_codes(both), return_index=True, return_inverse=True)
        numbers = np.empty(len(first), np.int64)
        old = first < len(known)
        if table is not None:
            numbers[old] = table.numbers[first[old]]
        fresh = both[first[~old]]
        numbers[~old] = self._block(head, dtype, arg, fresh)
        held = np.concatenate([table.numbers, numbers[~old]]) if table is not None else numbers[~old]
        self._tables[key] = _Table(np.concatenate([known, fresh]), held)
        return numbers[back.reshape(-1)[len(known) :]]

    def constant(self, arg: ConstArg) -> int:
        """The expression that is a constant."""
        return int(self._made(Op.Const, arg.dtype, arg, np.zeros((1, 0), np.int64))[0])

    def _free_of(self, node: UOp) -> frozenset[UOp]:
        if node not in self._free:
            self._free[node] = free_ranges(node)
        return self._free[node]

    def _shape(self, node: UOp) -> tuple[int, ...]:
        if self.uniform:
            return ()
        shape = node.shape
        if shape is None or not all(isinstance(s, int) for s in shape):
            raise Outside
        return tuple(int(s) for s in shape if isinstance(s, int))

    def _read(self, node: UOp, around: Around) -> Numbers:
        for loop, at in around:
            if node is loop:
                return self._full((), self.constant(ConstArg(at, node.dtype)))
        if node in self.leaves:
            return self._leaf(node, around)
        if node.op is Op.Const:
            return self._full((), self.constant(node.arg))
        if node.op in SAME:
            return self.of(node.src[0], around)
        if node.op in COMPUTED or (node.op is Op.Bitcast and node.shape == node.src[0].shape):
            return self._computed(node, around)
        if node.op is Op.Reduce:
            return self._reduced(node, around)
        if self.uniform and (constant := repeated_constant(node)) is not None:
            return self.of(constant, around)
        law = MOVES.get(node.op)
        if law is None or self.uniform:
            raise Outside
        return law(self, node, [self.of(s, around) for s in _moved(node)])

    def _full(self, shape: tuple[int, ...], number: int) -> Numbers:
        self.afford(shape)
        return np.full(shape, number, np.int64)

    def afford(self, shape: tuple[int, ...]) -> None:
        """Refuse an array of more positions than there may be elements."""
        if math.prod(shape) > self._most:
            raise TooLarge

    def _leaf(self, node: UOp, around: Around) -> Numbers:
        shape = self._shape(node)
        self.afford(shape)
        operands = np.zeros((math.prod(shape), 0), np.int64)
        return self._block("leaf", node.dtype, (self.leaves[node], around), operands).reshape(shape)

    def _computed(self, node: UOp, around: Around) -> Numbers:
        sources = [self.of(s, around) for s in node.src]
        arg = node.arg if node.op in (Op.Cast, Op.Bitcast) else None
        columns = np.stack([s.reshape(-1) for s in sources], axis=-1)
        return self._made(node.op, node.dtype, arg, columns).reshape(sources[0].shape)

    def _reduced(self, node: UOp, around: Around) -> Numbers:
        if self.uniform:
            raise Outside
        steps = self._steps(node, around)
        shape, length = steps.shape[:-1], steps.shape[-1]
        if length == 1:
            return steps.reshape(shape)
        if length == 0:
            return self._full(shape, self._nothing(node))
        rows = steps.reshape(math.prod(shape), length)
        return self._made("reduction", node.dtype, node.arg.op, rows).reshape(shape)

    def _steps(self, node: UOp, around: Around) -> Numbers:
        """For each position of a Reduce what it reduces, in order, along a last axis."""
        if len(node.src) == 1:
            source, axes = self.of(node.src[0], around), tuple(node.arg.axes)
            kept = [k for k in range(source.ndim) if k not in axes]
            laid = np.transpose(source, (*kept, *sorted(axes)))
            shape = tuple(1 if k in axes else s for k, s in enumerate(source.shape))
            return laid.reshape((*shape, math.prod(source.shape[k] for k in axes)))
        turns = [self.of(node.src[0], turn) for turn in self._turns(node.src[1:], around)]
        shape = self._shape(node)
        return np.stack(turns, axis=-1) if turns else np.zeros((*shape, 0), np.int64)

    def _turns(self, loops: tuple[UOp, ...], around: Around) -> list[Around]:
        if not loops:
            return [around]
        bound = self.of(loops[0].src[0], around)
        row = self.row(int(bound))
        if row.head is not Op.Const:
            raise Outside
        if row.arg.value > MOST_TURNS:
            raise TooLarge
        outer = tuple(r for r in around if r[0] is not loops[0])
        return [t for k in range(row.arg.value) for t in self._turns(loops[1:], (*outer, (loops[0], k)))]

    def _nothing(self, node: UOp) -> int:
        """The reduction of nothing (U-10)."""
        empty = identity(node.arg.op, node.dtype)
        if isinstance(empty, Invalid):
            return int(self._made("invalid", node.dtype, None, np.zeros((1, 0), np.int64))[0])
        return self.constant(ConstArg(empty, node.dtype))

    def zero(self, dtype: DType) -> int:
        """What a Pad fills with (U-14)."""
        return self.constant(ConstArg(zero_of(dtype), dtype))


def _codes(rows: Numbers) -> Numbers:
    """One number for each row, the same for the same row."""
    if rows.shape[1] == 0:
        return np.zeros(len(rows), np.int64)
    codes = rows[:, 0]
    for k in range(1, rows.shape[1]):
        _, ranks = np.unique(codes, return_inverse=True)
        codes = ranks.reshape(-1) << 32 | rows[:, k]
    return codes


# Movement ---------------------------------------------------------------------------------------------------------


def _moved(node: UOp) -> tuple[UOp, ...]:
    """The sources whose elements an op moves; the others are sizes, or indices."""
    return node.src if node.op in (Op.Stack, Op.Index) else node.src[:1]


def _sizes(node: UOp, k: int) -> tuple[int, ...]:
    """The numbers that source k of a node holds."""
    sizes = sizes_of(node.src[k])
    if sizes is None or not all(isinstance(s, int) for s in sizes):
        raise Outside
    return tuple(int(s) for s in sizes if isinstance(s, int))


Move = Callable[[Elements, UOp, list[Numbers]], Numbers]


def _permute(elements: Elements, node: UOp, sources: list[Numbers]) -> Numbers:
    return np.transpose(sources[0], node.arg)


def _flip(elements: Elements, node: UOp, sources: list[Numbers]) -> Numbers:
    return np.flip(sources[0], tuple(k for k, flagged in enumerate(node.arg) if flagged))


def _reshape(elements: Elements, node: UOp, sources: list[Numbers]) -> Numbers:
    return sources[0].reshape(_sizes(node, 1))


def _expand(elements: Elements, node: UOp, sources: list[Numbers]) -> Numbers:
    shape = _sizes(node, 1)
    elements.afford(shape)
    return np.broadcast_to(sources[0], shape)


def _pad(elements: Elements, node: UOp, sources: list[Numbers]) -> Numbers:
    offset, shape = _sizes(node, 1), _sizes(node, 2)
    elements.afford(shape)
    padded = np.full(shape, elements.zero(node.dtype), np.int64)
    inside = tuple(slice(o, o + s) for o, s in zip(offset, sources[0].shape, strict=True))
    padded[inside] = sources[0]
    return padded


def _shrink(elements: Elements, node: UOp, sources: list[Numbers]) -> Numbers:
    offset, shape = _sizes(node, 1), _sizes(node, 2)
    return sources[0][tuple(slice(o, o + s) for o, s in zip(offset, shape, strict=True))]


def _stack(elements: Elements, node: UOp, sources: list[Numbers]) -> Numbers:
    if not sources:
        raise Outside
    return np.stack(sources)


def _index(elements: Elements, node: UOp, sources: list[Numbers]) -> Numbers:
    """Reads at numbers; at anything else the position is not known here."""
    table, *indices = sources
    for axis, index in reversed(list(enumerate(indices))):
        rows = [elements.row(k) for k in index.reshape(-1).tolist()]
        if any(r.head is not Op.Const for r in rows):
            raise Outside
        places = np.array([int(r.arg.value) for r in rows], np.int64)
        if len(places) and (places.min() < 0 or places.max() >= table.shape[axis]):
            raise Outside
        taken = np.take(table, places, axis=axis)
        table = taken.reshape((*table.shape[:axis], *index.shape, *table.shape[axis + 1 :]))
    return table


MOVES: Mapping[Op, Move] = {
    Op.Permute: _permute,
    Op.Flip: _flip,
    Op.Reshape: _reshape,
    Op.Expand: _expand,
    Op.Pad: _pad,
    Op.Shrink: _shrink,
    Op.Stack: _stack,
    Op.Index: _index,
}
"""The movement ops, as numpy moves things. Anything else is a leaf."""
