"""
Matching
========

A rule's left side, compiled to closures that compare it with a node and bind the rule's variables. What is matched is
an instance for which the rule is proved, and nothing else:

- A rule without tensors is about single elements, so it applies elementwise at any shape. A rule with tensors applies
  at the ranks for which it has instances.
- A Const is a constant or a view that repeats one; a number is that number of the node's dtype. In a rule with
  tensors, a Value is a scalar or a view that repeats one.
- A variable that occurs twice is one node. Operands of commutative ops are tried in both orders, which the rules of
  `rules.commutativity` justify.
- Bounds come from `Facts.bounds`, conditions are decided by `conditions.holds`, and what is not known does not match.
- A variable that the right side may use where the left does not must be valid; one that it drops must have no effect.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

from soundline.impl.analysis.facts import REPEATING, Facts
from soundline.impl.matching.conditions import holds
from soundline.impl.matching.demands import extra_demands
from soundline.impl.matching.reductions import close_scopes
from soundline.impl.matching.steps import PatternCompiler, possible_ops
from soundline.impl.matching.straight_line import Apply, written
from soundline.impl.matching.strides import is_strided, root_of
from soundline.impl.matching.types import DTYPE, Binding, Late, Path, Step, node_at
from soundline.impl.rules.scalars import commutativity
from soundline.spec.dtypes import DType, all_dtypes
from soundline.spec.errors import IllFormed, RuleError, SoundlineError
from soundline.spec.ops.node import Op, UOp
from soundline.spec.ops.sizes import same_shape
from soundline.spec.rules.building import Abstraction, Env, build
from soundline.spec.rules.instances import dtypes_of, is_about_shapes
from soundline.spec.rules.language import Rule, variables_in
from soundline.spec.rules.spellings import is_truth
from soundline.spec.rules.terms import Term, Value, show, subterms

COMMUTATIVE: dict[Op, Rule] = {
    Op.Add: commutativity.add_commutative,
    Op.Mul: commutativity.mul_commutative,
    Op.Max: commutativity.max_commutative,
    Op.And: commutativity.and_commutative,
    Op.Or: commutativity.or_commutative,
    Op.Xor: commutativity.xor_commutative,
    Op.CmpEq: commutativity.eq_commutative,
    Op.CmpNe: commutativity.ne_commutative,
}
"""The ops whose operands are tried in both orders, each with the rule that justifies it."""


class RewriteError(SoundlineError):
    """The engine was given rules that never end, or a rule whose sides differ in dtype or shape."""

    def __init__(self, message: str, rules: tuple[str, ...], hint: str) -> None:
        self.rules = rules
        super().__init__(message, rule=rules[0] if rules else None, hint=hint)


_VALUED = ("Value", "Const", "Interval", "Bool", "Size", "Tensor", "Body")


@dataclass(eq=False, slots=True)
class Pattern:
    """A rule's left side in one order of the operands of its commutative ops, ready to be matched."""

    rule: Rule
    left: Term
    """The left side in this order."""
    ops: tuple[frozenset[Op] | None, ...]
    """The ops that the root of a match and each of its sources can have; None for any."""
    twice: bool
    """Whether the first two sources of a match are one node."""
    step: Step
    late: tuple[Late, ...]
    """What is compared when all variables are bound: computed terms, effects, conditions, validity."""
    exchanged: tuple[str, ...]
    """The commutativity rules that lead from the rule's left side to this order."""
    demanding: frozenset[str]
    """The variables that must be valid, if a reduction of the left side may be empty."""
    dropped: tuple[str, ...]
    """The variables that must have no effect."""
    default_dtype: DType
    new_loops: int
    """How many fresh ranges the right side makes."""
    apply: Apply = field(init=False)
    """The result of the rule at a node: `by_steps`, or one function, if the rule states only which ops stand where."""

    def __post_init__(self) -> None:
        self.apply = self.by_steps

    def may_match(self, ops: Sequence[Op], *, twice: bool = True) -> bool:
        """Whether a node whose own op and sources' ops are these, and whose first two sources are one node if `twice`,
        can be a match.
        """
        return (twice or not self.twice) and all(
            admitted is None or op in admitted for op, admitted in zip(ops, self.ops, strict=False)
        )

    def by_steps(self, node: UOp, facts: Facts) -> UOp | None:
        """The right side of a match, if it is another node, at the same place, of known shape."""
        env = self.match(node, facts)
        if env is None:
            return None
        try:
            right = build(self.rule.right, env, node)
        except IllFormed:  # this dtype or device has no instance of the rule
            return None
        assert right.shape is not None
        assert node.shape is not None
        alike = same_shape(right.shape, node.shape)
        if right.dtype is not node.dtype or alike is False:
            raise RewriteError(
                f"{self.rule.id} rewrites a {node.dtype}{list(node.shape)} to a {right.dtype}{list(right.shape)}",
                (self.rule.id,),
                hint="the rule is wrong; verify rules before you use them",
            )
        same_place = right.device == node.device and right.axis == node.axis
        return right if right is not node and alike is True and same_place else None

    def match(self, node: UOp, facts: Facts) -> Env | None:
        """What the variables are bound to, where a node is the left side and the conditions hold."""
        bound: Binding = {}
        if not self.step(node, bound):
            return None
        env = Env(bound.pop(DTYPE, self.default_dtype), bound)
        for late in self.late:
            if not late(node, env, facts):
                return None
        return replace(env, loops=facts.new_loops(node, self.new_loops)) if self.new_loops else env


