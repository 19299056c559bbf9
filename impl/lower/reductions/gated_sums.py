"""
Gated sums of products
======================

A sum of products, some of which a gate replaces by zero, as the gradient of a relu has it: each of its terms adds a
zero where the gate is closed, and then a step is no product that is added. Where sums may be associated anew, the
zeros are added apart: ``Σ where(p, x·y, 0) = Σ where(p, x·y, -0.0) + Σ where(p, -0.0, 0)``. To add -0.0 changes
nothing, so what is left of a step is one fused instruction in those lanes whose gate is open (`linearize`). And the
second sum is but a sign: +0.0 if some gate is closed, else -0.0. It is the greatest of its terms. It depends on less
than the first one does, so a kernel before stores it.

*Invariant*: the values of all stores are what the licences ``reassociate`` and ``contract`` admit.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from soundline.impl.analysis import arithmetic
from soundline.impl.lower.graphs.effects import closed, nest_of
from soundline.impl.lower.graphs.scalars import FUSED
from soundline.impl.lower.graphs.views import trip_count
from soundline.spec.uop import Op, ReduceArg, UOp, buffer, const, loop, substitute, toposort

WORTH = 128
"""So often at least the sum of the zeros is used again: it goes through all gates again, slower than products do."""


@dataclass(frozen=True, slots=True)
class Gated:
    """A choice between a product and a zero."""

    gate: UOp
    product: UOp
    zero: UOp
    open: bool
    """Whether the product is chosen where the gate is True."""

    def choice(self, product: UOp, other: UOp) -> UOp:
        """The same choice between other values."""
        return Op.Where(self.gate, *((product, other) if self.open else (other, product)))


def gated(term: UOp) -> Gated | None:
    """The choice that a term of a sum is, if it is one between a product and a zero."""
    if term.op is not Op.Where:
        return None
    gate, a, b = term.src
    if a.op is Op.Mul and zero_in(b) is not None:
        return Gated(gate, a, b, True)
    return Gated(gate, b, a, False) if b.op is Op.Mul and zero_in(a) is not None else None


def zero_in(value: UOp) -> float | None:
    """The zero that a float is in all its lanes; None for any other value."""
    while value.op in (Op.Expand, Op.Reshape):
        value = value.src[0]
    if value.op is not Op.Const or not value.dtype.is_float or value.arg.value != 0:
        return None
    return float(value.arg.value)


def is_neutral(value: UOp) -> bool:
    """Whether a value is -0.0, which changes no bit of what it is added to."""
    found = zero_in(value)
    return found is not None and math.copysign(1.0, found) < 0


def zeros_apart(
    nest: UOp, numbers: Iterator[int], slots: Iterator[int], licences: Collection[str]
) -> tuple[list[UOp], UOp]:
    """Nests that store the sums of zeros, and the nest that reads them."""
    if not {"contract", "reassociate"} <= set(licences):
        return [], nest
    ranges, body = nest_of(nest)
    before: list[UOp] = []
    new: dict[UOp, UOp] = {}
    for reduction in toposort(body):
        found = gated(reduction.src[0]) if reduction.op is Op.Reduce and _is_sum(reduction) else None
        if found is not None and not is_neutral(found.zero) and _is_worth_it(reduction, found.gate, ranges):
            signs, load = _signs(reduction, found, ranges, numbers, next(slots))
            before.append(signs)
            negative = const(-0.0, reduction.dtype)
            rest = Op.Reduce(found.choice(found.product, negative), *reduction.src[1:], arg=reduction.arg)
            new[reduction] = Op.Add(rest, load)
    return before, closed(substitute(body, new), ranges) if new else nest


def _is_sum(reduction: UOp) -> bool:
    return reduction.arg.op is Op.Add and not reduction.arg.axes and reduction.dtype in FUSED


def _is_worth_it(reduction: UOp, gate: UOp, ranges: Collection[UOp]) -> bool:
    """Whether what the gates add is used often, and is known from loads alone."""
    loops = arithmetic.ranges_of(reduction)
    again = math.prod(trip_count(r) for r in loops - arithmetic.ranges_of(gate))
    plain = all(n.op is not Op.Reduce and n.op is not Op.After for n in toposort(gate))
    known = all(r.src[0].op is Op.Const for r in (*loops, *reduction.src[1:]))
    return plain and known and loops <= set(ranges) and again >= WORTH


def _signs(
    reduction: UOp, found: Gated, ranges: Collection[UOp], numbers: Iterator[int], slot: int
) -> tuple[UOp, UOp]:
    """The nest that stores the zeros which closed gates add, and the load of one of them."""
    order = [r for r in ranges if r in arithmetic.ranges_of(found.gate)]
    sizes = [trip_count(r) for r in order]
    storage = buffer(slot, math.prod(sizes), reduction.dtype)
    own = {r: loop(trip_count(r), next(numbers), r.arg.type) for r in (*order, *reduction.src[1:])}
    at = arithmetic.flatten(order, sizes)
    term = found.choice(const(-0.0, reduction.dtype), const(0.0, reduction.dtype))
    total = Op.Reduce(term, *reduction.src[1:], arg=ReduceArg(Op.Max))
    store = Op.Store(Op.Index(storage, substitute(at, own)), substitute(total, own))
    return closed(store, [own[r] for r in order]), Op.Load(Op.Index(storage, at))
