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

from soundline.spec.arrays import Invalid
from soundline.spec.dtypes import DType, bool_, index, zero_of
from soundline.spec.node import Size, UOp
from soundline.spec.op_schema import Op
from soundline.spec.ops import group_of
from soundline.spec.sizes import sizes_of
from soundline.spec.values import identity
from soundline.verify.smt.elements import (
    CONNECTIVES,
    Bools,
    Bottom,
    Choice,
    Constant,
    Element,
    Fold,
    Number,
    Read,
    Truth,
    Unsupported,
    atoms,
    choice,
    constant,
    of_equals,
    operation,
)
from soundline.verify.smt.formulas import (
    TRUE,
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
from soundline.verify.smt.indexing import ALWAYS, Index, Path, Space
from soundline.verify.smt.origins import Origin, made_of
from soundline.verify.smt.polynomials import ONE, ZERO, Poly


class Reader:
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
        self.by_law = False
        """Whether what a dtype is was made use of, so that the elements mean nothing at another dtype."""
        self.licences: frozenset[str] = frozenset()
        """The licences under which the instance is judged (U-09)."""
        self.depth = 0
        """How many folds the expression stands in that is read now; it names their indices."""
        self.ranges: dict[UOp, Poly] = {}
        """What stands for the Ranges of these folds."""
        self.opened = 0
        """How many indices of folds were given a name of their own."""
        self.folds_compared: int | None = None
        """How many folds the comparison contains that is going on; one inside it must have fewer."""
        self.compared: dict[tuple[str, str, Path], bool] = {}
        """Whether elements with folds were shown to be equal along a path."""
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

    # folds ------------------------------------------------------------------------------------------------------

    @contextmanager
    def inside_fold(self) -> Iterator[None]:
        """Read what is folded; its Ranges have no meaning outside."""
        before = self.ranges
        self.depth, self.ranges = self.depth + 1, dict(before)
        try:
            yield
        finally:
            self.depth, self.ranges = self.depth - 1, before

    def bind(self, number: int, size: Poly, path: Path) -> tuple[Poly, Path]:
        """An index of the fold that is entered, from 0 to `size`, and the path inside; an axis of size 1 needs none."""
        if size == ONE:
            return ZERO, path
        bound = Poly.of(f"${self.depth}.{number}")
        path |= {c for c in map(self.space.reduced, (at_least_zero(bound), less(bound, size))) if c != TRUE}
        self.space.learn(path, less(ZERO, size))
        return bound, path

    def folded(
        self, op: Op, dtype: DType, indices: Index, sizes: Index, body: Element, path: Path
    ) -> Element:
        """The fold of a body over the indices that were bound."""
        if ZERO in sizes:
            empty = identity(op, dtype)
            self.by_law = True
            return Bottom(dtype) if isinstance(empty, Invalid) else constant(dtype, empty)
        bound = tuple((next(iter(i.atoms)), size) for i, size in zip(indices, sizes, strict=True) if i.terms)
        if not bound:
            return body
        made = Fold(dtype, op, bound, body)
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
            if isinstance(operand, Bottom):
                return Bottom(dtype)
            if not (isinstance(operand, Choice) and Bottom in (type(operand.then), type(operand.otherwise))):
                continue
            first = isinstance(operand.otherwise, Bottom)
            valid = operand.condition if first else negation(operand.condition)
            condition, within = self.guarded(valid, path)
            rest = (*operands[:k], operand.then if first else operand.otherwise, *operands[k + 1 :])
            return choice(condition, self.strict(dtype, rest, within, made), Bottom(dtype))
        return made(operands, path)

    def guarded(self, condition: Formula, path: Path) -> tuple[Formula, Path]:
        """What is left of a condition where the path is known, and the path along which it holds."""
        parts = condition.parts if condition.kind == "and" else (condition,)
        left = conjunction(p for p in map(self.space.reduced, parts) if not self.space.plainly(path, p))
        return left, path if left == TRUE else path | {left}


# inputs -----------------------------------------------------------------------------------------------------------


def _param(reader: Reader, node: UOp, at: Index, path: Path) -> Element:
    name = reader.names[node]
    read = Read(node.dtype, name, at, reader.shape(node))
    if node.dtype is not index:
        return read
    return Number(index, reader.number(read) if at else Poly.of(name))


def _const(reader: Reader, node: UOp, at: Index, path: Path) -> Element:
    return constant(node.dtype, node.arg.value)


# movement ---------------------------------------------------------------------------------------------------------


def _permute(reader: Reader, node: UOp, at: Index, path: Path) -> Element:
    return reader.element(node.src[0], tuple(at[node.arg.index(k)] for k in range(len(at))), path)


def _flip(reader: Reader, node: UOp, at: Index, path: Path) -> Element:
    rows = zip(at, reader.shape(node), node.arg, strict=True)
    return reader.element(node.src[0], tuple(size - 1 - i if flag else i for i, size, flag in rows), path)


def _reshape(reader: Reader, node: UOp, at: Index, path: Path) -> Element:
    source = node.src[0]
    moved = reader.space.unflatten(at, reader.shape(node), reader.shape(source), path)
    return reader.element(source, moved, path)


def _expand(reader: Reader, node: UOp, at: Index, path: Path) -> Element:
    source = node.src[0]
    sizes = reader.shape(source)
    rows = zip(at, sizes, reader.shape(node), strict=True)
    moved = tuple(reader.space.chosen(i, size, new, path) for i, size, new in rows)
    reader.space.inside(path, moved, sizes)
    return reader.element(source, moved, path)


def _pad(reader: Reader, node: UOp, at: Index, path: Path) -> Element:
    source = node.src[0]
    moved = tuple(i - o for i, o in zip(at, reader.named(node.src[1]), strict=True))
    rows = zip(moved, reader.shape(source), strict=True)
    inside = conjunction(c for i, size in rows for c in (at_least_zero(i), less(i, size)))
    condition, within = reader.guarded(inside, path)
    return choice(condition, reader.element(source, moved, within), constant(node.dtype, zero_of(node.dtype)))


def _shrink(reader: Reader, node: UOp, at: Index, path: Path) -> Element:
    source = node.src[0]
    moved = tuple(i + o for i, o in zip(at, reader.named(node.src[1]), strict=True))
    reader.space.inside(path, moved, reader.shape(source))
    return reader.element(source, moved, path)


def _index(reader: Reader, node: UOp, at: Index, path: Path) -> Element:
    source, indices = node.src[0], node.src[1:]
    sizes = reader.shape(source)
    elements: list[Element] = []
    rest = at
    for i in indices:
        here, rest = rest[: len(i.shape or ())], rest[len(i.shape or ()) :]
        elements.append(reader.element(i, here, path))

    def chosen(valid: tuple[Element, ...], path: Path) -> Element:
        place = tuple(map(reader.number, valid))
        rows = zip(place, sizes, strict=False)
        inside = conjunction(c for i, size in rows for c in (at_least_zero(i), less(i, size)))
        condition, within = reader.guarded(inside, path)
        return choice(condition, reader.element(source, (*place, *rest), within), Bottom(node.dtype))

    return reader.strict(node.dtype, tuple(elements), path, chosen)


def _stack(reader: Reader, node: UOp, at: Index, path: Path) -> Element:
    first = reader.space.equations.reduce(at[0])
    if first.constant is not None and 0 <= first.constant < len(node.src):
        return reader.element(node.src[first.constant], at[1:], path)
    if first.constant is not None or not node.src:
        return Bottom(node.dtype)
    found = reader.element(node.src[-1], at[1:], path)  # a position that is read lies inside
    for k in reversed(range(len(node.src) - 1)):
        condition, within = reader.guarded(equal(first, Poly.of(k)), path)
        found = choice(condition, reader.element(node.src[k], at[1:], within), found)
    return found


def _reduce(reader: Reader, node: UOp, at: Index, path: Path) -> Element:
    """A fold over axes in row-major order, or over ranges, the first of which is the outermost (U-10)."""
    with reader.inside_fold():
        indices, sizes, inside = (_bound_ranges if len(node.src) > 1 else _bound_axes)(reader, node, path)
        if ZERO in sizes:
            body: Element = Bottom(node.dtype)
        else:
            own = dict(zip(sorted(node.arg.axes), indices, strict=False))
            body = reader.element(node.src[0], tuple(own.get(k, i) for k, i in enumerate(at)), inside)
    return reader.folded(node.arg.op, node.dtype, indices, sizes, body, path)


def _bound_axes(reader: Reader, node: UOp, path: Path) -> tuple[Index, Index, Path]:
    """Indices along the folded axes, their sizes, and the path on which they lie inside."""
    shape = reader.shape(node.src[0])
    sizes = tuple(shape[k] for k in sorted(node.arg.axes))
    indices: list[Poly] = []
    for number, size in enumerate(sizes):
        found, path = reader.bind(number, size, path)
        indices.append(found)
    return tuple(indices), sizes, path


def _bound_ranges(reader: Reader, node: UOp, path: Path) -> tuple[Index, Index, Path]:
    """The same of ranges; the bound of one may depend on those before it."""
    indices: list[Poly] = []
    sizes: list[Poly] = []
    for number, loop in enumerate(node.src[1:]):
        sizes.append(reader.space.equations.reduce(reader.size(loop.src[0])))
        reader.ranges[loop], path = reader.bind(number, sizes[-1], path)
        indices.append(reader.ranges[loop])
    return tuple(indices), tuple(sizes), path


def _range(reader: Reader, node: UOp, at: Index, path: Path) -> Element:
    if node not in reader.ranges:
        raise Unsupported("a Range that no Reduce closes has no meaning for the prover")
    return Number(index, reader.ranges[node])


# elementwise ------------------------------------------------------------------------------------------------------


def _elementwise(reader: Reader, node: UOp, at: Index, path: Path) -> Element:
    operands = tuple(reader.element(s, at, path) for s in node.src)
    return reader.strict(node.dtype, operands, path, partial(_of_operands, reader, node))


def _of_operands(reader: Reader, node: UOp, operands: tuple[Element, ...], path: Path) -> Element:
    """The element of an elementwise op of which every operand is valid."""
    if node.src[0].dtype is index and node.op in INDEX_LAWS:
        return INDEX_LAWS[node.op](reader, *(reader.number(o) for o in operands))
    if any(isinstance(o, Truth) for o in operands) and node.op in CONNECTIVES:
        return reader.bools.element(CONNECTIVES[node.op](*map(reader.bools.formula, operands)))
    return reader.operation(node.op, node.dtype, operands)


def _where(reader: Reader, node: UOp, at: Index, path: Path) -> Element:
    """Only the selected element is needed (U-01)."""

    def selected(selector: tuple[Element, ...], path: Path) -> Element:
        condition = reader.space.reduced(reader.bools.formula(selector[0]))
        ways = [path if c == TRUE else path | {c} for c in (condition, negation(condition))]
        then, otherwise = (reader.element(s, at, way) for s, way in zip(node.src[1:], ways, strict=True))
        return choice(condition, then, otherwise)

    return reader.strict(node.dtype, (reader.element(node.src[0], at, path),), path, selected)


def _cast(reader: Reader, node: UOp, at: Index, path: Path) -> Element:
    """Casts to and from ``index`` are the identity on numbers; others are ops like any other, even to the own dtype."""
    operands = (reader.element(node.src[0], at, path),)
    return reader.strict(node.dtype, operands, path, partial(_cast_of, reader, node))


def _cast_of(reader: Reader, node: UOp, operands: tuple[Element, ...], path: Path) -> Element:
    (source,) = operands
    if source.dtype is index and node.arg is index:
        return source
    if source.dtype is index and node.arg is bool_:
        return reader.bools.element(negation(is_zero(reader.number(source))))
    if source.dtype is bool_ and node.arg is index:
        return choice(reader.bools.formula(source), constant(index, 1), constant(index, 0))
    cast = operation(Op.Cast, node.arg, (source,))
    return Number(index, reader.number(cast)) if node.arg is index else cast


def _bitcast(reader: Reader, node: UOp, at: Index, path: Path) -> Element:
    if node.src[0].dtype.itemsize != node.arg.itemsize:
        raise Unsupported("Bitcast between item sizes has no meaning for the prover yet")
    return operation(Op.Bitcast, node.arg, (reader.element(node.src[0], at, path),))


# arithmetic of indices --------------------------------------------------------------------------------------------


def _defined(reader: Reader, name: str, parts: tuple[Poly, Poly], law: Callable[..., Poly]) -> Poly:
    """An atom that a law defines; made again, a quotient is a polynomial where that is shown along the path."""

    def again(a: Poly, b: Poly, path: Path) -> Poly:
        return quotient(reader, a, b, path) if law is _quotient else law(reader, a, b)

    reader.space.origins.setdefault(name, made_of(parts, again))
    return Poly.of(name)


def quotient(reader: Reader, a: Poly, b: Poly, path: Path) -> Poly:
    """⌊a/b⌋: a polynomial where one is shown along the path to be it, else an atom."""
    found = reader.space.division(a, b, path)[0]
    return _quotient(reader, a, b) if found is None else found


def _quotient(reader: Reader, a: Poly, b: Poly) -> Poly:
    """⌊a/b⌋, and 0 where b is 0 (U-03): an atom with what defines it."""
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


def _maximum(reader: Reader, a: Poly, b: Poly) -> Poly:
    m = _defined(reader, f"max({a}, {b})", (a, b), _maximum)
    reader.maxima[f"max({a}, {b})"] = a, b
    reader.space.learn(
        ALWAYS, conjunction((at_most(a, m), at_most(b, m), disjunction((equal(a, m), equal(b, m)))))
    )
    return m


def _shifted(reader: Reader, a: Poly, b: Poly) -> Poly:
    """2^b for the constant count b."""
    assert b.constant is not None
    return Poly.of(1 << b.constant)


def _number(law: Callable[..., Poly]) -> Callable[..., Element]:
    return lambda reader, *operands: Number(index, law(reader, *operands))


def _comparison(law: Callable[[Poly, Poly], Formula]) -> Callable[..., Element]:
    return lambda reader, a, b: reader.bools.element(law(a, b))


INDEX_LAWS: dict[Op, Callable[..., Element]] = {
    Op.Add: _number(lambda reader, a, b: a + b),
    Op.Sub: _number(lambda reader, a, b: a - b),
    Op.Mul: _number(lambda reader, a, b: a * b),
    Op.Neg: _number(lambda reader, a: -a),
    Op.Mulacc: _number(lambda reader, a, b, c: a * b + c),
    Op.Max: _number(_maximum),
    Op.Idiv: _number(_quotient),
    Op.Mod: _number(lambda reader, a, b: a - b * _quotient(reader, a, b)),
    Op.CDiv: _number(_truncated),
    Op.CMod: _number(lambda reader, a, b: a - b * _truncated(reader, a, b)),
    Op.Shl: _number(lambda reader, a, b: a * _shifted(reader, a, b)),
    Op.Shr: _number(lambda reader, a, b: _quotient(reader, a, _shifted(reader, a, b))),
    Op.CmpEq: _comparison(equal),
    Op.CmpNe: _comparison(lambda a, b: negation(equal(a, b))),
    Op.CmpLt: _comparison(less),
    Op.CmpLe: _comparison(at_most),
    Op.CmpGt: _comparison(lambda a, b: less(b, a)),
    Op.CmpGe: _comparison(lambda a, b: at_most(b, a)),
}
"""Arithmetic on ``index``: sums and products are polynomials, what is not becomes an atom with its definition."""

_ELEMENTWISE = (*group_of("elementwise", "decomposed"), Op.CDiv, Op.CMod)

LAWS: dict[Op, Callable[[Reader, UOp, Index, Path], Element]] = {
    **dict.fromkeys(_ELEMENTWISE, _elementwise),
    **dict.fromkeys(group_of("marker"), Reader.at_same),
    Op.Param: _param,
    Op.Const: _const,
    Op.Permute: _permute,
    Op.Flip: _flip,
    Op.Reshape: _reshape,
    Op.Expand: _expand,
    Op.Pad: _pad,
    Op.Shrink: _shrink,
    Op.Index: _index,
    Op.Stack: _stack,
    Op.Reduce: _reduce,
    Op.Range: _range,
    Op.Where: _where,
    Op.Cast: _cast,
    Op.Bitcast: _bitcast,
}
"""The denotation of every op that has one on symbolic positions."""
