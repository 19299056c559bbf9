"""
Rows about chains
=================

What stands before and after a product in real networks: a convolution that was imported, one under a pooling, and
projections that attention reads. Each kernel alone is fast; these rows tell whether what lies between two of them is
computed once, and by the schedule that it would have alone.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from rows.by_peer import all_of
from rows.row import FAST, Arrays, Row, Target, normal

WITHIN = (Target(FAST, ("torch",), 0.667),)
"""At most one and a half times the time of torch."""
LENGTH, HEADS, EACH = 512, 8, 64
WIDTH = HEADS * EACH
POOLED = 2e-9 * 128 * 128 * 9 * 28**2
PROJECTED = 2e-9 * LENGTH * WIDTH * WIDTH
SCORED = 2e-9 * HEADS * LENGTH * LENGTH * EACH


@functools.cache
def model(channels: int, size: int) -> Any:
    """A convolution as a model in ONNX, with its weights as an input."""
    import onnx
    from onnx import TensorProto, helper

    import soundline as sl

    node = helper.make_node("Conv", ["x", "w"], ["y"], pads=[1, 1, 1, 1])
    shapes = {"x": [1, channels, size, size], "w": [channels, channels, 3, 3], "y": [1, channels, size, size]}
    given = {n: helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in shapes.items()}
    graph = helper.make_graph([node], "convolution", [given["x"], given["w"]], [given["y"]])
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)])
    onnx.checker.check_model(made)
    return sl.from_onnx(made)


def imported(x: Any, w: Any) -> Any:
    """The convolution that the model of its size is."""
    return model(x.shape[1], x.shape[2])(x, w)


def projected(x: Any, *weights: Any) -> list[Any]:
    """Projections of rows, with an axis for the heads."""
    return [(x @ w).reshape(LENGTH, HEADS, EACH) for w in weights]


def attended(x: Any, *weights: Any) -> Any:
    """Attention of the projections, by soundline and by tinygrad."""
    q, k, v = (p.permute(1, 0, 2) for p in projected(x, *weights))
    return q.scaled_dot_product_attention(k, v)


def attended_by_torch(torch: Any, x: Any, *weights: Any) -> Any:
    """The same by torch."""
    q, k, v = (p.permute(1, 0, 2) for p in projected(x, *weights))
    return torch.nn.functional.scaled_dot_product_attention(q, k, v)


def attended_by_jax(jax: Any, x: Any, *weights: Any) -> Any:
    """The same by JAX."""
    q, k, v = (p.transpose(1, 0, 2) for p in projected(x, *weights))
    return jax.nn.softmax(q @ k.transpose(0, 2, 1) * (1.0 / EACH**0.5), -1) @ v


def drawn() -> Arrays:
    """Rows, and weights that leave their variance as it is."""
    draw = np.random.default_rng(0)
    weights = [draw.standard_normal((WIDTH, WIDTH), np.float32) * np.float32(WIDTH**-0.5) for _ in range(3)]
    return (draw.standard_normal((LENGTH, WIDTH), np.float32), *weights)


ROWS = (
    Row(
        "onnx-conv",
        "conv 3×3 128→128, 28², imported from ONNX",
        normal((1, 128, 28, 28), (128, 128, 3, 3)),
        POOLED,
        "GFLOP",
        all_of(
            ours=imported,
            torch=lambda torch, x, w: torch.nn.functional.conv2d(x, w, padding=1),
            jax=lambda jax, x, w: jax.lax.conv(x, w, (1, 1), "SAME"),
            tinygrad=lambda Tensor, x, w: x.conv2d(w, padding=1),
        ),
        WITHIN,
    ),
    Row(
        "conv-pool",
        "conv 3×3 128→128, 28², relu, max_pool 2×2",
        normal((1, 128, 28, 28), (128, 128, 3, 3)),
        POOLED,
        "GFLOP",
        all_of(
            ours=lambda x, w: x.conv2d(w, padding=1).relu().max_pool2d(2),
            torch=lambda torch, x, w: torch.nn.functional.max_pool2d(
                torch.nn.functional.conv2d(x, w, padding=1).relu(), 2
            ),
            jax=lambda jax, x, w: jax.lax.reduce_window(
                jax.nn.relu(jax.lax.conv(x, w, (1, 1), "SAME")),
                -float("inf"),
                jax.lax.max,
                (1, 1, 2, 2),
                (1, 1, 2, 2),
                "VALID",
            ),
            tinygrad=lambda Tensor, x, w: x.conv2d(w, padding=1).relu().max_pool2d(2),
        ),
        WITHIN,
    ),
    Row(
        "stem",
        "conv 7×7 3→64, 224² by steps of 2, relu, max_pool 3×3 by steps of 2",
        normal((1, 3, 224, 224), (64, 3, 7, 7)),
        2e-9 * 64 * 3 * 49 * 112**2,
        "GFLOP",
        all_of(
            ours=lambda x, w: x.conv2d(w, stride=2, padding=3).relu().max_pool2d(3, 2, 1),
            torch=lambda torch, x, w: torch.nn.functional.max_pool2d(
                torch.nn.functional.conv2d(x, w, stride=2, padding=3).relu(), 3, 2, 1
            ),
            tinygrad=lambda Tensor, x, w: x.conv2d(w, stride=2, padding=3).relu().max_pool2d(3, 2, padding=1),
        ),
        WITHIN,
    ),
    Row(
        "projected-product",
        "(x@w).reshape(512, 8, 64).permute(1, 0, 2) @ k, k[8, 64, 512]",
        normal((LENGTH, WIDTH), (WIDTH, WIDTH), (HEADS, EACH, LENGTH)),
        PROJECTED + SCORED,
        "GFLOP",
        all_of(
            ours=lambda x, w, k: projected(x, w)[0].permute(1, 0, 2) @ k,
            numpy=lambda x, w, k: projected(x, w)[0].transpose(1, 0, 2) @ k,
            torch=lambda torch, x, w, k: projected(x, w)[0].permute(1, 0, 2) @ k,
            jax=lambda jax, x, w, k: projected(x, w)[0].transpose(1, 0, 2) @ k,
            tinygrad=lambda Tensor, x, w, k: projected(x, w)[0].permute(1, 0, 2) @ k,
        ),
        WITHIN,
    ),
    Row(
        "projected-attention",
        "attention of 8 heads after three projections, 512×512",
        drawn,
        3 * PROJECTED + 2 * SCORED,
        "GFLOP",
        all_of(
            ours=attended,
            torch=attended_by_torch,
            jax=attended_by_jax,
            tinygrad=lambda Tensor, x, *w: attended(x, *w),
        ),
        WITHIN,
    ),
)
