"""Corners of frames, versions and Linears: stale values, empty blocks, places that depend on what they read."""

from __future__ import annotations

import pytest

from soundline.spec.arrays.arrays import INVALID, Array
from soundline.spec.dtypes import bool_, float32, index, int8, int32
from soundline.spec.errors import EvaluationError, IllFormed
from soundline.spec.evaluate import evaluate, execute, run_kernel
from soundline.spec.ops import bodies
from soundline.spec.ops.bodies import bind, free_ranges
from soundline.spec.ops.table import Op
from soundline.spec.uop import (
    AxisType,
    ReduceArg,
    UOp,
    buffer,
    const,
    expand,
    loop,
    param,
    reshape,
    shrink,
    tensor,
)

ZERO, ONE, TWO = (const(k, index) for k in range(3))
A, B, C = (buffer(k, 4, int32) for k in range(3))


def at(place: UOp, *where: UOp) -> UOp:
    return Op.Index(place, *where)  # type: ignore[no-any-return]


def number(value: int) -> UOp:
    return const(value, int32)


def load(place: UOp) -> UOp:
    return Op.Load(place)  # type: ignore[no-any-return]


# Linear -----------------------------------------------------------------------------------------------------------


def test_what_is_not_listed_is_read_anew_after_a_store() -> None:
    """One node, used before and after a store: a machine would load twice."""
    first = load(at(A, ZERO))
    program = Op.Linear(
        Op.Store(at(C, ZERO), first),
        Op.Store(at(A, ZERO), number(7)),
        Op.Store(at(C, ONE), first),
    )
    final = execute(program, {0: [1, 2, 3, 4]})
    assert final[2].elements[:2] == (1, 7)


def test_what_is_listed_stays_what_it_was() -> None:
    first = load(at(A, ZERO))
    program = Op.Linear(
        first,
        Op.Store(at(A, ZERO), number(7)),
        Op.Store(at(C, ONE), first),
    )
    assert execute(program, {0: [1, 2, 3, 4]})[2].elements[1] == 1


def test_a_whole_param_is_read_anew_after_a_store() -> None:
    p, q = param(0, int32, (2,)), param(1, int32, (2,))
    kernel = Op.Linear(Op.Store(at(p, ZERO), number(9)), Op.Store(q, load(p)))
    assert run_kernel(kernel, [[1, 2], [0, 0]])[1].elements == (9, 2)


@pytest.mark.parametrize("gate", [True, False])
def test_an_empty_branch(gate: bool) -> None:
    opened = Op.If(const(gate, bool_))
    program = Op.Linear(opened, Op.Endif(opened), Op.Store(at(A, ZERO), number(3)))
    assert execute(program, {0: [1, 2, 3, 4]})[0].elements == (3, 2, 3, 4)


@pytest.mark.parametrize("gate", [True, False])
def test_a_branch_with_all_that_may_stand_in_it(gate: bool) -> None:
    """A constant, a Barrier and a name of a place, which close nothing."""
    opened = Op.If(const(gate, bool_))
    stored = Op.Store(at(A, ZERO), number(3))
    block = (number(3), A, ZERO, at(A, ZERO), Op.Barrier(), stored, Op.Group(stored))
    program = Op.Linear(opened, *block, Op.Endif(opened), Op.Store(at(B, ZERO), load(at(A, ZERO))))
    final = execute(program, {0: [1, 2, 3, 4]})
    assert final[1].elements[0] == (3 if gate else 1)


def test_a_store_of_a_branch_that_was_not_taken_counts_as_done() -> None:
    opened = Op.If(const(False, bool_))
    stored = Op.Store(at(A, ZERO), number(3))
    after = load(at(Op.After(A, stored), ZERO))
    program = Op.Linear(opened, stored, Op.Endif(opened), Op.Store(at(B, ZERO), after))
    assert execute(program, {0: [1, 2, 3, 4]})[1].elements[0] == 1


def test_branches_nest() -> None:
    outer, inner = Op.If(const(True, bool_)), Op.If(const(False, bool_))
    program = Op.Linear(
        outer,
        inner,
        Op.Store(at(A, ZERO), number(5)),
        Op.Endif(inner),
        Op.Store(at(A, ONE), number(6)),
        Op.Endif(outer),
    )
    assert execute(program, {0: [1, 2, 3, 4]})[0].elements == (1, 6, 3, 4)


def test_a_local_buffer_is_not_taken_for_the_argument_with_its_slot() -> None:
    p, scratch = param(0, int32, (2,)), buffer(0, 2, int32)
    filled = Op.Store(scratch, tensor([8, 9]))
    kernel = Op.Linear(filled, Op.Store(at(p, ZERO), load(at(scratch, ONE))))
    assert run_kernel(kernel, [[1, 2]])[0].elements == (9, 2)
    untouched = Op.Linear(Op.Store(scratch, Op.Add(load(p), load(p))))
    assert run_kernel(untouched, [[1, 2]])[0] == Array.of([1, 2], int32)


