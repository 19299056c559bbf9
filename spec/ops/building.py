"""
Building nodes
==============

A short name for each common way of building a node. Every builder raises ``IllFormed`` where a constraint is broken.
"""

from __future__ import annotations

from typing import Any

from soundline.spec.dtypes import DType, Element, bool_, int32, round_to, wrap
from soundline.spec.ops.node import (
    AxisType,
    BufferArg,
    ConstArg,
    Device,
    Op,
    ParamArg,
    RangeArg,
    ReduceArg,
    Shape,
    Size,
    UOp,
)
from soundline.spec.ops.sizes import add, as_node, multiply


def element_of(value: Element, dtype: DType) -> Element:
    """A Python number as an element of `dtype`: integers wrap, floats round, anything nonzero is True."""
    if dtype is bool_:
        return bool(value)
    if dtype.is_float:
        return round_to(dtype, float(value))
    return wrap(dtype, int(value))


def const(value: Element, dtype: DType) -> UOp:
    """A constant; the value must be one of the dtype's."""
    exact = float(value) if dtype.is_float and type(value) is int else value
    return UOp(Op.Const, (), ConstArg(exact, dtype))


def shape_source(sizes: Shape) -> UOp:
    """The Stack of index scalars that says a shape or an offset (U-22)."""
    return UOp(Op.Stack, tuple(as_node(s) for s in sizes))


def param(
    slot: int,
    dtype: DType,
    shape: Shape = (),
    *,
    device: Device = None,
    axis: int | None = None,
    bounds: tuple[Element, Element] | None = None,
) -> UOp:
    """A placeholder of this shape; `bounds` promise lo ≤ value ≤ hi."""
    ends = None if bounds is None else (ConstArg(bounds[0], dtype), ConstArg(bounds[1], dtype))
    arg = ParamArg(slot, dtype, device, "GLOBAL", axis, ends)
    return UOp(Op.Param, (shape_source(shape),), arg)


def buffer(slot: int, size: int, dtype: DType, device: Device = "CPU", addrspace: str = "GLOBAL") -> UOp:
    """Storage of `size` elements on each device."""
    return UOp(Op.Buffer, (), BufferArg(slot, size, dtype, device, addrspace))


def loop(bound: Size, number: int, kind: AxisType = AxisType.LOOP) -> UOp:
    """A Range from 0 to `bound`, exclusive; `number` is its identity."""
    return UOp(Op.Range, (as_node(bound),), RangeArg(number, kind))


def reshape(x: UOp, shape: Shape) -> UOp:
    """`x` in another shape of as many elements."""
    return UOp(Op.Reshape, (x, shape_source(shape)))


def expand(x: UOp, shape: Shape) -> UOp:
    """`x` with its axes of size 1 repeated up to `shape`."""
    return UOp(Op.Expand, (x, shape_source(shape)))


def pad(x: UOp, offset: Shape, shape: Shape) -> UOp:
    """`x` at `offset` in a zero-filled `shape`."""
    return UOp(Op.Pad, (x, shape_source(offset), shape_source(shape)))


def shrink(x: UOp, offset: Shape, shape: Shape) -> UOp:
    """The part of `x` of this `shape` at `offset`."""
    return UOp(Op.Shrink, (x, shape_source(offset), shape_source(shape)))


def broadcast_to(x: UOp, shape: Shape) -> UOp:
    """`x` with leading axes of size 1 added, then expanded to `shape`."""
    assert x.shape is not None
    if x.shape == shape:
        return x
    ones = (1,) * (len(shape) - len(x.shape)) + x.shape
    x = x if ones == x.shape else reshape(x, ones)
    return x if ones == shape else expand(x, shape)


def tensor(values: Any, dtype: DType = int32) -> UOp:
    """Nested lists of numbers as Stacks of constants; an int is taken as a float where `dtype` is one."""
    if isinstance(values, list):
        return UOp(Op.Stack, tuple(tensor(v, dtype) for v in values))
    return const(values, dtype)


# Sums over an axis ------------------------------------------------------------------------------------------------


def reduced(op: Op, x: UOp, axes: tuple[int, ...]) -> UOp:
    """The ascending reduction over axes, without the axes: `sum` of the listings, where op is Add (U-10, U-20)."""
    assert x.shape is not None
    kept = tuple(size for k, size in enumerate(x.shape) if k not in axes)
    return reshape(Op.Reduce(x, arg=ReduceArg(op, axes)), kept)


def nothing(dtype: DType, shape: Shape) -> UOp:
    """The neutral element of a sum, everywhere: -0.0 for floats, because +0.0 would turn -0.0 into +0.0 (U-10)."""
    return broadcast_to(const(-0.0 if dtype.is_float else element_of(0, dtype), dtype), shape)


def running_sum(x: UOp, n: Size) -> UOp:
    """The running sum of n numbers: out[i] is the ascending reduction of x[0] … x[i]. Of nothing: nothing.

    The source's sliding windows. x stands behind n-1 neutral elements of the sum, in a row of period 2n-1; n+1 such
    rows in a line are cut to n rows of length 2n, of which the first n columns are kept. Row i, column j then reads
    place (i·2n + j) mod (2n-1) of the row, see `window_origin`: row i is x[0] … x[i] behind n-1-i empty places.
    """
    if n == 0:
        return x
    padded = (add(n, add(_at_least_one(n), -1)),)
    before = (add(_at_least_one(n), -1),)
    real = pad(broadcast_to(const(True, bool_), (n,)), before, padded)
    row = Op.Where(real, pad(x, before, padded), nothing(x.dtype, padded))
    return reduced(Op.Add, windows(row, n), (1,))


def _at_least_one(n: Size) -> Size:
    """n where it is a number, which is not 0 here; for a symbol, the greater of it and 1."""
    return n if isinstance(n, int) else Op.Max(n, as_node(1))


def windows(row: UOp, n: Size) -> UOp:
    """n windows of length n over a row of length 2n-1, each one further to the right."""
    assert row.shape is not None
    (period,) = row.shape
    count, length = add(n, 1), multiply(2, n)
    tiled = expand(reshape(row, (1, period)), (count, period))
    trimmed = shrink(reshape(tiled, (multiply(count, period),)), (0,), (multiply(length, n),))
    return shrink(reshape(trimmed, (n, length)), (0, 0), (n, n))


def window_origin(n: int, i: int, j: int) -> int:
    """The place of the row that window i reads at column j: i + j.

    It is (i·2n + j) mod (2n-1). Because i·2n + j = i·(2n-1) + (i + j), and 0 ≤ i + j ≤ 2n-2 for 0 ≤ i, j < n, the
    remainder is i + j. The line of n+1 rows is long enough: (n+1)(2n-1) ≥ 2n² holds for n ≥ 1.
    """
    return (i * 2 * n + j) % (2 * n - 1)


def counted(n: Size, dtype: DType) -> UOp:
    """0, 1, … n-1 in an integer dtype or index: the running sum of ones, less 1."""
    one = const(1, dtype)
    return Op.Sub(running_sum(broadcast_to(one, (n,)), n), broadcast_to(one, (n,)))
