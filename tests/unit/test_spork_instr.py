"""Instructions read from Python functions and from texts, written as texts, and called by programs."""

# ruff: noqa: B007, F821, PLE0643, RUF016
# Instructions and programs name and bind what Python does not.

from __future__ import annotations

import pickle
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import soundline as sl
from soundline.spec.errors import ProgramError, SoundlineError, UsageError
from soundline.spec.spork.language.expressions import Const, Index
from soundline.spec.spork.language.programs import references as program_references
from soundline.spec.spork.language.programs import text as program_text
from soundline.spec.spork.language.statements import Assign, Call, statements
from soundline.spec.spork.library.copies import CpAsync
from soundline.spec.spork.library.memories import (
    CudaGmemLinear,
    CudaRmem,
    CudaSmemLinear,
    Memory,
    Sm90_SmemSwizzled,
)
from soundline.spec.spork.library.schema import Instruction, Operand
from soundline.spec.spork.library.table import STANDARD
from soundline.spec.spork.library.text import references, text
from soundline.spec.spork.synchronization.timelines import CP_RAM, IO_RAM, SYNC_TLS, InstrTl, UsageTl
from soundline.spec.spork.threads.units import BLOCK_DIM, coll_unit, cuda_quadpair, cuda_thread, cuda_warp

instr, instr_from_text, proc, proc_from_text = (
    getattr(sl.spork, name) for name in ("instr", "instr_from_text", "proc", "proc_from_text")
)

QuadFragment = Memory(
    name="QuadFragment",
    space="registers",
    native=cuda_quadpair,
    usage=UsageTl.cuda_sync_rmem,
    allocated=InstrTl.cuda_in_order,
    instructions=frozenset({InstrTl.cuda_in_order}),
    scalars=False,
    constant=True,
    tiles=((8, 4),),
)
"""A reader's own memory: a tile of 8 by 4 in the registers of two quads."""

ROWS = 8


class QuadInstruction(Instruction):
    """A reader's own family."""


@instr(
    unit=cuda_quadpair,
    instr_tl=InstrTl.cuda_in_order,
    operands={
        "fragment": Operand(memories=[QuadFragment]),
        "src": Operand(memories=[CudaSmemLinear, CudaGmemLinear]),
    },
    ptx="ld",
    family=QuadInstruction,
)
def quad_load(fragment: [f32][ROWS, 4], src: [f32][ROWS, 4]):
    """Load a tile
    of two quads.
    """
    for i in seq(0, ROWS):
        for j in seq(0, 4):
            fragment[i, j] = src[i, j]


@instr(
    unit=cuda_quadpair,
    instr_tl="cuda_in_order",
    operands={"fragment": Operand(memories=[QuadFragment])},
)
def quad_scale(dst: [f32][8, 4] @ CudaGmemLinear, fragment: [f32][8, 4], on: bool, factor: f32):
    for i in seq(0, 8):
        for j in seq(0, 4):
            if on:
                dst[i, j] = factor * fragment[i, j]
            else:
                dst[i, j] += fragment[i, j]


@instr(
    unit=32 * cuda_thread,
    instr_tl=SYNC_TLS["tma_to_smem_async"],
    operands={
        "dst": Operand(
            memories=[Sm90_SmemSwizzled, CudaSmemLinear],
            usage="cuda_ram",
            out_of_order=True,
            convergent=False,
            extended=[("Sm80_cp_async", "cuda_ram"), ("cuda_in_order", "cuda_ram")],
            unit=cuda_warp,
        ),
        "src": Operand(memories=[CudaGmemLinear], out_of_order=True),
    },
    trailing=sl.spork.BarrierType.CudaMbarrier,
    trailing_required=True,
)
def bulk(dst: [i32][n], src: [i32][n], n: size):
    assert n % 4 == 0
    for i in seq(0, n):
        dst[i] = src[i]


MINE = [quad_load, quad_scale, bulk]


