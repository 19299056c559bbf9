"""
Every value
===========

Where the variables of an obligation have few elements, all of them are tried: a proof, and the smallest counterexample
there is. If every node has at most 256 elements, each op is a table that the law's own scalar function fills once, and
whole arrays of points are looked up at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import product
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from soundline.spec.dtypes import DType, Element, bool_, from_bits, index, to_bits
from soundline.spec.ops.node import Op, UOp
from soundline.spec.values.elementwise import ELEMENTWISE, bitcast, operand_dtype
from soundline.verify.smt.goals.obligations import Obligation, scalar_nodes, wrapping_nodes
from soundline.verify.smt.goals.order import simplicity
from soundline.verify.smt.goals.points import FAILS, OUT, Point, Points, not_nan, overflows
from soundline.verify.smt.goals.sampling import rank

Codes = npt.NDArray[Any]
"""Bit patterns of elements, one array axis for each variable."""

FEW = 1 << 16
"""The most points that are tried one by one, and the most elements of a variable."""

MANY = 1 << 24
"""The most points that are looked up in tables."""

UNARY = (Op.Recip, Op.Trunc, Op.Cast, Op.Bitcast, Op.Neg, Op.Not, Op.Exp2, Op.Log2, Op.Sqrt)


@dataclass(frozen=True, slots=True)
class Exhausted:
    """What trying every point showed."""

    points: int
    applies: bool
    """Whether the premises hold at any point."""
    failing: Point | None
    """The smallest point at which the sides differ."""


def has_table(dtype: DType) -> bool:
    """Whether the dtype has at most 256 elements."""
    return dtype is bool_ or dtype.bits == 8


@cache
def elements(dtype: DType) -> tuple[Element, ...]:
    """All elements of a dtype of at most 16 bits, simplest first."""
    patterns = range(2 if dtype is bool_ else 1 << dtype.bits)
    unique = {to_bits(dtype, v): v for v in (from_bits(dtype, p) for p in patterns)}
    return tuple(sorted(unique.values(), key=lambda v: simplicity(dtype, v)))


def number_of_points(obligation: Obligation) -> int | None:
    """How many points there are, with bit patterns for elements; None where a variable has more than 16 bits."""
    dtypes = [v.dtype for v in obligation.variables.values()]
    if any(d is index or d.bits > 16 for d in dtypes):
        return None
    return prod(2 if d is bool_ else 1 << d.bits for d in dtypes)


def exhaust(obligation: Obligation, most: int) -> Exhausted | None:
    """Try every point; None where there are more than `most`, or where some op has no value."""
    count = number_of_points(obligation)
    if count is None or count > most:
        return None
    if is_tabular(obligation) and count <= MANY:
        return _by_tables(obligation)
    trial = Points(obligation)
    return _one_by_one(obligation, trial) if trial.evaluable and count <= FEW else None


def _one_by_one(obligation: Obligation, trial: Points) -> Exhausted:
    count = prod(len(elements(v.dtype)) for v in obligation.variables.values())
    applies, failing = False, None
    for point in product(*(elements(v.dtype) for v in obligation.variables.values())):
        outcome = trial.at(point)
        applies |= outcome != OUT
        if outcome == FAILS and (failing is None or rank(obligation, point) < rank(obligation, failing)):
            failing = point
    return Exhausted(count, applies, failing)


# By tables --------------------------------------------------------------------------------------------------------


def is_tabular(obligation: Obligation) -> bool:
    """Whether tables decide the obligation."""
    variables = set(obligation.variables.values())
    inner = [n for n in obligation.nodes() if n not in variables]
    known = all(n.op in ELEMENTWISE or n.op in (Op.Const, Op.Bitcast) for n in inner)
    return known and all(has_table(n.dtype) for n in (*inner, *variables))


@cache
def table(op: Op, dtype: DType, target: DType | None) -> Codes:
    """The codes of an op's results, by the codes of its one or two operands. `target` is the dtype of a cast."""
    law: Any = bitcast if op is Op.Bitcast else ELEMENTWISE[op]
    code = _encoder(target or (bool_ if op.name.startswith("Cmp") else dtype))
    extra = () if target is None else (target,)
    decoded = _decoded(dtype)
    if op in UNARY:
        return np.array([code(law(dtype, x, *extra)) for x in decoded], np.uint8)
    return np.array([[code(law(dtype, x, y)) for y in decoded] for x in decoded], np.uint8)


def _encoder(dtype: DType) -> Callable[[Any], int]:
    """The bit pattern of an element of a small dtype; as `to_bits`, but looked up."""
    if not dtype.is_float:
        return lambda x: int(x) & 0xFF
    known = {x: to_bits(dtype, x) for x in _decoded(dtype) if x == x and x != 0}
    return lambda x: known[x] if x in known else to_bits(dtype, x)


