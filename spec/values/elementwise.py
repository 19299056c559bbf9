"""
Elementwise laws
================

What every elementwise, decomposed and truncating-division op computes on one element of each source: what its entry
says (`spec.ops.elementwise`), or what its program computes. Every law is total (U-01): it has a value for all operands.
A law takes the dtype of its operands and then the operands.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from soundline.spec.dtypes import DType, Element, from_bits, index, to_bits
from soundline.spec.errors import EvaluationError
from soundline.spec.ops.node import Op, UOp, toposort
from soundline.spec.ops.table.entries import TABLE
from soundline.spec.values.decompositions import PROGRAMS

Law = Callable[..., Any]
"""A scalar law: (dtype of the operands, *operands) → element; Cast takes its target dtype last."""


def bitcast(source: DType, x: Element, target: DType) -> Element:
    """The element of `target` with the bit pattern of x, for formats of one width."""
    return from_bits(target, to_bits(source, x))


# Programs over elements -------------------------------------------------------------------------------------------


def run(program: UOp, *operands: Element) -> Element:
    """The value of a scalar program, whose Params stand for the operands by their slots (U-11)."""
    found: dict[UOp, Element] = {}
    for node in toposort(program):
        if node.op is Op.Const:
            found[node] = node.arg.value
        elif node.op is Op.Param:
            found[node] = operands[node.arg.slot]
        elif node.op is Op.Bitcast:
            found[node] = bitcast(node.src[0].dtype, found[node.src[0]], node.arg)
        elif node.shape is not None and node.op is not Op.Stack:
            found[node] = scalar(node.op, operand_dtype(node), *(found[s] for s in node.src), arg=node.arg)
    return found[program]


def by_program(op: Op) -> Law:
    """The law of an op whose value is that of its program."""
    return lambda dtype, *operands: run(PROGRAMS[op][dtype], *operands)


# The table --------------------------------------------------------------------------------------------------------

ELEMENTWISE: dict[Op, Law] = {
    **{op: entry.scalar for op, entry in TABLE.items() if entry.scalar is not None},
    **{op: by_program(op) for op in PROGRAMS},
}
"""The scalar law of every elementwise, decomposed and truncating-division op."""


def operand_dtype(node: UOp) -> DType:
    """The dtype that the law of a node works in: that of its operands, which Where has in second place."""
    return node.src[1].dtype if node.op is Op.Where else node.src[0].dtype


def law_of(op: Op) -> Law:
    """The scalar law of an op; raises `EvaluationError` for an op that is not elementwise."""
    if op not in ELEMENTWISE:
        raise EvaluationError("this op has no scalar law", rule=f"uop-{op.name.lower()}-sem", where=op.name)
    return ELEMENTWISE[op]


RING = (Op.Add, Op.Sub, Op.Mul, Op.Neg, Op.Mulacc)
"""The ops whose laws are sums and products."""

ORDER = (Op.CmpLt, Op.CmpGt, Op.CmpLe, Op.CmpGe)
EQUALITY = (Op.CmpEq, Op.CmpNe)


def exactly(op: Op) -> Law:
    """The law of an op over any numbers, of which nothing wraps and nothing is rounded.

    It is the law on index, which keeps every integer, read on whatever can be added, multiplied and compared: on
    fractions, on polynomials, on the terms of a solver.
    """
    return partial(law_of(op), index)


def scalar(op: Op, dtype: DType, *operands: Element, arg: DType | None = None) -> Element:
    """The value of an elementwise op on elements of `dtype`; a Cast takes its target as `arg`."""
    law = law_of(op)
    value: Element = law(dtype, *operands, arg) if op is Op.Cast else law(dtype, *operands)
    return value
