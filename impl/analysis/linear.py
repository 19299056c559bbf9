"""
Linear sums
===========

A whole-number expression as a sum of multiples and a number: ``x*12 + (y*6 + 5)`` is {x: 12, y: 6} and 5. Sums,
differences, negations and products with a constant are read; anything else is a term. On a dtype of fixed width the
coefficients count modulo 2^bits, where all of this holds as well, because wrapping is a homomorphism (U-02).
Unlike in a polynomial (`spec.ops.polynomials`), a product of terms stays as it is written.

A sum is written in one form: the terms in a fixed order, those that are subtracted last, then the number. The order is
by the structure of the terms, so that equal sums of equal terms become one node whatever order they came in.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final
from weakref import WeakKeyDictionary

from soundline.impl.analysis.facts import repeated_constant
from soundline.impl.analysis.folding import repeat
from soundline.spec.dtypes import DType, index, wrap
from soundline.spec.ops.bounds import Known
from soundline.spec.ops.node import Op, Shape, UOp, sources
from soundline.spec.ops.walks import filled
from soundline.spec.rules.procedures import Knowledge
from soundline.spec.uop import const

INFINITE = (math.inf, -math.inf)

READ = frozenset((Op.Add, Op.Sub, Op.Neg, Op.Mul))
"""The ops that are read through."""


COMPARED: Final[Mapping[Op, Callable[[float, float], bool | None]]] = {
    Op.CmpLt: lambda low, high: True if high < 0 else False if low >= 0 else None,
    Op.CmpLe: lambda low, high: True if high <= 0 else False if low > 0 else None,
    Op.CmpGt: lambda low, high: True if low > 0 else False if high <= 0 else None,
    Op.CmpGe: lambda low, high: True if low >= 0 else False if high < 0 else None,
    Op.CmpEq: lambda low, high: False if low > 0 or high < 0 else True if low == high == 0 else None,
    Op.CmpNe: lambda low, high: True if low > 0 or high < 0 else False if low == high == 0 else None,
}
"""What bounds of a difference decide, by the comparison."""


@dataclass(frozen=True, slots=True)
class Linear:
    """Σ coefficient · term + number, at a dtype and shape; no coefficient is zero."""

    dtype: DType
    shape: Shape
    terms: Mapping[UOp, int]
    number: int

    @property
    def steps(self) -> int:
        """How many operations it takes when it is written."""
        count = len(self.terms) + (self.number != 0)
        minus = sum(self._is_minus(c) for c in self.terms.values())
        scaled = sum(c != 1 for c in self.terms.values()) - minus
        return max(0, count - 1) + scaled + (minus == len(self.terms) > 0)

    def _is_minus(self, coefficient: int) -> bool:
        return coefficient == -1 or (self.dtype is not index and coefficient == wrap(self.dtype, -1))

    def node(self) -> UOp:
        """The sum as a node."""
        ordered = sorted(self.terms, key=order_key)
        plus = [t for t in ordered if not self._is_minus(self.terms[t])]
        minus = [t for t in ordered if self._is_minus(self.terms[t])]
        if not ordered:
            return self._constant(self.number)
        if plus:
            total = self._scaled(plus[0])
        else:
            total = Op.Neg(minus.pop(0))
        for t in plus[1:]:
            total = Op.Add(total, self._scaled(t))
        for t in minus:
            total = Op.Sub(total, t)
        return Op.Add(total, self._constant(self.number)) if self.number else total

    def _scaled(self, term: UOp) -> UOp:
        coefficient = self.terms[term]
        return term if coefficient == 1 else Op.Mul(term, self._constant(coefficient))

    def _constant(self, number: int) -> UOp:
        return repeat(const(wrap(self.dtype, number), self.dtype), self.shape)

    def of(self, terms: Mapping[UOp, int], number: int) -> Linear:
        """Another sum of the same dtype and shape."""
        return linear_sum(self.dtype, self.shape, terms, number)

    def plus(self, other: Linear, times: int = 1) -> Linear:
        """The sum with so many times another one of the same dtype and shape."""
        terms = dict(self.terms)
        for term, c in other.terms.items():
            terms[term] = terms.get(term, 0) + times * c
        return self.of(terms, self.number + times * other.number)

    def ends(self, known: Knowledge) -> tuple[float, float] | None:
        """An interval of the exact value; only of ``index``, where nothing wraps. None where it has no value."""
        low: float = self.number  # an exact integer until an end is infinite
        high: float = self.number
        for term, c in self.terms.items():
            bounds: Known = known.bounds(term)
            if bounds is None:
                return None
            a, b = _times(bounds.lo, c), _times(bounds.hi, c)
            low, high = _plus(low, min(a, b)), _plus(high, max(a, b))
        return low, high


def _times(end: float, c: int) -> float:
    """c · end; an infinite end keeps its size."""
    if end in INFINITE:
        return end if c > 0 else -end
    return int(end) * c


def _plus(a: float, b: float) -> float:
    """a + b, exactly; an infinite one wins."""
    if a in INFINITE:
        return a
    return b if b in INFINITE else int(a) + int(b)


def linear_sum(dtype: DType, shape: Shape, terms: Mapping[UOp, int], number: int) -> Linear:
    """A sum with its coefficients in the range of the dtype, and without those that are zero."""
    held = {t: int(wrap(dtype, c)) for t, c in terms.items()}
    return Linear(dtype, shape, {t: c for t, c in held.items() if c}, int(wrap(dtype, number)))


def linear(node: UOp) -> Linear:
    """A node of ``index`` or an integer dtype as a sum."""
    assert node.shape is not None
    terms: dict[UOp, int] = {}
    number = 0
    stack = [(node, 1)]
    while stack:
        top, factor = stack.pop()
        constant = repeated_constant(top)
        if constant is not None:
            number += factor * int(constant.arg.value)
            continue
        match top.op:
            case Op.Add:
                stack += [(top.src[1], factor), (top.src[0], factor)]
            case Op.Sub:
                stack += [(top.src[1], -factor), (top.src[0], factor)]
            case Op.Neg:
                stack.append((top.src[0], -factor))
            case Op.Mul if (scaled := _scaled(top)) is not None:
                stack.append((scaled[0], factor * scaled[1]))
            case _:
                terms[top] = terms.get(top, 0) + factor
    return linear_sum(node.dtype, node.shape, terms, number)


def _scaled(product: UOp) -> tuple[UOp, int] | None:
    """The operand of a product with a constant, and the constant."""
    for k, source in enumerate(product.src):
        constant = repeated_constant(source)
        if constant is not None:
            return product.src[1 - k], int(constant.arg.value)
    return None


def written(node: UOp) -> tuple[int, int]:
    """How many operations of the sum there are in a node, and how often a term stands in it, as a tree."""
    steps, places, stack = 0, 0, [node]
    while stack:
        top = stack.pop()
        if repeated_constant(top) is not None:
            continue
        if top.op not in READ or (top.op is Op.Mul and _scaled(top) is None):
            places += 1
            continue
        steps += 1
        stack += top.src
    return steps, places


_DIGESTS: WeakKeyDictionary[UOp, bytes] = WeakKeyDictionary()


def order_key(node: UOp) -> tuple[int, int, bytes]:
    """A sort key that depends on the structure of a node alone: loops first, by their number; then Params; then all."""
    if node.op is Op.Range:
        return 0, node.arg.id, _digest(node)
    if node.op is Op.Param:
        return 1, node.arg.slot, _digest(node)
    return 2, 0, _digest(node)


def _digest(root: UOp) -> bytes:
    """The digest of a node's structure; without recursion, for deep programs."""

    def law(node: UOp) -> bytes:
        text = f"{node.op.name}\0{node.arg!r}".encode() + b"".join(_DIGESTS[s] for s in node.src)
        return hashlib.blake2b(text, digest_size=12).digest()

    return filled(_DIGESTS, root, sources, law)
