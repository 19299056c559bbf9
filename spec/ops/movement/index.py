"""
Index
=====

Elements by their position. Each index stands for one axis, from the left (U-24).
"""

from __future__ import annotations

from typing import Any

from soundline.spec.dtypes import index as index_dtype
from soundline.spec.ops.adjoints import Parts, Passes, always, filled, kept, total
from soundline.spec.ops.algebra import Algebra, C, Given, Movement, N, S
from soundline.spec.ops.building import broadcast_to, const, counted, expand, reshape
from soundline.spec.ops.laws import AGREED_DEVICE, INHERITED, SAME_BOUNDS, agreed_device
from soundline.spec.ops.movement.shared import T
from soundline.spec.ops.node import Op, Shape, Size, UOp
from soundline.spec.ops.schema import Law, Sources, entry, source
from soundline.spec.ops.shards import agreed_axis
from soundline.spec.ops.sizes import shape_of


def shard(src: Sources, arg: Any) -> int | None:
    """The shard axis of T among the axes that are left, or the axis that a sharded index makes."""
    indices, made, found = src[1:], 0, []
    for i in indices:
        found.append(None if i.axis is None else made + i.axis)
        made += len(shape_of(i))
    found.append(None if src[0].axis is None else made + src[0].axis - len(indices))
    return agreed_axis(found, agreed_device(src, arg))


# Where each element comes from ------------------------------------------------------------------------------------


def indexed_shape(given: Given[S]) -> tuple[S, ...]:
    """The shapes of the indices, then the axes that are left."""
    value, *indices = given.shapes
    return (*(size for shape in indices for size in shape), *value[len(indices) :])


def position(a: Algebra[N, C], given: Given[N], at: tuple[N, ...]) -> tuple[N, ...]:
    """What the indices hold, then what is left of the position."""
    read = sum(map(len, given.shapes[1:]))
    return (*(i for (i,) in given.numbers), *at[read:])


def inside(a: Algebra[N, C], given: Given[N], index: tuple[N, ...]) -> C:
    """Inside on every axis that is indexed."""
    rows = zip(index, given.shape, given.numbers, strict=False)
    return a.every(a.inside(i, size) for i, size, _ in rows)


# Adjoint ----------------------------------------------------------------------------------------------------------


def adjoint(node: UOp, g: UOp) -> Parts:
    """Scatter-add, axis by axis: what equal indices read, they share; what no index reads receives zero."""
    value, *indices = node.src
    counts = tuple(shape_of(i)[0] if shape_of(i) else 1 for i in indices)
    spread = reshape(g, (*counts, *shape_of(value)[len(indices) :]))
    for axis, (i, size) in enumerate(zip(indices, shape_of(value), strict=False)):
        spread = _scattered(spread, axis, i, size)
    return spread, *(None for _ in indices)


def readable(node: UOp, live: UOp) -> UOp:
    """The Index with -1, which is no position, where an index belongs to nothing live: it may be invalid itself."""
    found, axis = [node.src[0]], 0
    for i in node.src[1:]:
        rows = len(shape_of(i))
        beside = tuple(k for k in range(len(shape_of(live))) if not axis <= k < axis + rows)
        needed = reshape(total(live, beside), shape_of(i))
        found.append(Op.Where(needed, i, filled(i, -1)))
        axis += rows
    return Op.Index(*found)


def _scattered(g: UOp, axis: int, i: UOp, size: Size) -> UOp:
    """Row r of an axis added at position i[r] of an axis of `size`; at no position, if i[r] is outside."""
    before, rows, after = shape_of(g)[:axis], shape_of(g)[axis], shape_of(g)[axis + 1 :]
    places = broadcast_to(_positions(size), (rows, size))
    hit = Op.CmpEq(expand(reshape(i, (rows, 1)), (rows, size)), places)
    wide = expand(reshape(g, (*before, rows, 1, *after)), (*before, rows, size, *after))
    beside: Shape = (*(1 for _ in before), rows, size, *(1 for _ in after))
    chosen = kept(expand(reshape(hit, beside), shape_of(wide)), wide)
    return reshape(total(chosen, (axis,)), (*before, size, *after))


def _positions(size: Size) -> UOp:
    """0, 1, … size-1: of a number a Stack, of a symbol a running sum."""
    if isinstance(size, int):
        return UOp(Op.Stack, tuple(const(k, index_dtype) for k in range(size)))
    return counted(size, index_dtype)


# Entry ------------------------------------------------------------------------------------------------------------

MOVEMENT = Movement(indexed_shape, position, inside)

INDEX = entry(
    Op.Index,
    "movement",
    "Index the axes from the left. A ()-shaped i removes its axis, a (k,)-shaped one makes it k; several act "
    "independently per axis. An index outside its axis reads an invalid element.",
    sources=(T, source("i", "index of one axis from the left: shape () or (k,)", variadic=True)),
    constraints=(
        ("there are at most rank indices", lambda src, arg: len(src) - 1 <= len(shape_of(src[0]))),
        (
            "each index has dtype index and shape () or (k,)",
            lambda src, arg: all(i.dtype is index_dtype and len(shape_of(i)) <= 1 for i in src[1:]),
        ),
        (
            "the shard axis of a multi-device value is not indexed",
            lambda src, arg: src[0].axis is None or src[0].axis >= len(src) - 1,
        ),
    ),
    typing=INHERITED.but(
        shape=Law(
            "the shapes of the indices, then the axes that were not indexed",
            lambda src, arg: MOVEMENT.shape(Given(tuple(map(shape_of, src)))),
        ),
        device=AGREED_DEVICE,
        axis=Law(
            "of T, shifted left by the axes that were removed before it, or the axis that a sharded index makes; "
            "there is at most one",
            shard,
        ),
    ),
    bounds=SAME_BOUNDS,
    movement=MOVEMENT,
    adjoint=Passes(
        "to T: at each position the sum, ascending, of the g of the indices that read it; zero where none does, and "
        "nothing for an index outside",
        adjoint,
        adjoint,
        always,
        scales=False,
        readable=readable,
    ),
    example=">>> evaluate(Op.Index(tensor([5, 6, 7]), const(2, index))).elements\n(7,)",
    decisions=("U-01", "U-24", "U-29"),
)
