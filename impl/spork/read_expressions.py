"""
Reading expressions of programs
===============================

From the syntax of Python to expressions. A name that the program binds is a variable of it; any other is a number of
the surrounding Python, which is put in its place.
"""

from __future__ import annotations

import ast

from soundline.impl.spork.reading import Context, shown
from soundline.spec.ops.node import Op
from soundline.spec.spork.language.expressions import (
    BINARY,
    FUNCTIONS,
    Apply,
    Binary,
    Cast,
    Const,
    Expr,
    Index,
    Name,
    Span,
    Unary,
    number,
)
from soundline.spec.spork.language.nodes import DTYPES, Position

_OPERATORS: dict[type[ast.operator | ast.cmpop | ast.boolop], Op] = {
    ast.Add: BINARY["+"],
    ast.Sub: BINARY["-"],
    ast.Mult: BINARY["*"],
    ast.Div: BINARY["/"],
    ast.FloorDiv: BINARY["//"],
    ast.Mod: BINARY["%"],
    ast.LShift: BINARY["<<"],
    ast.RShift: BINARY[">>"],
    ast.BitAnd: BINARY["&"],
    ast.BitOr: BINARY["|"],
    ast.BitXor: BINARY["^"],
    ast.And: BINARY["and"],
    ast.Or: BINARY["or"],
    ast.Lt: BINARY["<"],
    ast.LtE: BINARY["<="],
    ast.Gt: BINARY[">"],
    ast.GtE: BINARY[">="],
    ast.Eq: BINARY["=="],
    ast.NotEq: BINARY["!="],
}


def read_expression(node: ast.expr, context: Context) -> Expr:
    """The expression that a syntax node says."""
    at = context.at(node)
    match node:
        case ast.Constant(value=bool() | int() | float() as value):
            return Const(value, position=at)
        case ast.Name(id=name):
            return _named(node, context) or Name(name, position=at)
        case ast.Attribute():
            found = _named(node, context)
            if found is not None:
                return found
        case ast.Subscript(value=ast.Name(id=name)):
            return Index(name, read_indices(node.slice, context), position=at)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return Unary(Op.Neg, read_expression(operand, context), position=at)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return Unary(Op.Not, read_expression(operand, context), position=at)
        case ast.BinOp(left=left, op=operator, right=right) if type(operator) in _OPERATORS:
            operands = [read_expression(left, context), read_expression(right, context)]
            return _folded(_OPERATORS[type(operator)], operands, at)
        case ast.BoolOp(op=operator, values=values):
            return _folded(_OPERATORS[type(operator)], [read_expression(v, context) for v in values], at)
        case ast.Compare() if all(type(operator) in _OPERATORS for operator in node.ops):
            return _comparison(node, context)
        case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if name in DTYPES and len(args) == 1:
            return Cast(DTYPES[name], read_expression(args[0], context), position=at)
        case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if name in FUNCTIONS:
            return Apply(FUNCTIONS[name][0], tuple(read_expression(a, context) for a in args), position=at)
    raise context.refuse("prog-syntax", node, shown(node))


def _named(node: ast.Name | ast.Attribute, context: Context) -> Expr | None:
    """The number of the surrounding Python that a name stands for, if the program does not bind the name."""
    if isinstance(node, ast.Name) and node.id in context.bound:
        return None
    value = context.namespace.number(node)
    if value is None:
        return None
    at = context.at(node)
    if not isinstance(value, bool) and value < 0:
        return Unary(Op.Neg, Const(-value, position=at), position=at)
    return Const(value, position=at)


def _folded(op: Op, operands: list[Expr], at: Position) -> Expr:
    total = operands[0]
    for operand in operands[1:]:
        total = Binary(op, total, operand, position=at)
    return total


def _comparison(node: ast.Compare, context: Context) -> Expr:
    """``a < b``; a chain ``a < b < c`` is the comparisons of neighbours."""
    at = context.at(node)
    sides = [read_expression(side, context) for side in (node.left, *node.comparators)]
    pairs = zip(node.ops, sides, sides[1:], strict=False)
    return _folded(Op.And, [Binary(_OPERATORS[type(op)], a, b, position=at) for op, a, b in pairs], at)


def read_indices(node: ast.expr, context: Context) -> tuple[Expr | Span, ...]:
    """What stands in square brackets."""
    parts = node.elts if isinstance(node, ast.Tuple) else [node]
    return tuple(_index(part, context) for part in parts)


def _index(node: ast.expr, context: Context) -> Expr | Span:
    if not isinstance(node, ast.Slice):
        return read_expression(node, context)
    if node.step is not None:
        raise context.refuse("prog-syntax", node.step, "an interval with a step")
    ends = [None if end is None else read_expression(end, context) for end in (node.lower, node.upper)]
    return Span(ends[0], ends[1], position=context.at(node))


def read_sizes(node: ast.expr, context: Context) -> tuple[Expr, ...]:
    """The sizes of an array."""
    found: list[Expr] = []
    for part, index in zip(
        node.elts if isinstance(node, ast.Tuple) else [node], read_indices(node, context), strict=True
    ):
        if isinstance(index, Span):
            raise context.refuse("prog-syntax", part, "an interval as a size")
        found.append(index)
    return tuple(found)


def read_integer(node: ast.expr, context: Context, rule: str) -> int:
    """An integer that is known while reading: a literal, ``~`` of one, or an expression of numbers."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Invert):
        return ~read_integer(node.operand, context, rule)
    value = number(read_expression(node, context))
    if value is None:
        raise context.refuse(rule, node, shown(node))
    return value
