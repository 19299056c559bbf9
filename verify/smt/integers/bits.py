"""
Bits among integers
===================

Shifts as products and quotients by powers of two, and masks as remainders: those whose number is known, and those that
the hypotheses say to be powers of two.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import z3

from soundline.spec.dtypes import DType, index
from soundline.spec.ops.node import Op, UOp
from soundline.verify.smt.goals.algebra import Outside
from soundline.verify.smt.integers.divisibility import mask_of
from soundline.verify.smt.integers.terms import Residue

if TYPE_CHECKING:
    from soundline.verify.smt.integers.algebra import IntegerAlgebra


def _shift_count(node: UOp) -> int:
    """The constant count of a shift, read as unsigned and at most the width."""
    count = node.src[1]
    if count.op is not Op.Const:
        raise Outside("a shift by a variable among the integers")
    n = int(count.arg.value)
    return n if node.dtype is index else min(n % (1 << node.dtype.bits), node.dtype.bits)


def shl(algebra: IntegerAlgebra, node: UOp) -> Residue:
    """A product with a power of two."""
    if node.src[1].op is not Op.Const:
        if node.dtype is index:
            return Residue(algebra.value(node.src[0]) * algebra.two_to(node.src[1]), True)
        return Residue(algebra.residue(node.src[0]) * _power(algebra, node), False)
    scale = algebra.int(1 << _shift_count(node))
    if node.dtype is index:
        return Residue(algebra.value(node.src[0]) * scale, True)
    return Residue(algebra.residue(node.src[0]) * scale, False)


def _power(algebra: IntegerAlgebra, node: UOp) -> Any:
    """By what a shift of a variable count multiplies: a number that depends on the count alone, 0 from the width on.

    That it is a power of two is not said, so that a model of this may have one that is none.
    """
    algebra.spurious = True
    count, width = algebra.value(node.src[1]), node.dtype.bits
    power = z3.Function(f"power:{node.dtype}", z3.IntSort(algebra.ctx), z3.IntSort(algebra.ctx))(count)
    algebra.facts += [power >= 0, power <= 1 << (width - 1), z3.Implies(count == 0, power == 1)]
    return power


def exact_shl(algebra: IntegerAlgebra, node: UOp) -> Any:
    """The same, not reduced."""
    return algebra.value(node.src[0]) * algebra.int(1 << _shift_count(node))


def shr(algebra: IntegerAlgebra, node: UOp) -> Residue:
    """A quotient by a power of two, rounded down."""
    if node.dtype is index and node.src[1].op is not Op.Const:
        scale = algebra.two_to(node.src[1])
    else:
        scale = algebra.int(1 << _shift_count(node))
    return Residue(algebra.divide(algebra.value(node.src[0]), scale).q, True)


def conjunction(algebra: IntegerAlgebra, node: UOp) -> Residue:
    """A mask of low bits is a remainder; also of a power of two that is not known, less one.

    What the hypotheses say to be 0 is so, and that is all that is said of its operands here.
    """
    for mask, other in (node.src, node.src[::-1]):
        power = mask_of(mask)
        if power is not None and power[0] in algebra.powers:
            return _masked(algebra, algebra.value(other), node.dtype, *power)
    for mask, other in (node.src, node.src[::-1]):
        if mask.op is Op.Const:
            bits = int(mask.arg.value) % (1 << node.dtype.bits) + 1
            if bits & (bits - 1) == 0 and bits.bit_length() <= node.dtype.bits + (not node.dtype.signed):
                return Residue(algebra.divide(algebra.value(other), algebra.int(bits)).r, True)
    if node in algebra.without_common_bits:
        algebra.spurious = True
        return Residue(algebra.int(0), True)
    raise Outside("And of variables among the integers")


def _masked(algebra: IntegerAlgebra, x: Any, dtype: DType, power: UOp, is_low: bool) -> Residue:
    """x under p - 1, or under -p, for a p that the hypotheses say to be 0, a power of two, or the least value.

    Nothing else is said of p here, so that a model of this may have a p that is none.
    """
    algebra.spurious = True
    p, span = algebra.value(power), 1 << (dtype.bits - 1)
    low = algebra.divide(x, p).r
    if dtype.signed:
        low = z3.If(p == -span, z3.If(x < 0, x + span, x), low)
    return Residue(low, True) if is_low else Residue(x - low, True)
