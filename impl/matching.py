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

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from math import inf
from typing import Any

from soundline.impl.conditions import holds
from soundline.impl.demands import extra_demands
from soundline.impl.facts import REPEATING, Facts, repeated_constant, repeated_scalar
from soundline.impl.rules import commutativity
from soundline.spec.building import Env, build, build_dtype, build_flags, build_perm, build_vector, has_dtype
from soundline.spec.dtypes import DType, all_dtypes, bool_, index
from soundline.spec.errors import RuleError
from soundline.spec.instances import dtypes_of, is_about_shapes, ops_for
from soundline.spec.node import Shape, UOp
from soundline.spec.op_schema import Op
from soundline.spec.ops import group_of
from soundline.spec.rules import Rule, variables_in
from soundline.spec.sizes import as_node, as_size, equal, same_shape, sizes_of
from soundline.spec.terms import Term, Value, named_sizes, show
from soundline.spec.uop import const, element_of

Binding = dict[str, Any]
"""What the variables are bound to so far, and under `DTYPE` the rule's dtype."""

Step = Callable[[Any, Binding], bool]
"""Compares a part of the program with a part of the left side; binds variables."""

Late = Callable[[UOp, Env, Facts], bool]
"""A comparison that needs all variables bound: the root of the match, the bindings, and what is known of nodes."""

DTYPE = "dtype of the rule"

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

_ELEMENTWISE = frozenset((*group_of("elementwise", "decomposed"), Op.CDiv, Op.CMod))
_ONE_VALUED = ("Value", "Const", "Interval", "Bool", "Size")


@dataclass(frozen=True, eq=False, slots=True)
class Pattern:
    """A rule's left side in one order of the operands of its commutative ops, ready to be matched."""

    rule: Rule
    ops: tuple[frozenset[Op] | None, ...]
    """The ops that the root of a match and each of its sources can have; None for any."""
    step: Step
    late: tuple[Late, ...]
    exchanged: tuple[str, ...]
    """The commutativity rules that lead from the rule's left side to this order."""
    demanding: tuple[str, ...]
    """The variables that must be valid."""
    dropped: tuple[str, ...]
    """The variables that must have no effect."""
    default_dtype: DType

    def may_match(self, ops: tuple[Op, ...]) -> bool:
        """Whether a node whose own op and sources' ops are these can be a match."""
        return all(admitted is None or op in admitted for op, admitted in zip(ops, self.ops, strict=False))

    def match(self, node: UOp, facts: Facts) -> Env | None:
        """What the variables are bound to, where a node is the left side and the conditions hold."""
        bound: Binding = {}
        if not self.step(node, bound):
            return None
        env = Env(bound.pop(DTYPE, self.default_dtype), bound)
        admitted = all(late(node, env, facts) for late in self.late) and self._admits(env, facts)
        return env if admitted else None

    def _admits(self, env: Env, facts: Facts) -> bool:
        return (
            not any(facts.has_effect(env.bound[name]) for name in self.dropped)
            and all(holds(condition, env, facts) for condition in self.rule.given)
            and all(facts.always_valid(env.bound[name]) for name in self.demanding)
        )


@cache
def patterns_of(stated: Rule) -> tuple[Pattern, ...]:
    """A rule compiled for matching. Raises ``RuleError`` where a match would leave a variable unbound."""
    valued = {name for name, kind in stated.kinds.items() if kind.kind in (*_ONE_VALUED, "Tensor")}
    lost = valued & variables_in(stated.left) - variables_in(stated.right)
    patterns = []
    for left, exchanged in _orders(stated.left):
        compiler = _Compiler(stated)
        step = compiler.value(left, (), typed=False)
        _check_bound(stated, compiler.binds)
        patterns.append(
            Pattern(
                stated,
                _ops_of(left, stated),
                step,
                tuple(compiler.late),
                exchanged,
                tuple(sorted(extra_demands(stated))),
                tuple(name for name in stated.kinds if name in lost),
                dtypes_of(stated)[0],
            )
        )
    return tuple(patterns)


def _check_bound(stated: Rule, binds: set[str]) -> None:
    needed = set().union(*(variables_in(t) for t in (stated.left, stated.right, *stated.given)))
    unbound = sorted(needed - binds)
    if unbound:
        raise RuleError(
            f"a match of {show(stated.left)} does not say what {', '.join(unbound)} is",
            file=stated.file,
            line=stated.line,
            rule=stated.id,
            hint="let every variable stand in the left side, not only inside an expression that is computed",
        )


