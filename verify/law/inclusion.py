"""
Values that are only moved
==========================

A movement, a marker, an ordering op, a Load and a Reduce of Max give no value that was not there: each of their
elements is an element of a source. So the interval of the source holds them all, and for Pad and Load the hull with
what comes in beside it. That no other value comes in is tested on programs whose elements are all different. An op
without a more precise row has the range of its dtype, which contains every value of the dtype.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from math import prod
from typing import Any

from soundline.spec.arrays.arrays import Array
from soundline.spec.dtypes import DType, all_dtypes, bool_, float16, float32, index, int8, int16, uint8
from soundline.spec.errors import EvaluationError, IllFormed
from soundline.spec.evaluate import evaluate
from soundline.spec.ops import bounds
from soundline.spec.ops.node import Op, toposort
from soundline.spec.uop import (
    ReduceArg,
    SliceArg,
    UOp,
    WmmaArg,
    buffer,
    const,
    expand,
    loop,
    pad,
    param,
    reshape,
    shrink,
)
from soundline.verify.law.replays import contains, interval
from soundline.verify.law.schema import Outcome, Tightness
from soundline.verify.law.small import numbers
from soundline.verify.verdicts.verdict import Counterexample

LOW = 11
"""The first element of the array that is moved: far from 0, which nothing but Pad may bring in."""


def _array(*shape: int) -> UOp:
    return param(0, int8, shape, bounds=(LOW, LOW + prod(shape) - 1))


def _permutes() -> Iterator[UOp]:
    for order in itertools.permutations(range(3)):
        yield Op.Permute(_array(2, 3, 2), arg=order)


def _shrinks() -> Iterator[UOp]:
    for first, second in itertools.product(range(3), range(4)):
        yield shrink(_array(2, 3), (first, second), (2 - first, 3 - second))


def _pads() -> Iterator[UOp]:
    for before, after in itertools.product(range(3), repeat=2):
        yield pad(_array(2, 3), (before, 0), (2 + before + after, 3 + after))


def _indexed() -> Iterator[UOp]:
    for k in range(2):
        yield Op.Index(_array(2, 3), const(k, index))
        yield Op.Index(_array(2, 3), const(k, index), const(2, index))
        yield Op.Index(_array(2, 3), Op.Stack(const(1, index), const(k, index)))


def _reduced() -> Iterator[UOp]:
    for axes in ((), (0,), (1,), (0, 1)):
        yield Op.Reduce(_array(2, 3), arg=ReduceArg(Op.Max, axes))
    yield Op.Reduce(Op.Index(_array(4), loop(4, 0)), loop(4, 0), arg=ReduceArg(Op.Max))


def _loaded() -> Iterator[UOp]:
    place = _array(3)
    other = expand(reshape(const(LOW - 5, int8), (1,)), (3,))
    yield Op.Load(place)
    for gate in (False, True):
        yield Op.Load(place, other, expand(reshape(const(gate, bool_), (1,)), (3,)))


MOVED: dict[Op, Callable[[], Iterator[UOp]]] = {
    Op.Permute: _permutes,
    Op.Flip: lambda: (Op.Flip(_array(2, 3), arg=a) for a in itertools.product((False, True), repeat=2)),
    Op.Reshape: lambda: (reshape(_array(2, 3), s) for s in ((6,), (3, 2), (1, 6), (2, 3, 1))),
    Op.Expand: lambda: (expand(_array(1, 3), (n, 3)) for n in range(4)),
    Op.Shrink: _shrinks,
    Op.Pad: _pads,
    Op.Stack: lambda: (Op.Stack(*[_array(2)] * n) for n in range(1, 4)),
    Op.Index: _indexed,
    Op.Replicated: lambda: iter([Op.Replicated(expand(_array(1, 3), (2, 3)), arg=(0,))]),
    Op.Reduce: _reduced,
    Op.Load: _loaded,
    Op.After: lambda: iter([Op.After(_array(3), Op.Group())]),
    Op.GetTuple: lambda: (Op.GetTuple(Op.Tuple(_array(2), _array(3)), arg=k) for k in range(2)),
    Op.Contiguous: lambda: iter([Op.Contiguous(_array(2, 3))]),
    Op.ContiguousBackward: lambda: iter([Op.ContiguousBackward(_array(2, 3))]),
    Op.Detach: lambda: iter([Op.Detach(_array(2, 3))]),
}
"""For each op that only moves values, programs of it."""

BESIDE: dict[Op, tuple[int, ...]] = {Op.Pad: (0,), Op.Load: (LOW - 5,)}
"""What an op may bring in beside the elements of its first source."""


def moved(op: Op) -> Outcome:
    """No program of the op has an element that its sources lack, and the row holds what it has."""
    count, witness, allowed = 0, "", {*range(LOW, LOW + 12), *BESIDE.get(op, ())}
    for node in MOVED[op]():
        known = bounds.min_max(node)
        for value in _elements(node):
            if value not in allowed:
                return Outcome("unknown", "", detail=f"{node!r} brings in {value!r}")
            if not contains(known, value):
                shown = Counterexample(
                    "int8", (), f"the interval {interval(known)}", f"the value {value!r}", "", f"of {node!r}"
                )
                return Outcome("refuted", "a counterexample, evaluated", counterexample=shown)
        count += 1
        witness = witness or _looseness(node)
    tight: Tightness = "sound only" if witness else "optimal"
    return Outcome(
        "inclusion", f"each element is an element of a source, tried on {count} programs", tight, witness
    )


def _looseness(node: UOp) -> str:
    """Empty where the ends of the interval occur: when all elements of the source are least, or all greatest."""
    known = bounds.min_max(node)
    (leaf,) = _leaves(node)
    found = [v for end in leaf.arg.bounds for v in _elements(node, end.value)]
    if not found or known == bounds.Bounds(min(found), max(found)):
        return ""
    return f"{node!r}: {interval(known)}, where the values span [{min(found)}, {max(found)}]"


def _leaves(node: UOp) -> set[UOp]:
    """The Params under the element of a tuple, or under the node."""
    return {n for n in toposort(_chosen(node)) if n.op is Op.Param}


def _chosen(node: UOp) -> UOp:
    return node.src[0].src[node.arg] if node.op is Op.GetTuple else node


def _elements(node: UOp, fill: int | None = None) -> tuple[Any, ...]:
    """The elements of a program whose Param holds LOW, LOW + 1, …, or one number everywhere."""
    (leaf,) = _leaves(node)
    shape = tuple(int(str(size)) for size in leaf.shape or ())
    numbers_of = range(LOW, LOW + prod(shape)) if fill is None else [fill] * prod(shape)
    return evaluate(_chosen(node), {0: Array(int8, shape, tuple(numbers_of))}).elements


# The range of a dtype ---------------------------------------------------------------------------------------------


def _functions() -> Iterator[UOp]:
    for dtype in (int8, float32):
        yield Op.GetTuple(
            Op.Function(Op.Tuple(param(0, dtype)), const(1 if dtype is int8 else 1.0, dtype)), arg=0
        )


def _bitcasts() -> Iterator[UOp]:
    yield Op.Bitcast(param(0, int16, (2,), bounds=(1, 2)), arg=float16)
    yield Op.Bitcast(param(0, int16, (2,), bounds=(1, 2)), arg=uint8)


def _sums() -> Iterator[UOp]:
    for op, dtype in itertools.product((Op.Add, Op.Mul), (int8, float32)):
        yield Op.Reduce(param(0, dtype, (2,)), arg=ReduceArg(op, (0,)))
    yield Op.Reduce(param(0, int8, (0,), bounds=(1, 2)), arg=ReduceArg(Op.Max, (0,)))


def _fragments() -> Iterator[UOp]:
    a, acc = param(0, float16, (4,)), param(1, float32, (4,))
    yield Op.Wmma(a, a, acc, arg=WmmaArg((8, 16, 16), float16, float32))


ANYTHING: dict[Op, Callable[[], Iterator[UOp]]] = {
    Op.Buffer: lambda: (buffer(0, 2, d) for d in all_dtypes if d is not index),
    Op.Binary: lambda: iter([Op.Binary(arg=b"ab")]),
    Op.BinaryCode: lambda: iter([Op.BinaryCode(arg=b"ab")]),
    Op.Slice: lambda: iter(
        [Op.Slice(param(0, int8, (4,), bounds=(1, 2)), const(0, index), arg=SliceArg(2, int8))]
    ),
    Op.Bitcast: _bitcasts,
    Op.GetTuple: _functions,
    Op.Reduce: _sums,
    Op.Wmma: _fragments,
}
"""Programs of the ops whose row is the range of the dtype."""


def anything(op: Op) -> Outcome:
    """The row is the whole range of the dtype, which every element of the dtype lies in."""
    count = 0
    for node in ANYTHING[op]():
        if bounds.min_max(node) != bounds.dtype_range(node.dtype):
            detail = f"{node!r} has {interval(bounds.min_max(node))}, not the range of its dtype"
            return Outcome("unknown", "", detail=detail)
        count += 1
    covered = f"the range of the dtype holds every element of it, tried on {count} programs"
    if op is Op.Buffer:
        return Outcome("inclusion", covered, "optimal")  # a Buffer may hold any element
    node = next(ANYTHING[op]())
    witness = f"{node!r}: the range of {node.dtype}, whatever its sources are"
    return Outcome("inclusion", covered, "sound only", witness)


# Leaves -----------------------------------------------------------------------------------------------------------


def constants(dtype: DType) -> Outcome:
    """A constant lies in its own interval; of a small dtype, every one."""
    values = [*numbers(dtype), *([float("nan")] if dtype.is_float else [])]
    for value in values:
        node = const(value, dtype)
        if not contains(bounds.min_max(node), value):
            shown = Counterexample(dtype.name, (), interval(bounds.min_max(node)), repr(value), "")
            return Outcome("refuted", "a counterexample, evaluated", counterexample=shown)
    return Outcome("exhaustive", f"all {len(values)} constants of {dtype}", *_exact(dtype, values))


def _exact(dtype: DType, values: list[Any]) -> tuple[Tightness, str]:
    """Optimal where every constant that is a number is an interval of its own."""
    for value in values:
        known = bounds.min_max(const(value, dtype))
        if value == value and known != bounds.Bounds(value, value):
            return "sound only", f"{value!r} in {dtype}: {interval(known)}"
    return "optimal", ""


def parameters() -> Outcome:
    """What the evaluator binds to a Param lies in its bounds: it refuses all else."""
    for lo, hi in ((-3, 5), (0, 0), (-128, 127), (127, 127)):
        node = param(0, int8, bounds=(lo, hi))
        for value in numbers(int8):
            if _accepted(node, value) != contains(bounds.min_max(node), value):
                return Outcome("unknown", "", detail=f"{value!r} bound to {node!r}")
    unbounded = bounds.min_max(param(0, int8))
    ok = unbounded == bounds.dtype_range(int8)
    if not ok:
        return Outcome("unknown", "", detail="a Param without bounds")
    return Outcome("exhaustive", "all values of int8 against 4 pairs of bounds", "optimal")


def _accepted(node: UOp, value: object) -> bool:
    try:
        evaluate(node, {0: value})
    except (EvaluationError, IllFormed):
        return False
    return True
