"""Convolutions and attention: padding is stored once, no window is copied, and what is dear is computed once."""

from __future__ import annotations

import math

import numpy as np
import pytest

import soundline as sl
from soundline.impl.program.compile import Program
from soundline.spec.uop import Op, UOp, toposort


def temporaries(program: Program) -> list[int]:
    """The elements of each temporary of a program."""
    known = len(program.inputs) + len(program.outputs)
    buffers = {
        n for n in toposort(program.stages["optimize"]) if n.op is Op.Buffer and n.arg.addrspace == "GLOBAL"
    }
    return [b.arg.size for b in buffers if b.arg.slot >= known]


@pytest.mark.parametrize(("size", "stride"), [(3, 1), (5, 1), (3, 2)])
def test_a_convolution_stores_its_padding_and_copies_no_window(size: int, stride: int) -> None:
    source = np.random.default_rng(size)
    x = source.standard_normal((1, 8, 24, 24)).astype(np.float32)
    w = source.standard_normal((7, 8, size, size)).astype(np.float32)
    edge = size // 2
    program = sl.compile(lambda a, b: a.conv2d(b, padding=edge, stride=stride), x, w)
    assert max(temporaries(program), default=0) <= 2 * 8 * (24 + 2 * edge) ** 2
    padded = np.pad(x, ((0, 0), (0, 0), (edge, edge), (edge, edge)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (size, size), (2, 3))[:, :, ::stride, ::stride]
    wanted = np.zeros(program.outputs[0].shape, np.float32)
    for c, i, j in np.ndindex(8, size, size):  # ascending, as the law reduces
        wanted = wanted + windows[:, None, c, :, :, i, j] * w[None, :, c, i, j, None, None]
    assert np.array_equal(program(x, w), wanted)


def test_rows_of_a_tile_share_what_the_lanes_read() -> None:
    x, w = np.ones((1, 8, 24, 24), np.float32), np.ones((12, 8, 3, 3), np.float32)
    steps = [str(s) for s in sl.compile(lambda a, b: a.conv2d(b, padding=1), x, w).schedules]
    assert any("Swap 0 1" in text for text in steps)  # channels instead of lines of the image
    assert not any("Pack" in text for text in steps)


def test_a_small_padded_value_is_not_stored() -> None:
    x, w = np.ones((1, 2, 8, 8), np.float32), np.ones((3, 2, 3, 3), np.float32)
    program = sl.compile(lambda a, b: a.conv2d(b, padding=1), x, w)
    assert len(program.stages["rangeify"].src) == 1


def test_the_weights_of_an_attention_are_divided_once_and_by_rows() -> None:
    q = np.random.default_rng(1).standard_normal((70, 32)).astype(np.float32)
    program = sl.compile(lambda a: a.scaled_dot_product_attention(a, a), q)
    divided = [k for k in program.kernels if any(n.op is Op.Div for n in toposort(k))]
    products = [k for k in program.kernels if any(n.op is Op.Mul and _is_reduced(n, k) for n in toposort(k))]
    assert divided
    assert products
    assert not set(divided) & set(products)
    weights = np.exp(q @ q.T / math.sqrt(32))
    assert np.allclose(program(q), weights / weights.sum(-1, keepdims=True) @ q, atol=1e-4)


def _is_reduced(node: UOp, kernel: UOp) -> bool:
    sums = (n for n in toposort(kernel) if n.op is Op.Reduce and n.arg.op is Op.Add)
    return any(s.src[0] is node for s in sums)
