"""
Building programs
=================

The front door to nodes: it joins the op table's constraints and the derived properties to the constructor, and gives
a short name to each common way of building a node. Every builder raises ``IllFormed`` where a constraint is broken.
"""

from __future__ import annotations

from math import inf
from typing import Any

from soundline.spec.derived_props import derive
from soundline.spec.dtypes import DType, Element, bool_, int32, round_to, wrap
from soundline.spec.errors import IllFormed
from soundline.spec.ops.constraints import ARGS, CHECKS, has_field_types
from soundline.spec.ops.node import (
    AxisType,
    BufferArg,
    ConstArg,
    Device,
    LoadArg,
    Op,
    ParamArg,
    Properties,
    RangeArg,
    ReduceArg,
    Shape,
    Size,
    SliceArg,
    UOp,
    WmmaArg,
    is_hashable,
    over,
    rebuilt,
    substitute,
    toposort,
)
from soundline.spec.ops.schema import Entry
from soundline.spec.ops.sizes import Condition, as_node
from soundline.spec.ops.table import TABLE

__all__ = [
    "AxisType",
    "BufferArg",
    "ConstArg",
    "Device",
    "LoadArg",
    "Op",
    "ParamArg",
    "RangeArg",
    "ReduceArg",
    "Shape",
    "Size",
    "SliceArg",
    "UOp",
    "WmmaArg",
    "broadcast_to",
    "buffer",
    "const",
    "element_of",
    "expand",
    "loop",
    "obligations",
    "over",
    "pad",
    "param",
    "rebuilt",
    "reshape",
    "shape_source",
    "shrink",
    "substitute",
    "tensor",
    "toposort",
]


def _arity(entry: Entry) -> tuple[int, float]:
    """The least and the greatest number of sources."""
    required = sum(1 for s in entry.sources if not s.variadic and not s.optional)
    return required, inf if any(s.variadic for s in entry.sources) else len(entry.sources)


_ARITY = {op: _arity(entry) for op, entry in TABLE.items()}


def _check_arity(entry: Entry, src: tuple[Any, ...]) -> None:
    required, most = _ARITY[entry.op]
    if required <= len(src) <= most and all(isinstance(s, UOp) for s in src):
        return
    names = ", ".join(s.name + ("…" if s.variadic else "?" if s.optional else "") for s in entry.sources)
    if not all(isinstance(s, UOp) for s in src):
        bad = next(s for s in src if not isinstance(s, UOp))
        raise IllFormed(
            entry.op.name, f"uop-{entry.slug}-src", given=repr(bad), wants=f"UOps as sources ({names})"
        )
    raise IllFormed(
        entry.op.name,
        f"uop-{entry.slug}-src",
        given=f"{len(src)} source{'' if len(src) == 1 else 's'}",
        wants=f"the sources ({names})",
    )


def _check_arg(entry: Entry, arg: Any) -> None:
    admitted = ARGS.get(entry.op, (type(None),))
    if arg is None and type(None) in admitted:
        return
    if (
        not isinstance(arg, admitted)
        or not is_hashable(arg)
        or not has_field_types(arg)
        or (entry.op is Op.GetTuple and isinstance(arg, bool))
    ):
        raise IllFormed(
            entry.op.name, f"uop-{entry.slug}-arg", given=f"arg {arg!r}", wants=f"arg: {entry.arg}"
        )


def _check_values(entry: Entry, src: tuple[UOp, ...]) -> None:
    """A source that must be a value is not void: every source of an op whose result is a value, but tuples and deps."""
    if entry.laws["dtype"] == "void" and entry.op not in (Op.Store, Op.AtomicAdd, Op.If):
        return
    checked = src[:1] if entry.op is Op.After else () if entry.op is Op.GetTuple else src
    for s in checked:
        if s.shape is None:
            raise IllFormed(
                entry.op.name,
                f"uop-{entry.slug}-src",
                given=f"a {s.op.name}, which has no value",
                wants="values",
            )


def laws(op: Op, src: tuple[UOp, ...], arg: Any) -> Properties:
    """Check a tuple against the op table, in the order of its constraints, and derive its properties."""
    entry = TABLE[op]
    _check_arity(entry, src)
    _check_arg(entry, arg)
    _check_values(entry, src)
    for constraint in entry.constraints:
        if CHECKS[constraint.id](src, arg) is False:
            raise IllFormed(op.name, constraint.id, given=_given(src, arg), wants=constraint.text)
    return derive(op, src, arg)


