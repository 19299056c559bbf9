"""
Programs as text
================

Statements and expressions in the syntax that programs are read in: that of Python. `programs.text` writes a whole proc.
Reading the text again in the namespace of `programs.references` gives the same proc. Parentheses stand only where the
order of operations needs them.
"""

from __future__ import annotations

from collections.abc import Iterable

from soundline.spec.ops.node import Op
from soundline.spec.spork.language.expressions import (
    BINARY,
    COMPARISONS,
    FUNCTIONS,
    Apply,
    Binary,
    Cast,
    Const,
    Expr,
    Index,
    Name,
    Span,
    Unary,
)
from soundline.spec.spork.language.nodes import SPELLING, Ref
from soundline.spec.spork.language.statements import (
    Alloc,
    AllocBarrier,
    Arrive,
    Assign,
    Await,
    BarrierAt,
    Call,
    CudaAsync,
    CudaDeviceFunction,
    CudaThreads,
    CudaWarps,
    Fence,
    For,
    If,
    Mode,
    Pass,
    Reduce,
    Statement,
    WindowOf,
)
from soundline.spec.spork.language.types import Argument, Control, CudaWarpConfig
from soundline.spec.spork.synchronization.barriers import n_text

_OPERATORS = {op: spelling for spelling, op in BINARY.items()}
_BITS = {Op.And: "&", Op.Or: "|"}
_CALLS = {op: name for name, (op, _) in FUNCTIONS.items()}
_LEVELS = {
    **dict.fromkeys((Op.Mul, Op.Div, Op.Idiv, Op.Mod), 8),
    **dict.fromkeys((Op.Add, Op.Sub), 7),
    **dict.fromkeys((Op.Shl, Op.Shr), 6),
    Op.Xor: 4,
    **dict.fromkeys(COMPARISONS, 2),
}
"""How tightly an operator binds. Beside these, ``&`` has 5, ``|`` 3, ``not`` 1, ``and`` 0 and ``or`` -1."""

_TIGHT = 9


def argument_text(argument: Argument) -> str:
    """An argument of a proc or instruction."""
    if isinstance(argument.type, Control):
        spelled: str = argument.type.name
    else:
        dtype = SPELLING[argument.type.dtype]
        spelled = f"[{dtype}]" if argument.type.window else dtype
        if argument.type.sizes:
            spelled += _sizes(argument.type.sizes)
    return f"{argument.name}: {spelled}{_at(argument.memory)}"


def _sizes(sizes: Iterable[Expr]) -> str:
    return f"[{', '.join(expression(s) for s in sizes)}]"


def _at(memory: Ref | None) -> str:
    return f" @ {memory.name}" if memory is not None else ""


def block(body: tuple[Statement, ...]) -> list[str]:
    """The lines of a block, indented."""
    return [f"    {line}" for statement in body for line in lines(statement)]


def lines(statement: Statement) -> list[str]:
    """The lines of a statement."""
    match statement:
        case If():
            found = [f"if {expression(statement.condition)}:", *block(statement.body)]
            return [*found, "else:", *block(statement.orelse)] if statement.orelse else found
        case For():
            bounds = f"{expression(statement.lo)}, {expression(statement.hi)}"
            head = f"for {statement.iterator} in {_mode(statement.mode, bounds)}:"
            return [head, *block(statement.body)]
        case CudaDeviceFunction() | CudaAsync() | CudaWarps():
            return [f"with {_with(statement)}:", *block(statement.body)]
        case _:
            return [_simple(statement)]


def _mode(mode: Mode, bounds: str) -> str:
    if isinstance(mode, CudaThreads):
        return f"cuda_threads({bounds}, unit={mode.unit.name})"
    return f"{mode.name}({bounds})"


def _with(block: CudaDeviceFunction | CudaAsync | CudaWarps) -> str:
    match block:
        case CudaAsync(timeline):
            return f"CudaAsync({timeline.name})"
        case CudaWarps():
            given = [str(n) for n in (block.lo, block.hi) if n is not None]
            given += [f"name={_string(block.name)}"] if block.name is not None else []
        case CudaDeviceFunction():
            given = [f"blockDim={block.block_dim}"] if block.block_dim is not None else []
            if block.warp_config:
                given.append(f"warp_config=[{', '.join(_warps(w) for w in block.warp_config)}]")
            given += [f"clusterDim={block.cluster_dim}"] if block.cluster_dim != 1 else []
            given += [f"blocks_per_sm={block.blocks_per_sm}"] if block.blocks_per_sm != 1 else []
    return f"{type(block).__name__}({', '.join(given)})"


