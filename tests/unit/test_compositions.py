"""gemm, prefix_sum, arange, gather and scatter_add: their meaning against numpy, their ends, and their constraints."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from soundline.impl.tensors.tensor import Tensor
from soundline.spec.arrays.arrays import Array
from soundline.spec.compositions.tensors import (
    CONSTRAINTS,
    arange,
    arange_of_the_source,
    gather,
    gather_of_the_source,
    gemm,
    prefix_sum,
    prefix_sum_of_the_source,
    scatter_add,
    scatter_add_of_the_source,
)
from soundline.spec.dtypes import (
    DType,
    all_dtypes,
    bool_,
    float8_e4m3fn,
    float16,
    float32,
    float64,
    index,
    int8,
    int32,
    int64,
    ints,
    to_numpy,
    uint8,
    uint64,
)
from soundline.spec.errors import IllFormed
from soundline.spec.evaluate import evaluate
from soundline.spec.ops.building import window_origin
from soundline.spec.ops.elementwise.conversion import cast
from soundline.spec.ops.table import Op
from soundline.spec.uop import Size, UOp, const, param, tensor

INF, NAN = math.inf, math.nan
N, M, K = (param(slot, index) for slot in (7, 8, 9))
SIZES = (0, 1, 2, 3, 5, 8)
SPECIAL = [1.5, -0.0, INF, 3.0, NAN, -2.5, 0.0, 1e30]


def vector(dtype: DType, size: Size, slot: int = 0) -> UOp:
    return param(slot, dtype, (size,))


def value(u: UOp, *bound: Any, **more: int) -> Array:
    named = {{"n": 7, "m": 8, "k": 9}[name]: number for name, number in more.items()}
    return evaluate(u, {**dict(enumerate(bound)), **named})


def as_array(x: npt.ArrayLike, dtype: DType) -> Array:
    return Array.from_numpy(np.asarray(x, dtype=to_numpy(dtype)), dtype)


# gemm -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(2, 3, 4), (1, 1, 1), (0, 2, 3), (2, 0, 3), (2, 3, 0), (3, 1, 2)])
@pytest.mark.parametrize("dtype", [int8, int32, uint64])
def test_gemm_is_the_matrix_product(shape: tuple[int, int, int], dtype: DType) -> None:
    m, k, n = shape
    rng = np.random.default_rng(m + 10 * k + 100 * n)
    a, b = (rng.integers(0, 100, s).astype(to_numpy(dtype)) for s in ((m, k), (k, n)))
    node = gemm(param(0, dtype, (m, k)), param(1, dtype, (k, n)))
    assert (node.shape, node.dtype) == ((m, n), dtype)
    assert value(node, a, b) == as_array(a @ b, dtype)


def test_gemm_of_floats_rounds_each_product_and_ascends_in_k() -> None:
    rng = np.random.default_rng(5)
    a, b = (rng.standard_normal(s).astype(np.float32) for s in ((3, 7), (7, 2)))
    found = value(gemm(param(0, float32, (3, 7)), param(1, float32, (7, 2))), a, b).to_numpy()
    for i in range(3):
        for j in range(2):
            total = a[i, 0] * b[0, j]
            for k in range(1, 7):
                total = np.float32(total + a[i, k] * b[k, j])
            assert found[i, j] == total
    assert np.array_equal((Tensor(a) @ Tensor(b)).numpy(), found), "the Tensor layer agrees bit for bit"


def test_gemm_of_symbolic_sizes() -> None:
    node = gemm(param(0, int32, (N, M)), param(1, int32, (M, K)))
    for n, m, k in ((2, 3, 1), (0, 3, 2), (2, 0, 2)):
        a, b = np.ones((n, m), np.int32), np.full((m, k), 3, np.int32)
        assert value(node, a, b, n=n, m=m, k=k) == as_array(a @ b, int32)


# prefix_sum -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("dtype", [int8, int32, uint8, float32, float64, index])
def test_prefix_sum_is_the_running_sum(size: int, dtype: DType) -> None:
    x = [100 + k if dtype is uint8 else (-1) ** k * (k * k + 1) for k in range(size)]
    exact = np.array(x, dtype=np.int64 if dtype is index else to_numpy(dtype))
    expected = np.cumsum(exact, dtype=exact.dtype)
    node = prefix_sum(vector(dtype, size))
    assert (node.shape, node.dtype) == ((size,), dtype)
    assert value(node, Array.of(x, dtype)) == Array.of(expected.tolist(), dtype)


@pytest.mark.parametrize("size", range(9))
def test_prefix_sum_of_floats_is_the_ascending_reduction(size: int) -> None:
    x = np.array(SPECIAL[:size], dtype=np.float32)
    assert value(prefix_sum(vector(float32, size)), x) == as_array(np.cumsum(x, dtype=np.float32), float32)
    y = np.array([v if v != 1e30 else 2048.0 for v in SPECIAL[:size][::-1]], dtype=np.float16)
    assert value(prefix_sum(vector(float16, size)), y) == as_array(np.cumsum(y, dtype=np.float16), float16)


def test_a_leading_negative_zero_stays() -> None:
    x = [-0.0, -0.0, 1.0]
    assert value(prefix_sum(vector(float32, 3)), x) == Array(float32, (3,), (-0.0, -0.0, 1.0))
    assert value(prefix_sum_of_the_source(vector(float32, 3)), x) == Array(float32, (3,), (0.0, 0.0, 1.0))


def test_prefix_sum_of_a_symbolic_size() -> None:
    node = prefix_sum(vector(float32, N))
    for n in (0, 1, 2, 5):
        x = np.array(SPECIAL[:n], dtype=np.float32)
        assert value(node, x, n=n) == as_array(np.cumsum(x), float32)


def test_the_listing_of_the_source_forgets_nothing() -> None:
    with pytest.raises(IllFormed) as refused:
        prefix_sum_of_the_source(vector(int32, 0))
    assert refused.value.rule == "uop-pad-c2"
    for size in (1, 2, 5):
        x = np.arange(size, dtype=np.int32) - 3
        assert value(prefix_sum_of_the_source(vector(int32, size)), x) == value(
            prefix_sum(vector(int32, size)), x
        )


@pytest.mark.parametrize("n", range(1, 40))
def test_a_window_reads_the_place_that_the_proof_says(n: int) -> None:
    """(i·2n + j) mod (2n-1) = i + j, and the line of n+1 rows is long enough."""
    for i in range(n):
        for j in range(n):
            assert window_origin(n, i, j) == i + j == (i * (2 * n - 1) + (i + j)) % (2 * n - 1)
            assert i * 2 * n + j < (n + 1) * (2 * n - 1)
    assert (n + 1) * (2 * n - 1) - 2 * n * n == n - 1


def test_the_proof_obligation_holds_for_every_size() -> None:
    """Over the integers: i·2n + j is i rows of the period and i + j more, which is less than a period."""
    import z3

    n, i, j = z3.Ints("n i j")
    inside = z3.And(n >= 1, i >= 0, j >= 0, i < n, j < n)
    solver = z3.Solver()
    solver.set("rlimit", 10_000_000)
    claim = z3.And(i * 2 * n + j == i * (2 * n - 1) + (i + j), i + j >= 0, i + j < 2 * n - 1)
    solver.add(inside, z3.Not(claim))
    assert solver.check() == z3.unsat


# arange -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", all_dtypes, ids=str)
@pytest.mark.parametrize("size", [0, 1, 2, 7])
def test_arange_counts_in_the_dtype_that_is_asked(size: int, dtype: DType) -> None:
    node = arange(size, dtype)
    assert (node.shape, node.dtype) == ((size,), dtype)
    expected = list(range(size)) if dtype is index else [cast(int64, i, dtype) for i in range(size)]
    assert value(node) == Array(dtype, (size,), tuple(expected))


def test_arange_casts_once() -> None:
    """Past what a dtype counts to, element i is still i cast to it."""
    expected = Array.of([cast(int64, i, float8_e4m3fn) for i in range(20)], float8_e4m3fn)
    assert value(arange(20, float8_e4m3fn)) == expected
    stuck = value(arange_of_the_source(20, float8_e4m3fn)).elements
    assert stuck[15:] == (15.0,) * 5
    assert value(arange(2, int64)) == value(arange(2))
    assert value(arange(N, int8), n=5).elements == (0, 1, 2, 3, 4)
    assert value(arange(N, float32), n=0).elements == ()


# gather -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("count", [0, 1, 4])
def test_gather_is_a_load(size: int, count: int) -> None:
    rng = np.random.default_rng(size * 10 + count)
    table, idx = (
        np.array(SPECIAL[:size], dtype=np.float32),
        rng.integers(-2, size + 2, count).astype(np.int32),
    )
    expected = [table[i] if 0 <= i < size else np.float32(0) for i in idx]
    found = value(gather(vector(float32, size), vector(int32, count, 1)), table, idx)
    assert found == as_array(expected, float32)


@pytest.mark.parametrize("dtype", [*ints, index], ids=str)
def test_gather_takes_indices_of_every_integer_dtype(dtype: DType) -> None:
    table = tensor([1.5, -0.0, INF], float32)
    signed = dtype is index or dtype.signed
    ends = [2, 0, 1, 3] + ([-1, -3] if signed else [])
    far = [2**70] if dtype is index else [dtype.max, dtype.min]
    idx = Array.of([*ends, *far], dtype)
    expected = (INF, 1.5, -0.0, 0.0, *([0.0] * (len(ends) - 4)))
    if dtype is index:
        expected = (*expected, 0.0)
    else:
        expected = (*expected, 0.0, 0.0 if dtype.min < 0 else 1.5)
    assert value(gather(table, vector(dtype, len(idx.elements))), idx) == Array(float32, idx.shape, expected)


@pytest.mark.parametrize("dtype", all_dtypes, ids=str)
def test_gather_takes_tables_of_every_dtype(dtype: DType) -> None:
    table = Array.of([cast(int64, n, dtype) if dtype is not index else n for n in (1, 0, 5)], dtype)
    found = value(gather(vector(dtype, 3), tensor([2, 0, 9], int32)), table)
    assert found.elements[:2] == (table.elements[2], table.elements[0])
    assert found.elements[2] == table.elements[1], "zero of the dtype"


def test_a_position_that_an_index_cannot_say_matches_none() -> None:
    """A table of 258 elements and indices in int8: 1 is not 257."""
    table = np.arange(258, dtype=np.int32)
    idx = np.array([1, 127, -128], dtype=np.int8)
    assert value(gather(vector(int32, 258), vector(int8, 3, 1)), table, idx).elements == (1, 127, 0)


def test_the_product_of_the_source_poisons() -> None:
    table, idx = tensor([1.0, INF], float32), tensor([0, 1, 7], int32)
    assert value(gather(table, idx)) == Array(float32, (3,), (1.0, INF, 0.0))
    assert value(gather_of_the_source(table, idx)) == Array(float32, (3,), (NAN, INF, NAN))
    finite = tensor([1.0, 2.0], float32)
    assert value(gather_of_the_source(finite, idx)) == value(gather(finite, idx))


# scatter_add ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("count", [0, 1, 5])
@pytest.mark.parametrize("dtype", [int8, float32])
def test_scatter_add_adds_at_each_index(size: int, count: int, dtype: DType) -> None:
    rng = np.random.default_rng(size * 10 + count)
    table = rng.integers(-100, 100, size).astype(to_numpy(dtype))
    idx, val = rng.integers(-1, size + 1, count), rng.integers(-100, 100, count).astype(to_numpy(dtype))
    expected = table.copy()
    kept = (idx >= 0) & (idx < size)
    np.add.at(expected, idx[kept], val[kept])
    node = scatter_add(vector(dtype, size), vector(int64, count, 1), vector(dtype, count, 2))
    assert (node.shape, node.dtype) == ((size,), dtype)
    assert value(node, table, idx, val) == as_array(expected, dtype)


def test_scatter_add_keeps_what_nothing_is_added_to() -> None:
    table = np.array([-0.0, INF, NAN, -0.0], dtype=np.float32)
    for idx, val in (([], []), ([9], [INF]), ([3], [-0.0])):
        node = scatter_add(vector(float32, 4), vector(int32, len(idx), 1), vector(float32, len(idx), 2))
        found = value(node, table, np.array(idx, np.int32), np.array(val, np.float32))
        assert found == as_array(table, float32)
    symbolic = scatter_add(vector(float32, 4), vector(int32, N, 1), vector(float32, N, 2))
    empty = np.zeros(0, np.float32)
    assert value(symbolic, table, empty.astype(np.int32), empty, n=0) == as_array(table, float32)


def test_scatter_add_accumulates_apart_from_the_table() -> None:
    table, idx, val = [2.0**24], [0, 0], [1.0, 1.0]
    node = scatter_add(vector(float32, 1), vector(int32, 2, 1), vector(float32, 2, 2))
    assert value(node, table, idx, val).elements == (2.0**24 + 2,)


def test_the_product_of_the_source_poisons_sums() -> None:
    table, idx, val = tensor([1.0, 2.0], float32), tensor([0, 5], int32), tensor([1.0, INF], float32)
    assert value(scatter_add(table, idx, val)).elements == (2.0, 2.0)
    assert value(scatter_add_of_the_source(table, idx, val)) == Array(float32, (2,), (NAN, NAN))
    plain = tensor([1.0, 4.0], float32)
    assert value(scatter_add_of_the_source(table, idx, plain)) == value(scatter_add(table, idx, plain))


# Constraints ------------------------------------------------------------------------------------------------------

A, B = param(0, float32, (2, 3)), param(1, float32, (3, 4))
T, IDX, VAL = vector(float32, 4), vector(int32, 3, 1), vector(float32, 3, 2)
TWINS: dict[str, tuple[list[Callable[[], UOp]], list[Callable[[], UOp]]]] = {
    "uop-gemm-c1": (
        [lambda: gemm(A, B), lambda: gemm(A, param(1, float32, (3, 0)))],
        [
            lambda: gemm(A, A),
            lambda: gemm(T, B),
            lambda: gemm(A, T),
            lambda: gemm(const(1.0, float32), const(1.0, float32)),
            lambda: gemm(Op.Group(), B),
            lambda: gemm(param(0, float32, (N, Op.Add(N, const(1, index)))), param(1, float32, (N, N))),
        ],
    ),
    "uop-gemm-c2": (
        [lambda: gemm(A, B), lambda: gemm(param(0, index, (1, 1)), param(1, index, (1, 1)))],
        [
            lambda: gemm(A, param(1, float16, (3, 4))),
            lambda: gemm(param(0, bool_, (1, 1)), param(1, bool_, (1, 1))),
        ],
    ),
    "uop-prefixsum-c1": (
        [lambda: prefix_sum(T), lambda: prefix_sum_of_the_source(T)],
        [lambda: prefix_sum(A), lambda: prefix_sum(const(1, int32)), lambda: prefix_sum_of_the_source(A)],
    ),
    "uop-prefixsum-c2": ([lambda: prefix_sum(T)], [lambda: prefix_sum(vector(bool_, 2))]),
    "uop-arange-c1": (
        [lambda: arange(0), lambda: arange(N)],
        [
            lambda: arange(-1),
            lambda: arange(True),
            lambda: arange(2.0),  # type: ignore[arg-type]
            lambda: arange(const(1, int32)),
            lambda: arange(vector(index, 1)),
        ],
    ),
    "uop-gather-c1": (
        [lambda: gather(T, IDX)],
        [
            lambda: gather(A, IDX),
            lambda: gather(T, param(1, int32, (2, 2))),
            lambda: gather(T, const(0, int32)),
        ],
    ),
    "uop-gather-c2": (
        [lambda: gather(T, vector(index, 2)), lambda: gather(T, vector(uint8, 2))],
        [lambda: gather(T, vector(bool_, 2)), lambda: gather(T, vector(float32, 2))],
    ),
    "uop-scatteradd-c1": (
        [lambda: scatter_add(T, IDX, VAL)],
        [
            lambda: scatter_add(A, IDX, VAL),
            lambda: scatter_add(T, const(0, int32), VAL),
            lambda: scatter_add(T, IDX, A),
            lambda: scatter_add(T, vector(int32, 4, 1), VAL),
        ],
    ),
    "uop-scatteradd-c2": (
        [lambda: scatter_add(T, vector(index, 3, 1), VAL)],
        [
            lambda: scatter_add(T, vector(bool_, 3, 1), VAL),
            lambda: scatter_add(T, vector(float32, 3, 1), VAL),
        ],
    ),
    "uop-scatteradd-c3": (
        [lambda: scatter_add(T, IDX, VAL)],
        [
            lambda: scatter_add(T, IDX, vector(float64, 3, 2)),
            lambda: scatter_add(vector(bool_, 4), IDX, vector(bool_, 3, 2)),
        ],
    ),
}


def test_every_constraint_has_twins() -> None:
    assert set(TWINS) == set(CONSTRAINTS)


@pytest.mark.parametrize("rule", TWINS)
def test_operands_that_satisfy_a_constraint_are_taken(rule: str) -> None:
    for build in TWINS[rule][0]:
        assert build().shape is not None


@pytest.mark.parametrize("rule", TWINS)
def test_operands_that_break_it_are_refused_under_its_id(rule: str) -> None:
    for build in TWINS[rule][1]:
        with pytest.raises(IllFormed) as refused:
            build()
        assert refused.value.rule == rule
        assert refused.value.wants == CONSTRAINTS[rule]
