"""
Procedural rules
================

What no fixed pattern says: sums of any number of terms, and the gcd of their coefficients. Nothing here is proved as a
whole; the engine has each application validated by the court before it is kept.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from soundline.impl.analysis.facts import repeated_constant
from soundline.impl.analysis.folding import repeat
from soundline.impl.analysis.linear import COMPARED, Linear, linear, order_key, written
from soundline.spec.dtypes import bool_, index
from soundline.spec.ops.node import AxisType, Op, UOp
from soundline.spec.ops.sizes import conjuncts
from soundline.spec.rules.procedures import Knowledge, procedure
from soundline.spec.uop import const


@procedure(Op.Add, Op.Sub, Op.Neg, Op.Mul)
def collect_terms(node: UOp, known: Knowledge) -> UOp | None:  # it asks nothing
    """Like terms of a sum are added up, however far apart they stand: 2x + y + 3x is 5x + y.

    A sum that takes as many operations in the fixed order of its terms is brought into that order, so that equal
    sums become one node.
    """
    if node.dtype is not index and not node.dtype.is_int:
        return None
    found, (steps, places) = linear(node), written(node)
    shorter = (found.steps, len(found.terms)) < (steps, places)
    if not shorter and (found.steps > steps or not _is_chain(node, len(found.terms))):
        return None
    made = found.node()
    return None if made is node else made


def _is_chain(node: UOp, count: int) -> bool:
    """Whether a node is a sum or difference of so many terms, each scaled at most once, in any order."""
    if node.op not in (Op.Add, Op.Sub):
        return False
    seen, stack = 0, [node]
    while stack:
        top = stack.pop()
        if top.op in (Op.Add, Op.Sub) and repeated_constant(top) is None:
            stack += top.src
        elif repeated_constant(top) is None:
            seen += 1
    return seen == count


@procedure(Op.Idiv, Op.Mod)
def fold_common_factor(node: UOp, known: Knowledge) -> UOp | None:
    """Quotients and remainders of sums: whole rows come out, and a factor of divisor and coefficients goes.

    (12x + 6y + 5) // 6 is 2x + y, (20x + y) % 19 is (x + y) % 19, and (4x + 2y + 1) % 6 is (2x + y) % 3 * 2 + 1. What
    is left over must be known to stay within one step of the factor; a number below the factor always does.
    """
    divisor = repeated_constant(node.src[1])
    if node.dtype is not index or divisor is None or divisor.arg.value < 2:
        return None
    return _folded(node, int(divisor.arg.value), known)


def _folded(node: UOp, d: int, known: Knowledge) -> UOp | None:
    whole = linear(node.src[0])
    parts = {t: (_toward_zero(c, d), c - d * _toward_zero(c, d)) for t, c in whole.terms.items()}
    rows = {t: quotient for t, (quotient, _) in parts.items() if quotient}
    rest = whole.of({t: left for t, (_, left) in parts.items() if left}, whole.number % d)
    out = whole.of(rows, whole.number // d)
    if not rest.terms:
        return out.node() if node.op is Op.Idiv else rest.node()
    for factor in _factors(rest, d):
        inner = {t: c for t, c in rest.terms.items() if c % factor == 0}
        over = rest.of({t: c for t, c in rest.terms.items() if c % factor}, rest.number)
        step = _one_step(over, factor, known)
        if step is not None:
            small = rest.of({t: c // factor for t, c in inner.items()}, step)
            left = over.of(over.terms, over.number - step * factor)
            return _joined(node, out, small, left, d // factor, factor)
    if not rows and whole.number == rest.number:
        return None
    if node.op is Op.Mod:
        return Op.Mod(rest.node(), node.src[1])
    return _sum(out, Op.Idiv(rest.node(), node.src[1]))


def _toward_zero(c: int, d: int) -> int:
    """How often a divisor goes into a coefficient; what is left has the sign of the coefficient."""
    return c // d if c >= 0 else -(-c // d)


def _factors(rest: Linear, d: int) -> Iterator[int]:
    """The factors of the divisor that divide some coefficient, largest first."""
    common = {math.gcd(c, d) for c in rest.terms.values()}
    found = common | {math.gcd(a, b) for a in common for b in common}
    yield from sorted((f for f in found if f > 1), reverse=True)


def _one_step(over: Linear, factor: int, known: Knowledge) -> int | None:
    """The number m with m·factor ≤ over < (m+1)·factor, if it is known."""
    ends = over.ends(known)
    if ends is None or math.inf in map(abs, ends):
        return None
    low, high = (int(e) // factor for e in ends)
    return low if low == high else None


def _joined(node: UOp, out: Linear, small: Linear, left: Linear, d: int, factor: int) -> UOp:
    """The quotient or remainder of factor·small + left by factor·d, beside the rows that came out."""
    by = repeat(const(d, index), node.shape or ())
    if node.op is Op.Idiv:
        return _sum(out, Op.Idiv(small.node(), by) if d > 1 else small.node())
    inner = Op.Mod(small.node(), by) if d > 1 else repeat(const(0, index), node.shape or ())
    scaled = out.of({inner: factor} if d > 1 else {}, 0)
    return scaled.plus(left).node()  # what is left over may have the same remainder in it


def _sum(out: Linear, rest: UOp) -> UOp:
    """Whole rows and the rest as one sum."""
    return out.plus(linear(rest)).node()


@procedure(*COMPARED)
def fold_comparison(node: UOp, known: Knowledge) -> UOp | None:
    """A comparison of indices whose difference is known well enough, once the terms that both sides share are gone."""
    if node.src[0].dtype is not index:
        return None
    gap = _difference(node)
    ends = gap.ends(known)
    decided = None if ends is None else COMPARED[node.op](*ends)
    if decided is None:
        return None
    return repeat(const(decided, bool_), node.shape or ())


def _difference(comparison: UOp) -> Linear:
    """The left side less the right one."""
    left, right = (linear(s) for s in comparison.src)
    return left.plus(right, -1)


@procedure(Op.CmpLe, Op.CmpLt, Op.CmpGt, Op.CmpGe)
def isolate_folded_range(node: UOp, known: Knowledge) -> UOp | None:  # it asks nothing
    """A comparison of indices as a bound of the innermost range that is reduced in it: low ≤ r, or r < high.

    Not among those that simplify: lowering asks for it where the bound of a reduction is wanted.
    """
    if node.src[0].dtype is not index or node.shape != ():
        return None
    gap = _difference(node)
    reduced = [t for t in gap.terms if t.op is Op.Range and t.arg.type is AxisType.REDUCE]
    r = max(reduced, key=lambda t: int(t.arg.id), default=None)
    if r is None or abs(gap.terms[r]) != 1:
        return None
    upward = node.op in (Op.CmpLe, Op.CmpLt)
    sign = gap.terms[r] if upward else -gap.terms[r]
    strict = node.op in (Op.CmpLt, Op.CmpGt)
    rest = {t: (c if sign < 0 else -c) * (1 if upward else -1) for t, c in gap.terms.items() if t is not r}
    number = (gap.number if sign < 0 else -gap.number) * (1 if upward else -1)
    if sign < 0:
        return Op.CmpLe(gap.of(rest, number + strict).node(), r)
    return Op.CmpLt(r, gap.of(rest, number + (not strict)).node())


Limits = tuple[float, float]


@procedure(Op.And)
def fold_gates(node: UOp, known: Knowledge) -> UOp | None:
    """Bounds of one index that stand together: the tighter of two is kept, and none is open where they exclude all."""
    if node.dtype is not bool_:
        return None
    gates = list(dict.fromkeys(conjuncts(node)))
    kept: list[UOp] = []
    limits: dict[tuple[tuple[UOp, int], ...], Limits] = {}
    for gate in sorted(gates, key=_tightness):
        read = _limit(gate)
        if read is None:
            kept.append(gate)
            continue
        form, low, high = read
        least, most = limits.get(form, (-math.inf, math.inf))
        if low <= least and high >= most:
            continue
        kept.append(gate)
        least, most = max(low, least), min(high, most)
        limits[form] = (least, most)
        if least > most:
            return repeat(const(False, bool_), node.shape or ())
    if len(kept) == len(gates):
        return None
    return _conjunction([g for g in gates if g in kept])


def _tightness(gate: UOp) -> tuple[int, float]:
    """A sort key that puts the tighter of two bounds first, and what is no bound last."""
    read = _limit(gate)
    if read is None:
        return 1, 0.0
    return 0, -read[1] if read[1] > -math.inf else read[2]


def _limit(gate: UOp) -> tuple[tuple[tuple[UOp, int], ...], float, float] | None:
    """A comparison of indices as bounds of a sum without a number: the sum, the least and the greatest value."""
    if gate.op not in (Op.CmpLt, Op.CmpLe, Op.CmpGt, Op.CmpGe) or gate.src[0].dtype is not index:
        return None
    gap = _difference(gate)
    terms = sorted(gap.terms.items(), key=lambda row: order_key(row[0]))
    if not terms:
        return None
    strict = gate.op in (Op.CmpLt, Op.CmpGt)
    sign = 1 if gate.op in (Op.CmpLt, Op.CmpLe) else -1
    if terms[0][1] < 0:
        form = tuple((t, -c) for t, c in terms)
        sign = -sign
        limit = gap.number
    else:
        form, limit = tuple(terms), -gap.number
    if sign > 0:
        return form, -math.inf, limit - strict
    return form, limit + strict, math.inf


def _conjunction(gates: list[UOp]) -> UOp:
    total = gates[0]
    for gate in gates[1:]:
        total = Op.And(total, gate)
    return total


PROCEDURES = (collect_terms, fold_common_factor, fold_comparison, fold_gates)
"""The procedures that are shipped, in the order in which they are tried."""
