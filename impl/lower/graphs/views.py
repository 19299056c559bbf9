"""
Views
=====

A view says where in a value one scalar of a kernel is read: one coordinate per axis, index expressions over the
kernel's ranges, and the gate outside which the scalar is not wanted. Every movement op maps a view of its result to a
view of its source; that is all that lowering does with movement ops. How it maps them is the law of the op
(`spec.arrays.movement`), read on index expressions.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import mul
from typing import Any

from soundline.impl.analysis import arithmetic
from soundline.impl.analysis.arithmetic import Coordinate, Term
from soundline.impl.arrays.sizes import interval
from soundline.impl.lower.graphs.rebuilding import rebuilt
from soundline.spec.arrays import movement
from soundline.spec.arrays.movement import LAWS, MOVES, Axes, Given, digits, index_parts
from soundline.spec.errors import CompileError
from soundline.spec.ops.node import Shape, Size, over
from soundline.spec.ops.sizes import difference, multiply, polynomial, product, sizes_of
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
        return math.prod(most_iterations(r) for r in self.ranges)

    def at(self, coordinates: Sequence[UOp]) -> View:
        """The same reading at other coordinates."""
        return replace(self, coordinates=tuple(coordinates))


def trip_count(loop: UOp) -> int:
    """The number of iterations of a Range of known bound."""
    return int(loop.src[0].arg.value)


def most_iterations(loop: UOp) -> int:
    """The number of iterations of a Range; of one whose bound is no number, the most that it may have."""
    if loop.src[0].op is Op.Const:
        return trip_count(loop)
    known = arithmetic.bounds(_as_floors(loop.src[0]))
    return 0 if known is None else max(0, int(known.hi))


_FLOOR = {Op.CDiv: Op.Idiv, Op.CMod: Op.Mod}


def floored(node: UOp) -> UOp:
    """What a division was before selection, which in a size is the same: nothing in it is negative."""
    return UOp(_FLOOR[node.op], node.src, node.arg) if node.op in _FLOOR else node


def _as_floors(size: UOp) -> UOp:
    return rebuilt(size, lambda node, src: floored(over(node, src)))


def is_size(node: UOp) -> bool:
    """Whether an index is a size: one number for all iterations, of which the greatest is known."""
    known = None if arithmetic.ranges_of(node) else arithmetic.bounds(node)
    return known is not None and known.lo >= 0 and known.hi < float("inf")


def greatest(size: Size) -> int:
    """The greatest number that a size may be; raises `CompileError` where there is none."""
    if isinstance(size, int):
        return size
    known = arithmetic.bounds(size)
    if known is None or known.hi == float("inf"):
        raise CompileError(
            f"the size {size!r} may be any number", hint="compile with examples of concrete shapes"
        )
    return interval(polynomial(size))[1]


def most_elements(shape: Shape | None) -> int:
    """The most elements that a value of a shape may have."""
    return greatest(product(shape or ()))


def extents(node: UOp) -> tuple[int, ...]:
    """The shape of a value where each of its sizes is the greatest."""
    return tuple(map(greatest, node.shape or ()))


def terms(shape: Shape | None) -> tuple[Term, ...]:
    """A shape as numbers that laws compute with."""
    return tuple(s if isinstance(s, int) else arithmetic.term_of(s) for s in shape or ())


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


@dataclass(frozen=True, slots=True)
class Coordinates:
    """The algebra in which lowering reads the laws of movement: index expressions, and gates for conditions."""

    gate: UOp | None = None
    """A condition that every other one is joined to; None is the condition that always holds."""

    def number(self, value: int) -> Term:
        """A number that is known."""
        return value

    def same(self, a: Term, b: Term) -> bool:
        """Whether two sizes are equal whatever the symbols in them are."""
        if isinstance(a, int) and isinstance(b, int):
            return a == b
        return difference(_size(a), _size(b)) == 0

    def equal(self, a: Term, b: Term) -> UOp | None:
        """The gate a = b."""
        gap = difference(_size(a), _size(b))
        if gap is None:
            return Op.CmpEq(arithmetic.node_of(a), arithmetic.node_of(b))
        return arithmetic.closed_gate() if gap else None

    def inside(self, i: Term, size: Term) -> UOp | None:
        """The gate 0 ≤ i < size."""
        return arithmetic.inside(arithmetic.node_of(i), size)

    def every(self, conditions: Iterable[UOp | None]) -> UOp | None:
        """All gates, and that of the algebra."""
        return reduce(arithmetic.both, conditions, self.gate)

    def one_of(self, *cases: tuple[UOp | None, Term]) -> Term:
        """The first number whose gate is open; a choice where that is not known."""
        for gate, found in cases:
            if gate is None:
                return found
        (_, chosen), *others = reversed(cases)
        for gate, found in others:
            chosen = Coordinate(Op.Where(gate, arithmetic.node_of(found), arithmetic.node_of(chosen)))
        return chosen

    def groups(self, old: tuple[Term, ...], new: tuple[Term, ...]) -> Iterable[tuple[Axes, Axes]]:
        """The smallest groups, so that an axis that stays as it is keeps its coordinate."""
        if all(isinstance(size, int) for size in (*old, *new)):
            return groups(old, new)
        return _symbolic_groups(tuple(map(_size, old)), tuple(map(_size, new)))

    def digits(self, number: Term, sizes: tuple[Term, ...]) -> tuple[Term, ...]:
        """The position with a row-major number, by division."""
        return digits(number, sizes)


def _size(term: Term) -> int | UOp:
    return term if isinstance(term, int) else term.node


@functools.lru_cache(maxsize=1 << 10)
def groups(old: tuple[int, ...], new: tuple[int, ...]) -> tuple[tuple[Axes, Axes], ...]:
    """The smallest groups of axes of two shapes that hold equally many elements."""
    return tuple(movement.groups(old, new, 1, mul, int))


def _symbolic_groups(old: Shape, new: Shape) -> Iterable[tuple[Axes, Axes]]:
    """The smallest groups that do so whatever the symbols in the sizes are."""
    return movement.groups(old, new, 1, multiply, polynomial)


MOVEMENT = frozenset(MOVES)
"""The movement ops that only move: one source, one element of it per element of the result."""


def _given(node: UOp) -> Given[Term]:
    """What a movement op is given, in numbers."""
    return Given((terms(node.src[0].shape),), node.arg, tuple(terms(sizes_of(s)) for s in node.src[1:]))


def source_view(node: UOp, view: View) -> View:
    """Where a movement op reads its source for a reading of its result."""
    index, gate = read(node.op, _given(node), view.coordinates, view.gate)
    return View(view.kernel, index, gate)


def pad_gate(node: UOp, view: View) -> UOp | None:
    """The gate that a Pad adds to a view: where its source is read rather than the zero."""
    return read(node.op, _given(node), view.coordinates)[1]


def read(
    op: Op, given: Given[Term], at: Iterable[UOp], gate: UOp | None = None
) -> tuple[tuple[UOp, ...], UOp | None]:
    """The position of its source that a movement op reads, and where that is to be read at all."""
    law, a = LAWS[op], Coordinates(gate)
    index = law.index(a, given, tuple(map(arithmetic.term_of, at)))
    return tuple(map(arithmetic.node_of, index)), law.inside(a, given, index)


def indexed(node: UOp, at: Sequence[UOp], element: Callable[[UOp, tuple[UOp, ...]], UOp]) -> tuple[UOp, ...]:
    """The position of its source that an Index reads; `element` says what an index holds at a position.

    It has no gate: outside of the source the element is ⊥, for which any value will do.
    """
    shapes: tuple[tuple[Any, ...], ...] = tuple(s.shape or () for s in node.src)
    parts = index_parts(Given(shapes), tuple(map(arithmetic.term_of, at)))
    held = [element(i, tuple(map(arithmetic.node_of, p))) for i, p in zip(node.src[1:], parts, strict=True)]
    given = Given(shapes, numbers=tuple((arithmetic.term_of(h),) for h in held))
    index = LAWS[Op.Index].index(Coordinates(), given, tuple(map(arithmetic.term_of, at)))
    return tuple(map(arithmetic.node_of, index))


def selected(position: UOp, values: Sequence[UOp]) -> UOp:
    """What a Stack of values has at a position: the value with that number."""
    chosen = values[-1]
    for k in reversed(range(len(values) - 1)):
        chosen = Op.Where(Op.CmpEq(position, arithmetic.number(k)), values[k], chosen)
    return chosen


def stacked(at: Iterable[UOp]) -> tuple[UOp, ...]:
    """The position of each of its sources that a Stack reads, if it reads that source."""
    return read(Op.Stack, Given(()), at)[0]
