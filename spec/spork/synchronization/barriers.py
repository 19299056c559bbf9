"""
Split barriers
==============

An ``Arrive(first, N) >> bar`` and an ``Await(bar, second, N)`` order what came before the arrive, by its collective and
in `first`, before what follows the paired await, by its collective and in `second` (S-01). This chapter has the two
halves of that which need no program: which mechanism of CUDA a barrier becomes, with what it asks, and the *queue* that
pairs awaits with arrives.

Three types of barriers are declared. A ``CudaCommitGroup`` counts the groups that its own collective has committed. A
``CudaMbarrier`` counts arrivals in shared memory, and has a hidden second side for reverse arrives and awaits. A
``CudaEvent`` may be declared, and there is nothing that it could order (S-22).

Queues (S-05) count from zero: an arrive stamps the records that synchronize with it with the number of arrives before
it; an await releases the stamps below a bound. The guide counts from zero where N ≥ 0 and from one where N < 0.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import product
from typing import Literal, NamedTuple

from soundline.spec.errors import SynchronizationError
from soundline.spec.spork.synchronization.fences import WARP, Collective
from soundline.spec.spork.synchronization.timelines import (
    ASYNC_PROXY,
    SyncTl,
    sync_tl,
    within_first,
    within_second,
)


class BarrierType(StrEnum):
    """The memory types of barriers."""

    CudaCommitGroup = "CudaCommitGroup"
    CudaMbarrier = "CudaMbarrier"
    CudaEvent = "CudaEvent"

    @property
    def spork_sort(self) -> Literal["barrier"]:
        """What programs know it as."""
        return "barrier"


BARRIER_TYPES: dict[BarrierType, str] = {
    BarrierType.CudaCommitGroup: "The asynchronous copies, or wgmma, that one thread or warpgroup has issued. An "
    "arrive closes a group; an await waits until at most N of the latest groups are under way.",
    BarrierType.CudaMbarrier: "A ring of mbarriers in shared memory, with a forward and, where it is used, a reverse "
    "side: all arrives of a phase come before what follows the await of that phase, in any threads of the cluster.",
    BarrierType.CudaEvent: "The event of CUDA that the guide names and gives no use: it may be declared, and no "
    "statement uses it.",
}
"""What each type of barrier is."""

BARRIER_CONSTRAINTS: dict[str, str] = {
    "bar-event": "a CudaEvent is declared and not used",
    "bar-arrive-n": "an arrive has N = 1",
    "bar-reverse": "only a CudaMbarrier has a reverse side",
    "bar-group-first": "the arrives of a commit group are from Sm80_cp_async, tma_to_gmem_async or wgmma_async",
    "bar-group-second": "the awaits of a commit group lead to a timeline within that of its kind: Sm80_generic, "
    "or for tma and wgmma cuda_generic_and_async_proxy",
    "bar-group-n": "the await of a commit group has N ≥ 0",
    "bar-group-unit": "a commit group is used by one thread, or for wgmma by an aligned warpgroup",
    "bar-group-last": "the arrive of a wgmma group is the last statement of its CudaAsync block",
    "bar-group-alone": "no two commit groups of the same kind are live at once",
    "bar-mbarrier-first": "the arrives of an mbarrier are from a timeline within cuda_in_order or Sm80_cp_async, or "
    "from tma_to_smem_async",
    "bar-mbarrier-second": "the awaits of an mbarrier lead to a timeline within Sm80_generic or "
    "cuda_generic_and_async_proxy",
    "bar-mbarrier-n": "the await of an mbarrier has N < 0",
    "bar-mbarrier-unit": "an mbarrier is used by one thread or by whole aligned warps",
    "bar-mbarrier-last": "the arrive from tma_to_smem_async is the last statement of its CudaAsync block",
    "bar-same-first": "all arrives of one side of a barrier have the same timeline",
    "bar-same-second": "all awaits of one side of a barrier have the same timeline",
    "bar-same-n": "all awaits of one side of an mbarrier have the same N",
    "bar-same-unit": "all arrives of one side of a barrier have the same collective, and so have all its awaits",
    "bar-reverse-unit": (
        "the threads that await one side of an mbarrier arrive at the other side, all of them or some"
    ),
    "bar-depth": "the ring of an mbarrier has at least one slot",
    "bar-multicast-type": "only arrives at a CudaMbarrier are multicast",
    "bar-multicast-home": "every dimension is an iterator in at least one of the patterns",
    "bar-multicast-points": (
        "the patterns have the same length, and where they have iterators, the same iterators"
    ),
    "bar-multicast-cta": "a colon replaces only an iterator over the CTAs of a cluster",
    "bar-multicast-same": "all arrives of one side of a barrier have the same patterns",
    "bar-multicast-await": "an await names a single barrier: it has no colon",
}
"""What is asked of a barrier and its statements, by id."""

COUNTER_CONSTRAINTS: dict[str, str] = {
    "mach-await-progress": "an await with N < 0 waits for an earlier arrive in the sequential order",
    "mach-arrive-overrun": (
        "an arrive at an mbarrier comes after the await of the arrive that used the same slot of the "
        "ring before"
    ),
    "mach-barrier-unequal": "at the end of a barrier, it has had as many arrives as awaits",
}
"""What is asked of the counters of a queue when the program runs, by id."""


# Queues -----------------------------------------------------------------------------------------------------------


class QueueId(NamedTuple):
    """Which queue: the barrier (one for each time that it is allocated), the index values, and the side."""

    barrier: Hashable
    at: tuple[int, ...] = ()
    reverse: bool = False


class Stamp(NamedTuple):
    """What an arrive leaves on a record: the queue, and how many arrives were before."""

    queue: QueueId
    arrive: int
    warp: int | None = None
    """Which warp's own wait releases it; None where every await of the queue does (`waits_apart`)."""


