"""Small kernels of every kind of axis, with contents for their Buffers, and random OptOps for them."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from soundline.spec.dtypes import DType, bool_, float16, float32, index, int8, int32
from soundline.spec.kernels.iteration_spaces import AXES, Kernel, size_of
from soundline.spec.kernels.opt import OptOp
from soundline.spec.uop import AxisType, Op, ReduceArg, UOp, buffer, const, loop

L, G, R = AxisType.LOOP, AxisType.GLOBAL, AxisType.REDUCE


def at(*terms: tuple[UOp, int], plus: int = 0) -> UOp:
    """The sum of axes times strides."""
    found = const(plus, index)
    for axis, stride in terms:
        found = Op.Add(found, Op.Mul(axis, const(stride, index)))
    return found


def load(base: UOp, *terms: tuple[UOp, int], plus: int = 0) -> UOp:
    return Op.Load(Op.Index(base, at(*terms, plus=plus)))


def nest(body: UOp, *ranges: UOp) -> UOp:
    for r in reversed(ranges):
        body = Op.End(body, r)
    return body


def store(base: UOp, value: UOp, *terms: tuple[UOp, int], plus: int = 0) -> UOp:
    return Op.Store(Op.Index(base, at(*terms, plus=plus)), value)


def kernel(*effects: UOp) -> Kernel:
    return Kernel(Op.Sink(*effects))


def numbers(dtype: DType, count: int, seed: int = 0, *, whole: bool = False) -> list[Any]:
    """Contents of a Buffer; floats that are not whole make every order of addition tell."""
    draw = random.Random(seed)
    if dtype is bool_:
        return [draw.random() < 0.5 for _ in range(count)]
    if not dtype.is_float:
        return [draw.randint(-100, 100) for _ in range(count)]
    if whole:
        return [float(draw.randint(-3, 3)) for _ in range(count)]
    special = (0.0, -0.0, math.inf, math.nan, 1.0, -2.5)
    return [draw.choice(special) if draw.random() < 0.1 else draw.uniform(-2, 2) * 10 ** draw.randint(-2, 2)
            for _ in range(count)]  # fmt: skip


@dataclass(frozen=True)
class Case:
    """A kernel and what its Buffers hold."""

    kernel: Kernel
    buffers: dict[int, list[Any]]


def copy_kernel(dtype: DType, m: int, n: int, kind: AxisType = L) -> Kernel:
    """out[i, j] = x[j, i] + x[j, i]."""
    i, j = loop(m, 0, kind), loop(n, 1, kind)
    x, out = buffer(0, m * n, dtype), buffer(1, m * n, dtype)
    value = load(x, (j, m), (i, 1))
    return kernel(nest(store(out, Op.Max(value, value), (i, n), (j, 1)), i, j))


def reduction_kernel(op: Op, dtype: DType, m: int, n: int, *, kind: AxisType = L, body: Any = None) -> Kernel:
    """out[i] = the reduction over j of body(x[i, j])."""
    i, j = loop(m, 0, kind), loop(n, 1, R)
    x, out = buffer(0, m * n, dtype), buffer(1, m, dtype)
    value = load(x, (i, n), (j, 1))
    return kernel(
        nest(store(out, Op.Reduce(body(value) if body else value, j, arg=ReduceArg(op)), (i, 1)), i)
    )


def two_reductions_kernel(op: Op, dtype: DType, m: int, n: int) -> Kernel:
    """out[0] = the reduction over i and j of x[i, j]."""
    i, j = loop(m, 0, R), loop(n, 1, R)
    x, out = buffer(0, m * n, dtype), buffer(1, 1, dtype)
    return kernel(store(out, Op.Reduce(load(x, (i, n), (j, 1)), i, j, arg=ReduceArg(op))))


def nested_kernel(dtype: DType, m: int, n: int) -> Kernel:
    """out[0] = the greatest over i of the sum over j of x[i, j]."""
    i, j = loop(m, 0, R), loop(n, 1, R)
    x, out = buffer(0, m * n, dtype), buffer(1, 1, dtype)
    inner = Op.Reduce(load(x, (i, n), (j, 1)), j, arg=ReduceArg(Op.Add))
    return kernel(store(out, Op.Reduce(inner, i, arg=ReduceArg(Op.Max))))


def scan_kernel(dtype: DType, m: int, n: int) -> Kernel:
    """out[i + 1, j] = max(out[i, j], x[i, j]): axis 0 carries a dependence."""
    i, j = loop(m, 0, L), loop(n, 1, L)
    x, out = buffer(0, m * n, dtype), buffer(1, (m + 1) * n, dtype)
    value = Op.Max(load(out, (i, n), (j, 1)), load(x, (i, n), (j, 1)))
    return kernel(nest(store(out, value, (i, n), (j, 1), plus=n), i, j))


def two_stores_kernel(dtype: DType, m: int, n: int) -> Kernel:
    """out[i] = x[i] and the last of x along an axis that overwrites: last[0] = x[i]."""
    i, j = loop(m, 0, L), loop(n, 1, L)
    x, out, last = buffer(0, m * n, dtype), buffer(1, m * n, dtype), buffer(2, 1, dtype)
    value = load(x, (i, n), (j, 1))
    body = Op.Group(store(out, value, (i, 1), (j, m)), store(last, value))
    return kernel(nest(body, i, j))


def shared_kernel(dtype: DType, m: int, n: int) -> Kernel:
    """out[i, j] = x[i, j] and last[j, i] = out[i, j], in two nests over the same axes."""
    i, j = loop(m, 0, L), loop(n, 1, L)
    x, out, last = buffer(0, m * n, dtype), buffer(1, m * n, dtype), buffer(2, m * n, dtype)
    first = nest(store(out, load(x, (i, n), (j, 1)), (i, n), (j, 1)), i, j)
    done = Op.After(out, first)
    return kernel(nest(store(last, load(done, (i, n), (j, 1)), (j, m), (i, 1)), i, j))


def gemm_kernel(inputs: DType, total: DType, m: int, n: int, k: int, kind: AxisType = L) -> Kernel:
    """out[i, j] = the sum over k of a[i, k] · b[k, j]."""
    i, j, r = loop(m, 0, kind), loop(n, 1, kind), loop(k, 2, R)
    a, b, out = buffer(0, m * k, inputs), buffer(1, k * n, inputs), buffer(2, m * n, total)
    x, y = load(a, (i, k), (r, 1)), load(b, (r, n), (j, 1))
    if inputs is not total:
        x, y = Op.Cast(x, arg=total), Op.Cast(y, arg=total)
    dot = Op.Reduce(Op.Mul(x, y), r, arg=ReduceArg(Op.Add))
    return kernel(nest(store(out, dot, (i, n), (j, 1)), i, j))


def filled(made: Kernel, seed: int, *, whole: bool = False) -> Case:
    """A kernel with contents for all of its Buffers."""
    from soundline.spec.uop import toposort

    held = {
        node.arg.slot: numbers(node.dtype, node.arg.size, seed + node.arg.slot, whole=whole)
        for node in toposort(made.sink)
        if node.op is Op.Buffer
    }
    return Case(made, held)


@st.composite
def cases(draw: st.DrawFn, *, whole: bool = False) -> Case:
    """A random kernel with contents."""
    m, n = draw(st.integers(1, 6)), draw(st.integers(1, 6))
    dtype = draw(st.sampled_from((int8, int32, float16, float32, bool_)))
    reductions = (Op.Max, Op.Mul) if dtype is bool_ else (Op.Max, Op.Mul, Op.Add)
    kind = draw(st.sampled_from((L, G)))
    op = draw(st.sampled_from(reductions))
    number = dtype if dtype is not bool_ else int32
    makers = (
        lambda: copy_kernel(dtype, m, n, kind),
        lambda: reduction_kernel(op, dtype, m, n, kind=kind),
        lambda: two_reductions_kernel(op, dtype, m, n),
        lambda: nested_kernel(number, m, n),
        lambda: scan_kernel(dtype, m, n),
        lambda: two_stores_kernel(dtype, m, n),
        lambda: shared_kernel(dtype, m, n),
        lambda: gemm_kernel(number, number, m, n, draw(st.integers(1, 4)), kind),
    )
    return filled(draw(st.sampled_from(makers))(), draw(st.integers(0, 1000)), whole=whole)


@st.composite
def opts(draw: st.DrawFn, made: Kernel) -> OptOp:
    """A random OptOp for a kernel, more often legal than not."""
    count = len(made.axes)
    name = draw(st.sampled_from((*["Split"] * 6, *["Padto"] * 3, *["Swap"] * 3, "Nolocals")))
    if not count or name == "Nolocals":
        return OptOp("Nolocals")
    axis = draw(st.integers(0, count - 1))
    if name == "Padto":
        return OptOp(name, axis, draw(st.integers(1, 4)))
    kind = made.axes[axis].arg.type
    if name == "Swap":
        alike = [k for k, r in enumerate(made.axes) if r.arg.type is kind and k != axis]
        return OptOp(name, axis, draw(st.sampled_from([*alike, *alike, draw(st.integers(0, count - 1))])))
    size = size_of(made.axes[axis])
    factor = draw(st.sampled_from([k for k in range(1, size + 2) if size % k == 0 or k == size + 1]))
    legal = [row for row in AXES.values() if kind in (*row.split_from, *row.decided_from)]
    if not legal or draw(st.integers(0, 5)) == 0:
        return OptOp(name, axis, (factor, draw(st.sampled_from(list(AxisType))), draw(st.booleans())))
    row = draw(st.sampled_from(legal))
    return OptOp(name, axis, (factor, row.type, draw(st.sampled_from(row.direction)) == "outer"))