def test_a_function_that_nobody_gives_is_a_typed_error() -> None:
    prototype = Op.CustomFunction(param(0, int32), arg="twice")
    called = Op.GetTuple(Op.Call(prototype, number(1)), arg=0)
    with pytest.raises(EvaluationError) as refused:
        evaluate(called)
    assert refused.value.rule == "uop-customfunction-sem"
    with pytest.raises(EvaluationError) as refused:
        execute(Op.Store(at(A, ZERO), called))
    assert refused.value.rule == "uop-customfunction-sem"
    with pytest.raises(EvaluationError) as refused:
        run_kernel(Op.Linear(Op.Store(at(param(0, int32, (1,)), ZERO), called)), [[0]])
    assert refused.value.rule == "uop-customfunction-sem"


@pytest.mark.parametrize("node", [param(0, int8), load(at(A, ZERO))])
def test_nothing_is_bound_by_default(node: UOp) -> None:
    with pytest.raises(EvaluationError):
        evaluate(node)


def test_what_memory_holds_is_told_of_buffers_and_not_of_written_params() -> None:
    """A Param and a Buffer may have one slot; the value of the Param is for the kernel alone."""
    p = param(0, int32, (4,))
    program = Op.Linear(Op.Store(at(p, ZERO), number(9)), Op.Store(at(A, ONE), number(8)))
    assert execute(program, {0: [1, 2, 3, 4]}, {0: [5, 6, 7, 8]})[0].elements == (1, 8, 3, 4)
    only = Op.Linear(Op.Store(at(p, ZERO), number(9)))
    assert execute(only, params={0: [5, 6, 7, 8]}) == {}


def test_a_loop_whose_index_is_not_given_has_no_value() -> None:
    with pytest.raises(EvaluationError):
        evaluate(loop(4, 0))
    assert evaluate(loop(4, 0), ranges={0: 3}).item() == 3


def test_a_call_writes_a_param() -> None:
    out = param(0, int32, (1,))
    kernel = Op.Linear(Op.Store(out, Op.Add(load(out), tensor([1]))))
    program = Op.Program(kernel, Op.Source(arg=""), Op.BinaryCode(arg=b""))
    mine = param(5, int32, (3,))
    called = Op.Call(program, shrink(mine, (1,), (1,)))
    assert evaluate(load(Op.After(mine, called)), {5: [1, 2, 3]}).elements == (1, 3, 3)


def test_calls_that_change_different_elements_may_stand_side_by_side() -> None:
    """What a kernel leaves as it was, it did not write."""
    out = param(0, int32, (4,))

    def sets(position: int) -> UOp:
        kernel = Op.Linear(Op.Store(at(out, const(position, index)), number(9)))
        return Op.Call(Op.Program(kernel, Op.Source(arg=""), Op.BinaryCode(arg=b"")), A)  # type: ignore[no-any-return]

    assert execute(Op.Sink(sets(0), sets(2)), {0: [1, 2, 3, 4]})[0].elements == (9, 2, 9, 4)


def test_an_argument_in_other_memory_is_apart() -> None:
    out, given = param(0, int32, (1,)), param(1, int32, (1,))
    kernel = Op.Linear(Op.Store(out, load(given)))
    program = Op.Program(kernel, Op.Source(arg=""), Op.BinaryCode(arg=b""))
    for other, expected in ((shrink(B, (2,), (1,)), 7), (shrink(A, (3,), (1,)), 4)):
        called = Op.Call(program, shrink(A, (0,), (1,)), other)
        assert execute(called, {0: [1, 2, 3, 4], 1: [5, 6, 7, 8]})[0].elements == (expected, 2, 3, 4)
    with pytest.raises(EvaluationError) as refused:
        execute(Op.Call(program, shrink(A, (0,), (1,)), A), {0: [1, 2, 3, 4]})
    assert refused.value.rule in ("U-26", "uop-param-shape")


# places and frames ------------------------------------------------------------------------------------------------


def test_an_invalid_place_in_the_middle_is_invalid_there_alone() -> None:
    read = load(at(A, tensor([0, 9, 1], index)))
    mask = tensor([True, False, True], bool_)
    chosen = Op.Where(mask, read, expand(reshape(number(-1), (1,)), (3,)))
    assert evaluate(chosen, buffers={0: [5, 6, 7, 8]}).elements == (5, -1, 6)


def test_an_unwanted_place_in_the_middle_is_left_alone() -> None:
    gated = Op.Load(at(A, tensor([0, 9, 1], index)), tensor([0, -1, 0]), tensor([True, False, True], bool_))
    assert evaluate(gated, buffers={0: [5, 6, 7, 8]}).elements == (5, -1, 6)


def test_a_place_whose_index_is_read_in_a_version_that_a_loop_makes() -> None:
    """Each iteration stores an index in B, and then reads A there."""
    i = loop(3, 0, AxisType.REDUCE)
    stored = Op.Store(at(B, ZERO), Op.Cast(i, arg=int32))
    where = Op.Cast(load(at(B, ZERO)), arg=index)
    read = load(Op.After(at(A, where), stored))
    total = Op.Reduce(read, i, arg=ReduceArg(Op.Add))
    buffers = {0: [10, 20, 40, 80], 1: [3, 0, 0, 0]}
    assert evaluate(total, buffers=buffers).item() == 70
    separate = load(at(Op.After(A, stored), Op.Cast(load(at(Op.After(B, stored), ZERO)), arg=index)))
    assert evaluate(Op.Reduce(separate, i, arg=ReduceArg(Op.Add)), buffers=buffers).item() == 70


