"""
Sizes and conditions on them
============================

A size is a number or an ``index`` expression. Conditions between sizes are decided where both sides are the same
polynomial up to a constant, and are otherwise kept as bool nodes: an *obligation* that an evaluation checks once the
sizes are known, and that the prover proves or assumes.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

from soundline.spec.dtypes import bool_, index
from soundline.spec.ops.node import ConstArg, Op, Shape, Size, UOp
from soundline.spec.ops.polynomials import Polynomial

Condition = bool | UOp
"""Decided, or a bool scalar node that says what must hold."""


def as_node(size: Size) -> UOp:
    """A size as an index scalar. An object that stands for an expression gives it as `as_uop`."""
    if isinstance(size, int):
        return UOp(Op.Const, (), ConstArg(size, index))
    node: UOp = getattr(size, "as_uop", size)
    return node


def as_size(node: UOp) -> Size:
    """The number that an index scalar is, or the node itself; sums and products of numbers are numbers."""
    number = polynomial(node).constant
    return node if number is None else number


class SizePolynomial(Polynomial[UOp]):
    """A polynomial over nodes. They have no order of their own; equal nodes are one object, so any order will do."""

    @staticmethod
    def in_order(atoms: tuple[UOp, ...]) -> tuple[UOp, ...]:
        """The nodes of a product in one order."""
        return tuple(sorted(atoms, key=id))


def polynomial(size: Size) -> SizePolynomial:
    """A size as a polynomial over whatever is not a constant, a sum or a product."""
    if not isinstance(size, UOp):
        return SizePolynomial.of(size)
    match size.op:
        case Op.Const:
            return SizePolynomial.of(int(size.arg.value))
        case Op.Add:
            return polynomial(size.src[0]) + polynomial(size.src[1])
        case Op.Sub:
            return polynomial(size.src[0]) - polynomial(size.src[1])
        case Op.Neg:
            return -polynomial(size.src[0])
        case Op.Mul:
            return polynomial(size.src[0]) * polynomial(size.src[1])
        case _:
            return SizePolynomial.of(size)


def difference(a: Size, b: Size) -> int | None:
    """a - b where it is one number for all values of the symbols."""
    return (polynomial(a) - polynomial(b)).constant


def add(a: Size, b: Size) -> Size:
    """a + b."""
    return a + b if isinstance(a, int) and isinstance(b, int) else as_size(Op.Add(as_node(a), as_node(b)))


def multiply(a: Size, b: Size) -> Size:
    """a · b."""
    return a * b if isinstance(a, int) and isinstance(b, int) else as_size(Op.Mul(as_node(a), as_node(b)))


def product(sizes: Iterable[Size]) -> Size:
    """The product of sizes; 1 for none."""
    total: Size = 1
    for size in sizes:
        total = size if total == 1 else multiply(total, size)
    return total


def equal(a: Size, b: Size) -> Condition:
    """a = b."""
    gap = difference(a, b)
    return gap == 0 if gap is not None else Op.CmpEq(as_node(a), as_node(b))


def at_most(a: Size, b: Size) -> Condition:
    """a ≤ b."""
    gap = difference(a, b)
    return gap <= 0 if gap is not None else Op.CmpLe(as_node(a), as_node(b))


def divides(n: int, size: Size) -> Condition:
    """n divides the size; decided where it does, or does not, whatever integers the monomials are."""
    terms = polynomial(size).terms
    common = math.gcd(n, *(factor for atoms, factor in terms.items() if atoms))
    if terms.get((), 0) % common:
        return False
    return common == n or Op.CmpEq(Op.Mod(as_node(size), as_node(n)), as_node(0))


def every(conditions: Iterable[Condition]) -> Condition:
    """All of the conditions."""
    rest: list[UOp] = []
    for condition in conditions:
        if isinstance(condition, UOp):
            rest.append(condition)
        elif not condition:
            return False
    return _chain(Op.And, rest, True)


def either(conditions: Iterable[Condition]) -> Condition:
    """Any of the conditions."""
    rest: list[UOp] = []
    for condition in conditions:
        if isinstance(condition, UOp):
            rest.append(condition)
        elif condition:
            return True
    return _chain(Op.Or, rest, False)


def conjuncts(*conditions: UOp) -> Iterator[UOp]:
    """What all of the conditions demand: those that And joins are taken apart."""
    pending = list(conditions[::-1])
    while pending:
        top = pending.pop()
        if top.op is Op.And:
            pending += top.src[::-1]
        else:
            yield top


def _chain(op: Op, nodes: list[UOp], empty: bool) -> Condition:
    if not nodes:
        return empty
    total = nodes[0]
    for node in nodes[1:]:
        total = UOp(op, (total, node))
    return total


def as_condition_node(condition: Condition) -> UOp:
    """A condition as a bool scalar node."""
    return condition if isinstance(condition, UOp) else UOp(Op.Const, (), ConstArg(condition, bool_))


def same_shape(a: Shape, b: Shape) -> Condition:
    """The shapes have one rank and equal sizes."""
    if a == b:  # the same nodes
        return True
    return len(a) == len(b) and every(equal(x, y) for x, y in zip(a, b, strict=True))


def sizes_of(source: UOp) -> Shape | None:
    """The sizes that a shape source holds: a Stack of index scalars (U-22). None for anything else."""
    if source.op is not Op.Stack or source.dtype is not index:
        return None
    if any(s.shape != () for s in source.src):
        return None
    return tuple(as_size(s) for s in source.src)


def shape_of(node: UOp) -> Shape:
    """The shape of a value."""
    assert node.shape is not None
    return node.shape


def sizes_in(source: UOp) -> Shape:
    """The sizes that a source holds of which an earlier constraint has found that it is a shape."""
    sizes = sizes_of(source)
    assert sizes is not None
    return sizes
