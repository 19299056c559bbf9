"""Elementwise functions, reductions and products of Tensor: numpy's results, and the law's bit for bit."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest

import soundline as sl
from soundline.impl.arrays.promotion import promoted
from soundline.impl.tensors.tensor import Tensor
from soundline.spec.dtypes import (
    DType,
    bfloat16,
    bool_,
    float8_e4m3fn,
    float8_e5m2,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    lossless,
    to_numpy,
    uint8,
    uint16,
    uint32,
    uint64,
)

from .tensor_cases import all_same, refused

RNG = np.random.default_rng(6)
A = RNG.standard_normal((3, 4)).astype(np.float32)
B = RNG.standard_normal((3, 4)).astype(np.float32)
I32 = RNG.integers(-9, 9, (3, 4), dtype=np.int32)
ENDS = np.array([-np.inf, -2.5, -1.5, -0.5, -0.0, 0.0, 0.5, 1.5, 2.5, np.inf, np.nan], np.float32)

DTYPES = (
    *(bool_, int8, int16, int32, int64, uint8, uint16, uint32, uint64),
    *(float8_e4m3fn, float8_e5m2, float16, bfloat16, float32, float64),
)
ARRAY_API: dict[str, str] = {
    "int8": "int8 int16 int32 int64 | int16 int32 int64 -",
    "int16": "int16 int16 int32 int64 | int16 int32 int64 -",
    "int32": "int32 int32 int32 int64 | int32 int32 int64 -",
    "int64": "int64 int64 int64 int64 | int64 int64 int64 -",
    "uint8": "int16 int16 int32 int64 | uint8 uint16 uint32 uint64",
    "uint16": "int32 int32 int32 int64 | uint16 uint16 uint32 uint64",
    "uint32": "int64 int64 int64 int64 | uint32 uint32 uint32 uint64",
    "uint64": "- - - - | uint64 uint64 uint64 uint64",
}
"""The table of the array API: a row for each dtype, columns int8 … int64, uint8 … uint64."""


@pytest.mark.parametrize("a", ARRAY_API)
def test_integers_promote_as_in_the_array_api(a: str) -> None:
    row = ARRAY_API[a].replace("| ", "").split()
    for b, wanted in zip(ARRAY_API, row, strict=True):
        if wanted != "-":
            assert promoted(getattr(sl, a), getattr(sl, b)) is getattr(sl, wanted)


@pytest.mark.parametrize(("a", "b"), list(itertools.combinations_with_replacement(DTYPES, 2)), ids=str)
def test_every_pair_meets_in_the_least_dtype_that_holds_both(a: DType, b: DType) -> None:
    found = promoted(a, b)
    assert found is promoted(b, a)
    holding = [d for d in DTYPES if lossless(a, d) and lossless(b, d)]
    if holding:
        assert lossless(a, found)
        assert lossless(b, found)
        assert found.bits == min(d.bits for d in holding)
    else:
        assert found is float64
    x, y = Tensor([0, 1], a), Tensor([1, 1], b)
    assert (x * y).dtype is (x.maximum(y)).dtype is Tensor([True]).where(x, y).dtype is found
    assert Tensor.cat(x, y).dtype is Tensor.stack(x, y).dtype is found
    assert (x < y).dtype is bool_


def test_exact_functions() -> None:
    t, n = Tensor(ENDS), Tensor(I32)
    with np.errstate(all="ignore"):
        all_same(
            {
                "floor": (t.floor(), np.floor(ENDS)),
                "ceil": (t.ceil(), np.ceil(ENDS)),
                "round": (t.round(), np.round(ENDS)),
                "sign": (t.sign(), np.where(ENDS == 0, ENDS, np.sign(ENDS))),
                "isnan": (t.isnan(), np.isnan(ENDS)),
                "isinf": (t.isinf(), np.isinf(ENDS)),
                "isfinite": (t.isfinite(), np.isfinite(ENDS)),
                "isnan of integers": (n.isnan(), np.zeros(I32.shape, bool)),
                "isfinite of integers": (n.isfinite(), np.ones(I32.shape, bool)),
                "isfinite without infinities": (
                    Tensor([448.0, math.nan], float8_e4m3fn).isfinite(),
                    np.array([True, False]),
                ),
                "clip": (t.clip(-1, 1.5), np.clip(ENDS, np.float32(-1), np.float32(1.5))),
                "clip below": (n.clip(least=Tensor(I32[0])), np.maximum(I32, I32[0])),
                "clamp": (n.clamp(max=2), np.minimum(I32, np.int32(2))),
                "square": (Tensor(A).square(), A * A),
                "pow 3": (n**3, I32**3),
                "pow of integers": (n.pow(5), I32**5),
                "pow 0": (n**0, I32**0),
                "rsqrt": (Tensor(abs(A)).rsqrt(), np.float32(1) / np.sqrt(abs(A))),
                "lerp": (Tensor(A).lerp(B, 0.25), A + (B - A) * np.float32(0.25)),
                "leaky": (t.leaky_relu(0.5), np.where(ENDS < 0, ENDS * np.float32(0.5), ENDS)),
                "fmod": (n.fmod(4), np.fmod(I32, np.int32(4))),
                "not": (n.logical_not(), np.logical_not(I32)),
                "and": (n.logical_and(A > 0), np.logical_and(I32, A > 0)),
                "or": (Tensor(A).logical_or([1, 0, 0, 1]), np.logical_or(A, [1, 0, 0, 1])),
                "xor": (n.logical_xor(1), np.logical_xor(I32, 1)),
                "isclose": (t.isclose(ENDS + np.float32(1e-9)), np.isclose(ENDS, ENDS + np.float32(1e-9))),
                "isclose of NaN": (t.isclose(ENDS, equal_nan=True), np.ones(ENDS.shape, bool)),
                "eq": (n.eq(I32.T[:1].T), I32 == I32.T[:1].T),
                "ne": (n.ne(3), I32 != 3),
                "reflected": (5 & n, 5 & I32),
                "reflected or": (5 | n, 5 | I32),
                "reflected xor": (5 ^ n, 5 ^ I32),
                "reflected shift": (1 << abs(n), np.int32(1) << abs(I32)),
                "reflected shift down": (99 >> abs(n), np.int32(99) >> abs(I32)),
                "abs": (n.abs(), abs(I32)),
            }
        )


REAL: dict[str, tuple[Callable[[Any], Any], float, float, float]] = {
    "exp": (mpmath.exp, -20, 20, 2),
    "log": (mpmath.log, 0.01, 50, 2),
    "log10": (mpmath.log10, 0.01, 50, 3),
    "log1p": (mpmath.log1p, -0.9, 9, 4),
    "expm1": (mpmath.expm1, -3, 9, 4),
    "sinh": (mpmath.sinh, -9, 9, 4),
    "cosh": (mpmath.cosh, -9, 9, 4),
    "tanh": (mpmath.tanh, -9, 9, 6),
    "asinh": (mpmath.asinh, -9, 9, 6),
    "acosh": (mpmath.acosh, 1, 9, 6),
    "atanh": (mpmath.atanh, -0.9, 0.9, 6),
    "asin": (mpmath.asin, -1, 1, 8),
    "atan": (mpmath.atan, -9, 9, 6),
    "sin": (mpmath.sin, -3, 3, 2),
    "erf": (mpmath.erf, -3, 3, 12),
    "sigmoid": (lambda x: 1 / (1 + mpmath.exp(-x)), -9, 9, 8),
    "softplus": (lambda x: mpmath.log1p(mpmath.exp(x)), -9, 9, 8),
    "silu": (lambda x: x / (1 + mpmath.exp(-x)), -9, 9, 9),
    "elu": (lambda x: x if x > 0 else mpmath.expm1(x), -9, 9, 4),
}
"""The real function, between which ends, and how many ulps ours may differ."""


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_functions_are_near_the_real_ones(dtype: type) -> None:
    pairs: dict[float, dict[str, tuple[Tensor, Any]]] = {}
    for name, (real, low, high, ulps) in REAL.items():
        x = RNG.uniform(low, high, 9).astype(dtype)
        with mpmath.workdps(30):
            exact = np.array([float(real(mpmath.mpf(float(v)))) for v in x])
        pairs.setdefault(ulps, {})[name] = getattr(Tensor(x), name)(), exact
    for ulps, some in pairs.items():
        all_same(some, ulps)


def test_functions_with_a_small_absolute_error() -> None:
    x = np.concatenate([RNG.uniform(-4, 4, 20), [0.0]])
    phi = np.array([0.5 * (1 + math.erf(v / math.sqrt(2))) for v in x])
    inner = math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)
    wanted = {
        "cos": np.cos(x),
        "tan": np.tan(x),
        "acos": np.arccos(x / 4),
        "gelu": x * phi,
        "gelu by tanh": x / 2 * (1 + np.tanh(inner)),
        "pow": 2.0**x,
    }
    t = Tensor(x)
    found = {
        "cos": t.cos(),
        "tan": t.tan(),
        "acos": (t / 4).acos(),
        "gelu": t.gelu(),
        "gelu by tanh": t.gelu("tanh"),
        "pow": 2.0**t,
    }
    for name, value in found.items():
        assert (abs(value.numpy() - wanted[name]) <= 1e-14 * np.maximum(1, wanted[name] ** 2)).all(), name


@pytest.mark.parametrize(
    "name", ["exp", "sin", "cos", "tanh", "sigmoid", "erf", "log1p", "gelu", "silu", "sqrt"]
)
def test_integers_are_taken_as_floats(name: str) -> None:
    assert getattr(Tensor([1, 2]), name)().dtype is float64
    assert getattr(Tensor([1, 2], int8), name)().dtype is float32
    assert getattr(Tensor([1.0], bfloat16), name)().dtype is bfloat16


# Reductions -------------------------------------------------------------------------------------------------------


def test_reductions() -> None:
    x = np.array([[2.0, -1.0, 2.0], [np.nan, 5.0, -np.inf], [-0.0, 0.0, -3.0]], np.float32)
    t, n = Tensor(x), Tensor(I32)
    all_same(
        {
            "argmax": (t.argmax(1), x.argmax(1)),
            "argmin": (t.argmin(1), np.array([1, 0, 2])),
            "argmax flat": (n.argmax(), I32.argmax()),
            "argmin flat": (n.argmin(keepdim=True), I32.argmin(keepdims=True)),
            "argmax keeps": (n.argmax(0, keepdim=True), I32.argmax(0, keepdims=True)),
            "argmin of unsigned": (Tensor([3, 1, 1], uint8).argmin(), np.array(1)),
            "argmax of bools": (Tensor([False, True, True]).argmax(), np.array(1)),
            "count": (n.count_nonzero(1), np.count_nonzero(I32, axis=1)),
            "cumsum": (n.cumsum(1), I32.cumsum(1, dtype=np.int64)),
            "cumsum of columns": (n.cumsum(0), I32.cumsum(0, dtype=np.int64)),
            "cumsum of floats": (Tensor(A).cumsum(1), A.cumsum(1)),
            "cumsum of a zero": (Tensor([-0.0, 1.0]).cumsum(0), np.array([-0.0, 1], np.float32)),
            "cumsum of bools": (Tensor([True, True]).cumsum(0), np.array([1, 2])),
            "cumsum of nothing": (Tensor.zeros(0, 2).cumsum(0), np.zeros((0, 2), np.float32)),
            "cumprod": (n.cumprod(1), I32.cumprod(1, dtype=np.int64)),
            "cumprod of floats": (Tensor(A).cumprod(0), A.cumprod(0)),
            "cummax": (Tensor(A).cummax(1), np.maximum.accumulate(A, 1)),
            "cummax of integers": (n.cummax(0), np.maximum.accumulate(I32, 0)),
            "cummax of bools": (Tensor([False, True, False]).cummax(0), np.array([False, True, True])),
        }
    )


@pytest.mark.parametrize("axis", [None, 0, 1, (0, 2)])
def test_variances_and_norms(axis: Any) -> None:
    x = RNG.standard_normal((3, 4, 5))
    t = Tensor(x)
    greatest = x.max(axis, keepdims=True)
    pairs = {
        "var": (t.var(axis), x.var(axis)),
        "var of a sample": (t.var(axis, correction=1), x.var(axis, ddof=1)),
        "std": (t.std(axis, keepdim=True), x.std(axis, keepdims=True)),
        "norm": (t.norm(axis), np.sqrt((x * x).sum(axis))),
        "mean": (t.mean(axis), x.mean(axis)),
    }
    all_same(pairs, ulps=8)
    wanted = np.log(np.exp(x - greatest).sum(axis, keepdims=True)) + greatest
    np.testing.assert_allclose(t.logsumexp(axis, keepdim=True).numpy(), wanted, rtol=1e-14)


def test_reductions_at_the_ends() -> None:
    assert math.isnan(Tensor.zeros(0).mean().item())
    assert Tensor([1.0]).var(correction=1).isnan().item()
    assert Tensor([-math.inf, -math.inf]).logsumexp().item() == -math.inf
    assert Tensor([math.inf, 0.0]).logsumexp().item() == math.inf
    assert Tensor([1e30, 1e30]).logsumexp().item() == pytest.approx(1e30)
    assert Tensor(np.full(4096, 1, np.float16)).norm().item() == 64.0


# Products ---------------------------------------------------------------------------------------------------------

EINSUMS: dict[str, tuple[tuple[int, ...], ...]] = {
    "ij,jk->ik": ((2, 3), (3, 4)),
    "ij,jk": ((2, 3), (3, 4)),
    "bij,bjk->bik": ((2, 3, 4), (2, 4, 2)),
    "ii->i": ((3, 3),),
    "ii": ((3, 3),),
    "iji->j": ((2, 3, 2),),
    "ij->ji": ((2, 3),),
    "ij->": ((2, 3),),
    "i,j->ij": ((2,), (3,)),
    "i,i": ((4,), (4,)),
    "...ij,...jk->...ik": ((5, 2, 3), (3, 2)),
    "...i->...": ((2, 3, 4),),
    "ba": ((2, 3),),
    "i,ij,j->": ((2,), (2, 3), (3,)),
    "bhqd,bhkd->bhqk": ((1, 2, 3, 2), (1, 2, 2, 2)),
    " i j , j -> i ": ((2, 3), (3,)),
}


def test_einsum() -> None:
    pairs: dict[str, tuple[Tensor, Any]] = {}
    for formula, shapes in EINSUMS.items():
        arrays = [RNG.integers(-5, 5, s) for s in shapes]
        pairs[formula] = Tensor.einsum(formula, *arrays), np.einsum(formula, *arrays)
    all_same(pairs)
    a, b = A.astype(np.float16), B.astype(np.float16)
    wide = (a.astype(np.float32)[:, None] * b.astype(np.float32)).cumsum(-1)[..., -1]
    all_same({"narrow": (Tensor.einsum("ik,jk->ij", a, b), wide.astype(np.float16))})


def test_products() -> None:
    x, w, b = I32, RNG.integers(-9, 9, (5, 4), dtype=np.int32), np.arange(5, dtype=np.int32)
    all_same(
        {
            "linear": (Tensor(x).linear(w, b), x @ w.T + b),
            "linear without bias": (Tensor(x).linear(w), x @ w.T),
            "outer": (Tensor(x[0]).outer(b), np.outer(x[0], b)),
            "dot": (Tensor(x).dot(x[0]), x @ x[0]),
        }
    )


MISTAKES: dict[str, tuple[str, Callable[[], Any]]] = {
    "pow": ("pow", lambda: Tensor([1, 2]) ** -1),
    "pow of bools": ("pow", lambda: Tensor([True]) ** Tensor([True])),
    "gelu": ("gelu", lambda: Tensor([1.0]).gelu("fast")),
    "clip": ("clip", lambda: Tensor([1.0]).clip()),
    "not of floats": ("~", lambda: ~Tensor([1.0])),
    "argmax of nothing": ("argmax", lambda: Tensor.zeros(2, 0).argmax(1)),
    "argmin of nothing": ("argmin", lambda: Tensor.zeros(0).argmin()),
    "matmul": ("@", lambda: Tensor(A) @ 2),
    "outer": ("outer", lambda: Tensor(A).outer(A)),
    "linear": ("linear", lambda: Tensor(A).linear(B.T)),
    "einsum of too few": ("einsum", lambda: Tensor.einsum("ij,jk", A)),
    "einsum of axes": ("einsum", lambda: Tensor.einsum("ijk->", A)),
    "einsum of an unknown letter": ("einsum", lambda: Tensor.einsum("ij->k", A)),
    "einsum of a digit": ("einsum", lambda: Tensor.einsum("i1->i", A)),
    "einsum of another diagonal": ("einsum", lambda: Tensor.einsum("ii", A)),
    "einsum of a letter twice": ("einsum", lambda: Tensor.einsum("ij->ii", A)),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes_are_named(name: str) -> None:
    refused(*MISTAKES[name])


# Random numbers ---------------------------------------------------------------------------------------------------


def test_random_numbers_are_the_laws() -> None:
    bits = Tensor.random_keys(7, 5).numpy()
    all_same(
        {
            "keys": (Tensor.random_keys(7, 5), bits),
            "rand": (Tensor.rand(5, key=7), ((bits >> np.uint64(40)) * 2.0**-24).astype(np.float32)),
            "rand in rows": (Tensor.rand(1, 5, key=7)[0], Tensor.rand(5, key=7).numpy()),
            "rand of 64 bits": (Tensor.rand(5, dtype=float64, key=7), (bits >> np.uint64(11)) * 2.0**-53),
            "randint": (Tensor.randint(-3, 7, 5, key=7), (bits % 10).astype(np.int32) - 3),
            "uniform": (
                Tensor.uniform(5, low=-1, high=3, key=7),
                ((bits >> np.uint64(40)) * 2.0**-24).astype(np.float32) * np.float32(4) + np.float32(-1),
            ),
            "a key that is a tensor": (Tensor.rand(2, key=Tensor(7, uint64)), Tensor.rand(2, key=7).numpy()),
        }
    )
    assert Tensor.random_keys(0, 1).item() == 0x99BA4EFE6B200159, "the known answer of Random123"


def test_random_numbers_are_spread_as_they_should_be() -> None:
    u, z = Tensor.rand(20_000, key=1).numpy(), Tensor.randn(20_000, key=2).numpy()
    assert 0 <= u.min() < 1e-3
    assert 1 - 1e-3 < u.max() < 1
    assert abs(u.mean() - 0.5) < 0.01
    assert abs(z.mean()) < 0.03
    assert abs(z.std() - 1) < 0.02
    assert abs((z**4).mean() - 3) < 0.25
    dice = np.bincount(Tensor.randint(0, 6, 6000, key=3).numpy())
    assert ((dice > 850) & (dice < 1150)).all()
    assert sorted(Tensor.randperm(50, key=4).tolist()) == list(range(50))
    assert abs(Tensor.bernoulli(0.3, 20_000, key=5).cast(int64).sum().item() / 20_000 - 0.3) < 0.02
    assert abs(Tensor.normal(2000, mean=5.0, std=0.5, key=6).mean().item() - 5) < 0.05
    kept = Tensor.ones(2000).dropout(0.25, key=7).numpy()
    assert set(kept.tolist()) == {0.0, float(np.float32(1 / 0.75))}
    assert abs(kept.mean() - 1) < 0.05


def test_the_sequence_of_keys_starts_again() -> None:
    sl.manual_seed(3)
    first = [Tensor.rand(4).tolist(), Tensor.rand(4).tolist()]
    sl.manual_seed(3)
    assert [Tensor.rand(4).tolist(), Tensor.rand(4).tolist()] == first
    assert first[0] != first[1]
    sl.manual_seed(4)
    assert Tensor.rand(4).tolist() != first[0]
    sl.manual_seed(0)


RANDOM_MISTAKES: dict[str, tuple[str, Callable[[], Any]]] = {
    "rand": ("rand", lambda: Tensor.rand(2, dtype=int32)),
    "randn": ("randn", lambda: Tensor.randn(2, dtype=int32)),
    "randint": ("randint", lambda: Tensor.randint(3, 3, 2)),
    "randint of bytes": ("randint", lambda: Tensor.randint(0, 257, 2, dtype=uint8)),
    "key": ("rand", lambda: Tensor.rand(2, key=-1)),
    "key of another dtype": ("rand", lambda: Tensor.rand(2, key=Tensor(1))),
    "seed": ("manual_seed", lambda: sl.manual_seed(2**64)),
    "bernoulli": ("bernoulli", lambda: Tensor.bernoulli(1.5, 2)),
    "dropout": ("dropout", lambda: Tensor.ones(2).dropout(1.0)),
    "size": ("rand", lambda: Tensor.rand(-1)),
}


@pytest.mark.parametrize("name", RANDOM_MISTAKES)
def test_random_mistakes_are_named(name: str) -> None:
    refused(*RANDOM_MISTAKES[name])


def test_dtypes_of_numpy_are_ours() -> None:
    assert all(Tensor(np.zeros(1, to_numpy(d))).dtype is d for d in DTYPES)
