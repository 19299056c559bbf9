"""
Constants and shapes
====================

Tensors that a node makes from its attributes, from sizes, or from values that are known when the model is read.
"""

from __future__ import annotations

import math

import numpy as np

from soundline.impl.importers.reading import protos
from soundline.impl.importers.reading.node import Node, Refusal, along, filled, number_line, operator, stored
from soundline.impl.tensors.tensor import Tensor
from soundline.spec.dtypes import bool_, float32, int64


@operator("Constant")
def constant(node: Node) -> Tensor:
    """The tensor that the node carries."""
    for name, dtype in (("value_int", int64), ("value_ints", int64), ("value_float", float32)):
        if node.has(name):
            return stored(np.array(node.attribute(name)), dtype)
    if node.has("value_floats"):
        return stored(np.array(node.attribute("value_floats")), float32)
    if node.has("value"):
        return Tensor(protos.array(node.attribute("value")))
    raise Refusal(f"a constant of the kind {', '.join(node.attributes)}")


@operator("ConstantOfShape")
def constant_of_shape(node: Node) -> Tensor:
    """One value in a given shape."""
    given = node.attribute("value")
    value = Tensor(0.0, float32) if given is None else Tensor(protos.array(given)).reshape(())
    return value.expand(node.values(0))


@operator("Shape")
def shape(node: Node) -> Tensor:
    """The sizes of a tensor, or some of them."""
    sizes = node[0].shape
    start, end = node.integer("start", 0), node.integer("end", len(sizes))
    return stored(np.array(sizes[slice(start, end)]), int64)


@operator("Size")
def size(node: Node) -> Tensor:
    """The number of elements."""
    return stored(np.array(node[0].size), int64)


@operator("Range")
def range_(node: Node) -> Tensor:
    """start, start + delta, … before limit."""
    start, limit, delta = (node.value(k).reshape(()).item() for k in range(3))
    dtype = node[0].dtype
    node.ignore("stash_type")
    count = max(0, math.ceil((limit - start) / delta))
    steps = number_line(count).cast(dtype)
    return node[0].reshape(()) + steps * node[2].reshape(())


@operator("EyeLike")
def eye_like(node: Node) -> Tensor:
    """1 on a diagonal, in the shape of another tensor."""
    x, k = node[0], node.integer("k", 0)
    if x.ndim != 2:
        raise Refusal(f"a diagonal of a tensor of rank {x.ndim}")
    rows, columns = (along(number_line(s), axis, 2) for axis, s in enumerate(x.shape))
    return (columns == rows + k).cast(node.dtype("dtype", x.dtype))


@operator("Dropout")
def dropout(node: Node) -> list[Tensor]:
    """The input itself, and a mask of True: at inference nothing is dropped."""
    x = node[0]
    node.ignore("ratio", "seed", "consumed_inputs")
    if node.opset < 7 and not node.flag("is_test", False):
        raise Refusal("dropout in training draws random numbers")
    if node.opset >= 12 and node.get(2) is not None and bool(node.value(2).reshape(())):
        ratio = 0.5 if node.get(1) is None else float(node.value(1).reshape(()))
        if ratio != 0.0:
            raise Refusal("dropout in training draws random numbers")
    return [x, filled(True, x.shape, bool_ if node.opset >= 10 else x.dtype)]
