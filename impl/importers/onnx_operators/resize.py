"""
Resizing
========

An axis of another size: every element of the result lies at a coordinate of the source, and is the nearest element
there or the sum of its neighbours, weighted by a function of their distance. Sizes are known when the model is read, so
the weights are constants, and an axis is resized by one product with a matrix, of which the zeros are left out.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from soundline.impl.analysis.sums import reduced
from soundline.impl.arrays.promotion import accumulated
from soundline.impl.importers.onnx_operators.movement import taken
from soundline.impl.importers.reading.node import Arrays, Node, Refusal, along, operator, stored
from soundline.impl.tensors.tensor import Tensor
from soundline.spec.dtypes import bool_
from soundline.spec.uop import Op


@dataclass(frozen=True, slots=True)
class Axis:
    """How one axis is resized."""

    size: int
    target: int
    scale: float
    start: float = 0.0
    """The part of the source that is resized, as fractions of it."""
    end: float = 1.0


def coordinates(axis: Axis, mode: str) -> Arrays:
    """Where in the source each element of the result lies."""
    x = np.arange(axis.target, dtype=np.float64)
    length = axis.size * axis.scale
    centred = (x + 0.5) / axis.scale - 0.5
    match mode:
        case "half_pixel":
            return centred
        case "half_pixel_symmetric":
            return axis.size / 2 * (1 - axis.target / length) + centred
        case "pytorch_half_pixel":
            return centred if axis.target > 1 else np.zeros_like(x)
        case "tf_half_pixel_for_nn":
            return (x + 0.5) / axis.scale
        case "asymmetric":
            return x / axis.scale
        case "align_corners":
            return x * (axis.size - 1) / (length - 1) if length != 1 else np.zeros_like(x)
        case "tf_crop_and_resize":
            part, last = axis.end - axis.start, axis.size - 1
            inside = x * part * last / (length - 1) if length != 1 else np.full_like(x, part * last / 2)
            return axis.start * last + inside
    raise Refusal(f"the coordinates {mode!r} are not supported")


def nearest(x: Arrays, mode: str) -> Arrays:
    """The integers nearest to coordinates; a half goes where the mode says."""
    match mode:
        case "round_prefer_floor":
            return np.ceil(x - 0.5)
        case "round_prefer_ceil":
            return np.floor(x + 0.5)
        case "floor":
            return np.floor(x)
        case "ceil":
            return np.ceil(x)
    raise Refusal(f"the rounding {mode!r} is not supported")


def triangle(t: Arrays) -> Arrays:
    """The weight at a distance of a linear interpolation."""
    found: Arrays = np.maximum(0.0, 1.0 - abs(t))
    return found


def cubic(t: Arrays, a: float) -> Arrays:
    """The weight at a distance of Keys' cubic convolution."""
    d = abs(t)
    near = ((a + 2) * d - (a + 3)) * d * d + 1
    far = ((a * d - 5 * a) * d + 8 * a) * d - 4 * a
    return np.where(d <= 1, near, np.where(d < 2, far, 0.0))


def weights(axis: Axis, x: Arrays, node: Node, mode: str) -> Arrays:
    """The matrix [target, size] of one axis. Outside the source is its edge, or with `exclude_outside` nothing."""
    squeeze = min(axis.scale, 1.0) if node.flag("antialias", False) else 1.0
    reach = math.ceil(2 / squeeze) + 1
    places = np.arange(-reach, axis.size + reach)
    distance = (x[:, None] - places) * squeeze
    a = node.number("cubic_coeff_a", -0.75)
    row = triangle(distance) if mode == "linear" else cubic(distance, a)
    outside = node.flag("exclude_outside", False)
    if outside:
        row = np.where((places >= 0) & (places < axis.size), row, 0.0)
    if outside or squeeze < 1.0:
        row = row / row.sum(1, keepdims=True)
    found = np.zeros((axis.target, axis.size))
    np.add.at(found.T, places.clip(0, axis.size - 1), row.T)
    return found


