"""
What cells hold in a parallel run
=================================

The parallel reading compares runs of one program with each other, so it computes with terms
(`spec.spork.machine.algebras`). An element may cover several cells, which other elements cover otherwise when storage
is used again; so a cell holds a value or a *piece* of one. Three values are no results of anything:

- *junk* is what storage holds before it is written; each cell has its own;
- *doubtful* is what a register holds that was used on both sides of a missing ``wgmma.fence``: PTX leaves it undefined;
- a *mixture* is what is read of cells that were not written together.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from soundline.spec.ops.node import Op
from soundline.spec.spork.machine.algebras import Tokens, ValueToken


class Piece(NamedTuple):
    """What one of several cells holds of a value."""

    value: ValueToken
    number: int
    of: int


Content = ValueToken | Piece


class Junk(NamedTuple):
    """What a cell holds that was never written."""

    cell: int


class Mixture(NamedTuple):
    """What is read of cells that were not written together."""

    contents: tuple[Content, ...]


DOUBTFUL = "doubtful"


def divided(value: ValueToken, count: int) -> tuple[Content, ...]:
    """What the cells hold of which an element has this value."""
    return (value,) if count == 1 else tuple(Piece(value, number, count) for number in range(count))


def joined(contents: Sequence[Content], tokens: Tokens) -> ValueToken:
    """The value of an element whose cells hold this."""
    first = contents[0]
    if isinstance(first, ValueToken) and len(contents) == 1:
        return first
    if isinstance(first, Piece) and tuple(contents) == divided(first.value, len(contents)):
        return first.value
    return tokens.unknown(Mixture(tuple(contents)))


def is_junk(value: ValueToken) -> bool:
    """Whether a value was read of cells of which one was never written."""
    match value.head:
        case ("unknown", Junk()):
            return True
        case ("unknown", Mixture(contents)):
            return any(is_junk(c.value if isinstance(c, Piece) else c) for c in contents)
        case _:
            return False


def text(value: ValueToken, depth: int = 4) -> str:
    """A value to read; what is deeper is left out.

    >>> tokens = Tokens()
    >>> text(tokens.unknown("x[0]")), text(tokens.unknown(Junk(3)))
    ('x[0]', 'junk')
    """
    match value.head:
        case ("unknown", Junk()):
            return "junk"
        case ("unknown", Mixture()):
            return "a mixture"
        case ("unknown", what):
            return str(what)
        case ("number", _, bits):
            return f"number {bits}"
        case (Op() as op, *_):
            name = op.name
        case other:
            name = str(other)
    inner = ", ".join(text(v, depth - 1) for v in value.operands) if depth else "..."
    return f"{name}({inner})"
