"""
Steps
=====

The values that explain a counterexample: the values of the expressions inside the sides of a rule on its inputs, as the
rule writes them, the inner ones first. Variables and numbers are left out, and so are the sides themselves, which are
shown anyway.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from soundline.spec.arrays.arrays import Array, Cell
from soundline.spec.dtypes import DType
from soundline.spec.errors import SoundlineError
from soundline.spec.evaluate import evaluate
from soundline.spec.ops.node import Op
from soundline.spec.rules.building import build
from soundline.spec.rules.instances import Goal
from soundline.spec.rules.terms import Term, Value, show, subterms

MOST_STEPS = 8
MOST_ELEMENTS = 24
"""A value with more elements than this explains nothing."""


def steps(goal: Goal, bound: Mapping[int, Array]) -> tuple[tuple[str, str], ...]:
    """Expressions inside the sides, and their values on these inputs, by slots."""
    found: dict[str, str] = {}
    sides = {show(goal.rule.left), show(goal.rule.right)}
    for term in _inner(goal):
        text = show(term)
        if text in found or text in sides:
            continue
        try:
            value = evaluate(build(term, goal.env), bound)
        except (SoundlineError, KeyError):  # an expression that needs its surroundings to be built
            continue
        if len(value.elements) <= MOST_ELEMENTS:
            found[text] = value_text(value)
    return tuple((_bare(text), value) for text, value in list(found.items())[:MOST_STEPS])


def _bare(text: str) -> str:
    """An expression without the brackets that stand around all of it."""
    depth = 0
    for k, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        if depth == 0 and k < len(text) - 1:
            return text
    return text[1:-1] if text.startswith("(") else text


def _inner(goal: Goal) -> Iterator[Term]:
    """The expressions strictly inside both sides that compute something, inner ones first."""
    for side in (goal.rule.left, goal.rule.right):
        for term in reversed(list(subterms(side))):
            if isinstance(term, Value) and (isinstance(term.head, Op) or term.head == "op"):
                yield term


def value_text(value: Array) -> str:
    """A scalar as its element, an array as dtype, shape and nested lists."""
    cells = [element_text(value.dtype, e) for e in value.elements]
    return cells[0] if value.shape == () else f"{value.dtype} {value.shape}: {nested(cells, value.shape)}"


def element_text(dtype: DType, value: Cell) -> str:
    """An element for a reader: a float with a long significand or exponent as its exact hexadecimal form."""
    number = value if dtype.is_float and isinstance(value, float) else 0.0
    if math.isfinite(number) and number != 0 and not 1e-4 <= abs(number) < 1e16:
        return number.hex()
    return repr(value)


def nested(cells: Sequence[str], shape: tuple[int, ...]) -> str:
    """Texts of elements as nested lists."""
    if not shape:
        return cells[0]
    step = math.prod(shape[1:])
    rows = [nested(cells[k * step : (k + 1) * step], shape[1:]) for k in range(shape[0])]
    return f"[{', '.join(rows)}]"
