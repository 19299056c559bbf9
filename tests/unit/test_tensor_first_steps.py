"""What users of numpy and torch type first: iteration, printing, dtypes, numpy integers, names, operators, parts."""

from __future__ import annotations

import copy
import importlib
import math
import pickle
import re
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import soundline as sl
from soundline.impl.tensors import arguments
from soundline.impl.tensors.core import showing
from soundline.impl.tensors.tensor import Tensor

from .tensor_cases import all_same, law

compiling = importlib.import_module("soundline.impl.executables.building")
X = np.arange(6.0, dtype=np.float32).reshape(2, 3)


# Iteration --------------------------------------------------------------------------------------------------------


def test_a_tensor_is_gone_along_as_an_array_is() -> None:
    x = Tensor(X)
    a, b = x
    assert [r.tolist() for r in x] == X.tolist() == [a.tolist(), b.tolist()]
    assert [float(v) for v in b] == [3.0, 4.0, 5.0]
    assert [v.shape for v in a] == [()] * 3
    assert list(Tensor.zeros(0, 4)) == []
    assert [r.tolist() for r in reversed(x)] == X[::-1].tolist()
    assert 4 in x
    assert 9.5 not in x
    with pytest.raises(ValueError, match="unpack"):
        a, b, _c = x


def test_a_lazy_tensor_is_computed_once_for_all_its_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []
    stored = compiling.stored
    monkeypatch.setattr(compiling, "stored", lambda graphs: calls.append(1) or stored(graphs))
    rows = list(Tensor(X) * 2 + 1)
    assert not calls, "to unpack is to compute nothing"
    assert [r.tolist() for r in rows] == (X * 2 + 1).tolist()
    assert len(calls) == 1
    tracked = Tensor(X, requires_grad=True) * 2
    assert [r.tolist() for r in tracked] == (X * 2).tolist()
    assert len(calls) == 2


def test_parts_are_read_where_they_lie_and_as_the_law_has_them(monkeypatch: pytest.MonkeyPatch) -> None:
    x = Tensor(np.arange(24, dtype=np.int32).reshape(2, 3, 4))
    parts = {
        "row": x[1],
        "element": x[1, 2, 3],
        "slice": x[:, 1:3, 2:],
        "backwards": x[::-1, :, ::-1],
        "permuted": x.permute(2, 0, 1)[1:, 1],
        "repeated": x[:, :1].expand(2, 5, 4).flip(1),
        "flat": x.reshape(4, 6)[1:3].reshape(12)[5:],
        "none": x[:, 3:],
        "detached": x.detach()[0].T,
    }
    all_same({name: (part, law(part.uop).to_numpy()) for name, part in parts.items()})
    with monkeypatch.context() as patched:
        patched.setattr(compiling, "stored", lambda graphs: pytest.fail("a program was compiled"))
        for name, part in parts.items():
            np.testing.assert_array_equal(part.numpy(), law(part.uop).to_numpy(), err_msg=name)
    elsewhere = Tensor([[1, 2], [3, 4]]).to("CPU:1").realize()[1].realize()
    assert elsewhere.device == "CPU:1", "a part stays where the whole is"
    assert elsewhere.tolist() == [3, 4]
    spread = Tensor([[1, 2], [3, 4]]).shard(("CPU:0", "CPU:1"), 1)
    assert [r.tolist() for r in spread] == [[1, 2], [3, 4]]
    assert (x[0] + 1).tolist() == (np.arange(12).reshape(3, 4) + 1).tolist()


def test_looking_at_a_tensor_changes_nothing() -> None:
    """A value that was computed is the end of a graph; printing, and reading rows, must not be."""
    x = Tensor([1.0, 2.0, 3.0])
    y = x * x
    first, *_ = y
    assert repr(y) == repr(y) == "Tensor([1., 4., 9.], dtype=float32)"
    assert [float(v) for v in y] == [1.0, 4.0, 9.0]
    (slope,) = y.sum().gradient(x)
    assert slope.tolist() == [2.0, 4.0, 6.0]
    (slope,) = (first + y.masked_select([False, True, True]).sum()).gradient(x)
    assert slope.tolist() == [2.0, 4.0, 6.0]


