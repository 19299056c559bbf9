"""
Inputs that tell folds apart
============================

That floats are added in one order or another shows only where a small number is swamped by a great one, or where a
product overflows on the way; that +0.0 was added, only where all else is -0.0; that a maximum took in a zero, only
where all else is negative. Such elements, in a few arrangements, for goals with a Reduce.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from soundline.spec.arrays import Array
from soundline.spec.dtypes import DType, Element, bool_, exponent_range, index
from soundline.spec.errors import IllFormed
from soundline.spec.instances import Goal
from soundline.spec.node import toposort
from soundline.spec.op_schema import Op
from soundline.spec.uop import element_of

FLOATS = ("GoG", "oGg", "z", "i", "n", "MW", "MMmoGg", "ooGgo", "GMgom")
"""o is 1 and n is -1; G and g are great numbers of both signs, M and W the greatest, m the inverse of M; z is -0.0."""

WHOLE = ("n", "M", "W", "Mo", "oM", "nW")
"""The same of integers: o is 1, n is -1, M the greatest number, and W the least."""

BOOLS = ("o", "z", "oz")
"""o is True, z is False."""


def telling(
    goal: Goal, shapes: Mapping[str, tuple[int, ...]], dtypes: Mapping[str, DType]
) -> Iterator[dict[str, Array]]:
    """Inputs for a goal that folds something; none for any other."""
    sides = [goal.left] if isinstance(goal.right, IllFormed) else [goal.left, goal.right]
    if not any(n.op is Op.Reduce for side in sides for n in toposort(side)):
        return
    for turn in range(max((len(_arrangements(d)) for d in dtypes.values()), default=0)):
        found: dict[str, Array] = {}
        for start, (name, shape) in enumerate(shapes.items()):
            ways = _arrangements(dtypes[name])
            letters = ways[turn % len(ways)]
            chosen = (letters[(start + k) % len(letters)] for k in range(math.prod(shape)))
            found[name] = Array(dtypes[name], shape, tuple(_element(x, dtypes[name]) for x in chosen))
        yield found


def _arrangements(dtype: DType) -> tuple[str, ...]:
    return FLOATS if dtype.is_float else BOOLS if dtype is bool_ else WHOLE


def _element(letter: str, dtype: DType) -> Element:
    if dtype is bool_:
        return letter == "o"
    if dtype.is_float:
        _, most = exponent_range(dtype)
        great = math.ldexp(1.0, min(dtype.mantissa_bits + 2, most))
        far = math.ldexp(1.0, most)
        known = {"G": great, "g": -great, "M": far, "W": -far, "m": 1 / far, "z": -0.0, "i": math.inf}
        return element_of(known.get(letter, -1.0 if letter == "n" else 1.0), dtype)
    ends = {"M": 1000, "W": -1000} if dtype is index else {"M": dtype.max, "W": dtype.min}
    return element_of(ends.get(letter, -1 if letter == "n" else 1), dtype)
