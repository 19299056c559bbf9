"""The adjoint of every op: against central differences, exactly over fractions, and at the edges; and the checker
itself against adjoints that are wrong."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
import pytest

from soundline.spec.arrays.arrays import Array
from soundline.spec.dtypes import (
    DType,
    bfloat16,
    bool_,
    float8_e4m3fn,
    float16,
    float32,
    float64,
    floats,
    index,
    int32,
    int64,
)
from soundline.spec.errors import EvaluationError, GradientError
from soundline.spec.evaluate import evaluate
from soundline.spec.gradients import backward
from soundline.spec.gradients import table as adjoints
from soundline.spec.gradients.backward import gradient
from soundline.spec.gradients.table import ADJOINTS
from soundline.spec.ops.adjoints import (
    Adjoint,
    Law,
    Nothing,
    Passes,
    Refused,
    Through,
    kept,
    never,
    unchanged,
)
from soundline.spec.ops.programs.reduction import diagonal, others
from soundline.spec.ops.table import TABLE, Op
from soundline.spec.uop import (
    ReduceArg,
    SliceArg,
    UOp,
    WmmaArg,
    broadcast_to,
    buffer,
    const,
    expand,
    loop,
    param,
    reshape,
    shrink,
    tensor,
    toposort,
)

from .adjoint_cases import CALLED, MOVED, NOT_READ, REDUCED, SMOOTH, Case, check, mask, number, reduced

NAN, INF = math.nan, math.inf
CASES = (*SMOOTH, *MOVED, *REDUCED, *CALLED, *NOT_READ)


def total(x: UOp) -> UOp:
    """The sum of all elements, as a scalar."""
    return reshape(reduced(Op.Add, *range(len(x.shape or ())))(x), ())


def taken(y: UOp, x: UOp, *bound: Any, seed: Any = None) -> list[float]:
    """The gradient of y, or of Σ seed·y, by x."""
    given = None if seed is None else tensor(seed, y.dtype)
    (found,) = gradient(y, [x], given)
    assert (found.shape, found.dtype) == (x.shape, x.dtype)
    return list(evaluate(found, dict(enumerate(bound))).elements)  # type: ignore[arg-type]


def refused(rule: str, run: Callable[[], object]) -> GradientError:
    with pytest.raises(GradientError) as caught:
        run()
    assert caught.value.rule == rule
    return caught.value


# The table --------------------------------------------------------------------------------------------------------


def test_every_op_has_exactly_one_adjoint() -> None:
    assert set(ADJOINTS) == set(TABLE)
    assert all(law.formula and not law.formula.endswith(".") for law in ADJOINTS.values())
    assert TABLE[Op.Mul].law_id("adjoint") == "uop-mul-adjoint"


def test_every_adjoint_that_passes_something_has_a_case() -> None:
    shown = {case.op for case in CASES}
    assert {op for op, law in ADJOINTS.items() if isinstance(law, Passes | Through)} == shown


def test_an_op_without_floats_passes_nothing() -> None:
    """An op whose sources or whose value cannot be floats has no derivative to pass (U-33)."""
    for op, law in ADJOINTS.items():
        laws = TABLE[op].laws
        if laws["dtype"] in ("bool", "index", "uint8"):
            assert isinstance(law, Nothing), op
        if laws["dtype"] == "void":
            assert not isinstance(law, Passes), op
        assert (law.formula == "nothing: it has no value") == (
            laws["dtype"] == "void" and op not in (Op.Tuple, Op.Function, Op.Call, Op.Source)
        ), op
        if isinstance(law, Refused):
            assert law.formula.startswith("an error")


# Right and wrong adjoints -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", CASES, ids=repr)
def test_the_gradient_is_the_derivative(case: Case) -> None:
    check(case)


def check_all(cases: Iterable[Case]) -> None:
    for case in cases:
        check(case)
    check_ties()


def _changed(law: Law, position: int, change: Callable[[UOp], UOp | None]) -> Law:
    """The law with what one source receives changed."""

    def wrong(node: UOp, g: UOp) -> list[UOp | None]:
        parts = list(law(node, g))
        if g.dtype.is_float and position < len(parts):
            part = parts[position]
            parts[position] = None if part is None else change(part)
        return parts

    return wrong


CHANGES: dict[str, Callable[[UOp], UOp | None]] = {
    "negated": Op.Neg,
    "doubled": lambda part: Op.Add(part, part),
    "missing": lambda part: None,
    "shifted": lambda part: Op.Add(part, broadcast_to(const(1.0, part.dtype), part.shape or ())),
}


def _mutants() -> Iterator[Any]:
    for op, law in ADJOINTS.items():
        if not isinstance(law, Passes):
            continue
        for position in range(min(len(TABLE[op].sources), 3)):
            if (op, position) in UNDIFFERENTIATED:
                continue
            for name, change in CHANGES.items():
                wrong = dataclasses.replace(law, law=_changed(law.law, position, change))
                yield pytest.param(op, wrong, id=f"{op.name}-{position}-{name}")
        if law.scales:
            yield pytest.param(op, dataclasses.replace(law, scales=False), id=f"{op.name}-unmasked")
        if law.readable is not unchanged:
            yield pytest.param(op, dataclasses.replace(law, readable=unchanged), id=f"{op.name}-all read")
        if law.narrows is not never:
            yield pytest.param(op, dataclasses.replace(law, narrows=never), id=f"{op.name}-not narrowing")


UNDIFFERENTIATED = {
    (Op.Where, 0),
    (Op.Reshape, 1),
    (Op.Expand, 1),
    *((op, k) for op in (Op.Pad, Op.Shrink) for k in (1, 2)),
    (Op.Index, 1),
    (Op.Slice, 1),
    (Op.Reduce, 1),
    (Op.Load, 2),
    (Op.After, 1),
}
"""Sources that are no floats: conditions, shapes, offsets, indices, ranges, gates, effects."""


FOLD = ADJOINTS[Op.Reduce]
assert isinstance(FOLD, Passes)


def _wrong(op: Op, law: Law, name: str) -> Any:
    whole = ADJOINTS[op]
    assert isinstance(whole, Passes)
    return pytest.param(op, dataclasses.replace(whole, law=law), id=f"{op.name}-{name}")


def _unguarded(op: Op) -> Any:
    """Liveness that is routed by operands which may be invalid."""
    law = ADJOINTS[op]
    assert isinstance(law, Passes)
    return pytest.param(op, dataclasses.replace(law, live=law.law), id=f"{op.name}-unguarded")


def _quotient(node: UOp, g: UOp) -> list[UOp | None]:
    """The product of the others as a quotient by the element."""
    x = node.src[0]
    if node.arg.op is not Op.Mul or not g.dtype.is_float:
        return list(FOLD.law(node, g))
    return [Op.Mul(expand(g, x.shape or ()), Op.Div(expand(node, x.shape or ()), x))]


def _all_of_a_tie(node: UOp, g: UOp) -> list[UOp | None]:
    x = node.src[0]
    if node.arg.op is not Op.Max:
        return list(FOLD.law(node, g))
    greatest = Op.Not(Op.CmpLt(x, expand(node, x.shape or ())))
    return [kept(greatest, expand(g, x.shape or ()))]


HAND_MADE = [
    _wrong(
        Op.Max,
        lambda n, g: (kept(Op.CmpLt(n.src[1], n.src[0]), g), kept(Op.CmpLt(n.src[0], n.src[1]), g)),
        "drop",
    ),
    _wrong(Op.Max, lambda n, g: (g, kept(Op.CmpLt(n.src[0], n.src[1]), g)), "first takes all"),
    _wrong(
        Op.Max,
        lambda n, g: (kept(Op.CmpLt(n.src[0], n.src[1]), g), kept(Op.CmpLt(n.src[1], n.src[0]), g)),
        "swap",
    ),
    _wrong(Op.Where, lambda n, g: (None, g, g), "both"),
    _unguarded(Op.Max),
    _unguarded(Op.Where),
    _wrong(Op.Mul, lambda n, g: (Op.Mul(g, n.src[0]), Op.Mul(g, n.src[1])), "own factor"),
    _wrong(Op.Div, lambda n, g: (Op.Div(g, n.src[1]), Op.Neg(Op.Div(g, n.src[1]))), "no quotient"),
    _wrong(Op.Recip, lambda n, g: (Op.Neg(Op.Mul(g, n)),), "not squared"),
    _wrong(Op.Sqrt, lambda n, g: (Op.Div(g, n),), "no two"),
    _wrong(Op.Exp2, lambda n, g: (Op.Mul(g, n),), "no logarithm"),
    _wrong(Op.Log2, lambda n, g: (Op.Div(g, n.src[0]),), "no logarithm"),
    _wrong(Op.Permute, lambda n, g: (reshape(g, n.src[0].shape or ()),), "not inverted"),
    _wrong(Op.Flip, lambda n, g: (g,), "not reversed"),
    _wrong(Op.Reduce, _quotient, "quotient"),
    _wrong(Op.Reduce, _all_of_a_tie, "share of a tie"),
    _wrong(Op.Replicated, lambda n, g: (expand(g, n.src[0].shape or ()),), "weights"),
    _wrong(Op.Stack, lambda n, g: [Op.Index(g, number(0)) for _ in n.src], "first slice"),
    _wrong(Op.Cast, lambda n, g: (None,), "integers only"),
]


@pytest.mark.parametrize(("op", "wrong"), [*_mutants(), *HAND_MADE])
def test_the_checker_refuses_a_wrong_adjoint(op: Op, wrong: Adjoint, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(adjoints.ADJOINTS, op, wrong)
    using = [c for c in CASES if op in {n.op for n in toposort(c.y)}]
    with pytest.raises((AssertionError, EvaluationError)):
        check_all(using)


@pytest.mark.parametrize("op", [op for op, law in ADJOINTS.items() if isinstance(law, Passes)])
def test_the_checker_refuses_an_op_that_passes_nothing(op: Op, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(adjoints.ADJOINTS, op, Nothing("nothing, wrongly"))
    with pytest.raises(AssertionError):
        check_all(c for c in CASES if c.op is op)


@pytest.mark.parametrize("change", [CHANGES["negated"], CHANGES["doubled"]])
def test_the_checker_refuses_a_wrong_function(
    change: Callable[[UOp], UOp], monkeypatch: pytest.MonkeyPatch
) -> None:
    right = backward._through

    def wrong(node: UOp, g: Any, *rest: Any) -> Any:
        return [(s, dataclasses.replace(part, value=change(part.value))) for s, part in right(node, g, *rest)]

    monkeypatch.setattr(backward, "_through", wrong)
    for case in CALLED:
        with pytest.raises(AssertionError):
            check(case)


# Ties, zeros, and what is no number -------------------------------------------------------------------------------


def check_ties() -> None:
    a, b = param(0, float64, (4,)), param(1, float64, (4,))
    left, right = [1.0, 2.0, 0.0, -INF], [1.0, 3.0, -0.0, -INF]
    seed = [8.0, 4.0, 2.0, 6.0]
    assert taken(Op.Max(a, b), a, left, right, seed=seed) == [4.0, 0.0, 1.0, 3.0]
    assert taken(Op.Max(a, b), b, left, right, seed=seed) == [4.0, 4.0, 1.0, 3.0]
    rows = [[2.0, 5.0, 5.0, 1.0], [3.0, 3.0, 3.0, 3.0]]
    x = param(0, float64, (2, 4))
    greatest = reduced(Op.Max, 1)(x)
    assert taken(greatest, x, rows, seed=[[1.0], [6.0]]) == [0.0, 0.5, 0.5, 0.0, 1.5, 1.5, 1.5, 1.5]
    assert taken(Op.Max(a, a), a, left, seed=seed) == seed


def test_ties_share_equally_u33() -> None:
    check_ties()


def test_three_equal_greatest_elements_receive_the_rounded_third() -> None:
    for dtype in floats:
        x = param(0, dtype, (3,))
        third = evaluate(Op.Div(const(1.0, dtype), const(3.0, dtype))).item()
        assert taken(reshape(reduced(Op.Max, 0)(x), ()), x, [2.0, 2.0, 2.0]) == [third] * 3


def test_more_ties_than_a_narrow_float_can_count() -> None:
    """Adding ones, float8_e4m3fn stops at 16: the ties are counted as integers."""
    x = param(0, float8_e4m3fn, (32,))
    y = reshape(reduced(Op.Max, 0)(x), ())
    assert taken(y, x, [1.0] * 32) == [0.03125] * 32
    x = param(0, float8_e4m3fn, (512,))  # a count above the greatest number, 448
    y = reduced(Op.Max, 0)(x)
    assert taken(y, x, [1.0] * 512, seed=[64.0]) == [0.125] * 512


def test_nan_shares_like_a_tie() -> None:
    a, b = param(0, float64, (2,)), param(1, float64, (2,))
    assert taken(Op.Max(a, b), a, [NAN, 1.0], [1.0, NAN], seed=[1.0, 1.0]) == [0.5, 0.5]
    x = param(0, float64, (4,))
    assert taken(reshape(reduced(Op.Max, 0)(x), ()), x, [1.0, NAN, 5.0, 0.0]) == [0.25] * 4


@pytest.mark.parametrize(
    ("x", "wanted"),
    [
        ([2.0, 3.0, 5.0], [15.0, 10.0, 6.0]),
        ([0.0, 3.0, 5.0], [15.0, 0.0, 0.0]),
        ([0.0, 0.0, 5.0], [0.0, 0.0, 0.0]),
        ([0.0, INF, 5.0], [INF, 0.0, NAN]),
        ([2.0], [1.0]),
        ([], []),
    ],
)
def test_a_product_passes_the_product_of_the_others(x: list[float], wanted: list[float]) -> None:
    p = param(0, float64, (len(x),))
    found = taken(reshape(reduced(Op.Mul, 0)(p), ()), p, np.array(x, dtype=np.float64))
    assert np.array_equal(found, wanted, equal_nan=True)


def test_the_others_and_the_diagonal() -> None:
    for n in range(4):
        assert np.array_equal(evaluate(diagonal(n)).to_numpy(), np.eye(n, dtype=bool))
    x = np.arange(1.0, 13.0).reshape(2, 3, 2)
    found = evaluate(others(param(0, float64, (2, 3, 2)), (2, 0)), {0: x}).to_numpy()
    assert np.array_equal(found, np.prod(x, axis=(0, 2), keepdims=True) / x)


def test_the_product_of_the_others_ascends() -> None:
    """Of 2^700, 2^700, 2^-700 and x only the ascending order overflows."""
    x = param(0, float64, (4,))
    y = reshape(reduced(Op.Mul, 0)(x), ())
    assert taken(y, x, [2.0**700, 2.0**700, 2.0**-700, 1.0])[3] == INF
    assert taken(y, x, [1.0, 2.0**700, 2.0**-700, 2.0**700])[0] == 2.0**700
    rows = [[1.0, 2.0**700, 2.0**-700], [2.0**700, 1.0, 1.0]]
    p = param(0, float64, (2, 3))
    for axes in ((0, 1), (1, 0)):
        found = taken(reshape(reduced(Op.Mul, *axes)(p), ()), p, rows)
        assert found[0] == 2.0**700


@pytest.mark.parametrize("bad", [NAN, INF, -INF])
def test_what_where_does_not_select_cannot_poison(bad: float) -> None:
    x, w = param(0, float64, (2,)), param(1, float64, (2,))
    y = Op.Where(mask(True, False), Op.Mul(x, x), Op.Mul(x, w))
    assert taken(y, x, [3.0, 5.0], [bad, 2.0], seed=[1.0, 1.0]) == [6.0, 2.0]
    assert taken(y, w, [bad, 5.0], [1.0, 2.0], seed=[1.0, 1.0]) == [0.0, 5.0]


@pytest.mark.parametrize("bad", [NAN, INF])
def test_what_is_not_gathered_cannot_poison(bad: float) -> None:
    """U-30: one element of the table is not finite and is read by nobody."""
    table, w = param(0, float64, (3,)), param(1, float64, (3,))
    y = Op.Index(Op.Mul(Op.Recip(table), w), tensor([2, 0, 2], index))
    assert taken(y, table, [1.0, 0.0, 2.0], [1.0, bad, 4.0], seed=[1.0, 2.0, 3.0]) == [-2.0, 0.0, -4.0]
    assert taken(y, w, [1.0, 0.0, 2.0], [1.0, bad, 4.0], seed=[1.0, 2.0, 3.0]) == [2.0, 0.0, 2.0]


def test_an_infinite_adjoint_stays_at_the_place_that_is_read() -> None:
    table = param(0, float64, (3,))
    y = Op.Index(table, tensor([1], index))
    assert taken(y, table, [1.0, 2.0, 3.0], seed=[INF]) == [0.0, INF, 0.0]


def test_an_index_outside_passes_nothing() -> None:
    table = param(0, float64, (2,))
    read = Op.Index(table, tensor([1, 5], index))
    y = Op.Where(mask(True, False), read, tensor([7.0, 7.0], float64))
    assert taken(y, table, [1.0, 2.0], seed=[1.0, 1.0]) == [0.0, 1.0]


def test_an_undefined_derivative_is_not_hidden() -> None:
    """(√x)² has the derivative 1, but its chain is 0·∞ at 0: that is NaN, and not a zero that looks like an answer."""
    x = param(0, float64)
    root = Op.Sqrt(x)
    assert math.isnan(taken(Op.Mul(root, root), x, 0.0)[0])
    assert taken(Op.Sqrt(x), x, 0.0) == [INF]
    assert math.isnan(taken(Op.Sqrt(x), x, -1.0)[0])
    assert math.isnan(taken(Op.Log2(x), x, -1.0)[0])
    assert taken(Op.Log2(x), x, 0.0) == [INF]
    assert taken(Op.Recip(x), x, 0.0) == [-INF]


# What passes nothing ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "program",
    [
        Op.Detach,
        Op.Trunc,
        lambda x: Op.Cast(Op.Cast(x, arg=int32), arg=float64),
        lambda x: Op.Cast(Op.CmpLt(x, Op.Detach(x)), arg=float64),
        lambda x: Op.Bitcast(Op.Bitcast(x, arg=int64), arg=float64),
        lambda x: Op.Bitcast(Op.Bitcast(x, arg=float32), arg=float64),
        lambda x: Op.Slice(Op.Bitcast(x, arg=float32), number(0), arg=SliceArg(2, float64)),
        lambda x: tensor([1.0, 2.0], float64),
    ],
)
def test_no_derivative_passes(program: Callable[[UOp], UOp]) -> None:
    x = param(0, float64, (2,))
    assert taken(program(x), x, [1.5, 2.5], seed=[1.0, 1.0]) == [0.0, 0.0]
    both = Op.Add(Op.Mul(x, x), program(x))
    assert taken(both, x, [1.5, 2.5], seed=[1.0, 1.0]) == [3.0, 5.0]


@pytest.mark.parametrize("op", [Op.Detach, Op.Trunc])
def test_the_checker_sees_a_derivative_where_there_is_none(op: Op, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(adjoints.ADJOINTS, op, Passes("to x: g, wrongly", lambda node, g: (g,)))
    with pytest.raises(AssertionError):
        test_no_derivative_passes(op)


def test_zeros_have_the_shape_and_dtype_of_x() -> None:
    for dtype in floats:
        x, y = param(0, dtype, (2, 3)), param(1, float32)
        (found,) = gradient(Op.Mul(y, y), [x])
        assert (found.dtype, found.shape) == (dtype, (2, 3))
        assert evaluate(found).elements == (0.0,) * 6


@pytest.mark.parametrize("dtype", [float16, bfloat16, float32, float64])
def test_a_cast_passes_in_the_dtype_of_its_source(dtype: DType) -> None:
    x = param(0, dtype, (2,))
    y = Op.Mul(Op.Cast(x, arg=float32), tensor([3.0, 2.0**-30], float32))
    assert taken(y, x, [1.0, 1.0], seed=[1.0, 1.0]) == [3.0, 0.0 if dtype is float16 else 2.0**-30]


# Markers ----------------------------------------------------------------------------------------------------------


def test_contiguous_backward_marks_the_adjoint_and_contiguous_does_not() -> None:
    x = param(0, float64, (2,))
    seed = tensor([1.0, 2.0], float64)
    assert gradient(Op.ContiguousBackward(x), [x], seed) == (Op.Contiguous(seed),)
    assert gradient(Op.Contiguous(x), [x], seed) == (seed,)


# Errors -----------------------------------------------------------------------------------------------------------


def test_y_and_x_are_floats_and_y_is_a_scalar_or_has_a_seed() -> None:
    x, n = param(0, float64, (2,)), param(1, int32, (2,))
    refused("U-33", lambda: gradient(total(n), [x]))
    refused("U-33", lambda: gradient(total(x), [n]))
    refused("U-33", lambda: gradient(Op.Tuple(x), [x]))
    refused("U-33", lambda: gradient(x, [x]))
    refused("U-33", lambda: gradient(reshape(total(x), (1,)), [x]))
    refused("U-33", lambda: gradient(x, [x], const(1.0, float64)))
    refused("U-33", lambda: gradient(x, [x], tensor([1.0, 2.0], float32)))
    refused("U-33", lambda: gradient(x, [x], Op.Tuple(x)))
    assert taken(total(x), x, [1.0, 2.0]) == [1.0, 1.0]
    assert taken(total(x), total(x), [1.0, 2.0]) == [1.0]


def test_a_call_is_opaque() -> None:
    x, p = param(0, float64, (2,)), param(0, float64, (2,))
    called = Op.GetTuple(Op.Call(Op.Tuple(Op.Mul(p, p)), x), arg=0)
    error = refused("uop-call-adjoint", lambda: gradient(total(called), [x]))
    assert error.where == "Call"
    other = param(1, float64, (2,))
    assert taken(total(Op.Mul(called, other)), other, [3.0, 4.0], [1.0, 1.0]) == [9.0, 16.0]
    custom = Op.Call(Op.CustomFunction(x, arg="f"), x)
    refused("uop-call-adjoint", lambda: gradient(total(Op.GetTuple(custom, arg=0)), [x]))


def test_a_reduce_over_ranges_is_refused() -> None:
    x, i = param(0, float64, (3,)), loop(3, 0)
    y = Op.Reduce(Op.Index(x, i), i, arg=ReduceArg(Op.Add))
    refused("uop-reduce-adjoint", lambda: gradient(y, [x]))
    constant = Op.Reduce(Op.Index(tensor([1.0, 2.0, 3.0], float64), i), i, arg=ReduceArg(Op.Add))
    assert taken(Op.Mul(total(x), constant), x, [1.0, 2.0, 3.0]) == [6.0, 6.0, 6.0]


def test_fragments_have_no_adjoint() -> None:
    fragments = param(0, float16, (8,)), param(1, float16, (4,)), param(2, float32, (4,))
    y = Op.Wmma(*fragments, arg=WmmaArg((8, 16, 16), float16, float32))
    refused("uop-wmma-adjoint", lambda: gradient(total(y), [fragments[2]]))


def test_memory_has_no_adjoint() -> None:
    x, held = param(0, float64, (2,)), buffer(0, 2, float64)
    after = Op.After(held, Op.Store(held, Op.Mul(x, x)))
    refused("uop-after-adjoint", lambda: gradient(total(Op.Load(after)), [x]))
    refused("uop-after-adjoint", lambda: gradient(total(Op.Load(after)), [held]))
    row = Op.Index(held, loop(2, 0))
    looped = Op.After(held, Op.End(Op.Store(row, Op.Index(x, loop(2, 0))), loop(2, 0)))
    refused("uop-after-adjoint", lambda: gradient(total(looped), [x]))
    scalar = Op.Index(held, number(0))
    for effect in (
        Op.AtomicAdd(scalar, Op.Index(x, number(0))),
        Op.Custom(held, x, arg="{0} = {1}"),
        Op.Ins(held, x, arg="mov"),
        Op.Call(Op.Program(Op.Linear(), Op.Source(arg=""), Op.BinaryCode(arg=b"")), held, x),
        Op.Group(Op.Store(held, x)),
    ):
        written = Op.After(Op.Mul(held, held), effect)
        refused("uop-after-adjoint", lambda y=written: gradient(total(y), [x]))  # type: ignore[misc]
    elsewhere = Op.After(x, Op.Store(held, Op.Mul(x, x)))
    assert taken(total(elsewhere), x, [3.0, 4.0]) == [1.0, 1.0]
    (found,) = gradient(total(Op.Mul(held, held)), [held])
    assert evaluate(found, buffers={0: [3.0, 4.0]}).elements == (6.0, 8.0)


# Custom functions -------------------------------------------------------------------------------------------------


def _cubed(x: UOp, y: UOp) -> UOp:
    """A Call of a function that soundline does not see into: of x and y, a result of x's shape."""
    prototype = param(0, float64, x.shape or ())
    return Op.GetTuple(Op.Call(Op.CustomFunction(prototype, arg="cube"), x, y), arg=0)


