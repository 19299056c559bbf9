"""
Uses of barriers
================

A device function is read once, and every arrive, await and copy that completes at a barrier is found with the threads
that execute it and with the barrier that it means. Copies that arrive at mbarriers are gathered by the arrive that ends
their block, for it announces their bytes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product

from soundline.impl.codegen.cuda.barriers.targets import Targets, over_ctas, own_cta
from soundline.spec.spork.language.expressions import Index, Name, Span
from soundline.spec.spork.language.scopes import HOST, Scope, inside
from soundline.spec.spork.language.statements import (
    Alloc,
    AllocBarrier,
    Arrive,
    Await,
    Call,
    CudaAsync,
    CudaDeviceFunction,
    Statement,
    WindowOf,
    bodies,
)
from soundline.spec.spork.language.text import lines
from soundline.spec.spork.static.law import Facts
from soundline.spec.spork.static.windows import Declared, Path, Window
from soundline.spec.spork.synchronization.timelines import InstrTl
from soundline.spec.spork.threads.tilings import Tiling


@dataclass(frozen=True, slots=True)
class Barrier:
    """Barriers where they are allocated."""

    statement: AllocBarrier
    path: Path
    tiling: Tiling


@dataclass(frozen=True, slots=True)
class Use:
    """An arrive, an await, or a copy that completes at a barrier."""

    statement: Arrive | Await | Call
    path: Path
    tiling: Tiling
    barrier: Path
    home: tuple[str, ...]
    """The iterators that say which queue."""


@dataclass(slots=True)
class Block:
    """A CudaAsync block, and the CTAs that its copies write to: a counter of bytes for each kind of these."""

    closing: Arrive | None
    reached: dict[Targets, None] = field(default_factory=dict)


@dataclass(slots=True)
class Uses:
    """What a device function does with barriers; everything is found by path."""

    barriers: dict[Path, Barrier] = field(default_factory=dict)
    uses: dict[Path, Use] = field(default_factory=dict)
    written: dict[Path, Targets] = field(default_factory=dict)
    """Of each copy, the CTAs whose shared memory it writes."""
    blocks: dict[Path, Block] = field(default_factory=dict)
    closes: dict[Path, Block] = field(default_factory=dict)
    """Of each arrive that ends a block, that block."""
    uses_async_proxy: bool = False
    """Whether anything reaches memory through the asynchronous proxy: TMA does, and wgmma."""


@dataclass(frozen=True, slots=True)
class _Around:
    """What is around a statement."""

    scope: Scope
    path: Path
    names: Mapping[str, Path | Window]
    """Barriers by path, and what is allocated in the task as windows."""
    block: Block | None = None


def uses_of(function: CudaDeviceFunction, path: Path, facts: Facts) -> Uses:
    """The uses of barriers in a device function."""
    found = Uses()
    around = _Around(inside(HOST, function), path, {})
    _read_body(function.body, around, 0, facts, found)
    return found


def text_of(statement: Statement) -> str:
    """The first line of a statement."""
    return lines(statement)[0]


def _read_body(body: Sequence[Statement], around: _Around, start: int, facts: Facts, found: Uses) -> None:
    for k, statement in enumerate(body):
        here = replace(around, scope=around.scope.at(k, len(body)), path=(*around.path, start + k))
        _read(statement, here, facts, found)
        bound = _bound(statement, here, found)
        around = replace(around, names={**around.names, **bound})


def _bound(statement: Statement, here: _Around, found: Uses) -> dict[str, Path | Window]:
    """What a statement binds for those after it."""
    tiling = here.scope.tiling
    match statement:
        case AllocBarrier() if tiling is not None:
            found.barriers[here.path] = Barrier(statement, here.path, tiling)
            return {statement.name: here.path}
        case Alloc(name, dtype, sizes, memory) if memory is not None:
            declared = Declared(name, dtype, sizes, memory.value, here.path, tiling)
            return {name: declared.whole}
        case WindowOf(name, window):
            of = here.names.get(window.name)
            return {name: of.at(window)} if isinstance(of, Window) else {}
        case _:
            return {}


def _read(statement: Statement, here: _Around, facts: Facts, found: Uses) -> None:
    match statement:
        case Arrive(barriers=(first, *_)):
            _use(statement, first.name, here, facts, found)
        case Await(barrier=barrier):
            _use(statement, barrier.name, here, facts, found)
        case Call(trailing=(first, *_)):
            _use(statement, first.name, here, facts, found)
            written = _written(statement, here, facts)
            found.written[here.path] = written
            if here.block is not None:
                here.block.reached[written] = None
        case _:
            pass
    if not bodies(statement):
        return
    around = replace(here, scope=inside(here.scope, statement))
    if isinstance(statement, CudaAsync):
        around = replace(around, block=_block(statement, around, found))
    start = 0
    for body in bodies(statement):
        _read_body(body, around, start, facts, found)
        start += len(body)


def _block(statement: CudaAsync, around: _Around, found: Uses) -> Block:
    last = statement.body[-1]
    block = Block(last if isinstance(last, Arrive) else None)
    found.blocks[around.path] = block
    found.closes[(*around.path, len(statement.body) - 1)] = block
    if around.scope.instr_tl is not InstrTl.Sm80_cp_async:
        found.uses_async_proxy = True
    return block


def _use(statement: Arrive | Await | Call, name: str, here: _Around, facts: Facts, found: Uses) -> None:
    barrier = here.names[name]
    assert isinstance(barrier, tuple)
    assert here.scope.tiling is not None
    home = facts.homes[here.path]
    found.uses[here.path] = Use(statement, here.path, here.scope.tiling, barrier, home)


# Copies -----------------------------------------------------------------------------------------------------------


def _written(call: Call, here: _Around, facts: Facts) -> Targets:
    """The CTAs whose shared memory a copy writes: the own one, or by a multicast those that its interval says."""
    tiling = here.scope.tiling
    assert tiling is not None
    window = _destination(call, here)
    deduction = None if window is None else facts.shards.get(window.of.path or ())
    if window is None or deduction is None or window.of.allocation is None:
        return own_cta(tiling)
    around = {i.name for i in window.of.allocation.iterators}
    points, spans = set(around), []
    for k, pitch in enumerate(deduction.pitches):
        index = window.indices[k]
        if isinstance(index, Name):
            points.add(index.name)
        elif isinstance(index, Span):
            spans.append((pitch // tiling.block_dim, deduction.extents[k]))
    if not any(step for step, _ in spans):
        return own_cta(tiling)
    offsets = frozenset(
        sum(at) for at in product(*(range(0, step * count, step) for step, count in spans if step))
    )
    fixed = [(n, i.pitch // tiling.block_dim) for n, i in over_ctas(tiling).items() if n in points]
    return Targets(tuple(sorted(fixed)), offsets)


def _destination(call: Call, here: _Around) -> Window | None:
    """The window of shared memory that a copy writes: of its operands, the one that lies in a barrier's CTA."""
    keywords = dict(call.keywords)
    for position, argument in enumerate(call.callee.value.arguments):
        given = call.arguments[position] if position < len(call.arguments) else keywords[argument.name]
        if not isinstance(given, Name | Index):
            continue
        of = here.names.get(given.name)
        if isinstance(of, Window) and of.of.allocation is not None:
            return of.at(given)
    return None
