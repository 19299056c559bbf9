"""
Repeated axes
=============

The axes along which a value is constant, as far as its graph shows: those that an Expand made, followed through
movement and elementwise ops. `rangeify` reads such a value at one position of these axes, so that it is computed once
for all of them. If the value is stored, it is stored without them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from soundline.impl.lower.graphs.costs import ELEMENTWISE
from soundline.impl.lower.graphs.views import Coordinates, terms
from soundline.spec.uop import Op, UOp


def repeated_axes(order: Iterable[UOp]) -> dict[UOp, frozenset[int]]:
    """For each value the axes along which it repeats; sources come before users. Those of size 1 may be missing."""
    found: dict[UOp, frozenset[int]] = {}
    for node in order:
        found[node] = _axes_of(node, found)
    return found


def _axes_of(node: UOp, known: Mapping[UOp, frozenset[int]]) -> frozenset[int]:
    if not node.src or not node.shape:
        return frozenset()
    own = known.get(node.src[0], frozenset())
    if node.op in ELEMENTWISE:
        inside = [known.get(s, frozenset()) for s in node.src if s.shape]
        return frozenset.intersection(*inside) if inside else frozenset()
    if node.op is Op.Expand:
        sizes = zip(node.src[0].shape or (), node.shape, strict=True)
        return own | {k for k, (old, new) in enumerate(sizes) if old == 1 and new != 1}
    if node.op is Op.Permute:
        return frozenset(k for k, axis in enumerate(node.arg) if axis in own)
    if node.op is Op.Reshape:
        return _reshaped(node, own)
    if node.op is Op.Pad:
        sizes = zip(node.src[0].shape or (), node.shape, strict=True)
        return own - {k for k, (old, new) in enumerate(sizes) if old != new}
    if node.op is Op.Reduce:
        return own - set(node.arg.axes)
    return own if node.op in (Op.Shrink, Op.Flip) else frozenset()


def _reshaped(node: UOp, own: frozenset[int]) -> frozenset[int]:
    """What a run of old axes becomes repeats, if all of them do."""
    old, new = terms(node.src[0].shape), terms(node.shape)
    found: set[int] = set()
    for before, after in Coordinates().groups(old, new):
        if all(k in own or old[k] == 1 for k in before):
            found.update(after)
    return frozenset(found)
