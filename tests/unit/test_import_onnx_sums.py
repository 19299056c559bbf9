"""The sums of imported models are those of the methods of Tensor: one program, one order, one schedule (U-10)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper

import soundline as sl
from soundline.impl.lower.callify import callify
from soundline.impl.tensors.tensor import Tensor
from soundline.spec.uop import Op, UOp, toposort

from .test_import_onnx import model, value

Shapes = tuple[tuple[int, ...], ...]
SAME: dict[str, tuple[dict[str, Any], Shapes, Callable[..., Tensor]]] = {
    "Conv": ({"pads": [1, 1, 1, 1]}, ((1, 40, 5, 6), (3, 40, 3, 3)), lambda x, w: x.conv2d(w, padding=1)),
    "Conv with a bias": (
        {"strides": [2, 2]},
        ((1, 40, 5, 6), (3, 40, 3, 3), (3,)),
        lambda x, w, b: x.conv2d(w, b, stride=2),
    ),
    "Conv in groups": ({"group": 2}, ((1, 8, 5, 6), (4, 4, 3, 3)), lambda x, w: x.conv2d(w, groups=2)),
    "Conv of one axis": ({"dilations": [2]}, ((2, 90, 9), (3, 90, 3)), lambda x, w: x.conv1d(w, dilation=2)),
    "ConvTranspose": (
        {"strides": [2, 2]},
        ((1, 40, 4, 3), (40, 3, 3, 3)),
        lambda x, w: x.conv_transpose2d(w, stride=2),
    ),
    "MaxPool": (
        {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 1, 1, 1]},
        ((1, 2, 7, 8),),
        lambda x: x.max_pool2d(3, 2, 1),
    ),
    "MatMul": ({}, ((2, 300), (300, 3)), lambda a, b: a @ b),
    "Gemm": ({"transB": 1}, ((2, 300), (3, 300)), lambda a, b: a @ b.T),
    "GlobalAveragePool": ({}, ((1, 2, 17, 18),), lambda x: x.mean((2, 3), keepdim=True)),
}
"""Operators with attributes and operands, and the method that says the same."""


def imported(name: str, attributes: dict[str, Any], shapes: Shapes, kind: int = TensorProto.FLOAT) -> Any:
    """A model of one node."""
    names = [f"x{k}" for k in range(len(shapes))]
    inputs = [value(n, list(s), kind) for n, s in zip(names, shapes, strict=True)]
    return sl.from_onnx(
        model([helper.make_node(name.partition(" ")[0], names, ["y"], **attributes)], inputs, ["y"])
    )


def drawn(shapes: Shapes) -> list[np.ndarray]:
    """Numbers whose sums differ where their order does."""
    return [np.random.default_rng(k).normal(size=s).astype(np.float32) for k, s in enumerate(shapes)]


def reductions(root: UOp) -> list[tuple[Op, tuple[int, ...]]]:
    """What a program reduces over which axes."""
    return [(n.arg.op, n.arg.axes) for n in toposort(callify([root])) if n.op is Op.Reduce]


@pytest.mark.parametrize("name", SAME)
def test_an_imported_operator_is_the_method_s_program(name: str) -> None:
    attributes, shapes, method = SAME[name]
    arrays = drawn(shapes)
    tensors = [Tensor(a) for a in arrays]
    made, wanted = imported(name, attributes, shapes)(*tensors), method(*tensors)
    assert reductions(made.uop) == reductions(wanted.uop)
    assert made.numpy().tobytes() == wanted.numpy().tobytes()


@pytest.mark.parametrize("name", ["Conv", "Conv with a bias", "Conv in groups"])
def test_a_convolution_is_the_very_graph_of_the_method(name: str) -> None:
    attributes, shapes, method = SAME[name]
    tensors = [Tensor(a) for a in drawn(shapes)]
    made = callify([imported(name, attributes, shapes)(*tensors).uop])
    assert made.src[0] is callify([method(*tensors).uop]).src[0]


@pytest.mark.parametrize(
    ("formula", "shapes"),
    [
        ("ik,kj->ij", ((2, 300), (300, 3))),
        ("bik,bjk->bij", ((2, 3, 270), (2, 4, 270))),
        ("i,i", ((600,), (600,))),
    ],
)
def test_a_sum_over_letters_ascends(formula: str, shapes: Shapes) -> None:
    tensors = [Tensor(a) for a in drawn(shapes)]
    made = imported("Einsum", {"equation": formula}, shapes)(*tensors)
    assert len(reductions(made.uop)) == 1
    assert made.numpy().tobytes() == Tensor.einsum(formula, *tensors).numpy().tobytes()


def test_the_mean_of_large_windows_ascends() -> None:
    shapes = ((1, 1, 18, 19),)
    (x,) = (Tensor(a) for a in drawn(shapes))
    made = imported("AveragePool", {"kernel_shape": [17, 17]}, shapes)(x)
    assert reductions(made.uop) == reductions(x.avg_pool2d(17, 1).uop)
    assert made.numpy().tobytes() == x.avg_pool2d(17, 1).numpy().tobytes()


def test_a_convolution_of_integers_wraps_in_one_reduction() -> None:
    shapes = ((1, 60, 3, 3), (2, 60, 3, 3))
    node = imported("ConvInteger", {}, shapes, TensorProto.UINT8)
    x, w = (np.random.default_rng(k).integers(0, 255, s).astype(np.uint8) for k, s in enumerate(shapes))
    made = node(Tensor(x), Tensor(w))
    assert len(reductions(made.uop)) == 1
    wanted = (x.astype(np.int64)[:, None] * w.astype(np.int64)[None]).sum((2, 3, 4))
    np.testing.assert_array_equal(made.numpy().reshape(1, 2), wanted)
