"""
Programs in the words of tinygrad
=================================

A family is a program written with the methods of tinygrad's Tensor, beside the same in numpy, with the dtypes, shapes
and values that it is tried on. What is drawn depends on the seed alone; tinygrad is not needed to draw it.

A family of floats has a tolerance: so many units in the last place, of the result or of the scale of what was added up
on the way. Without one, results must be equal bit for bit.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Arrays = npt.NDArray[Any]
Shapes = tuple[tuple[int, ...], ...]

FLOATS = ("float32", "float16", "float64")
INTS = ("int32", "int8", "uint8", "int64")
UNARY: tuple[Shapes, ...] = (((3, 4),), ((5,),), ((),))
"""One input: a matrix, a vector, a scalar."""
BINARY: tuple[Shapes, ...] = (((3, 4), (3, 4)), ((3, 1), (4,)), ((2,), ()))
"""Two inputs: of one shape, and of two that are broadcast."""


@dataclass(frozen=True, slots=True)
class Family:
    """A program and its formula, and what it is tried on."""

    name: str
    build: Callable[..., Any]
    """The program: takes the class of Tensors, then the inputs."""
    formula: Callable[..., Any]
    """What the law must give: takes the inputs as arrays; floats come as float64 where there is a tolerance."""
    dtypes: tuple[str, ...] = FLOATS
    shapes: tuple[Shapes, ...] = UNARY
    draw: tuple[str, ...] = ("any",)
    """Which values the inputs have, in turn: see `value`."""
    ulps: float | None = None
    """The tolerance in units in the last place of the result's dtype; None is equality bit for bit."""
    scale: float = 0.0
    """What the units are of, at least: the size of the values that are added on the way."""
    decision: str | None = None
    """The decision by which the law may differ here from tinygrad or from numpy."""
    usual: Callable[..., Any] | None = None
    """What numpy gives, where that is not what the law must give for this graph."""


@dataclass(frozen=True, slots=True)
class Case:
    """A family on one dtype and shape, with values."""

    family: Family
    dtype: str
    shapes: Shapes
    values: tuple[Arrays, ...]

    def __str__(self) -> str:
        sizes = ", ".join(str(list(s)) for s in self.shapes)
        return f"{self.family.name} of {self.dtype} {sizes}".rstrip() if self.dtype else self.family.name

    def expected(self, formula: Callable[..., Any]) -> Arrays:
        """What a formula gives for the values."""
        wide = self.family.ulps is not None
        given = [v.astype(np.float64) if wide and v.dtype.kind == "f" else v for v in self.values]
        with np.errstate(all="ignore"):
            return np.asarray(formula(*given))


def value(rng: random.Random, kind: str, dtype: np.dtype[Any]) -> bool | int | float:
    """A value of a dtype: any, wide, positive, nonzero, unit (inside -1 and 1), special, count (0 to 3) or bit."""
    if dtype.kind == "b":
        return rng.random() < 0.5
    if dtype.kind == "f":
        return _float(rng, kind, dtype)
    lowest, highest = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
    if kind == "special":
        return rng.choice((lowest, highest, 0, 1, max(lowest, -1)))
    if kind == "wide":
        return rng.randint(lowest, highest)
    if kind == "nonzero":
        return rng.choice([v for v in range(max(-9, lowest), 10) if v])
    low, high = {"positive": (1, 9), "count": (0, 3), "bit": (0, 1)}.get(kind, (-9, 9))
    return rng.randint(max(low, lowest), high)


def _float(rng: random.Random, kind: str, dtype: np.dtype[Any]) -> float:
    if kind == "special":
        tiny = float(np.finfo(dtype).smallest_subnormal)
        return rng.choice((0.0, -0.0, math.inf, -math.inf, math.nan, tiny, -1.5, 1.0, 2.5))
    low, high = {"positive": (0.1, 8.0), "unit": (-0.95, 0.95), "wide": (-1000.0, 1000.0)}.get(
        kind, (-4.0, 4.0)
    )
    return rng.uniform(low, high)


def cases(families: tuple[Family, ...], seed: int) -> Iterator[Case]:
    """Every family on every dtype and shape, with values drawn from the seed."""
    for family in families:
        for dtype in family.dtypes:
            for shapes in family.shapes:
                rng = random.Random(f"{seed}/{family.name}/{dtype}/{shapes}")  # no secret
                values = tuple(
                    _array(rng, family.draw[min(k, len(family.draw) - 1)], dtype, shape)
                    for k, shape in enumerate(shapes)
                )
                yield Case(family, dtype, shapes, values)


def _array(rng: random.Random, kind: str, dtype: str, shape: tuple[int, ...]) -> Arrays:
    name, _, other = kind.partition(" ")  # "count int32" has a dtype of its own
    wanted = np.dtype(other or dtype)
    drawn = [value(rng, name, wanted) for _ in range(math.prod(shape))]
    return np.array(drawn, dtype=wanted).reshape(shape)


def difference(family: Family, own: Arrays, other: Arrays) -> str | None:
    """How two results differ by more than the family's tolerance; None where they do not."""
    if own.shape != other.shape:
        return f"the shape is {own.shape} by the law, {other.shape} elsewhere"
    with np.errstate(all="ignore"):
        near = (
            _near(family, own, other)
            if own.dtype.kind == "f" and family.ulps is not None
            else _same(own, other)
        )
    if bool(np.all(near)):
        return None
    place = tuple(int(k) for k in np.argwhere(~near)[0])
    where = f"element {list(place)}" if place else "it"
    return f"{where} is {own[place].item()} by the law, {other[place].item()} elsewhere"


def _near(family: Family, own: Arrays, other: Arrays) -> npt.NDArray[np.bool_]:
    assert family.ulps is not None
    limits = np.finfo(own.dtype)
    a, b = own.astype(np.float64), other.astype(np.float64)
    unit = np.maximum(limits.eps * np.maximum(np.abs(b), family.scale), limits.smallest_subnormal)
    near = np.isfinite(a) & np.isfinite(b) & (np.abs(a - b) <= family.ulps * unit)
    return np.asarray(near | (a == b) | (np.isnan(a) & np.isnan(b)))


def _same(own: Arrays, other: Arrays) -> npt.NDArray[np.bool_]:
    narrowed = other.astype(own.dtype)
    if own.dtype.kind != "f":
        return np.asarray(own == narrowed)
    equal = (own == narrowed) & (np.signbit(own) == np.signbit(narrowed))
    return np.asarray(equal | (np.isnan(own) & np.isnan(narrowed)))
