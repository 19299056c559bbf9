"""
Programs
========

The object language of Spork: procs, their statements and loops. A program is a sequential program whose loops and
blocks say which threads execute what, and on which timeline; four readings share this one form (design §4).

Nodes are compared by what they are; where they stand in a source file is kept beside that. `well_formedness` says
which programs are well formed.
"""

from __future__ import annotations

from dataclasses import dataclass

from soundline.spec.ops.node import Op
from soundline.spec.spork.language.expressions import Const, Expr, Unary, walk
from soundline.spec.spork.language.nodes import Node, Ref, Sort
from soundline.spec.spork.language.statements import Statement
from soundline.spec.spork.language.text import argument_text, block, expression
from soundline.spec.spork.language.types import Argument


@dataclass(frozen=True, slots=True)
class Proc(Node):
    """A procedure: its arguments, what it asserts of them, and its statements."""

    name: str
    arguments: tuple[Argument, ...]
    preconditions: tuple[Expr, ...]
    body: tuple[Statement, ...]

    @property
    def spork_sort(self) -> Sort:
        """A proc can be called by another."""
        return "proc"

    def __str__(self) -> str:
        """The text of the program."""
        return text(self)


def text(proc: Proc) -> str:
    """The text of a proc."""
    arguments = ", ".join(argument_text(a) for a in proc.arguments)
    lines = ["@proc", f"def {proc.name}({arguments}):"]
    lines += [f"    assert {expression(c)}" for c in proc.preconditions]
    return "\n".join([*lines, *block(proc.body)]) + "\n"


def references(proc: Proc) -> dict[str, object]:
    """What the spellings in a program stand for: the namespace in which its text means the same."""
    return {node.name: node.value for node in walk(proc) if isinstance(node, Ref)}


def constant(value: bool | int | float) -> Expr:
    """A number as an expression; a negative one is the negation of a literal."""
    return Unary(Op.Neg, Const(-value)) if not isinstance(value, bool) and value < 0 else Const(value)
