"""
The command buffer as UOps
==========================

What a program does when it runs, in the dialect itself: a Linear of Calls, each of a compiled Program over the storage
that it reads and writes. Two Calls of one Program are two commands that run the same kernel on other storage. The
evaluator runs it like any Linear (`spec.evaluate.execute`), so the order of the commands and the layout of the memory
are held to the law too.

Storage is numbered as the program's: arguments, results, the arena of temporaries, and what the arena cannot hold
(bools, which no bytes can be read as).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

from soundline.impl.analysis import arithmetic
from soundline.impl.compilation.linking import Linked, Site
from soundline.impl.executables.foreign import registered
from soundline.impl.lower.linear.linearize import is_global
from soundline.impl.lower.steps import Copy, Embedded, Foreign
from soundline.spec.dtypes import bool_, uint8
from soundline.spec.uop import Op, SliceArg, UOp, buffer, loop, param, reshape, substitute, toposort


def command_buffer(program: Linked) -> UOp:
    """The commands of a program, over Buffers."""
    arena = program.steps.arguments + program.steps.results
    places = [buffer(k, p.size, p.dtype) for k, p in enumerate(program.steps.places[:arena])]
    slots = itertools.count(arena + 1)
    return Op.Linear(*_commands(program, [*places, buffer(arena, max(program.arena, 1), uint8)], slots))


def _commands(program: Linked, base: Sequence[UOp], slots: Iterator[int]) -> Iterator[UOp]:
    """The commands over `base`: the storage of the arguments and results, and at the end the arena."""
    apart: dict[int, UOp] = {}
    for site in program.sites:
        storage = [_storage(program, place, offset, base, apart, slots) for place, offset in _named(site)]
        if isinstance(site.step, Copy):
            size, dtype = storage[0].shape or (0,), storage[0].dtype
            params = [param(k, dtype, size) for k in range(2)]
            r = loop(size[0], 0)
            load = Op.Load(Op.Index(params[0], r))
            store = Op.Store(Op.Index(params[1], r), load)
            yield _call(Op.Linear(r, load, store, Op.End(store, r)), "copy", storage)
        elif isinstance(site.step, Foreign):
            count = len(site.step.takes)
            call = Op.Call(site.step.function, *_shaped(site.step, storage))
            for k, result in enumerate(storage[count:]):
                yield Op.Store(result, reshape(Op.GetTuple(call, arg=k), result.shape or ()))
        elif isinstance(site.step, Embedded):
            inner = site.step.program.program.loaded.program
            yield from _commands(inner, [*storage, _part(site, base, inner.arena)], slots)
        elif site.unit is not None:
            unit = program.units[site.unit]
            used = next(
                (
                    n.arg.size
                    for n in toposort(unit.stages["plan"])
                    if is_global(n) and n.arg.slot == len(storage)
                ),
                0,
            )
            own = [*storage, _part(site, base, used)] if used else storage
            for k, kernel in enumerate(unit.stages["plan"].src):
                number = program.first_kernels[site.unit] + k
                found = sorted({n for n in toposort(kernel) if is_global(n)}, key=lambda b: b.arg.slot)
                params = [param(j, b.dtype, (b.arg.size,)) for j, b in enumerate(found)]
                linear = substitute(kernel, dict(zip(found, params, strict=True)))
                yield _call(linear, f"kernel_{number}", [own[b.arg.slot] for b in found])


def _call(linear: UOp, name: str, storage: Sequence[UOp]) -> UOp:
    return Op.Call(Op.Program(linear, Op.Source(arg=name), Op.BinaryCode(arg=b"")), *storage)


def _named(site: Site) -> list[tuple[int, int]]:
    """The places and offsets of what a step takes and gives."""
    places = (*site.step.takes, *site.step.gives)
    return [(place, offset) for place, (_, offset) in zip(places, site.window, strict=False)]


def _storage(
    program: Linked, place: int, offset: int, base: Sequence[UOp], apart: dict[int, UOp], slots: Iterator[int]
) -> UOp:
    own = program.steps.places[place]
    if place < program.steps.arguments + program.steps.results:
        return base[place]
    if own.dtype is bool_ or not own.size:
        if place not in apart:
            apart[place] = buffer(next(slots), own.size, own.dtype)
        return apart[place]
    return Op.Slice(base[-1], arithmetic.number(offset), arg=SliceArg(own.size, own.dtype))


def _part(site: Site, base: Sequence[UOp], size: int) -> UOp:
    """The part of the arena where a unit keeps its temporaries."""
    return Op.Slice(base[-1], arithmetic.number(site.window[-1][1]), arg=SliceArg(max(size, 1), uint8))


def _shaped(step: Foreign, storage: Sequence[UOp]) -> list[UOp]:
    """The arguments of a custom function, in the shapes that it declares."""
    signatures = registered(step.function.arg).takes
    return [reshape(Op.Load(s), own.shape) for s, own in zip(storage, signatures, strict=False)]
