"""Reductions that are read again and again are stored, counted by what the compiled program does, not by the clock."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np
import pytest

from soundline.impl.compilation.stages import lower
from soundline.impl.executables.building import computed
from soundline.impl.lower.graphs.costs import costs_of
from soundline.impl.lower.graphs.repeated import repeated_axes
from soundline.impl.lower.graphs.views import View
from soundline.impl.lower.linear import counts
from soundline.impl.lower.rangeify import rangeify, realized
from soundline.impl.lower.reductions import costs
from soundline.impl.lower.reductions.costs import (
    LANES,
    Known,
    Read,
    ReductionCost,
    lanes_alone,
    lanes_inside,
    lanes_of_nest,
)
from soundline.impl.tensors.tensor import Tensor
from soundline.spec.arrays.arrays import Array
from soundline.spec.dtypes import float32, index
from soundline.spec.uop import AxisType, Op, ReduceArg, UOp, const, expand, loop, param, reshape, toposort

from .processors import WIDE, lower_for
from .tensor_cases import law
from .test_lowering import function_of, stored


@pytest.fixture(autouse=True)
def one_processor(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Schedules for one processor, whatever this one is."""
    lower_for(WIDE, monkeypatch)
    yield
    lower.cache_clear()


# What programs do -------------------------------------------------------------------------------------------------


def convolved() -> Tensor:
    """A convolution of 16² pixels from 4 channels to 16."""
    return stored(1, 4, 16, 16).conv2d(stored(16, 4, 3, 3), padding=1)


def enlarged() -> Tensor:
    """Each of its pixels twice along both axes of space."""
    return convolved().reshape(1, 16, 16, 1, 16, 1).expand(1, 16, 16, 2, 16, 2).reshape(1, 16, 32, 32)


def strided() -> Tensor:
    """Every other pixel along both axes, of something dear, in as many channels as `convolved` makes."""
    return (stored(1, 4, 32, 32) / 3.0).sqrt().conv2d(stored(16, 4, 1, 1), stride=2)


def heads(weights: Tensor) -> Tensor:
    """A projection in two heads."""
    return (stored(32, 24) @ weights).reshape(32, 2, 16).permute(1, 0, 2)


def scores() -> Tensor:
    """The projection, and its product with keys."""
    return heads(stored(24, 32)) @ stored(2, 16, 48)


def attended() -> Tensor:
    """Attention after three projections."""
    q, k, v = (heads(stored(24, 32)[:, ::step]) for step in (1, -1, 1))
    return q.scaled_dot_product_attention(k, v + 1.0)


CONVOLUTION, PIXELS, PROJECTION, PAIRS = 16 * 256 * 36, 16 * 256, 32 * 24 * 32, 2 * 32 * 32
FORMS: dict[str, tuple[Callable[[], Tensor], int, int, int]] = {
    "largest of windows side by side": (lambda: convolved().relu().max_pool2d(2), CONVOLUTION, PIXELS, 0),
    "largest of windows that overlap": (
        lambda: convolved().relu().max_pool2d(3, 2, 1),
        CONVOLUTION,
        PIXELS,
        0,
    ),
    "largest, with nothing between": (lambda: convolved().max_pool2d(2), CONVOLUTION, PIXELS, 0),
    "mean of windows": (lambda: convolved().avg_pool2d(2), CONVOLUTION, PIXELS, 0),
    "normalized": (lambda: convolved().group_norm(4).relu(), CONVOLUTION, 2 * PIXELS + 8, 0),
    "enlarged": (lambda: enlarged() + 1.0, CONVOLUTION, PIXELS, 0),
    "padded": (lambda: convolved().pad([(0, 0), (0, 0), (2, 2), (2, 2)]) * 2.0, CONVOLUTION, PIXELS, 0),
    "along a new axis": (
        lambda: (stored(32, 24) @ stored(24, 32)).unsqueeze(-1) * stored(16),
        PROJECTION,
        1024,
        0,
    ),
    "a projection in a product": (scores, PROJECTION + 2 * 32 * 16 * 48, 1024, 0),
    "attention": (attended, 3 * PROJECTION + 32 * PAIRS, 4 * 1024 + 3 * PAIRS, PAIRS),
    "heads side by side": (
        lambda: attended().permute(1, 0, 2).reshape(32, 32),
        3 * PROJECTION + 32 * PAIRS,
        5 * 1024 + 3 * PAIRS,
        PAIRS,
    ),
    "two products added": (
        lambda: stored(1, 8, 16, 16).conv2d(stored(16, 8, 1, 1)) + strided(),
        8 * PIXELS + 4 * PIXELS,
        2 * PIXELS,
        640,  # roots take as much
    ),
    "rows summed at once": (lambda: (stored(48, 24) @ stored(24, 64)).sum(1), 48 * 24 * 64, 48 * 64, 0),
    "rows summed": (lambda: (stored(48, 24) @ stored(24, 96)).relu().sum(1), 48 * 24 * 96, 48 * 96, 0),
}
"""Programs; the products that they need, the elements that they may store between kernels, and the powers they take."""
POWER = 60
"""Operations of a power of e, with what else a softmax does to an element."""


