"""
Simple values first
===================

Which values are tried before the solver is asked, in the order of `order`: so that what is found first is small.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from itertools import islice, product
from typing import Any

from soundline.spec.dtypes import (
    DType,
    Element,
    bool_,
    exponent_range,
    index,
    largest_finite,
    round_to,
    to_bits,
)
from soundline.verify.smt.goals.obligations import Obligation
from soundline.verify.smt.goals.order import largest_first, simplicity
from soundline.verify.smt.goals.points import SLOW, Point

LIST_LENGTH = {1: 60, 2: 24, 3: 9, 4: 5, 5: 4, 6: 3}
"""How many values of each variable are combined, by the number of variables."""

FEW_POINTS = 120
"""Points tried where an op is a program of many steps."""

RANDOM_POINTS = 150
"""Points tried at random beside the combinations, where there are more than two variables."""


def rank(obligation: Obligation, point: Sequence[Element]) -> tuple[Any, ...]:
    """A sort key for counterexamples: the smallest first."""
    keys = {n: simplicity(v.dtype, x) for (n, v), x in zip(obligation.variables.items(), point, strict=True)}
    groups = (
        [k for n, k in keys.items() if n in obligation.leading],
        [k for n, k in keys.items() if n not in obligation.leading],
    )
    return tuple(largest_first(group) for group in groups)


@cache
def directed(dtype: DType, count: int) -> tuple[Element, ...]:
    """Some elements of a dtype, simple ones and extreme ones, simplest first."""
    if dtype is bool_:
        return (False, True)
    plain, extreme = (_float_values if dtype.is_float else _whole_values)(dtype)
    kept = [*plain[: count - count // 3], *extreme[: count // 3], *plain[count - count // 3 : count]][:count]
    return _distinct(dtype, kept)


def _distinct(dtype: DType, values: Sequence[Element]) -> tuple[Element, ...]:
    unique = {(v if dtype is index else to_bits(dtype, v)): v for v in values}
    return tuple(sorted(unique.values(), key=lambda v: simplicity(dtype, v)))


def _whole_values(dtype: DType) -> tuple[list[Element], list[Element]]:
    plain = [
        0,
        *(
            s * n
            for n in (1, 2, 3, 4, 5, 7, 8, 6, 10, 12, 15, 16, 17, 31, 32, 33, 63, 64, 100)
            for s in (1, -1)
        ),
    ]
    if dtype is index:
        return [*plain], [s * n for n in (1000, 1 << 31, 1 << 64, 12345) for s in (1, -1)]
    low, high, half = int(dtype.min), int(dtype.max), 1 << (dtype.bits // 2)
    ends = [
        high,
        low,
        high - 1,
        low + 1,
        half,
        -half,
        1 << (dtype.bits - 2),
        half - 1,
        high // 2,
        low // 2,
        high // 3,
    ]
    inside = [n for n in plain if low <= n <= high]
    return [*inside], [n for n in dict.fromkeys(ends) if low <= n <= high and n not in inside]


def _float_values(dtype: DType) -> tuple[list[Element], list[Element]]:
    least, _ = exponent_range(dtype)
    tiny, one_ulp = math.ldexp(1.0, least - dtype.mantissa_bits), math.ldexp(1.0, -dtype.mantissa_bits)
    big = largest_finite(dtype)
    plain = [
        0.0,
        1.0,
        -1.0,
        2.0,
        -2.0,
        0.5,
        3.0,
        -3.0,
        -0.5,
        5.0,
        0.25,
        10.0,
        7.0,
        0.75,
        -5.0,
        1.5,
        64.0,
        4.0,
        6.0,
        0.1,
        1 / 3,
    ]
    extreme = [
        math.nan,
        -0.0,
        math.inf,
        -math.inf,
        tiny,
        big,
        1.0 + one_ulp,
        -big,
        -tiny,
        math.ldexp(1.0, least),
    ]
    extreme += [
        1.0 - one_ulp / 2,
        1 / one_ulp,
        2.0 / one_ulp + 2,
        math.sqrt(big),
        math.ldexp(1.0, least) - tiny,
        big / 3,
        3 * tiny,
    ]
    return [round_to(dtype, x) for x in plain], [round_to(dtype, x) for x in extreme]


def is_slow(obligation: Obligation) -> bool:
    """Whether an op is a program of many steps, so that a point costs as much as a hundred others."""
    return any(n.op in SLOW for n in obligation.nodes())


def points(obligation: Obligation, seed: int) -> Iterator[Point]:
    """The points that are tried before the solver is asked: combinations of directed values, smallest first."""
    every = _directed_points(obligation)
    if is_slow(obligation):
        yield from islice(every, FEW_POINTS)
        return
    yield from every
    if len(obligation.variables) > 2:
        yield from random_points(obligation, RANDOM_POINTS, seed)


def _directed_points(obligation: Obligation) -> Iterator[Point]:
    dtypes = [v.dtype for v in obligation.variables.values()]
    length = LIST_LENGTH.get(len(dtypes), 2)
    lists = [directed(d, length) for d in dtypes]
    leading = tuple(n in obligation.leading for n in obligation.variables)
    if len(dtypes) <= 10:
        for chosen in _combinations(tuple(map(len, lists)), leading):
            yield tuple(values[k] for values, k in zip(lists, chosen, strict=True))


@lru_cache(maxsize=64)
def _combinations(lengths: tuple[int, ...], leading: tuple[bool, ...]) -> tuple[tuple[int, ...], ...]:
    """All index tuples into lists of these lengths, in the order of `rank`."""

    def key(chosen: tuple[int, ...]) -> tuple[Any, ...]:
        first = [k for k, is_first in zip(chosen, leading, strict=True) if is_first]
        rest = [k for k, is_first in zip(chosen, leading, strict=True) if not is_first]
        return max(first, default=0), first, max(rest, default=0), rest

    return tuple(sorted(product(*(range(n) for n in lengths)), key=key))


def random_points(obligation: Obligation, count: int, seed: int) -> Iterator[Point]:
    """Points at random, the same for the same seed: directed values, small ones, and any bit pattern."""
    source = random.Random(seed)  # noqa: S311  # repeatable, and no secret
    dtypes = [v.dtype for v in obligation.variables.values()]
    for _ in range(count):
        yield tuple(_random_element(source, d) for d in dtypes)


def _random_element(source: random.Random, dtype: DType) -> Element:
    kind = source.random()
    if dtype is bool_ or kind < 0.4:
        return source.choice(directed(dtype, LIST_LENGTH[1]))
    if dtype.is_float:
        return _random_float(source, dtype, kind)
    bits = source.randrange(1, (dtype.bits or 80) + 1)
    value = source.getrandbits(bits) * (source.choice((1, -1)) if dtype.signed else 1)
    return value if dtype is index or dtype.min <= value <= dtype.max else int(dtype.max)


def _random_float(source: random.Random, dtype: DType, kind: float) -> Element:
    from soundline.spec.dtypes import from_bits

    if kind < 0.6:
        return round_to(dtype, source.randrange(-64, 65) / source.choice((1, 2, 4, 8)))
    if kind < 0.8:
        return round_to(dtype, source.uniform(-4.0, 4.0))
    return from_bits(dtype, source.getrandbits(dtype.bits))
