"""
The textual form
================

A program as text that a person can read and `parsing` reads back to the same nodes. Every node stands on a line of its
own under a name, after the nodes that it uses; constants, and shapes and offsets whose sizes are constants or names,
stand where they are used. A comment says the dtype and shape of what a line makes. A tag is not part of the meaning
(U-21), and is not written.

>>> from soundline.spec.uop import param, reshape
>>> from soundline.spec.dtypes import float32
>>> print(program_text(reshape(param(0, float32, (2, 3)), (6,))))
%0 = Param([2, 3]; slot=0, dtype=float32)  # float32[2, 3]
%1 = Reshape(%0, [6])  # float32[6]
return %1
"""

from __future__ import annotations

import dataclasses
from enum import Enum

from soundline.spec.dtypes import DType, index
from soundline.spec.errors import TextError
from soundline.spec.ops.node import ConstArg, Op, UOp, toposort

Names = dict[UOp, str]


def program_text(*roots: UOp) -> str:
    """The program whose results are the roots; raises ``TextError`` where an arg has no textual form."""
    names: Names = {}
    lines: list[str] = []
    for node in toposort(*roots):
        if not stands_where_it_is_used(node):
            text = node_text(node, names)
            names[node] = f"%{len(names)}"
            lines.append(f"{names[node]} = {text}{_comment(node, names)}")
    results = ", ".join(operand_text(root, names) for root in roots)
    return "\n".join([*lines, f"return {results}".rstrip()])


def stands_where_it_is_used(node: UOp) -> bool:
    """Whether a node needs no line of its own."""
    return node.op is Op.Const or _is_shape(node)


def _is_shape(node: UOp) -> bool:
    """Whether a node is a Stack of index scalars: a shape or an offset (U-22)."""
    return node.op is Op.Stack and node.dtype is index and all(s.shape == () for s in node.src)


def node_text(node: UOp, names: Names) -> str:
    """A node as its op, operands and arg; operands that have a name are named."""
    operands = ", ".join(operand_text(s, names) for s in node.src)
    arg = "" if node.arg is None else f"; {arg_text(node.arg)}"
    return f"{node.op.name}({operands}{arg})"


def operand_text(node: UOp, names: Names) -> str:
    """A node where another one uses it."""
    if node in names:
        return names[node]
    if node.op is Op.Const:
        return value_text(node.arg)
    if _is_shape(node):
        return f"[{', '.join(_size_text(s, names) for s in node.src)}]"
    return node_text(node, names)


def _size_text(size: UOp, names: Names) -> str:
    return str(size.arg.value) if size.op is Op.Const else operand_text(size, names)


def arg_text(arg: object) -> str:
    """An arg: the fields that differ from their defaults by name, or one value."""
    if not dataclasses.is_dataclass(arg) or isinstance(arg, DType | ConstArg):
        return value_text(arg)
    said = [f for f in dataclasses.fields(arg) if getattr(arg, f.name) != f.default]
    return ", ".join(f"{f.name}={value_text(getattr(arg, f.name))}" for f in said)


def value_text(value: object) -> str:
    """A value inside an arg; raises ``TextError`` for one that has no textual form."""
    if isinstance(value, ConstArg):
        return f"{value.value!r}:{value.dtype.name}"
    if isinstance(value, DType | Enum):
        return value.name
    if isinstance(value, tuple):
        return f"({', '.join(map(value_text, value))}{',' if len(value) == 1 else ''})"
    if value is None or type(value) in (bool, int, float, str, bytes):
        return repr(value)
    raise TextError(
        f"{value!r} has no textual form", hint="numbers, strings, bytes and tuples of them have one"
    )


def _comment(node: UOp, names: Names) -> str:
    """What a line makes."""
    if node.shape is None:
        return ""
    sizes = (str(s) if isinstance(s, int) else operand_text(s, names) for s in node.shape)
    return f"  # {node.dtype}[{', '.join(sizes)}]"
