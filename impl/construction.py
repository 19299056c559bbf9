"""
Checks that are remembered
==========================

What the op table says of an elementwise tuple depends on the op, its arg, and the dtypes, shapes, devices and shard
axes of the sources, and on nothing else. So the law's answer is remembered by these, and the law is asked once for each
combination: `remembering` is the law, faster. Refusals are not remembered, nor are shapes with sizes that are nodes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from soundline.spec.node import Properties, UOp
from soundline.spec.op_schema import Op
from soundline.spec.ops import group_of

Laws = Callable[[Op, tuple[UOp, ...], Any], Properties]

ALIKE = frozenset((*group_of("elementwise", "decomposed"), Op.CDiv, Op.CMod)) - {Op.Shl, Op.Shr}
"""The ops that are so; a shift of index asks whether its second operand is a constant."""

MOST = 1 << 14
"""After so many combinations the memory starts again."""


def remembering(law: Laws) -> Laws:
    """The same law, which remembers its answers for the ops that are `ALIKE`."""
    known: dict[tuple[Any, ...], Properties] = {}

    def answer(op: Op, src: tuple[UOp, ...], arg: Any) -> Properties:
        if op not in ALIKE:
            return law(op, src, arg)
        try:
            of_sources = [(type(s), s.dtype, s.shape, s.device, s.axis) for s in src]
            combination = (op, arg, *of_sources)
            found = known.get(combination)
        except (AttributeError, TypeError):  # no UOps, or no arg
            return law(op, src, arg)
        if found is None:
            found = law(op, src, arg)
            if all(type(size) is int for _, _, shape, _, _ in of_sources for size in shape or ()):
                if len(known) >= MOST:
                    known.clear()
                known[combination] = found
        return found

    return answer
