"""
What arithmetic on indices denotes
==================================

Sums and products of elements of dtype ``index`` are polynomials. A quotient or a maximum is an atom, which the space is
told the definition of.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Final

from soundline.spec.dtypes import index
from soundline.spec.ops.node import Op
from soundline.spec.values.elementwise import RING, exactly
from soundline.verify.smt.elements.atoms import made_of
from soundline.verify.smt.elements.elements import Element, Number
from soundline.verify.smt.elements.indexing import ALWAYS, Path
from soundline.verify.smt.integers.formulas import (
    Formula,
    at_least_zero,
    at_most,
    conjunction,
    disjunction,
    equal,
    implies,
    is_zero,
    less,
    negation,
)
from soundline.verify.smt.integers.polynomials import ONE, ZERO, Poly, divide

if TYPE_CHECKING:
    from soundline.verify.smt.elements.reader import Reader


def _defined(reader: Reader, name: str, parts: tuple[Poly, Poly], law: Callable[..., Poly]) -> Poly:
    """An atom that a law defines; made again, a quotient is a polynomial where that is shown along the path."""

    def again(a: Poly, b: Poly, path: Path) -> Poly:
        return quotient(reader, a, b, path) if law is _quotient else law(reader, a, b)

    reader.space.origins.setdefault(name, made_of(parts, again))
    return Poly.of(name)


def quotient(reader: Reader, a: Poly, b: Poly, path: Path) -> Poly:
    """⌊a/b⌋: a polynomial where one is shown along the path to be it, else an atom and what is a multiple of b in a."""
    found = reader.space.division(a, b, path)[0]
    if found is not None:
        return found
    often, rest = divide(a, b)
    if not often.terms or not reader.space.plainly(path, less(ZERO, b)):
        often, rest = ZERO, a
    return often + rounded_down(reader, rest, b, path)


def rounded_down(reader: Reader, a: Poly, b: Poly, path: Path) -> Poly:
    """⌊a/b⌋ as an atom; where b is plainly positive, the remainder is plainly below it along the path."""
    found = _quotient(reader, a, b)
    if b.constant is None and reader.space.plainly(path, less(ZERO, b)):
        rest = a - b * found
        reader.space.learn(path, conjunction((at_least_zero(rest), less(rest, b))))
    return found


def _quotient(reader: Reader, a: Poly, b: Poly) -> Poly:
    """⌊a/b⌋, and 0 where b is 0 (U-03): an atom with what defines it, but where a number divides a polynomial."""
    if b.constant:
        exact, rest = divide(a, b)
        if not rest.terms:
            return exact
    q = _defined(reader, f"({a} // {b})", (a, b), _quotient)
    reader.quotients[f"({a} // {b})"] = a, b
    rest = a - b * q
    below = conjunction((at_least_zero(rest), less(rest, b)))
    above = conjunction((at_most(rest, ZERO), less(b, rest)))
    for sign, law in ((less(ZERO, b), below), (less(b, ZERO), above), (is_zero(b), is_zero(q))):
        reader.space.learn(ALWAYS, implies(sign, law))
    return q


def _truncated(reader: Reader, a: Poly, b: Poly) -> Poly:
    """a/b rounded toward zero, and 0 where b is 0: an atom with what defines it."""
    q = _defined(reader, f"({a} ÷ {b})", (a, b), _truncated)
    rest = a - b * q
    small = disjunction(
        (
            conjunction(
                (at_least_zero(a), at_least_zero(rest), disjunction((less(rest, b), less(rest, -b))))
            ),
            conjunction(
                (at_most(a, ZERO), at_most(rest, ZERO), disjunction((less(-rest, b), less(-rest, -b))))
            ),
        )
    )
    reader.space.learn(ALWAYS, implies(negation(is_zero(b)), small))
    reader.space.learn(ALWAYS, implies(is_zero(b), is_zero(q)))
    return q


def maximum(reader: Reader, a: Poly, b: Poly) -> Poly:
    """The greater of two numbers: an atom with what defines it."""
    m = _defined(reader, f"max({a}, {b})", (a, b), maximum)
    reader.maxima[f"max({a}, {b})"] = a, b
    reader.space.learn(
        ALWAYS, conjunction((at_most(a, m), at_most(b, m), disjunction((equal(a, m), equal(b, m)))))
    )
    return m


def _power(reader: Reader, e: Poly, _: Poly = ZERO) -> Poly:
    """2^e: a number, a product of powers where e is a sum of numbers that are plainly not negative, or an atom.

    Of an atom it is known that it is 1 where e is 0, and greater than e where that is greater, and how it is made of
    others whose exponents are not negative. With a negative exponent it may be any number: what shifts by that has no
    value, and that the right side does not is demanded first.
    """
    e = reader.space.equations.reduce(e)
    if e.constant is not None and e.constant >= 0:
        return Poly.of(1 << e.constant)
    for part in (Poly({m: 1 if m else n}) for m, n in e.terms.items() if n > 0):
        if part != e and all(reader.space.plainly(ALWAYS, at_least_zero(p)) for p in (part, e - part)):
            return _power(reader, part) * _power(reader, e - part)
    name = f"2^({e})"
    p = _defined(reader, name, (e, ZERO), _power)
    if name not in reader.powers:
        reader.powers[name] = e
        reader.space.learn(ALWAYS, implies(is_zero(e), equal(p, ONE)))
        reader.space.learn(ALWAYS, implies(less(ZERO, e), less(e, p)))
        for fact in _powers_of_sums(reader.powers, name):
            reader.space.learn(ALWAYS, fact)
    return p


def _powers_of_sums(powers: Mapping[str, Poly], new: str) -> Iterator[Formula]:
    """How a power is made of two others, or helps to make another."""
    of = {e: Poly.of(name) for name, e in powers.items()}
    e = powers[new]
    sums = [(whole, e, whole - e) for whole in of] + [(e, part, e - part) for part in of]
    for whole, one, other in sums:
        places = other.constant or 0
        rest = of.get(other) or (Poly.of(1 << places) if places > 0 else None)
        if rest is not None and one in of and whole in of:
            natural = conjunction((at_least_zero(one), at_least_zero(other)))
            yield implies(natural, equal(of[whole], of[one] * rest))


def _number(law: Callable[..., Poly]) -> Callable[..., Element]:
    return lambda reader, *operands: Number(index, law(reader, *operands))


def _polynomial(law: Callable[..., Poly]) -> Callable[..., Element]:
    return _number(lambda reader, *operands: law(*operands))


def _comparison(law: Callable[[Poly, Poly], Formula]) -> Callable[..., Element]:
    return lambda reader, a, b: reader.bools.element(law(a, b))


INDEX_LAWS: Final = {
    **{op: _polynomial(exactly(op)) for op in RING},
    Op.Max: _number(maximum),
    Op.Idiv: _number(_quotient),
    Op.Mod: _number(lambda reader, a, b: a - b * _quotient(reader, a, b)),
    Op.CDiv: _number(_truncated),
    Op.CMod: _number(lambda reader, a, b: a - b * _truncated(reader, a, b)),
    Op.Shl: _number(lambda reader, a, b: a * _power(reader, b)),
    Op.Shr: _number(lambda reader, a, b: _quotient(reader, a, _power(reader, b))),
    Op.CmpEq: _comparison(equal),
    Op.CmpNe: _comparison(lambda a, b: negation(equal(a, b))),
    Op.CmpLt: _comparison(less),
    Op.CmpLe: _comparison(at_most),
    Op.CmpGt: _comparison(lambda a, b: less(b, a)),
    Op.CmpGe: _comparison(lambda a, b: at_most(b, a)),
}
"""Arithmetic on ``index``: sums and products are polynomials, what is not becomes an atom with its definition."""
