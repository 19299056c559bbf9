"""
Programs that repeat themselves
===============================

A small random program in loops: what its task does is done again and again, by several tasks perhaps, with what it
allocates outside of the loop or in it. Some statements are done in some iterations only, and some indices are taken
modulo, so that there are stretches of iterations which are alike and places where another stretch begins. That is
where a checker that skips repetitions could go wrong.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import islice
from random import Random

from soundline.spec.errors import SoundlineError
from soundline.spec.ops.node import Op
from soundline.spec.spork.language.expressions import Binary, Const, Expr, Index, Name
from soundline.spec.spork.language.programs import Proc
from soundline.spec.spork.language.statements import (
    CUDA_TASKS,
    SEQ,
    Alloc,
    AllocBarrier,
    Arrive,
    Assign,
    Await,
    Call,
    CudaAsync,
    Fence,
    For,
    If,
    Reduce,
    Statement,
    statements,
)
from soundline.spec.spork.language.well_formedness import check
from soundline.spec.spork.machine.unfolding import unfold
from trials.machine.changes import fresh, substituted
from trials.machine.generator import Drawn, drawn

LOOP = "again"
"""The iterator of the loop."""
MOST_TRIPS = 12
MOST_EVENTS = 300
"""The literal machine takes its time for longer runs."""


def longer(seed: int) -> Drawn | None:
    """The program of a seed in loops; None where the law does not allow it, or it is too long."""
    random = Random(f"longer {seed}")
    found = drawn(random.randrange(1 << 20))
    try:
        proc = check(fresh(_varied(_repeated(fresh(found.proc), random), random)))
        if sum(1 for _ in islice(unfold(proc, {}), MOST_EVENTS)) == MOST_EVENTS:
            return None
    except SoundlineError:
        return None
    return Drawn(seed, f"longer {found.kind}", found.changes, proc)


def _repeated(proc: Proc, random: Random) -> Proc:
    """The proc with a loop around what each task does."""
    tasks = [s for s in statements(proc.body) if isinstance(s, For) and s.mode == CUDA_TASKS]
    if not tasks:
        return proc
    task = tasks[-1]
    first = 0
    if random.random() < 0.6:
        while first < len(task.body) and isinstance(task.body[first], Alloc | AllocBarrier):
            first += 1
    trips = random.randint(3, MOST_TRIPS)
    inner: tuple[Statement, ...] = task.body[first:]
    if random.random() < 0.25:
        inner = (For("within", SEQ, Const(0), Const(random.randint(1, 3)), inner),)
    loop = For(LOOP, SEQ, Const(0), Const(trips), inner)
    count = Const(random.randint(2, 3)) if random.random() < 0.3 else task.hi
    made = replace(task, hi=count, body=(*task.body[:first], loop))
    return substituted(proc, task, (made,))


def _varied(proc: Proc, random: Random) -> Proc:
    """The proc with some statements in some iterations only, and some indices that go around."""
    loops = [s for s in statements(proc.body) if isinstance(s, For) and s.iterator == LOOP]
    if not loops:
        return proc
    for _ in range(random.choice((0, 0, 1, 1, 2, 3))):
        inside = [s for loop in loops for s in statements(loop.body)]
        if random.random() < 0.5:
            proc = _guarded(proc, inside, random)
        else:
            proc = _around(proc, inside, random)
        loops = [s for s in statements(proc.body) if isinstance(s, For) and s.iterator == LOOP]
    return proc


def _guarded(proc: Proc, inside: Sequence[Statement], random: Random) -> Proc:
    kinds = (Assign, Reduce, Call, CudaAsync, Fence, Arrive, Await, For)
    found = [s for s in inside if isinstance(s, kinds)]
    if not found:
        return proc
    one = random.choice(found)
    bound = Const(random.randint(0, MOST_TRIPS - 2))
    again = Name(LOOP)
    condition: Expr = random.choice(
        (
            Binary(Op.CmpLt, again, bound),
            Binary(Op.CmpGe, again, bound),
            Binary(Op.CmpEq, again, bound),
            Binary(Op.CmpEq, Binary(Op.Mod, again, Const(random.randint(2, 4))), Const(0)),
            Binary(Op.CmpLt, Binary(Op.Add, again, Const(2)), bound),
        )
    )
    return substituted(proc, one, (If(condition, (replace(one),)),))


def _around(proc: Proc, inside: Sequence[Statement], random: Random) -> Proc:
    found = [s for s in inside if isinstance(s, Assign | Reduce) and isinstance(s.place, Index)]
    if not found:
        return proc
    one = random.choice(found)
    assert isinstance(one.place, Index)
    at = random.randrange(len(one.place.indices)) if one.place.indices else 0
    old = one.place.indices[at] if one.place.indices else None
    if not isinstance(old, Const | Name | Binary):
        return proc
    step = Binary(
        Op.Mod, Binary(Op.Add, Name(LOOP), Const(random.randint(0, 2))), Const(random.randint(1, 3))
    )
    new = step if isinstance(old, Const) else Binary(Op.Add, old, step)
    indices = (*one.place.indices[:at], new, *one.place.indices[at + 1 :])
    return substituted(proc, one, (replace(one, place=replace(one.place, indices=indices)),))
