"""
Derived properties
==================

Every UOp has a dtype, a shape, a device, a shard axis and a min_max, derived from its op, sources and arg. The first
four are computed when a node is made; `min_max` (chapter `bounds`) is computed on demand. A law that finds its sources
in disagreement raises ``IllFormed`` under the law's own id, for example ``uop-add-device``.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from soundline.spec.arrays.movement import LAWS, MOVES, Given
from soundline.spec.dtypes import DType, bool_, index, uint8, void
from soundline.spec.errors import IllFormed
from soundline.spec.ops import bodies
from soundline.spec.ops.bounds import Bounds, min_max
from soundline.spec.ops.node import Device, Op, Properties, Shape, Size, UOp
from soundline.spec.ops.shards import Disagreement, agreed, agreed_axis, is_alone, reshaped_axis
from soundline.spec.ops.sizes import as_size, multiply, product, sizes_of
from soundline.spec.ops.table import TABLE, group_of

__all__ = ["AXIS", "DEVICE", "DTYPE", "SHAPE", "Bounds", "derive", "min_max"]

Sources = tuple[UOp, ...]

COMPARISONS = (Op.CmpLt, Op.CmpNe, Op.CmpGt, Op.CmpGe, Op.CmpLe, Op.CmpEq)
_ALU = (*group_of("elementwise", "decomposed"), Op.CDiv, Op.CMod)
_VOID = tuple(op for op, e in TABLE.items() if e.laws["dtype"] == "void")
_MARKERS = group_of("marker")


def _sizes(source: UOp) -> Shape:
    sizes = sizes_of(source)
    assert sizes is not None
    return sizes


def _shape(node: UOp) -> Shape:
    assert node.shape is not None
    return node.shape


# dtype ------------------------------------------------------------------------------------------------------------


def _first_dtype(src: Sources, arg: Any) -> DType:
    return src[0].dtype


DTYPE: dict[Op, Callable[[Sources, Any], DType]] = {
    **dict.fromkeys(_VOID, lambda src, arg: void),
    **dict.fromkeys((*group_of("movement"), *_ALU, *_MARKERS), _first_dtype),
    **dict.fromkeys((Op.Reduce, Op.Load, Op.After), _first_dtype),
    **dict.fromkeys(COMPARISONS, lambda src, arg: bool_),
    **dict.fromkeys((Op.Range, Op.Special), lambda src, arg: index),
    **dict.fromkeys((Op.Binary, Op.BinaryCode), lambda src, arg: uint8),
    **dict.fromkeys((Op.Param, Op.Buffer, Op.Const, Op.Slice), lambda src, arg: arg.dtype),
    **dict.fromkeys((Op.Cast, Op.Bitcast), lambda src, arg: arg),
    Op.Stack: lambda src, arg: src[0].dtype if src else index,
    Op.Where: lambda src, arg: src[1].dtype,
    Op.Wmma: lambda src, arg: src[2].dtype,
    Op.GetTuple: lambda src, arg: (bodies.elements(src[0]) or ())[arg].dtype,
}


# shape ------------------------------------------------------------------------------------------------------------


def _moved_shape(op: Op, src: Sources, arg: Any) -> Shape:
    """By the law of movement, which asks for the last of the sources that hold numbers: the new shape."""
    return MOVES[op].shape(Given((_shape(src[0]),), arg, tuple(map(_sizes, src[1:][-1:]))))


def _bitcast_shape(src: Sources, arg: DType) -> Shape:
    shape = _shape(src[0])
    if src[0].dtype.itemsize == arg.itemsize:
        return shape
    return (*shape[:-1], _scaled(shape[-1], src[0].dtype.itemsize, arg.itemsize))


def _scaled(size: Size, old: int, new: int) -> Size:
    """The number of items of `new` bytes in `size` items of `old` bytes."""
    if isinstance(size, int):
        return size * old // new
    if old % new == 0:
        return multiply(size, old // new)
    return as_size(Op.Idiv(size, Op.Const(arg=_index_const(new // old))))


def _index_const(value: int) -> Any:
    from soundline.spec.ops.node import ConstArg

    return ConstArg(value, index)


def _reduce_shape(src: Sources, arg: Any) -> Shape:
    return tuple(1 if k in arg.axes else size for k, size in enumerate(_shape(src[0])))


def _first_shape(src: Sources, arg: Any) -> Shape | None:
    return src[0].shape


SHAPE: dict[Op, Callable[[Sources, Any], Shape | None]] = {
    **dict.fromkeys(_VOID, lambda src, arg: None),
    **dict.fromkeys((*_ALU, *_MARKERS, Op.Load, Op.After), _first_shape),
    **dict.fromkeys((Op.Const, Op.Range, Op.Special), lambda src, arg: ()),
    **dict.fromkeys((Op.Binary, Op.BinaryCode), lambda src, arg: (len(arg),)),
    **{op: partial(_moved_shape, op) for op in MOVES},
    Op.Param: lambda src, arg: _sizes(src[0]),
    Op.Buffer: lambda src, arg: (arg.size * (len(arg.device) if isinstance(arg.device, tuple) else 1),),
    Op.Index: lambda src, arg: LAWS[Op.Index].shape(Given(tuple(map(_shape, src)))),
    Op.Stack: lambda src, arg: LAWS[Op.Stack].shape(Given(tuple(_shape(s) for s in src[:1]) * len(src))),
    Op.Replicated: lambda src, arg: tuple(1 if k in arg else s for k, s in enumerate(_shape(src[0]))),
    Op.Slice: lambda src, arg: (arg.size,),
    Op.Bitcast: _bitcast_shape,
    Op.Reduce: _reduce_shape,
    Op.Wmma: lambda src, arg: src[2].shape,
    Op.GetTuple: lambda src, arg: bodies.element(src[0], arg).shape,
}


# device -----------------------------------------------------------------------------------------------------------


def _agreed_device(src: Sources, arg: Any) -> Device:
    return agreed([s.device for s in src])


def _shared_device(src: Sources, arg: Any) -> Device:
    devices = {s.device for s in src if s.device is not None}
    return devices.pop() if len(devices) == 1 else None


def _first_device(src: Sources, arg: Any) -> Device:
    return src[0].device


def _written_device(src: Sources, arg: Any) -> Device:
    """The device of the place; only a Load brings a value to another."""
    _agreed_device(src, arg)
    return src[0].device


def _load_device(src: Sources, arg: Any) -> Device:
    here = _agreed_device(src, arg)
    return here if arg is None or arg.device is None else arg.device


DEVICE: dict[Op, Callable[[Sources, Any], Device]] = {
    **dict.fromkeys(_VOID, _shared_device),
    **dict.fromkeys((*_ALU, *group_of("movement")), _agreed_device),
    **dict.fromkeys((*_MARKERS, Op.Reduce, Op.After, Op.Wmma), _first_device),
    **dict.fromkeys((Op.Store, Op.AtomicAdd), _written_device),
    **dict.fromkeys((Op.Const, Op.Range, Op.Special, Op.Binary, Op.BinaryCode), lambda src, arg: None),
    **dict.fromkeys((Op.Param, Op.Buffer), lambda src, arg: arg.device),
    Op.Load: _load_device,
    Op.GetTuple: lambda src, arg: bodies.element(src[0], arg).device,
}


# axis -------------------------------------------------------------------------------------------------------------


def _agreed_axis(src: Sources, arg: Any) -> int | None:
    return agreed_axis([s.axis for s in src], agreed([s.device for s in src]))


def _first_axis(src: Sources, arg: Any) -> int | None:
    return src[0].axis


def _lost_on(axis: int | None, gone: tuple[int, ...]) -> int | None:
    return None if axis in gone else axis


def _load_axis(src: Sources, arg: Any) -> int | None:
    here = _agreed_axis(src, arg)
    if arg is None or arg.device is None:
        return here
    return 0 if isinstance(arg.device, tuple) else None


def _index_axis(src: Sources, arg: Any) -> int | None:
    """The shard axis of T among the axes that are left, or the axis that a sharded index makes."""
    indices, made, found = src[1:], 0, []
    for i in indices:
        found.append(None if i.axis is None else made + i.axis)
        made += len(_shape(i))
    found.append(None if src[0].axis is None else made + src[0].axis - len(indices))
    return agreed_axis(found, agreed([s.device for s in src]))


def _written_axis(src: Sources, arg: Any) -> None:
    """None; a value without a shard axis is on every device, and one with it only where the place has it too."""
    value = _agreed_axis(src[1:], arg)
    if value not in (None, src[0].axis) and not is_alone(src[0].device):
        raise Disagreement(f"{src[0].axis!r} and {value!r}")


def _stack_axis(src: Sources, arg: Any) -> int | None:
    axis = _agreed_axis(src, arg)
    return None if axis is None else axis + 1


AXIS: dict[Op, Callable[[Sources, Any], int | None]] = {
    **dict.fromkeys(_VOID, lambda src, arg: None),
    **dict.fromkeys((Op.Store, Op.AtomicAdd), _written_axis),
    **dict.fromkeys((*_ALU,), _agreed_axis),
    **dict.fromkeys((*_MARKERS, Op.Flip, Op.Expand, Op.Pad, Op.Shrink, Op.After), _first_axis),
    **dict.fromkeys((Op.Slice, Op.Bitcast), _first_axis),
    **dict.fromkeys(
        (Op.Const, Op.Range, Op.Special, Op.Binary, Op.BinaryCode, Op.Wmma), lambda src, arg: None
    ),
    Op.Param: lambda src, arg: arg.axis,
    Op.Buffer: lambda src, arg: 0 if isinstance(arg.device, tuple) else None,
    Op.Permute: lambda src, arg: None if src[0].axis is None else arg.index(src[0].axis),
    Op.Reshape: lambda src, arg: None if src[0].axis is None else reshaped_axis(src[0], _sizes(src[1])),
    Op.Index: _index_axis,
    Op.Stack: _stack_axis,
    Op.Replicated: lambda src, arg: _lost_on(src[0].axis, arg),
    Op.Reduce: lambda src, arg: _lost_on(src[0].axis, arg.axes),
    Op.Load: _load_axis,
    Op.GetTuple: lambda src, arg: bodies.element(src[0], arg).axis,
}


def derive(op: Op, src: Sources, arg: Any) -> Properties:
    """The four properties of a tuple that satisfies its constraints."""
    entry = TABLE[op]
    shape = SHAPE[op](src, arg)
    found: dict[str, Any] = {}
    for law, rules in (("device", DEVICE), ("axis", AXIS)):
        try:
            found[law] = rules[op](src, arg)
        except Disagreement as conflict:
            raise IllFormed(
                op.name, entry.law_id(law), given=str(conflict), wants=f"one {law} for all sources"
            ) from None
    return Properties(DTYPE[op](src, arg), shape, found["device"], found["axis"])


def element_count(node: UOp) -> Size:
    """The number of elements of a value."""
    return product(_shape(node))
