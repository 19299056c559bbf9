"""Substitution of functions: what it binds, what it renames, and that its value is that of the call."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from soundline.impl.lower.callify import inlined as inlined_by_the_compiler
from soundline.spec.dtypes import float32, index, int32
from soundline.spec.errors import IllFormed
from soundline.spec.evaluate import evaluate
from soundline.spec.evaluation.functions import alpha_equal, inlined, is_substitutable, substitute_function
from soundline.spec.ops import bodies
from soundline.spec.ops.table import Op
from soundline.spec.uop import (
    AxisType,
    LoadArg,
    ReduceArg,
    UOp,
    buffer,
    const,
    loop,
    param,
    reshape,
    shrink,
    substitute,
    tensor,
    toposort,
)

SUM = ReduceArg(Op.Add)
TWO = ("CPU:0", "CPU:1")
N = param(9, index)


def number(value: int) -> UOp:
    return const(value, index)


def whole(r: UOp) -> UOp:
    return Op.Cast(r, arg=int32)


def call(body: UOp, *arguments: UOp) -> UOp:
    return Op.GetTuple(Op.Function(Op.Tuple(body), *arguments), arg=0)


def total(x: UOp, *ranges: UOp) -> UOp:
    return Op.Reduce(x, *ranges, arg=SUM)


def agrees(node: UOp, **bound: object) -> int:
    """The value of a call, which its substitution has too."""
    made = substitute_function(node)
    assert (made.dtype, made.device, made.axis) == (node.dtype, node.device, node.axis)
    value = evaluate(node, **bound)
    assert evaluate(made, **bound) == value
    assert evaluate(inlined(node), **bound) == value
    return int(value.elements[0])


# What is bound ----------------------------------------------------------------------------------------------------


def test_an_element_of_a_function_is_its_body_with_the_arguments() -> None:
    p, q = param(0, int32, (2,)), param(1, int32, (2,))
    x, y = tensor([1, 2]), tensor([5, 7])
    both = Op.Function(Op.Tuple(Op.Sub(p, q), Op.Mul(q, q)), x, y)
    assert substitute_function(Op.GetTuple(both, arg=0)) is Op.Sub(x, y)
    assert substitute_function(Op.GetTuple(both, arg=1)) is Op.Mul(y, y)
    assert substitute_function(Op.GetTuple(Op.Tuple(x, y), arg=1)) is y
    assert substitute_function(Op.GetTuple(Op.Call(Op.Tuple(Op.Neg(p)), x), arg=0)) is Op.Neg(x)


@pytest.mark.parametrize(
    "node",
    [
        const(1, int32),
        Op.GetTuple(Op.Call(Op.CustomFunction(const(1, int32), arg="f")), arg=0),
    ],
    ids=["no element", "opaque"],
)
def test_what_has_no_body_is_not_substituted(node: UOp) -> None:
    assert not is_substitutable(node)
    with pytest.raises(IllFormed) as refused:
        substitute_function(node)
    assert refused.value.rule == "uop-gettuple-c1"


def test_the_params_of_a_nested_function_are_its_own() -> None:
    p = param(0, int32)
    inner = call(Op.Add(p, const(1, int32)), Op.Mul(p, const(10, int32)))
    outer = call(Op.Sub(inner, p), const(3, int32))
    assert agrees(outer) == 3 * 10 + 1 - 3
    once = substitute_function(outer)
    assert any(n.op is Op.Function for n in toposort(once))
    assert once.src[0].src[0].src[0] is inner.src[0].src[0], "the body of the nested function is untouched"
    flat = inlined(outer)
    assert not any(n.op in (Op.Function, Op.GetTuple, Op.Param) for n in toposort(flat))


def test_a_nested_function_is_entered_with_its_arguments() -> None:
    p, q = param(0, int32), param(1, int32)
    twice = call(Op.Add(p, p), q)
    deep = call(call(Op.Mul(p, q), twice, p), const(2, int32), const(3, int32))
    assert agrees(deep) == (3 + 3) * 2


def test_symbolic_sizes_become_those_of_the_arguments() -> None:
    x = param(0, int32, (N,))
    sums = Op.Reduce(x, arg=ReduceArg(Op.Add, (0,)))
    function = Op.Function(Op.Tuple(reshape(sums, ())), tensor([1, 2, 3]), *[number(0)] * 8, number(3))
    node = Op.GetTuple(function, arg=0)
    assert agrees(node) == 6
    with pytest.raises(IllFormed):
        Op.Function(Op.Tuple(reshape(sums, ())), tensor([1, 2, 3]), *[number(0)] * 8, number(4))


def test_arguments_may_be_views_of_memory_and_their_versions() -> None:
    b = buffer(0, 4, int32)
    p, q = param(0, int32, (2,)), param(1, int32, (4,))
    stored = Op.Store(b, tensor([10, 20, 30, 40]))
    sums = Op.Add(p, shrink(q, (2,), (2,)))
    before_and_after = call(sums, shrink(b, (1,), (2,)), Op.After(b, stored))
    assert agrees(before_and_after, buffers={0: [1, 2, 3, 4]}) == 2 + 30
    first = call(shrink(p, (0,), (1,)), shrink(b, (1,), (2,)))
    assert agrees(first, buffers={0: [1, 2, 3, 4]}) == 2
    for later in (Op.After(first, stored), Op.After(substitute_function(first), stored)):
        assert evaluate(later, buffers={0: [1, 2, 3, 4]}).elements == (20,)


def test_the_element_has_the_device_and_axis_of_its_arguments() -> None:
    p = param(0, int32, (4,), axis=0)
    node = call(Op.Neg(p), param(3, int32, (4,), device=TWO, axis=0))
    made = substitute_function(node)
    assert (made.device, made.axis) == (node.device, node.axis) == (TWO, 0)
    moved = call(Op.Load(param(0, int32), arg=LoadArg("GPU")), param(3, int32, device="CPU"))
    assert substitute_function(moved).device == moved.device == "GPU"


def test_the_axis_of_an_argument_matters_on_several_devices_only() -> None:
    p = param(0, int32, (4, 4), axis=0)
    alone, both = (param(3, int32, (4, 4), device=d, axis=1) for d in (("a",), TWO))
    node = call(Op.Neg(p), alone)
    assert (node.device, node.axis) == (("a",), 1)
    assert substitute_function(node).axis == 1
    with pytest.raises(IllFormed) as refused:
        call(Op.Neg(p), both)
    assert refused.value.rule == "uop-function-c4"


# Capture ----------------------------------------------------------------------------------------------------------


def naive(node: UOp) -> UOp:
    """Substitution without renaming."""
    body, arguments = node.src[0].src[0].src[node.arg], node.src[0].src[1:]
    return substitute(body, {p: arguments[p.arg.slot] for p in bodies.params(body)})


def test_a_loop_of_the_body_does_not_capture_an_argument() -> None:
    r = loop(4, 0)
    node = call(total(Op.Mul(param(0, int32), whole(r)), r), whole(r))
    assert evaluate(total(node, r)).item() == 36
    assert evaluate(total(substitute_function(node), r)).item() == 36
    assert evaluate(total(naive(node), r)).item() == 4 * 14, "captured: Σ r², four times"


def test_a_loop_of_the_body_is_renamed_only_where_an_argument_depends_on_one_of_its_id() -> None:
    r, s = loop(4, 0), loop(5, 1)
    body = total(Op.Mul(param(0, int32), whole(r)), r)
    assert substitute_function(call(body, const(2, int32))) is total(Op.Mul(const(2, int32), whole(r)), r)
    assert substitute_function(call(body, whole(s))) is total(Op.Mul(whole(s), whole(r)), r)
    renamed = substitute_function(call(body, whole(loop(9, 0))))
    assert renamed.src[1].arg.id != 0
    assert renamed.src[1].src == r.src
    closed_inside = substitute_function(call(body, total(whole(r), r)))
    assert closed_inside.src[1] is r


def test_loops_whose_bounds_become_equal_stay_two() -> None:
    n, m = param(0, index), param(1, index)
    i, j = loop(n, 0), loop(m, 0)
    body = total(total(Op.Mul(i, Op.Mul(j, j)), i), j)
    node = call(body, number(3), number(3))
    assert agrees(node) == (0 + 1 + 2) * (0 + 1 + 4)
    assert evaluate(naive(node)).item() == 3 * (0 + 1 + 8), "captured: Σ r³, three times"
    assert evaluate(body, {0: 3, 1: 3}).item() == 15, "binding sizes is substitution too"


def test_a_free_loop_keeps_its_id() -> None:
    n, m = param(0, index), param(1, index)
    free, bound = loop(n, 0), loop(m, 0)
    for node in (
        Op.Add(total(Op.Mul(bound, free), bound), free),
        Op.Add(free, total(Op.Mul(free, bound), bound)),
    ):
        assert evaluate(node, {0: 3, 1: 3}, ranges={0: 2}).item() == 2 * (0 + 1 + 2) + 2


def test_a_loop_that_is_bounded_by_another_follows_it() -> None:
    r = loop(4, 0)
    triangle = loop(Op.Add(r, number(1)), 1)
    body = total(total(Op.Mul(param(0, int32), whole(triangle)), triangle), r)
    outer = loop(3, 0)
    node = total(call(body, whole(outer)), outer)
    assert evaluate(node).item() == 3 * (0 + 1 + 3 + 6)
    assert evaluate(inlined(node)).item() == 3 * (0 + 1 + 3 + 6)


def test_a_reduce_reads_the_version_that_its_operand_names() -> None:
    """A store that one operand comes after is not seen by the other, in a loop as outside of one."""
    b = buffer(0, 1, int32)
    r = loop(1, 0)
    both = Op.Add(Op.Load(b), Op.Load(Op.After(b, Op.Store(b, tensor([7])))))
    assert evaluate(both, buffers={0: [1]}).elements == (8,)
    assert evaluate(total(both, r), buffers={0: [1]}).elements == (8,)
    p, q = param(0, int32, (1,)), param(1, int32, (1,))
    node = call(total(Op.Add(p, q), r), *both.src)
    assert agrees(node, buffers={0: [1]}) == 8


def test_the_compiler_substitutes_alike() -> None:
    p, q = param(0, float32, (3,)), param(1, float32, (3,))
    inner = call(Op.Mul(p, q), q, q)
    node = call(Op.Add(inner, p), tensor([1.0, 2.0, 3.0], float32), tensor([0.5, 0.5, 2.0], float32))
    assert inlined_by_the_compiler([node]) == [inlined(node)]


def test_a_deep_program_of_functions_is_substituted() -> None:
    x: UOp = const(1, int32)
    p = param(0, int32)
    for _ in range(600):
        x = call(Op.Add(p, const(1, int32)), x)
    assert evaluate(inlined(x)).item() == 601


# Alpha-equality ---------------------------------------------------------------------------------------------------

B = buffer(0, 3, int32)


def nest(i: int, j: int, n: int = 3, kind: AxisType = AxisType.LOOP) -> UOp:
    outer, inner = loop(n, i, kind), loop(3, j)
    return total(total(Op.Mul(outer, Op.Mul(inner, inner)), inner), outer)


def filled(i: int) -> UOp:
    r = loop(3, i)
    return Op.End(Op.Store(Op.Index(B, r), whole(r)), r)


def met(i: int) -> UOp:
    thread = loop(3, i, AxisType.LOCAL)
    return Op.Barrier(Op.Store(Op.Index(B, thread), whole(thread)))


def repeated_kernel(i: int) -> UOp:
    """A loop around a kernel that has a Range of id 0, which is not the loop's."""
    own = loop(3, 0)
    place = param(0, int32, (3,))
    store = Op.Store(Op.Index(place, own), const(1, int32))
    program = Op.Program(Op.Linear(own, store, Op.End(store, own)), Op.Source(arg=""), Op.BinaryCode(arg=b""))
    r = loop(3, i)
    return Op.End(Op.Call(program, shrink(B, (r,), (1,))), r)


