"""
Z3's questions as Presburger sets
=================================

A question that Z3 was asked about sizes and positions, read back from its text: where it is linear, isl says whether
any integers meet it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import reduce
from typing import Any

import z3

from soundline.verify.second.isl_planes import Outside, Plane, differ, isl


def is_unsatisfiable(text: str) -> bool:
    """Whether no integers meet the assertions of an SMT-LIB 2 text. Raises `Outside` where that is no such question."""
    try:
        formulas = list(z3.parse_smt2_string(text, ctx=z3.Context()))
    except z3.Z3Exception:  # a name that SMT-LIB 2 has no way to quote, such as one with a bar in it
        raise Outside("a name of the question cannot be read back") from None
    unknowns = {str(x): x for f in formulas for x in _unknowns(f)}
    with isl() as (library, context):
        terms = _Terms(library, context, [x for _, x in sorted(unknowns.items())])
        found = terms.everywhere
        for formula in formulas:
            found &= terms.of(formula)
            if found.is_empty():
                return True
        return False


def _unknowns(formula: Any) -> Iterator[Any]:
    stack, seen = [formula], set()
    while stack:
        term = stack.pop()
        if term.get_id() in seen:
            continue
        seen.add(term.get_id())
        if z3.is_const(term) and term.decl().kind() == z3.Z3_OP_UNINTERPRETED:
            yield term
        stack.extend(term.children())


class _Terms(Plane):
    """Translates integer terms to functions of the unknowns, and formulas to sets."""

    def __init__(self, library: Any, context: Any, unknowns: list[Any]) -> None:
        super().__init__(library, context, len(unknowns))
        self._known: dict[int, Any] = {}
        for k, x in enumerate(unknowns):
            kind = x.sort().kind()
            if kind not in (z3.Z3_INT_SORT, z3.Z3_BOOL_SORT):
                raise Outside("an unknown is not an integer")
            is_bool = kind == z3.Z3_BOOL_SORT
            self._known[x.get_id()] = self.unknown(k).eq_set(self.number(1)) if is_bool else self.unknown(k)

    def of(self, root: Any) -> Any:
        """The function or set of a term."""
        stack = [(root, False)]
        while stack:
            term, ready = stack.pop()
            if term.get_id() in self._known:
                continue
            if not ready:
                stack.append((term, True))
                stack.extend((c, False) for c in term.children())
            else:
                self._known[term.get_id()] = self._made(term)
        return self._known[root.get_id()]

    def _made(self, term: Any) -> Any:
        if z3.is_int_value(term):
            return self.number(term.as_long())
        parts = [self._known[c.get_id()] for c in term.children()]
        kind = term.decl().kind()
        if kind in (z3.Z3_OP_IDIV, z3.Z3_OP_MOD):
            return self._divided(kind, parts[0], term.arg(1))
        if kind in (z3.Z3_OP_EQ, z3.Z3_OP_DISTINCT, z3.Z3_OP_ITE):
            return self._chosen(kind, term, parts)
        if kind not in _LAWS:
            raise Outside(f"{term.decl().name()} is not linear")
        return _LAWS[kind](self, parts)

    def _divided(self, kind: int, a: Any, divisor: Any) -> Any:
        if not z3.is_int_value(divisor) or divisor.as_long() <= 0:
            raise Outside("a divisor that is not a positive number")
        number = divisor.as_long()
        return self.floor(a, number) if kind == z3.Z3_OP_IDIV else self.rest(a, number)

    def _chosen(self, kind: int, term: Any, parts: list[Any]) -> Any:
        is_bool = z3.is_bool(term.children()[-1])
        if kind == z3.Z3_OP_ITE:
            where, a, b = parts
            return (where & a) | (where.complement() & b) if is_bool else self.choice(where, a, b)
        if len(parts) != 2:
            raise Outside("a comparison of more than two")
        unequal = differ(*parts) if is_bool else parts[0].ne_set(parts[1])
        return unequal if kind == z3.Z3_OP_DISTINCT else unequal.complement()


def _reduction(join: Callable[[Any, Any], Any]) -> Callable[[_Terms, list[Any]], Any]:
    return lambda terms, parts: reduce(join, parts)


_LAWS: dict[int, Callable[[_Terms, list[Any]], Any]] = {
    z3.Z3_OP_TRUE: lambda terms, _: terms.everywhere,
    z3.Z3_OP_FALSE: lambda terms, _: terms.nowhere,
    z3.Z3_OP_AND: _reduction(lambda a, b: a & b),
    z3.Z3_OP_OR: _reduction(lambda a, b: a | b),
    z3.Z3_OP_XOR: _reduction(differ),
    z3.Z3_OP_NOT: lambda _, parts: parts[0].complement(),
    z3.Z3_OP_IMPLIES: lambda _, parts: parts[0].complement() | parts[1],
    z3.Z3_OP_ADD: _reduction(lambda a, b: a.add(b)),
    z3.Z3_OP_SUB: _reduction(lambda a, b: a.sub(b)),
    z3.Z3_OP_UMINUS: lambda _, parts: parts[0].neg(),
    z3.Z3_OP_MUL: _reduction(lambda a, b: a.mul(b)),
    z3.Z3_OP_LE: lambda _, parts: parts[0].le_set(parts[1]),
    z3.Z3_OP_LT: lambda _, parts: parts[0].lt_set(parts[1]),
    z3.Z3_OP_GE: lambda _, parts: parts[0].ge_set(parts[1]),
    z3.Z3_OP_GT: lambda _, parts: parts[0].gt_set(parts[1]),
}
"""What the functions and connectives of Z3 are."""
