"""Schedules on random kernels: what a compiler remembers of a kernel is so, and no step changes a bit."""

from __future__ import annotations

import itertools
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from soundline.impl.lower.schedule.applying import Scheduling, launched
from soundline.impl.lower.schedule.kernels import CpuKernel
from soundline.spec.errors import ScheduleError
from soundline.spec.kernels.iteration_spaces import Kernel, axes, run, size_of
from soundline.spec.kernels.opt import OptOp
from soundline.spec.kernels.optops import apply
from soundline.spec.pipeline.stages import meaning
from soundline.spec.uop import AxisType, Op, UOp, toposort

sys.path.insert(0, str(Path(__file__).parent))
from kernel_programs import Case, cases, opts


def numbered(root: UOp) -> UOp:
    """A graph with its Ranges numbered in the order in which they stand."""
    count = itertools.count()
    new: dict[UOp, UOp] = {}
    for node in toposort(root):
        src = tuple(new[s] for s in node.src)
        arg = node.arg.__class__(next(count), node.arg.type) if node.op is Op.Range else node.arg
        new[node] = UOp(node.op, src, arg, node.tag)
    return new[root]


def under(sink: UOp, *licences: str) -> Scheduling:
    return Scheduling(sink, itertools.count(1000), itertools.count(1000), licences)


def says_the_same(remembering: CpuKernel) -> bool:
    """Whether a kernel that remembers answers gives those that the law finds."""
    plain = Kernel(remembering.sink)
    return (
        remembering.axes == plain.axes
        and remembering.nests == plain.nests
        and all(remembering.carried_by(r) is plain.carried_by(r) for r in plain.axes)
        and all(remembering.directions(b, rs) == plain.directions(b, rs) for rs, b in plain.nests)
    )


@settings(deadline=None, max_examples=80, suppress_health_check=list(HealthCheck))
@given(st.data(), cases())
def test_a_step_does_what_the_law_says_or_is_refused_as_the_law_refuses(
    data: st.DataObject, case: Case
) -> None:
    """The law's kernel and ours stay one, up to the numbers of Ranges, through steps of every kind; besides, a CPU
    refuses what it cannot do.
    """
    law, ours = case.kernel, under(case.kernel.sink, "reassociate")
    for _ in range(data.draw(st.integers(1, 5))):
        opt = data.draw(opts(law))
        again = ours.copy()
        try:
            law = apply(law, opt, ("reassociate",))
        except ScheduleError as refusal:
            event(str(refusal.rule))
            with pytest.raises(ScheduleError) as own:
                again.apply(opt)
            assert own.value.rule == refusal.rule  # noqa: PT017  # both are asked
            continue
        ours.kernel = apply(ours.kernel, opt, ("reassociate",))
        event(opt.op)
        assert numbered(ours.sink) is numbered(law.sink)
        try:
            again.apply(opt)
        except ScheduleError as refusal:
            assert str(refusal.rule).startswith("opt-cpu-")  # noqa: PT017  # the law has said yes
        else:
            assert numbered(again.sink) is numbered(law.sink)


@st.composite
def steps(draw: st.DrawFn, sink: UOp) -> OptOp:
    """A random step, more often one that may be done than not."""
    found = axes(sink)
    if not found or draw(st.integers(0, 3)):
        return draw(opts(Kernel(sink)))
    at = draw(st.integers(0, len(found) - 1))
    name = draw(st.sampled_from(("Cut", "Cut", "Merge", "Pack")))
    if name == "Cut":
        return OptOp(name, at, draw(st.integers(0, size_of(found[at]))))
    if name == "Merge":
        return OptOp(name, at, min(at + 1, len(found) - 1))
    lanes = [k for k, r in enumerate(found) if r.arg.type is AxisType.UPCAST]
    return OptOp(name, draw(st.sampled_from(lanes or [at])), draw(st.integers(0, 1)))


@settings(deadline=None, max_examples=60, suppress_health_check=list(HealthCheck))
@given(st.data(), cases())
def test_no_schedule_that_is_let_through_changes_a_bit(data: st.DataObject, case: Case) -> None:
    made = under(case.kernel.sink)
    for _ in range(data.draw(st.integers(1, 6))):
        step = data.draw(steps(made.sink))
        try:
            made.apply(step)
        except ScheduleError as refusal:
            event(str(refusal.rule))
        else:
            event(step.op)
        assert says_the_same(made.kernel)
    wanted = run(case.kernel, case.buffers)
    left = run(Kernel(made.sink), case.buffers)
    assert {slot: left[slot] for slot in wanted} == wanted
    if all(n.op is not Op.After for n in toposort(case.kernel.sink)):
        program = Op.Linear(*launched(made.sink))
        assert meaning(program, case.buffers, 0, 3)[: len(wanted)] == [
            left.get(k, case.buffers.get(k)) for k in range(len(wanted))
        ]