def test_a_custom_function_passes_what_its_given_adjoint_says() -> None:
    x, y = param(0, float64, (2,)), param(1, float64, (3,))
    seen: list[tuple[UOp, int]] = []

    def cube(call: UOp, position: int, g: UOp) -> list[UOp | None]:
        seen.append((call, position))
        return [Op.Mul(g, Op.Mul(x, x)), None]

    node = _cubed(x, y)
    found, nothing = gradient(total(node), [x, y], adjoints={"cube": cube})
    assert evaluate(found, {0: [2.0, 3.0]}).elements == (4.0, 9.0)
    assert evaluate(nothing, {0: [2.0, 3.0]}).elements == (0.0, 0.0, 0.0)
    assert seen == [(node.src[0], 0)]
    for adjoints_ in ({}, {"other": cube}):
        with pytest.raises(GradientError, match="opaque"):
            gradient(total(node), [x], adjoints=adjoints_)
    inside = Op.Function(Op.Tuple(_cubed(x, y)), x, y)
    (found,) = gradient(total(Op.GetTuple(inside, arg=0)), [x], adjoints={"cube": lambda c, k, g: [g, None]})
    assert evaluate(found, {0: [2.0, 3.0], 1: [0.0] * 3}).elements == (1.0, 1.0)


def test_only_what_is_live_reaches_a_given_adjoint() -> None:
    """Where the result is not chosen it receives zero, and no derivative of it is used."""
    x, y = param(0, float64, (2,)), param(1, float64, (3,))
    chosen = Op.CmpLt(x, expand(reshape(const(2.5, float64), (1,)), (2,)))
    node = Op.Where(chosen, _cubed(x, y), x)
    (found,) = gradient(total(node), [x], adjoints={"cube": lambda c, k, g: [Op.Mul(g, x), None]})
    assert evaluate(found, {0: [2.0, 3.0]}).elements == (2.0, 1.0)


