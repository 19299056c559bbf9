"""
What the surrounding Python gives a program
===========================================

A program names numbers, and objects that are memories, timelines and the like. They are found where the program was
written: names, attributes, products such as ``32 * cuda_thread`` and calls such as ``TensorMap(128, 64)``. The program
itself is never executed; the objects that it names exist already, or are made from existing ones.
"""

from __future__ import annotations

import ast
import numbers
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from soundline.spec.errors import SoundlineError

MISSING = object()
"""What is found under a name that nobody gave."""

Number = bool | int | float

_ARITHMETIC: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Add: operator.add,
    ast.Sub: operator.sub,
}


class Unknown(Exception):
    """An expression names nothing that exists; carries the part of it that is at fault and what is wrong."""

    def __init__(self, node: ast.expr, why: str) -> None:
        self.node = node
        self.why = why
        super().__init__(why)


@dataclass(frozen=True)
class Found:
    """An object of the surrounding Python, and how the program spells it."""

    spelling: str
    value: Any


@dataclass(frozen=True)
class Namespace:
    """Objects by name."""

    names: Mapping[str, Any]

    def number(self, node: ast.expr) -> Number | None:
        """The number that a name or an attribute stands for, if it is one."""
        if not isinstance(node, ast.Name | ast.Attribute):
            return None
        try:
            return _as_number(self.find(node).value)
        except Unknown:
            return None

    def find(self, node: ast.expr) -> Found:
        """The object that an expression stands for; raises `Unknown`."""
        whole = self.names.get(ast.unparse(node), MISSING)
        if whole is not MISSING:
            return self._named(ast.unparse(node), whole)
        match node:
            case ast.Name(id=name):
                raise Unknown(node, f"{name}, which is not defined in the surrounding Python")
            case ast.Attribute(value=owner, attr=attr):
                found = self.find(owner)
                if not hasattr(found.value, attr):
                    raise Unknown(node, f"{found.spelling}, which has no {attr}")
                return self._named(f"{found.spelling}.{attr}", getattr(found.value, attr))
            case ast.Constant(value=value):
                return Found(repr(value), value)
            case ast.List(elts=parts) | ast.Tuple(elts=parts):
                items = [self.find(part) for part in parts]
                return Found(f"[{', '.join(i.spelling for i in items)}]", [i.value for i in items])
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                inner = self.find(operand)
                return self._made(node, f"-{inner.spelling}", lambda: -inner.value)
            case ast.BinOp(left=left, op=sign, right=right) if type(sign) in _ARITHMETIC:
                return self._product(node, self.find(left), type(sign), self.find(right))
            case ast.Call():
                return self._called(node)
            case _:
                raise Unknown(node, f"{ast.unparse(node)}, which is not a name")

    def _product(self, node: ast.expr, a: Found, sign: type[ast.operator], b: Found) -> Found:
        """A number times an object, or numbers under another operator, which are then one number."""
        numbers_ = _as_number(a.value) is not None and _as_number(b.value) is not None
        if sign is not ast.Mult and not numbers_:
            raise Unknown(node, f"{ast.unparse(node)}, which is not a name")
        made = self._made(node, f"{a.spelling} * {b.spelling}", lambda: _ARITHMETIC[sign](a.value, b.value))
        return self._named(made.spelling, made.value)

    def _called(self, node: ast.Call) -> Found:
        callee = self.find(node.func)
        given = [self.find(a) for a in node.args]
        named = {str(k.arg): self.find(k.value) for k in node.keywords}
        written = [a.spelling for a in given] + [f"{name}={a.spelling}" for name, a in named.items()]
        return self._made(
            node,
            f"{callee.spelling}({', '.join(written)})",
            lambda: callee.value(*(a.value for a in given), **{n: a.value for n, a in named.items()}),
        )

    def _named(self, spelling: str, value: Any) -> Found:
        """What a name stands for; a number is spelled as the number that it is."""
        known = _as_number(value)
        return Found(spelling, value) if known is None else Found(repr(known), known)

    def _made(self, node: ast.expr, spelling: str, make: Callable[[], Any]) -> Found:
        try:
            return Found(spelling, make())
        except SoundlineError:  # a law that the object itself breaks has an id of its own
            raise
        except Exception as error:  # whatever a user's class raises is shown at its place
            raise Unknown(node, f"{spelling}, which raises {type(error).__name__}: {error}") from error


def _as_number(value: Any) -> Number | None:
    if isinstance(value, bool):
        return value
    if isinstance(value, numbers.Integral):
        return int(value)
    return float(value) if isinstance(value, float) else None
