"""
Notation of terms
=================

A term is a head and its arguments, and is shown as it was written: ``(x + 0)``, ``x.permute(p)``, ``s[0]``. What the
heads mean, and how terms are made, is the chapter `terms`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from soundline.spec.errors import RuleError
from soundline.spec.op_schema import Op


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

    def __str__(self) -> str:
        return show(self)


_INFIX = {
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
_PREFIX = {Op.Neg: "-", Op.Not: "~", "not": "~"}
_WORDS = {"and": "&", "or": "|", "xor": "^", "without": "-", "same": "=="}
_METHODS = {"permuted": "permute"}
_BEFORE_A_DOT = ("shape of", "dtype of", "lo", "hi", "entry")
_FOLDS = {Op.Add: "sum", Op.Max: "max", Op.Mul: "prod"}
_FUNCTIONS = {Op.Where: "where", Op.Max: "maximum", Op.Mulacc: "mulacc", Op.CDiv: "cdiv", Op.CMod: "cmod"}


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
    if head in _INFIX or head in _WORDS or head in _PREFIX:
        return [_operand(a) for a in args]
    if head in _BEFORE_A_DOT or head in _METHODS or (isinstance(head, Op) and head not in _FUNCTIONS):
        return [_receiver(args[0]), *(show(a) for a in args[1:])]
    return [show(a) for a in args]


def _method_text(op: Op, args: tuple[Any, ...], texts: list[str]) -> str:
    """An op that is a method of its first source."""
    named = _FOLDS.get(args[1]) if op is Op.Reduce else None
    name, rest = (named, texts[2:]) if named else (op.name.lower(), texts[1:])
    return f"{texts[0]}.{name}({', '.join(rest)})"


def show(term: object) -> str:
    """A term in the notation in which it was written."""
    if not isinstance(term, Term):
        return _tuple_text([show(t) for t in term]) if isinstance(term, tuple) else str(term)
    head, args = term.head, _inside(term)
    if head in ("var", "literal", "everywhere"):
        return args[0]
    if head in ("entries", "axes"):
        return _tuple_text(args)
    if head == "every axis":
        return f"{args[1]} {_INFIX[term.args[0]]} {args[2]}"
    if head in ("shape of", "dtype of"):
        return f"{args[0]}.{str(head).split()[0]}"
    if head in ("lo", "hi"):
        return f"{args[0]}.{head}"
    if head == "entry":
        return f"{args[0]}[{args[1]}]"
    if head == "op":
        return f"{args[0]}({', '.join(args[1:])})"
    if head in _INFIX or head in _WORDS:
        sign = _INFIX[head] if isinstance(head, Op) else _WORDS[head]
        return f"({args[0]} {sign} {args[1]})"
    if head in _PREFIX:
        return f"{_PREFIX[head]}{args[0]}"
    if head in _FUNCTIONS and isinstance(head, Op):
        return f"{_FUNCTIONS[head]}({', '.join(args)})"
    if isinstance(head, Op):
        return _method_text(head, term.args, args)
    if head in _METHODS:
        return f"{args[0]}.{_METHODS[head]}({', '.join(args[1:])})"
    return f"{head}({', '.join(args)})"
