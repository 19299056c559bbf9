"""
Whose mistake it was
====================

An exception that a rule file raised, reported as a mistake in that file: the innermost line of the file that was
running, the kind of mistake, and a hint where one is obvious. A traceback of soundline is never shown.
"""

from __future__ import annotations

import ast
import builtins
import difflib
import re
from collections.abc import Iterable

from soundline.spec.errors import IllFormed, RuleError, SoundlineError
from soundline.verify import vocabulary
from soundline.verify.files.problems import Kind, Problem
from soundline.verify.files.syntax import syntax_message

_VOCABULARY = frozenset(vocabulary.__all__)
_UNKNOWN = re.compile(r"unknown name(?: in an annotation)?: (\w+)")
_IN_FILE = re.compile(r" \([^()]*\)$")


class Blame:
    """Turns the exceptions of one file into problems; knows which names failed statements would have bound."""

    def __init__(self, file: str, namespace: dict[str, object]) -> None:
        self.file = file
        self.namespace = namespace
        self.broken: dict[str, int] = {}
        """Names that a failed statement would have bound, and its line."""
        self.star: int | None = None
        """The line of a star import that failed."""

    def note(self, statement: ast.stmt) -> None:
        """Remember what a failed statement would have bound, to explain what fails because of it."""
        for name in _bound_by(statement):
            if name == "*":
                self.star = self.star or statement.lineno
            elif name not in self.namespace:
                self.broken.setdefault(name, statement.lineno)

    def rule_error(self, error: RuleError) -> Problem:
        """The problem of a function that is not a rule."""
        unknown = _UNKNOWN.match(error.message)
        hint = error.hint or (self._hint(unknown[1]) if unknown else None)
        kind: Kind = "unknown-name" if unknown else "not-a-rule"
        return Problem(kind, error.file or self.file, error.line, error.message, hint, error.rule)

    def problem(self, error: BaseException, statement: ast.stmt) -> Problem:
        """The problem that an exception at top level is."""
        line = self._line(error) or statement.lineno
        name = getattr(statement, "name", None) if _is_decorated(statement) else None
        match error:
            case RuleError() | SoundlineError():
                return Problem("not-a-rule", self.file, line, _text(error), error.hint, name)
            case NameError() if error.name:
                hint = self._hint(error.name)
                return Problem("unknown-name", self.file, line, f"unknown name: {error.name}", hint, name)
            case ImportError():
                message = f"cannot import: {_IN_FILE.sub('', str(error))}"
                return Problem("import", self.file, line, message, _import_hint(error), name)
            case SystemExit():
                message = f"the file ends the program here (exit status {error.code})"
                return Problem("exit", self.file, line, message, "remove the call, or guard it with __name__")
            case SyntaxError():
                return Problem("syntax", self.file, line, syntax_message(error), None, name)
        return Problem(
            "exception", self.file, line, f"{type(error).__name__}: {error}".rstrip(": "), None, name
        )

    def _line(self, error: BaseException) -> int | None:
        if isinstance(error, SyntaxError) and error.filename == self.file:
            return error.lineno
        line, trace = None, error.__traceback__
        while trace is not None:
            if trace.tb_frame.f_code.co_filename == self.file:
                line = trace.tb_lineno
            trace = trace.tb_next
        return line

    def _hint(self, name: str) -> str | None:
        if name in self.broken:
            return f"its definition on line {self.broken[name]} failed"
        if name in _VOCABULARY:
            return f"add: from soundline.verify import {name}"
        if self.star is not None:
            return f"the import on line {self.star} failed"
        return _closest(name, {*self.namespace, *_VOCABULARY, *dir(builtins)})


def _bound_by(statement: ast.stmt) -> Iterable[str]:
    """The names that a statement binds at top level."""
    for node in ast.walk(statement):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Import | ast.ImportFrom):
            yield from ((alias.asname or alias.name).partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id


def _is_decorated(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.FunctionDef) and bool(statement.decorator_list)


def _closest(name: str, known: Iterable[str]) -> str | None:
    close = difflib.get_close_matches(name, [k for k in known if not k.startswith("__")], n=1)
    return f"did you mean {close[0]}?" if close else None


def _import_hint(error: ImportError) -> str | None:
    if error.name == "soundline.verify":
        wanted = re.search(r"cannot import name '(\w+)'", str(error))
        return _closest(wanted[1], _VOCABULARY) if wanted else None
    if isinstance(error, ModuleNotFoundError) and error.name:
        if error.name.startswith("soundline."):
            return "rules are written with: from soundline.verify import …"
        return f"is {error.name} installed, or in the folder of this file?"
    return None


def _text(error: SoundlineError) -> str:
    """What an error says, with the law it names and without a place of its own."""
    if isinstance(error, IllFormed):
        return f"{error.op}: {error.message} [{error.rule}]"
    return error.message
