"""
Mutants of a module
===================

A mutant is a module with one small change: another operator, a moved bound, a condition dropped or turned round. Where
a mutant passes the tests, the tests do not hold that operator, bound or condition. The changes are cosmic-ray's, as far
as they are telling, and those of `mutation_changes`; what means nothing to a running program (annotations, messages,
decorators, assertions) is left alone.
"""

from __future__ import annotations

import ast
import difflib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any, Protocol

from soundline.spec.errors import UsageError

Position = tuple[int, int]
"""A line, counted from one, and a column, counted from zero in characters."""


class SourceChange(Protocol):
    """One kind of change: where it can be made in a node of the syntax tree, and the node with the change made."""

    def mutation_positions(self, node: Any) -> Iterator[tuple[Position, Position]]:
        """Where the change can be made."""

    def mutate(self, node: Any, index: int) -> Any:
        """The node with the change made at one of these places."""


@dataclass(frozen=True, slots=True)
class Mutant:
    """One change at one place: `occurrence` counts the places of this change in the module."""

    change: str
    occurrence: int
    line: int
    column: int


_TELLING = {
    "Binary": "Add_Sub Sub_Add Mul_Add Mul_FloorDiv Div_Mul FloorDiv_Mul FloorDiv_Mod Mod_FloorDiv Pow_Mul"
    " RShift_LShift LShift_RShift BitOr_BitAnd BitAnd_BitOr BitXor_BitOr",
    "Comparison": "Eq_NotEq NotEq_Eq Lt_LtE LtE_Lt Gt_GtE GtE_Gt Lt_Gt LtE_GtE Gt_Lt GtE_LtE Eq_LtE Eq_GtE"
    " Is_IsNot IsNot_Is",
    "Unary": "Delete_USub Delete_Invert Delete_Not USub_UAdd",
}
"""Of all replacements of an operator, those that a person could have written in its place."""

_PLAIN = (
    "NumberReplacer",
    "ReplaceTrueWithFalse",
    "ReplaceFalseWithTrue",
    "ReplaceAndWithOr",
    "ReplaceOrWithAnd",
    "ReplaceBreakWithContinue",
    "ReplaceContinueWithBreak",
    "ZeroIterationForLoop",
    "ExceptionReplacer",
)

LARGEST_NUMBER = 4096
"""Greater numbers are limits of work and time; one more or less of those is nothing that a test should see."""


@cache
def changes() -> dict[str, SourceChange]:
    """Every kind of change by name. Raises ``UsageError`` where cosmic-ray is not installed."""
    try:
        from cosmic_ray.plugins import get_operator
    except ImportError as missing:
        raise UsageError(
            f"mutation testing needs cosmic-ray, and {missing.name} is not installed",
            hint="python -m pip install -e '.[dev]'",
        ) from None
    from trials.mutation.changes import OWN

    names = [f"Replace{kind}Operator_{pair}" for kind, pairs in _TELLING.items() for pair in pairs.split()]
    return {name: get_operator(f"core/{name}")() for name in (*names, *_PLAIN)} | {
        c.__name__: c() for c in OWN
    }


def mutants_of(source: str) -> list[Mutant]:
    """Every mutant of a module, in the order of its text."""
    from cosmic_ray.ast import ast_nodes, get_ast

    silent = _Silent(source)
    nodes = list(ast_nodes(get_ast(source)))
    found = []
    for name, change in changes().items():
        places = [place for node in nodes for place in change.mutation_positions(node)]
        for occurrence, (start, end) in enumerate(places):
            again = occurrence > 0 and places[occurrence - 1] == (start, end)
            if not silent.covers(start, end, name) and not (again and start in silent.first_items):
                found.append(Mutant(name, occurrence, *start))
    return sorted(found, key=lambda m: (m.line, m.column, m.change, m.occurrence))


