"""
What an expression denotes
==========================

A tensor expression denotes a shape, conditions under which it is valid, and a function from positions to elements. The
function is computed here on symbolic positions: movement ops map the position and go on to their source, elementwise
ops apply at the same position, and an input is read where the position has arrived.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from soundline.spec.arrays.arrays import Invalid
from soundline.spec.dtypes import DType, bool_, index
from soundline.spec.evaluation.values import identity
from soundline.spec.ops.node import Op, Size, UOp
from soundline.spec.ops.sizes import sizes_of
from soundline.spec.ops.table import group_of
from soundline.verify.smt.elements.atoms import Origin
from soundline.verify.smt.elements.bits import BIT_LAWS
from soundline.verify.smt.elements.elements import (
    CONNECTIVES,
    Bools,
    Bottom,
    Choice,
    Constant,
    Element,
    Number,
    Read,
    Reduction,
    Truth,
    Unsupported,
    atoms,
    choice,
    constant,
    of_equals,
    operation,
    valid_part,
    valid_where,
)
from soundline.verify.smt.elements.indexing import ALWAYS, Index, Path, Space
from soundline.verify.smt.elements.movement import MOVEMENT_LAWS
from soundline.verify.smt.elements.numbers import INDEX_LAWS, rounded_down
from soundline.verify.smt.elements.reductions import FOLD_LAWS
from soundline.verify.smt.integers.formulas import (
    FALSE,
    TRUE,
    Formula,
    at_least_zero,
    conjunction,
    equal,
    implies,
    is_zero,
    less,
    negation,
)
from soundline.verify.smt.integers.polynomials import ONE, ZERO, Poly


class Denotation:
    """Reads the expressions of one instance of a rule; what it learns of positions goes to the space."""

    def __init__(self, space: Space, names: dict[UOp, str]) -> None:
        self.space = space
        self.names = names
        self.bools = Bools()
        self.numbers: dict[str, Read] = {}
        """The reads that stand behind atoms: elements of inputs of dtype ``index``."""
        self.behind: dict[str, Element] = {}
        """All elements of dtype ``index`` that stand behind atoms."""
        self.maxima: dict[str, tuple[Poly, Poly]] = {}
        """The operands of the maxima that stand as atoms."""
        self.quotients: dict[str, tuple[Poly, Poly]] = {}
        """The operands of the quotients that stand as atoms, rounded down."""
        self.powers: dict[str, Poly] = {}
        """The exponents of the powers of two that stand as atoms."""
        self.by_law = False
        """Whether what a dtype is was made use of, so that the elements mean nothing at another dtype."""
        self.licences: frozenset[str] = frozenset()
        """The licences under which the instance is judged (U-09)."""
        self.depth = 0
        """How many reductions the expression stands in that is read now; it names their indices."""
        self.ranges: dict[UOp, Poly] = {}
        """What stands for the Ranges of these reductions."""
        self.opened = 0
        """How many indices of reductions were given a name of their own."""
        self.reductions_compared: int | None = None
        """How many reductions the comparison contains that is going on; one inside it must have fewer."""
        self.compared: dict[tuple[str, str, Path, bool], bool] = {}
        """Whether elements with reductions were shown to be equal along a path."""
        self.settled: Callable[[Any], bool] = self._settled
        """Whether a leaf of a comparison is shown; a court knows more ways to show it."""
        self._elements: dict[tuple[object, ...], Element] = {}

    def _settled(self, leaf: Any) -> bool:
        return self.space.shows_with_equations(leaf.path, leaf.required)

    # scalars ----------------------------------------------------------------------------------------------------

    def size(self, size: Size) -> Poly:
        """A size as a polynomial."""
        return Poly.of(size) if isinstance(size, int) else self.number(self.element(size, (), ALWAYS))

    def shape(self, node: UOp) -> Index:
        """The shape of a value, in normal form."""
        return self._sizes(node.shape)

    def condition(self, node: UOp) -> Formula:
        """A bool scalar as a condition."""
        return self.bools.formula(self.element(node, (), ALWAYS))

    def number(self, element: Element) -> Poly:
        """An element of dtype ``index`` as a polynomial; a choice becomes an atom that the space knows about."""
        if isinstance(element, Number):
            return element.poly
        if isinstance(element, Bottom):
            raise Unsupported("an index that may itself be invalid has no meaning for the prover")
        chosen = self._atom(element)
        if isinstance(element, Choice):
            then, otherwise = self.number(element.then), self.number(element.otherwise)
            self.space.learn(ALWAYS, implies(element.condition, equal(chosen, then)))
            self.space.learn(ALWAYS, implies(negation(element.condition), equal(chosen, otherwise)))
        return chosen

    def _atom(self, element: Element) -> Poly:
        """The atom that stands for an element."""
        if element.key not in self.space.origins:
            free = atoms(element, self.bools.elements)
            again = Origin(free, lambda change, path: self.number(change.element(element, path)))
            self.space.origins[element.key] = again
            self.behind[element.key] = element
            if isinstance(element, Read):
                self.numbers[element.key] = element
        return Poly.of(element.key)

    def _sizes(self, sizes: tuple[Size, ...] | None) -> Index:
        return tuple(self.space.equations.reduce(self.size(s)) for s in sizes or ())

    def named(self, source: UOp) -> Index:
        """The sizes or offsets that a shape source holds, in normal form."""
        return self._sizes(sizes_of(source))

    # reductions ------------------------------------------------------------------------------------------------------

    @contextmanager
    def inside_reduction(self) -> Iterator[None]:
        """Read what is reduced; its Ranges have no meaning outside."""
        before = self.ranges
        self.depth, self.ranges = self.depth + 1, dict(before)
        try:
            yield
        finally:
            self.depth, self.ranges = self.depth - 1, before

    def bind(self, number: int, size: Poly, path: Path) -> tuple[Poly, Path]:
        """An index of the reduction that is entered, from 0 to `size`, and the path inside; an axis of size 1 needs
        none.
        """
        if size == ONE:
            return ZERO, path
        bound = Poly.of(f"${self.depth}.{number}")
        path |= {c for c in map(self.space.reduced, (at_least_zero(bound), less(bound, size))) if c != TRUE}
        self.space.learn(path, less(ZERO, size))
        return bound, path

    def reduced(
        self, op: Op, dtype: DType, indices: Index, sizes: Index, body: Element, path: Path
    ) -> Element:
        """The reduction of a body over the indices that were bound."""
        if ZERO in sizes:
            empty = identity(op, dtype)
            self.by_law = True
            return Bottom(dtype) if isinstance(empty, Invalid) else constant(dtype, empty)
        bound = tuple((next(iter(i.atoms)), size) for i, size in zip(indices, sizes, strict=True) if i.terms)
        if not bound:
            return body
        made = Reduction(dtype, op, bound, body)
        if not (dtype is index and op is Op.Max):
            return made
        below = frozenset[str]().union(*(self.space.base(a) for _, size in bound for a in size.atoms))
        if not below.isdisjoint(atom for atom, _ in bound):
            raise Unsupported("Max of index over a range whose size depends on another has no meaning yet")
        condition, _ = self.guarded(conjunction(less(ZERO, size) for _, size in bound), path)
        return choice(condition, made, Bottom(dtype))

    # elements ---------------------------------------------------------------------------------------------------

    def element(self, node: UOp, at: Index, path: Path) -> Element:
        """The element of a value at a position that lies in its shape along the path."""
        place = (node, at, path, self.depth, *self.ranges.items())
        if place not in self._elements:
            law = LAWS.get(node.op)
            if law is None:
                raise Unsupported(f"{node.op.name} has no meaning for the prover yet")
            self._elements[place] = law(self, node, at, path)
        return self._elements[place]

    def at_same(self, node: UOp, at: Index, path: Path) -> Element:
        """The element of the first source at the same position."""
        return self.element(node.src[0], at, path)

    def operation(self, op: Op, dtype: DType, operands: tuple[Element, ...]) -> Element:
        """An op on elements; one that is computed by its scalar law shows the dtype."""
        made = of_equals(op, operands) or operation(op, dtype, operands)
        self.by_law |= isinstance(made, Constant | Number)
        return made

    def strict(
        self,
        dtype: DType,
        operands: tuple[Element, ...],
        path: Path,
        made: Callable[[tuple[Element, ...], Path], Element],
    ) -> Element:
        """What is made of operands where all of them are valid; else ⊥."""
        for k, operand in enumerate(operands):
            valid = valid_where(operand)
            if valid == FALSE:
                return Bottom(dtype)
            if valid == TRUE:
                continue
            condition, within = self.guarded(valid, path)
            rest = (*operands[:k], valid_part(operand), *operands[k + 1 :])
            return choice(condition, self.strict(dtype, rest, within, made), Bottom(dtype))
        return made(operands, path)

    def guarded(self, condition: Formula, path: Path) -> tuple[Formula, Path]:
        """What is left of a condition where the path is known, and the path along which it holds."""
        parts = condition.parts if condition.kind == "and" else (condition,)
        left = conjunction(p for p in map(self.space.reduced, parts) if not self.space.plainly(path, p))
        return left, path if left == TRUE else path | {left}


# inputs -----------------------------------------------------------------------------------------------------------


def _param(reader: Denotation, node: UOp, at: Index, path: Path) -> Element:
    name = reader.names[node]
    read = Read(node.dtype, name, at, reader.shape(node))
    if node.dtype is not index:
        return read
    return Number(index, reader.number(read) if at else Poly.of(name))


def _const(reader: Denotation, node: UOp, at: Index, path: Path) -> Element:
    return constant(node.dtype, node.arg.value)


# elementwise ------------------------------------------------------------------------------------------------------


def _elementwise(reader: Denotation, node: UOp, at: Index, path: Path) -> Element:
    operands = tuple(reader.element(s, at, path) for s in node.src)
    return reader.strict(node.dtype, operands, path, partial(_of_operands, reader, node))


def _of_operands(reader: Denotation, node: UOp, operands: tuple[Element, ...], path: Path) -> Element:
    """The element of an elementwise op of which every operand is valid."""
    if node.src[0].dtype is index and node.op in INDEX_LAWS:
        numbers = [reader.number(o) for o in operands]
        if node.op in (Op.Idiv, Op.Mod):
            rounded_down(reader, numbers[0], numbers[1], path)
        return INDEX_LAWS[node.op](reader, *numbers)
    if any(isinstance(o, Truth) for o in operands) and node.op in CONNECTIVES:
        return reader.bools.element(CONNECTIVES[node.op](*map(reader.bools.formula, operands)))
    return reader.operation(node.op, node.dtype, operands)


def _where(reader: Denotation, node: UOp, at: Index, path: Path) -> Element:
    """Only the selected element is needed (U-01)."""

    def selected(selector: tuple[Element, ...], path: Path) -> Element:
        condition = reader.space.reduced(reader.bools.formula(selector[0]))
        ways = [path if c == TRUE else path | {c} for c in (condition, negation(condition))]
        then, otherwise = (reader.element(s, at, way) for s, way in zip(node.src[1:], ways, strict=True))
        return choice(condition, then, otherwise)

    return reader.strict(node.dtype, (reader.element(node.src[0], at, path),), path, selected)


def _cast(reader: Denotation, node: UOp, at: Index, path: Path) -> Element:
    """Casts to and from ``index`` are the identity on numbers; others are ops like any other, even to the own dtype."""
    operands = (reader.element(node.src[0], at, path),)
    return reader.strict(node.dtype, operands, path, partial(_cast_of, reader, node))


def _cast_of(reader: Denotation, node: UOp, operands: tuple[Element, ...], path: Path) -> Element:
    (source,) = operands
    if source.dtype is index and node.arg is index:
        return source
    if source.dtype is index and node.arg is bool_:
        return reader.bools.element(negation(is_zero(reader.number(source))))
    if source.dtype is bool_ and node.arg is index:
        return choice(reader.bools.formula(source), constant(index, 1), constant(index, 0))
    cast = operation(Op.Cast, node.arg, (source,))
    return Number(index, reader.number(cast)) if node.arg is index else cast


_ELEMENTWISE = (*group_of("elementwise", "decomposed"), Op.CDiv, Op.CMod)

LAWS: dict[Op, Callable[[Denotation, UOp, Index, Path], Element]] = {
    **dict.fromkeys(_ELEMENTWISE, _elementwise),
    **dict.fromkeys(group_of("marker"), Denotation.at_same),
    Op.Param: _param,
    Op.Const: _const,
    Op.Where: _where,
    Op.Cast: _cast,
    **MOVEMENT_LAWS,
    **FOLD_LAWS,
    **BIT_LAWS,
}
"""The denotation of every op that has one on symbolic positions."""