def steps(root: Tensor, profile: str, wide: int) -> int:
    """How many operations on vectors of so many floats the kernels of a program run."""
    kernels = lower(function_of(root.uop)[0], profile).stages["linearize"].src
    return sum(
        times * math.ceil(counts._operations(n) / wide)
        for k in kernels
        for n, times in counts._runs(k)
        if n.shape is not None and n.dtype.is_float
    )


@pytest.mark.parametrize("profile", ["exact", "fast"])
@pytest.mark.parametrize("form", FORMS)
def test_a_product_is_computed_once_and_in_lanes_whoever_reads_it(form: str, profile: str) -> None:
    made, products, _, powers = FORMS[form]
    root = made()
    assert 2 * products * 0.98 <= steps(root, profile, 1) <= 2.7 * products + POWER * powers
    assert steps(root, profile, 16) <= 2.0 * 2 * products / 16 + POWER * powers


@pytest.mark.parametrize("form", FORMS)
def test_what_is_stored_between_kernels_is_no_product(form: str) -> None:
    made, _, most, _ = FORMS[form]
    body = lower(function_of(made().uop)[0], "exact").stages["callify"]
    between = [int(r.storage.arg.size) for r in realized(body)[:-1]]
    assert sum(between) <= most
    assert form == "rows summed at once" or any(r.why.startswith("it is a reduction") for r in realized(body))


@pytest.mark.parametrize("profile", ["exact", "fast"])
def test_of_a_product_only_what_is_read_is_computed(profile: str) -> None:
    root = (stored(40, 24) @ stored(24, 90))[:, 3:19]
    assert steps(root, profile, 1) <= 2 * 40 * 24 * 16


@pytest.mark.parametrize(
    "root",
    [
        pytest.param(lambda: stored(6, 40).softmax(-1), id="a softmax"),
        pytest.param(lambda: stored(6, 700).sum(1) * 2.0, id="a sum in blocks"),
        pytest.param(lambda: stored(6, 700).softmax(-1), id="a sum in blocks before the rest of a row"),
        pytest.param(lambda: stored(6, 700).layer_norm(-1), id="two of them"),
        pytest.param(lambda: stored(4, 6) - stored(4, 6).sum(1, keepdim=True), id="the sum of a row"),
        pytest.param(lambda: stored(3, 500) - stored(3, 500).sum(0), id="a short sum, again and again"),
        pytest.param(lambda: stored(8, 8, 2).sum(2).max(1), id="a short sum inside another"),
    ],
)
def test_what_is_cheap_is_computed_where_it_is_read(root: Callable[[], Tensor]) -> None:
    body = lower(function_of(root().uop)[0], "exact").stages["callify"]
    assert not any("stored takes" in r.why for r in realized(body))


