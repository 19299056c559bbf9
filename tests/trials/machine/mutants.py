"""
Slips of the machine
====================

Mistakes that someone could make in the abstract machine, each as a change of one place of its text: a set that is not
augmented, a record that is forgotten, a count that is off by one. The court has to notice each: it finds a program that
the changed machine accepts and some interleaving gets wrong, or one that is correct by construction and refused.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

VISIBILITY, STORAGE = "spec/spork/synchronization/visibility.py", "spec/spork/machine/storage.py"
BARRIERS, TIMELINES, TRANSITIONS = (
    "spec/spork/synchronization/barriers.py",
    "spec/spork/synchronization/timelines.py",
    "spec/spork/machine/transitions.py",
)
RINGS = "spec/spork/synchronization/rings.py"


@dataclass(frozen=True, slots=True)
class Slip:
    """A mistake: what stands in a module, what someone wrote instead, and what that means."""

    path: str
    before: str
    after: str
    what: str

    def applied(self, source: str) -> str:
        """The module with the mistake."""
        assert source.count(self.before) == 1, (
            f"{self.path} has {source.count(self.before)} of {self.before!r}"
        )
        return source.replace(self.before, self.after)


_RECORDS = (
    Slip(
        VISIBILITY,
        "own = first.timeline.transitive or self.origin in first.timeline.full",
        "own = True",
        "every first side is transitive",
    ),
    Slip(
        VISIBILITY,
        "own = first.timeline.transitive or self.origin in first.timeline.full",
        "own = self.origin in first.timeline.full",
        "no first side is transitive",
    ),
    Slip(
        VISIBILITY,
        "return own and not self.async_set.isdisjoint(first.signatures)",
        "return own and not self.sync_set.isdisjoint(first.signatures)",
        "a fence asks V_S instead of V_A",
    ),
    Slip(
        VISIBILITY,
        "return own and not self.async_set.isdisjoint(first.signatures)",
        "return own",
        "a fence asks the original timeline alone",
    ),
    Slip(
        VISIBILITY,
        "return own and not self.async_set.isdisjoint(first.signatures)",
        "return own and any((s.instr, s.usage) in first.timeline.full for s in self.async_set)",
        "a fence ignores the threads of V_A",
    ),
    Slip(
        VISIBILITY,
        "async_set=self.async_set | second, sync_set=self.sync_set | second",
        "async_set=self.async_set, sync_set=self.sync_set | second",
        "V_A is not augmented",
    ),
    Slip(
        VISIBILITY,
        "async_set=self.async_set | second, sync_set=self.sync_set | second",
        "async_set=self.async_set | second, sync_set=self.sync_set",
        "V_S is not augmented",
    ),
    Slip(
        VISIBILITY,
        "async_set=self.async_set | second, sync_set=self.sync_set | second",
        "async_set=second, sync_set=second",
        "the sets are replaced instead of augmented",
    ),
    Slip(
        VISIBILITY,
        "async_set=self.async_set | second, sync_set=self.sync_set | second",
        "async_set=self.async_set | second, sync_set=self.async_set | second",
        "all of V_A becomes V_S at any synchronization",
    ),
    Slip(VISIBILITY, "stamps=self.stamps | stamps)", "stamps=stamps)", "an arrive forgets earlier stamps"),
    Slip(VISIBILITY, "stamps=self.stamps | stamps)", "stamps=self.stamps)", "an arrive leaves no stamp"),
    Slip(
        VISIBILITY,
        "stamp.arrive < bound for",
        "stamp.arrive <= bound for",
        "an await releases one stamp more",
    ),
    Slip(
        VISIBILITY,
        "stamp.arrive < bound for",
        "stamp.arrive < bound - 1 for",
        "an await releases one stamp less",
    ),
    Slip(
        VISIBILITY, "stamp.arrive < bound for", "stamp.arrive >= bound for", "an await releases later stamps"
    ),
    Slip(VISIBILITY, "stamp.arrive < bound for", "True for", "an await releases all stamps of its queue"),
    Slip(
        VISIBILITY,
        "stamp.queue == queue and stamp.arrive < bound",
        "stamp.arrive < bound",
        "an await releases the stamps of other queues",
    ),
    Slip(
        VISIBILITY,
        "stamp.queue == queue and stamp.arrive < bound",
        "stamp.queue.barrier == queue.barrier and stamp.arrive < bound",
        "the two sides of a barrier, and its positions, are one queue",
    ),
    Slip(
        VISIBILITY,
        "return seers - record.visible_to(pairs)",
        "return frozenset() if record.visible_to(pairs) else seers",
        "visible to one thread is visible to all",
    ),
    Slip(
        VISIBILITY,
        "return frozenset(s.thread for s in self.sync_set if pair_of(s) in pairs)",
        "return frozenset(s.thread for s in self.sync_set)",
        "visible on one timeline is visible on all: proxies are ignored",
    ),
    Slip(
        VISIBILITY,
        "return frozenset(s.thread for s in self.sync_set if pair_of(s) in pairs)",
        "return frozenset(s.thread for s in self.async_set if pair_of(s) in pairs)",
        "V_A is asked instead of V_S",
    ),
    Slip(
        VISIBILITY,
        "return seers - record.visible_to(pairs)",
        "return frozenset() if record.sync_set else seers",
        "whatever is visible to anyone is visible to all",
    ),
    Slip(
        VISIBILITY,
        "return seers - record.visible_to(pairs)",
        "return frozenset() if self.threads & record.visible_to(pairs) else seers",
        "it is enough that one thread of a collective sees",
    ),
    Slip(
        VISIBILITY,
        "groups = [self.threads] if self.convergent else [frozenset({t}) for t in self.threads]",
        "groups = [self.threads]",
        "one record for all threads of an access (the companion's slip, S-04)",
    ),
    Slip(
        VISIBILITY,
        "groups = [self.threads] if self.convergent else [frozenset({t}) for t in self.threads]",
        "groups = [frozenset({min(self.threads)})]",
        "a record of the first thread only",
    ),
    Slip(
        VISIBILITY,
        "own = frozenset[Signature]() if self.stamps else signatures((self.pair,), threads)",
        "own = signatures((self.pair,), threads)",
        "V_A of what has a trailing barrier does not begin empty",
    ),
    Slip(
        VISIBILITY,
        "complete = frozenset[Signature]() if self.out_of_order else own",
        "complete = own",
        "an asynchronous access is complete when it is issued",
    ),
    Slip(
        VISIBILITY,
        "complete = frozenset[Signature]() if self.out_of_order else own",
        "complete = frozenset[Signature]()",
        "an access in order is not complete when it is done",
    ),
    Slip(
        VISIBILITY,
        "return Record(self.pair, who, own, complete, self.stamps,",
        "return Record(self.pair, who, own, complete, frozenset(),",
        "a trailing barrier leaves no stamp",
    ),
    Slip(
        VISIBILITY,
        "self.stamps, self.kind is Kind.atomic, self.where)",
        "self.stamps, True, self.where)",
        "every record is one of an atomic add",
    ),
    Slip(
        VISIBILITY,
        "self.stamps, self.kind is Kind.atomic, self.where)",
        "self.stamps, False, self.where)",
        "no record is one of an atomic add",
    ),
)

_HISTORIES = (
    Slip(
        VISIBILITY,
        'asked = [("mach-read-raw", r) for r in writes]',
        "asked = []",
        "a read asks nothing",
    ),
    Slip(
        VISIBILITY,
        'asked = [("mach-write-waw", r) for r in writes] + [("mach-write-war", r) for r in self.reads]',
        'asked = [("mach-write-waw", r) for r in writes]',
        "a write does not ask for reads",
    ),
    Slip(
        VISIBILITY,
        'asked = [("mach-write-waw", r) for r in writes] + [("mach-write-war", r) for r in self.reads]',
        'asked = [("mach-write-war", r) for r in self.reads]',
        "a write does not ask for writes",
    ),
    Slip(
        VISIBILITY,
        'asked = [("mach-read-raw", r) for r in writes]',
        'asked = [("mach-read-raw", r) for r in (*writes, *self.reads)]',
        "a read asks for reads",
    ),
    Slip(
        VISIBILITY,
        "if not (access.kind is Kind.atomic and r.atomic)]",
        "if not (access.kind is Kind.atomic or r.atomic)]",
        "atomic adds race with nothing",
    ),
    Slip(
        VISIBILITY,
        "writes = [r for r in self.writes if not (access.kind is Kind.atomic and r.atomic)]",
        "writes = list(self.writes)",
        "atomic adds race with each other",
    ),
    Slip(
        VISIBILITY,
        "return replace(self, reads=self.reads | access.records())",
        "return self",
        "records of reads are forgotten",
    ),
    Slip(
        VISIBILITY,
        "return replace(self, reads=self.reads | access.records())",
        "return replace(self, reads=access.records())",
        "a read takes the place of earlier reads",
    ),
    Slip(
        VISIBILITY,
        "return replace(self, reads=self.reads | access.records())",
        "return History(frozenset(), self.reads | access.records())",
        "a read takes the place of the write",
    ),
    Slip(
        VISIBILITY,
        "return replace(self, writes=self.writes | access.records())",
        "return History(access.records())",
        "an atomic add takes the place of all before it",
    ),
    Slip(
        VISIBILITY,
        "return replace(self, writes=self.writes | access.records())",
        "return self",
        "records of atomic adds are forgotten",
    ),
    Slip(
        VISIBILITY,
        "        return History(access.records())",
        "        return History(frozenset(), frozenset())",
        "records of writes are forgotten",
    ),
    Slip(
        VISIBILITY,
        "        return History(access.records())",
        "        return self",
        "a write leaves the history as it was",
    ),
    Slip(
        VISIBILITY,
        "return signatures(second.full, by), signatures(second.full | after, by)",
        "return signatures(second.full | after, by), signatures(second.full, by)",
        "the temporal and the full set are exchanged",
    ),
    Slip(
        VISIBILITY,
        "return signatures(second.full, by), signatures(second.full | after, by)",
        "return signatures(second.full, by), signatures(second.full, by)",
        "reads gain the full set only",
    ),
    Slip(
        VISIBILITY,
        "return signatures(second.full, by), signatures(second.full | after, by)",
        "return signatures(second.full | after, by), signatures(second.full | after, by)",
        "writes gain the temporal set",
    ),
    Slip(
        VISIBILITY,
        "second.temporal - WGMMA_REGISTERS if policy",
        "second.temporal if policy",
        "a register of wgmma may be used again without a wgmma.fence",
    ),
    Slip(
        VISIBILITY,
        "return FirstSide(timeline, signatures(timeline.full, by))",
        "return FirstSide(timeline, signatures(timeline.temporal, by))",
        "a first side waits for its temporal set",
    ),
    Slip(
        VISIBILITY,
        "return FirstSide(timeline, signatures(timeline.full, by))",
        "return FirstSide(timeline, signatures(timeline.full, [min(by)] if by else by))",
        "a first side is that of the first thread",
    ),
)

_MEMORY = (
    Slip(
        STORAGE,
        "self._change(lambda r, gain: r.gaining(gain) if r.synchronizes(side) else r, second, by)",
        "self._change(lambda r, gain: r.gaining(gain), second, by)",
        "a fence concerns every record",
    ),
    Slip(
        STORAGE,
        "self._change(lambda r, gain: r.gaining(gain) if r.synchronizes(side) else r, second, by)",
        "self._change(lambda r, gain: r, second, by)",
        "a fence does nothing",
    ),
    Slip(
        STORAGE,
        "side = FirstSide.of(first, by)\n        self._change(lambda r, gain: r.gaining(gain)",
        "side = FirstSide.of(second, by)\n        self._change(lambda r, gain: r.gaining(gain)",
        "a fence waits for its second side",
    ),
    Slip(
        STORAGE,
        "self._change(lambda r, _: r.stamped(stamps) if r.synchronizes(side) else r)",
        "self._change(lambda r, _: r.stamped(stamps))",
        "an arrive concerns every record",
    ),
    Slip(
        STORAGE,
        "self._change(lambda r, gain: r.gaining(gain) if r.released(queue, bound, warp) else r, second, by)",
        "self._change(lambda r, gain: r.gaining(gain), second, by)",
        "an await concerns every record",
    ),
    Slip(
        STORAGE,
        "to_writes, to_reads = second_sets(second, by, self.policy)",
        "to_writes, to_reads = second_sets(second, frozenset(sorted(by)[:1]), self.policy)",
        "only the first thread gains",
    ),
    Slip(
        STORAGE,
        "to_writes, to_reads = second_sets(second, by, self.policy)",
        "to_reads, to_writes = second_sets(second, by, self.policy)",
        "what reads and writes gain is exchanged",
    ),
    Slip(
        STORAGE,
        "frozenset(writes[r] for r in h.writes), frozenset(reads[r] for r in h.reads)",
        "frozenset(writes[r] for r in h.writes), h.reads",
        "reads are not synchronized",
    ),
    Slip(
        STORAGE,
        "frozenset(writes[r] for r in h.writes), frozenset(reads[r] for r in h.reads)",
        "h.writes, frozenset(reads[r] for r in h.reads)",
        "writes are not synchronized",
    ),
    Slip(
        STORAGE,
        "            self.owners[location] = by\n        return found",
        "            self.owners[location] = by\n            self.histories.pop(location, None)\n        return found",
        "storage that is used again has no history: records follow names (S-06)",
    ),
    Slip(
        STORAGE,
        "            found += [Hazard(rules[u.rule], location, where, u.record, u.threads) for u in unseen]\n"
        "        return found",
        "            assert unseen is not None\n        return found",
        "a free asks nothing",
    ),
    Slip(
        STORAGE,
        "unseen = asked[self.history(location)]\n            found += [Hazard(rules",
        'unseen = [u for u in asked[self.history(location)] if u.rule == "mach-write-war"]\n'
        "            found += [Hazard(rules",
        "a free does not ask for writes",
    ),
    Slip(
        STORAGE,
        "unseen = asked[self.history(location)]\n            found += [Hazard(rules",
        'unseen = [u for u in asked[self.history(location)] if u.rule == "mach-write-waw"]\n'
        "            found += [Hazard(rules",
        "a free does not ask for reads",
    ),
    Slip(STORAGE, "self.histories.clear()", "pass", "launch and end of a kernel order nothing"),
    Slip(
        STORAGE,
        "if location not in self.owners:\n                rule",
        "if False:\n                rule",
        "storage that is not allocated may be used",
    ),
    Slip(STORAGE, "if location in self.owners:", "if False:", "storage that is in use may be allocated"),
    Slip(
        STORAGE,
        "if self.owners.pop(location) != by:",
        "if self.owners.pop(location) is None:",
        "anyone may free storage",
    ),
    Slip(
        STORAGE,
        "if location not in self.owners:\n                found",
        "if False:\n                found",
        "storage may be freed twice",
    ),
    Slip(STORAGE, "self.freed.add(location)", "pass", "what was freed is as if it never was"),
)

_QUEUES = (
    Slip(BARRIERS, "bound = self.arrives - n\n", "bound = self.arrives - n + 1\n", "await N spares one less"),
    Slip(BARRIERS, "bound = self.arrives - n\n", "bound = self.arrives - n - 1\n", "await N spares one more"),
    Slip(BARRIERS, "bound = self.arrives - n\n", "bound = self.arrives\n", "await N waits for all"),
    Slip(
        BARRIERS,
        "replace(self, awaits=max(self.awaits, bound))",
        "replace(self, awaits=bound)",
        "an await can take back what another one counted",
    ),
    Slip(
        BARRIERS,
        "replace(self, awaits=max(self.awaits, bound))",
        "replace(self, awaits=self.awaits + 1)",
        "await N counts one, however many it waits for",
    ),
    Slip(BARRIERS, "number = self.awaits - ~n", "number = self.awaits - n", "the lag is -N instead of ~N"),
    Slip(BARRIERS, "number = self.awaits - ~n", "number = self.awaits", "the lag is ignored"),
    Slip(
        BARRIERS, "        if number < 0:", "        if number <= 0:", "the first await that waits does not"
    ),
    Slip(
        BARRIERS, "return number + 1, after", "return number, after", "an await pairs with the arrive before"
    ),
    Slip(
        BARRIERS,
        "return number + 1, after",
        "return number + 2, after",
        "an await pairs with the arrive after",
    ),
    Slip(
        BARRIERS,
        "return number + 1, after",
        "return self.arrives, after",
        "an await releases all arrives so far",
    ),
    Slip(
        BARRIERS, "if number >= self.arrives:", "if False:", "an await need not wait for an arrive before it"
    ),
    Slip(
        BARRIERS,
        "if number >= self.arrives:",
        "if number > self.arrives:",
        "an await may wait for the arrive after it",
    ),
    Slip(BARRIERS, "if self.arrives != self.awaits:", "if False:", "unequal counts at the end are no error"),
    Slip(
        BARRIERS,
        "if self.arrives != self.awaits:",
        "if self.arrives < self.awaits:",
        "arrives that nobody awaits are no error",
    ),
    Slip(
        BARRIERS,
        "if self.arrives != self.awaits:",
        "if self.arrives > self.awaits:",
        "awaits without an arrive are no error",
    ),
    Slip(
        BARRIERS,
        "return Stamp(self.id, self.arrives)",
        "return Stamp(self.id, 0)",
        "every stamp is the first",
    ),
    Slip(
        BARRIERS,
        "return Stamp(self.id, self.arrives)",
        "return Stamp(self.id, self.arrives + 1)",
        "stamps count from one",
    ),
    Slip(BARRIERS, "arrives=self.arrives + 1", "arrives=self.arrives + 2", "an arrive counts twice"),
    Slip(
        BARRIERS,
        "return frozenset(Stamp(home.id._replace(at=t), home.arrives) for t in targets) | {home.stamp}",
        "return frozenset({home.stamp})",
        "a multicast arrive stamps its home alone",
    ),
    Slip(
        BARRIERS,
        "return frozenset(Stamp(home.id._replace(at=t), home.arrives) for t in targets) | {home.stamp}",
        "return frozenset(Stamp(home.id._replace(at=t), 0) for t in targets) | {home.stamp}",
        "a multicast arrive stamps other queues with the first number",
    ),
)

_TABLE = (
    Slip(
        TIMELINES,
        '_row("Sm80_cp_async", (CP_RAM,)),',
        '_row("Sm80_cp_async", (CP_RAM,), transitive=True),',
        "Sm80_cp_async is transitive",
    ),
    Slip(
        TIMELINES,
        '_row("Sm80_generic", (IO_RMEM, IO_RAM, CP_RAM), DEVICE),',
        '_row("Sm80_generic", (IO_RMEM, IO_RAM, CP_RAM, T2S_RAM, T2G_RAM, WG_RAM), DEVICE),',
        "Sm80_generic reaches the other proxy",
    ),
    Slip(
        TIMELINES,
        '_row("cuda_in_order", (IO_RMEM, IO_RAM), DEVICE, transitive=True),',
        '_row("cuda_in_order", (IO_RMEM, IO_RAM, CP_RAM), DEVICE, transitive=True),',
        "cuda_in_order waits for cp.async",
    ),
    Slip(
        TIMELINES,
        '_row("cuda_in_order", (IO_RMEM, IO_RAM), DEVICE, transitive=True),',
        '_row("cuda_in_order", DEVICE, DEVICE, transitive=True),',
        "cuda_in_order is all of the device",
    ),
    Slip(
        TIMELINES,
        '_row("cuda_in_order", (IO_RMEM, IO_RAM), DEVICE, transitive=True),',
        '_row("cuda_in_order", (IO_RMEM, IO_RAM), transitive=True),',
        "cuda_in_order has no temporal set",
    ),
    Slip(
        TIMELINES,
        '_row("cuda_in_order", (IO_RMEM, IO_RAM), DEVICE, transitive=True),',
        '_row("cuda_in_order", (IO_RMEM, IO_RAM), DEVICE),',
        "cuda_in_order is not transitive",
    ),
    Slip(
        TIMELINES,
        '_row("cuda_temporal", (), DEVICE),',
        '_row("cuda_temporal", DEVICE, DEVICE),',
        "cuda_temporal makes writes visible",
    ),
    Slip(
        TIMELINES,
        '_row("wgmma_fence_1", (IO_RMEM, WG_A, WG_D)),',
        '_row("wgmma_fence_1", (IO_RMEM, IO_RAM, WG_A, WG_D, WG_RAM)),',
        "wgmma.fence waits for memory",
    ),
)

_ROUNDS = (
    Slip(
        RINGS,
        "after=w.after | by) if not w.after.isdisjoint(by) else w for w",
        "after=w.after | by) for w",
        "a fence concerns every await",
    ),
    Slip(
        RINGS,
        "after=w.after | by) if not w.after.isdisjoint(by) else w for w",
        "after=w.after) for w",
        "a fence passes no await on",
    ),
    Slip(
        RINGS,
        "stamps=w.stamps | stamps) if _knows(w, by) else w",
        "stamps=w.stamps | stamps)",
        "an arrive passes every await on",
    ),
    Slip(
        RINGS,
        "stamps=w.stamps | stamps) if _knows(w, by) else w",
        "stamps=w.stamps)",
        "an arrive passes no await on",
    ),
    Slip(
        RINGS,
        "if any(s.queue == queue and s.arrive < bound for s in w.stamps)",
        "if w.stamps",
        "an await comes after every arrive",
    ),
    Slip(RINGS, "if not waited:\n", "if False:\n", "a slot may be used again before anyone awaits"),
    Slip(
        RINGS,
        "if position == 0 and not all(_knows(w, by) for w in waited):",
        "if False:",
        "a phase may be passed over",
    ),
    Slip(
        RINGS,
        "if position == 0 and not all(_knows(w, by) for w in waited):",
        "if position == 0 and not any(_knows(w, by) for w in waited):",
        "it is enough that one of those who wait saw the phase",
    ),
    Slip(
        RINGS,
        "if not by <= frozenset().union(*(w.after for w in waited)):",
        "if False:",
        "an arrive may be counted in the phase before",
    ),
    Slip(
        TRANSITIONS,
        "before = self.queue(home).arrives - depth",
        "before = self.queue(home).arrives - depth - 1",
        "a ring has one slot more than it has",
    ),
    Slip(
        TRANSITIONS,
        "before = self.queue(home).arrives - depth",
        "before = self.queue(home).arrives - depth + 1",
        "a ring has one slot less than it has",
    ),
)

_EVENTS = (
    Slip(
        TRANSITIONS,
        "for hazard in self.storage.check(cells, access)]",
        "for hazard in self.storage.access(cells, access)]",
        "the touches of an action are hazards to each other",
    ),
    Slip(
        TRANSITIONS,
        "            touch.extended,\n            touch.out_of_order,",
        "            touch.extended,\n            False,",
        "out of order is ignored",
    ),
    Slip(
        TRANSITIONS,
        "            touch.convergent,\n            stamps,",
        "            False,\n            stamps,",
        "convergent is ignored",
    ),
    Slip(
        TRANSITIONS,
        "            touch.convergent,\n            stamps,",
        "            True,\n            stamps,",
        "every touch is convergent",
    ),
    Slip(
        TRANSITIONS,
        "            stamps,\n            where,",
        "            frozenset(),\n            where,",
        "a trailing barrier stamps nothing",
    ),
    Slip(TRANSITIONS, "self.storage.arrive(event.first, share, own)", "pass", "an arrive stamps no record"),
    Slip(
        TRANSITIONS,
        "self.queues[home] = self.queue(home).arrived()",
        "self.queues.update({q: self.queue(q).arrived() for q in event.queues})",
        "a multicast arrive counts at every queue",
    ),
    Slip(
        TRANSITIONS,
        "return frozenset(Stamp(name, self.queue(queues[0]).arrives) for name in queues)",
        "return frozenset(Stamp(name, self.queue(name).arrives) for name in queues)",
        "each queue of a multicast arrive stamps with its own count",
    ),
    Slip(
        TRANSITIONS,
        "self.storage.release(event.queue, bound, event.second, share, warp)",
        "pass",
        "an await releases nothing",
    ),
    Slip(
        TRANSITIONS,
        "self.storage.release(event.queue, bound, event.second, share, warp)",
        "self.storage.release(event.queue, bound, event.second, event.place.threads, warp)",
        "an await of wgmma by a warp completes what it issued for the whole warpgroup",
    ),
    Slip(
        TRANSITIONS,
        "own = frozenset(stamp._replace(warp=warp) for stamp in stamps)",
        "own = stamps",
        "the groups of wgmma are nobody's",
    ),
    Slip(
        TRANSITIONS,
        "touch.threads(action.place),",
        "action.place.threads,",
        "every warp reads all of the left operand of wgmma",
    ),
    Slip(
        TRANSITIONS,
        "self.storage.fence(ON_CPU, ON_CPU, place.threads | frozenset(children))",
        "self.storage.fence(ON_CPU, ON_CPU, place.threads)",
        "fork and join order the parent alone",
    ),
    Slip(TRANSITIONS, "case Launched() | Ended():", "case Launched():", "the end of a kernel orders nothing"),
    Slip(TRANSITIONS, "case Launched() | Ended():", "case Ended():", "the launch of a kernel orders nothing"),
    Slip(
        TRANSITIONS,
        "return self.storage.free(cells, buffer.owner, where, pair=freeing_pair(buffer))",
        "return []",
        "storage is never freed",
    ),
)

SLIPS: Final = (*_RECORDS, *_HISTORIES, *_MEMORY, *_QUEUES, *_TABLE, *_ROUNDS, *_EVENTS)
"""Every slip that was thought of."""

MUTATED: Final = (VISIBILITY, STORAGE, BARRIERS, TRANSITIONS, RINGS)
"""The modules of the machine, in which operators, bounds and conditions are changed as well."""

UNIT_TESTS: Final = (
    "test_visibility.py",
    "test_barriers.py",
    "test_timelines.py",
    "test_rings.py",
    "test_abstract_machine.py",
)
"""The unit tests that hold the machine by twins of its laws."""

EQUIVALENT: Final[dict[str, str]] = {}
"""Slips that were studied and change nothing that a test should notice, with the reason."""
