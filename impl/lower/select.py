"""
Instruction Selection
=====================

Replace ops that the target has no instruction for by ops that it has.

Input and output: a Linear of Sinks of scalars. ``Exp2``, ``Log2``, ``Sin``, ``Pow`` and ``Threefry`` become the law's
own programs, so that the compiled result is the evaluator's. Every other op that the target lacks becomes others by the
rules of `instructions`. In C, which has no floor division, that is a division of what is proved natural; ``Mulacc`` is
its two roundings, and under the licence ``contract`` a sum with a product in it becomes one, which C rounds once. Every
index expression is proved to fit the integer in which the target holds ``index``.

A reduction in lanes becomes reductions of vectors (`vectors`).

*Invariant*: the values of all stores are unchanged, bit for bit.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection

from soundline.impl.analysis import arithmetic
from soundline.impl.lower.graphs.rebuilding import rebuilt, under
from soundline.impl.lower.graphs.simplify import Applied
from soundline.impl.lower.instructions import decomposed
from soundline.impl.lower.linear.loop_nests import rowwise
from soundline.impl.lower.schedule.vectors import vectorized
from soundline.spec.dtypes import index
from soundline.spec.errors import CompileError
from soundline.spec.pipeline.stages import Target
from soundline.spec.uop import Op, UOp, over
from soundline.spec.values.decompositions import DECOMPOSITIONS, PROGRAMS
from soundline.spec.values.elementwise import ELEMENTWISE, operand_dtype

_COMPUTING = frozenset((*ELEMENTWISE, Op.Wmma))


def select(
    kernels: UOp, target: Target, licences: Collection[str] = (), applied: Applied | None = None
) -> UOp:
    """Select the instructions of every kernel; raises `CompileError` for an op that the target has no form of.
    `applied` counts the rules.
    """
    selected = (_selected(kernel, target, licences, applied) for kernel in kernels.src)
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


def _selected(kernel: UOp, target: Target, licences: Collection[str], applied: Applied | None) -> UOp:
    def change(node: UOp, src: tuple[UOp, ...]) -> UOp | None:
        _check_width(node, target)
        if node.op in PROGRAMS and node.op not in target.ops:
            return DECOMPOSITIONS[node.op](*src)
        if node.op is Op.Range and src[0].op is not Op.Const:  # a name, whose inside the engine leaves
            return over(node, (decomposed(src[0], target, licences, applied), *src[1:]))
        return None

    found = decomposed(rebuilt(kernel, change), target, licences, applied)
    for node in under(found):
        if node.op in _COMPUTING and not target.has(node.op, operand_dtype(node)):
            raise CompileError(
                f"the target has no {node.op.name} of {operand_dtype(node)}, and no rule decomposes it",
                where=node.op.name,
            )
    return found


def _check_width(node: UOp, target: Target) -> None:
    """An index that the target's integer may not hold is refused (U-02)."""
    known = arithmetic.bounds(node) if node.dtype is index and node.shape is not None else None
    held = target.index
    if known is not None and not (held.min <= known.lo and known.hi <= held.max):
        raise CompileError(
            f"an index expression may need more than {held.bits} bits: [{known.lo}, {known.hi}]",
            rule="U-02",
            where="select",
        )
