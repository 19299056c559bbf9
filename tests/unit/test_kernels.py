"""Kernels: what is one, how its axes are counted, which of them carry a dependence, and what may run in parallel."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from soundline.spec.arrays.arrays import Array
from soundline.spec.dtypes import float32, index, int32
from soundline.spec.errors import EvaluationError, ScheduleError
from soundline.spec.evaluate import execute
from soundline.spec.kernels import dependences
from soundline.spec.kernels.dependences import Touch, carried, carries, directions, reverses, touches
from soundline.spec.kernels.iteration_spaces import (
    AXES,
    KERNEL_CONSTRAINTS,
    Kernel,
    globalized,
    nests,
    problems,
    run,
)
from soundline.spec.ops.axes import ORDERED
from soundline.spec.uop import AxisType, Op, RangeArg, ReduceArg, UOp, buffer, const, loop, param, substitute

sys.path.insert(0, str(Path(__file__).parent.parent / "property"))
from kernel_programs import (
    at,
    copy_kernel,
    filled,
    gemm_kernel,
    kernel,
    load,
    nest,
    nested_kernel,
    reduction_kernel,
    scan_kernel,
    shared_kernel,
    store,
    two_reductions_kernel,
    two_stores_kernel,
)

X, OUT = buffer(0, 16, int32), buffer(1, 16, int32)


# The table --------------------------------------------------------------------------------------------------------


def test_the_table_of_axis_types_is_that_of_the_source_with_the_decided_additions() -> None:
    letters = {t.name: t.value for t in AxisType}
    assert {row.type.name: row.letter for row in AXES.values()} == letters
    sources = {row.letter: "".join(t.value for t in row.split_from) for row in AXES.values()}
    assert sources == {
        **dict.fromkeys("gwLR", ""),
        "l": "gL",
        "t": "g",
        "G": "R",
        "u": "glL",
        "r": "RG",
    }
    added = {row.letter: "".join(t.value for t in row.decided_from) for row in AXES.values()}
    assert {k: v for k, v in added.items() if v} == {"t": "L", "L": "gL", "R": "R"}
    directions_ = {row.letter: row.direction for row in AXES.values() if row.split_from}
    assert directions_ == {
        "l": ("inner",),
        "t": ("outer",),
        "G": ("inner", "outer"),
        "u": ("inner",),
        "r": ("inner",),
    }
    assert {row.type for row in AXES.values() if row.ordered} == set(ORDERED)


# What a kernel is -------------------------------------------------------------------------------------------------


def test_axes_are_counted_nests_first_and_outer_reductions_before_inner_ones() -> None:
    made = gemm_kernel(int32, int32, 2, 3, 4)
    assert [(r.arg.id, r.arg.type.value) for r in made.axes] == [(0, "L"), (1, "L"), (2, "R")]
    assert made.letters == "LLR"
    assert [r.arg.id for r in nested_kernel(int32, 2, 3).axes] == [0, 1]
    grouped = kernel(
        nest(Op.Group(nest(store(X, const(0, int32), (loop(2, 5), 1)), loop(2, 5))), loop(3, 4)),
        nest(store(OUT, const(0, int32), (loop(4, 6), 1)), loop(4, 6)),
    )
    assert [r.arg.id for r in grouped.axes] == [4, 5, 6]
    assert [[r.arg.id for r in ranges] for ranges, _ in nests(grouped.sink)] == [[4], [5], [6]]


def test_a_nest_that_a_value_comes_after_is_one_of_the_kernel() -> None:
    made = shared_kernel(int32, 2, 3)
    assert [[r.arg.id for r in ranges] for ranges, _ in nests(made.sink)] == [[0, 1], [0, 1]]
    assert made.letters == "LL"
    i = loop(3, 0)
    first = nest(store(X, Op.Add(load(X, (i, 1)), const(1, int32)), (i, 1), plus=1), i)
    hidden = kernel(nest(store(OUT, load(Op.After(X, first), (i, 1)), (i, 1)), i))
    assert hidden.carried_by(i) is True  # by the nest inside
    assert shared_kernel(int32, 2, 3).carried_by(i) is False


def test_what_an_iteration_stores_before_it_reads_is_a_part_of_it() -> None:
    i, kept = loop(3, 0), buffer(9, 1, int32)
    put = store(kept, load(X, (i, 1)))
    made = kernel(nest(store(OUT, load(Op.After(kept, put)), (i, 1)), i))
    assert made.carried_by(i) is True  # all store to one place
    once = kernel(nest(store(OUT, load(Op.After(kept, store(kept, const(1, int32)))), (i, 1)), i))
    assert once.carried_by(i) is False  # before the loop


I = loop(4, 0)  # noqa: E741  # an index


def running_kernel(bound: UOp, kind: AxisType = AxisType.REDUCE, outer: UOp = I) -> UOp:
    """A kernel with a reduction, in a loop, up to a bound that the loop moves."""
    k = UOp(Op.Range, (bound,), RangeArg(1, kind))
    return Op.Sink(nest(store(X, Op.Reduce(load(OUT, (k, 1)), k, arg=ReduceArg(Op.Add)), (outer, 1)), outer))


def needed(then: UOp | int, otherwise: UOp | int) -> UOp:
    """A bound that an element in memory decides."""
    numbers = (n if isinstance(n, UOp) else const(n, index) for n in (then, otherwise))
    return Op.Where(Op.CmpEq(load(OUT, (I, 1)), const(0, int32)), *numbers)


BROKEN = {
    "kernel-c1": (
        Op.Group(),
        Op.Sink(store(X, const(1, int32), (Op.Special(const(4, index), arg="gidx0"), 1))),
    ),
    "kernel-c2": (
        Op.Sink(Op.Barrier()),
        Op.Sink(Op.End(Op.Custom(arg=""), I)),
    ),
    "kernel-c3": (
        Op.Sink(nest(Op.Group(), UOp(Op.Range, (param(0, index),), RangeArg(0)))),
        running_kernel(Op.Add(I, const(2, index))),
        running_kernel(Op.Mul(I, const(1, index))),
        running_kernel(Op.Add(I, const(1, index)), AxisType.LOOP),
        running_kernel(
            Op.Add(loop(4, 0, AxisType.UPCAST), const(1, index)), outer=loop(4, 0, AxisType.UPCAST)
        ),
        running_kernel(needed(2, 3)),
        running_kernel(needed(I, 0)),
        running_kernel(needed(0, 3), AxisType.LOOP),
    ),
    "kernel-c4": (
        Op.Sink(
            nest(store(X, const(1, int32), (loop(4, 0, AxisType.REDUCE), 1)), loop(4, 0, AxisType.REDUCE))
        ),
        Op.Sink(store(X, Op.Reduce(load(OUT, (I, 1)), I, arg=ReduceArg(Op.Add)))),
        Op.Sink(nest(Op.Group(), I), store(X, Op.Reduce(load(OUT, (I, 1)), I, arg=ReduceArg(Op.Add)))),
    ),
    "kernel-c5": (Op.Sink(nest(store(X, Op.Mul(Op.Index(OUT, I), Op.Index(OUT, I)), (I, 1)), I)),),
}


@pytest.mark.parametrize(("rule", "sink"), [(rule, s) for rule, sinks in BROKEN.items() for s in sinks])
def test_what_is_no_kernel_is_refused(rule: str, sink: UOp) -> None:
    assert rule in KERNEL_CONSTRAINTS
    with pytest.raises(ScheduleError) as caught:
        Kernel(sink)
    assert caught.value.rule == rule
    assert caught.value.wants == KERNEL_CONSTRAINTS[rule]


@pytest.mark.parametrize(
    "sink",
    [
        Op.Sink(),
        Op.Sink(nest(Op.Group(), I), nest(store(X, const(1, int32), (I, 1)), I)),
        Op.Sink(Op.Group()),
        running_kernel(Op.Add(I, const(1, index))),
        running_kernel(needed(0, 3)),
        running_kernel(needed(3, 0)),
        scan_kernel(int32, 2, 3).sink,
        two_stores_kernel(int32, 2, 3).sink,
        Op.Sink(nest(Op.AtomicAdd(Op.Index(X, const(0, index)), load(OUT, (I, 1))), I)),
        Op.Sink(nest(store(X, load(Op.After(OUT, Op.Group()), (I, 1)), (I, 1)), I)),
    ],
)
def test_what_is_a_kernel_is_taken(sink: UOp) -> None:
    assert problems(sink) == []
    assert Kernel(sink).sink is sink


def test_every_constraint_of_a_kernel_has_a_broken_twin() -> None:
    assert set(BROKEN) == set(KERNEL_CONSTRAINTS)


# Dependences ------------------------------------------------------------------------------------------------------


def found_of(made: Kernel) -> frozenset[tuple[int, ...]] | None:
    ranges, body = nests(made.sink)[0]
    return directions(body, ranges)


def shifted(di: int, dj: int, *, gate: bool = False) -> Kernel:
    """out[i + di, j + dj] = out[i, j] + 1, with i and j from 1 to 3."""
    i, j = loop(3, 0), loop(3, 1)
    base = buffer(0, 25, int32)
    read = load(base, (i, 5), (j, 1), plus=6)
    body = store(base, Op.Add(read, const(1, int32)), (i, 5), (j, 1), plus=6 + 5 * di + dj)
    if gate:
        body = Op.Store(*body.src, Op.CmpLt(i, const(1, index)))
    return kernel(nest(body, i, j))


def test_iterations_that_are_told_apart_never_meet() -> None:
    assert found_of(copy_kernel(int32, 3, 4)) == frozenset()
    assert found_of(copy_kernel(int32, 300, 400)) == frozenset()  # far beyond what could be listed
    assert found_of(shifted(0, 0)) == frozenset()


def rows_kernel(rows: int, row: int, reach: int, gate: int | None = None) -> Kernel:
    """In each row: x[j] = 1 for j < row, and then out[i] = the sum of x[j] for j < reach, where j < gate."""
    i, j, r = loop(rows, 0), loop(row, 1), loop(reach, 2, AxisType.REDUCE)
    held, out = buffer(0, 10**9, int32), buffer(1, rows, int32)
    first = nest(store(held, const(1, int32), (i, row), (j, 1)), j)
    place = Op.Index(Op.After(held, first), Op.Add(Op.Mul(i, const(row, index)), r))
    read = (
        Op.Load(place) if gate is None else Op.Load(place, const(0, int32), Op.CmpLt(r, const(gate, index)))
    )
    second = Op.Store(Op.Index(out, i), Op.Reduce(read, r, arg=ReduceArg(Op.Add)))
    return kernel(nest(Op.Group(first, second), i))


def test_iterations_with_blocks_of_their_own_never_meet() -> None:
    """What a row writes at one index it reads at another: far too many iterations to be listed."""
    assert found_of(rows_kernel(1000, 3000, 3000)) == frozenset()
    assert found_of(rows_kernel(1000, 3000, 2000)) == frozenset()
    assert found_of(rows_kernel(1000, 3000, 3001)) is None  # the last read is of the next row
    assert found_of(rows_kernel(1000, 3000, 3016, gate=3000)) == frozenset()  # but for a gate it would be
    assert found_of(rows_kernel(1000, 3000, 3016, gate=3001)) is None
    assert found_of(rows_kernel(3, 4, 5)) == {(1,)}  # few are listed


def test_what_is_the_same_for_all_iterations_does_not_tell_them_apart() -> None:
    i, p = loop(5000, 0), param(0, index, bounds=(0, 9))
    base = buffer(0, 10**9, int32)
    apart = Op.Index(base, Op.Add(Op.Mul(p, const(7, index)), i))
    assert found_of(kernel(nest(Op.Store(apart, const(1, int32)), i))) == frozenset()
    same = Op.Index(base, Op.Mul(p, const(7, index)))
    assert found_of(kernel(nest(Op.Store(same, const(1, int32)), i))) == {(1,)}
    read = Op.Load(Op.Index(base, Op.Add(Op.Mul(p, const(5000, index)), i)))
    elsewhere = kernel(nest(Op.Store(Op.Index(base, i), read), i))
    assert found_of(elsewhere) is None  # where nobody knows
    stretched = Op.Index(base, Op.Mul(p, i))  # by a number that may be 0
    assert found_of(kernel(nest(Op.Store(stretched, const(1, int32)), i))) is None


def sized_nest(*axes: UOp, place: UOp, value: UOp | None = None) -> bool | None:
    """Whether the last axis of a nest, whose outer axes may run up to sizes, carries a dependence."""
    body = Op.Store(place, const(1, int32) if value is None else value)
    return carried(body, axes, len(axes) - 1)


def test_axes_up_to_sizes_are_told_apart_where_their_count_does_not_matter() -> None:
    size = Op.Cast(load(X), arg=index)
    base = buffer(2, 10**9, int32)
    steps, rows, lanes = UOp(Op.Range, (size,), RangeArg(0)), UOp(Op.Range, (size,), RangeArg(1)), loop(8, 2)
    inner = Op.Add(Op.Mul(steps, const(8, index)), lanes)
    assert directions(Op.Store(Op.Index(base, inner), const(1, int32)), [steps, lanes]) == frozenset()
    close = Op.Add(Op.Mul(steps, const(7, index)), lanes)
    assert directions(Op.Store(Op.Index(base, close), const(1, int32)), [steps, lanes]) is None
    swapped = Op.Add(steps, Op.Mul(lanes, const(1000, index)))  # there may be more steps than that
    assert directions(Op.Store(Op.Index(base, swapped), const(1, int32)), [steps, lanes]) is None
    of_rows = Op.Add(Op.Mul(rows, size), inner)
    assert directions(Op.Store(Op.Index(base, of_rows), const(1, int32)), [rows, steps, lanes]) is None
    assert sized_nest(rows, steps, lanes, place=Op.Index(base, of_rows)) is False
    assert sized_nest(rows, lanes, place=Op.Index(base, Op.Mul(rows, size))) is True
    assert sized_nest(rows, lanes, place=Op.Index(base, Op.Mul(rows, Op.Mul(lanes, size)))) is None


def test_a_size_that_the_nest_writes_is_no_number() -> None:
    i, lanes = loop(5000, 0), loop(8, 1)
    base = buffer(2, 10**9, int32)
    for storage, carries_one in ((X, False), (base, None)):
        place = Op.Index(base, Op.Add(Op.Mul(i, Op.Cast(load(storage), arg=index)), lanes))
        assert sized_nest(i, lanes, place=place) is carries_one


@given(st.data())
def test_blocks_agree_with_listing(data: st.DataObject) -> None:
    """Whatever is called apart by blocks is apart where all iterations are listed."""
    i, j, r = loop(data.draw(st.integers(1, 3)), 0), loop(data.draw(st.integers(1, 3)), 1), loop(3, 2)
    factor = st.integers(-6, 6)

    def touch(writes: bool) -> Touch:
        terms = [Op.Mul(a, const(data.draw(factor), index)) for a in (i, j, r)]
        at = Op.Add(Op.Add(terms[0], terms[1]), Op.Add(terms[2], const(data.draw(factor), index)))
        gate = Op.CmpLt(r, const(data.draw(st.integers(0, 3)), index)) if data.draw(st.booleans()) else None
        return Touch(buffer(0, 99, int32), at, gate, writes, False)

    group = [touch(True), touch(data.draw(st.booleans()))]
    blocks, listed = dependences._in_blocks(group, [i, j]), dependences._listed(group, [i, j])
    assert listed is not None
    assert blocks is None or listed <= blocks


def test_directions_are_those_of_the_shift() -> None:
    assert found_of(shifted(1, 0)) == {(1, 0)}
    assert found_of(shifted(1, -1)) == {(1, -1)}
    assert found_of(shifted(-1, 1)) == {(1, -1)}
    assert found_of(shifted(0, 1)) == {(0, 1)}
    assert found_of(shifted(1, 1)) == {(1, 1)}


def test_a_closed_gate_touches_nothing() -> None:
    wide = shifted(2, 0)
    assert found_of(wide) == {(1, 0)}
    i, j = loop(3, 0), loop(3, 1)
    body = store(X, const(1, int32), (i, 0), (j, 1))
    assert found_of(kernel(nest(body, i, j))) == {(1, 0)}
    once = Op.Store(*body.src, Op.CmpEq(i, const(1, index)))
    gated = Op.Store(Op.Index(X, Op.Add(at((j, 1)), Op.Mul(Op.Mod(i, const(2, index)), const(4, index)))),
                     const(1, int32), Op.CmpEq(i, const(1, index)))  # fmt: skip
    assert found_of(kernel(nest(gated, i, j))) == frozenset()
    assert found_of(kernel(nest(once, i, j))) == {(1, 0)}  # one index for all, of which gates are not asked


def test_an_axis_that_no_index_names_meets_itself() -> None:
    assert found_of(kernel(nest(store(X, const(1, int32), (loop(3, 1), 1)), loop(4, 0), loop(3, 1)))) == {
        (1, 0)
    }
    assert found_of(kernel(nest(store(X, const(1, int32)), loop(1, 0)))) == frozenset()
    assert found_of(kernel(nest(store(X, const(1, int32)), loop(2, 0), loop(2, 1)))) == {
        (0, 1), (1, -1), (1, 0), (1, 1)
    }  # fmt: skip


def test_strides_that_overlap_are_no_mixed_radix() -> None:
    i, j = loop(3, 0), loop(3, 1)
    assert found_of(kernel(nest(store(X, const(1, int32), (i, 2), (j, 1)), i, j))) == {(1, -1)}
    assert found_of(kernel(nest(store(X, const(1, int32), (i, 3), (j, 1)), i, j))) == frozenset()


def test_what_cannot_be_decided_is_not_known() -> None:
    i = loop(4, 0)
    at_data = Op.Index(OUT, Op.Cast(load(X, (i, 1)), arg=index))
    assert found_of(kernel(nest(Op.Store(at_data, const(1, int32)), i))) is None
    many = loop(5000, 0)
    big = buffer(0, 5000, int32)
    odd = Op.Index(big, Op.Mod(Op.Mul(many, const(7, index)), const(5000, index)))
    assert found_of(kernel(nest(Op.Store(odd, const(1, int32)), many))) is None
    few = loop(50, 0)
    odd = Op.Index(big, Op.Mod(Op.Mul(few, const(7, index)), const(50, index)))
    assert found_of(kernel(nest(Op.Store(odd, const(1, int32)), few))) == frozenset()
    whole = Op.Store(X, Op.Load(OUT))
    assert found_of(kernel(nest(whole, i))) is None
    assert carries(None, 0) is None
    assert reverses(None, (0,)) is None


def test_atomic_adds_of_integers_meet_without_harm_and_those_of_floats_do_not() -> None:
    i = loop(4, 0)
    assert (
        found_of(kernel(nest(Op.AtomicAdd(Op.Index(X, const(0, index)), load(OUT, (i, 1))), i)))
        == frozenset()
    )
    f = buffer(0, 4, float32)
    body = Op.AtomicAdd(Op.Index(f, const(0, index)), const(1.0, float32))
    assert found_of(kernel(nest(body, i))) == {(1,)}
    read = Op.Group(Op.AtomicAdd(Op.Index(X, const(0, index)), const(1, int32)), store(OUT, load(X), (i, 1)))
    assert found_of(kernel(nest(read, i))) == {(1,)}


def test_touches_are_loads_stores_and_atomic_adds() -> None:
    i = loop(4, 0)
    body = Op.Group(
        Op.AtomicAdd(Op.Index(X, i), const(1, int32)),
        Op.Store(Op.Index(OUT, i), Op.Load(Op.Index(X, i), const(0, int32), Op.CmpLt(i, i)), Op.CmpNe(i, i)),
    )
    seen = {(t.base, t.writes, t.atomic, t.gate is None, t.index) for t in touches(body)}
    assert seen == {(X, True, True, True, i), (X, False, False, False, i), (OUT, True, False, False, i)}


def test_which_axis_carries_and_what_a_new_order_reverses() -> None:
    found = frozenset({(1, -1), (0, 1)})
    assert [carries(found, k) for k in (0, 1)] == [True, True]
    assert [carries(frozenset({(1, -1)}), k) for k in (0, 1)] == [True, False]
    assert reverses(found, (1, 0)) is True
    assert reverses(found, (0, 1)) is False
    assert reverses(frozenset({(1, 0), (1, 1)}), (1, 0)) is False


# Parallel axes ----------------------------------------------------------------------------------------------------


def on_device(made: Kernel, device: str) -> Kernel:
    from soundline.spec.uop import toposort

    held = [n for n in toposort(made.sink) if n.op is Op.Buffer]
    moved = {b: buffer(b.arg.slot, b.arg.size, b.dtype, device, b.arg.addrspace) for b in held}
    return Kernel(substitute(made.sink, moved))


def test_axes_without_a_dependence_become_global_where_there_are_workgroups() -> None:
    assert globalized(on_device(copy_kernel(int32, 2, 3), "CUDA")).letters == "gg"
    assert globalized(on_device(copy_kernel(int32, 2, 3), "CUDA:1")).letters == "gg"
    assert globalized(copy_kernel(int32, 2, 3)).letters == "LL"
    assert globalized(on_device(scan_kernel(int32, 2, 3), "CUDA")).letters == "Lg"
    assert globalized(on_device(two_stores_kernel(int32, 2, 3), "CUDA")).letters == "LL"
    assert globalized(on_device(Kernel(running_kernel(Op.Add(I, const(1, index)))), "CUDA")).letters == "LR"
    assert globalized(on_device(gemm_kernel(int32, int32, 2, 3, 4), "CUDA")).letters == "ggR"


def test_global_axes_keep_the_value_and_a_carried_dependence_would_not() -> None:
    case = filled(on_device(scan_kernel(int32, 3, 2), "CUDA"), 3)
    assert run(globalized(case.kernel), case.buffers) == run(case.kernel, case.buffers)
    wrong = substitute(case.kernel.sink, {r: loop(3, 0, AxisType.GLOBAL) for r in case.kernel.axes[:1]})
    with pytest.raises(EvaluationError) as caught:
        run(Kernel(wrong), case.buffers)
    assert caught.value.rule == "U-26"


def test_a_kernel_with_storage_of_its_own_stays_as_it_is() -> None:
    i = loop(4, 0)
    own = buffer(7, 1, int32, "CUDA", "LOCAL")
    out, x = buffer(1, 4, int32, "CUDA"), buffer(0, 4, int32, "CUDA")
    first = store(own, load(x, (i, 1)))
    made = kernel(nest(store(out, load(Op.After(own, first)), (i, 1)), i))
    assert globalized(made) is made


# Meaning ----------------------------------------------------------------------------------------------------------


def test_a_kernel_leaves_in_its_global_buffers_what_its_sink_says() -> None:
    case = filled(two_reductions_kernel(Op.Add, int32, 2, 3), 1)
    total = sum(case.buffers[0])
    assert run(case.kernel, case.buffers)[1] == Array(int32, (1,), (total,))
    assert execute(case.kernel.sink, buffers=case.buffers)[1].elements == (total,)
    assert run(reduction_kernel(Op.Max, int32, 2, 2), {0: [5, 7, -3, -9]})[1].elements == (7, -3)


def test_storage_of_its_own_is_not_shown() -> None:
    own = buffer(7, 1, int32, addrspace="REG")
    made = kernel(store(OUT, load(Op.After(own, store(own, const(3, int32))))))
    left = run(made)
    assert set(left) == {1}
    assert left[1].elements[0] == 3
