"""
Laws that many ops share
========================

Derived properties, in words and as functions, and predicates of constraints, that stand in the entries of several ops.
"""

from __future__ import annotations

from typing import Any

from soundline.spec.dtypes import DType, bool_, index, uint8, void
from soundline.spec.ops.bounds import dtype_range
from soundline.spec.ops.node import Device, Shape, UOp
from soundline.spec.ops.schema import Law, Sources, Typing
from soundline.spec.ops.shards import Disagreement, agreed, agreed_axis, is_alone
from soundline.spec.ops.sizes import Condition, at_most, every, same_shape, shape_of, sizes_in, sizes_of

# Derived properties -----------------------------------------------------------------------------------------------


def agreed_device(src: Sources, arg: Any) -> Device:
    """The device that all sources agree on."""
    return agreed([s.device for s in src])


def agreed_shard(src: Sources, arg: Any) -> int | None:
    """The shard axis that all sources agree on."""
    return agreed_axis([s.axis for s in src], agreed_device(src, arg))


def _shared_device(src: Sources, arg: Any) -> Device:
    devices = {s.device for s in src if s.device is not None}
    return devices.pop() if len(devices) == 1 else None


def _written_device(src: Sources, arg: Any) -> Device:
    """The device of the place; only a Load brings a value to another."""
    agreed_device(src, arg)
    return src[0].device


def _written_axis(src: Sources, arg: Any) -> None:
    """None; a value without a shard axis is on every device, and one with it only where the place has it too."""
    value = agreed_shard(src[1:], arg)
    if value not in (None, src[0].axis) and not is_alone(src[0].device):
        raise Disagreement(f"{src[0].axis!r} and {value!r}")


FIRST_DTYPE = Law("src[0].dtype", lambda src, arg: src[0].dtype)
BYTES = Law("uint8", lambda src, arg: uint8)
NO_DEVICE: Law[Any] = Law("null", lambda src, arg: None)
NO_AXIS: Law[Any] = Law("null", lambda src, arg: None)
AGREED_DEVICE = Law("the one non-null device that all sources agree on (U-29)", agreed_device)
AGREED_AXIS = Law("the one non-null axis that all sources agree on (U-29)", agreed_shard)

NO_VALUE = Typing(
    dtype=Law("void", lambda src, arg: void),
    shape=Law("none", lambda src, arg: None),
    device=Law("the device that all sources share, else null", _shared_device),
    axis=Law("none", lambda src, arg: None),
)
"""A node without a value."""

WRITTEN = NO_VALUE.but(
    device=Law("src[0].device; the other sources are there too", _written_device),
    axis=Law("none; what is written has the axis of src[0], or null", _written_axis),
)
"""An effect that writes to the place that is its first source."""

INHERITED = Typing(
    dtype=FIRST_DTYPE,
    shape=Law("src[0].shape", lambda src, arg: src[0].shape),
    device=Law("src[0].device", lambda src, arg: src[0].device),
    axis=Law("src[0].axis", lambda src, arg: src[0].axis),
)
"""A node that passes its first source on."""

LOOP_INDEX = Typing(
    dtype=Law("index", lambda src, arg: index),
    shape=Law("()", lambda src, arg: ()),
    device=NO_DEVICE,
    axis=NO_AXIS,
)

SAME_BOUNDS = Law("src[0]", lambda node, at: at(node.src[0]))
DTYPE_RANGE = Law("dtype range", lambda node, at: dtype_range(node.dtype))

# Predicates -------------------------------------------------------------------------------------------------------


def is_shape(source: UOp, *, rank: int | None = None) -> bool:
    """Whether a source is a Stack of index scalars, as many as the rank says."""
    sizes = sizes_of(source)
    return sizes is not None and (rank is None or len(sizes) == rank)


def no_negative(source: UOp) -> Condition:
    """Whether a source is a shape, of which no size is negative."""
    return is_shape(source) and every(at_most(0, s) for s in sizes_in(source))


def is_index_scalar(node: UOp) -> bool:
    """Whether a node is one number of index."""
    return node.dtype is index and node.shape == ()


def distinct_axes(axes: tuple[int, ...], rank: int) -> bool:
    """Whether axes are axes of a value of this rank, none twice."""
    plain = all(type(a) is int and 0 <= a < rank for a in axes)
    return plain and len(set(axes)) == len(axes)


def one_shape(src: Sources, arg: Any = None) -> Condition:
    """Whether all sources have one shape."""
    return every(same_shape(shape_of(src[0]), shape_of(s)) for s in src[1:])


def one_dtype(src: Sources, arg: Any = None) -> bool:
    """Whether all sources have one dtype."""
    return all(s.dtype is src[0].dtype for s in src)


def is_number(dtype: DType) -> bool:
    """Whether the elements of a dtype are numbers."""
    return dtype not in (bool_, void)


def is_stored(dtype: DType) -> bool:
    """Whether memory can hold the elements of a dtype."""
    return dtype not in (index, void)


def is_gate(src: Sources, position: int) -> Condition:
    """Whether the source at a position, if it is there, says where the first is used."""
    if len(src) <= position:
        return True
    gate = src[position]
    return gate.dtype is bool_ and (gate.shape == () or same_shape(shape_of(gate), shape_of(src[0])))


def reduced_shape(shape: Shape, axes: tuple[int, ...]) -> Shape:
    """The shape with 1 on axes."""
    return tuple(1 if k in axes else size for k, size in enumerate(shape))


def without(axis: int | None, gone: tuple[int, ...]) -> int | None:
    """A shard axis, unless it is among those that are gone."""
    return None if axis in gone else axis
