"""Schedules: what is done to a kernel is a list of steps, which can be read, given, and refused."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable

import numpy as np
import pytest

import soundline as sl
from soundline.impl.compilation.stages import lower
from soundline.impl.lower.graphs.simplify import Applied
from soundline.impl.lower.optimize import optimized
from soundline.impl.lower.rangeify import rangeify
from soundline.impl.lower.schedule import heuristics, tiles
from soundline.impl.lower.schedule.applying import Scheduling, launched, scheduled
from soundline.impl.lower.schedule.extensions import EXTENSIONS
from soundline.impl.lower.schedule.legality import CPU
from soundline.impl.lower.schedule.schedules import (
    STEPS,
    Given,
    given_by,
    parsed,
    schedule_text,
)
from soundline.impl.lower.schedule.target import Target
from soundline.impl.tensors.tensor import Tensor
from soundline.spec.dtypes import float32, index, int32
from soundline.spec.errors import ScheduleError
from soundline.spec.kernels.iteration_spaces import Kernel, run
from soundline.spec.kernels.opt import OptOp
from soundline.spec.kernels.optops import OPTOPS
from soundline.spec.uop import AxisType, Op, RangeArg, ReduceArg, UOp, buffer, const, loop, toposort

from .processors import WIDE
from .test_lowering import function_of, stored


@pytest.fixture
def wide(monkeypatch: pytest.MonkeyPatch) -> None:
    """Schedules for one processor, whatever this one is; everything is far away."""
    monkeypatch.setattr(tiles, "this_machine", lambda: WIDE)
    monkeypatch.setattr(tiles, "FAR", 0)
    monkeypatch.setattr(tiles, "ROOM", 0)
    monkeypatch.setattr(heuristics, "FEW", 0)
    monkeypatch.setattr(tiles, "BLOCK", 6)
    lower.cache_clear()


def same_bits(a: np.ndarray, b: np.ndarray) -> bool:
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


# Text -------------------------------------------------------------------------------------------------------------


def test_a_schedule_reads_back_from_its_text() -> None:
    text = (
        "Split 1 64 UPCAST; Swap 0 1; Split 0 8 THREAD top; Padto 2 16; Cut 3 960; Merge 0 1; Pack 2 1; Nolocals; "
        "TC 0 1 2 m8n8k4"
    )
    steps = parsed(text)
    assert [s.op for s in steps] == [
        "Split",
        "Swap",
        "Split",
        "Padto",
        "Cut",
        "Merge",
        "Pack",
        "Nolocals",
        "TC",
    ]
    assert steps[0] == OptOp("Split", 1, (64, AxisType.UPCAST))
    assert steps[2] == OptOp("Split", 0, (8, AxisType.THREAD, True))
    assert schedule_text(steps) == text
    assert parsed(text.replace("; ", "\n")) == steps
    assert parsed(" ;; ") == ()


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("Upcast 0 4", "U-50"),
        ("Split 0 4", "opt-split-arg"),
        ("Split 0 four UPCAST", "opt-split-arg"),
        ("Split 0 4 VECTOR", "opt-split-arg"),
        ("Split 0 4 UPCAST bottom", "opt-split-arg"),
        ("Swap 0", "opt-swap-arg"),
        ("Nolocals 0", "opt-nolocals-arg"),
        ("Pack 0 x", "opt-pack-arg"),
        ("TC 0 1 m8n8k4", "opt-tc-arg"),
    ],
)
def test_a_text_that_is_no_schedule_is_refused(text: str, rule: str) -> None:
    with pytest.raises(ScheduleError) as error:
        parsed(text)
    assert error.value.rule == rule


def test_every_step_says_what_it_does_and_asks() -> None:
    ids = [c.id for e in STEPS.values() for c in e.constraints] + [c.id for c in CPU]
    assert len(set(ids)) == len(ids)
    assert list(STEPS) == [*OPTOPS, *EXTENSIONS]
    assert all(e.semantics and e.constraints for e in EXTENSIONS.values())


# What the heuristics do is a schedule -----------------------------------------------------------------------------

PROGRAMS: dict[str, Callable[[], Tensor]] = {
    "product": lambda: stored(15, 3) @ stored(3, 70),
    "batch": lambda: stored(2, 13, 4) @ stored(2, 4, 70),
    "padded": lambda: stored(7, 3).pad(((1, 0), (0, 2))) @ stored(5, 70),
    "moved": lambda: stored(1, 17, 18).permute(2, 0, 1).contiguous(),
    "blocked sum": lambda: stored(260).sum(),
    "maximum": lambda: stored(201).max(),
    "softmax": lambda: (stored(2, 20).softmax() * 2).sum(0),
    "peeled": lambda: stored(5, 7).pad(((0, 0), (1, 0))).sum(1),
    "elementwise": lambda: stored(5, 7) * 2 + 1,
    "integers": lambda: stored(5, 200, dtype=np.int32).sum(1),
}


def numbered(root: UOp) -> UOp:
    """A graph with its Ranges and temporaries numbered in the order in which they stand."""
    ranges, slots = itertools.count(), itertools.count(100)
    new: dict[UOp, UOp] = {}
    for node in toposort(root):
        src = tuple(new[s] for s in node.src)
        arg = node.arg
        if node.op is Op.Range:
            arg = arg.__class__(next(ranges), arg.type)
        if node.op is Op.Buffer and arg.slot > 9:
            arg = buffer(next(slots), arg.size, arg.dtype).arg
        new[node] = UOp(node.op, src, arg, node.tag)
    return new[root]


@pytest.mark.usefixtures("wide")
@pytest.mark.parametrize("name", PROGRAMS)
def test_what_the_heuristics_do_is_lawful_and_is_all_that_is_done(name: str) -> None:
    """Their list, read back from text and applied under the eyes of the law, makes the same kernels."""
    function, _ = function_of(PROGRAMS[name]().uop)
    before = rangeify(function)
    chosen, told = optimized(before, (), Applied())
    again, retold = optimized(
        before, (), Applied(), {s.kernel: Given(parsed(schedule_text(s.steps))) for s in told}
    )
    assert numbered(again) is numbered(chosen)
    assert [s.steps for s in retold] == [s.steps for s in told]
    assert {s.origin for s in retold} == {"given"}
    assert sum(s.launches for s in told) == len(chosen.src)


def test_programs_tell_their_schedules(wide: None) -> None:
    a, b = np.ones((12, 8), np.float32), np.ones((8, 70), np.float32)
    program = sl.compile(lambda x, y: x @ y, a, b)
    (told,) = program.schedules
    assert (told.kernel, told.axes, told.origin) == (0, "L12 L70 R8", "heuristics")
    assert schedule_text(told.steps).startswith("Cut 1 64; Split 1 64 UPCAST; Pack 2 1; Split 0 6 UPCAST")
    assert told.launches == len(program.kernels)


def heuristic(sink: UOp, *licences: str, target: Target = WIDE) -> str:
    """What the heuristics do to a kernel."""
    made = Scheduling(sink, itertools.count(50), itertools.count(50), licences)
    return schedule_text(heuristics.schedule_of(made, target).steps)


def test_few_rows_go_all_at_once_over_long_runs_of_what_is_far() -> None:
    assert (
        heuristic(product(3, 99, 2000)) == "Cut 1 1024; Split 1 1024 UPCAST; Split 0 3 UPCAST"
        "; Split 5 976 UPCAST; Split 4 3 UPCAST"
    )
    assert heuristic(product(8, 999, 512)).startswith("Split 1 256 UPCAST; Split 0 8 UPCAST")
    assert heuristic(product(8, 20, 512)) == "Split 1 64 UPCAST; Split 0 4 UPCAST; Swap 0 2"
    assert heuristic(product(24, 999, 512)).startswith(
        "Split 1 64 UPCAST; Pack 2 1; Split 0 6 UPCAST; Swap 0 2"
    )


def test_sums_that_wait_go_side_by_side() -> None:
    i, k = loop(100, 0), loop(64, 1, AxisType.REDUCE)
    x = Op.Load(Op.Index(buffer(0, 6400, float32), Op.Add(Op.Mul(i, const(64, index)), k)))
    total = Op.Reduce(x, k, arg=ReduceArg(Op.Add))
    sink = Op.Sink(Op.End(Op.Store(Op.Index(buffer(1, 100, float32), i), total), i))
    assert heuristic(sink) == "Cut 0 96; Split 0 32 UPCAST; Split 2 4 UPCAST"
    assert "UPCAST" not in heuristic(sink, "reassociate")


def test_tiles_are_cut_for_the_processor() -> None:
    narrow = Target(vector=16, registers=16)
    assert heuristic(product(24, 20, 64), target=narrow).startswith("Split 1 8 UPCAST; Split 0 6 UPCAST")
    other = Target(vector=64, registers=32, tile=(8, 2))
    assert "LOOP" not in heuristic(product(600, 100, 64))  # what all rows meet stays in the cache
    assert "Cut 0 240; Split 0 240 LOOP" in heuristic(
        product(600, 100, 64), target=Target(64, 32, cache=1 << 14)
    )
    assert heuristic(product(24, 20, 64), target=other).startswith("Split 1 32 UPCAST; Split 0 8 UPCAST")


# Given schedules --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "schedule",
    [
        "",
        "Split 1 32 UPCAST; Split 0 2 UPCAST; Pack 3 1; Pack 1 0",
        "Swap 0 1; Split 0 128 THREAD top",
        "Split 2 8 REDUCE; Split 0 4 LOOP top; Split 2 16 UPCAST",
        "Padto 1 50; Split 1 50 UPCAST; Cut 0 9; Split 0 3 UPCAST",
        "Cut 0 5; Split 1 64 UPCAST; Split 4 32 UPCAST; Split 3 7 THREAD top; Nolocals",
        [OptOp("Split", 1, (64, AxisType.UPCAST))],
        {0: "Split 1 4 UPCAST; Cut 0 4; Split 3 4 UPCAST; Pack 4 0"},
    ],
    ids=range(8),
)
def test_a_given_schedule_is_what_is_done_and_changes_no_bit(schedule: object) -> None:
    source = np.random.default_rng(3)
    a, b = source.standard_normal((12, 24), np.float32), source.standard_normal((24, 128), np.float32)
    program = sl.compile(lambda x, y: x @ y, a, b, schedule=schedule)  # type: ignore[arg-type]
    assert program.schedules[0].steps == given_by(schedule)[0][1].steps  # type: ignore[arg-type]
    assert program.schedules[0].origin == "given"
    assert same_bits(program(a, b), sl.compile(lambda x, y: x @ y, a, b)(a, b))


def test_schedules_of_several_kernels_are_given_by_number() -> None:
    x = np.random.default_rng(1).standard_normal((6, 64)).astype(np.float32)
    program = sl.compile(lambda a: a.softmax(), x, schedule={1: "Split 0 6 THREAD top"})
    assert [s.origin for s in program.schedules] == ["heuristics, by rows", "given"]
    assert same_bits(program(x), sl.compile(lambda a: a.softmax(), x)(x))
    with pytest.raises(ScheduleError, match="kernel 2"):
        sl.compile(lambda a: a.softmax(), x, schedule={2: ""})


@pytest.mark.parametrize(
    ("schedule", "rule", "says"),
    [
        ("Split 1 3 UPCAST", "opt-split-c1", "the factor 3 for 128 iterations"),
        ("Split 2 4 UPCAST", "opt-split-c2", "UPCAST from REDUCE"),
        ("Split 0 4 THREAD", "opt-split-c3", "THREAD with top=False"),
        ("Split 2 4 GROUP_REDUCE", "opt-split-c5", "a float32 Add without it"),
        ("Split 3 4 UPCAST", "opt-split-arg", "got: axis 3"),
        ("Swap 0 2", "opt-swap-c1", "LOOP and REDUCE"),
        ("Padto 0 0", "opt-padto-c1", "the multiple 0"),
        ("Split 0 4 LOCAL", "opt-cpu-c1", "LOCAL"),
        ("Split 2 12 UNROLL", "opt-cpu-c3", "the factor 12"),
        ("Split 1 128 THREAD top", "opt-cpu-c4", "an inner axis"),
        ("Split 0 12 UPCAST; Split 2 128 UPCAST; Split 4 24 UNROLL", "opt-cpu-c5", "36864 lanes"),
        ("TC 1 0 2 m8n8k4.f32.f32", "opt-tc-c7", "'m8n8k4.f32.f32'"),
        ("Cut 0 12", "opt-cut-c1", "12 of 12"),
        ("Cut 0 0", "opt-cut-c1", "0 of 12"),
        ("Cut 9 1", "opt-cut-arg", "axis 9"),
        ("Split 0 4 UPCAST; Cut 1 2", "opt-cut-c2", "a UPCAST axis"),
        ("Split 1 8 UPCAST; Pack 2 1; Cut 3 1", "opt-cut-c2", "a LOOP axis of 1 inner nests"),
        ("Cut 2 5", "opt-cut-c4", "a float32 Add without it"),
        ("Merge 0 1", "opt-merge-c2", "another index"),
        ("Merge 1 0", "opt-merge-c1", "axes 1 and 0"),
        ("Merge 1 2", "opt-merge-c1", "axes 1 and 2"),
        ("Pack 1 1", "opt-pack-c1", "LOOP"),
        ("Split 1 8 UPCAST; Pack 2 0", "opt-pack-c2", "no such load from slot 0"),
        ("Split 1 8 UPCAST; Pack 2 2", "opt-pack-c3", "a Store to slot 2"),
    ],
)
def test_a_step_that_may_not_be_done_is_refused_with_its_condition(
    schedule: str, rule: str, says: str
) -> None:
    a, b = np.ones((12, 24), np.float32), np.ones((24, 128), np.float32)
    with pytest.raises(ScheduleError, match=re.escape(says)) as error:
        sl.compile(lambda x, y: x @ y, a, b, schedule=schedule)
    assert error.value.rule == rule


def test_a_licence_lets_what_needs_one() -> None:
    a, b = np.ones((12, 24), np.float32), np.ones((24, 128), np.float32)
    for schedule in ("Split 2 4 GROUP_REDUCE", "Cut 2 5"):
        program = sl.compile(lambda x, y: x @ y, a, b, profile="fast", schedule=schedule)
        assert np.all(program(a, b) == 24)


def test_an_unknown_step_is_refused() -> None:
    with pytest.raises(ScheduleError, match="one of Split"):
        sl.compile(lambda x: x + 1, np.ones(3, np.float32), schedule=[OptOp("Fuse", 0, 1)])


# Dependences ------------------------------------------------------------------------------------------------------


def scan(m: int = 4, n: int = 6) -> UOp:
    """out[i + 1, j] = max(out[i, j], x[i, j]): the outer axis carries a dependence."""
    i, j = loop(m, 0), loop(n, 1)
    x, out = buffer(0, m * n, float32), buffer(1, (m + 1) * n, float32)
    at = Op.Add(Op.Mul(i, const(n, index)), j)
    value = Op.Max(Op.Load(Op.Index(out, at)), Op.Load(Op.Index(x, at)))
    store = Op.Store(Op.Index(out, Op.Add(at, const(n, index))), value)
    return Op.Sink(Op.End(Op.End(store, j), i))


def under(sink: UOp, text: str, *licences: str) -> Scheduling:
    """A kernel after a schedule that is checked."""
    numbers, slots = itertools.count(50), itertools.count(50)
    return scheduled(Scheduling(sink, numbers, slots, licences), parsed(text))


def test_no_step_breaks_a_dependence() -> None:
    for text, rule in (
        ("Split 0 2 UPCAST", "opt-cpu-c2"),
        ("Split 0 2 THREAD top", "opt-split-c4"),
        ("Cut 1 3", "opt-cut-c3"),
        ("Cut 0 2", "opt-cut-c3"),
    ):
        with pytest.raises(ScheduleError) as error:
            under(scan(), text)
        assert error.value.rule == rule
    before = Kernel(scan())
    held = {0: [0.5 * (k * 7 % 11) for k in range(24)], 1: [0.0] * 30}
    for text in ("Split 1 3 UPCAST", "Swap 0 1; Split 0 2 UPCAST", "Split 0 2 LOOP top; Padto 2 4"):
        assert run(Kernel(under(scan(), text).sink), held) == run(before, held)


def running(lanes: int = 8) -> UOp:
    """out[i, j] = the sum of x[k, j] for k ≤ i."""
    i, j = loop(4, 0), loop(lanes, 1)
    k = UOp(Op.Range, (Op.Add(i, const(1, index)),), RangeArg(2, AxisType.REDUCE))
    x, out = buffer(0, 4 * lanes, int32), buffer(1, 4 * lanes, int32)
    value = Op.Load(Op.Index(x, Op.Add(Op.Mul(k, const(lanes, index)), j)))
    place = Op.Index(out, Op.Add(Op.Mul(i, const(lanes, index)), j))
    total = Op.Reduce(value, k, arg=ReduceArg(Op.Add))
    return Op.Sink(Op.End(Op.End(Op.Store(place, total), j), i))


def test_an_axis_whose_size_is_no_number_stays_whole() -> None:
    for text, rule in (
        ("Split 2 2 REDUCE", "opt-split-c1"),
        ("Padto 2 2", "opt-padto-c5"),
        ("Cut 2 1", "opt-cut-c5"),
        ("Cut 0 2", "opt-cut-c5"),
        ("Split 1 8 UPCAST; Pack 2 0", "opt-pack-c2"),
        ("Split 0 2 LOOP", "kernel-c3"),
        ("Split 1 8 UPCAST; Split 0 2 LOOP", "kernel-c3"),
    ):
        with pytest.raises(ScheduleError) as error:
            under(running(), text)
        assert error.value.rule == rule
    held = {0: list(range(32)), 1: [0] * 32}
    after = under(running(), "Split 1 8 UPCAST; Padto 0 3; Swap 0 1")
    assert run(Kernel(after.sink), held) == run(Kernel(running()), held)


def test_what_is_no_kernel_gets_no_first_step() -> None:
    """Two loops, the inner one as long as an element in memory says."""
    size = Op.Cast(Op.Load(Op.Index(buffer(1, 1, int32), const(0, index))), arg=index)
    i, j = loop(4, 0), UOp(Op.Range, (size,), RangeArg(1, AxisType.LOOP))
    sink = Op.Sink(Op.End(Op.End(Op.Store(Op.Index(buffer(0, 4, int32), i), const(1, int32)), j), i))
    for text in ("Merge 0 1", "Cut 0 2", "Split 1 2 UPCAST", "Swap 0 1"):
        with pytest.raises(ScheduleError) as error:
            under(sink, text)
        assert error.value.rule == "kernel-c3"
    assert under(sink, "").sink is sink


def test_a_kernel_with_storage_of_its_own_is_left_alone() -> None:
    i = loop(4, 0)
    own, x, out = buffer(7, 1, int32, addrspace="REG"), buffer(0, 4, int32), buffer(1, 4, int32)
    put = Op.Store(Op.Index(own, const(0, index)), Op.Load(Op.Index(x, i)))
    read = Op.Load(Op.Index(Op.After(own, put), const(0, index)))
    sink = Op.Sink(Op.End(Op.Store(Op.Index(out, i), read), i))
    for text, rule in (("Split 0 2 UPCAST", "opt-cpu-c6"), ("Cut 0 2", "opt-cut-c2")):
        with pytest.raises(ScheduleError) as error:
            under(sink, text)
        assert error.value.rule == rule
    chosen, told = optimized(Op.Linear(sink), (), Applied())
    assert told[0].steps == ()
    assert chosen.src == (sink,)


# Packing and launches ---------------------------------------------------------------------------------------------


def product(m: int, k: int, n: int) -> UOp:
    i, j, r = loop(m, 0), loop(n, 1), loop(k, 2, AxisType.REDUCE)
    a, b, out = buffer(0, m * k, float32), buffer(1, k * n, float32), buffer(2, m * n, float32)
    x = Op.Load(Op.Index(a, Op.Add(Op.Mul(i, const(k, index)), r)))
    y = Op.Load(Op.Index(b, Op.Add(Op.Mul(r, const(n, index)), j)))
    total = Op.Reduce(Op.Mul(x, y), r, arg=ReduceArg(Op.Add))
    store = Op.Store(Op.Index(out, Op.Add(Op.Mul(i, const(n, index)), j)), total)
    return Op.Sink(Op.End(Op.End(store, j), i))


def test_what_is_packed_once_serves_the_nests_that_are_cut_later() -> None:
    made = under(product(6, 4, 8), "Split 1 4 UPCAST; Pack 2 1; Cut 0 4; Split 0 2 UPCAST")
    assert len(made.packing()) == 1
    held = {0: [k / 7 for k in range(24)], 1: [k / 3 for k in range(32)]}
    assert run(Kernel(made.sink), held)[2] == run(Kernel(product(6, 4, 8)), held)[2]
    assert len(launched(made.sink)) == 2  # one packs


def test_the_order_of_what_is_packed_is_that_of_reading() -> None:
    made = under(product(2, 3, 8), "Split 1 4 UPCAST; Pack 2 1")
    (copy,) = made.packing()
    store = copy
    while store.op is Op.End:
        store = store.src[0]
    left = run(Kernel(Op.Sink(copy)), {1: list(range(24))})[store.src[0].src[0].arg.slot]
    assert [int(x) for x in left.elements] == [
        8 * k + 4 * step + lane for step in range(2) for k in range(3) for lane in range(4)
    ]


def test_what_packs_is_dealt_out_by_itself() -> None:
    made = under(product(6, 4, 8), "Split 1 4 UPCAST; Pack 2 1; Split 0 6 THREAD top; Split 4 2 THREAD top")
    kernels = launched(made.sink)
    outermost = [k.src[0].src[1].arg.type for k in kernels]
    assert outermost == [AxisType.THREAD, AxisType.THREAD]
    assert not any(n.op is Op.After for k in kernels for n in toposort(k))