def test_gradients_pass_to_the_rows() -> None:
    w = Tensor([1.0, 2.0], requires_grad=True)
    a, b = w
    (a * b * b).backward()
    assert w.grad is not None
    assert w.grad.tolist() == [4.0, 4.0]


def test_a_traced_function_goes_along_its_arguments() -> None:
    program = sl.compile(lambda x: sum((row * k for k, row in enumerate(x)), Tensor(0.0)), X)
    np.testing.assert_array_equal(program(X), X[1])


@pytest.mark.parametrize("call", [list, len, iter, reversed], ids=lambda f: f.__name__)
def test_a_number_has_no_rows(call: Callable[[Any], Any]) -> None:
    with pytest.raises(TypeError) as caught:
        call(Tensor(1.0))
    assert isinstance(caught.value, sl.WrongType)


# Printing ---------------------------------------------------------------------------------------------------------


def test_a_tensor_shows_its_values() -> None:
    assert (
        repr(Tensor([[1.0, 2.5], [3.0, 4.0]])) == "Tensor([[1. , 2.5],\n        [3. , 4. ]], dtype=float32)"
    )
    assert str(Tensor([1, 2]) + 1) == "Tensor([2, 3], dtype=int32)"
    assert repr(Tensor(np.zeros((0, 2)))) == "Tensor([], shape=(0, 2), dtype=float64)"
    assert repr(Tensor([1.5], dtype=sl.bfloat16)) == "Tensor([1.5], dtype=bfloat16)"
    assert repr(Tensor([1.0], requires_grad=True) * 2) == "Tensor([2.], dtype=float32, requires_grad=True)"
    assert "device=('CPU:0', 'CPU:1')" in repr(Tensor([1, 2]).shard(("CPU:0", "CPU:1")))
    long = repr(Tensor.arange(5000))
    assert "..." in long
    assert "shape=(5000,)" in long
    assert len(long) < 200
    assert f"{Tensor(1.5):.3f} {Tensor([1])}" == "1.500 Tensor([1], dtype=int32)"
    with pytest.raises(sl.UsageError):
        f"{Tensor([1.0, 2.0]):.3f}"


def test_showing_never_fails_and_computes_nothing_large(monkeypatch: pytest.MonkeyPatch) -> None:
    large = Tensor.zeros(showing.MOST + 1)
    assert repr(large) == f"Tensor(shape=({showing.MOST + 1},), dtype=float32, not computed yet)"
    assert "[0., 0., 0." in repr(large.realize())
    seen: list[str] = []
    sl.compile(lambda x: seen.append(repr(x + 1)) or x, X)
    sl.compile(lambda x: seen.append(repr(x)) or x, sl.Signature(sl.float32, (sl.Variable("n", 1, 4),)))
    assert all("without a value while a function is traced" in s for s in seen)
    assert "shape=(2, 3)" in seen[0]
    monkeypatch.setenv("CC", "no-such-compiler")
    shown = repr(Tensor(X) * 5.4321)
    assert shown.startswith("Tensor(shape=(2, 3), dtype=float32, not computed: C compiler")


# Dtypes and numbers of numpy --------------------------------------------------------------------------------------

NAMES: dict[Any, Any] = {
    np.float32: sl.float32,
    "float32": sl.float32,
    "float8_e4m3fn": sl.float8_e4m3fn,
    np.dtype(">i4"): sl.int32,
    ml_dtypes.bfloat16: sl.bfloat16,
    int: sl.int64,
    float: sl.float64,
    bool: sl.bool_,
    "bool": sl.bool_,
    np.bool_: sl.bool_,
    sl.uint8: sl.uint8,
}


