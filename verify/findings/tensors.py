"""
Findings
========

Where a source document is wrong or unsound as written, the counterexample is a program: it runs the source's version
and the law's on the same inputs, through the evaluator, and both results are shown. The documentation computes these
when it is built, and a test holds that the two differ and that each finding has one. Those about Spork stand
in `verify.findings.spork`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from soundline.spec.compositions import collectives, tensors
from soundline.spec.derived_props import Bounds, min_max
from soundline.spec.devices.evaluation import evaluate_on_devices
from soundline.spec.dtypes import (
    DType,
    bfloat16,
    bool_,
    float8_e4m3fn,
    float32,
    index,
    int8,
    int32,
    round_to,
    uint16,
    uint32,
)
from soundline.spec.errors import IllFormed
from soundline.spec.evaluate import evaluate
from soundline.spec.ops.table import Op
from soundline.spec.uop import (
    UOp,
    buffer,
    const,
    expand,
    loop,
    pad,
    param,
    tensor,
)
from soundline.verify.findings import spork

Sides = Callable[..., UOp]
"""A side as a function of its operands."""


@dataclass(frozen=True, slots=True)
class Shown:
    """A counterexample as a reader sees it."""

    title: str
    inputs: str
    by_the_source: str
    by_the_law: str


@dataclass(frozen=True, slots=True)
class Finding:
    """A decision and the program that shows why the source's version cannot stand."""

    decision: str
    run: Callable[[], Shown]


def show(finding: Finding) -> Shown:
    """Run the finding."""
    return finding.run()


def value_of(node: UOp) -> object:
    """The elements of a closed program; the single element at rank 0."""
    elements = evaluate(node).elements
    return elements[0] if node.shape == () else elements


def _values(title: str, inputs: str, source: UOp, law: UOp) -> Shown:
    return Shown(title, inputs, repr(value_of(source)), repr(value_of(law)))


def _shapes(title: str, inputs: str, source: tuple[object, ...], law: UOp) -> Shown:
    return Shown(title, inputs, f"shape {source}", f"shape {law.shape}")


def _interval(bounds: Bounds | None) -> str:
    if bounds is None:
        return "the empty interval"
    return f"[{bounds.lo!r}, {bounds.hi!r}]" + (" or NaN" if bounds.maybe_nan else "")


def _bounds(title: str, inputs: str, source: Bounds, node: UOp) -> Shown:
    """An interval of the source beside the values that escape it, and the law's interval."""
    values = f"value {value_of(node)!r}"
    return Shown(title, inputs, f"{_interval(source)}; {values}", f"{_interval(min_max(node))}; {values}")


# Values -----------------------------------------------------------------------------------------------------------


def _greater_or_equal_on_nan() -> Shown:
    a, b = const(float("nan"), float32), const(0.0, float32)
    source = Op.CmpNe(Op.CmpLt(a, b), const(True, bool_))
    return _values("CmpGe, by CmpNe(CmpLt(A, B), 1)", "a = NaN, b = 0.0 in float32", source, Op.CmpGe(a, b))


def _less_or_equal_on_nan() -> Shown:
    a, b = const(0.0, float32), const(float("nan"), float32)
    source = Op.CmpNe(Op.CmpLt(b, a), const(True, bool_))
    return _values("CmpLe, by CmpNe(CmpLt(B, A), 1)", "a = 0.0, b = NaN in float32", source, Op.CmpLe(a, b))


def _quotient_by_reciprocal(a: float, b: float, dtype: DType) -> Shown:
    x, y = const(a, dtype), const(b, dtype)
    source = Op.Mul(x, Op.Recip(y))
    return _values("Div, by Mul(A, Recip(B))", f"a = {a!r}, b = {b!r} in {dtype}", source, Op.Div(x, y))


def _root_by_logarithm(a: float) -> Shown:
    x = const(a, float32)
    source = Op.Exp2(Op.Mul(const(0.5, float32), Op.Log2(x)))
    return _values("Sqrt, by Exp2(0.5·Log2(A))", f"a = {a!r} in float32", source, Op.Sqrt(x))


def _power_by_logarithm(a: float, b: float) -> Shown:
    x, y = const(a, float32), const(b, float32)
    source = Op.Exp2(Op.Mul(Op.Log2(x), y))
    return _values("Pow, by Exp2(Log2(A)·B)", f"a = {a!r}, b = {b!r} in float32", source, Op.Pow(x, y))


def _gather_by_product() -> Shown:
    table, idx = tensor([1.0, float("inf")], float32), tensor([0], int32)
    source, law = tensors.gather_of_the_source(table, idx), tensors.gather(table, idx)
    return _values("gather, by the product with a one-hot mask", "T = [1.0, inf], index 0", source, law)


def _scatter_by_product() -> Shown:
    table, idx = tensor([1.0, 2.0], float32), tensor([0, 5], int32)
    values = tensor([1.0, float("inf")], float32)
    source = tensors.scatter_add_of_the_source(table, idx, values)
    law = tensors.scatter_add(table, idx, values)
    inputs = "T = [1.0, 2.0], indices 0 and 5, values 1.0 and inf"
    return _values("scatter_add, by the product with a one-hot mask", inputs, source, law)


