"""
Which programs are well formed
==============================

`check` reads a proc from top to bottom, with what is in scope and what stands around each statement, and raises a
`ProgramError` at the first condition of `spec.spork.language.conditions` that is broken.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from soundline.spec.spork.language.calls import check_arrive, check_await, check_call, check_reference
from soundline.spec.spork.language.conditions import refusal
from soundline.spec.spork.language.expressions import Const, Span, number
from soundline.spec.spork.language.names import (
    Barriers,
    Binding,
    DataName,
    array,
    bound_by,
    check_condition,
    check_integer,
    check_name,
    check_size,
    check_written,
)
from soundline.spec.spork.language.nodes import Node
from soundline.spec.spork.language.programs import Proc
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
    CudaWarps,
    Fence,
    For,
    If,
    Reduce,
    Statement,
    WindowOf,
)
from soundline.spec.spork.language.types import Argument, Control, CudaWarpConfig, Data


@dataclass(frozen=True, slots=True)
class Around:
    """What stands around a statement: the device function, an async block, and whether a task loop may stand here."""

    device: CudaDeviceFunction | None = None
    asynchronous: bool = False
    tasks: bool = False


def check(proc: Proc) -> Proc:
    """The proc itself, if it is well formed."""
    scope: dict[str, Binding] = {}
    check_name(proc.name, scope, proc)
    # A size may stand behind the data that has it, as in copy(dst, src, size).
    sizes = {a.name: a.type for a in proc.arguments if isinstance(a.type, Control)}
    for argument in proc.arguments:
        _check_argument(argument, scope, sizes)
        scope[argument.name] = bound_by(argument.type)
    for condition in proc.preconditions:
        check_condition(condition, scope)
    _check_body(proc.body, scope, Around(), proc)
    return proc


def _check_argument(argument: Argument, scope: dict[str, Binding], sizes: dict[str, Control]) -> None:
    check_name(argument.name, scope, argument)
    if isinstance(argument.type, Data):
        for size in argument.type.sizes:
            check_size(size, {**sizes, **scope})
    if argument.memory is not None:
        check_reference(argument.memory, "memory")


def _check_body(body: Iterable[Statement], scope: dict[str, Binding], around: Around, owner: Node) -> None:
    """A block: what it binds is in scope to its end."""
    block = tuple(body)
    if not block:
        raise refusal("prog-body", owner, "none")
    inner = dict(scope)
    alone = len(block) == 1
    for statement in block:
        _check_statement(statement, inner, replace(around, tasks=around.tasks and alone))


def _check_statement(statement: Statement, scope: dict[str, Binding], around: Around) -> None:
    match statement:
        case Assign() | Reduce():
            check_written(statement.place, statement.value, scope, adds=isinstance(statement, Reduce))
        case Alloc() | AllocBarrier() | WindowOf():
            _check_binding(statement, scope)
        case If():
            check_condition(statement.condition, scope)
            inside = replace(around, tasks=False)
            _check_body(statement.body, scope, inside, statement)
            if statement.orelse:
                _check_body(statement.orelse, scope, inside, statement)
        case For():
            _check_loop(statement, scope, around)
        case CudaDeviceFunction() | CudaAsync() | CudaWarps():
            _check_block(statement, scope, around)
        case Fence(first, second):
            check_reference(first, "timeline")
            check_reference(second, "timeline")
        case Arrive():
            check_arrive(statement, scope)
        case Await():
            check_await(statement, scope)
        case Call():
            check_call(statement, scope, on_device=around.device is not None)


def _check_binding(statement: Alloc | AllocBarrier | WindowOf, scope: dict[str, Binding]) -> None:
    """Storage, barriers and windows: what is bound is in scope from the next statement on."""
    check_name(statement.name, scope, statement)
    if isinstance(statement, WindowOf):
        found = array(statement.window, scope)
        if not statement.window.is_window:
            raise refusal("prog-window", statement, "an element")
        rank = sum(isinstance(i, Span) for i in statement.window.indices)
        bound: Binding = DataName(found.dtype, rank)
    else:
        for size in statement.sizes or ():
            check_size(size, scope)
        if isinstance(statement, Alloc):
            bound = DataName(statement.dtype, len(statement.sizes))
        else:
            check_reference(statement.kind, "barrier")
            bound = Barriers(None if statement.sizes is None else len(statement.sizes))
    if not isinstance(statement, AllocBarrier) and statement.memory is not None:
        check_reference(statement.memory, "memory")
    scope[statement.name] = bound


def _check_loop(loop: For, scope: dict[str, Binding], around: Around) -> None:
    if loop.mode == CUDA_TASKS and not around.tasks:
        raise refusal("prog-tasks-place", loop, "one in another place")
    if loop.mode == PAR and around.device is not None:
        raise refusal("prog-cpu-only", loop, "par on the device")
    if isinstance(loop.mode, CudaThreads):
        if around.device is None:
            raise refusal("prog-device-only", loop, "cuda_threads on the CPU")
        check_reference(loop.mode.unit, "unit")
        if loop.lo != Const(0):
            raise refusal("prog-threads-bounds", loop.lo, "another begin")
        if number(loop.hi) is None:
            raise refusal("prog-threads-bounds", loop.hi, "an end that is not constant")
    check_integer(loop.lo, scope)
    check_integer(loop.hi, scope)
    check_name(loop.iterator, scope, loop)
    inside = replace(around, tasks=loop.mode == CUDA_TASKS)
    _check_body(loop.body, {**scope, loop.iterator: Control("index")}, inside, loop)


def _check_block(
    block: CudaDeviceFunction | CudaAsync | CudaWarps, scope: dict[str, Binding], around: Around
) -> None:
    if isinstance(block, CudaDeviceFunction):
        if around.device is not None:
            raise refusal("prog-cpu-only", block, "a CudaDeviceFunction on the device")
        _check_device_function(block)
        inside = Around(device=block, tasks=True)
    else:
        if around.device is None:
            raise refusal("prog-device-only", block, f"{type(block).__name__} on the CPU")
        inside = replace(around, tasks=False)
        if isinstance(block, CudaWarps):
            _check_warps(block, around.device)
        else:
            check_reference(block.timeline, "timeline")
            if around.asynchronous:
                raise refusal("prog-async-nest", block, "one in another")
            inside = replace(inside, asynchronous=True)
    _check_body(block.body, scope, inside, block)


def _check_device_function(block: CudaDeviceFunction) -> None:
    if (block.block_dim is None) == (not block.warp_config):
        given = "neither" if block.block_dim is None else "both"
        raise refusal("prog-block-dim", block, given)
    numbers = {"clusterDim": block.cluster_dim, "blocks_per_sm": block.blocks_per_sm}
    if block.block_dim is not None:
        numbers["blockDim"] = block.block_dim
    for name, value in numbers.items():
        _check_positive(name, value, block)
    for warps in block.warp_config:
        _check_warp_config(warps, block)
    names = [warps.name for warps in block.warp_config]
    if len(set(names)) != len(names):
        raise refusal("prog-warp-config", block, f"the names {', '.join(names)}")
    body = block.body
    if body and not (len(body) == 1 and isinstance(body[0], For) and body[0].mode == CUDA_TASKS):
        odd = next((s for s in body if not (isinstance(s, For) and s.mode == CUDA_TASKS)), body[-1])
        raise refusal("prog-device-nest", odd, "another statement")


def _check_positive(name: str, value: object, at: Node) -> None:
    if type(value) is not int or value < 1:
        raise refusal("prog-device-number", at, f"{name} = {value!r}")


def _check_warp_config(warps: CudaWarpConfig, at: Node) -> None:
    _check_positive(f"the number of warps of {warps.name}", warps.count, at)
    changes = [n for n in (warps.setmaxnreg_dec, warps.setmaxnreg_inc) if n is not None]
    if len(changes) == 2:
        raise refusal("prog-warp-config", at, f"{warps.name}, which gives up and takes registers")
    for registers in changes:
        _check_positive(f"the registers of {warps.name}", registers, at)


def _check_warps(block: CudaWarps, device: CudaDeviceFunction) -> None:
    lo, hi = block.lo, block.hi
    if lo is None and hi is None:
        if block.name is None:
            raise refusal("prog-warps-range", block, "nothing")
    elif type(lo) is not int or type(hi) is not int or not 0 <= lo < hi:
        raise refusal("prog-warps-range", block, f"lo = {lo!r}, hi = {hi!r}")
    names = [warps.name for warps in device.warp_config]
    if block.name is not None and block.name not in names:
        given = f"{block.name!r}, not among {', '.join(names) or 'none'}"
        raise refusal("prog-warps-name", block, given)
