"""Loops that are dealt out to cores: which, and that no bit depends on how many cores there are."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import soundline as sl
from soundline.impl.lower.linear.linearize import nest_of
from soundline.impl.lower.schedule import threads
from soundline.impl.program.compile import Program, lower
from soundline.impl.tensors.tensor import Tensor
from soundline.spec.dtypes import float32
from soundline.spec.uop import AxisType, Op, UOp, buffer, const, loop, toposort

from .test_lowering import check_stages, stored


@pytest.fixture
def everything() -> Iterator[None]:
    """Every nest is worth a core."""
    before = threads.WORTH
    threads.WORTH = 0  # type: ignore[misc]
    lower.cache_clear()
    yield
    threads.WORTH = before  # type: ignore[misc]
    lower.cache_clear()


def dealt(program: Program) -> list[list[AxisType]]:
    """The types of the loops around each nest of each kernel, outermost first."""
    return [[r.arg.type for r in nest_of(nest)[0]] for k in program.kernels for nest in k.src]


def test_what_is_worth_it_is_dealt_out_by_its_outermost_loop() -> None:
    x = np.ones((512, 300), np.float32)
    program = sl.compile(lambda a: (a @ a.T).relu(), x)
    heavy = [types for types in dealt(program) if AxisType.THREAD in types]
    assert heavy
    assert all(types[0] is AxisType.THREAD and types.count(AxisType.THREAD) == 1 for types in heavy)
    assert all(len(k.src) == 1 for k in program.kernels if any(is_thread(n) for n in toposort(k)))


def is_thread(node: UOp) -> bool:
    return node.op is Op.Range and node.arg.type is AxisType.THREAD


def test_what_is_small_stays_on_one_core() -> None:
    x = np.ones((20, 20), np.float32)
    assert not any(AxisType.THREAD in types for types in dealt(sl.compile(lambda a: a @ a + 1, x)))


@pytest.mark.usefixtures("everything")
@pytest.mark.parametrize(
    "root",
    [
        stored(9, 5) @ stored(5, 37),
        (stored(2, 37).softmax() * 2).sum(0),
        stored(260).sum(),
        stored(2, 18, 17).permute(2, 0, 1).contiguous(),
        stored(30) / stored(30).sum(),
        (stored(6, 4) > 0).any(1).where(stored(6), 1.5),
    ],
    ids=["product", "softmax", "one sum", "moved", "by the sum", "bools"],
)
def test_every_stage_keeps_the_value_of_what_is_dealt_out(root: Tensor) -> None:
    check_stages([root.uop])


@pytest.mark.usefixtures("everything")
def test_no_bit_depends_on_how_many_cores_take_part(monkeypatch: pytest.MonkeyPatch) -> None:
    source = np.random.default_rng(3)
    a, b = (source.standard_normal(s).astype(np.float32) for s in ((70, 90), (90, 110)))
    found = []
    for cores in ("1", "2", "3"):
        monkeypatch.setenv("SOUNDLINE_THREADS", cores)
        found.append(sl.compile(lambda x, y: (x @ y).softmax(), a, b)(a, b).tobytes())
    assert len(set(found)) == 1


def nest(*ranges: UOp, body: UOp) -> UOp:
    at = ranges[0]
    effect: UOp = Op.Store(Op.Index(buffer(0, 64, float32), at), body)
    for r in reversed(ranges):
        effect = Op.End(effect, r)
    return effect


def test_a_reduction_that_all_iterations_share_is_not_done_by_every_core(everything: None) -> None:
    i, k = loop(64, 0, AxisType.LOOP), loop(9, 1, AxisType.REDUCE)
    read = Op.Load(Op.Index(buffer(1, 64, float32), k))
    same = Op.Reduce(read, k, arg=sl.spec.uop.ReduceArg(Op.Add))
    own = Op.Reduce(Op.Load(Op.Index(buffer(1, 64, float32), Op.Add(i, k))), k, arg=same.arg)
    assert threads.dealt_out(nest(i, body=same)) is None
    assert threads.dealt_out(nest(i, body=own)) is i


def test_the_first_long_loop_is_dealt_out_or_else_the_longest(everything: None) -> None:
    def first(*sizes: int) -> int:
        ranges = [loop(n, k, AxisType.LOOP) for k, n in enumerate(sizes)]
        chosen = threads.dealt_out(nest(*ranges, body=const(1.0, float32)))
        return 1 if chosen is None else int(chosen.src[0].arg.value)

    assert first(2, 40, 50) == 40
    assert first(2, 5, 3) == 5
    assert first(1, 1) == 1


def test_work_counts_what_is_reduced_for_every_iteration() -> None:
    i, k = loop(8, 0, AxisType.LOOP), loop(100, 1, AxisType.REDUCE)
    read = Op.Load(Op.Index(buffer(1, 900, float32), Op.Add(i, k)))
    reduction = Op.Reduce(read, k, arg=sl.spec.uop.ReduceArg(Op.Add))
    assert threads.work(nest(i, body=reduction)) > 50 * threads.work(nest(i, body=const(1.0, float32)))