@pytest.mark.parametrize(
    ("parts", "says"),
    [
        (lambda x, g: [g], "1 parts for 2 arguments"),
        (lambda x, g: [g, None, None], "3 parts for 2 arguments"),
        (lambda x, g: [None, g], "for an argument"),
        (lambda x, g: [Op.Cast(g, arg=float32), None], "float32"),
        (lambda x, g: [total(g), None], "for an argument"),
    ],
    ids=["too few", "too many", "of the other", "dtype", "shape"],
)
def test_an_adjoint_that_does_not_fit_is_refused(parts: Callable[[UOp, UOp], Any], says: str) -> None:
    x, y = param(0, float64, (2,)), param(1, float64, (3,))
    with pytest.raises(GradientError, match=says) as caught:
        gradient(total(_cubed(x, y)), [x, y], adjoints={"cube": lambda c, k, g: parts(x, g)})
    assert caught.value.rule == "uop-call-adjoint"


def test_the_adjoint_of_a_function_keeps_its_tag() -> None:
    x = param(0, float64)
    called = Op.Function(Op.Tuple(Op.Mul(x, x)), x, tag="apart")
    (found,) = gradient(Op.GetTuple(called, arg=0), [x])
    assert [n.tag for n in toposort(found) if n.op is Op.Function] == ["apart"]


