"""OptOps keep the value of a kernel: bit for bit without a licence, and exactly where every order agrees with one."""

from __future__ import annotations

import sys
from pathlib import Path

from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from soundline.impl.arrays import storage
from soundline.impl.lower.callify import callify
from soundline.impl.lower.rangeify import rangeify
from soundline.spec.errors import ScheduleError
from soundline.spec.kernels.iteration_spaces import Kernel, run
from soundline.spec.kernels.opt import OptOp
from soundline.spec.kernels.optops import OPTOPS, apply
from soundline.spec.uop import Op, UOp, buffer

sys.path.insert(0, str(Path(__file__).parent))
from kernel_programs import Case, cases, opts
from programs import programs

REFUSALS = {c.id for e in OPTOPS.values() for c in e.constraints} | {e.form for e in OPTOPS.values()}


def scheduled(data: st.DataObject, kernel: Kernel, licences: tuple[str, ...]) -> Kernel:
    """The kernel after those of a few random OptOps that apply."""
    for _ in range(data.draw(st.integers(1, 5))):
        opt = data.draw(opts(kernel))
        made = attempt(kernel, opt, licences)
        event(opt.op if isinstance(made, Kernel) else str(made.rule))
        if isinstance(made, Kernel):
            kernel = made
        else:
            assert made.rule in REFUSALS, made
    return kernel


def attempt(kernel: Kernel, opt: OptOp, licences: tuple[str, ...]) -> Kernel | ScheduleError:
    """The kernel that an OptOp makes, or the refusal."""
    try:
        return apply(kernel, opt, licences)
    except ScheduleError as refusal:
        return refusal


@settings(deadline=None, max_examples=120, suppress_health_check=list(HealthCheck))
@given(st.data(), cases())
def test_optops_without_a_licence_keep_every_bit(data: st.DataObject, case: Case) -> None:
    after = scheduled(data, case.kernel, ())
    assert run(after, case.buffers) == run(case.kernel, case.buffers)


@settings(deadline=None, max_examples=60, suppress_health_check=list(HealthCheck))
@given(st.data(), cases(whole=True))
def test_optops_with_reassociate_agree_where_every_order_does(data: st.DataObject, case: Case) -> None:
    after = scheduled(data, case.kernel, ("reassociate",))
    assert run(after, case.buffers) == run(case.kernel, case.buffers)


@settings(deadline=None, max_examples=30, suppress_health_check=list(HealthCheck))
@given(st.data(), programs(steps=3))
def test_the_kernels_of_the_compiler_are_kernels_of_the_law(data: st.DataObject, roots: list[UOp]) -> None:
    """Scheduling what Rangeify made, kernel by kernel, keeps what the program leaves."""
    function = callify(roots)
    memory: dict[int, object] = {k: storage.contents(b) for k, b in enumerate(function.src[1:])}
    fresh = (buffer(k, b.arg.size, b.dtype) for k, b in enumerate(function.src[1:]))
    for sink in rangeify(Op.Function(function.src[0], *fresh)).src:
        kernel = Kernel(sink)
        left = run(kernel, memory)
        assert run(scheduled(data, kernel, ()), memory) == left
        memory |= left
