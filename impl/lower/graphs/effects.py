"""
Effects in loops
================

A nest is an effect inside of loops: an End for each Range, the outermost last.
"""

from __future__ import annotations

from collections.abc import Sequence

from soundline.spec.uop import Op, UOp


def nest_of(effect: UOp) -> tuple[list[UOp], UOp]:
    """The Ranges of a nest, outermost first, and what it repeats."""
    ranges: list[UOp] = []
    while effect.op is Op.End:
        ranges.append(effect.src[1])
        effect = effect.src[0]
    return ranges, effect


def closed(body: UOp, ranges: Sequence[UOp]) -> UOp:
    """A nest of loops, outermost first, around an effect."""
    for r in reversed(ranges):
        body = Op.End(body, r)
    return body
