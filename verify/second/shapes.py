"""
Small sizes
===========

A rule about shapes is evaluated by the law at small sizes: its first instances, so that all low ranks are among them,
and others drawn from all up to rank 4, independently of the instances that a proof used. Each is tried at some sizes
from 0 to 3, with elements that count, and with others drawn from small and extreme ones: the least, the greatest, -0.0,
infinities, NaN.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from itertools import islice, zip_longest
from math import prod

from soundline.spec.arrays.arrays import Array
from soundline.spec.dtypes import DType, Element
from soundline.spec.rules.instances import Goal, goals
from soundline.verify.second.asked import Asked, instances
from soundline.verify.smt.counterexamples.replays import licences_of, number, replay, shapes_at, sizes
from soundline.verify.smt.counterexamples.sizes import small_sizes
from soundline.verify.smt.counterexamples.tensors import (
    Tries,
    show_difference,
    told_counterexample,
)
from soundline.verify.smt.goals.sampling import directed
from soundline.verify.verdicts.layers import ROUNDING, dtypes_in_layer, layers_of
from soundline.verify.verdicts.verdict import Counterexample, Opinion

FIRST_INSTANCES, DRAWN_INSTANCES = 16, 16
MOST_SIZES = 6
FILLS = 2
"""The number of instances that are evaluated, of choices of sizes for each, and of inputs for each choice."""

EACH = 40
"""The number of inputs without a difference after which the next instance is tried."""

FURTHER = 4
"""At the layers after the first, one of so many instances is tried."""

MOST_ELEMENTS = 40
"""Drawn inputs with more elements than this are left out."""

FROM = 600
"""The number of instances from which some are drawn."""


def shapes_opinion(by: str, asked: Asked) -> Opinion:
    """What small sizes say of a layer of a rule about shapes."""
    tries, seen = Tries(), 0
    source = random.Random(asked.budget.seed)  # noqa: S311  # repeatable, and no secret
    for goal in _instances(asked, source):
        if goal.left.dtype.is_float and not licences_of(goal).isdisjoint(ROUNDING):
            continue  # another rounding is licensed, so that a difference of floats says little
        seen += 1
        before = tries.in_vain
        for chosen in _some_sizes(goal):
            if tries.in_vain - before >= EACH:
                break
            shown = show_difference(goal, chosen, (), asked.budget, tries, FILLS)
            shown = shown or _drawn(goal, chosen, source, tries)
            if shown is None:
                continue
            where = ", ".join(f"{name} = {text}" for name, text in shown.bindings)
            if asked.found.verdict == "unknown":
                asked.settle(shown, by)
                return Opinion(by, "open", f"the sides differ at {where} ({shown.instance})")
            agrees = asked.found.verdict == "refuted"
            return Opinion(
                by, "agrees" if agrees else "contradicts", f"the sides differ at {where} ({shown.instance})"
            )
    covered = f"{tries.in_vain} inputs of small sizes, {instances(seen)}"
    if asked.found.verdict == "proved" and tries.in_vain:
        return Opinion(by, "agrees", covered)
    return Opinion(by, "open", f"no difference among {covered}")


def _instances(asked: Asked, source: random.Random) -> Iterator[Goal]:
    """The first instances, and some of the others, at the dtypes in turn."""
    dtypes = dtypes_in_layer(asked.rule, asked.dtype)
    part = 1 if asked.dtype is layers_of(asked.rule)[0][1] else FURTHER
    first = list(islice(goals(asked.rule, dtypes[0]), FROM))
    every = first[FIRST_INSTANCES:]
    yield from first[:FIRST_INSTANCES:part]
    places = source.sample(range(len(every)), min(len(every), DRAWN_INSTANCES // part))
    yield from (every[k] for k in sorted(places))
    for dtype in dtypes[1:]:
        yield from islice(goals(asked.rule, dtype), 2)


def _drawn(
    goal: Goal, chosen: Mapping[str, int], source: random.Random, tries: Tries
) -> Counterexample | None:
    """A counterexample among inputs of these sizes that are drawn from small and extreme elements."""
    given = {name: number(chosen.get(name, 0)) for name in sizes(goal)}
    shapes = shapes_at(goal, given, MOST_ELEMENTS)
    if shapes is None:
        return None
    dtypes = {name: goal.variables[name].dtype for name in shapes}
    for _ in range(FILLS):
        drawn = {
            name: Array(dtypes[name], shape, _elements(dtypes[name], prod(shape), source))
            for name, shape in shapes.items()
        }
        shown = replay(goal, {**given, **drawn})
        if shown is not None and shown.differs:
            return told_counterexample(goal, {**given, **drawn}, shown)
        tries.in_vain += shown is not None
    return None


def _elements(dtype: DType, count: int, source: random.Random) -> tuple[Element, ...]:
    among = directed(dtype, source.choice((4, 9, 24)))
    return tuple(source.choice(among) for _ in range(count))


def _some_sizes(goal: Goal) -> list[dict[str, int]]:
    """The smallest choices of sizes, and some of the others up to three: in turn, so that both come early."""
    every = list(islice(small_sizes(goal), 400))
    step = max(1, len(every) // MOST_SIZES)
    small, others = every[:3], every[3::step][: MOST_SIZES - 3]
    pairs = zip_longest(reversed(others), small)
    return [sizes for pair in pairs for sizes in pair if sizes is not None]