def _ops_of(left: Term, stated: Rule) -> tuple[frozenset[Op] | None, ...]:
    """The ops that a node must have to be this term, and those that its sources must have."""
    args = left.args[1:] if left.head == "op" else left.args
    return (_possible(left, stated), *(_possible(a, stated) for a in args))


def _possible(term: Any, stated: Rule) -> frozenset[Op] | None:
    if not isinstance(term, Value) or term.head == "every axis":
        return None
    if isinstance(term.head, Op):
        return frozenset((term.head,))
    if term.head == "op":
        kind = stated.kinds[term.args[0].args[0]].kind
        return frozenset(op for dtype in all_dtypes for op in _ops(kind, dtype))
    if term.head == "literal" or (term.head == "var" and stated.kinds[term.args[0]].kind == "Const"):
        return frozenset((Op.Const, *REPEATING))
    return None


def _orders(term: Term) -> list[tuple[Term, tuple[str, ...]]]:
    """A term with the operands of its commutative ops in every order, and the rules that each order uses."""
    if not isinstance(term, Value) or term.head in ("literal", "var"):
        return [(term, ())]
    found: list[tuple[tuple[Any, ...], tuple[str, ...]]] = [((), ())]
    for arg in term.args:
        inside = _orders(arg) if isinstance(arg, Term) else [(arg, ())]
        found = [((*args, a), (*used, *more)) for args, used in found for a, more in inside]
    orders: list[tuple[Term, tuple[str, ...]]] = [(type(term)(term.head, args), used) for args, used in found]
    if isinstance(term.head, Op) and term.head in COMMUTATIVE:
        name = COMMUTATIVE[term.head].id
        known = {show(t) for t, _ in orders}
        swapped = [(type(term)(t.head, t.args[::-1]), (*used, name)) for t, used in orders]
        orders += [(t, used) for t, used in swapped if show(t) not in known]
    return orders


@cache
def _ops(kind: str, dtype: DType) -> frozenset[Op]:
    """What an op variable can stand for; a shift of index takes only a constant, so it is no op of two values."""
    shifts = (Op.Shl, Op.Shr) if dtype is index else ()
    return frozenset(op for op in ops_for(kind, dtype) if op not in shifts)


