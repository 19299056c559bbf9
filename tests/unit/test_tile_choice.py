"""Which axes become a tile: convolutions take channels as lanes, products the tile that leaves least over."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import soundline as sl
from soundline.impl.analysis import arithmetic
from soundline.impl.compilation.stages import lower
from soundline.impl.lower.graphs.loops import border
from soundline.impl.lower.graphs.simplify import Applied, simplified
from soundline.impl.lower.graphs.views import trip_count
from soundline.impl.lower.linear.expand import expand
from soundline.impl.lower.linear.linearize import linearize, nest_of
from soundline.impl.lower.optimize import optimize, optimized
from soundline.impl.lower.rangeify import rangeify
from soundline.impl.lower.schedule import heuristics, threads, tile_choice, tiles, vector_types, vectors
from soundline.impl.lower.schedule.extensions import reductions_inside
from soundline.impl.lower.schedule.schedules import Given, parsed, schedule_text
from soundline.impl.lower.schedule.target import Target
from soundline.impl.lower.schedule.tile_choice import chosen, evenly
from soundline.impl.lower.schedule.vectors import cuts, vectorized
from soundline.impl.tensors.tensor import Tensor
from soundline.spec.dtypes import float32, float64, index
from soundline.spec.uop import AxisType, Op, ReduceArg, UOp, buffer, const, loop, substitute, toposort

from .test_lowering import check_stages, executed, function_of, stored

WIDE = Target(vector=64, registers=32)
MACHINES = {"wide": WIDE, "narrow": Target(16, 16), "middle": Target(32, 16)}


@pytest.fixture(params=MACHINES)
def machine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Target]:
    """Programs lowered for one processor after the other, and no work too little for a choice."""
    target = MACHINES[request.param]
    for module in (tiles, vector_types, vectors):
        monkeypatch.setattr(module, "this_machine", lambda: target)
    monkeypatch.setattr(tile_choice, "WORTH", 0)
    monkeypatch.setattr(heuristics, "MUCH", 0)
    lower.cache_clear()
    yield target
    lower.cache_clear()


def in_order(x: np.ndarray, w: np.ndarray, stride: int, padding: int) -> np.ndarray:
    """A convolution as the law reduces it: channel by channel, then along the window."""
    x = np.pad(x, ((0, 0), (0, 0), (padding, padding), (padding, padding)))
    m, channels, high, wide = w.shape
    rows, columns = ((x.shape[k] - n) // stride + 1 for k, n in ((2, high), (3, wide)))
    total = np.full((x.shape[0], m, rows, columns), -0.0, x.dtype)
    for c, i, j in np.ndindex(channels, high, wide):
        seen = x[:, c, i : i + stride * rows : stride, j : j + stride * columns : stride]
        total = total + seen[:, None, :rows, :columns] * w[None, :, c, i, j, None, None]
    return total


def same_bits(a: np.ndarray, b: np.ndarray) -> bool:
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


# Convolutions -----------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("machine")
@pytest.mark.parametrize(
    ("x", "w", "stride", "padding", "dtype"),
    [
        ((1, 5, 9, 14), (20, 5, 3, 3), 1, 1, np.float32),
        ((2, 3, 11, 13), (17, 3, 3, 3), 2, 1, np.float64),
        ((1, 4, 7, 7), (33, 4, 1, 1), 1, 0, np.float32),
        ((3, 2, 9, 9), (6, 2, 5, 5), 1, 2, np.float32),
    ],
    ids=["rows that fill no vector", "strided", "one by one", "batch"],
)
def test_a_convolution_is_the_law_s_bit_for_bit(
    x: tuple[int, ...], w: tuple[int, ...], stride: int, padding: int, dtype: type
) -> None:
    draw = np.random.default_rng(7)
    a, b = (draw.standard_normal(s).astype(dtype) for s in (x, w))
    program = sl.compile(lambda p, q: p.conv2d(q, stride=stride, padding=padding), a, b)
    assert same_bits(program(a, b), in_order(a, b, stride, padding))


@pytest.mark.usefixtures("machine")
def test_what_follows_a_convolution_changes_nothing() -> None:
    draw = np.random.default_rng(8)
    a, b, c = (draw.standard_normal(s).astype(np.float32) for s in ((1, 4, 9, 10), (18, 4, 3, 3), (18,)))
    program = sl.compile(lambda x, w, v: x.conv2d(w, v, padding=1).maximum(0.0), a, b, c)
    wanted = np.maximum(in_order(a, b, 1, 1) + c[None, :, None, None], np.float32(0))
    assert same_bits(program(a, b, c), wanted)


@pytest.mark.usefixtures("machine")
@pytest.mark.parametrize(
    "root",
    [
        stored(1, 1, 3, 5).conv2d(stored(5, 1, 2, 2), padding=1),
        stored(1, 2, 3, 6).conv2d(stored(9, 2, 2, 2), stride=2),
        stored(5, 4) @ stored(4, 11),
    ],
    ids=["convolution", "strided", "product"],
)
def test_every_stage_keeps_the_value(root: Tensor) -> None:
    check_stages([root.uop])


def nest(root: Tensor) -> UOp:
    """The last nest of a program before it is scheduled."""
    function, _ = function_of(root.uop)
    return simplified(rangeify(function).src[-1], (), Applied()).src[-1]


def tile_of(root: Tensor, usual: bool = True) -> tuple[int, int, int, int] | None:
    """The places of the rows and lanes among the axes, and the size of the tile."""
    ranges, body = nest_of(nest(root))
    last = (ranges[-2], ranges[-1]) if usual else None
    found = chosen(ranges, body, last, WIDE, tiles.FAR)
    if found is None:
        return None
    return ranges.index(found.rows), ranges.index(found.lanes), found.height, found.across


@pytest.fixture
def wide(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (tiles, vector_types, vectors):
        monkeypatch.setattr(module, "this_machine", lambda: WIDE)


@pytest.mark.usefixtures("wide")
@pytest.mark.parametrize(
    ("size", "channels", "expected"),
    [(56, 64, (2, 0, 14, 2)), (28, 128, (2, 0, 14, 2)), (14, 32, (2, 0, 14, 2)), (7, 96, (2, 0, 7, 2))],
)
def test_rows_of_pixels_that_fill_no_vectors_are_not_the_lanes(
    size: int, channels: int, expected: tuple[int, ...]
) -> None:
    x, w = stored(1, 64, size, size), stored(channels, 64, 3, 3)
    assert tile_of(x.conv2d(w, padding=1)) == expected


@pytest.mark.usefixtures("wide")
@pytest.mark.parametrize(("m", "k", "n"), [(512, 64, 512), (1024, 8, 1024), (480, 32, 640)])
def test_a_large_product_keeps_its_usual_tile(m: int, k: int, n: int) -> None:
    assert tile_of(stored(m, k) @ stored(k, n)) is None


@pytest.mark.usefixtures("wide")
def test_neither_does_what_is_little_or_cannot_be_tiled() -> None:
    assert tile_of(stored(8, 9) @ stored(9, 7)) is None
    assert tile_of(stored(40, 40, 40).sum(2), usual=False) is None  # nothing is used again
    assert tile_of(stored(60, 60) * stored(60, 60) + 1, usual=False) is None


@pytest.mark.usefixtures("machine")
def test_the_choice_is_a_lawful_schedule_and_all_that_is_done() -> None:
    function, _ = function_of(stored(1, 3, 6, 10).conv2d(stored(20, 3, 3, 3), padding=1).uop)
    before = rangeify(function)
    _, told = optimized(before, (), Applied())
    assert any("Pack" in schedule_text(s.steps) for s in told)
    given = {s.kernel: Given(parsed(schedule_text(s.steps))) for s in told}
    _, retold = optimized(before, (), Applied(), given)
    assert [s.steps for s in retold] == [s.steps for s in told]


def test_what_is_packed_and_large_is_met_by_all_rows_while_it_is_near(
    monkeypatch: pytest.MonkeyPatch, wide: None
) -> None:
    def outermost(room: float) -> UOp:
        monkeypatch.setattr(tiles, "ROOM", room)
        monkeypatch.setattr(tile_choice, "WORTH", 0)
        monkeypatch.setattr(threads, "WORTH", 1 << 60)
        x, w = stored(1, 64, 5, 14), stored(64, 64, 3, 3)
        function, _ = function_of(x.conv2d(w, padding=1).uop)
        kernels = optimize(rangeify(function), (), Applied()).src
        ranges, body = nest_of(kernels[-1].src[-1])
        assert any(n.op is Op.Reduce for n in toposort(body))
        return ranges[0]

    assert trip_count(outermost(1e-9)) == 2  # 64 channels as two times two vectors
    assert trip_count(outermost(1.0)) == 5  # rows of pixels


# Sums of sums -----------------------------------------------------------------------------------------------------


def blocked_sum(products: np.ndarray, lanes: int) -> np.ndarray:
    """The sum along the last axis as the law has it where it is long: lanes apart, then one after the other."""
    *outer, length = products.shape
    apart = np.full((*outer, lanes), -0.0, products.dtype)
    for k in range(length // lanes):
        apart = apart + products[..., k * lanes : (k + 1) * lanes]
    total = np.full(outer, -0.0, products.dtype)
    for lane in range(lanes):
        total = total + apart[..., lane]
    return total


@pytest.mark.usefixtures("machine")
@pytest.mark.parametrize(("m", "n"), [(13, 35), (33, 16)])
def test_a_long_sum_of_products_goes_by_tiles_in_its_order(m: int, n: int) -> None:
    draw = np.random.default_rng(9)
    a, b = (draw.standard_normal((k, 320)).astype(np.float32) for k in (m, n))
    program = sl.compile(lambda x, y: (x.reshape(m, 1, 320) * y.reshape(1, n, 320)).sum(2), a, b)
    steps = [step for s in program.schedules for step in s.steps]
    assert sum(step.op == "Split" and step.arg[1] is AxisType.UPCAST for step in steps) >= 2
    assert not any(step.op == "Split" and step.arg[1] is AxisType.UNROLL for step in steps)
    assert any(step.op == "Pack" for step in steps)
    assert same_bits(program(a, b), blocked_sum(a[:, None] * b[None], 32))


def sum_of_sums() -> Tensor:
    """Products of rows, summed along one axis and then along another."""
    products = stored(5, 1, 3, 8) * stored(1, 9, 3, 8)
    inner = Op.Reduce(products.uop, arg=ReduceArg(Op.Add, (2,)))
    return Tensor.of(Op.Reduce(inner, arg=ReduceArg(Op.Add, (3,))))


@pytest.mark.usefixtures("machine")
def test_every_stage_keeps_the_value_of_sums_of_sums() -> None:
    assert tile_of(sum_of_sums(), usual=False) is not None
    check_stages([sum_of_sums().uop])


@pytest.mark.usefixtures("machine")
def test_sums_side_by_side_are_not_one_inside_the_other() -> None:
    x, y = stored(20, 6), stored(6, 30)
    assert tile_of((x @ y) * (x @ (y + 1)), usual=False) is None


def test_reductions_tell_what_is_reduced_around_them() -> None:
    i, j, k = (loop(3, n, AxisType.REDUCE) for n in range(3))
    at = Op.Add(Op.Add(i, j), k)
    inner = Op.Reduce(Op.Load(Op.Index(buffer(0, 9, float32), at)), k, arg=ReduceArg(Op.Add))
    middle = Op.Reduce(inner, j, arg=ReduceArg(Op.Add))
    outer = Op.Reduce(middle, i, arg=ReduceArg(Op.Add))
    assert reductions_inside(outer) == {inner: (i, j, k), middle: (i, j), outer: (i,)}


# Tails ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("size", "dtype", "again", "expected"),
    [
        (64, float32, True, [(0, 16), (16, 16), (32, 16), (48, 16)]),
        (37, float32, True, [(0, 16), (16, 16), (21, 16)]),
        (37, float32, False, [(0, 16), (16, 16), (32, 4), (36, 1)]),
        (10, float32, True, [(0, 8), (2, 8)]),
        (15, float64, True, [(0, 8), (7, 8)]),
        (1, float32, True, [(0, 1)]),
    ],
)
@pytest.mark.usefixtures("wide")
def test_the_last_vector_ends_with_the_axis(
    size: int, dtype: Any, again: bool, expected: list[tuple[int, int]]
) -> None:
    assert cuts(size, dtype, again=again) == expected


def sums_in_lanes(result: int) -> UOp:
    """Σ_k (x[k] + y[l]) in 21 lanes l, which Buffer `result` takes; Buffer 1 is y."""
    lane, k = loop(21, 0, AxisType.UPCAST), loop(3, 1, AxisType.REDUCE)
    x = Op.Load(Op.Index(buffer(0, 3, float32), k))
    y = Op.Load(Op.Index(buffer(1, 21, float32), lane))
    reduction = Op.Reduce(Op.Add(x, y), k, arg=ReduceArg(Op.Add))
    return Op.End(Op.Store(Op.Index(buffer(result, 21, float32), lane), reduction), lane)


@pytest.mark.usefixtures("wide")
@pytest.mark.parametrize(("result", "stores"), [(2, 2), (1, 3)])
def test_what_is_read_again_is_not_written_twice(result: int, stores: int) -> None:
    """21 lanes are two vectors that overlap; in place they are 16, 4 and 1, or the second would read the first's."""
    kernels = Op.Linear(Op.Sink(sums_in_lanes(result)))
    (lanes,) = expand(kernels).src[0].src
    made = vectorized(lanes, iter(range(9, 99)))
    assert sum(n.op is Op.Store for n in toposort(made)) == stores
    held = {0: np.array([1, 2, 3], np.float32), 1: np.arange(21, dtype=np.float32)}
    if result == 2:
        held[2] = np.zeros(21, np.float32)
    both = [executed(form, dict(held))[result] for form in (kernels, linearize(Op.Linear(Op.Sink(made))))]
    assert both[0] == both[1]


