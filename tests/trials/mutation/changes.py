"""
Changes of our own
==================

What cosmic-ray does not change and this code lives by: the ends of an interval, a law named in a table, one part of a
condition, a special case, a statement that does something, the order of two arguments. Each class is a kind of change
in cosmic-ray's form: where it can be made in a node of the syntax tree, and the node with the change made.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

Place = tuple[tuple[int, int], tuple[int, int]]

_PAIRS = (
    ("lo", "hi"),
    ("min", "max"),
    ("any", "all"),
    ("least", "greatest"),
    ("floor", "ceil"),
    ("left", "right"),
    ("sat", "unsat"),
    ("isinf", "isnan"),
    ("And", "Or"),
    ("Add", "Sub"),
    ("Idiv", "Mod"),
    ("CDiv", "CMod"),
    ("Shl", "Shr"),
    ("CmpLt", "CmpLe"),
    ("CmpGt", "CmpGe"),
    ("CmpEq", "CmpNe"),
    ("ULT", "ULE"),
    ("UGT", "UGE"),
    ("UDiv", "URem"),
    ("SignExt", "ZeroExt"),
    ("fpLT", "fpLEQ"),
    ("fpGT", "fpGEQ"),
    ("ForAll", "Exists"),
    ("startswith", "endswith"),
)
NEIGHBOURS = (
    dict(_PAIRS) | {b: a for a, b in _PAIRS} | {"Mul": "Add", "Xor": "Or", "Max": "Add", "Implies": "And"}
)
"""Names that stand where another could: swapping two of them is the slip of a hand."""

SYMMETRIC = frozenset(
    ("min", "max", "least", "greatest", "And", "Or", "isinstance", "zip", "gcd", "Distinct", "same_value")
)
"""Functions of two arguments that do not care which comes first, or whose misuse no test need show."""


def _keyword(word: str, position: tuple[int, int], space: str) -> Any:
    """A word of the language with the space before it."""
    from parso.python.tree import Keyword

    return Keyword(word, position, prefix=space)


class Neighbour:
    """Another name that could stand there: `lo` for `hi`, `CmpLe` for `CmpLt`."""

    def mutation_positions(self, node: Any) -> Iterator[Place]:
        """Uses of a name that has a neighbour."""
        if node.type == "name" and node.value in NEIGHBOURS and _is_use(node):
            yield node.start_pos, node.end_pos

    def mutate(self, node: Any, _index: int) -> Any:
        """The neighbour in its place."""
        node.value = NEIGHBOURS[node.value]
        return node


def _is_use(name: Any) -> bool:
    parent = name.parent
    if name.is_definition() or parent.type in ("param", "dotted_name", "import_as_names", "import_as_name"):
        return False
    if name.search_ancestor("import_from", "import_name") is not None:
        return False
    return not (parent.type == "argument" and parent.children[0] is name)


class DropOperand:
    """One part of a conjunction or disjunction left out."""

    def mutation_positions(self, node: Any) -> Iterator[Place]:
        """Each part."""
        if node.type in ("and_test", "or_test"):
            for operand in node.children[::2]:
                yield operand.start_pos, operand.end_pos

    def mutate(self, node: Any, index: int) -> Any:
        """The other parts."""
        at = max(2 * index - 1, 0)  # with the word that joins it to the rest
        kept = [*node.children[:at], *node.children[at + 2 :]]
        return kept[0] if len(kept) == 1 else type(node)(node.type, kept)


class FixCondition:
    """A condition that always holds, or never: the case it tells apart is gone."""

    def mutation_positions(self, node: Any) -> Iterator[Place]:
        """Both, for every condition; a loop that never ends is no mutant."""
        for place, _ in _conditions(node):
            yield place.start_pos, place.end_pos

    def mutate(self, node: Any, index: int) -> Any:
        """True or False in the condition's place."""
        place, word = list(_conditions(node))[index]
        node.children[node.children.index(place)] = _keyword(word, place.start_pos, " ")
        return node


def _conditions(node: Any) -> Iterator[tuple[Any, str]]:
    if node.type == "if_stmt":
        for word, test in zip(node.children, node.children[1:], strict=False):
            if getattr(word, "value", "") in ("if", "elif"):
                yield from ((test, "True"), (test, "False"))
    elif node.type == "while_stmt":
        yield node.children[1], "False"
    elif node.type in ("test", "ternary") and len(node.children) == 5:
        yield from ((node.children[2], "True"), (node.children[2], "False"))
    elif node.type == "comp_if":
        yield from ((node.children[1], "True"), (node.children[1], "False"))


class DropStatement:
    """A call made for its effect, or an update, left out."""

    def mutation_positions(self, node: Any) -> Iterator[Place]:
        """Statements that are calls, and augmented assignments."""
        if node.type == "simple_stmt" and _has_effect(node.children[0]):
            yield node.children[0].start_pos, node.children[0].end_pos

    def mutate(self, node: Any, _index: int) -> Any:
        """Nothing in its place."""
        leaf = node.children[0].get_first_leaf()
        node.children[0] = _keyword("pass", leaf.start_pos, leaf.prefix)
        return node


def _has_effect(statement: Any) -> bool:
    if statement.type == "atom_expr":
        return (
            getattr(statement.children[-1], "type", "") == "trailer"
            and statement.children[-1].children[0] == "("
        )
    if statement.type == "expr_stmt":
        return _augments(statement.children[1])
    return False


def _augments(operator: Any) -> bool:
    """Whether this is `+=` or another operator of augmented assignment."""
    text = operator.get_code().strip()
    return bool(text) and text != "=" and text.endswith("=") and operator.type == "operator"


class SwapArguments:
    """The first two arguments of a call in the other order, where both are plain names."""

    def mutation_positions(self, node: Any) -> Iterator[Place]:
        """Argument lists that begin with two different names."""
        if node.type == "arglist" and _called(node) not in SYMMETRIC:
            first, second = (*node.children[::2], None)[:2]
            if _is_name(first) and _is_name(second) and first.value != second.value:
                yield first.start_pos, second.end_pos

    def mutate(self, node: Any, _index: int) -> Any:
        """The two names exchanged; each keeps the space before its place."""
        first, second = node.children[0], node.children[2]
        first.value, second.value = second.value, first.value
        return node


def _is_name(node: Any) -> bool:
    return node is not None and node.type == "name"


def _called(arguments: Any) -> str:
    """The last name before the parentheses."""
    before = arguments.parent.get_previous_sibling()
    if before is None:
        return ""
    return str(before.get_last_leaf().value)


OWN = (Neighbour, DropOperand, FixCondition, DropStatement, SwapArguments)
