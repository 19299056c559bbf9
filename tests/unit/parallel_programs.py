"""Small programs for the tests of the parallel reading: one task, written as text."""

from __future__ import annotations

from functools import cache
from random import Random
from textwrap import indent

from soundline.impl.spork import proc_from_text
from soundline.spec.spork.library.memories import CudaGmemLinear, CudaSmemLinear
from soundline.spec.spork.library.schema import Instruction, Operand
from soundline.spec.spork.machine.events import Event
from soundline.spec.spork.synchronization.timelines import InstrTl
from soundline.spec.spork.threads.units import cuda_warp
from soundline.verify.findings import instructions


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
    **instructions.NAMES,
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


RACING = (
    "{a}[{i}] += x[{j}]",
    "{a}[{i}] += {b}[{j}]",
    "{a}[{i}] = {b}[{j}]",
    "{a}[{i}] = {b}[{j}] + {a}[{i}]",
    "{a}[{i}] = x[{j}]",
    "atomic_add({a}[{i} : {i} + 1], x[{j} : {j} + 1])",
    "atomic_add({a}[{i} : {i} + 1], {b}[{j} : {j} + 1])",
    "s[{i}] = {b}[{j}]\n{a}[{i}] = s[{j}]",
    "s[{i}] += {b}[{j}]",
    "with CudaAsync(Sm80_cp_async):\n    cp_async_1(s[{i} : {i} + 1], {b}[{j} : {j} + 1])",
    "{a}[{i}] += s[{j}]",
    "Fence(Sm80_cp_async, cuda_in_order)",
)
"""What threads do to the same elements at the same time."""

TOGETHER = (
    "Fence(cuda_in_order, cuda_in_order)",
    "for t in cuda_threads(0, 2, unit=cuda_thread):\n    {a}[{i}] += {b}[t]",
    "for t in cuda_threads(0, 2, unit=cuda_thread):\n    {a}[t] = {b}[1 - t]",
    "with CudaWarps(0, 1):\n    warp_put(s[{i} : {i} + 1], {b}[{j} : {j} + 1])",
)
"""What comes before or after that."""


def racing(seed: int) -> str:
    """A random body of a task of two warps that reduce into, swap and copy the same few elements."""
    random = Random(f"racing {seed}")

    def one(of: tuple[str, ...]) -> str:
        a, b = random.choice(("yy", "yz", "zy"))
        return random.choice(of).format(a=a, b=b, i=random.randrange(2), j=random.randrange(2))

    lines = ["s: i32[2] @ CudaSmemLinear"]
    lines += [one(TOGETHER)] * random.randrange(2)
    for warp in range(2):
        lines += [
            f"with CudaWarps({warp}, {warp + 1}):",
            "    for e in cuda_threads(0, 1, unit=cuda_thread):",
        ]
        for _ in range(random.choice((1, 1, 2, 2, 3))):
            lines.append(indent(one(RACING), " " * 8))
    lines += [one(TOGETHER)] * random.randrange(2)
    return "\n".join([*lines, "Fence(Sm80_cp_async, cuda_in_order)"])
