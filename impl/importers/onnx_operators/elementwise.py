"""
Elementwise operators
=====================

Arithmetic, comparisons, logic, bits and functions of one number. Operands broadcast as in numpy; integer division
truncates, as ONNX has it.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable

from soundline.impl.analysis.sums import reduced
from soundline.impl.arrays.operands import broadcast
from soundline.impl.arrays.promotion import accumulated
from soundline.impl.importers.reading.node import Node, Refusal, along, filled, number_line, operator
from soundline.impl.tensors.numerics import normal, special
from soundline.impl.tensors.tensor import Tensor
from soundline.spec.dtypes import bool_, float64
from soundline.spec.uop import Op, UOp

Binary = Callable[[Tensor, Tensor], Tensor]


def _same(op: Op, a: Tensor, b: Tensor) -> Tensor:
    return Tensor.of(UOp(op, broadcast(a.uop, b.uop)))


def _divided(a: Tensor, b: Tensor) -> Tensor:
    """a / b; of integers, truncated."""
    return a / b if a.dtype.is_float else _same(Op.CDiv, a, b)


_BINARY: dict[str, Binary] = {
    "Add": lambda a, b: a + b,
    "Sub": lambda a, b: a - b,
    "Mul": lambda a, b: a * b,
    "Div": _divided,
    "And": lambda a, b: a & b,
    "Or": lambda a, b: a | b,
    "Xor": lambda a, b: a ^ b,
    "BitwiseAnd": lambda a, b: a & b,
    "BitwiseOr": lambda a, b: a | b,
    "BitwiseXor": lambda a, b: a ^ b,
    "Equal": lambda a, b: a == b,
    "Less": lambda a, b: a < b,
    "LessOrEqual": lambda a, b: a <= b,
    "Greater": lambda a, b: a > b,
    "GreaterOrEqual": lambda a, b: a >= b,
}

_UNARY: dict[str, Callable[[Tensor], Tensor]] = {
    "Abs": abs,
    "Neg": lambda x: -x,
    "Not": lambda x: ~x,
    "BitwiseNot": lambda x: ~x,
    "Sign": special.sign,
    "Floor": special.floor,
    "Ceil": special.ceil,
    "Round": special.round_half_even,
    "Sqrt": lambda x: x.sqrt(),
    "Reciprocal": lambda x: x.reciprocal(),
    "Exp": lambda x: x.exp(),
    "Log": lambda x: x.log(),
    "Sin": special.sin,
    "Cos": special.cos,
    "Tan": special.tan,
    "Asin": special.asin,
    "Acos": special.acos,
    "Atan": special.atan,
    "Sinh": special.sinh,
    "Cosh": special.cosh,
    "Tanh": special.tanh,
    "Asinh": special.asinh,
    "Acosh": special.acosh,
    "Atanh": special.atanh,
    "Erf": normal.erf,
    "IsNaN": lambda x: x != x,  # NaN alone differs from itself
    "Identity": lambda x: x,
}


def _apply_two(fn: Binary, node: Node) -> Tensor:
    a, b = node[0], node[1]
    if node.opset < 7:
        node.ignore("consumed_inputs")
        b = _laid_as_of_old(node, a, b)
    return fn(a, b)


def _laid_as_of_old(node: Node, a: Tensor, b: Tensor) -> Tensor:
    """The second operand where versions before 7 lay it: at `axis` of the first, if `broadcast` says that it may."""
    if not node.flag("broadcast", False):
        if a.shape != b.shape:
            raise Refusal(f"the shapes {a.shape} and {b.shape} without broadcast")
        return b
    axis = node.integer("axis", a.ndim - b.ndim)
    axis = axis + a.ndim if axis < 0 else axis
    return b.reshape(*b.shape, *([1] * (a.ndim - axis - b.ndim)))


def _apply_one(fn: Callable[[Tensor], Tensor], node: Node) -> Tensor:
    if node.opset < 6:
        node.ignore("consumed_inputs")
    return fn(node[0])


FAMILY = (
    *(operator(name)(functools.partial(_apply_two, two)) for name, two in _BINARY.items()),
    *(operator(name)(functools.partial(_apply_one, one)) for name, one in _UNARY.items()),
)
"""The operators of one or two operands without attributes."""


@operator("IsInf")
def is_infinite(node: Node) -> Tensor:
    """Whether an element is an infinity, of one sign or both."""
    x = node[0]
    below, above = node.flag("detect_negative", True), node.flag("detect_positive", True)
    never = filled(False, x.shape, bool_)
    if not x.dtype.has_infinity:
        return never
    low = x == -math.inf if below else never
    high = x == math.inf if above else never
    return low | high


@operator("Mod")
def modulo(node: Node) -> Tensor:
    """The remainder with the sign of the divisor, or with `fmod` that of the dividend."""
    a, b = node[0], node[1]
    if node.flag("fmod", False):
        return special.remainder_truncated(a, b)
    if not a.dtype.is_float:
        return a % b
    rest = special.remainder_truncated(a, b)
    other_side = (rest != 0.0) & ((rest < 0.0) != (b < 0.0))
    return other_side.where(rest + b, rest)


@operator("Pow")
def power(node: Node) -> Tensor:
    """a^b in the dtype of a. An integer to the power of an integer is exact, and wraps; of a float, truncated."""
    a, b = node[0], node[1]
    if not a.dtype.is_float and not b.dtype.is_float:
        return _integer_power(a, b)
    home = accumulated(a.dtype) if a.dtype.is_float else float64
    return _same(Op.Pow, a.cast(home), b.cast(home)).cast(a.dtype)


def _integer_power(a: Tensor, exponent: Tensor) -> Tensor:
    """a^n for n ≥ 0 by squaring; for n < 0, the reciprocal truncated."""
    a, exponent = (Tensor.of(u) for u in broadcast(a.uop, exponent.uop))
    one, zero = special.constant(a, 1), special.constant(a, 0)
    total, square, rest = one, a, exponent
    for _ in range(exponent.dtype.bits - int(exponent.dtype.signed)):
        total = ((rest & 1) != 0).where(total * square, total)
        square, rest = square * square, rest >> 1
    if not exponent.dtype.signed:
        return total
    odd = (exponent & 1) != 0
    inverse = (a == one).where(one, zero)
    if a.dtype.signed:
        inverse = (a == -1).where(odd.where(-one, one), inverse)
    return (exponent < 0).where(inverse, total)


@operator("BitShift")
def bit_shift(node: Node) -> Tensor:
    """Bits moved to the LEFT or RIGHT."""
    direction = node.text("direction", "")
    if direction not in ("LEFT", "RIGHT"):
        raise Refusal(f"the direction {direction!r} is not supported")
    return node[0] << node[1] if direction == "LEFT" else node[0] >> node[1]


@operator("Where")
def where(node: Node) -> Tensor:
    """One of two elements by a condition."""
    return node[0].where(node[1], node[2])


@operator("Max")
def greatest(node: Node) -> Tensor:
    """The greatest of any number of operands."""
    return functools.reduce(lambda a, b: a.maximum(b), node.all())


@operator("Min")
def least(node: Node) -> Tensor:
    """The least of any number of operands."""
    return functools.reduce(lambda a, b: a.minimum(b), node.all())


@operator("Sum", "Mean")
def total(node: Node) -> Tensor:
    """The sum of any number of operands, or their mean."""
    added = functools.reduce(lambda a, b: a + b, node.all())
    return added if node.op_type == "Sum" else added / float(len(node))


@operator("Clip")
def clip(node: Node) -> Tensor:
    """An element kept within bounds; where they cross, the upper one."""
    x = node[0]
    if node.opset < 11:
        low = Tensor(node.number("min", -math.inf), x.dtype) if node.has("min") else None
        high = Tensor(node.number("max", math.inf), x.dtype) if node.has("max") else None
    else:
        low, high = node.get(1), node.get(2)
    x = x if low is None else x.maximum(low.reshape(()))
    return x if high is None else x.minimum(high.reshape(()))


@operator("CumSum", "CumProd")
def cumulative(node: Node) -> Tensor:
    """Running sums or products along an axis, the element itself left out if `exclusive`."""
    x = node[0]
    axis = int(node.value(1).reshape(())) % x.ndim
    exclusive, backward = node.flag("exclusive", False), node.flag("reverse", False)
    size, rank = x.shape[axis], x.ndim + 1
    here, source = along(number_line(size), axis, rank), along(number_line(size), axis + 1, rank)
    if backward:
        here, source = source, here
    taken = source < here if exclusive else source <= here
    if node.op_type == "CumSum":
        nothing, op = (-0.0 if x.dtype.is_float else 0), Op.Add
    else:
        nothing, op = 1, Op.Mul
    rows = taken.where(x.unsqueeze(axis), Tensor(nothing, x.dtype))
    folded = Tensor.of(reduced(rows.uop, op, [axis + 1])).reshape(x.shape)
    if exclusive and x.dtype.is_float and op is Op.Add:
        return folded + 0.0
    return folded
