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
import math
from collections.abc import Mapping

from soundline.impl.analysis import arithmetic
from soundline.impl.arrays.sizes import interval
from soundline.spec.dtypes import index, int64
from soundline.spec.ops.sizes import SizePolynomial, conjuncts, polynomial
from soundline.spec.uop import Op, UOp, param, substitute

Ends = Mapping[UOp, tuple[SizePolynomial, SizePolynomial]]
"""For a loop, or a part of an index that a gate bounds: its least and greatest value."""
_ZERO = SizePolynomial({})


def fits_at_every_size(at: UOp, size: UOp, gate: UOp | None) -> bool:
    """Whether 0 ≤ at < size at all sizes, and for all values of the loops for which a gate is open."""
    return fits(at, size, {}) if gate is None else fits(*_assumed(at, gate, size))


def fits(at: UOp, size: UOp, ends: Ends) -> bool:
    """Whether 0 ≤ at < size for all values of the loops and sizes."""
    index_at = polynomial(at)
    low, high = end_of(index_at, ends, greatest=False), end_of(index_at, ends, greatest=True)
    if low is None or high is None:
        return False
    return is_non_negative(low) and is_non_negative(polynomial(size) - high - 1)


def _assumed(at: UOp, gate: UOp, size: UOp) -> tuple[UOp, UOp, Ends]:
    """The index with the parts that a gate bounds replaced, the size, and what is known of those parts."""
    low: dict[UOp, SizePolynomial] = {}
    high: dict[UOp, SizePolynomial] = {}
    for part in conjuncts(gate):
        if part.op not in (Op.CmpLt, Op.CmpLe) or part.src[0].dtype is not index:
            continue
        a, b = part.src
        strict = int(part.op is Op.CmpLt)
        if not arithmetic.ranges_of(a):
            low[b] = polynomial(a) + strict
        else:
            high[a] = polynomial(b) - strict
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
    return substitute(at, kept), size, ends


def end_of(at: SizePolynomial, ends: Ends, *, greatest: bool) -> SizePolynomial | None:
    """The least or greatest value of a polynomial, over the sizes alone; None where it is not found."""
    at = _rejoined(at)
    for _ in range(64):
        atom = next((a for m in at.terms for a in m if a in ends or _moves(a)), None)
        if atom is None:
            return at
        own = ends[atom] if atom in ends else _own_ends(atom, ends)
        if own is None:
            return None
        least, most = own
        factor, rest = at.split(atom)
        # The atom may occur in the factor: f · x ≤ f · most where f ≥ 0, whatever f is.
        slope = _only_sizes(factor, ends)
        if slope is None:
            return None
        if is_non_negative(slope[0]):
            chosen = most if greatest else least
        elif is_non_negative(-slope[1]):
            chosen = least if greatest else most
        else:
            return None
        at = rest + factor * chosen
    return None


def _only_sizes(factor: SizePolynomial, ends: Ends) -> tuple[SizePolynomial, SizePolynomial] | None:
    """The ends of a factor that may depend on other loops."""
    low, high = end_of(factor, ends, greatest=False), end_of(factor, ends, greatest=True)
    return None if low is None or high is None else (low, high)


def _moves(atom: UOp) -> bool:
    """Whether a node takes several values at one size: a loop, what is made of one, or an index that is kept inside."""
    return bool(arithmetic.ranges_of(atom)) or any(e is not None for e in _kept(atom))


def _kept(atom: UOp) -> tuple[SizePolynomial | None, SizePolynomial | None]:
    """The sizes that an index is kept between, as `take` does it: max(x, s) is s or more, -max(x, s) at most -s."""
    inside = atom.src[0] if atom.op is Op.Cast else atom
    negated = inside.op is Op.Neg
    inside = inside.src[0] if negated else inside
    for side in inside.src if inside.op is Op.Max else ():
        size = side.src[0] if side.op is Op.Cast and side.dtype is int64 else side
        if size.dtype is index and not arithmetic.ranges_of(size):
            least = polynomial(size)
            return (None, -least) if negated else (least, None)
    return None, None


