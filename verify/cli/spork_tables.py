"""
The tables of ids of Spork
==========================

Every table of the law that states, by id, the conditions on a Spork program. An error names the id in ``.rule``, a
hazard in ``.id``, and ``soundline explain`` says what it means.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from soundline.spec.spork.language.conditions import CONDITIONS
from soundline.spec.spork.library.memories import MEMORY_CONSTRAINTS
from soundline.spec.spork.library.schema import DEFINITION_CONSTRAINTS, INSTRUCTION_CONSTRAINTS
from soundline.spec.spork.machine.conditions import RUN_CONSTRAINTS
from soundline.spec.spork.static.conditions import STATIC_CONSTRAINTS
from soundline.spec.spork.synchronization.barriers import BARRIER_CONSTRAINTS, COUNTER_CONSTRAINTS
from soundline.spec.spork.synchronization.fences import FENCE_CONSTRAINTS
from soundline.spec.spork.synchronization.timelines import TIMELINE_CONSTRAINTS
from soundline.spec.spork.synchronization.visibility import HAZARDS
from soundline.spec.spork.threads import distributed_memory, domains, tilings, units, warps


class IdTable(NamedTuple):
    """A table of ids: what it is about, and what each id asks."""

    name: str
    ids: Mapping[str, str]


SPORK_TABLES: Final = (
    IdTable("programs", CONDITIONS),
    IdTable("places and calls", STATIC_CONSTRAINTS),
    IdTable("runs at given sizes", RUN_CONSTRAINTS),
    IdTable("memories", MEMORY_CONSTRAINTS),
    IdTable("instructions and direct accesses", INSTRUCTION_CONSTRAINTS),
    IdTable("definitions of instructions", DEFINITION_CONSTRAINTS),
    IdTable("collective units", units.CONSTRAINTS),
    IdTable("domains of threads", domains.CONSTRAINTS),
    IdTable("loops over threads, and warps", tilings.CONSTRAINTS),
    IdTable("device functions and named warps", warps.CONSTRAINTS),
    IdTable("distributed memory", distributed_memory.CONSTRAINTS),
    IdTable("timelines", TIMELINE_CONSTRAINTS),
    IdTable("fences", FENCE_CONSTRAINTS),
    IdTable("split barriers", BARRIER_CONSTRAINTS),
    IdTable("counters of barriers", COUNTER_CONSTRAINTS),
    IdTable("hazards", HAZARDS),
)
"""Every table."""
