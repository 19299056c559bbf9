"""
Programs without a plan
=======================

Statements of a few threads in any order: reads, writes and copies of two or three elements, with fences, arrives and
awaits strewn among them. Nothing makes them correct; many are, for synchronization is drawn often. What is drawn is
only kept from going wrong in dull ways: elements are written before they are read, and arrives and awaits are equally
many.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from trials.machine.page import BOTH, CP, GENERIC, IO, T2G, T2S, TEMPORAL, Page, window


@dataclass(slots=True)
class Signal:
    """An mbarrier between two threads."""

    name: str
    first: str
    second: str
    giver: int
    taker: int
    both_ways: bool = False
    pending: bool = False


@dataclass(slots=True)
class Soup:
    """A program without a plan, under construction."""

    page: Page
    threads: int
    elements: int
    signals: list[Signal] = field(default_factory=list)
    groups: dict[str, int] = field(default_factory=dict)
    """Which thread has the commit group of a timeline."""
    committed: dict[str, int] = field(default_factory=dict)
    known: list[int] = field(default_factory=list)
    """The elements that have been written."""
    care: float = 0.0
    """How often a fence follows a statement."""
    last: int = 0
    """The element that was written last: the most telling one to touch."""

    @property
    def who(self) -> int:
        """One of the threads."""
        return self.page.number(0, self.threads - 1)

    @property
    def old(self) -> int:
        """An element that has a value."""
        return self.last if self.page.often(0.5) else self.page.pick(*self.known)

    def wrote(self, element: int) -> None:
        """Note that an element has a value."""
        self.last = element
        if element not in self.known:
            self.known.append(element)

    # Data ---------------------------------------------------------------------------------------------------------

    def write(self) -> None:
        """A thread writes an element, perhaps from another one."""
        target = self.page.number(0, self.elements - 1)
        with self.page.one(self.who):
            if self.known and self.page.often(0.3):
                self.page.say(f"s[{target}] = s[{self.old}] * 3 + {self.page.number(1, 9)}")
            elif target in self.known and self.page.often(0.3):
                self.page.say(f"s[{target}] += x[{self.page.number(0, 7)}]")
            else:
                self.page.say(f"s[{target}] = x[{self.page.number(0, 7)}]")
        self.wrote(target)

    def read(self) -> None:
        """A thread reads an element; what it finds is part of the result."""
        with self.page.one(self.who):
            self.page.say(f"{self.page.result()} = s[{self.old}] + {self.page.number(1, 9)}")

    def copy(self) -> None:
        """A copy by cp.async, perhaps of two elements."""
        n = self.page.pick(1, 1, 2) if self.elements > 1 else 1
        at = self.page.number(0, self.elements - n)
        owner = self.groups.get(CP)
        who = owner if owner is not None and self.page.often(0.8) else self.who
        with self.page.one(who), self.page.asynchronous(CP):
            source = window("x", self.page.number(0, 8 - n), n)
            self.page.say(f"cp_async_{n}({window('s', at, n)}, {source})")
        for element in range(at, at + n):
            self.wrote(element)

    def load(self) -> None:
        """A load by TMA, which arrives at a signal."""
        free = [s for s in self.signals if s.first == T2S and not s.pending]
        if not free:
            return self.write()
        signal = self.page.pick(*free)
        at = self.page.number(0, self.elements - 1)
        with self.page.one(signal.giver):
            if signal.both_ways:
                self.page.say(f"ReverseAwait({signal.name}, {BOTH}, ~1)")
            with self.page.asynchronous(T2S):
                source = window("x", self.page.number(0, 7))
                self.page.say(
                    f"tma_load_1({window('s', at)}, {source}) >> {signal.name}",
                    f"Arrive({T2S}, 1) >> {signal.name}",
                )
        signal.pending = True
        return self.wrote(at)

    def store(self) -> None:
        """A store by TMA, or an addition."""
        owner = self.groups.get(T2G)
        if owner is None:
            return self.read()
        with self.page.one(owner), self.page.asynchronous(T2G):
            if self.page.often(0.25):
                self.page.say(f"tma_add(z[0:1], {window('s', self.old)})")
            else:
                target = self.page.result()[2:-1]
                self.page.say(f"tma_store_1({window('y', int(target))}, {window('s', self.old)})")
        return None

    def add(self) -> None:
        """An atomic addition, to shared or to global memory."""
        target = self.page.pick(window("z", 0), window("s", self.old))
        with self.page.one(self.who):
            self.page.say(f"atomic_add({target}, {window('x', self.page.number(0, 7))})")

    # Synchronization ----------------------------------------------------------------------------------------------

    def fence(self) -> None:
        """A fence of the CTA, of a warp or of a thread."""
        first = self.page.pick(IO, IO, GENERIC, CP, TEMPORAL)
        second = self.page.pick(IO, IO, GENERIC, BOTH, TEMPORAL)
        kind = self.page.pick("cta", "cta", "cta", "warp", "thread")
        if kind == "cta":
            self.page.fence(first, second)
        elif kind == "warp":
            warp = self.who
            with self.page.block(f"with CudaWarps({warp}, {warp + 1})"):
                self.page.fence(first, second)
        else:
            with self.page.one(self.who):
                self.page.fence(first, second)

    def give(self) -> None:
        """An arrive of a signal whose await is to come."""
        free = [s for s in self.signals if s.first != T2S and not s.pending]
        if not free:
            return self.take()
        signal = self.page.pick(*free)
        with self.page.one(signal.giver):
            if signal.both_ways:
                self.page.say(f"ReverseAwait({signal.name}, {signal.second}, ~1)")
            self.page.say(f"Arrive({signal.first}, 1) >> {signal.name}")
        signal.pending = True
        return None

    def take(self) -> None:
        """The await of a signal."""
        pending = [s for s in self.signals if s.pending]
        if pending:
            self.taken(self.page.pick(*pending))

    def taken(self, signal: Signal) -> None:
        """The await of this signal, after which its element may be read and given back."""
        with self.page.one(signal.taker):
            self.page.say(f"Await({signal.name}, {signal.second}, ~0)")
            if self.known and self.page.often(0.4):
                self.page.say(f"{self.page.result()} = s[{self.old}] + {self.page.number(1, 9)}")
            if signal.both_ways:
                self.page.say(f"ReverseArrive({IO}, 1) >> {signal.name}")
        signal.pending = False

    def commit(self) -> None:
        """A group is committed."""
        if self.groups:
            timeline = self.page.pick(*self.groups)
            with self.page.one(self.groups[timeline]):
                self.page.say(f"Arrive({timeline}, 1) >> {_group(timeline)}")
            self.committed[timeline] = self.committed.get(timeline, 0) + 1

    def wait(self) -> None:
        """Groups are waited for, perhaps all but the last."""
        if self.committed:
            timeline = self.page.pick(*self.committed)
            with self.page.one(self.groups[timeline]):
                spared = self.page.pick(0, 0, 1)
                self.page.say(f"Await({_group(timeline)}, {self._second(timeline)}, {spared})")

    def _second(self, timeline: str) -> str:
        return IO if timeline == CP else BOTH

    def finish(self) -> None:
        """What is left to be waited for; then everything is read."""
        for signal in self.signals:
            if signal.pending:
                self.taken(signal)
        for timeline, owner in self.groups.items():
            with self.page.one(owner):
                self.page.say(f"Await({_group(timeline)}, {self._second(timeline)}, 0)")
        self.page.fence(GENERIC, IO)
        self.page.fence(IO, IO)
        if self.page.often(0.8):
            with self.page.one(0):
                for element in sorted(self.known):
                    self.page.say(f"z[{4 + element}] = s[{element}]")
            self.page.fence()


def _group(timeline: str) -> str:
    return {CP: "copied", T2G: "stored"}[timeline]


def soup(page: Page) -> None:
    """A program without a plan."""
    found = Soup(page, page.pick(1, 2, 2, 2, 2, 3), page.number(1, 3), care=page.pick(0.0, 0.3, 0.7))
    with page.device(32 * found.threads):
        page.say(f"s: i32[{found.elements}] @ CudaSmemLinear")
        _declare(found)
        if page.often(0.6):
            with page.one(found.who):
                for element in range(found.elements):
                    page.say(f"s[{element}] = x[{element}]")
                    found.wrote(element)
            if page.often(0.8):
                page.fence(IO, page.pick(IO, GENERIC, BOTH))
        else:
            found.write()
        with page.maybe(0.25, "for k in seq(0, 2)"):
            steps(found, page.number(3, 10))
        found.finish()


def _declare(soup: Soup) -> None:
    """Barriers: signals between threads, and groups."""
    page = soup.page
    if soup.threads > 1:
        for n in range(page.number(1, 2)):
            giver, taker = page.random.sample(range(soup.threads), 2)
            first = page.pick(IO, CP, CP, T2S, T2S, T2S)
            second = page.pick(IO, IO, GENERIC, BOTH)
            soup.signals.append(Signal(f"bar{n}", first, second, giver, taker, page.often(0.3)))
            page.say(f"bar{n}: barrier @ CudaMbarrier")
    for timeline in (CP, T2G):
        if page.often(0.5):
            soup.groups[timeline] = soup.who
            page.say(f"{_group(timeline)}: barrier @ CudaCommitGroup")


def steps(soup: Soup, count: int) -> None:
    """Some statements, the last of which take what was given."""
    kinds: list[Callable[[], None]] = [
        *[soup.copy, soup.load] * 4,
        *[soup.read, soup.give, soup.take] * 2,
        *[soup.fence] * 4,
        soup.write,
        *[soup.store] * 2,
        soup.add,
        soup.commit,
        soup.wait,
    ]
    for _ in range(count):
        soup.page.pick(*kinds)()
        if soup.page.often(soup.care):
            soup.page.fence(GENERIC, BOTH)
    for signal in soup.signals:
        if signal.pending:
            soup.taken(signal)
    for timeline, owner in soup.groups.items():
        if soup.page.often(0.9):
            with soup.page.one(owner):
                soup.page.say(f"Arrive({timeline}, 1) >> {_group(timeline)}")
            soup.committed[timeline] = soup.committed.get(timeline, 0) + 1
