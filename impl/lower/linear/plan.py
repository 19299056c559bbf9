"""
Register/Memory Plan
====================

Allocate and reuse storage for values with non-overlapping lifetimes.

Input and output: a Linear of Linears. Temporaries, the global buffers that are neither arguments nor outputs, become
Slices of one arena of bytes. A temporary lives from the first kernel that names it to the last; two share bytes only
if they never live at once. Registers stay with the C compiler, which allocates them.

*Invariant*: no kernel finds a byte of one live temporary in another; every offset is a multiple of 64.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from soundline.impl.analysis import arithmetic
from soundline.impl.lower.linear.linearize import is_global
from soundline.spec.dtypes import uint8
from soundline.spec.uop import Op, SliceArg, UOp, buffer, substitute, toposort

_ALIGNMENT = 64


@dataclass(frozen=True, slots=True)
class Placement:
    """Where a temporary lies in the arena, and the first and last kernel of its life."""

    storage: UOp
    offset: int
    size: int
    first: int
    last: int


def layout(lives: Sequence[tuple[int, int, int]]) -> tuple[list[int], int]:
    """Offsets for what has a size and lives from a first to a last step, and the size of all: largest first, each at
    the lowest place that nothing takes which lives when it does.
    """
    offsets = [0] * len(lives)
    placed: list[tuple[int, int, int, int]] = []
    for k in sorted(range(len(lives)), key=lambda k: -lives[k][0]):
        size, first, last = lives[k]
        size = _rounded(size)
        for begin, end, _, _ in sorted(p for p in placed if p[2] <= last and first <= p[3]):
            if offsets[k] + size <= begin:
                break
            offsets[k] = max(offsets[k], end)
        placed.append((offsets[k], offsets[k] + size, first, last))
    return offsets, max((end for _, end, _, _ in placed), default=0)


def placements(kernels: UOp, first_temporary: int) -> list[Placement]:
    """An arena layout of the buffers with slots from `first_temporary` on: largest first, at the lowest free place."""
    lives: dict[UOp, tuple[int, int]] = {}
    for position, kernel in enumerate(kernels.src):
        for node in toposort(kernel):
            if is_global(node) and node.arg.slot >= first_temporary:
                lives[node] = (lives.get(node, (position, 0))[0], position)
    order = sorted(lives, key=lambda b: (-b.arg.size * b.dtype.itemsize, b.arg.slot))
    sizes = [_rounded(b.arg.size * b.dtype.itemsize) for b in order]
    offsets, _ = layout([(size, *lives[b]) for b, size in zip(order, sizes, strict=True)])
    rows = zip(order, offsets, sizes, strict=True)
    return [Placement(b, offset, size, *lives[b]) for b, offset, size in rows]


def _rounded(size: int) -> int:
    return -(-size // _ALIGNMENT) * _ALIGNMENT


def plan(kernels: UOp, first_temporary: int) -> UOp:
    """Put the temporaries into one arena, the buffer of slot `first_temporary`."""
    layout = placements(kernels, first_temporary)
    if not layout:
        return kernels
    arena = buffer(first_temporary, max(p.offset + p.size for p in layout), uint8)
    views = {
        p.storage: Op.Slice(
            arena, arithmetic.number(p.offset), arg=SliceArg(p.storage.arg.size, p.storage.dtype)
        )
        for p in layout
    }
    return substitute(kernels, views)