@pytest.mark.parametrize("name", NAMES, ids=str)
def test_dtypes_by_the_names_that_others_have_for_them(name: Any) -> None:
    wanted = NAMES[name]
    made = [
        Tensor([1, 0], dtype=name),
        Tensor([1, 0]).cast(name),
        Tensor([1, 0]).astype(name),
        Tensor.zeros(2, dtype=name),
        Tensor.ones(2, dtype=name),
        Tensor.full((2,), 1, dtype=name),
        Tensor.eye(2, dtype=name),
        Tensor.arange(2, dtype=name),
        Tensor.linspace(0, 1, 2, dtype=name),
        Tensor([1, 0]).one_hot(2, dtype=name),
        Tensor([1, 0]).zeros_like(dtype=name),
        Tensor.from_buffer(b"\0" * 8, name),
    ]
    assert {x.dtype for x in made} == {wanted}
    assert sl.Signature(name, (np.int64(2),)) == sl.Signature(wanted, (2,))


def test_random_dtypes_by_name() -> None:
    assert Tensor.rand(2, dtype="float64", key=1).dtype is sl.float64
    assert Tensor.randn(2, dtype=np.float16, key=1).dtype is sl.float16
    assert Tensor.randint(0, 3, 2, dtype=np.uint8, key=1).dtype is sl.uint8
    with pytest.raises(sl.UsageError, match="a float of at least 16 bits"):
        Tensor.rand(2, dtype="int32")


def test_numpy_integers_are_integers() -> None:
    n = np.int64
    pairs: dict[str, tuple[Tensor, Any]] = {
        "reshape": (Tensor(X).reshape(n(3), np.uint8(2)), X.reshape(3, 2)),
        "reshape by an array": (Tensor(X).reshape(np.array([3, 2])), X.reshape(3, 2)),
        "zeros": (Tensor.zeros(n(2), n(3)), np.zeros((2, 3), np.float32)),
        "ones of a list": (Tensor.ones([n(2), 3]), np.ones((2, 3), np.float32)),
        "full": (Tensor.full(n(2), np.float32(1.5)), np.full(2, 1.5, np.float32)),
        "arange": (Tensor.arange(n(1), n(9), n(3)), np.arange(1, 9, 3, np.int32)),
        "eye": (Tensor.eye(n(2), n(3)), np.eye(2, 3, dtype=np.float32)),
        "sum": (Tensor(X).sum(n(0)), X.sum(0)),
        "sum of several": (Tensor(X).sum((n(0), np.int8(-1))), X.sum()),
        "argmax": (Tensor(X).argmax(n(1)), X.argmax(1)),
        "transpose": (Tensor(X).transpose(n(0), n(1)), X.T),
        "permute": (Tensor(X).permute(n(1), n(0)), X.T),
        "squeeze": (Tensor(X[:1]).squeeze(n(0)), X[0]),
        "unsqueeze": (Tensor(X).unsqueeze(n(1)), X[:, None]),
        "split": (Tensor(X).split(n(1), n(1))[2], X[:, 2:]),
        "split in sizes": (Tensor(X).split(np.array([1, 2]), 1)[1], X[:, 1:]),
        "roll": (Tensor(X).roll(n(1), n(1)), np.roll(X, 1, 1)),
        "roll all": (Tensor(X).roll(n(1)), np.roll(X, 1)),
        "pad": (Tensor(X).pad(((n(0), n(1)), (n(1), n(0)))), np.pad(X, ((0, 1), (1, 0)))),
        "repeat": (Tensor(X).repeat(n(2), n(1)), np.tile(X, (2, 1))),
        "cumsum": (Tensor(X).cumsum(n(1)), X.cumsum(1)),
        "index": (Tensor(X)[n(1), n(0) : n(2)], X[1, 0:2]),
        "diff": (Tensor(X).diff(n(1), axis=n(1)), np.diff(X)),
        "cat": (Tensor.cat(X, X, axis=n(1)), np.concatenate([X, X], 1)),
        "one_hot": (Tensor([1]).one_hot(n(3)), np.eye(3, dtype=np.int64)[[1]]),
        "tril": (Tensor(X).tril(n(-1)), np.tril(X, -1)),
        "pool": (Tensor(X.reshape(1, 1, 2, 3)).max_pool2d(n(2)), X[1, 1].reshape(1, 1, 1, 1)),
        "a tensor of rank 0": (Tensor(X).sum(Tensor(1)), X.sum(1)),
        "clip": (Tensor(X).clip(np.float32(1), np.float32(3)), X.clip(1, 3)),
        "leaky_relu": (Tensor(-X).leaky_relu(np.float32(0.5)), -X * np.float32(0.5)),
    }
    all_same(pairs, signs=False)


