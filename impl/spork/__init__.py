"""
Spork programs
==============

Spork programs: reading them from Python and from text, building them, and writing them.

In order: `namespace`, `reading`, `read_expressions`, `read_statements`, `names`, `devices`, `on_devices`,
`program`, `builder`, `front_end`, `read_instructions`.
Doors: `builder`, `devices`, `front_end`, `names`, `program`, `read_instructions`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from soundline.impl.spork.builder import Builder
from soundline.impl.spork.front_end import proc, proc_from_text
from soundline.impl.spork.names import NAMES
from soundline.impl.spork.program import SporkProc
from soundline.impl.spork.read_instructions import instr, instr_from_text
from soundline.spec.spork.language.nodes import Named, named
from soundline.spec.spork.language.programs import Proc, references, text
from soundline.spec.spork.language.types import CudaWarpConfig
from soundline.spec.spork.language.well_formedness import check
from soundline.spec.spork.library.memories import Memory
from soundline.spec.spork.library.schema import Instruction, Operand
from soundline.spec.spork.synchronization.barriers import BarrierType

if TYPE_CHECKING:
    from soundline.impl.codegen.cuda.source import CudaSource as CudaSource

__all__ = [
    "NAMES",
    "BarrierType",
    "Builder",
    "CudaSource",
    "CudaWarpConfig",
    "Instruction",
    "Memory",
    "Named",
    "Operand",
    "Proc",
    "SporkProc",
    "check",
    "instr",
    "instr_from_text",
    "named",
    "proc",
    "proc_from_text",
    "references",
    "text",
]


def __getattr__(name: str) -> Any:
    """Import what generates code when it is first used."""
    if name != "CudaSource":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from soundline.impl.codegen.cuda.source import CudaSource

    return CudaSource
