"""
Small sizes
===========

A rule about shapes is evaluated by the law at small sizes: its first instances, so that all low ranks, permutations and
flags are among them, each at some sizes up to three, with elements that count and with others.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from soundline.spec.instances import Goal, goals
from soundline.verify.layers import dtypes_in_layer
from soundline.verify.second.asked import Asked, instances
from soundline.verify.smt.counterexamples_tensors import Tries, show_difference, small_sizes
from soundline.verify.verdicts import Opinion

MOST_INSTANCES = 24
MOST_SIZES = 10
FILLS = 3
"""So many instances are evaluated, each at so many choices of sizes, with so many inputs."""


def shapes_opinion(by: str, asked: Asked) -> Opinion:
    """What small sizes say of a layer of a rule about shapes."""
    tries, seen = Tries(), 0
    for goal in islice(_instances(asked), MOST_INSTANCES):
        seen += 1
        for chosen in _some_sizes(goal):
            shown = show_difference(goal, chosen, (), asked.budget, tries, FILLS)
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


def _instances(asked: Asked) -> Iterator[Goal]:
    for dtype in dtypes_in_layer(asked.rule, asked.dtype):
        yield from goals(asked.rule, dtype)


def _some_sizes(goal: Goal) -> list[dict[str, int]]:
    """The smallest choices of sizes, and some of the others up to three."""
    every = list(islice(small_sizes(goal), 400))
    step = max(1, len(every) // MOST_SIZES)
    return [*every[:3], *every[3::step][: MOST_SIZES - 3]]
