"""
Candidates
==========

Which rules and procedures may apply at a node: `Candidates` finds them by the ops of the node and of its sources, and
by whether the first two sources are one node.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from soundline.impl.analysis.facts import REPEATING
from soundline.impl.matching.matcher import Pattern, patterns_of, roots_of
from soundline.spec.ops.node import Op, UOp
from soundline.spec.rules.language import Rule
from soundline.spec.rules.procedures import Procedure
from soundline.spec.values.elementwise import ELEMENTWISE

MAY_FOLD = frozenset((*ELEMENTWISE, *REPEATING, Op.Bitcast))
CONSTANT = frozenset((Op.Const, *REPEATING))
"""Ops that a repeated constant can have."""


Combination = tuple[bool | Op, ...]
"""Whether the first two sources of a node are one node; then its op, and the ops of its first three sources."""


def combination(op: Op, src: tuple[UOp, ...]) -> Combination:
    """What decides which rules may apply at a node of this op on these sources."""
    if len(src) == 2:
        a, b = src
        return a is b, op, a.op, b.op
    return len(src) > 1 and src[0] is src[1], op, *[s.op for s in src[:3]]


class Candidates(dict[Combination, tuple[Pattern | Procedure, ...]]):
    """The patterns and procedures that can match at a node, in the order of their rules, by its combination; each
    combination is looked up once, and a rule is compiled when its op is met.
    """

    def __init__(self, rules: tuple[Rule | Procedure, ...]) -> None:
        super().__init__()
        self._rules = rules
        self._rooted: dict[Op, tuple[Pattern | Procedure, ...]] = {}

    def __missing__(self, wanted: Any) -> tuple[Pattern | Procedure, ...]:
        """The patterns and procedures that may match at a new combination."""
        twice, *ops = wanted
        rooted = self._rooted.get(ops[0])
        if rooted is None:
            rooted = self._rooted[ops[0]] = tuple(p for r in self._rules for p in _rooted(r, ops[0]))
        found = self[wanted] = tuple(
            p for p in rooted if isinstance(p, Procedure) or p.may_match(ops, twice=twice)
        )
        return found


def _rooted(rule: Rule | Procedure, op: Op) -> tuple[Pattern | Procedure, ...]:
    if isinstance(rule, Procedure):
        return (rule,) if op in rule.ops else ()
    roots = roots_of(rule)
    return patterns_of(rule) if roots is None or op in roots else ()


@lru_cache(maxsize=64)
def index_of(rules: tuple[Rule | Procedure, ...]) -> Candidates:
    """The index of some rules."""
    return Candidates(rules)
