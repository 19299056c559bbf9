"""
Threads
=======

Which loops are dealt out to cores. The iterations of an output's loops do not depend on each other, so any of them may
be; it must be the outermost, so that a core is given work once. A nest that is worth it becomes a kernel of its own,
because the cores meet again only where a kernel ends.

*Invariant*: every iteration runs on one core, in the order in which it would have run, so no value changes.
"""

from __future__ import annotations

import math

from soundline.impl.analysis import arithmetic
from soundline.impl.cores import cores
from soundline.impl.lower.graphs.rebuilding import under
from soundline.impl.lower.graphs.size_arguments import is_symbolic_loop
from soundline.impl.lower.graphs.views import most_iterations
from soundline.impl.lower.linear.linearize import nest_of, runs_along
from soundline.impl.lower.linear.loop_nests import opened
from soundline.spec.uop import AxisType, Op, UOp, toposort

WORTH = 1 << 22
"""So many simple operations are worth a core that must be woken: some fifty microseconds."""
EVEN = 16
"""A loop with this many iterations can be dealt out evenly enough; one with fewer if each core gets as many."""


def work(nest: UOp) -> int:
    """How many simple operations a nest does, roughly: what is reduced is done for every iteration of the reduction."""
    rows, parts = opened(nest)
    if rows:
        return sum(map(work, parts)) * math.prod(map(most_iterations, rows))
    ranges, body = nest_of(nest)
    total = 0
    for node in under(body):
        if node.op is Op.Reduce:
            # a scan does one step
            counts = (
                most_iterations(r) for r in node.src[1:] if r.src[0].op is Op.Const or is_symbolic_loop(r)
            )
            total += math.prod(counts) * _size(node.src[0])
    return (total + _size(body)) * math.prod(map(most_iterations, ranges))


def _size(body: UOp) -> int:
    """The nodes of an expression outside of the reductions in it."""
    return len(list(toposort(body, below=lambda n: () if n.op is Op.Reduce and n is not body else n.src)))


def may_be_dealt_out(nest: UOp) -> list[UOp]:
    """The loops of a nest that may be dealt out; none where it is not worth it."""
    if work(nest) < WORTH:
        return []
    ranges, body = nest_of(nest)
    reductions = [n for n in under(body) if n.op is Op.Reduce]
    return [
        r
        for r in ranges
        if r.arg.type is AxisType.LOOP
        and most_iterations(r) > 1
        and all(
            r in arithmetic.ranges_of(f) for f in reductions
        )  # or every core would do all of such a reduction
        and not any(
            runs_along(f, r) for f in reductions
        )  # what one iteration has reduced, the next one continues
    ]


def dealt_out(nest: UOp) -> UOp | None:
    """The loop of a nest that is to be dealt out; None where it has none, or is not worth it."""
    loops, count = may_be_dealt_out(nest), cores()
    even = (
        r
        for r in loops
        if most_iterations(r) >= EVEN or (most_iterations(r) >= 2 * count and most_iterations(r) % count == 0)
    )
    return next(even, max(loops, key=most_iterations, default=None))