EQUAL: dict[str, Callable[[], tuple[UOp, UOp]]] = {
    "itself": lambda: (nest(0, 1), nest(0, 1)),
    "renamed": lambda: (nest(0, 1), nest(5, 7)),
    "swapped names": lambda: (nest(0, 1), nest(1, 0)),
    "several ranges of one Reduce": lambda: (
        total(Op.Mul(loop(2, 0), loop(3, 1)), loop(2, 0), loop(3, 1)),
        total(Op.Mul(loop(2, 4), loop(3, 0)), loop(2, 4), loop(3, 0)),
    ),
    "a bound that depends on a loop": lambda: (
        total(total(loop(loop(3, 0), 1), loop(loop(3, 0), 1)), loop(3, 0)),
        total(total(loop(loop(3, 6), 0), loop(loop(3, 6), 0)), loop(3, 6)),
    ),
    "shadowing": lambda: (
        total(Op.Add(loop(3, 0), total(loop(3, 0), loop(3, 0))), loop(3, 0)),
        total(Op.Add(loop(3, 1), total(loop(3, 2), loop(3, 2))), loop(3, 1)),
    ),
    "a body of a function": lambda: (call(nest(0, 1)), call(nest(3, 2))),
    "a free loop": lambda: (Op.Neg(loop(3, 0)), Op.Neg(loop(3, 0))),
    "tags": lambda: (Op.Neg(const(1, int32), tag="a"), Op.Neg(const(1, int32))),
    "effects": lambda: (Op.Sink(filled(0), filled(1)), Op.Sink(filled(4), filled(5))),
    "a kernel with a loop of its own": lambda: (repeated_kernel(0), repeated_kernel(5)),
    "a barrier": lambda: (met(0), met(4)),
}
UNEQUAL: dict[str, Callable[[], tuple[UOp, UOp]]] = {
    "other arithmetic": lambda: (nest(0, 1), Op.Neg(nest(0, 1))),
    "captured": lambda: (nest(0, 1), nest(0, 0)),
    "other bound": lambda: (nest(0, 1), nest(0, 1, 4)),
    "other kind": lambda: (nest(0, 1), nest(0, 1, 3, AxisType.REDUCE)),
    "other nesting": lambda: (
        total(Op.Mul(loop(3, 0), loop(3, 1)), loop(3, 0), loop(3, 1)),
        total(Op.Mul(loop(3, 0), loop(3, 1)), loop(3, 0)),
    ),
    "a free loop renamed": lambda: (Op.Neg(loop(3, 0)), Op.Neg(loop(3, 1))),
    "a free loop that is bound there": lambda: (
        total(Op.Add(loop(3, 0), loop(3, 1)), loop(3, 0)),
        total(Op.Add(loop(3, 0), loop(3, 1)), loop(3, 1)),
    ),
    "a bound loop for a free one": lambda: (
        total(Op.Add(loop(3, 0), loop(3, 1)), loop(3, 0)),
        total(Op.Add(loop(3, 0), loop(3, 0)), loop(3, 0)),
    ),
    "one effect for two": lambda: (Op.Sink(filled(0), filled(1)), Op.Sink(filled(2), filled(2))),
    "two effects for one": lambda: (Op.Sink(filled(0), filled(0)), Op.Sink(filled(2), filled(1))),
    "constants": lambda: (const(0.0, float32), const(-0.0, float32)),
    "args that Python takes for equal": lambda: (Op.Ins(arg=1), Op.Ins(arg=True)),
    "args": lambda: (
        Op.Reduce(tensor([1]), arg=ReduceArg(Op.Add, (0,))),
        Op.Reduce(tensor([1]), arg=ReduceArg(Op.Add, ())),
    ),
}


