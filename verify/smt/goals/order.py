"""
Which counterexample is smaller
===============================

One order, for scalars and tensors alike. Of two counterexamples the smaller one is that which is smaller in the first
of these in which they differ:

1. **rank**: the sum of the ranks that were chosen, then the instances in the order in which `goals` gives them;
2. **sizes**: no axis and no range is empty, rather than some; the sum of the sizes; each size in the order of
   declaration; then each offset, as near to zero as can be, the positive one first. A Size that is neither an axis of a
   variable nor the end of a range is a number like others, and may be 0;
3. **constants**, and bounds of intervals: first the largest as small as can be, then each in the order of declaration;
4. **values**: of tensors, elements that count 1, 2, 3 … come first, so that a reader sees which one went astray;
   otherwise the largest value as small as can be, then each in the order of declaration.

*Small* is, of numbers: 0, 1, -1, 2, -2 …; of floats: small whole numbers, then other short fractions, then -0.0, the
infinities, NaN, and last the numbers with long significands.

Where all candidates can be tried, the counterexample that is shown is the smallest one there is. Elsewhere it is the
smallest that was found: a solver bounds the sizes and the whole numbers from below as far as it has an answer.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from soundline.spec.dtypes import DType, Element, bool_
from soundline.spec.uop import element_of

Key = tuple[Any, ...]


def simplicity(dtype: DType, value: Element) -> tuple[float, ...]:
    """A sort key: small elements first."""
    if not dtype.is_float:
        return (abs(value), value < 0)
    x = float(value)
    if math.isnan(x):
        return (4, 0, 0)
    if math.isinf(x):
        return (3, 0, x < 0)
    if x == 0.0:
        return (2 if math.copysign(1.0, x) < 0 else 0, 0, 0)
    if x.is_integer() and abs(x) <= 64:
        return (0, abs(x), x < 0)
    length = abs(x).as_integer_ratio()
    bits = max(n.bit_length() for n in length)
    return (1 if bits <= 8 else 5, bits, abs(math.log2(abs(x))), x < 0)


def largest_first(keys: Sequence[tuple[float, ...]]) -> Key:
    """A sort key for a group of constants or values: the largest, then each."""
    return max(keys, default=()), tuple(keys)


def sizes_key(sizes: Sequence[int], offsets: Sequence[int], axes: Sequence[int] | None = None) -> Key:
    """A sort key for sizes and offsets; `axes` are the sizes of axes and ranges, if not all are."""
    return (
        0 in (sizes if axes is None else axes),
        sum(sizes),
        tuple(sizes),
        tuple((abs(n), n < 0) for n in offsets),
    )


def elements_key(elements: Sequence[tuple[DType, Element]]) -> Key:
    """A sort key for the elements of all tensors."""
    if all(e == counted(d, k) for k, (d, e) in enumerate(elements, start=1)):
        return (0,)
    return 1, *largest_first([simplicity(d, e) for d, e in elements])


def counted(dtype: DType, number: int) -> Element:
    """The elements 1, 2, 3 … of a dtype; True and False in turn."""
    return number % 2 == 1 if dtype is bool_ else element_of(number, dtype)
