"""What the threads of a workgroup do: storage of their own and shared, Barriers, grids, and errors of each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from soundline.spec.arrays.arrays import INVALID
from soundline.spec.dtypes import bool_, index, int32
from soundline.spec.errors import EvaluationError
from soundline.spec.evaluate import execute
from soundline.spec.ops.axes import ORDERED, THREADS, axis_type, is_private
from soundline.spec.ops.bodies import free_ranges
from soundline.spec.ops.table import Op
from soundline.spec.uop import AxisType, UOp, buffer, const, loop

N = 4
IN, OUT = buffer(0, 2 * N, int32), buffer(1, 2 * N, int32)
SHARED, OWN = buffer(2, N, int32, addrspace="LOCAL"), buffer(3, 1, int32, addrspace="REG")
GROUP, THREAD = Op.Special(const(2, index), arg="gidx0"), Op.Special(const(N, index), arg="lidx0")
UNORDERED = tuple(a for a in AxisType if a not in ORDERED)


def n(value: int) -> UOp:
    return const(value, index)


def at(place: UOp, *where: UOp) -> UOp:
    return Op.Index(place, *where)  # type: ignore[no-any-return]


def plus(a: UOp, b: UOp) -> UOp:
    return Op.Add(a, b)  # type: ignore[no-any-return]


def minus(a: UOp, b: UOp) -> UOp:
    return Op.Sub(a, b)  # type: ignore[no-any-return]


def times(a: UOp, b: UOp) -> UOp:
    return Op.Mul(a, b)  # type: ignore[no-any-return]


WHERE = plus(times(GROUP, n(N)), THREAD)
"""The number of a thread in the whole grid."""


def left(program: UOp, slot: int = 1, **buffers: Any) -> tuple[Any, ...]:
    bound = {int(name[1:]): value for name, value in buffers.items()}
    return execute(program, bound)[slot].elements


def refused(rule: str, run: Callable[[], object]) -> str:
    with pytest.raises(EvaluationError) as caught:
        run()
    assert caught.value.rule == rule
    return str(caught.value)


DATA = [3, 1, 4, 1, 5, 9, 2, 6]
ZEROS = [0] * 2 * N


def reversal(index_of_thread: UOp, *, synchronized: bool) -> tuple[UOp, UOp, UOp]:
    """Thread i puts element i into shared storage, and stores what thread N-1-i put there."""
    put = Op.Store(at(SHARED, index_of_thread), at(IN, index_of_thread))
    meet = Op.Barrier(put)
    seen = Op.After(SHARED, meet if synchronized else put)
    out = Op.Store(at(OUT, index_of_thread), at(seen, minus(n(N - 1), index_of_thread)))
    return put, meet, out


# Barriers ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", THREADS)
def test_after_a_barrier_a_thread_sees_what_the_others_wrote(kind: AxisType) -> None:
    i = loop(N, 0, kind)
    put, meet, out = reversal(i, synchronized=True)
    end = Op.End(out, i)
    for program in (Op.Sink(end), Op.Linear(i, put, meet, out, end)):
        assert left(program, b0=DATA, b1=ZEROS)[:N] == tuple(reversed(DATA[:N]))


@pytest.mark.parametrize("kind", UNORDERED)
def test_without_a_barrier_it_is_an_error_to_look(kind: AxisType) -> None:
    i = loop(N, 0, kind)
    put, _, out = reversal(i, synchronized=False)
    end = Op.End(out, i)
    for program in (Op.Sink(end), Op.Linear(i, put, out, end)):
        if kind in THREADS:
            refused("U-26", lambda p=program: left(p, b0=DATA, b1=ZEROS, b2=ZEROS[:N]))
        else:  # the storage is each workgroup's own, and nobody has written there
            refused("U-01", lambda p=program: left(p, b0=DATA, b1=ZEROS))


@pytest.mark.parametrize("kind", [AxisType.GLOBAL, AxisType.THREAD])
def test_a_barrier_does_not_bring_workgroups_together(kind: AxisType) -> None:
    i = loop(N, 0, kind)
    put, meet, out = reversal(i, synchronized=True)
    end = Op.End(out, i)
    for program in (Op.Sink(end), Op.Linear(i, put, meet, out, end)):
        refused("U-01", lambda p=program: left(p, b0=DATA, b1=ZEROS))


def test_a_barrier_closes_the_thread_axes_that_it_brings_together() -> None:
    put = Op.Store(at(SHARED, THREAD), at(IN, GROUP))
    assert free_ranges(put) == {THREAD, GROUP}
    assert free_ranges(Op.Barrier(put)) == {GROUP}
    ordered = loop(N, 5)
    assert free_ranges(Op.Barrier(Op.Store(at(SHARED, ordered), at(IN, THREAD)))) == {ordered}


def test_threads_of_two_axes_meet_at_one_barrier() -> None:
    i, j = loop(2, 0, AxisType.LOCAL), loop(2, 1, AxisType.LOCAL)
    thread = plus(times(i, n(2)), j)
    put, meet, out = reversal(thread, synchronized=True)
    inner = Op.End(out, j)
    outer = Op.End(inner, i)
    for program in (Op.Sink(outer), Op.Linear(i, j, put, meet, out, inner, outer)):
        assert left(program, b0=DATA, b1=ZEROS)[:N] == tuple(reversed(DATA[:N]))


def tree_sum(*, barriers: bool) -> UOp:
    """A sum in shared storage: first 2 threads, then 1 add what stands so far from their own."""
    put = Op.Store(at(SHARED, THREAD), at(IN, THREAD))
    step = loop(2, 0)
    distance = minus(n(2), step)
    opened = Op.If(Op.CmpLt(THREAD, distance))
    total = Op.Add(at(SHARED, THREAD), at(SHARED, plus(THREAD, distance)))
    added = Op.Store(at(SHARED, THREAD), total)
    first = Op.If(Op.CmpEq(THREAD, n(0)))
    out = Op.Store(at(OUT, n(0)), at(SHARED, n(0)))
    meet, again = Op.Barrier(put), Op.Barrier(added)
    steps = [put, meet, step, opened, added, Op.Endif(opened), again, Op.End(added, step)]
    steps += [first, out, Op.Endif(first)]
    return Op.Linear(*(s for s in steps if barriers or s.op is not Op.Barrier))  # type: ignore[no-any-return]


def test_barriers_in_a_loop_separate_its_steps() -> None:
    assert left(tree_sum(barriers=True), b0=DATA, b1=ZEROS)[0] == sum(DATA[:N])
    refused("U-26", lambda: left(tree_sum(barriers=False), b0=DATA, b1=ZEROS, b2=ZEROS[:N]))


def test_all_threads_reach_a_barrier_or_none() -> None:
    put = Op.Store(at(SHARED, THREAD), at(IN, THREAD))
    opened, meet = Op.If(Op.CmpLt(THREAD, n(2))), Op.Barrier()
    message = refused("U-51", lambda: left(Op.Linear(put, opened, meet, Op.Endif(opened)), b0=DATA))
    assert "2 of 4 threads wait" in message
    nobody = Op.If(Op.CmpLt(THREAD, n(0)))
    left(Op.Linear(put, nobody, Op.Barrier(), Op.Endif(nobody)), 2, b0=DATA)
    other = Op.If(const(True, bool_))
    twice = Op.Linear(opened, meet, Op.Endif(opened), other, Op.Barrier(other), Op.Endif(other))
    refused("U-51", lambda: execute(twice))


def test_a_barrier_inside_a_loop_of_each_thread_is_run_step_by_step_only() -> None:
    step = loop(2, 0)
    i = loop(N, 1, AxisType.LOCAL)
    value = Op.Add(at(IN, i), Op.Cast(step, arg=int32))
    put = Op.Store(at(SHARED, i), value)
    out = Op.Store(
        at(OUT, plus(times(step, n(N)), i)), at(Op.After(SHARED, Op.Barrier(put)), minus(n(N - 1), i))
    )
    meet = Op.Barrier(put)
    last = Op.Barrier(out)
    inner = Op.End(out, step)
    outer = Op.End(inner, i)
    steps = Op.Linear(i, step, put, meet, out, last, inner, outer)
    expected = tuple(x + s for s in (0, 1) for x in reversed(DATA[:N]))
    assert left(steps, b0=DATA, b1=ZEROS) == expected
    refused("U-26", lambda: left(Op.Linear(i, step, put, meet, out, inner, outer), b0=DATA, b1=ZEROS))
    refused("U-26", lambda: left(Op.Sink(outer), b0=DATA, b1=ZEROS))
    assert left(Op.Sink(Op.End(Op.End(out, i), step)), b0=DATA, b1=ZEROS) == expected


# Storage ----------------------------------------------------------------------------------------------------------


def test_registers_are_each_threads_own() -> None:
    total = Op.Store(at(OWN, n(0)), at(IN, THREAD))
    more = Op.Store(at(OWN, n(0)), Op.Add(at(OWN, n(0)), at(OWN, n(0))))
    out = Op.Store(at(OUT, THREAD), at(OWN, n(0)))
    program = Op.Linear(total, Op.Barrier(), more, Op.Barrier(), out)
    found = execute(program, {0: DATA, 1: ZEROS})
    assert found[1].elements[:N] == tuple(2 * x for x in DATA[:N])
    assert found[3].elements == (INVALID,)


def test_shared_storage_is_fresh_in_every_workgroup() -> None:
    put = Op.Store(at(SHARED, THREAD), at(IN, WHERE))
    out = Op.Store(at(OUT, WHERE), at(SHARED, minus(n(N - 1), THREAD)))
    program = Op.Linear(put, Op.Barrier(put), out)
    reversed_halves = tuple(reversed(DATA[:N])) + tuple(reversed(DATA[N:]))
    assert left(program, b0=DATA, b1=ZEROS) == reversed_halves
    assert execute(program, {0: DATA, 1: ZEROS})[2].elements == (INVALID,) * N
    only_first = Op.If(Op.CmpEq(GROUP, n(0)))
    partly = Op.Linear(only_first, put, Op.Endif(only_first), Op.Barrier(), out)
    refused("U-01", lambda: left(partly, b0=DATA, b1=ZEROS))


@pytest.mark.parametrize("kind", list(AxisType))
def test_which_storage_is_private(kind: AxisType) -> None:
    assert is_private("REG", kind) == (kind not in ORDERED)
    assert is_private("LOCAL", kind) == (kind in (AxisType.GLOBAL, AxisType.THREAD))
    assert not is_private("GLOBAL", kind)


# Grids ------------------------------------------------------------------------------------------------------------


def test_a_special_counts_workgroups_or_threads_by_its_name() -> None:
    assert axis_type(GROUP) is AxisType.GLOBAL
    assert axis_type(THREAD) is AxisType.LOCAL
    assert axis_type(loop(3, 0, AxisType.WARP)) is AxisType.WARP


def doubled(where: UOp) -> UOp:
    return Op.Store(at(OUT, where), Op.Mul(at(IN, where), const(2, int32)))  # type: ignore[no-any-return]


def test_every_thread_of_a_grid_runs_the_program() -> None:
    store = doubled(WHERE)
    expected = tuple(2 * x for x in DATA)
    assert left(Op.Linear(store), b0=DATA, b1=ZEROS) == expected
    assert left(Op.Sink(store), b0=DATA, b1=ZEROS) == expected
    by_group = doubled(GROUP)
    assert left(Op.Sink(by_group), b0=DATA, b1=ZEROS) == (*expected[:2], *ZEROS[2:])
    assert left(Op.Linear(by_group), b0=DATA, b1=ZEROS) == (*expected[:2], *ZEROS[2:])


@pytest.mark.parametrize("special", [GROUP, THREAD])
def test_threads_and_workgroups_may_not_write_one_place(special: UOp) -> None:
    store = Op.Store(at(OUT, n(0)), Op.Cast(special, arg=int32))
    refused("U-26", lambda: left(Op.Sink(store)))
    refused("U-26", lambda: left(Op.Linear(store)))
    reads = Op.Store(at(OUT, special), at(OUT, plus(special, n(1))))
    refused("U-26", lambda: left(Op.Sink(reads), b1=ZEROS))
    refused("U-26", lambda: left(Op.Linear(reads), b1=ZEROS))


def test_atomic_adds_of_all_threads_meet() -> None:
    add = Op.AtomicAdd(at(OUT, n(0)), at(IN, WHERE))
    for program in (Op.Sink(add), Op.Linear(add)):
        assert left(program, b0=DATA, b1=ZEROS)[0] == sum(DATA)


def test_a_barrier_of_a_grid_brings_each_workgroup_together() -> None:
    put = Op.Store(at(SHARED, THREAD), at(IN, WHERE))
    out = Op.Store(at(OUT, WHERE), at(Op.After(SHARED, Op.Barrier(put)), minus(n(N - 1), THREAD)))
    assert left(Op.Sink(out), b0=DATA, b1=ZEROS) == left(
        Op.Linear(put, Op.Barrier(put), out), b0=DATA, b1=ZEROS
    )
    unmet = Op.Store(at(OUT, WHERE), at(Op.After(SHARED, put), minus(n(N - 1), THREAD)))
    refused("U-26", lambda: left(Op.Sink(unmet), b0=DATA, b1=ZEROS, b2=ZEROS[:N]))


def test_a_grid_of_no_threads_does_nothing() -> None:
    nobody = Op.Special(n(0), arg="gidx0")
    assert left(Op.Sink(doubled(nobody)), b0=DATA, b1=ZEROS) == tuple(ZEROS)
    assert left(Op.Linear(doubled(nobody)), b0=DATA, b1=ZEROS) == tuple(ZEROS)
