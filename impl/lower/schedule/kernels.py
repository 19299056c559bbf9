"""
Kernels under scheduling
========================

A kernel as the law knows it, to which a compiler does many steps: what it has found out about a kernel it remembers,
and what a step makes has numbers that nothing else in the program has.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from soundline.spec.dtypes import DType
from soundline.spec.kernels import dependences, iteration_spaces
from soundline.spec.kernels.dependences import Vector
from soundline.spec.kernels.iteration_spaces import Kernel
from soundline.spec.uop import AxisType, UOp, buffer, loop

Nests = Sequence[tuple[tuple[UOp, ...], UOp]]


@dataclass(frozen=True, slots=True, kw_only=True)
class CpuKernel(Kernel):
    """A kernel whose new axes and Buffers are numbered by a program."""

    numbers: Iterator[int]
    slots: Iterator[int]

    def __post_init__(self) -> None:
        """What a step has made is a kernel, or else refused; of what nothing was done to, nothing is asked."""
        if self.opts:
            Kernel.__post_init__(self)

    @property
    def axes(self) -> tuple[UOp, ...]:
        """The Ranges, in the order in which OptOps count them."""
        return _axes(self.sink)

    @property
    def nests(self) -> Nests:
        """Every perfect nest: its Ranges, outermost first, and what they repeat."""
        return _nests(self.sink)

    def directions(self, body: UOp, ranges: Sequence[UOp]) -> frozenset[Vector] | None:
        """The direction vectors of the iterations of a nest that meet; None where they are not known."""
        return _directions(body, tuple(ranges))

    def fresh_axes(self, *new: tuple[int, AxisType]) -> list[UOp]:
        """Ranges of sizes and types that no kernel has."""
        return [loop(size, next(self.numbers), kind) for size, kind in new]

    def fresh_buffer(self, size: int, dtype: DType) -> UOp:
        """Storage that no kernel has."""
        return buffer(next(self.slots), size, dtype)


_REMEMBERED = 64
"""So many kernels, or nests, are remembered."""


@functools.lru_cache(_REMEMBERED)
def _axes(sink: UOp) -> tuple[UOp, ...]:
    return iteration_spaces.axes(sink)


@functools.lru_cache(_REMEMBERED)
def _nests(sink: UOp) -> Nests:
    return iteration_spaces.nests(sink)


@functools.lru_cache(_REMEMBERED)
def _directions(body: UOp, ranges: tuple[UOp, ...]) -> frozenset[Vector] | None:
    return dependences.directions(body, ranges)