# Names that torch and numpy have ----------------------------------------------------------------------------------


def test_other_names_of_arguments() -> None:
    x = Tensor(X)
    m = np.float32
    pairs: dict[str, tuple[Tensor, Any]] = {
        "dim": (x.sum(dim=1), X.sum(1)),
        "dim and keepdim": (x.mean(dim=0, keepdim=True), X.mean(0, keepdims=True)),
        "axis and keepdims": (x.max(axis=0, keepdims=True), X.max(0, keepdims=True)),
        "ddof": (x.var(dim=0, ddof=1), X.var(0, ddof=1)),
        "dims": (x.flip(dims=(0, 1)), X[::-1, ::-1]),
        "order": (x.permute(dims=(1, 0)), X.T),
        "dim0, dim1": (x.transpose(dim0=0, dim1=1), X.T),
        "gather": (x.gather(dim=1, index=[[0], [2]]), X[[0, 1], [0, 2]][:, None]),
        "scatter": (
            x.scatter(dim=0, index=[[0, 0, 0]], src=np.ones((1, 3), m)),
            np.concatenate([np.ones((1, 3), m), X[1:]]),
        ),
        "topk": (x.topk(k=1, dim=1)[0], X[:, 2:]),
        "chunk": (x.chunk(chunks=3, dim=1)[1], X[:, 1:2]),
        "stack": (Tensor.stack([x, x], dim=1), np.stack([X, X], 1)),
        "cat": (Tensor.cat([x, x], dim=-1), np.concatenate([X, X], 1)),
        "flatten": (x.flatten(start_dim=0, end_dim=1), X.reshape(6)),
        "one_hot": (Tensor([1]).one_hot(num_classes=2), np.array([[0, 1]])),
        "zeros": (Tensor.zeros(size=(2, 1)), np.zeros((2, 1), m)),
        "kernel_size": (
            Tensor(X.reshape(1, 1, 2, 3)).max_pool2d(kernel_size=2),
            np.full((1, 1, 1, 1), X[:, :2].max(), m),
        ),
        "leaky_relu": (x.leaky_relu(negative_slope=0.5), X),
        "np.sum": (np.sum(x, axis=1), X.sum(1)),  # type: ignore[call-overload]
        "np.mean": (np.mean(x), X.mean()),  # type: ignore[call-overload]
    }
    all_same(pairs)


def test_every_other_name_names_an_argument() -> None:
    """A spelling in the table that no method has would be one that nobody can use."""
    for method, names in arguments._OWN_NAMES.items():
        parameters = arguments._Arguments(method, getattr(Tensor, method).__wrapped__).checks
        assert set(names.values()) <= set(parameters), method


