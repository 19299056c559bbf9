"""Small programs for the tests of the parallel reading: one task, written as text."""

from __future__ import annotations

from functools import cache
from textwrap import indent

from soundline.impl.spork import proc_from_text
from soundline.spec.collective_units import cuda_warp
from soundline.spec.events import Event
from soundline.spec.instruction_schema import Instruction, Operand
from soundline.spec.memories import CudaGmemLinear, CudaSmemLinear
from soundline.spec.timelines import InstrTl
from soundline.verify import machine_instructions


def _put(name: str, *, convergent: bool) -> Instruction:
    """A warp puts one element into shared memory."""
    meaning = proc_from_text(f"def {name}(dst: [i32][1], src: [i32][1]):\n    dst[0] = src[0]\n")
    return Instruction(
        name=name,
        arguments=meaning.arguments,
        body=meaning.body,
        unit=cuda_warp,
        instr_tl=InstrTl.cuda_in_order,
        operands={
            "dst": Operand(memories=(CudaSmemLinear,), convergent=convergent),
            "src": Operand(memories=(CudaGmemLinear,), convergent=convergent),
        },
    )


NAMES = {
    **machine_instructions.NAMES,
    "warp_put": _put("warp_put", convergent=False),
    "warp_put_together": _put("warp_put_together", convergent=True),
}

TINY = "x: i32[8] @ CudaGmemLinear, y: i32[8] @ CudaGmemLinear, z: i32[8] @ CudaGmemLinear"
"""Arguments for the instructions of one or two elements."""

ARGUMENTS = "x: f32[64] @ CudaGmemLinear, y: f32[64] @ CudaGmemLinear"


@cache
def program(
    body: str, *, arguments: str = ARGUMENTS, shape: str = "blockDim=32", tasks: int = 1
) -> tuple[Event, ...]:
    """The events of a device function whose tasks do this."""
    inside = indent(body.strip("\n"), " " * 12)
    text = (
        f"def p({arguments}):\n"
        f"    with CudaDeviceFunction({shape}):\n"
        f"        for task in cuda_tasks(0, {tasks}):\n"
        f"{inside}\n"
    )
    return tuple(proc_from_text(text, NAMES).events())


@cache
def host(body: str, *, arguments: str = "x: f32[8], y: f32[8]") -> tuple[Event, ...]:
    """The events of a program of the CPU."""
    text = f"def p({arguments}):\n{indent(body.strip(chr(10)), ' ' * 4)}\n"
    return tuple(proc_from_text(text, NAMES).events())
