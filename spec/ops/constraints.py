"""
Constraints of well-formedness
==============================

One predicate for every numbered constraint of the op table, under the same id. A predicate answers True or False, or a
bool node where the answer depends on symbolic sizes; such an *obligation* is checked when the sizes become known.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from soundline.spec.dtypes import (
    DType,
    bool_,
    floats,
    ieee_floats,
    index,
    is_element,
    order,
    uint64,
    void,
)
from soundline.spec.ops import bodies
from soundline.spec.ops.node import (
    AxisType,
    BufferArg,
    ConstArg,
    LoadArg,
    Op,
    ParamArg,
    RangeArg,
    ReduceArg,
    Shape,
    Size,
    SliceArg,
    UOp,
    WmmaArg,
)
from soundline.spec.ops.shards import admits_axis, bitcast_keeps_parts, reshaped_axis, slice_keeps_parts
from soundline.spec.ops.sizes import (
    Condition,
    add,
    at_most,
    divides,
    either,
    equal,
    every,
    multiply,
    product,
    same_shape,
    sizes_of,
)

Predicate = Callable[[tuple[UOp, ...], Any], Condition]

ARGS: dict[Op, tuple[type, ...]] = {
    Op.Param: (ParamArg,),
    Op.Buffer: (BufferArg,),
    Op.Const: (ConstArg,),
    Op.Binary: (bytes,),
    Op.Permute: (tuple,),
    Op.Flip: (tuple,),
    Op.Replicated: (tuple,),
    Op.Slice: (SliceArg,),
    Op.Bitcast: (DType,),
    Op.Cast: (DType,),
    Op.Reduce: (ReduceArg,),
    Op.GetTuple: (int,),
    Op.Load: (LoadArg, type(None)),
    Op.Range: (RangeArg,),
    Op.Ins: (object,),
    Op.Special: (str,),
    Op.Wmma: (WmmaArg,),
    Op.Custom: (str,),
    Op.CustomFunction: (str,),
    Op.Source: (str,),
    Op.BinaryCode: (bytes,),
}
"""The type of each op's arg; an op that is not listed takes none."""


def _shape(node: UOp) -> Shape:
    """The shape of a source that the generic checks have found to be a value."""
    assert node.shape is not None
    return node.shape


def _sizes(source: UOp) -> Shape:
    """The sizes of a source that an earlier constraint has found to be a shape."""
    sizes = sizes_of(source)
    assert sizes is not None
    return sizes


def _is_shape(source: UOp, *, rank: int | None = None) -> bool:
    sizes = sizes_of(source)
    return sizes is not None and (rank is None or len(sizes) == rank)


def _no_negative(source: UOp) -> Condition:
    return _is_shape(source) and every(at_most(0, s) for s in _sizes(source))


def _is_device(device: object) -> bool:
    names = device if isinstance(device, tuple) else (device,)
    return device is None or (bool(names) and all(isinstance(name, str) for name in names))


def _are(kind: type, *fields: object) -> bool:
    """Whether fields have a type; an int is not a bool here."""
    return all(isinstance(f, kind) and not (kind is int and isinstance(f, bool)) for f in fields)


def has_field_types(arg: object) -> bool:
    """Whether the fields of an arg have the types that its class declares."""
    match arg:
        case ParamArg():
            ends: tuple[object, ...] = () if arg.bounds is None else arg.bounds
            paired = len(ends) in (0, 2) and _are(ConstArg, *ends)
            numbers = () if arg.axis is None else (arg.axis,)
            return _are(DType, arg.dtype) and _is_device(arg.device) and _are(int, *numbers) and paired
        case BufferArg():
            return _are(DType, arg.dtype) and _is_device(arg.device) and _are(int, arg.slot)
        case ConstArg():
            return _are(DType, arg.dtype)
        case SliceArg():
            return _are(DType, arg.dtype) and _are(int, arg.size)
        case ReduceArg():
            return _are(tuple, arg.axes)
        case LoadArg():
            return _is_device(arg.device)
        case RangeArg():
            return _are(int, arg.id) and _are(AxisType, arg.type)
        case WmmaArg():
            return _are(DType, arg.input, arg.accumulator)
        case _:
            return True


