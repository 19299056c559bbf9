"""
Lines of C++
============

Generated text is written line by line, and for every line it is known which statement of Spork it came from. So a
message of a compiler, or of the emulator, that names a line of the text is led back to the program.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import PurePath

from soundline.spec.spork.language.nodes import Node
from soundline.spec.spork.language.statements import Statement
from soundline.spec.spork.language.text import lines as lines_of

INDENT = "    "
COMMENT = re.compile(r"//.*")
WORD = re.compile(r"[A-Za-z_]\w*")


class Writer:
    """Text that grows by lines, indented by the blocks around."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._origins: list[Node | None] = []
        self._declared: dict[int, str] = {}
        self._depth = 0

    def line(self, text: str, statement: Node | None = None) -> None:
        """One line; an empty text is an empty line."""
        for part in text.split("\n"):
            self._lines.append(f"{INDENT * self._depth}{part}" if part else "")
            self._origins.append(statement)

    def lines(self, texts: Iterable[str], statement: Node | None = None) -> None:
        """Some lines."""
        for text in texts:
            self.line(text, statement)

    def comment(self, statement: Node) -> None:
        """The statement of Spork as it is written, and where it stands."""
        self.line(f"// {statement_text(statement)}", statement)

    @contextmanager
    def block(self, head: str, statement: Node | None = None, tail: str = "}") -> Iterator[None]:
        """A block in braces; an empty head stands for braces alone."""
        self.line(f"{head} {{" if head else "{", statement)
        self._depth += 1
        yield
        self._depth -= 1
        self.line(tail, statement)

    def append(self, other: Writer) -> None:
        """All lines of another text, as deep as this one is now."""
        for text, origin in zip(other._lines, other._origins, strict=True):
            self.line(text, origin)

    def declaration(self, name: str, text: str, statement: Node | None = None) -> None:
        """A line that declares a name, and is dropped by `without_unused` if nothing names it."""
        self._declared[len(self._lines)] = name
        self.line(text, statement)

    def without_unused(self) -> Writer:
        """The same text without declarations of names that no code in their block names. Comments do not count."""
        words = [set(WORD.findall(COMMENT.sub("", line))) for line in self._lines]
        dropped: set[int] = set()
        for k, name in reversed(self._declared.items()):
            used = (name in words[later] for later in self._rest_of_block(k) if later not in dropped)
            if not any(used):
                dropped.add(k)
        found = Writer()
        for k, (text, origin) in enumerate(zip(self._lines, self._origins, strict=True)):
            if k not in dropped:
                found.line(text, origin)
        return found

    def _rest_of_block(self, position: int) -> Iterator[int]:
        """The lines after one, to the end of its block."""
        depth = _indent(self._lines[position])
        for later in range(position + 1, len(self._lines)):
            if self._lines[later] and _indent(self._lines[later]) < depth:
                return
            yield later

    @property
    def text(self) -> str:
        """All lines."""
        return "".join(f"{line}\n" for line in self._lines)

    @property
    def origins(self) -> tuple[Node | None, ...]:
        """For each line of the text the statement that it came from."""
        return tuple(self._origins)


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def statement_text(statement: Node) -> str:
    """The first line of a statement, and the line of the file where it stands."""
    text = lines_of(statement)[0] if isinstance(statement, Statement) else str(statement)
    return text if not (at := place_text(statement)) else f"{text}   {at}"


def place_text(node: Node) -> str:
    """File and line of a node; nothing where it has no position."""
    position = node.position
    return "" if position is None else f"{PurePath(position.file).name}:{position.line}"
