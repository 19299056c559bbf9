"""Values of source, movement, reduce and call ops, and how a program is bound to its inputs."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from soundline.spec.arrays.arrays import INVALID, Array, offset_of, positions
from soundline.spec.dtypes import (
    DType,
    all_dtypes,
    bfloat16,
    bool_,
    float8_e4m3fn,
    float16,
    float32,
    float64,
    floats,
    index,
    int8,
    int16,
    int32,
    int64,
    round_to,
    to_numpy,
    uint8,
    uint16,
    uint32,
    void,
)
from soundline.spec.errors import EvaluationError, IllFormed
from soundline.spec.evaluate import evaluate
from soundline.spec.ops.table import Op
from soundline.spec.uop import (
    LoadArg,
    ReduceArg,
    SliceArg,
    UOp,
    buffer,
    const,
    expand,
    loop,
    pad,
    param,
    reshape,
    shape_source,
    shrink,
    tensor,
)

NAN, INF = math.nan, math.inf


def number(value: int) -> UOp:
    return const(value, index)


def numbered(*shape: int) -> np.ndarray:
    return np.arange(math.prod(shape), dtype=np.int32).reshape(shape)


def value(u: UOp, *bound: Any, **more: Any) -> np.ndarray:
    return evaluate(u, dict(enumerate(bound)), **more).to_numpy()


def refused(rule: str, run: Callable[[], object]) -> EvaluationError:
    with pytest.raises(EvaluationError) as caught:
        run()
    assert caught.value.rule == rule
    return caught.value


# Movement ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_permute(order: tuple[int, ...]) -> None:
    x = numbered(2, 3, 4)
    assert np.array_equal(value(Op.Permute(param(0, int32, (2, 3, 4)), arg=order), x), x.transpose(order))


@pytest.mark.parametrize("flags", list(itertools.product((False, True), repeat=2)))
def test_flip(flags: tuple[bool, ...]) -> None:
    x = numbered(2, 3)
    axes = [k for k, f in enumerate(flags) if f]
    assert np.array_equal(value(Op.Flip(param(0, int32, (2, 3)), arg=flags), x), np.flip(x, axes))


@pytest.mark.parametrize("shape", [(6,), (3, 2), (1, 2, 3), (2, 3)])
def test_reshape(shape: tuple[int, ...]) -> None:
    x = numbered(2, 3)
    assert np.array_equal(value(reshape(param(0, int32, (2, 3)), shape), x), x.reshape(shape))


def test_expand_pad_and_shrink() -> None:
    x = numbered(2, 1, 3)
    p = param(0, int32, (2, 1, 3))
    assert np.array_equal(value(expand(p, (2, 4, 3)), x), np.broadcast_to(x, (2, 4, 3)))
    assert np.array_equal(value(expand(p, (2, 0, 3)), x), np.broadcast_to(x, (2, 0, 3)))
    assert np.array_equal(value(pad(p, (1, 0, 2), (4, 1, 6)), x), np.pad(x, ((1, 1), (0, 0), (2, 1))))
    assert np.array_equal(value(shrink(p, (1, 0, 1), (1, 1, 2)), x), x[1:2, 0:1, 1:3])
    assert value(shrink(p, (2, 0, 0), (0, 1, 3)), x).shape == (0, 1, 3)


@pytest.mark.parametrize("dtype", all_dtypes)
def test_pad_fills_with_the_zero_of_the_dtype(dtype: DType) -> None:
    one = {bool_: True}.get(dtype, 1.0 if dtype.is_float else 1)
    padded = evaluate(pad(tensor([one], dtype), (1,), (3,)))
    zero = {bool_: False}.get(dtype, 0.0 if dtype.is_float else 0)
    assert padded == Array(dtype, (3,), (zero, one, zero))
    assert all(type(e) is type(one) for e in padded.elements)


def test_index_acts_on_each_axis_by_itself() -> None:
    x = numbered(3, 4, 5)
    p = param(0, int32, (3, 4, 5))
    rows, columns = [2, 0], [3, 3, 1]
    assert np.array_equal(value(Op.Index(p, number(1)), x), x[1])
    assert np.array_equal(value(Op.Index(p, number(1), number(2), number(3)), x), x[1, 2, 3])
    assert np.array_equal(
        value(Op.Index(p, tensor(rows, index), tensor(columns, index)), x), x[np.ix_(rows, columns)]
    )
    assert np.array_equal(value(Op.Index(p, number(2), tensor(columns, index)), x), x[2][columns])
    assert np.array_equal(value(Op.Index(p, tensor(rows, index), number(1)), x), x[rows][:, 1])
    assert np.array_equal(value(Op.Index(p), x), x)


@pytest.mark.parametrize("outside", [-1, 3, 2**70])
def test_an_index_outside_reads_an_invalid_element(outside: int) -> None:
    read = Op.Index(tensor([5, 6, 7]), number(outside))
    refused("U-01", lambda: evaluate(read))
    chosen = Op.Where(const(False, bool_), read, const(1, int32))
    assert evaluate(chosen).elements == (1,)
    refused("U-01", lambda: evaluate(Op.Where(const(True, bool_), read, const(1, int32))))
    refused("U-01", lambda: evaluate(Op.Mul(read, const(0, int32))))
    refused("U-01", lambda: evaluate(Op.Where(Op.CmpLt(read, read), read, const(1, int32))))


def test_an_invalid_condition_or_index_is_invalid() -> None:
    missing = Op.Index(tensor([0], index), number(7))
    refused("U-01", lambda: evaluate(Op.Index(tensor([5, 6]), missing)))
    unknown = Op.Index(tensor([True], bool_), number(7))
    refused("U-01", lambda: evaluate(Op.Where(unknown, const(1, int32), const(1, int32))))


def test_an_invalid_element_may_be_moved_out_of_the_way() -> None:
    partly = Op.Index(tensor([5, 6]), tensor([1, 9], index))
    assert evaluate(shrink(partly, (0,), (1,))).elements == (6,)
    refused("U-01", lambda: evaluate(Op.Flip(partly, arg=(True,))))
    assert evaluate(shrink(pad(partly, (1,), (4,)), (0,), (2,))).elements == (0, 6)


def test_stack_joins_along_a_new_axis() -> None:
    x, y = numbered(2, 3), numbered(2, 3) + 100
    stacked = Op.Stack(param(0, int32, (2, 3)), param(1, int32, (2, 3)))
    assert np.array_equal(value(stacked, x, y), np.stack([x, y]))
    assert evaluate(Op.Stack()) == Array(index, (0,), ())


def test_replicated_keeps_slice_0_of_equal_slices() -> None:
    same = tensor([[1, 2], [1, 2], [1, 2]])
    assert evaluate(Op.Replicated(same, arg=(0,))) == Array(int32, (1, 2), (1, 2))
    assert evaluate(Op.Replicated(tensor([[NAN, NAN]], float32), arg=(0, 1))).shape == (1, 1)
    refused("U-01", lambda: evaluate(Op.Replicated(tensor([[1, 2], [1, 3]]), arg=(0,))))
    refused("U-01", lambda: evaluate(Op.Replicated(tensor([-0.0, 0.0], float32), arg=(0,))))


BITCASTS = [
    (float32, uint32),
    (int32, uint8),
    (uint8, int32),
    (int64, float16),
    (bfloat16, uint16),
    (float64, int16),
]


@pytest.mark.parametrize(("source", "target"), BITCASTS)
def test_bitcast_reads_the_stored_bytes_little_endian(source: DType, target: DType) -> None:
    rng = np.random.default_rng(3)
    patterns = rng.integers(0, 120, 2 * 8 * source.itemsize, dtype=np.uint8)
    x = patterns.view(to_numpy(source)).reshape(2, 8)
    found = value(Op.Bitcast(param(0, source, (2, 8)), arg=target), x)
    assert found.tobytes() == x.view(to_numpy(target)).tobytes()
    assert found.shape == x.view(to_numpy(target)).shape


def test_bitcast_reads_every_nan_as_the_canonical_one() -> None:
    odd_nan = const(-8388607, int32)  # 0xFF800001: a signalling NaN with its sign set
    assert evaluate(Op.Bitcast(Op.Bitcast(odd_nan, arg=float32), arg=uint32)).elements == (0x7FC00000,)


def test_slice_counts_elements_of_the_source() -> None:
    x = np.arange(6, dtype=np.int32) * 0x01010101
    p = param(0, int32, (6,))
    assert np.array_equal(value(Op.Slice(p, number(2), arg=SliceArg(3, int32)), x), x[2:5])
    narrow = value(Op.Slice(p, number(1), arg=SliceArg(5, uint8)), x)
    assert narrow.tobytes() == x.tobytes()[4:9]
    wide = value(Op.Slice(p, number(2), arg=SliceArg(2, int64)), x)
    assert wide.tobytes() == x.tobytes()[8:24]
    late = Op.Slice(p, param(1, index), arg=SliceArg(2, int32))
    assert np.array_equal(value(late, x, 4), x[4:6])
    with pytest.raises(IllFormed) as outside:
        value(late, x, 5)
    assert outside.value.rule == "uop-slice-c4"


@pytest.mark.parametrize("op", [Op.Contiguous, Op.ContiguousBackward, Op.Detach])
def test_markers_are_the_identity(op: Op) -> None:
    assert evaluate(op(tensor([1, 2]))) == evaluate(tensor([1, 2]))


def test_rank_0_and_size_0() -> None:
    scalar = const(5, int32)
    assert evaluate(reshape(scalar, (1, 1))).shape == (1, 1)
    assert evaluate(Op.Permute(scalar, arg=())).elements == (5,)
    assert evaluate(Op.Flip(scalar, arg=())).elements == (5,)
    assert evaluate(pad(scalar, (), ())).elements == (5,)
    assert evaluate(Op.Reduce(scalar, arg=ReduceArg(Op.Add))).elements == (5,)
    empty = param(0, float32, (0, 3))
    nothing = np.zeros((0, 3), np.float32)
    assert value(Op.Permute(empty, arg=(1, 0)), nothing).shape == (3, 0)
    assert value(Op.Add(empty, empty), nothing).shape == (0, 3)
    assert value(pad(empty, (1, 0), (2, 3)), nothing).tolist() == [[0.0] * 3] * 2


# Reduce -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("axes", [(), (0,), (1,), (2,), (0, 2), (2, 0), (0, 1, 2)])
@pytest.mark.parametrize(("op", "theirs"), [(Op.Add, np.sum), (Op.Max, np.max), (Op.Mul, np.prod)])
def test_reduce_of_integers(op: Op, theirs: Callable[..., Any], axes: tuple[int, ...]) -> None:
    x = np.random.default_rng(4).integers(-100, 100, (2, 3, 4)).astype(np.int8)
    found = value(Op.Reduce(param(0, int8, (2, 3, 4)), arg=ReduceArg(op, axes)), x)
    assert np.array_equal(found, theirs(x.astype(np.int64), axis=axes, keepdims=True).astype(np.int8))


def test_reduce_reductions_floats_in_ascending_order() -> None:
    big = [1e8, 1.0, -1e8, 1.0]
    total = evaluate(Op.Reduce(tensor(big, float32), arg=ReduceArg(Op.Add, (0,)))).item()
    assert total == 1.0  # the first 1.0 is absorbed; another order would give 2 or 0
    ties = [1.0, 2.0**-24, 2.0**-24]
    assert evaluate(Op.Reduce(tensor(ties, float32), arg=ReduceArg(Op.Add, (0,)))).item() == 1.0
    assert (
        evaluate(Op.Reduce(tensor(ties[::-1], float32), arg=ReduceArg(Op.Add, (0,)))).item() == 1 + 2.0**-23
    )


@pytest.mark.parametrize("dtype", floats)
def test_several_axes_are_one_reduction_in_row_major_order(dtype: DType) -> None:
    rng = np.random.default_rng(5)
    x = rng.normal(size=(3, 2, 4)).astype(to_numpy(dtype))
    found = value(Op.Reduce(param(0, dtype, (3, 2, 4)), arg=ReduceArg(Op.Add, (2, 0))), x)
    for j in range(2):
        row = [float(x[i, j, k]) for i in range(3) for k in range(4)]
        total = row[0]
        for term in row[1:]:
            total = round_to(dtype, total + term)
        assert float(found[0, j, 0]) == total


def test_a_float_reduction_starts_at_its_first_element() -> None:
    assert (
        math.copysign(1, evaluate(Op.Reduce(tensor([-0.0], float32), arg=ReduceArg(Op.Add, (0,)))).item())
        == -1
    )
    zeros = tensor([-0.0, -0.0], float32)
    assert math.copysign(1, evaluate(Op.Reduce(zeros, arg=ReduceArg(Op.Add, (0,)))).item()) == -1


def test_max_passes_nan_on_and_orders_zeros() -> None:
    assert math.isnan(
        evaluate(Op.Reduce(tensor([1.0, NAN, 2.0], float32), arg=ReduceArg(Op.Max, (0,)))).item()
    )
    zero = evaluate(Op.Reduce(tensor([-0.0, 0.0, -0.0], float32), arg=ReduceArg(Op.Max, (0,)))).item()
    assert math.copysign(1, zero) == 1


def test_any_and_all_are_reductions_of_bools() -> None:
    x = tensor([[True, False], [True, True]], bool_)
    assert evaluate(Op.Reduce(x, arg=ReduceArg(Op.Max, (1,)))).elements == (True, True)
    assert evaluate(Op.Reduce(x, arg=ReduceArg(Op.Mul, (1,)))).elements == (False, True)


EMPTY = [
    (Op.Add, int8, 0),
    (Op.Add, index, 0),
    (Op.Add, float32, 0.0),
    (Op.Mul, int8, 1),
    (Op.Mul, float16, 1.0),
    (Op.Mul, bool_, True),
    (Op.Max, int8, -128),
    (Op.Max, uint8, 0),
    (Op.Max, bool_, False),
    (Op.Max, float32, -INF),
    (Op.Max, float8_e4m3fn, -448.0),
]


@pytest.mark.parametrize(("op", "dtype", "wanted"), EMPTY)
def test_the_empty_reduce(op: Op, dtype: DType, wanted: Any) -> None:
    empty = Array(dtype, (0, 2), ())
    over_axes = evaluate(Op.Reduce(param(0, dtype, (0, 2)), arg=ReduceArg(op, (0,))), {0: empty})
    assert over_axes == Array(dtype, (1, 2), (wanted, wanted))
    assert all(type(e) is type(wanted) for e in over_axes.elements)
    over_range = evaluate(
        Op.Reduce(param(0, dtype), loop(0, 0), arg=ReduceArg(op)), {0: 1 if dtype.is_int else wanted}
    )
    assert over_range == Array(dtype, (), (wanted,))


def test_the_empty_max_of_index_is_invalid() -> None:
    empty = Op.Reduce(param(0, index, (0,)), arg=ReduceArg(Op.Max, (0,)))
    refused("U-01", lambda: evaluate(empty, {0: Array(index, (0,), ())}))


def test_an_invalid_element_may_not_be_reduced() -> None:
    partly = Op.Index(tensor([5, 6]), tensor([1, 9], index))
    error = refused("U-01", lambda: evaluate(Op.Reduce(partly, arg=ReduceArg(Op.Max, (0,)))))
    assert error.where == "Reduce"
    unused = Op.Where(
        const(True, bool_),
        const(1, int32),
        Op.Index(Op.Reduce(partly, arg=ReduceArg(Op.Add, (0,))), number(0)),
    )
    refused("U-01", lambda: evaluate(unused))


def test_reduce_over_ranges_nests_the_first_outermost() -> None:
    rng = np.random.default_rng(6)
    x = rng.normal(size=(3, 4)).astype(np.float16)
    i, j = loop(3, 0), loop(4, 1)
    element = Op.Index(param(0, float16, (3, 4)), i, j)
    for ranges, order in (((i, j), x.ravel()), ((j, i), x.T.ravel())):
        total = float(order[0])
        for term in order[1:]:
            total = round_to(float16, total + float(term))
        assert evaluate(Op.Reduce(element, *ranges, arg=ReduceArg(Op.Add)), {0: x}).item() == total
    inner = Op.Reduce(element, j, arg=ReduceArg(Op.Max))
    assert value(Op.Reduce(inner, i, arg=ReduceArg(Op.Max)), x) == x.max()


def test_the_bound_of_a_range_may_depend_on_another() -> None:
    i = loop(5, 0)
    j = loop(Op.Add(i, number(1)), 1)
    count = Op.Reduce(Op.Reduce(const(1, int32), j, arg=ReduceArg(Op.Add)), i, arg=ReduceArg(Op.Add))
    assert evaluate(count).item() == 15
    assert evaluate(Op.Reduce(const(1, int32), i, j, arg=ReduceArg(Op.Add))).item() == 15


def test_reduce_over_a_range_of_arrays() -> None:
    i = loop(3, 0)
    x = numbered(3, 2)
    rows = Op.Index(param(0, int32, (3, 2)), i)
    assert np.array_equal(value(Op.Reduce(rows, i, arg=ReduceArg(Op.Add)), x), x.sum(0, dtype=np.int32))


# Calls ------------------------------------------------------------------------------------------------------------


def test_a_function_substitutes_its_arguments() -> None:
    a, b = param(0, int32), param(1, int32)
    called = Op.Function(Op.Tuple(Op.Sub(a, b), Op.Mul(a, b)), const(7, int32), const(2, int32))
    assert [evaluate(Op.GetTuple(called, arg=k)).item() for k in (0, 1)] == [5, 14]
    assert evaluate(Op.GetTuple(Op.Tuple(a, b), arg=1), {0: 1, 1: 9}).item() == 9


def test_a_nested_function_sees_only_its_own_arguments() -> None:
    p = param(0, int32)
    doubled = Op.Function(Op.Tuple(Op.Add(p, p)), Op.Add(p, const(1, int32)))
    outer = Op.Function(Op.Tuple(Op.Mul(Op.GetTuple(doubled, arg=0), p)), const(3, int32))
    assert evaluate(Op.GetTuple(outer, arg=0)).item() == 24
    assert evaluate(Op.GetTuple(doubled, arg=0), {0: 10}).item() == 22


def test_a_function_with_symbolic_sizes_takes_them_from_its_arguments() -> None:
    n = param(1, index)
    body = Op.Reduce(pad(param(0, int32, (n,)), (1,), (Op.Add(n, number(2)),)), arg=ReduceArg(Op.Add, (0,)))
    total = Op.GetTuple(Op.Function(Op.Tuple(body), tensor([4, 5, 6]), number(3)), arg=0)
    assert evaluate(total).elements == (15,)


def test_an_argument_does_not_capture_the_ranges_of_the_body() -> None:
    r = loop(4, 0)
    body = Op.Reduce(Op.Mul(param(0, int32), Op.Cast(r, arg=int32)), r, arg=ReduceArg(Op.Add))
    called = Op.GetTuple(Op.Function(Op.Tuple(body), Op.Cast(r, arg=int32)), arg=0)
    # The argument is the outer r: Σ_r (r · (0 + 1 + 2 + 3)), not Σ r².
    assert evaluate(Op.Reduce(called, r, arg=ReduceArg(Op.Add))).item() == 36


def test_an_invalid_argument_flows_through() -> None:
    outside = Op.Index(tensor([1]), number(4))
    chosen = Op.Tuple(Op.Where(const(False, bool_), param(0, int32), const(8, int32)))
    assert evaluate(Op.GetTuple(Op.Function(chosen, outside), arg=0)).item() == 8


def test_an_unused_argument_is_not_asked_for() -> None:
    called = Op.Function(Op.Tuple(const(3, int32)), param(5, int32))
    assert evaluate(Op.GetTuple(called, arg=0)).item() == 3


def test_a_call_of_a_tuple_is_its_value() -> None:
    p = param(0, int32)
    assert evaluate(Op.GetTuple(Op.Call(Op.Tuple(Op.Neg(p)), const(3, int32)), arg=0)).item() == -3


def test_a_custom_function_is_given_by_the_caller() -> None:
    both = Op.CustomFunction(const(0, int32), tensor([0.0, 0.0], float32), arg="split")
    called = Op.Call(both, const(6, int32))

    def split(x: Array) -> tuple[Array, ...]:
        return x, Array.of([0.5, 1.5], float32)

    assert evaluate(Op.GetTuple(called, arg=0), functions={"split": split}).item() == 6
    assert evaluate(Op.GetTuple(called, arg=1), functions={"split": split}).elements == (0.5, 1.5)
    one = Op.GetTuple(Op.Call(Op.CustomFunction(const(0, int32), arg="same"), const(6, int32)), arg=0)
    assert evaluate(one, functions={"same": lambda x: x}).item() == 6
    refused("uop-customfunction-sem", lambda: evaluate(one))
    wrong: list[Any] = [
        lambda x: Array.of(1, int8),
        lambda x: Array.of([1], int32),
        lambda x: (x, x),
        lambda x: 3,
    ]
    for function in wrong:
        refused(
            "uop-customfunction-sem", lambda function=function: evaluate(one, functions={"same": function})
        )


# Binding ----------------------------------------------------------------------------------------------------------


def test_a_param_is_bound_by_its_slot() -> None:
    x = param(3, int32, (2,))
    assert evaluate(x, {3: [1, 2]}).elements == (1, 2)
    assert evaluate(x, {3: np.array([1, 2], np.int32)}).elements == (1, 2)
    assert evaluate(x, {3: Array.of([1, 2], int32)}).elements == (1, 2)
    assert evaluate(param(0, float32), {0: 0.1}).item() == round_to(float32, 0.1)
    assert evaluate(param(0, float32), {0: 3}).elements == (3.0,)


@pytest.mark.parametrize(
    ("dtype", "shape", "bound", "rule"),
    [
        (int32, (2,), [1, 2, 3], "uop-param-shape"),
        (int32, (2,), 1, "uop-param-shape"),
        (int32, (2,), np.array([1, 2], np.int64), "uop-param-dtype"),
        (int32, (2,), np.array([1j, 2j]), "uop-param-dtype"),
        (int32, (2,), Array.of([1, 2], int8), "uop-param-dtype"),
        (index, (2,), np.array([1.0, 2.0]), "uop-param-dtype"),
        (int8, (), 128, "uop-const-c1"),
        (int8, (), 1.0, "uop-const-c1"),
        (int8, (), True, "uop-const-c1"),
        (bool_, (), 1, "uop-const-c1"),
        (float32, (), True, "uop-const-c1"),
        (float32, (), "1", "uop-const-c1"),
        (int32, (2, 2), [[1, 2], [3]], "uop-stack-c1"),
    ],
)
def test_a_binding_that_does_not_fit_is_refused(
    dtype: DType, shape: tuple[int, ...], bound: Any, rule: str
) -> None:
    refused(rule, lambda: evaluate(param(0, dtype, shape), {0: bound}))


def test_an_unbound_param_is_an_error() -> None:
    error = refused("U-01", lambda: evaluate(Op.Add(param(0, int32), param(1, int32)), {0: 1}))
    assert error.where == "Param 1"
    refused("U-01", lambda: evaluate(param(0, int32, (param(1, index),)), {0: [1]}))


def test_an_array_of_index_is_bound_from_integers() -> None:
    assert evaluate(param(0, index, (2,)), {0: np.array([5, -1])}).elements == (5, -1)
    assert evaluate(param(0, index, (2,)), {0: np.array([2**80, 1], dtype=object)}).elements == (2**80, 1)
    assert evaluate(param(0, index), {0: 2**80}).elements == (2**80,)


def test_the_bounds_of_a_param_hold() -> None:
    bounded = param(0, int32, (2,), bounds=(-1, 5))
    assert evaluate(bounded, {0: [-1, 5]}).elements == (-1, 5)
    for outside in ([-2, 0], [0, 6]):
        refused("uop-param-min-max", lambda outside=outside: evaluate(bounded, {0: outside}))
    zero = param(0, float32, bounds=(0.0, 1.0))
    assert evaluate(zero, {0: 0.0}).item() == 0.0
    for value_ in (-0.0, NAN, 1.5):
        refused("uop-param-min-max", lambda value_=value_: evaluate(zero, {0: value_}))
    size = param(0, index, bounds=(1, 4))
    refused("uop-param-min-max", lambda: evaluate(param(1, int32, (size,)), {0: 5, 1: [0] * 5}))
    called = Op.Function(Op.Tuple(param(0, index, bounds=(1, 4))), param(1, index, bounds=(1, 4)))
    refused("uop-param-min-max", lambda: evaluate(Op.GetTuple(called, arg=0), {1: 9}))


def test_symbolic_sizes_are_checked_once_they_are_known() -> None:
    n, m = param(0, index), param(1, index)
    x = param(2, int32, (n, m))
    flat = reshape(x, (Op.Mul(m, n),))
    assert evaluate(flat, {0: 2, 1: 3, 2: numbered(2, 3)}).shape == (6,)
    for build, rule in (
        (lambda: reshape(x, (6,)), "uop-reshape-c2"),
        (lambda: expand(x, (4, m)), "uop-expand-c3"),
        (lambda: shrink(x, (1, 0), (2, m)), "uop-shrink-c2"),
        (lambda: pad(x, (0, 0), (n, 2)), "uop-pad-c2"),
        (lambda: Op.Add(x, param(3, int32, (n, n))), "uop-add-c1"),
    ):
        node = build()
        with pytest.raises(IllFormed) as broken:
            evaluate(node, {0: 2, 1: 4, 2: np.zeros((2, 4), np.int32), 3: np.zeros((2, 2), np.int32)})
        assert broken.value.rule == rule
    with pytest.raises(IllFormed) as negative:
        evaluate(x, {0: -1, 1: 0, 2: []})
    assert negative.value.rule == "uop-param-c2"


def test_a_law_that_depends_on_a_loop_is_checked_in_it() -> None:
    i = loop(4, 0)
    window = Op.Reduce(shrink(tensor([1, 2, 3, 4, 5]), (i,), (2,)), i, arg=ReduceArg(Op.Add))
    assert evaluate(window).elements == (1 + 2 + 3 + 4, 2 + 3 + 4 + 5)
    too_wide = Op.Reduce(shrink(tensor([1, 2, 3, 4]), (i,), (2,)), i, arg=ReduceArg(Op.Add))
    with pytest.raises(IllFormed) as broken:
        evaluate(too_wide)
    assert broken.value.rule == "uop-shrink-c2"


def test_free_loops_are_given_values() -> None:
    i, g = loop(4, 7), Op.Special(number(3), arg="gidx0")
    where = Op.Add(Op.Mul(i, number(10)), g)
    assert evaluate(where, ranges={7: 3, "gidx0": 2}).item() == 32
    refused("U-01", lambda: evaluate(where, ranges={7: 3}))
    refused("uop-range-min-max", lambda: evaluate(where, ranges={7: 4, "gidx0": 2}))
    refused("uop-range-min-max", lambda: evaluate(where, ranges={7: -1, "gidx0": 2}))


def test_a_deep_program_needs_no_deep_stack() -> None:
    node = param(0, int32)
    for _ in range(3000):
        node = Op.Add(node, const(1, int32))
    assert evaluate(node, {0: 5}).item() == 3005


@pytest.mark.parametrize("node", [Op.Group(), Op.Sink(), Op.Tuple(const(1, int32)), Op.Source(arg="")])
def test_a_void_node_has_no_value(node: UOp) -> None:
    assert node.dtype is void
    refused(f"uop-{node.op.name.lower()}-sem", lambda: evaluate(node))


def test_a_load_to_another_device_is_the_same_value() -> None:
    assert evaluate(Op.Load(tensor([1, 2]), arg=LoadArg(("A", "B")))).elements == (1, 2)


def test_a_gated_load_of_a_value_takes_alt_where_the_gate_is_shut() -> None:
    outside = Op.Index(tensor([5, 6]), tensor([0, 9, 1], index))
    gated = Op.Load(outside, tensor([7, 8, 9]), tensor([True, False, False], bool_))
    assert evaluate(gated).elements == (5, 8, 9)
    refused("U-01", lambda: evaluate(Op.Load(outside, tensor([7, 8, 9]), const(True, bool_))))
    assert evaluate(Op.Load(outside, tensor([7, 8, 9]), const(False, bool_))).elements == (7, 8, 9)


# Arrays -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", all_dtypes)
def test_arrays_go_to_numpy_and_back(dtype: DType) -> None:
    elements = (False, True) if dtype is bool_ else (0.5, -0.0) if dtype.is_float else (1, 100)
    array = Array(dtype, (2, 1), elements)
    there = array.to_numpy()
    assert there.shape == (2, 1)
    assert there.dtype == to_numpy(dtype)
    assert Array.from_numpy(there, dtype) == array


def test_arrays_compare_what_can_be_observed() -> None:
    assert Array.of([NAN], float32) == Array.of([-NAN], float32)
    assert Array.of([0.0], float32) != Array.of([-0.0], float32)
    assert Array.of([1], int32) != Array.of([1], int8)
    assert Array.of([1], int32) != Array.of(1, int32)
    assert Array.of([1], int32) != [1]
    assert Array(int32, (1,), (INVALID,)) == Array(int32, (1,), (INVALID,))
    assert Array(int32, (1,), (INVALID,)) != Array(int32, (1,), (0,))
    assert hash(Array.of([1], int32)) == hash(Array.of([1], int32))
    assert not Array(int32, (1,), (INVALID,)).valid
    refused("U-01", lambda: Array(int32, (1,), (INVALID,)).to_numpy())
    refused("U-01", lambda: Array(int32, (1,), (INVALID,)).item())
    assert repr(INVALID) == "⊥"
    with pytest.raises(ValueError, match="fill"):
        Array(int32, (2,), (1,))


def test_positions_are_in_row_major_order() -> None:
    assert list(positions((2, 3))) == [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2)]
    assert [offset_of(p, (2, 3)) for p in positions((2, 3))] == list(range(6))
    assert list(positions(())) == [()]
    assert list(positions((2, 0))) == []


def test_ml_dtypes_arrays_are_bound() -> None:
    x = np.array([1.5, -2.0], dtype=ml_dtypes.bfloat16)
    assert evaluate(param(0, bfloat16, (2,)), {0: x}).elements == (1.5, -2.0)
    assert value(Op.Neg(param(0, bfloat16, (2,))), x).dtype == ml_dtypes.bfloat16
    assert shape_source((1, 2)).dtype is index
    assert buffer(0, 2, int16).shape == (2,)
    assert evaluate(param(0, uint16, (1,)), {0: np.array([65535], np.uint16)}).elements == (65535,)
    assert evaluate(const(1, int64)).dtype is int64
    assert evaluate(const(1.0, float64)).dtype is float64


def test_a_size_may_be_computed_from_values() -> None:
    size = Op.Index(param(0, index, (2,)), number(1))
    x = param(1, int32, (size,))
    assert evaluate(Op.Add(x, x), {0: [9, 3], 1: [1, 2, 3]}).elements == (2, 4, 6)
    refused("uop-param-shape", lambda: evaluate(x, {0: [9, 3], 1: [1, 2]}))
    with pytest.raises(IllFormed) as negative:
        evaluate(x, {0: [9, -3], 1: []})
    assert negative.value.rule == "uop-param-c2"
    outside = Op.Index(param(0, index, (2,)), number(5))
    refused("U-01", lambda: evaluate(param(1, int32, (outside,)), {0: [9, 3], 1: [1]}))


def test_the_bytes_of_an_invalid_element_are_invalid() -> None:
    halves = Op.Bitcast(Op.Index(tensor([0x00050004, 7]), tensor([0, 9, 0], index)), arg=int16)
    assert evaluate(Op.Index(halves, tensor([0, 1, 4, 5], index))).elements == (4, 5, 4, 5)
    for k in (2, 3):
        refused("U-01", lambda k=k: evaluate(Op.Index(halves, number(k))))


def test_the_ends_of_a_dtype_are_bound() -> None:
    assert evaluate(param(0, int8, (2,)), {0: [-128, 127]}).elements == (-128, 127)
    refused("uop-const-c1", lambda: evaluate(param(0, int8), {0: -129}))
