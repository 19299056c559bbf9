"""
Where an instruction arrives
============================

TMA counts the bytes that it writes to the shared memory of a CTA at an mbarrier of that same CTA: a multicast load,
which writes at one offset in several CTAs, completes bytes at one offset in each of them. So the trailing barriers of
an instruction lie in the CTAs of its destination. With fewer of them, bytes come to an mbarrier that expects none; with
more, a CTA that gets nothing waits for nothing, and what it tells others after its await is not true.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import NamedTuple

from soundline.spec.spork.language.expressions import Name, Span
from soundline.spec.spork.language.statements import BarrierAt, Call
from soundline.spec.spork.language.text import barrier_text
from soundline.spec.spork.language.text import expression as text_of
from soundline.spec.spork.library.schema import Instruction
from soundline.spec.spork.static.calls import given_to, place_given
from soundline.spec.spork.static.conditions import static_refusal
from soundline.spec.spork.static.scope import Standing
from soundline.spec.spork.static.windows import Path, Window
from soundline.spec.spork.threads.distributed_memory import Deduction
from soundline.spec.spork.threads.tilings import Tiling


@dataclass(frozen=True, slots=True)
class Completion:
    """An instruction that completes at trailing barriers, and the window of shared memory that it writes."""

    call: Call
    window: Window
    tiling: Tiling
    home: tuple[str, ...]
    """The indices of the queue that counts."""


def completions(
    call: Call, instruction: Instruction, home: Sequence[str], standing: Standing
) -> Iterator[Completion]:
    """What is to be judged of the trailing barriers of a call, when all shards are known."""
    tiling = standing.scope.tiling
    if not call.trailing or tiling is None:
        return
    for argument, given in given_to(call):
        place = place_given(argument, given, standing)
        if place is None or argument.name not in instruction.written:
            continue
        window = standing.window(place)
        if window.memory.space == "shared":
            yield Completion(call, window, tiling, tuple(home))


def check_completion(completion: Completion, shards: Mapping[Path, Deduction | None]) -> None:
    """Refuse trailing barriers of other CTAs than those that are written to."""
    call, tiling = completion.call, completion.tiling
    ctas = {
        i.name: Stride(i.count, i.pitch // tiling.block_dim)
        for i in tiling.iterators
        if i.count > 1 and i.pitch % tiling.block_dim == 0
    }
    written = _written(completion, shards.get(completion.window.of.path or ()), ctas)
    reached = [_reached(barrier, completion.home, ctas) for barrier in call.trailing]
    for values in product(*(range(stride.places) for stride in ctas.values())):
        at = dict(zip(ctas, values, strict=True))
        wanted, found = _ranks(written, at), set[int]().union(*(_ranks(each, at) for each in reached))
        if wanted != found:
            barriers = " >> ".join(map(barrier_text, call.trailing))
            given = f"{barriers} in {_text(found)} for {_data(completion.window)} in {_text(wanted)}"
            hint = "write a colon where the destination has one, and the iterator where it has that"
            raise static_refusal(
                "bar-trailing-ctas", call.trailing[0], call.callee.name, given, within=call, hint=hint
            )


class Stride(NamedTuple):
    """Places that are as many CTAs apart."""

    places: int
    step: int


@dataclass(frozen=True, slots=True)
class Reach:
    """CTAs of a cluster: those of some iterators, and from there all of some strides."""

    fixed: Mapping[str, Stride]
    free: Sequence[Stride]


def _reached(barrier: BarrierAt, home: Sequence[str], ctas: Mapping[str, Stride]) -> Reach:
    """The CTAs in which the barriers of a pattern lie."""
    colons = {i for i, index in zip(home, barrier.indices, strict=True) if isinstance(index, Span)}
    free = [stride for name, stride in ctas.items() if name in colons]
    return Reach({name: stride for name, stride in ctas.items() if name not in colons}, free)


def _written(completion: Completion, shards: Deduction | None, ctas: Mapping[str, Stride]) -> Reach:
    """The CTAs whose shared memory is written: those of the shards that the destination names."""
    window, block_dim = completion.window, completion.tiling.block_dim
    assert window.of.allocation is not None, "shared memory is allocated on the device"
    named = {i.name for i in window.of.allocation.iterators}
    free = []
    if shards is not None:
        for index, pitch, extent in zip(window.indices, shards.pitches, shards.extents, strict=False):
            if isinstance(index, Name):
                named.add(index.name)
            elif isinstance(index, Span):
                free.append(Stride(extent, pitch // block_dim))
    return Reach({name: stride for name, stride in ctas.items() if name in named}, free)


def _ranks(reach: Reach, at: Mapping[str, int]) -> set[int]:
    """The ranks of these CTAs, where the iterators have these values."""
    first = sum(stride.step * at[name] for name, stride in reach.fixed.items())
    steps = ([stride.step * k for k in range(stride.places)] for stride in reach.free)
    return {first + sum(offsets) for offsets in product(*steps)}


def _text(ranks: set[int]) -> str:
    return f"CTA{'s' if len(ranks) > 1 else ''} {', '.join(map(str, sorted(ranks)))}"


def _data(window: Window) -> str:
    indices = (text_of(i) if not isinstance(i, Span) else ":" for i in window.indices)
    return f"{window.of.name}[{', '.join(indices)}]"