def _string(value: str) -> str:
    plain = value.isprintable() and '"' not in value and "\\" not in value
    return f'"{value}"' if plain else repr(value)


def _warps(warps: CudaWarpConfig) -> str:
    given = [_string(warps.name), str(warps.count)]
    given += [f"setmaxnreg_dec={warps.setmaxnreg_dec}"] if warps.setmaxnreg_dec is not None else []
    given += [f"setmaxnreg_inc={warps.setmaxnreg_inc}"] if warps.setmaxnreg_inc is not None else []
    return f"CudaWarpConfig({', '.join(given)})"


def _simple(statement: Statement) -> str:
    match statement:
        case Pass():
            return "pass"
        case Assign(place, value):
            return f"{expression(place)} = {expression(value)}"
        case Reduce(place, value):
            return f"{expression(place)} += {expression(value)}"
        case Alloc():
            sizes = _sizes(statement.sizes) if statement.sizes else ""
            return f"{statement.name}: {SPELLING[statement.dtype]}{sizes}{_at(statement.memory)}"
        case AllocBarrier():
            sizes = "" if statement.sizes is None else _sizes(statement.sizes)
            return f"{statement.name}: barrier{sizes} @ {statement.kind.name}"
        case WindowOf():
            return f"{statement.name} = {expression(statement.window)}{_at(statement.memory)}"
        case Fence(first, second):
            return f"Fence({first.name}, {second.name})"
        case Arrive():
            head = "ReverseArrive" if statement.reverse else "Arrive"
            return f"{head}({statement.first.name}, {statement.n}){_trailing(statement.barriers)}"
        case Await():
            head = "ReverseAwait" if statement.reverse else "Await"
            return (
                f"{head}({barrier_text(statement.barrier)}, {statement.second.name}, {n_text(statement.n)})"
            )
        case Call():
            given = [expression(a) for a in statement.arguments]
            given += [f"{name}={expression(value)}" for name, value in statement.keywords]
            return f"{statement.callee.name}({', '.join(given)}){_trailing(statement.trailing)}"
        case _:
            raise AssertionError(f"{type(statement).__name__} has a block")


def _trailing(barriers: Iterable[BarrierAt]) -> str:
    return "".join(f" >> {barrier_text(barrier)}" for barrier in barriers)


def barrier_text(barrier: BarrierAt) -> str:
    """A barrier with its indices."""
    return barrier.name + (_indices(barrier.indices) if barrier.indices else "")


def _indices(indices: Iterable[Expr | Span]) -> str:
    return f"[{', '.join(_interval(i) if isinstance(i, Span) else expression(i) for i in indices)}]"


def _interval(interval: Span) -> str:
    return ":".join("" if end is None else expression(end) for end in (interval.lo, interval.hi))


def expression(node: Expr, within: int = -2) -> str:
    """The text of an expression that stands where only operators tighter than `within` need no parentheses."""
    match node:
        case Const(value):
            return repr(value)
        case Name(name):
            return name
        case Index(name, indices):
            return name + _indices(indices)
        case Cast(dtype, operand):
            return f"{SPELLING[dtype]}({expression(operand)})"
        case Apply(op, operands):
            return f"{_CALLS[op]}({', '.join(expression(o) for o in operands)})"
        case Unary(op, operand):
            level = 1 if op is Op.Not else _TIGHT
            sign = "not " if op is Op.Not else "-"
            written = f"{sign}{expression(operand, level - 1)}"
        case Binary(op, left, right):
            spelled, level = _operator(op, left, right)
            # A comparison in a comparison would be a chain, so that it stands in parentheses on both sides.
            side = level if op in COMPARISONS else level - 1
            written = f"{expression(left, side)} {spelled} {expression(right, level)}"
    return f"({written})" if level <= within else written


def _operator(op: Op, left: Expr, right: Expr) -> tuple[str, int]:
    """How an operator is spelled and binds: And and Or of conditions are words, of bits signs."""
    if op in _BITS:
        if _is_condition(left) or _is_condition(right):
            return (_OPERATORS[op], 0) if op is Op.And else (_OPERATORS[op], -1)
        return _BITS[op], 5 if op is Op.And else 3
    return _OPERATORS[op], _LEVELS[op]


def _is_condition(node: Expr) -> bool:
    match node:
        case Const(value):
            return isinstance(value, bool)
        case Unary(op):
            return op is Op.Not
        case Binary(op, left, right):
            return op in COMPARISONS or (op in _BITS and (_is_condition(left) or _is_condition(right)))
        case _:
            return False