def test_an_invalid_bound_is_a_typed_error() -> None:
    unknown = Op.Cast(Op.Load(at(A, ZERO)), arg=index)
    with pytest.raises(EvaluationError) as refused:
        evaluate(Op.Reduce(number(1), loop(unknown, 0, AxisType.REDUCE), arg=ReduceArg(Op.Add)))
    assert refused.value.rule == "U-01"


def test_free_loops_may_depend_on_each_other_in_any_order() -> None:
    """Which of two loops a set yields first must not matter: the bound of one is the other's index."""
    for trial in range(24):
        outer = loop(4, 2 * trial)
        inner = loop(Op.Add(outer, ONE), 2 * trial + 1)
        given = {2 * trial: 2, 2 * trial + 1: 1}
        assert evaluate(Op.Add(Op.Mul(outer, const(10, index)), inner), ranges=given).item() == 21
        with pytest.raises(EvaluationError) as refused:
            evaluate(inner, ranges={2 * trial: 2, 2 * trial + 1: 3})
        assert refused.value.rule == "uop-range-min-max"


def test_a_special_inside_a_range() -> None:
    r = loop(4, 0)
    gidx = Op.Special(Op.Add(r, ONE), arg="gidx0")
    assert evaluate(gidx, ranges={0: 3, "gidx0": 3}).item() == 3
    for wrong in (-1, 4):
        with pytest.raises(EvaluationError):
            evaluate(gidx, ranges={0: 3, "gidx0": wrong})


def test_an_invalid_element_does_not_hide_one_out_of_bounds() -> None:
    p = param(0, int8, (3,), bounds=(0, 5))
    with pytest.raises(EvaluationError) as refused:
        evaluate(Op.Where(tensor([True] * 3, bool_), p, p), {0: Array(int8, (3,), (INVALID, 9, 1))})
    assert refused.value.rule == "uop-param-min-max"


# bodies -----------------------------------------------------------------------------------------------------------


def test_the_loops_that_a_node_depends_on() -> None:
    r, s = loop(4, 0), loop(3, 1)
    assert bodies.free_ranges(r) == {r}
    assert bodies.free_ranges(Op.Reduce(r, s, arg=ReduceArg(Op.Add))) == {r}
    assert bodies.free_ranges(Op.Reduce(Op.Add(r, s), s, arg=ReduceArg(Op.Add))) == {r}
    assert bodies.free_ranges(Op.Reduce(Op.Add(r, s), r, s, arg=ReduceArg(Op.Add))) == frozenset()
    assert bodies.free_ranges(loop(r, 2)) == {r, loop(r, 2)}
    stored = Op.Store(at(A, r), number(1))
    assert bodies.free_ranges(stored) == {r}
    assert bodies.free_ranges(Op.End(stored, r)) == frozenset()


@pytest.mark.parametrize(
    ("argument", "accepted"),
    [
        (param(1, int8, bounds=(1, 5)), True),
        (param(1, int8, bounds=(2, 4)), True),
        (const(1, int8), True),
        (const(5, int8), True),
        (param(1, int8, bounds=(0, 5)), False),
        (param(1, int8, bounds=(1, 6)), False),
        (param(1, int8), False),
    ],
)
def test_an_argument_lies_within_the_bounds_of_its_param(argument: UOp, accepted: bool) -> None:
    body = Op.Tuple(Op.Neg(param(0, int8, bounds=(1, 5))))
    if accepted:
        assert Op.Function(body, argument).op is Op.Function
    else:
        with pytest.raises(IllFormed):
            Op.Function(body, argument)


def test_an_argument_that_may_be_nan_is_outside_all_bounds() -> None:
    body = Op.Tuple(Op.Neg(param(0, float32, bounds=(float("-inf"), float("inf")))))
    with pytest.raises(IllFormed):
        Op.Function(body, param(1, float32))
    assert Op.Function(body, const(1.0, float32)).op is Op.Function


def test_binding_renames_a_loop_only_where_it_would_meet_another() -> None:
    p, bound, other = param(0, index), loop(4, 1), loop(4, 2)
    summed = Op.Reduce(Op.Mul(p, bound), bound, arg=ReduceArg(Op.Add))

    def with_p(value: UOp) -> UOp:
        return Op.Reduce(Op.Mul(value, bound), bound, arg=ReduceArg(Op.Add))

    for value in (const(3, index), other):
        assert bind(summed, {p: value}) is with_p(value)
        assert bind(Op.Add(p, bound), {p: value}) is Op.Add(value, bound), "a free loop is one of the outside"
    met = bind(summed, {p: bound})
    assert met is not with_p(bound)
    assert free_ranges(met) == {bound}
    assert free_ranges(bind(Op.Add(p, bound), {p: bound})) == {bound}
