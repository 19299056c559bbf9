"""Between what a statement reads and what it writes another thread may come, where that makes any difference."""

from __future__ import annotations

import pytest

from soundline.spec.spork.interleavings.threads import script
from soundline.spec.spork.machine.events import Event
from soundline.spec.spork.readings.parallel import outcomes, replay, sample

from .parallel_programs import TINY, host, program

TWO = """
for w in cuda_threads(0, 2, unit=cuda_warp):
    for t in cuda_threads(0, 1, unit=cuda_thread):
        {}
Fence(cuda_in_order, cuda_in_order)
"""


def task(body: str) -> tuple[Event, ...]:
    return program(body, arguments=TINY, shape="blockDim=64")


def endings(events: tuple[Event, ...], *names: str) -> set[tuple[str, ...]]:
    """What these elements can hold at the end."""
    found = outcomes(events)
    assert found.complete
    for outcome in found.outcomes:
        assert replay(events, outcome.witness) == outcome
    drawn = {o.result for o in sample(events, 3, 300).outcomes}
    assert drawn == {o.result for o in found.outcomes}
    return {tuple(dict(o.result)[name] for name in names) for o in found.outcomes}


def halved(events: tuple[Event, ...]) -> list[str]:
    """The elements whose writes are moves of their own."""
    return [str(p.target.element) for job in script(events).jobs for p in job.parts if p.halved]


@pytest.mark.parametrize(
    ("statement", "sums"),
    [
        ("y[0] += x[w]", ("Add(Add(y[0], x[0]), x[1])", "Add(Add(y[0], x[1]), x[0])")),
        ("y[0] = x[w] + y[0]", ("Add(x[1], Add(x[0], y[0]))", "Add(x[0], Add(x[1], y[0]))")),
    ],
)
def test_an_update_can_be_lost(statement: str, sums: tuple[str, str]) -> None:
    lost = (
        {"Add(y[0], x[0])", "Add(y[0], x[1])"}
        if "+=" in statement
        else {"Add(x[0], y[0])", "Add(x[1], y[0])"}
    )
    assert endings(task(TWO.format(statement)), "y[0]") == {(v,) for v in lost | {*sums}}


ADD = """
with CudaWarps({}, {}):
    for t in cuda_threads(0, 1, unit=cuda_thread):
        y[0] += x[{}]
"""


def test_no_update_is_lost_with_a_fence_between() -> None:
    steps = [ADD.format(0, 1, 0), ADD.format(1, 2, 1)]
    fence = "Fence(cuda_in_order, cuda_in_order)"
    assert endings(task("\n".join([steps[0], fence, steps[1], fence])), "y[0]") == {
        ("Add(Add(y[0], x[0]), x[1])",)
    }
    assert len(endings(task("\n".join([*steps, fence])), "y[0]")) == 4


def test_no_atomic_update_is_lost() -> None:
    events = task(TWO.format("atomic_add(y[0:1], x[w : w + 1])"))
    assert endings(events, "y[0]") == {("atomics(y[0], x[0], x[1])",)}


def test_a_swap_without_order_can_end_in_three_ways() -> None:
    first, second = ("y[0]",) * 2, ("y[1]",) * 2
    assert endings(task(TWO.format("y[w] = y[1 - w]")), "y[0]", "y[1]") == {first, second, ("y[1]", "y[0]")}


def test_threads_of_the_cpu_lose_updates() -> None:
    found = endings(host("for i in par(0, 2):\n    y[0] += x[i]\n"), "y[0]")
    assert {("Add(y[0], x[0])",), ("Add(y[0], x[1])",)} < found
    assert len(found) == 4


