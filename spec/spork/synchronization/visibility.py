"""
Visibility
==========

The abstract machine runs a program in its sequential order and keeps, for each location, *records* of the accesses to
it. A record says who is known to come after the access: its *asynchronous* visibility set V_A and its *synchronous*
one V_S, sets of signatures (instr-tl, usage-tl, thread). V_S holds the signatures for which the access is complete.
V_A holds them and those that can make it complete, by a synchronization in which they are on the first side; for an
asynchronous instruction that is its own signature, which V_S lacks. So V_S ⊆ V_A always, and both only grow.

*Access.* An access by several threads makes one record for each thread, and is allowed only where every thread sees
what it has to see (S-04); an operand that is declared convergent makes one record for all of its threads. A read has
to see all writes of its location, a write all writes and all reads (S-02); a write then takes the place of all of
them. An atomic add need not see other atomic adds, and takes the place of nothing (S-13).

*Synchronization.* A fence by the threads C from L1 to L2 concerns the records for which V_A meets full(L1) × C and,
where L1 is not transitive, whose original pair is in full(L1) (S-03). Records of writes gain full(L2) × C, in both
sets; records of reads gain temporal(L2) × C, for it is enough that a later write comes after. (That is the policy
*temporal*. Under *strict*, records of reads gain the temporal set on the generic proxy only, so that a write through
the asynchronous proxy after a read asks for a proxy fence: S-08. Under both, the registers of wgmma are gained by the
full set alone: after a register was read or written, wgmma uses it only behind a ``wgmma.fence``, see S-11.) An arrive
leaves a stamp on the records that it concerns; the paired await gives its second set to the records with the stamps
that it releases, and to no later ones. Where the threads of a collective wait apart, each warp for what it issued
itself (a commit group of wgmma), arrive and await are those of each warp alone (S-15).

Here stand the records and histories of one location, as values; `storage` has the memory that is made of them.
"""

from __future__ import annotations

from collections.abc import Container, Hashable, Iterable
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import lru_cache
from typing import NamedTuple

from soundline.spec.spork.synchronization.barriers import COUNTER_CONSTRAINTS, QueueId, Stamp
from soundline.spec.spork.synchronization.timelines import (
    CPU,
    GENERIC,
    IO_RMEM,
    WG_A,
    WG_D,
    InstrTl,
    Pair,
    SyncTl,
    UsageTl,
)

HAZARDS: dict[str, str] = {
    "mach-read-raw": (
        "a read sees every earlier write of its location; otherwise it is a read after write (RAW)"
    ),
    "mach-write-waw": (
        "a write sees every earlier write of its location; otherwise it is a write after write (WAW)"
    ),
    "mach-write-war": (
        "a write sees every earlier read of its location; otherwise it is a write after read (WAR)"
    ),
    "mach-use-before-alloc": "storage is accessed only after its allocation",
    "mach-use-after-free": "storage is not accessed after it is freed",
    "mach-alloc-live": "storage is allocated only while it is not in use",
    "mach-free-dead": "only allocated storage is freed",
    "mach-free-owner": "storage is freed by the collective that allocated it",
    "mach-free-write": "the threads that free storage see every write of it",
    "mach-free-read": "the threads that free storage see every read of it",
}
"""What the machine asks of the accesses of a program, by the id of the hazard where it does not hold."""

MACHINE: dict[str, str] = {**HAZARDS, **COUNTER_CONSTRAINTS}
"""All that it asks, the counters of barriers among it (`barriers`)."""

WGMMA_REGISTERS = frozenset({WG_A, WG_D})
"""The pairs by which wgmma uses registers."""

Where = tuple[int, ...]
"""What did something: the path of a statement, or the number of an event; the law does not ask."""


class Thread(NamedTuple):
    """A thread: that of the CPU, or one of a task. Every task has fresh threads (S-07)."""

    task: Hashable
    """Which task of which launch, None for the CPU."""
    number: int = 0
    """Its index in the cluster."""


