"""
Every operand of few bits
=========================

A scalar rule is evaluated by the law at every choice of operands of eight bits, or of as many bits, from four, as keep
the choices few; at the dtypes of the layer, so that what is found is about the layer. Where there are more choices of
four bits than that, as many are drawn among them. Of a rule about shapes, small sizes are tried instead (`shapes`).
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from itertools import product
from math import prod

from soundline.spec.dtypes import DType, Element, bool_, from_bits, index
from soundline.verify.second.asked import Asked, Opinion, judged_by_points
from soundline.verify.second.batches import can_evaluate
from soundline.verify.second.shapes import shapes_opinion
from soundline.verify.smt.goals.obligations import Obligation
from soundline.verify.smt.goals.order import simplicity
from soundline.verify.smt.goals.points import Point
from soundline.verify.smt.goals.sampling import is_slow

BY = "small operands"
MOST_POINTS = 1 << 12
"""The most choices of operands that are evaluated for one instance."""
WIDEST, NARROWEST = 8, 4


def opinion(asked: Asked) -> Opinion:
    """What all operands of few bits say of a layer."""
    if asked.why_not:
        return shapes_opinion(BY, asked)
    fitting = [o for o in asked.obligations if _is_finite(o)]
    if not fitting:
        return Opinion(BY, "open", "operands of few bits say little of floats of many")
    exact = [o for o in fitting if not o.licensed]
    if not exact:
        return Opinion(BY, "open", "under a licence of rounding, a difference of floats says little")
    return judged_by_points(BY, asked, [(o, *points(o, asked.budget.seed)) for o in exact])


def _is_finite(obligation: Obligation) -> bool:
    small = all(not v.dtype.is_float or v.dtype.bits == 8 for v in obligation.variables.values())
    return small and can_evaluate(obligation) and not is_slow(obligation)


def points(obligation: Obligation, seed: int) -> tuple[str, bool, Iterator[Point]]:
    """The choices of operands: what they are, whether there are no others, and each of them, small ones first."""
    dtypes = [v.dtype for v in obligation.variables.values()]
    for bits in range(WIDEST, NARROWEST - 1, -1):
        lists = [operands(d, bits) for d in dtypes]
        if prod(map(len, lists)) <= MOST_POINTS:
            whole = all(d is bool_ or (d.bits == 8 and bits == 8) for d in dtypes)
            return f"all {bits}-bit operands", whole, iter(product(*lists))
    return f"{MOST_POINTS:,} choices of {NARROWEST}-bit operands", False, _drawn(lists, seed)


def _drawn(lists: Sequence[Sequence[Element]], seed: int) -> Iterator[Point]:
    source = random.Random(seed)  # noqa: S311  # repeatable, and no secret
    for _ in range(MOST_POINTS):
        yield tuple(source.choice(values) for values in lists)


def operands(dtype: DType, bits: int) -> list[Element]:
    """The elements that so many bits hold, small ones first: of a float, those with the first such bit patterns set."""
    if dtype is bool_:
        return [False, True]
    if dtype.is_float:
        step = 1 << (dtype.bits - bits)
        found: list[Element] = [from_bits(dtype, k * step) for k in range(1 << bits)]
    elif dtype is index or dtype.signed:
        found = list(range(-(1 << (bits - 1)), 1 << (bits - 1)))
    else:
        found = list(range(1 << bits))
    return sorted(found, key=lambda v: simplicity(dtype, v))