# Symbolic sizes ---------------------------------------------------------------------------------------------------

N = param(7, index, (), bounds=(1, 9))


@pytest.mark.parametrize("op", [Op.Add, Op.Mul, Op.Max])
def test_a_gradient_over_symbolic_sizes(op: Op) -> None:
    x = param(0, float64, (N, 2))
    y = total(reduced(op, 0)(Op.Mul(x, x)))
    values = np.array([[1.0, 2.0], [3.0, 1.5], [0.5, 4.0]])
    (found,) = gradient(y, [x])
    theirs = {
        Op.Add: 2 * values,
        Op.Mul: 2 * np.prod(values**2, axis=0) / values,
        Op.Max: np.where(values == values.max(axis=0), 2 * values, 0.0),
    }[op]
    assert np.array_equal(evaluate(found, {0: values, 7: 3}).to_numpy(), theirs)


def test_movement_over_symbolic_sizes() -> None:
    x = param(0, float64, (N,))
    values = np.array([1.0, 2.0, 3.0])
    wide = expand(reshape(x, (N, 1)), (N, 4))
    (found,) = gradient(total(Op.Mul(wide, wide)), [x])
    assert np.array_equal(evaluate(found, {0: values, 7: 3}).to_numpy(), 8 * values)
    (found,) = gradient(total(shrink(Op.Mul(x, x), (0,), (1,))), [x])
    assert evaluate(found, {0: values, 7: 3}).elements == (2.0, 0.0, 0.0)
    longer = param(0, float64, (Op.Add(N, number(1)),))
    same = expand(longer, (Op.Add(number(1), N),))  # of equal sizes that are two nodes
    (found,) = gradient(total(Op.Mul(same, same)), [longer])
    assert evaluate(found, {0: values, 7: 2}).elements == (2.0, 4.0, 6.0)
    (zeros,) = gradient(const(1.0, float64), [x])
    assert evaluate(zeros, {0: values, 7: 3}).elements == (0.0, 0.0, 0.0)