def test_a_function_is_read_as_an_instruction() -> None:
    assert type(quad_load) is QuadInstruction
    assert quad_load.doc == "Load a tile of two quads."
    assert (quad_load.written, quad_load.read) == ({"fragment"}, {"src"})
    assert quad_load.unit == cuda_quadpair
    assert quad_load.operand("fragment").takes(QuadFragment)
    assert quad_scale.operand("dst") == Operand(memories=(CudaGmemLinear,))
    assert not quad_scale.operand("dst").takes(CudaSmemLinear)
    assert quad_scale.instr_tl is InstrTl.cuda_in_order
    assert bulk.instr_tl is InstrTl.tma_to_smem_async
    assert bulk.unit == cuda_warp
    assert bulk.operand("dst").extended == {CP_RAM, IO_RAM}
    assert bulk.trailing_required
    at = quad_load.body[0].position
    assert at is not None
    assert Path(at.file) == Path(__file__)
    assert at.text.strip() == "for i in seq(0, ROWS):"


@pytest.mark.parametrize("instruction", [*MINE, *STANDARD.values()], ids=str)
def test_an_instruction_is_written_and_read_back(instruction: Instruction) -> None:
    written = text(instruction)
    again = instr_from_text(written, references(instruction))
    assert again == instruction
    assert type(again) is type(instruction)
    assert again.doc == instruction.doc
    assert text(again) == written
    assert pickle.loads(pickle.dumps(instruction)) == instruction


def test_the_text_of_an_instruction() -> None:
    assert (
        text(quad_scale)
        == """@instr(
    unit=cuda_quadpair,
    instr_tl=cuda_in_order,
    operands={
        "fragment": Operand(memories=[QuadFragment]),
    },
)
def quad_scale(dst: [f32][8, 4] @ CudaGmemLinear, fragment: [f32][8, 4], on: bool, factor: f32):
    for i in seq(0, 8):
        for j in seq(0, 4):
            if on:
                dst[i, j] = factor * fragment[i, j]
            else:
                dst[i, j] += fragment[i, j]
"""
    )
    assert (
        text(bulk)
        == """@instr(
    unit=32 * cuda_thread,
    instr_tl=tma_to_smem_async,
    operands={
        "dst": Operand(
            memories=[Sm90_SmemSwizzled, CudaSmemLinear],
            usage="cuda_ram",
            out_of_order=True,
            convergent=False,
            extended=[("Sm80_cp_async", "cuda_ram"), ("cuda_in_order", "cuda_ram")],
            unit=cuda_warp,
        ),
        "src": Operand(memories=[CudaGmemLinear], out_of_order=True),
    },
    trailing=CudaMbarrier,
    trailing_required=True,
)
def bulk(dst: [i32][n], src: [i32][n], n: size):
    assert n % 4 == 0
    for i in seq(0, n):
        dst[i] = src[i]
"""
    )


@pytest.mark.parametrize("doc", ['say "so"', "a \\new b", 'ends in a "', "two '''"])
def test_any_doc_is_written(doc: str) -> None:
    made = Instruction(
        name="odd",
        arguments=quad_load.arguments,
        body=quad_load.body,
        unit=cuda_quadpair,
        instr_tl=InstrTl.cuda_in_order,
        doc=doc,
    )
    assert instr_from_text(text(made), references(made)).doc == doc


def test_the_unit_and_memory_of_an_operand_are_among_the_references() -> None:
    lanes = coll_unit((BLOCK_DIM,), (2,), name="two_lanes")
    made = replace(quad_load, operands={"fragment": Operand(memories=[QuadFragment], unit=lanes)})
    known = references(made)
    assert known["two_lanes"] is lanes
    assert known["QuadFragment"] is QuadFragment
    assert instr_from_text(text(made), known) == made


