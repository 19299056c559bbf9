"""
Windows
=======

Views of arrays as terms: of each dimension of the array that was allocated a base, and where the view keeps the
dimension a size (`spec.spork.machine.names.View`, for all iterations at once). An element is its number in the array,
in row-major order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod

from soundline.impl.spork.checker.planning.plan import Array, Region, Term
from soundline.impl.spork.checker.planning.terms import Known, applied, as_sum, total
from soundline.spec.ops.node import Op
from soundline.spec.spork.library.memories import Memory


@dataclass(frozen=True, slots=True)
class View:
    """All of an array, or a window of it."""

    array: Array
    parts: tuple[tuple[Term, int | None], ...]
    """Of each dimension of the array the first index, and how many there are; None for a single one that is no
    dimension of the view.
    """
    memory: Memory

    @property
    def sizes(self) -> tuple[int, ...]:
        """The size of each dimension of the view."""
        return tuple(size for _, size in self.parts if size is not None)

    @property
    def strides(self) -> tuple[int, ...]:
        """By how many elements two neighbours in each of its dimensions are apart."""
        apart = strides(self.array.shape)
        return tuple(s for s, (_, size) in zip(apart, self.parts, strict=True) if size is not None)

    @property
    def first(self) -> Term:
        """The number of its first element."""
        return total(
            *(applied(Op.Mul, b, s) for (b, _), s in zip(self.parts, strides(self.array.shape), strict=True))
        )

    def narrowed(self, by: Sequence[tuple[Term, int | None]]) -> View:
        """The view with a single index, or a first index and a size, for each of its dimensions."""
        given = iter(by)
        parts: list[tuple[Term, int | None]] = []
        for base, size in self.parts:
            if size is None:
                parts.append((base, None))
            else:
                at, count = next(given)
                parts.append((applied(Op.Add, base, at), count))
        return replace(self, parts=tuple(parts))

    def region(self, at: Sequence[int], counts: Sequence[int]) -> Region:
        """A box of its elements: where it begins and how many there are along each dimension of the view."""
        first = total(self.first, sum(a * s for a, s in zip(at, self.strides, strict=True)))
        return Region(self.array.number, first, joined(list(zip(counts, self.strides, strict=True))))


def strides(shape: Sequence[int]) -> tuple[int, ...]:
    """Those of an array in row-major order."""
    return tuple(prod(shape[k + 1 :]) for k in range(len(shape)))


def whole(array: Array) -> View:
    """The view of all of an array."""
    return View(array, tuple((0, size) for size in array.shape), array.memory)


def joined(dims: Sequence[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """Dimensions in the same order of elements, as few as there can be."""
    found: list[tuple[int, int]] = []
    for count, stride in dims:
        if count == 1:
            continue
        if found and found[-1][1] == count * stride and count:
            found[-1] = found[-1][0] * count, stride
        else:
            found.append((count, stride))
    return tuple(found)


def are_apart(one: View, other: View, known: Known) -> bool:
    """Whether two views are shown to have no element in common."""
    if one.array is not other.array:
        return True
    for (a, n), (b, m) in zip(one.parts, other.parts, strict=True):
        gap = as_sum(b).plus(as_sum(a), -1)  # b - a
        below = known.not_negative(gap.plus(as_sum(-(1 if n is None else n))))
        above = known.not_negative(as_sum(0).plus(gap, -1).plus(as_sum(-(1 if m is None else m))))
        if below or above:
            return True
    return False
