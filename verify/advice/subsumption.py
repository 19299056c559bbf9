"""
Rules that others cover
=======================

A rule is subsumed by another where each of its instances is one of the other's: the left sides are the same node but
for the order of operands that the engine tries both ways, the other's conditions follow from the rule's own, and the
right sides are the same node, or have the same value by proof. Terms only suggest a match; what decides is what is
built from both rules at every instance, and the prover.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

from soundline.impl.matching.matcher import COMMUTATIVE
from soundline.spec.dtypes import DType, all_dtypes, bool_, index
from soundline.spec.errors import IllFormed, RuleError
from soundline.spec.ops.node import Op, UOp
from soundline.spec.rules.building import Env, build, build_dtype, build_flags, build_perm, build_vector
from soundline.spec.rules.instances import Goal, declared_dtype, dtypes_of, goals, is_about_shapes
from soundline.spec.rules.language import Rule
from soundline.spec.rules.terms import Term, Variable, named_sizes, show
from soundline.spec.uop import const, element_of
from soundline.verify.advice.implication import follows
from soundline.verify.advice.one_way import Bound, matches
from soundline.verify.advice.results import Subsumed
from soundline.verify.smt.goals.obligations import obligation_of
from soundline.verify.smt.goals.solving import Budget
from soundline.verify.smt.proving import scalars

MOST_INSTANCES = 2000
"""A rule with more instances than this is not asked about."""

MOST_MATCHES = 4
"""The most ways to match two terms that are examined."""

PART = 0.05
"""The part of the budget for each question about two rules."""


def subsumed(
    rules: Sequence[Rule], proved: Collection[str], budget: Budget
) -> Iterator[tuple[Rule, Subsumed]]:
    """The rules that another one covers, each with the first that does.

    Where the right sides are not the same expression, only a rule that comes earlier in the run covers a later one: it
    is tried first, so that the later one never applies. `proved` are the ids of the rules that are known to be right.
    """
    by_root: dict[object, list[tuple[int, Rule]]] = {}
    for place, general in enumerate(rules):
        by_root.setdefault(_root(general.left), []).append((place, general))
    covered: set[str] = set()
    for place, special in enumerate(rules):
        for earlier, general in sorted(
            [*by_root.get(_root(special.left), []), *by_root.get("any", [])], key=lambda x: x[0]
        ):
            if general is special or general.id in covered or not _licensed(general, special):
                continue
            found = _covers(general, special, proved, budget.share(PART))
            if found is None or (earlier > place and not found.same):
                continue
            if earlier < place or _covers(special, general, proved, budget.share(PART)) is None:
                covered.add(special.id)
                yield special, found
                break


def _root(left: Term) -> object:
    """What the root of a left side is compared by; anything may match a variable, and an op variable many ops."""
    return left.head if isinstance(left.head, Op) else "any"


def _licensed(general: Rule, special: Rule) -> bool:
    return set(general.licences) <= set(special.licences)


def _covers(general: Rule, special: Rule, proved: Collection[str], budget: Budget) -> Subsumed | None:
    """How a general rule covers a special one, if it does."""
    for bound in islice(matches(general, special), MOST_MATCHES):
        same = _same_at_all(general, special, bound, {general.id, special.id} <= set(proved), budget)
        if same is not None:
            how = ", ".join(f"{name} = {show(bound[name])}" for name in general.kinds if name in bound)
            return Subsumed(general.id, how, same)
    return None


def applies_to(general: Rule, special: Rule) -> bool:
    """Whether a rule applies to every instance of another's left side that meets the other's conditions."""
    if not _licensed(general, special) or _root(general.left) not in ("any", _root(special.left)):
        return False
    both = (general.id, special.id)
    return _covers(general, special, both, Budget().share(PART)) is not None


def _same_at_all(
    general: Rule, special: Rule, bound: Bound, both_proved: bool, budget: Budget
) -> bool | None:
    """Whether the right sides are the same at every instance; None where some instance is not covered."""
    same, count = True, 0
    for dtype in dtypes_of(special):
        for goal in goals(special, dtype):
            count += 1
            outcome = _at(general, goal, bound, both_proved, budget) if count <= MOST_INSTANCES else None
            if outcome is None:
                return None
            same = same and outcome
    return same if count else None


def _at(general: Rule, goal: Goal, bound: Bound, both_proved: bool, budget: Budget) -> bool | None:
    """Whether the right sides are one node at an instance that the general rule covers; None where it does not."""
    try:
        env = _env(general, goal, bound)
        if env is None or not alike(build(general.left, env), goal.left):
            return None
        if follows(goal, general.given, budget, env).verdict not in ("proved", "vacuous"):
            return None
        right = build(general.right, env, goal.left)
    except (IllFormed, RuleError, KeyError):
        return None
    if isinstance(goal.right, UOp) and alike(right, goal.right):
        return True
    return False if both_proved or _equal(goal, right, budget) else None


def alike(a: UOp, b: UOp) -> bool:
    """Whether two nodes are the same but for the order of the operands of commutative ops."""
    if a is b:
        return True
    if a.op is not b.op or a.arg != b.arg or len(a.src) != len(b.src):
        return False
    if all(alike(x, y) for x, y in zip(a.src, b.src, strict=True)):
        return True
    return a.op in COMMUTATIVE and all(alike(x, y) for x, y in zip(a.src, b.src[::-1], strict=True))


def _equal(goal: Goal, right: UOp, budget: Budget) -> bool:
    """Whether another right side has the same value as the rule's own, wherever the rule applies."""
    if is_about_shapes(goal.rule) or not isinstance(goal.right, UOp) or right.dtype is not goal.right.dtype:
        return False
    obligation = replace(obligation_of(goal), left=right)
    return scalars.decide(obligation, budget).verdict in ("proved", "vacuous")


