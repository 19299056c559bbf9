"""Small functions of the law, held one by one: sizes, shards, arity, texts of nodes and errors."""

from __future__ import annotations

import pytest

from soundline.spec.dtypes import bool_, float32, index, int8, int32, uint8
from soundline.spec.errors import IllFormed, RuleError, SoundlineError
from soundline.spec.ops import schema, sizes
from soundline.spec.ops.adjoints import WHOLE
from soundline.spec.ops.laws import INHERITED, SAME_BOUNDS
from soundline.spec.ops.node import Op
from soundline.spec.ops.schema import Source
from soundline.spec.ops.shards import Disagreement, agreed, reshaped_axis
from soundline.spec.ops.table import TABLE
from soundline.spec.uop import (
    AxisType,
    BufferArg,
    ConstArg,
    UOp,
    broadcast_to,
    buffer,
    const,
    element_of,
    expand,
    loop,
    obligations,
    pad,
    param,
    reshape,
    shape_source,
    shrink,
    tensor,
    toposort,
)

N, M = param(0, index), param(1, index)
ONE, TWO, THREE = (const(k, index) for k in (1, 2, 3))


# sizes ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("size", "terms"),
    [
        (0, {}),
        (7, {(): 7}),
        (N, {(N,): 1}),
        (Op.Add(N, TWO), {(N,): 1, (): 2}),
        (Op.Sub(N, TWO), {(N,): 1, (): -2}),
        (Op.Sub(N, M), {(N,): 1, (M,): -1}),
        (Op.Sub(N, N), {}),
        (Op.Neg(N), {(N,): -1}),
        (Op.Mul(N, THREE), {(N,): 3}),
        (Op.Mul(Op.Add(N, TWO), Op.Sub(N, TWO)), {(N, N): 1, (): -4}),
        (Op.Idiv(N, TWO), {(Op.Idiv(N, TWO),): 1}),
    ],
)
def test_a_size_as_a_polynomial(size: UOp | int, terms: dict[tuple[UOp, ...], int]) -> None:
    assert sizes.polynomial(size).terms == terms


def test_the_order_of_factors_does_not_matter() -> None:
    assert sizes.polynomial(Op.Mul(N, M)) == sizes.polynomial(Op.Mul(M, N))
    assert sum(sizes.polynomial(Op.Mul(N, M)).terms.values()) == 1


@pytest.mark.parametrize(
    ("node", "size"),
    [
        (Op.Sub(N, N), 0),
        (Op.Add(ONE, TWO), 3),
        (Op.Sub(Op.Add(N, THREE), N), 3),
        (Op.Add(N, ONE), Op.Add(N, ONE)),
        (N, N),
    ],
)
def test_a_node_that_is_a_number_becomes_one(node: UOp, size: UOp | int) -> None:
    assert sizes.as_size(node) == size


def test_sums_and_products_of_sizes() -> None:
    assert sizes.add(2, 3) == 5
    assert sizes.add(N, 3) is Op.Add(N, THREE)
    assert sizes.add(3, N) is Op.Add(THREE, N)
    assert sizes.add(Op.Neg(N), N) == 0
    assert sizes.multiply(2, 3) == 6
    assert sizes.multiply(N, 3) is Op.Mul(N, THREE)
    assert sizes.multiply(3, N) is Op.Mul(THREE, N)
    assert sizes.multiply(0, N) == 0


def test_a_product_adds_no_factor_of_one() -> None:
    assert sizes.product([]) == 1
    assert sizes.product([N]) is N
    assert sizes.product([1, N]) is N
    assert sizes.product([2, 3, 4]) == 24
    assert sizes.product([N, M]) is Op.Mul(N, M)
    assert sizes.product([2, 0]) == 0


@pytest.mark.parametrize(
    ("a", "b", "gap"),
    [(5, 3, 2), (3, 5, -2), (N, N, 0), (Op.Add(N, TWO), N, 2), (N, M, None), (N, 2, None), (2, N, None)],
)
def test_the_difference_of_sizes(a: UOp | int, b: UOp | int, gap: int | None) -> None:
    assert sizes.difference(a, b) == gap


def test_comparisons_are_decided_where_they_can_be() -> None:
    assert sizes.equal(N, N) is True
    assert sizes.equal(N, Op.Add(N, ONE)) is False
    assert sizes.equal(N, M) is Op.CmpEq(N, M)
    assert sizes.at_most(N, N) is True
    assert sizes.at_most(Op.Sub(N, ONE), N) is True
    assert sizes.at_most(Op.Add(N, ONE), N) is False
    assert sizes.at_most(N, 2) is Op.CmpLe(N, TWO)


