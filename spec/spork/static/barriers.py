"""
Uses of barriers
================

Fences and split barriers of a program: who executes each of them, which pieces of CUDA it becomes, and at which queue.
What all statements of one barrier have to agree on is judged in `spec.spork.static.queues`, when all of them are known.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import product

from soundline.spec.spork.language.expressions import Span
from soundline.spec.spork.language.nodes import Node, Ref
from soundline.spec.spork.language.scopes import Scope
from soundline.spec.spork.language.statements import (
    AllocBarrier,
    Arrive,
    Await,
    BarrierAt,
    Call,
    Fence,
    Statement,
)
from soundline.spec.spork.language.text import barrier_text
from soundline.spec.spork.language.text import expression as text_of
from soundline.spec.spork.library.schema import Instruction
from soundline.spec.spork.static.conditions import placed, static_refusal
from soundline.spec.spork.static.scope import DeclaredBarrier, Standing
from soundline.spec.spork.static.windows import Path, constants
from soundline.spec.spork.synchronization.barriers import (
    BarrierType,
    Pattern,
    arrive_pieces,
    await_pieces,
    check_multicast,
)
from soundline.spec.spork.synchronization.fences import Collective, fence_pieces
from soundline.spec.spork.synchronization.timelines import InstrTl, SyncTl
from soundline.spec.spork.threads.distributed_memory import Deduction, deduce_barrier, refused
from soundline.spec.spork.threads.tilings import Tiling

EVENT = (
    "leave a CudaEvent away: launches, their ends and the copies of the CPU are in order, so there is nothing that it "
    "could order (S-22)"
)
"""The hint for a use of a CudaEvent."""


@dataclass(frozen=True, slots=True)
class QueueUse:
    """An arrive or an await."""

    statement: Arrive | Await
    path: Path
    scope: Scope
    timeline: SyncTl
    deduction: Deduction
    patterns: tuple[Pattern, ...]

    @property
    def arrives(self) -> bool:
        """Whether it is an arrive."""
        return isinstance(self.statement, Arrive)

    @property
    def tiling(self) -> Tiling:
        """The threads that execute it."""
        assert self.scope.tiling is not None
        return self.scope.tiling


@dataclass(slots=True)
class Queues:
    """Barriers under one name, and their uses so far."""

    declared: DeclaredBarrier
    type: BarrierType
    region: tuple[Statement, ...]
    """The statements after the allocation, in which the name stands for these barriers."""
    live: tuple[Path, ...]
    """The commit groups that live where these barriers are allocated."""
    uses: list[QueueUse] = field(default_factory=list)


@dataclass(slots=True)
class Synchronization:
    """What is known of the fences and barriers of a program so far, by paths."""

    queues: dict[Path, Queues] = field(default_factory=dict)
    pieces: dict[Path, tuple[str, ...]] = field(default_factory=dict)
    homes: dict[Path, tuple[str, ...]] = field(default_factory=dict)


def sync_tl_of(reference: Ref, within: Statement) -> SyncTl:
    """The timeline that is named."""
    if not isinstance(reference.value, SyncTl):
        given = "no timeline of the law"
        raise static_refusal("static-object", reference, reference.name, given, within=within)
    return reference.value


def in_every_iteration(scope: Scope, pieces_of: Callable[[Collective], tuple[str, ...]]) -> tuple[str, ...]:
    """The pieces that a statement becomes, which are the same in every iteration of the loops over threads around it.

    The collective of each iteration is asked, for one may be aligned where another is not.
    """
    assert scope.tiling is not None
    counts = [range(i.count) for i in scope.tiling.iterators]
    found = [pieces_of(scope.collective(values)) for values in product(*counts)]
    assert len(set(found)) == 1, "all collectives of a scope have as many threads"
    return found[0]


# Fences -----------------------------------------------------------------------------------------------------------


def check_fence(fence: Fence, standing: Standing, found: Synchronization) -> None:
    """A fence, by the collective of each iteration."""
    first, second = sync_tl_of(fence.first, fence), sync_tl_of(fence.second, fence)
    scope = standing.scope
    if not scope.on_device:
        if {first.name, second.name} != {"cpu_in_order"}:
            raise static_refusal("static-fence-cpu", fence, f"Fence({first}, {second})", "another")
        found.pieces[standing.path] = ()
        return
    opens = scope.opens and scope.instr_tl is InstrTl.wgmma_async
    with placed(fence):
        found.pieces[standing.path] = in_every_iteration(
            scope, lambda by: fence_pieces(first, second, by, opens_wgmma_block=opens)
        )


# Barriers ---------------------------------------------------------------------------------------------------------


def allocate_barrier(
    statement: AllocBarrier, standing: Standing, region: Sequence[Statement], found: Synchronization
) -> DeclaredBarrier:
    """Barriers begin to live, to the end of the region."""
    kind = statement.kind.value
    if not isinstance(kind, BarrierType):
        given = "no barrier type of the law"
        raise static_refusal("static-object", statement.kind, statement.kind.name, given, within=statement)
    scope = standing.scope
    in_task = scope.on_device and scope.instr_tl is InstrTl.cuda_in_order
    if kind is not BarrierType.CudaEvent and not in_task:
        given = f"a {kind} on {scope.instr_tl}"
        raise static_refusal("bar-alloc", statement, statement.name, given)
    declared = DeclaredBarrier(statement, standing.path, scope.tiling)
    others = [m.path for m in standing.names.values() if isinstance(m, DeclaredBarrier)]
    live = tuple(p for p in others if found.queues[p].type is BarrierType.CudaCommitGroup)
    found.queues[standing.path] = Queues(declared, kind, tuple(region), live)
    return declared


def check_split(statement: Arrive | Await, standing: Standing, found: Synchronization) -> None:
    """An arrive or an await: its timeline, its collective, and its queue."""
    barriers = statement.barriers if isinstance(statement, Arrive) else (statement.barrier,)
    declared = standing.barrier(barriers[0].name)
    queues = found.queues[declared.path]
    timeline = sync_tl_of(_reference(statement), statement)
    if not standing.scope.on_device:
        given = "one outside of every task"
        raise static_refusal("bar-place", statement, declared.name, given, hint=EVENT)
    if queues.type is BarrierType.CudaEvent:
        raise static_refusal("bar-event", statement, declared.name, "a use of one", hint=EVENT)
    with placed(statement):
        if isinstance(statement, Arrive):
            found.pieces[standing.path] = _arrive(statement, queues.type, timeline, standing.scope)
        else:
            _check_type(statement, queues.type, timeline, standing.scope)
        _check_one_cta(statement, queues.type, standing.scope)
        home = home_of(statement, barriers, queues.type, standing)
        deduction = _deduced(queues, home, standing)
    found.homes[standing.path] = home
    patterns = tuple(_pattern(b, home) for b in barriers)
    many = any(None in pattern for pattern in patterns)
    if many and "cp.async.mbarrier.arrive.noinc" in found.pieces.get(standing.path, ()):
        given = f"an arrive from {timeline} at {len(patterns)} patterns with a colon"
        raise static_refusal("bar-multicast-copies", statement, declared.name, given)
    queues.uses.append(QueueUse(statement, standing.path, standing.scope, timeline, deduction, patterns))


def barriers_text(statement: Arrive | Await) -> str:
    """The barriers of a statement, as it writes them: ``bar[c] >> bar[:]``."""
    at = statement.barriers if isinstance(statement, Arrive) else (statement.barrier,)
    return " >> ".join(map(barrier_text, at))


def _reference(statement: Arrive | Await) -> Ref:
    return statement.first if isinstance(statement, Arrive) else statement.second


def _arrive(statement: Arrive, kind: BarrierType, first: SyncTl, scope: Scope) -> tuple[str, ...]:
    closes = scope.closes and scope.block is not None and scope.block.value == first
    return in_every_iteration(
        scope,
        lambda by: arrive_pieces(
            kind,
            first,
            by,
            n=statement.n,
            reverse=statement.reverse,
            closes_block=closes,
            name=barriers_text(statement),
        ),
    )


def _check_type(statement: Await, kind: BarrierType, second: SyncTl, scope: Scope) -> None:
    """The check of an await that needs no arrives: whether its type of barrier has such an await."""
    if kind is BarrierType.CudaEvent or (statement.reverse and kind is not BarrierType.CudaMbarrier):
        by, name = _first_collective(scope), barriers_text(statement)
        await_pieces(kind, second, second, by, n=statement.n, reverse=statement.reverse, name=name)


def _first_collective(scope: Scope) -> Collective:
    assert scope.tiling is not None
    return scope.collective([0] * len(scope.tiling.iterators))


def _check_one_cta(statement: Statement, kind: BarrierType, scope: Scope) -> None:
    by = _first_collective(scope)
    ranks = {thread // by.block_dim for thread in by.threads}
    if kind is BarrierType.CudaMbarrier and len(ranks) > 1:
        given = f"threads of {len(ranks)} CTAs"
        raise static_refusal("bar-mbarrier-cta", statement, kind, given)


# Queues -----------------------------------------------------------------------------------------------------------


def home_of(
    statement: Node, barriers: Sequence[BarrierAt], kind: BarrierType, standing: Standing
) -> tuple[str, ...]:
    """The index of the queue that counts an arrive, or of the one that is awaited."""
    tiling, name = standing.scope.tiling, barriers[0].name
    assert tiling is not None
    over_ctas = frozenset(i.name for i in tiling.iterators if i.pitch % tiling.block_dim == 0)
    home = check_multicast(name, kind, [_written(b) for b in barriers], over_ctas)
    assert None not in home, "checked by check_multicast"
    found = tuple(str(i) for i in home)
    for barrier in barriers:
        for index, iterator in zip(barrier.indices, found, strict=True):
            if isinstance(index, Span):
                _check_between(statement, name, iterator, standing)
    return found


def _check_between(statement: Node, name: str, iterator: str, standing: Standing) -> None:
    inner = standing.around[standing.around.index(iterator) + 1 :]
    if None in inner:
        given = f"one inside of the loop over {iterator}"
        raise static_refusal("bar-multicast-between", statement, name, given)


def _written(barrier: BarrierAt) -> Pattern:
    return tuple(None if isinstance(i, Span) else text_of(i) for i in barrier.indices)


def _pattern(barrier: BarrierAt, home: Sequence[str]) -> Pattern:
    """Where the colons are; iterators of other loops may have other names."""
    return tuple(None if isinstance(i, Span) else f"{k}" for k, i in enumerate(barrier.indices))


def _deduced(queues: Queues, home: Sequence[str], standing: Standing) -> Deduction:
    """The indices of a use. What is declared without sizes has as many indices as its first use, and its counts."""
    declared, tiling = queues.declared, standing.scope.tiling
    assert declared.allocation is not None, "checked by allocate_barrier"
    assert tiling is not None
    name, sizes = declared.name, declared.statement.sizes
    extents: tuple[int | None, ...]
    if sizes is not None:
        extents = constants(sizes)
    elif queues.uses:
        extents = queues.uses[0].deduction.extents
        if len(extents) != len(home):
            raise refused(name, "dist-c12", f"{len(extents)} in one, {len(home)} in another")
    else:
        counts = {i.name: i.count for i in tiling.iterators}
        extents = tuple(counts.get(i) for i in home)
    return deduce_barrier(declared.allocation, tiling, home, extents, name=name)


# Trailing barriers ------------------------------------------------------------------------------------------------


def check_trailing(call: Call, instruction: Instruction, standing: Standing, found: Synchronization) -> None:
    """The trailing barriers of an instruction, which are among those of the Arrive that ends its block."""
    if not call.trailing:
        if instruction.trailing_required:
            raise static_refusal("instr-trailing", call, instruction, f"no {instruction.trailing}")
        return
    name = call.trailing[0].name
    kind = found.queues[standing.barrier(name).path].type
    if instruction.trailing is not kind:
        given = f"a {kind} for {instruction.trailing or 'an instruction that takes none'}"
        raise static_refusal("instr-trailing", call.trailing[0], instruction, given, within=call)
    closing = standing.asynchronous.body[-1] if standing.asynchronous is not None else None
    if not isinstance(closing, Arrive) or closing.reverse or closing.first.value != _timeline(standing):
        raise static_refusal("bar-trailing", call, name, "a block with another end")
    patterns = [_written(b) for b in closing.barriers]
    columns = zip(*patterns, strict=False)
    home = tuple(next((i for i in column if i is not None), ":") for column in columns)
    for barrier in call.trailing:
        at = _written(barrier)
        if barrier.name != closing.barriers[0].name or not any(_within(at, p, home) for p in patterns):
            raise static_refusal("bar-trailing", barrier, name, "others", within=call)
    found.homes[standing.path] = home


def _within(pattern: Pattern, other: Pattern, home: Sequence[str]) -> bool:
    """Whether these barriers are among those of another pattern of the same home: ``[m, n]`` is within ``[m, :]``."""
    return len(pattern) == len(other) and all(
        here == there or (there is None and here == index)
        for here, there, index in zip(pattern, other, home, strict=True)
    )


def _timeline(standing: Standing) -> object:
    return standing.scope.block.value if standing.scope.block is not None else None
