"""Tensor against numpy: values, shapes, dtypes, and errors that say what is wrong."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import soundline as sl
from soundline.impl.analysis import sums
from soundline.impl.arrays.promotion import promoted
from soundline.impl.executables.building import computed
from soundline.impl.program.compile import compile  # noqa: A004
from soundline.impl.tensors.tensor import Tensor
from soundline.spec.decisions.table import DECISIONS
from soundline.spec.dtypes import (
    bfloat16,
    bool_,
    float8_e4m3fn,
    float8_e5m2,
    float16,
    float32,
    float64,
    from_numpy,
    index,
    int8,
    int16,
    int32,
    int64,
    to_numpy,
    uint8,
    uint64,
)
from soundline.spec.errors import IllFormed, SoundlineError, UsageError
from soundline.spec.uop import Op, const, param

RNG = np.random.default_rng(20)
A = RNG.standard_normal((3, 4)).astype(np.float32)
B = RNG.standard_normal((3, 4)).astype(np.float32)
I32 = RNG.integers(-9, 9, (3, 4), dtype=np.int32)
J = RNG.integers(-9, 9, (3, 4), dtype=np.int32)
NUMPY_DTYPES = [
    "bool",
    *(f"{u}int{n}" for u in ("", "u") for n in (8, 16, 32, 64)),
    "float16",
    "float32",
    "float64",
]


def same(found: Tensor, expected: Any) -> None:
    """Equal values, shape and dtype."""
    all_same({"": (found, expected)})


def all_same(pairs: dict[str, tuple[Tensor, Any]]) -> None:
    """The same for several tensors, which are computed by one program."""
    values = computed([found.uop for found, _ in pairs.values()])
    for (name, (found, expected)), value in zip(pairs.items(), values, strict=True):
        wanted = np.asarray(expected)
        assert value.dtype == wanted.dtype, name
        assert value.shape == wanted.shape == found.shape, name
        np.testing.assert_array_equal(value, wanted, err_msg=name)


# Making -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "dtype", "shape"),
    [
        (1.5, float32, ()),
        (2, int32, ()),
        (1 << 40, int64, ()),
        (True, bool_, ()),
        ([1, 2], int32, (2,)),
        ([1, 1 << 40], int64, (2,)),
        ([[1.0, 2.0]], float32, (1, 2)),
        ([True, False], bool_, (2,)),
        ([], float32, (0,)),
        (np.float64(2), float64, ()),
        (np.ones((2, 0), np.int8), int8, (2, 0)),
        (np.ones(2, ml_dtypes.bfloat16), bfloat16, (2,)),
        ([np.float64(1)], float64, (1,)),
    ],
    ids=repr,
)
def test_dtypes_and_shapes_of_what_is_given(data: Any, dtype: sl.DType, shape: tuple[int, ...]) -> None:
    made = Tensor(data)
    assert (made.dtype, made.shape) == (dtype, shape)
    same(made, np.asarray(data).astype(to_numpy(dtype)))


def test_a_dtype_may_be_asked_for() -> None:
    same(Tensor([1.0, 2.5], dtype=float16), np.array([1, 2.5], np.float16))
    same(Tensor(300, dtype=uint8), np.uint8(44))
    same(Tensor(Tensor([1, 2]), dtype=float64), np.array([1.0, 2.0]))
    same(Tensor([0.1], dtype=float64), np.array([0.1]))
    same(Tensor([3e9, math.nan], dtype=int32), np.array([2**31 - 1, 0], np.int32))
    same(Tensor(math.nan, dtype=int8), np.int8(0))
    same(Tensor((1 << 53) + 1, dtype=float32), np.float32(1 << 53))


def test_arrays_are_copied() -> None:
    data = np.ones(3, np.float32)
    made = Tensor(data)
    data[:] = 5
    same(made, np.ones(3, np.float32))
    value = made.numpy()
    value[:] = 7
    same(made, np.ones(3, np.float32))


def test_foreign_byte_order_and_strides() -> None:
    same(Tensor(np.arange(6, dtype=">i4")[::-2]), np.array([5, 3, 1], np.int32))


@pytest.mark.parametrize(
    "data", ["text", [[1], [2, 3]], {"a": 1}, np.array(["x"]), 1j, None, [None], 1 << 64], ids=repr
)
def test_what_is_no_tensor_is_refused(data: Any) -> None:
    with pytest.raises(UsageError):
        Tensor(data)


@pytest.mark.parametrize("dtype", ["float9", np.complex64, index, 3, object, "index"], ids=repr)
def test_what_is_no_dtype_is_refused(dtype: Any) -> None:
    with pytest.raises(UsageError):
        Tensor([1], dtype=dtype)
    with pytest.raises(UsageError):
        Tensor([1]).cast(dtype)


def test_symbolic_graphs_are_no_tensors() -> None:
    with pytest.raises(UsageError):
        Tensor.of(param(0, float32, (param(1, index),)))
    with pytest.raises(UsageError):
        Tensor.of(Op.Sink())


# Values out -------------------------------------------------------------------------------------------------------


def test_values_come_out_in_every_form() -> None:
    x = Tensor(A) * 2
    same(x, A * 2)
    np.testing.assert_array_equal(np.asarray(x), A * 2)
    assert np.asarray(x, dtype=np.float64).dtype == np.float64
    np.testing.assert_array_equal(np.from_dlpack(x), A * 2)
    same(Tensor(_OnlyDlpack(A)), A)
    assert x.tolist() == (A * 2).tolist()
    assert Tensor([2.5]).item() == 2.5
    assert float(Tensor(2.5)) == 2.5
    assert int(Tensor([[3]])) == 3
    assert bool(Tensor(1) == 1)
    assert len(x) == 3
    assert repr(x.reshape(12)[:2] * 0 + 2) == "Tensor([2., 2.], dtype=float32)"
    assert x.realize() is x
    with pytest.raises(ValueError, match="share"):
        np.asarray(x, dtype=np.float64, copy=False)


class _OnlyDlpack:
    """What speaks DLPack and nothing else."""

    def __init__(self, array: np.ndarray) -> None:
        self._array = array

    def __dlpack__(self, **options: Any) -> Any:
        return self._array.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._array.__dlpack_device__()


def test_only_one_element_is_an_item() -> None:
    with pytest.raises(UsageError):
        Tensor([1, 2]).item()
    with pytest.raises(UsageError):
        bool(Tensor([1, 2]) == 1)
    with pytest.raises(TypeError):
        len(Tensor(1))


def test_a_tensor_can_be_a_key() -> None:
    x = Tensor([1])
    assert {x: 1}[x] == 1


# Arithmetic -------------------------------------------------------------------------------------------------------

FLOAT_OPS: dict[str, Callable[[Any, Any], Any]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
}
INT_OPS: dict[str, Callable[[Any, Any], Any]] = {
    **{k: v for k, v in FLOAT_OPS.items() if k != "/"},
    "//": lambda a, b: a // b,
    "%": lambda a, b: a % b,
    "&": lambda a, b: a & b,
    "|": lambda a, b: a | b,
    "^": lambda a, b: a ^ b,
}


VARIANTS: dict[str, tuple[Any, Any]] = {
    "tensors": (Tensor(A), Tensor(B)),
    "array on the right": (Tensor(A), B[0]),
    "array on the left": (A, Tensor(B[:, :1])),
    "number on the right": (Tensor(A), 2),
    "number on the left": (0.5, Tensor(A)),
}


def plain(x: Any) -> Any:
    """What numpy computes with instead: arrays, and Python numbers in the dtype of the tensors here."""
    return x.numpy() if isinstance(x, Tensor) else x if isinstance(x, np.ndarray) else np.float32(x)


@pytest.mark.parametrize("variant", VARIANTS)
def test_float_operators(variant: str) -> None:
    a, b = VARIANTS[variant]
    all_same({name: (op(a, b), op(plain(a), plain(b))) for name, op in FLOAT_OPS.items()})


def test_integer_operators() -> None:
    j = np.where(J == 0, 3, J)
    pairs: dict[str, tuple[Tensor, Any]] = {}
    for name, op in INT_OPS.items():
        pairs[f"tensors {name}"] = (op(Tensor(I32), Tensor(j)), op(I32, j))
        pairs[f"number {name}"] = (op(Tensor(I32), 5), op(I32, np.int32(5)))
        if name not in "&|^":
            pairs[f"{name} number"] = (op(7, Tensor(j)), op(np.int32(7), j))
    all_same(pairs)


def test_division_by_zero_has_a_value() -> None:
    x = Tensor([7, -7, 0])
    same(x // 0, np.array([0, 0, 0], np.int32))
    same(x % 0, np.array([7, -7, 0], np.int32))


def test_shifts_and_inversion() -> None:
    same(Tensor(I32) << 3, I32 << 3)
    same(Tensor(I32) >> 1, I32 >> 1)
    same(~Tensor(I32), ~I32)
    same(~Tensor(np.array([1, 250], np.uint8)), ~np.array([1, 250], np.uint8))
    same(~Tensor([True, False]), np.array([False, True]))


def test_signs() -> None:
    x = np.array([-0.0, 0.0, -2.0, math.nan, -math.inf], np.float32)
    found = abs(Tensor(x)).numpy()
    np.testing.assert_array_equal(found, np.abs(x))
    assert not np.signbit(found[0])
    assert np.signbit((-Tensor(x)).numpy()).tolist()[:3] == [False, True, False]
    same(abs(Tensor(I32)), np.abs(I32))
    same(abs(Tensor(np.array([3, 200], np.uint8))), np.array([3, 200], np.uint8))


def test_maximum_and_minimum() -> None:
    pairs: dict[str, tuple[Tensor, Any]] = {}
    for dtype in ("float32", "int32", "uint8", "bool"):
        a, b = (I32 % 5 - 2).astype(dtype), (J % 5 - 2).astype(dtype)
        pairs[f"maximum {dtype}"] = Tensor(a).maximum(Tensor(b)), np.maximum(a, b)
        pairs[f"minimum {dtype}"] = Tensor(a).minimum(Tensor(b)), np.minimum(a, b)
    all_same(pairs)


def test_the_zeros_are_ordered_and_nan_wins() -> None:
    a, b = Tensor([0.0, -0.0, math.nan, 1.0]), Tensor([-0.0, 0.0, 1.0, math.nan])
    assert np.signbit(a.maximum(b).numpy()[:2]).tolist() == [False, False]
    assert np.signbit(a.minimum(b).numpy()[:2]).tolist() == [True, True]
    assert np.isnan(a.maximum(b).numpy()[2:]).all()
    assert np.isnan(a.minimum(b).numpy()[2:]).all()


def test_where_broadcasts_and_promotes() -> None:
    same((Tensor(A) > 0).where(Tensor(I32), 0.5), np.where(A > 0, I32, np.float32(0.5).astype(np.float64)))
    same((Tensor(A[0]) > 0).where(1.0, Tensor(A)), np.where(A[0] > 0, np.float32(1), A))
    with pytest.raises(IllFormed):
        Tensor(A).where(1.0, 2.0)


@pytest.mark.parametrize("name", ["exp", "log", "exp2", "log2", "sqrt"])
def test_functions_are_close_to_the_real_ones(name: str) -> None:
    x = np.concatenate([np.linspace(0.01, 80, 301), 2.0 ** np.arange(-120, 80, 7)]).astype(np.float32)
    x = x[x < 88] if name in ("exp", "exp2") else x
    exact = getattr(np, name)(x.astype(np.float64))
    found = getattr(Tensor(x), name)().numpy()
    ulps = np.abs(found.astype(np.float64) - exact) / np.spacing(np.abs(exact).astype(np.float32))
    assert found.dtype == np.float32
    assert ulps.max() < {"exp": 2.0, "log": 2.0, "sqrt": 0.51}.get(name, 1.0)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16, ml_dtypes.bfloat16])
def test_exp_and_log_at_the_ends(dtype: Any) -> None:
    with np.errstate(all="ignore"):
        x = np.array([0.0, -0.0, 1.0, math.inf, -math.inf, math.nan, 1e5, -1e5], np.float64).astype(dtype)
        powers, logarithms = Tensor(x).exp().numpy(), Tensor(x).log().numpy()
        np.testing.assert_array_equal(powers[[0, 1, 3, 4, 5]].astype(float), [1, 1, math.inf, 0, math.nan])
        assert powers.dtype == dtype
        expected = np.log(x.astype(np.float64))
    special = [0, 1, 2, 3, 4, 5]
    np.testing.assert_array_equal(logarithms[special].astype(float), expected[special])


def test_exp_near_its_overflow() -> None:
    x = np.array([88.72, 88.722839, 88.73, -103.2, -103.98], np.float32)
    with np.errstate(over="ignore"):
        exact = np.exp(x.astype(np.float64)).astype(np.float32)
    np.testing.assert_allclose(Tensor(x).exp().numpy(), exact, rtol=3e-7, atol=2e-45)


def test_reciprocal_trunc_relu() -> None:
    same(Tensor(A).reciprocal(), np.float32(1) / A)
    same(Tensor(A * 3).trunc(), np.trunc(A * 3))
    same(Tensor(I32).trunc(), I32)
    same(Tensor(A).relu(), np.maximum(A, 0))


# Dtypes -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("a", NUMPY_DTYPES)
@pytest.mark.parametrize("b", NUMPY_DTYPES)
def test_promotion_is_numpys_on_numpys_dtypes(a: str, b: str) -> None:
    assert promoted(from_numpy(a), from_numpy(b)) is from_numpy(np.promote_types(a, b))


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        (bfloat16, float16, float32),
        (bfloat16, int8, bfloat16),
        (bfloat16, int16, float32),
        (float8_e4m3fn, float8_e5m2, float16),
        (float8_e5m2, bfloat16, bfloat16),
        (float8_e4m3fn, bool_, float8_e4m3fn),
        (float8_e4m3fn, uint64, float64),
    ],
)
def test_promotion_of_the_other_floats(a: sl.DType, b: sl.DType, expected: sl.DType) -> None:
    assert promoted(a, b) is promoted(b, a) is expected


def test_python_numbers_are_weak() -> None:
    assert (Tensor(I32) + 1).dtype is int32
    assert (Tensor(A) + 1).dtype is float32
    assert (Tensor(np.ones(2, np.float16)) * 2.5).dtype is float16
    assert (Tensor(np.ones(2, np.int8)) * 2.5).dtype is float32
    assert (Tensor(I32) * 2.5).dtype is float64
    assert (Tensor([True]) * 3).dtype is int32
    assert (Tensor(np.ones(2, np.int8)) + Tensor(1)).dtype is int32
    with pytest.raises(UsageError):
        Tensor(np.ones(2, np.int8)) + 128


def test_integers_divide_as_floats() -> None:
    same(Tensor(np.array([7, -7], np.int8)) / 2, np.array([3.5, -3.5], np.float32))
    same(Tensor(I32) / 7, I32 / 7)


def test_casts_saturate_and_wrap() -> None:
    same(Tensor([3e9, -3e9, math.nan, 2.9]).cast(int32), np.array([2**31 - 1, -(2**31), 0, 2], np.int32))
    same(Tensor([300, -1]).cast(uint8), np.array([44, 255], np.uint8))
    same(Tensor([0.0, -0.0, math.nan, 0.1]).cast(bool_), np.array([False, False, True, True]))


def test_bools_do_not_add() -> None:
    with pytest.raises(IllFormed) as caught:
        Tensor([True]) + Tensor([True])
    assert caught.value.rule == "uop-add-c3"


# Movement ---------------------------------------------------------------------------------------------------------

X = np.arange(24, dtype=np.int32).reshape(2, 3, 4)

MOVES: dict[str, tuple[Callable[[Tensor], Tensor], np.ndarray]] = {
    "reshape": (lambda t: t.reshape(4, 6), X.reshape(4, 6)),
    "reshape with -1": (lambda t: t.reshape((2, -1)), X.reshape(2, -1)),
    "permute": (lambda t: t.permute(2, 0, 1), X.transpose(2, 0, 1)),
    "permute negative": (lambda t: t.permute((-1, 0, 1)), X.transpose(-1, 0, 1)),
    "transpose": (lambda t: t.transpose(), X.swapaxes(-2, -1)),
    "transpose two": (lambda t: t.transpose(0, 1), X.swapaxes(0, 1)),
    "T": (lambda t: t.T, X.T),
    "expand": (lambda t: t[:, :1].expand(2, 5, 4), np.broadcast_to(X[:, :1], (2, 5, 4))),
    "expand with -1": (lambda t: t[:, :1].expand(7, -1, 5, -1), np.broadcast_to(X[:, :1], (7, 2, 5, 4))),
    "pad": (lambda t: t.pad(((1, 0), (0, 2), (0, 0))), np.pad(X, ((1, 0), (0, 2), (0, 0)))),
    "shrink": (lambda t: t.shrink(((0, 2), (1, 3), (2, 2))), X[0:2, 1:3, 2:2]),
    "flip": (lambda t: t.flip((0, -1)), X[::-1, :, ::-1]),
    "flip all": (lambda t: t.flip(), X[::-1, ::-1, ::-1]),
    "unsqueeze": (lambda t: t.unsqueeze(-1), X[..., None]),
    "squeeze": (lambda t: t[:1].squeeze(0), X[0]),
    "contiguous": (lambda t: t.T.contiguous().T, X),
    "pad one axis": (lambda t: t[0, 0].pad((2, 1)), np.pad(X[0, 0], (2, 1))),
}


def test_movement() -> None:
    all_same({name: (move(Tensor(X)), expected) for name, (move, expected) in MOVES.items()})


INDICES: list[Any] = [
    0,
    -1,
    (1, 2),
    (slice(None), 1),
    (Ellipsis, -1),
    (0, Ellipsis, slice(1, None)),
    (None, 1, slice(None), None),
    slice(None, None, -1),
    (slice(None), slice(None, None, 2), slice(3, None, -2)),
    (slice(None), slice(5, 2), slice(-3, -1)),
    (slice(None), slice(None), slice(None, None, 3)),
    (slice(None), slice(None), slice(-1, -100, -3)),
    (1, 1, 1),
    Ellipsis,
    (),
]


def test_basic_indexing() -> None:
    all_same({repr(which): (Tensor(X)[which], X[which]) for which in INDICES})


@pytest.mark.parametrize("which", [2, (0, 0, 0, 0), (0, 3), [2], True, 1.0, (..., ...), "a"], ids=repr)
def test_other_indices_are_refused(which: Any) -> None:
    with pytest.raises(UsageError):
        Tensor(X)[which]


MISTAKES: dict[str, Callable[[], Any]] = {
    "shapes that do not broadcast": lambda: Tensor(A) + Tensor(B[:, :3]),
    "reshape to another size": lambda: Tensor(A).reshape(5),
    "reshape with two -1": lambda: Tensor(A).reshape(-1, -1),
    "sizes that are no integers": lambda: Tensor(A).reshape(2.0, 6),
    "permute an axis twice": lambda: Tensor(A).permute(0, 0),
    "an axis outside": lambda: Tensor(A).sum(2),
    "an axis twice": lambda: Tensor(A).sum((0, -2)),
    "expand what is not 1": lambda: Tensor(A).expand(6, 4),
    "pad pairs": lambda: Tensor(A).pad((1, 1)),
    "negative pad": lambda: Tensor(A).pad(((-1, 0), (0, 0))),
    "shrink beyond": lambda: Tensor(A).shrink(((0, 4), (0, 1))),
    "squeeze what is not 1": lambda: Tensor(A).squeeze(0),
    "inner sizes": lambda: Tensor(A) @ Tensor(B),
    "matmul of numbers": lambda: Tensor(A) @ 2,
    "index beside int": lambda: Tensor.of(const(1, index)) + 1,
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes_are_typed_errors(name: str) -> None:
    with pytest.raises(SoundlineError):
        MISTAKES[name]()


# Reductions -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("keepdim", [False, True])
def test_integer_reductions_are_numpys(keepdim: bool) -> None:
    flags = X % 5 > 0
    pairs: dict[str, tuple[Tensor, Any]] = {}
    for axis in (None, 0, 1, -1, (0, 2), (), (2, 1)):
        for name in ("sum", "prod", "max", "min"):
            found = getattr(Tensor(X), name)(axis, keepdim)
            pairs[f"{name} {axis}"] = found, getattr(X, name)(axis=axis, keepdims=keepdim)
        for name in ("any", "all"):
            found = getattr(Tensor(flags), name)(axis, keepdim)
            pairs[f"{name} {axis}"] = found, getattr(flags, name)(axis=axis, keepdims=keepdim)
    all_same(pairs)
    for axis in (None, (0, 2)):
        mean = Tensor(X).mean(axis, keepdim).numpy()
        np.testing.assert_allclose(mean, X.mean(axis=axis, keepdims=keepdim), rtol=1e-15)


def test_sums_have_numpys_dtype() -> None:
    pairs: dict[str, tuple[Tensor, Any]] = {}
    for dtype in ("bool", "int8", "uint16", "uint64", "float32", "float64"):
        x = np.ones((2, 3), dtype)
        pairs[f"sum {dtype}"] = Tensor(x).sum(), x.sum()
        pairs[f"prod {dtype}"] = Tensor(x).prod(1), x.prod(1)
    all_same(pairs)


def test_narrow_floats_are_summed_in_float32() -> None:
    x = np.full(4096, 1.0, np.float16)
    same(Tensor(x).sum(), np.float16(4096))
    same(Tensor(x).mean(), np.float16(1))
    y = np.full(300, 1.0, ml_dtypes.bfloat16)
    assert float(Tensor(y).sum().numpy()) == 300.0


@pytest.mark.parametrize("shape", [(5000,), (3, 4097), (2, 3, 500)])
def test_long_sums_are_accurate(shape: tuple[int, ...]) -> None:
    x = RNG.standard_normal(shape).astype(np.float32)
    exact = x.astype(np.float64).sum(-1)
    scale = np.abs(x).astype(np.float64).sum(-1)
    assert (np.abs(Tensor(x).sum(-1).numpy() - exact) / scale).max() < 2e-7
    total = float(Tensor(x).sum().numpy())
    assert abs(total - x.astype(np.float64).sum()) / np.abs(x).sum() < 2e-7


def ascending(columns: np.ndarray) -> np.ndarray:
    """The sums over the last axis, one element after the other."""
    total = columns[..., 0]
    for k in range(1, columns.shape[-1]):
        total = total + columns[..., k]
    return total


def as_decided(row: np.ndarray) -> np.ndarray:
    """The sum of a row in the order that U-10 states."""
    if len(row) <= 256:
        return ascending(row)
    whole = len(row) // 2048 * 2048
    left = row[whole:]
    lanes = [ascending(left[k::32]) for k in range(min(32, len(left)))]
    parts = [ascending(np.array(lanes))] if lanes else []
    if whole:
        blocks = row[:whole].reshape(-1, 64, 32)
        parts.insert(0, as_decided(ascending(ascending(blocks.swapaxes(1, 2)))))
    return ascending(np.array(parts))


@pytest.mark.parametrize("length", [256, 257, 300, 2047, 2048, 2049, 2080, 4096, 4500, 257 * 2048 + 7])
def test_long_sums_have_the_order_that_is_decided(length: int) -> None:
    x = np.random.default_rng(length).standard_normal(length).astype(np.float32)
    found = Tensor(x).sum().numpy()
    assert found.tobytes() == as_decided(x).tobytes()
    assert (found.tobytes() == ascending(x).tobytes()) is (length <= 256), "another order gives other bits"
    assert str(sums.SHORT) in DECISIONS["U-10"].law
    assert f"blocks of {sums.LANES * sums.DEPTH}" in DECISIONS["U-10"].law


def test_the_elements_of_several_axes_are_in_row_major_order() -> None:
    x = RNG.standard_normal((5, 3, 400)).astype(np.float32)
    whole = Tensor(x).sum().numpy()
    assert whole.tobytes() == as_decided(x.reshape(-1)).tobytes()
    assert whole.tobytes() != as_decided(x.transpose(1, 0, 2).reshape(-1)).tobytes()
    pairs = np.array([as_decided(x[:, k].reshape(-1)) for k in range(3)])
    assert Tensor(x).sum((0, 2)).numpy().tobytes() == pairs.tobytes()
    leading = Tensor(x.T).sum(0).numpy()  # which ascends: the last axis stays
    assert leading.tobytes() == ascending(x.T.swapaxes(0, 2)).swapaxes(0, 1).tobytes()


def test_sums_over_separated_axes_and_leading_axes() -> None:
    x = RNG.integers(-8, 8, (7, 5, 60)).astype(np.float32)
    same(Tensor(x).sum((0, 2)), x.sum((0, 2)))
    same(Tensor(x).sum((0, 1)), x.sum((0, 1)))
    same(Tensor(x).sum((0, 2), keepdim=True), x.sum((0, 2), keepdims=True))


def test_reductions_start_at_their_first_element() -> None:
    zeros = np.array([[-0.0, -0.0], [-0.0, 0.0]], np.float32)
    assert np.signbit(Tensor(zeros).sum(1).numpy()).tolist() == [True, False]
    long = np.full(700, -0.0, np.float32)
    assert np.signbit(Tensor(long).sum().numpy())
    assert np.signbit(Tensor(long.reshape(7, 100)).sum(0).numpy()).all()
    assert np.signbit(Tensor(long).max().numpy())


def test_float_extremes() -> None:
    x = np.array([[1.0, math.nan, 2.0], [-0.0, 0.0, -0.0]], np.float32)
    greatest, least = Tensor(x).max(1).numpy(), Tensor(x).min(1).numpy()
    assert np.isnan(greatest[0])
    assert np.isnan(least[0])
    assert (np.signbit(greatest[1]), np.signbit(least[1])) == (False, True)


# Compositions -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ((3, 4), (4, 5)),
        ((4,), (4, 5)),
        ((3, 4), (4,)),
        ((4,), (4,)),
        ((2, 3, 4), (4, 5)),
        ((2, 3, 4), (2, 4, 5)),
        ((6, 1, 3, 4), (2, 4, 5)),
        ((3, 0), (0, 5)),
        ((0, 4), (4, 5)),
        ((17, 9), (9, 33)),
    ],
)
def test_matrix_products(a: tuple[int, ...], b: tuple[int, ...]) -> None:
    x, y = (RNG.integers(-5, 5, s).astype(np.float32) for s in (a, b))
    whole = (x @ y).astype(np.int64)
    all_same(
        {
            "floats": (Tensor(x) @ Tensor(y), x @ y),
            "array": (x @ Tensor(y), x @ y),
            "integers": (Tensor(x.astype(np.int64)).matmul(y.astype(np.int64)), whole),
        }
    )


def test_a_transposed_factor_is_stored_once() -> None:
    x, y = RNG.integers(-5, 5, (6, 7)).astype(np.float32), RNG.integers(-5, 5, (20, 7)).astype(np.float32)
    same(Tensor(x) @ Tensor(y).T, x @ y.T)
    same(Tensor(x).T @ Tensor(x), x.T @ x)
    assert len(compile(lambda a, b: a @ b.T, x, y).kernels) == 2
    assert len(compile(lambda a, b: a.T @ b, x, x).kernels) == 1


def test_products_of_bools_and_narrow_floats() -> None:
    x = RNG.integers(0, 2, (3, 4)).astype(bool)
    same(Tensor(x) @ Tensor(x.T), x @ x.T)
    y = np.full((2, 3000), 1.0, np.float16)
    same(Tensor(y) @ Tensor(y.T), np.full((2, 2), 3000, np.float16))


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_softmax(axis: int) -> None:
    x = (A * 30).astype(np.float32)
    power = np.exp(x.astype(np.float64) - x.max(axis, keepdims=True))
    expected = power / power.sum(axis, keepdims=True)
    np.testing.assert_allclose(Tensor(x).softmax(axis).numpy(), expected, rtol=2e-6, atol=1e-30)
    np.testing.assert_allclose(Tensor(x).log_softmax(axis).numpy(), np.log(expected), rtol=2e-6, atol=1e-5)


# Programs ---------------------------------------------------------------------------------------------------------


def test_compiled_functions_take_and_give_several_values() -> None:
    program = compile(lambda a, b: (a + b, [a * b][0]), A, Tensor(B))
    total, product = program(A, B)
    np.testing.assert_array_equal(total, A + B)
    np.testing.assert_array_equal(product, A * B)
    assert [str(s) for s in program.inputs] == ["float32[3, 4]", "float32[3, 4]"]
    assert "2 kernels" in program.explain() or "1 kernels" in program.explain()


def test_tensors_from_outside_are_built_in() -> None:
    weight = Tensor(B)
    program = compile(lambda a: a * weight + 1, A)
    np.testing.assert_array_equal(program(A), A * B + 1)


def test_numbers_and_lists_are_taken_as_tensors_are() -> None:
    program = compile(lambda a, b: a * b, [1.0, 2.0], 3)
    assert [str(s) for s in program.inputs] == ["float32[2]", "int32[]"]
    assert program([4.0, 5.0], 2).tolist() == [8.0, 10.0]
    assert repr(program) == "Program(<lambda>: (float32[2], int32[]) -> (float64[2]) on CPU)"


def test_a_list_of_one_stays_a_tuple_of_one() -> None:
    program = compile(lambda a: [a + 1], A)
    assert isinstance(program(A), tuple)


@pytest.mark.parametrize(
    "arguments",
    [(), (A, A), (A.astype(np.float64),), (A[:2],), (I32,), ("x",), (I32.tolist(),)],
    ids=["none", "two", "dtype", "shape", "int", "text", "list of ints"],
)
def test_wrong_arguments_are_usage_errors(arguments: tuple[Any, ...]) -> None:
    program = compile(lambda a: a + 1, A)
    with pytest.raises(UsageError):
        program(*arguments)


@pytest.mark.parametrize(
    ("fn", "options"),
    [
        (lambda a: 3, {}),
        (lambda a: (), {}),
        (lambda a: None, {}),
        (lambda a: (a, 1), {}),
        (lambda a: a, {"device": "CUDA"}),
        (lambda a: a, {"profile": "sloppy"}),
    ],
    ids=["number", "nothing", "none", "mixed", "device", "profile"],
)
def test_what_cannot_be_compiled_is_a_usage_error(fn: Any, options: dict[str, str]) -> None:
    with pytest.raises(UsageError):
        compile(fn, A, **options)


def test_a_tensor_of_another_trace_is_refused() -> None:
    leaked: list[Tensor] = []
    compile(lambda a: leaked.append(a) or a, A)
    with pytest.raises(UsageError):
        compile(lambda b: b + leaked[0], A)
    with pytest.raises(UsageError):
        leaked[0].numpy()


def test_scalars_and_empty_arrays_go_in_and_out() -> None:
    program = compile(lambda a, b: (a + 1, b * 2), np.float32(3), np.ones((0, 2), np.int8))
    one, none = program(np.float32(4), np.ones((0, 2), np.int8))
    assert (one.shape, float(one)) == ((), 5.0)
    assert (none.shape, none.dtype) == ((0, 2), np.int8)


def test_the_fast_profile_stays_within_its_bound() -> None:
    x = RNG.standard_normal(900).astype(np.float32)
    rows = np.lib.stride_tricks.sliding_window_view(x, 200)[::70].copy()
    exact, scale = rows.astype(np.float64).sum(1), np.abs(rows).astype(np.float64).sum(1)
    ascending = compile(lambda a: a.sum(1), rows)
    licensed = compile(lambda a: a.sum(1), rows, profile="fast")
    assert licensed.source != ascending.source
    for program in (ascending, licensed):
        assert (np.abs(program(rows) - exact) / scale).max() < 200 * 2.0**-24


def test_a_certificate_says_what_was_applied_discharged_and_granted() -> None:
    exact = compile(lambda a: (a * 1).pad(((1, 0), (0, 0))), A).certificate
    assert (exact.profile, exact.licences) == ("exact", ())
    assert {o.how for o in exact.obligations} == {"proved", "guarded"}
    assert any("mul" in r.id for r in exact.rules)
    assert "obligations" in str(exact)
    fast = compile(lambda a: a.sum(), A, profile="fast").certificate
    assert "reassociate" in fast.licences
