"""
Random small programs
=====================

`drawn` makes the program of a seed: a skeleton as it stands, a skeleton from which something was taken away, or a
program without a plan. The same seed always makes the same program. A *lean* program is one from which all that the
machine can spare was taken away, so that what is left has to do all the work: that is where a machine which accepts too
much would show.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from random import Random

from soundline.spec.errors import SoundlineError
from soundline.spec.spork.language.nodes import Ref
from soundline.spec.spork.language.programs import Proc
from soundline.spec.spork.language.statements import Arrive, Await, Fence, statements
from soundline.spec.spork.language.well_formedness import check
from soundline.spec.spork.synchronization.timelines import SYNC_TLS
from trials.machine.changes import changed, fresh, substituted, without_barrier
from trials.machine.page import Page
from trials.machine.skeletons import SKELETONS
from trials.machine.soup import soup
from trials.machine.verdicts import accepts

SOUP = "soup"
"""The kind of the programs without a plan."""

PLAIN, CHANGED, LEAN = 0.10, 0.50, 0.57
"""Below these, a program is a plain skeleton, a changed one, or made lean; above, it has no plan."""


@dataclass(frozen=True, slots=True)
class Drawn:
    """A program that was drawn."""

    seed: int
    kind: str
    changes: tuple[str, ...]
    proc: Proc

    @property
    def correct(self) -> bool:
        """Whether it is correct by construction."""
        return self.kind != SOUP and not self.changes


def drawn(seed: int) -> Drawn:
    """The program of a seed."""
    random = Random(f"adequacy {seed}")
    way = random.random()
    if way >= LEAN:
        return _altered(seed, SOUP, _page(random, SOUP), random, random.choice((0, 0, 1)))
    names = list(SKELETONS)
    kind = random.choices(names, [SKELETONS[n][1] for n in names])[0]
    if way >= CHANGED:
        kind = random.choice((kind, SOUP))
        return Drawn(seed, kind, (LEANER,), lean(_page(random, kind), random))
    count = 0 if way < PLAIN else random.choice((1, 1, 1, 2, 2, 3))
    return _altered(seed, kind, _page(random, kind), random, count)


MOST_SPARED = 6
"""How many synchronizations are looked at to make a program lean."""
LEANER = "lean"
"""The change of what was made lean."""


def lean(proc: Proc, random: Random) -> Proc:
    """A program that the machine accepts, without what it can spare; another one as it is."""
    if not accepts(proc):
        return proc
    proc = fresh(proc)
    syncs = [s for s in statements(proc.body) if isinstance(s, Fence | Arrive | Await)]
    random.shuffle(syncs)
    for statement in syncs[:MOST_SPARED]:
        for less in (*_less(proc, statement),):
            try:
                fits = accepts(check(less))
            except SoundlineError:
                fits = False
            if fits:
                proc = less
                break
    return proc


def _less(proc: Proc, statement: Fence | Arrive | Await) -> Iterator[Proc]:
    """The program without a synchronization, or with one that does less."""
    if not isinstance(statement, Fence):
        yield without_barrier(proc, statement)
        return
    yield substituted(proc, statement, ())
    for name in ("cuda_temporal", "cuda_in_order"):
        yield substituted(proc, statement, (replace(statement, second=Ref(name, SYNC_TLS[name])),))


def skeleton(kind: str, seed: int) -> Drawn:
    """A skeleton as it stands."""
    return Drawn(seed, kind, (), _page(Random(f"{kind} {seed}"), kind))


def _page(random: Random, kind: str) -> Proc:
    page = Page(random)
    (soup if kind == SOUP else SKELETONS[kind][0])(page)
    return page.ended()


def _altered(seed: int, kind: str, proc: Proc, random: Random, count: int) -> Drawn:
    made = []
    for _ in range(count):
        found = changed(proc, random)
        if found is not None:
            proc, name = found
            made.append(name)
    return Drawn(seed, kind, tuple(made), proc)
