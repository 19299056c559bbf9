"""
Presburger sets
===============

Where every product, quotient and remainder has a constant factor, a question about integers is one about Presburger
sets, and isl decides it by elimination, without any search. Programs of scalars are translated from their nodes,
integers of fixed width with their wrapping; Z3 terms are not used.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from soundline.spec.dtypes import DType, Element, bool_, index
from soundline.spec.ops.node import Op, UOp
from soundline.spec.ops.walks import filled
from soundline.spec.values.elementwise import operand_dtype
from soundline.verify.second.isl_planes import Outside, Plane, differ, isl
from soundline.verify.smt.goals.obligations import Obligation, scalar_sources, wrapping_nodes
from soundline.verify.smt.goals.points import Point


class Sets(Plane):
    """Translates scalar programs over integers and bools: numbers to functions of the variables, bools to sets."""

    def __init__(self, library: Any, context: Any, variables: Mapping[str, UOp]) -> None:
        super().__init__(library, context, len(variables))
        self._terms: dict[UOp, Any] = {}
        self.ranges = self.everywhere
        """What the dtypes of the variables admit."""
        for k, node in enumerate(variables.values()):
            self._terms[node] = self._variable(node.dtype, self.unknown(k))

    def _variable(self, dtype: DType, x: Any) -> Any:
        if dtype is bool_:
            self.ranges &= x.ge_set(self.number(0)) & x.le_set(self.number(1))
            return x.eq_set(self.number(1))
        if dtype.is_int:
            self.ranges &= self.within(dtype, x)
        elif dtype is not index:
            raise Outside(f"{dtype} is not an integer")
        return x

    def term(self, root: UOp) -> Any:
        """The function or set of a node."""
        return filled(self._terms, root, scalar_sources, lambda node: self._wrapped(node, self.exact(node)))

    def exact(self, node: UOp) -> Any:
        """The exact result of an op on its sources, not yet wrapped into its dtype."""
        if node.op is Op.Const:
            if node.dtype is bool_:
                return self.everywhere if node.arg.value else self.nowhere
            if node.dtype.is_float:
                raise Outside("a float is not an integer")
            return self.number(int(node.arg.value))
        if not node.src:
            raise Outside(f"{node.op.name} is not a variable of the rule")
        laws = BOOLS if operand_dtype(node) is bool_ else NUMBERS
        if node.op not in laws:
            raise Outside(f"{node.op.name} is not linear")
        return laws[node.op](self, node, [self.term(s) for s in node.src])

    def _wrapped(self, node: UOp, exact: Any) -> Any:
        dtype = node.dtype
        if not dtype.is_int or node.op in _IN_RANGE:
            return exact
        low = self.value(int(dtype.min))
        shifted = exact.add_constant_val(low.neg()).mod_val(self.value(1 << dtype.bits))
        return shifted.add_constant_val(low)


_IN_RANGE = frozenset((Op.Const, Op.Max, Op.Mod, Op.CMod, Op.Where))
"""Ops whose exact result never lies outside the dtype of their operands."""


Law = Callable[[Sets, UOp, list[Any]], Any]


def _literal(node: UOp) -> int:
    if node.op is not Op.Const:
        raise Outside("a divisor is a variable")
    return int(node.arg.value)


def _cmod(sets: Sets, node: UOp, s: list[Any]) -> Any:
    divisor = _literal(node.src[1])
    return s[0].sub(sets.toward_zero(s[0], divisor).scale_val(sets.value(divisor)))


def _shl(sets: Sets, node: UOp, s: list[Any]) -> Any:
    count = _literal(node.src[1])
    if not 0 <= count < (node.dtype.bits or 1 << 12):
        raise Outside("a count that is not a power")
    return s[0].scale_val(sets.value(1 << count))


def _where(sets: Sets, node: UOp, s: list[Any]) -> Any:
    if node.dtype is bool_:
        return (s[0] & s[1]) | (s[0].complement() & s[2])
    if not (node.dtype.is_int or node.dtype is index):
        raise Outside(f"{node.dtype} is not an integer")
    return sets.choice(s[0], s[1], s[2])


def _from_bool(sets: Sets, node: UOp, s: list[Any]) -> Any:
    if node.arg is bool_:
        return s[0]
    if node.arg.is_float:
        raise Outside("a float is not an integer")
    return sets.choice(s[0], sets.number(1), sets.number(0))


def _from_number(sets: Sets, node: UOp, s: list[Any]) -> Any:
    if node.arg is bool_:
        return s[0].ne_set(sets.number(0))
    if node.arg.is_float:
        raise Outside("a float is not an integer")
    return s[0]


NUMBERS: dict[Op, Law] = {
    Op.Add: lambda sets, node, s: s[0].add(s[1]),
    Op.Sub: lambda sets, node, s: s[0].sub(s[1]),
    Op.Neg: lambda sets, node, s: s[0].neg(),
    Op.Mul: lambda sets, node, s: s[0].mul(s[1]),
    Op.Mulacc: lambda sets, node, s: s[0].mul(s[1]).add(s[2]),
    Op.Max: lambda sets, node, s: sets.choice(s[0].ge_set(s[1]), s[0], s[1]),
    Op.Idiv: lambda sets, node, s: sets.floor(s[0], _literal(node.src[1])),
    Op.Mod: lambda sets, node, s: sets.rest(s[0], _literal(node.src[1])),
    Op.CDiv: lambda sets, node, s: sets.toward_zero(s[0], _literal(node.src[1])),
    Op.CMod: _cmod,
    Op.Shl: _shl,
    Op.Where: _where,
    Op.Cast: _from_number,
    Op.CmpLt: lambda sets, node, s: s[0].lt_set(s[1]),
    Op.CmpGt: lambda sets, node, s: s[0].gt_set(s[1]),
    Op.CmpLe: lambda sets, node, s: s[0].le_set(s[1]),
    Op.CmpGe: lambda sets, node, s: s[0].ge_set(s[1]),
    Op.CmpEq: lambda sets, node, s: s[0].eq_set(s[1]),
    Op.CmpNe: lambda sets, node, s: s[0].ne_set(s[1]),
}
"""What ops of numbers are, without the wrapping of their dtype."""


BOOLS: dict[Op, Law] = {
    Op.And: lambda sets, node, s: s[0] & s[1],
    Op.Mul: lambda sets, node, s: s[0] & s[1],
    Op.Or: lambda sets, node, s: s[0] | s[1],
    Op.Max: lambda sets, node, s: s[0] | s[1],
    Op.Xor: lambda sets, node, s: differ(s[0], s[1]),
    Op.CmpNe: lambda sets, node, s: differ(s[0], s[1]),
    Op.CmpEq: lambda sets, node, s: differ(s[0], s[1]).complement(),
    Op.CmpLt: lambda sets, node, s: s[1].subtract(s[0]),
    Op.CmpGt: lambda sets, node, s: s[0].subtract(s[1]),
    Op.CmpLe: lambda sets, node, s: s[0].subtract(s[1]).complement(),
    Op.CmpGe: lambda sets, node, s: s[1].subtract(s[0]).complement(),
    Op.Not: lambda sets, node, s: s[0].complement(),
    Op.Where: _where,
    Op.Cast: _from_bool,
}
"""What ops of bools are."""


@dataclass(frozen=True, slots=True)
class Decided:
    """Whether anything meets the premises, and a point at which the sides differ, where there is one."""

    applies: bool
    failing: Point | None


def decide(obligation: Obligation) -> Decided:
    """Whether an obligation is met, by sets alone. Raises `Outside` where it is not about Presburger sets."""
    with isl() as (library, context):
        sets = Sets(library, context, obligation.variables)
        premises = sets.ranges
        for hypothesis in obligation.hypotheses:
            premises &= sets.term(hypothesis)
        for node in wrapping_nodes(obligation.fits):
            sources = [sets.term(s) for s in node.src]
            premises &= sets.within(node.dtype, sets.exact(node))
            if node.op is Op.Mulacc:
                premises &= sets.within(node.dtype, sources[0].mul(sources[1]))
        left, right = sets.term(obligation.left), sets.term(obligation.right)
        if obligation.left.dtype is bool_:
            failing = premises & differ(left, right)
        else:
            failing = premises & left.ne_set(right)
        applies = not premises.is_empty()
        return Decided(applies, None if failing.is_empty() else _sample(library, failing, obligation))


def _sample(library: Any, points: Any, obligation: Obligation) -> Point:
    found = points.sample_point()
    numbers = [
        found.get_coordinate_val(library.dim_type.set, k).to_python()
        for k in range(len(obligation.variables))
    ]
    dtypes = [v.dtype for v in obligation.variables.values()]
    values: list[Element] = [bool(n) if d is bool_ else int(n) for d, n in zip(dtypes, numbers, strict=True)]
    return tuple(values)
