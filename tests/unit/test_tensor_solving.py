"""Linear algebra by elimination, and what losses and poolings take as torch's do."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import soundline as sl
from soundline.impl.tensors.tensor import Tensor

from .tensor_cases import all_same, refused

RNG = np.random.default_rng(3)
A = RNG.standard_normal((2, 4, 4))
B = RNG.standard_normal((4, 3))
S = A @ A.swapaxes(-1, -2) + 4 * np.eye(4)
LOW = np.tril(A[0])


def close(found: Tensor, expected: Any, bound: float = 1e-12) -> None:
    value = found.numpy()
    assert value.shape == np.shape(expected)
    np.testing.assert_allclose(value, expected, rtol=bound, atol=bound)


FOUND: dict[str, tuple[Callable[[], Tensor], Any]] = {
    "det": (lambda: Tensor(A).det(), np.linalg.det(A)),
    "sign": (lambda: Tensor(A).slogdet()[0], np.linalg.slogdet(A)[0]),
    "log of det": (lambda: Tensor(A).slogdet()[1], np.linalg.slogdet(A)[1]),
    "inv": (lambda: Tensor(A).inv(), np.linalg.inv(A)),
    "solve": (lambda: Tensor(A[0]).solve(B), np.linalg.solve(A[0], B)),
    "solve a batch": (lambda: Tensor(A).solve(B), np.linalg.solve(A, B)),
    "solve a vector": (lambda: Tensor(A[0]).solve(B[:, 0]), np.linalg.solve(A[0], B[:, 0])),
    "cholesky": (lambda: Tensor(S).cholesky(), np.linalg.cholesky(S)),
    "cholesky, upper": (lambda: Tensor(S).cholesky(upper=True), np.linalg.cholesky(S).swapaxes(-1, -2)),
    "triangular": (lambda: Tensor(A[0]).solve_triangular(B), np.linalg.solve(LOW, B)),
    "triangular, upper": (
        lambda: Tensor(A[0]).solve_triangular(B, upper=True),
        np.linalg.solve(np.triu(A[0]), B),
    ),
    "triangular, unit": (
        lambda: Tensor(A[0]).solve_triangular(B[:, 0], unitriangular=True),
        np.linalg.solve(np.tril(A[0], -1) + np.eye(4), B[:, 0]),
    ),
    **{
        f"power {n}": (lambda n=n: Tensor(A[0]).matrix_power(n), np.linalg.matrix_power(A[0], n))
        for n in (-2, 0, 1, 5, 6)
    },
    **{
        f"norm {p}": (lambda p=p: Tensor(A).norm(ord=p), np.linalg.norm(A.reshape(-1), p))
        for p in (0, 1, 2, 3)
    },
    **{
        f"norm {p} of rows": (lambda p=p: Tensor(A).norm(dim=-1, p=p), np.linalg.norm(A, p, -1))
        for p in (0.5, math.inf, -math.inf)
    },
    "of integers": (lambda: Tensor([[1, 2], [3, 4]]).inv(), np.linalg.inv(np.array([[1, 2], [3, 4]]))),
    "integers to a power": (lambda: Tensor([[1, 2], [3, 4]]).matrix_power(5), [[1069, 1558], [2337, 3406]]),
    "one element": (lambda: Tensor([[4.0]]).inv(), [[0.25]]),
    "no element": (lambda: Tensor(np.zeros((3, 0, 0))).det(), np.ones(3)),
    "rows exchanged": (lambda: Tensor([[0.0, 2.0], [1.0, 0.0]]).inv(), [[0, 1], [0.5, 0]]),
    "an odd exchange": (lambda: Tensor([[0.0, 2.0], [1.0, 0.0]]).det(), -2.0),
    "a small pivot": (lambda: Tensor([[1e-20, 1.0], [1.0, 1.0]]).solve([1.0, 2.0]), [1.0, 1.0]),
    "a great pivot below 0": (lambda: Tensor([[1e-20, 1.0], [-1.0, 1.0]]).solve([1.0, 2.0]), [-1.0, 1.0]),
    "singular": (lambda: Tensor([[1.0, 2.0], [2.0, 4.0]]).det(), 0.0),
    "singular at once": (lambda: Tensor([[0.0, 0.0], [1.0, 2.0]]).det(), 0.0),
}


@pytest.mark.parametrize("name", FOUND)
def test_it_is_what_numpy_has(name: str) -> None:
    made, expected = FOUND[name]
    close(made(), expected, 1e-6 if made().dtype is sl.float32 else 1e-12)


def test_values_are_not_errors() -> None:
    assert not np.isfinite(Tensor([[1.0, 2.0], [2.0, 4.0]]).inv().numpy()).any()
    assert np.isnan(Tensor([[1.0, 2.0], [2.0, 1.0]]).cholesky().numpy()[1, 1])
    assert Tensor([[1.0, 2.0], [2.0, 4.0]]).slogdet()[1].item() == -math.inf
    narrow = Tensor(S[0], dtype="bfloat16").inv()
    assert narrow.dtype is sl.bfloat16


def test_gradients_pass() -> None:
    one = np.ones((4, 3))
    inverse = np.linalg.inv(A[0])
    pairs = []
    for call, expected in (
        (lambda x: x.det(), np.linalg.det(A[0]) * inverse.T),
        (lambda x: x.slogdet()[1], inverse.T),
        (lambda x: (x.inv() * A[1]).sum(), -inverse.T @ A[1] @ inverse.T),
        (lambda x: x.solve(B).sum(), -inverse.T @ one @ (inverse @ B).T),
        (lambda x: Tensor(A[0]).solve(x[:, :3]).sum(), np.pad(inverse.T @ one, ((0, 0), (0, 1)))),
    ):
        x = Tensor(A[0], requires_grad=True)
        call(x).backward()
        assert x.grad is not None
        pairs.append((x.grad, expected))
    for found, expected in pairs:
        close(found, expected, 1e-9)


def test_a_step_is_compiled_once() -> None:
    program = sl.compile(lambda x: x.inv(), np.eye(9))
    other = sl.compile(lambda x: x.inv(), np.eye(3))
    assert len(program.kernels) - 9 == len(other.kernels) - 3, (
        "each step has its number, and no kernel of its own"
    )
    close(Tensor(program(np.eye(9) * 2)), np.eye(9) / 2)


REFUSED: dict[str, tuple[str, Callable[[], Any]]] = {
    "det": ("det", lambda: Tensor(B).det()),
    "a vector": ("inv", lambda: Tensor([1.0]).inv()),
    "rows": ("solve", lambda: Tensor(A).solve([1.0, 2.0])),
    "a number": ("solve_triangular", lambda: Tensor(A).solve_triangular(1.0)),
    "cholesky": ("cholesky", lambda: Tensor(B).cholesky()),
    "power": ("matrix_power", lambda: Tensor(B).matrix_power(2)),
    "norm": ("norm", lambda: Tensor(B).norm(ord="nuc")),
    "a size": (
        "inv",
        lambda: sl.compile(lambda x: x.inv(), sl.Signature("float32", (sl.Variable("n", 1, 3),) * 2)),
    ),
    "mse_loss": ("mse_loss", lambda: Tensor(B).mse_loss(B, reduction="max")),
    "kl_div": ("kl_div", lambda: Tensor(B).kl_div(B, reduction="all")),
}


@pytest.mark.parametrize("name", REFUSED)
def test_mistakes_are_named(name: str) -> None:
    refused(*REFUSED[name])


# Losses and poolings ----------------------------------------------------------------------------------------------

LOSSES: dict[str, tuple[Callable[..., Tensor], Any]] = {
    "mse_loss": (lambda x, **k: x.mse_loss(0.25, **k), ()),
    "l1_loss": (lambda x, **k: x.l1_loss(0.25, **k), ()),
    "huber_loss": (lambda x, **k: x.huber_loss(0.25, 0.5, **k), ()),
    "smooth_l1_loss": (lambda x, **k: x.smooth_l1_loss(0.25, 0.5, **k), ()),
    "binary_cross_entropy": (lambda x, **k: x.sigmoid().binary_cross_entropy(0.25, **k), ()),
    "binary_cross_entropy_with_logits": (lambda x, **k: x.binary_cross_entropy_with_logits(0.25, **k), ()),
    "nll_loss": (lambda x, **k: x.nll_loss([0, 2, 1, 1], **k), -1),
    "cross_entropy": (lambda x, **k: x.cross_entropy([0, 2, 1, 1], **k), -1),
    "cross_entropy of probabilities": (lambda x, **k: x.cross_entropy(np.full((4, 3), 1 / 3), **k), -1),
    "kl_div": (lambda x, **k: x.kl_div(np.full((4, 3), 1 / 3), **k), -1),
}


@pytest.mark.parametrize("name", LOSSES)
def test_losses_are_reduced_as_asked(name: str) -> None:
    loss, dropped = LOSSES[name]
    x = Tensor(B)
    each = loss(x, reduction="none").numpy()
    assert each.shape == (B.shape if dropped == () else B.shape[:1])
    close(loss(x, reduction="sum"), each.sum())
    close(loss(x, reduction="mean"), each.mean())
    close(loss(x), each.mean())
    if name == "kl_div":
        close(loss(x, reduction="batchmean"), each.mean())


def pooled(x: Any, kernel: int, stride: int, pad: int, ceil: bool, how: str) -> list[Any]:
    """A pooling of one row, as torch documents it."""
    size = len(x)
    room = size + 2 * pad - kernel
    count = (math.ceil(room / stride) if ceil else room // stride) + 1
    if ceil and (count - 1) * stride >= size + pad:
        count -= 1
    found = []
    for k in range(count):
        begin = k * stride - pad
        end = min(begin + kernel, size + pad)
        inside = x[max(begin, 0) : min(end, size)]
        if how == "max":
            found.append(max(inside))
        else:
            found.append(sum(inside) / (end - begin if how == "mean" else len(inside)))
    return found


@pytest.mark.parametrize(
    "shape", [(5, 2, 2, 0), (6, 3, 2, 1), (7, 3, 3, 1), (8, 2, 3, 1), (4, 3, 4, 1), (9, 4, 3, 2)]
)
def test_poolings_round_up_where_asked(shape: tuple[int, int, int, int]) -> None:
    size, kernel, stride, pad = shape
    row = np.arange(1, size + 1, dtype=np.float64) * [(-1) ** k for k in range(size)]
    x = Tensor(row.reshape(1, 1, size))
    for ceil in (False, True):
        for how, call in (
            ("max", lambda ceil: x.max_pool1d(kernel, stride, pad, ceil_mode=ceil)),
            ("mean", lambda ceil: x.avg_pool1d(kernel, stride, pad, ceil_mode=ceil)),
            ("real", lambda ceil: x.avg_pool1d(kernel, stride, pad, count_include_pad=False, ceil_mode=ceil)),
        ):
            close(call(ceil), np.reshape(pooled(row, kernel, stride, pad, ceil, how), (1, 1, -1)))


def test_poolings_of_images_round_up_each_axis() -> None:
    x = np.arange(30, dtype=np.float32).reshape(1, 1, 5, 6)
    wide = np.full((1, 1, 6, 6), -np.inf, np.float32)
    wide[:, :, :5] = x
    all_same(
        {
            "max": (
                Tensor(x).max_pool2d(kernel_size=2, ceil_mode=True),
                wide.reshape(1, 1, 3, 2, 3, 2).max((3, 5)),
            ),
            "without": (Tensor(x).max_pool2d(2), x[:, :, :4].reshape(1, 1, 2, 2, 3, 2).max((3, 5))),
        }
    )
