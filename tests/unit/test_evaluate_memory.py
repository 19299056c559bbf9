"""What loads, stores, loops and versions mean, and what a Linear does step by step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from soundline.spec.arrays.arrays import INVALID, Array
from soundline.spec.dtypes import bool_, float32, index, int8, int16, int32, int64, uint8
from soundline.spec.errors import EvaluationError, IllFormed
from soundline.spec.evaluate import evaluate, execute, run_kernel
from soundline.spec.ops.table import Op
from soundline.spec.uop import (
    AxisType,
    ReduceArg,
    SliceArg,
    UOp,
    broadcast_to,
    buffer,
    const,
    expand,
    loop,
    pad,
    param,
    reshape,
    shrink,
    tensor,
)

ZERO = const(0, index)
ORDERED = (AxisType.LOOP, AxisType.REDUCE, AxisType.UNROLL, AxisType.UPCAST)
UNORDERED = tuple(a for a in AxisType if a not in ORDERED)


def number(value: int) -> UOp:
    return const(value, index)


def at(place: UOp, *where: UOp) -> UOp:
    return Op.Index(place, *where)  # type: ignore[no-any-return]


def refused(rule: str, run: Callable[[], object]) -> EvaluationError:
    with pytest.raises(EvaluationError) as caught:
        run()
    assert caught.value.rule == rule
    return caught.value


def left(program: UOp, slot: int, **buffers: Any) -> tuple[Any, ...]:
    """What a Buffer holds after a program; buffers are bound as b0=…, b1=…"""
    bound = {int(name[1:]): value for name, value in buffers.items()}
    return execute(program, bound)[slot].elements


A, B, C = buffer(0, 4, int32), buffer(1, 4, int32), buffer(2, 4, int32)
I4, J4 = loop(4, 0), loop(4, 1)


# Stores and versions ----------------------------------------------------------------------------------------------


def test_a_store_writes_its_place() -> None:
    assert left(Op.Store(A, tensor([1, 2, 3, 4])), 0) == (1, 2, 3, 4)
    assert left(Op.Sink(Op.Store(at(A, number(2)), const(9, int32))), 0, b0=[0] * 4) == (0, 0, 9, 0)


def test_what_was_never_written_is_invalid() -> None:
    assert left(Op.Store(at(A, number(2)), const(9, int32)), 0) == (INVALID, INVALID, 9, INVALID)
    refused("U-01", lambda: evaluate(Op.Load(A)))
    refused("U-01", lambda: evaluate(A))
    refused("U-01", lambda: execute(Op.Store(B, Op.Load(A))))
    refused("U-01", lambda: evaluate(Op.Reduce(A, arg=ReduceArg(Op.Add, (0,)))))
    written = Op.After(A, Op.Store(at(A, number(2)), const(9, int32)))
    assert evaluate(Op.Load(at(written, number(2)))).item() == 9
    refused("U-01", lambda: evaluate(Op.Load(at(written, number(1)))))


VIEWS: list[tuple[Callable[[UOp], UOp], Callable[[np.ndarray], np.ndarray]]] = [
    (lambda b: reshape(b, (2, 3)), lambda x: x.reshape(2, 3)),
    (lambda b: Op.Permute(reshape(b, (2, 3)), arg=(1, 0)), lambda x: x.reshape(2, 3).T),
    (lambda b: Op.Flip(b, arg=(True,)), lambda x: x[::-1]),
    (lambda b: shrink(b, (1,), (3,)), lambda x: x[1:4]),
    (lambda b: at(reshape(b, (2, 3)), number(1)), lambda x: x.reshape(2, 3)[1]),
    (lambda b: at(b, tensor([4, 0], index)), lambda x: np.array([x[4], x[0]])),
    (lambda b: Op.Slice(b, number(2), arg=SliceArg(2, int32)), lambda x: x[2:4]),
    (lambda b: Op.Slice(b, number(1), arg=SliceArg(3, int16)), lambda x: x.view(np.int16)[2:5]),
    (lambda b: Op.Bitcast(b, arg=int16), lambda x: x.view(np.int16)),
    (
        lambda b: Op.Flip(Op.Bitcast(shrink(b, (1,), (2,)), arg=uint8), arg=(True,)),
        lambda x: x[1:3].view(np.uint8)[::-1],
    ),
    (
        lambda b: Op.Bitcast(Op.Flip(Op.Bitcast(b, arg=int16), arg=(True,)), arg=int32),
        lambda x: x.view(np.int16)[::-1].copy().view(np.int32),
    ),
    (lambda b: expand(reshape(b, (6, 1)), (6, 2)), lambda x: np.stack([x, x], 1)),
]
STORAGE = np.array([0x01020304, -2, 7, 0x7FFFFFFF, 0, 77], np.int32)


@pytest.mark.parametrize("case", range(len(VIEWS)))
def test_a_view_of_a_place_reads_what_the_same_view_of_its_value_reads(case: int) -> None:
    view, theirs = VIEWS[case]
    from_memory = evaluate(Op.Load(view(buffer(0, 6, int32))), buffers={0: STORAGE})
    from_value = evaluate(view(param(0, int32, (6,))), {0: STORAGE})
    assert from_memory == from_value
    assert np.array_equal(from_memory.to_numpy(), theirs(STORAGE))


@pytest.mark.parametrize("case", range(len(VIEWS) - 1))
def test_a_store_through_a_view_writes_what_the_view_reads(case: int) -> None:
    view, _ = VIEWS[case]
    place = view(buffer(0, 6, int32))
    new = param(5, place.dtype, place.shape or ())
    values = np.arange(100, 100 + int(np.prod(new.shape))).astype(str(place.dtype)).reshape(new.shape)
    stored = Op.Store(place, new)
    read_back = evaluate(Op.Load(view(Op.After(buffer(0, 6, int32), stored))), {5: values}, {0: STORAGE})
    assert np.array_equal(read_back.to_numpy(), values)
    untouched = execute(stored, {0: STORAGE}, {5: values})[0].to_numpy()
    seen = {tuple(row) for row in np.argwhere(untouched != STORAGE)}
    assert len(seen) <= values.nbytes


@pytest.mark.parametrize(
    ("place", "law", "last_good"),
    [
        (lambda b, i: shrink(b, (i,), (4,)), "uop-shrink-c2", 2),
        (lambda b, i: shrink(reshape(b, (2, 3)), (0, i), (2, 2)), "uop-shrink-c2", 1),
        (lambda b, i: Op.Slice(b, Op.Mul(i, i), arg=SliceArg(1, int64)), "uop-slice-c4", 0),
        (
            lambda b, i: Op.Bitcast(shrink(b, (0,), (Op.Add(i, number(2)),)), arg=int64),
            "uop-bitcast-c2",
            0,
        ),
    ],
)
def test_a_place_that_moves_with_a_loop_is_held_to_its_constraints(
    place: Callable[[UOp, UOp], UOp], law: str, last_good: int
) -> None:
    def stored(bound: int) -> UOp:
        where = place(buffer(0, 6, int32), loop(bound, 0))
        return Op.End(Op.Store(where, broadcast_to(const(7, where.dtype), where.shape or ())), loop(bound, 0))

    assert 7 in execute(stored(last_good + 1), {0: STORAGE})[0].elements
    with pytest.raises(IllFormed) as broken:
        execute(stored(last_good + 2), {0: STORAGE})
    assert broken.value.rule == law


def test_a_store_may_not_write_one_place_twice() -> None:
    twice = expand(reshape(at(A, number(1)), (1,)), (2,))
    assert refused("U-26", lambda: execute(Op.Store(twice, tensor([1, 1])))).where == "Buffer"
    same_index = at(A, tensor([1, 1], index))
    refused("U-26", lambda: execute(Op.Store(same_index, tensor([1, 1]))))


def test_all_of_a_value_is_read_before_anything_is_written() -> None:
    reversed_in_place = Op.Store(A, Op.Load(Op.Flip(A, arg=(True,))))
    assert left(reversed_in_place, 0, b0=[1, 2, 3, 4]) == (4, 3, 2, 1)


def test_a_store_outside_its_place_is_an_error_unless_its_gate_is_shut() -> None:
    outside = at(A, number(9))
    refused("U-01", lambda: execute(Op.Store(outside, const(1, int32))))
    assert left(Op.Store(outside, const(1, int32), const(False, bool_)), 0, b0=[0] * 4) == (0, 0, 0, 0)
    refused("U-01", lambda: execute(Op.Store(outside, const(1, int32), const(True, bool_))))
    gates = tensor([True, False, True, False], bool_)
    assert left(Op.Store(A, tensor([1, 2, 3, 4]), gates), 0, b0=[0] * 4) == (1, 0, 3, 0)
    invalid_gate = at(tensor([True], bool_), number(3))
    refused("U-01", lambda: execute(Op.Store(at(A, ZERO), const(1, int32), invalid_gate)))


def test_an_invalid_value_may_not_be_stored_where_the_gate_is_open() -> None:
    invalid = at(tensor([1]), number(3))
    refused("U-01", lambda: execute(Op.Store(at(A, ZERO), invalid)))
    assert left(Op.Store(at(A, ZERO), invalid, const(False, bool_)), 0, b0=[5] * 4) == (5, 5, 5, 5)


def test_a_gated_load_does_not_touch_a_place_outside() -> None:
    gates = tensor([True, False], bool_)
    read = Op.Load(at(A, tensor([3, 4], index)), tensor([8, 9]), gates)
    assert evaluate(read, buffers={0: [1, 2, 3, 4]}).elements == (4, 9)


def test_a_load_reads_the_version_that_it_names() -> None:
    first = Op.Store(at(A, ZERO), const(1, int32))
    one = Op.After(A, first)
    second = Op.Store(at(one, ZERO), Op.Add(Op.Load(at(one, ZERO)), const(10, int32)))
    two = Op.After(one, second)
    values = Op.Stack(*(Op.Load(at(v, ZERO)) for v in (A, one, two)))
    assert evaluate(values, buffers={0: [7] * 4}).elements == (7, 1, 11)
    # What comes after the second store comes after the first, which it came after.
    assert evaluate(Op.Load(at(Op.After(A, second), ZERO)), buffers={0: [7] * 4}).item() == 11


def test_after_of_a_value_sees_the_effects_in_all_that_it_reads() -> None:
    stored = Op.Store(A, tensor([5, 6, 7, 8]))
    total = Op.Reduce(Op.Load(A), arg=ReduceArg(Op.Add, (0,)))
    both = Op.Stack(Op.After(total, stored), total)
    assert evaluate(both, buffers={0: [1, 1, 1, 1]}).elements == (26, 4)


def test_an_index_that_is_loaded_names_its_own_version() -> None:
    moved = Op.Store(at(B, ZERO), const(3, int32))
    before = at(A, Op.Cast(Op.Load(at(B, ZERO)), arg=index))
    after = at(A, Op.Cast(Op.Load(at(Op.After(B, moved), ZERO)), arg=index))
    memory = {0: [10, 11, 12, 13], 1: [1, 1, 1, 1]}
    assert evaluate(Op.Stack(Op.Load(before), Op.Load(after)), buffers=memory).elements == (11, 13)
    assert evaluate(Op.After(Op.Load(before), moved), buffers=memory).item() == 13
    assert evaluate(Op.Load(Op.After(before, moved)), buffers=memory).item() == 13


def test_unordered_stores_may_not_meet() -> None:
    one, other = Op.Store(at(A, ZERO), const(1, int32)), Op.Store(at(A, ZERO), const(2, int32))
    for collect in (Op.Group, Op.Sink):
        refused("U-26", lambda collect=collect: execute(collect(one, other)))
    apart = Op.Store(at(A, number(1)), const(2, int32))
    assert left(Op.Sink(one, apart), 0, b0=[0] * 4) == (1, 2, 0, 0)
    later = Op.Store(at(Op.After(A, one), ZERO), const(2, int32))
    assert left(Op.Sink(later, one), 0, b0=[0] * 4) == (2, 0, 0, 0)
    refused("U-26", lambda: evaluate(Op.Load(Op.After(A, one, other)), buffers={0: [0] * 4}))
    shifted = at(Op.Bitcast(A, arg=uint8), tensor([1, 2, 3, 4], index))
    overlapping = Op.Store(Op.Bitcast(shifted, arg=int32), tensor([7]))
    refused("U-26", lambda: execute(Op.Sink(one, overlapping), {0: [0] * 4}))


def test_stores_of_two_buffers_swap_by_reading_the_old_versions() -> None:
    swapped = Op.Sink(Op.Store(A, Op.Load(B)), Op.Store(B, Op.Load(A)))
    final = execute(swapped, {0: [1] * 4, 1: [2] * 4})
    assert (final[0].elements, final[1].elements) == ((2,) * 4, (1,) * 4)


def test_atomic_adds_meet_in_any_order_but_not_a_store() -> None:
    adds = [Op.AtomicAdd(at(A, ZERO), const(v, int32)) for v in (1, 10)]
    assert left(Op.Sink(*adds), 0, b0=[5] * 4) == (16, 5, 5, 5)
    refused("U-26", lambda: execute(Op.Sink(adds[0], Op.Store(at(A, ZERO), const(1, int32))), {0: [5] * 4}))
    refused("U-26", lambda: execute(Op.Sink(Op.Store(at(A, ZERO), const(1, int32)), adds[0]), {0: [5] * 4}))
    refused("U-01", lambda: execute(adds[0]))
    twice = expand(reshape(at(A, number(1)), (1,)), (2,))
    assert left(Op.AtomicAdd(twice, tensor([2, 3])), 0, b0=[5] * 4) == (5, 10, 5, 5)


# Loops ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", AxisType)
def test_a_loop_stores_once_for_each_iteration(kind: AxisType) -> None:
    i = loop(4, 0, kind)
    filled = Op.End(Op.Store(at(A, i), Op.Mul(Op.Cast(i, arg=int32), const(3, int32))), i)
    assert left(filled, 0) == (0, 3, 6, 9)
    empty = loop(0, 0, kind)
    assert left(Op.End(Op.Store(at(A, empty), const(1, int32)), empty), 0, b0=[0] * 4) == (0, 0, 0, 0)


def accumulate(kind: AxisType, n: int, *, after_range: bool = False, axis: int = 0) -> tuple[UOp, UOp]:
    """acc = 0; for r: acc = 2·acc + x[r]; the End, and the accumulator after it."""
    acc, x = buffer(7, 1, int32, addrspace="REG"), buffer(0, 4, int32)
    r = loop(n, axis, kind)
    cleared = Op.Store(at(acc, ZERO), const(0, int32))
    inside = at(Op.After(acc, cleared, *((r,) if after_range else ())), ZERO)
    doubled = Op.Mul(Op.Load(inside), const(2, int32))
    end = Op.End(Op.Store(inside, Op.Add(doubled, Op.Load(at(x, r)))), r)
    return end, at(Op.After(acc, end), ZERO)


@pytest.mark.parametrize("after_range", [False, True])
@pytest.mark.parametrize("kind", ORDERED)
def test_an_accumulator_is_carried_from_iteration_to_iteration(kind: AxisType, after_range: bool) -> None:
    _, total = accumulate(kind, 4, after_range=after_range)
    assert evaluate(Op.Load(total), buffers={0: [1, 2, 3, 4]}).item() == ((1 * 2 + 2) * 2 + 3) * 2 + 4
    _, none = accumulate(kind, 0, after_range=after_range)
    assert evaluate(Op.Load(none), buffers={0: [1, 2, 3, 4]}).item() == 0


@pytest.mark.parametrize("kind", UNORDERED)
def test_an_unordered_loop_carries_nothing_in_shared_storage(kind: AxisType) -> None:
    r = loop(4, 0, kind)
    total = at(B, ZERO)
    summed = Op.End(Op.Store(total, Op.Add(Op.Load(total), Op.Load(at(A, r)))), r)
    refused("U-26", lambda: execute(summed, {0: [1, 2, 3, 4], 1: [0] * 4}))
    shifted = Op.End(Op.Store(at(A, r), Op.Load(at(A, Op.Mod(Op.Add(r, number(1)), number(4))))), r)
    refused("U-26", lambda: execute(shifted, {0: [1, 2, 3, 4]}))
    in_place = Op.End(Op.Store(at(A, r), Op.Mul(Op.Load(at(A, r)), const(2, int32))), r)
    assert left(in_place, 0, b0=[1, 2, 3, 4]) == (2, 4, 6, 8)
    added = Op.End(Op.AtomicAdd(total, Op.Load(at(A, r))), r)
    assert left(added, 1, b0=[1, 2, 3, 4], b1=[100] * 4) == (110, 100, 100, 100)


@pytest.mark.parametrize("kind", ORDERED)
def test_an_ordered_loop_sees_what_it_wrote(kind: AxisType) -> None:
    r = loop(3, 0, kind)
    total = at(B, ZERO)
    summed = Op.End(Op.Store(total, Op.Add(Op.Load(total), Op.Load(at(A, r)))), r)
    assert left(summed, 1, b0=[1, 2, 3, 4], b1=[10] * 4) == (16, 10, 10, 10)
    shifted = Op.End(Op.Store(at(A, Op.Add(r, number(1))), Op.Load(at(A, r))), r)
    assert left(shifted, 0, b0=[1, 2, 3, 4]) == (1, 1, 1, 1)


def test_a_body_without_the_range_is_repeated_but_what_it_comes_after_is_not() -> None:
    r = loop(3, 0)
    cell = at(A, ZERO)
    assert left(Op.End(Op.Store(cell, Op.Add(Op.Load(cell), const(1, int32))), r), 0, b0=[5] * 4)[0] == 8
    start = Op.Store(cell, const(100, int32))
    once = at(Op.After(A, start), ZERO)
    assert left(Op.End(Op.Store(once, Op.Add(Op.Load(once), const(1, int32))), r), 0, b0=[5] * 4)[0] == 103
    cells = [at(A, number(k)) for k in (0, 1)]
    grouped = Op.Group(*(Op.Store(c, Op.Add(Op.Load(c), const(1, int32))) for c in cells))
    assert left(Op.End(grouped, r), 0, b0=[5] * 4) == (8, 8, 5, 5)


def test_what_a_loop_comes_after_happens_even_if_it_never_runs() -> None:
    start = Op.Store(at(A, ZERO), const(100, int32))
    r = loop(0, 0)
    never = Op.End(Op.Store(at(Op.After(A, start), number(1)), const(1, int32)), r)
    assert left(never, 0, b0=[5] * 4) == (100, 5, 5, 5)


def test_effects_that_depend_on_the_range_are_repeated_with_it() -> None:
    staged = buffer(5, 1, int32, addrspace="REG")
    filled = Op.Store(at(staged, ZERO), Op.Load(at(A, I4)))
    copied = Op.Store(at(B, I4), Op.Load(at(Op.After(staged, filled), ZERO)))
    assert left(Op.End(copied, I4), 1, b0=[4, 3, 2, 1]) == (4, 3, 2, 1)
    # An effect that comes after one in the loop is in the loop.
    counted = Op.Store(at(C, ZERO), Op.Add(Op.Load(at(C, ZERO)), Op.Load(at(Op.After(staged, filled), ZERO))))
    last = Op.Store(at(B, ZERO), Op.Load(at(Op.After(C, counted), ZERO)))
    assert left(Op.End(last, I4), 1, b0=[4, 3, 2, 1], b1=[0] * 4, b2=[0] * 4)[0] == 10


@pytest.mark.parametrize(
    ("outer", "inner"), [(AxisType.LOOP, AxisType.LOOP), (AxisType.GLOBAL, AxisType.LOCAL)]
)
def test_nested_loops_store_a_matrix_product(outer: AxisType, inner: AxisType) -> None:
    m, n, k = 3, 2, 4
    a, b, c = buffer(0, m * k, float32), buffer(1, k * n, float32), buffer(2, m * n, float32)
    acc = buffer(3, 1, float32, addrspace="REG")
    i, j, r = loop(m, 0, outer), loop(n, 1, inner), loop(k, 2, AxisType.REDUCE)

    def flat(row: UOp, width: int, column: UOp) -> UOp:
        return Op.Add(Op.Mul(row, number(width)), column)  # type: ignore[no-any-return]

    own = Op.After(acc, i, j)
    cleared = Op.Store(at(own, ZERO), const(0.0, float32))
    cell = at(Op.After(own, cleared), ZERO)
    term = Op.Mul(Op.Load(at(a, flat(i, k, r))), Op.Load(at(b, flat(r, n, j))))
    summed = Op.End(Op.Store(cell, Op.Add(Op.Load(cell), term)), r)
    stored = Op.Store(at(c, flat(i, n, j)), Op.Load(at(Op.After(own, summed), ZERO)))
    program = Op.Sink(Op.End(Op.End(stored, j), i))
    x = np.arange(m * k, dtype=np.float32).reshape(m, k)
    y = np.arange(k * n, dtype=np.float32).reshape(k, n) - 3
    final = execute(program, {0: x.ravel(), 1: y.ravel()})
    assert np.array_equal(final[2].to_numpy().reshape(m, n), x @ y)


def test_storage_is_private_to_what_runs_apart() -> None:
    def through(space: str, kind: AxisType) -> UOp:
        stage = buffer(5, 1, int32, addrspace=space)
        i = loop(4, 0, kind)
        filled = Op.Store(at(stage, ZERO), Op.Load(at(A, i)))
        return Op.End(Op.Store(at(B, i), Op.Load(at(Op.After(stage, filled), ZERO))), i)  # type: ignore[no-any-return]

    for kind in UNORDERED:
        assert left(through("REG", kind), 1, b0=[1, 2, 3, 4]) == (1, 2, 3, 4)
        assert left(through("REG", kind), 5, b0=[1, 2, 3, 4]) == (INVALID,)
        refused("U-26", lambda kind=kind: execute(through("GLOBAL", kind), {0: [1, 2, 3, 4]}))
        if kind in (AxisType.GLOBAL, AxisType.THREAD):
            assert left(through("LOCAL", kind), 1, b0=[1, 2, 3, 4]) == (1, 2, 3, 4)
        else:
            refused("U-26", lambda kind=kind: execute(through("LOCAL", kind), {0: [1, 2, 3, 4]}))
    for kind in ORDERED:
        assert left(through("GLOBAL", kind), 5, b0=[1, 2, 3, 4]) == (4,)


def test_a_gated_read_does_not_conflict_where_it_does_not_touch() -> None:
    i = loop(4, 0, AxisType.GLOBAL)
    first = Op.CmpLt(i, number(1))
    gated = Op.Load(at(A, ZERO), const(0, int32), first)
    assert left(Op.End(Op.Store(at(A, i), Op.Add(gated, const(1, int32))), i), 0, b0=[5, 6, 7, 8]) == (
        6,
        1,
        1,
        1,
    )
    bare = Op.Store(at(A, i), Op.Where(first, Op.Load(at(A, ZERO)), const(0, int32)))
    refused("U-26", lambda: execute(Op.End(bare, i), {0: [5, 6, 7, 8]}))


def test_local_storage_passes_values_from_one_loop_to_the_next() -> None:
    group, lane = loop(2, 0, AxisType.GLOBAL), loop(4, 1, AxisType.LOCAL)
    local = Op.After(buffer(5, 4, int32, addrspace="LOCAL"), group)
    filled = Op.End(
        Op.Store(at(local, lane), Op.Add(Op.Cast(lane, arg=int32), Op.Cast(group, arg=int32))), lane
    )
    ready = Op.After(local, Op.Barrier(filled))
    mirrored = Op.Load(at(ready, Op.Sub(number(3), lane)))
    out = at(reshape(buffer(1, 8, int32), (2, 4)), group, lane)
    program = Op.End(Op.End(Op.Store(out, mirrored), lane), group)
    assert execute(program)[1].elements == (3, 2, 1, 0, 4, 3, 2, 1)


def test_a_range_outside_its_loop_has_no_value() -> None:
    refused("U-01", lambda: execute(Op.Store(at(A, I4), const(1, int32))))


def test_a_reduce_over_a_range_reads_memory() -> None:
    stored = Op.Store(A, tensor([1, 2, 3, 4]))
    total = Op.Reduce(Op.Load(at(Op.After(A, stored), I4)), I4, arg=ReduceArg(Op.Add))
    assert evaluate(total).item() == 10
    assert left(Op.End(Op.Store(at(B, J4), total), J4), 1) == (10, 10, 10, 10)


# Kernels ----------------------------------------------------------------------------------------------------------


def kernel() -> UOp:
    """out[i] = x[i] + x[i+1], out being Param 0 and x Param 1."""
    out, x = param(0, int32, (3,)), param(1, int32, (4,))
    i = loop(3, 0)
    low, high = Op.Load(at(x, i)), Op.Load(at(x, Op.Add(i, number(1))))
    total = Op.Add(low, high)
    stored = Op.Store(at(out, i), total)
    return Op.Linear(i, low, high, total, stored, Op.End(stored, i))  # type: ignore[no-any-return]


def test_a_kernel_writes_its_arguments() -> None:
    final = run_kernel(kernel(), [[0, 0, 0], [1, 2, 3, 4]])
    assert final == [Array.of([3, 5, 7], int32), Array.of([1, 2, 3, 4], int32)]
    refused("uop-param-shape", lambda: run_kernel(kernel(), [[0, 0], [1, 2, 3, 4]]))
    refused("U-01", lambda: run_kernel(kernel(), [[0, 0, 0]]))


def test_the_call_of_a_program_runs_its_linear_on_the_arguments() -> None:
    program = Op.Program(kernel(), Op.Source(arg=""), Op.BinaryCode(arg=b""))
    out = shrink(A, (1,), (3,))
    called = Op.Call(program, out, Op.Load(B))
    assert left(called, 0, b0=[9] * 4, b1=[1, 2, 3, 4]) == (9, 3, 5, 7)
    result = Op.Load(at(Op.After(A, called), number(2)))
    assert evaluate(result, buffers={0: [9] * 4, 1: [1, 2, 3, 4]}).item() == 5
    refused(
        "uop-call-sem", lambda: execute(Op.Call(program, tensor([0, 0, 0]), Op.Load(B)), {1: [1, 2, 3, 4]})
    )


def test_the_arguments_of_a_kernel_that_it_writes_are_apart() -> None:
    program = Op.Program(kernel(), Op.Source(arg=""), Op.BinaryCode(arg=b""))
    overlapping = Op.Call(program, shrink(A, (1,), (3,)), A)
    refused("U-26", lambda: execute(overlapping, {0: [1, 2, 3, 4]}))
    copied = Op.Call(program, shrink(A, (1,), (3,)), Op.Load(A))
    assert left(copied, 0, b0=[1, 2, 3, 4]) == (1, 3, 5, 7)
    fresh = Op.Call(program, shrink(A, (1,), (3,)), Op.Load(B))
    assert left(fresh, 0, b1=[1, 2, 3, 4]) == (INVALID, 3, 5, 7)


def test_a_buffer_is_bound_by_its_slot() -> None:
    refused("uop-buffer-shape", lambda: evaluate(Op.Load(A), buffers={0: [1, 2]}))
    refused("uop-param-dtype", lambda: evaluate(Op.Load(A), buffers={0: np.zeros(4, np.int8)}))
    namesake = Op.Load(at(buffer(0, 5, int32), ZERO))
    refused("U-21", lambda: evaluate(Op.Stack(Op.Load(at(A, ZERO)), namesake)))
    on_two = buffer(0, 2, int32, device=("A", "B"))
    assert evaluate(Op.Load(on_two), buffers={0: [1, 2, 3, 4]}).elements == (1, 2, 3, 4)


def test_a_param_that_is_written_is_read_in_its_versions() -> None:
    p = param(0, int32, (2,))
    stored = Op.Store(at(p, ZERO), const(9, int32))
    both = Op.Stack(Op.Load(p), Op.Load(Op.After(p, stored)))
    assert evaluate(both, {0: [1, 2]}).elements == (1, 2, 9, 2)


@pytest.mark.parametrize("effect", [Op.Custom(arg="asm"), Op.Ins(arg="s_nop"), Op.If(const(True, bool_))])
def test_what_only_a_machine_understands_has_no_effect_here(effect: UOp) -> None:
    refused(f"uop-{effect.op.name.lower()}-sem", lambda: execute(Op.Sink(effect)))


# Linear -----------------------------------------------------------------------------------------------------------


def listed(root: UOp) -> UOp:
    """The Linear of a program without loops."""
    from soundline.spec.uop import toposort

    return Op.Linear(*(n for n in toposort(root) if n is not root))  # type: ignore[no-any-return]


def accumulating(order: tuple[str, ...]) -> UOp:
    end, total = accumulate(AxisType.REDUCE, 4)
    stored = Op.Store(at(B, ZERO), Op.Load(total))
    body, r = end.src
    cleared = body.src[0].src[0].src[1]
    doubled = body.src[1]
    loaded = doubled.src[0].src[0]
    steps = {
        "clear": cleared,
        "for": r,
        "acc": loaded,
        "sum": doubled,
        "store": body,
        "end": end,
        "load": stored.src[1],
        "out": stored,
    }
    return Op.Linear(*(steps[name] for name in order))  # type: ignore[no-any-return]


RIGHT = ("clear", "for", "acc", "sum", "store", "end", "load", "out")


@pytest.mark.parametrize(
    "order",
    [
        RIGHT,
        ("clear", "for", "store", "end", "out"),
        ("clear", "for", "sum", "acc", "store", "end", "out"),
    ],
)
def test_a_linear_runs_in_order(order: tuple[str, ...]) -> None:
    assert left(accumulating(order), 1, b0=[1, 2, 3, 4])[0] == 26


def test_a_linear_that_reads_too_early_gives_a_wrong_result() -> None:
    early = ("clear", "acc", "for", "sum", "store", "end", "load", "out")
    assert left(accumulating(early), 1, b0=[1, 2, 3, 4])[0] == 4


@pytest.mark.parametrize(
    "order",
    [
        ("for", "clear", "acc", "sum", "store", "end", "load", "out"),
        ("for", "acc", "sum", "store", "end", "clear", "load", "out"),
        ("clear", "out", "for", "store", "end"),
        ("clear", "for", "store", "out"),
        ("clear", "for", "store", "out", "end"),
        ("clear", "store", "end", "out"),
        ("clear", "for", "store", "end", "end", "out"),
        ("clear", "end", "for", "store", "out"),
    ],
)
def test_a_linear_that_no_machine_could_mean_is_refused(order: tuple[str, ...]) -> None:
    with pytest.raises(EvaluationError) as caught:
        execute(accumulating(order), {0: [1, 2, 3, 4]})
    assert caught.value.rule in ("uop-linear-sem", "U-01")


def test_a_listed_value_stays_what_it_was() -> None:
    read = Op.Load(at(A, ZERO))
    write = Op.Store(at(A, ZERO), const(9, int32))
    out = Op.Store(at(B, ZERO), Op.Add(read, const(1, int32)))
    assert left(Op.Linear(read, write, out), 1, b0=[5] * 4)[0] == 6
    assert left(Op.Linear(write, read, out), 1, b0=[5] * 4)[0] == 10
    assert left(Op.Linear(write, out), 1, b0=[5] * 4)[0] == 10


def test_a_branch_runs_where_its_gate_is_true() -> None:
    for gate, wanted in ((True, 9), (False, 5)):
        opened = Op.If(const(gate, bool_))
        write = Op.Store(at(A, ZERO), const(9, int32))
        out = Op.Store(at(B, ZERO), Op.Load(at(Op.After(A, write), ZERO)))
        steps = Op.Linear(opened, write, Op.Endif(opened), out)
        assert left(steps, 1, b0=[5] * 4)[0] == wanted
    refused("uop-linear-sem", lambda: execute(Op.Linear(Op.If(const(True, bool_)))))
    refused("uop-linear-sem", lambda: execute(Op.Linear(Op.Endif(Op.If(const(True, bool_))))))


@pytest.mark.parametrize("kind", AxisType)
def test_a_linear_checks_its_unordered_loops_too(kind: AxisType) -> None:
    i = loop(4, 0, kind)
    total = at(B, ZERO)
    summed = Op.Store(total, Op.Add(Op.Load(total), Op.Load(at(A, i))))
    steps = Op.Linear(i, summed, Op.End(summed, i))
    if kind in ORDERED:
        assert left(steps, 1, b0=[1, 2, 3, 4], b1=[0] * 4)[0] == 10
    else:
        refused("U-26", lambda: execute(steps, {0: [1, 2, 3, 4], 1: [0] * 4}))
    filled = Op.Store(at(B, i), Op.Load(at(A, i)))
    assert left(Op.Linear(i, filled, Op.End(filled, i)), 1, b0=[1, 2, 3, 4]) == (1, 2, 3, 4)


def test_vectors_are_loaded_and_stored_in_a_linear() -> None:
    i = loop(2, 0)
    lanes = Op.Add(broadcast_to(Op.Mul(i, number(2)), (2,)), tensor([0, 1], index))
    read = Op.Load(at(A, lanes))
    doubled = Op.Add(read, read)
    write = Op.Store(at(B, lanes), doubled)
    assert left(Op.Linear(i, lanes, read, doubled, write, Op.End(write, i)), 1, b0=[1, 2, 3, 4]) == (
        2,
        4,
        6,
        8,
    )


def test_a_barrier_or_group_in_a_linear_does_nothing() -> None:
    write = Op.Store(at(A, ZERO), const(1, int32))
    assert (
        left(Op.Linear(write, Op.Barrier(write), Op.Group(write), Op.After(A, write)), 0, b0=[0] * 4)[0] == 1
    )


def test_a_padded_value_and_its_bounds_meet_in_memory() -> None:
    stored = Op.Store(A, pad(tensor([1, 2]), (1,), (4,)))
    assert left(stored, 0) == (0, 1, 2, 0)
    assert left(listed(Op.Sink(stored)), 0) == (0, 1, 2, 0)
    narrow = buffer(6, 2, int8)
    assert left(Op.Store(narrow, Op.Cast(tensor([300, -1]), arg=int8)), 6) == (44, -1)


@pytest.mark.parametrize("first_adds", [False, True])
def test_an_atomic_add_conflicts_with_a_store_of_another_iteration(first_adds: bool) -> None:
    i = loop(2, 0, AxisType.GLOBAL)
    is_first = Op.CmpEq(i, ZERO)
    adds, stores = (is_first, Op.Not(is_first)) if first_adds else (Op.Not(is_first), is_first)
    added = Op.AtomicAdd(at(A, Op.Where(adds, ZERO, number(1))), const(1, int32))
    stored = Op.Store(at(A, ZERO), const(5, int32), stores)
    refused("U-26", lambda: execute(Op.End(Op.Group(added, stored), i), {0: [0] * 4}))


def test_an_element_of_bytes_outside_the_place_is_invalid() -> None:
    partly = at(A, tensor([1, 9, 2], index))
    halves = Op.Bitcast(partly, arg=int16)
    memory = {0: [0, 0x00050004, 0x00070006, 0]}
    kept = at(halves, tensor([0, 1, 4, 5], index))
    assert evaluate(kept, buffers=memory).elements == (4, 5, 6, 7)
    refused("U-01", lambda: evaluate(at(halves, number(2)), buffers=memory))
    refused("U-01", lambda: evaluate(at(halves, number(3)), buffers=memory))


def test_a_place_whose_index_is_loaded_after_an_effect_of_the_loop_moves_with_it() -> None:
    moved = Op.Store(at(B, ZERO), Op.Cast(Op.Sub(number(3), I4), arg=int32))
    chosen = Op.After(at(A, Op.Cast(Op.Load(at(B, ZERO)), arg=index)), moved)
    program = Op.End(Op.Store(at(C, I4), Op.Load(chosen)), I4)
    assert left(program, 2, b0=[1, 2, 3, 4], b1=[0] * 4) == (4, 3, 2, 1)


def test_an_empty_block_in_a_linear_does_nothing() -> None:
    nothing = Op.End(Op.Group(), I4)
    write = Op.Store(at(A, ZERO), const(1, int32))
    assert left(Op.Linear(I4, nothing, write), 0, b0=[0] * 4) == (1, 0, 0, 0)
