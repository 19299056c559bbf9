"""
Derived properties
==================

Every UOp has a dtype, a shape, a device, a shard axis and a min_max, derived from its op, sources and arg as the entry
of the op says. The first four are computed when a node is made; `min_max` (chapter `bounds`) is computed on demand. A
law that finds its sources in disagreement raises ``IllFormed`` under the law's own id, for example ``uop-add-device``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from soundline.spec.dtypes import DType
from soundline.spec.errors import IllFormed
from soundline.spec.ops.bounds import Bounds, Row, min_max
from soundline.spec.ops.node import Device, Op, Properties, Shape, Size, UOp
from soundline.spec.ops.schema import Sources
from soundline.spec.ops.shards import Disagreement
from soundline.spec.ops.sizes import product, shape_of
from soundline.spec.ops.table.entries import TABLE

__all__ = ["AXIS", "DEVICE", "DTYPE", "MIN_MAX", "SHAPE", "Bounds", "derive", "min_max"]

DTYPE: dict[Op, Callable[[Sources, Any], DType]] = {op: e.typing.dtype.of for op, e in TABLE.items()}
SHAPE: dict[Op, Callable[[Sources, Any], Shape | None]] = {op: e.typing.shape.of for op, e in TABLE.items()}
DEVICE: dict[Op, Callable[[Sources, Any], Device]] = {op: e.typing.device.of for op, e in TABLE.items()}
AXIS: dict[Op, Callable[[Sources, Any], int | None]] = {op: e.typing.axis.of for op, e in TABLE.items()}
MIN_MAX: dict[Op, Row] = {op: e.bounds.of for op, e in TABLE.items() if e.bounds is not None}
"""The law of every op that has a value."""


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
    return product(shape_of(node))
