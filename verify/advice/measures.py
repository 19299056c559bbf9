"""
Measures of terms
=================

A measure gives every term a number: a polynomial in the numbers of its parts, one polynomial for each op. It proves
termination if two conditions hold: every rule makes the number smaller, for all values of the rule's variables; and
every op is strictly monotone in the numbers of its operands. A Cast to index and a Cast to anything else are two ops
here. The polynomials are ``a·x + a·y + … + w`` with a ≥ 1, or ``x·y + x + y + w``; Z3 looks for the numbers a and w.

A constant counts 1, and so does an operation on constants, which the engine evaluates; every other leaf counts 2, so
that all else counts at least 2. A variable may stand for a constant, unless something is known of it. Shapes, offsets
and permutations do not count, because the engine does not rewrite in them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import z3

from soundline.spec.dtypes import DType, all_dtypes, bool_, float32, index, int32
from soundline.spec.ops.node import Op
from soundline.spec.ops.polynomials import Polynomial
from soundline.spec.rules.instances import ops_for
from soundline.spec.rules.language import Rule
from soundline.spec.rules.terms import Tensor, Term, Value, show
from soundline.verify.advice.grammar import is_known

CONSTANT = 1
"""The measure of a constant."""

MOST_WEIGHT = 60
MOST_FACTOR = 3


class Unmeasured(Exception):
    """A term that these measures do not reach."""


@dataclass(frozen=True, eq=False, slots=True)
class Oriented:
    """A rule with ops in the places of its op variables."""

    rule: Rule
    ops: Mapping[str, Op]
    to_index: frozenset[str] = frozenset()
    """The dtypes to which it casts that are index, by name."""
    varying: frozenset[str] = frozenset()
    """The variables that are known to be no constants."""


def oriented(stated: Rule) -> Iterator[Oriented]:
    """The rule at each choice of its ops, and of which of the dtypes to which it casts are index."""
    names = [n for n, k in stated.kinds.items() if k.kind in ("UnaryOp", "BinaryOp")]
    options = [_ops(stated.kinds[n].kind) for n in names]
    casts = [t for side in (stated.left, stated.right) for t in _inner(side) if t.head is Op.Cast]
    dtypes = list(dict.fromkeys(_dtype_name(t.args[1], stated) for t in casts))
    for chosen in product(*options):
        for is_index in product(*(_may_be_index(d, stated) for d in dtypes)):
            known = frozenset(d for d, yes in zip(dtypes, is_index, strict=True) if yes)
            yield Oriented(stated, dict(zip(names, chosen, strict=True)), known)


def _dtype_name(dtype: Any, stated: Rule) -> str:
    """One name for one dtype in a rule: a dtype variable's, a dtype's, or ``""`` for the rule's own."""
    if isinstance(dtype, DType):
        return f" {dtype}"
    if dtype.head == "var":
        return str(dtype.args[0])
    (of,) = dtype.args
    if of.head != "var":
        return f" {show(dtype)}"
    inside = stated.kinds[of.args[0]].inside
    return str(inside[0]) if inside else ""


def _may_be_index(name: str, stated: Rule) -> tuple[bool, ...]:
    """Whether a dtype is index, at each choice of dtypes; both where nothing is known of it."""
    if name.startswith(" ") and name[1:] in _DTYPES:
        return (name[1:] == str(index),)
    options = stated.dtypes if name == "" else stated.dtype_classes.get(name)
    return (False, True) if options is None else tuple(dict.fromkeys(d is index for d in options))


_DTYPES = frozenset(map(str, all_dtypes))


def _ops(kind: str) -> tuple[Op, ...]:
    return tuple(dict.fromkeys(op for d in (int32, float32, bool_, index) for op in ops_for(kind, d)))


class Weighted(Polynomial[str]):
    """A polynomial whose factors Z3 may have to find, so that any of them may turn out to be 0."""

    def __init__(self, terms: Mapping[tuple[str, ...], Any]) -> None:
        self.terms = dict(terms)


