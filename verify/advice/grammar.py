"""
What a condition may say
========================

The literals of which conditions are made up, for one rule: signs, order, divisibility, equal values at both ends of an
interval, no overflow, dtypes; and for rules about shapes also literals on axes, offsets, permutations and flags. They
use the variables of the rule's left side. An Interval is represented by its bounds, because only these are known when a
rule is applied.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations, permutations

from soundline.spec.dtypes import DType, bool_, index
from soundline.spec.ops.node import Op
from soundline.spec.rules.instances import is_about_shapes
from soundline.spec.rules.language import (
    Rule,
    all_axes,
    bits_at_most,
    disjoint,
    fits,
    is_float,
    is_identity,
    is_signed,
    lossless,
    no_axes,
    no_flags,
    preserves_zero,
    subset,
    variables_in,
)
from soundline.spec.rules.terms import (
    DTypeTerm,
    Interval,
    Static,
    Term,
    Value,
    Vector,
    rebuilt,
    show,
    subterms,
)
from soundline.verify.judging.overflow import wrapping_expressions

MOST = 400
"""More literals than this are not tried."""


def literals(stated: Rule, dtypes: Sequence[DType]) -> tuple[Term, ...]:
    """The literals for a rule, plain ones first, each once."""
    found: dict[str, Term] = {}
    for condition in _all(stated, dtypes):
        found.setdefault(show(condition), condition)
    return tuple(found.values())[:MOST]


def _all(stated: Rule, dtypes: Sequence[DType]) -> Iterator[Term]:
    numbers = _numbers(stated)
    whole = bool(dtypes) and all(d.is_int or d is index for d in dtypes)
    yield from _dtypes(stated, dtypes)
    yield from _arrangements(stated)
    for _, group in numbers:
        for t in group:
            yield from _signs(t)
    if any(d.is_float for d in dtypes):
        yield from (t == t for _, group in numbers for t in group)  # not NaN
    for sort, group in numbers:
        for a, b in combinations(group, 2):
            yield from _orders(a, b)
        if whole or sort == "index":
            yield from (a % b == 0 for a, b in permutations(group, 2))
    yield from _truths(stated)
    yield from _known_expressions(stated)
    yield from _same_at_both_ends(stated)
    if is_about_shapes(stated):
        yield from _axes(stated)
    ints = [d for d in dtypes if d.is_int]
    if ints:
        yield from map(fits, sorted(wrapping_expressions(stated, ints[0]), key=lambda e: len(show(e))))


def _signs(t: Value) -> Iterator[Value]:
    yield from (t != 0, t >= 0, t > 0, t <= 0, t < 0, t == 0, t == 1)


def _orders(a: Value, b: Value) -> Iterator[Value]:
    yield from (a <= b, b <= a, a < b, b < a, a != b, a == b)


# values -----------------------------------------------------------------------------------------------------------


def _numbers(stated: Rule) -> list[tuple[str, list[Value]]]:
    """The numbers that the left side names, in groups of one dtype."""
    groups: dict[str, list[Value]] = {}
    known = variables_in(stated.left)
    for name, kind in stated.kinds.items():
        variable = stated.variables[name]
        if name not in known and not (kind.kind == "Size" and is_about_shapes(stated)):
            continue
        if not isinstance(variable, Value) or kind.kind not in _NUMBERS or kind.inside == (bool_,):
            continue
        sort = "index" if kind.kind == "Size" else " ".join(map(str, kind.inside))
        ends = [variable.lo, variable.hi] if isinstance(variable, Interval) else [variable]
        groups.setdefault(sort, []).extend(ends)
    return list(groups.items())


def _truths(stated: Rule) -> Iterator[Value]:
    for name, kind in stated.kinds.items():
        if kind.kind == "Bool" and name in variables_in(stated.left):
            variable = stated.variables[name]
            assert isinstance(variable, Value)
            yield from (variable, ~variable)


def _known_expressions(stated: Rule) -> Iterator[Value]:
    """Signs of expressions that are known when the rule is applied, because they hold constants and bounds only."""
    for side in (stated.left, stated.right):
        for t in subterms(side):
            if isinstance(t, Value) and isinstance(t.head, Op) and is_known(t, stated) and variables_in(t):
                yield from _signs(t)


def is_known(term: Term, stated: Rule) -> bool:
    """Whether a term's value is known when a rule is applied."""
    if term.head in ("literal", "lo", "hi"):
        return True
    if term.head == "var":
        return stated.kinds[term.args[0]].kind == "Const"
    parts = [a for a in term.args if isinstance(a, Term)]
    return bool(parts) and isinstance(term.head, Op) and all(is_known(p, stated) for p in parts)


def _same_at_both_ends(stated: Rule) -> list[Value]:
    """That an expression over an Interval has one value at both of its bounds."""
    found: list[Value] = []
    for name, kind in stated.kinds.items():
        x = stated.variables[name]
        if kind.kind != "Interval" or not isinstance(x, Interval):
            continue
        for side in (stated.left, stated.right):
            for t in subterms(side):
                if isinstance(t, Value) and isinstance(t.head, Op) and name in variables_in(t):
                    low, high = (_at_end(t, name, end) for end in (x.lo, x.hi))
                    if is_known(low, stated):
                        found.append(low == high)
    return sorted(found, key=lambda c: len(show(c)))


