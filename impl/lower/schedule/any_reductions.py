"""
Reductions of bools
===================

Whether any or all is true along a loop, as a reduction of whole numbers that are as wide as what was compared, by rules
of ``impl/rules/tensors/scans``: such a reduction has vectors, which one of bools has not. `expand` and `select` make of
it what they make of every greatest element.

*Invariant*: the values of all stores are unchanged, bit for bit. Where nothing is reduced not any is true, and all.
"""

from __future__ import annotations

from soundline.impl.lower.graphs.rebuilding import rebuilt
from soundline.impl.lower.graphs.simplify import Applied
from soundline.impl.lower.graphs.single_rule import applied_to, first_applied
from soundline.impl.lower.schedule.vector_types import lane_size
from soundline.impl.rules.tensors import scans
from soundline.spec.dtypes import bool_
from soundline.spec.uop import Op, UOp, over, substitute

WIDTHS = {
    4: (scans.any_in_32_bits, scans.all_in_32_bits),
    8: (scans.any_in_64_bits, scans.all_in_64_bits),
}
"""The rules by the bytes of what was compared."""


def with_whole_numbers(nest: UOp, applied: Applied) -> UOp:
    """The nest with its reductions of bools that were compared as reductions of 1 and 0; `applied` counts the rules."""

    def change(node: UOp, src: tuple[UOp, ...]) -> UOp | None:
        is_one = node.op is Op.Reduce and node.dtype is bool_ and len(src) > 1
        return _counted(over(node, src), applied) if is_one else None

    return rebuilt(nest, change)


def _counted(reduction: UOp, applied: Applied) -> UOp:
    """A reduction of bools as the greatest of whole numbers, where a rule says so. Several loops are as one loop over
    their iterations in order, of which the rule, which asks nothing of its body, says the same.
    """
    body, first, *others = reduction.src
    by = first_applied(WIDTHS.get(lane_size(body) or 0, ()), Op.Reduce(body, first, arg=reduction.arg))
    if by is None:
        return reduction
    stated, found = by
    greatest = found.src[0]
    chosen = applied_to(scans.mask_as_choice, greatest.src[0])
    if chosen is None:
        return reduction
    applied.update((stated.id, scans.mask_as_choice.id))
    return substitute(found, {greatest: Op.Reduce(chosen, first, *others, arg=greatest.arg)})