def weighted(x: Tensor, axis: int, matrix: Arrays) -> Tensor:
    """The sums over an axis with the weights of each row of a matrix; weights of 0 take nothing."""
    shape = [1] * (x.ndim + 1)
    shape[axis], shape[axis + 1] = matrix.shape
    factors = stored(matrix.reshape(shape), x.dtype)
    used = stored(matrix.reshape(shape) != 0.0, bool_)
    terms = used.where(x.unsqueeze(axis) * factors, -0.0)
    total = Tensor.of(reduced(terms.uop, Op.Add, [axis + 1]))
    return total.squeeze(axis + 1)


@operator("Resize")
def resize(node: Node) -> Tensor:
    """Every axis resized: by scales, or to sizes."""
    x, mode = node[0], node.text("mode", "nearest")
    if node.opset < 11:
        return _resized(node, x, _axes_by_scale(x, node.value(1)), mode, "asymmetric", "floor")
    node.ignore("cubic_coeff_a", "exclude_outside", "antialias", "nearest_mode", "extrapolation_value")
    where = node.text("coordinate_transformation_mode", "half_pixel")
    return _resized(node, x, _axes(node, x), mode, where, node.text("nearest_mode", "round_prefer_floor"))


@operator("Upsample")
def upsample(node: Node) -> Tensor:
    """Every axis resized by scales."""
    scales = np.array(node.attribute("scales")) if node.opset < 9 else node.value(1)
    mode = node.text("mode", "nearest")
    return _resized(node, node[0], _axes_by_scale(node[0], scales), mode, "asymmetric", "floor")


def _resized(node: Node, x: Tensor, axes: list[Axis], mode: str, where: str, rounding: str) -> Tensor:
    if mode not in ("nearest", "linear", "cubic"):
        raise Refusal(f"the mode {mode!r} is not supported")
    if mode != "nearest" and not x.dtype.is_float:
        raise Refusal(f"an interpolation of {x.dtype}")
    result = x.cast(accumulated(x.dtype))
    for k, axis in enumerate(axes):
        if (axis.size, axis.start, axis.end) == (axis.target, 0.0, 1.0) and axis.scale == 1.0:
            continue
        place = coordinates(axis, where)
        if mode == "nearest":
            result = taken(result, nearest(place, rounding).clip(0, axis.size - 1).astype(int), k)
        else:
            result = weighted(result, k, weights(axis, place, node, mode))
        if where == "tf_crop_and_resize":
            inside = along(stored((place >= 0) & (place <= axis.size - 1)), k, x.ndim)
            result = inside.where(result, Tensor(node.number("extrapolation_value", 0.0), result.dtype))
    return result.cast(x.dtype)


def _axes_by_scale(x: Tensor, scales: Arrays) -> list[Axis]:
    rows = zip(x.shape, np.asarray(scales, np.float64).tolist(), strict=True)
    return [Axis(size, math.floor(size * s), s) for size, s in rows]


def _axes(node: Node, x: Tensor) -> list[Axis]:
    """The axes as the operands roi, scales and sizes say, for those axes that are named."""
    given = node.integers("axes")
    named = [a % x.ndim for a in given] if given is not None else list(range(x.ndim))
    found = [Axis(s, s, 1.0) for s in x.shape]
    scales = node.get(2)
    policy = node.text("keep_aspect_ratio_policy", "stretch")
    sizes = [x.shape[a] for a in named]
    if scales is not None and scales.size:
        factors = [float(s) for s in node.value(2)]
        targets = [math.floor(n * s) for n, s in zip(sizes, factors, strict=True)]
    else:
        targets = node.values(3)
        factors = [t / n for n, t in zip(sizes, targets, strict=True)]
        if policy != "stretch":
            if policy not in ("not_larger", "not_smaller"):
                raise Refusal(f"the policy {policy!r} is not supported")
            factor = min(factors) if policy == "not_larger" else max(factors)
            factors = [factor] * len(named)
            targets = [math.floor(factor * n + 0.5) for n in sizes]
    roi = [0.0] * len(named) + [1.0] * len(named)
    if node.text("coordinate_transformation_mode", "half_pixel") == "tf_crop_and_resize":
        roi = [float(v) for v in node.value(1)]
    for k, a in enumerate(named):
        found[a] = Axis(x.shape[a], targets[k], factors[k], roi[k], roi[len(named) + k])
    return found
