"""
The static law
==============

Which well-formed programs may run at all. `static_law` descends through a program once, with the threads, the timeline
and the names around each statement, and raises at the first condition that is broken. It returns the `Facts` about the
program that every reading of it needs.

Nothing here depends on sizes: what holds for a program holds for all of its runs. A proc that is called is read at each
of its calls.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from soundline.spec.spork.language.expressions import Expr, Index, Name, walk
from soundline.spec.spork.language.nodes import Ref
from soundline.spec.spork.language.programs import Proc
from soundline.spec.spork.language.scopes import HOST, Scope, inside
from soundline.spec.spork.language.statements import (
    CUDA_TASKS,
    PAR,
    Alloc,
    AllocBarrier,
    Arrive,
    Assign,
    Await,
    Call,
    CudaAsync,
    CudaDeviceFunction,
    CudaThreads,
    Fence,
    For,
    If,
    Reduce,
    Statement,
    WindowOf,
    bodies,
)
from soundline.spec.spork.language.types import Data
from soundline.spec.spork.language.well_formedness import check
from soundline.spec.spork.library.schema import Instruction
from soundline.spec.spork.static.barriers import (
    Synchronization,
    allocate_barrier,
    check_fence,
    check_split,
    check_trailing,
    sync_tl_of,
)
from soundline.spec.spork.static.calls import (
    callee_of,
    check_instruction_call,
    check_proc,
    given_to,
    place_given,
)
from soundline.spec.spork.static.conditions import placed, static_refusal
from soundline.spec.spork.static.memory import (
    allocated,
    check_assignment,
    check_read,
    declared_argument,
    read_places,
    window_of,
)
from soundline.spec.spork.static.queues import BarrierFacts, settle
from soundline.spec.spork.static.scope import Meaning, Standing
from soundline.spec.spork.static.shards import Shards
from soundline.spec.spork.static.trailing import Completion, check_completion, completions
from soundline.spec.spork.static.windows import Path
from soundline.spec.spork.threads.distributed_memory import Deduction
from soundline.spec.spork.threads.units import CollUnit


@dataclass(frozen=True, slots=True)
class Facts:
    """What the static law finds out about a program, by the paths of statements.

    A path is the position of a statement in the body of the proc, then that in the block there, and so on. In an If the
    statements after ``else`` count on after those before it; those of a called proc follow the path of the call.
    """

    shards: Mapping[Path, Deduction | None]
    """Of every allocation on the device, how its leading indices are distributed; None where nothing uses it, or nobody
    shares it out. Of barriers, how the indices of their first arrive or await are.
    """
    barriers: Mapping[Path, BarrierFacts]
    """Of every allocation of barriers, what its uses are."""
    pieces: Mapping[Path, tuple[str, ...]]
    """Of every fence, arrive and await, the pieces of CUDA that it becomes."""
    homes: Mapping[Path, tuple[str, ...]]
    """Of every arrive, await and call with trailing barriers, the indices of the queue whose counter counts: iterators.
    The home of trailing barriers is that of the Arrive which ends their block.
    """


@dataclass(slots=True)
class _Findings:
    """What is gathered on the way."""

    shards: Shards = field(default_factory=Shards)
    synchronization: Synchronization = field(default_factory=Synchronization)
    completions: list[Completion] = field(default_factory=list)


def static_law(proc: Proc) -> Facts:
    """The facts of a program that keeps the static law; raises `ProgramError` where one does not."""
    check(proc)
    findings = _Findings()
    _check_proc(proc, (), False, findings)
    findings.shards.settle()
    for completion in findings.completions:
        check_completion(completion, findings.shards.found)
    found = findings.synchronization
    barriers = settle(found)
    shards = findings.shards.found | {
        path: queues.uses[0].deduction if queues.uses else None for path, queues in found.queues.items()
    }
    return Facts(shards, barriers, found.pieces, found.homes)


def _check_proc(proc: Proc, path: Path, par: bool, findings: _Findings) -> None:
    names: dict[str, Meaning] = {}
    for argument in proc.arguments:
        is_data = isinstance(argument.type, Data)
        names[argument.name] = declared_argument(argument).whole if is_data else None
    _check_body(proc.body, HOST, Standing(proc.body[0], HOST, names, path, par), findings)


def _check_body(
    body: tuple[Statement, ...], scope: Scope, around: Standing, findings: _Findings, start: int = 0
) -> None:
    """A block, in which names are bound to its end; its statements are numbered from `start`."""
    names = dict(around.names)
    for k, statement in enumerate(body):
        standing = replace(
            around,
            statement=statement,
            scope=scope.at(k, len(body)),
            names=names,
            path=(*around.path, start + k),
        )
        _check_statement(statement, standing, findings)
        names |= _bound(statement, standing, body[k + 1 :], findings)


def _bound(
    statement: Statement, standing: Standing, region: tuple[Statement, ...], findings: _Findings
) -> dict[str, Meaning]:
    """What a statement binds for those after it."""
    match statement:
        case Alloc():
            storage = allocated(statement, standing)
            findings.shards.allocated(storage, statement)
            return {statement.name: storage.whole}
        case WindowOf():
            window = window_of(statement, standing)
            findings.shards.use(window, standing.scope.tiling, statement.window, statement)
            return {statement.name: window}
        case AllocBarrier():
            found = findings.synchronization
            return {statement.name: allocate_barrier(statement, standing, region, found)}
        case _:
            return {}


def _check_statement(statement: Statement, standing: Standing, findings: _Findings) -> None:
    match statement:
        case Assign() | Reduce():
            check_assignment(statement, standing)
            findings.shards.use(
                standing.window(statement.place), standing.scope.tiling, statement.place, statement
            )
            _check_reads(statement.value, standing, findings)
        case Call():
            _check_call(statement, standing, findings)
        case Fence():
            check_fence(statement, standing, findings.synchronization)
        case Arrive() | Await():
            check_split(statement, standing, findings.synchronization)
        case _ if bodies(statement):
            _check_block(statement, standing, findings)
        case _:
            pass


# Loops and blocks -------------------------------------------------------------------------------------------------


def _check_block(statement: Statement, standing: Standing, findings: _Findings) -> None:
    around = standing
    match statement:
        case CudaDeviceFunction():
            _check_device_function(statement, standing)
        case CudaAsync(timeline):
            sync_tl_of(timeline, statement)
            around = replace(standing, asynchronous=statement)
        case For():
            around = _check_loop(statement, standing)
        case If():
            if not _alike(statement, standing):
                around = replace(standing, around=(*standing.around, None))
        case _:
            pass
    with placed(statement):
        scope = inside(standing.scope, statement)
    start = 0
    for body in bodies(statement):
        _check_body(body, scope, around, findings, start)
        start += len(body)


def _alike(statement: If, standing: Standing) -> bool:
    """Whether all threads decide a condition alike: it names no iterator of a loop over them."""
    named = {node.name for node in walk(statement.condition) if isinstance(node, Name)}
    return named.isdisjoint(standing.around)


def _check_device_function(block: CudaDeviceFunction, standing: Standing) -> None:
    if standing.par:
        raise static_refusal("static-par", block, "CudaDeviceFunction", "one in a par loop")
    if block.cluster_dim & (block.cluster_dim - 1):
        raise static_refusal("static-cluster", block, "CudaDeviceFunction", f"clusterDim {block.cluster_dim}")


def _check_loop(loop: For, standing: Standing) -> Standing:
    """A loop, and the standing of its inside."""
    inner = replace(standing, names={**standing.names, loop.iterator: None})
    if isinstance(loop.mode, CudaThreads):
        _check_unit(loop.mode.unit, loop)
        return replace(inner, around=(*standing.around, loop.iterator))
    if loop.mode == CUDA_TASKS:
        _check_task_bounds(loop, standing)
        return replace(inner, tasks=(*standing.tasks, loop.iterator))
    return replace(inner, around=(*standing.around, None), par=standing.par or loop.mode == PAR)


def _check_unit(unit: Ref, loop: For) -> None:
    if not isinstance(unit.value, CollUnit):
        raise static_refusal("static-object", unit, unit.name, "no unit of the law", within=loop)


def _check_task_bounds(loop: For, standing: Standing) -> None:
    for bound in (loop.lo, loop.hi):
        outer = [n.name for n in walk(bound) if isinstance(n, Name) and n.name in standing.tasks]
        if outer:
            subject = f"cuda_tasks over {loop.iterator}"
            raise static_refusal("static-task-bounds", bound, subject, outer[0], within=loop)


# Uses of data -----------------------------------------------------------------------------------------------------


def _check_reads(value: Expr, standing: Standing, findings: _Findings) -> None:
    for place in read_places(value, standing):
        check_read(place, standing)
        _use(place, standing, findings)


def _use(place: Name | Index, standing: Standing, findings: _Findings, unit: CollUnit | None = None) -> None:
    window = standing.window(place)
    findings.shards.use(window, standing.scope.tiling, place, standing.statement, unit)


def _check_call(call: Call, standing: Standing, findings: _Findings) -> None:
    callee = callee_of(call)
    for argument, given in given_to(call):
        if isinstance(argument.type, Data) and place_given(argument, given, standing) is None:
            _check_reads(given, standing, findings)
    if isinstance(callee, Instruction):
        check_instruction_call(call, callee, standing)
        check_trailing(call, callee, standing, findings.synchronization)
        home = findings.synchronization.homes.get(standing.path, ())
        findings.completions += completions(call, callee, home, standing)
        for argument, given in given_to(call):
            place = place_given(argument, given, standing)
            if place is not None:
                _use(place, standing, findings, callee.operand(argument.name).unit)
    else:
        check_proc(call, standing)
        _check_proc(callee, standing.path, standing.par, findings)
