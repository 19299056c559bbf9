"""
Instructions
============

An op that a target has no instruction for is decomposed into ops that it has. The rules for this are `DECOMPOSE`, each
of which the court proves. The target's table decides which of them are used, by cost: an instruction costs 1, a routine
costs `ROUTINE`, and an op that the target lacks has infinite cost. A rule is applied where its right side costs less
than its left side.

*Invariant*: every element keeps its value, bit for bit without a licence.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

from soundline.impl.lower.graphs.simplify import Applied, LoweredFacts
from soundline.impl.rewriting.engine import rewrite
from soundline.impl.rules import DECOMPOSE
from soundline.spec.dtypes import DType
from soundline.spec.pipeline.stages import Target
from soundline.spec.rules.instances import Goal, dtypes_of, goals
from soundline.spec.rules.language import Rule
from soundline.spec.uop import Op, UOp, toposort
from soundline.spec.values.elementwise import operand_dtype

ROUTINE = 2
"""The cost of an op that takes several instructions: more than one instruction, less than a decomposition into
several."""

Instruction = tuple[Op, DType]
"""An op on operands of a dtype."""


@dataclass(frozen=True, slots=True)
class _Instance:
    """A rule at one dtype, and the instructions of its sides."""

    rule: Rule
    dtype: DType
    left: tuple[Instruction, ...]
    right: tuple[Instruction, ...]

    @property
    def is_definition(self) -> bool:
        """Whether it says what one op is, of all operands."""
        fixed = any(kind.kind == "Const" for kind in self.rule.kinds.values())
        return len(self.left) == 1 and not self.rule.given and not fixed


def decomposed(
    program: UOp, target: Target, licences: Collection[str] = (), applied: Applied | None = None
) -> UOp:
    """A program without the ops that a target lacks, as far as rules tell what they are in those that it has; `applied`
    counts them.
    """
    rules = decompositions(target, frozenset(licences))
    done = rewrite(program, rules, licences=licences, facts=LoweredFacts(told=[]))
    if applied is not None:
        applied.note(done)
    return done.uop


@lru_cache(maxsize=64)
def decompositions(target: Target, licences: frozenset[str] = frozenset()) -> tuple[Rule, ...]:
    """The rules that serve a target, each at the dtypes where it does; cheaper ones are tried first."""
    instances = [i for i in _instances() if licences.issuperset(i.rule.licences)]
    costs = _costs(target, instances)
    best: dict[Instruction, Rule] = {}
    found: dict[tuple[Rule, float], list[DType]] = {}
    for i in instances:
        price = _price(i.right, costs)
        if i.is_definition:
            serves = price <= costs[i.left[0]] < _native(target, *i.left[0])
            serves = serves and best.setdefault(i.left[0], i.rule) is i.rule
        else:
            serves = price < _price(i.left, costs)
        if serves:
            found.setdefault((i.rule, price), []).append(i.dtype)
    ordered = sorted(found.items(), key=lambda entry: entry[0][1])
    return tuple(replace(stated, dtypes=tuple(dtypes)) for (stated, _), dtypes in ordered)


def _costs(target: Target, instances: Iterable[_Instance]) -> dict[Instruction, float]:
    """The cost of each instruction, or of its decomposition."""
    costs = {one: _native(target, *one) for i in instances for one in (*i.left, *i.right)}
    changed = True
    while changed:
        changed = False
        for i in instances:
            if i.is_definition and _price(i.right, costs) < costs[i.left[0]]:
                costs[i.left[0]] = _price(i.right, costs)
                changed = True
    return costs


def _native(target: Target, op: Op, dtype: DType) -> float:
    if not target.has(op, dtype):
        return math.inf
    return ROUTINE if op in target.routines else 1


def _price(side: Iterable[Instruction], costs: dict[Instruction, float]) -> float:
    return sum(costs[one] for one in side)


@lru_cache(maxsize=1)
def _instances() -> tuple[_Instance, ...]:
    """The rules at each of their dtypes."""
    return tuple(
        _Instance(stated, dtype, tuple(_instructions(goal, goal.left)), tuple(_instructions(goal, right)))
        for stated in DECOMPOSE
        for dtype in dtypes_of(stated)
        for goal in goals(stated, dtype, 0)
        if isinstance(right := goal.right, UOp)
    )


def _instructions(goal: Goal, side: UOp) -> Iterator[Instruction]:
    """The instructions of one side; what is made of constants is one."""
    known = {goal.variables[name] for name, kind in goal.rule.kinds.items() if kind.kind == "Const"}
    for node in toposort(side):
        if node.op is Op.Const or (node.src and known.issuperset(node.src)):
            known.add(node)
        elif node.src and node.op is not Op.Param:
            yield node.op, operand_dtype(node)