class _Compiler:
    """Compiles one order of a left side; collects what is to be compared late, and what gets bound."""

    def __init__(self, stated: Rule) -> None:
        self.stated = stated
        self.most = stated.max_rank if stated.max_rank is not None else inf
        self.about_shapes = is_about_shapes(stated)
        self.late: list[Late] = []
        self.binds: set[str] = set()
        self.dtypes = frozenset(dtypes_of(stated))

    # values

    def value(self, term: Term, path: tuple[int, ...], *, typed: bool) -> Step:
        """The step for a value term at `path` below the root; `typed` if an operand beside it has a dtype."""
        head, args = term.head, term.args
        if head == "var":
            return self._variable(args[0])
        if head == "literal":
            return self._literal(args[0], typed=typed)
        if head == "op":
            return self._op_variable(args, path)
        if not isinstance(head, Op):
            return self._computed(term, path)
        if head in (Op.Cast, Op.Bitcast):
            return self._conversion(head, args, path)
        if head in (Op.Permute, Op.Flip):
            return self._rearrangement(head, args, path)
        if head in (Op.Reshape, Op.Expand, Op.Pad, Op.Shrink):
            return self._resizing(head, args, path)
        return self._operation(head, args, path, typed=typed and head in _ELEMENTWISE)

    def _operation(self, op: Op, args: tuple[Term, ...], path: tuple[int, ...], *, typed: bool) -> Step:
        alike = args[1:] if op is Op.Where else args
        typed = typed or any(has_dtype(a) for a in alike)
        steps = [
            self.value(a, (*path, k), typed=typed or (op is Op.Where and k == 0)) for k, a in enumerate(args)
        ]
        order = sorted(range(len(args)), key=lambda k: _CHEAPEST_FIRST.get(args[k].head, 0))
        return _all_sources(op, [(k, steps[k]) for k in order])

    def _op_variable(self, args: tuple[Any, ...], path: tuple[int, ...]) -> Step:
        name = args[0].args[0]
        kind = self.stated.kinds[name].kind
        self.binds.add(name)
        operands = [self.value(a, (*path, k), typed=True) for k, a in enumerate(args[1:])]

        def step(node: UOp, bound: Binding) -> bool:
            if len(node.src) != len(operands) or node.src[0].dtype is not node.dtype:
                return False
            if node.op not in _ops(kind, node.dtype) or bound.setdefault(name, node.op) is not node.op:
                return False
            return all(s(n, bound) for s, n in zip(operands, node.src, strict=True))

        return step

    def _variable(self, name: str) -> Step:
        kind = self.stated.kinds[name].kind
        self.binds.add(name)
        has_right_dtype = self._dtype_of_variable(name)
        if kind == "Tensor":
            return self._tensor(name, has_right_dtype)
        if kind == "Interval":
            self._bounds_late(name)
        see: Callable[[UOp], UOp | None] = (
            repeated_constant if kind == "Const" else repeated_scalar if self.about_shapes else _itself
        )

        def step(node: UOp, bound: Binding) -> bool:
            seen = see(node)
            return seen is not None and has_right_dtype(seen, bound) and bound.setdefault(name, seen) is seen

        return step

    def _tensor(self, name: str, has_right_dtype: Step) -> Step:
        sizes = named_sizes(self.stated.kinds[name])
        steps = [self._size(s) for s in sizes]

        def step(node: UOp, bound: Binding) -> bool:
            if node.shape is None or len(node.shape) > self.most or not has_right_dtype(node, bound):
                return False
            if sizes and not _every_step(steps, node.shape, bound):
                return False
            return bound.setdefault(name, node) is node

        return step

    def _dtype_of_variable(self, name: str) -> Step:
        """The step that compares a node's dtype with that of a variable."""
        kind = self.stated.kinds[name]
        fixed = [n for n in kind.inside if isinstance(n, DType)]
        if kind.kind in ("Bool", "Size") or fixed:
            wanted = fixed[0] if fixed else bool_ if kind.kind == "Bool" else index
            return lambda node, bound: node.dtype is wanted
        if kind.kind == "Tensor" or not kind.inside:
            return lambda node, bound: self._is_dtype_of_rule(node.dtype, bound)
        step = self._dtype_variable(str(kind.inside[0]))
        return lambda node, bound: step(node.dtype, bound)

    def _is_dtype_of_rule(self, dtype: DType, bound: Binding) -> bool:
        return dtype in self.dtypes and bound.setdefault(DTYPE, dtype) is dtype

    def _dtype_variable(self, name: str) -> Step:
        admitted = frozenset(self.stated.dtype_classes.get(name, all_dtypes))
        self.binds.add(name)
        return lambda dtype, bound: dtype in admitted and bound.setdefault(name, dtype) is dtype

    def _bounds_late(self, name: str) -> None:
        text = "".join(show(t) for t in (self.stated.left, self.stated.right, *self.stated.given))
        ends = tuple(end for end in ("lo", "hi") if f"{name}.{end}" in text)

        def late(root: UOp, env: Env, facts: Facts) -> bool:
            known = facts.ends(env.bound[name])
            if known is None:
                return False
            bounds = {f"{name}.{end}": known[end == "hi"] for end in ends}
            env.bound.update(bounds)
            return None not in bounds.values()

        self.late.insert(0, late)

    def _literal(self, number: Any, *, typed: bool) -> Step:
        wanted: dict[DType, UOp | None] = {d: _number(number, d) for d in all_dtypes}

        def step(node: UOp, bound: Binding) -> bool:
            seen = repeated_constant(node)
            if seen is None:
                return False
            number = wanted[seen.dtype]
            same = seen is number or (seen.tag is not None and number is not None and seen.arg == number.arg)
            return same and (typed or self._is_dtype_of_rule(seen.dtype, bound))

        return step

    def _computed(self, term: Term, path: tuple[int, ...]) -> Step:
        """A scalar that the other variables determine: compared when they are bound."""

        def late(root: UOp, env: Env, facts: Facts) -> bool:
            return repeated_scalar(_at(root, path)) is build(term, env)

        self.late.append(late)
        return lambda node, bound: repeated_scalar(node) is not None

    # conversions and movement

    def _conversion(self, op: Op, args: tuple[Any, ...], path: tuple[int, ...]) -> Step:
        inner = self.value(args[0], (*path, 0), typed=False)
        target = self._dtype_argument(args[1], path)
        elementwise = op is Op.Cast or self.about_shapes

        def step(node: UOp, bound: Binding) -> bool:
            return (
                node.op is op
                and (elementwise or node.src[0].dtype.itemsize == node.dtype.itemsize)
                and inner(node.src[0], bound)
                and target(node.arg, bound)
            )

        return step

    def _dtype_argument(self, term: Any, path: tuple[int, ...]) -> Step:
        if isinstance(term, DType):
            return lambda dtype, bound: dtype is term
        if term.head == "var":
            return self._dtype_variable(term.args[0])
        self.late.append(lambda root, env, facts: _at(root, path).arg is build_dtype(term, env))
        return _anything

    def _rearrangement(self, op: Op, args: tuple[Any, ...], path: tuple[int, ...]) -> Step:
        inner = self.value(args[0], (*path, 0), typed=False)
        arrangement = self._arrangement(op, args[1], path)
        return lambda node, bound: (
            node.op is op and inner(node.src[0], bound) and arrangement(node.arg, bound)
        )

    def _arrangement(self, op: Op, term: Any, path: tuple[int, ...]) -> Step:
        if not isinstance(term, Term):
            return lambda arg, bound: arg == tuple(term)
        if term.head == "var":
            name = term.args[0]
            self.binds.add(name)
            return lambda arg, bound: len(arg) <= self.most and bound.setdefault(name, arg) == arg
        reader: Callable[[Any, Env], tuple[Any, ...]] = build_perm if op is Op.Permute else build_flags
        self.late.append(lambda root, env, facts: _at(root, path).arg == reader(term, env))
        return _anything

    def _resizing(self, op: Op, args: tuple[Any, ...], path: tuple[int, ...]) -> Step:
        inner = self.value(args[0], (*path, 0), typed=False)
        vectors = [(k, self._vector(v, path, k)) for k, v in enumerate(args[1:], 1)]

        def step(node: UOp, bound: Binding) -> bool:
            return (
                node.op is op
                and inner(node.src[0], bound)
                and all(vector(_sizes(node, k), bound) for k, vector in vectors)
            )

        return step

    def _vector(self, term: Term, path: tuple[int, ...], position: int) -> Step:
        """The step for a shape or an offset, which is source `position` of the node at `path`."""
        if term.head == "var":
            name = term.args[0]
            self.binds.add(name)
            return lambda sizes, bound: (
                len(sizes) <= self.most
                and (bound.setdefault(name, sizes) is sizes or same_shape(bound[name], sizes) is True)
            )
        if term.head == "entries":
            steps = [self._entry(e, path, position, k) for k, e in enumerate(term.args)]
            return lambda sizes, bound: len(sizes) == len(steps) and _every_step(steps, sizes, bound)

        def late(root: UOp, env: Env, facts: Facts) -> bool:
            sizes = _sizes(_at(root, path), position)
            return same_shape(build_vector(term, env, len(sizes)), sizes) is True

        self.late.append(late)
        return lambda sizes, bound: len(sizes) <= self.most

    def _entry(self, term: Term, path: tuple[int, ...], position: int, axis: int) -> Step:
        if term.head == "literal":
            return lambda size, bound: equal(size, int(term.args[0])) is True
        if term.head == "var":
            self.binds.add(term.args[0])
            return self._size(term.args[0])

        def late(root: UOp, env: Env, facts: Facts) -> bool:
            size = _sizes(_at(root, path), position)[axis]
            return equal(as_size(build(term, env, const(0, index))), size) is True

        self.late.append(late)
        return _anything

    def _size(self, name: object) -> Step:
        if isinstance(name, int):
            return lambda size, bound: equal(size, name) is True
        self.binds.add(str(name))
        return lambda size, bound: equal(bound.setdefault(str(name), as_node(size)), size) is True


