"""
Inputs that show an order
=========================

Whether floats are added in one order or another shows only where a small number is swamped by a great one, or where a
product overflows on the way. Such numbers, in a few arrangements, for goals that fold floats.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from soundline.spec.arrays import Array
from soundline.spec.dtypes import DType, Element, exponent_range
from soundline.spec.errors import IllFormed
from soundline.spec.instances import Goal
from soundline.spec.node import toposort
from soundline.spec.op_schema import Op
from soundline.spec.uop import element_of

ARRANGEMENTS = ("GoG", "oGg", "MMmoGg", "ooGgo", "GMgom")
"""G and g are great numbers, M and m those near the ends of the exponents, o is 1; small letters undo great ones."""


def folds_floats(goal: Goal) -> bool:
    """Whether a side of a goal folds floats in an order that may matter."""
    sides = [goal.left] if isinstance(goal.right, IllFormed) else [goal.left, goal.right]
    nodes = (n for side in sides for n in toposort(side))
    return any(n.op is Op.Reduce and n.dtype.is_float and n.arg.op is not Op.Max for n in nodes)


def swamped(
    goal: Goal, shapes: Mapping[str, tuple[int, ...]], dtypes: Mapping[str, DType]
) -> Iterator[dict[str, Array]]:
    """Inputs for a goal that folds floats; none for any other."""
    if not folds_floats(goal):
        return
    for arrangement in ARRANGEMENTS:
        found: dict[str, Array] = {}
        for start, (name, shape) in enumerate(shapes.items()):
            letters = (arrangement[(start + k) % len(arrangement)] for k in range(math.prod(shape)))
            found[name] = Array(dtypes[name], shape, tuple(_number(x, dtypes[name]) for x in letters))
        yield found


def _number(letter: str, dtype: DType) -> Element:
    if not dtype.is_float:
        return element_of(1, dtype)
    _, most = exponent_range(dtype)
    great = math.ldexp(1.0, min(dtype.mantissa_bits + 2, most))
    far = math.ldexp(1.0, most)
    return {"o": 1.0, "G": great, "g": -great, "M": far, "m": 1 / far}[letter]
