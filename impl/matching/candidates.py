"""
Candidates
==========

Which rules and procedures may apply at a node: `Candidates` finds them by the ops of the node and of its sources. A
pattern that is tried often is written out as a function (`direct`).
"""

from __future__ import annotations

from functools import lru_cache

from soundline.impl.analysis.facts import REPEATING, Facts
from soundline.impl.matching.matcher import Pattern, patterns_of, roots_of
from soundline.impl.matching.straight_line import UNSURE, AtSources, Direct
from soundline.spec.errors import IllFormed, SoundlineError
from soundline.spec.ops.node import Op, UOp
from soundline.spec.ops.sizes import same_shape
from soundline.spec.rules.building import Env, build
from soundline.spec.rules.language import Rule
from soundline.spec.rules.procedures import Procedure
from soundline.spec.values.elementwise import ELEMENTWISE

MAY_FOLD = frozenset((*ELEMENTWISE, *REPEATING, Op.Bitcast))
CONSTANT = frozenset((Op.Const, *REPEATING))
"""Ops that a repeated constant can have."""


class RewriteError(SoundlineError):
    """The engine was given rules that never end, or a rule whose sides differ in dtype or shape."""

    def __init__(self, message: str, rules: tuple[str, ...], hint: str) -> None:
        self.rules = rules
        super().__init__(message, rule=rules[0] if rules else None, hint=hint)


_OFTEN = 50
"""After so many tries a pattern is written out as one function, which pays then."""


class Candidate:
    """A pattern, and how often it has been tried."""

    __slots__ = ("direct", "exchanged", "pattern", "rule", "tried")

    def __init__(self, pattern: Pattern) -> None:
        self.pattern = pattern
        self.rule = pattern.rule
        self.exchanged = pattern.exchanged
        self.direct: Direct | None = None
        self.tried = 0

    def written(self) -> Direct | None:
        """The pattern as functions, if it can be written so."""
        if self.direct is None:
            self.direct = self.pattern.direct()
        return self.direct

    def right(self, node: UOp, facts: Facts) -> UOp | None:
        """The right side of the rule, where it applies to a node."""
        if self.direct is not None:
            right = self.direct.at_node(node, facts)
            if right is None or right is not UNSURE:
                return right  # type: ignore[no-any-return]
        else:
            self.tried += 1
            if self.tried == _OFTEN:
                self.written()
        env = self.pattern.match(node, facts)
        return right_side(self.pattern.rule, env, node) if env is not None else None


Functions = tuple[tuple[AtSources, Candidate], ...]


class Candidates:
    """The patterns of rules, by the ops of a node and of its sources; each combination is looked up once."""

    def __init__(self, rules: tuple[Rule | Procedure, ...]) -> None:
        self._rules = rules
        self._compiled: dict[Rule, tuple[Candidate, ...]] = {}
        self._rooted: dict[Op, tuple[Candidate | Procedure, ...]] = {}
        self._found: dict[tuple[Op, ...], tuple[Candidate | Procedure, ...]] = {}
        self._met: dict[Op, int] = {}
        self.functions: dict[tuple[Op, ...], Functions | None] = {}
        """What `all_direct` has found for good."""

    def at(self, node: UOp) -> tuple[Candidate | Procedure, ...]:
        """The patterns and procedures that can match at a node, in the order of their rules."""
        src = node.src
        if len(src) == 2:
            return self.with_ops((node.op, src[0].op, src[1].op))
        return self.with_ops((node.op, *[s.op for s in src[:3]]))

    def with_ops(self, ops: tuple[Op, ...]) -> tuple[Candidate | Procedure, ...]:
        """The same, of a node that has these ops itself and in its sources."""
        found = self._found.get(ops)
        if found is None:
            found = self._found[ops] = tuple(p for p in self.rooted(ops[0]) if _may_match(p, ops))
        return found

    def all_direct(self, ops: tuple[Op, ...]) -> Functions | None:
        """What can match at a node with these ops, as functions; None where something is more than a function, where
        the op has not been met often, or where the node may be an operation on constants.
        """
        found = self.with_ops(ops)
        met = self._met[ops[0]] = self._met.get(ops[0], 0) + 1
        if found and met < _OFTEN:
            return None
        patterns = [c for c in found if isinstance(c, Candidate) and ops[1] not in CONSTANT]
        functions = [(w.at_sources, c) for c in patterns if (w := c.written()) is not None]
        is_all = len(functions) == len(found) and ops[1] not in CONSTANT
        self.functions[ops] = tuple(functions) if is_all else None
        return self.functions[ops]

    def rooted(self, op: Op) -> tuple[Candidate | Procedure, ...]:
        """The patterns and procedures that can match at a node of this op; a rule is compiled when its op is met."""
        found = self._rooted.get(op)
        if found is None:
            every = [p for r in self._rules for p in self._of(r, op) if _may_match(p, (op,))]
            found = self._rooted[op] = tuple(every)
        return found

    def _of(self, rule: Rule | Procedure, op: Op) -> tuple[Candidate | Procedure, ...]:
        if isinstance(rule, Procedure):
            return (rule,)
        roots = roots_of(rule)
        if roots is not None and op not in roots:
            return ()
        if rule not in self._compiled:
            self._compiled[rule] = tuple(map(Candidate, patterns_of(rule)))
        return self._compiled[rule]


def _may_match(candidate: Candidate | Procedure, ops: tuple[Op, ...]) -> bool:
    if isinstance(candidate, Procedure):
        return ops[0] in candidate.ops
    return candidate.pattern.may_match(ops)


@lru_cache(maxsize=64)
def index_of(rules: tuple[Rule | Procedure, ...]) -> Candidates:
    """The index of some rules."""
    return Candidates(rules)


def right_side(rule: Rule, env: Env, node: UOp) -> UOp | None:
    """The right side of a match, if it is another node, at the same place, of known shape."""
    try:
        right = build(rule.right, env, node)
    except IllFormed:  # this dtype or device has no instance of the rule
        return None
    assert right.shape is not None
    assert node.shape is not None
    alike = same_shape(right.shape, node.shape)
    if right.dtype is not node.dtype or alike is False:
        raise RewriteError(
            f"{rule.id} rewrites a {node.dtype}{list(node.shape)} to a {right.dtype}{list(right.shape)}",
            (rule.id,),
            hint="the rule is wrong; verify rules before you use them",
        )
    same_place = right.device == node.device and right.axis == node.axis
    return right if right is not node and alike is True and same_place else None