@pytest.mark.parametrize("n", [1, 2, 4])
def test_an_index_into_a_symbolic_size(n: int) -> None:
    x, i = param(0, float64, (N,)), param(1, index, (3,))
    (found,) = gradient(Op.Index(x, i), [x], tensor([1.0, 2.0, 4.0], float64))
    wanted = [0.0] * n
    wanted[0], wanted[n - 1] = 5.0, wanted[n - 1] + 2.0
    wanted[0] = 7.0 if n == 1 else 5.0
    assert evaluate(found, {0: [1.0] * n, 1: [0, n - 1, 0], 7: n}).elements == tuple(wanted)


def test_a_size_that_must_be_a_number() -> None:
    x, m = param(0, float64, (N,)), param(8, index, (), bounds=(1, 9))
    refused("uop-expand-adjoint", lambda: gradient(total(expand(x, (m,))), [x]))
    refused("uop-replicated-adjoint", lambda: gradient(total(Op.Replicated(x, arg=(0,))), [x]))
    refused("U-33", lambda: gradient(x, [x], param(1, float64, (m,))))


# Order ------------------------------------------------------------------------------------------------------------


def test_contributions_are_added_in_the_stated_order() -> None:
    """x is used by a, b and c, in this order; they are visited last to first: ((c + b) + a)."""
    x = param(0, float64)
    a, b, c = (Op.Mul(x, const(v, float64)) for v in (1e16, -1e16, 1.0))
    y = Op.Add(Op.Add(a, b), c)
    (found,) = gradient(y, [x])
    assert evaluate(found).item() == ((1.0 + -1e16) + 1e16) == 0.0
    (again,) = gradient(y, [x])
    assert again is found