@pytest.mark.parametrize("stored_anyway", [True, False])
def test_where_a_reduction_is_computed_changes_no_value(
    stored_anyway: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        ReductionCost, "why_stored", lambda _: "to see what comes of it" if stored_anyway else None
    )
    x, w, a, b = (
        Tensor(np.random.default_rng(k).normal(size=s).astype(np.float32)) for k, s in enumerate(SMALL)
    )
    y = x.conv2d(w, padding=1)
    q = (a @ b).reshape(3, 2, 2).permute(1, 0, 2)
    roots = [
        y.relu().max_pool2d(2),
        y.max_pool2d(3, 2, 1),
        y.pad([(0, 0), (0, 0), (1, 0), (0, 2)]) + 1.0,
        y.flip(3).cumsum(3),
        q @ stored(2, 2, 3),
        q.scaled_dot_product_attention(q, q).permute(1, 0, 2).reshape(3, 4),
        a @ b - (a @ b).sum(0),
        (a @ b)[:, 1:3].max(1),
    ]
    values = computed([r.uop for r in roots])
    for value, root in zip(values, roots, strict=True):
        assert Array.from_numpy(value) == law(root.uop)


SMALL = ((1, 2, 4, 5), (3, 2, 3, 3), (3, 5), (5, 4))


# What is counted --------------------------------------------------------------------------------------------------


def product(rows: int, columns: int, inner: int) -> UOp:
    """A matrix product before its inner axis is dropped."""
    left = expand(reshape(param(0, float32, (rows, inner)), (rows, inner, 1)), (rows, inner, columns))
    right = expand(reshape(param(1, float32, (inner, columns)), (1, inner, columns)), (rows, inner, columns))
    return Op.Reduce(Op.Mul(left, right), arg=ReduceArg(Op.Add, (1,)))


def row_sum(rows: int, inner: int, axis: int = 1) -> UOp:
    """A sum along rows or columns of a matrix."""
    return Op.Reduce(param(0, float32, (rows, inner)), arg=ReduceArg(Op.Add, (axis,)))


def known(root: UOp) -> Known:
    """What is known of all values below one."""
    order = [n for n in toposort(root) if n.shape is not None]
    return Known(costs_of(order), repeated_axes(order))


READINGS: dict[str, tuple[Callable[[], Tensor], tuple[int, Read]]] = {
    "side by side": (lambda: convolved().max_pool2d(2), (PIXELS, Read(PIXELS, 2))),
    "overlapping": (lambda: convolved().max_pool2d(3, 2), (PIXELS, Read(49 * 9 * 16, 3))),
    "behind a gate, inside": (
        lambda: row_pairs().pad([(0, 0), (1, 0)]).reshape(30, 7, 3).max(2),
        (30 * 20, Read(30 * 21, 1)),
    ),
    "behind a gate": (lambda: row_pairs().pad([(0, 0), (1, 0)]), (30 * 20, Read(30 * 21, 1))),
    "in all loops": (
        lambda: row_pairs().unsqueeze(0).expand(3, 30, 20) + 0.5,
        (30 * 20, Read(3 * 30 * 20, LANES)),
    ),
    "before inner loops": (lambda: row_pairs().unsqueeze(2) * stored(7), (30 * 20, Read(30 * 20, 1))),
    "in loops of its readers' reader": (
        lambda: ((stored(3, 5, 4) * stored(2, 5).sum(0).unsqueeze(1)).sum(1).relu() * stored(3, 4)).sum(1),
        (5, Read(3 * 4 * 5, 5)),
    ),
    "in a loop beside its own": (
        lambda: (stored(4, 6, 9) * stored(2, 9).sum(0)).sum((1, 2)),
        (9, Read(4 * 6 * 9, LANES)),
    ),
}
"""How reductions are read: of how many elements, how often they run there, and in how many lanes."""


def row_pairs() -> Tensor:
    """Sums of two rows."""
    return stored(2, 30, 20).sum(0)