def test_sums_of_vectors_that_overlap_run_in_one_loop(machine: Target) -> None:
    a, b = np.ones((2, 8), np.float32), np.ones((8, machine.vector // 4 + 1), np.float32)
    program = sl.compile(lambda x, y: x @ y, a, b)
    loops = [n for k in program.uops.src for n in k.src if n.op is Op.Range and n.arg.type is AxisType.REDUCE]
    assert len(loops) == 1


@pytest.mark.parametrize(
    ("count", "most", "expected"),
    [
        (12, 6, [(6, 2)]),
        (13, 6, [(5, 1), (4, 2)]),
        (5, 6, [(5, 1)]),
        (512, 6, [(6, 82), (5, 4)]),
        (1, 1, [(1, 1)]),
    ],
)
def test_an_axis_goes_in_even_pieces(count: int, most: int, expected: list[tuple[int, int]]) -> None:
    assert evenly(count, most) == expected
    assert sum(n * times for n, times in expected) == count


# Borders ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("before", "after"), [(1, 1), (2, 0), (0, 3), (1, 2)])
@pytest.mark.usefixtures("machine")
def test_inside_of_a_border_there_is_no_gate(before: int, after: int) -> None:
    x = np.arange(24 * 31, dtype=np.float32).reshape(24, 31) + 1
    around = ((before, after), (before, after))
    program = sl.compile(lambda t: t.pad(around).contiguous(), x)
    assert same_bits(program(x), np.pad(x, around))
    kernels = program.stages["optimize"].src
    gated = [
        any(n.op is Op.Load and len(n.src) > 1 for n in toposort(nest)) for k in kernels for nest in k.src
    ]
    assert not any(gated)


def moved(gate: UOp, *ranges: UOp) -> UOp:
    """A nest that loads behind a gate."""
    place = Op.Index(buffer(0, 999, float32), const(0, index))
    store = Op.Store(Op.Index(buffer(1, 9, float32), ranges[0]), Op.Load(place, const(0.0, float32), gate))
    for r in reversed(ranges):
        store = Op.End(store, r)
    return store


R, S = loop(40, 0, AxisType.LOOP), loop(9, 1, AxisType.LOOP)


def number(value: int) -> UOp:
    return const(value, index)


@pytest.mark.parametrize(
    ("gate", "expected"),
    [
        pytest.param(Op.CmpLt(R, number(38)), (R, 38), id="the end"),
        pytest.param(Op.CmpLt(number(1), R), (R, 2), id="the beginning"),
        pytest.param(Op.CmpLt(Op.Mul(R, number(3)), number(115)), (R, 39), id="in steps"),
        pytest.param(Op.CmpLe(number(3), R), (R, 3), id="or equal"),
        pytest.param(Op.CmpLt(number(-100), Op.Mul(R, number(-3))), (R, 34), id="downwards"),
        pytest.param(Op.CmpLt(R, number(20)), None, id="a half"),
        pytest.param(Op.CmpLt(R, number(40)), None, id="always"),
        pytest.param(Op.CmpLt(R, S), None, id="of two axes"),
        pytest.param(Op.CmpLt(Op.Mul(R, R), number(1500)), None, id="of no line"),
        pytest.param(Op.And(Op.CmpLt(R, number(0)), Op.CmpLt(R, number(38))), None, id="never"),
    ],
)
def test_a_border_begins_where_a_gate_changes(gate: UOp, expected: tuple[UOp, int] | None) -> None:
    found = border(moved(gate, R, S))
    assert found == expected
    if expected is not None:
        axis, at = expected
        said = [arithmetic.bounds(substitute(gate, {axis: number(k)})) for k in range(trip_count(axis))]
        values = [bool(b.lo) for b in said if b is not None]
        assert [values[k] == values[0] for k in range(len(values))] == [k < at for k in range(len(values))]
