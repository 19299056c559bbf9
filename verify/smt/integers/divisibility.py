"""
Given divisibility
==================

What the conditions of an obligation say of divisors, of parity and of powers of two, and what follows for equations of
residues: an odd factor has an inverse modulo 2^w, so it may be cancelled where any other factor may not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from math import gcd
from typing import Any

import z3

from soundline.spec.ops.node import Op, UOp
from soundline.spec.ops.sizes import conjuncts
from soundline.verify.smt.goals.obligations import is_whole
from soundline.verify.smt.integers.polynomials import ZERO, Poly


def divisible(hypotheses: Iterable[UOp]) -> frozenset[UOp]:
    """The remainders that are said to be 0."""
    equal = [pair for pair in map(_compared, conjuncts(*hypotheses)) if pair and pair[0] is Op.CmpEq]
    return frozenset(x for _, x, n in equal if x.op in (Op.Mod, Op.CMod) and n == 0)


def odd(hypotheses: Iterable[UOp]) -> frozenset[UOp]:
    """The nodes that are said to be odd, by their remainder or by their lowest bit."""
    found = set()
    for op, x, n in filter(None, map(_compared, conjuncts(*hypotheses))):
        said = (op is Op.CmpEq and n in (1, -1)) or (op is Op.CmpNe and n == 0)
        by_remainder = x.op in (Op.Mod, Op.CMod) and _number(x.src[1]) in (2, -2)
        if said and by_remainder:
            found.add(x.src[0])
        if said and x.op is Op.And and 1 in map(_number, x.src):
            found.add(x.src[0] if _number(x.src[1]) == 1 else x.src[1])
    return frozenset(found)


def powers_of_two(hypotheses: Iterable[UOp]) -> frozenset[UOp]:
    """The nodes p of which p & (p - 2^k) = 0 is said for some k: 0, the powers of two, and the least value.

    Both have the same k low bits, so these are 0; and of p = 2^k·m it says that m & (m - 1) = 0.
    """
    found = set()
    for op, x, n in filter(None, map(_compared, conjuncts(*hypotheses))):
        if op is Op.CmpEq and n == 0 and x.op is Op.And:
            for p, mask in (x.src, x.src[::-1]):
                if any(x is p and _is_power(n, p) for x, n in _differences(mask)):
                    found.add(p)
    return frozenset(found)


def without_common_bits(hypotheses: Iterable[UOp]) -> frozenset[UOp]:
    """The conjunctions of bits that are said to be 0."""
    equal = [pair for pair in map(_compared, conjuncts(*hypotheses)) if pair and pair[0] is Op.CmpEq]
    return frozenset(x for _, x, n in equal if x.op is Op.And and n == 0)


def _differences(node: UOp) -> Iterator[tuple[UOp, int]]:
    """The x and the numbers n of which a node is x - n."""
    if node.op in (Op.Sub, Op.Add):
        sign = 1 if node.op is Op.Sub else -1
        for x, n in (node.src, node.src[::-1])[: 2 if node.op is Op.Add else 1]:
            number = _number(n)
            if number is not None:
                yield x, sign * number


def _is_power(number: int, node: UOp) -> bool:
    """Whether a number is a power of two, modulo 2^w where the dtype of a node has w bits."""
    bits = number % (1 << node.dtype.bits) if node.dtype.is_int else number
    return bits > 0 and bits & (bits - 1) == 0


def mask_of(node: UOp) -> tuple[UOp, bool] | None:
    """The p of which a node is p - 1, and True; or of which it is -p, and False."""
    if node.op is Op.Neg:
        return node.src[0], False
    if node.op is Op.Sub and _number(node.src[0]) == 0:
        return node.src[1], False
    if node.op is Op.Sub and _number(node.src[1]) == 1:
        return node.src[0], True
    if node.op is Op.Add:
        for p, n in (node.src, node.src[::-1]):
            if _number(n) is not None and _number(n) in (-1, _greatest(node)):
                return p, True
    return None


def _greatest(node: UOp) -> int:
    """-1 as an unsigned number, of an unsigned dtype."""
    return -1 if node.dtype.signed or not node.dtype.is_int else int(node.dtype.max)


def _compared(condition: UOp) -> tuple[Op, UOp, int] | None:
    """The comparison of a node with a number that a condition is."""
    if condition.op not in (Op.CmpEq, Op.CmpNe) or not is_whole(condition.src[0].dtype):
        return None
    for x, n in (condition.src, condition.src[::-1]):
        number = _number(n)
        if number is not None:
            return condition.op, x, number
    return None


def _number(node: UOp) -> int | None:
    return int(node.arg.value) if node.op is Op.Const else None


# Polynomials ------------------------------------------------------------------------------------------------------


def polynomial(
    term: Any, atoms: dict[str, Any], known: Callable[[str], Poly | None] = lambda name: None
) -> Poly:
    """An Int term as a polynomial over its parts that are no sums or products; `known` may give one for an atom."""
    if z3.is_int_value(term):
        return Poly.of(int(term.as_long()))
    negative = term.decl().kind() == z3.Z3_OP_UMINUS
    if negative or z3.is_add(term) or z3.is_mul(term) or z3.is_sub(term):
        parts = [polynomial(child, atoms, known) for child in term.children()]
        total = -parts[0] if negative else parts[0]
        for part in parts[1:]:
            total = total * part if z3.is_mul(term) else total - part if z3.is_sub(term) else total + part
        return total
    name = name_of(term)
    atoms[name] = term
    return known(name) or Poly.of(name)


def name_of(term: Any) -> str:
    """The name of an Int as an atom."""
    return str(term) if z3.is_const(term) else f"#{term.get_id()}"


def without_odd_factors(gap: Poly, is_odd: Callable[[str], bool]) -> Poly:
    """A polynomial that 2^w divides where it divides this one: without the odd factors of all its monomials."""
    if not gap.terms:
        return ZERO
    content = gcd(*gap.terms.values())
    content //= content & -content
    shared = _shared(gap, is_odd)
    kept: dict[tuple[str, ...], int] = {}
    for monomial, n in gap.terms.items():
        rest = list(monomial)
        for atom in shared:
            rest.remove(atom)
        kept[tuple(rest)] = n // content
    return Poly(kept)


def _shared(gap: Poly, is_odd: Callable[[str], bool]) -> list[str]:
    """The odd atoms that every monomial has, as often as every one has them."""
    first, *others = gap.terms
    return [
        atom
        for atom in sorted(set(first))
        if is_odd(atom)
        for _ in range(min(m.count(atom) for m in (first, *others)))
    ]
