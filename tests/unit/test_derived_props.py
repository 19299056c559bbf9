"""dtype, shape, device and shard axis of every op, and what happens where sources disagree."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from soundline.spec.derived_props import AXIS, DEVICE, DTYPE, MIN_MAX, SHAPE, element_count
from soundline.spec.dtypes import (
    DType,
    bool_,
    float16,
    float32,
    index,
    int8,
    int16,
    int32,
    int64,
    uint8,
    void,
)
from soundline.spec.errors import IllFormed
from soundline.spec.ops.node import Device
from soundline.spec.ops.table import PROPERTIES, TABLE, Op, group_of
from soundline.spec.uop import (
    AxisType,
    LoadArg,
    RangeArg,
    ReduceArg,
    Shape,
    SliceArg,
    UOp,
    WmmaArg,
    broadcast_to,
    buffer,
    const,
    expand,
    loop,
    pad,
    param,
    reshape,
    shape_source,
    shrink,
    substitute,
    tensor,
    toposort,
)

TWO = ("CPU:0", "CPU:1")
N = param(9, index)


def one(dtype: DType = int32, shape: Shape = (2, 3), slot: int = 0) -> UOp:
    """A value on one device."""
    return param(slot, dtype, shape, device="CPU")


def many(shape: Shape = (4, 6), axis: int | None = 1, slot: int = 0, dtype: DType = int32) -> UOp:
    """A value on two devices."""
    return param(slot, dtype, shape, device=TWO, axis=axis)


def number(value: int) -> UOp:
    return const(value, index)


BODY = Op.Tuple(Op.Add(param(0, int32, (N,)), param(0, int32, (N,))), const(True, bool_), many(slot=3))
B, B2 = buffer(0, 6, int32), buffer(1, 6, int32, device=TWO)
POSITIONS = param(8, index, (4,), device=TWO, axis=0)
STORE = Op.Store(B, one(int32, (6,)))
PROGRAM = Op.Program(Op.Linear(), Op.Source(arg=""), Op.BinaryCode(arg=b"xyz"))
WMMA = WmmaArg((8, 16, 16), float16, float32)
F16 = param(0, float16, (4,), device="CUDA")

Row = tuple[Callable[[], UOp], DType, Shape | None, Device, int | None]
ROWS: dict[str, Row] = {
    "Param": (one, int32, (2, 3), "CPU", None),
    "Param sharded": (many, int32, (4, 6), TWO, 1),
    "Param symbolic": (lambda: param(0, int8, (N, 2)), int8, (N, 2), None, None),
    "Param n·2": (lambda: param(0, int8, (Op.Add(number(1), number(2)),)), int8, (3,), None, None),
    "Buffer": (lambda: B, int32, (6,), "CPU", None),
    "Buffer on two": (lambda: B2, int32, (12,), TWO, 0),
    "Const": (lambda: const(1.0, float32), float32, (), None, None),
    "Binary": (lambda: Op.Binary(arg=b"abc"), uint8, (3,), None, None),
    "BinaryCode": (lambda: Op.BinaryCode(arg=b"abcd"), uint8, (4,), None, None),
    "Permute": (lambda: Op.Permute(many((5, 4, 6), 1), arg=(2, 0, 1)), int32, (6, 5, 4), TWO, 2),
    "Permute on one": (lambda: Op.Permute(one(), arg=(1, 0)), int32, (3, 2), "CPU", None),
    "Flip": (lambda: Op.Flip(many(), arg=(True, False)), int32, (4, 6), TWO, 1),
    "Reshape": (lambda: reshape(many((4, 6), 1), (2, 2, 6)), int32, (2, 2, 6), TWO, 2),
    "Reshape splits": (lambda: reshape(many((4, 6), 1), (4, 2, 3)), int32, (4, 2, 3), TWO, 1),
    "Reshape takes the last": (lambda: reshape(many((4, 6), 1), (4, 1, 6)), int32, (4, 1, 6), TWO, 2),
    "Reshape of one device keeps the size": (
        lambda: reshape(param(0, int32, (1, 4), device=("CPU:0",), axis=0), (1, 1, 4)),
        int32,
        (1, 1, 4),
        ("CPU:0",),
        0,
    ),
    "Reshape of one device takes the last": (
        lambda: reshape(param(0, int32, (4, 2), device=("CPU:0",), axis=0), (1, 1, 8)),
        int32,
        (1, 1, 8),
        ("CPU:0",),
        2,
    ),
    "Reshape of nothing": (lambda: reshape(many((0, 4), 1), (0, 2, 6)), int32, (0, 2, 6), TWO, 2),
    "Reshape merges behind": (lambda: reshape(many((4, 6), 0), (24,)), int32, (24,), TWO, 0),
    "Reshape on one": (lambda: reshape(one(), (6,)), int32, (6,), "CPU", None),
    "Reshape replicated": (lambda: reshape(many((4, 6), None), (24,)), int32, (24,), TWO, None),
    "Expand": (lambda: expand(many((1, 6), 1), (4, 6)), int32, (4, 6), TWO, 1),
    "Pad": (lambda: pad(many(), (1, 0), (9, 6)), int32, (9, 6), TWO, 1),
    "Shrink": (lambda: shrink(many(), (1, 0), (2, 6)), int32, (2, 6), TWO, 1),
    "Index": (lambda: Op.Index(many((4, 5, 6), 2), number(0)), int32, (5, 6), TWO, 1),
    "Index by two": (lambda: Op.Index(many((4, 5, 6), 2), number(0), number(1)), int32, (6,), TWO, 0),
    "Index by a vector": (lambda: Op.Index(many((4, 6), 1), shape_source((1, 2, 3))), int32, (3, 6), TWO, 1),
    "Index by a sharded vector": (
        lambda: Op.Index(many((5, 3), None), number(0), POSITIONS),
        int32,
        (4,),
        TWO,
        0,
    ),
    "Index of a constant": (
        lambda: Op.Index(const_like(1, int32, (3,)), param(1, index, device="CPU")),
        int32,
        (),
        "CPU",
        None,
    ),
    "Index by both": (lambda: Op.Index(one(), number(0), shape_source((1,))), int32, (1,), "CPU", None),
    "Stack": (lambda: Op.Stack(one(), const_like()), int32, (2, 2, 3), "CPU", None),
    "Stack sharded": (lambda: Op.Stack(many(), many(slot=1)), int32, (2, 4, 6), TWO, 2),
    "Stack empty": (Op.Stack, index, (0,), None, None),
    "Replicated": (lambda: Op.Replicated(many(), arg=(0,)), int32, (1, 6), TWO, 1),
    "Replicated on the shard": (lambda: Op.Replicated(many(), arg=(1,)), int32, (4, 1), TWO, None),
    "Slice": (lambda: Op.Slice(B, number(0), arg=SliceArg(3, int16)), int16, (3,), "CPU", None),
    "Slice sharded": (lambda: Op.Slice(B2, number(0), arg=SliceArg(12, int32)), int32, (12,), TWO, 0),
    "Bitcast": (lambda: Op.Bitcast(one(), arg=float32), float32, (2, 3), "CPU", None),
    "Bitcast narrows": (lambda: Op.Bitcast(many(), arg=int8), int8, (4, 24), TWO, 1),
    "Bitcast widens": (lambda: Op.Bitcast(many((4, 8)), arg=int64), int64, (4, 4), TWO, 1),
    "Reduce": (lambda: Op.Reduce(many(), arg=ReduceArg(Op.Add, (0,))), int32, (1, 6), TWO, 1),
    "Reduce on the shard": (
        lambda: Op.Reduce(many(), arg=ReduceArg(Op.Add, (1, 0))),
        int32,
        (1, 1),
        TWO,
        None,
    ),
    "Reduce over a range": (
        lambda: Op.Reduce(one(), loop(2, 0), arg=ReduceArg(Op.Max)),
        int32,
        (2, 3),
        "CPU",
        None,
    ),
    "Function": (
        lambda: Op.Function(BODY, const_like(1, int32, (5,)), *[number(5)] * 2, *[many()] * 6, number(5)),
        void,
        None,
        TWO,
        None,
    ),
    "Call": (lambda: Op.Call(Op.CustomFunction(arg="f"), one()), void, None, "CPU", None),
    "Tuple": (lambda: Op.Tuple(one(), number(1)), void, None, "CPU", None),
    "GetTuple": (lambda: Op.GetTuple(Op.Tuple(number(1), many()), arg=1), int32, (4, 6), TWO, 1),
    "Load": (lambda: Op.Load(B), int32, (6,), "CPU", None),
    "Load keeps": (lambda: Op.Load(B2, arg=LoadArg(addrspace="LOCAL")), int32, (12,), TWO, 0),
    "Load to one": (lambda: Op.Load(B2, arg=LoadArg("GPU")), int32, (12,), "GPU", None),
    "Load to two": (lambda: Op.Load(B, arg=LoadArg(TWO)), int32, (6,), TWO, 0),
    "Store": (lambda: STORE, void, None, "CPU", None),
    "Range": (lambda: loop(4, 0), index, (), None, None),
    "End": (lambda: Op.End(STORE, loop(4, 0)), void, None, "CPU", None),
    "After": (lambda: Op.After(B2, Op.Group()), int32, (12,), TWO, 0),
    "Group": (Op.Group, void, None, None, None),
    "Group of stores": (lambda: Op.Group(STORE), void, None, "CPU", None),
    "Sink": (lambda: Op.Sink(STORE), void, None, "CPU", None),
    "Linear": (lambda: Op.Linear(STORE), void, None, "CPU", None),
    "Contiguous": (lambda: Op.Contiguous(many()), int32, (4, 6), TWO, 1),
    "ContiguousBackward": (lambda: Op.ContiguousBackward(many()), int32, (4, 6), TWO, 1),
    "Detach": (lambda: Op.Detach(many()), int32, (4, 6), TWO, 1),
    "Cast": (lambda: Op.Cast(many(), arg=int8), int8, (4, 6), TWO, 1),
    "Where": (lambda: Op.Where(const_like(True, bool_, (4, 6)), many(), many(slot=1)), int32, (4, 6), TWO, 1),
    "Barrier": (lambda: Op.Barrier(STORE), void, None, "CPU", None),
    "Ins": (lambda: Op.Ins(arg="s_nop"), void, None, None, None),
    "Special": (lambda: Op.Special(number(4), arg="gidx0"), index, (), None, None),
    "If": (lambda: Op.If(const(True, bool_)), void, None, None, None),
    "Endif": (lambda: Op.Endif(Op.If(const(True, bool_))), void, None, None, None),
    "Wmma": (
        lambda: Op.Wmma(F16, F16, param(1, float32, (8,), device="CUDA"), arg=WMMA),
        float32,
        (8,),
        "CUDA",
        None,
    ),
    "Custom": (lambda: Op.Custom(arg=""), void, None, None, None),
    "AtomicAdd": (lambda: Op.AtomicAdd(B, const_like(1, int32, (6,))), void, None, "CPU", None),
    "CustomFunction": (lambda: Op.CustomFunction(arg="f"), void, None, None, None),
    "Program": (lambda: PROGRAM, void, None, None, None),
    "Source": (lambda: Op.Source(arg=""), void, None, None, None),
}


def const_like(value: int | bool = 1, dtype: DType = int32, shape: Shape = (2, 3)) -> UOp:
    return broadcast_to(const(value, dtype), shape)


COMPARISONS = (Op.CmpLt, Op.CmpNe, Op.CmpGt, Op.CmpGe, Op.CmpLe, Op.CmpEq)
ALU = [
    op for op in (*group_of("elementwise", "decomposed"), Op.CDiv, Op.CMod) if op not in (Op.Cast, Op.Where)
]


def _admitted(op: Op) -> DType:
    from soundline.spec.dtypes import uint64

    for dtype in (int32, float32, bool_, uint64):
        try:
            op(*[param(k, dtype) for k in range(len(TABLE[op].sources))])
        except IllFormed:
            continue
        return dtype
    raise AssertionError(op)


def _alu_row(op: Op) -> Row:
    dtype = _admitted(op)
    operands = [many(slot=k, dtype=dtype) for k in range(len(TABLE[op].sources))]
    result = bool_ if op in COMPARISONS else dtype
    return (lambda: op(*operands)), result, (4, 6), TWO, 1


ROWS |= {op.name: _alu_row(op) for op in ALU}


@pytest.mark.parametrize("name", ROWS)
def test_the_four_properties_of_a_row(name: str) -> None:
    build, dtype, shape, device, axis = ROWS[name]
    node = build()
    assert (node.dtype, node.shape, node.device, node.axis) == (dtype, shape, device, axis)
    assert name.split(maxsplit=1)[0] == node.op.name


def test_every_op_has_its_laws_and_a_row() -> None:
    assert {name.split()[0] for name in ROWS} == {op.name for op in Op}
    assert set(DTYPE) == set(SHAPE) == set(Op)
    assert set(DEVICE) == set(AXIS) == set(Op)
    assert all(tuple(e.laws) == PROPERTIES for e in TABLE.values())


def test_every_op_with_a_value_has_its_bounds() -> None:
    assert all(MIN_MAX[op] is e.bounds.of for op, e in TABLE.items() if e.bounds is not None)
    assert {Op.Add, Op.Const, Op.Where, Op.Reduce, Op.Param} <= MIN_MAX.keys()
    assert MIN_MAX.keys().isdisjoint((Op.Store, Op.End, Op.Sink))


# Symbolic shapes --------------------------------------------------------------------------------------------------


def test_shapes_keep_their_symbols() -> None:
    x = param(0, int32, (N, 4))
    assert Op.Permute(x, arg=(1, 0)).shape == (4, N)
    assert Op.Stack(x, x).shape == (2, N, 4)
    assert Op.Reduce(x, arg=ReduceArg(Op.Add, (0,))).shape == (1, 4)
    narrowed = Op.Bitcast(param(0, int32, (N,)), arg=int8).shape
    assert substitute_size(narrowed[0], 3) == 12
    widened = Op.Bitcast(param(0, int8, (N,)), arg=int32).shape
    assert substitute_size(widened[0], 12) == 3
    between = Op.Bitcast(param(0, int16, (N,)), arg=int64).shape
    assert substitute_size(between[0], 12) == 3
    assert substitute_size(element_count(x), 5) == 20
    assert element_count(one()) == 6


def substitute_size(size: object, n: int) -> int:
    from soundline.spec.evaluate import evaluate

    assert isinstance(size, UOp)
    return int(evaluate(size, {9: n}).item())


def test_the_elements_of_a_function_have_the_arguments_in_their_shape() -> None:
    x = param(0, int32, (N,))
    called = Op.Function(Op.Tuple(Op.Stack(x, x)), one(int32, (5,)), *[number(0)] * 8, number(5))
    assert Op.GetTuple(called, arg=0).shape == (2, 5)
    outer = param(1, index)
    symbolic = Op.Call(Op.Tuple(x), param(2, int32, (outer,)), *[number(0)] * 8, outer)
    assert Op.GetTuple(symbolic, arg=0).shape == (outer,)


def test_a_nested_function_binds_its_own_params() -> None:
    inner = Op.GetTuple(
        Op.Function(Op.Tuple(param(0, int32, (N,))), one(int32, (3,)), *[number(0)] * 8, number(3)), arg=0
    )
    assert inner.shape == (3,)
    outer = Op.Function(Op.Tuple(Op.Add(inner, param(0, int32, (3,)))), one(int32, (3,)))
    assert Op.GetTuple(outer, arg=0).shape == (3,)


# Disagreement -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("build", "rule"),
    [
        (lambda: Op.Add(one(), param(1, int32, (2, 3), device="GPU")), "uop-add-device"),
        (
            lambda: Op.Where(param(0, bool_, (), device="A"), *[param(1, int32, device="B")] * 2),
            "uop-where-device",
        ),
        (lambda: Op.Stack(one(), param(1, int32, (2, 3), device=TWO)), "uop-stack-device"),
        (lambda: Op.Add(many(), many(axis=0, slot=1)), "uop-add-axis"),
        (lambda: Op.Stack(many(), many(axis=0, slot=1)), "uop-stack-axis"),
        (lambda: Op.Index(one(), param(1, index, device="GPU")), "uop-index-device"),
        (lambda: Op.Index(many((5, 6), 1), POSITIONS), "uop-index-axis"),
        (lambda: Op.Index(many((5, 6), None), POSITIONS, POSITIONS), "uop-index-axis"),
        (lambda: Op.Slice(B, param(1, index, device="GPU"), arg=SliceArg(1, int32)), "uop-slice-device"),
        (lambda: reshape(one((int32), (N,)), (param(1, index, device="GPU"),)), "uop-reshape-device"),
        (lambda: Op.Load(B, one(int32, (6,)), param(1, bool_, device="GPU")), "uop-load-device"),
        (lambda: Op.Load(B, param(1, int32, (6,), device="GPU"), const(True, bool_)), "uop-load-device"),
        (lambda: Op.Load(many(), many(axis=0), const(True, bool_)), "uop-load-axis"),
        (lambda: Op.Store(B, param(1, int32, (6,), device="GPU")), "uop-store-device"),
        (lambda: Op.Store(B, one(int32, (6,)), param(1, bool_, device="GPU")), "uop-store-device"),
        (lambda: Op.Store(reshape(B2, (2, 6)), many((2, 6), 1)), "uop-store-axis"),
        (lambda: Op.Store(many((4, 6), None), many((4, 6), 1, slot=1)), "uop-store-axis"),
        (lambda: Op.AtomicAdd(B, param(1, int32, (6,), device="GPU")), "uop-atomicadd-device"),
        (lambda: Op.AtomicAdd(many((4, 6), None), many((4, 6), 1, slot=1)), "uop-atomicadd-axis"),
    ],
)
def test_sources_that_disagree_are_ill_formed(build: Callable[[], UOp], rule: str) -> None:
    with pytest.raises(IllFormed) as refused:
        build()
    assert refused.value.rule == rule


def test_a_null_device_or_axis_agrees_with_any() -> None:
    assert Op.Add(one(), const_like()).device == "CPU"
    assert Op.Add(const_like(), one()).device == "CPU"
    replicated = many((4, 6), None, 1)
    assert Op.Add(many(), replicated).axis == 1
    assert Op.Add(replicated, many()).axis == 1
    assert Op.Add(replicated, replicated).axis is None


def test_axes_of_one_device_need_not_agree() -> None:
    x, y = (param(0, int32, (4, 6), device=("CPU:0",), axis=axis) for axis in (0, 1))
    assert Op.Add(x, y).axis == 0
    assert Op.Stack(y, x).axis == 2
    assert Op.Store(x, y).axis is None
    assert Op.Store(param(2, int32, (4, 6), device=("CPU:0",)), y).axis is None
    assert Op.Index(y, param(1, index, (2,), device=("CPU:0",), axis=0)).axis == 0
    anywhere = [param(0, int32, (4, 6), axis=axis) for axis in (0, 1)]
    with pytest.raises(IllFormed) as refused:
        Op.Add(*anywhere)
    assert refused.value.rule == "uop-add-axis"


def test_a_store_takes_what_every_device_holds() -> None:
    assert Op.Store(many(), many(axis=None, slot=1)).device == TWO
    assert Op.Store(many(), many(slot=1)).device == TWO
    assert Op.Store(many(), const_like(1, int32, (4, 6)), const(True, bool_)).axis is None


def test_no_device_is_a_tuple_of_none() -> None:
    for build in (
        lambda: buffer(0, 4, int32, device=()),
        lambda: param(0, int32, (), device=()),
        lambda: Op.Load(B, arg=LoadArg(())),
    ):
        with pytest.raises(IllFormed) as refused:
            build()
        assert refused.value.rule.endswith("-arg")


def test_an_effect_or_tuple_over_several_devices_has_none() -> None:
    elsewhere = param(1, int32, (2, 3), device="GPU")
    assert Op.Tuple(one(), elsewhere).device is None
    assert Op.Tuple(one(), const_like()).device == "CPU"
    assert Op.GetTuple(Op.Tuple(one(), elsewhere), arg=1).device == "GPU"


def test_an_element_of_a_function_has_the_device_and_axis_of_its_arguments() -> None:
    anywhere = param(0, int32, (4, 6), axis=1)
    doubled = Op.Function(Op.Tuple(Op.Add(anywhere, anywhere)), many())
    assert Op.GetTuple(doubled, arg=0).device == TWO
    assert Op.GetTuple(doubled, arg=0).axis == 1
    moved = Op.Function(Op.Tuple(Op.Load(param(0, int32, (2, 3)), arg=LoadArg("GPU"))), one())
    assert (moved.device, Op.GetTuple(moved, arg=0).device) == (None, "GPU")
    opaque = Op.Call(Op.Tuple(param(0, int32, (2, 3))), one())
    assert Op.GetTuple(opaque, arg=0).device == "CPU"


# Nodes ------------------------------------------------------------------------------------------------------------


def test_equal_tuples_are_one_node() -> None:
    assert Op.Add(one(), one()) is Op.Add(one(), one())
    assert Op.Add(one(), one(slot=1)) is not Op.Add(one(slot=1), one())
    assert const(1, int32) is const(1, int32)
    five = [
        const(1, int32),
        const(1.0, float32),
        const(True, bool_),
        const(-0.0, float32),
        const(float("nan"), float32),
    ]
    assert len({id(n) for n in five}) == 5
    assert const(float("nan"), float32) is const(-float("nan"), float32)
    assert const(0.0, float32) is not const(-0.0, float32)
    assert const(1, int8) is not const(1, int32)


def test_a_range_is_told_apart_by_its_id_and_a_buffer_by_its_slot() -> None:
    assert loop(4, 0) is not loop(4, 1)
    assert loop(4, 0) is loop(4, 0)
    assert loop(4, 0) is not loop(4, 0, AxisType.REDUCE)
    assert Op.Range(number(4), arg=RangeArg(0)) is loop(4, 0)
    assert buffer(0, 4, int32) is not buffer(1, 4, int32)


@pytest.mark.parametrize("tag", [[], {}, ("seen", []), bytearray(b"seen")], ids=repr)
def test_a_tag_that_cannot_be_hashed_is_refused(tag: object) -> None:
    for build in (lambda: Op.Add(one(), one(), tag=tag), lambda: UOp(Op.Const, (), const(1, int8).arg, tag)):
        with pytest.raises(IllFormed) as refused:
            build()
        assert refused.value.rule == "U-21"
        assert repr(tag) in refused.value.given
    with pytest.raises(IllFormed) as refused:
        Op.Permute(many(), arg=[1, 0], tag=tag)
    assert refused.value.rule == "uop-permute-arg", "the arg is looked at first"
    kept = ("seen", (), frozenset((3,)))
    assert Op.Add(one(), one(), tag=kept) is Op.Add(one(), one(), tag=kept)


def test_a_tag_is_part_of_the_node_but_not_of_its_meaning() -> None:
    tagged = Op.Add(one(), one(), tag="seen")
    assert tagged is not Op.Add(one(), one())
    assert tagged.tag == "seen"
    assert tagged.shape == (2, 3)


def test_a_node_is_immutable_and_survives_pickling() -> None:
    import pickle

    node = Op.Add(one(), const_like())
    with pytest.raises(AttributeError):
        node.op = Op.Mul
    assert pickle.loads(pickle.dumps(node)) is node


def test_toposort_gives_sources_first_and_each_node_once() -> None:
    shared = Op.Add(one(), one())
    root = Op.Mul(shared, shared)
    order = list(toposort(root))
    assert len(order) == len(set(order))
    assert order[-1] is root
    assert all(order.index(s) < order.index(n) for n in order for s in n.src)


def test_substitution_rebuilds_and_rechecks() -> None:
    x = param(0, int32, (N,))
    root = Op.Add(reshape(x, (N,)), x)
    assert substitute(root, {N: number(4)}).shape == (4,)
    assert substitute(root, {}) is root
    with pytest.raises(IllFormed) as refused:
        substitute(reshape(pad(x, (0,), (5,)), (5, 1)), {N: number(6)})
    assert refused.value.rule == "uop-pad-c2"


def test_broadcasting_and_builders() -> None:
    assert broadcast_to(const(1, int32), (2, 3)).shape == (2, 3)
    assert broadcast_to(param(0, int32, (3,)), (2, 3)).shape == (2, 3)
    x = one()
    assert broadcast_to(x, (2, 3)) is x
    assert broadcast_to(param(0, int32, (1, 3)), (2, 3)).shape == (2, 3)
    assert tensor([[1, 2], [3, 4]]).shape == (2, 2)
    assert tensor(5).shape == ()
    assert tensor([1.0], float32).dtype is float32
    assert shape_source((2, N)).src[1] is N


def test_sizes_are_numbers_where_their_symbols_cancel() -> None:
    from soundline.spec.ops.sizes import as_condition_node, as_size, at_most, equal

    assert as_size(Op.Sub(N, N)) == 0
    assert as_size(Op.Sub(Op.Add(N, number(3)), N)) == 3
    assert as_size(N) is N
    assert equal(Op.Add(N, number(1)), Op.Add(number(1), N)) is True
    assert equal(Op.Add(N, number(1)), N) is False
    assert at_most(N, Op.Add(N, number(1))) is True
    assert at_most(Op.Add(N, number(1)), N) is False
    undecided = equal(N, 4)
    assert isinstance(undecided, UOp)
    assert as_condition_node(undecided) is undecided
    assert as_condition_node(True) is const(True, bool_)