@pytest.mark.parametrize("form", READINGS)
def test_how_often_a_reduction_runs_is_counted_with_all_loops_around(
    form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[tuple[int, Read]] = []
    monkeypatch.setattr(ReductionCost, "why_stored", lambda cost: seen.append((cost.elements, *cost.reads)))
    made, expected = READINGS[form]
    rangeify(function_of(made().uop)[0])
    assert expected in seen


def test_windows_that_compare_are_gathered_into_lanes_where_they_lie_near() -> None:
    def in_lanes(root: Tensor) -> bool:
        return any("UPCAST" in str(s) for s in lower(function_of(root.uop)[0], "exact").schedules)

    x = stored(2, 3, 24, 24)
    assert in_lanes(x.max_pool2d(2))
    assert in_lanes(x.relu().avg_pool2d(4))
    assert not in_lanes(x.avg_pool2d(2))
    assert not in_lanes(x.max_pool2d(2, stride=5))


def test_lanes_are_told_from_what_neighbours_read() -> None:
    assert lanes_alone(product(9, 7, 5), (9, 1, 7), known(product(9, 7, 5))) == LANES
    assert lanes_alone(product(9, 3, 5), (9, 1, 3), known(product(9, 3, 5))) == LANES  # a row is read again
    assert lanes_alone(row_sum(30, 20), (30, 1), known(row_sum(30, 20))) == 1  # neighbours lie 20 apart
    assert lanes_alone(row_sum(30, 20, 0), (1, 20), known(row_sum(30, 20, 0))) == LANES
    assert lanes_alone(row_sum(30, 3, 0), (1, 3), known(row_sum(30, 3, 0))) == 3


def test_what_is_the_same_in_all_of_a_nest_is_used_along_no_two_loops() -> None:
    number = expand(reshape(param(1, float32, (1,)), (1, 1)), (30, 20))
    for factors in ((param(0, float32, (30, 20)), number), (number, param(0, float32, (30, 20)))):
        scaled = Op.Reduce(Op.Mul(*factors), arg=ReduceArg(Op.Add, (1,)))
        assert lanes_alone(scaled, (30, 1), known(scaled)) == 1


def test_inside_another_reduction_the_lanes_are_its_own() -> None:
    node = row_sum(30, 20, 0)
    near, far = (loop(size, k, AxisType.REDUCE) for k, size in enumerate((20, 5)))
    zero = const(0, index)
    assert lanes_inside(node, View(0, (zero, near)), near, known(node)) == LANES
    assert lanes_inside(node, View(0, (zero, Op.Mul(far, const(4, index)))), far, known(node)) == 1


def test_places_that_are_no_steps_make_no_lanes() -> None:
    node = product(8, 4, 5)
    row, column = loop(4, 0), loop(8, 1)
    zero = const(0, index)
    half = Op.Idiv(column, const(4, index))
    plain = View(0, (column, zero, row))
    turned = View(0, (Op.Add(Op.Mul(half, const(4, index)), row), zero, Op.Mod(column, const(4, index))))
    assert lanes_of_nest(node, plain, [row, column], known(node)) == LANES
    assert lanes_of_nest(node, turned, [row, column], known(node)) == 1


def test_what_is_stored_is_computed_once_written_and_loaded() -> None:
    again = ReductionCost(elements=10, work=64, lanes=8, reads=(Read(30, 2), Read(10, 1)))
    assert again.where_read == 30 * 64 / 2 + 10 * 64
    assert again.stored == 10 * (64 / 8 + 2) + 40
    assert again.why_stored() == (
        "it is a reduction that would take 1.6e+03 operations where it is read, and stored takes 140"
    )


def test_what_takes_no_more_where_it_is_read_is_not_stored() -> None:
    assert ReductionCost(elements=10, work=64, lanes=8, reads=(Read(10, 8),)).why_stored() is None
    even = ReductionCost(elements=4, work=4, lanes=1, reads=(Read(8, 1),))
    assert (even.where_read, even.stored, even.why_stored()) == (32, 32, None)
    assert costs.work_of_reduction(product(9, 7, 5), 3) == 20