def _given(src: tuple[UOp, ...], arg: Any) -> str:
    parts = [f"{s.dtype}{list(s.shape) if s.shape is not None else ''} {s!r}" for s in src]
    return "; ".join([*parts, *([f"arg {arg!r}"] if arg is not None else [])]) or "nothing"


UOp.laws = staticmethod(laws)


def obligations(root: UOp) -> list[tuple[str, UOp]]:
    """What must hold of the symbolic sizes for every node that `root` reaches: (constraint id, bool node) pairs."""
    open_conditions: list[tuple[str, UOp]] = []
    for node in toposort(root):
        for constraint in TABLE[node.op].constraints:
            condition: Condition = CHECKS[constraint.id](node.src, node.arg)
            if isinstance(condition, UOp):
                open_conditions.append((constraint.id, condition))
    return open_conditions


def element_of(value: Element, dtype: DType) -> Element:
    """A Python number as an element of `dtype`: integers wrap, floats round, anything nonzero is True."""
    if dtype is bool_:
        return bool(value)
    if dtype.is_float:
        return round_to(dtype, float(value))
    return wrap(dtype, int(value))


def const(value: Element, dtype: DType) -> UOp:
    """A constant; the value must be one of the dtype's."""
    exact = float(value) if dtype.is_float and type(value) is int else value
    return UOp(Op.Const, (), ConstArg(exact, dtype))


def shape_source(sizes: Shape) -> UOp:
    """The Stack of index scalars that says a shape or an offset (U-22)."""
    return UOp(Op.Stack, tuple(as_node(s) for s in sizes))


def param(
    slot: int,
    dtype: DType,
    shape: Shape = (),
    *,
    device: Device = None,
    axis: int | None = None,
    bounds: tuple[Element, Element] | None = None,
) -> UOp:
    """A placeholder of this shape; `bounds` promise lo ≤ value ≤ hi."""
    ends = None if bounds is None else (ConstArg(bounds[0], dtype), ConstArg(bounds[1], dtype))
    arg = ParamArg(slot, dtype, device, "GLOBAL", axis, ends)
    return UOp(Op.Param, (shape_source(shape),), arg)


def buffer(slot: int, size: int, dtype: DType, device: Device = "CPU", addrspace: str = "GLOBAL") -> UOp:
    """Storage of `size` elements on each device."""
    return UOp(Op.Buffer, (), BufferArg(slot, size, dtype, device, addrspace))


def loop(bound: Size, number: int, kind: AxisType = AxisType.LOOP) -> UOp:
    """A Range from 0 to `bound`, exclusive; `number` is its identity."""
    return UOp(Op.Range, (as_node(bound),), RangeArg(number, kind))


def reshape(x: UOp, shape: Shape) -> UOp:
    """`x` in another shape of as many elements."""
    return UOp(Op.Reshape, (x, shape_source(shape)))


def expand(x: UOp, shape: Shape) -> UOp:
    """`x` with its axes of size 1 repeated up to `shape`."""
    return UOp(Op.Expand, (x, shape_source(shape)))


def pad(x: UOp, offset: Shape, shape: Shape) -> UOp:
    """`x` at `offset` in a zero-filled `shape`."""
    return UOp(Op.Pad, (x, shape_source(offset), shape_source(shape)))


def shrink(x: UOp, offset: Shape, shape: Shape) -> UOp:
    """The part of `x` of this `shape` at `offset`."""
    return UOp(Op.Shrink, (x, shape_source(offset), shape_source(shape)))


def broadcast_to(x: UOp, shape: Shape) -> UOp:
    """`x` with leading axes of size 1 added, then expanded to `shape`."""
    assert x.shape is not None
    if x.shape == shape:
        return x
    ones = (1,) * (len(shape) - len(x.shape)) + x.shape
    x = x if ones == x.shape else reshape(x, ones)
    return x if ones == shape else expand(x, shape)


def tensor(values: Any, dtype: DType = int32) -> UOp:
    """Nested lists of numbers as Stacks of constants; an int is taken as a float where `dtype` is one."""
    if isinstance(values, list):
        return UOp(Op.Stack, tuple(tensor(v, dtype) for v in values))
    return const(values, dtype)