def _prefix_sum_of_zeros() -> Shown:
    values = tensor([-0.0, -0.0], float32)
    source, law = tensors.prefix_sum_of_the_source(values), tensors.prefix_sum(values)
    return _values("prefix_sum, by windows filled with 0", "T = [-0.0, -0.0] in float32", source, law)


def _prefix_sum_of_nothing() -> Shown:
    nothing = param(0, float32, (0,))
    law = f"shape {tensors.prefix_sum(nothing).shape}"
    try:
        source = f"shape {tensors.prefix_sum_of_the_source(nothing).shape}"
    except IllFormed as refused:
        source = f"ill formed: {refused.rule}"
    return Shown("prefix_sum and arange, by n-1 zeros before", "n = 0", source, law)


def _arange_counts_in_its_dtype() -> Shown:
    source = tensors.arange_of_the_source(18, float8_e4m3fn)
    law = tensors.arange(18, float8_e4m3fn)
    last = (f"element 17: {value_of(node)[17]!r}" for node in (source, law))  # type: ignore[index]
    return Shown("arange, by a sum of ones in its dtype", "n = 18 in float8_e4m3fn", *last)


# Shapes and devices -----------------------------------------------------------------------------------------------


def broadcast_of_the_source(left: tuple[int, ...], right: tuple[int, ...]) -> tuple[int, ...]:
    """The shape rule as the source prints it: right-aligned, the elementwise maximum."""
    rank = max(len(left), len(right))
    padded = ((1,) * (rank - len(shape)) + shape for shape in (left, right))
    return tuple(map(max, *padded))


def _broadcast_of_nothing() -> Shown:
    empty, one = param(0, float32, (0,)), param(1, float32, (1,))
    law = Op.Add(empty, expand(one, (0,)))
    source = broadcast_of_the_source((0,), (1,))
    return _shapes("broadcast, by the maximum of the sizes", "shapes (0,) and (1,)", source, law)


def _bitcast_keeps_bytes() -> Shown:
    x = param(0, uint16, (2,))
    law = Op.Bitcast(x, arg=uint32)
    assert x.shape is not None
    return _shapes("Bitcast, by src[0].shape", "uint16 of shape (2,), 4 bytes, to uint32", x.shape, law)


def _collective_keeps_an_axis() -> Shown:
    devices = ("CPU:0", "CPU:1")
    x = param(0, float32, (3,))
    source, law = collectives.broadcast_of_the_source(x, devices), collectives.broadcast(x, devices)
    assert source.shape is not None
    return _shapes("broadcast as listed, commented (s,)", "T of shape (3,), n = 2", source.shape, law)


def _flip_of_a_divided_value() -> Shown:
    x = param(0, int32, (2, 2), device=("CPU:0", "CPU:1"), axis=0)
    node = Op.Flip(x, arg=(False, True))
    held = evaluate_on_devices(node, {0: [[1, 2], [3, 4]]})
    whole = evaluate(node, {0: [[1, 2], [3, 4]]})
    source = f"axis null: each device holds {whole.elements}"
    law = f"axis {held.axis}: the devices hold {' and '.join(str(s.elements) for s in held.shards)}"
    return Shown(
        "axis of Flip, by the default null", "[[1, 2], [3, 4]], a row on each of 2 devices", source, law
    )


def _device_of_one_plus_x() -> Shown:
    one, x = const(1.0, float32), param(0, float32, (), device="CPU")
    law = Op.Add(one, x)
    return Shown("device, by src[0].device", "1 + x, x on CPU", f"{one.device}", f"{law.device}")


def _buffer_on_two_devices() -> Shown:
    law = buffer(0, 4, float32, device=("CPU:0", "CPU:1"))
    return _shapes("Buffer, by (size,)", "size 4 on each of 2 devices", (4,), law)


# Bounds -----------------------------------------------------------------------------------------------------------


def _sum_that_wraps() -> Shown:
    a = const(100, int8)
    return _bounds("min_max of Add, by [a+b, A+B]", "100 + 100 in int8", Bounds(200, 200), Op.Add(a, a))


def _product_that_wraps() -> Shown:
    a = const(16, int8)
    return _bounds("min_max of Mul, by the products", "16 · 16 in int8", Bounds(256, 256), Op.Mul(a, a))


def _zeros_of_pad() -> Shown:
    x = tensor([5, 7], int32)
    padded = pad(x, (1,), (4,))
    return _bounds("min_max of Pad, by src[0]", "[5, 7] padded by one on each side", Bounds(5, 7), padded)


def _others_of_stack() -> Shown:
    stacked = Op.Stack(const(1, int32), const(9, int32))
    return _bounds("min_max of Stack, by src[0]", "Stack(1, 9) in int32", Bounds(1, 1), stacked)


def _cast_that_wraps() -> Shown:
    cast = Op.Cast(const(300, int32), arg=int8)
    return _bounds("min_max of Cast, clamped to the dtype", "300 from int32 to int8", Bounds(127, 127), cast)


