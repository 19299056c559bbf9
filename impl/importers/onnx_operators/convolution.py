"""
Convolutions
============

A convolution is the products of every window with the weights, summed over channels and window, ascending; narrow
floats in float32, rounded once. Its transpose is a convolution of the spread input with the mirrored weights.
"""

from __future__ import annotations

from soundline.impl.arrays.promotion import accumulated
from soundline.impl.importers.onnx_operators.quantisation import quantized, zero_point_of
from soundline.impl.importers.onnx_operators.windows import windows_of
from soundline.impl.importers.reading.node import Node, Refusal, operator
from soundline.impl.tensors.methods.convolutions import convolved
from soundline.impl.tensors.methods.windows import Window, padded, spread
from soundline.impl.tensors.tensor import Tensor
from soundline.spec.dtypes import float32, int32


def _kernel(node: Node, weights: Tensor) -> list[int]:
    sizes = list(weights.shape[2:])
    if node.integers("kernel_shape") not in (None, sizes):
        raise Refusal(f"the kernel is {sizes}, not {node.integers('kernel_shape')}")
    return sizes


def _convolved(x: Tensor, weights: Tensor, windows: list[Window], groups: int) -> Tensor:
    """The sums of a convolution, by the one program that every convolution is (`tensors.convolutions`)."""
    c, (m, per_group) = x.shape[1], weights.shape[:2]
    if groups < 1 or c != per_group * groups or m % groups:
        raise Refusal(f"{c} channels in {groups} groups of {per_group}, for {m} channels")
    return convolved(x, weights, windows, groups)


@operator("Conv")
def conv(node: Node) -> Tensor:
    """The convolution, plus a bias per output channel."""
    x, weights, bias = node[0], node[1], node.get(2)
    home = accumulated(x.dtype)
    windows = windows_of(node, x.shape[2:], _kernel(node, weights))
    result = _convolved(x.cast(home), weights.cast(home), windows, node.integer("group", 1))
    if bias is not None:
        result = result + _per_channel(bias.cast(home), result)
    return result.cast(x.dtype)


def _per_channel(values: Tensor, like: Tensor) -> Tensor:
    return values.reshape(-1, *([1] * (like.ndim - 2)))


@operator("ConvInteger")
def conv_integer(node: Node) -> Tensor:
    """The convolution of integers less their zero points, in int32."""
    x, weights = node[0], node[1]
    windows = windows_of(node, x.shape[2:], _kernel(node, weights))
    shifted = x.cast(int32) - zero_point_of(node.get(2), x, axis=1)
    filters = weights.cast(int32) - zero_point_of(node.get(3), weights, axis=0)
    return _convolved(shifted, filters, windows, node.integer("group", 1))


@operator("QLinearConv")
def q_linear_conv(node: Node) -> Tensor:
    """The convolution of quantized tensors, quantized again."""
    x, weights, bias = node[0], node[3], node.get(8)
    windows = windows_of(node, x.shape[2:], _kernel(node, weights))
    shifted = x.cast(int32) - zero_point_of(node[2], x, axis=1)
    filters = weights.cast(int32) - zero_point_of(node[5], weights, axis=0)
    total = _convolved(shifted, filters, windows, node.integer("group", 1))
    if bias is not None:
        total = total + _per_channel(bias, total)
    scale = node[1].reshape(()) * node[4] / node[6].reshape(())
    factor = _per_channel(scale, total) if scale.size > 1 else scale.reshape(())
    return quantized(total.cast(float32) * factor, Tensor(1.0, float32), node[7].reshape(()))


@operator("ConvTranspose")
def conv_transpose(node: Node) -> Tensor:
    """The transpose of a convolution: each element spreads the weights over its window."""
    x, weights, bias = node[0], node[1], node.get(2)
    kernel = _kernel(node, weights)
    groups, rank = node.integer("group", 1), len(kernel)
    strides = node.integers("strides") or [1] * rank
    dilations = node.integers("dilations") or [1] * rank
    extra = node.integers("output_padding") or [0] * rank
    pads = _cropped(node, x, kernel, strides, dilations, extra)
    home = accumulated(x.dtype)
    c, m = weights.shape[:2]
    mirrored = weights.cast(home).reshape(groups, c // groups, m, *kernel)
    mirrored = mirrored.transpose(1, 2).reshape(groups * m, c // groups, *kernel)
    mirrored = mirrored.flip(list(range(2, 2 + rank)))
    wide = spread(x.cast(home), strides)
    reach = [(k - 1) * d for k, d in zip(kernel, dilations, strict=True)]
    widths = [(r - a, r - b + e) for r, (a, b), e in zip(reach, pads, extra, strict=True)]
    wide = padded(wide, [(0, 0), (0, 0), *widths], 0)
    windows = [
        Window(k, 1, d, 0, 0, s - (k - 1) * d)
        for k, d, s in zip(kernel, dilations, wide.shape[2:], strict=True)
    ]
    result = _convolved(wide, mirrored, windows, groups)
    if bias is not None:
        result = result + _per_channel(bias.cast(home), result)
    return result.cast(x.dtype)


def _cropped(
    node: Node, x: Tensor, kernel: list[int], strides: list[int], dilations: list[int], extra: list[int]
) -> list[tuple[int, int]]:
    """How much of the full result is cut off before and after each axis."""
    rank = len(kernel)
    auto, shape = node.text("auto_pad", "NOTSET"), node.integers("output_shape")
    given = node.integers("pads")
    if shape is None and auto in ("SAME_UPPER", "SAME_LOWER"):
        shape = [s * t for s, t in zip(x.shape[2:], strides, strict=True)]
    if shape is None:
        pads = given if given is not None and auto == "NOTSET" else [0] * (2 * rank)
        return [(pads[k], pads[rank + k]) for k in range(rank)]
    found = []
    for k, size in enumerate(shape[-rank:]):
        full = strides[k] * (x.shape[2 + k] - 1) + extra[k] + (kernel[k] - 1) * dilations[k] + 1
        total = full - size
        half = max(total, 0) // 2
        found.append((half, total - half) if auto == "SAME_UPPER" or total < 0 else (total - half, half))
    return found