CPU_THREAD = Thread(None)
"""The thread of the CPU."""


class Signature(NamedTuple):
    """Who does an access, and how."""

    instr: InstrTl
    usage: UsageTl
    thread: Thread


Signatures = frozenset[Signature]


def pair_of(signature: Signature) -> Pair:
    """How an access with this signature is done."""
    return Pair(signature.instr, signature.usage)


def signatures(pairs: Iterable[Pair], threads: Iterable[Thread]) -> Signatures:
    """pairs × threads."""
    who = tuple(threads)
    return frozenset(Signature(instr, usage, t) for instr, usage in pairs for t in who)


class Policy(StrEnum):
    """What a synchronization gives to the records of reads (S-08)."""

    temporal = "temporal"
    strict = "strict"


@dataclass(frozen=True, slots=True)
class FirstSide:
    """The first side of a synchronization: its timeline, and V1."""

    timeline: SyncTl
    signatures: Signatures

    @staticmethod
    @lru_cache(maxsize=64)
    def of(timeline: SyncTl, by: frozenset[Thread]) -> FirstSide:
        """That of a statement which these threads execute."""
        return FirstSide(timeline, signatures(timeline.full, by))


@dataclass(frozen=True, slots=True)
class Record:
    """What is known of one access, to one location."""

    origin: Pair
    """The original timeline: the pair that the access was done with."""
    threads: frozenset[Thread]
    """Who did it: one thread, or all of a convergent access. Nothing is asked of it; nobody, where it is forgotten."""
    async_set: Signatures
    """V_A."""
    sync_set: Signatures
    """V_S."""
    stamps: frozenset[Stamp] = frozenset()
    """The arrives that wait to release the record."""
    atomic: bool = False
    where: Where = ()
    """What did the access."""

    def visible_to(self, pairs: Container[Pair]) -> frozenset[Thread]:
        """The threads with which V_S holds one of these pairs."""
        return frozenset(s.thread for s in self.sync_set if pair_of(s) in pairs)

    def synchronizes(self, first: FirstSide) -> bool:
        """Whether a fence or arrive with this first side concerns the record (S-03)."""
        own = first.timeline.transitive or self.origin in first.timeline.full
        return own and not self.async_set.isdisjoint(first.signatures)

    def gaining(self, second: Signatures) -> Record:
        """The record with more signatures in both sets. While wgmma uses a register, no fence brings it to wgmma in
        another role: an accumulator under way is no operand.
        """
        if self.origin in WGMMA_REGISTERS and not any(pair_of(s) == IO_RMEM for s in self.sync_set):
            other = WGMMA_REGISTERS - {self.origin}
            second = frozenset(s for s in second if pair_of(s) not in other)
        return replace(self, async_set=self.async_set | second, sync_set=self.sync_set | second)

    def stamped(self, stamps: frozenset[Stamp]) -> Record:
        """The record with the stamps of an arrive."""
        return replace(self, stamps=self.stamps | stamps)

    def released(self, queue: QueueId, bound: int, warp: int | None = None) -> bool:
        """Whether it has a stamp of the queue below the bound; where warps wait apart, one of this warp."""
        mine = [stamp for stamp in self.stamps if stamp.warp == warp]
        return any(stamp.queue == queue and stamp.arrive < bound for stamp in mine)


class Kind(StrEnum):
    """What an access does. An assignment and a reduction are writes; an atomic add is a write of its own kind."""

    read = "read"
    write = "write"
    atomic = "atomic"


