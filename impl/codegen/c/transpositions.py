"""
Transpositions in C
===================

Square blocks that are transposed in registers. A block has as many rows as a vector has lanes; in each of log₂ steps
the rows at a distance of n, n/2, … exchange halves of what they hold, quarters, …
"""

from __future__ import annotations

import functools
import math

from soundline.impl.codegen.c.helpers import Helper, Helpers, Part
from soundline.impl.codegen.c.vector_helpers import ELEMENTS, loose, vector
from soundline.impl.lower.schedule.transfers import Transposed

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
