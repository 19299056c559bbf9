"""
Steps of a pattern
==================

The closures that compare a node with one term of a rule's left side, and bind the rule's variables. A step compares
what can be compared as soon as the node is there; what needs all variables is compared *late*. The steps for
reductions, ranges and bodies are in `impl.matching.reductions`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from math import inf
from typing import Any

from soundline.impl.analysis.facts import Facts, repeated_constant, repeated_scalar
from soundline.impl.matching import reductions, strides
from soundline.impl.matching.types import DTYPE, Binding, Late, Path, Step, anything, every_step, node_at
from soundline.spec.dtypes import DType, all_dtypes, bool_, index
from soundline.spec.ops.node import Op, Shape, UOp
from soundline.spec.ops.sizes import as_node, as_size, equal, same_shape, sizes_of
from soundline.spec.ops.table import group_of
from soundline.spec.rules.building import (
    Env,
    build,
    build_dtype,
    build_flags,
    build_perm,
    build_vector,
    has_dtype,
)
from soundline.spec.rules.instances import dtypes_of, is_about_shapes, ops_for
from soundline.spec.rules.language import Rule
from soundline.spec.rules.spellings import SPELLED, Sort, is_truth, sort_of, times_of
from soundline.spec.rules.terms import Tensor, Term, Value, apply, named_sizes, show, value
from soundline.spec.uop import const, element_of

_SHAPING = frozenset(group_of("movement")) - {Op.Bitcast}
_OF_VECTORS = ("entry", "product", "every axis")
_ELEMENTWISE = frozenset((*group_of("elementwise", "decomposed"), Op.CDiv, Op.CMod))


@cache
def possible_ops(kind: str, dtype: DType) -> frozenset[Op]:
    """What an op variable can stand for; a shift of index takes only a constant, so it is no op of two values."""
    shifts = (Op.Shl, Op.Shr) if dtype is index else ()
    return frozenset(op for op in ops_for(kind, dtype) if op not in shifts)


class PatternCompiler:
    """Compiles one order of a left side; collects what is to be compared late, and what gets bound."""

    def __init__(self, stated: Rule) -> None:
        self.stated = stated
        self.most = stated.max_rank if stated.max_rank is not None else inf
        """The highest rank at which the rule is applied."""
        self.about_shapes = is_about_shapes(stated)
        self.late: list[Late] = []
        self.binds: set[str] = set()
        self.dtypes = frozenset(dtypes_of(stated))
        self.bodies: dict[str, tuple[str, ...]] = {}
        """The bodies that are bound, each with its ranges."""
        self.reductions: list[Path] = []
        """Where reductions stand."""

    # values

    def value(self, term: Term, path: Path, *, typed: bool) -> Step:
        """The step for a value term at `path` below the root; `typed` if an operand beside it has a dtype."""
        head, args = term.head, term.args
        if head == "var":
            return self._variable(args[0])
        if head == "literal":
            return self._literal(args[0], typed=typed)
        if head == "op":
            return self._op_variable(args, path)
        if head in reductions.STEPS:
            return reductions.STEPS[head](self, term, path, typed=typed)
        if head in SPELLED and not (head is Op.Not and is_truth(term, self.stated.kinds)):
            return self._spelled(term, path)
        if not isinstance(head, Op):
            return self.computed(term, path)
        if strides.is_strided(term):
            return strides.step_of(self, term, path)
        if head in (Op.Cast, Op.Bitcast):
            return self._conversion(head, args, path)
        if head in (Op.Permute, Op.Flip):
            return self._rearrangement(head, args, path)
        if head in (Op.Reshape, Op.Expand, Op.Pad, Op.Shrink):
            return self._resizing(head, args, path)
        if head is Op.Stack:
            return self._stack(args, path)
        return self._operation(head, args, path, typed=typed and head in _ELEMENTWISE)

    def _operation(self, op: Op, args: tuple[Term, ...], path: Path, *, typed: bool) -> Step:
        alike = args[1:] if op is Op.Where else args
        typed = typed or any(has_dtype(a) for a in alike)
        order = sorted(range(len(args)), key=lambda k: _CHEAPEST_FIRST.get(args[k].head, 0))
        steps = [
            (k, self.value(args[k], (*path, k), typed=typed or (op is Op.Where and k == 0))) for k in order
        ]
        return _all_sources(op, steps)

    def _spelled(self, term: Term, path: Path) -> Step:
        """The step for a word that stands for other ops at other dtypes."""
        late, sorts = len(self.late), {sort_of(d): d for d in self.dtypes}
        if term.head == "is_power_of_two":
            return self.computed(term, path)
        before = frozenset(self.binds)
        steps, binds = {}, []
        for sort in sorts:
            self.binds = set(before)
            steps[sort] = self.value(_said(term, sort), path, typed=True)
            binds.append(self.binds)
        self.binds = set.intersection(*binds)
        if len(self.late) > late:
            del self.late[late:]
            self.binds = set(before)
            return self.computed(term, path)

        def step(node: UOp, bound: Binding) -> bool:
            chosen = steps.get(sort_of(node.dtype))
            return chosen is not None and chosen(node, bound)

        return step

    def whole(self, term: Term, path: Path, *, typed: bool = False) -> Step:
        """The step for a value that is moved or reduced as a whole; where it is a scalar, no view may repeat it."""
        inner = self.value(term, path, typed=typed)
        if _has_shape(term):
            return inner
        return lambda node, bound: node.shape == () and inner(node, bound)

    def _stack(self, args: tuple[Term, ...], path: Path) -> Step:
        typed = any(has_dtype(a) for a in args)
        make = self.value if any(_has_shape(a) for a in args) else self.whole
        steps = [make(a, (*path, k), typed=typed) for k, a in enumerate(args)]
        return lambda node, bound: node.op is Op.Stack and every_step(steps, node.src, bound)

    def _op_variable(self, args: tuple[Any, ...], path: Path) -> Step:
        name = args[0].args[0]
        kind = self.stated.kinds[name].kind
        self.binds.add(name)
        operands = [self.value(a, (*path, k), typed=True) for k, a in enumerate(args[1:])]

        def step(node: UOp, bound: Binding) -> bool:
            return (
                len(node.src) == len(operands)
                and node.src[0].dtype is node.dtype
                and node.op in possible_ops(kind, node.dtype)
                and bound.setdefault(name, node.op) is node.op
                and every_step(operands, node.src, bound)
            )

        return step

    def _variable(self, name: str) -> Step:
        kind = self.stated.kinds[name].kind
        see: Callable[[UOp], UOp | None] | None = (
            repeated_constant if kind == "Const" else repeated_scalar if self.about_shapes else None
        )
        if name in self.binds and kind not in ("Range", "Tensor"):
            if see is None:
                return lambda node, bound: node is bound[name]
            return lambda node, bound: see(node) is bound[name]
        self.binds.add(name)
        if kind == "Range":
            return reductions.range_variable(self, name)
        has_right_dtype = self.dtype_of_variable(name)
        if kind == "Tensor":
            return self._tensor(name, has_right_dtype)
        if kind == "Interval":
            self._bounds_late(name)

        def step(node: UOp, bound: Binding) -> bool:
            seen: UOp | None = node if see is None else see(node)
            if seen is None or seen.shape is None or not has_right_dtype(seen, bound):
                return False
            bound[name] = seen
            return True

        return step

    def _tensor(self, name: str, has_right_dtype: Step) -> Step:
        sizes = named_sizes(self.stated.kinds[name])
        steps = [self.size(s) for s in sizes]

        def step(node: UOp, bound: Binding) -> bool:
            if node.shape is None or len(node.shape) > self.most or not has_right_dtype(node, bound):
                return False
            if sizes and not every_step(steps, node.shape, bound):
                return False
            return bound.setdefault(name, node) is node

        return step

    def dtype_of_variable(self, name: str) -> Step:
        """The step that compares a node's dtype with that of a variable."""
        kind = self.stated.kinds[name]
        fixed = [n for n in kind.inside if isinstance(n, DType)]
        if kind.kind in ("Bool", "Size") or fixed:
            wanted = fixed[0] if fixed else bool_ if kind.kind == "Bool" else index
            return lambda node, bound: node.dtype is wanted
        variables = [str(n) for n in kind.inside if self._is_dtype_variable(n)]
        if not variables:
            dtypes = self.dtypes
            return lambda node, bound: (
                node.dtype in dtypes and bound.setdefault(DTYPE, node.dtype) is node.dtype
            )
        step = self._dtype_variable(variables[0])
        return lambda node, bound: step(node.dtype, bound)

    def _is_dtype_variable(self, name: object) -> bool:
        kind = self.stated.kinds.get(name) if isinstance(name, str) else None
        return kind is not None and kind.kind == "DTypeVar"

    def is_dtype_of_rule(self, dtype: DType, bound: Binding) -> bool:
        """Whether this is the rule's dtype, which it becomes if that is not bound yet."""
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
        wanted: dict[DType, UOp | None] = {d: number_at(number, d) for d in all_dtypes}

        def step(node: UOp, bound: Binding) -> bool:
            seen = repeated_constant(node)
            if seen is None:
                return False
            number = wanted[seen.dtype]
            same = seen is number or (seen.tag is not None and number is not None and seen.arg == number.arg)
            return same and (typed or self.is_dtype_of_rule(seen.dtype, bound))

        return step

    def computed(self, term: Term, path: Path) -> Step:
        """The step for a scalar that the other variables determine: compared when they are bound."""

        def late(root: UOp, env: Env, facts: Facts) -> bool:
            return repeated_scalar(node_at(root, path)) is build(term, env)

        self.late.append(late)
        return lambda node, bound: repeated_scalar(node) is not None

    # conversions and movement

    def _conversion(self, op: Op, args: tuple[Any, ...], path: Path) -> Step:
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

    def _dtype_argument(self, term: Any, path: Path) -> Step:
        if isinstance(term, DType):
            return lambda dtype, bound: dtype is term
        if term.head == "var":
            return self._dtype_variable(term.args[0])
        self.late.append(lambda root, env, facts: node_at(root, path).arg is build_dtype(term, env))
        return anything

    def _rearrangement(self, op: Op, args: tuple[Any, ...], path: Path) -> Step:
        inner = self.whole(args[0], (*path, 0))
        arrangement = self._arrangement(op, args[1], path)
        return lambda node, bound: (
            node.op is op and inner(node.src[0], bound) and arrangement(node.arg, bound)
        )

    def _arrangement(self, op: Op, term: Any, path: Path) -> Step:
        if not isinstance(term, Term):
            return lambda arg, bound: arg == tuple(term)
        if term.head == "var":
            name = term.args[0]
            self.binds.add(name)
            return lambda arg, bound: len(arg) <= self.most and bound.setdefault(name, arg) == arg

        def late(root: UOp, env: Env, facts: Facts) -> bool:
            arg = node_at(root, path).arg
            made = build_perm(term, env) if op is Op.Permute else build_flags(term, env, len(arg))
            return bool(arg == made)

        self.late.append(late)
        return anything

    def _resizing(self, op: Op, args: tuple[Any, ...], path: Path) -> Step:
        inner = self.whole(args[0], (*path, 0))
        vectors = [self.vector(v, partial(_sizes_below, path, k)) for k, v in enumerate(args[1:], 1)]
        return lambda node, bound: (
            node.op is op
            and inner(node.src[0], bound)
            and every_step(vectors, [_sizes(node, k) for k in range(1, len(node.src))], bound)
        )

    def vector(self, term: Term, found: Callable[[UOp], Shape]) -> Step:
        """The step for a shape, an offset or a stride, which is `found` again from the root of a match."""
        if term.head == "var":
            name = term.args[0]
            self.binds.add(name)
            return lambda sizes, bound: (
                len(sizes) <= self.most
                and (bound.setdefault(name, sizes) is sizes or same_shape(bound[name], sizes) is True)
            )
        if term.head == "entries":
            steps = [self._entry(e, found, k) for k, e in enumerate(term.args)]
            return lambda sizes, bound: every_step(steps, sizes, bound)

        def late(root: UOp, env: Env, facts: Facts) -> bool:
            sizes = found(root)
            return same_shape(build_vector(term, env, len(sizes)), sizes) is True

        self.late.append(late)
        return lambda sizes, bound: len(sizes) <= self.most

    def _entry(self, term: Term, found: Callable[[UOp], Shape], axis: int) -> Step:
        """The step for one number of a vector: known, bound, or compared late where it is computed."""
        if term.head in ("literal", "var"):
            return self.size(int(term.args[0]) if term.head == "literal" else term.args[0])

        def late(root: UOp, env: Env, facts: Facts) -> bool:
            return equal(as_size(build(term, env, const(0, index))), found(root)[axis]) is True

        self.late.append(late)
        return anything

    def size(self, name: object) -> Step:
        """The step for a size: a number, or a variable."""
        if isinstance(name, int):
            return lambda size, bound: equal(size, name) is True
        self.binds.add(str(name))
        return lambda size, bound: equal(bound.setdefault(str(name), as_node(size)), size) is True


