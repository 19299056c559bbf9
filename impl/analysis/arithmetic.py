"""
Index arithmetic
================

Builders for the coordinates that lowering computes, and cached intervals of their values. A builder folds constants
and drops the neutral element, nothing more: every other simplification is a rule of the library. A `Coordinate`
computes with the builders as with numbers, so that a law can be read on it.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from weakref import ref

from soundline.impl.analysis.cached import Remembered
from soundline.spec.arrays.movement import flat
from soundline.spec.derived_props import MIN_MAX
from soundline.spec.dtypes import bool_, index
from soundline.spec.ops.bounds import Bounds
from soundline.spec.uop import Op, UOp, const
from soundline.spec.values.elementwise import scalar

_KNOWN: Remembered[Bounds | None] = Remembered()


def bounds(node: UOp) -> Bounds | None:
    """`min_max` of a node by the spec's laws, each node computed once."""
    return _KNOWN.found(node, _bounds)


def _bounds(node: UOp) -> Bounds | None:
    return None if node.shape is None else MIN_MAX[node.op](node, _KNOWN.__getitem__)


@functools.lru_cache(maxsize=1 << 12, typed=True)
def number(value: int) -> UOp:
    """An index constant."""
    return const(value, index)


def is_number(node: UOp, value: int | None = None) -> bool:
    """Whether a node is an index constant, and this one if `value` is given."""
    return node.op is Op.Const and node.dtype is index and value in (None, node.arg.value)


def _folded(op: Op, a: UOp, b: UOp) -> UOp:
    if a.op is Op.Const and b.op is Op.Const:
        return const(scalar(op, index, a.arg.value, b.arg.value), index)
    return UOp(op, (a, b))


def add(a: UOp, b: UOp) -> UOp:
    """a + b."""
    if is_number(a, 0):
        return b
    return a if is_number(b, 0) else _folded(Op.Add, a, b)


def mul(a: UOp, b: UOp) -> UOp:
    """a · b."""
    if is_number(a, 1) or is_number(b, 0):
        return b
    return a if is_number(b, 1) or is_number(a, 0) else _folded(Op.Mul, a, b)


def sub(a: UOp, b: int) -> UOp:
    """a - b."""
    return add(a, number(-b))


def div(a: UOp, b: int) -> UOp:
    """⌊a/b⌋ for b ≥ 1."""
    return a if b == 1 else _folded(Op.Idiv, a, number(b))


def mod(a: UOp, b: int) -> UOp:
    """a mod b for b ≥ 1."""
    return number(0) if b == 1 else _folded(Op.Mod, a, number(b))


class Coordinate:
    """An index expression as a number that laws compute with."""

    __slots__ = ("node",)

    def __init__(self, node: UOp) -> None:
        self.node = node

    def __add__(self, other: Term) -> Coordinate:
        return Coordinate(add(self.node, node_of(other)))

    def __radd__(self, other: int) -> Coordinate:
        return Coordinate(add(number(other), self.node))

    def __sub__(self, other: Term) -> Coordinate:
        if isinstance(other, int):
            return Coordinate(sub(self.node, other))
        return Coordinate(Op.Sub(self.node, other.node))

    def __rsub__(self, other: int) -> Coordinate:
        return Coordinate(add(mul(self.node, number(-1)), number(other)))

    def __mul__(self, other: Term) -> Coordinate:
        return Coordinate(mul(self.node, node_of(other)))

    def __rmul__(self, other: int) -> Coordinate:
        return Coordinate(mul(number(other), self.node))

    def __floordiv__(self, other: Term) -> Coordinate:
        return Coordinate(div(self.node, other) if isinstance(other, int) else Op.Idiv(self.node, other.node))

    def __rfloordiv__(self, other: int) -> Coordinate:
        return Coordinate(number(other)) // self

    def __mod__(self, other: Term) -> Coordinate:
        return Coordinate(mod(self.node, other) if isinstance(other, int) else Op.Mod(self.node, other.node))

    def __rmod__(self, other: int) -> Coordinate:
        return Coordinate(number(other)) % self


Term = int | Coordinate
"""What coordinates, sizes and offsets are in lowering: a number that is known, or an expression."""


def term_of(node: UOp) -> Term:
    """An index expression as a term: the number that it is, if it is one."""
    return int(node.arg.value) if node.op is Op.Const else Coordinate(node)


def node_of(term: Term) -> UOp:
    """A term as an index expression."""
    return number(term) if isinstance(term, int) else term.node


def flatten(coordinates: Iterable[UOp], shape: Iterable[Term]) -> UOp:
    """The row-major number of a position."""
    return node_of(flat(int, tuple(map(term_of, coordinates)), tuple(shape)))


def both(a: UOp | None, b: UOp | None) -> UOp | None:
    """The conjunction of two gates; None is the gate that is always open."""
    if a is None or b is None or a is b:
        return b if a is None else a
    return Op.And(a, b)


def inside(coordinate: UOp, size: Term) -> UOp | None:
    """The gate 0 ≤ coordinate < size, without the halves that the bounds already decide."""
    known, least = bounds(coordinate), _least(size)
    low = known is not None and known.lo >= 0
    high = known is not None and least is not None and known.hi < least
    return both(
        None if low else Op.CmpLe(number(0), coordinate),
        None if high else Op.CmpLt(coordinate, node_of(size)),
    )


def _least(size: Term) -> float | None:
    if isinstance(size, int):
        return size
    known = bounds(size.node)
    return None if known is None else known.lo


def closed_gate() -> UOp:
    """The gate that is never open."""
    return const(False, bool_)


_RANGES: Remembered[frozenset[UOp]] = Remembered()
_NONE: frozenset[UOp] = frozenset()


def ranges_of(node: UOp) -> frozenset[UOp]:
    """The Ranges that a node depends on and that no Reduce or End below it has closed."""
    known = _RANGES.data.get(ref(node))
    return _RANGES.found(node, _open_ranges) if known is None else known


def _open_ranges(node: UOp) -> frozenset[UOp]:
    if node.op is Op.Range:
        return frozenset((node,))
    if node.op is Op.Reduce:
        own = _RANGES[node.src[0]].difference(node.src[1:])
        bounds = [_RANGES[r.src[0]] for r in node.src[1:] if r.src[0].op is not Op.Const]
        return own.union(*bounds) if bounds else own
    if node.op is Op.End:
        return _RANGES[node.src[0]].difference((node.src[1],))
    inside = [_RANGES[s] for s in node.src if _RANGES[s]]
    if not inside:
        return _NONE
    return inside[0] if len(inside) == 1 else inside[0].union(*inside[1:])
