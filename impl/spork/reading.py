"""
Where things stand in a source
==============================

Places of syntax nodes in the file that they come from, and refusals that point at them.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass

from soundline.impl.spork.namespace import Namespace, Unknown
from soundline.spec.errors import ProgramError
from soundline.spec.spork.language.conditions import refusal
from soundline.spec.spork.language.nodes import Position, Ref
from soundline.spec.spork.static.conditions import placed


@dataclass(frozen=True)
class Source:
    """The lines of a program as they stand in their file, and how far they were moved to be parsed."""

    file: str
    lines: tuple[str, ...]
    first_line: int = 1
    indent: int = 0

    def position(self, node: ast.stmt | ast.expr | ast.arg | ast.keyword) -> Position:
        """Where a syntax node begins."""
        return self.place(node.lineno, node.col_offset)

    def place(self, line: int, offset: int) -> Position:
        """The place of an offset in bytes, as `ast` counts, into a line that is counted from 1."""
        text = self.lines[line - 1] if line <= len(self.lines) else ""
        moved = text[self.indent :].encode()[:offset].decode(errors="replace")
        return Position(self.file, self.first_line + line - 1, self.indent + len(moved) + 1, text)


@dataclass(frozen=True)
class Context:
    """What reading a program needs: its source, the surrounding Python, and every name that the program binds."""

    source: Source
    namespace: Namespace
    bound: frozenset[str]

    def at(self, node: ast.stmt | ast.expr | ast.arg | ast.keyword) -> Position:
        """Where a syntax node begins."""
        return self.source.position(node)

    def refuse(
        self,
        rule: str,
        node: ast.stmt | ast.expr | ast.arg | ast.keyword,
        given: str,
        hint: str | None = None,
    ) -> ProgramError:
        """The error that a condition is broken at a syntax node."""
        return refusal(rule, self.at(node), given, hint)

    def reference(self, node: ast.expr) -> Ref:
        """The object of the surrounding Python that an expression stands for; what refuses to be made has its place."""
        with placed(Ref(shown(node), None, position=self.at(node))):
            try:
                found = self.namespace.find(node)
            except Unknown as unknown:
                raise self.refuse("prog-reference", unknown.node, unknown.why) from None
        return Ref(found.spelling, found.value, position=self.at(node))


def shown(node: ast.AST) -> str:
    """A syntax node as a reader wrote it, in one line and not too long."""
    text = " ".join(ast.unparse(node).split())
    return text if len(text) <= 60 else f"{text[:57]}..."
