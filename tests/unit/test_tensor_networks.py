"""Convolutions, normalizations, attention, losses and gradients of Tensor: against numpy and central differences."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import soundline as sl
from soundline.impl.arrays import storage
from soundline.impl.program.compile import compile  # noqa: A004
from soundline.impl.tensors.numerics.derivatives import stated
from soundline.impl.tensors.tensor import Tensor
from soundline.spec.dtypes import float32, float64
from soundline.spec.errors import GradientError, UsageError
from soundline.spec.evaluate import evaluate
from soundline.spec.gradients.backward import gradient as law_of_gradients
from soundline.spec.uop import Op, param, toposort

from .tensor_cases import all_same, law, refused

RNG = np.random.default_rng(66)


def whole(*shape: int) -> np.ndarray:
    """Small whole numbers as float32: sums and products of them are exact in any order."""
    return RNG.integers(-4, 5, shape).astype(np.float32)


def correlated(
    x: np.ndarray,
    w: np.ndarray,
    stride: tuple[int, int],
    pad: tuple[int, int],
    step: tuple[int, int],
    groups: int,
) -> np.ndarray:
    """A convolution by its definition."""
    x = np.pad(x, ((0, 0), (0, 0), (pad[0],) * 2, (pad[1],) * 2))
    (n, _, h, width), (m, per, k, span) = x.shape, w.shape
    rows = (h - (k - 1) * step[0] - 1) // stride[0] + 1
    columns = (width - (span - 1) * step[1] - 1) // stride[1] + 1
    out = np.zeros((n, m, rows, columns), x.dtype)
    for o in range(m):
        first = o // (m // groups) * per
        for i in range(rows):
            for j in range(columns):
                top, left = i * stride[0], j * stride[1]
                part = x[
                    :,
                    first : first + per,
                    top : top + k * step[0] : step[0],
                    left : left + span * step[1] : step[1],
                ]
                out[:, o, i, j] = (part * w[o]).sum((1, 2, 3))
    return out


CONVOLUTIONS: dict[str, tuple[tuple[int, ...], tuple[int, ...], dict[str, Any]]] = {
    "plain": ((2, 3, 5, 6), (4, 3, 3, 2), {}),
    "strides": ((1, 2, 7, 7), (2, 2, 3, 3), {"stride": 2}),
    "a border": ((1, 2, 4, 5), (3, 2, 3, 3), {"padding": (1, 2)}),
    "dilated": ((1, 1, 7, 6), (1, 1, 3, 2), {"dilation": (2, 3)}),
    "groups": ((1, 4, 4, 4), (6, 2, 2, 2), {"groups": 2}),
    "by channel": ((1, 3, 4, 4), (3, 1, 3, 3), {"groups": 3, "padding": 1}),
    "all at once": ((2, 2, 8, 9), (2, 1, 3, 3), {"stride": (2, 3), "padding": 2, "dilation": 2, "groups": 2}),
    "of one element": ((1, 2, 3, 3), (2, 2, 1, 1), {}),
}


def test_convolutions() -> None:
    pairs: dict[str, tuple[Tensor, Any]] = {}
    for name, (shape, kernel, options) in CONVOLUTIONS.items():
        x, w, b = whole(*shape), whole(*kernel), whole(kernel[0])
        both = {k: (v, v) if isinstance(v, int) else v for k, v in options.items() if k != "groups"}
        expected = correlated(
            x,
            w,
            both.get("stride", (1, 1)),
            both.get("padding", (0, 0)),
            both.get("dilation", (1, 1)),
            options.get("groups", 1),
        )
        pairs[name] = Tensor(x).conv2d(w, **options), expected
        pairs[f"{name} with bias"] = Tensor(x).conv2d(w, b, **options), expected + b[:, None, None]
    x, w = whole(2, 3, 9), whole(4, 3, 3)
    line = correlated(x[:, :, None], w[:, :, None], (1, 2), (0, 1), (1, 1), 1)[:, :, 0]
    pairs["one axis"] = Tensor(x).conv1d(w, stride=2, padding=1), line
    all_same(pairs, signs=False)


def test_pooling() -> None:
    x = whole(2, 3, 6, 7)
    windows = np.lib.stride_tricks.sliding_window_view(x, (2, 3), (2, 3))
    border = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)), constant_values=-np.inf)
    wide = np.lib.stride_tricks.sliding_window_view(border, (3, 3), (2, 3))[:, :, ::2, ::2]
    zeros = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    rows = np.lib.stride_tricks.sliding_window_view(zeros, (2, 2), (2, 3))[:, :, ::2, ::2]
    ones = np.lib.stride_tricks.sliding_window_view(np.pad(np.ones((6, 7)), 1), (2, 2))[::2, ::2]
    total, counts = rows.sum((-1, -2)), ones.sum((-1, -2)).astype(np.float32)
    all_same(
        {
            "max": (Tensor(x).max_pool2d((2, 3)), windows[:, :, ::2, ::3].max((-1, -2))),
            "max of all": (Tensor(x).max_pool2d((2, 3), 1), windows.max((-1, -2))),
            "max with a border": (Tensor(x).max_pool2d(3, 2, 1), wide.max((-1, -2))),
            "max of integers": (
                Tensor(x.astype(np.int32)).max_pool2d(2),
                x.astype(np.int32)[:, :, :, :6].reshape(2, 3, 3, 2, 3, 2).max((3, 5)),
            ),
            "mean": (
                Tensor(x).avg_pool2d(2),
                x[..., :6].reshape(2, 3, 3, 2, 3, 2).sum((3, 5)) / np.float32(4),
            ),
            "mean with a border": (Tensor(x).avg_pool2d(2, 2, 1), total / np.float32(4)),
            "mean without a border": (Tensor(x).avg_pool2d(2, 2, 1, count_include_pad=False), total / counts),
        }
    )


def test_normalizations() -> None:
    x, w, b = RNG.standard_normal((2, 4, 3)), RNG.standard_normal(3), RNG.standard_normal(3)
    c, d = RNG.standard_normal(4), RNG.standard_normal(4)

    def plain(v: np.ndarray, axis: Any) -> np.ndarray:
        return (v - v.mean(axis, keepdims=True)) / np.sqrt(v.var(axis, keepdims=True) + 1e-5)

    grouped = plain(x.reshape(2, 2, 6), -1).reshape(x.shape)
    t = Tensor(x)
    found = {
        "layer": (t.layer_norm(-1, w, b), plain(x, -1) * w + b),
        "layer of two": (t.layer_norm((-2, -1)), plain(x, (1, 2))),
        "rms": (t.rms_norm(-1, w), x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-5) * w),
        "group": (t.group_norm(2, c, d), grouped * c[:, None] + d[:, None]),
        "batch": (t.batch_norm(weight=c, bias=d), plain(x, (0, 2)) * c[:, None] + d[:, None]),
        "batch as known": (
            t.batch_norm(c, abs(d), eps=0.5),
            (x - c[:, None]) / np.sqrt(abs(d)[:, None] + 0.5),
        ),
    }
    for name, (ours, theirs) in found.items():
        np.testing.assert_allclose(ours.numpy(), theirs, rtol=1e-12, atol=1e-13, err_msg=name)
        assert np.array_equal(law(ours.uop).to_numpy(), ours.numpy())
    assert Tensor(x.astype(np.float16)).layer_norm(-1).dtype.name == "float16"


def attended(q: np.ndarray, k: np.ndarray, v: np.ndarray, mask: np.ndarray) -> np.ndarray:
    scores = np.where(mask, q @ k.swapaxes(-1, -2) / math.sqrt(q.shape[-1]), -np.inf)
    power = np.exp(scores - scores.max(-1, keepdims=True))
    return power / power.sum(-1, keepdims=True) @ v


def test_attention() -> None:
    q, k, v = (
        RNG.standard_normal((2, 2, 4, 3)),
        RNG.standard_normal((2, 2, 5, 3)),
        RNG.standard_normal((2, 2, 5, 2)),
    )
    every = np.ones((4, 5), bool)
    some = RNG.random((4, 5)) < 0.6
    some[:, 0] = True
    added = np.where(some, 0.0, -np.inf)
    t = Tensor(q)
    for ours, mask in (
        (t.scaled_dot_product_attention(k, v), every),
        (t.scaled_dot_product_attention(k, v, some), some),
        (t.scaled_dot_product_attention(k, v, added), some),
        (t.scaled_dot_product_attention(k, v, is_causal=True), np.tril(every)),
        ((t * 2).scaled_dot_product_attention(k, v, scale=0.5 / math.sqrt(3)), every),
    ):
        np.testing.assert_allclose(ours.numpy(), attended(q, k, v, mask), rtol=1e-12)


def test_losses() -> None:
    x, y = RNG.standard_normal((4, 3)), np.array([2, 0, 1, 1])
    logs = x - np.log(np.exp(x).sum(1, keepdims=True))
    picked = -logs[np.arange(4), y].mean()
    hot = np.eye(3)[y] * 0.9 + 0.1 / 3
    for ours, theirs in (
        (Tensor(x).cross_entropy(y), picked),
        (Tensor(x.T.copy()).cross_entropy(y, axis=0), picked),
        (Tensor(x).cross_entropy(hot), -(logs * hot).sum(1).mean()),
        (Tensor(logs).nll_loss(y), picked),
        (Tensor(x).mse_loss(hot), ((x - hot) ** 2).mean()),
        (
            Tensor(x).binary_cross_entropy_with_logits(hot),
            (np.log1p(np.exp(x)) - x * hot).mean(),
        ),
    ):
        assert ours.item() == pytest.approx(theirs, rel=1e-12)


MISTAKES: dict[str, tuple[str, Callable[[], Any]]] = {
    "conv2d": ("conv2d", lambda: Tensor.ones(1, 2, 3).conv2d(np.ones((1, 2, 3, 3), np.float32))),
    "channels": ("conv2d", lambda: Tensor.ones(1, 2, 3, 3).conv2d(np.ones((1, 3, 3, 3), np.float32))),
    "a window too large": (
        "conv2d",
        lambda: Tensor.ones(1, 1, 2, 2).conv2d(np.ones((1, 1, 3, 3), np.float32)),
    ),
    "stride": ("conv2d", lambda: Tensor.ones(1, 1, 2, 2).conv2d(np.ones((1, 1, 1, 1), np.float32), stride=0)),
    "padding": ("max_pool2d", lambda: Tensor.ones(1, 1, 2, 2).max_pool2d(1, padding=(1, 1, 1))),
    "max_pool2d": ("max_pool2d", lambda: Tensor.ones(2, 2).max_pool2d(2)),
    "avg_pool2d": ("avg_pool2d", lambda: Tensor.ones(2, 2).avg_pool2d(2)),
    "layer_norm": ("layer_norm", lambda: Tensor([1, 2]).layer_norm()),
    "rms_norm": ("rms_norm", lambda: Tensor([1, 2]).rms_norm()),
    "group_norm": ("group_norm", lambda: Tensor.ones(1, 3, 2).group_norm(2)),
    "batch_norm": ("batch_norm", lambda: Tensor.ones(1, 3).batch_norm(mean=[1.0, 2.0, 3.0])),
    "per channel": ("normalization", lambda: Tensor.ones(1, 3).batch_norm(weight=[1.0])),
    "attention": (
        "attention",
        lambda: Tensor.ones(2, 3).scaled_dot_product_attention(np.ones((2, 4)), np.ones((2, 3))),
    ),
    "attention of two masks": (
        "attention",
        lambda: Tensor.ones(2, 2).scaled_dot_product_attention(
            np.eye(2), np.eye(2), np.eye(2), is_causal=True
        ),
    ),
    "nll_loss": ("nll_loss", lambda: Tensor.ones(2, 3).nll_loss([0.5, 1.0])),
    "cross_entropy": ("cross_entropy", lambda: Tensor.ones(2, 3).cross_entropy([0, 1, 2])),
    "gradient of integers": ("gradient", lambda: Tensor([1, 2]).sum().gradient(Tensor([1.0]))),
    "gradient by integers": ("gradient", lambda: Tensor([1.0]).sum().gradient(Tensor([1]))),
    "gradient of a vector": ("gradient", lambda: Tensor([1.0, 2.0]).gradient(Tensor([1.0]))),
    "a seed of another shape": (
        "gradient",
        lambda: Tensor([1.0, 2.0]).gradient(Tensor([1.0]), gradient=[1.0]),
    ),
    "assign": ("assign", lambda: Tensor([1.0]).assign([1.0, 2.0])),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes_are_named(name: str) -> None:
    refused(*MISTAKES[name])


# Gradients --------------------------------------------------------------------------------------------------------

PLACES = np.array([[0, 2, 1], [1, 1, 0]])

DIFFERENTIABLE: dict[str, Callable[[Tensor], Tensor]] = {
    "exp": lambda x: x.exp(),
    "log": lambda x: (x * x + 1.0).log(),
    "log1p": lambda x: (x * x).log1p(),
    "expm1": lambda x: x.expm1(),
    "sqrt and rsqrt": lambda x: (x * x + 1.0).sqrt() + (x * x + 2.0).rsqrt(),
    "powers": lambda x: x**3 + 2.0**x + (x * x + 1.0) ** 1.5,
    "angles": lambda x: x.sin() * x.cos() + x.tan() + x.atan(),
    "hyperbolic": lambda x: x.sinh() + x.cosh() + x.tanh() + x.asinh(),
    "erf": lambda x: x.erf(),
    "sigmoid": lambda x: x.sigmoid() + x.softplus(),
    "silu and gelu": lambda x: x.silu() + x.gelu() + x.gelu("tanh"),
    "elu": lambda x: x.elu() + x.leaky_relu(),
    "clip": lambda x: x.clip(-0.4, 0.6) + abs(x) + x.relu(),
    "softmax": lambda x: x.softmax(-1) * Tensor([1.0, 2.0, 4.0]),
    "log_softmax": lambda x: x.log_softmax(0),
    "logsumexp": lambda x: x.logsumexp(1),
    "sums": lambda x: x.sum(0) * x.mean() + x.var(1, keepdim=True).sum() + x.std() + x.norm(),
    "prod": lambda x: x.prod(1),
    "max": lambda x: x.max(1) + x.min(0).sum(),
    "scans": lambda x: x.cumsum(1) + x.cumprod(0) + x.cummax(1),
    "matmul": lambda x: x @ x.T + (x @ Tensor([1.0, 2.0, 3.0])),
    "einsum": lambda x: Tensor.einsum("ij,kj->ik", x, x * x),
    "movement": lambda x: x.T.flip(0).pad(((1, 0), (0, 1)))[1:, ::-1].roll(1, 0).reshape(-1) ** 2,
    "cat": lambda x: Tensor.cat(x, x * x, axis=1) * Tensor.stack(x, x).reshape(2, 6),
    "indexing": lambda x: x[:, [0, 0, 2]] * x[[1], None],
    "gather": lambda x: x.gather(1, PLACES) * x,
    "take by what is computed": lambda x: x.take(Tensor(PLACES).sum(0) % 2, 0).sum(0) * x,
    "scatter": lambda x: x.scatter_add(1, PLACES, x * x) + x.scatter(1, PLACES[:, :2], x * 3.0),
    "order": lambda x: x.sort(1)[0] * Tensor([1.0, 10.0, 100.0]),
    "triangles": lambda x: x.tril() + x.triu(1) * 2.0 + x.diagonal().sum(),
    "layer_norm": lambda x: x.layer_norm(-1) * Tensor([1.0, 2.0, 4.0]) + x.rms_norm() ** 3,
    "conv2d": lambda x: x.reshape(1, 1, 2, 3).conv2d(np.array([[[[1.0, 2], [3, 4]]]]), padding=1) ** 2,
    "pools": lambda x: x.reshape(1, 1, 2, 3).max_pool2d(2, 1, 1) + x.reshape(1, 1, 2, 3).avg_pool2d(2, 1, 1),
    "attention": lambda x: x.scaled_dot_product_attention(x, x * x, is_causal=True),
    "cross_entropy": lambda x: x.cross_entropy([2, 0]),
    "where": lambda x: (x > 0.0).where(x * x, -x),
    "casts": lambda x: x.cast(float32).cast(float64) * 2.0,
}


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_gradients_are_the_laws_and_near_central_differences(name: str) -> None:
    fn = DIFFERENTIABLE[name]
    point = RNG.uniform(0.15, 0.95, (2, 3)) * np.where(RNG.random((2, 3)) < 0.5, -1, 1)

    def total(x: Tensor) -> Tensor:
        y = fn(x)
        return (y * (y.constant(1.0) if y.ndim == 0 else (y.place(-1).cast(float64) + 1.0))).sum()

    x = Tensor(point)
    (found,) = total(x).gradient(x)
    p = param(0, float64, (2, 3))
    (by_law,) = law_of_gradients(total(Tensor.of(p)).uop, [p], stated=stated)
    (derived,) = law_of_gradients(total(Tensor.of(p)).uop, [p])
    held = {n.arg.slot: storage.contents(n) for n in toposort(Op.Tuple(by_law, derived)) if n.op is Op.Buffer}
    step = 1e-3 if name == "casts" else 1e-6
    way = RNG.standard_normal((2, 3))
    ends = Tensor.stack(total(Tensor(point + step * way)), total(Tensor(point - step * way)))
    above, below = ends.realize(found).numpy()
    assert evaluate(by_law, {0: point}, held).to_numpy().tobytes() == found.numpy().tobytes()
    other = evaluate(
        derived, {0: point}, held
    ).to_numpy()  # another rounding, where a composition states its adjoint
    assert np.allclose(found.numpy(), other, rtol=1e-6 if name == "casts" else 1e-13, atol=1e-13)
    tolerance = 1e-3 if name == "casts" else 1e-6
    wanted = (above - below) / (2 * step)
    assert abs((found.numpy() * way).sum() - wanted) <= tolerance * (1 + abs(wanted))


SLOPES: dict[str, float] = {
    "sigmoid": 0.25,
    "erf": 2 / math.sqrt(math.pi),
    "softplus": 0.5,
    "gelu": 0.5,
    "silu": 0.5,
    "relu": 0.5,
    "abs": 0.0,
    **dict.fromkeys(("tanh", "sin", "asinh", "atan", "expm1", "log1p"), 1.0),
}


def test_slopes_at_zero() -> None:
    x = Tensor([0.0], float64)
    found = [getattr(x, name)().sum().gradient(x)[0] for name in SLOPES]
    np.testing.assert_allclose(Tensor.cat(*found).numpy(), list(SLOPES.values()), rtol=1e-14)


def test_backward_adds_up_where_gradients_are_asked_for() -> None:
    w, b, x = Tensor([1.0, 2.0], requires_grad=True), Tensor([0.5], requires_grad=True), Tensor([3.0, 4.0])
    loss = ((w * x + b) ** 2).sum()
    assert loss.requires_grad
    assert w.is_leaf
    assert not loss.is_leaf
    assert not x.requires_grad
    assert loss.item() == 12.25 + 72.25
    loss.backward()
    assert w.grad is not None
    assert b.grad is not None
    assert x.grad is None
    assert (w.grad.tolist(), b.grad.tolist()) == ([21.0, 68.0], [24.0])
    assert not w.grad.requires_grad
    (w * 2.0).sum().backward()
    assert w.grad.tolist() == [23.0, 70.0]
    assert b.grad.tolist() == [24.0]


def test_a_gradient_passes_through_values_that_were_computed() -> None:
    w = Tensor([2.0], requires_grad=True)
    h = (w * w).realize()
    assert h.requires_grad
    assert not h.is_leaf
    y = (h * h).realize()
    y.sum().backward()
    assert w.grad is not None
    assert w.grad.item() == 32.0
    w.realize()
    assert w.is_leaf
    (w * 5.0).sum().backward()
    assert w.grad.item() == 37.0


def test_a_leaf_that_is_computed_stays_the_same_leaf() -> None:
    w = (Tensor([1.0]) + 1.0).requires_grad_()
    before = w * 3.0
    w.realize()
    (before * w).sum().backward()
    assert w.grad is not None
    assert w.grad.item() == 12.0
    assert (before * w).sum().gradient(w)[0].item() == 12.0
    for _ in range(3):
        w.assign(w.detach() * 2.0).realize()
    assert len(list(toposort(w.uop))) < 6, "how it was made is forgotten"


def test_equal_leaves_are_two() -> None:
    a, b = Tensor(2.0, requires_grad=True), Tensor(2.0, requires_grad=True)
    (a * a * b).backward()
    assert a.grad is not None
    assert b.grad is not None
    assert (a.grad.item(), b.grad.item()) == (8.0, 4.0)


def test_what_is_detached_gets_no_gradient() -> None:
    w = Tensor([3.0], requires_grad=True)
    (w * w.detach()).sum().backward()
    assert w.grad is not None
    assert w.grad.item() == 3.0
    with sl.no_grad():
        paused = w * 2.0
        assert not paused.requires_grad
        again = Tensor([1.0], requires_grad=True)
    assert w.requires_grad
    assert again.requires_grad
    with pytest.raises(UsageError, match="no tensor with requires_grad"):
        paused.sum().backward()
    with pytest.raises(UsageError):
        w.backward(gradient=[1.0, 2.0])
    w.requires_grad_(False)
    assert not w.requires_grad
    assert w.grad is None
    with pytest.raises(UsageError, match="floats"):
        Tensor([1], requires_grad=True)


def test_a_tensor_may_begin_to_ask() -> None:
    x = Tensor([1.0, 2.0]) * 3.0
    assert x.requires_grad_() is x
    number = x.uop
    assert x.requires_grad_().uop is number, "it asks already"
    (x * x).sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [6.0, 12.0]


def test_a_step_of_descent() -> None:
    x, y = RNG.standard_normal((20, 3)), RNG.standard_normal(20)
    w = Tensor(np.zeros(3), requires_grad=True)
    theirs = np.zeros(3)
    for _ in range(5):
        w.grad = None
        Tensor(x).matmul(w).mse_loss(y).backward()
        with sl.no_grad():
            assert w.grad is not None
            w.assign(w - 0.1 * w.grad).realize()
        theirs -= 0.1 * 2 * x.T @ (x @ theirs - y) / 20
        assert w.is_leaf
        assert w.requires_grad
    np.testing.assert_allclose(w.numpy(), theirs, rtol=1e-12)


def test_a_step_can_be_compiled_and_captured_weights_are_leaves() -> None:
    def step(w: Tensor, x: Tensor) -> tuple[Tensor, Tensor]:
        loss = (x @ w).sigmoid().sum()
        (slope,) = loss.gradient(w)
        return loss, w - slope

    w, x = RNG.standard_normal(3), RNG.standard_normal((4, 3))
    _, moved = compile(step, w, x)(w, x)
    s = 1 / (1 + np.exp(-x @ w))
    np.testing.assert_allclose(moved, w - x.T @ (s * (1 - s)), rtol=1e-12)

    held = Tensor(w, requires_grad=True)

    @sl.function
    def layer(v: Tensor) -> Tensor:
        return v @ held

    out = layer(Tensor(x)).sum()
    assert out.requires_grad
    out.backward()
    assert held.grad is not None
    np.testing.assert_allclose(held.grad.numpy(), x.sum(0), rtol=1e-14)


def test_a_call_has_no_gradient() -> None:
    p = param(0, float64, (2,))
    x = Tensor([1.0, 2.0], float64, requires_grad=True)
    called = Op.GetTuple(Op.Call(Op.Tuple(Op.Mul(p, p)), x.uop), arg=0)
    with pytest.raises(GradientError):
        Tensor.of(called).sum().backward()
