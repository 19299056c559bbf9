"""
Where a kernel can be stopped
=============================

A kernel that may run for long checks from time to time whether it has to stop (`soundline_stopped`, which the host
implements), so that Ctrl-C stops a program. It checks at the head of a loop whose body is so much work that the check
costs nothing in comparison. A loop with little work and many iterations is divided into blocks, with a check before
each. A kernel with little work does not check. The results of a stopped kernel are never used.

Work is counted in simple operations: instructions times the iterations of the loops around them. A lane of a vector is
a part of one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from soundline.impl.codegen.c.helpers import Helper, Part
from soundline.impl.lower.graphs.views import most_iterations
from soundline.spec.uop import Op, UOp

CHECK: Final = "soundline_stopped"
LITTLE: Final = 1 << 26
"""The work, some 20 to 70 ms, that is done without a check."""
BODY: Final = 1 << 16
"""A loop is checked at its head where one iteration is at least this much work."""
_LANES: Final = 8
"""The number of lanes of a value that count as one operation."""

QUESTION: Final = Helper(
    f"if ({CHECK}()) return;",
    f"""
static int sl_go_on(void) {{ return 0; }}
int (*{CHECK})(void) = sl_go_on;
""",
    Part.QUESTIONS,
)
"""The check of a kernel: a kernel that has to stop returns. A library with such kernels declares the pointer into which
the host puts its own function.
"""


def stops(instructions: Sequence[UOp]) -> dict[UOp, int]:
    """The Ranges of a kernel at which it asks: 1 of those that ask at each iteration, of others the iterations in a
    block.
    """
    bodies = _bodies(instructions)
    found: dict[UOp, int] = {}
    for loop, body in bodies.items():
        if body * most_iterations(loop) <= LITTLE:
            continue
        found[loop] = 1 if body >= BODY else math.ceil(4 * BODY / body)
    return found


def _bodies(instructions: Sequence[UOp]) -> dict[UOp, int]:
    """The work of one iteration of each Range."""
    found: dict[UOp, int] = {}
    opened: list[tuple[UOp, int]] = []
    for node in instructions:
        if node.op is Op.Range:
            opened.append((node, 1))
            continue
        if node.op is Op.End:
            loop, body = opened.pop()
            found[loop] = body
            work = body * most_iterations(loop)
        else:
            work = _work(node)
        if opened:
            opened[-1] = (opened[-1][0], opened[-1][1] + work)
    return found


def _work(node: UOp) -> int:
    if node.op in (Op.Buffer, Op.Const, Op.Index):
        return 0
    shapes = [node.shape or (), *(s.shape or () for s in node.src)]
    lanes = max(math.prod(s for s in shape if isinstance(s, int)) for shape in shapes)
    return 1 if lanes <= _LANES else lanes // _LANES


def blocks(name: str, first: str, end: str, size: int) -> tuple[str, str, str]:
    """The head of a loop over the blocks of a Range, which asks before each; and where a block begins and ends."""
    block = f"{name}_block"
    head = f"for (int64_t {block} = {first}; {block} < {end}; {block} += {size}) {{ {QUESTION.name}"
    return head, f"(idx){block}", f"(idx)({end} - {block} < {size} ? {end} : {block} + {size})"