def _is_index_scalar(node: UOp) -> bool:
    return node.dtype is index and node.shape == ()


def _distinct_axes(axes: tuple[int, ...], rank: int) -> bool:
    plain = all(type(a) is int and 0 <= a < rank for a in axes)
    return plain and len(set(axes)) == len(axes)


def _keeps_shard(src: tuple[UOp, ...], new: Size | None) -> Condition:
    """The shard axis of a multi-device value, if there is one, has size `new`."""
    axis = src[0].axis
    return axis is None or new is None or equal(_shape(src[0])[axis], new)


def _pad_fits(src: tuple[UOp, ...]) -> Condition:
    rows = zip(_shape(src[0]), _sizes(src[1]), _sizes(src[2]), strict=True)
    return every(c for s, o, new in rows for c in (at_most(0, o), at_most(add(o, s), new)))


def _shrink_fits(src: tuple[UOp, ...]) -> Condition:
    rows = zip(_shape(src[0]), _sizes(src[1]), _sizes(src[2]), strict=True)
    return every(c for s, o, new in rows for c in (at_most(0, o), at_most(0, new), at_most(add(o, new), s)))


def _offsets_of_rank(src: tuple[UOp, ...]) -> bool:
    rank = len(_shape(src[0]))
    return _is_shape(src[1], rank=rank) and _is_shape(src[2], rank=rank)


def _bounds_in_order(arg: ParamArg) -> bool:
    if arg.bounds is None:
        return True
    lo, hi = arg.bounds
    if lo.dtype is not arg.dtype or hi.dtype is not arg.dtype:
        return False
    return not any(e.value != e.value for e in (lo, hi)) and order(lo.value) <= order(hi.value)


def _slice_is_aligned_and_inside(src: tuple[UOp, ...], arg: SliceArg) -> Condition:
    start = multiply(src[1], src[0].dtype.itemsize)
    aligned = divides(arg.dtype.itemsize, start)
    if arg.size < 0:
        return False
    if not isinstance(start, int):
        return aligned
    length = multiply(_shape(src[0])[0], src[0].dtype.itemsize)
    return every((aligned, at_most(0, start), at_most(start + arg.size * arg.dtype.itemsize, length)))


def _bitcast_divides(src: tuple[UOp, ...], arg: DType) -> Condition:
    if src[0].dtype.itemsize == arg.itemsize:
        return True
    shape = _shape(src[0])
    return bool(shape) and divides(arg.itemsize, multiply(shape[-1], src[0].dtype.itemsize))


def _stored(dtype: DType) -> bool:
    return dtype not in (index, void)


def _castable(source: DType, target: DType) -> bool:
    if index in (source, target):
        return not source.is_float and not target.is_float
    return True


def _is_place(node: UOp) -> bool:
    """Whether a node names storage: a Buffer, or a Param that promises no bounds, under views and After."""
    while node.op in (
        Op.After,
        Op.Reshape,
        Op.Permute,
        Op.Flip,
        Op.Shrink,
        Op.Expand,
        Op.Index,
        Op.Slice,
        Op.Bitcast,
    ):
        node = node.src[0]
    return node.op is Op.Buffer or (node.op is Op.Param and node.arg.bounds is None)


def _gate(src: tuple[UOp, ...], position: int) -> Condition:
    if len(src) <= position:
        return True
    gate = src[position]
    return gate.dtype is bool_ and (gate.shape == () or same_shape(_shape(gate), _shape(src[0])))


def _one_shape(src: tuple[UOp, ...]) -> Condition:
    return every(same_shape(_shape(src[0]), _shape(s)) for s in src[1:])


def _one_dtype(src: tuple[UOp, ...]) -> bool:
    return all(s.dtype is src[0].dtype for s in src)


def _number(dtype: DType) -> bool:
    return dtype not in (bool_, void)


STANDS_FOR_A_CONSTANT = "constant"
"""The tag of a Param in an instance of a rule for which, where the rule is applied, a constant stands."""


def _shift_type(src: tuple[UOp, ...]) -> Condition:
    """A count of index is a constant; in an instance of a rule it may be made of what stands for constants."""
    if src[0].dtype is not index:
        return src[0].dtype.is_int
    if src[1].op is Op.Const:
        return bool(src[1].arg.value >= 0)
    return at_most(0, src[1]) if _stands_for_a_constant(src[1]) else False


