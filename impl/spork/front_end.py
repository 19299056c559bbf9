"""
Programs from Python
====================

`proc` parses the source of a function as a program, and `proc_from_text` parses a text. Neither executes it. Names that
the program does not define are looked up in the surrounding Python.

The file of a decorated function must begin with ``from __future__ import annotations``. Otherwise Python would evaluate
the types of the arguments.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import FrameType
from typing import Any

from soundline.impl.spork.names import NAMES
from soundline.impl.spork.namespace import Namespace
from soundline.impl.spork.program import SporkProc
from soundline.impl.spork.read_expressions import read_expression
from soundline.impl.spork.read_statements import bound_names, read_argument, read_body
from soundline.impl.spork.reading import Context, Source
from soundline.spec.errors import UsageError
from soundline.spec.spork.language.conditions import refusal
from soundline.spec.spork.language.well_formedness import check


def proc(function: Callable[..., Any]) -> SporkProc:
    """Read the source of a function as a Spork program; a decorator."""
    frame = inspect.currentframe()
    written = written_as(function, frame.f_back if frame else None)
    return read(written.text, written.source, written.names)


@dataclass(frozen=True)
class Written:
    """A text to parse, with its place and the objects of its names."""

    text: str
    source: Source
    names: Mapping[str, Any]


def written_as(function: Callable[..., Any], frame: FrameType | None) -> Written:
    """The source of a function and the names that it can see, those of a frame included."""
    try:
        lines, first = inspect.getsourcelines(function)
        file = inspect.getsourcefile(function) or "<unknown>"
    except (OSError, TypeError):
        name = getattr(function, "__name__", repr(function))
        raise UsageError(
            f"the source of {name} cannot be found", hint="write it in a file, or use proc_from_text"
        ) from None
    text = "".join(lines)
    dedented = textwrap.dedent(text)
    indent = len(lines[0]) - len(dedented.splitlines(keepends=True)[0])
    source = Source(file, tuple(line.rstrip("\n") for line in lines), first, indent)
    return Written(dedented, source, {**NAMES, **_around(function, frame)})


def proc_from_text(text: str, names: Mapping[str, Any] | None = None, *, file: str = "<text>") -> SporkProc:
    """Read a text as a Spork program; `names` adds objects to those of the library."""
    return read(text, Source(file, tuple(text.splitlines())), {**NAMES, **(names or {})})


def _around(function: Callable[..., Any], frame: FrameType | None) -> dict[str, Any]:
    """The names that a function can see: those of its module, of the enclosing frame, and of its closure."""
    found: dict[str, Any] = dict(getattr(function, "__globals__", {}))
    if frame is not None:
        found |= frame.f_locals
    code = getattr(function, "__code__", None)
    free = code.co_freevars if code is not None else ()
    for name, cell in zip(free, getattr(function, "__closure__", None) or (), strict=True):
        try:
            found[name] = cell.cell_contents
        except ValueError:  # a name of the enclosing function that has no value yet
            found.pop(name, None)
    return found


def read(text: str, source: Source, names: Mapping[str, Any]) -> SporkProc:
    """Parse a text."""
    try:
        return _parsed(text, source, names)
    except RecursionError:
        raise refusal("prog-syntax", source.place(1, 0), "blocks or operands nested too deeply") from None


def _parsed(text: str, source: Source, names: Mapping[str, Any]) -> SporkProc:
    try:
        module = ast.parse(text)
    except SyntaxError as error:
        line, offset = error.lineno or 1, (error.offset or 1) - 1
        raise refusal(
            "prog-syntax", source.place(line, offset), f"a Python syntax error: {error.msg}"
        ) from None
    functions = [node for node in module.body if isinstance(node, ast.FunctionDef)]
    if len(functions) != 1 or len(module.body) != 1:
        odd = next((n for n in module.body if n not in functions), module.body[-1] if module.body else None)
        at = source.position(odd) if odd is not None else source.place(1, 0)
        raise refusal("prog-syntax", at, f"{len(functions)} procs", "a text must contain exactly one proc")
    found = _function(functions[0], Context(source, Namespace(names), bound_names(functions[0])))
    check(found)
    return found


def _function(node: ast.FunctionDef, context: Context) -> SporkProc:
    given = node.args
    for odd in (*given.posonlyargs, *given.kwonlyargs, given.vararg, given.kwarg):
        if odd is not None:
            raise context.refuse("prog-syntax", odd, "an argument that is not plain")
    if given.defaults:
        raise context.refuse("prog-syntax", given.defaults[0], "an argument with a default")
    if node.returns is not None:
        raise context.refuse("prog-syntax", node.returns, "a return type, which procs do not have")
    arguments = tuple(read_argument(argument, context) for argument in given.args)
    body = list(node.body)
    if ast.get_docstring(node) is not None:
        body.pop(0)
    preconditions = []
    while body and isinstance(body[0], ast.Assert):
        assertion = body.pop(0)
        assert isinstance(assertion, ast.Assert)
        if assertion.msg is not None:
            raise context.refuse("prog-syntax", assertion.msg, "an assertion with a message")
        preconditions.append(read_expression(assertion.test, context))
    at = context.at(node)
    return SporkProc(node.name, arguments, tuple(preconditions), read_body(body, context), position=at)
