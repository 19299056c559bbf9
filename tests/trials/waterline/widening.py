"""
Small programs in CUDA
======================

The programs that the abstract machine is tried with touch elements of 32 bits, which TMA cannot move. `widened` makes
each element a *piece* of 16 bytes or more, of which the program uses the first element and nobody the others; windows
become windows of whole pieces. Its instructions become instructions of a user, which bring their CUDA: one PTX
instruction each. Threads, timelines and synchronization stay as they are.

Only wgmma stays out: it multiplies no integers. The examples and the flagships have it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import Final

from soundline.impl.codegen.cuda.instructions.user import CudaInstruction
from soundline.impl.spork.names import NAMES as STANDARD
from soundline.impl.spork.program import SporkProc
from soundline.spec.spork.language.expressions import Binary, Cast, Const, Expr, Index, Name, Span
from soundline.spec.spork.language.nodes import Ref
from soundline.spec.spork.language.programs import Proc
from soundline.spec.spork.language.statements import (
    Alloc,
    Assign,
    Call,
    For,
    If,
    Reduce,
    Statement,
    WindowOf,
    statements,
)
from soundline.spec.spork.language.types import Argument, Data
from soundline.spec.spork.language.well_formedness import check
from soundline.spec.spork.library.memories import CudaGmemLinear, CudaSmemLinear, Memory, Sm90_tensorMap
from soundline.spec.spork.library.schema import Instruction
from soundline.verify.findings.instructions import INSTRUCTIONS, TinyRegisters, WarpRegisters
from trials.machine.changes import Block, edited

PIECE, LARGE = 4, 32
"""Elements of 32 bits of a piece: what TMA moves, and what a box of a tensor map is a multiple of."""
WORD: Final = 4

LANES: Final[Memory] = replace(WarpRegisters, name="LaneRegisters", tiles=((LARGE,),))
"""Registers that a warp shares out: an element of a piece for each lane."""


class Unwidened(Exception):
    """A program that has no such form; its text says why."""


_BULK = "ptx::cp_async_bulk_shared_cluster_global({{dst}}, {{src}}, {bytes}, {{barrier}});"
_BOX = (
    "if (ptx::elect_sync()) ptx::cp_async_bulk_tensor_2d_shared_cluster_global_multicast_cluster("
    "{dst}, {src.map}, {barrier}, {dst.ctas}, {src.coordinate1}, {src.coordinate0});"
)
_SUM = (
    "ptx::cp_reduce_async_bulk_tensor_2d_global_shared_cta_add("
    "{dst.map}, {dst.coordinate1}, {dst.coordinate0}, {src});"
)


def _texts(width: int) -> Mapping[str, tuple[str, int]]:
    """The CUDA of instructions for pieces of so many elements, and the bytes that a load by TMA brings."""
    found: dict[str, tuple[str, int]] = {}
    for n in (1, 2):
        size = n * width * WORD
        ordinary = (f"{{dst}}[{width * i}] = {{src}}[{width * i}];" for i in range(n))
        # One way to copy asynchronously for each: a word, and sixteen bytes past the first cache.
        words = (
            f"ptx::cp_async_ca_shared_global<4>({{dst}} + {width * i}, {{src}} + {width * i});"
            for i in range(n)
        )
        lines = (
            f"ptx::cp_async_cg_shared_global({{dst}} + {width * i}, {{src}} + {width * i});" for i in range(n)
        )
        found |= {
            f"copy_{n}": ("\n".join(ordinary), 0),
            f"cp_async_{n}": ("\n".join(words if n == 1 else lines), 0),
            f"tma_load_{n}": (_BULK.format(bytes=size), size),
            f"tma_store_{n}": (f"ptx::cp_async_bulk_global_shared_cta({{dst}}, {{src}}, {size});", 0),
        }
    piece = width * WORD
    return found | {
        "tma_load_warp": (f"if (ptx::elect_sync()) {_BULK.format(bytes=piece)}", piece),
        "tma_load_everywhere": (_BOX, piece),
        "tma_add": (_SUM, 0),
        "atomic_add_shared": ("ptx::red_shared_add_s32({dst}, *{src});", 0),
        "atomic_add_global": ("ptx::red_global_add_s32({dst}, *{src});", 0),
        "warp_load": ("{dst}[0] = uint32_t(*{src});", 0),
        "warp_store": ("if (threadIdx.x % 32 == 0) *{dst} = int32_t({src}[0]) + 1;", 0),
    }


NEEDS_LARGE: Final = frozenset({"tma_load_everywhere", "tma_add", "warp_load", "warp_store"})
BOXES: Final = {"tma_load_everywhere": "src", "tma_add": "dst"}
"""What is copied by a tensor map, and which argument it makes a view of."""
HOST: Final = {"to_device": "cudaMemcpyAsync_htod_2d_i32", "to_host": "cudaMemcpyAsync_dtoh_2d_i32"}


@cache
def instruction(name: str, text: str, width: int) -> Instruction:
    """An instruction for pieces; `text` is the name of its CUDA."""
    small = INSTRUCTIONS[name]
    arguments = tuple(_wide_argument(a, width) for a in small.arguments)
    body = edited(small.body, lambda s: _wide_statement(s, width, {}, {}))
    operands = dict(small.operands)
    for argument, operand in operands.items():
        if WarpRegisters in operand.memories:
            operands[argument] = replace(operand, memories=(LANES,))
    if name in BOXES:
        boxed = BOXES[name]
        operands[boxed] = replace(operands[boxed], memories=(Sm90_tensorMap,))
    common = {
        "name": text,
        "arguments": arguments,
        "body": body,
        "unit": small.unit,
        "instr_tl": small.instr_tl,
        "operands": operands,
        "trailing": small.trailing,
        "trailing_required": small.trailing_required,
    }
    if small.unit is None:
        return Instruction(**common)  # type: ignore[arg-type]
    cuda, size = _texts(width)[text]
    return CudaInstruction(**common, cuda=cuda, expect_tx=str(size) if size else "")  # type: ignore[arg-type]


def widened(proc: Proc, name: str) -> SporkProc:
    """A small program in pieces, under another name; raises ``Unwidened``."""
    called = {s.callee.name for s in statements(proc.body) if isinstance(s, Call)}
    width = LARGE if called & NEEDS_LARGE else PIECE
    memories: dict[str, object] = {a.name: _value(a.memory) for a in proc.arguments}
    for statement in statements(proc.body):
        if isinstance(statement, Alloc):
            memories[statement.name] = _value(statement.memory)
    if TinyRegisters in memories.values():
        raise Unwidened("wgmma multiplies no integers")
    maps: dict[str, str] = {}
    body = edited(proc.body, lambda s: _wide_statement(s, width, memories, maps))
    views = tuple(_view(array, view, width) for array, view in maps.items())
    arguments = tuple(_wide_argument(a, width) for a in proc.arguments)
    return check(SporkProc(name, arguments, proc.preconditions, (*views, *body)))  # type: ignore[return-value]


def _value(memory: Ref | None) -> object:
    return memory.value if memory is not None else None


def _view(array: str, view: str, width: int) -> Statement:
    memory = Sm90_tensorMap(0, 1, width)
    return WindowOf(view, Index(array, (Span(), Span())), Ref(memory.name, memory))


def _wide_argument(argument: Argument, width: int) -> Argument:
    assert isinstance(argument.type, Data)
    sizes = (*argument.type.sizes, Const(width * WORD // argument.type.dtype.itemsize))
    return replace(argument, type=replace(argument.type, sizes=sizes))


def _wide_statement(
    statement: Statement, width: int, memories: Mapping[str, object], maps: dict[str, str]
) -> Block | None:
    """What a statement becomes; None for a block, whose inside is."""
    match statement:
        case Assign(place, value) | Reduce(place, value):
            target = _wide(place, width)
            assert isinstance(target, Name | Index)
            return (replace(statement, place=target, value=_wide(value, width)),)
        case Alloc(sizes=sizes) if sizes:
            last = Const(width * WORD // statement.dtype.itemsize)
            memory = statement.memory
            if _value(memory) is WarpRegisters:
                memory = Ref(LANES.name, LANES)
            return (replace(statement, sizes=(*sizes, last), memory=memory),)
        case Call():
            return (_wide_call(statement, width, memories, maps),)
        case If() | For():
            return None
        case _:
            return None


def _wide_call(call: Call, width: int, memories: Mapping[str, object], maps: dict[str, str]) -> Call:
    name = call.callee.name
    given = [_wide(a, width) for a in call.arguments]
    if name in HOST:
        first = given[0]
        assert isinstance(first, Index)
        callee = Ref(HOST[name], STANDARD[HOST[name]])
        return replace(call, callee=callee, arguments=(*given, Const(2), Const(width)))
    text = name
    if name == "atomic_add":
        first = given[0]
        assert isinstance(first, Index)
        memory = memories[first.name]
        assert isinstance(memory, Memory)
        text = {CudaSmemLinear: "atomic_add_shared", CudaGmemLinear: "atomic_add_global"}[memory]
    if name in BOXES:
        at = [a.name for a in INSTRUCTIONS[name].arguments].index(BOXES[name])
        array = given[at]
        assert isinstance(array, Index)
        maps.setdefault(array.name, f"{array.name}_map")
        given[at] = replace(array, name=maps[array.name])
    made = instruction(name, text, width)
    return replace(call, callee=Ref(made.name, made), arguments=tuple(given))


def _wide(expression: Expr, width: int) -> Expr:
    match expression:
        case Index(indices=indices):
            last = Span(Const(0), Const(width)) if any(isinstance(i, Span) for i in indices) else Const(0)
            return replace(expression, indices=(*indices, last))
        case Binary(left=left, right=right):
            return replace(expression, left=_wide(left, width), right=_wide(right, width))
        case Cast(operand=operand):
            return replace(expression, operand=_wide(operand, width))
        case _:
            return expression
