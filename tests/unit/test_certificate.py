"""Certificates: every step of a compiled program, and what stands behind it; nothing is called proved that is not."""

from __future__ import annotations

import itertools
import logging
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import soundline as sl
from soundline.impl import evidence
from soundline.impl.compilation.certificate import AppliedRule, Certificate, Derived
from soundline.impl.compilation.stages import lower
from soundline.impl.executables.signatures import Signature
from soundline.impl.lower import optimize
from soundline.impl.lower.schedule import heuristics, rows
from soundline.impl.lower.schedule.applying import Scheduling, scheduled
from soundline.impl.lower.schedule.heuristics import schedule_of
from soundline.impl.lower.schedule.schedules import Scheduled, parsed, schedule_text
from soundline.spec.dtypes import float32, index
from soundline.spec.errors import ScheduleError
from soundline.spec.uop import AxisType, Op, ReduceArg, UOp, buffer, const, loop


class Generous:
    """A court that has proved every rule and every application."""

    def ruling(self, rule_id: str) -> evidence.Ruling:
        return evidence.Ruling("proved")

    def application(self, before: UOp, after: UOp) -> evidence.Ruling:
        return evidence.Ruling("proved")


@pytest.fixture
def generous() -> Iterator[None]:
    evidence.plug_in(Generous())
    lower.cache_clear()
    try:
        yield
    finally:
        evidence.plug_in(sl._Court())
        lower.cache_clear()


def ones(*shape: int) -> np.ndarray[Any, Any]:
    return np.ones(shape, np.float32)


def softmax(x: sl.Tensor) -> sl.Tensor:
    return x.softmax(-1)


# What is said -----------------------------------------------------------------------------------------------------


def test_a_scheduled_softmax_is_not_proved_though_all_its_rules_are(generous: None) -> None:
    """Its passes are sampled: `proved` says so, whatever the court has said of the rules."""
    for profile in ("exact", "fast"):
        found = sl.compile(softmax, ones(64, 1024), profile=profile).certificate
        assert found.rules_proved
        assert not found.proved
        assert found.sampled
        assert "proved as a whole: no" in str(found)


def test_the_steps_stand_in_the_order_of_the_stages() -> None:
    program = sl.compile(lambda a, b: a @ b, ones(96, 64), ones(64, 128), profile="fast")
    found = program.certificate
    order = ["trace", *program.stages, "render", "compile"]
    order.insert(order.index("rangeify") + 1, "obligations")
    order.append("approx")
    stages = [s.stage for s in found.steps]
    assert list(dict.fromkeys(stages)) == order
    assert stages == sorted(stages, key=order.index)
    assert {s.status for s in found.steps if s.stage in ("trace", "compile")} == {"trusted"}
    passes = ("expand", "select", "linearize", "plan", "render")
    assert {s.status for s in found.steps if s.stage in passes} == {"sampled"}


def test_every_step_of_a_schedule_is_listed_as_checked() -> None:
    program = sl.compile(lambda a, b: a @ b.T, ones(64, 64), ones(64, 64))
    told = [s for s in program.certificate.steps if s.stage == "optimize" and s.what.startswith("kernel")]
    assert [s.status for s in told] == ["checked"] * len(told)
    for schedule in program.schedules:
        assert any(schedule_text(schedule.all_steps) in s.what for s in told) == bool(schedule.all_steps)
    assert any("THREAD" in s.what or "UPCAST" in s.what for s in told)


def test_loops_over_rows_that_are_dealt_out_are_listed_too() -> None:
    program = sl.compile(softmax, ones(512, 1024), profile="fast")
    first = program.schedules[0]
    assert [s.op for steps in first.beside for s in steps] == ["Split"]
    assert "THREAD top" in "\n".join(map(str, program.certificate.steps))


def test_a_pass_that_changes_a_kernel_is_listed_as_sampled() -> None:
    fast = sl.compile(softmax, ones(512, 1024), profile="fast").certificate
    assert {s.status for s in fast.steps if optimize.ROWS in s.what or optimize.APPROXIMATED in s.what} == {
        "sampled"
    }
    running = sl.compile(lambda x: x.cumsum(0), ones(200)).certificate
    assert any(optimize.RUNNING in s for s in running.sampled)
    plain = sl.compile(lambda x: x + 1, ones(200)).certificate
    assert not any(s.stage == "optimize" for s in plain.steps if s.status == "sampled")


