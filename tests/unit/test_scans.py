"""Running reductions: what is lowered to one step in each iteration, what is not, and that no bit changes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import soundline as sl
from soundline.impl.analysis import sums
from soundline.impl.compilation.stages import lower
from soundline.impl.lower.graphs.simplify import Applied
from soundline.impl.lower.linear import scans as lowering
from soundline.impl.lower.linear.linearize import nest_of, runs_along
from soundline.impl.lower.linear.scans import _continues, scanned
from soundline.impl.lower.reductions import scatters
from soundline.impl.lower.schedule import any_reductions, threads
from soundline.impl.lower.schedule.threads import dealt_out
from soundline.impl.rules import SCANS
from soundline.impl.rules.tensors import scans
from soundline.spec.compositions import tensors
from soundline.spec.dtypes import float32, index
from soundline.spec.uop import AxisType, Op, ReduceArg, UOp, buffer, const, loop, toposort

Tensors = Callable[[sl.Tensor], sl.Tensor]


def data(rows: int, columns: int) -> np.ndarray:
    """Numbers with zeros of both signs, infinities and NaN among them, and a row of -0.0."""
    x = np.random.default_rng(6).normal(size=(rows, columns)).astype(np.float32)
    x[0, : columns // 2] = -0.0
    x[rows // 2] = -0.0
    x[1, columns // 3] = np.inf
    x[2, columns // 3] = -np.inf
    x[2, columns // 2] = np.nan
    return x


def is_linear(program: sl.Program) -> bool:
    """Whether every reduction of a program runs along a loop, in all kernels."""
    nests = [nest for kernel in program.kernels for nest in kernel.src]
    found = [(f, nest_of(nest)[0]) for nest in nests for f in toposort(nest) if f.op is Op.Reduce]
    return bool(found) and all(any(runs_along(f, r) for r in ranges) for f, ranges in found)


def same_bits(a: np.ndarray, b: np.ndarray) -> bool:
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == np.ascontiguousarray(b).tobytes()


RUNNING: dict[str, tuple[Tensors, Callable[[np.ndarray], np.ndarray]]] = {
    "sum of rows": (lambda x: x.cumsum(1), lambda x: np.cumsum(x, 1)),
    "sum of columns": (lambda x: x.cumsum(0), lambda x: np.cumsum(x, 0)),
    "product": (lambda x: x.cumprod(1), lambda x: np.cumprod(x, 1)),
    "greatest": (lambda x: x.cummax(1), lambda x: np.maximum.accumulate(x, 1)),
    "from the end": (lambda x: x.flip(1).cumsum(1).flip(1), lambda x: np.cumsum(x[:, ::-1], 1)[:, ::-1]),
    "columns from the end": (lambda x: x.flip(0).cumsum(0).flip(0), lambda x: np.cumsum(x[::-1], 0)[::-1]),
    "of all": (lambda x: x.reshape(-1).cumsum(0), lambda x: np.cumsum(x.reshape(-1))),
    "and what is made of it": (
        lambda x: x.cumsum(1) * x - 1.0,
        lambda x: np.cumsum(x, 1) * x - np.float32(1),
    ),
    "two of one loop": (
        lambda x: x.cumsum(1) + x.cummax(1),
        lambda x: np.cumsum(x, 1) + np.maximum.accumulate(x, 1),
    ),
    "of a middle axis": (
        lambda x: x.reshape(3, 3, 13).cumsum(1),
        lambda x: np.cumsum(x.reshape(3, 3, 13), 1),
    ),
}


def _before(x: np.ndarray, reduction: np.ufunc, none: float) -> np.ndarray:
    """Of each row what stands before each element, reduced; of nothing `none`."""
    reduced = reduction.accumulate(x, 1)
    return np.concatenate([np.full((len(x), 1), none, x.dtype), reduced[:, :-1]], 1)


def _earlier(n: int) -> sl.Tensor:
    return (sl.Tensor.arange(n).unsqueeze(0) < sl.Tensor.arange(n).unsqueeze(1)).unsqueeze(0)


def _behind(none: float) -> Tensors:
    return lambda x: _earlier(13).where(x.unsqueeze(1), none)


LEFT_OUT: dict[str, tuple[Tensors, Callable[[np.ndarray], np.ndarray]]] = {
    "sum": (lambda x: _behind(0.0)(x).sum(2), lambda x: _before(x, np.add, 0.0) + np.float32(0)),
    "sum among negative zeros": (lambda x: _behind(-0.0)(x).sum(2), lambda x: _before(x, np.add, -0.0)),
    "product": (lambda x: _behind(1.0)(x).prod(2), lambda x: _before(x, np.multiply, 1.0)),
    "greatest": (lambda x: _behind(-np.inf)(x).max(2), lambda x: _before(x, np.maximum, -np.inf)),
    "below the diagonal": (
        lambda x: x.unsqueeze(1).expand(9, 13, 13).tril(-1).sum(2),
        lambda x: _before(x, np.add, 0.0) + np.float32(0),
    ),
    "from the end": (
        lambda x: (_behind(0.0)(x.flip(1)).sum(2)).flip(1),
        lambda x: (_before(x[:, ::-1], np.add, 0.0) + np.float32(0))[:, ::-1],
    ),
    "and what is made of it": (
        lambda x: _behind(0.0)(x).sum(2) * x - 1.0,
        lambda x: (_before(x, np.add, 0.0) + np.float32(0)) * x - np.float32(1),
    ),
}


@pytest.mark.parametrize("name", LEFT_OUT)
@pytest.mark.parametrize("profile", ["exact", "fast"])
def test_a_scan_that_leaves_out_its_own_element_takes_one_step_in_each_iteration(
    name: str, profile: str
) -> None:
    made, expected = LEFT_OUT[name]
    x = data(9, 13)
    program = sl.compile(made, x, profile=profile)
    assert is_linear(program)
    with np.errstate(all="ignore"):
        assert same_bits(program(x), expected(x))


@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.int64, np.uint8], ids=lambda d: d.__name__)
def test_a_scan_of_whole_numbers_that_leaves_out_its_own_element(dtype: type) -> None:
    x = np.random.default_rng(3).integers(0, 100, (9, 13)).astype(dtype)
    program = sl.compile(lambda x: _earlier(13).where(x.unsqueeze(1), 0).sum(2), x)
    assert is_linear(program)
    got = program(x)
    assert np.array_equal(got, _before(x.astype(got.dtype), np.add, 0))


def test_nothing_is_read_before_the_first_element() -> None:
    """The step that is not noticed is behind a gate, and so is what it would read."""
    x = data(9, 13)
    program = sl.compile(LEFT_OUT["sum"][0], x)
    loads = [n for n in toposort(*program.kernels) if n.op is Op.Load]
    assert loads
    assert all(len(n.src) == 3 for n in loads)


@pytest.mark.parametrize("name", RUNNING)
@pytest.mark.parametrize("profile", ["exact", "fast"])
def test_running_reduction_takes_one_step_in_each_iteration_and_changes_no_bit(
    name: str, profile: str
) -> None:
    made, expected = RUNNING[name]
    x = data(9, 13)
    program = sl.compile(made, x, profile=profile)
    assert len(program.kernels) == 1
    assert is_linear(program)
    with np.errstate(all="ignore"):
        assert same_bits(program(x), expected(x))


def test_prefix_sum_of_the_source_takes_one_step_in_each_iteration() -> None:
    """Its zeros in front turn a sum of -0.0 into +0.0, in all elements but the last."""
    for x in (data(3, 9)[0], np.full(9, -0.0, np.float32), np.array([-0.0, 1.5, -1.5], np.float32)):
        program = sl.compile(lambda t: sl.Tensor.of(tensors.prefix_sum_of_the_source(t.uop)), x)
        assert is_linear(program)
        expected = np.cumsum(x)
        expected[:-1] += np.float32(0.0)
        assert same_bits(program(x), expected)


def test_sums_below_a_mask_of_zeros() -> None:
    x = data(5, 9)[4]
    at = sl.Tensor.arange(9)
    mask = at.unsqueeze(0) <= at.unsqueeze(1)
    program = sl.compile(lambda t: mask.where(t.unsqueeze(0), 0.0).sum(1), x)
    assert is_linear(program)
    expected = np.cumsum(x)
    expected[:-1] += np.float32(0.0)
    assert same_bits(program(x), expected)


def test_whole_numbers_wrap_alike() -> None:
    x = np.arange(-60, 57, dtype=np.int64).reshape(9, 13) * (1 << 60)
    for made, expected in ((sl.Tensor.cumsum, np.cumsum), (sl.Tensor.cumprod, np.cumprod)):
        program = sl.compile(lambda t, made=made: made(t, 1), x)
        assert is_linear(program)
        assert same_bits(program(x), expected(x, 1))


def test_rows_and_lanes_that_do_not_fill() -> None:
    for rows, columns in ((5, 2), (4, 3), (7, 300), (2, 9), (1, 6), (6, 1)):
        x = np.random.default_rng(rows).normal(size=(rows, columns)).astype(np.float32)
        for axis in (0, 1):
            program = sl.compile(lambda t, axis=axis: t.cumsum(axis), x)
            assert same_bits(program(x), np.cumsum(x, axis)), (rows, columns, axis)


def test_what_is_dear_is_computed_once_and_not_padded() -> None:
    x = data(9, 13)
    program = sl.compile(lambda t: t.exp().cumsum(1), x)
    assert len(program.kernels) == 2
    sizes = {n.arg.size for n in toposort(*program.kernels) if n.op is Op.Buffer}
    assert sizes == {9 * 13}
    assert is_linear(sl.compile(lambda t: t.cumsum(1), x))


def test_certificate_names_the_rules_and_the_validated_step() -> None:
    program = sl.compile(lambda t: t.cumsum(1), data(9, 13))
    named = {r.id: r for r in program.certificate.rules}
    assert named.keys() >= {"sum_from_of_floats", "fold_without_last", "fold_of_one_iteration"}
    assert named["isolate_folded_range"].procedural
    assert named["isolate_folded_range"].ruling.verdict == "proved"


def test_every_bounding_rule_is_one_that_lowering_uses() -> None:
    steps = {scans.fold_without_last, scans.fold_of_one_iteration}
    choices = {scans.any_gated_to_one, scans.nearest_of_inside}
    bools = {scans.mask_as_choice, *any_reductions.WIDTHS[4], *any_reductions.WIDTHS[8]}
    used = {*lowering.BOUNDS, *lowering.OR_NONE, *steps, *choices, *scatters.STEPS}
    assert used | bools == set(SCANS)


# By hand ----------------------------------------------------------------------------------------------------------

SOURCE, TARGET = buffer(0, 64, float32), buffer(1, 64, float32)


def number(value: int) -> UOp:
    return const(value, index)


def masked(gate: Callable[[UOp, UOp], UOp], nothing: float, op: Op = Op.Add) -> UOp:
    """A nest that stores, for every i < 8, the reduction over k < 8 of what a gate lets through."""
    i, k = loop(8, 0), loop(8, 1, AxisType.REDUCE)
    value = Op.Where(gate(i, k), Op.Load(Op.Index(SOURCE, k)), const(nothing, float32))
    return Op.End(Op.Store(Op.Index(TARGET, i), Op.Reduce(value, k, arg=ReduceArg(op))), i)


def lowered(nest: UOp) -> list[UOp] | None:
    return scanned(nest, iter(range(10, 1000)), Applied())


@pytest.mark.parametrize(
    ("gate", "op", "nothing"),
    [
        (lambda i, k: Op.CmpLe(k, i), Op.Add, -0.0),
        (lambda i, k: Op.CmpLt(k, Op.Add(i, number(1))), Op.Add, -0.0),
        (Op.CmpGe, Op.Mul, 1.0),
        (lambda i, k: Op.CmpGt(Op.Add(i, number(1)), k), Op.Max, -np.inf),
        (lambda i, k: Op.CmpLe(Op.Sub(k, i), number(0)), Op.Add, -0.0),
        (lambda i, k: Op.CmpLt(number(-1), Op.Sub(i, k)), Op.Add, -0.0),
        (lambda i, k: Op.CmpLt(k, i), Op.Add, -0.0),
        (lambda i, k: Op.CmpLe(Op.Add(k, number(1)), i), Op.Mul, 1.0),
    ],
    ids=["k<=i", "k<i+1", "i>=k", "i+1>k", "k-i<=0", "-1<i-k", "k<i", "k+1<=i"],
)
def test_gate_of_any_form_is_read(gate: Callable[[UOp, UOp], UOp], op: Op, nothing: float) -> None:
    found = lowered(masked(gate, nothing, op))
    assert found is not None
    (nest,) = found
    ranges, body = nest_of(nest)
    (reduction,) = (n for n in toposort(body) if n.op is Op.Reduce)
    assert runs_along(reduction, ranges[0])


@pytest.mark.parametrize(
    ("gate", "op", "nothing"),
    [
        (lambda i, k: Op.CmpLt(k, Op.Sub(i, number(1))), Op.Add, -0.0),  # the bound may lie below 0
        (lambda i, k: Op.CmpLe(k, Op.Add(i, number(1))), Op.Add, -0.0),  # the bound leaves the range
        (lambda i, k: Op.CmpLe(k, i), Op.Add, 1.0),  # a sum notices 1
        (lambda i, k: Op.CmpLe(k, i), Op.Mul, 0.0),  # a product notices 0
        (lambda i, k: Op.CmpLe(k, i), Op.Max, 0.0),  # all elements may lie below
        (lambda i, k: Op.CmpLe(k, Op.Mul(i, number(2))), Op.Add, -0.0),  # two steps in an iteration
        (lambda i, k: Op.CmpLe(Op.Mul(k, number(2)), i), Op.Add, -0.0),  # half a step
        (lambda i, k: Op.CmpLe(number(7), Op.Add(i, k)), Op.Add, -0.0),  # the new element comes first
        (Op.CmpLe, Op.Add, -0.0),  # here too, along the mirrored loop
        (lambda i, k: Op.CmpNe(k, i), Op.Add, -0.0),  # no bound
        (lambda i, k: Op.CmpLe(k, Op.Mod(i, number(4))), Op.Add, -0.0),  # begins anew
    ],
    ids=["k<i-1", "k<=i+1", "+1.0", "times 0", "max 0", "k<=2i", "2k<=i", "7<=i+k", "i<=k", "k!=i", "k<=i%4"],
)
def test_what_is_no_running_reduction_stays(gate: Callable[[UOp, UOp], UOp], op: Op, nothing: float) -> None:
    assert lowered(masked(gate, nothing, op)) is None


def test_reduction_of_what_depends_on_the_loop_stays() -> None:
    """A convolution with a triangular mask reduces other products in each iteration."""
    i, k = loop(8, 0), loop(8, 1, AxisType.REDUCE)
    product = Op.Mul(Op.Load(Op.Index(SOURCE, k)), Op.Load(Op.Index(SOURCE, Op.Add(i, k))))
    value = Op.Where(Op.CmpLe(k, i), product, const(-0.0, float32))
    reduction = Op.Reduce(value, k, arg=ReduceArg(Op.Add))
    assert lowered(Op.End(Op.Store(Op.Index(TARGET, i), reduction), i)) is None


def test_step_that_is_not_the_next_one_is_refused() -> None:
    i = loop(8, 0)
    for size in (Op.Add(i, number(2)), Op.Mul(Op.Add(i, number(1)), number(2)), number(8)):
        k = UOp(Op.Range, (size,), loop(1, 5, AxisType.REDUCE).arg)
        reduction = Op.Reduce(Op.Load(Op.Index(SOURCE, k)), k, arg=ReduceArg(Op.Add))
        assert not runs_along(reduction, i)
    k = UOp(Op.Range, (Op.Add(i, number(1)),), loop(1, 5, AxisType.REDUCE).arg)
    reduction = Op.Reduce(Op.Load(Op.Index(SOURCE, k)), k, arg=ReduceArg(Op.Add))
    assert runs_along(reduction, i)
    assert _continues(reduction, i, iter(range(10, 99)), Applied())


def test_loop_of_a_scan_is_dealt_out_to_no_core(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("soundline.impl.lower.schedule.threads.WORTH", 0)
    x = np.ones(5000, np.float32)
    program = sl.compile(lambda t: t.cumsum(0), x)
    (nest,) = program.kernels[0].src
    assert dealt_out(nest) is None


def test_blocks_of_sums_are_not_taken_for_scans() -> None:
    x = np.random.default_rng(1).normal(size=(3, 5000)).astype(np.float32)
    program = sl.compile(lambda t: t.sum(1), x)
    assert not is_linear(program)
    assert sums.SHORT < 5000


def test_a_large_running_sum_stores_no_padding() -> None:
    program = sl.compile(lambda x: x.cumsum(1), np.ones((64, 128), np.float32))
    assert len(program.kernels) == 1


def test_nests_of_one_running_sum_are_dealt_out_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """What its lanes leave over is a nest with the same loops around."""
    monkeypatch.setattr(threads, "WORTH", 1)
    lower.cache_clear()
    x = np.random.default_rng(8).normal(size=(3, 4, 1027)).astype(np.float32)
    program = sl.compile(lambda t: t.cumsum(0), x)
    lower.cache_clear()
    nests = [nest for kernel in program.stages["optimize"].src for nest in kernel.src]
    assert len(nests) > 1
    dealt = [[r for r in nest_of(n)[0] if r.arg.type is AxisType.THREAD] for n in nests]
    assert all(len(threads_of) == 1 for threads_of in dealt)
    assert program(x).tobytes() == x.cumsum(0).tobytes()
