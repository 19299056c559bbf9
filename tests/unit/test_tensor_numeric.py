"""Activations, numeric functions, and axes of space: against numpy and against their definitions."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from soundline.impl.tensors.tensor import Tensor
from soundline.spec.dtypes import float16, float32, float64, int16, int32

from .tensor_cases import all_same, refused

RNG = np.random.default_rng(53)
SPECIAL = np.array([0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 1e-40, 3e38, -2.5], np.float32)
IMAGE = RNG.integers(-4, 5, (2, 4, 3, 5)).astype(np.float32)


def floats(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype(np.float32)


# Activations ------------------------------------------------------------------------------------------------------


def test_pieces_of_lines() -> None:
    x = np.array([-100, -3.5, -3, -1, -0.5, -0.25, 0.25, 0.5, 1, 2.75, 3, 6, 6.5, 100, np.nan], np.float32)
    t = Tensor(x)
    sixth = np.clip(x / np.float32(6) + np.float32(0.5), 0, 1)
    all_same(
        {
            "relu6": (t.relu6(), np.clip(x, 0, 6)),
            "relu6 of integers": (Tensor([-1, 4, 9]).relu6(), np.array([0, 4, 6], np.int32)),
            "hardtanh": (t.hardtanh(-2.0, 0.5), np.clip(x, -2, np.float32(0.5))),
            "hardsigmoid": (t.hardsigmoid(), sixth),
            "hardswish": (t.hardswish(), x * sixth),
            "hardshrink": (t.hardshrink(), np.where(abs(x) <= 0.5, np.float32(0), x)),
            "softshrink": (t.softshrink(), np.where(abs(x) <= 0.5, 0, x - np.copysign(np.float32(0.5), x))),
            "threshold": (t.threshold(0.5, -7.0), np.where(x <= 0.5, np.float32(-7), x)),
            "softsign": (t.softsign(), x / (1 + abs(x))),
            "prelu": (t.prelu(0.25), np.where(x < 0, x * np.float32(0.25), x)),
        },
        signs=False,
    )
    slopes = np.array([0.5, 2.0, 0.0, -1.0], np.float32)
    found = np.where(IMAGE < 0, IMAGE * slopes[:, None, None], IMAGE)
    all_same({"prelu by channel": (Tensor(IMAGE).prelu(slopes), found)}, signs=False)


def test_bends() -> None:
    x = np.array([-60, -3, -1, -0.1, -1e-4, 0, 1e-4, 0.1, 1, 3, 60], np.float32)
    t, wide = Tensor(x), x.astype(np.float64)
    soft = np.logaddexp(0, wide)
    low, alpha, scale = np.expm1(np.minimum(wide, 0)), 1.6732632423543772, 1.0507009873554805
    all_same(
        {
            "selu": (t.selu(), scale * np.where(wide > 0, wide, alpha * low)),
            "celu": (t.celu(2.0), np.where(wide > 0, wide, 2 * np.expm1(np.minimum(wide, 0) / 2))),
            "mish": (t.mish(), wide * np.tanh(soft)),
            "logsigmoid": (t.logsigmoid(), -np.logaddexp(0, -wide)),
            "glu": (Tensor(IMAGE).glu(1), IMAGE[:, :2] / (1 + np.exp(-IMAGE[:, 2:].astype(np.float64)))),
        },
        ulps=8,
    )
    large = np.array([-3, -1, 0, 1, 3], np.float32)
    all_same({"tanhshrink": (Tensor(large).tanhshrink(), large - np.tanh(large.astype(np.float64)))}, ulps=8)


# Functions of two numbers -----------------------------------------------------------------------------------------

PAIRS: dict[str, Any] = {
    "atan2": np.arctan2,
    "hypot": np.hypot,
    "logaddexp": np.logaddexp,
    "copysign": np.copysign,
}


@pytest.mark.parametrize("name", PAIRS)
def test_pairs_of_special_numbers(name: str) -> None:
    """As C has them: with signs of zeros, infinities, NaN, and what would overflow on the way."""
    x, y = (v.ravel() for v in np.meshgrid(SPECIAL, SPECIAL))
    found = getattr(Tensor(x), name)(Tensor(y))
    with np.errstate(all="ignore"):
        wanted = PAIRS[name](x, y)
        value = found.numpy()
        apart = abs(value - wanted) <= 4 * np.spacing(abs(wanted))
    same = (value == wanted) | apart | (np.isnan(value) & np.isnan(wanted))
    assert same.all(), (x[~same], y[~same], value[~same])
    numbers = ~np.isnan(wanted)
    assert (np.signbit(value) == np.signbit(wanted))[numbers].all()
    all_same({name: (found, value)})


def test_pairs_broadcast_and_promote() -> None:
    x = Tensor([[3], [5]]).hypot(Tensor([4.0, 12.0]))
    all_same({"hypot": (x, np.hypot([[3], [5]], [4, 12]))}, ulps=2)
    assert x.dtype is float64
    assert Tensor([1, 2], int16).atan2(2).dtype is float32
    assert Tensor([1.0], float16).logaddexp(0.0).dtype is float16


def test_nan_to_num() -> None:
    t = Tensor(SPECIAL)
    all_same(
        {
            "default": (t.nan_to_num(), np.nan_to_num(SPECIAL)),
            "given": (t.nan_to_num(7.0, 1.0, -2.0), np.nan_to_num(SPECIAL, nan=7, posinf=1, neginf=-2)),
            "integers": (Tensor([1, -2]).nan_to_num(), np.array([1, -2], np.int32)),
        }
    )


# Differences and products -----------------------------------------------------------------------------------------


def test_differences_and_products() -> None:
    x, y = IMAGE[0], IMAGE[1]
    a, b = RNG.integers(-9, 9, (2, 3, 4)), RNG.integers(-9, 9, (3, 1))
    all_same(
        {
            "diff": (Tensor(x).diff(), np.diff(x)),
            "diff twice": (Tensor(x).diff(2, 1), np.diff(x, 2, 1)),
            "diff of nothing left": (Tensor(x).diff(9), np.diff(x, 9)),
            "kron": (Tensor(x[0]).kron(y[1]), np.kron(x[0], y[1])),
            "kron of ranks": (Tensor(x[0]).kron(y[1, 0]), np.kron(x[0], y[1, 0])),
            "cross": (Tensor(a).cross(b, 1), np.cross(a, np.broadcast_to(b, a.shape), axis=1)),
            "names": (Tensor(a).swapaxes(0, 2).astype(float32), a.swapaxes(0, 2).astype(np.float32)),
            "broadcast_to": (Tensor(b).broadcast_to(2, 3, 4), np.broadcast_to(b, (2, 3, 4))),
        },
        signs=False,
    )


def test_directions() -> None:
    x, y = floats(3, 4, 5), floats(3, 4, 5)
    wide, other = x.astype(np.float64), y.astype(np.float64)
    lengths = np.linalg.norm(wide, axis=1), np.linalg.norm(other, axis=1)
    cosine = (wide * other).sum(1) / (lengths[0] * lengths[1])
    assert abs(Tensor(x).cosine_similarity(y, 1).numpy() - cosine).max() < 1e-6
    all_same({"normalize": (Tensor(x).normalize(1), wide / lengths[0][:, None])}, ulps=4)
    assert Tensor.zeros(3).normalize(0).tolist() == [0.0, 0.0, 0.0]
    assert Tensor.zeros(3).cosine_similarity(Tensor.ones(3), 0).item() == 0.0


# Order ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("axis", [None, 0, -1])
def test_quantiles(axis: int | None) -> None:
    x = RNG.integers(-9, 9, (4, 5)).astype(np.float32)
    with_nan = x.copy()
    with_nan[2, 3] = np.nan
    pairs = {
        f"{q}": (Tensor(x).quantile(q, axis), np.quantile(x, q, axis=axis).astype(np.float32))
        for q in (0.0, 0.25, 0.625, 1.0)
    }
    pairs["median"] = Tensor(with_nan).median(axis, True), np.median(with_nan, axis=axis, keepdims=True)
    pairs["of integers"] = Tensor(x, int32).median(axis), np.median(x.astype(np.int32), axis=axis)
    all_same(pairs, signs=False)


def test_search_and_counts() -> None:
    line, values = np.array([1, 3, 3, 3, 8]), np.array([[0, 1, 3], [4, 8, 9]])
    numbers, weights = np.array([0, 2, 2, 5, 1, 2, -1, 7]), floats(8)
    kept = (numbers >= 0) & (numbers < 6)
    all_same(
        {
            "left": (Tensor(line).searchsorted(values), np.searchsorted(line, values)),
            "right": (Tensor(line).searchsorted(values, True), np.searchsorted(line, values, "right")),
            "of one": (Tensor(line).searchsorted(3), np.searchsorted(line, 3)),
            "isin": (Tensor(values).isin(line), np.isin(values, line)),
            "isin of NaN": (Tensor(SPECIAL).isin([np.nan, 0.0]), np.isin(SPECIAL, [np.nan, 0.0])),
            "isin of none": (Tensor(values).isin(np.zeros(0, np.int64)), np.zeros((2, 3), bool)),
            "bincount": (Tensor(numbers).bincount(6), np.bincount(numbers[kept], minlength=6)),
        }
    )
    found = Tensor(numbers).bincount(6, weights).numpy()
    assert abs(found - np.bincount(numbers[kept], weights[kept], 6)).max() < 1e-6


# Space ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mode", "numpy_mode"), [("reflect", "reflect"), ("replicate", "edge"), ("circular", "wrap")]
)
def test_borders_made_of_the_tensor(mode: str, numpy_mode: Any) -> None:
    widths = [(0, 0), (3, 1), (2, 0), (1, 4)]
    all_same({mode: (Tensor(IMAGE).pad_with(widths, mode), np.pad(IMAGE, widths, numpy_mode))})


TRANSPOSED: list[dict[str, Any]] = [
    {},
    {"stride": 2},
    {"stride": (2, 3), "padding": 1, "output_padding": (1, 2)},
    {"dilation": (2, 1), "padding": (1, 0)},
    {"groups": 2, "stride": 2},
]


def spread_over(
    x: np.ndarray, w: np.ndarray, stride: Any, padding: Any, more: Any, step: Any, groups: int
) -> np.ndarray:
    """Each element spreads the weights over its window, by the definition."""
    (n, c, h, width), (_, m, k, span) = x.shape, w.shape
    rows = (h - 1) * stride[0] + (k - 1) * step[0] + 1 + more[0]
    columns = (width - 1) * stride[1] + (span - 1) * step[1] + 1 + more[1]
    out = np.zeros((n, m * groups, rows, columns), x.dtype)
    for channel in range(c):
        first = channel // (c // groups) * m
        for i in range(h):
            for j in range(width):
                top, left = i * stride[0], j * stride[1]
                down, across = top + (k - 1) * step[0] + 1, left + (span - 1) * step[1] + 1
                part = x[:, channel, i, j][:, None, None, None] * w[channel]
                out[:, first : first + m, top : down : step[0], left : across : step[1]] += part
    return out[:, :, padding[0] : rows - padding[0], padding[1] : columns - padding[1]]


@pytest.mark.parametrize("options", TRANSPOSED, ids=str)
def test_transposed_convolutions(options: dict[str, Any]) -> None:
    groups = options.get("groups", 1)
    w, b = RNG.integers(-3, 4, (4, 3, 2, 3)).astype(np.float32), floats(3 * groups)
    pairs = [
        options.get(k, d) for k, d in (("stride", 1), ("padding", 0), ("output_padding", 0), ("dilation", 1))
    ]
    stride, padding, more, step = ((v, v) if isinstance(v, int) else v for v in pairs)
    wanted = spread_over(IMAGE, w, stride, padding, more, step, groups)
    t = Tensor(IMAGE)
    all_same(
        {
            "plain": (t.conv_transpose2d(w, **options), wanted),
            "bias": (t.conv_transpose2d(w, b, **options), wanted + b[:, None, None]),
        },
        signs=False,
    )


def test_a_transposed_convolution_is_the_adjoint() -> None:
    x, w = floats(1, 2, 7), floats(3, 2, 3)
    image = Tensor(x)
    value = image.conv1d(w, stride=2, padding=1)
    seed = Tensor(RNG.integers(-3, 4, value.shape).astype(np.float32))
    (back,) = (value * seed).sum().gradient(image)
    again = seed.conv_transpose1d(w, stride=2, padding=1)
    assert abs(back.numpy() - again.numpy()).max() < 1e-5


def parts(size: int, count: int) -> list[slice]:
    return [slice(k * size // count, math.ceil((k + 1) * size / count)) for k in range(count)]


@pytest.mark.parametrize("size", [1, (2, 3), (3, 5), (4, 7)])
def test_adaptive_pooling(size: Any) -> None:
    h, w = (size, size) if isinstance(size, int) else size
    cells = [[IMAGE[:, :, a, b] for b in parts(5, w)] for a in parts(3, h)]
    wanted = {
        name: np.stack([np.stack([f(c, axis=(2, 3)) for c in row], -1) for row in cells], 2)
        for name, f in (("avg", np.mean), ("max", np.max))
    }
    t = Tensor(IMAGE)
    all_same({"max": (t.adaptive_max_pool2d(size), wanted["max"])})
    assert abs(t.adaptive_avg_pool2d(size).numpy() - wanted["avg"]).max() < 1e-5


def test_pooling_of_sequences() -> None:
    x = IMAGE[:, :, 0]
    wide = np.pad(x, ((0, 0), (0, 0), (1, 1)), constant_values=-np.inf)
    greatest = np.stack([wide[:, :, k : k + 3].max(-1) for k in range(0, 5, 2)], -1)
    means = np.stack([x[:, :, k : k + 2].sum(-1) / np.float32(2) for k in (0, 2)], -1)
    all_same(
        {
            "max": (Tensor(x).max_pool1d(3, 2, 1), greatest),
            "mean": (Tensor(x).avg_pool1d(2), means),
        },
        signs=False,
    )


@pytest.mark.parametrize("corners", [False, True])
def test_linear_interpolation(corners: bool) -> None:
    """Along one axis it is numpy's; along two, first one and then the other."""
    for target in (1, 3, 4, 7, 10):
        if corners:
            place = np.linspace(0, 4, target) if target > 1 else np.zeros(1)
        else:
            place = (np.arange(target) + 0.5) * 5 / target - 0.5
        wanted = np.apply_along_axis(lambda row, at=place: np.interp(at, np.arange(5), row), -1, IMAGE)
        found = Tensor(IMAGE).interpolate((3, target), "linear", corners)
        assert abs(found.numpy() - wanted).max() < 2e-6, target
    both = Tensor(IMAGE).interpolate((6, 8), "linear", corners).numpy()
    rows = Tensor(IMAGE).interpolate((6, 5), "linear", corners).interpolate((6, 8), "linear", corners).numpy()
    assert (both == rows).all()