def test_a_node_receives_from_the_first_source_position_to_the_last() -> None:
    x = param(0, float64)
    g = const(1.0, float64)
    assert gradient(Op.Sub(x, x), [x]) == (Op.Add(g, Op.Neg(g)),)
    assert taken(Op.Mulacc(x, x, x), x, 3.0) == [7.0]


def test_a_chain_of_a_thousand_nodes() -> None:
    x = param(0, float64)
    y = x
    for _ in range(1000):
        y = Op.Add(y, x)
    assert taken(y, x, 1.0) == [1001.0]


def test_gradients_by_nodes_inside() -> None:
    x = param(0, float64, (2,))
    square = Op.Mul(x, x)
    y = total(Op.Mul(square, x))
    by_x, by_square = gradient(y, [x, square])
    assert evaluate(by_square, {0: [2.0, 3.0]}).elements == (2.0, 3.0)
    assert evaluate(by_x, {0: [2.0, 3.0]}).elements == (12.0, 27.0)


def test_a_gradient_has_a_gradient() -> None:
    x = param(0, float64)
    y = Op.Mul(Op.Mul(x, x), x)
    (first,) = gradient(y, [x])
    assert taken(first, x, 5.0) == [30.0]


# Functions --------------------------------------------------------------------------------------------------------


