"""
Instruction Selection
=====================

Replace what the target has no instruction for by what it has.

Input and output: a Linear of Sinks of scalars. For C that means: ``Exp2``, ``Log2``, ``Sin``, ``Pow`` and ``Threefry``
become the law's own programs and ``Mulacc`` its two roundings, so that the compiled result is the evaluator's (under
the licence ``contract`` it stays, and a sum with a product in it becomes one: C rounds it once); floor
division by a positive divisor of a dividend that is proved non-negative becomes C's division; and every index
expression is proved to fit 64 bits, which is how C holds ``index``.

A reduction in lanes becomes reductions of vectors (`vectors`).

*Invariant*: the values of all stores are unchanged, bit for bit.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection

from soundline.impl.analysis import arithmetic
from soundline.impl.lower.graphs.rebuilding import over, under
from soundline.impl.lower.graphs.scalars import FUSED
from soundline.impl.lower.linear.loop_nests import rowwise
from soundline.impl.lower.schedule.vectors import vectorized
from soundline.spec.dtypes import index, int64
from soundline.spec.errors import CompileError
from soundline.spec.uop import Op, UOp
from soundline.spec.values.decompositions import DECOMPOSITIONS, PROGRAMS

_TRUNCATING = {Op.Idiv: Op.CDiv, Op.Mod: Op.CMod}


def select(kernels: UOp, licences: Collection[str] = ()) -> UOp:
    """Select the instructions of every kernel; raises `CompileError` for an op that C has no form of."""
    selected = (_selected(kernel, "contract" in licences) for kernel in kernels.src)
    slots = itertools.count(1 + max((n.arg.slot for n in under(kernels) if n.op is Op.Buffer), default=-1))
    return Op.Linear(
        *(
            Op.Sink(
                *(
                    new
                    for nest in k.src
                    for new in rowwise(nest, lambda part: [vectorized(part, slots, licences)])
                )
            )
            for k in selected
        )
    )


def _selected(kernel: UOp, contract: bool) -> UOp:
    new: dict[UOp, UOp] = {}
    for node in under(kernel):
        made = over(node, new)
        new[node] = _instruction(made, node, contract)
    return new[kernel]


def _instruction(node: UOp, original: UOp, contract: bool) -> UOp:
    """What replaces a node whose sources are replaced; its bounds are those of the original."""
    if contract and node.dtype in FUSED:
        node = _contracted(node)
    fused = node.op is Op.Mulacc and contract and node.dtype in FUSED
    if node.op in PROGRAMS or (node.op is Op.Mulacc and not fused):
        program = DECOMPOSITIONS[node.op](*node.src)
        return _program_contracted(program, node.src) if contract else program
    if node.op is Op.Wmma:
        raise CompileError(f"{node.op.name} has no C form yet", where=node.op.name)
    if node.dtype is index and node.shape is not None:
        _check_width(original)
    if node.op in _TRUNCATING and _non_negative(original.src[0]) and _positive(original.src[1]):
        return UOp(_TRUNCATING[node.op], node.src)
    return node


def _program_contracted(program: UOp, given: Collection[UOp]) -> UOp:
    """A program with every product that goes into a sum rounded once: what was exact stays so, the rest is nearer."""
    new: dict[UOp, UOp] = {g: g for g in given}
    for node in under(program):
        if node not in new:
            made = over(node, new)
            new[node] = _contracted(made) if node.dtype in FUSED else made
    return new[program]


def _contracted(node: UOp) -> UOp:
    """A sum with a product in it as one instruction."""
    if node.op is Op.Add and node.src[0].op is Op.Mul:
        return Op.Mulacc(*node.src[0].src, node.src[1])
    if node.op is Op.Add and node.src[1].op is Op.Mul:
        return Op.Mulacc(*node.src[1].src, node.src[0])
    return node


def _non_negative(node: UOp) -> bool:
    known = arithmetic.bounds(node)
    return known is not None and known.lo >= 0


def _positive(node: UOp) -> bool:
    known = arithmetic.bounds(node)
    return known is not None and known.lo >= 1


def _check_width(node: UOp) -> None:
    """C holds an index in 64 bits; an index that may need more is refused (U-02)."""
    known = arithmetic.bounds(node)
    if known is not None and not (int64.min <= known.lo and known.hi <= int64.max):
        raise CompileError(
            f"an index expression may need more than 64 bits: [{known.lo}, {known.hi}]",
            rule="U-02",
            where="select",
        )
