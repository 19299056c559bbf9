"""
A C function being written
==========================

Its lines, what it has to release, and how it ends. A function that has asked the device for something that failed goes
to its end, where everything that it still holds is released, and returns the code. So every statement that may fail is
followed by ``if (error) goto end;``, and memory is held in variables of the whole function, which are 0 while there is
none.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Literal, NamedTuple

from soundline.impl.codegen.cuda.host.names import Number, Spellings, bare
from soundline.impl.codegen.cuda.host.values import Values
from soundline.spec.spork.language.nodes import Node
from soundline.spec.spork.language.statements import Statement
from soundline.spec.spork.language.text import lines as lines_of
from soundline.spec.spork.static.sizes import decided

INDENT = "    "


class Line(NamedTuple):
    """A line of C, and the statement that it came from."""

    text: str
    origin: Node | None


class Held(NamedTuple):
    """Memory that a function has to give back."""

    variable: str
    owner: Literal["device", "host"]

    @property
    def release(self) -> str:
        """The call that gives it back."""
        if self.owner == "host":
            return f"free({self.variable})"
        return f"device->release(device->state, {self.variable})"


@dataclass(slots=True)
class Lines:
    """The lines of a function so far."""

    values: Values = field(default_factory=Values)
    spellings: Spellings = field(default_factory=Spellings)
    found: list[Line] = field(default_factory=list)
    held: list[Held] = field(default_factory=list)
    """All memory that it ever holds."""
    depth: int = 1
    fails: bool = False
    """Whether something goes to its end."""
    began: bool = False
    """Whether there may be something to release; before, what is refused returns at once."""
    fitting: set[str] = field(default_factory=set)
    """The numbers that are known to fit into the integers of the device."""
    origin: Node | None = None
    """The statement that is being written."""

    def line(self, text: str) -> None:
        """One line."""
        self.found.append(Line(f"{INDENT * self.depth}{text}" if text else "", self.origin))

    def comment(self, statement: Statement) -> None:
        """A statement as the program has it, and where it stands."""
        self.line(f"// {placed(lines_of(statement)[0], statement)}")

    @contextmanager
    def block(self, head: str, tail: str = "}") -> Iterator[None]:
        """A block in braces."""
        self.line(f"{head} {{" if head else "{")
        self.depth += 1
        try:
            yield
        finally:
            self.depth -= 1
        self.line(tail)

    def attempt(self, call: str) -> None:
        """Something that may fail."""
        self.fails = self.began = True
        self.line(f"error = {call};")
        self.line("if (error) goto end;")

    def refuse(self, condition: str, code: str, comment: str = "") -> None:
        """Ends the function with a code where a condition holds."""
        said = f" // {comment}" if comment else ""
        if not self.began:
            self.line(f"if ({bare(condition)}) return {code};{said}")
            return
        self.fails = True
        with self.block(f"if ({bare(condition)})"):
            self.line(f"error = {code};{said}")
            self.line("goto end;")

    def fit(self, numbers: Iterable[Number]) -> None:
        """Refuses numbers that the device cannot compute with."""
        texts = dict.fromkeys(
            n.text for n in numbers if n.text not in self.fitting and not n.text.isdecimal()
        )
        if texts:
            self.refuse(" || ".join(f"!soundline_fits({bare(t)})" for t in texts), "SOUNDLINE_TOO_LARGE")

    def require(self, condition: Number, code: str, comment: str = "") -> None:
        """Ends the function with a code unless a condition holds; nothing where it is known to."""
        if condition.expression is None or decided(condition.expression) is not True:
            self.refuse(f"!{condition.text}", code, comment)

    def hold(self, name: str, owner: Literal["device", "host"]) -> str:
        """A variable of the whole function for some memory."""
        held = Held(self.spellings.take(f"{name}_memory"), owner)
        self.held.append(held)
        return held.variable

    def release(self, variable: str) -> None:
        """The end of some memory, where its block ends."""
        held = next(h for h in self.held if h.variable == variable)
        if held.owner == "host":
            self.line(f"{held.release};")
            self.line(f"{variable} = 0;")
        else:
            self.fails = True
            self.line(f"error = {held.release};")
            self.line(f"{variable} = 0;")
            self.line("if (error) goto end;")


def placed(text: str, node: Node) -> str:
    """The text of a node, and where it stands."""
    at = node.position
    return text if at is None else f"{text}   {PurePath(at.file).name}:{at.line}"
