"""
Counterexamples as programs
===========================

An instance with numbers for its sizes: both sides as programs that stand for themselves, in the textual form, beside
the bit patterns of their inputs. So a counterexample can be computed again by any reader of programs: by the evaluator
in another process, or by a compiler.
"""

from __future__ import annotations

from collections.abc import Mapping

from soundline.spec.arrays.arrays import Array
from soundline.spec.dtypes import index, to_bits
from soundline.spec.errors import SoundlineError
from soundline.spec.evaluate import evaluate
from soundline.spec.ops.node import Op, UOp, over, rebuilt, toposort
from soundline.spec.ops.textual_form import program_text
from soundline.spec.uop import const, param
from soundline.verify.verdicts.verdict import Case

_MOVING = frozenset((Op.Range, Op.Special, Op.Load, Op.Buffer))
"""Ops whose value is not that of their sources alone."""


def closed(root: UOp, bound: Mapping[UOp, Array]) -> UOp:
    """A node with numbers for its sizes and for every other ``index`` scalar; other Params stay, with known shapes."""
    return rebuilt(root, lambda node, src: _closed(node, src, bound))


def _closed(node: UOp, src: tuple[UOp, ...], bound: Mapping[UOp, Array]) -> UOp:
    if node in bound:
        value = bound[node]
        return (
            const(value.item(), index)
            if node.dtype is index
            else param(node.arg.slot, node.dtype, value.shape)
        )
    made = over(node, src)
    is_number = made.dtype is index and made.shape == () and made.op is not Op.Const
    if is_number and not any(n.op is Op.Param or n.op in _MOVING for n in toposort(made)):
        return const(evaluate(made).item(), index)
    return made


def case_of(left: UOp, right: UOp | None, bound: Mapping[UOp, Array]) -> Case | None:
    """Both sides as programs, with their inputs; None where a side has no textual form, or an index is a tensor."""
    if any(a.dtype is index and a.shape != () for a in bound.values()):
        return None
    try:
        first = program_text(closed(left, bound))
        second = "" if right is None else program_text(closed(right, bound))
    except SoundlineError:
        return None
    inputs = tuple(
        (node.arg.slot, array.dtype.name, array.shape, tuple(to_bits(array.dtype, e) for e in _valid(array)))
        for node, array in bound.items()
        if array.dtype is not index
    )
    return Case(first, second, inputs)


def _valid(array: Array) -> tuple[bool | int | float, ...]:
    return tuple(e for e in array.elements if isinstance(e, bool | int | float))
