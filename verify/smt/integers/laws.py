"""
Laws of integers
================

What each op on whole numbers is as a term: sums and products of residues, everything else of the elements themselves;
and, inside `fits`, its exact result.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import z3

from soundline.spec.dtypes import DType, bool_, index
from soundline.spec.ops.node import Op, UOp
from soundline.spec.values.elementwise import ORDER, RING, exactly
from soundline.verify.smt.goals.algebra import Law, Outside
from soundline.verify.smt.goals.obligations import is_whole
from soundline.verify.smt.integers import bits
from soundline.verify.smt.integers.terms import Residue

if TYPE_CHECKING:
    from soundline.verify.smt.integers.algebra import IntegerAlgebra


def _ring(function: Callable[..., Any]) -> Law:
    """A sum or product: of residues where the dtype wraps."""

    def law(algebra: IntegerAlgebra, node: UOp) -> Residue:
        if node.dtype is index:
            return Residue(function(*(algebra.value(s) for s in node.src)), True)
        return Residue(function(*(algebra.residue(s) for s in node.src)), False)

    return law


def _exactly(function: Callable[..., Any]) -> Callable[[IntegerAlgebra, UOp], Any]:
    """The exact result, from the elements of the operands."""
    return lambda algebra, node: function(*(algebra.value(s) for s in node.src))


def _comparison(function: Callable[..., Any]) -> Law:
    return lambda algebra, node: function(*(algebra.value(s) for s in node.src))


def _maximum(algebra: IntegerAlgebra, node: UOp) -> Residue:
    a, b = (algebra.value(s) for s in node.src)
    return Residue(z3.If(a > b, a, b), True)


def _where(algebra: IntegerAlgebra, node: UOp) -> Any:
    return algebra.choice(algebra.value(node.src[0]), *(algebra.found(s) for s in node.src[1:]))


def _idiv(algebra: IntegerAlgebra, node: UOp) -> Residue:
    return _quotient(algebra, node, algebra.divide(*(algebra.value(s) for s in node.src)).q)


def _cdiv(algebra: IntegerAlgebra, node: UOp) -> Residue:
    return _quotient(algebra, node, _truncated(algebra, node)[0])


def _truncated(algebra: IntegerAlgebra, node: UOp) -> tuple[Any, Any]:
    """The truncating quotient of the sources of a node, and its remainder."""
    for source in node.src:
        if algebra.least(source) >= 0:
            algebra.truncated.is_natural(algebra.value(source))
    return algebra.truncated(*(algebra.value(s) for s in node.src))


def _quotient(algebra: IntegerAlgebra, node: UOp, q: Any) -> Residue:
    """A quotient leaves the range only as the least value by -1."""
    divisor = node.src[1]
    literal = divisor.op is Op.Const and divisor.arg.value != -1
    return Residue(q, not node.dtype.signed or node.dtype is index or literal or algebra.least(divisor) >= 0)


def _mod(algebra: IntegerAlgebra, node: UOp) -> Residue:
    a, b = (algebra.value(s) for s in node.src)
    if node in algebra.divisible:
        algebra.divide_exactly(a, b)
    return Residue(algebra.divide(a, b).r, True)


def _cmod(algebra: IntegerAlgebra, node: UOp) -> Residue:
    a, b = (algebra.value(s) for s in node.src)
    if node in algebra.divisible:
        algebra.divide_exactly(a, b)
    return Residue(_truncated(algebra, node)[1], True)


def _cast(algebra: IntegerAlgebra, node: UOp) -> Any:
    (source,) = node.src
    if node.arg is bool_:
        return algebra.value(source) != 0
    if node.arg.is_float or not is_whole(source.dtype):
        raise Outside("casts of floats among the integers")
    if _contains(node.arg, source.dtype):
        return Residue(algebra.value(source), True)
    if source.dtype is not index and node.arg.bits > source.dtype.bits:
        return Residue(algebra.value(source), False)
    return Residue(algebra.residue(source), False)


def _contains(target: DType, source: DType) -> bool:
    if target is index:
        return True
    return source is not index and target.min <= source.min and source.max <= target.max


def _bitcast(algebra: IntegerAlgebra, node: UOp) -> Residue:
    (source,) = node.src
    if not (source.dtype.is_int and node.arg.is_int):
        raise Outside("bitcasts of floats among the integers")
    return Residue(algebra.residue(source), False)


INTEGER_LAWS: dict[Op, Law] = {
    **{op: _ring(exactly(op)) for op in RING},
    **{op: _comparison(exactly(op)) for op in ORDER},
    Op.Max: _maximum,
    Op.Idiv: _idiv,
    Op.Mod: _mod,
    Op.CDiv: _cdiv,
    Op.CMod: _cmod,
    Op.Shl: bits.shl,
    Op.Shr: bits.shr,
    Op.And: bits.conjunction,
    Op.CmpEq: lambda algebra, node: algebra.equal(*node.src),
    Op.CmpNe: lambda algebra, node: z3.Not(algebra.equal(*node.src)),
    Op.Where: _where,
    Op.Cast: _cast,
    Op.Bitcast: _bitcast,
}

EXACT: dict[Op, Callable[[IntegerAlgebra, UOp], Any]] = {
    **{op: _exactly(exactly(op)) for op in RING},
    Op.Shl: bits.exact_shl,
    Op.Idiv: lambda algebra, node: algebra.divide(*(algebra.value(s) for s in node.src)).q,
    Op.CDiv: lambda algebra, node: _truncated(algebra, node)[0],
    Op.Cast: _exactly(lambda x: x),
}
"""The exact result of every operation that may wrap; inside `fits` it is the element."""
