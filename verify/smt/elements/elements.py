"""
Elements of tensors
===================

What an element of a tensor expression is, as a term: a read of an input at a symbolic position, a constant, an op on
elements, or a choice between elements by a condition. Elements of dtype ``index`` are polynomials, and bools that
compare such elements are conditions, so that arithmetic on them is decided where sizes are.

An op is *uninterpreted*: two terms are equal where the ops are the same and the operands are equal, which holds at
every dtype. An op whose operands are all constants is computed by the law's own scalar function.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

from soundline.spec.dtypes import DType, bool_, index
from soundline.spec.dtypes import Element as Value
from soundline.spec.ops.node import Op
from soundline.spec.values.elementwise import ELEMENTWISE, bitcast, scalar
from soundline.verify.smt.integers.formulas import (
    FALSE,
    TRUE,
    Formula,
    conjunction,
    disjunction,
    negation,
    opaque,
)
from soundline.verify.smt.integers.polynomials import Poly


class Unsupported(Exception):
    """Something that has no denotation on symbolic positions."""


@dataclass(frozen=True, eq=False)
class Element:
    """A term of a dtype; terms of one key are equal."""

    dtype: DType

    @property
    def key(self) -> str:
        """The term written out."""
        raise TypeError(f"{type(self).__name__} has no text")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Element) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)

    def __repr__(self) -> str:
        return self.key


@dataclass(frozen=True, eq=False, repr=False)
class Read(Element):
    """The element of an input at a position of its shape."""

    name: str
    at: tuple[Poly, ...]
    shape: tuple[Poly, ...]

    @cached_property
    def key(self) -> str:
        """The input and the position."""
        return f"{self.name}[{', '.join(p.key for p in self.at)}]"


@dataclass(frozen=True, eq=False, repr=False)
class Constant(Element):
    """An element that is known; never of dtype ``index``."""

    value: Value

    @cached_property
    def key(self) -> str:
        """The value and dtype; -0.0 is written as such, and every NaN alike."""
        return f"{self.value!r}:{self.dtype}"


@dataclass(frozen=True, eq=False, repr=False)
class Number(Element):
    """An element of dtype ``index``."""

    poly: Poly

    @cached_property
    def key(self) -> str:
        """The polynomial."""
        return self.poly.key


@dataclass(frozen=True, eq=False, repr=False)
class Truth(Element):
    """A bool element that is a condition on sizes, positions and other bools."""

    formula: Formula

    @cached_property
    def key(self) -> str:
        """The condition."""
        return self.formula.key


@dataclass(frozen=True, eq=False, repr=False)
class Apply(Element):
    """An elementwise op on elements; a Cast and a Bitcast go to the term's own dtype."""

    op: Op
    operands: tuple[Element, ...]

    @cached_property
    def key(self) -> str:
        """The call."""
        target = f":{self.dtype}" if self.op in (Op.Cast, Op.Bitcast) else ""
        return f"{self.op.name}{target}({', '.join(o.key for o in self.operands)})"


@dataclass(frozen=True, eq=False, repr=False)
class Choice(Element):
    """`then` where the condition holds, else `otherwise`."""

    condition: Formula
    then: Element
    otherwise: Element

    @cached_property
    def key(self) -> str:
        """The choice."""
        return f"({self.then.key} if {self.condition.key} else {self.otherwise.key})"


@dataclass(frozen=True, eq=False, repr=False)
class Reduction(Element):
    """The reduction of a body, an element in which indices are bound, over all their values in ascending order (U-10).

    The first index is the outermost; the size of one may depend on those before it.
    """

    op: Op
    bound: tuple[tuple[str, Poly], ...]
    """The atoms that stand for the indices, with their sizes."""
    body: Element

    @cached_property
    def key(self) -> str:
        """The reduction."""
        ranges = ", ".join(f"{atom} < {size}" for atom, size in self.bound)
        return f"{self.op.name}{{{self.body.key} | {ranges}}}"


@dataclass(frozen=True, eq=False, repr=False)
class Bottom(Element):
    """The invalid element ⊥."""

    @property
    def key(self) -> str:
        """The sign."""
        return "⊥"


def constant(dtype: DType, value: Value) -> Element:
    """An element that is known."""
    return Number(index, Poly.of(int(value))) if dtype is index else Constant(dtype, value)


