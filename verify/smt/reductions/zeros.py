"""
Zeros among what is not negative
================================

-0.0 is what a sum of floats does not notice; +0.0 turns a sum of -0.0 alone into +0.0. Where no element is negative and
none is -0.0, no partial sum is -0.0 either, since a sum is -0.0 only if both operands are. Then +0.0 may be left out
wherever it stands, and may be all there is: the sum of nothing is +0.0 as well. So 2^x, a magnitude or a square may be
padded with zeros, and x with what 2^x takes to zero.
"""

from __future__ import annotations

import math

from soundline.spec.dtypes import bool_, same_value
from soundline.spec.ops.node import Op
from soundline.verify.smt.elements.denotation import Denotation
from soundline.verify.smt.elements.elements import Apply, Choice, Constant, Element, Reduction, choice

_KEPT = (Op.Add, Op.Mul, Op.Div, Op.Sqrt, Op.Trunc, Op.Recip)
"""Ops that make nothing negative, and no -0.0, of what is neither."""


def is_plain_zero(element: Element) -> bool:
    """Whether an element is +0.0."""
    return isinstance(element, Constant) and same_value(element.dtype, element.value, 0.0)


def is_never_below_zero(element: Element) -> bool:
    """Whether an element is +0.0, greater, or NaN, whatever the inputs."""
    match element:
        case Constant():
            value = float(element.value)
            return math.isnan(value) or value > 0 or is_plain_zero(element)
        case Choice():
            return is_never_below_zero(element.then) and is_never_below_zero(element.otherwise)
        case Reduction():
            return element.op in (Op.Add, Op.Mul) and is_never_below_zero(element.body)
        case Apply():
            return _is_made_so(element)
    return False


def _is_made_so(element: Apply) -> bool:
    operands = element.operands
    if element.op is Op.Exp2:
        return True
    if element.op is Op.Cast:
        return operands[0].dtype is bool_
    if element.op is Op.Mul and operands[0] == operands[1]:
        return True
    if element.op is Op.Max:
        return any(map(is_never_below_zero, operands)) or _are_opposite(*operands)
    return element.op in _KEPT and all(map(is_never_below_zero, operands))


def _are_opposite(a: Element, b: Element) -> bool:
    """Whether one element is the other with the sign turned."""
    return any(isinstance(x, Apply) and x.op is Op.Neg and x.operands[0] == y for x, y in ((a, b), (b, a)))


def chosen_outside(reader: Denotation, element: Element) -> Element:
    """An op on a choice as a choice of what it makes, where it makes a known element of one of them."""
    if not isinstance(element, Apply) or len(element.operands) != 1:
        return element
    inner = chosen_outside(reader, element.operands[0])
    if not isinstance(inner, Choice):
        return element
    made = [reader.operation(element.op, element.dtype, (way,)) for way in (inner.then, inner.otherwise)]
    if not any(isinstance(m, Constant) for m in made):
        return element
    return choice(inner.condition, *made)
