"""
Transpositions in C
===================

A store of two axes of lanes that only moves elements, and reads neighbours along the one axis where it writes
neighbours along the other: square blocks are transposed in registers. A block has as many rows as a vector has lanes;
in each of log₂ steps the rows at a distance of n, n/2, … exchange halves of what they hold, quarters, …
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass

from soundline.impl.codegen.c.helpers import Helper, Helpers, Part
from soundline.impl.codegen.c.streams import storage_of
from soundline.impl.codegen.c.vector_helpers import ELEMENTS, loose, vector
from soundline.impl.lower.graphs.views import shape_of
from soundline.impl.lower.schedule import vectors
from soundline.spec.dtypes import bool_
from soundline.spec.uop import Op, UOp

_MIX = Helper(
    "SL_MIX",
    """#if defined __clang__
#define SL_MIX(t, a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define SL_MIX(t, a, b, ...) ((t)__builtin_shuffle(a, b, (t){__VA_ARGS__}))
#endif
""",
    Part.TRANSPOSITIONS,
)


@dataclass(frozen=True, slots=True)
class Transposed:
    """What such a store does: `rows` of `columns` neighbours each are read, and become columns."""

    read: UOp
    """The place of the first element that is read, with lanes."""
    written: UOp
    rows: int
    columns: int
    apart: int
    """How many elements lie between the first ones of two rows that are read."""
    apart_written: int
    lane: str
    width: int
    """The vector whose lanes are a row of a block."""


def transposed(store: UOp) -> Transposed | None:
    """The transposition that a store of lanes is; None of any other."""
    if len(store.src) > 2 or store.src[0].op is not Op.Index:
        return None
    load = store.src[1]
    while load.op is Op.Reshape:
        load = load.src[0]
    if load.op is not Op.Load or len(load.src) > 1 or load.src[0].op is not Op.Index or load.dtype is bool_:
        return None
    places = [store.src[0].src[1], load.src[0].src[1]]
    if storage_of(store.src[0]) is storage_of(load.src[0]) or any(not at.shape for at in places):
        return None
    written, read = (at.src[0] if at.op is Op.Reshape and at.src[0].shape else at for at in places)
    axes = [a for a, n in enumerate(shape_of(written)) if n > 1]
    steps = [vectors.steps_of(at, len(shape_of(written))) for at in (written, read)]
    if len(axes) != 2 or None in steps or len(shape_of(read)) != len(shape_of(written)):
        return None
    return _along(load, (written, read), axes, steps)


def _along(
    load: UOp, places: tuple[UOp, UOp], axes: list[int], steps: list[tuple[int, ...] | None]
) -> Transposed | None:
    width = vectors.width_of(load.dtype)
    to, of = steps
    sizes = shape_of(places[0])
    for rows, columns in (axes, axes[::-1]):
        fits = sizes[rows] % width == sizes[columns] % width == 0 and load.dtype.itemsize in (4, 8)
        if to and of and fits and (to[rows], of[columns]) == (1, 1) and of[rows] > 1 and to[columns] > 1:
            lane = f"u{8 * load.dtype.itemsize}"
            written, read = places
            return Transposed(read, written, sizes[rows], sizes[columns], of[rows], to[columns], lane, width)
    return None


def transposition(use: Helpers, of: Transposed, written: str, read: str) -> str:
    """The statement that does it, from the first element that is read to the first one that is written."""
    numbers = f"{of.apart_written}, {of.apart}, {of.rows}, {of.columns}"
    return f"{use(transposing(of.lane, of.width))}(&{written}, &{read}, {numbers});"


@functools.cache
def transposing(lane: str, width: int) -> Helper:
    """The function that transposes blocks of a vector type."""
    t, element = f"{lane}x{width}", ELEMENTS[lane]
    name = f"sl_transpose_{t}"
    text = f"""static inline void {name}(
    void *to, const void *of, int64_t written, int64_t read, int64_t rows, int64_t columns
) {{
    for (int64_t i = 0; i < rows; i += {width})
        for (int64_t k = 0; k < columns; k += {width}) {{
            const {element} *const from = (const {element} *)of + i * read + k;
            {element} *const into = ({element} *)to + k * written + i;
{_block(t, width)}        }}
}}
"""
    needs = (_MIX, vector(lane, width), loose(lane, width))
    return Helper(name, text, Part.TRANSPOSITIONS, needs, (lane, str(width)))


def _block(t: str, width: int) -> str:
    """A block of as many rows as lanes."""
    lines = [f"const {t} r0_{i} = *(const {t}u *)(from + {i} * read);" for i in range(width)]
    for stage in range(1, int(math.log2(width)) + 1):
        distance = width >> stage
        first = [j if not j & distance else j - distance + width for j in range(width)]
        last = [j + distance if not j & distance else j + width for j in range(width)]
        for i in range(width):
            a, b, lanes = (i, i + distance, first) if not i & distance else (i - distance, i, last)
            text = f"SL_MIX({t}, r{stage - 1}_{a}, r{stage - 1}_{b}, {', '.join(map(str, lanes))})"
            lines.append(f"const {t} r{stage}_{i} = {text};")
    stage = int(math.log2(width))
    lines += [f"*({t}u *)(into + {i} * written) = r{stage}_{i};" for i in range(width)]
    return "".join(f"            {line}\n" for line in lines)
