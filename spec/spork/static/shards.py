"""
Who owns which shard
====================

Every use of storage that is divided into shards says which of its indices tell the shards apart (`distributed_memory`);
all uses have to agree. A window is a use where it is named, and whoever uses the window uses what it is of.

Most uses are of one shard. An operand of an instruction may touch those of several collectives, such as the registers
of all lanes of a warp: it then has a unit of its own, and an interval stands where other uses have an iterator. Such
uses are read last, when the others have said who owns the shards: an index is then the iterator that steps as they
do, or an interval over all of them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import product

from soundline.spec.errors import CollectiveError
from soundline.spec.spork.language.expressions import Span
from soundline.spec.spork.language.nodes import Node
from soundline.spec.spork.language.statements import Statement
from soundline.spec.spork.static.conditions import placed, static_refusal
from soundline.spec.spork.static.memory import check_shard
from soundline.spec.spork.static.windows import Declared, Path, Window, constants
from soundline.spec.spork.threads.distributed_memory import (
    Deduction,
    agree,
    check_allocation,
    deduce,
    first_thread,
    refused,
    telling_apart,
)
from soundline.spec.spork.threads.tilings import ThreadIterator, Tiling, matches
from soundline.spec.spork.threads.units import CollUnit, substituted


@dataclass(frozen=True, slots=True)
class SharedUse:
    """A use by an operand with a unit of its own."""

    window: Window
    unit: CollUnit
    tiling: Tiling
    at: Node
    within: Statement


@dataclass(slots=True)
class Shards:
    """What is known from the uses of storage on the device so far."""

    found: dict[Path, Deduction | None] = field(default_factory=dict)
    shared: list[SharedUse] = field(default_factory=list)

    def allocated(self, storage: Declared, at: Statement) -> None:
        """Storage of the device begins."""
        if storage.allocation is None or storage.path is None:
            return
        if storage.memory.native is not None:
            with placed(at):
                check_allocation(storage.allocation, storage.memory.native, name=storage.name)
        self.found[storage.path] = None

    def use(
        self, window: Window, tiling: Tiling | None, at: Node, within: Statement, unit: CollUnit | None = None
    ) -> None:
        """One use, by an operand of a unit where one is given."""
        storage = window.of
        if storage.allocation is None or storage.memory.native is None or tiling is None:
            return
        if unit is not None:
            self.shared.append(SharedUse(window, unit, tiling, at, within))
            return
        assert storage.path is not None
        with placed(at, within):
            deduction = _deduced(window, storage.memory.native, tiling, at, within)
            first = self.found[storage.path]
            if first is not None:
                agree(first, deduction, name=storage.name)
        check_shard(storage, len(deduction.distributed), at, within)
        self.found[storage.path] = first or deduction

    def settle(self) -> None:
        """Judge the uses of several shards."""
        for use in self.shared:
            assert use.window.of.path is not None
            plain = self.found[use.window.of.path] or _undivided(use)
            with placed(use.at, use.within):
                _check_shared(use, plain)


def _undivided(use: SharedUse) -> Deduction:
    """The result for storage that has one shard, so that its uses need not agree."""
    storage = use.window.of
    assert storage.allocation is not None
    assert storage.memory.native is not None
    if not matches(storage.allocation, storage.memory.native):
        raise static_refusal("dist-interval-alone", use.at, storage.name, "none", within=use.within)
    return Deduction((), (), (), first_thread(storage.memory.native, storage.allocation), use.window.texts)


def _deduced(window: Window, native: CollUnit, tiling: Tiling, at: Node, within: Statement) -> Deduction:
    storage = window.of
    assert storage.allocation is not None
    try:
        return deduce(
            storage.allocation, native, tiling, window.texts, constants(storage.sizes), name=storage.name
        )
    except CollectiveError as error:
        odd = next((k for k, text in enumerate(window.texts) if not text.isidentifier()), None)
        if error.rule != "dist-c6" or odd is None or not isinstance(window.indices[odd], Span):
            raise
        raise static_refusal(
            "dist-interval", at, storage.name, f"one as index {odd}", within=within
        ) from error


# Several shards ---------------------------------------------------------------------------------------------------


def _check_shared(use: SharedUse, plain: Deduction) -> None:
    """Refuse a use of several shards that does not agree with those of one."""
    window, storage = use.window, use.window.of
    name, native = storage.name, storage.memory.native
    assert storage.allocation is not None
    assert native is not None
    count = len(plain.distributed)
    _check_first_interval(use, count)
    if not count:
        agree(plain, _deduced(window, native, use.tiling, use.at, use.within), name=name)
        return
    needed = telling_apart(storage.allocation, use.unit, use.tiling, name=name)
    points = _points(use, plain)
    missing = [i.name for i in needed if i.name not in points.values()]
    if missing:
        raise refused(name, "dist-c5", f"no index for {', '.join(missing)}")
    for k in range(count):
        if k not in points and not window.covers(k):
            given = f"a part of dimension {k}"
            raise static_refusal("dist-interval-whole", use.at, name, given, within=use.within)
    first = first_thread(native, use.tiling)
    if first != plain.first:
        raise refused(name, "dist-c14", f"thread {plain.first} in one, {first} in another")
    spans = [k for k in range(count) if k not in points]
    _check_within_unit(use, plain, spans)


def _check_first_interval(use: SharedUse, count: int) -> None:
    """The first interval, where it is of more than one, is among the indices of shards."""
    leading = next((k for k, i in enumerate(use.window.indices) if isinstance(i, Span)), None)
    if leading is None or leading < count:
        return
    if constants(use.window.sizes)[0] != 1:
        given = f"index {leading}, where {count} indices tell shards apart"
        raise static_refusal("dist-interval-first", use.at, use.window.of.name, given, within=use.within)


def _points(use: SharedUse, plain: Deduction) -> dict[int, str]:
    """The iterators among the indices of shards, each of which steps as other uses do."""
    name, iterators = use.window.of.name, {i.name: i for i in use.tiling.iterators}
    found: dict[int, str] = {}
    for k, (extent, pitch) in enumerate(zip(plain.extents, plain.pitches, strict=True)):
        text = use.window.texts[k]
        if isinstance(use.window.indices[k], Span):
            continue
        rule = _wrong(text, iterators, found, extent, pitch)
        if rule is not None:
            raise refused(name, rule, f"index {k} is {text}")
        found[k] = text
    return found


def _wrong(
    text: str, iterators: dict[str, ThreadIterator], found: dict[int, str], extent: int, pitch: int
) -> str | None:
    """What is wrong with an index that tells shards apart, if anything is."""
    if not text.isidentifier():
        return "dist-c6"
    if text not in iterators:
        return "dist-c7"
    if text in found.values():
        return "dist-c9"
    if iterators[text].count != extent:
        return "dist-c11"
    return "dist-c13" if iterators[text].pitch != pitch else None


def _check_within_unit(use: SharedUse, plain: Deduction, spans: list[int]) -> None:
    """Whatever the iterators are, the shards of the intervals belong to the collective of the unit that runs.

    It owns the first of them: the indices that are no intervals follow it, and begin where it does. The loops around
    the allocation go from whole collectives to whole collectives, and change nothing.
    """
    moving = set(_points(use, plain).values())
    iterators = [i for i in use.tiling.iterators if i.name in moving]
    apart = [
        sum(j * plain.pitches[k] for j, k in zip(at, spans, strict=True)) for at in _places(plain, spans)
    ]
    for values in product(*(range(i.count) for i in iterators)):
        own = plain.first + sum(i.pitch * v for i, v in zip(iterators, values, strict=True))
        cells = {_cell(use, own + by) for by in apart}
        if len(cells) != 1:
            given = f"shards of {len(cells)} collectives of {use.unit}"
            raise static_refusal("dist-interval-unit", use.at, use.window.of.name, given, within=use.within)


def _places(plain: Deduction, spans: list[int]) -> product[tuple[int, ...]]:
    return product(*(range(plain.extents[k]) for k in spans))


def _cell(use: SharedUse, thread: int) -> tuple[int, ...]:
    """Which collective of the unit a thread is of."""
    numbers = substituted(use.unit, block_dim=use.tiling.block_dim, cluster_dim=use.tiling.cluster_dim)
    found: list[int] = []
    rest = thread
    for extent, size in zip(reversed(numbers.domain), reversed(numbers.box), strict=True):
        rest, at = divmod(rest, extent)
        found.insert(0, 0 if size is None else at // size)
    return (rest, *found)
