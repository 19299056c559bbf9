"""
Ranks that have an instance
===========================

A rule that is shown for every rank may have instances at some ranks alone: what names axis 1 has none below rank 2, and
a number that is expanded has one at rank 0 only. A verdict says at which ranks the rule has instances, as far as the
first ranks show it. Of a rule that has an instance at rank 0 alone it says that it is vacuous: there are no axes there
of which the rule could say anything.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace

from soundline.spec.dtypes import DType
from soundline.spec.rules.instances import MAX_RANK, goals
from soundline.spec.rules.language import Rule
from soundline.spec.rules.ranks import rank_classes
from soundline.verify.smt.ranks.every_rank import free_classes
from soundline.verify.verdicts.verdict import LayerResult

ONLY_RANK_0 = "the rule has no instance beyond rank 0"

EVERY = "every rank"

MOST_TRIED = 64
"""The number of choices of one set of ranks that are tried before it is assumed to have no instance."""


def ranks_seen(rule: Rule, dtypes: Iterable[DType]) -> Mapping[str, frozenset[int]]:
    """By the name of each class of ranks that are free, the first ranks at which the rule has an instance."""
    classes = {n: c for n, c in rank_classes(rule).items() if c in free_classes(rule)}
    seen: set[tuple[tuple[str, int], ...]] = set()
    tried: Counter[tuple[tuple[str, int], ...]] = Counter()

    def skip(chosen: Mapping[str, Mapping[str, int]]) -> bool:
        key = tuple(chosen["rank of"].items())
        tried[key] += 1
        return key in seen or tried[key] > MOST_TRIED

    for dtype in dtypes:
        for goal in goals(rule, dtype, MAX_RANK, skip=skip):
            seen.add(tuple(goal.env.bound["rank of"].items()))
        if seen:
            break
    return {
        str(c): frozenset(rank for ranks in seen for name, rank in ranks if classes.get(name) == c)
        for c in dict.fromkeys(classes.values())
    }


def with_ranks(rule: Rule, dtypes: Iterable[DType], found: LayerResult) -> LayerResult:
    """A proof at every rank that says at which ranks the rule has an instance; vacuous where that is rank 0 alone."""
    if found.verdict != "proved" or EVERY not in found.covered or not free_classes(rule):
        return found
    seen = ranks_seen(rule, dtypes)
    if seen and all(ranks <= {0} for ranks in seen.values()):
        return replace(found, verdict="vacuous", covered="", detail=ONLY_RANK_0)
    told = [
        _told(name, ranks, len(seen) > 1)
        for name, ranks in seen.items()
        if ranks != frozenset(range(MAX_RANK + 1))
    ]
    return (
        replace(found, covered=found.covered.replace(EVERY, f"{EVERY} {' and '.join(told)}", 1))
        if told
        else found
    )


def _told(name: str, ranks: frozenset[int], several: bool) -> str:
    """The ranks of a class: from one on, if the first that are tried go on to the last; else those that have one."""
    whose = f"of {name} " if several else ""
    if ranks and ranks == frozenset(range(min(ranks), MAX_RANK + 1)):
        return f"{whose}from {min(ranks)} on"
    listed = ", ".join(map(str, sorted(ranks))) or "none"
    return f"{whose}that has an instance (of 0 to {MAX_RANK}: {listed})"
