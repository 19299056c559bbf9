"""
Activations
===========

Functions of one number with parameters, as neural networks use them.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable

from soundline.impl.arrays.promotion import accumulated
from soundline.impl.importers.onnx_operators.reductions import position_of_greatest
from soundline.impl.importers.reading.node import Node, Operator, Refusal, along, number_line, operator
from soundline.impl.tensors.numerics import gates, normal, special
from soundline.impl.tensors.tensor import Tensor

ELU = 1.0
SELU_ALPHA, SELU_GAMMA = 1.67326319217681884765625, 1.05070102214813232421875


def _simple(name: str, fn: Callable[[Tensor], Tensor]) -> Operator:
    def translation(node: Node) -> Tensor:
        if node.opset < 6:
            node.ignore("consumed_inputs")
        return fn(node[0])

    return operator(name)(functools.wraps(fn)(translation))


def hard_swish(x: Tensor) -> Tensor:
    """x · max(0, min(1, x/6 + ½))."""
    return x * (x / 6.0 + 0.5).minimum(1.0).maximum(0.0)


FAMILY = (
    _simple("Relu", lambda x: x.relu()),
    _simple("Sigmoid", special.logistic),
    _simple("Softplus", special.softplus),
    _simple("Softsign", gates.softsign),
    _simple("Mish", gates.mish),
    _simple("HardSwish", hard_swish),
)
"""The operators of one operand without attributes."""


def _below_zero(x: Tensor, low: Tensor) -> Tensor:
    return (x < 0).where(low, x)


@operator("LeakyRelu")
def leaky_relu(node: Node) -> Tensor:
    """α·x below 0."""
    return _below_zero(node[0], node[0] * node.number("alpha", 0.01))


@operator("PRelu")
def p_relu(node: Node) -> Tensor:
    """slope·x below 0; before version 7 there is one slope for each channel."""
    x, slope = node[0], node[1]
    if node.opset < 7 and slope.ndim == 1 and x.ndim > 1:
        slope = slope.reshape(slope.size, *([1] * (x.ndim - 2)))
    return _below_zero(x, x * slope)


@operator("Elu")
def elu(node: Node) -> Tensor:
    """α·(e^x - 1) below 0."""
    return _below_zero(node[0], special.expm1(node[0]) * node.number("alpha", ELU))


@operator("Celu")
def celu(node: Node) -> Tensor:
    """α·(e^(x/α) - 1) below 0."""
    alpha = node.number("alpha", 1.0)
    return _below_zero(node[0], special.expm1(node[0] / alpha) * alpha)


@operator("Selu")
def selu(node: Node) -> Tensor:
    """γ·α·(e^x - 1) up to 0, γ·x above."""
    alpha, gamma = node.number("alpha", SELU_ALPHA), node.number("gamma", SELU_GAMMA)
    x = node[0]
    return (x <= 0).where(special.expm1(x) * alpha, x) * gamma


@operator("ThresholdedRelu")
def thresholded_relu(node: Node) -> Tensor:
    """x above α, else 0."""
    x = node[0]
    return (x > node.number("alpha", 1.0)).where(x, 0.0)


@operator("Shrink")
def shrink(node: Node) -> Tensor:
    """x + bias below -λ, x - bias above λ, else 0."""
    x, bias, end = node[0], node.number("bias", 0.0), node.number("lambd", 0.5)
    real = x.cast(accumulated(x.dtype))
    if not x.dtype.is_float:
        if not (bias.is_integer() and math.isfinite(bias)):
            raise Refusal("a bias that is not an integer, on integers")
        low, high = x + int(bias), x - int(bias)
        zero: float = 0
    else:
        low, high, zero = x + bias, x - bias, 0.0
    return (real < -end).where(low, (real > end).where(high, zero))


@operator("HardSigmoid")
def hard_sigmoid(node: Node) -> Tensor:
    """max(0, min(1, α·x + β))."""
    alpha, beta = node.number("alpha", 0.2), node.number("beta", 0.5)
    return (node[0] * alpha + beta).minimum(1.0).maximum(0.0)


@operator("Gelu")
def gelu(node: Node) -> Tensor:
    """x·Φ(x), Φ being the normal distribution; with `tanh`, its approximation."""
    kind = node.text("approximate", "none")
    if kind not in ("none", "tanh"):
        raise Refusal(f"the approximation {kind!r} is not supported")
    return normal.gelu(node[0]) if kind == "none" else gates.gelu_by_tanh(node[0])


@operator("Swish")
def swish(node: Node) -> Tensor:
    """x · sigmoid(α·x)."""
    return node[0] * special.logistic(node[0] * node.number("alpha", 1.0))


# Along an axis ----------------------------------------------------------------------------------------------------


def _as_rows(node: Node, fn: Callable[[Tensor, int], Tensor]) -> Tensor:
    """Apply along an axis; before version 13, along all axes from that one on."""
    x = node[0]
    if node.opset >= 13:
        axis = node.integer("axis", -1)
        return fn(x, axis % x.ndim if x.ndim else axis)
    axis = node.integer("axis", 1)
    axis = axis + x.ndim if axis < 0 else axis
    rows = math.prod(x.shape[:axis])
    return fn(x.reshape(rows, math.prod(x.shape[axis:])), 1).reshape(x.shape)


@operator("Softmax")
def softmax(node: Node) -> Tensor:
    """e^x over its sum; each step is rounded to the dtype, as in the function of the standard."""
    return _as_rows(node, lambda x, axis: x.softmax(axis))


@operator("LogSoftmax")
def log_softmax(node: Node) -> Tensor:
    """The logarithm of the softmax."""
    return _as_rows(node, lambda x, axis: x.log_softmax(axis))


@operator("Hardmax")
def hardmax(node: Node) -> Tensor:
    """1 at the first greatest element, else 0."""

    def marked(x: Tensor, axis: int) -> Tensor:
        place = position_of_greatest(x, axis, last=False)
        return (along(number_line(x.shape[axis]), axis, x.ndim) == place).cast(x.dtype)

    return _as_rows(node, marked)
