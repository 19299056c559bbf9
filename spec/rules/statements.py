"""
Statements of rules
===================

What the body of a rule says while it runs: its conditions, further variables, and new ranges for its right side.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from soundline.spec.dtypes import DType
from soundline.spec.errors import RuleError
from soundline.spec.rules.choices import Static
from soundline.spec.rules.kinds import KINDS, SIZED
from soundline.spec.rules.notation import Term, Variable, shown
from soundline.spec.rules.ranges import Range
from soundline.spec.rules.terms import Value, value


@dataclass
class Statement:
    """The statements of a rule's body so far."""

    variables: dict[str, Term] = field(default_factory=dict)
    kinds: dict[str, Variable] = field(default_factory=dict)
    given: list[Term] = field(default_factory=list)
    fresh: int = 0
    """How many ranges the right side has made."""


_statement: ContextVar[Statement | None] = ContextVar("_statement", default=None)


@contextmanager
def stating(statement: Statement) -> Iterator[None]:
    """Let what is said inside belong to this statement."""
    token = _statement.set(statement)
    try:
        yield
    finally:
        _statement.reset(token)


def given(*conditions: Term | bool) -> None:
    """State that the rule holds where all these conditions do."""
    statement = _current("given")
    for condition in conditions:
        if not isinstance(condition, Value | Static):
            raise RuleError(
                f"given takes conditions, not {shown(condition)}",
                hint="a condition compares values, sizes, bounds or dtypes, for example c != 0",
            )
        statement.given.append(condition)


def forall(kind: Any, name: str) -> Any:
    """One more variable of this kind, for a rule that needs it inside its body."""
    return declare(_current("forall"), name, kind)


def fresh(size: Any) -> Range:
    """A new range up to `size`, for a reduction on the right side."""
    statement = _current("fresh")
    statement.fresh += 1
    return Range("fresh", (value(size), statement.fresh))


def _current(word: str) -> Statement:
    statement = _statement.get()
    if statement is None:
        raise RuleError(
            f"{word}(…) is outside of a rule", hint="call it inside a function decorated with @rule"
        )
    return statement


def declare(statement: Statement, name: str, annotation: Any) -> Term:
    """The variable of this name and kind, and the sizes that its brackets name."""
    kind = annotation if isinstance(annotation, Variable) else None
    if annotation in KINDS.values():
        kind = Variable(annotation.__name__)
    if kind is None:
        raise RuleError(
            f"variable {name} has the annotation {_annotation_text(annotation)}, which is not a kind of variable",
            hint=f"the kinds are {', '.join(KINDS)}",
        )
    if name in statement.variables:
        if (
            kind == statement.kinds[name] == Variable("Size")
        ):  # the brackets of another variable have named it
            return statement.variables[name]
        raise RuleError(
            f"variable {name} is declared twice, as {statement.kinds[name].kind} and as {kind.kind}",
            hint="a name in the brackets of a Tensor or a Range is a Size",
        )
    _check_brackets(name, kind)
    variable = KINDS[kind.kind]("var", (name,))
    statement.variables[name] = variable
    statement.kinds[name] = kind
    if kind.kind in SIZED:
        for size in kind.inside:
            if isinstance(size, str):
                declare(statement, size, Variable("Size"))
    return variable


def _check_brackets(name: str, kind: Variable) -> None:
    """Refuse anything but names, sizes and dtypes in the brackets, a Range without one size, and a Body without a
    range.
    """
    if kind.kind == "Range":
        size = kind.inside[0] if len(kind.inside) == 1 else None
        if not (isinstance(size, str) or (type(size) is int and size >= 0)):
            raise RuleError(
                f"the range {name} needs one size",
                hint=f'write {name}: Range["n"] for the Size n, or {name}: Range[4]',
            )
    if kind.kind == "Body" and not any(isinstance(n, str) for n in kind.inside):
        raise RuleError(
            f"the body {name} names no range", hint=f'write {name}: Body["r"], where r is a Range of the rule'
        )
    for item in kind.inside:
        is_size = kind.kind in SIZED and type(item) is int and item >= 0
        if not (is_size or isinstance(item, DType) or (isinstance(item, str) and item.isidentifier())):
            raise RuleError(
                f"variable {name}: {item!r} is in the brackets of a {kind.kind}",
                hint="brackets take names and dtypes, and sizes for a Tensor or a Range; a computation is a condition",
            )


def _annotation_text(annotation: Any) -> str:
    return "nothing" if annotation is inspect.Parameter.empty else str(annotation)
