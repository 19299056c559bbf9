"""Hazard reports on pages: programs with a mistake, what the abstract machine says of them, and the pictures of it."""

from __future__ import annotations

import functools
import json
import textwrap
from typing import Any

from rst import block

from soundline.impl.spork import proc_from_text
from soundline.spec.abstract_machine import Verdict, check
from soundline.spec.spork.diagnosis.reports import Finding
from soundline.verify.reports.hazards.checked import Checked
from soundline.verify.reports.hazards.timeline import timeline

WARPS = """\
def reverse(y: f32[64] @ CudaGmemLinear):
    with CudaDeviceFunction(blockDim=64):
        for task in cuda_tasks(0, 1):
            s: f32[64] @ CudaSmemLinear
            for t in cuda_threads(0, 64, unit=cuda_thread):
                s[t] = 1.0
            for w in cuda_threads(0, 2, unit=cuda_warp):
                Fence(cuda_in_order, cuda_in_order)
            for t in cuda_threads(0, 64, unit=cuda_thread):
                y[t] = s[63 - t]
            Fence(cuda_in_order, cuda_in_order)
"""
COPY = """\
def copy(x: f32[64] @ CudaGmemLinear, y: f32[64] @ CudaGmemLinear):
    with CudaDeviceFunction(blockDim=64):
        for task in cuda_tasks(0, 1):
            s: f32[64] @ CudaSmemLinear
            for t in cuda_threads(0, 64, unit=cuda_thread):
                with CudaAsync(Sm80_cp_async):
                    Sm80_cp_async_f32(s[t : t + 1], x[t : t + 1], size=1)
            Fence(cuda_in_order, cuda_in_order)
            for t in cuda_threads(0, 64, unit=cuda_thread):
                y[t] = s[t]
            Fence(Sm80_cp_async, cuda_in_order)
"""
RING = """\
def ring(x: f32[64] @ CudaGmemLinear, y: f32[64] @ CudaGmemLinear):
    with CudaDeviceFunction(blockDim=64):
        for task in cuda_tasks(0, 1):
            s: f32[2, 32] @ CudaSmemLinear
            full: barrier @ CudaMbarrier
            for k in seq(0, 4):
                with CudaWarps(0, 1):
                    for t in cuda_threads(0, 32, unit=cuda_thread):
                        s[k % 2, t] = x[t]
                    Arrive(cuda_in_order, 1) >> full
                with CudaWarps(1, 2):
                    Await(full, cuda_in_order, ~0)
                    for t in cuda_threads(0, 32, unit=cuda_thread):
                        y[t + 32] = s[k % 2, 31 - t]
            Fence(cuda_in_order, cuda_in_order)
"""
SHOWN = {
    "warps": (WARPS, "mach-read-raw"),
    "copy": (COPY, "mach-read-raw"),
    "ring": (RING, "mach-write-war"),
}
"""Programs, each with the id of the hazard that is shown."""


@functools.cache
def _checked(name: str) -> Checked:
    proc = proc_from_text(SHOWN[name][0], file=f"{name}.py")
    return Checked(proc.name, {}, check(proc, {}))


def found(name: str) -> Finding:
    """The hazard that is shown of a program."""
    verdict = _checked(name).result
    assert isinstance(verdict, Verdict)
    return next(f for f in verdict.findings if f.id == SHOWN[name][1])


def program(name: str) -> str:
    """The program."""
    return block("python", SHOWN[name][0])


def text(name: str) -> str:
    """The report as text."""
    lines = textwrap.indent(found(name).text(), "      ")
    return f".. container:: example\n\n   .. code-block:: text\n      :class: printed\n\n{lines}\n"


def picture(name: str) -> str:
    """The picture, which the site has on a light or dark page."""
    return (
        ".. raw:: html\n\n"
        + textwrap.indent(f'<div class="graph">\n{timeline(found(name))}\n</div>', "   ")
        + "\n"
    )


def as_json() -> str:
    """The report on a program as JSON, its longest parts cut."""
    told: dict[str, Any] = _checked("warps").to_json() | {"machine": "fast"}
    (hazard,) = told["hazards"]
    hazard["nearest"] = dict.fromkeys(hazard["nearest"], "…")
    hazard["around"] = [{"…": "…"}]
    hazard["second"] = {"…": "…"}
    return block("text", json.dumps(told, indent=2, ensure_ascii=False))


PARTS = {
    **{f"hazard-program-{name}": functools.partial(program, name) for name in SHOWN},
    **{f"hazard-text-{name}": functools.partial(text, name) for name in ("warps", "copy")},
    **{f"hazard-picture-{name}": functools.partial(picture, name) for name in SHOWN},
    "hazard-json": as_json,
}
