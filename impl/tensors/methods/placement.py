"""
Placement of tensors
====================

Tensors on several devices of this machine: ``CPU:0``, ``CPU:1`` and so on. Each device has a separate memory, and data
is copied between them. On n devices a tensor is divided into n equal parts along its shard axis; if the axis is None,
each device holds a replica. The collectives are those of the source, as programs over Load, movement and Reduce (U-28).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy.typing as npt

from soundline.impl.arrays import storage
from soundline.impl.arrays.operands import axis_of
from soundline.impl.lower.graphs.placement import check_device
from soundline.impl.tensors.core import history
from soundline.impl.tensors.methods.movement import Movement, refuse
from soundline.spec.compositions import collectives


class Placement(Movement):
    """Devices, shards and collectives."""

    __slots__ = ()

    @property
    def device(self) -> str | tuple[str, ...]:
        """Where the tensor is; a constant is wherever it is used, and says ``CPU``."""
        return self._uop.device or "CPU"

    @property
    def axis(self) -> int | None:
        """The axis along which several devices hold parts; None of one device, and of replicas."""
        return self._uop.axis

    @property
    def shards(self) -> tuple[npt.NDArray[Any], ...]:
        """What each device holds: arrays that cannot be written."""
        value = history.without_marks(self.realize()._uop)
        found = storage.buffer_of(value)
        if found is None or not isinstance(found.device, tuple):
            return (self._held("shards"),)
        n = len(found.device)
        own = tuple(s // n if k == value.axis else s for k, s in enumerate(self.shape))
        views = tuple(storage.contents(p).reshape(own) for p in storage.parts_of(found))
        for view in views:
            view.flags.writeable = False
        return views

    # Moves --------------------------------------------------------------------------------------------------------

    def to(self, device: str | Sequence[str]) -> Self:
        """The value on a device, whole, or on each of several.

        >>> from soundline.impl.tensors.tensor import Tensor
        >>> x = Tensor([1, 2, 3, 4]).shard(("CPU:0", "CPU:1"), axis=0)
        >>> x.to("CPU:1").device
        'CPU:1'
        """
        if not isinstance(device, str):
            return self.shard(device, None)
        check_device(device)
        return self.of(collectives.copied(self.uop, device))

    def shard(self, devices: Sequence[str], axis: int | None = None) -> Self:
        """The value on several devices: a replica on each, or in equal parts along an axis, where one is named.

        >>> from soundline.impl.tensors.tensor import Tensor
        >>> x = Tensor([[1, 2], [3, 4]]).shard(("CPU:0", "CPU:1"), axis=1)
        >>> [part.tolist() for part in x.shards]
        [[[1], [3]], [[2], [4]]]
        """
        names = _names("shard", devices)
        if axis is None:
            one = self.to(names[0]) if isinstance(self.device, tuple) else self
            return self.of(collectives.broadcast(one.uop, names))
        at = axis_of(axis, self.ndim)
        if self.shape[at] % len(names):
            raise refuse("shard", f"an axis that {len(names)} devices divide", f"a size of {self.shape[at]}")
        front = self.movedim(at, 0)
        return self.of(collectives.copied(front.uop, names)).movedim(0, at)

    # Collectives --------------------------------------------------------------------------------------------------

    def reduce_to_one(self) -> Self:
        """Of a tensor (n·s, …) in parts along axis 0: the sum of the parts, (s, …), on the first device.

        The source's gather, which adds nothing, is `to` of one device; its broadcast and scatter are `shard`.
        """
        return self.of(collectives.reduce(self.uop))

    def allgather(self) -> Self:
        """Of a tensor in parts along axis 0: all of it, on every device."""
        return self.of(collectives.allgather(self.uop))

    def reduce_scatter(self) -> Self:
        """Of a tensor (n·s, …) in parts along axis 0: the sum of the parts, (s, …), in parts along axis 0."""
        return self.of(collectives.reduce_scatter(self.uop))

    def allreduce(self) -> Self:
        """Of a tensor (n·s, …) in parts along axis 0: the sum of the parts, (s, …), on every device.

        >>> from soundline.impl.tensors.tensor import Tensor
        >>> x = Tensor([1, 2, 10, 20]).shard(("CPU:0", "CPU:1"), axis=0)
        >>> [part.tolist() for part in x.allreduce().shards]
        [[11, 22], [11, 22]]
        """
        return self.of(collectives.allreduce(self.uop))


def _names(where: str, devices: Sequence[str]) -> tuple[str, ...]:
    names = (devices,) if isinstance(devices, str) else tuple(devices)
    if not names or len(set(names)) != len(names) or not all(isinstance(d, str) for d in names):
        raise refuse(where, "one or more devices, each once", devices)
    check_device(names)
    return names
