"""
Each hazard, shown
==================

For each hazard a smallest program that has it first, and that some interleaving gets wrong; and what mends it.
Lines between the marks ``-`` and ``+`` are those of the wrong program and of the right one.
"""

from __future__ import annotations

from collections.abc import Mapping
from textwrap import dedent, indent
from typing import Final

from soundline.impl.spork import proc_from_text
from soundline.verify.findings.instructions import NAMES
from trials.machine.generator import Drawn

_HEAD = """\
def f(x: i32[8] @ CudaGmemLinear, y: i32[8] @ CudaGmemLinear):
    with CudaDeviceFunction(blockDim=64):
        for task in cuda_tasks(0, 1):
"""

_FENCE = "Fence(cuda_in_order, cuda_in_order)"
_FIRST = "for e in cuda_threads(0, 1, unit=cuda_thread):"

WITNESSES: Final[Mapping[str, str]] = {
    "mach-read-raw": f"""
        s: i32[2] @ CudaSmemLinear
        for t in cuda_threads(0, 2, unit=cuda_thread):
            s[t] = x[t]
        + {_FENCE}
        for t in cuda_threads(0, 2, unit=cuda_thread):
            y[t] = s[1 - t]
        {_FENCE}
        """,
    "mach-write-waw": """
        for t in cuda_threads(0, 2, unit=cuda_thread):
        -     y[0] = x[t]
        +     y[t] = x[t]
        """,
    "mach-write-war": f"""
        for t in cuda_threads(0, 2, unit=cuda_thread):
            y[t] = x[1 - t]
        + {_FENCE}
        for t in cuda_threads(0, 2, unit=cuda_thread):
            x[t] = 7
        """,
    "mach-free-write": f"""
        for k in seq(0, 1):
            s: i32[1] @ CudaSmemLinear
            {_FIRST}
                with CudaAsync(Sm80_cp_async):
                    cp_async_1(s[0:1], x[0:1])
            + Fence(Sm80_cp_async, cuda_in_order)
        for k in seq(0, 1):
            r: i32[1] @ CudaSmemLinear
            {_FIRST}
                r[0] = x[1]
                y[0] = r[0]
            {_FENCE}
        """,
    "mach-free-read": f"""
        for k in seq(0, 1):
            s: i32[1] @ CudaSmemLinear
            {_FIRST}
                s[0] = x[0]
            {_FENCE}
            with CudaWarps(1, 2):
                {_FIRST}
                    y[0] = s[0]
            + {_FENCE}
        for k in seq(0, 1):
            r: i32[1] @ CudaSmemLinear
            {_FIRST}
                r[0] = x[1]
                y[1] = r[0]
            {_FENCE}
        """,
    "mach-await-progress": f"""
        bar: barrier @ CudaMbarrier
        with CudaWarps(0, 1):
            {_FIRST}
                - Await(bar, cuda_in_order, ~0)
                Arrive(cuda_in_order, 1) >> bar
                + Await(bar, cuda_in_order, ~0)
        """,
    "mach-arrive-overrun": f"""
        bar: barrier @ CudaMbarrier
        for k in seq(0, 2):
            with CudaWarps(0, 1):
                {_FIRST}
                    Arrive(cuda_in_order, 1) >> bar
            with CudaWarps(1, 2):
                {_FIRST}
                    Await(bar, cuda_in_order, ~0)
            + {_FENCE}
        """,
    "mach-barrier-unequal": f"""
        s: i32[1] @ CudaSmemLinear
        for k in seq(0, 2):
            bar: barrier @ CudaMbarrier
            with CudaWarps(0, 1):
                {_FIRST}
                    s[0] = x[k]
                    Arrive(cuda_in_order, 1) >> bar
            with CudaWarps(1, 2):
                {_FIRST}
                    - if k > 0:
                    -     Await(bar, cuda_in_order, ~0)
                    -     y[0] = s[0]
                    + Await(bar, cuda_in_order, ~0)
                    + y[0] = s[0]
            {_FENCE}
        """,
}
"""By hazard, the statements of a task."""


def witness(hazard: str, *, mended: bool = False) -> Drawn:
    """The program with a hazard, or the one without it."""
    kept, left = ("+", "-") if mended else ("-", "+")
    lines = []
    for line in dedent(WITNESSES[hazard]).strip("\n").splitlines():
        mark = line.lstrip()[:2]
        if mark != f"{left} ":
            lines.append(line.replace(f"{kept} ", "", 1) if mark == f"{kept} " else line)
    text = _HEAD + indent("\n".join(lines), " " * 12) + "\n"
    return Drawn(0, hazard, () if mended else ("witness",), proc_from_text(text, NAMES))
