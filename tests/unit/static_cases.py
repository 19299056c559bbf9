"""Programs for the tests of the static law: parts of programs by text, and what refuses them where."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from soundline.impl.spork import instr_from_text, proc_from_text
from soundline.spec.errors import ProgramError, StaticError
from soundline.spec.spork.language.nodes import named
from soundline.spec.spork.library.memories import (
    DRAM,
    CudaGmemLinear,
    CudaRmem,
    CudaSmemLinear,
    Sm80_RmemMatrixD,
    Sm90_RmemMatrixD,
    Sm90_tensorMap,
)
from soundline.spec.spork.library.schema import Instruction, Operand
from soundline.spec.spork.static.law import Facts, static_law
from soundline.spec.spork.synchronization.barriers import BarrierType
from soundline.spec.spork.synchronization.timelines import UsageTl
from soundline.spec.spork.threads.units import (
    cuda_cluster,
    cuda_thread,
    cuda_warp,
    cuda_warpgroup,
)

COPY = "for i in seq(0, {n}):\n        dst[i] = src[i]"


def _instruction(head: str, body: str, **said: Any) -> Instruction:
    """An instruction by its text, and what is said of it."""
    lines = ", ".join(f"{name}={name}_" for name in said)
    text = f"@instr({lines})\ndef {head}:\n    {body}\n"
    return instr_from_text(text, {f"{name}_": value for name, value in said.items()})


_SMEM, _GMEM, _RMEM = Operand(memories=(CudaSmemLinear,)), Operand(memories=(CudaGmemLinear,)), Operand()
_TO_ALL = Operand(memories=(CudaSmemLinear,), unit=cuda_cluster, out_of_order=True)
_LANES = Operand(memories=(CudaRmem,), unit=cuda_warp)

INSTRUCTIONS: dict[str, Instruction] = {
    "copy": _instruction(
        "copy(dst: [f32][n], src: [f32][n], n: size)",
        "assert n == 1 or n == 2 or n == 4\n    " + COPY.format(n="n"),
        unit=cuda_thread,
        instr_tl="cuda_in_order",
    ),
    "cp": _instruction(
        "cp(dst: [f32][4], src: [f32][4])",
        COPY.format(n=4),
        unit=cuda_thread,
        instr_tl="Sm80_cp_async",
        operands={"dst": _SMEM, "src": _GMEM},
    ),
    "load": _instruction(
        "load(dst: [f32][4], src: [f32][4])",
        COPY.format(n=4),
        unit=cuda_warp,
        instr_tl="tma_to_smem_async",
        operands={"dst": _SMEM, "src": _GMEM},
        trailing=BarrierType.CudaMbarrier,
        trailing_required=True,
    ),
    "load_all": _instruction(
        "load_all(dst: [f32][n, 4], src: [f32][4], n: size)",
        "for i in seq(0, n):\n        for j in seq(0, 4):\n            dst[i, j] = src[j]",
        unit=cuda_warp,
        instr_tl="tma_to_smem_async",
        operands={"dst": _TO_ALL, "src": _GMEM},
        trailing=BarrierType.CudaMbarrier,
    ),
    "store": _instruction(
        "store(dst: [f32][4], src: [f32][4])",
        COPY.format(n=4),
        unit=cuda_thread,
        instr_tl="tma_to_gmem_async",
        operands={"dst": _GMEM, "src": _SMEM},
    ),
    "send": _instruction(
        "send(dst: [f32][8, 4], src: [f32][8, 4])",
        "for i in seq(0, 8):\n        for j in seq(0, 4):\n            dst[i, j] = src[i, j]",
        unit=cuda_thread,
        instr_tl="tma_to_gmem_async",
        operands={"dst": Operand(memories=(Sm90_tensorMap,)), "src": _SMEM},
    ),
    "turn": _instruction(
        "turn(dst: [f32][32], src: [f32][32])",
        "for i in seq(0, 32):\n        dst[i] = src[31 - i]",
        unit=cuda_warp,
        instr_tl="cuda_in_order",
        operands={"dst": _LANES, "src": _LANES},
    ),
    "zero": _instruction(
        "zero(d: [f32][16, 8])",
        "for i in seq(0, 16):\n        for j in seq(0, 8):\n            d[i, j] = 0.0",
        unit=cuda_warp,
        instr_tl="cuda_in_order",
        operands={"d": Operand(memories=(Sm80_RmemMatrixD,))},
    ),
    "zero_async": _instruction(
        "zero_async(d: [f32][64, n], n: size)",
        "for i in seq(0, 64):\n        for j in seq(0, n):\n            d[i, j] = 0.0",
        unit=cuda_warpgroup,
        instr_tl="wgmma_async",
        operands={"d": Operand(memories=(Sm90_RmemMatrixD,), usage=UsageTl.cuda_async_d_rmem)},
    ),
    "put": _instruction("put(dst: f32, v: f32)", "dst = v", unit=cuda_thread, instr_tl="cuda_in_order"),
    "put_async": _instruction(
        "put_async(dst: f32, v: f32)", "dst = v", unit=cuda_thread, instr_tl="Sm80_cp_async"
    ),
    "host_copy": _instruction(
        "host_copy(dst: [f32][4], src: [f32][4])",
        COPY.format(n=4),
        unit=None,
        instr_tl="cpu_in_order",
        operands={"dst": _GMEM, "src": Operand(memories=(DRAM,))},
    ),
}
"""One instruction of each sort."""

NAMES: dict[str, Any] = {
    **INSTRUCTIONS,
    "callee": proc_from_text("def callee(a: f32[4] @ CudaGmemLinear, b: f32[4]):\n    b[0] = b[1]"),
    "OfWarps": replace(CudaRmem, name="OfWarps", native=cuda_warp),
    "AnySize": replace(CudaRmem, name="AnySize", constant=False),
    "Arrays": replace(CudaRmem, name="Arrays", scalars=False),
    **named("memory", "MereMemory"),
    **named("barrier", "MereBarrier"),
    **named("timeline", "mere_timeline"),
    **named("unit", "mere_unit"),
    **named("instruction", "mere_instruction"),
}
"""What programs name beside the standard names."""

HEAD = (
    "def f(n: size, b: bool, x: f32[n] @ CudaGmemLinear, y: f32[n] @ CudaGmemLinear, h: f32[n], "
    "c: f32 @ CudaGridConstant):\n"
)


def indented(text: str, by: int) -> str:
    """Lines of a program, further to the right."""
    return "".join(f"{' ' * by}{line}\n" for line in text.split("\n"))


def cpu(text: str) -> str:
    """A program of these statements on the CPU."""
    return HEAD + indented(text, 4)


def device(text: str, how: str = "blockDim=128") -> str:
    """A program of these statements in a task."""
    head = f"with CudaDeviceFunction({how}):\n    for task in cuda_tasks(0, n):"
    return cpu(f"{head}\n{indented(text, 8).rstrip()}")


def cluster(text: str, how: str = "blockDim=64, clusterDim=2") -> str:
    """A program of these statements in a task of a cluster."""
    return device(text, how)


def threads(text: str, loops: str = "t:128:cuda_thread") -> str:
    """Statements in loops over threads, each given as name, count and unit."""
    for loop in reversed(loops.split()):
        name, count, unit = loop.split(":")
        text = f"for {name} in cuda_threads(0, {count}, unit={unit.replace('*', ' * ')}):\n{indented(text, 4).rstrip()}"
    return text


def law(text: str, names: Mapping[str, Any] | None = None) -> Facts:
    """The facts of a program."""
    return static_law(proc_from_text(text, {**NAMES, **(names or {})}))


def refused(rule: str, text: str, at: str, names: Mapping[str, Any] | None = None) -> StaticError:
    """The error of a program that is refused at the first line that has a text, or after ``…`` at the last one.

    The caret points at the text, or at what follows a ``|`` in it.
    """
    proc = proc_from_text(text, {**NAMES, **(names or {})})
    with pytest.raises(ProgramError) as caught:
        static_law(proc)
    error = caught.value
    assert error.rule == rule, error
    assert isinstance(error, StaticError), error
    before, bar, after = at.removeprefix("…").partition("|")
    places = [(k, line) for k, line in enumerate(text.split("\n"), 1) if before + after in line]
    line, found = places[-1 if at.startswith("…") else 0]
    column = found.index(before + after) + (len(before) if bar else 0)
    assert (error.line, error.column) == (line, column + 1), error
    assert f"{found}\n  {' ' * column}^" in str(error)
    assert error.given in str(error)
    assert error.wants in str(error)
    return error


def check_twins(rule: str, good: str, bad: str, at: str) -> StaticError:
    """One program is accepted, and another that differs in one thing is refused."""
    law(good)
    return refused(rule, bad, at)
