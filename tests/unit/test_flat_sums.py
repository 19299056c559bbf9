"""Blocked sums of what is computed in rows go through memory as it lies: rows and blocks are counted alike."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import soundline as sl
from soundline.impl.analysis import arithmetic
from soundline.impl.lower.graphs.loops import loaded_places, stride
from soundline.impl.rewriting.engine import rewrite
from soundline.impl.rules import SIMPLIFY
from soundline.spec.evaluate import evaluate
from soundline.spec.uop import Op, UOp, loop

BLOCK, ROW, LANE = loop(8, 0), loop(64, 1), loop(32, 2)


def n(value: int) -> UOp:
    return arithmetic.number(value)


def simple(node: UOp) -> UOp:
    return rewrite(node, SIMPLIFY).uop


@pytest.mark.parametrize("beside", [False, True])
@pytest.mark.parametrize("scale", [1, 32])
def test_a_row_and_what_is_left_of_it_are_put_together(beside: bool, scale: int) -> None:
    row = Op.Add(Op.Mul(BLOCK, n(16)), Op.Idiv(ROW, n(4)))
    rest = arithmetic.mul(Op.Mod(ROW, n(4)), n(scale))
    at = Op.Add(Op.Mul(row, n(4 * scale)), Op.Add(LANE, rest) if beside else rest)
    found = simple(at)
    assert stride(found, BLOCK) == 64 * scale
    assert stride(found, ROW) == scale
    other = simple(Op.Add(Op.Mul(row, n(8 * scale)), Op.Add(LANE, rest) if beside else rest))
    assert stride(other, ROW) is None  # the rest is of another row


@pytest.mark.parametrize(
    ("f", "shape"),
    [
        pytest.param(lambda x: (x * x).sum(), (64, 64), id="squares"),
        pytest.param(lambda x: (x * x).mean(), (16, 256), id="their mean"),
        pytest.param(lambda x: (x - 1.0).abs().sum(), (4, 32, 32), id="of three axes"),
    ],
)
def test_every_load_walks_memory_by_one_stride_a_loop(
    f: Callable[[Any], Any], shape: tuple[int, ...]
) -> None:
    x = np.random.default_rng(2).standard_normal(shape).astype(np.float32)
    program = sl.compile(f, x, profile="fast")
    for kernel in program.stages["optimize"].src:
        for place in loaded_places(kernel):
            at = place.src[1]
            assert all(stride(at, r) is not None for r in arithmetic.ranges_of(at))
    wanted = np.float64(x)
    assert float(program(x)) == pytest.approx(float(sl.compile(f, wanted)(wanted)), rel=1e-5)


@pytest.mark.parametrize("shape", [(64, 64), (50, 61), (3, 25, 41)])
def test_sums_stay_what_they_are(shape: tuple[int, ...]) -> None:
    x = np.random.default_rng(4).standard_normal(shape).astype(np.float32)
    program = sl.compile(lambda x: (x * x).sum(), x)
    function = program.stages["callify"]
    wanted = evaluate(Op.GetTuple(function, arg=0), buffers={function.src[1].arg.slot: x.reshape(-1)})
    assert np.float32(program(x)) == np.float32(wanted.elements[0])
