"""
The order of arrives and awaits
===============================

An mbarrier with a reverse side is a ring of a fixed number of slots, of which each tells two phases apart. That is
enough where whoever awaits one side arrives at the other in turn. It is seen from the text alone:

- *await first*: each await is followed in its block by an arrive at the other side, with no seq loop between, and with
  an ``if`` only around both, or around nothing but the arrive; several awaits may come first, and then as many arrives;
- *arrive first*: each await comes after such an arrive, with no seq loop and no ``if`` between.

An arrive that no await waits for is not judged here: when the barrier ends its counters have to be equal (S-05). Loops
over threads, CudaWarps and CudaAsync say who executes a statement and not how often; they are looked through.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from soundline.spec.errors import StaticError
from soundline.spec.spork.language.statements import (
    Arrive,
    Await,
    CudaAsync,
    CudaThreads,
    CudaWarps,
    For,
    If,
    Statement,
)
from soundline.spec.spork.static.conditions import static_refusal


@dataclass(frozen=True, slots=True)
class _Group:
    """A seq loop or an if, with what concerns the barrier in its blocks."""

    statement: For | If
    blocks: tuple[tuple[_Item, ...], ...]


_Item = Arrive | Await | _Group


def arrives_first(name: str, region: Sequence[Statement], *, awaits_reverse: bool) -> bool:
    """Whether those who await one side of a barrier arrive at the other before, where they take turns at all.

    The region is where the name stands for the barrier.
    """
    items = tuple(_items(name, region, awaits_reverse))
    try:
        _check_turns(name, items, arrive_leads=False)
    except StaticError as error:
        if not isinstance(next(_flat(items)), Arrive):
            raise
        try:
            _check_turns(name, items, arrive_leads=True)
        except StaticError:
            raise error from None
        return True
    return False


def _items(name: str, region: Sequence[Statement], awaits_reverse: bool) -> Iterator[_Item]:
    """The awaits of one side and the arrives at the other, with the loops and ifs around them."""
    for statement in region:
        match statement:
            case Arrive(barriers=barriers, reverse=reverse):
                if barriers[0].name == name and reverse is not awaits_reverse:
                    yield statement
            case Await(barrier=barrier, reverse=reverse):
                if barrier.name == name and reverse is awaits_reverse:
                    yield statement
            case For(mode=CudaThreads()) | CudaWarps() | CudaAsync():
                yield from _items(name, statement.body, awaits_reverse)
            case For() | If():
                bodies = (statement.body, statement.orelse if isinstance(statement, If) else ())
                blocks = tuple(tuple(_items(name, body, awaits_reverse)) for body in bodies)
                if any(blocks):
                    yield _Group(statement, blocks)
            case _:
                pass


def _flat(items: Sequence[_Item]) -> Iterator[Arrive | Await]:
    for item in items:
        if isinstance(item, _Group):
            for block in item.blocks:
                yield from _flat(block)
        else:
            yield item


def _check_turns(name: str, items: Sequence[_Item], *, arrive_leads: bool) -> None:
    """Each await has an arrive after it in its block, or before it where that leads."""
    waiting: list[Await] = []
    for item in reversed(items) if arrive_leads else items:
        if isinstance(item, Arrive):
            del waiting[-1:]
        elif isinstance(item, _Group):
            if waiting:
                _check_between(name, item, waiting.pop(), arrive_leads=arrive_leads)
                continue
            for block in item.blocks:
                _check_turns(name, block, arrive_leads=arrive_leads)
        elif waiting and arrive_leads:
            raise _alone(name, waiting[0])  # who is ahead is so by one phase only
        else:
            waiting.append(item)
    if waiting:
        raise _alone(name, waiting[0])


def _check_between(name: str, group: _Group, waiting: Await, *, arrive_leads: bool) -> None:
    """A loop or an if between an await and its arrive: only an if that holds nothing else may be there."""
    if isinstance(group.statement, For):
        raise static_refusal("bar-turns-loop", group.statement, name, f"one after {_said(waiting)}")
    body, orelse = group.blocks
    if arrive_leads or orelse or len(body) != 1 or not isinstance(body[0], Arrive):
        raise static_refusal("bar-turns-if", group.statement, name, f"one after {_said(waiting)}")


def _alone(name: str, waiting: Await) -> StaticError:
    other = "an arrive" if waiting.reverse else "a reverse arrive"
    return static_refusal("bar-turns", waiting, name, f"{_said(waiting)} without {other}")


def _said(statement: Await) -> str:
    return "a reverse await" if statement.reverse else "an await"
