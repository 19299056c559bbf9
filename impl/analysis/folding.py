"""
Folding
=======

A scalar operation on constants is the constant that its scalar law gives, and a view of a repeated constant repeats it.
This is evaluation, not rewriting: the law itself computes the value. It is also why a rule may state a computed
constant, as `x + (c1 + c2)`: the operation on constants is built, and folds.
"""

from __future__ import annotations

from soundline.impl.analysis.facts import REPEATING, repeated_constant
from soundline.spec.ops.node import Op, Shape, UOp
from soundline.spec.uop import const, expand, reshape
from soundline.spec.values import elementwise
from soundline.spec.values.elementwise import ELEMENTWISE, operand_dtype, scalar


def fold(node: UOp) -> UOp | None:
    """The constant that a node is, repeated to its shape; None if it is not a constant, or already has that form."""
    if node.op in ELEMENTWISE or node.op is Op.Bitcast:
        return _computed(node)
    if node.op in REPEATING and (constant := repeated_constant(node)) is not None and node.shape is not None:
        folded = repeat(constant, node.shape)
        return folded if folded is not node else None
    return None


def _computed(node: UOp) -> UOp | None:
    constants = []
    for source in node.src:
        constant = repeated_constant(source)
        if constant is None:
            return None
        constants.append(constant)
    values = [c.arg.value for c in constants]
    if node.op is Op.Bitcast:
        if constants[0].dtype.itemsize != node.dtype.itemsize:
            return None
        value = elementwise.bitcast(constants[0].dtype, values[0], node.dtype)
    else:
        value = scalar(node.op, operand_dtype(node), *values, arg=node.arg)
    assert node.shape is not None
    return repeat(const(value, node.dtype), node.shape)


def repeat(constant: UOp, shape: Shape) -> UOp:
    """A scalar at every position of a shape: the one form in which the engine writes it."""
    if not shape:
        return constant
    ones = (1,) * len(shape)
    single = reshape(constant, ones)
    return single if shape == ones else expand(single, shape)