@pytest.mark.parametrize("name", EQUAL)
def test_programs_that_differ_by_names_of_loops_are_alpha_equal(name: str) -> None:
    a, b = EQUAL[name]()
    assert alpha_equal(a, b)
    assert alpha_equal(b, a)


@pytest.mark.parametrize("name", UNEQUAL)
def test_programs_that_differ_otherwise_are_not(name: str) -> None:
    a, b = UNEQUAL[name]()
    assert not alpha_equal(a, b)
    assert not alpha_equal(b, a)


def test_a_renamed_substitution_is_alpha_equal_to_one_by_hand() -> None:
    r, q = loop(4, 0), loop(4, 7)
    made = substitute_function(call(total(Op.Mul(param(0, int32), whole(r)), r), whole(r)))
    assert alpha_equal(made, total(Op.Mul(whole(r), whole(q)), q))
    assert not alpha_equal(made, total(Op.Mul(whole(r), whole(r)), r))


def test_values_of_numpy() -> None:
    x = np.arange(6, dtype=np.int32).reshape(2, 3)
    p = param(0, int32, (2, 3))
    i, j = loop(2, 0), loop(3, 1)
    body = total(Op.Mul(Op.Index(p, i, j), Op.Index(p, i, j)), i, j)
    assert evaluate(inlined(call(body, param(5, int32, (2, 3)))), {5: x}).item() == (x * x).sum()
