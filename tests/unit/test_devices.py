"""Programs device by device: what each device holds, what is sent, and wrong axes that the reading notices (U-35)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from soundline.spec import derived_props
from soundline.spec.arrays.arrays import Array
from soundline.spec.devices.evaluation import evaluate_on_devices, execute_on_devices, needs_others
from soundline.spec.devices.transfers import Held, Transfer, agreement, concatenated, delivered, part
from soundline.spec.dtypes import bool_, float32, index, int8, int16, int32, int64
from soundline.spec.errors import EvaluationError, IllFormed
from soundline.spec.evaluate import evaluate, execute
from soundline.spec.ops.table import Op
from soundline.spec.uop import (
    LoadArg,
    ReduceArg,
    SliceArg,
    UOp,
    buffer,
    const,
    expand,
    laws,
    loop,
    pad,
    param,
    reshape,
    shape_source,
    shrink,
)

TWO = ("a", "b")
THREE = ("a", "b", "c")
ROWS = [[1, 2], [3, 4]]
N = param(9, index)


def number(value: int) -> UOp:
    return const(value, index)


def rows(axis: int | None = 0, slot: int = 0, device: Any = TWO) -> UOp:
    """A value of shape (2, 2), bound to ROWS."""
    return param(slot, int32, (2, 2), device=device, axis=axis)


def six(slot: int = 0) -> UOp:
    return param(slot, int32, (6,), device=TWO, axis=0)


def elements(u: UOp, *bound: Any, **more: Any) -> list[tuple[Any, ...]]:
    """What each device holds, after the theorem has been checked on it."""
    held = evaluate_on_devices(u, dict(enumerate(bound)), **more)
    value = evaluate(u, dict(enumerate(bound)), **more)
    assert held.joined() == value
    assert (held.device, held.axis) == (u.device, u.axis)
    if u.axis is None:
        assert all(s == value for s in held.shards)
    return [s.elements for s in held.shards]


def sent(u: UOp, *bound: Any, **more: Any) -> list[tuple[str, str, int]]:
    found = evaluate_on_devices(u, dict(enumerate(bound)), **more).transfers
    return [(t.source, t.target, t.bytes) for t in found]


# What each device holds -------------------------------------------------------------------------------------------

LOCAL: dict[str, tuple[Callable[[], UOp], list[tuple[Any, ...]]]] = {
    "Param by rows": (rows, [(1, 2), (3, 4)]),
    "Param by columns": (lambda: rows(1), [(1, 3), (2, 4)]),
    "Param, replicated": (lambda: rows(None), [(1, 2, 3, 4)] * 2),
    "Const": (lambda: Op.Add(rows(), _all(10)), [(11, 12), (13, 14)]),
    "a replica beside a part": (lambda: Op.Add(rows(), rows(None, 1)), [(2, 4), (6, 8)]),
    "Where": (lambda: Op.Where(Op.CmpLt(rows(), _all(3)), rows(), _all(0)), [(1, 2), (0, 0)]),
    "Permute": (lambda: Op.Permute(rows(), arg=(1, 0)), [(1, 2), (3, 4)]),
    "Flip": (lambda: Op.Flip(rows(), arg=(False, True)), [(2, 1), (4, 3)]),
    "Reshape": (lambda: reshape(rows(), (4,)), [(1, 2), (3, 4)]),
    "Expand": (lambda: expand(reshape(rows(1), (2, 2, 1)), (2, 2, 2)), [(1, 1, 3, 3), (2, 2, 4, 4)]),
    "Pad": (lambda: pad(rows(), (0, 1), (2, 3)), [(0, 1, 2), (0, 3, 4)]),
    "Shrink": (lambda: shrink(rows(), (0, 1), (2, 1)), [(2,), (4,)]),
    "Index": (lambda: Op.Index(rows(1), number(1)), [(3,), (4,)]),
    "Index by parts": (
        lambda: Op.Index(rows(None), param(1, index, (2,), device=TWO, axis=0)),
        [(3, 4), (1, 2)],
    ),
    "Stack": (lambda: Op.Stack(rows(), rows(None, 1)), [(1, 2, 1, 2), (3, 4, 3, 4)]),
    "Replicated": (lambda: Op.Replicated(_same_rows(), arg=(0,)), [(1, 2), (1, 2)]),
    "Replicated beside the parts": (lambda: Op.Replicated(_doubled(), arg=(2,)), [(1, 2), (3, 4)]),
    "Slice": (
        lambda: Op.Slice(reshape(rows(), (4,)), number(0), arg=SliceArg(2, int64)),
        [(1 + (2 << 32),), (3 + (4 << 32),)],
    ),
    "Bitcast": (lambda: Op.Bitcast(rows(), arg=int16), [(1, 0, 2, 0), (3, 0, 4, 0)]),
    "Reduce beside the parts": (lambda: Op.Reduce(rows(), arg=ReduceArg(Op.Add, (1,))), [(3,), (7,)]),
    "Reduce over a range": (
        lambda: Op.Reduce(Op.Index(rows(1), loop(2, 0)), loop(2, 0), arg=ReduceArg(Op.Mul)),
        [(3,), (8,)],
    ),
    "Contiguous": (lambda: Op.Contiguous(rows()), [(1, 2), (3, 4)]),
    "Load here": (lambda: Op.Load(rows()), [(1, 2), (3, 4)]),
    "gated Load": (lambda: Op.Load(rows(), _all(9), const(False, bool_)), [(9, 9), (9, 9)]),
    "Function": (
        lambda: Op.GetTuple(Op.Function(Op.Tuple(Op.Neg(rows(slot=0))), rows()), arg=0),
        [(-1, -2), (-3, -4)],
    ),
}


def _all(value: int) -> UOp:
    return expand(reshape(const(value, int32), (1, 1)), (2, 2))


def _same_rows() -> UOp:
    """[[1, 2], [1, 2]], divided by rows."""
    return Op.Where(Op.CmpLt(rows(), _all(3)), rows(), Op.Sub(rows(), _all(2)))


def _doubled() -> UOp:
    return expand(reshape(rows(), (2, 2, 1)), (2, 2, 2))


@pytest.mark.parametrize("name", LOCAL)
def test_a_device_computes_from_what_it_holds(name: str) -> None:
    build, expected = LOCAL[name]
    second = [1, 0] if "Index by parts" in name else ROWS
    assert elements(build(), ROWS, second) == expected
    assert sent(build(), ROWS, second) == []


def test_a_value_on_one_device_or_none_is_one_array() -> None:
    x = param(0, int32, (2,), device="a")
    assert elements(Op.Add(x, x), [1, 2]) == [(2, 4)]
    nowhere = evaluate_on_devices(const(3, int32))
    assert (nowhere.device, nowhere.names, nowhere.shards[0].elements) == (None, (None,), (3,))


def test_symbolic_sizes_are_divided_once_they_are_known() -> None:
    x = param(0, int32, (N,), device=TWO, axis=0)
    held = evaluate_on_devices(Op.Neg(x), {0: [1, 2, 3, 4], 9: 4})
    assert [s.elements for s in held.shards] == [(-1, -2), (-3, -4)]
    with pytest.raises(IllFormed) as refused:
        evaluate_on_devices(Op.Neg(x), {0: [1, 2, 3], 9: 3})
    assert refused.value.rule == "uop-param-c4"


def test_an_empty_value_has_empty_parts() -> None:
    x = param(0, int32, (0, 3), device=THREE, axis=0)
    assert elements(reshape(x, (0,)), np.zeros((0, 3), np.int32)) == [()] * 3


# What is sent -----------------------------------------------------------------------------------------------------


def to(u: UOp, device: Any) -> UOp:
    return Op.Load(u, arg=LoadArg(device))


SENT: dict[str, tuple[Callable[[], UOp], list[tuple[str, str, int]]]] = {
    "parts to one of theirs": (lambda: to(rows(), "a"), [("b", "a", 8)]),
    "parts to another": (lambda: to(rows(), "z"), [("a", "z", 8), ("b", "z", 8)]),
    "a replica to one of its own": (lambda: to(rows(None), "b"), []),
    "a replica to another": (lambda: to(rows(None), "z"), [("a", "z", 16)]),
    "a replica divided where it is": (lambda: to(rows(None), TWO), []),
    "one device to two": (lambda: to(rows(None, device="a"), TWO), [("a", "b", 8)]),
    "one device to others": (lambda: to(rows(None, device="a"), ("x", "y")), [("a", "x", 8), ("a", "y", 8)]),
    "one device to itself": (lambda: to(rows(None, device="a"), "a"), []),
    "a constant": (lambda: to(_all(1), TWO), []),
    "parts where they are": (lambda: to(rows(), TWO), []),
    "columns to rows": (lambda: to(rows(1), TWO), [("b", "a", 4), ("a", "b", 4)]),
    "parts the other way round": (lambda: to(rows(), ("b", "a")), [("a", "b", 8), ("b", "a", 8)]),
    "a Reduce over the parts": (lambda: _sum(rows()), [("b", "a", 8), ("a", "b", 8)]),
    "a tuple of one": (lambda: _sum(rows(device=("a",))), []),
    "a device twice": (lambda: to(rows(device=("a", "a")), ("a", "a")), []),
    "an index": (lambda: to(param(0, index, (2, 2), device="a"), "b"), [("a", "b", 0)]),
}


def _sum(x: UOp) -> UOp:
    return Op.Reduce(x, arg=ReduceArg(Op.Add, (0,)))


@pytest.mark.parametrize("name", SENT)
def test_a_load_to_a_device_and_a_reduce_of_parts_send(name: str) -> None:
    build, expected = SENT[name]
    elements(build(), ROWS)
    assert sent(build(), ROWS) == expected
    assert needs_others(build()) or name == "a tuple of one"


def test_a_transfer_says_for_which_op_and_what() -> None:
    held = evaluate_on_devices(_sum(rows()), {0: ROWS})
    assert held.transfers[0] == Transfer(Op.Reduce, "b", "a", 2, int32)
    assert [s.elements for s in held.shards] == [(4, 6), (4, 6)]


def test_what_is_used_twice_is_sent_once() -> None:
    moved = to(rows(), "a")
    assert sent(Op.Add(moved, moved), ROWS) == [("b", "a", 8)]


def test_a_sum_of_parts_keeps_its_order() -> None:
    x = [2.0**24, 1.0, 1.0, -(2.0**24)]
    total = Op.Reduce(param(0, float32, (4,), device=TWO, axis=0), arg=ReduceArg(Op.Add, (0,)))
    assert elements(total, x) == [(0.0,), (0.0,)]
    one = np.float32
    assert (one(x[0]) + one(x[1])) + (one(x[2]) + one(x[3])) == 1.0, "partial sums would give another value"


def test_a_gated_load_to_a_device_selects_where_the_value_is() -> None:
    mask = Op.CmpLt(rows(), _all(3))
    moved = Op.Load(rows(), _all(9), mask, arg=LoadArg("a"))
    assert elements(moved, ROWS) == [(1, 2, 9, 9)]
    assert sent(moved, ROWS) == [("b", "a", 8)]


def test_replicas_that_differ_are_invalid_on_every_device() -> None:
    kept = Op.Replicated(rows(), arg=(0,))
    assert elements(kept, [[1, 2], [1, 2]]) == [(1, 2), (1, 2)]
    for node in (kept, to(kept, "a")):
        for run in (evaluate, evaluate_on_devices):
            with pytest.raises(EvaluationError) as refused:
                run(node, {0: ROWS})
            assert refused.value.rule == "U-01"
    chosen = Op.Where(const(False, bool_), Op.Index(reshape(kept, (2,)), number(0)), const(7, int32))
    assert elements(chosen, ROWS) == [(7,), (7,)]


# Memory -----------------------------------------------------------------------------------------------------------


def test_a_store_writes_the_storage_of_each_device() -> None:
    b, c = buffer(0, 2, int32, device=TWO), buffer(1, 2, int32, device="z")
    program = Op.Sink(
        Op.Store(b, Op.Neg(Op.Load(b))),
        Op.Store(c, expand(reshape(const(5, int32), (1,)), (2,))),
    )
    start = {0: [1, 2, 3, 4], 1: [0, 0]}
    found = execute_on_devices(program, start)
    assert [s.elements for s in found[0].shards] == [(-1, -2), (-3, -4)]
    assert {slot: held.joined() for slot, held in found.items()} == execute(program, start)
    assert all(held.transfers == () for held in found.values())


def test_a_buffer_that_was_never_written_is_invalid_on_each_device() -> None:
    b = buffer(0, 1, int32, device=TWO)
    found = execute_on_devices(Op.Sink(Op.Store(shrink(b, (0,), (2,)), const_row(1, 2))))
    assert found[0].joined().elements == (1, 1)
    assert execute_on_devices(Op.Sink(Op.Group(b)))[0].joined() == execute(Op.Sink(Op.Group(b)))[0]


def const_row(value: int, size: int) -> UOp:
    return expand(reshape(const(value, int32), (1,)), (size,))


def test_what_crossed_devices_still_comes_after_its_effects() -> None:
    """The second store comes after the first through a value that was on another device for a while."""
    b = buffer(0, 1, int32, device=TWO)
    first = Op.Store(b, const_row(5, 2))
    over = to(to(Op.Load(Op.After(b, first)), "z"), TWO)
    second = Op.Store(b, Op.Add(over, const_row(1, 2)))
    assert elements(Op.Load(Op.After(b, second)), buffers={0: [0, 0]}) == [(6,), (6,)]
    square = reshape(buffer(2, 2, int32, device=TWO), (2, 2))
    all_ones = Op.Store(square, _all(1))
    received = to(to(Op.Load(Op.After(square, all_ones)), "z"), TWO)
    left = shrink(square, (0, 0), (2, 1))
    partly = Op.Store(left, Op.Add(shrink(received, (0, 0), (2, 1)), reshape(const_row(1, 2), (2, 1))))
    assert elements(Op.Load(Op.After(square, partly)), buffers={2: [0] * 4}) == [(2, 1), (2, 1)]
    elsewhere = buffer(1, 1, int32, device="z")
    kept = Op.Store(elsewhere, shrink(to(Op.Load(Op.After(b, first)), "z"), (0,), (1,)))
    assert elements(Op.Load(Op.After(b, kept)), buffers={0: [0, 0], 1: [3]}) == [(5,), (5,)]


def test_two_stores_that_only_a_value_would_order_are_refused_alike() -> None:
    b = buffer(0, 1, int32, device=TWO)
    both = Op.Sink(Op.Store(b, const_row(1, 2)), Op.Store(b, const_row(2, 2)))
    for run in (execute, execute_on_devices):
        with pytest.raises(EvaluationError) as refused:
            run(both, {0: [0, 0]})
        assert refused.value.rule == "U-26"


def test_loops_run_on_each_device() -> None:
    b = buffer(0, 3, int32, device=TWO)
    r = loop(3, 0)
    square = reshape(b, (2, 3))
    column = Op.Index(Op.Permute(square, arg=(1, 0)), r)
    filled = Op.End(
        Op.Store(column, Op.Add(Op.Load(column), expand(reshape(Op.Cast(r, arg=int32), (1,)), (2,)))), r
    )
    found = execute_on_devices(Op.Sink(filled), {0: [10, 20, 30, 40, 50, 60]})
    assert [s.elements for s in found[0].shards] == [(10, 21, 32), (40, 51, 62)]


def test_one_loop_may_write_on_several_devices() -> None:
    """Each device runs the loop over what is its own."""
    b, c = buffer(0, 2, int32, device=TWO), buffer(1, 2, int32, device="z")
    r = loop(2, 0)
    column = Op.Index(Op.Permute(reshape(b, (2, 2)), arg=(1, 0)), r)
    both = Op.Group(Op.Store(column, const_row(3, 2)), Op.Store(Op.Index(c, r), Op.Cast(r, arg=int32)))
    program, start = Op.Sink(Op.End(both, r)), {0: [0] * 4, 1: [9, 9]}
    found = execute_on_devices(program, start)
    assert [s.elements for s in found[0].shards] == [(3, 3), (3, 3)]
    assert [s.elements for s in found[1].shards] == [(0, 1)]
    assert {slot: held.joined() for slot, held in found.items()} == execute(program, start)


# Refusals ---------------------------------------------------------------------------------------------------------


def _moves_in_a_loop() -> UOp:
    r = loop(2, 0)
    return Op.Reduce(to(Op.Index(rows(1), r), "a"), r, arg=ReduceArg(Op.Add))


def _bound_elsewhere() -> UOp:
    r = loop(Op.Cast(Op.Index(param(1, int32, (1,), device="z"), number(0)), arg=index), 0)
    return Op.Reduce(Op.Index(rows(1), r), r, arg=ReduceArg(Op.Add))


def _opaque() -> UOp:
    return Op.GetTuple(Op.Call(Op.CustomFunction(rows(), arg="f"), rows()), arg=0)


REFUSED: dict[str, tuple[Callable[[], UOp], str]] = {
    "data that moves inside a loop": (_moves_in_a_loop, "U-35"),
    "a loop that another device bounds": (_bound_elsewhere, "U-29"),
    "parts on no device": (lambda: param(0, int32, (2, 2), axis=0), "uop-param-c4"),
    "parts that go into the unknown": (_opaque, "U-35"),
    "an effect": (Op.Sink, "uop-sink-sem"),
    "an invalid element": (lambda: Op.Index(rows(None), number(5)), "U-01"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_has_no_reading_by_devices_is_refused(name: str) -> None:
    build, rule = REFUSED[name]
    node = build()
    with pytest.raises(EvaluationError) as refused:
        evaluate_on_devices(node, {0: ROWS, 1: [2]})
    assert refused.value.rule == rule


def test_a_custom_function_takes_replicas() -> None:
    node = Op.GetTuple(Op.Call(Op.CustomFunction(rows(None), arg="f"), rows(None)), arg=0)
    held = evaluate_on_devices(node, {0: ROWS}, functions={"f": lambda x: x})
    assert [s.elements for s in held.shards] == [(1, 2, 3, 4)] * 2


def test_bindings_are_whole_values_of_the_right_shape() -> None:
    with pytest.raises(EvaluationError) as refused:
        evaluate_on_devices(rows(), {0: [[1, 2]]})
    assert refused.value.rule == "uop-param-shape"
    with pytest.raises(EvaluationError) as refused:
        evaluate_on_devices(Op.Load(buffer(0, 2, int32, device=TWO)), buffers={0: [1, 2]})
    assert refused.value.rule == "uop-buffer-shape"


# Parts ------------------------------------------------------------------------------------------------------------


def test_parts_and_joining_undo_each_other() -> None:
    whole = Array(int8, (2, 4), tuple(range(8)))
    for axis, count in ((0, 1), (0, 2), (1, 2), (1, 4)):
        shards = [part(whole, axis, count, at) for at in range(count)]
        assert concatenated(shards, axis) == whole
        assert Held(("d",) * count, axis, tuple(shards)).joined() == whole
    assert part(whole, 1, 4, 2).elements == (2, 6)


def test_replicas_agree_element_by_element() -> None:
    a, b = Array(float32, (2,), (0.0, float("nan"))), Array(float32, (2,), (-0.0, float("nan")))
    assert agreement([a, a]) == a
    assert str(agreement([a, b]).elements[0]) == "Invalid.BOTTOM"
    assert agreement([a, b]).elements[1] != 0.0
    assert Held(TWO, None, (a, b)).joined() == agreement([a, b])
    assert not Held(TWO, None, (a, b)).joined().valid


def test_what_is_delivered_is_what_was_held() -> None:
    held = Held(TWO, 0, (Array(int32, (1,), (1,)), Array(int32, (1,), (2,))))
    arrays, transfers = delivered(Op.Load, held, "b", None)
    assert arrays == [Array(int32, (2,), (1, 2))]
    assert transfers == [Transfer(Op.Load, "a", "b", 1, int32)]


# Wrong axes -------------------------------------------------------------------------------------------------------

Law = Callable[[tuple[UOp, ...], Any], int | None]


def first(src: tuple[UOp, ...], arg: Any) -> int | None:
    return src[0].axis


def null(src: tuple[UOp, ...], arg: Any) -> int | None:
    return None


def always(axis: int) -> Law:
    return lambda src, arg: axis


def cube(slot: int) -> UOp:
    return param(slot, int32, (2, 2, 4), device=TWO, axis=1)


CUBE = np.arange(16, dtype=np.int32).reshape(2, 2, 4)
MUTANTS: dict[str, tuple[Op, Law, Callable[[int], UOp]]] = {
    "Permute keeps the axis": (Op.Permute, first, lambda s: Op.Permute(cube(s), arg=(1, 0, 2))),
    "Permute reads it backwards": (
        Op.Permute,
        lambda src, arg: None if src[0].axis is None else arg[src[0].axis],
        lambda s: Op.Permute(cube(s), arg=(1, 2, 0)),
    ),
    "Permute forgets it": (Op.Permute, null, lambda s: Op.Permute(cube(s), arg=(1, 0, 2))),
    "Flip forgets it": (Op.Flip, null, lambda s: Op.Flip(cube(s), arg=(True, False, False))),
    "Reshape keeps it": (Op.Reshape, first, lambda s: reshape(cube(s), (2, 1, 2, 4))),
    "Reshape takes the first": (Op.Reshape, always(0), lambda s: reshape(cube(s), (2, 8))),
    "Reshape takes the last": (Op.Reshape, always(2), lambda s: reshape(cube(s), (2, 4, 2))),
    "Expand forgets it": (Op.Expand, null, lambda s: expand(cube(s), (2, 2, 4))),
    "Pad forgets it": (Op.Pad, null, lambda s: pad(cube(s), (0, 0, 0), (3, 2, 4))),
    "Shrink forgets it": (Op.Shrink, null, lambda s: shrink(cube(s), (0, 0, 0), (1, 2, 4))),
    "Index keeps it": (Op.Index, first, lambda s: Op.Index(cube(s), number(0))),
    "Index drops what an index keeps": (
        Op.Index,
        lambda src, arg: None if src[0].axis is None else src[0].axis - 1,
        lambda s: Op.Index(cube(s), shape_source((0, 1))),
    ),
    "Index forgets a divided index": (
        Op.Index,
        null,
        lambda s: Op.Index(rows(None, s), param(s + 1, index, (2,), device=TWO, axis=0)),
    ),
    "Stack keeps it": (Op.Stack, first, lambda s: Op.Stack(cube(s), cube(s))),
    "Stack forgets it": (Op.Stack, null, lambda s: Op.Stack(cube(s), cube(s))),
    "Replicated keeps it": (Op.Replicated, first, lambda s: Op.Replicated(cube(s), arg=(1,))),
    "Replicated forgets another": (Op.Replicated, null, lambda s: Op.Replicated(cube(s), arg=(0,))),
    "Reduce keeps it": (Op.Reduce, first, lambda s: Op.Reduce(cube(s), arg=ReduceArg(Op.Add, (1,)))),
    "Reduce forgets another": (Op.Reduce, null, lambda s: Op.Reduce(cube(s), arg=ReduceArg(Op.Add, (0,)))),
    "Bitcast forgets it": (Op.Bitcast, null, lambda s: Op.Bitcast(cube(s), arg=int8)),
    "an ALU op forgets it": (Op.Add, null, lambda s: Op.Add(cube(s), cube(s))),
    "an ALU op takes the first": (
        Op.Mul,
        first,
        lambda s: Op.Mul(param(s + 1, int32, (2, 2, 4), device=TWO), cube(s)),
    ),
    "a marker forgets it": (Op.Detach, null, lambda s: Op.Detach(cube(s))),
    "Load keeps it": (Op.Load, first, lambda s: to(cube(s), TWO)),
    "Load forgets it": (Op.Load, null, lambda s: Op.Load(cube(s))),
}
"""A wrong law of the axis, and a program on which it is wrong."""


def bound_to(node: UOp, slot: int) -> dict[int, Any]:
    if node.op is Op.Index and node.src[0].shape == (2, 2):
        return {slot: ROWS, slot + 1: [1, 0]}
    if node.op is Op.Replicated:
        return {slot: np.full_like(CUBE, 7)}
    return {slot: CUBE, slot + 1: CUBE}


def _is_told_truly(node: UOp, bound: dict[int, Any]) -> bool:
    """Whether the theorem holds of a program."""
    value = evaluate(node, bound)
    try:
        held = evaluate_on_devices(node, bound)
        joined = held.joined()
    except (EvaluationError, IllFormed, ValueError, IndexError):
        return False
    count = len(held.shards)
    sizes = value.shape if held.axis is None else _divided(value.shape, held.axis, count)
    copies = held.axis is not None or all(s == value for s in held.shards)
    return joined == value and copies and all(s.shape == sizes for s in held.shards)


def _divided(shape: tuple[int, ...], axis: int, count: int) -> tuple[int, ...]:
    return (*shape[:axis], shape[axis] // count, *shape[axis + 1 :])


@pytest.mark.parametrize("name", MUTANTS)
def test_a_wrong_axis_is_noticed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    op, law, build = MUTANTS[name]
    slot = 100 + 10 * list(MUTANTS).index(name)
    right = build(slot)
    assert _is_told_truly(right, bound_to(right, slot))
    monkeypatch.setattr(UOp, "laws", staticmethod(laws))  # which remember nothing
    monkeypatch.setitem(derived_props.AXIS, op, law)
    wrong = build(slot + 2)
    assert wrong.axis != right.axis
    assert not _is_told_truly(wrong, bound_to(wrong, slot + 2))
