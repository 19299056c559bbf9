"""Kernels that share rows: which become one, that no stage changes a value, and that rows stay in their core."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pytest

import soundline as sl
from soundline.impl.analysis import arithmetic
from soundline.impl.codegen.c.target import TARGET
from soundline.impl.lower.linear import loop_nests
from soundline.impl.lower.schedule import rows, threads
from soundline.impl.program.compile import Program, lower
from soundline.impl.tensors.tensor import Tensor
from soundline.spec.dtypes import float32
from soundline.spec.errors import ScheduleError
from soundline.spec.kernels.dependences import carries, directions
from soundline.spec.kernels.iteration_spaces import Kernel, run
from soundline.spec.kernels.opt import OptOp
from soundline.spec.kernels.optops import apply
from soundline.spec.pipeline.stages import check_pipeline
from soundline.spec.uop import AxisType, Op, ReduceArg, UOp, buffer, const, loop, toposort

from ..representative import one_in  # noqa: TID252
from .test_lowering import check_stages, stored
from .test_pipeline import compiled


@pytest.fixture(params=["one core", "every nest dealt out"])
def small(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Rows of any length are shared, on one core or on all."""
    monkeypatch.setattr(rows, "LEAST", 1)
    if request.param != "one core":
        monkeypatch.setattr(threads, "WORTH", 0)
    lower.cache_clear()
    yield
    lower.cache_clear()


ROWWISE: dict[str, Callable[[Tensor], Tensor]] = {
    "softmax": lambda x: x.softmax(),
    "log softmax": lambda x: x.log_softmax(),
    "layer norm": lambda x: x.layer_norm(),
    "normalized": lambda x: (x - x.mean(-1, keepdim=True)) / (x.var(-1, keepdim=True) + 1).sqrt(),
    "softmax of softmax": lambda x: (x.softmax() * 3).softmax(),
    "kept, then summed": lambda x: (
        (x + 1).exp().contiguous() / (x + 1).exp().contiguous().sum(-1, keepdim=True)
    ),
    "bools": lambda x: (x.softmax() > 0.25).contiguous().any(-1, keepdim=True).where(x, 0),
}


def held(program: Program) -> list[UOp]:
    """The rows, of more than one element, that the kernels of a program hold."""
    return [n for n in toposort(program.stages["optimize"]) if loop_nests.is_row(n) and n.arg.size > 1]


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("name", one_in(3, ROWWISE))
def test_what_goes_by_rows_is_one_kernel_at_every_stage_the_same(name: str) -> None:
    given = stored(3, 5)
    check_stages([ROWWISE[name](given).uop])
    lowered, contents = compiled(ROWWISE[name](given))
    assert check_pipeline(lowered.stages, lowered.source, TARGET, contents) == []
    assert len(lowered.stages["optimize"].src) == 1


