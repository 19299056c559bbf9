"""
A directed search in floats
===========================

An attack on float rules: special values, subnormals, the neighbours of powers of two and of the ends of the integer
ranges, in all combinations, and neighbours of a point that meets the conditions. All elements are tried of a format
that has few. The law evaluates each point, so a difference is a counterexample whatever the prover says.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import chain, product

from soundline.spec.dtypes import DType, Element, exponent_range, from_bits, largest_finite, round_to, to_bits
from soundline.spec.ops.node import UOp
from soundline.verify.second.asked import Asked, Opinion, judged_by_points
from soundline.verify.second.batches import can_evaluate
from soundline.verify.smt.goals.algebra import Outside
from soundline.verify.smt.goals.obligations import Obligation
from soundline.verify.smt.goals.order import simplicity
from soundline.verify.smt.goals.points import Point
from soundline.verify.smt.goals.sampling import directed, is_slow
from soundline.verify.smt.goals.solving import check
from soundline.verify.smt.values.machine_numbers import Machine

BY = "directed floats"
MOST_POINTS = 3000
"""So many points are evaluated for one instance,"""
FEW_POINTS = 200
"""and so many where an op is a program of many steps."""
MODEL_SHARE = 0.02
"""The part of the budget for a point that meets the conditions."""


def opinion(asked: Asked) -> Opinion:
    """What a directed search says of a layer with floats."""
    fitting = [o for o in asked.obligations if has_floats(o) and can_evaluate(o)]
    if not fitting:
        return Opinion(BY, "open", asked.why_not or "there are no floats")
    if any(o.licensed for o in fitting):
        return Opinion(BY, "open", "under a licence of rounding, a difference of floats says little")
    tries = []
    for obligation in fitting:
        near = list(near_a_model(obligation, asked))
        whole, points = search(obligation, asked.budget.seed)
        tries.append(
            (obligation, "every element" if whole else "directed elements", whole, chain(near, points))
        )
    return judged_by_points(BY, asked, tries)


def has_floats(obligation: Obligation) -> bool:
    """Whether any node is a float."""
    return any(n.dtype.is_float for n in obligation.nodes())


def search(obligation: Obligation, seed: int) -> tuple[bool, Iterator[Point]]:
    """The points of a search, and whether there are no others."""
    most = FEW_POINTS if is_slow(obligation) else MOST_POINTS
    dtypes = [v.dtype for v in obligation.variables.values()]
    if len(dtypes) == 1 and dtypes[0].is_float and dtypes[0].bits <= 8:
        return True, ((from_bits(dtypes[0], code),) for code in range(1 << dtypes[0].bits))
    length = max(2, int(most ** (1 / max(1, len(dtypes))) * 0.9))
    lists = [_elements(d, length) for d in dtypes]
    grid = product(*lists)
    return False, chain(grid, _mixed(dtypes, seed, most // 4))


def _elements(dtype: DType, count: int) -> Sequence[Element]:
    if not dtype.is_float:
        return directed(dtype, count)
    edges = edges_of(dtype)
    special, rest = edges[:SPECIAL], edges[SPECIAL:]
    step = max(1, len(rest) // max(1, count - SPECIAL))
    return [*special, *rest[::step]][:count]


SPECIAL = 14
"""How many of the edges come first whatever the number."""


@cache
def edges_of(dtype: DType) -> tuple[float, ...]:
    """Numbers at which the behaviour of floats changes: first the special ones, then powers of two and their
    neighbours.
    """
    least, most = exponent_range(dtype)
    tiny, ulp = math.ldexp(1.0, least - dtype.mantissa_bits), math.ldexp(1.0, -dtype.mantissa_bits)
    big, normal = largest_finite(dtype), math.ldexp(1.0, least)
    special = [0.0, -0.0, 1.0, -1.0, math.inf, -math.inf, math.nan, tiny, -tiny, big, -big, normal]
    special += [normal - tiny, 1.0 + ulp]
    powers = [math.ldexp(1.0, e) for e in range(least - dtype.mantissa_bits, most + 1)]
    near = [sign * v for p in powers for v in (p, *neighbours(dtype, p)) for sign in (1, -1)]
    wholes = [
        1 / ulp,
        2 / ulp,
        2 / ulp + 2,
        1 / ulp - 1,
        3.0,
        10.0,
        1 / 3,
        0.1,
        math.sqrt(big),
        big / 2,
        3 * tiny,
    ]
    scattered = sorted(near, key=lambda v: to_bits(dtype, v) * 2654435761 % (1 << 32))
    unique = {to_bits(dtype, v): v for v in (round_to(dtype, x) for x in (*special, *wholes, *scattered))}
    return tuple(unique.values())


def neighbours(dtype: DType, value: float, reach: int = 1) -> list[float]:
    """The floats next to one, by bit patterns."""
    code = to_bits(dtype, value)
    sign = 1 << (dtype.bits - 1)
    codes = (code + k for k in range(-reach, reach + 1) if k)
    found = (from_bits(dtype, c) for c in codes if 0 <= c < 2 * sign and (c & sign) == (code & sign))
    return [float(v) for v in found]


def _mixed(dtypes: Sequence[DType], seed: int, count: int) -> Iterator[Point]:
    """Edges and random bit patterns, drawn together."""
    source = random.Random(seed)  # noqa: S311  # repeatable, and no secret
    for _ in range(count):
        yield tuple(_any(source, d) for d in dtypes)


def _any(source: random.Random, dtype: DType) -> Element:
    if not dtype.is_float or dtype.bits == 0:
        return source.choice(directed(dtype, 60))
    if source.random() < 0.5:
        return source.choice(edges_of(dtype))
    return from_bits(dtype, source.getrandbits(dtype.bits))


def near_a_model(obligation: Obligation, asked: Asked) -> Iterator[Point]:
    """A point that meets the conditions, where the solver finds one, and those near to it."""
    if not obligation.hypotheses:
        return
    try:
        algebra = Machine(obligation)
        premises = algebra.premises()
    except Outside:
        return
    answer = check([*premises, *algebra.facts], algebra.ctx, asked.budget.share(MODEL_SHARE))
    if answer.status != "sat":
        return
    nodes = list(obligation.variables.values())
    point = [_in_model(algebra, answer.model, v) for v in nodes]
    lists = [
        sorted([float(x), *neighbours(v.dtype, float(x), 2)], key=lambda e, d=v.dtype: simplicity(d, e))  # type: ignore[misc]
        if v.dtype.is_float
        else [x]
        for v, x in zip(nodes, point, strict=True)
    ]
    yield from product(*lists)


def _in_model(algebra: Machine, model: object, node: UOp) -> Element:
    return algebra.element(model, node) if node in algebra.known else directed(node.dtype, 1)[0]