def test_the_adjoint_of_a_function_is_a_function() -> None:
    a, b = param(0, float64, (2,)), param(1, float64, (2,))
    p, q = param(0, float64, (2,)), param(1, float64, (2,))
    y = Op.GetTuple(Op.Function(Op.Tuple(Op.Mul(p, q)), a, b), arg=0)
    found = gradient(y, [a, b], tensor([1.0, 10.0], float64))
    assert all(f.op is Op.GetTuple and f.src[0].op is Op.Function for f in found)
    assert len({f.src[0] for f in found}) == 1
    bound = {0: [2.0, 3.0], 1: [5.0, 7.0]}
    assert [evaluate(f, bound).elements for f in found] == [(5.0, 70.0), (2.0, 30.0)]


def test_a_function_over_symbolic_sizes() -> None:
    x = param(0, float64, (N,))
    n = param(1, index, (), bounds=(1, 9))
    p = param(0, float64, (n,))
    y = total(Op.GetTuple(Op.Function(Op.Tuple(Op.Mul(p, p)), x, N), arg=0))
    (found,) = gradient(y, [x])
    assert evaluate(found, {0: [1.0, 2.0], 7: 2}).elements == (2.0, 4.0)


def test_one_slot_of_a_function_that_two_params_read() -> None:
    """Two Params of one slot are two nodes; the argument receives from both."""
    x = param(0, float64, bounds=(-10.0, 10.0))
    p, q = param(0, float64), param(0, float64, bounds=(-20.0, 20.0))
    y = Op.GetTuple(Op.Function(Op.Tuple(Op.Mul(p, q)), x), arg=0)
    assert taken(y, x, 3.0) == [6.0]