@dataclass(eq=False)
class Measure:
    """The polynomials of all ops, with their numbers still to be found.

    `factors` says whether operands may be multiplied by numbers; the ops in `products` multiply their operands.
    """

    factors: bool = False
    products: frozenset[str] = frozenset()
    solver: Any = field(default_factory=lambda: z3.SimpleSolver(ctx=z3.Context()))
    _numbers: dict[str, tuple[Any, Any]] = field(default_factory=dict)

    def of(self, term: Term, at: Oriented) -> Weighted:
        """The polynomial of a term, in its variables. Raises ``Unmeasured``."""
        if is_known(term, at.rule):
            return Weighted.of(CONSTANT)
        if term.head == "var":
            return Weighted.of(term.args[0])
        if term.head in ("entry", "product"):
            return Weighted.of(CONSTANT + 1)  # a number that a shape holds
        symbol, operands = _symbol(term, at)
        parts = [self.of(a, at) for a in operands]
        factor, weight = self._of_symbol(symbol)
        if symbol in self.products and len(parts) == 2:
            parts.append(parts[0] * parts[1])
        else:
            parts = [p * factor for p in parts]
        return sum(parts, start=Weighted({(): weight}))

    def _of_symbol(self, symbol: str) -> tuple[Any, Any]:
        if symbol not in self._numbers:
            weight = z3.Int(f"w {symbol}", self.solver.ctx)
            self.solver.add(weight >= 0, weight <= MOST_WEIGHT)
            factor: Any = 1
            if self.factors:
                factor = z3.Int(f"a {symbol}", self.solver.ctx)
                self.solver.add(factor >= 1, factor <= MOST_FACTOR)
            self._numbers[symbol] = factor, weight
        return self._numbers[symbol]

    def shrinks(self, at: Oriented) -> tuple[Any, Any]:
        """That a rule never makes the number greater, and that it always makes it smaller. Raises ``Unmeasured``."""
        left, right = self.of(at.rule.left, at), self.of(at.rule.right, at)
        beyond = {name: Weighted.of(name) + _least(at, name) for name in at.rule.kinds}
        gap: dict[Any, Any] = (left - right).substituted(beyond).terms  # ≥ 0 if its factors are
        constant = gap.pop((), 0)
        grows = [c >= 0 for c in gap.values() if not isinstance(c, int)]
        plain = all(c >= 0 for c in gap.values() if isinstance(c, int))
        weakly = z3.And(z3.BoolVal(plain, self.solver.ctx), *grows, constant >= 0)
        return weakly, z3.And(weakly, constant >= 1)

    def text(self, model: Any) -> str:
        """What was found, for a reader: the weights that are not 0, the factors that are not 1, the products."""
        parts = ["leaves 1"]
        for symbol, (factor, weight) in sorted(self._numbers.items()):
            w = _number(model, weight)
            a = 1 if isinstance(factor, int) else _number(model, factor)
            if symbol in self.products:
                parts.append(f"{symbol} = x·y + x + y + {w}")
            elif a != 1:
                parts.append(f"{symbol} = {a}·operands + {w}")
            elif w:
                parts.append(f"{symbol} {w}")
        return ", ".join(parts)


def _number(model: Any, variable: Any) -> int:
    return int(model.eval(variable, model_completion=True).as_long())


def _least(at: Oriented, name: str) -> int:
    """The least number of what a variable stands for; a left side that is a variable alone is no constant."""
    alone = at.rule.left.head == "var" and at.rule.left.args[0] == name
    return CONSTANT + 1 if alone or name in at.varying else CONSTANT


def _symbol(term: Term, at: Oriented) -> tuple[str, list[Value]]:
    """The op of a term and the operands that are rewritten."""
    if term.head == "op":
        name, *operands = term.args
        return at.ops[name.args[0]].name, list(operands)
    if not isinstance(term.head, Op) or any(k.kind == "Body" for k in at.rule.kinds.values()):
        raise Unmeasured(show(term))
    operands = [a for a in term.args if isinstance(a, Value)]
    if term.head is Op.Cast and _dtype_name(term.args[1], at.rule) in at.to_index:
        return "Cast to index", operands
    return term.head.name, operands[:1] if term.head in _FIRST_ONLY else operands


_FIRST_ONLY = (Op.Reshape, Op.Expand, Op.Pad, Op.Shrink)
"""Ops whose other operands are sizes."""


def has_tensor(stated: Rule) -> bool:
    """Whether a rule speaks of tensors."""
    return any(isinstance(v, Tensor) for v in stated.variables.values())


def symbols(rules: Sequence[Oriented]) -> list[str]:
    """The ops of two operands on the left sides of these rules."""
    found: dict[str, None] = {}
    for at in rules:
        for term in _inner(at.rule.left):
            try:
                symbol, operands = _symbol(term, at)
            except Unmeasured:
                continue
            if len(operands) == 2:
                found[symbol] = None
    return list(found)


def _inner(term: Term) -> Iterator[Term]:
    if isinstance(term, Value) and (isinstance(term.head, Op) or term.head == "op"):
        yield term
        for part in term.args:
            if isinstance(part, Value):
                yield from _inner(part)
