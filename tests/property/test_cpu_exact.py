"""The compiled program equals the law, bit for bit: on random graphs over all dtypes, and on gemm + bias + softmax."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from soundline.impl.arrays import storage
from soundline.impl.executables.building import computed
from soundline.impl.program.compile import compile  # noqa: A004
from soundline.impl.tensors.tensor import Tensor
from soundline.spec.arrays.arrays import Array
from soundline.spec.dtypes import floats, to_numpy
from soundline.spec.evaluate import evaluate
from soundline.spec.uop import Op, ReduceArg, UOp, toposort

sys.path.insert(0, str(Path(__file__).parent))
from programs import elements, programs

SLOW = settings(
    deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large], print_blob=True
)


def law(root: UOp) -> Array:
    """The value of a graph over stored values, by the evaluator."""
    held = {n.arg.slot: storage.contents(n) for n in toposort(root) if n.op is Op.Buffer}
    return evaluate(root, buffers=held)


def check(roots: list[UOp]) -> None:
    """Every root, compiled in one program, has the law's value."""
    for root, found in zip(roots, computed(roots), strict=True):
        assert Array.from_numpy(found) == law(root)


@settings(SLOW, max_examples=150)
@given(programs())
def test_random_programs_equal_the_evaluator(roots: list[UOp]) -> None:
    check(roots)


@st.composite
def affine(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Operands of a gemm with bias."""
    dtype = draw(st.sampled_from(floats))
    m, k, n = (draw(st.integers(0, 4)) for _ in range(3))
    count = m * k + k * n + n
    values = np.array(draw(st.lists(elements(dtype), min_size=count, max_size=count)), dtype=to_numpy(dtype))
    return values[: m * k].reshape(m, k), values[m * k : m * k + k * n].reshape(k, n), values[m * k + k * n :]


@settings(SLOW, max_examples=40)
@given(affine())
def test_gemm_bias_softmax_equals_the_evaluator(operands: tuple[np.ndarray, ...]) -> None:
    result = layer(*map(Tensor, operands))
    check([result.uop])
    program = compile(layer, *operands)
    assert Array.from_numpy(program(*operands)) == law(result.uop)


def layer(a: Tensor, b: Tensor, bias: Tensor) -> Tensor:
    """One dense layer with a softmax."""
    return (a @ b + bias).softmax(-1)


@pytest.mark.parametrize("length", [1, 63, 64, 256, 257, 300, 2048, 2049, 4100])
def test_long_float_sums_have_the_order_of_the_graph(length: int) -> None:
    x = np.random.default_rng(length).standard_normal(length).astype(np.float32)
    check([Tensor(x).sum().uop])


@pytest.mark.parametrize(
    ("m", "k", "n"),
    [(8, 5, 32), (9, 5, 33), (7, 64, 31), (1, 9, 300), (300, 9, 1), (16, 1, 64), (23, 17, 100)],
)
def test_matrix_products_are_the_ascending_reduction(m: int, k: int, n: int) -> None:
    rng = np.random.default_rng(m * k * n)
    a, b = rng.standard_normal((m, k)).astype(np.float32), rng.standard_normal((k, n)).astype(np.float32)
    total = a[:, :1] * b[:1]
    for step in range(1, k):
        total = total + a[:, step : step + 1] * b[step]
    found = compile(lambda x, y: x @ y, a, b)(a, b)
    np.testing.assert_array_equal(found.view(np.uint32), total.view(np.uint32))


@pytest.mark.parametrize("axes", [(0, 1), (1, 0)])
def test_several_axes_are_one_reduction_in_row_major_order(axes: tuple[int, int]) -> None:
    x = np.random.default_rng(5).standard_normal((6, 7, 3)).astype(np.float32)
    rows = x.reshape(42, 3)
    total = rows[0]
    for row in rows[1:]:
        total = total + row
    root = Op.Reduce(storage.keep(x), arg=ReduceArg(Op.Add, axes))
    (found,) = computed([root])
    np.testing.assert_array_equal(found.reshape(3).view(np.uint32), total.view(np.uint32))
    check([root])


@pytest.mark.parametrize("rows", [3, 70, 600])
def test_sums_over_leading_axes_ascend(rows: int) -> None:
    x = np.random.default_rng(rows).standard_normal((rows, 301)).astype(np.float32)
    total = x[0]
    for row in x[1:]:
        total = total + row
    np.testing.assert_array_equal(Tensor(x).sum(0).numpy().view(np.uint32), total.view(np.uint32))