_CHEAPEST_FIRST: dict[str | Op, int] = {"literal": 1, "var": 2}
"""Ops on the left side are compared first, then numbers, then variables, which match most nodes."""


def _has_shape(term: Term) -> bool:
    """Whether a term may be more than a scalar."""
    if isinstance(term, Tensor) or term.head in _SHAPING:
        return True
    return any(_has_shape(a) for a in term.args if isinstance(a, Value) and term.head not in _OF_VECTORS)


def _said(term: Term, sort: Sort) -> Term:
    """What a word stands for at a sort of dtypes."""

    def number(n: int, beside: Term) -> Term:
        return value(n)

    made = SPELLED[term.head](sort, apply, number, *term.args, *times_of(term.head, term.args))
    assert isinstance(made, Term)
    return made


def _all_sources(op: Op, steps: list[tuple[int, Step]]) -> Step:
    """The step for an op whose sources are compared in the given order."""
    if len(steps) == 2:
        (i, first), (k, second) = steps
        return lambda node, bound: node.op is op and first(node.src[i], bound) and second(node.src[k], bound)
    return lambda node, bound: node.op is op and all(step(node.src[k], bound) for k, step in steps)


def _sizes(node: UOp, position: int) -> Shape:
    sizes = sizes_of(node.src[position])
    assert sizes is not None
    return sizes


def _sizes_below(path: Path, position: int, root: UOp) -> Shape:
    return _sizes(node_at(root, path), position)


def number_at(number: Any, dtype: DType) -> UOp | None:
    """The constant that a bare number is at a dtype; None where it is none."""
    if dtype is bool_ and number not in (0, 1):
        return None
    if not dtype.is_float and isinstance(number, float) and not number.is_integer():
        return None
    return const(element_of(number, dtype), dtype)
