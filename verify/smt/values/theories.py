"""
Theories of licences
====================

A licence is an equational theory, and only that one (U-53). Under some of them two programs are equal where equations
of exactly those licences, and whatever holds of the operations bit for bit, lead from one to the other:

* ``reassociate``: ``(a + b) + c = a + (b + c)`` and the same for Mul: any order of a chain of one op;
* ``reciprocal``: ``a / b = a · (1 / b)``;
* ``contract``: ``a·b + c`` in one rounding or two. No op of the language rounds once, so between programs of the
  language the theory has no equation that does not hold anyway; it is the renderer to which the licence speaks.

``approx``, ``tensor_core`` and ``tf32`` name a bounded replacement each, which is no equation between programs either.
There is no distributivity, no cancellation and no other law of the real numbers.

A side is brought to a *normal form* by equations of the theory: chains sorted and joined to the left, subtraction as
the addition of a negation, division as a product if that is licensed. Sides with one normal form are equal. Otherwise
what the forms have in common is taken off, and what is left is shown by what holds bit for bit.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from soundline.spec.dtypes import same_value, to_bits
from soundline.spec.ops.node import Op, UOp, over
from soundline.spec.ops.walks import filled
from soundline.spec.uop import const
from soundline.spec.values.elementwise import ELEMENTWISE
from soundline.verify.smt.goals.obligations import SCALAR_OPS, Obligation, scalar_nodes, scalar_sources
from soundline.verify.verdicts.layers import ROUNDING

Shown = Callable[[Obligation], bool]
"""Whether an obligation without licences of rounding is proved."""

MOST_ASKED = 12
"""The most remaining goals that are tried for one obligation."""

_TURNED = {Op.CmpGt: Op.CmpLt, Op.CmpGe: Op.CmpLe}
_SORTED = frozenset((Op.Add, Op.Mul, Op.Max, Op.And, Op.Or, Op.Xor, Op.CmpEq, Op.CmpNe))
"""Ops whose operands may be exchanged, bit for bit, at every dtype."""


# Normal forms -----------------------------------------------------------------------------------------------------


class Theory:
    """The equations of some licences."""

    def __init__(self, licences: frozenset[str], *, unsigned: bool = False) -> None:
        self.any_order = "reassociate" in licences
        self.by_reciprocal = "reciprocal" in licences
        self.unsigned = unsigned
        """Whether the sign of a zero does not matter at the end of a chain that is the side itself."""
        self._known: dict[UOp, UOp] = {}

    def normal(self, root: UOp) -> UOp:
        """The normal form of a side."""

        def law(node: UOp) -> UOp:
            return self._of(
                over(node, tuple(self._known[s] for s in node.src)) if node.op in SCALAR_OPS else node
            )

        form = filled(self._known, root, scalar_sources, law)
        return self._without_signs(form) if self.unsigned and self.any_order and root.dtype.is_float else form

    def parts(self, form: UOp) -> list[UOp]:
        """The members of a chain of Add or Mul."""
        return list(_flat(form, form.op)) if self.any_order else list(form.src)

    def _without_signs(self, form: UOp) -> UOp:
        """A sum up to the sign of zeros: negated sums are sums of what is negated, and zeros are gone."""
        terms = [part for term in _flat(form, Op.Add) for part in _opened(term)]
        kept = [t for t in terms if not (t.op is Op.Const and t.arg.value == 0)]
        return _chained(Op.Add, kept or terms[:1])

    def _of(self, node: UOp) -> UOp:
        """The normal form of an op on normal forms."""
        if node.op not in SCALAR_OPS:
            return node
        if node.dtype.is_float and (law := _FLOATS.get(node.op)) is not None:
            return law(self, node)
        if node.op in _TURNED:
            return UOp(_TURNED[node.op], (node.src[1], node.src[0]), node.arg)
        if node.op in _SORTED:
            return UOp(node.op, tuple(sorted(node.src, key=key_of)), node.arg)
        return node

    def sum_of(self, terms: Sequence[UOp]) -> UOp:
        """Terms added: all members of a chain, or two."""
        if self.any_order:
            terms = [part for t in terms for part in _flat(t, Op.Add)]
        return _chained(Op.Add, terms)

    def product_of(self, factors: Sequence[UOp]) -> UOp:
        """Factors multiplied, with one sign before all of them: the sign of a product is that of its factors."""
        if self.any_order:
            factors = [part for f in factors for part in _flat_product(f)]
        signs, plain = zip(*map(_without_sign, factors), strict=True)
        found = _chained(Op.Mul, plain)
        return _negated(found) if sum(signs) % 2 else found

    def quotient(self, a: UOp, b: UOp) -> UOp:
        """A quotient, or the product that it is by licence."""
        (s, a), (t, b) = _without_sign(a), _without_sign(b)
        if _is(a, 1.0) or self.by_reciprocal:
            inverse = _computed(UOp(Op.Recip, (b,)))
            found = inverse if _is(a, 1.0) else self.product_of([a, inverse])
        else:
            found = _computed(UOp(Op.Div, (a, b)))
        return _negated(found) if s != t else found


def _add(theory: Theory, node: UOp) -> UOp:
    return theory.sum_of(node.src)


def _sub(theory: Theory, node: UOp) -> UOp:
    return theory.sum_of((node.src[0], _negated(node.src[1])))


def _mulacc(theory: Theory, node: UOp) -> UOp:
    return theory.sum_of((theory.product_of(node.src[:2]), node.src[2]))


_FLOATS: dict[Op, Callable[[Theory, UOp], UOp]] = {
    Op.Add: _add,
    Op.Sub: _sub,
    Op.Mulacc: _mulacc,
    Op.Neg: lambda theory, node: _negated(node.src[0]),
    Op.Mul: lambda theory, node: theory.product_of(node.src),
    Op.Div: lambda theory, node: theory.quotient(*node.src),
    Op.Recip: lambda theory, node: theory.quotient(const(1.0, node.dtype), node.src[0]),
    Op.Max: lambda theory, node: _chained(Op.Max, list(dict.fromkeys(_flat(node, Op.Max)))),
}
"""How an op on normal forms of floats becomes one."""


def _flat(form: UOp, op: Op) -> Iterator[UOp]:
    if form.op is op:
        for source in form.src:
            yield from _flat(source, op)
    else:
        yield form


def _opened(term: UOp) -> Iterator[UOp]:
    if term.op is Op.Neg and term.src[0].op is Op.Add:
        yield from map(_negated, _flat(term.src[0], Op.Add))
    else:
        yield term


def _flat_product(form: UOp) -> Iterator[UOp]:
    negated, plain = _without_sign(form)
    if negated:
        yield const(-1.0, form.dtype)
    yield from _flat(plain, Op.Mul)


def _chained(op: Op, members: Sequence[UOp]) -> UOp:
    """Members joined to the left in their order, without those that change nothing, bit for bit."""
    dtype = members[0].dtype
    nothing = {Op.Add: -0.0, Op.Mul: 1.0}.get(op)
    kept = sorted((m for m in members if nothing is None or not _is(m, nothing)), key=key_of)
    if not kept:
        assert nothing is not None
        return const(nothing, dtype)
    return functools.reduce(lambda a, b: _computed(UOp(op, (a, b))), kept)


def _negated(form: UOp) -> UOp:
    if form.op is Op.Neg:
        return form.src[0]
    return const(-form.arg.value, form.dtype) if form.op is Op.Const else UOp(Op.Neg, (form,))


def _without_sign(form: UOp) -> tuple[bool, UOp]:
    """Whether a factor is negated, and what it is without that."""
    if form.op is Op.Neg:
        return True, form.src[0]
    if form.op is Op.Const and form.arg.value < 0:
        return True, const(-form.arg.value, form.dtype)
    return False, form


def _is(form: UOp, value: float) -> bool:
    return form.op is Op.Const and form.dtype.is_float and same_value(form.dtype, form.arg.value, value)


def _computed(node: UOp) -> UOp:
    """An op on constants as the constant that it gives; any other as it is."""
    if any(s.op is not Op.Const for s in node.src):
        return node
    return const(ELEMENTWISE[node.op](node.dtype, *(s.arg.value for s in node.src)), node.dtype)


def key_of(form: UOp) -> str:
    """What a form is sorted by: constants first, so that they are computed with one another."""
    found: dict[UOp, str] = {}
    for node in scalar_nodes(form):
        if node.op is Op.Const:
            found[node] = (
                f"0 {node.dtype} {to_bits(node.dtype, node.arg.value):b}" if node.dtype.bits else repr(node)
            )
        elif node.op in SCALAR_OPS:
            found[node] = f"1 {node.op.name} {node.arg} ({', '.join(found[s] for s in node.src)})"
        else:
            found[node] = f"2 {node!r}"
    return found[form]


# Proofs -----------------------------------------------------------------------------------------------------------


def derived(obligation: Obligation, shown: Shown) -> bool:
    """Whether the sides of an obligation are equal in the theory of its licences."""
    exact = obligation.licences - set(ROUNDING)
    theory = Theory(obligation.licences, unsigned="no_signed_zero" in exact)
    left, right = theory.normal(obligation.left), theory.normal(obligation.right)
    if left is right:
        return True
    stated = replace(obligation, hypotheses=(*obligation.hypotheses, *_numbers(obligation)), goal=None)
    whole = replace(stated, left=left, right=right, licences=exact & {"no_signed_zero"})
    rest = _left_over(theory, left, right)
    if rest == [(left, right)] or len(rest) > MOST_ASKED:
        return shown(whole)
    parts = (replace(stated, left=a, right=b, licences=frozenset()) for a, b in rest)
    return all(p.left.dtype is p.right.dtype and shown(p) for p in parts) or shown(whole)


def _numbers(obligation: Obligation) -> Iterator[UOp]:
    """What ``no_nan`` promises: that no float of the left side is NaN."""
    if "no_nan" in obligation.licences:
        for node in scalar_nodes(obligation.left):
            if node.dtype.is_float:
                yield UOp(Op.CmpEq, (node, node))


def _left_over(theory: Theory, left: UOp, right: UOp) -> list[tuple[UOp, UOp]]:
    """Goals from which the equality of two forms follows: what they do not have in common."""
    if left is right:
        return []
    if (
        left.op is not right.op
        or left.op not in SCALAR_OPS
        or (left.dtype, left.arg) != (right.dtype, right.arg)
    ):
        return [(left, right)]
    if left.op in (Op.Add, Op.Mul) and left.dtype.is_float:
        mine, theirs = Counter(theory.parts(left)), Counter(theory.parts(right))
        common = mine & theirs
        a, b = list((mine - common).elements()), list((theirs - common).elements())
        if not common or not a or not b:
            return [(left, right)]
        rest = (_chained(left.op, a), _chained(left.op, b))
        return _left_over(theory, *rest) if theory.any_order or len(a) == len(b) == 1 else [(left, right)]
    if len(left.src) != len(right.src) or [s.dtype for s in left.src] != [s.dtype for s in right.src]:
        return [(left, right)]
    pairs = list(zip(left.src, right.src, strict=True))
    return [goal for a, b in pairs for goal in _left_over(theory, a, b)]