# what the general rule's variables are bound to -----------------------------------------------------------------------


def _env(general: Rule, goal: Goal, bound: Bound) -> Env | None:
    """The general rule's variables at an instance of the special one; None where their dtypes do not fit."""
    found: dict[str, Any] = {}
    for name, kind in general.kinds.items():
        if name in bound:
            found |= _built(name, kind, bound[name], goal)
    dtype = _dtype_of_rule(general, found, goal)
    found["rank of"] = {name: len(_axes(found[name])) for name in found if _is_ranked(general, name)}
    env = Env(dtype, found)
    return env if dtype in dtypes_of(general) and _has_dtypes(general, env) else None


def _is_ranked(general: Rule, name: str) -> bool:
    kind = general.kinds.get(name)
    return kind is not None and kind.kind in ("Tensor", "Shape", "Offset", "Perm", "Flags")


def _axes(bound: Any) -> Sequence[Any]:
    return (bound.shape or ()) if isinstance(bound, UOp) else tuple(bound)


def _built(name: str, kind: Variable, part: Any, goal: Goal) -> Mapping[str, Any]:
    env = goal.env
    match kind.kind:
        case "UnaryOp" | "BinaryOp":
            return {name: part if isinstance(part, Op) else env.bound[part.args[0]]}
        case "Perm":
            return {name: build_perm(part, env)}
        case "Flags":
            return {name: build_flags(part, env)}
        case "DTypeVar":
            return {name: build_dtype(part, env)}
        case "Shape" | "Offset":
            return {name: build_vector(part, env, None)}
    node = build(part, env, _like(kind, goal))
    if kind.kind != "Interval":
        return {name: node}
    ends = (node, node)
    if part.head == "var" and f"{part.args[0]}.lo" in env.bound:
        ends = (env.bound[f"{part.args[0]}.lo"], env.bound[f"{part.args[0]}.hi"])
    return {name: node, f"{name}.lo": ends[0], f"{name}.hi": ends[1]}


def _like(kind: Variable, goal: Goal) -> UOp | None:
    """A node that gives a bare number its dtype."""
    dtype = (
        bool_
        if kind.kind == "Bool"
        else next((d for d in kind.inside if isinstance(d, DType)), goal.env.dtype)
    )
    dtype = index if kind.kind == "Size" else dtype
    return const(element_of(0, dtype), dtype)


def _dtype_of_rule(general: Rule, found: Mapping[str, Any], goal: Goal) -> DType:
    for name, kind in general.kinds.items():
        node = found.get(name)
        plain = kind.kind in ("Value", "Const", "Interval") and not kind.inside
        if isinstance(node, UOp) and (plain or (kind.kind == "Tensor" and not _has_dtype(kind))):
            return node.dtype
    return goal.env.dtype


def _has_dtype(kind: Variable) -> bool:
    return any(isinstance(n, DType) for n in kind.inside)


def _has_dtypes(general: Rule, env: Env) -> bool:
    """Whether everything has the dtype and the form that its declaration wants."""
    for name, kind in general.kinds.items():
        part = env.bound.get(name)
        if isinstance(part, DType) and part not in general.dtype_classes.get(name, all_dtypes):
            return False
        if not isinstance(part, UOp):
            continue
        fixed = {"Bool": bool_, "Size": index}.get(kind.kind)
        if part.dtype is not (fixed or declared_dtype(kind, env)):
            return False
        if kind.kind == "Tensor" and named_sizes(kind):
            return False  # whether sizes agree is not asked here
        if kind.kind != "Tensor" and part.shape != () and is_about_shapes(general):
            return False
    return True
