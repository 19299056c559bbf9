"""
Devices and shards
==================

Which device several sources agree on, and where the shard axis of a multi-device value goes (U-29). An n-tuple device
with a null axis holds n replicas.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from soundline.spec.node import Shape, UOp
from soundline.spec.sizes import equal, product

_T = TypeVar("_T")


class Disagreement(Exception):
    """Two sources name different devices, or different shard axes."""


def agreed(values: Sequence[_T]) -> _T | None:
    """The one value that is not null, or null; raises `Disagreement` where there are two."""
    found = [v for v in values if v is not None]
    if any(v != found[0] for v in found):
        raise Disagreement(f"{found[0]!r} and {next(v for v in found if v != found[0])!r}")
    return found[0] if found else None


def reshaped_axis(source: UOp, new: Shape) -> int | None:
    """The last new axis that begins where the shard axis began and whose size the number of devices divides."""
    assert source.shape is not None
    assert source.axis is not None
    devices = len(source.device) if isinstance(source.device, tuple) else 1
    before = product(source.shape[: source.axis])
    for axis in reversed(range(len(new))):
        size = new[axis]
        divides = isinstance(size, int) and size % devices == 0
        if divides and equal(product(new[:axis]), before) is True:
            return axis
    return None