def _at_end(term: Value, name: str, end: Value) -> Value:
    """A term with one bound of an interval in place of its value and of its other bound."""
    if term.head in ("lo", "hi") and term.args[0].args[0] == name:
        return end
    if term.head == "var":
        return end if term.args[0] == name else term
    return rebuilt(term, lambda a: _at_end(a, name, end) if isinstance(a, Value) else a)


# dtypes -----------------------------------------------------------------------------------------------------------


def _dtypes(stated: Rule, dtypes: Sequence[DType]) -> Iterator[Static]:
    terms = _dtype_terms(stated)
    if not any(k.kind == "DTypeVar" for k in stated.kinds.values()) and len(dtypes) < 2:
        return
    for t in terms:
        yield from (is_signed(t), ~is_signed(t), is_float(t), ~is_float(t))
    for s, t in permutations(terms, 2):
        yield from (lossless(s, t), bits_at_most(s, t))
    for s, t in combinations(terms, 2):
        yield from (s == t, s != t)


def _dtype_terms(stated: Rule) -> list[DTypeTerm]:
    """The dtypes that a condition can name: the rule's own, by its first value, and the dtype variables."""
    found: list[DTypeTerm] = []
    for name, kind in stated.kinds.items():
        variable = stated.variables[name]
        if isinstance(variable, DTypeTerm):
            found.append(variable)
        elif isinstance(variable, Value) and not kind.inside and kind.kind in _OF_THE_RULE:
            found.append(variable.dtype)
    own = [t for t in found if t.head == "dtype of"]
    return [*own[:1], *(t for t in found if t.head != "dtype of")]


_NUMBERS = ("Value", "Const", "Interval", "Size")
_OF_THE_RULE = ("Value", "Const", "Interval", "Tensor")


# shapes -----------------------------------------------------------------------------------------------------------


def _arrangements(stated: Rule) -> Iterator[Static]:
    """Permutations, flags and ops."""
    by_kind: dict[str, list[Term]] = {}
    for name, kind in stated.kinds.items():
        by_kind.setdefault(kind.kind, []).append(stated.variables[name])
    for p in by_kind.get("Perm", []):
        yield from (is_identity(p), ~is_identity(p))  # type: ignore[arg-type]
    for f in by_kind.get("Flags", []):
        yield from (no_flags(f), no_flags(~f))  # type: ignore[arg-type,operator]
    for a in by_kind.get("Axes", []):
        yield from (no_axes(a), all_axes(a))  # type: ignore[arg-type]
    for a, b in permutations(by_kind.get("Axes", []), 2):
        yield from (disjoint(a, b), subset(a, b))  # type: ignore[arg-type]
    for same in (by_kind.get("Axes", []), by_kind.get("Perm", []), by_kind.get("Flags", [])):
        for a, b in combinations(same, 2):
            yield from (a == b, a != b)  # type: ignore[misc]
    for op in (*by_kind.get("UnaryOp", []), *by_kind.get("BinaryOp", [])):
        yield preserves_zero(op)


def _axes(stated: Rule) -> Iterator[Value]:
    """What shapes and offsets have in common, and what is in range, on every axis."""
    vectors: list[tuple[str, Vector]] = []
    for name, kind in stated.kinds.items():
        variable = stated.variables[name]
        if isinstance(variable, Vector):
            vectors.append((kind.kind, variable))
        elif kind.kind == "Tensor" and isinstance(variable, Value) and not _has_sizes(kind.inside):
            vectors.append(("Shape", variable.shape))
    shapes = [v for kind, v in vectors if kind == "Shape"]
    offsets = [v for kind, v in vectors if kind == "Offset"]
    for s in shapes:
        yield from (s >= 1, s == 1, s == 0)
    for o in offsets:
        yield from (o == 0, o >= 0, o <= 0)
    for a, b in (*combinations(shapes, 2), *combinations(offsets, 2)):
        yield from (a == b, a <= b, b <= a)
    for o in offsets:
        for s in shapes:
            yield from (o <= s, o < s)
    yield from _ranges(offsets, shapes)


def _ranges(offsets: Sequence[Vector], shapes: Sequence[Vector]) -> Iterator[Value]:
    """That one part ends before another does."""
    places = [(o, s) for o in offsets for s in shapes]
    for o, s in places:
        yield from (o + s <= t for t in shapes if t is not s)
    for (o, s), (q, t) in permutations(places, 2):
        if o is not q and s is not t:
            yield o + s <= q + t


def _has_sizes(inside: tuple[object, ...]) -> bool:
    return any(not isinstance(n, DType) for n in inside)


def cost(condition: Term, stated: Rule) -> tuple[int, int, int, str]:
    """A sort key for literals that say the same: equations last, what is known when the rule is applied first."""
    text = show(condition)
    return _is_equation(condition), not is_decidable(condition, stated), len(text), text


def _is_equation(condition: Term) -> bool:
    """Whether a condition leaves one value only; divisibility is none."""
    if condition.head is not Op.CmpEq:
        return False
    return not any(isinstance(a, Value) and a.head in (Op.Mod, Op.Idiv) for a in condition.args)


def is_decidable(condition: Term, stated: Rule) -> bool:
    """Whether a condition speaks only of what is known when the rule is applied: constants, bounds, sizes, dtypes."""
    if isinstance(condition, Static) or condition.head in ("literal", "lo", "hi", "fits", "every axis"):
        return True
    if condition.head == "var":
        return stated.kinds[condition.args[0]].kind in ("Const", "Size")
    return all(is_decidable(a, stated) for a in condition.args if isinstance(a, Term))
