"""
Instances of a rule
===================

`goals` enumerates the typed instances of a rule: its dtypes, ranks, permutations, flags, sets of axes and ops. An
instance has Params for the rule's variables, so that proving it is a statement about two UOps under hypotheses. A range
that a reduction of the left side closes is a Range; a Body is a Param with one axis for each of its ranges, indexed at
them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import reduce
from itertools import permutations
from itertools import product as combinations
from typing import Any

from soundline.spec.dtypes import DType, all_dtypes, bool_, float32, index, int32, zero_of
from soundline.spec.errors import IllFormed, RuleError
from soundline.spec.ops.elementwise.shifts import STANDS_FOR_A_CONSTANT
from soundline.spec.ops.node import AxisType, Op, Shape, UOp
from soundline.spec.ops.sizes import as_node
from soundline.spec.ops.table.entries import group_of
from soundline.spec.rules import ranks
from soundline.spec.rules.building import (
    Abstraction,
    Env,
    NoInstance,
    build,
    build_dtype,
    build_vector,
)
from soundline.spec.rules.choices import Static
from soundline.spec.rules.deciding import decide
from soundline.spec.rules.kinds import SIZED, ranges_of
from soundline.spec.rules.language import Rule, default_dtypes, is_boolean
from soundline.spec.rules.notation import Term, Variable, named_sizes, show
from soundline.spec.rules.ranges import reduced_ranges
from soundline.spec.rules.terms import FOLDS, Tensor, subterms
from soundline.spec.uop import const, loop, param
from soundline.spec.values.elementwise import ELEMENTWISE

__all__ = [
    "MAX_RANK",
    "Env",
    "Goal",
    "build",
    "build_dtype",
    "build_vector",
    "conjunction",
    "decide",
    "dtypes_of",
    "goals",
    "is_about_shapes",
    "ops_for",
    "shape_dtypes",
]

MAX_RANK = 4
"""Symbolic-shape rules are instantiated at ranks 0 … MAX_RANK."""


OPS = ("UnaryOp", "BinaryOp", "Monoid")
ARRANGEMENTS = ("Perm", "Flags", "Axes")
CHOSEN = (*ARRANGEMENTS, "DTypeVar", *OPS)
"""The kinds of variables of which an instance chooses one value."""


@dataclass(frozen=True)
class Goal:
    """One instance of a rule: prove that `right` is as valid as `left` and equal to it, under the hypotheses."""

    rule: Rule
    env: Env
    variables: dict[str, UOp]
    """The Params at the leaves, by name; bounds of an Interval are ``x.lo`` and ``x.hi``, axes ``x.shape[0]``."""
    hypotheses: tuple[UOp, ...]
    """Bool scalars that may be assumed."""
    fits: tuple[UOp, ...]
    """Integer expressions none of whose operations wraps, by assumption."""
    left: UOp
    right: UOp | IllFormed
    """An error where the right side is refused for this instance though the left side is not."""

    @property
    def label(self) -> str:
        """The choices that make this instance, for messages."""
        chosen = [f"dtype {self.env.dtype}"]
        for name, kind in self.rule.kinds.items():
            if kind.kind in CHOSEN:
                chosen.append(f"{name} = {_choice_text(kind.kind, self.env.bound[name])}")
            elif kind.kind in ("Tensor", "Shape", "Offset"):
                shape = self.env.bound[name].shape if kind.kind == "Tensor" else self.env.bound[name]
                chosen.append(f"rank of {name} {len(shape)}")
        return ", ".join(chosen)


def _choice_text(kind: str, value: Any) -> str:
    if kind == "Axes":
        return f"{{{', '.join(str(k) for k, member in enumerate(value) if member)}}}"
    return str(value.name if isinstance(value, Op) else value)


# instances --------------------------------------------------------------------------------------------------------


def goals(
    stated: Rule,
    dtype: DType,
    max_rank: int = MAX_RANK,
    skip: Callable[[dict[str, Any]], bool] = lambda chosen: False,
) -> Iterator[Goal]:
    """The instances of a rule at one dtype, simplest first, that its static conditions admit.

    `skip` leaves out instances by what was chosen for them: ops, permutations, flags, dtypes and, as ``rank of``,
    ranks.

    An instance whose left side is ill-formed is no instance. Raises ``RuleError``, with file and line, where a rule is
    ill-typed: its right side, or a condition, does not exist at a dtype for which the rule was declared, or known
    ranks clash.
    """
    try:
        yield from _goals(stated, dtype, max_rank, skip)
    except RuleError as error:
        raise _located(error, stated) from None


def _located(error: RuleError, stated: Rule) -> RuleError:
    """An error about a rule, which says where the rule stands."""
    line = error.line or stated.line
    return RuleError(
        error.message, file=stated.file, line=line, rule=error.rule or stated.id, hint=error.hint
    )


def _goals(
    stated: Rule, dtype: DType, max_rank: int, skip: Callable[[dict[str, Any]], bool]
) -> Iterator[Goal]:
    leaves_of: dict[tuple[object, ...], _Leaves] = {}
    for bound in _choices(stated, dtype, max_rank):
        if skip(bound):
            continue
        decisive = (*bound["rank of"].values(), *(bound[n] for n in _names(stated, "DTypeVar")))
        if decisive not in leaves_of:
            leaves_of = {decisive: _leaves(stated, Env(dtype, bound))}
        leaves = leaves_of[decisive]
        env = Env(dtype, {**bound, **leaves.bound}, len(stated.kinds))
        if all(decide(c, env) for c in stated.given if isinstance(c, Static)):
            goal = _goal(stated, env, leaves)
            if goal is not None:
                yield goal


def dtypes_of(stated: Rule) -> tuple[DType, ...]:
    """The dtypes at which a rule is to be proved; bool alone where it has only bool values."""
    return (bool_,) if is_boolean(stated) else default_dtypes(stated)


def is_about_shapes(stated: Rule) -> bool:
    """Whether a rule has tensors with symbolic shapes, or reductions, which make a value of many."""
    if any(k.kind in ranks.RANKED for k in stated.kinds.values()):
        return True
    terms = (stated.left, stated.right, *stated.given)
    return any(t.head in _STRUCTURE for top in terms for t in subterms(top))


_STRUCTURE = frozenset((*group_of("movement"), Op.Reduce, "over", "body", "fill", "invalid")) - {Op.Bitcast}
"""The heads of terms that are more than an element computed from elements."""


def _names(stated: Rule, *kinds: str) -> list[str]:
    """The variables of these kinds, in the order of their declaration."""
    return [name for name, kind in stated.kinds.items() if kind.kind in kinds]


def _choices(stated: Rule, dtype: DType, max_rank: int) -> Iterator[dict[str, Any]]:
    """Every way to choose dtype variables, ops, ranks, permutations and flags; ranks from 0 up."""
    dtype_names, op_names = _names(stated, "DTypeVar"), _names(stated, *OPS)
    ranked = ranks.rank_classes(stated)
    dtype_options = [stated.dtype_classes.get(n, all_dtypes) for n in dtype_names]
    op_options = [ops_for(stated.kinds[n].kind, dtype) for n in op_names]
    for chosen_ranks in ranks.assignments(ranked, max_rank):
        shaped = _names(stated, *ARRANGEMENTS)
        options = [_arrangements(stated.kinds[n].kind, chosen_ranks[n]) for n in shaped]
        for picked in combinations(*dtype_options, *op_options, *options):
            yield {
                **dict(zip((*dtype_names, *op_names, *shaped), picked, strict=True)),
                "rank of": chosen_ranks,
            }


def ops_for(kind: str, dtype: DType) -> tuple[Op, ...]:
    """The elementwise ops of one or two operands that keep this dtype and have a value; for a
    Monoid, its reductions.
    """
    if kind == "Monoid":
        return tuple(op for op in FOLDS if not (op is Op.Add and dtype is bool_))
    operands = (const(zero_of(dtype), dtype),) * (1 if kind == "UnaryOp" else 2)
    return tuple(
        op
        for op in (*group_of("elementwise", "decomposed"),)
        if op in ELEMENTWISE
        and op is not Op.Cast
        and _keeps(op, operands)
        and not _is_by_constants(op, dtype)
    )


def _is_by_constants(op: Op, dtype: DType) -> bool:
    """Whether the second operand of an op is a constant, so that it is no op of two values."""
    return dtype is index and op in (Op.Shl, Op.Shr)


def _keeps(op: Op, operands: tuple[UOp, ...]) -> bool:
    try:
        return UOp(op, operands).dtype is operands[0].dtype
    except IllFormed:
        return False


def _arrangements(kind: str, rank: int) -> list[tuple[Any, ...]]:
    if kind == "Perm":
        return list(permutations(range(rank)))
    return list(combinations((False, True), repeat=rank))


def _goal(stated: Rule, env: Env, leaves: _Leaves) -> Goal | None:
    """The instance of these choices; None where it is none."""
    try:
        left = build(stated.left, env)
    except NoInstance:
        return None
    except IllFormed as refusal:
        _refuse(stated, env, refusal)
        return None
    try:
        right: UOp | IllFormed = build(stated.right, env, left)
    except NoInstance:
        return None
    except IllFormed as refusal:
        if not is_about_shapes(stated) or _is_typing(refusal):
            _refuse(stated, env, refusal)
            return None
        right = refusal
    conditions = [c for c in stated.given if not isinstance(c, Static)]
    try:
        fits = tuple(build(c.args[0], env) for c in conditions if c.head == "fits")
        assumed = tuple(build(c, env) for c in conditions if c.head != "fits")
    except NoInstance:
        return None
    except IllFormed as refusal:
        _refuse(stated, env, refusal)
        return None
    for condition, node in zip([c for c in conditions if c.head != "fits"], assumed, strict=True):
        if node.dtype is not bool_ or node.shape != ():
            raise RuleError(f"the condition {show(condition)} is {node.dtype}, not a bool scalar")
    return Goal(stated, env, leaves.variables, (*leaves.hypotheses, *assumed), fits, left, right)


def _is_typing(refusal: IllFormed) -> bool:
    return "dtype" in refusal.wants or "bool" in refusal.wants or "float" in refusal.wants


def _refuse(stated: Rule, env: Env, refusal: IllFormed) -> None:
    """No instance where the dtypes are all dtypes or the shape is refused; an ill-typed rule where they were named."""
    declared = stated.dtypes is not None and all(
        n in stated.dtype_classes for n, k in stated.kinds.items() if k.kind == "DTypeVar"
    )
    if declared and (not is_about_shapes(stated) or _is_typing(refusal)):
        raise RuleError(
            f"ill-typed at dtype {env.dtype}: {refusal.op} requires: {refusal.wants}",
            rule=refusal.rule,
            hint="leave that dtype out of dtypes=[…], or cast",
        )


@dataclass
class _Leaves:
    """Params for the variables of an instance, and what is known of them."""

    bound: dict[str, Any] = field(default_factory=dict)
    variables: dict[str, UOp] = field(default_factory=dict)
    hypotheses: list[UOp] = field(default_factory=list)

    constants: frozenset[str] = frozenset()
    """The variables for which constants stand, since an index is shifted by them."""

    def param(self, name: str, dtype: DType, shape: Shape = ()) -> UOp:
        node = param(len(self.variables), dtype, shape)
        if dtype is index and re.split(r"[.[]", name)[0] in self.constants:
            node = UOp(node.op, node.src, node.arg, STANDS_FOR_A_CONSTANT)
        self.variables[name] = node
        return node

    def sizes(self, name: str, rank: int, *, natural: bool) -> Shape:
        sizes = tuple(self.param(f"{name}[{k}]", index) for k in range(rank))
        if natural:
            self.hypotheses += [UOp(Op.CmpLe, (const(0, index), s)) for s in sizes]
        return sizes


def _leaves(stated: Rule, env: Env) -> _Leaves:
    leaves = _Leaves(constants=_counts(stated))
    chosen_ranks = env.bound["rank of"]
    for name, kind in stated.kinds.items():
        dtype = declared_dtype(kind, env)
        match kind.kind:
            case "Value" | "Const":
                leaves.bound[name] = leaves.param(name, dtype)
            case "Bool":
                leaves.bound[name] = leaves.param(name, bool_)
            case "Size":
                leaves.bound[name] = leaves.param(name, index)
                leaves.hypotheses.append(UOp(Op.CmpLe, (const(0, index), leaves.bound[name])))
            case "Interval":
                _interval(leaves, name, dtype)
            case "Shape" | "Offset":
                leaves.bound[name] = leaves.sizes(name, chosen_ranks[name], natural=kind.kind == "Shape")
    for number, name in enumerate(_names(stated, "Range")):
        leaves.bound[name] = _range(leaves, name, stated, number)
    for name in _names(stated, "Body"):
        leaves.bound[name] = _body(leaves, name, stated, declared_dtype(stated.kinds[name], env))
    for name, kind in stated.kinds.items():
        if kind.kind == "Tensor":
            sizes = _tensor_sizes(leaves, name, named_sizes(kind), chosen_ranks[name])
            leaves.bound[name] = leaves.param(name, declared_dtype(kind, env), sizes)
    return leaves


def _counts(stated: Rule) -> frozenset[str]:
    """The variables that stand in the counts of shifts."""
    terms = (stated.left, stated.right, *stated.given)
    shifts = (t for top in terms for t in subterms(top) if t.head in (Op.Shl, Op.Shr))
    return frozenset(t.args[0] for s in shifts for t in subterms(s.args[1]) if t.head == "var")


def _tensor_sizes(leaves: _Leaves, name: str, inside: tuple[object, ...], rank: int) -> Shape:
    if not inside:
        return leaves.sizes(f"{name}.shape", rank, natural=True)
    return tuple(s if isinstance(s, int) else leaves.bound[str(s)] for s in inside)


def _range(leaves: _Leaves, name: str, stated: Rule, number: int) -> UOp:
    """A Range where a reduction closes it; elsewhere an index of which only the bounds are known."""
    (size,) = stated.kinds[name].inside
    end = size if isinstance(size, int) else leaves.bound[str(size)]
    if name in reduced_ranges(stated.left):
        return loop(end, number, AxisType.REDUCE)
    index_ = leaves.param(name, index)
    leaves.hypotheses += [UOp(Op.CmpLe, (const(0, index), index_)), UOp(Op.CmpLt, (index_, as_node(end)))]
    return index_


def _body(leaves: _Leaves, name: str, stated: Rule, dtype: DType) -> Abstraction:
    """An unknown table that is read at the ranges on which the expression depends."""
    names = ranges_of(stated.kinds[name], stated.kinds)
    ends = [stated.kinds[r].inside[0] for r in names]
    sizes = tuple(e if isinstance(e, int) else leaves.bound[str(e)] for e in ends)
    ranges = tuple(leaves.bound[r] for r in names)
    return Abstraction(UOp(Op.Index, (leaves.param(name, dtype, sizes), *ranges)), ranges)


def _interval(leaves: _Leaves, name: str, dtype: DType) -> None:
    x, lo, hi = (leaves.param(n, dtype) for n in (name, f"{name}.lo", f"{name}.hi"))
    leaves.bound |= {name: x, f"{name}.lo": lo, f"{name}.hi": hi}
    leaves.hypotheses += [UOp(Op.CmpLe, (lo, x)), UOp(Op.CmpLe, (x, hi))]


def declared_dtype(kind: Variable, env: Env) -> DType:
    """The dtype of a variable: what its annotation says, else that of the rule."""
    named = [n for n in kind.inside if isinstance(n, DType)]
    if named:
        return named[0]
    if kind.kind in SIZED:
        return env.dtype
    variables = (env.bound.get(n) for n in kind.inside if isinstance(n, str))
    return next((d for d in variables if isinstance(d, DType)), env.dtype)


def shape_dtypes(stated: Rule) -> tuple[DType, ...]:
    """The dtypes whose instances stand for all: one where a rule only moves elements, else every one.

    A rule that only moves elements does not depend on their values, so a proof at one dtype is a proof at each.
    """
    kinds = {kind.kind for kind in stated.kinds.values()} <= {
        "Tensor",
        "Shape",
        "Offset",
        "Perm",
        "Flags",
        "Axes",
        "Size",
    }
    if kinds and _only_moves(stated.left) and _only_moves(stated.right):
        return (int32,)
    return (int32, float32, bool_, *(d for d in all_dtypes if d not in (int32, float32, bool_)))


def _only_moves(term: Term) -> bool:
    """Whether a value term is a tensor under movement ops and markers."""
    if term.head == "var":
        return isinstance(term, Tensor)
    return term.head in (*_VIEWS, *group_of("marker")) and _only_moves(term.args[0])


_VIEWS = (Op.Permute, Op.Flip, Op.Reshape, Op.Expand, Op.Pad, Op.Shrink)


def conjunction(conditions: tuple[UOp, ...]) -> UOp:
    """All the conditions as one bool scalar."""
    return reduce(lambda a, b: UOp(Op.And, (a, b)), conditions, const(True, bool_))