@cache
def wrap_table(op: Op, dtype: DType, target: DType) -> npt.NDArray[np.bool_]:
    """Where an op of one or two operands wraps, by their codes."""
    decoded = _decoded(dtype)
    results = table(op, dtype, target if op is Op.Cast else None)
    if op in UNARY:
        held = [from_bits(target, int(code)) for code in results]
        return np.array([overflows(op, target, (x,), r) for x, r in zip(decoded, held, strict=True)])
    return np.array([[overflows(op, target, (x, y), 0) for y in decoded] for x in decoded])


def _decoded(dtype: DType) -> list[Element]:
    return [from_bits(dtype, code) for code in range(2 if dtype is bool_ else 256)]


def _codes(node: UOp, known: Mapping[UOp, Codes]) -> Codes:
    """The codes of a node."""
    if node.op is Op.Const:
        return np.array(to_bits(node.dtype, node.arg.value), np.uint8)
    sources = [known[s] for s in node.src]
    if node.op is Op.Where:
        return np.where(sources[0] != 0, sources[1], sources[2])
    dtype = operand_dtype(node)
    if node.op is Op.Mulacc:
        return table(Op.Add, dtype, None)[table(Op.Mul, dtype, None)[sources[0], sources[1]], sources[2]]
    target = node.arg if node.op in (Op.Cast, Op.Bitcast) else None
    return table(node.op, dtype, target)[tuple(sources)]


def _wraps(node: UOp, known: Mapping[UOp, Codes]) -> Codes:
    """Where an operation wraps."""
    dtype, sources = operand_dtype(node), tuple(known[s] for s in node.src)
    if node.op is not Op.Mulacc:
        return wrap_table(node.op, dtype, node.dtype)[sources]
    a, b, c = sources
    whole = table(Op.Mul, dtype, None)[a, b]
    return wrap_table(Op.Mul, dtype, dtype)[a, b] | wrap_table(Op.Add, dtype, dtype)[whole, c]


def _by_tables(obligation: Obligation) -> Exhausted:
    """All points, in slices of the first variables so that a slice has at most `FEW` points."""
    variables = list(obligation.variables.values())
    sizes = [len(elements(v.dtype)) for v in variables]
    split = next(k for k in range(len(sizes) + 1) if prod(sizes[k:]) <= FEW)
    order = list(scalar_nodes(*obligation.hypotheses, *obligation.fits, obligation.left, obligation.right))
    applies, best = False, None
    for first in product(*(range(n) for n in sizes[:split])):
        premises, differ = _slice(obligation, variables, order, first)
        applies |= bool(premises.any())
        point = _smallest(obligation, variables, np.broadcast_to(premises & differ, sizes[split:]), first)
        if point is not None and (best is None or rank(obligation, point) < rank(obligation, best)):
            best = point
    return Exhausted(prod(sizes), applies, best)


def _slice(
    obligation: Obligation, variables: list[UOp], order: list[UOp], first: tuple[int, ...]
) -> tuple[Codes, Codes]:
    """Where the premises hold and where the sides differ, with the first variables fixed."""
    known: dict[UOp, Codes] = {}
    axes = len(variables) - len(first)
    for k, variable in enumerate(variables):
        codes = _variable_codes(variable.dtype)
        if k < len(first):
            known[variable] = codes[first[k]]
        else:
            known[variable] = codes.reshape(
                tuple(-1 if axis == k - len(first) else 1 for axis in range(axes))
            )
    for node in order:
        if node not in known:
            known[node] = _codes(node, known)
    premises: Codes = np.array(True)
    for hypothesis in obligation.hypotheses:
        premises = premises & (known[hypothesis] != 0)
    for node in wrapping_nodes(obligation.fits):
        premises = premises & ~_wraps(node, known)
    for node in not_nan(obligation):
        premises = premises & (known[node] != to_bits(node.dtype, float("nan")))
    return premises, _differ(obligation, known[obligation.left], known[obligation.right])


@cache
def _variable_codes(dtype: DType) -> Codes:
    return np.array([to_bits(dtype, v) for v in elements(dtype)], np.uint8)


def _differ(obligation: Obligation, left: Codes, right: Codes) -> Codes:
    differ: Codes = left != right
    if "no_signed_zero" in obligation.licences and obligation.left.dtype.is_float:
        differ = differ & ~(((left & 0x7F) == 0) & ((right & 0x7F) == 0))
    return differ


def _smallest(
    obligation: Obligation, variables: list[UOp], failing: Codes, first: tuple[int, ...]
) -> Point | None:
    """The smallest failing point of a slice; positions are places in the order of simplicity."""
    found = np.argwhere(failing)
    if not len(found):
        return None
    if not variables:
        return ()
    columns = [np.full(len(found), k) for k in first] + list(found.T)
    names = list(obligation.variables)
    keys: list[Codes] = []
    for leading in (True, False):
        group = [c for n, c in zip(names, columns, strict=True) if (n in obligation.leading) is leading]
        if group:
            keys += [np.max(group, axis=0), *group]
    least = np.lexsort(keys[::-1])[0]
    return tuple(elements(v.dtype)[int(c[least])] for v, c in zip(variables, columns, strict=True))
