"""
Calls of instructions
=====================

What a call of an instruction gives to the text of the instruction: for each argument a place or a value (`operands`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import gcd

from soundline.impl.codegen.cuda.expressions import Names, control_text, data_text
from soundline.impl.codegen.cuda.operands import CallSite, Place, Value
from soundline.impl.codegen.cuda.operators import UNARY
from soundline.impl.codegen.cuda.refusals import refused
from soundline.impl.codegen.cuda.threads import has_whole_warps
from soundline.impl.codegen.cuda.windows import (
    Dimension,
    Kind,
    View,
    address,
    aligned,
    coordinates,
    cta_mask,
    element,
    flag,
    tile,
)
from soundline.spec.spork.language.expressions import Const, Index, Name
from soundline.spec.spork.language.scopes import Scope
from soundline.spec.spork.language.statements import Call
from soundline.spec.spork.language.types import Control
from soundline.spec.spork.library.schema import Instruction
from soundline.spec.spork.static.calls import given_to
from soundline.spec.spork.static.sizes import value as number_of


def call_site(call: Call, scope: Scope, names: Names, views: Mapping[str, View], arch: int) -> CallSite:
    """All that a call gives, but for its trailing barrier."""
    instruction: Instruction = call.callee.value
    places: dict[str, Place | Value] = {}
    sizes: dict[str, int] = {}
    texts: dict[str, str] = {}
    for argument, given in given_to(call):
        if isinstance(argument.type, Control):
            texts[argument.name] = control_text(given, names, within=UNARY)
            lo, hi = names.interval(given)
            known = lo if lo == hi else number_of(given)
            if known is not None:
                sizes[argument.name] = known
        elif isinstance(given, Name | Index) and given.name in views:
            several = instruction.operand(argument.name).unit is not None
            places[argument.name] = place(argument.name, views[given.name].at(given), names, call, several)
        else:
            dtype = argument.type.dtype
            places[argument.name] = Value(data_text(given, dtype, names), dtype)
    assert scope.tiling is not None
    whole = has_whole_warps(scope.tiling)
    return CallSite(instruction, call, arch, places, sizes, texts, None, whole)


def place(argument: str, view: View, names: Names, call: Call, several: bool) -> Place:
    """The place that a window is; an operand of several shards may name the shards of all collectives."""
    kept = view.kept
    ctas = cta_mask(view, names)
    if several and view.memory.space == "shared" and not view.spans_shards:
        # A memory with one shard is given with an interval of that one in front.
        kept, ctas = kept[1:], "uint16_t(1u << ptx::cluster_ctarank())"
    if view.tile_sizes:
        _check_tile(view, kept, call)
    at = Place(
        argument,
        view.dtype,
        view.memory,
        sizes=tuple(control_text(d.size, names) for d in kept),
        constants=tuple(number_of(d.size) for d in kept),
        strides=tuple(_stride(d, names) for d in kept),
        address="",
        storage="",
        ctas=ctas,
    )
    match view.kind:
        case Kind.tensor_map:
            return replace(at, tensor_map=view.base, coordinates=coordinates(view, names))
        case Kind.tiles:
            return replace(at, storage=tile(view, names), accumulates=flag(view, names))
        case _ if not kept:
            return replace(at, address=_address(view, names), storage=element(view, names))
        case _:
            alignment = aligned(view, names)
            return replace(
                at,
                address=_address(view, names),
                storage=view.base,
                alignment=alignment,
                row_alignment=_of_rows(alignment, view, kept, names),
            )


def _of_rows(alignment: int, view: View, kept: Sequence[Dimension], names: Names) -> int:
    """Bytes of which the address of every row of a matrix is a multiple, and that of its first element."""
    steps = [d.stride for d in kept if d.stride is not None and d.stride != Const(1)]
    return gcd(alignment, *(names.divisor(step) * view.dtype.itemsize for step in steps)) if alignment else 0


def _address(view: View, names: Names) -> str:
    """A pointer to the first element; that of a scalar is taken."""
    if view.kind in (Kind.array, Kind.constant) and not view.is_array:
        return f"&{view.base}"
    return address(view, names)


def _stride(dim: Dimension, names: Names) -> str:
    assert dim.stride is not None, "erased dimensions are left away"
    return control_text(dim.stride, names)


def _check_tile(view: View, kept: tuple[Dimension, ...], call: Call) -> None:
    """Refuse a part of a tile: the threads of a collective hold it together."""
    moved = [index for index, stride in view.terms if stride == Const(0)]
    inner = kept[max(len(kept) - len(view.tile_sizes), 0) :]
    whole = [number_of(d.size) for d in inner] == list(view.tile_sizes)
    if moved or not whole:
        given = f"a part of the tile of {view.root}"
        raise refused(call, "tile", "a whole tile, or several, of registers of a matrix", given)
