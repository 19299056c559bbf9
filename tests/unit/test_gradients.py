"""Gradients of whole programs against formulae in numpy, on several devices, and the edges of Sin and Pow."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest

from soundline.impl.arrays import storage
from soundline.impl.executables.building import computed
from soundline.impl.tensors.tensor import Tensor
from soundline.spec.arrays.arrays import Array
from soundline.spec.compositions.tensors import gather, gemm, prefix_sum, scatter_add
from soundline.spec.dtypes import DType, bfloat16, bool_, float16, float32, float64, index, largest_finite
from soundline.spec.evaluate import evaluate
from soundline.spec.gradients.backward import gradient, placed_like
from soundline.spec.ops.elementwise.functions import cosine
from soundline.spec.ops.table import Op
from soundline.spec.uop import (
    LoadArg,
    UOp,
    broadcast_to,
    const,
    expand,
    param,
    reshape,
    tensor,
    toposort,
)

from .adjoint_cases import reduced

NAN, INF = math.nan, math.inf
LN2 = math.log(2.0)
RANDOM = np.random.default_rng(20)


def taken(y: UOp, xs: list[UOp], values: list[Any], seed: Any = None) -> list[np.ndarray]:
    """The gradients of y, or of Σ seed·y."""
    given = None if seed is None else param(99, y.dtype, y.shape or ())
    bound = {**dict(enumerate(values)), **({} if seed is None else {99: np.asarray(seed)})}
    return [evaluate(g, bound).to_numpy() for g in gradient(y, xs, given)]


def total(x: UOp) -> UOp:
    return reshape(reduced(Op.Add, *range(len(x.shape or ())))(x), ())


# Compositions -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("m", "k", "n"), [(2, 3, 4), (1, 1, 1), (3, 0, 2), (0, 2, 2)])
def test_gemm(m: int, k: int, n: int) -> None:
    a, b, seed = RANDOM.normal(size=(m, k)), RANDOM.normal(size=(k, n)), RANDOM.normal(size=(m, n))
    p, q = param(0, float64, (m, k)), param(1, float64, (k, n))
    by_a, by_b = taken(gemm(p, q), [p, q], [a, b], seed)
    assert np.allclose(by_a, seed @ b.T, rtol=1e-14, atol=1e-14)
    assert np.allclose(by_b, a.T @ seed, rtol=1e-14, atol=1e-14)


def softmax2(x: UOp) -> UOp:
    """2^(x - max x) / Σ 2^(x - max x), over the last axis."""
    shape = x.shape or ()
    powers = Op.Exp2(Op.Sub(x, expand(reduced(Op.Max, len(shape) - 1)(x), shape)))
    return Op.Div(powers, expand(reduced(Op.Add, len(shape) - 1)(powers), shape))


def test_softmax() -> None:
    """The derivative through the maximum cancels: ln 2 · s·(g - Σ g·s), for tied greatest elements too."""
    x = np.array([[0.5, -1.0, 2.0], [3.0, 3.0, 1.0]])
    seed = RANDOM.normal(size=x.shape)
    p = param(0, float64, x.shape)
    (found,) = taken(softmax2(p), [p], [x], seed)
    s = 2.0**x / np.sum(2.0**x, axis=1, keepdims=True)
    wanted = LN2 * s * (seed - np.sum(seed * s, axis=1, keepdims=True))
    assert np.allclose(found, wanted, rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize("n", [0, 1, 2, 5])
def test_prefix_sum(n: int) -> None:
    """The adjoint of a running sum is the running sum from the end."""
    seed = np.arange(1.0, n + 1)
    p = param(0, float64, (n,))
    (found,) = taken(prefix_sum(p), [p], [np.ones(n)], seed)
    assert np.array_equal(found, np.cumsum(seed[::-1])[::-1])


def test_a_small_network() -> None:
    x, w, v = RANDOM.normal(size=(4, 3)), RANDOM.normal(size=(3, 5)), RANDOM.normal(size=(5, 2))
    p, q, r = (param(k, float64, a.shape) for k, a in enumerate((x, w, v)))
    hidden = Op.Max(gemm(p, q), broadcast_to(const(0.0, float64), (4, 5)))
    out = gemm(hidden, r)
    loss = total(Op.Mul(out, out))
    by_x, by_w, by_v = taken(loss, [p, q, r], [x, w, v])
    h = np.maximum(x @ w, 0.0)
    g_out = 2 * h @ v
    g_pre = (g_out @ v.T) * (x @ w > 0)
    assert np.allclose(by_v, h.T @ g_out, rtol=1e-12)
    assert np.allclose(by_w, x.T @ g_pre, rtol=1e-12, atol=1e-14)
    assert np.allclose(by_x, g_pre @ w.T, rtol=1e-12, atol=1e-14)


def test_an_embedding_adds_up_what_one_row_was_read_for() -> None:
    table, rows = RANDOM.normal(size=(4, 2)), [3, 0, 3, 3]
    seed = RANDOM.normal(size=(4, 2))
    p = param(0, float64, table.shape)
    (found,) = taken(Op.Index(p, tensor(rows, index)), [p], [table], seed)
    wanted = np.zeros_like(table)
    np.add.at(wanted, rows, seed)
    assert np.array_equal(found, wanted)


@pytest.mark.parametrize("bad", [NAN, INF])
def test_gather_and_scatter_add_are_each_others_adjoint(bad: float) -> None:
    """Each moves what the other moves back; an index outside, or a table that is not finite, moves nothing (U-30)."""
    table, rows, seed = [1.0, bad, 3.0], [2, 0, 2, 7, -1], [1.0, 2.0, 4.0, 8.0, 16.0]
    t, i, v = param(0, float64, (3,)), param(1, index, (5,)), param(2, float64, (5,))
    (found,) = gradient(gather(t, i), [t], tensor(seed, float64))
    assert evaluate(found, {0: table, 1: rows}).elements == (2.0, 0.0, 5.0)
    back = scatter_add(t, i, v)
    by_t, by_v = gradient(back, [t, v], tensor([1.0, 2.0, 4.0], float64))
    bound = {0: table, 1: rows, 2: seed}
    assert evaluate(by_t, bound).elements == (1.0, 2.0, 4.0)
    assert evaluate(by_v, bound).elements == (4.0, 1.0, 4.0, 0.0, 0.0)


def test_an_index_that_an_evaluation_binds() -> None:
    p, i = param(0, float64, (3,)), param(1, index, (4,))
    (found,) = gradient(Op.Index(p, i), [p], tensor([1.0, 2.0, 4.0, 8.0], float64))
    assert evaluate(found, {0: [5.0, 6.0, 7.0], 1: [2, 2, 0, 2]}).elements == (4.0, 0.0, 11.0)


PROGRAMS: dict[str, Callable[[Tensor, Tensor, Tensor], Tensor]] = {
    "a layer": lambda x, w, b: ((x @ w + b).relu() * 2).sum(),
    "softmax": lambda x, w, b: ((x @ w + b).softmax(-1) * (x @ w)).sum(),
    "maximum": lambda x, w, b: (x @ w).max(axis=0).sum(),
    "product": lambda x, w, b: (x @ w).prod(axis=1).sum(),
    "logarithm of a sum": lambda x, w, b: (x @ w).exp().sum(axis=1).log().sum(),
    "rows": lambda x, w, b: (x @ w)[::2].sum(),
    "quotient of roots": lambda x, w, b: ((x * x + 1).sqrt() / (x * x + 2)).sum() + b.sum(),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_compiled_gradients_equal_the_evaluator(name: str) -> None:
    xs = [Tensor(RANDOM.normal(size=s).astype(np.float32)) for s in ((3, 4), (4, 2), (2,))]
    found = gradient(PROGRAMS[name](*xs).uop, [x.uop for x in xs])
    for root, array in zip(found, computed(list(found)), strict=True):
        held = {n.arg.slot: storage.contents(n) for n in toposort(root) if n.op is Op.Buffer}
        assert Array.from_numpy(array) == evaluate(root, buffers=held)


# Devices ----------------------------------------------------------------------------------------------------------

DEVICES = ("CPU:0", "CPU:1")


def test_a_load_is_undone_so_that_contributions_meet() -> None:
    x = param(0, float64, (4,), device="CPU")
    there = Op.Load(x, arg=LoadArg(device="CUDA"))
    back = Op.Load(Op.Mul(there, there), arg=LoadArg(device="CPU"))
    (found,) = gradient(total(Op.Add(back, x)), [x])
    assert found.device == "CPU"
    assert evaluate(found, {0: [1.0, 2.0, 3.0, 4.0]}).elements == (3.0, 5.0, 7.0, 9.0)


def scattered(x: UOp) -> UOp:
    return Op.Load(x, arg=LoadArg(device=DEVICES))


def replicated(x: UOp) -> UOp:
    shape = x.shape or ()
    copies = Op.Load(expand(reshape(x, (1, *shape)), (2, *shape)), arg=LoadArg(device=DEVICES))
    return reshape(Op.Replicated(copies, arg=(0,)), shape)


@pytest.mark.parametrize("place", [scattered, replicated])
def test_shards_and_replicas_meet_at_their_source(place: Callable[[UOp], UOp]) -> None:
    x = param(0, float64, (4,), device="CPU:0")
    placed = place(x)
    y = Op.Load(Op.Mul(placed, placed), arg=LoadArg(device="CPU:0"))
    by_x, by_placed = gradient(total(Op.Add(y, x)), [x, placed])
    assert (by_x.device, by_x.axis) == ("CPU:0", None)
    assert (by_placed.device, by_placed.axis) == (placed.device, placed.axis)
    assert evaluate(by_x, {0: [1.0, 2.0, 3.0, 4.0]}).elements == (3.0, 5.0, 7.0, 9.0)


def test_a_replicated_factor_of_a_sharded_product() -> None:
    """The adjoint of the replicated weights is gathered from the shards of what they meet."""
    x, w = param(0, float64, (4,), device="CPU:0"), param(1, float64, (4,), device="CPU:0")
    weights = replicated(w)
    y = Op.Load(Op.Mul(scattered(x), weights), arg=LoadArg(device="CPU:0"))
    by_w, by_weights = gradient(total(y), [w, weights])
    assert (by_weights.device, by_weights.axis) == (DEVICES, None)
    assert by_w.device == "CPU:0"
    values = {0: [1.0, 2.0, 3.0, 4.0], 1: [5.0, 6.0, 7.0, 8.0]}
    assert evaluate(by_w, values).elements == (1.0, 2.0, 3.0, 4.0)


def test_a_function_of_shards() -> None:
    x = scattered(param(0, float64, (4,), device="CPU:0"))
    p = param(0, float64, (4,), device=DEVICES, axis=0)
    y = Op.GetTuple(Op.Function(Op.Tuple(Op.Mul(p, p)), x), arg=0)
    total_there = total(Op.Load(Op.Mul(y, x), arg=LoadArg(device="CPU:0")))
    (found,) = gradient(total_there, [x])
    assert (found.device, found.axis) == (DEVICES, 0)
    assert evaluate(found, {0: [1.0, 2.0, 3.0, 4.0]}).elements == (3.0, 12.0, 27.0, 48.0)


def test_an_adjoint_is_sharded_along_the_axis_of_its_node() -> None:
    x = Op.Permute(scattered(param(0, float64, (4, 2), device="CPU:0")), arg=(1, 0))
    assert x.axis == 1
    g = param(1, float64, (2, 4), device="CPU:0")
    placed = placed_like(g, x)
    assert (placed.device, placed.axis, placed.shape) == (DEVICES, 1, (2, 4))
    values = np.arange(8.0).reshape(2, 4)
    assert np.array_equal(evaluate(placed, {1: values}).to_numpy(), values)
    assert placed_like(x, x) is x
    free = const(1.0, float64)
    assert placed_like(free, x) is free


def test_the_slices_of_a_replicated_value_stay_equal_along_the_adjoint() -> None:
    """Each of n equal slices receives g/n: the sum over them is the derivative by all of them at once."""
    x = param(0, float64, (3, 2))
    (found,) = taken(Op.Replicated(x, arg=(0,)), [x], [[[5.0, 7.0]] * 3], [[6.0, -1.5]])
    assert np.array_equal(found, [[2.0, -0.5]] * 3)


# Sin --------------------------------------------------------------------------------------------------------------


def _points(dtype: DType) -> list[float]:
    most = largest_finite(dtype)
    directed = [
        0.0,
        -0.0,
        2.0**-20,
        0.5,
        0.7,
        0.71,
        -0.75,
        1.0,
        math.pi / 2,
        1.5707,
        math.pi,
        3.0,
        22.0,
        11.0,
        355.0,
    ]
    return [float(v) for v in (*directed, *RANDOM.uniform(-100, 100, 60), most / 4, most / 2, -most / 2)]


@pytest.mark.parametrize("dtype", [float16, bfloat16, float32, float64])
def test_the_cosine_is_within_its_stated_error(dtype: DType) -> None:
    """7·2^-p for a Sin within 1.5 ulp; the double rounding of a narrow result is inside it."""
    xs = Array.of(_points(dtype), dtype)
    found = evaluate(cosine(param(0, dtype, xs.shape)), {0: xs})
    with mpmath.workprec(1200):
        for x, c in zip(xs.elements, found.elements, strict=True):
            exact = mpmath.cos(mpmath.mpf(x))
            assert abs(mpmath.mpf(c) - exact) <= 7 * mpmath.mpf(2) ** -(dtype.mantissa_bits + 1) * abs(
                exact
            ), x


@pytest.mark.parametrize("dtype", [float16, bfloat16, float32, float64])
def test_the_cosine_of_the_greatest_numbers_has_an_absolute_error(dtype: DType) -> None:
    most = largest_finite(dtype)
    xs = Array.of([most, -most, most * 0.75, most * 0.6], dtype)
    found = evaluate(cosine(param(0, dtype, xs.shape)), {0: xs})
    with mpmath.workprec(1200):
        for x, c in zip(xs.elements, found.elements, strict=True):
            error = abs(mpmath.mpf(c) - mpmath.cos(mpmath.mpf(x)))
            assert error <= 16 * mpmath.mpf(2) ** -(dtype.mantissa_bits + 1), x
    assert all(math.isnan(float(e)) for e in evaluate(cosine(tensor([INF, -INF, NAN], dtype))).elements)


def test_the_sine_of_the_sum_with_half_a_turn_would_be_wrong() -> None:
    """Why the cosine is not sin(x + π/2): at 2^24 the sum is rounded to a multiple of 2."""
    x = const(2.0**24, float32)
    wrong = evaluate(Op.Sin(Op.Add(x, const(1.57079637050628662109375, float32)))).item()
    right = evaluate(cosine(x)).item()
    assert abs(float(right) - math.cos(2.0**24)) < 1e-6
    assert abs(float(wrong) - math.cos(2.0**24)) > 0.1


# Pow --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("a", "b", "by_a", "by_b"),
    [
        (2.0, 3.0, 12.0, 8.0 * LN2),
        (1.0, 5.0, 5.0, 0.0),
        (0.0, 2.0, 0.0, 0.0),
        (0.0, 1.0, 1.0, 0.0),
        (0.0, 0.5, INF, 0.0),
        (0.0, 0.0, 0.0, 0.0),
        (-0.0, 2.0, 0.0, 0.0),
        (0.0, -1.0, -INF, -INF),
        (3.0, 0.0, 0.0, math.log(3.0)),
        (NAN, 0.0, 0.0, NAN),
        (INF, 0.0, 0.0, INF),
        (-2.0, 3.0, 12.0, NAN),
        (-2.0, 0.0, 0.0, NAN),
        (-2.0, 0.5, NAN, NAN),
    ],
)
def test_the_special_cases_of_a_power(a: float, b: float, by_a: float, by_b: float) -> None:
    p, q = param(0, float64), param(1, float64)
    found = [float(f) for f in taken(Op.Pow(p, q), [p, q], [a, b])]
    for ours, wanted in zip(found, (by_a, by_b), strict=True):
        assert (math.isnan(ours) and math.isnan(wanted)) or ours == wanted or abs(ours / wanted - 1) < 1e-15


def test_a_constant_exponent_passes_to_negative_bases() -> None:
    x = param(0, float64, (3,))
    cube = Op.Pow(x, broadcast_to(const(3.0, float64), (3,)))
    (found,) = taken(cube, [x], [[-2.0, 0.0, 1.0]], [1.0, 1.0, 1.0])
    assert np.array_equal(found, [12.0, 0.0, 3.0])


def test_what_is_not_selected_may_be_outside_the_domain() -> None:
    """sin x / x at 0, where another number is chosen."""
    x = param(0, float64, (2,))
    at_zero = Op.CmpEq(x, broadcast_to(const(0.0, float64), (2,)))
    y = Op.Where(at_zero, broadcast_to(const(1.0, float64), (2,)), Op.Div(Op.Sin(x), x))
    (found,) = taken(y, [x], [[0.0, 2.0]], [1.0, 1.0])
    assert found[0] == 0.0
    assert abs(found[1] - (math.cos(2.0) / 2 - math.sin(2.0) / 4)) < 1e-15
    assert at_zero.dtype is bool_
