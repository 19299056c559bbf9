"""Laws of the specification on random programs and values, with numpy as the oracle where the law is the same."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from soundline.spec.arrays.arrays import Array
from soundline.spec.dtypes import (
    DType,
    Element,
    all_dtypes,
    bool_,
    float16,
    float32,
    float64,
    floats,
    from_bits,
    index,
    int8,
    int32,
    ints,
    lossless,
    order,
    round_to,
    same_value,
    to_bits,
    to_numpy,
    uint8,
    uint64,
)
from soundline.spec.evaluate import evaluate, execute
from soundline.spec.ops.bounds import min_max
from soundline.spec.ops.elementwise.conversion import cast
from soundline.spec.ops.table import Op
from soundline.spec.uop import (
    AxisType,
    ReduceArg,
    UOp,
    buffer,
    const,
    expand,
    loop,
    pad,
    param,
    reshape,
    shrink,
)
from soundline.spec.values.elementwise import scalar

QUICK = settings(max_examples=60, deadline=None)
STORED = [d for d in all_dtypes if d is not index]


def elements(dtype: DType) -> st.SearchStrategy[Element]:
    """Any element of a dtype, by its bits; index by its value."""
    if dtype is index:
        return st.integers(-(2**70), 2**70)
    return st.integers(0, (1 << dtype.bits) - 1 if dtype is not bool_ else 1).map(
        lambda n: from_bits(dtype, n)
    )


def shapes(most: int = 3) -> st.SearchStrategy[tuple[int, ...]]:
    return st.lists(st.integers(0, 3), max_size=most).map(tuple)


@st.composite
def arrays(
    draw: st.DrawFn, dtypes: list[DType], shape: st.SearchStrategy[tuple[int, ...]] | None = None
) -> Array:
    dtype = draw(st.sampled_from(dtypes))
    size = draw(shapes() if shape is None else shape)
    count = math.prod(size)
    return Array(dtype, size, tuple(draw(st.lists(elements(dtype), min_size=count, max_size=count))))


def leaf(array: Array, slot: int = 0) -> UOp:
    return param(slot, array.dtype, array.shape)


# Elements ---------------------------------------------------------------------------------------------------------


@QUICK
@given(st.data(), st.sampled_from(STORED))
def test_bits_round_trip(data: st.DataObject, dtype: DType) -> None:
    x = data.draw(elements(dtype))
    assert same_value(dtype, from_bits(dtype, to_bits(dtype, x)), x)
    n = data.draw(st.integers(0, (1 << dtype.bits) - 1)) if dtype is not bool_ else int(bool(x))
    value = from_bits(dtype, n)
    assert to_bits(dtype, value) == n or (isinstance(value, float) and math.isnan(value))


@QUICK
@given(st.sampled_from(floats), st.floats(allow_nan=False), st.floats(allow_nan=False))
def test_rounding_is_monotone_and_idempotent(dtype: DType, x: float, y: float) -> None:
    low, high = sorted((x, y), key=order)
    a, b = round_to(dtype, low), round_to(dtype, high)
    if not math.isnan(a) and not math.isnan(b):
        assert order(a) <= order(b)
    for v in (a, b):
        assert same_value(dtype, round_to(dtype, v), v)


@QUICK
@given(st.data(), st.sampled_from(all_dtypes), st.sampled_from(all_dtypes))
def test_a_lossless_cast_comes_back(data: st.DataObject, source: DType, target: DType) -> None:
    if lossless(source, target):
        x = data.draw(elements(source))
        assert same_value(source, cast(target, cast(source, x, target), source), x)


# Elementwise ------------------------------------------------------------------------------------------------------

NUMPY: dict[Op, Callable[..., Any]] = {
    Op.Add: np.add,
    Op.Sub: np.subtract,
    Op.Mul: np.multiply,
    Op.Neg: np.negative,
    Op.Xor: np.bitwise_xor,
    Op.And: np.bitwise_and,
    Op.Or: np.bitwise_or,
    Op.CmpLt: np.less,
    Op.CmpLe: np.less_equal,
    Op.CmpEq: np.equal,
    Op.CmpNe: np.not_equal,
    Op.Trunc: np.trunc,
    Op.Sqrt: np.sqrt,
    Op.Div: np.divide,
}
OF_INTS = [op for op in NUMPY if op not in (Op.Trunc, Op.Sqrt, Op.Div)]
OF_FLOATS = [op for op in NUMPY if op not in (Op.Xor, Op.And, Op.Or)]


@st.composite
def operations(draw: st.DrawFn) -> tuple[Op, list[Array]]:
    """An op that numpy has too, with operands."""
    dtype = draw(st.sampled_from([*ints, float16, float32, float64]))
    op = draw(st.sampled_from(OF_FLOATS if dtype.is_float else OF_INTS))
    shape = st.just(draw(shapes()))
    count = 1 if op in (Op.Neg, Op.Trunc, Op.Sqrt) else 2
    return op, [draw(arrays([dtype], shape)) for _ in range(count)]


@QUICK
@given(operations())
def test_elementwise_ops_are_those_of_numpy(case: tuple[Op, list[Array]]) -> None:
    op, operands = case
    node = op(*(leaf(a, k) for k, a in enumerate(operands)))
    with np.errstate(all="ignore"):
        theirs = NUMPY[op](*(a.to_numpy() for a in operands))
    assert evaluate(node, dict(enumerate(operands))) == Array.from_numpy(np.asarray(theirs))


@QUICK
@given(st.data(), st.sampled_from([Op.Idiv, Op.CDiv]), st.sampled_from([*ints, index]))
def test_quotient_and_remainder_belong_together(data: st.DataObject, op: Op, dtype: DType) -> None:
    a, b = data.draw(elements(dtype)), data.draw(elements(dtype))
    quotient = scalar(op, dtype, a, b)
    remainder = scalar(Op.Mod if op is Op.Idiv else Op.CMod, dtype, a, b)
    assert scalar(Op.Add, dtype, scalar(Op.Mul, dtype, quotient, b), remainder) == a
    if b != 0:
        assert abs(remainder) < abs(b)
        assert remainder == 0 or (remainder < 0) == ((b if op is Op.Idiv else a) < 0)


@QUICK
@given(st.data(), st.sampled_from(all_dtypes))
def test_max_is_commutative_associative_and_idempotent(data: st.DataObject, dtype: DType) -> None:
    a, b, c = (data.draw(elements(dtype)) for _ in range(3))

    def greater(x: Element, y: Element) -> Element:
        return scalar(Op.Max, dtype, x, y)

    assert same_value(dtype, greater(a, b), greater(b, a))
    assert same_value(dtype, greater(a, greater(b, c)), greater(greater(a, b), c))
    assert same_value(dtype, greater(a, a), a)


# Movement ---------------------------------------------------------------------------------------------------------


@QUICK
@given(st.data(), arrays([int8, float16, bool_, index]))
def test_a_permutation_is_undone_by_its_inverse(data: st.DataObject, x: Array) -> None:
    forth = tuple(data.draw(st.permutations(range(len(x.shape)))))
    back = tuple(forth.index(k) for k in range(len(forth)))
    moved = Op.Permute(leaf(x), arg=forth)
    assert evaluate(Op.Permute(moved, arg=back), {0: x}) == x
    if x.dtype is not index:
        assert np.array_equal(
            evaluate(moved, {0: x}).to_numpy(), x.to_numpy().transpose(forth), equal_nan=x.dtype.is_float
        )


@QUICK
@given(st.data(), arrays([int8, float16, bool_]))
def test_shrink_undoes_pad_and_pad_fills_with_zero(data: st.DataObject, x: Array) -> None:
    margins = [(data.draw(st.integers(0, 2)), data.draw(st.integers(0, 2))) for _ in x.shape]
    offset = tuple(before for before, _ in margins)
    shape = tuple(b + size + a for size, (b, a) in zip(x.shape, margins, strict=True))
    grown = pad(leaf(x), offset, shape)
    assert evaluate(shrink(grown, offset, x.shape), {0: x}) == x
    if margins:  # numpy pads no scalars
        assert Array.from_numpy(np.pad(x.to_numpy(), margins)) == evaluate(grown, {0: x})


@QUICK
@given(st.data(), arrays([int8]))
def test_reshapes_compose_and_flips_undo_themselves(data: st.DataObject, x: Array) -> None:
    flags = tuple(data.draw(st.lists(st.booleans(), min_size=len(x.shape), max_size=len(x.shape))))
    flipped = Op.Flip(leaf(x), arg=flags)
    assert evaluate(Op.Flip(flipped, arg=flags), {0: x}) == x
    flat = (len(x.elements),)
    assert evaluate(reshape(reshape(leaf(x), flat), x.shape), {0: x}) == x
    assert evaluate(reshape(flipped, flat), {0: x}).elements == evaluate(flipped, {0: x}).elements


@QUICK
@given(st.data(), arrays([int8], shapes(2)))
def test_expand_repeats_and_index_picks(data: st.DataObject, x: Array) -> None:
    count = data.draw(st.integers(0, 3))
    wide = expand(reshape(leaf(x), (1, *x.shape)), (count, *x.shape))
    assert np.array_equal(evaluate(wide, {0: x}).to_numpy(), np.broadcast_to(x.to_numpy(), (count, *x.shape)))
    if count:
        k = data.draw(st.integers(0, count - 1))
        assert evaluate(Op.Index(wide, const(k, index)), {0: x}) == x


@QUICK
@given(st.data(), arrays([int8, float16], shapes(2)))
def test_elementwise_ops_commute_with_movement(data: st.DataObject, x: Array) -> None:
    order_ = tuple(data.draw(st.permutations(range(len(x.shape)))))
    p = leaf(x)
    assert evaluate(Op.Neg(Op.Permute(p, arg=order_)), {0: x}) == evaluate(
        Op.Permute(Op.Neg(p), arg=order_), {0: x}
    )


# Reduce -----------------------------------------------------------------------------------------------------------


@QUICK
@given(st.data(), arrays([int8, uint8, uint64, bool_]), st.sampled_from([Op.Add, Op.Mul, Op.Max]))
def test_reductions_of_whole_numbers_are_those_of_numpy(data: st.DataObject, x: Array, op: Op) -> None:
    if op is Op.Add and x.dtype is bool_:
        return
    axes = tuple(data.draw(st.lists(st.integers(0, len(x.shape) - 1), unique=True))) if x.shape else ()
    theirs = {Op.Add: np.add, Op.Mul: np.multiply, Op.Max: np.maximum}[op]
    if x.dtype is bool_:
        theirs = {Op.Mul: np.logical_and, Op.Max: np.logical_or}[op]
    found = evaluate(Op.Reduce(leaf(x), arg=ReduceArg(op, axes)), {0: x})
    start = {"initial": x.dtype.min} if op is Op.Max and x.dtype is not bool_ else {}
    kind = {} if op is Op.Max or x.dtype is bool_ else {"dtype": to_numpy(x.dtype)}
    wanted = theirs.reduce(x.to_numpy(), axis=axes, keepdims=True, **start, **kind)
    assert found == Array.from_numpy(np.asarray(wanted))


@QUICK
@given(
    arrays([float16, float32], st.tuples(st.integers(0, 2), st.integers(0, 4))),
    st.sampled_from([Op.Add, Op.Max]),
)
def test_reducing_axes_or_ranges_is_one_reduction(x: Array, op: Op) -> None:
    i, j = loop(x.shape[0], 0), loop(x.shape[1], 1)
    over_axes = Op.Reduce(leaf(x), arg=ReduceArg(op, (0, 1)))
    over_ranges = Op.Reduce(Op.Index(leaf(x), i, j), i, j, arg=ReduceArg(op))
    assert evaluate(reshape(over_axes, ()), {0: x}) == evaluate(over_ranges, {0: x})


# Memory -----------------------------------------------------------------------------------------------------------


@QUICK
@given(st.data(), st.sampled_from(STORED))
def test_memory_gives_back_what_was_stored(data: st.DataObject, dtype: DType) -> None:
    x = data.draw(arrays([dtype], st.tuples(st.integers(0, 5))))
    place = buffer(7, x.shape[0], dtype)
    stored = Op.Store(place, leaf(x))
    assert evaluate(Op.Load(Op.After(place, stored)), {0: x}) == x
    assert execute(stored, params={0: x})[7] == x


@QUICK
@given(st.data(), st.sampled_from(list(AxisType)))
def test_a_loop_of_scalar_stores_is_one_store(data: st.DataObject, kind: AxisType) -> None:
    n = data.draw(st.integers(0, 5))
    x = data.draw(arrays([int8], st.just((n,))))
    order_ = data.draw(st.permutations(range(n)))
    place = buffer(7, n, int8)
    r = loop(n, 0, kind)
    where = Op.Index(param(1, index, (n,)), r)
    scattered = Op.End(Op.Store(Op.Index(place, where), Op.Index(leaf(x), where)), r)
    assert execute(scattered, params={0: x, 1: Array(index, (n,), tuple(order_))})[7] == x


@QUICK
@given(st.data())
def test_a_linear_leaves_what_its_sink_leaves(data: st.DataObject) -> None:
    """Straight-line programs: stores, each after the one before, in the order of the Linear."""
    place, steps = buffer(0, 3, int32), []
    version: UOp = place
    for _ in range(data.draw(st.integers(1, 5))):
        source, target = data.draw(st.integers(0, 2)), data.draw(st.integers(0, 2))
        read = Op.Load(Op.Index(version, const(source, index)))
        value = Op.Add(Op.Mul(read, const(3, int32)), const(data.draw(st.integers(-5, 5)), int32))
        step = Op.Store(Op.Index(version, const(target, index)), value)
        steps += [read, value, step]
        version = Op.After(version, step)
    start = {0: data.draw(arrays([int32], st.just((3,))))}
    assert execute(Op.Linear(*steps), start)[0] == execute(Op.Sink(steps[-1]), start)[0]


# Bounds -----------------------------------------------------------------------------------------------------------


@QUICK
@given(st.data(), st.sampled_from([int8, uint8, float16, index]))
def test_values_lie_in_their_bounds(data: st.DataObject, dtype: DType) -> None:
    binary = [Op.Add, Op.Sub, Op.Mul, Op.Max]
    binary += [] if dtype.is_float else [Op.Idiv, Op.Mod]
    values: dict[int, Element] = {}
    node: UOp | None = None
    for slot in range(3):
        ends = [data.draw(elements(dtype).filter(lambda v: v == v)) for _ in range(3)]
        low, value, high = sorted(ends, key=order)
        values[slot] = value
        leaf_ = param(slot, dtype, bounds=(low, high))
        node = leaf_ if node is None else data.draw(st.sampled_from(binary))(node, leaf_)
    assert node is not None
    found = evaluate(node, {k: Array(dtype, (), (v,)) for k, v in values.items()}).item()
    known = min_max(node)
    assert known is not None
    assert known.maybe_nan if found != found else order(known.lo) <= order(found) <= order(known.hi)
