"""
What movement ops share
=======================

Sources, shapes and shards of the ops that move elements.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from soundline.spec.ops.algebra import Given, Movement, S
from soundline.spec.ops.laws import is_shape
from soundline.spec.ops.node import Shape
from soundline.spec.ops.schema import Sources, source
from soundline.spec.ops.sizes import Condition, equal, shape_of, sizes_in

T = source("T", "any value")
NEW_SHAPE = source("s'", "the new shape: a Stack of index scalars")
OFFSET = source("o", "one offset per axis: a Stack of index scalars")


def own_shape(given: Given[S]) -> tuple[S, ...]:
    """The shape of the source."""
    return given.shape


def new_shape(given: Given[S]) -> tuple[S, ...]:
    """The last source is the shape of the result."""
    return given.numbers[-1]


def shape_by(movement: Movement) -> Callable[[Sources, Any], Shape]:
    """The shape by the law of movement, which asks for the last of the sources that hold numbers: the new shape."""
    return lambda src, arg: movement.shape(
        Given((shape_of(src[0]),), arg, tuple(map(sizes_in, src[1:][-1:])))
    )


def offset_and_shape(src: Sources, arg: Any) -> bool:
    """Whether the second and third source are an offset and a shape of the rank of the first."""
    rank = len(shape_of(src[0]))
    return is_shape(src[1], rank=rank) and is_shape(src[2], rank=rank)


def keeps_shard(src: Sources, arg: Any) -> Condition:
    """Whether the shard axis of a multi-device value, if there is one, keeps its size in the new shape."""
    axis = src[0].axis
    return axis is None or equal(shape_of(src[0])[axis], sizes_in(src[2])[axis])
