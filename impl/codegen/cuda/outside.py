"""
Outside of device functions
===========================

What the CPU part of a program has in scope where it starts a device function: sizes and iterators, arrays in global
memory, grid constants, and tensor maps.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod

from soundline.impl.codegen.cuda.expressions import Names
from soundline.impl.codegen.cuda.names import SIZE, spelled
from soundline.impl.codegen.cuda.windows import Dimension, Kind, View, aligned, may_be_large, row_major
from soundline.spec.dtypes import DType
from soundline.spec.ops.node import Op
from soundline.spec.spork.language.expressions import Binary, Const, Expr, Index, Name
from soundline.spec.spork.language.names import DataName
from soundline.spec.spork.language.nodes import Node, Ref
from soundline.spec.spork.language.programs import Proc
from soundline.spec.spork.language.statements import (
    Alloc,
    Call,
    CudaDeviceFunction,
    For,
    If,
    Statement,
    WindowOf,
    bodies,
)
from soundline.spec.spork.language.types import Argument, Control
from soundline.spec.spork.static.calls import given_to
from soundline.spec.spork.static.memory import memory_of
from soundline.spec.spork.static.sizes import value as number_of
from soundline.spec.spork.static.windows import Path

POINTER_ALIGNMENT = 16
"""Bytes of which pointers to arrays in global memory are multiples (S-29): the largest access of a thread. The CPU part
refuses other arguments.
"""


@dataclass(frozen=True, slots=True)
class Outside:
    """The names in scope on the CPU."""

    names: Names = field(default_factory=Names)
    views: Mapping[str, View] = field(default_factory=dict)
    things: Mapping[str, str | tuple[str, int]] = field(default_factory=dict)
    """In the order of the program: of control its kind; of strides the name of the window and the dimension; of data
    something of both.
    """
    counts: Mapping[str, int] = field(default_factory=dict)
    """Of grid constants, how many elements they have."""
    origins: Mapping[str, Node] = field(default_factory=dict)
    arrays: Mapping[str, str] = field(default_factory=dict)
    """By the name of a view of another array, as a tensor map is, the name of that array."""

    def with_control(self, name: str, kind: str, bounds: tuple[int | None, int | None], at: Node) -> Outside:
        """One more size, index or condition."""
        names = self.names.with_control(name, bounds)
        if kind == "bool":
            names = replace(names, bindings={**names.bindings, name: Control("bool")})
        things = {**self.things, name: "bool" if kind == "bool" else "size"}
        return replace(self, names=names, things=things, origins={**self.origins, name: at})

    def with_view(self, name: str, view: View, at: Node) -> Outside:
        """One more name of data."""
        names = self.names.with_data(name, DataName(view.dtype, len(view.dims)))
        return replace(
            self,
            names=names,
            views={**self.views, name: view},
            things={**self.things, name: (name, -1)},
            origins={**self.origins, name: at},
        )


def device_functions_of(proc: Proc) -> Iterator[tuple[CudaDeviceFunction, Path, Outside]]:
    """The device functions of a program, with their paths and what is in scope there. Those of a proc that is called
    are in the names of that proc, once for each call.
    """
    yield from _body(proc.body, (), _of_arguments(proc))


def _of_arguments(proc: Proc, alignments: Mapping[str, int] | None = None) -> Outside:
    """What the arguments of a proc are; the data that a call gives is aligned as the caller knows."""
    found = Outside()
    for argument in proc.arguments:
        if isinstance(argument.type, Control):
            bounds = SIZE if argument.type.name == "size" else (None, None)
            found = found.with_control(argument.name, argument.type.name, bounds, argument)
    names = found.names
    for condition in proc.preconditions:
        names = names.assuming(condition)
        names = replace(names, multiples={**names.multiples, **_multiples(condition)})
    found = replace(found, names=names)
    for argument in proc.arguments:
        found = _with_argument(found, argument)
        view = found.views.get(argument.name)
        if alignments is not None and view is not None and view.kind is Kind.pointer:
            known = alignments.get(argument.name, view.dtype.itemsize)
            found = replace(found, views={**found.views, argument.name: replace(view, alignment=known)})
    order = {a.name: found.things[a.name] for a in proc.arguments if a.name in found.things}
    return replace(found, things={**order, **found.things})


def _multiples(condition: Expr) -> dict[str, int]:
    """What ``assert K % 16 == 0`` says of K."""
    match condition:
        case Binary(Op.And, left, right):
            return {**_multiples(left), **_multiples(right)}
        case Binary(Op.CmpEq, Binary(Op.Mod, Name(name), by), zero) if number_of(zero) == 0:
            known = number_of(by)
            return {name: known} if known is not None and known > 0 else {}
        case _:
            return {}


def _with_argument(found: Outside, argument: Argument) -> Outside:
    if isinstance(argument.type, Control):
        return found
    type_ = argument.type
    if type_.window and not memory_of(argument.memory, argument).window:
        found = _with_strides(found, argument.name, len(type_.sizes), argument)
    return _with_storage(
        found, argument.name, type_.dtype, type_.sizes, argument.memory, argument, type_.window
    )


def _with_strides(found: Outside, name: str, rank: int, at: Node) -> Outside:
    """The strides of a window that is an argument are numbers of their own."""
    for dimension in range(rank):
        stride = f"{name}_stride_{dimension}"
        names = found.names.with_control(stride, (None, None), stride)
        things = {**found.things, stride: (name, dimension)}
        found = replace(found, names=names, things=things, origins={**found.origins, stride: at})
    return found


def _with_storage(
    found: Outside,
    name: str,
    dtype: DType,
    sizes: Sequence[Expr],
    memory: Ref | None,
    at: Node,
    is_window: bool = False,
) -> Outside:
    """What an argument or an allocation on the CPU is to a kernel; nothing where a kernel cannot have it."""
    own = memory_of(memory, at)
    if own.space != "global":
        return found
    if own.window:
        dims = tuple(Dimension(size, Const(1), axis) for axis, size in enumerate(sizes))
        starts = tuple(Const(0) for _ in sizes)
        base = f"&args.{spelled(name)}"
        return found.with_view(name, View(name, Kind.tensor_map, dtype, own, base, dims, starts=starts), at)
    dims = row_major(sizes)
    if own.constant:
        count = prod(number_of(size) or 0 for size in sizes)
        base = f"args.{spelled(name)}"
        view = View(name, Kind.constant, dtype, own, base, dims, is_array=bool(sizes))
        found = found.with_view(name, view, at)
        return replace(found, counts={**found.counts, name: count})
    alignment = POINTER_ALIGNMENT
    if is_window:
        dims = tuple(Dimension(d.size, Name(f"{name}_stride_{d.axis}"), d.axis) for d in dims)
        alignment = dtype.itemsize
    is_large = is_window or may_be_large(sizes)
    view = View(name, Kind.pointer, dtype, own, spelled(name), dims, alignment=alignment, is_large=is_large)
    return found.with_view(name, view, at)


def _body(
    block: Sequence[Statement], path: Path, found: Outside, start: int = 0
) -> Iterator[tuple[CudaDeviceFunction, Path, Outside]]:
    for position, statement in enumerate(block, start):
        at = (*path, position)
        match statement:
            case CudaDeviceFunction():
                yield statement, at, found
            case Alloc():
                found = _with_storage(
                    found, statement.name, statement.dtype, statement.sizes, statement.memory, statement
                )
            case WindowOf():
                found = _with_window(found, statement)
            case Call() if isinstance(statement.callee.value, Proc):
                callee: Proc = statement.callee.value
                yield from _body(callee.body, at, _of_arguments(callee, _alignments(statement, found)))
            case For():
                lo, hi = found.names.interval(statement.lo), found.names.interval(statement.hi)
                bounds = (lo[0], None if hi[1] is None else hi[1] - 1)
                inner = found.with_control(statement.iterator, "index", bounds, statement)
                yield from _body(statement.body, at, inner)
            case If():
                yield from _of_if(statement, at, found)
            case _:
                for inner_block in bodies(statement):
                    yield from _body(inner_block, at, found)


def _alignments(call: Call, found: Outside) -> dict[str, int]:
    """Of the data that a proc is given, the bytes of which its address is known to be a multiple."""
    given = {}
    for argument, place in given_to(call):
        if not isinstance(place, Name | Index):
            continue
        view = found.views.get(place.name)
        if view is not None and view.kind is Kind.pointer:
            given[argument.name] = aligned(view.at(place), found.names)
    return given


def _of_if(statement: If, path: Path, found: Outside) -> Iterator[tuple[CudaDeviceFunction, Path, Outside]]:
    holds = replace(found, names=found.names.assuming(statement.condition))
    yield from _body(statement.body, path, holds)
    fails = replace(found, names=found.names.assuming(statement.condition, False))
    yield from _body(statement.orelse, path, fails, len(statement.body))


def _with_window(found: Outside, statement: WindowOf) -> Outside:
    """A window that the CPU makes: of a tensor map the kernel has that, of anything else it computes with what the
    window is of.
    """
    of = found.views.get(statement.window.name)
    if of is None:
        return found
    view = of.at(statement.window)
    if statement.memory is not None:
        memory = memory_of(statement.memory, statement)
        dims = tuple(replace(d, stride=Const(1), axis=axis) for axis, d in enumerate(view.dims))
        starts = tuple(Const(0) for _ in dims)
        base = f"&args.{spelled(statement.name)}"
        view = View(statement.name, Kind.tensor_map, view.dtype, memory, base, dims, starts=starts)
    name = statement.window.name
    arrays = {**found.arrays, statement.name: found.arrays.get(name, name)}
    return replace(found.with_view(statement.name, view, statement), arrays=arrays)
