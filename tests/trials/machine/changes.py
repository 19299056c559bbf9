"""
What is taken away
==================

Changes of a program that leave a program: a synchronization is dropped, weakened, moved or done by fewer threads, an
index is shifted, a statement goes to another thread or happens once more. Most of them make a correct program wrong,
and the rest make one that is correct for a reason that nobody planned.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from random import Random
from typing import Final

from soundline.spec.errors import SoundlineError
from soundline.spec.ops.node import Op
from soundline.spec.spork.language.expressions import Binary, Const, Expr, Index, Name, Span
from soundline.spec.spork.language.nodes import Ref
from soundline.spec.spork.language.programs import Proc
from soundline.spec.spork.language.statements import (
    Alloc,
    AllocBarrier,
    Arrive,
    Assign,
    Await,
    Call,
    CudaAsync,
    CudaDeviceFunction,
    CudaThreads,
    CudaWarps,
    Fence,
    For,
    If,
    Reduce,
    Statement,
    statements,
)
from soundline.spec.spork.language.well_formedness import check
from soundline.spec.spork.synchronization.barriers import BarrierType
from soundline.spec.spork.synchronization.timelines import SYNC_TLS
from soundline.spec.spork.threads.units import cuda_thread

Block = tuple[Statement, ...]
Path = tuple[int, ...]
Change = Callable[[Proc, Random], Proc | None]
TRIES = 8
"""How often a change is tried before another one is taken."""


# Blocks -----------------------------------------------------------------------------------------------------------


def sub_blocks(statement: Statement) -> tuple[Block, ...]:
    """The blocks directly inside a statement, the empty else of an `If` as well."""
    match statement:
        case If():
            return (statement.body, statement.orelse)
        case For() | CudaDeviceFunction() | CudaAsync() | CudaWarps():
            return (statement.body,)
        case _:
            return ()


def with_blocks(statement: Statement, blocks: tuple[Block, ...]) -> Statement | None:
    """The statement with other blocks; None where nothing is left of it."""
    match statement:
        case If():
            if blocks[0]:
                return replace(statement, body=blocks[0], orelse=blocks[1])
            return None
        case For() | CudaDeviceFunction() | CudaAsync() | CudaWarps():
            return replace(statement, body=blocks[0]) if blocks[0] else None
        case _:
            return statement


def edited(block: Block, edit: Callable[[Statement], Block | None]) -> Block:
    """A block in which each statement is replaced by what `edit` makes of it; by itself where that is None."""
    found: list[Statement] = []
    for statement in block:
        made = edit(statement)
        if made is not None:
            found += made
            continue
        inner = tuple(edited(b, edit) for b in sub_blocks(statement))
        left = with_blocks(statement, inner)
        found += [left] if left is not None else []
    return tuple(found)


def substituted(proc: Proc, old: Statement, new: Block) -> Proc:
    """The proc with other statements in the place of one, which is known by its identity."""
    return replace(proc, body=edited(proc.body, lambda s: new if s is old else None))


def fresh(proc: Proc) -> Proc:
    """The same proc, in which no statement stands twice as the same object."""

    def copied(block: Block) -> Block:
        found = []
        for statement in block:
            made = with_blocks(statement, tuple(copied(b) for b in sub_blocks(statement)))
            found.append(replace(statement) if made is None else replace(made))
        return tuple(found)

    return replace(proc, body=copied(proc.body))


def surroundings(block: Block) -> Iterator[tuple[Block, int]]:
    """Every statement, as a block and its place there."""
    for n, statement in enumerate(block):
        yield block, n
        for inner in sub_blocks(statement):
            yield from surroundings(inner)


SYNCS = Fence | Arrive | Await
DATA = Assign | Reduce | Call


def _some(proc: Proc, random: Random, kind: type | tuple[type, ...]) -> Statement | None:
    found = [s for s in statements(proc.body) if isinstance(s, kind)]
    return random.choice(found) if found else None


# Changes ----------------------------------------------------------------------------------------------------------


def drop_fence(proc: Proc, random: Random) -> Proc | None:
    """A fence is left out."""
    found = _some(proc, random, Fence)
    return None if found is None else substituted(proc, found, ())


def drop_barrier(proc: Proc, random: Random) -> Proc | None:
    """All arrives and awaits of one side of a barrier are left out."""
    found = _some(proc, random, (Arrive, Await))
    return without_barrier(proc, found) if isinstance(found, Arrive | Await) else None


def without_barrier(proc: Proc, found: Arrive | Await) -> Proc:
    """The proc without the arrives and awaits of the side of a barrier that one of them is of."""
    name, reverse = _barrier(found), found.reverse

    def edit(statement: Statement) -> Block | None:
        if isinstance(statement, Arrive | Await):
            return () if (_barrier(statement), statement.reverse) == (name, reverse) else None
        return None

    return replace(proc, body=edited(proc.body, edit))


def drop_await(proc: Proc, random: Random) -> Proc | None:
    """One arrive or await is left out."""
    found = _some(proc, random, (Arrive, Await))
    return None if found is None else substituted(proc, found, ())


def _barrier(statement: Arrive | Await) -> str:
    return statement.barrier.name if isinstance(statement, Await) else statement.barriers[0].name


_LESS: Final = {
    "first": (
        "cuda_in_order",
        "Sm80_cp_async",
        "Sm80_generic",
        "cuda_temporal",
        "tma_to_smem_async",
        "empty",
    ),
    "second": (
        "cuda_in_order",
        "Sm80_cp_async",
        "Sm80_generic",
        "cuda_temporal",
        "cuda_async_proxy",
        "cuda_generic_and_async_proxy",
        "wgmma_async_smem",
        "empty",
    ),
}


def _other(side: str, random: Random) -> Ref:
    name = random.choice(_LESS[side])
    return Ref(name, SYNC_TLS[name])


def weaken(proc: Proc, random: Random) -> Proc | None:
    """A synchronization is of other timelines; of a barrier, all that have to agree are."""
    found = _some(proc, random, (Fence, Arrive, Await))
    if isinstance(found, Fence):
        first, second = random.choice(((True, False), (False, True)))
        new = replace(
            found,
            first=_other("first", random) if first else found.first,
            second=_other("second", random) if second else found.second,
        )
        return substituted(proc, found, (new,))
    if not isinstance(found, Arrive | Await):
        return None
    kind, name, reverse = type(found), _barrier(found), found.reverse
    other = _other("first" if isinstance(found, Arrive) else "second", random)

    def edit(statement: Statement) -> Block | None:
        if not isinstance(statement, Arrive | Await):
            return None
        if (type(statement), _barrier(statement), statement.reverse) != (kind, name, reverse):
            return None
        if isinstance(statement, Arrive):
            return (replace(statement, first=other),)
        return (replace(statement, second=other),)

    return replace(proc, body=edited(proc.body, edit))


def narrow(proc: Proc, random: Random) -> Proc | None:
    """A fence is executed by one thread, or by one warp."""
    found = _some(proc, random, Fence)
    if found is None:
        return None
    unit = CudaThreads(Ref("cuda_thread", cuda_thread))
    count = random.choice((1, 1, 2))
    if random.random() < 0.5:
        new: Statement = For("only", unit, Const(0), Const(count), (found,))
    else:
        warp = random.choice((0, 0, 1))
        new = CudaWarps((found,), warp, warp + 1)
    return substituted(proc, found, (new,))


def recount(proc: Proc, random: Random) -> Proc | None:
    """The awaits of a barrier, or one await of a commit group, wait for another arrive."""
    found = _some(proc, random, Await)
    if not isinstance(found, Await):
        return None
    n = found.n + random.choice((-1, 1))
    if (n < 0) != (found.n < 0):
        return None
    kinds = {s.name: s.kind.value for s in statements(proc.body) if isinstance(s, AllocBarrier)}
    if kinds.get(found.barrier.name) is BarrierType.CudaCommitGroup:
        return substituted(proc, found, (replace(found, n=n),))
    name, reverse = found.barrier.name, found.reverse

    def edit(statement: Statement) -> Block | None:
        if isinstance(statement, Await) and (statement.barrier.name, statement.reverse) == (name, reverse):
            return (replace(statement, n=n),)
        return None

    return replace(proc, body=edited(proc.body, edit))


def move(proc: Proc, random: Random) -> Proc | None:
    """A statement changes places with its neighbour; one that synchronizes, or holds one that does, is preferred."""
    places = [(b, n) for b, n in surroundings(proc.body) if n + 1 < len(b)]
    telling = [(b, n) for b, n in places if any(_syncs(s) for s in b[n : n + 2])]
    if not places:
        return None
    block, n = random.choice(telling if telling and random.random() < 0.8 else places)
    first, second = block[n], block[n + 1]
    if isinstance(first, Alloc | AllocBarrier):
        return None
    moved = substituted(proc, first, (second, first))
    return _without_second(moved, second)


def _syncs(statement: Statement) -> bool:
    return any(isinstance(s, SYNCS) for s in statements((statement,)))


def _without_second(proc: Proc, statement: Statement) -> Proc:
    """The proc without the second occurrence of a statement."""
    met = 0

    def edit(s: Statement) -> Block | None:
        nonlocal met
        if s is statement:
            met += 1
            return () if met == 2 else (s,)
        return None

    return replace(proc, body=edited(proc.body, edit))


def hoist(proc: Proc, random: Random) -> Proc | None:
    """A synchronization at the end of a loop comes after the loop, or one after a loop is taken into it."""
    places = [(b, n) for b, n in surroundings(proc.body) if isinstance(b[n], For)]
    random.shuffle(places)
    for block, n in places:
        loop = block[n]
        assert isinstance(loop, For)
        if isinstance(loop.body[-1], SYNCS) and len(loop.body) > 1:
            return substituted(proc, loop, (replace(loop, body=loop.body[:-1]), loop.body[-1]))
        if n + 1 < len(block) and isinstance(block[n + 1], Fence) and loop.mode.__class__ is not CudaThreads:
            longer = replace(loop, body=(*loop.body, block[n + 1]))
            return substituted(substituted(proc, block[n + 1], ()), loop, (longer,))
    return None


def shift(proc: Proc, random: Random) -> Proc | None:
    """An index of data is another one."""
    found = _some(proc, random, (Assign, Reduce, Call))
    if found is None:
        return None
    arrays = _indices(found)
    if not arrays:
        return None
    old = random.choice(arrays)
    at = random.randrange(len(old.indices))
    new = replace(old, indices=(*old.indices[:at], _shifted(old.indices[at], random), *old.indices[at + 1 :]))
    return substituted(proc, found, (_with_index(found, old, new),))


def _indices(statement: Statement) -> list[Index]:
    match statement:
        case Assign(place, value) | Reduce(place, value):
            return [i for part in (place, value) for i in _indices_of(part)]
        case Call():
            return [a for a in statement.arguments if isinstance(a, Index)]
        case _:
            return []


def _indices_of(expression: Expr) -> list[Index]:
    match expression:
        case Index():
            return [expression]
        case Binary(_, left, right):
            return [*_indices_of(left), *_indices_of(right)]
        case _:
            return []


def _shifted(index: Expr | Span, random: Random) -> Expr | Span:
    step = random.choice((-1, 1))
    if isinstance(index, Span):
        if index.lo is None or index.hi is None:
            return index
        return replace(index, lo=_plus(index.lo, step), hi=_plus(index.hi, step))
    return _plus(index, step)


def _plus(index: Expr, step: int) -> Expr:
    if isinstance(index, Const) and isinstance(index.value, int):
        return Const(max(0, index.value + step))
    if isinstance(index, Name):
        return Binary(Op.Sub, Const(1), index) if step > 0 else Const(0)
    return Binary(Op.Add if step > 0 else Op.Sub, index, Const(1))


def _with_index(statement: Statement, old: Index, new: Index) -> Statement:
    def swapped(expression: Expr) -> Expr:
        if expression is old:
            return new
        if isinstance(expression, Binary):
            return replace(expression, left=swapped(expression.left), right=swapped(expression.right))
        return expression

    match statement:
        case Assign(place, value) | Reduce(place, value):
            target = swapped(place)
            assert isinstance(target, Name | Index)
            return replace(statement, place=target, value=swapped(value))
        case Call():
            return replace(statement, arguments=tuple(swapped(a) for a in statement.arguments))
        case _:
            return statement


def elsewhere(proc: Proc, random: Random) -> Proc | None:
    """What one warp does, another one does."""
    found = _some(proc, random, CudaWarps)
    if not isinstance(found, CudaWarps) or found.lo is None or found.hi is None:
        return None
    by = random.choice((-1, 1))
    if found.lo + by < 0:
        return None
    return substituted(proc, found, (replace(found, lo=found.lo + by, hi=found.hi + by),))


def again(proc: Proc, random: Random) -> Proc | None:
    """A statement happens once more, later in its block."""
    places = [(b, n) for b, n in surroundings(proc.body) if _accesses(b[n])]
    if not places:
        return None
    block, n = random.choice(places)
    later = random.randint(n, len(block) - 1)
    copy = replace(block[n])
    return substituted(proc, block[later], (block[later], copy))


def drop_data(proc: Proc, random: Random) -> Proc | None:
    """A statement that reads or writes is left out."""
    found = _some(proc, random, (Assign, Reduce, Call))
    return None if found is None else substituted(proc, found, ())


def _accesses(statement: Statement) -> bool:
    inner = list(statements((statement,)))
    return any(isinstance(s, DATA) for s in inner) and not any(
        isinstance(s, Alloc | AllocBarrier) for s in inner
    )


CHANGES: Final[tuple[tuple[Change, int], ...]] = (
    (drop_fence, 5),
    (weaken, 6),
    (narrow, 3),
    (drop_barrier, 3),
    (drop_await, 1),
    (recount, 2),
    (move, 5),
    (hoist, 2),
    (shift, 4),
    (elsewhere, 2),
    (again, 3),
    (drop_data, 1),
)
"""Every change, with how often it is made in relation to the others."""


def changed(proc: Proc, random: Random) -> tuple[Proc, str] | None:
    """The proc with one change that leaves it well formed, and the name of the change."""
    changes, weights = zip(*CHANGES, strict=True)
    for _ in range(TRIES):
        change = random.choices(changes, weights)[0]
        try:
            made = change(fresh(proc), random)
            if made is not None and made != proc:
                return check(made), change.__name__
        except SoundlineError:
            continue
    return None