def test_the_rules_of_all_stages_are_those_that_were_applied() -> None:
    found = sl.compile(lambda x: (x * 1).pad(((1, 0),)).sum(), ones(300)).certificate
    verdicts = {"proved", "not checked", "unknown"}
    counted: dict[str, int] = {}
    for step in found.steps:
        name, _, times = step.what.partition(", ")
        if step.status in verdicts and (times == "once" or times.endswith(" times")):
            counted[name] = counted.get(name, 0) + (1 if times == "once" else int(times.split()[0]))
    assert counted == {r.id: r.count for r in found.rules}


def test_a_custom_function_is_a_step_that_is_trusted() -> None:
    takes = [Signature(float32, (4,))]
    f = sl.CustomFunction("certified_plus_one", takes=takes, gives=takes, call=lambda x: x + 1)
    found = sl.compile(lambda x: f(x) * 2, ones(4)).certificate
    assert [s.status for s in found.steps if s.stage == "call"] == ["trusted"]
    assert not Certificate("exact", (), (), (), (), trusted=("plus_one",)).proved


@pytest.mark.parametrize("status", ["sampled", "trusted", "not checked", "unknown", "refuted", "vacuous"])
def test_one_step_that_is_not_certain_is_enough(status: str) -> None:
    sure = (Derived("callify", "a", "proved"), Derived("optimize", "b", "checked"))
    assert Certificate("exact", (), (), (), sure).proved
    assert not Certificate("exact", (), (), (), (*sure, Derived("plan", "c", status))).proved
    inner = Certificate("exact", (), (), (), (Derived("plan", "c", status),))
    assert not Certificate("exact", (), (), (), sure, called=(("inner", inner),)).proved


def test_the_counts_are_those_of_the_steps() -> None:
    found = sl.compile(softmax, ones(8, 8)).certificate
    assert sum(found.counts.values()) == len(found.steps)
    assert list(found.counts)[:4] == ["proved", "checked", "sampled", "trusted"]
    rule = AppliedRule("r", 1, evidence.Ruling("refuted"))
    assert not replace(found, rules=(rule,)).rules_proved


# What is checked --------------------------------------------------------------------------------------------------


def running(n: int = 64) -> UOp:
    """y[i] = y[i - 1] + 1 behind a gate: each iteration waits for the one before."""
    i = loop(n, 0)
    place = buffer(0, n + 1, float32)
    before = Op.Load(Op.Index(place, i))
    return Op.Sink(
        Op.End(Op.Store(Op.Index(place, Op.Add(i, const(1, index))), Op.Add(before, const(1, float32))), i)
    )