def mutated(source: str, mutant: Mutant) -> str | None:
    """The module with the change made; None where that is no Python, or the same program."""
    from cosmic_ray.mutating import mutate_code

    changed: str | None = mutate_code(source, changes()[mutant.change], mutant.occurrence)
    if changed is None:
        return None
    try:
        same = ast.dump(ast.parse(changed)) == ast.dump(ast.parse(source))
    except SyntaxError:
        return None
    return None if same else changed


def changed_lines(source: str, changed: str) -> tuple[int, str, str]:
    """The first line that differs, and what stood and stands in its place."""
    old, new = source.splitlines(), changed.splitlines()
    for tag, i1, i2, j1, j2 in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag != "equal":
            return i1 + 1, _joined(old[i1:i2]), _joined(new[j1:j2])
    return 1, "", ""


def _joined(lines: list[str]) -> str:
    return " ".join(" ".join(line.split()) for line in lines)


# what is left alone -----------------------------------------------------------------------------------------------


class _Silent:
    """The parts of a module in which a change means nothing to the running program."""

    def __init__(self, source: str) -> None:
        self.lines = source.splitlines()
        self.ranges: list[tuple[Position, Position]] = []
        self.unions: list[tuple[Position, Position]] = []
        self.large: set[Position] = set()
        self.first_items: set[Position] = set()
        """Where an index is 0. Of its neighbours, -1 is the same item wherever there is one, and 1 wherever two."""
        for node in ast.walk(ast.parse(source)):
            self._read(node)

    def covers(self, start: Position, end: Position, change: str) -> bool:
        """Whether a change of this place is to be left out."""
        if change == "NumberReplacer" and start in self.large:
            return True
        ranges = [*self.ranges, *self.unions] if "BitOr" in change else self.ranges
        return any(first <= start and end <= last for first, last in ranges)

    def _read(self, node: ast.AST) -> None:
        for part in _silent_parts(node):
            self.ranges.append(self._span(part))
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr) and _names_a_type(node.right):
            self.unions.append(self._span(node))
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant) and node.slice.value == 0:
            self.first_items.add(self._span(node.slice)[0])
        number = isinstance(node, ast.Constant) and isinstance(node.value, int | float)
        if number and abs(node.value) > LARGEST_NUMBER:  # type: ignore[attr-defined]
            self.large.add(self._span(node)[0])

    def _span(self, node: ast.AST) -> tuple[Position, Position]:
        """Where a node stands. `ast` counts columns in bytes; cosmic-ray counts characters."""
        line, end_line = node.lineno, node.end_lineno  # type: ignore[attr-defined]
        column, end_column = node.col_offset, node.end_col_offset  # type: ignore[attr-defined]
        return (line, self._characters(line, column)), (end_line, self._characters(end_line, end_column))

    def _characters(self, line: int, column: int) -> int:
        return len(self.lines[line - 1].encode()[:column].decode())


def _silent_parts(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.arg | ast.AnnAssign) and node.annotation is not None:
        yield node.annotation
    if isinstance(node, ast.FunctionDef):
        yield from [node.returns] if node.returns is not None else []
        yield from node.decorator_list
        yield from [node] if node.name in ("__repr__", "__str__") else []
    if isinstance(node, ast.ClassDef):
        yield from (*node.decorator_list, *node.bases)
    if isinstance(node, ast.JoinedStr | ast.Assert) or _only_for_types(node):
        yield node
    if isinstance(node, ast.keyword) and node.arg == "strict":  # of zip: it guards, as an assertion does
        yield node
    if isinstance(node, ast.Assign) and any(
        isinstance(t, ast.Name) and t.id == "__all__" for t in node.targets
    ):
        yield node


def _only_for_types(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


def _names_a_type(node: ast.AST) -> bool:
    """Whether the right side of ``|`` is a type, so that the whole is a union of types."""
    match node:
        case ast.Constant(value=None):
            return True
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name in ("int", "str", "float", "bool", "object", "list", "tuple", "dict") or (
                name[:1].isupper() and not name.isupper()
            )
        case ast.Subscript(value=generic):
            return _names_a_type(generic)
    return False
