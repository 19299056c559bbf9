"""Creation, movement and indexing of Tensor: numpy's results, and the law's bit for bit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from soundline.impl.program.compile import compile  # noqa: A004
from soundline.impl.tensors.tensor import Tensor
from soundline.spec.dtypes import DType, bool_, float16, float64, int8, int16, int32, int64, uint8, uint64
from soundline.spec.errors import UsageError
from soundline.spec.uop import Op, const, toposort

from .tensor_cases import all_same, refused

X = np.arange(24, dtype=np.int32).reshape(2, 3, 4)
F = np.array([[0.5, -0.0, np.inf], [np.nan, -2.0, 3.0]], np.float32)


def test_creation() -> None:
    f32 = np.float32
    all_same(
        {
            "zeros": (Tensor.zeros(2, 3), np.zeros((2, 3), f32)),
            "zeros of a sequence": (Tensor.zeros((2, 0), dtype=int8), np.zeros((2, 0), np.int8)),
            "ones": (Tensor.ones(3, dtype=bool_), np.ones(3, bool)),
            "full": (Tensor.full((2, 2), 7), np.full((2, 2), 7, np.int32)),
            "full of a dtype": (Tensor.full((2,), 0.1, float64), np.full(2, 0.1)),
            "empty": (Tensor.empty(2), np.zeros(2, f32)),
            "like": (Tensor(X).ones_like(), np.ones_like(X)),
            "zeros like": (Tensor(X).zeros_like(float16), np.zeros(X.shape, np.float16)),
            "full like": (Tensor(X).full_like(-3), np.full_like(X, -3)),
            "eye": (Tensor.eye(3), np.eye(3, dtype=f32)),
            "eye of two": (Tensor.eye(2, 4, dtype=int8), np.eye(2, 4, dtype=np.int8)),
            "arange": (Tensor.arange(70), np.arange(70, dtype=np.int32)),
            "arange of none": (Tensor.arange(5, 2), np.arange(5, 2, dtype=np.int32)),
            "arange down": (Tensor.arange(9, -8, -3), np.arange(9, -8, -3, dtype=np.int32)),
            "arange far": (Tensor.arange(1 << 40, (1 << 40) + 3), np.arange(1 << 40, (1 << 40) + 3)),
            "arange of a dtype": (Tensor.arange(3, dtype=uint8), np.arange(3, dtype=np.uint8)),
            "arange of floats": (Tensor.arange(0.0, 1.0, 0.125), np.arange(0.0, 1.0, 0.125, f32)),
            "arange in float64": (Tensor.arange(1, 2, 0.1, dtype=float64), 1 + np.arange(10) * 0.1),
            "linspace": (Tensor.linspace(-1, 1, 7), np.linspace(-1, 1, 7, dtype=f32)),
            "linspace of 64 bits": (Tensor.linspace(0.1, 9.7, 50, dtype=float64), np.linspace(0.1, 9.7, 50)),
            "linspace open": (
                Tensor.linspace(0, 1, 8, endpoint=False),
                np.linspace(0, 1, 8, False, dtype=f32),
            ),
            "linspace of one": (Tensor.linspace(3, 9, 1), np.linspace(3, 9, 1, dtype=f32)),
            "linspace of none": (Tensor.linspace(3, 9, 0), np.linspace(3, 9, 0, dtype=f32)),
        }
    )
    vectors = [np.arange(3, dtype=np.int32), np.arange(2, dtype=np.int32), np.arange(4, dtype=np.int32)]
    for indexing in ("ij", "xy"):
        ours = Tensor.meshgrid(*map(Tensor, vectors), indexing=indexing)
        theirs = np.meshgrid(*vectors, indexing=indexing)  # type: ignore[call-overload]
        all_same({f"{indexing} {k}": pair for k, pair in enumerate(zip(ours, theirs, strict=True))})


def test_a_stack_on_a_line_is_computed_from_the_position() -> None:
    def stacked(dtype: DType, *numbers: int) -> Tensor:
        return Tensor.of(Op.Stack(*(const(n, dtype) for n in numbers)))

    all_same(
        {
            "up": (stacked(int32, 3, 5, 7, 9), np.array([3, 5, 7, 9], np.int32)),
            "down": (stacked(int8, 127, 0, -127), np.array([127, 0, -127], np.int8)),
            "level": (stacked(uint8, 4, 4, 4, 4), np.array([4, 4, 4, 4], np.uint8)),
            "no line": (stacked(uint8, 1, 2, 3, 5), np.array([1, 2, 3, 5], np.uint8)),
            "too far": (
                stacked(uint64, 2**64 - 3, 2**64 - 2, 2**64 - 1),
                np.arange(3, dtype=np.uint64) - np.uint64(3),
            ),
        }
    )
    choices = [n for n in toposort(compile(lambda: Tensor.arange(64)).uops) if n.op is Op.Where]
    assert not choices


def test_movement() -> None:
    t = Tensor(X)
    all_same(
        {
            "flatten": (t.flatten(), X.reshape(-1)),
            "flatten two": (t.flatten(1), X.reshape(2, 12)),
            "unflatten": (t.unflatten(-1, (2, -1)), X.reshape(2, 3, 2, 2)),
            "squeeze all": (t[:1, :, :1].squeeze(), X[:1, :, :1].squeeze()),
            "movedim": (t.movedim(0, -1), np.moveaxis(X, 0, -1)),
            "movedim of two": (t.movedim((0, 1), (2, 0)), np.moveaxis(X, (0, 1), (2, 0))),
            "mT": (t.mT, X.swapaxes(-1, -2)),
            "pad by a value": (t[0, 0].pad((1, 2), -5), np.pad(X[0, 0], (1, 2), constant_values=-5)),
            "narrow": (t.narrow(-1, -3, 2), X[..., 1:3]),
            "roll": (t.roll(1, 1), np.roll(X, 1, 1)),
            "roll flat": (t.roll(-5), np.roll(X, -5)),
            "roll two": (t.roll((1, 7), (0, 2)), np.roll(X, (1, 7), (0, 2))),
            "cat": (Tensor.cat(t, t[:, :1], axis=1), np.concatenate([X, X[:, :1]], 1)),
            "cat promotes": (Tensor.cat([Tensor([1], int8), [2.5]]), np.array([1, 2.5], np.float32)),
            "cat keeps zeros": (Tensor.cat(Tensor(F), Tensor(F)), np.concatenate([F, F])),
            "cat of nothing": (Tensor.cat(t[:0], t), X),
            "stack": (Tensor.stack(t, t + 1), np.stack([X, X + 1])),
            "stack last": (Tensor.stack([t, t + 1], axis=-1), np.stack([X, X + 1], -1)),
            "repeat": (t.repeat(2, 1, 3, 1), np.tile(X, (2, 1, 3, 1))),
            "tile": (t.tile(2, 3), np.tile(X, (2, 3))),
            "interleave": (t.repeat_interleave(2, 1), np.repeat(X, 2, 1)),
            "tril": (Tensor(F).tril(), np.tril(F)),
            "triu": (t.triu(1), np.triu(X, 1)),
            "tril below": (t.tril(-1), np.tril(X, -1)),
            "diagonal": (t.diagonal(), X.diagonal(0, 1, 2)),
            "diagonal right": (t.diagonal(2), X.diagonal(2, 1, 2)),
            "diagonal below": (t.diagonal(-2), X.diagonal(-2, 1, 2)),
            "diagonal of nothing": (t.diagonal(9), X.diagonal(9, 1, 2)),
            "trace": (t[0].trace(), X[0].trace(dtype=np.int64)),
            "bitcast": (Tensor(F).bitcast(int32), F.view(np.int32)),
        }
    )
    for k, part in enumerate(Tensor(X).split([1, 0, 3], 2)):
        all_same({str(k): (part, np.split(X, [1, 1], 2)[k])})
    assert [p.shape for p in t.split(2, 1)] == [(2, 2, 4), (2, 1, 4)]
    assert [p.shape for p in Tensor.arange(10).chunk(4)] == [(3,), (3,), (3,), (1,)]
    assert [p.tolist() for p in Tensor([[1, 2], [3, 4]]).unbind(1)] == [[1, 3], [2, 4]]


INDICES: dict[str, Any] = {
    "a list": [1, 0, 1],
    "an array": (slice(None), np.array([[0, -1], [2, 1]])),
    "two arrays": ([0, 1], [2, 0]),
    "two that broadcast": (np.array([[0], [1]]), slice(None), np.array([3, 0, -4])),
    "two apart": ([0, 1], slice(None, None, -1), [2, 0]),
    "an integer beside": (slice(None), 1, [3, 0]),
    "an integer behind": (slice(None), [0, 2], -1),
    "after dots": (..., [3, 3]),
    "with None": ([1], None, slice(1, None)),
    "narrow integers": (slice(None), np.array([2, 0], np.uint8)),
    "a mask of all": X % 5 > 1,
    "a mask of one axis": (slice(None), np.array([True, False, True])),
    "a mask of two axes": X[..., 0] > 3,
    "a mask of none": np.zeros((2,), bool),
    "a mask and an array": (np.array([True, True]), [0, 2]),
    "nothing": [],
    "numpy's integer": (np.int64(1), slice(None)),
}


def test_indices_that_are_arrays() -> None:
    all_same({name: (Tensor(X)[which], X[which]) for name, which in INDICES.items()})
    all_same({name: (Tensor(X)[which], X[which]) for name, which in {"Tensor": np.array([1, 0])}.items()})
    rows = Tensor(np.array([1, 0, 1], np.int16))
    all_same(
        {
            "a tensor": (Tensor(X)[rows], X[[1, 0, 1]]),
            "a scalar tensor": (Tensor(X)[Tensor(1)], X[1]),
            "floats": (Tensor(F)[:, rows], F[:, [1, 0, 1]]),
            "computed by a reduction": (Tensor(F)[Tensor([3, 9, 4]).argmax()], F[1]),
            "outside, computed": (Tensor(F)[:, rows + 2], np.array([[0, np.inf, 0], [0, 3, 0]], np.float32)),
        }
    )


def test_take_gather_and_scatter() -> None:
    t, f = Tensor(X), Tensor(F)
    i = np.array([[2, 0, -1], [1, 1, 0]])
    updates = np.array([[1.0, 2.0, 4.0], [8.0, 16.0, 32.0]], np.float32)
    added = np.zeros((2, 5), np.float32)
    np.add.at(added, (np.arange(2)[:, None], i), updates)
    put = np.zeros((2, 5), np.float32)
    np.put_along_axis(put, i, updates, 1)
    all_same(
        {
            "take": (t.take([2, 0, -1], 1), X.take([2, 0, -1], 1)),
            "take flat": (t.take(np.array([[5, -1]])), X.take([[5, -1]])),
            "take outside": (Tensor([1.5]).take([1, 0, -2]), np.array([0, 1.5, 0], np.float32)),
            "take of nothing": (Tensor.zeros(0).take([0]), np.zeros(1, np.float32)),
            "gather": (f.gather(1, i), np.take_along_axis(F, i, 1)),
            "gather less": (f.gather(0, np.array([[1, 0]])), F[[[1, 0]], [[0, 1]]]),
            "scatter": (Tensor.zeros(2, 5).scatter(1, i, updates), put),
            "the last wins": (
                Tensor.zeros(3).scatter(0, [1, 1], [5.0, 7.0]),
                np.array([0, 7, 0], np.float32),
            ),
            "scatter outside": (Tensor([1, 2]).scatter(0, [5, 0], [9, 8]), np.array([8, 2], np.int32)),
            "scatter a number": (Tensor([1, 2, 3]).scatter(0, [0, 2], 0), np.array([0, 2, 0], np.int32)),
            "scatter_add": (Tensor.zeros(2, 5).scatter_add(1, i, updates), added),
            "nothing is added": (Tensor([-0.0]).scatter_add(0, [3], [1.0]), np.array([-0.0], np.float32)),
            "one_hot": (Tensor([1, -1, 3]).one_hot(4), np.array([[0, 1, 0, 0], [0] * 4, [0, 0, 0, 1]])),
            "masked_fill": (t.masked_fill(X > 20, -1), np.where(X > 20, np.int32(-1), X)),
        }
    )


def test_order() -> None:
    x = np.array([[3.0, np.nan, -0.0, 0.0, -np.inf, 3.0], [1.0, 1.0, 1.0, 2.0, np.nan, 0.5]], np.float32)
    n = np.array([5, -128, 127, 5, 0], np.int8)
    ordered, places = Tensor(x).sort()
    down, down_places = Tensor(n).sort(descending=True)
    most, where = Tensor(n).topk(2)
    all_same(
        {
            "sort": (ordered, np.sort(x, -1, kind="stable")),
            "places": (places, np.argsort(x, -1, kind="stable")),
            "argsort of columns": (Tensor(x).argsort(0), np.argsort(x, 0, kind="stable")),
            "down": (down, np.array([127, 5, 5, 0, -128], np.int8)),
            "down places": (down_places, np.array([2, 0, 3, 4, 1])),
            "topk": (most, np.array([127, 5], np.int8)),
            "topk places": (where, np.array([2, 0])),
            "least": (Tensor(n).topk(2, largest=False)[0], np.array([-128, 0], np.int8)),
            "of nothing": (Tensor.zeros(0).sort()[0], np.zeros(0, np.float32)),
        }
    )


MISTAKES: dict[str, tuple[str, Callable[[], Any]]] = {
    "reshape": ("reshape", lambda: Tensor(X).reshape(5, 5)),
    "reshape negative": ("reshape", lambda: Tensor(X).reshape(-1, -24, 1)),
    "expand": ("expand", lambda: Tensor(X).expand(2, 6, 4)),
    "expand to fewer": ("expand", lambda: Tensor(X).expand(3, 4)),
    "flatten": ("flatten", lambda: Tensor(X).flatten(2, 1)),
    "unflatten": ("unflatten", lambda: Tensor(X).unflatten(0, (3, 1))),
    "squeeze": ("squeeze", lambda: Tensor(X).squeeze(0)),
    "permute": ("permute", lambda: Tensor(X).permute(0, 0, 1)),
    "movedim": ("movedim", lambda: Tensor(X).movedim((0, 1), 0)),
    "pad": ("pad", lambda: Tensor(X).pad(((1, 0), (0, 0)))),
    "pad negative": ("pad", lambda: Tensor(X[0, 0]).pad((-1, 0))),
    "shrink": ("shrink", lambda: Tensor(X).shrink(((0, 3), (0, 1), (0, 1)))),
    "narrow": ("narrow", lambda: Tensor(X).narrow(0, 1, 2)),
    "split": ("split", lambda: Tensor(X).split([1, 2], 0)),
    "split by 0": ("split", lambda: Tensor(X).split(0)),
    "chunk": ("chunk", lambda: Tensor(X).chunk(0)),
    "roll": ("roll", lambda: Tensor(X).roll((1, 2))),
    "roll two": ("roll", lambda: Tensor(X).roll((1, 2), 0)),
    "cat": ("cat", lambda: Tensor.cat(Tensor(X), Tensor(X[0]))),
    "cat of sizes": ("cat", lambda: Tensor.cat(Tensor(X), Tensor(X[:, :1]))),
    "cat of nothing": ("cat", lambda: Tensor.cat([])),
    "cat of scalars": ("cat", lambda: Tensor.cat(1, 2)),
    "stack": ("stack", lambda: Tensor.stack(Tensor(X), Tensor(X[0]))),
    "repeat": ("repeat", lambda: Tensor(X).repeat(2)),
    "repeat_interleave": ("repeat_interleave", lambda: Tensor(X).repeat_interleave(-1, 0)),
    "tril": ("tril", lambda: Tensor([1]).tril()),
    "diagonal": ("diagonal", lambda: Tensor([1]).diagonal()),
    "zeros": ("zeros", lambda: Tensor.zeros(2, -1)),
    "full": ("full", lambda: Tensor.full((2,), "x")),  # type: ignore[arg-type]
    "arange": ("arange", lambda: Tensor.arange(0, 5, 0)),
    "arange of infinity": ("arange", lambda: Tensor.arange(float("inf"))),
    "linspace": ("linspace", lambda: Tensor.linspace(0, 1, -1)),
    "meshgrid": ("meshgrid", lambda: Tensor.meshgrid(Tensor(X))),
    "a number outside": ("[]", lambda: Tensor(X)[2]),
    "a text": ("[]", lambda: Tensor(X)["a"]),
    "too many numbers": ("[]", lambda: Tensor(X)[0, 0, 0, 0]),
    "dots twice": ("[]", lambda: Tensor(X)[..., ...]),
    "an index outside": ("[]", lambda: Tensor(X)[[2]]),
    "an index of floats": ("[]", lambda: Tensor(X)[Tensor([0.5])]),
    "a mask of another shape": ("[]", lambda: Tensor(X)[np.ones(3, bool)]),
    "too many indices": ("[]", lambda: Tensor(X)[[0], 0, 0, 0]),
    "indices that do not broadcast": ("[]", lambda: Tensor(X)[[0, 1], [0, 1, 2]]),
    "take": ("take", lambda: Tensor(X).take([0.5], 0)),
    "gather": ("gather", lambda: Tensor(X).gather(0, [0])),
    "scatter": ("scatter", lambda: Tensor(F).scatter(1, [[0], [0], [0]], F)),
    "scatter_add": ("scatter_add", lambda: Tensor([True]).scatter_add(0, [0], [True])),
    "one_hot": ("one_hot", lambda: Tensor([1]).one_hot(-1)),
    "masked_fill": ("masked_fill", lambda: Tensor(X).masked_fill(X, 0)),
    "topk": ("topk", lambda: Tensor([1]).topk(2)),
    "bitcast": ("bitcast", lambda: Tensor(F).bitcast(int16)),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes_are_named(name: str) -> None:
    refused(*MISTAKES[name])


# Memory -----------------------------------------------------------------------------------------------------------


def test_memory_is_shared_where_the_layout_allows_it() -> None:
    a = np.arange(6, dtype=np.float32)
    shared = Tensor.from_numpy(a)
    copied = Tensor.from_numpy(a, copy=True)
    a[0] = 9
    assert shared.tolist()[0] == 9
    assert copied.tolist()[0] == 0
    assert np.shares_memory(np.asarray(shared), a)
    assert np.shares_memory(np.asarray(Tensor.from_dlpack(a)), a)
    assert Tensor.from_numpy(a[::2]).tolist() == [9, 2, 4]
    assert Tensor.from_numpy(np.arange(3, dtype=">i4")).tolist() == [0, 1, 2]
    assert Tensor.from_numpy(a.astype(ml_dtypes.bfloat16)).numpy().dtype == ml_dtypes.bfloat16
    with pytest.raises(UsageError, match="strides"):
        Tensor.from_numpy(a[::2], copy=False)
    with pytest.raises(UsageError):
        Tensor.from_numpy([1, 2])  # type: ignore[arg-type]
    with pytest.raises(UsageError):
        Tensor.from_dlpack([1, 2])


def test_buffers() -> None:
    raw = bytearray(np.arange(6, dtype=np.int16).tobytes())
    t = Tensor.from_buffer(raw, int16, (2, 3))
    raw[0] = 7
    assert t.tolist() == [[7, 1, 2], [3, 4, 5]]
    assert Tensor.from_buffer(b"", int64).shape == (0,)
    assert Tensor.from_buffer(bytes([0, 1, 3]), bool_).tolist() == [False, True, True]
    assert Tensor.from_buffer(memoryview(bytes(9))[1:], int64).tolist() == [0]
    with pytest.raises(UsageError, match="expected a multiple of"):
        Tensor.from_buffer(b"abc", int16)
    with pytest.raises(UsageError, match="shape"):
        Tensor.from_buffer(b"abcd", int16, (3,))
    with pytest.raises(UsageError, match="buffer"):
        Tensor.from_buffer([1], int8)


def test_values_go_out_without_a_copy_and_cannot_be_written() -> None:
    x = Tensor([1.0, 2.0]) * 2
    held = np.asarray(x)
    assert np.shares_memory(held, np.asarray(x))
    assert np.shares_memory(held, np.from_dlpack(x))
    with pytest.raises(ValueError, match="read-only"):
        held[0] = 5
    own = x.numpy()
    own[0] = 5
    assert x.tolist() == [2, 4]
    assert np.array(x, copy=True).flags.writeable
    capsule = _Old(x)
    assert np.from_dlpack(capsule).tolist() == [2, 4]


class _Old:
    """A consumer of the first DLPack, which does not know of memory that cannot be written."""

    def __init__(self, x: Tensor) -> None:
        self.x = x

    def __dlpack__(self, **_: Any) -> Any:
        return self.x.__dlpack__()

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.x.__dlpack_device__()


def test_several_values_are_computed_together() -> None:
    a, b = Tensor([1, 2]) + 1, Tensor([3, 4]) * 2
    assert a.realize(b) is a
    assert a.uop.op.name == b.uop.op.name == "Load"
