"""The page from Spork to CUDA: programs and what they become, function by function."""

from __future__ import annotations

from functools import partial

import generated_cuda
import shown_programs
from generated_cuda import Beside
from rst import block, code, table

from soundline.impl.codegen.cuda.programs.files import ARCHS
from soundline.impl.codegen.cuda.refusals import SECTIONS
from soundline.impl.codegen.cuda.storage import KIB, MOST_SHARED, OF_MULTIPROCESSOR

VECTOR_ADD = ("vector_add.py", "vector_add")
DOUBLE_BUFFER = ("gemm_sm80_fence.py", "gemm")
RING = ("gemm_sm90_ring.py", "gemm")
"""The programs that the page shows: the file in the folder of examples, and the name there."""


def shown(file: str, name: str, head: str) -> Beside:
    """A function of what a program becomes, statement by statement."""
    program = shown_programs.program_of(file, name)
    return generated_cuda.beside(generated_cuda.function(program, head))


def function(program: tuple[str, str], head: str) -> str:
    """The same as a part of the page."""
    return generated_cuda.shown(shown(*program, head))


def cuda(program: tuple[str, str], head: str, ending: str = ".cuh") -> str:
    """A function that comes from no statement: its CUDA alone."""
    found = generated_cuda.function(shown_programs.program_of(*program), head, ending)
    return block("cpp", generated_cuda.code_of(found))


PARTS = {
    "from-spork-vector-add": partial(function, VECTOR_ADD, " task("),
    "from-spork-vector-add-args": partial(cuda, VECTOR_ADD, "struct vector_add_device0_Args"),
    "from-spork-vector-add-loop": partial(function, VECTOR_ADD, "main_loop("),
    "from-spork-vector-add-cpu": partial(cuda, VECTOR_ADD, "int vector_add(", ".c"),
    "from-spork-double-buffer": partial(function, DOUBLE_BUFFER, " task("),
    "from-spork-ring-args": partial(cuda, RING, "struct gemm_device0_Args"),
    "from-spork-ring-counters": partial(cuda, RING, "struct SyncState"),
    "from-spork-ring-producer": partial(function, RING, "task_producer("),
    "from-spork-ring-consumer": partial(function, RING, "task_consumer("),
    "from-spork-ring-loop": partial(function, RING, "main_loop("),
}
"""The computed parts of the page by name."""


def interoperation() -> str:
    """The files by which Spork and handwritten CUDA call each other."""
    folder = shown_programs.EXAMPLES / "interoperation"
    parts = []
    for path in sorted(folder.iterdir()):
        if path.suffix in (".cu", ".cuh"):
            parts += [f"{code(path.name)}:\n", block("cpp", path.read_text())]
    return "\n".join(parts)


def limits() -> str:
    """The shared memory that there is, by architecture."""
    rows = [
        (code(name), f"{MOST_SHARED[number] // KIB} KiB", f"{OF_MULTIPROCESSOR[number] // KIB} KiB")
        for name, number in ARCHS.items()
    ]
    return table(("arch", "of a CTA", "of a multiprocessor"), rows, widths=(30, 35, 35))


def named_sections() -> list[str]:
    """The titles of sections of this page that errors name."""
    return [where.partition(", ")[2].capitalize() for where in SECTIONS.values()]
