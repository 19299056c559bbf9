"""
Vector types
============

What one vector of the machine can be: which dtypes its lanes hold, how many there are, which ops compute it, and where
it lies in memory. A bool in a vector is a mask, whose lanes are as wide as what was compared.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass

from soundline.impl.lower.graphs.views import shape_of
from soundline.impl.lower.schedule.target import this_machine
from soundline.spec.dtypes import DType, bool_, float32, float64, index, int32, int64, uint32, uint64
from soundline.spec.uop import Op, UOp, const, expand, reshape

VECTOR_DTYPES = (float32, float64, int32, int64, uint32, uint64)
"""The dtypes whose vectors C adds and multiplies as the law does."""
COMPARISONS = frozenset((Op.CmpLt, Op.CmpGt, Op.CmpLe, Op.CmpGe, Op.CmpEq, Op.CmpNe))
_LOGIC = frozenset((Op.And, Op.Or, Op.Xor, Op.Not))
_SHIFTS = frozenset((Op.Shl, Op.Shr))
_OF_FLOATS = frozenset((Op.Div, Op.Recip))
_REDUCED = frozenset((Op.Add, Op.Mul, Op.Max))
_OF_ALL = frozenset((Op.Add, Op.Sub, Op.Mul, Op.Mulacc, Op.Max, Op.Neg, Op.Where, Op.Bitcast))


def computes(node: UOp) -> bool:
    """Whether vectors of a node's dtypes do what its op does; a vector of bools is as wide as what was compared."""
    if node.dtype is bool_:
        return (
            node.op in _LOGIC
            or node.op is Op.Where
            or (node.op in COMPARISONS and node.src[0].dtype in VECTOR_DTYPES)
        )
    if node.dtype not in VECTOR_DTYPES:
        return False
    if node.op is Op.Bitcast:
        return node.src[0].dtype in VECTOR_DTYPES and node.src[0].dtype.itemsize == node.dtype.itemsize
    if node.op in _SHIFTS:
        return shift_count(node) is not None
    if node.op in _LOGIC:
        return node.dtype.is_int
    return node.op in _OF_ALL or (node.op in _OF_FLOATS and node.dtype.is_float)


def shift_count(shift: UOp) -> int | None:
    """By how many bits a shift goes, where that is a constant number of bits that the dtype has."""
    count = shift.src[1]
    while count.op in (Op.Expand, Op.Reshape):
        count = count.src[0]
    return int(count.arg.value) if count.op is Op.Const and 0 <= count.arg.value < shift.dtype.bits else None


def lane_size(node: UOp) -> int | None:
    """The bytes of one lane of a value; of bools, those of what was compared, and None where that is not known."""
    if node.dtype is not bool_:
        return node.dtype.itemsize
    stack, seen = [node], {node}
    while stack:
        top = stack.pop()
        if top.op in COMPARISONS:
            return top.src[0].dtype.itemsize
        inside = top.op in _LOGIC or (top.op is Op.Where and top.dtype is bool_)
        new = [n for n in top.src if n not in seen] if inside else []
        stack.extend(reversed(new))
        seen.update(new)
    return None


@dataclass(frozen=True, slots=True)
class Vector:
    """The type of a vector."""

    dtype: DType
    """What a lane holds."""
    bits: int
    """How wide a lane is."""
    width: int
    """How many lanes there are."""


def vector_of(node: UOp) -> Vector | None:
    """The vector that a value, a register or a place in one is; None where the machine has none, or does not compute it
    in one. Of a bool that is repeated the users decide how wide it is.
    """
    if node.shape is None or len(node.shape) != 1 or node.dtype not in (*VECTOR_DTYPES, bool_):
        return None
    width, lane = node.shape[0], lane_size(node)
    if not isinstance(width, int) or lane is None or width < 2 or width & (width - 1):
        return None
    if width * lane > this_machine().vector or not _is_made(node, lane):
        return None
    return Vector(node.dtype, 8 * lane, width)


def _is_made(node: UOp, lane: int) -> bool:
    """Whether an op gives a vector; what bools choose, or are joined with, has lanes as wide as theirs."""
    match node.op:
        case Op.Buffer:
            return bool(node.arg.addrspace == "REG")
        case Op.After:
            return True
        case Op.Expand:
            return is_fill(node)
        case Op.Load:
            return len(node.src) == 1 and is_whole(node.src[0])
        case Op.Reduce:
            return node.arg.op in _REDUCED and node.dtype is not bool_
    return computes(node) and all(lane_size(s) in (None, lane) for s in node.src if s.dtype is bool_)


def repeated(value: UOp, width: int) -> UOp:
    """A scalar in all lanes of a vector."""
    return expand(reshape(value, (1,)), (width,)) if width > 1 and not value.shape else value


def is_fill(node: UOp) -> bool:
    """Whether a vector is one scalar repeated."""
    return node.op is Op.Expand and node.src[0].op is Op.Reshape and not node.src[0].src[0].shape


@functools.cache
def _counted(width: int) -> UOp:
    """0, 1, … in a vector."""
    return Op.Stack(*(const(k, index) for k in range(width)))


def neighbours(storage: UOp, first: UOp, width: int) -> UOp:
    """Places side by side in memory."""
    return Op.Index(storage, first if width == 1 else Op.Add(repeated(first, width), _counted(width)))


def first_of(at: UOp) -> UOp | None:
    """The first of the indices of `neighbours`; None of others."""
    if at.op is not Op.Add or not at.shape or at.src[1] is not _counted(math.prod(shape_of(at))):
        return None
    return at.src[0].src[0].src[0] if is_fill(at.src[0]) else None


def is_whole(place: UOp) -> bool:
    """Whether a place is neighbours in memory, or all of a register."""
    if place.op is Op.Index:
        return first_of(place.src[1]) is not None
    return place.op in (Op.After, Op.Buffer)
