"""Scatters: reductions gated to one place, written as one step for each element; and the stages of such reductions."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import soundline as sl
from soundline.impl.arrays import storage
from soundline.impl.codegen.c.target import TARGET
from soundline.impl.lower.callify import callify
from soundline.impl.lower.graphs.simplify import Applied
from soundline.impl.lower.reductions.scatters import is_scatter, parts, scatter_of
from soundline.impl.program.compile import lower
from soundline.spec.compositions import tensors
from soundline.spec.dtypes import float32, index, int64
from soundline.spec.pipeline.stages import check_pipeline
from soundline.spec.uop import AxisType, Op, ReduceArg, UOp, buffer, const, loop, param, toposort

RANDOM = np.random.default_rng(8)
K, D = 300, 700


def same_bits(a: np.ndarray, b: np.ndarray) -> bool:
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == np.ascontiguousarray(b).tobytes()


def values(count: int, *more: int) -> np.ndarray:
    """Numbers with zeros of both signs and infinities among them."""
    found = RANDOM.normal(size=(count, *more)).astype(np.float32)
    found[::7] = -0.0
    found[3::50] = np.inf
    return found


def places(count: int, size: int) -> np.ndarray:
    """Indices of which some are outside, and some of which occur often."""
    found = RANDOM.integers(-4, size + 4, count)
    found[::5] = 7
    found[1] = 1 << 40
    return found


def added(table: np.ndarray, at: np.ndarray, what: np.ndarray) -> np.ndarray:
    """Element by element, ascending, apart from the table."""
    total = np.full(table.shape, -0.0 if table.dtype.kind == "f" else 0, table.dtype)
    with np.errstate(all="ignore"):
        for k, v in zip(at, what, strict=True):
            if 0 <= k < len(total):
                total[k] += v
        return table + total


def scatters(program: sl.Program) -> list[UOp]:
    return [nest for kernel in program.kernels for nest in kernel.src if scatter_of(nest) is not None]


@pytest.mark.parametrize("profile", ["exact", "fast"])
def test_scatter_add_of_the_law_takes_one_step_for_each_element(profile: str) -> None:
    table, at, what = values(K), places(D, K), values(D)
    program = sl.compile(
        lambda t, i, v: sl.Tensor.of(tensors.scatter_add(t.uop, i.uop, v.uop)),
        table,
        at,
        what,
        profile=profile,
    )
    assert len(scatters(program)) == len(program.kernels) == 1
    assert same_bits(program(table, at, what), added(table, at, what))
    assert {"fold_without_last", "sum_step_behind_gate"} <= {r.id for r in program.certificate.rules}


@pytest.mark.parametrize("dtype", ["int8", "int32", "int64", "float32", "float64"])
def test_scatter_add_of_tensors(dtype: str) -> None:
    table, what = values(K).clip(-9, 9).astype(dtype), values(D).clip(-9, 9).astype(dtype)
    at = places(D, K).clip(-K, K + 3)
    program = sl.compile(lambda t, i, v: t.scatter_add(0, i, v), table, at, what)
    assert len(scatters(program)) == 1
    assert same_bits(program(table, at, what), added(table, np.where(at < 0, at + K, at), what))


def test_rows_are_added_at_places_of_their_own() -> None:
    table, what = values(K, 5), values(D, 5)
    at = RANDOM.integers(0, K, (D, 5))
    program = sl.compile(lambda t, i, v: t.scatter_add(0, i, v), table, at, what)
    assert len(scatters(program)) == 1
    columns = [added(table[:, c], at[:, c], what[:, c]) for c in range(5)]
    assert same_bits(program(table, at, what), np.stack(columns, 1))


def put(table: np.ndarray, at: np.ndarray, what: np.ndarray) -> np.ndarray:
    """Element by element, ascending: the last one wins."""
    found = table.copy()
    for k, v in zip(at, what, strict=True):
        if 0 <= (k + len(table) if k < 0 else k) < len(table):
            found[k] = v
    return found


@pytest.mark.parametrize("profile", ["exact", "fast"])
def test_what_is_put_at_a_place_needs_no_loop_over_all_that_is_not(profile: str) -> None:
    """The number of the last element for each place is a scatter, and the element with this number is a load."""
    table, what, at = values(K), values(D), places(D, K)
    program = sl.compile(lambda t, i, v: t.scatter(0, i, v), table, at, what, profile=profile)
    assert len(scatters(program)) == 1
    assert sum(n.op is Op.Reduce for n in toposort(*program.kernels)) == 1
    assert same_bits(program(table, at, what), put(table, at, what))


def test_rows_are_put_at_places_of_their_own() -> None:
    table, what = values(K, 5), values(D, 5)
    at = RANDOM.integers(0, K, (D, 5))
    program = sl.compile(lambda t, i, v: t.scatter(0, i, v), table, at, what)
    assert len(scatters(program)) == 1
    columns = [put(table[:, c], at[:, c], what[:, c]) for c in range(5)]
    assert same_bits(program(table, at, what), np.stack(columns, 1))
    flags = what > 0
    program = sl.compile(lambda t, i, v: t.scatter(0, i, v), table > 0, at, flags)
    columns = [put(table[:, c] > 0, at[:, c], flags[:, c]) for c in range(5)]
    assert np.array_equal(program(table > 0, at, flags), np.stack(columns, 1))


def test_an_order_is_written_at_its_ranks() -> None:
    x = values(500)
    x[17] = np.nan
    program = sl.compile(lambda t: t.sort()[0], x)
    assert len(scatters(program)) == 1
    assert np.array_equal(program(x), np.sort(x), equal_nan=True)
    program = sl.compile(lambda t: t.argsort(), x)
    assert np.array_equal(program(x), np.argsort(x, kind="stable"))


def test_nothing_is_added_where_there_is_nothing() -> None:
    table = values(6)
    program = sl.compile(lambda t, i, v: t.scatter_add(0, i, v), table, np.zeros(0, np.int64), values(0))
    assert same_bits(program(table, np.zeros(0, np.int64), values(0)), table)


# Stages -----------------------------------------------------------------------------------------------------------

STAGED: dict[str, Callable[[], sl.Tensor]] = {
    "scatter": lambda: sl.Tensor(values(5)).scatter(
        0, sl.Tensor(places(6, 5).clip(-5, 8)), sl.Tensor(values(6))
    ),
    "scatter_add": lambda: sl.Tensor(values(5)).scatter_add(
        0, sl.Tensor(places(6, 5).clip(-5, 8)), sl.Tensor(values(6))
    ),
    "sort": lambda: sl.Tensor(values(6)).unsqueeze(1).expand(6, 2).sort(0)[0],
    "sums before each element": lambda: sl.Tensor(values(6, 7)).unsqueeze(1).expand(6, 7, 7).tril(-1).sum(2),
    "cumsum of rows": lambda: sl.Tensor(values(6, 7)).cumsum(1) * 2.0,
    "cumsum of columns": lambda: sl.Tensor(values(6, 9)).cumsum(0),
    "cummax from the end": lambda: sl.Tensor(values(5, 7)).flip(1).cummax(1).flip(1),
    "gather": lambda: sl.Tensor.of(tensors.gather(sl.Tensor(values(9)).uop, sl.Tensor(places(20, 9)).uop)),
    "arange": lambda: sl.Tensor.of(tensors.arange(20, int64)),
}


@pytest.mark.parametrize("name", STAGED)
def test_every_stage_keeps_its_invariant(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("soundline.impl.lower.reductions.scatters.WORTH", 0)
    lower.cache_clear()
    function = callify([STAGED[name]().uop])
    held = {k: storage.contents(b) for k, b in enumerate(function.src[1:])}
    fresh = (buffer(k, b.arg.size, b.dtype) for k, b in enumerate(function.src[1:]))
    lowered = lower(Op.Function(function.src[0], *fresh), "exact")
    lower.cache_clear()
    assert check_pipeline(lowered.stages, lowered.source, TARGET, held) == []
    if name == "scatter_add":
        assert lowered.stages["plan"].src[-1].src[0].op is Op.Range
        assert sum(n.op is Op.Store for n in lowered.stages["plan"].src[-1].src) == 3


# By hand ----------------------------------------------------------------------------------------------------------

SOURCE, TO, OUT = buffer(0, 200, float32), buffer(1, 200, int64), buffer(2, 200, float32)
SLOT, STEP = loop(100, 0), loop(200, 1, AxisType.REDUCE)
THERE = Op.Cast(Op.Load(Op.Index(TO, STEP)), arg=index)
WHAT = Op.Load(Op.Index(SOURCE, STEP))


def nothing(value: float = -0.0) -> UOp:
    return const(value, float32)


def nest(value: UOp, op: Op = Op.Add, slot: UOp = SLOT) -> UOp:
    reduction = Op.Reduce(value, STEP, arg=ReduceArg(op))
    return Op.End(Op.Store(Op.Index(OUT, slot), reduction), slot)  # type: ignore[no-any-return]


def test_what_a_scatter_is() -> None:
    gated = Op.Where(Op.And(Op.CmpEq(THERE, SLOT), Op.CmpLt(STEP, const(9, index))), WHAT, nothing())
    for made in (Op.Where(Op.CmpEq(SLOT, THERE), WHAT, nothing()), gated):
        assert is_scatter(nest(made), Applied())
        assert len(parts(nest(made))) == 2
    greatest = nest(Op.Where(Op.CmpEq(SLOT, THERE), WHAT, nothing(-np.inf)), Op.Max)
    assert is_scatter(greatest, Applied())


@pytest.mark.parametrize(
    "made",
    [
        nest(Op.Where(Op.CmpEq(SLOT, THERE), WHAT, nothing(0.0))),  # a sum notices +0.0
        nest(Op.Where(Op.CmpEq(SLOT, THERE), WHAT, nothing(0.0)), Op.Max),  # all may lie below 0
        nest(Op.Where(Op.CmpNe(SLOT, THERE), WHAT, nothing())),  # every place but one
        nest(Op.Where(Op.CmpLe(SLOT, THERE), WHAT, nothing())),
        nest(Op.Where(Op.CmpEq(SLOT, THERE), Op.Load(Op.Index(SOURCE, SLOT)), nothing())),  # of the place
        nest(Op.Where(Op.CmpEq(SLOT, param(5, index)), WHAT, nothing())),  # one place for all steps
        nest(Op.Where(Op.CmpEq(SLOT, Op.Add(THERE, SLOT)), WHAT, nothing())),
        nest(WHAT),
    ],
    ids=["+0.0", "max 0", "!=", "<=", "reads its place", "one place", "depends on its place", "a sum"],
)
def test_what_is_no_scatter(made: UOp) -> None:
    assert not is_scatter(made, Applied())
    assert parts(made) == (made,)


def test_short_reductions_keep_their_lanes() -> None:
    few = loop(8, 0)
    assert not is_scatter(nest(Op.Where(Op.CmpEq(few, THERE), WHAT, nothing()), slot=few), Applied())
