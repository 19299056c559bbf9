"""
Expand
======

Axes of size 1, repeated.
"""

from __future__ import annotations

from soundline.spec.errors import GradientError
from soundline.spec.ops.adjoints import Parts, routes, total
from soundline.spec.ops.algebra import Algebra, C, Given, Movement, N
from soundline.spec.ops.laws import AGREED_DEVICE, INHERITED, SAME_BOUNDS, no_negative
from soundline.spec.ops.movement.shared import NEW_SHAPE, T, new_shape, shape_by
from soundline.spec.ops.node import Op, UOp
from soundline.spec.ops.schema import Law, entry
from soundline.spec.ops.sizes import either, equal, every, shape_of, sizes_in


def position(a: Algebra[N, C], given: Given[N], at: tuple[N, ...]) -> tuple[N, ...]:
    """An axis of size 1 is read at index 0 throughout, an axis that keeps its size as it is."""
    rows, one, zero = zip(at, given.shape, new_shape(given), strict=True), a.number(1), a.number(0)
    return tuple(a.one_of((a.equal(size, one), zero), (a.equal(size, new), i)) for i, size, new in rows)


def adjoint(node: UOp, g: UOp) -> Parts:
    """The sum over what was repeated; a symbolic size must be known to be repeated or not."""
    repeated = []
    for k, (old, new) in enumerate(zip(shape_of(node.src[0]), shape_of(node), strict=True)):
        if equal(old, new) is True:
            continue
        if old != 1:
            raise GradientError(
                f"it is not known whether {old!r} is repeated", rule="uop-expand-adjoint", where="Expand"
            )
        repeated.append(k)
    return total(g, tuple(repeated)), None


MOVEMENT = Movement(new_shape, position)

EXPAND = entry(
    Op.Expand,
    "movement",
    "Repeat the axes of size 1 up to the new size.",
    sources=(T, NEW_SHAPE),
    constraints=(
        ("s' is a Stack of index scalars, each ≥ 0", lambda src, arg: no_negative(src[1])),
        ("s' has the rank of T", lambda src, arg: len(sizes_in(src[1])) == len(shape_of(src[0]))),
        (
            "each s[k] is 1 or s'[k]",
            lambda src, arg: every(
                either((equal(s, 1), equal(s, new)))
                for s, new in zip(shape_of(src[0]), sizes_in(src[1]), strict=True)
            ),
        ),
    ),
    typing=INHERITED.but(shape=Law("s'", shape_by(MOVEMENT)), device=AGREED_DEVICE),
    bounds=SAME_BOUNDS,
    movement=MOVEMENT,
    adjoint=routes("to T: the sum of g over the axes that were repeated, ascending", adjoint),
    example=">>> evaluate(expand(tensor([[1], [2]]), (2, 2))).elements\n(1, 1, 2, 2)",
    decisions=("U-20", "U-22"),
)
