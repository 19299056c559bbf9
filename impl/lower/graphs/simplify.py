"""
Simplify
========

Run the rule library over a stage. Every rewrite is by a rule of the library, which the court proves, or by a procedure,
of which the court validates each application. This module adds two rewrites that the rules cannot state because they do
not model memory: a gate that is constant, and a gate that is tested twice.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from typing import TypeVar

from soundline.impl.analysis.facts import Facts
from soundline.impl.lower.graphs.rebuilding import rebuilt
from soundline.impl.rewriting.engine import Rewritten, rewrite
from soundline.impl.rules import SIMPLIFY, rules_in
from soundline.impl.rules.procedural import PROCEDURES
from soundline.impl.rules.tensors import elementwise_movement
from soundline.spec.rules.language import Rule
from soundline.spec.rules.procedures import Procedure
from soundline.spec.uop import Op, UOp, over

T = TypeVar("T")

RULES: tuple[Rule | Procedure, ...] = (
    *(r for r in SIMPLIFY if r not in rules_in(elementwise_movement)),
    *PROCEDURES,
)
"""The rules and procedures that lowering applies. Those that move elementwise ops across movement ops are not among
them: a value that is needed both moved and as it is would be computed twice, and lowering needs no help to see through
movement."""


class LoweredFacts(Facts):
    """What is known of a lowered program: also that its loads read inside their buffers, which is discharged before."""

    def _valid_of(self, node: UOp, at: Callable[[UOp], bool]) -> bool:
        if node.op is Op.Buffer:
            return True
        if node.op is Op.Index and node.src[0].op is Op.Buffer:
            return all(map(at, node.src[1:]))
        if node.op is Op.Load:
            return all(map(at, node.src))
        return super()._valid_of(node, at)


class Applied(Counter[str]):
    """How often each rule was applied, by its id; of procedures also with which rulings. `passes` counts the kernels
    that a pass of Optimize changed which is no rule, by what it does.
    """

    def __init__(self) -> None:
        super().__init__()
        self.rulings: dict[str, set[str]] = {}
        self.passes: Counter[str] = Counter()

    def by_pass(self, what: str, before: object, after: T) -> T:
        """What a pass made, which is counted where it is not what there was."""
        if after is not None and after is not before:
            self.passes[what] += 1
        return after

    def note(self, done: Rewritten) -> None:
        """Count what a rewriting did."""
        self.update(dict(done.applied))
        for application in done.applications:
            if application.kept:
                self.rulings.setdefault(application.procedure, set()).add(application.ruling.verdict)

    def take(self, other: Applied) -> None:
        """Count what another has counted as well."""
        self.update(dict(other))
        self.passes.update(other.passes)
        for name, rulings in other.rulings.items():
            self.rulings.setdefault(name, set()).update(rulings)


def simplified(
    root: UOp, licences: Collection[str], applied: Applied, rules: Sequence[Rule | Procedure] = RULES
) -> UOp:
    """The program after rewriting with the rules; `applied` counts their applications."""
    result = rewrite(root, rules, licences=licences, facts=LoweredFacts(told=[]))
    applied.note(result)
    return _with_known_gates(result.uop)


def _with_known_gates(root: UOp) -> UOp:
    """The same loads under simpler gates."""
    return rebuilt(root, lambda node, src: _ungated(over(node, src)))


def _ungated(node: UOp) -> UOp:
    """A Load whose gate is constant reads always or never, and one whose gate chooses it needs no other choice."""
    if node.op is Op.Load and len(node.src) == 3 and node.src[2].op is Op.Const:
        return UOp(Op.Load, node.src[:1], node.arg) if node.src[2].arg.value else node.src[1]
    if node.op is not Op.Where:
        return node
    gate, chosen, other = node.src
    if gate.op is Op.Const:
        return chosen if gate.arg.value else other
    if chosen.op is Op.Load and len(chosen.src) == 3 and chosen.src[2] is gate:
        return UOp(Op.Load, (chosen.src[0], other, gate), chosen.arg)
    return node
