"""
Counting work
=============

How much a kernel computes and moves, counted from its UOps: floating-point operations, by dtype, and bytes of memory.

The instructions of a linear kernel are traversed in order with the loops that are open around them, so that each counts
as often as it runs, once for each of its lanes. A lane in which two vectors overlap counts in both. A `Mulacc` is two
operations. The operations that selection has put in place of an op, such as the polynomial of an `Exp2`, are counted as
they run. Moves, comparisons, choices and conversions are not counted.

Bytes are those that a kernel must move at least: each element of an array that it reads, and each that it writes, once.
How many there are is the least of three bounds: the size of the array, the intervals of the indices, and how many
different indices the loops can make. Registers and other storage of the kernel's own do not count.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from soundline.impl.analysis import arithmetic
from soundline.impl.analysis.folding import fold
from soundline.impl.lower.graphs.views import floored, most_iterations
from soundline.impl.lower.linear.linearize import is_global
from soundline.spec.dtypes import DType
from soundline.spec.ops.node import over
from soundline.spec.uop import Op, UOp, const, substitute, toposort

OPERATIONS = {
    **dict.fromkeys((Op.Add, Op.Sub, Op.Mul, Op.Div, Op.Max, Op.Recip, Op.Sqrt), 1),
    **dict.fromkeys((Op.Exp2, Op.Log2, Op.Sin, Op.Pow), 1),
    Op.Mulacc: 2,
}
"""How many floating-point operations an instruction is for each of its lanes."""


@dataclass(frozen=True, slots=True)
class Work:
    """What a kernel computes and moves in one run."""

    flops: Mapping[DType, int] = field(default_factory=dict, hash=False)
    read: int = 0
    """Bytes of memory that must be read."""
    written: int = 0
    """Bytes of memory that must be written."""

    @property
    def operations(self) -> int:
        """Floating-point operations of all dtypes."""
        return sum(self.flops.values())

    @property
    def moved(self) -> int:
        """Bytes read and written."""
        return self.read + self.written


def work_of(kernel: UOp) -> Work:
    """The work of a kernel in linear form, as the stages ``linearize`` and ``plan`` leave it."""
    flops: Counter[DType] = Counter()
    read: dict[UOp, list[UOp]] = {}
    written: dict[UOp, list[UOp]] = {}
    for node, times in _runs(kernel):
        if node.op is Op.Load:
            _note(read, node.src[0])
        elif node.op is Op.Store:
            _note(written, node.src[0])
        elif node.shape is not None and node.dtype.is_float:
            flops[node.dtype] += times * _operations(node)
    found = {dtype: count for dtype, count in flops.items() if count}
    return Work(found, _bytes(read), _bytes(written))


def at_sizes(kernel: UOp, sizes: Mapping[int, int]) -> UOp:
    """A kernel of symbolic sizes, which it reads from Buffers, at given ones: the number in the Buffer of each slot."""
    read = {
        n: const(sizes[n.src[0].src[0].arg.slot], n.dtype)
        for n in toposort(kernel)
        if n.op is Op.Load
        and n.src[0].op is Op.Index
        and n.src[0].src[0].op is Op.Buffer
        and n.src[0].src[0].arg.slot in sizes
        and is_global(n.src[0].src[0])
    }
    for node in toposort(kernel):  # and what is computed from them alone
        known = fold(floored(over(node, tuple(read.get(s, s) for s in node.src)))) if node.src else None
        if known is not None and node not in read:
            read[node] = known
    return Op.Linear(*(substitute(Op.Group(n), read).src[0] for n in kernel.src if n not in read))


def _runs(kernel: UOp) -> Iterator[tuple[UOp, int]]:
    """The instructions of a kernel, and how often the loops around run each of them."""
    around = [1]
    for node in kernel.src:
        if node.op is Op.Range:
            around.append(around[-1] * most_iterations(node))
        elif node.op is Op.End:
            around.pop()
        else:
            yield node, around[-1]


def _elements(node: UOp) -> int:
    return math.prod(s for s in node.shape or () if isinstance(s, int))


def _operations(node: UOp) -> int:
    """The operations of one run of an instruction."""
    if node.op is Op.Reduce:  # of lanes; one over Ranges is a register by now
        return _elements(node.src[0]) - _elements(node)
    return OPERATIONS.get(node.op, 0) * _elements(node)


# Memory -----------------------------------------------------------------------------------------------------------


def _note(accesses: dict[UOp, list[UOp]], place: UOp) -> None:
    """An access to memory, under the storage that it goes to; registers are none."""
    while place.op in (Op.After, Op.Reshape):
        place = place.src[0]
    if place.op is not Op.Index:
        return
    storage = place.src[0]
    while storage.op in (Op.After, Op.Reshape):
        storage = storage.src[0]
    if storage.op is Op.Slice or is_global(storage):
        accesses.setdefault(storage, []).append(place.src[1])


def _bytes(accesses: dict[UOp, list[UOp]]) -> int:
    return sum(touched(s, dict.fromkeys(places)) * s.dtype.itemsize for s, places in accesses.items())


def touched(storage: UOp, indices: Iterable[UOp]) -> int:
    """How many elements of storage these indices reach at most."""
    size = _elements(storage)
    intervals: list[tuple[int, int]] = []
    different = 0
    for at in indices:
        different += _different(at)
        known = arithmetic.bounds(at)
        if known is not None:
            first, last = max(known.lo, 0), min(known.hi, size - 1)
            intervals.append((int(first), int(last)))
    return min(size, different, _covered(intervals))


def _different(at: UOp) -> int:
    """How many different values an index takes at most: one for each iteration and lane that it depends on."""
    return _elements(at) * math.prod(most_iterations(r) for r in arithmetic.ranges_of(at))


def _covered(intervals: Iterable[tuple[int, int]]) -> int:
    """How many whole numbers lie in one of the intervals."""
    total, end = 0, -1
    for first, last in sorted(intervals):
        total += max(0, last - max(first, end + 1) + 1)
        end = max(end, last)
    return total
