"""
Whether conditions follow
=========================

Whether a condition holds wherever others do, at one instance of a rule about single elements. It is an obligation like
any other: under these hypotheses the condition equals True. That an expression fits is said of the exact results of its
operations, which are computed in `index`, where nothing wraps.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from soundline.spec.dtypes import bool_, index
from soundline.spec.errors import IllFormed, RuleError
from soundline.spec.ops.node import Op, UOp
from soundline.spec.rules.building import Env, build
from soundline.spec.rules.deciding import decide
from soundline.spec.rules.instances import Goal, conjunction, is_about_shapes
from soundline.spec.rules.terms import Static, Term
from soundline.spec.uop import const
from soundline.verify.smt.goals.obligations import obligation_of, wrapping_nodes
from soundline.verify.smt.goals.solving import Budget
from soundline.verify.smt.proving.scalars import Finding
from soundline.verify.smt.proving.scalars import decide as decided

FOLLOWS = Finding("proved", "")


def follows(goal: Goal, conclusions: Sequence[Term], budget: Budget, env: Env | None = None) -> Finding:
    """Whether conditions hold wherever the hypotheses of an instance do; `env` reads them, if not the instance's own.

    ``proved`` and ``vacuous`` say yes; ``refuted`` has a point that meets the hypotheses and not the conditions.
    """
    env = env or goal.env
    wanted: list[UOp] = []
    for condition in conclusions:
        if isinstance(condition, Static):
            if not decide(condition, env):
                return Finding("refuted", "the dtypes of this instance")
        else:
            try:
                wanted += _as_nodes(condition, env)
            except (IllFormed, RuleError) as error:
                return Finding("unknown", "", detail=str(error))
    wanted = [node for node in wanted if node not in goal.hypotheses]
    if not wanted:
        return FOLLOWS
    if is_about_shapes(goal.rule):
        return Finding("unknown", "", detail="conditions on shapes are compared by what they say alone")
    true, question = const(True, bool_), conjunction(tuple(wanted))
    obligation = replace(obligation_of(goal), left=question, right=true, licences=frozenset())
    return decided(obligation, budget)


def _as_nodes(condition: Term, env: Env) -> Iterator[UOp]:
    if condition.head != "fits":
        yield build(condition, env)
        return
    for node in wrapping_nodes([build(condition.args[0], env)]):
        yield from _exact_in_range(node)


def _exact_in_range(node: UOp) -> Iterator[UOp]:
    """That the exact result of an operation lies in its dtype."""
    if node.op in (Op.Shl, Op.Mulacc):
        raise RuleError(f"whether {node.op.name} wraps is not asked here")
    operands = [s if s.dtype is index else UOp(Op.Cast, (s,), index) for s in node.src]
    exact = operands[0] if node.op is Op.Cast else UOp(node.op, tuple(operands))
    yield UOp(Op.CmpLe, (const(int(node.dtype.min), index), exact))
    yield UOp(Op.CmpLe, (exact, const(int(node.dtype.max), index)))