def test_a_step_of_the_heuristics_that_is_not_lawful_is_not_done(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The kernel then runs as it is, and the certificate has the reason."""

    def wrong(kernel: Scheduling, target: object) -> Scheduling:
        kernel.split(kernel.axes[0], 5, AxisType.UPCAST)
        return kernel

    lower.cache_clear()
    monkeypatch.setattr(optimize, "schedule_of", wrong)
    with caplog.at_level(logging.WARNING, logger="soundline.optimize"):
        program = sl.compile(lambda x: x + 3, ones(64))
    lower.cache_clear()
    (schedule,) = program.schedules
    assert schedule.steps == ()
    assert "opt-split-c1" in schedule.refused
    assert "opt-split-c1" in caplog.text
    assert "runs as it is" in str(program.certificate)
    assert program(ones(64)).tolist() == [4.0] * 64


def test_heuristics_that_split_what_carries_a_dependence_are_stopped() -> None:
    kernel = Scheduling(running(), itertools.count(9), itertools.count(9))
    with pytest.raises(ScheduleError) as refusal:
        kernel.split(kernel.axes[0], 8, AxisType.UPCAST)
    assert refusal.value.rule == "opt-cpu-c2"
    assert kernel.steps == ()
    with pytest.raises(ScheduleError):
        kernel.cut(kernel.axes[0], 8)


def test_rows_of_which_a_step_is_not_lawful_stay_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(kernel: Scheduling, nest: UOp) -> None:
        kernel.split(kernel.axes[0], 7, AxisType.THREAD, top=True)

    lower.cache_clear()
    monkeypatch.setattr(rows, "deal", wrong)
    x = np.random.default_rng(0).normal(size=(64, 256)).astype(np.float32)
    apart = sl.compile(softmax, x)
    lower.cache_clear()
    assert not any("by rows" in s.origin for s in apart.schedules)
    monkeypatch.undo()
    together = sl.compile(softmax, x)
    assert any("by rows" in s.origin for s in together.schedules)
    assert apart(x).tobytes() == together(x).tobytes()


PROGRAMS: list[tuple[str, Callable[..., sl.Tensor], tuple[tuple[int, ...], ...]]] = [
    ("sum of two", lambda a, b: a + b, ((1000,), (1000,))),
    ("odd product", lambda a, b: a @ b, ((61, 37), (37, 53))),
    ("product by rows", lambda a, b: a @ b.T, ((64, 64), (64, 64))),
    ("softmax", softmax, ((64, 1024),)),
    ("long softmax", softmax, ((2, 30_000),)),
    ("normalized", lambda x: (x - x.mean(-1).reshape(64, 1)) * x.var(-1).reshape(64, 1), ((64, 512),)),
    ("sum", lambda x: x.sum(), ((100_000,),)),
    ("sums", lambda x: x.sum(0), ((300, 200),)),
    ("running sums", lambda x: x.cumsum(0), ((100, 64),)),
    ("transposed", lambda x: x.permute((1, 0)).contiguous() + 1, ((131, 77),)),
    ("convolution", lambda x, w: x.conv2d(w), ((1, 8, 18, 18), (16, 8, 3, 3))),
    ("padded", lambda x: x.pad(((2, 3), (1, 1))), ((100, 90),)),
    ("sorted", lambda x: x.sort()[0], ((48,),)),
    ("greatest", lambda x: x.max(-1), ((64, 300),)),
    ("many short sums", lambda x: x.reshape(12, 25, 32, 8).sum(-1).sum(-1).sum(-1), ((76_800,),)),
    ("pooled", lambda x: x.max_pool2d((2, 2)), ((1, 8, 32, 32),)),
]


@pytest.mark.parametrize("profile", ["exact", "fast"])
def test_the_law_refuses_no_step_of_the_heuristics(profile: str, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, logger="soundline.optimize"):
        for name, fn, shapes in PROGRAMS:
            program = sl.compile(fn, *(ones(*s) for s in shapes), profile=profile)
            assert [s.refused for s in program.schedules if s.refused] == [], name
    assert caplog.text == ""


def test_steps_by_heuristics_search_and_users_are_one_code_path() -> None:
    i, j, r = loop(64, 0), loop(64, 1), loop(32, 2, AxisType.REDUCE)
    a, b, out = buffer(0, 64 * 32, float32), buffer(1, 32 * 64, float32), buffer(2, 64 * 64, float32)
    x = Op.Load(Op.Index(a, Op.Add(Op.Mul(i, const(32, index)), r)))
    y = Op.Load(Op.Index(b, Op.Add(Op.Mul(r, const(64, index)), j)))
    total = Op.Reduce(Op.Mul(x, y), r, arg=ReduceArg(Op.Add))
    place = Op.Index(out, Op.Add(Op.Mul(i, const(64, index)), j))
    sink = Op.Sink(Op.End(Op.End(Op.Store(place, total), j), i))
    chosen = schedule_of(
        Scheduling(sink, itertools.count(9), itertools.count(9)), heuristics.tiles.this_machine()
    )
    again = Scheduling(sink, itertools.count(9), itertools.count(9))
    assert scheduled(again, parsed(schedule_text(chosen.steps))).sink is chosen.sink


def test_steps_beside_come_first_in_all_steps() -> None:
    one, two = parsed("Split 0 8 THREAD top"), parsed("Split 1 4 UPCAST")
    told = Scheduled(0, "", two, "heuristics", 1, beside=(one,))
    assert told.all_steps == (*one, *two)
