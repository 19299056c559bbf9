"""
PTX fragment layouts
====================

The layouts of ``mma.sync`` as the instruction set writes them: formulae in the group of a lane, ``lane >> 2``, and its
number in the group, ``lane % 4``. They are stated apart from the digits of `tensor_cores`, so that each can be held to
the other.
"""

from __future__ import annotations

from collections.abc import Callable

Formula = Callable[[int, int, int], int]
"""(group of the lane, number in the group, element) → a row or a column."""

_UPPER = 8
"""The second half of the sixteen rows."""


def _accumulator_row(group: int, number: int, i: int) -> int:
    return group if i < 2 else group + _UPPER


def _accumulator_column(group: int, number: int, i: int) -> int:
    return number * 2 + (i & 1)


PTX_FRAGMENTS: dict[tuple[int, int, int, int], dict[str, tuple[Formula, Formula]]] = {
    (16, 8, 8, 16): {
        "A": (lambda g, t, i: g if i < 2 else g + _UPPER, lambda g, t, i: t * 2 + (i & 1)),
        "B": (lambda g, t, i: t * 2 + i, lambda g, t, i: g),
        "C": (_accumulator_row, _accumulator_column),
    },
    (16, 8, 16, 16): {
        "A": (
            lambda g, t, i: g if i < 2 or 4 <= i < 6 else g + _UPPER,
            lambda g, t, i: t * 2 + (i & 1) if i < 4 else t * 2 + (i & 1) + 8,
        ),
        "B": (lambda g, t, i: t * 2 + (i & 1) if i < 2 else t * 2 + (i & 1) + 8, lambda g, t, i: g),
        "C": (_accumulator_row, _accumulator_column),
    },
    (16, 8, 4, 32): {
        "A": (lambda g, t, i: g if i == 0 else g + _UPPER, lambda g, t, i: t),
        "B": (lambda g, t, i: t, lambda g, t, i: g),
        "C": (_accumulator_row, _accumulator_column),
    },
    (16, 8, 8, 32): {
        "A": (lambda g, t, i: g if i in (0, 2) else g + _UPPER, lambda g, t, i: t if i < 2 else t + 4),
        "B": (lambda g, t, i: t if i == 0 else t + 4, lambda g, t, i: g),
        "C": (_accumulator_row, _accumulator_column),
    },
    (16, 8, 16, 8): {
        "A": (lambda g, t, i: g if i < 4 else g + _UPPER, lambda g, t, i: t * 4 + (i & 3)),
        "B": (lambda g, t, i: t * 4 + i, lambda g, t, i: g),
        "C": (_accumulator_row, _accumulator_column),
    },
    (16, 8, 32, 8): {
        "A": (
            lambda g, t, i: g if i < 4 or 8 <= i < 12 else g + _UPPER,
            lambda g, t, i: t * 4 + (i & 3) if i < 8 else t * 4 + (i & 3) + 16,
        ),
        "B": (lambda g, t, i: t * 4 + (i & 3) if i < 4 else t * 4 + (i & 3) + 16, lambda g, t, i: g),
        "C": (_accumulator_row, _accumulator_column),
    },
    (8, 8, 4, 64): {
        "A": (lambda g, t, i: g, lambda g, t, i: t),
        "B": (lambda g, t, i: t, lambda g, t, i: g),
        "C": (lambda g, t, i: g, lambda g, t, i: t * 2 + i),
    },
}
"""By M, N, K and the bits of an operand: for each operand the formulae of its rows and columns."""


def ptx_place(shape: tuple[int, int, int, int], operand: str, lane: int, element: int) -> tuple[int, int]:
    """The row and column of an element of a lane."""
    row, column = PTX_FRAGMENTS[shape][operand]
    return row(lane >> 2, lane % 4, element), column(lane >> 2, lane % 4, element)
