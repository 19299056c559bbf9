"""
Fourier transforms
==================

A complex number is a pair along the last axis. The transforms are products with matrices of cosines and sines, which
are known when the model is read.
"""

from __future__ import annotations

import numpy as np

from soundline.impl.arrays.promotion import accumulated
from soundline.impl.importers.onnx_operators.resize import weighted
from soundline.impl.importers.reading.node import Arrays, Node, Refusal, axis_in, filled, joined, operator
from soundline.impl.tensors.methods.windows import Window, padded, unfolded
from soundline.impl.tensors.tensor import Tensor


def _angles(count: int, length: int) -> Arrays:
    """2π·k·n/length for k < count and n < length; the product is reduced first, so that no digits are lost."""
    turns = np.outer(np.arange(count), np.arange(length)) % length
    found: Arrays = 2.0 * np.pi * turns / length
    return found


def _parts(x: Tensor) -> tuple[Tensor, Tensor | None]:
    """The real part and the imaginary part, if there is one; without their axis."""
    if x.shape[-1] not in (1, 2):
        raise Refusal(f"numbers of {x.shape[-1]} parts")
    real = x[..., 0]
    return real, x[..., 1] if x.shape[-1] == 2 else None


def transformed(x: Tensor, axis: int, length: int, count: int, *, inverse: bool) -> Tensor:
    """The first `count` elements of the transform of an axis, cut or filled up with zeros to a length."""
    real, imaginary = (_fitted(p, axis, length) if p is not None else None for p in _parts(x))
    assert real is not None
    angles = _angles(count, length)
    cosine, sine = np.cos(angles), -np.sin(angles) if inverse else np.sin(angles)
    if inverse:
        cosine, sine = cosine / length, sine / length
    re, im = weighted(real, axis, cosine), -weighted(real, axis, sine)
    if imaginary is not None:
        re, im = re + weighted(imaginary, axis, sine), im + weighted(imaginary, axis, cosine)
    return joined([re.unsqueeze(-1), im.unsqueeze(-1)], re.ndim)


def _fitted(x: Tensor, axis: int, length: int) -> Tensor:
    return padded(x, [(0, length - s) if k == axis else (0, 0) for k, s in enumerate(x.shape)], 0)


def _real_inverse(x: Tensor, axis: int, length: int) -> Tensor:
    """The real numbers whose transform begins with x and goes on with its mirrored conjugates."""
    real, imaginary = (_fitted(p, axis, length // 2 + 1) if p is not None else None for p in _parts(x))
    assert real is not None
    angles = _angles(length, length)[:, : length // 2 + 1]
    twice = np.full(length // 2 + 1, 2.0)
    twice[0] = 1.0
    if length % 2 == 0:
        twice[-1] = 1.0
    found = weighted(real, axis, np.cos(angles) * twice / length)
    if imaginary is not None:
        found = found - weighted(imaginary, axis, np.sin(angles) * twice / length)
    return found.unsqueeze(-1)


@operator("DFT")
def dft(node: Node) -> Tensor:
    """The discrete Fourier transform of an axis, or its inverse; of real numbers one half says all."""
    x = node[0]
    inverse, half = node.flag("inverse", False), node.flag("onesided", False)
    if node.opset < 20:
        axis = node.integer("axis", 1)
    else:
        axis = -2 if node.get(2) is None else int(node.value(2).reshape(()))
    axis = axis_in(node, axis, x.ndim)
    if axis == x.ndim - 1:
        raise Refusal("a transform of the axis of parts")
    size = x.shape[axis]
    natural = 2 * (size - 1) if inverse and half else size
    length = natural if node.get(1) is None else int(node.value(1).reshape(()))
    wide = x.cast(accumulated(x.dtype))
    if inverse and half:
        return _real_inverse(wide, axis, length).cast(x.dtype)
    count = length // 2 + 1 if half else length
    return transformed(wide, axis, length, count, inverse=inverse).cast(x.dtype)


@operator("STFT")
def stft(node: Node) -> Tensor:
    """The transforms of the frames of a signal, each times a window."""
    x, window = node[0], node.get(2)
    step = int(node.value(1).reshape(()))
    length = window.size if node.get(3) is None and window is not None else int(node.value(3).reshape(()))
    home = accumulated(x.dtype)
    wide = x.cast(home) if x.ndim == 3 else x.cast(home).unsqueeze(-1)
    count = (wide.shape[1] - length) // step + 1
    frames = unfolded(wide.transpose(1, 2), [Window(length, step, 1, 0, 0, count)])
    frames = frames.permute(0, 2, 3, 1)  # [batch, frame, place, part]
    shape = (1, 1, length, 1)
    factors = filled(1.0, shape, home) if window is None else window.cast(home).reshape(shape)
    half = length // 2 + 1 if node.flag("onesided", True) else length
    return transformed(frames * factors, 2, length, half, inverse=False).cast(x.dtype)