def _expression(env: Env, name: str) -> UOp:
    """The node that a variable is bound to; of a Body, its expression."""
    bound = env.bound[name]
    node = bound.expression if isinstance(bound, Abstraction) else bound
    assert isinstance(node, UOp)
    return node


@cache
def patterns_of(stated: Rule) -> tuple[Pattern, ...]:
    """A rule compiled for matching. Raises ``RuleError`` where a match would leave a variable unbound.

    A claim has no patterns: it says what holds, and rewrites nothing.
    """
    if stated.claimed:
        return ()
    valued = {name for name, kind in stated.kinds.items() if kind.kind in _VALUED}
    lost = valued & variables_in(stated.left) - variables_in(stated.right)
    dropped = tuple(name for name in stated.kinds if name in lost)
    demanding, demanding_if_full = extra_demands(stated), extra_demands(stated, reduces_something=True)
    patterns = []
    for left, exchanged in _orders(stated.left, stated):
        compiler = PatternCompiler(stated)
        step = compiler.value(left, (), typed=False)
        close_scopes(compiler)
        _check_bound(stated, compiler.binds)
        late = [*compiler.late, *map(_has_no_effect, dropped), *map(_holds, stated.given)]
        if demanding:
            late.append(_are_valid(demanding, demanding_if_full, tuple(compiler.reductions)))
        pattern = Pattern(
            rule=stated,
            left=left,
            ops=_ops_of(left, stated),
            twice=_has_one_source_twice(left, stated),
            step=step,
            late=tuple(late),
            exchanged=exchanged,
            demanding=demanding,
            dropped=dropped,
            default_dtype=dtypes_of(stated)[0],
            new_loops=_fresh_ranges(stated),
        )
        if not compiler.late and demanding == demanding_if_full:
            pattern.apply = written(stated, left, dropped, demanding, pattern.by_steps) or pattern.by_steps
        patterns.append(pattern)
    return tuple(patterns)


def _has_no_effect(name: str) -> Late:
    """A variable that the right side drops must have no effect."""
    return lambda root, env, facts: not facts.has_effect(_expression(env, name))


def _holds(condition: Term) -> Late:
    return lambda root, env, facts: holds(condition, env, facts)


def _are_valid(demanding: frozenset[str], if_full: frozenset[str], reductions: tuple[Path, ...]) -> Late:
    """The variables that must be valid; fewer of them, if no reduction of the left side is empty."""

    def late(root: UOp, env: Env, facts: Facts) -> bool:
        full = demanding != if_full and all(facts.reduces_something(node_at(root, p)) for p in reductions)
        return all(facts.always_valid(_expression(env, name)) for name in (if_full if full else demanding))

    return late


