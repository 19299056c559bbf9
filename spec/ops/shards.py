"""
Devices and shards
==================

Which device several sources agree on, and where the shard axis of a multi-device value goes (U-29, U-35). On an n-tuple
device the shard axis is divided in n equal parts, one for each device; with a null axis each device holds a replica.
The chapter `devices` computes programs by these parts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from soundline.spec.dtypes import DType
from soundline.spec.ops.node import Device, ParamArg, Shape, SliceArg, UOp
from soundline.spec.ops.sizes import Condition, divides, equal, every, multiply, product

_T = TypeVar("_T")


def parts(device: Device) -> int:
    """The number of parts that a shard axis has."""
    return len(device) if isinstance(device, tuple) else 1


def is_alone(device: Device) -> bool:
    """Whether a device is a tuple of one, whose part is the whole, so that it does not matter which axis is divided."""
    return isinstance(device, tuple) and len(device) == 1


class Disagreement(Exception):
    """Two sources name different devices, or different shard axes."""


def agreed(values: Sequence[_T]) -> _T | None:
    """The one value that is not null, or null; raises `Disagreement` where there are two."""
    found = [v for v in values if v is not None]
    if any(v != found[0] for v in found):
        raise Disagreement(f"{found[0]!r} and {next(v for v in found if v != found[0])!r}")
    return found[0] if found else None


def agreed_axis(axes: Sequence[int | None], device: Device) -> int | None:
    """The one axis that is not null, or null; on a tuple of one device, the first."""
    if is_alone(device):
        return next((a for a in axes if a is not None), None)
    return agreed(axes)


def reshaped_axis(source: UOp, new: Shape) -> int | None:
    """The new axis that begins where the shard axis began and whose size the number of devices divides.

    Several such axes exist only on one device or without elements. Then it is the first that has the size of the shard
    axis, or the last if none has.
    """
    assert source.shape is not None
    assert source.axis is not None
    devices, old = parts(source.device), source.shape[source.axis]
    before = product(source.shape[: source.axis])
    found = [
        axis
        for axis, size in enumerate(new)
        if isinstance(size, int) and size % devices == 0 and equal(product(new[:axis]), before) is True
    ]
    alike = [axis for axis in found if new[axis] == old]
    return alike[0] if alike else found[-1] if found else None


def admits_axis(arg: ParamArg, shape: Shape) -> Condition:
    """Whether a Param of this shape can have the axis of its arg: one that is there, and that n devices divide."""
    if arg.axis is None:
        return True
    inside = 0 <= arg.axis < len(shape) and not isinstance(arg.device, str)
    return inside and divides(parts(arg.device), shape[arg.axis])


def bitcast_keeps_parts(source: UOp, dtype: DType) -> Condition:
    """Whether a Bitcast takes no item together from two parts: each part is a whole number of new items."""
    assert source.shape is not None
    if source.axis is None or source.axis != len(source.shape) - 1:
        return True
    stored = multiply(source.shape[-1], source.dtype.itemsize)
    return divides(parts(source.device) * dtype.itemsize, stored)


def slice_keeps_parts(source: UOp, offset: UOp, arg: SliceArg) -> Condition:
    """Whether a Slice leaves every part where it is: it is all of its source, in items that n divides."""
    if source.axis is None:
        return True
    assert source.shape is not None
    stored = multiply(source.shape[0], source.dtype.itemsize)
    whole = equal(arg.size * arg.dtype.itemsize, stored)
    return every((equal(offset, 0), whole, arg.size % parts(source.device) == 0))
