"""
The rule library
================

Rewrite rules that a tensor compiler uses, by subject. Each is a declaration that the engine matches and rewrites with
and that the court proves: ``soundline verify impl/rules``.

`LIBRARY` holds all of them. `SIMPLIFY` holds, in the order in which they are tried, those that `impl.rewriting.engine`
may be given together: they have a direction, and rewriting with them ends. The commutativity rules are not among them;
the matcher uses them itself. Nor are those of `DECOMPOSE`, which lead from ops that a target lacks to ops that it has,
nor those of `SCANS`, which lowering applies where a reduction runs along a loop, nor those of `PREMISES`, which it
applies where it is worth deciding one.

In order: `premises`, `procedural`.
Doors: `premises`, `procedural`.
"""

from __future__ import annotations

from types import ModuleType

from soundline.impl.rules import premises
from soundline.impl.rules.scalars import (
    absorption,
    booleans,
    casts,
    commutativity,
    comparisons,
    constant_folding,
    decompositions,
    div_mod,
    floats_exact,
    identities,
    intervals,
    selection,
    shifts,
)
from soundline.impl.rules.tensors import elementwise_movement, gating, movement, ranges, reductions, scans
from soundline.spec.rules.language import Rule

__all__ = ["DECOMPOSE", "LIBRARY", "MODULES", "PREMISES", "SCANS", "SIMPLIFY", "rules_in"]

MODULES: tuple[ModuleType, ...] = (
    identities,
    absorption,
    intervals,
    comparisons,
    booleans,
    selection,
    gating,
    casts,
    floats_exact,
    shifts,
    div_mod,
    constant_folding,
    movement,
    elementwise_movement,
    reductions,
    ranges,
    scans,
    premises,
    decompositions,
    commutativity,
)


def rules_in(module: ModuleType) -> tuple[Rule, ...]:
    """The rules that a module declares, in order."""
    return tuple(r for r in vars(module).values() if isinstance(r, Rule))


_APART = (commutativity, decompositions, premises, scans)

LIBRARY: tuple[Rule, ...] = tuple(r for module in MODULES for r in rules_in(module))
"""Every rule that is shipped."""

SIMPLIFY: tuple[Rule, ...] = tuple(r for module in MODULES if module not in _APART for r in rules_in(module))
"""The rules that simplify; earlier ones are tried first."""

SCANS: tuple[Rule, ...] = rules_in(scans)
"""What a reduction along a loop is; lowering chooses from these where there is one."""

PREMISES: tuple[Rule, ...] = rules_in(premises)
"""What a reduction is if something holds that the program decides; lowering asks for these where that is worth it."""

DECOMPOSE: tuple[Rule, ...] = rules_in(decompositions)
"""What an op is in terms of others; `lower.instructions` applies what serves a target."""
