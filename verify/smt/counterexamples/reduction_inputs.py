"""
Inputs that tell reductions apart
=================================

That floats are added in one order or another shows only where a small number is swamped by a great one, or where a
product overflows on the way; that +0.0 was added, only where all else is -0.0; that a maximum took in a zero, only
where all else is negative. Such elements, in a few arrangements, for goals with a Reduce.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from itertools import cycle, islice

from soundline.spec.arrays.arrays import Array
from soundline.spec.dtypes import DType, Element, bool_, exponent_range, index
from soundline.spec.errors import IllFormed
from soundline.spec.ops.node import Op, toposort
from soundline.spec.rules.instances import Goal
from soundline.spec.uop import element_of

FLOATS = ("GoG", "oGg", "z", "i", "n", "MW", "MMmoGg", "ooGgo", "GMgom", "omMM", "qo")
"""o is 1 and n is -1; G and g are great numbers of both signs, M and W the greatest, m the inverse of M; z is -0.0,
Z is 0.0, i and I are the infinities, and q is NaN."""

WITH_SCALARS = (("Zo", "i"), ("Io", "i"), ("no", "I"), ("io", "o"))
"""Elements of tensors, and of the scalars beside them."""

WHOLE = ("n", "M", "W", "Mo", "oM", "nW", "nZ", "s", "Kook", "on")
"""The same of integers: o is 1, n is -1, M the greatest number, and W the least; s times s is out of range, and beside
K and k an odd number is rounded where it becomes a float32."""

BOOLS = ("o", "z", "oz")
"""o is True, z is False."""


def telling(
    goal: Goal, shapes: Mapping[str, tuple[int, ...]], dtypes: Mapping[str, DType]
) -> Iterator[dict[str, Array]]:
    """Inputs for a goal that reduces something; none for any other."""
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
    if any(d.is_float and shapes[n] for n, d in dtypes.items()) and not all(shapes.values()):
        for letters, scalar in WITH_SCALARS:
            yield {n: _filled(letters if shape else scalar, shape, dtypes[n]) for n, shape in shapes.items()}


def _filled(letters: str, shape: tuple[int, ...], dtype: DType) -> Array:
    """An array with these letters over and over."""
    known = letters if dtype.is_float else "o"
    chosen = islice(cycle(known), math.prod(shape))
    return Array(dtype, shape, tuple(_element(x, dtype) for x in chosen))


def _arrangements(dtype: DType) -> tuple[str, ...]:
    return FLOATS if dtype.is_float else BOOLS if dtype is bool_ else WHOLE


def _element(letter: str, dtype: DType) -> Element:
    if dtype is bool_:
        return letter == "o"
    if dtype.is_float:
        _, most = exponent_range(dtype)
        great = math.ldexp(1.0, min(dtype.mantissa_bits + 2, most))
        far = math.ldexp(1.0, most)
        known = {"G": great, "g": -great, "M": far, "W": -far, "m": 1 / far, "n": -1.0, "z": -0.0, "Z": 0.0}
        known |= {"i": math.inf, "I": -math.inf, "q": math.nan}
        return element_of(known.get(letter, 1.0), dtype)
    ends = {"M": 1000, "W": -1000} if dtype is index else {"M": dtype.max, "W": dtype.min}
    ends |= {"n": -1, "Z": 0, "s": 1000 if dtype is index else 1 << dtype.bits // 2}
    ends |= {"K": min(1 << 24, ends["M"]), "k": max(-(1 << 24), ends["W"])}
    return element_of(ends.get(letter, 1), dtype)