def known(element: Element) -> Value | None:
    """The value of an element that is known."""
    if isinstance(element, Constant):
        return element.value
    if isinstance(element, Number):
        return element.poly.constant
    if isinstance(element, Truth) and element.formula in (TRUE, FALSE):
        return element.formula == TRUE
    return None


def choice(condition: Formula, then: Element, otherwise: Element) -> Element:
    """A choice; none where it is decided, or where both ways are the same."""
    if condition == TRUE or then == otherwise:
        return then
    return otherwise if condition == FALSE else Choice(then.dtype, condition, then, otherwise)


def computed(op: Op, dtype: DType, operands: tuple[Element, ...]) -> Element | None:
    """The value of an op on known elements, by the scalar law; None where an operand is not known."""
    values = [known(o) for o in operands]
    if any(v is None for v in values):
        return None
    source = operands[1].dtype if op is Op.Where else operands[0].dtype
    if op is Op.Bitcast:
        return constant(dtype, bitcast(source, values[0], dtype))  # type: ignore[arg-type]  # none is None here
    if op not in ELEMENTWISE:
        return None
    return constant(dtype, scalar(op, source, *values, arg=dtype if op is Op.Cast else None))  # type: ignore[arg-type]


def operation(op: Op, dtype: DType, operands: tuple[Element, ...]) -> Element:
    """An op on elements: strict in ⊥, computed where everything is known, else left as it is."""
    if any(isinstance(o, Bottom) for o in operands):
        return Bottom(dtype)
    value = computed(op, dtype, operands)
    return value if value is not None else Apply(dtype, op, operands)


Operation = Callable[[Op, DType, tuple[Element, ...]], Element]


def of_equals(op: Op, operands: tuple[Element, ...]) -> Element | None:
    """What a comparison of an element with itself says of anything but a float, where NaN differs from itself."""
    if op not in _OF_EQUALS or operands[0].dtype.is_float or operands[0] != operands[1]:
        return None
    return Constant(bool_, _OF_EQUALS[op])


_OF_EQUALS = {
    Op.CmpEq: True,
    Op.CmpLe: True,
    Op.CmpGe: True,
    Op.CmpNe: False,
    Op.CmpLt: False,
    Op.CmpGt: False,
}


def assuming(element: Element, literals: frozenset[Formula], made: Operation = operation) -> Element:
    """The element where these conditions hold: choices that they decide are taken, and ops are made anew."""
    if isinstance(element, Choice):
        if element.condition in literals:
            return assuming(element.then, literals, made)
        if negation(element.condition) in literals:
            return assuming(element.otherwise, literals, made)
        ways = (assuming(way, literals, made) for way in (element.then, element.otherwise))
        return choice(element.condition, *ways)
    if isinstance(element, Apply):
        operands = tuple(assuming(o, literals, made) for o in element.operands)
        return element if operands == element.operands else made(element.op, element.dtype, operands)
    if isinstance(element, Reduction):
        body = assuming(element.body, literals, made)
        return element if body == element.body else Reduction(element.dtype, element.op, element.bound, body)
    return element


def conditions(element: Element) -> list[Formula]:
    """The conditions of the choices in an element, the outermost first."""
    if isinstance(element, Choice):
        return [element.condition, *conditions(element.then), *conditions(element.otherwise)]
    return [c for o in element.operands for c in conditions(o)] if isinstance(element, Apply) else []


def may_be_invalid(element: Element) -> bool:
    """Whether ⊥ occurs in an element."""
    match element:
        case Bottom():
            return True
        case Apply():
            return any(map(may_be_invalid, element.operands))
        case Choice():
            return may_be_invalid(element.then) or may_be_invalid(element.otherwise)
        case Reduction():
            return may_be_invalid(element.body)
    return False


def valid_where(element: Element) -> Formula:
    """A condition without which an element is ⊥; a reduction is taken for valid."""
    match element:
        case Bottom():
            return FALSE
        case Apply():
            return conjunction(map(valid_where, element.operands))
        case Choice():
            then, otherwise = valid_where(element.then), valid_where(element.otherwise)
            if then == otherwise:
                return then
            first = conjunction((element.condition, then))
            return disjunction((first, conjunction((negation(element.condition), otherwise))))
    return TRUE


