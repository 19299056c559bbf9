"""
Elements as text
================

How a report writes the elements that a proof compares: in the notation of the rule language, with the positions named
i0, i1, … and the indices that a reduction runs over r0, r1, …::

    sum(x[i0, r0] * y[r0] for r0 < n)

The keys of elements, by which the prover tells them apart, are no text for a reader.
"""

from __future__ import annotations

import re

from soundline.spec.ops.node import Op
from soundline.spec.rules.notation import INFIX
from soundline.verify.smt.elements.elements import (
    Apply,
    Bottom,
    Choice,
    Constant,
    Element,
    Number,
    Read,
    Reduction,
    Truth,
)

_PREFIX = {Op.Neg: "-", Op.Not: "~"}
_REDUCTIONS = {Op.Add: "sum", Op.Max: "max", Op.Mul: "prod"}
_BOUND = re.compile(r"\$\d+\.\d+")


def equation(left: Element, right: Element) -> str:
    """Two elements that are to be equal."""
    written = f"{_text(left)} = {_text(right)}".replace("@", "i").replace("·", "*")
    names: dict[str, str] = {}
    return _BOUND.sub(lambda found: names.setdefault(found[0], f"r{len(names)}"), written)


def _text(element: Element) -> str:
    match element:
        case Read():
            return f"{element.name}[{', '.join(p.key for p in element.at)}]" if element.at else element.name
        case Constant():
            return f"{element.value!r}"
        case Number():
            return element.poly.key
        case Truth():
            return element.formula.key
        case Choice():
            return f"where({element.condition.key}, {_text(element.then)}, {_text(element.otherwise)})"
        case Reduction():
            ranges = "".join(f" for {atom} < {size.key}" for atom, size in element.bound)
            return f"{_REDUCTIONS[element.op]}({_text(element.body)}{ranges})"
        case Apply():
            return _application(element)
        case Bottom():
            return "invalid"
    return element.key


def _application(element: Apply) -> str:
    operands = [_text(o) for o in element.operands]
    if element.op in INFIX:
        return f"({operands[0]} {INFIX[element.op]} {operands[1]})"
    if element.op in _PREFIX:
        return f"{_PREFIX[element.op]}{operands[0]}"
    if element.op in (Op.Cast, Op.Bitcast):
        return f"{operands[0]}.{element.op.name.lower()}({element.dtype})"
    return f"{element.op.name.lower()}({', '.join(operands)})"