@dataclass(frozen=True, slots=True)
class Access:
    """An access by a collective, with what its instruction declares."""

    kind: Kind
    pair: Pair
    threads: frozenset[Thread]
    extended: frozenset[Pair] = frozenset()
    """Further pairs by which it sees; its own pair is always one."""
    out_of_order: bool = False
    """Whether it completes only when it is waited for: V_S begins empty."""
    convergent: bool = False
    """Whether all threads do one access together: one record instead of one for each."""
    stamps: frozenset[Stamp] = frozenset()
    """Those of the trailing barriers of its instruction, which alone can release it: then V_A begins empty as well."""
    where: Where = ()
    forgets: bool = False
    """Whether its records forget who did it, so that more of them are equal."""
    seen_by: frozenset[Thread] | None = None
    """Who has to see what was before; None for all of the threads."""

    def blind_to(self, record: Record) -> frozenset[Thread]:
        """The threads that do not see a record."""
        pairs = {self.pair, *self.extended}
        seers = self.threads if self.seen_by is None else self.seen_by
        return seers - record.visible_to(pairs)

    def records(self) -> frozenset[Record]:
        """The records that the access makes."""
        groups = [self.threads] if self.convergent else [frozenset({t}) for t in self.threads]
        return frozenset(self._record(group) for group in groups)

    def _record(self, threads: frozenset[Thread]) -> Record:
        own = frozenset[Signature]() if self.stamps else signatures((self.pair,), threads)
        complete = frozenset[Signature]() if self.out_of_order else own
        who = frozenset[Thread]() if self.forgets else threads
        return Record(self.pair, who, own, complete, self.stamps, self.kind is Kind.atomic, self.where)


@dataclass(frozen=True, slots=True)
class Hazard:
    """A condition of the machine that does not hold at a location."""

    id: str
    location: Hashable
    """Where in memory; for the counters of a barrier, the queue."""
    where: Where
    """What it was found at."""
    record: Record | None = None
    """The record that is not seen."""
    threads: frozenset[Thread] = frozenset()
    """The threads that do not see it."""
    given: str = ""
    """What is there instead, where no record says it."""

    @property
    def text(self) -> str:
        """What should hold."""
        return MACHINE[self.id]


class Unseen(NamedTuple):
    """A record that threads do not see, and the id of what it breaks."""

    rule: str
    record: Record
    threads: frozenset[Thread]


@dataclass(frozen=True, slots=True)
class History:
    """The records of one location."""

    writes: frozenset[Record] = frozenset()
    reads: frozenset[Record] = frozenset()

    def unseen(self, access: Access) -> list[Unseen]:
        """What an access has to see and some of its threads do not, in a fixed order."""
        writes = [r for r in self.writes if not (access.kind is Kind.atomic and r.atomic)]
        if access.kind is Kind.read:
            asked = [("mach-read-raw", r) for r in writes]
        else:
            asked = [("mach-write-waw", r) for r in writes] + [("mach-write-war", r) for r in self.reads]
        found = [Unseen(rule, r, blind) for rule, r in asked if (blind := access.blind_to(r))]
        return sorted(
            found, key=lambda u: (u.rule, u.record.where, sorted(t.number for t in u.record.threads))
        )

    def after(self, access: Access) -> History:
        """The history with an access."""
        if access.kind is Kind.read:
            return replace(self, reads=self.reads | access.records())
        if access.kind is Kind.atomic:
            return replace(self, writes=self.writes | access.records())
        return History(access.records())


@lru_cache(maxsize=64)  # a diagnosis asks for the same ones again and again
def second_sets(second: SyncTl, by: frozenset[Thread], policy: Policy) -> tuple[Signatures, Signatures]:
    """What records of writes gain, and what records of reads gain.

    >>> from soundline.spec.spork.synchronization.timelines import sync_tl
    >>> [[len(s) for s in second_sets(sync_tl("cuda_in_order"), frozenset({Thread(0)}), p)] for p in Policy]
    [[2, 6], [2, 3]]
    """
    after = second.temporal - WGMMA_REGISTERS if policy is Policy.temporal else second.temporal & GENERIC
    return signatures(second.full, by), signatures(second.full | after, by)


def cpu_access(kind: Kind, where: Where = ()) -> Access:
    """An access by the CPU."""
    return Access(kind, CPU, frozenset({CPU_THREAD}), where=where)
