"""The algebra of collectives against enumerated threads: tilings, guards, matching, and shards of memory."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, event, given, settings
from hypothesis import strategies as st

from soundline.spec.errors import CollectiveError
from soundline.spec.spork.threads import distributed_memory, domains, tilings, units
from soundline.spec.spork.threads.distributed_memory import Deduction, agree, deduce
from soundline.spec.spork.threads.tilings import (
    Tiling,
    choose_warps,
    iteration,
    match,
    threads,
    tile,
    top_level,
)
from soundline.spec.spork.threads.units import CollUnit, cuda_cta_in_cluster, cuda_thread, cuda_warp

sys.path.insert(0, str(Path(__file__).parent))
from thread_sets import (
    NATIVE,
    SHAPES,
    Cell,
    Groups,
    Refused,
    Scope,
    Step,
    Values,
    cell,
    is_aligned,
    is_whole,
    loop,
    steps,
    task,
    warps,
)

KNOWN = {rule for module in (units, domains, tilings, distributed_memory) for rule in module.CONSTRAINTS}
RANDOM = settings(deadline=None, suppress_health_check=list(HealthCheck))


def outcome(build: Callable[[], object]) -> object:
    """What was built, or the id of what refuses it."""
    try:
        return build()
    except CollectiveError as error:
        return error.rule if error.rule in KNOWN else f"of no table: {error}"
    except Refused as error:
        return error.rule


def stepped(state: Tiling, scope: Scope, step: Step, name: str) -> tuple[object, object]:
    """One step by the algebra and by the oracle."""
    unit = step.unit
    if unit is None:
        return (
            outcome(lambda: choose_warps(state, step.lo, step.hi)),
            outcome(lambda: warps(scope, step.lo, step.hi)),
        )
    return (
        outcome(lambda: tile(state, name, step.count, unit)),
        outcome(lambda: loop(scope, name, step.count, unit)),
    )


def walk(data: st.DataObject, length: int, *, last: CollUnit | None = None) -> list[tuple[Tiling, Scope]]:
    """A random nest of what both accept; they refuse for the same reason. The last loop may be over one unit."""
    block_dim, cluster_dim = data.draw(st.sampled_from(SHAPES))
    trail = [(top_level(block_dim, cluster_dim), task(block_dim, cluster_dim))]
    for depth in range(length):
        state, scope = trail[-1]
        step = data.draw(steps(state.box[-1]))
        if last is not None and depth == length - 1:
            sizes = (
                n
                for n in range(state.box[-1], 0, -1)
                if isinstance(outcome(partial(tile, state, "", n, last)), Tiling)
            )
            step = Step(last, next(sizes, 1))
        ours, theirs = stepped(state, scope, step, f"i{depth}")
        if isinstance(ours, Tiling) and isinstance(theirs, Scope):
            trail.append((ours, theirs))
        else:
            event(str(ours))
            assert ours == theirs, (trail, step, ours, theirs)
    return trail


def by_guards(state: Tiling, scope: Scope) -> Groups:
    """The collectives that form when every thread runs the guards and computes its iterators."""
    found: dict[Values, set[int]] = {}
    for thread in range(scope.block_dim * scope.cluster_dim):
        values = iteration(state, thread)
        if values is not None:
            found.setdefault(values, set()).add(thread)
    return {values: frozenset(group) for values, group in found.items()}


@settings(RANDOM, max_examples=200)
@given(st.data())
def test_threads_run_the_iterations_that_the_algebra_says(data: st.DataObject) -> None:
    for state, scope in walk(data, 5):
        assert by_guards(state, scope) == scope.groups
        assert {values: threads(state, values) for values in scope.groups} == scope.groups
        assert sum(map(len, scope.groups.values())) == len(frozenset().union(*scope.groups.values()))
        assert [i.count for i in state.iterators] == list(scope.counts)


@settings(RANDOM, max_examples=200)
@given(st.data(), st.sampled_from(NATIVE))
def test_a_unit_matches_where_every_collective_is_one_of_it(data: st.DataObject, unit: CollUnit) -> None:
    state, scope = walk(data, 3)[-1]
    found = outcome(lambda: match(state, unit))
    assume(not str(found).startswith("coll-unit-"))
    alike = is_aligned(scope, unit) and all(is_one_of(scope, unit, g) for g in scope.groups.values())
    event(f"{found} {alike}")
    if found is None:
        assert alike
    elif alike:
        assert found in ("coll-domain-c2", "coll-domain-c4"), found
        assert found == "coll-domain-c2" or None in unit.box


def is_one_of(scope: Scope, unit: CollUnit, group: frozenset[int]) -> bool:
    cells = [cell(scope, unit, t) for t in group]
    return len({outer for outer, _ in cells}) == 1 and is_whole(scope, unit, group)


# Distributed memory -----------------------------------------------------------------------------------------------


def shards(
    scope: Scope, unit: CollUnit, outer: int, picked: tuple[int, ...]
) -> dict[tuple[Values, Values], set[Cell]]:
    """For each iteration around the allocation and each shard index: the native collectives whose threads use it."""
    found: dict[tuple[Values, Values], set[Cell]] = {}
    for values, group in scope.groups.items():
        key = values[:outer], tuple(values[k] for k in picked)
        found.setdefault(key, set()).update(cell(scope, unit, t)[0] for t in group)
    return found


def moves(scope: Scope, unit: CollUnit) -> tuple[set[int], set[int]]:
    """The iterators that change the native collective, and those that change the place in it, others held."""
    across, within = set(), set()
    for values, group in scope.groups.items():
        for k in range(len(values)):
            other = scope.groups.get((*values[:k], values[k] + 1, *values[k + 1 :]))
            if other is not None:
                one, two = (sorted(cell(scope, unit, t) for t in g) for g in (group, other))
                across |= {k} if {c for c, _ in one} != {c for c, _ in two} else set()
                within |= {k} if [p for _, p in one] != [p for _, p in two] else set()
    return across, within


@st.composite
def written(draw: st.DrawFn, scope: Scope, right: list[str]) -> list[str]:
    """Indices: mostly the right ones in some order, sometimes with another among them."""
    indices = list(draw(st.permutations(right)))
    for _ in range(draw(st.sampled_from([0, 0, 0, 1, 2]))):
        wrong = draw(st.sampled_from([*scope.names, "s", "0", "i0 + 1"]))
        indices.insert(draw(st.integers(0, len(indices))), wrong)
    if indices and draw(st.integers(0, 9)) == 0:
        indices.pop()
    return indices


def deduced(data: st.DataObject, trail: list[tuple[Tiling, Scope]], at: int, unit: CollUnit) -> object:
    """A use in the last scope of what was allocated at another, checked against the oracle."""
    (allocation, around), (state, scope) = trail[at], trail[-1]
    outer = len(around.names)
    across, within = moves(scope, unit)
    right = [scope.names[k] for k in sorted(across) if k >= outer]
    indices = data.draw(written(scope, right))
    counts = dict(zip(scope.names, scope.counts, strict=True))
    extents = [counts.get(i, 7) + data.draw(st.sampled_from([0] * 15 + [1])) for i in indices]
    found = outcome(lambda: deduce(allocation, unit, state, indices, extents))
    one_each = all(len({cell(scope, unit, t)[0] for t in g}) == 1 for g in scope.groups.values())
    if isinstance(found, Deduction):
        assert one_each
        assert all(is_whole(around, unit, g) for g in around.groups.values())
        picked = tuple(scope.names.index(n) for n in found.distributed)
        used = shards(scope, unit, outer, picked)
        assert all(
            len(cells) == 1 for cells in used.values()
        )  # every thread that names a shard is of its owner
        for values in {v for v, _ in used}:
            owners = [cells for (v, _), cells in used.items() if v == values]
            assert len(set().union(*owners)) == len(owners)  # and no two shards have one owner
        assert set(right) <= set(found.distributed)
    elif found == "dist-c2":
        assert not all(is_whole(around, unit, g) for g in around.groups.values())
    elif found == "dist-c3":
        assert not one_each
    elif found == "dist-c4":
        assert across & within
    elif found == "dist-c5":
        assert set(right) - set(indices)
    elif found == "dist-c11":
        assert extents != [counts.get(i, 7) for i in indices]
    elif found == "dist-c8":
        assert not set(indices[: len(right)]) <= set(right)
    return found


@pytest.mark.thorough
@settings(RANDOM, max_examples=300)
@given(st.data(), st.sampled_from([cuda_thread, cuda_warp, cuda_cta_in_cluster, *NATIVE]))
def test_every_thread_that_names_a_shard_belongs_to_its_owner(data: st.DataObject, unit: CollUnit) -> None:
    trail = walk(data, 4, last=data.draw(st.sampled_from([None, unit, unit, cuda_thread])))
    assume(is_valid(trail[0][1], unit))
    at = data.draw(st.integers(0, len(trail) - 1))
    found = deduced(data, trail, at, unit)
    event("accepted" if isinstance(found, Deduction) else str(found))


def is_valid(scope: Scope, unit: CollUnit) -> bool:
    return outcome(lambda: is_aligned(scope, unit)) is True


def a_use(
    data: st.DataObject, block_dim: int, cluster_dim: int, unit: CollUnit
) -> tuple[Deduction, dict[Values, set[Cell]]]:
    """A use that is accepted, of what all threads allocate, and the owners of its shards."""
    state, scope = top_level(block_dim, cluster_dim), task(block_dim, cluster_dim)
    for depth in range(3):
        ours, theirs = stepped(state, scope, data.draw(steps(state.box[-1])), f"i{depth}")
        if isinstance(ours, Tiling) and isinstance(theirs, Scope):
            state, scope = ours, theirs
    across, _ = moves(scope, unit)
    indices = data.draw(st.permutations([scope.names[k] for k in sorted(across)]))
    extents = [scope.counts[scope.names.index(n)] for n in indices]
    found = outcome(lambda: deduce(top_level(block_dim, cluster_dim), unit, state, indices, extents))
    assume(isinstance(found, Deduction))
    assert isinstance(found, Deduction)
    picked = tuple(scope.names.index(n) for n in found.distributed)
    return found, {shard: cells for (_, shard), cells in shards(scope, unit, 0, picked).items()}


@settings(RANDOM, max_examples=200)
@given(st.data(), st.sampled_from([cuda_thread, cuda_warp, cuda_cta_in_cluster, 2 * cuda_warp]))
def test_uses_agree_where_each_shard_has_one_owner(data: st.DataObject, unit: CollUnit) -> None:
    """Two nests below one allocation: they agree only where each shard index means the same threads in both."""
    block_dim, cluster_dim = data.draw(st.sampled_from([(64, 1), (128, 1), (64, 2)]))
    assume(is_valid(task(block_dim, cluster_dim), unit))
    (one, owners), (two, others) = (a_use(data, block_dim, cluster_dim, unit) for _ in range(2))
    found = outcome(lambda: agree(one, two))
    event(str(found))
    alike = all(owners[k] == others[k] for k in owners.keys() & others.keys())
    if found is None:
        assert len(next(iter(owners))) == len(next(iter(others)))
        assert alike
    elif found == "dist-c12":
        assert len(one.distributed) != len(two.distributed)
    elif one.extents == two.extents:
        assert not alike
