"""
Building programs
=================

The front door to nodes: it joins the op table's constraints and derived properties to the constructor, and has the
short names of the common ways of building a node. Every builder raises ``IllFormed`` where a constraint is broken.
"""

from __future__ import annotations

from math import inf
from typing import Any

from soundline.spec.derived_props import MIN_MAX, derive
from soundline.spec.dtypes import DType
from soundline.spec.errors import IllFormed
from soundline.spec.ops.building import (
    broadcast_to,
    buffer,
    const,
    element_of,
    expand,
    loop,
    pad,
    param,
    reshape,
    shape_source,
    shrink,
    tensor,
)
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
from soundline.spec.ops.sizes import Condition
from soundline.spec.ops.table.entries import TABLE

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


def _is_device(device: object) -> bool:
    names = device if isinstance(device, tuple) else (device,)
    return device is None or (bool(names) and all(isinstance(name, str) for name in names))


def _are(kind: type, *fields: object) -> bool:
    """Whether fields have a type; an int is not a bool here."""
    return all(isinstance(f, kind) and not (kind is int and isinstance(f, bool)) for f in fields)


def _has_field_types(arg: object) -> bool:
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


def _check_arg(entry: Entry, arg: Any) -> None:
    if arg is None and type(None) in entry.arg_types:
        return
    if (
        not isinstance(arg, entry.arg_types)
        or not is_hashable(arg)
        or not _has_field_types(arg)
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
        if constraint.holds(src, arg) is False:
            raise IllFormed(op.name, constraint.id, given=_given(src, arg), wants=constraint.text)
    return derive(op, src, arg)


def _given(src: tuple[UOp, ...], arg: Any) -> str:
    parts = [f"{s.dtype}{list(s.shape) if s.shape is not None else ''} {s!r}" for s in src]
    return "; ".join([*parts, *([f"arg {arg!r}"] if arg is not None else [])]) or "nothing"


UOp.laws = staticmethod(laws)
UOp.bounds = staticmethod(lambda node, at: MIN_MAX[node.op](node, at))


def obligations(root: UOp) -> list[tuple[str, UOp]]:
    """What must hold of the symbolic sizes for every node that `root` reaches: (constraint id, bool node) pairs."""
    open_conditions: list[tuple[str, UOp]] = []
    for node in toposort(root):
        for constraint in TABLE[node.op].constraints:
            condition: Condition = constraint.holds(node.src, node.arg)
            if isinstance(condition, UOp):
                open_conditions.append((constraint.id, condition))
    return open_conditions
