"""
Lines
=====

Positions as values: 0, 1, …, n-1 without a reduction. A line is written in digits to the base 8: the last digit is a
Stack of constants laid along one axis, the others are a shorter line along another. It equals the law's `arange` in
every dtype (U-34), and costs a number of operations per element that grows with the number of digits.
"""

from __future__ import annotations

from typing import Final

from soundline.impl.arrays.sizes import capacity, is_size
from soundline.spec.dtypes import DType, int64
from soundline.spec.uop import Op, UOp, broadcast_to, const, reshape, shrink

_BASE: Final = 8


def line(n: int, dtype: DType = int64) -> UOp:
    """The positions of an axis of size n, counted in 64 bits and cast once."""
    counted = shrink(_digits(capacity((n,))), (0,), (n,)) if is_size(n) else _digits(n)
    return counted if dtype is int64 else Op.Cast(counted, arg=dtype)


def along(x: UOp, axis: int, rank: int) -> UOp:
    """A vector laid along one axis of a tensor of some rank, the other axes having size 1."""
    assert x.shape is not None
    return reshape(x, tuple(x.shape[0] if k == axis else 1 for k in range(rank)))


def positions(axis: int, shape: tuple[int, ...], dtype: DType = int64) -> UOp:
    """For every element of a shape its position along an axis."""
    return broadcast_to(along(line(shape[axis], dtype), axis, len(shape)), shape)


def _digits(n: int) -> UOp:
    if n == 0:
        return broadcast_to(const(0, int64), (0,))
    if n <= _BASE:
        return Op.Stack(*(const(k, int64) for k in range(n)))
    rows = -(-n // _BASE)
    shape = (rows, _BASE)
    tens = broadcast_to(reshape(_digits(rows), (rows, 1)), shape)
    ones = broadcast_to(reshape(_digits(_BASE), (1, _BASE)), shape)
    both = Op.Add(Op.Mul(tens, broadcast_to(const(_BASE, int64), shape)), ones)
    flat = reshape(both, (rows * _BASE,))
    return flat if rows * _BASE == n else shrink(flat, (0,), (n,))
