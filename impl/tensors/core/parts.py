"""
Parts of what is computed
=========================

A row of a tensor that is in memory is in memory too: no program is needed to read it. So what is made of a stored value
by movement alone (slices, views, permutations) is read where it lies. And a tensor that is gone along is computed once,
when the first of its rows is asked for, and not once for each; its graph stays what it was, so that gradients pass.
"""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary, WeakSet

import numpy as np
import numpy.typing as npt

from soundline.impl.arrays import storage
from soundline.impl.tensors.core import history
from soundline.spec.uop import Op, UOp

Arrays = npt.NDArray[Any]

_GONE_ALONG: WeakSet[UOp] = WeakSet()
"""Graphs that are computed whole when a part of them is asked for."""
_COMPUTED: WeakKeyDictionary[UOp, UOp] = WeakKeyDictionary()
"""The stored values of graphs that were computed and are still graphs."""
_VIEWS = (Op.Reshape, Op.Shrink, Op.Permute, Op.Flip, Op.Expand, Op.Detach)


def go_along(graph: UOp) -> None:
    """Let a graph be computed whole when a part of it is asked for."""
    _GONE_ALONG.add(history.without_marks(graph))


def remember(graph: UOp, value: UOp) -> None:
    """Keep the stored value of a graph beside it, as long as the graph is in use."""
    _COMPUTED[history.without_marks(graph)] = history.without_marks(value)


def held(graph: UOp) -> Arrays | None:
    """The elements of a part of what is stored, or is computed for it; None of any other graph."""
    if graph.device not in (None, "CPU"):
        return None
    above: list[UOp] = []
    node = history.without_marks(graph)
    while True:
        found = _stored(node)
        if found is not None:
            break
        if node.op not in _VIEWS:
            return None
        above.append(node)
        node = node.src[0]
    for view in reversed(above):
        found = _viewed(view, found)
        if found is None:
            return None
    return found


def _stored(node: UOp) -> Arrays | None:
    value = _COMPUTED.get(node, node)
    buffer = storage.buffer_of(value)
    if buffer is None and node in _GONE_ALONG:
        from soundline.impl.executables.building import stored

        (value,) = stored([node])
        remember(node, value)
        buffer = storage.buffer_of(value)
    return None if buffer is None else storage.whole(value, buffer)


def _viewed(view: UOp, x: Arrays) -> Arrays | None:
    """What a movement op makes of an array; None where a size is no number."""
    shape = view.shape or ()
    if not all(isinstance(s, int) for s in shape):
        return None
    sizes = tuple(int(s) for s in shape if isinstance(s, int))
    if view.op is Op.Reshape:
        return x.reshape(sizes)
    if view.op is Op.Expand:
        return np.broadcast_to(x, sizes)
    if view.op is Op.Permute:
        return x.transpose(view.arg)
    if view.op is Op.Flip:
        return x[tuple(slice(None, None, -1) if flipped else slice(None) for flipped in view.arg)]
    if view.op is Op.Detach:
        return x
    first = [s.arg.value for s in view.src[1].src if s.op is Op.Const]
    if len(first) != len(sizes):
        return None
    return x[tuple(slice(a, a + n) for a, n in zip(first, sizes, strict=True))]