def test_an_asynchronous_copy_comes_between() -> None:
    body = """
s: i32[1] @ CudaSmemLinear
for t in cuda_threads(0, 1, unit=cuda_thread):
    s[0] = x[0]
    with CudaAsync(Sm80_cp_async):
        cp_async_1(s[0:1], x[1:2])
    {}
    s[0] += x[2]
Fence(Sm80_cp_async, cuda_in_order)
for t in cuda_threads(0, 1, unit=cuda_thread):
    y[0] = s[0]
Fence(cuda_in_order, cuda_in_order)
"""
    assert endings(task(body.format("Fence(Sm80_cp_async, cuda_in_order)")), "y[0]") == {("Add(x[1], x[2])",)}
    overwritten, lost = ("x[1]",), ("Add(x[0], x[2])",)
    assert endings(task(body.format("pass")), "y[0]") == {("Add(x[1], x[2])",), overwritten, lost}


HELD = """
s: i32[1] @ CudaSmemLinear
for t in cuda_threads(0, 1, unit=cuda_thread):
    s[0] = x[0]
Fence(cuda_in_order, cuda_in_order)
with CudaWarps(0, 1):
    {}(s[0:1], y[0:1])
with CudaWarps(1, 2):
    for t in cuda_threads(0, 1, unit=cuda_thread):
        {}
Fence(cuda_in_order, cuda_in_order)
for t in cuda_threads(0, 1, unit=cuda_thread):
    z[0] = s[0]
Fence(cuda_in_order, cuda_in_order)
"""


def test_none_comes_between_in_a_convergent_or_an_atomic_action() -> None:
    before, after = ("atomics(y[0], x[0])",) * 2, ("atomics(y[0], y[0])", "y[0]")
    between = ("atomics(y[0], x[0])", "y[0]")
    add = "atomic_add(y[0:1], s[0:1])"
    assert endings(task(HELD.format("warp_put_together", add)), "y[0]", "z[0]") == {before, after}
    assert endings(task(HELD.format("warp_put", add)), "y[0]", "z[0]") == {before, after, between}
    plain = endings(task(HELD.format("warp_put_together", "y[0] += s[0]")), "y[0]", "z[0]")
    assert plain == {
        ("Add(y[0], x[0])", "Add(y[0], x[0])"),
        ("Add(y[0], y[0])", "y[0]"),
        ("Add(y[0], x[0])", "y[0]"),
    }


@pytest.mark.parametrize(
    ("statement", "found"),
    [
        ("y[0] += x[w]", ["y[0]", "y[0]"]),
        ("y[w] = y[1 - w]", ["y[0]", "y[1]"]),
        ("y[w] += x[w]", []),
        ("y[0] = x[w]", []),
        ("if w == 0: y[0] = z[0]\n        else: z[0] = x[0]", []),
        ("if w == 0: y[0] = z[0]\n        else: z[0] = y[0]", ["y[0]", "z[0]"]),
        ("atomic_add(y[w : w + 1], y[1 - w : 2 - w])", []),
        ("if w == 0: y[0] += x[0]\n        else: z[0] = y[0]", []),
        ("if w == 0: y[0] += x[0]\n        else: atomic_add(y[0:1], x[1:2])", ["y[0]"]),
    ],
)
def test_reads_and_writes_are_apart_only_where_others_write_and_use_the_same(
    statement: str, found: list[str]
) -> None:
    assert halved(task(TWO.format(statement))) == found


def test_registers_that_have_an_order_are_no_reason() -> None:
    body = """
s: i32[2] @ CudaSmemLinear
r: i32[1] @ WarpRegisters
for t in cuda_threads(0, 2, unit=cuda_thread):
    s[t] = x[t]
Fence(cuda_in_order, cuda_in_order)
with CudaWarps(0, 1):
    warp_load(r[0:1], s[0:1])
    warp_store(y[0:1], r[0:1])
Fence(cuda_in_order, cuda_in_order)
"""
    assert halved(task(body)) == []


def test_a_witness_tells_what_was_read() -> None:
    events = task(TWO.format("y[0] += x[w]"))
    (lost,) = [o for o in outcomes(events).outcomes if dict(o.result)["y[0]"] == "Add(y[0], x[0])"]
    steps = str(lost.witness).splitlines()
    assert len(steps) == 4
    assert sum(": read y[0] = y[0], x[" in step for step in steps) == 2
    assert ": y[0] = Add(y[0], x[0])" in steps[-1]