@pytest.mark.parametrize(("width", "broken"), [(100, False), (101, True)])
def test_a_long_operand_is_broken_into_lines(width: int, broken: bool) -> None:
    short = '        "": Operand(memories=[CudaSmemLinear, Sm90_SmemSwizzled], out_of_order=True),'
    name = "x" * (width - len(short))
    made = Instruction(
        name="wide",
        arguments=(replace(quad_load.arguments[0], name=name),),
        body=(Assign(Index(name, (Const(0), Const(0))), Const(0)),),
        unit=cuda_thread,
        instr_tl=InstrTl.Sm80_cp_async,
        operands={name: Operand(memories=[CudaSmemLinear, Sm90_SmemSwizzled], out_of_order=True)},
    )
    lines = text(made).splitlines()
    assert (max(len(line) for line in lines if line.startswith("        ")) == width) is not broken
    assert instr_from_text(text(made)) == made


@proc
def scaled(x: f32[4, 8, 4] @ CudaGmemLinear, y: f32[4, 8, 4] @ CudaGmemLinear):
    with CudaDeviceFunction(blockDim=32):
        for task in cuda_tasks(0, 1):
            for q in cuda_threads(0, 4, unit=cuda_quadpair):
                tile: f32[8, 4] @ QuadFragment
                quad_load(tile[:, :], x[q, :, :])
                quad_scale(y[q, :, :], tile[:, :], True, 2.0)
                quad_scale(dst=y[q, :, 0:4], fragment=tile[0:8, :], factor=0.5, on=1 > 2)


def test_a_program_calls_them() -> None:
    calls = [s for s in statements(scaled.body) if isinstance(s, Call)]
    assert [c.callee.value for c in calls] == [quad_load, quad_scale, quad_scale]
    assert proc_from_text(program_text(scaled), program_references(scaled)) == scaled
    x = np.arange(128, dtype=np.float32).reshape(4, 8, 4)
    y = np.zeros_like(x)
    scaled.run(x=x, y=y)
    assert np.array_equal(y, 3 * x)


@pytest.mark.parametrize(
    ("call", "given"),
    [
        ("quad_load(x[:, :])", "nothing for src"),
        ("quad_load(x[:, :], x[:, :], x[:, :])", "3 arguments for 2"),
        ("quad_load(x[0, :], x[:, :])", "f32 of rank 1"),
        ("quad_load(n[:, :], x[:, :])", "i32 of rank 2"),
        ("quad_load(1.0, x[:, :])", "a literal of rank 0"),
        ("quad_scale(x, x, 1, 2.0)", "no bool for on"),
        ("quad_scale(x, x, True, n[0, 0])", "i32 of rank 0"),
        ("cuda_atomic_add_f32(1.0, 2.0)", "a value for dst, which cuda_atomic_add_f32 writes"),
    ],
)
def test_what_a_call_does_not_give(call: str, given: str) -> None:
    names = {i.name: i for i in MINE}
    head = "def f(x: f32[8, 4] @ CudaGmemLinear, n: i32[8, 4] @ CudaGmemLinear):\n    "
    with pytest.raises(ProgramError) as caught:
        proc_from_text(head + call, names)
    assert caught.value.rule == "prog-call"
    assert given in str(caught.value)


# Errors -----------------------------------------------------------------------------------------------------------

HEAD = "@instr(unit=cuda_thread, instr_tl=cuda_in_order)\n"
COPY = "def f(a: [f32][4], b: [f32][4]):\n    for i in seq(0, 4):\n        a[i] = b[i]\n"