def waits_apart(barrier: BarrierType, numbers: Iterable[int]) -> dict[int | None, frozenset[int]]:
    """Who, of the threads that execute an arrive or await together, waits for what by itself (S-15).

    An mbarrier counts all arrivals: each thread that finds its phase complete knows of what every one of them did. The
    groups of a commit group are those of who commits them. For ``cp.async`` and TMA that is one thread; for wgmma it is
    each warp of the warpgroup, and ``wgmma.wait_group`` tells a warp nothing of what another one issued.

    >>> {warp: len(who) for warp, who in waits_apart(BarrierType.CudaCommitGroup, range(128)).items()}
    {0: 32, 1: 32, 2: 32, 3: 32}
    >>> [len(who) for who in waits_apart(BarrierType.CudaMbarrier, range(128)).values()]
    [128]
    """
    if barrier is not BarrierType.CudaCommitGroup:
        return {None: frozenset(numbers)}
    found: dict[int | None, set[int]] = {}
    for number in sorted(numbers):
        found.setdefault(number // WARP, set()).add(number)
    return {warp: frozenset(who) for warp, who in found.items()}


@dataclass(frozen=True, slots=True)
class Queue:
    """The counters of a queue.

    >>> queue = Queue(QueueId("bar")).arrived().arrived().arrived()
    >>> [queue.awaited(n)[0] for n in (0, 1, 3)]
    [3, 2, 0]
    """

    id: QueueId
    arrives: int = 0
    """Q1 of the law."""
    awaits: int = 0
    """Q2 of the law."""

    @property
    def stamp(self) -> Stamp:
        """What the next arrive leaves on records; a trailing barrier of an instruction leaves the same."""
        return Stamp(self.id, self.arrives)

    def arrived(self) -> Queue:
        """After one more arrive."""
        return replace(self, arrives=self.arrives + 1)

    def awaited(self, n: int) -> tuple[int, Queue]:
        """The bound below which stamps are released by an await with this N, and the queue after it."""
        if n >= 0:
            bound = self.arrives - n
            return max(0, bound), replace(self, awaits=max(self.awaits, bound))
        after = replace(self, awaits=self.awaits + 1)
        number = self.awaits - ~n
        if number < 0:
            return 0, after
        if number >= self.arrives:
            wants = COUNTER_CONSTRAINTS["mach-await-progress"]
            given = f"an await of arrive {number}, of {self.arrives}"
            hint = "an await that comes first waits forever; give it a lag, N = ~lag"
            raise SynchronizationError(
                _named(self.id), "mach-await-progress", given=given, wants=wants, hint=hint
            )
        return number + 1, after

    def ended(self) -> None:
        """Refuse the end of the barrier where the counters differ."""
        if self.arrives != self.awaits:
            given = f"{self.arrives} arrives, {self.awaits} awaits"
            wants = COUNTER_CONSTRAINTS["mach-barrier-unequal"]
            raise SynchronizationError(_named(self.id), "mach-barrier-unequal", given=given, wants=wants)


def _named(queue: QueueId) -> str:
    index = f"[{', '.join(map(str, queue.at))}]" if queue.at else ""
    return f"{queue.barrier}{index}{' (reverse)' if queue.reverse else ''}"


# Mechanisms -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Group:
    """A kind of commit group: its pieces and what it asks."""

    commit: str
    wait: str
    within: str
    warpgroup: bool = False


_GROUPS: dict[str, _Group] = {
    "Sm80_cp_async": _Group("cp.async.commit_group", "cp.async.wait_group", "Sm80_generic"),
    "tma_to_gmem_async": _Group(
        "cp.async.bulk.commit_group", "cp.async.bulk.wait_group", "cuda_generic_and_async_proxy"
    ),
    "wgmma_async": _Group(
        "wgmma.commit_group", "wgmma.wait_group", "cuda_generic_and_async_proxy", warpgroup=True
    ),
}


def arrive_pieces(
    barrier: BarrierType,
    first: SyncTl,
    by: Collective,
    *,
    n: int = 1,
    reverse: bool = False,
    closes_block: bool = False,
    name: str | None = None,
) -> tuple[str, ...]:
    """The pieces that an arrive becomes; `closes_block` says that it is the last statement of its async block.

    An error names the barrier by `name`, or else by its type.

    >>> thread = Collective(frozenset({3}), block_dim=64)
    >>> arrive_pieces(BarrierType.CudaCommitGroup, sync_tl("Sm80_cp_async"), thread)
    ('cp.async.commit_group',)
    """
    where = f"{'Reverse' if reverse else ''}Arrive({first}, {n}) >> {name or barrier}"
    _check_type(where, barrier, reverse)
    if n != 1:
        raise _refused(where, "bar-arrive-n", f"N = {n}")
    if barrier is BarrierType.CudaCommitGroup:
        group = _group(where, first, by)
        if group.warpgroup and not closes_block:
            raise _refused(where, "bar-group-last", "another place")
        return (group.commit,)
    _check_mbarrier_unit(where, by)
    if within_first(first, sync_tl("cuda_in_order")):
        return ("mbarrier.arrive",)
    if within_first(first, sync_tl("Sm80_cp_async")):
        return ("cp.async.mbarrier.arrive.noinc",)
    if first.name != "tma_to_smem_async":
        raise _refused(where, "bar-mbarrier-first", first.name)
    if not closes_block:
        raise _refused(where, "bar-mbarrier-last", "another place")
    return ("mbarrier.arrive.expect_tx",)


def n_text(n: int) -> str:
    """The N of an await, as programs write it.

    >>> n_text(2), n_text(-1), n_text(-3)
    ('2', '~0', '~2')
    """
    return str(n) if n >= 0 else f"~{~n}"


def await_pieces(
    barrier: BarrierType,
    first: SyncTl,
    second: SyncTl,
    by: Collective,
    *,
    n: int,
    reverse: bool = False,
    name: str | None = None,
) -> tuple[str, ...]:
    """The pieces that an await becomes; `first` is the timeline of the arrives that it is paired with.

    An error names the barrier by `name`, or else by its type.

    >>> cta = Collective(frozenset(range(64)), block_dim=64)
    >>> await_pieces(BarrierType.CudaMbarrier, sync_tl("cuda_in_order"), sync_tl("cuda_async_proxy"), cta, n=~0)
    ('mbarrier.try_wait', 'fence.proxy.async')
    """
    where = f"{'Reverse' if reverse else ''}Await({name or barrier}, {second}, {n_text(n)})"
    _check_type(where, barrier, reverse)
    if barrier is BarrierType.CudaCommitGroup:
        group = _group(where, first, by)
        if n < 0:
            raise _refused(where, "bar-group-n", f"N = {n_text(n)}")
        if not within_second(second, sync_tl(group.within)):
            raise _refused(where, "bar-group-second", f"{second}, with arrives from {first}")
        return (group.wait,)
    _check_mbarrier_unit(where, by)
    if n >= 0:
        raise _refused(where, "bar-mbarrier-n", f"N = {n}")
    if within_second(second, sync_tl("Sm80_generic")):
        return ("mbarrier.try_wait",)
    if not within_second(second, sync_tl("cuda_generic_and_async_proxy")):
        raise _refused(where, "bar-mbarrier-second", second.name)
    same_proxy = bool(first.full) and first.full <= ASYNC_PROXY
    return ("mbarrier.try_wait",) if same_proxy else ("mbarrier.try_wait", "fence.proxy.async")


def _check_type(where: str, barrier: BarrierType, reverse: bool) -> None:
    if barrier is BarrierType.CudaEvent:
        raise _refused(where, "bar-event", barrier)
    if reverse and barrier is not BarrierType.CudaMbarrier:
        raise _refused(where, "bar-reverse", barrier)


def _group(where: str, first: SyncTl, by: Collective) -> _Group:
    if first.name not in _GROUPS:
        raise _refused(where, "bar-group-first", first.name)
    group = _GROUPS[first.name]
    if not (by.is_warpgroup if group.warpgroup else by.is_thread):
        raise _refused(where, "bar-group-unit", str(by))
    return group


def _check_mbarrier_unit(where: str, by: Collective) -> None:
    if not by.is_aligned:
        raise _refused(where, "bar-mbarrier-unit", str(by))


# All statements of a barrier --------------------------------------------------------------------------------------


class Use(NamedTuple):
    """What all statements of a barrier have to agree on: its side, whether it arrives, timeline, unit and N."""

    arrives: bool
    reverse: bool
    timeline: SyncTl
    unit: Hashable
    """What the collective is as a unit, the same for its repetitions over the device."""
    n: int = 1
    patterns: tuple[Pattern, ...] = ()
    part_of: frozenset[Hashable] = frozenset()
    """The units of other statements of the barrier whose collectives contain its own, queue by queue."""


Pattern = tuple[str | None, ...]
"""An index of an arrive: the name of an iterator at each position, or None for a colon."""


def check_uses(name: str, barrier: BarrierType, uses: Sequence[Use]) -> None:
    """Refuse statements of one barrier that do not agree."""
    for use in uses:
        if not use.arrives and any(None in pattern for pattern in use.patterns):
            raise _refused(name, "bar-multicast-await", _text(use.patterns[0]))
    for use, other in product(uses, uses):
        if (use.arrives, use.reverse) == (other.arrives, other.reverse):
            _check_alike(name, barrier, use, other)
        elif use.arrives != other.arrives and use.reverse != other.reverse and not _together(use, other):
            given = f"an await by {use.unit}, an arrive by {other.unit}"
            raise _refused(name, "bar-reverse-unit", given)


def _together(use: Use, other: Use) -> bool:
    """Whether one has the threads of the other, or some of them."""
    return use.unit == other.unit or other.unit in use.part_of or use.unit in other.part_of


def _check_alike(name: str, barrier: BarrierType, use: Use, other: Use) -> None:
    if use.timeline != other.timeline:
        rule = "bar-same-first" if use.arrives else "bar-same-second"
        raise _refused(name, rule, f"{use.timeline} and {other.timeline}")
    if use.unit != other.unit:
        raise _refused(name, "bar-same-unit", f"{use.unit} and {other.unit}")
    if barrier is BarrierType.CudaMbarrier and use.n != other.n:
        raise _refused(name, "bar-same-n", f"N = {use.n} and N = {other.n}")
    if set(use.patterns) != set(other.patterns):
        raise _refused(name, "bar-multicast-same", "others")


def check_alone(live: Sequence[tuple[str, SyncTl]]) -> None:
    """Refuse two live commit groups of one kind; each is given by name with the timeline of its arrives."""
    kinds: dict[str, str] = {}
    for name, first in live:
        if first.name in kinds:
            raise _refused(name, "bar-group-alone", f"{name} and {kinds[first.name]} from {first}")
        kinds[first.name] = name


def ring_depth(name: str, lag: int, reverse_lag: int | None = None) -> int:
    """How many physical mbarriers an mbarrier needs: its lags together, or its lag and one without a reverse side.

    >>> ring_depth("full", 0, 3), ring_depth("full", 0)
    (3, 1)
    """
    depth = lag + 1 if reverse_lag is None else lag + reverse_lag
    if depth == 0:
        raise _refused(name, "bar-depth", "lag 0 on both sides")
    return depth


# Multicast --------------------------------------------------------------------------------------------------------


def check_multicast(
    name: str, barrier: BarrierType, patterns: Sequence[Pattern], over_ctas: frozenset[str]
) -> Pattern:
    """The home of an arrive: the iterator at each position. `over_ctas` are the iterators over CTAs of a cluster."""
    home = patterns[0]
    for pattern in patterns[1:]:
        agree = len(pattern) == len(home) and all(
            a is None or b is None or a == b for a, b in zip(pattern, home, strict=True)
        )
        if not agree:
            raise _refused(name, "bar-multicast-points", f"{_text(home)} and {_text(pattern)}")
        home = tuple(a if b is None else b for a, b in zip(pattern, home, strict=True))
    if None in home:
        raise _refused(name, "bar-multicast-home", _text(home))
    colons = {i for p in patterns for at, i in zip(p, home, strict=True) if at is None}
    if colons and barrier is not BarrierType.CudaMbarrier:
        raise _refused(name, "bar-multicast-type", barrier)
    if not colons <= over_ctas:
        wrong = ", ".join(str(i) for i in sorted(map(str, colons - over_ctas)))
        raise _refused(name, "bar-multicast-cta", wrong)
    return home


def multicast_targets(
    patterns: Sequence[Pattern], values: dict[str, int], extents: Sequence[int]
) -> frozenset[tuple[int, ...]]:
    """The index values of all barriers that an arrive reaches: its patterns, with every value for a colon.

    Records get the stamp of each with the count of the home, and only the counter of the home goes on.

    >>> sorted(multicast_targets([("m", None), (None, "n")], {"m": 0, "n": 1}, (2, 2)))
    [(0, 0), (0, 1), (1, 1)]
    """
    spans = [
        [range(extent) if at is None else (values[at],) for at, extent in zip(p, extents, strict=True)]
        for p in patterns
    ]
    home = tuple(
        next(values[at] for at in column if at is not None) for column in zip(*patterns, strict=True)
    )
    return frozenset(index for span in spans for index in product(*span)) | {home}


def multicast_stamps(home: Queue, targets: frozenset[tuple[int, ...]]) -> frozenset[Stamp]:
    """The stamps of an arrive at several barriers of one array: each queue, with the count of the home."""
    return frozenset(Stamp(home.id._replace(at=t), home.arrives) for t in targets) | {home.stamp}


def _text(pattern: Pattern) -> str:
    return f"[{', '.join(':' if at is None else at for at in pattern)}]"


def _refused(where: str, rule: str, given: str) -> SynchronizationError:
    return SynchronizationError(where, rule, given=given, wants=BARRIER_CONSTRAINTS[rule])
