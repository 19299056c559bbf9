"""What the example of each construct becomes in CUDA."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

import generated_cuda
import spork_runs
from generated_cuda import Beside
from rst import code

from soundline.impl.spork.program import SporkProc
from soundline.spec.spork.constructs.schema import Construct
from soundline.spec.spork.constructs.table import CONSTRUCTS
from soundline.spec.spork.language.nodes import Node
from soundline.spec.spork.language.statements import (
    CUDA_TASKS,
    Alloc,
    AllocBarrier,
    Arrive,
    Assign,
    Await,
    Call,
    CudaAsync,
    CudaWarps,
    Fence,
    For,
    If,
    Pass,
    Reduce,
    WindowOf,
)

_STATEMENTS: Final[Mapping[str, Callable[[Node], bool]]] = {
    "expression": lambda n: isinstance(n, Assign),
    "window": lambda n: isinstance(n, WindowOf),
    "assign": lambda n: isinstance(n, Assign),
    "reduce": lambda n: isinstance(n, Reduce),
    "pass": lambda n: isinstance(n, Pass),
    "if": lambda n: isinstance(n, If),
    "seq": lambda n: isinstance(n, For),
    "par": lambda n: isinstance(n, For),
    "proc-call": lambda n: isinstance(n, Call),
    "cuda-threads": lambda n: isinstance(n, For) and n.mode is not CUDA_TASKS,
    "cuda-warps": lambda n: isinstance(n, CudaWarps),
    "cuda-async": lambda n: isinstance(n, CudaAsync),
    "alloc": lambda n: isinstance(n, Alloc),
    "instruction-call": lambda n: isinstance(n, Call),
    "fence": lambda n: isinstance(n, Fence),
    "barrier": lambda n: isinstance(n, AllocBarrier),
    "arrive": lambda n: isinstance(n, Arrive),
    "await": lambda n: isinstance(n, Await),
}
"""The statements that a construct is, by its slug."""

_FUNCTIONS: Final = {
    "proc": (("int {name}(", ".c"),),
    "cuda-device-function": (
        ("struct {name}_device0_Args {{", ".cuh"),
        ("__global__", ".cu"),
        ("_launch(", ".cu"),
    ),
    "cuda-tasks": ((" tasks(", ".cuh"), ("main_loop(", ".cuh")),
}
"""Where a construct becomes functions: what is in the head of each, and the file that has it."""

_MORE: Final = {"barrier": ("arrive",), "arrive": ("await",), "await": ("arrive",)}
"""Constructs whose examples have one of another kind."""

_SAID: Final = {
    "cuda-device-function": "A kernel takes one struct: what the code of the device names of the sizes and "
    "arguments. It calls the loop over tasks. The function that launches it may be called from handwritten CUDA.",
    "barrier": "A commit group becomes nothing by itself. Of mbarriers the threads count the slot and the parity "
    "of the next arrive and await. One thread initializes them before the first task, and invalidates them "
    "after the last one.",
    "cuda-warps": "There is one function for each name, in which the warps of other names are left out.",
}


class Shown(NamedTuple):
    """A construct, and what the statements of its examples become."""

    program: SporkProc
    pair: Beside


def shown(construct: Construct) -> Shown:
    """The statements of a construct in its example beside what they become."""
    program = _program(construct)
    if construct.slug in _FUNCTIONS:
        parts = (
            generated_cuda.function(program, head.format(name=program.name), ending)
            for head, ending in _FUNCTIONS[construct.slug]
        )
        pair = generated_cuda.joined(map(generated_cuda.beside, parts))
        return Shown(program, _headed(program, pair))
    wanted = _STATEMENTS[construct.slug]
    examples = [program, *(_program(CONSTRUCTS[slug]) for slug in _MORE.get(construct.slug, ()))]
    return Shown(program, generated_cuda.joined(generated_cuda.of(p, wanted) for p in examples))


def _headed(program: SporkProc, pair: Beside) -> Beside:
    """The head of a program beside that of its function, which comes from no statement."""
    first, separator, rest = pair.spork.partition("\n")
    head = next(line for line in program.text.splitlines() if line.startswith("def "))
    return pair._replace(spork=f"{first or head}{separator}{rest}")


def _program(construct: Construct) -> SporkProc:
    found = spork_runs.example(construct, construct.example).program
    assert found is not None
    return found


def section(construct: Construct) -> str:
    """What stands under the example."""
    program, pair = shown(construct)
    source = generated_cuda.source(program)
    said = _SAID.get(construct.slug, "")
    parts = [f"{said}\n"] if said else []
    parts.append(generated_cuda.shown(pair))
    for ending in (".c", ".cuh"):
        if f"{program.name}{ending}" in source.files:
            summary = f"The whole file {program.name}{ending} of the example"
            parts.append(generated_cuda.whole(program, ending, summary))
    arch = code(source.arch)
    parts.append(f"Generated for {arch} when this page was built.\n" if source.kernels else "")
    return "\n".join(parts)


assert {*_STATEMENTS, *_FUNCTIONS} == set(CONSTRUCTS), "every construct is shown in CUDA"
