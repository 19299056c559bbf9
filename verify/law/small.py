"""
Every interval of small dtypes
==============================

The law is generic in its dtypes, so it can be asked about dtypes that no program has: integers of 4 bits and floats of
4 bits. There all intervals of all operands are tried, with all values in them: the row must hold every value, and where
it always is their hull it is *optimal*. At 8 bits every interval of one operand is tried, and of two operands the
intervals with chosen ends, again with all values.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt

from soundline.spec.derived_props import MIN_MAX
from soundline.spec.dtypes import (
    DType,
    Element,
    bool_,
    exponent_range,
    float8_e4m3fn,
    float8_e5m2,
    from_bits,
    index,
    int8,
    largest_finite,
    order,
    uint8,
)
from soundline.spec.ops.bounds import Bounds, Known
from soundline.spec.ops.node import Op
from soundline.spec.values.elementwise import ELEMENTWISE
from soundline.verify.law.replays import Operand, contains, interval, refutation
from soundline.verify.law.schema import Outcome, Tightness

INT4, UINT4 = DType("int4", "int", 4), DType("uint4", "uint", 4)
INT3, UINT3 = DType("int3", "int", 3), DType("uint3", "uint", 3)
FLOAT4 = DType("float4_e2m1", "float", 4, 2, 1)
"""±0, ±½, ±1, ±1½, ±2, ±3, ±∞ and NaN."""
FLOAT4FN = DType("float4_e2m1n", "float", 4, 2, 1, has_infinity=False)
"""±0, ±½, ±1, ±1½, ±2, ±3, ±4 and NaN; what rounds past 4 is NaN, as in E4M3FN."""

Ranks = npt.NDArray[Any]


@cache
def numbers(dtype: DType) -> tuple[Element, ...]:
    """All elements of a small dtype but NaN, in their order."""
    if dtype is bool_:
        return (False, True)
    found = {order(v): v for v in (from_bits(dtype, p) for p in range(1 << dtype.bits)) if v == v}
    return tuple(found[key] for key in sorted(found))


@dataclass(frozen=True, slots=True)
class Domain:
    """What is tried of one operand: values in their order, and intervals between them, simplest first."""

    dtype: DType
    values: tuple[Element, ...]
    places: tuple[tuple[int, int, bool], ...]
    """Of each interval the places of its ends among the values, and whether it holds NaN."""
    whole: bool
    """Whether these are all intervals that there are."""

    def bounds(self) -> list[Bounds]:
        """The intervals."""
        return [Bounds(self.values[i], self.values[j], nan) for i, j, nan in self.places]

    @property
    def points(self) -> tuple[Element, ...]:
        """The values, and of a float NaN as the last."""
        return (*self.values, math.nan) if self.dtype.is_float else self.values


@cache
def all_intervals(dtype: DType, *, nan: bool = False) -> Domain:
    """Every interval of a dtype; where `nan` is set, those between chosen ends also with NaN in them."""
    values = numbers(dtype)
    every = _between(values, range(len(values)), nan=False)
    flagged = [(i, j, True) for i, j, _ in every if {i, j} <= set(_near(values))] if nan else []
    return Domain(dtype, values, (*every, *flagged), True)


@cache
def directed(dtype: DType, *, nan: bool = False) -> Domain:
    """All values of a small dtype, and the intervals between its ends, numbers near 0 and ±1, and some others."""
    values = numbers(dtype)
    return Domain(dtype, values, _between(values, _near(values), nan=nan), False)


def _near(values: Sequence[Element]) -> list[int]:
    """The places of the ends, of the numbers around 0 and of one far from all."""
    n, zero = len(values), values.index(0)
    near = {0, 1, n // 4, n - 2, n - 1, *(zero + k for k in (-2, -1, 0, 1, 2))}
    return sorted(k for k in near if 0 <= k < n)


@cache
def chosen(dtype: DType, *, nan: bool = False, few: bool = False) -> Domain:
    """Chosen values of a dtype of any width, and all intervals between them."""
    picked = [v for v in _picked(dtype, few=few) if dtype.min <= v <= dtype.max]
    found = {order(v): v for v in picked}
    values = tuple(found[key] for key in sorted(found))
    return Domain(dtype, values, _between(values, range(len(values)), nan=nan), False)


def _picked(dtype: DType, *, few: bool) -> list[Element]:
    """The ends, the numbers around 0 and 1, where rounding changes, and where integers of other widths end."""
    if dtype is bool_:
        return [False, True]
    if not dtype.is_float:
        found: list[Element] = [
            -(1 << 63),
            -129,
            -128,
            -3,
            -1,
            0,
            1,
            2,
            127,
            255,
            (1 << 24) + 1,
            65520,
            (1 << 64) - 1,
        ]
        return found if dtype is index else [int(dtype.min), *found, int(dtype.max)]
    e_min, _ = exponent_range(dtype)
    least, last = 2.0 ** (e_min - dtype.mantissa_bits), 2.0**-dtype.mantissa_bits
    top = largest_finite(dtype)
    half = [0.0, 1.0, top] if few else [0.0, least, 0.5, 1.0, 1.0 + last, 2.5, 127.0, top]
    ends = [math.inf] if dtype.has_infinity else []
    return [s * v for v in (*half, *ends) for s in (1.0, -1.0)]


def _between(
    values: Sequence[Element], ends: Sequence[int], *, nan: bool
) -> tuple[tuple[int, int, bool], ...]:
    """The intervals between these places: narrow ones first, and near 0 first."""
    middle = values.index(0)
    pairs = itertools.combinations_with_replacement(ends, 2)
    found = sorted(pairs, key=lambda p: (p[1] - p[0], abs(p[0] - middle), p))
    return tuple((i, j, flag) for flag in ((False, True) if nan else (False,)) for i, j in found)


@dataclass(frozen=True, slots=True)
class Values:
    """All values of an op, as ranks among its distinct results; `nan` says where it is NaN."""

    results: tuple[Element, ...]
    ranks: Ranks
    nan: npt.NDArray[np.bool_]


@cache
def values_of(op: Op, domains: tuple[Domain, ...], target: DType | None) -> Values:
    """The scalar law on all points of the domains."""
    axes = [d.points for d in domains]
    dtype = domains[1 if op is Op.Where else 0].dtype
    extra = () if target is None else (target,)
    found = [ELEMENTWISE[op](dtype, *point, *extra) for point in itertools.product(*axes)]
    keys = {order(v): v for v in found if v == v}
    results = tuple(keys[k] for k in sorted(keys))
    place = {order(v): k for k, v in enumerate(results)}
    shape = tuple(map(len, axes))
    nan = np.array([v != v for v in found]).reshape(shape)
    ranks = np.array([place[order(v)] if v == v else -1 for v in found], np.int32).reshape(shape)
    return Values(results, ranks, nan)


def _hulls(table: Ranks, domains: Sequence[Domain], join: np.ufunc) -> Ranks:
    """`join` over every combination of intervals, one axis at a time."""
    for axis, domain in enumerate(domains):
        moved = np.moveaxis(table, axis, 0)
        rows: dict[int, Ranks] = {}
        parts = []
        for i, j, nan in domain.places:
            if i not in rows:
                rows[i] = join.accumulate(moved[i : len(domain.values)], axis=0)
            part = rows[i][j - i]
            parts.append(join(part, moved[-1]) if nan else part)
        table = np.moveaxis(np.array(parts), 0, axis)
    return table


def row_of(
    op: Op, dtypes: Sequence[DType], result: DType, arg: Any = None
) -> Callable[[Sequence[Known]], Known]:
    """The row of an op as a function of the intervals of its sources."""
    sources = tuple(SimpleNamespace(dtype=d, known=None) for d in dtypes)
    node = SimpleNamespace(op=op, src=sources, dtype=result, arg=arg)
    law: Any = MIN_MAX[op]

    def known(source: Any) -> Known:
        found: Known = source.known
        return found

    def at(ends: Sequence[Known]) -> Known:
        for source, end in zip(sources, ends, strict=True):
            source.known = end
        found: Known = law(node, known)
        return found

    return at


def result_dtype(op: Op, dtypes: Sequence[DType], target: DType | None) -> DType:
    """The dtype of an elementwise node."""
    return target or (bool_ if op.name.startswith("Cmp") else dtypes[-1])


def try_intervals(op: Op, domains: Sequence[Domain], target: DType | None = None) -> Outcome:
    """The row on every combination of the intervals of the domains, against the hull of all values in them."""
    dtypes = tuple(d.dtype for d in domains)
    table = values_of(op, tuple(domains), target)
    big = len(table.results)
    low = _hulls(np.where(table.nan, big, table.ranks), domains, np.minimum)
    high = _hulls(np.where(table.nan, -1, table.ranks), domains, np.maximum)
    nan = _hulls(table.nan, domains, np.logical_or)
    row = row_of(op, dtypes, result_dtype(op, dtypes, target), target)
    keys = [order(v) for v in table.results]
    places = itertools.product(*(range(len(d.places)) for d in domains))
    witness = ""
    for at, ends in zip(places, itertools.product(*(d.bounds() for d in domains)), strict=True):
        known, lo, hi, flag = row(ends), int(low[at]), int(high[at]), bool(nan[at])
        if known is None or (flag and not known.maybe_nan):
            return _failed(op, domains, ends, known, target)
        if hi < 0:
            continue
        below, above = order(known.lo), order(known.hi)
        if below > keys[lo] or keys[hi] > above:
            return _failed(op, domains, ends, known, target)
        if not witness and (below != keys[lo] or above != keys[hi] or flag != known.maybe_nan):
            hull = Bounds(table.results[lo], table.results[hi], flag)
            witness = _witness(dtypes, ends, known, hull)
    tight: Tightness = "sound only" if witness else "optimal"
    return Outcome(_kind(domains), _covered(domains), tight, witness)


def _kind(domains: Sequence[Domain]) -> Any:
    return "exhaustive" if all(d.whole for d in domains) else "sampled"


def _covered(domains: Sequence[Domain]) -> str:
    count = math.prod(len(d.places) for d in domains)
    points = math.prod(len(d.values) for d in domains)
    which = "all" if all(d.whole for d in domains) else "directed"
    noun = {1: "intervals", 2: "pairs of intervals", 3: "triples of intervals"}[len(domains)]
    return f"{which} {count:,} {noun}, all values in them ({points:,})"


def _witness(dtypes: Sequence[DType], ends: Sequence[Bounds], known: Known, hull: Known) -> str:
    names = ", ".join(f"{n} in {interval(e)}" for n, e in zip("xyz", ends, strict=False))
    return f"{dtypes[-1]}, {names}: {interval(known)}, where the values span {interval(hull)}"


def _failed(
    op: Op, domains: Sequence[Domain], ends: Sequence[Bounds], known: Known, target: DType | None
) -> Outcome:
    """A value that escapes, evaluated."""
    law, extra = ELEMENTWISE[op], () if target is None else (target,)
    dtypes = [d.dtype for d in domains]
    dtype = dtypes[1] if op is Op.Where else dtypes[0]
    inside = [[v for v in d.points if contains(e, v)] for d, e in zip(domains, ends, strict=True)]
    escaping = [p for p in itertools.product(*inside) if not contains(known, law(dtype, *p, *extra))]
    for point in escaping:
        for real in (dtypes, [TWINS.get(d, d) for d in dtypes]):
            operands = [Operand(d, e, v) for d, e, v in zip(real, ends, point, strict=True)]
            shown = refutation(op, operands, target)
            if shown is not None:
                return Outcome("refuted", "a counterexample, evaluated", counterexample=shown)
    told = f"the row of {op.name} gives {interval(known)} at {[interval(e) for e in ends]} of {dtypes[-1]}"
    return Outcome("unknown", "", detail=f"{told}; no program showed it")


TWINS = {FLOAT4: float8_e5m2, FLOAT4FN: float8_e4m3fn, INT4: int8, UINT4: uint8}
"""Real dtypes that hold the same numbers, for ops that take no others."""


def try_points(op: Op, dtype: DType) -> Outcome:
    """The row of two operands on every pair of values, each an interval of its own."""
    domain = all_intervals(dtype)
    points = replace(domain, places=tuple((k, k, False) for k in range(len(domain.values))))
    found = try_intervals(op, (points, points))
    if found.kind != "exhaustive":
        return found
    return replace(found, covered=f"all {len(domain.values) ** 2:,} pairs of values, each an interval")


def with_isotone(found: Outcome) -> Outcome:
    """The outcome for single values, where the row was proved isotone: then it covers every interval."""
    return replace(
        found, covered=f"{found.covered}; so all pairs of intervals, since the row is isotone over ℤ"
    )
