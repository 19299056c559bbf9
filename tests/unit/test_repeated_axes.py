"""Values that repeat along axes: which the graph tells, that one position of them is stored, and no value changes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import soundline as sl
from soundline.impl.lower.graphs.repeated import repeated_axes
from soundline.impl.lower.rangeify import realized
from soundline.impl.tensors.tensor import Tensor
from soundline.spec.dtypes import float32
from soundline.spec.evaluate import evaluate
from soundline.spec.uop import (
    Op,
    ReduceArg,
    UOp,
    broadcast_to,
    const,
    expand,
    pad,
    param,
    reshape,
    shrink,
    toposort,
)

X = param(0, float32, (3, 1, 4))
WIDE = expand(X, (3, 5, 4))
OTHER = param(1, float32, (3, 5, 4))
ROW = expand(param(2, float32, (1, 1, 4)), (3, 5, 4))


@pytest.mark.parametrize(
    ("node", "axes"),
    [
        pytest.param(X, set(), id="a parameter"),
        pytest.param(WIDE, {1}, id="an Expand"),
        pytest.param(broadcast_to(const(2.0, float32), (3, 5, 4)), {0, 1, 2}, id="a constant"),
        pytest.param(expand(reshape(WIDE, (3, 5, 4, 1)), (3, 5, 4, 2)), {1, 3}, id="two of them"),
        pytest.param(Op.Neg(WIDE), {1}, id="one operand"),
        pytest.param(Op.Mul(WIDE, ROW), {1}, id="two that share an axis"),
        pytest.param(Op.Mul(WIDE, OTHER), set(), id="two that share none"),
        pytest.param(Op.Where(Op.CmpLt(WIDE, ROW), ROW, WIDE), {1}, id="a choice"),
        pytest.param(Op.Permute(WIDE, arg=(1, 2, 0)), {0}, id="permuted"),
        pytest.param(Op.Flip(WIDE, arg=(True, True, False)), {1}, id="flipped"),
        pytest.param(shrink(WIDE, (1, 2, 0), (2, 3, 4)), {1}, id="a part"),
        pytest.param(pad(WIDE, (1, 0, 0), (5, 5, 4)), {1}, id="padded beside"),
        pytest.param(pad(WIDE, (0, 1, 0), (3, 7, 4)), set(), id="padded there"),
        pytest.param(Op.Reduce(WIDE, arg=ReduceArg(Op.Add, (0,))), {1}, id="reduced beside"),
        pytest.param(Op.Reduce(WIDE, arg=ReduceArg(Op.Add, (1,))), set(), id="reduced there"),
        pytest.param(reshape(WIDE, (3, 5, 2, 2)), {1}, id="another axis cut"),
        pytest.param(reshape(expand(X, (3, 6, 4)), (3, 2, 3, 4)), {1, 2}, id="cut"),
        pytest.param(reshape(ROW, (15, 4)), {0}, id="joined with another that repeats"),
        pytest.param(reshape(WIDE, (15, 4)), set(), id="joined with one that does not"),
        pytest.param(Op.Stack(WIDE, WIDE), set(), id="stacked"),
        pytest.param(Op.Contiguous(WIDE), set(), id="asked to be whole"),
    ],
)
def test_the_axes_along_which_a_value_repeats(node: UOp, axes: set[int]) -> None:
    found = repeated_axes(n for n in toposort(node) if n.shape is not None)[node]
    shape = node.shape or ()
    assert {k for k in found if shape[k] != 1} == axes


def test_what_is_said_to_repeat_does() -> None:
    given = {k: np.arange(1, 61, dtype=np.float32)[: np.prod(s)] for k, s in enumerate([(12,), (60,), (4,)])}
    values = {0: given[0].reshape(3, 1, 4), 1: given[1].reshape(3, 5, 4), 2: given[2].reshape(1, 1, 4)}
    for node in (Op.Mul(WIDE, ROW), Op.Permute(WIDE, arg=(1, 2, 0)), Op.Add(WIDE, OTHER)):
        found = evaluate(node, values).to_numpy()
        for axis in repeated_axes(toposort(node))[node]:
            assert (found == found.take([0], axis)).all()


# Stored -----------------------------------------------------------------------------------------------------------


def whole(program: Any, *arrays: np.ndarray) -> None:
    """The results of a program are the evaluator's."""
    function = program.stages["callify"]
    held = {n.arg.slot: a.reshape(-1) for n, a in zip(function.src[1:], arrays, strict=True)}
    results = program(*arrays)
    for k, got in enumerate(results if isinstance(results, tuple) else (results,)):
        wanted = evaluate(Op.GetTuple(function, arg=k), buffers=held)
        assert got.tobytes() == np.array(wanted.elements, got.dtype).tobytes()


def chosen(mask: Any, value: Any, other: Any) -> Any:
    """A choice between columns, of which each row of a product is made; it is as large as the product before."""
    columns = [t.reshape(12, 1, 9).expand(12, 17, 9) for t in (mask, value)]
    return ((columns[0] > 0).where(columns[1].exp2(), 0.0) * other.reshape(1, 17, 9)).sum(2)


def test_a_choice_between_expanded_values_is_stored_small() -> None:
    arrays = [
        np.random.default_rng(5).standard_normal(s).astype(np.float32) for s in ((12, 9), (12, 9), (17, 9))
    ]
    program = sl.compile(chosen, *arrays)
    sizes = [int(r.storage.arg.size) for r in realized(program.stages["callify"])]
    assert sorted(sizes) == [12 * 9, 12 * 17]
    whole(program, *arrays)


@pytest.mark.parametrize(
    "f",
    [
        pytest.param(lambda a: a.reshape(6, 1).expand(6, 8).exp2(), id="a result"),
        pytest.param(
            lambda a: (a.reshape(6, 1).expand(6, 8).exp2(), a.exp2().sum()), id="and what it is made of"
        ),
        pytest.param(lambda a: a.reshape(6, 1).expand(6, 8).exp2().contiguous() * 2.0, id="stored on demand"),
        pytest.param(lambda a: a.reshape(6, 1).expand(6, 8).sum(1), id="a sum of what is the same"),
        pytest.param(lambda a: a.reshape(1, 6).expand(5, 6).cumsum(1), id="running sums that are the same"),
        pytest.param(
            lambda a: a.reshape(6, 1).expand(6, 8).exp2().pad(((0, 0), (1, 2))).sum(0), id="with a border"
        ),
        pytest.param(lambda a: a[2:3].expand(7).exp2() * a[0:1].expand(7), id="one element"),
    ],
)
def test_what_repeats_is_whole_where_it_is_seen(f: Callable[[Tensor], Any]) -> None:
    given = np.linspace(-2.0, 3.0, 6, dtype=np.float32)
    whole(sl.compile(f, given), given)