@cache
def roots_of(stated: Rule) -> frozenset[Op] | None:
    """The ops that the root of a match can have; None for any. It is known without compiling the rule."""
    return frozenset() if stated.claimed else _possible(stated.left, stated)


def _fresh_ranges(stated: Rule) -> int:
    return max((t.args[1] for t in subterms(stated.right) if t.head == "fresh"), default=0)


def _has_one_source_twice(left: Term, stated: Rule) -> bool:
    """Whether the first two sources are one variable, which stands for one node, and not for the constant in it."""
    names = [a.args[0] if isinstance(a, Term) and a.head == "var" else None for a in _sources(left)[:2]]
    first = names[0] if names else None
    if first is None or names != [first, first] or is_about_shapes(stated):
        return False
    return stated.kinds[first].kind in ("Value", "Bool", "Interval")


def _check_bound(stated: Rule, binds: set[str]) -> None:
    needed = set().union(*(variables_in(t) for t in (stated.left, stated.right, *stated.given)))
    unbound = sorted(needed - binds)
    if unbound:
        raise RuleError(
            f"a match of {show(stated.left)} does not determine {', '.join(unbound)}",
            file=stated.file,
            line=stated.line,
            rule=stated.id,
            hint="every variable must occur in the left side, and not only in a computed expression",
        )


def _ops_of(left: Term, stated: Rule) -> tuple[frozenset[Op] | None, ...]:
    """The ops that a node must have to be this term, and those that its sources must have."""
    return (_possible(left, stated), *(_possible(a, stated) for a in _sources(left)))


def _sources(term: Term) -> tuple[Any, ...]:
    """The parts of a term that are sources of its node, in their order."""
    if is_strided(term):
        return ()
    match term.head:
        case "op" | "over":
            return term.args[1:]
        case "body":
            return ()
        case Op.Reduce:
            return term.args[:1]
    return term.args


def _possible(term: Any, stated: Rule) -> frozenset[Op] | None:
    if not isinstance(term, Value) or term.head == "every axis":
        return None
    if term.head is Op.Not and not is_truth(term, stated.kinds):
        return None
    if is_strided(term):
        return frozenset((root_of(term),))
    if isinstance(term.head, Op) or term.head == "over":
        return frozenset((term.head if isinstance(term.head, Op) else Op.Reduce,))
    if term.head == "op":
        kind = stated.kinds[term.args[0].args[0]].kind
        return frozenset(op for dtype in all_dtypes for op in possible_ops(kind, dtype))
    if term.head in ("literal", "identity") or (
        term.head == "var" and stated.kinds[term.args[0]].kind == "Const"
    ):
        return frozenset((Op.Const, *REPEATING))
    return None


def _orders(term: Term, stated: Rule) -> list[tuple[Term, tuple[str, ...]]]:
    """A term with the operands of its commutative ops in every order, and the rules that each order uses."""
    if not isinstance(term, Value) or term.head in ("literal", "var"):
        return [(term, ())]
    found: list[tuple[tuple[Any, ...], tuple[str, ...]]] = [((), ())]
    for arg in term.args:
        inside = _orders(arg, stated) if isinstance(arg, Term) else [(arg, ())]
        found = [((*args, a), (*used, *more)) for args, used in found for a, more in inside]
    orders: list[tuple[Term, tuple[str, ...]]] = [(type(term)(term.head, args), used) for args, used in found]
    why = _why_commutative(term, stated)
    if why is not None:
        known = {show(t) for t, _ in orders}
        swapped = [(_turned(t), (*used, why.id)) for t, used in orders]
        orders += [(t, used) for t, used in swapped if show(t) not in known]
    return orders


def _why_commutative(term: Value, stated: Rule) -> Rule | None:
    """The rule that lets the two operands of a term be exchanged; None where they may not."""
    if term.head == "op":
        is_monoid = stated.kinds[term.args[0].args[0]].kind == "Monoid"
        return commutativity.monoid_commutative if is_monoid else None
    return COMMUTATIVE.get(term.head) if isinstance(term.head, Op) else None


def _turned(term: Term) -> Term:
    """A term with its two operands exchanged; an op that is a variable stays before them."""
    *op, a, b = term.args
    return type(term)(term.head, (*op, b, a))
