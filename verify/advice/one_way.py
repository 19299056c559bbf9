"""
One-way matching of terms
=========================

Whether the left side of one rule is an instance of another's, and the substitution of the other's variables. Terms are
compared as the engine compares nodes, operands of commutative ops in both orders. The match is only a candidate:
`subsumption` builds both sides and compares them as nodes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from soundline.impl.matching.matcher import COMMUTATIVE
from soundline.spec.ops.node import Op
from soundline.spec.rules.language import Rule
from soundline.spec.rules.terms import DTypeTerm, Flags, Perm, Term, Value, Vector, show

Bound = dict[str, Any]
"""What the variables of the general rule stand for: terms of the special one, or what stands in them."""

MATCHED = frozenset(
    (
        *("Value", "Const", "Interval", "Bool", "Size", "Tensor", "Shape", "Offset"),
        *("Perm", "Flags", "DTypeVar", "UnaryOp", "BinaryOp"),
    )
)
"""The kinds of variables that are understood here; a rule with others covers nothing."""


def matches(general: Rule, special: Rule) -> Iterator[Bound]:
    """The ways in which the left side of `special` may be an instance of that of `general`."""
    if all(kind.kind in MATCHED for kind in general.kinds.values()):
        yield from _match(general.left, special.left, {}, general, special)


def _match(pattern: Any, subject: Any, bound: Bound, general: Rule, special: Rule) -> Iterator[Bound]:
    if not isinstance(pattern, Term):
        if not isinstance(subject, Term) and pattern == subject and type(pattern) is type(subject):
            yield bound
        return
    if pattern.head == "var":
        yield from _bind(pattern, subject, bound, general, special)
        return
    if not isinstance(subject, Term):
        return
    if pattern.head == "op":
        yield from _op(pattern, subject, bound, general, special)
        return
    if pattern.head != subject.head or len(pattern.args) != len(subject.args):
        return
    if pattern.head == "literal":
        if show(pattern) == show(subject):
            yield bound
        return
    yield from _all(pattern.args, subject.args, bound, general, special)
    if isinstance(pattern.head, Op) and pattern.head in COMMUTATIVE:
        yield from _all(pattern.args, subject.args[::-1], bound, general, special)


def _all(
    patterns: tuple[Any, ...], subjects: tuple[Any, ...], bound: Bound, general: Rule, special: Rule
) -> Iterator[Bound]:
    if not patterns:
        yield bound
        return
    for more in _match(patterns[0], subjects[0], bound, general, special):
        yield from _all(patterns[1:], subjects[1:], more, general, special)


def _op(pattern: Term, subject: Term, bound: Bound, general: Rule, special: Rule) -> Iterator[Bound]:
    """An op variable: any op of as many operands, or another op variable."""
    name, operands = pattern.args[0].args[0], pattern.args[1:]
    if subject.head == "op":
        op, others = subject.args[0], subject.args[1:]
    elif isinstance(subject.head, Op) and all(isinstance(a, Value) for a in subject.args):
        op, others = subject.head, subject.args
    else:
        return
    if len(operands) == len(others) and show(bound.get(name, op)) == show(op):
        yield from _all(operands, others, {**bound, name: op}, general, special)


def _bind(pattern: Term, subject: Any, bound: Bound, general: Rule, special: Rule) -> Iterator[Bound]:
    name = pattern.args[0]
    if name in bound:
        if show(bound[name]) == show(subject):
            yield bound
    elif _admits(general.kinds[name].kind, subject, special):
        yield {**bound, name: subject}


def _admits(kind: str, subject: Any, special: Rule) -> bool:
    """Whether a variable of this kind can stand for a part of the special rule's left side."""
    match kind:
        case "Value" | "Bool" | "Tensor":
            return isinstance(subject, Value)
        case "Const":
            return _is(subject, special, "Const")
        case "Interval":
            return _is(subject, special, "Const", "Interval")
        case "Size":
            return _is(subject, special, "Size")
        case "Shape" | "Offset":
            return isinstance(subject, Vector)
        case "Perm":
            return isinstance(subject, Perm | tuple)
        case "Flags":
            return isinstance(subject, Flags | tuple)
        case "DTypeVar":
            return isinstance(subject, DTypeTerm) or type(subject).__name__ == "DType"
    return False


def _is(subject: Any, special: Rule, *kinds: str) -> bool:
    """Whether a term is a variable of one of these kinds, or a number."""
    if not isinstance(subject, Value):
        return False
    if subject.head == "literal":
        return True
    return subject.head == "var" and special.kinds[subject.args[0]].kind in kinds