def test_an_argument_that_a_function_does_not_use() -> None:
    x = param(0, float64)
    p = param(0, float64)
    y = Op.GetTuple(Op.Function(Op.Tuple(Op.Detach(p)), x), arg=0)
    assert taken(y, x, 3.0) == [0.0]
    opaque = Op.GetTuple(Op.Function(Op.Tuple(Op.GetTuple(Op.Call(Op.Tuple(p), p), arg=0)), x), arg=0)
    refused("uop-call-adjoint", lambda: gradient(opaque, [x]))


def pair(first: int, second: int) -> UOp:
    return Op.Stack(const(first, index), const(second, index))  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    ("live", "rows", "columns"),
    [
        ([[True, True], [True, True]], (2, 0), (3, 1)),
        ([[False, True], [False, False]], (2, -1), (-1, 1)),
        ([[False, False], [True, False]], (-1, 0), (3, -1)),
        ([[False, False], [False, False]], (-1, -1), (-1, -1)),
    ],
)
def test_an_index_that_nothing_live_needs_is_no_position(live: object, rows: object, columns: object) -> None:
    x = param(0, float32, (3, 4))
    read = Op.Index(x, pair(2, 0), pair(3, 1))
    readable = ADJOINTS[Op.Index].readable(read, param(1, bool_, (2, 2)))
    assert readable.src[0] is x
    found = [evaluate(i, {1: Array.of(live, bool_)}).elements for i in readable.src[1:]]
    assert found == [rows, columns]


def test_a_single_index_takes_no_axis_of_what_is_live() -> None:
    x = param(0, float32, (3, 4))
    read = Op.Index(x, const(2, index), pair(3, 1))
    readable = ADJOINTS[Op.Index].readable(read, param(1, bool_, (2,)))
    found = [evaluate(i, {1: Array.of([False, True], bool_)}).elements for i in readable.src[1:]]
    assert found == [(2,), (-1, 1)]


def test_a_cast_passes_back_only_from_a_float_to_a_float() -> None:
    for source, target, passes in (
        (float32, float64, True),
        (float32, int32, False),
        (int32, float32, False),
    ):
        cast, g = Op.Cast(param(0, source), arg=target), param(1, target)
        assert ADJOINTS[Op.Cast].law(cast, g) == ((Op.Cast(g, arg=source) if passes else None),)
