"""
Scalars
=======

Small scalar programs that several stages need: zeros, identities of reductions, bit casts between
widths, and loads behind a gate.
"""

from __future__ import annotations

from collections.abc import Sequence

from soundline.impl.analysis import arithmetic
from soundline.impl.lower.graphs.rebuilding import rebuilt
from soundline.spec.dtypes import DType, float32, float64, uint8, uint16, uint32, uint64, zero_of
from soundline.spec.ops.programs import reduction
from soundline.spec.uop import Op, Shape, UOp, broadcast_to, const, over

FUSED = (float32, float64)
"""The dtypes for which C has a fused multiplication and addition."""
_UNSIGNED = {1: uint8, 2: uint16, 4: uint32, 8: uint64}


def zero(dtype: DType) -> UOp:
    """What Pad fills with."""
    return const(zero_of(dtype), dtype)


def identity_of(op: Op, dtype: DType, *, empty: bool = False) -> UOp:
    """The value e with e ∘ x = x for every x; with `empty`, the value of the reduction of nothing (U-10)."""
    value = reduction.identity(op, dtype) if empty else reduction.neutral(op, dtype)
    return const(dtype.min if value is None else value, dtype)


def unsigned_of(dtype: DType) -> DType:
    """The unsigned integer of the same width."""
    return _UNSIGNED[dtype.itemsize]


def _bits(value: UOp) -> UOp:
    wide = unsigned_of(value.dtype)
    return value if value.dtype is wide else Op.Bitcast(value, arg=wide)


def _reread(value: UOp, dtype: DType) -> UOp:
    return value if value.dtype is dtype else Op.Bitcast(value, arg=dtype)


def joined_bitcast(parts: Sequence[UOp], dtype: DType) -> UOp:
    """One element of a wider dtype from consecutive narrower ones, little endian."""
    wide = unsigned_of(dtype)
    width = parts[0].dtype.bits
    total = Op.Cast(_bits(parts[0]), arg=wide)
    for k, part in enumerate(parts[1:], 1):
        total = Op.Or(total, Op.Shl(Op.Cast(_bits(part), arg=wide), const(k * width, wide)))
    return _reread(total, dtype)


def split_bitcast(value: UOp, part: UOp, dtype: DType) -> UOp:
    """Part number `part`, an index, of an element of a wider dtype, little endian."""
    wide = unsigned_of(value.dtype)
    count = Op.Cast(arithmetic.mul(part, arithmetic.number(dtype.bits)), arg=wide)
    narrow = Op.Cast(Op.Shr(_bits(value), count), arg=unsigned_of(dtype))
    return _reread(narrow, dtype)


def filled(value: UOp, shape: Shape) -> UOp:
    """A scalar value in every place of a shape."""
    return broadcast_to(value, shape)


def loaded_behind(gate: UOp, value: UOp, r: UOp) -> UOp:
    """A value, needed only where the gate is open, with the gate at its loads too that read at what depends on `r`."""

    def change(node: UOp, src: tuple[UOp, ...]) -> UOp | None:
        if node.op is not Op.Load or r not in arithmetic.ranges_of(over(node, src)):
            return None
        place, *behind = src
        nothing, own = behind or (zero(node.dtype), None)
        return Op.Load(place, nothing, arithmetic.both(gate, own))

    return rebuilt(value, change)
