"""
Memory
======

What reads and writes places, and a value as it is after effects (U-26).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from soundline.spec.errors import GradientError
from soundline.spec.ops import bodies
from soundline.spec.ops.adjoints import NO_VALUE as NO_ADJOINT
from soundline.spec.ops.adjoints import Parts, dropped, kept, routes
from soundline.spec.ops.bounds import hull
from soundline.spec.ops.building import broadcast_to
from soundline.spec.ops.laws import (
    INHERITED,
    SAME_BOUNDS,
    WRITTEN,
    agreed_device,
    agreed_shard,
    is_gate,
    is_number,
)
from soundline.spec.ops.node import Device, LoadArg, Op, UOp
from soundline.spec.ops.places import base_of, is_place
from soundline.spec.ops.schema import Law, Sources, entry, source
from soundline.spec.ops.sizes import Condition, divides, same_shape, shape_of

DEPENDENCIES = source("dep", "what must have happened", variadic=True)
_PLACE = "is a place: a Buffer, or a Param without bounds, under movement ops and After"

# Load -------------------------------------------------------------------------------------------------------------


def devices_divide(src: Sources, arg: LoadArg | None) -> Condition:
    """Whether each device of an n-tuple gets a part of axis 0."""
    if arg is None or not isinstance(arg.device, tuple):
        return True
    shape = shape_of(src[0])
    return bool(shape) and divides(len(arg.device), shape[0])


def load_device(src: Sources, arg: LoadArg | None) -> Device:
    """Where the value is put, else where it is."""
    here = agreed_device(src, arg)
    return here if arg is None or arg.device is None else arg.device


def load_axis(src: Sources, arg: LoadArg | None) -> int | None:
    """The axis along which a value is put on devices, else that which it has."""
    here = agreed_shard(src, arg)
    if arg is None or arg.device is None:
        return here
    return 0 if isinstance(arg.device, tuple) else None


def _to_loaded(node: UOp, g: UOp) -> Parts:
    _, *gated = node.src
    if not gated:
        return (g,)
    gate = broadcast_to(gated[1], shape_of(node))
    return kept(gate, g), dropped(gate, g), None


LOAD = entry(
    Op.Load,
    "load",
    "The value of buf, as storage on the device and address space of arg. Where a gate is False the place is not "
    "touched and the value is alt. On an n-tuple device the value is split along axis 0.",
    sources=(
        source("buf", "what is read"),
        source("alt", "the value where the gate is False", optional=True),
        source("gate", "bool: read only where True", optional=True),
    ),
    arg="device?, addrspace?",
    arg_types=(LoadArg, type(None)),
    constraints=(
        ("alt and gate come together", lambda src, arg: len(src) != 2),
        (
            "alt has the dtype and shape of buf",
            lambda src, arg: (
                len(src) < 3
                or (src[1].dtype is src[0].dtype and same_shape(shape_of(src[1]), shape_of(src[0])))
            ),
        ),
        ("gate is bool, a scalar or of the shape of buf", lambda src, arg: is_gate(src, 2)),
        ("n divides axis 0 on an n-tuple device", devices_divide),
    ),
    typing=INHERITED.but(
        device=Law("from arg, else the one non-null device that all sources agree on (U-29)", load_device),
        axis=Law(
            "0 where arg names an n-tuple device, null where it names one device, else the one "
            "non-null axis of the sources",
            load_axis,
        ),
    ),
    bounds=Law(
        "hull of src[0] and alt",
        lambda node, at: hull([at(node.src[0]), *(at(s) for s in node.src[1:2])]),
    ),
    adjoint=routes(
        "to buf: g, where a gate is True. To alt: g where it is False. Each is brought back to the device and axis of "
        "its source",
        _to_loaded,
        narrows=lambda node: len(node.src) > 1,
    ),
    example=">>> evaluate(Op.Load(buffer(0, 2, int32)), buffers={0: [7, 8]}).elements\n(7, 8)",
    decisions=("U-01", "U-25", "U-26", "U-45"),
)

# Store and AtomicAdd ----------------------------------------------------------------------------------------------


def shape_of_place(src: Sources, arg: Any) -> Condition:
    """Whether what is written has the shape of the place."""
    return same_shape(shape_of(src[0]), shape_of(src[1]))


def dtype_of_place(src: Sources, arg: Any) -> bool:
    """Whether what is written has the dtype of the place."""
    return src[0].dtype is src[1].dtype


STORE = entry(
    Op.Store,
    "store",
    "Write val into the place. All of val is read before anything is written.",
    sources=(
        source("buf", "a place: a Buffer, or a view of one"),
        source("val", "what is written"),
        source("gate", "bool: write only where True", optional=True),
    ),
    constraints=(
        (f"buf {_PLACE}", lambda src, arg: is_place(src[0])),
        ("val has the shape of buf", shape_of_place),
        ("val has the dtype of buf", dtype_of_place),
        ("gate is bool, a scalar or of the shape of buf", lambda src, arg: is_gate(src, 2)),
    ),
    typing=WRITTEN,
    adjoint=NO_ADJOINT,
    example=">>> b = buffer(0, 2, int32)\n"
    ">>> evaluate(Op.Load(Op.After(b, Op.Store(b, tensor([7, 8])))), buffers={0: [0, 0]}).elements\n(7, 8)",
    decisions=("U-26",),
)

ATOMIC_ADD = entry(
    Op.AtomicAdd,
    "codegen",
    "Add val to the place in one indivisible step. Several may meet in one place; here they are added in the order "
    "of the iterations, and a machine may take any order, which matters to floats alone.",
    sources=(source("idx", "a place"), source("val", "what is added")),
    constraints=(
        ("val has the shape of idx", shape_of_place),
        ("val has the dtype of idx", dtype_of_place),
        ("the dtype is a number", lambda src, arg: is_number(src[0].dtype)),
        (f"idx {_PLACE}", lambda src, arg: is_place(src[0])),
    ),
    typing=WRITTEN,
    adjoint=NO_ADJOINT,
    example=">>> Op.AtomicAdd(Op.Index(buffer(0, 2, int32), const(0, index)), const(1, int32)).dtype\nvoid",
    decisions=("U-26",),
)

# After ------------------------------------------------------------------------------------------------------------


def _to_version(node: UOp, g: UOp) -> Parts:
    """The dependencies' writes must not be read here: a derivative through memory is not the derivative of a value."""
    read = set(bodies.own_nodes(node.src[0]))
    if read & set(_written(bodies.own_nodes(*node.src[1:]))):
        raise GradientError(
            "this Load reads what the program wrote, and memory has no adjoint",
            rule="uop-after-adjoint",
            where="After",
            hint="take the gradient of the value before it is stored",
        )
    return g, *(None for _ in node.src[1:])


def _written(nodes: Iterable[UOp]) -> list[UOp]:
    """The storage that effects write, or may write."""
    found: list[UOp] = []
    for node in nodes:
        if node.op in (Op.Store, Op.AtomicAdd):
            found.append(base_of(node.src[0]))
        elif node.op in (Op.Custom, Op.Ins):
            found += [base_of(s) for s in node.src]
        elif node.op is Op.Call and node.src[0].op is Op.Program:
            found += [base_of(s) for s in node.src[1:]]
    return found


AFTER = entry(
    Op.After,
    "ordering",
    "buf, as it is after the dependencies have happened.",
    sources=(source("buf", "a value or a place"), DEPENDENCIES),
    typing=INHERITED,
    bounds=Law("src[0]; what may be stored to is never bounded tighter than its dtype", SAME_BOUNDS.of),
    adjoint=routes("to buf: g. An error where a dependency writes what buf reads", _to_version),
    example=">>> Op.After(buffer(0, 4, int32)).shape\n(4,)",
    decisions=("U-26", "U-45"),
)
