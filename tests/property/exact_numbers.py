"""A second reading of programs: floats as fractions, and as fractions with a derivative (dual numbers).

Over fractions the ops of a field, selection and movement are exact, so that the gradient of a program can be held to
the derivative of the same program by equality. Only what such programs need is read.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from typing import Any

from soundline.spec.arrays import movement
from soundline.spec.arrays.arrays import INVALID, Array, positions
from soundline.spec.ops.bodies import own_nodes
from soundline.spec.ops.node import UOp
from soundline.spec.ops.sizes import sizes_of
from soundline.spec.ops.table import Op
from soundline.spec.values.elementwise import scalar


@dataclass(frozen=True)
class Dual:
    """value + slope·ε, where ε² = 0."""

    value: Fraction
    slope: Fraction = Fraction(0)

    def __add__(self, other: Dual) -> Dual:
        return Dual(self.value + other.value, self.slope + other.slope)

    def __sub__(self, other: Dual) -> Dual:
        return Dual(self.value - other.value, self.slope - other.slope)

    def __mul__(self, other: Dual) -> Dual:
        return Dual(self.value * other.value, self.slope * other.value + self.value * other.slope)

    def __truediv__(self, other: Dual) -> Dual:
        quotient = self.value / other.value
        return Dual(quotient, (self.slope - quotient * other.slope) / other.value)

    def __neg__(self) -> Dual:
        return Dual(-self.value, -self.slope)

    def __lt__(self, other: Dual) -> bool:
        return self.value < other.value

    def __gt__(self, other: Dual) -> bool:
        return self.value > other.value


Number = Fraction | Dual | float

FIELD: dict[Op, Callable[..., Any]] = {
    Op.Add: operator.add,
    Op.Sub: operator.sub,
    Op.Mul: operator.mul,
    Op.Div: operator.truediv,
    Op.Neg: operator.neg,
    Op.Mulacc: lambda a, b, c: a * b + c,
    Op.Max: max,
    Op.CmpLt: operator.lt,
    Op.CmpGt: operator.gt,
}
"""What ops of floats are on numbers of a field."""

SAME = (Op.Contiguous, Op.ContiguousBackward, Op.Detach, Op.After)


def read(root: UOp, params: Mapping[int, Array], lift: Callable[[Fraction], Number]) -> Array:
    """The value of a program whose float Params hold numbers of a field, into which `lift` takes fractions."""
    known: dict[UOp, Array] = {}
    for node in own_nodes(root):
        if node.shape is not None:
            known[node] = _value(node, known, params, lift)
    return known[root]


def _value(node: UOp, known: dict[UOp, Array], params: Any, lift: Any) -> Array:
    op, src = node.op, node.src
    if op is Op.Param:
        return params[node.arg.slot]
    if op is Op.Const:
        value = node.arg.value
        return Array(node.dtype, (), (lift(Fraction(value)) if node.dtype.is_float else value,))
    if op is Op.GetTuple:
        called = src[0]
        if called.op is Op.Tuple:
            return known[called.src[node.arg]]
        arguments = {k: known[a] for k, a in enumerate(called.src[1:])}
        return read(called.src[0].src[node.arg], arguments, lift)
    if op in SAME or (op is Op.Load and len(src) == 1):
        return known[src[0]]
    if op is Op.Stack:
        return movement.stack([known[s] for s in src], node.dtype)
    if op is Op.Reduce:
        return _folded(node, known[src[0]], lift)
    if op in MOVES:
        return _filled(MOVES[op](node, known), lift)
    return _elementwise(node, [known[s] for s in src], lift)


def _numbers(source: UOp) -> tuple[int, ...]:
    found = sizes_of(source)
    assert found is not None
    return tuple(n if isinstance(n, int) else int(n.arg.value) for n in found)


def _known_shape(node: UOp) -> tuple[int, ...]:
    return tuple(n for n in node.shape or () if isinstance(n, int))


def _moved(node: UOp, known: dict[UOp, Array]) -> Array:
    return movement.moved(node.op, known[node.src[0]], *map(_numbers, node.src[1:]), arg=node.arg)


MOVES: dict[Op, Callable[[UOp, dict[UOp, Array]], Array]] = {
    **dict.fromkeys(movement.MOVES, _moved),
    Op.Index: lambda n, k: movement.indexed(k[n.src[0]], [k[i] for i in n.src[1:]]),
    Op.Slice: lambda n, k: movement.moved(
        Op.Shrink, k[n.src[0]], (int(k[n.src[1]].item()),), _known_shape(n)
    ),
    Op.Replicated: lambda n, k: movement.moved(
        Op.Shrink, k[n.src[0]], (0,) * len(_known_shape(n)), _known_shape(n)
    ),
    Op.Bitcast: lambda n, k: k[n.src[0]],
}
"""Movement, of any elements; Slice and Bitcast to the same dtype, Replicated of equal slices."""


def _filled(array: Array, lift: Any) -> Array:
    """The zeros of Pad as numbers of the field."""
    if not array.dtype.is_float:
        return array
    return array_of(array, (lift(Fraction(e)) if type(e) is float else e for e in array.elements))


def _folded(node: UOp, source: Array, lift: Any) -> Array:
    shape = _known_shape(node)
    along = tuple(n if k in node.arg.axes else 1 for k, n in enumerate(source.shape))
    empty = {Op.Add: lift(Fraction(0)), Op.Mul: lift(Fraction(1)), Op.Max: False}[node.arg.op]
    cells = []
    for p in positions(shape):
        row = [source.at(tuple(i + j for i, j in zip(p, q, strict=True))) for q in positions(along)]
        cells.append(reduce(FIELD[node.arg.op], row) if row else empty)
    return Array(node.dtype, shape, tuple(cells))


def _elementwise(node: UOp, sources: list[Array], lift: Any) -> Array:
    first = sources[1].dtype if node.op is Op.Where else sources[0].dtype

    def law(*row: Any) -> Any:
        if node.op is Op.Where:
            return row[1] if row[0] else row[2]
        if INVALID in row:
            return INVALID
        if node.op is Op.Cast and node.arg.is_float:
            return row[0] if first.is_float else lift(Fraction(int(row[0])))
        if not first.is_float:
            return scalar(node.op, first, *row, arg=node.arg)
        return lift(Fraction(1)) / row[0] if node.op is Op.Recip else FIELD[node.op](*row)

    rows = zip(*(s.elements for s in sources), strict=True)
    return Array(node.dtype, sources[0].shape, tuple(law(*row) for row in rows))


def array_of(like: Array, numbers: Iterable[Any]) -> Array:
    """An array of the shape of another that holds any numbers."""
    return Array(like.dtype, like.shape, tuple(numbers))


def fractions(array: Array) -> Array:
    """The same numbers, exactly."""
    return array_of(array, map(Fraction, _floats(array)))


def _floats(array: Array) -> list[Any]:
    return list(array.elements)


def slopes(y: UOp, params: Mapping[int, Array], slot: int, seed: Array) -> tuple[Fraction, ...]:
    """The derivative of Σ seed·y with respect to each element of a Param, by dual numbers."""
    found = []
    for moved in range(len(params[slot].elements)):
        bound = {k: _moving(a, moved if k == slot else None) for k, a in params.items()}
        parts = zip(_floats(seed), _floats(read(y, bound, Dual)), strict=True)
        found.append(sum((Fraction(s) * v.slope for s, v in parts), Fraction(0)))
    return tuple(found)


def _moving(array: Array, moved: int | None) -> Array:
    """The array, of which one element moves at the rate 1."""
    if not array.dtype.is_float:
        return array
    return array_of(array, (Dual(Fraction(e), Fraction(n == moved)) for n, e in enumerate(_floats(array))))
