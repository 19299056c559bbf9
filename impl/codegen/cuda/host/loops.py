"""
Loops on threads of the CPU
===========================

A ``par`` loop becomes a loop of OpenMP where its iterations are shown to share nothing (`disjoint`) and none of them
can fail, since a failure ends the whole function. Every other one runs in order, and a comment says why.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from soundline.impl.codegen.cuda.host.disjoint import Access, Bounded, conflict
from soundline.impl.codegen.cuda.host.lines import Lines
from soundline.impl.codegen.cuda.host.names import Given, Names, Number, Storage
from soundline.impl.codegen.cuda.host.windows import known_place
from soundline.spec.spork.language.expressions import Expr, Index, Name, walk
from soundline.spec.spork.language.statements import (
    Alloc,
    Assign,
    CudaThreads,
    Fence,
    For,
    If,
    Pass,
    Reduce,
    Statement,
)
from soundline.spec.spork.language.text import lines as lines_of
from soundline.spec.spork.static.sizes import value

MOST_LOCAL = 1024
"""The elements of the largest array that a C function has among its own variables."""


@dataclass(slots=True)
class _Gathering:
    """The accesses of an iteration."""

    out: Lines
    natural: set[str]
    accesses: list[Access] = field(default_factory=list)
    own: set[str] = field(default_factory=set)
    """What is allocated in the iteration."""
    taken: list[str] = field(default_factory=list)


def reason_against(loop: For, iterator: str, names: Names, natural: set[str], out: Lines) -> str | None:
    """Why the iterations of a loop run in order; None where they may run at once. `iterator` is its C name."""
    for statement in _inside(loop.body):
        if not _is_plain(statement):
            return f"an iteration may fail at {lines_of(statement)[0]}"
    gathering = _Gathering(out, set(natural))
    inner = names.with_(loop.iterator, Number(iterator, None, Name(iterator)))
    _gather(loop.body, inner, (), gathering)
    out.spellings.release(gathering.taken)
    return conflict(iterator, gathering.accesses, frozenset(gathering.natural))


def is_local(statement: Alloc) -> bool:
    """Whether storage is a variable of the C function, which needs no memory that has to be released."""
    sizes = [value(size) for size in statement.sizes]
    count = 1
    for size in sizes:
        if size is None or size < 0:
            return False
        count *= size
    return count <= MOST_LOCAL


def _inside(body: tuple[Statement, ...]) -> Iterator[Statement]:
    for statement in body:
        yield statement
        match statement:
            case For():
                yield from _inside(statement.body)
            case If():
                yield from _inside(statement.body)
                yield from _inside(statement.orelse)


def _is_plain(statement: Statement) -> bool:
    if isinstance(statement, Alloc):
        return is_local(statement)
    if isinstance(statement, For):
        return not isinstance(statement.mode, CudaThreads)
    return isinstance(statement, Assign | Reduce | If | Pass | Fence)


def _gather(body: tuple[Statement, ...], names: Names, loops: tuple[Bounded, ...], to: _Gathering) -> None:
    for statement in body:
        match statement:
            case Alloc():
                to.own.add(statement.name)
            case Assign(place, expression) | Reduce(place, expression):
                _touch(place, names, loops, True, to)
                _read(expression, names, loops, to)
            case If():
                _gather(statement.body, names, loops, to)
                _gather(statement.orelse, names, loops, to)
            case For():
                lo, hi = (to.out.values.control(e, names) for e in (statement.lo, statement.hi))
                iterator = to.out.spellings.take(statement.iterator)
                to.taken.append(iterator)
                if lo.natural:
                    to.natural.add(iterator)
                found = Number(iterator, lo.least, Name(iterator))
                bounded = Bounded(iterator, lo.known, hi.known)
                _gather(statement.body, names.with_(statement.iterator, found), (*loops, bounded), to)


def _touch(
    place: Name | Index, names: Names, loops: tuple[Bounded, ...], writes: bool, to: _Gathering
) -> None:
    if place.name in to.own:
        return
    storage = names.storage(place.name)
    to.accesses.append(Access(storage.window.at(known_place(place, names, to.out)), writes, loops))


def _read(expression: Expr, names: Names, loops: tuple[Bounded, ...], to: _Gathering) -> None:
    for node in walk(expression):
        if not isinstance(node, Name | Index) or node.name in to.own:
            continue
        meaning = names[node.name]
        if isinstance(meaning, Storage):
            _touch(node, names, loops, False, to)
        elif isinstance(meaning, Given):
            _read(meaning.expression, meaning.names, loops, to)
