"""
Tests of counts and products
============================

A sum of indices that are not negative is positive where one of them is; a product is not zero where none of its factors
is; and a product of zeros and ones is one where all of them are. So a test of such a reduction becomes a test of *any*
or *all* of its elements, as far as it does not wrap: sums of a dtype only where their number fits.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from soundline.spec.dtypes import bool_
from soundline.spec.ops.node import Op
from soundline.spec.values.elementwise import scalar
from soundline.verify.smt.elements.denotation import Denotation
from soundline.verify.smt.elements.elements import (
    Apply,
    Choice,
    Constant,
    Element,
    Number,
    Reduction,
    Unsupported,
    may_be_invalid,
)
from soundline.verify.smt.elements.indexing import Path
from soundline.verify.smt.integers.formulas import (
    FALSE,
    TRUE,
    Formula,
    at_least_zero,
    at_most,
    conjunction,
    disjunction,
    is_zero,
    less,
    mapped,
    negation,
)
from soundline.verify.smt.integers.polynomials import ONE, ZERO, Poly, product
from soundline.verify.smt.reductions.bounds import holds_of
from soundline.verify.smt.reductions.orders import are_apart
from soundline.verify.smt.reductions.pieces import opened

_ORDERS = (Op.CmpLt, Op.CmpLe, Op.CmpGt, Op.CmpGe)


def as_any_or_all(reader: Denotation, condition: Formula, path: Path) -> Formula:
    """A condition with the tests in it of counts and products as reductions of bools."""
    if condition.parts:
        join = conjunction if condition.kind == "and" else disjunction
        return join([as_any_or_all(reader, part, path) for part in condition.parts])
    if condition.name:
        found = _of_element(reader, reader.bools.elements[condition.name], path)
        if found is not None and condition.kind == "not opaque":
            found = negation(found)
    else:
        found = _of_number(reader, condition, path)
    if found is None:
        return condition
    reader.by_law = True
    return found


# index ------------------------------------------------------------------------------------------------------------


def _of_number(reader: Denotation, condition: Formula, path: Path) -> Formula | None:
    """A condition on one reduction of dtype ``index``, if it is one on all or any of its elements."""
    atoms = condition.poly.atoms if condition.poly is not None else frozenset[str]()
    reduction = reader.behind.get(next(iter(atoms))) if len(atoms) == 1 else None
    if not isinstance(reduction, Reduction) or reduction.op is Op.Max or may_be_invalid(reduction):
        return None
    (atom,) = atoms
    total = Poly.of(atom)
    ones = indicator(reader, reduction.body)
    if reduction.op is Op.Mul and ones is not None:
        at_one, at_zero = (mapped(condition, partial(_at, n)) for n in (1, 0))
        return _chosen(_folded(reader, reduction, Op.Mul, ones), at_one, at_zero)
    if reduction.op is Op.Mul:
        if condition.kind not in ("eq", "ne") or is_zero(total) not in (condition, negation(condition)):
            return None
        found = _folded(reader, reduction, Op.Mul, negation(_tested(reduction.body, is_zero)))
        return found if condition.kind == "ne" else negation(found)
    some = {at_least_zero(total - 1), negation(is_zero(total))}
    if condition not in some and negation(condition) not in some:
        return None
    _, body, inside = opened(reader, reduction, path)
    if not holds_of(reader, body, inside, at_least_zero):
        return None
    found = _folded(reader, reduction, Op.Max, _tested(reduction.body, partial(less, ZERO)))
    return found if condition in some else negation(found)


def _at(n: int, poly: Poly) -> Poly:
    """A polynomial in one atom where that is a number."""
    return Poly.of(poly.value(dict.fromkeys(poly.atoms, n)))


def _tested(body: Element, test: Callable[[Poly], Formula]) -> Formula:
    """A test of an element of dtype ``index``, whichever way its choices go."""
    if isinstance(body, Number):
        return test(body.poly)
    if isinstance(body, Choice):
        then = conjunction((body.condition, _tested(body.then, test)))
        return disjunction((then, conjunction((negation(body.condition), _tested(body.otherwise, test)))))
    raise Unsupported("an index that is not a number")


# integers of a dtype ----------------------------------------------------------------------------------------------


def _of_element(reader: Denotation, element: Element, path: Path) -> Formula | None:
    """A comparison of a reduction of zeros and ones with a number as a condition on all or any of them."""
    if not isinstance(element, Apply):
        return None
    if element.op is Op.Cast and element.dtype is bool_:
        (reduction,) = element.operands
        return _compared(reader, Op.CmpNe, reduction, 0, path)
    if len(element.operands) != 2:
        return None
    (a, b), op = element.operands, element.op
    if isinstance(a, Constant):
        a, b, op = b, a, _TURNED.get(op, op)
    if not isinstance(b, Constant) or op not in (*_ORDERS, Op.CmpEq, Op.CmpNe):
        return None
    return _compared(reader, op, a, int(b.value), path) if b.dtype.is_int else None


_TURNED = {Op.CmpLt: Op.CmpGt, Op.CmpLe: Op.CmpGe, Op.CmpGt: Op.CmpLt, Op.CmpGe: Op.CmpLe}


def _compared(reader: Denotation, op: Op, reduction: Element, number: int, path: Path) -> Formula | None:
    if (
        not isinstance(reduction, Reduction)
        or not reduction.dtype.is_int
        or reduction.op not in (Op.Add, Op.Mul)
    ):
        return None
    ones = indicator(reader, reduction.body)
    if ones is None:
        return None
    at_zero, at_one, at_most_many = (
        TRUE if scalar(op, reduction.dtype, n, number) else FALSE for n in (0, 1, reduction.dtype.max)
    )
    if reduction.op is Op.Mul:
        return _chosen(_folded(reader, reduction, Op.Mul, ones), at_one, at_zero)
    if at_one != at_most_many or (op not in _ORDERS and number != 0) or not _fits(reader, reduction, path):
        return None
    return _chosen(_folded(reader, reduction, Op.Max, ones), at_one, at_zero)


def _fits(reader: Denotation, reduction: Reduction, path: Path) -> bool:
    """Whether the number of elements of a reduction is shown to be a number of its dtype."""
    if not are_apart(reader.space, reduction.bound):
        return False
    count = product(size for _, size in reduction.bound)
    filled = frozenset(less(ZERO, size) for _, size in reduction.bound)
    return reader.space.shows(path | filled, at_most(count, Poly.of(int(reduction.dtype.max))))


def indicator(reader: Denotation, body: Element) -> Formula | None:
    """Where an element is 1, if it is 0 everywhere else; None where it may be another number."""
    match body:
        case Constant() if body.dtype.is_int and body.value in (0, 1):
            return TRUE if body.value else FALSE
        case Number() if body.poly in (ZERO, ONE):
            return TRUE if body.poly == ONE else FALSE
        case Choice():
            ways = [indicator(reader, way) for way in (body.then, body.otherwise)]
            return None if None in ways else _chosen(body.condition, *ways)  # type: ignore[arg-type]
        case Apply() if body.op is Op.Cast and body.operands[0].dtype is bool_ and body.dtype.is_int:
            return reader.bools.formula(body.operands[0])
        case Apply() if body.op is Op.Mul and body.dtype.is_int:
            ways = [indicator(reader, o) for o in body.operands]
            return None if None in ways else conjunction(ways)  # type: ignore[arg-type]
    return None


def _chosen(condition: Formula, then: Formula, otherwise: Formula) -> Formula:
    if then == otherwise:
        return then
    return disjunction((conjunction((condition, then)), conjunction((negation(condition), otherwise))))


def _folded(reader: Denotation, reduction: Reduction, op: Op, condition: Formula) -> Formula:
    """Whether a condition holds of any element of a reduction, or of all."""
    return reader.bools.formula(Reduction(bool_, op, reduction.bound, reader.bools.element(condition)))