MISTAKES: dict[str, tuple[type[Exception], Callable[[], Any], str]] = {
    "an axis that is text": (TypeError, lambda: Tensor(X).sum(axis="0"), "sum: expected integers for axis"),
    "an axis that is a float": (TypeError, lambda: Tensor(X).softmax(1.0), "softmax"),
    "no axis": (TypeError, lambda: Tensor(X).softmax(None), "softmax"),
    "an axis outside": (IndexError, lambda: Tensor(X).sum(dim=2), "axis 2"),
    "both names": (TypeError, lambda: Tensor(X).sum(dim=1, axis=1), "once"),
    "by place and by name": (TypeError, lambda: Tensor(X).sum(1, dim=1), "once"),
    "an unknown name": (TypeError, lambda: Tensor(X).sum(axes=1), "named axis, keepdim; got axes"),
    "too many": (TypeError, lambda: Tensor(X).relu6(1), "relu6"),
    "too few": (TypeError, lambda: Tensor(X).mse_loss(), "expected target"),
    "sizes that are text": (TypeError, lambda: Tensor(X).reshape("23"), "reshape: expected integers"),
    "a size that is a float": (TypeError, lambda: Tensor.zeros(2.0), "zeros: expected integers"),
    "a truth that is text": (TypeError, lambda: Tensor(X).sum(keepdim="yes"), "True or False"),
    "a number that is text": (TypeError, lambda: Tensor(X).leaky_relu("0.1"), "a number for slope"),
    "a text that is a number": (TypeError, lambda: Tensor(X).gelu(1), "a string for approximate"),
    "a dtype that is none": (TypeError, lambda: Tensor(X).cast("float9"), "not a dtype"),
    "a dtype of another world": (TypeError, lambda: Tensor(X, dtype=np.complex64), "not a dtype"),
    "an out": (TypeError, lambda: np.sum(Tensor(X), out=X), "out"),
    "an index outside": (IndexError, lambda: Tensor(X)[5], "axis of size 2"),
    "too many indices": (IndexError, lambda: Tensor(X)[0, 0, 0], "at most 2"),
    "positions outside": (IndexError, lambda: Tensor(X)[[0, 7]], "axis of size 2"),
    "a mask of another shape": (IndexError, lambda: Tensor(X)[np.array([True])], "mask"),
    "an index that is text": (TypeError, lambda: Tensor(X)["a"], "integers"),
    "shapes that differ": (ValueError, lambda: Tensor(X) + Tensor([1.0, 2.0]), "broadcast"),
    "a reshape": (ValueError, lambda: Tensor(X).reshape(4), "6 elements"),
    "no tensor": (ValueError, lambda: Tensor([[1], [1, 2]]), "not a tensor"),
    "an ill-formed node": (ValueError, lambda: Tensor([True]) + Tensor([True]), "Add"),
    "no gradient": (ValueError, lambda: Tensor([1.0]).backward(), "backward"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_errors_are_those_of_python_too(name: str) -> None:
    kind, call, says = MISTAKES[name]
    with pytest.raises(kind) as caught:
        call()
    assert isinstance(caught.value, sl.SoundlineError)
    assert says in str(caught.value)


# Operators --------------------------------------------------------------------------------------------------------


def test_operators_by_name() -> None:
    x, y = Tensor(X), Tensor(X[::-1] + 1)
    b = X[::-1] + 1
    m = np.float32
    all_same(
        {
            "add": (x.add(y), X + b),
            "add times alpha": (x.add(y, alpha=2), X + b * m(2)),
            "sub": (x.sub(y), X - b),
            "mul": (x.mul(2), X * m(2)),
            "div": (x.div(y), X / b),
            "div floor": (x.div(y, rounding_mode="floor"), X // b),
            "div trunc": ((-x).div(y, rounding_mode="trunc"), np.trunc(-X / b)),
            "div trunc of integers": (
                Tensor([-7, 7]).div(2, rounding_mode="trunc"),
                np.array([-3, 3], np.int32),
            ),
            "neg": (x.neg(), -X),
            "floor_divide": (x.floor_divide(y), X // b),
            "remainder": (x.remainder(y), X % b),
            "mod": ((-x).mod(y), -X % b),
            "lt": (x.lt(y), b > X),
            "le": (x.le(3), X <= 3),
            "gt": (x.gt(y), b < X),
            "ge": (x.ge(3), X >= 3),
        }
    )
    with pytest.raises(sl.UsageError, match="floor"):
        x.div(y, rounding_mode="up")


ENDS = [0.0, -0.0, 1.0, -1.0, 2.5, -2.5, 3.0, -7.0, 5.5, 1e6, -1e6, math.inf, -math.inf, math.nan]
FRACTIONS = [0.1, -0.3, 1 / 3, -0.7, 12.3, -45.6, 1e-3, -6e-8, 1e30, -1e300]
"""Numbers that no format holds; some are too small for the narrower formats, and some too large."""


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16])
def test_floor_division_and_remainder_are_numpys(dtype: Any) -> None:
    with np.errstate(all="ignore"):
        numbers = np.array([*ENDS, *FRACTIONS], dtype)
        a, b = (v.reshape(-1) for v in np.meshgrid(numbers, numbers))
        steps = np.random.default_rng(7).integers(-4000, 4000, (2, 60)) / 8
        c, d = steps.astype(dtype)  # remainders of these are exact in every format
        x, y, u, v, n = (Tensor(values) for values in (a, b, c, d, numbers))
        quotient, remainder = divmod(u, v)
        all_same(
            {
                "//": (x // y, a // b),
                "%": (x % y, a % b),
                "divmod //": (quotient, c // d),
                "divmod %": (remainder, c % d),
                "number //": (7.5 // n, dtype(7.5) // numbers),
                "// number": (n // -2, numbers // dtype(-2)),
                "// infinity": (n // -math.inf, numbers // dtype(-math.inf)),
                "number %": (-7.5 % n, dtype(-7.5) % numbers),
                "% number": (n % 2.5, numbers % dtype(2.5)),
                "% infinity": (n % -math.inf, numbers % dtype(-math.inf)),
            }
        )
    assert (Tensor(a) // 1).dtype is Tensor(a).dtype


def test_the_gradients_of_a_remainder() -> None:
    x, y = Tensor([7.25, -7.25], requires_grad=True), Tensor([2.0, 2.0], requires_grad=True)
    ((x % y) + (x // y)).sum().backward()
    assert x.grad is not None
    assert y.grad is not None
    assert x.grad.tolist() == [1.0, 1.0]
    assert y.grad.tolist() == [-3.0, 4.0]


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int32, np.int64])
def test_powers_of_integers_by_integers(dtype: Any) -> None:
    base = np.array([0, 1, 2, 3, 5, 11, 100], dtype)
    base = base if dtype is np.uint8 else np.concatenate([base, -base])
    exponent = np.arange(12, dtype=dtype)
    pairs = {
        "tensors": (Tensor(base[:, None]) ** Tensor(exponent), base[:, None] ** exponent),
        "number": (2 ** Tensor(exponent), dtype(2) ** exponent),
        "pow": (Tensor(base).pow(Tensor(dtype(3))), base ** dtype(3)),
    }
    all_same(pairs)


def test_powers_below_zero_and_of_floats() -> None:
    found = Tensor([2, 1, -1, -1, 0, -3]) ** Tensor([-1, -5, -3, -2, -4, -1])
    assert found.tolist() == [0, 1, -1, 1, 0, 0]
    assert (Tensor([4.0]) ** Tensor([0.5])).tolist() == [2.0]
    assert (Tensor([2.0]) ** Tensor([3])).dtype is sl.float64
    with pytest.raises(sl.UsageError, match="bools"):
        Tensor([True]) ** Tensor([True])


# Parts ------------------------------------------------------------------------------------------------------------

PLACES: dict[str, tuple[Any, Any]] = {
    "a row": (0, 9),
    "a column": ((slice(None), 1), [7, 8]),
    "one element": ((1, -1), 5),
    "every second": ((slice(None), slice(None, None, 2)), -1),
    "dots": ((..., 0), np.array([3.0, 4.0])),
    "all": (slice(None), 2),
    "positions": (([0, 1], [2, 0]), [10, 20]),
    "a mask": (np.array([[True, False, True], [False, False, True]]), 0),
    "a tensor of positions": (Tensor([1]), 4),
    "a mask that is a tensor": (Tensor(X) > 2, 1),
    "a number of numpy": (np.int64(1), 6),
}


@pytest.mark.parametrize("name", PLACES)
def test_parts_are_assigned_as_numpys(name: str) -> None:
    place, value = PLACES[name]
    x, wanted = Tensor(X) * 1, X.copy()
    before, row = x + 0, x[0]
    wanted[place if not isinstance(place, Tensor) else np.asarray(place)] = value
    x[place] = value
    np.testing.assert_array_equal(x.numpy(), wanted)
    assert before.tolist() == X.tolist(), "what was computed before keeps its value"
    assert row.tolist() == X[0].tolist()


def test_assignments_that_python_makes_of_others() -> None:
    x = Tensor([1, 2, 3])
    x[0] += 5
    x[1:] *= Tensor([2, 3])
    x[2] = 3.9
    assert x.tolist() == [6, 4, 3]
    shared = np.zeros(2, np.float32)
    y = Tensor.from_numpy(shared)
    y[0] = 1
    assert shared.tolist() == [0.0, 0.0], "shared memory is not written"
    z = Tensor(0.0)
    z[...] = 4
    assert z.item() == 4.0
    parts = Tensor([1.0, 2.0]).shard(("CPU:0", "CPU:1"), 0)
    parts[1] = 7
    assert [p.tolist() for p in parts.shards] == [[1.0], [7.0]]


def test_assignments_that_are_refused() -> None:
    x, w = Tensor(X), Tensor([1.0, 2.0, 3.0], requires_grad=True)
    for kind, place, value in (
        (IndexError, 5, 1),
        (IndexError, (0, 0, 0), 1),
        (IndexError, "a", 1),
        (ValueError, slice(None), [1, 2]),
        (ValueError, 0, w),
    ):
        with pytest.raises(kind) as caught:
            x[place] = value
        assert isinstance(caught.value, sl.UsageError)
    with pytest.raises(sl.UsageError, match="gradients do not flow"):
        w[0] = 1.0
    with sl.no_grad():
        w[0] = 9.0
    assert w.is_leaf
    assert w.requires_grad
    assert w.tolist() == [9.0, 2.0, 3.0]

    def assigns(t: Tensor) -> Tensor:
        t[0] = 1
        return t

    with pytest.raises(sl.TracingError, match=r"mask\.where"):
        sl.compile(assigns, X)


# Shapes that values decide ----------------------------------------------------------------------------------------


def test_shapes_that_values_decide() -> None:
    n = np.array([[3, 0, 1], [1, 3, 0]], np.int32)
    x = Tensor(n)
    values, first, inverse, counts = x.unique(return_index=True, return_inverse=True, return_counts=True)
    wanted = np.unique(n, return_index=True, return_inverse=True, return_counts=True)
    all_same(
        {
            "nonzero": (x.nonzero(), np.argwhere(n)),
            "nonzero of a number": (Tensor(3).nonzero(), np.argwhere(np.array(3))),
            "nonzero of none": (Tensor([0, 0]).nonzero(), np.zeros((0, 1), np.int64)),
            **{f"axis {k}": (v, n.nonzero()[k]) for k, v in enumerate(x.nonzero(as_tuple=True))},
            "unique": (x.unique(), np.unique(n)),
            "values": (values, wanted[0]),
            "first": (first, wanted[1]),
            "inverse": (inverse, wanted[2].reshape(n.shape)),
            "counts": (counts, wanted[3]),
            "masked_select": (x.masked_select(x > 0), n[n > 0]),
            "masked_select of a lazy one": (
                (x * 2).masked_select([True, False, True]),
                (n * 2)[:, [0, 2]].reshape(-1),
            ),
            "masked_select of none": (x.masked_select(x > 9), n[n > 9]),
            "indexed": (x[x > 0], n[n > 0]),
        }
    )
    nans = Tensor([math.nan, 1.0, math.nan]).unique().tolist()
    assert nans[0] == 1.0
    assert len(nans) == 2
    w = Tensor([1.0, 2.0, 3.0], requires_grad=True)
    (w * w).masked_select(w > 1.5).sum().backward()
    assert w.grad is not None
    assert w.grad.tolist() == [0.0, 4.0, 6.0]
    for wrong in (lambda: x.masked_select(x), lambda: x.masked_select([True] * 4)):
        with pytest.raises(sl.UsageError, match="masked_select: expected a mask"):
            wrong()


TRACED: dict[str, tuple[str, Callable[[Tensor], Any]]] = {
    "nonzero": ("nonzero", lambda x: x.nonzero()),
    "unique": ("unique", lambda x: x.unique()),
    "masked_select": ("masked_select", lambda x: x.masked_select(x > 0)),
    "a mask": ("[]", lambda x: x[x > 0]),
    "numpy": ("numpy", lambda x: Tensor(x.numpy())),
    "asarray": ("np.asarray", lambda x: Tensor(np.asarray(x + 1))),
    "in a list": ("np.asarray", lambda x: Tensor([x.sum(), x.sum()])),
    "tolist": ("tolist", lambda x: Tensor(x.tolist())),
    "item": ("item", lambda x: Tensor(x.sum().item())),
    "if": ("bool", lambda x: x if x.sum() > 0 else -x),
    "in": ("bool", lambda x: x if 1 in x else -x),
    "float": ("float", lambda x: x * float(x.sum())),
    "int": ("int", lambda x: x * int(x.sum())),
    "range": ("index", lambda x: [x for _ in range(x.cast("int32").sum().cast("int32"))]),
    "realize": ("realize", lambda x: (x + 1).realize()),
}


@pytest.mark.parametrize("name", TRACED)
def test_a_value_that_is_asked_for_while_a_function_is_traced(name: str) -> None:
    where, function = TRACED[name]
    with pytest.raises(sl.TracingError) as caught:
        sl.compile(function, X)
    assert isinstance(caught.value, TypeError)
    assert caught.value.where == where
    assert "being traced" in caught.value.message
    assert caught.value.hint
    with pytest.raises(sl.TracingError):
        sl.function(function)(Tensor(X))


# Copies -----------------------------------------------------------------------------------------------------------


def test_tensors_are_copied_and_pickled() -> None:
    w = Tensor([1.0, 2.0], requires_grad=True)
    for made in (pickle.loads(pickle.dumps(w)), copy.deepcopy(w)):
        assert made.tolist() == [1.0, 2.0]
        assert made.requires_grad
        (made * 3).sum().backward()
        assert made.grad.tolist() == [3.0, 3.0]
    assert w.grad is None
    narrow = Tensor([1.5], dtype="bfloat16") * 2
    assert pickle.loads(pickle.dumps(narrow)).dtype is sl.bfloat16
    parts = Tensor([1.0, 2.0]).shard(("CPU:0", "CPU:1"), 0)
    assert [p.tolist() for p in pickle.loads(pickle.dumps(parts)).shards] == [[1.0], [2.0]]
    assert pickle.loads(pickle.dumps(Tensor([1]).to("CPU:1"))).device == "CPU:1"
    twin = copy.copy(narrow)
    twin[0] = 5
    assert narrow.tolist() == [3.0]


# Memory -----------------------------------------------------------------------------------------------------------

TOO_LARGE: dict[str, Callable[[], Any]] = {
    "a result": lambda: Tensor.zeros(10**6, 10**6).numpy(),
    "computed": (Tensor.arange(10**13) + 1).tolist,
    "no machine has it": lambda: Tensor.ones(10**10, 10**10).numpy(),
    "a number that is no size in C": lambda: Tensor.zeros(10**30).numpy(),
    "temporaries": lambda: sl.compile(
        lambda x: ((x.reshape(-1, 1) * x).contiguous() + 1).contiguous().sum(),
        sl.Signature("float32", (3 * 10**6,)),
    )(np.zeros(3 * 10**6, np.float32)),
}


@pytest.mark.parametrize("name", TOO_LARGE)
def test_memory_that_cannot_be_had(name: str) -> None:
    with pytest.raises(MemoryError) as caught:
        TOO_LARGE[name]()
    assert isinstance(caught.value, sl.OutOfMemoryError)
    assert re.search(r" of memory (for .* could not be allocated|would be needed for )", caught.value.message)
    assert caught.value.hint


def test_what_is_too_large_may_be_reduced() -> None:
    assert "not computed yet" in repr(Tensor.zeros(10**6, 10**6))
    assert Tensor.ones(10**9, 10**9, dtype=bool).sum().item() == 10**18