def test_conjunctions_and_disjunctions() -> None:
    p, q, r = (Op.CmpEq(N, const(k, index)) for k in range(3))
    assert sizes.every([]) is True
    assert sizes.every([True, True]) is True
    assert sizes.every([p, False]) is False
    assert sizes.every([True, p]) is p
    assert sizes.every([p, True, q, r]) is Op.And(Op.And(p, q), r)
    assert sizes.either([]) is False
    assert sizes.either([False, False]) is False
    assert sizes.either([p, True]) is True
    assert sizes.either([False, p]) is p
    assert sizes.either([p, False, q, r]) is Op.Or(Op.Or(p, q), r)


def test_a_condition_as_a_node() -> None:
    p = Op.CmpEq(N, M)
    assert sizes.as_condition_node(p) is p
    assert sizes.as_condition_node(True) is const(True, bool_)
    assert sizes.as_condition_node(False) is const(False, bool_)


def test_equal_shapes() -> None:
    assert sizes.same_shape((), ()) is True
    assert sizes.same_shape((2, N), (2, N)) is True
    assert sizes.same_shape((2,), (2, 1)) is False
    assert sizes.same_shape((2, 3), (2, 4)) is False
    assert sizes.same_shape((2, N), (2, M)) is Op.CmpEq(N, M)


def test_what_holds_sizes() -> None:
    assert sizes.sizes_of(shape_source((2, N))) == (2, N)
    assert sizes.sizes_of(shape_source(())) == ()
    assert sizes.sizes_of(tensor([1, 2], int8)) is None
    assert sizes.sizes_of(N) is None
    assert sizes.sizes_of(UOp(Op.Stack, (shape_source((1,)), shape_source((2,))))) is None
    assert sizes.sizes_of(param(3, index, (2,))) is None


# shards -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "one"),
    [((), None), ((None, None), None), (("a", None), "a"), ((None, "a", "a"), "a"), ((0,), 0)],
)
def test_the_one_value_that_is_not_null(values: tuple[object, ...], one: object) -> None:
    assert agreed(values) == one


def test_a_disagreement_names_both() -> None:
    with pytest.raises(Disagreement) as said:
        agreed(["a", None, "a", "b"])
    assert str(said.value) == "'a' and 'b'"


@pytest.mark.parametrize(
    ("shape", "axis", "new", "where"),
    [
        ((4, 6), 1, (4, 2, 3), 1),
        ((4, 6), 1, (2, 2, 6), 2),
        ((4, 6), 1, (4, 3, 2), None),
        ((4, 6), 1, (24,), None),
        ((4, 6), 0, (24,), 0),
        ((4, 6), 0, (2, 2, 6), 0),
        ((4, 6), 0, (1, 4, 6), 1),
        ((4, 6), 1, (4, 1, 6), 2),
        ((4, 6), 1, (4, 6, 1), 1),
    ],
)
def test_where_the_shard_axis_goes(
    shape: tuple[int, ...], axis: int, new: tuple[int, ...], where: int | None
) -> None:
    source = param(0, int32, shape, device=("CPU:0", "CPU:1"), axis=axis)
    assert reshaped_axis(source, new) == where


def test_a_shard_axis_of_one_device_or_of_a_symbolic_shape() -> None:
    for device in (("CPU",), None):
        assert reshaped_axis(param(0, int32, (4,), device=device, axis=0), (4,)) == 0
        assert reshaped_axis(param(0, int32, (3,), device=device, axis=0), (3,)) == 0
    source = param(2, int32, (N, 6), device=("CPU:0", "CPU:1"), axis=1)
    assert reshaped_axis(source, (N, 2, 3)) == 1
    assert reshaped_axis(source, (N, 3, 2)) is None
    assert reshaped_axis(source, (6, N)) is None


# nodes ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("node", "text"),
    [
        (const(3, int8), "const(3, int8)"),
        (param(2, float32), "param(2, float32)"),
        (param(2, float32, (3,)), "param(2, float32, (3,))"),
        (param(2, float32, (3, N)), "param(2, float32, (3, param(0, index)))"),
        (Op.Add(N, ONE), "Op.Add(param(0, index), const(1, index))"),
        (Op.Cast(N, arg=int8), "Op.Cast(param(0, index), arg=int8)"),
        (Op.Neg(Op.Neg(Op.Neg(N))), "Op.Neg(Op.Neg(Op.Neg(param(0, index))))"),
        (Op.Neg(Op.Neg(Op.Neg(Op.Neg(Op.Neg(N))))), "Op.Neg(Op.Neg(Op.Neg(Op.Neg(Op.Neg(…)))))"),
    ],
)
def test_a_node_is_shown_as_the_calls_that_build_it(node: UOp, text: str) -> None:
    assert repr(node) == text


