"""
Smaller programs
================

A program at which machine and interleavings disagree, made as small as it goes: statements are left out, blocks are
replaced by what is in them, loops lose iterations, as long as the disagreement stays.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

from soundline.spec.errors import SoundlineError
from soundline.spec.spork.language.expressions import Const
from soundline.spec.spork.language.programs import Proc
from soundline.spec.spork.language.statements import (
    SEQ,
    Alloc,
    AllocBarrier,
    Arrive,
    Await,
    CudaDeviceFunction,
    For,
    If,
    Statement,
    statements,
)
from soundline.spec.spork.language.well_formedness import check
from trials.machine.changes import Block, edited, fresh, substituted

Keeps = Callable[[Proc], bool]


def shrunk(proc: Proc, keeps: Keeps) -> Proc:
    """The smallest program that is found, from one which `keeps` something, that still does."""
    smaller = True
    while smaller:
        smaller = False
        for candidate in candidates(fresh(proc)):
            try:
                ok = keeps(check(candidate))
            except SoundlineError:
                ok = False
            if ok:
                proc, smaller = candidate, True
                break
    return proc


def candidates(proc: Proc) -> Iterator[Proc]:
    """Programs with something less, the boldest first."""
    found = list(statements(proc.body))
    for statement in found:
        yield substituted(proc, statement, ())
    for name in {s.name for s in found if isinstance(s, AllocBarrier)}:
        yield replace(proc, body=edited(proc.body, partial(_unless, name)))
    for statement in found:
        for block in _simpler(statement):
            yield substituted(proc, statement, block)
    for argument in proc.arguments:
        yield replace(proc, arguments=tuple(a for a in proc.arguments if a is not argument))


def _unless(barrier: str, statement: Statement) -> Block | None:
    """Nothing in the place of a use of the barrier."""
    return () if _uses(statement, barrier) else None


def _uses(statement: Statement, barrier: str) -> bool:
    match statement:
        case AllocBarrier(name):
            return name == barrier
        case Await(at):
            return at.name == barrier
        case Arrive(barriers=barriers):
            return barriers[0].name == barrier
        case _:
            return False


def _simpler(statement: Statement) -> Iterator[Block]:
    match statement:
        case If():
            yield statement.body
        case For(hi=Const(value)) if isinstance(value, int) and value > 1:
            yield (replace(statement, hi=Const(value - 1)),)
        case CudaDeviceFunction(block_dim=int(threads)) if threads > 32:
            yield (replace(statement, block_dim=threads - 32),)
        case Alloc(sizes=sizes) if any(isinstance(s, Const) and s.value > 1 for s in sizes):
            yield (replace(statement, sizes=tuple(_less(s) for s in sizes)),)
        case _:
            pass
    if isinstance(statement, For) and statement.mode == SEQ:
        yield statement.body


def _less(size: object) -> Const:
    assert isinstance(size, Const)
    return Const(max(1, int(size.value) - 1))