# rule, a text that is read, one that is refused, and the text that the caret points at
TWINS = [
    ("prog-syntax", HEAD + COPY, COPY, "def f"),
    ("prog-syntax", HEAD + COPY, f"@instr\n{COPY}", "def f"),
    ("prog-syntax", HEAD + COPY, f"@instr(cuda_thread, instr_tl=cuda_in_order)\n{COPY}", "def f"),
    ("prog-syntax", HEAD + COPY, HEAD + HEAD + COPY, "def f"),
    ("prog-syntax", HEAD + COPY, f"@instr(unit=cuda_thread)\n{COPY}", "instr(unit"),
    ("prog-syntax", HEAD + COPY, f"@instr(instr_tl=cuda_in_order)\n{COPY}", "instr(instr_tl"),
    ("prog-syntax", HEAD + COPY, HEAD.replace("unit=", "units=") + COPY, "units="),
    (
        "prog-syntax",
        HEAD.replace(")", ', operands={"a": Operand()})') + COPY,
        HEAD.replace(")", ", operands={a: Operand()})") + COPY,
        "Operand()",
    ),
    (
        "prog-reference",
        HEAD.replace(")", ', operands={"a": Operand(memories=[CudaRmem])})') + COPY,
        HEAD.replace(")", ', operands={"a": Operand(memories=[CudaRam])})') + COPY,
        "CudaRam",
    ),
    (
        "instr-operand",
        HEAD.replace(")", ', operands={"a": Operand()})') + COPY,
        HEAD.replace(")", ', operands={"c": Operand()})') + COPY,
        None,
    ),
    ("instr-body", HEAD + COPY, HEAD + COPY + "    pass\n", "pass"),
    ("instr-body", HEAD + COPY, HEAD + COPY + "    x: f32\n", "x: f32"),
    ("instr-body", HEAD + COPY, HEAD + COPY + "    w = a[0:2]\n", "w = a"),
    ("instr-body", HEAD + COPY, HEAD + COPY.replace("seq", "par"), "for i in par"),
    ("instr-body", HEAD + COPY, HEAD + COPY + "    Fence(empty, empty)\n", "Fence"),
    ("prog-bound", HEAD + COPY, HEAD + COPY.replace("b[i]", "c[i]"), "c[i]"),
]


@pytest.mark.parametrize(
    ("rule", "kept", "broken", "at"), TWINS, ids=[f"{n}-{t[0]}" for n, t in enumerate(TWINS)]
)
def test_twins(rule: str, kept: str, broken: str, at: str | None) -> None:
    assert instr_from_text(kept).name == "f"
    with pytest.raises(ProgramError) as caught:
        instr_from_text(broken, file="mine.py")
    error = caught.value
    assert error.rule == rule
    if at is not None:
        assert error.file == "mine.py"
        assert broken.splitlines()[error.line - 1][error.column - 1 :].startswith(at)


@pytest.mark.parametrize(
    ("said", "rule"),
    [
        ({"instr_tl": "cuda_inorder"}, None),
        ({"instr_tl": SYNC_TLS["wgmma_fence_1"]}, None),
        ({"family": Operand}, None),
        ({"family": "CpAsync"}, None),
        ({"unit": None}, "instr-executor"),
        ({"trailing_required": True}, "instr-completion"),
    ],
)
def test_what_the_decorator_refuses(said: dict, rule: str | None) -> None:
    given = {"unit": cuda_thread, "instr_tl": "cuda_in_order", **said}
    with pytest.raises(SoundlineError) as caught:

        @instr(**given)
        def wrong(a: [f32][4], b: [f32][4]):
            a[0] = b[0]

    assert caught.value.rule == rule
    assert (type(caught.value) is UsageError) is (rule is None)


def test_a_family_and_a_class_of_the_library() -> None:
    @instr(unit=cuda_thread, instr_tl="Sm80_cp_async", family=CpAsync)
    def mine(a: [f32][4] @ CudaSmemLinear, b: [f32][4] @ CudaGmemLinear):
        a[0] = b[0]

    assert type(mine) is CpAsync
    again = instr_from_text(text(mine), references(mine))
    assert again == mine


def test_names_are_those_around_the_function() -> None:
    width = 2

    @instr(unit=None, instr_tl="cpu_in_order")
    def mine(a: [f32][width]):
        a[width - 1] = 0.0

    assert "a: [f32][2]" in text(mine)
    assert "unit=None" in text(mine)
    with pytest.raises(ProgramError) as caught:

        @instr(unit=None, instr_tl="cpu_in_order")
        def wrong(a: [f32][width]):
            a[heights] = 0.0

    assert caught.value.rule == "prog-bound"
    assert Path(caught.value.file) == Path(__file__)


def test_what_has_no_source() -> None:
    with pytest.raises(UsageError):
        instr(unit=None, instr_tl="cpu_in_order")(len)


def test_a_register_of_a_thread_is_no_fragment() -> None:
    assert not quad_load.operand("fragment").takes(CudaRmem)