def _stands_for_a_constant(count: UOp) -> bool:
    if count.op in (Op.Const, Op.Param):
        return count.op is Op.Const or count.tag == STANDS_FOR_A_CONSTANT
    return count.op in _COUNTED and all(map(_stands_for_a_constant, count.src))


_COUNTED = frozenset(
    (*(Op.Add, Op.Sub, Op.Mul, Op.Neg, Op.Max, Op.Idiv, Op.Mod, Op.CDiv, Op.CMod), Op.Shl, Op.Shr)
)
"""What counts may be made with."""


def _divides_devices(src: tuple[UOp, ...], arg: LoadArg | None) -> Condition:
    if arg is None or not isinstance(arg.device, tuple):
        return True
    shape = _shape(src[0])
    return bool(shape) and divides(len(arg.device), shape[0])


def _leave_ranges_open(src: tuple[UOp, ...]) -> bool:
    """Whether some source depends on a Range that nothing below it closes."""
    free = bodies.free_by_node(*src)
    return any(n.op is Op.Range for s in src for n in free[s])


CHECKS: dict[str, Predicate] = {
    "uop-param-c1": lambda src, arg: type(arg.slot) is int and arg.slot >= 0,
    "uop-param-c2": lambda src, arg: _no_negative(src[0]),
    "uop-param-c3": lambda src, arg: _bounds_in_order(arg),
    "uop-param-c4": lambda src, arg: admits_axis(arg, _sizes(src[0])),
    "uop-buffer-c1": lambda src, arg: type(arg.size) is int and arg.size >= 0,
    "uop-buffer-c2": lambda src, arg: _stored(arg.dtype),
    "uop-const-c1": lambda src, arg: is_element(arg.dtype, arg.value),
    "uop-binary-c1": lambda src, arg: type(arg) is bytes,
    "uop-permute-c1": lambda src, arg: (
        _distinct_axes(arg, len(_shape(src[0]))) and len(arg) == len(_shape(src[0]))
    ),
    "uop-flip-c1": lambda src, arg: len(arg) == len(_shape(src[0])) and all(type(f) is bool for f in arg),
    "uop-flip-c2": lambda src, arg: src[0].axis is None or not arg[src[0].axis],
    "uop-reshape-c1": lambda src, arg: _no_negative(src[1]),
    "uop-reshape-c2": lambda src, arg: equal(product(_shape(src[0])), product(_sizes(src[1]))),
    "uop-reshape-c3": lambda src, arg: (
        src[0].axis is None or reshaped_axis(src[0], _sizes(src[1])) is not None
    ),
    "uop-expand-c1": lambda src, arg: _no_negative(src[1]),
    "uop-expand-c2": lambda src, arg: len(_sizes(src[1])) == len(_shape(src[0])),
    "uop-expand-c3": lambda src, arg: every(
        either((equal(s, 1), equal(s, new))) for s, new in zip(_shape(src[0]), _sizes(src[1]), strict=True)
    ),
    "uop-pad-c1": lambda src, arg: _offsets_of_rank(src),
    "uop-pad-c2": lambda src, arg: _pad_fits(src),
    "uop-pad-c3": lambda src, arg: _keeps_shard(
        src, None if src[0].axis is None else _sizes(src[2])[src[0].axis]
    ),
    "uop-shrink-c1": lambda src, arg: _offsets_of_rank(src),
    "uop-shrink-c2": lambda src, arg: _shrink_fits(src),
    "uop-shrink-c3": lambda src, arg: _keeps_shard(
        src, None if src[0].axis is None else _sizes(src[2])[src[0].axis]
    ),
    "uop-index-c1": lambda src, arg: len(src) - 1 <= len(_shape(src[0])),
    "uop-index-c2": lambda src, arg: all(i.dtype is index and len(_shape(i)) <= 1 for i in src[1:]),
    "uop-index-c3": lambda src, arg: src[0].axis is None or src[0].axis >= len(src) - 1,
    "uop-stack-c1": lambda src, arg: not src or _one_shape(src),
    "uop-stack-c2": lambda src, arg: _one_dtype(src),
    "uop-replicated-c1": lambda src, arg: _distinct_axes(arg, len(_shape(src[0]))),
    "uop-replicated-c2": lambda src, arg: all(_shape(src[0])[a] != 0 for a in arg),
    "uop-slice-c1": lambda src, arg: len(_shape(src[0])) == 1 and _stored(src[0].dtype),
    "uop-slice-c2": lambda src, arg: _is_index_scalar(src[1]),
    "uop-slice-c3": lambda src, arg: (
        arg.dtype is src[0].dtype or (_stored(arg.dtype) and bool_ not in (arg.dtype, src[0].dtype))
    ),
    "uop-slice-c4": _slice_is_aligned_and_inside,
    "uop-slice-c5": lambda src, arg: slice_keeps_parts(src[0], src[1], arg),
    "uop-bitcast-c1": lambda src, arg: all(d.is_int or d.is_float for d in (src[0].dtype, arg)),
    "uop-bitcast-c2": _bitcast_divides,
    "uop-bitcast-c3": lambda src, arg: bitcast_keeps_parts(src[0], arg),
    "uop-reduce-c1": lambda src, arg: arg.op in (Op.Add, Op.Max, Op.Mul),
    "uop-reduce-c2": lambda src, arg: (
        _distinct_axes(arg.axes, len(_shape(src[0]))) and not (len(src) > 1 and arg.axes)
    ),
    "uop-reduce-c3": lambda src, arg: all(r.op is Op.Range for r in src[1:]),
    "uop-reduce-c4": lambda src, arg: not (arg.op is Op.Add and src[0].dtype is bool_),
    "uop-function-c1": lambda src, arg: src[0].op is Op.Tuple,
    "uop-function-c2": lambda src, arg: bodies.is_closed(src[0]),
    "uop-function-c3": lambda src, arg: bodies.slots(src[0]) <= set(range(len(src) - 1)),
    "uop-function-c4": lambda src, arg: bodies.arguments_match(src[0], src[1:], strict=True),
    "uop-call-c1": lambda src, arg: src[0].op in (Op.Tuple, Op.Program, Op.CustomFunction),
    "uop-call-c2": lambda src, arg: (
        src[0].op is not Op.Tuple
        or (
            bodies.slots(src[0]) <= set(range(len(src) - 1))
            and bodies.arguments_match(src[0], src[1:], strict=False)
        )
    ),
    "uop-call-c3": lambda src, arg: src[0].op is not Op.Tuple or bodies.is_closed(src[0]),
    "uop-gettuple-c1": lambda src, arg: bodies.elements(src[0]) is not None,
    "uop-gettuple-c2": lambda src, arg: 0 <= arg < len(bodies.elements(src[0]) or ()),
    "uop-load-c1": lambda src, arg: len(src) != 2,
    "uop-load-c2": lambda src, arg: (
        len(src) < 3 or (src[1].dtype is src[0].dtype and same_shape(_shape(src[1]), _shape(src[0])))
    ),
    "uop-load-c3": lambda src, arg: _gate(src, 2),
    "uop-load-c4": _divides_devices,
    "uop-store-c1": lambda src, arg: _is_place(src[0]),
    "uop-store-c2": lambda src, arg: same_shape(_shape(src[0]), _shape(src[1])),
    "uop-store-c3": lambda src, arg: src[0].dtype is src[1].dtype,
    "uop-store-c4": lambda src, arg: _gate(src, 2),
    "uop-range-c1": lambda src, arg: _is_index_scalar(src[0]),
    "uop-range-c2": lambda src, arg: at_most(0, src[0]),
    "uop-sink-c1": lambda src, arg: not _leave_ranges_open(src),
    "uop-end-c1": lambda src, arg: src[0].op not in (Op.Range, Op.Sink, Op.Linear),
    "uop-end-c2": lambda src, arg: src[1].op is Op.Range,
    "uop-trunc-c1": lambda src, arg: src[0].dtype in floats,
    "uop-recip-c1": lambda src, arg: src[0].dtype in floats,
    "uop-cast-c1": lambda src, arg: void not in (src[0].dtype, arg),
    "uop-cast-c2": lambda src, arg: _castable(src[0].dtype, arg),
    "uop-where-c1": lambda src, arg: _one_shape(src),
    "uop-where-c2": lambda src, arg: src[0].dtype is bool_,
    "uop-where-c3": lambda src, arg: src[1].dtype is src[2].dtype,
    "uop-special-c1": lambda src, arg: _is_index_scalar(src[0]),
    "uop-special-c2": lambda src, arg: at_most(0, src[0]),
    "uop-special-c3": lambda src, arg: type(arg) is str,
    "uop-special-c4": lambda src, arg: arg[:4] in ("gidx", "lidx") and arg[4:].isdecimal() and arg.isascii(),
    "uop-if-c1": lambda src, arg: src[0].dtype is bool_ and src[0].shape == (),
    "uop-endif-c1": lambda src, arg: src[0].op is Op.If,
    "uop-wmma-c1": lambda src, arg: src[0].dtype is arg.input and src[1].dtype is arg.input,
    "uop-wmma-c2": lambda src, arg: src[2].dtype is arg.accumulator,
    "uop-custom-c1": lambda src, arg: type(arg) is str,
    "uop-atomicadd-c1": lambda src, arg: same_shape(_shape(src[0]), _shape(src[1])),
    "uop-atomicadd-c2": lambda src, arg: src[0].dtype is src[1].dtype,
    "uop-atomicadd-c3": lambda src, arg: _number(src[0].dtype),
    "uop-atomicadd-c4": lambda src, arg: _is_place(src[0]),
    "uop-customfunction-c1": lambda src, arg: type(arg) is str,
    "uop-program-c1": lambda src, arg: tuple(s.op for s in src) == (Op.Linear, Op.Source, Op.BinaryCode),
    "uop-source-c1": lambda src, arg: type(arg) is str,
    "uop-binarycode-c1": lambda src, arg: type(arg) is bytes,
}
"""The predicate of every constraint id; it may rely on the constraints before it."""

