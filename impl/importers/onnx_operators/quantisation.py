"""
Quantization
============

Numbers as small integers (or 8-bit floats) with a scale and a zero point: for the whole tensor, for each place of an
axis, or for each block of an axis.
"""

from __future__ import annotations

from soundline.impl.arrays.promotion import accumulated
from soundline.impl.importers.onnx_operators.casts import converted
from soundline.impl.importers.reading.node import Node, Refusal, axis_in, operator
from soundline.impl.tensors.numerics import special
from soundline.impl.tensors.tensor import Tensor
from soundline.spec.dtypes import DType, float32, int32, uint8


def zero_point_of(zero: Tensor | None, x: Tensor, *, axis: int) -> Tensor:
    """A zero point as int32: one, or one for each place of an axis of x."""
    if zero is None:
        return Tensor(0, int32)
    wide = zero.cast(int32)
    return wide.reshape(()) if wide.size == 1 else _laid(wide, x, axis)


def _laid(values: Tensor, x: Tensor, axis: int) -> Tensor:
    return values.reshape(tuple(values.size if k == axis else 1 for k in range(x.ndim)))


def _granular(node: Node, values: Tensor, x: Tensor, axis: int, block: int) -> Tensor:
    """Scales or zero points in the shape of x: of the tensor, of an axis, or of blocks of an axis."""
    if values.size == 1 and values.ndim <= 1:
        return values.reshape(())
    if not block:
        return _laid(values, x, axis)
    shape = values.shape
    repeated = values.unsqueeze(axis + 1).expand(*shape[: axis + 1], block, *shape[axis + 1 :])
    whole = repeated.reshape(*shape[:axis], shape[axis] * block, *shape[axis + 1 :])
    return whole.shrink([(0, s) for s in x.shape])


def _axis(node: Node, x: Tensor) -> tuple[int, int]:
    axis = axis_in(node, node.integer("axis", 1), x.ndim) if x.ndim > 1 else 0
    node.ignore("axis")
    return axis, node.integer("block_size", 0)


def quantized(real: Tensor, scale: Tensor, zero: Tensor, *, saturate: bool = True) -> Tensor:
    """x/scale rounded to even, plus the zero point, saturated; an 8-bit float is rounded by its cast."""
    target = zero.dtype
    ratio = real / scale
    if target.is_float:
        return converted(ratio, target, saturate=saturate)
    wide = special.round_half_even(ratio.cast(accumulated(ratio.dtype)))
    shifted = wide + zero.cast(wide.dtype)
    return shifted.cast(target)  # which saturates


@operator("QuantizeLinear")
def quantize_linear(node: Node) -> Tensor:
    """Numbers to the nearest steps of a scale."""
    x, scale, zero = node[0], node[1], node.get(2)
    axis, block = _axis(node, x)
    output = node.dtype("output_dtype", uint8 if zero is None else zero.dtype)
    precision: DType = node.dtype("precision", scale.dtype)
    saturate = node.flag("saturate", True)
    if zero is None:
        zero = Tensor(0, output) if not output.is_float else Tensor(0.0, output)
    real = x.cast(precision)
    steps = _granular(node, scale.cast(precision), x, axis, block)
    return quantized(real, steps, _granular(node, zero, x, axis, block), saturate=saturate)


@operator("DequantizeLinear")
def dequantize_linear(node: Node) -> Tensor:
    """(x - zero point) · scale."""
    x, scale, zero = node[0], node[1], node.get(2)
    axis, block = _axis(node, x)
    result = node.dtype("output_dtype", scale.dtype)
    steps = _granular(node, scale, x, axis, block)
    home = accumulated(scale.dtype)
    if x.dtype.is_float:
        return (x.cast(home) * steps.cast(home)).cast(result)
    wide = x.cast(int32)
    if zero is not None:
        wide = wide - _granular(node, zero.cast(int32), x, axis, block)
    return (wide.cast(home) * steps.cast(home)).cast(result)


@operator("DynamicQuantizeLinear")
def dynamic_quantize_linear(node: Node) -> list[Tensor]:
    """Numbers as uint8, with the scale and zero point that just hold them and 0."""
    x = node[0]
    low, high = x.min().minimum(0.0), x.max().maximum(0.0)
    scale = (high - low) / 255.0
    zero = special.round_half_even((0.0 - low / scale).maximum(0.0).minimum(255.0)).cast(uint8)
    return [quantized(x, scale, zero), scale, zero]


@operator("QLinearMatMul")
def q_linear_matmul(node: Node) -> Tensor:
    """The product of quantized matrices, quantized again."""
    a, a_scale, a_zero, b, b_scale, b_zero, y_scale, y_zero = node.all()
    if any(s.size != 1 for s in (y_scale, y_zero)):
        raise Refusal("a result with a scale for each row")
    rows = a.cast(int32) - _per_row(a_zero.cast(int32))
    columns = b.cast(int32) - _per_column(b_zero.cast(int32))
    product = (rows @ columns).cast(float32)
    factor = _per_row(a_scale.cast(float32)) * _per_column(b_scale.cast(float32))
    ratio = product * factor / y_scale.cast(float32).reshape(())
    return quantized(ratio, Tensor(1.0, float32), y_zero.reshape(()))


def _per_row(x: Tensor) -> Tensor:
    return x.reshape(()) if x.size == 1 else x.reshape(x.size, 1) if x.ndim == 1 else x


def _per_column(x: Tensor) -> Tensor:
    return x.reshape(()) if x.size == 1 else x
