"""Every constraint of the op table: a tuple that it admits beside one that it refuses, which names its id."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from soundline.spec.dtypes import (
    DType,
    bool_,
    float8_e4m3fn,
    float16,
    float32,
    float64,
    index,
    int8,
    int16,
    int32,
    int64,
    uint8,
    uint32,
    uint64,
    void,
)
from soundline.spec.errors import IllFormed
from soundline.spec.evaluate import evaluate
from soundline.spec.ops.sizes import divides
from soundline.spec.ops.table import TABLE, Op, constraint_text
from soundline.spec.uop import (
    BufferArg,
    ConstArg,
    LoadArg,
    ParamArg,
    ReduceArg,
    Shape,
    Size,
    SliceArg,
    UOp,
    WmmaArg,
    broadcast_to,
    buffer,
    const,
    expand,
    loop,
    pad,
    param,
    reshape,
    shape_source,
    shrink,
)

Build = Callable[[], UOp]
TWO = ("CPU:0", "CPU:1")
CHECKS = {c.id: c for entry in TABLE.values() for c in entry.constraints}


def vector(dtype: DType, *shape: Size, slot: int = 0) -> UOp:
    return param(slot, dtype, shape)


def sharded(*shape: int, axis: int = 0) -> UOp:
    return param(0, float32, shape, device=TWO, axis=axis)


def number(value: int) -> UOp:
    return const(value, index)


def times(n: int, x: UOp) -> UOp:
    return Op.Mul(number(n), x)


N = param(9, index)
T = vector(float32, 2, 3)
V = vector(int32, 6)
B = buffer(0, 6, int32)
R = loop(4, 0)
STACKED = shape_source((2, 3))
SCALARS = shape_source(())
TUPLE = Op.Tuple(Op.Add(vector(int32, slot=0), vector(int32, slot=1)))
ONE, TWO_INTS = const(1, int32), (const(1, int32), const(2, int32))
FLOATS = broadcast_to(const(1.0, float32), (2,))
PROGRAM = (Op.Linear(), Op.Source(arg=""), Op.BinaryCode(arg=b""))
FRAGMENT, ACCUMULATOR = vector(float16, 16), vector(float32, 16, slot=1)
WMMA = WmmaArg((8, 16, 16), float16, float32)


def typed_param(arg: ParamArg) -> UOp:
    return UOp(Op.Param, (SCALARS,), arg)


def stored_at(where: UOp) -> UOp:
    """A Store of one element of B."""
    return Op.Store(Op.Index(B, where), ONE)


def pads(x: UOp, offset: Shape, shape: Shape) -> UOp:
    return pad(x, offset, shape)


TWINS: dict[str, tuple[list[Build], list[Build]]] = {
    "uop-param-c1": (
        [lambda: param(0, int32), lambda: param(7, int32)],
        [lambda: param(-1, int32), lambda: typed_param(ParamArg(True, int32))],
    ),
    "uop-param-c2": (
        [lambda: param(0, int32, (0, 2)), lambda: param(0, int32, (param(1, index),))],
        [
            lambda: param(0, int32, (-1,)),
            lambda: UOp(Op.Param, (number(2),), ParamArg(0, int32)),
            lambda: UOp(Op.Param, (Op.Stack(STACKED),), ParamArg(0, int32)),
            lambda: UOp(Op.Param, (Op.Stack(ONE),), ParamArg(0, int32)),
        ],
    ),
    "uop-param-c3": (
        [
            lambda: param(0, int32, bounds=(1, 1)),
            lambda: param(0, float32, bounds=(-0.0, 0.0)),
            lambda: param(0, float32, bounds=(-1.0, 1.0)),
        ],
        [
            lambda: param(0, int32, bounds=(2, 1)),
            lambda: param(0, float32, bounds=(0.0, -0.0)),
            lambda: param(0, float32, bounds=(float("nan"), 1.0)),
            lambda: param(0, float32, bounds=(1.0, float("nan"))),
            lambda: typed_param(ParamArg(0, int32, bounds=(ConstArg(1, int8), ConstArg(2, int32)))),
            lambda: typed_param(ParamArg(0, int32, bounds=(ConstArg(1, int32), ConstArg(2, int8)))),
        ],
    ),
    "uop-param-c4": (
        [
            lambda: param(0, int32, (3, 4), device=TWO, axis=1),
            lambda: param(0, int32, (3,), device=TWO),
            lambda: param(0, int32, (3,), axis=0),
            lambda: param(0, int32, (3,), device=("CPU:0",), axis=0),
            lambda: param(0, int32, (0,), device=TWO, axis=0),
            lambda: param(0, int32, (N,), device=TWO, axis=0),
        ],
        [
            lambda: param(0, int32, (3, 4), device=TWO, axis=0),
            lambda: param(0, int32, (4,), device=TWO, axis=1),
            lambda: param(0, int32, (4,), device=TWO, axis=-1),
            lambda: param(0, int32, (4,), device="CPU", axis=0),
            lambda: param(0, int32, (), axis=0),
            lambda: param(0, int32, (Op.Add(times(2, N), number(1)),), device=TWO, axis=0),
        ],
    ),
    "uop-buffer-c1": (
        [lambda: buffer(0, 0, int32)],
        [lambda: buffer(0, -1, int32), lambda: UOp(Op.Buffer, (), BufferArg(0, True, int32))],
    ),
    "uop-buffer-c2": (
        [lambda: buffer(0, 1, bool_)],
        [lambda: buffer(0, 1, index), lambda: buffer(0, 1, void)],
    ),
    "uop-const-c1": (
        [
            lambda: const(127, int8),
            lambda: const(-128, int8),
            lambda: const(2**100, index),
            lambda: const(True, bool_),
            lambda: const(0.5, float16),
            lambda: const(float("nan"), float8_e4m3fn),
            lambda: const(float("-inf"), float32),
            lambda: const(1, float32),
        ],
        [
            lambda: const(128, int8),
            lambda: const(-129, int8),
            lambda: const(-1, uint8),
            lambda: const(256, uint8),
            lambda: const(1.0, int8),
            lambda: const(True, int8),
            lambda: const(1, bool_),
            lambda: const(0.1, float32),
            lambda: const(65536.0, float16),
            lambda: const(float("inf"), float8_e4m3fn),
            lambda: const(True, float32),
            lambda: const(0, void),
        ],
    ),
    "uop-binary-c1": (
        [lambda: Op.Binary(arg=b"")],
        [lambda: Op.Binary(arg=type("Bytes", (bytes,), {})(b"x"))],
    ),
    "uop-permute-c1": (
        [lambda: Op.Permute(T, arg=(1, 0)), lambda: Op.Permute(const(1, int32), arg=())],
        [
            lambda: Op.Permute(T, arg=(0, 0)),
            lambda: Op.Permute(T, arg=(0,)),
            lambda: Op.Permute(T, arg=(0, 1, 2)),
            lambda: Op.Permute(T, arg=(0, 2)),
            lambda: Op.Permute(T, arg=(-1, 0)),
            lambda: Op.Permute(T, arg=(False, True)),
        ],
    ),
    "uop-flip-c1": (
        [lambda: Op.Flip(T, arg=(True, False))],
        [
            lambda: Op.Flip(T, arg=(True,)),
            lambda: Op.Flip(T, arg=(1, 0)),
            lambda: Op.Flip(T, arg=(True,) * 3),
        ],
    ),
    "uop-flip-c2": (
        [lambda: Op.Flip(sharded(4, 3), arg=(False, True))],
        [lambda: Op.Flip(sharded(4, 3), arg=(True, False))],
    ),
    "uop-reshape-c1": (
        [lambda: reshape(T, (6,)), lambda: reshape(vector(int32, 0), (0, 0))],
        [
            lambda: reshape(T, (-2, -3)),
            lambda: Op.Reshape(T, number(6)),
            lambda: Op.Reshape(T, Op.Stack(ONE)),
        ],
    ),
    "uop-reshape-c2": (
        [
            lambda: reshape(T, (3, 2)),
            lambda: reshape(const(1, int32), (1, 1)),
            lambda: reshape(vector(int32, 0, 5), (0,)),
        ],
        [
            lambda: reshape(T, (2, 2)),
            lambda: reshape(T, ()),
            lambda: reshape(vector(int32, 0), (1,)),
        ],
    ),
    "uop-reshape-c3": (
        [
            lambda: reshape(sharded(4, 3), (2, 2, 3)),
            lambda: reshape(sharded(3, 4, axis=1), (3, 2, 2)),
        ],
        [
            lambda: reshape(sharded(3, 4, axis=1), (12,)),
            lambda: reshape(sharded(6, 2), (3, 4)),
        ],
    ),
    "uop-expand-c1": (
        [lambda: expand(vector(int32, 1), (0,))],
        [lambda: expand(vector(int32, 1), (-1,)), lambda: Op.Expand(vector(int32, 1), number(2))],
    ),
    "uop-expand-c2": (
        [lambda: expand(vector(int32, 1), (2,))],
        [lambda: expand(vector(int32, 1), (2, 2)), lambda: expand(vector(int32, 1), ())],
    ),
    "uop-expand-c3": (
        [lambda: expand(vector(int32, 1, 3), (2, 3)), lambda: expand(vector(int32, 0), (0,))],
        [
            lambda: expand(vector(int32, 2, 3), (4, 3)),
            lambda: expand(vector(int32, 0), (1,)),
            lambda: expand(vector(int32, 2), (1,)),
        ],
    ),
    "uop-pad-c1": (
        [lambda: pad(V, (1,), (8,))],
        [
            lambda: pad(V, (1, 1), (8,)),
            lambda: pad(V, (1,), (8, 1)),
            lambda: Op.Pad(V, number(1), shape_source((8,))),
            lambda: Op.Pad(V, shape_source((1,)), number(8)),
        ],
    ),
    "uop-pad-c2": (
        [lambda: pad(V, (0,), (6,)), lambda: pad(V, (2,), (8,))],
        [lambda: pad(V, (-1,), (8,)), lambda: pad(V, (3,), (8,)), lambda: pad(V, (0,), (5,))],
    ),
    "uop-pad-c3": (
        [lambda: pad(sharded(4, 3), (0, 1), (4, 5))],
        [lambda: pad(sharded(4, 3), (0, 0), (6, 3))],
    ),
    "uop-shrink-c1": (
        [lambda: shrink(V, (1,), (2,))],
        [
            lambda: shrink(V, (1, 1), (2,)),
            lambda: shrink(V, (1,), (2, 1)),
            lambda: Op.Shrink(V, number(1), shape_source((2,))),
        ],
    ),
    "uop-shrink-c2": (
        [lambda: shrink(V, (0,), (6,)), lambda: shrink(V, (6,), (0,)), lambda: shrink(V, (5,), (1,))],
        [lambda: shrink(V, (-1,), (2,)), lambda: shrink(V, (0,), (-1,)), lambda: shrink(V, (5,), (2,))],
    ),
    "uop-shrink-c3": (
        [lambda: shrink(sharded(4, 3), (0, 1), (4, 1))],
        [lambda: shrink(sharded(4, 3), (0, 0), (2, 3))],
    ),
    "uop-index-c1": (
        [lambda: Op.Index(T, number(0), number(0)), lambda: Op.Index(T)],
        [lambda: Op.Index(T, number(0), number(0), number(0)), lambda: Op.Index(ONE, number(0))],
    ),
    "uop-index-c2": (
        [lambda: Op.Index(T, shape_source((0, 1)))],
        [lambda: Op.Index(T, ONE), lambda: Op.Index(T, Op.Stack(STACKED))],
    ),
    "uop-index-c3": (
        [lambda: Op.Index(sharded(3, 4, axis=1), number(0))],
        [
            lambda: Op.Index(sharded(4, 3), number(0)),
            lambda: Op.Index(sharded(3, 4, axis=1), *[number(0)] * 2),
        ],
    ),
    "uop-stack-c1": (
        [Op.Stack, lambda: Op.Stack(V, V), lambda: Op.Stack(V)],
        [lambda: Op.Stack(T, V), lambda: Op.Stack(V, V, vector(int32, 7))],
    ),
    "uop-stack-c2": (
        [lambda: Op.Stack(*TWO_INTS)],
        [lambda: Op.Stack(ONE, const(1, int8)), lambda: Op.Stack(ONE, ONE, const(1.0, float32))],
    ),
    "uop-replicated-c1": (
        [lambda: Op.Replicated(T, arg=(0,)), lambda: Op.Replicated(T, arg=())],
        [
            lambda: Op.Replicated(T, arg=(2,)),
            lambda: Op.Replicated(T, arg=(0, 0)),
            lambda: Op.Replicated(T, arg=(-1,)),
        ],
    ),
    "uop-replicated-c2": (
        [lambda: Op.Replicated(vector(int32, 0, 2), arg=(1,))],
        [lambda: Op.Replicated(vector(int32, 0, 2), arg=(0,))],
    ),
    "uop-slice-c1": (
        [lambda: Op.Slice(V, number(0), arg=SliceArg(6, int32))],
        [
            lambda: Op.Slice(T, number(0), arg=SliceArg(1, float32)),
            lambda: Op.Slice(STACKED, number(0), arg=SliceArg(1, index)),
        ],
    ),
    "uop-slice-c2": (
        [lambda: Op.Slice(V, R, arg=SliceArg(1, int32))],
        [
            lambda: Op.Slice(V, ONE, arg=SliceArg(1, int32)),
            lambda: Op.Slice(V, shape_source((1,)), arg=SliceArg(1, int32)),
        ],
    ),
    "uop-slice-c3": (
        [
            lambda: Op.Slice(V, number(0), arg=SliceArg(1, float32)),
            lambda: Op.Slice(vector(bool_, 2), number(0), arg=SliceArg(1, bool_)),
        ],
        [
            lambda: Op.Slice(V, number(0), arg=SliceArg(1, index)),
            lambda: Op.Slice(V, number(0), arg=SliceArg(1, void)),
            lambda: Op.Slice(V, number(0), arg=SliceArg(1, bool_)),
            lambda: Op.Slice(vector(bool_, 4), number(0), arg=SliceArg(1, int32)),
        ],
    ),
    "uop-slice-c4": (
        [
            lambda: Op.Slice(V, number(5), arg=SliceArg(1, int32)),
            lambda: Op.Slice(V, number(2), arg=SliceArg(2, int64)),
            lambda: Op.Slice(V, number(6), arg=SliceArg(0, int32)),
            lambda: Op.Slice(V, number(0), arg=SliceArg(24, uint8)),
            lambda: Op.Slice(V, R, arg=SliceArg(7, int32)),
            lambda: Op.Slice(V, R, arg=SliceArg(1, int64)),
            lambda: Op.Slice(V, Op.Add(times(2, R), number(4)), arg=SliceArg(1, int64)),
            lambda: Op.Slice(vector(int32, N), number(9), arg=SliceArg(1, int32)),
        ],
        [
            lambda: Op.Slice(V, Op.Add(times(2, R), number(1)), arg=SliceArg(1, int64)),
            lambda: Op.Slice(vector(int8, 8), Op.Add(times(6, R), number(3)), arg=SliceArg(1, int32)),
            lambda: Op.Slice(vector(int32, N), number(-1), arg=SliceArg(1, int32)),
            lambda: Op.Slice(vector(int32, N), number(1), arg=SliceArg(1, int64)),
            lambda: Op.Slice(V, number(5), arg=SliceArg(2, int32)),
            lambda: Op.Slice(V, number(-1), arg=SliceArg(1, int32)),
            lambda: Op.Slice(vector(uint8, 4), number(-1), arg=SliceArg(1, uint8)),
            lambda: Op.Slice(V, number(1), arg=SliceArg(1, int64)),
            lambda: Op.Slice(V, number(0), arg=SliceArg(-1, int32)),
            lambda: Op.Slice(V, R, arg=SliceArg(-1, int32)),
            lambda: Op.Slice(V, number(0), arg=SliceArg(25, uint8)),
            lambda: Op.Slice(V, number(7), arg=SliceArg(0, int32)),
        ],
    ),
    "uop-slice-c5": (
        [
            lambda: Op.Slice(sharded(4), number(0), arg=SliceArg(4, float32)),
            lambda: Op.Slice(sharded(4), number(0), arg=SliceArg(8, int16)),
            lambda: Op.Slice(sharded(4), number(0), arg=SliceArg(2, int64)),
            lambda: Op.Slice(sharded(0), number(0), arg=SliceArg(0, float32)),
            lambda: Op.Slice(param(0, float32, (4,), device=TWO), number(1), arg=SliceArg(2, float32)),
        ],
        [
            lambda: Op.Slice(sharded(4), number(0), arg=SliceArg(2, float32)),
            lambda: Op.Slice(sharded(4), number(2), arg=SliceArg(2, float32)),
            lambda: Op.Slice(sharded(6), number(0), arg=SliceArg(3, int64)),
            lambda: Op.Slice(sharded(4), number(4), arg=SliceArg(0, float32)),
        ],
    ),
    "uop-bitcast-c1": (
        [lambda: Op.Bitcast(V, arg=float32)],
        [
            lambda: Op.Bitcast(V, arg=bool_),
            lambda: Op.Bitcast(V, arg=index),
            lambda: Op.Bitcast(V, arg=void),
            lambda: Op.Bitcast(vector(bool_, 4), arg=uint8),
            lambda: Op.Bitcast(STACKED, arg=int32),
        ],
    ),
    "uop-bitcast-c2": (
        [
            lambda: Op.Bitcast(V, arg=int64),
            lambda: Op.Bitcast(V, arg=int8),
            lambda: Op.Bitcast(ONE, arg=uint32),
            lambda: Op.Bitcast(vector(int32, 3, 2), arg=int64),
            lambda: Op.Bitcast(vector(int8, N), arg=int32),
            lambda: Op.Bitcast(vector(int16, times(2, N)), arg=int32),
        ],
        [
            lambda: Op.Bitcast(vector(int8, Op.Add(times(4, N), number(2))), arg=int32),
            lambda: Op.Bitcast(vector(int8, Op.Add(times(6, N), number(1))), arg=int32),
            lambda: Op.Bitcast(vector(int32, 3), arg=int64),
            lambda: Op.Bitcast(vector(int32, 2, 3), arg=int64),
            lambda: Op.Bitcast(ONE, arg=int8),
        ],
    ),
    "uop-bitcast-c3": (
        [
            lambda: Op.Bitcast(sharded(4), arg=int64),
            lambda: Op.Bitcast(sharded(6), arg=int8),
            lambda: Op.Bitcast(sharded(6), arg=int32),
            lambda: Op.Bitcast(sharded(2, 2), arg=int64),
            lambda: Op.Bitcast(param(0, float32, (2,), device=TWO), arg=int64),
        ],
        [
            lambda: Op.Bitcast(sharded(6), arg=int64),
            lambda: Op.Bitcast(sharded(3, 2, axis=1), arg=int64),
        ],
    ),
    "uop-reduce-c1": (
        [lambda op=op: Op.Reduce(V, arg=ReduceArg(op, (0,))) for op in (Op.Add, Op.Max, Op.Mul)],
        [
            lambda: Op.Reduce(V, arg=ReduceArg(Op.And, (0,))),
            lambda: Op.Reduce(V, arg=ReduceArg(Op.Sub, (0,))),
        ],
    ),
    "uop-reduce-c2": (
        [lambda: Op.Reduce(T, arg=ReduceArg(Op.Add, (1, 0))), lambda: Op.Reduce(V, R, arg=ReduceArg(Op.Add))],
        [
            lambda: Op.Reduce(T, arg=ReduceArg(Op.Add, (2,))),
            lambda: Op.Reduce(T, arg=ReduceArg(Op.Add, (0, 0))),
            lambda: Op.Reduce(T, R, arg=ReduceArg(Op.Add, (0,))),
        ],
    ),
    "uop-reduce-c3": (
        [lambda: Op.Reduce(V, R, loop(2, 1), arg=ReduceArg(Op.Add))],
        [lambda: Op.Reduce(V, number(3), arg=ReduceArg(Op.Add))],
    ),
    "uop-reduce-c4": (
        [
            lambda: Op.Reduce(vector(bool_, 2), arg=ReduceArg(Op.Max, (0,))),
            lambda: Op.Reduce(vector(bool_, 2), arg=ReduceArg(Op.Mul, (0,))),
        ],
        [lambda: Op.Reduce(vector(bool_, 2), arg=ReduceArg(Op.Add, (0,)))],
    ),
    "uop-function-c1": (
        [lambda: Op.Function(TUPLE, *TWO_INTS)],
        [lambda: Op.Function(ONE), lambda: Op.Function(Op.CustomFunction(arg="f"))],
    ),
    "uop-function-c2": (
        [lambda: Op.Function(Op.Tuple(Op.Reduce(Op.Cast(R, arg=int32), R, arg=ReduceArg(Op.Add))))],
        [
            lambda: Op.Function(Op.Tuple(R)),
            lambda: Op.Function(Op.Tuple(B)),
            lambda: Op.Function(Op.Tuple(Op.After(ONE, Op.Store(vector(int32), ONE))), ONE),
        ],
    ),
    "uop-function-c3": (
        [lambda: Op.Function(TUPLE, *TWO_INTS, ONE)],
        [lambda: Op.Function(TUPLE, ONE)],
    ),
    "uop-function-c4": (
        [
            lambda: Op.Function(Op.Tuple(param(0, int32, bounds=(0, 5))), const(5, int32)),
            lambda: Op.Function(Op.Tuple(param(0, int32, device="A")), ONE),
            lambda: Op.Function(Op.Tuple(param(0, int32, (param(1, index),))), V, number(6)),
            lambda: Op.Function(Op.Tuple(param(0, int32)), param(0, int32, device="A")),
        ],
        [
            lambda: Op.Function(TUPLE, ONE, const(1, int8)),
            lambda: Op.Function(TUPLE, ONE, V),
            lambda: Op.Function(TUPLE, ONE, Op.Group()),
            lambda: Op.Function(Op.Tuple(param(0, int32, bounds=(0, 5))), const(6, int32)),
            lambda: Op.Function(Op.Tuple(param(0, int32, bounds=(0, 5))), const(-1, int32)),
            lambda: Op.Function(Op.Tuple(param(0, float32, bounds=(0.0, 5.0))), param(0, float32)),
            lambda: Op.Function(Op.Tuple(param(0, int32, device="A")), param(0, int32, device="B")),
            lambda: Op.Function(Op.Tuple(param(0, float32, (4,))), sharded(4)),
            lambda: Op.Function(Op.Tuple(param(0, int32, (param(1, index),))), V, number(5)),
        ],
    ),
    "uop-call-c1": (
        [lambda: Op.Call(TUPLE, *TWO_INTS), lambda: Op.Call(Op.Program(*PROGRAM))],
        [lambda: Op.Call(ONE), lambda: Op.Call(Op.Linear())],
    ),
    "uop-call-c2": (
        [
            lambda: Op.Call(Op.CustomFunction(arg="f"), ONE),
            lambda: Op.Call(Op.Tuple(param(0, int32, bounds=(2, 3))), ONE),  # a Call promises nothing
        ],
        [
            lambda: Op.Call(TUPLE, ONE),
            lambda: Op.Call(TUPLE, ONE, const(1, int8)),
            lambda: Op.Call(TUPLE, ONE, V),
        ],
    ),
    "uop-call-c3": (
        [lambda: Op.Call(Op.Tuple(ONE))],
        [lambda: Op.Call(Op.Tuple(B)), lambda: Op.Call(Op.Tuple(R))],
    ),
    "uop-gettuple-c1": (
        [lambda: Op.GetTuple(Op.Call(Op.CustomFunction(ONE, arg="f")), arg=0)],
        [lambda: Op.GetTuple(ONE, arg=0), lambda: Op.GetTuple(Op.Call(Op.Program(*PROGRAM)), arg=0)],
    ),
    "uop-gettuple-c2": (
        [lambda: Op.GetTuple(TUPLE, arg=0)],
        [lambda: Op.GetTuple(TUPLE, arg=1), lambda: Op.GetTuple(TUPLE, arg=-1)],
    ),
    "uop-load-c1": (
        [lambda: Op.Load(B), lambda: Op.Load(B, V, const(True, bool_))],
        [lambda: Op.Load(B, V)],
    ),
    "uop-load-c2": (
        [lambda: Op.Load(T, T, const(True, bool_))],
        [
            lambda: Op.Load(B, vector(int8, 6), const(True, bool_)),
            lambda: Op.Load(B, vector(int32, 5), const(True, bool_)),
        ],
    ),
    "uop-load-c3": (
        [lambda: Op.Load(B, V, vector(bool_, 6))],
        [lambda: Op.Load(B, V, ONE), lambda: Op.Load(B, V, vector(bool_, 5))],
    ),
    "uop-load-c4": (
        [
            lambda: Op.Load(V, arg=LoadArg(TWO)),
            lambda: Op.Load(ONE, arg=LoadArg("CPU")),
            lambda: Op.Load(vector(int32, N), arg=LoadArg(TWO)),
        ],
        [
            lambda: Op.Load(vector(int32, 5), arg=LoadArg(TWO)),
            lambda: Op.Load(ONE, arg=LoadArg(TWO)),
            lambda: Op.Load(vector(int32, Op.Add(times(2, N), number(1))), arg=LoadArg(TWO)),
        ],
    ),
    "uop-store-c1": (
        [
            lambda: Op.Store(Op.Index(Op.After(B), number(0)), ONE),
            lambda: Op.Store(V, V),
            lambda: Op.Store(
                Op.Flip(reshape(Op.Permute(B, arg=(0,)), (2, 3)), arg=(True, False)), vector(int32, 2, 3)
            ),
            lambda: Op.Store(Op.Bitcast(shrink(B, (0,), (2,)), arg=float32), FLOATS),
            lambda: Op.Store(Op.Slice(B, number(0), arg=SliceArg(2, float32)), FLOATS),
        ],
        [
            lambda: Op.Store(ONE, ONE),
            lambda: Op.Store(Op.Load(B), V),
            lambda: Op.Store(pad(B, (0,), (7,)), vector(int32, 7)),
            lambda: Op.Store(param(0, int32, bounds=(0, 5)), ONE),
        ],
    ),
    "uop-store-c2": (
        [lambda: Op.Store(B, V)],
        [lambda: Op.Store(B, ONE), lambda: Op.Store(B, vector(int32, 5))],
    ),
    "uop-store-c3": (
        [lambda: Op.Store(B, Op.Cast(vector(int8, 6), arg=int32))],
        [lambda: Op.Store(B, vector(float32, 6))],
    ),
    "uop-store-c4": (
        [lambda: Op.Store(B, V, const(False, bool_)), lambda: Op.Store(B, V, vector(bool_, 6))],
        [lambda: Op.Store(B, V, ONE), lambda: Op.Store(B, V, vector(bool_, 2, 3))],
    ),
    "uop-range-c1": (
        [lambda: loop(0, 0), lambda: loop(R, 1)],
        [lambda: UOp(Op.Range, (ONE,), R.arg), lambda: UOp(Op.Range, (shape_source((1,)),), R.arg)],
    ),
    "uop-range-c2": ([lambda: loop(0, 0)], [lambda: loop(-1, 0)]),
    "uop-sink-c1": (
        [
            Op.Sink,
            lambda: Op.Sink(Op.End(stored_at(R), R)),
            lambda: Op.Sink(stored_at(Op.Special(number(4), arg="lidx0"))),
        ],
        [
            lambda: Op.Sink(stored_at(R)),
            lambda: Op.Sink(Op.End(stored_at(R), loop(4, 77))),
        ],
    ),
    "uop-end-c1": (
        [lambda: Op.End(Op.Group(), R), lambda: Op.End(ONE, R)],
        [lambda: Op.End(R, R), lambda: Op.End(Op.Sink(), R), lambda: Op.End(Op.Linear(), R)],
    ),
    "uop-end-c2": ([lambda: Op.End(Op.Group(), R)], [lambda: Op.End(Op.Group(), number(4))]),
    "uop-cast-c1": (
        [lambda: Op.Cast(ONE, arg=bool_), lambda: Op.Cast(T, arg=float8_e4m3fn)],
        [lambda: Op.Cast(ONE, arg=void)],
    ),
    "uop-cast-c2": (
        [lambda: Op.Cast(R, arg=int8), lambda: Op.Cast(ONE, arg=index), lambda: Op.Cast(R, arg=bool_)],
        [lambda: Op.Cast(R, arg=float32), lambda: Op.Cast(const(1.0, float32), arg=index)],
    ),
    "uop-where-c1": (
        [lambda: Op.Where(vector(bool_, 6), V, V)],
        [lambda: Op.Where(const(True, bool_), V, V), lambda: Op.Where(vector(bool_, 6), V, ONE)],
    ),
    "uop-where-c2": (
        [lambda: Op.Where(const(True, bool_), ONE, ONE)],
        [lambda: Op.Where(ONE, ONE, ONE)],
    ),
    "uop-where-c3": (
        [lambda: Op.Where(const(True, bool_), R, R)],
        [lambda: Op.Where(const(True, bool_), ONE, const(1, int8))],
    ),
    "uop-special-c1": (
        [lambda: Op.Special(number(4), arg="gidx0")],
        [lambda: Op.Special(ONE, arg="gidx0"), lambda: Op.Special(shape_source((4,)), arg="gidx0")],
    ),
    "uop-special-c2": (
        [lambda: Op.Special(number(0), arg="gidx0")],
        [lambda: Op.Special(number(-1), arg="gidx0")],
    ),
    "uop-special-c3": (
        [lambda: Op.Special(number(4), arg="lidx1")],
        [lambda: Op.Special(number(4), arg=type("Name", (str,), {})("lidx1"))],
    ),
    "uop-special-c4": (
        [lambda: Op.Special(number(4), arg="gidx0"), lambda: Op.Special(number(4), arg="lidx12")],
        [
            lambda: Op.Special(number(4), arg="gidx"),
            lambda: Op.Special(number(4), arg="idx0"),
            lambda: Op.Special(number(4), arg="lidx-1"),
            lambda: Op.Special(number(4), arg="lidx\u0661"),
        ],
    ),
    "uop-if-c1": (
        [lambda: Op.If(const(True, bool_))],
        [lambda: Op.If(ONE), lambda: Op.If(vector(bool_, 1))],
    ),
    "uop-endif-c1": (
        [lambda: Op.Endif(Op.If(const(True, bool_)))],
        [lambda: Op.Endif(Op.Group())],
    ),
    "uop-wmma-c1": (
        [lambda: Op.Wmma(FRAGMENT, FRAGMENT, ACCUMULATOR, arg=WMMA)],
        [
            lambda: Op.Wmma(ACCUMULATOR, FRAGMENT, ACCUMULATOR, arg=WMMA),
            lambda: Op.Wmma(FRAGMENT, ACCUMULATOR, ACCUMULATOR, arg=WMMA),
        ],
    ),
    "uop-wmma-c2": (
        [lambda: Op.Wmma(FRAGMENT, FRAGMENT, FRAGMENT, arg=WmmaArg((8, 16, 16), float16, float16))],
        [lambda: Op.Wmma(FRAGMENT, FRAGMENT, FRAGMENT, arg=WMMA)],
    ),
    "uop-atomicadd-c1": ([lambda: Op.AtomicAdd(B, V)], [lambda: Op.AtomicAdd(B, ONE)]),
    "uop-atomicadd-c2": ([lambda: Op.AtomicAdd(B, V)], [lambda: Op.AtomicAdd(B, vector(float32, 6))]),
    "uop-atomicadd-c3": (
        [lambda: Op.AtomicAdd(buffer(1, 1, float32), vector(float32, 1))],
        [lambda: Op.AtomicAdd(buffer(1, 1, bool_), vector(bool_, 1))],
    ),
    "uop-atomicadd-c4": (
        [lambda: Op.AtomicAdd(Op.Index(B, R), ONE)],
        [lambda: Op.AtomicAdd(ONE, ONE), lambda: Op.AtomicAdd(param(0, int32, bounds=(0, 5)), ONE)],
    ),
    "uop-program-c1": (
        [lambda: Op.Program(*PROGRAM)],
        [
            lambda: Op.Program(Op.Sink(), *PROGRAM[1:]),
            lambda: Op.Program(PROGRAM[0], Op.Group(), PROGRAM[2]),
            lambda: Op.Program(*PROGRAM[:2], Op.Binary(arg=b"")),
        ],
    ),
}

for _op in (Op.Custom, Op.CustomFunction, Op.Source):
    TWINS[f"uop-{_op.name.lower()}-c1"] = (
        [lambda op=_op: op(arg="x")],
        [lambda op=_op: op(arg=type("Text", (str,), {})("x"))],
    )
TWINS["uop-binarycode-c1"] = (
    [lambda: Op.BinaryCode(arg=b"x")],
    [lambda: Op.BinaryCode(arg=type("Bytes", (bytes,), {})(b"x"))],
)

# The elementwise ops: operands of one shape, of one dtype, and of the dtypes that the op admits.
EVERY = {"bool": bool_, "int": int32, "uint": uint64, "index": index, "float": float64, "fp8": float8_e4m3fn}
ADMITTED: dict[str, tuple[Op, ...]] = {
    "bool int uint index float fp8": (
        *(Op.Mul, Op.Max, Op.CmpLt, Op.CmpNe, Op.CmpGt, Op.CmpGe, Op.CmpLe, Op.CmpEq),
    ),
    "int uint index float fp8": (Op.Add, Op.Sub, Op.Mulacc, Op.Neg),
    "int uint index": (Op.Mod, Op.Idiv, Op.CDiv, Op.CMod),
    "bool int uint": (Op.Xor, Op.Or, Op.And),
    "int uint": (Op.Shl, Op.Shr),
    "float fp8": (Op.Div, Op.Recip, Op.Trunc, Op.Sqrt),
    "float": (Op.Pow, Op.Exp2, Op.Log2, Op.Sin),
    "bool": (Op.Not,),
    "uint": (Op.Threefry,),
}


def _elementwise(op: Op, dtype: DType) -> Build:
    required = sum(1 for s in TABLE[op].sources)
    return lambda: op(*(vector(dtype, 2, slot=k) for k in range(required)))


for _names, _ops in ADMITTED.items():
    for _op in _ops:
        _entry = TABLE[_op]
        _last = _entry.constraints[-1].id
        _good = [d for name, d in EVERY.items() if name in _names.split()]
        _bad = [d for d in EVERY.values() if d not in _good]
        TWINS[_last] = ([_elementwise(_op, d) for d in _good], [_elementwise(_op, d) for d in _bad])
        if len(_entry.sources) > 1:
            _d = _good[-1]
            _rest = len(_entry.sources) - 2
            TWINS[_entry.constraints[0].id] = (
                [_elementwise(_op, _d)],
                [
                    lambda op=_op, d=_d, n=_rest: op(vector(d, 2), vector(d, 3), *[vector(d, 2)] * n),
                    lambda op=_op, d=_d, n=_rest: op(vector(d, 2), vector(d), *[vector(d, 2)] * n),
                    lambda op=_op, d=_d, n=_rest: op(*[vector(d, 2)] * (n + 1), vector(d, 1)),
                ],
            )
            TWINS[_entry.constraints[1].id] = (
                [_elementwise(_op, _d)],
                [
                    lambda op=_op, d=_d, n=_rest: op(vector(d, 2), vector(int16, 2), *[vector(d, 2)] * n),
                    lambda op=_op, d=_d, n=_rest: op(*[vector(d, 2)] * (n + 1), vector(int16, 2)),
                ],
            )
TWINS["uop-threefry-c3"][1].append(_elementwise(Op.Threefry, uint32))
for _op in (Op.Shl, Op.Shr):
    TWINS[f"uop-{_op.name.lower()}-c3"][0].append(lambda op=_op: op(R, number(2)))
    TWINS[f"uop-{_op.name.lower()}-c3"][1].append(lambda op=_op: op(R, number(-1)))
    TWINS[f"uop-{_op.name.lower()}-c3"][1].append(lambda op=_op: op(R, R))
    TWINS[f"uop-{_op.name.lower()}-c3"][0].append(lambda op=_op: op(R, Op.Sub(number(3), number(1))))
    TWINS[f"uop-{_op.name.lower()}-c3"][1].append(lambda op=_op: op(R, Op.Sub(number(1), number(3))))
    TWINS[f"uop-{_op.name.lower()}-c3"][1].append(lambda op=_op: op(R, param(5, index)))

ACCEPTED = [(name, k, b) for name, (good, _) in TWINS.items() for k, b in enumerate(good)]
REFUSED = [(name, k, b) for name, (_, bad) in TWINS.items() for k, b in enumerate(bad)]


def test_every_constraint_has_a_predicate_and_twins() -> None:
    assert sorted(CHECKS) == sorted(TWINS)
    assert all(callable(c.holds) for c in CHECKS.values())
    assert all(good for good, _ in TWINS.values())
    # Every dtype is a value for comparisons, Mul and Max: their last constraint has nothing to refuse but void.
    assert {name for name, (_, bad) in TWINS.items() if not bad} == {
        f"uop-{op.name.lower()}-c3" for op in ADMITTED["bool int uint index float fp8"]
    }


@pytest.mark.parametrize(("name", "number", "build"), ACCEPTED, ids=[f"{n}-{k}" for n, k, _ in ACCEPTED])
def test_a_well_formed_twin_is_accepted(name: str, number: int, build: Build) -> None:
    node = build()
    assert CHECKS[name].holds(node.src, node.arg) is not False


@pytest.mark.parametrize(("name", "number", "build"), REFUSED, ids=[f"{n}-{k}" for n, k, _ in REFUSED])
def test_an_ill_formed_twin_is_refused_by_its_rule(name: str, number: int, build: Build) -> None:
    with pytest.raises(IllFormed) as refused:
        build()
    assert refused.value.rule == name
    assert refused.value.wants == constraint_text(name)
    assert refused.value.op.lower() == name.split("-")[1]
    assert refused.value.url.endswith(f"#{name}")


@pytest.mark.parametrize("op", ADMITTED["bool int uint index float fp8"])
def test_void_is_no_operand(op: Op) -> None:
    with pytest.raises(IllFormed) as refused:
        op(Op.Group(), Op.Group())
    assert refused.value.rule == f"uop-{op.name.lower()}-src"


GENERIC: dict[str, list[Build]] = {
    "uop-add-src": [
        lambda: Op.Add(ONE),
        lambda: Op.Add(ONE, ONE, ONE),
        lambda: Op.Add(ONE, 1),
        lambda: Op.Add(ONE, Op.Group()),
    ],
    "uop-stack-src": [lambda: Op.Stack(Op.Group())],
    "uop-store-src": [lambda: Op.Store(B, Op.Group())],
    "uop-after-src": [Op.After, lambda: Op.After(Op.Group())],
    "uop-if-src": [lambda: Op.If(Op.Group())],
    "uop-add-arg": [lambda: Op.Add(ONE, ONE, arg=3)],
    "uop-cast-arg": [lambda: Op.Cast(ONE), lambda: Op.Cast(ONE, arg="int8")],
    "uop-permute-arg": [lambda: Op.Permute(T, arg=[1, 0]), lambda: Op.Permute(T, arg=([],))],
    "uop-gettuple-arg": [lambda: Op.GetTuple(TUPLE, arg=True), lambda: Op.GetTuple(TUPLE, arg="0")],
    "uop-const-arg": [lambda: Op.Const(arg=3), lambda: Op.Const(arg=ConstArg(3, "int8"))],  # type: ignore[arg-type]
    "uop-param-arg": [
        lambda: typed_param(ParamArg(0, "int8")),  # type: ignore[arg-type]
        lambda: typed_param(ParamArg(0, int8, axis="0")),  # type: ignore[arg-type]
        lambda: typed_param(ParamArg(0, int8, device=3)),  # type: ignore[arg-type]
        lambda: typed_param(ParamArg(0, int8, bounds=(1, 2))),  # type: ignore[arg-type]
        lambda: typed_param(ParamArg(0, int8, bounds=(ConstArg(1, int8),))),  # type: ignore[arg-type]
    ],
    "uop-buffer-arg": [
        lambda: buffer(0, 1, "int8"),  # type: ignore[arg-type]
        lambda: buffer("0", 1, int8),  # type: ignore[arg-type]
        lambda: buffer(0, 1, int8, device=("A", 1)),  # type: ignore[arg-type]
    ],
    "uop-slice-arg": [
        lambda: Op.Slice(V, number(0), arg=SliceArg(True, int8)),
        lambda: Op.Slice(V, number(0), arg=SliceArg(1, "int8")),  # type: ignore[arg-type]
    ],
    "uop-reduce-arg": [
        lambda: Op.Reduce(V, arg=ReduceArg(Op.Add, [0])),  # type: ignore[arg-type]
        lambda: Op.Reduce(V, arg=ReduceArg(Op.Add, 0)),  # type: ignore[arg-type]
    ],
    "uop-load-arg": [lambda: Op.Load(V, arg=LoadArg(3)), lambda: Op.Load(V, arg="CPU")],  # type: ignore[arg-type]
    "uop-range-arg": [lambda: Op.Range(number(3), arg=R.arg.type), lambda: loop(3, True)],
    "uop-wmma-arg": [lambda: Op.Wmma(FRAGMENT, FRAGMENT, FRAGMENT, arg=WmmaArg((8, 16, 16), float16, None))],  # type: ignore[arg-type]
}


@pytest.mark.parametrize(("name", "build"), [(name, b) for name, builds in GENERIC.items() for b in builds])
def test_what_no_entry_admits_is_refused(name: str, build: Build) -> None:
    with pytest.raises(IllFormed) as refused:
        build()
    assert refused.value.rule == name


def test_a_bad_constant_is_never_taken_for_the_good_one_with_its_bits() -> None:
    kept = const(44, int8), const(1, int32), const(0.5, float32)
    for value, dtype in ((300, int8), (1.5, int32), (True, int32), ("1", int32), (0.5000000001, float32)):
        with pytest.raises(IllFormed):
            const(value, dtype)
    assert all(k.op is Op.Const for k in kept)


def test_symbolic_sizes_leave_an_obligation_that_a_binding_decides() -> None:
    from soundline.spec.uop import obligations

    n = param(0, index)
    x = param(1, int32, (n,))
    grown = pad(x, (1,), (5,))
    assert {name for name, _ in obligations(grown)} == {"uop-param-c2", "uop-pad-c2"}
    assert {name for name, _ in obligations(reshape(x, (n, 1)))} == {"uop-param-c2", "uop-reshape-c1"}
    with pytest.raises(IllFormed) as refused:
        reshape(x, (Op.Add(n, number(1)),))
    assert refused.value.rule == "uop-reshape-c2"


@pytest.mark.parametrize(
    ("node", "law", "good", "bad"),
    [
        (Op.Bitcast(vector(int8, N), arg=int32), "uop-bitcast-c2", 8, 6),
        (Op.Bitcast(vector(int16, 3, times(2, N)), arg=int64), "uop-bitcast-c2", 4, 3),
        (Op.Slice(V, N, arg=SliceArg(1, int64)), "uop-slice-c4", 4, 3),
        (Op.Slice(V, Op.Add(N, number(3)), arg=SliceArg(1, int64)), "uop-slice-c4", 1, 0),
        (Op.Slice(vector(int32, N), number(1), arg=SliceArg(2, int32)), "uop-slice-c4", 3, 2),
        (Op.Slice(vector(int8, N), number(1), arg=SliceArg(0, int8)), "uop-slice-c4", 1, 0),
        (Op.Load(vector(int32, N), arg=LoadArg(TWO)), "uop-load-c4", 4, 5),
    ],
)
def test_a_symbolic_number_of_bytes_leaves_the_obligation_to_divide_or_to_hold(
    node: UOp, law: str, good: int, bad: int
) -> None:
    from soundline.spec.uop import obligations, substitute

    (condition,) = [c for name, c in obligations(node) if name == law]
    for size, holds in ((good, True), (bad, False)):
        assert evaluate(condition, {9: size}).item() is holds
    assert obligations(substitute(node, {N: number(good)})) == []
    with pytest.raises(IllFormed) as refused:
        substitute(node, {N: number(bad)})
    assert refused.value.rule == law


def test_what_always_divides_leaves_no_obligation() -> None:
    from soundline.spec.uop import obligations

    for node, law in (
        (Op.Bitcast(vector(int16, times(2, N)), arg=int32), "uop-bitcast-c2"),
        (Op.Bitcast(vector(int32, N), arg=int8), "uop-bitcast-c2"),
        (Op.Bitcast(vector(int8, Op.Add(times(4, N), number(8))), arg=int32), "uop-bitcast-c2"),
        (Op.Slice(V, R, arg=SliceArg(1, uint8)), "uop-slice-c4"),
        (Op.Slice(V, Op.Add(times(2, R), number(4)), arg=SliceArg(1, int64)), "uop-slice-c4"),
    ):
        assert law not in {name for name, _ in obligations(node)}


@pytest.mark.parametrize(
    ("n", "size", "known"),
    [
        (4, 8, True),
        (4, 0, True),
        (4, 6, False),
        (4, -4, True),
        (4, times(8, N), True),
        (4, times(2, N), None),
        (4, Op.Add(times(2, N), number(2)), None),
        (4, Op.Add(times(2, N), number(1)), False),
        (4, Op.Sub(times(4, N), number(4)), True),
        (4, Op.Sub(times(4, N), number(2)), False),
        (4, Op.Add(times(4, N), R), None),
        (1, N, True),
    ],
)
def test_divides_is_decided_where_every_value_says_the_same(n: int, size: Size, known: bool | None) -> None:
    found = divides(n, size)
    assert found is known if known is not None else isinstance(found, UOp)
