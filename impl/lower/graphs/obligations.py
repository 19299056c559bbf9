"""
Obligations
===========

What must hold of a lowered program for its memory accesses to be right, and how each obligation is discharged. For
every Index into storage: the index lies inside it, *proved* by the interval of the index, or *guarded*, which means
that the interval lies inside once the gate of the access is assumed.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from soundline.impl.analysis import arithmetic
from soundline.impl.lower.graphs.rebuilding import under
from soundline.impl.lower.graphs.size_obligations import fits_at_every_size
from soundline.spec.dtypes import index
from soundline.spec.errors import CompileError
from soundline.spec.ops.bounds import Bounds
from soundline.spec.ops.places import base_of
from soundline.spec.ops.sizes import as_node, conjuncts
from soundline.spec.uop import Op, Size, UOp, param, substitute


@dataclass(frozen=True, slots=True)
class Obligation:
    """One access: its kernel, whether it reads or writes, the storage, and how it is known to stay inside."""

    kernel: int
    access: str
    slot: int
    size: int
    how: str
    """``proved``: by the interval of the index; ``guarded``: by that interval where the gate is open."""
    interval: tuple[int, int] | None
    """The index lies in this interval; None where it has no value."""

    def __str__(self) -> str:
        where = (
            "never reached" if self.interval is None else f"index in [{self.interval[0]}, {self.interval[1]}]"
        )
        return f"kernel {self.kernel}: {self.access} of buffer {self.slot}[{self.size}]: {where}, {self.how}"


def obligations(kernels: UOp, held: Mapping[UOp, Size] | None = None) -> list[Obligation]:
    """The obligations of every access of a Linear of Sinks, all discharged; raises `CompileError` where one is not.

    `held` says how many elements of a storage there are where this is a size, and so not all that it has room for.
    """
    held = held or {}
    when = "" if all(isinstance(size, int) for size in held.values()) else " at every size"
    found: dict[Obligation, None] = {}
    for number, kernel in enumerate(kernels.src):
        for access, place, gate in accesses(kernel):
            storage = base_of(place.src[0])
            size = held.get(storage, storage.arg.size)
            how, ends = _discharged(number, access, place, gate, size)
            found[Obligation(number, access, storage.arg.slot, storage.arg.size, how + when, ends)] = None
    return list(found)


def accesses(kernel: UOp) -> Iterator[tuple[str, UOp, UOp | None]]:
    """What each access does, its place, and its gate."""
    for node in under(kernel):
        if node.op is Op.Load and node.src[0].op is Op.Index:
            yield "load", node.src[0], node.src[2] if len(node.src) > 2 else None
        elif node.op is Op.Store:
            yield "store", node.src[0], node.src[2] if len(node.src) > 2 else None


def _discharged(
    kernel: int, access: str, place: UOp, gate: UOp | None, size: Size
) -> tuple[str, tuple[int, int] | None]:
    """How an access is known to stay inside, and the interval of its index."""
    at = place.src[1]
    ways: list[tuple[str, UOp | None]] = [("proved", None)]
    if gate is not None:
        ways.append(("guarded", gate))
    for how, assumed in ways:
        known = _known(at, assumed)
        if _fits(known, size):
            return how, _ends(known)
        if fits_at_every_size(at, as_node(size), assumed):
            return how, _ends(arithmetic.bounds(at))
    raise CompileError(
        f"cannot prove that {access} {at!r} stays inside {size!r} elements; its interval is {known}",
        rule="U-01",
        where=f"kernel {kernel}",
        hint="clamp the index, or give the Param that it comes from bounds",
    )


def _known(at: UOp, gate: UOp | None) -> Bounds | None:
    """The interval of an index, where its gate is open if it has one."""
    if gate is None:
        return arithmetic.bounds(at)
    return None if _contradictory(gate) else arithmetic.bounds(assuming(gate, at))


def _fits(known: Bounds | None, size: Size) -> bool:
    room = arithmetic.bounds(as_node(size))
    return known is None or (room is not None and known.lo >= 0 and known.hi < room.lo)


def _ends(known: Bounds | None) -> tuple[int, int] | None:
    return None if known is None else (int(known.lo), int(known.hi))


def _limits(gate: UOp) -> dict[UOp, tuple[float, float]]:
    """The intervals of the expressions in a gate that its comparisons with constants imply."""
    found: dict[UOp, tuple[float, float]] = {}
    for part in conjuncts(gate):
        if part.op not in (Op.CmpLe, Op.CmpLt) or part.src[0].dtype is not index:
            continue
        a, b = part.src
        strict = part.op is Op.CmpLt
        if arithmetic.is_number(a):
            low = a.arg.value + strict
            lo, hi = found.get(b, _interval(b))
            found[b] = (max(lo, low), hi)
        elif arithmetic.is_number(b):
            high = b.arg.value - strict
            lo, hi = found.get(a, _interval(a))
            found[a] = (lo, min(hi, high))
    return found


def _interval(node: UOp) -> tuple[float, float]:
    known = arithmetic.bounds(node)
    return (1, 0) if known is None else (known.lo, known.hi)


def _contradictory(gate: UOp) -> bool:
    """Whether a gate is never open: it is False, or it leaves no value for an expression."""
    if any(part.op is Op.Const and not part.arg.value for part in conjuncts(gate)):
        return True
    return any(lo > hi for lo, hi in _limits(gate).values())


def assuming(gate: UOp, expression: UOp) -> UOp:
    """`expression` with every part that the gate bounds replaced by a value of which only those bounds are known."""
    slots = itertools.count()
    replacements = {
        part: param(next(slots), index, bounds=(int(lo), int(hi)))
        for part, (lo, hi) in _limits(gate).items()
        if abs(lo) != float("inf") and abs(hi) != float("inf")
    }
    return substitute(expression, replacements)
