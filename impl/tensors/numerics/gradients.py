"""
Gradients of tensors
====================

The law's gradients of lazy tensors, through stored values that remember the graph that made them; functions that are
computed by long programs pass the derivatives that `derivatives` states for them.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

from soundline.impl.executables.foreign import adjoints
from soundline.impl.tensors.core import history
from soundline.impl.tensors.numerics.derivatives import stated
from soundline.spec.errors import UsageError
from soundline.spec.gradients import backward as law
from soundline.spec.uop import Op, UOp, substitute, toposort

_NOT_CONSTANT = frozenset((Op.Buffer, Op.Param, Op.Threefry, Op.Call, Op.Function, Op.CustomFunction))


def gradients(y: UOp, xs: Sequence[UOp], seed: UOp | None) -> list[UOp]:
    """The law's gradients of y, or of the sum of seed·y, with respect to xs; stored values are used where they are."""
    _require_own_nodes(xs)
    (target, *sources), stored = history.whole([y, *xs])
    known = history.leaves(target)
    nodes = [known.get(x.tag.number, [x]) if history.is_leaf(x) else [x] for x in sources]
    _require_graph(target, [n for some in nodes for n in some])
    parts = iter(law.gradient(target, [n for some in nodes for n in some], seed, adjoints(), stated))
    found = [functools.reduce(Op.Add, [next(parts) for _ in some]) for some in nodes]
    together = substitute(Op.Tuple(*found), stored) if stored else Op.Tuple(*found)
    return list(together.src)


def _require_own_nodes(xs: Sequence[UOp]) -> None:
    """Refuse a derivative by a constant, whose node is that of every equal constant of the program."""
    for x in xs:
        if not any(n.op in _NOT_CONSTANT or history.is_leaf(n) for n in toposort(x)):
            raise UsageError(
                "a target is made of constants only, so it is the same node as every equal constant of the program. "
                "Write `Tensor(…, requires_grad=True)`",
                where="gradient",
            )


def _require_graph(y: UOp, xs: Sequence[UOp]) -> None:
    """Refuse a derivative by a value that y came from, where the graph between them was forgotten."""
    reached = set(toposort(y))
    ended = [e for n in reached if (e := history.came_from(n)) is not None]
    if ended and any(
        x not in reached and any(b in e for b in history.beginnings(x) for e in ended) for x in xs
    ):
        raise UsageError(
            "the value of the tensor was computed and stored, so the graph from the targets to it is gone. Take the "
            "gradient before the value (`numpy`, `item`, `realize`), or make the target with "
            "`Tensor(…, requires_grad=True)`",
            where="gradient",
        )
