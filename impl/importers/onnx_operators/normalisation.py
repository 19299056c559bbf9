"""
Normalizations
==============

Elements less a mean, over a deviation, by a scale and plus a bias: the operators differ in what the mean is taken over.
Narrow floats are computed in float32 and rounded once.
"""

from __future__ import annotations

from soundline.impl.arrays.promotion import accumulated
from soundline.impl.importers.onnx_operators.pooling import p_norm
from soundline.impl.importers.reading.node import Node, Refusal, operator
from soundline.impl.tensors.tensor import Tensor


def _centred(x: Tensor, axes: list[int], epsilon: float) -> tuple[Tensor, Tensor, Tensor]:
    """(x - mean)/√(variance + ε), the mean, and 1/√(variance + ε)."""
    mean = x.mean(axes, keepdim=True)
    apart = x - mean
    inverse = ((apart * apart).mean(axes, keepdim=True) + epsilon).sqrt().reciprocal()
    return apart * inverse, mean, inverse


def _per_channel(values: Tensor, rank: int) -> Tensor:
    return values.reshape(1, values.size, *([1] * (rank - 2)))


@operator("BatchNormalization")
def batch_normalization(node: Node) -> list[Tensor | None]:
    """Over the batch and the image; at inference with the mean and variance that are given."""
    x = node[0]
    epsilon, momentum = node.number("epsilon", 1e-5), node.number("momentum", 0.9)
    node.ignore("consumed_inputs")
    if node.opset < 7 and not node.flag("is_test", False):
        raise Refusal("training")
    if node.opset < 9 and not node.flag("spatial", True):
        raise Refusal("a mean for every place of the image")
    home = accumulated(x.dtype)
    scale, bias, mean, variance = (node[k].cast(home) for k in range(1, 5))
    real = x.cast(home)
    training = node.flag("training_mode", False)
    current, spread = mean, variance
    if training:
        axes = [k for k in range(x.ndim) if k != 1]
        current = real.mean(axes)
        apart = real - _per_channel(current, x.ndim)
        spread = (apart * apart).mean(axes)
    inverse = (spread + epsilon).sqrt().reciprocal()
    y = (real - _per_channel(current, x.ndim)) * _per_channel(scale * inverse, x.ndim)
    y = (y + _per_channel(bias, x.ndim)).cast(x.dtype)
    if not training:
        return [y, *[None] * 4]
    running = [
        (old * momentum + new * (1.0 - momentum)).cast(node[k].dtype)
        for k, old, new in ((3, mean, current), (4, variance, spread))
    ]
    return [y, *running]


@operator("InstanceNormalization")
def instance_normalization(node: Node) -> Tensor:
    """Over each image of each channel."""
    x = node[0]
    home = accumulated(x.dtype)
    y, _, _ = _centred(x.cast(home), list(range(2, x.ndim)), node.number("epsilon", 1e-5))
    scale, bias = (_per_channel(node[k].cast(home), x.ndim) for k in (1, 2))
    node.ignore("consumed_inputs")
    return (y * scale + bias).cast(x.dtype)


@operator("LayerNormalization")
def layer_normalization(node: Node) -> list[Tensor]:
    """Over the axes from one on."""
    x = node[0]
    axis = node.integer("axis", -1) % x.ndim
    home = accumulated(x.dtype) if node.integer("stash_type", 1) == 1 else x.dtype
    y, mean, inverse = _centred(x.cast(home), list(range(axis, x.ndim)), node.number("epsilon", 1e-5))
    y = y.cast(x.dtype) * node[1]
    bias = node.get(2)
    return [y if bias is None else y + bias, mean, inverse]


@operator("RMSNormalization")
def rms_normalization(node: Node) -> Tensor:
    """x over the root of the mean of its squares, over the axes from one on."""
    x = node[0]
    axis = node.integer("axis", -1) % x.ndim
    home = accumulated(x.dtype) if node.integer("stash_type", 1) == 1 else x.dtype
    real = x.cast(home)
    mean = (real * real).mean(list(range(axis, x.ndim)), keepdim=True)
    root = (mean + node.number("epsilon", 1e-5)).sqrt()
    return (real / root).cast(x.dtype) * node[1]


@operator("GroupNormalization")
def group_normalization(node: Node) -> Tensor:
    """Over each group of channels."""
    x, groups = node[0], node.integer("num_groups")
    home = accumulated(x.dtype)
    node.ignore("stash_type")
    n, c = x.shape[:2]
    parts = x.cast(home).reshape(n, groups, c // groups, *x.shape[2:])
    y, _, _ = _centred(parts, list(range(2, parts.ndim)), node.number("epsilon", 1e-5))
    scale, bias = node[1].cast(home), node[2].cast(home)
    if node.opset < 21:  # one scale for each group
        shape = (1, groups, *([1] * (parts.ndim - 2)))
        return (y * scale.reshape(shape) + bias.reshape(shape)).reshape(x.shape).cast(x.dtype)
    y = y.reshape(x.shape)
    return (y * _per_channel(scale, x.ndim) + _per_channel(bias, x.ndim)).cast(x.dtype)


@operator("MeanVarianceNormalization")
def mean_variance_normalization(node: Node) -> Tensor:
    """Over given axes, with a deviation that is kept from 0."""
    x = node[0]
    axes = node.integers("axes")
    axes = [0, 2, 3] if axes is None else [a % x.ndim for a in axes]
    real = x.cast(accumulated(x.dtype))
    apart = real - real.mean(axes, keepdim=True)
    deviation = (apart * apart).mean(axes, keepdim=True).sqrt()
    return (apart / (deviation + 1e-9)).cast(x.dtype)


@operator("LpNormalization")
def lp_normalization(node: Node) -> Tensor:
    """x over its p-norm along an axis; 0 where that is 0."""
    x = node[0]
    axis, p = node.integer("axis", -1) % x.ndim, node.integer("p", 2)
    real = x.cast(accumulated(x.dtype))
    size = p_norm(real, p, [axis], keepdim=True)
    return (size == 0.0).where(0.0, real / (size == 0.0).where(1.0, size)).cast(x.dtype)