def test_other_sizes() -> None:
    places = [np.arange(7) * 3 // 7, np.arange(2) * 5 // 2]
    x = RNG.integers(0, 9, (1, 8, 2, 3)).astype(np.float32)
    squares = x.reshape(1, 2, 2, 2, 2, 3).transpose(0, 1, 4, 2, 5, 3).reshape(1, 2, 4, 6)
    pair = IMAGE[:, :, 0]
    apart = pair - pair.mean(-1, keepdims=True, dtype=np.float64)
    normal = apart / np.sqrt((apart**2).mean(-1, keepdims=True) + 1e-5)
    all_same(
        {
            "nearest": (Tensor(IMAGE).interpolate((7, 2)), IMAGE[:, :, places[0]][..., places[1]]),
            "pixels": (Tensor(x).pixel_shuffle(2), squares),
        }
    )
    assert abs(Tensor(pair).instance_norm().numpy() - normal).max() < 1e-5


# Losses -----------------------------------------------------------------------------------------------------------


def test_losses() -> None:
    x, y = floats(3, 4), floats(3, 4)
    apart = abs(x.astype(np.float64) - y)
    huber = np.where(apart <= 0.7, apart**2 / 2, 0.7 * (apart - 0.35))
    p, logs = np.array([[0.5, 0.5, 0.0], [0.1, 0.2, 0.7]]), np.log([[0.25, 0.5, 0.25], [0.3, 0.3, 0.4]])
    with np.errstate(all="ignore"):
        divergence = np.where(p > 0, p * (np.log(p) - logs), 0).sum(1).mean()
    u, v = np.array([0.0, 0.25, 1.0, 0.5]), np.array([1.0, 0.0, 1.0, 0.5])
    with np.errstate(all="ignore"):
        each = -(v * np.maximum(np.log(u), -100) + (1 - v) * np.maximum(np.log(1 - u), -100))
    single = [a.astype(np.float32) for a in (logs, p, u, v)]
    found = {
        "l1": (Tensor(x).l1_loss(y), apart.mean()),
        "huber": (Tensor(x).huber_loss(y, 0.7), huber.mean()),
        "smooth": (Tensor(x).smooth_l1_loss(y, 0.7), huber.mean() / 0.7),
        "divergence": (Tensor(single[0]).kl_div(single[1]), divergence),
        "entropy": (Tensor(single[2]).binary_cross_entropy(single[3]), each.mean()),
    }
    all_same(found, ulps=8)


# Wrong turns ------------------------------------------------------------------------------------------------------

WRONG: dict[str, Callable[[], Any]] = {
    "prelu": lambda: Tensor(IMAGE).prelu([1.0, 2.0]),
    "glu": lambda: Tensor(IMAGE).glu(2),
    "diff": lambda: Tensor([True, False]).diff(),
    "cross": lambda: Tensor(IMAGE).cross(IMAGE),
    "quantile": lambda: Tensor(IMAGE).quantile(1.5),
    "searchsorted": lambda: Tensor(IMAGE).searchsorted(1.0),
    "bincount": lambda: Tensor([1.0]).bincount(3),
    "pad_with": lambda: Tensor(IMAGE).pad_with([(0, 0), (0, 0), (3, 0), (0, 0)], "reflect"),
    "conv_transpose2d": lambda: Tensor(IMAGE).conv_transpose2d(IMAGE),
    "conv_transpose1d": lambda: Tensor(IMAGE).conv_transpose1d(IMAGE),
    "max_pool1d": lambda: Tensor(IMAGE).max_pool1d(2),
    "avg_pool1d": lambda: Tensor(IMAGE).avg_pool1d(2),
    "adaptive_avg_pool2d": lambda: Tensor(IMAGE[0]).adaptive_avg_pool2d(2),
    "adaptive_max_pool2d": lambda: Tensor(IMAGE).adaptive_max_pool2d((2, 0)),
    "interpolate": lambda: Tensor(IMAGE).interpolate(4, "cubic"),
    "pixel_shuffle": lambda: Tensor(IMAGE).pixel_shuffle(3),
    "instance_norm": lambda: Tensor(IMAGE[0, 0]).instance_norm(),
    "huber_loss": lambda: Tensor(IMAGE).huber_loss(IMAGE, 0.0),
    "kl_div": lambda: Tensor(IMAGE).kl_div(IMAGE[0]),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_cannot_be_is_refused(name: str) -> None:
    refused(name, WRONG[name])


@pytest.mark.parametrize(("mode", "most"), [("reflect", 2), ("circular", 3)])
def test_a_border_is_at_most_as_wide_as_the_tensor(mode: str, most: int) -> None:
    x = Tensor([1.0, 2.0, 3.0])
    assert x.pad_with([(most, 0)], mode).shape == (3 + most,)
    refused("pad_with", lambda: x.pad_with([(most + 1, 0)], mode))
    refused("pad_with", lambda: x.pad_with([(0, -1)], mode))


def test_an_output_padding_is_less_than_a_step() -> None:
    w = np.zeros((4, 1, 2, 2), np.float32)
    assert Tensor(IMAGE).conv_transpose2d(w, stride=2, output_padding=1).shape == (2, 1, 7, 11)
    refused("conv_transpose2d", lambda: Tensor(IMAGE).conv_transpose2d(w, stride=2, output_padding=2))
