"""
Costs
=====

The cost of recomputing a value where it is read, in simple operations. `rangeify` uses it to choose which values are
stored. It is an estimate: it affects the speed of a program, never its result.
"""

from __future__ import annotations

from collections.abc import Iterable

from soundline.impl.lower.graphs.views import MOVEMENT
from soundline.spec.dtypes import bool_, index, int64
from soundline.spec.ops.table import group_of
from soundline.spec.uop import Op, UOp, toposort

ELEMENTWISE = frozenset((*group_of("elementwise", "decomposed"), Op.CDiv, Op.CMod))
"""The ops of which one scalar is made of one scalar of each source."""
COSTS = {
    Op.Exp2: 24,
    Op.Log2: 24,
    Op.Sin: 64,
    Op.Pow: 64,
    Op.Threefry: 48,
    Op.Sqrt: 6,
    Op.Div: 6,
    Op.Recip: 6,
    Op.Idiv: 6,
    Op.Mod: 6,
    Op.Pad: 2,
}
"""The cost of those of them that are no simple operation."""
_OF_POSITIONS = frozenset((*MOVEMENT, Op.Const, Op.Stack, Op.Cast, Op.Add, Op.Mul)) - {Op.Pad}
CHEAP = 8
"""Up to this cost, in simple operations, an expression is computed again rather than stored and loaded."""


def costs_of(order: Iterable[UOp]) -> dict[UOp, int]:
    """An estimate, in simple operations, of computing one scalar of each value from what is likely stored."""
    found: dict[UOp, int] = {}
    for node in order:
        own = _own_cost(node)
        values = node.src[:1] if node.op in MOVEMENT else node.src  # the others are sizes
        stored = node.op is Op.Reduce or (node.op is Op.Pad and found[node.src[0]] > CHEAP)
        inherited = 0 if stored else sum(found.get(s, 0) for s in values)
        found[node] = 1 if is_position(node) else min(own + inherited, 1_000_000)
    return found


def is_position(node: UOp) -> bool:
    """Whether a value is made of lines and numbers by sums and products, so that the rules make it small."""
    stack, seen = [node], {node}
    while stack:
        top = stack.pop()
        if top.op not in _OF_POSITIONS or not (top.dtype is index or top.dtype.is_int):
            return False
        if top.op is Op.Stack and line_of(top) is None:
            return False
        inside = () if top.op is Op.Stack else top.src[:1] if top.op in MOVEMENT else top.src
        new = [s for s in inside if s not in seen]
        seen.update(new)
        stack += new
    return True


def is_of_floats(node: UOp) -> bool:
    """Whether a value is made of floats, and of comparisons of them, down to what is stored or reduced."""
    stack, seen = [node], {node}
    while stack:
        top = stack.pop()
        if not (top.dtype.is_float or top.dtype is bool_):
            return False
        if top.op in ELEMENTWISE or top.op in MOVEMENT:
            new = [s for s in (top.src[:1] if top.op in MOVEMENT else top.src) if s not in seen]
            seen.update(new)
            stack += new
        elif top.op is Op.Stack or top.op is Op.Index:
            return False  # a choice by position
    return True


def cost_of_form(form: UOp) -> int:
    """The cost of an expression of scalars, of which each node is computed once."""
    return sum(_own_cost(n) for n in toposort(form))


def _own_cost(node: UOp) -> int:
    if node.op is Op.Stack:
        return 2 if line_of(node) else len(node.src)  # one choice for each source
    return COSTS.get(node.op, int(node.op in ELEMENTWISE))


def line_of(node: UOp) -> tuple[int, int] | None:
    """Start and step of a Stack of whole numbers at equal distances; None for any other."""
    whole = node.dtype is index or node.dtype.is_int
    if len(node.src) < 2 or not whole or any(s.op is not Op.Const for s in node.src):
        return None
    numbers = [int(s.arg.value) for s in node.src]
    step = numbers[1] - numbers[0]
    if not all(int64.min <= n <= int64.max for n in (*numbers, step)):
        return None  # the place is computed as an index, which C holds in 64 bits
    return (numbers[0], step) if all(n == numbers[0] + k * step for k, n in enumerate(numbers)) else None