def test_types_inside_an_arg_tell_nodes_apart() -> None:
    """Python takes True for 1: a Buffer of one element is not one of True elements."""
    one = buffer(0, 1, int32)  # alive, so that it could be taken for the other
    assert one.arg.size == 1
    with pytest.raises(IllFormed):
        buffer(0, True, int32)
    x = param(0, int32, (2, 3))
    moved = Op.Permute(x, arg=(0, 1))
    assert moved.arg == (0, 1)
    with pytest.raises(IllFormed):
        Op.Permute(x, arg=(False, True))


def test_a_constant_is_told_from_a_number_and_from_its_neighbours() -> None:
    arg = const(1, int8).arg
    assert arg != 1
    assert arg == ConstArg(1, int8)
    assert arg != ConstArg(1, uint8)
    assert arg != ConstArg(2, int8)
    assert ConstArg(0.0, float32) != ConstArg(-0.0, float32)


def test_a_shape_counts_as_a_level_of_depth() -> None:
    deep = Op.Neg(Op.Neg(Op.Neg(param(2, float32, (N,)))))
    assert repr(deep).startswith("Op.Neg(Op.Neg(Op.Neg(param(2, float32, (Op.Param(…, arg=")
    shallow = Op.Neg(Op.Neg(param(2, float32, (N,))))
    assert repr(shallow) == "Op.Neg(Op.Neg(param(2, float32, (param(0, index),))))"


def test_several_roots_come_in_the_order_given() -> None:
    a, b = param(5, int8), param(6, int8)
    nodes = [n for n in toposort(a, b) if n.op is Op.Param]
    assert nodes == [a, b]
    assert [n for n in toposort(Op.Sub(b, a)) if n.op is not Op.Stack] == [b, a, Op.Sub(b, a)]


# building ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "dtype", "element"),
    [
        (300, uint8, 44),
        (-1, uint8, 255),
        (128, int8, -128),
        (2, bool_, True),
        (0, bool_, False),
        (0.1, float32, 0.10000000149011612),
        (3, float32, 3.0),
        (2.75, int8, 2),
    ],
)
def test_a_number_as_an_element(value: float, dtype, element: object) -> None:
    found = element_of(value, dtype)
    assert found == element
    assert type(found) is type(element)


def test_builders_build_what_they_say() -> None:
    x = param(0, int32, (2, 3))
    assert reshape(x, (3, 2)).op is Op.Reshape
    assert expand(reshape(x, (2, 3, 1)), (2, 3, 4)).shape == (2, 3, 4)
    padded = pad(x, (1, 0), (4, 3))
    assert (padded.op, padded.src[1], padded.src[2]) == (Op.Pad, shape_source((1, 0)), shape_source((4, 3)))
    part = shrink(x, (1, 0), (1, 3))
    assert (part.op, part.src[1], part.src[2]) == (Op.Shrink, shape_source((1, 0)), shape_source((1, 3)))
    assert (loop(4, 7).arg.id, loop(4, 7).arg.type) == (7, AxisType.LOOP)
    assert loop(N, 7, AxisType.REDUCE).src == (N,)
    assert loop(N, 7, AxisType.REDUCE).arg.type is AxisType.REDUCE
    assert buffer(1, 8, int8).arg == BufferArg(1, 8, int8, "CPU", "GLOBAL")
    assert type(const(2, float32).arg.value) is float
    assert type(const(2, int8).arg.value) is int
    assert tensor([[1, 2]], float32).shape == (1, 2)
    assert tensor(3).dtype is int32


def test_param_keeps_all_it_is_given() -> None:
    node = param(3, int8, (4,), device=("CPU:0", "CPU:1"), axis=0, bounds=(-1, 5))
    assert (node.arg.slot, node.arg.addrspace, node.arg.axis) == (3, "GLOBAL", 0)
    assert [b.value for b in node.arg.bounds] == [-1, 5]
    assert param(3, int8).arg.bounds is None


