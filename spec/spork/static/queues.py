"""
What the statements of a barrier agree on
=========================================

When all arrives and awaits of a barrier are known, they are judged together: each side has both, on one timeline and by
one collective; an await is possible after what it waits for; the two sides take turns, so that a ring of slots is
enough; and no two commit groups of one kind live at a time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby, product

from soundline.spec.errors import CollectiveError
from soundline.spec.spork.language.statements import Arrive, Await
from soundline.spec.spork.static.barriers import (
    Queues,
    QueueUse,
    Synchronization,
    barriers_text,
    in_every_iteration,
)
from soundline.spec.spork.static.conditions import placed, static_refusal
from soundline.spec.spork.static.pairing import arrives_first
from soundline.spec.spork.static.windows import Path
from soundline.spec.spork.synchronization.barriers import (
    BarrierType,
    Use,
    await_pieces,
    check_alone,
    check_uses,
    multicast_targets,
    ring_depth,
)
from soundline.spec.spork.synchronization.timelines import SyncTl
from soundline.spec.spork.threads.distributed_memory import Deduction, agree_on_queue, agree_on_side


@dataclass(frozen=True, slots=True)
class SideFacts:
    """One side of a barrier: its arrives and its awaits."""

    first: SyncTl
    """The timeline of the arrives."""
    second: SyncTl | None
    """That of the awaits; None where nobody awaits."""
    ns: tuple[int, ...]
    """The N of the awaits; an mbarrier has one."""
    arriving: int
    """How many threads arrive at one queue each time, those of all CTAs that multicast to it."""
    arrives: Deduction
    """How the indices of the arrives are distributed."""
    awaits: Deduction | None
    """How those of the awaits are."""


@dataclass(frozen=True, slots=True)
class BarrierFacts:
    """What is known of the barriers that a statement allocates."""

    type: BarrierType
    extents: tuple[int, ...]
    """How many queues there are along each dimension; none where the barrier is not used."""
    forward: SideFacts | None = None
    reverse: SideFacts | None = None
    depth: int | None = None
    """How many physical mbarriers a queue needs."""


def settle(found: Synchronization) -> dict[Path, BarrierFacts]:
    """Judge all barriers, and say what is known of each."""
    facts = {path: _settled(queues, found) for path, queues in found.queues.items()}
    for path, queues in found.queues.items():
        if queues.type is BarrierType.CudaCommitGroup:
            _check_alone(path, queues, found, facts)
    return facts


def _settled(queues: Queues, found: Synchronization) -> BarrierFacts:
    if not queues.uses:
        return BarrierFacts(queues.type, ())
    name = queues.declared.name
    _check_alike(name, queues)
    sides = {reverse: _side(queues, reverse, found) for reverse in (False, True)}
    depth = None
    if queues.type is BarrierType.CudaMbarrier:
        _check_homes(name, queues.uses)
        depth = _depth(queues, sides)
    extents = queues.uses[0].deduction.extents
    return BarrierFacts(queues.type, extents, sides[False], sides[True], depth)


def _check_alike(name: str, queues: Queues) -> None:
    """What all statements of the barrier, and those of each side, have in common."""
    uses: list[Use] = []
    who = [collectives(use) for use in queues.uses]
    shapes = [shape_of(use) for use in queues.uses]
    for k, use in enumerate(queues.uses):
        around = frozenset(shapes[j] for j in range(len(who)) if _contains(who[j], who[k]))
        uses.append(_use(use, shapes[k], around))
        with placed(use.statement):
            check_uses(name, queues.type, uses)
            for j, other in enumerate(queues.uses[:k]):
                nested = _contains(who[j], who[k]) or _contains(who[k], who[j])
                _check_pair(name, queues.type, other, use, nested=nested)


def _use(use: QueueUse, shape: str, around: frozenset[str]) -> Use:
    statement = use.statement
    return Use(
        use.arrives,
        statement.reverse,
        use.timeline,
        shape,
        statement.n,
        use.patterns if use.arrives else (),
        around,
    )


Collectives = dict[tuple[int, ...], frozenset[int]]
"""Threads, by the index of a queue."""


def collectives(use: QueueUse) -> Collectives:
    """Who executes a use, by the index of the queue."""
    iterators = use.tiling.iterators
    names = [i.name for i in iterators]
    at = [names.index(name) for name in use.deduction.distributed]
    found: Collectives = {}
    for values in product(*(range(i.count) for i in iterators)):
        found[tuple(values[k] for k in at)] = use.scope.collective(values).threads
    return found


def _contains(outer: Collectives, inner: Collectives) -> bool:
    """Whether at each queue the threads of one use are among those of another."""
    return outer.keys() == inner.keys() and all(inner[k] <= outer[k] for k in inner)


def shape_of(use: QueueUse) -> str:
    """The collective of a use, counted from its first thread, as ranges: the same wherever it begins."""
    threads = sorted(use.scope.collective([0] * len(use.tiling.iterators)).threads)
    runs = [
        [thread - threads[0] for _, thread in run]
        for _, run in groupby(enumerate(threads), lambda pair: pair[1] - pair[0])
    ]
    return "threads " + ", ".join(f"{r[0]}-{r[-1]}" if len(r) > 1 else f"{r[0]}" for r in runs)


def _check_pair(name: str, kind: BarrierType, one: QueueUse, two: QueueUse, *, nested: bool) -> None:
    """Who executes two statements of one barrier; `nested` is whether one's threads are among the other's."""
    same_side = one.statement.reverse is two.statement.reverse
    if same_side and one.arrives is two.arrives:
        _agree(name, one, two)
        return
    if kind is BarrierType.CudaCommitGroup:
        rule = "bar-group-owner"
    elif not same_side and one.arrives is not two.arrives:
        rule = "bar-reverse-unit"
    else:
        return
    if kind is BarrierType.CudaMbarrier and nested:
        return
    try:
        _agree(name, one, two)
    except CollectiveError as error:
        raise static_refusal(rule, two.statement, name, error.given) from error


def _agree(name: str, one: QueueUse, two: QueueUse) -> None:
    """The same threads execute both, and each of them uses the same queue in both."""
    agree_on_side(one.tiling, two.tiling, name=name)
    agree_on_queue(one.deduction, two.deduction, name=name)


def _side(queues: Queues, reverse: bool, found: Synchronization) -> SideFacts | None:
    """One side, where it is used, and the pieces of its awaits."""
    uses = [u for u in queues.uses if u.statement.reverse is reverse]
    if not uses:
        return None
    name = queues.declared.name
    arrives = [u for u in uses if u.arrives]
    awaits = [u for u in uses if not u.arrives]
    if not arrives:
        given = f"no {'reverse ' if reverse else ''}arrive"
        raise static_refusal("bar-awaited", awaits[0].statement, name, given)
    for use in awaits:
        found.pieces[use.path] = _await(use, queues.type, arrives[0].timeline)
    first, arrive = arrives[0], arrives[0].statement
    assert isinstance(arrive, Arrive)
    values = dict.fromkeys(map(str, range(len(first.deduction.extents))), 0)
    home = tuple(values)
    targets = multicast_targets((home, *first.patterns), values, first.deduction.extents)
    return SideFacts(
        first=first.timeline,
        second=awaits[0].timeline if awaits else None,
        ns=tuple(dict.fromkeys(u.statement.n for u in awaits)),
        arriving=len(targets) * len(first.scope.collective([0] * len(first.tiling.iterators)).threads),
        arrives=first.deduction,
        awaits=awaits[0].deduction if awaits else None,
    )


def _await(use: QueueUse, kind: BarrierType, first: SyncTl) -> tuple[str, ...]:
    statement = use.statement
    assert isinstance(statement, Await)
    with placed(statement):
        return in_every_iteration(
            use.scope,
            lambda by: await_pieces(
                kind,
                first,
                use.timeline,
                by,
                n=statement.n,
                reverse=statement.reverse,
                name=barriers_text(statement),
            ),
        )


# Mbarriers --------------------------------------------------------------------------------------------------------


def _check_homes(name: str, uses: Sequence[QueueUse]) -> None:
    """An mbarrier lies in the CTA that its index says, for whoever uses it."""
    expected = _ranks(uses[0])
    for use in uses[1:]:
        if _ranks(use) != expected:
            given = f"CTAs {expected} apart in one, {_ranks(use)} in another"
            raise static_refusal("bar-mbarrier-home", use.statement, name, given)


def _ranks(use: QueueUse) -> tuple[int, ...]:
    """By how many CTAs neighbours are apart along each dimension; all begin in the first CTA."""
    return tuple(pitch // use.tiling.block_dim for pitch in use.deduction.pitches)


def _depth(queues: Queues, sides: dict[bool, SideFacts | None]) -> int | None:
    """The slots of the ring. Who arrives first is one phase ahead of who awaits first, so that it takes one more."""
    name, lags = (
        queues.declared.name,
        [~side.ns[0] for side in sides.values() if side is not None and side.ns],
    )
    ahead = 0
    if None not in sides.values():
        ahead = sum(arrives_first(name, queues.region, awaits_reverse=side) for side in sides)
    if not lags:
        return None
    with placed(queues.declared.statement):
        return ring_depth(name, lags[0], lags[1] if len(lags) > 1 else None) + ahead


# Commit groups ----------------------------------------------------------------------------------------------------


def _check_alone(path: Path, queues: Queues, found: Synchronization, facts: dict[Path, BarrierFacts]) -> None:
    live: list[tuple[str, SyncTl]] = []
    for other in (*queues.live, path):
        side = facts[other].forward
        if side is not None:
            live.append((found.queues[other].declared.name, side.first))
    with placed(queues.declared.statement):
        check_alone(live)
