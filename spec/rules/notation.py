"""
Notation of terms
=================

A term is a head and its arguments, and is shown as it was written: ``(x + 0)``, ``x.permute(p)``, ``s[0]``. What the
heads mean, and how terms are made, is the chapter `terms`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from soundline.spec.dtypes import DType
from soundline.spec.errors import RuleError
from soundline.spec.ops.node import Op


@dataclass(frozen=True, eq=False, slots=True)
class Term:
    """A head and its arguments: terms, ops, numbers, names."""

    head: str | Op
    args: tuple[Any, ...] = ()

    def __bool__(self) -> bool:
        """Refuse: while a rule is being stated, a condition has no truth value yet."""
        raise RuleError(
            f"the condition {self} has no truth value while the rule is stated",
            hint="join conditions with & | ~ or several arguments of given(…), and split a < b < c in two",
        )

    __array_ufunc__ = None
    """A number of numpy beside a term leaves the operation to the term."""

    def __str__(self) -> str:
        return show(self)

    def __iter__(self) -> Iterator[Any]:
        """Refuse: a rule holds for every number of axes."""
        raise RuleError(
            f"{show(self)} has no elements to go through while the rule is stated",
            hint="s[0] is an entry of a Shape; minimum, maximum, sum_over and x.sum(axes) take values",
        )


_KIND_NAMES = {"Expression": "Value", "Sizes": "Vector", "DTypeTerm": "dtype", "Static": "condition"}


def kind_name(x: object) -> str:
    """The kind of an object, in the words of the rule language: `a Value`, `an Offset`, `the number 3`."""
    if isinstance(x, Term):
        name = _KIND_NAMES.get(type(x).__name__, type(x).__name__)
        return f"{'an' if name[0] in 'AEIOU' and name != 'UnaryOp' else 'a'} {name}"
    return shown(x)


def shown(x: object) -> str:
    """An argument of the rule language as messages show it: a term with its kind, a class or a function by its name."""
    if isinstance(x, Term):
        return f"{show(x)}, which is {kind_name(x)}"
    return str(getattr(x, "__name__", None) or repr(number(x)))


def number(x: object) -> object:
    """A number of numpy as the number of Python that it is; anything else as it is."""
    return x.item() if isinstance(x, np.integer | np.floating | np.bool_) else x


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable's kind and what its annotation said in brackets."""

    kind: str
    inside: tuple[object, ...] = ()


def named_sizes(kind: Variable) -> tuple[object, ...]:
    """The sizes in the brackets of a Tensor or a Range: names and numbers, apart from a dtype."""
    return tuple(n for n in kind.inside if not isinstance(n, DType))


INFIX = {
    Op.Add: "+",
    Op.Sub: "-",
    Op.Mul: "*",
    Op.Div: "/",
    Op.Idiv: "//",
    Op.Mod: "%",
    Op.Shl: "<<",
    Op.Shr: ">>",
    Op.And: "&",
    Op.Or: "|",
    Op.Xor: "^",
    Op.CmpLt: "<",
    Op.CmpGt: ">",
    Op.CmpLe: "<=",
    Op.CmpGe: ">=",
    Op.CmpEq: "==",
    Op.CmpNe: "!=",
}
"""The signs of ops between two operands."""
_PREFIX = {Op.Neg: "-", Op.Not: "~", "not": "~"}
_WORDS = {"and": "&", "or": "|", "xor": "^", "without": "-", "same": "=="}
_BEFORE_A_DOT = ("shape of", "dtype of", "lo", "hi", "entry", "permuted")
_FOLDS = {Op.Add: "sum", Op.Max: "max", Op.Mul: "prod"}
_FUNCTIONS = {
    Op.Stack: "stack",
    Op.Where: "where",
    Op.Max: "maximum",
    Op.Mulacc: "mulacc",
    Op.CDiv: "cdiv",
    Op.CMod: "cmod",
}


def _tuple_text(parts: list[str]) -> str:
    return f"({', '.join(parts)}{',' if len(parts) == 1 else ''})"