def test_broadcasting_does_only_what_is_needed() -> None:
    x = param(0, int32, (1, 3))
    assert broadcast_to(x, (1, 3)) is x
    assert broadcast_to(x, (1, 1, 3)) is reshape(x, (1, 1, 3))
    assert broadcast_to(x, (2, 3)) is expand(x, (2, 3))
    assert broadcast_to(x, (5, 2, 3)) is expand(reshape(x, (1, 1, 3)), (5, 2, 3))
    assert broadcast_to(const(1, int8), (2,)) is expand(reshape(const(1, int8), (1,)), (2,))


def test_obligations_are_what_is_open() -> None:
    x = param(2, int32, (N,))
    assert [rule for rule, _ in obligations(reshape(x, (M,)))] != []
    open_conditions = dict(obligations(reshape(x, (M,))))
    assert open_conditions["uop-reshape-c2"] is Op.CmpEq(M, N) or open_conditions[
        "uop-reshape-c2"
    ] is Op.CmpEq(N, M)
    assert "uop-reshape-c2" not in dict(obligations(reshape(x, (N,))))


@pytest.mark.parametrize(
    ("build", "given"),
    [
        (Op.Neg, "0 sources"),
        (lambda: Op.Neg(N, N), "2 sources"),
        (lambda: Op.Add(N), "1 source"),
        (lambda: Op.Neg(3), "3"),
        (lambda: Op.Neg(Op.Barrier()), "a Barrier, which has no value"),
        (lambda: Op.Neg(N, arg=1), "arg 1"),
    ],
)
def test_sources_and_args_are_counted(build, given: str) -> None:
    with pytest.raises(IllFormed) as refused:
        build()
    assert refused.value.given == given


def test_a_refusal_shows_sources_with_dtype_and_shape() -> None:
    with pytest.raises(IllFormed) as refused:
        Op.Add(param(0, int8, (2,)), ONE)
    assert refused.value.given == "int8[2] param(0, int8, (2,)); index[] const(1, index)"


# the table --------------------------------------------------------------------------------------------------------


def test_a_source_is_single_and_present_unless_said_otherwise() -> None:
    plain = schema.source("A", "a value")
    assert plain == Source("A", "a value", False, False) == Source("A", "a value")
    assert schema.source("B", "values", variadic=True) == Source("B", "values", True, False)
    assert schema.source("C", "a value", optional=True) == Source("C", "a value", False, True)


def test_an_entry_has_the_name_of_its_op_and_numbers_its_constraints() -> None:
    said = {"typing": INHERITED, "adjoint": WHOLE, "example": ""}
    made = schema.entry(
        Op.Add,
        "elementwise",
        "sum",
        constraints=(("first", lambda src, arg: True), ("second", lambda src, arg: False)),
        decisions=("U-01",),
        **said,
    )
    assert made.title == "Add"
    assert [(c.id, c.text) for c in made.constraints] == [("uop-add-c1", "first"), ("uop-add-c2", "second")]
    assert made.section == TABLE[Op.Add].section
    assert made.law_id("min_max") == "uop-add-min-max"
    assert [c.holds((), None) for c in made.constraints] == [True, False]
    assert made.laws == {
        "dtype": "src[0].dtype",
        "shape": "src[0].shape",
        "device": "src[0].device",
        "min_max": "none",
        "axis": "src[0].axis",
    }
    named = schema.entry(Op.Add, "elementwise", "sum", title="Plus", bounds=SAME_BOUNDS, **said)
    assert named.laws["min_max"] == "src[0]"
    assert named.title == "Plus"
    assert named.constraints == ()


# errors -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (SoundlineError("wrong"), "wrong"),
        (SoundlineError("wrong", where="here"), "here: wrong"),
        (SoundlineError("wrong", rule="U-01"), "wrong [U-01]"),
        (SoundlineError("wrong", rule="U-01", hint="do"), "wrong [U-01]\n  hint: do"),
        (RuleError("wrong", file="a.py"), "a.py: wrong"),
        (RuleError("wrong", line=3), "wrong"),
        (RuleError("wrong", file="a.py", line=3, rule="mine"), "a.py:3: wrong [mine]"),
        (IllFormed("Add", "uop-add-c1", given="a", wants="b"), "Add: expected: b; got: a [uop-add-c1]"),
    ],
)
def test_the_text_of_an_error(error: SoundlineError, text: str) -> None:
    assert str(error) == text


def test_an_error_keeps_its_parts() -> None:
    error = IllFormed("Add", "uop-add-c1", given="a", wants="b", hint="c")
    assert (error.op, error.given, error.wants, error.hint, error.where) == ("Add", "a", "b", "c", "Add")
    assert RuleError("x", file="a.py", line=3).line == 3
    assert RuleError("x").where is None