_DOMAINS: dict[str, tuple[Op, ...]] = {
    "number": (Op.Add, Op.Sub, Op.Mulacc),
    "number or bool": (Op.Mul, Op.Max, Op.CmpLt, Op.CmpNe, Op.CmpGt, Op.CmpGe, Op.CmpLe, Op.CmpEq),
    "whole": (Op.Mod, Op.Idiv, Op.CDiv, Op.CMod),
    "bits": (Op.Xor, Op.Or, Op.And),
    "float": (Op.Div,),
    "smooth": (Op.Pow,),
    "uint64": (Op.Threefry,),
}
_ADMITS: dict[str, Callable[[DType], bool]] = {
    "number": _number,
    "number or bool": lambda d: d is not void,
    "whole": lambda d: d.is_int or d is index,
    "bits": lambda d: d.is_int or d is bool_,
    "float": lambda d: d in floats,
    "smooth": lambda d: d in ieee_floats,
    "uint64": lambda d: d is uint64,
}


def _on_first(admits: Callable[[DType], bool]) -> Predicate:
    return lambda src, arg: admits(src[0].dtype)


for _op in (*(o for ops in _DOMAINS.values() for o in ops), Op.Shl, Op.Shr):
    CHECKS[f"uop-{_op.name.lower()}-c1"] = lambda src, arg: _one_shape(src)
    CHECKS[f"uop-{_op.name.lower()}-c2"] = lambda src, arg: _one_dtype(src)
for _domain, _ops in _DOMAINS.items():
    for _op in _ops:
        CHECKS[f"uop-{_op.name.lower()}-c3"] = _on_first(_ADMITS[_domain])
for _op in (Op.Shl, Op.Shr):
    CHECKS[f"uop-{_op.name.lower()}-c3"] = lambda src, arg: _shift_type(src)
for _op, _domain in (
    (Op.Neg, "number"),
    (Op.Exp2, "smooth"),
    (Op.Log2, "smooth"),
    (Op.Sin, "smooth"),
    (Op.Sqrt, "float"),
):
    CHECKS[f"uop-{_op.name.lower()}-c1"] = _on_first(_ADMITS[_domain])
CHECKS["uop-not-c1"] = lambda src, arg: src[0].dtype is bool_
