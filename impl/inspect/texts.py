"""
Loops, places and expressions as text
=====================================

What is written in the boxes and lines of pictures: index arithmetic as a reader would write it.
"""

from __future__ import annotations

from soundline.impl.lower.linear.linearize import is_global
from soundline.spec.dtypes import bool_, index
from soundline.spec.ops.textual_form import value_text
from soundline.spec.uop import AxisType, Op, UOp

INFIX = {
    Op.Add: "+",
    Op.Sub: "-",
    Op.Mul: "*",
    Op.Idiv: "//",
    Op.CDiv: "/",
    Op.Mod: "%",
    Op.CMod: "%",
    Op.And: "&",
    Op.Or: "|",
    Op.CmpLt: "<",
    Op.CmpLe: "<=",
    Op.CmpGt: ">",
    Op.CmpGe: ">=",
    Op.CmpEq: "==",
    Op.CmpNe: "!=",
}


def loop_text(loop: UOp) -> str:
    """A Range with its bound, and its type where that is not the usual one."""
    kind = loop.arg.type
    usual = kind in (AxisType.LOOP, AxisType.REDUCE)
    return f"r{loop.arg.id} < {expression(loop.src[0])}" + ("" if usual else f" {kind.name}")


def place_text(place: UOp) -> str:
    """Where in which storage: ``b0[r1*8 + r2]``."""
    at = None
    while place.op in (Op.Index, Op.After, Op.Reshape):
        at = place.src[1] if place.op is Op.Index else at
        place = place.src[0]
    name = storage_name(place)
    return name if at is None else f"{name}[{expression(at)}]"


def storage_name(storage: UOp) -> str:
    """How storage is called, as in the C text."""
    if storage.op is Op.Slice:
        return f"t{expression(storage.src[1])}"
    if storage.op in (Op.Buffer, Op.Param):
        return f"{'b' if storage.op is Op.Param or is_global(storage) else 'acc'}{storage.arg.slot}"
    return storage.op.name


def expression(node: UOp, inner: bool = False) -> str:
    """Index arithmetic as a reader writes it; what is no index is a dot."""
    if node.op is Op.Const:
        return str(node.arg.value) if node.dtype is index else value_text(node.arg)
    if node.op is Op.Range:
        return f"r{node.arg.id}"
    if node.op is Op.Param:
        return f"n{node.arg.slot}"
    if node.op is Op.Stack:
        return _stack_text(node)
    if node.op in (Op.Reshape, Op.Expand):
        return expression(node.src[0], inner)
    if node.op in INFIX and len(node.src) == 2:
        text = f" {INFIX[node.op]} ".join(expression(s, inner=node.op is not Op.Add) for s in node.src)
        return f"({text})" if inner and node.op is not Op.Mul else text.replace(" * ", "*")
    if not is_index(node) or node.op in (Op.Load, Op.Cast):
        return "·"
    return f"{node.op.name}({', '.join(expression(s) for s in node.src)})"


def _stack_text(node: UOp) -> str:
    values = [expression(s) for s in node.src]
    if len(values) > 4 and values == [str(k) for k in range(len(values))]:
        return f"0…{len(values) - 1}"
    return f"[{', '.join(values)}]"


def is_index(node: UOp) -> bool:
    """Whether a value is written where it is used: an index, a comparison of them, or a constant in any shape."""
    if node.dtype is index:
        return True
    if node.op in (Op.Reshape, Op.Expand):
        return is_index(node.src[0]) or node.src[0].op is Op.Const
    if node.dtype is bool_ and node.op in INFIX:
        return all(s.op is Op.Const or is_index(s) for s in node.src)
    return node.op is Op.Stack and all(s.op is Op.Const for s in node.src)
