"""The tables of ids of Spork: each with the page that states its ids. A new table of the law is one line here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple

from rst import prose, table, title

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

Page = Literal["collective_units", "synchronization", "spork_conditions"]


class Table(NamedTuple):
    """A table of ids."""

    page: Page
    """The page that states them."""
    name: str
    ids: Mapping[str, str]


TABLES: tuple[Table, ...] = (
    Table("collective_units", "Collective units", units.CONSTRAINTS),
    Table("collective_units", "Domains", domains.CONSTRAINTS),
    Table("collective_units", "Loops, warps and matching", tilings.CONSTRAINTS),
    Table("collective_units", "Device functions and named warps", warps.CONSTRAINTS),
    Table("collective_units", "Distributed memory", distributed_memory.CONSTRAINTS),
    Table("synchronization", "Timelines", TIMELINE_CONSTRAINTS),
    Table("synchronization", "Fences", FENCE_CONSTRAINTS),
    Table("synchronization", "Split barriers", BARRIER_CONSTRAINTS),
    Table("synchronization", "Counters", COUNTER_CONSTRAINTS),
    Table("synchronization", "Hazards", HAZARDS),
    Table("spork_conditions", "Programs", CONDITIONS),
    Table("spork_conditions", "Memories", MEMORY_CONSTRAINTS),
    Table("spork_conditions", "Instructions and direct accesses", INSTRUCTION_CONSTRAINTS),
    Table("spork_conditions", "Definitions of instructions", DEFINITION_CONSTRAINTS),
    Table("spork_conditions", "Places and calls", STATIC_CONSTRAINTS),
    Table("spork_conditions", "Runs", RUN_CONSTRAINTS),
)
"""Every table, in the order of the pages."""


def constraints(page: Page | None = None) -> dict[str, tuple[str, str]]:
    """Every id, or those that one page states: with what it belongs to and its text."""
    return {i: (t.name.lower(), text) for t in TABLES if page in (None, t.page) for i, text in t.ids.items()}


def conditions(page: Page) -> str:
    """What is refused, table by table; here the ids are stated."""
    parts = []
    for found in TABLES:
        if found.page == page:
            rows = [(f":anchor:`{i}`", prose(text)) for i, text in found.ids.items()]
            parts += [title(found.name, "-"), table(("id", "what must hold"), rows, widths=(26, 74))]
    return "\n".join(parts)