@pytest.mark.parametrize("profile", ["exact", "fast"])
@pytest.mark.parametrize("name", ROWWISE)
def test_the_compiled_rows_are_those_of_kernels_apart(
    name: str, profile: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    x = np.random.default_rng(5).standard_normal((40, 300)).astype(np.float32)
    together = sl.compile(ROWWISE[name], x, profile=profile)
    assert len(together.kernels) == 1
    monkeypatch.setattr(rows, "HELD", -1)
    lower.cache_clear()
    apart = sl.compile(ROWWISE[name], x, profile=profile)
    lower.cache_clear()
    assert len(apart.kernels) > 1
    assert together(x).tobytes() == apart(x).tobytes()


def test_rows_over_several_axes_are_shared_by_as_many_loops_as_fit() -> None:
    x = np.ones((3, 4, 5, 64), np.float32)
    (storage,) = {n.arg.size for n in held(sl.compile(lambda a: a.softmax(), x))}
    assert storage == 64
    program = sl.compile(lambda a: a.reshape(3, 4, -1).softmax(), x)
    assert len(program.kernels) == 1
    assert max(n.arg.size for n in held(program)) == 5 * 64


@pytest.mark.parametrize(
    ("name", "function", "shape"),
    [
        ("columns", lambda a: a.softmax(0), (64, 64)),
        ("a product", lambda a: (a @ a).relu().contiguous() + 1, (64, 64)),
        ("other rows", lambda a: (a + 1).exp().contiguous().flip(0).sum(1, keepdim=True), (64, 64)),
        ("transposed", lambda a: (a + 1).exp().contiguous().transpose(0, 1).contiguous(), (64, 64)),
        ("too little", lambda a: a.softmax(), (64, 3)),
        ("one row", lambda a: a.softmax(), (1, 64)),
    ],
    ids=["columns", "a product", "other rows", "transposed", "too little", "one row"],
)
def test_what_is_not_by_rows_or_not_worth_it_stays_apart(
    name: str, function: Callable[[Tensor], Tensor], shape: tuple[int, ...]
) -> None:
    x = np.ones(shape, np.float32)
    assert not held(sl.compile(function, x)), name


def test_rows_that_are_too_long_for_the_near_caches_are_not_held() -> None:
    assert (
        max(n.arg.size for n in held(sl.compile(lambda a: a.softmax(), np.ones((2, 30_000), np.float32))))
        == 30_000
    )
    found = held(sl.compile(lambda a: a.softmax(), np.ones((2, 40_000), np.float32)))
    assert all(n.arg.size < 40_000 for n in found)


def test_an_output_that_is_read_again_in_its_row_is_stored_and_read() -> None:
    x = np.random.default_rng(1).standard_normal((30, 80)).astype(np.float32)

    def both(a: Tensor) -> tuple[Tensor, Tensor]:
        e = (a - a.max(-1, keepdim=True)).exp()
        return e, e / e.sum(-1, keepdim=True)

    program = sl.compile(both, x)
    assert len(program.kernels) == 1
    e, p = program(x)
    assert np.array_equal(p, x_softmax(x))
    assert np.allclose(e, np.exp(x - x.max(-1, keepdims=True)))


def x_softmax(x: np.ndarray) -> np.ndarray:
    return sl.compile(lambda a: a.softmax(), x)(x)


def test_no_bit_of_a_row_depends_on_how_many_cores_take_part(monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.random.default_rng(2).standard_normal((257, 129)).astype(np.float32)
    monkeypatch.setattr(threads, "WORTH", 0)
    found = set()
    for cores in (1, 2, 3):
        monkeypatch.setenv("SOUNDLINE_THREADS", str(cores))
        lower.cache_clear()
        program = sl.compile(lambda a: a.layer_norm(), x)
        found.add(program(x).tobytes())
    lower.cache_clear()
    assert len(found) == 1


# nests of rows ----------------------------------------------------------------------------------------------------


def row_nest(kind: AxisType, space: str) -> UOp:
    """acc[j] = x[i·8 + j], then y[i] = Σ acc, in every iteration of i."""
    i, j, k = loop(4, 0, kind), loop(8, 1, AxisType.LOOP), loop(8, 2, AxisType.REDUCE)
    acc, x, y = buffer(9, 8, float32, addrspace=space), buffer(0, 32, float32), buffer(1, 4, float32)
    first = Op.End(
        Op.Store(
            Op.Index(acc, j), Op.Load(Op.Index(x, arithmetic.add(arithmetic.mul(i, arithmetic.number(8)), j)))
        ),
        j,
    )
    reduction = Op.Reduce(Op.Load(Op.Index(acc, k)), k, arg=ReduceArg(Op.Add))
    return loop_nests.assembled([i], [first, Op.Store(Op.Index(y, i), reduction)])


def test_rows_have_storage_of_their_own_while_they_are_scheduled() -> None:
    """With one row for all, threads would meet in it; with all rows they may be dealt out, and then one is enough."""
    sink = Op.Sink(row_nest(AxisType.LOOP, "REG"))
    i = sink.src[0].src[1]
    whole = rows.with_all_rows(sink, {i: i})
    assert rows.with_one_row(whole, sink) is sink
    assert {n.arg.size for n in toposort(whole) if n.op is Op.Buffer and n.arg.slot == 9} == {4 * 8}
    held = {0: [k / 7 for k in range(32)]}
    assert run(Kernel(whole), held)[1] == run(Kernel(sink), held)[1]
    deal = OptOp("Split", 0, (4, AxisType.THREAD, True))
    for shared in (sink, Op.Sink(row_nest(AxisType.LOOP, "GLOBAL"))):
        with pytest.raises(ScheduleError):
            apply(Kernel(shared), deal)
    dealt = rows.with_one_row(apply(Kernel(whole), deal).sink, sink)
    assert any(n.arg.type is AxisType.THREAD for n in toposort(dealt) if n.op is Op.Range)
    assert run(Kernel(dealt), held)[1] == run(Kernel(sink), held)[1]


def test_parts_are_opened_as_they_were_assembled() -> None:
    nest = row_nest(AxisType.LOOP, "REG")
    around, parts = loop_nests.opened(nest)
    assert [r.arg.id for r in around] == [0]
    assert not any(n.op is Op.After for p in parts for n in toposort(p))
    assert loop_nests.assembled(around, parts) is nest
    assert loop_nests.opened(parts[0]) == ([], [parts[0]])
    assert loop_nests.rowwise(parts[0], lambda p: [p, p]) == [parts[0], parts[0]]
    (twice,) = loop_nests.rowwise(nest, lambda p: [p])
    assert twice is nest


@pytest.mark.parametrize(("space", "carried"), [("REG", False), ("GLOBAL", True)])
def test_a_row_in_registers_ties_no_threads_together(space: str, carried: bool) -> None:
    nest = row_nest(AxisType.THREAD, space)
    body, i = nest.src
    assert carries(directions(body, [i], ["REG"]), 0) is carried
    assert carries(directions(body, [i]), 0) is True


def test_what_happened_before_a_nest_starts_is_no_part_of_it() -> None:
    nest = row_nest(AxisType.LOOP, "GLOBAL")
    second = nest.src[0].src[1]
    acc = next(n for n in toposort(second) if n.op is Op.After)
    j = loop(8, 7, AxisType.UPCAST)
    doubled = Op.Store(Op.Index(buffer(5, 8, float32), j), Op.Load(Op.Index(acc, j)))
    assert carries(directions(doubled, [j]), 0) is False
    earlier, gate = Op.Index(acc.src[0], arithmetic.sub(j, 1)), Op.CmpLt(arithmetic.number(0), j)
    before = Op.Load(earlier, const(0.0, float32), gate)
    same = Op.Store(Op.Index(acc.src[0], j), before)
    assert carries(directions(same, [j]), 0) is True


def test_work_in_rows_is_counted_for_every_row() -> None:
    few = row_nest(AxisType.LOOP, "REG")
    around, parts = loop_nests.opened(few)
    assert threads.work(few) == 4 * sum(map(threads.work, parts))
    assert len(around) == 1


def test_rows_are_dealt_out_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "WORTH", 0)
    lower.cache_clear()
    (kernel,) = sl.compile(lambda a: a.softmax(), np.ones((40, 70), np.float32)).kernels
    lower.cache_clear()
    around, parts = loop_nests.opened(kernel.src[0])
    assert [r.arg.type for r in around] == [AxisType.THREAD]
    assert len(parts) > 2
