"""
Operators of C
==============

Texts of expressions with the operator that is outermost in them, so that parentheses stand where they are needed and
nowhere else.
"""

from __future__ import annotations

from typing import NamedTuple

ATOM = 20
"""The level of what needs no parentheses anywhere."""
UNARY = 15
LEVELS = {
    **dict.fromkeys(("*", "/", "%"), 13),
    **dict.fromkeys(("+", "-"), 12),
    **dict.fromkeys(("<<", ">>"), 11),
    **dict.fromkeys(("<", "<=", ">", ">="), 9),
    **dict.fromkeys(("==", "!="), 8),
    "&": 7,
    "^": 6,
    "|": 5,
    "&&": 4,
    "||": 3,
    "?": 2,
}
"""How tightly an operator binds."""

_MIXED = frozenset({"&&", "||", "&", "|", "^", "<<", ">>"})
"""Operators whose operands have parentheses where compilers advise them."""
_CHAINED = frozenset({"&&", "||"})


class Written(NamedTuple):
    """A text, and how tightly its outermost operator binds."""

    text: str
    level: int = ATOM

    def within(self, level: int) -> str:
        """The text where only operators that bind at least so tightly need no parentheses."""
        return f"({self.text})" if self.level < level else self.text


def operator(sign: str, left: Written, right: Written) -> Written:
    """Two operands with an operator between them."""
    level = LEVELS[sign]
    if sign not in _MIXED:
        return Written(f"{left.within(level)} {sign} {right.within(level + 1)}", level)
    inner = LEVELS["=="] if sign in _CHAINED else LEVELS["*"]
    first = left.within(level if sign in _CHAINED and left.level == level else inner)
    return Written(f"{first} {sign} {right.within(inner)}", level)


def plus(left: Written, right: Written) -> Written:
    """A sum of integers, which needs no parentheses around sums."""
    return Written(f"{left.within(LEVELS['+'])} + {right.within(LEVELS['+'])}", LEVELS["+"])


def unary(sign: str, operand: Written) -> Written:
    """An operand with a sign before it."""
    return Written(f"{sign}{operand.within(UNARY + 1)}", UNARY)


def choice(condition: Written, then: Written, otherwise: Written) -> Written:
    """One of two by a condition."""
    parts = [part.within(LEVELS["?"] + 1) for part in (condition, then, otherwise)]
    return Written("{} ? {} : {}".format(*parts), LEVELS["?"])


def call(function: str, *arguments: Written) -> Written:
    """A call of a function."""
    return Written(f"{function}({', '.join(a.text for a in arguments)})")
