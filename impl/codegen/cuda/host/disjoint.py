"""
Iterations that share nothing
=============================

Whether the iterations of a ``par`` loop may run on threads of the CPU: no two of them may touch one element that one of
them writes. That is shown, not assumed. Along some dimension of each array that the loop writes, all accesses of an
iteration i have to lie in an interval ``[c * i + a, c * i + b)`` with ``b - a <= c``; the ends are compared as
polynomials, after the iterators inside have been replaced by their least and greatest values. What cannot be shown this
way runs in order, and the reason is told.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from soundline.spec.ops.node import Op
from soundline.spec.ops.polynomials import Polynomial
from soundline.spec.spork.language.expressions import Binary, Const, Expr, Span
from soundline.spec.spork.static.sizes import polynomial
from soundline.spec.spork.static.windows import Window


@dataclass(frozen=True, slots=True)
class Bounded:
    """An iterator of a loop inside, and its bounds."""

    iterator: str
    lo: Expr
    hi: Expr


@dataclass(frozen=True, slots=True)
class Access:
    """An element that is read or written in an iteration, and the loops around it inside of the iteration."""

    window: Window
    writes: bool
    loops: tuple[Bounded, ...]


Ends = tuple[Polynomial[str], Polynomial[str]]


def conflict(iterator: str, accesses: Sequence[Access], natural: frozenset[str]) -> str | None:
    """Why two iterations may touch one element; None where they are shown not to. `natural` are the names that are not
    negative.
    """
    by_array: dict[int, list[Access]] = {}
    for access in accesses:
        by_array.setdefault(id(access.window.of), []).append(access)
    for found in by_array.values():
        if not any(access.writes for access in found):
            continue
        name = found[0].window.of.name
        rank = len(found[0].window.of.sizes)
        if rank == 0:
            return f"every iteration writes {name}"
        if not any(_apart(iterator, found, dimension, natural) for dimension in range(rank)):
            return f"iterations are not shown to touch different elements of {name}"
    return None


def _apart(iterator: str, accesses: Iterable[Access], dimension: int, natural: frozenset[str]) -> bool:
    """Whether the indices of a dimension tell iterations apart."""
    stride: Polynomial[str] | None = None
    ends: list[Ends] = []
    for access in accesses:
        interval = _interval(access.window, dimension)
        split = [
            _split(iterator, end, access.loops, natural, up)
            for end, up in zip(interval, (False, True), strict=True)
        ]
        if split[0] is None or split[1] is None or split[0][0] != split[1][0]:
            return False
        if stride is not None and stride != split[0][0]:
            return False
        stride = split[0][0]
        ends.append((split[0][1], split[1][1]))
    if stride is None:
        return False
    widths = [high - low for _, high in ends for low, _ in ends]
    return all((room := (stride - width).constant) is not None and room >= 0 for width in widths)


def _interval(window: Window, dimension: int) -> tuple[Expr, Expr]:
    """The first index of a dimension, and the first one behind it."""
    found, size = window.indices[dimension], window.of.sizes[dimension]
    if not isinstance(found, Span):
        return found, Binary(Op.Add, found, Const(1))
    return Const(0) if found.lo is None else found.lo, size if found.hi is None else found.hi


def _split(
    iterator: str, end: Expr, loops: Sequence[Bounded], natural: frozenset[str], up: bool
) -> tuple[Polynomial[str], Polynomial[str]] | None:
    """The factor of the iterator in an end of an interval, and the rest at its least or, `up`, at its greatest."""
    found = polynomial(end)
    for loop in reversed(loops):
        factor, rest = found.split(loop.iterator)
        if loop.iterator in factor.atoms or _hidden(loop.iterator, found):
            return None
        sign = _sign(factor, natural)
        if sign is None:
            return None
        last = polynomial(loop.hi) - 1
        found = rest + factor * (last if (sign > 0) == up else polynomial(loop.lo))
    factor, rest = found.split(iterator)
    if iterator in factor.atoms or _hidden(iterator, found):
        return None
    return factor, rest


def _hidden(name: str, found: Polynomial[str]) -> bool:
    """Whether a name stands inside of an atom, such as a quotient."""
    return any(atom != name and re.search(rf"\b{re.escape(name)}\b", atom) for atom in found.atoms)


def _sign(factor: Polynomial[str], natural: frozenset[str]) -> int | None:
    """1 where a polynomial is not negative, -1 where it is not positive; None where that is not known."""
    if not factor.atoms <= natural:
        return None
    numbers = list(factor.terms.values())
    if all(n >= 0 for n in numbers):
        return 1
    return -1 if all(n <= 0 for n in numbers) else None
