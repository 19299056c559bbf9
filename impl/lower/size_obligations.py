"""
Obligations at every size
=========================

That every access stays inside its storage, for all sizes that are allowed: of an Index that depends on loops whose
bounds are sizes, both ends are polynomials in the sizes, and their distances from the ends of the storage are shown to
be ≥ 0 for all of them. What the gate of an access says of a part of the index may be used.

An end of an index is found one loop at a time: where the index grows with it the end lies at the loop's last value,
where it falls at 0. A polynomial over sizes ``lo ≤ s ≤ hi`` is ≥ 0 if its monomials by themselves say so, or those of
the same polynomial in ``s - lo``.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Mapping

from soundline.impl.analysis import arithmetic
from soundline.impl.arrays.sizes import interval
from soundline.impl.lower.graphs.obligations import Obligation, accesses, conjuncts
from soundline.spec.dtypes import index, int64
from soundline.spec.errors import CompileError
from soundline.spec.ops.sizes import polynomial
from soundline.spec.uop import Op, UOp, param, substitute

Terms = dict[tuple[UOp, ...], int]
Ends = Mapping[UOp, tuple[Terms, Terms]]
"""For a loop, or a part of an index that a gate bounds: its least and greatest value, as polynomials."""


def obligations_at_every_size(kernels: UOp, held: Mapping[UOp, UOp]) -> list[Obligation]:
    """The obligations of all accesses, discharged; raises `CompileError` where one is not. `held` has the number of
    elements of each storage.
    """
    found: dict[Obligation, None] = {}
    for number, kernel in enumerate(kernels.src):
        for access, place, gate in accesses(kernel):
            storage, at = place.src
            how = next((h for h, ok in _ways(at, gate, held[storage]) if ok), None)
            if how is None:
                raise CompileError(
                    f"cannot prove at every size that {access} {at!r} stays inside its storage",
                    rule="U-01",
                    where=f"kernel {number}",
                    hint="compile for numbers",
                )
            known = arithmetic.bounds(at)
            ends = None if known is None else (int(known.lo), int(known.hi))
            found[Obligation(number, access, storage.arg.slot, storage.arg.size, how, ends)] = None
    return list(found)


def _ways(at: UOp, gate: UOp | None, size: UOp) -> Iterator[tuple[str, bool]]:
    yield "proved at every size", fits(at, size, {})
    if gate is not None:
        assumed, ends = _assumed(at, gate)
        yield "guarded at every size", fits(assumed, size, ends)


def fits(at: UOp, size: UOp, ends: Ends) -> bool:
    """Whether 0 ≤ at < size for all values of the loops and sizes."""
    terms = polynomial(at)
    low, high = end_of(terms, ends, greatest=False), end_of(terms, ends, greatest=True)
    if low is None or high is None:
        return False
    room = _sum(polynomial(size), high, -1)
    return is_non_negative(low) and is_non_negative(_sum(room, {(): 1}, -1))


def _assumed(at: UOp, gate: UOp) -> tuple[UOp, Ends]:
    """The index with the parts that a gate bounds replaced, and what is known of those."""
    low: dict[UOp, Terms] = {}
    high: dict[UOp, Terms] = {}
    for part in conjuncts(gate):
        if part.op not in (Op.CmpLt, Op.CmpLe) or part.src[0].dtype is not index:
            continue
        a, b = part.src
        strict: Terms = {(): int(part.op is Op.CmpLt)}
        if a.op is Op.Const:
            low[b] = _sum(polynomial(a), strict, 1)
        else:
            high[a] = _sum(polynomial(b), strict, -1)
    slots = itertools.count(1 << 24)
    names = {node: param(next(slots), index) for node in {**low, **high} if node.op is not Op.Const}
    ends = {}
    for node, name in names.items():
        own = polynomial(node)
        least = low[node] if node in low else end_of(own, {}, greatest=False)
        most = high[node] if node in high else end_of(own, {}, greatest=True)
        if least is not None and most is not None:
            ends[name] = (least, most)
    kept = {node: name for node, name in names.items() if name in ends}
    return substitute(at, kept), ends


def end_of(terms: Terms, ends: Ends, *, greatest: bool) -> Terms | None:
    """The least or greatest value of a polynomial, over the sizes alone; None where it is not found."""
    terms = _rejoined(terms)
    for _ in range(64):
        atom = next((a for m in terms for a in m if a in ends or _moves(a)), None)
        if atom is None:
            return terms
        least, most = ends[atom] if atom in ends else _own_ends(atom, ends)
        rest = {m: n for m, n in terms.items() if atom not in m}
        factor = {_without(m, atom): n for m, n in terms.items() if atom in m}
        if any(atom in m for m in factor):
            return None
        slope = _only_sizes(factor, ends)
        if slope is None:
            return None
        if is_non_negative(slope[0]):
            chosen = most if greatest else least
        elif is_non_negative({m: -n for m, n in slope[1].items()}):
            chosen = least if greatest else most
        else:
            return None
        terms = _sum(rest, _product(factor, chosen), 1)
    return None


def _only_sizes(terms: Terms, ends: Ends) -> tuple[Terms, Terms] | None:
    """The ends of a factor that may depend on other loops."""
    low, high = end_of(terms, ends, greatest=False), end_of(terms, ends, greatest=True)
    return None if low is None or high is None else (low, high)


def _moves(atom: UOp) -> bool:
    """Whether a node takes several values at one size: a loop, what is made of one, or an index that is kept inside."""
    return bool(arithmetic.ranges_of(atom)) or _most(atom) is not None


def _most(atom: UOp) -> Terms | None:
    """The size that an index is kept below or at, as `take` does it: of min(x, s), written -max(-x, -s), that is s."""
    inside = atom.src[0] if atom.op is Op.Cast else atom
    if inside.op is not Op.Neg or inside.src[0].op is not Op.Max:
        return None
    for side in inside.src[0].src:
        size = side.op is Op.Cast and (side.dtype, side.src[0].dtype) == (int64, index)
        if size and not arithmetic.ranges_of(side):
            return {m: -n for m, n in polynomial(side.src[0]).items()}
    return None


def _rejoined(terms: Terms) -> Terms:
    """The polynomial with x for each k·⌊x/k⌋ + x mod k."""
    for atoms, n in terms.items():
        for atom in atoms:
            if atom.op is not Op.Mod:
                continue
            x, k = atom.src
            quotient = _product({(Op.Idiv(x, k),): 1}, polynomial(k))
            rest = _without(atoms, atom)
            wanted = _product({rest: n}, quotient)
            if all(terms.get(m) == c for m, c in wanted.items()):
                left = _sum(_sum(terms, wanted, -1), {atoms: n}, -1)
                return _rejoined(_sum(left, _product({rest: n}, polynomial(x)), 1))
    return terms


def _own_ends(atom: UOp, ends: Ends) -> tuple[Terms, Terms]:
    if atom.op is Op.Range:
        return {}, _sum(polynomial(atom.src[0]), {(): 1}, -1)
    known = arithmetic.bounds(atom)
    assert known is not None
    wide: tuple[Terms, Terms] = {(): int(known.lo)}, {(): int(known.hi)}
    most = _most(atom)
    if most is not None:
        return wide[0], most
    if atom.op is Op.Mod:
        divisor = arithmetic.bounds(atom.src[1])
        if divisor is not None and divisor.lo >= 1:
            return {}, _sum(polynomial(atom.src[1]), {(): 1}, -1)
    if atom.op is Op.Idiv and atom.src[1].op is Op.Const and atom.src[1].arg.value > 0:
        k = int(atom.src[1].arg.value)
        low, high = (end_of(polynomial(atom.src[0]), ends, greatest=g) for g in (False, True))
        return _quotient(low, k) or wide[0], _quotient(high, k) or wide[1]
    return wide


def _quotient(terms: Terms | None, k: int) -> Terms | None:
    """⌊p/k⌋, where k divides every monomial of p but the constant."""
    if terms is None or any(n % k for m, n in terms.items() if m):
        return None
    return {m: n // k for m, n in terms.items()}


def is_non_negative(terms: Terms) -> bool:
    """Whether a polynomial over sizes is ≥ 0 for all of them; a false answer says nothing."""
    if interval(terms)[0] >= 0:
        return True
    moved: Terms = {(): 0}
    for atoms, n in terms.items():
        part: Terms = {(): n}
        for atom in atoms:
            known = arithmetic.bounds(atom)
            assert known is not None
            part = _product(part, {(atom,): 1, (): int(known.lo)})
        moved = _sum(moved, part, 1)
    return all(n >= 0 for n in moved.values())


def _without(atoms: tuple[UOp, ...], atom: UOp) -> tuple[UOp, ...]:
    rest = list(atoms)
    rest.remove(atom)
    return tuple(rest)


def _sum(a: Terms, b: Terms, sign: int) -> Terms:
    total = Counter(a)
    for m, n in b.items():
        total[m] += sign * n
    return {m: n for m, n in total.items() if n}


def _product(a: Terms, b: Terms) -> Terms:
    total: Counter[tuple[UOp, ...]] = Counter()
    for (p, m), (q, n) in itertools.product(a.items(), b.items()):
        total[tuple(sorted((*p, *q), key=id))] += m * n
    return {m: n for m, n in total.items() if n}
