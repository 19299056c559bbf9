"""
The order of arrives and awaits
===============================

An mbarrier with a reverse side is a ring of a fixed number of slots, of which each tells two phases apart. That is
enough where whoever awaits one side arrives at the other in turn. It is seen from the text alone:

- *await first*: each await is followed in its block by an arrive at the other side, with no seq loop between, and with
  an ``if`` only around both, or around nothing but the arrive;
- *arrive first*: each arrive is followed by an await of the other side, with no seq loop and no ``if`` between.

Loops over threads, CudaWarps and CudaAsync say who executes a statement and not how often; they are looked through.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from soundline.spec.programs import (
    Arrive,
    Await,
    CudaAsync,
    CudaThreads,
    CudaWarps,
    For,
    If,
    Statement,
)
from soundline.spec.static_conditions import static_refusal


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
    first = next(_flat(items), None)
    arrive_leads = isinstance(first, Arrive)
    _check_turns(name, items, arrive_leads)
    return arrive_leads


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


def _check_turns(name: str, items: Sequence[_Item], arrive_leads: bool) -> None:
    """Each statement that leads is followed by one of the other kind, in the same block."""
    waiting: Arrive | Await | None = None
    for item in items:
        if isinstance(item, _Group):
            waiting = _check_group(name, item, waiting, arrive_leads)
            continue
        leads = isinstance(item, Arrive) is arrive_leads
        if leads is (waiting is not None):
            given = f"{_said(item)} after {_said(waiting)}" if waiting else f"{_said(item)} alone"
            raise static_refusal("bar-turns", item, name, given)
        waiting = item if leads else None
    if waiting is not None:
        raise static_refusal("bar-turns", waiting, name, f"{_said(waiting)} alone")


def _check_group(
    name: str, group: _Group, waiting: Arrive | Await | None, arrive_leads: bool
) -> Arrive | Await | None:
    """A loop or an if; gives what still waits after it."""
    if waiting is None:
        for block in group.blocks:
            _check_turns(name, block, arrive_leads)
        return None
    if isinstance(group.statement, For):
        raise static_refusal("bar-turns-loop", group.statement, name, f"one after {_said(waiting)}")
    body, orelse = group.blocks
    only_arrives = len(body) == 1 and isinstance(body[0], Arrive) and not orelse
    if arrive_leads or not only_arrives:
        raise static_refusal("bar-turns-if", group.statement, name, f"one after {_said(waiting)}")
    return None


def _said(statement: Arrive | Await) -> str:
    return f"a{'n' if not statement.reverse else ' reverse'} {type(statement).__name__.lower()}"