def _rejoined(at: SizePolynomial) -> SizePolynomial:
    """The polynomial with x for each k·⌊x/k⌋ + x mod k."""
    for atom in (a for atoms in at.terms for a in atoms if a.op is Op.Mod):
        x, k = atom.src
        multiple = SizePolynomial.of(Op.Idiv(x, k)) * polynomial(k)
        for factor in (SizePolynomial({m: n}) for m, n in at.split(atom)[0].terms.items()):
            wanted = factor * multiple
            if wanted.terms.items() <= at.terms.items():
                return _rejoined(at + factor * (polynomial(x) - multiple - SizePolynomial.of(atom)))
    return at


def _own_ends(atom: UOp, ends: Ends) -> tuple[SizePolynomial, SizePolynomial] | None:
    """The least and greatest value of an atom that moves; None if it is not bounded."""
    if atom.op is Op.Range:
        return _ZERO, polynomial(atom.src[0]) - 1
    known = arithmetic.bounds(atom)
    assert known is not None
    if math.isinf(known.lo) or math.isinf(known.hi):
        return None
    wide = SizePolynomial.of(int(known.lo)), SizePolynomial.of(int(known.hi))
    least, most = _kept(atom)
    if least is not None or most is not None:
        return wide[0] if least is None else least, wide[1] if most is None else most
    if atom.op is Op.Mod:
        divisor = arithmetic.bounds(atom.src[1])
        if divisor is not None and divisor.lo >= 1:
            return _ZERO, polynomial(atom.src[1]) - 1
    if atom.op is Op.Idiv and atom.src[1].op is Op.Const and atom.src[1].arg.value > 0:
        k = int(atom.src[1].arg.value)
        low, high = (end_of(polynomial(atom.src[0]), ends, greatest=g) for g in (False, True))
        return _quotient(low, k) or wide[0], _quotient(high, k) or wide[1]
    return wide


def _quotient(end: SizePolynomial | None, k: int) -> SizePolynomial | None:
    """⌊p/k⌋, where k divides every monomial of p but the constant."""
    if end is None or any(n % k for m, n in end.terms.items() if m):
        return None
    return SizePolynomial({m: n // k for m, n in end.terms.items()})


def is_non_negative(size: SizePolynomial) -> bool:
    """Whether a polynomial over sizes is ≥ 0 for all of them; a false answer says nothing."""
    divided: set[UOp] = set()
    while not _has_no_negative(size):
        quotient = next((a for m in size.terms for a in m if a.op is Op.Idiv and a not in divided), None)
        if quotient is None:
            return False
        divided.add(quotient)
        size = _with_remainder(size, quotient)
    return True


def _has_no_negative(size: SizePolynomial) -> bool:
    """Whether the monomials of a polynomial over sizes, or those of the same in ``s - lo``, are all ≥ 0."""
    if interval(size)[0] >= 0:
        return True
    moved = size.substituted({atom: SizePolynomial.of(atom) + _least(atom) for atom in size.atoms})
    return all(n >= 0 for n in moved.terms.values())


def _least(atom: UOp) -> int:
    known = arithmetic.bounds(atom)
    assert known is not None
    return int(known.lo)


def _with_remainder(size: SizePolynomial, quotient: UOp) -> SizePolynomial:
    """A polynomial with x mod k - x for -k·⌊x/k⌋."""
    x, k = quotient.src
    count = k.arg.value if k.op is Op.Const else 0
    rounded = polynomial(x) - SizePolynomial.of(Op.Mod(x, k))
    for atoms, n in size.split(quotient)[0].terms.items():
        if n < 0 < count and n % count == 0:
            part = SizePolynomial({atoms: n // count})
            size = size + part * rounded - part * SizePolynomial.of(quotient) * count
    return size
