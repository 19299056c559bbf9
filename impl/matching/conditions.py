"""
Deciding a rule's conditions
============================

A rule is applied where its conditions are known to hold of the nodes that were matched. Static conditions are decided
by the law; conditions on constants are computed by the scalar laws; conditions on bounds, sizes and other values are
decided by intervals and by comparing sizes as polynomials. What cannot be decided does not hold.
"""

from __future__ import annotations

import math

from soundline.impl.analysis.facts import Facts
from soundline.spec.dtypes import DType, Element, bool_, index, zero_of
from soundline.spec.evaluate import evaluate
from soundline.spec.ops import sizes
from soundline.spec.ops.bounds import Bounds
from soundline.spec.ops.node import Op, UOp
from soundline.spec.rules.building import Env, build, has_dtype
from soundline.spec.rules.deciding import decide
from soundline.spec.rules.spellings import SPELLED
from soundline.spec.rules.terms import Static, Term
from soundline.spec.uop import const, element_of
from soundline.spec.values.elementwise import scalar

Ends = tuple[int, int]
"""The ends of an interval of mathematical integers."""


_COMPARISONS = (Op.CmpLt, Op.CmpLe, Op.CmpGt, Op.CmpGe, Op.CmpEq, Op.CmpNe)
_COMPUTED = frozenset(
    (*_COMPARISONS, Op.And, Op.Or, Op.Not, Op.Add, Op.Sub, Op.Mul, Op.Neg, Op.Idiv, Op.Mod, Op.Shl)
)
"""The ops of which conditions on constants are made."""


def holds(condition: Term, env: Env, facts: Facts) -> bool:
    """Whether a condition of a rule is known to hold of what the variables are bound to."""
    if isinstance(condition, Static):
        return decide(condition, env)
    if condition.head == "fits":
        return _exact_ends(condition.args[0], env, facts) is not None
    value = _computed(condition, env, bool_)
    return value if isinstance(value, bool) else is_always(build(condition, env), True, facts)


def _computed(term: Term, env: Env, dtype: DType) -> Element | None:
    """The value of a term over constants and bounds, by the scalar laws; None where other values are in it.

    `dtype` is that of a bare number. It agrees with `building.build`, which makes the node that is computed here.
    """
    head, args = term.head, term.args
    if head == "literal":
        number = args[0]
        return element_of(number, dtype) if dtype.is_float or float(number).is_integer() else None
    if head in ("var", "lo", "hi"):
        name = args[0] if head == "var" else f"{args[0].args[0]}.{head}"
        node = env.bound[name]
        return node.arg.value if isinstance(node, UOp) and node.op is Op.Const else None
    if head not in _COMPUTED and head not in SPELLED:
        return None
    own = next((d for a in args if has_dtype(a) and (d := _dtype_of(a, env)) is not None), None)
    operands = own or (env.dtype if dtype is bool_ else dtype)
    values = [_computed(a, env, operands) for a in args]
    known = [v for v in values if v is not None]
    if head in SPELLED and len(known) == len(values):
        return evaluate(build(term, env, const(zero_of(dtype), dtype)), {}).item()
    return scalar(head, operands, *known) if isinstance(head, Op) and len(known) == len(values) else None


def _dtype_of(term: Term, env: Env) -> DType | None:
    """The dtype of a term over constants and bounds."""
    if term.head in _COMPARISONS:
        return bool_
    if term.head in ("var", "lo", "hi"):
        node = env.bound[term.args[0] if term.head == "var" else term.args[0].args[0]]
        return node.dtype if isinstance(node, UOp) else None
    inside = (_dtype_of(a, env) for a in term.args if isinstance(a, Term) and has_dtype(a))
    return next((d for d in inside if d is not None), None)


def is_always(node: UOp, value: bool, facts: Facts) -> bool:
    """Whether every element of a bool node is known to be `value`."""
    known = facts.bounds(node)
    if known is not None and known.lo == known.hi == value:
        return True
    match node.op:
        case Op.Not:
            return is_always(node.src[0], not value, facts)
        case Op.And | Op.Or:
            every = (node.op is Op.And) is value
            return (all if every else any)(is_always(s, value, facts) for s in node.src)
    if node.op in _BY_GAP and node.src[0].dtype is index and node.shape == ():
        return _by_gap(node) is value
    return False


_BY_GAP = {
    Op.CmpLt: lambda gap: gap < 0,
    Op.CmpLe: lambda gap: gap <= 0,
    Op.CmpGt: lambda gap: gap > 0,
    Op.CmpGe: lambda gap: gap >= 0,
    Op.CmpEq: lambda gap: gap == 0,
    Op.CmpNe: lambda gap: gap != 0,
}


def _by_gap(node: UOp) -> bool | None:
    """A comparison of sizes, where they differ by a number that is the same for all values of their symbols."""
    gap = sizes.difference(*node.src)
    return None if gap is None else bool(_BY_GAP[node.op](gap))


# fits -------------------------------------------------------------------------------------------------------------


_NEVER_WRAP = (Op.Mod, Op.CMod, Op.Max, Op.And, Op.Or, Op.Xor)
"""Ops whose value lies in the range of their operands' dtype."""

_EXACT = (Op.Add, Op.Sub, Op.Neg, Op.Mul, Op.Mulacc, Op.Idiv, *_NEVER_WRAP)
"""The ops whose exact ends are known here."""


def _exact_ends(term: Term, env: Env, facts: Facts) -> Ends | None:
    """An interval of the exact value of an integer expression in which no operation can wrap; None if one might."""
    node = build(term, env)
    known = _ends(facts.bounds(node))
    if node.dtype is index:
        return known or (0, 0)
    if term.head in SPELLED:
        return None  # what it stands for may wrap
    if not isinstance(term.head, Op):
        return known
    if term.head not in _EXACT:
        return None  # a conversion, for example, may wrap, and joins two dtypes
    inside = [_exact_ends(a, env, facts) for a in term.args]
    ends = [e for e in inside if e is not None]
    if len(ends) < len(inside):
        return None
    return _in_range(_combined(term.head, ends, known, node.dtype), node.dtype)


def _ends(known: Bounds | None) -> Ends | None:
    if known is None or math.isinf(known.lo) or math.isinf(known.hi):
        return None
    return int(known.lo), int(known.hi)


def _in_range(ends: Ends | None, dtype: DType) -> Ends | None:
    return ends if ends is not None and dtype.min <= ends[0] and ends[1] <= dtype.max else None


def _combined(op: Op, ends: list[Ends], known: Ends | None, dtype: DType) -> Ends | None:
    """The exact ends of an op from those of its operands; `known` bounds its value, wrapped or not."""
    (a, b), (c, d) = ends[0], ends[-1]
    match op:
        case Op.Add:
            return a + c, b + d
        case Op.Sub:
            return a - d, b - c
        case Op.Neg:
            return -b, -a
        case Op.Mul:
            return _product(ends[0], ends[1])
        case Op.Mulacc:
            product = _in_range(_product(ends[0], ends[1]), dtype)
            return (product[0] + c, product[1] + d) if product is not None else None
        case Op.Idiv:
            return None if a == dtype.min and c <= -1 <= d else known
    return known


def _product(first: Ends, second: Ends) -> Ends:
    corners = [x * y for x in first for y in second]
    return min(corners), max(corners)