def _difference_of_infinities() -> Shown:
    x, y = tensor([0.0, float("inf")], float32), tensor([0.0, float("-inf")], float32)
    source = Bounds(float("-inf"), float("inf"))
    return _bounds("min_max of Add, without NaN", "[0, ∞] + [0, -∞] in float32", source, Op.Add(x, y))


def _zero_times_infinity() -> Shown:
    x, y = tensor([0.0, 2.0], float32), tensor([float("inf"), 1.0], float32)
    source = Bounds(0.0, float("inf"))  # of the products 0·∞, 0·1, 2·∞ and 2·1, those that are numbers
    return _bounds("min_max of Mul, without NaN", "[0, 2] · [∞, 1] in float32", source, Op.Mul(x, y))


def _zeros_of_two_signs() -> Shown:
    x = param(0, float32, bounds=(-0.0, 0.0))
    known = min_max(x)
    assert known is not None
    assert known.lo == known.hi
    reduced = Op.Recip(const(float(known.lo), float32))
    law = evaluate(Op.Recip(x), {0: 0.0}).elements[0]
    inputs = "1 / x for x = 0.0 in [-0.0, 0.0] of float32"
    return Shown("reducing where both ends are equal as numbers", inputs, repr(value_of(reduced)), repr(law))


def _licensed(title: str, values: dict[str, float], left: Sides, right: Sides) -> Shown:
    """Two sides that are one real number, under a licence that grants no such equation."""
    shown = ", ".join(f"{name} = {value!r}" for name, value in values.items())
    operands = [const(round_to(float32, value), float32) for value in values.values()]
    by_the_source = f"equal over the real numbers: proved; but {value_of(left(*operands))!r}"
    return Shown(title, f"{shown} in float32", by_the_source, repr(value_of(right(*operands))))


def _order_by_contraction() -> Shown:
    return _licensed(
        "contract proves (x + y) + z → x + (y + z): left side, and right side",
        {"x": 1.0, "y": 1.0 + 2.0**-23, "z": -1.0},
        lambda x, y, z: Op.Add(Op.Add(x, y), z),
        lambda x, y, z: Op.Add(x, Op.Add(y, z)),
    )


def _difference_by_contraction() -> Shown:
    return _licensed(
        "contract proves x · 0 → x - x: left side, and right side",
        {"x": -1.0},
        lambda x: Op.Mul(x, const(0.0, float32)),
        lambda x: Op.Sub(x, x),
    )


def _quotient_by_licence() -> Shown:
    return _licensed(
        "reciprocal proves x / x → x · 0 + 1: left side, and right side",
        {"x": 0.0},
        lambda x: Op.Div(x, x),
        lambda x: Op.Add(Op.Mul(x, const(0.0, float32)), const(1.0, float32)),
    )


def _loop_of_nothing() -> Shown:
    node = loop(const(0, index), 0)
    return Shown("min_max of Range, by [0, n-1]", "n = 0", _interval(Bounds(0, -1)), _interval(min_max(node)))


def _spork(row: spork.Row) -> Shown:
    return Shown(row.title, row.inputs, row.by_the_source(), row.by_the_law())


FINDINGS: tuple[Finding, ...] = (
    Finding("U-07", _greater_or_equal_on_nan),
    Finding("U-07", _less_or_equal_on_nan),
    Finding("U-08", lambda: _quotient_by_reciprocal(5.0, 3.0, float32)),
    Finding("U-08", lambda: _quotient_by_reciprocal(2.0**-149, 2.0**-149, float32)),
    Finding("U-08", lambda: _quotient_by_reciprocal(5.0, 3.0, bfloat16)),
    Finding("U-08", lambda: _root_by_logarithm(12.0)),
    Finding("U-08", lambda: _power_by_logarithm(-2.0, 3.0)),
    Finding("U-08", lambda: _power_by_logarithm(10.0, 30.0)),
    Finding("U-20", _broadcast_of_nothing),
    Finding("U-23", _bitcast_keeps_bytes),
    Finding("U-28", _collective_keeps_an_axis),
    Finding("U-29", _device_of_one_plus_x),
    Finding("U-30", _gather_by_product),
    Finding("U-30", _scatter_by_product),
    Finding("U-32", _buffer_on_two_devices),
    Finding("U-34", _prefix_sum_of_zeros),
    Finding("U-34", _prefix_sum_of_nothing),
    Finding("U-34", _arange_counts_in_its_dtype),
    Finding("U-35", _flip_of_a_divided_value),
    Finding("U-40", _sum_that_wraps),
    Finding("U-40", _product_that_wraps),
    Finding("U-41", _zeros_of_pad),
    Finding("U-41", _others_of_stack),
    Finding("U-42", _cast_that_wraps),
    Finding("U-43", _difference_of_infinities),
    Finding("U-43", _zero_times_infinity),
    Finding("U-43", _zeros_of_two_signs),
    Finding("U-44", _loop_of_nothing),
    Finding("U-53", _order_by_contraction),
    Finding("U-53", _difference_by_contraction),
    Finding("U-53", _quotient_by_licence),
    *(Finding(row.decision, partial(_spork, row)) for row in spork.ROWS),
)
"""Every counterexample, by the decision that it shows. A decision may have several."""