_CHEAPEST_FIRST: dict[str | Op, int] = {"literal": 1, "var": 2}
"""Ops on the left side are compared first, then numbers, then variables, which match most nodes."""


def _itself(node: UOp) -> UOp | None:
    return node if node.shape is not None else None


def _anything(part: Any, bound: Binding) -> bool:
    return True


def _every_step(steps: list[Step], parts: Shape, bound: Binding) -> bool:
    return len(steps) == len(parts) and all(s(p, bound) for s, p in zip(steps, parts, strict=True))


def _all_sources(op: Op, steps: list[tuple[int, Step]]) -> Step:
    """The step for an op whose sources are compared in the given order."""
    if len(steps) == 2:
        (i, first), (k, second) = steps
        return lambda node, bound: node.op is op and first(node.src[i], bound) and second(node.src[k], bound)
    return lambda node, bound: node.op is op and all(step(node.src[k], bound) for k, step in steps)


def _at(root: UOp, path: tuple[int, ...]) -> UOp:
    for k in path:
        root = root.src[k]
    return root


def _sizes(node: UOp, position: int) -> Shape:
    sizes = sizes_of(node.src[position])
    assert sizes is not None
    return sizes


def _number(number: Any, dtype: DType) -> UOp | None:
    """The constant that a bare number is at a dtype; None where it is none."""
    if dtype is bool_ and number not in (0, 1):
        return None
    if not dtype.is_float and isinstance(number, float) and not number.is_integer():
        return None
    return const(element_of(number, dtype), dtype)
