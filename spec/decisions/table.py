"""
Decisions
=========

Where the two source documents are silent, ambiguous, or contradict themselves, the law is decided here. Every decision
has an id that error messages, tests, docstrings and the documentation cite. A **finding** is a point on which a source
as written is wrong or unsound; its counterexample is a program (`soundline.verify.findings.tensors`), not a claim.

Two principles decide most points. The *Semantics* column of the op tables is the law, and a *Decomposition* is a
rewrite that is valid under a stated licence. And every elementwise op is total: no operand values lead to undefined
behaviour, in the evaluator or in generated code.

An id is never reused. ``U-…`` concern UOps, ``S-…`` concern Spork.
"""

from __future__ import annotations

from soundline.spec.decisions.schema import Decision
from soundline.spec.decisions.spork import SPORK
from soundline.spec.decisions.structure import BOUNDS, KERNELS, STRUCTURE
from soundline.spec.decisions.values import VALUES
from soundline.spec.ops.node import Op
from soundline.spec.ops.table.entries import TABLE

CHAPTERS: dict[str, tuple[Decision, ...]] = {
    "UOps: values": VALUES,
    "UOps: shape and structure": STRUCTURE,
    "UOps: bounds": BOUNDS,
    "Kernels and OptOps": KERNELS,
    "Spork": SPORK,
}
"""The decisions in the order of the documentation, by chapter."""

DECISIONS: dict[str, Decision] = {d.id: d for chapter in CHAPTERS.values() for d in chapter}
"""Every decision by its id."""


def ops_under(decision: Decision) -> tuple[Op, ...]:
    """The ops whose entries in the op table cite this decision, in table order."""
    return tuple(op for op, entry in TABLE.items() if decision.id in entry.decisions)