def valid_part(element: Element) -> Element:
    """What an element is where it is not ⊥, with no choice in it that could be."""
    if isinstance(element, Apply):
        operands = tuple(map(valid_part, element.operands))
        return element if operands == element.operands else Apply(element.dtype, element.op, operands)
    if not isinstance(element, Choice):
        return element
    if isinstance(element.then, Bottom):
        return valid_part(element.otherwise)
    if isinstance(element.otherwise, Bottom):
        return valid_part(element.then)
    return choice(element.condition, valid_part(element.then), valid_part(element.otherwise))


def atoms(element: Element, behind: Mapping[str, Element]) -> frozenset[str]:
    """The atoms that an element depends on; `behind` gives the elements that opaque conditions stand for."""
    match element:
        case Read():
            return frozenset(a for p in element.at for a in p.atoms)
        case Number():
            return frozenset(element.poly.atoms)
        case Truth():
            return atoms_of_condition(element.formula, behind)
        case Apply():
            return frozenset().union(*(atoms(o, behind) for o in element.operands))
        case Choice():
            ways = (atoms(way, behind) for way in (element.then, element.otherwise))
            return atoms_of_condition(element.condition, behind).union(*ways)
        case Reduction():
            sizes = frozenset(a for _, size in element.bound for a in size.atoms)
            return (atoms(element.body, behind) | sizes) - {atom for atom, _ in element.bound}
    return frozenset()


def atoms_of_condition(condition: Formula, behind: Mapping[str, Element]) -> frozenset[str]:
    """The atoms that a condition depends on."""
    if condition.name:
        return atoms(behind[condition.name], behind) if condition.name in behind else frozenset()
    own = frozenset(condition.poly.atoms) if condition.poly is not None else frozenset()
    return own.union(*(atoms_of_condition(p, behind) for p in condition.parts))


def reads(element: Element) -> list[Read]:
    """The reads in an element that has no choices."""
    if isinstance(element, Read):
        return [element]
    return [r for o in element.operands for r in reads(o)] if isinstance(element, Apply) else []


class Bools:
    """Bool elements as conditions, and which elements stand behind opaque conditions."""

    def __init__(self) -> None:
        self.elements: dict[str, Element] = {}

    def formula(self, element: Element) -> Formula:
        """A bool element as a condition."""
        if isinstance(element, Truth):
            return element.formula
        if isinstance(element, Constant):
            return TRUE if element.value else FALSE
        if isinstance(element, Bottom):
            raise Unsupported("a condition that may itself be invalid has no meaning for the prover")
        if isinstance(element, Choice):
            then, otherwise = self.formula(element.then), self.formula(element.otherwise)
            picked = conjunction((element.condition, then))
            return disjunction((picked, conjunction((negation(element.condition), otherwise))))
        if isinstance(element, Apply) and element.op in CONNECTIVES and element.operands[0].dtype is bool_:
            return CONNECTIVES[element.op](*(self.formula(o) for o in element.operands))
        if isinstance(element, Apply) and element.op is Op.CmpNe:  # so it is at every dtype, of NaN as well
            return negation(self.formula(Apply(bool_, Op.CmpEq, element.operands)))
        self.elements[element.key] = element
        return opaque(element.key)

    def element(self, formula: Formula) -> Element:
        """A condition as a bool element."""
        if formula in (TRUE, FALSE):
            return Constant(bool_, formula == TRUE)
        return self.elements[formula.name] if formula.kind == "opaque" else Truth(bool_, formula)


def _differ(a: Formula, b: Formula) -> Formula:
    return disjunction((conjunction((a, negation(b))), conjunction((negation(a), b))))


def _both(a: Formula, b: Formula) -> Formula:
    return conjunction((a, b))


def _either(a: Formula, b: Formula) -> Formula:
    return disjunction((a, b))


CONNECTIVES: dict[Op, Callable[..., Formula]] = {
    Op.And: _both,
    Op.Mul: _both,
    Op.Or: _either,
    Op.Max: _either,
    Op.Not: negation,
    Op.Xor: _differ,
    Op.CmpNe: _differ,
    Op.CmpEq: lambda a, b: negation(_differ(a, b)),
    Op.CmpLt: lambda a, b: _both(negation(a), b),
    Op.CmpGt: lambda a, b: _both(a, negation(b)),
    Op.CmpLe: lambda a, b: _either(negation(a), b),
    Op.CmpGe: lambda a, b: _either(a, negation(b)),
}
"""The ops whose operands are bools, as ways to join conditions (U-14)."""
