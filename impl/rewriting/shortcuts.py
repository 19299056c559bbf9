"""
Quick steps
===========

Most nodes are elementwise ops on operands that are finished, and the rules that may apply to them are functions
(`direct`). What such a function wants are a node's properties and sources, so a node that a rule replaces is never made
on its finished operands. For every other node, `rewrite` takes its own way; the normal forms are the same, and so are
the steps that lead to them, their order, and their number.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

from soundline.impl.analysis.checks import KNOWN, made_of
from soundline.impl.matching.straight_line import OPS, UNSURE
from soundline.spec.ops.node import Op, UOp

if TYPE_CHECKING:
    from soundline.impl.analysis.facts import Facts
    from soundline.impl.matching.candidates import Candidate, Candidates

_HOPS = 8
"""So many steps may follow each other here; more may be a circle, which `rewrite` tells."""

_UNKNOWN: Any = object()

Sources = tuple[UOp, ...]


class Work(Protocol):
    """A rewriting in progress (`engine.Rewriting`)."""

    done: dict[UOp, UOp | None]
    """The normal form of every node that is finished; None while it is being computed."""

    def settle(self, node: UOp) -> None:
        """Find the normal form of a node whose operands are finished."""

    index: Candidates
    facts: Facts

    def count_once(self, candidate: Candidate, op: Op, src: tuple[UOp, ...]) -> None:
        """Count a step at a node of this op, arg None and these operands, if it is the first."""

    def settle_as(self, node: UOp, step: tuple[UOp, UOp, str]) -> None:
        """Find the normal form of a node of which this has been made."""


def settle_all(run: Work, order: Sequence[UOp]) -> None:
    """Find the normal form of every node of a list in which operands come before their users."""
    done: dict[UOp, Any] = run.done
    for node in order:
        if node in done:
            continue
        src = node.src
        if node.op not in OPS or node.tag is not None or len(src) > 2:
            run.settle(node)
        elif len(src) == 2:
            a, b = src
            _settle(run, node, (done[a], done[b]), _HOPS)
        else:
            _settle(run, node, (done[src[0]],), _HOPS)


def _settle(run: Work, node: UOp, now: Sources, hops: int) -> None:
    """Find the normal form of a node that has these finished operands."""
    op, done, index, same = node.op, run.done, run.index, now == node.src
    if len(now) == 2:
        a, b = now
        ops: tuple[Op, ...] = (op, a.op, b.op)
        given = node.properties if same else KNOWN.get((op, None, a.properties, b.properties))
    else:
        (a,) = now
        ops = (op, a.op)
        given = node.properties if same else KNOWN.get((op, None, a.properties))
    found = index.functions.get(ops, _UNKNOWN)
    if found is _UNKNOWN:
        found = index.all_direct(ops)
    if found is None or given is None:
        run.settle(node)
        return
    for function, candidate in found:
        right = function(given, now, run.facts)
        if right is None:
            continue
        if right is UNSURE:
            run.settle(node)
        else:
            _replace(run, node, now, right, candidate, hops)
        return
    made = node if same else made_of(op, now, given)
    final = done.get(made)
    if final is None:
        final = done[made] = made
    done[node] = final


def _replace(run: Work, node: UOp, now: Sources, right: UOp, by: Candidate, hops: int) -> None:
    """Finish a node that has these finished operands, and that a rule replaces."""
    done = run.done
    run.count_once(by, node.op, now)
    final = done.get(right)
    if final is None and hops and _is_ready(right, done):
        _settle(run, right, right.src, hops - 1)
        final = done[right]
    if final is None:
        run.settle_as(node, (node, right, by.rule.id))
    else:
        done[node] = final


def _is_ready(node: UOp, done: dict[UOp, UOp | None]) -> bool:
    """Whether a node is as those that are settled here, and has finished operands."""
    if node.op not in OPS or node.tag is not None or len(node.src) > 2 or node in done:
        return False
    return all(done.get(s) is s for s in node.src)
