"""
Conditions on sizes and indices
===============================

Formulas over polynomials, in negation normal form and kept small as they are made: what is true or false for all values
is decided at once, and equal conditions are equal objects. An *opaque* atom stands for a bool element, of which only
the identity is known here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from soundline.verify.smt.integers.polynomials import Poly

Kind = Literal["true", "false", "ge", "eq", "ne", "opaque", "not opaque", "and", "or"]


@dataclass(frozen=True, eq=False)
class Formula:
    """A condition. `poly` is compared with zero; `name` is an opaque atom; `parts` are joined."""

    kind: Kind
    poly: Poly | None = None
    name: str = ""
    parts: tuple[Formula, ...] = ()

    @cached_property
    def key(self) -> str:
        """The condition written out."""
        match self.kind:
            case "ge" | "eq" | "ne":
                return f"{self.poly} {_SIGNS[self.kind]} 0"
            case "and" | "or":
                return f"({f' {self.kind} '.join(p.key for p in self.parts)})"
            case _:
                return f"{self.kind} {self.name}".replace("opaque ", "")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Formula) and self.key == other.key

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        return hash(self.key)

    def __repr__(self) -> str:
        return self.key

    @property
    def polys(self) -> Iterator[Poly]:
        """The polynomials that occur."""
        if self.poly is not None:
            yield self.poly
        for part in self.parts:
            yield from part.polys


_OPPOSITES = ("opaque", "not opaque", "eq", "ne")
"""The conditions that are seen to be the opposite of one another."""

_SIGNS = {"ge": "≥", "eq": "=", "ne": "≠"}
TRUE = Formula("true")
FALSE = Formula("false")


def at_least_zero(poly: Poly) -> Formula:
    """poly ≥ 0, with the common divisor of the coefficients taken out."""
    if (number := poly.constant) is not None:
        return TRUE if number >= 0 else FALSE
    divisor = math.gcd(*(n for m, n in poly.terms.items() if m))
    return Formula("ge", Poly({m: n // divisor for m, n in poly.terms.items()}))


def at_most(a: Poly, b: Poly) -> Formula:
    """a ≤ b."""
    return at_least_zero(b - a)


def less(a: Poly, b: Poly) -> Formula:
    """a < b."""
    return at_least_zero(b - a - 1)


def is_zero(poly: Poly) -> Formula:
    """poly = 0; the sign is chosen so that the greatest monomial counts positively."""
    if (number := poly.constant) is not None:
        return TRUE if number == 0 else FALSE
    divisor = math.gcd(*(n for m, n in poly.terms.items() if m))
    if poly.terms.get((), 0) % divisor:
        return FALSE
    if poly.lead()[1] < 0:
        divisor = -divisor
    return Formula("eq", Poly({m: n // divisor for m, n in poly.terms.items()}))


def equal(a: Poly, b: Poly) -> Formula:
    """a = b."""
    return is_zero(a - b)


def opaque(name: str) -> Formula:
    """A bool element."""
    return Formula("opaque", name=name)


def negation(f: Formula) -> Formula:
    """Not f."""
    match f.kind:
        case "true":
            return FALSE
        case "false":
            return TRUE
        case "ge":
            assert f.poly is not None
            return at_least_zero(-f.poly - 1)
        case "eq":
            return Formula("ne", f.poly)
        case "ne":
            return Formula("eq", f.poly)
        case "opaque":
            return Formula("not opaque", name=f.name)
        case "not opaque":
            return Formula("opaque", name=f.name)
        case "and":
            return disjunction(negation(p) for p in f.parts)
        case "or":
            return conjunction(negation(p) for p in f.parts)


def conjunction(parts: Iterable[Formula]) -> Formula:
    """All of them."""
    return _joined("and", parts, TRUE, FALSE)


def disjunction(parts: Iterable[Formula]) -> Formula:
    """Any of them."""
    return _joined("or", parts, FALSE, TRUE)


def _joined(kind: Literal["and", "or"], parts: Iterable[Formula], empty: Formula, strong: Formula) -> Formula:
    found: dict[str, Formula] = {}
    for part in parts:
        if part == strong:
            return strong
        for piece in part.parts if part.kind == kind else (part,):
            if piece != empty:
                found[piece.key] = piece
            if piece.kind in _OPPOSITES and negation(piece).key in found:
                return strong
    if len(found) < 2:
        return next(iter(found.values()), empty)
    return Formula(kind, parts=tuple(found[k] for k in sorted(found)))


def implies(a: Formula, b: Formula) -> Formula:
    """b wherever a."""
    return disjunction((negation(a), b))


def conjuncts(f: Formula) -> tuple[Formula, ...]:
    """The conditions that f joins by and."""
    return f.parts if f.kind == "and" else () if f == TRUE else (f,)


def mapped(f: Formula, change: Callable[[Poly], Poly]) -> Formula:
    """The condition with every polynomial replaced."""
    match f.kind:
        case "ge":
            assert f.poly is not None
            return at_least_zero(change(f.poly))
        case "eq" | "ne":
            assert f.poly is not None
            found = is_zero(change(f.poly))
            return found if f.kind == "eq" else negation(found)
        case "and":
            return conjunction(mapped(p, change) for p in f.parts)
        case "or":
            return disjunction(mapped(p, change) for p in f.parts)
        case _:
            return f


def holds(f: Formula, of: Mapping[str, int], elements: Mapping[str, bool]) -> bool:
    """Whether the condition holds where atoms and opaque elements have these values."""
    match f.kind:
        case "true" | "false":
            return f.kind == "true"
        case "opaque" | "not opaque":
            return elements[f.name] is (f.kind == "opaque")
        case "and":
            return all(holds(p, of, elements) for p in f.parts)
        case "or":
            return any(holds(p, of, elements) for p in f.parts)
    assert f.poly is not None
    value = f.poly.value(of)
    return value >= 0 if f.kind == "ge" else (value == 0) is (f.kind == "eq")


def to_z3(f: Formula, z3: Any, atom: Any, number: Any, truth: Any, context: Any) -> Any:
    """The condition as a Z3 term; `truth` makes the term of an opaque name."""
    match f.kind:
        case "true" | "false":
            return z3.BoolVal(f.kind == "true", context)
        case "opaque":
            return truth(f.name)
        case "not opaque":
            return z3.Not(truth(f.name))
        case "and" | "or":
            join = z3.And if f.kind == "and" else z3.Or
            return join(*(to_z3(p, z3, atom, number, truth, context) for p in f.parts))
    assert f.poly is not None
    term, zero = f.poly.z3(atom, number), number(0)
    return term >= zero if f.kind == "ge" else term == zero if f.kind == "eq" else term != zero