def _operand(term: object) -> str:
    """A term beside a sign: a comparison of every axis is put in parentheses."""
    text = show(term)
    return f"({text})" if isinstance(term, Term) and term.head == "every axis" else text


def _receiver(term: object) -> str:
    """A term before a dot or a bracket, which bind closer than a sign before it."""
    text = _operand(term)
    return f"({text})" if text.startswith(("-", "~")) else text


def _inside(term: Term) -> list[str]:
    """The arguments of a term as they stand in it."""
    head, args = term.head, term.args
    if head in INFIX or head in _WORDS or head in _PREFIX:
        return [_operand(a) for a in args]
    if head in _BEFORE_A_DOT or (isinstance(head, Op) and head not in _FUNCTIONS):
        return [_receiver(args[0]), *(show(a) for a in args[1:])]
    return [show(a) for a in args]


def _method_text(op: Op, args: tuple[Any, ...], texts: list[str]) -> str:
    """An op that is a method of its first source."""
    named = _FOLDS.get(args[1]) if op is Op.Reduce else None
    name, rest = (named, texts[2:]) if named else (op.name.lower(), texts[1:])
    return f"{texts[0]}.{name}({', '.join(rest)})"


def _reduction_text(args: tuple[Any, ...], texts: list[str]) -> str:
    """A reduction over one range, or over several."""
    over = texts[2] if len(texts) == 3 else _tuple_text(texts[2:])
    named = _FOLDS.get(args[0])
    return f"{named}_over({over}, {texts[1]})" if named else f"reduce_over({texts[0]}, {over}, {texts[1]})"


def _fresh_text(term: Term, texts: list[str]) -> str:
    """The first new range of a rule by its size, a further one by its number as well."""
    return f"fresh({texts[0]})" if term.args[1] == 1 else f"fresh({', '.join(texts)})"


_FORMS: dict[str, Callable[[Term, list[str]], str]] = {
    **dict.fromkeys(("var", "literal", "everywhere"), lambda term, texts: texts[0]),
    **dict.fromkeys(("entries", "axes"), lambda term, texts: _tuple_text(texts)),
    **dict.fromkeys(("op", "body"), lambda term, texts: f"{texts[0]}({', '.join(texts[1:])})"),
    "every axis": lambda term, texts: f"{texts[1]} {INFIX[term.args[0]]} {texts[2]}",
    "shape of": lambda term, texts: f"{texts[0]}.shape",
    "dtype of": lambda term, texts: f"{texts[0]}.dtype",
    "lo": lambda term, texts: f"{texts[0]}.lo",
    "hi": lambda term, texts: f"{texts[0]}.hi",
    "entry": lambda term, texts: f"{texts[0]}[{texts[1]}]",
    "permuted": lambda term, texts: f"{texts[0]}.permute({texts[1]})",
    "power": lambda term, texts: f"({texts[0]} ** {texts[1]})",
    "invalid": lambda term, texts: "invalid",
    "over": lambda term, texts: _reduction_text(term.args, texts),
    "fresh": _fresh_text,
}
"""How the terms are shown that are neither a function of their name nor an op, by head."""


def show(term: object) -> str:
    """A term in the notation in which it was written."""
    if not isinstance(term, Term):
        return _tuple_text([show(t) for t in term]) if isinstance(term, tuple) else str(term)
    head, texts = term.head, _inside(term)
    if head in INFIX or head in _WORDS:
        sign = INFIX[head] if isinstance(head, Op) else _WORDS[head]
        return f"({texts[0]} {sign} {texts[1]})"
    if head in _PREFIX:
        return f"{_PREFIX[head]}{texts[0]}"
    if not isinstance(head, Op):
        return _FORMS[head](term, texts) if head in _FORMS else f"{head}({', '.join(texts)})"
    if head in _FUNCTIONS:
        return f"{_FUNCTIONS[head]}({', '.join(texts)})"
    return _method_text(head, term.args, texts)
